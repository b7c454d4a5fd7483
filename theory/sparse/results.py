"""Claims about what sparse all-reduces return: no mass is lost, and whether the update is the top-k of the sum."""

from commbounds.theory.claim import Claim, Eq, Hypothesis, Source, Standing
from commbounds.theory.hypotheses import EXACT_SUMS
from commbounds.theory.sources import derived
from commbounds.theory.sparse.terms import (
    CONSERVING,
    COPIED,
    GTOPK_AT,
    MASS_DEFECT,
    MISPLACED,
    PUBLISHED_PUTBACK,
    SHI_GTOPK_2019,
    SPARDL_AT,
    TEAMS,
    TWO_RANKS,
    ZHAO_2023,
)

_OWN = "A rank's selected entries go into the update, once; all others stay in its residual."


def _mass(method: str, title: str, source: Source, assumes: tuple[Hypothesis, ...] = (), **more: str) -> Claim:
    return Claim(
        name=f"sparse.{method}",
        title=title,
        relation=Eq(MASS_DEFECT, 0),
        source=source,
        assumes=assumes,
        axis="P",
        **more,  # type: ignore[arg-type]
    )


MASS: tuple[Claim, ...] = (
    _mass("topka.mass", "TopkA loses nothing: the ranks' vectors are the update and the residuals", derived(_OWN)),
    _mass("topkdsa.mass", "TopkDSA loses nothing: the ranks' vectors are the update and the residuals", derived(_OWN)),
    _mass(
        "gaussiank.mass", "Gaussiank loses nothing: the ranks' vectors are the update and the residuals", derived(_OWN)
    ),
    _mass(
        "gtopk.code_mass",
        "gTopk with the put-back of its authors' code loses nothing",
        derived(
            "The index of an entry dropped at a merge may reach the update through another rank; the put-back then "
            "takes the entry as sent.",
            code=GTOPK_AT.at("allreducer.py", "161-163"),
        ),
        (PUBLISHED_PUTBACK,),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparse.gtopk.mass",
        extremal="three ranks, k = 1, (2, 0), (0, 1), (0, 3): the entry 1 of rank 1 is dropped, then cleared, as index "
        "1 comes into the update by rank 2",
        note="On two ranks nothing is lost: entries dropped by the only merge are not in the update.",
    ),
    _mass(
        "gtopk.mass",
        "gTopk loses nothing if a rank keeps the entries that it drops at a merge",
        derived(
            "At an index of the update a contribution is either in it or was dropped at exactly one merge, or not "
            "selected, and is kept there; at any other index every rank keeps its own entry."
        ),
        (CONSERVING,),
    ),
    _mass(
        "spardl.mass",
        "SparDL with its residual collection loses nothing, in any number of teams",
        ZHAO_2023.official_code(
            "its collection of residuals",
            "At an index of the update every contribution is sent on or kept at the rank that holds it; replicas in "
            "several teams hold the same, and one of them keeps it. At any other index every rank keeps its own entry.",
            code=SPARDL_AT.at("allreducer.py", "1010-1275", upstream=COPIED),
        ),
        (TEAMS,),
    ),
)

_MERGES = "A merge that keeps k entries decides before the other ranks' entries are known."

TRUE_TOPK: tuple[Claim, ...] = (
    Claim(
        name="sparse.gtopk.true_topk",
        title="gTopk's update is the top-k of the sum",
        relation=Eq(MISPLACED, 0),
        assumes=(EXACT_SUMS,),
        source=SHI_GTOPK_2019.recalled(
            "the global top-k",
            "A rank sends only its own k largest entries.",
            reading="It is read as an equality with the exact top-k of the sum.",
        ),
        stands=Standing.REFUTED,
        extremal="two ranks, n = 2, k = 1, where an entry that no rank selects is the largest of the sum",
        axis="P",
        note="No method whose ranks send k entries each can satisfy it.",
    ),
    Claim(
        name="sparse.gtopk.topk_of_selections",
        title="gTopk's update is the top-k of the sum of the ranks' top-k",
        relation=Eq(MISPLACED, 0),
        assumes=(EXACT_SUMS,),
        source=SHI_GTOPK_2019.recalled(
            "the global top-k of the ranks' selections",
            _MERGES,
            reading="It is read as an equality with the exact top-k of the selections' sum.",
        ),
        stands=Standing.REFUTED,
        extremal="three ranks, n = 2, k = 1, where one selects the entry that the merge of the other two dropped",
        axis="P",
        note="It holds on two ranks, which have one merge.",
    ),
    Claim(
        name="sparse.gtopk.two_ranks",
        title="On two ranks gTopk's update is the top-k of the sum of their top-k",
        relation=Eq(MISPLACED, 0),
        assumes=(TWO_RANKS, EXACT_SUMS),
        source=derived("The only merge sees all selected entries."),
        axis="n",
    ),
)
