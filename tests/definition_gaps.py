"""Implementations that have no definition in the book yet; each is still held against its twin by its own tests."""

WITHOUT = {
    # lowrank
    "PowerSGD",
    "LowRank",
    # precision
    "mixed_precision_allreduce",
    "simulated_allreduce",
    # feedback
    "EF14",
    "EF21",
    "EF21M",
    "EControl",
    "Plain",
    "FeedbackSGD",
}
