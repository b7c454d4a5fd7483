"""0/1 Adam: a variance that is refreshed at ever larger intervals, and local steps between compressed averages."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives._peers import checked_count
from commbounds.collectives._stack import checked_state
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row
from commbounds.collectives.ranks.communicator import Communicator, Parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.variance_reduced.onebit import SCALES, blocks_of, compressed_mean
from commbounds.collectives.variance_reduced.state import agreed_states, checked_factor
from commbounds.compressors.base import as_numbers, checked_choice, checked_real, shown


class Refreshed(NamedTuple):
    """After a step of `zeroone_gradient`.

    Parameters
    ----------
    momentum : (P, n)
        The same on every rank.
    variance : (n,)
        Mean squares of the entries, which every rank knows.
    worker_errors : (P, n)
        In row p what rank p left out.
    server_errors : (n,)
        What the owner of every block left out of it.
    clock : (3,) int64
        Steps so far, the interval of the variance, and how often it was refreshed at this interval.
    """

    momentum: Array
    variance: Array
    worker_errors: Array
    server_errors: Array
    clock: Integers


class LocalStep(NamedTuple):
    """After a step of `zeroone_local`.

    Parameters
    ----------
    weights, momentum, moved : (P, n)
        In row p those of rank p; `moved` is by how much its weights fell since the last average.
    worker_errors : (P, n)
        In row p what rank p left out.
    server_errors : (n,)
        What the owner of every block left out of it.
    elapsed : (1,) float64
        Step sizes since the last average, added up.
    """

    weights: Array
    momentum: Array
    moved: Array
    worker_errors: Array
    server_errors: Array
    elapsed: Floats


def _refreshed(results: list[Refreshed]) -> Refreshed:
    momentum, variance, errors, served, clock = zip(*results, strict=True)
    return Refreshed(np.stack(momentum), variance[0], np.stack(errors), np.concatenate(served), clock[0])


def _stepped(results: list[LocalStep]) -> LocalStep:
    weights, momentum, moved, errors, served, elapsed = zip(*results, strict=True)
    rows = np.stack(weights), np.stack(momentum), np.stack(moved), np.stack(errors)
    return LocalStep(*rows, np.concatenate(served), elapsed[0])


def _whole_mean(comm: Communicator, x: Array) -> Array:
    """The mean of all ranks' vectors, block by block at its owner; phases whole up and whole down, in bytes."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    blocks = blocks_of(comm, x)
    comm.phase("whole up")
    sent = {rank: Parcel((blocks[rank],), blocks[rank].nbytes) for rank in others}
    arrived = comm.step(sent, others) if others else {}
    total = np.zeros(blocks[comm.rank].size, x.dtype)
    for rank in range(comm.size):
        total += blocks[comm.rank] if rank == comm.rank else comm.fitting(rank, arrived[rank], total)[0]
    own = total / x.dtype.type(comm.size)
    comm.phase("whole down")
    arrived = comm.step(dict.fromkeys(others, Parcel((own,), own.nbytes)), others) if others else {}
    found = {rank: comm.fitting(rank, part, blocks[rank])[0] for rank, part in arrived.items()} | {comm.rank: own}
    mean: Array = comm.shared(lambda: np.concatenate([found[rank] for rank in range(comm.size)]))
    return mean


@one_program(_refreshed)
def zeroone_gradient(
    comm: Communicator,
    vector: ArrayLike,
    momentum: ArrayLike,
    variance: ArrayLike,
    worker_errors: ArrayLike,
    server_errors: ArrayLike,
    clock: ArrayLike,
    kappa: int = 16,
    beta: float = 0.9,
    second_beta: float = 0.999,
    scale: str = "norm",
) -> Refreshed:
    """A step of 0/1 Adam while the variance changes: whole gradients where it is refreshed, signs everywhere else.

    The variance is refreshed at steps that its interval divides, and the interval doubles after every kappa of them.
    Then v <- beta_2 v + (1 - beta_2) g^2 and u <- beta u + (1 - beta) g of the average gradient g; at all other steps
    u alone, of an average that is compressed as by `onebit_momentum` (Lu et al. 2022, arXiv:2202.06009; the rule is
    that of the authors' code).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    momentum, variance : (n,)
        u and v, which all ranks know.
    worker_errors, server_errors : (P, n), (n,)
        What was left out, as for `onebit_momentum`.
    clock : (3,) integers
        As this returns it; at first (0, 1, 0).
    kappa : int
        Refreshes before the interval doubles, >= 1.
    beta, second_beta : float
        In [0, 1).
    scale : {"norm", "mean"}
        As for `onebit_momentum`.

    Returns
    -------
    state : Refreshed
        Where the variance is refreshed, the errors stay as they are.
    traffic : Traffic
        In bytes: n values over the owners of P blocks, both ways; or signs and scales, as for `onebit_momentum`. Phases
        whole up and whole down, or up and down.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype, or a negative variance; a clock that cannot be;
        kappa below 1; a factor outside [0, 1); an unknown scale.

    Notes
    -----
    The authors' code has no momentum from compressed averages where there is one worker; this has.

    Examples
    --------
    >>> zero = np.zeros((2, 2))
    >>> state, traffic = zeroone_gradient([[3.0, -3.0], [1.0, 1.0]], zero[0], zero[0], zero, zero[0], [0, 1, 0], 1, 0.0)
    >>> state.momentum[0].tolist(), state.clock.tolist(), traffic.sent.tolist()
    ([2.0, -1.0], [1, 2, 0], [16, 16])
    """
    settings = {"kappa": kappa, "beta": beta, "second_beta": second_beta, "scale": scale}
    (x,) = agreed_row(comm, vector, lambda _: settings)
    P, n, dtype = comm.size, x.size, x.dtype
    before, squares, errors, served, (steps, interval, refreshes), often, part, other = comm.common(
        lambda: (
            checked_state(momentum, "momentum", (n,), dtype),
            _checked_variance(variance, n, dtype),
            checked_state(worker_errors, "worker_errors", (P, n), dtype),
            checked_state(server_errors, "server_errors", (n,), dtype),
            _checked_clock(clock),
            checked_count(kappa, "kappa", 1),
            _checked_factor(beta, "beta"),
            _checked_factor(second_beta, "second_beta"),
        )
    )
    comm.common(lambda: checked_choice("scale", scale, SCALES))
    agreed_states(comm, momentum=before, variance=squares)
    agreed_alike(comm, {"clock": (steps, interval, refreshes)})
    error, left = errors[comm.rank], blocks_of(comm, served)[comm.rank]
    steps += 1
    fresh = steps % interval == 0
    with np.errstate(over="ignore", invalid="ignore"):
        if fresh:
            mean = _whole_mean(comm, x)
            squares = dtype.type(other) * squares + dtype.type(1 - other) * (mean * mean)
            refreshes += 1
            if refreshes == often:
                refreshes, interval = 0, 2 * interval
        else:
            mean, error, left = compressed_mean(comm, x + error, left, scale)
        after = dtype.type(part) * before + dtype.type(1 - part) * mean
    return Refreshed(after, squares.copy(), error, left, np.array([steps, interval, refreshes], np.int64))


@one_program(_stepped)
def zeroone_local(
    comm: Communicator,
    vector: ArrayLike,
    weights: ArrayLike,
    momentum: ArrayLike,
    moved: ArrayLike,
    variance: ArrayLike,
    worker_errors: ArrayLike,
    server_errors: ArrayLike,
    elapsed: ArrayLike,
    average: bool,
    step_size: float = 1e-3,
    beta: float = 0.9,
    decay: float = 0.0,
    epsilon: float = 1e-8,
    scale: str = "norm",
) -> LocalStep:
    """A local step of 0/1 Adam with a frozen variance, and the compressed average of what was moved since the last.

    u_p <- beta u_p + (1 - beta) g_p; d = u_p/D + decay x_p with D = sqrt(v) + epsilon; x_p <- x_p - gamma d; c_p <- c_p
    + gamma d. To average: x_p <- x_p + c_p, c the average of D c_p, compressed as by `onebit_momentum`; u_p <- c over
    the step sizes since the last average; x_p <- x_p - c/D; c_p <- 0 (Lu et al. 2022, arXiv:2202.06009, as in the
    authors' code).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    weights, momentum, moved : (P, n)
        In row p those of rank p, which reads no other.
    variance : (n,)
        v, which all ranks know.
    worker_errors, server_errors : (P, n), (n,)
        What was left out, as for `onebit_momentum`.
    elapsed : (1,) float64
        Step sizes since the last average, without this one.
    average : bool
        Whether the ranks average at this step.
    step_size : float
        gamma, positive: an average is divided by the sum of step sizes.
    beta : float
        In [0, 1).
    decay : float
        Weight decay, finite and not negative.
    epsilon : float
        Likewise; positive where an entry of the variance is zero.
    scale : {"norm", "mean"}
        As for `onebit_momentum`.

    Returns
    -------
    state : LocalStep
        Weights that were the same at the last average are the same after the next, up to rounding.
    traffic : Traffic
        In bytes: nothing, or that of `onebit_momentum`.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype, or a negative variance; a size or factor outside its
        range; zero where to divide by; an unknown scale.

    Notes
    -----
    With `decay` the average has the decay in it, and so has the momentum that is made of it: after every average some
    1/(1 - beta) times the decay if ranks average at every step. The authors' code compresses nothing where there is one
    worker; this does.

    Examples
    --------
    >>> one, zero = np.ones((2, 2)), np.zeros((2, 2))
    >>> state, traffic = zeroone_local(one, one, zero, zero, one[0], zero, zero[0], [0.0], True, 0.5, 0.5, epsilon=0.0)
    >>> state.weights[0].tolist(), state.momentum[0].tolist(), traffic.sent.tolist()
    ([0.75, 0.75], [0.5, 0.5], [18, 18])
    """
    settings = {"average": average, "step_size": step_size, "beta": beta, "decay": decay, "epsilon": epsilon}
    (x,) = agreed_row(comm, vector, lambda _: {**settings, "scale": scale})
    P, n, dtype = comm.size, x.size, x.dtype
    rows, squares, served, since, ends = comm.common(
        lambda: (
            [
                checked_state(value, name, (P, n), dtype)
                for name, value in (
                    ("weights", weights), ("momentum", momentum), ("moved", moved), ("worker_errors", worker_errors)
                )
            ],
            _checked_variance(variance, n, dtype),
            checked_state(server_errors, "server_errors", (n,), dtype),
            _checked_elapsed(elapsed),
            _checked_flag(average),
        )
    )  # fmt: skip
    size, part, loss, least = comm.common(
        lambda: (
            _checked_size(step_size),
            _checked_factor(beta, "beta"),
            checked_factor(decay, "decay"),
            checked_factor(epsilon, "epsilon"),
        )
    )
    comm.common(lambda: checked_choice("scale", scale, SCALES))
    root = comm.common(lambda: _root(squares, dtype.type(least)))
    agreed_states(comm, variance=squares)
    agreed_alike(comm, {"elapsed": since})
    at, held, fallen, error = (row[comm.rank] for row in rows)
    left, gamma, since = blocks_of(comm, served)[comm.rank], dtype.type(size), since + size
    with np.errstate(over="ignore", invalid="ignore"):
        held = dtype.type(part) * held + dtype.type(1 - part) * x
        step = held / root + dtype.type(loss) * at
        at, fallen = at - gamma * step, fallen + gamma * step
        if ends:
            at = at + fallen
            mean, error, left = compressed_mean(comm, fallen * root + error, left, scale)
            held, at = mean / dtype.type(since), at - mean / root
            fallen, since = np.zeros_like(fallen), 0.0
    return LocalStep(at, held, fallen, error, left, np.array([since]))


def _checked_variance(value: ArrayLike, n: int, dtype: np.dtype[Any], name: str = "variance") -> Array:
    array = checked_state(value, name, (n,), dtype)
    if (array < 0).any():
        raise ValueError(f"{name} must not be negative, got {shown(float(array.min()))}")
    return array


def _root(squares: Array, least: Any) -> Array:
    root = np.asarray(np.sqrt(squares) + least)
    if not root.all():
        raise ValueError(f"epsilon must be positive where the variance is zero, got 0 at entry {int(root.argmin())}")
    return root


def _checked_clock(clock: ArrayLike) -> tuple[int, int, int]:
    given = as_numbers(clock, "clock", kinds="iu")
    if given.shape != (3,):
        raise ValueError(f"clock must have shape (3,), got {given.shape}")
    steps, interval, refreshes = (int(value) for value in given)
    if steps < 0 or interval < 1 or refreshes < 0 or steps >= 2**62 or interval >= 2**61:
        raise ValueError(f"clock must be (steps >= 0, interval >= 1, refreshes >= 0), got {shown(given.tolist())}")
    return steps, interval, refreshes


def _checked_elapsed(elapsed: ArrayLike) -> float:
    given = as_numbers(elapsed, "elapsed", kinds="f")
    if given.shape != (1,) or not 0.0 <= float(given[0]) < float("inf"):
        raise ValueError(f"elapsed must be one finite number, not negative, got {shown(given.tolist())}")
    return float(given[0])


def _checked_flag(average: Any) -> bool:
    if not isinstance(average, bool | np.bool_):
        raise TypeError(f"average must be True or False, got {shown(average)}")
    return bool(average)


def _checked_size(step_size: Any) -> float:
    value = checked_real("step_size", step_size)
    if not 0.0 < value < float("inf"):
        raise ValueError(f"step_size must be positive and finite, got {shown(step_size)}")
    return value


def _checked_factor(value: Any, name: str) -> float:
    factor = checked_real(name, value)
    if not 0.0 <= factor < 1.0:
        raise ValueError(f"{name} must be in [0, 1), got {shown(value)}")
    return factor
