"""`DefinitionStudy`: the claim that an implementation equals its definition, and the cases that it is tried on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.collectives import COLLECTIVES
from commbounds.collectives.ranks.one_program import Collective
from commbounds.theory import claims
from commbounds.verify.compressor_run import law_lines
from commbounds.verify.data import HIDING, retyped, strided
from commbounds.verify.definition import REFUSED, Definition, Given
from commbounds.verify.differences import Said
from commbounds.verify.experiment import Budget
from commbounds.verify.finding import Counterexample
from commbounds.verify.own_callers import (
    alike_lines,
    altered_lines,
    common_names,
    is_numeric,
    own_caller_lines,
    showing,
)
from commbounds.verify.space import SEED, Of
from commbounds.verify.study import Case, Outcome, Study


@dataclass(frozen=True)
class DefinitionStudy(Study):
    """The claim that an implementation equals its definition.

    Parameters
    ----------
    definition : Definition
        With its space; the rest is as of `Study`.
    """

    definition: Definition = field(kw_only=True)
    drawn_of = 3

    def given(self, case: Case) -> Given:
        """What is given in a case."""
        held: Given = case.once(_given, self.definition)
        return held

    def prepare(self, case: Case) -> None:
        """Work out what is asked of a case besides the implementation."""
        if not {APART, ALTERED, LAW} & set(case.settings):
            case.once(_said, self.definition)

    def differences(self, implementation: Any, case: Case) -> list[str]:
        """How the implementation differs from its definition in a case: see `differences`."""
        return _lines(self.definition, implementation, case)

    def simpler(self, case: Case) -> Iterator[Case]:
        row, marks = _row(case), _MARKS & set(case.settings)
        if marks - {CALLERS}:
            return
        marked = {mark: case.settings[mark] for mark in marks}
        if marked:
            yield Case(row)
        yield from (Case({**one, **marked}) for one in self.definition.space.simpler(row))

    def counterexample(self, implementation: Any, case: Case, outcome: Outcome, bound: Any) -> Counterexample:
        """The record of a difference: the first value that differs, and the first array of the inputs."""
        shown = super().counterexample(implementation, case, outcome, bound)
        given = self.given(case)
        x = next((value for value in given.inputs.values() if is_numeric(value)), np.zeros(0))
        lines = case.once(_lines, self.definition, implementation)
        listed = np.asarray(x, dtype=np.float64)[..., :64].tolist()
        return replace(shown, x=listed, x_length=int(np.size(x)), exact="; ".join(lines[:3]))


EXAMPLE = "vector"
"""The setting of a case by hand: its number among the test vectors."""
BEYOND = "beyond its range"
"""The setting of a row of the space one of whose parameters is beyond its range: its name and value."""
MIXED = "rows of two dtypes"
"""The setting of a row of the space in which the ranks' rows are a list, the last of another dtype: which input."""
APART = "not the same on all ranks"
"""The setting of a case in which one rank is given something else, in rows of the space: its name."""
CALLERS = "callers"
"""The setting of a row of the space whose ranks run with one caller, and then each with its own."""
ALTERED = "altered on its way"
"""The setting of a case in which what arrives has another form: its dtype, or its length."""
LAW = "exact law"
"""The setting of a row of the space with whose hyper-parameters an exact law is compared: at how many inputs."""
_MARKS = {EXAMPLE, BEYOND, MIXED, APART, CALLERS, ALTERED, LAW}
"""Settings of cases that are no plain rows."""


def _row(case: Case) -> dict[str, Any]:
    return {name: value for name, value in case.settings.items() if name not in _MARKS}


def _given(definition: Definition, case: Case) -> Given:
    if EXAMPLE in case.settings:
        assert definition.examples is not None
        held: Given = definition.examples()[case.settings[EXAMPLE]]
        return held
    if {APART, ALTERED} & set(case.settings):
        return Given({})
    row = _row(case)
    made: Given = definition.space.make(**row)
    if row[SEED] % 4 == 3:
        made = replace(made, inputs={name: strided(value) for name, value in made.inputs.items()})
    if row[SEED] % 4 == 1:
        made = replace(made, **{part: _retyped(getattr(made, part)) for part in ("inputs", "parameters", "randomness")})
    if MIXED in case.settings:
        rows = list(made.inputs[case.settings[MIXED]])
        with np.errstate(over="ignore"):  # that it becomes infinite makes it no less of another dtype
            rows[-1] = rows[-1].astype("f4" if rows[-1].dtype == np.float64 else "f8")
        return made.changed(case.settings[MIXED], rows)
    if BEYOND in case.settings:
        name, number = case.settings[BEYOND]
        return made.changed(name, number)
    return made


def _retyped(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if name == SEED else retyped(value) for name, value in values.items()}


def _said(definition: Definition, case: Case) -> Said:
    if BEYOND in case.settings:
        return {REFUSED: "ValueError"}
    return {REFUSED: "TypeError"} if MIXED in case.settings else definition.said(case.once(_given, definition))


def _lines(definition: Definition, implementation: Any, case: Case) -> list[str]:
    given = case.once(_given, definition)
    if APART in case.settings:
        return alike_lines(definition, implementation, case.settings[APART])
    if ALTERED in case.settings:
        return altered_lines(definition, implementation)
    if LAW in case.settings:
        return list(law_lines(implementation(**given.parameters), definition.exact))
    said = case.once(_said, definition)
    lines = definition.differences(implementation, given, said)
    if CALLERS in case.settings and not lines:
        own = own_caller_lines(definition, implementation, given, said)
        return [f"{line} (ranks with callers of their own)" for line in own]
    return lines


def _beyond(definition: Definition) -> Iterator[Case]:
    """Rows of the space, one parameter of which is beyond its range."""
    rows = definition.space.covering()
    for name, values in definition.refused.items():
        for place, value in enumerate(values):
            row = rows[(7 * place + 3) % len(rows)]
            yield Case({**row, BEYOND: (name, value.at(row) if isinstance(value, Of) else value)})


def _mixed(definition: Definition, stack: str) -> Iterator[Case]:
    """A row with several ranks, if they bring floats as one array: in a list, one rank's of another dtype."""
    for row in definition.space.covering():
        brought = definition.space.make(**row).inputs.get(stack) if row.get("P", 1) > 1 else None
        if isinstance(brought, np.ndarray) and brought.dtype.kind == "f":
            yield Case({**row, MIXED: stack})
            return


def _with_law(definition: Definition, rows: Iterable[Mapping[str, Any]]) -> Iterator[Case]:
    """A row for all hyper-parameters that rows have."""
    met = set()
    for row in rows if definition.exact else ():
        parameters = definition.space.make(**row).parameters
        if repr(parameters) not in met and definition.lawful(parameters):
            met.add(repr(parameters))
            yield Case({**row, LAW: len(definition.exact)})


def _counted(definition: Definition, implementation: Any, case: Case) -> Outcome:
    of_ranks = {APART, ALTERED} & set(case.settings)
    active = not of_ranks or isinstance(implementation, Collective)
    return Outcome(len(case.once(_lines, definition, implementation)), {}, active=active)


def _by_hand(definition: Definition, column: str, name: str, budget: Budget) -> Iterator[Case]:
    """The test vectors, then the covering array: more of them, with other companions, at larger budgets."""
    if definition.examples is not None:
        for number in range(len(definition.examples())):
            yield Case({EXAMPLE: number})
    yield from _beyond(definition)
    yield from (Case({APART: name}) for name in common_names(definition))
    rows = [row for salt in range(1 + 2 * budget.level) for row in definition.space.covering(salt)]
    yield from _with_law(definition, rows)
    of_ranks = isinstance(COLLECTIVES.get(name), Collective)
    if of_ranks:
        yield from _mixed(definition, COLLECTIVES[name].stack)
        yield Case({ALTERED: "dtype and length of what arrives"})
    alone = of_ranks and f"{column}.{name.lower()}.ranks" not in claims()
    own = {id(row) for row in showing(rows)} if alone else set()
    for row in chain(rows, definition.space.telling(rows, HIDING)):
        yield Case({**row, CALLERS: "one, and each rank its own"} if id(row) in own else row)


def _generated(definition: Definition) -> st.SearchStrategy[Case]:
    return definition.space.drawn().map(Case)


def study_of(column: str, name: str, definition: Definition) -> DefinitionStudy:
    """The study of the claim that `name`, of a registry, equals its definition.

    Parameters
    ----------
    column, name : str
        The claim is ``COLUMN.NAME.definition`` in lower case.
    definition : Definition
        What it is, and where that is tried.
    """
    return DefinitionStudy(
        f"{column}.{name.lower()}.definition",
        name,
        partial(_counted, definition),
        corpus=partial(_by_hand, definition, column, name),
        cases=partial(_generated, definition),
        parameters={"space": definition.space.words()},
        definition=definition,
    )
