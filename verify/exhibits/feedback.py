"""Error feedback: figures about more than one claim."""

from __future__ import annotations

from commbounds.verify.exhibit import Maker

__all__ = ["EXHIBITS"]

EXHIBITS: dict[str, Maker] = {}
