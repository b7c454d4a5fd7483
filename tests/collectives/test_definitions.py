"""Some rows of every definition's space: with coverage, without the JIT, and with bounds checking."""

from itertools import islice

import pytest

from commbounds.collectives import COLLECTIVES
from commbounds.columns import parts
from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.compressors._blocks import PLAIN

pytestmark = pytest.mark.kernels
REGISTERED = {**COMPRESSORS, **MECHANISMS, **COLLECTIVES}
DEFINED = {
    name: definition
    for _, found in parts("verify.experiments", "definitions")
    for name, definition in getattr(found, "DEFINITIONS", {}).items()
}

COMPILED = {
    "sketch_estimates": "compiled, halves of float32 numbers are added in float64; in plain Python in float32",
    "fetchsgd_step": "its estimates are those of sketch_estimates",
    "moshpit_sgd": "compiled and in plain Python a spread differs by its last bit",
}
"""Definitions that hold for compiled kernels alone, and why."""


@pytest.mark.parametrize("name", DEFINED)
def test_rows_of_the_space_equal_the_definition(name):
    if PLAIN and name in COMPILED:
        pytest.skip(COMPILED[name])
    space = DEFINED[name].space
    rows = space.covering()
    for row in islice(rows, 0, None, max(1, len(rows) // 8)):
        assert DEFINED[name].differences(REGISTERED[name], space.make(**row)) == [], row
