"""Packet loss by the book: one worker, one packet, one value at a time; imports nothing of ours."""

import math
from fractions import Fraction

import numpy as np

from commbounds.verify.definitions.moshpit import GOLDEN, WORD, mix


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
                    divisor = (1.0 - p) * workers if estimator == "expected" else len(there)
                    estimate[c] = total / divisor
                    if not math.isfinite(total):  # the sum is no float: of numbers over a power of two
                        scale = 2.0 ** -len(there).bit_length()
                        estimate[c] = sum(float(stack[i, c]) * scale for i in there) / (divisor * scale)
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


def lossy_step(state, gradients, rate, heard, told, estimator="arrivals", p=None, packet=None):
    """The state after a step, the owners' updates, and the traffic of both halves; None where owners overflow."""
    kind, before = gradients.dtype.type, state["parameters"]
    workers, n = before.shape
    estimate, _, first = lossy_reduce_scatter(gradients, heard, estimator, p, packet)
    update, owned, missed = np.zeros(n, kind), np.zeros(n, kind), state["missed"].copy()
    for owner, shard in enumerate(shards(n, workers)):
        for c in shard:
            update[c] = kind(-rate) * estimate[c]
            owned[c] = before[owner, c] + update[c]
            if not math.isfinite(owned[c]):
                return None
    after, second = lossy_broadcast(before, owned, told, packet)
    for owner, shard in enumerate(shards(n, workers)):
        for q, coordinates in enumerate(cut(shard, packet)):
            for i in range(workers):
                for c in coordinates:
                    missed[i, c] = 0 if i == owner or told[owner, i, q] else missed[i, c] + 1
    after = {**state, "parameters": after, "missed": missed, "step": state["step"] + 1}
    return after, update, {"reduce-scatter": first, "broadcast": second}


def lost_packets(loss, address, step, links, bad):
    """Which links lose their packet in a step, and which are bad afterwards; `bad` were before it."""
    if "p" in loss:
        return bernoulli(float(loss["p"]), address, step, links), None
    fail, recover, now = float(loss["fail"]), float(loss["recover"]), []
    for i in range(links):
        if bad is None:
            now.append(event(*address, 2 * step * links + i, fail / (fail + recover)))
        elif bad[i]:
            now.append(not event(*address, (2 * step + 1) * links + i, recover))
        else:
            now.append(event(*address, 2 * step * links + i, fail))
    return now, np.array(now)


def lossy_training(state, gradient, loss, steps, rate, estimator, packet, seed, trial, broadcast_only):
    """The state after a run, every step's state and update, and the traffic of both halves, each added up."""
    workers, n = state["parameters"].shape
    packets = max(len(cut(shard, packet)) for shard in shards(n, workers))
    share = loss["p"] if "p" in loss else loss["fail"] / (loss["fail"] + loss["recover"])
    both, seen = {"reduce-scatter": nothing(workers), "broadcast": nothing(workers)}, []
    for _ in range(steps):
        heard, told = np.ones((workers, workers, packets), bool), np.ones((workers, workers, packets), bool)
        reduce_state = state["reduce_state"]
        if not broadcast_only:
            links = workers * workers * packets
            lost, reduce_state = lost_packets(loss, (seed, trial, 0), state["step"], links, reduce_state)
            for number, gone in enumerate(lost):
                heard[number // (workers * packets), number // packets % workers, number % packets] = not gone
        receivers = 1 if loss["shared"] else workers
        links = workers * receivers * packets
        lost, broadcast_state = lost_packets(loss, (seed, trial, 1), state["step"], links, state["broadcast_state"])
        for number, gone in enumerate(lost):
            sender, receiver, q = number // (receivers * packets), number // packets % receivers, number % packets
            for i in range(workers) if loss["shared"] else [receiver]:
                told[sender, i, q] = not gone
        divided = share if estimator == "expected" else None
        slopes = gradient(state["step"], state["parameters"])
        made = lossy_step(state, slopes, rate, heard, told, estimator, divided, packet)
        if made is None:
            return None
        state, update, halves = made
        state = {**state, "reduce_state": reduce_state, "broadcast_state": broadcast_state}
        both = {name: together([both[name], half]) for name, half in halves.items()}
        seen.append({"state": state, "update": update})
    return state, seen, both


def nothing(workers):
    none = [0] * workers
    return {"sent": none, "received": none, "messages": none, "steps": 0, "critical_path": 0}


def together(parts):
    """Traffic, one part after another."""
    lists = {
        name: [sum(e) for e in zip(*(part[name] for part in parts), strict=True)]
        for name in ("sent", "received", "messages")
    }
    return {**lists, **{name: sum(part[name] for part in parts) for name in ("steps", "critical_path")}}


def lanes(key, place, p):
    """64 events of probability p: a lane's digits, one from each of up to 64 words, are below those of p."""
    if p == 1.0:
        return [True] * 64
    words, digits, below = [], f"{int(p * 2.0**64):064b}", []
    for lane in range(64):
        below.append(False)
        for bit, digit in enumerate(map(int, digits)):
            if bit == len(words):
                words.append(mix((key + (place * 64 + bit + 1) * GOLDEN) % WORD))
            if words[bit] >> lane & 1 != digit:
                below[lane] = digit == 1
                break
    return below


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
    owner = pair = differ = Fraction(0)
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
        owner += Fraction(sum((value - c) ** 2 for c in copies), receivers)
        if receivers > 1:
            gaps = [(copies[i] - copies[j]) ** 2 for i in range(receivers) for j in range(i)]
            pair += Fraction(sum(gaps), len(gaps))
            pairs = receivers // 2
            differ += Fraction(sum(versions[2 * i] != versions[2 * i + 1] for i in range(pairs)), pairs)
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


# --- what is given -> all that is returned ----------------------------------------------------------------------------


def fits(estimator="arrivals", p=None, **_):
    """Whether p is given where the estimator divides by 1 - p, and only there."""
    return 0 <= p < 1 if estimator == "expected" and p is not None else p is None and estimator != "expected"


def lossy_reduced(held):
    options = {"estimator": "arrivals", "p": None, "packet": None, **held["parameters"]}
    if not fits(**options):
        return {"refused": "ValueError"}
    found = lossy_reduce_scatter(held["inputs"]["stack"], held["randomness"]["arrived"], **options)
    return {"result": {"estimate": found[0], "arrivals": found[1]}, "traffic": found[2]}


def lossy_heard(held):
    inputs, arrived = held["inputs"], held["randomness"]["arrived"]
    found = lossy_broadcast(inputs["replicas"], inputs["owned"], arrived, **held["parameters"])
    return {"result": found[0], "traffic": found[1]}


def with_phases(halves):
    return {**together(list(halves.values())), "phases": halves}


def stepped(held):
    masks = held["randomness"]["reduce_arrived"], held["randomness"]["broadcast_arrived"]
    options = dict(held["parameters"])
    if not fits(**options):
        return {"refused": "ValueError"}
    made = lossy_step(held["inputs"]["state"], held["inputs"]["gradients"], options.pop("rate"), *masks, **options)
    if made is None:
        return {"refused": "ValueError"}
    return {"state": made[0], "update": made[1], "traffic": with_phases(made[2])}


def slope(name, step, replicas):
    """Gradients: of ||x||^2 / 2, or of that with another centre in every step and for every worker."""
    moved = [[x - x.dtype.type(step + i) for x in row] for i, row in enumerate(replicas)]
    return replicas if name == "identity" else np.array(moved)


def fresh(row, workers):
    """Replicas that are equal to a row, none of them stale."""
    stale = {"missed": np.zeros((workers, row.size), np.int64), "step": 0}
    return {"parameters": np.array([row] * workers), **stale, "reduce_state": None, "broadcast_state": None}


def trained(held):
    defaults = {
        "estimator": "arrivals",
        "packet": None,
        "seed": 0,
        "trial": 0,
        "broadcast_only": False,
        "watched": False,
    }
    given, begun = {**defaults, **held["parameters"], **held["randomness"]}, {}
    if "row" in held["inputs"]:
        begun = {"start": fresh(held["inputs"]["row"], given["workers"])}
    state = begun["start"] if begun else held["inputs"]["state"]
    made = lossy_training(
        state, lambda step, x: slope(given["gradient"], step, x), given["loss"], given["steps"],
        given["rate"], given["estimator"], given["packet"], given["seed"], given["trial"], given["broadcast_only"],
    )  # fmt: skip
    if made is None:
        return {"refused": "ValueError"}
    said = {"state": made[0], "traffic": with_phases(made[2]), **begun}
    return {**said, "seen": made[1]} if given["watched"] else said


def drifted(held):
    """Sums of integers are exact, so that every mean is rounded once."""
    given = {"trials": 1, "seed": 0, "rho": 0.0, **held["parameters"], **held["randomness"]}
    loss = given["loss"]
    chain = (loss["fail"], loss["recover"]) if "fail" in loss else None
    run = loss.get("p"), chain, given["rho"], loss["shared"]
    sizes = given["workers"], given["steps"], given["seed"]
    trials = [drift_trial(*sizes, trial, *run) for trial in range(given["trials"])]
    names = ("owner", "pair", "differ")
    return {"drift": {name: np.array([float(trial[i]) for trial in trials]) for i, name in enumerate(names)}}


def stale(held):
    given = {"trials": 1, "seed": 0, **held["parameters"], **held["randomness"]}
    sizes = given["receivers"], given["steps"], given["loss"]["p"], given["seed"]
    found = np.array([staleness_trial(*sizes, trial) for trial in range(given["trials"])], np.int64)
    return {"largest": found[:, 0].copy(), "smallest": found[:, 1].copy(), "shared by default": [False, False]}
