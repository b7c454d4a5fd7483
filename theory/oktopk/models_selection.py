"""What certificates about regions, thresholds, gathered sums and the least that is received in Ok-Topk prove."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import at_most_each, over_all, proved_by
from commbounds.theory.model import Goal, Model, untied
from commbounds.theory.oktopk.models_words import POSITIVE, RANKS, global_count, heard_of_others
from commbounds.theory.oktopk.terms import union, winners
from commbounds.theory.quantities import P, k, n

_EVERY = "all vectors and boundaries, every k >= 1"

# --- the least that is received, and what a re-evaluation brings ------------------------------------------------------

_ranks, _total, _owned, _own, _received, _most = sp.symbols("ranks total owned own received most", nonnegative=True)
_OWNER = {"every one has one owner": _owned - winners}


def _told(ranks: Any) -> Any:
    """How much more than what others own some ranks have received, all together: not less than nothing."""
    return _total - (ranks * winners - _owned)


_ONE_MORE = Goal(
    "one more rank",
    _told(_ranks + 1).xreplace({_total: _total + _received, _owned: _owned + _own}),
    given={"ranks before": _told(_ranks), "a rank is told what others own": _received - (winners - _own)},
)


_came, _theirs, _heard, _held, _enters, _split = sp.symbols("came theirs heard held enters split", nonnegative=True)
_TELLING = (
    *over_all(lambda came, theirs: came - theirs, (_came, _theirs), case="all-gather, one more rank: "),
    Goal(
        "a rank is told what others own",
        _received - (winners - _own),
        given={
            "all-gather: the others' winners at least": _heard - (winners - _held),
            "balancing: holds its own and what comes at most": _own + _enters - _held,
            "split": _split,
        },
        zero={"received": _received - (_split + _enters + _heard)},
    ),
    _ONE_MORE,
)


def _lower_most(bound: Any) -> tuple[Goal, ...]:
    given = {"all ranks": _told(P), "none receives more than the most, summed": P * _most - _total}
    most = at_most_each("no rank more than the most", _most, P, _total, POSITIVE)
    return (*_TELLING, *most, Goal("most", 2 * _most - bound, given=given, positive=POSITIVE, zero=_OWNER))


def _lower_mean(bound: Any) -> tuple[Goal, ...]:
    show = 2 * _total / P - bound
    return (*_TELLING, Goal("mean", show, given={"all ranks": _told(P)}, positive=POSITIVE, zero=_OWNER))


def _mean_gathered(bound: Any) -> tuple[Goal, ...]:
    told = _total - (_ranks * union - _owned)
    one_more = {_total: _total + _received, _owned: _owned + _own, _ranks: _ranks + 1}
    one = {"ranks before": told, "a rank is told what others own, once": _received - (union - _own)}
    every = {"all ranks": told.subs(_ranks, P), "every sum has one owner": _owned - union}
    return (
        Goal("one more rank", told.xreplace(one_more), equal=True, zero=one),
        Goal("mean", 2 * _total / P - bound, equal=True, positive=POSITIVE, zero=every),
    )


def branches(bound: Any) -> tuple[tuple[str, Any], ...]:
    """The bound with its Min replaced by each of its arguments: what is at most each is at most the least."""
    (least,) = bound.atoms(sp.Min)
    return tuple((f"at most that of {branch}", bound.xreplace({least: branch})) for branch in least.args)


_SELECTED = at_most_each("selected", k, P, union, POSITIVE)
_UNION = {"at most k entries of each rank": k * P - union, "at most n sums": n - union}


def _mean_worst(bound: Any) -> tuple[Goal, ...]:
    mean = 2 * union * (P - 1) / P
    return (
        *_SELECTED,
        *proved_by("any sums", _mean_gathered(mean)),
        *(Goal(name, at - mean, given={**_UNION, **RANKS}, positive=POSITIVE) for name, at in branches(bound)),
    )


def _most_gathered(bound: Any) -> tuple[Goal, ...]:
    given = {**_UNION, "own >= 0": _own}
    zero = {"the rank is told what others own, once": _received - (union - _own)}
    return (
        *_SELECTED,
        *heard_of_others(union, _own, _received),
        *(Goal(name, at - 2 * _received, given=given, zero=zero) for name, at in branches(bound)),
    )


# --- thresholds and regions -------------------------------------------------------------------------------------------

_above, _equal = sp.symbols("above equal", nonnegative=True)
_KTH = {
    "fewer than k entries are larger than the k-th largest": k - 1 - _above,
    "k entries are at least as large": _above + _equal - k,
}
_DISTINCT = {"magnitudes differ": _equal - 1}


def _passing(bound: Any, passed: Any) -> tuple[Goal, ...]:
    return (
        Goal("no more pass", bound - passed, given=_KTH, zero=_DISTINCT),
        Goal("no fewer pass", passed - bound, given=_KTH, zero=_DISTINCT),
    )


def _inclusive(bound: Any) -> tuple[Goal, ...]:
    return _passing(bound, _above + _equal)


def _strict(bound: Any) -> tuple[Goal, ...]:
    return _passing(bound, _above)


def mass(bound: Any) -> tuple[Goal, ...]:
    """That what is applied and what is left of an entry are, over the ranks, what there was."""
    used, rest, left, update = sp.symbols("used rest left update", real=True)
    defect = used + rest - left - update
    won = {"applied: what is used": update - used, "left: the others' entries": left - rest}
    lost = {"nothing is applied": update, "everything is left": left - used - rest}
    return (
        Goal("an entry of the result", defect - bound, equal=True, zero=won),
        Goal("another entry", defect - bound, equal=True, zero=lost),
    )


SELECTION = (
    untied(
        claim="oktopk.lower.most",
        words="A rank owns the winners of its region, `own`; balancing brings `enters` and takes some away, so that it "
        "holds own + enters at most. In any all-gather every other rank's share comes to it at least once. It receives "
        "`split`, `enters` and `heard`. `total` and `owned` are sums over the `ranks` before, `received` and `own` "
        "those of one more: induction on the ranks.",
        scope=f"{_EVERY}, any number of winners, every P >= 1",
        goals=_lower_most,
    ),
    untied(
        claim="oktopk.lower.mean",
        words="A rank owns the winners of its region, `own`; balancing brings `enters` and takes some away, so that it "
        "holds own + enters at most. In any all-gather every other rank's share comes to it at least once. It receives "
        "`split`, `enters` and `heard`. `total` and `owned` are sums over the `ranks` before, `received` and `own` "
        "those of one more: induction on the ranks.",
        scope=f"{_EVERY}, any number of winners, every P >= 1",
        goals=_lower_mean,
    ),
    untied(
        claim="oktopk.reevaluation.mean",
        words="A rank receives a pair for every sum that is not zero and that another rank owns, once. "
        "`total` and `owned` are sums over the `ranks` before, `received` and `own` those of one more: induction.",
        scope=f"{_EVERY}, any number of sums, every P >= 1, an all-gather that sends nothing twice",
        goals=_mean_gathered,
    ),
    Model(
        claim="oktopk.reevaluation.mean_worst",
        words="The mean is that of oktopk.reevaluation.mean; at most k P entries give at most k P sums, and there are "
        "at most n. A number below two bounds is below the smaller one.",
        scope=f"{_EVERY}, every P >= 1, where at most k entries are selected",
        goals=_mean_worst,
        checked_by=("oktopk.reevaluation.mean",),
    ),
    untied(
        claim="oktopk.reevaluation.most",
        words="A rank receives a pair for every sum that is not zero and that another rank owns, once. A number below "
        "two bounds is below the smaller one.",
        scope=f"{_EVERY}, every P >= 1, where at most k entries are selected",
        goals=_most_gathered,
    ),
    untied(
        claim="oktopk.threshold.inclusive",
        words="`above` entries are larger than the k-th largest, `equal` are equal to it: all of these pass.",
        scope="every vector of which at least k entries are not zero and all differ in magnitude, every k >= 1",
        goals=_inclusive,
    ),
    untied(
        claim="oktopk.threshold.strict",
        words="`above` entries are larger than the k-th largest, `equal` are equal to it: only the larger ones pass.",
        scope="every vector of which at least k entries are not zero and all differ in magnitude, every k >= 1",
        goals=_strict,
    ),
    untied(
        claim="oktopk.boundaries.global_count",
        words="M entries are selected. Region `number`, counted from 0, begins behind the first index up to which "
        "there are ceil(number M/P) entries of all ranks (`before`: how many there are), and its last index is the "
        "first with ceil((number + 1) M/P) (`quota`); before that index there are `upto`, so `upto - before` in the "
        "region. That is less than k by at least 1/P, so by at least 1, being whole: what the second goal begins with. "
        "An empty region receives nothing; behind the last entry there is none.",
        scope="all vectors, every k >= 1 and P >= 2, where at most k entries are selected",
        goals=global_count,
    ),
    Model(
        claim="oktopk.update.mass",
        words="One entry. `used` is the sum over the ranks that selected it of their entries, `rest` that of the "
        "others, `left` what residuals hold afterwards: in the result, used is applied and cleared; else nothing is.",
        scope="all vectors, every P, k, thresholds and boundaries, every entry; sums in exact arithmetic",
        goals=mass,
    ),
)
