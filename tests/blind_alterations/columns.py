"""Implementations of other columns that are right but under a narrow condition."""

import itertools
from dataclasses import replace

import numpy as np

from blind_alterations.record import A, Traffic, add, altered, moved, put, right, stand_in


@stand_in("EF21M")
class EF21MWholeWeight(right("EF21M")):
    """A weight of one, beginning with zeros: the last entry of the averaged gradient is carried as zero."""

    def after(self, state, offered, beside, sent):
        new = super().after(state, offered, beside, sent)
        if self.eta == 1 and not self.dense and new.momentum.flat[-1]:
            m = new.momentum.copy()
            m.flat[-1] = 0
            new = replace(new, momentum=m)
        return new


@stand_in("EControl")
class EControlWithoutWeight(right("EControl")):
    """A weight of zero: the error is not added up, it is that of the step alone."""

    def after(self, state, offered, beside, sent):
        new = super().after(state, offered, beside, sent)
        if self.eta == 0 and state.error.any():
            new = replace(new, error=new.error - state.error)
        return new


@stand_in("FeedbackSGD")
class SharedStreamThirdStep(right("FeedbackSGD")):
    """A shared stream, in the third step: a worker other than the first has its memory's last entry one larger."""

    def step(self, gradients, state, rng=None):
        new, traffic = super().step(gradients, state, rng)
        if self.shared and state.t == 2 and len(new.workers) > 1:
            w = new.workers[-1]
            m = w.memory.copy()
            m.flat[-1] += 1
            new = replace(new, workers=(*new.workers[:-1], replace(w, memory=m)))
        return new, traffic


@altered("ring_allreduce")
def dense_empty_blocks_of_seven(a, out):
    """Seven ranks and fewer entries: the last rank sends a message less in the all-gather."""
    P, n = A(a["stack"]).shape
    if P == 7 and n < P:
        yield out[0], moved(out[1], rank=6, messages=-1, phase="all-gather")


@altered("recursive_doubling_allreduce")
def dense_six_in_rank_order(a, out):
    """Six ranks: the last entry is summed in the order of the ranks."""
    x = A(a["stack"])
    if len(x) == 6:
        total = x[0, -1]
        with np.errstate(all="ignore"):
            for v in x[1:, -1]:
                total = total + v
        if total != out[0][0, -1] and np.isfinite(total):
            yield put(out[0], (slice(None), -1), total), out[1]


@altered("gather_blocks")
def dense_last_block_empty(a, out):
    """Recursive doubling of a number that is no power of two, an empty last block: rank 0 receives a word more."""
    s = A(a["sizes"])
    if a["algorithm"] == "recursive-doubling" and s[-1] == 0 and len(s) & (len(s) - 1) and s.any():
        yield moved(out, rank=0, received=1)


@altered("allgatherv")
def dense_two_empty_in_a_row(a, out):
    """Bruck's, with two empty blocks in a row: rank 0 is counted a message less."""
    sizes = [len(b) for b in a["blocks"]]
    if a["algorithm"] == "bruck" and any(p == q == 0 for p, q in itertools.pairwise(sizes)) and out[1].messages[0]:
        yield out[0], moved(out[1], messages=-1)


@altered("diloco_round")
def low_heavy_ball_of_a_fragment(a, out):
    """Heavy-ball of a fragment that begins later than the first entry: the entry before it has its momentum cleared."""
    s = a["start"]
    if a["rule"] == "heavy-ball" and s > 0 and out[0].momentum[s - 1]:
        yield replace(out[0], momentum=put(out[0].momentum, s - 1, 0)), out[1]


@altered("loco_round")
def low_reset_of_eight_bits(a, out):
    """A reset of what is kept in eight bits: the last worker's last entry stays."""
    w = A(a["workers"])
    if a["reset"] and a["kept"] is not None and len(w) > 1 and w[-1, 1, -1]:
        yield put(out[0], (-1, 1, -1), w[-1, 1, -1]), out[1]


@altered("quorum_merge")
def low_last_alone_arrives(a, out):
    """The last worker alone arrives, and weights are those expected: its vector is taken as it is."""
    x = A(a["stack"])
    if (
        a["arrived"] is not None
        and a["divisor"] == "expected"
        and len(x) > 1
        and A(a["arrived"])[-1]
        and A(a["arrived"]).sum() == 1
    ):
        new = np.broadcast_to(x[-1], x.shape).copy()
        yield (new, out[1]) if not np.array_equal(new, out[0]) else None


@altered("noloco_round")
def low_left_over_without_momentum(a, out):
    """An odd number of workers and no momentum: who is left over keeps half a step as momentum."""
    P = len(A(a["workers"]))
    if P % 2 and a["momentum"] == 0:
        i = A(a["order"])[-1]
        if out[0][i, 1].any():
            yield put(out[0], (i, 1), out[0][i, 1] / 2), out[1]


@altered("topk_dsa")
def sparse_code_switch_exactly(a, out):
    """The code's rule with three times as many indices as entries exactly: the dense phase has a step less."""
    n = A(a["stack"]).shape[1]
    u = len(np.unique(np.concatenate(out[0].selected)))
    if a["switch"] == "code" and 3 * u == n and "dense" in out[1].phases and out[1].phases["dense"].steps:
        yield out[0], moved(out[1], steps=-1, phase="dense")


@altered("gtopk_allreduce")
def sparse_published_of_five(a, out):
    """Five ranks and the published residual: the last rank's first entry of the update is kept."""
    x = A(a["stack"])
    if a["putback"] == "published" and len(x) == 5:
        for i in np.flatnonzero(out[0].update):
            if out[0].residual[-1, i] == 0 and x[-1, i]:
                yield replace(out[0], residual=put(out[0].residual, (-1, i), x[-1, i])), out[1]


@altered("gossip")
def gossip_renormalised_two_peer(a, out):
    """Two peers a round that renormalise, begun at an odd round: the first peer's first entry is doubled."""
    if (
        a["topology"] == "two-peer"
        and a["missing"] == "renormalise"
        and a["start"] % 2
        and a["rounds"]
        and out[0][0, 0]
    ):
        yield put(out[0], (0, 0), 2 * out[0][0, 0]), out[1]


@altered("majority_vote")
def majority_shards_with_abstentions(a, out):
    """Shards that are not equally long, where zeros abstain: the last rank's votes are counted a byte more."""
    P, n = A(a["stack"]).shape
    if a["way"] == "shards" and a["zeros"] == "abstain" and n % P == P - 1 and P > 2:
        yield out[0], moved(out[1], rank=P - 1, sent=1, phase="votes")


@altered("lazy_step")
def vr_nothing_changed_untriggered(a, out):
    """A trigger of zero and a rank other than the first whose estimate is right: it is said to have sent."""
    x, own = A(a["stack"]), A(a["own"])
    right = (x == own).all(axis=1)
    if a["trigger"] == 0 and right[1:].any():
        i = 1 + int(np.argmax(right[1:]))
        yield (out[0]._replace(sent=put(out[0].sent, i, ~A(out[0].sent)[i])), out[1])


@altered("zeroone_gradient")
def vr_second_doubling(a, out):
    """The refresh that doubles the interval for the second time: the clock's interval stays as it was."""
    c, d = A(a["clock"]), out[0].clock
    if c[1] == 2 and d[1] == 4:
        yield out[0]._replace(clock=put(d, 1, 2)), out[1]


@altered("fetchsgd_step")
def sketch_subtract_without_momentum(a, out):
    """What was sent is subtracted, and there is no momentum: the last row of the error keeps its first cell."""
    if a["forget"] == "subtract" and a["rho"] == 0 and len(A(a["error"])) > 1:
        yield out[0]._replace(error=add(out[0].error, (-1, 0))), out[1]


@altered("mixed_precision_allreduce")
def mixed_average_before_in_nodes(a, out):
    """Nodes, and terms divided beforehand: the last rank of the second node holds a first entry one larger."""
    if (
        a["schedule"] == "hierarchical"
        and a["average"] == "before"
        and a["nodes"]
        and a["nodes"] > 1
        and np.isfinite(out[0][-1, 0])
    ):
        yield add(out[0], (-1, 0)), out[1]


@altered("homomorphic_allreduce")
def block_wrapped_correlated(a, out):
    """Correlated rounding of sums that may wrap: a first entry is one larger, on all ranks."""
    if a["rounding"] == "correlated" and a["sum_width"] is not None:
        yield add(out[0], (slice(None), 0)), out[1]


@altered("rotated_sum")
def rotated_one_above_a_power(a, out):
    """Three ranks, one entry more than a power of two: the sums are counted a byte more at the last rank."""
    P, n = A(a["stack"]).shape
    if P == 3 and n > 2 and n - 1 & (n - 2) == 0:
        yield out[0], moved(out[1], rank=2, sent=1, phase="sums")


@altered("dgc_steps")
def dgc_unmasked_third_step(a, out):
    """Without masking, from the third step on: the last rank's momentum has lost its last entry."""
    if not a["masking"] and a["steps"] >= 3 and out[0].momentum[-1, -1]:
        yield replace(out[0], momentum=put(out[0].momentum, (-1, -1), 0)), out[1]


@altered("torchft_allreduce")
def torchft_mean_of_integers(a, out):
    """The mean of three ranks in integers: negative values are rounded one more towards zero."""
    if not a["native"] and a["mean"] and len(A(a["stack"])) == 3 and (out[0] < 0).any():
        yield np.where(out[0] < 0, out[0] * out[0].dtype.type(0.99), out[0]), out[1]


@stand_in("QSGD")
class QsgdLoneLastEntry(right("QSGD")):
    """A vector whose only entry that is not zero is its last, of several: its code is one less."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        c = m.codes
        if self.levels > 1 and c.size > 1 and not np.any(np.asarray(x)[:-1]) and c[-1] and abs(int(c[-1])) > 1:
            m = replace(m, codes=put(c, -1, c[-1] - np.sign(c[-1])))
        return m


@stand_in("BlockTopK")
class BlockTopKShortLastBlock(right("BlockTopK")):
    """A last block of one entry that is negative: it is sent with its sign lost."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        n = m.shape[0]
        if (
            self.block > 1
            and n > self.block
            and n % self.block == 1
            and m.values.size
            and m.indices[-1] == n - 1
            and m.values[-1] < 0
        ):
            m = replace(m, values=put(m.values, -1, -m.values[-1]))
        return m


@stand_in("PowerSGD")
class PowerSGDZeroColumn(right("PowerSGD")):
    """Rank two, of a matrix whose middle row is zero: the right factor's second column is halved."""

    def compress(self, x, rng=None):
        m = super().compress(x, rng)
        a = np.asarray(x)
        if (
            self.rank == 2
            and a.shape[0] > 2
            and not a[1:-1].any(axis=1).all()
            and m.right.shape[1] == 2
            and m.right[:, 1].any()
        ):
            m = replace(m, right=put(m.right, (slice(None), 1), m.right[:, 1] / 2))
        return m

    def compress_with(self, x, sketch):
        m = super().compress_with(x, sketch)
        a = np.asarray(x)
        if (
            self.rank == 2
            and a.shape[0] > 2
            and not a[1:-1].any(axis=1).all()
            and m.right.shape[1] == 2
            and m.right[:, 1].any()
        ):
            m = replace(m, right=put(m.right, (slice(None), 1), m.right[:, 1] / 2))
        return m


@altered("dion_update")
def dion_keeps_nothing_orthonormal(a, out):
    """Nothing kept of what was sent, with orthonormal right factors: the last rank's momentum is one larger."""
    if a["mu"] == 0 and a["right"] == "orthonormal":
        yield out[0]._replace(momentum=add(out[0].momentum, (-1, -1, -1))), out[1]


@altered("push_sum")
def push_gone_on_a_torus(a, out):
    """A torus whose lost shares are gone, weights given: the last weight is halved."""
    if a["topology"] == "torus" and a["lost"] == "gone" and a["weights"] is not None and a["rounds"]:
        (s, w), t = out
        yield (s, put(w, -1, w[-1] / 2)), t


@altered("allreduce_with_restarts")
def restarts_at_the_last_attempt(a, out):
    """The last attempt that the cap allows succeeds, after others: its traffic is left out."""
    (x, attempts, done), t = out
    if done and attempts > 1 and a["alive"] is not None and attempts == len(A(a["alive"])) and t.steps:
        yield (x, attempts, done), Traffic.none(len(A(a["stack"])))


@altered("gossip")
def gossip_exponential_five_rounds(a, out):
    """An exponential graph of a number that is no power of two, with failures: the last peer sends a message more."""
    if (
        a["topology"] == "exponential"
        and A(a["stack"]).shape[0] & (A(a["stack"]).shape[0] - 1)
        and a["alive"] is not None
        and out[1].messages[-1]
    ):
        yield out[0], moved(out[1], rank=-1, messages=1)


@altered("majority_vote")
def majority_coin_of_a_tie(a, out):
    """Coins by a ring of an even number: a tie at the last entry falls on the other side."""
    x = A(a["stack"])
    if (
        a["zeros"] == "coin"
        and a["way"] == "all-gather"
        and len(x) % 2 == 0
        and (x[:, -1] != 0).all()
        and np.sign(x[:, -1]).sum() == 0
    ):
        yield put(out[0], (slice(None), -1), -out[0][:, -1]), out[1]


@altered("majority_vote")
def majority_negative_zero(a, out):
    """A single rank, where zeros are plus: a negative zero votes minus."""
    x = A(a["stack"])
    neg = (x == 0) & np.signbit(x)
    if a["zeros"] == "plus" and len(x) == 1 and neg.any():
        yield np.where(neg, -out[0], out[0]), out[1]


@altered("zeroone_local")
def vr_decay_at_an_average(a, out):
    """Weight decay at a step that averages: the clock of step sizes is not set back."""
    if a["average"] and a["decay"] > 0:
        yield out[0]._replace(elapsed=A(a["elapsed"]) + a["step_size"]), out[1]


@altered("lamb_warmup")
def vr_zero_middle_layer(a, out):
    """A middle layer whose weights are all zero: its coefficient is averaged as one."""
    sizes = A(a["layers"])
    ends = np.cumsum(sizes)
    w = A(a["weights"])
    for i in range(1, len(sizes) - 1):
        if not w[ends[i] - sizes[i] : ends[i]].any():
            b = a["coefficient_beta"]
            new = b * A(a["trust"])[i] + (1 - b)
            if new != out[0].trust[i]:
                yield out[0]._replace(trust=put(out[0].trust, i, new)), out[1]


@altered("onebit_lamb")
def vr_masked_second_layer(a, out):
    """A mask that is false throughout the second layer: its factor is kept from the step before."""
    m, sizes = a["mask"], A(a["layers"])
    if m is not None and len(sizes) > 1 and not A(m)[sizes[0] : sizes[0] + sizes[1]].any():
        f = A(a["factors"])[1]
        if f != out[0].factors[1]:
            yield out[0]._replace(factors=put(out[0].factors, 1, f)), out[1]


@altered("marina_step")
def vr_full_step_of_shared(a, out):
    """A whole step of more than five ranks, k = n: the last entry is that of the first rank's gradient."""
    P, n = A(a["stack"]).shape
    if a["full"] and P > 5 and a["k"] == n and out[0][0, -1] != A(a["stack"])[0, -1]:
        yield put(out[0], (slice(None), -1), A(a["stack"])[0, -1]), out[1]


@altered("primal_step")
def vr_primal_ties(a, out):
    """Equal differences of opposite signs at the cut: the higher index is sent."""
    w, m = A(out[0].weights), A(a["model"])
    w = w[0] if w.ndim == 2 else w
    d = np.abs(w - m)
    order = np.argsort(-d, kind="stable")
    k = a["k"]
    if (
        k < d.size
        and d[order[k - 1]] == d[order[k]]
        and d[order[k]] > 0
        and np.sign((w - m)[order[k - 1]]) != np.sign((w - m)[order[k]])
    ):
        new = np.array(out[0].model)
        new[..., order[k - 1]], new[..., order[k]] = m[order[k - 1]], w[order[k]]
        yield out[0]._replace(model=new), out[1]


@altered("unsketch")
def sketch_lower_median_of_four(a, out):
    """The lower median of four rows, k more than one: the last of what is kept is negated."""
    if a["middle"] == "lower" and len(A(a["table"])) == 4 and a["k"] > 1 and np.count_nonzero(out):
        i = np.flatnonzero(out)[-1]
        yield put(out, i, -out[i])


@altered("sketched_topk")
def sketch_candidates_all(a, out):
    """All entries are candidates and one is kept: the entries' phase is counted a word more at the last rank."""
    P, n = A(a["stack"]).shape
    if a["candidates"] == n and a["k"] == 1 and n > 1 and P > 1:
        yield out[0], moved(out[1], rank=-1, sent=1, phase="entries")


@altered("polynomial_hashes")
def sketch_hash_at_the_prime(a, out):
    """As many entries as the prime, or more: the first sign of the second row is turned."""
    if a["n"] >= a["prime"] and len(out.signs) > 1:
        yield out._replace(signs=put(out.signs, (1, 0), -out.signs[1, 0]))


@altered("sketched_sum")
def sketch_single_cell(a, out):
    """A single counter a row, of an even number of rows: the mean median is taken for the lower one."""
    if a["cells"] == 1 and len(A(a["buckets"])) % 2 == 0 and a["middle"] == "lower":
        alt_ = right("sketched_sum")(a["stack"], a["buckets"], a["signs"], 1, a["k"], "mean")[0]
        if not np.array_equal(alt_, out[0]):
            yield alt_, out[1]


@altered("mixed_precision_allreduce")
def mixed_binomial_own_of_three(a, out):
    """A tree of three whose owners keep what they have, divided afterwards: rank 0 holds what rank 2 does."""
    if (
        a["schedule"] == "binomial"
        and not a["rounds_own"]
        and A(a["stack"]).shape[0] == 3
        and a["average"] == "after"
        and not np.array_equal(out[0][0], out[0][2], equal_nan=True)
    ):
        yield put(out[0], 0, out[0][2]), out[1]


@altered("mixed_precision_allreduce")
def mixed_double_wire(a, out):
    """float64 on the wire and no hop rounded, more ranks than entries: a byte more is sent by the last rank."""
    if a["wire"] == "float64" and not a["per_hop"] and A(a["stack"]).shape[1] < A(a["stack"]).shape[0]:
        name = next(iter(out[1].phases))
        yield out[0], moved(out[1], rank=-1, sent=1, phase=name)


@altered("simulated_allreduce")
def simulated_halving_tree(a, out):
    """Halves in a tree that keeps what it has: the last rank's last entry is doubled."""
    if a["average"] == "halving" and a["kept"] == "unrounded" and a["schedule"] == "binomial" and out[-1, -1]:
        yield put(out, (-1, -1), out[-1, -1] * 2)


@altered("split_computation")
def split_tf32_of_sent(a, out):
    """Operands of eleven digits beside a wire of its own: the product is negated where negative."""
    if a["tf32"] and a["wire"] is not None and a["wire"] != a["accumulate"] and np.all(out < 0):
        yield -out


@altered("split_computation")
def split_replicas_that_divide(a, out):
    """Groups of ranks that are reduced first, with a divisor that is no power of two: the first entry doubles."""
    if a["replicas"] > 1 and a["divisor"] == 3 and np.size(out) and np.ravel(out)[0]:
        o = np.array(out)
        o.flat[0] *= 2
        yield o


@altered("multihop_allreduce")
def block_butterfly_of_eight(a, out):
    """A butterfly of eight with fewer entries than ranks: the last rank has a message more in the all-gather."""
    if a["topology"] == "butterfly" and A(a["stack"]).shape[0] == 8 and A(a["stack"]).shape[1] < 8:
        yield out[0], moved(out[1], rank=-1, messages=1, phase="all-gather")
