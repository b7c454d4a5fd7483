"""Communication hooks of torch, as ``docs/examples/torch_hooks.py`` has them: one of every kind."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import torch_hooks

CHOSEN = (
    "allreduce_hook",
    "fp16_compress_hook",
    "fp16_compress_hook, all of float32",
    "bf16_compress_hook",
    "post_localSGD_hook",
    "powerSGD, epsilon 1e-8",
    "powerSGD, rank 2, ordinary gradients",
    "batched_powerSGD",
    "quantization_pertensor_hook",
    "quantization_pertensor_hook, its arithmetic",
)
by_name = {subject.name: subject for subject in torch_hooks.subjects}
subjects = [by_name[name] for name in CHOSEN]
