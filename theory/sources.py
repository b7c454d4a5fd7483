"""The works that claims come from, and how what they say is known.

For the columns that say so (`Column.recalled`) no text was read: attributions are from memory. What the book relies on
is the proof that each claim carries beside the attribution.
"""

from dataclasses import dataclass

from commbounds.theory.claim import COMMON_USAGE, Code, Source, Tag


@dataclass(frozen=True)
class Work:
    """A work, by its authors, year and title; `text` says which text of it was seen, and how much."""

    reference: str
    text: str = ""

    def _source(self, tag: Tag, place: str, proof: str, reading: str, code: Code | None = None) -> Source:
        return Source(self.reference, place, tag, proof, reading, code, self.text)

    def recalled(self, place: str, proof: str = "", reading: str = "") -> Source:
        """Source of a statement recalled from this work, with our own proof where we have one."""
        return self._source(Tag.RECALLED, place, proof, reading)

    def second_hand(self, place: str, proof: str = "", reading: str = "") -> Source:
        """Source of a statement that somebody else reports of this work; `place` says where it was read."""
        return self._source(Tag.SECOND_HAND, place, proof, reading)

    def transcribed(self, place: str, proof: str = "", reading: str = "") -> Source:
        """Source of a statement read, at `place`, in a copy of the work that others made; `text` says which."""
        return self._source(Tag.TRANSCRIPTION, place, proof, reading)

    def official_code(self, place: str, proof: str = "", reading: str = "", code: Code | None = None) -> Source:
        """Source of something read in the code that the authors published; `place` says what, `code` where."""
        return self._source(Tag.OFFICIAL_CODE, place, proof, reading, code)

    def read(self, place: str, proof: str = "", reading: str = "") -> Source:
        """Source of a statement read in the work itself, at `place`."""
        return self._source(Tag.READ, place, proof, reading)


def derived(proof: str, place: str = "derived here", code: Code | None = None) -> Source:
    """Source of a statement that was derived for this book; `code` is where that was read which it is about."""
    return Source("commbounds", place, Tag.DERIVED, proof, code=code)


@dataclass(frozen=True)
class Repository:
    """A public repository at the commit that was read."""

    name: str
    commit: str

    def at(self, path: str, lines: str = "", default: bool | str = True, upstream: str = "") -> Code:
        """These lines of a file, in this version."""
        return Code(self.name, self.commit, path, lines, default, upstream)


STICH_2018 = Work(
    "S. U. Stich, J.-B. Cordonnier, M. Jaggi, 2018, Sparsified SGD with memory, arXiv:1809.07599",
    "Of the version of NeurIPS 2018 the main text was read, in a transcription by others; appendix A, with the "
    "proofs, is not in it.",
)
ALISTARH_2018 = Work(
    "D. Alistarh, T. Hoefler, M. Johansson, S. Khirirat, N. Konstantinov, C. Renggli, 2018, The convergence of "
    "sparsified gradient methods, arXiv:1809.10505"
)
ALISTARH_2017 = Work(
    "D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic, 2017, QSGD: communication-efficient SGD via gradient "
    "quantization and encoding, arXiv:1610.02132",
    "Of the version of NeurIPS 2017 the main text was read, in two transcriptions by different people that agree.",
)
BERNSTEIN_2018 = Work(
    "J. Bernstein, Y.-X. Wang, K. Azizzadenesheli, A. Anandkumar, 2018, signSGD: compressed optimisation for "
    "non-convex problems, arXiv:1802.04434",
    "Of the version of ICML 2018 the main text was read, in two transcriptions by others; the supplement, with the "
    "proofs, is in neither.",
)
KARIMIREDDY_2019 = Work(
    "S. P. Karimireddy, Q. Rebjock, S. U. Stich, M. Jaggi, 2019, Error feedback fixes SignSGD and other gradient "
    "compression schemes, arXiv:1901.09847",
    "The abstract was read; of the rest, definitions, lemmas and theorems as public notes restate them.",
)
WEN_2017 = Work(
    "W. Wen, C. Xu, F. Yan, C. Wu, Y. Wang, Y. Chen, H. Li, 2017, TernGrad: ternary gradients to reduce "
    "communication in distributed deep learning, arXiv:1705.07878",
    "Assumptions, Theorem 1 and the clipping, as public notes restate them.",
)
HORVATH_2019 = Work(
    "S. Horváth, C.-Y. Ho, Ľ. Horváth, A. N. Sahu, M. Canini, P. Richtárik, 2019, Natural compression for "
    "distributed deep learning, arXiv:1905.10988",
    "Of the version of MSML 2022 (PMLR 145) the main text was read, in a transcription by others that shortens its "
    "prose and keeps its formulas.",
)
BEZNOSIKOV_2020 = Work(
    "A. Beznosikov, S. Horváth, P. Richtárik, M. Safaryan, 2020, On biased compression for distributed learning, "
    "arXiv:2002.12410"
)
VOGELS_2019 = Work(
    "T. Vogels, S. P. Karimireddy, M. Jaggi, 2019, PowerSGD: practical low-rank gradient compression for "
    "distributed optimization, arXiv:1905.13727"
)
STROM_2015 = Work("N. Strom, 2015, Scalable distributed DNN training using commodity GPU cloud computing")
ECKART_1936 = Work(
    "C. Eckart, G. Young, 1936, The approximation of one matrix by another of lower rank, doi:10.1007/BF02288367"
)
LI_HOEFLER_2022 = Work(
    "S. Li, T. Hoefler, 2022, Near-optimal sparse allreduce for distributed deep learning, arXiv:2201.07598",
    "Equations 1 to 5 and Theorem 3.1, from an unsigned public summary, and algorithm 1 from a re-implementation; "
    "the abstract was read.",
)
FOLKLORE = Work(COMMON_USAGE)
