"""What the models of shipped collectives take as given, at codes whose scale is one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from goal_values import failing, goals

from commbounds.collectives.shipped_collectives import loongforge_hook, nccl_sum, quantization_hook
from commbounds.collectives.shipped_collectives.flashinfer import flashinfer_code, flashinfer_read
from commbounds.collectives.shipped_collectives.loongforge import loongforge_code
from commbounds.collectives.shipped_collectives.nccl import float8
from commbounds.collectives.shipped_collectives.quickreduce import halves, quick_code, quick_read, quick_sum
from commbounds.collectives.shipped_collectives.torchcomms import rounded_by_words
from commbounds.collectives.shipped_collectives.torchft import torchft_code, torchft_read
from commbounds.verify import conformance as cf

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


@pytest.mark.models(
    "shipped_collectives.torchft.error", "shipped_collectives.flashinfer.error", "shipped_collectives.loongforge.error"
)
@pytest.mark.parametrize("name", ["torchft", "flashinfer", "loongforge"])
def test_codes_in_float8(name):
    claim = f"{_PREFIX}{name}.error"
    divisor = {"torchft": {"divisor": 2}, "flashinfer": {}, "loongforge": {"P": 6}}[name]

    def read(row):
        if name == "torchft":
            return torchft_read(torchft_code(row[None], True), row.size, True)
        code = flashinfer_code if name == "flashinfer" else loongforge_code
        return flashinfer_read(code(row, row.size), row.size, row.size)

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
    found = [torchft_read(torchft_code(row[None], False), row.size, False) for row in rows]
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
        (means, _), point = quantization_hook(row[None]), Fraction(int(-np.rint(np.float32(low))))
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
    found = [wide(quantization_hook(row[None])[0][0]) for row in rows]
    of_sums(claim, [Fraction(1)] * 6, Fraction(1, 2), found, list(map(wide, rows)), P=6)


def coding(numbers, width, sign):
    """What becomes of float16 numbers, the first of which is the largest, in units of 2^-24: as `quick_code` has it."""
    top, largest = 2 ** (width - 1), float(numbers[0])
    scale = -sign * float(halves(-largest / top))
    step = -sign * float(halves(-sign * scale + 2.0**-24))
    up = -sign * float(halves(-sign / step))
    block = {"size": abs(largest), "scale": scale, "step": step}
    yield {name: Fraction(v) * 2**24 for name, v in block.items()} | {"up": Fraction(up) / 2**16}, {}
    blocks = np.zeros((1, 32, 2), np.float16)
    blocks[0, : len(numbers), 0] = numbers
    found = quick_read(quick_code(blocks.ravel(), width), 64, width).reshape(32, 2)[: len(numbers), 0]
    for number, read in zip(numbers, found, strict=True):
        x = -sign * float(number)
        scaled = float(halves(x * up))
        code = float(np.rint(np.clip(scaled, -top, top - 1)))
        assert float(halves(code * scale)) == -sign * float(read)
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
            numbers = halves(sign * np.array([size, -0.998 * size, size / 3, 0.0, -size / 2, *others]))
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
    rows = halves(rng.standard_normal((8, 64)))
    read = [quick_read(quick_code(row, width), 64, width) for row in rows]
    whole = [quick_sum(read[: count + 1]) for count in range(8)]
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
        again = quick_read(quick_code(whole[7], width), 64, width)[i]
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
        terms = wide(float8(rng.choice([-1, 1], P) * 2.0 ** rng.uniform(-4, 3, P), element))
        held, sizes = terms[0], abs(terms[0])
        for count, term in enumerate(terms[1:]):
            stack = np.array([[float(term)], [float(held)]])
            (total,) = wide(nccl_sum(stack, element)[0][0])
            values = {"loss": unit / (1 + unit), "left": sizes, "right": abs(term), "further": count, "others": 0,
                      "rounding": abs(total - held - term)}  # fmt: skip
            name = "many more left" if count else "of like numbers"
            assert failing(goals(claim)[name], **values) == []
            seen.add(name)
            held, sizes = total, sizes + abs(term)
    assert len(seen) == 2


def steps_of(x):
    """How far apart numbers of bfloat16 are there."""
    return Fraction(2) ** (math.frexp(abs(float(x)))[1] - 8)


@pytest.mark.models("shipped_collectives.torchcomms.error")
def test_roundings_by_words():
    claim, rng = f"{_PREFIX}torchcomms.error", np.random.default_rng(0)
    rows = [np.float32([448.0, *row[1:]]) for row in ROWS]
    found = [rounded_by_words(row, rng.integers(2**16, size=row.size)) for row in rows]
    for x, y in zip(wide(np.concatenate(rows)), wide(np.concatenate(found)), strict=True):
        assert failing(goals(claim)["an entry"], top=abs(x), step=steps_of(x), off=abs(y - x)) == []
    sizes = [abs(Fraction(float(row[1]))) for row in rows]
    of_sums(claim, sizes, Fraction(1, 128), list(map(wide, found)), list(map(wide, rows)))


@pytest.mark.models("shipped_collectives.torchcomms.variance")
def test_the_law_of_roundings_by_words():
    claim, before = f"{_PREFIX}torchcomms.variance", {"before_0": Fraction(0), "before_1": Fraction(0)}
    x = np.abs(np.concatenate(ROWS))
    law = cf.word_law(rounded_by_words, x)
    for entry, variance, bias in zip(wide(x), law.variance, law.bias, strict=True):
        step = steps_of(entry)
        fraction = entry / step % 1
        assert (Fraction(variance), bias) == (fraction * (1 - fraction) * step**2, 0)
        for name in ("the mean", "the square", "an entry of 128 steps", "a larger entry"):
            given = {"level_above": entry / step - 128 - fraction, "fraction": fraction}
            assert failing(goals(claim)[name], **given) == []
        one = {"top": entry**2, "off": Fraction(variance)}
        assert failing(goals(claim)["ranks: one more"], **one, **before) == []
        before = {"before_0": before["before_0"] + one["top"], "before_1": before["before_1"] + one["off"]}


@pytest.mark.models("shipped_collectives.loongforge.kept")
def test_what_is_kept_and_returned():
    """All numbers are multiples of 2^-4 here, and scales too: nothing is rounded but to codes."""
    claim, P = f"{_PREFIX}loongforge.kept", 2
    tops, entries = (Fraction(448), Fraction(56)), ((431, 100), (Fraction(431, 8), Fraction(100, 8)))
    stack = np.float32([[v for e in own for v in (top, e)] for top, own in zip(tops, entries, strict=True)])
    means = wide(loongforge_hook(stack, 2, 2, "both")[0][0].reshape(2, 2)[:, 1])

    def read(*row):
        numbers = np.float32([float(v) for v in row])
        return wide(flashinfer_read(loongforge_code(numbers, 2), 2, 2))[1]

    held, mean_held, total = [Fraction(0)] * P, Fraction(0), Fraction(0)
    mean_top = sum(tops) / P
    for t in range(2):
        due = [Fraction(own[t]) + h for own, h in zip(entries, held, strict=True)]
        reads = [read(top, v) for top, v in zip(tops, due, strict=True)]
        now = [a - b for a, b in zip(due, reads, strict=True)]
        due_mean = sum(reads) / P + mean_held
        assert means[t] == read(mean_top, due_mean)
        for name in ("not above", "not below"):
            for top, before, off in zip(tops, held, now, strict=True):
                values = {"top": top, "before": abs(before), "off": off}
                assert failing(goals(claim)[f"ranks keep, {name}"], **values) == []
                more = {"before_0": 0, "before_1": 0, "before_2": 0}
                assert failing(goals(claim)[f"ranks, {name}: one more"], **values, **more) == []
            values = {"top": mean_top, "before": abs(mean_held), "off": due_mean - means[t]}
            assert failing(goals(claim)[f"means keep, {name}"], **values) == []
            values = {"P": P, "maxima": sum(tops), "errors": sum(now), "second": P * (due_mean - means[t])}
            assert failing(goals(claim)[f"all, {name}"], **values) == []
        assert failing(goals(claim)["read"], top=tops[0], before=abs(held[0]), size=abs(reads[0])) == []
        values = {
            "total_before": total,
            "returned": means[t],
            "gradient": sum(Fraction(own[t]) for own in entries) / P,
            "held": sum(now) / P,
            "held_mean": due_mean - means[t],
            "errors_before": sum(held) / P,
            "second_before": mean_held,
            "read_mean": sum(reads) / P,
        }
        assert failing(goals(claim)["returned or kept"], **values) == []
        total += means[t] - values["gradient"]
        held, mean_held = now, values["held_mean"]
    assert any(held)
