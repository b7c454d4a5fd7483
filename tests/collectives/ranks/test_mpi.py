"""Ranks as processes: what they are left with is what threads are left with, and no error leaves others waiting."""

import json
import sys

import pytest
import rank_programs
from rank_programs import RANKS, WRONG, passes_on, sends_much
from under_mpi import NEEDS_MPI, mpirun

from commbounds.collectives.ranks import MpiWorld, ThreadWorld

PROCESSES = 4
"""One more than ranks: it waits, and is left with the same."""
BEYOND_THREADS = ("raises_what_cannot_be_sent", "returns_what_cannot_be_sent")


def of_programs(*arguments):
    return mpirun(PROCESSES, sys.executable, rank_programs.__file__, *arguments, seconds=120)


@pytest.fixture(scope="module")
def left_with():
    """Of every program, what every process was left with."""
    names = [p.__name__ for p in (passes_on, sends_much, *WRONG)]
    finished = of_programs(*names, *BEYOND_THREADS)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


@NEEDS_MPI
@pytest.mark.parametrize("program", [passes_on, sends_much], ids=lambda p: p.__name__)
def test_processes_are_left_with_what_threads_are(left_with, program):
    results, traffic = ThreadWorld().run(program, RANKS)
    expected = json.loads(json.dumps([results, traffic.as_dict()]))
    assert left_with[program.__name__] == [expected] * PROCESSES


@NEEDS_MPI
def test_long_arrays_arrive_whole(left_with):
    """An array of 2 MB, transposed, in messages of 0.1 MB; one without entries, and one without a length."""
    results, _ = left_with["sends_much"][0]
    assert results == [
        [[[[1000, 1000], 10**6 * other], [[0, 1000], 0], [[], other]] for other in range(RANKS) if other != rank]
        for rank in range(RANKS)
    ]


@NEEDS_MPI
@pytest.mark.parametrize("program", WRONG, ids=lambda p: p.__name__)
def test_a_wrong_program_is_the_same_error_on_all_processes(left_with, program):
    kind, part = WRONG[program]
    for name, text in left_with[program.__name__]:
        assert name == kind.__name__
        assert part in text


@NEEDS_MPI
def test_what_cannot_be_sent_is_an_error_with_its_reason(left_with):
    for rank, (name, text) in enumerate(left_with["raises_what_cannot_be_sent"]):
        assert name == ("Stubborn" if rank == 1 else "RuntimeError")
        assert "this and that" in text
    for name, text in left_with["returns_what_cannot_be_sent"]:
        assert name in ("AttributeError", "PicklingError")
        assert "lambda" in text


@NEEDS_MPI
@pytest.mark.parametrize(
    ("name", "said"), [("raises_while_others_wait", "KeyError: 'lost the key'"), ("leaves_python", "SystemExit: 0")]
)
def test_what_nobody_catches_ends_the_job_with_its_traceback(name, said):
    finished = of_programs("--uncaught", name)
    assert finished.returncode not in (0, 124)
    assert said in finished.stderr
    assert f"in {name}" in finished.stderr
    assert finished.stdout == ""


@NEEDS_MPI
def test_ranks_are_no_more_than_processes():
    program = (
        "from commbounds.collectives.ranks import MpiWorld\n"
        "world = MpiWorld()\n"
        "for P in (0, 2):\n"
        "    try:\n"
        "        world.run(lambda comm: 1, P)\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
        "print(world.run(lambda comm: comm.size, 1)[0])\n"
    )
    finished = mpirun(1, sys.executable, "-c", program, seconds=60)
    assert finished.stdout.splitlines() == [
        "P must be in [1, 1], the number of processes, got 0",
        "P must be in [1, 1], the number of processes, got 2",
        "[1]",
    ]


@pytest.mark.parametrize("error", [ImportError("no such module"), RuntimeError("cannot load MPI library")])
def test_without_mpi_the_error_says_what_to_install(monkeypatch, tmp_path, error):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text(f"raise {error!r}")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "mpi4py"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'commbounds\[mpi\]'"):
        MpiWorld()
