"""The notebooks of the documentation run, as notebooks and as programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "docs" / "notebooks").glob("*.py"))
SHOWN = {
    "choose_a_method": ["2 P - 2", "rabenseifner", "slow-down 1"],
    "cite_a_claim": [
        "sparsifiers.topk.definition",
        "99/100",
        "arXiv:1809.07599",
        "proved; as the book says",
        "image/png",
    ],
    "test_my_allreduce": ["1 of 33 entries differ", "the result was left at zero", "1 fail"],
}
"""What readers must see in each."""


def test_every_notebook_is_here():
    assert [path.stem for path in NOTEBOOKS] == list(SHOWN)


@pytest.mark.wide
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path, tmp_path, monkeypatch):
    jupytext = pytest.importorskip("jupytext", reason="needs the extra notebooks")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebooks")
    pytest.importorskip("ipykernel", reason="needs the extra notebooks")
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    notebook = jupytext.read(path)
    notebook.metadata["kernelspec"]["name"] = "python3"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = str([output for cell in notebook.cells for output in cell.get("outputs", ())])
    for text in SHOWN[path.stem]:
        assert text.replace("\\", "\\\\") in outputs, text
    assert "text/html" in outputs


def test_the_quickest_runs_as_a_program(tmp_path):
    (path,) = [path for path in NOTEBOOKS if path.stem == "choose_a_method"]
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    assert "rabenseifner" in done.stdout
