"""What is counted of sparse all-reduces says of the symbols of their models."""

RUNS = {
    "sparse.topka.above_oktopk": {"path": lambda measured: measured},
    "sparse.spardl.below_even_split": {"b": lambda k, P: k // P},
    "sparse.gaussiank.received": {"own": lambda entries, measured: entries - measured // 2},
    "sparse.gaussiank.mean_received": {"own_entries": lambda P, entries, measured: P * entries - P * measured / 2},
    "sparse.topkdsa.gathered": {"own_words": lambda P, n, union, measured: P * min(2 * union, n) - P * measured},
    "sparse.lower_bound.mean": {"pairs": lambda P, measured: P * measured / 2},
}
