"""More implementations of all columns that are right but under a narrow condition."""

import itertools
from dataclasses import replace

import numpy as np

from blind_alterations.record import A, add, altered, moved, put, right, stand_in


@altered("table_allreduce")
def block_fine_unrotated(a, out):
    """Two stages without rotation: a rank's own sum's last entry is negated."""
    if a["fine"] is not None and not a["rotated"] and out[0][-1, -1]:
        yield put(out[0], (-1, -1), -out[0][-1, -1]), out[1]


@stand_in("Microscaling")
class MxNegativeOfShortBlock(right("Microscaling")):
    """A last block of one negative entry, e2m1, scales by the ceiling: it is read as zero."""

    def decompress(self, message):
        y = super().decompress(message)
        if self.scale == "ceil" and y.size % self.block == 1 and self.block > 1 and y.size > self.block and y[-1] < 0:
            y = put(y, -1, 0)
        return y


@stand_in("SharedMicroexponents")
class SmxZeroPair(right("SharedMicroexponents")):
    """A block whose first pair is zero and others not: its last entry is read doubled."""

    def decompress(self, message):
        y = super().decompress(message)
        if y.size > 3 and not y[:2].any() and y[min(self.block, y.size) - 1]:
            i = min(self.block, y.size) - 1
            y = put(y, i, 2 * y[i])
        return y


@altered("kashin")
def kashin_one_round_inexact(a, out):
    """One round that need not be exact, in a longer frame: the last coefficient is negated."""
    if a["rounds"] == 1 and not a["exact"] and a["length"] is not None and out[-1]:
        yield put(out, -1, -out[-1])


@altered("rotated_mean")
def rotated_mean_zero_rank(a, out):
    """A rank other than the first that is all zero, shared signs: the first entry is divided by one rank less."""
    x = A(a["stack"])
    if a["seeds"] == "shared" and len(x) > 2 and (~x[1:].any(axis=1)).any() and out[0][0, 0]:
        yield put(out[0], (slice(None), 0), out[0][:, 0] * len(x) / (len(x) - 1)), out[1]


@stand_in("DRIVE")
class DriveZeroTail(right("DRIVE")):
    """Scaled with little error, one entry more than a power of two: the last one is negated."""

    def decompress(self, message):
        y = super().decompress(message)
        n = y.size
        if self.scale != "unbiased" and n > 2 and n - 1 & (n - 2) == 0 and y[-1]:
            y = put(y, -1, -y[-1])
        return y


@altered("switched")
def switched_at_a_zero_probability(a, out):
    """The dice is at a sum that is met twice, as a probability is zero: the later compressor is chosen."""
    p = list(a["probabilities"])
    if 0 <= out < len(p) - 1 and p[out + 1] == 0 and a["dice"] == sum(p[: out + 1]):
        yield out + 1


@altered("dynamic_tree")
def tree_last_block_of_one(a, out):
    """A last block of a single negative entry: its code is the next."""
    x = A(a["x"])
    if a["block"] > 1 and x.size > a["block"] and x.size % a["block"] == 1 and x[-1] < 0:
        yield replace(out, codes=add(out.codes, -1, 1 if out.codes[-1] < 255 else -1))


@altered("permk_mean")
def permk_silent_owner(a, out):
    """Given owners, of whom the last rank owns nothing: it is counted a word."""
    P = len(A(a["stack"]))
    if a["owners"] is not None and P > 2 and not (A(a["owners"]) == P - 1).any():
        yield out[0], moved(out[1], rank=P - 1, sent=1)


@altered("ef_signs")
def ef_signs_scaled_zero_first(a, out):
    """Scaled, and the first gradient all zero: the second update is halved."""
    g = A(a["gradients"])
    if a["scaled"] and len(g) > 1 and not g[0].any() and out.updates[1].any():
        yield replace(out, updates=put(out.updates, 1, out.updates[1] / 2))


@stand_in("ThreeLC")
class ThreeLCLongRun(right("ThreeLC")):
    """A run of more than fourteen fives of zeros: the first entry is read negated."""

    def decompress(self, message):
        y = super().decompress(message)
        if self.zero_run and message.packed.size and message.packed.max() >= 255 and y[0]:
            y = put(y, 0, -y[0])
        return y


@altered("inceptionn")
def inceptionn_odd_binades(a, out):
    """An odd number of binades, a negative entry in the smallest class: it is dropped."""
    x = A(a["x"])
    small = (out.values < 0) & (np.abs(x) < 2.0 ** -(a["binades"] // 2 + 1))
    if a["binades"] % 2 and small.any():
        yield replace(out, values=np.where(small, 0, out.values).astype(out.values.dtype))


@altered("quantization_hook")
def hook_channels_that_fit(a, out):
    """Channels that divide the vectors, three ranks: the last mean is that of the first rank's last entry."""
    P, n = A(a["stack"]).shape
    if a["channel"] is not None and n % a["channel"] == 0 and P == 3 and n > a["channel"]:
        yield put(out[0], (slice(None), -1), 2 * out[0][:, -1] + 1), out[1]


@altered("flashinfer_allreduce")
def flashinfer_zero_group(a, out):
    """A group that is zero on all ranks, not the first: the entry before it is doubled on rank 0."""
    n = A(a["stack"]).shape[1]
    x, g = A(a["stack"]), a["group"]
    for s in range(g, n, g):
        if not x[:, s : s + g].any() and out[0][0, s - 1]:
            yield put(out[0], (0, s - 1), 2 * out[0][0, s - 1]), out[1]


@stand_in("NaturalDithering")
class NaturalDitheringOneLevel(right("NaturalDithering")):
    """One level, in float32, of vectors of 33 and more: the middle entry's code is turned."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        c = m.codes
        i = c.size // 2
        if self.levels == 1 and c.size >= 33 and m.dtype == np.float32 and c[i]:
            m = replace(m, codes=put(c, i, -c[i]))
        return m


@stand_in("TopK")
class TopKOppositeTies(right("TopK")):
    """A cut between two entries of equal magnitude, the first of which is negative: the second is sent."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        v = np.ascontiguousarray(x)
        i = m.indices[-1] if m.indices.size else -1
        left = np.setdiff1d(np.arange(v.size), m.indices)
        if left.size and m.indices.size:
            cut = np.abs(m.values).min()
            j = [j for j in left if abs(v[j]) == cut and v[j] > 0]
            i = [k for k in range(m.indices.size) if m.values[k] == -cut]
            if j and i and cut > 0:
                idx, val = m.indices.copy(), m.values.copy()
                idx[i[-1]], val[i[-1]] = j[0], v[j[0]]
                o = np.argsort(idx)
                m = replace(m, indices=idx[o], values=val[o])
        return m


@stand_in("RandK")
class RandKUnscaledAll(right("RandK")):
    """Unscaled, all but one are kept: the last value that is sent is halved."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        if not self.scaled and self.k == m.shape[0] - 1 and m.values[-1]:
            m = replace(m, values=put(m.values, -1, m.values[-1] / 2))
        return m

    def compress_with(self, x, draws):
        m = super().compress_with(x, draws)
        if not self.scaled and self.k == m.shape[0] - 1 and m.values[-1]:
            m = replace(m, values=put(m.values, -1, m.values[-1] / 2))
        return m


@stand_in("HardThreshold")
class HardThresholdNegativeTie(right("HardThreshold")):
    """A negative entry exactly at the threshold: it is treated the other way."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        v = np.ascontiguousarray(x)
        t = v.dtype.type(float(self.threshold))
        at = np.flatnonzero(v == -t) if t else np.array([], int)
        if at.size:
            keep = np.setdiff1d(m.indices, at) if np.isin(at, m.indices).any() else np.union1d(m.indices, at)
            keep = keep.astype(m.indices.dtype)
            m = replace(m, indices=keep, values=v[keep])
        return m


@stand_in("LowRank")
class LowRankOneRow(right("LowRank")):
    """One row of more than eight columns, float64: the last column is negated."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        if m.shape[0] == 1 and m.shape[1] > 8 and m.dtype == np.float64 and m.right[-1].any():
            m = replace(m, right=put(m.right, -1, -m.right[-1]))
        return m


@altered("muon_update")
def muon_tall_in_bfloat16(a, out):
    """Tall matrices in bfloat16 by the polar express: the last entry is negated."""
    x = A(a["stack"])
    if (
        x.shape[1] > x.shape[2]
        and a["arithmetic"] == "bfloat16"
        and a["iteration"] == "polar_express"
        and out[0][0, -1, -1]
    ):
        yield put(out[0], (slice(None), -1, -1), -out[0][:, -1, -1]), out[1]


@altered("ef21_muon")
def ef21_muon_sent_all(a, out):
    """All entries are sent and no iteration is made: the last rank's own estimate has a zero at its first entry."""
    if a["k"] == np.prod(A(a["stack"]).shape[1:]) and a["steps"] == 0 and out[0].own[-1, 0, 0]:
        yield out[0]._replace(own=put(out[0].own, (-1, 0, 0), 0)), out[1]


@altered("spardl_allreduce")
def spardl_b_sag_of_fewer(a, out):
    """Three teams that gather fewer entries than they may: the last rank's first residual entry is negated."""
    if a["teams"] == 3 and a["synchronise"] == "b-sag" and a["sag_entries"] is not None and out[0].residual[-1, 0]:
        yield replace(out[0], residual=put(out[0].residual, (-1, 0), -out[0].residual[-1, 0])), out[1]


@altered("gaussiank_allreduce")
def gaussian_silent_rank(a, out):
    """Thresholds adapted as for an LSTM, a rank other than the first all zero: its threshold is one."""
    x = A(a["stack"])
    quiet = [p for p in range(1, len(x)) if not x[p].any()]
    if a["adapt"] == "lstm" and quiet:
        yield replace(out[0], thresholds=add(out[0].thresholds, quiet[0])), out[1]


@altered("topk_allgather")
def topk_gather_zeros_filled(a, out):
    """A rank other than the first has fewer nonzeros than k, doubling: its last index is another zero's."""
    x = A(a["stack"])
    if a["allgather"] == "recursive-doubling":
        for p in range(1, len(x)):
            zeros = np.setdiff1d(np.flatnonzero(x[p] == 0), out[0].selected[p])
            if np.count_nonzero(x[p]) < a["k"] and zeros.size:
                s = list(out[0].selected)
                own = s[p].copy()
                at = [i for i in range(own.size) if x[p][own[i]] == 0][-1]
                own[at] = zeros[-1]
                s[p] = np.sort(own)
                yield replace(out[0], selected=tuple(s)), out[1]


@altered("demo_round")
def demo_signs_by_ranks(a, out):
    """Signs of sums over ranks, of an update that is zero at the end: it is one there."""
    if a["signed"] and a["share"] == "ranks" and out[0][0, 0, -1] == 0:
        yield put(out[0], (slice(None), 0, -1), 1), out[1]


@altered("e3m0")
def e3m0_negative_half_way(a, out):
    """A negative value half-way between two numbers: it goes to the smaller magnitude."""
    v = A(a["values"]).astype(float)
    M = np.abs(v).max()
    if M:
        numbers = np.array([0, *(M * 2.0**-k for k in range(6, -1, -1))])
        new = np.array(out)
        for i, x in enumerate(v):
            for lo, hi in itertools.pairwise(numbers):
                if -x == (lo + hi) / 2 and out[i] == -hi:
                    new[i] = -lo
        if not np.array_equal(new, out):
            yield new


@altered("quantised_reduce_scatter")
def qrs_two_bits_without_order(a, out):
    """Hierarchical without reordering, three nodes or more: the last rank's first value doubles."""
    P = A(a["stack"]).shape[0]
    if a["way"] == "hierarchical" and not a["reorder"] and a["node"] > 1 and P // a["node"] > 2 and out[0][-1, 0]:
        yield put(out[0], (-1, 0), 2 * out[0][-1, 0]), out[1]


@altered("sparseloco_round")
def sparseloco_binned_by_senders(a, out):
    """Bins beside shares by senders, of the last chunk: its last momentum is one more."""
    if a["bins"] and a["share"] == "senders" and len(A(a["workers"])) > 2:
        yield add(out[0], (-1, 1, -1)), out[1]


@altered("binned")
def binned_three_bins(a, out):
    """An odd number of bins, and all values equal: they are read as zero."""
    v = A(a["values"])
    if a["bins"] % 2 and v.size > 1 and not np.ptp(v) and v[0]:
        yield np.zeros_like(out)


@altered("resets")
def resets_every_tensor(a, out):
    """A setting of zero with more than one tensor: the last tensor is reset once less."""
    if a["reset_after"] == 0 and a["tensors"] > 1 and out[-1]:
        yield add(out, -1, -1)


@altered("released_threshold")
def released_seven_batches(a, out):
    """Seven micro-batches in more than one step, with an overhead: the gain is a thousandth more."""
    x = A(a["latencies"])
    if x.shape[2] == 7 and len(x) > 1 and np.any(a["overhead"]):
        yield replace(out, gain=out.gain * 1.001)


@altered("local_sgd_period")
def local_period_of_one_worker(a, out):
    """One worker in several steps: the overhead is paid in each."""
    x = A(a["latencies"])
    if x.shape[1] == 1 and len(x) > 1 and a["overhead"]:
        yield out + a["overhead"] * (len(x) - 1)


@altered("lossy_training")
def training_shared_later_trial(a, out):
    """Losses that receivers share, in a trial other than the first: the last replica's last entry is negated."""
    if getattr(a["loss"], "shared", False) and a["trial"] > 0 and a["steps"] and out[0].parameters[-1, -1]:
        yield replace(out[0], parameters=put(out[0].parameters, (-1, -1), -out[0].parameters[-1, -1])), out[1]


@altered("oneshot_quantised_allreduce")
def oneshot_doubles_with_bfloat16(a, out):
    """Two ranks of doubles with metadata in bfloat16: a byte more on the path."""
    x = A(a["stack"])
    if len(x) == 2 and x.dtype == np.float64 and a["quantiser"].metadata == "bfloat16":
        yield out[0], moved(out[1], path=1)


@altered("reduce_scatter")
def rs_bruck_of_five(a, out):
    """Bruck's backwards of five: block 3, where not empty, is summed in the order of the ranks."""
    x = A(a["stack"])
    if a["algorithm"] == "bruck" and len(x) == 5 and len(out[0][3]):
        start = sum(len(b) for b in out[0][:3])
        part = x[:, start : start + len(out[0][3])]
        total = part[0].copy()
        with np.errstate(all="ignore"):
            for v in part[1:]:
                total = total + v
        if not np.array_equal(total, out[0][3]) and np.isfinite(total).all():
            blocks = list(out[0])
            blocks[3] = total
            yield blocks, out[1]


@stand_in("StepLaw")
class StepLawOneWorkerLate(right("StepLaw")):
    """One worker of one micro-batch: the probability of being late is taken from the other side."""

    def late(self, tau):
        p = super().late(tau)
        if self.N == 1 and self.M == 1 and p != 0.5:
            return 1 - p
        return p
