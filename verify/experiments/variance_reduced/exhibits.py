"""Figures of compression with memory: shift weights and step sizes, descents, signs of real gradients."""

from fractions import Fraction

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives.variance_reduced import (
    dasha_step,
    diana_step,
    fused_scales,
    lazy_step,
    marina_step,
    onebit_lamb,
    onebit_momentum,
    padded_size,
    zeroone_local,
)
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, law, line
from commbounds.verify.experiments.variance_reduced.lamb import _flatness, _parts, _squares, _state
from commbounds.verify.experiments.variance_reduced.zeroone import LOCALS

_STEPS = {"quick": 300, "standard": 1000, "thorough": 3000}


def _shifts(_budget: str, _seed: int) -> Exhibit:
    """What a weight does to a shift, and to the step size."""
    weights = np.linspace(0.0, 1.0, 41)
    lines = []
    for omega in (1, 3, 9):
        values = [bound_of("variance_reduced.diana.shift", weight=a, omega=omega, shift_gap=1.0) for a in weights]
        lines.append(line(f"omega = {omega}", weights, [v if v <= 1.5 else float("nan") for v in values], "exact"))
    lines.append(line("1 - a", weights, 1 - weights, "reference"))
    sizes, parts = [], np.linspace(0.02, 0.98, 49)
    for ratio in (1.0, 4.0):  # omega/P
        sizes.append(line(f"omega = {ratio:g} P", parts, 1 / (1 + ratio / (1 - parts)), "corrected"))
        sizes.append(line(f"printed, omega = {ratio:g} P", [0, 1], 1 / (1 + 6 * ratio), "printed"))
    return Exhibit(
        "variance_reduced.shifts",
        "A shift converges fastest at the weight 1/(1 + omega); half of that weight allows up to three times the step",
        "Left: factor of a shift's expected squared distance from the gradient in one step. Right: the largest step "
        "size at which DIANA's potential is proved to fall, L = L_max = 1, over the weight times 1 + omega; the "
        "printed theorem is only about 1. At 1/2 the shifts' rate is that of the printed theorem.",
        (
            Panel("A shift's error", "shift weight a", "factor of the squared error", tuple(lines)),
            Panel("Step size", "a (1 + omega)", "largest gamma L", tuple(sizes)),
        ),
    )


def _descents(budget: str, seed: int) -> Exhibit:
    """Methods on quadratics of different minimisers, by steps and by words."""
    P, n, k = 8, 40, 4
    omega, rng = n / k - 1, np.random.default_rng(seed)
    d = np.linspace(0.1, 1.0, n)
    c = rng.standard_normal((P, n))
    c -= c.mean(axis=0)
    start, steps = rng.standard_normal(n) * 3, _STEPS[budget]
    looks = sorted({int(v) for v in np.geomspace(1, steps, 30)} | {0})

    def gradient(x: Floats) -> Floats:
        return d * x + c

    found: dict[str, tuple[list[float], list[float]]] = {}
    a_dasha, p, theta = 1 / (2 * omega + 1), k / n, 1 - (1 - k / n) ** 0.5
    gammas = {
        "no shifts": 1 / (1 + 2 * omega / P),
        "DIANA, printed": 1 / (1 + 6 * omega / P),
        "DIANA, half the weight": 1 / (1 + 2 * omega / P),
        "MARINA": 1 / (1 + ((1 - p) * omega / (p * P)) ** 0.5),
        "DASHA": 1 / (1 + (omega * (4 * omega + 2) / P) ** 0.5),
        "CLAG, zeta = 4": 1 / (1 + (max((1 - k / n) / theta, 4.0) / theta) ** 0.5),
    }
    for name, gamma in gammas.items():
        draws, x, words = np.random.default_rng(seed), start.copy(), 0.0
        excess, moved = [], []
        memory, g = np.zeros((P, n)), np.zeros(n)
        before = gradient(x)
        if name not in ("no shifts", "DIANA, printed", "DIANA, half the weight"):
            memory, g = before.copy(), before.mean(axis=0)
        for t in range(steps + 1):
            if t in looks:
                excess.append(max(float((d * x * x).sum() / 2), 1e-16))
                moved.append(words)
            if name.startswith("DIANA") or name == "no shifts":
                weight = 0.0 if name == "no shifts" else 1 / (1 + omega) / (1 if "printed" in name else 2)
                state, traffic = diana_step(gradient(x), memory, g, k, weight, draws)
                x, memory, g = x - gamma * state.estimate[0], state.shifts, state.mean
            else:
                x = x - gamma * g
                now = gradient(x)
                if name == "MARINA":
                    result, traffic = marina_step(now, before, g, k, bool(draws.random() < p), draws)
                    g = result[0]
                elif name == "DASHA":
                    tracked, traffic = dasha_step(now, before, memory, g, k, a_dasha, draws)
                    g, memory = tracked.estimate[0], tracked.own
                else:
                    lazy, traffic = lazy_step(now, before, memory, g, k, 4.0)
                    g, memory = lazy.estimate[0], lazy.own
                before = now
            words += float(traffic.sent.max())
        found[name] = excess, moved
    by_step = tuple(line(name, looks, excess) for name, (excess, _) in found.items())
    by_word = tuple(
        Line(name, [w + 1 for w in moved], excess) for name, (excess, moved) in found.items() if name != "no shifts"
    )
    return Exhibit(
        "variance_reduced.descents",
        "With memory the variance vanishes; compressed gradient descent without shifts stalls",
        f"{P} workers, quadratics of one curvature matrix (0.1 to 1) and different minimisers, {k} of {n} entries a "
        f"step, {steps} steps of the size that each method's theorem allows. CLAG sends the largest entries, the "
        "others random ones.",
        (
            Panel("By steps", "step", "f - f*", by_step, yscale="log"),
            Panel("By words", "words sent by the busiest rank, plus 1", "f - f*", by_word, xscale="log", yscale="log"),
        ),
    )


def _signs(_budget: str, _seed: int) -> Exhibit:
    """What signs leave out of real gradients, and of unit vectors."""
    sizes = [2**j for j in range(12)]
    lines = [
        law("worst: a unit vector", sizes, "variance_reduced.onebit.worst", "n", "bound"),
        line("nothing sent at all", [1, sizes[-1]], 1, "reference"),
    ]
    for kind in gradients.KINDS:
        x = gradients.trace().vectors[kind][0].astype(np.float64)
        y = []
        for n in sizes:
            part = x[:, 300 : 300 + n]
            part = part[(part != 0).any(axis=1)]
            y.append(float(np.mean([_left_out(row) for row in part])) if len(part) else float("nan"))
        lines.append(line(f"gradients, {kind}", sizes, y))
    steps = range(1, 41)
    names = {"norm": "root mean square", "mean": "mean magnitude"}
    grown = [line(name, steps, _residuals(scale, len(steps))) for scale, name in names.items()]
    return Exhibit(
        "variance_reduced.signs",
        "Signs times the root mean square lose more than the squared norm, also of training gradients",
        "Left: squared error over the squared norm, of entries 300 and on of a gradient, mean over the workers whose "
        "entries are not all zero. Right: norm of the residual of one worker whose gradient is the same in all steps, "
        "a unit vector of 64 entries. Although it does not contract, the norm is the better scale there: the mean "
        "magnitude is small, and a large entry waits for long.",
        (
            Panel("One compression", "entries", "squared error over squared norm", tuple(lines), xscale="log"),
            Panel("Error feedback", "step", "norm of the residual", tuple(grown)),
        ),
    )


def _left_out(x: Floats) -> float:
    zero = np.zeros((1, x.size))
    state, _ = onebit_momentum(x[None], zero[0], zero, zero[0], 0.0)
    return float(np.square(state.worker_errors).sum() / np.square(x).sum())


def _residuals(scale: str, steps: int) -> list[float]:
    x, errors, served, found = np.eye(64)[:1], np.zeros((1, 64)), np.zeros(64), []
    for _ in range(steps):
        state, _ = onebit_momentum(x, np.zeros(64), errors, served, 0.0, scale)
        errors, served = state.worker_errors, state.server_errors
        found.append(float(np.linalg.norm(errors)))
    return found


def _zeroone(_budget: str, _seed: int) -> Exhibit:
    """What an average makes of the momentum, and weight decay of the weights."""
    name, beta = "variance_reduced.zeroone.", 0.9
    steps = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
    ninths = {"momentum_factor": Fraction(9, 10), "seed": 1}
    runs = [LOCALS.found(zeroone_local, P=2, local_steps=H, **ninths) for H in steps]
    slow = {"decayed": True, "stepsize": Fraction(1, 65536), "adam_decay": Fraction(1, 16), **ninths}
    laws = (
        ("kept", "beta (1 - beta^H)/(H (1 - beta))", "exact"),
        ("kept_power", "beta^H, as after Adam's steps", "printed"),
    )
    momenta = [line("0/1 Adam", steps, [r["u"][0, 0] / r["first"][1][0] for r in runs])]
    momenta += [
        law(label, steps, name + claim, "local_steps", role, momentum_factor=beta) for claim, label, role in laws
    ]
    averages, decays = [1, 2, 4, 8, 16, 32, 64], []
    for H in (1, 4, 16):
        lost = []
        for S in averages:
            run = LOCALS.found(zeroone_local, local_steps=H, averages=S, **slow)
            start = run["first"][0][0]
            lost.append(float((start - run["x"][0, 0]) / start * 65536 * 16) / (S * H))
        decays.append(line(f"{H} local step{'s' if H > 1 else ''}", [S * H for S in averages], lost))
    most = [bound_of(name + "decay_tenfold", momentum_factor=beta, averages=S) / S for S in averages]
    decays += [
        line("bound for one local step", averages, most, "bound"),
        line("decoupled decay", [1, 1024], 1, "printed"),
    ]
    return Exhibit(
        "variance_reduced.zeroone",
        "An average of 0/1 Adam makes momentum older and adds weight decay to it, up to ten times",
        "beta = 9/10, no gradients. Left: the share of a momentum left after H local steps and their average. Right: "
        "the reduction of the weights by weight decay, over gamma lambda per step; the step size is close to zero.",
        (
            Panel("Momentum after an average", "local steps H", "over the momentum before", tuple(momenta)),
            Panel("Weight decay", "steps", "times what decoupled decay takes", tuple(decays), xscale="log"),
        ),
    )


def _of_layers(u: Floats, layers: tuple[int, ...]) -> tuple[list[float], list[float]]:
    """Squares of what one rank leaves out of every layer of a momentum: fused as they are, and at one scale."""
    found = []
    for scales in (np.ones(len(layers)), fused_scales(u, layers)):
        state, _ = onebit_lamb(u[None], **_state(u, 1, layers, coefficients=scales), beta=0.5, epsilon=0.0)
        left = state.worker_errors[0, : u.size] / np.repeat(scales, layers)
        found.append([_squares(part) for part in _parts(left, layers)])
    return found[0], found[1]


def _beside(first: Floats, flat: int, size: float) -> float:
    """What is left out at one scale over what is left out as they are, of a layer and a flat one of some size."""
    plain, scaled = _of_layers(np.concatenate([first, np.full(flat, size)]), (first.size, flat))
    return sum(scaled) / sum(plain)


def _lamb(_budget: str, _seed: int) -> Exhibit:
    """What signs leave out of every layer, and of all of them, fused as they are and brought to one scale."""
    name, layers = "variance_reduced.lamb.", tuple(w.stop - w.start for w, _ in gradients.LAYERS.values())
    points: dict[str, list[tuple[float, float, float]]] = {layer: [] for layer in gradients.LAYERS}
    together = []
    for kind in gradients.KINDS:
        u = gradients.trace().vectors[kind][0].astype(np.float64).mean(axis=0)
        message, parts = (_squares(u) / padded_size(u.size, 1)) ** 0.5, _parts(u, layers)
        for layer, part, before, after in zip(gradients.LAYERS, parts, *_of_layers(u, layers), strict=True):
            square = _squares(part)
            points[layer].append(((square / part.size) ** 0.5 / message, before / square, after / square))
        whole = u[: -layers[-1]]  # a multiple of eight entries: no padding
        plain, scaled = _of_layers(whole, layers[:-1])
        together.append((min(map(_flatness, _parts(whole, layers[:-1]))), sum(scaled) / sum(plain)))
    shares, panels = np.geomspace(0.5, 3.0, 61), []
    for place in (1, 2):
        lines = []
        for layer, measured in points.items():
            ordered = sorted(measured)
            lines.append(Line(layer, [p[0] for p in ordered], [p[place] for p in ordered]))
        for phi in (0.4, 0.7, 1.0):
            fused = [bound_of(name + "fused", scale_ratio=1 / v, flatness=phi) for v in shares]
            alone = bound_of(name + "scaled_share", n=8, fused_length=8, flatness=phi)
            lines.append(line(f"law, phi = {phi:g}", shares, fused if place == 1 else alone, "exact"))
        lines.append(line("nothing sent at all", [0.5, 3.0], 1, "reference"))
        panels.append(lines)
    spikes, ratios = np.geomspace(0.5, 16.0, 61), []
    for flat in (4, 12, 252):
        found = [_beside(np.array([14.0 * v, 0.0, 0.0, 0.0]), flat, 7.0) for v in spikes]
        ratios.append(line(f"beside {flat} entries of 7", spikes, found))
    point = _beside(np.array([34.0, 0.0, 0.0, 0.0]), 4, 7.0)
    ratios += [
        Line("(34, 0, 0, 0), (7, 7, 7, 7)", [17 / 7], [point]),
        line("at most", [0.5, 16.0], bound_of(name + "at_most_double", plain_error=1.0, flatness=0.5), "bound"),
        line("no more than as they are", [0.5, 16.0], 1, "printed"),
    ]
    together.sort()
    phis = np.linspace(0.15, 1.0, 35).tolist()
    sparse = [np.r_[np.ones(filled), np.zeros(32 - filled)] for filled in (1, 2, 4, 8, 12, 16, 20, 24, 28)]
    sums = [_beside(first, 2016, float(first.mean())) for first in sparse]
    last = [
        Line("recorded gradients", [v for v, _ in together], [v for _, v in together]),
        Line("sparse, beside a long flat layer", [_flatness(first) for first in sparse], sums),
        law("at most", phis, name + "at_most_double", "flatness", "bound", plain_error=1.0),
        line("no more than as they are", [0.15, 1.0], 1, "printed"),
    ]
    return Exhibit(
        "variance_reduced.lamb",
        "One scale for all layers helps relatively small ones; if a large layer is sparse, the total error grows",
        "Above: what signs lose of each layer of recorded gradients, by its root mean square over that of the message "
        "before; averages of 8 workers, from the four kinds of training, as the momentum of one rank. phi is a layer's "
        "mean magnitude over its root mean square: signs are exact at phi = 1 and at the layer's own scale. Below: "
        "squared error of all layers at one scale over that of unscaled layers. With (a, 0, 0, 0) and entries of 7 the "
        "error grows if the first scale is slightly above the other; for recorded gradients, without the last biases, "
        "it falls.",
        (
            Panel("Layers fused unscaled", "layer over message", "squared error over squared norm",
                  tuple(panels[0]), xscale="log"),
            Panel("Layers scaled equally", "layer over message, before", "squared error over squared norm",
                  tuple(panels[1]), xscale="log"),
            Panel("One large entry of four and a flat layer", "scale of the first layer over that of the second",
                  "error at one scale over error as they are", tuple(ratios), xscale="log"),
            Panel("By flatness", "flatness phi of the least flat layer", "error at one scale over error as they are",
                  tuple(last)),
        ),
    )  # fmt: skip


EXHIBITS: dict[str, Maker] = {
    "variance_reduced.shifts": _shifts,
    "variance_reduced.descents": _descents,
    "variance_reduced.signs": _signs,
    "variance_reduced.zeroone": _zeroone,
    "variance_reduced.lamb": _lamb,
}
