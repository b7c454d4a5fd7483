"""The command ``ranks``: tables, JSON, exit codes, wrong usage; in threads and under mpirun."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from under_mpi import NEEDS_MPI, mpirun

from commbounds.cli import main
from commbounds.collectives import Traffic
from commbounds.verify import pairings
from commbounds.verify.pairing import Pairing, RankCase


def made_up(name, value=1.0, steps=0):
    """A pairing with two cases; `value` and `steps` that are not 1 and 0 make the ranks differ."""

    def cases(P):
        for n in (1, 2):
            yield RankCase({"n": n, "option": "[bold]"}, np.zeros((P, n)))

    def collective(case):
        P = len(case.stack)
        return [{"value": 1.0}] * P, Traffic.none(P)

    def program(comm, case):
        for _ in range(steps):
            comm.step()
        return {"value": value}

    return Pairing(name, cases, collective, program)


@pytest.fixture
def call(monkeypatch, tmp_path):
    """``call(*arguments)`` with made-up pairings: one that agrees, one in other bits, one with other traffic."""
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path))
    for variable in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    made = [made_up("good"), made_up("bad_bits", value=2.0), made_up("bad_traffic", steps=3)]
    monkeypatch.setattr(pairings, "PAIRINGS", {pairing.name: pairing for pairing in made})
    return lambda *arguments: CliRunner().invoke(main, ["ranks", *arguments])


def test_where_all_agree_it_exits_with_0(call):
    result = call("good")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[1:-1] == [["good", str(P), "2", "yes", "yes"] for P in (1, 2, 3, 4)]
    assert result.stdout.splitlines()[-1] == "1 collectives, 8 cases, in threads: all the same bits and traffic"


def test_differences_are_shown_and_exit_with_1(call):
    result = call("--ranks", "2")
    assert result.exit_code == 1
    _, good, bits, traffic, last = result.stdout.splitlines()
    assert good.split() == ["good", "2", "2", "yes", "yes"]
    assert bits.split()[:5] == ["bad_bits", "2", "2", "no", "yes"]
    assert "n=1, option=[bold]: rank 0, value: np.float64(1.0) in one process, np.float64(2.0) apart" in bits
    assert traffic.split()[:5] == ["bad_traffic", "2", "2", "yes", "no"]
    assert "traffic, steps: np.int64(0) in one process, np.int64(3) apart" in traffic
    assert last == "3 collectives, 6 cases, in threads: 4 differ"


def test_as_json_every_case_is_a_line(call):
    result = call("*bits", "good", "--ranks", "3,1,3", "--json")
    assert result.exit_code == 1
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["name"], line["P"]) for line in lines] == [
        (name, P) for name in ("good", "bad_bits") for P in (3, 1) for _ in range(2)
    ]
    assert {line["traffic"] for line in lines} == {""}
    assert [bool(line["bits"]) for line in lines] == [line["name"] == "bad_bits" for line in lines]
    assert lines[0]["case"] == "n=1, option=[bold]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("good", "ugly*"), "no collective matches 'ugly*'; there are good, bad_bits, bad_traffic"),
        (("--ranks", "0,1"), "numbers of ranks are 1 or more, with commas between them, got '0,1'"),
        (("--ranks", "two"), "got 'two'"),
        (("--ranks", ","), "got ','"),
    ],
)
def test_wrong_usage_exits_with_2(call, arguments, said):
    result = call(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_without_mpi_the_message_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    result = call("good", "--mpi")
    assert result.exit_code == 2
    assert "pip install 'commbounds[mpi]'" in result.stderr


# --- under mpirun -----------------------------------------------------------------------------------------------------


def under_mpirun(processes, *arguments, seconds=60):
    return mpirun(processes, sys.executable, "-m", "commbounds", "ranks", "--mpi", *arguments, seconds=seconds)


@pytest.mark.long  # CI runs the command itself
@NEEDS_MPI
def test_under_mpirun_all_collectives_have_the_bits_and_the_traffic_of_one_process():
    finished = under_mpirun(4, "--json", seconds=300)
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [line for line in lines if line["bits"] or line["traffic"]] == []
    assert finished.returncode == 0, finished.stderr
    assert list(dict.fromkeys(line["name"] for line in lines)) == list(pairings.PAIRINGS)
    assert {line["P"] for line in lines} == {1, 2, 3, 4}


@NEEDS_MPI
def test_under_mpirun_one_table_is_printed_and_what_does_not_fit_is_left_out():
    finished = under_mpirun(2, "allgatherv", "--ranks", "2,5,1,3")
    assert finished.returncode == 0, finished.stderr
    rows = [line.split() for line in finished.stdout.splitlines()]
    assert [row[:2] for row in rows if row[0] == "allgatherv"] == [["allgatherv", "2"], ["allgatherv", "1"]]
    assert "left out, as there are 2 processes: 5, 3 ranks" in finished.stderr


@NEEDS_MPI
@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--ranks", "3,4"), "3 ranks need as many processes, there are 2"), (("ugly",), "no collective matches 'ugly'")],
)
def test_under_mpirun_wrong_usage_exits_with_2_and_is_said_once(arguments, said):
    finished = under_mpirun(2, *arguments)
    assert finished.returncode == 2
    assert finished.stderr.count(said) == 1
