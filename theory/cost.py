"""The alpha-beta cost of a schedule, summed symbolically: `Phase`, `Schedule`, `Machine`, `Cost`, `cost`.

A message of L words costs alpha + beta L, and gamma for every word that its receiver reduces. A schedule says, phase by
phase, how many steps there are and how many words the busiest rank moves in step t; everything else is summed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from commbounds._notebook import Cell, Math, NotebookTable
from commbounds.theory.claim import Hypothesis, Source
from commbounds.theory.notation import latex
from commbounds.theory.quantities import P
from commbounds.theory.symbols import expression

t = sp.Symbol("t", integer=True, nonnegative=True)
"""A step of a phase, counted from 0."""


class log2(sp.Function):  # type: ignore[misc]
    """Binary logarithm; exact at powers of two."""

    nargs = 1
    is_real = True

    @classmethod
    def eval(cls, x: Any) -> Any:
        """The value where `x` is a power of two."""
        if x.is_Rational and x.is_positive and x.p & (x.p - 1) == 0 and x.q & (x.q - 1) == 0:
            return sp.Integer(x.p.bit_length() - x.q.bit_length())
        return None

    def _eval_evalf(self, prec: int) -> Any:
        return (sp.log(self.args[0]) / sp.log(2))._eval_evalf(prec)

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative."""
        return 1 / (self.args[0] * sp.log(2))

    def _latex(self, printer: Any, **_: Any) -> str:
        if isinstance(self.args[0], power_below):
            return rf"\left\lfloor\log_2 {printer.parenthesize(self.args[0].args[0], 50)}\right\rfloor"
        return rf"\log_2 {printer.parenthesize(self.args[0], 50)}"

    @staticmethod
    def _imp_(x: Any) -> Any:
        import numpy as np

        return np.log2(x)


class power_below(sp.Function):  # type: ignore[misc]
    """The largest power of two that is at most `x` > 0."""

    nargs = 1
    is_positive = True

    def _eval_is_integer(self) -> Any:
        return True if self.args[0].is_integer else None

    @classmethod
    def exact(cls, x: Any) -> Fraction:
        """The value at a positive rational number."""
        value = Fraction(x)
        power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
        return power if power <= value else power / 2

    @classmethod
    def eval(cls, x: Any) -> Any:
        """The value where `x` is a number."""
        return sp.Rational(cls.exact(Fraction(int(x.p), int(x.q)))) if x.is_Rational and x > 0 else None

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"2^{{\left\lfloor\log_2 {printer.parenthesize(self.args[0], 50)}\right\rfloor}}"

    @staticmethod
    def _imp_(x: Any) -> Any:
        import numpy as np

        # x = f 2^e with 1/2 <= f < 1, so 2^(e-1) <= x < 2^e
        return np.ldexp(1.0, np.frexp(np.asarray(x, dtype=np.float64))[1] - 1)


@dataclass(frozen=True)
class Phase:
    """Consecutive steps of one kind.

    Parameters
    ----------
    name : str
        In one or two words.
    steps : sympy expression
        How many.
    words : sympy expression
        Words in step `t` = 0, 1, ..., of the rank that moves most.
    reduced : sympy expression
        Words that this rank adds up in step `t`.
    link : str
        inter or intra: the slowest link that a step uses, on a machine whose ranks sit in nodes.
    """

    name: str
    steps: Any
    words: Any
    reduced: Any = 0
    link: str = "inter"

    def __post_init__(self) -> None:
        if self.link not in ("inter", "intra"):
            raise ValueError(f"link must be inter or intra, got {self.link!r}")
        for part in ("steps", "words", "reduced"):
            object.__setattr__(self, part, expression(part, getattr(self, part)))
        if self.steps.has(t):
            raise ValueError(f"steps of {self.name} must not depend on t, got {self.steps}")


@dataclass(frozen=True)
class Schedule:
    """What a collective does, as data.

    Parameters
    ----------
    name : str
        Under which it is looked up.
    title : str
        In words.
    phases : tuple of Phase
        One after another.
    source : Source
        Where the schedule, or the printed formula, comes from.
    assumes : tuple of Hypothesis
        Where the phases are exact.
    where : tuple of (symbol, expression)
        What symbols of the phases stand for; put in after summing. A symbol that stands for log2 P also turns P into a
        power of two while summing.
    printed : Cost or None
        As the paper prints it, written down here only to be compared.
    kind : str
        dense, sparse or quantised: an all-reduce of whole, sparsified or quantised vectors; part: half of one.
    end : str
        Where the data decide: upper or lower, for the end of the range that this is; empty where they do not.
    note : str
        What a reader should know besides.
    """

    name: str
    title: str
    phases: tuple[Phase, ...]
    source: Source
    assumes: tuple[Hypothesis, ...] = ()
    where: tuple[tuple[Any, Any], ...] = ()
    printed: Cost | None = None
    kind: str = "dense"
    end: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("dense", "sparse", "quantised", "part"):
            raise ValueError(f"kind of {self.name} must be dense, sparse, quantised or part, got {self.kind!r}")
        if self.end not in ("", "upper", "lower"):
            raise ValueError(f"end of {self.name} must be upper, lower or empty, got {self.end!r}")
        if not self.phases:
            raise ValueError(f"{self.name} must have at least one phase")

    def unmet(self, **values: Any) -> tuple[Hypothesis, ...]:
        """The conditions that these values of P, n, k and so on do not meet."""
        return tuple(hypothesis for hypothesis in self.assumes if not hypothesis.admits(**values))


@dataclass(frozen=True)
class Machine:
    """What steps, words and additions cost, in seconds; ranks in nodes may talk faster than nodes.

    Parameters
    ----------
    alpha, beta, gamma : expression or number
        Of a step, a word and an addition.
    alpha_intra, beta_intra : expression or number or None
        Of a step and a word that stay within a node; None where there is no difference.
    """

    alpha: Any = field(default_factory=lambda: sp.Symbol("startup", positive=True))
    beta: Any = field(default_factory=lambda: sp.Symbol("perword", positive=True))
    gamma: Any = 0
    alpha_intra: Any = None
    beta_intra: Any = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            object.__setattr__(self, name, expression(name, getattr(self, name)))
        for name in ("alpha", "beta"):
            within = getattr(self, f"{name}_intra")
            object.__setattr__(
                self, f"{name}_intra", getattr(self, name) if within is None else expression(name, within)
            )


@dataclass(frozen=True)
class Cost(NotebookTable):
    """Closed forms of what a schedule adds up to.

    Parameters
    ----------
    latency : sympy expression
        Steps.
    words : sympy expression
        Words on the critical path.
    reduced : sympy expression
        Additions on the critical path.
    intra : Cost or None
        The part of all three that stays within nodes.
    """

    latency: Any
    words: Any
    reduced: Any = 0
    intra: Cost | None = None

    def __post_init__(self) -> None:
        for part in ("latency", "words", "reduced"):
            object.__setattr__(self, part, expression(part, getattr(self, part)))

    def _heading(self) -> str:
        return "cost on the critical path"

    def _rows(self) -> list[tuple[Cell, ...]]:
        parts = {"steps": "latency", "words": "words", "additions": "reduced"}
        rows: list[tuple[Cell, ...]] = [(label, Math(latex(getattr(self, name)))) for label, name in parts.items()]
        if self.intra is not None:
            rows += [(f"{label} within nodes", Math(latex(getattr(self.intra, name)))) for label, name in parts.items()]
        return rows

    def time(self, machine: Machine) -> Any:
        """Latency, words and additions at the machine's prices."""
        total = self.latency * machine.alpha + self.words * machine.beta + self.reduced * machine.gamma
        if self.intra is None:
            return total
        saved_steps = self.intra.latency * (machine.alpha_intra - machine.alpha)
        return total + saved_steps + self.intra.words * (machine.beta_intra - machine.beta)

    def at(self, **values: Any) -> Cost:
        """The same at exact values of some symbols."""

        def put(closed: Any) -> Any:
            symbols = {s: expression(s.name, values[s.name]) for s in closed.free_symbols if s.name in values}
            return closed.xreplace(symbols).doit()

        return Cost(put(self.latency), put(self.words), put(self.reduced), self.intra and self.intra.at(**values))


def cost(schedule: Schedule) -> Cost:
    """Closed forms of latency, words and additions, from ``Sum(...).doit()`` over every phase.

    Examples
    --------
    >>> from commbounds.theory.schedules import SCHEDULES
    >>> cost(SCHEDULES["ring"]).words
    2*n*(P - 1)/P
    """
    within = any(phase.link == "intra" for phase in schedule.phases)
    return Cost(*_total(schedule), intra=Cost(*_total(schedule, "intra")) if within else None)


@cache
def critical_steps(schedule: Schedule, link: str = "") -> Any:
    """`Cost.latency` of a schedule; where `link` is given, of the phases on such links."""
    return _closed(schedule, [phase.steps for phase in _phases(schedule, link)])


@cache
def critical_words(schedule: Schedule, link: str = "") -> Any:
    """`Cost.words` of a schedule, likewise."""
    return _closed(schedule, [_summed(schedule, phase, phase.words) for phase in _phases(schedule, link)])


def _total(schedule: Schedule, link: str = "") -> tuple[Any, Any, Any]:
    reduced = [_summed(schedule, phase, phase.reduced) for phase in _phases(schedule, link)]
    return critical_steps(schedule, link), critical_words(schedule, link), _closed(schedule, reduced)


def _phases(schedule: Schedule, link: str) -> list[Phase]:
    return [phase for phase in schedule.phases if link in ("", phase.link)]


def _summed(schedule: Schedule, phase: Phase, words: Any) -> Any:
    """Sum of `words` over the steps of a phase."""
    for symbol, meaning in schedule.where:
        if meaning == log2(P):
            words = words.subs(P, 2**symbol)
    # term by term, factors that do not depend on t taken out: sympy sums what is left much faster
    parts = [term.as_independent(t, as_Add=False) for term in sp.Add.make_args(sp.expand(words))]
    return sum((factor * _sum_of(part, phase.steps) for factor, part in parts), sp.Integer(0))


@cache
def _sum_of(term: Any, steps: Any) -> Any:
    return sp.Sum(term, (t, 0, steps - 1)).doit()


def _closed(schedule: Schedule, parts: list[Any]) -> Any:
    """The sum of `parts`, simplified, and written in what the symbols stand for."""
    total = sp.expand(sp.Add(*parts))
    for symbol, meaning in schedule.where:
        if isinstance(meaning, log2):
            total = total.subs(2**symbol, meaning.args[0])
    return _rebuilt(sp.factor(total).xreplace(dict(schedule.where)))


def _rebuilt(expression: Any) -> Any:
    """The same as sympy builds it by itself: `factor` may leave 2*(P - 1), which a copy would turn into 2*P - 2."""
    return expression.func(*map(_rebuilt, expression.args)) if expression.args else expression
