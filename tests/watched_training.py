"""Planted faults of a training run of four processes, and after how many steps a monitor notices them.

``python tests/watched_training.py`` prints the table of ``docs/watch.md``, or the rows that are named, with
``--transformer`` that of a small transformer, with ``--steps N`` in runs of N steps; with
``right STEPS [FIRST]`` it makes 200 runs without a fault, or those from a number on.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # processes are as many as there are ranks

import numpy as np
from greenlet import getcurrent, greenlet

from commbounds import watch
from commbounds.collectives.dropcompute import Lognormal

P, BATCH, FROM = 4, 32, 50
"""Ranks; examples of a rank's batch; the step from which on there is a fault."""
SHAPES = {
    "network": {"first": (64, 32), "second": (32, 10)},
    "transformer": {
        "rows": (8, 16),
        **dict.fromkeys(("query", "key", "value", "output"), (16, 16)),
        "up": (16, 32),
        "digit": (32, 10),
    },
}
"""Model -> its matrices: a network with one hidden layer; a block of attention over the eight rows of a digit."""
KEPT, RANK, GROUP, INNER, LOSS, REACH = 16, 2, 64, 4, 0.2, 20.0
"""Share of Top-K (one of so many); rank of PowerSGD; entries of a scale; DiLoCo's inner steps; loss of its outer
messages; a norm that no gradient exceeds."""
LATENCY = Lognormal(-2.3, 0.2)
PATIENCE = 350
"""Steps of a run."""
LONG = {"bias of 1e-3 in rounding": 2000}
"""Steps of runs whose fault takes longer to see."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong: from step FROM on, on rank 1 where it is one rank's.

    Methods that it can happen to, and the checks of which one is to name it; none where no monitor can.
    """

    name: str
    methods: str
    checks: str
    start: int = FROM


ALL = "dense topk powersgd int8 diloco"
FEEDBACK = "topk powersgd"
FAULTS = (
    Fault("residual dropped on one rank", FEEDBACK, "carried"),
    Fault("residual halved after a resume", FEEDBACK, "carried"),
    Fault("residual of the step before", FEEDBACK, "residual carried"),
    Fault("residual added twice", FEEDBACK, "carried"),
    Fault("sum divided by P - 1", ALL, "sum"),
    Fault("one rank left out of the sum", ALL, "sum"),
    Fault("one rank's message is that of the step before", ALL, "sum"),
    Fault("one rank stale", ALL, "agreement"),
    Fault("one bit of a result flipped on one rank", ALL, "agreement"),
    Fault("scale of the step before", "int8", "claim"),
    Fault("scale underflows from step 300", "int8", "scales", 300),
    Fault("scale overflows", "int8", "scales finite"),
    Fault("rounding to the nearest", "int8", "bias"),
    Fault("rounding down", "int8", "bias"),
    Fault("bias of 1e-3 in rounding", "int8", "bias claim"),
    Fault("a rank's seed shared", "int8", "noise"),
    Fault("the smallest entries kept", "topk", "claim"),
    Fault("twice the words on the wire", "dense topk powersgd int8", "claim"),
    Fault("a gradient that is not finite", ALL, "finite"),
    Fault("gradients 100 times as large", "topk diloco", "hypothesis"),
    Fault("a rank 10 % slower", ALL, "times"),
    Fault("outer messages lost twice as often", "diloco", "losses"),
    Fault("one rank dead", ALL, "missing"),
    Fault("two ranks with the same data", ALL, "samples"),
    Fault("learning rate doubled", ALL, "optimiser"),
)

CLAIMS = {
    "dense": {"sparsifiers.identity.contraction": {}, "sparsifiers.identity.wire": {"itembits": 32}},
    "topk": {
        "sparsifiers.topk.contraction": {"k": lambda n: n // KEPT},
        "sparsifiers.topk.wire": {"k": lambda n: n // KEPT, "itembits": 32},
        "feedback.ef14.residual": {"alpha": 1 / KEPT, "reach": REACH},
    },
    "powersgd": {"lowrank.powersgd.nonexpansive": {}, "lowrank.powersgd.wire": {"r": RANK, "itembits": 32}},
    "int8": {
        "flashcomm.stochastic.unbiased": {},
        "flashcomm.stochastic.variance": {},
        "flashcomm.stochastic.error": {},
        "sparsifiers.identity.wire": {"itembits": 8},
    },
    "diloco": {"sparsifiers.identity.contraction": {}, "packetloss.drift.sure_norm": {"p": LOSS, "G": REACH}},
}


class Lockstep:
    """An all-gather of four rank programs that take turns in one process."""

    def gathered(self, rank, row):
        """All ranks' rows, in their dtype."""
        self.rows[rank] = row.ravel().copy()
        getcurrent().parent.switch()
        return self.ready.copy()

    def run(self, program):
        """Run program(rank) for all ranks, from one exchange to the next."""
        self.rows = [None] * P
        ranks = [greenlet(lambda rank=rank: program(rank)) for rank in range(P)]
        while not ranks[0].dead:
            for rank in ranks:
                rank.switch()
            self.ready = np.array(self.rows)


class Processes:
    """The same of four processes, through shared memory."""

    def __init__(self):
        context = multiprocessing.get_context("fork")
        self.barrier = context.Barrier(P)
        self.memory = np.frombuffer(context.RawArray("d", P * 4096), np.float64).reshape(P, 4096)

    def gathered(self, rank, row):
        """All ranks' rows, in their dtype."""
        self.memory[rank, : row.size] = row.ravel()
        self.barrier.wait(120)
        rows = self.memory[:, : row.size].astype(row.dtype)
        self.barrier.wait(120)
        return rows

    def run(self, program):
        """Run program(rank) in four processes."""
        ranks = [multiprocessing.get_context("fork").Process(target=program, args=(r,)) for r in range(P)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
            assert process.exitcode == 0


@cache
def digits():
    from sklearn.datasets import load_digits

    found = load_digits()
    return (found.data / 16).astype(np.float32), found.target


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def slope(logits, y):
    """Of the mean cross entropy."""
    odds = softmax(logits)
    odds[np.arange(len(y)), y] -= 1
    return odds / len(y)


def network(weights, x, y):
    """Gradients of a network with one hidden layer."""
    hidden = x @ weights["first"]
    active = np.maximum(hidden, 0)
    back = slope(active @ weights["second"], y)
    return {"first": x.T @ ((back @ weights["second"].T) * (hidden > 0)), "second": active.T @ back}


PLACES = np.sin(np.arange(8)[:, None] / 8.0 ** (np.arange(16) / 16)).astype(np.float32)


def transformer(weights, x, y):
    """Gradients of attention with one head and a skip, a hidden layer, and a mean over the rows."""
    w, x = weights, x.reshape(-1, 8, 8)
    h = x @ w["rows"] + PLACES
    q, k, v = (h @ w[name] for name in ("query", "key", "value"))
    shares = softmax(q @ k.transpose(0, 2, 1) / np.float32(4))
    mixed = shares @ v
    z = h + mixed @ w["output"]
    hidden = z @ w["up"]
    active = np.maximum(hidden, 0)
    pooled = active.mean(axis=1)
    d_logits = slope(pooled @ w["digit"], y)
    d_hidden = (d_logits @ w["digit"].T)[:, None] / np.float32(8) * (hidden > 0)
    d_z = d_hidden @ w["up"].T
    d_mixed = d_z @ w["output"].T
    d_shares = d_mixed @ v.transpose(0, 2, 1)
    d_scores = shares * (d_shares - (d_shares * shares).sum(axis=-1, keepdims=True)) / np.float32(4)
    d = {"query": d_scores @ k, "key": d_scores.transpose(0, 2, 1) @ q, "value": shares.transpose(0, 2, 1) @ d_mixed}
    d_h = d_z + sum(d[name] @ w[name].T for name in d)

    def product(a, b):
        return np.einsum("bri,brj->ij", a, b)

    return {
        "rows": product(x, d_h),
        **{name: product(h, d[name]) for name in d},
        "output": product(mixed, d_z),
        "up": product(z, d_hidden),
        "digit": pooled.T @ d_logits,
    }


MODELS = {"network": network, "transformer": transformer}


class Rank:
    """One rank of a run."""

    def __init__(self, exchange, rank, method, fault, seed, monitor, model="network"):
        self.exchange, self.rank, self.method, self.fault, self.monitor = exchange, rank, method, fault, monitor
        self.data, self.gradients, shapes = digits(), MODELS[model], SHAPES[model]
        shared = np.random.default_rng(seed)
        self.weights = {name: (0.2 * shared.standard_normal(s)).astype(np.float32) for name, s in shapes.items()}
        self.sketch = {n: shared.standard_normal((s[1], RANK)).astype(np.float32) for n, s in shapes.items()}
        self.copy = {name: w.copy() for name, w in self.weights.items()}
        self.residual = {name: np.zeros(s, np.float32) for name, s in shapes.items()}
        self.old = {}
        self.rng, self.draws, self.owners, self.clock = (np.random.default_rng([seed, rank, i]) for i in range(4))
        self.shared = np.random.default_rng([seed, 0, 1])
        self.step = 0

    def has(self, name, everywhere=False):
        """Whether this rank has the fault now."""
        here = self.fault is not None and self.fault.name == name and (everywhere or self.rank == 1)
        return here and self.step >= self.fault.start

    def batch(self):
        x, y = self.data
        mine = np.arange(self.rank, len(y), P)
        if self.has("two ranks with the same data"):
            mine = np.arange(0, len(y), P)
        chosen = self.rng.choice(mine, BATCH)
        self.samples = chosen
        return x[chosen], y[chosen]

    def train(self, steps):
        for self.step in range(steps):
            if self.has("one rank dead"):
                self.monitor = None
            changes = self.inner() if self.method == "diloco" else self.gradients(self.weights, *self.batch())
            rate = 1.0 if self.method == "diloco" else 0.2
            used = rate * 2 if self.has("learning rate doubled", True) else rate
            for name, change in changes.items():
                if self.has("a gradient that is not finite"):
                    change[0, 0] = np.nan
                if self.has("gradients 100 times as large"):
                    change = change * np.float32(1000)
                result, seen = self.average(name, np.ascontiguousarray(change, dtype=np.float32))
                if self.has("one rank stale"):
                    result = self.old.get(("result", name), result)
                if self.has("one bit of a result flipped on one rank"):
                    result.view(np.uint32)[0, 0] ^= 1
                replica, before = self.weights[name], self.copy[name]
                self.apply(name, np.float32(used) * result)
                seen |= {"weights": (before, self.copy[name]), "step_size": rate}
                if name == next(iter(changes)):
                    seen |= {"samples": self.samples}
                self.look(name, result, {"replicas": replica} | seen)
                self.old["result", name] = result

    def inner(self):
        """What inner steps change, from this rank's copy."""
        local = {name: w.copy() for name, w in self.weights.items()}
        for _ in range(INNER):
            for name, g in self.gradients(local, *self.batch()).items():
                local[name] -= np.float32(0.1) * g
        return {name: self.weights[name] - local[name] for name in local}

    def apply(self, name, update):
        self.copy[name] = self.copy[name] - update
        if self.method != "diloco" or self.rank == 0 or not self.lost[name]:
            self.weights[name] = self.copy[name].copy()

    def average(self, name, g):
        """The average of the ranks' messages, and what the monitor is shown."""
        shape, seen = g.shape, {"gradient": g}
        if self.method in ("topk", "powersgd"):
            residual = self.residual[name]
            if self.has("residual dropped on one rank"):
                residual = residual * np.float32(0)
            if self.has("residual halved after a resume") and self.step == FROM:
                residual = residual * np.float32(0.5)
            if self.has("residual added twice"):
                residual = residual * np.float32(2)
            sent = g + residual
        else:
            sent = g
        received = getattr(self, self.method)(name, sent, seen)
        if self.method in ("topk", "powersgd"):
            kept = sent - received
            if self.has("residual of the step before"):
                kept = self.old.get(("kept", name), kept)
            self.residual[name] = self.old["kept", name] = kept
            seen["residual"] = kept
        message = received
        if self.has("one rank's message is that of the step before"):
            message = self.old.get(("message", name), message)
        self.old["message", name] = received
        rows = self.exchange.gathered(self.rank, message)
        if self.has("one rank left out of the sum", True):
            rows[1] = 0
        divisor = P - 1 if self.has("sum divided by P - 1", True) else P
        result = (rows.sum(axis=0, dtype=np.float32) / np.float32(divisor)).reshape(shape)
        if self.method == "int8":
            result, seen["result_rounding"] = self.second(result)
        return result, seen | {"sent": sent, "received": received}

    def wire(self, bits):
        return {"bits": bits * (2 if self.has("twice the words on the wire") else 1)}

    def dense(self, name, x, seen):
        seen |= self.wire(32 * x.size)
        return x.copy()

    def topk(self, name, x, seen):
        k, flat = x.size // KEPT, x.ravel()
        order = np.argsort(np.abs(flat), kind="stable")
        chosen = order[:k] if self.has("the smallest entries kept") else order[-k:]
        received = np.zeros_like(flat)
        received[chosen] = flat[chosen]
        seen |= self.wire(k * (32 + int(x.size - 1).bit_length()))
        return received.reshape(x.shape)

    def powersgd(self, name, x, seen):
        left = self.exchange.gathered(self.rank, x @ self.sketch[name]).mean(axis=0).reshape(x.shape[0], RANK)
        left = np.linalg.qr(np.nan_to_num(left) + np.float32(1e-12))[0].astype(np.float32)
        right = x.T @ left
        self.sketch[name] = self.exchange.gathered(self.rank, right).mean(axis=0).reshape(x.shape[1], RANK)
        seen |= self.wire(32 * RANK * sum(x.shape))
        return left @ right.T

    def int8(self, name, x, seen):
        flat = x.ravel().astype(np.float64)
        groups = np.pad(flat, (0, -flat.size % GROUP)).reshape(-1, GROUP)
        scales = np.abs(groups).max(axis=1).astype(np.float32) / np.float32(127)
        current = scales
        if self.has("scale of the step before"):
            scales = self.old.get(("scales", name), scales)
        if self.has("scale underflows from step 300"):
            scales = (scales * np.float32(1e-9)).astype(np.float16).astype(np.float32)
        if self.has("scale overflows"):
            scales = scales + np.float32(np.inf)
        self.old["scales", name] = current
        generator = self.shared if self.has("a rank's seed shared") else self.draws
        draws = generator.random(flat.size)
        if not self.has("a rank's seed shared"):
            self.shared.random(flat.size)  # keeps in step with the first rank's
        spacing = np.repeat(scales.astype(np.float64), GROUP)[: flat.size]
        if self.has("rounding to the nearest"):
            draws = np.full(flat.size, 0.5)
        if self.has("rounding down"):
            draws = np.zeros(flat.size)
        if self.has("bias of 1e-3 in rounding"):
            draws = draws + 1e-3
        with np.errstate(all="ignore"):
            codes = np.clip(np.floor(flat / spacing + draws), -128, 127)
            codes = np.where(np.isfinite(codes), codes, 0.0)
            received = (codes * spacing).astype(np.float32)
        seen |= self.wire(8 * x.size) | {"scales": scales}
        return received.reshape(x.shape)

    def second(self, result):
        """Every owner rounds its block of the average; all read the same codes."""
        flat = result.ravel().astype(np.float64)
        block = slice(self.rank * flat.size // P, (self.rank + 1) * flat.size // P)
        with np.errstate(all="ignore"):
            scale = float(np.abs(flat[block]).max()) / 127 or 1.0
            codes = np.floor(flat[block] / scale + self.owners.random(flat[block].size))
            mine = np.zeros(flat.size + 1, np.float32)
            mine[block], mine[-1] = codes * scale, scale
        rows = self.exchange.gathered(self.rank, mine)
        return rows[:, :-1].sum(axis=0).reshape(result.shape), float(np.float64(rows[:, -1].max()) * (1 + 2.0**-20))

    def diloco(self, name, x, seen):
        rate = 2 * LOSS if self.has("outer messages lost twice as often", True) else LOSS
        self.lost = getattr(self, "lost", {}) | {name: bool(self.owners.random() < rate)}
        copies = self.exchange.gathered(self.rank, self.weights[name])
        if self.rank:
            seen |= {"lost": self.lost[name]}
        seen |= {"replicas": copies[1:].reshape(P - 1, *x.shape)}
        return x.copy()

    def look(self, name, result, seen):
        if self.monitor is None:
            return
        slow = 1.1 if self.has("a rank 10 % slower") else 1.0
        seconds = slow * float(self.clock.lognormal(LATENCY.location, LATENCY.shape))
        self.monitor.step(name, step=self.step, result=result, seconds=seconds, **seen)


def watched_runs(runs, folder, exchange):
    """What monitors wrote of runs (method, fault or None, seed, steps, model), each of four ranks; a folder a run."""

    def program(rank):
        np.seterr(all="ignore")
        for number, (method, fault, seed, steps, *model) in enumerate(runs):
            laws = {"latency": LATENCY, "loss": LOSS if method == "diloco" else None}
            place = Path(folder) / str(number)
            with watch.Monitor(place, CLAIMS[method], overhead=1e9, rank=rank, ranks=P, **laws) as monitor:
                Rank(exchange, rank, method, fault, seed, monitor, *model).train(steps)

    exchange.run(program)
    return [watch.read(Path(folder) / str(number)) for number in range(len(runs))]


def noticed(watched, fault):
    """Steps from the fault's start to the first alarm that names it; None without one. And the other alarms' checks."""
    alarms = [alarm for _, alarm in watched.alarms]
    early = [alarm for alarm in alarms if alarm.step < fault.start]
    named = [alarm.step - fault.start for alarm in alarms if alarm.check in fault.checks.split()]
    others = sorted({alarm.check for alarm in alarms} - set(fault.checks.split()))
    return (min(named) if named else None), others, early


def fault_runs(names, model="network", steps=None):
    return [
        (method, fault, zlib.crc32(f"{method} {fault.name}".encode()), steps or LONG.get(fault.name, PATIENCE), model)
        for fault in FAULTS
        for method in fault.methods.split()
        if fault.name in names or not names
    ]


def right_runs(count=200, steps=300):
    return [(ALL.split()[i % 5], None, 1000 + i, steps, list(MODELS)[i // 5 % 8 == 7]) for i in range(count)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:2] == ["right"]:
            alarmed, first = 0, int(sys.argv[3]) if sys.argv[3:] else 0
            for number, run in enumerate(right_runs(steps=int(sys.argv[2]))[first:]):
                (found,) = watched_runs([run], f"{folder}/{number}", Lockstep())
                alarmed += bool(found.alarms)
                for rank, alarm in found.alarms:
                    print(run[0], run[2], rank, alarm)
                print(f"{alarmed} of {number + 1} right runs raised an alarm", flush=True)
            return
        parser = argparse.ArgumentParser()
        parser.add_argument("names", nargs="*")
        parser.add_argument("--transformer", dest="model", action="store_const", const="transformer", default="network")
        parser.add_argument("--steps", type=int)
        runs = fault_runs(**vars(parser.parse_args()))
        cells = {}
        for (method, fault, *_), watched in zip(runs, watched_runs(runs, folder, Lockstep()), strict=True):
            steps, others, early = noticed(watched, fault)
            assert not early, (method, fault, early)
            cells[fault.name, method] = ("not noticed" if steps is None else str(steps), others)
        print(f"| fault | named by | {' | '.join(ALL.split())} | other alarms |")
        print("|---" * 8 + "|")
        for fault in dict.fromkeys(run[1] for run in runs):
            row = [cells.get((fault.name, m), ("", []))[0] for m in ALL.split()]
            others = sorted({o for m in fault.methods.split() for o in cells[fault.name, m][1]})
            named = ", ".join(f"`{c}`" for c in fault.checks.split()) or "nothing"
            print(f"| {fault.name} | {named} | {' | '.join(row)} | {', '.join(f'`{o}`' for o in others)} |")


if __name__ == "__main__":
    main()
