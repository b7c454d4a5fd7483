"""``docs/referee.md`` names claims, mutants and tests that exist."""

import re
from pathlib import Path

from commbounds.columns import COLUMNS
from commbounds.theory import claims

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "referee.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([^`]+)`", TEXT)
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))


def test_every_claim_that_is_named_whole_is_in_the_book():
    whole = [name for name in NAMED if re.fullmatch(r"\w+(\.\w+){2,}", name) and name.partition(".")[0] in COLUMNS]
    assert len(whole) > 15
    assert [name for name in whole if name not in claims()] == []


def test_every_mutant_and_test_that_is_named_exists():
    rest = [name for name in NAMED if re.fullmatch(r"test_\w+|[A-Z][A-Za-z0-9]+[a-z0-9]", name)]
    rest += [
        name for line in re.findall(r"mutants? ((?:`\w+`(?:, )?)+)", TEXT) for name in re.findall(r"`(\w+)`", line)
    ]
    assert len(rest) > 20
    assert [name for name in rest if name not in TESTS] == []
    files = [name for name in NAMED if name.endswith(".py")]
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []
