"""Broken twins of the column orthogonal, each by one defect; and the right ones."""

from dataclasses import replace

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.orthogonal import dion_update, ef21_muon, muon_update
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant


def coefficients_swapped(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """The cubic where the quintic is asked for, and the other way round."""
    return muon_update(stack, steps, {"muon": "cubic", "cubic": "muon"}.get(iteration, "quintic"), arithmetic)


def one_iteration_less(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """One iteration is left out."""
    return muon_update(stack, max(0, steps - 1), iteration, arithmetic)


def one_iteration_more(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """One iteration too many."""
    return muon_update(stack, steps + 1, iteration, arithmetic)


def not_divided_by_its_norm(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """The update is as large as the gradient was, in eighths more."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return update * 1.125, traffic


def polar_factor_of_it(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """All singular values but zero become one."""
    _, traffic = muon_update(stack, 0, iteration, arithmetic)
    u, s, v = np.linalg.svd(np.asarray(stack, float).mean(axis=0), full_matrices=False)
    polar = (u * (s > 1e-12 * max(s[0], 1e-300))) @ v
    return np.array([polar] * len(stack)), traffic


def averages_the_first_two(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Ranks from the third on do not count."""
    update, traffic = muon_update(np.asarray(stack)[:2], steps, iteration, arithmetic)
    return np.array([update[0]] * len(stack)), traffic


def each_orthogonalised_first(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Gradients are brought near one before they are averaged, not after."""
    found = [muon_update(np.asarray(stack)[p : p + 1], steps, iteration, arithmetic) for p in range(len(stack))]
    return np.array([np.mean([update[0] for update, _ in found], axis=0)] * len(stack)), found[0][1]


def shrinks_what_is_small(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """The update is halved."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return update / 2, traffic


def never_in_bfloat16(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """The arithmetic is always that of the dtype."""
    return muon_update(stack, steps, iteration)


def a_unit_further_out(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Entries are larger by a unit in the last place of bfloat16."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return update * (1 + 2.0**-7), traffic


def a_unit_further_in(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Entries are smaller by a unit in the last place of bfloat16."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return update * (1 - 2.0**-7), traffic


def a_hundredth_larger(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """The update is larger by a hundredth."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return update * 1.01, traffic


def no_entry_above_one(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Entries are cut off at one."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return np.clip(update, -1, 1), traffic


def first_row_alone(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Rows but the first are left as zeros."""
    update, traffic = muon_update(stack, steps, iteration, arithmetic)
    return update * (np.arange(update.shape[1]) == 0)[:, None], traffic


def keeps_everything(stack, momentum, basis, mu=0.95, right="columns"):
    """Nothing of what is sent is taken away from the momentum."""
    return dion_update(stack, momentum, basis, 1.0, right)


def forgets_everything(stack, momentum, basis, mu=0.95, right="columns"):
    """All of what is sent is taken away."""
    return dion_update(stack, momentum, basis, 0.0, right)


def momentum_not_added(stack, momentum, basis, mu=0.95, right="columns"):
    """The old momentum has no part in the step."""
    return dion_update(stack, 0 * np.asarray(momentum), basis, mu, right)


def columns_twice_as_long(stack, momentum, basis, mu=0.95, right="columns"):
    """Columns have the norm 2."""
    state, traffic = dion_update(stack, momentum, basis, mu, right)
    return state._replace(update=2 * state.update), traffic


def first_column_alone(stack, momentum, basis, mu=0.95, right="columns"):
    """Only the first column of the basis is used."""
    return dion_update(stack, momentum, np.asarray(basis)[:, :1], mu, right)


def right_factor_travels_free(stack, momentum, basis, mu=0.95, right="columns"):
    """The words of the second factor are not counted."""
    state, traffic = dion_update(stack, momentum, basis, mu, right)
    return state, replace(traffic, sent=traffic.phases["left"].sent)


def columns_whatever_is_asked_for(stack, momentum, basis, mu=0.95, right="columns"):
    """The right factor is never made orthonormal."""
    return dion_update(stack, momentum, basis, mu, "columns")


def orthonormal_whatever_is_asked_for(stack, momentum, basis, mu=0.95, right="columns"):
    """The right factor is always made orthonormal."""
    return dion_update(stack, momentum, basis, mu, "orthonormal")


def momentum_doubled(stack, momentum, basis, mu=0.95, right="columns"):
    """What is kept is doubled."""
    state, traffic = dion_update(stack, momentum, basis, mu, right)
    return state._replace(momentum=2 * state.momentum), traffic


def safety_factor_left_out(stack, steps=5, iteration="muon", arithmetic="dtype"):
    """Polar Express begins with the matrix as long as 1.01."""
    if iteration != "polar_express" or steps < 5:
        return muon_update(stack, steps, iteration, arithmetic)
    update, traffic = muon_update(stack, 4, iteration)
    again, _ = muon_update(update, 1, "cubic")
    return again, traffic


def smallest_entries_sent(stack, own, estimate, k, steps=5, iteration="muon"):
    """The k smallest entries take the place of the largest."""
    x, held = np.asarray(stack, float), np.asarray(own, float)
    missing = (x - held).reshape(len(x), -1)
    where = np.argsort(np.abs(missing), axis=1, kind="stable")[:, :k]
    sent = np.zeros_like(missing)
    np.put_along_axis(sent, where, np.take_along_axis(missing, where, 1), 1)
    state, traffic = ef21_muon(stack, own, estimate, k, steps, iteration)
    return state._replace(own=held + sent.reshape(x.shape)), traffic


def one_entry_less(stack, own, estimate, k, steps=5, iteration="muon"):
    """An entry less is sent than was asked for, if any is left then."""
    return ef21_muon(stack, own, estimate, max(1, k - 1), steps, iteration)


def correction_twice(stack, own, estimate, k, steps=5, iteration="muon"):
    """What is sent is added twice."""
    state, traffic = ef21_muon(stack, own, estimate, k, steps, iteration)
    return state._replace(own=2 * state.own - own), traffic


def nothing_learnt(stack, own, estimate, k, steps=5, iteration="muon"):
    """What all would have of a rank stays as it was, and shrinks."""
    state, traffic = ef21_muon(stack, own, estimate, k, steps, iteration)
    return state._replace(own=-state.own), traffic


EXACT, SEARCH, EXTREMAL = Method.EXACT, Method.SEARCH, Method.EXTREMAL
_C = "orthogonal."
MUTANTS = (
    Mutant(coefficients_swapped, "muon_update", _C + "cubic.one_step", SEARCH),
    Mutant(one_iteration_less, "muon_update", _C + "cubic.converges", SEARCH),
    Mutant(one_iteration_more, "muon_update", _C + "muon.one", SEARCH),
    Mutant(not_divided_by_its_norm, "muon_update", _C + "muon.at_most", SEARCH),
    Mutant(polar_factor_of_it, "muon_update", _C + "muon.growth", SEARCH),
    Mutant(averages_the_first_two, "muon_update", _C + "cubic.one_step", SEARCH),
    Mutant(each_orthogonalised_first, "muon_update", _C + "muon.at_least", SEARCH),
    Mutant(shrinks_what_is_small, "muon_update", _C + "muon.at_least", SEARCH),
    Mutant(a_unit_further_out, "muon_update", _C + "muon.rounded_at_most", EXACT),
    Mutant(a_unit_further_in, "muon_update", _C + "muon.rounded_at_least", EXACT),
    Mutant(a_hundredth_larger, "muon_update", _C + "muon.below", SEARCH),
    Mutant(no_entry_above_one, "muon_update", _C + "muon.ones", SEARCH),
    Mutant(never_in_bfloat16, "muon_update", _C + "muon.amplified", Method.SAMPLE),
    Mutant(first_row_alone, "muon_update", _C + "muon.along", SEARCH),
    Mutant(keeps_everything, "dion_update", _C + "dion.keeps", SEARCH),
    Mutant(forgets_everything, "dion_update", _C + "dion.keeps", SEARCH),
    Mutant(momentum_not_added, "dion_update", _C + "dion.keeps", SEARCH),
    Mutant(columns_twice_as_long, "dion_update", _C + "dion.spectral", SEARCH),
    Mutant(first_column_alone, "dion_update", _C + "dion.size", SEARCH),
    Mutant(columns_whatever_is_asked_for, "dion_update", _C + "orth_dion.spectral", SEARCH),
    Mutant(orthonormal_whatever_is_asked_for, "dion_update", _C + "dion.aligned", SEARCH),
    Mutant(momentum_doubled, "dion_update", _C + "dion.mass", SEARCH),
    Mutant(safety_factor_left_out, "muon_update", _C + "polar_express.at_least", SEARCH),
    Mutant(smallest_entries_sent, "ef21_muon", _C + "matrix_topk.spectral", SEARCH),
    Mutant(one_entry_less, "ef21_muon", _C + "matrix_topk.nuclear", SEARCH),
    Mutant(correction_twice, "ef21_muon", _C + "matrix_topk.spectral", SEARCH),
    Mutant(nothing_learnt, "ef21_muon", _C + "matrix_topk.nuclear", SEARCH),
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
