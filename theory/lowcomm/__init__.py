"""Low-communication training: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "lowcomm",
    "Low-communication training: many steps alone, then few bits",
    "Local SGD, DiLoCo and Streaming DiLoCo, merges with a quorum, NoLoCo, SparseLoCo, DeMo, LoCo and qgZ. Of the "
    "papers abstracts were read; what is said of codes was read in them: torchft, DeMo, templar, noloco, DeepSpeed.",
    synopsis=Synopsis(
        found=(
            "torchft’s DiLoCo stepped away from the workers’ average until July 2025, SparseLoCo’s decay starves weak "
            "entries for "
            "ever, and token-weighted quorums are biased against whoever has more tokens."
        ),
        promise=(
            "H times fewer synchronisations, peaks of one fragment, no all-reduce at all, residuals that lose nothing, "
            "and quantised sums as good as exact ones."
        ),
        holds=(
            "The words (`lowcomm.diloco.words`, `lowcomm.streaming.peak`, `lowcomm.noloco.words`), stability of the "
            "outer step on one quadratic, while inner steps do not overshoot and take the same share in every round "
            "(`lowcomm.diloco.moderate`), and contraction of cosine amplitudes "
            "(`lowcomm.demo.contraction`)."
        ),
        fails=(
            "Outer steps with the wrong sign (`lowcomm.diloco.reversed`), unbiased token weights "
            "(`lowcomm.quorum.unbiased`), feedback that decays and loses nothing (`lowcomm.sparseloco.keeps`), a "
            "divisor "
            "that makes no difference to signs (`lowcomm.demo.any_divisor`), and resets of every tensor "
            "(`lowcomm.loco.resets_all`)."
        ),
        tight=(
            "Most laws are exact. The drift bound for local SGD is four times too large for a constant step "
            "(`lowcomm.local.drift_bound`)."
        ),
        lesson=(
            "An outer step of 0.7 with momentum 0.9 begins with 1.33 and ends with 7 times the average change "
            "(`lowcomm.diloco.effective_step`): look at what the inner optimiser does with that. Divide by what is "
            "expected, "
            "not by what arrived (`lowcomm.quorum.expected_divisor`), and do not let residuals decay."
        ),
        picture="lowcomm.outer",
        practice=True,
    ),
)
