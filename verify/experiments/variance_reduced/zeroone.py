"""0/1 Adam: what averages make of momenta and weights, its refreshes and bytes; layers that share a scale."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify import gradients
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import EPS
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
_COLUMN = "variance_reduced.zeroone"

# --- local steps -----------------------------------------------------------------------------------------------------


def _start(s: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Weights, momenta and the variance that a case begins with."""
    P, n = s["P"], s["n"]
    rng = np.random.default_rng(s["seed"])
    if s["flat"]:
        weights, variance = np.full((P, n), 2.0), np.full(n, 4.0 ** (s["seed"] % 3))
        return weights, np.zeros((P, n)) if s["decayed"] else np.full((P, n), 3.0), variance
    same = rng.standard_normal((2, n))
    return np.tile(same[0], (P, 1)), np.tile(same[1], (P, 1)), rng.random(n) + 0.25


def _ran(local: Any, case: Case) -> dict[str, Any]:
    """The averages of a case, each after its local steps."""
    s = case.settings
    P, n, H = s["P"], s["n"], s["H"]
    rng = np.random.default_rng([s["seed"], 1])
    x, u, v = _start(s)
    moved, errors, served, elapsed = np.zeros((P, n)), np.zeros((P, n)), np.zeros(n), np.zeros(1)
    gamma, beta, decay = (float(Fraction(s[name])) for name in ("gamma", "beta", "decay"))
    options = {"beta": beta, "decay": decay if s["decayed"] else 0.0, "epsilon": 0.0, "scale": s["scale"]}
    first, defect, largest, sent = (x[0].copy(), u[0].copy()), 0.0, 1.0, 0
    root = np.sqrt(v)
    for _ in range(s["S"]):
        for t in range(H):
            g = np.zeros((P, n)) if s["silent"] else rng.standard_normal((P, n))
            before = x, u, moved, errors, served
            last = t == H - 1
            state, traffic = local(g, x, u, moved, v, errors, served, elapsed, last, gamma, **options)
            sent += int(traffic.sent.max())
            x, u, moved, errors, served, elapsed = state
        # the step before the average, by itself
        at, held = before[0], options["beta"] * before[1] + (1 - options["beta"]) * g
        at = at - gamma * (held / root + options["decay"] * at)
        left = errors.mean(axis=0) + served - before[3].mean(axis=0) - before[4]
        defect = max(defect, float(np.abs(root * (x - at.mean(axis=0)) - left).max()))
        largest = max(largest, *(float(np.abs(part).max()) for part in (x, u, at, held, errors, served)))
    return {"x": x, "u": u, "first": first, "root": root, "defect": defect, "largest": largest, "sent": sent}


def _averaged(what: str, local: Any, case: Case) -> Outcome:
    s = case.settings
    found = case.once(_ran, local)
    values: dict[str, Any] = {"P": s["P"], "n": s["n"], "local_steps": s["H"], "averages": s["S"]}
    gamma, beta, decay = (Fraction(s[name]) for name in ("gamma", "beta", "decay"))
    values |= {"momentum_factor": beta, "stepsize": gamma, "adam_decay": decay}
    room = 64 * EPS * s["S"] * (s["H"] + s["n"] + s["P"])
    rank = s["seed"] % s["P"]
    if what == "kept":
        return Outcome(float(found["u"][rank, 0] / found["first"][1][0]), values, room)
    if what == "decay":
        unit = float(decay) * found["root"][0] * found["first"][0][0]
        return Outcome(abs(float(found["u"][rank, 0])) / unit, values, room / float(gamma * decay))
    if what == "lost":
        unit = float(gamma * decay) * found["first"][0][0]
        return Outcome(float(found["first"][0][0] - found["x"][rank, 0]) / unit, values, room / float(gamma * decay))
    return Outcome(found["defect"], values, room * found["largest"] * (1 + float(found["root"].max())) / float(gamma))


def _local(P: int, H: int, S: int = 1, **more: Any) -> Case:
    """A case of `S` averages with `H` local steps each."""
    given = {"P": P, "n": 6, "H": H, "S": S, "beta": "3/4", "gamma": "1/16", "decay": "1/2", "decayed": False,
             "silent": True, "flat": True, "scale": "norm", "seed": 1}  # fmt: skip
    return Case({**given, **more})


def _locals(_budget: Budget) -> Iterator[Case]:
    for P, H, beta, scale in itertools.product((1, 3), (1, 2, 5), ("1/4", "9/10"), ("norm", "mean")):
        yield _local(P, H, 1, beta=beta, scale=scale)
        yield _local(P, H, 1, beta=beta, scale=scale, decayed=True, gamma="1/4", decay="1", seed=2)
        yield _local(P, H, 2, beta=beta, scale=scale, silent=False, flat=False, decayed=H == 2)
    for S, beta in itertools.product((2, 3, 8), ("1/2", "9/10")):
        yield _local(2, 1, S, beta=beta, decayed=True, gamma="1/256", decay="1/4")
    yield from _slow(_budget)


def _slow(_budget: Any) -> Iterator[Case]:
    """Steps so small that weights hardly fall."""
    for S in (2, 10):
        yield _local(1, 1, S, beta="9/10", gamma="1/1048576", decay="1/16", decayed=True)


@st.composite
def _drawn_locals(draw: st.DrawFn) -> Case:
    flat = draw(among((True, False)))
    more = {"beta": draw(among(("1/8", "1/2", "15/16"))), "scale": draw(among(("norm", "mean"))), "flat": flat}
    more |= {"n": draw(whole(1, 9)), "seed": draw(whole(0, 2**31)), "decayed": draw(among((True, False)))}
    more |= {"silent": flat, "gamma": draw(among(("1/2", "1/64"))), "decay": draw(among(("1", "1/32")))}
    return _local(draw(whole(1, 4)), draw(whole(1, 6)), draw(whole(1, 3)) if not flat else 1, **more)


def _of_locals(statement: str, what: str, axis: str = "local_steps", **options: Any) -> Study:
    decayed = what in ("decay", "lost")
    cases = [_local(2, H, decayed=decayed, beta="9/10") for H in (1, 2, 4, 8, 16)]
    if what == "lost":
        cases = [_local(1, 1, S, decayed=True, beta="9/10", gamma="1/4096", decay="1/16") for S in (1, 2, 4, 8, 16, 32)]
    if what == "defect":
        cases = [_local(3, H, 2, silent=False, flat=False) for H in (1, 2, 4, 8)]
    return Study(
        f"{_COLUMN}.{statement}",
        "zeroone_local",
        partial(_averaged, what),
        corpus=_locals,
        cases=_drawn_locals,
        curves=[over(axis, "two ranks", cases)],
        **options,
    )


# --- silent entries --------------------------------------------------------------------------------------------------


def _moved(local: Any, case: Case) -> Outcome:
    """A step of one gradient on all ranks, whose last entry is zero, as its variance is."""
    s = case.settings
    P, n = s["P"], s["n"]
    g = np.random.default_rng(s["seed"]).integers(1, 9, n).astype(np.float64) * float(Fraction(s["size"]))
    g[n - 1] = 0.0
    v = np.where(g != 0, 1.0, 0.0)
    gamma, beta, epsilon = (Fraction(s[name]) for name in ("gamma", "beta", "epsilon"))
    none, errors = np.zeros((P, n)), np.zeros((P, n))
    x = np.full((P, n), 0.25)
    state, _ = local(
        np.tile(g, (P, 1)), x, none, none, v, errors, errors[0], np.zeros(1), True, float(gamma), float(beta), 0.0,
        float(epsilon), s["scale"],
    )  # fmt: skip
    far = abs(float(state.weights[s["seed"] % P, n - 1]) - 0.25)
    values = {"stepsize": gamma, "momentum_factor": beta, "adam_epsilon": epsilon, "n": n, "local_steps": 1}
    norm = math.sqrt(math.fsum((g * g).tolist()))
    return Outcome(far, {**values, "gradient_norm": norm}, 16 * EPS * (n + P) * (1 + far))


def _silent_case(P: int, n: int, **more: Any) -> Case:
    given = {"P": P, "n": n, "size": "1", "gamma": "1/8", "beta": "3/4", "epsilon": "1/128", "scale": "norm", "seed": 1}
    return Case({**given, **more})


def _silents(_budget: Budget) -> Iterator[Case]:
    for P, n, scale in itertools.product((1, 2, 5), (2, 3, 9), ("norm", "mean")):
        for beta, epsilon in (("0.5", "1/1024"), ("9/10", "1/4"), ("3/4", "1/128")):
            yield _silent_case(
                P, n, beta=beta, epsilon=epsilon, scale=scale, size="1" if n > 2 else "1/4", gamma="1/64"
            )
    yield _silent_case(2, 4, epsilon="1/100000000")


@st.composite
def _drawn_silents(draw: st.DrawFn) -> Case:
    more = {
        "size": draw(among(("1/16", "1", "3"))),
        "epsilon": draw(among(("1/2", "1/1000"))),
        "seed": draw(whole(0, 2**31)),
    }
    return _silent_case(draw(whole(1, 4)), draw(whole(2, 12)), gamma=draw(among(("1", "1/32"))), **more)


def _of_silents(statement: str) -> Study:
    cases = [_silent_case(2, n) for n in (2, 4, 8, 16, 32, 64)]
    return Study(
        f"{_COLUMN}.{statement}", "zeroone_local", _moved, corpus=_silents, cases=_drawn_silents,
        curves=[over("n", "two ranks", cases)],
    )  # fmt: skip


# --- refreshes and bytes ---------------------------------------------------------------------------------------------


def _stages(gradient: Any, case: Case) -> dict[str, Any]:
    """Steps at which the variance was refreshed, and the bytes of the busiest rank."""
    s = case.settings
    x = np.ones((s["P"], s["n"]), s["dtype"])
    u, v, errors, served, clock = x[0], 0 * x[0], 0 * x, 0 * x[0], np.array([0, 1, 0])
    steps, sent = [], 0
    for t in range(1, s["steps"] + 1):
        state, traffic = gradient(x, u, v, errors, served, clock, s["kappa"])
        if (state.variance != v).any():
            steps.append(t)
        sent += int(traffic.sent.max())
        u, v, clock = state.momentum[0], state.variance, state.clock
        errors, served = state.worker_errors, state.server_errors
    return {"steps": steps, "sent": sent}


def _refreshes(what: str, gradient: Any, case: Case) -> Outcome:
    s = case.settings
    found = case.once(_stages, gradient)
    values = {"P": s["P"], "n": s["n"], "kappa": s["kappa"], "zeroone_steps": s["steps"]}
    values |= {"scalebytes": np.dtype(s["dtype"]).itemsize}
    if what == "gap":
        j, steps = s["refresh"], found["steps"]
        gap = steps[j] - steps[j - 1] if j < len(steps) else 0  # none: no refresh was made at all
        return Outcome(gap, {**values, "refresh": j})
    if what == "count":
        return Outcome(len(found["steps"]), values)
    return Outcome(found["sent"], {**values, "refreshed": len(found["steps"])})


def _stage(kappa: int, steps: int, P: int = 1, n: int = 2, dtype: str = "float32", **more: Any) -> Case:
    return Case({"P": P, "n": n, "dtype": dtype, "kappa": kappa, "steps": steps, **more})


def _gaps(_level: int) -> Iterator[Case]:
    for kappa, most in ((1, 3), (2, 6), (3, 7), (4, 9), (8, 17)):
        for j in range(1, most + 1):
            yield _stage(kappa, 1 + j * 2 ** (j // kappa), refresh=j)


def _counts(_level: int) -> Iterator[Case]:
    for kappa in (1, 2, 4, 8):
        for steps in (1, 2, 3, 6, 12, 20, 28):
            yield _stage(kappa, steps)


def _full_intervals(_budget: Budget) -> Iterator[Case]:
    for kappa, i in ((2, 2), (4, 2), (8, 1)):
        yield _stage(kappa, kappa * (2**i - 1))


def _volumes(_level: int) -> Iterator[Case]:
    for P, blocks, dtype, kappa in itertools.product((1, 2, 3, 5), (1, 2), ("float32", "float64"), (1, 3)):
        for steps in (1, 4, 9):
            yield _stage(kappa, steps, P, 8 * P * blocks, dtype)
    yield _stage(2, 3, 2, 9)


def _of_refreshes(statement: str, what: str, grid: Callable[[int], Iterator[Case]], axis: str, **options: Any) -> Study:
    cases = [_stage(8, T) for T in (1, 4, 8, 16, 24, 40, 56)]
    if what == "gap":
        cases = [_stage(4, 1 + j * 2 ** (j // 4), refresh=j) for j in range(1, 12)]
    if what == "bytes":
        cases = [_stage(4, T, 2, 64) for T in (1, 2, 4, 8, 16, 32)]
    return Study(
        f"{_COLUMN}.{statement}", "zeroone_gradient", partial(_refreshes, what), grid=grid,
        curves=[over(axis, "small kappa", cases)], **options,
    )  # fmt: skip


def _per_step(local: Any, case: Case) -> Outcome:
    s = case.settings
    P, n = s["P"], s["n"]
    x, none, sent = np.ones((P, n), s["dtype"]), np.zeros((P, n), s["dtype"]), 0
    for t in range(s["H"]):
        _, traffic = local(x, x, none, none, x[0], none, none[0], np.zeros(1), t == s["H"] - 1)
        sent += int(traffic.sent.max())
    values = {"P": P, "n": n, "local_steps": s["H"], "scalebytes": x.dtype.itemsize}
    return Outcome(Fraction(sent, s["H"]), values)


def _step_sizes(_level: int) -> Iterator[Case]:
    for P, blocks, H, dtype in itertools.product((1, 2, 3, 5), (1, 3), (1, 2, 5), ("float32", "float64")):
        yield Case({"P": P, "n": 8 * P * blocks, "H": H, "dtype": dtype})
    yield Case({"P": 2, "n": 9, "H": 1, "dtype": "float32"})


# --- layers of one message -------------------------------------------------------------------------------------------


def _layered(onebit: Any, case: Case) -> Outcome:
    """The first layer of a message of two, which is compressed by one rank."""
    s, (row,) = case.settings, np.atleast_2d(case.array).astype(np.float64)
    layer, zero = s["layer"], np.zeros((1, row.size))
    state, _ = onebit(row[None], zero[0], zero, zero[0], 0.0, s["scale"])
    part, left = row[:layer], state.worker_errors[0][:layer]
    square, whole_square = (math.fsum((y * y).tolist()) for y in (part, row))
    own = math.sqrt(square / layer)
    ratio = math.sqrt(whole_square / row.size) / own
    values = {"scale_ratio": ratio, "flatness": math.fsum(np.abs(part).tolist()) / (layer * own)}
    return Outcome(math.fsum((left * left).tolist()) / square, values, 64 * row.size * EPS * (1 + ratio) ** 2)


def _layers(first: Any, second: Any, scale: str = "norm") -> Case:
    x = np.concatenate([np.asarray(first, np.float64), np.asarray(second, np.float64)])
    return Case({"n": x.size, "layer": len(first), "scale": scale}, x[None])


def _messages(_budget: Budget) -> Iterator[Case]:
    for size, rest in itertools.product((1.0, 0.01, 100.0), (1, 4)):
        yield _layers(np.array([1.0, -1.0, 1.0]) * size, np.ones(rest))
        yield _layers(np.array([3.0, 0.0, -1.0, 0.5]) * size, -np.ones(rest))
        yield _layers(np.array([1.0, 2.0]) * size, np.ones(rest), "mean")
    for kind in gradients.KINDS:
        x = gradients.trace().vectors[kind][0, 0].astype(np.float64)
        for layer in (300, 2000):
            yield _layers(x[:layer], x[layer:])


@st.composite
def _drawn_messages(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(whole(0, 2**31)))
    first, second = (rng.standard_normal(draw(whole(1, 9))) for _ in range(2))
    return _layers(first, second * 10.0 ** draw(whole(-2, 3)))


def _of_layers(statement: str) -> Study:
    cases = [_layers(np.ones(4), np.full(4, float(size))) for size in (0.1, 0.5, 1, 2, 4, 8, 16)]
    return Study(
        f"variance_reduced.lamb.{statement}", "onebit_momentum", _layered, corpus=_messages, cases=_drawn_messages,
        curves=[over("scale_ratio", "layers of four entries, flat", cases)],
    )  # fmt: skip


ZEROONE = (
    _of_locals("kept", "kept"),
    _of_locals("kept_power", "kept"),
    _of_locals("decay_momentum", "decay"),
    _of_locals("decoupled", "decay"),
    _of_locals("decay_once", "lost", "averages"),
    _of_locals("decay_tenfold", "lost", "averages", extremal=_slow),
    _of_locals("nothing_lost", "defect"),
    _of_silents("silent_move"),
    _of_silents("bounded_move"),
    Study(
        f"{_COLUMN}.step_bytes", "zeroone_local", _per_step, grid=_step_sizes,
        enumerated="up to 5 ranks, 5 local steps, three bytes of signs a block",
        curves=[over("local_steps", "n = 64, P = 2, float32",
                     [Case({"P": 2, "n": 64, "H": H, "dtype": "float32"}) for H in (1, 2, 4, 8, 16)])],
    ),
    _of_refreshes("gap", "gap", _gaps, "refresh", enumerated="kappa up to 8, intervals up to 8"),
    _of_refreshes("printed_gap", "gap", _gaps, "refresh", enumerated="kappa up to 8, intervals up to 8"),
    _of_refreshes(
        "refreshes", "count", _counts, "zeroone_steps", enumerated="kappa up to 8, up to 28 steps",
        extremal=_full_intervals,
    ),
    _of_refreshes("run_bytes", "bytes", _volumes, "zeroone_steps", enumerated="up to 5 ranks and 9 steps"),
    _of_layers("fused"),
    _of_layers("fused_share"),
)  # fmt: skip
