"""Low-rank compression: the claims confronted with their implementations."""
