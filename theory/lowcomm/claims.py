"""Low-communication training: the claims."""

from __future__ import annotations

from commbounds.theory.lowcomm.kept import KEPT_CLAIMS
from commbounds.theory.lowcomm.local import LOCAL_CLAIMS
from commbounds.theory.lowcomm.lowbit import LOWBIT_CLAIMS
from commbounds.theory.lowcomm.merging import MERGING_CLAIMS
from commbounds.theory.lowcomm.outer import OUTER_CLAIMS
from commbounds.theory.lowcomm.sparse import SPARSE_CLAIMS

CLAIMS = (*OUTER_CLAIMS, *LOCAL_CLAIMS, *MERGING_CLAIMS, *SPARSE_CLAIMS, *LOWBIT_CLAIMS, *KEPT_CLAIMS)
