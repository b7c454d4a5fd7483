"""Precision and the order of sums: claims confronted with the all-reduces."""
