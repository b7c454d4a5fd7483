"""Stars: what the workers do together."""

from commbounds.collectives.stars.star import star_allreduce

__all__ = ["COLLECTIVES", "star_allreduce"]

COLLECTIVES = {"star_allreduce": star_allreduce}
