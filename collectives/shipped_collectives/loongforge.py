"""LoongForge's DDP hook: codes in float8 both ways, whose errors may be fed back."""

from typing import Any

import numpy as np
from ml_dtypes import float8_e4m3fn
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.exchange import FP8_MAX, checked_finite, owned_places, two_shot
from commbounds.collectives.shipped_collectives.flashinfer import flashinfer_read
from commbounds.compressors.base import checked_choice, checked_count

FEEDBACK = ("none", "allgather", "both")
"""Which errors are added in the next round: none; those of the means; those of the ranks' gradients, too."""
TILE = 8
"""Groups of which a rank's part is a multiple."""
GROUP_MOST = 1024


def loongforge_code(x: Array, group: int) -> Bytes:
    """Codes in float8 of whole groups of float32 numbers, and the scales, zero where they are not above 2^-126.

    Along the last axis, as all that is coded and read here.
    """
    groups = x.reshape(*x.shape[:-1], -1, group)
    with np.errstate(divide="ignore", over="ignore"):
        scales = np.abs(groups).max(axis=-1) / FP8_MAX
        up = np.where(scales > np.finfo(np.float32).tiny, np.float32(1) / scales, np.float32(0))
    codes = np.clip(groups * up[..., np.newaxis], -FP8_MAX, FP8_MAX).astype(float8_e4m3fn)
    sent = np.where(up > 0, scales, np.float32(0)).view(np.uint8)
    return np.concatenate([codes.view(np.uint8).reshape(x.shape), sent], axis=-1)


@one_program(np.stack)
def loongforge_hook(
    comm: Communicator, vector: ArrayLike, rounds: int = 1, group: int = 256, feedback: str = "none"
) -> Array:
    """The mean of the ranks' gradients, round after round, as LoongForge's `fp8_a2a_allgather_hook` computes it.

    Groups of neighbours share a scale, their largest magnitude over 448, in float32. Owners add what they read in the
    order of the ranks, in float32, multiply it by 1/P, and code the means; everyone reads the same bytes. What a coding
    loses may be added before that coding of the next round.

    Parameters
    ----------
    stack : (P, rounds n) float32 or float64
        The ranks' gradients, of one round after another; finite. Float64 is rounded to float32.
    rounds : int
        At least 1; divides the length of the rows.
    group : int
        Numbers that share a scale, the source's block: a power of two, at most 1024.
    feedback : {"none", "allgather", "both"}
        Whether the errors of the means, and those of the ranks' own codes, are kept; the source's default is none.

    Returns
    -------
    means : (P, rounds n) dtype of stack
        The same on every rank. One rank alone has its gradients, as the source then sums without codes.
    traffic : Traffic
        In bytes; an all-to-all and an all-gather a round, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; rounds that do not divide; no such group or feedback; gradients or sums that float32
        does not hold.

    Notes
    -----
    The source sends gradients of less than 8 MiB without codes; here all are coded.

    Examples
    --------
    >>> means, traffic = loongforge_hook([[4.0, 0.27, 0.0, 0.0]] * 2, 2, 2, "both")
    >>> means[0].round(4).tolist(), traffic.sent.tolist()
    ([4.0, 0.2679, 0.0, 0.0021], [192, 192])
    """

    def settings(row: Array) -> dict[str, Any]:
        if row.size % checked_count("rounds", rounds):
            raise ValueError(f"rounds must divide the {row.size} entries of a row, got {rounds}")
        if checked_count("group", group, 1, GROUP_MOST) & (group - 1):
            raise ValueError(f"group must be a power of two, got {group}")
        return {"rounds": rounds, "group": group, "feedback": checked_choice("feedback", feedback, FEEDBACK)}

    (row,) = agreed_row(comm, vector, settings)
    with np.errstate(over="ignore"):
        gradients: Array = row.astype(np.float32).reshape(rounds, -1)
    P, n = comm.size, gradients.shape[1]
    if P == 1:
        alone: Array = gradients.ravel().astype(row.dtype)
        return alone
    part = -(-n // (P * TILE * group)) * TILE * group
    owned, means = owned_places(P * part, part, P), []
    kept, kept_of_mean = np.zeros(P * part, np.float32), np.zeros(part, np.float32)

    def code(values: Array) -> Bytes:
        return loongforge_code(values, group)

    def read(sent: Bytes, count: int) -> Array:
        return flashinfer_read(sent, count, group)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = np.zeros_like(terms[0])
        with np.errstate(over="ignore", invalid="ignore"):
            for term in terms:
                total = total + term
            mean = total * np.float32(1 / P) + kept_of_mean
        return comm.agreed(lambda: checked_finite(mean)), code(mean)

    for gradient in gradients:
        with np.errstate(over="ignore"):
            due = np.pad(gradient, (0, P * part - n)) + kept
        comm.agreed(lambda due=due: checked_finite(due))  # type: ignore[misc]
        result, mean = two_shot(comm, due, owned, code, read, added)
        means.append(result[:n])
        if feedback == "both":
            kept = due - read(code(due), due.size)
        if feedback != "none":
            kept_of_mean = mean - result[owned[comm.rank]]
    return np.concatenate(means).astype(row.dtype)
