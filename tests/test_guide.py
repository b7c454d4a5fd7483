"""The guide ``docs/oracle.md``: its blocks run, its code is that of the examples, and what it says fails does fail."""

import importlib.util
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from under_mpi import NEEDS_MPI, mpirun

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.claims import __all__ as CLAIMS
from commbounds.verify.conformance.universal import UNIVERSAL

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = DOCS / "examples"
GUIDE = (DOCS / "oracle.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python ?(.*?)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


def pasted(target):
    """Claim -> verdict of the report that the guide shows for a target, all its subjects together."""
    (shown,) = re.findall(rf"check (?:--mpi )?{re.escape(target)}\n((?:    .*\n)+)", GUIDE)
    found = {}
    for verdict, claim in re.findall(r"^    (pass|fail) +(.+?)  +\S", shown, re.MULTILINE):
        found.setdefault(claim, set()).add(verdict)
    assert found
    return found


def verdicts(reports):
    """The same of reports."""
    found = {}
    for finding in (finding for report in reports for finding in report.findings):
        found.setdefault(finding.claim, set()).add(str(finding.verdict))
    return found


def judged(folder, targets, launch=None):
    """Reports of the command, called where the examples are."""
    out = folder / "reports.jsonl"
    command = [sys.executable, "-m", "commbounds", "check", *[f"{EXAMPLES}/{target}" for target in targets]]
    command += ["--json", str(out)]
    done = launch(command) if launch else subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return [cf.report_from_json(line) for line in out.read_text().splitlines()]


def agree(target, reports):
    """What the guide shows was found, and what fails is what it shows as failing."""
    shown, found = pasted(target), verdicts(reports)
    assert {claim: verdict <= found[claim] for claim, verdict in shown.items()} == dict.fromkeys(shown, True)
    failing = [{claim for claim in each if "fail" in each[claim]} for each in (shown, found)]
    assert failing[0] == failing[1]


@pytest.mark.wide
def test_the_blocks_that_stand_alone_run():
    space = {}
    runnable = [code for kind, code in BLOCKS if kind == "runnable"]
    assert len(runnable) == 2
    for code in runnable:
        exec(compile(code, "oracle.md", "exec"), space)


@pytest.mark.parametrize("file", ["torch_quantiser.py", "ddp_feedback.py", "mpi_sparse.py"])
def test_the_code_it_shows_is_that_of_the_example(file):
    shown = [code for kind, code in BLOCKS if kind == f"from {file}"]
    assert shown
    source = (EXAMPLES / file).read_text(encoding="utf-8")
    for code in shown:
        assert code in source


def test_it_names_every_claim_and_every_universal_check():
    assert [claim for claim in CLAIMS if f"`{claim}(" not in GUIDE] == []
    text = " ".join(GUIDE.split())
    assert [str(check) for check in UNIVERSAL if f"*{check}*" not in text] == []
    assert len(UNIVERSAL) == 8


@NEEDS_TORCH
def test_the_quantiser_fails_as_shown():
    found = [cf.loaded(f"{EXAMPLES}/torch_quantiser.py:{name}")[0] for name in ("broken", "right")]
    broken, right = (cf.check(replace(subject, effort=0.1)) for subject in found)
    agree("torch_quantiser.py:broken", [broken])
    agree("torch_quantiser.py:right", [right])
    assert right.passed


@pytest.mark.long
@NEEDS_TORCH
def test_the_hook_fails_as_shown(tmp_path):
    *wrong, right = judged(tmp_path, ["ddp_feedback.py:wrong", "ddp_feedback.py:right"])
    agree("ddp_feedback.py:wrong", wrong)
    agree("ddp_feedback.py:right", [right])
    assert right.passed


@NEEDS_MPI
def test_the_sparse_all_reduce_fails_as_shown(tmp_path):
    def launch(command):
        return mpirun(3, *command, "--mpi", seconds=200)

    *wrong, right = judged(tmp_path, ["mpi_sparse.py:wrong", "mpi_sparse.py:right"], launch)
    agree("mpi_sparse.py:wrong", wrong)
    agree("mpi_sparse.py:right", [right])
    assert right.passed
