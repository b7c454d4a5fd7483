"""Block-scaled formats and sums in them, from the definitions, in rational arithmetic; imports nothing of ours."""

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache

import numpy as np

from commbounds.verify.definitions.majority import counted
from commbounds.verify.definitions.quantizers import uniforms_of


def minifloat(exponent_bits, mantissa_bits, bias, without=0):
    """All magnitudes of a format, by exponent and mantissa fields; the last `without` codes are no numbers."""
    found = []
    for field in range(2**exponent_bits):
        for mantissa in range(2**mantissa_bits):
            share = Fraction(mantissa, 2**mantissa_bits)
            found.append(
                share * Fraction(2) ** (1 - bias) if field == 0 else (1 + share) * Fraction(2) ** (field - bias)
            )
    return found[: len(found) - without]


ELEMENTS = {
    "e2m1": (minifloat(2, 1, 1), 2, 1),
    "e2m3": (minifloat(2, 3, 1), 2, 3),
    "e3m2": (minifloat(3, 2, 3), 4, 2),
    "e4m3": (minifloat(4, 3, 7, 1), 8, 3),
    "e5m2": (minifloat(5, 2, 15, 4), 15, 2),
    "int8": ([Fraction(k, 64) for k in range(128)], 0, 6),
    "int4": ([Fraction(k, 4) for k in range(8)], 0, 2),
}
"""Magnitudes in the order of their codes, exponent of the largest power of two, stored bits of the significand."""
WIDTHS = {"e2m1": 4, "int4": 4, "e2m3": 6, "e3m2": 6, "e4m3": 8, "e5m2": 8, "int8": 8}


def rounded(level, numbers, uniform=None):
    """Code of the number nearest to `level` >= 0, ties to the even code; with a uniform, up with the share's chance."""
    if level >= numbers[-1]:
        return len(numbers) - 1
    code = bisect_right(numbers, level) - 1
    share = (level - numbers[code]) / (numbers[code + 1] - numbers[code])
    if uniform is not None:
        return code + (Fraction(float(uniform)) < share)
    return code + (share > Fraction(1, 2) or (share == Fraction(1, 2) and code % 2 == 1))


def log2_floor(value):
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= value else exponent - 1


def exponent_of(top, element, scale):
    """The shared exponent, clamped to E8M0's."""
    numbers, emax, stored = ELEMENTS[element]
    if top == 0:
        return -127
    if scale == "rceil":
        exponent = log2_floor(top) - emax - 1
        while top > numbers[-1] * Fraction(2) ** exponent:
            exponent += 1
    elif scale == "ceil":
        exponent = log2_floor(top) - emax + (top != Fraction(2) ** log2_floor(top))
    elif scale == "nearest":
        exponent = log2_floor(top / numbers[-1])
        exponent += top / numbers[-1] >= Fraction(3, 2) * Fraction(2) ** exponent
    elif scale == "even":
        unit = Fraction(2) ** (log2_floor(top) - stored)
        exponent = log2_floor((top + unit / 2) // unit * unit) - emax
    else:
        exponent = log2_floor(top) - emax + (scale == "double")
    return min(max(exponent, -127), 127)


def as_dtype(value, dtype):
    """A Fraction as the nearest number of the dtype, which it mostly is; at most the largest."""
    largest = largest_of(dtype)
    return np.dtype(dtype).type(float(max(min(value, largest), -largest)))


@cache
def largest_of(dtype):
    return Fraction(float(np.finfo(dtype).max))


def microscaled(x, element, block, scale, uniforms=None):
    """Codes, exponents and what is read, of a vector of floats."""
    numbers, gain = ELEMENTS[element][0], Fraction(3, 4) if scale == "three_quarters" else Fraction(1)
    codes, exponents, read = [], [], []
    for start in range(0, len(x), block):
        part = [Fraction(float(v)) for v in x[start : start + block]]
        exponents.append(exponent_of(max(map(abs, part)), element, scale))
        unit = Fraction(2) ** exponents[-1]
        for i, v in enumerate(part):
            code = rounded(gain * abs(v) / unit, numbers, None if uniforms is None else uniforms[start + i])
            codes.append(-code if v < 0 else code)
            sign = -1 if v < 0 and code else 1
            # the element over the gain is rounded to float64, and then to the dtype
            value = Fraction(float(numbers[code] / gain)) * unit
            read.append(as_dtype(sign * value, x.dtype))
    return codes, exponents, read


def nvfp4(x, block, scale, uniforms=None):
    """Codes, scales' codes, the tensor's scale and what is read."""
    fours, eights = ELEMENTS["e2m1"][0], ELEMENTS["e4m3"][0]
    top = max(abs(Fraction(float(v))) for v in x)
    kind = np.finfo(np.float32)
    with np.errstate(over="ignore"):
        tensor = np.float32(float(top) / 2688.0)
    tensor = min(tensor, kind.max)
    if scale == "up" and Fraction(float(tensor)) * 2688 < top and tensor < kind.max:
        tensor = np.nextafter(tensor, kind.max)
    tensor = np.float32(tensor)
    whole = Fraction(float(tensor))
    codes, scales, read = [], [], []
    for start in range(0, len(x), block):
        part = [Fraction(float(v)) for v in x[start : start + block]]
        largest = max(map(abs, part))
        if whole == 0:  # everything is zero then, whatever the scale: the last one
            code = len(eights) - 1
        elif scale == "up":
            code = min(bisect_left(eights, largest / (6 * whole)), len(eights) - 1)
        else:
            code = rounded(largest / (6 * whole), eights)
        scales.append(code)
        unit = whole * eights[code]
        for i, v in enumerate(part):
            c = 0 if unit == 0 else rounded(abs(v) / unit, fours, None if uniforms is None else uniforms[start + i])
            codes.append(-c if v < 0 else c)
            read.append(as_dtype((-1 if v < 0 and c else 1) * fours[c] * unit, x.dtype))
    return codes, scales, tensor, read


def four_over_six(x, block, scale="nearest", choice="drawn", pairs=None):
    """Codes, scales' codes, the tensor's scale and what is read: every block twice, and the better one kept."""
    fours, eights = ELEMENTS["e2m1"][0], ELEMENTS["e4m3"][0]
    top = max(abs(Fraction(float(v))) for v in x)
    kind = np.finfo(np.float32)
    with np.errstate(over="ignore"):
        tensor = min(np.float32(float(top) / 1536.0), kind.max)
    if scale == "up" and Fraction(float(tensor)) * 1536 < top and tensor < kind.max:
        tensor = np.nextafter(tensor, kind.max)
    tensor = np.float32(tensor)
    whole, codes, scales, read = Fraction(float(tensor)), [], [], []
    for start in range(0, len(x), block):
        part = [Fraction(float(v)) for v in x[start : start + block]]
        tries = []
        for row, last in enumerate((6, 4)):
            if whole == 0:
                code = len(eights) - 1
            elif scale == "up":
                code = min(bisect_left(eights, max(map(abs, part)) / (last * whole)), len(eights) - 1)
            else:
                code = rounded(max(map(abs, part)) / (last * whole), eights)
            unit, coded, error = whole * eights[code], [], 0.0
            for i, v in enumerate(part):
                u = None if pairs is None else pairs[row, start + i]
                c = 0 if unit == 0 else rounded(abs(v) / unit, fours, u)
                coded.append(c)
                # squared errors are those of floats, as they are compared
                a, step = float(abs(v)), float(unit)
                if pairs is None or choice == "drawn":
                    off = a - step * float(fours[c])
                    error += off * off
                else:
                    low = 0 if unit == 0 else bisect_right(fours, abs(v) / unit) - 1
                    near = a - step * float(fours[low])
                    far = a - step * float(fours[low + 1]) if unit and low + 1 < len(fours) else -near
                    error += near * -far
            tries.append((error, code, coded, unit))
        _, code, coded, unit = tries[1] if tries[1][0] < tries[0][0] else tries[0]
        scales.append(code)
        for v, c in zip(part, coded, strict=True):
            codes.append(-c if v < 0 else c)
            read.append(as_dtype((-1 if v < 0 and c else 1) * fours[c] * unit, x.dtype))
    return codes, scales, tensor, read


def microexponents(x, digits, block):
    """Codes, exponents, shifts and what is read."""
    codes, exponents, shifts, read = [], [], [], []
    for start in range(0, len(x), block):
        part = [Fraction(float(v)) for v in x[start : start + block]]
        top = max(map(abs, part))
        exponents.append(min(max(log2_floor(top), -127), 127) if top else -127)
        power = Fraction(2) ** exponents[-1]
        for first in range(0, len(part), 2):
            pair = part[first : first + 2]
            shifts.append(int(all(abs(v) < power for v in pair)))
            step = power * 2 / 2**digits / 2 ** shifts[-1]
            for v in pair:
                code = min(round(abs(v) / step), 2**digits - 1)
                codes.append(-code if v < 0 else code)
                read.append(as_dtype(codes[-1] * step, x.dtype))
    return codes, exponents, shifts, read


def hadamard(dim):
    """Sylvester's matrix over its norm, in floats."""
    matrix = np.ones((1, 1))
    while len(matrix) < dim:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / math.sqrt(dim)


def walsh(values):
    """Sylvester's matrix times floats: sums and differences of neighbours, then of pairs, and so on to the halves."""
    parts = [[v] for v in values]
    while len(parts) > 1:
        neighbours = [list(zip(*two, strict=True)) for two in zip(parts[::2], parts[1::2], strict=True)]
        parts = [[a + b for a, b in both] + [a - b for a, b in both] for both in neighbours]
    return parts[0]


def eden(x, dim, signs):
    """Codes, scales and what is read of a vector under these signs, in float64; no power of two in it rounds."""
    filled = [float(v) for v in x] + [0.0] * (-len(x) % dim)
    fours, root = [float(v) for v in ELEMENTS["e2m1"][0]], math.sqrt(dim)
    power, largest = math.frexp(max(map(abs, filled)))[1], float(np.finfo(x.dtype).max)
    codes, scales = [], []
    for start in range(0, len(filled), dim):
        part = [math.ldexp(v, -power) * int(s) for v, s in zip(filled[start : start + dim], signs, strict=True)]
        y = [v / root for v in walsh(part)]
        top, square, mixed = max(map(abs, y)), 0.0, 0.0
        for v in y:
            share = abs(v) / top if top else 0.0
            code = rounded(Fraction(6.0 * share), ELEMENTS["e2m1"][0])
            square, mixed = square + share * share, mixed + share * fours[code]
            codes.append(-code if v < 0 else code)
        scale = top * (square / mixed) if top else 0.0
        scales.append(x.dtype.type(min(float(np.ldexp(scale, power)), largest)))
    read, unit = [], math.frexp(float(max(scales)))[1]
    for start, scale in zip(range(0, len(filled), dim), scales, strict=True):
        elements = [
            math.copysign(fours[abs(c)], c) * math.ldexp(float(scale), -unit) for c in codes[start : start + dim]
        ]
        back = [v / root * int(s) for v, s in zip(walsh(elements), signs, strict=True)]
        read += [min(max(float(np.ldexp(v, unit)), -largest), largest) for v in back]
    return codes, scales, read[: len(x)]


# --- sums --------------------------------------------------------------------------------------------------------


def parts_of(n, P):
    sizes = [n // P + (j < n % P) for j in range(P)]
    return [slice(sum(sizes[:j]), sum(sizes[: j + 1])) for j in range(P)]


class Overflow(Exception):
    """A partial sum that its dtype does not hold."""


def read_as(quantiser, values, uniforms):
    """What a message of these values is read as, and its bytes."""
    if not np.isfinite(values).all():
        raise Overflow
    if not len(values):
        return values, 0
    count = -(-len(values) // quantiser["block"])
    if "element" in quantiser:
        read = microscaled(values, quantiser["element"], quantiser["block"], quantiser["scale"], uniforms)[-1]
        size = count + -(-len(values) * WIDTHS[quantiser["element"]] // 8)
    else:
        if quantiser.get("record") == "FourOverSix":
            read = four_over_six(values, quantiser["block"], quantiser["scale"])[-1]
        else:
            read = nvfp4(values, quantiser["block"], quantiser["scale"], uniforms)[-1]
        size = count + 4 + -(-len(values) * 4 // 8)
    return np.array(read, values.dtype), size


def round_the_ring(sizes):
    """Steps in which every rank's block goes round."""
    P = len(sizes)
    return [[(p, (p + 1) % P, sizes[(p - hop) % P]) for p in range(P)] for hop in range(P - 1)]


def to_all(sizes):
    """One step in which every rank sends to each other one what is of that one's part, or none for one rank."""
    P = len(sizes)
    return [[(p, r, sizes[r]) for p in range(P) for r in range(P) if p != r]] if P > 1 else []


def traffic_of(P, phases):
    """Of steps by phase."""
    whole = counted(P, [step for steps in phases.values() for step in steps])
    return {**whole, "phases": {name: counted(P, steps) for name, steps in phases.items()}}


def requantised(stack, quantiser, schedule, uniforms=None):
    """The sums and the traffic in bytes."""
    P, n = stack.shape
    steps = [[] for _ in range(P - 1 if schedule == "ring" else min(P - 1, 1))]
    total, blocks = np.zeros(n, stack.dtype), [0] * P

    def draw(stage, rank, part):
        return None if uniforms is None else uniforms[stage, rank][part]

    for j, part in enumerate(parts_of(n, P)):
        if schedule == "ring":
            partial, at = stack[j, part], j
            for hop in range(P - 1):
                read, size = read_as(quantiser, partial, draw(hop, at, part))
                steps[hop].append((at, (at + 1) % P, size))
                at = (at + 1) % P
                partial = np.zeros_like(read) + read + stack[at, part]
        else:
            partial, at = np.zeros_like(stack[0, part]), j
            for rank in range(P):
                read, size = read_as(quantiser, stack[rank, part], draw(0, rank, part))
                if rank != j:
                    steps[0].append((rank, j, size))
                partial = partial + read
        total[part], blocks[at] = read_as(quantiser, partial, draw(P - 1 if schedule == "ring" else 1, at, part))
    return total, traffic_of(P, {"reduce-scatter": steps, "all-gather": round_the_ring(blocks)})


def homomorphic(stack, width=4, block=32, rounding="nearest", sum_width=None, uniforms=None, orders=None):
    """The sums and the traffic in bytes."""
    (P, n), top = stack.shape, 2 ** (width - 1) - 1
    bits = (2 * P * top).bit_length() if sum_width is None else sum_width
    sums = []
    for i in range(n):
        start = i // block * block
        largest = Fraction(float(np.abs(stack[:, start : start + block]).max()))
        if largest == 0:
            sums.append(stack.dtype.type(0))
            continue
        exponent = log2_floor(largest / top)
        exponent += Fraction(2) ** exponent * top < largest
        codes, power = [], Fraction(2) ** exponent
        for p in range(P):
            level = Fraction(float(stack[p, i])) / power
            if rounding == "nearest":
                codes.append(round(level))
            else:
                u = (
                    float(uniforms[p, i])
                    if rounding == "independent"
                    else (int(orders[p, i]) + float(uniforms[p, i])) / P
                )
                codes.append(math.floor(level) + (Fraction(u) < level - math.floor(level)))
        total = sum(codes) % 2**bits
        total -= 2**bits * (total >= 2 ** (bits - 1))
        sums.append(as_dtype(total * power, stack.dtype))
    sizes = [part.stop - part.start for part in parts_of(n, P)]
    phases = {
        "exponents": round_the_ring([2 * -(-n // block)] * P),
        "codes": to_all([-(-size * width // 8) for size in sizes]),
        "sums": round_the_ring([-(-size * bits // 8) for size in sizes]),
    }
    return np.array(sums, stack.dtype), traffic_of(P, phases)


UNEVEN = (0, 4, 6, 8, 10, 12, 13, 14, 16, 17, 18, 20, 22, 24, 26, 30)


def tabled(stack, table=UNEVEN, top=2.0, rotated=True, reach=None, fine=None, sum_bits=None, signs=None, uniforms=None):
    """The sums, in float64, the traffic in bytes, and how far entries may be off where norms or a rotation round."""
    (P, n), g, table = stack.shape, table[-1], [int(v) for v in table]
    d = 2 ** math.ceil(math.log2(n)) if rotated else n
    wide = np.zeros((P, d))
    wide[:, :n] = stack.astype(np.float64) * (np.asarray(signs) if rotated else 1)
    turned = wide @ hadamard(d) if rotated else wide
    limit = reach
    if reach is None:
        # as shares of the largest entry: nothing over- or underflows
        largest = float(np.abs(turned).max()) or 1.0
        limit = top * largest * max(math.sqrt(float((row / largest) @ (row / largest)) / d) for row in turned)
    bits = sum_bits if sum_bits is not None else (P * g).bit_length()
    totals = []
    for i in range(d):
        total = 0
        for p in range(P):
            level = min(max((turned[p, i] / limit + 1.0) * (0.5 * g), 0.0), float(g)) if limit else 0.5 * g
            place, scaled = level, table
            if fine is not None:
                steps = level * (fine / g) if fine % g == 0 else level * fine / g
                place = (math.floor(steps) + (uniforms[0, p, i] < steps - math.floor(steps))) * g
                scaled = [fine * v for v in table]
            at = min(max(k for k, v in enumerate(scaled) if v <= place), len(table) - 2)
            share = (place - scaled[at]) / (scaled[at + 1] - scaled[at])
            total += table[at + (uniforms[-1, p, i] < share)]
        totals.append(total % 2**bits)
    read = np.array([(2.0 * total - P * g) * limit / g for total in totals])
    # a norm: d squares, their sum, a root, three products; d sums of a rotation there and back, and its divisions
    room = (2 * d + 20) * 2.0**-52 * float(np.abs(read).sum()) if rotated or reach is None else None
    if rotated:
        read = (hadamard(d) @ read)[:n] * np.asarray(signs)
    sizes, width = [part.stop - part.start for part in parts_of(d, P)], (len(table) - 1).bit_length()
    phases = {
        "norms": [] if reach is not None else round_the_ring([8] * P),
        "indices": to_all([-(-size * width // 8) for size in sizes]),
        "sums": round_the_ring([-(-size * bits // 8) for size in sizes]),
    }
    return read, traffic_of(P, phases), room


def thinned(values, keep, uniforms):
    """What a thinned message of these values is read as, and its bytes."""
    kept = [float(u) < keep for u in uniforms]
    read = [v / values.dtype.type(keep) if k else values.dtype.type(0) for v, k in zip(values, kept, strict=True)]
    return np.array(read, values.dtype), -(-len(values) // 8) + sum(kept) * values.dtype.itemsize


def hopped(stack, quantiser, topology, uniforms=None):
    """The sums and the traffic in bytes: part by part, as a tree of who adds what to whose."""
    P, n = stack.shape
    if topology == "ring" and "keep" not in quantiser:
        return requantised(stack, quantiser, "ring", uniforms)

    def read(values, stage, rank, span):
        drawn = None if uniforms is None else uniforms[stage, rank][span]
        if "keep" not in quantiser:
            return read_as(quantiser, values, drawn)
        if not np.isfinite(values).all():
            raise Overflow
        return thinned(values, quantiser["keep"], drawn)

    parts, total, steps = parts_of(n, P), np.zeros(n, stack.dtype), []
    if topology == "ring":
        held = [stack[j, part] for j, part in enumerate(parts)]
        for hop in range(P - 1):
            steps.append([])
            for j, part in enumerate(parts):
                rank = (j + hop) % P
                values, size = read(held[j], hop, rank, part)
                steps[-1].append((rank, (rank + 1) % P, size))
                held[j] = np.zeros_like(values) + values + stack[(rank + 1) % P, part]
        owner = [(j + P - 1) % P for j in range(P)]
    else:
        whole, stage, half = [row.copy() for row in stack], 0, P // 2
        while half:
            before = [row.copy() for row in whole]
            steps.append([])
            for rank in range(P):
                partner = rank ^ half
                first = partner // half * half  # the parts that the partner keeps
                span = slice(parts[first].start, parts[first + half - 1].stop)
                values, size = read(before[rank][span], stage, rank, span)
                steps[-1].append((rank, partner, size))
                whole[partner][span] = np.zeros_like(values) + values + before[partner][span]
            stage, half = stage + 1, half // 2
        held, owner = [whole[j][part] for j, part in enumerate(parts)], list(range(P))
    stage, blocks = P - 1 if topology == "ring" else P.bit_length() - 1, [0] * P
    for j, part in enumerate(parts):
        total[part], blocks[owner[j]] = read(held[j], stage, owner[j], part)
    return total, traffic_of(P, {"reduce-scatter": steps, "all-gather": round_the_ring(blocks)})


# --- what a compressor is given -> its message, its size, and what is read ----------------------------------------


def in_dtype(values, like):
    return np.array(values, like.dtype)


def of_finite(twin):
    """NaN and infinities are refused."""

    def said(held):
        return twin(held) if np.isfinite(held["inputs"]["x"]).all() else {"refused": "ValueError"}

    return said


def uniforms_for(x, drawn):
    """Those that are given or drawn; None of what rounds to the nearest."""
    return uniforms_of(x, drawn) if drawn else None


@of_finite
def of_microscaling(held):
    given, x = {"element": "e2m1", "block": 32, "scale": "floor", **held["parameters"]}, held["inputs"]["x"]
    codes, exponents, read = microscaled(
        x, given["element"], given["block"], given["scale"], uniforms_for(x, held["randomness"])
    )
    width = WIDTHS[given["element"]]
    message = {"codes": np.array(codes, np.int8), "exponents": np.array(exponents, np.int16), "width": width}
    return {"message": message, "bits": len(x) * width + 8 * len(exponents), "output": in_dtype(read, x)}


def scaled_message(x, codes, scales, tensor, read):
    message = {"codes": np.array(codes, np.int8), "scales": np.array(scales, np.uint8), "tensor": tensor}
    return {"message": message, "bits": 4 * len(x) + 8 * len(scales) + 32, "output": in_dtype(read, x)}


@of_finite
def of_nvfp4(held):
    given, x = {"block": 16, "scale": "nearest", **held["parameters"]}, held["inputs"]["x"]
    return scaled_message(x, *nvfp4(x, given["block"], given["scale"], uniforms_for(x, held["randomness"])))


@of_finite
def of_four_over_six(held):
    given, x = {"block": 16, "scale": "nearest", "choice": "drawn", **held["parameters"]}, held["inputs"]["x"]
    drawn = held["randomness"]
    pairs = uniforms_for(np.tile(x, 2), drawn).reshape(2, -1) if "seed" in drawn else drawn.get("pairs")
    found = four_over_six(x, given["block"], given["scale"], given["choice"], pairs)
    return scaled_message(x, *found)


@of_finite
def of_microexponents(held):
    given, x = {"digits": 4, "block": 16, **held["parameters"]}, held["inputs"]["x"]
    codes, exponents, shifts, read = microexponents(x, given["digits"], given["block"])
    message = {
        "codes": np.array(codes, np.int16), "exponents": np.array(exponents, np.int16),
        "shifts": np.array(shifts, np.uint8), "digits": given["digits"],
    }  # fmt: skip
    bits = len(x) * (given["digits"] + 1) + 8 * len(exponents) + len(shifts)
    return {"message": message, "bits": bits, "output": in_dtype(read, x)}


@of_finite
def of_eden(held):
    dim, x = held["parameters"].get("dim", 16), held["inputs"]["x"]
    drawn = held["randomness"]
    coins = np.random.default_rng(drawn["seed"]).integers(0, 2, dim, np.int8) if "seed" in drawn else None
    signs = drawn["signs"] if coins is None else [2 * int(coin) - 1 for coin in coins]
    codes, scales, read = eden(x, dim, signs)
    message = {"codes": np.array(codes, np.int8), "scales": in_dtype(scales, x), "signs": np.array(signs, np.int8)}
    bits = 4 * len(codes) + 8 * x.dtype.itemsize * len(scales)
    return {"message": message, "bits": bits, "output": in_dtype(read, x)}


# --- what an all-reduce is given -> its sums and traffic -----------------------------------------------------------


def drawn_from(held, shape, dtype):
    """The uniforms that are given, or those of the generator."""
    drawn = held["randomness"]
    if "seed" not in drawn:
        return drawn.get("uniforms")
    return np.random.default_rng(drawn["seed"]).random(shape, np.dtype(dtype).type)


def said(stack, row, traffic):
    return {"sums": np.array([row] * len(stack)), "traffic": traffic}


def format_of(given):
    quantiser = given["quantiser"]
    return {"record": quantiser.get("record"), **quantiser["fields"]} if "fields" in quantiser else dict(quantiser)


def summed(held):
    stack, given = held["inputs"]["stack"], held["parameters"]
    schedule = given.get("schedule", "ring")
    shape = (len(stack) if schedule == "ring" else 2, *stack.shape)
    try:
        return said(stack, *requantised(stack, format_of(given), schedule, drawn_from(held, shape, stack.dtype)))
    except Overflow:
        return {"refused": "ValueError"}


def coded(held):
    stack, drawn, options = held["inputs"]["stack"], dict(held["randomness"]), held["parameters"]
    if "seed" in drawn:
        rng = np.random.default_rng(drawn.pop("seed"))
        drawn["uniforms"] = rng.random(stack.shape)
        if options["rounding"] == "correlated":
            drawn["orders"] = rng.permuted(np.tile(np.arange(len(stack))[:, None], stack.shape[1]), axis=0)
    return said(stack, *homomorphic(stack, **options, **drawn))


def looked_up(held):
    stack, drawn, options = held["inputs"]["stack"], dict(held["randomness"]), held["parameters"]
    P, n = stack.shape
    if "seed" in drawn:
        rng, turned = np.random.default_rng(drawn.pop("seed")), options.get("rotated", True)
        drawn["signs"] = 2 * rng.integers(0, 2, n) - 1 if turned else None
        d = 2 ** math.ceil(math.log2(n)) if turned else n
        drawn["uniforms"] = rng.random((1 if options.get("fine") is None else 2, P, d))
    row, traffic, room = tabled(stack, **options, **drawn)
    largest, about = float(np.finfo(stack.dtype).max), np.finfo(stack.dtype)
    row = np.clip(row, -largest, largest)
    if room is None:
        return said(stack, row.astype(stack.dtype), traffic)
    allowance = room + float(about.eps) * np.abs(row) + float(about.smallest_subnormal)
    near = {"near": [row.tolist()] * P, "allowance": np.array([allowance] * P), "dtype": stack.dtype.name}
    return {"sums": near, "traffic": traffic}


def by_hops(held):
    stack, given = held["inputs"]["stack"], held["parameters"]
    topology, P = given.get("topology", "butterfly"), len(stack)
    if topology == "butterfly" and P & (P - 1):
        return {"refused": "ValueError"}
    shape = (P if topology == "ring" else P.bit_length(), *stack.shape)
    try:
        return said(stack, *hopped(stack, format_of(given), topology, drawn_from(held, shape, stack.dtype)))
    except Overflow:
        return {"refused": "ValueError"}
