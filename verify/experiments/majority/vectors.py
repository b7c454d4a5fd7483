"""Test vectors of the majority vote."""

import itertools
from collections.abc import Iterator
from typing import Any

from commbounds.collectives.majority import WAYS, ZEROS, majority_vote
from commbounds.verify.definition import vectors_of
from commbounds.verify.experiments.majority.definitions import DEFINITIONS


def subjects() -> list[Any]:
    """What has test vectors here."""
    from commbounds.verify.vectors import collectives as made  # it asks this module what it holds
    from commbounds.verify.vectors.inputs import array, mask

    def cases() -> Iterator[Any]:
        for way in WAYS:
            yield from made.full_sizes({"way": way, "zeros": "plus"}, key=83)
        tied = array([[1, -1, 0, -0.0, 2, 0, -3, 1, 1], [-1, -1, 0, 0, 1, 5, -2, -4, 1]], "float32")
        for way, zeros in itertools.product(WAYS, ZEROS):
            coins = {"coins": mask(84, (3, 9), 0.5)} if zeros == "coin" else {}
            why = "Two ranks: ties, zeros of both signs, and an entry more than a byte has."
            yield made.case_of(why, {"stack": tied}, {"way": way, "zeros": zeros}, coins, about="ties")
        yield made.case_of("There is no such way.", {"stack": tied}, {"way": "tree"}, about="tree", refused=True)

    run = vectors_of(DEFINITIONS["majority_vote"], majority_vote)
    return [made.collective("majority_vote", cases, run, unit="bytes")]
