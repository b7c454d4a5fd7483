"""The store: the same bytes again, never those of other sources, and nothing from where others write."""

import grp
import json
import os
import pwd
import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from given_evidence import evidence_for

from commbounds import folders
from commbounds.cli import main
from commbounds.verify import Finding, Verdict, engine, load, store
from commbounds.verify.confront import versions
from commbounds.verify.exhibit import Exhibit, Line, Panel
from commbounds.verify.exhibition import opened_exhibition
from commbounds.verify.store import Store

CLAIM = "sparsifiers.topk.wire"
OTHER = "sparsifiers.topk.contraction"
EXHIBIT = "feedback.shares"


def finding(name=CLAIM, **different):
    evidence = evidence_for(Verdict.ENUMERATED, 0.1 + 0.2)
    made = Finding(name, Verdict.ENUMERATED, True, evidence, tightness=0.1 + 0.2, seed=3, versions=versions())
    return replace(made, **different)


def exhibit():
    line = Line("measured", [1.0, 2.0], [0.5, float("nan")])
    return Exhibit(EXHIBIT, "Shares", "of two", (Panel("a", "x", "y", (line,)),), seed=3, versions=versions())


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "findings"


def opened(folder, **options):
    return Store(folder, options.pop("budget", "quick"), options.pop("seed", 3), **options)


@pytest.fixture
def kept(folder):
    opened(folder).keep(finding())
    (path,) = folder.iterdir()
    return path


# --- the same again ---------------------------------------------------------------------------------------------------


def test_what_is_kept_comes_back_as_the_same_bytes_with_its_date(folder, kept):
    held = opened(folder)
    assert held.finding(CLAIM).to_json() == finding().to_json()
    assert held.dates == {CLAIM: json.loads(kept.read_text().splitlines()[0])["date"]}
    assert held.finding(OTHER) is None


def test_exhibits_are_kept_as_well(folder):
    opened(folder).keep_exhibit(exhibit())
    held = opened(folder)
    assert held.exhibit(EXHIBIT).to_json() == exhibit().to_json()
    assert set(held.dates) == {EXHIBIT}


def test_an_error_is_made_again(folder):
    held = opened(folder)
    held.keep(finding(verdict=Verdict.ERROR, as_stated=False, message="MemoryError"))
    assert list(folder.iterdir()) == []


def test_a_run_that_forgets_keeps_what_it_finds(folder, kept):
    held = opened(folder, fresh=True)
    assert held.finding(CLAIM) is None
    held.keep(finding(tightness=0.5))
    assert opened(folder).finding(CLAIM).tightness == 0.5


# --- never of something else ------------------------------------------------------------------------------------------


def altered_sources(monkeypatch):
    monkeypatch.setattr(store, "_digest", lambda modules: "of other sources")


def altered_alpha(monkeypatch):
    monkeypatch.setattr(store, "claim_alpha", lambda: 1e-3)


def altered_machine(monkeypatch):
    monkeypatch.setattr(store, "computed_by", lambda: {"processor": "another"})


@pytest.mark.parametrize("altered", [altered_sources, altered_alpha, altered_machine])
def test_what_a_finding_depends_on_is_in_its_key(altered, folder, kept, monkeypatch):
    held = opened(folder)
    altered(monkeypatch)
    assert held.finding(CLAIM) is None


@pytest.mark.parametrize("other", [{"budget": "standard"}, {"seed": 4}], ids=str)
def test_budget_and_seed_are_in_the_key(other, folder, kept):
    assert opened(folder, **other).finding(CLAIM) is None


def test_settings_of_libraries_are_in_the_key(monkeypatch):
    before = store.computed_by.__wrapped__()
    for name, counts in {"OPENBLAS_NUM_THREADS": True, "NUMBA_CACHE_DIR": False, "COLUMNS": False}.items():
        with monkeypatch.context() as setting:
            setting.setenv(name, "12345")
            assert (store.computed_by.__wrapped__() != before) == counts


def test_claims_about_the_same_set_ups_count_for_each_other():
    """Their extremal inputs are drawn in each other's curves, also where they are in two columns."""
    assert set(store._columns("quantizers.terngrad.variance")) == {"quantizers", "shipped"}
    assert set(store._columns(CLAIM)) == {"sparsifiers"}


def test_what_was_made_while_a_source_changed_is_not_kept(folder):
    held = opened(folder, since=0.0)
    held.keep(finding())
    assert list(folder.iterdir()) == []


def test_what_was_put_in_the_place_of_a_function_is_noticed(folder, monkeypatch):
    from commbounds.compressors import TopK

    opened(folder)
    for place, name in ((engine, "confront_together"), (TopK, "compress")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, lambda *_: None)
            with pytest.raises(ValueError, match=r"was replaced while the program ran"):
                opened(folder)
    opened(folder)


# --- damage, size, and who may write ----------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"\n", b"{}\n{}", b"[1]\n", b"\xff\xfe\n\x00"], ids=repr)
def test_a_damaged_file_is_dropped_and_told_of(damage, folder, kept):
    kept.write_bytes(damage)
    held = opened(folder)
    assert held.finding(CLAIM) is None
    assert held.damaged == [kept]
    assert not kept.exists()


def test_a_text_that_was_altered_is_dropped(folder, kept):
    kept.write_text(kept.read_text().replace("enumerated", "proved"))
    assert opened(folder).finding(CLAIM) is None
    assert not kept.exists()


def test_a_file_that_others_may_write_is_dropped(folder, kept):
    kept.chmod(0o666)
    assert opened(folder).finding(CLAIM) is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_may_write_is_refused(mode, folder, monkeypatch):
    monkeypatch.setattr(folders, "_of_one_user", lambda group: False)
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(ValueError, match=f"others may write to {folder}"):
        opened(folder)


def test_a_folder_above_that_others_may_write_is_refused_but_for_a_sticky_one(folder, tmp_path):
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o777)
    with pytest.raises(ValueError, match=f"others may write to {above}"):
        opened(above / "cache" / "findings")
    above.chmod(0o1777)
    opened(above / "cache" / "findings")
    (tmp_path / "link").symlink_to(above / "cache")
    above.chmod(0o777)
    with pytest.raises(ValueError, match="others may write"):
        opened(tmp_path / "link" / "findings")


def test_a_group_of_the_user_alone_is_no_other(folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o770)
    user = SimpleNamespace(pw_gid=7, pw_name="one")
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    for group, private in (
        (SimpleNamespace(gr_gid=7, gr_name="one", gr_mem=[]), True),
        (SimpleNamespace(gr_gid=7, gr_name="one", gr_mem=["one"]), True),
        (SimpleNamespace(gr_gid=7, gr_name="one", gr_mem=["two"]), False),
        (SimpleNamespace(gr_gid=7, gr_name="staff", gr_mem=[]), False),
        (SimpleNamespace(gr_gid=8, gr_name="one", gr_mem=[]), False),
    ):
        monkeypatch.setattr(grp, "getgrgid", lambda gid, group=group: group)
        assert folders.shared(folder.stat()) is not private
    monkeypatch.setattr(grp, "getgrgid", lambda gid: {}[gid])
    assert folders.shared(folder.stat())


def test_a_list_of_users_who_may_write_is_no_group_of_the_user_alone(folder, monkeypatch):
    monkeypatch.setattr(folders, "_of_one_user", lambda group: True)
    folder.mkdir()
    folder.chmod(0o770)
    folders.require_private(folder)
    entries = ((1, 7, -1), (2, 7, 65534), (4, 0, -1), (16, 7, -1), (32, 0, -1))  # kind, rights, whose: acl(5)
    try:
        listed = struct.pack("<i", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
        os.setxattr(folder, "system.posix_acl_access", listed)
    except (OSError, AttributeError):
        pytest.skip("this disk keeps no lists of users")
    with pytest.raises(ValueError, match=f"others may write to {folder}"):
        folders.require_private(folder)


def test_a_folder_of_somebody_else_is_refused(folder, monkeypatch):
    opened(folder)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner:
        with pytest.raises(ValueError, match="belongs to another user"):
            opened(folder)
    else:
        opened(folder)  # what is the system's is nobody else's


def test_where_nothing_can_be_kept_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="nothing can be kept in"):
        opened(tmp_path / "file" / "findings")


def test_what_was_used_least_recently_goes_first(folder):
    held = opened(folder)
    for place, name in enumerate((CLAIM, OTHER)):
        held.keep(finding(name))
        os.utime(next(folder.glob(f"{name}-*")), (place, place))
    assert opened(folder).finding(CLAIM) is not None  # used just now
    held.trim(max(path.stat().st_size for path in folder.iterdir()))
    assert opened(folder).finding(CLAIM) is not None
    assert opened(folder).finding(OTHER) is None


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_run_takes_from_the_store_and_not_from_a_file_that_it_does_not_confirm(folder, tmp_path):
    out = tmp_path / "f.jsonl"
    stale = finding(OTHER, tightness=0.25, evidence=evidence_for(Verdict.ENUMERATED, 0.25))
    out.write_text(stale.to_json() + "\n")
    held = opened(folder)
    held.keep(finding())
    with engine.opened_run([CLAIM, OTHER], "quick", 3, out=out, store=opened(folder)) as run:
        assert [task.names for task in run.tasks()] == [(OTHER,)]
        run._keep(finding(OTHER))
        assert [f.claim for f in run.findings()] == [CLAIM, OTHER]
    assert {f.to_json() for f in load(out)} == {finding().to_json(), finding(OTHER).to_json()}
    assert opened(folder).finding(OTHER) == finding(OTHER)


def test_a_run_anew_takes_nothing_from_its_file(tmp_path):
    out = tmp_path / "f.jsonl"
    out.write_text(finding().to_json() + "\n")
    with engine.opened_run([CLAIM], "quick", 3, out=out, anew=True) as run:
        assert [task.names for task in run.tasks()] == [(CLAIM,)]
    with engine.opened_run([CLAIM], "quick", 3, out=out) as run:
        assert run.tasks() == []


def test_exhibits_come_from_the_store_and_not_from_a_file_that_it_does_not_confirm(folder, tmp_path):
    out = tmp_path / "exhibits.jsonl"
    out.write_text(exhibit().to_json() + "\n")
    with opened_exhibition((EXHIBIT,), "quick", 3, out=out, store=opened(folder)) as shown:
        assert [task.names for task in shown.tasks()] == [(EXHIBIT,)]
        shown._keep(exhibit())
    with opened_exhibition((EXHIBIT,), "quick", 3, out=out, store=opened(folder)) as shown:
        assert shown.tasks() == []
        assert shown.exhibits()[0].to_json() == exhibit().to_json()


# --- commands ---------------------------------------------------------------------------------------------------------

CHEAP = "quantizers.sign.unbiased"


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def cache(tmp_path, monkeypatch):
    for variable in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, os.environ.get(variable, str(tmp_path / variable)))
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_commands_say_what_comes_from_the_store_and_find_the_same(cache, tmp_path):
    first = call("verify", CHEAP, "--json", "--jobs", "1").stdout
    assert "from the store" not in call("verify", CHEAP, "--fresh", "--jobs", "1").stdout
    (kept,) = (cache / "findings").iterdir()
    date = json.loads(kept.read_text().splitlines()[0])["date"]
    assert f"from the store, {date}" in " ".join(call("verify", CHEAP, "--jobs", "1").stdout.split())
    assert call("verify", CHEAP, "--json", "--jobs", "1").stdout == first
    call("report", CHEAP, "--jobs", "1", "--out", tmp_path / "r")
    assert (tmp_path / "r" / "findings.jsonl").read_text() == first
    assert f"{date}, and kept since" in (tmp_path / "r" / "c" / f"{CHEAP}.html").read_text("utf-8")
    call("report", CHEAP, "--single", "--jobs", "1", "--out", tmp_path / "s")
    assert f"{date}, and kept since" in (tmp_path / "s" / "index.html").read_text("utf-8")
    kept.write_text("torn")
    said = call("verify", CHEAP, "--jobs", "1").stderr
    assert "damaged files of the store are removed, and made again: 1" in said
    (cache / "findings").chmod(0o777)
    said = call("report", CHEAP, "--jobs", "1", "--out", tmp_path / "r").stderr
    assert f"neither taken from the store nor kept in it: others may write to {cache / 'findings'}" in said
    assert "kept since" not in (tmp_path / "r" / "c" / f"{CHEAP}.html").read_text("utf-8")
