"""Low-rank compression: what is claimed."""
