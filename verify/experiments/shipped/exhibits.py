"""Figures of the column: biases of what is shipped, and the mean's error by how much workers agree."""

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors import ScaledSign
from commbounds.compressors.shipped import ClippedTernGrad, ThreeLC, TwoMeans
from commbounds.verify.exhibit import Exhibit, Maker, Panel, bound_of, line
from commbounds.verify.gradients import KINDS, trace
from commbounds.verify.kernel_law import kernel_law
from commbounds.verify.marginals import Marginals

Array = NDArray[np.float32]


def _bias_of_draws() -> Panel:
    """What drawing with replacement takes off every entry, and what the worst clipping does."""
    n = 2410
    draws = [1, 24, 60, 120, 241, 482, 964, 1446, 1928, 2410]
    x = [k / n for k in draws]
    lines = (
        line(
            "overwritten, times n/k", x, [bound_of("shipped.replacementrandk.bias", n=n, k=k) for k in draws], "exact"
        ),
        line("added up, or without replacement", x, 0, "corrected"),
    )
    return Panel("Rand-K with replacement", "draws over entries k/n", "bias: share of every entry lost", lines)


def _by_agreement() -> Panel:
    """Eight workers with vectors of norm 1 whose mean has a squared norm of rho."""
    P, n = 8, 64
    shares = np.linspace(0.0, 1.0, 21)
    norms = [max(float(s), 1e-12) ** 0.5 for s in shares]
    permuted = [bound_of("shipped.permk_mean.error", P=P, sumsq=P, norm2bar=norm) for norm in norms]
    seed = [bound_of("shipped.shared_randk_mean.error", n=n, k=n // P, norm2bar=norm) for norm in norms]
    lines = (
        line("Perm-K", shares, permuted, "exact"),
        line("Rand-K, separate seeds", shares, bound_of("shipped.permk_mean.never_worse", P=P, sumsq=P), "printed"),
        line("Rand-K, one seed", shares, seed, "corrected"),
    )
    return Panel(
        "Eight workers, an eighth of the entries each",
        "squared norm of the mean over that of a worker",
        "squared error of the mean",
        lines,
    )


def _errors_of(compressor: object, gradients: Array) -> list[float]:
    found = []
    for x in gradients:
        law = kernel_law(compressor, x)  # type: ignore[arg-type]
        wide = x.astype(np.float64)
        if isinstance(law, Marginals):
            error = float(law.expected_square(wide).sum())
        else:
            assert law is not None
            error = float(((law.y[0] - wide) ** 2).sum())
        found.append(error / float(wide @ wide))
    return found


def _on_gradients() -> Panel:
    """Errors on the gradients of a training run, worker by worker, sorted."""
    gradients = np.concatenate([trace().vectors[kind][0] for kind in KINDS])
    made = {
        "one-bit, two means": TwoMeans(),
        "signs times the mean magnitude": ScaledSign(),
        "3LC, s = 1": ThreeLC(1),
        "3LC, s = 7/4": ThreeLC(1.75),
        "TernGrad, clipped at 2.5 deviations": ClippedTernGrad(),
    }
    lines = tuple(
        line(name, range(1, len(gradients) + 1), sorted(_errors_of(c, gradients))) for name, c in made.items()
    )
    return Panel("Gradients of a training run", "gradients, sorted", "relative squared error", lines, yscale="log")


def _errors(_budget: str, _seed: int) -> Exhibit:
    return Exhibit(
        "shipped.errors",
        "Draws with replacement are biased; Perm-K is best if workers agree and worst if they cancel",
        "First: the bias of drawing with replacement if a second draw overwrites the first. Second: exact errors of "
        "the mean by the share of a worker's squared norm that is left in the mean. Third: errors on the gradients of "
        "eight workers, early and late in training, images dealt at random and by label.",
        (_bias_of_draws(), _by_agreement(), _on_gradients()),
    )


EXHIBITS: dict[str, Maker] = {"shipped.errors": _errors}
