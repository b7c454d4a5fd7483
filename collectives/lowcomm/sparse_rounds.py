"""Rounds that send the largest entries of chunks: SparseLoCo, and DeMo, whose chunks are cosine-transformed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.lowcomm._parts import checked_between, of_rows, own_rows
from commbounds.collectives.lowcomm.transform import dct_matrix
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import gathered_entries
from commbounds.compressors import ChunkTopK
from commbounds.compressors.base import checked_choice, checked_count, checked_flag, of_python_numbers

SHARES = ("ranks", "senders")
"""What sums of sparse messages are divided by: the number of ranks, or of those that sent the entry."""

_SUMMABLE = float(np.finfo(np.float64).max)


@of_python_numbers
def binned(values: ArrayLike, bins: int = 4, reach: float = 6.0) -> Array:
    """Values replaced by the means of their bins, as SparseLoCo's code quantises what it sends.

    A value v falls into the bin round((v - mean) bins / (reach sd)) + bins // 2, cut to [0, bins - 1]; the standard
    deviation is that of a sample. What is sent are bins and their means.

    Parameters
    ----------
    values : (k,) float32 or float64
        Finite.
    bins : int
        In [2, 256]; 4 for two bits.
    reach : float
        Standard deviations that the bins span; in [0.01, 100].

    Returns
    -------
    (k,) dtype of values
        Their sum is that of the values. With an even number of bins there is one more below the mean than above.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; bins or reach is out of range.

    References
    ----------
    one-covenant/templar, src/tplr/compress.py, `_quantize_values`.

    Examples
    --------
    >>> import numpy as np
    >>> binned(np.array([-6.0, -1.0, 1.0, 1.0, 1.0, 4.0])).tolist()
    [-6.0, 0.5, 0.5, 0.5, 0.5, 4.0]
    """
    row = checked_stack(np.asarray(values)[np.newaxis], "values")[0]
    checked_count("bins", bins, 2, 256)
    span = checked_between("reach", reach, 0.01, 100.0)
    x = row.astype(np.float64)
    mean = x.mean() if np.abs(x).max() < _SUMMABLE / x.size else (x / x.size).sum()
    centred = x - mean
    with np.errstate(over="ignore"):
        sd = np.sqrt(np.square(centred).sum() / max(1, x.size - 1))
    if sd == 0 or not np.isfinite(sd):
        return np.full_like(row, mean)
    codes = np.clip(np.rint(centred * (bins / (span * sd))) + bins // 2, 0, bins - 1).astype(np.int64)
    counts = np.bincount(codes, minlength=bins)
    means = np.bincount(codes, centred, bins) / np.maximum(counts, 1)
    result: Array = (means[codes] + mean).astype(row.dtype)
    return result


def _exchanged(comm: Communicator, sent: Array, indices: Array, share: str) -> Array:
    """The sum of what all ranks sent, by index, over the number of ranks, or of those that sent it."""
    total, senders = np.zeros(sent.size), np.zeros(sent.size, np.int64)
    for where, values in gathered_entries(comm, (indices, sent[indices]), sent.size):
        total[where] += values
        senders[where] += 1
    return total / (comm.size if share == "ranks" else np.maximum(senders, 1))


@one_program(np.stack, stack="workers", checked=of_rows(2))
def sparseloco_round(
    comm: Communicator,
    worker: ArrayLike,
    k: int,
    chunk: int = 4096,
    beta: float = 0.95,
    *,
    bins: int = 0,
    share: str = "ranks",
) -> Array:
    """The average of the largest entries of the workers' residuals, and the residuals after that.

    e <- beta e + change; the k largest entries of every chunk of e, perhaps in bins, are sent and taken from e.

    Parameters
    ----------
    workers : (P, 2, n) float32 or float64
        Of every worker its change (anchor less local parameters) and its residual; finite.
    k : int
        Entries sent of every chunk, in [1, chunk].
    chunk : int
        Entries of a chunk; a last one may be short.
    beta : float
        Decay of the residual, in [0, 1].
    bins : int
        Bins of the values that are sent (`binned`); 0 sends them as they are.
    share : str
        "ranks" divides sums by the number of ranks; "senders" by the number of those that sent the entry, as the code
        does.

    Returns
    -------
    (P, 2, n) array, Traffic
        The update, which is the same on all ranks, and the residuals; words of a ring all-gather, two an entry.

    Raises
    ------
    TypeError, ValueError
        As `checked_workers` says, or something is out of its range.

    Notes
    -----
    With beta = 1 the residual is all that is missing from what was sent. With beta < 1 shares (1 - beta) of all
    residuals are gone besides.

    References
    ----------
    A. Sarfi, B. Thérien, J. Lidin, E. Belilovsky, 2025, SparseLoCo, arXiv:2508.15706; one-covenant/templar.

    Examples
    --------
    >>> after, traffic = sparseloco_round([[[3.0, 1.0], [0.0, 0.0]], [[1.0, 2.0], [0.0, 0.0]]], 1, 2)
    >>> after[0].tolist(), after[1].tolist(), traffic.sent.tolist()
    ([[1.5, 1.0], [0.0, 1.0]], [[1.5, 1.0], [1.0, 0.0]], [2, 2])
    """

    def settings(_n: int) -> Mapping[str, Any]:
        ChunkTopK(k, chunk)
        return {
            "k and chunk": (int(k), int(chunk)),
            "beta": checked_between("beta", beta, 0.0, 1.0),
            "bins": checked_count("bins", bins, 2 if bins == 1 else 0, 256),
            "share": checked_choice("share", share, SHARES),
        }

    change, residual = own_rows(comm, worker, 2, settings)
    e = change.dtype.type(beta) * residual + change
    message = comm.agreed(lambda: ChunkTopK(k, chunk).compress(e))
    sent = message.dense()
    if bins:
        sent[message.indices] = binned(message.values, bins)
    update = _exchanged(comm, sent, message.indices, share).astype(e.dtype)
    return np.stack([update, e - sent])


@one_program(np.stack, stack="workers", checked=of_rows(2))
def demo_round(
    comm: Communicator,
    worker: ArrayLike,
    k: int,
    chunk: int = 64,
    beta: float = 0.999,
    *,
    share: str = "senders",
    signed: bool = False,
) -> Array:
    """The average of the largest cosine amplitudes of the workers' momenta, and the momenta without them.

    m <- beta m + gradient; the k largest entries of the cosine transform of every chunk are sent, and taken from m.

    Parameters
    ----------
    workers : (P, 2, n) float32 or float64
        Of every worker its gradient, times the step size, and its momentum; finite.
    k : int
        Amplitudes sent of every chunk, in [1, chunk].
    chunk : int
        Entries of a chunk; divides n; at most 4096.
    beta : float
        Decay of the momentum, in [0, 1].
    share : str
        "senders" divides the sum of an amplitude by the number of ranks that sent it, as the authors' code does;
        "ranks" by the number of ranks.
    signed : bool
        Whether the update is the signs of it, as in the code.

    Returns
    -------
    (P, 2, n) array, Traffic
        The update, which is the same on all ranks, and the momenta; words of a ring all-gather, two an amplitude.

    Raises
    ------
    TypeError, ValueError
        As `checked_workers` says; something is out of its range; chunk does not divide n.

    Notes
    -----
    The transform is orthonormal: what is taken from the momentum contracts as Top-K of the amplitudes does.

    References
    ----------
    B. Peng, L. Chen, B. Su, J. Quesnelle, D. P. Kingma, Q. Liu, 2024, DeMo, arXiv:2411.19870; bloc97/DeMo, demo.py.

    Examples
    --------
    >>> after, traffic = demo_round([[[1.0, 1.0, 4.0, -4.0], [0.0, 0.0, 0.0, 0.0]]], 1, 2)
    >>> after[0].round(12).tolist()[0], bool(abs(after[0, 1]).max() < 1e-14)
    ([1.0, 1.0, 4.0, -4.0], True)
    """

    def settings(n: int) -> Mapping[str, Any]:
        ChunkTopK(k, checked_count("chunk", chunk, 1, 4096))
        if n % chunk:
            raise ValueError(f"chunk must divide n = {n}, got {chunk}")
        return {
            "k and chunk": (int(k), int(chunk)),
            "beta": checked_between("beta", beta, 0.0, 1.0),
            "share": checked_choice("share", share, SHARES),
            "signed": checked_flag("signed", signed),
        }

    gradient, momentum = own_rows(comm, worker, 2, settings)
    m = gradient.dtype.type(beta) * momentum + gradient
    basis = comm.shared(lambda: dct_matrix(chunk))
    amplitudes = np.einsum("ci,ji->cj", m.reshape(-1, chunk).astype(np.float64), basis).ravel()
    message = comm.agreed(lambda: ChunkTopK(k, chunk).compress(amplitudes))
    sent = message.dense()
    update = _back(_exchanged(comm, sent, message.indices, share), basis)
    if signed:
        update = np.sign(update)
    return np.stack([update.astype(m.dtype), (m - _back(sent, basis)).astype(m.dtype)])


def _back(amplitudes: Array, basis: Array) -> Array:
    result: Array = np.einsum("cj,ji->ci", amplitudes.reshape(-1, len(basis)), basis).ravel()
    return result
