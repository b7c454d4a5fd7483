"""Definitions: what counts as a difference, what is shown of it; and all implementations have one."""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from commbounds.collectives import COLLECTIVES, ring_allreduce
from commbounds.collectives.ranks import one_program, parcel
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.traffic import Traffic
from commbounds.columns import columns, parts
from commbounds.compressors import COMPRESSORS, MECHANISMS, RandK
from commbounds.theory import claims
from commbounds.theory.implementations import DIFFERENCES, RANK_DIFFERENCES
from commbounds.verify import definition_study, own_callers, pairing
from commbounds.verify.confront import confront
from commbounds.verify.definition import Definition, Given, called
from commbounds.verify.definition_study import ALTERED, APART, BEYOND, CALLERS, MIXED, study_of
from commbounds.verify.differences import Near, differences, plain
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.finding import Verdict
from commbounds.verify.pairings import PAIRINGS
from commbounds.verify.space import Of, Space
from commbounds.verify.study import Case

DEFINED = {
    (column, name): definition
    for column, found in parts("verify.experiments", "definitions")
    for name, definition in found.DEFINITIONS.items()
}


@dataclass
class State:
    left: np.ndarray
    count: int


def test_values_that_agree():
    stack = np.array([[0.0, -0.0, np.nan]], np.float32)
    steps = [{"count": 1}, {"count": 2}]
    found = {"result": stack, "state": State(stack, 3), "steps": steps, "name": "a", "none": None}
    counts = {"steps.0.count": 1, "steps.1.count": 2}
    said = {"result": stack.copy(), "state": {"left": stack, "count": 3}, **counts, "name": "a", "none": None}
    assert differences(found, said) == []
    assert differences({"x": np.array([0.5, 2.0])}, {"x": [Fraction(1, 2), 2]}) == []
    assert differences({"x": np.array([0.5, 2.0])}, {"x": Near([0.5, Fraction(3, 2)], [0, 0.5])}) == []
    assert differences({"x": np.array([0.5])}, {"x": {"near": [Fraction(1, 4)], "allowance": 0.25}}) == []
    assert differences({"x": np.array([0.5])}, {"x": {"near": [Fraction(1, 4)], "allowance": 0.125}})
    assert differences({"traffic": Traffic.none(2)}, {"traffic": Traffic.none(2).as_dict()}) == []
    assert differences({"kept": [np.array([1, 2]), np.array([3])]}, {"kept": [[1, 2], [3]]}) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (np.array([0.0]), np.array([-0.0])),
        (np.array([1.0]), np.array([1.0], np.float32)),
        (np.array([1.0]), np.array([[1.0]])),
        (np.array([1.0]), [-1.0]),
        (np.array([0.0]), [-0.0]),
        (np.array([np.nan]), [1.0]),
        (np.array([[1, 2]]), [1, 2]),
        (np.array([1, 2]), [1]),
        (0.1, Fraction(1, 10)),
        (True, 2),
        ("a", "b"),
        (None, 0.0),
        (1.0, Near([0.5], 0.25)),
        (np.nan, Near([0.5], 0.25)),
        (np.array([1.0, 1.0]), Near([1.0], 0)),
        (np.array([[1.0]]), Near([[1.0, 1.0]], 0)),
        (np.array([1.0]), Near([[1.0]], 0)),
        (np.array([1.0], np.float32), Near(np.array([1.0]), 0)),
        (np.array([1.0]), Near(np.array([[1.0]]), 0)),
        ([np.array([1]), np.array([2])], [[1], [3]]),
        ([np.array([1])], [[1], [2]]),
    ],
)
def test_values_that_differ(found, said):
    assert differences({"x": found}, {"x": said})


def test_phases_come_in_their_order():
    none = Traffic.none(2)
    found = Traffic.of_phases({"up": none, "down": none})
    assert differences({"traffic": found}, {"traffic": Traffic.of_phases({"up": none, "down": none}).as_dict()}) == []
    (line,) = differences({"traffic": found}, {"traffic": Traffic.of_phases({"down": none, "up": none}).as_dict()})
    assert line == "traffic.phases: up, down, by definition down, up"


def test_what_only_one_of_them_says_is_a_difference():
    assert differences({"a": 1, "b": 2}, {"a": 1}) == ["b: the definition says nothing of it"]
    assert differences({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {}}, [("b.*", "shown only")]) == []
    assert differences({"a": 1}, {"a": 1, "b.c": 2}) == ["b: the implementation says nothing of it"]


def test_twins_know_nothing_of_our_classes():
    given = Given({"state": State(np.zeros(1), 2), "pair": (1, Fraction(1, 2))}).plain()["inputs"]
    assert given["state"]["record"] == "State"
    assert given["state"]["count"] == 2
    assert given["pair"] == [1, Fraction(1, 2)]
    x = np.zeros(1)
    assert plain(x) is not x


def test_refusals_are_compared():
    def run(implementation, given):
        return {"x": implementation(given.inputs["x"])}

    def strict(x):
        if x < 0:
            raise ValueError("negative")
        return x

    def twin(held):
        return {"refused": "ValueError"} if held["inputs"]["x"] < 0 else {"x": held["inputs"]["x"]}

    space = Space(lambda x, seed: Given({"x": x}), {"x": (1, -1)})
    definition = Definition(space, run, twin)
    assert [definition.differences(strict, space.make(**row)) for row in space.covering()] == [[], []]
    assert definition.differences(lambda x: x, Given({"x": -1})) == ["takes what must be refused by a ValueError"]
    assert definition.differences(lambda x: 1 / (x - 1), Given({"x": 1})) == [
        "raises ZeroDivisionError: division by zero"
    ]


def test_an_implementation_leaves_what_it_is_given_as_it_is():
    def doubled(x):
        x *= 2
        return x

    given = Given({"x": np.ones(2)})
    definition = Definition(
        Space(lambda seed: given, {"n": (1,)}), called("x"), lambda held: {"x": 2 * held["inputs"]["x"]}
    )
    line, shared = definition.differences(doubled, given)
    assert shared == "returns the memory of x"
    assert line.startswith("changes what it is given: inputs.x: 2 of 2 entries differ")
    assert definition.differences(lambda x: 2 * x, given) == []
    listed = Definition(definition.space, called("x"), lambda held: {"x": [held["inputs"]["x"]]})
    assert listed.differences(lambda x: [x], given) == ["returns the memory of x"]
    assert listed.differences(lambda x: [np.broadcast_to(x, 2)], given) == ["returns the memory of x"]  # read only
    assert listed.differences(lambda x: [x.copy()], given) == []


RANGED = Definition(
    Space(lambda k, seed: Given({}, {"k": k}), {"k": (1, 5)}),
    called("k"),
    lambda held: {"k": held["parameters"]["k"]},
    refused={"k": (0, Of("k + 5", lambda k: k + 5))},
)


@pytest.mark.parametrize(("least", "largest", "found"), [(1, 5, 0), (0, 5, 1), (2, 5, 1), (1, 6, 1), (1, 4, 1)])
def test_ends_of_a_range_are_taken_and_what_is_beyond_is_refused(least, largest, found):
    def taken(k):
        if not least <= k <= largest:
            raise ValueError(f"k must be in [{least}, {largest}], got {k}")
        return k

    study = study_of("toy", "toy", RANGED)
    cases = list(study.corpus(budgets["quick"]))
    assert [case.settings[BEYOND] for case in cases if BEYOND in case.settings] == [("k", 0), ("k", 6)]
    assert sum(bool(study.differences(taken, case)) for case in cases) == found


def scaled(asked):
    """A sum times a factor, whose ranks ask one another whether they have the same, or do not."""

    @one_program(np.stack)
    def scaled_sum(comm, vector, factor, turned=False):
        (row,) = agreed_row(comm, vector, lambda _: {"factor": factor} if asked else {})
        return factor * ring_allreduce.on_rank(comm, row)

    return scaled_sum


@pytest.mark.parametrize(
    ("asked", "lines"), [(True, []), (False, ["takes a factor that is not the same on all ranks"] * 3)]
)
def test_what_makes_a_difference_must_be_the_same_on_all_ranks(asked, lines):
    def make(P, factor, turned, seed):
        return Given({"stack": np.ones((P, 2))}, {"factor": factor, "turned": turned})

    space = Space(make, {"P": (1, 2, 3, 4), "factor": (1, 2), "turned": (False, True)})
    definition = Definition(space, called("result", "traffic"), lambda held: {})
    study = study_of("toy", "toy", definition)
    cases = {case.settings[APART]: case for case in study.corpus(budgets["quick"]) if APART in case.settings}
    assert set(cases) == {"factor", "turned"}
    assert study.differences(scaled(asked), cases["factor"]) == lines
    assert study.differences(scaled(asked), cases["turned"]) == []  # it makes no difference
    assert study.differences(lambda stack, **options: None, cases["factor"]) == []  # no ranks
    own = replace(definition, own={"factor": "it is a rank's own"})
    assert {c.settings.get(APART) for c in study_of("toy", "toy", own).corpus(budgets["quick"])} == {None, "turned"}


def test_ranks_that_are_given_the_same_are_not_refused_unless_it_is_said():
    @one_program(np.stack)
    def not_by_two(comm, vector, factor):
        if factor == 2 and not comm.one_caller:
            raise ValueError("factor must not be 2 where ranks are apart")
        (row,) = agreed_row(comm, vector, lambda _: {"factor": factor})
        return factor * row

    space = Space(
        lambda P, factor, seed: Given({"stack": np.ones((P, 2))}, {"factor": factor}), {"P": (2, 3), "factor": (1, 2)}
    )
    definition = Definition(space, called("result", "traffic"), lambda held: {})
    case = Case({APART: "factor"})
    (line, _) = study_of("toy", "toy", definition).differences(not_by_two, case)
    assert line.startswith("refuses ranks of which all are given the same factor: ValueError: factor must not be 2")
    said = replace(definition, together=("where ranks are apart",))
    assert study_of("toy", "toy", said).differences(not_by_two, Case(case.settings)) == []


def halved(stack, factor):
    return {"result": factor * stack, "traffic": Traffic.none(len(stack)).as_dict()}


HALVED = Definition(
    Space(
        lambda P, factor, seed: Given({"stack": np.full((P, 2), 1.0 + seed)}, {"factor": factor}, {"seed": seed}),
        {"P": (1, 2, 3, 4), "factor": (0.5, 2.0)},
    ),
    called("result", "traffic"),
    lambda held: halved(held["inputs"]["stack"], held["parameters"]["factor"]),
    unsaid=(("drawn next", "Some draw, and leave it at that."),),
)


@pytest.mark.parametrize("wrong_for", [None, 1, 3])
def test_ranks_with_callers_of_their_own_do_what_the_definition_says(wrong_for):
    @one_program(np.stack)
    def scaled_rows(comm, vector, factor, rng):
        (row,) = agreed_row(comm, vector, lambda _: {"factor": factor})
        drawn = comm.common(lambda: rng.random(3))  # every rank has a generator of its own, in the same state
        assert len({tuple(numbers) for numbers in comm.allgather_object(drawn.tolist())}) == 1
        return factor * row + (comm.size == wrong_for and not comm.one_caller and factor == 2)

    found = {}
    for row in HALVED.space.covering():
        given = HALVED.space.make(**row)
        assert HALVED.differences(scaled_rows, given) == []
        lines = own_callers.own_caller_lines(HALVED, scaled_rows, given, HALVED.said(given))
        found.setdefault((row["P"], row["factor"]), []).append(bool(lines))
    assert {where for where, lines in found.items() if any(lines)} == ({(wrong_for, 2.0)} if wrong_for else set())


def test_a_generator_is_drawn_on_in_the_next_round_whoever_calls():
    @one_program(np.stack)
    def noisy(comm, vector, rng):
        (row,) = agreed_row(comm, vector, lambda _: {})
        return row + comm.common(rng.random)

    def twice(implementation, given):
        rng = np.random.default_rng(given.randomness["seed"])
        return {"results": [implementation(**given.inputs, rng=rng)[0] for _ in range(2)]}

    def twin(held):
        first, second = np.random.default_rng(held["randomness"]["seed"]).random(2)
        return {"results": [held["inputs"]["stack"] + first, held["inputs"]["stack"] + second]}

    definition = Definition(HALVED.space, twice, twin)
    given = Given({"stack": np.ones((3, 2))}, {}, {"seed": 1})
    assert own_callers.own_caller_lines(definition, noisy, given, definition.said(given)) == []


@pytest.mark.parametrize("more", [0, 1])
def test_what_a_generator_gives_next_is_compared(more):
    def run(implementation, given):
        return {"number": implementation(np.random.default_rng(given.randomness["seed"]))}

    def drawn(rng):
        number = rng.random()
        rng.integers(2, size=more, dtype=np.uint8)  # less than a word
        return number

    def twin(held):
        return {"number": np.random.default_rng(held["randomness"]["seed"]).random()}

    definition = Definition(Space(lambda n, seed: Given({}, {}, {"seed": seed}), {"n": (1,)}), run, twin)
    found = definition.differences(drawn, Given({}, {}, {"seed": 3}))
    assert [line.partition(":")[0] for line in found] == ["drawn next"] * more


def test_a_call_of_a_compressor_draws_as_much_as_its_message():
    @dataclass(frozen=True)
    class Further(RandK):
        def __call__(self, x, rng=None):
            found = super().__call__(x, rng)
            rng.random()
            return found

    given = Given({"x": np.arange(4.0)}, {"k": 2}, {"seed": 3})
    assert DEFINED["sparsifiers", "RandK"].differences(RandK, given) == []
    (line,) = DEFINED["sparsifiers", "RandK"].differences(Further, given)
    assert line.startswith("called, drawn next")


def test_generators_of_all_ranks_give_the_same_next():
    @one_program(np.stack)
    def uneven(comm, vector, factor, rng):
        (row,) = agreed_row(comm, vector, lambda _: {"factor": factor})
        rng.random(0 if comm.one_caller else comm.rank)
        return factor * row

    given = Given({"stack": np.ones((2, 2))}, {"factor": 2.0}, {"seed": 3})
    lines = own_callers.own_caller_lines(HALVED, uneven, given, HALVED.said(given))
    assert lines == ["rng does not give the same next on all ranks"]


@pytest.mark.parametrize(
    ("looked_at", "lines"),
    [
        (True, []),
        (False, ["believes array 0 in step 1 of another dtype", "of array 0 in step 1 of another length"]),
    ],
)
def test_a_message_of_another_form_is_refused(looked_at, lines):
    @one_program(np.stack)
    def shifted(comm, vector, factor, rng):
        (row,) = agreed_row(comm, vector, lambda _: {"factor": factor})
        after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        if comm.size == 1:
            return row
        sent = comm.step({after: parcel(row)}, [before])[before]
        return row + (comm.fitting(before, sent, row) if looked_at else sent.arrays)[0]

    found = own_callers.altered_lines(HALVED, shifted)
    assert [line.partition(" it says")[0] for line in found] == lines
    believed = replace(HALVED, believed={"dtype": "anything is welcome"})
    assert len(own_callers.altered_lines(believed, shifted)) == len(lines) // 2
    assert own_callers.altered_lines(HALVED, lambda stack, **_: (stack, None)) == []  # no ranks


def test_collectives_are_run_with_callers_of_their_own_and_hear_altered_messages():
    study = EXPERIMENTS["majority.majority_vote.definition"]
    cases = list(study.corpus(budgets["quick"]))
    own = [case for case in cases if CALLERS in case.settings]
    for axis, values in study.definition.space.axes.items():
        counts = [sum(repr(case.settings[axis]) == repr(value) for case in own) for value in values]
        assert all(count >= 2 for count, value in zip(counts, values, strict=True) if not isinstance(value, Of)), axis
    assert sum(ALTERED in case.settings for case in cases) == 1
    vote = COLLECTIVES["majority_vote"]
    one_row = own[0]  # whatever an implementation is: a function that has no ranks is compared there, too
    assert definition_study._counted(study.definition, lambda *stack, **given: vote(*stack, **given), one_row).active
    others = study_of("toy", "toy", HALVED).corpus(budgets["quick"])
    assert not any({ALTERED, CALLERS} & set(case.settings) for case in others)


@pytest.mark.parametrize(("number", "wrong"), [(int, False), (lambda n: n, True)])
def test_numbers_are_given_in_numpys_narrowest_types_too(number, wrong):
    """Of what is added to an np.int8 in its own type some sums wrap around."""
    space = Space(lambda n, seed: Given({}, {"n": n}), {"n": range(100, 108)})
    doubled = Definition(space, called("double"), lambda held: {"double": 2 * held["parameters"]["n"]})
    study = study_of("toy", "toy", doubled)

    def double(n):
        with np.errstate(over="ignore"):
            return int(number(n) + number(n))

    lines = [line for case in study.corpus(budgets["quick"]) for line in study.differences(double, case)]
    assert bool(lines) is wrong


def test_a_list_of_rows_of_two_dtypes_is_a_case_of_collectives():
    study = EXPERIMENTS["dense.ring_allreduce.definition"]
    (case,) = [case for case in study.corpus(budgets["quick"]) if MIXED in case.settings]
    assert not study.differences(ring_allreduce, case)
    assert study.differences(lambda stack: ring_allreduce(np.array(stack)), case)


def test_more_covering_arrays_are_more_cases_with_other_companions():
    space = Space(lambda x, y, z, seed: Given({"x": x + y + z + seed}), dict.fromkeys("xyz", (0, 1, 2)))
    definition = Definition(space, lambda f, given: given.inputs, lambda held: held["inputs"])
    counts = []
    for budget in ("quick", "standard"):
        cases = list(study_of("toy", "toy", definition).corpus(budgets[budget]))
        assert len({repr(case.settings) for case in cases}) == len(cases)
        counts.append(len(cases))
    assert counts[1] >= 3 * counts[0] >= 27


def test_a_counterexample_is_a_simple_case_and_says_what_differs():
    vote = COLLECTIVES["majority_vote"]

    def wrong_for_six(stack, way="server", zeros="plus", rng=None, coins=None):
        votes, traffic = vote(stack, way, zeros, rng, coins=coins)
        return (-votes if len(stack) == 6 and way == "shards" else votes), traffic

    found = confront("majority.majority_vote.definition", implementations={"majority_vote": wrong_for_six}, drawn=False)
    assert found.verdict is Verdict.REFUTED
    (evidence,) = found.evidence
    assert "P=6, n=1, data=ties, dtype=float32, way=shards" in evidence.counterexample.subject
    assert evidence.counterexample.exact.startswith("votes: 6 of 6 entries differ")


# --- all of them -------------------------------------------------------------------------------------------------


def test_every_implementation_has_a_definition():
    registered = {
        (column, name)
        for room, tables in (("compressors", ("COMPRESSORS", "MECHANISMS")), ("collectives", ("COLLECTIVES",)))
        for column, found in parts(room)
        for table in tables
        for name in getattr(found, table, {})
    }
    assert {name for _, name in registered} == {*COMPRESSORS, *MECHANISMS, *COLLECTIVES}
    assert registered == set(DEFINED)


def test_every_definition_is_a_claim_of_its_column_and_is_judged():
    stated = {name for name, claim in claims().items() if claim.quantity == DIFFERENCES}
    assert stated == {f"{column}.{name.lower()}.definition" for column, name in DEFINED}
    assert stated <= set(EXPERIMENTS)


def test_definitions_import_nothing_of_the_package():
    for column, found in parts("verify.definitions"):
        text = Path(str(found.__file__)).read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if "commbounds" in line]
        assert all(line.startswith("from commbounds.verify.definitions") for line in lines), (column, lines)


def test_every_collective_carried_out_at_once_is_held_against_its_ranks():
    stated = {name for name, claim in claims().items() if claim.quantity == RANK_DIFFERENCES}
    paired = {f"{column}.{name.lower()}.ranks" for column in columns() for name in PAIRINGS.of_column(column)
              if getattr(COLLECTIVES[name], "result", None) is None}  # fmt: skip
    sending_bytes = {name for name in stated if name.startswith("flashcomm.")}  # one caller's ranks send objects
    assert stated == paired | sending_bytes
    assert stated <= set(EXPERIMENTS)


def test_a_rank_that_does_something_else_is_noticed():
    study = EXPERIMENTS["dense.ring_allreduce.ranks"]

    def program(comm, case):
        result = dict(study.pairing.program(comm, case))
        if comm.size == 5 and comm.rank == 3:
            result = {name: value[::-1] for name, value in result.items()}
        return result

    altered = replace(study, pairing=replace(study.pairing, program=program))
    cases = [case for case in pairing._cases_of(altered.pairing, None) if case.settings["P"] in (4, 5)]
    measured = {case.settings["P"]: 0 for case in cases}
    for case in cases:
        measured[case.settings["P"]] += pairing._differing(altered.pairing, None, case).measured
    assert measured[4] == 0
    assert measured[5] > 0
