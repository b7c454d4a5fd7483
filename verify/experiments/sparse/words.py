"""Studies of the words that TopkA, gTopk and SparDL move: the same for every input."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from commbounds.verify.experiments.sparse.cases import (
    FAMILIES,
    Ran,
    along,
    family_of,
    over_ranks,
)
from commbounds.verify.family import Family, FamilyStudy
from commbounds.verify.study import Outcome, shared

_COUNTED: dict[str, Callable[[Ran], int]] = {
    "path": lambda found: found.traffic.critical_path,
    "steps": lambda found: found.traffic.steps,
    "sent": lambda found: int(found.traffic.sent.max()),
    "received": lambda found: int(found.traffic.received.max()),
    "most": lambda found: int(max(found.traffic.sent.max(), found.traffic.received.max())),
    "least": lambda found: int(min(found.traffic.sent.min(), found.traffic.received.min())),
    "entries": lambda found: int(found.result.selected[0].size),
}
"""What is measured."""

# --- words that the input does not matter to ---------------------------------------------------------------------

_INTEGERS = ("small integers", "identical")


@shared
def _sized(family: Family) -> dict[str, Any]:
    return {
        "grid": family.every(P=range(1, 17), n=(1, 3, 8), k=lambda n: range(1, n + 1), data=_INTEGERS),
        "enumerated": "P = 1..16, n = 1, 3, 8, every k, two families of integers",
    }


_ALONG_K = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
_Sizes = tuple[tuple[int, int, int], ...]


def _counted(
    family: Family, measured: str, *claims: str, attained: _Sizes = (), drawn_at: Mapping[str, int] | None = None
) -> tuple[FamilyStudy, ...]:
    """Attained at some (P, n, k), in every family; drawn over P, or over k where P and n are given."""
    rows = [family.space.at(P=P, n=n, k=k, data=data) for P, n, k in attained for data in FAMILIES]
    curves = along(family, "k", _ALONG_K, **drawn_at) if drawn_at else over_ranks(family, 256, 64)
    extremal = family.of(rows) if rows else None
    return family.studies(_COUNTED[measured], *claims, extremal=extremal, curves=curves, **_sized(family))


_TOPKA, _GTOPK = family_of("topk_allgather"), family_of("gtopk_allreduce")
_ONE_TEAM = family_of("spardl_allreduce", teams=(1,), synchronise=("r-sag",), sag_entries=(None,))
_OF_THREE = ((3, 8, 1), (3, 20, 7), (3, 9, 9))

# --- SparDL in teams ---------------------------------------------------------------------------------------------


def _kept(P: int, k: int, teams: int, sag_entries: int | None) -> dict[str, int]:
    return {"kept": k * teams // P if sag_entries is None else sag_entries}


TEAMS = family_of("spardl_allreduce", facts=_kept)
"""SparDL, however its teams agree."""


def _in_teams(counted: str, synchronise: str, *claims: str) -> tuple[FamilyStudy, ...]:
    """Every number of teams that fits, every k, and for b-sag the fewest and the most entries."""

    def measured(found: Ran, teams: int) -> Outcome:
        return Outcome(_COUNTED[counted](found), {}, active=teams > 1)

    def entries(P: int, k: int, teams: int) -> Iterable[int | None]:
        most = k * teams // P
        return {most, -(-most // teams)} if synchronise == "b-sag" else {None}

    return TEAMS.studies(
        measured,
        *claims,
        grid=TEAMS.every(
            P=lambda level: range(1, 25 if level else 17),
            teams=lambda P: [d for d in range(1, P + 1) if P % d == 0],
            synchronise=[synchronise],
            k=lambda level: range(1, 17) if level else (1, 7, 16),
            sag_entries=entries,
            data=_INTEGERS,
            n=[16],
        ),
        enumerated="P = 1..16, every number of teams, n = 16, k = 1, 7, 16",
        extremal=TEAMS.of(
            TEAMS.space.at(P=P, n=48, data="small integers", k=24, teams=d, synchronise=synchronise)
            for P, d in ((4, 2), (6, 3), (12, 4), (12, 6))
        ),
        curves=along(TEAMS, "teams", (1, 2, 4, 8, 16, 32), P=32, n=256, k=64, synchronise=synchronise),
    )


WORDS = (
    *_counted(_TOPKA, "received", "topka.received"),
    *_counted(_TOPKA, "path", "topka.critical_path"),
    *_counted(_TOPKA, "path", "topka.above_oktopk", attained=_OF_THREE),
    *_counted(_TOPKA, "path", "topka.below_oktopk", attained=_OF_THREE, drawn_at={"P": 3, "n": 64}),
    *_counted(
        _TOPKA, "path", "topka.below_dense", attained=((2, 4, 2), (5, 15, 3), (16, 32, 2)), drawn_at={"P": 4, "n": 256}
    ),
    *_counted(_GTOPK, "path", "gtopk.critical_path"),
    *_counted(_GTOPK, "steps", "gtopk.steps"),
    *_counted(_GTOPK, "received", "gtopk.received"),
    *_counted(_GTOPK, "sent", "gtopk.sent"),
    *_counted(_GTOPK, "path", "gtopk.below_topka", attained=((7, 12, 3), (9, 20, 7))),
    *_counted(_GTOPK, "path", "gtopk.above_oktopk", attained=((2, 5, 2), (2, 30, 11))),
    *_counted(_ONE_TEAM, "most", "spardl.most"),
    *_counted(_ONE_TEAM, "least", "spardl.least"),
    *_counted(_ONE_TEAM, "steps", "spardl.steps"),
    *_counted(
        _ONE_TEAM, "path", "spardl.below_even_split", attained=((2, 8, 2), (5, 20, 15), (16, 64, 32)),
        drawn_at={"P": 8, "n": 64},
    ),
    *_counted(_ONE_TEAM, "entries", "spardl.entries", "spardl.k_entries"),
    *_in_teams("most", "r-sag", "spardl.r_sag_most"),
    *_in_teams("least", "r-sag", "spardl.r_sag_least"),
    *_in_teams("most", "b-sag", "spardl.b_sag"),
)  # fmt: skip
