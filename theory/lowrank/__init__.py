"""Low rank: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "lowrank",
    "Low rank: send two thin factors",
    "A worker takes its gradient for a matrix and sends two thin factors of it.",
    synopsis=Synopsis(
        found=(
            "PowerSGD with a fresh Gaussian sketch contracts in expectation. With a warm start it may not contract, "
            "and then the residual has no such bound."
        ),
        promise="Sending two thin factors of the gradient loses at most 1 - r/min(m, n) of its squared norm.",
        holds=(
            "It holds for the best rank-r approximation (`lowrank.lowrank.contraction`), and for PowerSGD with a fresh "
            "sketch, in expectation (`lowrank.powersgd.contraction`)."
        ),
        fails=(
            "It fails with a warm start at every step (`lowrank.powersgd.warm_start_contraction`), and so does its "
            "bound on the residual under feedback (`lowrank.powersgd_ef14.warm_start_residual`)."
        ),
        tight=(
            "With rank 1 and two singular values the expected error is known exactly (`lowrank.powersgd.determinant`)."
        ),
        lesson=(
            "A warm start relies on slowly changing gradients: the only sure bound is linear growth of the residual "
            "(`lowrank.powersgd_ef14.warm_start_growth`)."
        ),
    ),
    recalled=True,
)
