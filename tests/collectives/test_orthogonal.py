"""Orthogonalised updates: what is accepted and refused, single facts by hand, twins and ranks."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from rank_refusals import differences_with, refused_by_all
from samples import each_once

from commbounds.collectives import COLLECTIVES
from commbounds.collectives.orthogonal import dion_update, muon_update
from commbounds.collectives.ranks import ThreadWorld, parcel
from commbounds.theory import claims
from commbounds.verify.experiments.orthogonal import studies
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
PAIRED = tuple(PAIRINGS.of_column("orthogonal").values())
EPS = float(np.finfo(float).eps)


def good(dtype=np.float64):
    rng = np.random.default_rng(1)
    stack, momentum = (rng.standard_normal((2, 3, 4)).astype(dtype) for _ in range(2))
    return {"stack": stack, "momentum": momentum, "basis": rng.standard_normal((4, 2)).astype(dtype), "mu": 0.5}


# --- input -----------------------------------------------------------------------------------------------------------


def test_they_are_registered_under_their_names():
    assert COLLECTIVES["muon_update"] is muon_update
    assert COLLECTIVES["dion_update"] is dion_update


@pytest.mark.parametrize(
    ("stack", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, r"stack must be \(P, m, n\)"),
        (np.ones((0, 2, 2)), ValueError, "none empty"),
        (np.ones((2, 0, 2)), ValueError, "none empty"),
        (np.ones((2, 2, 2), np.float16), TypeError, "float32 or float64"),
        (np.ones((2, 2, 2), int), TypeError, "float32 or float64"),
        (np.full((1, 2, 2), np.nan), ValueError, "finite"),
    ],
)
def test_what_stacks_are_refused(stack, error, message):
    with pytest.raises(error, match=message):
        muon_update(stack)
    with pytest.raises(error, match=message):
        dion_update(stack, stack, np.ones((2, 1)))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"steps": -1}, ValueError, "steps must be at least 0, got -1"),
        ({"steps": 2.0}, TypeError, "steps must be an integer"),
        ({"iteration": "septic"}, ValueError, "iteration must be one of muon, cubic"),
        ({"iteration": 5}, TypeError, "iteration must be a string"),
        ({"arithmetic": "float16"}, ValueError, "arithmetic must be one of dtype, bfloat16"),
    ],
)
def test_what_options_of_muon_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        muon_update(np.ones((1, 2, 2)), **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mu": 1.5}, ValueError, r"mu must be in \[0, 1\], got 1.5"),
        ({"mu": "x"}, TypeError, "mu must be a number"),
        ({"basis": np.ones((3, 2))}, ValueError, "basis must have shape"),
        ({"basis": np.ones((4, 4))}, ValueError, r"r in \[1, 3\]"),
        ({"basis": np.ones(4)}, ValueError, "basis must be"),
        ({"basis": np.ones((4, 2), np.float32)}, TypeError, "basis must be float64"),
        ({"basis": np.full((4, 2), np.inf)}, ValueError, "basis must be finite"),
        ({"momentum": np.ones((2, 4, 3))}, ValueError, "momentum must have shape"),
        ({"momentum": np.ones((2, 3, 4), int)}, TypeError, "momentum must be float64"),
    ],
)
def test_what_options_of_dion_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        dion_update(**{**good(), **options})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_layout_gives_the_same_and_nothing_is_changed(dtype):
    given = good(dtype)
    held = {key: value.copy() for key, value in given.items() if isinstance(value, np.ndarray)}
    state, _ = dion_update(**given)
    update, _ = muon_update(given["stack"])
    for change in (np.asfortranarray, lambda v: np.repeat(v, 2, axis=-1)[..., ::2]):
        again, _ = dion_update(**{**given, **{key: change(value) for key, value in held.items()}})
        assert all(a.tobytes() == b.tobytes() for a, b in zip(again, state, strict=True))
        assert muon_update(change(held["stack"]))[0].tobytes() == update.tobytes()
    assert all(np.array_equal(given[key], value) for key, value in held.items())
    assert update.dtype == state.update.dtype == dtype


# --- single facts ----------------------------------------------------------------------------------------------------


def test_a_gradient_of_rank_one_comes_out_as_seven_tenths():
    value = Fraction(1)
    for _ in range(5):
        value = Fraction(34445, 10000) * value - Fraction(4775, 1000) * value**3 + Fraction(20315, 10000) * value**5
    assert claims()["orthogonal.muon.one"].bound() == value
    update, _ = muon_update(np.array([[[3.0, 4.0]]]))
    assert abs(np.linalg.norm(update[0]) - float(value)) <= 64 * 3.5**5 * EPS


def test_the_interval_is_that_of_a_fine_grid():
    x = np.linspace(1 / 660, 1.0, 200_001)
    for _ in range(5):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    low, high = (float(claims()[f"orthogonal.muon.{name}"].bound()) for name in ("at_least", "at_most"))
    allowance = 64 * 3.5**5 * EPS
    assert low - allowance <= x.min() <= low + 1e-4
    assert high - 1e-4 <= x.max() <= high + allowance


def test_the_iteration_is_that_of_singular_values():
    rng = np.random.default_rng(3)
    for shape in ((4, 4), (2, 5), (5, 3)):
        matrix = rng.standard_normal(shape)
        u, s, v = np.linalg.svd(matrix / np.linalg.norm(matrix), full_matrices=False)
        for _ in range(5):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        update, _ = muon_update(matrix[None])
        assert np.abs(update[0] - (u * s) @ v).max() <= 256 * 3.5**5 * EPS


def test_in_bfloat16_it_has_the_bits_of_the_authors_code():
    """As it was run in torch by docs/evidence/muon.py."""
    printed = (Path(__file__).parents[2] / "docs" / "evidence" / "muon.txt").read_text(encoding="utf-8")
    pairs = [line.split(" becomes ") for line in printed.splitlines() if " becomes " in line]
    assert len(pairs) == 4
    for matrix, after in pairs:
        update, _ = muon_update(np.array([json.loads(matrix)], np.float32), arithmetic="bfloat16")
        assert update[0].tolist() == json.loads(after)
    ends = [float(line.split()[-3]) for line in printed.splitlines() if " at 0.00" in line]
    assert ends == [float(claims()[f"orthogonal.muon.rounded_{name}"].bound()) for name in ("at_most", "at_least")]


def test_every_number_of_bfloat16_is_run_where_they_are_counted():
    """That the other entry makes the norm one, so that nothing is rounded before the iterations."""
    values = [Fraction(case.settings["value"]) for case in studies._rounded_grid(1)]
    assert sum(660 * value >= 1 for value in values) == 0x3F80 - 0x3AC6
    for value in values[::7]:
        matrix = np.diag([float(value), float(1 - value**2) ** 0.5])
        assert muon_update(matrix[None], 0, arithmetic="bfloat16")[0][0][0, 0] == float(value)


def test_dion_of_full_rank_keeps_mu_of_everything():
    matrix = np.array([[[2.0, 1.0], [0.0, 3.0]]])
    state, traffic = dion_update(matrix, 0 * matrix, np.eye(2), 0.25)
    assert np.abs(state.momentum - 0.25 * matrix).max() <= 32 * EPS * 3
    assert traffic.sent.tolist() == [0]


def test_a_basis_that_misses_makes_columns_parallel():
    delta = 2.0**-30
    matrix = np.array([[[delta, 1.0], [0.0, 1.0]]])
    state, _ = dion_update(matrix, 0 * matrix, np.eye(2), 0.5)
    assert abs(np.linalg.norm(state.update[0], 2) - np.sqrt(2)) <= 1e-8


def test_nothing_left_of_a_column_is_zero():
    matrix = np.array([[[1.0, 2.0], [2.0, 4.0]]])
    state, _ = dion_update(matrix, 0 * matrix, np.eye(2), 0.5)
    assert np.linalg.matrix_rank(state.update[0]) == 1
    assert state.basis[:, 1].tolist() == [0.0, 0.0]


def test_words_by_hand():
    stack = np.ones((4, 4, 8))
    _, traffic = muon_update(stack)
    assert traffic.sent.tolist() == [48] * 4
    state, traffic = dion_update(stack, 0 * stack, np.eye(8)[:, :2])
    assert traffic.sent.tolist() == [36] * 4
    assert [name for name in traffic.phases if "/" not in name][:1] == ["left"]
    assert state.update.shape == (4, 4, 8)


# --- twins and ranks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRED, [3, 4, 2, 5, 1], lambda p: p.name))
def test_bits_and_traffic_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 10
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (np.full((2, 2), np.nan), ValueError, "matrix must be finite"),
        (np.ones((2, 2), int), TypeError, "must be float32 or float64"),
        (np.ones(4), ValueError, r"matrix must be \(m, n\)"),
        (np.ones((1, 4)), ValueError, "the shape must be the same on all ranks"),
    ],
)
def test_a_bad_matrix_on_one_rank_is_refused_on_all(matrix, error, message):
    refused_by_all(lambda c: muon_update.on_rank(c, matrix if c.rank else np.ones((2, 2))), error, message)


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_a_word_too_many_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all("traffic" in difference for difference in differences_with(pairing, chatty))
