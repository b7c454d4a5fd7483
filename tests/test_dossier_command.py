import json
import re

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.columns import columns
from commbounds.figures.dossier import as_facts, as_html, as_latex, dossier
from commbounds.theory import Standing, claims
from commbounds.theory.planning import Cluster, plan


def run(*arguments):
    return CliRunner().invoke(main, ["dossier", *arguments])


@pytest.mark.parametrize("column", columns())
def test_a_column_has_all_of_its_claims(column):
    found = dossier(column)
    names = [name for name in claims() if name.startswith(f"{column}.")]
    assert [claim.name for claim in found.claims] == names
    page = as_html(found)
    for claim in found.claims:
        assert page.count(f'id="{claim.name}"') == 1
        assert (claim in found.failing) == (claim.stands is not Standing.HOLDS)
    assert not re.search(r"""(src|href)=["'](?!https://github.com/)""", page)


@pytest.mark.parametrize("name", ["oktopk", "arctopk", "moshpit", "dropcompute", "packetloss", "flashcomm"])
def test_latex_has_a_row_a_claim_and_is_balanced(name):
    found = dossier(name)
    text = as_latex(found)
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert code.count(r"\addlinespace") == len(found.claims)
    assert code.count(r"\begin{longtable}") == code.count(r"\end{longtable}") == 1 + bool(found.failing)
    plain = re.sub(r"\\[{}\\]", "", code)
    assert plain.count("{") == plain.count("}")
    assert re.sub(r"\\\$", "", code).count("$") == 2 * len(found.claims)


def test_a_subject_is_a_part_of_its_column():
    facts = as_facts(dossier("quantizers.qsgd"))
    assert {claim["name"].split(".")[1] for claim in facts["claims"]} == {"qsgd"}
    unbiased = next(claim for claim in facts["claims"] if claim["name"] == "quantizers.qsgd.unbiased")
    assert unbiased["stands"] == "holds"
    assert unbiased["proof"] == "proved"
    assert unbiased["assumes"] == {"norm_fits": claims()["quantizers.qsgd.unbiased"].assumes[0].statement}
    assert any("alistarh" in entry for entry in facts["bibtex"])
    assert json.loads(run("quantizers.qsgd", "--format", "json").output) == facts


def test_any_selection_is_printed_once_in_the_order_of_the_book():
    found = dossier("oktopk", "sparsifiers.randk.unbiased", "*.contraction", "sparsifiers.topk")
    names = [claim.name for claim in found.claims]
    assert names == [name for name in claims() if name in set(names)]
    assert {"oktopk.sent.any_split", "sparsifiers.randk.unbiased", "sparsifiers.topk.support"} <= {*names}
    assert "lowrank.powersgd.contraction" in names
    assert [column.name for column in found.whole] == ["oktopk"]
    page = as_html(found)
    assert page.count('<section class="claim') == len(names)
    assert page.count("<h2>In short</h2>") == 1
    assert "commbounds verify 'oktopk.*' 'sparsifiers.randk.unbiased' '*.contraction' 'sparsifiers.topk.*'" in page


def test_costs_are_those_of_plans():
    methods = {row.method for row in dossier("dense").methods()}
    assert methods == {"ring", "recursive_doubling", "rabenseifner"}
    assert [row.method for row in dossier("lowrank.powersgd").methods()] == ["powersgd"]
    for row in plan(Cluster(ranks=64, shapes=((5000, 5000),))).ranked:
        for subject in {".".join(name.split(".")[:2]) for name in row.claims}:
            assert {claim.name for claim in dossier(subject).claims} & set(row.claims), row.method
    assert "6 k" in as_html(dossier("oktopk")) or "6k" in as_html(dossier("oktopk"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nosuch", "no claim matches 'nosuch.*'"),
        ("oktopk.nosuch", "no claim matches 'oktopk.nosuch.*'"),
        ("oktopk.sent.nosuch", "no claim matches 'oktopk.sent.nosuch'"),
        ("", "no claim matches"),
    ],
)
def test_names_that_are_none_are_refused(name, message):
    result = run(name)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "moshpit.html"
    assert run("moshpit", "--out", str(path)).exit_code == 0
    assert path.read_text(encoding="utf-8") == as_html(dossier("moshpit"))
    assert [p.name for p in tmp_path.iterdir()] == ["moshpit.html"]
