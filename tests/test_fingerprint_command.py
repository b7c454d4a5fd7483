"""``commbounds fingerprint``: orders by size and format, and two of them compared."""

import json
import re
import sys

import pytest
from click.testing import CliRunner
from under_mpi import NEEDS_MPI, mpirun

from commbounds.cli import main

SOURCE = """
import numpy as np


def pairs(x):
    return (x[0] + x[1]) + (x[2] + x[3])


def by_size(x):
    return pairs(x) if x.shape[1] < 10 else x.cumsum(axis=0)[-1]


def by_address(x):
    return pairs(x) if x.ctypes.data % 64 == 0 else x.cumsum(axis=0)[-1]


def differing(x):
    return np.stack([pairs(x), pairs(x), pairs(x), x.cumsum(axis=0)[-1]])


word = 3
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(SOURCE)
    return path


def run(*arguments):
    return CliRunner().invoke(main, ["fingerprint", *map(str, arguments)])


def test_orders_are_shown_and_where_they_change(source):
    shown = run(f"{source}:by_size", "--P", 4, "--sizes", "4,40").output
    assert "float32              4  float32       every hop  one seen  recursive_doubling" in shown
    assert "bfloat16            40  bfloat16      every hop  one seen  in_rank_order" in shown
    assert "float32: sums are made otherwise from 4 to 40 entries" in shown


def test_orders_that_go_by_the_address_of_a_buffer_are_seen(source, tmp_path):
    asked = (f"{source}:by_address", "--P", 4, "--sizes", 4, "--dtypes", "fp32,fp8")
    kept = tmp_path / "aligned.json"
    assert "float8_e4m3fn        4  float8_e4m3fn" in run(*asked, "--out", kept).output
    assert run(*asked, "--against", kept).exit_code == 0
    moved = run(*asked, "--offset", 1, "--against", kept)
    assert moved.exit_code == 1
    assert "float32, 4 entries: the order is in_rank_order in float32" in moved.output


def test_two_fingerprints_are_compared(source, tmp_path):
    kept = tmp_path / "kept.json"
    asked = ("--P", 4, "--sizes", "4,40", "--dtypes", "float32")
    assert run(f"{source}:pairs", *asked, "--out", kept).exit_code == 0
    assert len(json.loads(kept.read_text())) == 2
    same = run(f"{source}:pairs", *asked, "--against", kept)
    assert same.exit_code == 0
    assert same.output.endswith("against kept.json:\n    the same\n")
    other = run(f"{source}:by_size", *asked, "--against", kept)
    assert other.exit_code == 1
    assert "float32, 40 entries: the order is in_rank_order in float32" in other.output
    assert "recursive_doubling" in other.output.partition("against")[2]


def test_ranks_that_differ_end_it_with_one(source):
    done = run(f"{source}:differing", "--P", 4, "--sizes", 8, "--dtypes", "float32")
    assert done.exit_code == 1
    assert "differ" in done.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "give MODULE:FUNCTION"),
        (("{}:pairs",), "needs --P"),
        (("{}:pairs", "--P", 4, "--sizes", "x"), "--sizes are numbers"),
        (("{}:pairs", "--P", 4, "--dtypes", "int8"), "dtype must be one of"),
        (("{}:missing", "--P", 4), "cannot be loaded"),
        (("{}:word", "--P", 4), "is no function"),
        (("theirs", "--P", 4), "a function is MODULE:FUNCTION"),
    ],
)
def test_wrong_usage_is_said(source, arguments, says):
    done = run(*(str(a).format(source) for a in arguments))
    assert done.exit_code == 2
    assert says in done.output


@NEEDS_MPI
@pytest.mark.wide
def test_the_all_reduce_of_mpi_is_revealed():
    command = (sys.executable, "-m", "commbounds", "fingerprint", "--mpi", "--sizes", "1,2000", "--dtypes", "float32")
    done = mpirun(3, *command, seconds=120)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[1:3]
    assert all(re.search("float32 +every hop +same bits", row) for row in rows)
    assert not any("not found out" in row for row in rows)
