"""Error feedback from its papers, one worker and one entry at a time; imports nothing of ours.

Every operation is rounded to the dtype of the gradients, in the order in which the formula is written. What a
compressor sends is a dict of index to value: of a sparse message its entries alone, of any other all of them.
"""

import math

import numpy as np

from commbounds.verify.definitions import arctopk, dense, oktopk, quantizers, sparse, sparsifiers

DRAWING = (
    "RandK", "AdaptiveSparsification", "QSGD", "MaxDithering", "TernGrad", "NaturalCompression", "NaturalDithering",
    "StochasticPower",
)  # fmt: skip
"""Compressors that take draws from the stream of the worker."""


class RefusedStep(Exception):
    """Of what must be refused, by the kind of the error."""

    def __init__(self, kind):
        self.kind = kind


# --- what one worker does ---------------------------------------------------------------------------------------------


def leading_rows(held):
    """The first k rows of a matrix."""
    x, k = held["inputs"]["x"], held["parameters"]["k"]
    if not np.isfinite(x).all():
        return {"refused": "ValueError"}
    output = np.array([row if i < k else [0.0] * x.shape[1] for i, row in enumerate(x.tolist())], x.dtype)
    return {"message": {"rows": x[:k]}, "bits": k * x.shape[1] * 8 * x.itemsize, "output": output}


def compressed(compressor, vector, shape, kind, rng):
    """What the compressor says of a vector: message, bits, output, and the values that are sent, by index."""
    name = compressor["record"]
    twin = leading_rows if name == "LeadingRows" else getattr(sparsifiers, name, None) or getattr(quantizers, name)
    said = twin({
        "inputs": {"x": np.array(vector, kind).reshape(shape)},
        "parameters": {option: value for option, value in compressor.items() if option != "record"},
        "randomness": {"seed": rng} if name in DRAWING else {},
    })  # fmt: skip
    if "refused" in said:
        raise RefusedStep(said["refused"])
    if isinstance(said["output"], dict):
        raise ArithmeticError(f"{name} leaves an order of additions open, which decides here")
    values = said["output"].ravel()
    at = said["message"]["indices"].tolist() if "indices" in said["message"] else range(len(values))
    return said, {i: values[i] for i in at}


def plus(base, sent):
    return [v + sent[i] if i in sent else v for i, v in enumerate(base)]


def minus(base, sent):
    return [v - sent[i] if i in sent else v for i, v in enumerate(base)]


class Worker:
    """A mechanism, and what a worker remembers of it: `memory` is e of EF14, and g of EF21, EF21M and EControl."""

    def __init__(self, mechanism, gradient):
        self.name, self.kind = mechanism["record"], gradient[0].dtype.type
        self.compressor = mechanism.get("compressor")
        eta = mechanism.get("eta", 0.1)
        self.eta, self.keep = self.kind(eta), self.kind(1 - eta)
        zeros = [self.kind(0)] * len(gradient)
        self.dense = self.name in ("EF21", "EF21M", "EControl") and mechanism.get("dense", True)
        self.memory = list(gradient) if self.dense else zeros
        self.momentum = list(gradient) if self.name == "EF21M" else None
        self.error = zeros if self.name == "EControl" else None

    def offered(self, gradient):
        """What is compressed."""
        if self.name == "Plain":
            return list(gradient)
        if self.name == "EF14":  # p = e + gamma grad
            return [e + v for e, v in zip(self.memory, gradient, strict=True)]
        if self.name == "EF21":  # grad - g
            return [v - g for v, g in zip(gradient, self.memory, strict=True)]
        if self.name == "EF21M":  # h <- (1 - eta) h + eta grad, and h - g
            self.momentum = [self.keep * h + self.eta * v for h, v in zip(self.momentum, gradient, strict=True)]
            return [h - g for h, g in zip(self.momentum, self.memory, strict=True)]
        missing = [v - g for v, g in zip(gradient, self.memory, strict=True)]  # eta e + (grad - g)
        vector = [self.eta * e + v for e, v in zip(self.error, missing, strict=True)]
        self.error = [e + v for e, v in zip(self.error, missing, strict=True)]
        return vector

    def remembers(self, vector, sent):
        """After this was sent of the vector that was offered."""
        if self.name == "EF14":  # e <- p - C(p)
            self.memory = minus(vector, sent)
        elif self.name != "Plain":  # g <- g + C
            self.memory = plus(self.memory, sent)
        if self.name == "EControl":  # e <- e + (grad - g) - C, with the g before
            self.error = minus(self.error, sent)

    def step(self, gradient, shape, rng):
        """What is said of the message, and what is sent."""
        vector = self.offered(gradient)
        said, sent = compressed(self.compressor, vector, shape, self.kind, rng)
        self.remembers(vector, sent)
        return said, sent

    def state(self, shape):
        """Arrays by name; None for what the mechanism does not have."""
        held = {"memory": self.memory, "momentum": self.momentum, "error": self.error}
        return {
            name: None if value is None else np.array(value, self.kind).reshape(shape) for name, value in held.items()
        }


def checked_mechanism(mechanism):
    """What a mechanism refuses to be made of."""
    name, compressor, eta = mechanism["record"], mechanism.get("compressor"), mechanism.get("eta", 0.1)
    if not (compressor is None or isinstance(compressor, dict)) or type(mechanism.get("dense", True)) is not bool:
        raise RefusedStep("TypeError")
    if isinstance(eta, bool | str):
        raise RefusedStep("TypeError")
    if not 0 <= eta <= 1 or (eta == 0 and name == "EF21M"):
        raise RefusedStep("ValueError")


def checked_gradient(gradient, like=None):
    """What is refused as a gradient, or beside one of the state."""
    if gradient.dtype not in (np.float32, np.float64):
        raise RefusedStep("TypeError")
    if gradient.ndim not in (1, 2) or not gradient.size or (like is not None and gradient.shape != like.shape):
        raise RefusedStep("ValueError")
    if like is not None and gradient.dtype != like.dtype:
        raise RefusedStep("TypeError")
    if not np.isfinite(gradient).all():
        raise RefusedStep("ValueError")


def stepped(name, held):
    """The steps of one worker: what it sends, and what it remembers before and after."""
    gradients, rng = held["inputs"]["gradients"], None
    if "seed" in held["randomness"]:
        rng = np.random.default_rng(held["randomness"]["seed"])
    mechanism, first = {"record": name, **held["parameters"]}, held["inputs"].get("start", gradients[0])

    def remembered(worker):
        return {part: array for part, array in worker.state(first.shape).items() if array is not None}

    try:
        checked_mechanism(mechanism)
        checked_gradient(first)
        worker, found = Worker(mechanism, list(first.ravel())), {}
        start = remembered(worker)
        if worker.compressor is None:
            raise RefusedStep("ValueError")
        for t, gradient in enumerate(gradients):
            checked_gradient(gradient, like=first)
            if worker.compressor["record"] in DRAWING and rng is None:
                raise RefusedStep("TypeError")
            said, _ = worker.step(list(gradient.ravel()), first.shape, rng)
            found[str(t)] = {**said, "state": remembered(worker)}
    except RefusedStep as refused:
        return {"refused": refused.kind}
    return {"start": start, "steps": found}


# --- what collectives take of all workers: the average, what they took of each, their state, the traffic ----------


def arc_rows(aggregator, stack, state, rng):
    """ARC-Top-K; a vector of n weights is n rows of one column."""
    matrices = stack.reshape(*stack.shape[:2], -1)
    options = dict(aggregator.get("options", {}))
    drawn = {"sketch": options.pop("sketch")} if "sketch" in options else {"seed": rng}
    parameters = {"K": aggregator["K"], "rank": aggregator.get("rank", 1), **options}
    given = {"inputs": {"gradients": matrices}, "parameters": parameters, "randomness": drawn}
    said = arctopk.arctopk(given, scored=False)
    if "refused" in said:
        raise RefusedStep(said["refused"])
    sent = np.zeros_like(matrices)
    for p, rows in enumerate(said["result"]["rows"]):
        for row in rows:
            sent[p, row] = matrices[p, row]
    return said["result"]["mean"][0].reshape(stack.shape[1:]), sent.reshape(stack.shape), None, said["traffic"]


def entries_taken(stack, selected):
    sent = np.zeros_like(stack)
    for p, mine in enumerate(selected):
        for i in mine:
            sent[p, i] = stack[p, i]
    return sent


def gathered_topk(aggregator, stack, state, rng):
    """Every worker's k largest entries."""
    if not np.isfinite(stack).all() or aggregator["k"] > stack.shape[1]:
        raise RefusedStep("ValueError")
    update, _, selected, steps = sparse.topk_allgather([list(row) for row in stack], aggregator["k"])
    kind = stack.dtype.type
    mean = np.array([v / kind(len(stack)) for v in update], kind)
    return mean, entries_taken(stack, selected), None, sparse.counted(len(stack), steps)


def ok_topk(aggregator, stack, state, rng):
    """Ok-Topk, with its thresholds and boundaries."""
    P, kind, k = len(stack), stack.dtype.type, aggregator["k"]
    options = oktopk.renamed(aggregator.get("options", {}))
    if k > stack.shape[1]:
        raise RefusedStep("ValueError")
    try:
        result, state, phases = oktopk.allreduce(stack.tolist(), k, state, rounded=lambda v: float(kind(v)), **options)
    except oktopk.RefusedStep:
        raise RefusedStep("ValueError") from None
    mean = np.array([kind(v) / kind(P) for v in result["update"]], kind)
    return mean, entries_taken(stack, result["selected"]), state, oktopk.traffic(P, phases)


AGGREGATORS = {"ArcRows": arc_rows, "GatheredTopK": gathered_topk, "OkTopK": ok_topk}


# --- what all workers do ----------------------------------------------------------------------------------------------


def average(messages, n, kind):
    """Added up in float64, in the order of the workers, and divided; rounded once."""
    found = []
    for i in range(n):
        total = 0.0
        for sent in messages:
            total += float(sent.get(i, 0.0))
        found.append(kind(total / len(messages)))
    return found


def checked_descent(options):
    """What a descent refuses to be made of."""
    mechanism, aggregator, size = options["mechanism"], options.get("aggregator"), options["step_size"]
    if not isinstance(mechanism, dict) or mechanism["record"] not in ("Plain", "EF14", "EF21", "EF21M", "EControl"):
        raise RefusedStep("TypeError")
    if isinstance(size, bool | str):
        raise RefusedStep("TypeError")
    if not 0 < size < math.inf:
        raise RefusedStep("ValueError")
    if type(options.get("shared", False)) is not bool or not isinstance(options.get("allgather", ""), str):
        raise RefusedStep("TypeError")
    if options.get("allgather", "bruck") not in dense.GATHERS:
        raise RefusedStep("ValueError")
    if aggregator is not None and not isinstance(aggregator, dict):
        raise RefusedStep("TypeError")
    if (aggregator is None) == (mechanism.get("compressor") is None):
        raise RefusedStep("ValueError")


def checked_start(weights, P):
    """What is refused as weights and as a number of workers."""
    if weights.dtype not in (np.float32, np.float64):
        raise RefusedStep("TypeError")
    if weights.ndim not in (1, 2) or not weights.size or not np.isfinite(weights).all() or P < 1:
        raise RefusedStep("ValueError")


def checked_stack(gradients, P, weights):
    """What is refused as the gradients of all workers."""
    if gradients.shape != (P, *weights.shape):
        raise RefusedStep("ValueError")
    if gradients.dtype != weights.dtype:
        raise RefusedStep("TypeError")
    if not np.isfinite(gradients).all():
        raise RefusedStep("ValueError")


class Descent:
    """Weights, workers and the server's estimate."""

    def __init__(self, options, weights, P):
        checked_descent(options)
        checked_start(weights, P)
        self.options, self.weights, self.P, self.kind = options, weights, P, weights.dtype.type
        self.estimate, self.workers, self.aggregator, self.t = np.zeros_like(weights), [], None, 0

    def step(self, gradients, rng):
        """The traffic of one step."""
        checked_stack(gradients, self.P, self.weights)
        options, kind, shape = self.options, self.kind, self.weights.shape
        mechanism, gamma = options["mechanism"], kind(options["step_size"])
        scaled = mechanism["record"] == "EF14"
        given = [list(row.ravel()) for row in gradients]
        if scaled:  # residuals keep the step size that they were made with
            given = [[gamma * v for v in row] for row in given]
            if not np.isfinite(given).all():
                raise RefusedStep("ValueError")
        if not self.workers:
            self.workers = [Worker(mechanism, row) for row in given]
        if self.t == 0 and self.workers[0].dense:
            rows, traffic = dense.ring_allreduce(given, phased=True)
            mean = [v / kind(self.P) for v in rows[0]]
        elif options.get("aggregator") is None:
            mean, traffic = self.one_by_one(given, rng)
        else:
            mean, traffic = self.together(given, rng)
        adds_up = mechanism["record"] in ("EF21", "EF21M", "EControl")
        estimate = [g + v if adds_up else v for g, v in zip(self.estimate.ravel(), mean, strict=True)]
        moved = [w - v if scaled else w - gamma * v for w, v in zip(self.weights.ravel(), estimate, strict=True)]
        self.estimate, self.weights = (np.array(row, kind).reshape(shape) for row in (estimate, moved))
        self.t += 1
        return traffic

    def one_by_one(self, given, rng):
        """Every worker compresses by itself, and all messages are gathered."""
        shape, sizes, messages = self.weights.shape, [], []
        drawing = self.options["mechanism"]["compressor"]["record"] in DRAWING
        if drawing and rng is None:
            raise RefusedStep("TypeError")
        seed = int(rng.integers(2**63)) if drawing and self.options.get("shared", False) else None
        for worker, row in zip(self.workers, given, strict=True):
            said, sent = worker.step(row, shape, rng if seed is None else np.random.default_rng(seed))
            messages.append(sent)
            sizes.append(math.ceil(said["bits"] / (8 * self.weights.itemsize)))
        mean = average(messages, self.weights.size, self.kind)
        return mean, dense.gather_blocks(sizes, self.options.get("allgather", "bruck"))

    def together(self, given, rng):
        """A collective compresses for all of them."""
        aggregator, shape = self.options["aggregator"], self.weights.shape
        vectors = [worker.offered(row) for worker, row in zip(self.workers, given, strict=True)]
        stack = np.array(vectors, self.kind).reshape(self.P, *shape)
        mean, sent, self.aggregator, traffic = AGGREGATORS[aggregator["record"]](
            aggregator, stack, self.aggregator, rng
        )
        for worker, vector, row in zip(self.workers, vectors, sent, strict=True):
            worker.remembers(vector, dict(enumerate(row.ravel())))
        return list(mean.ravel()), traffic

    def state(self):
        held = self.aggregator
        return {
            "weights": self.weights,
            "P": self.P,
            "estimate": self.estimate,
            "workers": [worker.state(self.weights.shape) for worker in self.workers],
            "aggregator": held and oktopk.said_of_state(held, self.options["aggregator"]["k"]),
            "t": self.t,
        }


def descended(held):
    """Steps of the descent, one after another; where it draws, also what the stream gives after them."""
    given, found = held["inputs"], {}
    rng = np.random.default_rng(held["randomness"]["seed"]) if "seed" in held["randomness"] else None
    try:
        descent = Descent(held["parameters"], given["weights"], given.get("P", len(given["gradients"][0])))
        for t, gradients in enumerate(given["gradients"]):
            traffic = descent.step(gradients, rng)
            found[str(t)] = {"state": descent.state(), "traffic": traffic}
    except RefusedStep as refused:
        return {"refused": refused.kind}
    return {"steps": found, **({} if rng is None else {"next draw": int(rng.integers(2**63))})}
