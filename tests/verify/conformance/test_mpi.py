"""Programs of ranks as subjects: in threads, and by ``commbounds check --mpi`` under mpirun."""

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rank_subjects
from click.testing import CliRunner
from under_mpi import NEEDS_MPI, SETTINGS, mpirun

from commbounds.cli import main
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import job as job_module
from commbounds.verify.conformance import mpi
from commbounds.verify.conformance.bench import Unusable
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.on_rank import Actor, own_outcome
from commbounds.verify.conformance.watchdog import Watchdog

FILE = Path(rank_subjects.__file__)
X = np.arange(3, dtype=np.float32)


class Run:
    """What a command under mpirun left: exit code, output, and the reports by subject."""

    def __init__(self, folder, names, *options, processes=3):
        out = folder / "reports.jsonl"
        began = time.monotonic()
        targets = [f"{FILE}:{name}" for name in names]
        command = [sys.executable, "-m", "commbounds", "check", "--mpi", *targets, "--out", out, *options]
        self.done = mpirun(processes, *command, seconds=200)
        self.seconds = time.monotonic() - began
        lines = out.read_text().splitlines() if out.exists() else []
        self.reports = {report.subject: report for report in map(cf.report_from_json, lines)}

    def failed(self, subject):
        return {finding.claim: finding.message for finding in self.reports[subject].failures}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("wrong"), ["wrong"])


@pytest.fixture(scope="module")
def hanging(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("hanging"), ["waiting"])


@NEEDS_MPI
def test_right_programs_pass_and_the_job_exits_with_0(tmp_path):
    run = Run(tmp_path, ["right"])
    assert run.done.returncode == 0, run.done.stderr
    assert list(run.reports) == ["library", "in_place", "passed_round"]
    for report in run.reports.values():
        assert [finding.claim for finding in report.not_judged] == ["layout in memory does not matter"]  # rows are sent
        assert {finding.verdict for finding in report.findings} == {"pass", "not judged"}
    assert run.done.stdout.count("library: 10 pass, 0 fail, 1 not judged") == 1  # by one process alone
    assert "passed_round: left out, as there are 3 processes: 8 ranks" in run.done.stderr


@NEEDS_MPI
def test_wrong_programs_fail_where_they_are_wrong_and_the_job_exits_with_1(wrong):
    assert wrong.done.returncode == 1
    assert {subject: list(wrong.failed(subject)) for subject in wrong.reports} == {
        "overwrites": ["input not mutated"],
        "as_they_come": ["RanksAgree()", "WordsAtMost(_ring)"],
        "refuses": ["answers"],
        "draws_on_rank_one": ["global generators untouched"],
        "widens_on_rank_one": ["answers", "shape and dtype kept"],
        "counts_on_rank_one": ["answers"],
        "uses_its_array_again": ["order of calls does not matter"],
        "talkative": ["WordsAtMost(_ring)"],
        "raises_on_one": ["answers"],
    }


@NEEDS_MPI
def test_a_failure_names_the_rank(wrong):
    assert "on rank 0 and" in wrong.failed("as_they_come")["RanksAgree()"]
    assert wrong.failed("refuses")["answers"] == "every rank: raised ValueError: two are a company"
    assert wrong.failed("widens_on_rank_one")["answers"].startswith("rank 1: returned float64 (1,) for float32 (1,)")
    assert wrong.failed("counts_on_rank_one")["answers"] == "rank 0 does not tell sent, other ranks do"
    assert wrong.failed("raises_on_one")["answers"] == "rank 0: raised KeyError: 'lost the key'"


@NEEDS_MPI
def test_what_programs_print_is_not_in_the_report(wrong):
    assert "not part of the report" in wrong.done.stderr
    assert "not part of the report" not in wrong.done.stdout


@NEEDS_MPI
def test_words_are_counted_by_the_communicator_on_processes_too(wrong):
    assert "with P = 3 and 3 words a rank rank 0 has 6 words sent" in wrong.failed("talkative")["WordsAtMost(_ring)"]


@NEEDS_MPI
def test_the_reproduction_shows_the_failure_under_mpirun(wrong, tmp_path):
    findings = [wrong.reports["as_they_come"]["RanksAgree"], wrong.reports["overwrites"]["input not mutated"]]
    assert all(finding.reproduce.startswith("# mpirun -n 3 python this_file.py\n") for finding in findings)
    script = tmp_path / "shown.py"
    script.write_text("\n".join(finding.reproduce for finding in findings))
    done = mpirun(3, sys.executable, script, seconds=100)
    assert done.returncode == 0, done.stderr
    assert [done.stdout.count(finding.message) for finding in findings] == [3, 3]  # by every process
    assert "mpirun" not in wrong.reports["talkative"]["WordsAtMost"].reproduce  # threads will do


@NEEDS_MPI
def test_a_call_that_hangs_ends_the_job_with_a_report(hanging):
    assert hanging.done.returncode == 1
    (finding,) = hanging.reports["waits"].failures
    assert finding.claim == "answers"
    assert finding.message.startswith("rank 1: raised ConnectionError: no route; no answer within 8 s from rank 0 (")
    assert finding.message.count("rank_subjects.py, line ") == 2
    assert np.shape(finding.counterexample)[0] == 3
    verdicts = {f.claim: (str(f.verdict), f.message) for f in hanging.reports["waits"].findings}
    assert verdicts["shape and dtype kept"] == ("pass", "")  # what was found before it stays
    assert verdicts["Sums()"] == verdicts["RanksAgree()"] == ("not judged", "the job ended, as a call hung")
    assert "no answer within 8 s" in hanging.done.stdout
    assert "passed_round: not judged, as the job ended" in hanging.done.stderr


@pytest.mark.long
@NEEDS_MPI
def test_a_rank_that_never_comes_back_is_named(tmp_path):
    run = Run(tmp_path, ["sleeping"])
    assert run.done.returncode == 1
    assert run.failed("sleeps")["answers"].startswith("no answer within 2 s from rank 1 (rank_subjects.py, line ")


@NEEDS_MPI
def test_what_cannot_run_on_the_processes_is_refused(monkeypatch):
    class Two:
        size = 2

    needs_three = rank_subjects.three
    monkeypatch.setattr(mpi, "this_job", Two)
    with pytest.raises(ValueError, match="library needs 3 ranks, there are 2 processes"):
        mpi.on_processes([needs_three])
    with pytest.raises(ValueError, match="no ranks is no program of ranks: check it without --mpi"):
        mpi.on_processes([rank_subjects.NO_RANKS])


@NEEDS_MPI
def test_without_mpirun_it_is_wrong_usage():
    command = [sys.executable, "-m", "commbounds", "check", "--mpi", f"{FILE}:right"]
    done = subprocess.run(command, env={**SETTINGS, "PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--mpi needs several processes, there is one" in done.stderr


@NEEDS_MPI
def test_programs_of_mpi_need_the_option():
    result = CliRunner().invoke(main, ["check", f"{FILE}:three"])
    assert result.exit_code == 2
    assert "library runs under mpirun: mpirun -n 3 commbounds check --mpi" in " ".join(result.output.split())


def test_without_mpi4py_it_is_wrong_usage(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr(job_module, "this_job", job_module.Job)
    result = CliRunner().invoke(main, ["check", "--mpi", f"{FILE}:RIGHT_IN_THREADS"])
    assert result.exit_code == 2
    assert "pip install 'commbounds[mpi]'" in " ".join(result.output.split())


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", [0.01, pytest.param(1.0, marks=pytest.mark.long)])
def test_programs_of_ranks_are_judged_in_threads(effort):
    report = cf.check(replace(rank_subjects.RIGHT_IN_THREADS, effort=effort))
    assert {finding.verdict for finding in report.findings} == {"pass"}, str(report)


def test_in_threads_words_are_counted_and_errors_know_their_rank():
    talkative, raising = rank_subjects.WRONG_IN_THREADS
    (finding,) = cf.check(talkative, only=["WordsAtMost"]).failures
    assert "has 6 words sent, claimed at most 4" in finding.message
    (finding,) = cf.check(raising, only=["answers"]).failures
    said = r"raised KeyError: 'lost the key'; rank_subjects\.py:\d+ in raises_on_one"
    assert re.match(f"rank 0: {said}", finding.message)
    assert re.match(f"rank 2: {said}", cf.recheck(raising, "answers", np.zeros((3, 1))))


def test_a_program_must_not_count_its_words_itself():
    subject = cf.rank_program(lambda comm, x, seed: (x, 0, 0), ranks=(2,))
    assert "words are counted by the communicator" in cf.recheck(subject, "answers", np.zeros((2, 1)))


def test_residuals_come_from_all_ranks_or_from_none():
    def keeps(comm, x, seed):
        return cf.AllReduceResult(0 * x, residual=x)

    def keeps_on_one(comm, x, seed):
        return cf.AllReduceResult(0 * x, residual=x if comm.rank else None)

    stack = np.ones((2, 3))
    every = cf.rank_program(keeps, [cf.Conserves()], ranks=(2,))
    assert cf.recheck(every, "Conserves()", stack) == "holds here"
    one = cf.rank_program(keeps_on_one, [cf.Conserves()], ranks=(2,))
    assert cf.recheck(one, "Conserves()", stack) == "no usable answer: some ranks show a residual, others do not"


# --- parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ([0.0, 1.0], Unusable, "returned list, not an array"),
        (X[:2], Unusable, r"returned float32 \(2,\) for float32 \(3,\)"),
        ((X, 1.5, 1), Unanswered, "sent must be an integer on every rank, got 1.5"),
        ((X, 1, [1, 2]), Unanswered, "received must be an integer on every rank"),
        (cf.AllReduceResult(X, residual=X[:1]), Unusable, r"returned a residual of shape \(1,\) for \(3,\)"),
    ],
)
def test_what_a_rank_must_not_return(answer, error, said):
    with pytest.raises(error, match=said):
        own_outcome(answer, X)


def test_what_a_rank_may_return():
    for answer in (X, (X, np.int64(3), 4), cf.AllReduceResult(X, 3, 4, X)):
        outcome = own_outcome(answer, X)
        assert outcome.result is X
        assert outcome.sent in (None, 3)
    assert own_outcome(X.tolist(), X).result.tobytes() == X.tobytes()  # numbers, in the format of what it brought
    assert own_outcome(cf.AllReduceResult(X, 3, 4, X.astype(np.float64)), X).residual.dtype == np.float64


def test_an_actor_tells_what_a_call_changed():
    kept = X.copy()

    def act(wire, x, seed):
        kept[0] = seed
        x += 1.0
        np.random.random()  # noqa: NPY002 - that it draws from the global generator is the defect
        return kept

    state = str(np.random.get_state(legacy=False))  # noqa: NPY002 - the global generator is what is looked at
    actor = Actor(act)
    assert actor.answer(None, X.copy(), 1, 0).earlier is None
    own = actor.answer(None, X.copy(), 2, 7)
    assert own.earlier.tolist() == [2.0, 1.0, 2.0]
    assert own.row.tolist() == [1.0, 2.0, 3.0]
    assert own.touched == ("numpy",)
    assert str(np.random.get_state(legacy=False)) != state  # the first call was not watched  # noqa: NPY002


def test_the_watchdog_rings_once_for_the_call_that_takes_too_long():
    rung = []
    watchdog = Watchdog(rung.append)
    with watchdog.limit(60.0):
        pass
    with watchdog.limit(float("inf")):
        time.sleep(0.2)
    assert rung == []
    with watchdog.limit(0.1):
        until = time.monotonic() + 60.0
        while not rung and time.monotonic() < until:
            time.sleep(0.01)
    assert rung == [0.1]
    time.sleep(0.2)
    assert rung == [0.1]
