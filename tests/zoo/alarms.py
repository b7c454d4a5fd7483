"""False alarms: the statistical claims of all right subjects, under many seeds.

``PYTHONPATH=tests python -m zoo.alarms FIRST LAST`` prints every failure, and how many reports there were.
"""

import sys
from dataclasses import replace
from functools import partial

from commbounds.verify import conformance as cf
from zoo.controls import COMPRESSORS


def _plain(roundtrip, x, seed):
    return roundtrip(x, seed)


def statistical(subject):
    """The claims of a subject that a sequential test may judge."""
    return [str(claim) for claim in subject.claims if claim.statistical]


RANDOMISED = [subject for subject in COMPRESSORS if subject.roundtrip.randomised]
"""Subjects whose claims are judged by draws, or by laws that are read off."""


SAMPLED = [
    replace(
        subject, name=f"{subject.name} without uniforms", roundtrip=partial(_plain, subject.roundtrip), intercept=False
    )
    for subject in RANDOMISED
    if subject.injectable
]
"""The same without uniforms from outside, so that all are judged by draws."""


def alarms(subject, seeds):
    """Every failure of a right subject's statistical claims under the seeds."""
    reports = (cf.check(subject, seed=seed, only=statistical(subject)) for seed in seeds)
    return [(report.subject, report.seed, finding) for report in reports for finding in report.failures]


def main(first, last):
    """Print what fails under seeds from `first` to before `last`."""
    count, found = 0, []
    for seed in range(first, last):
        for subject in (*RANDOMISED, *SAMPLED):
            found += alarms(subject, [seed])
            count += 1
        print(f"{count} reports, seeds {first} to {seed}: {len(found)} failures", flush=True)
    for failure in found:
        print(failure)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
