"""What is known of a mutant: `Mutant`; and what mutants share."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Mutant", "native"]


def native(x):
    """`x` as an array in the machine's byte order."""
    array = np.asarray(x)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


@dataclass(frozen=True)
class Mutant:
    """A compressor with one defect, and what finds it.

    Parameters
    ----------
    cls : class
        Takes the place of the compressor; its docstring says what is broken.
    compressor : str
        Name in the registry.
    claim : str
        The claim that is expected to kill it, the cheapest of those that do; empty where none does.
    check : str
        The check of the battery that is expected to kill it; needed where no claim does.
    """

    cls: type
    compressor: str
    claim: str = ""
    check: str = ""

    def __post_init__(self):
        if not (self.claim or self.check):
            raise ValueError(f"nothing is said to kill {self.name}")

    @property
    def name(self):
        return self.cls.__name__

    @property
    def broken(self):
        """What is broken, in words."""
        return self.cls.__doc__

    @property
    def implementations(self):
        """What `confront` takes to run the mutant in place of the compressor."""
        return {self.compressor: self.cls}
