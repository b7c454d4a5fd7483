"""Adapters: what goes in and comes out is the same as without them."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commbounds import recipes
from commbounds.verify import conformance as cf
from commbounds.verify.conformance.subject import DTYPES

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "torch_quantiser.py"
GUIDE = EXAMPLE.parents[1] / "torch-hooks.md"


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="on_torch needs torch")


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_and_dtype_survive_the_way_to_torch_and_back(torch, dtype):
    seen = []

    def same(x, seed):
        seen.append(x.dtype)
        return x.clone()

    bits = np.arange(64, dtype=np.uint64).astype(f"u{DTYPES[dtype].itemsize}")
    x = np.concatenate([bits.view(DTYPES[dtype]), np.array([1.5, -0.0, np.inf, np.nan], DTYPES[dtype])])
    y = cf.on_torch(same)(x, 0)
    assert seen == [getattr(torch, dtype)]
    assert y.dtype == x.dtype
    assert y.tobytes() == x.tobytes()
    assert cf.check(cf.Codec(cf.on_torch(same), dtype=dtype, effort=0.2), only=["shape and dtype kept"]).passed


def test_arrays_in_options_and_tuples_are_adapted_too(torch):
    def two(x, seed, uniforms=None):
        assert isinstance(uniforms, torch.Tensor)
        return x + uniforms, (x, 3)

    first, (second, third) = cf.on_torch(two)(np.ones(2), 0, uniforms=np.full(2, 0.5))
    assert first.tolist() == [1.5, 1.5]
    assert isinstance(second, np.ndarray)
    assert third == 3


def test_a_read_only_array_is_copied(torch):
    x = np.ones(3, np.float32)
    x.flags.writeable = False
    assert cf.on_torch(lambda x, seed: x.mul_(2))(x, 0).tolist() == [2, 2, 2]
    assert x.tolist() == [1, 1, 1]


def test_a_function_that_mutates_its_input_is_seen(torch):
    report = cf.check(cf.Codec(cf.on_torch(lambda x, seed: x.mul_(2).clone())), only=["input not mutated"])
    assert not report.passed


def test_gradients_are_left_behind(torch):
    assert cf.on_torch(lambda x, seed: x.requires_grad_() * 2)(np.ones(2), 0).tolist() == [2, 2]


def test_uniforms_are_found_through_the_adapter(torch):
    def rounded(x, seed, uniforms=None):
        generator = torch.Generator().manual_seed(seed)
        u = torch.rand(x.shape, generator=generator, dtype=x.dtype) if uniforms is None else uniforms.to(x.dtype)
        return torch.floor(x + u)

    def without(x, seed):
        return rounded(x, seed)

    assert cf.Codec(cf.on_torch(rounded)).injectable
    assert not cf.Codec(cf.on_torch(without)).injectable
    claims = [cf.Unbiased()]
    assert cf.check(cf.Codec(cf.on_torch(rounded), claims, magnitudes=(1e-3, 1e3)), only=["Unbiased"]).passed


def test_a_factory_and_its_residual_are_adapted(torch):
    class Step:
        def __init__(self, kept):
            self.residual, self._kept = torch.zeros(()), kept

        def __call__(self, x):
            whole = x + self.residual
            sent = torch.where(whole.abs() >= whole.abs().max(), whole, 0)
            self.residual = self._kept * (whole - sent)
            return sent

    class Asked(Step):
        def __init__(self, kept):
            super().__init__(kept)
            self._held, self.residual = self.residual, self.told

        def told(self):
            return self._held

        def __call__(self, x):
            whole = x + self._held
            sent = torch.where(whole.abs() >= whole.abs().max(), whole, 0)
            self._held = self._kept * (whole - sent)
            return sent

    for kind in (Step, Asked):
        few = {"shape": (3,), "effort": 0.05}
        right = cf.Stateful(cf.on_torch(lambda seed, kind=kind: kind(1.0)), [cf.Telescopes()], **few)
        assert right.factory(0).residual == 0.0
        assert cf.check(right, only=["Telescopes"])["Telescopes"].verdict == "pass"
        leaky = cf.Stateful(cf.on_torch(lambda seed, kind=kind: kind(0.5)), [cf.Telescopes()], **few)
        assert "held back" in cf.check(leaky, only=["Telescopes"])["Telescopes"].message


def test_a_step_without_residual_has_none(torch):
    step = cf.on_torch(lambda seed: lambda x: x.clone())(0)
    assert not hasattr(step, "residual")


def test_all_reduces_are_adapted(torch):
    def mean(stack, seed):
        return (stack / len(stack)).sum(0).expand(stack.shape).clone()

    subject = cf.AllReduce(cf.on_torch(mean), [cf.Averages(), cf.RanksAgree()])
    assert cf.check(subject, only=["Averages", "RanksAgree"]).passed


@pytest.mark.parametrize("name", ["numpy", "array_api_strict", "torch"])
def test_arrays_of_any_library_go_by_dlpack(name):
    library = pytest.importorskip(name, reason=f"{name} is not installed")
    kinds = []

    def halves(x, seed):
        kinds.append(type(x))
        return x / 2

    y = cf.on_arrays(halves, library)(np.array([1.0, 3.0], np.float32), 0)
    assert isinstance(y, np.ndarray)
    assert y.dtype == np.float32
    assert y.tolist() == [0.5, 1.5]
    assert kinds == [type(library.from_dlpack(np.ones(1)))]
    subject = cf.Codec(cf.on_arrays(halves, library), [cf.Contraction(0.75)])
    assert cf.check(subject, only=["answers", "shape and dtype kept", "Contraction"]).passed


def test_the_right_quantiser_of_the_example_passes(torch):
    (subject,) = cf.loaded(f"{EXAMPLE}:right")
    report = cf.check(subject, only=[str(claim) for claim in subject.claims])
    assert report.passed, report
    assert not report.not_judged


def test_the_broken_quantiser_of_the_example_fails_by_what_the_guide_says(torch):
    (subject,) = cf.loaded(f"{EXAMPLE}:broken")
    report = cf.check(subject, only=["finite in, finite out", *map(str, subject.claims)])
    assert {finding.claim for finding in report.failures} == {"AbsoluteError(bound=half_step)", "SignSymmetric()"}
    assert report["AbsoluteError"].counterexample == [1.0]
    assert re.search(r"\|1\.0 - y\| = 2, claimed at most 0\.00393701", report["AbsoluteError"].message)
    assert "|1.0 - y| = 2, claimed at most 0.00393701" in GUIDE.read_text(encoding="utf-8")


IMPORTS = """
import sys

import torch

from commbounds import recipes
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import bench

called, imported = bench.called, []


def watched(*arguments, **options):
    before = set(sys.modules)
    answer = called(*arguments, **options)
    imported.append(sorted(set(sys.modules) - before))
    return answer


def ternary(x, seed):
    top = x.abs().max()
    kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) * top < x.abs()
    return torch.where(kept, x.sign() * top, torch.zeros_like(x))


bench.called = watched
subject = cf.Codec(cf.on_torch(ternary), [cf.Unbiased()], effort=0.02, magnitudes=(1e-15, 1e15))
finding = cf.check(subject, only=["Unbiased"])["Unbiased()"]
assert "by giving its generators their words" in finding.evidence, finding
print(len(imported), max(map(len, imported[1:])))
"""


@pytest.mark.wide
def test_what_interception_imports_is_no_part_of_a_call(torch):
    """An alarm amid the import of torch's compiler left half of it behind, and every later report began it again."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    calls, imported = map(int, done.stdout.split())
    assert calls > 100
    assert imported == 0


def test_what_takes_no_seed_is_given_seeded_generators(torch):
    def drawn(x, share=0.5):
        return torch.where(torch.rand_like(x) < share, x / share, 0)

    adapted = cf.on_torch(drawn)
    before, x = torch.get_rng_state(), np.ones(8)
    assert adapted(x, 1).tolist() == adapted(x, 1).tolist() != adapted(x, 2).tolist()
    assert torch.equal(torch.get_rng_state(), before)
    subject = cf.Codec(adapted, [cf.Unbiased()], effort=0.1, magnitudes=(1e-3, 1e3))
    assert cf.check(subject, only=["global generators untouched", "same seed, same output"]).passed
    assert cf.on_torch(torch.neg)(x, 0).tolist() == [-1.0] * 8


def test_the_former_name_is_still_taken(torch):
    with pytest.warns(DeprecationWarning, match="on_torch"):
        subject = recipes.torch_function(torch.neg, [cf.SignSymmetric()])
    assert cf.check(subject, only=["SignSymmetric"]).passed
