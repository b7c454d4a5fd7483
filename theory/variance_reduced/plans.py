"""What MARINA costs on a cluster."""

import math
from collections.abc import Iterator
from fractions import Fraction

from commbounds.theory.book import claims
from commbounds.theory.planning import Cluster, MethodCost, bound_of, largest_step, method_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Rand-K, with a whole gradient as often as makes both cost the same."""
    n, k = cluster.entries, cluster.selected
    if k == n:
        return
    p = Fraction(k, n)
    size = cluster.sparse_word * bound_of(
        "variance_reduced.marina.words", P=cluster.ranks, full_probability=p, k=k, n=n
    )
    step = largest_step(
        claims()["variance_reduced.marina.descent_sharp"],
        "marina_largest_step",
        omega=1 / p - 1,
        full_probability=p,
        P=cluster.ranks,
        smoothness=1,
        smoothness_apart=Fraction(cluster.heterogeneity),
    )
    seconds = math.ceil(math.log2(cluster.ranks)) * cluster.latency + size / cluster.bandwidth
    yield method_cost(
        "marina_randk",
        "Rand-K, gathered, with MARINA",
        (size, seconds),
        1 / step,
        n * cluster.item,
        ("variance_reduced.marina.descent_sharp", "variance_reduced.marina.words"),
        "Bytes are means: with some probability all ranks send full gradients.",
    )
