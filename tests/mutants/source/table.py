"""The page of the table: per column how many mutants, what killed them, which survive, and which cannot be told."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

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
book does not have, or a function that only studies use.

"""
SAMPLED = """A random sample of each column was judged, at the commit in the last column or before, by the definitions
and the pairings of its own column alone, for eight seconds of processor time at most: what survives has not met other
claims, which judge functions that no implementation calls. A killed mutant is counted as long as its module is the
same, a survivor until it is judged again.

"""
_WORDS = dict(zip(OUTCOMES, ("refuted", "raises", "time-out", "ends"), strict=True))


def page(
    everything: list[SourceMutant],
    wanted: list[SourceMutant],
    verdicts: Mapping[str, Verdict],
    reasons: Mapping[str, str],
    unreached: Collection[str],
    failing: Collection[str],
    column_of: Callable[[SourceMutant], str],
    commits: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    everything, wanted : list of SourceMutant
        All that there are, and those of the sample.
    verdicts : mapping of str to Verdict
        What became of those that were judged.
    reasons : mapping of str to str
        Equivalent ones, with the reason.
    unreached : collection of str
        Those that no claim can judge.
    failing : collection of str
        Controls that fail: what is not as the book says without any mutant kills none.
    column_of : callable (SourceMutant) -> str
        The column of each.
    commits : mapping of str to str
        The commit at which mutants of a column were judged, where that is known.
    """
    killed = {n: v for n, v in verdicts.items() if v.how and not (v.controls and set(v.controls) <= set(failing))}
    surviving = [m for m in wanted if m.name in verdicts and not verdicts[m.name].how and m.name not in reasons]
    rows = []
    for column in (*dict.fromkeys(map(column_of, wanted)),):
        of = [m for m in wanted if column_of(m) == column]
        how = Counter(killed[m.name].how for m in of if m.name in killed)
        counts = [
            sum(column_of(m) == column for m in everything),
            sum(m.name in verdicts or m.name in reasons or m.name in unreached for m in of),
            sum(how.values()),
            *(how[outcome] for outcome in OUTCOMES),
            sum(m.name in reasons for m in of),
            sum(m.name in unreached and m.name not in reasons for m in of),
            sum(column_of(m) == column for m in surviving),
        ]
        rows.append((column, counts))
    rows.sort()
    rows.append(("all", [sum(counts[i] for _, counts in rows) for i in range(len(rows[0][1]))]))
    heads = ["column", "mutants", "sample", "killed", *_WORDS.values(), "equivalent", "unreached", "survive"]
    heads += ["judged at"] if commits else []
    ends = {column: [commits.get(column, "")] if commits else [] for column, _ in rows}
    text = [
        HEAD,
        SAMPLED * bool(commits),
        _table(heads, [[column, *map(str, counts), *ends[column]] for column, counts in rows]),
    ]
    kinds = Counter(m.operator for m in wanted if m.name in verdicts)
    dead = Counter(m.operator for m in wanted if m.name in killed)
    lines = [[kind, words, str(kinds[kind]), str(dead[kind])] for kind, words in OPERATORS.items()]
    text += ["## By what is changed\n", _table(["change", "what it does", "judged", "killed"], lines)]
    claims = Counter(claim for verdict in killed.values() for claim in verdict.killers if claim not in failing)
    text += ["## Claims that killed\n", "A mutant meets no further claims when those of one subject have killed it.\n"]
    text += [_table(["claim", "mutants"], [[f"`{claim}`", str(count)] for claim, count in claims.most_common(40)])]
    text += ["## Survivors\n"]
    for m in sorted(surviving, key=lambda m: (column_of(m), m.path, m.line)):
        text.append(f"- `{m.path}:{m.line}` ({m.operator}) `{m.before}` becomes `{m.after}`")
    if not surviving:
        text.append("None.")
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
