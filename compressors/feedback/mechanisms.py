"""Error feedback: what one worker keeps from step to step, so that what compression leaves out is not lost."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import checked_flag, checked_real, hold_python_numbers
from commbounds.compressors.feedback.state import Feedback, FeedbackState, checked_gradient, plus


@dataclass(frozen=True)
class Plain(Feedback):
    """No feedback: the gradient is compressed as it is, and what is left out is lost.

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.compressors import TopK
    >>> plain, gradient = Plain(TopK(1)), np.array([2.0, 1.0])
    >>> plain.step(plain.start(gradient), gradient)[0].dense()
    array([2., 0.])
    """

    def start(self, gradient: ArrayLike) -> FeedbackState:
        """Zeros, which nothing reads."""
        return FeedbackState(np.zeros_like(checked_gradient(gradient)))

    def offered(self, state: FeedbackState, gradient: Array) -> tuple[Array, Array | None]:
        """The gradient."""
        return gradient.copy(), None

    def after(self, state: FeedbackState, offered: Array, beside: Array | None, sent: Any) -> FeedbackState:
        """The same state."""
        return state


@dataclass(frozen=True)
class EF14(Feedback):
    """Error feedback: what was left out is added to the next gradient.

    p = e + gamma grad;  message C(p);  e <- p - C(p), e = 0 at first (Seide 2014, Stich 2018, Karimireddy 2019).

    Notes
    -----
    `step` is given gamma grad, so that old residuals keep the step size they were made with.
    If ||gamma grad|| <= M always and ||C(x) - x||^2 <= (1 - alpha) ||x||^2, then
    ||e||^2 <= (1 - alpha) / (1 - sqrt(1 - alpha))^2 M^2; tight over all contractive compressors.

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.compressors import TopK
    >>> ef, gradient = EF14(TopK(1)), np.array([2.0, 1.5])
    >>> first, state = ef.step(ef.start(gradient), gradient)
    >>> second, state = ef.step(state, gradient)
    >>> first.dense(), second.dense(), state.memory
    (array([2., 0.]), array([0., 3.]), array([2., 0.]))
    """

    scaled = True

    def start(self, gradient: ArrayLike) -> FeedbackState:
        """Nothing left over."""
        return FeedbackState(np.zeros_like(checked_gradient(gradient)))

    def offered(self, state: FeedbackState, gradient: Array) -> tuple[Array, Array | None]:
        """The vector e + gamma grad."""
        with np.errstate(over="ignore"):  # the compressor refuses what overflows
            return state.memory + gradient, None

    def after(self, state: FeedbackState, offered: Array, beside: Array | None, sent: Any) -> FeedbackState:
        """The residual e = p - C(p)."""
        return FeedbackState(plus(offered, -1, sent))


@dataclass(frozen=True)
class EF21(Feedback):
    """Error feedback of 2021: the worker sends compressed corrections of an estimate that the server keeps.

    message C(grad - g);  g <- g + C(grad - g) (Richtarik 2021).

    Parameters
    ----------
    compressor : Compressor or None
        As in `Feedback`.
    dense : bool
        Whether the first gradient is sent whole, so that g begins with it; else g begins with zeros.

    Notes
    -----
    ||g+ - grad+||^2 <= (1 - theta) ||g - grad||^2 + beta ||grad+ - grad||^2 with q = sqrt(1 - alpha), theta = 1 - q and
    beta = q^2 / (1 - q).

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.compressors import TopK
    >>> ef = EF21(TopK(1), dense=False)
    >>> gradient = np.array([2.0, 1.5])
    >>> first, state = ef.step(ef.start(gradient), gradient)
    >>> second, state = ef.step(state, gradient)
    >>> first.dense(), second.dense(), state.memory
    (array([2., 0.]), array([0. , 1.5]), array([2. , 1.5]))
    """

    dense: bool = True
    adds_up = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_flag("dense", self.dense)

    def start(self, gradient: ArrayLike) -> FeedbackState:
        """An estimate g that is the gradient, or zero."""
        given = checked_gradient(gradient)
        return FeedbackState(given.copy() if self.dense else np.zeros_like(given))

    def offered(self, state: FeedbackState, gradient: Array) -> tuple[Array, Array | None]:
        """The correction grad - g."""
        with np.errstate(over="ignore"):  # the compressor refuses what overflows
            return gradient - state.memory, None

    def after(self, state: FeedbackState, offered: Array, beside: Array | None, sent: Any) -> FeedbackState:
        """The estimate g + C(grad - g)."""
        return FeedbackState(plus(state.memory, 1, sent))


@njit(cache=True, nogil=True)
def _blend(momentum, gradient, memory, keep, eta, blended, offered):  # type: ignore[no-untyped-def]
    # h = keep h + eta grad, and h - g
    for i in range(momentum.size):
        h = keep * momentum[i] + eta * gradient[i]
        blended[i] = h
        offered[i] = h - memory[i]


@dataclass(frozen=True)
class EF21M(Feedback):
    """EF21 of averaged gradients: EF21 with momentum, for stochastic gradients (EF21-SGDM, Fatkhullin 2023).

    h <- (1 - eta) h + eta grad;  message C(h - g);  g <- g + C(h - g).

    Parameters
    ----------
    compressor : Compressor or None
        As in `Feedback`.
    eta : float
        Weight of the new gradient, in (0, 1]; 1 is EF21.
    dense : bool
        Whether the first gradient is sent whole, so that g and h begin with it; else g begins with zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.compressors import TopK
    >>> ef = EF21M(TopK(1), eta=0.5)
    >>> state = ef.start(np.array([2.0, 1.0]))
    >>> message, state = ef.step(state, np.array([0.0, 5.0]))
    >>> message.dense(), state.memory, state.momentum
    (array([0., 2.]), array([2., 3.]), array([1., 3.]))
    """

    eta: float = 0.1
    dense: bool = True
    adds_up = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_flag("dense", self.dense)
        hold_python_numbers(self)
        if not 0.0 < checked_real("eta", self.eta) <= 1.0:
            raise ValueError(f"eta must be in (0, 1], got {self.eta}")

    def start(self, gradient: ArrayLike) -> FeedbackState:
        """An average h that is the gradient; g is the same, or zero."""
        given = checked_gradient(gradient)
        return FeedbackState(given.copy() if self.dense else np.zeros_like(given), given.copy())

    def offered(self, state: FeedbackState, gradient: Array) -> tuple[Array, Array | None]:
        """The correction h - g, and h."""
        if state.momentum is None:
            raise ValueError("state must be one of EF21M, with a momentum, got one without")
        blended, vector = np.empty_like(gradient), np.empty_like(gradient)
        keep, eta = gradient.dtype.type(1 - self.eta), gradient.dtype.type(self.eta)
        _blend(
            state.momentum.ravel(), gradient.ravel(),
            state.memory.ravel(), keep, eta, blended.ravel(), vector.ravel(),
        )  # fmt: skip
        return vector, blended

    def after(self, state: FeedbackState, offered: Array, beside: Array | None, sent: Any) -> FeedbackState:
        """The estimate g + C(h - g), and h."""
        return FeedbackState(plus(state.memory, 1, sent), beside)


@njit(cache=True, nogil=True)
def _controlled(error, gradient, memory, eta, offered, missing):  # type: ignore[no-untyped-def]
    # eta e + (grad - g), and e + (grad - g)
    for i in range(error.size):
        correction = gradient[i] - memory[i]
        offered[i] = eta * error[i] + correction
        missing[i] = error[i] + correction


@dataclass(frozen=True)
class EControl(Feedback):
    """EF21 whose corrections also send a share eta of the error that has added up (Gao, Islamov, Stich 2023).

    w = eta e + (grad - g);  message C(w);  e <- (e + (grad - g)) - C(w) with the old g;  g <- g + C(w).

    Parameters
    ----------
    compressor : Compressor or None
        As in `Feedback`.
    eta : float
        Weight of the error in what is compressed, in [0, 1]; 0 is EF21.
    dense : bool
        Whether the first gradient is sent whole, so that g begins with it; else g begins with zeros.

    Notes
    -----
    Nothing is lost: the estimates of all steps and the error add up to the gradients. While the gradient stands still
    and ||C(w) - w|| <= q ||w||, eta^2 ||e||^2 + q ||w||^2 shrinks by rho^2 at least, rho = (|b| + sqrt(b^2 + 4 q))/2
    with b = (1 + q) eta - (1 - q): by q at eta = (1 - q)/(1 + q), and not at all at eta = 2 (1 - q)/(1 + q), above
    which the compressor that returns 1 + q of its input makes the error grow.

    References
    ----------
    Y. Gao, R. Islamov, S. U. Stich, 2023, EControl: fast distributed optimization with compression and error control,
    arXiv:2311.05645; read in code of others.

    Examples
    --------
    >>> import numpy as np
    >>> from commbounds.compressors import TopK
    >>> control, gradient = EControl(TopK(1), eta=0.5, dense=False), np.array([4.0, 3.0])
    >>> first, state = control.step(control.start(gradient), gradient)
    >>> second, state = control.step(state, gradient)
    >>> first.dense(), second.dense(), state.memory, state.error
    (array([4., 0.]), array([0. , 4.5]), array([4. , 4.5]), array([0. , 1.5]))
    """

    eta: float = 0.1
    dense: bool = True
    adds_up = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_flag("dense", self.dense)
        hold_python_numbers(self)
        if not 0.0 <= checked_real("eta", self.eta) <= 1.0:
            raise ValueError(f"eta must be in [0, 1], got {self.eta}")

    def start(self, gradient: ArrayLike) -> FeedbackState:
        """No error; an estimate g that is the gradient, or zero."""
        given = checked_gradient(gradient)
        return FeedbackState(given.copy() if self.dense else np.zeros_like(given), error=np.zeros_like(given))

    def offered(self, state: FeedbackState, gradient: Array) -> tuple[Array, Array | None]:
        """The vector eta e + grad - g, and the error e + grad - g before anything of it is sent."""
        if state.error is None:
            raise ValueError("state must be one of EControl, with an error, got one without")
        vector, missing = np.empty_like(gradient), np.empty_like(gradient)
        _controlled(
            state.error.ravel(), gradient.ravel(),
            state.memory.ravel(), gradient.dtype.type(self.eta), vector.ravel(),
            missing.ravel(),
        )  # fmt: skip
        return vector, missing

    def after(self, state: FeedbackState, offered: Array, beside: Array | None, sent: Any) -> FeedbackState:
        """The estimate g + C(w), and the error e + grad - g - C(w)."""
        if beside is None:
            raise ValueError("beside must be the error before the message, got None")
        return FeedbackState(plus(state.memory, 1, sent), error=plus(beside, -1, sent))
