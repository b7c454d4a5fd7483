"""What P workers do together, and a count of every word, message and step."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from commbounds.collectives.averaging import mean_of_compressed
from commbounds.collectives.traffic import Traffic

__all__ = ["COLLECTIVES", "Traffic", "mean_of_compressed"]

COLLECTIVES: Mapping[str, Any] = MappingProxyType({})
"""Every collective under its name."""
