"""Bounds of the book of claims, as the functions of n (or of m and n) that the kit takes."""

from functools import lru_cache

from commbounds.theory import claims

__all__ = ["bound", "one_minus"]


@lru_cache(maxsize=4096)
def _value(name, given):
    expression = claims()[name].relation.rhs
    values = dict(given)
    return float(expression.subs({s: values[str(s)] for s in expression.free_symbols}))


def bound(name, sizes=("n",), **given):
    """The right side of the claim called `name`: a function of `sizes`; other symbols are given, or functions of n."""

    def at(*shape):
        numbers = {key: value(*shape) if callable(value) else value for key, value in given.items()}
        return _value(name, tuple(sorted({**dict(zip(sizes, shape, strict=True)), **numbers}.items())))

    at.__name__ = name
    return at


def one_minus(function):
    """1 - function: the contraction that belongs to a bound on the error."""

    def at(*shape):
        return 1.0 - function(*shape)

    at.__name__ = f"1 - {function.__name__}"
    return at
