"""Findings of NVIDIA/Megatron-LM issue 7452 that are numbers, rebuilt from what is said of them: plans and results.

Its text is searched, and read in parts: titles, effects and what its reproductions say of themselves, not their code,
of which none is used. Where it prints numbers, they come out here; all else is made up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from parallel_runs import added, losses, parts_of

from commbounds.testing import Accumulate, CrossEntropy, Matmul

F32 = np.float32
P = 2  # ranks, of all but where another number is said


@dataclass(frozen=True)
class Finding:
    """What is computed, what a right and a wrong rank give, and what is said of the wrong one."""

    title: str
    known: str
    plan: Any
    right: Any
    wrong: Any
    said: str


def _normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def _label_smoothing():
    """Rank 0 averages over its own classes, and takes their number for that of all."""
    logits, targets, alpha = _normal(6, 8), np.array([0, 5, 7, 2, 3, 4]), 0.1
    z = (logits - logits.max(axis=1, keepdims=True)).astype(float)
    log, own = np.log(np.exp(z).sum(axis=1)), 4
    share = alpha * own / (own - 1)
    wrong = log - (1 - share) * z[np.arange(6), targets] - share * z[:, :own].mean(axis=1)
    plan = CrossEntropy(logits, targets, P, alpha)
    return plan, losses(logits, targets, P, alpha), wrong.astype(F32)


def _gathered_logits():
    """Every rank takes all logits for its own, and their sums of exponentials are added over the ranks."""
    logits, targets = _normal(6, 8), np.arange(6)
    right = losses(logits, targets, P)
    z = logits - logits.max(axis=1, keepdims=True)
    wrong = np.log(F32(P) * np.exp(z).sum(axis=1)) - z[np.arange(6), targets]
    return CrossEntropy(logits, targets, P), right, wrong


def _local_ratios():
    """Rank 0 has one token left of one, with gradient 2, and rank 1 one of two, with 6: 14/3 where 4 is due."""
    sums, before, left = np.array([[[2.0]], [[6.0]]], F32), np.array([1, 2]), np.array([[1], [1]])
    wrong = (sums[:, 0, 0] * before / left[:, 0]).sum() / before.sum()
    assert abs(wrong - 14 / 3) < 1e-6
    return Accumulate(sums, left, counted=before[:, None]), np.array([4.0], F32), np.array([wrong], F32)


def _replicas_mixed():
    """Four tokens of two replicas; rank 1 takes up the other replica's: 0, 1, 12, 13 in place of 0, 1, 2, 3."""
    a, b = np.array([[0, 1, 2, 3], [10, 11, 12, 13]], F32), _normal(4, 3)
    wrong = np.stack([[0, 1, 12, 13], [10, 11, 2, 3]]).astype(F32) @ b
    return Matmul(a, b, P), added(parts_of(a, b, P), F32), wrong


def _own_scatter():
    """A sample's tokens 0, 1, 2, 3 become 0, 1, 0, 1: both ranks bring the first half."""
    a, b = np.array([[0, 1, 2, 3]], F32), _normal(4, 3)
    return Matmul(a, b, P), added(parts_of(a, b, P), F32), np.array([[0, 1, 0, 1]], F32) @ b


def _sinks_left_out():
    """The square of a norm, whose entries lie on the ranks: that of rank 0's heads alone."""
    sinks = _normal(1, 8)
    parts = parts_of(sinks, sinks.T, P)
    return Matmul(sinks, sinks.T, P), added(parts, F32), parts[0]


def _means_of_shards():
    """One valid token, at rank 0: half of its gradient with two ranks, a quarter with four."""
    sums, tokens = np.array([[[3.0, -1.0]], [[0.0, 0.0]]], F32), np.array([[1], [0]])
    own = (sums[:, 0] / np.maximum(tokens, 1)).mean(axis=0)
    assert own.tolist() == [1.5, -0.5]
    return Accumulate(sums, tokens), sums.sum(axis=(0, 1)), own


def _uneven_shards():
    """The same of three tokens and one."""
    sums, tokens = _normal(2, 1, 5, seed=3), np.array([[3], [1]])
    own = (sums[:, 0] / tokens).mean(axis=0).astype(F32)
    return Accumulate(sums, tokens), (sums.sum(axis=(0, 1)) / F32(4)).astype(F32), own


def _counts_overwritten():
    """An auxiliary loss times the tokens of all ranks, where the rank's own are due."""
    sums, tokens = _normal(2, 1, 5, seed=4), np.array([[5], [3]])
    right = (sums.sum(axis=(0, 1)) / F32(8)).astype(F32)
    return Accumulate(sums, tokens), right, (sums[:, 0] * (F32(8) / tokens.astype(F32))).sum(axis=0) / F32(8)


def _norm_weight():
    """The gradient of a weight that all ranks hold, from their own heads: not added up."""
    rows = _normal(P, 6, seed=5)
    return Matmul(np.ones((1, P), F32), rows, P), rows.sum(axis=0)[None], rows[:1]


def _replicated_summed():
    """A gradient that all ranks have whole is added over them: its norm is twice as large, as is printed there."""
    a, b = _normal(3, 8, seed=6), _normal(8, 4, seed=7)
    right = added(parts_of(a, b, P), F32)
    return Matmul(a, b, P), right, right + right


def _mean_of_a_sum():
    """A gradient that has the whole loss in it is averaged over the ranks: half of it with two, as is printed there."""
    sums = _normal(2, 1, 5, seed=8)
    right = (sums.sum(axis=(0, 1)) / F32(2)).astype(F32)
    return Accumulate(sums), right, right / F32(2)


def _scale_left_out():
    """6 and 10 where 3 and 5 are due: a mean whose division is left out."""
    sums = np.array([[[2.0, 4.0]], [[4.0, 6.0]]], F32)
    wrong = sums.sum(axis=(0, 1))
    assert wrong.tolist() == [6.0, 10.0]
    return Accumulate(sums), wrong / F32(2), wrong


_READ, _TOLD = "read in the issue", "told by a digest of it"
FINDINGS = {
    "1": Finding(
        "label smoothing over a rank's classes",
        _READ,
        *_label_smoothing(),
        "labels are smoothed over the classes of rank 0, and not over all, by alpha K/(K - 1)",
    ),
    "2": Finding("gathered logits in a split loss: log P too much", _READ, *_gathered_logits(), "log P too much"),
    "3": Finding(
        "ratios of a rank's token counts: 14/3, not 4",
        _READ,
        *_local_ratios(),
        "weighted by tokens that were counted otherwise, as before a shift or mask",
    ),
    "4": Finding(
        "recomputed activations of another replica",
        _READ,
        *_replicas_mixed(),
        "the operand of rank 1 is of another batch, 1 rows on",
    ),
    "7": Finding(
        "embeddings scattered over another group", _READ, *_own_scatter(), "rank 1 has the left operand of rank 0"
    ),
    "8": Finding(
        "attention sinks left out of the norm",
        _READ,
        *_sinks_left_out(),
        "the result is the part of rank 0, not reduced",
    ),
    "9": Finding("means over context shards", _READ, *_means_of_shards(), "divided by the ranks' own token counts"),
    "9, uneven": Finding(
        "means over context shards of 3 and 1 tokens",
        _READ,
        *_uneven_shards(),
        "divided by the ranks' own token counts",
    ),
    "10": Finding(
        "a router's token count overwritten",
        _READ,
        *_counts_overwritten(),
        "every rank multiplies by the tokens of all, where its own are due",
    ),
    "11": Finding(
        "the gradient of a shared norm, not added up",
        _READ,
        *_norm_weight(),
        "the result is the part of rank 0, not reduced",
    ),
    "B1": Finding(
        "a replicated gradient, added up",
        _READ,
        *_replicated_summed(),
        "multiplied by P = 2: the result that every rank has whole is added up",
    ),
    "C1": Finding("an auxiliary loss divided once more", _TOLD, *_mean_of_a_sum(), "divided by P = 2 twice"),
    "C2": Finding("a scale that is left out: 6, 10, not 3, 5", _TOLD, *_scale_left_out(), "not divided"),
}
"""Number there -> what is rebuilt."""
