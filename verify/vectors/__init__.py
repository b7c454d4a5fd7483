"""Test vectors for those who cannot run Python: inputs, injected randomness and exact outputs, as JSON with bits."""

from commbounds.verify.vectors.checking import differences
from commbounds.verify.vectors.files import checked_folder, chosen, contents, written, written_as_c
from commbounds.verify.vectors.schema import VERSION
from commbounds.verify.vectors.subjects import LEFT_OUT, subjects

__all__ = [
    "LEFT_OUT",
    "VERSION",
    "checked_folder",
    "chosen",
    "contents",
    "differences",
    "subjects",
    "written",
    "written_as_c",
]
