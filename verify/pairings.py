"""Every collective that runs rank by rank, beside its twin in one process."""

from types import ModuleType

from commbounds.collectives import COLLECTIVES
from commbounds.columns import Registry, part
from commbounds.verify.pairing import Pairing, on_definition


def _of_column(column: str, _: ModuleType) -> dict[str, Pairing]:
    """Those of collectives that do nothing but run their programs, from their definitions; then those by hand."""
    defined, by_hand = (part("verify.experiments", column, module) for module in ("definitions", "pairings"))
    programs = {name for name, c in COLLECTIVES.of_column(column).items() if getattr(c, "result", None) is not None}
    definitions = {
        name: definition
        for name, definition in getattr(defined, "DEFINITIONS", {}).items()
        if name in programs and "P" in definition.space.axes
    }
    follow = {name: on_definition(name, definition) for name, definition in definitions.items()}
    return follow | {pairing.name: pairing for pairing in getattr(by_hand, "PAIRINGS", ())}


PAIRINGS = Registry("PAIRINGS", "verify.experiments", read=_of_column, written=("definitions", "pairings"))
"""Pairings by name, in the order of the columns.

A collective that does nothing but run its program has one on the space of its definition, where none is made by hand.
"""
