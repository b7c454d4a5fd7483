"""What is known of lost packets says of the symbols of their models."""

from fractions import Fraction

RUNS = {
    "packetloss.volume.sent": {"words": lambda n, N: Fraction(n, N)},
    "packetloss.volume.received": {"words": lambda n, N: Fraction(n, N)},
    "packetloss.bursts.pair_limit": {"tail": lambda recovery, elapsed: (1 - recovery) ** elapsed},
    "packetloss.arrivals.variance": {
        "some": lambda p, N: 1 - p**N,
        "inverse": lambda measured, S, p, N: (measured * (1 - p**N) / S**2 if S else 0) + (1 - p**N) / N,
    },
    "packetloss.versions.gap": {
        "more": lambda apart: apart - 1,
        "later": lambda elapsed, apart: elapsed - apart,
    },
    "packetloss.drift.owner_sure_norm": {
        "mean": lambda p, elapsed: sum(p**age for age in range(1, elapsed + 1)),
        "square": lambda p, elapsed: sum((2 * age - 1) * p**age for age in range(1, elapsed + 1)),
    },
}
