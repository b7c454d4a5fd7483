# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Test my all-reduce
#
# An all-reduce maps one row for each rank, a `(P, n)` array, to the sum. This one is a ring: blocks travel around, and
# every rank adds its own part.

# %%
import numpy as np

from commbounds.testing import assert_allreduce_close, assert_exact, exact_inputs
from commbounds.verify import conformance as cf


def my_allreduce(rows):
    P, n = rows.shape
    block = n // P  # wrong where P does not divide n: the last entries are never added
    total = rows[0].copy()
    for b in range(P):
        own = slice(b * block, (b + 1) * block)
        total[own] = rows[b, own]
        for step in range(1, P):
            total[own] += rows[(b + step) % P, own]
    return total


# %% [markdown]
# With inputs of which no order of additions rounds anything, every correct all-reduce has the same bits.

# %%
x = exact_inputs(4, 32, "float32")
assert_exact(my_allreduce(x), x)

# %% [markdown]
# With 33 entries the test fails, and names what went wrong:

# %%
x = exact_inputs(4, 33, "float32")
try:
    assert_exact(my_allreduce(x), x)
except AssertionError as error:
    print(error)

# %% [markdown]
# The conformance kit searches for such sizes itself. It calls the function on many numbers of ranks and entries, and
# shrinks what it finds. It asks what every rank ends with: here all have the same.

# %%
subject = cf.AllReduce(lambda rows, seed: np.tile(my_allreduce(rows), (len(rows), 1)), [cf.Sums()])
report = cf.check(subject, only=["Sums"])
report

# %% [markdown]
# For your own data the tolerance is derived from the schedule, the number of ranks and the format:


# %%
def mended(rows):
    total = rows[0].copy()
    for row in rows[1:]:
        total += row
    return total


gradients = np.random.default_rng(0).standard_normal((8, 1000)).astype(np.float32)
assert_allreduce_close(mended(gradients), gradients, schedule="in_rank_order")
