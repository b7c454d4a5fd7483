"""Schedules of the sparse collectives; an entry is two words, its index and its value."""

from dataclasses import replace
from typing import Any

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Source
from commbounds.theory.cost import Cost, Phase, Schedule, log2, t
from commbounds.theory.dense.schedules import doublings
from commbounds.theory.dense.terms import POWER_OF_TWO_RANKS, ceil_log2
from commbounds.theory.quantities import P, index_bits, k, n
from commbounds.theory.sources import Work, derived
from commbounds.theory.symbols import Symbol

teams = Symbol("teams", "d", 1, integer=True, positive=True)
"""Teams of SparDL: d in its paper."""
kept = Symbol("kept", "h", 2, integer=True, positive=True)
"""Entries that SparDL's B-SAG keeps of a block."""
_swaps = sp.Symbol("swaps", integer=True, nonnegative=True)

_OKTOPK = Work("S. Li, T. Hoefler, 2022, Near-optimal sparse allreduce for distributed deep learning, arXiv:2201.07598")
_SPARDL = Work("SparDL: Distributed deep learning training with efficient sparse communication")
_LOG = ((doublings, log2(P)),)
_SHARES = Eq(sp.Mod(k, P), 0)
# conditions of schedules, in tuples: the book's are those that claims make
_EXACTLY_K = (Hypothesis("exactly_k", "Every rank selects exactly k entries."),)
_EVEN = (
    Hypothesis("even_regions_and_supports", "P divides k, and every region has k/P entries of every rank.", _SHARES),
)

_SPLIT = Phase("split", P - 1, 2 * k / P)
_GATHER_OWN = Phase("all-gather", doublings, 2**t * 2 * k)
_GATHER_SHARES = Phase("all-gather", doublings, 2**t * 2 * k / P)
_SIZES = Phase("sizes", doublings, 0)
_BALANCE = Phase("balance", P, 2 * k / P * (P - 1) / P)


def _bags(members: Any, block: Any, name: str) -> tuple[Phase, Phase]:
    """1, 2, 4, ... blocks, and in one step what is left of `members` - 1; `doublings` steps in all."""
    return (
        Phase(name, doublings - 1, 2**t * block),
        Phase(f"{name}, rest", 1, (members - 2 ** (doublings - 1)) * block),
    )


_MEMBERS = P / teams
_TEAM_BLOCK = 2 * k * teams / P
_TEAM = (*_bags(_MEMBERS, _TEAM_BLOCK, "reduce-scatter"), *_bags(_MEMBERS, _TEAM_BLOCK, "all-gather"))
_TEAM_SIZE = (doublings, index_bits(_MEMBERS))
_TEAMS = Eq(sp.Mod(P, teams), 0) & Eq(sp.Mod(k * teams, P), 0)
_TEAM_WORDS = 2 * k * (2 * P - 2 * teams) / P

PRINTED = (
    Schedule(
        "topk_allgather",
        "TopkA: all-gather of every rank's k entries",
        (_GATHER_OWN,),
        _OKTOPK.recalled("its table of costs, row TopkA"),
        (POWER_OF_TWO_RANKS, *_EXACTLY_K),
        _LOG,
        Cost(log2(P), 2 * k * (P - 1)),
        "sparse",
    ),
    Schedule(
        "topk_dsa",
        "TopkDSA, lower end: identical supports, spread evenly",
        (_SPLIT, _SIZES, _GATHER_SHARES),
        _OKTOPK.recalled("its table of costs, row TopkDSA, lower end"),
        (POWER_OF_TWO_RANKS, *_EVEN),
        _LOG,
        Cost(P + 2 * log2(P), 4 * k * (P - 1) / P),
        "sparse",
        "lower",
        "The printed latency rounds the P - 1 messages of the split up to P; words of the sizes are not counted.",
    ),
    Schedule(
        "topk_dsa_upper",
        "TopkDSA, printed upper end: balanced regions that fill up",
        (_SPLIT, _SIZES, Phase("dense all-gather", doublings, 2**t * n / P)),
        _OKTOPK.recalled("its table of costs, row TopkDSA, upper end"),
        (POWER_OF_TWO_RANKS, *_EVEN),
        _LOG,
        Cost(P + 2 * log2(P), (2 * k + n) * (P - 1) / P),
        "sparse",
        "upper",
        "No upper bound for every input: one region may receive nearly all entries.",
    ),
    Schedule(
        "gtopk",
        "gTopk: merges up a binomial tree, the result down again",
        (Phase("reduce", doublings, 2 * k), Phase("broadcast", doublings, 2 * k)),
        _OKTOPK.recalled("its table of costs, row gTopk"),
        (POWER_OF_TWO_RANKS, *_EXACTLY_K),
        _LOG,
        Cost(2 * log2(P), 4 * k * log2(P)),
        "sparse",
    ),
    Schedule(
        "gaussiank",
        "Gaussiank: all-gather of what passes an estimated threshold, k entries on every rank",
        (_SIZES, _GATHER_OWN),
        _OKTOPK.recalled("its table of costs, row Gaussiank"),
        (POWER_OF_TWO_RANKS, *_EXACTLY_K),
        _LOG,
        Cost(2 * log2(P), 2 * k * (P - 1)),
        "sparse",
        note="Words of the sizes are not counted.",
    ),
    Schedule(
        "oktopk",
        "Ok-Topk, upper end: balanced split, one rank with all results before the balancing",
        (_SPLIT, _SIZES, _BALANCE, _GATHER_SHARES),
        _OKTOPK.second_hand("its equations 1 to 3, as a public summary gives them"),
        (POWER_OF_TWO_RANKS, *_EVEN),
        _LOG,
        Cost(2 * P + 2 * log2(P), 6 * k * (P - 1) / P),
        "sparse",
        "upper",
        "The printed latency rounds the P - 1 messages of the split up to P. The balancing counts as P messages that "
        "together take k - k/P entries from the rank that owns all. Words of the sizes are not counted.",
    ),
    Schedule(
        "oktopk_balanced",
        "Ok-Topk if the balancing moves nothing",
        (_SPLIT, _SIZES, Phase("balance", P, 0), _GATHER_SHARES),
        derived("The upper end without the words of the balancing."),
        (POWER_OF_TWO_RANKS, *_EVEN),
        _LOG,
        kind="sparse",
        end="lower",
    ),
    Schedule(
        "oktopk_lower",
        "Ok-Topk, lower end: every rank's entries lie in its own region",
        (Phase("split", P - 1, 0), _SIZES, Phase("balance", P, 0), _GATHER_SHARES),
        _OKTOPK.recalled("its table of costs, row Ok-Topk, lower end"),
        (POWER_OF_TWO_RANKS,),
        _LOG,
        Cost(2 * P + 2 * log2(P), 2 * k * (P - 1) / P),
        "sparse",
        "lower",
        "The split moves nothing, and every rank owns k/P results.",
    ),
    Schedule(
        "spardl",
        "SparDL, one team: sparse reduce-scatter in bags of blocks, then Bruck's all-gather",
        (*_bags(P, 2 * k / P, "reduce-scatter"), *_bags(P, 2 * k / P, "all-gather")),
        _SPARDL.official_code("schedule read in its code; sum derived"),
        (Hypothesis("shares_divide", "P divides k, and no block has fewer than k/P entries.", _SHARES),),
        ((doublings, ceil_log2),),
        Cost(2 * ceil_log2, 4 * k * (P - 1) / P),
        "sparse",
    ),
    Schedule(
        "spardl_rsag",
        "SparDL, d teams joined by recursive doubling (R-SAG)",
        (*_TEAM, Phase("join teams", _swaps, _TEAM_BLOCK)),
        _SPARDL.official_code("schedule read in its code; sum derived"),
        (
            Hypothesis(
                "teams_by_doubling",
                "d is a power of two that divides P, and P/d divides k.",
                _TEAMS & Eq(2 ** index_bits(teams), teams),
            ),
        ),
        (_TEAM_SIZE, (_swaps, log2(teams))),
        Cost(2 * index_bits(_MEMBERS) + log2(teams), _TEAM_WORDS + 2 * k * teams / P * log2(teams)),
        "sparse",
    ),
    Schedule(
        "spardl_bsag",
        "SparDL, d teams joined by Bruck's all-gather (B-SAG)",
        (
            *_TEAM,
            Phase("join teams", _swaps - 1, 2**t * 2 * kept),
            Phase("join teams, rest", 1, (teams - 2 ** (_swaps - 1)) * 2 * kept),
        ),
        _SPARDL.official_code("schedule read in its code; sum derived"),
        (Hypothesis("teams_by_bruck", "d divides P, and P/d divides k; h entries of every block are kept.", _TEAMS),),
        (_TEAM_SIZE, (_swaps, index_bits(teams))),
        Cost(2 * index_bits(_MEMBERS) + index_bits(teams), _TEAM_WORDS + 2 * (teams - 1) * kept),
        "sparse",
        "upper",
        "Where teams choose the same indices, fewer than k d/P entries of a block are left for the last all-gather. "
        "Exact where h = k d/P.",
    ),
)
"""As printed; of the data-dependent ones the ends of the printed range."""

_CEIL = ((doublings, ceil_log2),)


def _by_bruck(schedule: Schedule, source: Source) -> Schedule:
    """The same with Bruck's all-gather in place of recursive doubling, for any number of ranks."""
    phases: list[Phase] = []
    for phase in schedule.phases:
        grows = phase.steps == doublings and phase.words.has(2**t)
        phases += _bags(P, phase.words / 2**t, phase.name) if grows else [phase]
    return replace(
        schedule,
        phases=tuple(phases),
        source=source,
        assumes=tuple(h for h in schedule.assumes if h is not POWER_OF_TWO_RANKS),
        where=_CEIL,
        printed=None,
    )


_BRUCK = derived("Bruck's all-gather moves 1, 2, 4, ... equal blocks, P - 1 in all, in ceil(log2 P) steps.")
_TREE = derived("A binomial tree of P ranks has ceil(log2 P) levels; each moves one message of k entries up and down.")

EXACT = (
    *(
        _by_bruck(schedule, _TREE if schedule.name == "gtopk" else _BRUCK)
        for schedule in PRINTED
        if schedule.where == _LOG
    ),
    Schedule(
        "spardl",
        "SparDL, one team",
        (*_bags(P, 2 * sp.floor(k / P), "reduce-scatter"), *_bags(P, 2 * sp.floor(k / P), "all-gather")),
        derived("Every block that is sent holds floor(k/P) entries, and the bags of a half hold P - 1 blocks."),
        (Hypothesis("blocks_suffice", "No block has fewer than floor(k/P) entries."),),
        _CEIL,
        kind="sparse",
    ),
)
"""For every P; of the data-dependent ones the same ends of the range."""
