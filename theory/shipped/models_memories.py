"""What certificates prove of spectral ATOMO, of switching, of signs with a memory, and of what is compressed again."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import mean
from commbounds.theory.model import Goal, recurrence
from commbounds.theory.shipped.models_draws import model_of
from commbounds.theory.shipped.terms import (
    efrate,
    firstlargest,
    nonedrawn,
    planned,
    recompressions,
    ridgeslope,
    ridgestep,
    ridgesteps,
    statedvariance,
    unused,
    usedvariance,
)

_chance, _before, _after, _total = sp.symbols("chance before after total", nonnegative=True)
_part, _omega, _height, _least = sp.symbols("part omega height least", nonnegative=True)
_q, _slope, _residual, _larger, _apart = sp.symbols("q slope residual larger apart", nonnegative=True)
_gradient, _kept, _later, _applied, _wanted, _sum, _turn = sp.symbols(
    "gradient kept later applied wanted sum turn", real=True
)
_DRAWN = {"something is kept": 1 - nonedrawn}
_EVERY = "every matrix of 1e-6 and more, every budget"
_RATE = {"rate": efrate}


_in_the_end = sp.Symbol("in_the_end", nonnegative=True)
_DRAWS = (_chance, 1), (nonedrawn, _in_the_end), (1 - _chance - nonedrawn, 0)
_AGAIN = {"kept, or nothing is and all are drawn again": _in_the_end - mean(_DRAWS)}


def _atom_bias(bound: Any) -> tuple[Goal, ...]:
    bias = bound - (_in_the_end / _chance - 1)
    return (Goal("an atom", bias, equal=True, positive={"chance": _chance, **_DRAWN}, zero=_AGAIN),)


def _atoms_kept(bound: Any) -> tuple[Goal, ...]:
    more = bound.subs(planned, _before + _chance) - bound.subs(planned, _before)
    return (
        Goal("none", bound.subs(planned, 0), equal=True, positive=_DRAWN),
        Goal("one more atom", more - _in_the_end, equal=True, positive=_DRAWN, zero=_AGAIN),
    )


def _used(bound: Any) -> tuple[Goal, ...]:
    longer = bound.xreplace({usedvariance: usedvariance + _part * _omega, unused: unused - _part})
    return (
        Goal("no compressor", bound.xreplace({usedvariance: sp.Integer(0), unused: sp.Integer(1)}) - 1, equal=True),
        Goal("one more", longer - bound - (_part * _omega - _part), equal=True),
    )


def _stated(bound: Any) -> tuple[Goal, ...]:
    """`before` is the sum of probabilities times variances, over which `total` is that of the probabilities."""
    at = bound.subs(statedvariance, _before / _total)
    return (Goal("mean", at - _before, equal=True, positive={"total": _total}, zero={"all of one": _total - 1}),)


def _decay(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, recompressions, 1, lambda share, _: share - sp.Rational(9, 1280) * share)


def _first_update(bound: Any) -> tuple[Goal, ...]:
    """`height` is the mean magnitude of the gradient, which signs are multiplied by."""
    at_first = (_height / efrate) / _height
    return (Goal("the first", bound - at_first, equal=True, positive={**_RATE, "magnitude": _height}),)


def _excess(bound: Any) -> tuple[Goal, ...]:
    """An entry: `kept` is its residual, and an update what was compressed, less the residual then, over the rate."""
    first = efrate * (firstlargest - _kept) / efrate + _kept - efrate * firstlargest
    up_to_here = efrate * (_applied - _wanted) + _kept - bound
    update = (_kept + efrate * _gradient - _later) / efrate
    step = efrate * (_applied + update - _wanted - _gradient) + _later - bound
    return (
        Goal("one step", bound - first, equal=True, positive=_RATE),
        Goal("one more", step, equal=True, positive=_RATE, zero={"up to here": up_to_here}),
    )


def _ridge_stuck(bound: Any) -> tuple[Goal, ...]:
    """`sum` is that of the coordinates, `turn` the sign of their difference, or the one that is taken for zero's."""
    moved = (_sum / 2 - ridgestep * _turn) + (_sum / 2 + ridgestep * _turn) - _sum
    return (Goal("one step", bound + moved, equal=True),)


def _ridge_least(bound: Any) -> tuple[Goal, ...]:
    """`apart` is the magnitude of the difference of the coordinates, zero at the start; their sum is two."""
    return (
        Goal("at the start", bound - ridgeslope * 2, equal=True),
        Goal("on the path", ridgeslope * 2 + _apart - bound, given={"apart": _apart}),
    )


def _ridge_feedback(bound: Any) -> tuple[Goal, ...]:
    """`slope` is the norm of a subgradient, `q` the root of one half."""
    largest = ridgestep * _slope * _q / (1 - _q)
    sizes = {"step": ridgestep, "1 - q": 1 - _q}
    half = {"q is the root of one half": 2 * _q**2 - 1}
    fallen = 2 * ridgestep * _least - 24 * ridgestep**2
    squares = {"above": sp.Rational(3, 4) - _q, "q": _q}
    return (
        Goal(
            "the residual stays",
            largest - _q * (_residual + ridgestep * _slope),
            given={"up to here": largest - _residual, "q": _q},
            positive=sizes,
        ),
        Goal("the root of one half", (1 - _q) * 6 - (1 + _q), given=squares, zero=half, hints=(_q,)),
        Goal(
            "one step",
            _before - _after - fallen,
            given={
                "a subgradient step": _before
                - 2 * ridgestep * _height
                + 2 * ridgestep * _larger
                + ridgestep**2 * _slope**2
                - _after,
                "the least height": ridgestep * (_height - _least),
                "the residual along the subgradient": ridgestep * (ridgestep * _slope**2 * _q - (1 - _q) * _larger),
                "six of them are enough": ridgestep**2 * _slope**2 * ((1 - _q) * 6 - (1 + _q)),
                "the subgradient": ridgestep**2 * (4 - _slope**2) * (1 - _q),
            },
            positive=sizes,
        ),
        Goal(
            "all steps",
            bound - _least,
            given={"from two on": 2 - ridgesteps * fallen},
            positive={"step": ridgestep, "steps": ridgesteps},
        ),
    )


MEMORIES = (
    model_of(
        "spectral_atoms.bias",
        "A draw keeps an atom with its probability p, or keeps nothing, with probability q, and is repeated, or keeps "
        "others alone: the atom is kept `in_the_end`, and is multiplied by 1/p.",
        _EVERY,
        _atom_bias,
    ),
    model_of(
        "spectral_atoms.kept",
        "A draw keeps one atom more with its `chance`, or keeps nothing and is repeated: `in_the_end` it is kept with "
        "that probability, which is what it adds to the mean number.",
        _EVERY,
        _atoms_kept,
    ),
    model_of(
        "switched.used",
        "One more compressor takes `part` of the unused share, of error one, with the error `omega`. Induction.",
        "every number of unbiased compressors whose variance is an equality, all probabilities",
        _used,
    ),
    model_of(
        "switched.variance_whole",
        "`before` is the sum of probabilities times variances, which is the error, `total` that of the probabilities.",
        "every number of unbiased compressors whose variance is an equality, all probabilities that add up to one",
        _stated,
    ),
    model_of(
        "dynamic_tree.decay",
        "In a round 9/1280 is taken off a largest entry that is negative; all others stay below it. Induction.",
        "every vector with such an entry and others of half of it at most, every number of rounds, in real arithmetic",
        _decay,
    ),
    model_of(
        "ef_signs.first_large",
        "The first gradient is compressed without the step size, and divided by it: of `height`, its mean magnitude.",
        "every gradient but zero, every step size, in real arithmetic",
        _first_update,
    ),
    model_of(
        "ef_signs.excess",
        "An entry: at first what is kept is the gradient less what was sent, later that of residual and step size "
        "times gradient; `applied` is the sum of updates, `wanted` that of gradients. Induction.",
        "all gradients, every number of steps, every step size up to one, in real arithmetic",
        _excess,
    ),
    model_of(
        "ridge_descent.stuck",
        "Signs of gradients are `turn` and its negative, one and minus one, as the slope is below one; where the "
        "coordinates are equal, the subgradient is one of these.",
        "every slope below one, every step size, every number of steps",
        _ridge_stuck,
    ),
    model_of(
        "ridge_descent.least",
        "The sum of the coordinates stays two by shipped.ridge_descent.stuck, and the start has no difference.",
        "every slope below one, every step size, every number of steps",
        _ridge_least,
    ),
    model_of(
        "ridge_descent.feedback",
        "`before` and `after` are squared norms of the iterate less the residual, which takes subgradient steps; two "
        "at first. `larger` is the residual along the subgradient, at most its norm times `slope`; `height` is the "
        "subgradient along the iterate, at least `least`, the least of all; `slope` squared is below four. What "
        "signs leave out of two entries is at most half of their square. Summed over the steps.",
        "every slope below one, every step size, every number of steps, in real arithmetic",
        _ridge_feedback,
    ),
)
