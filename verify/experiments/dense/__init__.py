"""Classical all-reduce, reduce-scatter and all-gather: the claims confronted with their implementations."""
