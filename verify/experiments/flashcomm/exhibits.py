"""Flash Communication: quantised all-reduce: figures about more than one claim."""

from collections.abc import Callable
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives import (
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer
from commbounds.theory import quantities as symbols
from commbounds.theory.cost import cost
from commbounds.theory.schedules import SCHEDULES
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, law, line
from commbounds.verify.experiments.flashcomm.cases import rms

_RANKS = [2, 3, 4, 6, 8, 12, 16]
_FLAT: dict[str, Callable[..., Any]] = {
    "ring": ring_quantised_allreduce,
    "two-step": twostep_quantised_allreduce,
    "one-shot": oneshot_quantised_allreduce,
}


def errors(budget: str, seed: int) -> Exhibit:
    """Root mean square error of the sums against the number of ranks."""
    rng = np.random.default_rng(seed)
    entries = {"quick": 1 << 13, "standard": 1 << 16, "thorough": 1 << 19}[budget]
    panels = []
    for width in (4, 8):
        q = GroupQuantizer(width)
        rows: dict[str, list[float]] = {name: [] for name in _FLAT}
        for P in _RANKS:
            stack = rng.standard_normal((P, entries)).astype(np.float32)
            one, exact = rms(q(stack[0]) - stack[0]), stack.astype(np.float64).sum(axis=0)
            for name, allreduce in _FLAT.items():
                rows[name].append(rms(allreduce(stack, q)[0].values[0] - exact) / one)
        lines = []
        for name, key in (("ring", "ring"), ("two-step", "twostep"), ("one-shot", "oneshot")):
            lines.append(line(name, _RANKS, rows[name]))
            lines.append(law(f"{name}: law", _RANKS, f"flashcomm.{key}.rms", "P"))
        over = "rms error / that of one quantisation"
        panels.append(Panel(f"{width} bits", "ranks P", over, tuple(lines), None, "log", "log"))
    return Exhibit(
        "flashcomm.errors",
        "Two quantisations instead of P: the two-step error is below the ring's for P >= 4 and equal at P = 3",
        f"{entries} standard normal entries a rank, groups of 128. Lines without marks are the laws sqrt(P (P + 1)/2), "
        "sqrt(2 P) and sqrt(P), which assume independent errors.",
        tuple(panels),
    )


def _data(seed: int) -> dict[str, Array]:
    rng, n = np.random.default_rng(seed), 1 << 14
    spiky = rng.standard_normal(n)
    spiky[rng.permutation(n)[: n // 64]] *= 100
    real = gradients.vectors("iid", "late")[0].ravel()
    return {
        "Gaussian": rng.standard_normal(n),
        "Laplace": rng.laplace(size=n),
        "Student t, 3 degrees": rng.standard_t(3.0, size=n),
        "one spike of 100 in 64": spiky,
        "gradients of the digits model": real,
    }


_VARIANTS: dict[str, dict[str, Any]] = {
    "plain, g = 128": {"group": 128, "metadata": "float16"},
    "plain, g = 32": {"group": 32, "metadata": "float16"},
    "spikes, g = 32": {"group": 32, "metadata": "float16", "spikes": True},
    "spikes, g = 128": {"group": 128, "metadata": "float16", "spikes": True},
    "spikes, g = 32, log2 scale": {"group": 32, "metadata": "bfloat16", "spikes": True, "scale": "log2"},
}


def bits(budget: str, seed: int) -> Exhibit:
    """Relative error against bits on the wire, with and without spikes."""
    panels = []
    for name, x in _data(seed).items():
        # float16 keeps few digits of tiny gradients: quantisers see them at unit scale, as training scales losses
        scaled = (x / np.abs(x).std()).astype(np.float32)
        lines = []
        for label, options in _VARIANTS.items():
            points = []
            for width in range(1, 9):
                c = GroupQuantizer(width, **options)
                message = c.compress(scaled)
                error = rms(c.decompress(message) - scaled.astype(np.float64)) / rms(scaled)
                points.append((message.bits / scaled.size, error))
            lines.append(Line(label, [b for b, _ in points], [e for _, e in points]))
        bits_of = "bits for one entry, metadata included"
        panels.append(Panel(name, bits_of, "rms error / rms entry", tuple(lines), yscale="log"))
    return Exhibit(
        "flashcomm.bits",
        "Reserving spikes pays for isolated spikes, and for heavy tails in groups of 128; not for Gaussian entries",
        "One to eight bits a code. At equal x the lower line is better. With float16 metadata the spikes of groups of "
        "32 cost more than two bits an entry; compact metadata or larger groups reduce that.",
        tuple(panels),
    )


def times(_budget: str, _seed: int) -> Exhibit:
    """Time of the collectives in a model of latency, bandwidth and quantisation passes."""
    P, node, q = 8, 4, GroupQuantizer(4, metadata="float16")
    sizes = [1 << j for j in range(12, 25, 2)]
    rows: dict[str, list[float]] = {}
    bridges: dict[str, list[float]] = {}
    latency, per_byte, per_entry = 5e-6, 1 / 20e9, 2e-11
    ring = cost(SCHEDULES["ring"])
    for n in sizes:
        part = np.zeros((P, min(n, 1 << 12)), np.float32)
        scale = n / part.shape[1]
        for name, allreduce, passes in (
            ("ring", ring_quantised_allreduce, P),
            ("two-step", twostep_quantised_allreduce, 2),
            ("one-shot", oneshot_quantised_allreduce, 1),
        ):
            result, traffic = allreduce(part, q)
            seconds = latency * traffic.steps + per_byte * scale * traffic.critical_path + passes * per_entry * n
            rows.setdefault(f"{name}, INT4", []).append(1e6 * seconds)
            bridges.setdefault(f"{name}, INT4", []).append(scale * result.bridge_bytes(node)[0] / n)
        result, traffic = hierarchical_quantised_allreduce(part, q, node)
        seconds = latency * traffic.steps + per_byte * scale * traffic.critical_path + 3 * per_entry * n
        rows.setdefault("hierarchical, INT4", []).append(1e6 * seconds)
        bridges.setdefault("hierarchical, INT4", []).append(scale * result.bridge_bytes(node)[0] / n)
        # float16: two bytes a word
        at = {symbols.P: P, symbols.n: n}
        plain = latency * float(ring.latency.subs(at)) + per_byte * 2 * float(ring.words.subs(at))
        rows.setdefault("ring, float16", []).append(1e6 * plain)
    first = Panel(
        "model: 5 µs a step, 20 GB/s, 20 ps an entry and pass",
        "entries n",
        "time in µs",
        tuple(
            line(name, sizes, values, "reference" if "float16" in name else "measured") for name, values in rows.items()
        ),
        xscale="log",
        yscale="log",
    )
    second = Panel(
        "two halves of four ranks",
        "entries n",
        "bytes over the bridge / n, each way",
        tuple(line(name, sizes, values) for name, values in bridges.items()),
        xscale="log",
    )
    return Exhibit(
        "flashcomm.times",
        "The two-step is fastest on small vectors; over a bridge it sends four times as much as the hierarchy",
        "P = 8. Bytes and steps are counted on the executed collectives; latency, bandwidth and the cost of a pass are "
        "assumptions, stated in the title of the panel.",
        (first, second),
    )


EXHIBITS: dict[str, Maker] = {"flashcomm.errors": errors, "flashcomm.bits": bits, "flashcomm.times": times}
