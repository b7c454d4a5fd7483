"""Broken memories: error feedback that loses or invents something, scales and bases that never recover."""

import numpy as np

from commbounds.verify import conformance as cf
from zoo.levels import scaled_signs
from zoo.record import broken
from zoo.selection import topk


class ErrorFeedback:
    """What is left out goes on top of the next gradient; the compressor is Top-3."""

    def __init__(self, seed):
        self.seed = seed
        self.residual = None

    def __call__(self, x):
        if self.residual is None:
            self.residual = np.zeros_like(x)
        offered = self.residual + x
        sent = self.compressed(offered)
        self.residual = self.kept(x, offered, sent)
        return sent

    def compressed(self, offered):
        """What goes out."""
        return topk(offered, self.seed)

    def kept(self, x, offered, sent):
        """What is held back."""
        return offered - sent


class Forgetful(ErrorFeedback):
    """Replaces the residual by what is left of this gradient alone: the earlier one is forgotten."""

    def kept(self, x, offered, sent):
        return x - topk(x, self.seed)


class Doubling(ErrorFeedback):
    """Adds the residual twice: once in the optimiser, once in the hook."""

    def __call__(self, x):
        held = np.zeros_like(x) if self.residual is None else self.residual
        return super().__call__(x + held)


class Decaying(ErrorFeedback):
    """Multiplies the residual by 0.9, as if it were momentum."""

    def kept(self, x, offered, sent):
        return np.float32(0.9) * (offered - sent)


class ResetOnTurn(ErrorFeedback):
    """Drops the residual of an entry whose gradient has changed its sign."""

    def kept(self, x, offered, sent):
        left = offered - sent
        return np.where(left * x < 0, np.float32(0), left)


class Uncompressed(ErrorFeedback):
    """Keeps what it offered to the compressor, not what the compressor left out."""

    def kept(self, x, offered, sent):
        return offered.copy()


class Halved(ErrorFeedback):
    """Keeps the residual as float16 to save memory."""

    def kept(self, x, offered, sent):
        with np.errstate(all="ignore"):
            return (offered - sent).astype(np.float16).astype(x.dtype)


class Unsent(ErrorFeedback):
    """Takes the residual before the values are rounded to bfloat16 for the wire: rounding is lost."""

    def compressed(self, offered):
        sent = topk(offered, self.seed)
        self.exact = sent
        return (sent.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)

    def kept(self, x, offered, sent):
        return offered - self.exact


class Hidden:
    """Error feedback that does not show its residual."""

    def __init__(self, seed):
        self._inner = ErrorFeedback(seed)

    def __call__(self, x):
        return self._inner(x)


class HiddenLoss(Hidden):
    """Throws away what is below a thousandth of the largest entry, and shows no residual."""

    def __call__(self, x):
        sent = self._inner(x)
        held = self._inner.residual
        held[np.abs(held) < 1e-3 * np.abs(x).max()] = 0
        return sent


class Shared(ErrorFeedback):
    """Keeps its residuals in a dictionary of the class: a new run begins with those of the last one."""

    residuals = {}  # noqa: RUF012  that is the defect

    def __call__(self, x):
        self.residual = self.residuals.get(x.shape)
        sent = super().__call__(x)
        self.residuals[x.shape] = self.residual
        return sent


class SignFeedback(ErrorFeedback):
    """Error feedback of scaled signs."""

    def compressed(self, offered):
        return scaled_signs(offered, self.seed)


class PlainSigns(ErrorFeedback):
    """Sends signs without a scale: no contraction, and the residual grows with the gradients."""

    def compressed(self, offered):
        return np.sign(offered)


class Momentum:
    """Compresses a running mean of gradients, and begins it with the first of them."""

    def __init__(self, seed):
        self.seed, self.mean = seed, None

    def __call__(self, x):
        self.mean = x.copy() if self.mean is None else np.float32(0.9) * self.mean + np.float32(0.1) * x
        return topk(self.mean, self.seed)


class LastingMomentum(Momentum):
    """Begins its running mean where the last run ended: the factory hands out one and the same object."""

    made = {}  # noqa: RUF012  that is the defect

    def __new__(cls, seed):
        return cls.made.setdefault(0, super().__new__(cls))

    def __init__(self, seed):
        if not hasattr(self, "mean"):
            super().__init__(seed)

    def __call__(self, x):
        if self.mean is not None and self.mean.shape != x.shape:
            self.mean = None
        return super().__call__(x)


# --- what does not recover ---------------------------------------------------------------------------------------


class RunningScale:
    """Four bits relative to a running scale, which never falls below the current largest magnitude."""

    def __init__(self, seed):
        self.scale = 0.0

    def __call__(self, x):
        top = float(np.abs(x).max())
        self.scale = self.updated(top)
        if self.scale == 0.0:
            return np.zeros_like(x)
        return (self.scale * (np.rint(7 * np.clip(x / self.scale, -1.0, 1.0).astype(np.float64)) / 7)).astype(x.dtype)

    def updated(self, top):
        """The scale for a gradient with this largest magnitude."""
        return max(0.9 * self.scale, top)


class VanishingScale(RunningScale):
    """Grows its scale by at most a factor of two a step: after a step of zeros it stays zero."""

    def updated(self, top):
        if not hasattr(self, "started"):
            self.started = True
            return top
        return min(top, 2.0 * self.scale)


class UndefinedScale(RunningScale):
    """Divides by the old scale to find the new one: after a step of zeros that is 0/0, and NaN for ever."""

    def updated(self, top):
        with np.errstate(all="ignore"):
            if not hasattr(self, "started"):
                self.started = True
                return top
            return float(self.scale * np.sqrt(np.float64(top) ** 2 / np.float64(self.scale) ** 2))

    def __call__(self, x):
        top = float(np.abs(x).max())
        self.scale = self.updated(top)
        codes = np.rint(7 * np.clip(x.astype(np.float64) / (self.scale if self.scale != 0.0 else 1.0), -1.0, 1.0))
        return (self.scale * (codes / 7)).astype(x.dtype)


def orthonormal(columns):
    """An orthonormal basis of what the columns span; zeros where there are too few."""
    basis, triangle = np.linalg.qr(columns)
    return basis * (np.abs(np.diag(triangle)) > 1e-12 * max(1e-300, np.abs(columns).max()))


class WarmPowerSGD:
    """Rank-2 power iteration that starts from the last right factor, and from a random one if that has vanished."""

    rank = 2

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self.right = None

    def __call__(self, x):
        wide = x.astype(np.float64)
        if self.right is None or self.right.shape[0] != x.shape[1] or self.restarts():
            self.right = self._rng.standard_normal((x.shape[1], min(self.rank, *x.shape)))
        left = orthonormal(wide @ self.right)
        self.right = wide.T @ left
        return (left @ self.right.T).astype(x.dtype)

    def restarts(self):
        """Whether a column of the right factor is zero."""
        return not self.right.any(axis=0).all()


class FrozenPowerSGD(WarmPowerSGD):
    """Keeps the right factor as it is: one gradient of zeros, and it is zero for ever."""

    def restarts(self):
        return False


EXACT = [cf.Telescopes(), cf.MemoryBounded(), cf.RecoversAfterZero()]
HERE = {"kind": cf.Stateful}
ROOM = {"magnitudes": (0.0, 1e30), **HERE}

FEEDBACK = (
    broken(Forgetful, ErrorFeedback, EXACT, "Telescopes", **ROOM),
    broken(Doubling, ErrorFeedback, EXACT, "Telescopes", **ROOM),
    broken(Decaying, ErrorFeedback, EXACT, "Telescopes", **ROOM),
    broken(ResetOnTurn, ErrorFeedback, EXACT, "Telescopes", **ROOM),
    broken(Uncompressed, ErrorFeedback, EXACT, "Telescopes", "MemoryBounded", **ROOM),
    broken(Halved, ErrorFeedback, EXACT, "Telescopes", **ROOM),
    broken(Unsent, ErrorFeedback, EXACT, "Telescopes", **ROOM),
    broken(HiddenLoss, Hidden, EXACT, "Telescopes", **ROOM),
    broken(Shared, ErrorFeedback, EXACT, "same seed, same output", "Telescopes", **ROOM),
    broken(PlainSigns, SignFeedback, EXACT, "MemoryBounded", **ROOM),
    broken(LastingMomentum, Momentum, [cf.RecoversAfterZero()], "same seed, same output", **ROOM),
    broken(VanishingScale, RunningScale, [cf.RecoversAfterZero()], "RecoversAfterZero", **ROOM),
    broken(UndefinedScale, RunningScale, [cf.RecoversAfterZero()], "finite in, finite out", **ROOM),
    broken(FrozenPowerSGD, WarmPowerSGD, [cf.RecoversAfterZero()], "RecoversAfterZero", shape="matrix", **ROOM),
)
"""Broken memories, by what kills them."""
