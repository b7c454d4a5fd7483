"""Numbers in README.md and the guides to certificates: ``python docs/counts.py`` writes them anew from the book."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

from commbounds.theory import Claim, Origin, Standing, Tag, claims
from commbounds.theory.model import STEPS
from commbounds.verify import certify
from commbounds.verify.certify import Grade

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
GUIDES = tuple(ROOT / "docs" / f"{name}.md" for name in ("certificates", "reading-models"))
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
        [len(tags), *map(tags.count, (Tag.RECALLED, Tag.OFFICIAL_CODE, Tag.TRANSCRIPTION, Tag.SECOND_HAND, Tag.READ))]
    )
    return SAID.sub(lambda said: re.sub(r"\d+", lambda _: str(next(numbers)), said[0]), text, count=1)


POINTS = "smallest counterexamples"
"""What certificates are that prove nothing and have no grade."""
TRUSTED = {
    "the checker of proofs": ("verify/certify/checker.py", "verify/certify/polynomials.py"),
    "what it calls: letters, conditions, the files' form, `Model` and `Goal`": (
        "verify/certify/letters.py",
        "verify/certify/hypotheses.py",
        "verify/certify/certificate.py",
        "theory/model.py",
    ),
    "for kernels that are run, and for counterexamples": (
        "verify/certify/exhaustion.py",
        "verify/certify/run.py",
        "verify/certify/counterexamples.py",
        "verify/certify/enclosures.py",
    ),
    "the models of proofs, with how much each shows": ("theory/*/models*.py", "theory/*_laws.py"),
    "the models of refutations": ("theory/*/refutations*.py",),
}
"""What has to be believed, and where it is."""


@cache
def grades() -> dict[str, Counter[str]]:
    """How many certificates of each grade a column has; counterexamples beside."""
    found: dict[str, Counter[str]] = {}
    for name in certify.files():
        certificate = certify.load(name)
        kind = POINTS if certificate.kind == "counterexample" else str(certify.grade(certificate))
        found.setdefault(name.partition(".")[0], Counter())[kind] += 1
    return found


def grade_table() -> str:
    """Certificates by column and by grade, with their sums."""
    kinds = [*map(str, Grade), POINTS]
    rows = {f"`{column}`": count for column, count in grades().items()}
    rows["**all**"] = sum(grades().values(), Counter())
    lines = [f"| column | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(str(count[kind]) for kind in kinds)} |" for name, count in rows.items()]
    return "\n".join(lines)


def grade_sentence() -> str:
    """The same of all columns in a sentence."""
    found = sum(grades().values(), Counter())
    shown = ", ".join(f"{found[grade]} *{grade}*" for grade in map(str, Grade))
    return f"Of the {sum(found.values())} certificates {shown}, and {found[POINTS]} are {POINTS}."


def step_list() -> str:
    """What the steps in words are, and how many proofs need each."""
    used = Counter(step for name in certify.files() for step in certify.extent(name).steps_in_words)
    return "\n\n".join(
        f"### {step[0].upper()}{step[1:]}\n\n{words} {used[step]} proofs." for step, words in STEPS.items()
    )


def trusted_table() -> str:
    """What has to be believed, in lines: tens of programs, hundreds of models."""
    lines = ["| what | lines |", "|---|---|"]
    for what, patterns in TRUSTED.items():
        files = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
        count = sum(len(file.read_text("utf-8").splitlines()) for file in files)
        named = f" (`{'`, `'.join(patterns)}`)"
        lines.append(f"| {what}{named} | {round(count, -2 if '*' in patterns[0] else -1):,} |")
    return "\n".join(lines)


_NAME = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*){2,}")


def resting() -> list[tuple[int, str]]:
    """How many claims rest on the model of each, those with most first."""
    book = claims()
    proved = [name for name in certify.files() if name not in certify.refutations()]
    on: dict[str, set[str]] = {name: set() for name in proved}
    for name in proved:
        model = certify.models()[name]
        for other in {*_NAME.findall(f"{model.words} {book[name].source.proof or ''}"), *model.checked_by} - {name}:
            if other in on:
                on[other].add(name)
    for claim in book.values():
        if claim.corrected_by in on:
            on[claim.corrected_by].add(claim.name)

    def above(name: str) -> set[str]:
        found, left = set[str](), [name]
        while left:
            new = on.get(left.pop(), set()) - found - {name}
            found |= new
            left += new
        return found

    return sorted(((len(above(name)), name) for name in proved), key=lambda pair: (-pair[0], pair[1]))


def reading_list() -> str:
    """The models on which most rests, and at how many runs their conditions held."""
    lines = ["| claim | rest on it | runs | goals met |", "|---|---|---|---|"]
    for count, name in resting()[:30]:
        seen = certify.seen().get(name)
        runs = f"{seen.runs} | {seen.goals} of {seen.of}" if seen else "0 | none"
        lines.append(f"| `{name}` | {count} | {runs} |")
    return "\n".join(lines)


def seen_sentence() -> str:
    """How many models were seen at work."""
    proved = [name for name in certify.files() if name not in certify.refutations()]
    seen = [certify.seen()[name] for name in proved if name in certify.seen()]
    met, of = sum(found.goals for found in seen), sum(found.of for found in seen)
    return (
        f"Of the {len(proved)} models of proofs {len(seen)} were seen at work, at "
        f"{sum(found.runs for found in seen):,} runs. Of the {of:,} goals of these models {met:,} had their conditions "
        "met. A model that no run meets fails a test."
    )


def point_sentence() -> str:
    """How many refuted claims have a smallest point, and what kind of point."""
    failed = [claim for claim in claims().values() if claim.stands is not Standing.HOLDS]
    scopes = [certify.load(name).scope for name in certify.files() if name in certify.refutations()]
    alone, floors = (
        sum(word in scope for scope in scopes) for word in ("has no whole numbers", "has no smaller point")
    )
    return (
        f"Of {len(failed)} claims that are refuted, or hold as corrected, {len(scopes)} have a smallest point. "
        f"{alone} of these refutations have no whole numbers: the point is one that is small, and nothing is said of "
        f"smaller ones. {floors} points are the first of their model, where nothing smaller could be tried. The scope "
        "says either, on the page and in the data."
    )


GENERATED = {
    "grades": grade_table,
    "sentence": grade_sentence,
    "steps": step_list,
    "trusted": trusted_table,
    "reading": reading_list,
    "seen": seen_sentence,
    "points": point_sentence,
}
"""What stands between ``<!-- NAME -->`` and ``<!-- end -->``."""


def generated(text: str) -> str:
    """The text with what is generated as the book has it."""
    for name, make in GENERATED.items():
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda m, make=make: f"{m[1]}{make()}\n{m[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


def main() -> None:
    """Write the numbers of the book."""
    lines = README.read_text(encoding="utf-8").split("\n")
    text = "\n".join(counted(line) if is_row(line) else line for line in lines)
    README.write_text(generated(told(text)), encoding="utf-8")
    for guide in GUIDES:
        guide.write_text(generated(guide.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
