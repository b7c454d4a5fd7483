"""Ok-Topk: sparse all-reduce in less than 6k words: claims bound to collectives."""

from typing import Any

from commbounds.theory import Claim
from commbounds.theory.oktopk.claims import CLAIMS
from commbounds.verify.experiments.oktopk.cases import (
    ENUMERATED,
    ORDERS,
    extremal,
    family_of,
    neighbour,
    options_of,
    orders,
    over_ranks,
    placements,
)
from commbounds.verify.experiments.oktopk.descent import DESCENTS
from commbounds.verify.experiments.oktopk.identities import IDENTITIES
from commbounds.verify.experiments.oktopk.runs import measure
from commbounds.verify.study import Study, studies

_CLIMBED = (
    "oktopk.sent.any_split",
    "oktopk.sent.ring",
    "oktopk.received.even_split",
    "oktopk.received.worst",
    "oktopk.received.unconditional",
    "oktopk.received.global_count",
    "oktopk.balance.quarter",
    "oktopk.lower.mean",
)
"""Claims on whose ratio an attack climbs: the strongest of each kind."""
_APART = {study.claim for study in (*IDENTITIES, *DESCENTS)}


def _enumeration(claim: Claim) -> dict[str, Any]:
    """What is enumerated for the claim."""
    assumed, choices = {h.name for h in claim.assumes}, options_of(claim.name)
    if "gaussian_vectors" in assumed:
        return {}
    if "distinct_magnitudes" in assumed:
        return {"grid": orders(choices), "enumerated": ORDERS}
    return {"grid": placements(choices), "enumerated": ENUMERATED}


def _volume(claim: Claim) -> tuple[Study, ...]:
    return family_of(options_of(claim.name)).studies(
        measure(claim.name),
        claim.name.removeprefix("oktopk."),
        mutate=neighbour if claim.name in _CLIMBED else None,
        extremal=extremal(claim.name),
        curves=[over_ranks(claim.name)],
        **_enumeration(claim),
    )


EXPERIMENTS = studies(
    *(study for claim in CLAIMS if not (claim.asked_of_all or claim.name in _APART) for study in _volume(claim)),
    *IDENTITIES,
    *DESCENTS,
)
"""How each claim of this column is confronted with its implementation, under the claim's name."""
