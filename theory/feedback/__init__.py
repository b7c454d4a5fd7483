"""Error feedback: what is claimed."""
