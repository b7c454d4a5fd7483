"""A column that is no part of the package: claims, verdicts, figures, page and vectors, with no table edited."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commbounds import columns

TOY = Path(__file__).parent / "toy_column"
NAMES = ("stars.star.hub", "stars.evens.no_expansion", "stars.evens.wire")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The toy column, in a temporary folder."""
    return shutil.copytree(TOY, tmp_path_factory.mktemp("further") / "columns", ignore=shutil.ignore_patterns("__pyc*"))


def run(folder, *arguments):
    """What the command prints, with the folder named in the environment."""
    given = {**os.environ, "COMMBOUNDS_COLUMNS": str(folder)}
    command = [sys.executable, "-m", "commbounds", *map(str, arguments)]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_claims_are_in_the_book(folder):
    printed = run(folder, "claims", "stars.*")
    assert all(name in printed for name in NAMES)


@pytest.mark.wide
def test_it_gets_verdicts_figures_and_a_page(folder, tmp_path):
    run(folder, "report", "stars.*", "--out", tmp_path / "report")
    findings = [json.loads(line) for line in (tmp_path / "report" / "findings.jsonl").read_text("utf-8").splitlines()]
    found = {finding["claim"]: finding for finding in findings if "claim" in finding}
    assert {name: found[name]["as_stated"] for name in NAMES} == dict.fromkeys(NAMES, True)
    assert {found[name]["verdict"] for name in NAMES} <= {"enumerated", "survived"}
    assert found["stars.evens.no_expansion"]["tightness"] == 1
    page = (tmp_path / "report" / "stars.html").read_text("utf-8")
    assert "Stars: everything through rank 0" in page
    assert "A column that is no part of the package" in page
    assert "\N{GREEK SMALL LETTER FINAL SIGMA}" in page or "&#x003C2;" in page  # how its own symbol is written
    assert all(f'id="{anchor}"' in page for anchor in (*NAMES, "figure-stars.hub"))
    assert {path.stem for path in (tmp_path / "report" / "figures").iterdir()} == {*NAMES, "stars.hub"}
    assert all((tmp_path / "report" / "c" / f"{name}.html").is_file() for name in NAMES)


@pytest.mark.wide
def test_it_gets_test_vectors(folder, tmp_path):
    run(folder, "vectors", "Evens", "star_allreduce", "--out", tmp_path / "vectors")
    (star,) = (tmp_path / "vectors").rglob("star_allreduce.json")
    assert json.loads(star.read_text("utf-8"))["summary"].startswith("Every rank sends its vector to rank 0")
    assert (tmp_path / "vectors" / "compressors" / "Evens.json").is_file()
    run(folder, "vectors", "Evens", "star_allreduce", "--check", tmp_path / "vectors")


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
    pair = [("first", pytest), ("second", pytest)]
    monkeypatch.setattr(columns, "parts", lambda *_: iter(pair))
    monkeypatch.setattr(pytest, "TABLE", {"a": 1}, raising=False)
    with pytest.raises(ValueError, match="TABLE of second has an entry 'a'"):
        columns.entries("TABLE", "theory")
