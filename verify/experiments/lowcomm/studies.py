"""The claims of the column, bound to their implementations."""

from commbounds.verify.experiments.lowcomm.kept import KEPT_STUDIES
from commbounds.verify.experiments.lowcomm.local import LOCAL_STUDIES
from commbounds.verify.experiments.lowcomm.lowbit import LOWBIT_STUDIES
from commbounds.verify.experiments.lowcomm.merging import MERGING_STUDIES
from commbounds.verify.experiments.lowcomm.outer import OUTER_STUDIES
from commbounds.verify.experiments.lowcomm.sparse import SPARSE_STUDIES
from commbounds.verify.study import studies

EXPERIMENTS = studies(*OUTER_STUDIES, *LOCAL_STUDIES, *MERGING_STUDIES, *SPARSE_STUDIES, *LOWBIT_STUDIES, *KEPT_STUDIES)
