"""Sparse all-reduces beside their definitions: the spaces of their cases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from commbounds.verify.data import IDLE, KINDS, stack_of
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definitions import sparse
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes
from commbounds.verify.vectors.numbers import Record

TELLING = tuple(kind for kind in KINDS if kind not in ("zeros", "one rank"))
EDGES = ("zeros", "one rank", "NaN", "infinite", "overflow")
COUNTS = (1, Of("n", lambda n: n), Of("max(n // 3, 1)", lambda n: max(n // 3, 1)), Of("min(n, 4)", lambda n: min(n, 4)))
MORE = (
    Of("min(3, n)", lambda n: min(3, n)),
    Of("min(5, n)", lambda n: min(5, n)),
    Of("min(8, n)", lambda n: min(8, n)),
)
GATHERS = (None, "ring", "bruck", "recursive-doubling")


def _given(P: int, n: int, data: str, dtype: str, k: int, seed: int, **options: Any) -> Given:
    """None leaves an option to its default."""
    stack = stack_of(data if data in (*KINDS, *IDLE) else "normal", P, n, dtype, seed)
    if data in ("NaN", "infinite"):
        stack[seed % P, 7 * seed % n] = np.nan if data == "NaN" else -np.inf
    if data == "overflow":  # infinities, and where they meet NaN, some of which are dropped
        largest = np.where(np.arange(P)[:, None] % 4 > 1, -1.0, 1.0) * np.finfo(dtype).max
        stack = np.where(np.random.default_rng([seed, 4]).random((P, n)) < 0.6, largest, stack).astype(dtype)
    return Given({"stack": stack}, {"k": k, **{name: value for name, value in options.items() if value is not None}})


def _quantile(**settings: Any) -> Given:
    """With the quantile as the library that is installed has it."""
    made = _given(**settings)
    z = -float(ndtri(settings["k"] / settings["n"] / 2))
    return Given({**made.inputs, "quantile": z}, made.parameters)


def _teams(*, teams: int | None, synchronise: str | None, sag: str | None, **settings: Any) -> Given:
    d = 1 if teams is None else teams
    h = settings["k"] // (settings["P"] // d)
    least = -(-h // d)
    beyond = {"too few": least - 1, "too many": h + 1}
    within = {"least": least, "between": (least + h) // 2, "most": h}
    entries = None if sag is None else {**within, **beyond}[sag]
    return _given(teams=teams, synchronise=synchronise, sag_entries=entries, **settings)


def _space(make: Any = _given, **options: Sequence[Any]) -> Space:
    axes = {"P": RANKS, "n": sizes(16, 64, *TILES), "data": TELLING, "dtype": ("float32", "float64"), "k": COUNTS}
    space = Space(make, {**axes, **options}, combined=(("P", "n", next(reversed(options))),))
    return space.hidden_by(k=MORE, data=tuple(IDLE)).search(P=(1, 12), n=(1, 40), data=EDGES)


SPACES = {
    "topk_allgather": _space(allgather=GATHERS),
    "topk_dsa": _space(switch=(None, "model", "code", "never"), allgather=GATHERS),
    "gtopk_allreduce": _space(putback=(None, "conserving", "published")),
    "gaussiank_allreduce": _space(_quantile, adapt=(None, "none", "vgg", "lstm"), allgather=GATHERS),
    "spardl_allreduce": _space(
        _teams,
        P=(*RANKS, 12),
        teams=(None, 1, 2, 3, 4, Of("P", lambda P: P)),
        synchronise=(None, "r-sag", "b-sag"),
        sag=(None, "least", "between", "most"),
    )
    .without("Teams must divide the ranks.", lambda P, teams: teams is not None and P % teams != 0)
    .without(
        "Recursive doubling asks for a power of two of teams.",
        lambda teams, synchronise: synchronise != "b-sag" and teams not in (None, 1, 2, 4, 8),
    )
    .without(
        "Entries to gather are those of b-sag.", lambda synchronise, sag: synchronise != "b-sag" and sag is not None
    )
    .hidden_by(sag=("too few", "too many")),
}
BEYOND: Mapping[str, Sequence[Any]] = {
    "k": (0, Of("n + 1", lambda n: n + 1)),
    "teams": (0, Of("P + 1", lambda P: P + 1)),
    **dict.fromkeys(("allgather", "switch", "putback", "adapt", "synchronise"), ("no such one",)),
}


def _gaussian(implementation: Any, given: Given) -> Said:
    stack, parameters = given.inputs["stack"], given.parameters
    result, traffic = implementation(stack=stack, **parameters)
    held = {"update": result.update, "residual": result.residual, "selected": result.selected}
    if "quantile" in given.inputs or parameters["k"] == stack.shape[1]:
        held["thresholds"] = result.thresholds
    return {"result": Record("GaussiankResult", held), "traffic": traffic}


@cache
def _edges(name: str) -> Sequence[Given]:
    """Data that hide what options do, are refused, or overflow."""
    space = SPACES[name].replaced(data=EDGES, n=(Of("P", lambda P: P), 17))
    top = np.finfo(np.float32).max
    meeting = np.array([[top, top, 0], [top, 0, top], [-top, 0, -top], [-top, 0, 1]], np.float32)  # NaN comes first
    return [
        *(space.make(**row) for row in replace(space, options=("data",)).covering()),
        Given({"stack": meeting}, {"k": 2}),
    ]


TREES: dict[str, Sequence[Mapping[str, Any]]] = {
    "gtopk_allreduce": [{"P": P} for P in (8, 9, 13, 16, 17)],
    "spardl_allreduce": [{"P": m * d, "teams": d} for m, d in ((1, 4), (2, 4), (1, 8), (2, 8), (1, 16))],
}
"""Merges of three levels and more: what a merge drops can come again by a later one only below the last."""


def _examples(name: str) -> Sequence[Given]:
    space = SPACES[name]
    rows = [
        space.at(**tree, n=n, k=k, data=data) | {"seed": seed}
        for tree in TREES.get(name, ())
        for seed, (n, k, data) in enumerate(((5, 2, "normal"), (7, 4, "ties"), (9, 4, "sparse"), (6, 3, "alike")))
    ]
    options = {"k": 4, "teams": 2, "synchronise": "b-sag", "sag_entries": 1}  # fewer than half of a block's four
    few = [Given({"stack": np.ones((2, 4))}, options)] if name == "spardl_allreduce" else []
    return [*_edges(name), *few, *(space.make(**row) for row in rows)]


DEFINITIONS = {
    name: Definition(
        space,
        _gaussian if name == "gaussiank_allreduce" else called("result", "traffic"),
        sparse.of_sparse(getattr(sparse, name)),
        examples=partial(_examples, name),
        refused={option: BEYOND[option] for option in BEYOND if option in space.axes},
    )
    for name, space in SPACES.items()
}
