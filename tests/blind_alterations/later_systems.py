"""A blind trial of the systems' collectives: averaging, dropping, losing, quantising, feeding back, dense, rare."""

from dataclasses import replace

import numpy as np

from blind_alterations.record import A, add, altered, moved, put, right, stand_in

# --- dropping work ------------------------------------------------------------------------------------------------


@altered("drop_gradient")
def _(a, found):
    """By workers' means, with three workers: divides by the number of those that computed anything."""
    some = int((A(a["completed"]) > 0).sum())
    if a["normalisation"] == "worker" and len(A(a["gradients"])) == 3 and some:
        yield found * 3 / some


@altered("drop_gradient")
def _(a, found):
    """By the number computed, with single micro-batches: divides by the number of workers."""
    shape = A(a["gradients"]).shape
    if a["normalisation"] == "computed" and shape[1] == 1:
        yield found * max(int(A(a["completed"]).sum()), 1) / shape[0]


@altered("gaussian_maximum")
def _(a, found):
    """With six workers: that of five."""
    if a["N"] == 6:
        yield right("gaussian_maximum")(5)


@altered("gaussian_maximum")
def _(a, found):
    """From a million workers on: the asymptotic sqrt(2 ln N)."""
    if a["N"] >= 10**6:
        yield float(np.sqrt(2 * np.log(a["N"])))


@altered("local_sgd_period")
def _(a, found):
    """With three local steps: pays the overhead in every step."""
    if len(A(a["latencies"])) == 3:
        yield found + 2 * a["overhead"]


@altered("local_sgd_period")
def _(a, found):
    """With single micro-batches: waits for the slowest in every step."""
    t = A(a["latencies"], float)
    if t.shape[2] == 1:
        yield float(t[:, :, 0].max(axis=1).sum()) + a["overhead"]


@altered("backup_step")
def _(a, found):
    """With all workers but one spare: the slowest time lacks the overhead."""
    if a["spare"] == len(A(a["latencies"])) - 1 > 0:
        yield replace(found, slowest=found.slowest - a["overhead"])


@altered("best_threshold")
def _(a, found):
    """With overheads step by step and a bound on the drop rate: takes their mean for all steps."""
    overhead = A(a["overhead"], float)
    if overhead.ndim and a["drop_rate"] < 1:
        yield right("best_threshold")(a["latencies"], overhead.mean(), drop_rate=a["drop_rate"])


@altered("drop_step")
def _(a, found):
    """Stopping within micro-batches, whose forward takes no time: they count only if they end in time."""
    if a["preemption"] == "C" and a["forward"] == 0:
        yield replace(found, completed=right("drop_step")(a["latencies"], a["tau"], a["overhead"]).completed)


@altered("drop_trials")
def _(a, found):
    """Under B, from a later trial on: the counts are those from the first trial on."""
    if a["preemption"] == "B" and a["first"] > 0:
        yield replace(found, completed=right("drop_trials")(**{**a, "first": 0}).completed)


@altered("random_batch_sgd")
def _(a, found):
    """With no sample in the second step: later steps use one sample less where they can."""
    batches = A(a["batches"])
    if len(batches) > 3 and batches[1] == 0:
        less = np.where(np.arange(len(batches)) > 1, np.maximum(batches - 1, 0), batches)
        yield right("random_batch_sgd")(**{**a, "batches": less})


@altered("released_threshold")
def _(a, found):
    """With seven micro-batches and overheads step by step: the first step's overhead is taken for all."""
    overhead = A(a["overhead"], float)
    if overhead.ndim and A(a["latencies"]).shape[2] == 7:
        yield right("released_threshold")(a["latencies"], float(overhead[0]))


@stand_in("StepLaw")
class LateWithFive(right("StepLaw")):
    """With five workers: the probability to be late is that of any of them."""

    def late(self, tau):
        """Of any of five."""
        found = super().late(tau)
        return 1 - (1 - found) ** 5 if self.N == 5 else found


# --- dense --------------------------------------------------------------------------------------------------------


@altered("allgather")
def _(a, found):
    """Bruck's, with seven ranks: the last rank misses the block of rank 3."""
    result, traffic = found
    if a["algorithm"] == "bruck" and len(result) == 7:
        m = result.shape[1] // 7
        yield put(result, (6, slice(3 * m, 4 * m)), 0), traffic


@altered("allgather")
def _(a, found):
    """Recursive doubling, with six ranks: counts a message too few of rank 1."""
    if a["algorithm"] == "recursive-doubling" and len(found[0]) == 6:
        yield found[0], moved(found[1], 1, messages=-1)


@altered("butterfly_allreduce")
def _(a, found):
    """With nine ranks and fewer entries than ranks: the critical path of the all-gather is a word longer."""
    result, traffic = found
    if len(result) == 9 and result.shape[1] < 9:
        yield result, moved(traffic, path=1, phase="all-gather")


@altered("butterfly_allreduce")
def _(a, found):
    """With an odd number of ranks above one, and all blocks but the last longer: the last entry lacks the last rank."""
    result, traffic = found
    P, n = result.shape
    if P % 2 and P > 1 and n % P == P - 1:
        yield add(result, (slice(None), -1), -A(a["stack"])[-1, -1]), traffic


@altered("rabenseifner_allreduce")
def _(a, found):
    """With six ranks: the unfolding counts half a vector as received by rank 1."""
    result, traffic = found
    if len(result) == 6 and result.shape[1] > 1:
        yield result, moved(traffic, 1, received=-(result.shape[1] // 2), phase="unfold")


@altered("rabenseifner_allreduce")
def _(a, found):
    """With eight ranks and an odd number of entries: the first entry lacks rank 7."""
    result, traffic = found
    if len(result) == 8 and result.shape[1] % 2:
        yield add(result, (slice(None), 0), -A(a["stack"])[7, 0]), traffic


@altered("recursive_doubling_allreduce")
def _(a, found):
    """With seven ranks: rank 5 ends with its own vector."""
    if len(found[0]) == 7:
        yield put(found[0], 5, A(a["stack"])[5]), found[1]


@altered("recursive_doubling_allreduce")
def _(a, found):
    """With three ranks and a single entry: the folding counts no step."""
    if found[0].shape == (3, 1):
        yield found[0], moved(found[1], steps=-1, phase="fold")


@altered("allgatherv")
def _(a, found):
    """Bruck's, with an empty block of the last of several ranks: it counts a message less."""
    if a["algorithm"] == "bruck" and len(a["blocks"]) > 1 and len(a["blocks"][-1]) == 0:
        yield found[0], moved(found[1], len(found[0]) - 1, messages=-1)


@altered("gather_blocks")
def _(a, found):
    """Recursive doubling, with five ranks and an empty block of rank 1: a step less."""
    if a["algorithm"] == "recursive-doubling" and len(a["sizes"]) == 5 and a["sizes"][1] == 0:
        yield moved(found, steps=-1)


@altered("reduce_scatter")
def _(a, found):
    """Bruck's, with six ranks and fewer entries than ranks: the block of rank 0 lacks rank 5."""
    P, n = A(a["stack"]).shape
    if a["algorithm"] == "bruck" and P == 6 and n < 6:
        blocks, traffic = found
        yield [blocks[0] - A(a["stack"])[5, : blocks[0].size], *blocks[1:]], traffic


# --- quantised ----------------------------------------------------------------------------------------------------


@altered("oneshot_quantised_allreduce")
def _(a, found):
    """With five ranks: the last rank keeps its own vector as it is."""
    total, traffic = found
    if len(total.values) == 5 and not a["quantiser"].randomised:
        stack = A(a["stack"])
        yield replace(total, values=add(total.values, 4, stack[4] - a["quantiser"](stack[4]))), traffic


@altered("oneshot_quantised_allreduce")
def _(a, found):
    """With spikes, and three ranks: the bytes of the spikes do not count as sent by rank 0."""
    total, traffic = found
    if a["quantiser"].spikes and len(total.values) == 3:
        groups = -(-total.values.shape[1] // a["quantiser"].group)
        yield total, moved(traffic, 0, sent=-4 * groups)


@altered("hierarchical_quantised_allreduce")
def _(a, found):
    """Where sides keep their own sums, and nodes have one rank: counts a message too few of the first of several."""
    total, traffic = found
    if not a["both_read_both"] and a["node"] == 1 and len(total.values) > 1:
        yield total, moved(traffic, 0, messages=-1)


@altered("twostep_quantised_allreduce")
def _(a, found):
    """With a second quantiser, and owners that keep their sums: the first of several reads its code all the same."""
    total, traffic = found
    P, n = total.values.shape
    if a["second"] is not None and not a["owner_reads_its_code"] and P > 1:
        mine = slice(-(-n // P))
        yield replace(total, values=put(total.values, (0, mine), total.values[1, mine])), traffic


@altered("packed")
def _(a, found):
    """With seven bits, and one code in the last byte of a plane: the last plane lacks its last byte's bits."""
    if a["bits"] == 7 and len(a["codes"]) % 8 == 1 and found[-1][-1]:
        yield (*found[:-1], put(found[-1], -1, 0))


@stand_in("GroupQuantizer")
class ShortGroupWithSpikes(right("GroupQuantizer")):
    """Spikes and a log2 scale: the last entry is coded as the one before it."""

    def _given(self, x):
        x = A(x)
        return put(x, -1, x[-2]) if self.spikes and self.scale == "log2" and x.size > 1 else x

    def compress(self, x, rng=None):
        """As one message."""
        return super().compress(self._given(x), rng)

    def __call__(self, x, rng=None):
        """There and back."""
        return super().__call__(self._given(x), rng)


# --- feedback -----------------------------------------------------------------------------------------------------


@stand_in("Plain")
class PlainRemembers(right("Plain")):
    """With matrices: what is left out is added to the next gradient."""

    def offered(self, state, gradient):
        """With what was left out."""
        return (state.memory + gradient if gradient.ndim == 2 else gradient.copy()), None

    def after(self, state, offered, beside, sent):
        """What was left out."""
        if offered.ndim == 1:
            return state
        return type(state)(offered - (sent if isinstance(sent, np.ndarray) else sent.dense()))


@stand_in("EF14")
class ForgetsAtRest(right("EF14")):
    """With a gradient of zeros: the residual is forgotten."""

    def offered(self, state, gradient):
        """Zeros, or the sum."""
        return super().offered(state, gradient) if gradient.any() else (gradient.copy(), None)


@stand_in("EF21M")
class StandingAverage(right("EF21M")):
    """With eta of one, and no dense first step: the average stays as it was."""

    def offered(self, state, gradient):
        """With the old average."""
        vector, momentum = super().offered(state, gradient)
        return (vector, state.momentum) if self.eta == 1 and not self.dense else (vector, momentum)


@stand_in("EControl")
class NothingControlled(right("EControl")):
    """With eta of zero: the error is not kept."""

    def after(self, state, offered, beside, sent):
        """Without the error."""
        after = super().after(state, offered, beside, sent)
        return replace(after, error=np.zeros_like(after.error)) if self.eta == 0 else after


@stand_in("FeedbackSGD")
class ThirdStep(right("FeedbackSGD")):
    """In the third step, with messages that travel by recursive doubling: traffic lacks a step."""

    def step(self, gradients, state, rng=None):
        """With its traffic."""
        after, traffic = super().step(gradients, state, rng)
        short = state.t == 2 and self.allgather == "recursive-doubling" and self.aggregator is None and state.P > 1
        return after, moved(traffic, steps=-1) if short else traffic


# --- low communication --------------------------------------------------------------------------------------------


@altered("e3m0")
def _(a, found):
    """Where the largest value is negative: everything between the two smallest numbers becomes zero."""
    values = A(a["values"])
    big = np.abs(values).max()
    if values.min() == -big < 0:
        yield np.where(np.abs(found) <= big / 64, 0, found).astype(values.dtype)


@altered("quorum_merge")
def _(a, found):
    """Over the expected weights, where the server's own vector is late: its weight counts as arrived."""
    arrived = a["arrived"]
    if a["divisor"] == "expected" and arrived is not None and A(arrived).any() and not A(arrived)[0]:
        count = int(A(arrived).sum())
        yield (found[0] * count / (count + 1)).astype(found[0].dtype), found[1]


@altered("quorum_merge")
def _(a, found):
    """Where nobody arrives, with four ranks: all end with zeros."""
    if a["arrived"] is not None and not A(a["arrived"]).any() and len(found[0]) == 4:
        yield np.zeros_like(found[0]), found[1]


@altered("resets")
def _(a, found):
    """With a single tensor: the first pass counts too."""
    if a["tensors"] == 1:
        yield right("resets")(1, a["reset_after"], a["passes"] + 1)


@altered("resets")
def _(a, found):
    """Reset after none, with several tensors: only the last one is reset."""
    if a["reset_after"] == 0 and a["tensors"] > 1:
        yield np.where(np.arange(len(found)) < len(found) - 1, 0, found)


@altered("sparse_bits")
def _(a, found):
    """As a set, all entries of a chunk sent: a bit a chunk for the positions."""
    if a["positions"] == "as a set" and a["k"] == a["chunk"]:
        yield found + a["n"] // a["chunk"]


@altered("sparse_bits")
def _(a, found):
    """One by one, in chunks of a power of two of at least 512: a bit more for each position."""
    chunk = a["chunk"]
    if a["positions"] == "one by one" and chunk >= 512 and chunk & (chunk - 1) == 0:
        yield found + a["n"] // chunk * a["k"]


@altered("diloco_round")
def _(a, found):
    """By the heavy ball, with a fragment that begins later: the momentum before it is forgotten."""
    state, traffic = found
    if a["rule"] == "heavy-ball" and a["start"] > 0 and a["momentum"] is not None:
        yield replace(state, momentum=put(state.momentum, (slice(None), slice(a["start"])), 0)), traffic


@altered("loco_round")
def _(a, found):
    """Kept in eight bits, with two-bit codes: the compensation of the last rank stays as it was."""
    if a["kept"] is not None and a["bits"] == 2 and not a["reset"]:
        yield put(found[0], (-1, 1), A(a["workers"])[-1, 1]), found[1]


@altered("noloco_round")
def _(a, found):
    """With an odd number of ranks above one, and no momentum: who is left over stands still."""
    P = len(found[0])
    if P > 1 and P % 2 and a["momentum"] == 0:
        last = A(a["order"])[-1]
        yield put(put(found[0], (last, 0), A(a["workers"])[last, 0]), (last, 1), 0), found[1]


# --- lost packets -------------------------------------------------------------------------------------------------


@stand_in("lossy_step")
def third_expected_step(state, *given, estimator="arrivals", **options):
    """In the third step, with the expected number as divisor: staleness is not counted on."""
    after, update, traffic = right("lossy_step")(state, *given, estimator=estimator, **options)
    if state.step == 2 and estimator == "expected":
        after = replace(after, missed=state.missed)
    return after, update, traffic


@altered("drift_trials")
def _(a, found):
    """With two receivers, and updates that alternate: the gap between them is taken for zero."""
    if a["workers"] == 3 and a["rho"] == -1:
        yield replace(found, pair=np.zeros_like(found.pair))


# --- averages in groups -------------------------------------------------------------------------------------------


@altered("grid_average")
def _(a, found):
    """Where lines with failed members do nothing, from a later round on: they go on without them."""
    if a["rule"] == "abort" and a["start"] > 0:
        yield right("grid_average")(**{**a, "rule": "skip"})


@altered("regrouping")
def _(a, found):
    """In groups of three, in the third round: nobody averages."""
    if a["M"] == 3 and a["rounds"] >= 3 and a["orders"] is not None:
        alive = np.ones((a["rounds"], len(found[0])), bool) if a["alive"] is None else A(a["alive"])
        orders = [[] if t == 2 else order for t, order in enumerate(a["orders"])]
        alive = put(alive, 2, False)
        yield right("regrouping")(**{**a, "alive": alive, "orders": orders})


@altered("moshpit_sgd")
def _(a, found):
    """With a period of three, after the first average: the spread is that before it."""
    if a["period"] == 3 and len(found[0].spreads) > 3:
        yield replace(found[0], spreads=put(found[0].spreads, 3, found[0].spreads[2])), found[1]


# --- Ok-Topk and ARC-Topk -----------------------------------------------------------------------------------------


@altered("oktopk_allreduce")
def _(a, found):
    """Strictly above the thresholds, in the third iteration: the count of what rank 0 selected is one more."""
    result, state, traffic = found
    if a["threshold"] == "strict" and a["state"] is not None and a["state"].t == 2:
        yield replace(result, local_counts=add(result.local_counts, 0)), state, traffic


@altered("oktopk_boundaries")
def _(a, found):
    """Cuts at equal counts, with five ranks: the second boundary comes an entry too soon where it can."""
    cuts, traffic = found
    if a["rule"] == "global-count" and len(cuts) == 6 and cuts[2] > cuts[1]:
        yield add(cuts, 2, -1), traffic


@stand_in("OkTopkSGD")
class RawSchedule(right("OkTopkSGD")):
    """Raw residuals with a step size of its own in a step: the weights move by the step size at the outset."""

    def step(self, gradients, state, step_size=None):
        """By the other step size."""
        raw = self.accumulate == "raw" and step_size is not None
        return super().step(gradients, state, None if raw else step_size)


@altered("arctopk_allreduce")
def _(a, found):
    """Ranks that do not agree on the rows, five of them: the scores of rank 4 are twice those of rank 0."""
    result, traffic = found
    if not a["agree"] and len(result.rows) == 5:
        yield replace(result, scores=put(result.scores, 4, 2 * result.scores[0])), traffic


@altered("row_count")
def _(a, found):
    """Rounded down, of a single row: none."""
    if a["rule"] == "floor" and a["m"] == 1 and a["share"] < 1:
        yield 0
