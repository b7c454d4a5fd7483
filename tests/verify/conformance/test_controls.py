"""Right subjects pass without an alarm: ours, called in every way that the kit knows."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from samples import first_of_each
from zoo.alarms import RANDOMISED, SAMPLED, alarms
from zoo.controls import COMPRESSORS, CONTROLS

from commbounds.verify import conformance as cf

IDS = [subject.name for subject in CONTROLS]
HERE = Path(__file__).parent
FEW = str(HERE / "few_controls.py")


def passes(report):
    assert report.passed, report
    assert not [finding for finding in report.not_judged if "(" in finding.claim], report


@pytest.mark.parametrize("subject", first_of_each(CONTROLS, type, lambda s: s.name))
def test_a_right_subject_passes_a_part_of_a_quick_check(subject):
    report = cf.check(replace(subject, effort=0.03))
    assert report.passed, report


@pytest.mark.long
@pytest.mark.parametrize("subject", CONTROLS, ids=IDS)
def test_a_right_subject_passes_whole_checks(subject):
    for seed in (1, 2):
        passes(cf.check(subject, seed=seed))


@pytest.mark.long
@pytest.mark.parametrize("subject", [*RANDOMISED, *SAMPLED], ids=lambda subject: subject.name)
def test_a_right_subject_raises_no_alarm_under_a_hundred_seeds(subject):
    assert not alarms(subject, range(100))


@pytest.mark.wide
@pytest.mark.parametrize(
    "name", [pytest.param("topk", marks=pytest.mark.long), "dithering", "feedback", "ring", "halved"]
)
def test_a_right_subject_passes_in_a_process_of_its_own(name):
    (subject,) = cf.loaded(f"{FEW}:{name}")
    small = replace(subject, effort=0.03, admits=lambda x: x.size <= 400)  # every call goes through a pipe
    report = cf.check(cf.isolated(small))
    assert report.passed, report
    assert {finding.claim for finding in report.not_judged} == {"memory steady"}, report


@pytest.mark.parametrize("name", ["topk", "dithering", "feedback"])
def test_a_right_torch_twin_passes(name):
    pytest.importorskip("torch", reason="torch is an optional extra")
    (subject,) = cf.loaded(f"{FEW}:torch_{name}")
    report = cf.check(replace(subject, effort=0.1))
    assert report.passed, report


@pytest.mark.parametrize("name", ["topk_by_value", "dithering_to_the_nearest"])
def test_a_broken_torch_twin_fails(name):
    pytest.importorskip("torch", reason="torch is an optional extra")
    (subject,) = cf.loaded(f"{FEW}:torch_{name}")
    assert cf.check(subject, only=["Contraction" if name == "topk_by_value" else "Unbiased"]).failures


@pytest.mark.wide
def test_a_right_executable_in_c_passes_and_one_that_wraps_fails(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    examples = Path(__file__).resolve().parents[3] / "docs" / "examples"
    for name in ("nibble.c", "nibble.py"):
        shutil.copy(examples / name, tmp_path)
    subprocess.run([compiler, "-O2", "-o", "nibble", "nibble.c", "-lm"], cwd=tmp_path, check=True)
    (right,) = cf.loaded(f"{tmp_path}/nibble.py:right")
    (wrapped,) = cf.loaded(f"{tmp_path}/nibble.py:wrapped")
    assert cf.check(right).passed
    claims = [str(claim) for claim in wrapped.claims]
    failures = {finding.claim.split("(")[0] for finding in cf.check(wrapped, only=claims).failures}
    assert failures == {"AbsoluteError", "SignSymmetric"}


PLUGIN = """
import numpy as np
from commbounds.verify import conformance as cf

def half(x, seed):
    return x / 2

def nothing(x, seed):
    return np.zeros_like(x)

@cf.conforms(cf.Codec(half, [cf.Contraction(0.75), cf.SignSymmetric()], shape=(2,), effort=0.1))
def test_half():
    pass

@cf.conforms(cf.Codec(nothing, [cf.Contraction(0.5), cf.Bits(8)], effort=0.1))
def test_nothing(finding):
    assert finding.claim

@cf.conforms(cf.Codec(nothing, [cf.Contraction(0.5)], effort=0.1,
                      expected_failures={"Contraction(alpha=0.5)": "sends nothing"}))
def test_known():
    pass
"""


@pytest.mark.wide
def test_the_plugin_makes_a_test_of_every_claim_and_shows_what_fails(tmp_path):
    (tmp_path / "test_mine.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_mine.py::test_half[memory steady] SKIPPED" in done.stdout
    for name in ("answers", "Contraction(alpha=0.75)", "SignSymmetric()"):
        assert f"test_mine.py::test_half[{name}] PASSED" in done.stdout
    assert "test_mine.py::test_nothing[Contraction(alpha=0.5)] FAILED" in done.stdout
    assert "test_mine.py::test_nothing[Bits(at_most=8)] FAILED" in done.stdout
    assert "nothing: Bits(at_most=8) was not judged" in done.stdout
    assert "nothing: Contraction(alpha=0.5) fails" in done.stdout
    assert "|C(x) - x|^2 / |x|^2 = 1, claimed at most 0.5" in done.stdout
    assert "at [1.0], seed " in done.stdout
    assert "cf.recheck(subject, 'Contraction(alpha=0.5)', x, seed=" in done.stdout
    assert "test_mine.py::test_known[Contraction(alpha=0.5)] XFAIL" in done.stdout
    assert "2 failed" in done.stdout


def test_every_compressor_of_the_registry_is_a_control():
    from commbounds.compressors import COMPRESSORS as registry

    assert {subject.name.split("(")[0] for subject in COMPRESSORS} == set(registry)
