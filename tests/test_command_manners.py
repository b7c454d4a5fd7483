"""What all commands have in common: completion, colours, JSON, folders."""

import json
import os
import pty
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.theory import claims
from commbounds.theory.schedules import SCHEDULES

COMMAND = [sys.executable, "-m", "commbounds"]


def completed(*words):
    *before, last = words
    found = ShellComplete(main, {}, "commbounds", "_COMMBOUNDS_COMPLETE").get_completions(list(before), last)
    return [item.value for item in found]


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize(
    "words", [("claims",), ("claims", "--show"), ("verify",), ("report",), ("recheck", "f.jsonl"), ("certificates",)]
)
def test_names_of_claims_are_completed(words):
    assert completed(*words, "quantizers.qsgd.") == list(claims("quantizers.qsgd.*"))


def test_schedules_and_formats_are_completed():
    assert completed("cost", "") == list(SCHEDULES)
    assert completed("cost", "--crossover", "rabens") == ["rabenseifner"]
    assert completed("tolerance", "--schedule", "r") == ["ring", "recursive_doubling", "rabenseifner"]
    assert completed("figures", "--format", "p") == ["png", "pdf"]
    assert completed("dossier", "--format", "l") == ["latex"]


def test_there_are_no_colours_where_NO_COLOR_is_set():
    def seen(**more):
        parent, child = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", **more}
        subprocess.run([*COMMAND, "claims", "lowrank.powersgd.*"], stdout=child, env=environment, check=True)
        os.close(child)
        text = os.read(parent, 1 << 16)
        os.close(parent)
        return text

    assert b"\x1b[" in seen(NO_COLOR="")
    assert b"\x1b[" not in seen(NO_COLOR="1")


def test_claims_and_costs_are_printed_as_json():
    lines = [json.loads(line) for line in run("claims", "quantizers.qsgd.*", "--json").output.splitlines()]
    assert {line["name"]: line["stands"] for line in lines} == {
        name: str(claim.stands) for name, claim in claims("quantizers.qsgd.*").items()
    }
    whole = json.loads(run("claims", "--show", "quantizers.qsgd.variance", "--json").output)
    assert whole["statement"] == claims()["quantizers.qsgd.variance"].title
    lines = [
        json.loads(line)
        for line in run("cost", "ring", "oktopk", "--P", "4", "--n", "400", "--json").output.splitlines()
    ]
    assert [line["collective"] for line in lines] == ["ring", "oktopk"]
    assert lines[0]["at"]["words"] == 2 * 400 * 3 / 4
    assert lines[0]["words"] == "2*n*(P - 1)/P"
    assert run("cost", "--crossover", "ring", "oktopk", "--json").exit_code == 2


def test_verify_makes_no_folder_for_its_file(tmp_path):
    asked = tmp_path / "typed" / "wrong.jsonl"
    result = run("verify", "sparsifiers.topk.wire", "--out", str(asked))
    assert result.exit_code == 2
    assert "there is no folder" in result.output
    assert not asked.parent.exists()


def test_a_folder_without_vectors_is_refused_before_any_is_made(tmp_path):
    result = run("vectors", "--check", str(tmp_path))
    assert result.exit_code == 2
    assert "holds no test vectors" in result.output
