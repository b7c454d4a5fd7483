"""What certificates about quantised all-reduces, spikes and log2 scales prove."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_histories
from commbounds.theory.flashcomm import terms as t
from commbounds.theory.flashcomm.models_quantiser import HALF_STEPS
from commbounds.theory.model import Goal, Model, recurrence, untied
from commbounds.theory.quantities import P

_REAL = "exact arithmetic"

_errors, _error, _second = sp.symbols("errors error second", real=True)
_steps, _step, _apart, _one_apart = sp.symbols("steps step apart one_apart", real=True)
_sums, _sum, _next = sp.symbols("sums sum next", real=True)
_SIGNS = (("not above", 1), ("not below", -1))


def _half(error: Any, step: Any, what: str) -> dict[str, Any]:
    """That an error is at most half a step, both ways."""
    return {f"{what}, not above": step / 2 - error, f"{what}, not below": step / 2 + error}


def _added(steps: Any, step: Any, divided: Any = 1) -> tuple[Goal, ...]:
    """That errors of half a step, over `divided`, add up to half the sum of the steps: one more rank."""
    given = {**_half(divided * _errors, steps, "ranks before"), **_half(divided * _error, step, "one more")}
    return tuple(
        Goal(f"one more rank, {name}", steps + step - 2 * sign * divided * (_errors + _error), given=given)
        for name, sign in _SIGNS
    )


def _summed(bound: Any, error: Any, given: Mapping[str, Any], **conditions: Any) -> tuple[Goal, ...]:
    return tuple(Goal(f"sum, {name}", bound - sign * error, given=given, **conditions) for name, sign in _SIGNS)


_OWNER = _half(_second, t.sum_scale, "owner")


def _twostep(bound: Any) -> tuple[Goal, ...]:
    given = {**_half(_errors, t.scales, "all ranks"), **_OWNER}
    return (*HALF_STEPS, *_added(_steps, _step), *_summed(bound, _errors + _second, given))


def _oneshot(bound: Any) -> tuple[Goal, ...]:
    return (*HALF_STEPS, *_added(_steps, _step), *_summed(bound, _errors, _half(_errors, t.scales, "all ranks")))


_RANGE = Goal(
    "one more rank, range",
    _steps + _step - (_apart + _one_apart),
    given={"ranks before": _steps - _apart, "what was read has its range": _step - _one_apart},
)


def _by_scales(bound: Any) -> tuple[Goal, ...]:
    given = {**_half(_errors, t.scales, "all ranks"), **_OWNER, "range of the sum, all ranks": t.scales - t.sum_scale}
    return (*HALF_STEPS, *_added(_steps, _step), _RANGE, *_summed(bound, _errors + _second, given))


def _mixed(bound: Any) -> tuple[Goal, ...]:
    first, second = 2**t.first_width - 1, 2**t.second_width - 1
    given = {
        **_half(first * _errors, t.ranges, "all ranks"),
        **_half(second * _second, _apart, "owner"),
        "range of the sum, all ranks": t.ranges - _apart,
    }
    positive = {"2^b1 - 1": first, "2^b2 - 1": second}
    return (
        *HALF_STEPS,
        *_added(_steps, _step, first),
        _RANGE,
        *_summed(bound, _errors + _second, given, positive=positive),
    )


def _ring(bound: Any) -> tuple[Goal, ...]:
    given = {
        **_half(_errors, _sums, "quantisations before"),
        **_half(_error, _next, "one more"),
        "scale of one more": _sum - _next,
    }
    scale = {"scale before": _steps - _sum, "a rank adds at most its own": _sum + _step - _next}
    return (
        *HALF_STEPS,
        Goal("one more rank, scale", _steps + _step - _next, given=scale),
        *(
            Goal(f"one more quantisation, {name}", _sums + _sum - 2 * sign * (_errors + _error), given=given)
            for name, sign in _SIGNS
        ),
        *_summed(bound, _errors, _half(_errors, t.ring_scales, "all quantisations")),
    )


def _unbiased(bound: Any) -> tuple[Goal, ...]:
    f, c, low, mean, exact, entries = sp.symbols("f c low mean exact entries", real=True)
    read = low + _step * (f * (c + 1) + (1 - f) * c)
    entry = low + _step * (c + f)
    return (
        Goal("given what was read", read - entry - bound, equal=True),
        *over_histories(
            "a rounding", ((f, low + _step * (c + 1)), (1 - f, low + _step * c)), {entries: entry}, entries
        ),
        Goal(
            "what was read, one more rank",
            mean + read - (exact + entry) - bound,
            equal=True,
            zero={"ranks before": mean - exact},
        ),
    )


# --- bytes and steps --------------------------------------------------------------------------------------------------

_block = sp.Symbol("block", positive=True)
_BLOCKS = {"P blocks": P * _block - t.coded_bytes}
_POSITIVE = {"P": P}


def _moved(bound: Any, total: Any, zero: Mapping[str, Any] = _BLOCKS) -> tuple[Goal, ...]:
    return (Goal("bytes", bound - total, equal=True, positive=_POSITIVE, zero=zero),)


def _share(bound: Any) -> tuple[Goal, ...]:
    return _moved(bound, (P - 1) * _block + (P - 1) * _block)


def _whole(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, P, 0, lambda sent, ranks: sent + t.coded_bytes, start=1)


def _ring_steps(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound, P, 0, lambda steps, ranks: steps + 1 + 1, start=1)


def _twostep_bridge(bound: Any) -> tuple[Goal, ...]:
    return _moved(bound, 2 * (P / 2) ** 2 * _block)


def _hierarchy_bridge(bound: Any) -> tuple[Goal, ...]:
    return _moved(bound, P / 2 * _block, {"P/2 blocks": P / 2 * _block - t.coded_bytes})


# --- spikes, scales of powers -----------------------------------------------------------------------------------------


def _range(bound: Any) -> tuple[Goal, ...]:
    low, high, first, last = sp.symbols("low high first last", real=True)
    given = {"no other is smaller": first - low, "no other is larger": high - last}
    return (
        Goal(
            "range", bound - (last - first) / (high - low), given=given, positive={"the range is not zero": high - low}
        ),
    )


def _pays(bound: Any) -> tuple[Goal, ...]:
    spikes, plain = sp.symbols("spikes plain", real=True)
    given = {
        "E bounds the error with spikes": t.reserved_error - spikes,
        "plain levels make at least V": plain - t.least_error,
        "squares": spikes,
    }
    positive = {"V": t.least_error, "plain": plain}
    return (Goal("ratio", bound - spikes / plain, given=given, positive=positive),)


def _inflation(bound: Any) -> tuple[Goal, ...]:
    s, j = sp.Symbol("s", positive=True), sp.Symbol("j", integer=True)
    smallest = 2 ** (-128 / t.theta) / t.smallest_scale
    step = 2 ** (1 / t.theta)
    whole = sp.Max(step, smallest)
    one_less = {"j - 1 is too small, times 2^(1/theta)": step * s - 2 ** (j / t.theta)}
    positive = {"s": s, "2^(1/theta)": step}
    return (
        Goal("j > -128", bound.xreplace({whole: step}) - 2 ** (j / t.theta) / s, given=one_less, positive=positive),
        Goal(
            "j = -128",
            bound.xreplace({whole: smallest}) - 2 ** (-128 / t.theta) / s,
            given={"no scale is smaller": s - t.smallest_scale},
            positive={**positive, "smallest": t.smallest_scale},
        ),
    )


_T, _R, _O, _H = ("flashcomm.twostep.", "flashcomm.ring.", "flashcomm.oneshot.", "flashcomm.hierarchical.")
_ERRORS = (
    "One entry; induction on the ranks. A quantisation reads an entry, `part` of a step above level number `code`, at "
    "the nearer level, half a step off at most, and all levels from 0 on lie in the group's range. `errors` is the sum "
    "of the errors of the quantisations of the ranks before, `steps` that of their scales, `error` and `step` those of "
    "one more rank. "
)
_OWNERS = "`second` is the error of the owner's quantisation, at most half the scale of the sum. "
_APART = (
    "`apart` is by how much the sum's largest and smallest entry in the owner's group differ, the sum over the ranks "
    "of by how much the entries that were read of them do: `one_apart`, at most the rank's range, as all levels lie in "
    "it. "
)
_ALL = f"all vectors and groups, every width, every P; {_REAL}"

SUMS = (
    untied(claim=_T + "error", words=_ERRORS + _OWNERS, scope=_ALL, goals=_twostep),
    untied(
        claim=_T + "error_by_scales",
        words=_ERRORS + _OWNERS + _APART + "Both over 2^b - 1.",
        scope=_ALL,
        goals=_by_scales,
    ),
    untied(
        claim=_T + "error_mixed",
        words=_ERRORS
        + _OWNERS
        + _APART
        + "Errors are over the widths' numbers of steps; `steps` and `step` are ranges.",
        scope=f"all vectors and groups, every two widths, every P; {_REAL}",
        goals=_mixed,
    ),
    untied(
        claim=_R + "error",
        words="One entry, and the P quantisations of its block on its way; inductions. A quantisation reads an entry, "
        "`part` of a step above level number `code`, at the nearer level, and all levels lie in the range. The scale "
        "`next` of what is quantised is at most `sum` + `step`: what was read keeps the range of what was quantised, "
        "to which a rank adds at most its own; so it is at most the sum of the first ranks' scales, `sum`, and half of "
        "it bounds the error. `sums` adds these sums up, `errors` the errors.",
        scope=_ALL,
        goals=_ring,
    ),
    untied(claim=_O + "error", words=_ERRORS, scope=_ALL, goals=_oneshot),
    Model(
        claim=_T + "unbiased",
        words="A quantisation that finds a number `f` of a step above level `c` rounds up with that probability. The "
        "expectation of the result given what was read, the sum; and that of what was read, one rank more.",
        scope=_ALL,
        goals=_unbiased,
    ),
)

COSTS = (
    Model(
        claim=_T + "bytes",
        words="P - 1 blocks go out, one to each other rank, and then the own block, P - 1 times.",
        scope="every P and size such that blocks are made of whole groups and bytes",
        goals=_share,
    ),
    Model(
        claim=_R + "bytes",
        words="A block in each of P - 1 steps that reduce, and of P - 1 that gather.",
        scope="every P and size such that blocks are made of whole groups and bytes",
        goals=_share,
    ),
    Model(
        claim=_O + "bytes",
        words="A rank more is sent the whole vector once more. Induction on P.",
        scope="every P and size",
        goals=_whole,
    ),
    Model(
        claim=_R + "steps",
        words="A rank more is a step more that reduces, and one more that gathers. Induction on P.",
        scope="every P",
        goals=_ring_steps,
    ),
    Model(
        claim=_T + "bridge",
        words="Every rank of a half sends a block to every rank of the other, and later its own block.",
        scope="every even P, every size such that blocks are made of whole groups and bytes",
        goals=_twostep_bridge,
    ),
    Model(
        claim=_R + "bridge",
        words="One link crosses in each direction; a block in each of 2 (P - 1) steps.",
        scope="every even P, every size such that blocks are made of whole groups and bytes",
        goals=_share,
    ),
    Model(
        claim=_H + "bridge",
        words="P/2 ranks of a node send their block, of which the vector has P/2, to their partner.",
        scope="every even P, every size such that blocks are made of whole groups and bytes",
        goals=_hierarchy_bridge,
    ),
)

SPIKES = (
    Model(
        claim="flashcomm.spikes.range",
        words="The others' smallest and largest entry, `first` and `last`, lie between the group's.",
        scope="every group of numbers that are not all equal; exact arithmetic",
        goals=_range,
    ),
    Model(
        claim="flashcomm.spikes.pays_isolated",
        words="Squared errors with spikes and of plain INT4; what E and V are by their definitions.",
        scope="all vectors for which V > 0",
        goals=_pays,
    ),
    Model(
        claim="flashcomm.groupquant.log2_inflation",
        words="The stored scale is 2^(j/theta), the exact one s. If j > -128, one less is below s; else no exact scale "
        "is below the smallest. What is at most one of two numbers is at most the larger.",
        scope="every group of real numbers that are not all equal, every theta; exact arithmetic",
        goals=_inflation,
    ),
)
