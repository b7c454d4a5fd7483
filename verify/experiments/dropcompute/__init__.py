"""DropCompute: stragglers: the claims confronted with their implementations."""
