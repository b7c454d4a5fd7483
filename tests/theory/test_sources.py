"""What was read in code says in which lines of which commit."""

import re

import pytest

from commbounds.theory import Origin, Tag, claims

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


def test_a_name_says_whose_statement_it_is():
    """What is called printed or published is; our readings of a source have other names."""
    called = {name: claim for name, claim in claims().items() if re.search(r"printed|published", name)}
    assert called
    assert [name for name, claim in called.items() if claim.source.origin is not Origin.PRINTED] == []


WORKS = {claim.source.work: claim.source.link for claim in claims().values() if claim.source.tag is not Tag.DERIVED}
WITHOUT_IDENTIFIER = {
    "1964, Convex transformations": "a book",
    "2015, Bounds on the expectation": "a note on its author's page",
    "2015, Scalable distributed DNN training": "proceedings; no identifier was found",
    "2024, Muon": "an article on its author's page",
    "OCP Microscaling Formats": "a specification on its makers' page",
}


def test_published_works_have_an_identifier_that_leads_to_them():
    """A reference with authors, a year and a title is linked; code and documentation have other addresses."""
    without = [work for work, link in WORKS.items() if re.search(r", (19|20)\d\d, ", work) and not link]
    code = [work for work in without if re.search(r"PyTorch|Microsoft|helper code", work)]
    assert sorted(set(without) - set(code)) == sorted(
        work for work in without if any(part in work for part in WITHOUT_IDENTIFIER)
    )
    assert all(any(part in work for work in without) for part in WITHOUT_IDENTIFIER)


def test_one_work_is_spelled_in_one_way():
    identifiers = [re.sub(r"v\d+$", "", link) for link in WORKS.values() if link]
    assert sorted({link for link in identifiers if identifiers.count(link) > 1}) == []


def test_what_was_read_of_a_work_is_said():
    """Which version, whose copy, how much of it; where the abstract alone was read, the place says so."""
    for name, claim in claims().items():
        source = claim.source
        if source.tag in (Tag.READ, Tag.TRANSCRIPTION, Tag.SECOND_HAND):
            assert source.text or source.place.lower().startswith("abstract"), name
        assert source.tag is not Tag.TRANSCRIPTION or re.search("transcription|plain text", source.text), name
