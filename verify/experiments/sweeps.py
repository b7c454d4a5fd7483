"""What columns share that say which hyper-parameters to try: numbers of kept entries, and natural parameters."""

from collections.abc import Callable, Sequence
from typing import Any

from commbounds.verify.compressor_study import Sweep


def counts(n: int) -> list[int]:
    """A few numbers of kept entries, among them 1 and n."""
    return sorted({1, -(-n // 10), -(-n // 2), n})


def densities(make: Callable[[Any, int], Any]) -> Sweep:
    """Numbers of kept entries from few to all, as `make` takes them."""

    def sweep(cls: Any, n: int) -> tuple[str, list[tuple[float, Any]]]:
        counts = sorted({max(1, round(n * share)) for share in (0.001, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0)})
        return "k/n", [(k / n, make(cls, k)) for k in counts]

    return sweep


def values(axis: str, values: Sequence[Any], make: Callable[[Any, Any], Any] | None = None) -> Sweep:
    """These values of a natural parameter, as `make`, or the class, takes them."""
    return lambda cls, n: (axis, [(float(v), (make or (lambda c, v: c(v)))(cls, v)) for v in values])
