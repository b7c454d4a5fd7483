"""DDP communication hooks on real process groups: what is right passes, what is broken is found, nothing is left."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="DDP hooks need torch")

from commbounds.cli import main
from commbounds.verify import conformance as cf
from commbounds.verify.conformance.calls import Died, Unanswered
from commbounds.verify.conformance.ddp import _Groups

HOOKS = Path(__file__).with_name("ddp_hooks.py")


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    for subject in LOADED:
        subject.outside.stop()
    LOADED.clear()
    assert multiprocessing.active_children() == []


LOADED: list[cf.AllReduce | cf.Stateful] = []


def loaded(name):
    (subject,) = cf.loaded(f"{HOOKS}:{name}")
    LOADED.append(subject)
    return subject


def test_a_right_hook_passes_on_one_two_and_three_ranks():
    subject = loaded("right")
    report = cf.check(subject)
    assert report.passed, report
    assert sorted(subject.outside._groups) == [1, 2, 3]
    unseen = {"input not mutated", "layout in memory does not matter", "global generators untouched"}
    assert {finding.claim for finding in report.not_judged} == unseen
    assert report.to_json() == cf.check(subject).to_json()


def test_bfloat16_goes_there_and_back():
    subject = loaded("halved")
    assert cf.check(subject, only=["answers", "shape and dtype kept", "Averages", "RanksAgree"]).passed
    assert subject.run(np.ones((2, 3), subject.numpy_dtype), 0).result.dtype == subject.numpy_dtype


@pytest.mark.parametrize(
    ("name", "claim"),
    [("sums", "Averages()"), ("first alone", "Averages()"), ("own last bit", "RanksAgree()"), ("wraps", "Averages()")],
)
def test_a_broken_hook_fails_by_the_claim_that_it_breaks(name, claim):
    finding = cf.check(loaded(f"broken['{name}']"), only=[claim])[claim]
    assert finding.verdict == "fail"
    assert np.size(finding.counterexample) <= 6


@pytest.mark.wide
def test_a_hook_that_codes_is_held_to_half_a_step_of_the_mean():
    claims = ["AbsoluteError", "Bounded", "RanksAgree"]
    report = cf.check(loaded("lossy['does_not_wrap']"), only=claims)
    assert report.passed, report
    assert not report.not_judged
    (finding,) = cf.check(loaded("lossy['wraps']"), only=claims).failures
    assert finding.claim.startswith("AbsoluteError")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "rank 1 raised ValueError: not today"),
        ("hangs", "within 2 s"),
        ("dies", "the process of rank 1 ended with status 7"),
    ],
)
def test_a_hook_that_raises_hangs_or_dies_on_one_rank_is_told_and_the_run_goes_on(name, told):
    report = cf.check(loaded(f"broken['{name}']"))
    assert told in report["answers"].message
    assert report["answers"].verdict == "fail"
    assert {finding.verdict for finding in report.findings if finding.claim != "answers"} == {"not judged"}


def test_a_group_whose_ranks_all_raised_is_used_again():
    subject = loaded("broken['all raise']")
    short, long = np.ones((2, 2), np.float32), np.ones((2, 3), np.float32)
    subject.run(short, 0)
    group = subject.outside._groups[2]
    for _ in range(2):
        with pytest.raises(Unanswered, match="rank 0 raised ValueError: too long"):
            subject.run(long, 0)
    assert (subject.run(short, 0).result == 1.0).all()
    assert subject.outside._groups[2] is group


def test_every_rank_counts_in_a_run_of_steps():
    subject = loaded("feedback")
    report = cf.check(subject, only=[str(claim) for claim in subject.claims])
    assert report.passed, report
    assert not report.not_judged


def test_a_memory_that_loses_half_is_found():
    assert "is lost" in cf.check(loaded("forgetful"), only=["Telescopes"])["Telescopes"].message


def test_two_runs_at_a_time_have_two_states():
    factory = loaded("feedback").factory
    x = np.array([3.0, 2.0, 1.0], np.float32)
    one, two = factory(0), factory(0)
    one(x)
    assert np.array_equal(one(x), [0, 4, 0])
    assert np.array_equal(two(x), [3, 0, 0])
    assert np.array_equal(one.residual, [3, 0, 2])


def test_a_state_does_not_outlive_its_processes():
    subject = loaded("feedback")
    step = subject.factory(0)
    x = np.array([3.0, 2.0, 1.0], np.float32)
    step(x)
    subject.outside.stop()
    with pytest.raises(Died, match="the state are gone"):
        step(x)


def test_states_that_are_not_used_any_more_are_dropped():
    subject = loaded("feedback")
    step = subject.factory(0)
    del step
    assert sum(map(len, subject.outside._done.values())) == 1
    subject.factory(0)(np.ones(3, np.float32))
    assert sum(map(len, subject.outside._done.values())) <= 1


def test_a_group_that_cannot_start_says_why_and_leaves_nothing():
    groups = _Groups((b"no pickle", {}), 1.0)
    with pytest.raises(Unanswered, match="rank 0 raised UnpicklingError"):
        groups.run(np.ones((1, 2), np.float32), 0)


def test_bad_arguments_are_told():
    def inside(seed):
        return None

    hook = loaded("right").outside and __import__("torch").distributed
    with pytest.raises(ValueError, match="make_state must be importable by other processes"):
        cf.torch_ddp_hook(hook.all_reduce, inside)
    with pytest.raises(ValueError, match="hook must be importable by other processes"):
        cf.torch_ddp_hook(lambda state, bucket: None, print)
    with pytest.raises(ValueError, match=r"ranks must hold positive integers, got \(0,\)"):
        cf.torch_ddp_hook(print, print, ranks=(0,))
    with pytest.raises(ValueError, match=r"time_limit must be positive, got 0.0"):
        cf.torch_ddp_hook(print, print, time_limit=0.0)


def test_the_command_judges_a_hook_from_a_file():
    command = [sys.executable, "-m", "commbounds", "check", f"{HOOKS.name}:broken['sums']", "--only", "Averages"]
    done = subprocess.run(command, cwd=HOOKS.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"cf.loaded(\"{HOOKS.name}:broken['sums']\")" in done.stdout
    assert "Traceback" not in done.stderr
    again = CliRunner().invoke(main, ["check", f"{HOOKS}:halved", "--only", "Averages"])
    assert again.exit_code == 0, again.output


@pytest.mark.long
def test_memory_of_a_right_hook_is_steady_time_and_again():
    subject = loaded("right")
    for seed in range(8):
        assert cf.check(subject, seed=seed, only=["memory steady"])["memory steady"].verdict == "pass"
