"""Gossip and push-sum, all ranks at once, beside their rank programs."""

from commbounds import collectives
from commbounds.collectives.gossip.mixing import push_sum_on_rank
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.gossip.definitions import DEFINITIONS
from commbounds.verify.own_callers import call_of
from commbounds.verify.pairing import RankResult, on_definition, on_rows


def _pushed(given: Given) -> tuple[list[RankResult], Traffic]:
    (sums, held), traffic = collectives.push_sum(**call_of(DEFINITIONS["push_sum"], given))
    return [{"sum": own, "weight": weight} for own, weight in zip(sums, held, strict=True)], traffic


def _pushed_on_rank(comm: Communicator, given: Given) -> RankResult:
    settings = dict(call_of(DEFINITIONS["push_sum"], given))
    stack, weights = settings.pop("stack"), settings.pop("weights", None)
    own = {} if weights is None else {"weight": weights[comm.rank]}
    total, weight = push_sum_on_rank(comm, stack[comm.rank], **settings, **own)
    return {"sum": total, "weight": weight}


PAIRINGS = (
    on_definition("gossip", DEFINITIONS["gossip"]),
    on_rows("push_sum", DEFINITIONS["push_sum"].space, _pushed, _pushed_on_rank),
)
