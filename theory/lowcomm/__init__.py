"""Low-communication training: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "lowcomm",
    "Low-communication training: many local steps, then few bits",
    "Local SGD, DiLoCo and Streaming DiLoCo, merges with a quorum, NoLoCo, SparseLoCo, DeMo, LoCo and qgZ. Of the "
    "papers the abstracts were read, and this code: torchft, DeMo, templar, noloco, DeepSpeed.",
    synopsis=Synopsis(
        found=(
            "torchft’s DiLoCo stepped away from the workers’ average until July 2025. SparseLoCo’s decay never sends "
            "weak entries. Token-weighted quorums are biased against workers with more tokens."
        ),
        promise=(
            "The methods promise H times fewer synchronisations, peaks of one fragment, no all-reduce, residuals that "
            "lose nothing, and quantised sums as good as exact ones."
        ),
        holds=(
            "The words are as counted (`lowcomm.diloco.words`, `lowcomm.streaming.peak`, `lowcomm.noloco.words`). The "
            "outer step is stable on one quadratic if inner steps do not overshoot and take the same share in every "
            "round (`lowcomm.diloco.moderate`). Cosine amplitudes contract (`lowcomm.demo.contraction`)."
        ),
        fails=(
            "Early outer steps have the wrong sign (`lowcomm.diloco.reversed`), token weights are biased "
            "(`lowcomm.quorum.unbiased`), feedback with decay loses entries (`lowcomm.sparseloco.keeps`), DeMo’s "
            "divisor changes signs (`lowcomm.demo.any_divisor`), and not every tensor is reset "
            "(`lowcomm.loco.resets_all`)."
        ),
        tight=(
            "Most laws are exact. The drift bound for local SGD is four times too large for a constant step "
            "(`lowcomm.local.drift_bound`)."
        ),
        lesson=(
            "An outer step of 0.7 with momentum 0.9 begins with 1.33 and ends with 7 times the average change "
            "(`lowcomm.diloco.effective_step`): check its effect on the inner optimiser. Divide by the expected "
            "tokens, not by those that arrived (`lowcomm.quorum.expected_divisor`), and do not let residuals decay."
        ),
        picture="lowcomm.outer",
        practice=True,
    ),
)
