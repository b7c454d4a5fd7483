"""Shipped collectives: the claims bound to what they are about."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.traffic import Traffic
from commbounds.theory import claims
from commbounds.verify.experiments.shipped_collectives.families import (
    FLASHINFER,
    FLASHINFER_BYTES,
    HOOK,
    HOOK_BYTES,
    LOONGFORGE,
    LOONGFORGE_BYTES,
    NCCL,
    NCCL_BYTES,
    QUICK,
    QUICK_BYTES,
    TORCHCOMMS,
    TORCHCOMMS_BYTES,
    TORCHCOMMS_LAW,
    TORCHFT,
    TORCHFT_BYTES,
)
from commbounds.verify.family import Family
from commbounds.verify.study import Outcome, studies


def _closest(name: str, result: Array, exact: Array, slack: Array, **values: Any) -> Outcome:
    """The error at the entry where it comes closest to the bound of the claim; values are those of every entry."""
    error = np.abs(np.asarray(result, np.float64) - exact).max(axis=0)
    bound = np.broadcast_to(claims()[name].bound(**values), error.shape)
    least = np.finfo(np.float64).tiny
    at = int(np.argmax(np.maximum(error - slack, 0) / np.maximum(bound, least)))
    chosen = {key: float(v[at]) if isinstance(v, np.ndarray) else v for key, v in values.items()}
    return Outcome(float(error[at]), chosen, float(slack[at]))


def _errors(family: Family, name: str, **options: Any) -> Any:
    """The study of an error, from entry to entry."""
    claim = f"{family.prefix}.{name}"

    def measure(found: Array, facts: Mapping[str, Any], settings: Mapping[str, Any]) -> Outcome:
        known = {**settings, **facts}
        values = {str(symbol): known[str(symbol)] for symbol in claims()[claim].relation.rhs.free_symbols}
        return _closest(claim, found, facts["exact"], facts["slack"], **values)

    return family.studies(measure, name, **options)


def _apart(found: Array) -> int:
    """Ranks that do not end with rank 0's bits."""
    return sum(row.tobytes() != found[0].tobytes() for row in found)


def _not_finite(found: Array) -> int:
    return int((~np.isfinite(found[0])).sum())


def _sent(found: Traffic) -> int:
    return int(found.sent.max())


def _over_plain(found: Traffic, P: int, n: int) -> Fraction:
    return Fraction(_sent(found), 8 * (P - 1) * -(-n // P))


def _bias(found: Any, sums: list[Fraction]) -> Fraction:
    """The largest difference between a mean over all words and the sum."""
    means = [sum((v * share for v, share in law), Fraction(0)) for law in found]
    return max((abs(mean - exact) for mean, exact in zip(means, sums, strict=True)), default=Fraction(0))


def _variance(found: Any, sums: list[Fraction], each_squares: list[Fraction]) -> Outcome:
    """The mean squared error of the entry whose bound is closest."""
    errors = [sum((v - exact) ** 2 * share for v, share in law) for law, exact in zip(found, sums, strict=True)]
    error, squares = max(
        zip(errors, each_squares, strict=True), key=lambda pair: (pair[1] and pair[0] / pair[1], pair[0])
    )
    return Outcome(error, {"sent_squares": squares})


EXPERIMENTS = studies(
    *_errors(QUICK, "error", curves=[QUICK.over("P", (1, 2, 4, 8), n=130)]),
    *_errors(QUICK, "error_of_any"),
    *QUICK.studies(_not_finite, "finite", "finite_saturated"),
    *QUICK.studies(_apart, "agreement"),
    *QUICK_BYTES.studies(_sent, "bytes", curves=[QUICK_BYTES.over("P", (2, 4, 8), n=2048)]),
    *_errors(
        FLASHINFER,
        "error",
        extremal=FLASHINFER.every(P=(1, 2), n=(8,), data=("worst",), group=(8,), block=(16,)),
        curves=[FLASHINFER.over("P", (1, 2, 3, 5, 8), n=40)],
    ),
    *FLASHINFER.studies(_apart, "agreement"),
    *FLASHINFER_BYTES.studies(_sent, "bytes", curves=[FLASHINFER_BYTES.over("P", (2, 4, 8))]),
    *_errors(
        TORCHFT,
        "error",
        extremal=TORCHFT.every(P=(2,), columns=(4,), data=("worst",)),
        curves=[TORCHFT.over("P", (1, 2, 3, 5, 8), columns=7)],
    ),
    *_errors(
        TORCHFT,
        "error_cut",
        extremal=TORCHFT.every(P=(2,), columns=(4,), data=("below a step",), native=(False,)),
        curves=[TORCHFT.over("P", (1, 2, 3, 5, 8), columns=7, native=False)],
    ),
    *_errors(TORCHFT, "half_a_step"),
    *TORCHFT_BYTES.studies(_sent, "bytes", curves=[TORCHFT_BYTES.over("P", (2, 4, 8), columns=32)]),
    *TORCHFT_BYTES.studies(_over_plain, "never_more"),
    *_errors(
        HOOK,
        "error",
        extremal=HOOK.every(P=(1, 2, 5), n=(5,), data=("half-way",)),
        curves=[HOOK.over("P", (1, 2, 3, 5, 8), n=16)],
    ),
    *_errors(HOOK, "error_of_any"),
    *HOOK_BYTES.studies(_sent, "bytes", curves=[HOOK_BYTES.over("P", (2, 4, 8), n=16)]),
    *_errors(
        NCCL,
        "error",
        extremal=NCCL.every(P=(2,), n=(5,), data=("worst",)),
        curves=[NCCL.over("P", (2, 3, 5, 8), n=16)],
    ),
    *_errors(NCCL, "error_of_any", extremal=NCCL.every(P=(2,), n=(5,), data=("beyond float16",), element=("e4m3",))),
    *NCCL.studies(_apart, "agreement"),
    *NCCL_BYTES.studies(_sent, "bytes", curves=[NCCL_BYTES.over("P", (2, 4, 8))]),
    *_errors(
        TORCHCOMMS,
        "error",
        extremal=TORCHCOMMS.every(P=(2, 5), data=("worst",), word=("65535",)),
        curves=[TORCHCOMMS.over("P", (1, 2, 3, 5, 8), share=9)],
    ),
    *TORCHCOMMS_LAW.studies(_bias, "unbiased"),
    *TORCHCOMMS_LAW.studies(
        _variance,
        "variance",
        extremal=TORCHCOMMS_LAW.every(P=(2,), data=("worst",)),
        curves=[TORCHCOMMS_LAW.over("P", (2, 3, 5, 8))],
    ),
    *TORCHCOMMS_BYTES.studies(_sent, "bytes", curves=[TORCHCOMMS_BYTES.over("P", (2, 4, 8))]),
    *_errors(
        LOONGFORGE,
        "error",
        extremal=LOONGFORGE.every(P=(2,), n=(40,), rounds=(1,), data=("worst",)),
        curves=[LOONGFORGE.over("P", (2, 3, 5, 8), n=40)],
    ),
    *_errors(
        LOONGFORGE,
        "kept",
        curves=[LOONGFORGE.over("P", (2, 3, 5, 8), n=40, rounds=5)],
    ),
    *LOONGFORGE.studies(_apart, "agreement"),
    *LOONGFORGE_BYTES.studies(_sent, "bytes", curves=[LOONGFORGE_BYTES.over("P", (2, 4, 8), n=2048)]),
)
