"""What claims about the size of the error share: surely, by the law that was read off, or by draws."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.aims import generic_case, require_room, roundings, square_error
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import COLLECTIVES, NotHere, Sure
from commbounds.verify.conformance.injected import SEEDS, NotElementwise, injected_law, limited, readable, seed_alone
from commbounds.verify.conformance.inputs import corpus
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict
from commbounds.verify.conformance.special import at_levels, near_powers
from commbounds.verify.conformance.subject import AllReduce, Subject
from commbounds.verify.conformance.summed import stacks_to_read, summed_laws
from commbounds.verify.sequential import SequentialTest, detectable_violation

BOLDEST = 0.9
_HUGE = 1e100
_Input = tuple[str, Array]
_SCOUTED, _SCOUTS, _TESTED = 48, 8, 3


def rounding(bench: Bench, size: int) -> float:
    """Relative error that a right implementation may make: a naive sum over the array, and four roundings more."""
    return (size + 4) * bench.eps / 2.0


def allowed_rounding(bench: Bench, x: Array) -> float:
    """As `rounding`, at an input: of an all-reduce, relative to the root of P times its squared norm, more of them."""
    rows = len(x) if isinstance(bench.subject, AllReduce) else 1
    return rounding(bench, x.size // rows + roundings(bench.subject, x)) * math.sqrt(rows)


class Varies(NotHere):
    """The output depends on the seed here, though it did not where that was looked for first."""


class _Noting(Sure):
    """`claim`, with the cases noted that only a mean says something about."""

    def __init__(self, claim: Sure, noted: list[CheckCase]) -> None:
        self._claim, self._noted = claim, noted

    def __str__(self) -> str:
        return str(self._claim)

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        try:
            return self._claim.violation(bench, case)
        except (Varies, NotElementwise):
            self._noted.append(case)
            raise


def judged_in_mean(claim: Sure, bench: Bench, sampled: Callable[[Sequence[Array]], CheckFinding]) -> CheckFinding:
    """The finding on a claim about a mean: by the search where single cases decide, else by `sampled`.

    Where draws are intercepted it is by both: whether its seeds make what its generators could is not read off.

    Parameters
    ----------
    claim : Sure
        Its `violation` judges deterministic subjects, and others by their law where that can be read off; it raises
        `Varies` or `NotElementwise` where that is not so.
    sampled : callable (inputs) -> CheckFinding
        Judges by draws, at these inputs among others.
    """
    if bench.randomised and isinstance(bench.subject, AllReduce):
        read = _read_at_stacks(claim, bench)
        if read is not None and read.verdict is CheckVerdict.FAIL:
            return read
        return limited(bench, sampled(()), read)
    if bench.randomised and not readable(bench):
        return limited(bench, sampled(()))
    noted: list[CheckCase] = []
    first = [*near_powers(bench.subject), *at_levels(bench)] if bench.randomised else []
    finding = bench.searched(_Noting(claim, noted), first)
    if bench.randomised and not getattr(bench.subject, "injectable", False):
        if finding.verdict is CheckVerdict.FAIL and _certain(bench, bench.case_of(finding)):
            return finding
        return limited(bench, sampled(()), finding)
    if finding.verdict is CheckVerdict.FAIL and not noted:
        case = bench.case_of(finding)
        if case.x.any() and not _certain(bench, case):
            return sampled((case.x,))
    if not noted:
        return finding
    return sampled(tuple(case.x for case in noted[:2]))


def _read_at_stacks(claim: Sure, bench: Bench) -> CheckFinding | None:
    """The finding where words were given to what ranks draw from, at a few stacks; None where they could not be."""
    tried, why = 0, "there is no short stack"
    for case in stacks_to_read(bench, isinstance(claim, MeanError)):
        if tried and bench.late:
            bench.left_out.append("stacks whose draws are given")
            break
        try:
            message = claim.violation(bench, case)
            tried += 1
            # with other seeds, too: what depends on the seed besides its draws may be right in the mean over seeds
            if message and all(claim.violation(bench, CheckCase(case.x, seed)) for seed in SEEDS):
                return bench.refuted(claim, case.x, message, f"{tried} stacks, words given to what ranks draw from")
        except (NotHere, Unanswered) as error:
            why = str(error)
    if not tried:
        bench.unread = why
        return None
    return CheckFinding(str(claim), CheckVerdict.PASS, f"{tried} stacks")


def _certain(bench: Bench, case: CheckCase) -> bool:
    """Whether a failure at the case stands up to a closer look than the search has time for."""
    if not bench.randomised:  # few seeds may not show what happens seldom
        return not bench.varies(case, bench.draws)
    if not case.x.any():
        return True
    try:
        injected_law(bench, case, probes=100)
        if not bench.subject.injectable and not seed_alone(bench, case):  # type: ignore[attr-defined]
            return False
    except NotElementwise:
        return False
    return True


def draws_at(bench: Bench, x: Array, rng: np.random.Generator, count: int) -> Iterator[tuple[int, Array]]:
    """Seeds and outputs of independent calls at `x`; when the claim's time is over, no more than two."""
    for number, seed in enumerate(rng.integers(2**31, size=count)):
        if number > 1 and bench.late:
            bench.left_out.append("draws")
            return
        yield int(seed), bench.output(CheckCase(x, int(seed)))


class MeanError(Sure):
    """E||C(x) - x||^2 <= share ||x||^2; of an all-reduce for every rank, with `aims.square_error`."""

    about: ClassVar[tuple[str, ...]] = ("compressor", *COLLECTIVES)
    statistical: ClassVar[bool] = True

    @abstractmethod
    def share(self, subject: Subject, x: Array) -> float:
        """The claimed bound over the squared norm of the input."""

    def _allowed(self, bench: Bench, x: Array) -> tuple[float, float]:
        """The claimed share, and what it comes to with rounding."""
        require_room(bench.subject, x)
        bound = self.share(bench.subject, x)
        # the norm of the error may carry `rounding` times the norm of x, and every entry of it a subnormal number
        rows = len(x) if isinstance(bench.subject, AllReduce) else 1
        least = rows * bench.tiny * np.sqrt(x.size) / float(np.linalg.norm(x.astype(np.float64)))
        return bound, float(math.sqrt(bound) + allowed_rounding(bench, x) + least) ** 2

    def violation(self, bench: Bench, case: CheckCase) -> str | None:
        if not case.x.any():
            y = bench.output(case)
            return None if not y.any() else f"zero became {y.ravel()[:4].astype(np.float64).tolist()}"
        bound, allowed = self._allowed(bench, case.x)
        if not bench.randomised:
            errors = square_error(bench.subject, case.x, bench.output(case))
            error = float(errors.max())
            if error <= allowed:
                return None
            if bench.varies(case):
                raise Varies("the output depends on the seed here: only the mean is claimed")
            return f"{self._said(bench)} = {error:.6g}, claimed at most {bound:.6g}"
        if isinstance(bench.subject, AllReduce):
            error, allowed, slack = *_mean_error_of_sum(bench, case, allowed), 0.0
        elif not readable(bench):
            raise NotHere("claimed in the mean over seeds: no single case breaks it")
        else:
            error, slack = _mean_error(bench, case)
        if error <= allowed + slack:
            return None
        return f"E|C(x) - x|^2 / |x|^2 = {error:.6g}, read off the uniforms, claimed at most {bound:.6g}"

    @staticmethod
    def _said(bench: Bench) -> str:
        subject = bench.subject
        if not isinstance(subject, AllReduce):
            return "|C(x) - x|^2 / |x|^2"
        return f"|result - {subject.op}|^2 / (sum of |x_p|^2{' / P^2' if subject.op == 'mean' else ''})"

    def judge(self, bench: Bench) -> CheckFinding:
        return judged_in_mean(self, bench, lambda inputs: self._sampled(bench, inputs))

    def _sampled(self, bench: Bench, noted: Sequence[Array]) -> CheckFinding:
        rng = bench.rng(f"mean error {self}")
        trials, tried, broken = self._scouted(bench, rng, noted)
        if broken is not None:
            return broken
        if not trials:
            return self.unjudged("no input is taken, answered, and spoken of")
        part, share = bench.alpha / len(trials), (bench.draws - tried) // len(trials)
        log_e, detects, largest, refuted, count = 0.0, 0.0, 0.0, "", tried
        for label, x in trials:
            bound, allowed = self._allowed(bench, x)
            ranks = len(x) if isinstance(bench.subject, AllReduce) else 1  # of which each is bet on
            tests = [SequentialTest(-1.0, math.inf, boldest=BOLDEST) for _ in range(ranks)]
            totals = np.zeros(ranks)
            try:
                for _, y in draws_at(bench, x, rng, max(1, share)):
                    errors = square_error(bench.subject, x, y)
                    totals, count = totals + errors, count + 1
                    # one draw that is not finite makes the mean infinite; a lower wealth is a fair one too
                    ratios = np.minimum(np.where(errors < math.inf, errors / allowed, math.inf), _HUGE)
                    for one, ratio in zip(tests, ratios, strict=True):
                        one.feed(np.array([ratio - 1.0]))
                    if any(one.refutes(part / ranks) for one in tests):
                        break
            except Unanswered as error_:
                return self.unjudged(f"no usable answer at {label}: {error_}")
            rank = int(np.argmax([one.log_e for one in tests]))
            test, mean = tests[rank], float(totals[rank]) / tests[rank].count
            log_e = max(log_e, test.log_e - math.log(ranks))
            largest = max(largest, float(totals.max()) / test.count / allowed)
            detects = max(detects, detectable_violation(test.deviation, test.count, part / ranks, 1.0, BOLDEST))
            if test.refutes(part / ranks):
                worst, whose = x, f" of rank {rank}" if isinstance(bench.subject, AllReduce) else ""
                refuted = (
                    f"{self._said(bench)}{whose} is {mean:.6g} in the mean of {test.count} draws at {label}, "
                    f"claimed at most {bound:.6g}"
                )
                break
        e_value = math.exp(min(log_e - math.log(len(trials)), 690.0))
        evidence = (
            f"{count} draws: {_SCOUTS} each to find the worst inputs, then bets on {len(trials)} of them; "
            f"largest mean {largest:.3g} of the claim"
        )
        if not refuted:
            return self.consistent(evidence, e_value, bench.alpha, detects)
        return bench.refuted(self, worst, refuted, evidence, e_value)

    def _scouted(
        self, bench: Bench, rng: np.random.Generator, noted: Sequence[Array]
    ) -> tuple[list[_Input], int, CheckFinding | None]:
        """The inputs with the largest mean errors over the claim, a generic one among them; how many draws that took.

        Zeros must stay zero in every draw: a finding that they do not ends it.
        """
        usual, hostile = self._candidates(bench, noted)
        draws = max(1, min(_SCOUTS, bench.draws // (4 * max(1, len(usual) + len(hostile)))))
        found: list[tuple[float, int]] = []
        tried = 0
        candidates = [*usual, *hostile]
        for place, (_, x) in enumerate(candidates):
            try:
                if not x.any():
                    for seed in range(draws):
                        message = self.violation(bench, CheckCase(x, seed))
                        if message is not None:
                            return [], tried, bench.failed(self, CheckCase(x, seed, "zeros"), message, tried + 1)
                    continue
                _, allowed = self._allowed(bench, x)
                errors = [
                    float(square_error(bench.subject, x, y).max()) / allowed for _, y in draws_at(bench, x, rng, draws)
                ]
            except (Unanswered, NotHere):
                continue
            tried += draws
            mean = float(np.mean(errors))
            found.append((mean if mean == mean else math.inf, place))
        worst = [place for _, place in sorted(found, key=lambda f: (-f[0], f[1]))[:_TESTED]]
        middling = [place for _, place in found if place == min(1, len(usual) - 1)]
        return [candidates[place] for place in sorted({*worst, *middling})], tried, None

    def _candidates(
        self, bench: Bench, noted: Sequence[Array]
    ) -> tuple[list[tuple[str, Array]], list[tuple[str, Array]]]:
        rng = bench.rng("inputs of means")
        ranks = getattr(bench.subject, "ranks", (0,))
        made = [
            (f"random magnitudes, {size} entries{f', P={P}' if P else ''}", generic_case(bench.subject, rng, size, P))
            for size, P in ((6, max(ranks)), (50, ranks[len(ranks) // 2]), (256, min(ranks, key=lambda P: abs(P - 2))))
        ]
        usual = [(label, x) for label, x in made if x is not None]
        usual += [("an input where the output depends on the seed", x) for x in noted]
        short = corpus(bench.subject, bench.budget, lambda _, shape, __: math.prod(shape) <= 300)
        some = [(case.label, case.x) for case in short]
        hostile = [some[i] for i in np.unique(np.linspace(0, len(some) - 1, _SCOUTED).astype(int))] if some else []
        return usual, hostile


def _mean_error_of_sum(bench: Bench, case: CheckCase, allowed: float) -> tuple[float, float]:
    """E||result - sum||^2 over the squared norm of the input, as `square_error` has it; and what is allowed there."""
    laws = summed_laws(bench, case)
    wide = case.x.astype(np.float64)
    square = float((wide**2).sum()) / (len(wide) ** 2 if bench.subject.op == "mean" else 1)  # type: ignore[attr-defined]
    if not 0.0 < square < math.inf:
        raise NotHere("the square of the norm leaves the range of float64")
    error = float((laws.off**2 + laws.variance).sum()) / square
    return error, (math.sqrt(allowed) + float(np.linalg.norm(laws.allowance)) / math.sqrt(square)) ** 2


def _mean_error(bench: Bench, case: CheckCase) -> tuple[float, float]:
    """E||C(x) - x||^2 / ||x||^2 by the law that was read off, and how far rounding may move it."""
    laws = injected_law(bench, case)
    wide = case.x.astype(np.float64).ravel()
    top = float(np.abs(wide).max())
    scaled = wide / top
    values = laws.values / top
    if not np.isfinite(values).all():
        return math.nan, 0.0
    error = (laws.p * (values - scaled) ** 2).sum()
    # a probability is rounded to the grid, and computed in a few operations from a number of levels: that moves it by
    # two cells, and by four roundings relative to the level; a step apart from the other value, squared, each
    step = values.max(axis=0) - values.min(axis=0)
    size = np.maximum(np.abs(values).max(axis=0), np.abs(scaled))
    slack = (2.0 / laws.cells * step**2 + 4.0 * bench.eps * size * step).sum()
    square = float(scaled @ scaled)
    return float(error) / square, float(slack) / square
