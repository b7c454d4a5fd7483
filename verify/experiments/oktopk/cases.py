"""Which iterations of Ok-Topk a claim is confronted with: grids, families, generated, neighbouring, extremal ones."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.oktopk.runs import even_cuts, family_case, stack_case
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.stack_families import FAMILIES
from commbounds.verify.study import Case, shared

_PASSES = (0.4, 0.9)
"""Thresholds left from an earlier iteration, local and global, for vectors with entries of size one."""
_CHOICES: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
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
        "inclusive_threshold": {"threshold": ("inclusive",)},
        "ordinary_iteration": {"thresholds": (_PASSES,), "cuts": ("even",)},
        "sizes_alone": {"thresholds": (_PASSES,), "cuts": ("even",)},
        "stale_threshold": {"thresholds": (_PASSES,), "cuts": ("even",)},
        "gaussian_vectors": {"family": ("iid",)},
    }
)
"""What a hypothesis leaves to choose."""
_ALL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "family": tuple(FAMILIES),
        "cuts": ("fresh", "even"),
        "boundaries": ("mean-of-quantiles", "global-count", "even"),
        "balance": ("always", "4x-mean", "never"),
        "allgather": ("ring", "bruck", "recursive-doubling"),
    }
)


def options_of(name: str) -> dict[str, tuple[Any, ...]]:
    """For every option what the hypotheses of the claim leave to choose."""
    chosen = dict(_ALL)
    for hypothesis in claims()[name].assumes:
        chosen.update(_CHOICES.get(hypothesis.name, {}))
    return chosen


def _turn(choices: Mapping[str, tuple[Any, ...]], number: int) -> dict[str, Any]:
    """The combination of options of this number, each option turning at its own pace."""
    options = {}
    for name, listed in choices.items():
        if name != "family":
            number, which = divmod(number, len(listed))
            options[name] = listed[which]
    return options


def _combinations(choices: Mapping[str, tuple[Any, ...]]) -> int:
    return int(np.prod([len(listed) for name, listed in choices.items() if name != "family"]))


# --- grids --------------------------------------------------------------------------------------------------------

ENUMERATED = (
    "every way in which P ranks can hold k of n entries, with every cut into P regions (or fresh boundaries), the "
    "ranks' values falling and rising in turn, as the options; (P, n, k) = (1, 2, 1), (2, 3, 1), (2, 4, 2), (3, 2, 1), "
    "then (3, 3, 1), (2, 5, 2), (2, 5, 3), then (3, 4, 2); for P = 3, 5, 8, n = 2P + 1, k = 1 and P every second "
    "index, and then as many side by side, shifted by 0..2P from rank to rank"
)
_SIZES = (((1, 2, 1), (2, 3, 1), (2, 4, 2), (3, 2, 1)), ((3, 3, 1), (2, 5, 2), (2, 5, 3)), ((3, 4, 2),))


def _powers_at(places: tuple[tuple[int, ...], ...], n: int, largest: int) -> Any:
    """Nonzeros at the places of every rank; their values are powers of two, distinct, the largest on one end's rank."""
    P, k = len(places), len(places[0])
    x = np.zeros((P, n))
    for p, where in enumerate(places):
        x[p, list(where)] = (-1.0) ** p * 2.0 ** -(k * abs(largest - p) + np.arange(k))
    return x


def grid(name: str) -> Callable[[int], Iterator[Case]]:
    """Every placement of the entries and every cut, as far as the hypotheses leave a choice."""
    return _placements(options_of(name))


@shared
def _placements(left: Mapping[str, tuple[Any, ...]]) -> Callable[[int], Iterator[Case]]:
    def cases(level: int) -> Iterator[Case]:
        choices = dict(left)
        fresh = choices["cuts"] == ("fresh",)
        if not fresh:
            choices["boundaries"] = choices["boundaries"][:1]  # given, not found
        number = 0
        for P, n, k in itertools.chain(*_SIZES[: level + 1]):
            inner = itertools.combinations_with_replacement(range(n + 1), P - 1)
            cuts = ["fresh"] if fresh else [(0, *c, n) for c in inner]
            for places in itertools.product(itertools.combinations(range(n), k), repeat=P):
                for at in cuts:
                    number += 1
                    options = {**_turn(choices, number // 2), "cuts": at}
                    yield stack_case(_powers_at(places, n, (P - 1) * (number % 2)), k, **options)
        for P in (3, 5, 8):
            n = 2 * P + 1
            narrow = (0, *range(1, P), n)
            for k, apart, shift in itertools.product((1, P), (2, 1), range(n)):
                number += 1
                at = "fresh" if fresh else narrow if number % 3 == 0 else even_cuts(P, n)
                places = tuple(tuple(sorted((2 + apart * i + shift * p) % n for i in range(k))) for p in range(P))
                yield stack_case(
                    _powers_at(places, n, (P - 1) * (number % 2)), k, **{**_turn(choices, number), "cuts": at}
                )

    return cases


ORDERS = (
    "every order of (1, -2, 3) and of (0, -1, 2) on one rank and on two, and one after another on three, five and "
    "eight, k = 1 to the number of nonzeros"
)


def orders(name: str) -> Callable[[int], Iterator[Case]]:
    """Every order of three entries that differ in magnitude."""
    return _orders(options_of(name))


@shared
def _orders(choices: Mapping[str, tuple[Any, ...]]) -> Callable[[int], Iterator[Case]]:
    def cases(_level: int) -> Iterator[Case]:
        number = 0
        for P, entries in itertools.product((1, 2), ((1.0, -2.0, 3.0), (0.0, -1.0, 2.0))):
            for rows in itertools.product(itertools.permutations(entries), repeat=P):
                for k in range(1, 1 + np.count_nonzero(entries)):
                    number += 1
                    yield stack_case(np.array(rows), k, **_turn(choices, number))
        for P, entries in itertools.product((3, 5, 8), ((1.0, -2.0, 3.0), (0.0, -1.0, 2.0))):
            every = list(itertools.permutations(entries))
            for first, k in itertools.product(range(len(every)), range(1, 1 + np.count_nonzero(entries))):
                number += 1
                shifted = [every[(first + p) % len(every)] for p in range(P)]
                yield stack_case(np.array(shifted), k, **_turn(choices, number))

    return cases


# --- families -----------------------------------------------------------------------------------------------------


def corpus(name: str) -> Callable[[Budget], Iterator[Case]]:
    """Every family at small sizes, with the options that the hypotheses leave, in turn; more of them with the level."""
    families = _families(options_of(name))
    return (lambda budget: itertools.chain(families(budget), _folded())) if name == "oktopk.both.perfect" else families


def _folded() -> Iterator[Case]:
    """Even regions where recursive doubling folds: some ranks get the others' winners from one alone."""
    for P, allgather in itertools.product((3, 5, 6, 7), _ALL["allgather"]):
        case = family_case("all ranks own", P, 2 * P * P, P, allgather=allgather)
        assert case is not None
        yield case


@shared
def _families(choices: Mapping[str, tuple[Any, ...]]) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        sizes = [(1, 2), (2, 6), (4, 8), (7, 2), (3, 6), (8, 16), (16, 32), (32, 64)][: 4 + 2 * budget.level]
        number = 0
        for family in choices["family"]:
            for P, k in sizes:
                for _ in range(min(1 + 5 * budget.level, _combinations(choices))):
                    number += 1
                    case = _of_family(family, P, 2 * P * k, k, number, _turn(choices, number))
                    if case is not None:
                        yield case
        if "4x-mean" in choices["balance"]:
            yield from _uneven_winners(choices)

    return cases


def _uneven_winners(choices: Mapping[str, tuple[Any, ...]]) -> Iterator[Case]:
    """One rank owns all winners, P > 4 times the mean: where winners are balanced above four times the mean only."""
    for number, (P, k) in enumerate(((5, 5), (8, 8), (8, 16))):
        for turn in range(len(choices["allgather"])):
            options = {**_turn(choices, number), "balance": "4x-mean", "allgather": choices["allgather"][turn]}
            case = _of_family("tight6k", P, 2 * P * k, k, number, {**options, "cuts": choices["cuts"][-1]})
            assert case is not None
            yield case


def _of_family(family: str, P: int, n: int, k: int, seed: int, options: dict[str, Any]) -> Case | None:
    return family_case(family, P, n, k, seed, **options)


@st.composite
def _generated(draw: st.DrawFn, choices: Mapping[str, tuple[Any, ...]]) -> Case:
    options = {option: draw(sampled_from(listed)) for option, listed in choices.items() if option != "family"}
    P, k = draw(integers(1, 9)), draw(integers(1, 12))
    if draw(st.booleans()):
        k = P * max(1, k // P)
    n = k * draw(integers(1, 2 * P))
    if draw(st.booleans()):
        n += draw(integers(0, P))
    family, seed = draw(sampled_from(choices["family"])), draw(integers(0, 2**31))
    if options["cuts"] == "even" and draw(st.booleans()):
        inner = sorted(draw(integers(0, n)) for _ in range(P - 1))
        options["cuts"] = (0, *inner, n)
    case = family_case(family, P, n, k, seed, **options)
    if case is None:
        case = family_case("iid", P, n, k, seed, **options)
    assert case is not None  # iid vectors exist at every size
    return case


def generated(name: str) -> Callable[[], st.SearchStrategy[Case]]:
    """Families, sizes and options that the hypotheses leave, with a seed for the data."""
    return _strategy(options_of(name))


@shared
def _strategy(choices: Mapping[str, tuple[Any, ...]]) -> Callable[[], st.SearchStrategy[Case]]:
    return partial(_generated, choices)


def neighbour(rng: np.random.Generator, case: Case) -> Case:
    """The case with one thing changed: an entry moved, a rank's vector scaled or copied, a cut moved."""
    assert case.x is not None
    x = case.x.copy()
    P, n = x.shape
    settings = {name: value for name, value in case.settings.items() if name not in ("family", "seed", "P", "n")}
    cuts, k = settings.pop("cuts"), settings.pop("k")
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
    return stack_case(x, k, cuts, **settings)


# --- what theory calls extremal -----------------------------------------------------------------------------------

_SMALL = ((2, 4), (3, 6), (4, 8), (8, 8))
_CROWDED = ((2, 1), (3, 2), (4, 8), (8, 5))
_POWERS = ((4, 4), (8, 8), (16, 16))
_EXTREMAL: Mapping[str, tuple[str, dict[str, Any], tuple[tuple[int, int], ...]]] = MappingProxyType(
    {
        "oktopk.sent.even_split": ("tight6k", {}, _SMALL),
        "oktopk.sent.any_split": ("worst sent", {}, _SMALL),
        "oktopk.sent.general": ("worst sent", {}, _SMALL),
        "oktopk.sent.ring": ("handed on", {}, ((3, 1), (4, 1), (7, 1))),
        "oktopk.sent.unconditional": ("worst sent", {}, _SMALL),
        "oktopk.sent.reused_threshold": ("ties", {"thresholds": _PASSES, "cuts": "even"}, _SMALL),
        "oktopk.received.even_split": ("tight6k", {}, _SMALL),
        "oktopk.received.any_split": ("worst received", {}, _SMALL),
        "oktopk.received.limited_inbound": ("limited inbound", {}, ((3, 3), (4, 8), (8, 8))),
        "oktopk.received.worst": ("worst received", {}, _SMALL),
        "oktopk.received.unconditional": ("worst received", {}, _SMALL),
        "oktopk.received.global_count": ("crowded cut", {"boundaries": "global-count"}, _CROWDED),
        "oktopk.path.even_split": ("tight6k", {}, _SMALL),
        "oktopk.both.even_split": ("tight6k", {}, _SMALL),
        "oktopk.both.perfect": ("all ranks own", {}, _SMALL),
        "oktopk.both.as_read": ("tight6k", {}, _SMALL),
        "oktopk.split.rotation": ("all ranks own", {}, _SMALL),
        "oktopk.split.steps": (
            "tight6k", {"thresholds": _PASSES, "cuts": "even", "allgather": "bruck"}, (*_SMALL, (5, 5)),
        ),
        "oktopk.split.unrotated": ("all ranks own", {"rotation": False}, _SMALL),
        "oktopk.boundaries.mean_of_quantiles": ("worst received", {}, _SMALL),
        "oktopk.boundaries.global_count": (
            "crowded cut", {"boundaries": "global-count"}, _CROWDED,
        ),
        "oktopk.balance.always": ("tight6k", {}, _SMALL),
        "oktopk.balance.quarter_as_read": (
            "quarter of the owners", {"balance": "4x-mean", "allgather": "bruck"}, _POWERS,
        ),
        "oktopk.balance.quarter": (
            "quarter of the owners", {"balance": "4x-mean", "allgather": "recursive-doubling"}, ((2, 2), *_POWERS),
        ),
        "oktopk.balance.quarter_ring": ("quarter of the owners", {"balance": "4x-mean"}, _POWERS),
        "oktopk.balance.never": ("tight6k", {"balance": "never", "allgather": "bruck"}, _SMALL),
        "oktopk.balance.moves_out": ("tight6k", {}, _SMALL),
        "oktopk.balance.moves_in": ("tight6k", {}, _SMALL),
        "oktopk.lower.most": ("own regions", {}, _SMALL),
        "oktopk.lower.mean": ("own regions", {}, _SMALL),
        "oktopk.reevaluation.mean_worst": ("disjoint blocks", {}, _SMALL),
        "oktopk.threshold.ties": ("ties", {}, _SMALL),
    }
)  # fmt: skip
"""Family, options and sizes (P, k) at which the claim's tightness is attained, by the claim's name."""


def extremal(name: str) -> Callable[[Budget], Iterator[Case]] | None:
    """The cases that theory calls extremal; None where it names none."""
    if name in _EXTREMAL:
        family, options, sizes = _EXTREMAL[name]

        def cases(_budget: Budget) -> Iterator[Case]:
            for P, k in sizes:
                case = family_case(family, P, 2 * P * k, k, **options)
                assert case is not None
                yield case

        return cases
    return _OTHERS.get(name)


def _nothing(_budget: Budget) -> Iterator[Case]:
    for P, n, k in ((2, 3, 1), (5, 20, 4)):
        yield stack_case(np.zeros((P, n)), k)


def _alone(_budget: Budget) -> Iterator[Case]:
    for P, k in _SMALL:
        n = 2 * P * k
        case = family_case("one rank", P, n, k, cuts=(0, *[n] * P), balance="never")
        assert case is not None
        yield case


def _empty_region(_budget: Budget) -> Iterator[Case]:
    for P, k in _SMALL:
        n = 2 * P * k
        case = family_case("disjoint blocks", P, n, k, cuts=(0, 0, *even_cuts(P, n)[2:]))
        assert case is not None
        yield case


_OTHERS: Mapping[str, Callable[[Budget], Iterator[Case]]] = MappingProxyType(
    {"oktopk.lower.any_vectors": _nothing, "oktopk.lower.every_rank": _alone, "oktopk.reevaluation.most": _empty_region}
)
