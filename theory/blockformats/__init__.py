"""Block-scaled formats of four to eight bits: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "blockformats",
    "Block-scaled formats: four bits per entry and one scale per block",
    "MXFP4, MXFP6, MXFP8, MXINT8, NVFP4 and its variants, shared microexponents, and all-reduces in these formats and "
    "in tables. Abstracts and official code were read; constants are derived here.",
    synopsis=Synopsis(
        found=(
            "The specification’s scales clip: stochastic rounding is biased with them, and the error of E4M3’s largest "
            "entries is twice the unit roundoff. NVFP4’s recipe also clips, by up to 1/17."
        ),
        promise="Four to eight bits per entry, unbiased by stochastic rounding, precise for a block’s largest entry.",
        holds=(
            "Every format contracts, with the exact factor (`blockformats.microscaling.contraction`); stochastic "
            "rounding is unbiased if nothing is clipped (`blockformats.stochastic.unbiased`), also over many hops "
            "(`blockformats.requantised.unbiased`); codes with a shared scale can be added directly "
            "(`blockformats.homomorphic.sums`), and so can table numbers (`blockformats.table.sums`). Recursive "
            "halving’s variance grows as P^2 (`blockformats.multihop.butterfly_law`)."
        ),
        fails=(
            "Stochastic rounding is biased with the specification’s scales "
            "(`blockformats.stochastic.unbiased_by_specification`) and with NVFP4’s "
            "(`blockformats.stochastic_nvfp4.unbiased_by_recipe`), and MS-EDEN under random signs "
            "(`blockformats.mseden.unbiased`). Scales without clipping do not always contract better "
            "(`blockformats.microscaling.unclipped_contracts_better`). Four Over Six can be worse than NVFP4 "
            "(`blockformats.fouroversix.no_worse_than_nvfp4`), and is biased "
            "(`blockformats.stochastic_fouroversix.unbiased_as_coded`)."
        ),
        tight=(
            "All factors are attained or approached: 47/431 for MXFP4, 17/458 for NVFP4, and (sqrt 67 - 6)/12 for the "
            "variance of MXFP4 (`blockformats.stochastic.variance`)."
        ),
        lesson=(
            "Round scales up if rounding is stochastic, and expect small entries to be lost; sum many ranks in two "
            "steps, not on a ring (`blockformats.requantised.ring_error`), or share the scale."
        ),
        picture="blockformats.scales",
        practice=True,
    ),
    renamed={
        "blockformats.stochastic_fouroversix.unbiased_as_published": (
            "blockformats.stochastic_fouroversix.unbiased_as_coded"
        )
    },
)
