"""Block-scaled formats: the claims confronted with their implementations."""
