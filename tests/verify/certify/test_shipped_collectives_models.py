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


def coding(numbers, width, sign):
    """What becomes of float16 numbers, the first of which is the largest, in units of 2^-24: as `quick_code` has it."""
    top, largest = 2 ** (width - 1), float(numbers[0])
    scale = -sign * float(shipped.halves(-largest / top))
    step = -sign * float(shipped.halves(-sign * scale + 2.0**-24))
    up = -sign * float(shipped.halves(-sign / step))
    block = {"size": abs(largest), "scale": scale, "step": step}
    yield {name: Fraction(v) * 2**24 for name, v in block.items()} | {"up": Fraction(up) / 2**16}, {}
    blocks = np.zeros((1, 32, 2), np.float16)
    blocks[0, : len(numbers), 0] = numbers
    found = shipped.quick_read(shipped.quick_code(blocks.ravel(), width), 64, width).reshape(32, 2)[: len(numbers), 0]
    for number, read in zip(numbers, found, strict=True):
        x = -sign * float(number)
        scaled = float(shipped.halves(x * up))
        code = float(np.rint(np.clip(scaled, -top, top - 1)))
        assert float(shipped.halves(code * scale)) == -sign * float(read)
        lengths = {"number": x, "product": scaled * scale, "multiple": code * scale, "read": -sign * float(read)}
        case = "rounded" if -top <= scaled <= top - 1 else "cut above" if scaled > 0 else "cut below"
        yield {name: Fraction(v) * 2**24 for name, v in lengths.items()} | {"scaled": Fraction(scaled)}, case


@pytest.mark.models("shipped_collectives.quickreduce.error")
@pytest.mark.parametrize("width", [3, 4, 6, 8])
def test_codes_in_float16(width):
    """Blocks of all sizes that the claim is about, of either sign: what every operation rounds."""
    claim, rng, seen = f"{_PREFIX}quickreduce.error", np.random.default_rng(width), set()
    at = {"b": width}

    def holds(name, values, sides=True):
        for goal in [f"{name}, {side}" for side in ("not above", "not below")] if sides else [name]:
            assert failing(goals(claim, **at)[goal], **values) == [], (goal, values)
        seen.add(name)

    sizes = [*2 ** (width - 1) / 64900 * np.array([1.0, 1.5, 3.0]), *2.0 ** rng.uniform(-8, 15.9, 6), 65000 - 8]
    for size in sizes:
        for sign in (1.0, -1.0):
            others = rng.uniform(-1, 1, 24) * size
            numbers = shipped.halves(sign * np.array([size, -0.998 * size, size / 3, 0.0, -size / 2, *others]))
            (block, _), *rest = coding(numbers, width, sign)
            holds("not clamped", block, False)
            holds("near", block, False)
            whole = {name: v / 2**24 for name, v in block.items()}
            holds("a normal number, in units of one", whole, False)
            for values, case in rest:
                values = block | values
                holds(case, values)
                holds("read", values)
                turned = -1 if values["number"] < 0 else 1
                holds("product", values | {"entry": turned * values["number"], "scaled": turned * values["scaled"]})
    assert {"rounded", "read", "product"} < seen
    assert "cut above" in seen
    rows = shipped.halves(rng.standard_normal((8, 64)))
    read = [shipped.quick_read(shipped.quick_code(row, width), 64, width) for row in rows]
    whole = [shipped.quick_sum(read[: count + 1]) for count in range(8)]
    sizes = [[Fraction(float(np.abs(row[at::2]).max())) * 2**24 for at in (0, 1)] for row in rows]
    for i in range(64):
        exact = [sum(Fraction(float(row[i])) for row in read[: count + 1]) for count in range(8)]
        lost = [abs(Fraction(float(total[i])) - e) * 2**24 * 2000 for total, e in zip(whole, exact, strict=True)]
        for count in range(1, 8):
            off = abs(lost[count] - lost[count - 1])
            values = {"ranks": count, "behind": sum(s[i % 2] for s in sizes[:count]), "size": sizes[count][i % 2]}
            holds("one more sum", values | {"lost": lost[count - 1], "rounding": off}, False)
        ranks = [Fraction(float(r[i] - x[i])) * 2**24 for r, x in zip(read, rows, strict=True)]
        before = (sum(s[i % 2] for s in sizes[:7]), sum(ranks[:7]), 7)
        values = {"top": sizes[7][i % 2], "off": ranks[7]} | {f"before_{k}": v for k, v in enumerate(before)}
        for side in ("not above", "not below"):
            assert failing(goals(claim, **at)[f"ranks, {side}: one more"], **values) == []
        total = Fraction(float(np.abs(whole[7][i % 2 :: 2]).max())) * 2**24
        again = shipped.quick_read(shipped.quick_code(whole[7], width), 64, width)[i]
        second = (Fraction(float(again)) - Fraction(float(whole[7][i]))) * 2**24
        last = (Fraction(float(whole[7][i])) - exact[7]) * 2**24 * 2000
        holds("all", {"maxima": before[0] + sizes[7][i % 2], "total": total, "P": 8, "errors": sum(ranks),
                      "lost": last, "second": second})  # fmt: skip


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
