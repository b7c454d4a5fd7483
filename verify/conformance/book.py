"""The book's bounds as the functions that claims of the kit take."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from commbounds.theory import claims


@lru_cache(maxsize=4096)
def _value(name: str, given: tuple[tuple[str, Any], ...]) -> float:
    return float(claims()[name].bound(**dict(given)))


def book_bound(name: str, sizes: Sequence[str] = ("n",), **given: Any) -> Callable[..., float]:
    """The bound of a claim of the book, as a function of the input's sizes.

    Parameters
    ----------
    name : str
        Of the claim: ``quantizers.qsgd.variance``.
    sizes : sequence of str
        Its symbols that are the sizes of an input, in the order of the function's arguments: n of a vector, m and n of
        a matrix.
    **given : number, or callable of the sizes
        Values of its other symbols.

    Returns
    -------
    callable (int, ...) -> float
        Named as the claim, so that claims print with it.

    Raises
    ------
    KeyError
        There is no such claim.
    TypeError
        A symbol has no value.

    Examples
    --------
    >>> from commbounds.verify import conformance as cf
    >>> bound = cf.book_bound("sparsifiers.randk.variance", k=2)
    >>> bound(8)
    3.0
    >>> print(cf.Variance(bound))
    Variance(omega=sparsifiers.randk.variance)
    """
    if name not in claims():
        raise KeyError(f"the book has no claim {name!r}")
    missing = {*claims()[name].parameters} - {*sizes, *given}
    if missing:
        raise TypeError(f"bound of {name} needs values for {', '.join(sorted(missing))}")

    def bound(*shape: int) -> float:
        values = {symbol: value(*shape) if callable(value) else value for symbol, value in given.items()}
        return _value(name, tuple(sorted({**dict(zip(sizes, shape, strict=True)), **values}.items())))

    bound.__name__ = name
    return bound
