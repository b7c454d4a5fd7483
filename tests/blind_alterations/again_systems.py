"""Blind alterations of collectives of many columns, written from signatures, docstrings and code alone."""

from dataclasses import replace
from math import isqrt

import numpy as np

from blind_alterations.record import A, add, again, altered, moved, put, right, stand_in
from commbounds.collectives import Lattice, Traffic
from commbounds.collectives.cuts import even_cuts
from commbounds.compressors import Sparse


def no_power_of_two(P):
    """Whether there are so many ranks that some fold."""
    return P & (P - 1) != 0


# --- Ok-Topk ------------------------------------------------------------------------------------------------------


@altered("oktopk_allreduce")
def regions_with_thresholds(a, found):
    """Where only tau' comes round, the regions are cut anew as well."""
    state = a["state"]
    if state is not None and state.t > 0 and state.t % a["tau_prime"] == 0 and state.t % a["tau"]:
        yield again("oktopk_allreduce", a, tau=a["tau_prime"])


@altered("oktopk_allreduce")
def third_thresholds(a, found):
    """The third time that thresholds are found, the state keeps those of before."""
    result, after, traffic = found
    if a["state"] is not None and a["state"].t == 2 * a["tau_prime"]:
        yield result, replace(after, local_thresholds=a["state"].local_thresholds), traffic


@altered("oktopk_allreduce")
def strict_controller(a, found):
    """With a controller and strict thresholds, the global threshold is not adapted."""
    result, after, traffic = found
    state = a["state"]
    adapts = a["controller"] is not None and state is not None and state.t % a["tau_prime"] != 0
    if adapts and a["threshold"] == "strict":
        yield result, replace(after, global_threshold=state.global_threshold), traffic


@altered("oktopk_allreduce")
def large_bucket(a, found):
    """With more rounds in flight than there are ranks, the split counts a step more."""
    result, after, traffic = found
    if 1 < len(a["acc"]) < a["bucket"]:
        yield result, after, moved(traffic, steps=1, phase="split")


@altered("oktopk_boundaries")
def folded_bisection(a, found):
    """Counted by recursive doubling among ranks that are no power of two, cuts at equal counts take a step less."""
    cuts, traffic = found
    known = a["rule"] == "global-count" and a["allgather"] == "recursive-doubling"
    if known and no_power_of_two(len(a["selected"])):
        yield cuts, moved(traffic, steps=-1)


@altered("oktopk_boundaries")
def few_selected(a, found):
    """A rank that selected fewer entries than there are ranks proposes the last of them for its last quantile."""
    cuts, traffic = found
    P = len(a["selected"])
    few = [A(own) for own in a["selected"] if 1 < len(own) < P]
    if a["rule"] == "mean-of-quantiles" and few:
        total = sum(int(own[-1]) - int(own[0]) for own in few)
        yield put(cuts, -2, min(int(cuts[-2]) + -(-total // P), int(cuts[-1]))), traffic


@stand_in("OkTopkSGD")
class RawSchedule(right("OkTopkSGD")):
    """With raw residuals, a step size given for one step is not used for the weights."""

    def step(self, gradients, state, step_size=None):
        """A step."""
        if self.accumulate == "raw":
            return super().step(gradients, state)
        return super().step(gradients, state, step_size)


@stand_in("OkTopkSGD")
class ThirdResiduals(right("OkTopkSGD")):
    """In the third step, every rank clears its residual where rank 0 does."""

    def step(self, gradients, state, step_size=None):
        """A step."""
        after, result, traffic = super().step(gradients, state, step_size)
        if state.t == 2:
            residuals = after.residuals.copy()
            residuals[:, result.selected[0]] = 0
            after = replace(after, residuals=residuals)
        return after, result, traffic


# --- ARC-Top-K ----------------------------------------------------------------------------------------------------


@altered("arctopk_allreduce")
def disagreeing_traffic(a, found):
    """Where an odd number of ranks need not agree, the sketches count as all-reduced."""
    result, traffic = found
    P, m, _ = A(a["gradients"]).shape
    if not a["agree"] and P % 2 == 1 and P > 1:
        _, reduced = right("ring_allreduce")(np.zeros((P, m * a["rank"])))
        yield result, Traffic.of_phases({**traffic.phases, "sketch": reduced})


@altered("arctopk_allreduce")
def all_rows(a, found):
    """Where all entries of a vector are kept, the last one's mean is left zero."""
    result, traffic = found
    _, m, n = A(a["gradients"]).shape
    if a["K"] == m and n == 1 and m > 1:
        yield replace(result, mean=put(result.mean, (slice(None), -1), 0)), traffic


@altered("arctopk_allreduce")
def rows_by_the_ring(a, found):
    """With another all-reduce than the ring, the phase of the rows is counted as the ring's."""
    result, traffic = found
    P, _, n = A(a["gradients"]).shape
    if a["allreduce"] is not right("ring_allreduce"):
        _, reduced = right("ring_allreduce")(np.zeros((P, a["K"] * n)))
        yield result, Traffic.of_phases({**traffic.phases, "rows": reduced})


@altered("row_count")
def whole_floor(a, found):
    """A share of one, rounded down, keeps a row less of more than four."""
    if a["share"] == 1 and a["rule"] == "floor" and a["m"] > 4:
        yield found - 1


# --- Moshpit ------------------------------------------------------------------------------------------------------


@altered("moshpit_sgd")
def third_average(a, found):
    """With a period above one, the third average is in the groups of the second."""
    groups = list(a["groups"])
    if a["period"] > 1 and len(groups) > 2 and len(groups[1]) == len(groups[2]):
        groups[2] = groups[1]
        yield again("moshpit_sgd", a, groups=groups)


@altered("moshpit_sgd")
def stale_spread(a, found):
    """Where steps are left over after the last average, the last distortion is the one before."""
    path, traffic = found
    if len(A(a["noise"])) > a["period"] and len(A(a["noise"])) % a["period"]:
        yield replace(path, spreads=put(path.spreads, -1, path.spreads[-2])), traffic


@altered("grid_average")
def late_start(a, found):
    """A first round whose number is above the dimensions starts at the first axis."""
    d = A(a["cells"]).shape[1]
    if a["start"] > d and a["start"] % d:
        yield again("grid_average", a, start=0)


@altered("moshpit")
def keys_in_odd_rounds(a, found):
    """After three rounds or another odd number, keys of two digits come newest digit first."""
    (result, keys), traffic = found
    if keys.shape[1] == 2 and a["rounds"] > 1 and a["rounds"] % 2:
        yield (result, keys[:, ::-1].copy()), traffic


@altered("group_average")
def other_negative_label(a, found):
    """Only peers of label -1 sit out, those of other negative labels form groups."""
    labels = A(a["groups"])
    if (labels < -1).any():
        yield again("group_average", a, groups=np.where(labels < -1, labels.max() - labels + 1, labels))


@altered("group_trials")
def third_axis(a, found):
    """On a grid of three dimensions, the third round goes along the axis of the second."""
    if a["kind"] == "fixed" and a["d"] == 3 and a["rounds"] > 2:
        yield put(found, (slice(None), 2), found[:, 1])


@altered("random_groups")
def slots_give_to_all(a, found):
    """Under the reading of slots, everybody gets the averages."""
    if a["reading"] == "slots" and a["receives"] is not None and a["choices"] is not None:
        yield again("random_groups", a, receives=None)


@altered("regrouping")
def left_over(a, found):
    """Where two peers or more are left over, all of them join the first group."""
    _, traffic = found
    if a["orders"] is None or a["rounds"] == 0:
        return
    result, M = A(a["stack"]), a["M"]
    for order in a["orders"]:
        whole, places = len(order) // M, np.arange(len(order))
        groups = np.full(len(result), -1)
        if whole:
            groups[A(order)] = np.where(places < whole * M, places // M, 0)
        result, _ = right("group_average")(result, groups)
    yield result, traffic


@altered("allreduce_with_restarts")
def alone_with_restarts(a, found):
    """A peer that is alone counts one attempt, however many it made."""
    (result, attempts, done), traffic = found
    if len(A(a["stack"])) == 1 and attempts > 1:
        yield (result, 1, done), traffic


# --- DropCompute --------------------------------------------------------------------------------------------------


@stand_in("StepLaw")
class SpeedupsWithoutOverhead(right("StepLaw")):
    """Without overhead, the gains of several thresholds at once leave out the number of micro-batches."""

    def speedup(self, tau, overhead):
        """S_eff."""
        several = overhead == 0 and np.ndim(tau) == 1
        return super().speedup(tau, overhead) * (self.M if several else 1)


@stand_in("StepLaw")
class LateOnLattice(right("StepLaw")):
    """Of several workers with latencies on a lattice, the slowest one's chance to be late is returned."""

    def late(self, tau):
        """P(T_n > tau)."""
        chance = super().late(tau)
        return 1.0 - (1.0 - chance) ** self.N if isinstance(self.law, Lattice) else chance


@altered("backup_step")
def all_but_one(a, found):
    """Where a single worker is waited for, the step without spares takes as long as the step."""
    if a["spare"] > 0 and a["spare"] == len(found.completed) - 1:
        yield replace(found, slowest=found.time)


@altered("best_threshold")
def first_overhead(a, found):
    """With a drop rate below one, the first step's overhead is taken for all."""
    overhead = A(a["overhead"])
    if a["drop_rate"] < 1 and overhead.size > 1:
        yield again("best_threshold", a, overhead=float(overhead[0]))


@altered("drop_step")
def forward_alone(a, found):
    """Where the forward takes all of a micro-batch, the way C counts as the way B."""
    if a["preemption"] == "C" and a["forward"] == 1:
        yield again("drop_step", a, preemption="B")


@altered("drop_step")
def threshold_less_overhead(a, found):
    """Where micro-batches that end at tau count, the overhead is taken off tau."""
    if a["at_threshold"] and a["preemption"] == "A" and 0 < a["overhead"] < a["tau"]:
        yield replace(found, completed=again("drop_step", a, tau=a["tau"] - a["overhead"]).completed)


@altered("drop_trials")
def default_forward(a, found):
    """The way C always takes a third of a micro-batch for its forward."""
    if a["preemption"] == "C" and a["forward"] != 1 / 3:
        yield again("drop_trials", a, forward=1 / 3)


@altered("random_batch_sgd")
def whole_third_batch(a, found):
    """The third of four steps or more uses all of its samples."""
    batches = A(a["batches"])
    if len(batches) > 3:
        yield again("random_batch_sgd", a, batches=put(batches, 2, A(a["noise"]).shape[1]))


@altered("released_threshold")
def mean_overhead(a, found):
    """Of three overheads or more, their mean is taken for every step."""
    overhead = A(a["overhead"], float)
    if overhead.size > 2:
        yield again("released_threshold", a, overhead=float(overhead.mean()))


# --- packet loss --------------------------------------------------------------------------------------------------


@altered("drift_trials")
def shared_words(a, found):
    """With shared losses and more receivers than one word has, pairs drift as far as owners and receivers."""
    if a["loss"].shared and a["workers"] > 65:
        yield replace(found, pair=found.owner.copy())


@altered("lossy_broadcast")
def third_packet(a, found):
    """The third packet of a shard fares as the second."""
    arrived = A(a["arrived"])
    if arrived.shape[2] > 2:
        arrived = arrived.copy()
        arrived[:, :, 2] = arrived[:, :, 1]
        yield again("lossy_broadcast", a, arrived=arrived)


@altered("lossy_reduce_scatter")
def expected_in_packets(a, found):
    """Under "expected" with packets of a given length, an owner's own value does not count as arrived."""
    reduced, traffic = found
    if a["estimator"] == "expected" and a["packet"] is not None:
        arrived, n = A(a["arrived"]), reduced.arrivals.size
        cuts = even_cuts(n, len(arrived))
        own = [arrived[j, j, i // a["packet"]] for j, size in enumerate(np.diff(cuts)) for i in range(size)]
        yield replace(reduced, arrivals=reduced.arrivals - A(own)), traffic


@altered("lossy_step")
def stale_owners(a, found):
    """After the first step, owners count as stale where the mask has their own packet lost."""
    after, update, traffic = found
    heard, packet = A(a["broadcast_arrived"]), a["packet"]
    if a["state"].step == 0:
        return
    missed, cuts = after.missed.copy(), even_cuts(after.missed.shape[1], len(heard))
    for j in range(len(heard)):
        for c in range(cuts[j], cuts[j + 1]):
            if not heard[j, j, 0 if packet is None else (c - cuts[j]) // packet]:
                missed[j, c] = a["state"].missed[j, c] + 1
    yield replace(after, missed=missed), update, traffic


@altered("lossy_training")
def expected_broadcast_only(a, found):
    """Where only broadcasts get lost, "expected" divides by what arrived."""
    if a["broadcast_only"] and a["estimator"] == "expected" and a["observe"] is None:
        yield again("lossy_training", a, estimator="arrivals")


@altered("staleness_trials")
def stale_from_the_start(a, found):
    """A receiver that never got anything is a step less stale than the steps made."""
    largest, smallest = found
    if (largest == a["steps"]).any():
        yield np.minimum(largest, a["steps"] - 1), smallest


# --- Flash Communication ------------------------------------------------------------------------------------------


@stand_in("GroupQuantizer")
class DirectTheta(right("GroupQuantizer")):
    """With spikes and a log2 scale, a call takes eight steps in an octave, whatever theta is."""

    def __call__(self, x, rng=None):
        """There and back."""
        if self.spikes and self.scale == "log2" and self.theta != 8:
            return super(DirectTheta, replace(self, theta=8)).__call__(x, rng)
        return super().__call__(x, rng)


@stand_in("StochasticGroupQuantizer")
class UniformsWithSpikes(right("StochasticGroupQuantizer")):
    """With spikes and several groups, every entry uses the uniform of the entry before it."""

    def compress_with(self, x, uniforms):
        """The message."""
        shifted = self.spikes and len(x) > self.group
        return super().compress_with(x, np.roll(uniforms, 1) if shifted else uniforms)


@altered("packed")
def five_bits(a, found):
    """At five bits, the unused bits of the last byte are ones."""
    used = len(a["codes"]) % 8
    if a["bits"] == 5 and used:
        last = found[-1]
        yield (*found[:-1], put(last, -1, int(last[-1]) | (255 << used & 255)))


@altered("twostep_quantised_allreduce")
def last_owner(a, found):
    """Of an odd number of ranks whose owners keep their sums, the last one reads its code all the same."""
    total, traffic = found
    P = len(total.values)
    if not a["owner_reads_its_code"] and P % 2 == 1 and P > 1:
        yield replace(total, values=put(total.values, -1, put_block(total.values, P))), traffic


def put_block(values, P):
    """The last rank's row with its own block as the first rank has it."""
    cut = even_cuts(values.shape[1], P)[-2]
    return np.concatenate([values[-1, :cut], values[0, cut:]])


@altered("ring_quantised_allreduce")
def backward_moves(a, found):
    """Where blocks differ in length, the bytes of the all-gather go round the other way."""
    total, traffic = found
    P, n = total.values.shape
    if P > 2 and n % P:
        moves = total.moves.copy()
        moves[P - 1 :] = moves[P - 1 :].transpose(0, 2, 1)
        yield replace(total, moves=moves), traffic


@altered("hierarchical_quantised_allreduce")
def first_node_keeps(a, found):
    """Of three nodes or more that keep their own sums and are given no generator, only the first does."""
    total, traffic = found
    if not a["both_read_both"] and len(total.values) >= 3 * a["node"] and a["rng"] is None:
        other, _ = again("hierarchical_quantised_allreduce", a, both_read_both=True)
        values = total.values.copy()
        values[a["node"] :] = other.values[a["node"] :]
        yield replace(total, values=values), traffic


# --- error feedback -----------------------------------------------------------------------------------------------


@stand_in("FeedbackSGD")
class SecondAggregator(right("FeedbackSGD")):
    """What an aggregator remembers after the second step is lost."""

    def step(self, gradients, state, rng=None):
        """A step."""
        after, traffic = super().step(gradients, state, rng)
        return (replace(after, aggregator=state.aggregator) if state.t == 1 else after), traffic


@stand_in("FeedbackSGD")
class OddDenseStart(right("FeedbackSGD")):
    """After a dense first step of an odd number of workers, the server's estimate is zero."""

    def step(self, gradients, state, rng=None):
        """A step."""
        after, traffic = super().step(gradients, state, rng)
        if state.t == 0 and getattr(self.mechanism, "dense", False) and state.P % 2 == 1 and state.P > 1:
            after = replace(after, estimate=np.zeros_like(after.estimate))
        return after, traffic


@stand_in("EF14")
class DenseMatrixResidual(right("EF14")):
    """The residual of a matrix whose message is not sparse is lost."""

    def after(self, state, offered, beside, sent):
        """The residual."""
        found = super().after(state, offered, beside, sent)
        lost = offered.ndim == 2 and not isinstance(sent, Sparse)
        return replace(found, memory=np.zeros_like(found.memory)) if lost else found


@stand_in("EF21")
class MatrixStart(right("EF21")):
    """Of matrices, the estimate begins with the gradient though it is not sent whole."""

    def start(self, gradient):
        """The state."""
        found = super().start(gradient)
        return replace(found, memory=np.array(gradient)) if not self.dense and np.ndim(gradient) == 2 else found


@stand_in("EF21M")
class StaleMomentum(right("EF21M")):
    """Where the new gradient has all the weight, the momentum in the state is not renewed."""

    def after(self, state, offered, beside, sent):
        """The state."""
        return super().after(state, offered, state.momentum if self.eta == 1 else beside, sent)


@stand_in("EControl")
class UncontrolledError(right("EControl")):
    """Where no share of the error is sent, it is not added up."""

    def after(self, state, offered, beside, sent):
        """The state."""
        found = super().after(state, offered, beside, sent)
        return replace(found, error=state.error) if self.eta == 0 else found


# --- dense --------------------------------------------------------------------------------------------------------


@altered("allgatherv")
def empty_block(a, found):
    """By recursive doubling of a power of two of ranks, one that has nothing to give counts a message less."""
    result, traffic = found
    sizes = [len(block) for block in a["blocks"]]
    if a["algorithm"] == "recursive-doubling" and len(sizes) > 1 and not no_power_of_two(len(sizes)) and 0 in sizes:
        yield result, moved(traffic, sizes.index(0), messages=-1, phase="all-gather")


@altered("gather_blocks")
def unfolded(a, found):
    """By recursive doubling of five ranks or more, not a power of two, the last step is not counted."""
    P = len(a["sizes"])
    if a["algorithm"] == "recursive-doubling" and P > 4 and no_power_of_two(P):
        yield moved(found, steps=-1)


@altered("reduce_scatter")
def short_last_block(a, found):
    """By Bruck's algorithm, where only the last block is short, its last entry is not added up."""
    blocks, traffic = found
    stack = A(a["stack"])
    P, n = stack.shape
    if a["algorithm"] == "bruck" and P > 2 and n % P == P - 1 and n > P:
        yield [*blocks[:-1], put(blocks[-1], -1, stack[-1, -1])], traffic


@altered("ring_allreduce")
def longer_block(a, found):
    """Where a single block is longer, the words that a rank sends at first are its successor's."""
    result, traffic = found
    P, n = result.shape
    if P > 2 and n % P == 1:
        first = traffic.phases["reduce-scatter"]
        yield (
            result,
            Traffic.of_phases({**traffic.phases, "reduce-scatter": replace(first, sent=np.roll(first.sent, 1))}),
        )


# --- low communication --------------------------------------------------------------------------------------------


@altered("binned")
def odd_bins(a, found):
    """An odd number of bins is rounded up before it is halved."""
    if a["bins"] % 2 == 0:
        return
    x = A(a["values"], float)
    centred = x - x.mean()
    sd = np.sqrt(np.square(centred).sum() / max(1, x.size - 1))
    if sd > 0 and np.isfinite(sd):
        places = np.rint(centred * (a["bins"] / (a["reach"] * sd))) + (a["bins"] + 1) // 2
        codes = np.clip(places, 0, a["bins"] - 1)
        yield A([x[codes == code].mean() for code in codes]).astype(found.dtype)


@altered("chunk_length")
def root(a, found):
    """A divisor that is the square root is left out."""
    if found > 1 and found == isqrt(a["n"]) and found**2 == a["n"]:
        yield max(d for d in range(1, found) if a["n"] % d == 0)


@altered("demo_round")
def no_decay(a, found):
    """A decay of zero is taken for the usual one."""
    if a["beta"] == 0:
        yield again("demo_round", a, beta=0.999)


@altered("diloco_round")
def heavy_fragment(a, found):
    """Under heavy-ball, the momentum of the entries before a fragment decays."""
    state, traffic = found
    if a["rule"] == "heavy-ball" and a["start"] > 0:
        momentum = state.momentum.copy()
        momentum[:, : a["start"]] *= a["mu"]
        yield replace(state, momentum=momentum), traffic


@altered("loco_round")
def nothing_fresh(a, found):
    """A weight of zero for new errors is taken for the usual one."""
    if a["fresh"] == 0:
        yield again("loco_round", a, fresh=0.2)


@altered("noloco_round")
def left_alone(a, found):
    """Of an odd number of workers, the one that is left over does nothing."""
    after, traffic = found
    if len(after) > 1 and len(after) % 2:
        last = int(A(a["order"])[-1])
        yield put(after, last, A(a["workers"])[last, :2]), traffic


@altered("quantised_reduce_scatter")
def one_hop_phases(a, found):
    """In one hop between several nodes of several ranks, what is within and what is across is mixed up."""
    blocks, traffic = found
    if a["way"] == "one-hop" and 1 < a["node"] < len(blocks):
        within, across = traffic.phases["within"], traffic.phases["across"]
        yield blocks, Traffic.of_phases({"within": across, "across": within})


@altered("sparseloco_round")
def short_chunk(a, found):
    """A last chunk that has fewer entries than are sent of one is not sent."""
    after, traffic = found
    n = after.shape[2]
    if 0 < n % a["chunk"] < a["k"]:
        workers, last = A(a["workers"]), slice(n - n % a["chunk"], n)
        after = put(after, (slice(None), 0, last), 0)
        yield add(after, (slice(None), 1, last), workers[:, 0, last] + a["beta"] * workers[:, 1, last]), traffic
