"""Findings of Megatron-LM issue 7452, rebuilt: right results are accepted, mistakes refused and named."""

import re
from pathlib import Path

import pytest
from megatron_findings import FINDINGS

from commbounds.testing import assert_parallel_close

GUIDE = (Path(__file__).parents[1] / "docs" / "tolerance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", FINDINGS)
def test_each_is_refused_and_said(number):
    found = FINDINGS[number]
    assert_parallel_close(None, found.right, found.plan)
    with pytest.raises(AssertionError) as refused:
        assert_parallel_close(None, found.wrong, found.plan)
    assert found.said in str(refused.value).split("what fits: ")[1]


def test_the_guide_lists_them():
    rows = re.findall(r"^\| (\d+|\d+, uneven|[BC]\d) \| (.*) \| (.*) \| (.*) \|$", GUIDE, re.MULTILINE)
    assert rows == [(number, found.title, found.known, found.said) for number, found in FINDINGS.items()]
    assert len({number.split(",")[0] for number, found in FINDINGS.items() if found.known.startswith("read")}) >= 8
