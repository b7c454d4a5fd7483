"""What group quantisers do where scales are subnormal, saturated or no larger than rounding, in the studies' words."""

import numpy as np
import pytest

from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer
from commbounds.theory import claims
from commbounds.verify.experiment import budgets
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.flashcomm.planes_and_spikes import _least_error, spiky
from commbounds.verify.study import Case

pytestmark = pytest.mark.kernels
G = "flashcomm.groupquant."


def outcome(name, settings, x, cls=GroupQuantizer):
    return EXPERIMENTS[name].trial(cls, Case(settings, x))


@pytest.mark.parametrize(("scale", "times"), [(1e-4, 5), (1e-5, 50)])
def test_a_subnormal_scale_breaks_the_bound_of_normal_numbers_and_keeps_the_other(scale, times):
    settings, worst = {"width": 8, "group": 128, "metadata": "float16"}, 0.0
    x = (np.random.default_rng(0).standard_normal(128 * 800) * scale).astype(np.float32)
    c = GroupQuantizer(8, 128, "float16")
    about, error = c.compress(x).ranges, np.abs(c(x).astype(np.float64) - x).reshape(-1, 128).max(axis=1)
    for i, part in enumerate(x.reshape(-1, 128)):
        u, span = 2.0**-11, float(np.ptp(part.astype(np.float64)))
        worst = max(worst, error[i] / (float(about.scale[i]) / 2 + u * abs(float(part.min())) + u * span))
    assert worst > times
    found = outcome(G + "stored", settings, x)
    bound = float(claims()[G + "stored"].bound(**found.values))
    assert 0.8 * bound < found.measured <= bound + found.slack


def test_a_log2_scale_saturates():
    settings = {"width": 8, "group": 128, "scale": "log2", "theta": 32}
    found = outcome(G + "log2_inflation", settings, np.random.default_rng(0).standard_normal(1280))
    assert found.measured > 3.5 > 2 ** (1 / 32)
    assert found.measured == pytest.approx(2.0**-4 / found.values["smallest_scale"], rel=4 * np.finfo(float).eps)
    with pytest.raises(ValueError, match="above"):
        GroupQuantizer(8, 128, scale="log2", theta=32).compress(np.array([0.0, 1e5]))


def test_rounding_in_the_dtype_is_nearly_a_whole_scale():
    x = (2.0**23 + np.arange(257)).astype(np.float32)
    found = outcome(G + "error_rounded", {"width": 8, "group": 257, "metadata": "float32"}, x)
    step = float(found.values["span"]) / 255
    assert 0.99 * step < found.measured < step
    assert found.measured <= claims()[G + "error_rounded"].bound(**found.values)
    # the term that is not the range's is needed
    assert found.measured > step / 2 + 5 * float(found.values["own_roundoff"]) * float(found.values["span"])


def test_the_range_is_needed_in_the_rounding_too():
    name, share = G + "error_rounded", 0.0
    for case in EXPERIMENTS[name].corpus(budgets["standard"]):
        found = EXPERIMENTS[name].trial(GroupQuantizer, case)
        if found.values["span"] >= (2 ** found.values["width"] - 1) * found.values["own_tiny"]:
            half = found.values["span"] / (2 * (2 ** found.values["width"] - 1))
            share = max(
                share, float((found.measured - half) / (found.values["own_roundoff"] * found.values["magnitude"]))
            )
    assert share > 1.0


def test_spikes_side_by_side_cost_more_than_plain_int4_and_the_bound_says_so():
    isolated = [
        outcome("flashcomm.spikes.pays_isolated", {}, spiky(4096, "one in every 64", seed)) for seed in range(3)
    ]
    beside = [outcome("flashcomm.spikes.pays_isolated", {}, spiky(4096, "side by side", s)) for s in range(3)]
    bound = claims()["flashcomm.spikes.pays_isolated"].bound
    assert all(found.measured <= bound(**found.values) < 1 for found in isolated)
    assert all(4 < found.measured <= bound(**found.values) for found in beside)


def test_levels_that_may_be_moved_err_at_least_by_the_least_error():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, step = rng.standard_normal(rng.integers(1, 9)), 0.1 + 3 * rng.random()
        moved = np.linspace(0, step, 4001)
        off = np.mod(x[:, None] - moved + step / 2, step) - step / 2
        tried = float((off**2).sum(axis=0).min())
        assert _least_error(x, step) <= tried + 1e-12
        assert tried - _least_error(x, step) < x.size * (step / 4000) ** 2
    assert _least_error(np.empty(0), 1.0) == 0.0
    assert _least_error(np.array([1.0, 3.0]), 0.0) == 2.0


@pytest.mark.parametrize("bias", [1e-2, 1e-3, 1e-5])
def test_a_biased_kernel_is_heard_without_a_draw(bias):
    class Biased(StochasticGroupQuantizer):
        def _encode(self, x, about, groups, uniforms, codes):
            super()._encode(x, about, groups, np.maximum(uniforms - x.dtype.type(bias), 0), codes)

    study = EXPERIMENTS["flashcomm.stochastic.unbiased"]
    cases = list(study.corpus(budgets["quick"]))
    right = [study.trial(StochasticGroupQuantizer, case) for case in cases]
    assert all(found.measured <= found.slack for found in right)
    assert any(found.measured > found.slack for found in (study.trial(Biased, case) for case in cases))


def asked(name, hypothesis, settings, x):
    """What a hypothesis of a claim says of a case."""
    (one,) = (h for h in claims()[name].assumes if h.name == hypothesis)
    facts = EXPERIMENTS[name].facts(GroupQuantizer, Case(settings, x))
    return one.admits(**{need: facts[need] for need in one.needs})


@pytest.mark.parametrize(
    ("x", "fits"),
    [([65519.0], True), ([65520.0], False), ([-65520.0, 0.0], False), ([0.0, 65520.0], False), ([0.0, 65519.0], True)],
)
def test_metadata_fit_as_long_as_they_are_not_rounded_to_infinity(x, fits):
    group = np.array(x, np.float32)
    assert asked(G + "stored", "stored_metadata", {"width": 1, "group": 4, "metadata": "float16"}, group) is fits
    if fits:
        GroupQuantizer(1, 4, "float16").compress(group)
    else:
        with pytest.raises(ValueError, match="too large"):
            GroupQuantizer(1, 4, "float16").compress(group)


def test_stored_metadata_are_asked_for_the_variant_too():
    x = np.arange(4, dtype=np.float32)
    for more in ({"metadata": "float64"}, {"quantise_with": "exact"}, {"repaired": True}, {"zero": "integer"}):
        assert not asked(G + "stored", "stored_metadata", {"width": 2, "group": 4, "metadata": "bfloat16", **more}, x)
    assert asked(G + "stored", "stored_metadata", {"width": 2, "group": 4, "metadata": "bfloat16"}, x)


@pytest.mark.parametrize("theta", [1, 8, 10])
def test_a_log2_scale_is_asked_for_its_largest(theta):
    settings, largest = {"width": 1, "group": 2, "scale": "log2", "theta": theta}, 2.0 ** (127 / theta)
    for times, fits in ((0.99, True), (1.01, False)):
        x = np.array([0.0, largest * times])
        assert asked(G + "log2_inflation", "log2_scale", settings, x) is fits
        if fits:
            GroupQuantizer(1, 2, scale="log2", theta=theta).compress(x)
        else:
            with pytest.raises(ValueError, match="above"):
                GroupQuantizer(1, 2, scale="log2", theta=theta).compress(x)
    assert not asked(G + "log2_inflation", "some_range", settings, np.ones(5))
    assert not asked("flashcomm.spikes.range", "some_range", {"width": 1, "group": 2, "spikes": True}, np.ones(5))


def test_an_integer_point_is_asked_for_32_bits():
    settings = {"width": 1, "group": 2, "zero": "integer"}
    for low, fits in ((2.0**30 * 1.9, True), (2.0**31, False)):
        x = low + np.array([0.0, 1.0])
        assert asked(G + "integer_point", "integer_point", settings, x) is fits
        if not fits:
            with pytest.raises(ValueError, match="32 bits"):
                GroupQuantizer(1, 2, "float64", zero="integer").compress(x)


def test_one_rank_that_codes_twice_errs_once():
    for name in ("flashcomm.twostep.rms", "flashcomm.twostep.mixed_widths"):
        study, law = EXPERIMENTS[name], float(claims()[name].bound(P=1))
        settings = {"P": 1, "width": 4, "widths": (4, 8), "seed": 0, "group": 128}
        found = study.trial(study.implementation({}), study.family.case(settings))
        assert abs(found.measured - law) > 0.25 * law
        (several,) = (h for h in claims()[name].assumes if h.name == "sums_coded")
        assert [several.admits(P=P) for P in (1, 2)] == [False, True]


def test_blocks_of_whole_groups_may_share_a_byte():
    name = "flashcomm.twostep.bytes"
    study, settings = EXPERIMENTS[name], {"P": 2, "n": 8, "width": 1, "group": 4}
    (full,) = (h for h in claims()[name].assumes if h.name == "full_blocks")
    assert [full.admits(P=2, n=n, group=4) for n in (8, 16)] == [False, True]
    for n in (16, 24, 40):
        found = study.trial(study.implementation({}), study.family.case({**settings, "n": n}))
        assert (found.measured == claims()[name].bound(**found.values)) is full.admits(P=2, n=n, group=4)


def test_both_ends_are_read_within_six_roundings_of_the_range_however_far_from_zero():
    name, doubled = G + "ends_rounded", 0.0
    rng = np.random.default_rng(0)
    for far in (-0.7, -0.3, 0.0, 1.0, 1e5):
        for width in (1, 2, 8):
            for span in 0.5 + rng.random(200):
                x = (np.array([far, far + 1.0]) * span).astype(np.float32)
                found = outcome(name, {"width": width, "group": 2, "metadata": "float32"}, x)
                assert found.measured <= claims()[name].bound(**found.values)
                if width == 1:
                    assert found.measured <= 2 * found.values["own_roundoff"] * found.values["span"]
                doubled = max(doubled, float(found.measured / found.values["own_roundoff"] / found.values["span"]))
    assert doubled > 1.5


def test_entries_that_are_rounded_twice_need_more_than_one_range():
    study, excess = EXPERIMENTS[G + "error_rounded"], 0.0
    for case in study.corpus(budgets["quick"]):
        if case.settings["data"] == "nearly half-way" and case.settings["group"] == 512:
            found = study.trial(GroupQuantizer, case)
            v, half = found.values, found.values["span"] / (2 * (2 ** found.values["width"] - 1))
            excess = max(excess, float((found.measured - half) / v["own_roundoff"] - v["magnitude"]) / float(v["span"]))
    assert excess > 1.5
