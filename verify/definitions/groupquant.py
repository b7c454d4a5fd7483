"""Group quantisation, bit planes and spikes as they are described, entry by entry, in rational arithmetic."""

from fractions import Fraction


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


def decoded_floats(x, bits, group):
    """The same without spikes in floats, with the operations in the order in which the formula has them."""
    out = []
    for start in range(0, len(x), group):
        part = x[start : start + group]
        low, scale = min(part), (max(part) - min(part)) / (2**bits - 1)
        out += [(round((v - low) / scale) if scale > 0 else 0) * scale + low for v in part]
    return out


WIDTHS = {1: [1], 2: [2], 3: [2, 1], 4: [4], 5: [4, 1], 6: [4, 2], 7: [4, 2, 1], 8: [8]}


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
    packed = []
    for place, width in enumerate(WIDTHS[bits]):
        number = sum(split(code, bits)[place] << (i * width) for i, code in enumerate(codes))
        packed.append(list(number.to_bytes(-(-len(codes) * width // 8), "little")))
    return packed
