"""Which iterations of Ok-Topk a claim is confronted with: rows of spaces, as far as its hypotheses leave a choice."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.theory import claims
from commbounds.verify.experiments.oktopk.runs import OkTopkRun, even_cuts
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.stack_families import FAMILIES, stack
from commbounds.verify.study import Case, Curve, shared

Choices = Mapping[str, tuple[Any, ...]]
Rows = tuple[tuple[float, ...], ...]

_PASSES = (0.4, 0.9)
"""Thresholds left from an earlier iteration, local and global, for vectors with entries of size one."""
_SUITING = Of(
    "even where the family is meant for even regions, else fresh",
    lambda family: "even" if family in FAMILIES and FAMILIES[family].even else "fresh",
)
_ALL_FIRST = Of("the first region is everything", lambda P, n: (0, *[n] * P))
_EMPTY = Of("the first region is empty", lambda P, n: (0, 0, *even_cuts(P, n)[2:]) if P > 1 else (0, n))
_ANYWHERE = Of(
    "anywhere", lambda P, n, k: (0, *sorted(np.random.default_rng([P, n, k]).integers(0, n + 1, P - 1).tolist()), n)
)
_KEPT = ("even", _ALL_FIRST, _EMPTY, _ANYWHERE)
"""Boundaries that are given, and not found."""
_ALL: Choices = MappingProxyType(
    {
        "cuts": ("fresh", *_KEPT),
        "boundaries": ("mean-of-quantiles", "global-count", "even"),
        "balance": ("always", "4x-mean", "never"),
        "allgather": ("ring", "bruck", "recursive-doubling"),
    }
)
_FIXED: Choices = MappingProxyType({"threshold": ("inclusive",), "rotation": (True,), "thresholds": (None,)})
_CHOICES: Mapping[str, Choices] = MappingProxyType(
    {
        "fresh_mean_of_quantiles": {"cuts": ("fresh",), "boundaries": ("mean-of-quantiles",)},
        "global_count": {"cuts": ("fresh",), "boundaries": ("global-count",)},
        "always_balanced": {"balance": ("always",)},
        "quarter_rule": {"balance": ("4x-mean",)},
        "never_balanced": {"balance": ("never",)},
        "unrotated": {"rotation": (False,)},
        "last_gather_ring": {"allgather": ("ring",)},
        "last_gather_bruck": {"allgather": ("bruck",)},
        "last_gather_doubling": {"allgather": ("recursive-doubling", "bruck")},
        "strict_threshold": {"threshold": ("strict",)},
        "ordinary_iteration": {"thresholds": (_PASSES,), "cuts": _KEPT},
        "sizes_alone": {"thresholds": (_PASSES,), "cuts": _KEPT},
        "stale_threshold": {"thresholds": (_PASSES,), "cuts": _KEPT},
        "gaussian_vectors": {"family": ("iid",)},
    }
)
"""What a hypothesis leaves to choose."""


def options_of(name: str) -> Choices:
    """For every option what the hypotheses of the claim leave to choose."""
    chosen = dict(_ALL)
    for hypothesis in claims()[name].assumes:
        chosen |= _CHOICES.get(hypothesis.name, {})
    return chosen


# --- stacks of families -------------------------------------------------------------------------------------------


def stacked(P: int, n: int, k: int, family: str, seed: int) -> Array:
    """The ranks' vectors: of the family, or zeros."""
    return np.zeros((P, n), np.float32) if family == "nothing" else _stack(family, P, n, k, seed).copy()


_stack = lru_cache(maxsize=1 << 10)(stack)
"""Many claims are about the same stacks."""


def exists(P: int, n: int, k: int, family: str) -> bool:
    """Whether there are stacks of the family at these sizes."""
    return FAMILIES[family].fits(P, n, k) if family in FAMILIES else k <= n


@shared
def family_of(choices: Choices, make: Callable[..., Array] = stacked) -> Family:
    """Stacks of every kind, with the options that are left to choose."""
    axes: dict[str, Sequence[Any]] = {
        "P": RANKS,
        "family": (*FAMILIES, "nothing"),
        "k": (Of("P", lambda P: P), 2, 1),
        "n": (
            Of("2 P k", lambda P, k: 2 * P * k),
            Of("P k + k", lambda P, k: P * k + k),
            Of("k", lambda k: k),
        ),
        **_ALL,
        **_FIXED,
        **choices,
    }
    if axes["cuts"] == _ALL["cuts"]:
        axes["cuts"] = (_SUITING, *_ALL["cuts"])
    space = Space(make, axes, options=("boundaries", "balance", "allgather")).without(
        "The family does not exist at these sizes.", lambda P, n, k, family: not exists(P, n, k, family)
    )
    uneven = ["4x-mean"] if "4x-mean" in axes["balance"] else []
    by_hand = (
        # one rank owns all winners, P > 4 times the mean
        *space.every(P=(5, 8), family=["tight6k"], balance=uneven, allgather=axes["allgather"]),
        # even regions where recursive doubling folds: some ranks get the others' winners from one alone
        *space.every(P=(3, 5, 6, 7), family=["all ranks own"], allgather=axes["allgather"]),
        # one rank owns all winners, whose number is no multiple of P
        *space.every(P=(4, 8), family=["ties"], cuts=[cuts for cuts in axes["cuts"] if cuts is _ALL_FIRST]),
    )
    wider = (Of("3 P k - 1", lambda P, k: 3 * P * k - 1), Of("P k + 1", lambda P, k: P * k + 1))
    space = space.search(k=(1, 12), n=wider).including(*by_hand)
    return Family("oktopk", "oktopk_allreduce", space, run=OkTopkRun.of, exact=False)


@shared
def _over_ranks(family: Family) -> Callable[[int], Iterator[tuple[float, list[Case]]]]:
    def points(seed: int) -> Iterator[tuple[float, list[Case]]]:
        kinds = [kind for kind in family.space.axes["family"] if kind in FAMILIES]
        for P in (2, 4, 8, 16):
            rows = [family.space.at(P=P, family="iid", seed=seed % 2**31 + number) for number in range(_DRAWS)]
            rows += family.space.every(P=[P], family=kinds[1:], seed=[seed % 2**31])
            yield P, [family.case(row) for row in rows]

    return points


_DRAWS = 3
"""Gaussian stacks at a point of a curve."""


def over_ranks(name: str) -> Curve:
    """Bound and measurement over P at k = P: every family for the worst, Gaussian vectors for the band."""
    claim = claims()[name]
    relative = bool({"winners", "selected", "inbound", "union"} & set(claim.parameters))
    never_gaussian = {"even_split", "even_regions"} & {hypothesis.name for hypothesis in claim.assumes}
    points = _over_ranks(family_of(options_of(name)))
    return Curve("P", "k = P, n = 2Pk, all families", points, 0 if never_gaussian else _DRAWS, relative)


def neighbour(rng: np.random.Generator, case: Case) -> Case:
    """The case with one thing changed: an entry moved, a rank's vector scaled or copied, a cut moved."""
    x, cuts = case.array.copy(), case.settings["cuts"]
    P, n = x.shape
    kind = int(rng.integers(4))
    p = int(rng.integers(P))
    if kind == 0:
        i, j = rng.integers(n, size=2)
        x[p, [i, j]] = x[p, [j, i]]
    elif kind == 1:
        x[p] *= rng.choice((0.5, 2.0))
    elif kind == 2:
        x[p] = x[int(rng.integers(P))]
    elif cuts != "fresh" and P > 1:
        inner = list(even_cuts(P, n) if cuts == "even" else cuts)[1:-1]
        inner[int(rng.integers(P - 1))] = int(rng.integers(n + 1))
        cuts = (0, *sorted(inner), n)
    else:
        x[p] = np.roll(x[p], int(rng.integers(n)))
    return Case({**case.settings, "family": "climbed", "cuts": cuts}, x)


# --- what is enumerated -------------------------------------------------------------------------------------------

_GIVEN = Family(
    "oktopk",
    "oktopk_allreduce",
    Space(
        lambda rows: np.array(rows),
        {
            "rows": (((1.0,),),),
            "P": (Of("the number of rows", lambda rows: len(rows)),),
            "n": (Of("their length", lambda rows: len(rows[0])),),
            "k": (1,),
            **_ALL,
            **_FIXED,
        },
    ),
)


def given(rows: Rows, **settings: Any) -> Case:
    """The case of these vectors, with the first choice of every option that is not given."""
    return _GIVEN.case(_GIVEN.space.at(rows=rows, **settings))


def in_turn(choices: Mapping[str, Sequence[Any]], **axes: Any) -> Callable[[int], Iterator[Case]]:
    """Stacks of all combinations of the values of `axes`, with those of the choices in turn."""
    turns = [dict(zip(choices, turn, strict=True)) for turn in itertools.product(*choices.values())]

    def cases(level: int) -> Iterator[Case]:
        rows = zip(_GIVEN.space.every_at(level, axes), itertools.cycle(turns), strict=False)
        return (given(**{**row, **turn}) for row, turn in rows)

    return cases


_SIZES = (((1, 2, 1), (2, 3, 1), (2, 4, 2), (3, 2, 1)), ((3, 3, 1), (2, 5, 2), (2, 5, 3)), ((3, 4, 2),))
ENUMERATED = (
    "every way in which P ranks can hold k of n entries, with every cut into P regions (or fresh boundaries), the "
    "ranks' values falling and rising in turn, as the options; (P, n, k) = (1, 2, 1), (2, 3, 1), (2, 4, 2), (3, 2, 1), "
    "then (3, 3, 1), (2, 5, 2), (2, 5, 3), then (3, 4, 2); for P = 3, 5, 8, n = 2P + 1, k = 1 and P every second "
    "index, and then as many side by side, shifted by 0..2P from rank to rank"
)


def _placements(level: int) -> Iterator[Rows]:
    """Nonzeros at the places of every rank; their values are powers of two, distinct, the largest on one end's rank."""
    held: list[tuple[int, Sequence[Sequence[int]]]] = [
        (n, places)
        for P, n, k in itertools.chain(*_SIZES[: level + 1])
        for places in itertools.product(itertools.combinations(range(n), k), repeat=P)
    ]
    for P in (3, 5, 8):
        n = 2 * P + 1
        for (k, apart), shift in itertools.product(((1, 1), (P, 2), (P, 1)), range(n)):
            held.append((n, [sorted((2 + apart * i + shift * p) % n for i in range(k)) for p in range(P)]))
    for number, (n, places) in enumerate(held):
        P, k = len(places), len(places[0])
        x = np.zeros((P, n))
        for p, where in enumerate(places):
            from_end = abs((P - 1) * (number // 3 % 2) - p)
            x[p, where] = (-1.0) ** p * 2.0 ** -(k * from_end + np.arange(k))
        yield tuple(map(tuple, x.tolist()))


def _cuts(P: int, n: int) -> Iterable[Any]:
    """Every cut; of long vectors even ones and narrow ones."""
    if n > 2 * P:
        return "even", (0, *range(1, P), n)
    return ((0, *inner, n) for inner in itertools.combinations_with_replacement(range(n + 1), P - 1))


@shared
def placements(choices: Choices) -> Callable[[int], Iterator[Case]]:
    """Every placement of the entries and every cut, as far as the hypotheses leave a choice."""
    fresh = choices["cuts"] == ("fresh",)
    left = {**choices, "boundaries": choices["boundaries"] if fresh else _ALL["boundaries"][:1]}  # given, not found
    return in_turn(
        {option: listed for option, listed in left.items() if option not in ("cuts", "family")},
        rows=_placements,
        k=lambda rows: [int(np.count_nonzero(rows[0]))],
        cuts=lambda rows: ["fresh"] if fresh else _cuts(len(rows), len(rows[0])),
    )


ORDERS = (
    "every order of (1, -2, 3) and of (0, -1, 2) on one rank and on two, and one after another on three, five and "
    "eight, k = 1 to the number of nonzeros"
)


def _orders() -> Iterator[Rows]:
    for entries in ((1.0, -2.0, 3.0), (0.0, -1.0, 2.0)):
        every = list(itertools.permutations(entries))
        yield from itertools.chain.from_iterable(itertools.product(every, repeat=P) for P in (1, 2))
        for P, first in itertools.product((3, 5, 8), range(len(every))):
            yield tuple(every[(first + p) % len(every)] for p in range(P))


@shared
def orders(choices: Choices) -> Callable[[int], Iterator[Case]]:
    """Every order of three entries that differ in magnitude."""
    return in_turn(choices, rows=_orders, k=lambda rows: range(1, 1 + np.count_nonzero(rows[0])))


# --- what theory calls extremal -----------------------------------------------------------------------------------

_EXTREMAL: Mapping[str, str] = MappingProxyType(
    {
        "tight6k": "sent.even_split received.even_split path.even_split both.even_split both.as_read split.steps "
        "balance.always balance.never balance.moves_out balance.moves_in",
        "worst sent": "sent.any_split sent.general sent.unconditional",
        "worst received": "received.any_split received.worst received.unconditional boundaries.mean_of_quantiles",
        "handed on": "sent.ring",
        "limited inbound": "received.limited_inbound",
        "crowded cut": "received.global_count boundaries.global_count",
        "all ranks own": "both.perfect split.rotation split.unrotated",
        "quarter of the owners": "balance.quarter_as_read balance.quarter balance.quarter_ring",
        "own regions": "lower.most lower.mean",
        "disjoint blocks": "reevaluation.mean_worst reevaluation.most",
        "one rank": "lower.every_rank",
        "nothing": "lower.any_vectors",
        "ties": "sent.reused_threshold threshold.ties",
    }
)
"""The claims whose tightness is attained on stacks of a family."""
_ATTAINED_AT: Mapping[str, Sequence[tuple[int, int]]] = MappingProxyType(
    {
        "tight6k": ((2, 4), (3, 6), (4, 8), (5, 5), (8, 8)),
        "handed on": ((3, 1), (4, 1), (7, 1)),
        "limited inbound": ((3, 3), (4, 8), (8, 8)),
        "crowded cut": ((2, 1), (3, 2), (4, 8), (8, 5)),
        "quarter of the owners": ((4, 4), (8, 8), (16, 16)),
    }
)
"""Numbers of ranks and of entries kept."""
_ATTAINED_BY: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"lower.every_rank": {"cuts": _ALL_FIRST, "balance": "never"}, "reevaluation.most": {"cuts": _EMPTY}}
)
"""Options besides, by claim."""


def extremal(name: str) -> Callable[[Any], Iterator[Case]] | None:
    """The cases that theory calls extremal; None where it names none."""
    short, made = name.removeprefix("oktopk."), family_of(options_of(name))
    for family, attained in _EXTREMAL.items():
        if short in attained.split():
            sizes = [*_ATTAINED_AT.get(family, ((2, 4), (3, 6), (4, 8), (8, 8)))]
            sizes += [(2, 2)] * (short == "balance.quarter")
            more = _ATTAINED_BY.get(short, {})
            return made.of([made.space.at(P=P, k=k, family=family, **more) for P, k in sizes])
    return None
