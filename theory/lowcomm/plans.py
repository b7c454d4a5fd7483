"""What local steps cost on a cluster."""

from collections.abc import Iterator

from commbounds.theory.planning import Cluster, MethodCost, method_cost, summed_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """An average of all weights every `Cluster.period` steps; figures are a step's share."""
    size, seconds = summed_cost(cluster, cluster.entries)
    yield method_cost(
        "local_sgd",
        f"local SGD or DiLoCo, an average every {cluster.period} steps",
        (size / cluster.period, seconds / cluster.period),
        None,
        2 * cluster.entries * cluster.item,
        ("lowcomm.diloco.words", "lowcomm.local.drift_sharp"),
        "Workers drift apart by up to the square of the period; the effect on the steps depends on the functions.",
    )
