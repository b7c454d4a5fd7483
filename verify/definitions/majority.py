"""Majority vote, one voter and one entry at a time, from Algorithm 1 of the paper; imports nothing of ours."""

from fractions import Fraction
from itertools import product

import numpy as np

from commbounds.verify.definitions.traffic import counted


def sign(value, zero):
    """1 or -1; of zero what it is to be."""
    return 1 if value > 0 else -1 if value < 0 else zero


def vote(rows, zeros="plus", coins=None):
    """The sign of the sum of the signs of every column."""
    P, n = len(rows), len(rows[0])
    result = []
    for i in range(n):

        def of_zero(who, i=i):
            if zeros == "coin":
                return 1 if coins[who][i] else -1
            return 1 if zeros == "plus" else 0

        result.append(sign(sum(sign(rows[p][i], of_zero(p)) for p in range(P)), of_zero(P)))
    return result


def bytes_of(n, zeros):
    """Of `n` ballots: whole bytes."""
    bits = n * (2 if zeros == "abstain" else 1)
    return bits // 8 + (bits % 8 > 0)


def messages(P, n, way, zeros):
    """Steps of (sender, receiver, bytes)."""
    if P == 1:
        return []
    whole, pairs = bytes_of(n, zeros), [(p, r) for p in range(P) for r in range(P) if p != r]
    if way == "server":
        return [[(p, 0, whole) for p in range(1, P)], [(0, p, whole) for p in range(1, P)]]
    if way == "shards":
        sizes = [bytes_of(n // P + (p < n % P), zeros) for p in range(P)]
        return [[(p, r, sizes[r]) for p, r in pairs], [(p, r, sizes[p]) for p, r in pairs]]
    return [[(p, (p + 1) % P, whole) for p in range(P)]] * (P - 1)


def traffic(P, n, way, zeros):
    """The whole, and its phases: ballots, then votes, which are counted where all ballots are gathered."""
    steps = messages(P, n, way, zeros)
    phases = {"ballots": steps} if way == "all-gather" else {"ballots": steps[:1], "votes": steps[1:]}
    return {**counted(P, steps), "phases": {name: counted(P, part) for name, part in phases.items()}}


def error(honest, inverting, lying, flip, ties):
    """Probability of a wrong vote, one worker after another: a walk of the difference of right and wrong votes."""
    lead = {-lying: Fraction(1)}
    for right in [1 - Fraction(flip)] * honest + [Fraction(flip)] * inverting:
        after = {}
        for at, weight in lead.items():
            after[at + 1] = after.get(at + 1, 0) + weight * right
            after[at - 1] = after.get(at - 1, 0) + weight * (1 - right)
        lead = after
    return sum((weight for at, weight in lead.items() if at < 0), Fraction(0)) + ties * lead.get(0, Fraction(0))


def drift(P):
    """Mean vote over all signs of P workers, ties +1."""
    return Fraction(sum(vote([[s] for s in signs])[0] for signs in product((1, -1), repeat=P)), 2**P)


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def voted(held):
    stack, options = held["inputs"]["stack"], held["parameters"]
    way, zeros = options.get("way", "server"), options.get("zeros", "plus")
    coins = held["randomness"].get("coins")
    if coins is not None and (zeros != "coin" or len(coins) != len(stack) + 1):
        return {"refused": "ValueError"}
    if "seed" in held["randomness"]:  # the draw that the docstring of `rng` promises
        coins = np.random.default_rng(held["randomness"]["seed"]).integers(0, 2, (len(stack) + 1, stack.shape[1]), bool)
    row = vote(stack.tolist(), zeros, coins)
    return {"votes": np.array([row] * len(stack), stack.dtype), "traffic": traffic(*stack.shape, way, zeros)}
