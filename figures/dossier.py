"""A method on one page, and any selection of claims in print: what the book says of them, as facts, HTML or LaTeX."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp
from markupsafe import Markup

from commbounds.figures.entries import environment, text_of
from commbounds.figures.formula import mathml
from commbounds.figures.site.pages import bibtex_of_work, tex
from commbounds.theory import Claim, Standing, claims
from commbounds.theory.book import columns
from commbounds.theory.column import Column
from commbounds.theory.planning import METHODS, Cluster, MethodCost
from commbounds.theory.schedules import SCHEDULES
from commbounds.verify import certify

_TEMPLATES = "commbounds.figures"


@dataclass(frozen=True)
class Dossier:
    """What is known of some claims.

    Parameters
    ----------
    names : tuple of str
        What was asked for: columns, a column and a subject (``quantizers.qsgd``), claims, or patterns of names.
    claims : tuple of Claim
        All of them, in the book's order.
    """

    names: tuple[str, ...]
    claims: tuple[Claim, ...]

    @property
    def name(self) -> str:
        """What was asked for, in a line."""
        return ", ".join(self.names)

    @property
    def patterns(self) -> list[str]:
        """What commands take in its place."""
        return [_pattern(name) for name in self.names]

    @property
    def columns(self) -> list[Column]:
        """The columns that the claims are in."""
        return [columns()[name] for name in dict.fromkeys(claim.name.partition(".")[0] for claim in self.claims)]

    @property
    def whole(self) -> list[Column]:
        """The columns that were asked for as such."""
        return [column for column in self.columns if column.name in self.names]

    @property
    def holding(self) -> list[Claim]:
        """Claims that hold as they stand."""
        return [claim for claim in self.claims if claim.stands is Standing.HOLDS]

    @property
    def failing(self) -> list[Claim]:
        """Claims that do not."""
        return [claim for claim in self.claims if claim.stands is not Standing.HOLDS]

    def methods(self) -> list[MethodCost]:
        """What plans list of them on 64 ranks with 25 million entries."""
        names = {claim.name for claim in self.claims}
        cluster = Cluster(ranks=64, shapes=((5000, 5000),))
        listed = ((column, found) for column in self.columns for found in METHODS.of_column(column.name).values())
        rows = ((column, row) for column, found in listed for row in found(cluster))
        return [row for column, row in rows if column in self.whole or names & {*row.claims}]

    def schedules(self) -> list[Any]:
        """Schedules of whole columns."""
        return [found for column in self.whole for found in SCHEDULES.of_column(column.name).values()]

    def works(self) -> dict[str, str]:
        """Works that claims come from -> their entries in BibTeX, empty where they cannot be found by a number."""
        return {claim.source.work: bibtex_of_work(claim.source) for claim in self.claims}


def _pattern(name: str) -> str:
    return name if any(sign in name for sign in "*?[") or name.count(".") > 1 else f"{name}.*"


def dossier(*names: str) -> Dossier:
    """The claims of columns, of subjects in them, or whose names match patterns; each claim once.

    Raises
    ------
    ValueError
        There is none of one of the names.
    """
    found: dict[str, Claim] = {}
    for name in names:
        try:
            found |= claims(_pattern(name))
        except KeyError as error:
            raise ValueError(error.args[0]) from None
    chapters = [column for column in columns() if any(name.partition(".")[0] == column for name in found)]
    in_order = (claim for column in chapters for claim in columns()[column].claims)
    return Dossier(names, tuple(claim for claim in in_order if claim.name in found))


def proof_of(claim: Claim) -> str:
    """How much of a claim its certificate proves, or that it is refuted by one; empty without."""
    if claim.name not in certify.files():
        return ""
    certificate = certify.load(claim.name)
    if certificate.kind == "counterexample":
        return f"counterexample: {certificate.scope}"
    return certify.told(certify.record(certificate))


def as_facts(of: Dossier) -> dict[str, Any]:
    """All of it as what JSON can hold."""
    return {
        "name": of.name,
        "titles": {column.name: column.title for column in of.columns},
        "claims": [
            {
                "name": claim.name,
                "statement": claim.title,
                "relation": str(claim.relation),
                "latex": claim.latex,
                "kind": str(claim.kind),
                "assumes": {h.name: h.statement for h in claim.assumes},
                "stands": str(claim.stands),
                "corrected_by": claim.corrected_by,
                "tightness": None if claim.tightness is None else str(claim.tightness),
                "worst_input": claim.extremal,
                "proof": proof_of(claim),
                "source": {"work": claim.source.work, "place": claim.source.place, "tag": str(claim.source.tag)},
                "note": claim.note,
            }
            for claim in of.claims
        ],
        "schedules": {s.name: s.title for s in of.schedules()},
        "bibtex": [entry for entry in of.works().values() if entry],
    }


def as_html(of: Dossier) -> str:
    """A page that needs nothing else, and prints."""
    template = environment(_TEMPLATES).get_template("dossier.html.j2")
    corrections = {claim.corrected_by: claims()[claim.corrected_by] for claim in of.failing if claim.corrected_by}
    return template.render(
        of=of,
        formula=_formula,
        supremum=_supremum,
        proof_of=proof_of,
        corrections=corrections,
        palette=text_of(_TEMPLATES, "palette.css"),
    )


def as_latex(of: Dossier) -> str:
    """Tables for an appendix, of `longtable` and `booktabs`, with BibTeX in comments at the end."""
    lines = [
        "% needs \\usepackage{amsmath,booktabs,longtable}",
        *_table("What holds", of.holding, _holds),
        *_table("What does not hold as stated", of.failing, _fails),
    ]
    for entry in dict.fromkeys(of.works().values()):
        lines += [f"% {line}" for line in entry.splitlines()]
    return "\n".join(lines) + "\n"


def _formula(claim: Claim) -> Markup:
    return Markup(mathml(claim.latex, large=True))


def _supremum(claim: Claim) -> Markup:
    return Markup("" if claim.tightness is None else mathml(sp.latex(claim.tightness)))


def _table(caption: str, rows: Iterable[Claim], last: Any) -> list[str]:
    """A table of claims; nothing where there are none."""
    found = [f"{tex(claim.title)} & ${claim.latex}$ & {tex(last(claim))} \\\\" + "\n\\addlinespace" for claim in rows]
    if not found:
        return []
    columns_of = r"@{}p{0.36\linewidth}p{0.34\linewidth}p{0.24\linewidth}@{}"
    return [
        rf"\begin{{longtable}}{{{columns_of}}}",
        rf"\caption{{{caption}}}\\ \toprule statement & relation & known \\ \midrule \endhead",
        *found,
        r"\bottomrule",
        r"\end{longtable}",
    ]


def _holds(claim: Claim) -> str:
    conditions = " ".join(h.statement for h in claim.assumes)
    return ". ".join(filter(None, (proof_of(claim) or "measured", conditions and f"If: {conditions}")))


def _fails(claim: Claim) -> str:
    by: Mapping[str, Claim] = claims()
    return f"holds instead: {by[claim.corrected_by].title}" if claim.corrected_by else "refuted"
