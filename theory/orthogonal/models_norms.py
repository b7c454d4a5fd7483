"""What certificates about Newton-Schulz of degree 5, Dion's residual, and contraction in other norms prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import (
    against_others,
    at_most_each,
    norm_of_a_sum,
    orthonormal_parts,
    over_all,
    part_of_all,
    square_of_mean,
)
from commbounds.theory.model import Goal, Model, vectors
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.quantities import k, m, n, r

_y = sp.Symbol("y", nonnegative=True)
_before, _after, _gradient = sp.symbols("before after gradient", nonnegative=True)
_left, _share, _all, _whole, _q = sp.symbols("left share all whole q", nonnegative=True)
_of_kept = sp.Symbol("of_kept", nonnegative=True)


def _quintic_over(square: Any) -> Any:
    """What an iteration of degree 5 makes of a singular value, over that value."""
    return (15 - 10 * square + 3 * square**2) / 8


def _quintic_step(bound: Any) -> tuple[Goal, ...]:
    """In `_y`, the square of the singular value."""
    given = {"square": _y, "1 - square": 1 - _y, "its cube": (1 - _y) ** 3}
    return (Goal("one step", bound.subs(t.singular, sp.sqrt(_y)) - (1 - _y * _quintic_over(_y) ** 2), given=given),)


def _buffer(bound: Any) -> tuple[Goal, ...]:
    longer = bound.subs(t.dion_steps, t.dion_steps + 1)
    rest, taken = vectors("rest taken")
    less = {"mu in [0, 1], times a square": (1 - t.keeps) * (1 + t.keeps) * taken**2}
    return (
        norm_of_a_sum(),
        Goal("what is kept is no larger", (rest + taken) ** 2 - (rest + t.keeps * taken) ** 2, given=less,
             zero={"orthogonal parts": rest * taken}, vectors=(rest, taken)),
        Goal("no step", bound.subs(t.dion_steps, 0), equal=True),
        Goal(
            "one step more",
            longer - _after,
            given={
                "up to here": bound - _before,
                "the gradient": t.largest_gradient - _gradient,
                "what is kept is no larger than what there was": _before + _gradient - _after,
            },
        ),
    )  # fmt: skip


def _top_entries(bound: Any, left: Any, whole: Any) -> tuple[Goal, ...]:
    """What Top-K leaves out of the squared Euclidean norm, `all`, which is that of the singular values: `share`.

    `left` and `whole` are by how much the squared norms of what is left and of the matrix, of which the claim speaks,
    are less, and more, than they may be.
    """
    largest, smaller = (m * n - k) * _of_kept - k * _share, (m * n - k) * _all - m * n * _share
    return (
        *orthonormal_parts(),
        *against_others(k, m * n - k, _of_kept, _share),
        Goal("k entries, each of which is no smaller", smaller, given={"the largest and the others": largest},
             zero={"all": _all - _of_kept - _share}),
        Goal("norms", bound.xreplace({sp.Min(m, n): _q}) * _whole - _left,
             given={"k entries, each of which is no smaller": smaller, "k <= m n": m * n - k, "what is left": left,
                    "the matrix": whole},
             positive={"m": m, "n": n, "q": _q}),
    )  # fmt: skip


def _changed_norm(bound: Any) -> tuple[Goal, ...]:
    return (
        *part_of_all("the largest square"),
        *at_most_each("a square", _whole, _q, _all),
        *_top_entries(bound, _share - _left, _q * _whole - _all),
    )


def _dual_norm(bound: Any) -> tuple[Goal, ...]:
    """The same in the nuclear norm: q is lost on what is left, and nothing on the matrix."""
    total, squares, one = sp.symbols("total squares one_value", nonnegative=True)
    return (
        *square_of_mean("square of the sum of what is left"),
        Goal("square of the sum, one more value", (total + one) ** 2 - squares - one**2,
             given={"those before": total**2 - squares, "total": total, "value": one}),
        *_top_entries(bound, _q * _share - _left, _whole - _all),
    )  # fmt: skip


def _nuclear_rank(bound: Any) -> tuple[Goal, ...]:
    at = bound.xreplace({sp.Min(m, n): _q})
    kept, rest = sp.symbols("kept_sum rest_sum", nonnegative=True)
    return (
        *against_others(r, _q - r, kept, rest),
        Goal(
            "squares",
            at * (kept + rest) ** 2 - rest**2,
            given={"each kept >= each other": (_q - r) * kept - r * rest, "r <= q": _q - r, "kept": kept, "rest": rest},
            positive={"q": _q},
        ),
    )


def _mass(bound: Any) -> tuple[Goal, ...]:
    """An entry: what the ranks keep on average, (1 - mu) of all that was taken, and all that came."""
    kept, taken, came, new, part = sp.symbols("kept taken came new part", real=True)
    after = (kept + new - (1 - t.keeps) * part) + (taken + (1 - t.keeps) * part) - (came + new)
    return (
        Goal("no step", bound, equal=True),
        Goal("one step more", bound + after, equal=True, zero={"up to here": kept + taken - came}),
    )


def _next_value(bound: Any) -> tuple[Goal, ...]:
    largest, after = sp.symbols("largest after", nonnegative=True)
    value, part = sp.symbols("value part_along_it", nonnegative=True)
    return (
        *orthonormal_parts(),
        Goal("along one direction", (after**2 - value**2) * part**2,
             given={"no larger value is left": (after - value) * part**2, "value": value, "after": after}),
        *over_all(lambda of, made: after**2 * of - made, (part**2, value**2 * part**2), case="directions: "),
        Goal(
            "the next singular value",
            bound * largest**2 - after**2,
            given={"in order": largest - after, "after": after, "largest": largest},
        ),
    )  # fmt: skip


def model_of(claim: str, words: str, scope: str, goals: Any) -> Model:
    """A model that is tied to its own claim, in real arithmetic."""
    name = f"orthogonal.{claim}"
    return Model(claim=name, words=words, scope=f"{scope}, real arithmetic", goals=goals)


def _pairs() -> tuple[Goal, ...]:
    """That an odd polynomial keeps the singular pairs of X: X v = s u and X^T u = s v, seen by any vector w.

    A matrix makes the same multiple of what it makes of a vector out of a multiple of it; so X X^T multiplies what is
    ``times`` u by s^2. ``image_1``, ``image_3`` and ``image_5`` are X v, X X^T X v and one more such.
    """
    s, times, a, b, c = sp.symbols("s times a b c", real=True)
    u, v, w, made, multiple = vectors("u v w made multiple")
    images = vectors("image_1 image_3 image_5")
    polynomial = (a * images[0] + b * images[1] + c * images[2]) * w - (a * s + b * s**3 + c * s**5) * u * w
    return (
        *(
            Goal(f"{name} of a multiple", multiple * w - times * s * other * w, equal=True,
                 vectors=(other, w, made, multiple),
                 zero={"linear": multiple * w - times * made * w, "of the vector": made * w - s * other * w})
            for name, other in (("X^T", v), ("X", u))
        ),
        Goal("odd polynomial", polynomial, equal=True, vectors=(u, w, *images),
             zero={f"s^{i}": image * w - s**i * u * w for i, image in zip((1, 3, 5), images, strict=True)}),
    )  # fmt: skip


def of_singular(claim: str, words: str, scope: str, goals: Any) -> Model:
    """A model of what becomes of singular values, with the goals by which it is one of the matrix."""
    return model_of(claim, f"{_PAIRS} {words}", scope, lambda bound: (*_pairs(), *goals(bound)))


_PAIRS = (
    "A singular value s has vectors with X v = s u and X^T u = s v. An iteration, a X + b X X^T X + c X X^T X X^T X, "
    "makes a s + b s^3 + c s^5 of it, with the same vectors."
)


_TOP = (
    "`left` is the squared norm of what is left out and `whole` that of the matrix, `share` and `all` their squared "
    "Euclidean ones, and q = min(m, n). "
)

NORMS = (
    of_singular(
        "quintic.one_step", "`y` is the square of the singular value.", "every singular value in [0, 1]", _quintic_step
    ),
    model_of(
        "dion.buffer",
        "`before` is the norm of what was kept, `gradient` that of the gradient and `after` that of what is kept then, "
        "which is at most the norm of their sum: of two orthogonal parts one is multiplied by mu. Induction from "
        "nothing.",
        "every number of steps, every gradients and bases, every mu in [0, 1]",
        _buffer,
    ),
    model_of(
        "matrix_topk.spectral",
        _TOP + "A largest singular value is at most the Euclidean norm, and q squares of it are at least that squared.",
        "every matrix but zero, every k from 1 to m n",
        _changed_norm,
    ),
    model_of(
        "matrix_topk.nuclear",
        _TOP + "A sum of q singular values has a square of at most q sums of their squares, and of at least one.",
        "every matrix but zero, every k from 1 to m n",
        _dual_norm,
    ),
    model_of(
        "lowrank.nuclear",
        "`kept_sum` is the sum of the r largest singular values and `rest_sum` that of the others, q - r of them, "
        "which are those of what is left.",
        "every matrix but zero, every r from 1 to min(m, n)",
        _nuclear_rank,
    ),
    model_of(
        "dion.mass",
        "An entry of what the ranks keep on average, `kept`, of 1 - mu times all that was taken, `taken`, and of all "
        "that came, `came`; `new` comes, and `part` is taken: ranks take off what adds up to it. Induction.",
        "every number of ranks and of steps, all gradients and bases, every mu",
        _mass,
    ),
    model_of(
        "lowrank.spectral",
        "What is left, the sum of s u v^T over the values s from the next on, `after`, makes of a vector with the "
        "`part` along v what is s `part` along u: no longer than `after` times it, which is at most the `largest`.",
        "every matrix but zero, every r below min(m, n)",
        _next_value,
    ),
)
