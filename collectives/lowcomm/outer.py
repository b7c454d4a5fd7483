"""DiLoCo: workers that trained alone agree on a step of an outer optimiser, of all entries or of a fragment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_state
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.lowcomm._parts import checked_between
from commbounds.collectives.ranks._agreement import agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import checked_choice, checked_count

RULES = ("nesterov", "heavy-ball")
"""Outer optimisers: SGD with Nesterov's momentum, as PyTorch has it, and with Polyak's."""
DIRECTIONS = ("anchor - local", "local - anchor")
"""What a worker calls its pseudo-gradient, which the outer optimiser subtracts."""


@dataclass(frozen=True, eq=False)
class OuterState:
    """What workers end an outer round with.

    Parameters
    ----------
    parameters : (P, n) or (n,)
        Where they go on from.
    anchor : (P, n) or (n,)
        Where the outer optimiser is: what the next pseudo-gradients are taken from.
    momentum : (P, n) or (n,)
        Of the outer optimiser.
    """

    parameters: Array
    anchor: Array
    momentum: Array


def _of_all(ranks: Sequence[OuterState]) -> OuterState:
    return OuterState(
        np.stack([own.parameters for own in ranks]),
        np.stack([own.anchor for own in ranks]),
        np.stack([own.momentum for own in ranks]),
    )


@one_program(_of_all)
def diloco_round(
    comm: Communicator,
    vector: ArrayLike,
    anchor: ArrayLike,
    momentum: ArrayLike | None = None,
    outer_lr: float = 0.7,
    mu: float = 0.9,
    *,
    rule: str = "nesterov",
    direction: str = "anchor - local",
    start: int = 0,
    stop: int | None = None,
    blend: float = 0.0,
) -> OuterState:
    """The parameters after an outer step, from those that the workers reached alone.

    Pseudo-gradients anchor - local are averaged by a ring all-reduce, g; m <- mu m + g; the anchor moves by
    - outer_lr (g + mu m), or by - outer_lr m under heavy-ball. Of entries outside [start, stop) nothing changes: that
    is a fragment of Streaming DiLoCo, whose workers go on from (1 - blend) anchor + blend local.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The workers' parameters after their inner steps; finite.
    anchor : (n,) in the dtype of stack
        The parameters that they began with.
    momentum : (n,) in the dtype of stack, or None
        Of the outer optimiser; zeros for None.
    outer_lr : float
        Step size of the outer optimiser, in [0, 100].
    mu : float
        Its momentum, in [0, 1].
    rule : str
        "nesterov" (PyTorch's SGD) or "heavy-ball".
    direction : str
        "local - anchor" takes the pseudo-gradient with the wrong sign, as torchft did at first.
    start, stop : int
        The fragment; 0 <= start < stop <= n, and n for None.
    blend : float
        How much of its own parameters a worker keeps in the fragment, in [0, 1].

    Returns
    -------
    OuterState, Traffic
        Words of the all-reduce of the fragment.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says, or something is out of its range.

    Notes
    -----
    With outer_lr = 1 and mu = 0 the new anchor is the average of the workers' parameters. The first step with momentum
    goes outer_lr (1 + mu) of the way there: 1.33 with 0.7 and 0.9.

    References
    ----------
    A. Douillard et al., 2023, DiLoCo, arXiv:2311.08105; A. Douillard et al., 2025, Streaming DiLoCo, arXiv:2501.18512;
    pytorch/torchft, torchft/local_sgd.py.

    Examples
    --------
    >>> import numpy as np
    >>> state, traffic = diloco_round([[1.0, 0.0], [3.0, 4.0]], np.zeros(2), outer_lr=1.0, mu=0.0)
    >>> state.anchor[0].tolist(), traffic.sent.tolist()
    ([2.0, 2.0], [2, 2])
    """

    def remembered(row: Array) -> tuple[Array, Array]:
        given = ("anchor", anchor), ("momentum", np.zeros_like(row) if momentum is None else momentum)
        held, speed = (checked_state(value, name, row.shape, row.dtype) for name, value in given)
        return held, speed

    def settings(row: Array) -> Mapping[str, Any]:
        n = row.shape[1]
        first = checked_count("start", start, 0, n - 1)
        last = checked_count("stop", n if stop is None else stop, first + 1, n)
        return {
            "outer_lr": checked_between("outer_lr", outer_lr, 0.0, 100.0),
            "mu": checked_between("mu", mu, 0.0, 1.0),
            "rule": checked_choice("rule", rule, RULES),
            "direction": checked_choice("direction", direction, DIRECTIONS),
            "the fragment": (first, last),
            "blend": checked_between("blend", blend, 0.0, 1.0),
            "the checksum of anchor and momentum": checksum(*remembered(row[0])),
        }

    local = agreed_row(comm, vector, settings)[0]
    old, m = remembered(local)
    part = slice(int(start), local.size if stop is None else int(stop))
    change = old[part] - local[part] if direction == "anchor - local" else local[part] - old[part]
    g = ring_allreduce.on_rank(comm, change) / local.dtype.type(comm.size)
    lr, keep = local.dtype.type(outer_lr), local.dtype.type(mu)
    new_m = m.copy()
    new_m[part] = keep * m[part] + g
    step = g + keep * new_m[part] if rule == "nesterov" else new_m[part]
    new = old.copy()
    new[part] = old[part] - lr * step
    parameters = local.copy()
    own = local.dtype.type(blend)
    parameters[part] = new[part] if blend == 0 else (1 - own) * new[part] + own * local[part]
    return OuterState(parameters, new, new_m)
