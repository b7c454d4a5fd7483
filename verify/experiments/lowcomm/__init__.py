"""Low-communication training: the claims confronted with their implementations."""
