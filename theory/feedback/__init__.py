"""Error feedback: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "feedback",
    "Error feedback: compression errors are kept and sent later",
    "What compression leaves out is kept and sent later. Of these papers only the step sizes in their code were read; "
    "every claim has its own proof.",
    synopsis=Synopsis(
        found=(
            "With error feedback every contractive compressor converges. EF21M’s noise floor falls like 1/P with "
            "ARC-Top-K, but not with Top-K per worker."
        ),
        promise=(
            "What compression leaves out is kept and sent later, so that training converges as without "
            "compression; with EF21M and one selection for all ranks the noise falls like 1/P."
        ),
        holds=(
            "The rates of EF21 and EF14 hold (`feedback.ef21.rate`, `feedback.ef14.rate`), as do the linear rate under "
            "the Polyak-Lojasiewicz inequality (`feedback.ef21.pl`) and the speed-up of EF21M with ARC-Top-K "
            "(`feedback.arc.speedup`)."
        ),
        fails=(
            "Top-K per worker does not have that speed-up (`feedback.topk.speedup`). Gradient descent’s own step "
            "size is too long for EF21’s potential (`feedback.ef21.descent_at_one_over_l`), and without feedback "
            "small steps do not help either (`feedback.plain.convergence`)."
        ),
        tight=(
            "EF21’s rate is attained by one worker that leaves nothing out; in few steps that do compress, the "
            "printed rates are loose by a factor of 1.15 to 53 (`feedback.ef21.rate_share`, "
            "`feedback.ef14.rate_share`, `feedback.ef21m.bound_share`)."
        ),
        lesson="Use feedback with the printed step sizes; expect 1/P only if all ranks compress the same entries.",
        picture="feedback.convergence",
        system="ARC-Top-K",
    ),
)
