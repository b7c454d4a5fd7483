"""Recovery of a memory in a process of its own, which holds one memory at a time."""

import pytest

from commbounds.verify import conformance as cf

STICKY = """
import numpy as np
from commbounds.verify import conformance as cf

def factory(seed):
    dead = []
    def step(x):
        dead.extend([] if x.any() else [True])
        return np.zeros_like(x) if dead else x.copy()
    return step

subject = cf.Stateful(factory, [cf.RecoversAfterZero()], shape=(3,), effort=0.05)
"""


@pytest.mark.parametrize(
    "placed", [lambda subject: subject, pytest.param(cf.isolated, marks=pytest.mark.wide)], ids=["here", "isolated"]
)
def test_a_memory_that_a_zero_breaks_is_found(tmp_path, placed):
    path = tmp_path / "sticky_memory.py"
    path.write_text(STICKY, encoding="utf-8")
    (subject,) = cf.loaded(f"{path}:subject")
    finding = cf.check(placed(subject), only=["RecoversAfterZero"])["RecoversAfterZero"]
    assert finding.verdict == "fail"
    assert "all outputs are zero" in finding.message
