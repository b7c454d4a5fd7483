"""What is known of sums in narrow formats says of the symbols of their models."""

from fractions import Fraction

import numpy as np
from model_runs import exact

from commbounds.collectives.precision import rounded
from commbounds.collectives.precision.rounding import added_in
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


def _part(implementation, case, rows, of, wire=None, **how):
    s = case.settings
    return exact(implementation(rows, of, s["accumulate"], wire or s["accumulate"], **how)[0])


def product_stages(implementation, case, outcome):
    """What the ranks' sums are off, together; their roundings to the wire; the sum of those."""
    s, values, x = case.settings, outcome.values, case.array
    half = x.shape[1] // 2
    pairs = [[(exact(a), exact(b)) for a, b in zip(row[:half], row[half:], strict=True)] for row in x.tolist()]
    parts = [_part(implementation, case, row[None], "product", tf32=s["tf32"]) for row in x]
    sent = [exact(rounded(float(part), s["wire"])) for part in parts]
    found = exact(implementation(x, "product", s["accumulate"], s["wire"], tf32=s["tf32"])[0])
    yield {
        **values,
        **_losses(values),
        "size": sum(abs(a * b) for row in pairs for a, b in row),
        "own_off": sum(abs(part - sum(a * b for a, b in row)) for part, row in zip(parts, pairs, strict=True)),
        "casts_off": sum(abs(y - part) for y, part in zip(sent, parts, strict=True)),
        "across_off": abs(found - sum(sent)),
    }


def _losses(values):
    names = {"loss": "unit", "operand": "operand_unit", "cast": "cast_unit", "wire": "wire_unit"}
    names["division"] = "division_unit"
    return {loss: _share(values[name]) for loss, name in names.items() if name in values}


def gradient_stages(implementation, case, outcome):
    """Of the first entry, stage by stage."""
    s, values = case.settings, outcome.values
    P, R, M = s["P"], s["replicas"], s["batches"]
    rows = case.array.reshape(P, M, -1)[:, :, 0]
    parts = [_part(implementation, case, row[None], "gradient", batches=M) for row in rows]
    sent = [exact(rounded(float(part), s["wire"])) for part in parts]
    groups = np.array([float(v) for v in sent]).reshape(R, -1, 1)
    sums = [exact(implementation(group, "gradient", s["wire"])[0]) for group in groups]
    total = exact(implementation(np.array([[float(v)] for v in sums]), "gradient", s["wire"])[0])
    last = exact(rounded(float(total / s["divisor"]), s["wire"]))
    own = sum(abs(part - sum(map(exact, row))) for part, row in zip(parts, rows.tolist(), strict=True))
    casts_off = sum(abs(y - part) for y, part in zip(sent, parts, strict=True))
    across = sum(abs(y - sum(map(exact, g.ravel().tolist()))) for y, g in zip(sums, groups, strict=True))
    yield {
        **values,
        **_losses(values),
        "further_ranks": Fraction(P, R) - 1,
        "size": sum(abs(exact(v)) for v in rows.ravel().tolist()),
        "own_off": own,
        "casts_off": casts_off,
        "across_off": across,
        "within_off": own + casts_off + across,
        "further_off": abs(total - sum(sums)),
        "divided_off": abs(last * s["divisor"] - total),
    }


def softmax_sums(case, bound):
    """Sums over all logits but one of the largest."""
    z = np.sort((case.array.max() - case.array).ravel())[1:]
    most = float(bound)
    share = most / len(z) if len(z) else 0.0
    yield {"classes": case.array.size, "most": most, "share": share, "weights": float(np.exp(-z).sum()),
           "distances": float((z * np.exp(-z)).sum())}  # fmt: skip


def roundings_by_words(case, outcome):
    """The first addition, by every word: how often it is rounded up, and what a rounding is in the mean."""
    known, words = format_named(case.settings["wire"]), 2 ** case.settings["random_bits"]
    if case.settings["P"] < 2:
        return
    a, b = case.array[:2, 0]
    sums = added_in(np.full(words, a), np.full(words, b), known, np.arange(words) / words)
    low, high, total = exact(sums.min()), exact(sums.max()), exact(a) + exact(b)
    if low < high and total > 0:
        gap, share = (high - low) / total, (total - low) / (high - low)
        up = Fraction(int((sums == sums.max()).sum()), words)
        excess = (up - share) * gap
        yield {"unit": known.unit, "words": words, "share": share, "gap": gap, "up": up, "factor": 1, "most": 1,
               "excess": excess, "more": excess, "depth": 0, "chance": 1}  # fmt: skip


RUNS = {
    "precision.stochastic.few_bits": roundings_by_words,
    "precision.split.product": product_stages,
    "precision.split.gradient": gradient_stages,
    "precision.split.distance": softmax_sums,
    "precision.split.root": {
        "other": lambda implementation, case: float(
            implementation(case.array, "root", case.settings["accumulate"], eps=case.settings["eps"])[0]
        )
    },
    "precision.split.step": {
        "other": lambda implementation, case, outcome: float(
            abs(implementation(case.array, "gradient", case.settings["accumulate"])[outcome.values["entry"]])
        )
    },
    "precision.average.error": quotients,
    "precision.once.sure": rounded_once,
    "precision.underflow.wider_input": casts,
    "precision.average.underflow_before": {"casts": lambda measured: measured, "each": lambda least: least / 2},
}
