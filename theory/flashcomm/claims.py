"""Flash Communication: quantised all-reduce: the claims."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Kind, Le, Standing
from commbounds.theory.flashcomm import planes, quantiser
from commbounds.theory.flashcomm import terms as t
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.quantities import BIAS, P, Quantity
from commbounds.theory.sources import derived
from commbounds.theory.traffic import STEPS

_T, _R, _O, _H = ("flashcomm.twostep.", "flashcomm.ring.", "flashcomm.oneshot.", "flashcomm.hierarchical.")
_INDEPENDENT = "the errors of different ranks and stages are independent, of equal size and add up in squares"

_ERRORS = (
    Claim(
        name=_T + "error",
        title="The two-step sum's error is at most half the ranks' scales and half the sum's",
        relation=Le(t.SUM_ERROR, (t.scales + t.sum_scale) / 2),
        assumes=(t.EXACT_METADATA,),
        source=derived("Half a scale for every rank's entry, and half the scale of the sum that the owner quantises."),
        tightness=1,
        extremal="ranks (0, 3, 1.5, 0) and (0, 3, 0.5 + e, 0) at two bits, e small",
        axis="P",
    ),
    Claim(
        name=_T + "error_by_scales",
        title="The two-step sum's error is at most the sum of the ranks' scales",
        relation=Le(t.SUM_ERROR, t.scales),
        assumes=(t.EXACT_METADATA, t.ONE_QUANTISER),
        source=derived(
            "A decoded group has the group's range, and the range of a sum is at most the sum of the ranges: the scale "
            "of the sum is at most the sum of the scales."
        ),
        tightness=1,
        extremal="ranks (0, 3, 1.5, 0) and (0, 3, 0.5 + e, 0) at two bits, e small",
        axis="P",
    ),
    Claim(
        name=_T + "error_mixed",
        title="With b1 bits in the all-to-all and b2 in the all-gather the error is at most half the ranges over both",
        relation=Le(t.SUM_ERROR, t.ranges / 2 * (1 / (2**t.first_width - 1) + 1 / (2**t.second_width - 1))),
        assumes=(t.EXACT_METADATA, t.ONE_GROUPING),
        source=derived("Scales are ranges over 2^b - 1, and the range of the sum is at most the sum of the ranges."),
        tightness=1,
        extremal="ranks (0, 3, 1.5, 0) and (0, 3, 0.5 + e, 0) at two bits, e small",
        axis="P",
    ),
    Claim(
        name=_R + "error",
        title="The quantised ring's error is at most half the scales of its P partial sums",
        relation=Le(t.SUM_ERROR, t.ring_scales / 2),
        assumes=(t.EXACT_METADATA,),
        source=derived(
            "The h-th of P quantisations is of a sum of h ranks' terms, whose range is at most the sum of theirs: "
            "decoding keeps the range, and adding a rank adds at most its own."
        ),
        axis="P",
        note="With equal scales s it is P (P + 1)/4 s against P s for the two-step: (P + 1)/4 times as much.",
    ),
    Claim(
        name=_O + "error",
        title="The one-shot sum's error is at most half the ranks' scales",
        relation=Le(t.SUM_ERROR, t.scales / 2),
        assumes=(t.EXACT_METADATA,),
        source=derived("Half a scale for every rank's entry, and sums are not quantised again."),
        tightness=1,
        extremal="all ranks hold an entry half-way between two levels, and all round the same way",
        axis="P",
    ),
    Claim(
        name=_T + "unbiased",
        title="With stochastic rounding in both stages the two-step sum is unbiased",
        relation=Eq(BIAS, 0),
        kind=Kind.EXPECTED,
        assumes=(t.EXACT_METADATA,),
        source=derived("Given the decoded terms, the owner's code is unbiased for their sum; every term is unbiased."),
        axis="P",
    ),
)


def _rms(name: str, title: str, c: sp.Expr, why: str, *more: Hypothesis) -> Claim:
    return Claim(
        name=name,
        title=title,
        relation=Eq(t.RMS_RATIO, c),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN, *more),
        source=derived(why),
        axis="P",
        note="It is approximate: tests allow 5 % at up to 16 ranks, four and eight bits, groups of 128.",
    )


_RMS = (
    _rms(
        _T + "rms",
        "The two-step error is sqrt(2 P) times that of one quantisation",
        sp.sqrt(2 * P),
        f"P quantisations of size e, and one of a sum whose scale is sqrt(P) times as large: {_INDEPENDENT}.",
        t.OWN_BLOCK_CODED,
        t.SUMS_CODED,
    ),
    _rms(
        _R + "rms",
        "The ring's error is sqrt(P (P + 1)/2) times that of one quantisation",
        sp.sqrt(P * (P + 1) / 2),
        f"The h-th quantisation is of a sum of h terms, sqrt(h) times as large; 1 + ... + P = P (P + 1)/2: "
        f"{_INDEPENDENT}.",
    ),
    _rms(
        _O + "rms",
        "The one-shot error is sqrt(P) times that of one quantisation",
        sp.sqrt(P),
        f"P quantisations of size e: {_INDEPENDENT}.",
    ),
    Claim(
        name=_R + "never_better",
        title="The two-step error is smaller than the ring's for every number of ranks",
        relation=Ge(t.RING_OVER_TWOSTEP, 1),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN, t.OWN_BLOCK_CODED),
        source=t.FLASH_2024.second_hand(
            "fewer quantisations, hence smaller errors",
            "sqrt((P + 1)/4) is below 1 for P = 2: there the ring quantises a sum of one and a sum of two, the "
            "two-step two of one and a sum of two.",
            reading="It is read for every number of ranks.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_R + "never_better_own_kept",
        tightness=2 / sp.sqrt(3),
        extremal="P = 2",
        axis="P",
        note="At P = 2 the ring's error is 0.87 of the two-step's; at P = 3 the two laws are equal, and for P >= 4 the "
        "ring's is larger. This needs owners that quantise their own block too, as this project's do: otherwise the "
        "two-step is never worse.",
    ),
    Claim(
        name=_R + "never_better_own_kept",
        title="If owners add their own block unquantised, the two-step error is at most the ring's",
        relation=Ge(t.RING_OVER_TWOSTEP, 1),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN, t.OWN_BLOCK_KEPT),
        source=derived(
            "P - 1 quantisations of size e, and one of a sum sqrt(P) times as large: sqrt(2 P - 1), at most "
            f"sqrt(P (P + 1)/2) as (P - 1)(P - 2) >= 0: {_INDEPENDENT}."
        ),
        axis="P",
        note="At one and two ranks both make the same errors.",
    ),
    Claim(
        name=_T + "mixed_widths",
        title="Stages of four and eight bits have 2.97 times the error of six and six, for the same bytes",
        relation=Eq(t.MIXED_RATIO, sp.sqrt((sp.Rational(1, 15**2) + sp.Rational(1, 255**2)) / sp.Rational(2, 63**2))),
        kind=Kind.APPROXIMATE,
        assumes=(t.GAUSSIAN, t.MIXED_WIDTHS, t.SUMS_CODED),
        source=t.FLASH_2024.second_hand(
            "its INT6 is reported to be four bits in the first stage and eight in the second",
            "Both stages contribute P e(b)^2, with e(b) proportional to 1/(2^b - 1).",
        ),
        axis="P",
        note="It holds in either order. Codes of six bits in both stages need bit splitting, which the second version "
        "adds.",
    ),
)


def _agreement(name: str, title: str, assumes: tuple[Hypothesis, ...], why: str, refuted: str = "") -> Claim:
    return Claim(
        name=name,
        title=title,
        relation=Eq(t.DISAGREEING, 0),
        assumes=assumes,
        source=derived(why),
        stands=Standing.REFUTED if refuted else Standing.HOLDS,
        extremal=refuted,
        note=why if refuted else "",
        axis="P",
    )


_AGREEMENT = (
    _agreement(
        _T + "agreement",
        "All ranks of the two-step end with the same bits",
        (t.OWNER_READS,),
        "Every rank, the owner included, reads a block from the same bytes.",
    ),
    _agreement(
        _T + "agreement_of_owners",
        "All ranks of the two-step end with the same bits when owners keep their sums",
        (t.OWNER_KEEPS,),
        "An owner keeps its sum unquantised; the others hold it quantised.",
        "a sum that lies on no level",
    ),
    _agreement(
        _R + "agreement",
        "All ranks of the quantised ring end with the same bits",
        (t.OWNER_READS,),
        "The all-gather forwards the bytes of one quantisation.",
    ),
    _agreement(
        _H + "agreement",
        "All ranks of the hierarchy end with the same bits",
        (t.EQUAL_NODES, t.SIDES_READ),
        "Both sides add the same bytes in the same order, and blocks are read from the same bytes within a node.",
    ),
    _agreement(
        _H + "agreement_of_sides",
        "All ranks of the hierarchy end with the same bits when a side keeps its own half",
        (t.EQUAL_NODES, t.SIDES_KEEP),
        "Each side adds its unquantised sum to the other's quantised one.",
        "a half's sum that lies on no level",
    ),
)


def _bytes(
    name: str, title: str, quantity: Quantity, value: sp.Expr, counted: str, assumes: tuple[Hypothesis, ...]
) -> Claim:
    return Claim(
        name=name,
        title=title,
        relation=Eq(quantity, value),
        assumes=assumes,
        source=derived(f"Counted: {counted}.", "counted from the messages"),
        axis="P",
    )


_SHARE = 2 * (P - 1) / P * t.coded_bytes

_COSTS = (
    _bytes(
        _T + "bytes",
        "Bytes of the two-step",
        t.BYTES_SENT,
        _SHARE,
        "P - 1 blocks out, one block P - 1 times",
        (t.FULL_BLOCKS,),
    ),
    _bytes(
        _R + "bytes",
        "Bytes of the quantised ring",
        t.BYTES_SENT,
        _SHARE,
        "a block in each of 2 (P - 1) steps",
        (t.FULL_BLOCKS,),
    ),
    _bytes(
        _O + "bytes",
        "Bytes of the one-shot",
        t.BYTES_SENT,
        (P - 1) * t.coded_bytes,
        "the whole vector to P - 1 ranks",
        (),
    ),
    _bytes(
        _T + "steps",
        "Steps of the two-step",
        STEPS,
        sp.Piecewise((0, sp.Eq(P, 1)), (2, True)),
        "an all-to-all and an all-gather",
        (),
    ),
    _bytes(_R + "steps", "Steps of the quantised ring", STEPS, 2 * (P - 1), "P - 1 to reduce, P - 1 to gather", ()),
    _bytes(
        _T + "bridge",
        "The two-step sends P/2 vectors over a bridge, each way",
        t.BRIDGE_BYTES,
        P * t.coded_bytes / 2,
        "(P/2)^2 blocks of 1/P vector, twice",
        (t.FULL_BLOCKS, t.TWO_HALVES),
    ),
    _bytes(
        _R + "bridge",
        "The ring sends 2 (P - 1)/P vectors over a bridge, each way",
        t.BRIDGE_BYTES,
        _SHARE,
        "one of the links that cross in each direction, a block in every step",
        (t.FULL_BLOCKS, t.TWO_HALVES),
    ),
    _bytes(
        _H + "bridge",
        "The hierarchy sends one vector over the bridge, each way",
        t.BRIDGE_BYTES,
        t.coded_bytes,
        "P/2 ranks exchange a block of 2/P vector each",
        (t.FULL_BLOCKS, t.TWO_NODES),
    ),
)

_RANKS = rank_by_rank(  # of which ranks with callers of their own send the bytes of messages
    "flashcomm",
    "twostep_quantised_allreduce",
    "ring_quantised_allreduce",
    "oneshot_quantised_allreduce",
    "hierarchical_quantised_allreduce",
)

DEFINITIONS = defined(
    "flashcomm",
    {
        "GroupQuantizer": (
            "Written from the fact sheet of arXiv:2412.04964 and 2508.03760 and the docstring, with every option: "
            "codes, planes, scales, zero points and spikes as stored, one entry at a time in the vector's dtype; "
            "formats are rounded in rational arithmetic."
        ),
        "StochasticGroupQuantizer": (
            "Written from the same, with a uniform for every entry: the upper neighbouring level with the fraction as "
            "its probability."
        ),
        "packed": (
            "Written from the docstring: the digits of every code, cut into planes and packed from the lowest bit up."
        ),
        "twostep_quantised_allreduce": (
            "Written from the steps of the fact sheet of arXiv:2412.04964, reconstructed: owners add what they read in "
            "rank order, every rank reads the same bytes; and the messages and their bytes in every step."
        ),
        "ring_quantised_allreduce": (
            "Written from the docstring: a block goes round, coded at every hop, and its sum once more; bytes by step."
        ),
        "oneshot_quantised_allreduce": (
            "Written from the docstring: whole vectors are coded, gathered and added in rank order; bytes by step."
        ),
        "hierarchical_quantised_allreduce": (
            "Written from the fact sheet of arXiv:2412.04964 and the docstring: sums within nodes, across, and back; "
            "bytes by step."
        ),
    },
)

CLAIMS: tuple[Claim, ...] = (
    *quantiser.CLAIMS,
    *planes.CLAIMS,
    *_ERRORS,
    *_RMS,
    *_AGREEMENT,
    *_COSTS,
    *_RANKS,
    *DEFINITIONS,
)
