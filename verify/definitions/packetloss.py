"""Packet loss by the book: one worker, one packet, one value at a time; imports nothing of ours."""

import math

import numpy as np

WORD = 2**64


def shards(n, workers):
    """Coordinates of every worker's shard: as equal as can be, the longer ones first."""
    result, start = [], 0
    for j in range(workers):
        length = n // workers + (1 if j < n % workers else 0)
        result.append(list(range(start, start + length)))
        start += length
    return result


def cut(shard, packet):
    """The shard's coordinates, packet by packet."""
    size = packet or max(1, len(shard))
    return [shard[i : i + size] for i in range(0, len(shard), size)]


class LossyWire:
    """Counts words and messages, step by step; a word that gets lost was sent and not received."""

    def __init__(self, workers):
        self.workers = workers
        self.sent = np.zeros((workers, workers), np.int64)  # by step; the last row stays empty
        self.received = np.zeros((workers, workers), np.int64)
        self.messages = np.zeros((workers, workers), np.int64)

    def send(self, sender, receiver, words, arrives):
        """In step s everybody sends to the (s + 1)-th worker after it."""
        step = (receiver - sender - 1) % self.workers
        self.sent[step, sender] += words
        self.messages[step, sender] += 1
        if arrives:
            self.received[step, receiver] += words

    def traffic(self):
        """What `Traffic.as_dict` says."""
        path = sum(int(max(s.max(), r.max())) for s, r in zip(self.sent, self.received, strict=True))
        return {
            "sent": self.sent.sum(axis=0).tolist(),
            "received": self.received.sum(axis=0).tolist(),
            "messages": self.messages.sum(axis=0).tolist(),
            "steps": self.workers - 1,
            "critical_path": path,
        }


def lossy_reduce_scatter(stack, arrived, estimator="arrivals", p=None, packet=None):
    """Estimates, arrivals and traffic."""
    workers, n = stack.shape
    wire = LossyWire(workers)
    estimate, arrivals = np.zeros(n, stack.dtype), np.zeros(n, np.int64)
    for owner, shard in enumerate(shards(n, workers)):
        for q, coordinates in enumerate(cut(shard, packet)):
            there = []
            for sender in range(workers):
                if sender == owner:
                    if estimator == "owner" or arrived[owner, owner, q]:
                        there.append(sender)
                    continue
                wire.send(sender, owner, len(coordinates), arrived[sender, owner, q])
                if arrived[sender, owner, q]:
                    there.append(sender)
            for c in coordinates:
                arrivals[c] = len(there)
                if there:
                    total = 0.0
                    for i in there:
                        total += float(stack[i, c])
                    estimate[c] = total / ((1.0 - p) * workers if estimator == "expected" else len(there))
    return estimate, arrivals, wire.traffic()


def lossy_broadcast(replicas, owned, arrived, packet=None):
    """Copies afterwards, and traffic."""
    workers, n = replicas.shape
    wire, after = LossyWire(workers), replicas.copy()
    for owner, shard in enumerate(shards(n, workers)):
        for q, coordinates in enumerate(cut(shard, packet)):
            for receiver in range(workers):
                if receiver != owner:
                    wire.send(owner, receiver, len(coordinates), arrived[owner, receiver, q])
                if receiver == owner or arrived[owner, receiver, q]:
                    for c in coordinates:
                        after[receiver, c] = owned[c]
    return after, wire.traffic()


# --- draws -------------------------------------------------------------------------------------------------------


def mix(z):
    """splitmix64's finaliser."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


GOLDEN = 0x9E3779B97F4A7C15


def draw(seed, trial, stream, counter):
    """A 64-bit number for every address and counter."""
    key = mix((mix((mix(seed) + (trial + 1) * GOLDEN) % WORD) + (stream + 1) * GOLDEN) % WORD)
    return mix((key + (counter + 1) * GOLDEN) % WORD)


def event(seed, trial, stream, counter, p):
    """Whether something of probability p happens."""
    return p == 1.0 or draw(seed, trial, stream, counter) < int(p * 2.0**64)


def bernoulli(p, address, step, links):
    """Lost packets of one step."""
    return [event(*address, step * links + i, p) for i in range(links)]


def gilbert_elliott(fail, recover, address, steps, links):
    """Lost packets of every step."""
    bad, history = [], []
    for step in range(steps):
        if step == 0:
            bad = [event(*address, i, fail / (fail + recover)) for i in range(links)]
        else:
            bad = [
                not event(*address, (2 * step + 1) * links + i, recover)
                if bad[i]
                else event(*address, 2 * step * links + i, fail)
                for i in range(links)
            ]
        history.append(bad)
    return history


def lossy_training(start, gradient, p, steps, rate, estimator, packet, seed, trial):
    """Replicas and staleness after a run of independent losses in both halves."""
    workers, n = start.shape
    replicas, missed = start.copy(), np.zeros((workers, n), np.int64)
    packets = max(len(cut(shard, packet)) for shard in shards(n, workers))
    for step in range(steps):
        shape, links = (workers, workers, packets), workers * workers * packets
        heard = ~np.reshape(bernoulli(p, (seed, trial, 0), step, links), shape)
        told = ~np.reshape(bernoulli(p, (seed, trial, 1), step, links), shape)
        divided = p if estimator == "expected" else None
        estimate, _, _ = lossy_reduce_scatter(gradient(step, replicas), heard, estimator, divided, packet)
        owned = np.empty(n, start.dtype)
        for owner, shard in enumerate(shards(n, workers)):
            for c in shard:
                owned[c] = replicas[owner, c] + start.dtype.type(-rate * estimate[c])
        replicas, _ = lossy_broadcast(replicas, owned, told, packet)
        for owner, shard in enumerate(shards(n, workers)):
            for q, coordinates in enumerate(cut(shard, packet)):
                for i in range(workers):
                    for c in coordinates:
                        missed[i, c] = 0 if i == owner or told[owner, i, q] else missed[i, c] + 1
    return replicas, missed


def lanes(key, place, p):
    """64 events of probability p: each lane's number, bit by bit against the digits of p."""
    if p == 1.0:
        return [True] * 64
    digits = int(p * 2.0**64)
    numbers = [0] * 64
    for bit in range(64):
        word = mix((key + (place * 64 + bit + 1) * GOLDEN) % WORD)
        for lane in range(64):
            numbers[lane] = 2 * numbers[lane] + (word >> lane & 1)
    return [number < digits for number in numbers]


def drift_trial(workers, steps, seed, trial, p=None, chain=None, rho=0.0, shared=False):
    """Means over the steps of one trial: squared gap to the owner, of a pair, and share of pairs that differ.

    `chain` is (fail, recover) in place of p.
    """
    receivers = workers - 1
    key = mix((mix(seed) + (trial + 1) * GOLDEN) % WORD)
    stream, losses = mix((key + GOLDEN) % WORD), mix((key + 2 * GOLDEN) % WORD)
    words, flip = math.ceil(receivers / 64), (1 - rho) / 2
    update = 1 if mix(stream) & 1 else -1
    value, version = 0, 0
    copies, versions, bad = [0] * receivers, [0] * receivers, [False] * (64 * words)
    owner = pair = differ = 0.0
    for step in range(steps):
        if step > 0 and (flip == 1.0 or mix((stream + step * GOLDEN) % WORD) < int(flip * 2.0**64)):
            update = -update
        value, version = value + update, version + 1
        lost = []
        for w in range(words):
            place = step * words + w
            if chain is None:
                lost += lanes(losses, place, p)
            elif step == 0:
                lost += lanes(losses, place, chain[0] / (chain[0] + chain[1]))
            else:
                fails, recovers = lanes(losses, place, chain[0]), lanes(losses ^ (WORD - 1), place, chain[1])
                old = bad[64 * w : 64 * w + 64]
                lost += [not r if b else f for b, f, r in zip(old, fails, recovers, strict=True)]
        if shared:
            lost = [lost[0]] * len(lost)
        bad = lost
        for i in range(receivers):
            if not lost[i]:
                copies[i], versions[i] = value, version
        owner += sum((value - c) ** 2 for c in copies) / receivers
        if receivers > 1:
            gaps = [(copies[i] - copies[j]) ** 2 for i in range(receivers) for j in range(i)]
            pair += sum(gaps) / len(gaps)
            pairs = receivers // 2
            differ += sum(versions[2 * i] != versions[2 * i + 1] for i in range(pairs)) / pairs
    return owner / steps, pair / steps, differ / steps


def staleness_trial(receivers, steps, p, seed, trial):
    """Largest and smallest staleness at the end."""
    key = mix((mix(seed) + (trial + 1) * GOLDEN) % WORD)
    losses, words = mix((key + 2 * GOLDEN) % WORD), math.ceil(receivers / 64)
    stale = [0] * receivers
    for step in range(steps):
        lost = [flag for w in range(words) for flag in lanes(losses, step * words + w, p)]
        stale = [s + 1 if flag else 0 for s, flag in zip(stale, lost, strict=False)]
    return max(stale), min(stale)


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def lossy_reduced(held):
    options = dict(held["parameters"])
    if "p" in options:
        options["p"] = float(options["p"])
    found = lossy_reduce_scatter(held["inputs"]["stack"], held["randomness"]["arrived"], **options)
    return {"result.estimate": found[0], "result.arrivals": found[1], "traffic": found[2]}


def lossy_heard(held):
    inputs, arrived = held["inputs"], held["randomness"]["arrived"]
    found = lossy_broadcast(inputs["replicas"], inputs["owned"], arrived, **held["parameters"])
    return {"result": found[0], "traffic": found[1]}


def trained(held):
    options, loss = held["parameters"], held["parameters"]["loss"]
    if "fail" in loss or loss["shared"] or "broadcast_only" in options:
        return None
    run = float(loss["p"]), options["steps"], float(options["rate"]), options.get("estimator", "arrivals")
    seeds = held["randomness"]["seed"], held["randomness"]["trial"]
    start = held["inputs"]["state"]["parameters"]
    replicas, missed = lossy_training(start, lambda _t, x: x, *run, options.get("packet"), *seeds)
    return {"state.parameters": replicas, "state.missed": missed}


def drifted(held):
    options, loss = held["parameters"], held["parameters"]["loss"]
    chain = (float(loss["fail"]), float(loss["recover"])) if "fail" in loss else None
    p = None if chain else float(loss["p"])
    trials = [
        drift_trial(
            options["workers"], options["steps"], held["randomness"]["seed"], trial, p, chain, float(options["rho"]),
            loss["shared"],
        )
        for trial in range(options["trials"])
    ]  # fmt: skip
    return {"approximately": (np.array(trials), held["expected"]["drift"])}


def stale(held):
    options, seed = held["parameters"], held["randomness"]["seed"]
    sizes = options["receivers"], options["steps"], float(options["loss"]["p"])
    found = [staleness_trial(*sizes, seed, trial) for trial in range(options["trials"])]
    return {"largest": [a for a, _ in found], "smallest": [b for _, b in found]}


TWINS = {
    "lossy_reduce_scatter": lossy_reduced,
    "lossy_broadcast": lossy_heard,
    "lossy_training": trained,
    "drift_trials": drifted,
    "staleness_trials": stale,
}
"""Of the collectives by name; None for what the twin does not do."""
