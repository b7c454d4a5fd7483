"""`conforms`: a subject's claims as tests of pytest."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from commbounds.compressors.base import checked_choice, checked_count, shown
from commbounds.verify.conformance.budgets import BUDGETS
from commbounds.verify.conformance.check import check
from commbounds.verify.conformance.report import CheckFinding
from commbounds.verify.conformance.subject import Subject
from commbounds.verify.conformance.universal import UNIVERSAL

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Promise:
    """What the plugin finds at a decorated function.

    Parameters
    ----------
    subject : Subject
        What is judged.
    budget : str
        quick, standard or thorough.
    seed : int
        Root of all randomness.
    """

    subject: Subject
    budget: str
    seed: int

    @property
    def claims(self) -> list[str]:
        """Everything that the subject is held to, in the order of a report."""
        return [str(claim) for claim in (*UNIVERSAL, *self.subject.claims)]

    def finding(self, claim: str) -> CheckFinding:
        """The finding on one of `claims`: the one that is in the whole report, too."""
        return check(self.subject, self.budget, self.seed, only=[claim]).findings[0]


def conforms(subject: Subject, budget: str = "quick", seed: int = 0) -> Callable[[F], F]:
    """A decorator that makes one test for every universal check and every claim of `subject`.

    Parameters
    ----------
    subject : Subject
        What is judged.
    budget : str
        quick, standard or thorough.
    seed : int
        Nonnegative root of all randomness.

    Returns
    -------
    callable
        Decorates a function of a test module. The function is called in every test before the verdict: with the
        finding, if it takes an argument. A claim that was not judged is a skipped test,
        an expected failure an xfail.

    Raises
    ------
    TypeError, ValueError
        `subject` is none, there is no such budget, or `seed` is no nonnegative integer.

    Examples
    --------
    In a test module::

        @cf.conforms(cf.Codec(my_quantiser, [cf.Unbiased()]))
        def test_my_quantiser():
            '''One test for every claim.'''
    """
    if not isinstance(subject, Subject):
        raise TypeError(f"subject must be a Codec, Stateful or AllReduce, got {shown(subject)}")
    checked_choice("budget", budget, tuple(BUDGETS))
    checked_count("seed", seed, low=0)

    def decorate(function: F) -> F:
        function.commbounds_promise = Promise(subject, budget, seed)  # type: ignore[attr-defined]
        return function

    return decorate
