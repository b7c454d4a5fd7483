"""``commbounds new-column`` and ``commbounds check-column``: what is new passes, and of what is broken it is said."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from column_tests import FAMILIES, TOGETHER

from commbounds import _column
from commbounds.cli import main
from commbounds.columns import COLUMNS, FURTHER

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a new column of a collective."""
    folder = tmp_path_factory.mktemp("made") / "columns"
    done = CliRunner().invoke(main, ["new-column", "planets", "--of", "collective"], env={FURTHER: str(folder)})
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def own(made, tmp_path):
    """A copy of it, to be broken."""
    return shutil.copytree(made, tmp_path / "columns")


def checked(folder, *parts, name="planets"):
    """What check-column prints of parts of the column, in a process of its own, and how it exits."""
    command = [sys.executable, "-m", "commbounds", "check-column", name, *parts]
    done = subprocess.run(command, env=environment(folder), cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def environment(folder):
    import os

    # the package in its checkout, where its tests are, whichever one is installed
    return {**os.environ, FURTHER: str(folder), "PYTHONPATH": str(ROOT / "src")}


def altered(folder, file, old, new):
    """The file with one place changed."""
    path = folder / file
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def test_a_new_column_is_six_files(made):
    files = sorted(path.relative_to(made).as_posix() for path in made.rglob("*.py"))
    assert files == [
        "collectives/planets.py",
        "tests/mutants/planets.py",
        "theory/planets/__init__.py",
        "theory/planets/claims.py",
        "verify/definitions/planets.py",
        "verify/experiments/planets.py",
    ]


@pytest.mark.parametrize("of", _column.KINDS)
@pytest.mark.parametrize("name", ["x", "planets", "a_name_of_many_words"])
def test_the_files_of_every_kind_are_python(name, of):
    for path, text in _column.rendered(name, of).items():
        compile(text, path, "exec")
        assert "{{" not in text
        assert "{%" not in text


@pytest.mark.skipif(find_spec("ruff") is None, reason="needs ruff")
@pytest.mark.parametrize("of", _column.KINDS)
@pytest.mark.parametrize("name", ["planets", "some_words"])
def test_the_files_of_every_kind_have_our_style(name, of, tmp_path):
    for path, text in _column.rendered(name, of).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    assert list(_column.PARTS["style"](name, tmp_path)) == []


@pytest.mark.wide
@pytest.mark.parametrize("part", ["imports", "claims", "ranks", "style"])
def test_a_part_of_a_new_column_passes_untouched(made, part):
    if part == "style" and find_spec("ruff") is None:
        pytest.skip("needs ruff")
    code, printed = checked(made, part)
    assert (code, printed.strip()) == (0, f"{part}: nothing is wrong")


@pytest.mark.long
def test_a_new_column_passes_untouched(made):
    code, printed = checked(made)
    assert code == 0, printed
    parts = dict(line.split(": ", 1) for line in printed.splitlines())
    looked = ["imports", "claims", "ranks", "mutants", "tests", *(["style"] if find_spec("ruff") else [])]
    assert [part for part, said in parts.items() if said == "nothing is wrong"] == looked
    assert parts["readme"] == "not looked at: the column is not part of the package"


BROKEN = {
    "an error": (
        *("imports", "verify/definitions/planets.py", "import numpy as np\n", "import numpy as np\n\nnothing\n"),
        r"verify/definitions/planets\.py:\d+ cannot be imported: NameError: name 'nothing' is not defined",
    ),
    "no python": (
        *("imports", "collectives/planets.py", "if comm.rank:", "if comm.rank"),
        r"^  collectives/planets\.py:\d+ cannot be read: expected ':'$",
    ),
    "a formula": (
        *("claims", "theory/planets/claims.py", "relation=Eq(HUB, spokes * n)", "relation=Eq(HUB, spokes + n)"),
        r"planets\.star\.hub is refuted: ",
    ),
    "a twin": (
        *("claims", "verify/definitions/planets.py", "total = total + stack[p][i]", "total = total - stack[p][i]"),
        r"planets\.planets_allreduce\.definition is refuted: .*let it round where the implementation does",
    ),
    "a symbol without a value": (
        *("claims", "verify/experiments/planets.py", '{"spokes": P - 1}', "{}"),
        r"planets\.star\.hub is error: .*symbols without a value: spokes\. A family gives values in `facts=`",
    ),
    "a claim that nothing judges": (
        *("claims", "verify/experiments/planets.py", '(_of_hub, "equal")', '(_of_hub, "hub")'),
        r"two studies for one claim",
    ),
    "ranks that do otherwise": (
        *("ranks", "collectives/planets.py", "total = x.copy()", "total = x.copy() + (not comm.one_caller)"),
        r"planets_allreduce of 2 ranks, P=2, .*: ranks by themselves differ from the collective: ",
    ),
    "a collective called as the column": (
        *("imports", "collectives/planets.py", '{"planets_allreduce":', '{"planets":'),
        r"collectives/planets registers planets: call it otherwise, since commbounds\.collectives\.planets is",
    ),
    "a mutant that is right": (
        *("mutants", "tests/mutants/planets.py", "_hub(lambda P, n: P * n)", "_hub(lambda P, n: (P - 1) * n)"),
        r"10 mutants, 1 survive: planets_hub_sends_to_itself\. Add the case",
    ),
    "too few mutants": (
        *("tests", "tests/mutants/planets.py", "for each in HUB", "for each in HUB[:4]"),
        r"test_every_column_has_mutants_and_every_table_of_mutants_is_read fails: .*'planets': 9",
    ),
    "no style": (
        *("style", "collectives/planets.py", "import numpy as np\n", "import numpy as np,os\n"),
        r"collectives/planets\.py:\d+:\d+: E401 [^|]*the formatter would change \S*/collectives/planets\.py: run",
    ),
}
QUICK = ("an error", "no python", "no style", "a collective called as the column")
SLOW = ("too few mutants", "a mutant that is right")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=() if k in QUICK else pytest.mark.long if k in SLOW else pytest.mark.wide) for k in BROKEN],
)
def test_what_is_broken_is_said(own, kind):
    part, file, old, new, said = BROKEN[kind]
    if part == "style" and find_spec("ruff") is None:
        pytest.skip("needs ruff")
    altered(own, file, old, new)
    code, printed = checked(own, part)
    assert code == 1, printed
    assert re.search(said, printed, re.MULTILINE), printed


def test_a_row_of_the_readme_is_asked_for_and_its_numbers_compared():
    def counted(line):
        cells = line.split(" | ")
        return " | ".join([*cells[:2], "3 of 4", *cells[3:]])

    none, wrong = "| a | `other` | 1 of 1 | x |", "| a | `planets` | 1 of 1 | x |"
    (missing,) = _column.readme_complaints("planets", none, counted)
    assert missing.startswith("README.md has no row for it: write one into a table, such as | what")
    (numbers,) = _column.readme_complaints("planets", wrong, counted)
    assert numbers.endswith("which has | a | `planets` | 3 of 4 | x |: run docs/counts.py")
    assert list(_column.readme_complaints("planets", "| a | `planets` | 3 of 4 | x |", counted)) == []


def refused(tmp_path, *arguments, folder="columns"):
    """What new-column says to the arguments that it refuses, and nothing is written."""
    before = sorted(tmp_path.rglob("*"))
    given = {FURTHER: str(tmp_path / folder) if folder else ""}
    done = CliRunner().invoke(main, ["new-column", *arguments], env=given)
    assert done.exit_code == 2, done.output
    assert sorted(tmp_path.rglob("*")) == before
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.output).split())


@pytest.mark.parametrize("name", ["Planets", "2planets", "with-hyphen", "class", "a.b", ""])
def test_a_name_that_is_no_identifier_is_refused(tmp_path, name):
    assert "NAME must be a lower-case identifier" in refused(tmp_path, name)


@pytest.mark.parametrize("name", ["gossip", "claim", "counter", "record"])
def test_a_name_that_is_taken_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_column, "checkout", lambda: ROOT)  # where the tests run against an installed package, too
    assert f"the name {name} is taken" in refused(tmp_path, name)


def test_nothing_is_overwritten(tmp_path):
    there = tmp_path / "columns" / "tests" / "mutants"
    there.mkdir(parents=True)
    (there / "planets.py").write_text("kept", "utf-8")
    assert "planets.py is there already: move it, or choose another name" in refused(tmp_path, "planets")
    assert (there / "planets.py").read_text("utf-8") == "kept"
    (tmp_path / "columns" / "theory" / "moons").mkdir(parents=True)
    assert "theory/moons is there already" in refused(tmp_path, "moons")


def test_a_wrong_place_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert "which is no folder" in refused(tmp_path, "planets", folder="file")
    assert "names 2 folders: set it to the one" in refused(tmp_path, "planets", folder=f"a:{tmp_path}/b")
    assert "names commbounds itself: unset it" in refused(tmp_path, "planets", folder=ROOT)
    monkeypatch.setattr(_column, "checkout", lambda: None)
    assert "there is no folder for the column: set COMMBOUNDS_COLUMNS" in refused(tmp_path, "planets", folder="")


def test_a_column_of_the_package_is_listed_at_the_end(tmp_path, monkeypatch):
    table = tmp_path / "src" / "commbounds" / "columns.py"
    table.parent.mkdir(parents=True)
    shutil.copy(ROOT / "src" / "commbounds" / "columns.py", table)
    monkeypatch.setattr(_column, "checkout", lambda: tmp_path)
    done = CliRunner().invoke(main, ["new-column", "planets"], env={FURTHER: ""})
    assert done.exit_code == 0, done.output
    listed = {}
    exec(table.read_text("utf-8").split("\n\n\n")[0], listed)
    assert listed["COLUMNS"] == (*COLUMNS, "planets")
    assert (tmp_path / "compressors" / "planets.py").is_file()
    assert "commbounds check-column planets says what is missing" in done.output


def test_a_column_that_is_not_there_is_no_column(tmp_path):
    done = CliRunner().invoke(main, ["check-column", "planets"], env={FURTHER: ""})
    assert done.exit_code == 2
    assert "commbounds new-column planets makes its files" in " ".join(re.sub(r"[│]", " ", done.output).split())


def test_an_installed_package_says_what_it_does_not_look_at(monkeypatch):
    monkeypatch.setattr(_column, "checkout", lambda: None)
    assert "run this in a checkout" in _column._not_run("mutants", ours=False)
    assert "run this in a checkout" in _column._not_run("tests", ours=True)
    assert _column._not_run("claims", ours=False) == ""


def test_the_lists_of_tests_name_tests():
    assert all((ROOT / "tests" / file).is_file() for file in FAMILIES)
    text = "".join((ROOT / "tests" / file).read_text("utf-8") for file in FAMILIES)
    assert [word for word in TOGETHER if not re.search(rf"def test_\w*{word}", text)] == []
