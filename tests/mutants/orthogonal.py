"""Broken twins of the column orthogonal, each by one defect; and the right ones."""

from dataclasses import replace

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.orthogonal import dion_update, muon_update
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant


def coefficients_swapped(stack, steps=5, iteration="muon"):
    """The cubic where the quintic is asked for, and the other way round."""
    return muon_update(stack, steps, {"muon": "cubic", "cubic": "muon"}[iteration])


def one_iteration_less(stack, steps=5, iteration="muon"):
    """One iteration is left out."""
    return muon_update(stack, max(0, steps - 1), iteration)


def one_iteration_more(stack, steps=5, iteration="muon"):
    """One iteration too many."""
    return muon_update(stack, steps + 1, iteration)


def not_divided_by_its_norm(stack, steps=5, iteration="muon"):
    """The update is as large as the gradient was, in eighths more."""
    update, traffic = muon_update(stack, steps, iteration)
    return update * 1.125, traffic


def polar_factor_of_it(stack, steps=5, iteration="muon"):
    """All singular values but zero become one."""
    _, traffic = muon_update(stack, 0, iteration)
    u, s, v = np.linalg.svd(np.asarray(stack, float).mean(axis=0), full_matrices=False)
    polar = (u * (s > 1e-12 * max(s[0], 1e-300))) @ v
    return np.array([polar] * len(stack)), traffic


def shrinks_what_is_small(stack, steps=5, iteration="muon"):
    """The update is halved."""
    update, traffic = muon_update(stack, steps, iteration)
    return update / 2, traffic


def keeps_everything(stack, momentum, basis, mu=0.95):
    """Nothing of what is sent is taken away from the momentum."""
    return dion_update(stack, momentum, basis, 1.0)


def forgets_everything(stack, momentum, basis, mu=0.95):
    """All of what is sent is taken away."""
    return dion_update(stack, momentum, basis, 0.0)


def momentum_not_added(stack, momentum, basis, mu=0.95):
    """The old momentum has no part in the step."""
    return dion_update(stack, 0 * np.asarray(momentum), basis, mu)


def columns_twice_as_long(stack, momentum, basis, mu=0.95):
    """Columns have the norm 2."""
    state, traffic = dion_update(stack, momentum, basis, mu)
    return state._replace(update=2 * state.update), traffic


def first_column_alone(stack, momentum, basis, mu=0.95):
    """Only the first column of the basis is used."""
    return dion_update(stack, momentum, np.asarray(basis)[:, :1], mu)


def right_factor_travels_free(stack, momentum, basis, mu=0.95):
    """The words of the second factor are not counted."""
    state, traffic = dion_update(stack, momentum, basis, mu)
    return state, replace(traffic, sent=traffic.phases["left"].sent)


EXACT, SEARCH, EXTREMAL = Method.EXACT, Method.SEARCH, Method.EXTREMAL
_C = "orthogonal."
MUTANTS = (
    Mutant(coefficients_swapped, "muon_update", _C + "cubic.one_step", SEARCH),
    Mutant(one_iteration_less, "muon_update", _C + "cubic.converges", SEARCH),
    Mutant(one_iteration_more, "muon_update", _C + "muon.one", SEARCH),
    Mutant(not_divided_by_its_norm, "muon_update", _C + "muon.at_most", SEARCH),
    Mutant(polar_factor_of_it, "muon_update", _C + "muon.growth", SEARCH),
    Mutant(shrinks_what_is_small, "muon_update", _C + "muon.at_least", SEARCH),
    Mutant(keeps_everything, "dion_update", _C + "dion.keeps", SEARCH),
    Mutant(forgets_everything, "dion_update", _C + "dion.keeps", SEARCH),
    Mutant(momentum_not_added, "dion_update", _C + "dion.keeps", SEARCH),
    Mutant(columns_twice_as_long, "dion_update", _C + "dion.spectral", SEARCH),
    Mutant(first_column_alone, "dion_update", _C + "dion.size", SEARCH),
    Mutant(right_factor_travels_free, "dion_update", _C + "dion.words", EXACT),
)


def _control(iteration):
    """The update of vectors, as matrices of one row: all ranks have the same."""

    def run(stack, seed):
        update, traffic = muon_update(np.asarray(stack)[:, None, :], 5, iteration)
        return cf.AllReduceResult(update[:, 0, :], traffic.sent, traffic.received)

    return cf.AllReduce(run, [cf.RanksAgree()], name=f"muon_update({iteration})", **SMALL)


CONTROLS = tuple(map(_control, ("muon", "cubic")))
"""Right ones, with what is asked of them, for the conformance kit."""
