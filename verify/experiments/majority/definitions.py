"""The majority vote beside its definition: the space of its cases."""

import numpy as np

from commbounds.collectives.majority import WAYS, ZEROS
from commbounds.verify.data import IDLE, KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import majority
from commbounds.verify.space import RANKS, TILES, Space, sizes


def _vote(
    P: int, n: int, data: str, dtype: str, way: str | None, zeros: str | None, coins: str, seed: int
) -> Given:  # fmt: skip
    given = {"coins": np.random.default_rng(seed).random((P + 1, n)) < 0.5} if coins == "given" else {"seed": seed}
    drawn = given if zeros == "coin" else {}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, chosen(way=way, zeros=zeros), drawn)


VOTES = Space(
    _vote,
    {
        "P": RANKS,
        "n": sizes(7, 8, 9, 64, *TILES),
        "data": tuple(KINDS),
        "dtype": ("float32", "float64"),
        "way": (None, *WAYS),
        "zeros": (None, *ZEROS),
        "coins": ("given", "drawn"),
    },
    hiding={"data": tuple(IDLE)},
).search(P=(1, 12), n=(1, 40))


def _by_hand() -> list[Given]:
    """So many ranks that eight bits do not hold the sums of their votes; coins where none are tossed, or too few."""
    alike, two = np.tile([1.0, -1.0], (128, 1)), {"stack": np.ones((2, 2))}
    coins = {zeros: np.ones((3 - (zeros == "coin"), 2), np.bool_) for zeros in (None, *ZEROS)}
    return [
        *(Given({"stack": alike}, chosen(way=way)) for way in (None, "all-gather")),
        *(Given(two, chosen(zeros=zeros), {"coins": tossed}) for zeros, tossed in coins.items()),
    ]


DEFINITIONS = {
    "majority_vote": Definition(
        VOTES,
        called("votes", "traffic"),
        majority.voted,
        examples=_by_hand,
        refused={"way": ("star",), "zeros": ("minus",)},
    )
}
