"""The conformance kit: judges other people's compressors and collectives by what they claim."""

from commbounds.verify.conformance.book import book_bound
from commbounds.verify.conformance.case import CheckCase
from commbounds.verify.conformance.check import check, recheck
from commbounds.verify.conformance.claims.collective import Averages, Conserves, RanksAgree, Sums
from commbounds.verify.conformance.claims.error import (
    AbsoluteError,
    Bounded,
    Contraction,
    Monotone,
    Propagates,
    RelativeError,
)
from commbounds.verify.conformance.claims.expected import Unbiased, Variance
from commbounds.verify.conformance.claims.form import Bits, Codebook, Support
from commbounds.verify.conformance.claims.independent import Independent
from commbounds.verify.conformance.claims.law import SameLaw
from commbounds.verify.conformance.claims.recovery import RecoversAfterZero
from commbounds.verify.conformance.claims.reference import Matches
from commbounds.verify.conformance.claims.stateful import MemoryBounded, Telescopes
from commbounds.verify.conformance.claims.symmetry import ExactOn, Idempotent, ScaleEquivariant, SignSymmetric
from commbounds.verify.conformance.claims.words import WordsAtMost
from commbounds.verify.conformance.ddp import torch_ddp_hook
from commbounds.verify.conformance.executable import executable, isolated
from commbounds.verify.conformance.launched import launched
from commbounds.verify.conformance.likeness import like, takes
from commbounds.verify.conformance.loading import loaded
from commbounds.verify.conformance.mpi import mpi_allreduce
from commbounds.verify.conformance.promise import conforms
from commbounds.verify.conformance.rank_program import rank_program
from commbounds.verify.conformance.report import (
    CheckFinding,
    CheckVerdict,
    Report,
    report_from_json,
    reports_from,
    schema,
)
from commbounds.verify.conformance.rounds import in_rounds
from commbounds.verify.conformance.subject import AllGather, AllReduce, AllReduceResult, Codec, ReduceScatter, Stateful
from commbounds.verify.conformance.tensors import on_arrays, on_torch
from commbounds.verify.conformance.word_law import WordLaw, word_law

__all__ = [
    "AbsoluteError",
    "AllGather",
    "AllReduce",
    "AllReduceResult",
    "Averages",
    "Bits",
    "Bounded",
    "CheckCase",
    "CheckFinding",
    "CheckVerdict",
    "Codebook",
    "Codec",
    "Conserves",
    "Contraction",
    "ExactOn",
    "Idempotent",
    "Independent",
    "Matches",
    "MemoryBounded",
    "Monotone",
    "Propagates",
    "RanksAgree",
    "RecoversAfterZero",
    "ReduceScatter",
    "RelativeError",
    "Report",
    "SameLaw",
    "ScaleEquivariant",
    "SignSymmetric",
    "Stateful",
    "Sums",
    "Support",
    "Telescopes",
    "Unbiased",
    "Variance",
    "WordLaw",
    "WordsAtMost",
    "book_bound",
    "check",
    "conforms",
    "executable",
    "in_rounds",
    "isolated",
    "launched",
    "like",
    "loaded",
    "mpi_allreduce",
    "on_arrays",
    "on_torch",
    "rank_program",
    "recheck",
    "report_from_json",
    "reports_from",
    "schema",
    "takes",
    "torch_ddp_hook",
    "word_law",
]
