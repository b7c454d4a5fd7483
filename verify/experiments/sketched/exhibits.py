"""Figures of sketches of recorded gradients: the estimates' error, and the growth of feedback within the sketch."""

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.sketched import fetchsgd_step, sketched_topk
from commbounds.compressors.sketched import count_sketch, sketch_estimates, unsketch
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Maker, Panel, law, line
from commbounds.verify.experiments.sketched.hashings import drawn_hashes

_WORDS = (60, 120, 240, 480, 960, 1920, 3840)
_K, _DRAWS = 64, 8


def _gradient() -> Array:
    """The sum of eight workers' gradients, 2410 entries."""
    return np.asarray(gradients.trace().vectors["iid, early"][0].sum(axis=0), np.float64)


def _errors(rows: int, seed: int) -> dict[str, list[float]]:
    """By words of the sketch: of all estimates, of the k largest, and of those with exact values; means over draws."""
    x = _gradient()
    square = float(x @ x)
    found: dict[str, list[float]] = {"all": [], "largest": [], "exact": []}
    for words in _WORDS:
        cells, each = words // rows, []
        for draw in range(_DRAWS):
            hashes = drawn_hashes(x.size, rows, cells, seed + draw)
            table = count_sketch(x, *hashes, cells)
            outputs = (
                sketch_estimates(table, *hashes),
                unsketch(table, *hashes, _K),
                sketched_topk(x[None], *hashes, cells, _K, 4 * _K)[0][0],
            )
            each.append([float(np.square(y - x).sum()) / square for y in outputs])
        for name, value in zip(found, np.mean(each, axis=0), strict=True):
            found[name].append(float(value))
    return found


def _rows(_budget: str, seed: int) -> Exhibit:
    """By the words of the sketch."""
    x, words = _gradient(), _WORDS
    by_rows = {rows: _errors(rows, seed) for rows in (1, 3, 5)}
    label = {1: "one row", 3: "three rows", 5: "five rows"}
    left = [
        law("one row: (n - 1)/c", words, "sketched.row.error", "sketch_cells", n=x.size),
        *(line(label[rows], words, found["all"]) for rows, found in by_rows.items()),
    ]
    least = float(np.sort(np.square(x))[:-_K].sum() / (x @ x))
    right = [
        line("Top-k itself", words, least, "reference"),
        line("nothing sent; second round's bound", words, 1, "bound"),
        *(line(label[rows], words, found["largest"]) for rows, found in by_rows.items()),
        line("three rows, second round", words, by_rows[3]["exact"]),
    ]
    return Exhibit(
        "sketched.rows",
        "On real gradients a small sketch is worse than sending nothing, unless exact entries are requested",
        f"The sum of eight workers' gradients of a recorded training run, 2410 entries; means of {_DRAWS} draws of "
        f"hashes. Left: all estimates. Right: the {_K} largest; a second round requests {4 * _K} candidates.",
        (
            Panel("All estimates", "counters", "relative error", tuple(left), xscale="log", yscale="log"),
            Panel(f"The {_K} largest", "counters", "relative error", tuple(right), xscale="log", yscale="log"),
        ),
    )


def _feedback(_budget: str, seed: int) -> Exhibit:
    """What is left in the sketch, step by step, after a single gradient."""
    x = _gradient()
    lines = []
    steps = range(9)
    for rows, cells, k in ((1, 240, 480), (3, 80, 480), (3, 80, 8)):
        hashes = drawn_hashes(x.size, rows, cells, seed)
        for forget in ("subtract", "zero"):
            table = np.zeros((rows, cells))
            error, sizes = count_sketch(x, *hashes, cells), []
            start = float(np.linalg.norm(error))
            for _ in steps:
                sizes.append(float(np.linalg.norm(error)) / start)
                error = fetchsgd_step(0 * x[None], table, error, *hashes, k, 0.0, forget)[0].error
            shown = [size if size > 1e-6 else float("nan") for size in sizes]
            lines.append(line(f"{rows} x {cells}, k = {k}, {forget}", steps, shown))
    return Exhibit(
        "sketched.feedback",
        "Subtracting sent entries makes the error grow if more entries are recovered than there are counters",
        "Norm of the error's sketch over the first, after one recorded gradient and no other. With zeroed cells it "
        "shrinks, as entries that share them are lost.",
        (Panel("Steps without a gradient", "step", "norm of the error's sketch", tuple(lines), yscale="log"),),
    )


EXHIBITS: dict[str, Maker] = {"sketched.rows": _rows, "sketched.feedback": _feedback}
