"""Executable theory for compressed, sparse, lossy and straggling all-reduce.

The rooms are sub-packages, and imports only ever point left::

    theory  <-  compressors  <-  collectives  <-  verify  <-  figures

Importing ``commbounds`` itself imports none of them.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
