"""Broken twins of stars, each by one defect; and the right one."""

from dataclasses import replace

import numpy as np
from mutants.record import Mutant
from zoo.right import SCALED, SYMMETRIC, control

from commbounds.collectives.stars import star_allreduce
from commbounds.compressors.stars import EveryOther, Parity
from commbounds.verify import Method


class ParityDoubled(Parity):
    """What is sent is doubled, as if to be unbiased."""

    def _sent(self, x, coin):
        message = super()._sent(x, coin)
        return replace(message, values=np.clip(message.values * 2, -1e30, 1e30).astype(x.dtype))


class ParityFreeCoin(Parity):
    """The coin takes no bit."""

    def _sent(self, x, coin):
        class Free(EveryOther):
            @property
            def bits(self):
                return super().bits - 1

        message = super()._sent(x, coin)
        return Free(message.shape, message.dtype, message.coin, message.values)


class ParityMagnitudes(Parity):
    """Signs are lost."""

    def _sent(self, x, coin):
        return super()._sent(abs(x), coin)


class ParityLoadedCoin(Parity):
    """The coin shows 0 in three of four throws."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return self.compress_with(x, int(rng.integers(0, 4) == 3))


class ParityShortMessage(Parity):
    """The last value is not sent where there are several."""

    def _sent(self, x, coin):
        message = super()._sent(x, coin)
        return replace(message, values=message.values[: max(1, message.values.size - 1)])

    def decompress(self, message):
        missing = -(-message.shape[0] // 2) - message.values.size
        return super().decompress(replace(message, values=np.append(message.values, np.zeros(missing, message.dtype))))


def _counted(stack, hub):
    """The right result, with other counts of what rank 0 sends."""
    result, traffic = star_allreduce(stack)
    sent = traffic.sent.copy()
    sent[0] = hub(*np.shape(stack))
    return result, replace(traffic, sent=sent)


def hub_sends_to_itself(stack):
    """Rank 0 sends the sum to itself as well."""
    return _counted(stack, lambda P, n: P * n)


def hub_forgets_the_last(stack):
    """The last of several ranks is not told the sum."""
    return _counted(stack, lambda P, n: max(P - 2, 0) * n)


def hub_sends_one_word(stack):
    """Rank 0 sends the first entry of the sum alone."""
    return _counted(stack, lambda P, n: P - 1)


def hub_counts_bytes(stack):
    """Words are counted as four bytes."""
    return _counted(stack, lambda P, n: 4 * (P - 1) * n)


def hub_sends_once(stack):
    """Rank 0 speaks to all at once, as if that were free."""
    return _counted(stack, lambda P, n: n if P > 1 else 0)


_P, _S, EXACT = "Parity", "star_allreduce", Method.EXACT
MUTANTS = (
    Mutant(ParityDoubled, _P, "stars.parity.contraction", Method.INJECT),
    Mutant(ParityFreeCoin, _P, "stars.parity.wire", EXACT),
    Mutant(ParityMagnitudes, _P, "stars.parity.sign_symmetry", Method.INJECT),
    Mutant(ParityLoadedCoin, _P, check="draws_follow_the_law"),
    Mutant(ParityShortMessage, _P, check="message_is_well_formed"),
    Mutant(hub_sends_to_itself, _S, "stars.star.hub", EXACT),
    Mutant(hub_forgets_the_last, _S, "stars.star.hub", EXACT),
    Mutant(hub_sends_one_word, _S, "stars.star.hub", EXACT),
    Mutant(hub_counts_bytes, _S, "stars.star.hub", EXACT),
    Mutant(hub_sends_once, _S, "stars.star.hub", EXACT),
)
CONTROLS = (control(Parity(), SYMMETRIC, SCALED),)
"""Right ones, with what the book says of them, for the conformance kit."""

EXAMPLES = {"Parity": [{}]}
"""Hyper-parameters to keep the contract with."""


def _every_other_form(message, x):
    assert message.coin in (0, 1), f"a coin shows {message.coin!r}"
    assert message.values.shape == (-(-x.size // 2),), "not half of the entries"
    assert message.values.dtype == x.dtype, f"values are {message.values.dtype}"


FORMS = {"EveryOther": _every_other_form}
"""What the column's messages look like."""
