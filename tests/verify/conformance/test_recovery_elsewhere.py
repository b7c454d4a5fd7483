"""Recovery of a memory in a process of its own, which holds one memory at a time."""

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


def test_a_memory_that_a_zero_breaks_is_found_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "sticky_memory.py"
    path.write_text(STICKY, encoding="utf-8")
    (subject,) = cf.loaded(f"{path}:subject")
    for judged in (subject, cf.isolated(subject)):
        finding = cf.check(judged, only=["RecoversAfterZero"])["RecoversAfterZero"]
        assert finding.verdict == "fail"
        assert "all outputs are zero" in finding.message
