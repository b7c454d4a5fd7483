"""Sparse all-reduces before Ok-Topk, and SparDL: the claims confronted with their implementations."""
