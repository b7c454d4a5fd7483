"""1-bit LAMB: a warm-up with LAMB, and a compression stage whose layers share one fused message of signs."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.collectives._peers import checked_count, checked_mask
from commbounds.collectives._stack import checked_state
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.variance_reduced.onebit import SCALES, _total, blocks_of, compressed_mean
from commbounds.collectives.variance_reduced.state import agreed_states, checked_factor
from commbounds.collectives.variance_reduced.zeroone import (
    _checked_factor,
    _checked_size,
    _checked_variance,
    _root,
    _whole_mean,
)
from commbounds.compressors.base import as_numbers, checked_choice, shown

Sizes = tuple[int, ...]


class WarmLamb(NamedTuple):
    """After a step of `lamb_warmup`.

    Parameters
    ----------
    weights, momentum : (P, n)
        The same on every rank.
    variance : (n,)
        Mean squares of the entries, which every rank knows.
    trust : (L,) float64
        Of every layer the moving average of its coefficient.
    """

    weights: Array
    momentum: Array
    variance: Array
    trust: Floats


class OneBitLamb(NamedTuple):
    """After a step of `onebit_lamb`.

    Parameters
    ----------
    weights : (P, n)
        The same on every rank.
    momentum : (P, m)
        The same on every rank: that of the layers, and what stands in the padding.
    fresh : (n,)
        Mean squares of the reconstructed gradients, which every rank knows.
    worker_errors : (P, m)
        In row p what rank p left out, in the unit of the fused message.
    server_errors : (m,)
        What the owner of every block left out of it, likewise.
    factors : (L,) float64
        By what the frozen coefficient of every layer was multiplied.
    """

    weights: Array
    momentum: Array
    fresh: Array
    worker_errors: Array
    server_errors: Array
    factors: Floats


def padded_size(n: int, P: int) -> int:
    """Entries of the fused message of P ranks: the least multiple of P lcm(P, 8) that holds n.

    Parameters
    ----------
    n, P : int
        Entries of all layers and ranks; both >= 1, n up to 2^62.

    Raises
    ------
    TypeError, ValueError
        No integer; out of range.

    Notes
    -----
    As the authors' code pads; 8 P would do for whole bytes.

    Examples
    --------
    >>> padded_size(100, 4), padded_size(100, 3), padded_size(100, 16)
    (128, 144, 256)
    """
    n, P = checked_count(n, "n", 1, 2**62), checked_count(P, "P", 1)
    unit = P * math.lcm(P, 8)
    return -(-n // unit) * unit


def fused_scales(momentum: ArrayLike, layers: ArrayLike) -> Floats:
    """By what every layer is multiplied before layers are fused: the mean of their root mean squares over its own.

    Parameters
    ----------
    momentum : (n,) float32 or float64
        At the end of the warm-up; finite, no layer of it zero.
    layers : (L,) integers
        Sizes of the layers, one after another; all >= 1, n in all.

    Returns
    -------
    coefficients : (L,) float64
        Positive. The mean is that of the layers, whatever their sizes.

    Raises
    ------
    TypeError, ValueError
        Another dtype or shape, NaN or an infinity; a layer of zeros, which the authors' code divides by; sizes that do
        not add up to n.

    Examples
    --------
    >>> fused_scales([3.0, -3.0, 1.0], [2, 1]).tolist()
    [0.6666666666666666, 2.0]
    """
    given = as_numbers(momentum, "momentum", kinds="f")
    if given.dtype.newbyteorder("=") not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"momentum must be float32 or float64, got {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"momentum must have shape (n,), got {given.shape}")
    u = checked_state(given, "momentum", given.shape, given.dtype.newbyteorder("="))
    sizes = _checked_layers(layers, u.size)
    own = np.array([math.sqrt(_total(part, True) / part.size) for part in _layers_of(u, sizes)])
    if not own.all():
        raise ValueError(f"momentum must not be zero in a layer, got zeros in layer {int(own.argmin())}")
    return np.asarray(own.mean() / own)


def _joined(results: list[OneBitLamb]) -> OneBitLamb:
    """Of what every rank ends with, whose errors as a server are of its block alone."""
    weights, momentum, fresh, errors, served, factors = zip(*results, strict=True)
    rows = np.stack(weights), np.stack(momentum), fresh[0], np.stack(errors)
    return OneBitLamb(*rows, np.concatenate(served), factors[0])


def _warmed(results: list[WarmLamb]) -> WarmLamb:
    weights, momentum, variance, trust = zip(*results, strict=True)
    return WarmLamb(np.stack(weights), np.stack(momentum), variance[0], trust[0])


@one_program(_warmed)
def lamb_warmup(
    comm: Communicator,
    vector: ArrayLike,
    weights: ArrayLike,
    momentum: ArrayLike,
    variance: ArrayLike,
    trust: ArrayLike,
    layers: ArrayLike,
    step_size: float = 1e-3,
    beta: float = 0.9,
    second_beta: float = 0.999,
    decay: float = 0.0,
    epsilon: float = 1e-8,
    coefficient_min: float = 0.01,
    coefficient_max: float = 10.0,
    coefficient_beta: float = 0.9,
) -> WarmLamb:
    """A step of 1-bit LAMB's warm-up: LAMB of the average gradient, and an average of its coefficients to be frozen.

    u <- beta u + (1 - beta) g and v <- beta_2 v + (1 - beta_2) g^2 of the average gradient g; d = u/(sqrt(v) + epsilon)
    + decay x; of every layer the coefficient c = ||x||/||d|| between its bounds, or 1 where a norm is zero; x <- x -
    step_size c d. Where c is not 1, trust <- b trust + (1 - b) c with b = coefficient_beta (Li et al. 2021,
    arXiv:2104.06069, as in the authors' code).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    weights, momentum, variance : (n,)
        x, u and v, which all ranks know.
    trust : (L,) float64
        The averages of the coefficients; at first zero.
    layers : (L,) integers
        Sizes of the layers, one after another; all >= 1, n in all.
    step_size : float
        Positive, finite.
    beta, second_beta, coefficient_beta : float
        In [0, 1).
    decay, epsilon : float
        Finite, not negative; epsilon positive where an entry of the new variance is zero.
    coefficient_min, coefficient_max : float
        Finite, 0 <= coefficient_min <= coefficient_max.

    Returns
    -------
    state : WarmLamb
    traffic : Traffic
        In bytes: n values over the owners of P blocks, both ways. Phases whole up and whole down.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype, or a negative variance; sizes that do not add up to
        n; a number outside its range; zero where to divide by.

    Notes
    -----
    Without the correction of biases, as in the authors' code, where the options for it are read and not used. A
    coefficient of exactly one is not averaged: a layer that has it in all steps, as at coefficient_max = 1, is frozen
    at zero. Numbers that leave the dtype's range become infinite or NaN.

    Examples
    --------
    >>> one = np.ones((2, 2))
    >>> state, traffic = lamb_warmup(one, 4 * one[0], 0 * one[0], one[0], [0.0], [2], 0.5, 0.5, epsilon=0.0)
    >>> state.weights[0].tolist(), state.trust.round(12).tolist(), traffic.sent.tolist()
    ([2.0, 2.0], [0.8], [16, 16])
    """
    settings = {"step_size": step_size, "beta": beta, "second_beta": second_beta, "decay": decay, "epsilon": epsilon}
    bounds = {"coefficient_min": coefficient_min, "coefficient_max": coefficient_max}
    (x,) = agreed_row(comm, vector, lambda _: {**settings, **bounds, "coefficient_beta": coefficient_beta})
    n, dtype = x.size, x.dtype
    at, held, squares, sizes, averages = comm.common(
        lambda: (
            checked_state(weights, "weights", (n,), dtype),
            checked_state(momentum, "momentum", (n,), dtype),
            _checked_variance(variance, n, dtype),
            given := _checked_layers(layers, n),
            _checked_ratios(trust, "trust", len(given)),
        )
    )
    gamma, part, other, loss, least, kept, (low, high) = comm.common(
        lambda: (
            _checked_size(step_size),
            _checked_factor(beta, "beta"),
            _checked_factor(second_beta, "second_beta"),
            checked_factor(decay, "decay"),
            checked_factor(epsilon, "epsilon"),
            _checked_factor(coefficient_beta, "coefficient_beta"),
            _checked_bounds(coefficient_min, coefficient_max, "coefficient"),
        )
    )
    agreed_states(comm, weights=at, momentum=held, variance=squares, trust=averages, layers=np.array(sizes))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = _whole_mean(comm, x)
        held = dtype.type(part) * held + dtype.type(1 - part) * mean
        squares = dtype.type(other) * squares + dtype.type(1 - other) * (mean * mean)
        root = comm.common(lambda: _root(squares, dtype.type(least)))
        update = held / root + dtype.type(loss) * at
        coefficients = [
            _coefficient(math.sqrt(_total(w, True)), math.sqrt(_total(d, True)), low, high)
            for w, d in zip(_layers_of(at, sizes), _layers_of(update, sizes), strict=True)
        ]
        averages = np.array(
            [t if c == 1.0 else kept * t + (1 - kept) * c for t, c in zip(averages, coefficients, strict=True)]
        )
        at = at - _by_layer([gamma * c for c in coefficients], sizes, dtype) * update
    return WarmLamb(at, held, squares, averages)


@one_program(_joined)
def onebit_lamb(
    comm: Communicator,
    vector: ArrayLike,
    weights: ArrayLike,
    momentum: ArrayLike,
    variance: ArrayLike,
    fresh: ArrayLike,
    worker_errors: ArrayLike,
    server_errors: ArrayLike,
    coefficients: ArrayLike,
    trust: ArrayLike,
    factors: ArrayLike,
    layers: ArrayLike,
    step_size: float = 1e-3,
    beta: float = 0.9,
    second_beta: float = 0.999,
    decay: float = 0.0,
    epsilon: float = 1e-8,
    factor_min: float = 0.5,
    factor_max: float = 4.0,
    threshold: float = 0.1,
    scale: str = "norm",
    mask: ArrayLike | None = None,
) -> OneBitLamb:
    """A step of 1-bit LAMB's compression stage: layers at one scale, fused, compressed to signs, and apart again.

    Of every layer p = c (beta u + (1 - beta) g_p), which is fused with all others and padded; the new u is the average
    of p, compressed as by `onebit_momentum`, over c, and zero where a mask is false. With D = sqrt(v) + epsilon and r =
    (u - beta u_old)/(1 - beta), fresh <- beta_2 fresh + (1 - beta_2) r^2 and f = max D/(sqrt(fresh) + epsilon), between
    factor_min and factor_max, and then within threshold f_old of f_old; x <- x - step_size trust f (u/D + decay x) (Li
    et al. 2021, arXiv:2104.06069, as in the authors' code).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    weights, variance, fresh : (n,)
        x, the frozen v, and the fresh one, which all ranks know.
    momentum : (m,)
        u, and behind it what stands in the padding, at first zero; m is `padded_size` of n and P.
    worker_errors, server_errors : (P, m), (m,)
        What was left out, as for `onebit_momentum`.
    coefficients : (L,) float64
        c, positive: `fused_scales` of the momentum at the end of the warm-up, and the same from then on.
    trust : (L,) float64
        The frozen coefficients of LAMB; not negative.
    factors : (L,) float64
        Those of the step before; at first one.
    layers : (L,) integers
        Sizes of the layers, one after another; all >= 1, n in all.
    step_size : float
        Positive, finite.
    beta, second_beta, threshold : float
        In [0, 1).
    decay, epsilon : float
        Finite, not negative; epsilon positive where an entry of the variance is zero.
    factor_min, factor_max : float
        Finite, 0 <= factor_min <= factor_max.
    scale : {"norm", "mean"}
        As for `onebit_momentum`.
    mask : (n,) bool, or None
        Where the momentum is not zero for good; None: everywhere.

    Returns
    -------
    state : OneBitLamb
        Of m entries rank p owns the p-th of P blocks of m/P. On a rank, the errors of the server are those of its own
        block.
    traffic : Traffic
        In bytes, as of `onebit_momentum` for m entries.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype, or a negative variance; sizes that do not add up to
        n; a number outside its range; zero where to divide by; an unknown scale.

    Notes
    -----
    With weight decay the factor is mixed with one: f w + 1 - w with w = min(1, ||u/D||/||u/D + decay x||), and w = 1
    where that is zero. The padding is never multiplied by beta: what is in it stays, up to errors. A masked entry whose
    variances are zero has D/D = 1, and its layer no factor below one. The authors' code compresses nothing where there
    is one worker, and this does. Numbers that leave the dtype's range become infinite or NaN; a fresh variance of zero
    without epsilon makes the factor factor_max, up to the threshold.

    Examples
    --------
    >>> zero, one, L = np.zeros((2, 16)), np.ones(2), np.ones(1)
    >>> given = (one, zero[0], one, one, zero, zero[0], L, L, L, [2], 0.5, 0.0, 0.5)
    >>> state, traffic = onebit_lamb([[3.0, -3.0], [1.0, 1.0]], *given)
    >>> abs(state.momentum[0, :2]).round(3).tolist(), state.factors.tolist(), traffic.sent.tolist()
    ([0.673, 0.673], [1.1], [18, 18])
    """
    settings = {"step_size": step_size, "beta": beta, "second_beta": second_beta, "decay": decay, "epsilon": epsilon}
    bounds = {"factor_min": factor_min, "factor_max": factor_max, "threshold": threshold, "scale": scale}
    (x,) = agreed_row(comm, vector, lambda _: {**settings, **bounds})
    P, n, dtype = comm.size, x.size, x.dtype
    m = padded_size(n, P)
    at, old, squares, newer, errors, served = comm.common(
        lambda: (
            checked_state(weights, "weights", (n,), dtype),
            checked_state(momentum, "momentum", (m,), dtype),
            _checked_variance(variance, n, dtype),
            _checked_variance(fresh, n, dtype, "fresh"),
            checked_state(worker_errors, "worker_errors", (P, m), dtype),
            checked_state(server_errors, "server_errors", (m,), dtype),
        )
    )
    sizes, scales, frozen, before = comm.common(
        lambda: (
            given := _checked_layers(layers, n),
            _checked_ratios(coefficients, "coefficients", len(given), positive=True),
            _checked_ratios(trust, "trust", len(given)),
            _checked_ratios(factors, "factors", len(given)),
        )
    )
    gamma, part, other, loss, least, (low, high), most = comm.common(
        lambda: (
            _checked_size(step_size),
            _checked_factor(beta, "beta"),
            _checked_factor(second_beta, "second_beta"),
            checked_factor(decay, "decay"),
            checked_factor(epsilon, "epsilon"),
            _checked_bounds(factor_min, factor_max, "factor"),
            _checked_factor(threshold, "threshold"),
        )
    )
    comm.common(lambda: checked_choice("scale", scale, SCALES))
    root, kept = comm.common(lambda: (_root(squares, dtype.type(least)), checked_mask(mask, (n,), "mask")))
    agreed_states(comm, weights=at, momentum=old, variance=squares, fresh=newer, trust=frozen, factors=before)
    agreed_states(comm, coefficients=scales, layers=np.array(sizes), mask=kept)
    keep, new = dtype.type(part), dtype.type(1 - part)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        each = _by_layer(scales.tolist(), sizes, dtype)
        fused = np.concatenate([(keep * old[:n] + new * x) * each, old[n:]])
        own = blocks_of(comm, served)[comm.rank]
        mean, error, left = compressed_mean(comm, fused + errors[comm.rank], own, scale)
        u = np.where(kept, mean[:n] / each, dtype.type(0))
        rebuilt = (u - keep * old[:n]) / new
        newer = dtype.type(other) * newer + dtype.type(1 - other) * (rebuilt * rebuilt)
        plain = u / root
        update = plain + dtype.type(loss) * at
        rises = root / (np.sqrt(newer) + dtype.type(least))
        found = [
            _factor(float(d.max()), _share(p, q) if loss else 1.0, low, high, f, most)
            for d, p, q, f in zip(
                _layers_of(rises, sizes), _layers_of(plain, sizes), _layers_of(update, sizes), before.tolist(),
                strict=True,
            )
        ]  # fmt: skip
        at = at - _by_layer([gamma * t * f for t, f in zip(frozen.tolist(), found, strict=True)], sizes, dtype) * update
    return OneBitLamb(at, np.concatenate([u, mean[n:]]), newer, error, left, np.array(found))


def _layers_of(x: Array, sizes: Sizes) -> list[Array]:
    return np.split(x, np.cumsum(sizes)[:-1])


def _by_layer(values: list[float], sizes: Sizes, dtype: np.dtype[Any]) -> Array:
    """The layers' values, entry by entry."""
    return np.repeat(np.array(values).astype(dtype), sizes)


def _coefficient(weight: float, update: float, low: float, high: float) -> float:
    """LAMB's, of the norms of weights and update."""
    return 1.0 if weight == 0.0 or update == 0.0 else max(min(weight / update, high), low)


def _share(plain: Array, update: Array) -> float:
    """Of the update what is not decay, as far as norms tell."""
    whole = math.sqrt(_total(update, True))
    return 1.0 if whole == 0.0 else min(1.0, math.sqrt(_total(plain, True)) / whole)


def _factor(largest: float, share: float, low: float, high: float, before: float, threshold: float) -> float:
    """The factor of a layer, between its bounds, and then near that of the step before."""
    factor = max(min(largest * share + (1.0 - share), high), low)
    return max(min(factor, before * (1.0 + threshold)), before * (1.0 - threshold))


def _checked_layers(layers: ArrayLike, n: int) -> Sizes:
    given = as_numbers(layers, "layers", kinds="iu")
    if given.ndim != 1 or not given.size:
        raise ValueError(f"layers must have shape (L,) with L >= 1, got {given.shape}")
    sizes = tuple(int(size) for size in given)
    if min(sizes) < 1 or sum(sizes) != n:
        raise ValueError(f"layers must be sizes of at least 1 that add up to {n}, got {shown(list(sizes))}")
    return sizes


def _checked_ratios(values: ArrayLike, name: str, count: int, *, positive: bool = False) -> Floats:
    given = as_numbers(values, name, kinds="f")
    if given.dtype != np.float64:
        raise TypeError(f"{name} must be float64, got {given.dtype}")
    if given.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), got {given.shape}")
    least = float(given.min())
    if not np.isfinite(given).all() or least < 0.0 or (positive and least == 0.0):
        raise ValueError(
            f"{name} must be finite and {'positive' if positive else 'not negative'}, got {given.tolist()}"
        )
    return np.ascontiguousarray(given)


def _checked_bounds(low: Any, high: Any, name: str) -> tuple[float, float]:
    least, most = checked_factor(low, f"{name}_min"), checked_factor(high, f"{name}_max")
    if least > most:
        raise ValueError(f"{name}_min must be at most {name}_max, got {shown(low)} and {shown(high)}")
    return least, most
