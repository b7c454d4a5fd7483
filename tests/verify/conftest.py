"""Claims that are not in the book, for the checkers to judge."""

from collections import ChainMap
from dataclasses import replace
from importlib import import_module

import pytest

from commbounds.theory import claims
from commbounds.verify.experiments import EXPERIMENTS


@pytest.fixture
def plant(monkeypatch):
    """``plant(name, experiment, **changes)``: the study of a claim like `name`, with the claim's fields changed.

    The claim has a name of its own, which ``confront`` knows; the dict `experiment` changes fields of its study.
    """
    studying, confronting = (import_module(f"commbounds.verify.{name}") for name in ("study", "confront"))
    book, table = ChainMap({}, claims()), ChainMap({}, EXPERIMENTS)
    monkeypatch.setattr(studying, "claims", lambda: book)
    monkeypatch.setattr(confronting, "EXPERIMENTS", table)

    def planted(name, experiment=None, **changes):
        new = f"planted.claim_{len(book.maps[0])}"  # whatever is in the book: seeds depend on names
        book[new] = replace(book[name], name=new, **changes)
        table[new] = replace(table[name], claim=new, **(experiment or {}))
        return table[new]

    return planted
