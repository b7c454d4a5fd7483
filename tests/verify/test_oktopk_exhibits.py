"""The figures about Ok-Topk show what their titles say."""

from functools import cache

import numpy as np
import pytest

from commbounds.verify.exhibit import exhibit_from_json
from commbounds.verify.experiments.oktopk.exhibits import EXHIBITS


@cache
def made(name):
    return EXHIBITS[name]("quick", 0)


def lines(name, panel):
    return {line.label: np.array(line.y) for line in made(name).panels[panel].lines}


@pytest.mark.parametrize("name", ["oktopk.balance_rules", "oktopk.reuse", "oktopk.phases"])
def test_an_exhibit_is_a_function_of_its_arguments_and_survives_json(name):
    exhibit = made(name)
    assert exhibit.name == name
    assert exhibit == EXHIBITS[name]("quick", 0)
    assert exhibit_from_json(exhibit.to_json()) == exhibit


def test_families_keep_to_what_holds_and_break_what_does_not():
    sent, received = lines("oktopk.families", 0), lines("oktopk.families", 1)
    limit, worst = sent.pop("6k - 4k/P, any vectors"), received.pop("2kP, any vectors")
    assert all((y <= limit).all() for y in sent.values() if y.size == limit.size)
    assert all((y <= worst).all() for y in received.values() if y.size == worst.size)
    assert (sent["tight6k"] == 1).all()
    for family in ("disjoint blocks", "two clusters", "one outlier rank", "stale boundaries"):
        assert received[family][-1] > 10 > 1 > received["identical"][-1]


def test_global_counts_mend_what_is_received():
    mean, count = lines("oktopk.boundaries", 0), lines("oktopk.boundaries", 1)
    limit = count.pop("4k + 2P - 4, any vectors")
    assert all((y <= limit).all() for y in count.values() if y.size == limit.size and y is not count["published bound"])
    assert np.array_equal(count["crowded cut"], limit)
    assert max(y.max() for y in mean.values()) > 20


def test_balancing_rules():
    for panel, factor in ((0, 1.5), (1, 2.0)):
        found = lines("oktopk.balance_rules", panel)
        assert (found["always"] <= 1).all()
        assert 1.3 < found["above four times the mean"].max() <= factor


def test_growing_vectors_select_more_and_win_more_still():
    for panel in (0, 1):
        scales = np.array(made("oktopk.drift").panels[panel].lines[0].x)
        found = lines("oktopk.drift", panel)
        for label in ("selected by a rank", "selected, law", "winners", "words sent"):
            assert (np.diff(found[label]) > 0).all()
        assert (found["winners"] > found["selected by a rank"])[scales > 1].all()
        assert (found["words sent"] > 1)[scales > 1].all()


def test_reused_thresholds_let_more_through():
    for panel in (0, 1):
        for label, y in lines("oktopk.reuse", panel).items():
            if label not in ("k", "published bound"):
                assert y[0] <= 1 < y[1:].min()


def test_the_assumption_is_broken_by_the_pair_that_stalls():
    stall = lines("oktopk.assumption", 2)["pair that stalls"]
    assert np.array_equal(stall, np.arange(1, stall.size + 1))
    for y in lines("oktopk.assumption", 0).values():
        assert (y > 0).all()
