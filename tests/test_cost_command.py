import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.theory.schedules import IN_NODES, SCHEDULES


def run(*arguments):
    return CliRunner().invoke(main, ["cost", *arguments])


def test_every_schedule_is_shown_with_its_formula_and_its_value():
    result = run("-P", "8", "-n", "800", "--k", "80")
    assert result.exit_code == 0
    for name in SCHEDULES:
        assert re.search(rf"^{name}\b", result.output, re.MULTILINE)
    ring = next(line for line in result.output.splitlines() if line.startswith("ring "))
    assert "2*n*(P - 1)/P" in ring
    # 2 n (P - 1)/P = 2 * 800 * 7/8
    assert "1,400" in ring
    assert "lower bound, sparse: 2*k*(P - 1)/P = 140 words" in result.output
    assert "cheapest dense all-reduce by words: ring, rabenseifner, butterfly (1,400)" in result.output


def test_time_is_steps_words_and_additions_at_their_prices():
    output = run("rabenseifner", "--P", "4", "--n", "8", "--k", "1", "--alpha", "1", "--beta", "10", "--gamma", "100")
    # 4 steps, 12 words, 6 additions
    assert "724 s" in output.output


def test_other_numbers_of_ranks_are_valued_exactly_and_say_so():
    output = run("recursive_doubling", "ring", "--P", "6", "--n", "10", "--k", "1").output
    assert "recursive_doubling: valued as recursive doubling all-reduce; ranks beyond a power of two" in output
    # fold, two exchanges, unfold; and 2 * 5 * ceil(10/6)
    assert re.search(r"^recursive_doubling .* 4  +40 ", output, re.MULTILINE)
    assert re.search(r"^ring .* 10  +20 ", output, re.MULTILINE)


def test_a_schedule_that_does_not_fit_has_no_value_and_says_why():
    output = run("spardl_rsag", "--P", "9", "--teams", "3", "--n", "90", "--k", "9").output
    assert "spardl_rsag: no value, because it requires: d is a power of two that divides P" in output
    output = run("spardl_bsag", "--P", "9", "--teams", "2", "--n", "90", "--k", "9").output
    assert "spardl_bsag: no value, because it requires: d divides P" in output


def test_an_end_of_a_range_is_valued_as_if_its_conditions_held():
    output = run("oktopk", "--P", "12", "--n", "1000", "--k", "100").output
    # 6 * 100 * 11/12
    assert re.search(r"^oktopk .* 31  +550 ", output, re.MULTILINE)
    assert "oktopk: idealised, as if this held: P divides k" in output
    # 6 * 100 * 8/9
    assert re.search(
        r"^oktopk .* 25  +533.3 ", run("oktopk", "--P", "9", "--n", "1000", "--k", "100").output, re.MULTILINE
    )


def test_latex():
    output = run("ring", "oktopk", "--latex").output
    assert r"\frac{" in output
    assert r"\log_2 P" in output


def test_crossover_by_formula_and_by_value():
    output = run("--crossover", "oktopk", "rabenseifner", "--n", "900", "--k", "10").output
    assert "oktopk beats rabenseifner by words, over k (P = 16, n = 900): k < n/3, here k < 300" in output
    output = run("--crossover", "oktopk", "topk_allgather").output
    assert re.search(r"by words, over P .*: P > 3$", output, re.MULTILINE)
    output = run("--crossover", "topk_allgather", "gtopk").output
    # P - 1 < 2 log2 P
    assert re.search(r"by words, over P .*: 2 < P < 6.3197\d* \(numerically", output, re.MULTILINE)


def test_crossover_by_time_is_where_the_times_are_equal():
    output = run("--crossover", "oktopk", "rabenseifner", "--n", "1000000", "--k", "10000").output
    ranks = float(re.search(r"by time, over P .* P < ([\d.]+)$", output, re.MULTILINE).group(1))
    saved_words = (2_000_000 - 60_000) * (ranks - 1) / ranks
    # 2P + 2 log2 P - 1 steps against 2 log2 P; six digits are printed
    assert (2 * ranks - 1) * 1e-6 == pytest.approx(saved_words * 3.2e-10, rel=1e-5)


def test_nodes_cost_less_where_links_within_are_faster():
    flat = run(
        "hierarchical", "--nodes", "4", "--P", "16", "--n", "1600", "--alpha-intra", "1e-6", "--beta-intra", "3.2e-10"
    )
    fast = run("hierarchical", "--nodes", "4", "--P", "16", "--n", "1600")
    # 12 steps and 3000 words; of these 6 steps and 2400 words within nodes
    assert "12.96 us" in flat.output
    assert "7.44 us" in fast.output
    shown = run("--nodes", "4").output
    for name in IN_NODES:
        assert re.search(rf"^{name}\b", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--P", "0"), "P must be at least 1, got 0"),
        (("--n", "0"), "n must be at least 1, got 0"),
        (("--n", "10", "--k", "11"), "k must be in [1, n] = [1, 10], got 11"),
        (("--k", "0"), "k must be in [1, n] = [1, 1000000], got 0"),
        (("--teams", "0"), "teams must be at least 1, got 0"),
        (("--k", "5", "--kept", "6"), "kept must be in [1, k] = [1, 5], got 6"),
        (("--alpha", "-1e-6"), "alpha must be finite and not negative, got -1e-6"),
        (("--beta", "nan"), "beta must be finite and not negative, got nan"),
        (("--beta-intra", "fast"), "beta-intra must be a number of seconds, got 'fast'"),
        (("--nodes", "3"), "nodes must be at least 2 and divide P = 16, got 3"),
        (("--nodes", "1"), "nodes must be at least 2 and divide P = 16, got 1"),
        (("rign",), "no schedule is called 'rign'; did you mean ring"),
        (("zzz",), "no schedule is called 'zzz'; there are ring, "),
        (("oktopk", "--nodes", "2"), "no schedule in nodes is called 'oktopk'"),
        (("--crossover", "ring", "oktop"), "no schedule is called 'oktop'; did you mean oktopk"),
    ],
)
def test_bad_input_is_refused_with_rule_and_value(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_one_rank_costs_nothing():
    output = run("--P", "1", "--n", "10", "--k", "1").output
    for name in ("ring", "rabenseifner", "recursive_doubling", "topk_allgather", "gtopk", "spardl"):
        assert re.search(rf"^{name} .* 0 +0 +0 ns *$", output, re.MULTILINE), name


def test_the_documentation_shows_what_the_command_prints():
    page = (Path(__file__).parents[1] / "docs" / "cost-models.md").read_text()
    sessions = re.split(r"^    \$ commbounds cost", page, flags=re.MULTILINE)[1:]
    assert len(sessions) > 3
    for session in sessions:
        command, *lines = session.splitlines()
        printed = run(*shlex.split(command)).output.splitlines()
        shown = [line.removeprefix("    ") for line in lines[: len(printed)]]
        assert shown == [line.rstrip() for line in printed]
    assert (
        doctest.testfile(str(Path(__file__).parents[1] / "docs" / "cost-models.md"), module_relative=False).failed == 0
    )


def test_the_command_answers_soon():
    """It loads formulas alone: no arrays, kernels or figures, and no column's claims."""
    code = "import sys\nfrom commbounds.cli import main\nmain(['cost'], standalone_mode=False)\n"
    code += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stderr.split())
    assert "commbounds.theory.schedules" in loaded
    assert not loaded & {"numpy", "numba", "scipy", "matplotlib", "hypothesis", "jinja2"}
    assert not [name for name in loaded if re.fullmatch(r"commbounds\.theory\.\w+\.claims", name)]
