"""Errors of quantised all-reduces against what the ranks hold: `quantised_error`, and the claims about it.

An entry that is coded in b bits is read within half a step of its group, the group's range over 2^b - 1. So the error
of an entry's sum is bounded by the ranks' group ranges, or by the magnitudes of their groups' largest entries, of which
a range is twice at most. It is not bounded by the magnitudes of the entry itself: `precision.quantised.own_entries`.
"""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Hypothesis, Le, Standing, for_one_reason
from commbounds.theory.flashcomm.terms import EXACT_METADATA, first_width, second_width, width
from commbounds.theory.quantities import P, Quantity
from commbounds.theory.sources import derived
from commbounds.theory.symbols import expression

QUANTISED = ("twostep", "ring", "oneshot", "hierarchical")
"""Quantised all-reduces of the column flashcomm."""

GROUP_SHARE = Quantity(
    "group_share",
    r"\max_i\frac{\lvert y_i-\sum_p x_{p,i}\rvert}{\sum_p\max_{j\sim i}\lvert x_{p,j}\rvert}",
    "largest error of an entry of the sum, over the sum over the ranks of the largest magnitude in the entry's group",
)
ENTRY_SHARE = Quantity(
    "entry_share",
    r"\max_i\frac{\lvert y_i-\sum_p x_{p,i}\rvert}{\sum_p\lvert x_{p,i}\rvert}",
    "largest error of an entry of the sum, over the sum of its magnitudes; infinite where that is zero and the error "
    "is not",
)
SOME_GROUPS = Hypothesis(
    "some_groups", "Groups have at least two entries, else every entry is sent exactly.", lambda group: group >= 2
)


def quantised_error(schedule: str, bits: Any, ranks: Any = P, *, second_bits: Any = None, of: str = "ranges") -> Any:
    """A bound on an entry's error, over the sum over the ranks of what their groups at the entry are like.

    Parameters
    ----------
    schedule : {"twostep", "ring", "oneshot", "hierarchical"}
        As the claims flashcomm.twostep.error_mixed, flashcomm.ring.error and flashcomm.oneshot.error have them; of the
        hierarchy as derived here.
    bits : int or sympy expression
        Of a code, at least 1.
    ranks : int or sympy expression
        P; only the ring's bound depends on it.
    second_bits : int, sympy expression or None
        Of a code in the two-step's all-gather; as `bits` where it is None.
    of : {"ranges", "magnitudes"}
        Over sum_p (largest entry minus smallest of rank p's group), or sum_p (magnitude of its largest entry).

    Returns
    -------
    sympy expression
        A rational number where `bits` and `ranks` are numbers. In exact arithmetic with scales and zero points stored
        exactly; what their format adds is in the claims flashcomm.groupquant.stored and repaired_rounded.

    Raises
    ------
    ValueError
        An unknown schedule or reference; bits or ranks below 1; second bits for another schedule.

    Notes
    -----
    A quantisation of a partial sum errs by half a step of its group, whose range is at most the sum of the ranges of
    what it is made of, since what is read of a group has its range. The two-step quantises every rank's entry and the
    sum; one shot every rank's; a hierarchy every rank's, its node's sum and the whole sum; a ring P partial sums, of
    which rank p's entry may be in all.

    Examples
    --------
    >>> quantised_error("twostep", 4), quantised_error("ring", 8, 16), quantised_error("ring", 8, 16, of="magnitudes")
    (1/15, 8/255, 16/255)
    """
    if schedule not in QUANTISED:
        raise ValueError(f"schedule must be one of {', '.join(QUANTISED)}, got {schedule!r}")
    if of not in ("ranges", "magnitudes"):
        raise ValueError(f"of must be ranges or magnitudes, got {of!r}")
    if second_bits is not None and schedule != "twostep":
        raise ValueError(f"second_bits is the two-step's, got {second_bits!r} for {schedule}")
    for name, value in (("bits", bits), ("second_bits", second_bits), ("ranks", ranks)):
        if value is not None and (expression(name, value) < 1) == sp.true:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    step = 1 / (sp.Integer(2) ** bits - 1)
    last = step if second_bits is None else 1 / (sp.Integer(2) ** second_bits - 1)
    halves = {"twostep": step + last, "ring": ranks * step, "oneshot": step, "hierarchical": 3 * step}[schedule]
    return halves / 2 if of == "ranges" else halves


_RANGES = (
    "A decoded group has the group's range, the range of a sum is at most the sum of the ranges, and a range is at "
    "most twice the largest magnitude. "
)


def _bounded(name: str, title: str, bound: Any, why: str, **more: Any) -> Claim:
    return Claim(
        name=f"precision.quantised.{name}",
        title=title,
        relation=Le(GROUP_SHARE, bound),
        assumes=(EXACT_METADATA,),
        source=derived(_RANGES + why),
        axis="P",
        **more,
    )


CLAIMS = (
    _bounded(
        "twostep",
        "Two-step: an error is at most 1/(2^b1 - 1) + 1/(2^b2 - 1) of the ranks' largest magnitudes in its group",
        quantised_error("twostep", first_width, second_bits=second_width, of="magnitudes"),
        "Half a step for every rank's entry, half of one for the sum's.",
        tightness=1,
        extremal="ranks (-1.5, 1.5, 0, -1.5) and (-1.5, 1.5, e - 1, -1.5) at two bits, e small",
    ),
    _bounded(
        "oneshot",
        "One-shot: an error is at most 1/(2^b - 1) of the ranks' largest magnitudes in its group",
        quantised_error("oneshot", width, of="magnitudes"),
        "Half a step for every rank's entry.",
        tightness=1,
        extremal="all ranks hold (-1.5, 1.5, -1, -0.5) at two bits: -1 lies half-way between two levels",
    ),
    _bounded(
        "ring",
        "Ring: an error is at most P/(2^b - 1) of the ranks' largest magnitudes in its group",
        quantised_error("ring", width, of="magnitudes"),
        "The rank where the block begins has its entry in all P partial sums that are quantised.",
        note="It is approached if that rank's entries are large, all others' are small, and every partial sum falls "
        "half-way between two levels: 0.99 of it at eight bits.",
    ),
    _bounded(
        "hierarchical",
        "Hierarchy: an error is at most 3/(2^b - 1) of the ranks' largest magnitudes in its group",
        quantised_error("hierarchical", width, of="magnitudes"),
        "Half a step for every rank's entry, for its node's sum, and for the whole sum.",
        note="It holds for all numbers of nodes and ranks.",
        unpinned=for_one_reason(
            "loose by nature: at few bits, where the 1 matters, later ranks add half steps to bring every sum half-way "
            "between two levels, which are a large part of the magnitudes",
            "without the term -1",
            "0.9 times the term -1",
        ),
    ),
    Claim(
        name="precision.quantised.own_entries",
        title="Two-step: an error is at most 1/(2^b1 - 1) + 1/(2^b2 - 1) of its own magnitudes",
        relation=Le(ENTRY_SHARE, quantised_error("twostep", first_width, second_bits=second_width, of="magnitudes")),
        assumes=(EXACT_METADATA, SOME_GROUPS),
        source=derived("Refuted by an entry of zero, or nearly zero, in a group that is not constant."),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="a group (-1.5, 1.5, e, 0) with e small",
        axis="P",
        note="Its groups' largest magnitudes bound it: precision.quantised.twostep. So no relative tolerance per entry "
        "can test a quantised all-reduce.",
    ),
)
"""In the order of the book."""
