"""Numbers as another program or a paper printed them."""

from decimal import Decimal

import pytest


def printed(number):
    """What rounds to `number`, a string of digits: half a unit of its last digit more or less, and no more."""
    value = Decimal(number)
    return pytest.approx(float(value), rel=0, abs=0.5 * 10.0 ** value.as_tuple().exponent)
