"""The communication hooks that come with torch, judged: ``commbounds check torch_hooks.py:subjects``.

What was found, and how to read it: ``docs/torch-hooks.md``.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from torch.ao.quantization import MinMaxObserver
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.claim import Sure


@dataclass(frozen=True)
class AveragesIn(Sure):
    """Every rank ends with the mean, formed in a narrower dtype.

    Each of the P entries is rounded to it, divided by P and rounded, and passes at most P - 1 additions: with u half
    its spacing at 1, s its smallest positive number and k = P + 1, |result - mean| <= k u/(1 - k u) sum of |x_p|/P +
    (P + 1) s/2. An entry that is rounded is off by s/2, of which the mean gets s/2/P; one that is divided by s/2 again;
    additions do not underflow.
    """

    dtype: str

    about = ("all-reduce",)

    def violation(self, bench, case):
        P, x = len(case.x), case.x.astype(np.float64)
        finfo = ml_dtypes.finfo(self.dtype)
        change = (P + 1) * float(finfo.eps) / 2
        allowance = change / (1 - change) * np.abs(x).sum(axis=0) / P
        allowance = allowance + (P + 1) * float(finfo.smallest_subnormal) / 2
        error = np.abs(bench.outcome(case).result.astype(np.float64) - x.mean(axis=0))
        if (error <= allowance).all():
            return None
        return f"off by {float(np.max(error)):.6g} of the mean, rounding explains {float(np.max(allowance)):.3g}"


def no_state(seed):
    """A hook without a state; None stands for the default process group."""
    return


def fp16_wrapped(state, bucket):
    """What ``fp16_compress_wrapper(allreduce_hook)`` makes: a closure, which no other process could import."""
    return default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)(state, bucket)


def powersgd(seed, **options):
    """A state that compresses from the third step on, the earliest with error feedback."""
    return powerSGD_hook.PowerSGDState(
        None, **{"start_powerSGD_iter": 2, "min_compression_rate": 1, "random_seed": seed, **options}
    )


def safe(seed):
    """With the epsilon that the documentation proposes against a division by zero."""
    return powersgd(seed, orthogonalization_epsilon=1e-8)


def safe_cold(seed):
    """And without warm start."""
    return powersgd(seed, orthogonalization_epsilon=1e-8, warm_start=False)


def rank_two(seed):
    """Of rank 2."""
    return powersgd(seed, matrix_approximation_rank=2)


def plain(seed):
    """Without memory: no error feedback, no warm start, from the first step on."""
    return powersgd(seed, start_powerSGD_iter=0, use_error_feedback=False, warm_start=False)


def local_later(seed):
    """Local SGD from step 10 on; before, and so here, all ranks average."""
    return post_localSGD_hook.PostLocalSGDState(None, None, start_localSGD_iter=10)


def held_back(state):
    """PowerSGD's memory of the only bucket; there is none before compression starts."""
    return state.error_dict.get(0, 0.0)


def no_zero_step(x):
    """Every step has a gradient."""
    return all(step.any() for step in x)


def pertensor(x, seed):
    """The arithmetic of quantization_pertensor_hook for one rank."""
    observer = MinMaxObserver()
    observer(x)
    scale, zero = observer.calculate_qparams()
    codes = quantization_hooks._quantize_per_tensor_backend(x, scale, zero)
    return quantization_hooks._dequantize_per_tensor_backend(codes, scale, zero)


def one_step(x):
    """The distance of 256 levels over the entries and zero: half of it for the entry, half for the zero point."""
    wide = x.astype(np.float64)
    return (max(wide.max(), 0.0) - min(wide.min(), 0.0)) / 255


def stateful(name, make_state, claims=None, **options):
    """PowerSGD with its memory, on matrices of 5 x 5."""
    claims = claims or [cf.Telescopes(), cf.MemoryBounded(), cf.RecoversAfterZero()]
    hook = options.pop("hook", powerSGD_hook.powerSGD_hook)
    options = {"ranks": (1,), "shape": (5, 5), "residual": held_back, "effort": 0.1, **options}
    return cf.torch_ddp_hook(hook, make_state, claims, stateful=True, name=name, **options)


MEAN = [cf.Averages(), cf.RanksAgree()]
HALF = [AveragesIn("float16"), cf.RanksAgree()]
MIDDLING = {"magnitudes": (1e-3, 1e3)}
ORDINARY = {**MIDDLING, "admits": no_zero_step}

subjects = [
    cf.torch_ddp_hook(default_hooks.allreduce_hook, no_state, MEAN),
    cf.torch_ddp_hook(default_hooks.fp16_compress_hook, no_state, HALF, magnitudes=(0.0, 6e4)),
    cf.torch_ddp_hook(default_hooks.fp16_compress_hook, no_state, HALF, name="fp16_compress_hook, all of float32"),
    cf.torch_ddp_hook(fp16_wrapped, no_state, HALF, magnitudes=(0.0, 6e4), name="fp16_compress_wrapper"),
    cf.torch_ddp_hook(default_hooks.bf16_compress_hook, no_state, [AveragesIn("bfloat16"), cf.RanksAgree()]),
    cf.torch_ddp_hook(post_localSGD_hook.post_localSGD_hook, local_later, MEAN),
    cf.torch_ddp_hook(powerSGD_hook.powerSGD_hook, plain, [cf.RanksAgree()], shape=(5, 5), name="powerSGD, plain"),
    stateful("powerSGD", powersgd),
    stateful("powerSGD, ordinary gradients", powersgd, [cf.Telescopes(), cf.MemoryBounded()], **ORDINARY),
    stateful("powerSGD, ordinary gradients, 2 ranks", powersgd, [cf.Telescopes()], ranks=(2,), **ORDINARY),
    stateful("powerSGD, epsilon 1e-8", safe, **MIDDLING),
    stateful("powerSGD, epsilon 1e-8, no warm start", safe_cold, **MIDDLING),
    stateful("powerSGD, rank 2, ordinary gradients", rank_two, [cf.Telescopes(), cf.MemoryBounded()], **ORDINARY),
    stateful("batched_powerSGD", powersgd, hook=powerSGD_hook.batched_powerSGD_hook),
    cf.torch_ddp_hook(quantization_hooks.quantization_pertensor_hook, no_state, [cf.RanksAgree()]),
    cf.torch_ddp_hook(quantization_hooks.quantization_perchannel_hook, no_state, [cf.RanksAgree()]),
    cf.Codec(cf.on_torch(pertensor), [cf.AbsoluteError(one_step)], name="quantization_pertensor_hook, its arithmetic"),
]
