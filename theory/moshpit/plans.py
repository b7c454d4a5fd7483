"""What Moshpit all-reduce costs on a cluster."""

from collections.abc import Iterator

from commbounds.theory.planning import Cluster, MethodCost, bound_of, method_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Full grids of so many ranks, after whose last round the mean is exact."""
    names = ("moshpit.grid.exact", "moshpit.traffic.critical_path", "moshpit.traffic.steps")
    for rounds in range(cluster.ranks.bit_length() - 1, 1, -1):
        group = round(cluster.ranks ** (1 / rounds))
        if group**rounds == cluster.ranks:
            words = bound_of("moshpit.traffic.critical_path", M=group, n=cluster.entries, rounds=rounds)
            steps = bound_of("moshpit.traffic.steps", M=group, rounds=rounds)
            size = words * cluster.item
            title = f"Moshpit all-reduce: {rounds} rounds in groups of {group}"
            seconds = steps * (group - 1) * cluster.latency + size / cluster.bandwidth
            yield method_cost(f"moshpit_{group}", title, (size, seconds), 1.0, 0, names)
