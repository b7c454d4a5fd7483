"""Variables that say where caches and homes are, odd in every way: a sentence, or the answer, and nothing elsewhere."""

import os
import pwd
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from test_odd_arguments import wrong

from commbounds.cli import main
from commbounds.folders import cache_folder, home, require_private

CLAIM = "quantizers.sign.unbiased"
NAMED = ("COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY", "XDG_CACHE_HOME")


def folder(path, mode=0o700, owner=None):
    path.mkdir()
    path.chmod(mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def file(path):
    path.write_text("kept")
    return path


def link(path, target):
    path.symlink_to(target)
    return path


PLACES = {
    "unset": lambda at: None,
    "empty": lambda at: "",
    "relative": lambda at: "rel/ative",
    "missing": lambda at: at / "not" / "there",
    "a space and colours": lambda at: at / " \x1b[31m\n",
    "no UTF-8": lambda at: at / "\udcff\udc80",
    "a file": lambda at: file(at / "file"),
    "below a file": lambda at: file(at / "file") / "x",
    "a dangling link": lambda at: link(at / "link", "nowhere/at/all"),
    "a link to itself": lambda at: link(at / "link", at / "link"),
    "a device": lambda at: "/dev/null",
    "of the system": lambda at: "/proc/nothing",
    "too long": lambda at: at / ("x" * 300),
    "for all": lambda at: folder(at / "shared", 0o777),
    "below one for all": lambda at: folder(folder(at / "shared", 0o777) / "own"),
    "somebody else's": lambda at: folder(at / "other", 0o755, 65534),
    "without leave to write": lambda at: folder(at / "closed", 0o500),
}
REFUSED = {"for all", "below one for all", "somebody else's"}
"""Where code might be theirs."""
USELESS = {"a file", "below a file", "a dangling link", "a link to itself", "a device", "of the system", "too long"}
"""Where no folder can be made."""


@pytest.fixture
def placed(tmp_path, monkeypatch):
    """What sets a variable to such a place, all others unset; gives a working folder, and a home by the system."""

    def place(variable, kind):
        if kind == "somebody else's" and os.geteuid():
            pytest.skip("only root gives folders away")
        for name in (*NAMED, "HOME"):
            monkeypatch.delenv(name, raising=False)
        known = folder(tmp_path / "known")
        monkeypatch.setattr(pwd, "getpwuid", lambda user: SimpleNamespace(pw_dir=str(known), pw_gid=0, pw_name="me"))
        value = PLACES[kind](folder(tmp_path / "at"))
        if value is not None:
            monkeypatch.setenv(variable, str(value))
        monkeypatch.chdir(folder(tmp_path / "cwd"))
        for name in NAMED[1:4]:  # what a command sets is unset again
            monkeypatch.setenv(name, os.environ.get(name, ""))
        return value

    return place


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR"])
def test_places_are_used_or_refused(variable, kind, placed, tmp_path, record_property):
    value = placed(variable, kind)
    for arguments in (["claims", CLAIM], ["verify", CLAIM, "--jobs", "1", "--out", "f.jsonl"]):
        result = CliRunner().invoke(main, arguments)
        assert not wrong(result), (arguments, result.output)
        if kind in REFUSED and (variable, kind) != ("HOME", "below one for all"):  # above a home nothing is looked at
            assert result.exit_code == 2
            assert "may write to" in result.stderr or "belongs to another user" in result.stderr
        elif kind != "too long" and (arguments[0] == "claims" or kind not in USELESS):
            assert result.exit_code == 0, (arguments, result.output)
    made = {path.name for path in Path().iterdir()}
    own = variable in ("COMMBOUNDS_CACHE", "NUMBA_CACHE_DIR")  # whose words are as good as --out
    assert made <= {"f.jsonl"} | ({"rel"} if own and kind == "relative" else set()), (value, made)
    for kept in (tmp_path / "at" / "file", tmp_path / "at" / "link"):
        assert not kept.is_file() or kept.read_text() == "kept"
    record_property("tried", 2)


def test_a_user_without_a_home_is_asked_for_a_folder(placed, monkeypatch, tmp_path):
    """As in containers that run under a number that no table has."""
    placed("HOME", "unset")

    def unknown(user):
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert home() is None
    result = CliRunner().invoke(main, ["claims", CLAIM])
    assert result.exit_code == 2
    assert "COMMBOUNDS_CACHE" in result.stderr
    require_private(folder(tmp_path / "private"))  # up to the root, where there is no home
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "private"))
    assert CliRunner().invoke(main, ["claims", CLAIM]).exit_code == 0


@pytest.mark.parametrize("kind", ["unset", "empty", "relative"])
def test_a_home_is_absolute(kind, placed, tmp_path):
    placed("HOME", kind)
    assert cache_folder() == tmp_path / "known" / ".cache" / "commbounds"


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["empty", "relative", "a file", "of the system", "no UTF-8"])
def test_kernels_are_compiled_wherever_the_cache_is(kind, placed):
    """In a program of its own, where Numba has not been loaded before its variables are set."""
    placed("COMMBOUNDS_CACHE" if kind == "no UTF-8" else "HOME", kind)
    command = [sys.executable, "-m", "commbounds", "claims", CLAIM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
