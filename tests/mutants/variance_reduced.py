"""Broken twins of the column variance_reduced, each by one defect; and the right ones."""

from dataclasses import replace

import numpy as np
from zoo.right import SMALL

from commbounds.collectives.variance_reduced import (
    dasha_step,
    diana_step,
    lamb_warmup,
    lazy_step,
    marina_step,
    onebit_lamb,
    onebit_momentum,
    primal_step,
    zeroone_gradient,
    zeroone_local,
)
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants.record import Mutant

# --- DIANA -----------------------------------------------------------------------------------------------------------


def shifts_forgotten(stack, shifts, mean, k, weight, rng=None, **how):
    """The average shift is not added to what arrives."""
    state, traffic = diana_step(stack, shifts, mean, k, weight, rng, **how)
    return state._replace(estimate=state.estimate - mean), traffic


def gradients_compressed_whole(stack, shifts, mean, k, weight, rng=None, **how):
    """Gradients are compressed, not their differences from the shifts."""
    none = np.zeros_like(np.asarray(shifts))
    state, traffic = diana_step(stack, none, none[0], k, weight, rng, **how)
    return state._replace(shifts=shifts + state.shifts, mean=mean + state.mean), traffic


def not_multiplied(stack, shifts, mean, k, weight, rng=None, **how):
    """Random entries are sent as they are, not times n/k."""
    state, traffic = diana_step(stack, shifts, mean, k, weight, rng, **how)
    part = 1.0 if how.get("keep") == "largest" else k / np.asarray(stack).shape[1]
    return state._replace(estimate=mean + part * (state.estimate - mean)), traffic


def one_choice_for_all(stack, shifts, mean, k, weight, rng=None, *, keep="random", kept=None):
    """All ranks send the entries that the first has drawn."""
    kept = None if kept is None else np.repeat(np.asarray(kept)[:1], len(stack), axis=0)
    return diana_step(stack, shifts, mean, k, weight, rng, keep=keep, kept=kept)


def shifts_move_all_the_way(stack, shifts, mean, k, weight, rng=None, **how):
    """The shift takes the whole message, whatever its weight."""
    return diana_step(stack, shifts, mean, k, 1.0 if weight else 0.0, rng, **how)


def shifts_stand_still(stack, shifts, mean, k, weight, rng=None, **how):
    """The shifts never move."""
    state, traffic = diana_step(stack, shifts, mean, k, weight, rng, **how)
    return state._replace(shifts=np.array(shifts), mean=np.array(mean)), traffic


def last_rank_unheard(stack, shifts, mean, k, weight, rng=None, **how):
    """What the last of several ranks sends is left out of the sum, which is divided by all."""
    state, traffic = diana_step(stack, shifts, mean, k, weight, rng, **how)
    if len(stack) == 1 or not weight:
        return state, traffic
    message = (state.shifts[-1] - np.asarray(shifts)[-1]) / weight
    return state._replace(estimate=state.estimate - message / len(stack)), traffic


def indices_travel_free(stack, shifts, mean, k, weight, rng=None, **how):
    """Indices are not counted."""
    state, traffic = diana_step(stack, shifts, mean, k, weight, rng, **how)
    return state, replace(traffic, sent=traffic.sent // 2)


# --- MARINA ----------------------------------------------------------------------------------------------------------


def coin_ignored(stack, previous, estimate, k, full, rng=None, **how):
    """Whole gradients are never sent: when it is their turn the estimate stays as it is."""
    result, traffic = marina_step(stack, previous, estimate, k, full, rng, **how)
    return np.repeat(np.asarray(estimate)[None], len(stack), axis=0) if full else result, traffic


def whole_gradients_added(stack, previous, estimate, k, full, rng=None, **how):
    """Whole gradients are added to the estimate, as changes are."""
    result, traffic = marina_step(stack, previous, estimate, k, full, rng, **how)
    return result + estimate if full else result, traffic


def estimate_dropped(stack, previous, estimate, k, full, rng=None, **how):
    """Changes take the place of the estimate."""
    result, traffic = marina_step(stack, previous, estimate, k, full, rng, **how)
    return result if full else result - estimate, traffic


def changes_the_wrong_way(stack, previous, estimate, k, full, rng=None, **how):
    """Old gradients less new ones are sent."""
    result, traffic = marina_step(stack, previous, estimate, k, full, rng, **how)
    return result if full else 2 * np.asarray(estimate) - result, traffic


def whole_gradients_cost_nothing(stack, previous, estimate, k, full, rng=None, **how):
    """The words of a full step are not counted."""
    result, traffic = marina_step(stack, previous, estimate, k, full, rng, **how)
    return result, replace(traffic, sent=0 * traffic.sent) if full else traffic


# --- DASHA -----------------------------------------------------------------------------------------------------------


def nothing_brought_back(stack, previous, own, estimate, k, weight, rng=None, **how):
    """The weight is taken for zero."""
    return dasha_step(stack, previous, own, estimate, k, 0.0, rng, **how)


def error_of_the_new_gradient(stack, previous, own, estimate, k, weight, rng=None, **how):
    """What an estimate is off by is taken from the new gradient, not from the old one."""
    moved = np.asarray(own) - (np.asarray(stack) - np.asarray(previous))
    state, traffic = dasha_step(stack, previous, moved, estimate, k, weight, rng, **how)
    return state._replace(own=state.own + own - moved), traffic


def parts_not_kept(stack, previous, own, estimate, k, weight, rng=None, **how):
    """The workers' parts stay as they were."""
    state, traffic = dasha_step(stack, previous, own, estimate, k, weight, rng, **how)
    return state._replace(own=np.array(own)), traffic


# --- lazy aggregation ------------------------------------------------------------------------------------------------


def trigger_not_squared(stack, previous, own, estimate, k, trigger, **how):
    """Squared norms are compared by the square of the trigger."""
    return lazy_step(stack, previous, own, estimate, k, trigger**2, **how)


def silence_counts_as_sending(stack, previous, own, estimate, k, trigger, **how):
    """Those who are silent have their words counted."""
    state, traffic = lazy_step(stack, previous, own, estimate, k, trigger, **how)
    return state, replace(traffic, sent=np.full(len(stack), 2 * k * (len(stack) - 1)))


def silent_at_any_trigger(stack, previous, own, estimate, k, trigger, **how):
    """A rank is silent whenever its part is its last gradient."""
    state, traffic = lazy_step(stack, previous, own, estimate, k, trigger, **how)
    fresh = (np.asarray(own) == np.asarray(previous)).all(axis=1)
    return state._replace(sent=state.sent & ~fresh), traffic


def oldest_gradient_kept(stack, previous, own, estimate, k, trigger, **how):
    """Who sends does not keep what it has sent."""
    state, traffic = lazy_step(stack, previous, own, estimate, k, trigger, **how)
    return state._replace(own=np.array(own)), traffic


# --- EF21-P ----------------------------------------------------------------------------------------------------------


def weights_sent_for_differences(stack, weights, model, k, step_size):
    """The largest entries of the weights are added to the model, not those of the difference."""
    state, traffic = primal_step(stack, weights, model, k, step_size)
    moved = np.array(state.model)
    where = np.argsort(-np.abs(state.weights), kind="stable")[:k]
    moved[:] = model
    moved[:, where] += state.weights[where]
    return state._replace(model=moved), traffic


def gradients_added_up(stack, weights, model, k, step_size):
    """The step goes along the sum of the gradients, not along their mean; twice as far for one rank."""
    return primal_step(stack, weights, model, k, step_size * max(2, len(stack)))


def server_sends_once(stack, weights, model, k, step_size):
    """The server's message is counted once, for however many workers."""
    state, traffic = primal_step(stack, weights, model, k, step_size)
    sent = traffic.sent.copy()
    sent[0] = 2 * k * (len(stack) > 1)
    return state, replace(traffic, sent=sent)


# --- 1-bit momentum --------------------------------------------------------------------------------------------------


def other_scale(stack, momentum, worker_errors, server_errors, beta=0.9, scale="norm"):
    """Signs are multiplied by the mean magnitude where the norm is asked for, and the other way round."""
    other = {"norm": "mean", "mean": "norm"}[scale]
    return onebit_momentum(stack, momentum, worker_errors, server_errors, beta, other)


def momentum_forgotten(stack, momentum, worker_errors, server_errors, beta=0.9, scale="norm"):
    """Of the old momentum nothing is kept."""
    return onebit_momentum(stack, 0 * np.asarray(momentum), worker_errors, server_errors, beta, scale)


def server_forgets(stack, momentum, worker_errors, server_errors, beta=0.9, scale="norm"):
    """The server has no error feedback."""
    state, traffic = onebit_momentum(stack, momentum, worker_errors, 0 * server_errors, beta, scale)
    return state._replace(server_errors=0 * state.server_errors), traffic


def workers_forget(stack, momentum, worker_errors, server_errors, beta=0.9, scale="norm"):
    """Workers have no error feedback."""
    state, traffic = onebit_momentum(stack, momentum, 0 * worker_errors, server_errors, beta, scale)
    return state._replace(worker_errors=0 * state.worker_errors), traffic


def errors_grow(stack, momentum, worker_errors, server_errors, beta=0.9, scale="norm"):
    """What is left out is doubled before it is kept."""
    state, traffic = onebit_momentum(stack, momentum, worker_errors, server_errors, beta, scale)
    return state._replace(worker_errors=2 * state.worker_errors), traffic


def scales_travel_free(stack, momentum, worker_errors, server_errors, beta=0.9, scale="norm"):
    """Scales are not counted."""
    state, traffic = onebit_momentum(stack, momentum, worker_errors, server_errors, beta, scale)
    item = np.asarray(stack).dtype.itemsize
    return state, replace(traffic, sent=traffic.sent - 2 * (len(stack) - 1) * item)


# --- 0/1 Adam --------------------------------------------------------------------------------------------------------


def momentum_as_after_adam(*given, **how):
    """At an average the momentum is that of the ranks' last steps."""
    state, traffic = zeroone_local(*given, **how)
    if given[8]:
        beta = given[10] if len(given) > 10 else how.get("beta", 0.9)
        last = beta * np.asarray(given[2]) + (1 - beta) * np.asarray(given[0])
        state = state._replace(momentum=np.repeat(last.mean(axis=0)[None], len(last), axis=0))
    return state, traffic


def decay_kept_apart(*given, **how):
    """The decay is no part of what becomes the momentum."""
    state, traffic = zeroone_local(*given, **how)
    decay = how.get("decay", 0.0)
    if given[8] and decay:
        state = state._replace(momentum=state.momentum - decay * np.sqrt(given[4]) * np.asarray(given[1]))
    return state, traffic


def decay_twice(*given, **how):
    """The decay is added twice."""
    if len(given) > 11:
        return zeroone_local(*given[:11], 2 * given[11], *given[12:], **how)
    return zeroone_local(*given, **{**how, "decay": 2 * how.get("decay", 0.0)})


def weights_stay_local(*given, **how):
    """At an average the weights of every rank stay where its steps have led."""
    state, traffic = zeroone_local(*given, **how)
    if given[8]:
        state = state._replace(weights=zeroone_local(*given[:8], False, *given[9:], **how)[0].weights)
    return state, traffic


def errors_thrown_away(*given, **how):
    """No residual is kept."""
    state, traffic = zeroone_local(*given, **how)
    return state._replace(worker_errors=0 * state.worker_errors), traffic


def silent_weights_rest(*given, **how):
    """Weights without variance do not move."""
    state, traffic = zeroone_local(*given, **how)
    return state._replace(weights=np.where(np.asarray(given[4]) > 0, state.weights, given[1])), traffic


def averages_every_step(*given, **how):
    """Ranks average at every step."""
    return zeroone_local(*given[:8], True, *given[9:], **how)


def interval_triples(*given, **how):
    """The interval of the variance triples."""
    state, traffic = zeroone_gradient(*given, **how)
    clock = state.clock.copy()
    clock[1] += (clock[1] != given[5][1]) * clock[1] // 2
    return state._replace(clock=clock), traffic


def always_fresh(*given, **how):
    """The variance is refreshed at every step."""
    state, traffic = zeroone_gradient(*given[:5], [given[5][0], 1, 0], *given[6:], **how)
    return state._replace(clock=np.array([state.clock[0], 1, 0])), traffic


def whole_gradients_travel_free(*given, **how):
    """Whole gradients are not counted."""
    state, traffic = zeroone_gradient(*given, **how)
    free = any(name.startswith("whole") for name in traffic.phases)
    return state, replace(traffic, sent=0 * traffic.sent) if free else traffic


def one_refresh_too_many(*given, **how):
    """The interval doubles after a refresh more."""
    return zeroone_gradient(*given[:6], given[6] + 1, *given[7:], **how)


# --- 1-bit LAMB ------------------------------------------------------------------------------------------------------


def average_corrected(*given, **how):
    """The average of coefficients is corrected for having begun with zero."""
    state, traffic = lamb_warmup(*given, **how)
    first = 0 if np.any(given[4]) else how["coefficient_beta"]
    return state._replace(trust=state.trust / (1 - first)), traffic


def coefficients_uncut(*given, **how):
    """The coefficient's upper bound is ignored."""
    return lamb_warmup(*given, **{**how, "coefficient_max": 2.0**40})


def _onebit(stack, how, **changed):
    return onebit_lamb(stack, **{**how, **changed})


def layers_as_they_are(stack, **how):
    """Layers are fused without their coefficients."""
    return _onebit(stack, how, coefficients=np.ones(len(how["coefficients"])))


def coefficients_left_in(stack, **how):
    """Momenta are not divided by the coefficients again."""
    state, traffic = onebit_lamb(stack, **how)
    each, n = np.repeat(how["coefficients"], how["layers"]), len(how["weights"])
    held = state.momentum.copy()
    held[:, :n] *= each
    return state._replace(momentum=held), traffic


def one_scale_of_all_entries(stack, **how):
    """Layers are brought to one largest entry in place of one root mean square."""
    parts = np.split(np.asarray(how["momentum"])[: len(how["weights"])], np.cumsum(how["layers"])[:-1])
    if np.all(how["coefficients"] == 1.0):
        return onebit_lamb(stack, **how)
    return _onebit(stack, how, coefficients=np.array([1 / np.abs(part).max() for part in parts]))


def factor_follows_at_once(stack, **how):
    """The factor may change by any share in a step."""
    return _onebit(stack, how, threshold=0.984375 if how.get("threshold", 0.1) else 0.0)


def factor_rises_alone(stack, **how):
    """The factor's upper bound is ignored."""
    return _onebit(stack, how, factor_max=64.0)


def factor_never_fresh(stack, **how):
    """The fresh variance forgets at once."""
    return _onebit(stack, how, second_beta=0.03125)


def worker_errors_dropped(stack, **how):
    """Workers have no error feedback."""
    state, traffic = _onebit(stack, how, worker_errors=0 * how["worker_errors"])
    return state._replace(worker_errors=0 * state.worker_errors), traffic


def errors_divided_too(stack, **how):
    """Workers' errors are divided by the first layer's coefficient, as the momentum is."""
    state, traffic = onebit_lamb(stack, **how)
    return state._replace(worker_errors=state.worker_errors / how["coefficients"][0]), traffic


def gradient_rebuilt_twice(stack, **how):
    """The reconstructed gradient is multiplied by two."""
    state, traffic = onebit_lamb(stack, **how)
    second = how.get("second_beta", 0.999)
    return state._replace(fresh=4 * state.fresh - 3 * second * np.asarray(how["fresh"])), traffic


def factor_left_out(stack, **how):
    """The step is taken with the frozen coefficient alone."""
    state, traffic = onebit_lamb(stack, **how)
    still, _ = _onebit(stack, how, threshold=0.0)
    return state._replace(weights=still.weights), traffic


def mask_ignored(stack, **how):
    """What is to be masked is not."""
    return _onebit(stack, how, mask=None)


def two_workers_at_most(stack, **how):
    """From the third on, what a worker brings is what the first one brings."""
    brought = np.array(stack)
    brought[2:] = brought[:1]
    return onebit_lamb(brought, **how)


def two_layers_at_most(stack, **how):
    """From the third on, layers have the frozen coefficient of the first one."""
    trust = np.array(how["trust"])
    trust[2:] = trust[0]
    return _onebit(stack, how, trust=trust)


def layers_share_a_factor(stack, **how):
    """From the third on, layers are said to have the factor of the first one, but for half a threshold."""
    state, traffic = onebit_lamb(stack, **how)
    factors = state.factors.copy()
    factors[2:] = factors[0] * (1 - how.get("threshold", 0.1) / 2)
    return state._replace(factors=factors), traffic


def mask_for_two_workers(stack, **how):
    """With three workers or more what is to be masked is not."""
    return _onebit(stack, how, mask=how.get("mask") if len(stack) < 3 else None)


def padding_travels_free(stack, **how):
    """Padded entries are not counted."""
    state, traffic = onebit_lamb(stack, **how)
    P, n = np.asarray(stack).shape
    return state, replace(traffic, sent=traffic.sent - 2 * (P - 1) * ((len(state.server_errors) - n) // (8 * P)))


EXACT, SEARCH = Method.EXACT, Method.SEARCH
_C = "variance_reduced."
MUTANTS = (
    Mutant(shifts_forgotten, "diana_step", _C + "diana.unbiased", EXACT),
    Mutant(gradients_compressed_whole, "diana_step", _C + "diana.variance", EXACT),
    Mutant(not_multiplied, "diana_step", _C + "diana.unbiased", EXACT),
    Mutant(one_choice_for_all, "diana_step", _C + "diana.variance", EXACT),
    Mutant(shifts_move_all_the_way, "diana_step", _C + "diana.shift", EXACT),
    Mutant(shifts_stand_still, "diana_step", _C + "diana.shift_target", EXACT),
    Mutant(last_rank_unheard, "diana_step", _C + "diana.weight_one", EXACT),
    Mutant(indices_travel_free, "diana_step", _C + "diana.words", EXACT),
    Mutant(coin_ignored, "marina_step", _C + "marina.error", EXACT),
    Mutant(whole_gradients_added, "marina_step", _C + "marina.bias", EXACT),
    Mutant(estimate_dropped, "marina_step", _C + "marina.mean_error", EXACT),
    Mutant(changes_the_wrong_way, "marina_step", _C + "marina.descent_sharp", EXACT),
    Mutant(whole_gradients_cost_nothing, "marina_step", _C + "marina.words", EXACT),
    Mutant(nothing_brought_back, "dasha_step", _C + "dasha.bias", EXACT),
    Mutant(error_of_the_new_gradient, "dasha_step", _C + "dasha.error", EXACT),
    Mutant(parts_not_kept, "dasha_step", _C + "dasha.part_error", EXACT),
    Mutant(trigger_not_squared, "lazy_step", _C + "lag.error", EXACT),
    Mutant(silence_counts_as_sending, "lazy_step", _C + "lag.words", EXACT),
    Mutant(silent_at_any_trigger, "lazy_step", _C + "lag.never_silent", EXACT),
    Mutant(oldest_gradient_kept, "lazy_step", _C + "clag.error", EXACT),
    Mutant(weights_sent_for_differences, "primal_step", _C + "ef21p.gap", EXACT),
    Mutant(gradients_added_up, "primal_step", _C + "ef21p.descent", EXACT),
    Mutant(server_sends_once, "primal_step", _C + "ef21p.words", EXACT),
    Mutant(other_scale, "onebit_momentum", _C + "onebit.error", SEARCH),
    Mutant(server_forgets, "onebit_momentum", _C + "onebit.nothing_lost", EXACT),
    Mutant(momentum_forgotten, "onebit_momentum", _C + "onebit.nothing_lost", EXACT),
    Mutant(workers_forget, "onebit_momentum", _C + "onebit.nothing_lost", EXACT),
    Mutant(errors_grow, "onebit_momentum", _C + "onebit.silent_entry", SEARCH),
    Mutant(momentum_as_after_adam, "zeroone_local", _C + "zeroone.kept", SEARCH),
    Mutant(decay_kept_apart, "zeroone_local", _C + "zeroone.decay_momentum", SEARCH),
    Mutant(decay_twice, "zeroone_local", _C + "zeroone.decay_tenfold", SEARCH),
    Mutant(weights_stay_local, "zeroone_local", _C + "zeroone.nothing_lost", SEARCH),
    Mutant(errors_thrown_away, "zeroone_local", _C + "zeroone.nothing_lost", SEARCH),
    Mutant(silent_weights_rest, "zeroone_local", _C + "zeroone.silent_move", SEARCH),
    Mutant(averages_every_step, "zeroone_local", _C + "zeroone.step_bytes", EXACT),
    Mutant(interval_triples, "zeroone_gradient", _C + "zeroone.gap", EXACT),
    Mutant(one_refresh_too_many, "zeroone_gradient", _C + "zeroone.gap", EXACT),
    Mutant(always_fresh, "zeroone_gradient", _C + "zeroone.refreshes", EXACT),
    Mutant(whole_gradients_travel_free, "zeroone_gradient", _C + "zeroone.run_bytes", EXACT),
    Mutant(scales_travel_free, "onebit_momentum", _C + "onebit.bytes", EXACT),
    Mutant(average_corrected, "lamb_warmup", _C + "lamb.frozen_share", SEARCH),
    Mutant(coefficients_uncut, "lamb_warmup", _C + "lamb.frozen_share", SEARCH),
    Mutant(layers_as_they_are, "onebit_lamb", _C + "lamb.scaled_share", SEARCH),
    Mutant(coefficients_left_in, "onebit_lamb", _C + "lamb.scale_moves", SEARCH),
    Mutant(one_scale_of_all_entries, "onebit_lamb", _C + "lamb.at_most_double", SEARCH),
    Mutant(factor_follows_at_once, "onebit_lamb", _C + "lamb.fall", SEARCH),
    Mutant(factor_rises_alone, "onebit_lamb", _C + "lamb.rise", SEARCH),
    Mutant(factor_never_fresh, "onebit_lamb", _C + "lamb.rise", SEARCH),
    Mutant(worker_errors_dropped, "onebit_lamb", _C + "lamb.nothing_lost", SEARCH),
    Mutant(errors_divided_too, "onebit_lamb", _C + "lamb.leak", SEARCH),
    Mutant(gradient_rebuilt_twice, "onebit_lamb", _C + "lamb.reconstructed", SEARCH),
    Mutant(factor_left_out, "onebit_lamb", _C + "lamb.step_length", SEARCH),
    Mutant(mask_ignored, "onebit_lamb", _C + "lamb.masked", SEARCH),
    Mutant(two_workers_at_most, "onebit_lamb", _C + "lamb.nothing_lost", SEARCH),
    Mutant(two_layers_at_most, "onebit_lamb", _C + "lamb.nothing_lost", SEARCH),
    Mutant(layers_share_a_factor, "onebit_lamb", _C + "lamb.leak", SEARCH),
    Mutant(mask_for_two_workers, "onebit_lamb", _C + "lamb.masked", SEARCH),
    Mutant(padding_travels_free, "onebit_lamb", _C + "lamb.bytes", EXACT),
)


def _control(way):
    """What keeps all entries is the mean, on every rank."""

    def run(stack, seed):
        x = np.asarray(stack)
        zero, n = np.zeros_like(x), x.shape[1]
        if way == "diana":
            state, traffic = diana_step(x, zero, zero[0], n, 1.0, keep="largest")
            rows = state.estimate
        else:
            rows, traffic = marina_step(x, zero, zero[0], n, way == "marina, full", keep="largest")
        return cf.AllReduceResult(rows, traffic.sent, traffic.received)

    return cf.AllReduce(run, [cf.RanksAgree()], name=f"{way}, all entries", **SMALL)


CONTROLS = tuple(map(_control, ("diana", "marina", "marina, full")))
"""Right ones, with what is asked of them, for the conformance kit."""
