"""Figures of orthogonalised updates: what becomes of singular values, of real gradients too."""

from __future__ import annotations

import numpy as np

from commbounds.collectives.orthogonal import muon_update
from commbounds.theory import claims
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel


def _values(_budget: str, _seed: int) -> Exhibit:
    """By singular value, and sorted, of the recorded gradients."""
    grid = np.geomspace(1e-5, 1.0, 120)
    lines = []
    for iteration, steps in (("muon", 5), ("cubic", 5), ("cubic", 15)):
        found = []
        for value in grid:
            matrix = np.array([[[value, 0.0], [0.0, np.sqrt(1 - value**2)]]])
            found.append(abs(float(muon_update(matrix, steps, iteration)[0][0, 0, 0])))
        lines.append(Line(f"{iteration}, {steps} iterations", grid.tolist(), found))
    ends = (("at_most", "most", "bound"), ("at_least", "least, from 1/660 on", "lower"))
    for name, label, role in ends:
        value = float(claims()[f"orthogonal.muon.{name}"].bound())
        lines.append(Line(label, [1 / 660, 1.0], [value, value], role))
    spectra = []
    for kind in gradients.KINDS:
        stack = gradients.matrices(*kind.split(", "))[0].astype(np.float64)
        after = np.linalg.svd(muon_update(stack)[0][0], compute_uv=False)
        spectra.append(Line(kind, [float(i + 1) for i in range(after.size)], after.tolist()))
    return Exhibit(
        "orthogonal.values",
        "Muon's five iterations leave singular values between 0.68 and 1.20, unless they are tiny",
        "Left: what becomes of a singular value, over the norm. Right: singular values of the update for the 64 x 32 "
        "matrix of a recorded training run, average of 8 workers. Hidden units that are nearly silent leave singular "
        "values that are tiny, and stay small.",
        (
            Panel("One singular value", "before, over the norm", "after", tuple(lines), xscale="log"),
            Panel("Recorded gradients", "number of the singular value", "after five iterations", tuple(spectra)),
        ),
    )


EXHIBITS: dict[str, Maker] = {"orthogonal.values": _values}
