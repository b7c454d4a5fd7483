"""Claims that are not in the book, for the checkers to judge."""

from dataclasses import replace

import pytest

from commbounds.theory import claims
from commbounds.verify import confront as confronting
from commbounds.verify import experiment as experiments
from commbounds.verify.experiments import EXPERIMENTS


@pytest.fixture
def plant(monkeypatch):
    """``plant(name, **changes)``: the experiment of a claim like `name`, with the claim's fields changed.

    The claim is called ``planted.1``, ``planted.2``, ...; ``confront`` knows it. Options that are fields of the
    experiment change that.
    """
    book, table = dict(claims()), dict(EXPERIMENTS)
    monkeypatch.setattr(experiments, "claims", lambda: book)
    monkeypatch.setattr(confronting, "EXPERIMENTS", table)
    experiments._bound.cache_clear()

    def planted(name, experiment=None, **changes):
        new = f"planted.claim_{len(book)}"
        book[new] = replace(book[name], name=new, **changes)
        table[new] = replace(table[name], claim=new, **(experiment or {}))
        return table[new]

    yield planted
    experiments._bound.cache_clear()
