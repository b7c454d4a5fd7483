"""The scales of MX formats in FlyDSL's references, and what becomes of a block's largest entry.

blockformats.microscaling.maximum_of_nearest_scale

The file imports triton, which this needs not: the function and the dtypes that it names are run alone.
"""

import ast

import torch
from checkout import checkout

folder = checkout("ROCm/FlyDSL", "11c4174d82b7491c2d08d5828a254183f2a8b959")
file = folder / "tests" / "kernels" / "utils" / "gemm_common_utils.py"
wanted = {"_8bit_fallback", "fp8_e8m0", "fp32", "f32_to_e8m0", "e8m0_to_f32"}


def name(node):
    """What a line of the module defines."""
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else getattr(node, "name", "")


chosen = [node for node in ast.parse(file.read_text()).body if name(node) in wanted]
module = {"torch": torch}
exec(compile(ast.Module(chosen, []), str(file), "exec"), module)

maxima = 1 + torch.arange(2**16, dtype=torch.float32) / 2**16  # of a whole binade
for words, largest in (("E2M1", 6.0), ("E2M3", 7.5), ("E4M3", 448.0)):
    scale = module["e8m0_to_f32"](module["f32_to_e8m0"](maxima / largest))
    floor = 2.0 ** -torch.tensor(largest).log2().floor()
    low, lost = (scale < floor).double().mean(), (1 - largest * scale / maxima).clamp(min=0)
    kept = (1 - largest * floor / maxima).clamp(min=0).max()
    print(
        f"{words}: of {len(maxima)} maxima {100 * low:.1f} % have a scale one step below the specification's; "
        f"the largest entry is clipped by up to {lost.max():.4f}, with the specification's by up to {kept:.4f}"
    )
