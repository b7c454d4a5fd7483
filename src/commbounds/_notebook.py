"""How records show themselves in a notebook: as a table, in HTML and in LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "^": r"\^{}",
    "~": r"\~{}",
    **{letter: f"\\{letter}" for letter in "$%&#_"},
}


@dataclass(frozen=True)
class Math:
    """A cell that is a formula, in LaTeX."""

    latex: str


Cell = str | Math


class NotebookTable:
    """Base of records that a notebook shows as a table: a class says its heading and its rows."""

    def _heading(self) -> str:
        """What stands above the table."""
        raise NotImplementedError

    def _rows(self) -> Sequence[Sequence[Cell]]:
        """The cells, row by row; the first of a row is its label."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + f"<th>{_html(label)}</th>" + "".join(f"<td>{_html(cell)}</td>" for cell in cells) + "</tr>"
            for label, *cells in self._rows()
        )
        return f"<table><caption>{escape(self._heading())}</caption><tbody>{rows}</tbody></table>"

    def _repr_latex_(self) -> str:
        rows = [[_latex(cell) for cell in row] for row in self._rows()]
        columns = "l" * max((len(row) for row in rows), default=1)
        heading = rf"\rlap{{{_latex(self._heading())}}}"
        lines = r" \\ ".join([heading, *(" & ".join(row) for row in rows)])
        return rf"$\displaystyle \begin{{array}}{{{columns}}} {lines} \end{{array}}$"


def _html(cell: Cell) -> str:
    return f"$\\displaystyle {escape(cell.latex)}$" if isinstance(cell, Math) else escape(cell)


def _latex(cell: Cell) -> str:
    if isinstance(cell, Math):
        return rf"\displaystyle {cell.latex}"
    return rf"\text{{{''.join(_IN_LATEX.get(letter, letter) for letter in cell)}}}"
