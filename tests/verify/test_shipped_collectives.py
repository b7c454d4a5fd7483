"""Bounds of shipped collectives: that the cases of the quick budget come close to them."""

import pytest
from bindings import judged

from commbounds.theory import Standing, claims
from commbounds.verify.experiments import EXPERIMENTS

BOUNDS = [
    name
    for name, claim in claims().of_column("shipped_collectives").items()
    if claim.stands is Standing.HOLDS and claim.relation.rel_op == "<="
]


def test_which_bounds_there_are():
    assert (
        {name.split(".")[1] for name in BOUNDS}
        == {claims()[name].subject for name in BOUNDS}
        >= {*("quickreduce", "flashinfer", "torchft", "hook", "nccl", "torchcomms", "loongforge")}
    )


@pytest.mark.wide
@pytest.mark.parametrize("name", BOUNDS)
def test_cases_attain_95_percent_of_every_bound(name):
    """Of the cases of the quick budget, and the extremal ones, without exception."""
    found = judged(EXPERIMENTS[name], "exact", "search", "attack", "extremal")
    shares = [e.tightness for e in found.evidence.values() if e is not None and e.tightness is not None]
    assert 0.95 <= max(shares, default=0.0) <= 1.0
