"""The algebra of costs, and every schedule: against its printed formula, and against a step-by-step count."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds.theory import Hypothesis
from commbounds.theory.cost import Cost, Machine, Phase, Schedule, cost, log2, power_below, t
from commbounds.theory.crossover import crossover
from commbounds.theory.dense.node_schedules import nodes
from commbounds.theory.dense.terms import ceil_log2, floor_log2
from commbounds.theory.flashcomm.terms import group, width
from commbounds.theory.notation import latex
from commbounds.theory.quantities import P, k, n
from commbounds.theory.schedules import EXACT, IN_NODES, SCHEDULES
from commbounds.theory.sources import derived
from commbounds.theory.sparse.schedules import kept, teams

WHY = derived("for a test")
ROUNDED_UP = {"topk_dsa": 1, "topk_dsa_upper": 1, "oktopk": 1, "oktopk_lower": 1}
"""Steps by which the printed latency exceeds the sum: P for the P - 1 messages of a split."""
every = pytest.mark.parametrize


def counted(schedule, part, **values):
    """A part summed step by step, in numbers."""
    symbols = (P, n, k, teams, kept, nodes, width, group)
    chosen = {symbol: sp.sympify(values[symbol.name]) for symbol in symbols if symbol.name in values}
    where = {symbol: meaning.xreplace(chosen).doit() for symbol, meaning in schedule.where}

    def put(expression):
        return sp.sympify(expression).xreplace({**chosen, **where}).doit()

    total = 0
    for phase in schedule.phases:
        for step in range(int(put(phase.steps))):
            total += put(phase.steps * 0 + getattr(phase, part)).subs(t, step)
    return total


@every("name", [name for name, schedule in SCHEDULES.items() if schedule.printed])
def test_the_sum_is_the_printed_formula(name):
    schedule = SCHEDULES[name]
    assert sp.simplify(cost(schedule).words - schedule.printed.words) == 0
    assert sp.simplify(schedule.printed.latency - cost(schedule).latency) == ROUNDED_UP.get(name, 0)


@every("name", SCHEDULES)
@every("ranks", [1, 2, 4, 16])
def test_the_closed_form_is_the_sum_step_by_step(name, ranks):
    coded = {"width": 3, "group": 7}
    values = {"P": ranks, "n": 16 * 5, "k": 16 * 3, "teams": min(ranks, 2), "kept": 2, **coded}
    total = cost(SCHEDULES[name]).at(**values)
    # one member of a team, or one team, has no rest to send: its phases of -1 and 1 steps cancel in the sum alone
    if ranks // values["teams"] > 1 and (values["teams"] > 1 or name != "spardl_bsag"):
        assert total.words == counted(SCHEDULES[name], "words", **values)
        assert total.reduced == counted(SCHEDULES[name], "reduced", **values)
    assert total.words >= 0


@every("name", EXACT)
def test_the_exact_form_is_the_sum_step_by_step(name):
    schedule = EXACT[name]
    for ranks, words in itertools.product((*range(2, 10), 16, 31), (1, 2, 7, 31, 64, 100)):
        values = {"P": ranks, "n": words, "k": words, "width": 3, "group": 7}
        if any(h.name == "power_of_two_ranks" for h in schedule.unmet(**values)):
            continue
        total = cost(schedule).at(**values)
        assert total.words == counted(schedule, "words", **values), (ranks, words)
        assert total.reduced == counted(schedule, "reduced", **values), (ranks, words)


@every("name", sorted(set(EXACT) & set(SCHEDULES)))
def test_the_exact_form_is_the_printed_one_where_that_applies(name):
    for power in range(6):
        values = {"P": 2**power, "n": 2**power * 56, "k": 2**power * 3, "teams": 1, "kept": 1, "width": 5, "group": 7}
        unmet = {hypothesis.name for hypothesis in SCHEDULES[name].unmet(**values)}
        assert unmet <= ({"several_ranks"} if power == 0 else set())
        if unmet:
            continue
        exact, printed = cost(EXACT[name]).at(**values), cost(SCHEDULES[name]).at(**values)
        assert (exact.latency, exact.words, exact.reduced) == (printed.latency, printed.words, printed.reduced)


@every("name", IN_NODES)
def test_in_nodes_the_parts_are_the_sums_step_by_step(name):
    for ranks, groups in ((4, 2), (8, 2), (16, 4), (16, 8), (8, 8)):
        values = {"P": ranks, "n": 16 * 3, "nodes": groups}
        total = cost(IN_NODES[name]).at(**values)
        assert total.words == counted(IN_NODES[name], "words", **values)
        within = [phase for phase in IN_NODES[name].phases if phase.link == "intra"]
        assert (total.intra is None) == (not within)


def test_nodes_do_not_change_what_is_moved():
    for name in ("ring", "rabenseifner", "recursive_doubling"):
        values = {"P": 16, "n": 160, "nodes": 4}
        assert cost(IN_NODES[name]).at(**values).words == cost(SCHEDULES[name]).at(**values).words
    assert sp.simplify(cost(IN_NODES["hierarchical"]).words - cost(SCHEDULES["ring"]).words) == 0


def test_halving_neighbours_first_keeps_the_long_messages_within_nodes():
    near, far = (cost(IN_NODES[name]) for name in ("rabenseifner_near", "rabenseifner"))
    assert sp.simplify(near.words - far.words) == 0
    between = [total.words - total.intra.words for total in (near, far)]
    # 2n(N - 1)/P and 2n(N - 1)/N
    assert sp.simplify(between[1] / between[0] - P / nodes) == 0


def test_time_on_two_kinds_of_links():
    machine = Machine(2, 3, 5, sp.Rational(1, 2), sp.Rational(1, 3))
    total = Cost(10, 100, 7, Cost(4, 40))
    assert total.time(machine) == 6 * 2 + 4 * sp.Rational(1, 2) + 60 * 3 + 40 * sp.Rational(1, 3) + 7 * 5
    assert Cost(10, 100, 7).time(machine) == 20 + 300 + 35
    assert Cost(10, 100).time(Machine(2, 3)) == total.time(Machine(2, 3))
    symbols = {s.name for s in cost(SCHEDULES["ring"]).time(Machine()).free_symbols}
    assert symbols == {"P", "n", "startup", "perword"}


def test_a_sum_is_made_and_not_looked_up():
    schedule = Schedule("squares", "squares", (Phase("one", P, t**2, t),), WHY)
    assert sp.simplify(cost(schedule).words - (P - 1) * P * (2 * P - 1) / 6) == 0
    assert sp.simplify(cost(schedule).reduced - P * (P - 1) / 2) == 0
    assert cost(schedule).latency == P


@every(
    ("make", "message"),
    [
        (lambda: Phase("a", 1, 1, link="fast"), "link must be inter or intra, got 'fast'"),
        (lambda: Phase("a", t, 1), "steps of a must not depend on t"),
        (lambda: Schedule("a", "a", (), WHY), "a must have at least one phase"),
        (
            lambda: Schedule("a", "a", (Phase("b", 1, 1),), WHY, kind="odd"),
            "kind of a must be dense, sparse, quantised or part",
        ),
        (lambda: Schedule("a", "a", (Phase("b", 1, 1),), WHY, end="middle"), "end of a must be upper, lower or empty"),
    ],
)
def test_bad_schedules_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unmet_conditions_are_told():
    assert [h.name for h in SCHEDULES["rabenseifner"].unmet(P=6, n=7)] == ["power_of_two_ranks", "blocks_divide"]
    assert SCHEDULES["rabenseifner"].unmet(P=8, n=16) == ()
    assert all(isinstance(h, Hypothesis) for s in SCHEDULES.values() for h in s.assumes)


def test_logarithms_and_powers_are_exact_at_numbers():
    for ranks in range(1, 70):
        assert ceil_log2.subs(P, ranks) == math.ceil(math.log2(ranks))
        assert floor_log2.subs(P, ranks) == ranks.bit_length() - 1
        assert power_below(sp.Integer(ranks)) == 2 ** (ranks.bit_length() - 1)
    for x, power in (
        (Fraction(1, 3), Fraction(1, 4)),
        (Fraction(4, 3), 1),
        (Fraction(896, 3), 256),
        (Fraction(1, 8), Fraction(1, 8)),
    ):
        assert power_below(sp.Rational(x)) == sp.Rational(power)
    assert log2(sp.Rational(1, 8)) == -3
    assert float(log2(sp.Integer(3))) == pytest.approx(math.log2(3), rel=2.0**-52)  # one unit
    values = np.array([1.0, 2.0, 3.0, 4.0, 7.0, 8.0, 1023.0, 1024.0])
    assert np.array_equal(sp.lambdify([P], power_below(P))(values), [1, 2, 2, 4, 4, 8, 512, 1024])
    assert np.array_equal(sp.lambdify([P], log2(P))(values), np.log2(values))
    assert sp.diff(log2(P), P) == 1 / (P * sp.log(2))
    assert latex(log2(P)) == r"\log_2 P"
    assert latex(floor_log2) == r"\left\lfloor\log_2 P\right\rfloor"


WORDS = {name: cost(schedule).words for name, schedule in SCHEDULES.items()}


@every(
    ("first", "second", "symbol", "condition"),
    [
        ("oktopk", "rabenseifner", k, k < n / 3),
        ("rabenseifner", "oktopk", k, k > n / 3),
        ("oktopk", "topk_allgather", P, P > 3),
        ("oktopk", "ring", n, n > 3 * k),
        ("topk_allgather", "ring", k, k < n / P),
        ("spardl", "oktopk", P, sp.S.true),
        ("oktopk", "spardl", P, sp.S.false),
        ("spardl", "oktopk_balanced", k, sp.S.false),
        ("topk_dsa_upper", "ring", k, k < n / 2),
    ],
)
def test_crossovers_that_have_a_formula(first, second, symbol, condition):
    assert crossover(WORDS[first], WORDS[second], symbol).condition == condition


@every(
    ("first", "second"), list(itertools.permutations(("topk_allgather", "gtopk", "oktopk", "recursive_doubling"), 2))
)
def test_crossovers_agree_with_comparing(first, second):
    """Over P, at every integer."""
    values = {n: sp.Integer(1000), k: sp.Integer(300)}
    pair = [WORDS[name].xreplace(values) for name in (first, second)]
    found = crossover(*pair, P, 2.0, 1e4)
    for ranks in (2, 3, 4, 5, 6, 7, 8, 20, 100, 1000):
        better = bool(pair[0].subs(P, ranks).evalf() < pair[1].subs(P, ranks).evalf())
        if found.exact:
            assert bool(found.condition.subs(P, ranks)) == better
        else:
            assert any(low <= ranks < high for low, high in found.intervals) == better


def test_crossovers_in_a_polynomial_and_by_numbers():
    x = sp.Symbol("x", positive=True)
    found = crossover(x**2 + 2, 3 * x, x)
    assert {value for value in (0.5, 1.5, 2.5) if found.condition.subs(x, value)} == {1.5}
    (interval,) = crossover(log2(x), sp.Integer(5), x, 1.0, 100.0).intervals
    assert interval == pytest.approx((1.0, 32.0), rel=0, abs=2e-12 + 4 * 2.0**-52 * 32)  # as brentq does
    with pytest.raises(ValueError, match="depends on k, n: give values"):
        crossover(k * log2(P), n * P, P)
    with pytest.raises(ValueError, match="not defined everywhere"):
        crossover(log2(log2(x) - 2), sp.Integer(0), x, 1.0, 100.0)


def test_nothing_is_beaten_by_itself():
    assert crossover(WORDS["ring"], WORDS["butterfly"], P).condition == sp.S.false
