"""Kernels run on every bit pattern of a float format, against their exact definitions in integers.

A goal that a run shows says that a kernel is its definition. The run goes through all patterns once, when the
certificate is made (``commbounds certify --exhaustive``), and leaves a record; to check the record is to go through a
fixed share of them, and to compare the sources of what was run then with those of now.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from commbounds.columns import Registry
from commbounds.theory import claims
from commbounds.verify.certify.certificate import Certificate, CertificateError, models
from commbounds.verify.certify.run import Run

_RUNS: Registry[Run] = Registry("RUNS", "verify.experiments", "exhaustive", written=False)


def runs() -> Registry[Run]:
    """The runs of all columns, by name: ``RUNS`` in ``verify/experiments/NAME/exhaustive.py``."""
    return _RUNS


def runs_of(certificate: Certificate) -> tuple[str, ...]:
    """The runs that a certificate's proofs hold records of, by name."""
    named = [proof["goal"] for proof in certificate.proofs if "run" in proof]
    if not named:
        return ()
    bound = claims()[certificate.claim].relation.rhs
    goals = models()[certificate.claim].goals_at(bound, certificate.instances[0])
    return tuple(goals[name].run for name in named)


def ran(name: str, progress: Callable[[float], None] = lambda _: None) -> dict[str, Any]:
    """The record of a run over all patterns.

    Raises
    ------
    CertificateError
        The kernel is not its definition.
    """
    run = runs()[name]
    record = run.record()
    if different := run.count(1, progress):
        raise CertificateError(f"{name}: the kernel is not its definition at {different} of all patterns")
    return record


def check_record(name: str, record: Any) -> None:
    """Check the record of a run, by its digests and a share of the patterns.

    Raises
    ------
    CertificateError
        There is no such run, what was run is not what would be run now, or the kernel is not its definition.
    """
    if name not in runs():
        raise CertificateError(f"there is no run {name!r}")
    expected = runs()[name].record()
    if not isinstance(record, Mapping) or set(record) != set(expected):
        raise CertificateError(f"the record of a run says {', '.join(expected)}")
    for key, value in expected.items():
        if record[key] != value:
            raise CertificateError(f"another {key} than when {name} was run: run `commbounds certify --exhaustive`")
    ran_share(name, runs()[name].share)


def ran_share(name: str, every: int) -> int:
    """How many patterns were run, every `every`th of a run's numbers.

    Parameters
    ----------
    name : str
        One of `runs`.
    every : int
        At least 1, and odd: every second number would leave the last bit of all patterns zero.

    Raises
    ------
    CertificateError
        The kernel is not its definition.
    """
    if every < 1 or every % 2 == 0:
        raise ValueError(f"every must be odd and at least 1, got {every}")
    if different := _counted(name, every):
        raise CertificateError(f"{name}: the kernel is not its definition at {different} patterns")
    run = runs()[name]
    return len(range(0, run.patterns, every)) * run.each


@cache
def _counted(name: str, every: int) -> int:
    return runs()[name].count(every)
