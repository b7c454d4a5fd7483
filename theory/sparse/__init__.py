"""Sparse all-reduces before Ok-Topk, and SparDL: what is claimed."""
