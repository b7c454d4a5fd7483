"""What lossy all-reduces are accepted by: kinds of broken ones, by name, right ones in odd styles, and time."""

import time

import numpy as np
import pytest
from zoo import ZOO, lossy_sums
from zoo.lossy_kinds import LOSSY_KINDS, UNUSUAL

from commbounds.verify import conformance as cf

KINDS = {
    "sums that wrap": ("sum wraps", "wraps in sixteen bits", "wraps from five ranks on", "levels rounded up"),
    "sums that saturate": ("sums saturate", "float8 without saturation"),
    "scales that underflow": ("scale in float16", "small steps flushed", "small blocks vanish"),
    "scales of others": ("scale of rank zero", "read by the next scale", "table by columns", "padded with the largest"),
    "reciprocals in float16": ("reciprocal in float16",),
    "packing": ("nibbles of whole bytes", "code beyond the wire", "code of minus 128"),
    "layouts": ("interleaved ranks", "codes of two ranks swapped", "reads memory in order"),
    "rounding": ("rounds toward zero", "truncated after a half", "ties away from zero", "means rounded by rank"),
    "bias": ("biased by a thousandth", "truncated after a uniform", "eight bits never up", "last rank to nearest"),
    "draws that are shared": ("ranks draw alike", "one uniform for a block", "uniforms again after 16"),
    "dither": ("dither of another rank",),
    "numbers of ranks": ("rest lost at six ranks", "turned at seven ranks", "two nodes of four"),
    "sizes": ("twice behind a tile", "tile of ninety six", "short cut of fours", "fewer entries than ranks"),
    "owners": ("owner keeps more", "folded ranks left behind", "one unit off at eight"),
    "hops": ("coded again on every hop", "node by its first rank", "added in bfloat16"),
    "sparse": ("entries overwritten", "gaps of eight bits", "largest by value"),
    "memories": ("rounds that forget", "memory in float16", "rounds of one memory", "forgotten at zeros"),
    "parts": ("scattered to the next", "gathered with its own", "last of an uneven part"),
    "what is not finite": ("zeros over zero", "infinities cut off", "not a number swallowed"),
}
"""Kinds of broken all-reduces, by names of the zoo, each of which fails a claim that it is listed with."""
MISSED = {
    "strided views": ("reads memory in order", "layout in memory does not matter"),
    "wrong at P = 4 only": ("wrong at four ranks", "AbsoluteError"),
    "wrong where 256 divides n": ("wrong where 256 divides", "AbsoluteError"),
    "sums of int8 that wrap": ("sum wraps", "Bounded"),
    "integer draws": ("sixteen bits never up", "Unbiased"),
    "a shared uniform": ("one uniform", "Independent"),
    "bits without indices": ("topk counted without indices", "Bits"),
}
"""What an earlier kit did not see, by a name of the zoo and what finds it."""
LISTED = {broken.name: broken for broken in ZOO}


def test_every_kind_is_in_the_zoo():
    """Where every one of them is held to fail what it is listed with."""
    names = [name for kind in KINDS.values() for name in kind]
    assert len(names) == len(set(names))
    assert [name for name in names if name not in LISTED] == []
    for name, claim in MISSED.values():
        assert claim in LISTED[name].killed_by
    assert {broken.name for broken in LOSSY_KINDS} <= set(names)


@pytest.mark.wide
@pytest.mark.parametrize("broken", LOSSY_KINDS, ids=lambda broken: broken.name)
def test_what_fails_is_the_claim_that_speaks_of_it(broken):
    """With everything judged; a claim of the subject fails, and the smallest input is small."""
    (named,) = [f for f in cf.check(broken.subject).failures if f.claim.split("(")[0] in broken.killed_by]
    assert named.counterexample is not None
    assert named.message


@pytest.mark.wide
@pytest.mark.parametrize(("run", "claims", "options"), UNUSUAL, ids=lambda part: getattr(part, "__name__", ""))
def test_a_right_one_in_an_odd_style_passes(run, claims, options):
    report = cf.check(cf.AllReduce(run, claims, **{"effort": 0.2, **options}))
    assert report.passed, (report.failures, report.owed)
    assert {str(claim) for claim in claims} <= {finding.claim for finding in report.findings}


def turned(x):
    """The Walsh-Hadamard transform over the root of n, entry by entry: slow."""
    half = 1
    while half < len(x):
        for start in range(0, len(x), 2 * half):
            for i in range(start, start + half):
                x[i], x[i + half] = x[i] + x[i + half], x[i] - x[i + half]
        half *= 2
    return [v / len(x) ** 0.5 for v in x]


def hadamard_one_bit(x, seed):
    """Signs of a rotated vector, and the mean magnitude of its entries."""
    m = 1 << (x.size - 1).bit_length()
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), m)
    rotated = turned((np.pad(x.astype(np.float64), (0, m - x.size)) * signs).tolist())
    scale = sum(map(abs, rotated)) / m
    back = turned([scale if v >= 0.0 else -scale for v in rotated])
    return (np.array(back) * signs)[: x.size].astype(x.dtype)


@pytest.mark.wide
def test_a_subject_whose_long_inputs_cost_minutes_is_judged_in_seconds():
    claims = [cf.Contraction(lambda n: 1 / (2 * n)), cf.ScaleEquivariant(powers_of_two=True)]
    subject = cf.Codec(hadamard_one_bit, claims, magnitudes=(1e-15, 1e15))
    begun = time.monotonic()
    report = cf.check(subject, seconds=10.0)
    assert time.monotonic() - begun < 25.0, "a claim may take twice its share, and a call ends when it ends"
    assert not report.failures, report
    assert any("no time for" in finding.evidence for finding in report.findings)


def test_entries_that_are_rounded_together_are_noted_where_means_are_right():
    """Where `Independent` is claimed it fails, and nothing is noted."""
    for draws, noted in ((lossy_sums.one_uniform, True), (lossy_sums.at_random, False)):
        finding = cf.check(cf.AllReduce(draws, [cf.Unbiased()], effort=0.05), only=["Unbiased"])["Unbiased"]
        assert finding.verdict == "pass"
        assert ("to be noted: the sums of the errors over" in finding.evidence) == noted


def test_a_limit_that_is_reached_names_what_sets_it_and_a_first_call_may_compile():
    def waits(x, seed, seconds=(0.2, 0.0, 0.2, 0.2, 0.2)):
        calls.append(seed)
        time.sleep(seconds[min(len(calls), len(seconds)) - 1])
        return x

    for waiting, verdict in (((0.2, 0.0), "pass"), ((0.0, 0.3, 0.3, 0.3, 0.0), "fail")):
        calls = []
        subject = cf.Codec(lambda x, seed, waiting=waiting: waits(x, seed, waiting), time_limit=0.1, effort=0.05)
        report = cf.check(subject, only=["answers"])
        assert report["answers"].verdict == verdict, report
        assert ("time_limit" in str(report)) == (verdict == "fail")
