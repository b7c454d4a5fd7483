"""What PowerSGD costs on a cluster."""

from collections.abc import Iterator

from commbounds.theory.planning import Cluster, MethodCost, bound_of, method_cost, summed_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Sums of both factors of every matrix."""
    matrices, others = cluster.matrices()
    if matrices:
        item = 8 * cluster.item
        bits = sum(bound_of("lowrank.powersgd.wire", m=m, n=n, r=cluster.rank, itembits=item) for m, n in matrices)
        yield method_cost(
            "powersgd",
            f"PowerSGD of rank {cluster.rank}, two sums",
            summed_cost(cluster, round(bits / item) + others),
            None,
            cluster.entries * cluster.item,
            ("lowrank.powersgd.contraction", "lowrank.powersgd.wire"),
            "With a fresh sketch it contracts in expectation; claims on EF21 ask that every draw contracts.",
        )
