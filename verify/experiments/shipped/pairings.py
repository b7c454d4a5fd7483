"""The ranks of the column's collectives beside them in one process."""

from __future__ import annotations

from typing import Any

from commbounds.verify.experiments.shipped.definitions import DEFINITIONS
from commbounds.verify.pairing import RankResult, on_definition


def _runs(run: Any, P: int) -> list[RankResult]:
    """Updates are the same for all, momenta and what has added up are not."""
    kept = zip(run.momentum, run.accumulated, strict=True)
    return [{"updates": run.updates, "momentum": own, "accumulated": rest} for own, rest in kept]


PAIRINGS = (
    *(
        on_definition(
            name, DEFINITIONS[name], lambda rows, _P: [{"mean": own} for own in rows], lambda own: {"mean": own}
        )
        for name in ("permk_mean", "shared_randk_mean")
    ),
    on_definition("dgc_steps", DEFINITIONS["dgc_steps"], _runs, vars),
)
