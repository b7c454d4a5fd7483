"""The guide ``docs/tolerance.md``: its commands print what it shows, and its tables are what was counted."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import parallel_runs as runs
import pytest
import tolerance_power as power
from click.testing import CliRunner
from coded_allreduces import allreduce

from commbounds._orders import replayed, schedule_order
from commbounds.cli import main
from commbounds.testing import assert_allreduce_close, assert_replayed, reveal

GUIDE = (Path(__file__).parents[1] / "docs" / "tolerance.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```console\n\$ commbounds ([^\n]*)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
QUESTIONS = (
    "NVIDIA/nccl-tests/issues/176",
    "NVIDIA/nccl-tests/issues/118",
    "NVIDIA/nccl/issues/1026",
    "NVIDIA/Megatron-LM/issues/6199",
    "NVIDIA/Megatron-LM/issues/502",
    "pytorch/pytorch/issues/106395",
    "pytorch/pytorch/pull/125190",
    "vllm-project/vllm/issues/45332",
    "vllm-project/vllm/pull/19094",
    "vllm-project/vllm/pull/16804",
    "flashinfer-ai/flashinfer/pull/3759",
    "thinking-machines-lab/tinker-cookbook/pull/711",
    "ROCm/rocm-libraries/pull/11003",
    "meta-pytorch/torchft/pull/207",
)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_commands_print_what_is_shown(command, shown):
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == (3 if "The bound says nothing" in shown else 0)
    assert result.output.split("\nx = ")[0].rstrip("\n") + "\n" == shown


def test_the_program_prints_what_is_shown():
    ((program, shown),) = re.findall(r"^```console\n\$ python (\S+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, root / program], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == shown


def _coded(inputs, **how):
    return allreduce(
        inputs,
        how.get("schedule", "two_step").replace("-", "_"),
        np.float16,
        np.random.default_rng(0),
        *(how["codes"], how.get("bits", 8), how["group"], how["scale"], False),
    )


def test_lines_about_codes_run_and_refuse_a_lost_rank():
    blocks = re.findall(r"^```python runnable\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    inputs = np.random.default_rng(1).standard_normal((4, 512)).astype(np.float16)
    codes = {"codes": "signed", "bits": 4, "group": 32, "scale": "float16"}
    fp8 = {"codes": "float8_e4m3fn", "scale": "float32"}

    def interleaved(x):
        paired = x.reshape(len(x), -1, 32, 2).swapaxes(2, 3).reshape(len(x), -1)
        return _coded(paired, **codes).reshape(-1, 2, 32).swapaxes(1, 2).reshape(-1)

    reductions = (
        lambda x: _coded(x, **codes),
        interleaved,
        lambda x: _coded(x, group=256, **fp8),
        lambda x: _coded(x, group=512, **fp8),
    )
    names = {"inputs": inputs}
    for block, reduce in zip(blocks, reductions, strict=True):
        exec(block, names := names | {"result": reduce(inputs)})
        with pytest.raises(AssertionError, match="beyond what codes"):
            exec(block, names | {"result": reduce(np.where(np.arange(4)[:, None] == 1, 0, inputs))})


def test_every_public_question_has_a_section_with_a_command():
    (questions,) = re.findall(r"^## Public questions$(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL)
    sections = questions.split("\n### ")[1:]
    assert len(sections) == len(QUESTIONS)
    for section, question in zip(sections, QUESTIONS, strict=True):
        assert f"(https://github.com/{question})" in section
        assert "$ commbounds tolerance " in section


def test_the_message_is_what_is_said():
    (shown,) = re.findall(r"^```text\n(.*?)\n```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert shown == power.refused(power.BUGS["one chunk of one rank added twice"](np.random.default_rng(4), 1e-3))


def counts(name):
    """Of a row of the tables: for every test how often it refused, with entries of size 1 and of size 1/1000."""
    (row,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", GUIDE, re.MULTILINE)
    return dict(zip(power.TESTS, ([int(k) for k in cell.split(" / ")] for cell in row.split(" | ")), strict=True))


def test_ours_refuses_every_bug_and_nothing_right():
    assert len(power.BUGS) > 20
    assert {name: counts(name)["ours"] for name in power.BUGS} == {name: [power.RUNS] * 2 for name in power.BUGS}
    assert {name: counts(name)["ours"] for name in power.RIGHT} == {name: [0, 0] for name in power.RIGHT}
    for customary in ("1e-2", "1e-3", "torch's"):
        assert min(min(counts(name)[customary]) for name in power.BUGS) == 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if "1024" in name else pytest.mark.wide)
        for name in [*power.BUGS, *power.RIGHT]
    ],
)
def test_the_tables_are_what_is_counted(name):
    assert power.noticed({**power.BUGS, **power.RIGHT}[name]) == counts(name)


def _split_lines_run(lines):
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((3, 64), (64, 4)))
    partials, residual = rng.standard_normal((4, 2, 32)).astype(np.float32), np.ones((2, 32), np.float32)
    logits, targets = rng.standard_normal((5, 64)).astype(np.float32), np.arange(5)
    gradients, tokens = rng.standard_normal((4, 2, 9)).astype(np.float32), rng.integers(1, 9, (4, 2))
    gradient, before = runs.gradient(gradients, tokens, ml_dtypes.bfloat16, 2), np.ones(9, np.float32)
    parts = [part.astype(ml_dtypes.bfloat16) for part in runs.parts_of(a, b, 8)]
    names = {
        "a": a,
        "b": b,
        "whole": runs.parts_of(a, b, 1)[0],
        "split": runs.added(parts, np.float32).astype(ml_dtypes.bfloat16),
        "logits": logits,
        "targets": targets,
        "losses": runs.losses(logits, targets, 8),
        "partials": partials,
        "residual": residual,
        "weight": np.ones(32, np.float32),
        "hidden": runs.normed(runs.added(list(partials), np.float32) + residual, np.ones(32), 1e-5, np.float32),
        "gradients": gradients,
        "tokens": tokens,
        "gradient": gradient,
        "before": before,
        "parameters": runs.adam(
            before, gradient.astype(np.float32), 1e-3, (0.9, 0.999), 1e-8, 0, 0 * before, 0 * before, 1
        ),
    }
    exec(lines, names)


def test_its_code_runs():
    first, code, along, codes, split = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    inputs = list(np.arange(12.0, dtype=np.float32).reshape(4, 3))
    names = {"inputs": inputs, "result": sum(inputs), "results": [sum(inputs) / np.float32(4)] * 4}
    exec(code, names | {"allreduce": lambda x: replayed(x, schedule_order("ring", *x.shape))})
    first, wider = first.rsplit("assert_replayed", 1)
    gradients = np.random.default_rng(0).standard_normal((5, 40)).astype(ml_dtypes.bfloat16)
    exec(first, {"P": 5, "n": 40, "allreduce": lambda x: x.cumsum(axis=0)[-1], "gradients": gradients})

    def promised(x):
        return replayed(x, schedule_order("ring", 5, 40, "bfloat16", accumulate="float32", per_hop=False))

    def ring(x):
        return replayed(x, schedule_order("ring", 5, 40, "bfloat16"))

    found = reveal(ring, 5, 40, "bfloat16")
    names = {"assert_allreduce_close": assert_allreduce_close, "inputs": gradients, "found": found}
    exec(along, {**names, "result": ring(gradients)})
    for line, schedule in zip(codes.splitlines()[2:], ("two_step", "one_shot", "ring"), strict=True):
        how = re.findall(r'(?:bits|group|codes|scale)=("?)([\w]+)\1', line)
        values = dict(zip(re.findall(r"(bits|group|codes|scale)=", line), (value for _, value in how), strict=True))
        group = None if values["group"] == "None" else int(values["group"])
        how = (values["codes"], int(values.get("bits", 8)), group, values["scale"], False)
        result = allreduce(gradients, schedule, np.float32, np.random.default_rng(0), *how)
        exec("from commbounds.testing import assert_quantised_close\n" + line, {"inputs": gradients, "result": result})
    _split_lines_run(split)
    names = {"assert_replayed": assert_replayed, "allreduce": promised, "gradients": gradients}
    exec("assert_replayed" + wider, names)
