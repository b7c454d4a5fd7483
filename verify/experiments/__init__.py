"""Claims bound to implementations: a folder per column, whose ``studies.py`` has a dict ``EXPERIMENTS``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from commbounds.columns import entries, extended
from commbounds.theory import claims

__path__ = extended(__path__, "verify/experiments")

__all__ = ["EXPERIMENTS"]


class _Experiments(Mapping[str, Any]):
    """The experiments by the names of their claims; the columns, and the book, are read when one is first asked for."""

    @cached_property
    def _by_claim(self) -> dict[str, Any]:
        bound = entries("EXPERIMENTS", "verify.experiments", "studies")
        return {name: bound[name] for name in claims() if name in bound}

    def __getitem__(self, claim: str) -> Any:
        return self._by_claim[claim]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_claim)

    def __len__(self) -> int:
        return len(self._by_claim)


EXPERIMENTS = _Experiments()
"""Every experiment under the name of its claim, in the book's order; read-only."""
