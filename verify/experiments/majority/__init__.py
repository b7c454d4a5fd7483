"""Sign SGD with majority vote: the claims confronted with their implementation."""
