"""Files that only one run writes to, and folders that are tried before any work is done for them."""

import signal
import subprocess
import sys

import pytest

from commbounds.folders import ready, require_writable
from commbounds.verify import run
from commbounds.verify.exhibition import exhibit_all
from commbounds.verify.writing import exclusive_lock

HOLDS = """
import sys, time
from pathlib import Path
from commbounds.verify.writing import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def held(tmp_path):
    """A file that another process holds, and the process."""
    out = tmp_path / "f.jsonl"
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield out, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_run_is_refused_with_a_sentence_and_writes_nothing(held):
    out, _ = held
    for second in (run, exhibit_all):
        with pytest.raises(ValueError, match=r"another run is writing to .*f\.jsonl"):
            second("*.nothing" if second is exhibit_all else "sparsifiers.topk.wire", out=out)
    assert not out.exists()


def test_a_run_that_was_killed_lets_go(held):
    out, process = held
    process.send_signal(signal.SIGKILL)
    process.wait()
    with exclusive_lock(out):
        assert [path.name for path in out.parent.iterdir()] == [".f.jsonl.lock"]
    assert not list(out.parent.iterdir())


def test_one_after_another_and_after_an_error(tmp_path):
    out = tmp_path / "new" / "f"
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), exclusive_lock(out):
            raise ZeroDivisionError
    with (
        exclusive_lock(out),
        exclusive_lock(out.with_name("g")),
        pytest.raises(ValueError, match="another run"),
        exclusive_lock(out),
    ):
        pass
    assert not list(out.parent.iterdir())


def test_a_lock_that_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    from commbounds.verify import writing

    out, seen = tmp_path / "f", []

    def first_removed(path, handle, right=writing._is):
        seen.append(path)
        if len(seen) == 1:
            path.unlink()
        return right(path, handle)

    monkeypatch.setattr(writing, "_is", first_removed)
    with exclusive_lock(out), pytest.raises(ValueError, match="another run"), exclusive_lock(out):
        pass
    assert len(seen) == 2


def test_where_nothing_can_be_written_is_said_at_once(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"nothing can be written to .*file"):
        ready(tmp_path / "file")
    with pytest.raises(ValueError, match=r"nothing can be written to .*file"):
        run("sparsifiers.topk.wire", out=tmp_path / "file" / "f.jsonl")
    with pytest.raises(ValueError, match=r"nothing can be written to .*file"):
        require_writable(tmp_path / "file" / "deeper")
    require_writable(tmp_path / "new" / "deeper")
    assert not (tmp_path / "new").exists()
    ready(tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())
