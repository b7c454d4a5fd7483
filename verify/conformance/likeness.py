"""`like`: all that the book says of a compressor or a collective of ours, as claims of somebody else's function."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import COLLECTIVES
from commbounds.compressors import Compressor as Reference
from commbounds.compressors.base import checked_flag
from commbounds.theory import Claim, Hypothesis, Kind, Standing
from commbounds.theory import claims as book
from commbounds.verify.conformance.aims import magnitudes, roundings
from commbounds.verify.conformance.book import book_bound
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import NoBound, NotHere, SubjectClaim, Sure
from commbounds.verify.conformance.claims.expected import Unbiased, Variance
from commbounds.verify.conformance.claims.form import Bits, Support
from commbounds.verify.conformance.claims.law import SameLaw
from commbounds.verify.conformance.claims.mean_error import MeanError
from commbounds.verify.conformance.claims.symmetry import Idempotent, ScaleEquivariant, SignSymmetric
from commbounds.verify.conformance.subject import Subject
from commbounds.verify.experiment import bound_at
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.measures import counts, float_values
from commbounds.verify.study import Case, Outcome

DOMAIN = frozenset(
    {"gain_fits", "norm_fits", "normal_entries", "spectral_gap", "within_largest_power", "within_levels"}
)
"""Hypotheses about inputs that `takes` asks of all of them."""
ALLOWED_FOR = frozenset({"any_factor", "any_sketch", "fresh_gaussian_sketch", "nonzero"})
"""Hypotheses that the kit's claims have themselves, or that are about the reference's own randomness."""
OF_ERRORS = frozenset({"exact_arithmetic"})
"""Those that a claim about an error has, as it allows for rounding."""
OF_SCALES = frozenset({"factor_power_of_two", "middle_range"})
"""Those that `ScaleEquivariant` has."""
_NORMS = frozenset({"norm1", "norm2", "norm3", "norminf"})


@dataclass(frozen=True)
class BookedError(MeanError):
    """E||C(x) - x||^2 is at most what the book has for this input: bounds in its norms.

    Parameters
    ----------
    claim : str
        Of the book, about the relative or the absolute error.
    reference : compressor of commbounds
        Gives the hyper-parameters.
    """

    claim: str
    reference: Any

    in_book: ClassVar[tuple[str, ...]] = ("quantizers.scaledsign.error", "quantizers.terngrad.error")

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.claim})"

    def violation(self, bench: Any, case: CheckCase) -> str | None:
        if not case.x.any():
            raise NotHere("claimed of inputs that are not zero")
        return super().violation(bench, case)

    def share(self, subject: Subject, x: Array) -> float:
        claim, values = book()[self.claim], float_values(self.reference, x)
        bound, square = float(claim.bound(**values)), values["norm2"] ** 2
        if claim.quantity.name == "absolute_error":
            if not 0.0 < square < np.inf:
                raise NotHere("the square of the norm leaves the range of float64")
            bound /= square
        if not bound < np.inf:
            raise NoBound(f"{self.claim} is {bound} here")
        return max(0.0, bound)  # a difference of equal norms, rounded


@dataclass(frozen=True)
class Booked(Sure):
    """What every rank ends with is within what the book says of a collective, measured as the book's own study does.

    Parameters
    ----------
    claim : str
        Of the book: about the error of a sum or a mean, about who ends with the same bits, or about what is finite.
    reference : collective of commbounds
        That it is about. Besides what ranks end with, the study is given what this one gives.
    settings : mapping
        Its options and what else the study asks for, by name; functions are called with P and n.

    Notes
    -----
    Rounding: what the study allows for, and that of `AbsoluteError` twice, in the subject's dtype.
    """

    claim: str
    reference: Any
    settings: Mapping[str, Any]

    about: ClassVar[tuple[str, ...]] = ("all-reduce",)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.claim})"

    def violation(self, bench: Any, case: CheckCase) -> str | None:
        result = bench.outcome(case).result.astype(np.float64)
        outcome, bound = self.measured(case.x.astype(np.float64), result)
        sizes, limit = magnitudes(bench.subject, case.x), float(bound)
        rounded = (
            2.0 * (4.0 + roundings(bench.subject, case.x)) * (bench.eps * (float(sizes.max()) + limit) + bench.tiny)
        )
        statement = book()[self.claim]
        allowance = outcome.slack + (0.0 if statement.relation.rhs.is_zero else rounded)
        if float(outcome.measured) <= limit + allowance:
            return None
        what = statement.quantity.meaning
        return f"{what}: {float(outcome.measured):.6g}, by the book at most {limit:.6g}"

    def measured(self, x: Array, result: Array | None = None) -> tuple[Outcome, Any]:
        """What the study measures where ranks end with `result`, by default the reference's, and its bound.

        Raises
        ------
        NotHere
            The reference refuses these ranks or inputs, or the book says nothing of them.
        """
        P, n = x.shape
        given = {name: value(P, n) if callable(value) else value for name, value in self.settings.items()}

        def port(*arguments: Any, **options: Any) -> tuple[Any, ...]:
            first, *others = self.reference(*arguments, **options)
            if result is not None:
                first = replace(first, values=result) if is_dataclass(first) else result  # type: ignore[type-var]
            return (first, *others)

        study = EXPERIMENTS[self.claim]
        try:
            found = study.admitted(port, Case({"P": P, "n": n, **given}, x))
        except ValueError as error:
            raise NotHere(f"the reference refuses it: {error}") from error
        if not isinstance(found, Outcome):
            raise NotHere(f"the book says nothing of it: {getattr(found, 'statement', found)}")
        return found, bound_at(study.statement, found.values)


_OF_SUMS = frozenset({"sum_error", "disagreeing", "not_finite"})


def _known(hypothesis: Hypothesis, settings: Mapping[str, Any]) -> bool:
    """Whether the settings alone decide."""
    return bool(hypothesis.needs) and all(s in settings and not callable(settings[s]) for s in hypothesis.needs)


def _like_collective(reference: Any, settings: Mapping[str, Any]) -> tuple[SubjectClaim, ...]:
    """The book's sure claims about what ranks end with."""
    (name,) = (name for name, known in COLLECTIVES.items() if known is reference)
    column = reference.__module__.split(".")[2]
    found = tuple(
        Booked(study.claim, reference, settings)
        for study in EXPERIMENTS.of_column(column).values()
        if getattr(study, "subject", "") == name
        and study.statement.stands is Standing.HOLDS
        and study.statement.kind is Kind.SURE
        and study.statement.quantity.name in _OF_SUMS
        and all(h.admits(**{s: settings[s] for s in h.needs}) for h in study.statement.assumes if _known(h, settings))
    )
    for claim in found:
        try:
            claim.measured(np.ones((2, 4)))
        except NotHere:
            continue
        except KeyError as error:
            raise TypeError(f"{claim.claim} asks for {error} besides {', '.join(settings) or 'nothing'}") from None
    return found


def like(reference: Any, *, wire: bool = False, **settings: Any) -> tuple[SubjectClaim, ...]:
    """All that the book says of a compressor or a collective and the kit can ask of a function.

    Parameters
    ----------
    reference : compressor or collective of commbounds
        A compressor with its hyper-parameters: ``TopK(10)``; a collective of `COLLECTIVES`.
    wire : bool
        Whether the size of the compressor's message is claimed too; then the subject has to count `bits`.
    **settings
        A collective's options, and what else the book's studies of it ask for: ``width=8``. Functions of P and n may
        stand for numbers.

    Returns
    -------
    tuple of SubjectClaim
        Of a collective `Booked` claims: errors, who ends with the same bits, what is finite. Of a compressor errors
        with the book's bounds, means, supports, symmetries, and `SameLaw`, in the order of the book; what the book says
        of several workers, and what follows from the law (second moments, shrunk errors), is left out.

    Raises
    ------
    TypeError
        `reference` is neither, a setting is missing, or `wire` is neither True nor False.

    Notes
    -----
    The book's hypotheses about inputs have to hold: ``admits=takes(reference)``. Of what it says of some inputs alone
    (without zeros, of one entry) nothing is claimed. `SameLaw` is about ties, too: they go where the reference's go.

    Examples
    --------
    >>> from commbounds.compressors import TopK
    >>> from commbounds.verify import conformance as cf
    >>> for claim in cf.like(TopK(2)):
    ...     print(claim)
    Variance(omega=sparsifiers.topk.contraction)
    Support(k=sparsifiers.topk.support)
    SignSymmetric()
    ScaleEquivariant()
    Idempotent()
    SameLaw(reference=TopK)
    """
    if not isinstance(reference, Reference) and any(known is reference for known in COLLECTIVES.values()):
        return _like_collective(reference, settings)
    _checked(reference)
    if settings:
        raise TypeError(f"a compressor has its settings itself, got {', '.join(settings)}")
    checked_flag("wire", wire)
    found: dict[str, SubjectClaim] = {}
    for statement in _stated(reference):
        claim = _as_claim(statement, reference, wire)
        if claim is not None:
            found.setdefault(str(claim), claim)
    law = SameLaw(reference)
    return (*found.values(), law)


def takes(reference: Reference) -> Callable[[Array], bool]:
    """Whether an input is one that the book speaks of: the `admits` of a subject that claims `like(reference)`.

    Parameters
    ----------
    reference : compressor of commbounds
        With its hyper-parameters; it takes inputs of that shape, and the book's hypotheses about magnitudes hold.

    Raises
    ------
    TypeError
        `reference` is no compressor.
    """
    _checked(reference)
    hypotheses = {h.name: h for statement in _stated(reference) for h in statement.assumes if h.name in DOMAIN}

    @lru_cache(maxsize=4096)
    def fits(shape: tuple[int, ...]) -> bool:
        try:
            reference.compress(np.ones(shape, np.float32), np.random.default_rng(0))
        except (TypeError, ValueError):
            return False
        return True

    def admitted(x: Array) -> bool:
        wide = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
        known = {"x": wide, "compressor": reference}
        return fits(x.shape) and all(h.admits(**{name: known[name] for name in h.needs}) for h in hypotheses.values())

    return admitted


def _checked(reference: Any) -> None:
    if not isinstance(reference, Reference):
        raise TypeError(f"reference must be a compressor or a collective of commbounds, got {reference!r}")


def _stated(reference: Reference) -> Iterator[Claim]:
    """What the book says of a compressor with these hyper-parameters, and what holds."""
    for name in reference.claims:
        claim = book()[name]
        if claim.stands is Standing.HOLDS and all(
            h.admits(compressor=reference) for h in claim.assumes if h.needs == ("compressor",)
        ):
            yield claim


def _as_claim(statement: Claim, reference: Reference, wire: bool) -> SubjectClaim | None:
    """The kit's claim that says the same; None where it has none."""
    quantity, zero = statement.quantity.name, bool(statement.relation.rhs.is_zero)
    asked = {h.name for h in statement.assumes if h.needs != ("compressor",)} - DOMAIN - ALLOWED_FOR
    given = {s: v for s, v in counts(reference, (1,) * reference.ndim).items() if s not in ("m", "n")}
    sizes = ("n",) if reference.ndim == 1 else ("m", "n")
    known = {*given, *sizes, "itembits"}
    if quantity in ("relative_error", "absolute_error") and not asked - OF_ERRORS:
        if quantity == "relative_error" and {*statement.parameters} <= known:
            return Variance(book_bound(statement.name, sizes, **given))
        return BookedError(statement.name, reference) if {*statement.parameters} <= known | _NORMS else None
    if quantity == "scale_defect" and zero and not asked - OF_SCALES:
        return ScaleEquivariant(powers_of_two="factor_power_of_two" in asked)
    if asked or not {*statement.parameters} <= known:
        return None
    if quantity == "bits" and wire:
        return Bits(book_bound(statement.name, sizes, **given, itembits=32))
    if quantity == "support" and statement.kind is Kind.SURE:
        return Support(book_bound(statement.name, sizes, **given))
    plain: dict[str, Callable[[], SubjectClaim]] = {
        "bias": Unbiased,
        "sign_defect": SignSymmetric,
        "idempotence_defect": Idempotent,
    }
    return plain[quantity]() if quantity in plain and zero else None
