"""What formats with a scale a block cost on a cluster."""

from collections.abc import Iterator
from fractions import Fraction

from commbounds.theory.feedback.plans import coded_cost
from commbounds.theory.planning import Cluster, MethodCost

ELEMENTS = {
    "e4m3": {"elementbits": 8, "element_unit": Fraction(1, 16), "overshoot": Fraction(1, 4), "peak": 1 << 18},
    "e2m3": {"elementbits": 6, "element_unit": Fraction(1, 16), "overshoot": Fraction(1, 8), "peak": 64},
    "e2m1": {"elementbits": 4, "element_unit": Fraction(1, 4), "overshoot": Fraction(1, 2), "peak": 16},
}
"""Element -> the symbols of the bounds."""


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """NVFP4, and the MX formats with the specification's scales."""
    yield coded_cost(cluster, "nvfp4", "NVFP4", "blockformats.nvfp4", block=16)
    for kind, values in ELEMENTS.items():
        name = f"mxfp{values['elementbits']}"
        title = f"{name.upper()} ({kind.upper()})"
        yield coded_cost(cluster, name, title, "blockformats.microscaling", block=32, **values)
