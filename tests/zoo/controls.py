"""Right subjects: our compressors, mechanisms and collectives, with what the book of claims says of them."""

from fractions import Fraction
from math import sqrt

import numpy as np

from commbounds import collectives as co
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

COMPRESSORS = (
    *(
        control(
            c.TopK(k),
            contracts("sparsifiers.topk.contraction", k=k),
            cf.Support(k),
            SYMMETRIC,
            SCALED,
            IDEMPOTENT,
            **at_least(k),
        )
        for k in (1, 4)
    ),
    control(
        c.RandK(2),
        cf.Unbiased(),
        cf.Variance(bound("sparsifiers.randk.variance", k=2)),
        cf.Support(2),
        cf.SameLaw(c.RandK(2)),
        SYMMETRIC,
        **SMALL,
        **at_least(2),
    ),
    control(c.RandK(3, False), contracts("sparsifiers.randk.contraction", k=3), cf.Support(3), **at_least(3)),
    control(
        c.BlockTopK(2, 3),
        contracts("sparsifiers.blocktopk.contraction", k=2, block=3),
        SYMMETRIC,
        SCALED,
        IDEMPOTENT,
        **at_least(6),
    ),
    control(
        c.ChunkTopK(2, 5), contracts("sparsifiers.chunktopk.contraction", k=2, chunk=5), SYMMETRIC, SCALED, IDEMPOTENT
    ),
    control(c.HardThreshold(Fraction(1, 2)), cf.AbsoluteError(0.5), SYMMETRIC, IDEMPOTENT),
    control(
        c.AdaptiveSparsification(),
        contracts("sparsifiers.adaptivesparsification.contraction"),
        cf.Support(1),
        cf.SameLaw(c.AdaptiveSparsification()),
        SYMMETRIC,
        IDEMPOTENT,
    ),
    control(c.Identity(), cf.Contraction(1.0), cf.Unbiased(), cf.ExactOn(lambda rng, n: rng.normal(size=n)), SCALED),
    control(c.Sign(), cf.Codebook([-1.0, 1.0], operations=0), IDEMPOTENT),
    control(c.Sign(0), cf.Codebook([-1.0, 0.0, 1.0], operations=0), IDEMPOTENT, SYMMETRIC),
    control(c.ScaledSign(), contracts("quantizers.scaledsign.contraction"), SCALED, IDEMPOTENT),
    control(c.ScaledSign(0), contracts("quantizers.scaledsign.contraction"), SYMMETRIC, SCALED),
    control(c.QSGD(4), *unbiased("qsgd", s=4), cf.SameLaw(c.QSGD(4)), SYMMETRIC, SCALED),
    control(c.MaxDithering(3), *unbiased("maxdithering", s=3), cf.SameLaw(c.MaxDithering(3)), SYMMETRIC, SCALED),
    control(c.TernGrad(), *unbiased("terngrad"), cf.SameLaw(c.TernGrad()), SYMMETRIC, SCALED, IDEMPOTENT),
    control(
        c.NaturalCompression(),
        *unbiased("naturalcompression"),
        cf.SameLaw(c.NaturalCompression()),
        SYMMETRIC,
        BY_TWO,
        IDEMPOTENT,
        **BELOW,
    ),
    control(
        c.NaturalDithering(3), *unbiased("naturaldithering", s=3), cf.SameLaw(c.NaturalDithering(3)), SYMMETRIC, SCALED
    ),
    control(
        c.StochasticPower(Fraction(3, 2)),
        *unbiased("stochasticpower", b=Fraction(3, 2)),
        cf.SameLaw(c.StochasticPower(Fraction(3, 2))),
        SYMMETRIC,
        **BELOW,
    ),
    control(c.NearestPower(), contracts("quantizers.nearestpower.contraction"), SYMMETRIC, BY_TWO, IDEMPOTENT, **BELOW),
    *(
        control(
            kind(1),
            contracts(f"lowrank.{kind.__name__.lower()}.contraction", ("m", "n"), r=1),
            *more,
            shape="matrix",
            magnitudes=(1e-15, 1e15),
            admits=lambda x: x.size <= 4096,
        )
        # the bits that LAPACK finds for -x need not be those for x
        for kind, more in ((c.PowerSGD, (SYMMETRIC,)), (c.LowRank, ()))
    ),
)
"""Compressors of single arrays."""


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


def held_by_ef14(alpha):
    """The norm of the residual of error feedback by the book, for gradients of norm at most G."""
    return lambda n, G: sqrt(bound("feedback.ef14.residual", ("n", "reach"), alpha=alpha(n))(n, G))


def share_of_top3(n):
    """The contraction of Top-3."""
    return Fraction(3, n)


RECOVERS = cf.RecoversAfterZero()
STATEFUL = (
    mechanism(
        c.EF14(c.TopK(3)),
        cf.Telescopes(),
        cf.MemoryBounded(held_by_ef14(share_of_top3)),
        RECOVERS,
        shows=True,
        admits=lambda x: x.shape[-1] >= 3,
    ),
    mechanism(c.EF14(c.ScaledSign()), cf.Telescopes(), cf.MemoryBounded(), RECOVERS),
    mechanism(c.EF21(c.TopK(3), dense=False), RECOVERS, admits=lambda x: x.shape[-1] >= 3),
    mechanism(c.EF21M(c.NearestPower(), eta=0.5), RECOVERS),
)
"""Compressors with memory."""

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


ALL_REDUCES = (
    dense(co.ring_allreduce, ranks=(2, 3, 5, 8)),  # as the book has it: P >= 2
    dense(co.recursive_doubling_allreduce),
    dense(co.rabenseifner_allreduce, multiple_of=8),  # n is a multiple of the power of two
    dense(co.butterfly_allreduce),
    sparse(co.topk_allgather),
    sparse(co.gtopk_allreduce, cf.WordsAtMost(bound("sparse.gtopk.sent", ("P", "n"), k=K), of="sent")),
    sparse(co.topk_dsa),
    sparse(co.spardl_allreduce),
    sparse(co.gaussiank_allreduce),
    sparse(co.oktopk_allreduce, tau=1, tau_prime=1),
    quantised(co.twostep_quantised_allreduce),
    quantised(co.ring_quantised_allreduce),
    quantised(co.oneshot_quantised_allreduce),
)
"""All-reduces."""

CONTROLS = (*COMPRESSORS, *STATEFUL, *ALL_REDUCES)
"""Everything that has to pass."""
