"""What statistical claims say that they can see, they see."""

import re
from pathlib import Path

import pytest

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.power import NOISES, always_off, found_of, smallest

DOC = Path(__file__).resolve().parents[3] / "docs" / "conformance-power.md"
BY_LABEL = {noise.label: noise for noise in NOISES}


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.label)
def test_the_noises_are_what_they_say(noise):
    subject = noise.subject(1.0, [cf.Unbiased(), cf.Variance(noise.omega)])
    subject = cf.Codec(subject.roundtrip, subject.claims, magnitudes=subject.magnitudes, effort=0.25)
    assert cf.check(subject, only=["Unbiased", "Variance"]).passed


@pytest.mark.wide  # five seconds and more
def test_violations_of_that_size_are_found_in_a_run():
    noise = NOISES[0]
    runs = 1
    assert found_of(noise, *smallest(noise, "quick"), runs) == (runs, runs)


def test_the_documented_table_is_of_these_noises():
    rows = re.findall(r"^\| (.+?) \|", DOC.read_text(), re.MULTILINE)
    assert [row for row in rows if row in BY_LABEL] == list(BY_LABEL)


@pytest.mark.parametrize("budget", ["quick", "standard"])
def test_the_documented_share_of_the_reach_is_derived(budget):
    assert f"| {budget} | {always_off(budget):.2g} |" in DOC.read_text()


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.label)
def test_violations_of_that_size_are_found_in_200_runs(noise):
    found = found_of(noise, *smallest(noise, "quick"), 200)
    assert min(found) >= 0.97 * 200
