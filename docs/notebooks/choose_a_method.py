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
# # Choose a method
#
# What does a collective cost on your cluster, and what is proved of the steps that a compressed method takes?

# %%
from commbounds.theory import planning
from commbounds.theory.cost import Machine, cost
from commbounds.theory.schedules import SCHEDULES

cost(SCHEDULES["ring"])

# %% [markdown]
# At 64 ranks, 25 million words and 100 Gbit/s (3.2e-10 s for a word), 1e-6 s for a step:

# %%
machine = Machine(1e-6, 3.2e-10)
for name in ("ring", "recursive_doubling", "rabenseifner"):
    at = cost(SCHEDULES[name]).at(P=64, n=25_000_000)
    print(f"{name:20} {float(at.words):12,.0f} words  {1e3 * float(at.time(machine)):8.2f} ms")

# %% [markdown]
# A compressed method sends less and may take more steps. `plan` ranks methods by their bytes and by the slow-down that
# is proved for every smooth function; methods without such a proof are listed and not ranked.

# %%
cluster = planning.Cluster(ranks=64, shapes=((5000, 5000),), bandwidth=12.5e9)
found = planning.plan(cluster)
for method in found.ranked[:5]:
    print(f"{method.method:24} {method.bytes / 1e6:8.1f} MB  slow-down {method.slowdown:g}")

# %% [markdown]
# The numbers behind the first method, and the claims that they rest on:

# %%
found.ranked[0]
