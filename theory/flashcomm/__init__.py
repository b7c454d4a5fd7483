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
            "If owners quantise their own block too, the error of two quantisations is below the ring’s for P >= 4, "
            "equal at P = 3, and larger at P = 2. Half a step is a bound of exact arithmetic, and not claimed by the "
            "paper: metadata in half precision exceed it, and rounding them outwards restores it."
        ),
        promise=(
            "The all-reduce takes a few bits per entry: two quantisations instead of P, and spikes sent separately so "
            "that two bits suffice."
        ),
        holds=(
            "An entry is read within half a scale in exact arithmetic (`flashcomm.groupquant.error`), the two-step sum "
            "within half of all scales (`flashcomm.twostep.error`), reserving spikes never widens a range "
            "(`flashcomm.spikes.range`), and bit planes are lossless (`flashcomm.bitplanes.lossless`)."
        ),
        fails=(
            "Half the stored scale is no bound for every metadata format (`flashcomm.groupquant.half_step_stored`). "
            "Two bits with spikes do not always beat plain four bits (`flashcomm.spikes.pays`). The two-step error is "
            "not below the ring’s for every P (`flashcomm.ring.never_better`)."
        ),
        tight="The bounds on one quantisation and on the two-step are attained.",
        lesson=(
            "Round the zero point down and the scale up (`flashcomm.groupquant.repaired`); reserve spikes where they "
            "are isolated (`flashcomm.spikes.pays_isolated`); owners must keep the sums that they send, or ranks "
            "disagree (`flashcomm.twostep.agreement_of_owners`)."
        ),
        picture="flashcomm.errors",
        system="Flash Communication",
    ),
)
