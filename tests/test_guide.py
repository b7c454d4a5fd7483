"""The guide ``docs/oracle.md``: its blocks run, its code is that of the examples, and what it says fails does fail."""

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from under_mpi import NEEDS_MPI, mpirun

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.claim import SubjectClaim
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
    command += ["--out", str(out)]
    done = launch(command) if launch else subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return [cf.report_from_json(line) for line in out.read_text().splitlines()]


def cases(target, reports):
    """How many cases passing claims had: as the guide shows them for a target, and as reports have them."""
    (shown,) = re.findall(rf"check (?:--mpi )?{re.escape(target)}\n((?:    .*\n)+)", GUIDE)
    counted = set(re.findall(r"^    pass +(.+?)  +(\d+) cases", shown, re.MULTILINE))
    found = {
        (finding.claim, *re.findall(r"^(\d+) cases", finding.evidence))
        for report in reports
        for finding in report.findings
        if finding.verdict == "pass" and finding.claim in {claim for claim, _ in counted}
    }
    return counted, found


def agree(target, reports):
    """What the guide shows was found, and what fails is what it shows as failing."""
    shown, found = pasted(target), verdicts(reports)
    assert {claim: verdict <= found[claim] for claim, verdict in shown.items()} == dict.fromkeys(shown, True)
    failing = [{claim for claim in each if "fail" in each[claim]} for each in (shown, found)]
    assert failing[0] == failing[1]


def printed(guide):
    """What the runnable blocks of a guide print, all in one space; and what the guide shows behind those that print."""
    blocks = re.findall(r"^```python runnable\n(.*?)^```$\n\n((?:    [^\n]*\n)*)", guide, re.MULTILINE | re.DOTALL)
    space, pairs = {}, []
    for code, shown in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "guide", "exec"), space)
        if shown:
            pairs.append((out.getvalue(), textwrap.dedent(shown)))
    return len(blocks), pairs


@pytest.mark.wide
@pytest.mark.parametrize(("guide", "blocks", "outputs"), [("oracle.md", 6, 1), ("recipes.md", 1, 1)])
def test_the_blocks_that_stand_alone_run_and_print_what_is_shown(guide, blocks, outputs):
    count, pairs = printed((DOCS / guide).read_text(encoding="utf-8"))
    assert (count, len(pairs)) == (blocks, outputs)
    for said, shown in pairs:
        assert [line for line in shown.splitlines() if line not in said.splitlines()] == []


def test_the_guides_name_every_recipe_and_every_option_of_the_command():
    from commbounds import recipes
    from commbounds._check import check

    text = (DOCS / "recipes.md").read_text(encoding="utf-8")
    homes = (recipes.__name__, recipes.launched.__module__)
    names = [
        name for name, made in vars(recipes).items() if getattr(made, "__module__", "") in homes and name[0] != "_"
    ]
    assert len(names) == 12
    assert [name for name in names if f"{name}(" not in text and f"recipes.{name}" not in text] == []
    files = [
        o for parameter in check.params for o in parameter.opts if parameter.name.startswith(("as_", "base", "exp"))
    ]
    assert len(files) == 6
    assert [option for option in files if option not in GUIDE] == []


@pytest.mark.parametrize("file", ["torch_quantiser.py", "ddp_feedback.py", "mpi_sparse.py"])
def test_the_code_it_shows_is_that_of_the_example(file):
    shown = [code for kind, code in BLOCKS if kind == f"from {file}"]
    assert shown
    source = (EXAMPLES / file).read_text(encoding="utf-8")
    for code in shown:
        assert code in source


def test_it_names_every_claim_and_every_universal_check():
    public = {name: getattr(cf, name) for name in cf.__all__}
    claims = [name for name, made in public.items() if isinstance(made, type) and issubclass(made, SubjectClaim)]
    assert len(claims) == 26
    assert [claim for claim in claims if f"`{claim}(" not in GUIDE] == []
    text = " ".join(GUIDE.split())
    assert [str(check) for check in UNIVERSAL if f"*{check}*" not in text] == []
    assert len(UNIVERSAL) == 9


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
    for target, reports in (("ddp_feedback.py:wrong", wrong), ("ddp_feedback.py:right", [right])):
        shown, found = cases(target, reports)
        assert shown == found


@NEEDS_MPI
def test_the_sparse_all_reduce_fails_as_shown(tmp_path):
    def launch(command):
        return mpirun(3, *command, "--mpi", seconds=200)

    *wrong, right = judged(tmp_path, ["mpi_sparse.py:wrong", "mpi_sparse.py:right"], launch)
    agree("mpi_sparse.py:wrong", wrong)
    agree("mpi_sparse.py:right", [right])
    assert right.passed
    for target, reports in (("mpi_sparse.py:wrong", wrong), ("mpi_sparse.py:right", [right])):
        shown, found = cases(target, reports)
        assert shown == found
