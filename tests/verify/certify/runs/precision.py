"""What is known of sums in narrow formats says of the symbols of their models."""

from fractions import Fraction

import numpy as np
from model_runs import exact

from commbounds.theory.precision.formats import format_named
from commbounds.verify.experiments.precision.cases import ran


def _share(unit):
    return Fraction(unit) / (1 + Fraction(unit))


def quotients(case, P, outcome):
    """By how much of itself every quotient is off, which the format rounds; after so many additions."""
    known, kind = format_named(case.settings["wire"]), case.settings["wire"]
    if kind not in ("float32", "float64") or case.settings["average"] != "before":
        return
    loss = _share(known.unit)
    for v in case.array.astype(kind).ravel()[:40].tolist():
        quotient = exact(np.dtype(kind).type(v) / np.dtype(kind).type(P))
        if v:
            yield {"loss": loss, "error": quotient * P / exact(v) - 1, "depth": outcome.values["add_depth"],
                   "wire_unit": known.unit}  # fmt: skip


def rounded_once(implementation, case, outcome):
    """The sums that ranks hold, against sums in the wider format alone."""
    values, stack = outcome.values, case.array
    wide, _ = ran(implementation, case, wire=case.settings["accumulate"])
    found, _ = ran(implementation, case)
    loss, cast = _share(values["unit"]), _share(values["wire_unit"])
    for column, before, after in zip(stack.T, wide[0].tolist(), found[0].tolist(), strict=True):
        left = sum(abs(exact(v)) for v in column)
        if left:
            yield {**values, "loss": loss, "cast": cast, "left": left, "rounding": abs(exact(after) - exact(before))}


def casts(case, outcome):
    """By how much all terms of an entry are rounded to the format."""
    values, kind = outcome.values, case.settings["wire"]
    if kind not in ("float32", "float64", "float16"):
        return
    for column in case.array.T:
        terms = [(exact(v), exact(np.dtype(kind).type(v))) for v in column.tolist()]
        yield {**values, "loss": _share(values["unit"]), "addends": sum(abs(v) for v, _ in terms),
               "casts": sum(abs(y - v) for v, y in terms)}  # fmt: skip


RUNS = {
    "precision.average.error": quotients,
    "precision.once.sure": rounded_once,
    "precision.underflow.wider_input": casts,
    "precision.average.underflow_before": {
        "casts": lambda measured: measured,
        "each": lambda least: least / 2,
    },
}
