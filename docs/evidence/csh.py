"""Hashes and medians of the count sketch in csvec, over all their coefficients and over all signs.

sketched.hashes.universal, sketched.hashes.balanced, sketched.median.fourwise, sketched.median.lower
"""

import sys
from fractions import Fraction
from itertools import product

import torch
from checkout import checkout

folder = checkout("nikitaivkin/csh", "8e0198697b60bc6a7e6c48725f1ab34cc3b251e8")
sys.path.insert(0, str(folder))
from csvec import csvec


def sketch_of(coefficients, cells, prime):
    """The sketch of two entries whose rows have these coefficients in place of random ones."""
    csvec.LARGEPRIME, draw = prime, torch.randint
    torch.randint = lambda *_arguments, **_options: torch.tensor(coefficients)
    try:
        return csvec.CSVec(d=2, c=cells, r=len(coefficients), device="cpu")
    finally:
        torch.randint = draw


own = csvec.LARGEPRIME
print(f"the prime: {own} = 2^61 - 1: {own == 2**61 - 1}")
lines = [(*line, 0, 0, 0, 0) for line in product(range(3), repeat=2)]
buckets = sketch_of(lines, 2, prime=3).buckets
together = Fraction((buckets[:, 0] == buckets[:, 1]).sum().item(), len(lines))
print(f"prime 3, two counters: two entries share one with probability {together}")
cubics = [(0, 0, *cubic) for cubic in product(range(3), repeat=4)]
signs = sketch_of(cubics, 1, prime=3).signs
print(f"prime 3: the mean product of two signs is {Fraction(int(signs.prod(dim=1).sum()), len(cubics))}")
csvec.LARGEPRIME = own


def mean_errors(entries, rows, patterns):
    """The mean of what each entry is estimated as, less the entry, over these signs of every row; one counter a row."""
    made = csvec.CSVec(d=len(entries), c=1, r=rows, device="cpu")
    total, x = torch.zeros(len(entries), dtype=torch.float64), torch.tensor(entries)
    chosen = list(product(patterns, repeat=rows))
    for signs in chosen:
        made.zero()
        made.signs = torch.tensor(signs)
        made.accumulateVec(x)
        total += made.unSketch(k=len(entries)) - x
    return [str(Fraction(value.item() / len(chosen)).limit_denominator(1 << 20)) for value in total]


signs_of_two = list(product((-1.0, 1.0), repeat=2))
for rows in (2, 3, 4, 5):
    errors = mean_errors((0.0, 1.0), rows, signs_of_two)
    print(f"{rows} rows of one counter, all signs: (0, 1) is estimated with mean errors {errors}")
even = [signs for signs in product((-1.0, 1.0), repeat=6) if torch.tensor(signs).prod() == 1]
errors = mean_errors((1.0,) * 6, 3, even)
print(f"3 rows of one counter, all signs of which any five are independent: six ones have mean errors {errors}")
