"""Group quantisers: against the naive twin and numpy, formats of the metadata, spikes, integer zero points, errors."""

import ml_dtypes
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer
from commbounds.verify.definitions.groupquant import decoded

pytestmark = pytest.mark.kernels
WIDTHS = pytest.mark.parametrize("width", range(1, 9))
RNG = np.random.default_rng(1)
NORMAL = RNG.standard_normal(1000)


def by_numpy(x, width, group):
    """The division form of numpy, in the dtype of x."""
    padded = np.concatenate([x, np.full(-x.size % group, x[-1], x.dtype)]).reshape(-1, group)
    low, high = padded.min(axis=1, keepdims=True), padded.max(axis=1, keepdims=True)
    scale = (high - low) / x.dtype.type(2**width - 1)
    with np.errstate(invalid="ignore"):
        codes = np.where(scale > 0, np.rint((padded - low) / scale), 0).astype(x.dtype)
    return codes.ravel()[: x.size], (codes * scale + low).ravel()[: x.size]


@WIDTHS
@pytest.mark.parametrize("group", [1, 2, 7, 128, 5000])
def test_bits_are_those_of_numpy(width, group):
    for x in (NORMAL.astype(np.float32), (1e30 * NORMAL).astype(np.float32), np.repeat(NORMAL, 3).astype(np.float32)):
        codes, values = by_numpy(x, width, group)
        c = GroupQuantizer(width, group)
        message = c.compress(x)
        assert message.codes.tolist() == codes.tolist()
        assert c.decompress(message).tobytes() == values.tobytes()
        assert c(x).tobytes() == values.tobytes()


@given(
    x=st.lists(st.integers(-20, 20).map(lambda v: v / 4), min_size=1, max_size=12),
    width=st.integers(1, 4),
    group=st.integers(1, 5),
    spikes=st.booleans(),
)
def test_values_are_those_of_the_naive_twin(x, width, group, spikes):
    c = GroupQuantizer(width, group, "float64", spikes=spikes)
    expected = decoded(x, width, group, spikes)
    ((probability, output),) = c.law(x)
    assert probability == 1
    assert list(output) == expected
    # subtraction, division by the levels, product and sum, each rounded once, on entries of at most 5
    assert c(np.array(x)) == pytest.approx([float(v) for v in expected], abs=10 * 4 * np.finfo(float).eps)


@WIDTHS
def test_float64_follows_the_same_rule(width):
    codes, values = by_numpy(NORMAL, width, 33)
    c = GroupQuantizer(width, 33, "float64")
    message = c.compress(NORMAL)
    assert message.codes.tolist() == codes.tolist()
    assert c.decompress(message).tolist() == values.tolist()


@WIDTHS
def test_size_on_the_wire(width):
    x = NORMAL.astype(np.float32)[:256]
    assert GroupQuantizer(width, 128).compress(x).bits == 256 * width + 2 * 64
    assert GroupQuantizer(width, 128, metadata="float16").compress(x).bits == 256 * width + 2 * 32
    assert GroupQuantizer(width, 128, metadata="bfloat16", scale="log2").compress(x).bits == 256 * width + 2 * 24
    assert GroupQuantizer(width, 128, zero="clamped", scale="log2").compress(x).bits == 256 * width + 2 * 16
    assert GroupQuantizer(width, 128, zero="integer").compress(x).bits == 256 * width + 2 * 64
    spiked = GroupQuantizer(width, 128, metadata="float16", spikes=True).compress(x)
    assert spiked.bits == 256 * width + 2 * (32 + 2 * (16 + 7))


@pytest.mark.parametrize("form", ["float16", "bfloat16"])
def test_metadata_is_rounded_for_real(form):
    kind = np.float16 if form == "float16" else ml_dtypes.bfloat16
    x = NORMAL.astype(np.float32)
    about = GroupQuantizer(4, 10, metadata=form).compress(x).ranges
    low = x.reshape(-1, 10).min(axis=1)
    assert about.wire_zero.dtype == np.dtype(kind)
    assert about.low.tolist() == low.astype(kind).astype(np.float32).tolist()
    # the largest step between neighbours of the format around these numbers
    assert 0 < np.abs(about.low - low).max() <= 2.0 ** (1 - 11 if form == "float16" else 1 - 8)


@pytest.mark.parametrize("form", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("scale", ["float", "log2"])
@WIDTHS
def test_repaired_metadata_keep_half_a_step(form, scale, width):
    x = np.concatenate([NORMAL, 1000 + NORMAL[:500], 1e-3 * NORMAL[:500]])
    c = GroupQuantizer(width, 20, metadata=form, repaired=True, scale=scale)
    about = c.compress(x).ranges
    assert (about.low <= x.reshape(-1, 20).min(axis=1)).all()
    step = np.repeat(about.scale, 20)
    # the value is computed with two roundings, of numbers of at most 1004
    assert (np.abs(c(x) - x) <= step / 2 + 4 * np.finfo(float).eps * 1004).all()


def test_rounding_the_metadata_breaks_half_a_step_without_repair():
    x = np.array([1003.0, 1003.2, 1003.1, 1003.05])
    c = GroupQuantizer(4, 4, metadata="bfloat16")
    step = 0.2 / 15
    assert np.abs(c(x) - x).max() > 10 * step


def test_what_is_quantised_with_exact_metadata_is_read_with_stored():
    x = NORMAL.astype(np.float32)
    exact, stored = (GroupQuantizer(8, 100, metadata="bfloat16", quantise_with=w) for w in ("exact", "stored"))
    assert exact.compress(x).codes.tolist() == GroupQuantizer(8, 100).compress(x).codes.tolist()
    assert np.abs(exact(x) - x).max() > np.abs(stored(x) - x).max()


def test_equal_entries_are_reproduced():
    for kind in ("float32", "float16"):
        for value in (0.0, -0.0, 1.5, -3.0):
            for options in ({}, {"spikes": True}, {"repaired": True}, {"zero": "integer"}, {"zero": "clamped"}):
                x = np.full(9, value, np.float32)
                assert GroupQuantizer(2, 4, metadata=kind, **options)(x).tolist() == x.tolist(), options


def test_a_scale_that_underflows_makes_a_constant_group_unless_repaired():
    x = np.array([0.0, 255 * 2.0**-26], np.float32)
    assert GroupQuantizer(8, 2, metadata="float16").compress(x).ranges.scale.tolist() == [0.0]
    assert GroupQuantizer(8, 2, metadata="float16")(x).tolist() == [0.0, 0.0]
    repaired = GroupQuantizer(8, 2, metadata="float16", repaired=True)
    assert repaired.compress(x).ranges.scale.tolist() == [2.0**-24]
    assert np.abs(repaired(x) - x).max() <= 2.0**-25


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([-65504.0, 65504.0], {"width": 1, "metadata": "float16"}, "scale of a group is too large for float16"),
        ([70000.0, 70001.0], {"metadata": "float16"}, "zero point of a group is too large for float16"),
        ([-3e38, 3e38], {}, "range of a group is too large for float32"),
        ([70000.0, 1.0, 2.0], {"metadata": "float16", "spikes": True}, "spike of a group is too large"),
        ([1e30, 2e30], {"scale": "log2"}, r"above 2\^\(127/8\)"),
        (
            [1e30, float(np.nextafter(np.float32(1e30), np.float32(2e30)))],
            {"zero": "integer", "width": 8},
            "does not fit 32 bits",
        ),
    ],
)
def test_metadata_that_do_not_fit_are_refused(x, options, message):
    c = GroupQuantizer(**{"width": 4, "group": 4, **options})
    with pytest.raises(ValueError, match=message):
        c.compress(np.array(x, np.float32))


def test_the_largest_float16_range_fits_from_two_bits_on():
    x = np.array([-65504.0, 65504.0, 0.0], np.float32)
    c = GroupQuantizer(2, 3, metadata="float16")
    assert np.isfinite(c(x)).all()


def test_spikes_are_kept_and_leave_a_smaller_scale():
    x = NORMAL.astype(np.float32).copy()
    x[::100], x[7::100] = 50.0, -40.0
    plain, spiked = GroupQuantizer(2, 100), GroupQuantizer(2, 100, spikes=True)
    y = spiked(x)
    assert y[::100].tolist() == [50.0] * 10
    assert y[7::100].tolist() == [-40.0] * 10
    assert (spiked.compress(x).ranges.scale < plain.compress(x).ranges.scale / 5).all()
    assert ((y - x) ** 2).mean() < 0.01 * ((plain(x) - x) ** 2).mean()


@pytest.mark.parametrize("x", [[3.0], [3.0, -2.0], [1.0, 1.0, 1.0], [2.0, 2.0, -1.0], [5.0, 1.0, 1.0, 5.0]])
def test_groups_that_are_all_spikes_or_ties(x):
    c = GroupQuantizer(1, 4, spikes=True)
    positions = c.compress(np.array(x)).ranges.positions[0]
    assert positions.tolist() == [
        min(range(len(x)), key=lambda i: (x[i], i)),
        max((i for i in range(len(x)) if i != x.index(min(x))), key=lambda i: (x[i], -i), default=0),
    ]
    if len(x) <= 3:
        assert c(np.array(x)).tolist() == x


def test_an_integer_zero_point_keeps_half_a_step():
    for x in (NORMAL, NORMAL + 3, NORMAL - 30):
        c = GroupQuantizer(4, 50, zero="integer")
        message = c.compress(x)
        points = message.ranges.points
        assert points.tolist() == np.rint(points).tolist()
        step = np.repeat(message.ranges.scale, 50)
        assert (np.abs(c(x) - x) <= step / 2 * (1 + 1e-6) + 1e-6).all()


def test_a_clamped_zero_point_is_right_only_across_zero():
    c = GroupQuantizer(4, 50, zero="clamped")
    step = np.repeat(c.compress(NORMAL).ranges.scale, 50)
    assert (np.abs(c(NORMAL) - NORMAL) <= step / 2 * (1 + 1e-6) + 1e-6).all()
    one_sided = NORMAL + 30
    step = np.repeat(c.compress(one_sided).ranges.scale, 50)
    assert (np.abs(c(one_sided) - one_sided) / step).max() > 40


def test_a_log2_scale_is_rounded_up_by_less_than_a_step():
    for theta in (8, 10):
        x = NORMAL.astype(np.float32)
        about = GroupQuantizer(4, 10, scale="log2", theta=theta).compress(x).ranges
        inflation = about.scale.astype(float) / about.exact_scale
        assert about.wire_scale.dtype == np.int8
        assert inflation.min() >= 1 - 1e-6
        assert inflation.max() <= 2 ** (1 / theta) * (1 + 1e-6)


def test_stochastic_rounding_follows_its_uniforms():
    c = StochasticGroupQuantizer(2, 4)
    x = np.array([0.0, 3.0, 1.25, 2.0])
    for u, code in ((0.0, 2), (0.2499, 2), (0.25, 1), (0.9, 1)):
        assert c.compress_with(x, np.full(4, u)).codes.tolist() == [0, 3, code, 2]
    law = c.law(x)
    assert [(float(p), float(y[2])) for p, y in law] == [(0.75, 1.0), (0.25, 2.0)]
    assert sum(p * y[2] for p, y in law) == 1.25


def test_stochastic_rounding_draws_from_its_generator():
    c, x = StochasticGroupQuantizer(3, 64), NORMAL.astype(np.float32)
    assert c(x, np.random.default_rng(1)).tobytes() == c(x, np.random.default_rng(1)).tobytes()
    assert c(x, np.random.default_rng(1)).tobytes() != c(x, np.random.default_rng(2)).tobytes()
    message = c.compress(x, np.random.default_rng(1))
    assert c.decompress(message).tobytes() == c(x, np.random.default_rng(1)).tobytes()
    with pytest.raises(TypeError, match="rng must be"):
        c(x)
    with pytest.raises(TypeError, match="dtype of x"):
        c.compress_with(x, np.zeros(1000))
    with pytest.raises(ValueError, match="shape of x"):
        c.compress_with(NORMAL, np.zeros(3))
    with pytest.raises(ValueError, match=r"in \[0, 1\)"):
        c.compress_with(NORMAL, np.ones(1000))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="long vectors need compiled kernels")
def test_threads_do_not_matter():
    x = np.random.default_rng(2).standard_normal((1 << 20) + 77, np.float32)
    results = []
    before = numba.get_num_threads()
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            results.append([GroupQuantizer(4, g, spikes=s)(x).tobytes() for g in (128, 100) for s in (False, True)])
            results[-1].append(StochasticGroupQuantizer(4)(x, np.random.default_rng(0)).tobytes())
    finally:
        numba.set_num_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"width": 0}, ValueError, r"width must be in \[1, 8\], got 0"),
        ({"width": 9}, ValueError, "width must be in"),
        ({"width": 2.0}, TypeError, "width must be an integer"),
        ({"width": 2, "group": 0}, ValueError, "group must be in"),
        ({"width": 2, "metadata": "float8"}, ValueError, "metadata must be one of float64, float32, float16, bfloat16"),
        ({"width": 2, "zero": "none"}, ValueError, "zero must be one of"),
        ({"width": 2, "scale": "ln"}, ValueError, "scale must be one of"),
        ({"width": 2, "quantise_with": "both"}, ValueError, "quantise_with must be one of"),
        ({"width": 2, "theta": 0}, ValueError, "theta must be in"),
        ({"width": 2, "repaired": True, "zero": "integer"}, ValueError, "repaired needs"),
    ],
)
def test_parameters_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        GroupQuantizer(**options)


def test_stochastic_rounding_needs_a_float_zero_point():
    with pytest.raises(ValueError, match="stochastic rounding needs"):
        StochasticGroupQuantizer(2, zero="clamped")


@pytest.mark.parametrize("options", [{"zero": "integer"}, {"scale": "log2"}])
def test_what_has_no_exact_law_says_so(options):
    with pytest.raises(ValueError, match="the law is defined for"):
        GroupQuantizer(2, 4, **options).law([1, 2])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_entries_are_refused_also_as_spikes(bad):
    x = np.array([1.0, bad, 2.0])
    for c in (GroupQuantizer(4, 3), GroupQuantizer(4, 3, spikes=True)):
        with pytest.raises(ValueError, match="must be finite"):
            c.compress(x)
        with pytest.raises(ValueError, match="must be finite"):
            c(x)


def test_other_inputs():
    c = GroupQuantizer(4, 7)
    x = NORMAL[:64].copy()
    x.flags.writeable = False
    before = x.copy()
    assert c(x[::2]).tolist() == c(np.ascontiguousarray(x[::2])).tolist()
    assert x.tolist() == before.tolist()
    for wrong, error in ((np.arange(4), TypeError), (NORMAL.astype(np.float16), TypeError), ([], ValueError)):
        with pytest.raises(error):
            c.compress(np.asarray(wrong, dtype=getattr(wrong, "dtype", float)))
