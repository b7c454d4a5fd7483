"""Error feedback: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "feedback",
    "Error feedback: what was left out is not lost",
    "What compression leaves out is kept and sent later. No text of these papers was read but what their code "
    "says of step sizes; every claim carries its own proof.",
)
