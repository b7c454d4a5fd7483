"""What the models of shipped collectives take as given, at codes whose scale is one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from goal_values import failing, goals

from commbounds.collectives import shipped_collectives as shipped

_PREFIX = "shipped_collectives."
ROWS = [np.float32([448.0, *row]) for row in np.random.default_rng(0).uniform(-448.0, 448.0, (6, 7))]


def wide(values):
    return [Fraction(float(v)) for v in values]


def of_sums(claim, largest, share, read, exact, **last):
    """What ranks are off by, added up one after another, the sum's own code and the mean of it."""
    errors, maxima, met = Fraction(0), Fraction(0), set()
    for off, top in zip(([a - b for a, b in zip(r, x, strict=True)][1] for r, x in zip(read, exact, strict=True)),
                        largest, strict=True):  # fmt: skip
        for name, sign in (("not above", 1), ("not below", -1)):
            before = {"before_0": maxima, "before_1": errors}
            assert failing(goals(claim)[f"ranks, {name}: one more"], top=top, off=off, **before) == []
            met.add(sign * off <= share * top)
        errors, maxima = errors + off, maxima + top
    assert met == {True}
    for name in ("not above", "not below"):
        assert failing(goals(claim)[f"all, {name}"], errors=errors, maxima=maxima, **last) == []


@pytest.mark.models("shipped_collectives.torchft.error", "shipped_collectives.flashinfer.error")
@pytest.mark.parametrize("name", ["torchft", "flashinfer"])
def test_codes_in_float8(name):
    claim, divisor = f"{_PREFIX}{name}.error", {"divisor": 2} if name == "torchft" else {}

    def read(row):
        if name == "torchft":
            return shipped.torchft_read(shipped.torchft_code(row[None], True), row.size, True)
        return shipped.flashinfer_read(shipped.flashinfer_code(row, row.size), row.size, row.size)

    for row in ROWS:
        for x, y in zip(wide(row), wide(read(row)), strict=True):
            if abs(x) < 1:
                assert failing(goals(claim)["a small entry"], off=abs(y - x)) == []
                continue
            power = 2 ** math.floor(math.log2(abs(x)))
            assert failing(goals(claim)["an entry"], off=abs(y - x), power=power) == []
    whole = np.float32([448.0, 100.0])
    second = wide(read(whole))[1] - 100
    last = {"total": 448, "second": second, "last": Fraction(1, 2), **divisor}
    of_sums(
        claim, [Fraction(448)] * 6, Fraction(1, 28), [wide(read(row)) for row in ROWS], list(map(wide, ROWS)), **last
    )


@pytest.mark.models("shipped_collectives.torchft.error_cut")
def test_codes_that_are_cut():
    claim, rows = f"{_PREFIX}torchft.error_cut", [np.float32([127.0, *row[1:] / 4]) for row in ROWS]
    found = [shipped.torchft_read(shipped.torchft_code(row[None], False), row.size, False) for row in rows]
    for x, y in zip(map(abs, wide(np.concatenate(rows))), map(abs, wide(np.concatenate(found))), strict=True):
        for name in ("a step", "towards zero"):
            assert failing(goals(claim)[name], level=x, code=y, step=1) == []
    last = {"total": 127, "second": Fraction(-1, 2), "divisor": 1}
    of_sums(claim, [Fraction(127)] * 6, Fraction(1, 127), list(map(wide, found)), list(map(wide, rows)), **last)


@pytest.mark.models("shipped_collectives.hook.error")
def test_codes_from_a_zero_point():
    """Where the zero point is rounded, the ends are clipped by half a step at most."""
    claim, seen = f"{_PREFIX}hook.error", set()
    for low in (-100.5, -1.5, -254.5, -3.25, -3.75):
        row = np.float32([low, low + 255, *np.linspace(low, low + 255, 40)])
        (means, _), point = shipped.quantization_hook(row[None]), Fraction(int(-np.rint(np.float32(low))))
        for x, y in zip(wide(row), wide(means[0]), strict=True):
            code = Fraction(int(np.rint(float(x))))
            place = "first" if code + point < 0 else "last" if code + point > 255 else "within"
            seen.add(place)
            given = {"level": x, "code": code, "point": point, "low": Fraction(low), "high": Fraction(low) + 255}
            assert y == min(max(code + point, 0), 255) - point
            for side in ("not above", "not below"):
                assert failing(goals(claim)[f"{place}, {side}"], **given) == []
    assert seen == {"last", "within"}, "the least entry and the zero point are rounded alike"
    rows = [np.float32([255.0, *np.abs(row[1:]) / 2]) for row in ROWS]
    found = [wide(shipped.quantization_hook(row[None])[0][0]) for row in rows]
    of_sums(claim, [Fraction(1)] * 6, Fraction(1, 2), found, list(map(wide, rows)), P=6)


@pytest.mark.models("shipped_collectives.nccl.error")
@pytest.mark.parametrize(("element", "unit"), [("e4m3", Fraction(1, 16)), ("e5m2", Fraction(1, 8))])
def test_sums_in_float8(element, unit):
    """A term more, of either sign, at every length: what its addition rounds, in two cases, whatever is drawn."""
    claim, seen = f"{_PREFIX}nccl.error", set()
    rng = np.random.default_rng(0)
    for P in range(2, 20):
        terms = wide(shipped.float8(rng.choice([-1, 1], P) * 2.0 ** rng.uniform(-4, 3, P), element))
        held, sizes = terms[0], abs(terms[0])
        for count, term in enumerate(terms[1:]):
            stack = np.array([[float(term)], [float(held)]])
            (total,) = wide(shipped.nccl_sum(stack, element)[0][0])
            values = {"loss": unit / (1 + unit), "left": sizes, "right": abs(term), "further": count, "others": 0,
                      "rounding": abs(total - held - term)}  # fmt: skip
            name = "many more left" if count else "of like numbers"
            assert failing(goals(claim)[name], **values) == []
            seen.add(name)
            held, sizes = total, sizes + abs(term)
    assert len(seen) == 2
