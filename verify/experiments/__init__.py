"""Claims bound to implementations: a folder per column, whose ``studies.py`` has a dict ``EXPERIMENTS``.

Its ``definitions.py`` has a dict ``DEFINITIONS``: the studies of the claims ``COLUMN.NAME.definition`` follow from it.
Those of ``COLUMN.NAME.ranks`` follow from the pairings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from commbounds.columns import entries, extended, parts
from commbounds.theory import claims

__path__ = extended(__path__, "verify/experiments")

__all__ = ["EXPERIMENTS"]


class _Experiments(Mapping[str, Any]):
    """The experiments by the names of their claims; the columns, and the book, are read when one is first asked for."""

    @cached_property
    def _by_claim(self) -> dict[str, Any]:
        from commbounds.verify import definition, pairing

        bound = entries("EXPERIMENTS", "verify.experiments", "studies")
        for column, found in parts("verify.experiments", "definitions"):
            for name, defined in getattr(found, "DEFINITIONS", {}).items():
                study = definition.study_of(column, name, defined)
                bound[study.claim] = study
        for column, found in parts("verify.experiments", "pairings"):
            for paired in getattr(found, "PAIRINGS", ()):
                alone = pairing.study_of(column, paired)
                bound[alone.claim] = alone
        return {name: bound[name] for name in claims() if name in bound}

    def __getitem__(self, claim: str) -> Any:
        return self._by_claim[claim]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_claim)

    def __len__(self) -> int:
        return len(self._by_claim)


EXPERIMENTS = _Experiments()
"""Every experiment under the name of its claim, in the book's order; read-only."""
