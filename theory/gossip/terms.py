"""Hypotheses of the column gossip; its symbols are those of moshpit."""

from math import isqrt

import sympy as sp

from commbounds.theory.claim import Eq, Hypothesis, Le
from commbounds.theory.moshpit.terms import N, failure, oneway, rounds
from commbounds.theory.quantities import index_bits

TORUS = Hypothesis(
    "torus", "The peers are on a square torus with sides of at least 3.", lambda N: N >= 9 and isqrt(N) ** 2 == N
)
POWER_OF_TWO = Hypothesis("power_of_two", "The number of peers is a power of two.", Eq(2 ** index_bits(N), N))
ALL_SHIFTS_ONCE = Hypothesis(
    "all_shifts_once", "Every shift is used once: ceil(log2 N) rounds.", Eq(rounds, index_bits(N))
)
NO_SHIFT_TWICE = Hypothesis("no_shift_twice", "No shift is used twice.", Le(rounds, index_bits(N)))
OWN_INSTEAD = Hypothesis(
    "own_instead",
    "The graph is a ring or a torus; a peer replaces a missing vector by its own.",
    ensured="Rounds are run with this rule, on these graphs.",
)
MUTUAL_LOSSES = Hypothesis(
    "mutual_losses", "A link that fails one way also fails the other way: peers are down, or cut off.", Eq(oneway, 0)
)
ONE_WAY_LOSSES = Hypothesis(
    "one_way_losses",
    "One round on a ring; every link delivers or not, each way independently of all else.",
    ensured="Every set of links is broken once, weighted with its probability.",
)
RENORMALISED = Hypothesis(
    "renormalised", "A peer divides by the number of vectors that it has.", ensured="Rounds are run with this rule."
)
SHARES_KEPT = Hypothesis(
    "shares_kept", "A share for a broken link stays with its sender.", ensured="Rounds are run with this rule."
)
SHARES_GONE = Hypothesis(
    "shares_gone",
    "A share that is sent over a broken link is lost, value and weight.",
    ensured="Rounds are run with this rule.",
)
NOT_AGREED = Hypothesis(
    "not_agreed", "Not all peers' vectors are equal at the start.", lambda x: bool((x != x[0]).any())
)
SOME_SUCCESS = Hypothesis("some_success", "An attempt may succeed: p < 1.", sp.Lt(failure, 1))
PATIENT = Hypothesis(
    "patient", "There is no limit on attempts.", ensured="Attempts beyond those run are added, or bounded."
)
CAPPED = Hypothesis(
    "capped",
    "At most c attempts are made; the last counts whether it succeeds or not.",
    ensured="The case states this number of attempts.",
)
NO_LOSS = Hypothesis("no_loss", "All links work.", ensured="No link is broken.")
