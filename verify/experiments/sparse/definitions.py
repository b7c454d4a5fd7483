"""Sparse all-reduces beside their definitions: the spaces of their cases."""

from __future__ import annotations

from typing import Any

from commbounds.verify.data import KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definitions import sparse
from commbounds.verify.space import RANKS, Of, Space, sizes

COUNTS = (1, Of("n", lambda n: n), Of("max(n // 3, 1)", lambda n: max(n // 3, 1)), Of("min(2, n)", lambda n: min(2, n)))
GATHERS = (None, "bruck", "ring", "recursive-doubling")


def _call(P: int, n: int, data: str, dtype: str, k: int, seed: int, **options: Any) -> Given:
    given = {name: value for name, value in options.items() if value is not None}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, {"k": k, **given})


def _space(**options: Any) -> Space:
    shape = {"P": RANKS, "n": sizes(8, 33, 64), "data": tuple(KINDS), "dtype": ("float32", "float64"), "k": COUNTS}
    return Space(_call, {**shape, **options}).search(P=(1, 12), n=(1, 40))


def _teams(P: int, n: int, data: str, dtype: str, k: int, teams: int, way: str, seed: int) -> Given:
    options: dict[str, Any] = {"default": {}, "r-sag": {"synchronise": "r-sag"}}.get(way, {"synchronise": "b-sag"})
    if way == "b-sag, fewest":
        options = {**options, "sag_entries": -(-(k // (P // teams)) // teams)}
    named = {} if teams == 1 and seed % 2 else {"teams": teams}
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, {"k": k, **named, **options})


TEAMS = (
    Space(
        _teams,
        {
            "P": (*RANKS, 12),
            "n": sizes(8, 33, 64),
            "data": tuple(KINDS),
            "dtype": ("float32", "float64"),
            "k": COUNTS,
            "teams": (1, 2, 3, 4, Of("P", lambda P: P)),
            "way": ("default", "r-sag", "b-sag", "b-sag, fewest"),
        },
        options=("teams", "way"),
    )
    .without("teams divide the ranks", lambda P, teams: P % teams != 0)
    .without("recursive doubling is of a power of two", lambda teams, way: bool(teams & (teams - 1)) and way[0] != "b")
    .without(
        "entries of a block are at least one where they are given",
        lambda P, k, teams, way: way == "b-sag, fewest" and (P % teams != 0 or k < P // teams),
    )
)

WHOLE = called("result", "traffic")

DEFINITIONS = {
    "topk_allgather": Definition(_space(allgather=GATHERS), WHOLE, sparse.of_sparse(sparse.topk_allgather)),
    "topk_dsa": Definition(
        _space(switch=(None, "model", "code", "never"), allgather=GATHERS), WHOLE, sparse.of_sparse(sparse.topk_dsa)
    ),
    "gtopk_allreduce": Definition(
        _space(putback=(None, "conserving", "published")), WHOLE, sparse.of_sparse(sparse.gtopk_allreduce)
    ),
    "spardl_allreduce": Definition(TEAMS, WHOLE, sparse.of_sparse(sparse.spardl_allreduce)),
    "gaussiank_allreduce": Definition(
        _space(adapt=(None, "none", "vgg", "lstm"), allgather=GATHERS),
        WHOLE,
        sparse.of_sparse(sparse.gaussiank_allreduce),
    ),
}
