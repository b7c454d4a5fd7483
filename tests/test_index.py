"""What is listed without the book: the same as the book says, made anew when its sources change."""

import json
import subprocess
import sys
from dataclasses import asdict

import click
import pytest

from commbounds import _index
from commbounds._index import check_patterns, indexed_claims, indexed_replays, known_claim, meant, of_names
from commbounds.theory import claims
from commbounds.verify.replays import REPLAYS


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_index_says_what_the_book_says(cache):
    expected = [(c.name, str(c.kind), str(c.stands), str(c.source.tag), c.title) for c in claims().values()]
    for _ in range(2):  # made, and read
        assert [tuple(asdict(entry).values()) for entry in indexed_claims()] == expected


def test_what_was_kept_is_read_and_what_is_stale_or_broken_is_made_anew(cache, monkeypatch):
    made = []
    build = _index._claims_of_the_book
    monkeypatch.setattr(_index, "_claims_of_the_book", lambda: made.append(1) or build())
    whole = indexed_claims()
    (path,) = (cache / "index").iterdir()
    assert indexed_claims() == whole
    assert len(made) == 1
    held = path.read_text()
    for broken in (held[:100], "[]", json.dumps({**json.loads(held), "digest": "of other sources"})):
        path.write_text(broken)
        assert indexed_claims() == whole
    assert len(made) == 4
    assert path.read_text() == held


def test_a_further_column_has_an_index_of_its_own(cache, monkeypatch, tmp_path):
    ours = _index._folders("theory")
    column = tmp_path / "further" / "theory" / "other"
    column.mkdir(parents=True)
    (column / "__init__.py").write_text("one = 1\n")
    monkeypatch.setenv("COMMBOUNDS_COLUMNS", str(tmp_path / "further"))
    folders = _index._folders("theory")
    assert folders == [*ours, column.parent]
    before = _index._digest(_index._sources(folders))
    (column / "__init__.py").write_text("one = 2\n")
    assert _index._digest(_index._sources(folders)) != before


def test_a_cache_that_cannot_be_written_is_said_and_does_not_matter(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path / "file"))
    assert len(indexed_claims()) == len(claims())
    assert "the index is not kept" in capsys.readouterr().err


def test_every_replay_says_what_it_is(cache):
    described = indexed_replays()
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
    indexed_claims(), indexed_replays()  # so that they are there
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
