"""The replay of the tight analyses of error feedback: that its tables agree, and that each of them can disagree."""

import numpy as np
import pytest

from commbounds.verify.experiments.feedback import replay as module
from commbounds.verify.replay import replayed

QUICK = {"rates": 0, "any step": 1, "searched": 2, "errors": 3, "two workers": 4}


def table(name):
    return module.replay("quick", 0)[QUICK[name]]()


def test_everything_agrees():
    tables = list(replayed(module.replay, "quick", 0))
    assert len(tables) == len(QUICK)
    assert all(each.agrees for each in tables)


def moved(line, place, by):
    numbers = line.split()
    numbers[place] = f"{float(numbers[place]) + by:.7f}"
    return " ".join(numbers)


@pytest.mark.parametrize("place", range(3))
def test_a_rate_that_is_off_disagrees(monkeypatch, place):
    by = 2e-5 if place == 0 else 1e-4  # EF and EF21 may be as far off as they are apart
    monkeypatch.setitem(module.RATES, (4, 99), moved(module.RATES[4, 99], place, by))
    if place:
        monkeypatch.setitem(module.RATES, (4, 99), moved(module.RATES[4, 99], 3 - place, by))
    assert not table("rates").agrees


def test_a_rate_at_another_step_size_disagrees(monkeypatch):
    monkeypatch.setitem(module.ANY_STEP, (2, 60, 20), module.ANY_STEP[2, 100, 60])
    assert not table("any step").agrees


def test_a_step_size_two_grid_steps_away_disagrees(monkeypatch):
    monkeypatch.setitem(module.SEARCHED, (0.5, 5), moved(module.SEARCHED[0.5, 5], 1, -2 * 2 / 5.5 / 299))
    assert not table("searched").agrees


def test_a_wrong_step_size_of_ours_disagrees_everywhere(monkeypatch):
    from commbounds.verify.experiments.feedback import convex

    def longer(L, mu, q):
        return 2 / (L + mu) * (1 - q * q) / (1 + q)

    for place in (convex, module):
        monkeypatch.setattr(place, "convex_step", longer)
    assert not table("rates").agrees
    assert not table("searched").agrees
    assert not table("errors").agrees
    assert not table("two workers").agrees


def test_the_law_for_two_workers_is_not_met_by_a_smaller_one(monkeypatch):
    law = module.two_workers
    monkeypatch.setattr(module, "two_workers", lambda *at: 0.99 * law(*at))
    assert not table("two workers").agrees


def test_growth_is_that_of_runs():
    """Squares in a long run of one choice of curvatures and compressors shrink as its spectral radius says."""
    from commbounds.compressors import EF21, FeedbackState
    from commbounds.verify.experiments.feedback.runs import Shrunk

    q, L, mu = 0.5, np.array([1.0, 0.5]), np.array([0.1, 0.2])
    gamma, states, x, sizes = module.convex_step(0.75, 0.15, q), [FeedbackState(np.ones(1))] * 2, 1.0, []
    for _ in range(400):
        x -= gamma * np.mean([state.memory[0] for state in states])
        states = [EF21(Shrunk(q)).step(state, np.array([a * x]))[1] for state, a in zip(states, mu, strict=True)]
        sizes.append(x * x)
    shrinks = (sizes[-1] / sizes[199]) ** (1 / 200)
    assert shrinks <= module.growth(q, L, mu) * (1 + 1e-9)
    assert module.growth(q, L, mu) < module.two_workers(q, L, mu)
