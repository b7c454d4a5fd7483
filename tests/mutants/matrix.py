"""The kill matrix: every mutant against every claim of what it stands in for; compressors against their contract, too.

``python tests/mutants/matrix.py [PATTERN...] [--column NAME]`` prints the matrix.
"""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import click
from contract_checks import broken

from commbounds.compressors import COMPRESSORS
from commbounds.verify import Verdict
from commbounds.verify.confront import confront
from commbounds.verify.experiments import EXPERIMENTS
from mutants import MUTANTS

SEED = 0


def claims_of(subject):
    """The claims that are confronted with the compressor, mechanism or collective, in the book's order."""
    return [study.claim for study in EXPERIMENTS.values() if study.subject == subject]


@dataclass(frozen=True)
class Row:
    """What kills a mutant.

    Parameters
    ----------
    name : str
        Of the mutant.
    claims : dict of str to str
        Claims whose finding is not as the book says, with the reason: the methods that refute it, "tightness",
        "not refuted" or "error".
    checks : tuple of str
        Checks of the contract that it does not pass.
    """

    name: str
    claims: dict[str, str]
    checks: tuple[str, ...]


def row(name):
    """The row of the mutant called `name`: all claims of its subject, and for a compressor all checks."""
    mutant = next(m for m in MUTANTS if m.name == name)
    killers = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # broken outputs may overflow on the way to a verdict
        for claim in claims_of(mutant.subject):
            finding = confront(claim, seed=SEED, implementations=mutant.implementations, drawn=False)
            if not finding.as_stated:
                killers[claim] = _reason(finding)
        checks = broken(mutant.subject, mutant.twin) if mutant.subject in COMPRESSORS else ()
        return Row(name, killers, tuple(checks))


def _reason(finding):
    if finding.verdict is Verdict.ERROR:
        return "error"
    if finding.verdict is not Verdict.REFUTED:
        return "tightness" if "tightness" in finding.message else "not refuted"
    return ", ".join(e.method for e in finding.evidence if e.verdict is Verdict.REFUTED)


@click.command()
@click.argument("patterns", nargs=-1)
@click.option("--column", help="Those of one column alone.")
def main(patterns, column):
    """Print what kills each of the mutants whose names match PATTERNS, shell style; all if none is given.

    Exits with 0 if every one is killed, 1 if one survives, 2 for wrong usage.
    """
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    listed = MUTANTS
    if column is not None:
        try:
            listed = import_module(f"mutants.{column}").MUTANTS
        except (ModuleNotFoundError, AttributeError) as error:
            raise click.UsageError(f"there is no tests/mutants/{column}.py with MUTANTS: {error}") from error
    for pattern in patterns:
        if not any(fnmatch(m.name, pattern) for m in listed):
            raise click.UsageError(f"no mutant matches {pattern!r}")
    chosen = [m for m in listed if any(fnmatch(m.name, p) for p in patterns or ["*"])]
    table = Table("mutant", "what is broken", "claims that kill it", "checks that kill it", title="kill matrix")
    survivors = []
    with ProcessPoolExecutor() as pool, Progress(console=Console(stderr=True), transient=True) as bar:
        found = bar.track(pool.map(row, [m.name for m in chosen]), total=len(chosen))
        for mutant, line in zip(chosen, found, strict=True):
            killers = "\n".join(f"{claim.split('.')[2]}: {why}" for claim, why in line.claims.items())
            table.add_row(mutant.name, mutant.broken, killers or "none", "\n".join(line.checks) or "none")
            table.add_section()
            if not line.claims and not line.checks:
                survivors.append(mutant.name)
    Console(width=160).print(table)
    click.echo(f"{len(chosen)} mutants, {len(survivors)} survive: {', '.join(survivors) or 'none'}")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
