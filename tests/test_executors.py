"""Executors: the same findings on all of them, and what becomes of a task whose worker dies."""

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import executor_tasks
import numpy as np
import pytest
from click.testing import CliRunner
from under_mpi import NEEDS_MPI, mpirun

from commbounds.cli import main
from commbounds.verify import Verdict, engine, executors, exhibition, load, run
from commbounds.verify.executors import Processes, TaskLost, executor
from commbounds.verify.trials import run_trials

CLAIMS = ("quantizers.sign.unbiased", "quantizers.nearestpower.unbiased", "sparsifiers.topk.two_workers")
NAMES = engine.select("*.wire")  # each is about another subject, and a task of its own
VICTIM = NAMES[2]
ALIKE = engine.select("sparsifiers.topk.*")  # all are about one subject
NEEDS_DASK = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed")


class Instead(Executor):
    """An executor that is given other work in place of every task, with the same arguments."""

    def __init__(self, within, work):
        self.within, self.work = within, work

    def submit(self, timed, call, /, *args):
        return self.within.submit(timed, self.work, *args)


def killing(within, folder, killers, deaths):
    folder.mkdir()
    return Instead(within, partial(executor_tasks.confront_together, str(folder), tuple(killers), deaths))


def starts(folder):
    return {path.name: len(path.read_text().splitlines()) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def pool():
    with executor("process", 2) as processes:
        yield processes


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """The bytes of a file of findings that were made in this process."""
    path = tmp_path_factory.mktemp("serial") / "f.jsonl"
    run(CLAIMS, seed=7, out=path)
    return path.read_bytes()


# --- processes --------------------------------------------------------------------------------------------------------


def test_processes_find_the_same_bytes(pool, serial, tmp_path):
    run(CLAIMS, seed=7, executor=pool, out=tmp_path / "f.jsonl")
    assert (tmp_path / "f.jsonl").read_bytes() == serial


def test_a_killed_process_loses_nothing_and_repeats_no_other_task(pool, tmp_path):
    out = tmp_path / "f.jsonl"
    found = run("*.wire", executor=killing(pool, tmp_path / "ran", [VICTIM], 1), out=out)
    assert [f.claim for f in found] == NAMES
    assert all(f.verdict is Verdict.ENUMERATED for f in found)
    assert starts(tmp_path / "ran") == {name: 2 if name == VICTIM else 1 for name in NAMES}
    assert load(out) == found


def test_a_claim_that_kills_three_times_is_an_error_that_names_it(pool, tmp_path):
    out = tmp_path / "f.jsonl"
    found = run("*.wire", executor=killing(pool, tmp_path / "ran", [VICTIM], 3), out=out)
    assert starts(tmp_path / "ran") == {name: 3 if name == VICTIM else 1 for name in NAMES}
    (lost,) = (f for f in found if f.verdict is not Verdict.ENUMERATED)
    assert (lost.claim, lost.verdict, lost.as_stated) == (VICTIM, Verdict.ERROR, False)
    assert lost.message.startswith("TaskLost: ")
    assert VICTIM in lost.message
    assert load(out) == found


def test_the_claims_of_a_task_that_kills_are_tried_one_by_one(pool, tmp_path):
    victim = ALIKE[2]
    found = run("sparsifiers.topk.*", executor=killing(pool, tmp_path / "ran", [victim], 99))
    assert [f.claim for f in found] == ALIKE
    assert [f.claim for f in found if f.verdict is Verdict.ERROR] == [victim]
    # three times together, then alone
    assert starts(tmp_path / "ran") == {name: 6 if name == victim else 4 for name in ALIKE}


def test_several_killers_at_once_end_too(pool, tmp_path):
    found = run("*.wire", executor=killing(pool, tmp_path / "ran", NAMES, 2))
    assert all(f.verdict is Verdict.ENUMERATED for f in found)
    assert starts(tmp_path / "ran") == dict.fromkeys(NAMES, 3)


def test_a_process_killed_from_outside_costs_only_its_own_task(pool, tmp_path):
    futures = [pool.submit(executor_tasks.waits, str(tmp_path), name) for name in ("one", "other")]
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.01)
    pid = int((tmp_path / "one").read_text())
    executors.os.kill(pid, signal.SIGKILL)
    while starts(tmp_path)["one"] < 2:
        time.sleep(0.01)
    (tmp_path / "go").touch()
    again, undisturbed = (future.result() for future in futures)
    assert again != pid
    assert [undisturbed] == [int(line) for line in (tmp_path / "other").read_text().splitlines()]


ORPHANS = """
import sys, time
sys.path.insert(0, {tests!r})
import executor_tasks
from commbounds.verify.executors import Processes
if __name__ == "__main__":
    pool = Processes(2)
    for name in ("one", "other"):
        pool.submit(executor_tasks.waits, {folder!r}, name)
    time.sleep(600)
"""


def test_processes_end_with_a_killed_main_process(tmp_path):
    program, folder = tmp_path / "main.py", tmp_path / "ran"
    folder.mkdir()
    program.write_text(ORPHANS.format(tests=str(Path(__file__).parent), folder=str(folder)))
    main = subprocess.Popen([sys.executable, str(program)])
    try:
        give_up = time.monotonic() + 300
        while len(pids := [path.read_text() for path in folder.iterdir()]) < 2 or not all(pids):
            assert main.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
    finally:
        main.kill()
        main.wait()
    for pid in map(int, " ".join(pids).split()):
        while Path(f"/proc/{pid}").exists() and "(zombie)" not in Path(f"/proc/{pid}/status").read_text():
            assert time.monotonic() < give_up, "it outlives the process that it works for"
            time.sleep(0.05)


def test_a_lost_exhibit_is_named(pool, monkeypatch):
    names = exhibition.select_exhibits()[:2]
    monkeypatch.setattr(exhibition, "select_exhibits", lambda _patterns: names)
    with pytest.raises(TaskLost, match=f"exhibit ({'|'.join(names)}): "):
        exhibition.exhibit_all(executor=Instead(pool, executor_tasks.dies))


def test_trials_go_on_where_a_process_died(pool, tmp_path):
    (tmp_path / "ran").mkdir()
    simulate = partial(executor_tasks.squares, str(tmp_path / "ran"), 20)
    found = run_trials(simulate, 50, tmp_path / "t", {}, executor=pool, chunk=10)
    assert np.array_equal(found[:, 0], np.arange(50.0) ** 2)
    assert starts(tmp_path / "ran") == {f"from {first}": 2 if first == 20 else 1 for first in range(0, 50, 10)}


def test_what_was_lost_is_said_with_its_arguments(pool):
    with pytest.raises(TaskLost, match=r"dies\(1, 'two', three=3\) was tried 3 times"):
        pool.submit(executor_tasks.dies, 1, "two", three=3).result()


def test_errors_of_tasks_are_theirs_and_cost_no_process(pool):
    before = pool.submit(executor_tasks.os.getpid).result()
    with pytest.raises(KeyError, match="no such key"):
        pool.submit(executor_tasks.fails).result()
    assert pool.submit(executor_tasks.os.getpid).result() == before


def test_after_the_end_nothing_is_taken_and_no_process_is_left(tmp_path):
    with executor("process", 2) as processes:
        pid = processes.submit(executor_tasks.os.getpid).result()
    with pytest.raises(ProcessLookupError):
        executors.os.kill(pid, 0)
    with pytest.raises(RuntimeError, match="cannot schedule new futures"):
        processes.submit(executor_tasks.os.getpid)


def test_leaving_early_cancels_what_has_not_begun(tmp_path):
    with executor("process", 2) as processes:
        futures = [processes.submit(executor_tasks.waits, str(tmp_path), f"{i}") for i in range(20)]
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        # what has begun goes on when the last one is cancelled: earlier the others might be through
        futures[-1].add_done_callback(lambda _: (tmp_path / "go").touch())
    assert sum(future.cancelled() for future in futures) >= 14
    assert all(future.done() for future in futures)


def test_findings_of_a_worker_with_other_versions_are_refused(pool, tmp_path):
    out = tmp_path / "f.jsonl"
    with pytest.raises(ValueError, match=r"a worker has other versions.*'numpy': '1.0'"):
        run(CLAIMS, executor=Instead(pool, executor_tasks.other_versions), out=out)
    assert not out.exists()


def test_one_process_is_this_one():
    with executor("process", 1) as nothing:
        assert nothing is None


# --- wrong usage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "workers", "rule"),
    [
        *((where, None, "executor must be one of process, dask:ADDRESS, dask:local, mpi, got") for where in ("x", "")),
        *((where, None, "executor must be one of") for where in ("dask", "dask:", "process:2", "mpi:4", "Process")),
        ("process", 0, "workers must be an integer that is at least 1, got 0"),
        ("process", 10**9, "workers must be at most [0-9]+, 64 a processor, got 1000000000"),
        ("mpi", 2, "executor mpi has its workers already"),
        ("dask:tcp://127.0.0.1:1", 2, "executor dask:tcp://127.0.0.1:1 has its workers already"),
    ],
)
def test_unknown_executors_are_refused(where, workers, rule):
    with pytest.raises(ValueError, match=rule), executor(where, workers):
        pytest.fail("it was taken")


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_numbers_of_processes_that_are_none_are_refused(workers):
    with pytest.raises(ValueError, match="workers must be an integer that is at least 1"):
        Processes(workers)


@pytest.mark.parametrize(("where", "missing"), [("dask:local", "distributed"), ("mpi", "mpi4py")])
def test_a_missing_extra_is_named(where, missing, monkeypatch, tmp_path):
    for variable in ("COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r"pip install 'commbounds\["), executor(where):
        pytest.fail("it was taken")
    for command in ("verify", "report", "figures"):
        result = CliRunner().invoke(main, [command, *CLAIMS, "--executor", where, "--out", str(tmp_path / "out")])
        assert result.exit_code == 2
        assert f"pip install 'commbounds[{where.partition(':')[0]}]'" in result.stderr
        assert not (tmp_path / "out").exists()


def test_an_unknown_executor_is_wrong_usage(monkeypatch, tmp_path):
    for variable in ("COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(tmp_path))
    result = CliRunner().invoke(main, ["verify", *CLAIMS, "--executor", "threads"])
    assert result.exit_code == 2
    assert "process, dask:ADDRESS, dask:local, mpi, got 'threads'" in result.stderr


def test_workers_that_fail_are_neither_wrong_usage_nor_a_wrong_finding(monkeypatch, tmp_path):
    for variable in ("COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(tmp_path))

    def lost(*_arguments, **_options):
        raise TaskLost("exhibit x: its process died")

    monkeypatch.setattr(exhibition, "opened_exhibition", lost)
    result = CliRunner().invoke(main, ["report", CLAIMS[0], "--out", str(tmp_path / "r"), "--jobs", "1"])
    assert result.exit_code == 3
    lines = result.stderr.strip().splitlines()
    assert lines[-1] == "Error: exhibit x: its process died"
    # before it: progress, and that the store is not used while a function of the package is another one
    assert not [line for line in lines[:-1] if line.startswith(("Error", "Traceback", "Usage", "  File"))]


# --- dask -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("distributed", reason="needs distributed")
    with executor("dask:local", 2) as cluster:
        yield cluster


@NEEDS_DASK
def test_dask_finds_the_same_bytes(dask, serial, tmp_path):
    run(CLAIMS, seed=7, executor=dask, out=tmp_path / "f.jsonl")
    assert (tmp_path / "f.jsonl").read_bytes() == serial


@NEEDS_DASK
def test_a_killed_worker_of_dask_loses_nothing_and_repeats_nothing_that_was_collected(dask, tmp_path):
    """What a worker had finished, and still held when it was killed, may be made again."""
    out, ran = tmp_path / "f.jsonl", tmp_path / "ran"
    ran.mkdir()
    work = partial(executor_tasks.kills_later, str(ran), str(out), VICTIM)
    found = run("*.wire", executor=Instead(dask, work), out=out)
    assert [f.claim for f in found] == NAMES
    assert all(f.verdict is Verdict.ENUMERATED for f in found)
    assert load(out) == found
    collected = [f.claim for f in load(ran / "collected")]
    (ran / "collected").unlink()
    times = starts(ran)
    assert len(collected) >= 3
    assert [times[name] for name in collected] == [1] * len(collected)
    assert times[VICTIM] == 2


@NEEDS_DASK
@pytest.mark.long
def test_a_claim_that_kills_every_worker_of_dask_is_an_error_that_names_it(dask, tmp_path):
    found = run("*.wire", executor=killing(dask, tmp_path / "ran", [VICTIM], 99))
    (lost,) = (f for f in found if f.verdict is not Verdict.ENUMERATED)
    assert (lost.claim, lost.verdict) == (VICTIM, Verdict.ERROR)
    assert lost.message.startswith("KilledWorker: ")


@NEEDS_DASK
@pytest.mark.parametrize("listening", [False, True], ids=["nobody", "a stranger"])
def test_an_address_without_a_scheduler_is_said_in_time(listening, monkeypatch):
    monkeypatch.setattr(executors, "_ANSWERS", 1.0)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        if listening:
            port.listen()
        address = f"tcp://127.0.0.1:{port.getsockname()[1]}"
        began = time.monotonic()
        message = f"no Dask scheduler with workers answers at '{address}'"
        with pytest.raises(ConnectionError, match=message), executor(f"dask:{address}"):
            pytest.fail("it was taken")
        assert time.monotonic() - began < 120


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and a worker, as processes of their own, and the scheduler's address."""
    pytest.importorskip("distributed", reason="needs distributed")
    told, started = tmp_path / "scheduler.json", []
    for part in (
        ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", told),
        ("worker", "--scheduler-file", told, "--nthreads", "1", "--no-dashboard", "--local-directory", tmp_path),
    ):
        command = [sys.executable, "-m", f"distributed.cli.dask_{part[0]}", *map(str, part[1:])]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True))
        while not told.exists():
            assert started[-1].poll() is None
            time.sleep(0.1)
    yield json.loads(told.read_text())["address"], started[0]
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@NEEDS_DASK
@pytest.mark.long
def test_after_a_lost_scheduler_the_same_command_goes_on_from_the_file(cluster, tmp_path):
    """One line, status 3; what was found before is there, and is not computed again."""
    address, scheduler = cluster
    out = tmp_path / "f.jsonl"
    command = [sys.executable, "-m", "commbounds", "verify", "*.wire", "--seed", "7", "--out", str(out)]
    lost = subprocess.Popen([*command, "--executor", f"dask:{address}"], stderr=subprocess.PIPE, text=True)
    while not (out.exists() and out.stat().st_size):
        assert lost.poll() is None
        time.sleep(0.05)
    os.killpg(scheduler.pid, signal.SIGKILL)
    _, said = lost.communicate(timeout=300)
    kept = out.read_bytes()
    assert lost.returncode == 3, said
    assert "the cluster has given up its tasks" in " ".join(said.split())
    assert "Traceback" not in said, said
    assert 0 < len(load(out)) < len(NAMES)
    subprocess.run([*command, "--jobs", "1"], check=True, timeout=1800)
    assert [finding.claim for finding in load(out)] == NAMES
    assert set(kept.splitlines()) <= set(out.read_bytes().splitlines())


# --- mpi --------------------------------------------------------------------------------------------------------------


def verified_under_mpi(out, *before, ranks=3, patterns=CLAIMS, seconds=200):
    return mpirun(
        ranks,
        *(sys.executable, *before, "-m", "commbounds", "verify", *patterns),
        *("--seed", "7", "--executor", "mpi", "--out", out),
        seconds=seconds,
    )


@NEEDS_MPI
def test_ranks_find_the_same_bytes_and_one_of_them_prints(serial, tmp_path):
    done = verified_under_mpi(tmp_path / "f.jsonl")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f.jsonl").read_bytes() == serial
    assert done.stdout.count("3 claims: ") == 1
    assert "Traceback" not in done.stderr


@NEEDS_MPI
@pytest.mark.long
def test_a_pool_that_mpi4py_started_is_used(serial, tmp_path):
    done = verified_under_mpi(tmp_path / "f.jsonl", "-m", "mpi4py.futures")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f.jsonl").read_bytes() == serial
    assert done.stdout.count("3 claims: ") == 1


@NEEDS_MPI
@pytest.mark.long
def test_one_rank_alone_is_wrong_usage(tmp_path):
    done = verified_under_mpi(tmp_path / "f.jsonl", ranks=1)
    assert done.returncode == 2
    assert "executor mpi needs ranks beside the first: mpirun -n 2" in done.stderr


@NEEDS_MPI
@pytest.mark.long
def test_wrong_usage_under_mpirun_ends_all_ranks(tmp_path):
    done = verified_under_mpi(tmp_path / "f.jsonl", patterns=("nothing",))
    assert done.returncode == 2
    # MPI ends the others when one has ended: that may be before or after they say it, too
    assert 1 <= done.stderr.count("no claim matches 'nothing'") <= 3
    assert "Traceback" not in done.stderr


LOSING_A_RANK = """
import os, signal, sys, time
from commbounds.verify import engine
from commbounds.verify.executors import executor
def confront_together(names, budget, seed, right=engine.confront_together):
    if sys.argv[2] in names:
        while open(sys.argv[1]).read().count("\\n") < len(sys.argv) - 4:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)
    return right(names, budget, seed)
engine.confront_together = confront_together
with executor("mpi") as ranks:
    engine.run(sys.argv[3:], "quick", 7, ranks, out=sys.argv[1])
"""


@NEEDS_MPI
@pytest.mark.long
def test_after_a_lost_rank_the_same_command_goes_on_from_the_file(tmp_path, serial):
    """MPI ends the job; what was found before is not computed again."""
    out, program = tmp_path / "f.jsonl", tmp_path / "loses.py"
    program.write_text(LOSING_A_RANK)
    # the last of the claims that are handed out, to the one worker
    lost = mpirun(2, sys.executable, program, out, engine.select(CLAIMS)[-1], *CLAIMS, seconds=200)
    assert lost.returncode not in (0, 2)
    kept = out.read_bytes()
    assert [f.claim for f in load(out)] == engine.select(CLAIMS)[:-1]
    done = verified_under_mpi(out)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == serial
    assert serial.startswith(kept)
