"""The ternary value is a mean over all entries, those included that were set to zero."""

import sys

import numpy as np
from openfl.pipelines import STCPipeline

x = np.arange(1, 21, dtype=np.float32)
pipeline = STCPipeline(p_sparsity=0.1)
found = pipeline.backward(*pipeline.forward(x.copy()))
print(f"of 1 to 20 the two largest are kept, 19 and 20; their mean is 19.5, what comes back is {found.max():g}")
sys.exit(abs(float(found.max()) - 19.5) > 1e-3)
