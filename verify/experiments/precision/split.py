"""Computations that are split over ranks: the claims about them bound to their simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.precision import rounded
from commbounds.theory.precision.formats import format_named
from commbounds.theory.precision.split import TF32_DIGITS
from commbounds.verify.experiments.precision.sums import PAIRS, late_curve
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.space import RANKS, Of, Settings, Space
from commbounds.verify.study import Curve, Outcome, Study

_OPTIONS = ("tf32", "batches", "replicas", "divisor", "target", "eps")
_EPS = 2.0**-52
_SENT = "bfloat16, added in float32"

# --- cases ------------------------------------------------------------------------------------------------------------

_EIGHT = float(np.float32(8.0 * np.log(2.0)))
"""The number of float32 next to 8 log 2, which is above it; so are twice and three times the number."""
_TIE = 2.0**-14 * 24929.0, 2.0**10 * 673.0
"""Numbers of float32, whose product 2^20 (1 + u) lies half-way between two."""
_FIRST = {"0 and -24 log 2": (0.0, -3 * _EIGHT), "1 and 2^-12": (1.0, 2.0**-12)}
"""What is first of all, and the rest; of "1 and u" that is lost term by term."""


def _stack(P: int, n: int, data: Any, accumulate: str, scale: float, seed: int, settings: Settings) -> Array:
    """Numbers of the format, zero or between 2^-16 and 2^16, or four times as large; rows by hand are given."""
    if isinstance(data, tuple):
        return np.array(data)
    form = settings.get("form", accumulate)
    unit = float(format_named(form).unit)
    rng = np.random.default_rng([seed, P, n])
    x = rng.standard_normal((P, n))
    if data in ("1 and u", *_FIRST):
        first, rest = _FIRST.get(data, (1.0, unit))
        return np.array([first, *[rest] * (P * n - 1)]).reshape(P, n)
    if data == "of some sizes":
        x *= 2.0 ** rng.integers(-9, 10, (P, n))
    elif data == "cancelling":
        x[P // 2 :] = -x[: P - P // 2] * (1.0 + 2.0**-5 * rng.standard_normal((P - P // 2, n)))
    elif data == "positive":
        x = np.abs(x)
    elif data == "lost":
        x = np.where(rng.random((P, n)) < 0.3, 1.0, unit)
    x = rounded(x, form)
    return np.where(np.abs(x) < 2.0**-20, 0.0, x) * scale


def _units(accumulate: str, wire: str) -> dict[str, Any]:
    added, sent = format_named(accumulate), format_named(wire)
    own = {"unit": added.unit, "ulps": Fraction(1, 2)}  # exp, log and roots are rounded to nearest
    return {**own, "wire_unit": sent.unit, "cast_unit": 0 if sent.holds(added) else sent.unit}


def _of_products(accumulate: str, wire: str, form: str, tf32: bool) -> dict[str, Any]:
    """Digits of the operands, as they are multiplied, besides."""
    own = format_named(form).digits
    return {**_units(accumulate, wire), "digits": min(own, TF32_DIGITS) if tf32 else own}


def _ran(of: str, implementation: Any, x: Array, settings: Settings) -> Array:
    options = {name: settings[name] for name in _OPTIONS if name in settings}
    return np.asarray(implementation(x, of, settings["accumulate"], settings["wire"], **options))


def _family(of: str, facts: Any = _units, scale: float = 1.0, **options: Sequence[Any]) -> Family:
    """Claims about what is computed of a few numbers of every rank, with eight bits of exponents or more."""
    axes = {
        "P": RANKS,
        "n": (2, 10),
        "data": ("normal", "of some sizes", "cancelling", "positive", "lost", "1 and u"),
        "formats": ("float32", _SENT, "bfloat16"),
        "accumulate": (Of("that of the formats", lambda formats: PAIRS[formats][0]),),
        "wire": (Of("that of the formats", lambda formats: PAIRS[formats][1]),),
        "scale": (scale,),
    }
    space = Space(_stack, {**axes, **options}).search(n=[2 * half for half in range(1, 11)])
    return Family("precision", "split_computation", space, facts, partial(_ran, of), exact=False, arrays=5)


def _row(x: Sequence[Sequence[float]], formats: str, **options: Any) -> Settings:
    """A case by hand."""
    return {"data": tuple(map(tuple, x)), "P": len(x), "n": len(x[0]), "formats": formats, **options}


def _studies(
    family: Family, measure: Any, extremal: Mapping[str, Sequence[Settings]], *stages: Settings, curve: Any = None
) -> tuple[FamilyStudy, ...]:
    """Claims whose extremal inputs, and those on which one stage alone rounds as much as it can, are rows of all."""
    rows = {claim: [family.space.at(**row) for row in listed] for claim, listed in extremal.items()}
    further = [family.space.at(**row) for row in stages]
    family = replace(family, space=family.space.including(*chain.from_iterable(rows.values()), *further))
    curves = [curve(family)] if curve else []
    return tuple(
        study
        for claim, listed in rows.items()
        for study in family.studies(
            measure, f"split.{claim}", extremal=family.of(listed) if listed else None, curves=curves
        )
    )


def _over_ranks(family: Family) -> Curve:
    label = "normal entries, sums in float32, sent in bfloat16"
    return late_curve(family, "P", (1, 2, 3, 4, 6, 8, 12, 16, 32), label, n=10, formats=_SENT)


def _over_entries(axis: str, formats: str, family: Family) -> Curve:
    label = "normal entries, sums in {}, sent in {}".format(*PAIRS[formats])
    return late_curve(family, axis, (2, 4, 8, 16, 32, 64, 128), label, by="n", P=2, formats=formats)


# --- what is measured -------------------------------------------------------------------------------------------------


def _product(found: Array, x: Array, form: str, tf32: bool) -> Outcome:
    half = x.shape[1] // 2
    pairs = zip(x[:, :half].ravel().tolist(), x[:, half:].ravel().tolist(), strict=True)
    products = [Fraction(a) * Fraction(b) for a, b in pairs]
    error, size = abs(Fraction(float(found[0])) - sum(products)), sum(map(abs, products))
    narrow = tf32 and format_named(form).digits > TF32_DIGITS
    values = {"terms": half, "operand_unit": Fraction(1, 2**TF32_DIGITS) if narrow else 0}
    return Outcome(error / size if size else error, values, active=size > 0)


def _summed(x: Array, settings: Settings) -> tuple[list[Fraction], list[Fraction]]:
    """The exact gradient, and the magnitudes of what it is made of."""
    divisor = settings.get("divisor", 1)
    rows = x.reshape(x.shape[0] * settings.get("batches", 1), -1).T.tolist()
    sums = [sum(map(Fraction, row)) / divisor for row in rows]
    return sums, [sum(abs(Fraction(v)) for v in row) / divisor for row in rows]


def _gradient(found: Array, x: Array, divisor: int, wire_unit: Fraction, settings: Settings) -> Outcome:
    off = [(abs(Fraction(y) - g), size) for y, g, size in zip(found.tolist(), *_summed(x, settings), strict=True)]
    share = max(error / size if size else error for error, size in off)
    return Outcome(share, {"division_unit": wire_unit if divisor > 1 else 0})


def _distance(found: Array, x: Array) -> Outcome:
    return Outcome(float(found[0]), {"classes": x.size}, (x.size + 8) * _EPS * float(found[0]))


def _loss(found: Array, x: Array, target: int) -> Outcome:
    z = x.max() - x
    shift = float(z.ravel()[target])
    exact = float(np.log(np.exp(-z).sum())) + shift
    values = {"classes": x.size, "own_classes": x.shape[1], "logit_shift": shift, "token_loss": exact}
    return Outcome(abs(float(found[0]) - exact), values, (x.size + 8) * _EPS * (1.0 + exact))


def _norm(implementation: Any, found: Array, x: Array, accumulate: str, eps: float, settings: Settings) -> Outcome:
    """Against the norm of the sum that the ranks end with."""
    total = rounded(_ran("gradient", implementation, x, settings), accumulate)
    exact = total / np.sqrt((total**2).mean() + eps) if total.any() else total
    off = np.abs(found - exact)
    share = np.divide(off, np.abs(exact), out=off.copy(), where=exact != 0.0)
    return Outcome(float(share.max()), {"terms": total.size}, (total.size + 8) * _EPS)


def _sums(implementation: Any, x: Array, settings: Settings) -> tuple[Array, Array]:
    """The sums over ranks, and what they are off where they are made in formats."""
    exact = np.array([float(g) for g in _summed(x, settings)[0]])
    return exact, np.abs(_ran("gradient", implementation, x, settings) - exact)


def _root(implementation: Any, found: Array, x: Array, eps: float, settings: Settings) -> Outcome:
    exact, off = _sums(implementation, x, settings)
    root, moved = (float(np.sqrt((v**2).mean() + more)) for v, more in ((exact, eps), (off, 0.0)))
    slack = (x.size + 16) * _EPS * root / abs(root - moved) if root != moved else 0.0
    return Outcome(abs(root / float(found[0]) - 1.0), {"moved_by": moved, "root_of_squares": root}, slack)


def _step(implementation: Any, found: Array, x: Array, eps: float, settings: Settings) -> Outcome:
    exact, off = _sums(implementation, x, settings)
    at = int(np.argmax(off / np.where(exact == 0.0, np.inf, np.abs(exact))))
    gradient, size = float(exact[at]), float(abs(exact[at]))
    values = {"moved_by": float(off[at]), "gradient_size": size, "step_eps": eps, "entry": at}
    return Outcome(abs(float(found[at]) - gradient / (size + eps)), values, 16 * _EPS)


# --- all --------------------------------------------------------------------------------------------------------------

_PRODUCTS = _family("product", _of_products, tf32=(False, True), form=("bfloat16", "float32"))
_GRADIENTS = _family(
    "gradient",
    batches=(1, 2, Of("n / 2", lambda n: n // 2)),
    replicas=(1, Of("2, if P is even", lambda P: 2 - P % 2), Of("3, if P is a multiple", lambda P: 1 if P % 3 else 3)),
    divisor=(1, 3, 8),
)
_DISTANCES = _family("distance", scale=4.0)
_LOSSES = _family(
    "loss",
    scale=4.0,
    target=(0, Of("the last", lambda P, n: P * n - 1), Of("P + n, from the first on", lambda P, n: (P + n) % (P * n))),
)
_NORMS, _ROOTS, _STEPS = (_family(of, eps=(2.0**-12, 0.5)) for of in ("norm", "root", "step"))
_HALF = {"float32": 2.0**-24, "bfloat16": 2.0**-8}
"""u, by which 1 + u lies half-way between two numbers."""
SPLIT: Sequence[Study] = (
    *_studies(
        _PRODUCTS,
        _product,
        {
            "product": [
                _row([[256.0, 256.0 * u, 1.0, 1.0]], name, form=form)
                for (name, u), form in zip(_HALF.items(), ("bfloat16", "float8_e4m3fn"), strict=True)
            ],
            # rounded products 1 and u: of one rank, of one rank's sum, and of a sum over ranks
            "rounded_product": [
                _row(x, "float32", form="float32")
                for a, b, c in [(*_TIE, _TIE[1] * 2.0**-24)]
                for x in ([[a, b]], [[a, a, b, c]], [[a, a, a, b, c, c]], [[a, b], [a, c]], [[a, b], [a, c], [a, c]])
            ],
        },
        # 1 + u lies nearly half-way between two numbers of bfloat16, and 1 + 2^-11 of tf32
        _row([[1.0 + 2.0**-11, 1.0 + 2.0**-11]], "float32", tf32=True, form="float32"),
        _row([[1.0 + 2.0**-11 + 2.0**-40] * 2], "float64", tf32=True, form="float64"),
        _row([[1.0 + 2.0**-8, 1.0]], _SENT, form="float16"),
        _row([[1.0, 1.0], [2.0**-8, 1.0]], "bfloat16", form="float8_e4m3fn"),
        _row([[1.0, 2.0**-8, 2.0**-8, 1.0, 1.0, 1.0]], "bfloat16", form="float8_e4m3fn"),
        curve=_over_ranks,
    ),
    *_studies(
        _GRADIENTS,
        _gradient,
        {"gradient": [_row([[1.0, u]], name, batches=2) for name, u in _HALF.items()]},
        _row([[1.0 + 2.0**-8]], _SENT),
        _row([[1.0], [2.0**-8]], "bfloat16"),
        _row([[1.0], [2.0**-8]], "bfloat16", replicas=2),
        _row([[1.0], [2.0**-8], [2.0**-8]], "bfloat16", replicas=3),
        _row([[2.0**16]], "bfloat16", divisor=65281),  # 2^16/65281 lies nearly half-way, too
        curve=_over_ranks,
    ),
    # W(10/e) of eleven classes: ten at 1 + W below the largest
    *_studies(
        _DISTANCES,
        _distance,
        {
            "distance": [
                _row([[0.0, *([-1.0 - w] * (V - 1))]], "float32")
                for V, w in ((2, 0.278464542761074), (11, 1.156338541009213))
            ]
        },
        curve=partial(_over_entries, "classes", "float32"),
    ),
    # sums of 1 + u are sent as 1, and u of the next rank is lost
    *_studies(
        _LOSSES,
        _loss,
        {"loss": [_row([[0.0, -_EIGHT], [-_EIGHT, -2 * _EIGHT]][:P], _SENT) for P in (1, 2)]},
        _row([[0.0, -_EIGHT], *[[-_EIGHT, -2 * _EIGHT]] * 2], _SENT),
        # 999 exponentials of u are lost one by one; a difference of 16 1/16 becomes 16, and so does its sum with 1/16
        {"P": 1, "n": 1000, "data": "0 and -24 log 2"},
        _row([[0.0625, -2.6875, -16.0]], "bfloat16", target=2),
        curve=partial(_over_entries, "classes", _SENT),
    ),
    *_studies(
        _NORMS,
        _norm,
        {"norm": []},
        # squares of u are lost one by one; most of the other roundings of a mean of three go one way
        {"P": 1, "n": 1024, "data": "1 and 2^-12", "eps": 0.0},
        _row([[1.140625, 1.0, 1.0]], "bfloat16", eps=0.05859375),
        curve=partial(_over_entries, "terms", "float32"),
    ),
    *_studies(_ROOTS, _root, {"root": [_row([[1.0], [u], [-0.5]], name, eps=0.0) for name, u in _HALF.items()]}),
    *_studies(
        _STEPS,
        _step,
        {"step": [_row([[1.0], [u]], name, eps=2.0**-12) for name, u in _HALF.items()]},
        _row([[1.0], [2.0**-8], [-1.0], [2.0**-12]], "bfloat16", eps=2.0**-20),  # most of a small sum is lost
    ),
)
"""In the order of the book."""
