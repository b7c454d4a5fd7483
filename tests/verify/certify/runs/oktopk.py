"""What runs of Ok-Topk say of the symbols of their models."""

from fractions import Fraction

import numpy as np
from model_runs import Run

from commbounds.verify.experiments.oktopk.descent import _ETA, _cancelling, _floats
from commbounds.verify.experiments.oktopk.quadratics import _quadratics, kept_largest
from commbounds.verify.experiments.oktopk.runs import OkTopkRun


def mass(implementation, case):
    """Entry by entry what the ranks that selected it have, what the others have, and what residuals hold afterwards."""
    run = OkTopkRun.of(implementation, case)
    x = run.x.astype(np.int64)
    chosen = np.zeros(x.shape, bool)
    for row, indices in zip(chosen, run.result.selected, strict=True):
        row[indices] = True
    applied = run.result.update != 0
    for j in range(run.n):
        # what a rank selected counts where the index is in the result
        own = chosen[:, j]
        yield {"used": int(x[own, j].sum()), "rest": int(x[~own, j].sum()), "left": int(x[~own, j].sum()),
               "update": int(run.result.update[j])}  # fmt: skip
        if not applied[j] and not own.any():
            assert not run.result.update[j]


def iterates(implementation, case):
    """Entry by entry: weights and mean residuals before and after a step, beside those of plain steps."""
    s = case.settings
    if s["accumulate"] != "scaled" or s["halved"]:
        return
    sgd = implementation(s["k"], _ETA, accumulate="scaled", options={"tau_prime": s["tau_prime"], "tau": s["tau"]})
    state, plain = sgd.start(np.zeros(s["n"]), s["P"]), np.zeros(s["n"])
    for gradients in case.x.reshape(s["steps"], s["P"], s["n"]):
        step = _ETA * gradients.mean(axis=0)
        after, result, _ = sgd.step(gradients, state, step_size=_ETA)
        for j in range(min(s["n"], 4)):
            named = {"w": state.weights[j], "w_next": after.weights[j], "x": plain[j], "x_next": plain[j] - step[j],
                     "before_": state.residuals.mean(axis=0)[j], "after": after.residuals.mean(axis=0)[j],
                     "update": result.update[j] / s["P"], "step": step[j]}  # fmt: skip
            yield {name: Fraction(float(v)) for name, v in named.items()}
        state, plain = after, plain - step


def residuals(implementation, case, outcome):
    """Norms of the mean accumulated gradient, of what its k largest entries leave, and of the mean residual."""
    s, values = case.settings, outcome.values
    P, n, k = s["P"], s["n"], s["k"]
    sgd = implementation(k, _ETA, options={"tau_prime": 1})
    state = sgd.start(np.zeros(n), P)
    for t in range(s["steps"]):
        if s["family"] == "along the residual" and t:
            gradients = np.tile(state.residuals.mean(axis=0), (P, 1))
        else:
            gradients = _floats(s["family"], P, n, k, s["seed"] + t)
        if s.get("cancels") and t == s["steps"] - 1:
            gradients = _cancelling(gradients)
        mean = (state.residuals + _ETA * gradients).mean(axis=0)
        state, _, _ = sgd.step(gradients, state)
    norms = {"accumulated": mean, "rest": mean - kept_largest(mean, k)}
    yield Run({**values, "gamma": (1 - k / n) ** 0.5, "residual": outcome.measured,
               **{name: float(np.linalg.norm(v)) for name, v in norms.items()}}, 64 * (P + n))  # fmt: skip


def descents(implementation, case, outcome):
    """Step by step: mean residuals, gradients at the weights and beside them, and how much f falls there."""
    s, values = case.settings, outcome.values
    P, n, k, eta = s["P"], s["n"], s["k"], values["eta"]
    curvature, centre, slopes = _quadratics(s)

    def objective(w):
        return float((curvature * (w - centre) ** 2).sum()) / (2 * P)

    def slope(w):
        return (curvature * (w - centre)).mean(axis=0) + slopes.mean(axis=0)

    sgd = implementation(k, eta, options={"tau_prime": 1})
    state, gamma = sgd.start(np.zeros(n), P), (1 - k / n) ** 0.5
    for _ in range(min(s["steps"], 5)):
        w, residual = state.weights, state.residuals.mean(axis=0)
        x, after = w - residual, sgd.step(curvature * (w - centre) + slopes, state)[0]
        there, later = x - eta * slope(w), after.residuals.mean(axis=0)
        norms = {"size": residual, "nearer": later}
        falls = {"away": float(residual @ residual), "drop": objective(x) - objective(there)}
        named = {**{name: float(np.linalg.norm(v)) for name, v in norms.items()}, **falls, "gamma": gamma}
        yield Run({**values, **named, "grad_w": slope(w), "grad_x": slope(x)}, 2**12 * (P + n))
        state = after


RUNS = {
    "oktopk.update.mass": mass,
    "oktopk.sgd.iterate": iterates,
    "oktopk.sgd.residual": residuals,
    "oktopk.sgd.gradient": descents,
}
