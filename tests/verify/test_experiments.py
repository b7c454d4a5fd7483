"""The book, the experiments and the compressors know of one another."""

from contextlib import suppress
from math import floor

import numpy as np
import pytest
from bindings import COMPRESSED, STUDIES

from commbounds.collectives import COLLECTIVES
from commbounds.columns import part
from commbounds.compressors import COMPRESSORS, MECHANISMS, PowerSGD
from commbounds.theory import Standing, claims
from commbounds.theory.claim import DEFINITION
from commbounds.verify.compressor_run import CompressorRun, exact_array
from commbounds.verify.confront import confront
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.binding import ones, table
from commbounds.verify.judgement import Judgement
from commbounds.verify.search import Violation


def test_every_claim_has_an_experiment_and_every_experiment_a_claim():
    assert list(EXPERIMENTS) == list(claims())


def test_the_subject_of_a_claim_is_its_compressor():
    for name, experiment in COMPRESSED.items():
        assert experiment.claim == name
        assert experiment.subject.lower() == claims()[name].subject, name


@pytest.mark.parametrize("name", COMPRESSORS)
def test_a_compressor_names_the_claims_of_its_column_about_it_that_hold(name):
    about = [c for c in claims().values() if c.subject == name.lower()]
    assert about
    own = [c for c in about if name in getattr(part("compressors", c.column), "COMPRESSORS", ())]
    promised = [c.name for c in own if c.stands is Standing.HOLDS and c.source.place != DEFINITION]
    assert list(COMPRESSORS[name].claims) == promised


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
    assert any(experiment.admits(CompressorRun(c, x)) for x in arrays for c in experiment.instances({}, x.shape))


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
    """A study asks its claim's hypotheses, those in the bound's symbols too, and nothing else."""
    x = ones(None, 3)
    assert x.tolist() == [1, 1, 1]
    share, determinant = EXPERIMENTS["sparsifiers.topk.ceil_k"], EXPERIMENTS["lowrank.powersgd.determinant"]
    for c in share.instances({}, x.shape):
        assert share.admits(CompressorRun(c, x))
        assert not share.admits(CompressorRun(c, 0 * x))
        assert not EXPERIMENTS["sparsifiers.topk.floor_k"].admits(CompressorRun(c, x)) or c.kept(3) == max(
            1, floor(c.mu * 3)
        )
    assert [
        determinant.admits(CompressorRun(PowerSGD(rank), np.eye(side))) for rank, side in ((1, 2), (2, 2), (1, 3))
    ] == [True, False, False]


@pytest.mark.parametrize("name", COMPRESSED)
def test_hypotheses_about_compressors_run_or_say_how_cases_are_made_so(name):
    for hypothesis in claims()[name].assumes:
        assert (hypothesis.condition is None) == bool(hypothesis.ensured), hypothesis.name


@pytest.mark.kernels
@pytest.mark.parametrize("name", ["sparsifiers.randk.variance", "quantizers.qsgd.level", "lowrank.lowrank.idempotence"])
def test_what_is_not_measured_has_a_reason_and_what_is_left_out_a_hypothesis(name):
    finding = confront(name, drawn=False)
    assert finding.as_stated
    assert set(finding.left_out) <= {hypothesis.name for hypothesis in claims()[name].assumes}
    assert set(finding.unmeasured) <= {"its law cannot be read off the kernel: draws are tested"}


def test_the_subject_of_a_study_is_in_one_registry():
    for name, study in STUDIES.items():
        assert study.claim == name
        assert sum(study.subject in registry for registry in (COLLECTIVES, COMPRESSORS, MECHANISMS)) == 1, name
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
