"""What is known of a coded vector says of the symbols of its models."""

from fractions import Fraction

BLOCKS = {"block": lambda coded_bytes, P: Fraction(coded_bytes, P)}

RUNS = {
    **{f"flashcomm.{name}": BLOCKS for name in ("twostep.bytes", "ring.bytes", "twostep.bridge", "ring.bridge")},
    "flashcomm.hierarchical.bridge": {"block": lambda coded_bytes, P: Fraction(2 * coded_bytes, P)},
}
