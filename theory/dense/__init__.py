"""Classical all-reduce, reduce-scatter and all-gather: what is claimed."""
