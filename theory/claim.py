"""What a paper claims, written down once: `Claim`, `Source`, `Code`, `Hypothesis`."""

import inspect
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any
from urllib.parse import quote

import sympy as sp
from sympy.logic.boolalg import BooleanFunction

from commbounds._notebook import Cell, Math, NotebookTable
from commbounds.theory.evaluation import Evaluator, evaluator
from commbounds.theory.notation import latex
from commbounds.theory.quantities import Quantity

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_]*)+")
_HYPOTHESIS = re.compile(r"[a-z][a-z0-9_]*")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_IDENTIFIER = re.compile(r"\b(arXiv|doi):([\w./()-]*\w)")
_RESOLVERS = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LINES = re.compile(r"(\d+)(-(\d+))?")


class Kind(StrEnum):
    """In which sense a claim is meant."""

    SURE = "sure"
    """For every admissible input and every outcome of the algorithm's own randomness."""
    EXPECTED = "expected"
    """For every admissible input, in expectation over the algorithm's own randomness."""
    LAW = "law"
    """For every admissible input, about the whole distribution of the output."""
    APPROXIMATE = "approximate"
    """An approximation: the claim comes with a map of where it is good."""


class Tag(StrEnum):
    """How we know what a source says."""

    READ = "read"
    OFFICIAL_CODE = "official code"
    TRANSCRIPTION = "transcription"
    """A copy of the whole text that somebody else made was read, and not the work's own pages."""
    SECOND_HAND = "second-hand"
    RECALLED = "recalled"
    DERIVED = "derived"


class Origin(StrEnum):
    """Who makes a statement. Only what is printed can be anybody's erratum."""

    PRINTED = "printed"
    """A work makes it, or its authors' code does, as far as its tag says that we know."""
    USAGE = "common usage"
    """It is commonly said, without a source."""
    OWN = "our own"
    """This book makes it; where it fails, it is something that one might expect, and that is not so."""
    IMPLEMENTATION = "of our implementations"
    """That one of them equals its definition."""


class Standing(StrEnum):
    """What we found about a claim."""

    HOLDS = "holds"
    HOLDS_AS_CORRECTED = "holds as corrected"
    """The statement fails as commonly printed; `Claim.corrected_by` names the statement that holds."""
    REFUTED = "refuted"


COMMON_USAGE = "Common usage"
"""The work of what is commonly said."""


ASKED_OF_ALL = "asked of every compressor"
"""The place of what is asked of every compressor alike."""
DEFINITION = "asked of every implementation"
"""The place of the claim that an implementation equals its definition."""


@dataclass(frozen=True)
class Code:
    """Where in public code something was read, in which version, and what became of it.

    Parameters
    ----------
    repo : str
        ``owner/name`` on GitHub.
    commit : str
        The commit that was read, 40 hexadecimal digits.
    path : str
        The file within the repository.
    lines : str
        ``12`` or ``12-40``; empty for the whole file.
    default : bool or str
        Whether what was read runs with default settings; else which setting does it, in words.
    upstream : str
        What became of it: where it stands in a pull request alone, in which commit it was mended. Empty where it is on
        the default branch, unchanged, as far as was looked.

    Examples
    --------
    >>> Code("sands-lab/grace", "fd3a7f42e71570aa6aecf368a2515388593bfb00", "setup.py", "3-5").link
    'https://github.com/sands-lab/grace/blob/fd3a7f42e71570aa6aecf368a2515388593bfb00/setup.py#L3-L5'
    """

    repo: str
    commit: str
    path: str
    lines: str = ""
    default: bool | str = True
    upstream: str = ""

    def __post_init__(self) -> None:
        if not _REPOSITORY.fullmatch(self.repo):
            raise ValueError(f"repo must be owner/name, got {self.repo!r}")
        if not _COMMIT.fullmatch(self.commit):
            raise ValueError(f"commit must be 40 hexadecimal digits, got {self.commit!r}")
        if not self.path.strip():
            raise ValueError("path must name a file, got an empty string")
        if self.lines and not _LINES.fullmatch(self.lines):
            raise ValueError(f"lines must be a number or two with a hyphen, got {self.lines!r}")
        if isinstance(self.default, str) and not self.default.strip():
            raise ValueError("default must be a bool or name the setting, got an empty string")

    @property
    def link(self) -> str:
        """The permanent address of the lines that were read."""
        lines = "".join(f"{mark}L{line}" for mark, line in zip("#-", self.lines.split("-"), strict=False) if line)
        return f"https://github.com/{self.repo}/blob/{self.commit}/{quote(self.path)}{lines}"

    @property
    def words(self) -> str:
        """The version, the place, the setting and the state in words."""
        first, _, last = self.lines.partition("-")
        lines = f", lines {first} to {last}" if last else f", line {first}" if first else ""
        said = [f"{self.repo} at {self.commit[:7]}, {self.path}{lines}"]
        if self.default is not True:
            said.append("not by default" if self.default is False else f"setting: {self.default}")
        if self.upstream:
            said.append(f"upstream: {self.upstream}")
        return "; ".join(said)


@dataclass(frozen=True)
class Source:
    """Where a statement comes from, and how we know it.

    Parameters
    ----------
    work : str
        Authors, year, title, and ``arXiv:`` or ``doi:`` with an identifier; the arXiv version where one was read.
    place : str
        Section or table within the work; for what is recalled, what is recalled.
    tag : Tag
        How we know it.
    proof : str
        Our own proof sketch; required when `tag` is derived, welcome beside any other tag.
    reading : str
        What of the statement is not in the source but our reading of it: a quantifier that is not printed, an equality
        for an approximation, hypotheses left out. Then the statement is ours.
    code : Code or None
        For what was read in public code: which lines of which version.
    text : str
        Which text of the work was read: its version, who made the copy, how much of it. Empty where the place says it.
    """

    work: str
    place: str
    tag: Tag
    proof: str = ""
    reading: str = ""
    code: Code | None = None
    text: str = ""

    @property
    def link(self) -> str:
        """Address of the work by its arXiv identifier or its DOI, which the reference ends with; empty without one.

        Examples
        --------
        >>> Source("A. Author, 2020, A title, arXiv:2001.00001v2", "Theorem 1", Tag.READ).link
        'https://arxiv.org/abs/2001.00001v2'
        """
        found = _IDENTIFIER.search(self.work)
        return f"{_RESOLVERS[found[1]]}{found[2]}" if found else ""

    @property
    def origin(self) -> Origin:
        """Who makes the statement."""
        if self.place == DEFINITION:
            return Origin.IMPLEMENTATION
        if self.tag is Tag.DERIVED or self.reading:
            return Origin.OWN
        return Origin.USAGE if self.work == COMMON_USAGE else Origin.PRINTED

    def __post_init__(self) -> None:
        if not isinstance(self.tag, Tag):
            raise TypeError(f"tag must be a Tag, got {self.tag!r}")
        if not self.work.strip():
            raise ValueError("work must name the source, got an empty string")
        if not self.place.strip():
            raise ValueError("place must say where in the work, or what is recalled of it, got an empty string")
        if self.tag is Tag.DERIVED and not self.proof.strip():
            raise ValueError("a derived source must carry its proof sketch in proof")


@dataclass(frozen=True)
class Hypothesis:
    """A named condition under which a claim is made.

    Parameters
    ----------
    name : str
        Short name, as shown in tables; a lower-case identifier.
    statement : str
        The condition in words.
    condition : sympy relation, function, or None
        The same, to be run on a case: a relation between the claim's symbols; or a function whose parameters are named
        after what it asks of the case, a setting, a symbol, or `x`, the vectors.
    ensured : str
        Where no case can tell, because every one is made so: how. ``Losses are drawn by one Bernoulli law.``
    """

    name: str
    statement: str
    condition: Any = None
    ensured: str = ""

    def __post_init__(self) -> None:
        if not _HYPOTHESIS.fullmatch(self.name):
            raise ValueError(f"name must be a lower-case identifier, got {self.name!r}")
        if not self.statement.strip():
            raise ValueError(f"statement of {self.name} must not be empty")
        if self.condition is not None and not (
            isinstance(self.condition, sp.Rel | BooleanFunction) or self._is_function
        ):
            raise TypeError(f"condition of {self.name} must be a sympy relation or a function, got {self.condition!r}")
        if self.condition is not None and self.ensured:
            raise ValueError(f"{self.name} has a condition: there is nothing to ensure besides")

    @cached_property
    def _is_function(self) -> bool:
        return callable(self.condition) and not isinstance(self.condition, sp.Basic)

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of what the condition asks of a case."""
        if self.condition is None:
            return ()
        if self._is_function:
            return tuple(inspect.signature(self.condition).parameters)
        return evaluator(self.condition).names

    def admits(self, **values: Any) -> bool:
        """Whether a case with these exact `values` meets the condition; True where there is none to evaluate.

        Raises
        ------
        TypeError
            Something that the condition needs has no value.
        """
        if self.condition is None:
            return True
        if self._is_function:
            try:
                given = [values[name] for name in self.needs]
            except KeyError:
                missing = ", ".join(name for name in self.needs if name not in values)
                raise TypeError(f"condition of {self.name} needs {missing}") from None
            return bool(self.condition(*given))
        return bool(evaluator(self.condition)(values, f"condition of {self.name}"))


def Le(left: Any, right: Any) -> Any:
    """The relation left <= right, which sympy does not try to decide: that would take longer than all the rest."""
    return sp.Le(left, right, evaluate=False)


def Ge(left: Any, right: Any) -> Any:
    """The relation left >= right, likewise."""
    return sp.Ge(left, right, evaluate=False)


def Eq(left: Any, right: Any) -> Any:
    """The relation left = right, likewise."""
    return sp.Eq(left, right, evaluate=False)


def for_one_reason(why: str, *patterns: str) -> tuple[tuple[str, str], ...]:
    """The patterns, each with the one reason: entries of `Claim.unpinned` or `Claim.unentered`."""
    return tuple((pattern, why) for pattern in patterns)


def reason(name: str, reasons: tuple[tuple[str, str], ...]) -> str:
    """The reason that belongs to the first pattern (shell style) that `name` matches; empty where none does."""
    return next((why for pattern, why in reasons if fnmatchcase(name, pattern)), "")


@dataclass(frozen=True)
class Claim(NotebookTable):
    """One statement of a paper, as a relation between a measured quantity and its bound.

    Parameters
    ----------
    name : str
        ``column.subject.statement``, lower case.
    title : str
        The statement in one sentence.
    relation : sympy Le, Eq or Ge
        Left the quantity that is measured, right the bound in the claim's parameters.
    source : Source
        Where the statement comes from.
    kind : Kind
        In which sense the relation is meant.
    assumes : tuple of Hypothesis
        Under which conditions it is made.
    stands : Standing
        What we found.
    corrected_by : str
        Name of the claim that corrects this one; only for holds as corrected.
    tightness : sympy expression or None
        The supremum of measured / bound over admissible inputs that theory gives: 1 for a tight bound, above 1
        for a refuted one (infinite where no multiple of the bound holds), in the claim's symbols where it depends
        on them; of bound / measured for a lower bound. None where theory does not say, and for equalities.
    extremal : str
        The input that attains or approaches `tightness`, or that refutes the claim, in words.
    axis : str
        Name of the symbol over which bound and measurement are drawn.
    note : str
        What a reader should know besides: the finding in words.
    unpinned : tuple of (str, str)
        Formula mutants (see `theory.mutation`) that no case can refute, by shell-style pattern of their names, each
        with the reason: equivalent, still true, or loose by nature.
    unentered : tuple of (str, str)
        Regimes of the bound that no case can enter, likewise.
    """

    name: str
    title: str
    relation: Any
    source: Source
    kind: Kind = Kind.SURE
    assumes: tuple[Hypothesis, ...] = ()
    stands: Standing = Standing.HOLDS
    corrected_by: str = ""
    tightness: Any = None
    extremal: str = ""
    axis: str = "n"
    note: str = ""
    unpinned: tuple[tuple[str, str], ...] = ()
    unentered: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name must be dotted lower-case words, got {self.name!r}")
        if not isinstance(self.kind, Kind) or not isinstance(self.stands, Standing):
            raise TypeError(f"{self.name}: kind must be a Kind and stands a Standing")
        if not isinstance(self.source, Source):
            raise TypeError(f"source of {self.name} must be a Source, got {self.source!r}")
        if not isinstance(self.assumes, tuple) or not all(isinstance(h, Hypothesis) for h in self.assumes):
            raise TypeError(f"assumes of {self.name} must be a tuple of Hypothesis, got {self.assumes!r}")
        if not isinstance(self.relation, sp.Le | sp.Ge | sp.Eq):
            raise TypeError(f"relation of {self.name} must be a sympy Le, Ge or Eq, got {self.relation!r}")
        if not isinstance(self.relation.lhs, Quantity):
            raise ValueError(f"relation of {self.name} must have a Quantity on its left-hand side")
        if self.quantity in self.relation.rhs.free_symbols:
            raise ValueError(f"the bound of {self.name} must not contain the measured symbol")
        if (self.stands is Standing.HOLDS_AS_CORRECTED) != bool(self.corrected_by):
            raise ValueError(f"{self.name}: corrected_by names a claim exactly when stands is holds as corrected")
        if self.tightness is not None:
            object.__setattr__(self, "tightness", sp.sympify(self.tightness, strict=True))
            if not self.tightness.free_symbols <= self.relation.rhs.free_symbols:
                raise ValueError(f"tightness of {self.name} must be written in the symbols of its bound")
        if not self.extremal and (self.tightness is not None or self.stands is not Standing.HOLDS):
            raise ValueError(f"{self.name}: a stated tightness or a refutation needs the extremal input in words")

    def __repr__(self) -> str:
        return f"<Claim {self.name}: {self.title}>"

    def _heading(self) -> str:
        return self.name

    def _rows(self) -> list[tuple[Cell, ...]]:
        rows: list[tuple[Cell, ...]] = [
            ("statement", self.title),
            ("relation", Math(self.latex)),
            ("measured", self.quantity.meaning),
            ("kind", str(self.kind)),
            *(("assumes", hypothesis.statement) for hypothesis in self.assumes),
            ("stands", str(self.stands) + (f", by {self.corrected_by}" if self.corrected_by else "")),
        ]
        if self.tightness is not None:
            rows.append(("tightness", Math(latex(self.tightness))))
        return [*rows, ("source", f"{self.source.work}; {self.source.place} [{self.source.tag}]")]

    @property
    def quantity(self) -> Quantity:
        """What is measured."""
        return self.relation.lhs  # type: ignore[no-any-return]

    @property
    def column(self) -> str:
        """The column, that is, the first part of the name."""
        return self.name.partition(".")[0]

    @property
    def subject(self) -> str:
        """What the claim is about, that is, the second part of the name."""
        return self.name.split(".")[1]

    @property
    def asked_of_all(self) -> bool:
        """Whether all compressors, or implementations, are asked the same: then a table has the answers, no figure."""
        return self.source.place in (ASKED_OF_ALL, DEFINITION)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the symbols that the bound depends on, sorted."""
        return self._bound.names

    @cached_property
    def _bound(self) -> Evaluator:
        return evaluator(self.relation.rhs)

    @cached_property
    def latex(self) -> str:
        """The relation as LaTeX, with the measured quantity's definition on the left; sure claims without its E."""
        measured = self.quantity.latex.replace(r"\mathbb{E}\,", "") if self.kind is Kind.SURE else self.quantity.latex
        return latex(self.relation, {self.quantity: measured})

    def bound(self, **values: Any) -> Any:
        """The right-hand side at the given parameter values.

        Parameters
        ----------
        **values : int, Fraction, sympy number, float or array
            One value for every name in `parameters`; further names are ignored, so that one dictionary can
            serve several claims.

        Returns
        -------
        Fraction, sympy.Expr, float or ndarray
            With exact parameters only: a Fraction where the bound is rational, else the exact sympy number. With a
            float or an array among the parameters: float64, broadcast.

        Raises
        ------
        TypeError
            A parameter is missing.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from commbounds.theory import claims
        >>> claims()["sparsifiers.topk.contraction"].bound(n=4, k=Fraction(1))
        Fraction(3, 4)
        """
        return self._bound(values, f"bound of {self.name}")

    def tightness_at(self, **values: Any) -> Any:
        """The stated tightness at the given parameter values, as `bound` gives the bound; None where none is stated."""
        if self.tightness is None:
            return None
        return math.inf if self.tightness is sp.oo else evaluator(self.tightness)(values, f"tightness of {self.name}")
