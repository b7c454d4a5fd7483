"""Computations that are split over ranks: the claims about them bound to their simulation."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.collectives.precision import rounded
from commbounds.theory.precision.formats import format_named
from commbounds.theory.precision.split import TF32_DIGITS
from commbounds.verify.experiment import Budget
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Curve, Outcome, Study

_SUBJECT = "split_computation"
_PAIRS = (("float32", None), ("float32", "bfloat16"), ("bfloat16", None))
"""Of the accumulator and of the wire, with eight bits of exponents or more."""
_KINDS = ("normal", "of some sizes", "cancelling", "positive", "lost")
_OPTIONS = ("tf32", "batches", "replicas", "divisor", "target", "eps")
_EPS = 2.0**-52


def _rows(kind: str, P: int, m: int, form: str, seed: int) -> Array:
    """Numbers of the format, zero or between 2^-16 and 2^16."""
    rng = np.random.default_rng([seed, P, m])
    x = rng.standard_normal((P, m))
    if kind == "of some sizes":
        x *= 2.0 ** rng.integers(-9, 10, (P, m))
    elif kind == "cancelling":
        x[P // 2 :] = -x[: P - P // 2] * (1.0 + 2.0**-5 * rng.standard_normal((P - P // 2, m)))
    elif kind == "positive":
        x = np.abs(x)
    elif kind == "lost":
        x = np.where(rng.random((P, m)) < 0.3, 1.0, float(format_named(form).unit))
    x = rounded(x, form)
    return np.where(np.abs(x) < 2.0**-20, 0.0, x)


def _case(x: Any, of: str, formats: tuple[str, str | None], **options: Any) -> Case:
    stack = np.array(x, np.float64)
    settings = {"P": len(stack), "of": of, "accumulate": formats[0], "wire": formats[1] or formats[0], **options}
    return Case(settings, stack)


def _ran(of: str, implementation: Any, case: Case) -> Array:
    s = case.settings
    options = {name: s[name] for name in _OPTIONS if name in s}
    return np.asarray(implementation(case.array, of, s["accumulate"], s["wire"], **options))


def _units(case: Case) -> dict[str, Any]:
    accumulate, wire = (format_named(case.settings[name]) for name in ("accumulate", "wire"))
    cast = 0 if wire.holds(accumulate) else wire.unit
    own = {"unit": accumulate.unit, "ulps": Fraction(1, 2)}  # exp, log and roots are rounded to nearest
    return {"P": case.settings["P"], **own, "wire_unit": wire.unit, "cast_unit": cast}


def _digits(case: Case) -> int:
    """Of the operands of a product, as they are multiplied."""
    own = format_named(case.settings["form"]).digits
    return min(own, TF32_DIGITS) if case.settings["tf32"] else own


def _known(implementation: Any, case: Case) -> dict[str, Any]:
    facts = dict(_units(case))
    if case.settings["of"] == "product":
        facts["digits"] = _digits(case)
    if case.settings["of"] in ("root", "step"):
        facts |= case.once(_of_moved, implementation)
    return facts


# --- what is measured -------------------------------------------------------------------------------------------------


def _product(implementation: Any, case: Case) -> Outcome:
    x = case.array
    half = x.shape[1] // 2
    pairs = zip(x[:, :half].ravel().tolist(), x[:, half:].ravel().tolist(), strict=True)
    products = [Fraction(a) * Fraction(b) for a, b in pairs]
    error, size = abs(Fraction(_ran("product", implementation, case)[0]) - sum(products)), sum(map(abs, products))
    narrow = case.settings["tf32"] and format_named(case.settings["form"]).digits > TF32_DIGITS
    values = {**_units(case), "terms": half, "operand_unit": Fraction(1, 2**TF32_DIGITS) if narrow else 0}
    return Outcome(error / size if size else error, values, active=size > 0)


def _summed(case: Case) -> tuple[list[Fraction], list[Fraction]]:
    """The exact gradient, and the magnitudes of what it is made of."""
    s = case.settings
    rows = case.array.reshape(case.array.shape[0] * s.get("batches", 1), -1).T.tolist()
    sums = [sum(map(Fraction, row)) / s.get("divisor", 1) for row in rows]
    return sums, [sum(abs(Fraction(v)) for v in row) / s.get("divisor", 1) for row in rows]


def _gradient(implementation: Any, case: Case) -> Outcome:
    s = case.settings
    found = _ran("gradient", implementation, case).tolist()
    off = [(abs(Fraction(y) - g), size) for y, g, size in zip(found, *_summed(case), strict=True)]
    values = {**_units(case), "batches": s["batches"], "replicas": s["replicas"]}
    values["division_unit"] = values["wire_unit"] if s["divisor"] > 1 else 0
    return Outcome(max(error / size if size else error for error, size in off), values)


def _distance(implementation: Any, case: Case) -> Outcome:
    found = float(_ran("distance", implementation, case)[0])
    return Outcome(found, {"classes": case.array.size}, (case.array.size + 8) * _EPS * found)


def _loss(implementation: Any, case: Case) -> Outcome:
    x = case.array
    z = x.max() - x
    shift = float(z.ravel()[case.settings["target"]])
    exact = float(np.log(np.exp(-z).sum())) + shift
    error = abs(float(_ran("loss", implementation, case)[0]) - exact)
    values = {**_units(case), "classes": x.size, "own_classes": x.shape[1], "logit_shift": shift, "token_loss": exact}
    return Outcome(error, values, (x.size + 8) * _EPS * (1.0 + exact))


def _norm(implementation: Any, case: Case) -> Outcome:
    """Against the norm of the sum that the ranks end with."""
    total = rounded(_ran("gradient", implementation, case), case.settings["accumulate"])
    exact = total / np.sqrt((total**2).mean() + case.settings["eps"]) if total.any() else total
    off = np.abs(_ran("norm", implementation, case) - exact)
    share = np.divide(off, np.abs(exact), out=off.copy(), where=exact != 0.0)
    return Outcome(float(share.max()), {**_units(case), "terms": total.size}, (total.size + 8) * _EPS)


def _of_moved(implementation: Any, case: Case) -> dict[str, Any]:
    """What the sum over ranks, made in formats, is off, and the root or gradient that it moves."""
    exact = np.array([float(g) for g in _summed(case)[0]])
    off = np.abs(_ran("gradient", implementation, case) - exact)
    root = float(np.sqrt((exact**2).mean() + case.settings["eps"]))
    at = int(np.argmax(off / np.where(exact == 0.0, np.inf, np.abs(exact))))
    if case.settings["of"] == "root":
        return {"moved_by": float(np.sqrt((off**2).mean())), "root_of_squares": root}
    size = float(abs(exact[at]))
    return {"moved_by": float(off[at]), "gradient_size": size, "step_eps": case.settings["eps"], "entry": at}


def _root(implementation: Any, case: Case) -> Outcome:
    values = case.once(_of_moved, implementation)
    root = values["root_of_squares"]
    slack = (case.array.size + 16) * _EPS * root / (root - values["moved_by"])
    return Outcome(abs(root / float(_ran("root", implementation, case)[0]) - 1.0), values, slack)


def _step(implementation: Any, case: Case) -> Outcome:
    values = case.once(_of_moved, implementation)
    exact, eps = float(_summed(case)[0][values["entry"]]), values["step_eps"]
    moved = abs(float(_ran("step", implementation, case)[values["entry"]]) - exact / (abs(exact) + eps))
    return Outcome(moved, values, 16 * _EPS)


# --- cases ------------------------------------------------------------------------------------------------------------


def _options(of: str, P: int, m: int, seed: int) -> Iterator[dict[str, Any]]:
    """What is asked of a computation of P ranks with m numbers each."""
    if of == "product":
        yield from ({"tf32": tf32, "form": form} for form in ("bfloat16", "float32") for tf32 in (False, True))
    elif of == "gradient":
        for batches, replicas, divisor in itertools.product((1, 2, 5), (1, 2, 3), (1, 3, 8)):
            if m % batches == 0 and P % replicas == 0:
                yield {"batches": batches, "replicas": replicas, "divisor": divisor}
    elif of == "loss":
        yield from ({"target": target} for target in {0, seed % (P * m)})
    else:
        yield from ({"eps": eps} for eps in ((2.0**-12, 0.5) if of != "distance" else (0.0,)))


def _made(of: str, P: int, m: int, kind: str, formats: tuple[str, str | None], options: Any, seed: int) -> Case:
    form = options.get("form", formats[0])
    more = {"kind": kind, "seed": seed, **options}
    return _case(_rows(kind, P, m, form, seed) * (4.0 if of in ("loss", "distance") else 1.0), of, formats, **more)


def _corpus(of: str) -> Callable[[Budget], Iterator[Case]]:
    def corpus(_budget: Budget) -> Iterator[Case]:
        for P, m, kind, formats in itertools.product((1, 2, 3, 6), (2, 10), _KINDS, _PAIRS):
            for options in _options(of, P, m, P + m):
                yield _made(of, P, m, kind, formats, options, P + m)
        names = [name for name, (computed, *_) in _TRIALS.items() if computed == of]
        yield from (case for listed in (_EXTREMAL, _STAGES) for name in names for case in listed.get(name, ()))

    return corpus


def _cases(of: str) -> Callable[[], st.SearchStrategy[Case]]:
    @st.composite
    def drawn(draw: st.DrawFn) -> Case:
        P, m, seed = draw(integers(1, 9)), 2 * draw(integers(1, 10)), draw(integers(0, 2**31))
        options = draw(sampled_from(tuple(_options(of, P, m, seed))))
        return _made(of, P, m, draw(sampled_from(_KINDS)), draw(sampled_from(_PAIRS)), options, seed)

    return drawn


def _half(form: str) -> float:
    return float(format_named(form).unit)


_BOTH = ("float32", "bfloat16")
_WIRE: tuple[str, str | None] = ("float32", "bfloat16")
_NARROW: tuple[str, str | None] = ("bfloat16", None)
_EIGHT = float(np.float32(8.0 * np.log(2.0)))
"""The number of float32 next to 8 log 2, which is above it; so are twice and three times the number."""
_TIE = 2.0**-14 * 24929.0, 2.0**10 * 673.0
"""Numbers of float32, whose product 2^20 (1 + u) lies half-way between two."""
_EXTREMAL: dict[str, list[Case]] = {
    "product": [
        _case([[256.0, 256.0 * _half(form), 1.0, 1.0]], "product", (form, None), tf32=False, form=operands)
        for form, operands in (("float32", "bfloat16"), ("bfloat16", "float8_e4m3fn"))
    ],
    # rounded products 1 and u: of one rank, of one rank's sum, and of a sum over ranks
    "rounded_product": [
        _case(x, "product", ("float32", None), tf32=False, form="float32")
        for a, b, c in [(*_TIE, _TIE[1] * 2.0**-24)]
        for x in ([[a, b]], [[a, a, b, c]], [[a, a, a, b, c, c]], [[a, b], [a, c]], [[a, b], [a, c], [a, c]])
    ],
    "gradient": [
        _case([[1.0, _half(form)]], "gradient", (form, None), batches=2, replicas=1, divisor=1) for form in _BOTH
    ],
    # W(10/e) of eleven classes: ten at 1 + W below the largest
    "distance": [
        _case([[0.0, *([-1.0 - w] * (V - 1))]], "distance", ("float32", None), eps=0.0)
        for V, w in ((2, 0.278464542761074), (11, 1.156338541009213))
    ],
    # sums of 1 + u are sent as 1, and u of the next rank is lost
    "loss": [_case([[0.0, -_EIGHT], [-_EIGHT, -2 * _EIGHT]][:P], "loss", _WIRE, target=0) for P in (1, 2)],
    "root": [_case([[1.0], [_half(form)], [-0.5]], "root", (form, None), eps=0.0) for form in _BOTH],
    "step": [_case([[1.0], [_half(form)]], "step", (form, None), eps=2.0**-12) for form in _BOTH],
}


_WHOLE: dict[str, Any] = {"batches": 1, "replicas": 1, "divisor": 1}
# 1 + u and 2^16/65281 lie nearly half-way between two numbers of bfloat16, and 1 + 2^-11 of tf32
_ALONE: dict[str, list[tuple[Any, tuple[str, str | None], dict[str, Any]]]] = {
    "product": [
        ([[1.0 + 2.0**-11, 1.0 + 2.0**-11]], ("float32", None), {"tf32": True, "form": "float32"}),
        ([[1.0 + 2.0**-11 + 2.0**-40] * 2], ("float64", None), {"tf32": True, "form": "float64"}),
        ([[1.0 + 2.0**-8, 1.0]], _WIRE, {"tf32": False, "form": "float16"}),
        ([[1.0, 1.0], [2.0**-8, 1.0]], _NARROW, {"tf32": False, "form": "float8_e4m3fn"}),
        ([[1.0, 2.0**-8, 2.0**-8, 1.0, 1.0, 1.0]], _NARROW, {"tf32": False, "form": "float8_e4m3fn"}),
    ],
    # 999 exponentials of u are lost one by one; a difference of 16 1/16 becomes 16, and so does its sum with 1/16
    "loss": [
        ([[0.0, -_EIGHT], *[[-_EIGHT, -2 * _EIGHT]] * 2], _WIRE, {"target": 0}),
        ([[0.0, *[-3 * _EIGHT] * 999]], ("float32", None), {"target": 0}),
        ([[0.0625, -2.6875, -16.0]], _NARROW, {"target": 2}),
    ],
    # squares of u are lost one by one; most of the other roundings of a mean of three go one way
    "norm": [
        ([[1.0, *[2.0**-12] * 1023]], ("float32", None), {"eps": 0.0}),
        ([[1.140625, 1.0, 1.0]], _NARROW, {"eps": 0.05859375}),
    ],
    "gradient": [
        ([[1.0 + 2.0**-8]], _WIRE, _WHOLE),
        ([[1.0], [2.0**-8]], _NARROW, _WHOLE),
        ([[1.0], [2.0**-8]], _NARROW, {**_WHOLE, "replicas": 2}),
        ([[2.0**16]], _NARROW, {**_WHOLE, "divisor": 65281}),
    ],
}
_STAGES = {of: [_case(x, of, formats, **how) for x, formats, how in listed] for of, listed in _ALONE.items()}
"""Where one stage alone rounds, by as much as it can."""


def _curve(of: str, axis: str) -> Curve:
    formats = _PAIRS[1] if of in ("product", "gradient", "loss") else _PAIRS[0]
    label = f"normal entries, sums in {formats[0]}, sent in {formats[1] or formats[0]}"
    return Curve(axis, label, partial(_points, of, axis, formats))


def _points(of: str, axis: str, formats: tuple[str, str | None], _seed: int) -> Iterator[tuple[None, list[Case]]]:
    """Made when they are asked for: entries are rounded by a kernel."""
    if axis == "P":
        sizes = [(P, 10) for P in (1, 2, 3, 4, 6, 8, 12, 16, 32)]
    else:
        sizes = [(2, m) for m in (2, 4, 8, 16, 32, 64, 128)]
    for P, m in sizes:
        yield None, [_made(of, P, m, "normal", formats, next(iter(_options(of, P, m, 1))), 1)]


_TRIALS: dict[str, tuple[str, Any, str]] = {
    "product": ("product", _product, "P"),
    "rounded_product": ("product", _product, "P"),
    "gradient": ("gradient", _gradient, "P"),
    "distance": ("distance", _distance, "classes"),
    "loss": ("loss", _loss, "classes"),
    "norm": ("norm", _norm, "terms"),
    "root": ("root", _root, "P"),
    "step": ("step", _step, "P"),
}


def _study(name: str) -> Study:
    of, trial, axis = _TRIALS[name]
    listed = _EXTREMAL.get(name)
    extremal = None if listed is None else lambda _budget: iter(listed)
    return Study(
        f"precision.split.{name}",
        _SUBJECT,
        trial,
        corpus=_corpus(of),
        cases=_cases(of),
        extremal=extremal,
        curves=() if axis == "P" and of in ("root", "step") else (_curve(of, axis),),
        known=_known,
    )


SPLIT: Sequence[Study] = tuple(map(_study, _TRIALS))
"""In the order of the book."""
