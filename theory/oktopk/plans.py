"""What Ok-Topk costs on a cluster."""

from collections.abc import Iterator

from commbounds.theory.planning import Cluster, MethodCost, method_cost, sparse_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """An ordinary iteration, whose words depend on the data: the upper end."""
    cost = sparse_cost(cluster, "oktopk")
    if cost is not None:
        yield method_cost(
            "oktopk",
            "Ok-Topk, an ordinary iteration, upper end of its words",
            cost,
            None,
            cluster.entries * cluster.item,
            ("oktopk.sent.ring", "oktopk.received.limited_inbound", "oktopk.sgd.gradient"),
            "Its bound on the gradient contains xi, which a run has to measure (oktopk.sgd.gradient).",
        )
