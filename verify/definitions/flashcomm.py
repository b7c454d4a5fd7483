"""Quantised all-reduces as they are described, in plain floats; `code` maps a list of floats to what is read."""

import numpy as np

from commbounds.verify.definitions import groupquant


def parts(n, P):
    """Where the blocks of a vector of n entries begin and end, longer ones first."""
    ends = [0]
    for j in range(P):
        ends.append(ends[-1] + n // P + (1 if j < n % P else 0))
    return [range(ends[j], ends[j + 1]) for j in range(P)]


def twostep(stack, code, again):
    """What everyone ends with: blocks are coded, added by their owners, coded again and read."""
    P, result = len(stack), []
    for block in parts(len(stack[0]), P):
        total = [0.0 for _ in block]
        for row in stack:
            read = code([float(row[i]) for i in block])
            total = [a + b for a, b in zip(total, read, strict=True)]
        result += again(total)
    return result


def ring(stack, code):
    """What everyone ends with: block j goes round from rank j, coded at every hop, and once more at the end."""
    P, result = len(stack), []
    for j, block in enumerate(parts(len(stack[0]), P)):
        total = [float(stack[j][i]) for i in block]
        for hop in range(1, P):
            own = [float(stack[(j + hop) % P][i]) for i in block]
            total = [a + b for a, b in zip(code(total), own, strict=True)]
        result += code(total)
    return result


def oneshot(stack, code):
    """What everyone ends with: whole vectors are coded and added."""
    total = [0.0] * len(stack[0])
    for row in stack:
        total = [a + b for a, b in zip(total, code([float(v) for v in row]), strict=True)]
    return total


def hierarchical(stack, node, code):
    """What everyone ends with: blocks are added up in every node of `node` ranks, then across, coded at every stage."""
    nodes, result = [stack[i : i + node] for i in range(0, len(stack), node)], []
    for block in parts(len(stack[0]), node):
        sums = []
        for members in nodes:
            total = [0.0 for _ in block]
            for row in members:
                total = [a + b for a, b in zip(total, code([float(row[i]) for i in block]), strict=True)]
            sums.append(total)
        whole = sums[0]
        if len(nodes) > 1:
            whole = [0.0 for _ in block]
            for total in sums:
                whole = [a + b for a, b in zip(whole, code(total), strict=True)]
        result += code(whole)
    return result


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def plainly_quantised(x, metadata, repaired, zero, scale, spikes, **_options):
    """Whether a group quantiser stores what it computes: the twin in floats has no other form."""
    return not (repaired or spikes) and zero == scale == "float" and metadata == x.dtype.name


def quantised(twin):
    def found(held):
        stack, coder = held["inputs"]["stack"], held["parameters"]["quantiser"]
        plain = plainly_quantised(stack[0], **coder)
        if not plain or stack.dtype != np.float64 or len(held["parameters"]) > 1:  # the twin adds in float64
            return None
        row = twin(
            stack, lambda x: groupquant.decoded_floats([np.float64(v) for v in x], coder["width"], coder["group"])
        )
        return {"result.values": [row] * len(stack)}

    return found


TWINS = {
    "ring_quantised_allreduce": quantised(ring),
    "oneshot_quantised_allreduce": quantised(oneshot),
    "twostep_quantised_allreduce": quantised(lambda stack, code: twostep(stack, code, code)),
}
"""Of the collectives by name; None for what the twin does not do."""


def _group_quantiser(x, width, group, **options):
    if not plainly_quantised(x, **options):
        return None
    with np.errstate(all="ignore"):
        return {"output": groupquant.decoded_floats(list(x), width, group)}


COMPRESSED = {"GroupQuantizer": _group_quantiser}
"""Of the compressors by name: what a test vector gives -> the output; None where the twin has no such form."""
