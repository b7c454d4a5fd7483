"""What is known of numbers in blocks says of the symbols of their models."""

from fractions import Fraction

RUNS = {
    "blockformats.multihop.butterfly_bounded": {
        "power": lambda hopnoise, halvings: ((2 + Fraction(hopnoise)) / 4) ** halvings,
    },
    "blockformats.table.beyond": {"share": lambda measured: measured},
    "blockformats.correlated.equal": {"left": lambda P, fraction: P * Fraction(fraction) % 1},
    "blockformats.correlated.unbiased": {
        "f": lambda fraction: Fraction(fraction),
        "cells": lambda P, f: P * f // 1,
        "left": lambda P, f: P * f % 1,
    },
}
