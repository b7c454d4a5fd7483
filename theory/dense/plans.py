"""What exact sums cost on a cluster."""

from collections.abc import Iterator

from commbounds.theory.book import claims
from commbounds.theory.planning import Cluster, MethodCost, method_cost, schedule_cost


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """All-reduces of whole vectors."""
    titles = {
        "ring": "dense ring all-reduce",
        "recursive_doubling": "dense all-reduce by recursive doubling",
        "rabenseifner": "dense all-reduce by halving and doubling",
    }
    if cluster.nodes > 1:
        titles["rabenseifner_near"] = "halving and doubling, neighbours first"
        titles["hierarchical"] = "rings within, then between nodes"
    for name, title in titles.items():
        cost = schedule_cost(cluster, name, cluster.entries)
        subject = name.removesuffix("_near")
        known = [n for n in (f"dense.{subject}.sum", f"dense.{subject}.critical_path") if n in claims()]
        if cost is not None:
            why = "" if known else "Its sum is exact and its cost that of its schedule; no claim is about it."
            yield method_cost(name, title, cost, 1.0 if known else None, 0, known, why)
