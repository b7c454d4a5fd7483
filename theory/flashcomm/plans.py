"""What the two-step all-reduce costs on a cluster."""

import math
from collections.abc import Iterator
from fractions import Fraction

from commbounds.theory.book import claims
from commbounds.theory.planning import Cluster, MethodCost, bound_of, method_cost

GROUP = 128
"""Entries of a group."""
_METADATA_BITS = 16


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Codes of eight and of four bits, in groups of `GROUP`."""
    groups = math.ceil(cluster.entries / GROUP)
    names = ("flashcomm.groupquant.wire", *(f"flashcomm.twostep.{name}" for name in ("bytes", "steps", "error")))
    for width in (8, 4):
        bits = claims()[names[0]].bound(n=cluster.entries, width=width, groups=groups, metabits=_METADATA_BITS)
        size = bound_of("flashcomm.twostep.bytes", P=cluster.ranks, coded_bytes=Fraction(bits, 8))
        steps = bound_of("flashcomm.twostep.steps", P=cluster.ranks)
        yield method_cost(
            f"twostep_int{width}",
            f"two-step all-reduce of int{width} in groups of {GROUP}",
            (size, steps * cluster.latency + size / cluster.bandwidth),
            None,
            0,
            names,
            f"Half a scale, (max - min)/{2**width - 1} of a group, is lost per coding; no claim bounds its effect.",
        )
