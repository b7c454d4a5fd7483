"""What is known of a rotated vector says of the symbols of its models."""

from fractions import Fraction

LENGTH = {"length": lambda n: 1 << (n - 1).bit_length() if n > 1 else 1}
PRODUCTS = {**LENGTH, "products": lambda length, k: -(Fraction(length, k) - 1) / (length - 1)}

RUNS = {
    "rotations.hadamardsketch.variance": PRODUCTS,
    "rotations.hadamardsketch.entry_variance": PRODUCTS,
    "rotations.hadamardsketch.shrunk_contraction": LENGTH,
    "rotations.drive.wire_padded": {"length": lambda measured, itembits: int(measured) - itembits},
    "rotations.kashin.level": {"root": lambda clip_share: clip_share**0.5},
}
