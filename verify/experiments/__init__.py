"""Claims bound to implementations: a folder per column, whose ``studies.py`` has a dict ``EXPERIMENTS``.

Its ``definitions.py`` has a dict ``DEFINITIONS``: the studies of the claims ``COLUMN.NAME.definition`` follow from it.
Those of ``COLUMN.NAME.ranks`` follow from the pairings, `verify.pairings.PAIRINGS`.
"""

from types import ModuleType
from typing import Any

from commbounds.columns import Registry, extended, part
from commbounds.theory import claims

__path__ = extended(__path__, "verify/experiments")

__all__ = ["EXPERIMENTS"]


def _of_column(column: str, _: ModuleType) -> dict[str, Any]:
    """The experiments of a column, in the order of its claims."""
    from commbounds.verify import definition_study, pairing
    from commbounds.verify.pairings import PAIRINGS

    studies, defined = (part("verify.experiments", column, module) for module in ("studies", "definitions"))
    bound = dict(getattr(studies, "EXPERIMENTS", {}))
    for name, definition_of in getattr(defined, "DEFINITIONS", {}).items():
        study = definition_study.study_of(column, name, definition_of)
        bound[study.claim] = study
    for beside in PAIRINGS.of_column(column).values():
        alone = pairing.study_of(column, beside)
        bound[alone.claim] = alone
    return {name: bound[name] for name in claims().of_column(column) if name in bound}


EXPERIMENTS: Registry[Any] = Registry("EXPERIMENTS", "verify.experiments", read=_of_column)
"""Every experiment under the name of its claim, in the book's order."""
