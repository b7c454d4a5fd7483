"""What certificates prove of 0/1 Adam: weight decay that enters the momentum, and bytes."""

from typing import Any

import sympy as sp

from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.model import Goal, Model
from commbounds.theory.quantities import P, n
from commbounds.theory.variance_reduced import zeroone_terms as z
from commbounds.theory.variance_reduced.models_descents import model_of
from commbounds.theory.variance_reduced.terms import scalebytes

_weights, _momentum, _later, _lost, _after = sp.symbols("weights momentum later lost after", nonnegative=True)
_block, _sent, _whole = sp.symbols("block sent whole", nonnegative=True)
_H, _S, _beta = z.local_steps, z.averages, z.momentum_factor
_RANKS = {"P": P}


def _decay_momentum(bound: Any) -> tuple[Goal, ...]:
    """`moved` is what was moved, over the weights at first."""
    each = stepsize * z.adam_decay
    sizes = {"step": stepsize, "decay": z.adam_decay, "H": _H}

    def moved(steps: Any) -> Any:
        return bound.subs(_H, steps) * each * steps

    step = moved(_H + 1) - moved(_H) - each * (1 - moved(_H))
    return (
        Goal("one step", moved(sp.Integer(1)) - each, equal=True, positive=sizes),
        Goal("one step more", step, equal=True, positive={**sizes, "H + 1": _H + 1}),
    )


def _decay_tenfold(bound: Any) -> tuple[Goal, ...]:
    """`momentum` over the decay after some averages, `later` after one more; `lost` and `after` of the weights."""
    most = (1 - _beta**_S) / (1 - _beta)
    next_most = most.subs(_S, _S + 1)
    positive = {"1 - beta": 1 - _beta}
    return (
        Goal("no average", bound.subs(_S, 0), equal=True, positive=positive),
        Goal("no momentum", most.subs(_S, 0), equal=True, positive=positive),
        Goal(
            "the momentum",
            next_most - _later,
            given={
                "up to here": most - _momentum,
                "an average": _beta * _momentum + _weights - _later,
                "weights fall": 1 - _weights,
                "beta": _beta,
            },
            positive=positive,
        ),
        Goal(
            "the weights",
            bound.subs(_S, _S + 1) - _after,
            given={
                "up to here": bound - _lost,
                "the momentum": next_most - _later,
                "an average": _lost + _later - _after,
            },
            positive=positive,
        ),
    )


def _step_bytes(bound: Any) -> tuple[Goal, ...]:
    """Twice P - 1 messages of `block` bytes of signs and a scale, once in H steps."""
    sent = 2 * (P - 1) * (_block + scalebytes)
    blocks = {"blocks": 8 * P * _block - n}
    return (Goal("bytes", bound - sent / _H, equal=True, positive={**_RANKS, "H": _H}, zero=blocks),)


def _run_bytes(bound: Any) -> tuple[Goal, ...]:
    """`whole` is the length of a block of the whole vector, `block` that of the signs of one in bytes."""
    blocks = {"blocks of signs": 8 * P * _block - n, "blocks": P * _whole - n}
    signs, refresh = 2 * (P - 1) * (_block + scalebytes), 2 * (P - 1) * _whole * scalebytes
    longer = bound.subs(z.zeroone_steps, z.zeroone_steps + 1)
    none = bound.xreplace({z.zeroone_steps: sp.Integer(0), z.refreshed: sp.Integer(0)})
    more = longer.subs(z.refreshed, z.refreshed + 1)
    return (
        Goal("no step", none, equal=True, positive=_RANKS),
        Goal("one step more", longer - bound - signs, equal=True, positive=_RANKS, zero=blocks),
        Goal("one refresh more", more - bound - refresh, equal=True, positive=_RANKS, zero=blocks),
    )


def _model(statement: str, words: str, scope: str, goals: Any) -> Model:
    return model_of(f"zeroone.{statement}", words, scope, goals)


ZEROONE = (
    _model(
        "decay_momentum",
        "Weights of one at first, without gradients: a step moves them by gamma lambda of what they are. What was "
        "moved, over gamma H, becomes the momentum. Induction over H.",
        "every number of local steps, step size, decay and beta, real arithmetic",
        _decay_momentum,
    ),
    _model(
        "decay_tenfold",
        "Weights of one at first, of which `lost` is what gamma lambda is the unit of; the momentum in the unit of "
        "lambda. Weights are not negative, as gamma lambda S is at most 1 - beta, and fall. Induction over the "
        "averages.",
        "every number of averages, step size, decay and beta with gamma lambda S <= 1 - beta, real arithmetic",
        _decay_tenfold,
    ),
    _model(
        "step_bytes",
        "In either half a rank sends P - 1 messages, of `block` bytes of signs with a scale; once in H steps.",
        "every number of ranks and local steps, every length of whole bytes of blocks",
        _step_bytes,
    ),
    _model(
        "run_bytes",
        "A refresh sends P - 1 blocks of `whole` numbers in either half, all other steps P - 1 messages of `block` "
        "bytes of signs with a scale. Induction over the steps.",
        "every number of ranks, of steps and of refreshes among them, every length of whole bytes of blocks",
        _run_bytes,
    ),
)
