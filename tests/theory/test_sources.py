"""What was read in code says in which lines of which commit."""

import re

import pytest

from commbounds.theory import Tag, claims

READ = {name: claim.source for name, claim in claims().items() if claim.source.tag is Tag.OFFICIAL_CODE}


def test_what_was_read_in_code_says_in_which_lines_of_which_commit():
    assert READ
    assert not [name for name, source in READ.items() if source.code is None]


@pytest.mark.parametrize("name", [name for name, source in READ.items() if source.code])
def test_places_are_said_once(name):
    """A commit that stands in the words as well as in `code` would have to be changed twice."""
    source, code = READ[name], READ[name].code
    assert not re.search(r"\bcommit [0-9a-f]{7}", source.place)
    assert code.lines or code.path.endswith(".wls"), "a whole file is cited only where it is one short script"


def test_one_repository_is_read_at_as_few_commits_as_can_be():
    commits = {}
    for source in READ.values():
        if source.code:
            commits.setdefault(source.code.repo, set()).add(source.code.commit)
    several = {repo: len(found) for repo, found in commits.items() if len(found) > 1}
    # what was mended is read before and after
    assert several == {"pytorch/torchft": 2, "DanielBergThomsen/error-feedback-tight": 2}
