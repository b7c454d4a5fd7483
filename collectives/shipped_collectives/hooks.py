"""torch's quantization hooks: codes from a zero point, which everyone gathers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.exchange import checked_finite, exchanged
from commbounds.compressors.base import checked_count

LEAST_SCALE = np.finfo(np.float32).eps
"""Of torch's observers, whose argument eps it is."""


@one_program(np.stack)
def quantization_hook(comm: Communicator, vector: ArrayLike, channel: int | None = None) -> Array:
    """The mean of the ranks' vectors as torch's `quantization_pertensor_hook` and `..._perchannel_hook` compute it.

    A channel has a scale s, its range with zero over 255 but at least 2^-23, and a zero point z; codes are
    round(x/s) + z, clipped to [0, 255]. Everyone gathers the scales and the codes, and adds up what it reads in
    float32.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. Float64 is rounded to float32.
    channel : int or None
        Numbers of a channel; all are one if not given. The source's default is 512. Vectors are filled with
        channel - n mod channel zeros, which is a whole channel where it divides n.

    Returns
    -------
    means : (P, n) dtype of stack
        The same on every rank.
    traffic : Traffic
        In bytes, everyone's sent to all others: scales, then codes, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a channel that is no count; a range that float32 does not hold.

    Examples
    --------
    >>> means, traffic = quantization_hook([[0.0, 1.0, 255.0], [0.0, 1.0, 255.0]])
    >>> means[0].tolist(), traffic.sent.tolist()
    ([0.0, 1.0, 255.0], [11, 11])
    """

    def settings(row: Array) -> dict[str, Any]:
        if channel is not None:
            checked_count("channel", channel)
        return {"channel": channel}

    (x,) = agreed_row(comm, vector, settings)
    with np.errstate(all="ignore"):
        own = x.astype(np.float32)
        if channel is not None:
            own = np.concatenate([own, np.zeros(channel - own.size % channel, np.float32)])
        rows = own.reshape(-1, own.size if channel is None else channel)
        low, high = np.minimum(rows.min(axis=1), 0), np.maximum(rows.max(axis=1), 0)
        scales = np.maximum(comm.agreed(lambda: checked_finite(high - low)) / np.float32(255), LEAST_SCALE)
        points = np.clip(-np.rint(low / scales), 0, 255).astype(np.float32)
        codes = np.clip(np.rint(rows / scales[:, np.newaxis]) + points[:, np.newaxis], 0, 255).astype(np.uint8)
    own = np.stack([scales, points]).view(np.uint8).ravel()
    params = exchanged(comm, [own] * comm.size, [own.size] * comm.size)
    total = np.zeros_like(rows)
    for sent, arrived in zip(
        params, exchanged(comm, [codes.ravel()] * comm.size, [codes.size] * comm.size), strict=True
    ):
        scale, point = sent.copy().view(np.float32).reshape(2, -1, 1)
        with np.errstate(all="ignore"):
            total = total + scale * (arrived.reshape(rows.shape).astype(np.float32) - point)
    means: Array = (total / np.float32(comm.size)).ravel()[: x.size].astype(x.dtype)
    return means
