"""Draws that are given to a subject by taking the place of its generators, and what that shows."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from samples import first_of_each
from zoo.page import cell
from zoo.planted import ISSUE, PLANTED
from zoo.unusual import IN_TORCH, UNIFORMS, UNUSUAL, alarms, ternary_by

from commbounds.verify import conformance as cf
from commbounds.verify.conformance import CheckVerdict
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.budgets import BUDGETS
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.injected import NotElementwise, has_law, injected_law, readable
from commbounds.verify.conformance.random_words import Pool, intercepted
from commbounds.verify.conformance.serve import _Server
from commbounds.verify.conformance.torch_words import answered

POWER = Path(__file__).resolve().parents[3] / "docs" / "conformance-power.md"
STEP = 2.0**-10
X = np.array([0.3, -1.0, 0.75], np.float32)


def bench_of(roundtrip, **options):
    return Bench(cf.Codec(roundtrip, [cf.Unbiased()], **options), BUDGETS["quick"], 0, 1e-6)


def drawn(function, uniforms):
    """What a function draws in units of the steps that it is given, and what became of them."""
    with intercepted():
        answer, told = answered(lambda x, seed: function(), X, 0, np.asarray(uniforms), 1)
    return [np.round(np.atleast_1d(part) / STEP).astype(int).tolist() for part in answer], told


def numpys():
    return (
        np.random.default_rng(1).random(2),
        default_rng(2).random(1, dtype=np.float32),
        np.random.Generator(np.random.PCG64(3)).uniform(0.0, 1.0, 2),
        np.random.RandomState(4).rand(1),
        np.random.random_sample(2),  # noqa: NPY002
    )


def pythons():
    return random.random(), random.Random(5).random(), random.uniform(0.0, 1.0), random.getrandbits(10) * STEP


def again():
    np.random.seed(6)  # noqa: NPY002
    first = np.random.random_sample(2)  # noqa: NPY002
    np.random.seed(6)  # noqa: NPY002
    return first, np.random.random_sample(3), default_rng(7).random(2), default_rng(7).random(1)  # noqa: NPY002


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (numpys, [[1, 2], [3], [4, 5], [6], [7, 8]]),
        (pythons, [[1], [2], [3], [4]]),
        (again, [[1, 2], [1, 2, 3], [4, 5], [4]]),
    ],
)
def test_generators_draw_what_is_given_in_the_order_of_fresh_draws(function, expected):
    found, told = drawn(function, np.arange(1, 9) * STEP)
    assert found == expected
    assert told.drawn == max(max(row) for row in expected)
    assert told.refused == ""


def test_global_generators_are_left_as_they_were():
    np.random.seed(3)  # noqa: NPY002
    np.random.standard_normal()  # noqa: NPY002  a second one is kept
    before = np.random.get_state(legacy=False), random.getstate(), np.random.default_rng, random.random  # noqa: NPY002
    drawn(lambda: (np.random.standard_normal(3), random.random()), np.arange(3) * STEP)  # noqa: NPY002
    after = np.random.get_state(legacy=False), random.getstate(), np.random.default_rng, random.random  # noqa: NPY002
    assert repr(before) == repr(after)
    assert np.random.default_rng(5).random() == np.random.Generator(np.random.PCG64(5)).random()


def test_nothing_is_replaced_outside_of_a_call():
    expected = np.random.default_rng(5).random(), random.Random(5).random(), np.random.RandomState(5).rand()
    with intercepted():
        assert (
            np.random.default_rng(5).random(),
            random.Random(5).random(),
            np.random.RandomState(5).rand(),
        ) == expected


def test_words_behind_the_given_ones_are_uniform_and_the_same_in_compiled_code():
    with intercepted():
        compiled, _ = answered(lambda x, seed: default_rng(1).random(20_000), X, 0, np.zeros(0), 1)
    words = Pool(np.zeros(0, np.uint64), 1).taken("a", 20_000, 1)
    assert ((words >> np.uint64(11)) * 2.0**-53).tolist() == compiled.tolist()
    # twenty cells of a thousand: each within six standard deviations, which fails once in 2.5e7 seeds, and this is one
    counts = np.histogram(compiled, bins=20, range=(0.0, 1.0))[0]
    assert np.abs(counts - 1000).max() <= 6 * np.sqrt(950)


@pytest.mark.parametrize("uniforms", UNIFORMS, ids=lambda f: f.__name__)
def test_laws_of_right_subjects_are_read_off_whatever_makes_their_uniforms(uniforms):
    bench = bench_of(ternary_by(uniforms))
    if uniforms.__name__ in ("backwards", "begun_again", "own_hash"):
        assert not readable(bench)
        assert bench.unread
        return
    assert readable(bench), bench.unread
    law = injected_law(bench, CheckCase(X))
    assert np.abs(law.expected_difference(X.astype(np.float64))).max() <= 2.0**-50


def test_what_draws_by_other_means_is_not_read_off():
    def sparse(x, seed):
        return np.where(np.random.default_rng(seed).permutation(x.size) < 2, x, 0 * x)

    bench = bench_of(sparse)
    assert not readable(bench)
    with pytest.raises(NotElementwise, match="numbers are drawn for"):
        injected_law(bench, CheckCase(np.ones(6, np.float32)))


def test_what_depends_on_the_seed_itself_is_not_read_off():
    def antithetic(x, seed):  # unbiased: of every two seeds one is too high, one too low
        y = ternary_by(UNIFORMS[0])(x, seed)
        return (y + (1 - 2 * (seed % 2)) * np.abs(x).max()).astype(x.dtype)

    bench = bench_of(antithetic)
    assert not readable(bench)
    assert bench.unread == "it depends on its seed besides its draws"
    assert cf.check(cf.Codec(antithetic, [cf.Unbiased()], effort=0.1), only=["Unbiased"]).passed


def test_a_report_says_what_draws_could_not_see():
    def noisy(x, seed):
        return (x * np.float32(1.0 + 0.1 * np.random.default_rng(seed).choice((-1.0, 1.0)))).astype(x.dtype)

    finding = cf.check(cf.Codec(noisy, [cf.Variance(0.011)], effort=0.03, magnitudes=(1e-15, 1e15)), only=["Variance"])[
        "Variance"
    ]
    assert finding.verdict is CheckVerdict.PASS, finding
    assert "by draws alone (1 numbers are drawn for 50 entries): not seen is what comes less than once in 120" in (
        finding.evidence
    )


def test_intercept_must_be_true_or_false():
    with pytest.raises(TypeError, match="intercept must be True or False, got 1"):
        cf.Codec(numpys, intercept=1)


def test_a_process_of_its_own_is_given_words_too():
    server = _Server(cf.Codec(ternary_by(UNIFORMS[0])))
    request = {"op": "roundtrip", "seed": 3, "spare": 1}
    for uniforms, expected in (
        ([0.0, 0.0, 0.0], [1, -1, 1]),
        ([0.5, 0.5, 0.5], [0, -1, 1]),
        ([0.9, 0.9, 0.9], [0, -1, 0]),
    ):
        header, (y,) = server.reply(request, [X.copy(), np.array(uniforms)])
        assert json.loads(json.dumps(header)) == {"drawn": 3, "kinds": 1, "refused": ""}
        assert y.tolist() == expected
    ordinary = server.reply({"op": "roundtrip", "seed": 3}, [X.copy()])[1][0]
    assert ordinary.tolist() == ternary_by(UNIFORMS[0])(X, 3).tolist()


def test_torch_is_given_words_too():
    torch = pytest.importorskip("torch", reason="torch is an optional extra")

    def drawing():
        generator = torch.Generator().manual_seed(1)
        first = torch.rand(2, generator=generator)
        generator.manual_seed(1)
        second = torch.rand(2, generator=generator)
        p = torch.tensor([4.5, 4.5], dtype=torch.float64) * STEP
        rest = torch.bernoulli(p) * STEP, torch.empty(1).uniform_(), torch.rand(1, dtype=torch.float16)
        return [part.double().numpy() for part in (first, second, *rest)]

    torch.rand(1)  # what is imported at a first call may draw as well
    found, told = drawn(drawing, np.arange(1, 9) * STEP)
    assert found == [[1, 2], [1, 2], [1, 1], [5], [6]]
    whole, _ = drawn(lambda: [torch.randint(0, 8, (1,)).numpy(), torch.randint(3, 7, (1,)).numpy()], [0.625, 0.5])
    assert whole == [[5 / STEP], [3 / STEP + 2 / STEP]]
    _, told = drawn(lambda: [torch.randn(2).numpy()], np.arange(3) * STEP)
    assert told.refused == "torch's aten::randn"


@pytest.mark.parametrize(
    "one",
    first_of_each(ISSUE, lambda one: "by draws" if one.killed_by == ("Unbiased",) else "else", lambda one: one.name),
)
def test_a_planted_defect_is_found_at_quick(one):
    assert cf.check(one.subject, only=one.killed_by).failures


@pytest.mark.wide
@pytest.mark.parametrize("one", [one for one in PLANTED if one.twin], ids=lambda one: one.name)
def test_what_was_put_right_passes(one):
    assert cf.check(one.twin, only=one.killed_by).passed


def test_a_law_is_confirmed_next_to_its_switches_and_one_that_differs_by_a_cell_is_not():
    bench, case = bench_of(ternary_by(UNIFORMS[0])), CheckCase(X)
    law = injected_law(bench, case)
    assert has_law(bench, case, law)
    assert has_law(bench, CheckCase(-X), replace(law, values=-law.values))
    assert not has_law(bench, CheckCase(-X), law)
    inner = law.ends[0] < law.cells
    assert inner.any()
    for moved in (-1, 1):
        ends = law.ends.copy()
        ends[0, inner] += moved
        assert not has_law(bench, case, replace(law, ends=ends))
    assert not has_law(bench, case, replace(law, values=law.values * (1 + 2.0**-20)))


@pytest.mark.long
@pytest.mark.parametrize("subject", UNUSUAL, ids=lambda subject: subject.name)
def test_a_right_subject_of_an_unusual_style_raises_no_alarm_under_a_hundred_seeds(subject):
    assert not alarms(subject, range(100))


@pytest.mark.long
@pytest.mark.parametrize("subject", IN_TORCH, ids=lambda subject: subject.name)
def test_a_right_subject_in_torch_raises_no_alarm_under_a_hundred_seeds(subject):
    pytest.importorskip("torch", reason="torch is an optional extra")
    assert not alarms(subject, range(100))


def rows(text):
    """The defects that the documented table lists."""
    table = text.split("| defect |")[1].split("\n\n")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]


def test_forty_are_planted():
    assert len({one.defect for one in PLANTED}) == 40
    assert rows(POWER.read_text(encoding="utf-8")) == [cell(one.defect) for one in PLANTED]
