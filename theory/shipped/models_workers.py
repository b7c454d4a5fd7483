"""What certificates prove of workers together: Perm-K, Rand-K with one seed, and Deep Gradient Compression."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all, share_of_squares
from commbounds.theory.model import Goal, recurrence
from commbounds.theory.quantities import P, k, n, norm2bar, sumsq
from commbounds.theory.shipped.models_draws import model_of
from commbounds.theory.shipped.terms import delay, dgcsteps, momentum
from commbounds.theory.subset_laws import over_subsets

_m, _t, _g, _u, _v, _w, _sent = sp.symbols("m t g u v w sent", real=True)
_total, _came, _after = sp.symbols("total came after", real=True)
_own = sp.Symbol("own", nonnegative=True)
_RANKS = {"P": P}
_MEAN = {"the mean": _t - P * _m}


def _unbiased(bound: Any) -> tuple[Goal, ...]:
    return (Goal("entry", bound - (_t / P - _m), equal=True, positive=_RANKS, zero=_MEAN),)


def _among_workers(bound: Any) -> tuple[Goal, ...]:
    at = bound.xreplace({norm2bar**2: _m**2})
    one = sp.Symbol("one", real=True)
    worker = over_all(
        lambda apart, of, total, many: apart - (of - 2 * _m * total + _m**2 * many),
        ((one - _m) ** 2, one**2, one, sp.S.One),
        case="workers: ",
        equal=True,
    )
    entries = over_all(lambda error, apart: P * error - apart, sp.symbols("error apart"), case="entries: ", equal=True)
    return (
        *worker,
        *entries,
        Goal("entry", at - (sumsq / P - 2 * _m * _t / P + _m**2), equal=True, positive=_RANKS, zero=_MEAN),
    )


def _identical(bound: Any) -> tuple[Goal, ...]:
    return (Goal("entry", bound - (_v - _m), equal=True, positive=_RANKS, zero={"the mean": P * _m - P * _v}),)


def _owned_words(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("no entry", bound.subs(n, 0), equal=True),
        Goal("a rank's own", bound.subs(n, n + _own) - bound - (P - 1) * _own, equal=True),
    )


def _one_set(bound: Any) -> tuple[Goal, ...]:
    at, chance = bound.xreplace({norm2bar**2: _m**2}), k / n
    error = chance * (n / k * _m - _m) ** 2 + (1 - chance) * _m**2
    gain = sp.Symbol("gain", nonnegative=True)
    return (
        *over_subsets(lambda of, kept: gain**2 * kept / of + 1 - kept / of, gain**2, sp.S.One),
        *share_of_squares("entries", equal=True),
        Goal("entry", at - error, equal=True, positive={"n": n, "k": k}),
    )


def _ring_words(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, P, 0, lambda words, _: words + 2 * k, start=1)


def _conserved(bound: Any) -> tuple[Goal, ...]:
    """What was sent and is kept, `total` + `v`, is all that came, `came`."""
    before = {"before": _total + _v - _came, "what is kept": _after - (_v + _u - _sent)}
    return (
        Goal("at first", bound, equal=True),
        Goal("a step", bound - (_total + _sent + _after - (_came + _u)), equal=True, zero=before),
    )


def _as_dense(bound: Any) -> tuple[Goal, ...]:
    update = _v + momentum * _u + _g
    known = {"the same momentum": _u - _w, "all was sent": _v}
    return (Goal("a step", bound - (update - (momentum * _w + _g)), equal=True, zero=known),)


def _as_plain(bound: Any) -> tuple[Goal, ...]:
    update = _v + momentum * _u + _g
    return (Goal("a step", bound - (update - _g), equal=True, zero={"cleared": _u, "all was sent": _v}),)


def _waiting(bound: Any) -> tuple[Goal, ...]:
    return recurrence(
        bound, delay, 1, lambda kept, waited: kept + momentum * momentum**waited, positive={"1 - m": 1 - momentum}
    )


def _gathered(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, dgcsteps, 0, lambda words, _: words + P * (P - 1) * 2 * k)


_OWNER = (
    "Every entry of the result is that of a uniformly drawn worker; those of the workers add up to `t`, P times their "
    "mean `m`. "
)
_EVERY = "every P and n, all x_i in R^n"

WORKERS = (
    model_of("permk_mean.unbiased", _OWNER + "Its mean, less theirs.", _EVERY, _unbiased),
    model_of(
        "permk_mean.error",
        _OWNER + "`sumsq` is the sum of their squares, and m^2 stands for the squared mean: its expected square about "
        "the mean. Summed over the entries.",
        _EVERY,
        _among_workers,
    ),
    model_of(
        "permk_mean.identical",
        "The owner of an entry has `v`, and the mean `m` is that: P m = P v.",
        "every P and n, every x in R^n, every draw",
        _identical,
    ),
    model_of(
        "permk_mean.words",
        "The `own` entries of a rank are passed on P - 1 times, until all have them: induction on the ranks.",
        "every P and n, every draw",
        _owned_words,
    ),
    model_of(
        "shared_randk_mean.error",
        "An entry of the mean, `m`, is n/k times itself with probability k/n, else zero, as the set is the same for "
        "all workers. Summed over the entries.",
        "every P, every n >= k >= 1, all x_i in R^n",
        _one_set,
    ),
    model_of(
        "shared_randk_mean.words",
        "Each of the k values goes round a ring of P ranks twice, in P - 1 steps each time: one rank more sends each "
        "of them twice.",
        "every P, every n >= k >= 1",
        _ring_words,
    ),
    model_of(
        "dgc_steps.conserved",
        "For one entry and worker, or summed over the workers: `u` is the momentum that comes up, `sent` what goes "
        "out, `v` what is kept, and `after` what is kept then; `total` was sent before, and `came` came. Induction "
        "over the steps.",
        "every P, n and number of steps, every set of entries that is sent, every factor of the momentum",
        _conserved,
    ),
    model_of(
        "dgc_steps.dense_unmasked",
        "All is sent, so nothing is kept in `v`, and the momentum `u` is that of dense SGD, `w`: induction over the "
        "steps. The mean over the workers is linear.",
        "every P, n and number of steps, every factor of the momentum",
        _as_dense,
    ),
    model_of(
        "dgc_steps.dense_plain",
        "All is sent, so that `u` and `v` are cleared in every step. The mean over the workers is linear.",
        "every P, n and number of steps, every factor of the momentum",
        _as_plain,
    ),
    model_of(
        "dgc_steps.delayed",
        "A gradient of 1 becomes momentum^t in the momentum after t steps, which is added to what is kept. Induction "
        "over the steps that it waits; when it is sent, both are cleared.",
        "every number of steps, every factor of the momentum other than one",
        _waiting,
    ),
    model_of(
        "dgc_steps.words",
        "In every step the k indices and values of each of P ranks go to P - 1 others.",
        "every P, every n >= k >= 1, every number of steps",
        _gathered,
    ),
)
