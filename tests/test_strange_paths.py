"""Links, pipes, devices and folders in the place of files: refused, or made again; never waited for or followed."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.folders import regular
from commbounds.verify.store import Store
from commbounds.verify.vectors.files import parsed
from commbounds.verify.writing import exclusive_lock

CLAIM = "quantizers.sign.unbiased"


def put_pipe(path):
    os.mkfifo(path)


def put_link(path):
    path.symlink_to("/etc/passwd")


def put_broken_link(path):
    path.symlink_to(path.with_name("nowhere"))


def put_folder(path):
    path.mkdir()


def put_loop(path):
    path.symlink_to(path)


STRANGE = [put_pipe, put_link, put_broken_link, put_folder, put_loop]


@pytest.mark.parametrize("put", STRANGE)
def test_what_is_kept_is_read_from_regular_files_only(put, tmp_path):
    put(tmp_path / "x.json")
    with pytest.raises(ValueError, match="must be a regular file"):
        regular(tmp_path / "x.json")
    assert parsed(tmp_path / "x.json") == {}


@pytest.mark.parametrize("put", STRANGE)
def test_an_entry_of_the_store_that_is_no_file_is_made_again(put, tmp_path, monkeypatch):
    store = Store(tmp_path / "store", "quick", 0)
    monkeypatch.setattr("commbounds.verify.store._of_claim", lambda claim: frozenset())
    monkeypatch.setattr(store, "_key", lambda name, modules: "0" * 64)
    path = store._path(CLAIM, "0" * 64)
    put(path)
    assert store.finding(CLAIM) is None
    assert store.damaged == [path]
    assert not os.path.lexists(path)


@pytest.mark.parametrize("put", [put_pipe, put_folder])
@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", CLAIM, "--out"),
        ("report", CLAIM, "--findings"),
        ("figures", CLAIM, "--findings"),
        ("check", "m.py:s", "--out"),
        ("check", "m.py:s", "--junit"),
        ("check", "m.py:s", "--baseline"),
        ("check", "m.py:s", "--expected-failures"),
    ],
)
def test_commands_refuse_what_is_no_regular_file(put, arguments, tmp_path):
    put(tmp_path / "p")
    result = CliRunner().invoke(main, [*arguments, str(tmp_path / "p")])
    assert result.exit_code == 2
    assert "regular file" in " ".join(result.output.split()) or "is a directory" in result.output


def test_devices_are_not_replaced():
    for arguments in (("verify", CLAIM, "--out"), ("check", "m.py:s", "--out")):
        result = CliRunner().invoke(main, [*arguments, "/dev/null"])
        assert result.exit_code == 2
        assert "no device" in result.output
    assert not Path("/dev/null").is_file()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / ".f.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="symbolic link"), exclusive_lock(tmp_path / "f"):
        pass
    assert not (tmp_path / "elsewhere").exists()
    os.mkfifo(tmp_path / "p")
    with pytest.raises(ValueError, match="must be a regular file"), exclusive_lock(tmp_path / "p"):
        pass


def test_a_site_removes_nothing_outside_of_its_folder(tmp_path):
    from commbounds.figures.publishing import FILES, _published

    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "a.html").write_text("mine")
    site = tmp_path / "site"
    site.mkdir()
    (site / "ref").symlink_to(tmp_path / "precious")
    (site / "b.html").write_text("ours")
    names = ["ref/a.html", "../precious/a.html", "/etc/passwd", "b.html", "..", ""]
    (site / FILES).parent.mkdir()
    (site / FILES).write_text(json.dumps({"commbounds": "x", "files": names}))
    assert _published(site) == {"b.html"}
