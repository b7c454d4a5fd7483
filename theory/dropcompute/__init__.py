"""DropCompute: stragglers: what is claimed."""
