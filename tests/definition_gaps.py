"""Implementations that have no definition in the book yet; each is still held against its twin by its own tests."""

WITHOUT = {
    # precision
    "mixed_precision_allreduce",
    "simulated_allreduce",
}
