"""What compressors with EF21 cost on a cluster."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from commbounds.theory.book import claims
from commbounds.theory.planning import (
    Cluster,
    MethodCost,
    bound_of,
    gathered_cost,
    largest_step,
    method_cost,
    sparse_cost,
)

EF21 = ("feedback.ef21.descent_sharp", "feedback.ef21.rate")


def methods(cluster: Cluster) -> Iterator[MethodCost]:
    """Top-K, signs, powers of two and the best approximation of low rank."""
    n, k = cluster.entries, cluster.selected
    cost = sparse_cost(cluster, "topk_allgather")
    if cost is not None:
        names = ("sparsifiers.topk.contraction", "sparse.topka.critical_path", *EF21)
        slowdown = ef21_slowdown(cluster, 1 - Fraction(k, n))
        yield method_cost("topk", "Top-K of every rank, gathered, with EF21", cost, slowdown, _memory(cluster), names)
    yield coded_cost(cluster, "sign", "signs and their mean magnitude", "quantizers.scaledsign")
    yield coded_cost(cluster, "nearest_power", "powers of two", "quantizers.nearestpower")
    matrices, others = cluster.matrices()
    if matrices:
        settings = [{"m": m, "n": c, "r": cluster.rank, "itembits": 8 * cluster.item} for m, c in matrices]
        error = max(claims()["lowrank.lowrank.contraction"].bound(**values) for values in settings)
        bits = sum(bound_of("lowrank.lowrank.wire", **values) for values in settings)
        yield method_cost(
            "svd",
            f"best approximation of rank {cluster.rank}, gathered, with EF21",
            gathered_cost(cluster, bits + 8 * cluster.item * others),
            ef21_slowdown(cluster, error),
            _memory(cluster),
            ("lowrank.lowrank.contraction", "lowrank.lowrank.wire", *EF21),
            "It needs a singular value decomposition of every matrix in every step.",
        )


def coded_cost(cluster: Cluster, method: str, title: str, subject: str, **values: Any) -> MethodCost:
    """Messages of a compressor, gathered, with EF21; by its claims ``SUBJECT.wire`` and ``SUBJECT.contraction``."""
    wire, contraction = f"{subject}.wire", f"{subject}.contraction"
    error = claims()[contraction].bound(n=cluster.entries, **values)
    bits = bound_of(wire, n=cluster.entries, itembits=8 * cluster.item, **values)
    return method_cost(
        method,
        f"{title}, gathered, with EF21",
        gathered_cost(cluster, bits),
        ef21_slowdown(cluster, error),
        _memory(cluster),
        (contraction, wire, *EF21),
    )


def ef21_slowdown(cluster: Cluster, error: Any) -> float:
    """Steps of EF21 over those of gradient descent, where a message loses at most this share of the square."""
    if not error:
        return 1.0
    values: dict[str, Any] = {
        "alpha": 1 - Fraction(error),
        "smoothness": 1,
        "smoothness_apart": Fraction(cluster.heterogeneity),
    }
    return 1 / largest_step(claims()[EF21[0]], "ef21_largest_step", **values)


def _memory(cluster: Cluster) -> float:
    """Its own estimate, and the mean of all ranks'."""
    return 2 * cluster.entries * cluster.item
