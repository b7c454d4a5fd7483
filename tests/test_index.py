"""What is listed without the book: the same as the book says, made anew when its sources change."""

import json
import subprocess
import sys
from dataclasses import astuple

import click
import pytest

from commbounds import columns
from commbounds._index import check_patterns, known_claim, meant, of_names
from commbounds.theory import claims
from commbounds.verify import contents
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
