"""The test vectors say what the naive twins compute, from the JSON alone: hexadecimal bits in, bits compared."""

import json

import numpy as np
import pytest
from vector_reading import read

from commbounds import columns as table
from commbounds.verify import vectors
from commbounds.verify.definitions import groupquant, packetloss
from commbounds.verify.differences import differences


class Made(dict):
    """The vectors of a subject, by its name; made when they are first asked for."""

    def __missing__(self, name):
        (text,) = (text for path, text in vectors.contents([name]).items() if "/" in path)
        self[name] = json.loads(text)["vectors"]
        return self[name]


@pytest.fixture(scope="module")
def made():
    return Made()


def taken(vector):
    """Vectors that are not refused, read."""
    parts = ("inputs", "parameters", "randomness", "expected")
    return {part: {name: read(value) for name, value in vector[part].items()} for part in parts}


def test_planes_of_packed_codes_are_those_of_the_twin(made):
    for vector in made["packed"]:
        if "refused" not in vector["flags"]:
            held = taken(vector)
            planes = groupquant.planes([int(c) for c in held["inputs"]["codes"]], held["parameters"]["bits"])
            assert [plane.tolist() for plane in held["expected"]["planes"]] == planes
            assert held["expected"]["bytes"] == sum(map(len, planes))


@pytest.mark.parametrize("name", ["QSGD", "NaturalCompression", "StochasticPower", "RandK"])
def test_a_key_makes_the_draws_that_stand_beside_it(made, name):
    mixed = 0
    for vector in made[name]:
        drawn = vector["randomness"]
        if "key" not in drawn:
            continue
        key, mixed = int(drawn["key"], 16), mixed + 1

        def word(i, key=key):
            return packetloss.mix((key + (i + 1) * packetloss.GOLDEN) % packetloss.WORD)

        if name == "RandK":  # draw i is below n - count + 1 + i, the high half of a product (no draw is rejected here)
            found = drawn["draws"]["values"]
            low = vector["inputs"]["x"]["shape"][0] - len(found) + 1
            assert found == [((word(i) >> 32) * (low + i)) >> 32 for i in range(len(found))]
            continue
        uniforms = read(drawn["uniforms"])
        if uniforms.dtype == np.float64:
            expected = [(word(i) >> 11) * 2.0**-53 for i in range(uniforms.size)]
        else:
            halves = [half for i in range(uniforms.size) for half in (word(i) >> 40, word(i) % 2**24)]
            expected = [half * 2.0**-24 for half in halves[: uniforms.size]]
        assert uniforms.tolist() == expected
    assert mixed >= 3


# --- definitions of the book --------------------------------------------------------------------------------------

DEFINED = {
    name: definition
    for _, found in table.parts("verify.experiments", "definitions")
    for name, definition in found.DEFINITIONS.items()
    if name not in vectors.LEFT_OUT
    # LowRank's vectors are unique products, its definition is of factors; those of the others have twelve digits or six
    and name not in ("LowRank", "lloyd_max", "rotated_signs")
}


@pytest.mark.parametrize("name", DEFINED)
def test_the_definition_says_what_a_vector_expects(made, name):
    compared = 0
    for vector in made[name]:
        if "refused" in vector["flags"]:
            continue
        held, definition = taken(vector), DEFINED[name]
        with np.errstate(all="ignore"):  # sums that overflow are among the vectors
            said = definition.twin(held)
        assert differences(held["expected"], said, definition.unsaid) == [], (name, vector["name"])
        compared += 1
    assert compared >= 3


def test_another_bit_and_another_count_are_noticed(made):
    held = taken(made["ring_allreduce"][2])
    said = DEFINED["ring_allreduce"].twin(held)
    assert differences(held["expected"], said) == []
    held["expected"]["traffic"]["sent"][0] += 1
    assert len(differences(held["expected"], said)) == 1
    held["expected"]["result"].view(np.uint32)[0, 0] ^= 1
    assert len(differences(held["expected"], said)) == 2
