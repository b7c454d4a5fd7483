"""Claims bound to implementations: a folder per column, whose ``studies.py`` has a dict ``EXPERIMENTS``.

Its ``definitions.py`` has a dict ``DEFINITIONS``: the studies of the claims ``COLUMN.NAME.definition`` follow from it.
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
        from commbounds.verify.definition import study_of

        bound = entries("EXPERIMENTS", "verify.experiments", "studies")
        for column, found in parts("verify.experiments", "definitions"):
            for name, definition in getattr(found, "DEFINITIONS", {}).items():
                study = study_of(column, name, definition)
                bound[study.claim] = study
        return {name: bound[name] for name in claims() if name in bound}

    def __getitem__(self, claim: str) -> Any:
        return self._by_claim[claim]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_claim)

    def __len__(self) -> int:
        return len(self._by_claim)


EXPERIMENTS = _Experiments()
"""Every experiment under the name of its claim, in the book's order; read-only."""
