"""What steps of compression with memory say of the symbols of their models."""

import math
from fractions import Fraction

import numpy as np
from model_runs import Run

from commbounds.collectives import lamb_warmup
from commbounds.collectives.variance_reduced import fused_scales
from commbounds.verify.experiments.feedback.runs import lifted, root, square
from commbounds.verify.experiments.variance_reduced.enumeration import choices, mean_square, ranks_mean
from commbounds.verify.experiments.variance_reduced.lamb import _parts, _squares, _state
from commbounds.verify.experiments.variance_reduced.zeroone import LOCALS

# --- Rand-K -----------------------------------------------------------------------------------------------------------


def rand_k(x, n, k):
    """An entry of the input."""
    return {"n": n, "k": k, "entry": float(x.ravel()[0])}


def workers(errors):
    """One worker more: its error, and that of the sum of those before, over all choices; errors are (ways, P, n)."""
    for i in range(1, errors.shape[1]):
        yield {"total": errors[:, :i].sum(axis=1)[:, None], "e": errors[:, i : i + 1]}


def averages(omega, V, P, of_average):
    """Squared errors of all workers, by that of their average: independent errors' add up."""
    yield {"P": P, "V": V, "omega": omega, "total": P**2 * of_average}


def many(vectors):
    """Mean square over outcomes and workers."""
    return square(vectors) / Fraction(vectors.size // vectors.shape[-1])


def shift_errors(implementation, g, h, k, weight, exact):
    """Errors of compressed differences, (ways, P, n): what shifts moved by, over the weight, less the differences."""
    P, n = g.shape
    mean, found = np.asarray(h.mean(axis=0), np.float64), []
    for kept in choices(P, n, k):
        state, _ = implementation(np.asarray(g, np.float64), np.asarray(h, np.float64), mean, k, float(weight),
                                  kept=kept)  # fmt: skip
        found.append((lifted(state.shifts, exact) - h) / (weight if exact else float(weight)) - (g - h))
    return np.array(found)


# --- DIANA ------------------------------------------------------------------------------------------------------------


def diana(implementation, x, n, k, P, weight, omega, exact):
    if not exact or weight == 0:
        return
    g, h, target = lifted(x[:3], True)
    errors = shift_errors(implementation, g, h, k, weight, True)
    yield rand_k(x, n, k)
    yield from workers(errors)
    yield from averages(omega, mean_square(g - h), P, many(errors.mean(axis=1)[:, None]))
    yield {"d": h - g, "e": errors, "omega": omega, "weight": weight}
    yield {"g": g - target, "h": h - target, "e": errors, "omega": omega, "weight": weight}


def some_of(function, *needed):
    """The runs of a function that say something of these symbols."""

    def runs(**known):
        return (run for run in function(**known) if set(needed) <= set(run))

    return runs


def of_diana_descent(implementation, at, g, held, bowls, gamma, weight, omega, P, n, k, exact, facts):
    """The potential of DIANA at the minimiser zero, where the workers' gradients are `bowls.linear`."""
    g, h, x = lifted(g, exact), lifted(held, exact), lifted(at, exact)
    a = Fraction(weight)
    names = ("smoothness", "largest_smoothness", "leastconvexity")
    known = {"P": P, "omega": omega, "stepsize": gamma, "weight": a, **{name: facts[name] for name in names}}
    differences = {
        "x": x, "d": x, "g": ranks_mean(g), "D": bowls.excess(x), "A": mean_square(g - bowls.linear),
        "sigma": facts["shift_error"], "V": mean_square(g - h), "r": gamma**2 * omega / P,
    }  # fmt: skip
    return known, differences, (g, h)


def rate(implementation, at, g, held, bowls, gamma, weight, omega, P, n, k, exact, facts):
    if not exact:
        return
    known, found, _ = of_diana_descent(implementation, at, g, held, bowls, gamma, weight, omega, P, n, k, exact, facts)
    yield {**known, **found, "rho": max(1 - gamma * known["leastconvexity"], 1 - known["weight"] / 2)}


def rate_sharp(implementation, x, at, g, held, bowls, gamma, weight, omega, P, n, k, exact, facts):
    left = 1 - weight * (1 + omega)
    if not exact or left <= 0:
        return
    known, found, (own, h) = of_diana_descent(
        implementation, at, g, held, bowls, gamma, weight, omega, P, n, k, exact, facts
    )
    errors = shift_errors(implementation, own, h, k, weight, True)
    yield rand_k(x, n, k)
    yield from workers(errors)
    yield from averages(omega, found["V"], P, many(errors.mean(axis=1)[:, None]))
    c, rho = gamma**2 * omega / (P * weight * left), max(1 - gamma * known["leastconvexity"], 1 - weight)
    yield {**known, **found, "step": gamma, "c": c, "ratio": omega / P, "rho": rho}


# --- MARINA -----------------------------------------------------------------------------------------------------------


def turn_errors(implementation, after, before, estimate, k, exact):
    """Errors of every worker's compressed turn, (ways, P, n): those of steps in which no other gradient turns."""
    P, n = after.shape
    found = np.zeros((0, P, n))
    rows = []
    for kept in choices(P, n, k):
        row = []
        for i in range(P):
            new = before.copy()
            new[i] = after[i]
            result, _ = implementation(new, before, estimate, k, False, kept=kept)
            row.append(P * (lifted(result[0], exact) - lifted(estimate, exact)) - lifted(after[i] - before[i], exact))
        rows.append(row)
    return np.array(rows) if rows else found


def of_marina(implementation, after, before, estimate, k, omega, p, exact):
    """All that is said of one step from an estimate."""
    P, n = after.shape
    errors = turn_errors(implementation, after, before, estimate, k, exact)
    together = np.array([
        lifted(implementation(after, before, estimate, k, False, kept=kept)[0][0], exact)
        - lifted(estimate, exact) - ranks_mean(lifted(after, exact) - lifted(before, exact))
        for kept in choices(P, n, k)
    ])  # fmt: skip
    V = mean_square(lifted(after, exact) - lifted(before, exact))
    d = lifted(estimate, exact) - ranks_mean(lifted(before, exact))
    yield {"n": n, "k": k, "entry": Fraction(float(after[0, 0]))}
    yield from workers(errors)
    yield from averages(omega, V, P, many(together[:, None]))
    yield {"P": P, "V": V, "omega": omega, "full_probability": p, "d": d, "e": together[:, None]}


def marina(implementation, x, k, full_probability, omega, exact):
    if exact:
        yield from of_marina(implementation, x[0], x[1], x[3, 0], k, omega, full_probability, True)


def _tracking(own, before, new, after, bowls, facts, gamma, omega, P):
    """Estimate and gradient at the point, and the excess before and after the step."""
    names = ("smoothness", "smoothness_apart")
    return {
        "g": ranks_mean(own), "h": ranks_mean(before), "V": mean_square(after - before), "P": P, "omega": omega,
        "after": bowls.excess(new), "excess": facts["excess_before"], "stepsize": gamma,
        **{name: facts[name] for name in names},
    }  # fmt: skip


def marina_descent(own, before, new, after, bowls, facts, gamma, omega, P, full_probability, exact):
    if not exact:
        return
    values = _tracking(*(lifted(v, True) for v in (own, before)), new, lifted(after, True), bowls, facts, gamma,
                       omega, P)  # fmt: skip
    p = full_probability
    yield {**values, "full_probability": p, "root": root(Fraction((1 - p) * omega, p * P))}


def marina_sharp(implementation, own, before, new, after, bowls, facts, gamma, omega, P, k, full_probability, exact):
    if not exact:
        return
    yield from marina_descent(own, before, new, after, bowls, facts, gamma, omega, P, full_probability, exact)
    yield from of_marina(implementation, after, before, ranks_mean(own), k, omega, full_probability, True)


# --- DASHA ------------------------------------------------------------------------------------------------------------


def dasha(implementation, x, k, P, n, weight, omega, exact, own):
    if not exact:
        return
    g, before, held, mean, a = *lifted(x[:2], True), lifted(own, True), ranks_mean(own), weight
    offered, rows = g - before - a * (held - before), []
    for kept in choices(P, n, k):
        state, _ = implementation(x[0], x[1], own, mean, k, float(weight), kept=kept)
        rows.append(lifted(state.own, True) - held - offered)
    errors, V = np.array(rows), mean_square(offered)
    yield rand_k(x, n, k)
    yield from workers(errors)
    together = errors.mean(axis=1)[:, None]
    yield from averages(omega, V, P, many(together))
    known = {"P": P, "omega": omega, "weight": a}
    yield {**known, "V": V, "d": ranks_mean(held) - ranks_mean(before), "e": together}
    yield {**known, "d": held - before, "y": g - before, "e": errors}


def dasha_descent(own, before, new, after, bowls, facts, gamma, omega, P, n, k, weight, roundings):
    values = _tracking(*(np.asarray(v, float) for v in (own, before, new, after)), bowls, facts, gamma, omega, P)
    a = k / (2 * n - k)
    y = float(facts["smoothness_apart"]) * float(gamma) * math.sqrt(omega * (4 * omega + 1) / P)
    M = mean_square(after - before - float(weight) * (own - before))
    yield Run({**values, "a": a, "M": M, "sigma": facts["part_gap"]}, roundings)
    known = {"P": P, "a": a, "smoothness_apart": values["smoothness_apart"], "stepsize": gamma}
    yield Run({**known, "y": y, "u": float(facts["smoothness"]) * float(gamma)}, roundings)


# --- lazy aggregation -------------------------------------------------------------------------------------------------


def lazy(found, g, previous, own, k, n, trigger, exact):
    """Worker by worker."""
    if not exact or math.isqrt((n - k) * n) ** 2 != (n - k) * n:
        return
    left = lifted(found[0].own, True) - g
    for i in range(len(g)):
        y, known = g[i] - lifted(previous[i], True), {"trigger": trigger, "q": Fraction(math.isqrt((n - k) * n), n)}
        if found[0].sent[i]:
            yield {**known, "d": lifted(previous[i] - own[i], True), "y": y, "new": left[i]}
        else:
            before = lifted(previous[i] - own[i], True)
            yield {**known, "y": y, "new": left[i], "d": before}


def lag(found, g, previous, exact, trigger):
    if exact:
        for i, left in enumerate(lifted(found[0].own, True) - g):
            y = g[i] - lifted(previous[i], True)
            yield {"trigger": trigger, "y": y, **({} if found[0].sent[i] else {"d": left})}


# --- EF21-P -----------------------------------------------------------------------------------------------------------


def primal(found, at, held, gradients, bowls, facts, k, n, gamma, exact):
    if not exact or math.isqrt((n - k) * n) ** 2 != (n - k) * n:
        return
    weights, model = found
    start, seen = lifted(at, True), lifted(held, True)
    yield {
        "q": Fraction(math.isqrt((n - k) * n), n), "d": start - seen, "y": weights - start, "new": model - weights,
        "g": ranks_mean(lifted(gradients, True)), "h": ranks_mean(bowls.gradients(start)), "stepsize": gamma,
        "after": bowls.excess(weights), "delta": facts["model_gap"], "excess": facts["excess_before"],
        "smoothness": facts["smoothness"],
    }  # fmt: skip


# --- signs ------------------------------------------------------------------------------------------------------------


def signs(implementation, x, scale):
    """The scale is what every entry and its error are apart."""
    row = np.atleast_2d(x)[0]
    if x.dtype != np.float64 or scale != "norm":
        return
    zero = np.zeros_like(np.atleast_2d(x))
    state, _ = implementation(np.atleast_2d(x), zero[0], zero, zero[0], 0.0, scale)
    sent = abs(float((row - state.worker_errors[0])[0]))
    norm1, norm2 = float(np.abs(row).sum()), math.sqrt(math.fsum((row * row).tolist()))
    yield Run({"norm1": norm1, "norm2": norm2, "r": math.sqrt(row.size), "s": sent}, 8 * row.size + 16)


def silent(implementation, settings, P, n, quiet, beta, seed, outcome):
    """Step by step: the largest of the silent entries' errors before, and the step's scale."""
    s, rng = settings, np.random.default_rng(seed)
    u, errors, served = np.zeros(n), np.zeros((P, n)), np.zeros(n)
    fixed = rng.integers(1, 6, (P, n)).astype(np.float64) if s["size"] is None else np.full((P, n), float(s["size"]))
    for t in range(s["onebit_steps"]):
        x = fixed.copy() if s["fixed"] else 16.0 * rng.integers(-5, 6, (P, n))
        if s["made_up"]:
            return
        x[:, n - quiet :] = 0.0
        before = errors[0, n - 1]
        offered = float(beta) * u + (1 - float(beta)) * x[0] + errors[0]
        state, _ = implementation(x, u, errors, served, float(beta), s["scale"])
        u, errors, served = state.momentum[0], state.worker_errors, state.server_errors
        moved = abs(float(offered[n - 1] - errors[0, n - 1]))
        if t and not u[n - 1]:
            return  # its momentum is what the claim has not
        yield Run(
            {"e_": abs(float(before)), "s_": moved, "largest_scale": outcome.values["largest_scale"]}, 8 * (8 + n)
        )


def momentum(implementation, P, n, beta, gamma, onebit_steps, scale, exact, seed):
    """Entry by entry of a run of exact numbers, in the unit in which weights move."""
    if not exact:
        return
    rng = np.random.default_rng([seed, P, n])
    u, errors, served = 64.0 * rng.integers(-3, 4, n), np.zeros((P, n)), np.zeros(n)
    start = lifted(u, True)
    for _ in range(onebit_steps):
        g = 64.0 * rng.integers(-4, 5, (P, n))
        state, _ = implementation(g, u, errors, served, float(beta), scale)
        before = lifted(u, True), ranks_mean(lifted(errors, True)) + lifted(served, True)
        u, errors, served = np.asarray(state.momentum[seed % P]), state.worker_errors, state.server_errors
        left, more = ranks_mean(lifted(errors, True)) + lifted(served, True), ranks_mean(lifted(g, True))
        assert (beta * before[0] + (1 - beta) * more + before[1] - left == lifted(u, True)).all()
        for j in range(n):
            yield {
                "u": before[0][j], "e": before[1][j], "left": left[j], "more": more[j], "start": start[j],
                "first": Fraction(0), "momentum_factor": beta,
            }  # fmt: skip


# --- 0/1 Adam ---------------------------------------------------------------------------------------------------------


def averaged_weights(implementation, settings, P, n, seed):
    """One step with an average, entry by entry."""
    rng = np.random.default_rng([seed, 2])
    x, u = np.tile(rng.standard_normal(n), (P, 1)), np.tile(rng.standard_normal(n), (P, 1))
    v, errors, served = rng.random(n) + 0.25, rng.standard_normal((P, n)), rng.standard_normal(n)
    gamma, beta, g = float(settings["stepsize"]), float(settings["momentum_factor"]), rng.standard_normal((P, n))
    state, _ = implementation(g, x, u, np.zeros((P, n)), v, errors, served, np.zeros(1), True, gamma, beta, 0.0, 0.0,
                              settings["scale"])  # fmt: skip
    new, spread = np.sqrt(v), np.asarray(state.weights[seed % P])
    moved = gamma * (beta * u + (1 - beta) * g).mean(axis=0)
    left = state.worker_errors.mean(axis=0) + state.server_errors
    for j in range(n):
        yield Run(
            {"root": float(new[j]), "moved": float(moved[j]), "sent": float(new[j] * (x[0, j] - spread[j])),
             "left": float(left[j]), "e": float((errors.mean(axis=0) + served)[j])},
            64 * (n + P),
        )  # fmt: skip


def silent_move(outcome, settings, n, gradient_norm):
    names = ("stepsize", "momentum_factor", "adam_epsilon")
    values = {name: settings[name] for name in names}
    far = float(outcome.measured) * float(settings["adam_epsilon"])
    yield Run({**values, "gradient_norm": gradient_norm, "r": math.sqrt(n), "scale": far},
              round(outcome.slack / max(float(outcome.measured), 1e-300) / 2.0**-52) + 64)  # fmt: skip


def decays(settings, implementation, P, seed, averages):
    """What momentum and weights became after an average, in the claim's units, and after one more."""
    if not (settings["decayed"] and settings["flat"]):
        return
    decay, step = float(settings["adam_decay"]), float(settings["stepsize"])
    found = [LOCALS._found(implementation, LOCALS.case({**settings, "averages": S})) for S in (averages, averages + 1)]

    def momentum(f):
        return abs(float(f["u"][seed % P, 0])) / (decay * f["root"][0] * f["first"][0][0])

    def weights(f):
        return float(f["x"][seed % P, 0] / f["first"][0][0])

    def lost(f):
        return (1 - weights(f)) / (step * decay)

    before, after = found
    yield Run(
        {"averages": averages, "momentum": momentum(before), "later": momentum(after), "weights": weights(before),
         "lost": lost(before), "after": lost(after), "momentum_factor": settings["momentum_factor"]},
        round(2**12 / (step * decay)),
    )  # fmt: skip


def step_bytes(outcome, P, n, local_steps):
    if P > 1:
        values = {"P": P, "n": n, "local_steps": local_steps, "scalebytes": outcome.values["scalebytes"]}
        yield {**values, "block": Fraction(outcome.measured) * local_steps / (2 * (P - 1)) - values["scalebytes"]}


def run_bytes(study, implementation, case, P, n, zeroone_steps, outcome):
    """What the last step added, which refreshed the variance or did not."""
    if P == 1 or zeroone_steps == 1 or n % (8 * P):
        return
    less = study.family._found(implementation, study.family.case({**case.settings, "zeroone_steps": zeroone_steps - 1}))
    size = outcome.values["scalebytes"]
    added, more = outcome.measured - less["sent"], outcome.values["refreshed"] - len(less["steps"])
    block, whole = Fraction(n, 8 * P), Fraction(n, P)
    if more:
        whole = Fraction(added, 2 * (P - 1) * size)
    else:
        block = Fraction(added, 2 * (P - 1)) - size
    yield {"P": P, "n": n, "zeroone_steps": zeroone_steps - 1, "refreshed": len(less["steps"]), "scalebytes": size,
           "block": block, "whole": whole}  # fmt: skip


def layered(implementation, x, layer, scale, outcome):
    row, zero = np.atleast_2d(x)[0].astype(np.float64), np.zeros((1, x.size))
    state, _ = implementation(row[None], zero[0], zero, zero[0], 0.0, scale)
    part, left = row[:layer], state.worker_errors[0][:layer]
    norm2 = math.sqrt(math.fsum((part * part).tolist()))
    if scale == "norm":
        yield Run(
            {"norm1": float(np.abs(part).sum()), "norm2": norm2, "r": math.sqrt(layer),
             "s": abs(float(part[0] - left[0])), "scale_ratio": outcome.values["scale_ratio"],
             "flatness": outcome.values["flatness"]},
            64 * row.size,
        )  # fmt: skip


# --- 1-bit LAMB -------------------------------------------------------------------------------------------------------


def _message_scale(found, rows, name):
    """What entries and their errors are apart, in the unit of the first layer."""
    return abs(float(rows[0][0] - found[name][0]))


def scaled_share(found, rows, part, layers, n, fused_length, scale, P):
    if scale != "norm" or P == 1:
        return
    layer, left = rows[part], _parts(found["scaled"], layers)[part]
    norm2 = math.sqrt(_squares(layer))
    norm1 = float(np.abs(layer).sum())
    yield Run(
        {"norm1": norm1, "norm2": norm2, "r": math.sqrt(layer.size), "q": math.sqrt(n / fused_length),
         "s": abs(float(layer[0] - left[0])), "flatness": norm1 / (math.sqrt(layer.size) * norm2)},
        64 * n,
    )  # fmt: skip


def equally_flat(found, rows, n, flatness, fused_length, scale, P):
    if scale == "norm" and P > 1 and n == fused_length:
        own = [math.sqrt(_squares(row) / row.size) for row in rows]
        Q, R = (sum(row.size * s**power for row, s in zip(rows, own, strict=True)) for power in (2, 1))
        yield Run({"Q": Q, "R": R, "s": _message_scale(found, rows, "plain"), "n": n, "flatness": flatness}, 64 * n)


def at_most_double(found, rows, n, flatness, P):
    s = _message_scale(found, rows, "plain")
    for row in rows:
        own = math.sqrt(_squares(row) / row.size)
        yield Run({"N": row.size, "own": own, "a": float(np.abs(row).mean()), "s": s, "flatness": flatness}, 64 * n)


def reconstructed(found, momentum_factor, outcome):
    for x, y in zip(found["before"].tolist(), found["after"].tolist(), strict=True):
        names = ("size_before", "size_after")
        yield {"x": x, "y": y, "momentum_factor": momentum_factor, **{name: outcome.values[name] for name in names}}


def step_length(found, outcome):
    names = ("frozen_trust", "lamb_factor", "least_root", "size_after", "stepsize")
    values = {name: outcome.values[name] for name in names}
    for after, root_ in zip(found["after"].tolist(), found["root"].tolist(), strict=True):
        yield {**values, "y": abs(after), "root": root_}


def saved(P, n, dtype, lamb_steps, lamb_warm, fused_length, scalebytes):
    """The bytes of a step of the warm-up are those that the kernel sends."""
    x, layers = np.ones((P, n), dtype), (1, n - 1) if n > 1 else (1,)
    sent = int(lamb_warmup(x, x[0], x[0], x[0], np.zeros(len(layers)), layers)[1].sent.max())
    if n % P == 0:
        assert sent == 2 * (P - 1) * n * scalebytes // P
        yield {"P": P, "n": n, "fused_length": fused_length, "scalebytes": scalebytes, "lamb_warm": lamb_warm,
               "later": lamb_steps - lamb_warm}  # fmt: skip


def _lamb_steps(implementation, settings):
    """Steps of a run from normal numbers: what all entries, and the last layer's factor, are before and after each."""
    s, P, layers = settings, settings["P"], settings["layers"]
    n, beta = sum(layers), float(settings["momentum_factor"])
    rng = np.random.default_rng([s["seed"], P, n])
    u, x = rng.standard_normal(n), rng.standard_normal(n)
    variance, mask, epsilon = 4.0 ** rng.integers(-1, 2, n), np.ones(n, np.bool_), 0.0
    if s["masked"]:
        u[-1], variance[-1], mask[-1], epsilon = 0.0, 0.0, False, 2.0**-20
    scales = fused_scales(u, layers)
    given = _state(u, P, layers, weights=x, variance=variance, fresh=variance, coefficients=scales)
    options = {"step_size": 0.125, "beta": beta, "second_beta": float(s["second_factor"]), "epsilon": epsilon,
               "decay": float(s["loss"]), "threshold": float(s["lamb_threshold"]), "scale": s["scale"],
               "factor_min": float(s["factor_least"]), "factor_max": float(s["factor_most"]), "mask": mask}  # fmt: skip
    size = {"zero": 0.0, "large": 64.0}.get(s["gradients"], 1.0)
    each, m = np.repeat(scales, layers), given["momentum"].size

    def errors():
        return (given["worker_errors"].mean(axis=0) + given["server_errors"])[:n] / each

    for _ in range(s["lamb_steps"]):
        g = size * rng.standard_normal((P, n)) * mask
        before = given["momentum"][:n], errors(), given["factors"][-1], np.sqrt(given["fresh"])
        state, _ = implementation(g, **given, **options)
        given |= {"weights": state.weights[0], "momentum": state.momentum[0], "fresh": state.fresh}
        given |= {name: getattr(state, name) for name in ("worker_errors", "server_errors", "factors")}
        yield {
            "u": before[0], "e": before[1], "f": float(before[2]), "fresh": before[3], "g": g.mean(axis=0),
            "left": errors(), "after": float(state.factors[-1]), "new": given["momentum"][:n],
            "root": np.sqrt(variance), "fresh after": np.sqrt(state.fresh), "roundings": 64 * (m + P) * n,
            "gradient": np.abs(given["momentum"][:n] - beta * before[0]) / (1 - beta),
        }  # fmt: skip


def lamb_momentum(implementation, settings):
    """What is left out goes into the next momentum, entry by entry; `plain` is momentum without compression."""
    beta, theta = settings["momentum_factor"], settings["lamb_threshold"]
    plain = None
    for step in _lamb_steps(implementation, settings):
        plain = step["u"].copy() if plain is None else plain
        made = float(beta) * step["u"] + (1 - float(beta)) * step["g"] + step["e"] - step["left"]
        assert np.allclose(made, step["new"], rtol=0, atol=step["roundings"] * 2.0**-52 * (1 + abs(made).max()))
        for j in range(len(plain)):
            names = ("u", "g", "e", "left")
            values = {name: float(step[name][j]) for name in names}
            so_far = (-values["e"] - float(beta) * (values["u"] - float(plain[j]))) / (1 - float(beta))
            yield Run(
                {**values, "plain": float(plain[j]), "first": 0.0, "f": step["f"], "after": step["after"],
                 "momentum_factor": beta, "lamb_threshold": theta, "A": so_far, "a": abs(so_far)},
                step["roundings"],
            )  # fmt: skip
        plain = float(beta) * plain + (1 - float(beta)) * step["g"]


def factors(implementation, settings):
    """Factors step by step, and roots of the frozen and the fresh variance of every entry of the last layer."""
    names = ("factor_most", "factor_least", "lamb_threshold")
    known = {name: settings[name] for name in names}
    known["q"] = 1 / math.sqrt(settings["second_factor"])
    if settings["loss"]:
        return
    epsilon = 2.0**-20 * settings["masked"]
    for t, step in enumerate(_lamb_steps(implementation, settings)):
        last = slice(-settings["layers"][-1], None)
        rises = (step["root"] + epsilon)[last] / (step["fresh after"] + epsilon)[last]
        of_step = {**known, "lamb_steps": t, "f": step["f"], "after": step["after"], "epsilon": epsilon}
        of_step |= {"largest": float(rises.max()), "share": 1}
        for a, b, r in zip(step["root"][last], step["fresh"][last], step["gradient"][last], strict=True):
            yield Run({**of_step, "a": float(a), "b": float(b), "r": float(r)}, step["roundings"])


def scale_moves(implementation, P, layers, rescaled, momentum_factor, scale, seed):
    n, beta, rng = sum(layers), float(momentum_factor), np.random.default_rng(seed)
    u = rng.standard_normal(n)
    given = _state(u, P, layers, coefficients=fused_scales(u, layers))
    states, scales = [], []
    for turn in (1.0, float(rescaled)):
        given["coefficients"] = turn * given["coefficients"]
        state, _ = implementation(rng.standard_normal((P, n)), **given, beta=beta, epsilon=0.0, scale=scale)
        given |= {"weights": state.weights[0], "momentum": state.momentum[0], "fresh": state.fresh}
        given |= {name: getattr(state, name) for name in ("worker_errors", "server_errors", "factors")}
        states.append((state.worker_errors.mean(axis=0) + state.server_errors)[:n])
        scales.append(np.repeat(given["coefficients"], layers))
    for j in range(n):
        c, e = float(scales[0][j]), float(states[0][j])
        yield Run({"c": c, "e": e, "left": float(states[1][j]), "rescaled": rescaled, "size": abs(e / c)}, 64)


RUNS = {
    "variance_reduced." + name: runs
    for name, runs in {
        "diana": diana,
        "diana.rate": rate,
        "diana.rate_sharp": rate_sharp,
        "marina": marina,
        "marina.descent": marina_descent,
        "marina.descent_sharp": marina_sharp,
        "dasha": dasha,
        "dasha.descent": dasha_descent,
        "dasha.code_step_alike": dasha_descent,
        "lag": lag,
        "clag": lazy,
        "ef21p": primal,
        "onebit": signs,
        "onebit.silent_entry": silent,
        "onebit.nothing_lost": momentum,
        "lamb.fused": layered,
        "lamb.scaled_share": scaled_share,
        "lamb.equally_flat": equally_flat,
        "lamb.at_most_double": at_most_double,
        "lamb.reconstructed": reconstructed,
        "lamb.saved": saved,
        "lamb.nothing_lost": lamb_momentum,
        "lamb.leak": lamb_momentum,
        "lamb.scale_moves": scale_moves,
        "lamb.rise": factors,
        "lamb.fall": factors,
        "lamb.masked": factors,
        "lamb.step_length": step_length,
        "zeroone.nothing_lost": averaged_weights,
        "zeroone.silent_move": silent_move,
        "zeroone.decay_tenfold": decays,
        "zeroone.step_bytes": step_bytes,
        "zeroone.run_bytes": run_bytes,
    }.items()
}
