"""What is known of rounds with few messages says of the symbols of their models."""

import math

RUNS = {"lowcomm.sparseloco.residual": {"q": lambda k, chunk: math.sqrt(1 - k / chunk)}}
