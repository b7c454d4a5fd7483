"""What laws of sparsified entries say of the symbols of their models."""

from fractions import Fraction

from commbounds.verify.experiments.feedback.runs import root


def adaptive_error(run):
    """Entry by entry: sums of magnitudes and of their cubes before it, and the norm at the end."""
    if not run.exact:
        return
    norm1 = third = 0
    for magnitude in map(abs, run.x):
        if magnitude and norm1:
            yield {"magnitude": magnitude, "norm1": norm1, "third": third, "norm2": root(sum(v * v for v in run.x))}
        norm1, third = norm1 + magnitude, third + magnitude**3


def workers(run, outcome):
    """One entry, worker by worker: inputs and errors before, over all that is drawn."""
    n, k = outcome.values["n"], outcome.values["k"]
    if not run.exact or not isinstance(run.x[0], tuple):
        return
    gain = Fraction(n, k) if run.c.scaled else 1
    for column in zip(*run.x, strict=True):
        total = squares = first = second = Fraction(0)
        for x in column:
            yield {"n": n, "k": k, "x": x, "sum": total, "squares": squares, "first": first, "second": second,
                   "outcomes": 1}  # fmt: skip
            law = (Fraction(k, n), (gain - 1) * x), (1 - Fraction(k, n), -x)
            second += sum(p * (2 * first * error + error**2) for p, error in law)
            first += sum(p * error for p, error in law)
            total, squares = total + x, squares + x * x


RUNS = {
    "sparsifiers.adaptivesparsification.error": adaptive_error,
    "sparsifiers.randk.global_error_independent": workers,
    "sparsifiers.randk.global_error_scaled": workers,
}
