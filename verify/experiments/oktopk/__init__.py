"""Ok-Topk: sparse all-reduce in less than 6k words: the claims confronted with their implementations."""
