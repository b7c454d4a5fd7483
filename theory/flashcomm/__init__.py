"""Flash Communication: quantised all-reduce: what is claimed."""
