"""Confronts claims with implementations: exact laws, search, sequential statistics, attack."""

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
