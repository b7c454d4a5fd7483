"""Which known mistake a subject that fails has made: hypotheses about its outputs, and whether they explain them.

A mistake is named where it predicts all outputs that are looked at, at inputs on which what is claimed and the mistake
differ: exactly or up to rounding, or for what is random in the mean, where it has to leave at most a hundredth of the
squared error. Wrong sums are explained by `commbounds._mistakes`.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from commbounds._mistakes import Suspect, explanations
from commbounds._sums import rank_sums
from commbounds.array_types import Floats
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Hopeless, Unanswered
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.claims.walk import Walk
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.subject import AllReduce, Codec, Stateful

_DRAWS, _RANDOM_DRAWS = 2, 64
_LEFT = 0.01
"""Share of the squared error that a hypothesis about a mean may leave."""
_ABOUT = {
    "Codec": ("Unbiased", "Variance", "Contraction", "SameLaw", "Matches", "AbsoluteError", "Support", "Codebook"),
    "AllReduce": ("Sums", "Averages", "Conserves"),
    "Stateful": ("Telescopes", "MemoryBounded", "RecoversAfterZero"),
}
"""Claims whose failures known mistakes may explain."""


def likely_mistake(bench: Bench, claim: str) -> str:
    """The known mistake that explains what the subject of a failed claim answers; empty where none is known to."""
    subject = bench.subject
    name = claim.partition("(")[0]
    with contextlib.suppress(Unanswered, Hopeless):  # what does not answer has another mistake
        if isinstance(subject, Codec) and name in _ABOUT["Codec"]:
            return _of_codec(bench)
        if isinstance(subject, AllReduce) and name in _ABOUT["AllReduce"]:
            return _of_sum(bench, name == "Averages" or "averages=True" in claim)
        if isinstance(subject, Stateful) and name in _ABOUT["Stateful"]:
            return _of_memory(bench)
    return ""


# --- compressors ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _AtOneInput:
    """What became of one input: (n,) and (draws, n) float64, and how far an entry may be off by rounding."""

    x: Floats
    ys: Floats
    allowance: Floats
    rows: tuple[int, ...]

    @property
    def mean(self) -> Floats:
        mean: Floats = self.ys.mean(axis=0)
        return mean

    def surely(self, wanted: Floats) -> bool:
        """Whether every output is `wanted`."""
        return bool((np.abs(self.ys - wanted) <= self.allowance).all())

    def on_average(self, wanted: Floats) -> bool:
        """Whether the mean of the outputs is `wanted`, but for a hundredth of what it is off the input by, squared."""
        error = float(((self.mean - self.x) ** 2).sum())
        return error > 0.0 and float(((self.mean - wanted) ** 2).sum()) <= _LEFT * error


def _of_codec(bench: Bench) -> str:
    answers = list(_answers(bench))
    if not answers:
        return ""
    for words, fits in _HYPOTHESES:
        if all(fits(answer) for answer in answers):
            return words
    return _kept_shares(answers) or _scaled(answers)


def _answers(bench: Bench) -> Iterator[_AtOneInput]:
    """Outputs for generic inputs that are moved to one side, so that they have a mean."""
    rng = bench.rng("mistakes")
    draws = _RANDOM_DRAWS if bench.randomised else _DRAWS
    for size in (50, 40, 300):
        x = generic(bench.subject, rng, size)
        if x is None:
            continue
        wide = x.astype(np.float64)
        x = (wide + 0.3 * np.abs(wide).max()).astype(x.dtype)
        if x.size < 2 or not bench.subject.takes(x):
            continue
        ys = np.array(
            [
                bench.output(CheckCase(x, int(seed))).astype(np.float64).ravel()
                for seed in rng.integers(2**31, size=draws)
            ]
        )
        if not np.isfinite(ys).all():
            return
        wide = x.astype(np.float64).ravel()
        yield _AtOneInput(wide, ys, 4.0 * bench.eps * np.abs(wide).max() * np.ones(wide.size), x.shape)


def _rows_mean(answer: _AtOneInput) -> Floats:
    """The mean of the rows of a matrix in every row, or of the entries of a vector in every entry."""
    x = answer.x.reshape(answer.rows)
    mean: Floats = np.broadcast_to(x.mean(axis=0), x.shape).ravel()
    return mean


_HYPOTHESES: tuple[tuple[str, Callable[[_AtOneInput], bool]], ...] = (
    ("it returns its input as it is", lambda answer: bool((answer.ys == answer.x).all())),
    ("it returns zeros", lambda answer: not answer.ys.any()),
    ("it returns the input with all signs inverted", lambda answer: answer.surely(-answer.x)),
    ("it loses the mean of the entries", lambda answer: answer.on_average(answer.x - answer.x.mean())),
    ("it averages over the batch: every row is the mean of all", lambda answer: answer.on_average(_rows_mean(answer))),
    ("it returns magnitudes without signs", lambda answer: answer.on_average(np.abs(answer.x))),
)


def _kept_shares(answers: list[_AtOneInput]) -> str:
    """Words where entries are kept, times a constant, or dropped; and the constant is not what that makes due."""
    said = set[str]()
    for answer in answers:
        kept = np.abs(answer.ys) > 0.0
        share = float(kept.mean())
        if not 0.0 < share < 1.0 or not (kept != kept[0]).any():
            return ""
        ratios = (answer.ys / np.where(answer.x == 0.0, 1.0, answer.x))[kept]
        factor = float(np.median(ratios))
        if np.abs(ratios - factor).max() > 1e-3 * abs(factor):
            return ""
        spread = 4.0 * float(np.sqrt(share * (1.0 - share) / kept.size))
        if abs(factor * share - 1.0) <= spread / share:
            return ""
        if abs(factor - 1.0) <= 1e-3:
            said.add("it keeps entries at random, and does not scale them: n/k times as much is due")
        elif abs(factor - share) <= spread:
            said.add("it scales what it keeps by k/n: n/k is due")
        else:
            said.add("it scales what it keeps by another factor than n/k")
    return said.pop() if len(said) == 1 else ""


def _scaled(answers: list[_AtOneInput]) -> str:
    """Words where all that comes out is a constant times what went in."""
    factors = []
    for answer in answers:
        factor = float(answer.mean @ answer.x) / float(answer.x @ answer.x)
        if abs(factor - 1.0) <= 1e-6 or not answer.on_average(factor * answer.x):
            return ""
        factors.append(factor)
    shown = ", ".join(f"{factor:.4g} (n = {answer.x.size})" for factor, answer in zip(factors, answers, strict=True))
    return f"it divides by a wrong number: in the mean all comes out times {shown}"


# --- all-reduces ---------------------------------------------------------------------------------------------------


def _of_sum(bench: Bench, averages: bool) -> str:
    """What explains the result of some rank, where nothing is kept back."""
    found: list[set[str]] = []
    for P in sorted(getattr(bench.subject, "ranks", ()), reverse=True):
        rng = bench.rng(f"mistakes of {P} ranks")
        rows = [generic(bench.subject, rng, 40) for _ in range(P)]
        if P < 2 or any(row is None for row in rows):
            continue
        stack = np.stack([row for row in rows if row is not None])
        if not bench.subject.takes(stack):
            continue
        outcome = bench.outcome(CheckCase(stack))
        if outcome.residual is not None and np.any(outcome.residual):
            continue
        flat, results = stack.reshape(P, -1), outcome.result.reshape(P, -1)
        sums, times = rank_sums(flat), P if averages else 1
        allowed = 3.0 * P * bench.eps * sums.sizes
        for rank in range(P):
            wrong = np.flatnonzero(~(np.abs(sums.distance(results[rank], times)) <= allowed))
            if wrong.size:
                suspect = Suspect(flat, sums, results[rank], times, allowed, wrong, bench.eps / 2.0)
                found.append({f"with P = {P} on rank {rank}: {words}" for words in explanations(suspect, {})[:1]})
                break
        if found:
            break
    return next(iter(found[0]), "") if found else ""


# --- memories ------------------------------------------------------------------------------------------------------


def _of_memory(bench: Bench) -> str:
    """What explains every residual of a run that is shown."""
    walk, rng = Walk(bench, 0), bench.rng("mistakes of a memory")
    xs: list[NDArray[np.generic]] = []
    ys, kept = [], []
    for _ in range(6):
        x = generic(bench.subject, rng, 12)
        if x is None:
            return ""
        if xs and x.shape != xs[0].shape:
            return ""
        xs.append(x)
        ys.append(walk(x))
        held = walk.residual(x)
        if held is None or not (np.isfinite(held).all() and np.isfinite(ys[-1]).all()):
            return ""
        kept.append(held)
    wide = np.array(xs).astype(np.float64)
    y, e = np.array(ys), np.array(kept)
    before = np.concatenate([np.zeros_like(e[:1]), e[:-1]])
    allowance = 8.0 * bench.eps * (np.abs(before) + np.abs(wide) + np.abs(y) + np.abs(e))
    due = before + wide - y
    if (np.abs(e - due) <= allowance).all():
        return ""
    late = np.concatenate([np.zeros_like(due[:1]), due[:-1]])
    largest = np.unravel_index(np.abs(due).argmax(), due.shape)
    factor = float(e[largest] / due[largest]) if due[largest] else 0.0
    half, brain = due.astype(np.float16).astype(np.float64), due.astype(ml_dtypes.bfloat16).astype(np.float64)
    hypotheses = (
        ("nothing is held back", np.zeros_like(e)),
        ("the residual is what is left of this gradient alone: the earlier one is forgotten", wide - y),
        (
            "the residual keeps this gradient's entries alone: the earlier one is forgotten",
            np.where(y != 0.0, 0.0, wide),
        ),
        ("the residual is what was offered: what is sent is not taken off", before + wide),
        ("the residual is stale: it is the one of the step before", late),
        ("the residual is stale: it stays as it was", np.broadcast_to(e[:1], e.shape)),
        ("the residual is added twice", 2.0 * before + wide - y),
        ("the residual is kept in float16", half),
        ("the residual is kept in bfloat16", brain),
        (f"the residual is multiplied by {factor:.4g}", factor * due),
        ("the residual has the wrong sign", -due),
    )
    for words, wanted in hypotheses:
        if (np.abs(e - wanted) <= allowance).all():
            return words
    return ""
