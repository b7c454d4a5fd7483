"""Broken low-rank compressors, each by one defect."""

from dataclasses import dataclass, replace

import numpy as np
from zoo.right import SYMMETRIC, contracts, control

from commbounds.compressors import EF14, Factors, FeedbackState, LowRank, PowerSGD
from commbounds.verify import Method
from mutants.record import Mutant, native


def _columns(factor, kept):
    cut = factor.copy()
    cut[:, kept:] = 0
    return cut


@dataclass(frozen=True, eq=False)
class _LeftOnly(Factors):
    @property
    def bits(self):
        return self.left.size * 8 * self.dtype.itemsize


def _left_only(message):
    return _LeftOnly(message.shape, message.dtype, message.left, message.right)


class _Broken(PowerSGD):
    """Draws its sketch from the generator, and hands the right message to `broken`."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return self.compress_with(x, rng.standard_normal((np.shape(x)[1], self.rank)))

    def compress_with(self, x, sketch):
        return self.broken(native(x), super().compress_with(x, sketch), np.asarray(sketch, dtype=np.float64))


class PowerSGDNormalised(_Broken):
    """Normalises the columns of M S, and does not make them orthogonal."""

    def broken(self, x, message, sketch):
        columns = (x.astype(np.float64) / (float(np.abs(x).max()) or 1.0)) @ sketch
        norms = np.linalg.norm(columns, axis=0)
        left = np.divide(columns, norms, out=np.zeros_like(columns), where=norms > 0)
        return replace(message, left=left.astype(x.dtype), right=(x.T.astype(np.float64) @ left).astype(x.dtype))


class PowerSGDProjected(_Broken):
    """Projects on the sketch itself, not on what the matrix makes of it: no power iteration."""

    def broken(self, x, message, sketch):
        left = np.linalg.qr(np.resize(sketch, (x.shape[0], self.rank)))[0]
        return replace(message, left=left.astype(x.dtype), right=(x.T.astype(np.float64) @ left).astype(x.dtype))


class PowerSGDFixedSketch(PowerSGD):
    """Ignores its generator."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return super().compress(x, np.random.default_rng(0))


class PowerSGDUniformSketch(PowerSGD):
    """Draws the sketch uniformly from [0, 1): not invariant under rotations."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return self.compress_with(x, rng.random((np.shape(x)[1], self.rank)))


class PowerSGDOneFewer(_Broken):
    """Leaves the last column of the factors zero where the rank is above one."""

    def broken(self, x, message, sketch):
        return replace(message, right=_columns(message.right, max(1, self.rank - 1)))


class PowerSGDLeftOnly(_Broken):
    """Counts one of the two factors."""

    def broken(self, x, message, sketch):
        return _left_only(message)


class PowerSGDStale(_Broken):
    """Goes on with the sketch of its first call for as long as the shape stays the same."""

    def broken(self, x, message, sketch):
        known = self.__dict__.get("_sketch")
        if known is None or known.shape != sketch.shape:
            object.__setattr__(self, "_sketch", sketch)
            return message
        return PowerSGD(self.rank).compress_with(x, known)


class LowRankSmallest(LowRank):
    """Keeps the smallest singular values."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        top = float(np.abs(x).max()) or 1.0
        u, sigma, vt = np.linalg.svd(np.asarray(x, dtype=np.float64) / top, full_matrices=False)
        right = top * vt[-self.rank :].T * sigma[-self.rank :]
        return replace(message, left=u[:, -self.rank :].astype(message.dtype), right=right.astype(message.dtype))


class LowRankOneFewer(LowRank):
    """Leaves the last column of the factors zero where the rank is above one."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, right=_columns(message.right, max(1, self.rank - 1)))


class LowRankUnit(LowRank):
    """Forgets the singular values: both factors have orthonormal columns."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        norms = np.linalg.norm(message.right.astype(np.float64), axis=0)
        right = np.divide(message.right, norms, out=np.zeros(message.right.shape), where=norms > 0)
        return replace(message, right=right.astype(message.dtype))


class LowRankUnsigned(LowRank):
    """Sends magnitudes of the left factor."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, left=np.abs(message.left))


class LowRankLeftOnly(LowRank):
    """Counts one of the two factors."""

    def compress(self, x, rng=None):
        return _left_only(super().compress(x))


class ForgetsAThird(EF14):
    """Keeps two thirds of what was left out."""

    def after(self, state, offered, momentum, sent):
        kept = super().after(state, offered, momentum, sent).memory
        return FeedbackState(kept * kept.dtype.type(2 / 3))


class ReusesOneSketch(EF14):
    """Hands the compressor a generator of the same seed in every step."""

    def step(self, state, gradient, rng=None):
        return super().step(state, gradient, np.random.default_rng(0))


class HandsOnHalfAgain(EF14):
    """Offers one and a half of the residual."""

    def offered(self, state, gradient):
        return state.memory.dtype.type(1.5) * state.memory + gradient, None


MUTANTS = (
    Mutant(PowerSGDNormalised, "PowerSGD", "lowrank.powersgd.idempotence", Method.SEARCH),
    Mutant(PowerSGDProjected, "PowerSGD", "lowrank.powersgd.contraction", Method.SAMPLE),
    Mutant(PowerSGDFixedSketch, "PowerSGD", "lowrank.powersgd.determinant", Method.SAMPLE, "uses_its_generator"),
    Mutant(PowerSGDUniformSketch, "PowerSGD", "lowrank.powersgd.determinant", Method.SAMPLE),
    Mutant(PowerSGDOneFewer, "PowerSGD", "lowrank.powersgd.contraction", Method.SAMPLE),
    Mutant(PowerSGDLeftOnly, "PowerSGD", "lowrank.powersgd.wire", Method.SEARCH),
    Mutant(PowerSGDStale, "PowerSGD", "lowrank.powersgd.determinant", Method.SAMPLE, "has_no_memory"),
    Mutant(LowRankSmallest, "LowRank", "lowrank.lowrank.contraction", Method.SEARCH),
    Mutant(LowRankOneFewer, "LowRank", "lowrank.lowrank.contraction", Method.SEARCH),
    Mutant(LowRankUnit, "LowRank", "lowrank.lowrank.contraction", Method.SEARCH),
    Mutant(LowRankUnsigned, "LowRank", "lowrank.lowrank.idempotence", Method.SEARCH),
    Mutant(LowRankLeftOnly, "LowRank", "lowrank.lowrank.wire", Method.EXACT),
    Mutant(ForgetsAThird, "EF14", "lowrank.powersgd_ef14.telescoping", Method.SEARCH),
    Mutant(ReusesOneSketch, "EF14", "lowrank.powersgd_ef14.residual", Method.SAMPLE),
    Mutant(HandsOnHalfAgain, "EF14", "lowrank.powersgd_ef14.warm_start_growth", Method.SEARCH),
)

CONTROLS = tuple(
    control(
        kind(1),
        contracts(f"lowrank.{kind.__name__.lower()}.contraction", ("m", "n"), r=1),
        *more,
        shape="matrix",
        magnitudes=(1e-15, 1e15),
        admits=lambda x: x.size <= 4096,
    )
    # the bits that LAPACK finds for -x need not be those for x
    for kind, more in ((PowerSGD, (SYMMETRIC,)), (LowRank, ()))
)
"""Right ones, with what the book says of them, for the conformance kit."""

EXAMPLES = {"PowerSGD": [{"rank": 1}, {"rank": 2}, {"rank": 3}], "LowRank": [{"rank": 1}, {"rank": 2}, {"rank": 3}]}
"""Hyper-parameters to keep the contract with; the first are admissible for one entry."""
