"""What ARC-Top-K costs on a cluster."""

from collections.abc import Iterator

from commbounds.theory.planning import Cluster, MethodCost, method_cost, summed_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Sums of sketches, and of the rows that are kept."""
    matrices, others = cluster.matrices()
    if matrices:
        kept = [max(1, round(cluster.density * m)) for m, _ in matrices]
        words = sum(m * cluster.rank + k * n for (m, n), k in zip(matrices, kept, strict=True)) + others
        yield method_cost(
            "arctopk",
            f"ARC-Top-K with sketches of rank {cluster.rank}, two sums",
            summed_cost(cluster, words),
            None,
            2 * cluster.entries * cluster.item,
            ("arctopk.allreduce.contraction_rho", "arctopk.allreduce.words"),
            "It contracts in expectation: by 1 - K/m on orthogonal rows, by less on others.",
        )
