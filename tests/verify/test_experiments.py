"""The book, the experiments and the compressors know of one another."""

from contextlib import suppress

import pytest
from bindings import COMPRESSED, STUDIES

from commbounds.collectives import COLLECTIVES
from commbounds.compressors import COMPRESSORS, MECHANISMS
from commbounds.theory import Standing, claims
from commbounds.verify.compressor_run import exact_array
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.binding import both, moderate, ones, table
from commbounds.verify.judgement import Judgement
from commbounds.verify.search import Violation


def test_every_claim_has_an_experiment_and_every_experiment_a_claim():
    assert list(EXPERIMENTS) == list(claims())


def test_the_subject_of_a_claim_is_its_compressor():
    for name, experiment in COMPRESSED.items():
        assert experiment.claim == name
        assert experiment.subject.lower() == claims()[name].subject, name


@pytest.mark.parametrize("name", COMPRESSORS)
def test_a_compressor_names_the_claims_about_it_that_hold(name):
    about = [c for c in claims().values() if c.subject == name.lower()]
    assert about
    assert list(COMPRESSORS[name].claims) == [c.name for c in about if c.stands is Standing.HOLDS]


@pytest.mark.parametrize("name", COMPRESSORS)
def test_the_statements_that_are_asked_of_every_compressor_are_in_the_book(name):
    statements = {c.name.split(".")[2] for c in claims().values() if c.subject == name.lower()}
    for asked in ("wire", "sign_symmetry", "scale_equivariance", "idempotence"):
        assert asked in statements
    assert any(s.startswith("unbiased") for s in statements)
    assert statements & {"contraction", "variance"}


@pytest.mark.parametrize("name", COMPRESSED)
def test_every_experiment_has_admissible_inputs(name):
    experiment = EXPERIMENTS[name]
    if not experiment.enumerable:
        return
    arrays = [exact_array(x) for x, _ in zip(experiment.domain.grid(0), range(200), strict=False)]
    assert any(experiment.admits(c, x) for x in arrays for c in experiment.instances({}, x.shape))


def test_every_statistical_claim_has_what_its_test_needs():
    for name, experiment in COMPRESSED.items():
        assert experiment.tested in ("", "bound", "entries", "projection", "equal"), name
        assert (experiment.spread is not None) == (experiment.tested == "equal"), name
        assert not experiment.tested or claims()[name].stands is Standing.HOLDS, name


def test_two_experiments_for_one_claim_are_refused():
    first = next(iter(COMPRESSED.values()))
    with pytest.raises(ValueError, match="two experiments for one claim"):
        table(first, first)


def test_conditions():
    x = ones(None, 3)
    assert x.tolist() == [1, 1, 1]
    assert moderate(None, x)
    assert moderate(None, 0 * x)
    assert not moderate(None, x * 1e13)
    assert not moderate(None, x * 1e-13)
    assert moderate(None, x.astype(float) * 1e13)
    assert both(moderate, lambda c, x: x[0] > 0)(None, x)
    assert not both(moderate, lambda c, x: x[0] < 0)(None, x)


def test_the_subject_of_a_study_is_in_one_registry():
    for name, study in STUDIES.items():
        assert study.claim == name
        assert (study.subject in COLLECTIVES) != (study.subject in MECHANISMS), name
        assert not study.sampled or claims()[name].stands is Standing.HOLDS, name


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if study.grid])
def test_every_grid_begins_with_an_admissible_case(name):
    study = STUDIES[name]
    probe = Judgement(study, study.implementation({})).probe()

    def admitted(case):
        with suppress(Violation):
            probe(case)
        return probe.cases > 0

    assert any(admitted(case) for case in study.grid(0))
