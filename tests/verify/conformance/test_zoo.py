"""The kit finds what is broken, by the claim that speaks of it, and passes the right ones that it was made from."""

from dataclasses import replace

import pytest
from samples import first_of_each
from zoo import ZOO, twins
from zoo.page import PAGE, cell, rows
from zoo.unseen import UNSEEN

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.universal import UNIVERSAL

NAMES = [broken.name for broken in ZOO]
TWINS = twins()


def short(claim):
    return str(claim).split("(")[0]


@pytest.mark.parametrize("broken", first_of_each(ZOO, lambda broken: broken.killed_by[0], lambda broken: broken.name))
def test_a_broken_subject_fails_what_it_was_listed_with(broken):
    report = cf.check(broken.subject, only=broken.killed_by)
    assert report.failures, report


@pytest.mark.parametrize(
    ("twin", "killers"), first_of_each(TWINS, lambda pair: type(pair[0]), lambda pair: pair[0].name)
)
def test_a_right_twin_passes_what_the_broken_ones_fail(twin, killers):
    report = cf.check(replace(twin, effort=min(0.1, twin.effort)), only=killers)
    assert {finding.verdict for finding in report.findings} == {"pass"}, report


@pytest.mark.long
@pytest.mark.parametrize("twin", [twin for twin, _ in TWINS], ids=[twin.name for twin, _ in TWINS])
def test_a_right_twin_passes_everything(twin):
    for seed in range(3):
        report = cf.check(twin, seed=seed)
        assert report.passed, report
        own = {str(claim) for claim in twin.claims}
        assert not own & {finding.claim for finding in report.not_judged}, report


@pytest.mark.parametrize("broken", first_of_each(UNSEEN, lambda _: "any", lambda broken: broken.name))
def test_what_is_listed_as_not_seen_passes_its_claims(broken):
    claims = [str(claim) for claim in broken.subject.claims]
    assert cf.check(broken.subject, only=claims).passed


def test_every_killer_is_a_claim_of_the_subject_or_a_check_of_all():
    checks = {str(check) for check in UNIVERSAL}
    for broken in ZOO:
        known = checks | {short(claim) for claim in broken.subject.claims}
        assert broken.killed_by
        assert set(broken.killed_by) <= known, broken.name


def test_no_two_subjects_share_a_name_or_a_defect():
    assert len(set(NAMES)) == len(ZOO)
    assert len({broken.defect for broken in ZOO}) == len(ZOO)
    assert all(broken.defect.endswith(".") for broken in ZOO)


def test_every_claim_and_every_check_kills_something():
    killers = {name for broken in ZOO for name in broken.killed_by}
    public = {name: getattr(cf, name) for name in cf.__all__}
    claims = {name for name, value in public.items() if isinstance(value, type) and issubclass(value, SubjectClaim)}
    assert claims | {str(check) for check in UNIVERSAL} <= killers


def test_the_page_lists_every_defect():
    assert rows(PAGE.read_text(encoding="utf-8")) == [cell(broken.defect) for broken in (*ZOO, *UNSEEN)]


@pytest.mark.parametrize("name", ["topk by value", "dithered alike", "ring of whole blocks", "Decaying"])
def test_the_same_seed_gives_the_same_report(name):
    broken = ZOO[NAMES.index(name)]
    first, second = (cf.check(broken.subject, seed=5, only=broken.killed_by) for _ in range(2))
    assert first.to_json() == second.to_json()
