"""That programs of ranks refuse alike, and that wrong ones are found."""

from dataclasses import replace
from functools import lru_cache

import pytest

from commbounds.collectives.ranks import LockstepWorld, ThreadWorld
from commbounds.verify.pairing import compared


@lru_cache(maxsize=64)
def _cases(pairing, P):
    return tuple(pairing.cases(P))


def differences_with(pairing, program, P=4):
    """The difference of every case of the pairing, whose ranks run `program` in place of their own.

    One case after another, as they are asked for, and in one thread: what is wrong is wrong in every world.
    """
    for case in _cases(pairing, P):
        (found,) = compared(replace(pairing, program=program, cases=lambda _, case=case: (case,)), P, LockstepWorld())
        yield found.difference


def remembered(pairing, ranks):
    """The pairing, with what one process finds or refuses as it is now: a defect put in later is in the ranks alone."""

    def found(case):
        try:
            return pairing.collective(case), None
        except (TypeError, ValueError) as error:
            return None, error

    every = {str(case): found(case) for P in ranks for case in pairing.cases(P)}

    def collective(case):
        result, refusal = every[str(case)]
        if refusal is not None:
            raise refusal
        return result

    return replace(pairing, collective=collective)


def refused_by_all(program, error, message):
    """Assert that all of three ranks raise the same."""

    def refusal(comm):
        with pytest.raises(error, match=message) as raised:
            program(comm)
        return str(raised.value)

    texts, _ = ThreadWorld().run(refusal, 3)
    assert len(set(texts)) == 1
