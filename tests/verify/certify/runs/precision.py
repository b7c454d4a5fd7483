"""What is known of sums in narrow formats says of the symbols of their models."""

RUNS = {
    "precision.average.underflow_before": {
        "casts": lambda measured: measured,
        "each": lambda least: least / 2,
    },
}
