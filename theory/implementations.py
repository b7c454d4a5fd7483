"""What every implementation claims: that it is what its definition says."""

from collections.abc import Mapping

from commbounds.theory.claim import DEFINITION, Claim, Eq
from commbounds.theory.quantities import Quantity
from commbounds.theory.sources import derived

DIFFERENCES = Quantity(
    "differences",
    r"\#\{v : v_{\mathrm{implementation}} \ne v_{\mathrm{definition}}\}",
    "Values that an implementation returns and that differ from its definition: results in their bits where the order "
    "of operations is part of the definition, else within an allowance derived from the number of operations; states, "
    "masks, counters and traffic, too.",
    integer=True,
    nonnegative=True,
)

RANK_DIFFERENCES = Quantity(
    "rankdifferences",
    r"\#\{r : y_r^{\mathrm{alone}} \ne y_r^{\mathrm{together}}\}",
    "Runs in which a rank's own program, which sends and receives through a communicator, ends with other bits than "
    "the collective in one process, or moves other words, messages or steps.",
    integer=True,
    nonnegative=True,
)


def defined(column: str, written_from: Mapping[str, str]) -> tuple[Claim, ...]:
    """The claims that implementations of a column equal their definitions.

    Parameters
    ----------
    column : str
        Name of the column.
    written_from : mapping of str to str
        Name in a registry -> the source that the definition was written from, and what it fixes, in a sentence or two:
        the definition is a second program, in ``verify/definitions/``, that imports nothing of the package.
    """
    return tuple(
        Claim(
            name=f"{column}.{name.lower()}.definition",
            title=f"{name} equals its definition in every value that it returns",
            relation=Eq(DIFFERENCES, 0),
            source=derived(why, DEFINITION),
        )
        for name, why in written_from.items()
    )


def rank_by_rank(column: str, *names: str) -> tuple[Claim, ...]:
    """The claims that collectives of a column, carried out at once, are what their ranks do one by one.

    Parameters
    ----------
    column : str
        Name of the column.
    *names : str
        Names in the registry of collectives, each of which has a pairing.
    """
    return tuple(
        Claim(
            name=f"{column}.{name.lower()}.ranks",
            title=f"{name} gives every rank the bits and the traffic of its own program, for 1 to 9 ranks",
            relation=Eq(RANK_DIFFERENCES, 0),
            source=derived(
                "The program of a rank states its sends and receives; the function for all ranks at once is written "
                "for speed. Both run on the same inputs.",
                DEFINITION,
            ),
        )
        for name in names
    )
