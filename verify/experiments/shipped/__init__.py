"""Compressors that packages ship: the claims confronted with their implementations."""

WITHOUT_VECTORS = {
    "spectral_atoms": "singular vectors, whose last bits and signs belong to the library of linear algebra",
    "ridge_descent": "a published example, run again; what is to be ported is the sign",
    "switched": "a rule that the book refutes: a number of a compressor, for a port to do otherwise",
}
"""What of this column has no test vectors, and why."""
