"""Claims about the words that TopkA, gTopk and SparDL move."""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Code, Eq, Ge, Le, Source, Standing
from commbounds.theory.cost import critical_steps, critical_words
from commbounds.theory.quantities import P, Quantity, index_bits, k
from commbounds.theory.schedules import DENSE_LOWER_BOUND, EXACT, SCHEDULES
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.sparse.terms import (
    AT_LEAST_THREE,
    B_SAG,
    BUSIEST,
    COPIED,
    EVEN_GATHER,
    FEW_FOR_DENSE,
    GTOPK_AT,
    IDLEST,
    ONE_TEAM,
    R_SAG,
    SEVEN_RANKS,
    SHI_GTOPK_2019,
    SPARDL_AT,
    UP_TO_THREE,
    UPDATE_ENTRIES,
    ZHAO_2023,
    kept,
    teams,
)
from commbounds.theory.traffic import CRITICAL_PATH, MOST_RECEIVED, MOST_SENT, STEPS

_topka = EXACT["topk_allgather"]
_gtopk = EXACT["gtopk"]
_spardl = EXACT["spardl"]
_oktopk = SCHEDULES["oktopk"]
_block = sp.Dummy("h", positive=True)


def _in_blocks(schedule: str) -> Any:
    """The words of a schedule with teams, where blocks hold a whole number of entries, floor(k d / P)."""
    words = sp.expand(critical_words(SCHEDULES[schedule]).subs(k, _block * P / teams))
    return sp.collect(words, (_block, kept), sp.factor).subs(_block, sp.floor(k * teams / P))


def _words(name: str, title: str, quantity: Quantity, words: object, source: Source, **more: object) -> Claim:
    """A claim that `quantity` is `words`, whatever the input."""
    return Claim(
        name=f"sparse.{name}",
        title=title,
        relation=Eq(quantity, words),
        source=source,
        **{"axis": "P", **more},  # type: ignore[arg-type]
    )


_ALL_GATHER = derived(
    "Every block of 2k words reaches every other rank once. Around a ring each of P - 1 steps moves one block; in step "
    "j of Bruck's algorithm a rank sends min(2^j, P - 2^j) blocks, which add up to P - 1."
)

TOPKA: tuple[Claim, ...] = (
    _words(
        "topka.received",
        "An all-gather of the ranks' top-k brings 2k(P - 1) words to a rank",
        MOST_RECEIVED,
        critical_words(_topka),
        FOLKLORE.recalled("TopkA, the straightforward sparse all-reduce", _ALL_GATHER.proof),
    ),
    _words(
        "topka.critical_path",
        "The critical path of an all-gather of the ranks' top-k is 2k(P - 1) words",
        CRITICAL_PATH,
        critical_words(_topka),
        FOLKLORE.recalled("TopkA, the straightforward sparse all-reduce", _ALL_GATHER.proof),
        assumes=(EVEN_GATHER,),
        note="Recursive doubling among other numbers of ranks has a longer path: with three ranks 10k words instead of "
        "4k.",
    ),
    Claim(
        name="sparse.topka.above_oktopk",
        title="For P >= 3 TopkA moves at least as much as Ok-Topk's bound allows",
        relation=Ge(CRITICAL_PATH, critical_words(_oktopk)),
        assumes=(AT_LEAST_THREE,),
        source=derived("2k(P - 1) - 6k(P - 1)/P = 2k(P - 1)(P - 3)/P, which is not negative from P = 3 on."),
        tightness=1,
        extremal="three ranks, any input",
        axis="P",
    ),
    Claim(
        name="sparse.topka.below_oktopk",
        title="For P <= 3 TopkA moves at most as much as Ok-Topk's bound allows",
        relation=Le(CRITICAL_PATH, critical_words(_oktopk)),
        assumes=(UP_TO_THREE, EVEN_GATHER),
        source=derived("2k(P - 1) - 6k(P - 1)/P = 2k(P - 1)(P - 3)/P, which is not positive up to P = 3."),
        tightness=1,
        extremal="three ranks, any input",
        axis="k",
    ),
    Claim(
        name="sparse.topka.below_dense",
        title="TopkA moves at most as much as the best dense all-reduce if all ranks together select at most n entries",
        relation=Le(CRITICAL_PATH, DENSE_LOWER_BOUND),
        assumes=(FEW_FOR_DENSE, EVEN_GATHER),
        source=derived("2k(P - 1) <= 2n(P - 1)/P if and only if kP <= n."),
        tightness=1,
        extremal="kP = n, any input",
        axis="k",
        note="At densities far above 1/P a sparse all-gather is worse than no sparsification.",
    ),
)

_MODEL = GTOPK_AT.at("scripts/icdcs2019/communication.py", "599-600")
_TREE = (
    "The binomial tree over any number of ranks has ceil(log2 P) levels: in level j the ranks whose lowest set bit is "
    "j send. Every message is k entries, 2k words, and in every level rank 0 takes part; the broadcast is the same "
    "tree downwards."
)

GTOPK: tuple[Claim, ...] = (
    _words(
        "gtopk.critical_path",
        "gTopk's critical path is 4k ceil(log2 P) words",
        CRITICAL_PATH,
        critical_words(_gtopk),
        SHI_GTOPK_2019.official_code(
            "the cost model of a plot: 4k log2 P words, without a condition on P", _TREE, code=_MODEL
        ),
        note="It holds for any number of ranks and any input. The published code takes floor(log2 P) rounds, which for "
        "other numbers than powers of two leaves ranks out.",
    ),
    _words(
        "gtopk.steps",
        "gTopk takes 2 ceil(log2 P) steps",
        STEPS,
        critical_steps(_gtopk),
        SHI_GTOPK_2019.official_code(
            "the cost model of a plot: 2 log2 P steps, without a condition on P", _TREE, code=_MODEL
        ),
    ),
    _words(
        "gtopk.received",
        "gTopk's busiest receiver, the root, receives 2k ceil(log2 P) words",
        MOST_RECEIVED,
        2 * k * index_bits(P),
        derived(
            _TREE + " A rank other than the root receives from at most all levels but one, and once more at the end."
        ),
    ),
    _words(
        "gtopk.sent",
        "gTopk's busiest sender, the root, sends 2k ceil(log2 P) words",
        MOST_SENT,
        2 * k * index_bits(P),
        derived(_TREE + " A rank other than the root sends once up, and in at most all levels but one down."),
    ),
    Claim(
        name="sparse.gtopk.below_topka",
        title="For P >= 7 gTopk moves at most as much as TopkA",
        relation=Le(CRITICAL_PATH, critical_words(_topka)),
        assumes=(SEVEN_RANKS,),
        source=derived(
            "2 ceil(log2 P) <= P - 1: equality at P = 7 and P = 9, strict at P = 8; from P = 10 on the left grows by "
            "two whenever P doubles, and the right by at least nine. At P = 6 it fails, 6 > 5."
        ),
        tightness=1,
        extremal="seven or nine ranks, any input",
        axis="P",
    ),
    Claim(
        name="sparse.gtopk.above_oktopk",
        title="gTopk moves more than Ok-Topk's bound allows for any number of ranks",
        relation=Ge(CRITICAL_PATH, critical_words(_oktopk)),
        source=derived(
            "4 ceil(log2 P) >= 6 (P - 1)/P: 4 against 3 at P = 2, and at least 8 against less than 6 beyond."
        ),
        tightness=sp.Rational(3, 4),
        extremal="any input on two ranks: 3k against 4k",
        axis="P",
    ),
)

_SCATTER = (
    "With m = P/d ranks in a team, a rank sends min(2^j, m - 2^j) blocks in the step of gap 2^j, m - 1 blocks in all, "
    "and receives as many. A block is always cut down to b = floor(kd/P) entries, zeros among them if necessary: 2b(m "
    "- 1) words. "
)
_GATHER = "The all-gather within the team moves 2b(m - 1) words again. "
_AGREE = "Teams exchange 2b words in each of log2 d steps."


def _spardl_code(lines: str, default: bool | str = True) -> Code:
    return SPARDL_AT.at("allreducer.py", lines, default, COPIED)


SPARDL: tuple[Claim, ...] = (
    _words(
        "spardl.most",
        "No rank of SparDL sends or receives more than 4 floor(k/P)(P - 1) words",
        BUSIEST,
        critical_words(_spardl),
        ZHAO_2023.official_code(
            "the schedule of its sparse reduce-scatter; the count is ours",
            _SCATTER + _GATHER,
            code=_spardl_code("406-452"),
        ),
        assumes=(ONE_TEAM,),
        note="It is a sure bound for any number of ranks and any input, unlike Ok-Topk's; SparDL selects block by "
        "block for it. If k < P it is zero, and nothing is ever sent.",
    ),
    _words(
        "spardl.least",
        "Every rank of SparDL sends and receives at least 4 floor(k/P)(P - 1) words",
        IDLEST,
        critical_words(_spardl),
        ZHAO_2023.official_code(
            "the schedule of its sparse reduce-scatter; the count is ours",
            _SCATTER + _GATHER,
            code=_spardl_code("406-452"),
        ),
        assumes=(ONE_TEAM,),
    ),
    _words(
        "spardl.steps",
        "SparDL takes 2 ceil(log2 P) steps",
        STEPS,
        critical_steps(_spardl),
        ZHAO_2023.official_code(
            "the schedule of its sparse reduce-scatter",
            "Gaps halve from the largest power of two below P to one; Bruck's distances double from one to it.",
            code=_spardl_code("406-452"),
        ),
        assumes=(ONE_TEAM,),
    ),
    Claim(
        name="sparse.spardl.below_even_split",
        title="SparDL moves at most 4k(P - 1)/P words, as Ok-Topk does under perfect balance",
        relation=Le(CRITICAL_PATH, critical_words(SCHEDULES["spardl"])),
        assumes=(ONE_TEAM,),
        source=derived(_SCATTER + _GATHER + "All ranks move the same in every step, and floor(k/P) <= k/P."),
        tightness=1,
        extremal="any input where P divides k",
        axis="k",
    ),
    _words(
        "spardl.entries",
        "SparDL's update has P floor(k/P) entries",
        UPDATE_ENTRIES,
        P * sp.floor(k / P),
        derived("floor(k/P) from each of P blocks; a block of at least floor(n/P) entries has as many."),
        assumes=(ONE_TEAM,),
        axis="k",
    ),
    _words(
        "spardl.k_entries",
        "SparDL's update has k entries",
        UPDATE_ENTRIES,
        k,
        ZHAO_2023.recalled(
            "k entries, as of any top-k method",
            "k - P floor(k/P) entries are lost to rounding.",
            reading="It is read for every k and P.",
        ),
        assumes=(ONE_TEAM,),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparse.spardl.entries",
        extremal="two ranks, k = 1: no entry at all",
        axis="k",
        note="It has up to P - 1 entries fewer. With k < P every update is empty: all entries stay in the residuals "
        "and training does not progress.",
    ),
    *(
        _words(
            f"spardl.r_sag_{which}",
            f"Agreeing by recursive doubling, SparDL's {which.replace('most', 'busiest').replace('least', 'idlest')} "
            "rank moves 2b(2(P/d - 1) + log2 d) words",
            quantity,
            _in_blocks("spardl_rsag"),
            ZHAO_2023.official_code(
                "the schedule with teams; printed with kd/P for its whole part, 2k((2P - 2d)/P + (d/P) log2 d)",
                _SCATTER + _GATHER + _AGREE,
                code=_spardl_code("527-551", "a variant that is commented out"),
            ),
            assumes=(R_SAG,),
            axis="teams",
        )
        for which, quantity in (("most", BUSIEST), ("least", IDLEST))
    ),
    Claim(
        name="sparse.spardl.b_sag",
        title="If teams agree by an all-gather, no rank of SparDL moves more than 4b(P/d - 1) + 2h(d - 1) words",
        relation=Le(BUSIEST, _in_blocks("spardl_bsag")),
        assumes=(B_SAG,),
        source=ZHAO_2023.official_code(
            "the schedule with teams; h adapts there between k/P and kd/P",
            _SCATTER
            + "The teams' all-gather moves 2h(d - 1) words. They agree on at most b entries of a block, fewer only if "
            "h < b and the teams chose the same ones; so the last all-gather moves at most 2b(m - 1).",
            code=_spardl_code("1183-1263"),
        ),
        tightness=1,
        extremal="h = b, any input",
        axis="teams",
        note="It is an equality for h = b, like the other counts.",
    ),
)
