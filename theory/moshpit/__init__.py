"""Moshpit: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "moshpit",
    "Moshpit: averaging in groups on a grid",
    "Peers average in small groups that change every round, so that a failure affects only one group.",
    synopsis=Synopsis(
        found=(
            "A full grid gives every peer the exact mean after d rounds. The paper's factor for random groups, quoted "
            "from memory, is a valid bound; the exact factor is (r - 1)/(N - 1)."
        ),
        promise=(
            "Averaging in new small groups every round is exact on a full grid and converges geometrically in random "
            "groups; a failure affects only one group."
        ),
        holds=(
            "A full grid gives the exact mean after d rounds (`moshpit.grid.exact`) and puts no pair twice in a group "
            "(`moshpit.grid.no_repeats`). The mean does not change if failed peers keep their vectors "
            "(`moshpit.mean.preserved`). Random groups multiply the distortion by (r - 1)/(N - 1) per round "
            "(`moshpit.random_groups.factor`)."
        ),
        fails=(
            "The recalled factor of random groups fails as an equality (`moshpit.random_groups.as_recalled`). If keys "
            "are the last d chunk indices, one more than in the authors’ code, d rounds are too few "
            "(`moshpit.grid.key_of_d_digits`): the first round averages nothing."
        ),
        tight="Most statements are equalities: the factors are exact, by enumeration or proof.",
        lesson=(
            "Plan one round more for keys of d digits (`moshpit.grid.late`). A grid of fixed cells pays only where "
            "most cells are filled, and a peer that sends without receiving moves the mean (`moshpit.mean.one_way`)."
        ),
        picture="moshpit.rounds",
        system="Moshpit all-reduce",
    ),
    renamed={"moshpit.random_groups.printed": "moshpit.random_groups.as_recalled"},
)
