"""What certificates about what the dense collectives end with prove: whose terms are in a sum, and its rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import ceil_log2, unit
from commbounds.theory.model import Goal, Model
from commbounds.theory.quantities import P

Message = tuple[int, int, tuple[int, ...]]
"""Source, target and blocks."""
Steps = list[list[Message]]
"""The messages of every step; those of a step happen at once."""
Part = tuple[Steps, bool]
"""Steps, and whether targets add what arrives (or take it in place of what they hold)."""

_RANKS = range(1, 17)
_additions = sp.Symbol("additions", integer=True, nonnegative=True)
_error = sp.Symbol("error", real=True)


def ring(P: int, direction: int = 1) -> Steps:
    """Every rank passes on the block that it received last, its own to begin with."""
    return [[(r, (r + direction) % P, ((r - direction * s) % P,)) for r in range(P)] for s in range(P - 1)]


def direct(P: int) -> Steps:
    """In step s = 1, 2, ... every rank sends its block to rank r + s."""
    return [[(r, (r + s) % P, (r,)) for r in range(P)] for s in range(1, P)]


def bruck(P: int) -> Steps:
    """In step j = 0, 1, ... every rank sends min(2^j, P - 2^j) blocks, its own and those behind it, to rank r - 2^j."""
    return [
        [(r, (r - 2**j) % P, tuple((r + i) % P for i in range(min(2**j, P - 2**j)))) for r in range(P)]
        for j in range((P - 1).bit_length())
    ]


def doubling(P: int) -> Steps:
    """Members of the core exchange what their groups have; folded ranks hand in theirs before, and get all after."""
    core = 1 << (P.bit_length() - 1)
    first = [member + min(member, P - core) for member in range(core + 1)]
    odd = range(1, 2 * (P - core), 2)
    steps: Steps = [[(r, r - 1, (r,)) for r in odd]] if odd else []
    for j in range(core.bit_length() - 1):
        groups = [member >> j << j for member in range(core)]
        steps.append(
            [
                (first[member], first[member ^ 2**j], tuple(range(first[group], first[group + 2**j])))
                for member, group in enumerate(groups)
            ]
        )
    if odd:
        steps.append([(r - 1, r, tuple(b for b in range(P) if b != r)) for r in odd])
    return steps


def backwards(steps: Steps) -> Steps:
    """Last step first, targets send to sources."""
    return [[(target, source, blocks) for source, target, blocks in step] for step in reversed(steps)]


def _folded(P: int, blocks: int, parts: list[Part]) -> list[Part]:
    core = 1 << (P.bit_length() - 1)
    fold: Steps = [[(r, r - 1, tuple(range(blocks))) for r in range(1, 2 * (P - core), 2)]]
    return [(fold, True), *parts, (backwards(fold), False)] if core < P else parts


def _in_core(P: int, steps: Steps) -> Steps:
    core = 1 << (P.bit_length() - 1)
    first = [member + min(member, P - core) for member in range(core)]
    return [[(first[source], first[target], blocks) for source, target, blocks in step] for step in steps]


def _exchanges(P: int) -> list[Part]:
    core = 1 << (P.bit_length() - 1)
    steps: Steps = [[(member, member ^ 2**j, (0,)) for member in range(core)] for j in range(core.bit_length() - 1)]
    return _folded(P, 1, [(_in_core(P, steps), True)])


def _halvings(P: int) -> list[Part]:
    core = 1 << (P.bit_length() - 1)
    gather = _in_core(P, doubling(core))
    return _folded(P, core, [(backwards(gather), True), (gather, False)])


ALLREDUCES: dict[str, tuple[Callable[[int], list[Part]], Callable[[int], int]]] = {
    "ring": (lambda P: [(backwards(ring(P, -1)), True), (ring(P), False)], lambda P: P),
    "recursive_doubling": (_exchanges, lambda P: 1),
    "rabenseifner": (_halvings, lambda P: 1 << (P.bit_length() - 1)),
    "butterfly": (lambda P: [(backwards(direct(P)), True), (direct(P), False)], lambda P: P),
}
"""The all-reduces' parts, and how many blocks there are."""
SCATTERS: dict[str, Callable[[int], list[Part]]] = {
    "ring": lambda P: [(backwards(ring(P, -1)), True)],
    "bruck": lambda P: [(backwards(bruck(P)), True)],
    "recursive-doubling": lambda P: [(backwards(doubling(P)), True)],
}
"""The reduce-scatters' parts."""
GATHERS: dict[str, Callable[[int], list[Part]]] = {
    "ring": lambda P: [(ring(P), False)],
    "bruck": lambda P: [(bruck(P), False)],
    "recursive-doubling": lambda P: [(doubling(P), False)],
}
"""The all-gathers' parts."""

Form = tuple[int, ...]
"""A linear form: how often every rank's term is in it."""


def carried_out(P: int, parts: list[Part], blocks: int) -> list[list[tuple[Form, int]]]:
    """For every rank and block what it holds in the end, and most additions that any term went through."""
    held = [[(tuple(int(p == r) for p in range(P)), 0) for _ in range(blocks)] for r in range(P)]
    for steps, adds in parts:
        for step in steps:
            mail = [(target, block, held[source][block]) for source, target, sent in step for block in sent]
            for target, block, (form, depth) in mail:
                if adds:
                    own, deep = held[target][block]
                    held[target][block] = tuple(map(int.__add__, own, form)), max(deep, depth) + 1
                else:
                    held[target][block] = form, depth
    return held


def _sums(allreduce: str) -> Callable[..., tuple[Goal, ...]]:
    def goals(bound: Any, P: int) -> tuple[Goal, ...]:
        parts, blocks = ALLREDUCES[allreduce]
        held = carried_out(P, parts(P), blocks(P))
        return _all_terms(bound, P, {form for blocks in held for form, _ in blocks})

    return goals


def _blocks_of_sums(bound: Any, P: int) -> tuple[Goal, ...]:
    ends = [carried_out(P, parts(P), P) for parts in SCATTERS.values()]
    return _all_terms(bound, P, {held[r][r][0] for held in ends for r in range(P)})


def _all_terms(bound: Any, P: int, forms: set[Form], terms: Any = None) -> tuple[Goal, ...]:
    """That every form differs from the sum of all terms (or of those said) by what the bound says."""
    x = sp.symbols(f"x0:{P}")
    wanted = sp.Add(*x) if terms is None else terms(x)
    return tuple(
        Goal(f"form {i}", sp.Add(*map(sp.Mul, form, x)) - wanted - bound, equal=True)
        for i, form in enumerate(sorted(forms))
    )


def _contents(bound: Any, P: int) -> tuple[Goal, ...]:
    """That block b of every rank is what rank b brought to it; x0 is rank b's entry, x1 the next rank's and so on."""
    ends = [carried_out(P, parts(P), P) for parts in GATHERS.values()]
    forms = {form[b:] + form[:b] for held in ends for blocks in held for b, (form, _) in enumerate(blocks)}
    return _all_terms(bound, P, forms, lambda x: x[0])


def _rounding(bound: Any) -> tuple[Goal, ...]:
    h, d = _additions, _error

    def relative(count: Any) -> Any:
        return bound.xreplace({ceil_log2: count}).subs(P, count + 1)

    known: dict[str, Any] = {
        "given": {"unit + error": unit + d, "unit - error": unit - d, "unit": unit, "additions": h},
        "positive": {"(additions + 1) unit < 1": 1 - (h + 1) * unit, "additions unit < 1": 1 - h * unit},
    }
    return (
        Goal("no addition", relative(sp.Integer(0)), equal=True),
        Goal("not larger", 1 + relative(h + 1) - (1 + relative(h)) * (1 + d), **known),
        Goal("not smaller", (1 - relative(h)) * (1 + d) - (1 - relative(h + 1)), **known),
    )


SUMS: tuple[Model, ...] = (
    *(
        Model(
            f"dense.{name}.sum",
            "What every rank holds in the end, as a linear form in the ranks' entries x0, x1, ...: the schedule "
            "carried out, message by message; every form that occurs, in any block of any rank. Its difference from "
            "the sum is the bound, zero.",
            "every entry, P = {P}; exact additions",
            _sums(name),
            instances=tuple({"P": ranks} for ranks in _RANKS),
        )
        for name in ALLREDUCES
    ),
    Model(
        "dense.reduce_scatter.sum",
        "What rank r holds of block r in the end, as a linear form in the ranks' entries x0, x1, ...: the schedules of "
        "all algorithms carried out, message by message. Its difference from the sum is the bound, zero.",
        "every entry, every algorithm, P = {P}; exact additions",
        _blocks_of_sums,
        instances=tuple({"P": ranks} for ranks in _RANKS),
    ),
    Model(
        "dense.allgather.contents",
        "What any rank holds of block b in the end, as a linear form in what the ranks brought to it, x0 from rank b, "
        "x1 from the next and so on: the schedules of all algorithms carried out, message by message; every form that "
        "occurs. Its difference from x0 is the bound, zero.",
        "every entry, every algorithm, P = {P}",
        _contents,
        instances=tuple({"P": ranks} for ranks in _RANKS),
    ),
    *(
        Model(
            f"dense.{name}.rounding",
            f"A term of the sum passes through at most h = {why} additions, each of which multiplies it by 1 + error, "
            "|error| <= unit (fl(a + b) = (a + b)(1 + error) as long as nothing overflows, below the normal range "
            "too); an addition that it does not pass through has error 0. By induction on the additions its factor is "
            "between 1 - g(h) and 1 + g(h), where g is the bound as a function of h: for a factor f >= 0 in that range "
            "f (1 + error) is in the next. So the error of the sum is at most g(h) times the sum of the magnitudes.",
            f"every input whose sums do not overflow, every P with {why} < 1/unit",
            _rounding,
            (f"dense.{name}.rounding",),
        )
        for name, why in (
            ("ring", "P - 1"),
            ("recursive_doubling", "ceil(log2 P)"),
            ("rabenseifner", "ceil(log2 P)"),
            ("butterfly", "P - 1"),
        )
    ),
)
"""Of what is summed."""
