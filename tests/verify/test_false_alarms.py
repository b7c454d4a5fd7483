"""The statistical checks raise no alarm, whatever the seed.

Run as a script it does the same with progress and counts: ``python tests/verify/test_false_alarms.py [SEEDS] [FIRST]``.
"""

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bindings import evidence

from commbounds.verify import Method, Verdict
from commbounds.verify.confront import FALSE_ALARM, claim_alpha
from commbounds.verify.experiments import EXPERIMENTS

SAMPLED = [name for name, e in EXPERIMENTS.items() if e.sampled]
SEEDS = 1000


def alarms(seed):
    """The claims that the run with this seed refutes by their statistical test, and the largest e-value over alpha."""
    refuted, nearest = [], 0.0
    for name in SAMPLED:
        found = evidence(name, Method.SAMPLE, seed=seed)
        nearest = max(nearest, found.e_value * claim_alpha())
        if found.verdict is not Verdict.CONSISTENT:
            refuted.append(name)
    return refuted, nearest


def test_the_rates_of_the_claims_add_up_to_that_of_the_run():
    assert len(SAMPLED) * claim_alpha() == pytest.approx(FALSE_ALARM, rel=2.0**-52)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_no_seed_raises_an_alarm(first):
    """All of them together raise one with probability at most SEEDS times FALSE_ALARM: 1 in 1000."""
    assert [found for found in map(alarms, range(first, first + 50)) if found[0]] == []


def main():
    from rich.console import Console
    from rich.progress import Progress

    count, first = (int(v) for v in (*sys.argv[1:], *(SEEDS, 0)[len(sys.argv) - 1 :]))
    raised, nearest = Counter(), 0.0
    with ProcessPoolExecutor() as pool, Progress(console=Console(stderr=True), transient=True) as bar:
        for refuted, near in bar.track(pool.map(alarms, range(first, first + count)), total=count):
            raised.update(refuted)
            nearest = max(nearest, near)
    print(f"{count} seeds from {first}, {len(SAMPLED)} statistical tests each: {sum(raised.values())} alarms")
    print(f"largest e-value: {nearest:.3g} of what raises an alarm")
    for name, times in raised.most_common():
        print(f"{times:5d} {name}")
    return 1 if raised else 0


if __name__ == "__main__":
    sys.exit(main())
