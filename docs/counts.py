"""Numbers of claims in README.md: ``python docs/counts.py`` writes them anew from the book."""

from __future__ import annotations

import re
from pathlib import Path

from commbounds.theory import Claim, Origin, Standing, Tag, claims

README = Path(__file__).parents[1] / "README.md"
COUNTED = (Origin.PRINTED, Origin.USAGE, Origin.OWN)
"""The third to the fifth cell of a row; that implementations equal their definitions is counted apart."""
SAID = re.compile(
    r"Of the (\d+) printed statements (\d+) are recalled, (\d+) from official code, (\d+)\s+from transcriptions, "
    r"(\d+) second-hand\s+and (\d+) read"
)
"""How many printed statements there are, and how they are known."""
_ROW = re.compile(r"\|.*\| `\w+`")


def is_row(line: str) -> bool:
    """Whether a line of the README is a row about columns."""
    return bool(_ROW.match(line))


def counts(listed: list[Claim]) -> list[str]:
    """For every origin in `COUNTED` how many of its claims hold, of how many; a dash where there are none."""
    cells = []
    for origin in COUNTED:
        stands = [claim.stands for claim in listed if claim.source.origin is origin]
        cells.append(f"{stands.count(Standing.HOLDS)} of {len(stands)}" if stands else "\N{EN DASH}")
    return cells


def counted(line: str) -> str:
    """A row with the numbers that the book has."""
    cells = line.strip("| ").split(" | ")
    columns = re.findall(r"`(\w+)`", cells[1])
    cells[2:5] = counts([claim for claim in claims().values() if claim.column in columns])
    return f"| {' | '.join(cells)} |"


def told(text: str) -> str:
    """The text with the numbers of printed statements, all and by how they are known, where it says them."""
    tags = [claim.source.tag for claim in claims().values() if claim.source.origin is Origin.PRINTED]
    numbers = iter(
        [
            len(tags),
            *map(tags.count, (Tag.RECALLED, Tag.OFFICIAL_CODE, Tag.TRANSCRIPTION, Tag.SECOND_HAND, Tag.READ)),
        ]
    )
    return SAID.sub(lambda said: re.sub(r"\d+", lambda _: str(next(numbers)), said[0]), text, count=1)


def main() -> None:
    """Write the README with the numbers of the book."""
    lines = README.read_text(encoding="utf-8").split("\n")
    text = "\n".join(counted(line) if is_row(line) else line for line in lines)
    README.write_text(told(text), encoding="utf-8")


if __name__ == "__main__":
    main()
