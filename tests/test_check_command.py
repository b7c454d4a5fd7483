"""The command ``check``: exit codes, options, expected failures, subjects that hang, crash, print and leak."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from samples import first_of_each

from commbounds._check import print_report
from commbounds._terminal import plain, print_findings
from commbounds.cli import main
from commbounds.verify import Finding, Verdict
from commbounds.verify.conformance import CheckFinding, CheckVerdict, Report, report_from_json, reports_from
from commbounds.verify.conformance.loading import loaded, require_survivable

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"

MINE = """
import ctypes, os, sys, time
import numpy as np
from commbounds.verify import conformance as cf

SMALL = {"effort": 0.03, "admits": lambda x: x.size <= 40}

def same(x, seed):
    return x.copy()

def halved(x, seed):
    return x / 2

def printing(x, seed):
    print("a line that is no reply")
    os.write(1, b"and one past Python\\n")
    return x.copy()

def hanging(x, seed):
    while x.size == 3:
        time.sleep(1)
    return x.copy()

def spinning(x, seed):
    return np.array(list(iter(int, 1))) if x.size == 3 else x.copy()

def crashing(x, seed):
    if x.size == 3:
        ctypes.string_at(0)
    return x.copy()

def leaving(x, seed):
    sys.exit(5) if x.size == 3 else None
    return x.copy()

SEEN = []

def leaking(x, seed):
    SEEN.append(x.copy())
    return x.copy()

FILE = []

def leaking_while_pages_of_files_leave(x, seed):
    import mmap
    if not FILE:
        with open("pages", "w+b") as file:
            file.truncate(1 << 26)
            FILE.append(mmap.mmap(file.fileno(), 1 << 26))
        FILE.append(sum(FILE[0][::4096]))
    FILE[0].madvise(mmap.MADV_DONTNEED, len(SEEN) % 128 << 19, 1 << 19)
    return leaking(x, seed)

def subject(function, **options):
    return cf.Codec(function, [cf.Contraction(1.0), cf.SignSymmetric()], **{**SMALL, **options})

right, wrong, prints = subject(same), subject(halved), subject(printing)
hangs, spins = subject(hanging, time_limit=0.5), subject(spinning, time_limit=0.5)
crashes, leaves = subject(crashing), subject(leaving)
leaks = cf.Codec(leaking, [], effort=0.5)
leaks_while_pages_leave = cf.Codec(leaking_while_pages_of_files_leave, [], effort=0.5)
subs = [right, wrong]
named = {"a": right, "b": wrong}
empty, mixed, number = [], [right, 1], 7
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The path of a module of subjects, in the working directory, under a name that no other test uses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMMBOUNDS_CACHE", str(tmp_path))
    for variable in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def called(*arguments):
    return CliRunner().invoke(main, ["check", *map(str, arguments)], catch_exceptions=False)


# --- exit codes and options --------------------------------------------------------------------------------------


def test_what_passes_exits_with_0_and_what_fails_with_1_and_a_reproduction(mine):
    done = called(f"{mine}:right", "--here", "--only", "Contraction")
    assert done.exit_code == 0, done.output
    assert "1 pass, 0 fail, 0 not judged (budget quick, seed 0)" in done.output
    done = called(f"{mine}:wrong", "--here", "--only", "Contraction", "--seed", 4)
    assert done.exit_code == 1, done.output
    assert "0 pass, 1 fail" in done.output
    assert "seed 4" in done.output
    assert "0.25, claimed at most 0" in done.output.replace("\n", " ")
    program = done.output.split("to see Contraction(alpha=1.0) fail\n")[1]
    code = "\n".join(line[4:] for line in program.splitlines() if line.startswith("    "))
    spoken = subprocess.run([sys.executable, "-c", code], cwd=mine.parent, capture_output=True, text=True, check=False)
    assert "0.25, claimed at most 0" in spoken.stdout, spoken.stderr


def test_a_reference_that_raises_leaves_a_claim_unjudged_which_exits_with_1_unless_waived(mine):
    mine.write_text(
        MINE
        + """
def refuses(x):
    raise RuntimeError("no reference today")

owed = cf.Codec(lambda x, seed: x.copy(), [cf.Matches(refuses)], effort=0.1)
waived = cf.Codec(owed.roundtrip, owed.claims, effort=0.1, waivers={"Matches(reference=refuses)": "installed nowhere"})
"""
    )
    for name, status in (("owed", 1), ("waived", 0)):
        done = called(f"{mine}:{name}", "--here", "--only", "Matches")
        assert done.exit_code == status, done.output
        assert "0 pass, 0 fail, 1 not judged" in done.output
    assert "no reference today" in done.output


def test_reports_are_written_as_json_lines_and_only_chooses_the_claims(mine):
    done = called(f"{mine}:subs", "--here", "--only", "Contraction", "--only", "SignSymmetric()", "--out", "out.jsonl")
    assert done.exit_code == 1
    reports = [report_from_json(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [report.subject for report in reports] == ["same", "halved"]
    assert [f.claim for f in reports[0].findings] == ["Contraction(alpha=1.0)", "SignSymmetric()"]
    assert [report.passed for report in reports] == [True, False]
    assert json.loads(Path("out.jsonl").read_text().splitlines()[1])["findings"][0]["counterexample"] == [1.0]


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("mine.py:subs", ["same", "halved"]),
        ("mine.py:subs[1]", ["halved"]),
        ("mine.py:subs[-2]", ["same"]),
        ("mine.py:named", ["same", "halved"]),
        ("mine.py:named['b']", ["halved"]),
    ],
)
def test_collections_and_their_entries_are_judged(mine, target, names):
    called(target, "--here", "--only", "SignSymmetric", "--out", "out.jsonl")
    reports = [report_from_json(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [report.subject for report in reports] == names


def test_a_file_alone_stands_for_all_subjects_that_it_names(mine):
    text = MINE.partition("hangs, spins")[0] + "both, _private = [right, wrong], subject(same)\n"
    mine.with_name("alone.py").write_text(text)
    called("alone.py", "--here", "--only", "SignSymmetric", "--out", "out.jsonl")
    reports = [report_from_json(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [report.subject for report in reports] == ["same", "halved", "printing"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere_to_be_found:right", "there is no module 'nowhere_to_be_found'"),
        ("nowhere.py:right", "there is no file nowhere.py"),
        ("mine.py:", "must be module:subject or file.py:subject"),
        ("nowhere.py", "there is no file nowhere.py"),
        ("json", "json gives no subject a name: say which is meant, json:NAME"),
        ("mine.py:nothing", "has nothing called 'nothing'"),
        ("mine.py:subs[2]", "there is no entry 2"),
        ("mine.py:named['c']", "there is no entry 'c'"),
        ("mine.py:number", "is no Codec, Stateful or AllReduce"),
        ("mine.py:mixed", "must hold subjects, got 1"),
        ("mine.py:empty", "is empty"),
    ],
)
def test_targets_that_are_no_subjects_exit_with_2(mine, target, said):
    done = called(target, "--here")
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.output.split())


def test_wrong_usage_exits_with_2(mine):
    assert called().exit_code == 2
    assert called(f"{mine}:right", "--budget", "huge").exit_code == 2
    assert called(f"{mine}:right", "--seed", "-1").exit_code == 2
    done = called(f"{mine}:right", "--here", "--only", "Unbiased")
    assert done.exit_code == 2
    assert "Unbiased is none of the claims" in " ".join(done.output.split())


# --- expected failures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ("# known\n\nhalved: Contraction(alpha=1.0)  # sends half\n", 0, "expected: sends half"),
        ("halved: SignSymmetric()  # wrongly thought so\n", 1, "was expected to fail, and passes"),
        (
            "halved: Contraction(alpha=1.0)  # sends half\nother: Unbiased()  # none\n",
            1,
            "other: Unbiased() was expected to fail, but there is no such finding",
        ),
        ("halved: Contraction(alpha=1.0)\n", 2, "line 1: an expected failure must give its reason"),
        ("\nhalved Contraction  # no colon\n", 2, "line 2: must be 'SUBJECT: CLAIM  # reason'"),
    ],
)
def test_expected_failures_need_a_reason_have_to_fail_and_to_be_there(mine, lines, code, said):
    Path("known").write_text(lines)
    done = called(f"{mine}:wrong", "--here", "--expected-failures", "known")
    assert done.exit_code == code, done.output
    assert " ".join(said.split()) in " ".join(done.output.split())


EXPECTING = """
known = subject(halved, expected_failures={"Contraction(alpha=1.0)": "sends half"})
hopeful = subject(halved, expected_failures={"SignSymmetric()": "thought so"})
misnamed = subject(halved, expected_failures={"Unbiased()": "is none of its claims"})
"""


def test_a_subject_may_expect_failures_itself(mine):
    mine.write_text(MINE + EXPECTING)
    done = called("mine.py:known", "--here", "--out", "out.jsonl")
    assert done.exit_code == 0, done.output
    assert "1 expected failure" in done.output
    assert "expected: sends half" in done.output
    (report,) = reports_from(Path("out.jsonl"))
    assert report["Contraction"].verdict == "expected failure"
    assert report["Contraction"].expected == "sends half"
    done = called("mine.py:hopeful", "--here", "--only", "SignSymmetric")
    assert done.exit_code == 1, done.output
    assert "was expected to fail, and passes" in done.output
    done = called("mine.py:misnamed", "--here")
    assert done.exit_code == 2, done.output
    assert "Unbiased() cannot fail: the claims are answers" in " ".join(done.output.split())


def test_lines_for_claims_that_are_not_judged_now_are_left_alone(mine):
    Path("known").write_text("halved: Contraction(alpha=1.0)  # sends half\n")
    done = called(f"{mine}:wrong", "--here", "--only", "SignSymmetric", "--expected-failures", "known")
    assert done.exit_code == 0, done.output


# --- what is written, and said beforehand ------------------------------------------------------------------------


def test_reports_are_written_in_all_forms_and_compared_with_earlier_ones(mine):
    forms = ["--junit", "out/j.xml", "--html", "out/page.html", "--badge", "out/b.svg", "--out", "out/r.jsonl"]
    done = called(f"{mine}:right", f"{mine}:wrong", "--here", "--only", "Contraction", *forms)
    assert done.exit_code == 1, done.output
    suites = ElementTree.parse("out/j.xml").getroot()
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [("same", "0"), ("halved", "1")]
    assert float(suites[0].get("time")) > 0.0
    assert "0.25, claimed at most 0" in Path("out/page.html").read_text()
    assert "1 of 2 claims fail" in Path("out/b.svg").read_text()
    assert sorted(path.name for path in Path("out").iterdir()) == ["b.svg", "j.xml", "page.html", "r.jsonl"]
    again = called(f"{mine}:right", "--here", "--only", "Contraction", "--baseline", "out/r.jsonl")
    assert "since the baseline: nothing changed" in again.output
    mine.write_text(MINE.replace("return x.copy()", "return 0 * x"))
    again = called(f"{mine}:right", "--here", "--only", "Contraction", "--baseline", "out/r.jsonl")
    assert again.exit_code == 1
    assert "since the baseline:\n    same: Contraction(alpha=1.0): pass -> fail: |C(x) - x|^2" in again.output


def test_files_that_cannot_be_written_or_read_are_said_beforehand(mine):
    Path("a_file").write_text("no report\n")
    done = called(f"{mine}:right", "--here", "--html", "a_file/page.html")
    assert done.exit_code == 2, done.output
    assert "nothing can be written to a_file" in " ".join(done.output.split())
    done = called(f"{mine}:right", "--here", "--baseline", "a_file")
    assert done.exit_code == 2, done.output
    assert "a_file, line 1: not a report" in " ".join(done.output.split())


def test_how_long_it_takes_is_said_beforehand_and_findings_come_one_by_one(mine, monkeypatch):
    order = []
    monkeypatch.setattr("commbounds._check.print_row", lambda finding, width: order.append(finding.claim))
    monkeypatch.setattr("commbounds._check.click.echo", lambda text, **options: order.append(text))
    called(f"{mine}:right", "--here", "--only", "answers", "--only", "Contraction")
    assert order[:3] == ["same: about a second, budget quick", "answers", "Contraction(alpha=1.0)"]


# --- in a process of its own -------------------------------------------------------------------------------------


def of(mine, name, *only):
    """The exit code, and the report on a subject in its process."""
    chosen = [part for claim in only for part in ("--only", claim)]
    done = called(f"{mine}:{name}", "--out", "out.jsonl", *chosen)
    (line,) = Path("out.jsonl").read_text().splitlines()
    return done.exit_code, report_from_json(line)


@pytest.mark.wide
def test_a_right_subject_passes_in_a_process_of_its_own_even_if_it_prints(mine):
    code, report = of(mine, "prints", "answers", "input not mutated", "global generators untouched", "Contraction")
    assert code == 0, report
    assert {finding.verdict for finding in report.findings} == {"pass"}


WAITS = "no answer within 0.5 s, for an input of shape (3,)"
ENDS = [
    ("crashes", "the process was killed by SIGSEGV, for an input of shape (3,)"),
    ("spins", WAITS),
    ("leaves", "called sys.exit(5)"),
]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *first_of_each(ENDS, lambda _: "any end", lambda end: end[0]),
        pytest.param("hangs", WAITS, marks=pytest.mark.long),
    ],
)
def test_a_subject_that_hangs_or_crashes_fails_and_the_rest_is_judged_all_the_same(mine, name, said):
    code, report = of(mine, name, "answers", "Contraction")
    assert code == 1
    assert report["answers"].message == said
    assert report["answers"].counterexample == [0.0, 0.0, 0.0]
    assert report["Contraction"].verdict == "pass"


@pytest.mark.wide
@pytest.mark.parametrize("name", ["leaks", "leaks_while_pages_leave"])
def test_a_leak_shows_in_the_process_that_leaks(mine, name):
    code, report = of(mine, name, "memory steady")
    assert code == 1, report
    assert "every call leaves about" in report["memory steady"].message


@pytest.mark.wide
def test_what_cannot_be_loaded_in_that_process_exits_with_2(mine):
    refusal = 'if "serve" in " ".join(sys.orig_argv):\n    raise ImportError("not here")\n'
    mine.write_text("import sys\n" + refusal + MINE)
    done = called(f"{mine}:right")
    assert done.exit_code == 2
    assert "cannot be loaded: ImportError: not here" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("import no_such_package", "mine.py cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'"),
        ("raise KeyError('weights')", "mine.py cannot be loaded: KeyError: 'weights'"),
        ("raise SystemExit(0)", "mine.py cannot be loaded: SystemExit: 0"),
        ("def broken(:", "mine.py cannot be loaded: SyntaxError"),
    ],
)
def test_a_module_that_cannot_be_loaded_exits_with_2_and_one_line(mine, line, said):
    mine.write_text(line + MINE)
    done = called("mine.py:right", "--here")
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output
    assert "Traceback" in called("mine.py:right", "--here", "--verbose").output


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("__import__('ctypes').string_at(0)", "by SIGSEGV"),
        ("__import__('os')._exit(0)", "with status 0"),
        ("__import__('os').abort()", "by SIGABRT"),
        ("__import__('os').kill(__import__('os').getpid(), 9)", "by SIGKILL"),
    ],
)
def test_a_module_that_ends_the_process_that_loads_it_exits_with_2_and_a_sentence(mine, line, how):
    mine.write_text(line + MINE)
    mine.with_name("other.py").write_text(MINE)
    done = called("other.py:right", "mine.py:right")
    assert done.exit_code == 2, done.output
    assert f"mine.py cannot be loaded: it ends the process that loads it, {how}" in " ".join(done.output.split())


def test_a_module_whose_process_somebody_kills_is_loaded_again(mine):
    mine.write_text(
        "import os\n"
        "if not os.path.exists('was_here'):\n"
        "    open('was_here', 'w').close()\n"
        "    os.kill(os.getpid(), 9)\n" + MINE
    )
    require_survivable([f"{mine}:right"])
    assert Path("was_here").exists()


def test_a_module_that_is_never_loaded_is_not_waited_for(mine, monkeypatch):
    monkeypatch.setattr("commbounds.verify.conformance.calls.START_LIMIT", 0.5)
    mine.write_text("import subprocess\nsubprocess.run(['sleep', '300'])\n" + MINE)
    done = called(f"{mine}:right")
    assert done.exit_code == 2, done.output
    assert "mine.py cannot be loaded: that takes more than 0.5 s" in " ".join(done.output.split())


def test_what_a_module_prints_while_it_is_tried_comes_once(mine, capfd):
    mine.write_text("__import__('os').write(1, b'loading\\n')" + MINE)
    require_survivable([f"{mine}:right", "no_such_module:right"])
    assert capfd.readouterr().out == ""
    loaded(f"{mine}:right")
    assert capfd.readouterr().out == "loading\n"


@pytest.mark.wide
def test_a_process_that_dies_while_it_loads_exits_with_2(mine):
    mine.write_text('import sys\nif "serve" in " ".join(sys.orig_argv):\n    __import__("os")._exit(3)\n' + MINE)
    done = called(f"{mine}:right")
    assert done.exit_code == 2, done.output
    assert "cannot be loaded in a process of its own: the process ended with status 3" in " ".join(done.output.split())


# --- in C --------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_example_in_c_is_judged_as_it_says(mine):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    for name in ("nibble.c", "nibble.py"):
        shutil.copy(EXAMPLES / name, mine.parent)
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-o", "nibble", "nibble.c", "-lm"], check=True)
    done = called("nibble.py:right")
    assert done.exit_code == 0, done.output
    claims = ("AbsoluteError", "Bits", "SignSymmetric", "Idempotent")
    done = called("nibble.py:wrapped", "--out", "out.jsonl", *[part for name in claims for part in ("--only", name)])
    assert done.exit_code == 1
    report = report_from_json(Path("out.jsonl").read_text())
    assert [finding.claim.split("(")[0] for finding in report.failures] == ["AbsoluteError", "SignSymmetric"]
    assert report["AbsoluteError"].counterexample == [1.0]
    assert "|1.0 - y| = 2, claimed at most 0.0714286" in report["AbsoluteError"].message


def test_what_a_terminal_would_obey_is_spelled_out(capsys):
    evil = "\x1b[2J\x1b]0;title\x07 é\r\x9b31m [bold]"
    finding = CheckFinding(evil, CheckVerdict.FAIL, message=evil, reproduce=evil, counterexample=[1.0], seed=0)
    print_report(Report(evil, (finding,)))
    print_findings([Finding("sparsifiers.topk.wire", Verdict.ERROR, False, (), message=evil)])
    shown = capsys.readouterr().out
    assert shown.count(r"\x1b[2J") >= 4
    assert not set(shown) & set("\x1b\x07\x9b\r")
    assert plain("a\tb\né") == "a\tb\né"


def test_json_is_printed_by_itself(mine):
    done = called(f"{mine}:wrong", "--here", "--only", "SignSymmetric", "--json")
    (line,) = done.stdout.splitlines()
    assert report_from_json(line).findings
    assert "what was found" in done.stderr
    refused = called("reports.jsonl", "mine.py:known", "--json")
    assert refused.exit_code == 2
    assert "--out reports.jsonl writes" in refused.stderr
