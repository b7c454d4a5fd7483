"""Ok-Topk: sparse all-reduce in less than 6k words: what is claimed."""
