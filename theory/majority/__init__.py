"""Sign SGD with majority vote: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "majority",
    "Sign SGD with majority vote: one bit up, one bit down",
    "Workers send the signs of their gradients, and receive the sign of the sum. Both papers were read without their "
    "appendices: the bounds for one entry are recalled, and proved here.",
    synopsis=Synopsis(
        found=(
            "More workers improve the vote under symmetric unimodal noise, as printed. Under other noise they do not, "
            "and a single server sends P/2 times the claimed bytes."
        ),
        promise=(
            "One bit up and one down take 32 times fewer bytes than full precision, with an error that falls like the "
            "root of the number of workers, and robustness against a minority."
        ),
        holds=(
            "A worker sends and receives one bit per entry (`majority.server.worker`). The vote’s bound holds under "
            "unimodal symmetric noise (`majority.vote.bound`), and against a fraction that inverts its signs "
            "(`majority.adversaries.inverting`)."
        ),
        fails=(
            "A single server does not send 32 times fewer bytes (`majority.server.thirty_two`). One bit is not enough "
            "if zeros stay zero (`majority.ties.one_bit`). Negation is not the worst attack "
            "(`majority.adversaries.negation_is_worst`)."
        ),
        tight="The sharp bound is a binomial tail (`majority.vote.sharp`); the printed bound is simpler and larger.",
        lesson=(
            "Use a sharded server (`majority.shards.thirty_two`), break ties fairly (`majority.ties.fair`), and do not "
            "rely on the bound if noise is shared (`majority.vote.shared_noise`)."
        ),
        picture="majority.errors",
    ),
)
