import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from commbounds.cli import main
from commbounds.theory import tolerance


def run(*arguments):
    return CliRunner().invoke(main, ["tolerance", *arguments])


def test_json_is_what_the_function_gives():
    printed = json.loads(run("--P", "1024", "--n", "1000", "--schedule", "tree", "--json").output)
    found = tolerance(P=1024, n=1000, schedule="tree")
    assert printed["relative_to_sum_abs"] == found.relative_to_sum_abs
    assert printed["relative_to_sum_abs"].keys() == {"sure", "probable", "probability", "entries"}
    assert printed["relative_to_sum_abs"]["sure"] >= found.sure
    assert printed["relative_to_sum_abs"]["entries"] == 1000
    assert printed["lines"] == found.lines
    assert printed["reason"] == list(found.reason)
    assert printed["largest"] <= found.largest
    codes = json.loads(run("--P", "4", "--bits", "4", "--schedule", "two_step", "--json").output)
    assert codes["relative_to_sum_abs"]["sure"] is None
    assert codes["sure"] >= 1 / 15
    assert codes["lines"] == {}


def test_text_says_what_and_why():
    text = run("reduce_scatter", "--P", "48", "--average", "after", "--dtype", "float16").output
    assert text.startswith("reduce-scatter of 48 ranks (mean), ring, float16\n")
    assert "47 additions, each rounded to float16 (u = 2^-11); divided by P." in text
    assert "x.sum(0) / 48" in text
    assert "Rests on " in text


def test_a_bound_that_says_nothing_gives_no_lines_and_ends_with_three():
    done = run("--P", "1024", "--dtype", "bf16")
    assert done.exit_code == 3
    assert "The bound says nothing" in done.output
    assert "assert_close" not in done.output
    assert json.loads(run("--P", "1024", "--dtype", "bfloat16", "--average", "before", "--json").output)["lines"] == {}
    assert run("--P", "128", "--dtype", "bfloat16").exit_code == 0


def test_other_spellings_are_understood():
    for one, other in (
        ("recursive-doubling", "recursive_doubling"),
        ("binomial", "tree"),
        ("nccl-tree", "double_binary_tree"),
        ("nccl", "any"),
    ):
        assert run("--P", "8", "--schedule", one).output == run("--P", "8", "--schedule", other).output
    for one, other in (("bf16", "bfloat16"), ("fp8", "float8_e4m3fn"), ("half", "float16")):
        assert run("--P", "8", "--dtype", one).output == run("--P", "8", "--dtype", other).output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("prod", "--P", "2"), "bounds are derived for sums alone"),
        (("--P", "0"), "P must be at least 1"),
        (("--P", "2", "--schedule", "spiral"), "schedule must be one of"),
        (("--P", "2", "--dtype", "int8"), "must be one of float64"),
        (("--P", "2", "--dtype", "float32", "--accumulate", "bfloat16"), "accumulate must hold"),
        (("--P", "64", "--schedule", "hierarchical"), "nodes of the hierarchical schedule must divide P = 64"),
        (("--P", "64", "--schedule", "hierarchical", "--nodes", "5"), "nodes of the hierarchical schedule must divide"),
        (("--P", "64", "--nodes", "8"), "nodes are of hierarchical, double_binary_tree, collnet"),
        (("--P", "64", "--schedule", "collnet"), "nodes of the collnet schedule must divide P = 64"),
        (("--P", "2", "--subnormals", "lost"), "subnormals must be kept or flushed"),
        (("--P", "2", "--average", "per_hop"), "average must be None"),
        (("--P", "100", "--average", "any", "--dtype", "float8_e4m3fn"), "below the normal range"),
        (("--P", "2", "--group", "32"), "asks for bits"),
        (("--P", "2", "--schedule", "two_step"), "asks for bits"),
        (("--P", "2", "--bits", "17", "--schedule", "two_step"), "bits must be in"),
        (("--P", "2", "--bits", "4", "--schedule", "two_step", "--average", "after"), "only sums are derived"),
        (("--P", "2", "--rounding", "up"), "rounding must be one of"),
        (("--P", "2", "--probability", "0"), "probability must be between"),
        (("--P", "70000", "--dtype", "float8_e4m3fn", "--accumulate", "bfloat16"), "no bound is derived for 69999"),
    ],
)
def test_what_is_not_derived_is_refused_in_a_sentence(arguments, says):
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_computations_that_are_split_have_bounds_and_a_line():
    for op in ("matmul", "linear", "cross-entropy", "cross_entropy", "norm", "accumulate", "adam"):
        done = run(op, "--P", "8", "--terms", "512")
        assert done.exit_code == 0
        assert "surely" in done.output
        assert "assert_parallel_close(None, result, " in done.output
        data = json.loads(run(op, "--P", "8", "--terms", "512", "--json").output)
        assert (data["op"], data["P"], data["terms"]) == (op.replace("_", "-"), 8, 512)
        assert data["lines"]["commbounds"] in done.output
    assert run("adam", "--P", "1024", "--terms", "8", "--dtype", "bf16").exit_code == 3
    exact, rounded = (
        json.loads(run("matmul", "--P", "1", "--terms", "64", "--inputs", inputs, "--json").output)["relative"]
        for inputs in ("bf16", "float32")
    )
    assert exact == pytest.approx(63 / (2**24 + 1), rel=4 * 2.0**-53)
    assert exact < rounded


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("matmul", "--P", "2"), "terms must be given: the inner dimension"),
        (("matmul", "--P", "2", "--terms", "4", "--bits", "4"), "--bits: not for this operation"),
        (("allreduce", "--P", "2", "--terms", "4"), "--terms: not for this operation"),
        (("accumulate", "--P", "4", "--terms", "2", "--replicas", "3"), "replicas must divide P = 4"),
        (("norm", "--P", "4", "--terms", "8", "--additions", "8"), "additions must be in"),
    ],
)
def test_what_does_not_fit_a_split_computation_is_refused(arguments, says):
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.output


@pytest.mark.parametrize("op", ["allreduce", "matmul"])
def test_it_loads_neither_kernels_nor_arrays(op):
    code = (
        "import sys\nfrom commbounds.cli import main\ntry:\n    main(ARGUMENTS)\nexcept SystemExit:\n"
        "    print(*sorted({'numba', 'numpy', 'rich', 'commbounds.verify.engine'} & set(sys.modules)), file=sys.stderr)"
    )
    more = ["--terms", "64"] if op == "matmul" else []
    code = code.replace("ARGUMENTS", repr(["tolerance", op, "--P", "8", *more]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert "surely" in done.stdout
    assert done.stderr.strip() == ""


def test_devices_that_truncate_or_flush_are_allowed_more():
    def bounds(*arguments):
        found = json.loads(run("--P", "8", "--json", *arguments).output)
        return found["sure"], found["absolute"]

    nearest, truncated = bounds(), bounds("--rounding", "either-neighbour")
    assert 1.9 < truncated[0] / nearest[0] < 2.1
    # what is flushed is rounded on, by no more than the sum; the product is of two roundings
    flushed = 32 * 2.0**-126 * (1 + nearest[0])
    assert bounds("--subnormals", "flushed") == (nearest[0], pytest.approx(flushed, rel=4 * 2.0**-53))
    assert bounds("--dtype", "bf16", "--accumulate", "fp32", "--once") < bounds("--dtype", "bf16", "--per-hop")
