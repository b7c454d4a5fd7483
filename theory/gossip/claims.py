"""Gossip averaging, push-sum and all-reduce with restarts: the claims."""

from typing import Any

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Hypothesis, Kind, Le, Source, Standing
from commbounds.theory.gossip.terms import (
    ALL_SHIFTS_ONCE,
    CAPPED,
    MUTUAL_LOSSES,
    NO_SHIFT_TWICE,
    NOT_AGREED,
    ONE_WAY_LOSSES,
    OWN_INSTEAD,
    PATIENT,
    POWER_OF_TWO,
    RENORMALISED,
    SHARES_GONE,
    SHARES_KEPT,
    SOME_SUCCESS,
    TORUS,
)
from commbounds.theory.gossip.traffic import TRAFFIC_CLAIMS
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.moshpit.terms import (
    ASSRAN_2019,
    ATTEMPTS,
    DISTORTION,
    IID_FACTOR,
    KEMPE_2003,
    MEAN_SHIFT,
    MOSHPIT_AT,
    NO_FAILURES,
    RANGE_RATIO,
    RELATIVE_DISTORTION,
    RESTARTS,
    SEVERAL_PEERS,
    XIAO_2004,
    YING_2021,
    N,
    cap,
    failure,
    loss,
    ring_walks,
    roughness,
    rounds,
)
from commbounds.theory.quantities import index_bits
from commbounds.theory.sources import FOLKLORE, derived

_SPECTRAL = (
    "W is doubly stochastic and normal: vectors without mean stay without, and W multiplies their norm by at most the "
    "second largest modulus of an eigenvalue. "
)
_success = (1 - failure) ** N


def _shrinks(name: str, title: str, root: Any, assumes: tuple[Hypothesis, ...], source: Source, vector: str) -> Claim:
    return Claim(
        name=f"gossip.{name}.distortion",
        title=title,
        relation=Le(RELATIVE_DISTORTION, root ** (2 * rounds)),
        assumes=assumes,
        source=source,
        tightness=1,
        extremal=vector,
        axis="rounds",
    )


_RANKS = rank_by_rank("gossip", "gossip", "push_sum")

_DEFINITIONS = defined(
    "gossip",
    {
        "allreduce_with_restarts": "Written from the baseline of the Moshpit papers' notebook: attempts until one "
        "meets no failure, and the definition of the average in groups.",
        "gossip": "Written from the weights of Xiao and Boyd 2004 on the graphs of Ying et al. 2021, link by link; our "
        "documentation says what replaces a missing vector.",
        "push_sum": "Written from Kempe, Dobra and Gehrke 2003, share by share; our documentation says what happens to "
        "undelivered shares.",
    },
)

CLAIMS: tuple[Claim, ...] = (
    _shrinks(
        "ring",
        "Ring of N peers, weights 1/3: the distortion shrinks by ((1 + 2 cos(2 pi/N))/3)^2 a round",
        (1 + 2 * sp.cos(2 * sp.pi / N)) / 3,
        (NO_FAILURES, SEVERAL_PEERS, NOT_AGREED),
        XIAO_2004.recalled(
            "averaging by powers of a weight matrix",
            _SPECTRAL
            + "The ring's eigenvalues are (1 + 2 cos(2 pi k/N))/3; the largest modulus below k = 0 is at k = 1.",
        ),
        "the second eigenvector, cos(2 pi i/N)",
    ),
    _shrinks(
        "torus",
        "Torus of m x m peers, weights 1/5: the distortion shrinks by ((3 + 2 cos(2 pi/m))/5)^2 a round",
        (3 + 2 * sp.cos(2 * sp.pi / sp.sqrt(N))) / 5,
        (NO_FAILURES, TORUS, NOT_AGREED),
        XIAO_2004.recalled(
            "averaging by powers of a weight matrix",
            _SPECTRAL + "Eigenvalues (1 + 2 cos a + 2 cos b)/5, a and b multiples of 2 pi/m; for m = 2 the smallest, "
            "-3/5, would be the largest in modulus.",
        ),
        "a second eigenvector, cos(2 pi column/m)",
    ),
    _shrinks(
        "exponential",
        "Static exponential graph, N a power of two: the distortion shrinks by ((log2 N - 1)/(log2 N + 1))^2 a round",
        (index_bits(N) - 1) / (index_bits(N) + 1),
        (NO_FAILURES, POWER_OF_TWO, SEVERAL_PEERS, NOT_AGREED),
        YING_2021.recalled(
            "spectral gap of the static exponential graph, 2/(1 + ceil(log2 N))",
            _SPECTRAL
            + "W is circulant. For k = 2^a (odd) the shift N/2^(a+1) has the character -1, and the own vector 1: of "
            "log2 N + 1 terms of modulus one, two cancel.",
        ),
        "alternating signs",
    ),
    Claim(
        name="gossip.ring.iid",
        title="Ring: the factor averaged over independent inputs, by the returns of a random walk",
        relation=Eq(IID_FACTOR, (N * ring_walks(N, 2 * rounds) - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(NO_FAILURES, SEVERAL_PEERS),
        source=derived(
            "The mean over inputs is (trace W^(2T) - 1)/(N - 1), the mean of all but the first eigenvalue's powers; a "
            "diagonal entry of W^(2T) is the probability that a walk of 2 T steps returns."
        ),
        axis="rounds",
    ),
    Claim(
        name="gossip.one_peer.factor",
        title="One-peer exponential graph: T rounds multiply the distortion of independent inputs by (N/2^T - 1)/(N - "
        "1)",
        relation=Eq(IID_FACTOR, (N / 2**rounds - 1) / (N - 1)),
        kind=Kind.EXPECTED,
        assumes=(NO_FAILURES, NO_SHIFT_TWICE, POWER_OF_TWO, SEVERAL_PEERS),
        source=derived("After T rounds a peer holds the mean of itself and the 2^T - 1 before it, all different."),
        axis="rounds",
    ),
    Claim(
        name="gossip.one_peer.exact",
        title="One-peer exponential graph, N a power of two: the exact mean after log2 N rounds",
        relation=Eq(DISTORTION, 0),
        assumes=(NO_FAILURES, ALL_SHIFTS_ONCE, POWER_OF_TWO),
        source=YING_2021.recalled(
            "exact averaging by one-peer exponential graphs",
            "After log2 N rounds a peer holds the mean of 2^(log2 N) peers.",
        ),
        axis="N",
    ),
    Claim(
        name="gossip.one_peer.any_number",
        title="One-peer exponential graph: the exact mean after ceil(log2 N) rounds for every N",
        relation=Eq(DISTORTION, 0),
        assumes=(NO_FAILURES, ALL_SHIFTS_ONCE),
        source=FOLKLORE.recalled(
            "without the condition on N", "Refuted by three peers: 2^2 shares do not divide by three."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="gossip.one_peer.exact",
        extremal="three peers: each ends with weights 1/4, 1/4, 1/2",
        axis="N",
        note="It holds only for powers of two.",
    ),
    Claim(
        name="gossip.mean.own_instead",
        title="Gossip on a ring or torus keeps the mean if a peer replaces a missing vector by its own, and links "
        "break both ways",
        relation=Eq(MEAN_SHIFT, 0),
        assumes=(OWN_INSTEAD, MUTUAL_LOSSES),
        source=derived(
            "i misses j exactly if j misses i: weights stay symmetric, so columns add up to one as rows do."
        ),
        axis="N",
        note="It fails if a link breaks one way: 0, 3, 3 on a ring of three, only the first missing the second, become "
        "1, 2, 2, and the mean goes from 2 to 5/3. A separate claim gives the amount.",
    ),
    Claim(
        name="gossip.mean.one_way",
        title="Links of a ring that break one way move the mean: in the mean square l (1 - l)/(9 N) of neighbours' "
        "squared differences",
        relation=Eq(MEAN_SHIFT, loss * (1 - loss) * roughness / (9 * N)),
        kind=Kind.EXPECTED,
        assumes=(OWN_INSTEAD, ONE_WAY_LOSSES, NO_FAILURES),
        source=derived(
            "If what i sends to j is lost, j counts x_j in its place: the mean moves by (x_j - x_i)/(3 N). Over all "
            "links these add up to zero, since each goes both ways, and losses are independent: l (1 - l) times the "
            "sum of the squares."
        ),
        axis="loss",
        note="Its expectation is zero: a random walk.",
    ),
    Claim(
        name="gossip.mean.renormalised",
        title="Gossip keeps the mean if rows are renormalised over the peers present",
        relation=Eq(MEAN_SHIFT, 0),
        assumes=(RENORMALISED,),
        source=derived(
            "Refuted by one failure on a ring of four: peers with three vectors divide by three, peers with two by "
            "two.",
            code=MOSHPIT_AT.at("averaging_experiments/averager.py", "25-37"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="gossip.mean.own_instead",
        extremal="a ring of four with one peer down",
        axis="N",
        note="The experiments measure the error about the current mean, and do not detect that it moves.",
    ),
    Claim(
        name="gossip.push_sum.mean",
        title="Push-sum keeps the weighted mean of the estimates, for any broken links",
        relation=Eq(MEAN_SHIFT, 0),
        assumes=(SHARES_KEPT,),
        source=KEMPE_2003.recalled(
            "conservation of mass", "Shares move or stay; sums and weights over all peers are what they were."
        ),
        axis="N",
        note="So the estimates can agree only on the initial mean.",
    ),
    Claim(
        name="gossip.push_sum.losing",
        title="Push-sum keeps the weighted mean of the estimates even if shares are lost on broken links",
        relation=Eq(MEAN_SHIFT, 0),
        assumes=(SHARES_GONE,),
        source=FOLKLORE.recalled(
            "that weights make up for lost messages", "Refuted by two peers and one lost message: mass is gone with it."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="gossip.push_sum.mean",
        extremal="two peers, one of two messages lost",
        axis="N",
        note="Weights keep every estimate a weighted mean of inputs, but not of all with the same weight.",
    ),
    Claim(
        name="gossip.push_sum.range",
        title="The range of push-sum's estimates never grows",
        relation=Le(RANGE_RATIO, 1),
        assumes=(NOT_AGREED,),
        source=ASSRAN_2019.recalled(
            "push-sum with weights",
            "A new estimate is the mean of old ones with the shares of their weights: it lies between them.",
        ),
        tightness=1,
        extremal="all links broken",
        axis="rounds",
    ),
    Claim(
        name="gossip.restarts.attempts",
        title="All-reduce that restarts at every failure: (1 - p)^-N attempts are expected",
        relation=Eq(ATTEMPTS, 1 / _success),
        kind=Kind.EXPECTED,
        assumes=(PATIENT, SOME_SUCCESS),
        source=derived("Attempts are independent, and succeed with probability (1 - p)^N: a geometric law."),
        axis="N",
    ),
    Claim(
        name="gossip.restarts.as_restarts",
        title="All-reduce that restarts at every failure: (1 - p)^-N restarts are expected",
        relation=Eq(RESTARTS, 1 / _success),
        kind=Kind.EXPECTED,
        assumes=(PATIENT, SOME_SUCCESS),
        source=FOLKLORE.recalled("attempts and restarts taken for one another", "The first attempt is not a restart."),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="gossip.restarts.restarts",
        extremal="p = 0: no restart, and one is claimed",
        axis="N",
        note="The number is too large by one.",
    ),
    Claim(
        name="gossip.restarts.restarts",
        title="All-reduce that restarts at every failure: (1 - p)^-N - 1 restarts are expected",
        relation=Eq(RESTARTS, 1 / _success - 1),
        kind=Kind.EXPECTED,
        assumes=(PATIENT, SOME_SUCCESS),
        source=derived("One less than the attempts."),
        axis="N",
    ),
    Claim(
        name="gossip.restarts.capped",
        title="With at most c attempts, an all-reduce that restarts expects (1 - (1 - s)^c)/s of them, s = (1 - p)^N",
        relation=Eq(ATTEMPTS, (1 - (1 - _success) ** cap) / _success),
        kind=Kind.EXPECTED,
        assumes=(CAPPED, SOME_SUCCESS),
        source=derived("The sum over a < c of the probability that the first a attempts fail."),
        axis="failure",
    ),
    *TRAFFIC_CLAIMS,
    *_RANKS,
    *_DEFINITIONS,
)
