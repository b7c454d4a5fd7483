"""Low-bit gradients: LoCo's compensated quantisation, and reduce-scatters of quantised blocks as in ZeRO++ (qgZ)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.lowcomm._parts import checked_between, of_rows, own_rows
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import checked_choice, checked_count, checked_flag, checked_real, shown

WAYS = ("one-hop", "hierarchical", "ring")
"""How blocks reach their owners."""


def _checked_step(step: Any, name: str = "step") -> float:
    size = checked_real(name, step)
    if not 1e-30 <= size <= 1e30:
        raise ValueError(f"{name} must be in [1e-30, 1e30], got {shown(step)}")
    return size


def e3m0(values: ArrayLike) -> Array:
    """Values at the nearest of the fifteen numbers of E3M0: zero, and seven powers of two up to the largest of them.

    With M the largest magnitude, the numbers are 0 and +- M 2^-k, k = 0 .. 6: a sign and three bits of exponent, of
    which one code is zero. Half-way between two numbers a value goes to the one with the even code, zero's being 0.

    Parameters
    ----------
    values : (k,) float32 or float64
        Finite.

    Returns
    -------
    (k,) dtype of values

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says.

    Notes
    -----
    What is below M/128 is lost, or half-way, as M/128 is.

    References
    ----------
    A. Douillard et al., 2025, Streaming DiLoCo, arXiv:2501.18512, sends outer gradients in four bits, E3M0. That one
    code is zero, and that the largest value sets the scale, is our reading.

    Examples
    --------
    >>> import numpy as np
    >>> e3m0(np.array([4.0, -2.9, 1.1, 0.03])).tolist()
    [4.0, -2.0, 1.0, 0.0]
    """
    row = checked_stack(np.asarray(values)[np.newaxis], "values")[0]
    largest = float(np.abs(row).max())
    if largest == 0.0:
        return np.zeros_like(row)
    shares = np.abs(row.astype(np.float64)) / largest
    numbers = np.concatenate([[0.0], 2.0 ** np.arange(-6.0, 1.0)])
    codes = np.clip(np.searchsorted(numbers, shares, "right") - 1, 0, 6)
    halves = (numbers[codes] + numbers[codes + 1]) / 2
    codes = codes + ((shares > halves) | ((shares == halves) & (codes % 2 == 1)))
    result: Array = np.copysign(numbers[codes] * largest, row).astype(row.dtype) + row.dtype.type(0)
    return result


def _codes(x: Array, step: float, bits: int) -> NDArray[np.int16]:
    """Multiples of `step` nearest to `x`, halves to the even one, as far as the bits reach."""
    top = (1 << (bits - 1)) - 1
    with np.errstate(over="ignore"):
        return np.clip(np.rint(x.astype(np.float64) / step), -top, top).astype(np.int16)


@one_program(np.stack, stack="workers", checked=of_rows(2))
def loco_round(
    comm: Communicator,
    worker: ArrayLike,
    step: float,
    bits: int = 4,
    fresh: float = 0.2,
    *,
    reset: bool = False,
    kept: float | None = None,
) -> Array:
    """The average of the workers' quantised gradients, and the moving averages of their errors.

    h = gradient + e is rounded to multiples of `step`, of which as many as `bits` tell apart, and sent; then
    e <- (1 - fresh) e + fresh (h - what was sent).

    Parameters
    ----------
    workers : (P, 2, n) float32 or float64
        Of every worker its gradient and its compensation e; finite.
    step : float
        Between two codes; in [1e-30, 1e30].
    bits : int
        Bits of a code, in [2, 16]; codes are -(2^(bits - 1) - 1) to 2^(bits - 1) - 1.
    fresh : float
        Weight of the new error, in [0, 1]; 1 is error feedback as it was first (EF14).
    reset : bool
        Whether e is set to zero after the round.
    kept : float or None
        Step of the eight bits that e is kept in, -127 to 127 of them; in [1e-30, 1e30]. None keeps it as it is.

    Returns
    -------
    (P, 2, n) array, Traffic
        The average, which is the same on all ranks, and the compensations, both in float64 and rounded once; words of
        a ring all-gather, one a code.

    Raises
    ------
    TypeError, ValueError
        As `checked_workers` says, or something is out of its range.

    Notes
    -----
    While no code is cut off, |e| <= step/2, and what was sent falls short of the gradients by e/fresh, so by
    step/(2 fresh) at most; a reset forgets that. Kept in eight bits e is rounded in every round, to nearest, and
    what is rounded off is lost: where `kept` is at least fresh times the step, all of it.

    References
    ----------
    X. Xie, Z. Lin, K.-C. Toh, P. Zhou, 2024, LoCo, arXiv:2407.04480; deepspeedai/DeepSpeed, whose `err_beta` is
    1 - fresh. There the step is the largest magnitude of a group over 2^(bits - 1), anew in every round, so that the
    largest entry is cut off by one code where it is positive; and e is averaged in float16 and kept in 8 bits, whose
    step is a 128th of the largest e of a group.

    Examples
    --------
    >>> after, traffic = loco_round([[[1.25, 0.5], [0.0, 0.0]]], 1.0, fresh=0.5)
    >>> after[0].tolist(), traffic.sent.tolist()
    ([[1.0, 0.0], [0.125, 0.25]], [0])
    """

    def settings(_n: int) -> Mapping[str, Any]:
        return {
            "step": _checked_step(step),
            "bits": checked_count("bits", bits, 2, 16),
            "fresh": checked_between("fresh", fresh, 0.0, 1.0),
            "reset": checked_flag("reset", reset),
            "kept": None if kept is None else _checked_step(kept, "kept"),
        }

    gradient, old = own_rows(comm, worker, 2, settings)
    error = old.astype(np.float64)
    h = gradient.astype(np.float64) + error
    codes = _codes(h, step, bits)
    total = np.zeros(h.size)
    for (arrived,) in gathered(comm, (codes,), forms=lambda _: [codes]):
        total += arrived * float(step)
    left = np.zeros_like(h) if reset else (1.0 - fresh) * error + fresh * (h - codes * float(step))
    if kept is not None:
        left = _codes(left, float(kept), 8) * float(kept)
    return np.stack([total / comm.size, left]).astype(gradient.dtype)


@one_program(np.stack)
def quantised_reduce_scatter(
    comm: Communicator,
    vector: ArrayLike,
    step: float,
    bits: int = 8,
    way: str = "hierarchical",
    node: int = 1,
    *,
    reorder: bool = True,
) -> Array:
    """Every rank's block of the sum of the ranks' vectors, moved as codes of few bits.

    One-hop: all blocks are quantised once and sent to their owners, who add up what they read (an all-to-all).
    Hierarchical (qgZ): first within nodes, to the rank that will carry them on; the sums of a node are quantised again
    and go to their owners. Ring: the partial sum of a block is quantised at every hop. What is the sum of h vectors is
    quantised with h times the step, so that its codes have the same range.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite; P divides n.
    step : float
        Between two codes of one vector; in [1e-30, 1e30].
    bits : int
        Bits of a code, in [2, 16].
    way : str
        A name in `WAYS`.
    node : int
        Ranks of a node, consecutive ones; divides P.
    reorder : bool
        Hierarchical: whether a rank hands its neighbour j of the node the blocks of all ranks j, so that rank r ends
        with block r. False hands over consecutive blocks, and blocks end elsewhere.

    Returns
    -------
    (P, n/P) dtype of stack, Traffic
        Phases "within" and "across" nodes, words; one phase "ring".

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; P does not divide n, or node P; something is out of its range.

    Notes
    -----
    While no code is cut off, an entry is off by P step/2 at most (one-hop), P step (hierarchical, several nodes), or
    P (P - 1) step/4 (ring). A rank's own blocks are quantised too.

    References
    ----------
    G. Wang et al., 2023, ZeRO++, arXiv:2306.10209; deepspeedai/DeepSpeed, `all_to_all_quant_reduce`.

    Examples
    --------
    >>> import numpy as np
    >>> blocks, traffic = quantised_reduce_scatter(np.eye(4), 1.0, node=2)
    >>> blocks.ravel().tolist(), traffic.phases["across"].sent.tolist()
    ([0.0, 0.0, 0.0, 0.0], [1, 1, 1, 1])
    """

    def settings(row: Array) -> Mapping[str, Any]:
        if row.shape[1] % comm.size:
            raise ValueError(f"stack must have a multiple of {comm.size} entries a rank, got {row.shape[1]}")
        if comm.size % checked_count("node", node, 1, comm.size):
            raise ValueError(f"node must divide the number of ranks, {comm.size}, got {node}")
        return {
            "step": _checked_step(step),
            "bits": checked_count("bits", bits, 2, 16),
            "way": checked_choice("way", way, WAYS),
            "node": int(node),
            "reorder": checked_flag("reorder", reorder),
        }

    x = agreed_row(comm, vector, settings)[0]
    blocks = x.reshape(comm.size, -1).astype(np.float64)
    program = {"one-hop": _one_hop, "hierarchical": _hierarchical, "ring": _ring}[way]
    result: Array = program(comm, blocks, float(step), bits, int(node), reorder).astype(x.dtype)
    return result


def _swapped(comm: Communicator, codes: Mapping[int, Array], phase: str) -> dict[int, Array]:
    """What these ranks, this one among them, have for this one, by rank; no step where it is the only one."""
    comm.phase(phase)
    others = [rank for rank in codes if rank != comm.rank]
    arrived = comm.step({rank: parcel(codes[rank]) for rank in others}, others) if others else {}
    return {r: codes[r] if r == comm.rank else comm.fitting(r, arrived[r], codes[r])[0] for r in codes}


def _added(arrived: Mapping[int, Array], step: float, like: Array) -> Array:
    total = np.zeros_like(like)
    for rank in sorted(arrived):
        total += arrived[rank] * step
    return total


def _one_hop(comm: Communicator, blocks: Array, step: float, bits: int, node: int, _reorder: bool) -> Array:
    codes = _codes(blocks, step, bits)
    first = comm.rank - comm.rank % node
    team = range(first, first + node)
    arrived = _swapped(comm, {rank: codes[rank] for rank in team}, "within")
    far = {rank: codes[rank] for rank in range(comm.size) if rank not in team}
    comm.phase("across")
    if far:
        answer = comm.step({rank: parcel(code) for rank, code in far.items()}, list(far))
        arrived |= {rank: comm.fitting(rank, message, far[rank])[0] for rank, message in answer.items()}
    return _added(arrived, step, blocks[0])


def _hierarchical(comm: Communicator, blocks: Array, step: float, bits: int, node: int, reorder: bool) -> Array:
    P, own = comm.size, comm.rank % node
    teams, first = P // node, comm.rank - comm.rank % node
    codes = _codes(blocks, step, bits)
    carried = [[m * node + j if reorder else j * teams + m for m in range(teams)] for j in range(node)]
    within = {first + j: codes[carried[j]] for j in range(node)}
    sums = _added(_swapped(comm, within, "within"), step, blocks[:teams])
    again = _codes(sums, node * step, bits)
    across = {m * node + own: again[m] for m in range(teams)}
    return _added(_swapped(comm, across, "across"), node * step, blocks[0])


def _ring(comm: Communicator, blocks: Array, step: float, bits: int, _node: int, _reorder: bool) -> Array:
    comm.phase("ring")
    P, rank = comm.size, comm.rank
    partial: Array = blocks[(rank - 1) % P]
    for hop in range(1, P):
        code = _codes(partial, hop * step, bits)
        before = (rank - 1) % P
        (arrived,) = comm.fitting(before, comm.step({(rank + 1) % P: parcel(code)}, [before])[before], code)
        partial = arrived * (hop * step) + blocks[(rank - 1 - hop) % P]
    return partial
