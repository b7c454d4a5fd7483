"""Implementations that are right but under a narrow condition: a count, a size, an option, ties."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np

from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition_study import DefinitionStudy
from commbounds.verify.experiments import EXPERIMENTS


def definition_of(subject):
    """The study of the claim that the subject equals its definition."""
    return next(s for s in EXPERIMENTS.values() if s.subject == subject and isinstance(s, DefinitionStudy))


# --- what goes wrong --------------------------------------------------------------------------------------------------


def last_negated(x):
    """The last entry has the other sign; a count is one more; a mark is turned."""
    if isinstance(x, bool | np.bool_):
        return not x
    if isinstance(x, int | float | np.integer | np.floating):
        return -x if isinstance(x, float | np.floating) else x + 1
    changed = np.array(x)
    if changed.size:
        at = (-1,) * changed.ndim
        changed[at] = last_negated(changed[at])
    return changed


def a_bit_off(x):
    """The entry of largest magnitude is the next larger number."""
    changed = np.array(x)
    if changed.size:
        at = np.unravel_index(int(np.argmax(np.abs(changed))), changed.shape)
        changed[at] = np.nextafter(changed[at], changed.dtype.type(np.inf))
    return changed


def positive_zeros(x):
    """Zeros have no sign."""
    return np.array(x) + np.asarray(x).dtype.type(0)


def _first(value, how):
    """The value, whose first array or number is changed; traffic and words are not."""
    if isinstance(value, np.ndarray | int | float | np.integer | np.floating):
        return how(value), True
    if isinstance(value, tuple | list):
        parts, done = list(value), False
        for place, part in enumerate(parts):
            if not done:
                parts[place], done = _first(part, how)
        return (type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)), done
    if is_dataclass(value) and not isinstance(value, Traffic | type):
        for field in fields(value):
            if field.init:
                part, done = _first(getattr(value, field.name), how)
                if done:
                    return replace(value, **{field.name: part}), True
    return value, False


# --- under which condition --------------------------------------------------------------------------------------------


def _holds(when, known):
    return bool(when(*(known[name] for name in inspect.signature(when).parameters)))


def _of_class(right, when, how):
    class Altered(right):
        def _marked(self, message, x):
            x = np.asarray(x)
            known = {**vars(self), "x": x, "n": x.shape[-1], "m": x.shape[0], "dtype": x.dtype.name, "message": message}
            if _holds(when, known):
                object.__setattr__(message, "_wrong", True)
            return message

        def compress(self, x, *drawn, **options):
            return self._marked(super().compress(x, *drawn, **options), x)

        def compress_with(self, x, *drawn, **options):
            return self._marked(super().compress_with(x, *drawn, **options), x)

        def decompress(self, message):
            read = super().decompress(message)
            return how(read) if getattr(message, "_wrong", False) else read

        def __call__(self, x, rng=None):
            return self.decompress(self.compress(x, rng))

    return Altered


def _of_function(right, when, how):
    signature = inspect.signature(right)

    def altered(*given, **options):
        bound = signature.bind(*given, **options)
        found = right(*given, **options)
        bound.apply_defaults()
        known = dict(bound.arguments)
        x = next((value for value in known.values() if isinstance(value, np.ndarray)), None)
        if x is not None:
            known |= {"x": x, "P": len(x), "n": x.shape[-1], "dtype": x.dtype.name}
        return _first(found, how)[0] if _holds(when, known) else found

    return altered


@dataclass(frozen=True)
class Alteration:
    """An implementation that is right but under a condition.

    Parameters
    ----------
    subject : str
        Of which implementation.
    words : str
        When.
    when : callable -> bool
        Its parameters are named after hyper-parameters and options, or P, n, m, dtype, x, message.
    how : callable (array) -> array
        What becomes of the result then.
    """

    subject: str
    words: str
    when: Callable
    how: Callable = last_negated

    @property
    def implementation(self):
        """It, in place of the right one."""
        right = definition_of(self.subject).implementation({})
        return (_of_class if isinstance(right, type) else _of_function)(right, self.when, self.how)


def _zero(x):
    return (x == 0) & np.signbit(x)


def _odd_layout(x):
    return not x.flags.c_contiguous


def _packets(n, P, packet):
    longest = -(-n // P)
    return 1 if packet is None else -(-longest // packet)


def _two_shared(state, loss, packet):
    P, n = state.parameters.shape
    return P == 2 and loss.shared and _packets(n, P, packet) == 2


QUANTIZERS = [
    Alteration(
        "Sign",
        "zero 0, a negative zero last of 33",
        lambda zero, n, x: zero == 0 and n == 33 and _zero(x[-1]),
        np.negative,
    ),
    Alteration(
        "Sign",
        "one of 128 and more is a negative zero, float64",
        lambda n, x, dtype: n > 127 and dtype == "float64" and _zero(x).any(),
    ),
    Alteration("ScaledSign", "127 entries", lambda n: n == 127, a_bit_off),
    Alteration("ScaledSign", "a vector that is not contiguous", lambda x: _odd_layout(x), a_bit_off),
    Alteration("QSGD", "7 levels", lambda levels: levels == 7),
    Alteration("QSGD", "127 levels, 65 entries", lambda levels, n: levels == 127 and n == 65),
    Alteration(
        "QSGD",
        "32 767 levels, float64, 33 entries",
        lambda levels, n, dtype: levels == 32767 and n == 33 and dtype == "float64",
    ),
    Alteration(
        "MaxDithering",
        "the largest magnitude comes with both signs, 64 entries and more",
        lambda x, n: n > 63 and x.max() == -x.min() and x.any(),
    ),
    Alteration("MaxDithering", "16 levels", lambda levels: levels == 16),
    Alteration(
        "TernGrad",
        "the largest is subnormal, float64",
        lambda x, dtype: dtype == "float64" and 0 < np.abs(x).max() < 2.0**-1022,
    ),
    Alteration("TernGrad", "31 entries, all but one are zeros", lambda x, n: n == 31 and np.count_nonzero(x) == 1),
    Alteration(
        "NaturalCompression",
        "an entry is the smallest normal number",
        lambda x, dtype: (np.abs(x) == np.finfo(dtype).tiny).any(),
        a_bit_off,
    ),
    Alteration("NaturalCompression", "127 entries, float64", lambda n, dtype: n == 127 and dtype == "float64"),
    Alteration("NaturalDithering", "5 levels", lambda levels: levels == 5),
    Alteration(
        "NaturalDithering",
        "8 levels, 65 entries, float64",
        lambda levels, n, dtype: levels == 8 and n == 65 and dtype == "float64",
    ),
    Alteration("StochasticPower", "base 4", lambda base: base == 4),
    Alteration(
        "StochasticPower",
        "base 3/2, 33 entries, float32",
        lambda base, n, dtype: base == 1.5 and n == 33 and dtype == "float32",
    ),
    Alteration(
        "NearestPower",
        "half-way between two powers, negative, float64",
        lambda x, dtype: dtype == "float64" and ((np.frexp(x)[0] == -0.75).any()),
    ),
    Alteration("NearestPower", "a vector that is not contiguous", lambda x: _odd_layout(x)),
]
SPARSIFIERS = [
    Alteration("TopK", "k = 3 of more than 8", lambda k, n: k == 3 and n > 8),
    Alteration("TopK", "127 entries", lambda n: n == 127),
    Alteration(
        "TopK",
        "the k-th ties with the next, float64, k = 8",
        lambda k, x, dtype, n: (
            k == 8 and dtype == "float64" and n > 8 and np.sort(np.abs(x))[::-1][7] == np.sort(np.abs(x))[::-1][8]
        ),
    ),
    Alteration("TopK", "a vector that is not contiguous", lambda x: _odd_layout(x)),
    Alteration("RandK", "k = 5, not scaled", lambda k, scaled: k == 5 and not scaled),
    Alteration(
        "RandK", "127 entries, scaled, float32", lambda n, scaled, dtype: n == 127 and scaled and dtype == "float32"
    ),
    Alteration("BlockTopK", "blocks of 5", lambda block: block == 5),
    Alteration(
        "BlockTopK", "k = 2, the last block has one entry", lambda k, block, n: k == 2 and block > 1 and n % block == 1
    ),
    Alteration(
        "BlockTopK",
        "blocks of 32, k = 1, float64",
        lambda k, block, dtype: block == 32 and k == 1 and dtype == "float64",
    ),
    Alteration("ChunkTopK", "chunks of 32", lambda chunk: chunk == 32),
    Alteration("ChunkTopK", "k = 3 of chunks of 8, 33 entries", lambda k, chunk, n: k == 3 and chunk == 8 and n == 33),
    Alteration("ChunkTopK", "the last chunk has fewer entries than k", lambda k, chunk, n: 0 < n % chunk < k),
    Alteration(
        "HardThreshold",
        "an entry is minus the threshold, float64",
        lambda threshold, x, dtype: dtype == "float64" and (x == -float(threshold)).any(),
    ),
    Alteration("HardThreshold", "threshold 4", lambda threshold: threshold == 4),
    Alteration(
        "AdaptiveSparsification", "the last of 33 is zero", lambda n, x: n == 33 and x[-1] == 0, lambda y: y * 2
    ),
    Alteration(
        "AdaptiveSparsification",
        "two largest tie, float32, 17 entries",
        lambda n, x, dtype: n == 17 and dtype == "float32" and (np.abs(x) == np.abs(x).max()).sum() > 1,
        lambda y: y * 2,
    ),
    Alteration(
        "Identity",
        "negative zeros, float64, 31 entries",
        lambda n, x, dtype: n == 31 and dtype == "float64",
        positive_zeros,
    ),
    Alteration("Identity", "127 entries", lambda n: n == 127),
]
LOWRANK = [
    Alteration("PowerSGD", "rank 3, 5 rows", lambda rank, m: rank == 3 and m == 5),
    Alteration("PowerSGD", "33 rows", lambda m: m == 33),
    Alteration("PowerSGD", "17 columns, float32", lambda n, dtype: n == 17 and dtype == "float32"),
    Alteration("PowerSGD", "a matrix in Fortran's order", lambda x: _odd_layout(x)),
    Alteration("PowerSGD", "one row, a negative zero last", lambda x, m: m == 1 and _zero(x[0, -1])),
    Alteration(
        "PowerSGD",
        "rank 2 of 7 x 7, float32",
        lambda rank, m, n, dtype: rank == 2 and m == n == 7 and dtype == "float32",
    ),
    Alteration("LowRank", "rank 3 of 4 x 4", lambda rank, m, n: rank == 3 and m == n == 4),
    Alteration("LowRank", "5 columns", lambda n: n == 5),
    Alteration("LowRank", "33 columns", lambda n: n == 33),
    Alteration(
        "LowRank",
        "equal singular values, float32",
        lambda x, dtype: (
            dtype == "float32"
            and min(x.shape) > 1
            and np.ptp(np.linalg.svd(x.astype(float), compute_uv=False)[:2]) == 0
            and x.any()
        ),
    ),
    Alteration("LowRank", "a matrix in Fortran's order", lambda x: _odd_layout(x)),
]
ORTHOGONAL = [
    Alteration("muon_update", "4 steps", lambda steps: steps == 4),
    Alteration("muon_update", "P = 6 in bfloat16", lambda P, arithmetic: P == 6 and arithmetic == "bfloat16"),
    Alteration(
        "muon_update",
        "P = 7, polar express, float32",
        lambda P, iteration, dtype: P == 7 and iteration == "polar_express" and dtype == "float32",
    ),
    Alteration("muon_update", "2 x 2", lambda x: x.shape[1:] == (2, 2)),
    Alteration("muon_update", "17 columns", lambda n: n == 17),
    Alteration("muon_update", "9 steps, tall", lambda steps, x: steps == 9 and x.shape[1] > x.shape[2]),
    Alteration(
        "muon_update", "all gradients cancel, P = 6", lambda P, x: P == 6 and not x.mean(axis=0).any(), lambda y: y + 1
    ),
    Alteration("ef21_muon", "k = 2, more than three entries", lambda k, x: k == 2 and x[0].size > 3),
    Alteration("ef21_muon", "P = 7, cubic", lambda P, iteration: P == 7 and iteration == "cubic"),
    Alteration(
        "ef21_muon", "5 steps, float64, P = 6", lambda steps, P, dtype: steps == 5 and P == 6 and dtype == "float64"
    ),
    Alteration("dion_update", "rank 2 of 4 x 5", lambda basis, x: np.shape(basis)[1] == 2 and x.shape[1:] == (4, 5)),
    Alteration("dion_update", "mu 1/2", lambda mu: mu == 0.5),
    Alteration("dion_update", "P = 6, orthonormal", lambda P, right: P == 6 and right == "orthonormal"),
    Alteration("dion_update", "a basis in Fortran's order", lambda basis: not basis.flags.c_contiguous),
    Alteration(
        "dion_update", "P = 7, rank 3, mu 1", lambda P, basis, mu: P == 7 and np.shape(basis)[1] == 3 and mu == 1
    ),
]
SHIPPED = [
    Alteration("ReplacementRandK", "k = 3, draws added", lambda k, added: k == 3 and added),
    Alteration("ReplacementRandK", "127 entries", lambda n: n == 127),
    Alteration("BernoulliLazy", "kept with 1/4", lambda keep: keep == 0.25),
    Alteration("Atomic", "budget 3", lambda budget: budget == 3),
    Alteration(
        "Atomic",
        "two entries tie, 17 entries, float32",
        lambda n, x, dtype: n == 17 and dtype == "float32" and len(set(np.abs(x[x != 0]))) < np.count_nonzero(x),
    ),
    Alteration("ClippedTernGrad", "clip 2", lambda clip: clip == 2),
    Alteration(
        "ClippedTernGrad",
        "clip 1, 33 entries, float64",
        lambda clip, n, dtype: clip == 1 and n == 33 and dtype == "float64",
    ),
    Alteration("TwoMeans", "127 entries", lambda n: n == 127, a_bit_off),
    Alteration(
        "TwoMeans",
        "all entries are equal and negative, float32",
        lambda x, dtype: dtype == "float32" and x[0] < 0 and (x == x[0]).all(),
    ),
    Alteration(
        "ThreeLC",
        "four entries more than fives, float64, more than 60",
        lambda n, dtype: n % 5 == 4 and n > 60 and dtype == "float64",
    ),
    Alteration(
        "ThreeLC",
        "sparsity 1.75, no runs of zeros, 33 entries",
        lambda sparsity, zero_run, n: sparsity == 1.75 and not zero_run and n == 33,
    ),
    Alteration("UniformBuckets", "16 buckets", lambda buckets: buckets == 16),
    Alteration("UniformBuckets", "3 sigmas", lambda sigmas: sigmas == 3),
    Alteration("QuantileBuckets", "5 buckets", lambda buckets: buckets == 5),
    Alteration(
        "QuantileBuckets",
        "15 buckets, ties, float64",
        lambda buckets, x, dtype: buckets == 15 and dtype == "float64" and len(set(x)) < len(x),
        a_bit_off,
    ),
    Alteration("dynamic_tree", "blocks of 32", lambda block: block == 32),
    Alteration("dynamic_tree", "blocks of 64, 127 entries", lambda block, n: block == 64 and n == 127),
    Alteration("inceptionn", "12 binades", lambda binades: binades == 12),
    Alteration("inceptionn", "10 binades, negative zeros", lambda binades, x: binades == 10 and _zero(x).any()),
    Alteration("spectral_atoms", "5 rows", lambda x: x.shape[0] == 5),
    Alteration("spectral_atoms", "budget 3, 4 x 3", lambda budget, x: budget == 3 and x.shape == (4, 3)),
    Alteration("signum_signs", "momentum 1/4", lambda momentum: momentum == 0.25),
    Alteration("signum_signs", "4 rounds and more of 17 entries", lambda gradients, n: len(gradients) > 3 and n == 17),
    Alteration("ef_signs", "scaled, 65 entries", lambda scaled, n: scaled and n == 65),
    Alteration("ef_signs", "rate 1/2", lambda rate: rate == 0.5),
    Alteration("ridge_descent", "5 steps, ties go down", lambda steps, tie: steps == 5 and tie == -1),
    Alteration("switched", "6 probabilities", lambda probabilities: len(probabilities) == 6),
    Alteration("permk_mean", "P = 7, 65 entries", lambda P, n: P == 7 and n == 65),
    Alteration(
        "permk_mean",
        "P = 6, float64, zeros of both signs",
        lambda P, dtype, x: P == 6 and dtype == "float64" and _zero(x).any(),
    ),
    Alteration("shared_randk_mean", "k = 3, P = 6", lambda k, P: k == 3 and P == 6),
    Alteration(
        "shared_randk_mean",
        "P = 7, 127 entries, float32",
        lambda P, n, dtype: P == 7 and n == 127 and dtype == "float32",
    ),
    Alteration("dgc_steps", "4 steps", lambda steps: steps == 4),
    Alteration(
        "dgc_steps",
        "P = 6, not masked, factor 1/2",
        lambda P, masking, factor: P == 6 and not masking and factor == 0.5,
    ),
    Alteration("dgc_steps", "k = 2, 5 steps, P = 7", lambda k, steps, P: k == 2 and steps == 5 and P == 7),
]
COLLECTIVES = [
    Alteration("quickreduce", "33 entries", lambda n: n == 33),
    Alteration("quickreduce", "65 entries, 6 bits, P = 4", lambda n, width, P: n == 65 and width == 6 and P == 4),
    Alteration("quickreduce", "tiles of 2048", lambda tile: tile == 2048),
    Alteration(
        "quickreduce",
        "P = 8, 3 bits, not saturated, float64",
        lambda P, width, saturates, dtype: P == 8 and width == 3 and not saturates and dtype == "float64",
    ),
    Alteration("quickreduce", "two tiles and one entry", lambda n, tile: n > 1 and n % tile == 1),
    Alteration("flashinfer_allreduce", "groups of 4", lambda group: group == 4),
    Alteration(
        "flashinfer_allreduce", "P = 7, the last block is not full", lambda P, n, block: P == 7 and n % block > 0
    ),
    Alteration("flashinfer_allreduce", "65 entries", lambda n: n == 65),
    Alteration(
        "flashinfer_allreduce",
        "groups of 8, P = 6, float64",
        lambda group, P, dtype: group == 8 and P == 6 and dtype == "float64",
    ),
    Alteration("torchft_allreduce", "7 columns", lambda columns: columns == 7),
    Alteration(
        "torchft_allreduce", "P = 6, 3 columns, a mean", lambda P, columns, mean: P == 6 and columns == 3 and mean
    ),
    Alteration("torchft_allreduce", "65 entries of one column", lambda n, columns: n == 65 and columns == 1),
    Alteration(
        "torchft_allreduce",
        "P = 7, not native, a mean, float64",
        lambda P, native, mean, dtype: P == 7 and not native and mean and dtype == "float64",
    ),
    Alteration("quantization_hook", "channels of 16", lambda channel: channel == 16),
    Alteration("quantization_hook", "P = 6, 33 entries", lambda P, n: P == 6 and n == 33),
    Alteration(
        "quantization_hook",
        "P = 7, no channels, zeros alone",
        lambda P, channel, x: P == 7 and channel is None and not x.any(),
        lambda y: y + 1,
    ),
    Alteration(
        "quantization_hook",
        "the number of channels is P, P = 5",
        lambda P, channel, n: P == 5 and channel and n // channel + 1 == P,
    ),
    Alteration("nccl_sum", "65 entries", lambda n: n == 65),
    Alteration(
        "nccl_sum",
        "e5m2, P = 7, zeros of both signs",
        lambda P, element, x: P == 7 and element == "e5m2" and _zero(x).any(),
    ),
    Alteration(
        "nccl_sum",
        "e5m2, P = 6, float64, 16 entries",
        lambda P, element, n, dtype: P == 6 and element == "e5m2" and n == 16 and dtype == "float64",
    ),
    Alteration(
        "nccl_sum",
        "a sum beyond the largest number, e4m3, P = 6",
        lambda P, element, x: P == 6 and element == "e4m3" and np.abs(x.sum(axis=0)).max() > 448,
    ),
]

SYSTEMS = [
    Alteration("loco_round", "reset, 2 bits, P = 7", lambda reset, bits, P: reset and bits == 2 and P == 7),
    Alteration("gaussiank_allreduce", "k = 8, adapted", lambda k, adapt: k == 8 and adapt != "none"),
    Alteration("arctopk_allreduce", "nine columns", lambda n: n == 9),
    Alteration("arctopk_allreduce", "7 rows, K = 3", lambda K, gradients: K == 3 and gradients.shape[1] == 7),
    Alteration("arctopk_allreduce", "rank 5", lambda rank: rank == 5),
    Alteration("lossy_training", "P = 2, a shared loss, two packets", _two_shared),
    Alteration(
        "lossy_broadcast",
        "P = 7, two packets, float64",
        lambda n, P, packet, dtype: P == 7 and _packets(n, P, packet) == 2 and dtype == "float64",
    ),
    Alteration(
        "lossy_step",
        "P = 6, three packets, the owner's",
        lambda gradients, packet, estimator: (
            len(gradients) == 6 and _packets(gradients.shape[1], 6, packet) == 3 and estimator == "owner"
        ),
    ),
    Alteration("group_average", "65 entries, P = 7", lambda n, P: n == 65 and P == 7),
    Alteration("moshpit", "65 entries", lambda n: n == 65),
    Alteration("drop_step", "no threshold, P = 6", lambda tau, P: np.isinf(tau) and P == 6),
    Alteration("drop_trials", "no threshold, P = 6", lambda tau, N: np.isinf(tau) and N == 6),
    Alteration("ring_quantised_allreduce", "7 bits, P = 7", lambda quantiser, P: quantiser.width == 7 and P == 7),
    Alteration("twostep_quantised_allreduce", "7 bits, P = 7", lambda quantiser, P: quantiser.width == 7 and P == 7),
    Alteration("oneshot_quantised_allreduce", "1 bit, P = 7", lambda quantiser, P: quantiser.width == 1 and P == 7),
    Alteration("ring_allreduce", "blocks of 65", lambda n, P: -(-n // P) == 65 and P > 1),
    Alteration("reduce_scatter", "blocks of 65", lambda n, P: -(-n // P) == 65 and P > 1),
    Alteration(
        "reduce_scatter",
        "blocks of 33, P = 6, Bruck",
        lambda n, P, algorithm: -(-n // P) == 33 and P == 6 and algorithm == "bruck",
    ),
    Alteration("ring_allreduce", "signs of zeros, P = 7", lambda P: P == 7, positive_zeros),
    Alteration("gossip", "signs of zeros, P = 7", lambda P: P == 7, positive_zeros),
    Alteration("majority_vote", "who has zeros abstains, P = 6", lambda zeros, P: zeros == "abstain" and P == 6),
    Alteration("onebit_momentum", "P = 7", lambda P: P == 7),
    Alteration("gtopk_allreduce", "65 entries", lambda n: n == 65),
    Alteration(
        "gtopk_allreduce",
        "65 entries, as published, P = 6",
        lambda n, P, putback: n == 65 and P == 6 and putback == "published",
    ),
    Alteration(
        "mixed_precision_allreduce",
        "stochastic e4m3, P = 7",
        lambda wire, P, rng, uniforms: wire == "float8_e4m3fn" and P == 7 and (rng is not None or uniforms is not None),
    ),
    Alteration(
        "simulated_allreduce",
        "float16, a ring, P = 6, unrounded",
        lambda accumulate, P, schedule, kept: (
            accumulate == "float16" and P == 6 and schedule == "ring" and kept == "unrounded"
        ),
    ),
    Alteration(
        "split_computation",
        "bfloat16, P = 7, float64",
        lambda P, accumulate, dtype: P == 7 and accumulate == "bfloat16" and dtype == "float64",
    ),
    Alteration(
        "EDEN", "scaled in float32", lambda n, dtype: dtype == "float64" and n > 7, lambda y: y * (1 + 2.0**-26)
    ),
]
ALTERATIONS = [*QUANTIZERS, *SPARSIFIERS, *LOWRANK, *ORTHOGONAL, *SHIPPED, *COLLECTIVES, *SYSTEMS]
