"""Sign SGD with majority vote: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "majority",
    "Sign SGD with majority vote: a bit up, a bit down",
    "Workers send the signs of their gradients, and what comes back is the sign of the sum. The texts of both papers "
    "were read without their appendices: the bounds for one entry are recalled, and proved here.",
    synopsis=Synopsis(
        found=(
            "More workers mend the vote under symmetric unimodal noise, as printed. Of other noise they do not, "
            "and one server sends P/2 times the claimed bytes."
        ),
        promise=(
            "A bit up and a bit down: 32 times fewer bytes than full precision, an error that falls like the root "
            "of the workers, and robustness against a minority."
        ),
        holds=(
            "A worker’s bit each way (`majority.server.worker`), the vote’s bound under unimodal symmetric noise "
            "(`majority.vote.bound`), and against a fraction that inverts its signs "
            "(`majority.adversaries.inverting`)."
        ),
        fails=(
            "32 times fewer bytes with a single server (`majority.server.thirty_two`), one bit for any number of "
            "workers while zeros stay zero (`majority.ties.one_bit`), that to negate is the worst that "
            "adversaries can do (`majority.adversaries.negation_is_worst`)."
        ),
        tight="The sharp bound is a binomial tail (`majority.vote.sharp`); the printed one is simpler and larger.",
        lesson=(
            "Put the server in shards (`majority.shards.thirty_two`), break ties fairly (`majority.ties.fair`), "
            "and do not count on the bound where noise is shared (`majority.vote.shared_noise`)."
        ),
        picture="majority.errors",
    ),
)
