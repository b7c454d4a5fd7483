"""Claims about Moshpit all-reduce on grids, full or not, about the mean, and about what is sent."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.moshpit.terms import (
    CUT_GROUPS,
    DISTORTION,
    DIVISIBLE,
    FIRST_SWEEP,
    FIXED_CELLS,
    FULL_GRID,
    GROUP_ERROR,
    IID_DISTORTION,
    IID_FACTOR,
    KEYS_OF_D_DIGITS,
    KEYS_ONE_SHORT,
    MEAN_SHIFT,
    NO_FAILURES,
    ONE_ROUND,
    ONE_ROUND_MORE,
    ONE_SWEEP,
    RANDOM_CELLS,
    RANDOM_SURVIVORS,
    RECTANGULAR,
    REPEATS,
    RYABININ_2021,
    SEVERAL_PEERS,
    SKIPPED,
    M,
    N,
    deaf,
    dims,
    failure,
    mean_overlap,
    r,
    rounds,
    spread,
    survivors,
)
from commbounds.theory.quantities import n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import CRITICAL_PATH, MESSAGES, MOST_SENT, STEPS

_EXACTNESS = (
    "After round j a peer holds the mean of the M^j peers that agree with it on digits j, ..., d-1 of the key at the "
    "start: groups of round j+1 share the digits j+1, ..., d-1 and their members, by the distinct chunk indices, hold "
    "means of disjoint sets that differ in digit j. After round d no digit is left to agree on."
)
_GRID = (FULL_GRID, NO_FAILURES, KEYS_ONE_SHORT)
_BUTTERFLY = (
    "A member sends every chunk of its vector but its own, n - c words, and its averaged chunk to M - 1 others: "
    "n + (M - 2) c words in 2 (M - 1) messages, c = ceil(n/M) for the largest chunk; it receives as much."
)

GRID_CLAIMS = (
    Claim(
        name="moshpit.grid.exact",
        title="On a full grid every peer holds the exact mean after d rounds",
        relation=Eq(DISTORTION, 0),
        assumes=(*_GRID, ONE_SWEEP),
        source=RYABININ_2021.recalled(
            "exactness on the full grid, for keys of the last d - 1 chunk indices", _EXACTNESS
        ),
        axis="N",
        note="It holds from every key state that the algorithm reaches, for every assignment of chunk indices. Keys of "
        "d - 1 digits are what two implementations use, the authors' own later library among them.",
    ),
    Claim(
        name="moshpit.grid.key_of_d_digits",
        title="On a full grid with keys of the last d chunk indices every peer has the exact mean after d rounds",
        relation=Eq(DISTORTION, 0),
        assumes=(FULL_GRID, NO_FAILURES, KEYS_OF_D_DIGITS, ONE_SWEEP),
        source=derived(
            "A key with one more digit could be expected to work; the authors' code has d - 1. Refuted: N = M^d peers "
            "have N different keys of d digits, so every peer is alone in the first round."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="moshpit.grid.exact",
        extremal="two peers, d = 1: their keys of one digit differ, and no peer averages",
        axis="N",
        note="The first round averages nothing, since every key is unique. One more round corrects this if chunk "
        "indices are ranks; if indices are sampled, single peers draw different ones and do not form a grid.",
    ),
    Claim(
        name="moshpit.grid.late",
        title="Keys of d digits and ranks as chunk indices give the exact mean after d + 1 rounds",
        relation=Eq(DISTORTION, 0),
        assumes=(FULL_GRID, NO_FAILURES, KEYS_OF_D_DIGITS, ONE_ROUND_MORE),
        source=derived(
            "In the first round every peer is alone and gets index 0, which takes the place of their first digit: M "
            "peers share every key that is left, its last digit 0, and the other d - 1 digits are those of a full grid."
        ),
        axis="N",
    ),
    Claim(
        name="moshpit.grid.factor",
        title="On a full grid t rounds multiply the distortion of independent inputs by (N/M^t - 1)/(N - 1)",
        relation=Eq(IID_FACTOR, (N / M**rounds - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(*_GRID, FIRST_SWEEP, SEVERAL_PEERS),
        source=derived(_EXACTNESS + " A mean of M^t independent inputs has variance 1/M^t; the mean of all N has 1/N."),
        axis="rounds",
        note="So d rounds are needed: after d - 1 the factor is (M - 1)/(N - 1).",
    ),
    Claim(
        name="moshpit.grid.no_repeats",
        title="On a full grid no two peers share a group twice within d rounds",
        relation=Le(REPEATS, 1),
        assumes=(*_GRID, ONE_SWEEP),
        source=derived(
            "Members of a group get distinct chunk indices, which stay in their keys for the next d - 1 rounds."
        ),
        tightness=1,
        extremal="any full grid of side 2 or more",
        axis="N",
    ),
    Claim(
        name="moshpit.grid.rectangular",
        title="M groups of N/M peers with indices by rank have the exact mean after two rounds",
        relation=Eq(DISTORTION, 0),
        assumes=(RECTANGULAR, NO_FAILURES, KEYS_ONE_SHORT, ONE_SWEEP),
        source=derived(
            "Ranks 0, ..., N/M - 1 occur once in each of the M groups, so the second groups mix one of each."
        ),
        axis="N",
        note="It fails with sampled indices: groups of the second round have different sizes.",
    ),
    Claim(
        name="moshpit.grid.failures",
        title="A full grid of fixed cells with failures: E D_d = h^d - 1/N, h = p + (1 - p^M)/M",
        relation=Eq(IID_DISTORTION, (failure + (1 - failure**M) / M) ** dims - 1 / N),
        kind=Kind.EXPECTED,
        assumes=(FULL_GRID, FIXED_CELLS, SKIPPED, ONE_SWEEP),
        source=derived(
            "The sum of squared weights in one peer's vector: averaging a line of the grid multiplies the expected sum "
            "by the expected squared norm of one row of the line's averaging matrix, which is (number of blocks)/M in "
            "the mean, h. Axes are independent, and each is used once; so h^d. The mean of all keeps weights 1/N."
        ),
        axis="failure",
        note="For small p it is about d p/M^(d-1).",
    ),
    Claim(
        name="moshpit.grid.partial",
        title="A square grid with empty cells: E D_2 = E[1/(n_row n_col)] - 1/N",
        relation=Eq(IID_DISTORTION, mean_overlap(N, M) - 1 / N),
        kind=Kind.EXPECTED,
        assumes=(RANDOM_CELLS, FIXED_CELLS, NO_FAILURES, ONE_SWEEP),
        source=derived(
            "After both rounds a peer holds the mean over its column of row means, which are independent: variance "
            "sum over its column of 1/(n_col^2 n_row). Summed over peers, each counts 1/(n_row n_col) once."
        ),
        axis="N",
    ),
    Claim(
        name="moshpit.mean.preserved",
        title="Averaging in groups keeps the mean if failed peers keep their vectors",
        relation=Eq(MEAN_SHIFT, 0),
        assumes=(SKIPPED,),
        source=RYABININ_2021.recalled(
            "correctness of averaging in disjoint groups",
            "A group's members hold its mean: the sum is the same. A failed peer is a group of one.",
        ),
        axis="N",
    ),
    Claim(
        name="moshpit.mean.of_group",
        title="After a round every group member holds the group's mean, and a peer that sits out its old vector",
        relation=Eq(GROUP_ERROR, 0),
        assumes=(SKIPPED,),
        source=RYABININ_2021.recalled(
            "averaging within groups by butterfly all-reduce",
            "Every chunk is averaged by its owner, and sent to all members.",
        ),
        axis="N",
        note="Keeping the mean does not imply averaging: a method that does nothing also keeps it.",
    ),
    Claim(
        name="moshpit.mean.one_way",
        title="A peer that sends without receiving moves the mean: q (1 - q) (1 - rho) D_0 / N in the mean square",
        relation=Eq(MEAN_SHIFT, deaf * (1 - deaf) * (1 - (r - 1) / (N - 1)) * spread / N),
        kind=Kind.EXPECTED,
        assumes=(CUT_GROUPS, ONE_ROUND, SEVERAL_PEERS),
        source=derived(
            "The mean moves by (1/N) sum over deaf peers of x_i - (its group's mean), and these differences add up to "
            "zero over all peers: variance q (1-q)/N^2 sum ||x_i - mean||^2, where E sum = N (1 - rho) D_0, rho = "
            "(r-1)/(N-1)."
        ),
        axis="deaf",
        note="Its expectation is zero: a random walk.",
    ),
    Claim(
        name="moshpit.mean.leaving",
        title="Peers that leave after T rounds move the mean: rho^T D_0 (N - n)/(n (N - 1)) in the mean square",
        relation=Eq(MEAN_SHIFT, ((r - 1) / (N - 1)) ** rounds * spread * (N - survivors) / (survivors * (N - 1))),
        kind=Kind.EXPECTED,
        assumes=(CUT_GROUPS, RANDOM_SURVIVORS, SEVERAL_PEERS),
        source=derived("The variance of the mean of a sample without replacement, and the factor of random groups."),
        axis="survivors",
    ),
    Claim(
        name="moshpit.traffic.words",
        title="Words of T rounds in groups of M: T (n + (M - 2) ceil(n/M)) for the member with the largest chunk",
        relation=Le(MOST_SENT, rounds * (n + (M - 2) * sp.ceiling(n / M))),
        assumes=(FULL_GRID, NO_FAILURES),
        source=derived("Counted: " + _BUTTERFLY),
        tightness=1,
        extremal="chunks of equal sizes, or members that keep their place in the group",
        axis="n",
    ),
    Claim(
        name="moshpit.traffic.equal_chunks",
        title="Words of T rounds in groups of M that divides n: 2 T n (M - 1)/M",
        relation=Eq(MOST_SENT, 2 * rounds * n * (M - 1) / M),
        assumes=(FULL_GRID, NO_FAILURES, DIVISIBLE),
        source=RYABININ_2021.recalled("cost of butterfly all-reduce in a group", _BUTTERFLY),
        axis="n",
    ),
    Claim(
        name="moshpit.traffic.critical_path",
        title="Words on the critical path of T rounds in groups of M: 2 T (M - 1) ceil(n/M)",
        relation=Eq(CRITICAL_PATH, 2 * rounds * (M - 1) * sp.ceiling(n / M)),
        assumes=(FULL_GRID, NO_FAILURES),
        source=derived(
            "In reduce-scatter the owner of the largest chunk receives M - 1 copies of it, ceil(n/M) words each, "
            "which is no less than the n - floor(n/M) words that anyone sends; in all-gather it sends as many."
        ),
        axis="n",
    ),
    Claim(
        name="moshpit.traffic.messages",
        title="Messages of T rounds in groups of M: 2 T (M - 1)",
        relation=Eq(MESSAGES, 2 * rounds * (M - 1)),
        assumes=(FULL_GRID, NO_FAILURES),
        source=derived("Counted: " + _BUTTERFLY),
        axis="M",
    ),
    Claim(
        name="moshpit.traffic.steps",
        title="Message phases of T rounds: 2 T",
        relation=Eq(STEPS, sp.Piecewise((0, sp.Eq(M, 1)), (2 * rounds, True))),
        assumes=(FULL_GRID, NO_FAILURES),
        source=derived("Reduce-scatter, then all-gather; a group of one sends nothing."),
        axis="rounds",
    ),
)
