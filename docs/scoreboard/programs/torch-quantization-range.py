"""Gradients whose range is beyond float32 become NaN in the arithmetic of quantization_pertensor_hook."""

import sys

import torch
from torch.ao.quantization.observer import MinMaxObserver
from torch.distributed.algorithms.ddp_comm_hooks import quantization_hooks


def through(x):
    """What the hook makes of its own tensor."""
    observer = MinMaxObserver()
    observer(x)
    scale, zero = observer.calculate_qparams()
    codes = quantization_hooks._quantize_per_tensor_backend(x, scale, zero)
    return scale, quantization_hooks._dequantize_per_tensor_backend(codes, scale, zero)


lost = False
for entries in ([1e38, -1e38], [1.6e38, -1.6e38], [1.8e38, -1.8e38], [3e38, -3e38, 1.0]):
    x = torch.tensor(entries)
    scale, y = through(x)
    print(f"{entries} with scale {scale.item():.6g} becomes {[f'{entry:.6g}' for entry in y.tolist()]}")
    lost |= not torch.isfinite(y).all().item()
sys.exit(lost)
