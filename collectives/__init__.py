"""What P workers do together."""

from commbounds.collectives.averaging import mean_of_compressed

__all__ = ["mean_of_compressed"]
