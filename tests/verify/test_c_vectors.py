"""Test vectors as C99: they compile without a warning, hold what the JSON files hold, and judge a port."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.verify.vectors import contents
from commbounds.verify.vectors.c_header import c_files

NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror")
GUIDE = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")
(PORT,) = re.findall(r"^```c port of vectors\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
TOPK = """
void topk(const float *x, int n, int k, float *out) {
    memset(out, 0, (size_t)n * sizeof *out);
    char taken[4096] = {0};
    for (; k-- > 0;) {
        int best = -1;
        for (int i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || (x[i] < 0 ? -x[i] : x[i]) > (x[best] < 0 ? -x[best] : x[best]))) best = i;
        taken[best] = 1;
        out[best] = x[best];
    }
}
"""


def folder_of(patterns, folder):
    for path, text in c_files(contents(patterns)).items():
        (folder / path).write_text(text, encoding="ascii")


def built(folder, *arguments):
    done = subprocess.run(
        ["cc", "-std=c99", *WARNINGS, *arguments, "main.c", "-o", "main", "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=False)


@NEEDS_CC
def test_a_port_is_judged(tmp_path):
    folder_of(["TopK"], tmp_path)
    (tmp_path / "port.c").write_text(PORT + TOPK)
    right = built(tmp_path, "-DCB_PORT=my_port", "port.c")
    assert right.returncode == 0, right.stdout
    passed, failed = re.search(r"1 subjects, (\d+) vectors passed, (\d+) failed", right.stdout).groups()
    assert int(passed) >= 10
    assert int(failed) == 0
    (tmp_path / "port.c").write_text(PORT + TOPK.replace("out[best] = x[best]", "out[best] = -x[best]"))
    wrong = built(tmp_path, "-DCB_PORT=my_port", "port.c")
    assert wrong.returncode == 1
    assert re.search(r"^TopK: ", wrong.stdout, re.MULTILINE)


@NEEDS_CC
def test_damage_shows(tmp_path):
    folder_of(["TopK", "ring_allreduce"], tmp_path)
    untried = built(tmp_path)
    assert untried.returncode == 2, "nothing was tried"
    assert re.search(r"2 subjects, 0 vectors passed, 0 failed, [1-9]\d* left out", untried.stdout)
    header = tmp_path / "TopK.h"
    header.write_text(header.read_text().replace("0x3f800000u", "0x3f800001u", 1))
    damaged = built(tmp_path)
    assert (damaged.returncode, "TopK: the header is damaged" in damaged.stdout) == (1, True)


@NEEDS_CC
@pytest.mark.wide
def test_all_vectors_compile(tmp_path):
    folder_of([], tmp_path)
    done = built(tmp_path)
    assert (done.returncode, "damaged" in done.stdout) == (2, False), done.stdout


def test_the_command_writes_them_into_an_empty_folder(tmp_path):
    done = CliRunner().invoke(main, ["vectors", "TopK", "--c", str(tmp_path / "c")])
    assert done.exit_code == 0, done.output
    assert "3 files about 1 subjects" in done.output
    again = CliRunner().invoke(main, ["vectors", "TopK", "--c", str(tmp_path / "c")])
    assert again.exit_code == 2
    assert "must be empty" in " ".join(again.output.split())
    both = CliRunner().invoke(main, ["vectors", "TopK", "--c", str(tmp_path / "d"), "--out", str(tmp_path / "e")])
    assert both.exit_code == 2
