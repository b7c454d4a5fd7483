"""What hypotheses of the column flashcomm ask of a vector `x` and of its quantiser, `compressor`."""

from typing import Any

_SIGNIFICANT = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""Significant bits of a format."""
_EXPONENT = {"float64": 1023, "float32": 127, "float16": 15, "bfloat16": 127}
"""Exponent of the largest numbers of a format."""


def stored_exactly(compressor: Any, x: Any) -> bool:
    """Whether scales and zero points lose nothing when they are stored: fractions, or a format no coarser than `x`."""
    return bool(
        compressor.scale == "float"
        and (x.dtype == object or _SIGNIFICANT[compressor.metadata] >= _SIGNIFICANT[x.dtype.name])
        and _is_read(compressor, x)
    )


def stored_as_the_vector(compressor: Any, x: Any) -> bool:
    """Whether scales and zero points have the dtype of `x`, which no range overflows, and nothing that is read."""
    low, high = _ends(x, compressor.group)
    return (
        _rounded_to_nearest(compressor)
        and compressor.metadata == x.dtype.name
        and _spans_fit(low, high)
        and _is_read(compressor, x)
    )


def stored_in_few_bits(compressor: Any, x: Any) -> bool:
    """Whether codes are relative to scales and zero points that were rounded to at most 32 bits."""
    return (
        _rounded_to_nearest(compressor)
        and compressor.metadata != "float64"
        and compressor.quantise_with == "stored"
        and _fits(compressor, x)
        and _is_read(compressor, x)
    )


def coded_then_stored(compressor: Any, x: Any) -> bool:
    """Whether codes are relative to scales and zero points before these are rounded."""
    return _rounded_to_nearest(compressor) and compressor.quantise_with == "exact" and _fits(compressor, x)


def repaired(compressor: Any, x: Any) -> bool:
    """Whether zero points are rounded down and scales up, far from the ends of their format."""
    return bool(compressor.repaired and abs(x).max() <= _largest(compressor.metadata) / 4)


def has_integer_points(compressor: Any, x: Any) -> bool:
    """Whether zero points are integers of at most 32 bits, with their sign."""
    low, high = _ends(x, compressor.group)
    scale = (high - low) / x.dtype.type(compressor.top)
    some = scale > 0
    levels = abs(low[some].astype(float) / scale[some].astype(float)).round()
    return bool(compressor.zero == "integer" and (levels < 2.0**31).all())


def has_clamped_points(compressor: Any) -> bool:
    """Whether zero points are integers in the range of the codes."""
    return bool(compressor.zero == "clamped")


def has_log2_scales(compressor: Any, x: Any) -> bool:
    """Whether scales are powers of 2^(1/theta), the largest of which is large enough."""
    low, high = _ends(x, compressor.group)
    scale = (high - low) / x.dtype.type(compressor.top)
    return bool(compressor.scale == "log2" and scale.max() <= 2.0 ** (127 / compressor.theta))


def has_a_range(compressor: Any, x: Any) -> bool:
    """Whether the entries of some group differ."""
    low, high = _ends(x, compressor.group)
    return bool((high > low).any())


def has_mixed_widths(widths: tuple[int, int]) -> bool:
    """Whether one stage has four bits and the other eight."""
    return set(widths) == {4, 8}


def owners_read(owner_reads: bool) -> bool:
    """Whether owners read the bytes that they send."""
    return owner_reads


def owners_keep(owner_reads: bool) -> bool:
    """Whether owners keep their sums as they are."""
    return not owner_reads


def sides_read(both_read_both: bool) -> bool:
    """Whether in the exchange all halves are read from what was sent."""
    return both_read_both


def sides_keep(both_read_both: bool) -> bool:
    """Whether in the exchange a side keeps its own half as it is."""
    return not both_read_both


def nodes_are_equal(P: int, node: int) -> bool:
    """Whether `P` ranks make nodes of `node` each."""
    return P % node == 0


def nodes_are_two(P: int, node: int) -> bool:
    """Whether `P` ranks make two of them."""
    return 2 * node == P


def _ends(x: Any, group: int) -> tuple[Any, Any]:
    """The smallest and the largest entry of every group."""
    import numpy as np

    starts = np.arange(0, len(x), group)
    return np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)


def _rounded_to_nearest(compressor: Any) -> bool:
    return not compressor.repaired and compressor.zero == compressor.scale == "float"


def _largest(form: str) -> float:
    return (2.0 - 2.0 ** (1 - _SIGNIFICANT[form])) * 2.0 ** _EXPONENT[form]


def _spans_fit(low: Any, high: Any) -> bool:
    import numpy as np

    with np.errstate(over="ignore"):
        return bool(np.isfinite(high - low).all())


def _is_read(compressor: Any, x: Any) -> bool:
    """Whether levels, off by at most 8 u max|x|, stay below the largest number of the dtype of `x`."""
    if x.dtype == object:
        return True
    u = 2.0 ** -min(_SIGNIFICANT[compressor.metadata], _SIGNIFICANT[x.dtype.name])
    return bool(float(abs(x).max()) <= (1.0 - 8.0 * u) * _largest(x.dtype.name))


def _fits(compressor: Any, x: Any) -> bool:
    """Whether no scale and no zero point is rounded to infinity: from half a spacing above the largest number on."""
    low, high = _ends(x, compressor.group)
    least = (2.0 - 2.0 ** -_SIGNIFICANT[compressor.metadata]) * 2.0 ** _EXPONENT[compressor.metadata]
    scale = (high.astype(float) - low.astype(float)) / compressor.top
    return _spans_fit(low, high) and bool(max(abs(low.astype(float)).max(), scale.max()) < least)
