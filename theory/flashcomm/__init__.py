"""Flash Communication: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "flashcomm",
    "Flash Communication: all-reduce in few bits",
    "Groups of entries are sent in a few bits each, between a smallest and a largest value, at two stages of an "
    "all-reduce.",
    synopsis=Synopsis(
        found=(
            "If owners quantise their own block too, two quantisations err less than the ring’s P from four ranks on, "
            "as much at three, and more at two. Half a step is a bound of exact arithmetic, and no claim of the "
            "paper’s: metadata in half precision break it, and rounding them outwards repairs it."
        ),
        promise=(
            "An all-reduce in a few bits an entry: two quantisations instead of P, and spikes kept aside so that "
            "two bits do."
        ),
        holds=(
            "An entry is read within half a scale in exact arithmetic (`flashcomm.groupquant.error`), the "
            "two-step sum within half of all scales (`flashcomm.twostep.error`), spikes never widen a range "
            "(`flashcomm.spikes.range`), planes lose nothing (`flashcomm.bitplanes.lossless`)."
        ),
        fails=(
            "Half the stored scale, whatever the format of the metadata "
            "(`flashcomm.groupquant.half_step_stored`); that two bits with spikes beat plain four bits "
            "(`flashcomm.spikes.pays`); that the two-step errs less than the ring for every number of ranks "
            "(`flashcomm.ring.never_better`)."
        ),
        tight="The bounds on one quantisation and on the two-step are attained.",
        lesson=(
            "Round the zero point down and the scale up (`flashcomm.groupquant.repaired`); reserve spikes where "
            "they are isolated (`flashcomm.spikes.pays_isolated`); owners must take their sums as they are sent, "
            "or ranks disagree (`flashcomm.twostep.agreement_of_owners`)."
        ),
        picture="flashcomm.errors",
        system="Flash Communication",
    ),
)
