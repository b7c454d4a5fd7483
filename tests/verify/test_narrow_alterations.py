"""Definitions notice implementations that are right but under a narrow condition; those that they miss are named."""

import numpy as np
import pytest
from blind_alterations import BLIND
from narrow_alterations import ALTERATIONS, definition_of

from commbounds.verify.definition_study import APART, LAW
from commbounds.verify.experiment import budgets

ALL = (*ALTERATIONS, *BLIND)
_TRIPLE = "three or more settings at once, of which every two are run"
MISSED = {
    ("ChunkTopK", "k = 3 of chunks of 8, 33 entries"): _TRIPLE,
    (
        "AdaptiveSparsification",
        "two largest tie, float32, 17 entries",
    ): "ties of the largest are drawn, at this size in float64",
    ("Identity", "negative zeros, float64, 31 entries"): "31 entries with zeros are run in float32",
    ("TernGrad", "31 entries, all but one are zeros"): "how many are zeros is drawn",
    ("PowerSGD", "one row, a negative zero last"): "the product is known up to rounding, which is without signs",
    ("LowRank", "equal singular values, float32"): "what is common to all decompositions leaves the choice open",
    ("dion_update", "P = 7, rank 3, mu 1"): _TRIPLE,
    ("nccl_sum", "e5m2, P = 6, float64, 16 entries"): _TRIPLE,
    ("spectral_atoms", "budget 3, 4 x 3"): _TRIPLE,
    ("arctopk_allreduce", "7 rows, K = 3"): _TRIPLE,
    ("reduce_scatter", "blocks of 33, P = 6, Bruck"): _TRIPLE,
    (
        "NaturalDithering",
        "One level, in float32, of vectors of 33 and more: the middle entry's code is turned.",
    ): f"{_TRIPLE}; the claim that its mean is right notices it",
}
"""(subject, words) -> why no case shows it."""


def noticed(subject):
    """Which of its alterations the cases by hand and the covering array show."""
    study = definition_of(subject)
    live = {a.words: a.implementation for a in ALL if a.subject == subject}
    found = set()
    with np.errstate(all="ignore"):
        for case in study.corpus(budgets["quick"]):
            if not {APART, LAW} & set(case.settings):
                found |= {words for words in set(live) - found if study.differences(live[words], case)}
    return found


@pytest.mark.wide
@pytest.mark.parametrize("subject", dict.fromkeys(a.subject for a in ALL))
def test_a_narrow_alteration_is_noticed_or_known_to_be_missed(subject):
    listed = {a.words for a in ALL if a.subject == subject}
    assert listed - noticed(subject) == {words for name, words in MISSED if name == subject}


def test_what_is_missed_is_among_them():
    assert set(MISSED) <= {(a.subject, a.words) for a in ALL}
    assert len(MISSED) < len(ALL) / 20
