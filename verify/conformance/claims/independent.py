"""The claim that entries are rounded independently of one another."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.conformance.aims import aim, generic_case
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.claim import COLLECTIVES, SubjectClaim
from commbounds.verify.conformance.claims.mean_error import BOLDEST, draws_at
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict
from commbounds.verify.conformance.subject import AllReduce
from commbounds.verify.sequential import SequentialTest, detectable_violation

_SIZE, _NOTED = 40, 64


@dataclass(frozen=True)
class Independent(SubjectClaim):
    """What becomes of one entry does not depend on what becomes of another; of an all-reduce on rank 0.

    Notes
    -----
    One random number for all entries, or for a block, breaks it: errors then add up, and the variance of a sum over n
    entries is n times as large. Draws come in pairs. Differences of two outputs are symmetric, and so are sums over
    some entries: if entries are independent, the signs of the sums over two halves of them agree as often as not. That
    is bet against, which needs no assumption, for halves of every second entry, of neighbours, and at random, with
    entries taken as they are and by the signs of what is due. Compressors that keep a fixed number of entries do not
    claim it.
    """

    about: ClassVar[tuple[str, ...]] = ("compressor", *COLLECTIVES)
    statistical: ClassVar[bool] = True

    def judge(self, bench: Bench) -> CheckFinding:
        rng = bench.rng("independent")
        x = generic_case(bench.subject, rng, _SIZE)
        if x is None or _first_rank(bench, x).size < 2:
            return self.unjudged("the subject takes none of the inputs")
        if not bench.randomised:
            return CheckFinding(str(self), CheckVerdict.PASS, "the output does not depend on the seed")
        try:
            return self._bet(bench, x, rng, bench.draws // 2)
        except Unanswered as error:
            return self.unjudged(f"no usable answer: {error}")

    def noted(self, bench: Bench) -> str:
        """What a few draws show of entries that are rounded together; empty where they show nothing, or it is claimed.

        Means may be right all the same: of a report on these it is a note.
        """
        rng = bench.rng("independent")
        x = generic_case(bench.subject, rng, _SIZE)
        if x is None or _first_rank(bench, x).size < 2 or self in bench.subject.claims:
            return ""
        found = self._bet(bench, x, rng, min(_NOTED, bench.draws // 2))
        return f"; to be noted: {found.message}" if found.verdict is CheckVerdict.FAIL else ""

    def _bet(self, bench: Bench, x: Array, rng: np.random.Generator, most: int) -> CheckFinding:
        due = _first_rank(bench, aim(bench.subject, x))
        halves, names = _halves(due, rng)
        tests = [SequentialTest(-1.0, 1.0, two_sided=True, boldest=BOLDEST) for _ in names]
        part, agreed, moved, pairs = bench.alpha / len(tests), np.zeros(len(tests)), 0, 0
        while pairs < most and not (pairs and bench.late) and not any(test.refutes(part) for test in tests):
            (_, first), (_, second) = draws_at(bench, x, rng, 2)
            off = _first_rank(bench, first.astype(np.float64)) - _first_rank(bench, second.astype(np.float64))
            if not np.isfinite(off).all():
                return self.unjudged("an output is not finite")
            signs = np.sign(halves @ off).prod(axis=1)
            pairs, moved, agreed = pairs + 1, moved + int(np.count_nonzero(signs)), agreed + signs
            for test, sign in zip(tests, signs, strict=True):
                test.feed(np.array([sign]))
        evidence = f"{2 * pairs} draws in pairs at an input of shape {x.shape}, bets on signs of sums over halves of it"
        if moved == 0:
            message = f"in {2 * pairs} draws no two halves of the entries moved"
            return self.unjudged(message, evidence)
        worst = int(np.argmax([test.log_e for test in tests]))
        e_value = math.exp(min(tests[worst].log_e - math.log(len(tests)), 690.0))
        if not tests[worst].refutes(part):
            detects = detectable_violation(1.0, pairs, part, 1.0, BOLDEST)
            return self.consistent(evidence, e_value, bench.alpha, detects)
        message = (
            f"the sums of the errors over {names[worst]} have the same sign {agreed[worst] / pairs:+.3g} more often "
            f"than not, in {pairs} pairs of draws at an input of shape {x.shape}"
        )
        return bench.refuted(self, x, message, evidence, e_value)


def _halves(due: Floats, rng: np.random.Generator) -> tuple[Array, list[str]]:
    """(h, 2, n): weights of two halves of the entries each, and what they are called."""
    places = np.arange(due.size)
    sides = {
        "every second entry and the others": places % 2 == 0,
        "the first half of the entries and the second": places < due.size // 2,
        "a random half of the entries and the other": rng.permutation(due.size) < due.size // 2,
    }
    found, names = [], []
    for name, side in sides.items():
        for weights, how in ((np.ones(due.size), ""), (np.where(due < 0.0, -1.0, 1.0), ", by their signs,")):
            found.append([np.where(side, weights, 0.0), np.where(side, 0.0, weights)])
            names.append(name + how)
    return np.array(found), names


def _first_rank(bench: Bench, y: Array) -> Floats:
    row: Floats = (y[0] if isinstance(bench.subject, AllReduce) else y).ravel()
    return row
