"""What one worker does to its vector: reference compressors, kernels in Numba, laws in exact arithmetic."""

from commbounds.compressors.base import Compressor, Law, Message

__all__ = ["COMPRESSORS", "Compressor", "Law", "Message"]

COMPRESSORS: dict[str, type[Compressor]] = {}
"""Every compressor under its class name: the one registry that tests, command line and figures iterate."""
