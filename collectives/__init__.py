"""What P workers do together."""
