"""The page of the table: per column how many mutants, what killed them, which survive, and which cannot be told."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .judging import OUTCOMES, Verdict
from .operators import OPERATORS, SourceMutant

HEAD = """# Mutants of the source

The lines of `compressors/` and `collectives/` are changed by a machine, one place at a time, and `verify` alone judges
what comes of it: the claims about every subject whose implementation reaches the place, at the quick budget, with
kernels in plain Python. `python -m tests.mutants.source PATTERN` judges mutants and writes this page.

A mutant is killed where a claim is not as the book says (*refuted*), where it cannot be judged because the
implementation raises (*raises*), where the claims take more than the limit (*time-out*), or where its process ends
(*ends*). *Equivalent* is one that changes no result, with its reason below. *Unreached* is one in a function that no
registered implementation uses and no column owns. All others that were judged *survive*: each shows a case that the
book does not have, or a function that only studies use, and says which.

"""
SAMPLED = """A random sample of all columns was judged at one commit, by the definitions and the pairings of a
mutant's own column alone, for ten seconds of processor time at most. What survived that was looked at one by one. Some
mutants are equivalent. Some are killed by claims that were not asked before, or by cases that the spaces have got
since, which were run. The others are listed as survivors, each with the case that the book does not have.

"""
_WORDS = dict(zip(OUTCOMES, ("refuted", "raises", "time-out", "ends"), strict=True))

Tally = dict[str, Any]
"""What became of a column's mutants, in what JSON holds: see `tally`."""


def tally(
    there: int,
    wanted: list[SourceMutant],
    verdicts: Mapping[str, Verdict],
    reasons: Mapping[str, str],
    unreached: Collection[str],
    failing: Collection[str],
) -> Tally:
    """What became of the mutants of one column: numbers, what killed them, and the lines of those that survive.

    Parameters
    ----------
    there : int
        How many mutants the column has.
    wanted : list of SourceMutant
        Those of the sample.
    verdicts : mapping of str to Verdict
        What became of those that were judged.
    reasons : mapping of str to str
        Equivalent ones, with the reason.
    unreached : collection of str
        Those that no claim can judge.
    failing : collection of str
        Controls that fail: what is not as the book says without any mutant kills none.
    """
    dead = {n: v for n, v in verdicts.items() if v.how and not (v.controls and set(v.controls) <= set(failing))}
    killed = [m for m in wanted if m.name in dead]
    surviving = [m for m in wanted if m.name in verdicts and not verdicts[m.name].how and m.name not in reasons]
    claims = (claim for m in killed for claim in dead[m.name].killers if claim not in failing)
    return {
        "mutants": there,
        "sample": sum(m.name in verdicts or m.name in reasons or m.name in unreached for m in wanted),
        "killed": dict(Counter(dead[m.name].how for m in killed)),
        "equivalent": sum(m.name in reasons for m in wanted),
        "unreached": sum(m.name in unreached and m.name not in reasons for m in wanted),
        "judged by kind": dict(Counter(m.operator for m in wanted if m.name in verdicts)),
        "killed by kind": dict(Counter(m.operator for m in killed)),
        "claims": dict(Counter(claims)),
        "survivors": list(map(line_of, sorted(surviving, key=lambda m: (m.path, m.line)))),
    }


def line_of(mutant: SourceMutant) -> str:
    """The line of the page that shows a mutant that survives."""
    return f"- `{mutant.path}:{mutant.line}` ({mutant.operator}) `{mutant.before}` becomes `{mutant.after}`"


def _parts(line: str) -> tuple[str, int]:
    """A line without its number, and the number."""
    (number,) = re.findall(r"^- `[^`:]+:(\d+)`", line)
    return line.replace(f":{number}`", "`", 1), int(number)


def shown_again(of: Tally, everything: Iterable[SourceMutant]) -> list[SourceMutant]:
    """The mutants that a tally shows as survivors, wherever their lines are by now; those that are gone left out."""
    places, found = defaultdict(list), []
    for mutant in everything:
        text, number = _parts(line_of(mutant))
        places[text].append((number, mutant))
    for line in of["survivors"]:
        text, number = _parts(line)
        if places[text]:
            nearest = min(places[text], key=lambda place: abs(place[0] - number))
            places[text].remove(nearest)
            found.append(nearest[1])
    return found


def judged_again(
    of: Tally,
    again: list[SourceMutant],
    verdicts: Mapping[str, Verdict],
    reasons: Mapping[str, str],
    failing: Collection[str],
) -> Tally:
    """A tally after its survivors were judged again; those that are no mutants any more have left its sample.

    Parameters
    ----------
    of : Tally
        As it was.
    again : list of SourceMutant
        Its survivors, of `shown_again`: what has no verdict still survives.
    verdicts, reasons, failing
        As of `tally`.
    """
    now = tally(of["mutants"], again, {m.name: Verdict(()) for m in again} | dict(verdicts), reasons, (), failing)
    return of | {
        "sample": of["sample"] - len(of["survivors"]) + len(again),
        "equivalent": of["equivalent"] + now["equivalent"],
        "survivors": now["survivors"],
        **{name: dict(Counter(of[name]) + Counter(now[name])) for name in ("killed", "killed by kind", "claims")},
    }


def page(
    tallies: Mapping[str, Tally],
    everything: list[SourceMutant],
    reasons: Mapping[str, str],
    failing: Collection[str],
    sentences: Mapping[str, str],
) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    tallies : mapping of str to Tally
        Column -> what became of its mutants, with "judged at", a commit, where that is known.
    everything : list of SourceMutant
        All that there are.
    reasons, failing
        As of `tally`.
    sentences : mapping of str to str
        Why a mutant survives that is not equivalent.
    """
    why = {_parts(line_of(m))[0]: f": {sentences[m.name]}" for m in everything if m.name in sentences}
    rows, ends = [], {column: of.get("judged at", "") for column, of in sorted(tallies.items())}
    for column in ends:
        of = tallies[column]
        killed = [of["killed"].get(outcome, 0) for outcome in OUTCOMES]
        counts = [of["mutants"], of["sample"], sum(killed), *killed, of["equivalent"], of["unreached"]]
        rows.append((column, [*counts, len(of["survivors"])]))
    rows.append(("all", [sum(counts[i] for _, counts in rows) for i in range(len(rows[0][1]))]))
    heads = ["column", "mutants", "sample", "killed", *_WORDS.values(), "equivalent", "unreached", "survive"]
    commits = any(ends.values())
    heads += ["judged at"] if commits else []
    text = [
        HEAD,
        SAMPLED * commits,
        _table(heads, [[column, *map(str, counts), *[ends.get(column, "")] * commits] for column, counts in rows]),
    ]

    def added(name: str) -> Counter[str]:
        return sum((Counter(of[name]) for of in tallies.values()), Counter())

    kinds, dead = added("judged by kind"), added("killed by kind")
    if kinds:
        lines = [[kind, words, str(kinds[kind]), str(dead[kind])] for kind, words in OPERATORS.items()]
        text += ["## By what is changed\n", _table(["change", "what it does", "judged", "killed"], lines)]
    if claims := sorted(added("claims").items(), key=lambda found: (-found[1], found[0])):
        text += [
            "## Claims that killed\n",
            "A mutant meets no further claims when those of one subject have killed it.\n",
        ]
        without = [column for column in ends if tallies[column]["killed"] and not tallies[column]["claims"]]
        text += [f"Columns whose killers were not kept: {', '.join(without)}.\n"] if without else []
        text += [_table(["claim", "mutants"], [[f"`{claim}`", str(count)] for claim, count in claims[:40]])]
    text += ["## Survivors\n"]
    survivors = [line for column in ends for line in tallies[column]["survivors"]]
    text += [line + why.get(_parts(line)[0], "") for line in survivors] or ["None."]
    text += ["\n## Equivalent ones\n"]
    text += [f"- `{m.path}:{m.line}` `{m.before}` becomes `{m.after}`: {reasons[m.name]}"
             for m in everything if m.name in reasons] or ["None."]  # fmt: skip
    for name in sorted(failing):
        first = name.split()[0]
        text.append(
            f"\nWithout a mutant either, `{first}` is not as the book says in plain Python: it counts for nothing."
        )
    return "\n".join(text) + "\n"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"
