"""How compressors, mechanisms and collectives of ours become subjects of the conformance kit."""

import numpy as np

from commbounds import compressors as c
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from commbounds.verify.kernel_law import injection
from zoo.book import one_minus

SYMMETRIC, SCALED, IDEMPOTENT = cf.SignSymmetric(), cf.ScaleEquivariant(), cf.Idempotent()
BY_TWO = cf.ScaleEquivariant(powers_of_two=True)

PATIENT = {"time_limit": 300.0}
"""Kernels may have to be compiled."""


def called(compressor):
    """A roundtrip, which takes uniforms where the compressor does."""
    if injection(compressor) == "uniforms":

        def roundtrip(x, seed, uniforms=None):
            if uniforms is None:
                return compressor(x, np.random.default_rng(seed))
            return compressor.decompress(compressor.compress_with(x, uniforms))

    else:

        def roundtrip(x, seed):
            return compressor(x, np.random.default_rng(seed))

    roundtrip.__name__, roundtrip.randomised = repr(compressor), compressor.randomised
    return roundtrip


def control(compressor, *claims, **options):
    """A compressor of ours as a subject, which also is a port of itself and counts its bits as it says."""

    def bits(x, seed):
        return int(compressor.compress(x, np.random.default_rng(seed)).bits)

    own = [cf.Matches(compressor, operations=0), cf.Bits(lambda *shape: 64 * np.prod(shape) + 64)]
    return cf.Codec(called(compressor), [*claims, *own], bits=bits, name=repr(compressor), **{**PATIENT, **options})


def contracts(name, sizes=("n",), **given):
    """Contraction by what the book says of the error."""
    return cf.Contraction(one_minus(bound(name, sizes, **given)))


def unbiased(name, **given):
    """Unbiased, with the variance that the book has."""
    return cf.Unbiased(), cf.Variance(bound(f"quantizers.{name}.variance", **given))


def at_least(k):
    """For vectors of k entries at least."""
    return {"admits": lambda x: x.size >= k}


# powers of two: bounds are of normal numbers, and what is rounded up must not become infinite
BELOW = {"magnitudes": (2.0**-126, 2.0**126)}
SMALL = {"magnitudes": (0.0, 1e30), **PATIENT}

# --- with memory -------------------------------------------------------------------------------------------------


class Step:
    """A mechanism of ours, step by step."""

    def __init__(self, mechanism, seed, shows):
        self._mechanism, self._rng, self._shows, self._state = mechanism, np.random.default_rng(seed), shows, None
        self.residual = None

    def __call__(self, x):
        if self._state is None:
            self._state = self._mechanism.start(x)
        sent, self._state = self._mechanism.step(self._state, x, self._rng)
        if self._shows:
            self.residual = self._state.memory
        if self._mechanism.adds_up:  # what the receiver has is its estimate
            return self._state.memory.copy()
        return self._mechanism.compressor.decompress(sent)


def mechanism(made, *claims, shows=False, **options):
    """A mechanism as a subject."""
    return cf.Stateful(lambda seed: Step(made, seed, shows), claims, name=repr(made), **SMALL, **options)


RECOVERS = cf.RecoversAfterZero()

# --- all-reduces -------------------------------------------------------------------------------------------------

K = 3


def dense(function, **options):
    """A sum of whole vectors, with its words."""

    def run(stack, seed):
        rows, traffic = function(stack)
        return cf.AllReduceResult(np.array(rows), traffic.sent, traffic.received)

    name = function.__name__.removesuffix("_allreduce")
    words = cf.WordsAtMost(bound(f"dense.{name}.sent", ("P", "n")), of="sent")
    return cf.AllReduce(run, [cf.Sums(), cf.RanksAgree(), words], name=name, **SMALL, **options)


def sparse(function, *claims, **given):
    """A sum of chosen entries, with words and residuals."""

    def run(stack, seed):
        result, *_, traffic = function(stack, K, **given)
        rows = np.repeat(np.asarray(result.update)[None], len(stack), axis=0)
        return cf.AllReduceResult(rows, traffic.sent, traffic.received, kept_back(stack, result))

    name = f"{function.__name__}({', '.join(f'{k}={v}' for k, v in given.items())})"
    enough = {"admits": lambda x: x.shape[-1] >= K}
    return cf.AllReduce(run, [cf.Conserves(), *claims], name=name, **enough, **SMALL)


def kept_back(stack, result):
    """What every rank keeps: as the result has it, or what is not in the update."""
    if hasattr(result, "residual"):
        return result.residual
    kept = stack.copy()
    for row, taken in zip(kept, result.selected, strict=True):
        row[taken] = 0
    return kept


def quantised(function, **given):
    """A sum of quantised blocks: all that is claimed is that the ranks agree."""
    quantiser = c.GroupQuantizer(8, 16)

    def run(stack, seed):
        return np.array(function(stack, quantiser, **given)[0].values)

    return cf.AllReduce(run, [cf.RanksAgree()], name=function.__name__, **SMALL)
