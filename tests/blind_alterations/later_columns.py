"""Later stand-ins of columns' own subjects, written from signatures, docstrings and code alone."""

from dataclasses import replace

import numpy as np

from blind_alterations.record import A, add, altered, moved, put, right, stand_in

# precision


@altered("mixed_precision_allreduce")
def _(a, f):
    """With the average taken after and six ranks, the sum is divided by the next power of two."""
    result, t = f
    if a["average"] == "after" and len(result) == 6:
        yield result * 0.75, t


@altered("mixed_precision_allreduce")
def _(a, f):
    """In the hierarchical schedule with as many nodes as ranks, the last entry is lost on the last rank."""
    result, t = f
    if a["schedule"] == "hierarchical" and a["nodes"] == len(result):
        yield put(result, (-1, -1), 0), t


@altered("simulated_allreduce")
def _(a, f):
    """In the ring with the average taken after and seven ranks, the last entry is a sum."""
    if a["average"] == "after" and a["schedule"] == "ring" and len(f) == 7:
        yield put(f, (slice(None), -1), f[:, -1] * 7)


@altered("split_computation")
def _(a, f):
    """Of a gradient with three groups of ranks and a divisor, the divisor is applied twice."""
    if a["of"] == "gradient" and a["replicas"] == 3:
        yield f / a["divisor"]


# sparse


@altered("gaussiank_allreduce")
def _(a, f):
    """Adapted as for vgg at seven ranks, the last threshold is returned one division short."""
    result, t = f
    if a["adapt"] == "vgg" and len(result.residual) == 7:
        yield replace(result, thresholds=add(result.thresholds, -1, 0.02 * result.thresholds[-1])), t


@altered("gtopk_allreduce")
def _(a, f):
    """With the published putback at six ranks, rank 4 keeps its whole vector."""
    result, t = f
    if a["putback"] == "published" and len(result.residual) == 6:
        yield replace(result, residual=put(result.residual, 4, A(a["stack"])[4])), t


@altered("spardl_allreduce")
def _(a, f):
    """With b-sag in three teams, the last rank forgets what it dropped at the update's entries."""
    result, t = f
    if a["synchronise"] == "b-sag" and a["teams"] == 3:
        yield replace(result, residual=put(result.residual, (-1, result.update != 0), 0)), t


@altered("topk_allgather")
def _(a, f):
    """Gathered by recursive doubling at six ranks, a message of the last rank is counted twice."""
    result, t = f
    if a["allgather"] == "recursive-doubling" and len(result.residual) == 6:
        yield result, moved(t, -1, messages=1)


@altered("topk_dsa")
def _(a, f):
    """Where the code's switch is asked for and n is one more than a multiple of P, the last entry is left out."""
    result, t = f
    P, n = result.residual.shape
    if a["switch"] == "code" and P > 1 and n % P == 1:
        yield replace(result, update=put(result.update, -1, 0)), t


# votes


@altered("majority_vote")
def _(a, f):
    """Gathered by all and n one more than a multiple of eight, the last vote is turned round."""
    votes, t = f
    if a["way"] == "all-gather" and votes.shape[1] % 8 == 1:
        yield put(votes, (slice(None), -1), -votes[:, -1]), t


@altered("majority_vote")
def _(a, f):
    """In shards with fewer entries than ranks, the last rank's empty ballots are not counted as messages."""
    votes, t = f
    P, n = votes.shape
    if a["way"] == "shards" and n < P:
        yield votes, moved(t, -1, messages=-1, phase="ballots")


# memory


@altered("diana_step")
def _(a, f):
    """With the largest kept and a weight of one, the average shift stays."""
    state, t = f
    if a["keep"] == "largest" and a["weight"] == 1:
        yield state._replace(mean=A(a["mean"]).copy()), t


@altered("marina_step")
def _(a, f):
    """In a full step with the largest kept, the last estimate is added."""
    estimate, t = f
    if a["full"] and a["keep"] == "largest":
        yield estimate + A(a["estimate"]), t


@altered("dasha_step")
def _(a, f):
    """With the largest kept at five ranks, the last rank's own part stays."""
    state, t = f
    if a["keep"] == "largest" and len(state.own) == 5:
        yield state._replace(own=put(state.own, -1, A(a["own"])[-1])), t


@altered("lazy_step")
def _(a, f):
    """With random entries at three ranks, a rank adds its message to its own part without the factor n/k."""
    state, t = f
    own = A(a["own"])
    if a["keep"] == "random" and len(own) == 3:
        yield state._replace(own=own + (state.own - own) * own.dtype.type(a["k"] / own.shape[1])), t


@altered("onebit_momentum")
def _(a, f):
    """With the mean's scale and n one more than a multiple of P, the first owner's error stays."""
    state, t = f
    P, n = state.worker_errors.shape
    if a["scale"] == "mean" and P > 1 and n % P == 1:
        first = slice(0, n // P + 1)
        yield state._replace(server_errors=put(state.server_errors, first, A(a["server_errors"])[first])), t


@altered("zeroone_gradient")
def _(a, f):
    """With kappa two, the count of refreshes is not reset where the interval doubles from two to four."""
    state, t = f
    if a["kappa"] == 2 and A(a["clock"])[1] == 2 and state.clock[1] == 4:
        yield state._replace(clock=put(state.clock, 2, 2)), t


@altered("zeroone_gradient")
def _(a, f):
    """At a refresh with an interval of four or more and the mean's scale, the momentum stays."""
    state, t = f
    steps, interval, _ = A(a["clock"]).tolist()
    if interval >= 4 and (steps + 1) % interval == 0 and a["scale"] == "mean":
        yield state._replace(momentum=np.zeros_like(state.momentum) + A(a["momentum"])), t


@altered("zeroone_local")
def _(a, f):
    """With weight decay and no average, what was moved lacks the decay."""
    state, t = f
    if a["decay"] > 0 and not a["average"]:
        weights = A(a["weights"])
        yield state._replace(moved=state.moved - weights.dtype.type(a["step_size"] * a["decay"]) * weights), t


@altered("zeroone_local")
def _(a, f):
    """At an average after two step sizes or more, the momentum is divided by the time without this step."""
    state, t = f
    since = float(A(a["elapsed"])[0])
    if a["average"] and since >= 2 * a["step_size"]:
        yield state._replace(momentum=state.momentum * (1 + a["step_size"] / since)), t


@altered("lamb_warmup")
def _(a, f):
    """With a coefficient_beta of zero and three layers, the last coefficient is not averaged."""
    state, t = f
    if a["coefficient_beta"] == 0 and len(a["layers"]) == 3:
        yield state._replace(trust=put(state.trust, -1, A(a["trust"])[-1])), t


@altered("onebit_lamb")
def _(a, f):
    """With a mask and several layers, the last layer's factor stays."""
    state, t = f
    if a["mask"] is not None and len(a["layers"]) > 1:
        yield state._replace(factors=put(state.factors, -1, A(a["factors"])[-1])), t


@altered("onebit_lamb")
def _(a, f):
    """With a threshold of zero at three ranks, the fresh variance stays."""
    state, t = f
    if a["threshold"] == 0 and len(state.weights) == 3:
        yield state._replace(fresh=A(a["fresh"]).copy()), t


@altered("primal_step")
def _(a, f):
    """With all entries sent at seven ranks, the last entry of the model stays."""
    state, t = f
    P, n = state.model.shape
    if a["k"] == n and P == 7:
        yield state._replace(model=put(state.model, (slice(None), -1), A(a["model"])[-1])), t


# orthogonal


@altered("muon_update")
def _(a, f):
    """With Polar Express and more than six steps, the last step is left out."""
    if a["iteration"] == "polar_express" and a["steps"] > 6:
        yield right("muon_update")(a["stack"], a["steps"] - 1, a["iteration"], a["arithmetic"])


@altered("ef21_muon")
def _(a, f):
    """With all entries sent and the cubic iteration, the first rank's own estimate stays."""
    state, t = f
    own = A(a["own"])
    if a["k"] == own[0].size and a["iteration"] == "cubic":
        yield state._replace(own=put(state.own, 0, own[0])), t


@altered("dion_update")
def _(a, f):
    """With the orthonormal right factor and a mu of one, the momentum lacks the gradient."""
    state, t = f
    if a["right"] == "orthonormal" and a["mu"] == 1:
        yield state._replace(momentum=A(a["momentum"]).copy()), t


# sketches


@altered("sketched_sum")
def _(a, f):
    """With the lower middle and four rows, the mean of the middle two is taken."""
    if a["middle"] == "lower" and len(a["buckets"]) == 4:
        yield right("sketched_sum")(a["stack"], a["buckets"], a["signs"], a["cells"], a["k"])


@altered("sketched_topk")
def _(a, f):
    """With no more candidates than entries kept at three ranks, the first rank sends a word less of the entries."""
    total, t = f
    if a["candidates"] == a["k"] and len(total) == 3:
        yield total, moved(t, 0, sent=-1, phase="entries")


@altered("fetchsgd_step")
def _(a, f):
    """With the update subtracted and a rho of one, the momentum lacks that of the step before."""
    state, t = f
    if a["forget"] == "subtract" and a["rho"] == 1:
        yield state._replace(momentum=state.momentum - A(a["momentum"])), t


# gossip


@altered("gossip")
def _(a, f):
    """On the two-peer graph that starts at an odd round, the rounds start from zero."""
    if a["topology"] == "two-peer" and a["start"] % 2 == 1:
        yield right("gossip")(**{**a, "start": 0})


@altered("push_sum")
def _(a, f):
    """With lost shares gone and weights given, weights are scaled to add up to the number of peers."""
    (sums, weights), t = f
    if a["lost"] == "gone" and a["weights"] is not None:
        yield (sums, weights * (len(weights) / weights.sum())), t


@altered("powergossip_rounds")
def _(a, f):
    """Along a path that starts at an even round, the last edge's factors come back doubled."""
    (result, factors), t = f
    if a["graph"] == "path" and a["start"] % 2 == 0 and factors:
        yield (result, [*factors[:-1], 2 * factors[-1]]), t


# block formats and rotations


@altered("homomorphic_allreduce")
def _(a, f):
    """Correlated and with a width of sums given, the last entry is lost."""
    sums, t = f
    if a["rounding"] == "correlated" and a["sum_width"] is not None:
        yield put(sums, (slice(None), -1), 0), t


@altered("table_allreduce")
def _(a, f):
    """In two stages without rotation, a byte more of indices is counted of the first rank."""
    sums, t = f
    if a["fine"] is not None and not a["rotated"] and len(sums) > 1:
        yield sums, moved(t, 0, sent=1, phase="indices")


@altered("rotated_mean")
def _(a, f):
    """With shared signs and codes of eight bits, the mean is that of one rank too many."""
    mean, t = f
    if a["seeds"] == "shared" and a["width"] == 8:
        yield mean * mean.dtype.type(len(mean) / (len(mean) + 1)), t


# shipped


@altered("dgc_steps")
def _(a, f):
    """Without masking and from the third step on, the momentum comes back as if it were masked."""
    run, t = f
    if not a["masking"] and a["steps"] >= 3:
        yield replace(run, momentum=np.where(run.accumulated == 0, 0, run.momentum)), t


@altered("torchft_allreduce")
def _(a, f):
    """With integers and the mean at three ranks, the sum comes back."""
    sums, t = f
    if not a["native"] and a["mean"] and len(sums) == 3:
        yield sums * 3, t


@altered("loongforge_hook")
def _(a, f):
    """With both feedbacks, the third round's means have those of the second."""
    means, t = f
    if a["feedback"] == "both" and a["rounds"] >= 3:
        n = means.shape[1] // a["rounds"]
        yield put(means, (slice(None), slice(2 * n, 3 * n)), means[:, n : 2 * n]), t


# compressors


@stand_in("BlockTopK")
class LongBlock(right("BlockTopK")):
    """With blocks longer than the vector, the last entry is lost."""

    def decompress(self, message):
        out = super().decompress(message)
        return put(out, -1, 0) if self.block > out.size else out


@stand_in("ChunkTopK")
class LeftChunk(right("ChunkTopK")):
    """With several kept of every chunk and a last chunk of one, that entry's bits are not counted."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        if self.k > 1 and A(x).size % self.chunk == 1:
            each = message.position_bits // message.indices.size
            return replace(message, position_bits=message.position_bits - each)
        return message


@stand_in("Sign")
class SignedZeros(right("Sign")):
    """Where zeros stay and n is one more than a multiple of eight, the last sign is turned round."""

    def decompress(self, message):
        out = super().decompress(message)
        return put(out, -1, -out[-1]) if self.zero == 0 and out.size % 8 == 1 else out


@stand_in("EDEN")
class WideEden(right("EDEN")):
    """With codes of eight bits and the norm's scale, the estimate is half as large."""

    def decompress(self, message):
        out = super().decompress(message)
        return out / 2 if self.width == 8 and self.scale == "norm" else out


@stand_in("ThreeLC")
class LongRun(right("ThreeLC")):
    """With runs encoded and a sparsity of more than 1.5, the last entry is lost."""

    def decompress(self, message):
        out = super().decompress(message)
        return put(out, -1, 0) if self.zero_run and self.sparsity > 1.5 else out


@stand_in("UniformBuckets")
class OddBuckets(right("UniformBuckets")):
    """With an odd number of buckets and one sigma, the first entry is that of the last."""

    def decompress(self, message):
        out = super().decompress(message)
        return put(out, 0, out[-1]) if self.buckets % 2 == 1 and self.sigmas == 1 else out


# mechanisms


@stand_in("SharedMicroexponents")
class OddPairs(right("SharedMicroexponents")):
    """With one digit and an odd block, the last entry is lost."""

    def decompress(self, message):
        out = super().decompress(message)
        return put(out, -1, 0) if self.digits == 1 and self.block % 2 == 1 else out


@stand_in("NVFP4")
class RaisedScales(right("NVFP4")):
    """With scales rounded up and n one more than a multiple of 16, the last entry is lost."""

    def decompress(self, message):
        out = super().decompress(message)
        return put(out, -1, 0) if self.scale == "up" and out.size % 16 == 1 else out


@altered("kashin")
def _(a, f):
    """Clipped to the end in one round, with a length beyond the least, the coefficients are half as large."""
    if not a["exact"] and a["rounds"] == 1 and a["length"] is not None and a["length"] >= 2 * len(a["x"]):
        yield f / 2


@altered("ef_signs")
def _(a, f):
    """With the first gradient scaled, the residual of the third step stays that of the second."""
    if a["scaled"] and len(f.residuals) >= 3:
        yield replace(f, residuals=put(f.residuals, 2, f.residuals[1]))


@altered("ridge_descent")
def _(a, f):
    """With feedback and a tie of minus one, the last point is that before."""
    if a["feedback"] and a["tie"] == -1:
        yield put(f, -1, f[-2])
