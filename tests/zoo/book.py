"""Bounds of the book of claims, as the functions of n (or of m and n) that the kit takes."""


def one_minus(function):
    """1 - function: the contraction that belongs to a bound on the error."""

    def at(*shape):
        return 1.0 - function(*shape)

    at.__name__ = f"1 - {function.__name__}"
    return at
