"""1-bit LAMB: frozen coefficients, layers at one scale, runs with a moving factor, the length of steps, and bytes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.variance_reduced import fused_scales, lamb_warmup, padded_size
from commbounds.verify import gradients
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
_COLUMN = "variance_reduced.lamb"
_WARM, _ONEBIT = "lamb_warmup", "onebit_lamb"


def _squares(x: Array) -> float:
    return math.fsum((x * x).tolist())


def _parts(x: Array, layers: Any) -> list[Array]:
    return np.split(x, np.cumsum(layers)[:-1])


# --- what is frozen --------------------------------------------------------------------------------------------------


def _frozen(warmup: Any, case: Case) -> Outcome:
    """The last layer after a warm-up whose coefficients are all cut to one bound, or to none."""
    s = case.settings
    layers, b, bound = (2, 3), Fraction(s["b"]), s["bound"]
    rng = np.random.default_rng(s["seed"])
    x = np.full(5, {"below": 2.0**-30, "above": 2.0**30, "none": 1.0}[s["side"]])
    cut = {"below": {"coefficient_min": float(bound), "coefficient_max": 2.0**20},
           "above": {"coefficient_min": 0.0, "coefficient_max": float(bound)},
           "none": {"coefficient_min": 0.0, "coefficient_max": 2.0**20}}[s["side"]]  # fmt: skip
    u, v, trust = np.zeros(5), np.zeros(5), np.zeros(2)
    for _ in range(s["T"]):
        g = 1.0 + rng.random((s["P"], 5))
        state, _ = warmup(g, x, u, v, trust, layers, 2.0**-60, 0.5, 0.75, 0.0, 0.0, **cut, coefficient_beta=float(b))
        x, u, v, trust = state.weights[0], state.momentum[0], state.variance, state.trust
    return Outcome(float(trust[-1]) / float(bound), {"trust_factor": b, "lamb_steps": s["T"]}, 16 * s["T"] * EPS)


def _warm(T: int, b: str = "9/10", bound: str = "4", side: str = "above", P: int = 1, seed: int = 1) -> Case:
    cut = {"bound": Fraction(bound), "side": side, "clipped": side != "none"}
    return Case({"P": P, "T": T, "b": b, **cut, "seed": seed})


def _warms(_budget: Budget) -> Iterator[Case]:
    ranks = itertools.cycle((1, 2, 3, 5, 8))
    for T, b, side in itertools.product((1, 2, 10), ("9/10", "1/2", "0"), ("above", "below")):
        for bound in ("4", "1/4", "1"):
            yield _warm(T, b, bound, side, next(ranks))
    yield _warm(4, side="none")


def _of_frozen(statement: str) -> Study:
    return Study(
        f"{_COLUMN}.{statement}", _WARM, _frozen, corpus=_warms,
        curves=[over("lamb_steps", "b = 0.9", [_warm(T) for T in (1, 2, 4, 7, 10, 16, 24, 32)])],
    )  # fmt: skip


# --- layers at one scale ---------------------------------------------------------------------------------------------


def _state(u: Array, P: int, layers: Any, **other: Any) -> dict[str, Any]:
    """What a first step of the stage is given, beside gradients: variances, coefficients and factors of one."""
    n, m = u.size, padded_size(u.size, P)
    held, ones = np.concatenate([u, np.zeros(m - n)]), np.ones(len(layers))
    given = {"weights": np.zeros(n), "momentum": held, "variance": np.ones(n), "fresh": np.ones(n)}
    given |= {"worker_errors": np.zeros((P, m)), "server_errors": np.zeros(m), "coefficients": ones, "trust": ones}
    return {**given, "factors": ones, "layers": layers, **other}


def _left_out(onebit: Any, case: Case) -> dict[str, Any]:
    """What the last rank leaves out of layers at one scale, and of layers as they are; all have one momentum."""
    s, u = case.settings, case.array[0]
    found, stack = {}, np.tile(u, (s["P"], 1))
    for name, scales in (("scaled", fused_scales(u, s["layers"])), ("plain", np.ones(len(s["layers"])))):
        state, _ = onebit(
            stack, **_state(u, s["P"], s["layers"], coefficients=scales), beta=0.5, epsilon=0.0, scale=s["scale"]
        )
        found[name] = state.worker_errors[-1][: u.size] / np.repeat(scales, s["layers"])
    return found


def _flatness(layer: Array) -> float:
    return math.fsum(np.abs(layer).tolist()) / math.sqrt(layer.size * _squares(layer))


def _shares(what: str, onebit: Any, case: Case) -> Outcome:
    s, u = case.settings, case.array[0]
    found, parts = case.once(_left_out, onebit), _parts(u, s["layers"])
    values: dict[str, Any] = {"P": s["P"], "n": u.size, "fused_length": padded_size(u.size, s["P"])}
    if what == "layer":
        left, layer = _parts(found["scaled"], s["layers"])[s["part"]], parts[s["part"]]
        values["flatness"] = _flatness(layer)
        return Outcome(_squares(left) / _squares(layer), values, 64 * u.size * EPS)
    values |= {"plain_error": _squares(found["plain"]), "flatness": min(map(_flatness, parts))}
    return Outcome(_squares(found["scaled"]), values, 64 * u.size * EPS * _squares(u))


def _layered(*layers: Any, P: int = 1, scale: str = "norm", part: int = 0) -> Case:
    rows = [np.asarray(layer, np.float64) for layer in layers]
    alike = max(map(_flatness, rows)) - min(map(_flatness, rows)) <= 16 * EPS * max(row.size for row in rows)
    sizes = tuple(row.size for row in rows)
    settings = {"P": P, "n": sum(sizes), "layers": sizes, "scale": scale, "part": part, "alike": alike}
    return Case(settings, np.concatenate(rows)[None])


def _several(_budget: Budget) -> Iterator[Case]:
    yield _layered([34, 0, 0, 0], [7, 7, 7, 7])
    one, two = np.array([1.0, -2.0, 3.0, -4.0]), np.array([5.0, 0.0, 1.0, 1.0])
    for P, size, (first, second), part in itertools.product(
        (1, 2), (1.0, 100.0), ((one, one[::-1]), (one, two), (two, one)), (0, 1)
    ):
        yield _layered(size * first, second, P=P, part=part)
        yield _layered(size * first, *[second] * (4 * P - 1), P=P, part=part)
    for P, sizes in ((1, (3, 5)), (3, (2, 4)), (2, (7, 1, 4)), (5, (1, 1)), (8, (3, 4))):
        yield _layered(*(np.arange(1.0, size + 1) * 10.0**j for j, size in enumerate(sizes)), P=P)
    yield _layered(one, two, scale="mean")
    for P, size in ((3, 36), (5, 100), (8, 32)):  # without padding: a multiple of P lcm(P, 8)
        x = np.arange(2.0 * size) % 7 - 2.5
        yield _layered(x[:size], 5 * x[size:], P=P, part=1)
        yield _layered(x[:size], 3 * x[size - 1 :: -1], P=P)
    for kind in gradients.KINDS:
        x = gradients.trace().vectors[kind][0, 0].astype(np.float64)[:1024]
        yield _layered(x[:300], x[300:], part=1)


def _one_scale(_budget: Any) -> Iterator[Case]:
    for size in (1.0, 7.0):
        yield _layered([size, 0, 3 * size, size], [3 * size, size, size, 0])


def _long_and_flat(_budget: Any) -> Iterator[Case]:
    for size in (1.0, 3.0):
        yield _layered([2 * size, 0.0], np.full(2046, size))


@st.composite
def _drawn_layers(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(whole(0, 2**31)))
    rows = [rng.standard_normal(draw(whole(1, 12))) * 8.0 ** draw(whole(-1, 1)) for _ in range(draw(whole(1, 3)))]
    if draw(among((True, False))):  # no padding
        rows.append(rng.standard_normal(8 + -sum(row.size for row in rows) % 8))
    return _layered(*rows, P=draw(among((1, 1, 2))), part=draw(whole(0, len(rows) - 1)))


def _of_layers(statement: str, what: str, axis: str, **options: Any) -> Study:
    flat = [_layered(np.r_[np.ones(j), np.zeros(32 - j)], np.full(32, 9.0)) for j in (1, 2, 4, 8, 16, 32)]
    sizes = [_layered([size, 2 * size, 0, size], [2, 0, 1, 1]) for size in (1.0, 2.0, 4.0, 8.0, 16.0)]
    if statement != "equally_flat":
        sizes = [_layered([34 * size, 0, 0, 0], np.full(12, 8 * size)) for size in (1.0, 2.0, 4.0, 8.0, 16.0)]
    return Study(
        f"{_COLUMN}.{statement}", _ONEBIT, partial(_shares, what), corpus=_several, cases=_drawn_layers,
        curves=[over(axis, "two layers", flat if what == "layer" else sizes)], **options,
    )  # fmt: skip


# --- whole runs ------------------------------------------------------------------------------------------------------


def _ran(onebit: Any, case: Case) -> dict[str, Any]:
    """Steps of the stage: what became of the weights, beside uncompressed momentum with the same factors."""
    s = case.settings
    P, layers, T = s["P"], s["layers"], s["T"]
    n, m = sum(layers), padded_size(sum(layers), s["P"])
    rng = np.random.default_rng([s["seed"], P, n])
    beta, gamma = float(Fraction(s["beta"])), 0.125
    u = rng.standard_normal(n) if s["gradients"] != "zero" else np.repeat(1.0 + np.arange(len(layers)), layers)
    x = rng.standard_normal(n)
    variance = np.full(n, 4.0) if s["gradients"] == "zero" else 4.0 ** rng.integers(-1, 2, n)
    mask = np.ones(n, np.bool_)
    if s["masked"]:
        u[-1] = variance[-1] = 0.0
        mask[-1] = False
    trust = 2.0 ** rng.integers(-1, 2, len(layers))
    scales = fused_scales(u, layers)
    each, rate, root = np.repeat(scales, layers), gamma * np.repeat(trust, layers), np.sqrt(variance)
    given = _state(u, P, layers, weights=x, variance=variance, fresh=variance, coefficients=scales, trust=trust)
    options = {"step_size": gamma, "beta": beta, "second_beta": float(Fraction(s["second"])), "mask": mask,
               "epsilon": 2.0**-20 if s["masked"] else 0.0,
               "decay": float(Fraction(s["loss"])), "threshold": float(Fraction(s["theta"])), "scale": s["scale"],
               "factor_min": float(Fraction(s["least"])), "factor_max": float(Fraction(s["most"]))}  # fmt: skip
    plain, added, carried, moved, largest = u.copy(), np.zeros(n), np.zeros(n), np.zeros(n), 1.0
    for t in range(T):
        g = {"zero": 0.0, "large": 64.0, "normal": 1.0}[s["gradients"]] * rng.standard_normal((P, n)) * mask
        state, _ = onebit(g, **given, **options)
        plain = beta * plain + (1 - beta) * g.mean(axis=0)
        factor = np.repeat(state.factors, layers)
        held = state.momentum[s["seed"] % P]
        added = added + held[:n] - plain
        moved = moved + factor * plain
        if t < T - 1:
            carried = carried + factor * np.abs(added)
        given |= {"weights": state.weights[s["seed"] % P], "momentum": held, "fresh": state.fresh}
        given |= {name: getattr(state, name) for name in ("worker_errors", "server_errors", "factors")}
        largest = max(largest, *(float(np.abs(part).max()) for part in (g, held, state.worker_errors, state.weights)))
    errors = (given["worker_errors"].mean(axis=0) + given["server_errors"])[:n] / each
    last = factor / (1 - beta) * (-errors - beta * (given["momentum"][:n] - plain))
    defect = np.abs(root * (given["weights"] - x) / rate + moved + last).max()
    room = 256 * EPS * T * (m + P) * largest * (1 + 1 / float(scales.min())) / (1 - beta) * float((root / rate).max())
    return {"defect": float(defect), "carried": float(carried.max()), "factors": given["factors"], "room": room}


def _run_of(what: str, onebit: Any, case: Case) -> Outcome:
    s, found = case.settings, case.once(_ran, onebit)
    values: dict[str, Any] = {"lamb_steps": s["T"], "momentum_factor": Fraction(s["beta"])}
    values |= {"lamb_threshold": Fraction(s["theta"]), "second_factor": Fraction(s["second"])}
    values |= {"factor_least": Fraction(s["least"]), "factor_most": Fraction(s["most"])}
    if what == "factor":
        factor = float(found["factors"][-1])
        return Outcome(factor, values, 64 * EPS * s["T"] * (1 + factor))
    return Outcome(found["defect"], {**values, "carried_errors": found["carried"]}, found["room"])


def _run(T: int, **more: Any) -> Case:
    given: dict[str, Any] = {"P": 1, "layers": (3, 5), "T": T, "beta": "1/2", "second": "1/2", "theta": "1/10"}
    given |= {
        "least": "1/20",
        "most": "4",
        "loss": "0",
        "gradients": "normal",
        "scale": "norm",
        "seed": 1,
        "masked": False,
        **more,
    }
    return Case({**given, "loss": Fraction(given["loss"])})


def _runs(_budget: Budget) -> Iterator[Case]:
    for P, T, kind, theta in itertools.product((1, 2), (1, 2, 3), ("normal", "large"), ("1/10", "0")):
        yield _run(T, P=P, gradients=kind, theta=theta, layers=(3, 5) if P == 1 else (4, 2))
    for P, theta in itertools.product((3, 5, 8), ("1/10", "0")):
        yield _run(2, P=P, theta=theta, layers=(4, 3))
    for P, kind in itertools.product((1, 3), ("normal", "large", "zero")):
        yield _run(3, P=P, gradients=kind, layers=(2, 3, 1, 4), masked=kind == "large")
    for T, beta, scale in itertools.product((2, 5), ("0", "9/10"), ("norm", "mean")):
        yield _run(T, beta=beta, scale=scale, theta="1/4", seed=2)
        yield _run(T, beta=beta, scale=scale, loss="1/8")
        yield _run(T, beta=beta, scale=scale, theta="0", seed=3)
    for T, second in itertools.product((1, 4), ("1/2", "15/16", "999/1000")):
        yield _run(T, second=second, gradients="zero", theta="3/8", layers=(8, 8))
        yield _run(T, second=second, gradients="zero", most="9/8", layers=(8, 8))
        yield _run(T, second=second, gradients="large", least="3/4", layers=(8, 8))
        yield _run(T, second=second, gradients="zero", loss="1/4")
    for T in (1, 2):
        yield _run(T, gradients="large", most="1/2")
        yield _run(T, gradients="large", least="5/4")
    for T, second in itertools.product((1, 2, 5), ("1/2", "15/16")):
        yield _run(T, second=second, gradients="normal", masked=True)


def _two_falls(_budget: Any) -> Iterator[Case]:
    for theta in ("1/10", "1/4"):
        yield _run(2, theta=theta, gradients="large")


def _masked_runs(_budget: Any) -> Iterator[Case]:
    for T in (1, 3):
        yield _run(T, gradients="large", masked=True, loss="1/8" if T == 3 else "0")


def _falls(_budget: Any) -> Iterator[Case]:
    for T in (1, 4):
        yield _run(T, gradients="large", layers=(8,))


def _silent_runs(_budget: Any) -> Iterator[Case]:
    for T in (1, 4):
        yield _run(T, second="15/16", gradients="zero", theta="1/2", layers=(8,))


@st.composite
def _drawn_runs(draw: st.DrawFn) -> Case:
    more = {"beta": draw(among(("0", "1/2", "7/8"))), "second": draw(among(("1/4", "3/4"))), "seed": draw(whole(0, 99))}
    more |= {"theta": draw(among(("0", "1/10", "1/2"))), "gradients": draw(among(("normal", "large", "zero")))}
    more |= {"loss": draw(among(("0", "0", "1/4"))), "layers": draw(among(((8,), (3, 5), (2, 2, 3))))}
    return _run(draw(whole(1, 4)), P=draw(whole(1, 2)), **more)


def _of_runs(statement: str, what: str, kind: str = "normal", **options: Any) -> Study:
    theta = "0" if statement == "nothing_lost" else "1/10"
    second = "99/100" if kind == "zero" else "1/2"
    more = {"theta": theta, "second": second, "layers": (8,), "masked": statement == "masked"}
    cases = [_run(T, gradients=kind, **more) for T in (1, 2, 4, 8, 12)]
    if statement == "ceiling":
        cases = [_run(T, gradients=kind, most="1/2") for T in (1, 2, 4, 8, 12)]
    return Study(
        f"{_COLUMN}.{statement}", _ONEBIT, partial(_run_of, what), corpus=_runs, cases=_drawn_runs,
        curves=[over("lamb_steps", f"{kind} gradients", cases)], **options,
    )  # fmt: skip


# --- two steps whose coefficients differ ----------------------------------------------------------------------------


def _moved(onebit: Any, case: Case) -> Outcome:
    s = case.settings
    P, layers, beta = s["P"], s["layers"], float(Fraction(s["beta"]))
    n = sum(layers)
    rng = np.random.default_rng(s["seed"])
    u, kappa = rng.standard_normal(n), Fraction(s["kappa"])
    given = _state(u, P, layers, coefficients=fused_scales(u, layers))
    states, stacks, scales = [], [], []
    for turn in (1.0, float(kappa)):
        given["coefficients"] = turn * given["coefficients"]
        stacks.append(rng.standard_normal((P, n)))
        state, _ = onebit(stacks[-1], **given, beta=beta, epsilon=0.0, scale=s["scale"])
        given |= {"weights": state.weights[0], "momentum": state.momentum[0], "fresh": state.fresh}
        given |= {name: getattr(state, name) for name in ("worker_errors", "server_errors", "factors")}
        states.append(state)
        scales.append(np.repeat(given["coefficients"], layers))
    before, after = (
        (state.worker_errors.mean(axis=0) + state.server_errors)[:n] / each
        for state, each in zip(states, scales, strict=True)
    )
    row = s["seed"] % P
    made = beta * states[0].momentum[row, :n] + (1 - beta) * stacks[1].mean(axis=0) + before - after
    leak = float(np.abs(states[1].momentum[row, :n] - made).max())
    largest = max(float(np.abs(part).max()) for part in (*stacks, *(state.worker_errors for state in states)))
    values = {"rescaled": kappa, "left_behind": float(np.abs(before).max())}
    return Outcome(leak, values, 256 * EPS * (n + P) * (1 + largest) / float(min(map(np.min, scales))))


def _moving(kappa: str, P: int = 1, **more: Any) -> Case:
    given = {"P": P, "layers": (3, 5), "kappa": kappa, "beta": "1/2", "scale": "norm", "seed": 1}
    return Case({**given, **more})


def _moves(_budget: Budget) -> Iterator[Case]:
    for kappa, P, scale in itertools.product(("1", "2", "1/4", "3/2", "3"), (1, 3), ("norm", "mean")):
        yield _moving(kappa, P, scale=scale, beta="1/2" if P == 1 else "9/10")
    for kappa, P in itertools.product(("1", "3/2"), (2, 5, 8)):
        yield _moving(kappa, P)


# --- single steps ----------------------------------------------------------------------------------------------------


def _stepped(onebit: Any, case: Case) -> dict[str, Any]:
    """One step of two layers, of which the last is looked at; its gradient is `size` times that of before."""
    s = case.settings
    P, layers = s["P"], s["layers"]
    n, last = sum(layers), layers[-1]
    rng = np.random.default_rng(s["seed"])
    u = rng.standard_normal(n) if not s["flat"] else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x, variance = rng.standard_normal(n), np.ones(n) if s["flat"] else 4.0 ** rng.integers(-1, 2, n)
    root = np.sqrt(variance)
    g = np.tile(float(Fraction(s["size"])) * (u if s["flat"] else rng.standard_normal(n)), (P, 1))
    trust = np.ones(len(layers))
    if s["trusted"]:
        pairs = zip(_parts(x, layers), _parts(u / root, layers), strict=True)
        trust = np.array([math.sqrt(_squares(w) / _squares(d)) for w, d in pairs])
    given = _state(u, P, layers, weights=x, variance=variance, fresh=0 * variance, trust=trust)
    given["coefficients"] = fused_scales(u, layers)
    options = {"step_size": 0.25, "beta": float(Fraction(s["beta"])), "second_beta": 0.75, "epsilon": 2.0**-40}
    state, _ = onebit(g, **given, **options, decay=float(s["loss"]))
    rank = s["seed"] % P
    return {
        "move": state.weights[rank, n - last :] - x[n - last :], "fresh": state.fresh[n - last :], "trust": trust[-1],
        "before": u[n - last :], "after": state.momentum[rank, n - last : n], "factor": state.factors[-1],
        "root": root[n - last :] + 2.0**-40, "x": x[n - last :],
    }  # fmt: skip


def _step_of(what: str, onebit: Any, case: Case) -> Outcome:
    s, found = case.settings, case.once(_stepped, onebit)
    beta = Fraction(s["beta"])
    sizes = {"size_before": float(np.abs(found["before"]).max()), "size_after": float(np.abs(found["after"]).max())}
    room = 64 * EPS * sum(s["layers"]) * (1 + sizes["size_after"] + sizes["size_before"])
    if what == "reconstructed":
        largest = math.sqrt(float(found["fresh"].max()) / 0.25)
        return Outcome(largest, {"momentum_factor": beta, **sizes}, room / float(1 - beta))
    values: dict[str, Any] = {
        "stepsize": Fraction(1, 4),
        "frozen_trust": float(found["trust"]),
        "lamb_factor": float(found["factor"]),
    }
    values |= {**sizes, "layer_size": s["layers"][-1], "least_root": float(found["root"].min())}
    values["layer_norm"] = math.sqrt(_squares(found["x"]))
    return Outcome(
        math.sqrt(_squares(found["move"])), values, room * (1 + values["layer_norm"] + values["frozen_trust"])
    )


def _step(size: str, **more: Any) -> Case:
    given: dict[str, Any] = {"P": 1, "layers": (3, 5), "size": size, "beta": "1/2", "loss": "0", "seed": 1}
    given |= {"flat": False, "trusted": False, **more}
    return Case({**given, "loss": Fraction(given["loss"])})


def _steps(_budget: Budget) -> Iterator[Case]:
    for P, size, beta, trusted in itertools.product((1, 2), ("1", "-10", "1000"), ("0", "9/10"), (True, False)):
        yield _step(size, P=P, beta=beta, trusted=trusted)
        yield _step(size, P=P, beta=beta, trusted=trusted, flat=True, layers=(8,) if P == 1 else (12, 4))
    for P, flat in itertools.product((3, 5, 8), (True, False)):
        yield _step("-10", P=P, flat=flat, trusted=True, layers=(4, 3))
        yield _step("-10", P=P, flat=flat, trusted=True, layers=(4, 1, 2, 3))
    yield _step("10", loss="1/2", trusted=True)


def _flips(_budget: Any) -> Iterator[Case]:
    for beta in ("1/2", "9/10"):
        yield _step("-100", beta=beta, flat=True, layers=(8,), trusted=True)


@st.composite
def _drawn_steps(draw: st.DrawFn) -> Case:
    more = {"P": draw(whole(1, 2)), "beta": draw(among(("0", "3/4"))), "trusted": draw(among((True, False)))}
    more |= {"flat": draw(among((True, False))), "seed": draw(whole(0, 2**31))}
    return _step(draw(among(("1/4", "-2", "50"))), layers=draw(among(((4,), (8,), (2, 6)))), **more)


def _of_steps(statement: str, what: str, axis: str, **options: Any) -> Study:
    cases = [_step(size, flat=True, layers=(8,), trusted=True) for size in ("-2", "-4", "-8", "-16", "-32")]
    return Study(
        f"{_COLUMN}.{statement}", _ONEBIT, partial(_step_of, what), corpus=_steps, cases=_drawn_steps,
        curves=[over(axis, "a layer of eight", cases)], **options,
    )  # fmt: skip


# --- bytes -----------------------------------------------------------------------------------------------------------


def _bytes(what: str, onebit: Any, case: Case) -> Outcome:
    s = case.settings
    P, n, dtype = s["P"], s["n"], np.dtype(s["dtype"])
    layers, x = (1, n - 1) if n > 1 else (1,), np.ones((P, n), dtype)
    given = {name: value.astype(dtype) if name not in ("coefficients", "trust", "factors") else value
             for name, value in _state(x[0], P, layers).items() if isinstance(value, np.ndarray)}  # fmt: skip
    _, traffic = onebit(x, **given, layers=layers)
    values = {"P": P, "n": n, "fused_length": padded_size(n, P), "scalebytes": dtype.itemsize}
    sent = int(traffic.sent.max())
    if what == "bytes":
        return Outcome(sent, values)
    _, whole_ = lamb_warmup(x, x[0], x[0], x[0], np.zeros(len(layers)), layers)
    full, T, warm = int(whole_.sent.max()), s["steps"], s["warm"]
    return Outcome(Fraction(T * full, warm * full + (T - warm) * sent), {**values, "lamb_steps": T, "lamb_warm": warm})


def _sizes(_level: int) -> Iterator[Case]:
    for P, n, dtype in itertools.product((1, 2, 3, 5, 8), (1, 24, 120), ("float32", "float64")):
        yield Case({"P": P, "n": n, "dtype": dtype, "steps": 12, "warm": (n + P) % 7})


def _of_bytes(statement: str, axis: str) -> Study:
    cases = [Case({"P": P, "n": 960, "dtype": "float32"}) for P in (2, 3, 4, 6, 8)]
    if statement == "saved":
        cases = [Case({"P": 2, "n": 960, "dtype": "float32", "steps": 24, "warm": T}) for T in (0, 2, 4, 8, 16, 24)]
    return Study(
        f"{_COLUMN}.{statement}", _ONEBIT, partial(_bytes, statement), grid=_sizes,
        enumerated="up to 8 ranks and 120 entries, float32 and float64",
        curves=[over(axis, "n = 960, float32", cases)],
    )  # fmt: skip


LAMB = (
    _of_frozen("frozen_share"),
    _of_frozen("frozen_average"),
    _of_frozen("frozen_any"),
    _of_layers("scaled_share", "layer", "flatness"),
    _of_layers("reduces", "all", "plain_error"),
    _of_layers("equally_flat", "all", "plain_error", extremal=_one_scale),
    _of_layers("at_most_double", "all", "plain_error", extremal=_long_and_flat),
    _of_runs("nothing_lost", "defect"),
    _of_runs("moving_factor", "defect"),
    _of_runs("leak", "defect", extremal=_two_falls),
    Study(
        f"{_COLUMN}.scale_moves", _ONEBIT, _moved, corpus=_moves,
        curves=[over("rescaled", "two layers", [_moving(kappa) for kappa in ("1/4", "1/2", "1", "2", "4", "8")])],
    ),
    _of_steps("reconstructed", "reconstructed", "size_after", extremal=_flips),
    _of_runs("rise", "factor", "zero", extremal=_silent_runs),
    _of_runs("fall", "factor", "large", extremal=_falls),
    _of_runs("masked", "factor", "large", extremal=_masked_runs),
    _of_runs("ceiling", "factor", "large"),
    _of_steps("step_length", "move", "size_after", extremal=_flips),
    _of_steps("bounded_step", "move", "size_after"),
    _of_bytes("bytes", "P"),
    _of_bytes("saved", "lamb_warm"),
)  # fmt: skip
