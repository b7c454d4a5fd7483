"""What is listed without the book: the same as the book says, made anew when its sources change."""

import json
import os
import subprocess
import sys
from dataclasses import astuple

import click
import pytest
from click.testing import CliRunner

from commbounds import columns
from commbounds._index import check_patterns, known_claim, meant, of_names
from commbounds.cli import main
from commbounds.theory import claims
from commbounds.theory.column import Column, current_name, former_names
from commbounds.verify import confront, contents, load, select
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.contents import claim_entries, study_entries
from commbounds.verify.exhibits import EXHIBITS, exhibit_names
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.replays import REPLAYS, replay_words


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def again():
    """As in a new process: what was read and told is forgotten, but for what is kept in files."""
    for told in (contents._index, contents._recalled, contents._claim_entries, contents._study_entries):
        told.cache_clear()


def test_the_index_says_what_the_book_says(cache):
    expected = [(c.name, str(c.kind), str(c.stands), str(c.source.tag), c.title) for c in claims().values()]
    for _ in range(2):  # made, and read
        again()
        assert [astuple(entry) for entry in claim_entries()] == expected
        assert list(study_entries()) == list(EXPERIMENTS)
        assert exhibit_names() == list(EXHIBITS)
        for name, entry in study_entries().items():
            study = EXPERIMENTS[name]
            assert (entry.subject, entry.sampled) == (study.subject, study.sampled)
            assert bool(entry.set_ups) == isinstance(study, CompressorStudy)


def test_studies_of_equal_set_ups_are_told_of_by_the_same_words():
    studies = [study for study in EXPERIMENTS.values() if isinstance(study, CompressorStudy)]
    words = {}
    for study in studies:
        assert words.setdefault(study.set_ups, study.set_ups.words) == study.set_ups.words
    assert len(set(words.values())) > 20


def test_what_was_kept_is_read_and_what_is_stale_or_broken_is_made_anew(cache, monkeypatch):
    made = []
    make = contents._claims
    monkeypatch.setattr(contents, "_claims", lambda column: made.append(column) or make(column))
    again()
    whole = claim_entries()
    assert made == list(columns.columns())
    (path,) = (cache / "index").glob("claims-*.json")
    again()
    assert claim_entries() == whole
    assert len(made) == len(columns.columns())
    held = path.read_text()
    stale = json.loads(held)
    stale["oktopk"]["digest"] = "of other sources"
    for broken, anew in (
        (held[:100], list(columns.columns())),
        ("[]", list(columns.columns())),
        (json.dumps(stale), ["oktopk"]),
    ):
        made.clear()
        path.write_text(broken)
        again()
        assert claim_entries() == whole
        assert made == anew
        assert path.read_text() == held


def test_what_another_installation_read_is_not_read_again(cache, tmp_path, monkeypatch):
    again()
    whole = claim_entries()
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(tmp_path / "further"))
    (tmp_path / "further" / "theory").mkdir(parents=True)
    (tmp_path / "further" / "theory" / "few.py").write_text(
        "from commbounds.theory.column import Column\nCOLUMN = Column('few', 'Few', 'None at all.')\nCLAIMS = ()\n"
    )
    made = []
    make = contents._claims
    monkeypatch.setattr(contents, "_claims", lambda column: made.append(column) or make(column))
    again()
    assert claim_entries() == whole
    assert made == ["few"]
    assert len(list((cache / "index").glob("claims-*.json"))) == 2


def test_indices_of_few_installations_are_kept(cache, monkeypatch):
    monkeypatch.setattr(contents, "MOST", 3)
    for i in range(5):
        contents._keep(cache / "index" / f"claims-{i}.json", {})
        os.utime(cache / "index" / f"claims-{i}.json", (i, i))
    contents._keep(cache / "index" / "claims-last.json", {})
    assert sorted(path.stem for path in (cache / "index").iterdir()) == ["claims-3", "claims-4", "claims-last"]


def test_what_others_may_write_to_is_neither_read_nor_written(cache, capsys):
    (cache / "index").mkdir(parents=True)
    (cache / "index").chmod(0o777)
    again()
    assert len(claim_entries()) == len(claims())
    assert "the index is not kept" in capsys.readouterr().err
    assert not list((cache / "index").iterdir())


def test_a_cache_that_cannot_be_written_is_said_and_does_not_matter(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "file"))
    again()
    assert len(claim_entries()) == len(claims())
    assert "the index is not kept" in capsys.readouterr().err


def test_every_replay_says_what_it_is(cache):
    again()
    described = replay_words()
    assert list(described) == list(REPLAYS)
    assert all(len(about) > 30 and about.endswith(".") for about in described.values())


# --- names that were typed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("qsgd", "did you mean '*qsgd*'"),
        ("oktopk", "did you mean 'oktopk.*'"),
        ("oktpk.*", "'*oktopk*'"),
        ("*.contracton", "'*contraction*'"),
        ("zzzzzzzzzz", "`commbounds claims` lists them"),
    ],
)
def test_a_pattern_that_matches_nothing_is_answered_with_one_that_does(typed, suggested):
    with pytest.raises(click.UsageError, match="no claim matches") as raised:
        check_patterns([typed])
    assert suggested in raised.value.message


def test_patterns_that_match_are_not_commented_on():
    check_patterns(["oktopk.*", "*.topk.*", "sparsifiers.topk.wire"])
    check_patterns([])


def test_what_is_suggested_matches():
    names = ["a.alpha.one", "a.beta.two"]
    assert meant("alpha", names) == "; did you mean '*alpha*' (1 of 2)?"
    assert meant("a", names) == "; did you mean 'a.*' (2 of 2)?"


def test_names_that_are_near_are_suggested():
    with pytest.raises(click.UsageError, match=r"no claim is called 'sparsifiers.topk.wir'; did you mean"):
        known_claim("sparsifiers.topk.wir")
    with pytest.raises(click.UsageError, match="no replay is called 'oktopk-volum'; did you mean oktopk-volume"):
        of_names("oktopk-volum", ["oktopk-volume", "other"], "replay")
    of_names("other", ["oktopk-volume", "other"], "replay")


# --- what costs nothing -----------------------------------------------------------------------------------------------


REFUSED = (
    ("verify", "qsgd"),
    ("report", "--out", "/proc/none"),
    ("figures", "--out", "/proc/none"),
    ("vectors", "--out", "/proc/none"),
    ("verify", "--out", "/proc/none/findings.jsonl"),
    ("verify", "--executor", "dask:"),
    ("replay", "nothing"),
    ("claims", "--show", "nothing"),
)


def test_lists_and_refusals_load_nothing_heavy():
    claim_entries(), study_entries(), replay_words()  # so that they are there
    program = "\n".join(
        [
            "import sys",
            "from commbounds.cli import main",
            f"for arguments in {[['claims', 'oktopk.*'], ['replay'], *map(list, REFUSED)]!r}:",
            "    try:",
            "        main(arguments)",
            "    except SystemExit as end:",
            "        print('ended with', end.code)",
            "print(*sys.modules)",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *lines, modules = done.stdout.splitlines()
    codes = [int(line.split()[-1]) for line in lines if line.startswith("ended with")]
    assert codes == [0, 0, *[2] * len(REFUSED)]
    heavy = {"numba", "sympy", "matplotlib", "numpy", "scipy", "hypothesis", "rich"}
    assert not heavy & set(modules.split())
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == len(REFUSED)


# --- claims that were renamed -----------------------------------------------------------------------------------------

RENAMED = {former: now for column in columns.columns() for former, now in former_names(column).items()}


def test_former_names_are_those_of_no_claim_and_lead_to_one():
    known = {entry.name for entry in claim_entries()}
    assert RENAMED
    assert not RENAMED.keys() & known
    assert set(RENAMED.values()) <= known
    assert all(current_name(former) == now for former, now in RENAMED.items())
    assert current_name("nosuch.one.two") == "nosuch.one.two"
    assert current_name("") == ""


def test_commands_take_a_former_name_and_say_what_it_is_now():
    former, now = next(iter(RENAMED.items()))
    for arguments in (["claims", former], ["claims", "--show", former]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert f"{former} is called {now} now" in result.stderr
        assert now in result.stdout
    assert select([former]) == select([now]) == [now]


def test_findings_under_a_former_name_are_read(tmp_path):
    former, now = next(iter(RENAMED.items()))
    finding = confront(now)
    (tmp_path / "old.jsonl").write_text(finding.to_json().replace(f'"{now}"', f'"{former}"') + "\n")
    assert [read.claim for read in load(tmp_path / "old.jsonl")] == [now]


def test_a_column_renames_its_own_claims_once():
    for renamed in (
        {"other.a.b": "moons.a.c"},
        {"moons.a.b": "other.a.c"},
        {"moons.a": "moons.b", "moons.b": "moons.c"},
    ):
        with pytest.raises(ValueError, match="must be a former and a present name"):
            Column("moons", "Moons: none", "No story.", renamed=renamed)
