"""Moshpit all-reduce and Moshpit SGD: the claims."""

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined, rank_by_rank
from commbounds.theory.moshpit.grid import GRID_CLAIMS
from commbounds.theory.moshpit.random_groups import RANDOM_CLAIMS
from commbounds.theory.moshpit.sgd import SGD_CLAIMS

_RANKS = rank_by_rank(
    "moshpit",
    "group_average",
    "grid_average",
    "moshpit",
    "random_groups",
    "regrouping",
    "moshpit_sgd",
    "allreduce_with_restarts",
    "group_trials",
)

_DEFINITIONS = defined(
    "moshpit",
    {
        "group_average": "Written from the documented rule, entry by entry: members are added up in rank order in "
        "float64, chunk c is floor(c n/M) to floor((c + 1) n/M). Groups average by butterfly all-reduce, as in the "
        "official code.",
        "moshpit": "Written from the rule of keys in the official code (learning-at-home/hivemind): the oldest digit "
        "goes, the chunk index comes. Our documentation says who meets if more than M peers share a key, and what a "
        "failed member does.",
        "grid_average": "Written from the averages along a grid's axes of the authors' published notebook.",
        "random_groups": "Written from the documented readings of random groups: permutations by Fisher and Yates, set "
        "partitions in the order of their labels. Choices are drawn one after another.",
        "regrouping": "Written from the random groups of the authors' published notebook: M consecutive peers each, "
        "the rest dealt out in turn.",
        "group_trials": "Written from the three averages above, in rational numbers, with splitmix64, Lemire's numbers "
        "below a bound and the shuffle of Fisher and Yates; only our documentation gives the order in which numbers "
        "are used. Distortions agree within the roundings of their operations.",
        "moshpit_sgd": "Written from the recalled algorithm of arXiv:2103.03239, local steps and an average every tau "
        "of them, one entry after another in the dtype of the points.",
    },
)

CLAIMS: tuple[Claim, ...] = (*GRID_CLAIMS, *RANDOM_CLAIMS, *SGD_CLAIMS, *_RANKS, *_DEFINITIONS)
