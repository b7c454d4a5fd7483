"""Runs over every bit pattern: definitions against exact laws, kernels that err, records that lie."""

from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from samples import first_of_each

from commbounds.cli import main
from commbounds.compressors import NaturalCompression, NearestPower
from commbounds.compressors.flashcomm import metadata
from commbounds.verify import certify
from commbounds.verify.certify import exhaustion
from commbounds.verify.certify.finder import NotFoundError, find
from commbounds.verify.certify.run import Run
from commbounds.verify.experiments.flashcomm import exhaustive as flashcomm_runs
from commbounds.verify.experiments.quantizers import exhaustive as quantizers_runs

CLAIM = "quantizers.naturalcompression.unbiased"


@pytest.fixture
def patterns():
    """Of float32: ends of the format, ties, and some of all."""
    edges = [
        0,
        1,
        2**22,
        2**23 - 1,
        2**23,
        2**23 + 1,
        127 << 23,
        (127 << 23) + 2**22,
        (254 << 23) + 5,
        255 << 23,
        2**31,
    ]
    drawn = np.random.default_rng(0).integers(0, 2**32, 4000)
    return np.concatenate([np.array(edges + [2**31 + e for e in edges[:-1]]), drawn]).astype(np.uint32)


@pytest.mark.parametrize("name", first_of_each(exhaustion.runs(), lambda name: name.split(".")[0]))
def test_kernels_are_their_definitions_at_edges_and_at_drawn_patterns(name, patterns):
    run = exhaustion.runs()[name]
    assert run.differences(patterns % np.uint32(run.patterns) if run.patterns < 2**32 else patterns) == 0


def exact(word):
    return Fraction(float(np.array([word], np.uint32).view(np.float32)[0]))


@pytest.mark.parametrize("word", [0x3F800000, 0x3FAAAAAB, 0x3FC00000, 0x3FC00001, 0xC2480001, 0x00800001])
def test_definitions_in_integers_are_those_of_the_exact_laws(word):
    pattern, mantissa = np.array([word], np.uint32), word & 0x7FFFFF
    law = {value: p for p, (value,) in NaturalCompression().law([exact(word)]) if p}
    assert law.get(max(law, key=abs)) == (Fraction(mantissa, 2**23) if mantissa else 1)
    for count in (0, max(2 * mantissa - 1, 0), 2 * mantissa, 2**24 - 1):
        value = max(law, key=abs) if count < 2 * mantissa else min(law, key=abs)
        got = np.array([float(value)], np.float32).view(np.uint32)
        assert not quantizers_runs._not_neighbouring_power(pattern, np.array([count], np.uint32), got)
        assert quantizers_runs._not_neighbouring_power(pattern, np.array([count], np.uint32), got + np.uint32(1))
    ((_, (value,)),) = NearestPower().law([exact(word)])
    got = np.array([float(value)], np.float32).view(np.uint32)
    assert not quantizers_runs._not_nearest_power(pattern, got)


@pytest.mark.parametrize(
    ("dtype", "largest", "kept", "least"), [(ml_dtypes.bfloat16, 0x7F7F0000, 7, 1), (np.float16, 0x477FE000, 10, 113)]
)
def test_the_definition_of_a_format_is_its_nearest_number(patterns, dtype, largest, kept, least):
    small = np.array([0x33000000, 0x33000001, 0x33800000, 0x387FC000, 0x38800000, 0x477FEFFF], np.uint32)
    x = np.concatenate([small, patterns])
    x = x[(x & 0x7FFFFFFF) <= largest][:300]
    numbers = np.arange(2**16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        table = numbers.view(dtype).astype(np.float64)
    keep = np.isfinite(table) & (numbers != 0x8000)
    numbers, table = numbers[keep], table[keep]
    for word in x:
        value = float(word.reshape(1).view(np.float32)[0])
        off = np.abs(table - value)
        nearest = [n for n in numbers[off == off.min()] if off[off == off.min()].size == 1 or n % 2 == 0]
        below, above = numbers[table <= value], numbers[table >= value]
        best = nearest[0], below[table[table <= value].argmax()], above[table[table >= value].argmin()]
        for way, expected in zip((0, -1, 1), best, strict=True):
            right, wrong = (np.array([expected + more], np.uint16) for more in (0, 1))
            assert not flashcomm_runs._not_rounded(word.reshape(1), kept, least, way, right)
            assert flashcomm_runs._not_rounded(word.reshape(1), kept, least, way, wrong)


def test_definitions_of_codes_are_those_of_exact_quotients():
    rng = np.random.default_rng(3)
    values = flashcomm_runs._VALUES[rng.integers(0, flashcomm_runs._VALUES.size, 400)]
    for word in (1, 2, 0x03FF, 0x0400, 0x3555, 0x3C00, 0x4248, 0x7BFF):
        scale = Fraction(float(np.array([word], np.uint16).view(np.float16)[0]))
        exact = np.empty(400, np.int64), np.empty(400, np.int64), np.empty(400, np.bool_)
        flashcomm_runs._quotients(values, word, *exact)
        quotients = [Fraction(float(v)) / scale for v in values.view(np.float16)]
        for point in (0, 128):
            codes = np.array([min(max(round(q) + point, 0), 255) for q in quotients], np.uint8)
            assert not flashcomm_runs._not_nearest_code(*exact, point, 255, codes)
            assert flashcomm_runs._not_nearest_code(*exact, point, 255, codes ^ 1) == 400
        for counts in (np.zeros(400, np.int64), exact[1], np.maximum(exact[1], 1) - 1):
            drawn = [Fraction(int(c), 2**24) for c in counts]
            codes = [min(max(int(-((u - q) // 1)), 0), 255) for q, u in zip(quotients, drawn, strict=True)]
            got = np.array(codes, np.uint8)
            assert not flashcomm_runs._not_stochastic_code(*exact, counts, 255, got)
            assert flashcomm_runs._not_stochastic_code(*exact, counts, 255, got ^ 1) == 400


def test_the_definition_of_powers_of_three_is_that_of_exact_shares(patterns):
    x, levels = quantizers_runs._finite(patterns)[:600], quantizers_runs._powers_of_three()
    exact_levels = [Fraction(0), *(exact(int(word)) for word in levels)]
    for exponent in (-79, -1, 0, 1, 2, 15, 16, 80):  # 3^16 has more than 24 bits
        level = exact_levels[exponent + 80]
        assert abs(level / Fraction(3) ** exponent - 1) <= Fraction(1, 2**24)
        assert (level == Fraction(3) ** exponent) == (0 <= exponent <= 15)
    parts = codes, above, apart = tuple(np.empty(x.size, np.int64) for _ in range(3))
    quantizers_runs._between_levels(x, levels, *parts)
    for i, word in enumerate(x):
        magnitude, code = abs(exact(int(word))), int(codes[i])
        assert exact_levels[code] <= magnitude
        if code < levels.size:
            assert magnitude < exact_levels[code + 1]
            share = (magnitude - exact_levels[code]) / (exact_levels[code + 1] - exact_levels[code])
            assert Fraction(int(above[i]), int(apart[i])) == share
        else:
            assert above[i] == 0
        share = Fraction(int(above[i]), int(apart[i]))
        for count in (0, int(share * 2**24), max(int(share * 2**24) - 1, 0), 2**24 - 1):
            value = float(exact_levels[code + (Fraction(count, 2**24) < share)])
            got = np.array([np.copysign(value, -1.0 if word >> 31 and value else 1.0)], np.float32).view(np.uint32)
            at = np.array([count], np.int64)
            one = slice(i, i + 1)
            for more, wrong in ((0, 0), (1, 1)):
                given = x[one], levels, codes[one], above[one], apart[one], at, got + np.uint32(more)
                assert quantizers_runs._not_stochastic_power(*given) == wrong


def test_a_kernel_that_errs_at_one_pattern_is_found(monkeypatch):
    right = metadata.stored

    def wrong(values, form, what):
        rounded = right(values, form, what)
        rounded[values == np.float32(1.5)] = 2
        return rounded

    monkeypatch.setattr(metadata, "stored", wrong)
    word = np.array([1.25, 1.5], np.float32).view(np.uint32)
    assert exhaustion.runs()["metadata.bfloat16"].differences(word) > 0


def test_a_run_counts_all_numbers_once():
    seen = []
    run = Run("made up", 100_001, lambda numbers: seen.extend(numbers.tolist()) or 0, (), (), share=7)
    shares = []
    assert run.count(1, shares.append) == 0
    assert seen == list(range(100_001))
    assert shares[-1] == 1
    assert shares == sorted(shares)
    seen.clear()
    assert run.count(run.share) == 0
    assert seen == list(range(0, 100_001, 7))
    assert replace(run, differences=lambda numbers: int((numbers == 49).sum())).count(7) == 1


@pytest.mark.parametrize("key", ["patterns", "kernel", "definition", "trust"])
def test_a_record_that_lies_is_refused(key):
    certificate = certify.load(CLAIM)
    certify.check(certificate)
    (place,) = (i for i, proof in enumerate(certificate.proofs) if "run" in proof)
    proof = certificate.proofs[place]
    lie = {**proof["run"], key: 2**32 - 1 if key == "patterns" else "0" * 64}
    proofs = [*certificate.proofs[:place], {**proof, "run": lie}, *certificate.proofs[place + 1 :]]
    with pytest.raises(certify.CertificateError, match=r"record|another"):
        certify.check(replace(certificate, proofs=tuple(proofs)))


def test_the_command_runs_as_many_patterns_as_it_is_asked_to(monkeypatch):
    seen = []
    small = Run("made up", 4000, lambda numbers: seen.extend(numbers.tolist()) or int((numbers == 51).sum()), (), ())
    monkeypatch.setattr(exhaustion, "runs", lambda: {"bitplanes": small})
    monkeypatch.setattr(exhaustion, "check_record", lambda name, record: None)
    exhaustion._counted.cache_clear()
    try:
        results = [
            CliRunner().invoke(main, ["certificates", "flashcomm.bitplanes.lossless", "--every", every])
            for every in ("7", "17", "16")
        ]
    finally:
        exhaustion._counted.cache_clear()
    assert [result.exit_code for result in results] == [0, 1, 2]
    assert "bitplanes:        572 patterns of 4000" in results[0].output
    assert "at 1 patterns" in results[1].output
    assert "must be odd" in results[2].output
    assert seen == [*range(0, 4000, 7), *range(0, 4000, 17)]
    with pytest.raises(ValueError, match="odd"):
        exhaustion.ran_share("bitplanes", 2)


def test_a_run_shows_nothing_else():
    certificate = certify.load("quantizers.naturalcompression.sign_symmetry")
    with pytest.raises(certify.CertificateError, match="zero"):
        certify.check(certificate, bound=1)
    (proof,) = [proof for proof in certificate.proofs if "run" in proof]
    others = tuple(other for other in certificate.proofs if other is not proof)
    for wrong in ({**proof, "run": None}, {"at": 0, "goal": proof["goal"]}, {**proof, "terms": []}):
        with pytest.raises(certify.CertificateError):
            certify.check(replace(certificate, proofs=(wrong, *others)))


def test_a_goal_about_other_things_is_not_shown_by_a_run():
    certificate, run = certify.load("sparsifiers.topk.contraction"), certify.load(CLAIM).proofs[-1]["run"]
    proofs = tuple({"at": proof["at"], "goal": proof["goal"], "run": run} for proof in certificate.proofs)
    with pytest.raises(certify.CertificateError, match="no other"):
        certify.check(replace(certificate, kind="exhaustion", proofs=proofs))


def test_what_was_run_before_is_found_again_and_the_rest_must_be_run():
    model = certify.models()[CLAIM]
    assert find(model) == certify.load(CLAIM)
    asked = []
    with pytest.raises(NotFoundError, match="differ"):
        find(model, exhaustive=lambda name: asked.append(name) or fails(name))
    assert asked == ["naturalcompression.float32"]


def fails(name):
    raise certify.CertificateError(f"{name} differs")


def test_the_command_runs_every_pattern_once_and_says_so(monkeypatch, tmp_path):
    seen = []
    small = Run("made up", 4000, lambda numbers: seen.append(numbers.size) or 0, (fails,), (exact,))
    monkeypatch.setattr(exhaustion, "runs", lambda: {"bitplanes": small})
    exhaustion._counted.cache_clear()
    command = ["certify", "--exhaustive", "flashcomm.bitplanes.lossless", "--out", str(tmp_path)]
    try:
        result = CliRunner().invoke(main, command)
    finally:
        exhaustion._counted.cache_clear()
    assert result.exit_code == 0, result.output
    assert seen == [4000, 4]  # all of them, and the share that a check runs
    written = certify.from_json((tmp_path / "flashcomm.bitplanes.lossless.json").read_text("utf-8"))
    (run,) = [proof["run"] for proof in written.proofs if "run" in proof]
    assert (written.kind, run["patterns"]) == ("exhaustion", 4000)
