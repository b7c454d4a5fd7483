"""Ok-Topk SGD: gradient descent with error feedback around Ok-Topk's all-reduce (arXiv 2201.07598, Algorithm 2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_count, checked_options, checked_step_size
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.oktopk.state import OkTopkResult, OkTopkState
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_array, checked_choice, checked_kind, hold_python_numbers, is_finite


@dataclass(frozen=True, eq=False)
class OkTopkSGDState:
    """Where the descent is.

    Parameters
    ----------
    weights : (n,) float32 or float64
        The same on all ranks.
    residuals : (P, n) dtype of the weights
        What every rank has not sent yet.
    allreduce : OkTopkState or None
        Thresholds and regions; None before the first step.
    """

    weights: Array
    residuals: Array
    allreduce: OkTopkState | None = None

    @property
    def t(self) -> int:
        """Steps so far."""
        return 0 if self.allreduce is None else self.allreduce.t


@dataclass(frozen=True)
class OkTopkSGD:
    """SGD that sends Ok-Topk's selection and keeps the rest for later.

    With G_p the gradient of rank p at the weights w, and residuals e_p = 0 at first, a step is

        a_p = e_p + eta G_p;  u, indexes = oktopk_allreduce(a);  e_p = a_p, but 0 at indexes_p;  w = w - u / P.

    Parameters
    ----------
    k : int
        Entries aimed at.
    step_size : float
        eta; positive, finite.
    accumulate : {"scaled", "raw"}
        "scaled": as above, and as published. "raw", as in the official code: a_p = e_p + G_p and w = w - eta u / P, so
        that an old residual is applied with the step size of the step that sends it.
    options : mapping
        Options of `oktopk_allreduce`.

    Notes
    -----
    Mass is conserved: the sum of the a_p is that of the new e_p plus u, up to the rounding of u's sums. With "scaled",
    w_t - x_t is the mean of the residuals, for x of plain averaging with the same gradients.

    Examples
    --------
    >>> sgd = OkTopkSGD(k=1, step_size=0.5)
    >>> state, result, traffic = sgd.step([[2.0, 0.0, 1.0], [2.0, 0.0, 0.0]], sgd.start([1.0, 1.0, 1.0], P=2))
    >>> state.weights.tolist(), state.residuals.tolist()
    ([0.0, 1.0, 1.0], [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    """

    k: int
    step_size: float
    accumulate: str = "scaled"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        checked_count(self.k, "k")
        checked_step_size(self.step_size)
        checked_choice("accumulate", self.accumulate, ("scaled", "raw"))
        checked_options(self.options, oktopk_allreduce, ("k", "state"))

    def start(self, weights: ArrayLike, P: int) -> OkTopkSGDState:
        """The state before the first step of `P` ranks.

        Parameters
        ----------
        weights : (n,) float32 or float64
            Finite; copied.
        P : int
            >= 1.
        """
        row = checked_stack(as_array(weights, "weights")[np.newaxis], "weights")
        checked_count(self.k, "k", 1, row.size)
        return OkTopkSGDState(row[0].copy(), np.zeros((checked_count(P, "P"), row.size), row.dtype))

    def step(
        self, gradients: ArrayLike, state: OkTopkSGDState, step_size: float | None = None
    ) -> tuple[OkTopkSGDState, OkTopkResult, Traffic]:
        """One step, from the gradients at ``state.weights``.

        Parameters
        ----------
        gradients : (P, n) float32 or float64
            In the dtype of the weights; finite.
        state : OkTopkSGDState
            Not mutated.
        step_size : float or None
            In place of the one at the outset, for schedules.

        Returns
        -------
        state : OkTopkSGDState
            After the step.
        result, traffic
            As of `oktopk_allreduce`.

        Raises
        ------
        TypeError, ValueError
            `gradients` do not fit the state's P, n and dtype; or as `oktopk_allreduce` raises.
        """
        checked_kind("state", state, OkTopkSGDState)
        given, held = checked_stack(gradients, "gradients"), checked_stack(state.residuals, "residuals")
        if given.shape != held.shape:
            raise ValueError(f"gradients must be (P, n) = {held.shape}, as the state, got {given.shape}")
        for name, array in (("gradients", given), ("residuals", held)):
            if array.dtype != state.weights.dtype:
                raise TypeError(f"{name} must be {state.weights.dtype}, as the weights, got {array.dtype}")
        eta = given.dtype.type(checked_step_size(self.step_size if step_size is None else step_size))
        acc = self._accumulated(held, given, eta)
        if not is_finite(acc):
            raise ValueError(f"step_size times gradients must be finite, got an overflow at {eta}")
        result, reduced, traffic = oktopk_allreduce(acc, self.k, state.allreduce, **self.options)
        for residual, indices in zip(acc, result.selected, strict=True):
            residual[indices] = 0
        weights = self._descended(state.weights, result.update, eta, len(given))
        return OkTopkSGDState(weights, acc, reduced), result, traffic

    def _accumulated(self, residuals: Array, gradients: Array, eta: Any) -> Array:
        """What the ranks, or one of them, bring to the all-reduce."""
        with np.errstate(over="ignore"):  # what overflows is refused by the all-reduce
            acc: Array = residuals + (eta * gradients if self.accumulate == "scaled" else gradients)
        return acc

    def _descended(self, weights: Array, update: Array, eta: Any, P: int) -> Array:
        """The weights after the sum `update` over `P` ranks."""
        mean = update / weights.dtype.type(P)
        descended: Array = weights - (mean if self.accumulate == "scaled" else eta * mean)
        return descended
