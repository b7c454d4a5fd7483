"""Error feedback: the claims confronted with their implementations."""
