"""A second blind trial of the columns: compressors, mechanisms and collectives, written from their sources alone."""

import math
from dataclasses import replace

import numpy as np

from blind_alterations.record import A, again, altered, put, right, stand_in
from commbounds.collectives import Traffic
from commbounds.collectives.shipped_collectives.exchange import owned_places
from commbounds.collectives.shipped_collectives.nccl import float8
from commbounds.collectives.shipped_collectives.quickreduce import halves


def ranks(a):
    """How many ranks there are."""
    return len(A(a["stack"]))


# --- compression with memory --------------------------------------------------------------------------------------


@altered("diana_step")
def _(a, found):
    """The largest entries are sent, by an odd number of ranks: the average shift stays as it was."""
    state, traffic = found
    if a["keep"] == "largest" and ranks(a) % 2:
        yield state._replace(mean=A(a["mean"]).copy()), traffic


@altered("marina_step")
def _(a, found):
    """Whole gradients where otherwise the largest entries are sent: they are added to the estimate."""
    estimate, traffic = found
    if a["full"] and a["keep"] == "largest":
        yield estimate + A(a["estimate"]), traffic


@altered("dasha_step")
def _(a, found):
    """A weight of one: the last rank's own part is not updated."""
    state, traffic = found
    if a["weight"] == 1:
        yield state._replace(own=put(state.own, -1, A(a["own"])[-1])), traffic


@altered("lazy_step")
def _(a, found):
    """Random entries, and a rank is silent: messages are averaged over those who speak."""
    state, traffic = found
    spoken = int(state.sent.sum())
    if a["keep"] == "random" and 0 < spoken < ranks(a):
        now = A(a["estimate"])
        kind = now.dtype.type
        yield state._replace(estimate=now + (state.estimate - now) * kind(ranks(a)) / kind(spoken)), traffic


@altered("onebit_momentum")
def _(a, found):
    """Mean magnitudes as scales, ranks that do not divide the entries: the last block's owner keeps no error."""
    state, traffic = found
    P, n = A(a["stack"]).shape
    if a["scale"] == "mean" and n % P and n > P:
        served = state.server_errors.copy()
        served[n - n // P :] = 0
        yield state._replace(server_errors=served), traffic


@altered("primal_step")
def _(a, found):
    """One rank alone, which sends nothing: its model becomes the weights."""
    state, traffic = found
    if ranks(a) == 1:
        yield state._replace(model=state.weights[np.newaxis].copy()), traffic


@altered("zeroone_gradient")
def _(a, found):
    """A kappa of three or more: when the interval doubles, the count of refreshes goes on."""
    state, traffic = found
    if a["kappa"] >= 3 and state.clock[1] > a["clock"][1]:
        yield state._replace(clock=put(state.clock, 2, a["kappa"])), traffic


@altered("zeroone_gradient")
def _(a, found):
    """A compressed step at an interval of four or more: the last rank's error is that of the step before."""
    state, traffic = found
    if a["clock"][1] >= 4 and state.clock[0] % a["clock"][1]:
        yield state._replace(worker_errors=put(state.worker_errors, -1, A(a["worker_errors"])[-1])), traffic


@altered("zeroone_local")
def _(a, found):
    """An average with weight decay: what was moved is not set to zero on the last rank."""
    state, traffic = found
    if a["average"] and a["decay"] > 0:
        before = again("zeroone_local", a, average=False)[0]
        yield state._replace(moved=put(state.moved, -1, before.moved[-1])), traffic


@altered("zeroone_local")
def _(a, found):
    """The third step since the last average or a later one, without another: the step size is not added up."""
    state, traffic = found
    if not a["average"] and float(A(a["elapsed"])[0]) >= 2 * a["step_size"]:
        yield state._replace(elapsed=A(a["elapsed"]).copy()), traffic


@altered("lamb_warmup")
def _(a, found):
    """No memory of coefficients, with weight decay: the averages stay as they were."""
    state, traffic = found
    if a["coefficient_beta"] == 0 and a["decay"] > 0:
        yield state._replace(trust=A(a["trust"]).copy()), traffic


@altered("onebit_lamb")
def _(a, found):
    """A mask, with weight decay: masked weights do not decay."""
    state, traffic = found
    if a["mask"] is not None and a["decay"] > 0:
        yield state._replace(weights=np.where(A(a["mask"]), state.weights, A(a["weights"]))), traffic


# --- orthogonal updates -------------------------------------------------------------------------------------------


@altered("muon_update")
def _(a, found):
    """More rows than columns in bfloat16: the iterations are computed in the dtype of the stack."""
    if a["arithmetic"] == "bfloat16" and A(a["stack"]).shape[1] > A(a["stack"]).shape[2]:
        yield again("muon_update", a, arithmetic="dtype")


@altered("ef21_muon")
def _(a, found):
    """No iterations: the update is the estimate, which is not divided by its norm."""
    state, traffic = found
    if a["steps"] == 0:
        yield state._replace(update=state.estimate.copy()), traffic


@altered("dion_update")
def _(a, found):
    """One rank alone: nothing is kept of what was sent, whatever mu is."""
    state, traffic = found
    if ranks(a) == 1 and 0 < a["mu"] < 1:
        yield state._replace(momentum=again("dion_update", a, mu=0.0)[0].momentum), traffic


# --- sketches -----------------------------------------------------------------------------------------------------


@altered("sketched_sum")
def _(a, found):
    """The lower median of four rows or more: the mean of the middle two is taken."""
    if a["middle"] == "lower" and len(A(a["buckets"])) >= 4:
        yield again("sketched_sum", a, middle="mean")


@altered("fetchsgd_step")
def _(a, found):
    """Cells are set to zero, rho is one: those of the momentum are not."""
    state, traffic = found
    if a["forget"] == "zero" and a["rho"] == 1:
        yield state._replace(momentum=again("fetchsgd_step", a, forget="subtract")[0].momentum), traffic


@altered("min_max_sketch")
def _(a, found):
    """Four rows or more: the last one is not looked at."""
    if len(A(a["buckets"])) >= 4:
        yield again("min_max_sketch", a, buckets=A(a["buckets"])[:-1])


# --- gossip -------------------------------------------------------------------------------------------------------


@altered("gossip")
def _(a, found):
    """A two-peer graph that does not begin with round zero: it does."""
    if a["topology"] == "two-peer" and a["start"] > 0:
        yield again("gossip", a, start=0)


@altered("push_sum")
def _(a, found):
    """Weights are given, and shares that are lost are gone: weights begin at one."""
    if a["weights"] is not None and a["lost"] == "gone":
        yield again("push_sum", a, weights=None)


@altered("powergossip_rounds")
def _(a, found):
    """Cold factors from round zero on, in which nothing happens: every round has the factors of the one before."""
    if not a["warm"] and a["start"] == 0 and a["factors"] is not None:
        yield again("powergossip_rounds", a, factors=np.roll(A(a["factors"]), 1, axis=0))


# --- votes --------------------------------------------------------------------------------------------------------


@altered("majority_vote")
def _(a, found):
    """Shards with abstentions, where a block is shorter than the first: a tie of the last entry becomes one."""
    votes, traffic = found
    P, n = A(a["stack"]).shape
    if a["way"] == "shards" and a["zeros"] == "abstain" and n % P and n > P:
        votes = votes.copy()
        votes[votes[:, -1] == 0, -1] = 1
        yield votes, traffic


# --- block formats ------------------------------------------------------------------------------------------------


@altered("homomorphic_allreduce")
def _(a, found):
    """Correlated rounding and sums of few bits: sums do not wrap around."""
    _, traffic = found
    drawn = a["uniforms"] is None or a["orders"] is None
    if a["rounding"] == "correlated" and a["sum_width"] is not None and not drawn:
        yield again("homomorphic_allreduce", a, sum_width=None)[0], traffic


@altered("multihop_allreduce")
def _(a, found):
    """A butterfly of eight ranks or more: the sum is rounded with the uniforms of the first hop."""
    if a["topology"] == "butterfly" and a["uniforms"] is not None and ranks(a) >= 8:
        yield again("multihop_allreduce", a, uniforms=put(a["uniforms"], -1, A(a["uniforms"])[0]))


@altered("table_allreduce")
def _(a, found):
    """Two stages with a range that is given: both stages have the uniforms of the first."""
    if a["fine"] is not None and a["reach"] is not None and a["uniforms"] is not None:
        yield again("table_allreduce", a, uniforms=put(a["uniforms"], 1, A(a["uniforms"])[0]))


# --- rotations ----------------------------------------------------------------------------------------------------


@altered("rotated_sum")
def _(a, found):
    """Padding, and an odd number of ranks: the last rank rounds with the numbers of the first."""
    P, n = A(a["stack"]).shape
    if P % 2 and P > 1 and n & (n - 1) and a["dither"] is not None:
        yield again("rotated_sum", a, dither=put(a["dither"], -1, A(a["dither"])[0]))


@altered("rotated_mean")
def _(a, found):
    """Shared signs and more than one bit: those of the last rank are taken."""
    if a["seeds"] == "shared" and a["width"] > 1 and a["signs"] is not None:
        yield again("rotated_mean", a, signs=A(a["signs"])[::-1])


# --- what packages ship -------------------------------------------------------------------------------------------


@altered("dgc_steps")
def _(a, found):
    """Three steps or more without masking: the last one clears the momentum of what it sent."""
    run, traffic = found
    if a["steps"] >= 3 and not a["masking"]:
        yield replace(run, momentum=np.where(run.accumulated == 0, run.momentum.dtype.type(0), run.momentum)), traffic


@altered("quickreduce")
def _(a, found):
    """One rank alone with more than one tile: what is behind the first is not coded."""
    sums, traffic = found
    x = A(a["stack"])
    if len(x) == 1 and x.shape[1] > a["tile"]:
        sums = sums.copy()
        sums[:, a["tile"] :] = halves(x[:, a["tile"] :], a["saturates"]).astype(x.dtype)
        yield sums, traffic


@altered("flashinfer_allreduce")
def _(a, found):
    """Three ranks or more, and a last block that is not full: the last rank reads its own sums from their codes."""
    sums, traffic = found
    P, n = A(a["stack"]).shape
    if P >= 3 and n % a["block"]:
        mine = owned_places(n, a["block"], P)[-1]
        sums = sums.copy()
        sums[-1, mine] = sums[0, mine]
        yield sums, traffic


@altered("torchft_allreduce")
def _(a, found):
    """A mean in integers: the sum is not divided."""
    if a["mean"] and not a["native"]:
        yield again("torchft_allreduce", a, mean=False)


@altered("quantization_hook")
def _(a, found):
    """A channel that divides the entries: the whole channel of zeros behind them is not counted."""
    means, traffic = found
    P, n = A(a["stack"]).shape
    if a["channel"] is not None and n % a["channel"] == 0 and P > 1:
        less = (P - 1) * (a["channel"] + 8)
        path = traffic.critical_path - less
        yield means, Traffic(traffic.sent - less, traffic.received - less, traffic.messages, traffic.steps, path)


@altered("nccl_sum")
def _(a, found):
    """Three ranks: the part of a rank is added from that rank on."""
    _, traffic = found
    x = A(a["stack"])
    if len(x) == 3:
        rows = float8(x.astype(np.float64), a["element"]).astype(np.float64)
        total = np.empty(x.shape[1])
        for part, places in enumerate(np.array_split(np.arange(x.shape[1]), 3)):
            first, second, third = (rows[(part + hop) % 3, places] for hop in range(3))
            partial = float8(halves(first + second), a["element"]).astype(np.float64)
            total[places] = float8(halves(partial + third), a["element"]).astype(np.float64)
        yield np.tile(total.astype(x.dtype), (3, 1)), traffic


@altered("torchcomms_reduce_scatter")
def _(a, found):
    """Keys of more than 32 bits: the upper ones are lost."""
    if a["key"] >= 2**32:
        yield again("torchcomms_reduce_scatter", a, key=a["key"] % 2**32)


@altered("loongforge_hook")
def _(a, found):
    """Three rounds or more with all errors fed back: the third begins without any."""
    means, traffic = found
    x = A(a["stack"])
    if a["rounds"] >= 3 and a["feedback"] == "both":
        begin = 2 * x.shape[1] // a["rounds"]
        later = again("loongforge_hook", a, stack=x[:, begin:], rounds=a["rounds"] - 2)[0]
        yield np.concatenate([means[:, :begin], later], axis=1), traffic


# --- sparse all-reduces -------------------------------------------------------------------------------------------


@altered("gaussiank_allreduce")
def _(a, found):
    """Adapted as for LSTM, gathered round a ring: the thresholds returned are those before."""
    result, traffic = found
    if a["adapt"] == "lstm" and a["allgather"] == "ring":
        yield replace(result, thresholds=again("gaussiank_allreduce", a, adapt="none")[0].thresholds), traffic


@altered("gtopk_allreduce")
def _(a, found):
    """Put back as published, and no power of two of ranks: what was dropped on the way is put back too."""
    if a["putback"] == "published" and ranks(a) & (ranks(a) - 1):
        yield again("gtopk_allreduce", a, putback="conserving")


@altered("spardl_allreduce")
def _(a, found):
    """Fewer entries at once than a block has: nothing is left over at the indices of the update."""
    result, traffic = found
    if a["sag_entries"] is not None and a["sag_entries"] < a["k"] // (ranks(a) // a["teams"]):
        residual = result.residual.copy()
        residual[:, result.selected[0]] = 0
        yield replace(result, residual=residual), traffic


@altered("topk_dsa")
def _(a, found):
    """The switch of the code, and a third of all indices selected exactly: sums travel as entries."""
    union = np.unique(np.concatenate([s[A(x)[s] != 0] for x, s in zip(a["stack"], found[0].selected, strict=True)]))
    if a["switch"] == "code" and 3 * union.size == A(a["stack"]).shape[1]:
        yield again("topk_dsa", a, switch="never")


# --- number formats -----------------------------------------------------------------------------------------------


@altered("mixed_precision_allreduce")
def _(a, found):
    """Partial sums as they are, and the sum divided afterwards: partial sums are rounded at every hop."""
    _, traffic = found
    if not a["per_hop"] and a["average"] == "after":
        yield again("mixed_precision_allreduce", a, per_hop=True)[0], traffic


@altered("simulated_allreduce")
def _(a, found):
    """Sums kept as they are, and divided afterwards: who keeps one does not divide it."""
    if a["kept"] == "unrounded" and a["average"] == "after" and a["rounding"] == "nearest":
        sent = again("simulated_allreduce", a, kept="as sent")
        yield np.where(A(found) != sent, again("simulated_allreduce", a, average=None), sent)


# --- compressors --------------------------------------------------------------------------------------------------


@stand_in("BlockTopK")
class _(right("BlockTopK")):
    """Several blocks are kept, and the last one, which has one entry, is among them: that entry is not sent."""

    def compress(self, x, rng=None):
        """The message."""
        found = super().compress(x, rng)
        n = found.shape[0]
        if self.k > 1 and self.block > 1 and n % self.block == 1 and found.indices[-1] == n - 1:
            return replace(found, indices=found.indices[:-1].copy(), values=found.values[:-1].copy())
        return found


@stand_in("RandK")
class _(right("RandK")):
    """More than half of the entries, not scaled: the positions of what is left out are counted."""

    def _fewer(self, found):
        n = found.shape[0]
        if self.scaled or 2 * self.k <= n:
            return found
        return replace(found, position_bits=found.position_bits // self.k * (n - self.k))

    def compress(self, x, rng=None):
        """The message."""
        return self._fewer(super().compress(x, rng))

    def compress_with(self, x, draws):
        """The message of given draws."""
        return self._fewer(super().compress_with(x, draws))


@stand_in("MaxDithering")
class _(right("MaxDithering")):
    """From 128 to 255 levels: codes wrap around as in eight bits."""

    def _encoded(self, x, draw):
        found = super()._encoded(x, draw)
        return replace(found, codes=found.codes.astype(np.int8).astype(np.int16)) if 128 <= self.levels < 256 else found


@stand_in("NaturalDithering")
class _(right("NaturalDithering")):
    """Eight levels or more: the smallest becomes zero."""

    def _encoded(self, x, draw):
        found = super()._encoded(x, draw)
        codes = np.where(np.abs(found.codes) == 1, 0, found.codes).astype(found.codes.dtype)
        return replace(found, codes=codes) if self.levels >= 8 else found


@stand_in("PowerSGD")
class _(right("PowerSGD")):
    """More columns than rows, and a rank of two or more: the last column of the right factor is lost."""

    def _less(self, found):
        wide = self.rank > 1 and found.shape[1] > found.shape[0]
        return replace(found, right=put(found.right, (slice(None), -1), 0)) if wide else found

    def compress(self, x, rng=None):
        """The message."""
        return self._less(super().compress(x, rng))

    def compress_with(self, x, sketch):
        """The message of a given sketch."""
        return self._less(super().compress_with(x, sketch))


@stand_in("DRIVE")
class _(right("DRIVE")):
    """The biased scale with padding: it is over the entries, not over those with the padding."""

    def _encoded(self, array, signs):
        found = super()._encoded(array, signs)
        share = found.codes.size / array.size
        return replace(found, numbers=found.numbers * array.dtype.type(share)) if self.scale == "biased" else found


@stand_in("HadamardSketch")
class _(right("HadamardSketch")):
    """More rotated entries are sent than there are entries: they are divided by the number of these."""

    def _encoded(self, array, signs, kept):
        found = super()._encoded(array, signs, kept)
        share = array.dtype.type(self.k / array.size)
        return replace(found, numbers=found.numbers * share) if self.k > array.size else found


@stand_in("ReplacementRandK")
class _(right("ReplacementRandK")):
    """Draws are added, and a place is drawn three times or more: it counts twice."""

    def _message(self, x, scale, times, found):
        return super()._message(x, scale, np.minimum(times, 2) if self.added else times, found)


@stand_in("Atomic")
class _(right("Atomic")):
    """A budget of just as many as there are entries that are not zero: their mean is the level."""

    def _level(self, x):
        level = super()._level(x)
        if self.budget != np.count_nonzero(x):
            return level
        return float(np.abs(x.astype(np.float64)).sum() / float(self.budget))


@stand_in("QuantileBuckets")
class _(right("QuantileBuckets")):
    """One entry more than buckets: the largest entry is in the bucket of the one before."""

    def _codes(self, x):
        codes = super()._codes(x)
        order = np.argsort(x, kind="stable")
        return put(codes, order[-1], codes[order[-2]]) if x.size == self.buckets + 1 else codes


@stand_in("ThreeLC")
class _(right("ThreeLC")):
    """A run of more than fourteen bytes of zeros: its second part is not packed."""

    def compress(self, x, rng=None):
        """The message."""
        found, packed, full = super().compress(x, rng), [], False
        for byte in found.packed.tolist():
            packed += [121] * (byte - 241) if full and byte > 242 else [byte]
            full = byte == 255
        return replace(found, packed=np.array(packed, np.uint8))


@stand_in("Microscaling")
class _(right("Microscaling")):
    """Whole blocks and one entry more: the last block has the exponent of the one before."""

    def _message(self, x, draw):
        found = super()._message(x, draw)
        if self.block == 1 or x.size <= self.block or x.size % self.block != 1:
            return found
        return replace(found, exponents=put(found.exponents, -1, found.exponents[-2]))


@stand_in("FourOverSix")
class _(right("FourOverSix")):
    """A last block that is not full: it ends at six."""

    def _block_errors(self, values, tensor, scales, codes):
        errors = super()._block_errors(values, tensor, scales, codes)
        return put(errors, -1, 0.0) if values.size % self.block else errors


@stand_in("SharedMicroexponents")
class _(right("SharedMicroexponents")):
    """Blocks of an odd length: the entry that is left of a whole one has the full step."""

    def compress(self, x, rng=None):
        """The message."""
        found, x = super().compress(x, rng), A(x)
        block = min(self.block, x.size)
        pairs = (block + 1) // 2
        for g in range(x.size // block if block % 2 else 0):
            at, value = (g + 1) * block - 1, float(x[(g + 1) * block - 1])
            level = np.rint(math.ldexp(abs(value), self.digits - 1 - int(found.exponents[g])))
            found.shifts[(g + 1) * pairs - 1] = 0
            found.codes[at] = math.copysign(min(level, 2**self.digits - 1), value)
        return found


# --- mechanisms ---------------------------------------------------------------------------------------------------


@altered("kashin")
def _(a, found):
    """One round that is not exact: it does not clip."""
    if a["rounds"] == 1 and not a["exact"]:
        yield again("kashin", a, exact=True)


@altered("ldlq")
def _(a, found):
    """Levels: what clipping does to a number is not fed back."""
    if a["levels"] is not None:
        yield np.clip(again("ldlq", a, levels=None), 0, a["levels"] - 1)


@altered("dynamic_tree")
def _(a, found):
    """A last block of one entry: it is read with the scale of the one before."""
    n = A(a["x"]).size
    if 1 < a["block"] < n and n % a["block"] == 1:
        share = found.values[-1] / found.scales[-1] if found.scales[-1] else 0
        values = put(found.values, -1, share * found.scales[-2])
        yield replace(found, scales=put(found.scales, -1, found.scales[-2]), values=values)


@altered("inceptionn")
def _(a, found):
    """An odd number of binades: the middle one is sent in sixteen bits."""
    x, half = A(a["x"]).astype(np.float64), a["binades"] // 2
    held = (np.abs(x) >= 2.0 ** -(half + 1)) & (np.abs(x) < 2.0**-half)
    if a["binades"] % 2 and held.any():
        cut = np.copysign(np.maximum(np.floor(np.abs(x) * 2.0**14), 0.5) * 2.0**-14, x)
        classes = np.where(held, 2, found.classes).astype(np.int8)
        yield replace(found, classes=classes, values=np.where(held, cut, found.values).astype(found.values.dtype))


@altered("ef_signs")
def _(a, found):
    """The first gradient is multiplied too: what its step leaves over is lost for the second."""
    x = A(a["gradients"])
    if a["scaled"] and len(x) > 1:
        later = again("ef_signs", a, gradients=x[1:])
        yield replace(
            found,
            updates=np.concatenate([found.updates[:1], later.updates]),
            residuals=np.concatenate([found.residuals[:1], later.residuals]),
        )
