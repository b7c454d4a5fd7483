"""The claim to have a reference's whole distribution, joint ones included."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.aims import ROUNDINGS
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claim import COLLECTIVES, NotHere, SubjectClaim
from commbounds.verify.conformance.claims.mean_error import draws_at
from commbounds.verify.conformance.injected import injected_law, limited, readable
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict
from commbounds.verify.conformance.subject import AllReduce
from commbounds.verify.joint_law import detectable_divergence, joint_log_e, outcome_table

_VECTORS = ((3,), (1, -4), (1, -4, 3), (2, -2, 0, 1), (1, -4, 3, 7, 5))
_MATRICES = (((3,),), ((1, -4), (3, 7)), ((1, 2, -1), (0, 3, 2)))
_STACKS = (((3,),), ((1,), (-4,)), ((1, -4), (3, 7)), ((2,), (3,), (-1,)), ((1,), (2,), (-4,), (3,)))
_SHORT, _LONGEST = 5, 250
"""Entries of the longest of these vectors; and of those that are tried where none of them is taken."""
_MOST = 4096


def _longer(subject: Any) -> Iterator[tuple[int, ...]]:
    """Different numbers of either sign, of the first two lengths beyond the short ones that the subject takes.

    At the first a reference that keeps k entries has one outcome, at the next k + 1.
    """
    if subject.leading or subject.ndim != 1 or isinstance(subject.shape, tuple):
        return
    rng, lengths = np.random.default_rng(0), 0
    for length in range(_SHORT + 1, _LONGEST + 1):
        values = tuple(int(v) for v in (1 + rng.permutation(length)) * (-1) ** np.arange(length))
        if length % subject.multiple_of == 0 and subject.takes(np.array(values).astype(subject.numpy_dtype)):
            yield values
            lengths += 1
        if lengths == 2:
            return


@dataclass(frozen=True)
class SameLaw(SubjectClaim):
    """The output is distributed as the reference's, on small inputs: all entries together.

    Parameters
    ----------
    reference : compressor of commbounds, or callable (x) -> list of (probability, output)
        Exact laws: ``reference.law(x)`` or ``reference(x)``, for x a tuple of ints (of rows, for matrices; a row a
        rank, for all-reduces). Outputs are flat, finitely many, and further apart than rounding; of all-reduces what
        all ranks end with, one behind the other.

    Notes
    -----
    Inputs of one to five entries; where none of them is taken, of the first two lengths that are, up to 250. Of
    subjects that take ``uniforms`` the law is read off, and the probability of every outcome compared: it may differ by
    two cells of the uniforms' grid an entry, and eight roundings. Others are sampled: a bettor who learns the outcomes'
    frequencies (`commbounds.verify.joint_law.joint_log_e`) bets against the reference's; an output that is none of the
    outcomes fails at once. What the finding calls `detects` is the total variation distance from the law that is found
    with probability 0.99 wherever it is met. A law with one outcome is compared surely.
    """

    reference: Any

    about: ClassVar[tuple[str, ...]] = ("compressor", *COLLECTIVES)
    statistical: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(getattr(self.reference, "law", self.reference)):
            raise TypeError(f"reference must have a law or be callable, got {self.reference!r}")

    def _laws(self, bench: Bench, refused: list[str]) -> Iterator[tuple[Array, list[tuple[Any, Any]]]]:
        subject = bench.subject
        law_of = getattr(self.reference, "law", self.reference)
        exact: tuple[Any, ...] = _MATRICES if subject.ndim == 2 else _VECTORS
        if isinstance(subject, AllReduce):
            exact = _STACKS
        elif isinstance(subject.shape, tuple):
            flat = np.resize([1, -4, 3, 7, 5], subject.shape)
            exact = (tuple(map(tuple, flat.tolist())) if flat.ndim == 2 else tuple(flat.tolist()),)

        def at(values: Any) -> tuple[Array, list[tuple[Any, Any]]] | None:
            if subject.leading == 0 and subject.ndim == 1 and not isinstance(subject.shape, tuple):
                length = -(-len(values) // subject.multiple_of) * subject.multiple_of
                values = tuple(np.resize(values, length).tolist())
            x = np.array(values, dtype=np.float64).astype(subject.numpy_dtype)
            if not subject.takes(x):
                return None
            try:
                law = list(law_of(values))
            except Exception as error:  # what the reference refuses says nothing about the subject
                refused.append(f"{type(error).__name__}: {error}")
                return None
            return (x, law) if 0 < len(law) <= _MOST else None

        short = [found for values in exact if (found := at(values)) is not None]
        yield from short or (found for values in _longer(subject) if (found := at(values)) is not None)

    def judge(self, bench: Bench) -> CheckFinding:
        refused: list[str] = []
        cases = list(self._laws(bench, refused))
        if not cases:
            message = f"there is no small input that the subject takes and the reference has a law for; {refused[:1]}"
            return self.unjudged(message)
        try:
            read = None
            if readable(bench):
                with contextlib.suppress(NotHere):  # entries do not have laws of their own: draw
                    read = self._read(bench, cases)
            if read and (getattr(bench.subject, "injectable", False) or read.verdict is CheckVerdict.FAIL):
                return read
            return limited(bench, self._drawn(bench, cases), read)
        except Unanswered as error:
            return self.unjudged(f"no usable answer: {error}")

    def _read(self, bench: Bench, cases: list[tuple[Array, list[tuple[Any, Any]]]]) -> CheckFinding:
        evidence = (
            f"laws at {len(cases)} inputs of up to {max(x.size for x, _ in cases)} entries, read off the uniforms"
        )
        for x, law in cases:
            steps = injected_law(bench, CheckCase(x))
            p, outcomes, allowance = outcome_table(law, bench.eps)
            # (T, L, n): which values of an entry are the outcome's
            near = np.abs(outcomes[:, None, :] - steps.values[None]) <= allowance
            found = (near * steps.p[None]).sum(axis=1).prod(axis=1)
            # the probability of an entry's value: two cells, and roundings relative to the level it is computed from
            step = steps.values.max(axis=0) - steps.values.min(axis=0)
            level = np.abs(steps.values).max(axis=0) / np.where(step > 0.0, step, np.inf)
            slack = float((2.0 / steps.cells + ROUNDINGS / 2.0 * bench.eps * (1.0 + level)).sum())
            off = np.abs(found - p)
            worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            if not off[worst] <= slack or not found.sum() >= 1.0 - len(p) * slack:
                message = (
                    f"output {outcomes[worst].tolist()} has probability {float(found[worst]):.9g}, the reference's "
                    f"{float(p[worst]):.9g}; the reference's outcomes together {float(found.sum()):.9g}"
                )
                return bench.refuted(self, x, message, evidence)
        return CheckFinding(str(self), CheckVerdict.PASS, evidence)

    def _drawn(self, bench: Bench, cases: list[tuple[Array, list[tuple[Any, Any]]]]) -> CheckFinding:
        random = sum(len(law) > 1 for _, law in cases)
        part, share = bench.alpha / max(1, random), bench.draws // len(cases)
        rng = bench.rng(f"law {self}")
        log_e, detects, calls = -math.inf, 0.0, 0
        for x, law in cases:
            count = max(1, share if len(law) > 1 else min(16, share))
            kept: list[Array] = []
            for _, y in draws_at(bench, x, rng, count):
                kept.append(y.astype(np.float64).ravel())
            count = len(kept)
            calls += count
            found = joint_log_e(law, kept, bench.eps)
            evidence = f"{calls} draws at {len(cases)} inputs of up to {max(z.size for z, _ in cases)} entries"
            if found == math.inf:
                _, outcomes, allowance = outcome_table(law, bench.eps)
                strange = next(y for y in kept if not np.abs(outcomes - y).max(axis=1).min() <= allowance)
                message = f"{x.astype(np.float64).tolist()} became {strange.tolist()}, none of the {len(law)} outcomes"
                return bench.refuted(self, x, message, evidence, math.exp(690.0))
            if len(law) > 1:
                log_e = max(log_e, found - math.log(random))
                detects = max(detects, detectable_divergence(len(law), count, part))
            if found >= -math.log(part):
                message = f"at {x.astype(np.float64).tolist()}: {_frequencies(law, kept, bench.eps)}"
                return bench.refuted(self, x, message, evidence, math.exp(min(log_e, 690.0)))
        if not random:
            return CheckFinding(str(self), CheckVerdict.PASS, evidence + ", each with one outcome")
        distance = math.sqrt(detects / 2.0)
        evidence += f"; finds laws that diverge by {detects:.3g} nats, so every one at total variation {distance:.3g}"
        e_value = math.exp(min(log_e, 690.0))
        return self.consistent(evidence, e_value, bench.alpha, distance)


def _frequencies(law: list[tuple[Any, Any]], outputs: list[Array], eps: float) -> str:
    """The outcome whose frequency is furthest from its probability, in its standard deviations."""
    p, values, _ = outcome_table(law, eps)
    nearest = [int(np.argmin(np.abs(values - y).max(axis=1))) for y in outputs]
    counts = np.bincount(nearest, minlength=len(p))
    worst = int(np.argmax(np.abs(counts - len(outputs) * p) / np.sqrt(p)))
    return (
        f"output {values[worst].tolist()} came {int(counts[worst])} times in {len(outputs)} draws, "
        f"its probability is {float(p[worst]):.6g}"
    )
