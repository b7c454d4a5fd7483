"""Two ends of float16 in quantised all-reduces of AMD's GPUs, instruction after instruction in numpy.

One coding by CodecQ8 of vLLM's csrc/quickreduce/quick_reduce_impl.cuh at 0bf6342e: lines of `send` and `recv`, with the
constants as they stand there. Settings: VLLM_ROCM_QUICK_REDUCE_QUANTIZATION=INT8, and bfloat16 cast to float16, as by
default. Upstream (2026-11-29): sglang's issue 40084 and its pull request 40198 are open, issue 34473 is closed by
pull request 34484; vLLM's issue 55345 is open. This needs numpy alone, and no GPU: it runs none of their code.
"""

import numpy as np

SCALE_FACTOR, EPSILON, LEAST, MOST = np.array([0xA000, 0x0001, 0xD800, 0x57F0], np.uint16).view(np.float16)


def saturated(x, mode):
    """What the mode FP16_OVFL makes of results that overflow."""
    return np.clip(x, np.float16(-65504), np.float16(65504)) if mode else x


def read(block, mode):
    """What is read of a block's codes; `mode` is FP16_OVFL."""
    with np.errstate(all="ignore"):
        largest = block[np.abs(block).argmax()]
        decoding = saturated(largest * SCALE_FACTOR, mode)
        encoding = saturated(np.float16(1) / saturated(decoding + EPSILON, mode), mode)
        scaled = np.fmin(np.fmax(saturated(block * encoding, mode), LEAST), MOST)
        return saturated(np.rint(scaled) * decoding, mode)


for number in (0.1, 0.002, 0.0019, 0.0015, 2.0**-10, 0.0001):
    block = np.full(32, number, np.float16)
    print(f"blocks of {number:.6g} are read as {float(read(block, True)[0] / block[0]):.3f} of themselves")
with np.errstate(over="ignore"):
    block = np.array([333824.0] + [1.0] * 31, np.float32).astype(np.float16)
found = read(block, False)
print(f"beside 333824, as float16, 1 is read as {found[1]}: of 32 numbers {np.isfinite(found).sum()} are finite")
