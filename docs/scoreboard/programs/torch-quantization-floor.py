"""The smallest scale of the observer that quantization_pertensor_hook uses."""

import sys

import torch
from torch.ao.quantization import MinMaxObserver
from torch.distributed.algorithms.ddp_comm_hooks import quantization_hooks

x = torch.tensor([1e-8, -1e-8])
observer = MinMaxObserver()
observer(x)
scale, zero = observer.calculate_qparams()
codes = quantization_hooks._quantize_per_tensor_backend(x, scale, zero)
found = quantization_hooks._dequantize_per_tensor_backend(codes, scale, zero)
print(
    f"{x.tolist()} with scale {float(scale):g} becomes {found.tolist()}; 256 levels over its range would have 7.8e-11"
)
sys.exit(not bool((found - x).abs().max() <= 1e-10))
