"""What is proved of a cluster that loses messages."""

from commbounds.theory.planning import Cluster, bound_of


def loss(rate: float, cluster: Cluster) -> dict[str, float]:
    """The drift of two replicas, in variances of an update, and the entries of a step that arrive.

    Raises
    ------
    ValueError
        `rate` is not in [0, 1).
    """
    if not 0 <= rate < 1:
        raise ValueError(f"loss must be in [0, 1), got {rate}")
    return {
        "drift": bound_of("packetloss.drift.pair_limit", p=rate, sigma=1.0),
        "received": bound_of("packetloss.volume.received", p=rate, coordinates=cluster.entries, N=cluster.ranks),
    }
