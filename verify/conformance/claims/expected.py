"""Claims about the mean and the variance of the output."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.aims import ROUNDINGS, aim, magnitudes, require_room, roundings, sized
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import COLLECTIVES, NotHere, Number, Sure, checked
from commbounds.verify.conformance.claims.independent import Independent
from commbounds.verify.conformance.claims.mean_error import MeanError, Varies, judged_in_mean
from commbounds.verify.conformance.claims.projections import sampled_mean
from commbounds.verify.conformance.injected import injected_law, readable
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict
from commbounds.verify.conformance.subject import AllReduce, Subject
from commbounds.verify.conformance.summed import summed_laws


@dataclass(frozen=True)
class Variance(MeanError):
    """E||C(x) - x||^2 <= omega ||x||^2.

    Of an all-reduce: E||y_r - t||^2 <= omega sum of ||x_p||^2 for every rank r, with t the exact sum; for a mean, over
    P^2. A sum of P independent unbiased compressors with this omega each has it.

    Parameters
    ----------
    omega : float, or callable of n (vectors) or of m, n (matrices); of an all-reduce also of P
        Nonnegative.

    Notes
    -----
    As for `Contraction`: surely, by the law that was read off, or by bets that need no assumption. Zeros become zeros.
    """

    omega: Number

    in_book: ClassVar[tuple[str, ...]] = ("quantizers.qsgd.variance", "sparsifiers.randk.variance")

    def __post_init__(self) -> None:
        checked("omega", self.omega)

    def share(self, subject: Subject, x: Array) -> float:
        return sized("omega", self.omega, subject, x)


@dataclass(frozen=True)
class Unbiased(Sure):
    """E C(x) = x, over seeds; of an all-reduce the mean of what every rank ends with is the exact sum, or mean.

    Notes
    -----
    Of an all-reduce means are judged by draws at inputs for every number of ranks, with P - 1 additions more; and at
    short stacks by `summed_laws`, where it draws from generators that can be given their words.

    Deterministic subjects have to return their input, up to eight roundings. Of those that take ``uniforms``, or whose
    generators can be given their words (`Codec`), the mean of every entry is read off, without sampling, over hostile
    and generated inputs, next to powers of two and to levels: it may be off by two cells of the uniforms' grid, a step
    each, and by eight roundings of the largest number that the entry takes.

    Those that do not take ``uniforms`` are sampled, on inputs without small entries: single entries of short ones,
    projections of all (on the input, its signs, a constant, random signs). No test can refute the mean of an unbounded
    law without an assumption. The one made here: an output beyond the range of the first draws, and half its width more
    (a twentieth where the range has an edge), is no part of a right subject's mean; these first draws go on until the
    outer halves of their range have been visited 12 times each, and where that never happens there is no such test.
    Where the input is out of that range, what may bring the mean back comes at least once in 50 draws. An entry of many
    is also tested as one that deviates at most by twice what any of them did, itself or relative to its size. So a
    subject that keeps one entry of 1000 at random is judged, one that answers at all with probability 1/250 is not
    judged by 4000 draws.
    At structured inputs (constant, sparse, just below powers of two, ...), of which the worst are judged, an entry of a
    right subject deviates by at most twice what any did at a random input of that shape, relative to the largest entry
    or to the root mean square.
    An output that is the same in all draws, at all inputs, counts as the only one there is.
    Where the subject also claims `Variance`, the mean along the input is tested by that claim besides, without this
    assumption; then a failure says that the two claims cannot both hold.
    A pass notes where few draws show that entries are rounded together, as by one uniform: `Independent` is that claim.
    """

    about: ClassVar[tuple[str, ...]] = ("compressor", *COLLECTIVES)
    in_book: ClassVar[tuple[str, ...]] = ("quantizers.qsgd.unbiased", "flashcomm.twostep.unbiased")
    statistical: ClassVar[bool] = True

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        require_room(bench.subject, case.x)
        wide = aim(bench.subject, case.x).ravel()
        if not bench.randomised:
            y = bench.output(case).astype(np.float64).ravel()
            # eight roundings (half an eps each) of numbers no larger than the largest entry
            most = (ROUNDINGS + roundings(bench.subject, case.x)) / 2.0
            allowance = most * bench.eps * magnitudes(bench.subject, case.x).max() + most / 4.0 * bench.tiny
            if (wrong := first_place(~(np.abs(y - wide) <= allowance))) is None:
                return None
            if bench.varies(case):
                raise Varies("the output depends on the seed here: only the mean is claimed")
            (i,) = wrong
            return f"the output does not depend on the seed, and entry {i} is {float(y[i])!r} for {float(wide[i])!r}"
        if isinstance(bench.subject, AllReduce):
            summed = summed_laws(bench, case)
            if (wrong := first_place(~(np.abs(summed.off) <= summed.allowance))) is None:
                return None
            (i,) = wrong
            return f"entry {i} is {wide[i]:.9g}, and off by {summed.off[i]:.6g} in the mean over what ranks draw"
        if not readable(bench):
            raise NotHere("claimed in the mean over seeds: no single case breaks it")
        laws = injected_law(bench, case)
        size = np.maximum(np.abs(laws.values).max(axis=0), np.abs(wide))
        step = laws.values.max(axis=0) - laws.values.min(axis=0)
        # the probability of a value is rounded to the grid at both of its ends; then roundings as above, and of two
        # values to subnormal numbers
        allowance = 2.0 * step / laws.cells + ROUNDINGS / 2.0 * bench.eps * size + 2.0 * bench.tiny
        off = laws.expected_difference(wide)
        if (wrong := first_place(~(np.abs(off) <= allowance))) is None:
            return None
        (i,) = wrong
        shown = ", ".join(f"{float(v)!r} with probability {float(q):.9g}" for v, q in self._possible(laws, i))
        return f"entry {i} is {float(wide[i])!r} and becomes {shown}: off by {float(off[i]):.6g} in the mean"

    @staticmethod
    def _possible(laws: Any, i: int) -> list[tuple[float, float]]:
        return [(v, q) for v, q in zip(laws.values[:, i], laws.p[:, i], strict=True) if q > 0.0]

    def judge(self, bench: Bench) -> CheckFinding:
        def sampled(noted: Sequence[Array]) -> CheckFinding:
            claimed = [claim for claim in bench.subject.claims if isinstance(claim, Variance)]
            return sampled_mean(self, bench, noted, partial(claimed[0].share, bench.subject) if claimed else None)

        finding = judged_in_mean(self, bench, sampled)
        if finding.verdict is CheckVerdict.PASS and bench.randomised and not bench.late:
            with contextlib.suppress(Unanswered):  # a note alone: other claims judge calls without an answer
                return replace(finding, evidence=finding.evidence + Independent().noted(bench))
        return finding
