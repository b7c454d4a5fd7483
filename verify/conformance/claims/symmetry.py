"""Claims that relate the outputs for related inputs."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import as_numbers, checked_flag, shown
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import NotHere, Sure
from commbounds.verify.conformance.claims.mean_error import rounding
from commbounds.verify.conformance.claims.mirrored import mirrored_laws, mirrored_read
from commbounds.verify.conformance.injected import limited, readable, seed_alone
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict


@dataclass(frozen=True)
class SignSymmetric(Sure):
    """C(-x) = -C(x): the same numbers if the output does not depend on the seed, else the same law.

    Notes
    -----
    Deterministic subjects are judged by search; 0 and -0 are equal. A randomised one need not mirror with the same
    seed: rounding down x/s + u is symmetric in law only. Where it takes ``uniforms``, the laws of all entries at x and
    at -x are read off and compared, up to two cells of the uniforms' grid and eight roundings. Else draws of C(x) and
    of -C(-x) come in random order, and bettors guess from the output which of the two it was, by how often the same
    output, the same value of a single entry, or the same signs came from either: under the claim each is a fair game.
    They see a difference in laws of finitely many values, or of signs; one in the shape of a continuous law alone
    they do not.
    """

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.topk.sign_symmetry",)
    statistical: ClassVar[bool] = True

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if not bench.subject.takes(-case.x):
            raise NotHere("the subject does not take -x")
        if bench.randomised:
            if readable(bench):
                return mirrored_read(bench, case)
            raise NotHere("claimed of the law: no single case breaks it")
        y, mirrored = (
            bench.output(case).astype(np.float64),
            bench.output(CheckCase(-case.x, case.seed)).astype(np.float64),
        )
        at = first_place(~(mirrored == -y))
        return None if at is None else f"entry {at} is {float(y[at])!r} for x and {float(mirrored[at])!r} for -x"

    def judge(self, bench: Bench) -> CheckFinding:
        if bench.randomised and not readable(bench):
            return limited(bench, mirrored_laws(self, bench))
        finding = bench.searched(self)
        if bench.randomised and not getattr(bench.subject, "injectable", False):
            if finding.verdict is CheckVerdict.FAIL and seed_alone(bench, bench.case_of(finding)):
                return finding
            return limited(bench, mirrored_laws(self, bench), finding)
        if finding.verdict is CheckVerdict.NOT_JUDGED and bench.randomised:  # its entries have no laws of their own
            return mirrored_laws(self, bench)
        return finding


@dataclass(frozen=True)
class ScaleEquivariant(Sure):
    """C(s x) = s C(x) for s > 0, with the same seed on both sides.

    Parameters
    ----------
    powers_of_two : bool
        Whether only powers of two are claimed, as by rounding to powers of two.

    Notes
    -----
    For powers of two exactly, bit for bit but for signs of zeros, as long as nothing that is a square of an entry, or
    their sum, leaves the range of normal numbers: then every operation commutes with the factor. For other factors up
    to the rounding of a sum over the array, relative to the largest entry of the output; these are tried at inputs
    of float32 and float64 whose entries use all their digits. Next to a tie, rounding alone can make a step: a failure
    there has to show for three factors, at the input and at two inputs next to it.
    """

    powers_of_two: bool = False

    def __post_init__(self) -> None:
        checked_flag("powers_of_two", self.powers_of_two)

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.topk.scale_equivariance",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        sizes = np.abs(case.x.astype(np.float64))
        low, high = _roomy(bench, case.x.size)
        nonzero = sizes[sizes > 0.0]
        if nonzero.size == 0 or not (low <= nonzero.min() and nonzero.max() <= high):
            raise NotHere("squares of the entries leave the range of the dtype")
        tried = 0
        for exponent in (1, -1, 3, 10, -10):
            factor = 2.0**exponent
            if not (low <= factor * nonzero.min() and factor * nonzero.max() <= high):
                continue
            pair = self._pair(bench, case, factor)
            if pair is None:
                continue
            tried += 1
            at = first_place(~(pair[0] == pair[1]))
            if at is not None:
                return f"C({factor:g} x) has {float(pair[0][at])!r} at {at}, {factor:g} C(x) has {float(pair[1][at])!r}"
        if tried == 0:
            raise NotHere("no multiple by a power of two stays in range")
        return None if self.powers_of_two else self._by_others(bench, case, sizes)

    def _pair(self, bench: Bench, case: CheckCase, factor: float) -> tuple[Array, Array] | None:
        """C(s x) and s C(x) in float64; None if the subject does not take s x."""
        scaled = (case.x.astype(np.float64) * factor).astype(case.x.dtype)
        if not bench.subject.takes(scaled):
            return None
        y = bench.output(case).astype(np.float64)
        return bench.output(CheckCase(scaled, case.seed)).astype(np.float64), factor * y

    def _by_others(self, bench: Bench, case: CheckCase, sizes: Array) -> str | None:
        low, high = _roomy(bench, case.x.size)
        narrow = {4: np.float16, 8: np.float32}.get(case.x.dtype.itemsize)
        mantissas = np.frexp(sizes)[0]
        if narrow is None or sizes.min() < 2.0 * low or sizes.max() > high / 4.0 or sizes.size > 256:
            return None
        if (mantissas == mantissas.astype(narrow)).any():  # few digits: a tie is likely
            return None
        rng = np.random.default_rng([case.seed, sizes.size])
        message = None
        for turn in range(3):
            x = case.x if turn == 0 else (case.x * rng.uniform(0.99, 1.01, case.x.shape)).astype(case.x.dtype)
            for factor in (3.0, 0.7, 1.1):
                pair = self._pair(bench, CheckCase(x, case.seed), factor) if bench.subject.takes(x) else None
                if pair is None:
                    return None
                # sums over the array on either side; s x is rounded once more
                allowance = 2.0 * rounding(bench, x.size) * float(np.abs(pair[1]).max()) + bench.tiny
                at = first_place(~(np.abs(pair[0] - pair[1]) <= allowance))
                if at is None:
                    return None
                found = (
                    f"C({factor:g} x) has {float(pair[0][at])!r} at {at}, {factor:g} C(x) has {float(pair[1][at])!r}"
                )
                message = message or found
        return message


def _roomy(bench: Bench, size: int) -> tuple[float, float]:
    """Between which magnitudes squares are normal numbers, and their sum over `size` entries finite."""
    info = ml_dtypes.finfo(bench.subject.numpy_dtype)  # type: ignore[no-untyped-call]
    return math.sqrt(float(info.smallest_normal)), math.sqrt(float(info.max) / (2.0 * size))


@dataclass(frozen=True)
class Idempotent(Sure):
    """C(C(x)) = C(x), whatever the seeds of the two calls.

    Notes
    -----
    Up to the rounding of a sum over the array, relative to the largest entry of C(x): a norm or mean that is computed
    again from the output may be rounded otherwise. Says nothing where the subject does not take C(x).
    """

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.topk.idempotence",)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        y = bench.output(case).copy()
        if not np.isfinite(y.astype(np.float64)).all():
            return "C(x) is not finite"
        if not bench.subject.takes(y):
            raise NotHere("the subject does not take C(x)")
        again, once = bench.output(CheckCase(y, case.seed + 1)).astype(np.float64), y.astype(np.float64)
        allowance = rounding(bench, y.size) * float(np.abs(once).max()) + 2.0 * bench.tiny
        at = first_place(~(np.abs(again - once) <= allowance))
        return None if at is None else f"entry {at} of C(x) is {float(once[at])!r}, of C(C(x)) {float(again[at])!r}"


@dataclass(frozen=True)
class ExactOn(Sure):
    """C(x) = x, bit for bit but for signs of zeros, on the given inputs.

    Parameters
    ----------
    inputs : iterable of arrays, or callable (rng, n) -> array
        A callable is asked three times for each of a few n from 1 on. Inputs are cast to the subject's dtype; those
        that it does not take are left out.

    Notes
    -----
    Four seeds each. A counterexample is not made smaller: it might be none of the inputs any more.
    """

    inputs: Any

    about: ClassVar[tuple[str, ...]] = ("compressor",)
    in_book: ClassVar[tuple[str, ...]] = ("sparsifiers.identity.contraction",)

    def __post_init__(self) -> None:
        if not callable(self.inputs):
            if (
                isinstance(self.inputs, str | bytes)
                or not hasattr(self.inputs, "__len__")
                or isinstance(self.inputs, type)
            ):
                raise TypeError(f"inputs must be a sequence of arrays, or a function, got {shown(self.inputs)}")
            if getattr(self.inputs, "ndim", 1) == 0:
                raise TypeError(f"inputs must be a sequence of arrays, got {shown(self.inputs)}")
            object.__setattr__(self, "inputs", tuple(as_numbers(x, "inputs") for x in self.inputs))

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        y, wide = bench.output(case).astype(np.float64), case.x.astype(np.float64)
        at = first_place(~(y == wide))
        return None if at is None else f"entry {at} is {float(y[at])!r}, was {float(wide[at])!r}"

    def _cases(self, bench: Bench) -> Iterator[Array]:
        if callable(self.inputs):
            make: Callable[[np.random.Generator, int], Array] = self.inputs
            rng = bench.rng("exact on")
            yield from (np.asarray(make(rng, n)) for n in bench.budget.sizes for _ in range(3))
        else:
            yield from self.inputs

    def judge(self, bench: Bench) -> CheckFinding:
        tried, found = 0, "the subject takes none of the inputs"
        for values in self._cases(bench):
            x = values.astype(bench.subject.numpy_dtype)
            if not bench.subject.takes(x):
                continue
            for seed in range(4):
                case = CheckCase(x, seed)
                try:
                    message = self.violation(bench, case)
                except Unanswered as error:
                    found = f"no usable answer: {error}"
                    continue
                tried += 1
                if message is not None:
                    found = x.astype(np.float64).tolist()
                    again = bench.reproduction(self, case)
                    return CheckFinding(str(self), CheckVerdict.FAIL, f"{tried} cases", message, found, seed, again)
        if tried == 0:
            return self.unjudged(found)
        return CheckFinding(str(self), CheckVerdict.PASS, f"{tried} cases")
