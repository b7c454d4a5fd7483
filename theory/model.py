"""What a certificate speaks of: `Model`, a claim's quantity in exact arithmetic, and `Goal`, what is to be shown of it.

`Refutation` is the same for a claim that fails, of which a certificate holds a counterexample.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar

import sympy as sp


@dataclass(frozen=True)
class Goal:
    """That an expression is nowhere negative, or is zero, wherever the model's conditions are met.

    Everything is a rational function, with rational coefficients, of symbols and of powers with symbolic exponents
    (``p**t``), which count as symbols of their own.

    Parameters
    ----------
    name : str
        Short; unique among the model's goals at one instance.
    show : sympy expression
        What is to be shown not to be negative.
    equal : bool
        Whether it is to be shown to be zero instead.
    given : mapping from str to sympy expression
        What the model knows not to be negative, by name.
    positive : mapping from str to sympy expression
        What it knows to be positive.
    zero : mapping from str to sympy expression
        What it knows to be zero.
    vectors : sequence of symbol
        Symbols that stand for vectors, made by `vectors`. Everything is then a form of degree 0 or 2 in them, as it is
        written, and a product of two of them is an inner product: what is shown holds in every dimension.
    hints : sequence of sympy expression
        Whose squares a solver may try. A proof need not use them.
    run : str
        A name in `commbounds.verify.certify.exhaustion.runs`: the goal is that the kernel which it runs on every bit
        pattern is its definition, and that `show` is the number zero.
    """

    name: str
    show: Any
    equal: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)
    positive: Mapping[str, Any] = field(default_factory=dict)
    zero: Mapping[str, Any] = field(default_factory=dict)
    vectors: Sequence[Any] = ()
    hints: Sequence[Any] = ()
    run: str = ""

    def __post_init__(self) -> None:
        names = [*self.given, *self.positive, *self.zero]
        if len(set(names)) < len(names):
            raise ValueError(f"conditions of {self.name} must have different names, got {', '.join(names)}")


class Step(StrEnum):
    """A step of a proof that stands in the model's words, as no goal shows it. There are no others."""

    SUM = "a sum"
    EXPECTATION = "linearity of the expectation"
    INDEPENDENCE = "independence"
    SYMMETRY = "symmetry of a law"
    NORMS = "Jensen and norms"
    LEMMA = "a named lemma"
    FUNCTIONS = "smooth and convex functions"
    CLAIM = "another claim"
    LIMIT = "an integral or a limit"
    COUNTING = "counting"
    SPECTRUM = "singular values and modes"


STEPS: Mapping[Step, str] = MappingProxyType(
    {
        Step.SUM: (
            "What a goal shows of one entry, pair, worker, outcome or step is added up over all of them. The goal "
            "holds for each, and the claim's two sides are the sums."
        ),
        Step.EXPECTATION: (
            "Expectations are added up, or taken one after another given the past, over a law that no goal writes "
            "out. Where a law has few outcomes, goals write them out, and nothing is left in words."
        ),
        Step.INDEPENDENCE: (
            "The mean of a product is the product of the means, or variances add up, as one factor is independent "
            "of the other, or has no mean for any value of the other."
        ),
        Step.SYMMETRY: (
            "A law does not change if entries, workers, signs or hashes change places. So probabilities or "
            "moments are equal, and a sum over all of them says what each is."
        ),
        Step.NORMS: (
            "Jensen's inequality, or that of Cauchy and Schwarz, of Minkowski, or of the triangle, relates a norm "
            "or a mean in the conditions to the vectors or laws that it is one of."
        ),
        Step.LEMMA: (
            "A theorem with a name is cited: of Wald, Markov, Khinchin, Szarek, Chebyshev (for sums), or Polya "
            "and Szego. The model's words say which."
        ),
        Step.FUNCTIONS: (
            "The inequalities that every smooth, convex or strongly convex function has (descent, cocoercivity, "
            "interpolation) are conditions. They follow from what smooth and convex mean."
        ),
        Step.CLAIM: (
            "What another claim of the book says is a condition, or the measured quantity is by it the formula "
            "that the goal is about. The step is as good as that claim's grade."
        ),
        Step.LIMIT: (
            "A mean over a continuous law is an integral, or a value is that of a limit, and only the integrand "
            "or the formula before the limit is in a goal."
        ),
        Step.COUNTING: (
            "How many, or which, messages, entries or steps there are is read off the algorithm, and is a "
            "condition of the goals."
        ),
        Step.SPECTRUM: (
            "A statement about a matrix, a rotation or a mixing step is made one about its singular values, its "
            "orthogonal modes, or inner products that it keeps."
        ),
    }
)
"""What the steps are."""


@dataclass(frozen=True)
class Extent:
    """How much of its claim a model shows, as its author says.

    Parameters
    ----------
    steps_in_words : tuple of Step
        What the words say and no goal shows, between the mechanism and the claim.
    by_definition : bool
        Whether the goals say of the quantity no more than what the words say it is.
    every_case : bool
        Whether the instances, or the bit patterns of a run, are all that the claim speaks of.
    """

    steps_in_words: tuple[Step, ...] = ()
    by_definition: bool = False
    every_case: bool = False


def extents(
    column: str, but_for: Mapping[tuple[Step, ...], str], by_definition: str = "", every_case: str = ""
) -> dict[str, Extent]:
    """How much a column's models show, by claim; none is listed whose goals are zero, or conditions, as they stand.

    Parameters
    ----------
    column : str
        What the names of the claims begin with.
    but_for : mapping from tuple of Step to str
        Claims, apart by blanks, by the steps that stand in words; ``()`` for those without.
    by_definition, every_case : str
        Claims that are so, see `Extent`.

    Raises
    ------
    ValueError
        A claim is said to be two things.
    """
    said = [
        (name, Extent(steps, every_case=name in every_case.split()))
        for steps in but_for
        for name in but_for[steps].split()
    ]
    said += [(name, Extent(by_definition=True)) for name in by_definition.split()]
    found = {f"{column}.{name}": extent for name, extent in said}
    if len(found) < len(said) or not all(f"{column}.{name}" in found for name in every_case.split()):
        raise ValueError(f"every claim of {column} must be listed once")
    return found


@dataclass(frozen=True)
class Model:
    """A claim's measured quantity in exact arithmetic: what a certificate proves the claim of.

    Parameters
    ----------
    claim : str
        Name of the claim.
    words : str
        What the symbols stand for, and why the goals say what the claim says.
    scope : str
        For which inputs and parameters the goals prove the claim; ``{P}`` where the values of an enumerated parameter
        stand. ``every x in R^n, every n >= k >= 1``.
    goals : function
        Of the claim's bound (its right-hand side) and, by name, of the enumerated parameters: the goals that together
        prove the claim there.
    checked_by : tuple of str
        Claims of the book whose enumeration runs the kernel, and so ties the model to it; the claim itself if nothing
        is said, see `untied`. That its conditions hold at runs of the implementation, tests see besides, which find the
        model by its claim's name.
    instances : sequence of mapping
        Values of the enumerated parameters for which a certificate is looked for; one may prove fewer.
    """

    claim: str
    words: str
    scope: str
    goals: Callable[..., Sequence[Goal]]
    checked_by: tuple[str, ...] = ("the claim itself",)
    instances: Sequence[Mapping[str, Any]] = ({},)

    def __post_init__(self) -> None:
        if self.checked_by == Model.checked_by:
            object.__setattr__(self, "checked_by", (self.claim,))
        for name in ("words", "scope"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} of the model of {self.claim} must not be empty")

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the enumerated parameters."""
        return tuple(inspect.signature(self.goals).parameters)[1:]

    def goals_at(self, bound: Any, at: Mapping[str, Any]) -> dict[str, Goal]:
        """The goals at one instance, by name.

        Parameters
        ----------
        bound : sympy expression
            The claim's right-hand side.
        at : mapping from str to int or Fraction
            A value for every enumerated parameter.

        Raises
        ------
        ValueError
            There are none, two have one name, or the instance has other parameters than the model.
        """
        if set(at) != set(self.parameters):
            raise ValueError(f"the model of {self.claim} is enumerated over {self.parameters}, got {tuple(at)}")
        goals = tuple(self.goals(bound, **at))
        named = {goal.name: goal for goal in goals}
        if not named or len(named) < len(goals):
            raise ValueError(f"the model of {self.claim} must have goals of different names, got {len(goals)}")
        return named

    def scope_of(self, instances: Sequence[Mapping[str, Any]]) -> str:
        """The scope in words, where these instances are proved.

        Raises
        ------
        ValueError
            There are none, or one has other parameters than the model.
        """
        if not instances:
            raise ValueError(f"a certificate of {self.claim} must prove at least one instance")
        if any(set(at) != set(self.parameters) for at in instances):
            raise ValueError(f"the model of {self.claim} is enumerated over {self.parameters}, got {instances}")
        if len(self.parameters) > 1:
            listed = "; ".join(", ".join(f"{name} = {at[name]}" for name in self.parameters) for at in instances)
            return self.scope.format_map(dict.fromkeys(self.parameters, f"({listed})"))
        return self.scope.format_map({name: ranges([at[name] for at in instances]) for name in self.parameters})


untied = partial(Model, checked_by=())
"""A model that no enumeration ties to the implementation."""


@dataclass(frozen=True)
class Refutation:
    """Where a refuted claim's quantity is computed in exact arithmetic: what a counterexample is a point of.

    Everything is an expression of whole numbers, and rational at the points in question. Of two points the smaller is
    that with the smaller sum of them.

    Parameters
    ----------
    claim : str
        Name of the claim.
    words : str
        What the whole numbers stand for, and why the quantity is `measured` there.
    whole : mapping from symbol to int
        The whole numbers, with the smallest value of each.
    measured : sympy expression
        The claim's quantity, wherever the conditions are met.
    values : mapping from symbol to sympy expression
        The symbols of the claim's bound and hypotheses.
    x : nested tuple of sympy expression
        The input, or the workers' inputs, where the claim is about some.
    given, positive, zero : mapping from str to sympy expression
        Conditions under which the quantity is `measured`, by name: not negative, positive, zero.
    met : mapping from str to str
        Of the claim's hypotheses that are no relations between `values`: why they are met.
    checked_by : str
        The test that runs the implementation at the point: ``tests/FILE.py::NAME``.
    """

    claim: str
    words: str
    whole: Mapping[Any, int]
    measured: Any
    values: Mapping[Any, Any] = field(default_factory=dict)
    x: tuple[Any, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    positive: Mapping[str, Any] = field(default_factory=dict)
    zero: Mapping[str, Any] = field(default_factory=dict)
    met: Mapping[str, str] = field(default_factory=dict)
    checked_by: str = "tests/verify/certify/test_refutations.py::test_the_implementation_at_the_point"

    def __post_init__(self) -> None:
        if not self.words.strip() or not all(why.strip() for why in self.met.values()):
            raise ValueError(f"words about the refutation of {self.claim} must not be empty")
        known, expressions = set(self.whole), [self.measured, *self.values.values(), *self.entries]
        expressions += [e for conditions in (self.given, self.positive, self.zero) for e in conditions.values()]
        if unknown := {s.name for e in expressions for s in sp.sympify(e, strict=True).free_symbols - known}:
            raise ValueError(f"the refutation of {self.claim} speaks of {', '.join(sorted(unknown))}, no whole numbers")

    @property
    def entries(self) -> list[Any]:
        """All entries of `x`, one after another."""
        found, left = [], list(self.x)
        while left:
            entry = left.pop(0)
            if isinstance(entry, tuple):
                left = [*entry, *left]
            else:
                found.append(entry)
        return found

    def at(self, point: Mapping[Any, int]) -> str:
        """A point in words: ``x = (2, 1), k = 1``."""

        def shown(e: Any) -> str:
            if isinstance(e, tuple):
                return f"({', '.join(map(shown, e))})"
            return _shown(sp.sympify(e, strict=True).subs(point))

        seen = {s for e in [*self.entries, *self.values.values()] for s in sp.sympify(e, strict=True).free_symbols}
        parts = [f"x = {shown(self.x)}"] if self.x else []
        parts += [f"{symbol.name} = {shown(value)}" for symbol, value in self.values.items()]
        parts += [f"{symbol.name} = {point[symbol]}" for symbol in self.whole if symbol not in seen]
        return ", ".join(parts)


def _shown(number: Any) -> str:
    """A rational number; a long one with its power of two."""
    twos = 0
    if number.is_Rational and max(abs(number.p), number.q) > 10**9:
        while number.p % 2 == 0:
            number, twos = number / 2, twos + 1
        while number.q % 2 == 0:
            number, twos = number * 2, twos - 1
    return str(number) + (f" * 2**{twos}" if twos else "")


def ranges(values: Sequence[Any]) -> str:
    """Numbers in words, runs of integers as one: ``2..16, 32``.

    Examples
    --------
    >>> ranges([2, 3, 4, 8])
    '2..4, 8'
    """
    runs: list[list[Any]] = []
    for value in sorted(set(values)):
        if runs and isinstance(value, int) and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


STAND_IN = "a letter for the bound"
"""Of a condition that changes with the bound: it says that a letter stands for the bound."""
PART = "a part of the bound"
"""The same: a condition of its own, times a part of the bound that is positive."""
CASE = "a case of the bound"
"""The same: a case by the bound's size. The model's words say why the other one needs no proof."""


def vectors(names: str) -> tuple[Any, ...]:
    """Symbols that stand for vectors: they do not commute, so that sympy cancels no product before it is checked."""
    return tuple(sp.symbols(names, commutative=False, seq=True))


def recurrence(
    closed: Any,
    index: Any,
    first: Any,
    step: Callable[[Any, Any], Any],
    start: int = 0,
    positive: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Goal, ...]:
    """The two goals of a proof by induction that a closed form solves a recurrence.

    Parameters
    ----------
    closed : sympy expression
        The closed form, in `index`.
    index : symbol
        What the induction runs over.
    first : sympy expression
        The value at `start`, by the model.
    step : function
        Of the value at some index, and that index: the value at the next, by the model.
    start : int
        Where the induction begins.
    positive : mapping from str to sympy expression
        What is known to be positive, by name.

    Returns
    -------
    tuple of Goal
        That the closed form has the first value, and that it makes the step.
    """
    return (
        Goal("first", closed.subs(index, sp.sympify(start, strict=True)) - first, equal=True, positive=positive),
        Goal("step", closed.subs(index, index + 1) - step(closed, index), equal=True, positive=positive),
    )


def cases(bound: Any, condition: Any) -> tuple[Any, Any]:
    """What a bound is where a condition holds, and where it does not.

    Parameters
    ----------
    bound : sympy expression
        A Piecewise of two branches, of which the first has the condition; or a bound without cases.
    condition : sympy relation
        The model's own.

    Raises
    ------
    ValueError
        The bound has other cases.
    """
    if not bound.has(sp.Piecewise):
        return bound, bound
    if not isinstance(bound, sp.Piecewise) or [c for _, c in bound.args] != [condition, sp.true]:
        raise ValueError(f"the bound must have the cases {condition} and otherwise, got {bound}")
    return bound.args[0][0], bound.args[1][0]


def in_range(symbol: Any, low: Any = 0, high: Any = 1) -> dict[str, Any]:
    """The two conditions low <= symbol <= high, by name."""
    return {f"{symbol} - {low}" if low != 0 else str(symbol): symbol - low, f"{high} - {symbol}": high - symbol}


Named = TypeVar("Named", Model, Refutation)


def by_claim(*models: Named) -> dict[str, Named]:
    """Models, or refutations, by the name of their claim.

    Raises
    ------
    ValueError
        A claim has two.
    """
    named = {model.claim: model for model in models}
    if len(named) < len(models):
        raise ValueError("a claim has one model")
    return named
