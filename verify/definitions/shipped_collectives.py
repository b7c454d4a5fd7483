"""Quantised all-reduces that are shipped, one number at a time, from their sources and not from the implementation.

It imports nothing of the package. QuickReduce: csrc/quickreduce of vllm-project/vllm, one thread's eight numbers after
another. FlashInfer: flashinfer/comm/quantized_allreduce.py. torchft: torchft/quantization.py and collectives.py.
torch: torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py and the observers that it names. What a GPU's
reciprocal and division may be off by is not reproduced: they are rounded correctly, as the docstrings say. NCCL:
src/device/all_reduce.h and reduce_kernel.h of NVIDIA/nccl. torchcomms: comms/utils/kernels and comms/prims of
meta-pytorch/torchcomms. LoongForge: loongforge/embodied/distributed/ddp_utils/fp8_a2a_comm.py.
"""

import math
import struct

import numpy as np
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2

from commbounds.verify.definitions.traffic import counted

F16, F32, F64 = np.float16, np.float32, np.float64


def all_to_all(P, sizes, gathered):
    """Two steps: rank p sends to q what it has for q; then every rank its own to all."""
    others = [(p, q) for p in range(P) for q in range(P) if p != q]
    return counted(
        P, [[(p, q, sizes[q]) for p, q in others], [(p, q, gathered[p]) for p, q in others]] if P > 1 else []
    )


# --- QuickReduce


def half(value, saturates):
    """A float64 as a float16."""
    rounded = F16(value)
    if saturates and math.isinf(rounded) and not math.isinf(value):
        return F16(math.copysign(65504.0, value))
    return rounded


def smaller(a, b):
    """The minimum of the instruction: a number before NaN, -0 before +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b == 0:
        return a if math.copysign(1.0, a) < 0 else b
    return min(a, b)


def block(numbers, top, saturates):
    """Codes of numbers that share a scale, and the scale."""
    high, low = numbers[0], numbers[0]
    for v in numbers[1:]:
        high, low = -smaller(-high, -v), smaller(low, v)
    largest = high if abs(high) > abs(low) else low
    scale = half(F64(largest) * F64(-1 / top), saturates)
    up = half(F64(1) / F64(half(F64(scale) + F64(2.0**-24), saturates)), saturates)
    codes = []
    for v in numbers:
        w = half(F64(v) * F64(up), saturates)
        w = -top if math.isnan(w) or w < -top else min(w, top - 1)
        codes.append(round(float(w)))
    return codes, scale


def quick_coded(numbers, width, saturates):
    """What is read of a group of 64, whose even and odd numbers are blocks."""
    read = [None] * 64
    for odd in (0, 1):
        codes, scale = block(numbers[odd::2], 2 ** (width - 1), saturates)
        read[odd::2] = [half(F64(c) * F64(scale), saturates) for c in codes]
    return read


def quickreduce(held):
    """All ranks' sums, and what is sent."""
    given = {"width": 8, "tile": 16384, "saturates": True, **held["parameters"]}
    stack, width, tile, saturates = held["inputs"]["stack"], given["width"], given["tile"], given["saturates"]
    P, n = stack.shape
    row = []
    for start in range(0, n, 64):
        totals = [F16(0)] * 64
        for own in stack:
            numbers = [half(F64(own[i]), saturates) if i < n else F16(0) for i in range(start, start + 64)]
            for i, v in enumerate(quick_coded(numbers, width, saturates)):
                totals[i] = half(F64(totals[i]) + F64(v), saturates)
        row += quick_coded(totals, width, saturates)
    # a rank owns 8/P of the eight atoms of every thread; a group of eight threads sends 64 codes and two scales of it
    part = -(-n // tile) * (tile // 64) // P * (8 * width + 4)
    return {"result": np.array([row[:n]] * P).astype(stack.dtype), "traffic": all_to_all(P, [part] * P, [part] * P)}


# --- FlashInfer


def float8_group(numbers):
    """What is read of a group's codes in float8."""
    largest = max(F32(1e-12), *[abs(v) for v in numbers])
    factor, up = largest / F32(448), F32(448) / largest
    read = []
    for v in numbers:
        scaled = v * up
        if not math.isnan(scaled):
            scaled = max(min(scaled, F32(448)), F32(-448))
        read.append(F32(float8_e4m3fn(scaled)) * factor)
    return read


def flashinfer_allreduce(held):
    """All ranks' sums, and what is sent."""
    given = {"group": 256, "block": 4096, **held["parameters"]}
    stack, group, width = held["inputs"]["stack"], given["group"], given["block"]
    P, n = stack.shape
    if width % group or width % P:
        return {"refused": "ValueError"}
    rows = [[F32(bfloat16(v)) for v in row] for row in stack]
    results, bytes_of = [[None] * n for _ in range(P)], [0] * P
    for start in range(0, n, group):
        places = range(start, min(start + group, n))
        owner = start // width % P
        bytes_of[owner] += len(places) + 4
        totals = [F32(0)] * len(places)
        for row in rows:
            read = float8_group([row[i] for i in places])
            totals = [a + b for a, b in zip(totals, read, strict=True)]
        read = float8_group(totals)
        for p in range(P):
            for i, exact, coded in zip(places, totals, read, strict=True):
                results[p][i] = F32(bfloat16(exact if p == owner else coded))
    return {"result": np.array(results).astype(stack.dtype), "traffic": all_to_all(P, bytes_of, bytes_of)}


# --- torchft


def torchft_row(numbers, native, share):
    """What is read of a row over `share`."""
    top = F32(448) if native else F32(127)
    scale = top / (max(abs(v) for v in numbers) / share)
    if math.isinf(scale):
        scale = F32(1)
    read = []
    for v in numbers:
        scaled = v * scale / share
        read.append((F32(float8_e4m3fn(scaled)) if native else F32(np.int8(int(scaled)))) / scale)
    return read


def torchft_allreduce(held):
    """All ranks' sums or means, and what is sent."""
    given = {"columns": 1, "native": True, "mean": False, **held["parameters"]}
    stack, columns, native = held["inputs"]["stack"], given["columns"], given["native"]
    P, n = stack.shape
    height = n // columns
    slice_size = -(-height // P)
    row = []
    for r in range(height):
        owner = r // slice_size
        totals = [F32(0)] * columns
        for hop in range(P):
            own = stack[(owner + hop) % P]
            read = torchft_row([F32(v) for v in own[r * columns : (r + 1) * columns]], native, F32(1))
            totals = [a + b for a, b in zip(totals, read, strict=True)]
        row += torchft_row(totals, native, F32(P) if given["mean"] else F32(1))
    part = slice_size * (-(-columns // 4) + 1) * 4
    return {"result": np.array([row] * P).astype(stack.dtype), "traffic": all_to_all(P, [part] * P, [part] * P)}


# --- torch's hooks


def quantization_hook(held):
    """All ranks' means, and what is sent."""
    stack, channel = held["inputs"]["stack"], held["parameters"].get("channel")
    P, n = stack.shape
    length = n if channel is None else n + channel - n % channel
    width = n if channel is None else channel
    totals = [F32(0)] * length
    for own in stack:
        numbers = [F32(v) for v in own] + [F32(0)] * (length - n)
        for start in range(0, length, width):
            part = numbers[start : start + width]
            low, high = min(F32(0), *part), max(F32(0), *part)
            scale = max((high - low) / F32(255), np.finfo(F32).eps)
            point = F32(min(max(-np.rint(low / scale), 0), 255))
            for i, v in enumerate(part, start):
                code = min(max(np.rint(v / scale) + point, F32(0)), F32(255))
                totals[i] = totals[i] + scale * (code - point)
    row = [v / F32(P) for v in totals[:n]]
    scales, codes = 8 * (length // width), length
    return {"result": np.array([row] * P).astype(stack.dtype), "traffic": all_to_all(P, [scales] * P, [codes] * P)}


# --- NCCL


def eight(value, element):
    """A number as the nearest of float8, and the largest beyond it."""
    kind, most = (float8_e4m3fn, 448.0) if element == "e4m3" else (float8_e5m2, 57344.0)
    return kind(math.copysign(min(abs(float(value)), most), value))


def nccl_sum(held):
    """All ranks' sums, and what is sent."""
    stack, element = held["inputs"]["stack"], held["parameters"].get("element", "e4m3")
    P, n = stack.shape
    sizes = [n // P + (part < n % P) for part in range(P)]
    owners = [part for part in range(P) for _ in range(sizes[part])]
    row = []
    for i, owner in enumerate(owners):
        total = eight(stack[(owner + 1) % P, i], element)
        for hop in range(2, P + 1):
            total = eight(half(F64(total) + F64(eight(stack[(owner + hop) % P, i], element)), True), element)
        row.append(F32(total))
    steps = [[(p, (p + 1) % P, sizes[(p - hop) % P]) for p in range(P)] for hop in range(1, 2 * P - 1)]
    return {"result": np.array([row] * P).astype(stack.dtype), "traffic": counted(P, steps)}


# --- torchcomms


def philox(key, counter):
    """Four words of 32 bits, by seven rounds."""
    c0, c1, c2, c3 = counter % 2**32, counter // 2**32, 0, 0
    k0, k1 = key % 2**32, key // 2**32
    for _ in range(7):
        by_a, by_b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = by_b // 2**32 ^ c1 ^ k0, by_b % 2**32, by_a // 2**32 ^ c3 ^ k1, by_a % 2**32
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def word(key, element):
    """The half of four words that belongs to an element: lower halves are the even ones."""
    return philox(key, element // 8)[element % 8 // 2] >> 16 * (element % 2) & 0xFFFF


def upper_half(value, random):
    """A float32 whose lower 16 bits are cut off behind the addition of random ones."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if bits & 0x7F800000 != 0x7F800000:
        bits = (bits + random) % 2**32
    return F32(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])


def torchcomms_reduce_scatter(held):
    """Every rank's part of the sum, and what is sent."""
    stack, key, words = held["inputs"]["stack"], held["parameters"].get("key", 0), held["inputs"].get("words")
    P, n = stack.shape
    part, results = n // P, []
    for rank in range(P):
        own = []
        for i in range(rank * part, (rank + 1) * part):
            total = F32(stack[rank, i])
            for peer in [(rank + hop) % P for hop in range(1, P)]:
                random = word(key, peer * n + i) if words is None else int(words[peer, i])
                total = upper_half(F32(stack[peer, i]), random) + total
            own.append(total)
        results.append(own)
    step = [(p, q, 2 * part) for p in range(P) for q in range(P) if p != q]
    return {"result": np.array(results).astype(stack.dtype), "traffic": counted(P, [step] if P > 1 else [])}


# --- LoongForge


def blockwise(numbers):
    """What is read of a block's codes in float8."""
    scale = max(abs(v) for v in numbers) / F32(448)
    if scale > F32(2.0**-126):
        up = F32(1) / scale
    else:
        scale = up = F32(0)
    return [F32(float8_e4m3fn(max(min(v * up, F32(448)), F32(-448)))) * scale for v in numbers]


def loongforge_hook(held):
    """All ranks' means, round after round, and what is sent."""
    given = {"rounds": 1, "group": 256, "feedback": "none", **held["parameters"]}
    stack, rounds, block, feedback = held["inputs"]["stack"], given["rounds"], given["group"], given["feedback"]
    P, n = stack.shape[0], stack.shape[1] // rounds
    if P == 1:
        return {"result": stack.astype(F32).astype(stack.dtype), "traffic": counted(P, [])}
    per_rank = (n + P - 1) // P
    shard = (per_rank + 8 * block - 1) // (8 * block) * 8 * block
    first, second = [[F32(0)] * n for _ in range(P)], [F32(0)] * (P * shard)
    row = []
    for t in range(rounds):
        buckets = [[F32(stack[p, t * n + i]) for i in range(n)] for p in range(P)]
        if feedback == "both":
            buckets = [
                [v + e for v, e in zip(own, lost, strict=True)] for own, lost in zip(buckets, first, strict=True)
            ]
        bucket = [F32(0)] * (P * shard)
        for start in range(0, n, block):  # the blocks behind are zeros
            places = range(start, start + block)
            shares = [F32(0)] * block
            for p in range(P):
                read = blockwise([buckets[p][i] if i < n else F32(0) for i in places])
                shares = [a + d for a, d in zip(shares, read, strict=True)]
                for i, d in zip(places, read, strict=True):
                    if i < n:
                        first[p][i] = buckets[p][i] - d
            means = [v * F32(1 / P) for v in shares]
            if feedback != "none":
                means = [v + second[i] for i, v in zip(places, means, strict=True)]
            for i, v, d in zip(places, means, blockwise(means), strict=True):
                second[i], bucket[i] = v - d, d
        row += bucket[:n]
    chunk = shard + 4 * (shard // block)
    sent = [(p, q, chunk) for p in range(P) for q in range(P) if p != q]
    traffic = counted(P, [sent] * (2 * rounds))
    return {"result": np.array([row] * P).astype(stack.dtype), "traffic": traffic}
