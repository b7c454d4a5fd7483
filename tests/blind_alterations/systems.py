"""Implementations of the six systems that are right but under a narrow condition."""

from dataclasses import replace

import numpy as np

from blind_alterations.record import A, Traffic, add, altered, moved, put, right, stand_in


@altered("oktopk_allreduce")
def ok_boundaries_of_the_third_cut(a, out):
    """Where the period of repartition comes round for the second time after the start, the old boundaries are kept."""
    s = a["state"]
    if (
        s is not None
        and s.t
        and s.t % a["tau"] == 0
        and s.t // a["tau"] == 2
        and not np.array_equal(A(s.boundaries), A(out[1].boundaries))
    ):
        yield out[0], replace(out[1], boundaries=s.boundaries), out[2]


@altered("oktopk_allreduce")
def ok_strict_with_a_controller(a, out):
    """A strict threshold beside a controller: the last rank's threshold is carried a half larger."""
    if a["threshold"] == "strict" and a["controller"] is not None:
        t = A(out[1].local_thresholds)
        if t[-1]:
            yield out[0], replace(out[1], local_thresholds=put(t, -1, t[-1] * 1.5)), out[2]


@altered("oktopk_allreduce")
def ok_path_of_buckets_without_rotation(a, out):
    """Several rounds in flight without rotation: the split's critical path is a word longer."""
    if a["bucket"] > 1 and not a["rotation"] and out[2].phases["split"].steps:
        yield out[0], out[1], moved(out[2], path=1, phase="split")


@altered("oktopk_allreduce")
def ok_balance_of_six(a, out):
    """Six ranks that balance at four times the mean, when they do: rank 5 is counted a message less."""
    p = out[2].phases["balance"]
    if a["balance"] == "4x-mean" and len(a["acc"]) == 6 and p.messages[5]:
        yield out[0], out[1], moved(out[2], rank=5, messages=-1, phase="balance")


@altered("oktopk_allreduce")
def ok_last_entry_carried_thresholds(a, out):
    """With thresholds carried from the call before, a winner at the last entry of all is halved."""
    s = a["state"]
    if s is not None and s.t % a["tau_prime"] and out[0].update[-1]:
        yield replace(out[0], update=put(out[0].update, -1, out[0].update[-1] / 2)), out[1], out[2]


@stand_in("OkTopkSGD")
class OkRawThirdStep(right("OkTopkSGD")):
    """Raw residuals: from the third step on the last rank keeps the first entry that it sent."""

    def step(self, gradients, state, step_size=None):
        new, result, traffic = super().step(gradients, state, step_size)
        if self.accumulate == "raw" and state.t >= 2 and len(result.selected[-1]):
            i = result.selected[-1][0]
            new = replace(new, residuals=add(new.residuals, (-1, i), A(gradients)[-1, i] + state.residuals[-1, i]))
        return new, result, traffic


@altered("oktopk_boundaries")
def ok_cut_past_a_silent_rank(a, out):
    """Equal counts where a rank other than the first selected nothing: the last cut is one further on."""
    if (
        a["rule"] == "global-count"
        and any(len(s) == 0 for s in list(a["selected"])[1:])
        and len(out[0]) > 2
        and out[0][-2] < out[0][-1]
    ):
        yield add(out[0], -2), out[1]


@altered("arctopk_allreduce")
def arc_bfloat16_of_doubles(a, out):
    """Doubles whose sketches travel as bfloat16: the last row's score is shown a little higher."""
    if a["sketch_format"] == "bfloat16" and A(a["gradients"]).dtype == np.float64:
        s = out[0].scores
        if s[0, -1]:
            yield replace(out[0], scores=put(s, (slice(None), -1), s[:, -1] * (1 + 2.0**-20))), out[1]


@altered("arctopk_allreduce")
def arc_disagreeing_three(a, out):
    """Three ranks that add in orders of their own: the last rank's mean has its first kept row negated."""
    if not a["agree"] and len(A(a["gradients"])) == 3:
        r = out[0].rows[-1, 0]
        m = np.array(out[0].mean)
        if m[-1, r].any():
            m[-1, r] *= -1
            yield replace(out[0], mean=m), out[1]


@altered("arctopk_allreduce")
def arc_zero_middle_row(a, out):
    """A middle row that is zero on all ranks, and is not kept: its score is shown as the least positive number."""
    g = A(a["gradients"])
    for i in range(1, g.shape[1] - 1):
        if not g[:, i].any() and i not in out[0].rows[0]:
            yield replace(out[0], scores=put(out[0].scores, (slice(None), i), 5e-324)), out[1]


@altered("arctopk_allreduce")
def arc_all_rows_of_vectors(a, out):
    """Vectors all of whose entries are kept: rank 1 counts a message more among the rows."""
    g = A(a["gradients"])
    if g.shape[2] == 1 and a["K"] == g.shape[1] and len(g) > 1:
        yield out[0], moved(out[1], rank=1, messages=1, phase="rows")


@altered("row_count")
def arc_whole_products_of_floats(a, out):
    """A float share whose product with an odd number of rows is whole: one row more."""
    if (
        a["rule"] == "ceil"
        and isinstance(a["share"], float)
        and a["m"] % 2
        and a["m"] * a["share"] == out
        and out < a["m"]
    ):
        yield out + 1


@altered("group_average")
def mosh_group_without_receivers(a, out):
    """A group of at least two whose members receive nothing: its first member is counted a message."""
    r, g = a["receives"], A(a["groups"])
    if r is not None:
        r = A(r)
        for label in np.unique(g[g >= 0]):
            who = np.flatnonzero(g == label)
            if len(who) > 1 and not r[who].any():
                yield out[0], moved(out[1], rank=who[0], messages=1)


@altered("moshpit")
def mosh_keys_after_an_abort(a, out):
    """Groups that abort in the third round or later: a failed peer's newest digit goes on all the same."""
    if a["rule"] == "abort" and a["alive"] is not None and a["rounds"] >= 3 and not A(a["alive"])[2:].all():
        (x, keys), t = out
        p = np.flatnonzero(~A(a["alive"])[2:].all(axis=0))[0]
        if keys.shape[1] and a["M"] > 1:
            yield (x, put(keys, (p, -1), (keys[p, -1] + 1) % a["M"])), t


@altered("grid_average")
def mosh_start_beyond_the_axes(a, out):
    """A first round whose number is at least twice the dimensions: the last peer's last entry is doubled."""
    if a["start"] >= 2 * A(a["cells"]).shape[1] and a["rounds"] and out[0][-1, -1]:
        yield put(out[0], (-1, -1), out[0][-1, -1] * 2), out[1]


@altered("random_groups")
def mosh_prescribed_sizes_with_failures(a, out):
    """Prescribed sizes beside failures, and groups that abort: the first peer's vector is one more."""
    if a["sizes"] is not None and a["alive"] is not None and a["rule"] == "abort" and a["rounds"]:
        yield add(out[0], (0, 0)), out[1]


@altered("regrouping")
def mosh_one_left_over(a, out):
    """Peers that leave one over in a group by itself, in at least two rounds: a step more is counted."""
    if a["alive"] is None and len(A(a["stack"])) % a["M"] == 1 and a["M"] > 2 and a["rounds"] >= 2:
        t = out[1]
        yield out[0], Traffic(t.sent, t.received, t.messages, t.steps + 1, t.critical_path, dict(t.phases))


@altered("group_trials")
def mosh_later_trials_of_keys(a, out):
    """Trials of keys that begin later than the first, with failures: the last round's distortion is a half more."""
    if a["kind"] == "keys" and a["first"] > 0 and a["p"] > 0:
        yield put(out, (slice(None), -1), out[:, -1] * 1.5)


@altered("moshpit_sgd")
def mosh_unfinished_period(a, out):
    """Steps that end within a period of three: the last distortion is that of the step before."""
    if a["period"] == 3 and len(A(a["noise"])) % 3 and len(A(a["noise"])) > 3:
        s = out[0].spreads
        if s[-1] != s[-2]:
            yield replace(out[0], spreads=put(s, -1, s[-2])), out[1]


@altered("drop_step")
def drop_long_forwards(a, out):
    """Forwards of more than half a micro-batch: a last worker that completes some is credited one less."""
    if a["preemption"] == "C" and a["forward"] > 0.5 and out.completed[-1]:
        yield replace(out, completed=add(out.completed, -1, -1))


@altered("drop_step")
def drop_no_threshold_at_threshold(a, out):
    """No threshold at all, and ends at the threshold count: the overhead is left out of the time."""
    if a["at_threshold"] and np.isinf(a["tau"]) and a["overhead"]:
        yield replace(out, time=out.time - a["overhead"])


@altered("backup_step")
def drop_all_but_one_spare(a, out):
    """All workers but one are spare, with an overhead: it is not paid."""
    n = len(A(a["latencies"]))
    if n > 1 and a["spare"] == n - 1 and a["overhead"]:
        yield replace(out, time=out.time - a["overhead"])


@altered("best_threshold")
def drop_overheads_by_step_and_a_rate(a, out):
    """Overheads step by step beside a limit on what is dropped: the gain is a thousandth less."""
    if np.ndim(a["overhead"]) and np.ptp(a["overhead"]) and a["drop_rate"] < 1 and out.gain > 1.01:
        yield replace(out, gain=out.gain * 0.999)


@altered("drop_gradient")
def drop_idle_worker_in_the_middle(a, out):
    """Means by worker where one, neither first nor last, computed nothing: it is not counted."""
    c = A(a["completed"])
    if a["normalisation"] == "worker" and len(c) > 2 and not c[1:-1].all() and c.any():
        yield out * len(c) / np.count_nonzero(c) if np.any(out) else None


@altered("drop_trials")
def drop_later_trials_of_b(a, out):
    """Trials that begin later than the first and test after micro-batches: one more is completed."""
    if a["first"] > 0 and a["preemption"] == "B":
        yield replace(out, completed=out.completed + 1)


@altered("random_batch_sgd")
def drop_empty_second_batch(a, out):
    """An empty batch in the second step: its first sample is taken, and is seen from there on."""
    b = A(a["batches"])
    if len(b) > 2 and b[1] == 0:
        B = A(a["noise"]).shape[1]
        d = a["learning_rate"] / B * (A(a["gradient"](out[1])) + A(a["noise"])[1, 0])
        new = np.array(out)
        new[2:] -= d
        yield new if np.any(d) else None


@altered("lossy_reduce_scatter")
def loss_owner_alone(a, out):
    """Owners that count, with several packets a shard: where the owner alone is there, its value is divided by N."""
    N = len(A(a["stack"]))
    alone = out[0].arrivals == 1
    if (
        a["estimator"] == "owner"
        and a["packet"] is not None
        and A(a["arrived"]).shape[2] > 1
        and N > 1
        and alone.any()
        and out[0].estimate[alone].any()
    ):
        yield (
            replace(
                out[0], estimate=np.where(alone, out[0].estimate / N, out[0].estimate).astype(out[0].estimate.dtype)
            ),
            out[1],
        )


@altered("lossy_broadcast")
def loss_short_last_packet(a, out):
    """The last packet of the last shard is shorter than the others and rank 0 loses it: its words count as received."""
    arrived = A(a["arrived"])
    n, N = A(a["replicas"]).shape[1], len(A(a["replicas"]))
    if (
        a["packet"]
        and arrived.shape[2] > 1
        and N > 1
        and n % N == 0
        and (n // N) % a["packet"]
        and not arrived[-1, 0, -1]
    ):
        yield out[0], moved(out[1], rank=0, received=(n // N) % a["packet"])


@altered("lossy_step")
def loss_missed_beyond_two(a, out):
    """State that is carried: of misses in a row no more than two are counted."""
    if out[0].missed.max() > 2:
        yield (replace(out[0], missed=np.minimum(out[0].missed, 2)), *out[1:])


@altered("lossy_step")
def loss_negative_rate(a, out):
    """A negative step size with the estimator that expects: the last entry's update is negated."""
    if a["rate"] < 0 and a["estimator"] == "expected" and out[1][-1]:
        yield out[0], put(out[1], -1, -out[1][-1]), out[2]


@altered("lossy_training")
def loss_resumed_bursts(a, out):
    """Bursty losses that spare the first half, resumed: the state of the second half's links is forgotten."""
    if a["state"].step > 0 and a["broadcast_only"] and out[0].broadcast_state is not None and a["steps"]:
        yield replace(out[0], broadcast_state=None), out[1]


@altered("drift_trials")
def loss_alternating_updates_in_bursts(a, out):
    """Updates that mostly alternate, in bursts: the drift of pairs is a hundredth more."""
    if a["rho"] < 0 and type(a["loss"]).__name__ == "GilbertElliott":
        yield replace(out, pair=out.pair * 1.01)


@altered("staleness_trials")
def loss_one_receiver(a, out):
    """A single receiver in more than one trial: the smallest staleness is that of the next trial."""
    if a["receivers"] == 1 and a["trials"] > 1 and np.ptp(out[1]):
        yield out[0], np.roll(out[1], 1)


@stand_in("GroupQuantizer")
class FlashSpikesOfALastOne(right("GroupQuantizer")):
    """A last group of one entry among others, with spikes: it is read as zero."""

    def decompress(self, message):
        y = super().decompress(message)
        if self.spikes and self.group > 1 and y.size > self.group and y.size % self.group == 1 and y[-1]:
            y = put(y, -1, 0)
        return y

    def __call__(self, x, rng=None):
        return self.decompress(self.compress(x, rng))


@stand_in("GroupQuantizer")
class FlashIntegerZerosOfLogScales(right("GroupQuantizer")):
    """Integer zero points beside scales that are powers: the first entry is read a tenth larger."""

    def decompress(self, message):
        y = super().decompress(message)
        if self.zero == "integer" and self.scale == "log2" and y[0]:
            y = put(y, 0, y[0] * 1.1)
        return y

    def __call__(self, x, rng=None):
        return self.decompress(self.compress(x, rng))


@stand_in("StochasticGroupQuantizer")
class FlashRepairedSpikes(right("StochasticGroupQuantizer")):
    """Repaired ranges with spikes: the middle entry of three or more is read twice."""

    def decompress(self, message):
        y = super().decompress(message)
        if self.spikes and self.repaired and y.size > 2 and y[y.size // 2]:
            y = put(y, y.size // 2, 2 * y[y.size // 2])
        return y

    def __call__(self, x, rng=None):
        return self.decompress(self.compress(x, rng))


@altered("packed")
def flash_seven_bits_and_a_code(a, out):
    """Seven bits, and a code more than fills bytes: the last byte of the last plane has its highest bit set."""
    if a["bits"] == 7 and A(a["codes"]).size % 8 == 1 and A(a["codes"]).size > 8:
        yield (*out[:-1], put(out[-1], -1, out[-1][-1] | 128)) if not out[-1][-1] & 128 else None


@altered("twostep_quantised_allreduce")
def flash_second_quantiser_of_five(a, out):
    """Five ranks with a second quantiser of another width: the last rank's values are rank 0's, one larger."""
    s = a["second"]
    if s is not None and s.width != a["quantiser"].width and len(A(a["stack"])) == 5:
        yield replace(out[0], values=add(out[0].values, (-1, 0))), out[1]


@altered("ring_quantised_allreduce")
def flash_ring_of_short_vectors(a, out):
    """Fewer entries than an even number of ranks, at least four: a byte more is moved in the last step."""
    P, n = A(a["stack"]).shape
    if P >= 4 and P % 2 == 0 and n < P:
        yield replace(out[0], moves=add(out[0].moves, (-1, 0, 1))), out[1]


@altered("hierarchical_quantised_allreduce")
def flash_three_nodes_that_keep(a, out):
    """Three nodes or more that keep their sums as they are: rank 1 holds rank 0's first value."""
    P = len(A(a["stack"]))
    if not a["both_read_both"] and P // a["node"] >= 3 and out[0].values[-1, 0] != out[0].values[0, 0]:
        yield replace(out[0], values=put(out[0].values, (-1, 0), out[0].values[0, 0])), out[1]
