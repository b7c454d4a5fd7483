"""Five defects of sums that are shipped: the arithmetic of their sources, in numpy on a CPU.

This runs none of their code and no kernel of a GPU. The formulas are written from the functions below, at these commits
and with these settings. It needs numpy and ml_dtypes alone. Reports were searched on 2026-11-29.

FlashInfer: flashinfer-ai/flashinfer at fb28d724, flashinfer/comm/quantized_allreduce.py, _fp8_blockscale_2shot_kernel.
    Groups have 256 numbers, the default. No report was found. Another all-reduce had the same defect, which
    pull request 44 of local-inference-lab/b12x repaired.
torchft: meta-pytorch/torchft at 7eb70878, torchft/quantization.py, _fused_kernel_quantize_into_fp8 and
    _fused_kernel_reduce_fp8, and _prepare_quantize_fp8 for the bytes. Codes are integers by default where a processor
    has no float8, before compute capability 9.0. should_quantize is off by default. No report of either was found.
NCCL: NVIDIA/nccl at 0180f9ab, src/device/reduce_kernel.h, FuncSum of float8: what a hop of a ring does with data of
    float8, from compute capability 9.0 on. No report was found; issue 1026, which is open, is about bfloat16.
PyTorch: pytorch/pytorch at 06d06f80, torch/distributed/algorithms/ddp_comm_hooks/quantization_hooks.py,
    quantization_pertensor_hook, which is to be registered. The smallest scale is the default eps of
    torch/ao/quantization/observer.py at 004ebd57. No report was found.
"""

import numpy as np
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2

f32 = np.float32


def flashinfer():
    """Two ranks' vectors, of two blocks of 4096: what the owner of an entry keeps, and what the other one reads."""
    most = f32(448)

    def coded_and_read(groups):
        largest = np.maximum(np.abs(groups).max(axis=1, keepdims=True), f32(1e-12))
        codes = np.clip(groups * (most / largest), -most, most).astype(float8_e4m3fn)
        return codes.astype(f32) * (largest / most)

    ramps = [np.arange(8192) % period - period // 2 for period in (251, 241)]
    total = sum(coded_and_read((ramp / f32(64)).astype(bfloat16).astype(f32).reshape(-1, 256)) for ramp in ramps)
    kept, sent = (x.astype(bfloat16).astype(f32) for x in (total, coded_and_read(total)))
    print(
        f"FlashInfer: of {kept.size} sums {(kept != sent).sum()} differ between the two ranks, by up to "
        f"{np.abs(kept - sent).max()}; the largest sum is {np.abs(kept).max()}"
    )


def integers_read(row, whole):
    """What is read of a row's codes, which `whole` makes integers of."""
    scale = f32(127) / np.abs(row).max()
    return whole(row * scale).astype(np.int8).astype(f32) / scale


def torchft_integers():
    """Two ranks' rows of 2048: codes truncated, as a conversion to int8 does, and codes rounded."""
    ramp = np.linspace(-1, 1, 2048, dtype=f32)
    rows = ramp, f32(0.7) * ramp * ramp * ramp
    exact = rows[0].astype(float) + rows[1]
    steps = sum(float(np.abs(row).max()) for row in (*rows, exact)) / 127
    for words, whole in (("truncated", np.trunc), ("were they rounded", np.rint)):
        found = integers_read(integers_read(rows[0], whole) + integers_read(rows[1], whole), whole)
        print(
            f"torchft, integers {words}: errors up to {np.abs(found - exact).max() / steps:.3f} of the steps' sum; "
            f"magnitudes add up to {np.abs(found).sum() / np.abs(exact).sum():.4f} of the exact ones"
        )


def torchft_rows(P=4, n=2**20):
    """Bytes that a rank sends, over those of a ring of float32: a row is a scale, and codes in whole words of four."""
    for shape in ((n,), (n // 2, 2), (n // 4, 4), (n // 64, 64), (n // 1024, 1024)):
        rows, columns = (*shape, 1)[:2]  # a vector is turned into one column
        coded = 2 * (P - 1) * -(-rows // P) * (-(-columns // 4) + 1) * 4
        print(f"torchft, a tensor of {shape}: {coded / (2 * (P - 1) * n // P * 4):.3f} times the bytes of float32")


def nccl():
    """Sums in float8: a hop adds two numbers in float16, and converts the sum, which ends at the largest number."""
    for words, kind, most in (("e4m3", float8_e4m3fn, 448), ("e5m2", float8_e5m2, 57344)):

        def hop(a, b, kind=kind, most=most):
            with np.errstate(over="ignore"):
                return np.clip(np.float16(a) + np.float16(b), -np.float16(most), np.float16(most)).astype(kind)

        totals = [kind(1)]
        while len(totals) < 64:
            totals.append(hop(totals[-1], kind(1)))
        least = next(ranks for ranks, total in enumerate(totals, 1) if float(total) != ranks)
        print(
            f"NCCL, {words}: the sum of {least} ones is {totals[least - 1]}, that of 64 is {totals[-1]}; "
            f"{most} + {most} is {hop(most, most)}"
        )


def torch_hook():
    """The mean of two ranks' equal gradients: 255 levels over their range, but none closer than float32's eps."""
    for most in (1e-3, 1e-5, 1e-6, 5e-8):
        x = np.linspace(-most, most, 1001, dtype=f32)
        scale = np.maximum((x.max() - x.min()) / f32(255), np.finfo(f32).eps)
        zero = np.clip(-np.rint(x.min() / scale), 0, 255)
        codes = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8)
        mean = 2 * (scale * (codes.astype(f32) - zero)) / f32(2)
        print(
            f"torch's hook: gradients up to {most:g} have {np.unique(codes).size} of 256 codes; the largest error is "
            f"{np.abs(mean - x).max() / most:.4f} of the largest gradient"
        )


for run in (flashinfer, torchft_integers, torchft_rows, nccl, torch_hook):
    run()
