"""Block-scaled formats of four to eight bits: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "blockformats",
    "Block-scaled formats: four bits an entry, and a scale for a block of them",
    "MXFP4, MXFP6, MXFP8, MXINT8, NVFP4 and what adapts it, shared microexponents, and all-reduces in them and in "
    "tables. Of the papers abstracts were read, and official code; constants are derived here.",
    synopsis=Synopsis(
        found=(
            "The specification’s scales clip: stochastic rounding is biased with them, and E4M3’s largest entries "
            "err by "
            "twice the unit roundoff. NVFP4’s recipe clips, too, by up to 1/17."
        ),
        promise="Four to eight bits an entry, unbiased by stochastic rounding, precise where a block is largest.",
        holds=(
            "Every format contracts, with the exact factor (`blockformats.microscaling.contraction`); stochastic "
            "rounding "
            "is unbiased where nothing is clipped (`blockformats.stochastic.unbiased`), also hop after hop "
            "(`blockformats.requantised.unbiased`); codes that share a scale can be added as they are "
            "(`blockformats.homomorphic.sums`), and so can the numbers of a table (`blockformats.table.sums`). By "
            "halves variance grows as P^2 and no faster (`blockformats.multihop.butterfly_law`)."
        ),
        fails=(
            "Unbiased with the specification’s scales (`blockformats.stochastic.unbiased_by_specification`) or "
            "with NVFP4’s "
            "(`blockformats.stochastic_nvfp4.unbiased_by_recipe`); MS-EDEN under random signs "
            "(`blockformats.mseden.unbiased`); that scales without clipping contract better "
            "(`blockformats.microscaling.unclipped_contracts_better`); that Four Over Six is never worse than NVFP4 "
            "(`blockformats.fouroversix.no_worse_than_nvfp4`), or unbiased (`blockformats.stochastic_fouroversix."
            "unbiased_as_coded`)."
        ),
        tight=(
            "All factors are attained or approached: 47/431 for MXFP4, 17/458 for NVFP4, and (sqrt 67 - 6)/12 for the "
            "variance of MXFP4 (`blockformats.stochastic.variance`)."
        ),
        lesson=(
            "Round scales up where rounding is stochastic, and count on small entries being lost; of many ranks "
            "sum in two steps rather than round a ring (`blockformats.requantised.ring_error`), or share the scale."
        ),
        picture="blockformats.scales",
        practice=True,
    ),
    renamed={
        "blockformats.stochastic_fouroversix.unbiased_as_published": (
            "blockformats.stochastic_fouroversix.unbiased_as_coded"
        ),
    },
)
