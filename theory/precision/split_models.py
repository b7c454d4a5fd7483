"""What certificates about split computations prove: stage after stage, and how far roots and steps move."""

from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import unit
from commbounds.theory.finite_laws import norm_of_a_sum, over_all, proved_by
from commbounds.theory.model import Goal, Model
from commbounds.theory.precision import split as s
from commbounds.theory.precision.bounds import any_order
from commbounds.theory.precision.models_orders import named, order_of_additions
from commbounds.theory.precision.terms import wire_unit
from commbounds.theory.quantities import P

_size, _own, _casts, _across, _within, _further, _divided = sp.symbols(
    "size own_off casts_off across_off within_off further_off divided_off", nonnegative=True
)
_operand, _loss, _cast, _wire, _division, _group = sp.symbols(
    "operand loss cast wire division further_ranks", nonnegative=True
)
_other, _weights, _distances, _share = sp.symbols("other weights distances share", nonnegative=True)
_LOSSES = {unit: _loss, s.operand_unit: _operand, s.cast_unit: _cast, wire_unit: _wire, s.division_unit: _division}


def _in_losses(bound: Any) -> Any:
    """The bound with u/(1 + u) of every format as a symbol."""
    return sp.cancel(sp.together(bound.subs({u: v / (1 - v) for u, v in _LOSSES.items()}, simultaneous=True)))


def _staged(name: str, show: Any, *stages: tuple[str, Any, Any], **more: Any) -> Goal:
    """That the errors of the stages are at most `show`, each at most its share of all before, magnitudes first."""
    given, before = {}, _size
    for words, share, off in stages:
        given[words] = sp.expand(share * before - off)
        before = before + off
    return Goal(name, sp.expand(show * _size - before + _size), given={**given, **more["given"]})


_ADDED = (
    *proved_by("a sum", order_of_additions(any_order(P, unit))),
    *over_all(lambda sizes, off: _share * sizes - off, (_size, _own), case="ranks: "),
)
"""That a sum is off by so much, and a stage's errors by its share of what came before, added up over the ranks."""


def _product(bound: Any) -> tuple[Goal, ...]:
    at_a_rank = (1 + _operand) ** 2 * (1 + (s.terms - 1) * _loss) - 1
    return (
        *_ADDED,
        _staged(
            "at a rank",
            at_a_rank,
            ("the first operand", _operand, _casts),
            ("the second operand", _operand, _across),
            ("added", (s.terms - 1) * _loss, _further),
            given={"K >= 1": s.terms - 1, **named(_operand, _loss, _size, _casts, _across)},
        ),
        _staged(
            "stage after stage",
            _in_losses(bound),
            ("operands, products and sums at the ranks", at_a_rank, _own),
            ("rounded to the wire", _cast, _casts),
            ("added over ranks", (P - 1) * _wire, _across),
            given={"P >= 1": P - 1, "K >= 1": s.terms - 1, **named(_operand, _loss, _cast, _wire, _size, _own, _casts)},
        ),
    )


def _gradient(bound: Any) -> tuple[Goal, ...]:
    at_a_group = _compounded((s.batches - 1) * _loss, _cast, _group * _wire)
    known = {"M >= 1": s.batches - 1, "R >= 1": s.replicas - 1, **named(_group, _loss, _cast, _wire, _division, _size)}
    return (
        *_ADDED,
        _staged(
            "within groups",
            at_a_group,
            ("micro-batches", (s.batches - 1) * _loss, _own),
            ("rounded to the wire", _cast, _casts),
            ("added over the ranks of a group", _group * _wire, _across),
            given={**known, **named(_own, _casts)},
        ),
        _staged(
            "over groups",
            _in_losses(bound.subs({P: s.replicas * (1 + _group)})),
            ("within groups: all together", at_a_group, _within),
            ("added over replicas", (s.replicas - 1) * _wire, _further),
            ("divided", _division, _divided),
            given={**known, **named(_within, _further)},
        ),
    )


def _compounded(*shares: Any) -> Any:
    return sp.expand(sp.Mul(*(1 + share for share in shares)) - 1)


def _distance(bound: Any) -> tuple[Goal, ...]:
    most, z, weight, power = sp.symbols("most z weight power", nonnegative=True)
    tangent = {"tangent of exp at 0, times exp(-z)": weight * (power - (z - most))}
    show = bound.xreplace({s.softmax_distance(s.classes): most})
    others = (s.classes - 1) * _share - (_distances - most * _weights)
    return (
        Goal("one other", _share - (z - most) * weight, given=tangent,
             zero={"exp(-z) exp(z - most - 1) is the share": weight * power - _share}),
        *over_all(lambda many, distances, weights: many * _share - (distances - most * weights),
                  (sp.S.One, z * weight, weight), case="others: "),
        Goal(
            "summed over the others",
            show * (1 + _weights) - _distances,
            given={
                "the tangent, V - 1 times": others,
                "most is no less than V - 1 shares": most - (s.classes - 1) * _share,
                **named(_weights, most),
            },
        ),
    )  # fmt: skip


def _root(bound: Any) -> tuple[Goal, ...]:
    d, r = s.moved, s.root
    given = {"not smaller by more": d - (r - _other), "not larger by more": d - (_other - r), **named(d, r)}
    times = _other * (r - d)
    left = {"root left": r - d}
    return (
        norm_of_a_sum(),
        Goal("smaller", _cleared(bound - (r - _other) / _other, times), given=given, positive=left),
        Goal(
            "larger",
            _cleared(bound - (_other - r) / _other, times),
            given={**given, "it is larger": _other - r},
            positive=left,
        ),
    )


def _step(bound: Any) -> tuple[Goal, ...]:
    d, g, e = s.moved, s.gradient, s.eps
    given = {"not smaller by more": d - (g - _other), "not larger by more": d - (_other - g), "sign": g - d}
    given |= named(d, g, e, _other)
    times = (g + e) * (_other + e) * (g - d + e)
    less = e * (g - _other) / ((g + e) * (_other + e))
    return (
        Goal("smaller", _cleared(bound - less, times), given=given),
        Goal("larger", _cleared(bound + less, times), given={**given, "it is larger": _other - g}),
    )


def _cleared(expression: Any, times: Any) -> Any:
    """Times what is positive: without the denominators."""
    return sp.expand(sp.cancel(sp.together(expression * times)))


_STAGES = (
    "The error of a stage is at most a share of the magnitudes `size` and of the errors of all earlier stages, added "
    "up over ranks; that a sum is off by so much goals of precision.any.sure show. "
)

MODELS = (
    Model(
        "precision.split.product",
        f"{_STAGES}Losses are u/(1 + u) of the formats. At a rank two roundings of operands and K - 1 additions "
        "compound to own_off; then its sum is rounded to the wire, then P sums are added.",
        "every input whose products are exact and whose sums do not overflow, every K and P, every unit < 1",
        _product,
        ("precision.split.product",),
    ),
    Model(
        "precision.split.gradient",
        f"{_STAGES}Losses are u/(1 + u) of the formats. There are 1 + further_ranks ranks in each of R groups. Sums "
        "have M, 1 + further_ranks and R terms. within_off is what the first three stages are off together.",
        "every input whose sums do not overflow, every M, R and P/R, every unit < 1",
        _gradient,
        ("precision.split.gradient",),
    ),
    Model(
        "precision.split.distance",
        "One of V logits is the largest; weights and distances are the sums over the others of exp(-z) and of z "
        "exp(-z). `most` is the bound, the root of y = (V - 1) exp(-1 - y) or above it, and share = exp(-1 - most). "
        "`power` = exp(z - most - 1) is at least z - most, so that (z - most) exp(-z) <= share. The mean is "
        "distances/(1 + weights).",
        "every logits, every V",
        _distance,
        ("precision.split.distance",),
    ),
    Model(
        "precision.split.root",
        "The root is the length of (x/sqrt n, sqrt eps), and `other` that of the entries after they moved, which is"
        " not farther off than the length of the move: of the two, and of the move, none is longer than the others "
        "together. Shown is that the bound is not below r/other - 1, nor below 1 - r/other where that is positive; "
        "both times other (r - d).",
        "every entries and every move of less than the root",
        _root,
        ("precision.split.root",),
    ),
    Model(
        "precision.split.step",
        "`other` is the magnitude of the gradient after it moved by d at most, which has the same sign. Shown is "
        "that the bound is not below h(g) - h(other), nor below h(other) - h(g) where other is larger; times the "
        "denominators, which are positive as eps is.",
        "every gradient, every move that leaves its sign, every eps > 0",
        _step,
        ("precision.split.step",),
    ),
)
"""By claim."""
