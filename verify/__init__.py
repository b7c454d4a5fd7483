"""Confronts claims with implementations: exact laws, search, sequential statistics, attack."""

import sys
from typing import TYPE_CHECKING

from commbounds.columns import Face

if TYPE_CHECKING:
    from commbounds.verify import gradients
    from commbounds.verify.confront import confront
    from commbounds.verify.engine import load, run, select
    from commbounds.verify.finding import Counterexample, Evidence, Finding, Method, Series, Verdict


__all__ = [
    "Counterexample",
    "Evidence",
    "Finding",
    "Method",
    "Series",
    "Verdict",
    "confront",
    "gradients",
    "load",
    "run",
    "select",
]

sys.modules[__name__].__class__ = Face
