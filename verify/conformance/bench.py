"""`Bench`: a subject under test, with the calls, the search and the bookkeeping that claims are judged by."""

import contextlib
import math
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import hypothesis
import ml_dtypes
import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.budgets import BUDGETS, CheckBudget
from commbounds.verify.conformance.calls import Died, Hopeless, OutOfTime, TimedOut, Unanswered, called, first_limit
from commbounds.verify.conformance.case import CheckCase, literal
from commbounds.verify.conformance.cases import Cases
from commbounds.verify.conformance.claim import NotHere, SubjectClaim, Sure
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult, Codec, Stateful, Subject
from commbounds.verify.search import Violation, simplest

_PATIENCE = 3
"""Shapes of inputs on which calls hung or killed their process, after which nothing more is tried."""
_FAILING = 10.0
"""Seconds that calls without an answer may take, or as long as those with one: then nothing more is tried."""
_SHOWN = 200
_SEEDS = 16
"""Tried for an input; a subject that is random there and gives one output for all of them does so rarely: one that
moves one of n entries with probability q goes unseen with probability (1 - q)^(16 n)."""


class Bench:
    """A subject under test.

    Parameters
    ----------
    subject : Subject
        What is judged.
    budget : CheckBudget
        How much work a claim may cause.
    seed : int
        Root of all randomness.
    alpha : float
        False-alarm rate of the sequential test of one claim.
    """

    def __init__(self, subject: Subject, budget: CheckBudget, seed: int, alpha: float) -> None:
        self.subject, self.budget, self.seed, self.alpha = subject, budget, seed, alpha
        self._lost: dict[tuple[Any, ...], str] = {}
        self._failing, self._answering, self._last = 0.0, 0.0, ""
        self._randomised: bool | None = None
        self._called = False
        self._cases = Cases(subject, budget, seed)
        self.unread: str | None = None
        """Why laws cannot be read off; empty if they can, None as long as nobody asked."""
        self.laws: dict[tuple[Any, ...], Any] = {}
        self.until = math.inf
        """When the time of the claim that is judged is over; what has no part to leave out ends by twice as long."""
        self.spared = math.inf
        self.left_out: list[str] = []
        """What the claim that is judged had no time for."""
        self.kept_laws = 0
        """Laws that were read off, by input and seed, and how many numbers they hold."""

    @property
    def foreign(self) -> bool:
        """Whether the subject runs in a process that is not our server for Python subjects."""
        return self.subject.outside is not None and "name" not in self.subject.outside.process.started()

    # --- time ------------------------------------------------------------------------------------------------------

    def spend(self, seconds: float) -> None:
        """Give the next claim so many seconds."""
        now = time.monotonic()
        self.until, self.spared, self.left_out = now + seconds, now + 2.0 * seconds, []

    @property
    def late(self) -> bool:
        """Whether the time of the claim is over."""
        return time.monotonic() > self.until

    @property
    def lost(self) -> tuple[str, ...]:
        """Calls that hung or killed their process: one an input's shape."""
        return tuple(self._lost.values())

    # --- calls ---------------------------------------------------------------------------------------------------

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What `function` of the subject returns, within its time limit.

        Raises
        ------
        Unanswered
            It raised, took too long, or its process died.
        Hopeless
            That it takes too long or dies has happened too often, or calls that failed took too long altogether.
        """
        if self.spared < math.inf and time.monotonic() > self.spared:
            raise OutOfTime("its share of the seconds that the check was given is over")
        if self._lost:
            if (key := _shapes(arguments)) in self._lost:  # another input of this shape would most likely be lost too
                raise Unanswered(self._lost[key])
            if len(self._lost) >= _PATIENCE:
                raise Hopeless(f"calls hung or killed their process: {'; '.join(self._lost.values())}")
        if self._failing > max(_FAILING, self._answering):
            raise Hopeless(f"calls without an answer took {self._failing:.0f} s: {self._last}")
        limit = self.subject.time_limit if self._called else first_limit(self.subject.time_limit)
        begun, self._called = time.monotonic(), True
        try:
            answer = called(function, *arguments, limit=limit, **options)
        except (TimedOut, Died) as error:
            key = _shapes(arguments)
            self._lost[key] = f"{error}, for an input of shape {', '.join(map(str, key))}"
            raise
        except Unanswered as error:
            self._failing += time.monotonic() - begun
            self._last = str(error)[:_SHOWN]
            raise
        self._answering += time.monotonic() - begun
        return answer

    def raw(self, case: CheckCase) -> Any:
        """What the subject returns for a copy of the case, as it comes; the list of answers for a stateful subject."""
        return self.raw_on(case.x.copy(), case.seed)

    def raw_on(self, x: Array, seed: int, **options: Any) -> Any:
        """As `raw`, for the array itself."""
        subject = self.subject
        if isinstance(subject, Codec):
            return self.call(subject.roundtrip, x, seed, **options)
        if isinstance(subject, AllReduce):
            return self.call(subject.run, x, seed, **options)
        if isinstance(subject, Stateful):
            step = self.call(subject.factory, seed)
            return [self.call(step, row) for row in x]
        raise TypeError(f"there is no way to call {subject!r}")

    def output(self, case: CheckCase, view: Callable[[Array], Array] = np.copy, **options: Any) -> Array:
        """The subject's answer for the case, checked to have the case's shape and dtype.

        (n,) of a compressor, (T, n) of a stateful subject, one row a step, (P, n) of an all-reduce. The subject gets
        what `view` makes of the input.

        Raises
        ------
        Unanswered
            No answer, or one of another type, shape or dtype.
        """
        if isinstance(self.subject, AllReduce):
            return self.outcome(case, view).result
        if isinstance(self.subject, Stateful):
            step = self.call(self.subject.factory, case.seed)  # which may use its array again: see `_Order`
            return np.stack([usable(self.call(step, row), row).copy() for row in view(case.x)])
        return usable(self.raw_on(view(case.x), case.seed, **options), case.x)

    def checked(self, answer: Any, x: Array) -> Array:
        """What a compressor answered for `x`, or ranks end with, if it is of the shape and dtype that it should have.

        Raises
        ------
        Unusable
            It is not.
        """
        if not isinstance(self.subject, AllReduce):
            return usable(answer, x)
        return usable(*self.subject.known(AllReduceResult.of(answer).result, x))

    def outcome(self, case: CheckCase, view: Callable[[Array], Array] = np.copy) -> AllReduceResult:
        """What an all-reduce leaves, checked as by `output`."""
        answer = AllReduceResult.of(self.raw_on(view(case.x), case.seed))
        counts = []
        for name in ("sent", "received"):
            value = getattr(answer, name)
            if value is not None:
                value = np.asarray(value)
                if value.shape != (len(case.x),) or value.dtype.kind not in "iu":
                    raise Unanswered(f"{name} must be an integer a rank, got {value.dtype} {value.shape}")
            counts.append(value)
        residual = answer.residual if answer.residual is None else np.asarray(answer.residual)
        if residual is not None and residual.shape != case.x.shape:  # they may be of a wider dtype
            raise Unusable(f"returned residuals of shape {residual.shape} for {case.x.shape}")
        return AllReduceResult(self.checked(answer, case.x), counts[0], counts[1], residual)

    @property
    def randomised(self) -> bool:
        """Whether different seeds gave different outputs on any of a few inputs."""
        if self._randomised is None:
            self._randomised = self._depends_on_seed()
        return self._randomised

    def varies(self, case: CheckCase, seeds: int = _SEEDS) -> bool:
        """Whether `seeds` seeds gave more than one output at the case's input; False where it does not answer."""
        try:
            first = self.output(CheckCase(case.x, 0)).tobytes()
            return any(self.output(CheckCase(case.x, seed)).tobytes() != first for seed in range(1, seeds))
        except Unanswered:
            return False

    def _depends_on_seed(self) -> bool:
        """Whether different seeds gave different outputs on any of a few inputs.

        Short, middling and long ones of all different magnitudes; one whose entries are equal, where ties may be broken
        at random; zeros, to which noise may be added.
        """
        subject = self.subject
        if isinstance(subject, Codec) and subject.injectable:
            return True
        rng, ranks = self.rng("randomised"), max(getattr(subject, "ranks", (2,)))
        multiple = subject.multiple(ranks)
        for size in (6, 50, 300, 4096):
            x = generic(subject, rng, -(-size // multiple) * multiple if multiple > 1 else size)
            if x is None:
                continue
            for row in (x, np.abs(x.ravel()[0]) * np.ones_like(x), np.zeros_like(x)):
                stack = row if subject.leading == 0 else np.repeat(row[None], ranks, 0)
                # whatever is random for the whole input at once shows at any size: then seeds count, not entries
                seeds = 4 if size > 300 else 4 * _SEEDS if row is x and size == 50 else _SEEDS
                if subject.takes(stack) and self.varies(CheckCase(stack), seeds):
                    return True
        return False

    def rng(self, label: str) -> np.random.Generator:
        """A generator that depends on the check's seed and on `label` alone."""
        return np.random.default_rng([self.seed, zlib.crc32(label.encode())])

    @property
    def eps(self) -> float:
        """Spacing of the subject's dtype at 1."""
        return float(ml_dtypes.finfo(self.subject.numpy_dtype).eps)  # type: ignore[no-untyped-call]

    @property
    def tiny(self) -> float:
        """Smallest positive number of the subject's dtype: nothing is closer to zero than half of it."""
        return float(ml_dtypes.finfo(self.subject.numpy_dtype).smallest_subnormal)  # type: ignore[no-untyped-call]

    @property
    def draws(self) -> int:
        """Calls that a sequential test may make."""
        return max(1, int(self.budget.draws * self.subject.effort))

    # --- search --------------------------------------------------------------------------------------------------

    def searched(self, claim: Sure, first: Sequence[CheckCase] = ()) -> CheckFinding:
        """The finding on a sure claim: hostile cases, then generated ones, and the smallest failing case found.

        Cases that are tried before them can be given.
        """
        tried, silent = 0, 0
        failing: tuple[CheckCase, str] | None = None
        skipped, left = "", 0
        for case in chain(first, self._cases.hostile()):
            if tried and self.late:
                left += 1
                continue
            try:
                message = claim.violation(self, case)
            except NotHere as error:
                skipped = skipped or str(error)
                continue
            except Unanswered as error:
                silent, skipped = silent + 1, skipped or f"no usable answer at {case.label}: {error}"
                continue
            tried += 1
            if message is not None:
                failing = case, message
                break
        if left:
            self.left_out.append(f"{left} hostile inputs")
        if failing is None:
            examples, failing = self._generated(claim)
            tried += examples
        if failing is not None:
            return self.failed(claim, *failing, tried)
        if tried == 0:
            return claim.unjudged(skipped or "the subject takes none of the inputs")
        evidence = f"{tried} cases: hostile inputs, then generated ones" + (f"; {silent} unanswered" if silent else "")
        return CheckFinding(str(claim), CheckVerdict.PASS, evidence)

    def hostile(self) -> Iterator[CheckCase]:
        """The hostile inputs, the same for every claim."""
        return self._cases.hostile()

    def _generated(self, claim: Sure) -> tuple[int, tuple[CheckCase, str] | None]:
        """How many generated cases were tried, and a small one that fails.

        As long as nothing fails the search comes up with the same cases for every claim: those that are kept are tried
        first, and only where one fails it is carried out again.
        """
        found: list[tuple[CheckCase, str]] = []
        tried = 0

        def confront(case: CheckCase) -> None:
            nonlocal tried
            try:
                message = claim.violation(self, case)
            except (NotHere, Unanswered):
                return
            except Hopeless:
                if found:  # what was found counts, as large as it is
                    return
                raise
            tried += 1
            if message is not None:
                found.append((case, message))
                raise Violation(message)

        with contextlib.suppress(Violation):
            for case in self._cases.generated:
                if self.late:
                    self.left_out.append("generated inputs")
                    return tried, None
                confront(case)
        if found or not self._cases.kept:
            # Flaky: the subject does not repeat itself; the last failure is one all the same
            with contextlib.suppress(hypothesis.errors.Flaky):
                self._cases.searched(confront)
        return tried, found[-1] if found else None

    # --- findings ------------------------------------------------------------------------------------------------

    def failed(self, claim: Sure, case: CheckCase, message: str, tried: int) -> CheckFinding:
        """The finding that `claim` fails at `case`, which is shrunk first."""

        def fails(x: Array) -> bool:
            try:
                return claim.violation(self, CheckCase(x, case.seed, case.label)) is not None
            except (NotHere, Unanswered, Hopeless):
                return False

        # where calls hang or kill their process, every try would cost what one of them costs
        tries = 0 if self._lost else max(20, int(400 * self.subject.effort))
        small = CheckCase(simplest(case.x, fails, self.subject.takes, tries, self._fixed()), case.seed, case.label)
        try:
            message = claim.violation(self, small) or message
        except (NotHere, Unanswered, Hopeless):  # it did fail before: the subject does not repeat itself
            small = case
        return CheckFinding(
            str(claim),
            CheckVerdict.FAIL,
            f"{tried} cases; first failed at {case.label}",
            message,
            small.x.astype(np.float64).tolist(),
            small.seed,
            self.reproduction(claim, small),
        )

    def refuted(
        self, claim: SubjectClaim, x: Array, message: str, evidence: str, e_value: float | None = None
    ) -> CheckFinding:
        """The finding that `claim` fails at `x`, by draws, with the wealth of the test, or by a law that was read."""
        return CheckFinding(
            str(claim),
            CheckVerdict.FAIL,
            evidence,
            message,
            x.astype(np.float64).tolist(),
            reproduce=self.reproduction(claim, None),
            e_value=e_value,
            alpha=None if e_value is None else self.alpha,
        )

    def case_of(self, finding: CheckFinding) -> CheckCase:
        """The case at which a claim failed."""
        return CheckCase(np.array(finding.counterexample).astype(self.subject.numpy_dtype), finding.seed or 0)

    def _fixed(self) -> int:
        return self.subject.ndim if isinstance(self.subject.shape, tuple) else 0

    def reproduction(self, claim: SubjectClaim, case: CheckCase | None) -> str:
        """A program that judges the claim again: on one case, or by the same draws."""
        origin = self.subject.origin
        found = f"(subject,) = cf.loaded({origin!r})" if origin else "subject = ...  # yours"
        launch = getattr(self.subject.outside, "launch", "")
        lines = [f"# {launch}"] * bool(launch)
        lines += ["import base64, zlib"] if case is not None and case.x.size > 64 else []
        lines += ["import numpy as np", "from commbounds.verify import conformance as cf", found]
        if case is None:
            budget = next((name for name, known in BUDGETS.items() if known == self.budget), "quick")
            return "\n".join([*lines, f"print(cf.check(subject, {budget!r}, seed={self.seed}, only=[{str(claim)!r}]))"])
        lines += [f"x = {literal(case.x)}", f"print(cf.recheck(subject, {str(claim)!r}, x, seed={case.seed}))"]
        return "\n".join(lines)


def _shapes(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Shapes of the arrays among a call's arguments."""
    return tuple(a.shape for a in arguments if isinstance(a, np.ndarray))


def _list_shape(answer: list[Any]) -> tuple[int, ...] | None:
    """The shape of an array of a list's numbers; None where it makes none."""
    try:
        found = np.asarray(answer)
    except ValueError:
        return None
    return None if found.dtype.kind == "O" else found.shape


class Unusable(Unanswered):
    """The subject answered with something of another type, shape or dtype."""


def usable(answer: Any, x: Array) -> Array:
    """`answer`, if it is an array of the shape and dtype of `x`, or a list of arrays or numbers that makes one.

    Raises
    ------
    Unusable
        It is not.
    """
    if isinstance(answer, list) and np.shape(x) == _list_shape(answer):
        rows = np.array(answer)
        answer = rows if any(hasattr(part, "dtype") for part in answer) else rows.astype(x.dtype)
    if not isinstance(answer, np.ndarray) or isinstance(answer, np.ma.MaskedArray):
        raise Unusable(f"returned {type(answer).__name__}, not an array")
    if answer.shape != x.shape or answer.dtype != x.dtype:
        raise Unusable(f"returned {answer.dtype} {answer.shape} for {x.dtype} {x.shape}")
    return answer
