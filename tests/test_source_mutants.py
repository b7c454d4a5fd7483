"""The tool that makes mutants of the source: what it makes, where it puts them, and what it keeps."""

import ast
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from mutants.equivalent import EQUIVALENT, SURVIVING, explained
from mutants.source import __main__ as command
from mutants.source.judging import Trial, Verdict, judged
from mutants.source.operators import OPERATORS, mutants_of, mutated, sources
from mutants.source.reach import Reach
from mutants.source.table import judged_again, line_of, page, shown_again

from commbounds.columns import columns

TOY = '''
"""A module."""
LIMIT: int = 1 << 3
Vector = list[int]


@njit(cache=True)
def first(x: Vector, a: int, b: int = 2, way: str = "up") -> int:
    """One of them, not 7.

    Parameters
    ----------
    way : {"up", "down"}
    """
    if a < 0:
        raise ValueError(f"a must be at least {0}")
    checked_count("a", a, 0)
    total = 0
    for i in range(a):
        if x[i] > b:
            total += x[i]
            put(x, total)
    x[0] = total
    total = replace(total, bits=a)
    return total if way == "up" else x[a:]
'''


def made(operator, source=TOY):
    return {(m.before, m.after) for m in mutants_of("toy.py", source) if m.operator == operator}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("arithmetic", {("1 << 3", "1 >> 3"), ("total += x[i]", "total -= x[i]")}),
        ("comparison", {("x[i] > b", "x[i] >= b"), ("way == 'up'", "way != 'up'")}),
        ("off by one", {("a", "a - 1"), ("i", "i + 1"), ("a", "a + 1")}),
        ("constant", {("1", "2"), ("3", "4"), ("0", "1")}),
        (
            "dropped statement",
            {
                *(("put(x, total)", "nothing"), ("x[0] = total", "nothing"), ("x[i] > b", "False")),
                *(("total if way == 'up' else x[a:]", "total"), ("total if way == 'up' else x[a:]", "x[a:]")),
            },
        ),
        ("swapped argument", {("put(x, total)", "put(total, x)")}),
        ("swapped name", {("a", "b"), ("b", "a")}),
        ("default", {("2", "3"), ("'up'", "'down'")}),
        (
            "state",
            {
                *(("total += x[i]", "nothing"), ("total = replace(total, bits=a)", "nothing")),
                ("replace(total, bits=a)", "replace(total)"),
            },
        ),
    ],
)
def test_an_operator_changes_this_and_nothing_else(operator, expected):
    assert made(operator) == expected


def test_every_operator_is_tested_above():
    assert {m.operator for m in mutants_of("toy.py", TOY)} == set(OPERATORS)


def test_arguments_of_different_types_do_not_change_places():
    other = "def f(a: int, b: str): pass\n\n\ndef g(a: int, b: str, c: int): return f(a, b) + h(a, c)\n"
    assert made("swapped argument", other) == {("h(a, c)", "h(c, a)")}
    assert made("swapped name", other) == {("a", "c"), ("c", "a")}


def test_the_tree_has_the_change_and_no_other():
    for mutant in mutants_of("toy.py", TOY):
        tree = mutated("toy.py", TOY, mutant.name)
        compile(tree, "toy.py", "exec")
        assert ast.unparse(tree) != ast.unparse(ast.parse(TOY))
    with pytest.raises(ValueError, match=r"toy.py has no mutant 'another'"):
        mutated("toy.py", TOY, "another")


@cache
def texts():
    return sources(command.packages())


@cache
def everything():
    return [m for path, text in texts().items() for m in mutants_of(path, text)]


def test_the_same_mutants_are_made_every_time_each_by_another_name():
    path = "collectives/majority.py"
    assert mutants_of(path, texts()[path]) == mutants_of(path, texts()[path])
    assert len({m.name for m in everything()}) == len(everything()) > 3000
    assert {command.column_of(m) for m in everything()} - {"shared"} <= set(columns())


def test_a_sample_is_the_seeds_and_a_larger_one_begins_with_it():
    few, more = command.drawn(everything(), 5, "a"), command.drawn(everything(), 9, "a")
    assert few == more[:5] == command.drawn(everything()[::-1], 5, "a")
    assert few != command.drawn(everything(), 5, "b")


def test_patterns_are_columns_or_functions():
    one = command.chosen(everything(), ["collectives/majority.py:_packed"])
    assert {m.function for m in one} == {"_packed"}
    assert set(one) < set(command.chosen(everything(), ["majority"]))
    answer = CliRunner().invoke(command.main, ["majority", "nonesuch"])
    assert answer.exit_code == 2
    assert "no mutant matches 'nonesuch'" in answer.output


def test_what_a_function_uses_is_found_through_imports():
    reach = Reach(texts())
    found = reach.distances([("collectives/majority.py", "majority_vote")])
    assert found["collectives/majority.py", "majority_vote"] == 0
    assert found["collectives/majority.py", "_packed"] == 2
    assert ("collectives/dense/on_rank.py", "gathered") in found
    assert ("compressors/sparsifiers/topk.py", "TopK") not in found


def test_a_function_is_judged_by_its_own_column_first_and_by_definitions_before_all_else():
    book = command.Book(texts())
    (mutant, *_) = command.chosen(everything(), ["collectives/majority.py:_packed"])
    groups = book.groups(mutant, 0)
    assert groups[0] == ("majority.majority_vote.definition",)
    assert all(name.startswith("majority.") for group in groups for name in group)
    (rank, *_) = command.chosen(everything(), ["collectives/feedback/on_rank.py:*"])
    assert "FeedbackSGD" in book.subjects(rank)  # by its pairing


def test_what_is_known_is_not_done_again(tmp_path):
    path, (one, two, three) = tmp_path / "kept.jsonl", mutants_of("toy.py", TOY)[:3]
    kept = command.Kept(path, {"toy.py": TOY}, {})
    killed, survived = Verdict(("a", "b"), {"b": "no"}, "refuted", 1.0), Verdict(("a", "b"))
    kept.add("toy.py", one.name, killed)
    kept.add("toy.py", two.name, survived)
    whole = path.read_text("utf-8")
    path.write_text(whole + '{"mutant": "cut sh', "utf-8")
    again = command.Kept(path, {"toy.py": TOY}, {})
    assert again.verdicts == {("toy.py", one.name): killed, ("toy.py", two.name): survived}
    assert path.read_text("utf-8") == whole
    groups = (("a",), ("b", "c"))
    assert command.still(one, again, groups) == ()
    assert command.still(two, again, groups) == (("b", "c"),)  # one claim is new
    assert command.still(three, again, groups) == groups
    assert command.Kept(path, {"toy.py": TOY + "\n"}, {}).verdicts == {}  # another module: other lines
    path.write_text("none of ours\n" + whole, "utf-8")
    with pytest.raises(ValueError, match="none of ours"):
        command.Kept(path, {"toy.py": TOY}, {})


def test_nothing_is_begun_when_the_time_is_over_and_the_rest_goes_on(tmp_path, monkeypatch):
    trials = {name: Trial(name, "toy.py", "", (("a",),)) for name in ("one", "two", "three")}
    monkeypatch.setattr(command, "judged", lambda trial: Verdict(("a",), {"a": trial.mutant}, "refuted"))
    kept, told = command.Kept(tmp_path / "kept.jsonl", {"toy.py": TOY}, {}), []
    with ThreadPoolExecutor(2) as pool:
        command.work_off(trials, kept, pool, 2, float("-inf"), lambda: told.append(1))
        assert kept.verdicts == {}
        command.work_off(trials, kept, pool, 2, float("inf"), lambda: told.append(1))
    assert {name: verdict.killers["a"] for (_, name), verdict in kept.verdicts.items()} == {n: n for n in trials}
    assert len(told) == 3


def trial(function, before, after, **others):
    (mutant, *_) = [m for m in command.chosen(everything(), [function]) if (m.before, m.after) == (before, after)]
    room, _, inner = mutant.path.partition("/")
    claims = (("majority.server.worker",), ("majority.majority_vote.definition",))
    return Trial(mutant.name, mutant.path, str(command.packages()[room] / inner), claims, **others)


@pytest.fixture(scope="module")
def apart():
    """A process without what this one has imported, from which mutants are started."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.wide
def test_a_mutant_is_judged_in_a_process_of_its_own(apart):
    found = apart.submit(judged, trial("collectives/majority.py:_packed", "ballot < 0", "ballot <= 0")).result()
    assert found.how == "refuted"
    assert set(found.killers) == {"majority.majority_vote.definition"}
    assert found.judged == ("majority.server.worker", "majority.majority_vote.definition")
    right = Trial("", "", "", (("majority.majority_vote.definition",),))
    assert apart.submit(judged, right).result().how == ""
    given_up = replace(right, until=0.0)
    assert apart.submit(judged, given_up).result() is None


@pytest.mark.wide
def test_a_mutant_that_takes_too_long_is_killed_and_said_to(apart):
    endless = trial("collectives/dense/message_by_message.py:_move", "stop += 1", "nothing", limit=1)
    found = apart.submit(judged, replace(endless, groups=(("dense.rabenseifner_allreduce.definition",),))).result()
    assert (found.how, found.killers) == ("time-out", {"dense.rabenseifner_allreduce.definition": "more than 1 s"})


@pytest.mark.wide
def test_a_default_is_changed_by_importing_everything_anew(apart):
    changed = trial("collectives/majority.py:majority_vote", "'plus'", "'coin'")
    found = apart.submit(judged, replace(changed, groups=changed.groups[1:])).result()
    assert set(found.killers) == {"majority.majority_vote.definition"}


@pytest.mark.wide
def test_a_mutant_that_cannot_be_put_in_place_is_an_error_of_the_tool(apart):
    path = str(command.located("collectives") / "majority.py")
    trial = Trial("nonesuch", "collectives/majority.py", path, (("a",),))
    with pytest.raises(RuntimeError, match=r"collectives/majority\.py has no mutant 'nonesuch'"):
        apart.submit(judged, trial).result()


def test_the_reasons_are_those_of_mutants_that_there_are():
    assert len(explained(everything())) >= len(EQUIVALENT)
    assert not set(explained(everything())) & set(explained(everything(), SURVIVING))


def test_every_survivor_is_explained():
    sentences = explained(everything(), SURVIVING)
    shown = {line_of(mutant) for of in command.stored().values() for mutant in shown_again(of, everything())}
    assert shown == {line_of(mutant) for mutant in everything() if mutant.name in sentences}


def test_a_reason_for_a_line_that_has_changed_is_an_error(monkeypatch):
    monkeypatch.setitem(EQUIVALENT, ("toy.py", "first", "total = 1", "1", "2"), "it is not read")
    with pytest.raises(ValueError, match="total = 1"):
        explained(mutants_of("toy.py", TOY))


def shown(there, wanted, verdicts, reasons, failing, **more):
    """The page of one column."""
    tallies = command.tallied(there, wanted, verdicts, reasons, (), failing)
    return page(
        {column: of | more for column, of in tallies.items()}, there, reasons, failing, {there[1].name: "nothing asks"}
    )


def test_the_page_counts_every_mutant_once():
    one, two, three, four, *rest = mutants_of("collectives/majority.py", texts()["collectives/majority.py"])
    verdicts = {one.name: Verdict(("a",), {"a": "no"}, "refuted"), two.name: Verdict(("a",)),
                four.name: Verdict(("b",), {"b": "no"}, "error")}  # fmt: skip
    wanted = [one, two, three, four]
    text = shown([*wanted, *rest], wanted, verdicts, {three.name: "nothing reads it"}, ("b",))
    assert f"| majority | {len(rest) + 4} | 4 | 1 | 1 | 0 | 0 | 0 | 1 | 0 | 1 |\n" in text
    assert f"`{two.path}:{two.line}` ({two.operator}) `{two.before}` becomes `{two.after}`: nothing asks\n" in text
    assert "nothing reads it" in text
    assert "`b` is not as the book says in plain Python" in text


def test_one_page_is_made_of_the_files_of_several_runs(tmp_path):
    found = mutants_of("collectives/majority.py", texts()["collectives/majority.py"])
    one, two, three = found[:3]
    kept = [command.Kept(tmp_path / f"{name}.jsonl", texts(), {"verify/a.py": name}) for name in "ab"]
    for part, mutant, how in ((0, one, "refuted"), (1, one, ""), (1, two, ""), (1, three, "error")):
        kept[part].add(mutant.path, mutant.name, Verdict(("claim",), {"claim": "no"} if how else {}, how))
    verdicts = command.collected(tmp_path, texts())
    assert {name: verdict.how for name, verdict in verdicts.items()} == {
        one.name: "refuted",
        two.name: "",
        three.name: "error",
    }
    text = shown(found, [one, two, three], verdicts, {}, (), **{"judged at": "abc123"})
    assert f"| majority | {len(found)} | 3 | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 1 | abc123 |" in text
    changed = command.collected(tmp_path, texts() | {"collectives/majority.py": "x = 1"})
    assert set(changed) == {one.name, two.name}  # both survived once: killed is who was killed in these sources
    assert not any(verdict.how for verdict in changed.values())


def test_survivors_that_are_judged_again_are_put_into_the_tally_of_their_column():
    one, two, three, four, *rest = mutants_of("collectives/majority.py", texts()["collectives/majority.py"])
    moved = [replace(mutant, line=mutant.line - 2) for mutant in (one, two, three, four)]
    gone = replace(four, before="what stood there once")
    of = {"mutants": 9, "sample": 8, "killed": {"refuted": 3}, "equivalent": 0, "unreached": 0, "claims": {"b": 1},
          "killed by kind": {"state": 3}, "survivors": [line_of(mutant) for mutant in (*moved, gone)]}  # fmt: skip
    again = shown_again(of, [one, two, three, four, *rest])
    assert again == [one, two, three, four]
    verdicts = {one.name: Verdict(("a",), {"a": "no"}, "error"), two.name: Verdict(("a",))}
    after = judged_again(of, again, verdicts, {three.name: "nothing reads it"}, ())
    assert after["survivors"] == [line_of(two), line_of(four)]
    counts = {"sample": 7, "killed": {"refuted": 3, "error": 1}, "equivalent": 1, "claims": {"a": 1, "b": 1},
              "killed by kind": {"state": 3, one.operator: 1}}  # fmt: skip
    assert one.operator != "state"
    assert {name: after[name] for name in counts} == counts


def test_the_page_is_that_of_the_stored_tallies():
    path = Path(command.__file__).parents[3] / "docs" / "mutation.md"
    pages = path.read_text("utf-8"), page(command.stored(), everything(), {}, (), explained(everything(), SURVIVING))
    assert pages[0].partition("\n## Equivalent")[0] == pages[1].partition("\n## Equivalent")[0]
