"""Shipped collectives: sizes and ends that their sources name, and one coding of QuickReduce number by number."""

import re
import runpy
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from commbounds.collectives.shipped_collectives import (
    flashinfer_allreduce,
    loongforge_hook,
    nccl_sum,
    quantization_hook,
    quickreduce,
    torchcomms_reduce_scatter,
    torchft_allreduce,
)
from commbounds.collectives.shipped_collectives.flashinfer import flashinfer_read
from commbounds.collectives.shipped_collectives.loongforge import loongforge_code
from commbounds.collectives.shipped_collectives.nccl import float8
from commbounds.collectives.shipped_collectives.quickreduce import quick_code, quick_read
from commbounds.collectives.shipped_collectives.torchcomms import philox, rounded_by_words, words_of
from commbounds.theory import claims
from commbounds.verify import conformance as cf

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FINITE = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
"""All numbers of float16 that are finite and not negative."""


@pytest.mark.parametrize(("width", "stride"), [(3, 896), (4, 1152), (6, 1664), (8, 2176)])
def test_a_register_of_all_threads_takes_the_bytes_that_the_source_sets_aside(width, stride):
    assert quick_code(np.zeros(2048, np.float16), width).size == stride


@pytest.mark.parametrize("width", [3, 4, 6, 8])
def test_one_coding_errs_by_a_step_and_what_float16_rounds_at_every_number_of_a_block(width):
    least = int(np.searchsorted(FINITE, np.float16(2 ** (width - 1) / 65000)))
    for place in np.linspace(least + 1, FINITE.size - 2, 9).astype(int):
        m = FINITE[place]
        numbers = np.concatenate([FINITE[: place + 1], -FINITE[:place]])
        blocks = np.zeros((-(-numbers.size // 31), 32, 2), np.float16)
        blocks[:, 0, 0] = m
        blocks[:, 1:, 0].flat[: numbers.size] = numbers  # the second numbers of the pairs are zero
        x = blocks.ravel()
        off = np.abs(quick_read(quick_code(x, width), x.size, width).astype(np.float64) - x.astype(np.float64))
        bound = float(m) * (2.0 ** (1 - width) + 1 / 2048) + 2.0 ** (width - 25)
        assert bound >= off.max() >= 0.35 * float(m) * 2.0 ** (1 - width)


def test_small_blocks_shrink_as_soon_as_the_reciprocal_of_their_scale_leaves_float16():
    def kept(m):
        x = np.full(64, m, np.float16)
        return float(quick_read(quick_code(x, 8), 64, 8)[0] / x[0])

    assert kept(128 / 65000) > 0.99
    assert 0.74 < kept(0.0015) < 0.78
    assert kept(2.0**-10) == 0.5


def test_beyond_float16_a_block_is_infinite_or_cut_off():
    stack = np.ones((2, 64), np.float32)
    stack[0, 0] = 1e5
    whole, _ = quickreduce(stack, tile=512, saturates=False)
    assert np.isinf(whole[0, ::2]).all()
    assert (whole[0, 1::2] == 2).all()
    cut, _ = quickreduce(stack, tile=512)
    assert cut[0, 0] == 65504


def test_both_ends_of_float16_show_in_the_program_without_any_of_ours(capsys):
    """What users reported is printed by numpy alone; the collective has the same shares of small blocks."""
    runpy.run_path(str(EXAMPLES / "shipped_collectives_halves.py"))
    printed = capsys.readouterr().out
    assert printed == (EXAMPLES / "shipped_collectives_halves.txt").read_text(encoding="utf-8")
    for number, share in re.findall(r"blocks of (\S+) are read as (\S+) of", printed):
        block = np.full(64, float(number), np.float16)
        assert f"{float(quick_read(quick_code(block, 8), 64, 8)[0] / block[0]):.3f}" == share


def test_ranks_of_flashinfer_differ_where_a_sum_lies_on_no_code():
    sums, _ = flashinfer_allreduce([[4.0, 1.0], [3.0, 0.875]], 2, 2)
    assert sums[0, 1] != sums[1, 1]


@pytest.mark.parametrize(("columns", "share"), [(1, 2.0), (2, 1.0), (4, 0.5), (64, 0.265625)])
def test_what_torchft_sends_over_what_a_ring_of_float32_sends(columns, share):
    _, traffic = torchft_allreduce(np.ones((4, 256), np.float32), columns)
    assert traffic.sent.max() / (2 * 3 * 64 * 4) == share


def test_integers_of_torchft_are_cut():
    means, _ = torchft_allreduce(np.array([[127.0, 1.9]], np.float32), 2, native=False)
    assert means.tolist() == [[127.0, 1.0]]


def test_the_least_scale_of_torchs_observers_loses_small_gradients():
    means, _ = quantization_hook(np.full((2, 8), 2.0**-25, np.float32))
    assert not means.any()


# --- ports ------------------------------------------------------------------------------------------------------------


def quick(bits):
    """A port of QuickReduce."""
    return lambda stack, seed: quickreduce(stack.astype(np.float32), bits, tile=512)[0].astype("float16")


@pytest.mark.wide
def test_a_port_is_held_to_the_bounds_of_the_book():
    claimed = cf.like(quickreduce, width=8, saturates=True)
    assert any("error" in str(claim) for claim in claimed)
    for bits, passes in ((8, True), (6, False)):
        subject = cf.AllReduce(quick(bits), claimed, effort=0.05, dtype="float16", ranks=(1, 2, 4, 8))
        report = cf.check(subject, only=list(map(str, claimed)))
        assert report.passed == passes, report
        assert not report.not_judged
        if not passes:
            assert all("error" in finding.claim for finding in report.failures)


def test_what_is_claimed_of_a_port_goes_by_its_settings():
    given = {"columns": 4, "mean": False, "height": lambda P, n: -(-n // 4)}
    assert [str(claim) for claim in cf.like(torchft_allreduce, native=True, **given)] == [
        "Booked(shipped_collectives.torchft.error)"
    ]
    with pytest.raises(TypeError, match="asks for 'width'"):
        cf.like(quickreduce)


@pytest.mark.parametrize(("element", "stuck"), [("e4m3", 16), ("e5m2", 8)])
def test_sums_of_ones_in_float8_end_before_the_ranks_do(element, stuck):
    for P in (stuck - 1, stuck, stuck + 1, 2 * stuck):
        assert (nccl_sum(np.ones((P, 3)), element)[0] == min(P, stuck)).all()


@pytest.mark.parametrize(
    ("element", "unit", "terms", "off"),
    [
        ("e5m2", Fraction(1, 8), (640, 4096, 512, 640, 512, 1280, 1024, -1024), Fraction(9, 19)),
        ("e4m3", Fraction(1, 16), (9, 128, 8, 9, 8, 9, 8, 9, 8, 18, 16), Fraction(9, 23)),
    ],
)
def test_sums_of_float8_that_are_rounded_into_the_next_binade(element, unit, terms, off):
    """The sharp bound of few ranks, (P - 1)u/(1 + (P - 1)u), does not hold of 8 and of 11."""
    P, sizes = len(terms), sum(map(abs, terms))
    found = nccl_sum(np.roll(terms, 1).astype(np.float64).reshape(P, 1), element)[0][0, 0]
    error = abs(Fraction(float(found)) - sum(terms))
    assert error / sizes == off
    assert off > (P - 1) * unit / (1 + (P - 1) * unit)
    assert error <= claims()["shipped_collectives.nccl.error"].bound(P=P, element_unit=unit, sizes=sizes)


@pytest.mark.parametrize("element", ["e4m3", "e5m2"])
def test_two_numbers_of_float8_are_added_with_one_rounding(element):
    """Float16 between float64 and float8 changes no sum, of all pairs."""
    kind = float8(np.zeros(1), element).dtype
    numbers = np.arange(256, dtype=np.uint8).view(kind).astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    stack = np.stack(np.broadcast_arrays(numbers[:, None], numbers)).reshape(2, -1)
    most = np.abs(numbers).max()
    assert (nccl_sum(stack, element)[0][0] == np.clip(stack.sum(axis=0), -most, most).astype(kind)).all()


# --- torchcomms -------------------------------------------------------------------------------------------------------


def example(name):
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES / f"{name}.py")))


def test_its_words_are_those_of_philox():
    """The known answers of Random123 for seven rounds, of counters and keys that are all zeros."""
    assert [f"{word:08x}" for word in philox(0, [0])[0]] == ["5f6fb709", "0d893f64", "4f121f81", "4f730a48"]


def test_its_rounding_is_unbiased_and_may_leave_the_range():
    """Sixteen bits are as many as are cut off; what lies above the largest of bfloat16 becomes infinite by most."""
    halves = np.random.default_rng(0).integers(2**16, size=12, dtype=np.uint32)
    x = ((np.uint32(0x3F80) << np.uint32(16)) + halves).view(np.float32)
    law = cf.word_law(rounded_by_words, [*x.tolist(), -3.3, 1e-40, 0.0])
    assert law.bias == (0,) * 15
    assert law.monotone == (True,) * 15
    assert law.shared == ()
    words = np.arange(2**16, dtype=np.uint32)
    largest = np.full(words.size, np.finfo(np.float32).max)
    assert np.count_nonzero(np.isinf(rounded_by_words(largest, words))) == 2**16 - 1


def test_eight_bits_of_its_words_are_biased_by_what_they_do_not_hold():
    """Of a step of 2^16 the last eight bits m are lost: m/2^16 of a step, at most 2^-8 - 2^-16."""
    lost = np.arange(0, 256, 15)
    x = (np.uint32(0x3F801200) + lost.astype(np.uint32)).view(np.float32)
    law = cf.word_law(lambda x, words: rounded_by_words(x, words << np.uint32(8)), x, bits=8)
    assert law.relative_bias == tuple(Fraction(-int(m), 2**16) for m in lost)
    bound = claims()["precision.stochastic.few_bits"].bound(P=2, unit=Fraction(1, 2**8), random_bits=8)
    assert all(abs(bias) <= bound * Fraction(v) for bias, v in zip(law.bias, x.tolist(), strict=True))


def test_its_ranks_have_words_of_their_own():
    found = [words_of(5, peer * 24 + rank * 8, 8) for peer in range(3) for rank in range(3)]
    assert len({row.tobytes() for row in found}) == 9
    assert words_of(5, 3, 10)[5:].tolist() == words_of(5, 8, 5).tolist()


@pytest.mark.parametrize(
    ("words", "error"), [([[0, 0]], ValueError), (np.zeros((2, 2)), ValueError), (np.full((2, 2), 65536), ValueError)]
)
def test_words_that_are_none_are_refused(words, error):
    with pytest.raises(error, match="words must be"):
        torchcomms_reduce_scatter(np.ones((2, 2)), words=words)


@pytest.mark.wide
def test_the_example_of_a_reduce_scatter_keeps_what_it_promises():
    report = cf.check(example("torchcomms_reduce_scatter").subject)
    assert report.passed, (report.failures, report.owed)


# --- LoongForge -------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_what_is_fed_back_in_float8_is_held_back_and_not_lost():
    made = example("loongforge_feedback")
    report = cf.check(made.subject)
    assert report.passed, (report.failures, report.owed)
    assert {finding.claim.split("(")[0] for finding in cf.check(made.without).failures} == {"AbsoluteError"}


def test_a_block_whose_scale_is_no_normal_number_is_zero():
    """Its reciprocal would be infinite, and codes of zeros NaN; the block is lost instead, and kept back."""

    def read(x):
        return flashinfer_read(loongforge_code(x, 8), 8, 8)

    assert not read(np.full(8, 1e-37, np.float32)).any()
    whole = np.full(8, 1e-34, np.float32)  # its code is 448; the scale is rounded, and the product with it
    assert read(whole).tolist() == [pytest.approx(float(whole[0]), rel=(1 + 2**-24) ** 2 - 1)] * 8


def test_what_is_lost_of_small_blocks_is_sent_when_they_grow():
    small, large = np.full(8, 5e-36, np.float32), np.float32(1e-35)
    stack = np.tile(np.concatenate([small, small + large]), (2, 1))
    means, _ = loongforge_hook(stack, 2, 8, "both")
    assert not means[:, :8].any()
    coded_twice = (1 + 1 / 28) ** 2 - 1
    assert means[0, 8:] == pytest.approx(float(2 * small[0] + large), rel=coded_twice)
