"""The scoreboard: its page is what its data say, every failure can be seen without the kit, and the command runs it."""

import json
import re
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.verify.scoreboard.page import outdated, page, unexplained
from commbounds.verify.scoreboard.records import read

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "scoreboard"
BOARD = read(FOLDER)


def test_the_page_is_what_the_data_say():
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page(BOARD)


def test_every_row_says_which_version_was_judged_and_when():
    """The rows of the table, and the lines over the details of every package and failure, from the results alone."""
    lines = page(BOARD).splitlines()
    for name in BOARD.packages:
        found = [result for result in BOARD.of(name) if "problem" not in result]
        tried = [f"tried on {result['date']}" for result in BOARD.of(name) if "problem" in result]
        assert all(any(line.startswith(f"- **{name}**") and words in line for line in lines) for words in tried)
        for result in found:
            (row,) = [line for line in lines if line.startswith(f"| [{name}](")]
            assert row.split(" | ")[1:3] == [result["version"], result["date"]]
            assert any(line.startswith(f"Judged on {result['date']} with ") for line in lines)
    for failure in BOARD.failures:
        (start,) = [i for i, line in enumerate(lines) if line == f"### {failure.name}"]
        (result,) = {(r["version"], r["date"]) for r in BOARD.of(failure.package) if "problem" not in r}
        assert f"Seen in {failure.package} {result[0]} on {result[1]}:" in lines[start : start + 5]


def test_a_date_that_is_none_is_refused(toy):
    (toy / "results.jsonl").write_text('{"package": "a", "requirements": ["a==1"], "date": "May", "problem": "no"}\n')
    with pytest.raises(ValueError, match="date must be a day like 2026-01-31, got 'May'"):
        read(toy)


def test_what_fails_is_written_about_and_nothing_else():
    assert unexplained(BOARD) == []
    assert outdated(BOARD) == []


def test_every_failure_has_its_program_what_it_printed_and_a_text_for_the_maintainers():
    names = {failure.name for failure in BOARD.failures}
    assert {path.stem for path in (FOLDER / "programs").glob("*.py")} == names
    assert {path.stem for path in (FOLDER / "programs").glob("*.txt")} == names
    reported = {failure.name for failure in BOARD.failures if failure.is_reported}
    assert {path.stem for path in (FOLDER / "issues").glob("*.md")} == reported
    for failure in BOARD.failures:
        printed = (FOLDER / "programs" / f"{failure.name}.txt").read_text(encoding="utf-8").splitlines()
        assert len(printed) > 1, failure.name
        assert printed[-1] == "exit 1", failure.name
        program = (FOLDER / "programs" / f"{failure.name}.py").read_text(encoding="utf-8")
        assert "commbounds" not in program, failure.name
        assert failure.link.startswith("https://")
    for name in reported:
        assert (FOLDER / "issues" / f"{name}.md").read_text(encoding="utf-8").startswith("# ")


def test_the_results_are_of_their_schema():
    schema = json.loads((FOLDER / "results.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for result in BOARD.results:
        validator.validate(result)
    assert not validator.is_valid({**BOARD.results[0], "verdict": "pass"})


def test_there_are_many_subjects_of_many_packages():
    judged = {(result["package"], result["subject"]) for result in BOARD.results if "problem" not in result}
    assert len(judged) >= 20
    packages = {package for package, _ in judged}
    assert len(packages) >= 7
    readme = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"{len(judged)} subjects from {len(packages)} packages" in readme
    assert {result["package"] for result in BOARD.results} == set(BOARD.packages)


PACKAGES = """
[[package]]
name = "scored-toy"
requirements = ["scored_toy-1.0-py3-none-any.whl"]
dependencies = false
subjects = "subjects.py:subjects"
documentation = "https://example.org"

[[package]]
name = "missing"
requirements = ["missing-1.0-py3-none-any.whl"]
documentation = "https://example.org"
"""
SUBJECTS = '''
"""A package that halves, one that returns what it gets, and one that takes the process with it."""

import ctypes

import scored_toy

from commbounds.verify import conformance as cf


def crashing(x, seed):
    """End the process."""
    ctypes.string_at(0)


few = {"effort": 0.02, "admits": lambda x: x.size <= 8}
subjects = [
    cf.Codec(lambda x, seed: scored_toy.halved(x), [cf.Contraction(1.0)], name="halved", **few),
    cf.Codec(crashing, [], name="crashing", **few),
    cf.Codec(lambda x, seed: x.copy(), [cf.Contraction(1.0)], name="same", **few),
]
'''
FAILURES = """
[[failure]]
name = "halves"
package = "scored-toy"
fails = [["halved", "Contraction(alpha=1.0)"], ["crashing", "answers"]]
standing = "documented otherwise"
title = "Half is missing."
says = "It halves."
link = "https://example.org"
"""
SOURCE = "def halved(x):\n    return x / 2\n"
PROGRAM = "import sys\n\nimport scored_toy\n\nprint(scored_toy.halved(1.0))\nsys.exit(scored_toy.halved(1.0) != 1.0)\n"


@pytest.fixture
def toy(tmp_path):
    """A scoreboard about a package that is a wheel beside it."""
    folder = tmp_path / "board"
    (folder / "programs").mkdir(parents=True)
    for name, text in (("packages.toml", PACKAGES), ("subjects.py", SUBJECTS), ("failures.toml", "")):
        (folder / name).write_text(text)
    (folder / "programs" / "halves.py").write_text(PROGRAM)
    with zipfile.ZipFile(folder / "scored_toy-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("scored_toy.py", SOURCE)
        wheel.writestr("scored_toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: scored-toy\nVersion: 1.0\n")
        kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr("scored_toy-1.0.dist-info/WHEEL", kind)
        wheel.writestr("scored_toy-1.0.dist-info/RECORD", "")
    return folder


def called(folder, *arguments):
    return CliRunner().invoke(main, ["scoreboard", "--folder", str(folder), *arguments])


@pytest.mark.wide
def test_a_scoreboard_is_run_and_goes_on_where_it_was(toy, tmp_path):
    options = ["--environments", str(tmp_path / "environments")]
    done = called(toy, *options)
    assert done.exit_code == 1, done.output
    assert "missing: not judged" in done.output
    assert "scored-toy, halved: Contraction(alpha=1.0) fails, and nothing is written about it" in done.output
    board = read(toy)
    verdicts = {
        (result["subject"], claim["claim"]): claim["verdict"]
        for result in board.of("scored-toy")
        for claim in result["claims"]
    }
    assert verdicts["halved", "Contraction(alpha=1.0)"] == "fail"
    assert verdicts["crashing", "answers"] == "fail"
    assert verdicts["same", "Contraction(alpha=1.0)"] == "pass"
    assert {result["version"] for result in board.of("scored-toy")} == {"1.0"}
    today = datetime.now(UTC).date()
    assert all(today - timedelta(days=1) <= date.fromisoformat(result["date"]) <= today for result in board.results)
    assert "problem" in board.of("missing")[0]
    assert list((tmp_path / "environments").iterdir()) == []

    (toy / "failures.toml").write_text(FAILURES)
    done = called(toy, "scored-toy", *options)
    assert done.exit_code == 0, done.output
    assert "scored-toy: 3 subjects known" in done.output
    assert "halved: " not in done.output
    assert (toy / "programs" / "halves.txt").read_text() == "0.5\nexit 1\n"
    assert "documented otherwise" in (toy / "README.md").read_text()


def test_a_package_that_is_none_is_refused(toy):
    done = called(toy, "no-such-package")
    assert done.exit_code == 2
    assert "there is no package no-such-package; there are scored-toy, missing" in done.output


def test_a_folder_that_is_none_is_refused(tmp_path):
    done = called(tmp_path / "nothing")
    assert done.exit_code == 2
    assert "packages.toml cannot be read" in done.output


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("packages.toml", '[[package]]\nname = "a"\nrequirements = ["a"]\n', "requirements must be pinned"),
        ("packages.toml", '[[package]]\nname = "../a"\nrequirements = ["a==1"]\n', "a package's name is of a-z"),
        ("packages.toml", '[[package]]\nnome = "a"\n', "a package has name, requirements"),
        ("packages.toml", "[[package]\n", "packages.toml: "),
        ("failures.toml", FAILURES.replace("documented otherwise", "a bug"), "standing must be one of"),
        ("failures.toml", FAILURES.replace('"scored-toy"', '"other"'), "halves is about 'other', which is none"),
        ("failures.toml", FAILURES.replace('"It halves."', '" "'), "halves: says must not be empty"),
        ("results.jsonl", '{"package": "a", "requirements": ["a==1"]}\n', "results.jsonl, line 1: fields must be"),
        ("results.jsonl", "{}\n", "results.jsonl, line 1: a result is an object with a package"),
        ("results.jsonl", "[" * 100_000, "results.jsonl, line 1: "),
    ],
)
def test_files_that_are_not_as_they_should_be_are_named(toy, file, text, message):
    (toy / file).write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        read(toy)
