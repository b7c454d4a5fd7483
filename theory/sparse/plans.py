"""What sparse sums cost on a cluster."""

from collections.abc import Iterator

from commbounds.theory.planning import Cluster, MethodCost, method_cost, sparse_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Sums that drop entries on their way."""
    for name, title in (("gtopk", "gTopk, a tree of Top-K sums"), ("spardl", "SparDL, Top-K of blocks")):
        cost = sparse_cost(cluster, name)
        if cost is not None:
            why = "No claim bounds the steps that its losses cost."
            if name == "spardl" and cluster.selected < cluster.ranks:
                why = f"Of {cluster.selected} entries a block's share is floor(k/P) = 0: nothing is sent."
            yield method_cost(name, title, cost, None, cluster.entries * cluster.item, (), why)
