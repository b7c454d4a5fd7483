"""The claim to be a port of a reference: the same output for the same input and randomness."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors import Compressor as Reference
from commbounds.compressors.base import checked_choice, checked_flag
from commbounds.verify.conformance.aims import magnitudes, roundings, sized
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import COLLECTIVES, NotHere, Number, Sure, checked
from commbounds.verify.conformance.injected import uniforms_for
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult, Stateful, parameters_of
from commbounds.verify.kernel_law import injection


@dataclass(frozen=True)
class Matches(Sure):
    """|C(x)_i - R(x)_i| <= operations eps scale_i for every entry, with scale_i = max(|x_i|, |R(x)_i|).

    Of an all-reduce for every rank: R has what each ends with, or one row for all; in scale_i the sum of |x_p,i| over
    the ranks takes the place of |x_i|, and 2 (P - 1) operations are added. With memory R is made anew for every run,
    ``R(seed)`` giving its step; the sum of |x_s,i| over the steps, and two operations a step, take their places.

    Parameters
    ----------
    reference : compressor of commbounds, or callable f(x), f(x, seed) or f(x, ..., uniforms=...)
        R; for a subject with memory a callable (seed) -> step. Answers may have another dtype; they are rounded to
        that of x.
    operations : number, or callable of n (vectors) or of m, n (matrices)
        Operations by which either side may come to the entry, each of which rounds a number no larger than scale_i by
        half an eps: two sides, half an eps each. With 0 the two have to be equal, of all-reduces too.
    signed_zeros : bool
        Whether 0 and -0 differ.
    along : "entry" or "array"
        With "array" scale_i is the largest of all entries: where entries are sums of products over the array, as
        in a factorisation, numbers of that size are rounded on the way to a small one.

    Notes
    -----
    Randomness: where both take uniforms (subject: parameter ``uniforms``; commbounds: ``compress_with(x, uniforms)``),
    the same ones are handed to both, edges among them. Otherwise a reference from commbounds gets
    ``numpy.random.default_rng(seed)`` and a callable the seed, so that a subject matches that uses its seed alike.
    Next to a tie the two sides of a comparison may fall apart by rounding alone, and then entries differ by a step:
    that is a mismatch here, as nothing tells it from a wrong one.
    """

    reference: Any
    operations: Number = 4
    along: str = "entry"
    signed_zeros: bool = False

    about: ClassVar[tuple[str, ...]] = ("compressor", "stateful compressor", *COLLECTIVES)

    def __post_init__(self) -> None:
        if not isinstance(self.reference, Reference) and not callable(self.reference):
            raise TypeError(f"reference must be a compressor or callable, got {self.reference!r}")
        checked("operations", self.operations)
        checked_choice("along", self.along, ("entry", "array"))
        checked_flag("signed_zeros", self.signed_zeros)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        y, expected = self._both(bench, case)
        if isinstance(bench.subject, AllReduce) and expected.shape == y.shape[1:]:
            expected = np.repeat(expected[None], len(case.x), axis=0)  # the same for all ranks
        if expected.shape != y.shape:
            raise NotHere(f"the reference gives shape {expected.shape} for {y.shape}")
        with np.errstate(over="ignore"):
            r = expected.astype(case.x.dtype).astype(np.float64)
        got = y.astype(np.float64)
        operations = sized("operations", self.operations, bench.subject, case.x)
        operations += roundings(bench.subject, case.x) if operations else 0
        scale = np.maximum(magnitudes(bench.subject, case.x), np.abs(r))
        if self.along == "array":
            scale = np.full_like(scale, scale.max())
        equal = (got == r) | (np.isnan(got) & np.isnan(r))
        allowance = operations * (bench.eps * scale + bench.tiny)
        near = equal | (np.abs(got - r) <= allowance)
        if self.signed_zeros:
            near &= (got != 0.0) | (r != 0.0) | (np.signbit(got) == np.signbit(r))
        if (at := first_place(~near)) is None:
            return None
        count = np.count_nonzero(~near)
        return f"entry {at} is {float(got[at])!r}, the reference has {float(r[at])!r}; {count} of {r.size} differ"

    def _both(self, bench: Bench, case: CheckCase) -> tuple[Array, Array]:
        """The subject's output and the reference's."""
        ours = isinstance(self.reference, Reference)
        takes = injection(self.reference) == "uniforms" if ours else "uniforms" in parameters_of(self.reference)
        if takes and getattr(bench.subject, "injectable", False):
            uniforms = uniforms_for(bench, case)
            return bench.output(case, uniforms=uniforms), self._expected(case, uniforms)
        return bench.output(case), self._expected(case, None, isinstance(bench.subject, Stateful))

    def _expected(self, case: CheckCase, uniforms: Array | None, in_steps: bool = False) -> Array:
        x, given = case.x.copy(), None if uniforms is None else uniforms.copy()
        try:
            if in_steps:
                step = self.reference(case.seed)
                return np.stack([np.asarray(step(row)) for row in x])
            if isinstance(self.reference, Reference):
                wide = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
                if given is not None:
                    return self.reference.decompress(self.reference.compress_with(wide, given))  # type: ignore[attr-defined]
                return self.reference(wide, np.random.default_rng(case.seed))
            arguments: list[Any] = [x, case.seed] if _wants_seed(self.reference) else [x]
            answer = self.reference(*arguments, **({} if given is None else {"uniforms": given}))
            return np.asarray(AllReduceResult.of(answer).result)
        except Exception as error:  # the reference's own refusals say nothing about the subject
            raise NotHere(f"the reference raised {type(error).__name__}: {error}") from error


def _wants_seed(function: Callable[..., Any]) -> bool:
    """Whether the function takes a seed: as a second positional argument of that name, or of any without a default."""
    parameters = list(parameters_of(function).values())
    return (
        len(parameters) > 1
        and parameters[1].name != "uniforms"
        and (parameters[1].name in ("seed", "rng") or parameters[1].default is inspect.Parameter.empty)
        and parameters[1].kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    )
