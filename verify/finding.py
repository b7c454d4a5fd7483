"""What an experiment found: `Finding`, `Evidence`, `Counterexample`, `Series`, and their JSON form."""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from typing import Any

from commbounds._notebook import Cell, NotebookTable
from commbounds.verify.certify.grades import told
from commbounds.verify.reading import NON_FINITE, line_of, parsed, record


class Verdict(StrEnum):
    """What was found, strongest first."""

    PROVED = "proved"
    """A certificate proves a model of the claim for every input of its scope; the implementation keeps the claim."""
    ENUMERATED = "enumerated"
    """All randomness enumerated in exact arithmetic, on every input of the grids whose shapes the evidence names."""
    SURVIVED = "survived"
    """A search for a counterexample found none."""
    CONSISTENT = "consistent"
    """A sequential test saw no violation at its declared false-alarm rate."""
    REFUTED = "refuted"
    """A counterexample was found."""
    ERROR = "error"
    """The implementation raised on an admissible input."""
    DEFINITION = "by definition"
    """Of a certificate alone: it shows what the model says of the quantity, and proves nothing."""


class Method(StrEnum):
    """How a claim was confronted with its implementation."""

    CERTIFICATE = "certificate"
    """A proof was checked in exact arithmetic; it is about a model, which the evidence names a tie for."""
    EXACT = "exact"
    INJECT = "inject"
    """The kernel was fed random inputs at and around every edge, and agreed with the law."""
    SEARCH = "search"
    SAMPLE = "sample"
    ATTACK = "attack"
    EXTREMAL = "extremal"
    """The input that theory calls extremal was measured."""


@dataclass(frozen=True)
class Counterexample:
    """An input on which the claim's relation fails.

    Parameters
    ----------
    subject : str
        The compressor, as it prints: ``TopK(k=1)``.
    x : nested list of float
        The input; longer ones are cut to their first 64 entries, and `x_length` tells the whole length.
    measured, bound : float
        Left- and right-hand side of the relation there.
    exact : str
        The same two as exact numbers where they were computed exactly, else empty.
    x_length : int
        Entries of the whole input.
    """

    subject: str
    x: list[Any]
    measured: float
    bound: float
    exact: str = ""
    x_length: int = 0


@dataclass(frozen=True)
class Evidence:
    """What one method contributed.

    Parameters
    ----------
    method : Method
        Which one.
    verdict : Verdict
        What it says on its own.
    cases : int
        Inputs enumerated, examples searched, samples drawn, or goals of the model proved.
    detail : str
        In one sentence what was done: sizes, families, parameters.
    tightness : float or None
        Largest measured / bound it saw.
    e_value : float or None
        Sequential tests: the final wealth; a claim falls when it passes 1 / alpha.
    alpha : float or None
        Sequential tests: the declared false-alarm rate of this test.
    detects : float or None
        Sequential tests: the smallest relative violation that is detected with probability 0.99.
    counterexample : Counterexample or None
        Where the relation fails.
    nontrivial : int or None
        Of the cases, those that could have broken the claim: both sides not zero, the mechanism in question active.
        None where cases are samples.
    scope : dict of str to str
        Which values every setting and every symbol that counts something took: ``{"P": "1, 2, 3, 5, 8"}``. Of a
        certificate what `commbounds.verify.certify.grades.record` says, or under ``smallest`` its counterexample.
    """

    method: Method
    verdict: Verdict
    cases: int
    detail: str
    tightness: float | None = None
    e_value: float | None = None
    alpha: float | None = None
    detects: float | None = None
    counterexample: Counterexample | None = None
    nontrivial: int | None = None
    scope: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """Bound against measurement over the claim's natural parameter: what the figures draw.

    Parameters
    ----------
    label : str
        What varies and what is held, for the legend or the title: ``n = 256``.
    axis : str
        Name of the parameter along x: ``k/n``, ``levels``, ``n``.
    x : list of float
        Its values, ascending.
    bound : list of float
        The bound at each.
    worst : list of float
        Of all inputs, adversarial ones included, the measured value farthest on the wrong side of the bound, or nearest
        to it; for an equality the one farthest from it.
    random_low, random_mid, random_high : list of float
        5 %, 50 % and 95 % quantile of the measured value over random inputs.
    gradients : dict of str to list of float
        Measured value on real gradients, by shard kind and phase of training: ``iid, early``.
    relative : bool
        Whether everything is divided by the bound, because that differs from input to input.
    """

    label: str
    axis: str
    x: list[float]
    bound: list[float]
    worst: list[float]
    random_low: list[float] = field(default_factory=list)
    random_mid: list[float] = field(default_factory=list)
    random_high: list[float] = field(default_factory=list)
    gradients: dict[str, list[float]] = field(default_factory=dict)
    relative: bool = False

    def check(self) -> None:
        """Raise ValueError where the lists cannot be drawn: not as long as `x`, or nothing there."""
        lists = (self.bound, self.worst, self.random_low, self.random_mid, self.random_high, *self.gradients.values())
        if not (self.x and self.bound and self.worst) or any(len(v) not in (0, len(self.x)) for v in lists):
            raise ValueError(f"{self.label}: every list of a series must be as long as x, and not empty")


@dataclass(frozen=True)
class Finding(NotebookTable):
    """The result of confronting one claim with its implementation.

    Parameters
    ----------
    claim : str
        Name of the claim.
    verdict : Verdict
        The strongest that the evidence supports; refuted as soon as one piece of evidence refutes.
    as_stated : bool
        Whether the verdict agrees with the claim's standing in the book, and tightness with the stated one.
    evidence : tuple of Evidence
        What each method contributed.
    series : tuple of Series
        Curves for the figure.
    tightness : float or None
        Largest measured / bound over all evidence; 1 means that the bound is attained.
    parameters : dict
        What the experiment was run with, in words.
    seed, budget : int, str
        What reproduces the finding.
    versions : dict of str to str
        commbounds and the libraries that computed it.
    message : str
        Why the finding does not agree with the book, or what raised.
    left_out : dict of str to int
        Cases that each hypothesis of the claim kept out.
    unmeasured : dict of str to int
        Admissible cases that could not be measured, by reason.
    regimes : dict of str to int
        Cases in each branch of a Piecewise, Min or Max of the bound.
    mutants : int
        Formula mutants of a claim that holds: neighbours of its bound that ask for more, see `theory.mutation`.
    untested : tuple of str
        Those of them that no case refutes, for no known reason.
    explained : dict of str to str
        Those that no case refutes, with the reason: the book's, or that the stated tightness leaves room for them.
    """

    claim: str
    verdict: Verdict
    as_stated: bool
    evidence: tuple[Evidence, ...]
    series: tuple[Series, ...] = ()
    tightness: float | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    seed: int = 0
    budget: str = "quick"
    versions: dict[str, str] = field(default_factory=dict)
    message: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    unmeasured: dict[str, int] = field(default_factory=dict)
    regimes: dict[str, int] = field(default_factory=dict)
    mutants: int = 0
    untested: tuple[str, ...] = ()
    explained: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Finding {self.claim}: {'; '.join(self._said)}>"

    @property
    def _said(self) -> list[str]:
        """Verdict, agreement with the book, and tightness."""
        tight = [] if self.tightness is None else [f"tightness {self.tightness:.4g}"]
        return [str(self.verdict), "as the book says" if self.as_stated else self.message, *tight]

    def _heading(self) -> str:
        return f"{self.claim}: {'; '.join(self._said)}"

    def _rows(self) -> list[tuple[Cell, ...]]:
        rows: list[tuple[Cell, ...]] = [
            (str(e.method), str(e.verdict), f"{e.cases} cases", e.detail) for e in self.evidence
        ]
        if (example := self.counterexample) is not None:
            sides = f"measured {example.measured:.6g}, bound {example.bound:.6g}"
            rows.append(("counterexample", example.subject, sides, str(example.x)))
        return rows

    def plot(self, ax: Any = None, series: int = 0) -> Any:
        """Bound against measurement on axes of matplotlib, see `commbounds.figures.plot`, which is imported for it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None
            Where to draw; new axes if None.
        series : int
            Which of `series` to draw.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that were drawn on.
        """
        # by name: nothing here knows how to draw
        return import_module("commbounds.figures").plot(self, ax, series)

    @property
    def pinned(self) -> tuple[int, int]:
        """How many formula mutants some case refutes, and of how many: without those that are explained."""
        asked = self.mutants - len(self.explained)
        return asked - len(self.untested), asked

    @property
    def proved_for(self) -> str:
        """The scope of the claim's certificate, in words; empty without one, and where it proves nothing."""
        return "" if self.grade == Verdict.DEFINITION else self.shown_for

    @property
    def shown_for(self) -> str:
        """The scope of the claim's certificate, in words, whatever it proves; empty without one."""
        return self._certified("for")

    @property
    def grade(self) -> str:
        """How much of the claim its certificate proves, see `commbounds.verify.certify.Grade`; empty without one."""
        return self._certified("grade")

    @property
    def graded(self) -> str:
        """The same, with the steps in words and a scope that is finite."""
        return next((told(e.scope) for e in self.evidence if e.method is Method.CERTIFICATE), "")

    @property
    def steps_in_words(self) -> tuple[str, ...]:
        """What the proof of the claim says in words: values of `commbounds.theory.model.Step`."""
        return tuple(filter(None, self._certified("steps").split(", ")))

    @property
    def refuted_at(self) -> str:
        """The counterexample of the claim's certificate, in words; empty without one."""
        return self._certified("smallest")

    def _certified(self, key: str) -> str:
        return next((e.scope.get(key, "") for e in self.evidence if e.method is Method.CERTIFICATE), "")

    @property
    def counterexample(self) -> Counterexample | None:
        """The first counterexample among the evidence."""
        return next((e.counterexample for e in self.evidence if e.counterexample is not None), None)

    def to_json(self) -> str:
        """One line of JSON; infinities and NaN as strings, so that any JSON reader takes it."""
        return self._line

    @cached_property
    def _line(self) -> str:
        return line_of(self, lambda number: {"float": repr(number)})


_FIELDS = frozenset(f.name for f in fields(Finding))


def _number(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"float"} and isinstance(value["float"], str):
        return NON_FINITE.get(value["float"], value)
    return value


def finding_from_json(line: str) -> Finding:
    """The finding that `Finding.to_json` wrote.

    Raises
    ------
    ValueError
        The line is not a finding, was written by another version, or a field of it is not what it must be: the message
        names the field.
    """
    data = parsed(line)
    missing = sorted(_FIELDS - set(data)) if isinstance(data, dict) else ()
    if missing:
        raise ValueError(f"not a finding of this version: it says nothing of {', '.join(missing)}")
    return record(Finding, data, _number)
