"""Figures of orthogonalised updates: what becomes of singular values, of real gradients too."""

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives.orthogonal import ef21_muon, muon_update
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Maker, Panel, bound_of, line


def _values(_budget: str, _seed: int) -> Exhibit:
    """By singular value, and sorted, of the recorded gradients."""
    grid = np.geomspace(1e-5, 1.0, 120)
    lines = []
    ways = (("muon", 5, "dtype"), ("muon", 5, "bfloat16"), ("cubic", 5, "dtype"), ("cubic", 15, "dtype"))
    for iteration, steps, arithmetic in ways:
        found = []
        for value in grid:
            matrix = np.array([[[value, 0.0], [0.0, np.sqrt(1 - value**2)]]])
            found.append(abs(float(muon_update(matrix, steps, iteration, arithmetic)[0][0, 0, 0])))
        label = f"{iteration}, {steps} iterations" + ("" if arithmetic == "dtype" else f", {arithmetic}")
        lines.append(line(label, grid, found))
    ends = (("at_most", "most", "bound"), ("at_least", "least, from 1/660 on", "lower"))
    for name, label, role in ends:
        lines.append(line(label, [1 / 660, 1], bound_of(f"orthogonal.muon.{name}"), role))
    spectra = []
    for kind in gradients.KINDS:
        stack = gradients.matrices(*kind.split(", "))[0].astype(np.float64)
        after = np.linalg.svd(muon_update(stack)[0][0], compute_uv=False)
        spectra.append(line(kind, range(1, after.size + 1), after))
    rng = np.random.default_rng(0)
    product = np.outer(rng.standard_normal(64), rng.standard_normal(32))[None]
    after = np.linalg.svd(muon_update(product, arithmetic="bfloat16")[0][0], compute_uv=False)
    spectra.append(line("rank one, in bfloat16", range(1, after.size + 1), after))
    recorded = "Recorded gradients, and one of rank one"
    return Exhibit(
        "orthogonal.values",
        "In exact arithmetic Muon's five iterations take singular values to between 0.68 and 1.20, unless they are "
        "tiny",
        "Left: the result of a singular value, over the norm. Right: singular values of the update for the 64 x 32 "
        "matrix of a recorded training run, average of 8 workers, in float64. Nearly inactive hidden units give tiny "
        "singular values, which stay small. In bfloat16, as Muon's code runs, a product of two Gaussian vectors has "
        "amplified rounding for all its other singular values.",
        (
            Panel("One singular value", "before, over the norm", "after", tuple(lines), xscale="log"),
            Panel(recorded, "number of the singular value", "after five iterations", tuple(spectra)),
        ),
    )


_WAYS = (("cubic", "Newton-Schulz, cubic"), ("quintic", "Newton-Schulz, degree 5"), ("muon", "Muon"),
         ("polar_express", "Polar Express"))  # fmt: skip


def _left(x: Floats, k: int) -> Floats:
    """What the k largest entries leave of a matrix."""
    found: Floats = x - ef21_muon(x[None], 0 * x[None], 0 * x, k, 0)[0].own[0]
    return found


def _norms(_budget: str, _seed: int) -> Exhibit:
    """The worst singular value by iterations; and what Top-K leaves, in three norms."""
    sizes = np.append(np.geomspace(1.0, 100.0, 60), [300.0, 600.0])
    sizes = np.diag(np.append(sizes, np.sqrt(1000.0**2 - (sizes**2).sum())))  # a norm of 1000
    lines, steps = [], list(range(21))
    for iteration, label in _WAYS:
        found = [np.diagonal(muon_update(sizes[None], T, iteration)[0][0]) for T in steps]
        lines.append(line(label, steps, [np.abs(1 - v).max() for v in found]))
    ends = ((5, "at_least"), (6, "six"))
    proved = [1 - bound_of(f"orthogonal.polar_express.{name}") for _, name in ends]
    lines.append(line("proved for Polar Express", [T for T, _ in ends], proved, "bound"))
    signs = np.ones((1, 1))
    while len(signs) < 16:
        signs = np.block([[signs, signs], [signs, -signs]])
    signs = signs * np.where(signs < 0, 1 + 2.0**-40, 1.0)  # those below zero are sent first
    recorded = gradients.matrices(*gradients.KINDS[0].split(", "))[0][0].astype(np.float64)
    panel = []
    for name, matrix in (("orthogonal signs", signs), (f"gradient, {gradients.KINDS[0]}", recorded)):
        kept = np.linspace(0.02, 0.98, 25)
        whole = np.linalg.svd(matrix, compute_uv=False)
        shares: dict[str, list[float]] = {"spectral": [], "nuclear": []}
        for part in kept:
            left = np.linalg.svd(_left(matrix, round(part * matrix.size)), compute_uv=False)
            shares["spectral"].append(float((left[0] / whole[0]) ** 2))
            shares["nuclear"].append(float((left.sum() / whole.sum()) ** 2))
        panel += [line(f"{name}, {norm}", kept, share) for norm, share in shares.items()]
    panel.append(line("1 - k/(m n), Euclidean", [0.0, 1.0], [1.0, 0.0], "reference"))
    return Exhibit(
        "orthogonal.norms",
        "Polar Express needs six iterations, Newton-Schulz one or two dozen; in Muon's norm Top-K may not contract",
        "Left: the largest distance from one of singular values from 1/1000 of the norm on. Right: error after sending "
        "the k largest entries of a matrix, over the matrix, both squared: for a 16 x 16 matrix of orthogonal signs, "
        "and for a recorded gradient. In the Euclidean norm no matrix is above the line.",
        (
            Panel("Iterations", "iterations", "largest |1 - singular value|", tuple(lines)),
            Panel("Top-K in other norms", "k/(m n)", "squared norm left over squared norm", tuple(panel)),
        ),
    )


EXHIBITS: dict[str, Maker] = {"orthogonal.values": _values, "orthogonal.norms": _norms}
