"""What every worker needs, imported and read once, so that those that are forked from it have it at once."""

from commbounds.verify.experiments import EXPERIMENTS

len(EXPERIMENTS)
