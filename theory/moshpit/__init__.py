"""Moshpit: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "moshpit",
    "Moshpit: averaging in groups on a grid",
    "Peers average in small groups, anew in every round, so that a failure spoils a group and no more.",
    synopsis=Synopsis(
        found=(
            "A full grid gives every peer the exact mean after d rounds. The factor of random groups that is "
            "remembered of the paper is a valid bound; the exact one is (r - 1)/(N - 1)."
        ),
        promise=(
            "Averaging in small groups, anew in every round: exact on a full grid, geometric in random groups, "
            "and a failure spoils no more than a group."
        ),
        holds=(
            "The exact mean after d rounds on a full grid (`moshpit.grid.exact`), no pair twice in a group "
            "(`moshpit.grid.no_repeats`), the mean kept if peers that fail keep their vectors "
            "(`moshpit.mean.preserved`). Random groups take the distortion down by (r - 1)/(N - 1) a round "
            "(`moshpit.random_groups.factor`)."
        ),
        fails=(
            "The remembered factor of random groups, taken for an equality (`moshpit.random_groups.as_recalled`), and "
            "d rounds where keys are the last d chunk indices, one more than in the authors’ code "
            "(`moshpit.grid.key_of_d_digits`): the first round is lost."
        ),
        tight="Most statements here are equalities: the factors are exact laws, enumerated or proved.",
        lesson=(
            "Plan one round more for keys of d digits (`moshpit.grid.late`). A grid of fixed cells pays only "
            "where it is filled, and a peer that gives without receiving moves the mean (`moshpit.mean.one_way`)."
        ),
        picture="moshpit.rounds",
        system="Moshpit all-reduce",
    ),
    renamed={
        "moshpit.random_groups.printed": "moshpit.random_groups.as_recalled",
    },
)
