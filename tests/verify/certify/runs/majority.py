"""What is known of a vote says of the symbols of its models."""

import sympy as sp


def counts_of_wrong_votes(outcome, P):
    """For every number of wrong votes, how many more these are than in the mean."""
    values = outcome.values
    q, snr = values["flip"], values["snr"]
    e, known = sp.Rational(1, 2) - q, {"snr": snr, "z": snr**2, "w": sp.sqrt(3), "R": sp.sqrt(P)}
    known |= {"e": e, "k": sp.sqrt(q * (1 - q)), "lead": P * e, "variance": P * q * (1 - q)}
    for wrong in range(P + 1):
        yield {**known, "off": wrong - P * q}


RUNS = {"majority.vote.bound": counts_of_wrong_votes}
