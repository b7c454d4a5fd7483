"""Means of draws against the input: entry by entry where it is short, and along a few directions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.conformance.aims import ROUNDINGS, aim, generic_case, magnitudes, roundings
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.claims.mean_error import allowed_rounding, draws_at
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.report import CheckFinding
from commbounds.verify.conformance.special import stirred, structured
from commbounds.verify.conformance.streams import SEEN, Catoni, LearntRangeTest, Range
from commbounds.verify.conformance.subject import AllReduce

SHARES = ((50, 0.5), (4096, 0.4), (6, 0.1))
"""Sizes of inputs, and their shares of the draws: entries show what single ones suffer, long inputs have less noise."""
_SHORT, _LONG = 256, 16
"""Entries are tested one by one up to `_SHORT` of them, directions from `_LONG` of them."""
_PILOTS, _MOST_PILOTS, _BATCH = 0.15, 2000, 128
_MANY = 32
HARD, HARDEST, _KINDS = 0.25, 3, 8
"""Draws at structured inputs, over those of the budget; how many of them are judged, and of how many."""
_PILOTS_OF_REACH, _SCOUTS = 64, 16


@dataclass
class _Watch:
    """Tests of one kind at one input: they share a part of the false-alarm rate equally."""

    what: str
    directions: Array
    expected: Array
    tests: list[LearntRangeTest | Catoni] = field(default_factory=list)

    def log_e(self) -> float:
        """Of all of them together: the largest, less what it costs to look at all."""
        return max((test.log_e for test in self.tests), default=0.0) - math.log(max(1, len(self.tests)))


@dataclass(frozen=True)
class _Seen:
    """What became of one input; `constant` says so where no draw differed, and the output is not the input."""

    log_e: float
    detects: float
    calls: int
    message: str = ""
    judged: bool = True
    constant: str = ""


def sampled_mean(
    claim: SubjectClaim, bench: Bench, noted: Sequence[Array], share: Callable[[Array], float] | None
) -> CheckFinding:
    """The finding on E C(x) = x by draws.

    Parameters
    ----------
    noted : sequence of arrays
        Inputs that are taken besides generic ones.
    share : callable (x) -> omega, or None
        The claimed variance over ||x||^2.
    """
    rng = bench.rng("inputs of projections")
    made = _generic(bench, rng)
    inputs = [(x, part) for x, part in made if x is not None]
    inputs = [(x, part) for i, (x, part) in enumerate(inputs) if x.shape not in {z.shape for z, _ in inputs[:i]}]
    inputs += [(x, 0.3) for x in noted if x.any()]
    if not inputs:
        return claim.unjudged("the subject takes none of the inputs")
    try:
        hard, reach, scouted = _structured(bench, inputs[0][0], rng)
    except Unanswered as error:
        return claim.unjudged(f"no usable answer: {error}")
    inputs += [(x, HARD / len(hard)) for _, x in hard]
    usual = len(inputs) - len(hard)
    planned = sum(part for _, part in inputs[:usual])  # structured inputs come on top
    weights = [part / sum(part for _, part in inputs) for _, part in inputs]
    found: list[_Seen] = []
    for place, (x, part) in enumerate(inputs):
        calls, alpha = int(bench.draws * part / planned), bench.alpha * weights[place]
        try:
            if place >= usual:
                seen = _seen_within(bench, x, hard[place - usual][0], calls, alpha, reach)
            else:
                seen = _seen(bench, x, calls, alpha, share)
        except Unanswered as error:
            return claim.unjudged(f"no usable answer for shape {x.shape}: {error}")
        found.append(seen)
        if seen.message:
            break
    if all(seen.constant for seen in found[:usual]):  # as certain as that a deterministic subject is one
        never = next(seen.constant for seen in found if seen.constant)
        found[-1] = replace(found[-1], message=f"{sum(seen.calls for seen in found)} {never}", log_e=690.0)
    calls = scouted + sum(seen.calls for seen in found)
    log_e = max(seen.log_e + math.log(weight) for seen, weight in zip(found, weights, strict=False))
    evidence = (
        f"{calls} draws at {len(inputs)} inputs, bets on entries and projections; range learnt from the first draws"
    )
    evidence += "" if share is None else ", or variance as claimed"
    evidence += f"; {len(hard)} of them the worst of {_KINDS} kinds (constant, sparse, ...)" if hard else ""
    e_value, detects = math.exp(min(log_e, 690.0)), min(seen.detects for seen in found)
    if found[-1].message:
        return bench.refuted(claim, inputs[len(found) - 1][0], found[-1].message, evidence, e_value)
    if not any(seen.judged for seen in found):
        message = f"in {calls} draws the range of the outputs did not show: large ones come too seldom"
        return claim.unjudged(message, evidence)
    return claim.consistent(evidence, e_value, bench.alpha, detects)


def _generic(bench: Bench, rng: np.random.Generator) -> list[tuple[Array | None, float]]:
    """Generic inputs and their shares of the draws; of an all-reduce for every number of ranks."""
    if not isinstance(bench.subject, AllReduce):
        return [(generic(bench.subject, rng, size), part) for size, part in SHARES]
    (entries, part), (many, large), (few, small) = SHARES
    ranks = bench.subject.ranks
    usual = [(generic_case(bench.subject, rng, entries, P), part / len(ranks)) for P in ranks]
    usual.append((generic_case(bench.subject, rng, many, min(ranks)), large / 4))
    return [*usual, (generic_case(bench.subject, rng, few, max(ranks)), small)]


def _structured(
    bench: Bench, x: Array, rng: np.random.Generator
) -> tuple[list[tuple[str, Array]], Callable[[Floats], float], int]:
    """The structured inputs of the shape of `x` whose means look worst, how far entries may be off there, and draws.

    None where the outputs at `x` do not show their range: see `_reach`.
    """
    wide, sizes = aim(bench.subject, x).ravel(), magnitudes(bench.subject, x).ravel()
    calls = min(_PILOTS_OF_REACH, bench.draws // 10)
    seen = np.array([y.astype(np.float64).ravel() for _, y in draws_at(bench, x, rng, calls)])
    reach = _reach(wide, sizes, seen) if wide.size >= _MANY and calls and np.isfinite(seen).all() else None
    if reach is None:
        return [], lambda values: math.inf, calls
    each = max(2, min(_SCOUTS, bench.draws // 200))
    found = []
    for label, values in (*structured(wide.size), stirred(bench, x, rng)):
        fit = values.astype(x.dtype).reshape(x.shape)
        if not bench.subject.takes(fit):
            continue
        outputs = np.array([y.astype(np.float64).ravel() for _, y in draws_at(bench, fit, rng, each)])
        calls += each
        exact, far = aim(bench.subject, fit).ravel(), reach(magnitudes(bench.subject, fit).ravel())
        off = np.abs(outputs.mean(axis=0) - exact) / np.where(exact == 0.0, np.inf, far)
        found.append((float(off.max()) if np.isfinite(outputs).all() else math.inf, label, fit))
    found.sort(key=lambda f: -f[0])
    return [(label, fit) for _, label, fit in found[:HARDEST]], reach, calls


def _reach(x: Floats, sizes: Floats, seen: Array) -> Callable[[Floats], float] | None:
    """How far entries of a right subject may be off, at an input of the same shape: twice what they were at `x`.

    That is relative to the largest entry, or to the root mean square, whichever is more. None where few entries move,
    or where what they are off by does not show its range.
    """
    off = np.abs(seen - x)
    if (seen != seen[0]).any(axis=0).sum() < _MANY / 2 or not Range((seen - x).ravel()).known:
        return None
    largest, root = (float(off.max()) / size for size in _sizes(sizes))

    def at(values: Floats) -> float:
        top, mean = _sizes(values)
        return 2.0 * max(largest * top, root * mean)

    return at


def _sizes(x: Floats) -> tuple[float, float]:
    """The largest magnitude, and the root mean square."""
    return float(np.abs(x).max()), float(np.sqrt((x**2).mean()))


def _seen_within(
    bench: Bench, x: Array, label: str, calls: int, alpha: float, reach: Callable[[Floats], float]
) -> _Seen:
    """What became of an input whose entries are off by at most `reach`."""
    rng = bench.rng(f"draws {label}")
    exact, sizes = aim(bench.subject, x).ravel(), magnitudes(bench.subject, x).ravel()
    places = np.flatnonzero(exact)
    far = reach(sizes)
    allowances = _most(bench, x) * bench.eps * (sizes[places] + far)
    tests = [LearntRangeTest(0, float(allowance), (-far, far)) for allowance in allowances]
    count, log_e = 0, 0.0
    outputs = (y.astype(np.float64).ravel()[places] - exact[places] for _, y in draws_at(bench, x, rng, calls))
    while (batch := np.array([off for off, _ in zip(outputs, range(_BATCH), strict=False)])).size:
        count += len(batch)
        if not np.isfinite(batch).all():
            return _Seen(690.0, math.inf, count, "an output is not finite: there is no mean")
        for test, column in zip(tests, batch.T, strict=True):
            test.feed(column)
        log_e = max(test.log_e for test in tests) - math.log(len(tests))
        if log_e >= -math.log(alpha):
            i = int(np.argmax([test.log_e for test in tests]))
            said = (
                f"entry {places[i]} is {exact[places[i]]:.6g} at an input of shape {x.shape} ({label}), and "
                f"{exact[places[i]] + tests[i].mean:.6g} in the mean of {count} draws"
            )
            return _Seen(log_e, math.inf, count, said)
    return _Seen(log_e, math.inf, count, judged=False)


def _directions(x: Array, rng: np.random.Generator) -> Array:
    """Rows: signs of what is due, that itself, a constant, random signs."""
    rows = [np.sign(x), x, np.ones_like(x), *(rng.choice((-1.0, 1.0), x.size) for _ in range(3))]
    return np.array(rows)


def _seen(bench: Bench, x: Array, calls: int, alpha: float, share: Callable[[Array], float] | None) -> _Seen:
    rng = bench.rng(f"draws {x.shape} {float(np.abs(x.astype(np.float64)).sum())!r}")
    wide, sizes = aim(bench.subject, x).ravel(), magnitudes(bench.subject, x).ravel()
    top = float(sizes.max())
    wide, sizes = wide / top, sizes / top
    outputs = (y.astype(np.float64).ravel() / top for _, y in draws_at(bench, x, rng, calls))
    pilots = min(_MOST_PILOTS, max(2, int(_PILOTS * calls)))
    first = np.array([y for y, _ in zip(outputs, range(pilots), strict=False)])
    if not np.isfinite(first).all():
        return _Seen(690.0, math.inf, len(first), "an output is not finite: there is no mean")
    watches = _watches(bench, x, wide, sizes, first, share, rng)
    part = alpha / len(watches)
    count, constant = len(first), bool((first == first[0]).all())
    batch = first
    while True:
        if not np.isfinite(batch).all():
            return _Seen(690.0, math.inf, count, "an output is not finite: there is no mean")
        constant = constant and bool((batch == first[0]).all())
        for watch in watches:
            values = batch @ watch.directions.T - watch.expected
            for place, test in enumerate(watch.tests):
                if batch is not first or isinstance(test, Catoni) or not test.given:
                    test.feed(values[:, place])
            if watch.log_e() >= -math.log(part):
                return _Seen(watch.log_e() - math.log(len(watches)), math.inf, count, _explained(watch, wide, x, top))
        batch = np.array([y for y, _ in zip(outputs, range(_BATCH), strict=False)])
        if batch.size == 0:
            break
        count += len(batch)
    never = ""
    if constant and not (np.abs(first[0] - wide) <= _most(bench, x) * (bench.eps + bench.tiny / top)).all():
        i = int(np.argmax(np.abs(first[0] - wide)))
        never = f"seeds gave one output, with {top * first[0][i]:.6g} for entry {i}, which is {top * wide[i]:.6g}"
    log_e = max((watch.log_e() for watch in watches), default=0.0) - math.log(len(watches))
    detects = min((_detects(watch, part) for watch in watches), default=math.inf)
    judged = (constant and not never) or any(
        isinstance(t, Catoni) or t.epochs > 0 for watch in watches for t in watch.tests
    )
    return _Seen(log_e, detects, count, judged=judged, constant=never)


def _watches(
    bench: Bench,
    x: Array,
    wide: Array,
    sizes: Array,
    first: Array,
    share: Callable[[Array], float] | None,
    rng: np.random.Generator,
) -> list[_Watch]:
    most = _most(bench, x)  # of what the entry usually is, or was
    allowances = most * bench.eps * (sizes + np.abs(first).mean(axis=0))
    watches = []
    if wide.size <= _SHORT:
        watch = _Watch("entry", np.eye(wide.size), wide)
        watch.tests += _entry_tests(wide, sizes, first, allowances)
        if len(watch.tests) > wide.size:
            watch.directions, watch.expected = np.tile(watch.directions, (2, 1)), np.tile(wide, 2)
        watches.append(watch)
    if wide.size >= _LONG:
        directions = _directions(wide, rng)
        watch = _Watch("projection", directions, directions @ wide)
        watch.tests += [LearntRangeTest(len(first), float(np.abs(v) @ allowances)) for v in directions]
        watches.append(watch)
    if share is not None and wide.any():
        watch = _Watch("projection, given the claimed variance", wide[None], np.array([wide @ wide]))
        # <x, D>^2 <= ||x||^2 ||D||^2, and the root of E||D||^2 may carry the rounding of a norm
        top = float(magnitudes(bench.subject, x).max())
        square, own = float(wide @ wide), float(((x.astype(np.float64) / top) ** 2).sum())
        if isinstance(bench.subject, AllReduce):  # a rank's error goes by the norms of all inputs; there are P of them
            own *= len(x) / (len(x) ** 2 if bench.subject.op == "mean" else 1)
        omega = (math.sqrt(max(share(x), 0.0)) + allowed_rounding(bench, x)) ** 2
        watch.tests.append(Catoni(omega * square * own, 2.0 * most * bench.eps * math.sqrt(square * own)))
        watches.append(watch)
    return watches


def _most(bench: Bench, x: Array) -> float:
    """How many eps a mean may be off: eight roundings of half an eps each, and those of additions over ranks."""
    return (ROUNDINGS + roundings(bench.subject, x)) / 2.0


def _entry_tests(wide: Array, sizes: Array, first: Array, allowances: Array) -> list[LearntRangeTest]:
    """One test an entry, which learns its range from that entry; and one with a shared range, if they are many.

    What happens to an entry alone shows in the first; one that is always lost, or never moves, in the second: it may
    deviate by twice what any entry did in the first draws, relative to the entry or not, whichever is more; by a
    quarter more than that where the relative deviations have an edge.
    """
    tests = [LearntRangeTest(len(first), float(allowance)) for allowance in allowances]
    if wide.size < _MANY:
        return tests
    off = np.abs(first - wide)
    moves = Range(first.ravel()).known and bool((first != first[0]).any(axis=0).sum() >= _MANY / 2)
    if not moves:
        return tests
    relative = off / np.where(sizes > 0.0, sizes, np.inf)
    furthest = float(relative.max())
    factor = 1.25 if (relative >= 0.98 * furthest).sum() >= SEEN else 2.0
    reach = factor * np.maximum(sizes * furthest, float(off.max()))
    return tests + [
        LearntRangeTest(0, float(allowance), (-float(r), float(r)))
        for allowance, r in zip(allowances, reach, strict=True)
    ]


def _detects(watch: _Watch, alpha: float) -> float:
    """Smallest d such that E C(x) = (1 - d) x is found with probability 0.99."""
    part = alpha / max(1, len(watch.tests))
    sizes = np.abs(watch.expected)
    found = [test.detects(part) / size for test, size in zip(watch.tests, sizes, strict=True) if size > 0.0]
    return min(found, default=math.inf)


def _explained(watch: _Watch, wide: Array, x: Array, top: float) -> str:
    place = int(np.argmax([test.log_e for test in watch.tests]))
    test = watch.tests[place]
    if watch.what == "entry":
        said, what = top * float(watch.expected[place]), f"entry {place % wide.size}"
    else:
        named = ("the input's signs", "the input", "a constant")
        said = top * float(watch.expected[place])
        along = "the input" if len(watch.tests) == 1 else named[place] if place < len(named) else "random signs"
        what = f"the projection on {along}"
    return (
        f"{what} is {said:.6g} at an input of shape {x.shape}, and {said + top * test.mean:.6g} in the mean of "
        f"{test.count} draws" + (", given the claimed variance" if isinstance(test, Catoni) else "")
    )
