"""What the models of shipped take as given, and what they say is measured, against exact laws and runs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from goal_values import bound_of, check_goals, failing, goals, value

from commbounds.collectives.shipped import dgc_steps
from commbounds.compressors.shipped import (
    Atomic,
    QuantileBuckets,
    ReplacementRandK,
    ThreeLC,
    TwoMeans,
    UniformBuckets,
    dynamic_tree,
    inceptionn,
)
from commbounds.compressors.shipped.dynamictree import DYNAMIC_TREE
from commbounds.theory.shipped import models_eightbits


@pytest.mark.models(
    "shipped.replacementrandk.bias",
    "shipped.replacementrandk.error",
    "shipped.replacementrandk.shrunk_contraction",
    "shipped.replacementrandk.support",
    "shipped.replacementrandk.unbiased_added",
    "shipped.replacementrandk.variance",
)
@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (3, 2), (3, 4)])
def test_places_drawn(n, k):
    """How often a place is sent, and the mean and the variance of what is added up there."""
    x = tuple(Fraction(v) for v in range(1, n + 1))
    once, law = ReplacementRandK(k).law(x), ReplacementRandK(k, added=True).law(x)
    drawn, gain = 1 - (1 - Fraction(1, n)) ** k, Fraction(n, k)
    for i, v in enumerate(x):
        assert sum(p for p, y in once if y[i]) == drawn
        assert {y[i] for _, y in once} <= {0, gain * v}
        assert sum(p * y[i] for p, y in law) == v
        variance = sum(p * (y[i] - v) ** 2 for p, y in law) / v**2
        assert variance == k * gain**2 * Fraction(1, n) * (1 - Fraction(1, n))
    assert bound_of("shipped.replacementrandk.variance", n=n, k=k) == variance
    assert bound_of("shipped.replacementrandk.bias", n=n, k=k) == 1 - drawn * gain


@pytest.mark.models(
    "shipped.atomic.support", "shipped.atomic.unbiased", "shipped.atomic.variance", "shipped.atomic.variance_balanced"
)
@pytest.mark.parametrize("x", [(1, 1, 1), (5, 1, 1), (4, -2, 1, 0), (9, 8, 1)])
@pytest.mark.parametrize("budget", [Fraction(1, 2), Fraction(3, 2), Fraction(2), Fraction(3)])
def test_atomo(x, budget):
    """The level that the probabilities make up, and the error by it."""
    law = Atomic(budget).law(tuple(map(Fraction, x)))
    error = sum(p * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for p, y in law)
    chances = [sum(p for p, y in law if y[i]) for i in range(len(x))]
    levels = {abs(y[i]) for _, y in law for i, chance in enumerate(chances) if y[i] and chance < 1}
    n, square = len(x), sum(v * v for v in x)
    if not levels:
        assert error == 0
        return
    (level,) = levels
    certain = [abs(v) for v, chance in zip(x, chances, strict=True) if chance == 1]
    others = [abs(v) for v, chance in zip(x, chances, strict=True) if chance < 1]
    assert all(v == level * chance for v, chance in zip(map(abs, x), chances, strict=True) if chance < 1)
    given = {
        "n": n,
        "budget": budget,
        "certain": len(certain),
        "total": sum(v * v for v in certain),
        "sum": sum(others),
        "squares": sum(v * v for v in others),
        "level": level,
    }
    assert error == level * given["sum"] - given["squares"]
    assert failing(goals("shipped.atomic.variance")["fewer"], **given) == []
    assert value(goals("shipped.atomic.variance")["fewer"].show, given) == (Fraction(n) / budget - 1) * square - error
    assert failing(goals("shipped.atomic.support")["some are drawn"], **given) == []


@pytest.mark.models(
    "shipped.quantilebuckets.error",
    "shipped.quantilebuckets.nonexpansive",
    "shipped.quantilebuckets.sum",
    "shipped.twomeans.below_scaledsign",
    "shipped.twomeans.contraction",
    "shipped.twomeans.contraction_halves",
    "shipped.twomeans.error",
    "shipped.twomeans.sum",
    "shipped.uniformbuckets.error",
    "shipped.uniformbuckets.nonexpansive",
    "shipped.uniformbuckets.sum",
)
@pytest.mark.parametrize("x", [(1, 3, -1, -4), (2, 0, 0, 5, 1), (-1, -2, -4), (0, 0, 3)])
@pytest.mark.parametrize("compressor", [TwoMeans(), UniformBuckets(2, 2), QuantileBuckets(2)], ids=str)
def test_groups(compressor, x):
    """Entries with one output are those whose mean it is; of 1-bit SGD they have one sign."""
    ((_, y),) = compressor.law(tuple(map(Fraction, x)))
    name = f"shipped.{type(compressor).__name__.lower()}"
    for output in set(y):
        group = [v for v, w in zip(x, y, strict=True) if w == output]
        given = {"count": len(group), "sum": sum(group), "q": sum(v * v for v in group)}
        assert output == Fraction(given["sum"], given["count"])
        assert failing(goals(f"{name}.error")["one more group"], **given, squares=0, captured=0) == []
        assert failing(goals(f"{name}.sum")["a group"], **given) == []
        if name.endswith("buckets"):
            check_goals(f"{name}.nonexpansive", ["a group"], given)
        else:
            check_goals(f"{name}.scale_equivariance", ["a group's mean"], given)
        if name.endswith("twomeans"):
            larger = max(sum(v < 0 for v in x), sum(v >= 0 for v in x))
            for claim in ("contraction", "contraction_halves"):
                assert failing(goals(f"{name}.{claim}")["a group"], **given, n=len(x), larger=larger) == []
    negative, others = [-v for v in x if v < 0], [v for v in x if v >= 0]
    given = {"negative": len(negative), "low": sum(negative), "others": len(others), "high": sum(others)}
    given |= {"n": len(x), "norm1": sum(map(abs, x)), "squares": sum(v * v for v in x)}
    groups = "two groups" if negative and others else "one group"
    check_goals("shipped.twomeans.below_scaledsign", [groups], given)


@pytest.mark.models("shipped.threelc.contraction", "shipped.threelc.entry_error")
@pytest.mark.parametrize("sparsity", ["1", "5/4", "7/4"])
def test_three_values(sparsity):
    """What becomes zero and what the scale, in units of the largest entry."""
    s, x = Fraction(sparsity), tuple(Fraction(v, 16) for v in (16, -14, 10, 8, 7, 3, 0))
    ((_, y),) = ThreeLC(s).law(x)
    assert abs(y[0]) == s
    for v, w in zip(x[1:], y[1:], strict=True):
        given = {"a": abs(v), "sparsity": s, "n": len(x)}
        zero = abs(v) < s / 2
        assert abs(w) == (0 if zero else s)
        where = ("becomes zero", "an entry below") if zero else ("becomes the scale", "an entry not below")
        for claim, goal in zip(("entry_error", "contraction"), where, strict=True):
            assert failing(goals(f"shipped.threelc.{claim}")[goal], **given) == []


@pytest.mark.models(
    "shipped.dgc_steps.conserved",
    "shipped.dgc_steps.delayed",
    "shipped.dgc_steps.dense_plain",
    "shipped.dgc_steps.dense_unmasked",
)
@pytest.mark.parametrize("masking", [False, True])
def test_momenta(masking):
    """Updates of two entries, of which the larger is sent, by the words of the models."""
    gradients, u, v, total, came = [(4.0, 1.0), (0.0, 1.0), (2.0, 0.0)], [0.0, 0.0], [0.0, 0.0], 0.0, 0.0
    run, _ = dgc_steps(np.array([sum(gradients, ())]), 3, 1, 0.5, masking)
    for g, update in zip(gradients, run.updates, strict=True):
        u = [0.5 * a + b for a, b in zip(u, g, strict=True)]
        before, offered = list(v), [a + b for a, b in zip(v, u, strict=True)]
        sent = [w if abs(w) == max(map(abs, offered)) else 0.0 for w in offered]
        v = [a - b for a, b in zip(offered, sent, strict=True)]
        assert update.tolist() == sent
        given = {"total": total, "v": sum(before), "came": came, "u": sum(u), "sent": sum(sent), "after": sum(v)}
        if not masking:
            assert failing(goals("shipped.dgc_steps.conserved")["a step"], **given) == []
        total, came = total + sum(sent), came + sum(u)
        if masking:
            u = [0.0 if b else a for a, b in zip(u, sent, strict=True)]
    assert run.accumulated[0].tolist() == v


@pytest.mark.models(
    "shipped.dynamic_tree.contraction", "shipped.dynamic_tree.entry_error", "shipped.dynamic_tree.smallest"
)
def test_stretches_of_the_dynamic_map():
    """The values of the map, and how far off it is on each of the stretches that the model goes through."""
    first, last, half, below = (
        [Fraction(int(v.p), int(v.q)) for v in getattr(models_eightbits, name)]
        for name in ("_first", "_last", "_half", "_below")
    )
    magnitudes = [v for v in DYNAMIC_TREE if 0 < v < 1]
    assert [magnitudes[2**i - 1] for i in range(7)] == first
    assert [magnitudes[2 ** (i + 1) - 2] for i in range(7)] == last
    claim, n = goals("shipped.dynamic_tree.contraction"), 2048
    stretches = {
        "up to decade 5": (Fraction(0), below[5], (first[5] - last[4]) / 2),
        "decade 5": (below[5], last[5], half[5]),
        "from there to the first of decade 6": (last[5], first[6], (first[6] - last[5]) / 2),
        "from there on": (first[6] + half[6], Fraction(1), half[6]),
    }
    for name, (low, high, most) in stretches.items():
        places = [low + (high - low) * Fraction(j, 16) for j in range(17)]
        pairs = np.array([[1.0, -float(a)] for a in places])
        for a, read in zip(places, dynamic_tree(pairs.ravel(), 2).values[1::2].tolist(), strict=True):
            off = abs(Fraction(read) + Fraction(float(a)))
            assert off <= most + Fraction(1, 2**52)
            assert failing(claim[name], a=a, off=min(off, most), n=n) == []
    for part in (Fraction(j, 8) for j in range(9)):
        assert failing(claim["from there to 73/640"], part=part, n=n) == []
        a = first[6] + half[6] * part
        off = Fraction(float(dynamic_tree(np.array([1.0, float(a)])).values[1])) - first[6]
        assert abs(off) <= Fraction(1, 2**52)


@pytest.mark.models("shipped.inceptionn.enlarged", "shipped.inceptionn.entry_error")
@pytest.mark.parametrize("binades", [0, 3, 7, 10, 28])
def test_classes_of_inceptionn(binades):
    """Every magnitude is in a case of the model, whose conditions it meets, with the bound above what is lost."""
    claim, seen = goals("shipped.inceptionn.entry_error"), set()
    for a in (Fraction(j, 2**k) for k in (4, 7, 10, 16, 30) for j in range(1, 16)):
        read = Fraction(float(inceptionn(np.array([float(a)]), binades).values[0]))
        given = {"a": a, "off": abs(a - read), "binades": binades}
        if read == 0:
            names = ["dropped"]
        elif read == Fraction(1, 128) != a and a < Fraction(1, 64):
            names = ["read as 2^-7, enlarged", "read as 2^-7, shortened"]
        else:
            names = ["sixteen bits" if a >= Fraction(1, 2 ** (binades // 2)) else "eight bits"]
            assert read <= a
        seen |= set(names)
        for name in names:
            assert failing(claim[name], **given) == [], (name, a)
        larger = goals("shipped.inceptionn.enlarged")
        if read > a:
            assert failing(larger["read as 2^-7"], **given) == []
        elif read:
            assert failing(larger["cut"], a=a, off=read) == []
    assert "dropped" in seen or binades == 28
