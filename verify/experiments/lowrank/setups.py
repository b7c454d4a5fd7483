"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from collections.abc import Mapping

from commbounds.verify.compressor_study import Setups, Sweep
from commbounds.verify.experiments.sweeps import values

SETUPS: Mapping[str, Setups] = {
    "PowerSGD": lambda cls, n: [cls(rank) for rank in (1, 2) if rank <= n],
    "LowRank": lambda cls, n: [cls(rank) for rank in (1, 2) if rank <= n],
}
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Mapping[str, Sweep] = {
    "PowerSGD": values("rank", (1, 2, 4, 8, 16, 32)),
    "LowRank": values("rank", (1, 2, 4, 8, 16, 32)),
}
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
