"""`Pairing`: a collective in one process beside its rank-by-rank twin; the bits and the traffic must be the same."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import lru_cache, partial
from itertools import cycle
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import COLLECTIVES
from commbounds.collectives.ranks.communicator import Communicator, World
from commbounds.collectives.ranks.lockstep import LockstepWorld
from commbounds.collectives.ranks.one_program import Collective
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Definition, Given
from commbounds.verify.differences import arrays_of, returned_memory
from commbounds.verify.finding import Counterexample
from commbounds.verify.own_callers import call_of, showing
from commbounds.verify.space import RANKS, LeftOut, Settings, Space
from commbounds.verify.study import Case, Outcome, Study

RankResult = Mapping[str, Any]
"""What one rank ends with: arrays, numbers and tuples of them, by name."""


@dataclass(frozen=True, eq=False)
class RankCase:
    """One input.

    Parameters
    ----------
    settings : dict
        Everything that defines it, in plain words and numbers; made anew from them on every rank.
    stack : (P, ...) array
        The ranks' vectors.
    unlike : dict
        Settings that one rank alone is given in place of the others': all ranks must refuse. Empty where none is.
    """

    settings: Mapping[str, Any]
    stack: Array
    unlike: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        others = ", ".join(f"{name}={value}" for name, value in self.unlike.items())
        return given + (f"; one rank: {others}" if others else "")


@dataclass(frozen=True)
class Pairing:
    """A collective and its twin.

    Parameters
    ----------
    name : str
        As in `COLLECTIVES`.
    cases : callable (P) -> iterator of RankCase
        Few, small and telling: both dtypes, ties, zeros, lengths below and above P, options.
    collective : callable (case) -> (one RankResult a rank, Traffic)
        The collective in one process.
    program : callable (communicator, case) -> RankResult
        What a rank does; of the case it uses its own row of the stack and the settings.
    rows : callable (P) -> iterator of RankCase, or None
        Many more, which the claim is about in their place: see `on_rows`.
    """

    name: str
    cases: Callable[[int], Iterator[RankCase]]
    collective: Callable[[RankCase], tuple[list[RankResult], Traffic]]
    program: Callable[[Communicator, RankCase], RankResult]
    rows: Callable[[int], Iterator[RankCase]] | None = None


# --- the cases of a definition --------------------------------------------------------------------------------------


def on_rows(
    name: str,
    space: Space,
    collective: Callable[[Given], tuple[list[RankResult], Traffic]],
    program: Callable[[Communicator, Given], RankResult],
    *left_out: LeftOut,
) -> Pairing:
    """The pairing on a definition's space: every pair of its values, and every two options with every number of ranks.

    Few rows, which show every value twice beside every number of ranks, are its cases; the claim is about a whole
    array, and about two with other companions where ranks have one caller in every other row.

    Parameters
    ----------
    name : str
        As in `COLLECTIVES`.
    space : Space
        Its `make` gives a `Given`, whose first input has an entry for every rank.
    collective, program : callable
        As in `Pairing`, of what is given; which is made anew for either, and once for all ranks: nobody writes to it.
    left_out : LeftOut
        Rows that are not run, such as those that are refused.
    """
    arrays = 2 if _fused(COLLECTIVES[name]) else 1

    def taken(rows: Iterable[Settings]) -> Iterator[Settings]:
        return (row for row in rows if not any(out.at(row) for out in left_out))

    def case(row: Settings) -> RankCase:
        return RankCase(row, next(iter(space.make(**row).inputs.values())))

    def few(P: int) -> Iterator[RankCase]:
        of_size = replace(space.replaced(P=(P,)), combined=()).covering() if P in space.axes["P"] else []
        return map(case, showing(row for row in taken(of_size) if row["P"] == P))

    def rows(P: int) -> Iterator[RankCase]:
        arrays_of = (row for salt in range(arrays) for row in space.covering(salt) if row["P"] == P)
        return map(case, taken(arrays_of))

    def in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
        with np.errstate(all="ignore"):  # sums that overflow are among the rows
            return collective(space.make(**case.settings))

    @lru_cache(maxsize=1)
    def given(case: RankCase) -> Given:
        made: Given = space.make(**case.settings)
        return made

    def on_rank(comm: Communicator, case: RankCase) -> RankResult:
        made = given(case)
        name, brought = next(iter(made.inputs.items()))
        before = _bits(made) if not comm.one_caller else b""
        with np.errstate(all="ignore"):
            result = program(comm, made)
        if comm.one_caller:
            return result
        # what one process never ends with: memory that it is given, but for states, which may go on in the next one
        taken = [f"the memory of {one}" for one in returned_memory(result, {name: brought})]
        taken += ["another value of what it is given"] if _bits(made) != before else []
        return {**result, **dict.fromkeys(taken, True)}

    return Pairing(name, few, in_one_process, on_rank, rows)


def _bits(given: Given) -> bytes:
    return b"".join(array.tobytes() for array in arrays_of(given.inputs))


def _fused(collective: Any) -> bool:
    """Whether one caller's ranks are carried out at once, beside a program that runs in both ways."""
    return isinstance(collective, Collective) and collective.result is None


def by_rank(result: Any, P: int) -> list[RankResult]:
    """For every rank its row of a result, or its row of every field of it.

    Parameters
    ----------
    result : array, dataclass or named tuple
        What a collective returns besides its traffic.
    P : int
        Ranks.
    """
    parts = named(result)
    return [{name: part[rank] for name, part in parts.items()} for rank in range(P)]


def named(result: Any) -> RankResult:
    """The fields of a result by name; of one that has none, itself."""
    if is_dataclass(result):
        return dict(vars(result))
    return dict(result._asdict()) if hasattr(result, "_asdict") else {"result": result}


def on_definition(
    name: str,
    definition: Definition,
    *left_out: LeftOut,
    of_all: Callable[[Any, int], list[RankResult]] = by_rank,
) -> Pairing:
    """The pairing of a collective on the first call that its definition makes in every row of the space.

    A collective that does nothing but run its program is, in one process, that program with one caller on every rank.

    Parameters
    ----------
    name, left_out
        As for `on_rows`.
    definition : Definition
        Of the collective.
    of_all : callable (result, P) -> one RankResult a rank
        Of what a collective that carries out all ranks at once returns besides its traffic, what every rank has, named
        as what its program returns.
    """
    called = COLLECTIVES[name]

    def of_rank(given: Given) -> tuple[Callable[[Communicator], RankResult], int]:
        settings = dict(call_of(definition, given))
        parts = called.parts(settings.pop(called.stack))
        return lambda comm: named(called.on_rank(comm, parts[comm.rank], **settings)), len(parts)

    def collective(given: Given) -> tuple[list[RankResult], Traffic]:
        if called.result is not None:
            return LockstepWorld(one_caller=True).run(*of_rank(given))
        settings = call_of(definition, given)
        result, traffic = called(**settings)
        return of_all(result, len(settings[called.stack])), traffic

    def program(comm: Communicator, given: Given) -> RankResult:
        return of_rank(given)[0](comm)

    return on_rows(name, definition.space, collective, program, *left_out)


@dataclass(frozen=True)
class Agreement:
    """What a comparison found.

    Parameters
    ----------
    name, case : str
        What was compared.
    P : int
        Ranks.
    bits : str
        The first difference between the ranks' results; empty where they are the same.
    traffic : str
        As `bits`, of the words, messages and steps.
    """

    name: str
    case: str
    P: int
    bits: str = ""
    traffic: str = ""

    @property
    def difference(self) -> str:
        """Empty where bits and traffic are the same; else the first difference."""
        return self.bits or self.traffic


def compared(pairing: Pairing, P: int, world: World) -> list[Agreement]:
    """An agreement for every case of `pairing` at `P` ranks."""
    return [_agreed(pairing, P, case, world) for case in pairing.cases(P)]


def _refused(pairing: Pairing, P: int, world: World, case: RankCase) -> Agreement:
    """Whether all ranks refuse that one of them, the middle one, is given other settings."""
    others = replace(case, settings={**case.settings, **case.unlike})
    said = "nothing is refused"
    try:
        world.run(lambda comm: pairing.program(comm, others if comm.rank == P // 2 else case), P)
    except (TypeError, ValueError) as error:
        said = str(error)
    return Agreement(pairing.name, str(case), P, "" if "on all ranks" in said else said)


def _refused_as(kind: type[Exception], pairing: Pairing, P: int, world: World, case: RankCase) -> str:
    """Whether the ranks refuse what one process refuses, by the same kind of error."""
    try:
        world.run(lambda comm: pairing.program(comm, case), P)
    except (TypeError, ValueError) as error:
        return "" if type(error) is kind else f"{kind.__name__} in one process, {type(error).__name__} apart"
    return f"{kind.__name__} in one process, nothing is refused apart"


def _agreed(pairing: Pairing, P: int, case: RankCase, *worlds: World) -> Agreement:
    """Whether the ranks do in every world what one process does."""
    if case.unlike:
        return _refused(pairing, P, worlds[0], case)
    found = Agreement(pairing.name, str(case), P)
    try:
        expected, traffic = pairing.collective(case)
    except (TypeError, ValueError) as error:
        said = (_refused_as(type(error), pairing, P, world, case) for world in worlds)
        return replace(found, bits=next(filter(None, said), ""))
    for world in worlds:
        results, counted = world.run(lambda comm: pairing.program(comm, case), P)
        ranks = enumerate(zip(expected, results, strict=True))
        bits = next((d for r, (ours, theirs) in ranks if (d := _difference(f"rank {r}", dict(ours), dict(theirs)))), "")
        found = replace(found, bits=bits, traffic=_difference("traffic", traffic.as_dict(), counted.as_dict()))
        if found.difference:
            break
    return found


def _difference(where: str, ours: Any, theirs: Any) -> str:
    """Where two results differ first, bit by bit; empty if nowhere."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        if list(ours) != list(theirs):
            return f"{where}: {list(ours)} in one process, {list(theirs)} apart"
        return next((d for name in ours if (d := _difference(f"{where}, {name}", ours[name], theirs[name]))), "")
    if isinstance(ours, tuple | list) and isinstance(theirs, tuple | list):
        if len(ours) != len(theirs):
            return f"{where}: {len(ours)} parts in one process, {len(theirs)} apart"
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next((d for i, (a, b) in pairs if (d := _difference(f"{where}[{i}]", a, b))), "")
    a, b = np.asarray(ours), np.asarray(theirs)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{where}: {a.dtype} {a.shape} in one process, {b.dtype} {b.shape} apart"
    if a.tobytes() != b.tobytes():
        held = [np.frombuffer(values.tobytes(), np.uint8).reshape(a.size, -1) for values in (a, b)]
        differing = np.flatnonzero((held[0] != held[1]).any(axis=1))  # by bytes: zeros have signs, and NaN is not NaN
        at = int(differing[0])
        return f"{where}: {a.ravel()[at]!r} in one process, {b.ravel()[at]!r} apart, at {at} ({differing.size} differ)"
    return ""


# --- the claim ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairingStudy(Study):
    """The claim that a collective is what its ranks do by themselves, on the cases of its pairing.

    Parameters
    ----------
    pairing : Pairing
        What is compared, in lockstep; the rest is as of `Study`.
    """

    pairing: Pairing = field(kw_only=True)

    def prepare(self, case: Case) -> None:
        """Work out what is asked of a case besides the implementation: nothing."""

    def differences(self, implementation: Any, case: Case) -> list[str]:
        """How the two differ in a case: the first difference, or nothing."""
        found = case.once(_agreement, self.pairing, implementation).difference
        return [found] if found else []

    def counterexample(self, implementation: Any, case: Case, outcome: Outcome, bound: Any) -> Counterexample:
        """The record of a difference: the case, and the first thing that differs."""
        shown = super().counterexample(implementation, case, outcome, bound)
        found: Agreement = case.once(_agreement, self.pairing, implementation)
        return replace(shown, subject=f"{self.subject}(P={found.P}, {found.case})", exact=found.difference)


def _cases_of(pairing: Pairing, _budget: Any) -> Iterator[Case]:
    """Rows of a space have callers of their own and one caller in turn; cases by hand both."""
    for P in RANKS:
        callers = cycle([(False,), (True,)] if pairing.rows else [(False, True)])
        for number, case in enumerate((pairing.rows or pairing.cases)(P)):
            yield Case({"P": P, "setup": number}, exact=(case, next(callers)))


def _agreement(pairing: Pairing, implementation: Any, case: Case) -> Agreement:
    """Of ranks with callers of their own, and with one caller, where they do not ask one another.

    A collective that runs its program is what its ranks do with one caller.
    """
    given, callers = case.exact
    both = _fused(implementation) and not given.unlike
    worlds = (LockstepWorld(one_caller=one) for one in (callers if both else (False,)))
    return _agreed(pairing, case.settings["P"], given, *worlds)


def _differing(pairing: Pairing, implementation: Any, case: Case) -> Outcome:
    return Outcome(int(bool(case.once(_agreement, pairing, implementation).difference)), {})


def study_of(column: str, pairing: Pairing) -> PairingStudy:
    """The study of the claim ``COLUMN.NAME.ranks``."""
    return PairingStudy(
        f"{column}.{pairing.name.lower()}.ranks",
        pairing.name,
        partial(_differing, pairing),
        corpus=partial(_cases_of, pairing),
        parameters={"compared": "one process against ranks in lockstep, 1 to 9 of them"},
        pairing=pairing,
    )
