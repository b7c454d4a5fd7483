"""Broken executables: they print, die, hang, or send something else than they announce."""

import sys
from pathlib import Path

from commbounds.verify import conformance as cf
from zoo.record import Broken

PROGRAM = str(Path(__file__).with_name("program.py"))


def program(wrong, time_limit=10.0):
    """The executable that goes wrong so."""
    command = [sys.executable, "-S", PROGRAM, wrong]
    claims = [cf.Contraction(1.0), cf.Idempotent(), cf.SignSymmetric()]
    return cf.executable(command, claims, name=f"program that {wrong}", time_limit=time_limit, effort=0.2)


RIGHT = program("works")

PROCESSES = (
    Broken("Prints a line of debugging to stdout.", program("prints"), ("answers",), RIGHT),
    Broken("Dies of a segmentation fault on a single entry.", program("dies"), ("answers",), RIGHT),
    Broken("Ends with status 3 on zeros.", program("exits"), ("answers",), RIGHT),
    Broken("Never answers where there are three entries.", program("hangs", 0.5), ("answers",), RIGHT),
    Broken("Does not reply where there are two entries.", program("forgets", 0.5), ("answers",), RIGHT),
    Broken("Answers in float64.", program("widens"), ("shape and dtype kept",), RIGHT),
    Broken("Leaves the first entry out of its answer.", program("shortens"), ("shape and dtype kept",), RIGHT),
    Broken("Sends two bytes fewer than it announces.", program("cuts", 0.5), ("answers",), RIGHT),
    Broken("Sends its numbers with the bytes in the wrong order.", program("swaps"), ("Contraction",), RIGHT),
    Broken("Refuses more than 40 entries without saying so beforehand.", program("refuses"), ("answers",), RIGHT),
)
"""Broken executables, by what kills them."""
