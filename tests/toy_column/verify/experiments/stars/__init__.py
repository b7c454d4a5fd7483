"""Stars: the claims confronted with their implementations."""
