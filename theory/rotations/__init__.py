"""Rotation-based compressors: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "rotations",
    "Rotate, then round: DRIVE, EDEN and the randomised Hadamard transform",
    "A random rotation spreads a vector over all of its entries, which then take one bit or a few. The theorems are "
    "about uniform rotations; the code runs the randomised Hadamard transform. The column also covers representations "
    "of small range, dithering, and rounding with feedback. The authors' code and abstracts were read, the theorems "
    "recalled.",
    synopsis=Synopsis(
        found=(
            "With one Hadamard transform, as in their code, DRIVE and EDEN are not unbiased: (3, 1, 0, ..., 0) is "
            "estimated as (10/3, 0, 0, ..., 0), at every length and in every draw. Their authors say that one "
            "transform is not suitable in the worst case (arXiv:2605.06014)."
        ),
        promise=(
            "One bit per entry gives an error of pi/2 - 1 without bias, or 1 - 2/pi with bias; b bits give sqrt(3) "
            "pi/2 4^-b."
        ),
        holds=(
            "Every draw keeps the inner product with x (`rotations.drive.projection`), and DRIVE contracts by one half "
            "for any length (`rotations.drive.contraction`). Estimates are unbiased if levels are drawn "
            "(`rotations.rotateddithering.unbiased`), or entries (`rotations.hadamardsketch.unbiased`), or one offset "
            "for all (`rotations.dithered_hadamard.unbiased`)."
        ),
        fails=(
            "The code’s estimates are biased (`rotations.drive.unbiased`, `rotations.eden.unbiased`), exceed the "
            "constants of uniform rotations (`rotations.drive.contraction_uniform`, `rotations.drive.error_uniform`, "
            "`rotations.eden.norm_uniform`), and take more than one bit per entry if the length is no power of two "
            "(`rotations.drive.wire_one`). Kashin’s representation can have a larger range (`rotations.kashin.range`), "
            "and feedback with few levels has no bound (`rotations.ldlq.limited`), as QuIP’s authors show."
        ),
        tight=(
            "Two equal entries attain one half: Szarek’s constant of Khinchin’s inequality. The correlation of rotated "
            "entries grows with the unevenness of the squares (`rotations.randomised_hadamard.correlation`)."
        ),
        lesson=(
            "Rotate more than once, or round stochastically, before averaging over workers: no number of workers "
            "recovers what deterministic rounding loses of a sparse vector."
        ),
        picture="rotations.errors",
        practice=True,
    ),
    renamed={"rotations.lloyd_max.published": "rotations.lloyd_max.seven_digits"},
)
