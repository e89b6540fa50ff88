"""Check whether members are easier than non-members for models that were trained on neither."""

import numpy as np

from ...metrics import auc_interval
from ..groups import get_people
from ..measure import FEWEST
from .base import NOT_RUN, PASSED, WARNING, BaseCheck

# A stricter level than the baseline's, because both check the same thing and either can warn.
_LEVEL = 0.99


def measure_difficulty(pool, records, membership):
    """AUC of the performance of shadow models on records that they were not trained on.

    The training set of a shadow model does not depend on who is a member. If members and
    non-members are not equally hard for it, for example because one side was labeled with less
    care, they come from different populations, in a way that a model like the victim can see.

    Parameters
    ----------
    pool : ShadowPool or None
    records : Records of n records
        Records of the pool.
    membership : ndarray of shape (n,), dtype bool

    Returns
    -------
    interval : Interval or None
        Two-sided 99% interval; None if too few records were left out by some model.
    """
    if pool is None:
        return None
    total, count = np.zeros(len(records)), np.zeros(len(records))
    for rows, values, inside, _ in pool.blocks(records, 1 << 16, pool.stored_[0]):
        total[rows] = np.where(inside, 0, values[0]).sum(axis=0, dtype=np.float64)
        count[rows] = (~inside).sum(axis=0)
    known = count > 0
    sides = membership[known]
    if min(sides.sum(), (~sides).sum()) < FEWEST:
        return None
    people = get_people(records, membership)
    people = None if people is None else people[known]
    scores = total[known] / count[known]
    return auc_interval(sides, scores, groups=people, confidence_level=_LEVEL)


class DifficultyCheck(BaseCheck):
    """Whether members are easier than non-members for models that were trained on neither."""

    name = "difficulty"
    part = "baseline"

    def ask(self, case, run, findings):
        interval = measure_difficulty(run.pool, case.records, case.membership)
        if interval is None:
            return self.answer(NOT_RUN, "No shadow models.")
        numbers = (
            f"(AUC {interval.estimate:.3f}, 99% interval [{interval.low:.3f}, {interval.high:.3f}])"
        )
        if interval.low <= 0.5 <= interval.high:
            text = (
                "Shadow models perform equally well on members and on non-members that they were "
                f"not trained on {numbers}."
            )
            return self.answer(PASSED, text, interval)
        which = "better" if interval.low > 0.5 else "worse"
        text = (
            f"Shadow models perform {which} on members than on non-members though they were "
            f"trained on neither {numbers}: members and non-members differ, and the attacks may "
            "find this difference."
        )
        return self.answer(WARNING, text, interval)
