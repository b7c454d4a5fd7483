"""What was read in code says in which lines of which commit; the few that do not yet are listed, and grow no more."""

import re

import pytest

from commbounds.theory import Origin, Tag, claims

WITHOUT_A_COMMIT = (
    "blockformats.correlated.unbiased",
    "blockformats.correlated.equal",
)
"""Claims whose code was read without noting the commit, and could not be read again. The list may only shrink."""

READ = {name: claim.source for name, claim in claims().items() if claim.source.tag is Tag.OFFICIAL_CODE}


def test_what_was_read_in_code_says_in_which_lines_of_which_commit():
    assert tuple(name for name, source in READ.items() if source.code is None) == WITHOUT_A_COMMIT
    assert len(WITHOUT_A_COMMIT) <= 2


def test_what_blames_a_program_says_where_it_was_read():
    failing = {name for name, claim in claims().items() if str(claim.stands) != "holds"}
    blaming = {name for name, source in READ.items() if source.origin is Origin.PRINTED and name in failing}
    assert blaming, "nothing printed in code fails: this test has lost its subject"
    assert not blaming & set(WITHOUT_A_COMMIT)


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
