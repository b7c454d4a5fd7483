"""Binds claims to implementations."""
