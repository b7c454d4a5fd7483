"""The command line, in this process and as a program."""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from commbounds import __version__
from commbounds.cli import main
from commbounds.figures import versions
from commbounds.theory import claims
from commbounds.verify import Verdict, engine, load, run
from commbounds.verify.writing import exclusive_lock

CHEAP = "quantizers.sign.unbiased"
PAIR = ("quantizers.sign.unbiased", "quantizers.nearestpower.unbiased")
DRAWN = ("quantizers.sign.contraction", "quantizers.nearestpower.contraction")
"""Claims with figures: what is asked of every compressor has none."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One folder for all tests here: what the processes of one have compiled is there for those of the next."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def caches(cache, monkeypatch):
    """Commands place caches by setting the environment: here that is undone after every test."""
    for variable in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(cache / variable.lower()))


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    if code != 1:
        assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    path = tmp_path_factory.mktemp("given") / "findings.jsonl"
    run(DRAWN, out=path)
    return path


# --- claims -----------------------------------------------------------------------------------------------------------


def test_claims_lists_the_book():
    output = call("claims").stdout
    for name in claims():
        assert name in output
    assert output.rstrip().endswith(f"{len(claims())} claims")


def test_claims_by_pattern():
    lines = call("claims", "*.topk.w*").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["sparsifiers.topk.wire"]
    assert lines[-1] == "1 claims"


SHOWN = [pytest.param(name, marks=() if place % 8 == 0 else pytest.mark.long) for place, name in enumerate(claims())]
"""Every claim; one in eight by default."""


@pytest.mark.parametrize("name", SHOWN)
def test_claims_shows_every_claim_whole(name):
    claim, output = claims()[name], call("claims", "--show", name).stdout
    for text in (claim.title, claim.source.work, claim.note, claim.source.proof, str(claim.stands)):
        assert text in output
    assert claim.tightness is None or claim.extremal in output
    assert claim.corrected_by in output


@pytest.mark.parametrize("arguments", [("claims", "nothing*"), ("claims", "--show", "nothing")])
def test_unknown_claims_are_wrong_usage(arguments):
    assert "nothing" in call(*arguments, code=2).stderr


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_prints_a_table_and_exits_with_0():
    output = call("verify", CHEAP, "--jobs", "1").stdout
    assert CHEAP in output
    assert "refuted" in output
    assert output.splitlines()[-1] == "1 claims: 1 refuted; all as the book says"


def test_verify_writes_json_lines():
    lines = call("verify", *PAIR, "--json", "--jobs", "1").stdout.splitlines()
    assert [json.loads(line)["claim"] for line in lines] == sorted(PAIR, key=list(claims()).index)


def test_verify_streams_to_a_file_and_goes_on_from_it(tmp_path, monkeypatch):
    out = tmp_path / "f.jsonl"
    call("verify", CHEAP, "--out", out, "--seed", "5")
    asked, confront = [], engine.confront_together
    monkeypatch.setattr(engine, "confront_together", lambda *a: asked.append(a) or confront(*a))
    call("verify", *PAIR, "--out", out, "--seed", "5", "--jobs", "1")
    assert asked == [([PAIR[1]], "quick", 5)]
    assert {f.claim for f in load(out)} == set(PAIR)
    assert "another run" in call("verify", *PAIR, "--out", out, "--seed", "6", code=2).stderr


@pytest.mark.wide
def test_verify_in_processes_finds_the_same():
    one, two = (call("verify", *PAIR, "--json", "--jobs", jobs).stdout for jobs in ("1", "2"))
    assert one == two


def disagreeing(names, budget, seed):
    message = "the book says [holds], but [bold]a counterexample was found"
    return [replace(engine_finding(name, budget, seed), as_stated=False, message=message) for name in names]


def engine_finding(name, budget, seed):
    from commbounds.verify import Finding

    return Finding(name, Verdict.REFUTED, True, (), budget=budget, seed=seed, versions=engine.versions())


def test_verify_exits_with_1_where_a_finding_is_not_as_the_book_says(monkeypatch):
    monkeypatch.setattr(engine, "confront_together", disagreeing)
    output = call("verify", "sparsifiers.topk.wire", "--jobs", "1", code=1).stdout
    assert "1 not as the book says" in output
    assert "the book says [holds], but [bold]a counterexample was found" in " ".join(output.split())
    line = call("verify", "sparsifiers.topk.wire", "--json", "--jobs", "1", code=1).stdout
    assert json.loads(line)["as_stated"] is False


def half_deaf(names, budget, seed):
    found = {
        "quantizers.qsgd.variance": {
            "mutants": 9,
            "untested": ("n - 1 for n",),
            "regimes": {"n >= 4*s**2": 3, "otherwise": 0},
        },
        "sparsifiers.topk.wire": {"mutants": 16},
    }
    return [replace(engine_finding(name, budget, seed), verdict=Verdict.ENUMERATED, **found[name]) for name in names]


def test_what_no_case_tested_is_listed(monkeypatch):
    monkeypatch.setattr(engine, "confront_together", half_deaf)
    pair = ("quantizers.qsgd.variance", "sparsifiers.topk.wire")
    assert call("verify", *pair, "--unpinned", "--jobs", "1").stdout.splitlines() == [
        "quantizers.qsgd.variance  formula: n - 1 for n  no reason",
        "quantizers.qsgd.variance  regime: otherwise  no reason",
        "2 things that no case tested",
    ]
    *_, first, second, third, formulas, total = call("verify", *pair, "--jobs", "1").stdout.splitlines()
    assert first.split() == ["column", "claims", "enumerated", "pinned"]
    assert second.split() == ["sparsifiers", "1", "1", "16/16"]
    assert third.split() == ["quantizers", "1", "1", "8/9"]
    assert formulas == "formulas pinned down: 24/25 of their stronger neighbours refuted by some case"
    assert total == "2 claims: 2 enumerated; all as the book says"


def test_a_claim_is_shown_with_its_symbols_hypotheses_and_regimes():
    output = call("claims", "--show", "quantizers.qsgd.variance").stdout
    assert "\n  s: Positive quantisation levels.\n" in output
    assert "\nregimes: \n  n >= 4*s**2\n  otherwise\n" in output
    output = call("claims", "--show", "sparsifiers.topk.ceil_k").stdout
    assert "\n  keeps_ceiling: The compressor keeps ceil(mu n) entries.\n" in output


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "nothing"),
        ("verify", CHEAP, "--budget", "huge"),
        ("verify", CHEAP, "--seed", "-1"),
        ("verify", CHEAP, "--seed", "x"),
        ("verify", CHEAP, "--jobs", "0"),
        ("verify", CHEAP, "--surprise"),
        ("verify", CHEAP, "--out", "."),
        ("figures", CHEAP, "--format", "gif"),
        ("figures", CHEAP, "--format", ","),
        ("figures", "--findings", "missing.jsonl"),
        ("report", "--findings", "missing.jsonl"),
        ("surprise",),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_says_why(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments, code=2)
    assert result.stderr.startswith("Usage: ")
    assert "Error: " in result.stderr
    assert not result.stdout
    assert not list(tmp_path.iterdir())


def test_findings_that_are_none_are_wrong_usage(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("hello\n")
    for arguments in (("figures",), ("report",), ("verify", CHEAP)):
        option = "--out" if arguments[0] == "verify" else "--findings"
        assert "line 1" in call(*arguments, option, bad, code=2).stderr
    assert bad.read_text() == "hello\n"


def test_where_nothing_can_be_written_is_said_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "confront_together", lambda *_: pytest.fail("it worked"))
    (tmp_path / "file").touch()
    for command in ("verify", "figures", "report"):
        result = call(command, CHEAP, "--jobs", "1", "--out", tmp_path / "file" / "out", code=2)
        assert "nothing can be written to" in result.stderr


def test_two_runs_into_one_place_are_one_and_a_refusal(tmp_path):
    (out := tmp_path / "r").mkdir()
    with exclusive_lock(out / "findings.jsonl"):
        for arguments in (("report", "--out", out), ("verify", "--out", out / "findings.jsonl")):
            assert "another run is writing to" in call(*arguments, CHEAP, "--jobs", "1", code=2).stderr


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "confront_together", interrupted)
    out = tmp_path / "f.jsonl"
    assert f"goes on from {out}" in call("verify", CHEAP, "--jobs", "1", "--out", out, code=130).stderr
    assert call("verify", CHEAP, "--jobs", "1", code=130).stderr.splitlines()[-1] == "interrupted"


# --- figures and report -----------------------------------------------------------------------------------------------


def test_figures_draws_given_findings(findings, tmp_path):
    out = tmp_path / "drawn"
    output = call("figures", *DRAWN, "--findings", findings, "--out", out, "--format", "svg,pdf,svg").stdout
    assert output == f"4 files in {out}\n"
    assert {p.suffix for p in out.rglob("*") if p.is_file()} == {".svg", ".pdf"}
    assert call("figures", DRAWN[0], "--findings", findings, "--out", out, "--format", "png").stdout.startswith(
        "1 files"
    )
    assert "no finding that matches" in call("figures", "*.topk.*", "--findings", findings, code=2).stderr


def test_report_writes_a_site_or_one_page_from_given_findings(findings, tmp_path):
    out = tmp_path / "report"
    arguments = (*DRAWN, "--findings", findings, "--out", out)
    output = call("report", *arguments, "--address", "https://example.org/x").stdout
    page = out / "index.html"
    assert output == f"{page}: 2 claims, all as the book says\n"
    assert {path.stem for path in (out / "c").iterdir()} == set(DRAWN)
    for name in DRAWN:
        assert f"https://example.org/x/c/{name}.html" in (out / "c" / f"{name}.html").read_text(encoding="utf-8")
    pages = list(out.rglob("*.html"))
    assert len(pages) > 5
    for page_of_it in pages:
        assert f"given in <code>{findings.name}</code>" in page_of_it.read_text(encoding="utf-8")
    assert call("report", *arguments, "--single").stdout == output
    assert f"given in <code>{findings.name}</code>" in page.read_text(encoding="utf-8")
    assert [path.name for path in out.iterdir()] == ["index.html"]
    text = page.read_text(encoding="utf-8")
    assert all(f'id="{name}"' in text for name in DRAWN)


def test_sites_of_versions_lie_side_by_side(findings, tmp_path):
    out = tmp_path / "report"
    (out / "0.1.9").mkdir(parents=True)
    (out / "0.1.9" / "index.html").write_text("the former site")
    (out / "0.1.10").mkdir()
    (out / "0.1.10" / "index.html").write_text("the former site")
    (out / "drafts").mkdir()
    (out / "drafts" / "index.html").write_text("no version")
    arguments = (DRAWN[0], "--findings", findings, "--out", out, "--versioned")
    assert (
        str(out / __version__ / "index.html") in call("report", *arguments, "--address", "https://example.org").stdout
    )
    assert re.findall(r'href="([^"]*/index.html)"', (out / "index.html").read_text(encoding="utf-8")) == [
        f"{version}/index.html" for version in (__version__, "0.1.10", "0.1.9")
    ]
    cited = (out / __version__ / "c" / f"{DRAWN[0]}.html").read_text(encoding="utf-8")
    assert f"https://example.org/{__version__}/c/{DRAWN[0]}.html" in cited
    assert (out / "0.1.9" / "index.html").read_text() == "the former site"
    with pytest.raises(ValueError, match="no folder that is named after a version"):
        versions(tmp_path / "empty")


def test_report_exits_with_1_where_a_finding_is_not_as_the_book_says(findings, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    told = {DRAWN[0]: {"as_stated": False, "message": "only half of it was attained"}}
    lines = [replace(f, **told.get(f.claim, {})).to_json() for f in load(findings)]
    wrong.write_text("\n".join(lines) + "\n")
    output = call("report", "--findings", wrong, "--out", tmp_path / "r", code=1).stdout
    assert output.endswith(f"not as the book says: {DRAWN[0]}\n")


def test_report_verifies_where_no_findings_are_given_and_keeps_them(tmp_path):
    out = tmp_path / "report"
    call("report", CHEAP, "--out", out, "--jobs", "1")
    assert [f.claim for f in load(out / "findings.jsonl")] == [CHEAP]
    # with another seed the old ones are of no use
    result = call("report", CHEAP, "--out", out, "--jobs", "1", "--seed", "1")
    assert "starting anew" in result.stderr
    assert [f.seed for f in load(out / "findings.jsonl")] == [1]


# --- as a program -----------------------------------------------------------------------------------------------------


def program(*arguments, cwd, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME")}
    kept.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)
    return subprocess.run(
        [sys.executable, "-m", "commbounds", *map(str, arguments)],
        cwd=cwd,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **{k: str(v) for k, v in environment.items()}},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("arguments", "threads"), [(("claims", "majority.*"), "1"), (("bench", "--help"), None)])
def test_blas_has_one_thread_but_where_speeds_are_compared(arguments, threads, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    call(*arguments)
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    call(*arguments)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_version_and_help():
    assert call("--version").stdout.strip().endswith(__version__)
    helped = call("--help").stdout
    for command in ("claims", "verify", "figures", "report"):
        assert command in helped
        assert call(command, "-h").stdout.startswith("Usage: ")


def test_every_command_is_summarised_whole_in_80_columns():
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    listed = shown.partition("Commands:\n")[2].splitlines()
    assert len(listed) == len(main.commands)
    assert [line for line in listed if not line.endswith(".") or "..." in line] == []


@pytest.mark.wide
def test_the_program_says_its_version_and_what_is_wrong_usage(tmp_path):
    assert program("--version", cwd=tmp_path).stdout.strip().endswith(__version__)
    assert program("verify", "nothing", cwd=tmp_path, COMMBOUNDS_CACHE=tmp_path / "c").returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["verify", "--help"], ["report", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys\nfrom commbounds.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "sympy", "matplotlib", "numpy", "scipy", "hypothesis", "rich", "jinja2"}
    assert not heavy & set(done.stderr.split())


@pytest.mark.wide
def test_nothing_is_written_but_out_and_the_cache(tmp_path, request):
    """Home, working and temporary folders stay as they were; verifying, drawing and reporting included."""
    folders = {name: tmp_path / name for name in ("cwd", "home", "cache")}
    for folder in folders.values():
        folder.mkdir()
    # the processes' socket needs a short path
    short = tempfile.TemporaryDirectory()
    folders["temporary"] = Path(short.name)
    request.addfinalizer(short.cleanup)
    where = {
        "cwd": folders["cwd"],
        "HOME": folders["home"],
        "TMPDIR": folders["temporary"],
        "COMMBOUNDS_CACHE": folders["cache"],
    }
    (folders["cwd"] / "made").mkdir()
    out = Path("made") / "f.jsonl"
    for arguments in (
        ("claims", "*.topk.*"),
        ("verify", *PAIR, "--jobs", 2, "--out", out),
        ("figures", *PAIR, "--findings", out, "--out", "made/figures"),
        ("report", *PAIR, "--findings", out, "--out", "made/report"),
    ):
        done = program(*arguments, **where)
        assert done.returncode == 0, done.stderr
        assert {p.name for p in folders["cwd"].iterdir()} <= {"made"}, arguments
        for name in ("home", "temporary"):
            assert not list(folders[name].iterdir()), (arguments, list(folders[name].rglob("*")))
    assert {p.name for p in folders["cache"].iterdir()} <= {
        "numba",
        "matplotlib",
        "hypothesis",
        "index",
        "findings",
        "costs.json",
    }
    made = {str(p.relative_to(folders["cwd"])) for p in folders["cwd"].rglob("*") if p.is_file()}
    assert {"made/f.jsonl", "made/report/index.html"} <= made
    assert not [name for name in made if Path(name).name.startswith(".")]


@pytest.mark.wide
def test_findings_do_not_go_to_a_closed_pipe_with_a_traceback(tmp_path):
    command = f"{sys.executable} -m commbounds claims | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert "Traceback" not in done.stderr


# --- findings in a file ----------------------------------------------------------------------------------------------


def test_a_short_or_torn_file_of_findings_is_said_and_exits_with_1(findings, tmp_path):
    given, torn = tmp_path / "short.jsonl", tmp_path / "torn.jsonl"
    first, second = findings.read_text().splitlines()
    given.write_text(first + "\n")
    torn.write_text(f"{first}\n{second[:40]}")
    drawn = tmp_path / "drawn"
    arguments = ("--out", drawn, "--format", "svg")
    short = call("figures", *DRAWN, "--findings", given, *arguments, code=1)
    assert short.stderr.splitlines()[-1] == f"{given}: 1 of 2 claims that match"
    assert short.stdout == f"1 files in {drawn}\n"
    half = call("figures", *DRAWN, "--findings", torn, *arguments, code=1)
    assert half.stderr.splitlines()[-1] == f"{torn}: 1 of 2 claims that match; the last line is torn"
    everything = call("report", "--findings", torn, "--out", drawn, code=1).stderr
    assert (
        f"1 of {len(claims())} claims that match; the last line is torn; name the claims that are meant" in everything
    )
    torn.write_text(second[:40])
    message = call("figures", "--findings", torn, *arguments, code=2).stderr
    assert "holds no finding that matches; the last line is torn" in message


# --- what fits on a terminal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_rows_fit_the_width(width):
    from commbounds._terminal import row

    cells, text = ("quantizers.sign.contraction", "sure", "holds"), "a statement of several words " * 6
    lines = row(cells, (30, 6, 18), text, width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join([*cells, *text.split()])


def test_a_text_goes_below_its_cells_where_there_is_no_room_beside():
    from commbounds._terminal import row

    assert row(("name", "sure"), (30, 6), "a statement", 60).splitlines() == [f"{'name':30}  sure", "    a statement"]
    assert row(("name", "sure"), (30, 6), "a statement", 80) == f"{'name':30}  {'sure':6}  a statement"
    assert row(("name",), (6,), "", 80) == "name"


@pytest.mark.wide
def test_the_demo_shows_every_verdict_a_counterexample_and_a_figure(tmp_path):
    shown = call("demo", "--out", tmp_path / "demo").stdout
    found = [line.split()[1].rstrip(",") for line in shown.splitlines() if line.startswith("    verdict: ")]
    assert found == ["proved", "enumerated", "survived", "consistent", "refuted"]
    assert shown.count("counterexample: ") == 1
    (figure,) = (tmp_path / "demo").iterdir()
    assert f"{figure}: " in shown
