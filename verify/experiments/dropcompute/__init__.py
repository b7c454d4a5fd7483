"""DropCompute: stragglers: the claims confronted with their implementations."""

__all__ = ["BENCHES", "REPLAYS", "WITHOUT_VECTORS"]

BENCHES = {"dropcompute": ("bench",)}
"""Part of ``commbounds bench`` -> the module whose `cases` it times, and at most how many entries they take."""

REPLAYS = {"dropcompute-scale": "replay"}
"""Published experiment -> the module whose `replay` runs it again."""

WITHOUT_VECTORS = {
    "StepLaw": "expected times by quadrature and convolution: numbers with an error bound, whose last bits belong "
    "to the library of special functions, and no algorithm to port",
    "gaussian_maximum": "a number by quadrature with an error bound (1e-12, relative): its last bits belong to the "
    "library of special functions",
}
"""What of this column has no test vectors, and why."""
