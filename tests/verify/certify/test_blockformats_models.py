"""What the models of blockformats take as given, against the formats' elements and kernels."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from goal_values import failing, goals, value

from commbounds.compressors.blockformats import ELEMENTS, NVFP4, FourOverSix, Microscaling, SharedMicroexponents
from commbounds.theory.blockformats import models_ends
from commbounds.theory.blockformats.models_blocks import E2M1

TOPS = [1 + Fraction(i, 64) for i in range(64)]


@pytest.mark.models(
    "blockformats.microscaling.maximum",
    "blockformats.microscaling.maximum_of_nearest",
    "blockformats.microscaling.maximum_unclipped",
    "blockformats.stochastic.bias",
    "blockformats.stochastic.unbiased",
    "blockformats.stochastic_nvfp4.unbiased",
)
@pytest.mark.parametrize("name", list(ELEMENTS))
def test_formats(name):
    """Half of a gap above one, what is clipped, and the largest element, in units of the largest power of two."""
    element = ELEMENTS[name]
    power, v, u = Fraction(2) ** element.emax, 2 - element.reach, element.unit
    assert u <= v / 2
    for t in TOPS:
        read = Fraction(float(Microscaling(name, 1, "floor")(np.array([float(t * power)]))[0])) / power
        given = {"top": t, "overshoot": v, "element_unit": u, "off": abs(read - t)}
        clipped = t > 2 - v
        assert read == 2 - v if clipped else abs(read - t) <= u
        assert failing(goals("blockformats.microscaling.maximum")["clipped" if clipped else "rounded"], **given) == []
        if clipped:
            assert failing(goals("blockformats.stochastic.bias")["clipped"], **given) == []
        quantiser = Microscaling(name, 1, "nearest")
        scale = Fraction(2) ** int(quantiser.compress(np.array([float(t)])).exponents[0])
        off = abs(Fraction(float(quantiser(np.array([float(t)]))[0])) - t) / (element.reach * power * scale)
        nearest = {"ratio": t / (element.reach * power * scale), "off": off}
        goal = goals("blockformats.microscaling.maximum_of_nearest")["clipped" if nearest["ratio"] > 1 else "rounded"]
        assert failing(goal, **nearest) == []
        if element.floating:
            read = Fraction(float(Microscaling(name, 1, "rceil")(np.array([float(t)]))[0]))
            rounded = {**given, "off": abs(read - t)}
            assert failing(goals("blockformats.microscaling.maximum_unclipped")["rounded"], **rounded) == []


@pytest.mark.models(
    "blockformats.microscaling.contraction_even",
    "blockformats.microscaling.contraction_rceil",
    "blockformats.microscaling.contraction_wide",
    "blockformats.nvfp4.contraction",
)
@pytest.mark.parametrize(
    ("rule", "low", "high"), [("even", Fraction(7, 2), 7), ("rceil", 3, 6), ("ceil", 2, 4), ("double", 2, 4)]
)
def test_nearest_elements(rule, low, high):
    """The elements, where the largest entry lies, and what the others become."""
    assert list(E2M1) == list(ELEMENTS["e2m1"].magnitudes)
    claim = f"blockformats.microscaling.contraction_{'wide' if rule in ('ceil', 'double') else rule}"
    share, met = Fraction(35, 227) if rule == "even" else Fraction(31, 95), set()
    for top in (low + Fraction(high - low, 32) * i for i in range(1, 32)):
        for a in (top * Fraction(j, 16) for j in range(17)):
            read = [Fraction(v) for v in Microscaling("e2m1", 2, rule)(np.array([float(top), float(a)])).tolist()]
            assert read[0] in E2M1, "the scale is one"
            goal = goals(claim)[f"others near {read[1]}"]
            assert failing(goal, a=a, share=share) == []
            assert value(goal.show, {"a": a, "share": share}) == share * a**2 - (read[1] - a) ** 2 + (1 - share) / 16
            met.add(read[1])
            if top > Fraction(17, 3) and rule == "even" and a <= Fraction(51, 8):
                nvfp4 = goals("blockformats.nvfp4.contraction")[f"others near {read[1]}"]
                assert failing(nvfp4, a=a, share=Fraction(1, 40)) == []
        near = failing(goals(claim)[f"the largest near {read[0]}"], top=top, share=share, B=32)
        assert near == []
    assert len(met) >= 6


@pytest.mark.models("blockformats.nvfp4.maximum")
def test_scales():
    """What is to be a scale over what it becomes, beside one of 448: from 17/18 to 17/16."""
    seen = set()
    for entry in np.arange(150.0, 2688.0, 7.0):
        read = NVFP4(1, "nearest")(np.array([2688.0, entry]))
        assert read[0] == 2688
        ratio = Fraction(float(entry)) / Fraction(float(read[1]))
        side = "rounded up" if ratio <= 1 else "rounded down"
        assert failing(goals("blockformats.nvfp4.maximum")[side], ratio=ratio) == []
        if ratio <= 1:
            assert failing(goals("blockformats.nvfp4.maximum")["the element is 6"], ratio=ratio) == []
        seen.add(side)
    assert len(seen) == 2


@pytest.mark.models("blockformats.multihop.mxfp4_ring", "blockformats.multihop.nearest_error")
def test_roundings_of_hops():
    """What a rounding to the nearest element multiplies with, a block of one entry, and what the models make of it."""
    factors = []
    for entry in np.arange(1.0, 2.0, 2.0**-9):
        read = Fraction(float(Microscaling("e2m1", 1)(np.array([entry]))[0]))
        factors.append(read / Fraction(float(entry)))
    assert Fraction(3, 4) < min(factors) < Fraction(19, 25)
    assert Fraction(119, 100) < max(factors) < Fraction(6, 5)
    shown = goals("blockformats.multihop.nearest_error")
    for factor in (min(factors) ** 2, max(factors) ** 2, min(factors) * max(factors)):
        for name in ("an entry grows", "an entry shrinks"):
            assert failing(shown[name], factor=factor, up=Fraction(36, 25), down=Fraction(9, 16)) == []
    for entry in (Fraction(7, 2), Fraction(5), Fraction(23, 4)):
        low, high = (3, 4) if entry < 4 else (4, 6)
        added = value(goals("blockformats.multihop.mxfp4_ring")[f"between {low} and {high}"].show, {"entry": entry})
        assert added == entry**2 / 24 - (entry - low) * (high - entry)


@pytest.mark.models("blockformats.microexponents.maximum")
@pytest.mark.parametrize("entry", [Fraction(1), Fraction(21, 16), Fraction(127, 64), Fraction(2047, 1024)])
@pytest.mark.parametrize("digits", [1, 2, 4])
def test_the_largest_entry_of_shared_microexponents(digits, entry):
    """Half of a step above its power of two, or cut off a step below the next."""
    read = Fraction(float(SharedMicroexponents(digits, 2)(np.array([float(entry), 0.0]))[0]))
    unit = Fraction(1, 2**digits)
    cut = entry > 2 - unit
    assert read == 2 - 2 * unit if cut else abs(read - entry) <= unit
    goal = goals("blockformats.microexponents.maximum")["cut off" if cut else "rounded"]
    assert failing(goal, top=entry, off=abs(read - entry), unit=unit) == []


@pytest.mark.models("blockformats.fouroversix.contraction")
def test_blocks_that_end_at_four_or_six():
    """Of a block 1536, whose scales are exact, an entry is read as the nearer end of the model has it."""
    six, four = (models_ends._borders(last) for last in (6, 4))
    entries = [Fraction(2 * j + 1, 512) for j in range(256)]  # no half-way points
    read = FourOverSix(2)(np.array([[1536.0, 1536.0 * float(a)] for a in entries]).ravel())[1::2].tolist()
    for a, found in zip(entries, read, strict=True):
        near = [next(v for end, v in borders.items() if a <= end) for borders in (six, four)]
        nearer = min(near, key=lambda v: abs(a - v))
        assert Fraction(found) / 1536 == Fraction(int(nearer.p), int(nearer.q))
    between = [name for name in goals("blockformats.fouroversix.contraction") if name.startswith("from ")]
    assert len(between) == len({*six, *four})
