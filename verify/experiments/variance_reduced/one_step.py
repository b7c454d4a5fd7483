"""Identities and inequalities of one step of DIANA, MARINA, DASHA and lazy aggregation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.feedback.runs import square
from commbounds.verify.experiments.variance_reduced.enumeration import (
    OTHERS,
    SHAPES,
    averaged,
    beside,
    drawn,
    factor,
    lift,
    mean_square,
    number,
    own_rank,
    ranks_mean,
    room,
    steps,
)
from commbounds.verify.inputs import among, whole
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
_COLUMN = "variance_reduced"


def _named(statement: str) -> str:
    return f"{_COLUMN}.{statement}"


# --- DIANA -----------------------------------------------------------------------------------------------------------


def _after_diana(diana: Any, case: Case) -> list[tuple[Array, Array]]:
    """Estimate and shifts of every choice."""
    shifts, weight = beside(case, 1), float(number(case, "weight"))
    mean, found = ranks_mean(shifts), []
    for how in steps(case):
        state, _ = diana(case.array, shifts, mean, case.settings["k"], weight, **how)
        found.append((lift(case, own_rank(case, state.estimate)), lift(case, state.shifts)))
    return found


def _of_diana(_implementation: Any, case: Case) -> dict[str, Any]:
    """The symbols of the claims about one step."""
    g, h, target = (lift(case, rows) for rows in (case.array, beside(case, 1), beside(case, 2)))
    return {
        "P": case.settings["P"], "n": case.settings["n"], "k": case.settings["k"], "omega": factor(case),
        "weight": number(case, "weight"), "shift_gap": mean_square(g - h), "shift_error": mean_square(h - target),
        "target_gap": mean_square(g - target),
    }  # fmt: skip


def _diana(what: str, diana: Any, case: Case) -> Outcome:
    values = case.once(_of_diana, None)
    results = case.once(_after_diana, diana)
    g, target = lift(case, case.array), lift(case, beside(case, 2))
    mean, scale = ranks_mean(g), (values["shift_gap"], mean_square(g), values["target_gap"])
    if what == "bias":
        measured = square(averaged([estimate for estimate, _ in results]) - mean)
        # a difference of numbers of this size, squared: their roundings are squared as well
        return Outcome(measured, values, room(case, *scale) ** 2 * 1e6, active=bool(case.array.any()))
    if what == "defect":
        measured = max(np.abs(estimate - ranks_mean(shifts)).max() for estimate, shifts in results)
        return Outcome(measured, values, room(case, 1 + float(np.abs(case.array).max()) + 4 * len(g)))
    if what == "variance":
        measured = averaged([square(estimate - mean) for estimate, _ in results])
    else:
        about = target if what == "target" else g
        measured = averaged([mean_square(shifts - about) for _, shifts in results])
    omega = float(values["omega"])
    return Outcome(measured, values, room(case, *scale) * (1 + omega) ** 2)


_WEIGHTS = ("0", "1/8", "1/4", "1/2", "3/4", "1")


def _diana_grid(level: int) -> Iterator[Case]:
    for shape, weight, seed in itertools.product(SHAPES, _WEIGHTS, range(1 + level)):
        yield drawn(*shape, seed, weight=weight)
    for (P, n, k), weight in itertools.product(((1, 2, 1), (2, 4, 2), (4, 3, 1)), ("1/2", "1")):
        yield drawn(P, n, k, 3, weight=weight, keep="largest")


def _diana_corpus(_budget: Budget) -> Iterator[Case]:
    for shape, weight in itertools.product(OTHERS, ("1/3", "0.1", "1")):
        yield drawn(*shape, 1, weight=weight, exact=False)


@st.composite
def _drawn_diana(draw: st.DrawFn) -> Case:
    P, n = draw(among(((1, 1), (1, 3), (2, 3), (3, 2), (2, 4))))
    k, seed = draw(whole(1, n)), draw(whole(0, 2**31))
    weight, keep = draw(among(("0.01", "1/3", "0.9", "1"))), draw(among(("random", "random", "largest")))
    return drawn(P, n, k, seed, weight=weight, exact=False, size=draw(among((1.0, 1e-3, 1e3))), keep=keep)


def _best_weights(_budget: Budget) -> Iterator[Case]:
    for shape, seed in itertools.product(((1, 2, 1), (2, 2, 1), (1, 4, 1), (2, 4, 2)), (0, 1)):
        yield drawn(*shape, seed, weight=str(Fraction(shape[2], shape[1])))


def _whole_weights(_budget: Budget) -> Iterator[Case]:
    yield drawn(1, 2, 1, 0, weight="1")


def _line(axis: str, label: str, cases: list[Case]) -> list[Any]:
    return [over(axis, label, cases)]


_BY_WEIGHT = [drawn(2, 4, 1, 5, weight=str(Fraction(j, 16))) for j in range(17)]
_BY_OMEGA = [drawn(1, n, 1, 5, weight="1/4", exact=False) for n in (1, 2, 3, 4, 6, 8)]
_BY_RANKS = [drawn(P, 2, 1, 5, weight="1/2", exact=False) for P in (1, 2, 3, 4, 6)]


def _about_diana(statement: str, what: str, **options: Any) -> Study:
    return Study(
        _named(f"diana.{statement}"),
        "diana_step",
        partial(_diana, what),
        grid=_diana_grid,
        corpus=_diana_corpus,
        cases=_drawn_diana,
        known=_of_diana,
        enumerated="1, 2 and 4 ranks of up to 4 entries, integers, weights of eighths, all choices of all ranks",
        **options,
    )


DIANA = (
    _about_diana("unbiased", "bias"),
    _about_diana("biased", "bias"),
    _about_diana("variance", "variance", curves=_line("P", "n = 2, k = 1", _BY_RANKS)),
    _about_diana("shift", "gap", curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT)),
    _about_diana(
        "shift_contracts", "gap", extremal=_best_weights, curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT[:5])
    ),
    _about_diana(
        "shift_any_weight", "gap", extremal=_whole_weights, curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT)
    ),
    _about_diana("shift_least", "gap", extremal=_best_weights, curves=_line("omega", "weight 1/4, k = 1", _BY_OMEGA)),
    _about_diana("shift_target", "target", curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT)),
    _about_diana("weight_one", "defect"),
)

# --- MARINA ----------------------------------------------------------------------------------------------------------


def _after_marina(marina: Any, case: Case) -> list[tuple[Fraction, Array]]:
    """Probability and estimate of every choice, and of a full step."""
    previous, estimate, p = beside(case, 1), beside(case, 3)[0], number(case, "probability")
    result, _ = marina(case.array, previous, estimate, case.settings["k"], True)
    found, ways = [(p, lift(case, own_rank(case, result)))], steps(case)
    for how in ways:
        result, _ = marina(case.array, previous, estimate, case.settings["k"], False, **how)
        found.append(((1 - p) / len(ways), lift(case, own_rank(case, result))))
    return found


def _of_marina(_implementation: Any, case: Case) -> dict[str, Any]:
    g, before, estimate = (lift(case, rows) for rows in (case.array, beside(case, 1), beside(case, 3)[0]))
    return {
        "P": case.settings["P"], "n": case.settings["n"], "k": case.settings["k"], "omega": factor(case),
        "full_probability": number(case, "probability"), "estimate_gap": square(estimate - ranks_mean(before)),
        "mean_turn": mean_square(g - before),
    }  # fmt: skip


def _marina(what: str, marina: Any, case: Case) -> Outcome:
    values, results = case.once(_of_marina, None), case.once(_after_marina, marina)
    mean = ranks_mean(lift(case, case.array))
    exact = case.settings["exact"]
    weighed = [(p if exact else float(p), estimate - mean) for p, estimate in results]
    if what == "bias":
        expected = sum((p * off for p, off in weighed[1:]), weighed[0][0] * weighed[0][1])
        measured = square(expected)
    else:
        measured = sum((p * square(off) for p, off in weighed), start=0 * weighed[0][0])
    size = (values["estimate_gap"], values["mean_turn"], square(mean))
    return Outcome(measured, values, room(case, *size) * (1 + float(values["omega"])) ** 2)


_COINS = ("1/4", "1/2", "1")


def _marina_grid(level: int) -> Iterator[Case]:
    for shape, probability, seed in itertools.product(SHAPES, _COINS, range(1 + level)):
        yield drawn(*shape, seed, probability=probability)


def _marina_corpus(_budget: Budget) -> Iterator[Case]:
    for shape, probability in itertools.product(OTHERS, ("1/3", "0.1", "1")):
        yield drawn(*shape, 1, probability=probability, exact=False)


@st.composite
def _drawn_marina(draw: st.DrawFn) -> Case:
    P, n = draw(among(((1, 1), (1, 3), (2, 3), (3, 2), (2, 4))))
    probability = draw(among(("0.01", "1/3", "0.9", "1")))
    return drawn(P, n, draw(whole(1, n)), draw(whole(0, 2**31)), probability=probability, exact=False)


def _about_marina(statement: str, what: str, **options: Any) -> Study:
    return Study(
        _named(f"marina.{statement}"),
        "marina_step",
        partial(_marina, what),
        grid=_marina_grid,
        corpus=_marina_corpus,
        cases=_drawn_marina,
        known=_of_marina,
        enumerated="1, 2 and 4 ranks of up to 4 entries, integers, both sides of the coin, all choices of all ranks",
        **options,
    )


_BY_COIN = [drawn(2, 4, 1, 5, probability=str(Fraction(j, 16))) for j in range(1, 17)]


def _marina_words(marina: Any, case: Case) -> Outcome:
    """Of a full step and a compressed one, weighed by the coin."""
    s, p = case.settings, number(case, "probability")
    x = np.ones((s["P"], s["n"]))
    sent = []
    for full in (True, False):
        how = {} if full else {"kept": np.tile(np.arange(s["k"]), (s["P"], 1))}
        sent.append(int(marina(x, x, x[0], s["k"], full, **how)[1].sent.max()))
    values = {"P": s["P"], "n": s["n"], "k": s["k"], "full_probability": p}
    return Outcome(p * sent[0] + (1 - p) * sent[1], values)


def _coin_values(_implementation: Any, case: Case) -> dict[str, Any]:
    names = ("P", "n", "k")
    return {**{name: case.settings[name] for name in names}, "full_probability": number(case, "probability")}


def _word_cases(_level: int) -> Iterator[Case]:
    for P, n, k in itertools.product((1, 2, 3, 4, 5), (1, 2, 6, 8, 12, 60), (1, 2, 5)):
        if k <= n:
            for probability in ("1/3", "1", str(Fraction(k, n))):
                yield Case({"P": P, "n": n, "k": k, "probability": probability})


def _marina_sends(statement: str) -> Study:
    cases = [Case({"P": P, "n": 960, "k": 96, "probability": "1/10"}) for P in (2, 3, 4, 6, 8, 12, 16)]
    return Study(
        _named(f"marina.{statement}"),
        "marina_step",
        _marina_words,
        grid=_word_cases,
        known=_coin_values,
        enumerated="up to 5 ranks and 60 entries",
        curves=_line("P", "n = 960, k = 96, p = 1/10", cases),
    )


MARINA = (
    _about_marina("error", "variance", curves=_line("full_probability", "P = 2, n = 4, k = 1", _BY_COIN)),
    _about_marina("bias", "bias", curves=_line("full_probability", "P = 2, n = 4, k = 1", _BY_COIN)),
    _about_marina("unbiased", "bias"),
    _marina_sends("words"),
    _marina_sends("words_at_ratio"),
)

# --- DASHA -----------------------------------------------------------------------------------------------------------


def _parts(case: Case) -> Array:
    """The workers' parts of the estimate; in aligned cases their turns are -a times what they are off by."""
    if case.settings.get("aligned"):
        previous = beside(case, 1)
        return np.asarray(previous - (case.array - previous) / float(number(case, "weight")))
    return beside(case, 2)


def _after_dasha(dasha: Any, case: Case) -> list[tuple[Array, Array]]:
    """Estimate and parts of every choice."""
    previous, own, weight = beside(case, 1), _parts(case), float(number(case, "weight"))
    found = []
    for how in steps(case):
        state, _ = dasha(case.array, previous, own, ranks_mean(own), case.settings["k"], weight, **how)
        found.append((lift(case, own_rank(case, state.estimate)), lift(case, state.own)))
    return found


def _of_dasha(_implementation: Any, case: Case) -> dict[str, Any]:
    g, before, own = (lift(case, rows) for rows in (case.array, beside(case, 1), _parts(case)))
    weight = number(case, "weight")
    a = weight if case.settings["exact"] else float(weight)
    return {
        "P": case.settings["P"], "n": case.settings["n"], "k": case.settings["k"], "omega": factor(case),
        "weight": weight, "estimate_gap": square(ranks_mean(own) - ranks_mean(before)),
        "part_gap": mean_square(own - before), "mean_turn": mean_square(g - before),
        "part_offer": mean_square(g - before - a * (own - before)),
    }  # fmt: skip


def _dasha(what: str, dasha: Any, case: Case) -> Outcome:
    values, results = case.once(_of_dasha, None), case.once(_after_dasha, dasha)
    g = lift(case, case.array)
    mean = ranks_mean(g)
    if what == "bias":
        measured = square(averaged([estimate for estimate, _ in results]) - mean)
    elif what == "variance":
        measured = averaged([square(estimate - mean) for estimate, _ in results])
    else:
        measured = averaged([mean_square(own - g) for _, own in results])
    size = (values["part_gap"], values["part_offer"], mean_square(g))
    return Outcome(measured, values, room(case, *size) * (1 + float(values["omega"])) ** 2)


def _dasha_grid(level: int) -> Iterator[Case]:
    for shape, weight, seed in itertools.product(SHAPES, _WEIGHTS, range(1 + level)):
        yield drawn(*shape, seed, weight=weight)


def _aligned(_budget: Budget) -> Iterator[Case]:
    for (P, n, k), seed in itertools.product(((1, 2, 1), (2, 4, 1), (1, 3, 1)), (0, 1)):
        weight = 1 / (2 * (Fraction(n, k) - 1) + 1)
        yield drawn(P, n, k, seed, weight=str(weight), aligned=True, exact=False)


def _about_dasha(statement: str, what: str, **options: Any) -> Study:
    return Study(
        _named(f"dasha.{statement}"),
        "dasha_step",
        partial(_dasha, what),
        grid=_dasha_grid,
        corpus=_diana_corpus,
        cases=_drawn_diana,
        known=_of_dasha,
        enumerated="1, 2 and 4 ranks of up to 4 entries, integers, weights of eighths, all choices of all ranks",
        **options,
    )


DASHA = (
    _about_dasha("error", "variance", curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT)),
    _about_dasha("part_error", "parts", curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT)),
    _about_dasha("bias", "bias", curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT)),
    _about_dasha(
        "part_contracts", "parts", extremal=_aligned, curves=_line("weight", "P = 2, n = 4, k = 1", _BY_WEIGHT[:3])
    ),
)

# --- lazy aggregation ------------------------------------------------------------------------------------------------


def _lazy_state(case: Case) -> tuple[Array, Array]:
    """The gradients before, and the parts."""
    s, g = case.settings, case.array
    if s.get("shape") == "silent":  # off by just the root of the trigger times the turn, or by `times` of it
        previous = beside(case, 1)
        return previous, g - s.get("times", 1.0) * float(number(case, "trigger")) ** 0.5 * (g - previous)
    if s.get("shape") == "flat":  # off by v, and turned by -v (1/q - 1)
        q = (1 - s["k"] / s["n"]) ** 0.5
        v = np.ones_like(g) * 64.0
        previous = g + (1 / q - 1) * v
        return previous, previous + v
    previous = beside(case, 1)
    return previous, (previous.copy() if s.get("shape") == "fresh" else beside(case, 2))


def _of_lazy(_implementation: Any, case: Case) -> dict[str, Any]:
    previous, own = case.once(_lazy_state)
    g, before, held = (lift(case, rows) for rows in (case.array, previous, own))
    s = case.settings
    fresh = np.array_equal(previous, own) and bool((case.array != previous).any(axis=1).all())
    return {
        "P": s["P"], "n": s["n"], "k": s["k"], "trigger": number(case, "trigger"),
        "kept_share": Fraction(s["k"], s["n"]), "part_gap": mean_square(held - before),
        "mean_turn": mean_square(g - before), "fresh": fresh,
    }  # fmt: skip


def _after_lazy(lazy: Any, case: Case) -> Any:
    s = case.settings
    previous, own = case.once(_lazy_state)
    return lazy(case.array, previous, own, ranks_mean(own), s["k"], float(number(case, "trigger")), keep="largest")


def _lazy(what: str, lazy: Any, case: Case) -> Outcome:
    values = dict(case.once(_of_lazy, None))
    state, traffic = case.once(_after_lazy, lazy)
    if what == "sending":
        return Outcome(int(np.sum(state.sent)), values)
    if what == "words":
        values["senders"] = int(np.sum(state.sent))
        return Outcome(int(traffic.sent.sum()), values)
    g = lift(case, case.array)
    size = (values["part_gap"], values["mean_turn"], mean_square(g))
    return Outcome(mean_square(lift(case, state.own) - g), values, room(case, *size))


_LAZY_SHAPES = ((1, 1, 1), (1, 4, 4), (2, 3, 3), (3, 4, 3), (5, 2, 1), (4, 6, 6))


def _lazy_grid(level: int) -> Iterator[Case]:
    settings: dict[str, Any] = {"keep": "largest"}
    triggers = ("0", "1/4", "1/2", "15/16", "1", "4")
    for shape, trigger, seed in itertools.product(_LAZY_SHAPES, triggers, range(2 + 2 * level)):
        yield drawn(*shape, seed, trigger=trigger, **settings)
        yield drawn(*shape, seed, trigger=trigger, shape="fresh", **settings)
    for P, n in ((1, 2), (3, 4)):
        for trigger in ("1/4", "1", "4", "9"):
            yield drawn(P, n, n, 2, trigger=trigger, shape="silent", **settings)
            yield drawn(P, n, n, 2, trigger=trigger, shape="silent", times=1.25, **settings)
    for P, trigger in itertools.product((1, 2), ("0", "1/4")):
        yield drawn(P, 4, 3, 1, trigger=trigger, shape="flat", **settings)


def _lazy_corpus(_budget: Budget) -> Iterator[Case]:
    for shape, trigger in itertools.product(((3, 5, 2), (2, 10, 10), (4, 3, 1)), ("0.1", "0.9", "2", "30")):
        yield drawn(*shape, 4, trigger=trigger, keep="largest", exact=False)


@st.composite
def _drawn_lazy(draw: st.DrawFn) -> Case:
    P, n = draw(whole(1, 4)), draw(whole(1, 6))
    k = draw(among((n, n, draw(whole(1, n)))))
    trigger = draw(among(("0", "0.3", "0.99", "1", "3", "100")))
    more: dict[str, Any] = draw(among(({}, {"shape": "fresh"})))
    return drawn(P, n, k, draw(whole(0, 2**31)), trigger=trigger, keep="largest", exact=False, **more)


def _silent(_budget: Budget) -> Iterator[Case]:
    for P, n, trigger in ((1, 2, "4"), (3, 4, "1"), (2, 3, "9")):
        yield drawn(P, n, n, 2, trigger=trigger, shape="silent", keep="largest")


def _flat(_budget: Budget) -> Iterator[Case]:
    for P, n, k in ((1, 4, 3), (2, 4, 3), (3, 9, 5)):
        exact = (n, k) == (4, 3)
        yield drawn(P, n, k, 1, trigger="1/4", shape="flat", keep="largest", exact=exact)


def _about_lazy(statement: str, what: str, **options: Any) -> Study:
    return Study(
        _named(statement),
        "lazy_step",
        partial(_lazy, what),
        grid=_lazy_grid,
        corpus=_lazy_corpus,
        cases=_drawn_lazy,
        known=_of_lazy,
        enumerated="up to 5 ranks and 6 entries, integers, triggers of sixteenths",
        **options,
    )


def _by_trigger(n: int, k: int) -> list[Case]:
    triggers = [str(Fraction(j, 2)) for j in range(1, 13)]
    return [drawn(4, n, k, 3, trigger=trigger, keep="largest") for trigger in triggers]


LAZY = (
    _about_lazy("lag.error", "error", extremal=_silent, curves=_line("trigger", "P = 4, n = 6", _by_trigger(6, 6))),
    _about_lazy(
        "clag.error", "error", extremal=_flat, curves=_line("trigger", "P = 4, n = 6, k = 3", _by_trigger(6, 3))
    ),
    _about_lazy("lag.never_silent", "sending"),
    _about_lazy("lag.words", "words"),
)

# --- words -----------------------------------------------------------------------------------------------------------


def _diana_words(diana: Any, case: Case) -> Outcome:
    s = case.settings
    x = np.ones((s["P"], s["n"]))
    _, traffic = diana(x, x, x[0], s["k"], 0.5, kept=np.tile(np.arange(s["k"]), (s["P"], 1)))
    return Outcome(int(traffic.sent.max()), {name: s[name] for name in ("P", "n", "k")})


def _diana_sizes(_level: int) -> Iterator[Case]:
    for P, n, k in itertools.product((1, 2, 3, 4, 5, 8), (1, 2, 5, 8), (1, 2, 5)):
        if k <= n:
            yield Case({"P": P, "n": n, "k": k})


WORDS = (
    Study(
        _named("diana.words"),
        "diana_step",
        _diana_words,
        grid=_diana_sizes,
        enumerated="up to 8 ranks and 8 entries",
        curves=_line("P", "n = 100, k = 10", [Case({"P": P, "n": 100, "k": 10}) for P in (2, 3, 4, 6, 8, 12, 16)]),
    ),
)

ONE_STEP = (*DIANA, *MARINA, *DASHA, *LAZY, *WORDS)
