"""Rotation-based compressors: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "rotations",
    "Rotate, then round: DRIVE, EDEN and the randomised Hadamard transform",
    "A random rotation spreads a vector over all of its entries, which then take one bit, or few. What is proved is "
    "proved for uniform rotations; what runs is the randomised Hadamard transform. With it: representations of small "
    "range, dithering, and rounding with feedback. The authors' code and abstracts were read, the theorems recalled.",
    synopsis=Synopsis(
        found=(
            "With one Hadamard transform, as their code has it, DRIVE and EDEN are not unbiased: (3, 1, 0, ..., 0) is "
            "estimated as (10/3, 0, 0, ..., 0), at every length and in every draw. Their authors say themselves that "
            "one transform is not suitable in the worst case (arXiv:2605.06014)."
        ),
        promise=(
            "One bit an entry and an error of pi/2 - 1, unbiased; or 1 - 2/pi if biased. With b bits, sqrt(3) pi/2 "
            "4^-b."
        ),
        holds=(
            "The inner product with x, surely (`rotations.drive.projection`); a contraction by one half, whatever the "
            "length (`rotations.drive.contraction`); and unbiasedness where levels are drawn "
            "(`rotations.rotateddithering.unbiased`) or entries (`rotations.hadamardsketch.unbiased`), or one offset "
            "for all (`rotations.dithered_hadamard.unbiased`)."
        ),
        fails=(
            "Unbiasedness (`rotations.drive.unbiased`, `rotations.eden.unbiased`), the constants of uniform "
            "rotations (`rotations.drive.contraction_uniform`, `rotations.drive.error_uniform`, "
            "`rotations.eden.norm_uniform`), and one bit an entry where the length is no power of two "
            "(`rotations.drive.wire_one`). Kashin’s representation may have the larger range "
            "(`rotations.kashin.range`), and feedback with few levels no bound (`rotations.ldlq.limited`), as QuIP’s "
            "authors show."
        ),
        tight=(
            "One half is attained by two equal entries: Szarek’s constant of Khinchin’s inequality. The rotated "
            "entries are as correlated as the squares are uneven (`rotations.randomised_hadamard.correlation`)."
        ),
        lesson=(
            "Rotate more than once, or draw the rounding, before averaging over workers: what a deterministic rounding "
            "loses of a sparse vector, no number of workers brings back."
        ),
        picture="rotations.errors",
        practice=True,
    ),
    renamed={
        "rotations.lloyd_max.published": "rotations.lloyd_max.seven_digits",
    },
)
