"""Group quantisation, bit planes and spikes as they are described, entry by entry, in rational arithmetic."""

import math
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np

from commbounds.verify.definitions.quantizers import uniforms_of
from commbounds.verify.definitions.sparsifiers import bits_of_one_of, of_vectors


def decoded(x, bits, group, spikes=False):
    """What the receiver reads of `x` where scales and zero points are stored exactly."""
    out = []
    for start in range(0, len(x), group):
        part = [Fraction(float(v)) for v in x[start : start + group]]
        kept = list(range(len(part)))
        if spikes:
            smallest = min(kept, key=lambda i: (part[i], i))
            kept.remove(smallest)
            if kept:
                kept.remove(max(kept, key=lambda i: (part[i], -i)))
        rest = [part[i] for i in kept]
        levels = 2**bits - 1
        for i, value in enumerate(part):
            if i not in kept or min(rest) == max(rest):
                out.append(value)
                continue
            low, step = min(rest), (max(rest) - min(rest)) / levels
            out.append(low + round((value - low) / step) * step)
    return out


WIDTHS = {1: [1], 2: [2], 3: [2, 1], 4: [4], 5: [4, 1], 6: [4, 2], 7: [4, 2, 1], 8: [8]}


@cache
def split(code, bits):
    """The parts of a code, highest bits first."""
    digits = format(code, f"0{bits}b")
    parts = []
    for width in WIDTHS[bits]:
        parts.append(int(digits[:width], 2))
        digits = digits[width:]
    return parts


def planes(codes, bits):
    """Every part of all codes, packed into bytes from the lowest bits up."""
    packed, parts = [], [split(code, bits) for code in codes]
    for place, width in enumerate(WIDTHS[bits]):
        number = sum(part[place] << (i * width) for i, part in enumerate(parts))
        packed.append(list(number.to_bytes(-(-len(codes) * width // 8), "little")))
    return packed


# --- the quantisers with all their options, one entry at a time ------------------------------------------------------

FORMATS = {"float64": (53, -1022), "float32": (24, -126), "float16": (11, -14), "bfloat16": (8, -126)}
"""Significant bits, and the exponent of the smallest normal number."""
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


class TooLarge(Exception):
    """A number does not fit its format."""


def stored(value, form, way="nearest"):
    """A float rounded to the format: to nearest, ties to even, or to the next number below or above it."""
    digits, least = FORMATS[form]
    if value == 0:
        return DTYPES[form](value)
    power = max(math.frexp(float(value))[1] - 1, least) - digits + 1
    rounding = {"nearest": round, "below": math.floor, "above": math.ceil}[way]
    rounded = rounding(math.ldexp(float(value), -power))  # by a power of two nothing is lost
    found = DTYPES[form](math.ldexp(rounded, power))
    if not math.isfinite(found):
        raise TooLarge
    return found if rounded else DTYPES[form](math.copysign(0.0, value))


def least_power(value, theta):
    """The least j with 2^(j / theta) at or above a number; -128 for zero, and the least there is."""
    if value == 0:
        return -128
    power, exact = theta * (math.frexp(value)[1] - 1), Fraction(value) ** theta
    while Fraction(2) ** power < exact:
        power += 1
    if power > 127:
        raise TooLarge
    return max(power, -128)


def ends(part, signs):
    """The smallest and the largest entry; of zeros of both signs the negative one is the smaller, or the first is."""
    order = (lambda v: (v, math.copysign(1.0, v))) if signs else None
    return min(part, key=order), max(part, key=order)


def scale_of(wanted, form, theta, way):
    """As it is sent, and as a float64."""
    if theta:
        sent = least_power(wanted, theta)
        return np.int8(sent), float(np.exp2(sent / theta))
    sent = stored(wanted, form, way)
    return sent, float(sent)


def coded_group(part, width, form, repaired, quantise_with, zero, theta, spikes, uniforms):
    """One group: codes, what is sent of its scale and zero point, spikes with their places, and what is read."""
    kind, top = part.dtype.type, 2**width - 1
    places, rest = [], list(range(part.size))
    if spikes:
        first = min(rest, key=lambda i: (part[i], i))
        others = [i for i in rest if i != first]
        last = max(others, key=lambda i: (part[i], -i)) if others else first
        places, rest = [first, last], [i for i in others if i != last]
    low, high = ends([part[i] for i in rest], not spikes) if rest else (kind(0), kind(0))
    span = high - low
    if not math.isfinite(span):
        raise TooLarge
    held = [stored(part[i], form) for i in places]
    exact_scale = span / kind(top)
    if zero == "float":
        wire_zero = stored(low, form, "below" if repaired else "nearest")
        read_low, wanted = kind(wire_zero), float(exact_scale)
        if repaired:  # from the zero point as it is read; one float up, as the quotient may have been rounded down
            wanted = (float(high) - float(read_low)) / top
            wanted = math.nextafter(wanted, math.inf) if high > read_low else 0.0
        wire_scale, wide = scale_of(wanted, form, theta, "above" if repaired else "nearest")
    else:  # a group of equal entries is one step of their magnitude away from zero
        wire_scale, wide = scale_of(float(exact_scale if exact_scale > 0 else abs(low)), form, theta, "nearest")
        point = float(np.rint(-float(low) / (wide if wide > 0 else 1.0)))
        point = min(max(point, 0.0), float(top)) if zero == "clamped" else point
        if abs(point) >= 2**31:
            raise TooLarge
        wire_zero, read_low = (np.uint8 if zero == "clamped" else np.int32)(point), low
    scale = kind(wide)
    from_low, by = (read_low, scale) if quantise_with == "stored" else (low, exact_scale)
    codes, read = [], []
    for i, entry in enumerate(part):
        value = low if i in places else entry
        if not by > 0:
            code = 0.0
        elif zero != "float":
            code = float(np.rint(value / by)) + point
        elif uniforms is None:
            code = float(np.rint((value - from_low) / by))
        else:
            code = math.ceil((float(value) - float(from_low)) / float(by) - float(uniforms[i]))
        codes.append(int(min(max(code, 0), top)))
        if zero == "float":
            read.append(kind(codes[-1]) * scale + read_low)
        else:
            read.append(kind((codes[-1] - point) * float(scale)))
    for place, spike in zip(places, held, strict=True):
        read[place] = kind(spike)
    return codes, wire_scale, wire_zero, places, held, read


def coded(x, given, uniforms=None):
    """The message of a vector, its size, and what is read of it; what is left out of `given` is as documented."""
    width, group, form = given["width"], given.get("group", 128), given.get("metadata", "float32")
    zero, spikes = given.get("zero", "float"), given.get("spikes", False)
    theta = given.get("theta", 8) if given.get("scale", "float") == "log2" else 0
    found = []
    for start in range(0, x.size, group):
        drawn = None if uniforms is None else uniforms[start : start + group]
        options = given.get("repaired", False), given.get("quantise_with", "stored"), zero, theta, spikes
        with np.errstate(over="ignore"):
            found.append(coded_group(x[start : start + group], width, form, *options, drawn))
    codes, scales, zeros, places, held, read = ([part[i] for part in found] for i in range(6))
    whole = [code for part in codes for code in part]
    packed = [np.array(plane, np.uint8) for plane in planes(whole, width)]
    message = {
        "planes": packed,
        "codes": np.array(whole, np.uint8),
        "scale": np.array(scales, np.int8 if theta else DTYPES[form]),
        "zero": np.array(zeros, {"float": DTYPES[form], "integer": np.int32, "clamped": np.uint8}[zero]),
    }
    if spikes:
        message |= {"positions": np.array(places, np.int64), "spikes": np.array(held, DTYPES[form])}
    bits = 8 * sum(plane.size for plane in packed) + 8 * (message["scale"].nbytes + message["zero"].nbytes)
    if spikes:
        bits += 2 * len(found) * bits_of_one_of(group) + 8 * message["spikes"].nbytes
    return {"message": message, "bits": bits, "output": np.array([v for part in read for v in part], x.dtype)}


# --- what is given -> what is said of it ------------------------------------------------------------------------------


def _admitted(**given):
    return not (given.get("repaired", False) and given.get("zero", "float") != "float")


def _group_quantiser(x, given, drawn):
    try:
        return coded(x, given, uniforms_of(x, drawn) if drawn else None)
    except TooLarge:
        return {"refused": "ValueError"}


GroupQuantizer = of_vectors(_group_quantiser, _admitted)
StochasticGroupQuantizer = of_vectors(
    _group_quantiser, lambda **given: _admitted(**given) and given.get("zero", "float") == "float"
)


def packed(held):
    """Planes, and their bytes together."""
    codes, bits = held["inputs"]["codes"], held["parameters"]["bits"]
    if codes.dtype != np.uint8:
        return {"refused": "TypeError"}
    if codes.size == 0 or max(codes) >= 2**bits:
        return {"refused": "ValueError"}
    found = planes([int(code) for code in codes], bits)
    return {"planes": [np.array(plane, np.uint8) for plane in found], "bytes": sum(map(len, found))}
