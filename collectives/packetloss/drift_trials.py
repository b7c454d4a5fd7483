"""Many trials of the drift of replicas under lossy broadcasts, in memory that does not grow with the steps.

One coordinate, its owner, and receivers that copy it step by step unless the packet gets lost. Updates are +1 or -1,
so that every sum is an exact integer; the drift's second moment sees of the updates their autocovariance alone.
Losses of 64 receivers are one word: random words are compared with the binary digits of p until every receiver is
decided, which takes about 9 random words, and is exact to 2^-64.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import NDArray

from commbounds.array_types import Floats, Integers
from commbounds.collectives.packetloss.loss_processes import Bernoulli, GilbertElliott, checked_count, threshold
from commbounds.compressors.base import checked_real, of_python_numbers, shown

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1, MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S63 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(63)
_ZERO, _ONE, _PER_WORD = np.uint64(0), np.uint64(1), np.uint64(64)
_ALL, _EVEN = np.uint64(2**64 - 1), np.uint64(0x5555555555555555)


@dataclass(frozen=True, eq=False)
class Drift:
    """Means over the steps of each trial.

    Parameters
    ----------
    owner : (trials,) float64
        Squared gap between the owner and a receiver, averaged over the receivers.
    pair : (trials,) float64
        Squared gap between two receivers, averaged over all pairs; 0 where there is a single receiver.
    differ : (trials,) float64
        Share of the receivers 0 and 1, 2 and 3, ... that hold different versions; 0 where there is a single receiver.
    """

    owner: Floats
    pair: Floats
    differ: Floats


@njit(cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _S30)) * MIX1
    z = (z ^ (z >> _S27)) * MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def _trial_key(seed, trial):  # type: ignore[no-untyped-def]
    return _mix(_mix(seed) + (trial + _ONE) * GOLDEN)


@njit(cache=True, nogil=True)
def _word(key, place, digits):  # type: ignore[no-untyped-def]
    # 64 events of probability digits / 2^64: bit by bit a lane falls below p, rises above it, or is undecided;
    # the first bits are compared without looking, because 64 lanes are rarely decided sooner
    counter = key + place * _PER_WORD * GOLDEN
    below, undecided = _ZERO, _ALL
    for _ in range(9):
        counter += GOLDEN
        bits, digit = _mix(counter), _ZERO - (digits >> _S63)
        below |= undecided & ~bits & digit
        undecided &= ~(bits ^ digit)
        digits <<= _ONE
    while digits != _ZERO and undecided != _ZERO:
        counter += GOLDEN
        bits, digit = _mix(counter), _ZERO - (digits >> _S63)
        below |= undecided & ~bits & digit
        undecided &= ~(bits ^ digit)
        digits <<= _ONE
    return below


@njit(cache=True, nogil=True)
def _lost(key, place, chain, bad, first):  # type: ignore[no-untyped-def]
    # chain: digits of P(lost) in the first step, P(good -> bad), P(bad -> good), and flags for what is certain
    if first or chain[3] == _ONE:  # independent losses, or the stationary start
        return _ALL if chain[4] == _ONE else _word(key, place, chain[0])
    fails = _ALL if chain[5] == _ONE else _word(key, place, chain[1])
    recovers = _ALL if chain[6] == _ONE else _word(key ^ _ALL, place, chain[2])
    return (bad & ~recovers) | (~bad & fails)


@njit(cache=True, nogil=True)
def _ones(word):  # type: ignore[no-untyped-def]
    count = 0
    while word != _ZERO:
        word &= word - _ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def _advanced(lanes, update, lost):  # type: ignore[no-untyped-def]
    # 64 gaps one step on: the update is added where the packet is lost, else the gap closes; their sum, and of squares
    total, square = 0, 0
    for i in range(64):
        gap = (lanes[i] + update) * np.int64((lost >> np.uint64(i)) & _ONE)
        lanes[i] = gap
        total += gap
        square += gap * gap
    return total, square


@njit(cache=True, nogil=True)
def _drift(address, steps, flip, chain, gaps, bad, out):  # type: ignore[no-untyped-def]
    # gaps[w, i] = owner's value minus receiver 64 w + i's; out = means over the steps
    # address: seed, trial, receivers; lanes beyond the last receiver never lose anything
    key = _trial_key(address[0], address[1])
    stream, losses = _mix(key + GOLDEN), _mix(key + GOLDEN + GOLDEN)
    words, receivers = bad.size, np.int64(address[2])
    always, shared = chain[7] == _ONE, chain[8] == _ONE
    last = _ALL if receivers == 64 * words else (_ONE << np.uint64(receivers % 64)) - _ONE
    last_pairs = _EVEN & (last >> _ONE)
    pairs = receivers // 2
    same = np.full(words, _ALL)
    squares, crossed, differing = 0.0, 0.0, 0
    update = 1 if _mix(stream) & _ONE else -1
    for step in range(steps):
        if step > 0 and (always or _mix(stream + np.uint64(step) * GOLDEN) < flip):
            update = -update
        total, square, unequal = 0, 0, 0
        for w in range(words):
            if shared and w > 0:
                lost = _ALL if bad[0] & _ONE else _ZERO
            else:
                lost = _lost(losses, np.uint64(step * words + w), chain, bad[w], step == 0)
                if shared:
                    lost = _ALL if lost & _ONE else _ZERO
            bad[w] = lost
            # a pair differs if one of the two received, or neither and they differed before; told on the even lanes
            partner = lost >> _ONE
            same[w] = (~lost & ~partner) | (lost & partner & same[w])
            unequal += _ones(~same[w] & (last_pairs if w == words - 1 else _EVEN))
            added, squared = _advanced(gaps[w], update, lost & last if w == words - 1 else lost)
            total += added
            square += squared
        squares += square
        crossed += receivers * square - total * total
        differing += unequal
    out[0] = squares / (steps * receivers)
    out[1] = 2.0 * crossed / (steps * receivers * (receivers - 1.0)) if receivers > 1 else 0.0
    out[2] = differing / (steps * pairs) if pairs > 0 else 0.0


@njit(cache=True, nogil=True)
def _staleness(key, receivers, steps, digits, certain, alive, out):  # type: ignore[no-untyped-def]
    # read from the last step backwards: a receiver's staleness is its run of losses at the end
    losses = _mix(key + GOLDEN + GOLDEN)
    words = alive.size
    out[0], out[1] = steps, steps
    for w in range(words):
        left = receivers - 64 * w
        alive[w] = _ALL if left >= 64 else (_ONE << np.uint64(left)) - _ONE
    for age in range(steps):
        still = 0
        for w in range(words):
            if alive[w] != _ZERO and not certain:
                alive[w] &= _word(losses, np.uint64((steps - 1 - age) * words + w), digits)
            still += _ones(alive[w])
        if still < receivers and out[1] == steps:
            out[1] = age
        if still == 0:
            out[0] = age
            return


@njit(cache=True, nogil=True)
def _drifts(address, steps, flip, chain, out):  # type: ignore[no-untyped-def]
    # trials address[1], address[1] + 1, ..., one for every row of out
    words = (np.int64(address[2]) + 63) // 64
    gaps, bad = np.empty((words, 64), np.int64), np.empty(words, np.uint64)
    one = address.copy()
    for i in range(out.shape[0]):
        gaps[:] = 0
        one[1] = address[1] + np.uint64(i)
        _drift(one, steps, flip, chain, gaps, bad, out[i])


@njit(cache=True, nogil=True)
def _stalenesses(seed, receivers, steps, digits, certain, out):  # type: ignore[no-untyped-def]
    alive = np.empty((receivers + 63) // 64, np.uint64)
    for i in range(out.shape[0]):
        _staleness(_trial_key(seed, np.uint64(i)), receivers, steps, digits, certain, alive, out[i])


def _chain(loss: Bernoulli | GilbertElliott, flip: float) -> NDArray[np.uint64]:
    independent = isinstance(loss, Bernoulli)
    fail, recover = (0.0, 0.0) if isinstance(loss, Bernoulli) else (loss.fail, loss.recover)
    chances = [loss.rate, fail, recover]
    digits = [threshold(c) if c < 1.0 else 0 for c in chances]
    flags = [independent, *(c == 1.0 for c in (*chances, flip)), loss.shared]
    return np.array([*digits, *map(int, flags)], np.uint64)


def _checked_run(steps: int, trials: int, seed: int) -> None:
    checked_count(steps, "steps")
    checked_count(trials, "trials")
    checked_count(seed, "seed", 0, 2**64 - 1)


@of_python_numbers
def drift_trials(
    workers: int, steps: int, loss: Bernoulli | GilbertElliott, trials: int = 1, seed: int = 0, *, rho: float = 0.0
) -> Drift:
    """The drift of `workers` - 1 receivers from the owner of a coordinate and from each other.

    Parameters
    ----------
    workers : int
        N >= 2, the owner among them.
    steps : int
        From equal replicas; >= 1.
    loss : Bernoulli or GilbertElliott
        Of the broadcasts.
    trials : int
        Independent runs, >= 1.
    seed : int
        In [0, 2^64). Trial i is a function of (seed, i): not of the number of trials or threads.
    rho : float
        Correlation of consecutive updates, in [-1, 1]: a step's update is the one before it, or its opposite with
        probability (1 - rho) / 2. Updates have variance 1 and autocovariance rho^h; rho = 1 makes them constant.

    Returns
    -------
    Drift
        Means over the steps, trial by trial.

    Raises
    ------
    ValueError, TypeError
        An argument out of its range.

    Examples
    --------
    >>> drift = drift_trials(65, 2000, Bernoulli(0.4), trials=20)
    >>> round(float(drift.pair.mean()), 1), round(float(drift.differ.mean()), 2)  # 2p/(1 - p^2), 2p/(1 + p)
    (1.0, 0.57)
    """
    checked_count(workers, "workers", 2)
    if not isinstance(loss, Bernoulli | GilbertElliott):
        raise TypeError(f"loss must be a Bernoulli or a GilbertElliott, got {shown(loss)}")
    _checked_run(steps, trials, seed)
    if not -1.0 <= checked_real("rho", rho) <= 1.0:
        raise ValueError(f"rho must be in [-1, 1], got {rho}")
    flip = (1.0 - float(rho)) / 2.0
    chain = _chain(loss, flip)
    digits = threshold(flip) if flip < 1.0 else np.uint64(0)
    receivers, out = workers - 1, np.empty((trials, 3))

    def run(first: int, last: int) -> None:
        address = np.array([seed, first, receivers], np.uint64)
        with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
            _drifts(address, steps, digits, chain, out[first:last])

    threads = min(trials, get_num_threads()) if steps * receivers * trials > 1 << 20 else 1
    bounds = [trials * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, bounds[:-1], bounds[1:]))
    return Drift(*(np.ascontiguousarray(column) for column in out.T))


@of_python_numbers
def staleness_trials(
    receivers: int, steps: int, loss: Bernoulli, trials: int = 1, seed: int = 0
) -> tuple[Integers, Integers]:
    """The largest and the smallest staleness among `receivers` after `steps` steps from equal replicas.

    Parameters
    ----------
    receivers, steps, trials : int
        >= 1.
    loss : Bernoulli
        Of the broadcasts; not shared.
    seed : int
        In [0, 2^64).

    Returns
    -------
    (trials,) int64, (trials,) int64
        In steps, at most `steps`.

    Raises
    ------
    ValueError, TypeError
        An argument out of its range.

    Examples
    --------
    >>> largest, smallest = staleness_trials(1000, 100, Bernoulli(0.5), trials=3, seed=1)
    >>> largest, smallest
    (array([ 9, 10,  8]), array([0, 0, 0]))
    """
    checked_count(receivers, "receivers")
    _checked_run(steps, trials, seed)
    if not isinstance(loss, Bernoulli) or loss.shared:
        raise TypeError(f"loss must be an unshared Bernoulli, got {shown(loss)}")
    digits = threshold(loss.p) if loss.p < 1.0 else np.uint64(0)
    out = np.empty((trials, 2), np.int64)
    with np.errstate(over="ignore"):
        _stalenesses(np.uint64(seed), receivers, steps, digits, loss.p == 1.0, out)
    return out[:, 0].copy(), out[:, 1].copy()
