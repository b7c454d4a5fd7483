"""How far an all-reduce that sends codes of a few bits may be off: `coded_bound`."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from commbounds.theory.precision.formats import FORMATS, format_named

QUANTISED: Mapping[str, str] = MappingProxyType(
    {"two_step": "flashcomm.twostep.error_mixed", "one_shot": "flashcomm.oneshot.error", "ring": "flashcomm.ring.error"}
)
"""Schedules that send codes of a few bits, and the claim that bounds those above a group's smallest entry."""
_SUM_RANGE = "sum over ranks of max - min of the entry's group"
_SUM_LARGEST = "sum over ranks of the largest |x| of the entry's group"


class CodedBound(NamedTuple):
    """|result - exact| <= bound * reference, with exact arithmetic besides the codes.

    Parameters
    ----------
    schedule, dtype : str
        Of which all-reduce, and what is sent, in words.
    bound : Fraction
        Times the reference.
    reference : str
        What it is relative to.
    reason : (str, str)
        How often is coded, and what is taken as exact.
    claims : tuple of str
        What it rests on, in the book.
    """

    schedule: str
    dtype: str
    bound: Fraction
    reference: str
    reason: tuple[str, str]
    claims: tuple[str, ...]


def coded_bound(P: int, schedule: str, bits: int, codes: str, scale: str | None) -> CodedBound:
    """The bound of a quantised all-reduce; parameters and errors as those of `tolerance`."""
    from commbounds.theory.flashcomm.claims import CLAIMS

    if schedule not in QUANTISED:
        raise ValueError(f"schedule of codes must be one of {', '.join(QUANTISED)}, got {schedule!r}")
    if bits > 16:
        raise ValueError(f"bits must be in [1, 16], got {bits}")
    name = QUANTISED[schedule]
    stages = {"two_step": "once at its rank and once in the sum", "one_shot": "once", "ring": f"in up to {P} sums"}
    if codes != "asymmetric" or scale is not None:
        once = _by_largest(codes, bits, scale)
        return CodedBound(
            schedule,
            f"{codes} codes of {bits} bits",
            # a sum is coded that is off by what was coded before
            (1 + once) ** {"two_step": 2, "one_shot": 1, "ring": P}[schedule] - 1,
            _SUM_LARGEST,
            (
                f"A term is coded {stages[schedule]}, by up to {float(once):.3g} of its group's largest magnitude.",
                f"{'Sums' if scale else 'Scales and sums'} are taken as exact: what they are rounded comes on top.",
            ),
            (),
        )
    claim = next(claim for claim in CLAIMS if claim.name == name)
    step = Fraction(1, 2**bits - 1)
    # scales are ranges over 2^b - 1; the first h ranks' scales add up to no more than all ranks', for h = 1 .. P
    bound = Fraction(claim.bound(ranges=1, first_width=bits, second_width=bits, scales=step, ring_scales=P * step))
    return CodedBound(
        schedule,
        f"codes of {bits} bits",
        bound,
        _SUM_RANGE,
        (
            f"A term is coded {stages[schedule]}, by up to half a step of (max - min)/(2^{bits} - 1) of its group.",
            "Scales, zero points and sums are taken as exact: what they are rounded comes on top.",
        ),
        (name,),
    )


def _by_largest(codes: str, bits: int, scale: str | None) -> Fraction:
    """What one coding may be off, over the largest magnitude of the group."""
    if codes == "asymmetric":  # a range is twice the largest magnitude at most
        near = Fraction(1, 2**bits - 1)
    elif codes == "symmetric" and bits > 1:
        near = Fraction(1, 2 ** (bits - 1) - 1) / 2
    elif codes == "signed" and bits > 1:
        near = Fraction(1, 2 ** (bits - 1))  # a whole step: of the largest, where its sign has no code
    elif codes in ("float8_e4m3fn", "float8_e5m2") and bits == 8:
        near = FORMATS[codes].unit
    else:
        raise ValueError(
            f"codes must be asymmetric, symmetric, signed, or eight bits of a float8 format, got {codes!r}, {bits}"
        )
    if scale == "e8m0":
        return (
            2 * near if codes in ("asymmetric", "symmetric") else near
        )  # what is clipped, and a float, is no farther off
    # a scale that is rounded up has longer steps, one that is rounded down leaves the largest beyond the last code
    off = Fraction(0) if scale is None else format_named(scale).unit
    # a smallest entry that is rounded is off too, and the range that is left is twice the largest magnitude
    return near * (1 + off) + off * (3 if codes == "asymmetric" else 1)
