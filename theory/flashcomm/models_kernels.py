"""What certificates prove about kernels of Flash Communication that were run on all of their inputs, and bit planes."""

from typing import Any

import sympy as sp

from commbounds.theory.flashcomm.terms import width
from commbounds.theory.model import Goal, Model
from commbounds.theory.quantities import n


def _lossless(bound: Any) -> tuple[Goal, ...]:
    """Of a byte, place by place: `place` is 2 to its number, `low` what the bits before it make, `high` the others."""
    bit, place, low, high = sp.symbols("bit place low high", nonnegative=True)
    sizes = {"bits before": place - 1 - low, "place": place, "bit": bit, "1 - bit": 1 - bit}
    left = low + place * bit + 2 * place * high - place * (bit + 2 * high)
    return (
        Goal("no bit", sp.S.One - 1 - bound, equal=True),
        Goal("one bit more", 2 * place - 1 - (low + place * bit), given=sizes),
        Goal("read, no less", left, given={"low": low}),
        Goal("read, less than a place more", place - 1 - left, given=sizes),
        Goal("every code at every place", bound, equal=True, run="bitplanes"),
    )


def _order(bound: Any) -> tuple[Goal, ...]:
    return (Goal("every code of every float16", bound, equal=True, run="groupquant.float16"),)


def _bytes(bound: Any, b: int) -> tuple[Goal, ...]:
    planes = {1: (1,), 2: (2,), 3: (2, 1), 4: (4,), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1), 8: (8,)}[b]
    return (Goal("bytes", bound.subs(width, b) - sum(n * w / 8 for w in planes), equal=True),)


KERNELS = (
    Model(
        claim="flashcomm.bitplanes.lossless",
        words="A byte of a plane is made by OR from the bits of at most eight codes, each at its own place, which is "
        "their sum. By induction the bits before a place make less than it. So the byte over the place, rounded down, "
        "is the bit there and twice those behind: its remainder by two is the bit. The planes of a code are bits of "
        "its own. The kernel packs and reads nine codes, one of them anything, at any place, the others any other "
        "number.",
        scope="every vector of codes of 1 to 8 bits (every code at every place was run among all others when the "
        "certificate was made, a check runs every 1021st case)",
        goals=_lossless,
    ),
    Model(
        claim="flashcomm.bitplanes.bytes",
        words="A plane of w bits of n codes takes n w/8 bytes, a whole number where 8 divides n; the planes of a code "
        "of b bits are those of the implementation's table.",
        scope="every n that 8 divides, b = {b}",
        goals=_bytes,
        instances=tuple({"b": b} for b in range(1, 9)),
    ),
    Model(
        claim="flashcomm.groupquant.order",
        words="The kernel, at every pair of a finite float16 and a positive finite float16 scale: the code is the "
        "integer nearest to the quotient, halves to even, within [0, 255]. That does not decrease with the entry, and "
        "what is read, code times scale, is exact in float32.",
        scope="groups of float16 numbers the smallest of which is 0, in float32, at 8 bits, scales stored in float16 "
        "(all 2^32 pairs were run when the certificate was made, a check runs every 1021st scale)",
        goals=_order,
    ),
)
