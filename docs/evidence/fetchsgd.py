"""What the sketched server step of CommEfficient keeps, with csvec's sketch: counters of the update are set to zero.

sketched.fetchsgd.zeroing
"""

import ast
import sys
from types import SimpleNamespace

import torch
from checkout import checkout

folder = checkout("kiddyboots216/CommEfficient", "833ca44cc43a9b034515f55485524e4f1d0fad21", 1, 2)
sys.path.insert(0, str(checkout("nikitaivkin/csh", "8e0198697b60bc6a7e6c48725f1ab34cc3b251e8", 2, 2)))
from csvec import csvec

text = (folder / "CommEfficient/fed_aggregator.py").read_text()
step = next(node for node in ast.parse(text).body if getattr(node, "name", None) == "_server_helper_sketched")
sketches = []


def args2sketch(args):
    """The sketch of two entries: in the first row they have counters of their own, in the second they share one."""
    made = csvec.CSVec(d=2, c=2, r=2, device="cpu")
    made.buckets, made.signs = torch.tensor([[0, 1], [0, 0]]), torch.ones(2, 2)
    return made


names = {"torch": torch, "args2sketch": args2sketch}
exec(compile(ast.Module([step], []), "fed_aggregator.py", "exec"), names)
args = SimpleNamespace(virtual_momentum=0, local_momentum=0, error_type="virtual", k=1)
gradient, error, velocity = args2sketch(args), torch.zeros(2, 2), torch.zeros(2, 2)
gradient.accumulateVec(torch.ones(2))
sent, total = args2sketch(args), torch.zeros(2, 2)
for number in range(1, 4):
    total += gradient.table
    update, velocity, error = names["_server_helper_sketched"](gradient.table + 0, velocity, error, args, 1)
    sent.accumulateVec(update)
    lost = total - sent.table - error
    print(f"round {number}, gradient (1, 1): update {update.tolist()}, lost of the counters {lost.tolist()}")
