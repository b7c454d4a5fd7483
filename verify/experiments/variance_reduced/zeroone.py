"""0/1 Adam: what averages make of momenta and weights, its refreshes and bytes; layers that share a scale."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify import gradients
from commbounds.verify.experiments.feedback.runs import EPS
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Outcome

Values = dict[str, Any]
_COLUMN = "variance_reduced.zeroone"


# --- local steps -----------------------------------------------------------------------------------------------------


def _start(P: int, n: int, flat: bool, decayed: bool, seed: int) -> tuple[Array, Array, Array]:
    """Weights, momenta and the variance that a case begins with."""
    if flat:
        momenta = np.zeros((P, n)) if decayed else np.full((P, n), 3.0)
        return np.full((P, n), 2.0), momenta, np.full(n, 4.0 ** (seed % 3))
    rng = np.random.default_rng(seed)
    same = rng.standard_normal((2, n))
    return np.tile(same[0], (P, 1)), np.tile(same[1], (P, 1)), rng.random(n) + 0.25


def _ran(implementation: Any, settings: Values, P: int, n: int, seed: int) -> Values:
    """The averages of a case, each after its local steps."""
    s, rng = settings, np.random.default_rng([seed, 1])
    x, u, v = _start(P, n, s["flat"], s["decayed"], seed)
    moved, errors, served, elapsed = np.zeros((P, n)), np.zeros((P, n)), np.zeros(n), np.zeros(1)
    gamma, beta, decay = (float(s[name]) for name in ("stepsize", "momentum_factor", "adam_decay"))
    options = {"beta": beta, "decay": decay if s["decayed"] else 0.0, "epsilon": 0.0, "scale": s["scale"]}
    first, defect, largest, root = (x[0].copy(), u[0].copy()), 0.0, 1.0, np.sqrt(v)
    for _ in range(s["averages"]):
        for t in range(s["local_steps"]):
            g = np.zeros((P, n)) if s["silent"] else rng.standard_normal((P, n))
            before = x, u, moved, errors, served
            last = t == s["local_steps"] - 1
            state, _ = implementation(g, x, u, moved, v, errors, served, elapsed, last, gamma, **options)
            x, u, moved, errors, served, elapsed = state
        # the step before the average, by itself
        held = beta * before[1] + (1 - beta) * g
        at = before[0] - gamma * (held / root + options["decay"] * before[0])
        left = errors.mean(axis=0) + served - before[3].mean(axis=0) - before[4]
        defect = max(defect, float(np.abs(root * (x - at.mean(axis=0)) - left).max()))
        largest = max(largest, *(float(np.abs(part).max()) for part in (x, u, at, held, errors, served)))
    slack = 64 * EPS * s["averages"] * (s["local_steps"] + n + P)
    return {"x": x, "u": u, "first": first, "root": root, "defect": defect, "largest": largest, "slack": slack}


def _kept(found: Values, P: int, seed: int) -> Rounded:
    return Rounded(float(found["u"][seed % P, 0] / found["first"][1][0]), found["slack"])


def _decay(found: Values, P: int, seed: int, stepsize: Fraction, adam_decay: Fraction) -> Rounded:
    unit = float(adam_decay) * found["root"][0] * found["first"][0][0]
    return Rounded(abs(float(found["u"][seed % P, 0])) / unit, found["slack"] / float(stepsize * adam_decay))


def _lost(found: Values, P: int, seed: int, stepsize: Fraction, adam_decay: Fraction) -> Rounded:
    share, start = float(stepsize * adam_decay), found["first"][0][0]
    return Rounded(float(start - found["x"][seed % P, 0]) / (share * start), found["slack"] / share)


def _defect(found: Values, stepsize: Fraction) -> Rounded:
    size = found["largest"] * (1 + float(found["root"].max()))
    return Rounded(found["defect"], found["slack"] * size / float(stepsize))


_LOCAL_SPACE = Space(
    nothing,
    {
        "P": RANKS,
        "n": (6, 1, 3, 9),
        "local_steps": (1, 2, 5),
        "averages": (1, 2, 3, 8),
        "momentum_factor": rationals("3/4", "1/4", "1/2", "9/10", "1/8", "15/16"),
        "stepsize": rationals("1/16", "1/4", "1/64", "1/2"),
        "adam_decay": rationals("1/2", "1", "1/4", "1/32"),
        "silent": (True, False),
        "flat": (Of("as silent", lambda silent: silent),),
        "decayed": (False, True),
        "scale": ("norm", "mean"),
    },
    options=("momentum_factor", "decayed"),
)
_TENTHS: Values = {"momentum_factor": [Fraction(9, 10)], "decayed": [True]}
_SLOW = _LOCAL_SPACE.every(averages=(2, 10), stepsize=[Fraction(1, 2**20)], adam_decay=[Fraction(1, 16)], **_TENTHS)
_SHORT = _LOCAL_SPACE.every(
    P=[2], averages=(2, 3, 8), momentum_factor=rationals("1/2", "9/10"), decayed=[True], stepsize=[Fraction(1, 256)],
    adam_decay=[Fraction(1, 4)], seed=[1],
)  # fmt: skip
_ONCE = _LOCAL_SPACE.every(
    P=(1, 3), local_steps=(1, 2, 5), momentum_factor=rationals("1/4", "9/10"), decayed=(False, True)
)
LOCALS = Family(
    _COLUMN, "zeroone_local", _LOCAL_SPACE.including(*_SLOW, *_SHORT, *_ONCE), run=_ran, exact=False, arrays=2
)


def _over(axis: str, values: tuple[int, ...], **fixed: Any) -> list[Any]:
    return [LOCALS.over(axis, values, "two ranks", **{"P": 2, "momentum_factor": Fraction(9, 10), "seed": 1, **fixed})]


_STEPS, _AVERAGES = (1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32)
_DECAYING: Values = {"decayed": True, "P": 1, "stepsize": Fraction(1, 4096), "adam_decay": Fraction(1, 16)}

# --- silent entries --------------------------------------------------------------------------------------------------


def _gradient(n: int, size: Fraction, seed: int) -> Values:
    """Of all ranks; its last entry is zero."""
    g = np.random.default_rng(seed).integers(1, 9, n).astype(np.float64) * float(size)
    g[n - 1] = 0.0
    return {"g": g, "gradient_norm": math.sqrt(math.fsum((g * g).tolist())), "local_steps": 1}


def _moved(
    implementation: Any, g: Array, P: int, n: int, stepsize: Fraction, momentum_factor: Fraction,
    adam_epsilon: Fraction, scale: str, seed: int,
) -> Rounded:  # fmt: skip
    """How far a step moves the entry whose gradient is zero, as its variance is."""
    v, none = np.where(g != 0, 1.0, 0.0), np.zeros((P, n))
    state, _ = implementation(
        np.tile(g, (P, 1)), none + 0.25, none, none, v, none, none[0], np.zeros(1), True, float(stepsize),
        float(momentum_factor), 0.0, float(adam_epsilon), scale,
    )  # fmt: skip
    far = abs(float(state.weights[seed % P, n - 1]) - 0.25)
    return Rounded(far, 16 * EPS * (n + P) * (1 + far))


_SILENT = Family(
    _COLUMN,
    "zeroone_local",
    Space(
        nothing,
        {
            "P": RANKS,
            "n": (2, 3, 4, 9, 12),
            "size": rationals("1", "1/4", "1/16", "3"),
            "stepsize": rationals("1/8", "1/64", "1"),
            "momentum_factor": rationals("3/4", "1/2", "9/10"),
            "adam_epsilon": rationals("1/128", "1/1024", "1/4", "1/100000000"),
            "scale": ("norm", "mean"),
        },
        options=("momentum_factor", "scale"),
    ),
    _gradient,
    exact=False,
)

# --- refreshes and bytes ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _steps(implementation: Any, P: int, n: int, dtype: str, kappa: int) -> tuple[list[tuple[bool, int]], Iterator[Any]]:
    """Whether a step refreshed the variance, and the bytes of its busiest rank: of steps done, and of those to come."""

    def following() -> Iterator[tuple[bool, int]]:
        x = np.ones((P, n), dtype)
        u, v, errors, served, clock = x[0], 0 * x[0], 0 * x, 0 * x[0], np.array([0, 1, 0])
        while True:
            state, traffic = implementation(x, u, v, errors, served, clock, kappa)
            yield bool((state.variance != v).any()), int(traffic.sent.max())
            u, v, clock = state.momentum[0], state.variance, state.clock
            errors, served = state.worker_errors, state.server_errors

    return [], following()


def _stages(implementation: Any, P: int, n: int, dtype: str, kappa: int, zeroone_steps: int) -> Values:
    """Steps at which the variance was refreshed, and the bytes of the busiest rank; a run is gone on with."""
    done, following = _steps(implementation, P, n, dtype, kappa)
    done += itertools.islice(following, max(0, zeroone_steps - len(done)))
    steps = [t for t, (refreshed, _) in enumerate(done[:zeroone_steps], 1) if refreshed]
    return {"steps": steps, "sent": sum(sent for _, sent in done[:zeroone_steps])}


def _gap(found: Values, refresh: int) -> int:
    """0 where no refresh was made at all."""
    steps = found["steps"]
    return steps[refresh] - steps[refresh - 1] if refresh < len(steps) else 0


def _run_bytes(found: Values, dtype: str) -> Outcome:
    return Outcome(found["sent"], {"refreshed": len(found["steps"]), "scalebytes": np.dtype(dtype).itemsize})


def _stage_family(**axes: Any) -> Family:
    space = Space(nothing, {"P": RANKS, "n": (2,), "dtype": ("float32",), **axes})
    return Family(_COLUMN, "zeroone_gradient", space, run=_stages, searched=False)


_GAPS = _stage_family(
    kappa=(4, 1, 2, 3, 8),
    refresh=range(1, 18),
    zeroone_steps=(Of("1 + j 2^(j // kappa)", lambda kappa, refresh: 1 + refresh * 2 ** (refresh // kappa)),),
)
_GAPS = replace(
    _GAPS, space=_GAPS.space.without("Runs of more than 70 steps.", lambda zeroone_steps: zeroone_steps > 70)
)
_COUNTS = _stage_family(kappa=(8, 1, 2, 4), zeroone_steps=(1, 2, 3, 6, 12, 20, 28, 8, 24))
_BLOCKS = (Of("8 P", lambda P: 8 * P), Of("16 P", lambda P: 16 * P), 9)
_DTYPES = ("float32", "float64")
_VOLUMES = _stage_family(n=_BLOCKS, dtype=_DTYPES, kappa=(1, 2, 3), zeroone_steps=(1, 4, 9))


def _per_step(implementation: Any, P: int, n: int, local_steps: int, dtype: str) -> Outcome:
    x, none, sent = np.ones((P, n), dtype), np.zeros((P, n), dtype), 0
    for t in range(local_steps):
        _, traffic = implementation(x, x, none, none, x[0], none, none[0], np.zeros(1), t == local_steps - 1)
        sent += int(traffic.sent.max())
    return Outcome(Fraction(sent, local_steps), {"scalebytes": x.dtype.itemsize})


_SENT = Family(
    _COLUMN,
    "zeroone_local",
    Space(nothing, {"P": RANKS, "n": _BLOCKS, "local_steps": (1, 2, 5), "dtype": _DTYPES}),
    searched=False,
)

# --- layers of one message -------------------------------------------------------------------------------------------


def _message(data: str, layer: int, rest: int, size: float, seed: int) -> Array:
    """Two layers in one row: of random numbers, or of one magnitude, or one with zeros; or a recorded gradient."""
    rng = np.random.default_rng(seed)
    if data in gradients.KINDS:
        return gradients.trace().vectors[data][0, :1, : layer + rest].astype(np.float64)
    if data == "normal":
        return np.concatenate([rng.standard_normal(layer), size * rng.standard_normal(rest)])[None]
    first = np.resize([1.0, -1.0] if data == "one size" else [3.0, 0.0, -1.0, 0.5], layer)
    return np.concatenate([first, np.full(rest, size)])[None]


def _layered(implementation: Any, x: Array, layer: int, scale: str) -> Outcome:
    """The first layer of a message of two, which is compressed by one rank."""
    (row,), zero = np.atleast_2d(x).astype(np.float64), np.zeros((1, x.size))
    state, _ = implementation(row[None], zero[0], zero, zero[0], 0.0, scale)
    part, left = row[:layer], state.worker_errors[0][:layer]
    square, whole_square = (math.fsum((y * y).tolist()) for y in (part, row))
    own = math.sqrt(square / layer)
    ratio = math.sqrt(whole_square / row.size) / own
    values = {"scale_ratio": ratio, "flatness": math.fsum(np.abs(part).tolist()) / (layer * own)}
    return Outcome(math.fsum((left * left).tolist()) / square, values, 64 * row.size * EPS * (1 + ratio) ** 2)


_MESSAGES = Space(
    _message,
    {
        "data": ("one size", "normal", "zeros"),
        "layer": (3, 1, 2, 4, 9),
        "rest": (1, 4, 7),
        "n": (Of("both", lambda layer, rest: layer + rest),),
        "size": (1.0, 0.01, 100.0, 8.0),
        "scale": ("norm", "mean"),
    },
)
_RECORDED = [
    _MESSAGES.at(data=kind, layer=layer, rest=2410 - layer) for kind in gradients.KINDS for layer in (300, 2000)
]
_FUSED = Family("variance_reduced.lamb", "onebit_momentum", _MESSAGES.including(*_RECORDED), exact=False, arrays=2)

ZEROONE = (
    *LOCALS.studies(_kept, "kept", "kept_power", curves=_over("local_steps", _STEPS)),
    *LOCALS.studies(_decay, "decay_momentum", "decoupled", curves=_over("local_steps", _STEPS, decayed=True)),
    *LOCALS.studies(_lost, "decay_once", curves=_over("averages", _AVERAGES, **_DECAYING)),
    *LOCALS.studies(
        _lost, "decay_tenfold", extremal=LOCALS.of(_SLOW), curves=_over("averages", _AVERAGES, **_DECAYING)
    ),
    *LOCALS.studies(
        _defect,
        "nothing_lost",
        curves=_over("local_steps", _STEPS[:4], P=3, averages=2, silent=False, momentum_factor=Fraction(3, 4)),
    ),
    *_SILENT.studies(_moved, "silent_move", "bounded_move", curves=[_SILENT.over("n", (2, 4, 8, 16, 32, 64), P=2)]),
    *_SENT.studies(_per_step, "step_bytes", curves=[_SENT.over("local_steps", _STEPS, P=2, n=64)]),
    *_GAPS.studies(_gap, "gap", "printed_gap", curves=[_GAPS.over("refresh", range(1, 12), kappa=4)]),
    *_COUNTS.studies(
        lambda found: len(found["steps"]),
        "refreshes",
        extremal=_COUNTS.of(
            [_COUNTS.space.at(kappa=k, zeroone_steps=k * (2**i - 1)) for k, i in ((2, 2), (4, 2), (8, 1))]
        ),
        curves=[_COUNTS.over("zeroone_steps", (1, 4, 8, 16, 24, 40, 56), kappa=8)],
    ),
    *_VOLUMES.studies(_run_bytes, "run_bytes", curves=[_VOLUMES.over("zeroone_steps", _AVERAGES, P=2, n=64, kappa=4)]),
    *_FUSED.studies(
        _layered,
        "fused",
        "fused_share",
        curves=[
            _FUSED.over(
                "scale_ratio", (0.1, 0.5, 1, 2, 4, 8, 16), "layers of four entries, flat", by="size", layer=4, rest=4
            )
        ],
    ),
)
