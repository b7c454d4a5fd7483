"""The models of claims about Flash Communication, beside what its kernels do."""

from fractions import Fraction

import numpy as np
import pytest
from goal_values import check_goals, met

from commbounds.collectives.flashcomm.allreduce import (
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer
from commbounds.theory import claims

_G = "flashcomm.groupquant."
_FORMATS = {"float32": (2.0**-24, 2.0**-126), "float16": (2.0**-11, 2.0**-14), "bfloat16": (2.0**-8, 2.0**-126)}


def exact(**numbers):
    return {name: Fraction(float(v)) for name, v in numbers.items()}


def distance(claim, values, error, *names):
    """That goals whose names begin so are met, and show the error's distance from the bound, the nearer of two "
    "signs."""
    shown = [v for (_, name), v in met(claim, values).items() if name.startswith(names)]
    assert shown, (claim, values)
    assert min(shown) == claims()[claim].bound(**values) - abs(error) >= 0


@pytest.mark.models("flashcomm.groupquant.error")
@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_levels(width):
    top, rng = 2**width - 1, np.random.default_rng(width)
    parts = rng.integers(0, 8 * top + 1, 12)
    x = 5.0 + np.concatenate([[0.0, top], parts / 8]) * 0.25  # eighths of a step, which arithmetic keeps exactly
    x[:2] = 5.0, 5.0 + top * 0.25
    q = GroupQuantizer(width, x.size, "float64")
    message, read = q.compress(x), q(x)
    for entry, code, y in zip(x, message.codes, read, strict=True):
        level = Fraction(entry - 5.0) * 4
        below = min(level.__floor__(), int(code))
        values = {
            **exact(low=5.0, high=x[1], x=entry, scale=0.25),
            "code": below,
            "part": level - below,
            "width": width,
        }
        assert y == 5.0 + 0.25 * code
        names = [name for _, name in met(_G + "error", values)]
        assert {"no entry below the first level", "no entry above the last"} <= set(names)
        distance(_G + "error", values, Fraction(y - entry) * 4, "rounded up" if code > below else "rounded down")


def groups(rng, count):
    """Groups of float32 of all kinds: near zero and far, wide and narrow, with subnormal ranges."""
    for _ in range(count):
        size = 10.0 ** rng.integers(-6, 6)
        offset = rng.choice([0.0, 1.0, 100.0]) * size
        yield (rng.standard_normal(9) * size + offset).astype(np.float32)


@pytest.mark.models("flashcomm.groupquant.repaired", "flashcomm.groupquant.stored")
@pytest.mark.parametrize("metadata", list(_FORMATS))
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_stored_levels(metadata, width):
    u, tiny = (Fraction(v) for v in _FORMATS[metadata])
    top = 2**width - 1
    for x in groups(np.random.default_rng(width), 4):
        size = x.astype(np.float64).max() - x.astype(np.float64).min()
        if metadata == "float16" and not (size < 6e4 and abs(x).max() < 6e4):
            continue
        for repaired in (False, True):
            about = GroupQuantizer(width, x.size, metadata, repaired=repaired).compress(x).ranges
            low, high = Fraction(float(x.min())), Fraction(float(x.max()))
            read, step = Fraction(float(about.low[0])), Fraction(float(about.scale[0]))
            scale = (high - low) / top
            if step == 0:
                continue
            for entry in map(Fraction, x.tolist()):
                level = min(max((entry - read) / step, Fraction(0)), Fraction(top))
                code = min(level.__floor__(), top - 1)
                values = {"low": low, "high": high, "x": entry, "code": code, "part": level - code, "width": width}
                if repaired:
                    values |= {"read": read, "scale": step}
                    error = read + round(level) * step - entry
                    assert sum(name.startswith("no entry") for _, name in met(_G + "repaired", values)) == 2
                    distance(_G + "repaired", values, error / step, "rounded")
                    continue
                rounding = u + 2 * u**2 + Fraction(1, 2**22)  # the scale's own rounding in float32 before it is stored
                values |= {
                    "far": max(abs(low), tiny),
                    "wide": max(scale, tiny),
                    "off": read - low,
                    "grown": step - scale,
                    "roundoff": rounding,
                    "step": step,
                    "tiny": tiny,
                    "offset": abs(low),
                    "span": high - low,
                }
                if entry < read:
                    names, error = ("below",), read - entry
                elif entry > read + top * step:
                    names, error = ("above",), entry - read - top * step
                else:
                    names, error = ("between",), read + round(level) * step - entry
                distance(_G + "stored", values, error, *names)


def rounded(result, exactly):
    """The relative error of an operation."""
    return Fraction(0) if exactly == 0 else Fraction(float(result)) / exactly - 1


@pytest.mark.models(
    "flashcomm.groupquant.ends_rounded", "flashcomm.groupquant.error_rounded", "flashcomm.groupquant.repaired_rounded"
)
@pytest.mark.parametrize("width", [1, 2, 8])
def test_rounded_levels(width):
    u, tiny, top = Fraction(1, 2**24), Fraction(1, 2**126), 2**width - 1
    number = np.float32
    for x in groups(np.random.default_rng([7, width]), 3):
        low, high, kernel = x.min(), x.max(), GroupQuantizer(width, x.size)(x)
        span = Fraction(float(high)) - Fraction(float(low))
        difference = high - low
        s = number(difference / number(top))
        known = {"span": span, "own_roundoff": u, "own_tiny": tiny, "magnitude": Fraction(float(abs(x).max()))}
        known |= {"width": width, "s": Fraction(float(s)), "d1": rounded(difference, span)}
        known["d2"] = rounded(s, Fraction(float(difference)) / top)
        assert span >= top * tiny
        for name in ("scale", "four levels or more, R >= N t") if width > 1 else ("scale", "two levels, R >= t"):
            assert name in [goal for _, goal in met(_G + "error_rounded", known)]
        for entry, read in zip(x, kernel, strict=True):
            above = entry - low
            level = above / s
            code = np.rint(level)
            product = code * s
            assert product + low == read
            y, X = Fraction(float(entry)) - Fraction(float(low)), Fraction(float(entry))
            by_level = (1 + rounded(above, y)) * (1 + rounded(level, Fraction(float(above)) / Fraction(float(s))))
            values = {
                **known,
                "y": y,
                "d3": rounded(above, y),
                "d4": rounded(level, Fraction(float(above)) / Fraction(float(s))),
                "x": X,
                "moved": y * (by_level - 1),
                "turned": int(code) * Fraction(float(s)) - y * by_level,
                "grew": Fraction(float(product)) - int(code) * Fraction(float(s)),
                "last": top * Fraction(float(s)),
                "d6": rounded(read, Fraction(float(low)) + Fraction(float(product))),
            }
            shown = {goal: v for (_, goal), v in met(_G + "error_rounded", values).items()}
            assert {"level, not above", "level, not below", "read, not above", "read, not below"} <= set(shown)
            assert (shown["read, not below"] - shown["read, not above"]) / 2 == Fraction(float(read)) - X
        v = u / (1 + u)
        ends = {**known, "wide": span, "v": v, "d5": rounded(number(top) * s, top * Fraction(float(s)))}
        assert sum(name.startswith("largest") for _, name in met(_G + "ends_rounded", ends)) == 2
        assert abs(Fraction(float(kernel[x.argmax()])) - Fraction(float(high))) <= 6 * u * span


@pytest.mark.parametrize("width", [2, 3, 8])
def test_subnormal_scales(width):
    claim, u, tiny, top = _G + "error_rounded", Fraction(1, 2**24), Fraction(1, 2**126), 2**width - 1
    rng, cases = np.random.default_rng([8, width]), set()
    for size in (2, 50, 5000, 2**20):
        x = (rng.integers(0, size, 9) * 2.0**-149).astype(np.float32)
        low, high, kernel = x.min(), x.max(), GroupQuantizer(width, x.size)(x)
        s, span = Fraction(float((high - low) / np.float32(top))), Fraction(float(high)) - Fraction(float(low))
        known = {"span": span, "own_roundoff": u, "own_tiny": tiny, "magnitude": Fraction(float(abs(x).max()))}
        known |= {"width": width, "s": s}
        assert span <= top * tiny
        found = [goal for _, goal in met(claim, known)]
        assert {"four levels or more, R <= N t", "four levels or more, clamped"} <= set(found)
        bound = claims()[claim].bound(**known)
        for entry, read in zip(x, kernel, strict=True):
            y = Fraction(float(entry)) - Fraction(float(low))
            shown = {goal: v for (_, goal), v in met(claim, {**known, "y": y}).items()}
            if s == 0:
                assert shown["scale rounded to 0"] == bound - y
            assert "clamped, not below" in shown
            assert abs(Fraction(float(read)) - Fraction(float(entry))) <= bound
            cases.add(s == 0)
    assert cases == {True, False}


def summed(claim, values, error, bound):
    """That the goals about all ranks are met, and show the error's distance from the bound."""
    shown = [v for (_, name), v in met(claim, values).items() if name.startswith("sum, ")]
    assert len(shown) == 2
    assert min(shown) == bound - abs(error) >= 0


@pytest.mark.models(
    "flashcomm.oneshot.error",
    "flashcomm.twostep.error",
    "flashcomm.twostep.error_by_scales",
    "flashcomm.twostep.error_mixed",
)
@pytest.mark.parametrize("P", [1, 2, 5])
def test_errors_of_sums(P):
    width, top, rng = 2, 3, np.random.default_rng(P)
    q = GroupQuantizer(width, 4, "float64")
    steps = 2.0 ** rng.integers(-2, 3, P)
    stack = rng.integers(0, 8 * top + 1, (P, P, 4)) / 8
    stack[:, :, 0], stack[:, :, 3] = 0.0, top
    stack = (stack * steps[:, None, None]).reshape(P, 4 * P)  # scales are powers of two: what is read is exact
    read = np.array([q(row) for row in stack])
    twostep, oneshot = (
        collective(stack, q)[0].values[0] for collective in (twostep_quantised_allreduce, oneshot_quantised_allreduce)
    )
    total = read.sum(axis=0)
    for i in range(4 * P):
        block = slice(4 * (i // 4), 4 * (i // 4) + 4)
        ends = block.start + int(total[block].argmax()), block.start + int(total[block].argmin())
        whole = {"steps": Fraction(0), "errors": Fraction(0), "apart": Fraction(0)}
        for p in range(P):
            apart = Fraction(read[p, ends[0]] - read[p, ends[1]]) / top
            one = {**exact(step=steps[p], error=read[p, i] - stack[p, i]), "one_apart": apart}
            names = [name for _, name in met("flashcomm.twostep.error_by_scales", {**whole, **one})]
            assert names == ["one more rank, not above", "one more rank, not below", "one more rank, range"]
            wide = {**whole, **one, "first_width": width}
            wide |= {name: top * wide[name] for name in ("steps", "step", "apart", "one_apart")}
            assert len(met("flashcomm.twostep.error_mixed", wide)) == 3
            whole["steps"] += one["step"]
            whole["errors"] += one["error"]
            whole["apart"] += apart
        second = Fraction(twostep[i]) - Fraction(total[i])
        values = {"errors": whole["errors"], "scales": whole["steps"], "sum_scale": whole["apart"], "second": second}
        error = whole["errors"] + second
        summed("flashcomm.twostep.error", values, error, (values["scales"] + values["sum_scale"]) / 2)
        summed("flashcomm.twostep.error_by_scales", values, error, values["scales"])
        ranges = {"ranges": top * whole["steps"], "apart": top * whole["apart"]}
        mixed = {"errors": whole["errors"], "second": second, "first_width": width, "second_width": width, **ranges}
        summed("flashcomm.twostep.error_mixed", mixed, error, values["scales"])
        del values["second"], values["sum_scale"]
        assert Fraction(oneshot[i]) == Fraction(total[i])
        summed("flashcomm.oneshot.error", values, whole["errors"], values["scales"] / 2)


@pytest.mark.models("flashcomm.spikes.error", "flashcomm.spikes.range")
@pytest.mark.parametrize("width", [1, 2, 3])
def test_groups_with_spikes(width):
    """The ends of what is left of a group without its spikes, and its entries between levels."""
    x = np.random.default_rng(width).integers(-40, 40, 32).astype(float)
    c = GroupQuantizer(width, 8, "float64", spikes=True)
    about, read = c.compress(x).ranges, c.decompress(c.compress(x))
    for g in range(4):
        part = slice(8 * g, 8 * g + 8)
        rest = sorted(set(range(8)) - set(about.positions[g].tolist()))
        entries = [Fraction(v) for v in x[part][rest].tolist()]
        low, high, scale = min(entries), max(entries), Fraction(float(np.ptp(x[part][rest]))) / (2**width - 1)
        assert float(scale) == pytest.approx(about.exact_scale[g])
        check_goals(
            "flashcomm.spikes.range",
            ["range"],
            {"low": Fraction(x[part].min()), "high": Fraction(x[part].max()), "first": low, "last": high},
        )
        for v, y in zip(entries, read[part][rest], strict=True):
            code, place = divmod((v - low) / scale, 1)
            rounded = "down" if y <= v else "up"
            if place != Fraction(1, 2):
                assert float(abs(Fraction(y) - v) / scale) == pytest.approx(float(min(place, 1 - place)), abs=1e-9)
            names = ["no entry below the first level", "no entry above the last"]
            names += [f"rounded {rounded}, not {side}" for side in ("above", "below")] if place else []
            given = {"low": low, "high": high, "x": v, "scale": scale, "code": code, "part": place}
            check_goals("flashcomm.spikes.error", names, given)


@pytest.mark.models("flashcomm.ring.error")
@pytest.mark.parametrize("P", [1, 2, 5])
def test_errors_of_the_ring(P):
    claim, top, rng = "flashcomm.ring.error", 1, np.random.default_rng(P)
    q = GroupQuantizer(1, 4, "float64")  # one bit reads the ends: all is exact
    stack = rng.integers(-999, 1000, (P, 4 * P)) / 8
    result = ring_quantised_allreduce(stack, q)[0].values[0]
    for j in range(P):
        block = slice(4 * j, 4 * j + 4)
        held, rows = np.zeros(4), [stack[(j + h) % P, block] for h in range(P)]
        errors, sums, scales, before = [Fraction(0)] * 4, Fraction(0), Fraction(0), Fraction(0)
        for row in rows:
            held = row + held
            read = q(held)
            step, scale = (Fraction(float(np.ptp(v))) / top for v in (row, held))
            one = {"steps": scales, "step": step, "sum": before, "next": scale}
            assert "one more rank, scale" in [name for _, name in met(claim, one)]
            scales, before = scales + step, scale
            for i in range(4):
                error = Fraction(read[i]) - Fraction(held[i])
                values = {"errors": errors[i], "sums": sums, "error": error, "next": scale, "sum": scales}
                assert len(met(claim, values)) == 2
                errors[i] += error
            sums += scales
            held = read
        assert held.tolist() == result[block].tolist()
        for i in range(4):
            summed(claim, {"errors": errors[i], "ring_scales": sums}, errors[i], sums / 2)


@pytest.mark.parametrize("claim", ["error_rounded", "ends_rounded", "stored"])
def test_what_is_read_of_the_largest_number_overflows(claim):
    (hypothesis,) = claims()[_G + claim].assumes
    largest = np.finfo(np.float32).max
    q = GroupQuantizer(5, 2)
    for top, finite in ((largest, False), (largest * np.float32(1 - 2.0**-20), True)):
        x = np.array([0.0, top], np.float32)
        assert np.isfinite(q(x)).all() == finite
        assert hypothesis.admits(compressor=q, x=x) == finite
