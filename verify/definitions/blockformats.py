"""Block-scaled formats and sums in them, from the definitions, in rational arithmetic; imports nothing of ours."""

import math
from fractions import Fraction

import numpy as np


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
    code = max(c for c, number in enumerate(numbers) if number <= level)
    share = (level - numbers[code]) / (numbers[code + 1] - numbers[code])
    if uniform is not None:
        return code + (Fraction(float(uniform)) < share)
    return code + (share > Fraction(1, 2) or (share == Fraction(1, 2) and code % 2 == 1))


def log2_floor(value):
    exponent = 0
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    while Fraction(2) ** exponent > value:
        exponent -= 1
    return exponent


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
    elif scale == "even":
        unit = Fraction(2) ** (log2_floor(top) - stored)
        exponent = log2_floor((top + unit / 2) // unit * unit) - emax
    else:
        exponent = log2_floor(top) - emax + (scale == "double")
    return min(max(exponent, -127), 127)


def as_dtype(value, dtype):
    """A Fraction as the nearest number of the dtype, which it mostly is; at most the largest."""
    largest = Fraction(float(np.finfo(dtype).max))
    return np.dtype(dtype).type(float(max(min(value, largest), -largest)))


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
            code = min((c for c, s in enumerate(eights) if 6 * whole * s >= largest), default=len(eights) - 1)
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
                fits = (c for c, s in enumerate(eights) if last * whole * s >= max(map(abs, part)))
                code = min(fits, default=len(eights) - 1)
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
                    low = 0 if unit == 0 else max(k for k, f in enumerate(fours) if f * unit <= abs(v))
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


def eden(x, dim, signs):
    """What is read of a vector under these signs: in float64, by the authors' formula."""
    filled = np.concatenate([x.astype(np.float64), np.zeros(-len(x) % dim)])
    rotation, read = hadamard(dim) @ np.diag(np.asarray(signs, np.float64)), []
    for start in range(0, len(filled), dim):
        y = rotation @ filled[start : start + dim]
        if not y.any():
            read.append(np.zeros(dim))
            continue
        scaled = y / (np.abs(y).max() / 6)
        levels = [float(ELEMENTS["e2m1"][0][rounded(Fraction(abs(float(v))), ELEMENTS["e2m1"][0])]) for v in scaled]
        coded = np.copysign(levels, y)
        read.append(rotation.T @ coded * (np.abs(y).max() / 6) * (scaled @ scaled) / (scaled @ coded))
    return np.concatenate(read)[: len(x)]


# --- sums --------------------------------------------------------------------------------------------------------


def parts_of(n, P):
    sizes = [n // P + (j < n % P) for j in range(P)]
    return [slice(sum(sizes[:j]), sum(sizes[: j + 1])) for j in range(P)]


def read_as(quantiser, values, uniforms):
    """What a message of these values is read as, and its bytes."""
    if not len(values):
        return values, 0
    count = -(-len(values) // quantiser["block"])
    if "element" in quantiser:
        read = microscaled(values, quantiser["element"], quantiser["block"], quantiser["scale"], uniforms)[-1]
        size = count + -(-len(values) * WIDTHS[quantiser["element"]] // 8)
    else:
        read = nvfp4(values, quantiser["block"], quantiser["scale"], uniforms)[-1]
        size = count + 4 + -(-len(values) * 4 // 8)
    return np.array(read, values.dtype), size


def requantised(stack, quantiser, schedule, uniforms=None):
    """The sums and the bytes that every rank sends."""
    (P, n), sent = stack.shape, [0] * len(stack)
    total = np.zeros(n, stack.dtype)

    def draw(stage, rank, part):
        return None if uniforms is None else uniforms[stage, rank][part]

    for j, part in enumerate(parts_of(n, P)):
        if schedule == "ring":
            partial, at = stack[j, part], j
            for hop in range(P - 1):
                read, size = read_as(quantiser, partial, draw(hop, at, part))
                sent[at] += size
                at = (at + 1) % P
                partial = read + stack[at, part]
        else:
            partial, at = np.zeros_like(stack[0, part]), j
            for rank in range(P):
                read, size = read_as(quantiser, stack[rank, part], draw(0, rank, part))
                sent[rank] += size * (rank != j)
                partial = partial + read
        total[part], size = read_as(quantiser, partial, draw(P - 1 if schedule == "ring" else 1, at, part))
        for hop in range(P - 1):
            sent[(at + hop) % P] += size
    return total, sent


def homomorphic(stack, width=4, block=32, rounding="nearest", sum_width=None, uniforms=None, orders=None):
    """The sums and the bytes that every rank sends."""
    (P, n), top = stack.shape, 2 ** (width - 1) - 1
    bits = (2 * P * top).bit_length() if sum_width is None else sum_width
    sums = []
    for i in range(n):
        start = i // block * block
        largest = max(abs(Fraction(float(v))) for v in stack[:, start : start + block].ravel())
        if largest == 0:
            sums.append(stack.dtype.type(0))
            continue
        exponent = log2_floor(largest / top)
        exponent += Fraction(2) ** exponent * top < largest
        codes = []
        for p in range(P):
            level = Fraction(float(stack[p, i])) / Fraction(2) ** exponent
            if rounding == "nearest":
                codes.append(round(level))
            else:
                u = float(uniforms[p, i]) if orders is None else (int(orders[p, i]) + float(uniforms[p, i])) / P
                codes.append(math.floor(level) + (Fraction(u) < level - math.floor(level)))
        total = sum(codes) % 2**bits
        total -= 2**bits * (total >= 2 ** (bits - 1))
        sums.append(as_dtype(total * Fraction(2) ** exponent, stack.dtype))
    sent, sizes = [0] * P, [part.stop - part.start for part in parts_of(n, P)]
    for rank in range(P):
        sent[rank] = (P - 1) * 2 * -(-n // block)
        sent[rank] += sum(-(-sizes[j] * width // 8) for j in range(P) if j != rank)
        # round the ring a rank passes on all blocks but that of the next rank
        sent[rank] += sum(-(-sizes[j] * bits // 8) for j in range(P) if j != (rank + 1) % P)
    return np.array(sums, stack.dtype), sent


def tabled(stack, table, top=2.0, rotated=True, reach=None, fine=None, sum_bits=None, signs=None, uniforms=None):
    """The sums, in float64, and the bytes that every rank sends."""
    (P, n), g, table = stack.shape, table[-1], [int(v) for v in table]
    d = 2 ** math.ceil(math.log2(n)) if rotated else n
    wide = np.zeros((P, d))
    wide[:, :n] = stack.astype(np.float64) * (np.asarray(signs) if rotated else 1)
    turned = wide @ hadamard(d) if rotated else wide
    limit = reach
    if reach is None:
        limit = top * max(math.sqrt(float(row @ row) / d) for row in turned)
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
    if rotated:
        read = (hadamard(d) @ read)[:n] * np.asarray(signs)
    sizes, width = [part.stop - part.start for part in parts_of(d, P)], (len(table) - 1).bit_length()
    sent = []
    for rank in range(P):
        own = 0 if reach is not None else (P - 1) * 8
        own += sum(-(-sizes[j] * width // 8) for j in range(P) if j != rank)
        own += sum(-(-sizes[j] * bits // 8) for j in range(P) if j != (rank + 1) % P)
        sent.append(own)
    return read, sent


def thinned(values, keep, uniforms):
    """What a thinned message of these values is read as, and its bytes."""
    kept = [float(u) < keep for u in uniforms]
    read = [v / values.dtype.type(keep) if k else values.dtype.type(0) for v, k in zip(values, kept, strict=True)]
    return np.array(read, values.dtype), -(-len(values) // 8) + sum(kept) * values.dtype.itemsize


def hopped(stack, quantiser, topology, uniforms=None):
    """The sums and the bytes that every rank sends: part by part, as a tree of who adds what to whose."""
    (P, n), sent = stack.shape, [0] * len(stack)
    if topology == "ring" and "keep" not in quantiser:
        return requantised(stack, quantiser, "ring", uniforms)

    def read(values, stage, rank, span):
        drawn = None if uniforms is None else uniforms[stage, rank][span]
        return thinned(values, quantiser["keep"], drawn) if "keep" in quantiser else read_as(quantiser, values, drawn)

    parts, total = parts_of(n, P), np.zeros(n, stack.dtype)
    if topology == "ring":
        held = [stack[j, part] for j, part in enumerate(parts)]
        for hop in range(P - 1):
            for j, part in enumerate(parts):
                rank = (j + hop) % P
                values, size = read(held[j], hop, rank, part)
                sent[rank] += size
                held[j] = values + stack[(rank + 1) % P, part]
        owner = [(j + P - 1) % P for j in range(P)]
    else:
        whole, stage, half = [row.copy() for row in stack], 0, P // 2
        while half:
            before = [row.copy() for row in whole]
            for rank in range(P):
                partner = rank ^ half
                first = partner // half * half  # the parts that the partner keeps
                span = slice(parts[first].start, parts[first + half - 1].stop)
                values, size = read(before[rank][span], stage, rank, span)
                sent[rank] += size
                whole[partner][span] = values + before[partner][span]
            stage, half = stage + 1, half // 2
        held, owner = [whole[j][part] for j, part in enumerate(parts)], list(range(P))
    stage = P - 1 if topology == "ring" else P.bit_length() - 1
    for j, part in enumerate(parts):
        total[part], size = read(held[j], stage, owner[j], part)
        for hop in range(P - 1):
            sent[(owner[j] + hop) % P] += size
    return total, sent


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def _summed(held):
    stack, given = held["inputs"]["stack"], held["parameters"]
    quantiser = given["quantiser"]
    quantiser = dict(quantiser["fields"]) if "fields" in quantiser else dict(quantiser)
    row, sent = requantised(stack, quantiser, given.get("schedule", "ring"), held["randomness"].get("uniforms"))
    return {"sums": np.array([row] * len(stack)), "traffic": {"sent": sent}}


def _coded(held):
    stack = held["inputs"]["stack"]
    row, sent = homomorphic(stack, **held["parameters"], **held["randomness"])
    return {"sums": np.array([row] * len(stack)), "traffic": {"sent": sent}}


def _looked_up(held):
    stack = held["inputs"]["stack"]
    row, sent = tabled(stack, **held["parameters"], **held["randomness"])
    largest = float(np.finfo(stack.dtype).max)
    return {"sums": np.array([np.clip(row, -largest, largest).astype(stack.dtype)] * len(stack)),
            "traffic": {"sent": sent}}  # fmt: skip


def _by_hops(held):
    stack, given = held["inputs"]["stack"], held["parameters"]
    quantiser = given["quantiser"]
    quantiser = dict(quantiser["fields"]) if "fields" in quantiser else dict(quantiser)
    row, sent = hopped(stack, quantiser, given.get("topology", "butterfly"), held["randomness"].get("uniforms"))
    return {"sums": np.array([row] * len(stack)), "traffic": {"sent": sent}}


TWINS = {
    "requantised_allreduce": _summed,
    "homomorphic_allreduce": _coded,
    "table_allreduce": _looked_up,
    "multihop_allreduce": _by_hops,
}
"""Of the collectives by name."""
