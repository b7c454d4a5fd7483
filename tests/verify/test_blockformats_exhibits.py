"""Figures of the column blockformats: what is enumerated is the law, and bounded by halves alone."""

import numpy as np
import pytest

from commbounds.verify.experiments.blockformats.exhibits import EXHIBITS

pytestmark = pytest.mark.kernels


def test_variances_of_hops_are_their_laws():
    hops, formats = EXHIBITS["blockformats.hops"]("quick", 0).panels
    lines = {line.label: line for line in hops.lines}
    for way in ("ring", "halves"):
        law, found = lines[f"{way}, w = 1"], lines[f"{way}, enumerated, w = 1"]
        # exact numbers, rounded once, beside a formula of some P operations on floats
        assert found.y == pytest.approx(law.y[: len(found.y)], rel=16 * np.finfo(float).eps)
    limit = lines["limit of halves, w = 1"].y[0]
    assert max(lines["halves, w = 1"].y) < limit < lines["ring, w = 1"].y[2]
    errors = {line.label.partition(",")[0]: line.y for line in formats.lines}
    assert all(four < six for four, six in zip(errors["Four Over Six"], errors["NVFP4"], strict=True))
