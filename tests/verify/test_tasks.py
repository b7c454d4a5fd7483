"""Tasks: their order, their costs, and no pause between claims and the exhibits that come after them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from given_evidence import evidence_for

from commbounds._running import ShownRun
from commbounds.verify import Finding, Verdict, engine, exhibition, load
from commbounds.verify.exhibit import Exhibit, Panel
from commbounds.verify.tasks import Task, cost_of, in_turn, work_off

EXHIBIT = next(iter(exhibition.EXHIBITS))
FEW = ("flashcomm.bitplanes.lossless", "dropcompute.localsgd.subadditive", "sparsifiers.topk.wire")


def unexpected(error):
    raise error


def task(name, cost=1.0, early=False, call=lambda: None, keep=lambda _: None):
    return Task((name,), call, (), keep, unexpected, cost, early)


def names(tasks):
    return [each.names[0] for each in tasks]


# --- order and costs --------------------------------------------------------------------------------------------------


def test_a_cheap_one_comes_first_and_then_the_dearest():
    assert names(in_turn([task("a", 3), task("b", 1), task("c", 5), task("d", 3)])) == ["b", "c", "a", "d"]
    assert names(in_turn([task("a", 3), task("b", 1), task("c", 5, early=True)])) == ["c", "a", "b"]
    assert in_turn([]) == []


def test_what_was_measured_is_believed_before_what_is_estimated():
    assert cost_of(("a", "b"), {"a": 5.0}, 1.0) == 6.0
    assert cost_of(("a", "b"), None, 1.0) == 2.0


@pytest.mark.parametrize("workers", [0, 2])
def test_results_are_kept_and_costs_are_noted(workers):
    kept, costs = [], {}
    tasks = [task(f"{i}", call=lambda i=i: time.sleep(0.05 * i) or i, keep=kept.append) for i in range(3)]
    if workers:
        with ThreadPoolExecutor(workers) as pool:
            work_off(tasks, pool, costs)
    else:
        work_off(tasks, None, costs)
    assert sorted(kept) == [0, 1, 2]
    assert costs["1"] >= 0.05  # a sleep is no shorter than it is asked to be, on the same clock
    assert costs["2"] >= 0.1


def test_the_first_claim_of_the_book_to_be_seen_is_a_cheap_one_and_large_subjects_are_not_last():
    with engine.opened_run(engine.select(), "quick", 0) as opened:
        tasks = in_turn(opened.tasks())
    assert tasks[0].names[0] == "dropcompute.localsgd.subadditive"
    assert len(tasks[0].names) <= 2
    sizes = [len(each.names) for each in tasks[1:]]
    assert sizes == sorted(sizes, reverse=True)


# --- claims and exhibits ----------------------------------------------------------------------------------------------


def found(group, budget, seed):
    evidence = evidence_for(Verdict.ENUMERATED)
    return [
        Finding(name, Verdict.ENUMERATED, True, evidence, budget=budget, seed=seed, versions=engine.versions())
        for name in group
    ]


def test_the_file_does_not_depend_on_what_things_cost(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "confront_together", found)
    begun = {}
    for place, costs in enumerate(({}, {FEW[2]: 100.0}, {FEW[0]: 100.0})):
        order = []
        monkeypatch.setattr(engine, "confront_together", lambda *a, order=order: order.append(a[0]) or found(*a))
        engine.run(FEW, out=tmp_path / f"{place}.jsonl", costs=dict(costs))
        begun[place] = [group[0] for group in order]
    assert begun[1] == [FEW[1], FEW[2], FEW[0]]
    assert begun[2] == [FEW[1], FEW[0], FEW[2]]
    assert len({path.read_bytes() for path in tmp_path.glob("*.jsonl")}) == 1


@pytest.fixture
def meeting(monkeypatch, tmp_path):
    """Claims and exhibits that are done only while one of the other kind is being made."""
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "cache"))
    both = threading.Barrier(2, timeout=120.0)

    def exhibit(name, budget, seed):
        both.wait()
        return Exhibit(name, "t", "c", (Panel("p", "x", "y"),), seed, budget, exhibition.versions())

    monkeypatch.setattr(engine, "confront_together", lambda *a: (both.wait(), found(*a))[1])
    monkeypatch.setattr(exhibition, "make_exhibit", exhibit)
    monkeypatch.setattr(exhibition, "select_exhibits", lambda _: [EXHIBIT])


def test_no_worker_waits_for_the_claims_before_it_makes_an_exhibit(meeting, tmp_path, capsys):
    out = tmp_path / "findings.jsonl"
    with ThreadPoolExecutor(2) as pool:
        findings, exhibits = ShownRun((FEW[2],), "quick", 0, pool).findings_and_exhibits(
            out, tmp_path / "exhibits.jsonl"
        )
    assert [finding.claim for finding in findings] == [FEW[2]]
    assert [exhibit.name for exhibit in exhibits] == [EXHIBIT]
    assert load(out) == findings
    assert exhibition.load_exhibits(tmp_path / "exhibits.jsonl")[0].name == EXHIBIT
    assert f"enumerated  {FEW[2]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "there", ["torn", "[" * 20_000 + "]" * 20_000, '{"a":' * 20_000], ids=["torn", "deep", "deep, torn"]
)
def test_how_long_things_took_is_known_to_the_next_run(there, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path))
    monkeypatch.setattr(engine, "confront_together", lambda *a: time.sleep(0.05) or found(*a))
    (tmp_path / "costs.json").write_text(there)
    ShownRun(FEW[:1], "quick", 0, None).findings(None)
    from commbounds._running import _Costs

    assert 0.05 <= _Costs("quick").seconds[FEW[0]] < 5.0
    assert not _Costs("standard").seconds
