"""What certificates about what the dense collectives end with prove: whose terms are in a sum, and its rounding."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import ceil_log2, unit
from commbounds.theory.finite_laws import proved_by, relative_errors
from commbounds.theory.model import Goal, Model, recurrence, untied
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


Held = int | tuple[Any, ...]
"""What a rank holds: its own entry, by its number, what it was sent (one part), or a sum (two parts)."""


def _by_messages(P: int, parts: list[Part], blocks: int) -> list[list[Held]]:
    """For every rank and block what it holds in the end, message by message."""
    held: list[list[Held]] = [[r] * blocks for r in range(P)]
    for steps, adds in parts:
        for step in steps:
            mail = [(target, block, held[source][block]) for source, target, sent in step for block in sent]
            for target, block, arrived in mail:
                held[target][block] = (held[target][block], arrived) if adds else (arrived,)
    return held


def _in_order(held: Held, names: dict[int, int]) -> Held:
    """What is held, with ranks called 0, 1, ... in the order in which they occur."""
    if isinstance(held, int):
        return names.setdefault(held, len(names))
    return tuple(_in_order(part, names) for part in held)


def _end(bound: Any, number: int, held: Held, terms: Sequence[int]) -> Goal:
    """That what is held is the sum of these ranks' entries, except for the bound; every message is a condition."""
    known: dict[str, Any] = {}

    def value(of: Held) -> Any:
        if isinstance(of, int):
            return sp.Symbol(f"x{of}")
        parts = [value(part) for part in of]
        own = sp.Symbol(f"held{len(known)}")
        known[f"message {len(known)}"] = own - sp.Add(*parts)
        return own

    show = value(held) - sp.Add(*(sp.Symbol(f"x{r}") for r in terms)) - bound
    return Goal(f"order {number}", show, equal=True, zero=known)


def _ends(bound: Any, held: Iterable[Held], terms: Sequence[int]) -> tuple[Goal, ...]:
    """The same of all ends, one for every order in which messages were added."""
    orders = dict.fromkeys(held)
    return tuple(_end(bound, number, order, terms) for number, order in enumerate(orders))


def _added(held: Held) -> Held:
    """What is held without the messages that only carried it on."""
    if isinstance(held, int):
        return held
    return _added(held[0]) if len(held) == 1 else tuple(map(_added, held))


def _sums(allreduce: str) -> Callable[..., tuple[Goal, ...]]:
    def goals(bound: Any, P: int) -> tuple[Goal, ...]:
        parts, blocks = ALLREDUCES[allreduce]
        held = _by_messages(P, parts(P), blocks(P))
        return _ends(bound, (_in_order(_added(of), {}) for row in held for of in row), range(P))

    return goals


def _blocks_of_sums(bound: Any, P: int) -> tuple[Goal, ...]:
    ends = [_by_messages(P, parts(P), P) for parts in SCATTERS.values()]
    return _ends(bound, (_in_order(_added(held[r][r]), {}) for held in ends for r in range(P)), range(P))


def _contents(bound: Any, P: int) -> tuple[Goal, ...]:
    """That block b of every rank is what rank b brought to it."""
    ends = [_by_messages(P, parts(P), P) for parts in GATHERS.values()]
    return _ends(bound, (_in_order(of, {b: 0}) for held in ends for row in held for b, of in enumerate(row)), (0,))


def _rounding(doubling: bool) -> Callable[[Any], tuple[Goal, ...]]:
    """Where a sum over some ranks' terms is added to one over as many, or to one rank's term."""
    h, d = _additions, _error
    ranks = 2**h if doubling else h + 1

    def goals(bound: Any) -> tuple[Goal, ...]:
        def relative(count: Any) -> Any:
            return bound.xreplace({ceil_log2: count}).subs(P, count + 1)

        known: dict[str, Any] = {
            "given": {"unit + error": unit + d, "unit - error": unit - d, "unit": unit, "additions": h},
            "positive": {"(additions + 1) unit < 1": 1 - (h + 1) * unit, "additions unit < 1": 1 - h * unit},
        }
        return (
            *relative_errors(),
            *proved_by("ranks", recurrence(ranks, h, 1, lambda before, _: before + (before if doubling else 1))),
            Goal("no addition", relative(sp.Integer(0)), equal=True),
            Goal("not larger", 1 + relative(h + 1) - (1 + relative(h)) * (1 + d), **known),
            Goal("not smaller", (1 - relative(h)) * (1 + d) - (1 - relative(h + 1)), **known),
        )

    return goals


SUMS: tuple[Model, ...] = (
    *(
        untied(
            f"dense.{name}.sum",
            "The schedule carried out, message by message: what arrives is added to what is held, and every addition "
            "is a condition. What any rank holds of any block in the end differs from the sum of the ranks' entries "
            "by the bound, zero. Ranks are called x0, x1, ... in the order in which their entries were added.",
            "every entry, P = {P}; exact additions",
            _sums(name),
            instances=tuple({"P": ranks} for ranks in _RANKS),
        )
        for name in ALLREDUCES
    ),
    untied(
        "dense.reduce_scatter.sum",
        "The schedules of all algorithms carried out, message by message, every addition being a condition. What rank "
        "r holds of block r in the end differs from the sum of the ranks' entries x0, x1, ... by the bound, zero.",
        "every entry, every algorithm, P = {P}; exact additions",
        _blocks_of_sums,
        instances=tuple({"P": ranks} for ranks in _RANKS),
    ),
    untied(
        "dense.allgather.contents",
        "The schedules of all algorithms carried out, message by message, every one of which is a condition. What any "
        "rank holds of block b in the end differs from what rank b brought to it, x0, by the bound, zero.",
        "every entry, every algorithm, P = {P}",
        _contents,
        instances=tuple({"P": ranks} for ranks in _RANKS),
    ),
    *(
        Model(
            f"dense.{name}.rounding",
            f"A sum over some ranks' terms is added to {to}: after h = {why} additions it has all, and no term went "
            "through more (ranks that are folded in take the first). Each multiplies a term by 1 + error, |error| <= "
            "unit (fl(a + b) = (a + b)(1 + error) as long as nothing overflows, below the normal range too); one that "
            "it does not pass through has error 0. By induction on the additions its factor is between 1 - g(h) and 1 "
            "+ g(h), where g is the bound as a function of h: for a factor f >= 0 in that range f (1 + error) is in "
            "the next. So the error of the sum is at most g(h) times the sum of the magnitudes.",
            f"every input whose sums do not overflow, every P with {why} < 1/unit",
            _rounding(doubling),
        )
        for doubling, why, to, names in (
            (False, "P - 1", "one rank's term", ("ring", "butterfly")),
            (True, "ceil(log2 P)", "one over as many", ("recursive_doubling", "rabenseifner")),
        )
        for name in names
    ),
)
"""Of what is summed."""
