"""Claims about averaging in random groups, with and without failures."""

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.moshpit.terms import (
    ABORTED,
    ANY_PARTITION,
    CUT_GROUPS,
    EQUAL_GROUPS,
    EXCHANGEABLE,
    FACTOR,
    FIRST_SWEEP,
    FIXED_CELLS,
    FREE_LABELS,
    FULL_GRID,
    MOSHPIT_AT,
    NO_FAILURES,
    ONE_ROUND,
    ONE_SWEEP,
    REFILLED_SLOTS,
    REGROUPED,
    RYABININ_2021,
    SEVERAL_PEERS,
    SKIPPED,
    M,
    N,
    blocks,
    dims,
    failure,
    mean_blocks,
    r,
    regrouped,
    rounds,
)
from commbounds.theory.sources import derived

PRINTED = ((r - 1) / N + r / N**2) ** rounds
_GENERAL = (
    "Averaging within groups is a symmetric projection A of rank R, the number of groups. If renaming peers does not "
    "change the law, E A = a I + b J; A 1 = 1 gives a + b N = 1, the trace N (a + b) = E R, so a = (E R - 1)/(N - 1). "
    "D_1 is the quadratic form of A on vectors without mean, and there J vanishes."
)
_PLACE = "theorem on random groups, as recalled: E D_T = ((r-1)/N + r/N^2)^T D_0"

RANDOM_CLAIMS = (
    Claim(
        name="moshpit.random_groups.as_recalled",
        title="r random groups multiply the expected distortion by (r - 1)/N + r/N^2 per round",
        relation=Eq(FACTOR, PRINTED),
        kind=Kind.EXPECTED,
        assumes=(CUT_GROUPS, NO_FAILURES, SEVERAL_PEERS),
        source=RYABININ_2021.recalled(
            _PLACE,
            "Two members are drawn without replacement, so a pair is in group i with probability M_i (M_i - 1)/(N (N - "
            "1)). N^2 in place of N (N - 1) gives the recalled factor.",
            "It is tested as an equality for nonempty groups: the formula is recalled, its relation is not.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="moshpit.random_groups.factor",
        extremal="one group of two peers: no distortion is left, but the formula gives 1/4",
        axis="N",
        note="It is an equality under no reading of random groups: it would need E R = r + (N - r)/N^2 > r groups. It "
        "is an upper bound, too large by the factor 1 + (N - r)/(N^2 (r - 1)) per round: by 1/8 for N = 4, r = 2, and "
        "by 3e-5 for N = 1024, r = 32. The equals sign is quoted from memory only.",
    ),
    Claim(
        name="moshpit.random_groups.factor",
        title="r nonempty random groups multiply the expected distortion by (r - 1)/(N - 1) per round",
        relation=Eq(FACTOR, ((r - 1) / (N - 1)) ** rounds),
        kind=Kind.EXPECTED,
        assumes=(CUT_GROUPS, NO_FAILURES, SEVERAL_PEERS),
        source=derived(_GENERAL + " Here R = r; rounds are independent, so factors multiply."),
        axis="N",
    ),
    Claim(
        name="moshpit.random_groups.upper",
        title="The recalled factor of random groups is an upper bound",
        relation=Le(FACTOR, PRINTED),
        kind=Kind.EXPECTED,
        assumes=(CUT_GROUPS, NO_FAILURES, SEVERAL_PEERS),
        source=RYABININ_2021.recalled(
            _PLACE + ", read as an upper bound",
            "(r-1)/N + r/N^2 - (r-1)/(N-1) = (N - r)/(N^2 (N-1)) >= 0, with equality only for r = N.",
            reading="It is tested as an upper bound.",
        ),
        tightness=1,
        extremal="as many groups as peers: no peer averages, and both factors are 1",
        axis="N",
    ),
    Claim(
        name="moshpit.random_groups.general",
        title="Exchangeable random groups multiply the expected distortion by (E R - 1)/(N - 1)",
        relation=Eq(FACTOR, (blocks - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(EXCHANGEABLE, ONE_ROUND, SEVERAL_PEERS),
        source=derived(_GENERAL),
        axis="blocks",
        note="It holds for every kind of random groups and of failures, if groups are a partition: only the expected "
        "number of groups counts.",
    ),
    Claim(
        name="moshpit.random_groups.labels",
        title="Independent labels, empty groups allowed: r (1 - (1 - 1/r)^N) groups are expected",
        relation=Eq(FACTOR, ((r * (1 - (1 - 1 / r) ** N) - 1) / (N - 1)) ** rounds),
        kind=Kind.EXPECTED,
        assumes=(FREE_LABELS, NO_FAILURES, SEVERAL_PEERS),
        source=derived(_GENERAL + " A label does not occur with probability (1 - 1/r)^N."),
        axis="N",
    ),
    Claim(
        name="moshpit.random_groups.all_partitions",
        title="All set partitions equally likely: the expected number of blocks is B(N+1)/B(N) - 1",
        relation=Eq(FACTOR, ((mean_blocks(N) - 1) / (N - 1)) ** rounds),
        kind=Kind.EXPECTED,
        assumes=(ANY_PARTITION, NO_FAILURES, SEVERAL_PEERS),
        source=derived(
            _GENERAL + " A further element goes into any of the R blocks or into one of its own, so B(N+1) = "
            "sum over partitions of (R + 1)."
        ),
        axis="N",
    ),
    Claim(
        name="moshpit.random_groups.with_replacement",
        title="Slots filled with replacement: the factor of the distortion about the initial mean is r/N",
        relation=Eq(FACTOR, r / N),
        kind=Kind.EXPECTED,
        assumes=(REFILLED_SLOTS, NO_FAILURES, ONE_ROUND, SEVERAL_PEERS),
        source=derived(
            "A group of M_i slots holds the mean of M_i independent draws, which is D_0/M_i from the initial mean in "
            "the mean square; M_i of N slots hold it, and the sum over the groups is r/N."
        ),
        axis="N",
        note="These groups are not a partition: the mean itself moves.",
    ),
    Claim(
        name="moshpit.random_groups.skip",
        title="Random groups of M, failed members keep their vectors: the factor of one round",
        relation=Eq(FACTOR, (N / M * (1 - failure**M) + failure * N - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(EQUAL_GROUPS, SKIPPED, ONE_ROUND, SEVERAL_PEERS),
        source=derived(_GENERAL + " A group has a member present with probability 1 - p^M; p N peers are alone."),
        axis="failure",
    ),
    Claim(
        name="moshpit.random_groups.abort",
        title="Random groups of M that do nothing if a member fails: the factor of one round",
        relation=Eq(FACTOR, (N / M * ((1 - failure) ** M + M * (1 - (1 - failure) ** M)) - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(EQUAL_GROUPS, ABORTED, ONE_ROUND, SEVERAL_PEERS),
        source=derived(_GENERAL + " A group is one block with probability (1 - p)^M, else M blocks."),
        axis="failure",
    ),
    Claim(
        name="moshpit.random_groups.regrouping",
        title="Random groups of M among the peers present: the factor of one round",
        relation=Eq(FACTOR, (regrouped(N, M, failure) + failure * N - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(REGROUPED, ONE_ROUND, SEVERAL_PEERS),
        source=RYABININ_2021.official_code(
            "RandomGroupAverager of the averaging experiments, to compare with",
            _GENERAL + " A peers make floor(A/M) groups, or A groups of one if A < M; p N more are alone.",
            code=MOSHPIT_AT.at("averaging_experiments/averager.py", "69-88"),
        ),
        axis="failure",
    ),
    Claim(
        name="moshpit.trials.random",
        unpinned=(
            (
                "* times the term -failure[*][*]M",
                "draws do not resolve a change of two percent; enumerated groups and failures of few peers test the "
                "same formula in moshpit.random_groups.skip",
            ),
        ),
        title="Counter-based trials of random groups of M: the factor of one round",
        relation=Eq(FACTOR, (N / M * (1 - failure**M) + failure * N - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(EQUAL_GROUPS, SKIPPED, ONE_ROUND, SEVERAL_PEERS),
        source=derived(_GENERAL + " A group has a member present with probability 1 - p^M; p N peers are alone."),
        axis="failure",
    ),
    Claim(
        name="moshpit.trials.fixed",
        unpinned=(
            (
                "* times the term -1",
                "draws do not resolve a change of the factor by at most 1/30; enumerated failures on small grids test "
                "the same formula in moshpit.grid.failures",
            ),
        ),
        title="Counter-based trials of a full grid of fixed cells: the factor of d rounds",
        relation=Eq(FACTOR, (N * (failure + (1 - failure**M) / M) ** dims - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(FULL_GRID, FIXED_CELLS, SKIPPED, ONE_SWEEP, SEVERAL_PEERS),
        source=derived(
            "Inputs in random cells are exchangeable, so that the factor is that of independent inputs: E D_d over E "
            "D_0, h^d - 1/N over 1 - 1/N."
        ),
        axis="failure",
    ),
    Claim(
        name="moshpit.trials.keys",
        title="Counter-based trials of Moshpit all-reduce on a full grid: the factor of t rounds",
        relation=Eq(FACTOR, (N / M**rounds - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(FULL_GRID, NO_FAILURES, FIRST_SWEEP, SEVERAL_PEERS),
        source=derived("It is that of independent inputs, since cells are drawn at random; M^t peers share a mean."),
        axis="rounds",
    ),
)
