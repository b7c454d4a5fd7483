"""A column that is no part of the package: all that is asked of a column, with no table edited."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from column_files import modules_in
from column_tests import FAMILIES, TOGETHER

from commbounds import columns
from commbounds._column import rendered

TOY = Path(__file__).parent / "toy_column"
ROOT = Path(__file__).resolve().parents[1]
HOLD = (
    "stars.starsparity.definition",
    "stars.stars_allreduce.definition",
    "stars.star.hub",
    "stars.starsparity.contraction",
    "stars.starsparity.no_expansion",
    "stars.starsparity.wire",
)
FAIL = ("stars.star.equal", "stars.starsparity.unbiased", "stars.starsparity.idempotence")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A new column, untouched, with what a new one does not begin with: refutations, certificates and an exhibit."""
    made = tmp_path_factory.mktemp("further") / "columns"
    shutil.copytree(TOY, made, ignore=shutil.ignore_patterns("__pyc*", "exhibits.py"))
    for path, text in rendered("stars").items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text, encoding="utf-8")
    with (made / "verify" / "experiments" / "stars.py").open("a", encoding="utf-8") as experiments:
        experiments.write((TOY / "exhibits.py").read_text(encoding="utf-8"))
    return made


def run(folder, *arguments, code=0, stream="stdout"):
    """What the command prints, with the folder named in the environment."""
    given = {**os.environ, "COMMBOUNDS_COLUMNS": str(folder)}
    command = [sys.executable, "-m", "commbounds", *map(str, arguments)]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return getattr(done, stream)


def test_its_claims_are_in_the_book(folder):
    printed = run(folder, "claims", "stars.*")
    assert all(name in printed for name in (*HOLD, *FAIL))


@pytest.mark.wide
def test_it_gets_verdicts_figures_and_a_page(folder, tmp_path):
    run(folder, "report", "stars.*", "--out", tmp_path / "report")
    findings = [json.loads(line) for line in (tmp_path / "report" / "findings.jsonl").read_text("utf-8").splitlines()]
    found = {finding["claim"]: finding for finding in findings if "claim" in finding}
    assert all(finding["as_stated"] for finding in found.values())
    assert {found[name]["verdict"] for name in HOLD} <= {"enumerated", "survived", "consistent"}
    assert {found[name]["verdict"] for name in FAIL} == {"refuted"}
    smallest = [evidence["scope"].get("smallest", "") for evidence in found["stars.star.equal"]["evidence"]]
    assert any(point.startswith("refuted at n = 1, spokes = 2: measured 2, bound 1") for point in smallest)
    page = (tmp_path / "report" / "stars.html").read_text("utf-8")
    assert "Stars: an example to be rewritten" in page
    assert "An example of a column" in page
    assert "\N{GREEK SMALL LETTER FINAL SIGMA}" in page or "&#x003C2;" in page  # how its own symbol is written
    drawn = ("stars.star.hub", "stars.starsparity.contraction")
    assert all(f'id="{anchor}"' in page for anchor in (*drawn, "figure-stars.hub"))
    assert {"stars.hub", *drawn} <= {path.stem for path in (tmp_path / "report" / "figures").iterdir()}
    assert all((tmp_path / "report" / "c" / f"{name}.html").is_file() for name in drawn)


@pytest.mark.wide
def test_its_counterexamples_check(folder):
    assert "2 certificates, all check" in run(folder, "certificates", "stars.*")


@pytest.mark.wide
def test_it_gets_test_vectors(folder, tmp_path):
    run(folder, "vectors", "StarsParity", "stars_allreduce", "--out", tmp_path / "vectors")
    (star,) = (tmp_path / "vectors").rglob("stars_allreduce.json")
    assert json.loads(star.read_text("utf-8"))["summary"].startswith("The sum of the ranks' vectors on every rank")
    assert (tmp_path / "vectors" / "compressors" / "StarsParity.json").is_file()
    run(folder, "vectors", "StarsParity", "stars_allreduce", "--check", tmp_path / "vectors")


OF_ALL_AT_ONCE = {
    *("theory/test_hypotheses.py", "theory/test_symbols.py"),
    *("verify/test_definition.py", "verify/test_kernel_law.py"),
}
"""Those that have no test of one column alone."""


@pytest.mark.long
def test_it_passes_what_the_families_of_tests_ask_of_a_column(folder):
    """What is about this column, and what is about all of them at once; the files of its tests lie beside its rooms."""
    command = [sys.executable, "tests/column_tests.py", "stars", "-rA"]
    given = {**os.environ, "COMMBOUNDS_COLUMNS": str(folder)}
    done = subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = [line for line in done.stdout.splitlines() if line.startswith("PASSED")]
    about = [line for line in passed if "stars" in line.partition("[")[2].lower()]
    families = {line.partition("::")[0].removeprefix("PASSED tests/") for line in about}
    assert families == set(FAMILIES) - OF_ALL_AT_ONCE
    assert all(any(name in line for line in passed) for name in TOGETHER)


MOONS = {
    "theory": """
from commbounds.theory.claim import Claim, Eq
from commbounds.theory.column import Column
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT

COLUMN = Column("moons", "Moons: alone", "A column of one module in a room.")
CLAIMS = (Claim("moons.ring.alone", "A ring of one sends nothing", Eq(MOST_SENT, 0), derived("To whom?")),)
""",
    "verify/experiments": """
import numpy as np
from commbounds.verify.study import Case, Outcome, Study, studies

def _sent(ring, case):
    return Outcome(int(ring(np.ones((1, case.settings["n"])))[1].sent.max()), {})

def _grid(_level):
    return (Case({"n": n}) for n in range(1, 5))

EXPERIMENTS = studies(Study("moons.ring.alone", "ring_allreduce", _sent, grid=_grid, enumerated="up to 4 entries"))
""",
}
"""What stands in ``ROOM/moons.py``."""


@pytest.mark.wide
def test_a_module_in_place_of_the_folder_will_do(tmp_path):
    for room, text in MOONS.items():
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "moons.py").write_text(text, encoding="utf-8")
    assert "1 claims: 1 enumerated; all as the book says" in run(tmp_path, "verify", "moons.*")


@pytest.mark.wide
def test_a_column_that_cannot_be_imported_is_an_error_in_its_own_rows(tmp_path):
    """One whose book is torn, one whose studies are; the claims of others have their findings."""
    for room, text in MOONS.items():
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "moons.py").write_text(text, encoding="utf-8")
    (tmp_path / "theory" / "torn.py").write_text("def torn(:\n", encoding="utf-8")
    halves = MOONS["theory"].replace("moons", "halves")
    (tmp_path / "theory" / "halves.py").write_text(halves, encoding="utf-8")
    (tmp_path / "verify" / "experiments" / "halves.py").write_text("import nowhere_at_all\n", encoding="utf-8")
    listed = run(tmp_path, "claims", "torn.*", code=1)
    assert "torn.import" in listed
    assert "SyntaxError: invalid syntax" in listed
    for named in ("torn.ring.alone", "torn.ring.*"):
        assert "torn.import: SyntaxError: invalid syntax" in run(tmp_path, "verify", named, code=1, stream="stderr")
    asked = ("torn.*", "halves.*", "moons.*", "sparsifiers.topk.wire")
    rows = run(tmp_path, "verify", *asked, "--jobs", "1", code=1).splitlines()
    of = {row.split()[0]: row for row in rows if "." in row.partition(" ")[0]}
    assert of["torn.import"].split()[1] == of["halves.ring.alone"].split()[1] == "error"
    assert "SyntaxError" in of["torn.import"]
    assert "ModuleNotFoundError: No module named 'nowhere_at_all'" in of["halves.ring.alone"]
    assert of["moons.ring.alone"].split()[1] == of["sparsifiers.topk.wire"].split()[1] == "enumerated"
    assert rows[-1] == "4 claims: 2 enumerated, 2 error; 2 not as the book says"


def test_our_columns_stand_before_further_ones(folder, monkeypatch):
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(folder))
    assert columns.columns() == (*columns.COLUMNS, "stars")


def test_a_folder_without_columns_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(tmp_path))
    with pytest.raises(ValueError, match=r"where there is no theory/NAME/__init__\.py and no theory/NAME\.py"):
        columns.columns()


def test_a_column_of_a_taken_name_is_refused(folder, tmp_path, monkeypatch):
    shutil.copytree(folder / "theory" / "stars", tmp_path / "theory" / "oktopk")
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(tmp_path))
    with pytest.raises(ValueError, match="whose column oktopk there is already"):
        columns.columns()


def test_parts_that_are_not_there_are_none():
    assert columns.part("compressors", "gossip") is None
    assert columns.part("theory", "gossip", "schedules") is None
    assert columns.part("theory", "gossip", "claims").CLAIMS


def test_two_columns_with_one_name_in_a_table_are_refused(monkeypatch):
    monkeypatch.setattr(columns, "part", lambda *_: pytest)
    monkeypatch.setattr(columns, "written_out", lambda *_: {"a"})
    monkeypatch.setattr(pytest, "TABLE", {"a": 1}, raising=False)
    with pytest.raises(ValueError, match="TABLE of quantizers has an entry 'a', as that of another column has"):
        columns.Registry("TABLE", "theory").joined()


def test_a_name_that_is_not_written_out_is_refused(monkeypatch):
    """It could not be found without every column."""
    monkeypatch.setattr(columns, "part", lambda *_: pytest)
    monkeypatch.setattr(columns, "written_out", lambda *_: frozenset())
    monkeypatch.setattr(pytest, "TABLE", {"a": 1}, raising=False)
    with pytest.raises(ValueError, match="TABLE of sparsifiers has an entry 'a', which is not written out beside it"):
        columns.Registry("TABLE", "theory").joined()


def test_a_file_of_cases_that_is_no_columns_is_refused(folder, tmp_path, monkeypatch):
    further = shutil.copytree(folder, tmp_path / "further")
    (further / "tests" / "verify" / "certify" / "cases" / "planets.py").touch()
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(further))
    with pytest.raises(LookupError, match="has files of what is no column: planets"):
        modules_in("verify/certify/cases")


@pytest.mark.parametrize("place", ["", "theory", "theory/stars", "theory/stars/claims.py"])
def test_code_that_others_may_write_is_not_run(place, folder, tmp_path, monkeypatch):
    further = shutil.copytree(folder, tmp_path / "further")
    path = further / place
    path.chmod(path.stat().st_mode | 0o002)
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(further))
    with pytest.raises(ValueError, match=f"whose code is not run: others may write to {path}"):
        columns.columns()
