"""What is known of a mutant: `Mutant`; and what mutants share."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from commbounds.verify import Method


def native(x):
    """`x` as an array in the machine's byte order."""
    array = np.asarray(x)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


@dataclass(frozen=True)
class Mutant:
    """A compressor, a mechanism or a collective with one defect, and what finds it at little cost.

    Parameters
    ----------
    twin : function or class
        Takes the place of the right one; its docstring says what is broken.
    subject : str
        Name of the right one in its registry.
    claim : str
        A claim that kills it; empty where none does.
    method : Method
        The method that refutes that claim of it.
    check : str
        A check of `contract_checks` that kills it; needed where no claim does. Compressors only.
    """

    twin: Callable
    subject: str
    claim: str = ""
    method: Method | None = None
    check: str = ""

    def __post_init__(self):
        if bool(self.claim) != bool(self.method) or not (self.claim or self.check):
            raise ValueError(f"it is not said what kills {self.name}")

    @property
    def name(self):
        return self.twin.__name__

    @property
    def broken(self):
        """What is broken, in words."""
        return self.twin.__doc__

    @property
    def implementations(self):
        """What `confront` takes to run the mutant in place of the right one."""
        return {self.subject: self.twin}
