"""Ok-Topk: sparse all-reduce in less than 6k words: claims bound to collectives."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from commbounds.theory import claims
from commbounds.theory.oktopk.claims import CLAIMS
from commbounds.verify.experiments.oktopk.cases import (
    ENUMERATED,
    ORDERS,
    corpus,
    extremal,
    generated,
    grid,
    neighbour,
    options_of,
    orders,
)
from commbounds.verify.experiments.oktopk.descent import DESCENTS
from commbounds.verify.experiments.oktopk.identities import IDENTITIES
from commbounds.verify.experiments.oktopk.runs import family_case, trial
from commbounds.verify.finding import Series
from commbounds.verify.stack_families import FAMILIES
from commbounds.verify.study import Outcome, Study, studies

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


def _curves(study: Study, implementation: Any, seed: int) -> Sequence[Series]:
    """Bound and measurement over P at k = P: every family for the worst, Gaussian vectors for the band."""
    claim, name = study.statement, study.claim
    left = {option: listed for option, listed in options_of(name).items() if option != "family"}
    # where hypotheses leave the cuts open, those that suit the family are taken
    options = {option: listed[0] for option, listed in left.items() if option != "cuts" or len(listed) == 1}
    data = {"winners", "selected", "inbound", "union"} & set(claim.parameters)
    x, bounds, worst = [], [], []
    drawn: list[list[float]] = []
    for P in (2, 4, 8, 16):
        found, random, k = [], [], P
        for family in options_of(name)["family"]:
            for number in range(3 if family == "iid" else 1):
                case = family_case(family, P, 2 * P * k, k, seed % 2**31 + number, **options)
                outcome = None if case is None else study.admitted(implementation, case)
                if not isinstance(outcome, Outcome):
                    continue
                bound = float(claim.bound(**outcome.values))
                value = float(outcome.measured)
                found.append((value / bound if data and bound else value, 1.0 if data else bound))
                if family == "iid":
                    random.append(found[-1][0])
        if found:
            reached = [value for value, _ in found]
            lower = claim.relation.rel_op == ">="
            x.append(float(P))
            worst.append(min(reached) if lower else max(reached))
            bounds.append(found[0][1])
            drawn.append(random)
    if not x:
        return ()
    bands: dict[str, Any] = {}
    if all(drawn):
        low, mid, high = zip(*(np.quantile(values, (0.05, 0.5, 0.95)).tolist() for values in drawn), strict=True)
        bands = {"random_low": list(low), "random_mid": list(mid), "random_high": list(high)}
    label = "k = P, n = 2Pk, all families"
    return (Series(label, "P", x, bounds, worst, relative=bool(data), **bands),)


def _enumeration(name: str) -> dict[str, Any]:
    """What is enumerated for the claim."""
    assumed = {h.name for h in claims()[name].assumes}
    if "gaussian_vectors" in assumed:
        return {}
    if "distinct_magnitudes" in assumed:
        return {"grid": orders(name), "enumerated": ORDERS}
    return {"grid": grid(name), "enumerated": ENUMERATED}


def _volume(name: str) -> Study:
    study = Study(
        claim=name,
        subject="oktopk_allreduce",
        trial=trial(name),
        corpus=corpus(name),
        cases=generated(name),
        mutate=neighbour if name in _CLIMBED else None,
        extremal=extremal(name),
        **_enumeration(name),
        parameters={"families": str(len(FAMILIES))},
    )
    return replace(study, curves=partial(_curves, study))


EXPERIMENTS = studies(
    *(_volume(claim.name) for claim in CLAIMS if not (claim.asked_of_all or claim.name in _APART)),
    *IDENTITIES,
    *DESCENTS,
)
"""How each claim of this column is confronted with its implementation, under the claim's name."""
