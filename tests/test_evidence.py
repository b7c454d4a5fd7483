"""What blames a program was run at the commit that the claim names, by a script that needs nothing of ours."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commbounds.theory import Origin, Standing, Tag, claims

FOLDER = Path(__file__).parents[1] / "docs" / "evidence"
PAGE = FOLDER.with_suffix(".md").read_text(encoding="utf-8")
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.name != "checkout.py")
ARITHMETIC = sorted(path for path in (FOLDER.parent / "examples").glob("*.py") if path.with_suffix(".txt").exists())
"""Programs of lines that were read: their printed text is stored beside them."""
NAME = re.compile(r"\b[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*){2,}\b")


def shown(script):
    """The claims that a script is about."""
    return NAME.findall(ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))))


def checked_out(script):
    """The repository and the commit that it asks for."""
    return re.search(r'checkout\("([^"]+)", "([0-9a-f]{40})"[,)]', script.read_text(encoding="utf-8")).groups()


def test_everything_printed_in_code_that_fails_was_run():
    blaming = {
        name
        for name, claim in claims().items()
        if claim.source.tag is Tag.OFFICIAL_CODE
        and claim.source.origin is Origin.PRINTED
        and claim.stands is not Standing.HOLDS
    }
    assert blaming
    assert blaming <= {name for script in SCRIPTS for name in shown(script)}


def test_code_that_was_not_run_has_its_reason():
    """Every claim that fails and names lines of code was run, or the page says why not, with the commit."""
    run = {name for script in SCRIPTS for name in shown(script)}
    _, _, table = PAGE.partition("## Read, and not run")
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ") and "`" in line]
    reasons = {name: code for code, names, why in rows for name in NAME.findall(names) if why}
    failing = {name: claim.source for name, claim in claims().items() if claim.stands is not Standing.HOLDS}
    read = {name for name, source in failing.items() if source.tag is Tag.OFFICIAL_CODE}
    assert read - run <= set(reasons) <= set(failing) - run
    for name, code in reasons.items():
        assert failing[name].code is not None, name
        assert f"at {failing[name].code.commit[:7]}" in code, name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_about_its_claims_at_their_commit_and_was_run(script):
    repo, commit = checked_out(script)
    assert shown(script)
    for name in shown(script):
        code = claims()[name].source.code
        assert code is None or (code.repo, code.commit) == (repo, commit), name
        assert f"`{name}`" in PAGE
    first, *printed = script.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    assert first == f"{repo} at {commit}"
    assert printed
    assert f"(evidence/{script.name})" in PAGE
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"commbounds|urllib|requests|clone|Popen", text)


@pytest.mark.parametrize("program", ARITHMETIC, ids=lambda path: path.stem)
def test_arithmetic_of_what_was_read_prints_what_is_stored(program):
    """It imports nothing of ours, and names the commits of all claims that the page refers to it for."""
    ran = subprocess.run([sys.executable, "-I", str(program)], capture_output=True, text=True, check=True)
    assert ran.stdout == program.with_suffix(".txt").read_text(encoding="utf-8")
    text = program.read_text(encoding="utf-8")
    modules = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {getattr(node, "module", None) or node.names[0].name for node in modules} <= {"ml_dtypes", "numpy"}
    links = [f"(examples/{path.name})" for path in (program, program.with_suffix(".txt"))]
    rows = [line for line in PAGE.splitlines() if all(link in line for link in links)]
    about = {name for row in rows for name in NAME.findall(row) if name in claims()}
    assert about
    for name in about:
        assert claims()[name].source.code.commit[:8] in text, name


def test_another_commit_is_refused(tmp_path):
    for command in (
        ["init", "-q"],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "m"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    program = (
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); from checkout import checkout; checkout('a/b', 'c' * 40)"
    )
    refused = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert f"check out github.com/a/b at {'c' * 40}" in refused.stderr
