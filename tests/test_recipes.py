"""Recipes: what is right passes and what is wrong fails, for stand-ins of the same shape and for the packages."""

import importlib.util
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from samples import first_of_each
from under_mpi import SETTINGS

from commbounds import recipes
from commbounds.verify import conformance as cf

TORCH = importlib.util.find_spec("torch") is not None
NEEDS_TORCH = pytest.mark.skipif(not TORCH, reason="needs torch")
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"

if TORCH:
    import recipe_subjects as subjects

ALONE = ("bitsandbytes", "function", "grace", "grace, at random", "grace, memory", "hivemind", "torchao", "powersgd")
FAILING = tuple(name for name in ALONE if name != "grace")
RANKS = ("in place", "hook", "deepspeed", "deepspeed, errors")


def failing(report):
    return [finding.claim.split("(")[0] for finding in report.failures]


def test_no_package_is_imported_before_it_is_needed():
    others = ("torch", "hivemind", "bitsandbytes", "torchao", "deepspeed", "mpi4py")
    code = f"import sys, commbounds.recipes; print([name for name in {others} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@NEEDS_TORCH
@pytest.mark.parametrize("name", first_of_each(ALONE, lambda _: "all"))
def test_a_right_object_of_that_shape_passes(name):
    report = cf.check(replace(subjects.right[name], effort=0.03))
    assert report.passed, report
    assert not [finding for finding in report.not_judged if "(" in finding.claim], report


@NEEDS_TORCH
@pytest.mark.parametrize("name", first_of_each(FAILING, lambda _: "all"))
def test_a_wrong_one_fails(name):
    subject, claim = subjects.wrong[name]
    assert failing(cf.check(replace(subject, effort=0.1), only=[claim])) == [claim]


@NEEDS_TORCH
@pytest.mark.wide
@pytest.mark.parametrize("name", RANKS)
def test_a_right_all_reduce_of_that_shape_passes(name):
    subject = subjects.right_ranks[name]
    try:
        report = cf.check(subject, only=["answers", *map(str, subject.claims)])
    finally:
        subject.outside.stop()
    assert report.passed, report
    assert not report.not_judged, report


@NEEDS_TORCH
@pytest.mark.wide
@pytest.mark.parametrize("name", [name for name in RANKS if name != "deepspeed"])
def test_a_wrong_one_of_that_shape_fails(name):
    subject, claim = subjects.wrong_ranks[name]
    try:
        assert failing(cf.check(subject, only=[claim])) == [claim]
    finally:
        subject.outside.stop()


@NEEDS_TORCH
def test_what_a_seed_decides_leaves_the_global_generators_alone():
    import torch

    def drawn(x):
        return x + torch.rand(len(x))

    import numpy as np

    x = np.zeros(4, np.float32)
    before = torch.get_rng_state()
    call = cf.on_torch(recipes.seeded(drawn))
    assert call(x, 1).tolist() == call(x, 1).tolist() != call(x, 2).tolist()
    assert torch.equal(torch.get_rng_state(), before)


# --- the packages ------------------------------------------------------------------------------------------------


def judged(subject, *only):
    return cf.check(replace(subject, effort=0.1), only=only or None)


@pytest.mark.wide
def test_hivemind():
    compression = pytest.importorskip("hivemind.compression", reason="needs hivemind")
    half = [cf.SignSymmetric(), cf.Idempotent(), cf.Bits(lambda n: 16 * n)]
    report = judged(recipes.hivemind_compression(compression.Float16Compression(), half, magnitudes=(2.0**-14, 6e4)))
    assert report.passed, report
    scaled = compression.ScaledFloat16Compression()
    report = judged(recipes.hivemind_compression(scaled, half[:1]), "answers", "finite in, finite out")
    assert failing(report) == ["finite in, finite out"], report


@pytest.mark.wide
def test_bitsandbytes():
    functional = pytest.importorskip("bitsandbytes.functional", reason="needs bitsandbytes")
    claims = [cf.ScaleEquivariant(powers_of_two=True), cf.Bits(lambda n: 8 * n + 32 * -(-n // 4096))]
    middling = {"magnitudes": (1e-3, 1e3), "admits": lambda x: x.size < 9000}
    report = judged(
        recipes.quantizer(functional.quantize_blockwise, functional.dequantize_blockwise, claims, **middling)
    )
    assert report["Bits"].verdict == "pass", report
    assert report["ScaleEquivariant"].verdict == "pass", report
    assert report["shape and dtype kept"].verdict == "pass", report


@pytest.mark.wide
def test_torchao():
    optim = pytest.importorskip("torchao.optim.quant_utils", reason="needs torchao")

    def spacing(x):
        import numpy as np

        return np.abs(x) * 2.0**-7

    claims = [cf.Unbiased(), cf.AbsoluteError(spacing)]
    report = judged(recipes.stochastic_rounding(optim._fp32_to_bf16_sr, claims, magnitudes=(2.0**-120, 2.0**120)))
    assert report.passed, report


# --- programs ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        pytest.skip("needs mpicc and mpirun")
    program = tmp_path_factory.mktemp("ring") / "mpi_ring"
    source = str(EXAMPLES / "mpi_ring.c")
    subprocess.run(["mpicc", "-O2", "-Wall", "-Werror", "-o", str(program), source], check=True)
    return str(program)


@pytest.mark.wide
@pytest.mark.parametrize(("version", "found"), [([], []), (["truncated"], ["Sums"])])
def test_a_program_of_mpi_is_judged_through_the_protocol(ring, version, found, monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)

    def launch(P):
        return ["mpirun", "-n", str(P), ring, *version]

    subject = recipes.launched(launch, [cf.Sums(), cf.RanksAgree()], ranks=(1, 2, 3), magnitudes=(1e-3, 1e3))
    try:
        report = cf.check(subject)
    finally:
        subject.outside.stop()
    assert [name for name in failing(report) if name == "Sums"] == found, report
    assert report["answers"].verdict == "pass"


def test_a_launcher_that_gives_no_command_is_refused_at_once():
    with pytest.raises(TypeError, match="launch must give a sequence of program and arguments, got 'mpirun'"):
        recipes.launched(lambda P: "mpirun")
    with pytest.raises(TypeError, match="launch must be callable"):
        recipes.launched(["mpirun"])
    with pytest.raises(ValueError, match="time_limit must be positive"):
        recipes.launched(lambda P: ["true"], time_limit=0.0)
    with pytest.raises(ValueError, match="ranks must hold positive integers"):
        recipes.launched(lambda P: ["true"], ranks=(0,))
