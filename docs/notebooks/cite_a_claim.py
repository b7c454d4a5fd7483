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
# # Cite a claim
#
# You want to write that Top-K loses at most $1 - k/n$ of the squared norm, and to say what that rests on. Every
# statement is a record: its formula, its hypotheses, its source, and how the source is known.

# %%
import commbounds
from commbounds.theory import claims

list(claims("sparsifiers.topk.*"))

# %%
claim = claims()["sparsifiers.topk.contraction"]
claim

# %% [markdown]
# The formula for your paper, the bound at your sizes, and the work to cite:

# %%
print(claim.latex)
print("bound at n = 1000, k = 10:", claim.bound(n=1000, k=10))
print(claim.source.work)
print(claim.source.tag, "-", claim.source.place)

# %% [markdown]
# Does it hold, and is it tight? This confronts the claim with the reference implementation, which takes a few seconds.

# %%
finding = commbounds.verify.confront(claim.name)
finding

# %%
axes = finding.plot()

# %% [markdown]
# Cite the commit of commbounds with the name of the claim, the budget and the seed: they reproduce the finding.

# %%
print(claim.name, finding.budget, finding.seed, finding.versions["commbounds"])
