"""`Walk`: a stateful subject led step by step, and what its memory may carry."""

import ml_dtypes
import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.conformance.bench import Bench, usable
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.claim import NotHere


class Walk:
    """A fresh instance of a stateful subject, one step at a time.

    Parameters
    ----------
    bench : Bench
        Whose subject it is.
    seed : int
        Handed to the factory.
    """

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._step = bench.call(bench.subject.factory, seed)  # type: ignore[attr-defined]

    def __call__(self, x: Array) -> Floats:
        """What goes out for one gradient, as float64; a copy, as the subject may use its array again."""
        given = x.copy()
        return np.array(usable(self._bench.call(self._step, given), x), dtype=np.float64)

    def residual(self, x: Array) -> Floats | None:
        """What is held back now, in the shape of `x`; None where the subject does not show it.

        Raises
        ------
        Unanswered
            It is no array of real numbers of that shape.
        """
        held = getattr(self._step, "residual", None)
        if callable(held):
            held = self._bench.call(held)
        if held is None:
            return None
        try:
            wide = np.array(held, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise Unanswered(f"the residual is no array of numbers: {error}") from error
        if wide.shape != x.shape:
            raise Unanswered(f"the residual has shape {wide.shape} for gradients of shape {x.shape}")
        return wide


def norm(x: Array) -> float:
    """The Euclidean norm of all entries, whatever their magnitudes; NaN or infinite where they are not finite."""
    wide = np.abs(x.astype(np.float64).ravel())
    top = float(wide.max())
    if not 0.0 < top < float("inf"):
        return top
    return top * float(np.linalg.norm(wide / top))


def require_range(bench: Bench, size: float) -> None:
    """Nothing, if numbers up to `size` are within the subject's dtype.

    Raises
    ------
    NotHere
        They are not.
    """
    largest = float(ml_dtypes.finfo(bench.subject.numpy_dtype).max)  # type: ignore[no-untyped-call]
    if not size <= largest:
        raise NotHere("what a right implementation remembers may be beyond the dtype")
