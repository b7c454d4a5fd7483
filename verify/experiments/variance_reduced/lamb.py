"""1-bit LAMB: frozen coefficients, layers at one scale, runs with a moving factor, the length of steps, and bytes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.variance_reduced import fused_scales, lamb_warmup, padded_size
from commbounds.verify import gradients
from commbounds.verify.experiments.feedback.runs import EPS
from commbounds.verify.experiments.variance_reduced.enumeration import as_found
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals, sizes
from commbounds.verify.study import Outcome

Values = dict[str, Any]
_COLUMN = "variance_reduced.lamb"
_WARM, _ONEBIT = "lamb_warmup", "onebit_lamb"
_SCALES = ("norm", "mean")


def _squares(x: Array) -> float:
    return math.fsum((x * x).tolist())


def _parts(x: Array, layers: Any) -> list[Array]:
    return np.split(x, np.cumsum(layers)[:-1])


# --- what is frozen --------------------------------------------------------------------------------------------------


def _frozen(
    implementation: Any, P: int, lamb_steps: int, trust_factor: Fraction, bound: Fraction, side: str, seed: int
) -> Rounded:
    """The last layer after a warm-up whose coefficients are all cut to one bound, or to none."""
    rng = np.random.default_rng(seed)
    x = np.full(5, {"below": 2.0**-30, "above": 2.0**30, "none": 1.0}[side])
    least, most = {"below": (float(bound), 2.0**20), "above": (0.0, float(bound)), "none": (0.0, 2.0**20)}[side]
    u, v, trust = np.zeros(5), np.zeros(5), np.zeros(2)
    for _ in range(lamb_steps):
        g = 1.0 + rng.random((P, 5))
        state, _ = implementation(
            g, x, u, v, trust, (2, 3), 2.0**-60, 0.5, 0.75, 0.0, 0.0, coefficient_min=least, coefficient_max=most,
            coefficient_beta=float(trust_factor),
        )  # fmt: skip
        x, u, v, trust = state.weights[0], state.momentum[0], state.variance, state.trust
    return Rounded(float(trust[-1]) / float(bound), 16 * lamb_steps * EPS)


_FROZEN = Family(
    _COLUMN,
    _WARM,
    Space(
        nothing,
        {
            "P": RANKS,
            "lamb_steps": (1, 2, 4, 10),
            "trust_factor": rationals("9/10", "1/2", "0"),
            "bound": rationals("4", "1/4", "1"),
            "side": ("above", "below", "none"),
            "clipped": (Of("on a side", lambda side: side != "none"),),
        },
        options=("side",),
    ),
    run=_frozen,
    exact=False,
    arrays=3,
    searched=False,
)

# --- layers at one scale ---------------------------------------------------------------------------------------------


def _state(u: Array, P: int, layers: Any, **other: Any) -> dict[str, Any]:
    """What a first step of the stage is given, beside gradients: variances, coefficients and factors of one."""
    n, m = u.size, padded_size(u.size, P)
    held, ones = np.concatenate([u, np.zeros(m - n)]), np.ones(len(layers))
    given = {"weights": np.zeros(n), "momentum": held, "variance": np.ones(n), "fresh": np.ones(n)}
    given |= {"worker_errors": np.zeros((P, m)), "server_errors": np.zeros(m), "coefficients": ones, "trust": ones}
    return {**given, "factors": ones, "layers": layers, **other}


def _layers(data: str, layers: tuple[int, ...], size: float, height: float, filled: int, seed: int) -> Array:
    """Layers one after another, as one row; `size` is how much larger the first is.

    They are normal numbers; alike but for their sizes; a ramp and larger ones; an entry beside flat layers; flat but
    for zeros beside flat ones; or a recorded gradient.
    """
    if data in gradients.KINDS:
        return gradients.trace().vectors[data][0, :1, : sum(layers)].astype(np.float64)
    rng, rows = np.random.default_rng(seed), []
    for j, count in enumerate(layers):
        others = {
            "alike": np.resize([3.0, 1.0, -1.0, 0.0], count),
            "one entry": np.ones(count),
            "zeros": np.full(count, 9.0),
        }
        first = {
            "alike": np.resize([1.0, 0.0, 3.0, -1.0], count),
            "one entry": height * np.eye(count)[0],
            "zeros": np.where(np.arange(count) < filled, 1.0, 0.0),
        }
        both = {"normal": rng.standard_normal(count), "ramp": np.arange(1.0, count + 1) * 10.0**j}
        rows.append({**both, **others}[data] if j else size * {**both, **first}[data])
    return np.concatenate(rows)[None]


def _flatness(layer: Array) -> float:
    return math.fsum(np.abs(layer).tolist()) / math.sqrt(layer.size * _squares(layer))


def _of_layers(x: Array, P: int, layers: tuple[int, ...]) -> Values:
    rows = _parts(x[0], layers)
    flat = list(map(_flatness, rows))
    alike = max(flat) - min(flat) <= 16 * EPS * max(row.size for row in rows)
    return {"rows": rows, "alike": alike, "flatness": min(flat), "n": x.size, "fused_length": padded_size(x.size, P)}


def _left_out(implementation: Any, x: Array, P: int, layers: tuple[int, ...], scale: str) -> dict[str, Array]:
    """What the last rank leaves out of layers at one scale, and of layers as they are; all have one momentum."""
    u, found = x[0], {}
    for name, scales in (("scaled", fused_scales(u, layers)), ("plain", np.ones(len(layers)))):
        state, _ = implementation(
            np.tile(u, (P, 1)), **_state(u, P, layers, coefficients=scales), beta=0.5, epsilon=0.0, scale=scale
        )
        found[name] = state.worker_errors[-1][: u.size] / np.repeat(scales, layers)
    return found


def _layer_share(found: dict[str, Array], rows: list[Array], layers: tuple[int, ...], part: int) -> Outcome:
    left, layer = _parts(found["scaled"], layers)[part], rows[part]
    return Outcome(_squares(left) / _squares(layer), {"flatness": _flatness(layer)}, 64 * sum(layers) * EPS)


def _all_layers(found: dict[str, Array], x: Array) -> Outcome:
    values = {"plain_error": _squares(found["plain"])}
    return Outcome(_squares(found["scaled"]), values, 64 * x.size * EPS * _squares(x[0]))


def _unpadded(count: int) -> Of:
    """So many layers that need no padding: a multiple of P lcm(P, 8) entries."""
    return Of(f"{count} of P lcm(P, 8) entries", lambda P: (P * math.lcm(P, 8) // count,) * count)


_LAYER_SPACE = Space(
    _layers,
    {
        "P": RANKS,
        "layers": (_unpadded(2), _unpadded(4), (3, 5), (7, 1, 4), (1, 1)),
        "data": ("normal", "alike", "ramp", "one entry", "zeros"),
        "size": (1.0, 7.0, 100.0, 1 / 8),
        "height": (34 / 7, 2.0),
        "filled": (3,),
        "part": (0, 1),
        "scale": _SCALES,
    },
    options=("data",),
)
_ONE_SCALE = _LAYER_SPACE.every(layers=[(4, 4)], data=["alike"])
_LONG_AND_FLAT = _LAYER_SPACE.every(layers=[(2, 2046)], data=["one entry"], height=[2.0])
_RECORDED = _LAYER_SPACE.every(layers=[(300, 724)], data=gradients.KINDS, part=[1])
_WORSE = _LAYER_SPACE.every(layers=[(4, 4)], data=["one entry"])
_LAYERS = Family(
    _COLUMN,
    _ONEBIT,
    _LAYER_SPACE.including(*_ONE_SCALE, *_LONG_AND_FLAT, *_RECORDED, *_WORSE),
    _of_layers,
    _left_out,
    exact=False,
    arrays=2,
)
_BY_FLATNESS = [
    _LAYERS.over("flatness", (1, 2, 4, 8, 16, 32), "two layers", by="filled", layers=(32, 32), data="zeros")
]
_BY_SIZE = (1.0, 2.0, 4.0, 8.0, 16.0)


def _by_size(data: str, layers: tuple[int, ...]) -> list[Any]:
    return [_LAYERS.over("plain_error", _BY_SIZE, "two layers", by="size", layers=layers, data=data, height=4.25)]


# --- whole runs ------------------------------------------------------------------------------------------------------


def _given(gradients: str) -> Array | None:
    """Gradients of two steps without momentum: all signs are 1, though six entries are zero; then 8."""
    return np.array([[2.0] * 2 + [0.0] * 6, [7.0] * 2 + [9.0] * 6]) if gradients == "given" else None


def _ran(implementation: Any, x: Array | None, settings: Values) -> Values:
    """Steps of the stage: what became of the weights, beside uncompressed momentum with the same factors.

    A case with an array has the gradients of all ranks in its rows, step by step, and begins with ones.
    """
    s, rows = settings, x
    P, layers, T = s["P"], s["layers"], s["lamb_steps"]
    n, m = sum(layers), padded_size(sum(layers), s["P"])
    rng = np.random.default_rng([s["seed"], P, n])
    beta, gamma = float(s["momentum_factor"]), 0.125
    u = rng.standard_normal(n) if s["gradients"] != "zero" else np.repeat(1.0 + np.arange(len(layers)), layers)
    x = rng.standard_normal(n)
    variance = np.full(n, 4.0) if s["gradients"] == "zero" else 4.0 ** rng.integers(-1, 2, n)
    mask = np.ones(n, np.bool_)
    if s["masked"]:
        u[-1] = variance[-1] = 0.0
        mask[-1] = False
    trust = 2.0 ** rng.integers(-1, 2, len(layers))
    if rows is not None:
        u, x, variance, trust = np.ones(n), np.zeros(n), np.ones(n), np.ones(len(layers))
    scales = fused_scales(u, layers)
    each, rate, root = np.repeat(scales, layers), gamma * np.repeat(trust, layers), np.sqrt(variance)
    given = _state(u, P, layers, weights=x, variance=variance, fresh=variance, coefficients=scales, trust=trust)
    options = {"step_size": gamma, "beta": beta, "second_beta": float(s["second_factor"]), "mask": mask,
               "epsilon": 2.0**-20 if s["masked"] else 0.0,
               "decay": float(s["loss"]), "threshold": float(s["lamb_threshold"]), "scale": s["scale"],
               "factor_min": float(s["factor_least"]), "factor_max": float(s["factor_most"])}  # fmt: skip
    plain, added, carried, moved, largest = u.copy(), np.zeros(n), np.zeros(n), np.zeros(n), 1.0
    for t in range(T):
        size = {"zero": 0.0, "large": 64.0, "normal": 1.0, "given": 1.0}[s["gradients"]]
        g = size * rng.standard_normal((P, n)) * mask if rows is None else np.tile(rows[t], (P, 1))
        state, _ = implementation(g, **given, **options)
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
    allowance = (
        256 * EPS * T * (m + P) * largest * (1 + 1 / float(scales.min())) / (1 - beta) * float((root / rate).max())
    )
    return {"defect": float(defect), "carried": float(carried.max()), "factors": given["factors"], "room": allowance}


def _factor(found: Values, lamb_steps: int) -> Rounded:
    factor = float(found["factors"][-1])
    return Rounded(factor, 64 * EPS * lamb_steps * (1 + factor))


def _run_defect(found: Values) -> Outcome:
    return Outcome(found["defect"], {"carried_errors": found["carried"]}, found["room"])


_RUN_SPACE = Space(
    _given,
    {
        "P": RANKS,
        "layers": ((3, 5), (8,), (4, 2), (2, 3, 1, 4), (8, 8)),
        "lamb_steps": (1, 2, 3, 5),
        "momentum_factor": rationals("1/2", "0", "9/10"),
        "second_factor": rationals("1/2", "15/16", "999/1000"),
        "lamb_threshold": rationals("1/10", "0", "1/4", "1/2"),
        "factor_least": rationals("1/20", "3/4", "5/4"),
        "factor_most": rationals("4", "9/8", "1/2"),
        "loss": rationals("0", "1/8"),
        "gradients": ("normal", "large", "zero"),
        "scale": _SCALES,
        "masked": (False, True),
    },
    options=("gradients",),
).without("Bounds of the factor that cross.", lambda factor_least, factor_most: factor_least > factor_most)
_LARGE: Values = {"gradients": ["large"], "seed": [1]}
_TWO_FALLS = _RUN_SPACE.every(lamb_steps=[2], lamb_threshold=rationals("1/10", "1/4"), **_LARGE)
_MASKED = [
    _RUN_SPACE.at(lamb_steps=T, gradients="large", masked=True, loss=loss, seed=1)
    for T, loss in ((1, Fraction(0)), (3, Fraction(1, 8)))
]
_FALLS = _RUN_SPACE.every(lamb_steps=(1, 4), layers=[(8,)], **_LARGE)
_SILENT = _RUN_SPACE.every(
    lamb_steps=(1, 4),
    second_factor=rationals("15/16"),
    gradients=["zero"],
    lamb_threshold=rationals("1/2"),
    layers=[(8,)],
)
_SIGNS_THAT_MISS = _RUN_SPACE.every(
    lamb_steps=[2],
    layers=[(8,)],
    momentum_factor=rationals("0"),
    lamb_threshold=rationals("1/2", "1/10"),
    gradients=["given"],
)
_CUT = _RUN_SPACE.every(lamb_steps=(1, 2), factor_most=rationals("1/2"), **_LARGE)
_RUNS = Family(
    _COLUMN,
    _ONEBIT,
    _RUN_SPACE.including(*_TWO_FALLS, *_MASKED, *_FALLS, *_SILENT, *_SIGNS_THAT_MISS, *_CUT),
    run=_ran,
    exact=False,
    arrays=4,
)


def _over_steps(kind: str = "normal", **fixed: Any) -> list[Any]:
    given = {"layers": (8,), "gradients": kind, "seed": 1, **fixed}
    return [_RUNS.over("lamb_steps", (1, 2, 4, 8, 12), f"{kind} gradients", **given)]


# --- two steps whose coefficients differ ----------------------------------------------------------------------------


def _moved(
    implementation: Any, P: int, layers: tuple[int, ...], rescaled: Fraction, momentum_factor: Fraction, scale: str,
    seed: int,
) -> Outcome:  # fmt: skip
    n, beta, rng = sum(layers), float(momentum_factor), np.random.default_rng(seed)
    u = rng.standard_normal(n)
    given = _state(u, P, layers, coefficients=fused_scales(u, layers))
    states, stacks, scales = [], [], []
    for turn in (1.0, float(rescaled)):
        given["coefficients"] = turn * given["coefficients"]
        stacks.append(rng.standard_normal((P, n)))
        state, _ = implementation(stacks[-1], **given, beta=beta, epsilon=0.0, scale=scale)
        given |= {"weights": state.weights[0], "momentum": state.momentum[0], "fresh": state.fresh}
        given |= {name: getattr(state, name) for name in ("worker_errors", "server_errors", "factors")}
        states.append(state)
        scales.append(np.repeat(given["coefficients"], layers))
    before, after = (
        (state.worker_errors.mean(axis=0) + state.server_errors)[:n] / each
        for state, each in zip(states, scales, strict=True)
    )
    row = seed % P
    made = beta * states[0].momentum[row, :n] + (1 - beta) * stacks[1].mean(axis=0) + before - after
    leak = float(np.abs(states[1].momentum[row, :n] - made).max())
    largest = max(float(np.abs(part).max()) for part in (*stacks, *(state.worker_errors for state in states)))
    values = {"left_behind": float(np.abs(before).max())}
    return Outcome(leak, values, 256 * EPS * (n + P) * (1 + largest) / float(min(map(np.min, scales))))


_MOVES = Family(
    _COLUMN,
    _ONEBIT,
    Space(
        nothing,
        {
            "P": RANKS,
            "layers": ((3, 5), (2, 2, 3)),
            "rescaled": rationals("1", "2", "1/4", "3/2", "3"),
            "momentum_factor": rationals("1/2", "9/10"),
            "scale": _SCALES,
        },
        options=("scale",),
    ),
    exact=False,
    searched=False,
)

# --- single steps ----------------------------------------------------------------------------------------------------


def _grown(grown: bool, size: Fraction) -> Array | None:
    """Momentum, weights and gradient of a layer: ones, as is its momentum, and a gradient of one size."""
    return np.stack([np.ones(8), np.ones(8), np.full(8, float(size))]) if grown else None


def _stepped(implementation: Any, x: Array | None, settings: Values) -> Values:
    """One step of two layers, of which the last is looked at; its gradient is `size` times that of before.

    A case with an array has momentum, weights and gradient in its rows, and variances of one.
    """
    s, held = settings, x
    P, layers = s["P"], s["layers"]
    n, last = sum(layers), layers[-1]
    rng = np.random.default_rng(s["seed"])
    u = rng.standard_normal(n) if not s["flat"] else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x, variance = rng.standard_normal(n), np.ones(n) if s["flat"] else 4.0 ** rng.integers(-1, 2, n)
    root = np.sqrt(variance)
    g = np.tile(float(s["size"]) * (u if s["flat"] else rng.standard_normal(n)), (P, 1))
    fresh, epsilon = np.zeros(n), 2.0**-40
    if held is not None:
        (u, x, row), root, fresh, epsilon = held, np.ones(n), np.ones(n), 0.0
        variance, g = np.ones(n), np.tile(row, (P, 1))
    trust = np.ones(len(layers))
    if s["trusted"]:
        pairs = zip(_parts(x, layers), _parts(u / root, layers), strict=True)
        trust = np.array([math.sqrt(_squares(w) / _squares(d)) for w, d in pairs])
    given = _state(u, P, layers, weights=x, variance=variance, fresh=fresh, trust=trust)
    given["coefficients"] = fused_scales(u, layers)
    options = {"step_size": 0.25, "beta": float(s["momentum_factor"]), "second_beta": 0.75, "epsilon": epsilon}
    state, _ = implementation(g, **given, **options, decay=float(s["loss"]))
    rank = s["seed"] % P
    return {
        "move": state.weights[rank, n - last :] - x[n - last :], "trust": trust[-1],
        "fresh": (state.fresh - 0.75 * fresh)[n - last :],
        "before": u[n - last :], "after": state.momentum[rank, n - last : n], "factor": state.factors[-1],
        "root": root[n - last :] + epsilon, "x": x[n - last :],
    }  # fmt: skip


def _step_sizes(found: Values) -> Values:
    return {
        name: float(np.abs(found[part]).max()) for name, part in (("size_before", "before"), ("size_after", "after"))
    }


def _step_slack(sizes: Values, layers: tuple[int, ...]) -> float:
    return 64 * EPS * sum(layers) * (1 + float(sizes["size_after"]) + float(sizes["size_before"]))


def _reconstructed(found: Values, layers: tuple[int, ...], momentum_factor: Fraction) -> Outcome:
    sizes, largest = _step_sizes(found), math.sqrt(float(found["fresh"].max()) / 0.25)
    return Outcome(largest, sizes, _step_slack(sizes, layers) / float(1 - momentum_factor))


def _length(found: Values, layers: tuple[int, ...]) -> Outcome:
    values = {
        "stepsize": Fraction(1, 4), "frozen_trust": float(found["trust"]), "lamb_factor": float(found["factor"]),
        "layer_size": layers[-1], "least_root": float(found["root"].min()),
        "layer_norm": math.sqrt(_squares(found["x"])), **_step_sizes(found),
    }  # fmt: skip
    slack = _step_slack(values, layers) * (1 + values["layer_norm"] + values["frozen_trust"])
    return Outcome(math.sqrt(_squares(found["move"])), values, slack)


_STEP_SPACE = Space(
    _grown,
    {
        "P": RANKS,
        "layers": ((8,), (3, 5), (12, 4), (4, 1, 2, 3)),
        "size": rationals("1", "-10", "1000", "1/4", "-2"),
        "momentum_factor": rationals("1/2", "0", "9/10"),
        "loss": rationals("0", "1/2"),
        "flat": (True, False),
        "trusted": (True, False),
        "grown": (False,),
    },
    options=("flat", "trusted"),
)
_FLIPS = _STEP_SPACE.every(size=rationals("-100"), momentum_factor=rationals("1/2", "9/10"), seed=[1])
_GROWN = _STEP_SPACE.every(size=rationals("1", "2"), momentum_factor=rationals("0"), grown=[True])
_STEPS = Family(_COLUMN, _ONEBIT, _STEP_SPACE.including(*_FLIPS, *_GROWN), run=_stepped, exact=False, arrays=2)
_BY_TURN = [_STEPS.over("size_after", rationals("-2", "-4", "-8", "-16", "-32"), "a layer of eight", by="size", seed=1)]

# --- bytes -----------------------------------------------------------------------------------------------------------


def _bytes(implementation: Any, P: int, n: int, dtype: str) -> int:
    """Those that the busiest rank sends in a step."""
    layers, x = (1, n - 1) if n > 1 else (1,), np.ones((P, n), dtype)
    given = {name: value.astype(dtype) if name not in ("coefficients", "trust", "factors") else value
             for name, value in _state(x[0], P, layers).items() if isinstance(value, np.ndarray)}  # fmt: skip
    return int(implementation(x, **given, layers=layers)[1].sent.max())


def _saved(found: int, P: int, n: int, dtype: str, lamb_steps: int, lamb_warm: int) -> Fraction:
    x, layers = np.ones((P, n), dtype), (1, n - 1) if n > 1 else (1,)
    full = int(lamb_warmup(x, x[0], x[0], x[0], np.zeros(len(layers)), layers)[1].sent.max())
    return Fraction(lamb_steps * full, lamb_warm * full + (lamb_steps - lamb_warm) * found)


_SENT = Family(
    _COLUMN,
    _ONEBIT,
    Space(
        nothing,
        {
            "P": RANKS,
            "n": sizes(24, 120),
            "dtype": ("float32", "float64"),
            "lamb_steps": (12,),
            "lamb_warm": (0, 1, 3, 5, 6),
        },
    ),
    lambda P, n, dtype: {"fused_length": padded_size(n, P), "scalebytes": np.dtype(dtype).itemsize},
    _bytes,
    searched=False,
)

LAMB = (
    *_FROZEN.studies(
        as_found,
        "frozen_share",
        "frozen_average",
        "frozen_any",
        curves=[_FROZEN.over("lamb_steps", (1, 2, 4, 7, 10, 16, 24, 32), "b = 0.9")],
    ),
    *_LAYERS.studies(_layer_share, "scaled_share", curves=_BY_FLATNESS),
    *_LAYERS.studies(_all_layers, "reduces", curves=_by_size("one entry", (4, 12))),
    *_LAYERS.studies(_all_layers, "equally_flat", extremal=_LAYERS.of(_ONE_SCALE), curves=_by_size("alike", (4, 4))),
    *_LAYERS.studies(
        _all_layers, "at_most_double", extremal=_LAYERS.of(_LONG_AND_FLAT), curves=_by_size("one entry", (4, 12))
    ),
    *_RUNS.studies(_run_defect, "nothing_lost", curves=_over_steps(lamb_threshold=Fraction(0))),
    *_RUNS.studies(_run_defect, "moving_factor", curves=_over_steps()),
    *_RUNS.studies(_run_defect, "leak", extremal=_RUNS.of(_TWO_FALLS), curves=_over_steps()),
    *_MOVES.studies(
        _moved,
        "scale_moves",
        curves=[_MOVES.over("rescaled", rationals("1/4", "1/2", "1", "2", "4", "8"), "two layers")],
    ),
    *_STEPS.studies(_reconstructed, "reconstructed", extremal=_STEPS.of(_FLIPS), curves=_BY_TURN),
    *_RUNS.studies(
        _factor, "rise", extremal=_RUNS.of(_SILENT), curves=_over_steps("zero", second_factor=Fraction(99, 100))
    ),
    *_RUNS.studies(_factor, "fall", extremal=_RUNS.of(_FALLS), curves=_over_steps("large")),
    *_RUNS.studies(_factor, "masked", extremal=_RUNS.of(_MASKED), curves=_over_steps("large", masked=True)),
    *_RUNS.studies(_factor, "ceiling", curves=_over_steps("large", layers=(3, 5), factor_most=Fraction(1, 2))),
    *_STEPS.studies(_length, "step_length", extremal=_STEPS.of(_FLIPS), curves=_BY_TURN),
    *_STEPS.studies(_length, "bounded_step", curves=_BY_TURN),
    *_SENT.studies(lambda found: found, "bytes", curves=[_SENT.over("P", (2, 3, 4, 6, 8), "n = 960, float32", n=960)]),
    *_SENT.studies(
        _saved,
        "saved",
        curves=[_SENT.over("lamb_warm", (0, 2, 4, 8, 16, 24), "n = 960, float32", P=2, n=960, lamb_steps=24)],
    ),
)
