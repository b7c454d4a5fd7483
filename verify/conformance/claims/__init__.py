"""What an implementation can claim, by what is looked at; the package above has all of it."""
