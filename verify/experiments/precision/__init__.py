"""Precision and the order of sums: claims confronted with the all-reduces."""

__all__ = ["WITHOUT_VECTORS"]

WITHOUT_VECTORS = {
    "simulated_allreduce": "no message is sent; where mixed_precision_allreduce has its schedule, its bits are those",
    "split_computation": "no message is sent; exponentials, logs and roots are those of the machine",
}
"""What is registered and has no test vectors -> why."""
