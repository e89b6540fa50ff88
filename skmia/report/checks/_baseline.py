"""Check without the victim whether members and non-members come from different populations."""

from numbers import Integral

import numpy as np

from ..._core.blind import MOST_RECORDS, score_blindly, score_words
from ..._core.metric_inputs import check_confidence_level
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.types import ArrayLike, Seed
from ..._core.validation import check_sides
from ...metrics import Interval, auc_interval
from .._measure import FEWEST, get_people
from .._words import format_auc
from ._base import (
    ALWAYS,
    DIFFERENCE,
    DIFFICULTY_ERROR,
    NOT_RUN,
    PASSED,
    WARNING,
    WITHOUT_FEATURES,
    BaseCheck,
)


def measure_difficulty(pool, records, membership):
    """Return the AUC of the performance of shadow models on records that they were not trained on.

    The training set of a shadow model does not depend on who is a member. If members and
    non-members are not equally hard for it, for example because one side was labeled with less
    care, they come from different populations, in a way that a model like the victim can see.

    Return interval: two-sided 99% interval; None if too few records were left out by some model.
    """
    if pool is None:
        return None
    total, count = records._make_column(), records._make_column()
    for rows, values, inside, _ in pool.blocks(records, 1 << 16, pool.stored_[0]):
        total[rows] = np.where(inside, 0, values[0]).sum(axis=0, dtype=np.float64)
        count[rows] = (~inside).sum(axis=0)
    known = count > 0
    known = slice(None) if known.all() else known  # of all records, nothing is copied
    sides = membership[known]
    if min(sides.sum(), (~sides).sum()) < FEWEST:
        return None
    people = get_people(records, membership)
    people = None if people is None else people[known]
    scores = total[known]
    scores /= count[known]
    return auc_interval(sides, scores, groups=people, confidence_level=1 - DIFFICULTY_ERROR)


class DifficultyCheck(BaseCheck):
    """Whether members are easier than non-members for models that were trained on neither."""

    name = "difficulty"
    part = "baseline"
    role = DIFFERENCE
    presence = ALWAYS
    passed = "Both sides are equally hard to predict"
    warned = "One side is easier to predict"
    difference = (
        "models that were trained on neither side predict one of them better than the other"
    )
    interval = ("difficulty", "models trained on neither side")

    def ask(self, case, run, findings):
        interval = measure_difficulty(run.pool, case.records, case.membership)
        if interval is None:
            return self.answer(NOT_RUN, "No shadow models.")
        numbers = (
            f"(AUC {interval.estimate:.3f}, {1 - DIFFICULTY_ERROR:.0%} interval "
            f"[{interval.low:.3f}, {interval.high:.3f}])"
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


def blind_baseline(
    records: Records,
    membership: ArrayLike,
    *,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> Interval | None:
    """Return the AUC of a model that sees the records but not the victim's outputs.

    The model learns membership from (x, y) on a random half of the records and is measured on the
    other half. Cross-validation would use all records, but its scores depend on each other, and the
    interval would be too narrow. If columns hold texts, a second model, a logistic regression,
    learns membership from their words. An interval above one half means that members and non-
    members come from different populations, and that attacks may have found this difference. An AUC
    of one half does not prove that they come from one population: the model, extremely randomized
    trees, may have missed the difference. An AUC below one half is not a problem: if the two sides
    were made similar on purpose, as by a split within classes, one half of the records has by
    design what the other half lacks, and the model ranks them in reverse.

    Parameters
    ----------
    records : Records of n records
        Records; their field ``outputs`` is not read. Equal records, and records with one value of
        ``group_by``, are in the same half, and the interval is by person if whole people are
        members. If there are more than 20,000 records, a random sample of this size is used. A
        column holds texts if its cells have at least three words on average.
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    confidence_level : float, default=0.95
        Confidence level of the interval, in (0, 1).
    n_jobs : int, default=None
        Number of trees trained in parallel. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the sample, the halves and the model. Pass an int for reproducible results.

    Returns
    -------
    interval : Interval or None
        ``(estimate, low, high)``, each in [0, 1]; None if one of the halves has no members or no
        non-members. With texts, of the two models the one whose interval has the higher lower end;
        each interval then has the level ``(1 + confidence_level) / 2``, so that the probability
        that one of them lies above one half by chance stays the same.

    Raises
    ------
    TypeError, ValueError
        If records or task labels are missing, membership does not hold 0 or 1 for each record and
        both of them, or a parameter is out of range.

    See Also
    --------
    compare_formats : Compares how values are written.
    find_duplicates : Finds records with copies on the other side.
    skmia.metrics.auc_interval : Computes the interval.

    Notes
    -----
    The model has 100 trees with at least 5 records in a leaf; if it learns from more
    than 400 records, 60 trees with at least 10, and from more than 5,000, 40 trees with at least
    20. With 20,000 records and six kinds of shifts, both find the same AUC, or more, within its
    standard error.

    The words of texts are hashed into 4,096 features. The AUC of their model is the mean over five
    random halves. Its interval assumes that two of the five AUCs correlate by one half.

    References
    ----------
    .. [1] Das, D., Zhang, J. and Tramèr, F. (2024). Blind Baselines Beat Membership Inference
           Attacks for Foundation Models. arXiv:2406.16201.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia import Records
    >>> from skmia.report import blind_baseline
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(1000, 3)), rng.integers(2, size=1000)
    >>> membership = np.arange(1000) % 2
    >>> baseline = blind_baseline(Records(X, y), membership, random_state=0)
    >>> baseline.low < 0.5 < baseline.high
    True
    >>> later = X + membership[:, None]  # the members were collected at another time
    >>> blind_baseline(Records(later, y), membership, random_state=0).low > 0.8
    True
    """
    membership = check_sides(records, membership, targets=True)
    check_confidence_level(confidence_level)
    seed = check_random_state(random_state).randint(2**31 - 1)
    if isinstance(random_state, Integral):  # so that a reported seed can be used again
        seed = int(random_state)
    return _measure_baseline(records, membership, confidence_level, n_jobs, seed)[0]


def _measure_baseline(records, membership, level, n_jobs, seed):
    """Return the interval of the baseline, and what it reads."""
    people = get_people(records, membership)
    words = score_words(records, membership, seed)
    if words:
        level = (1 + level) / 2  # each of two models may warn
    found = score_blindly(records, membership, seed, n_jobs)
    if found is None:
        return None, _VALUES
    best = _measure_auc(*found, membership, people, level), _VALUES
    if words:
        splits = [_measure_auc(*split, membership, people, level) for split in words]
        best = max(best, (_pool(splits), _TEXTS), key=lambda one: one[0].low)
    return best


_VALUES, _TEXTS = "without the model", "without the model, on the words of the texts,"

# AUCs of several splits of the same records depend on each other, by less than this.
_CORRELATION = 0.5


def _measure_auc(rows, scores, membership, people, level):
    people = None if people is None else people[rows]
    return auc_interval(membership[rows], scores, groups=people, confidence_level=level)


def _pool(splits):
    """Return the interval of the mean AUC of several splits."""
    estimate, low, high = np.mean(splits, axis=0).tolist()
    width = np.sqrt((1 + (len(splits) - 1) * _CORRELATION) / len(splits))
    return Interval(
        estimate,
        float(estimate - width * (estimate - low)),
        float(estimate + width * (high - estimate)),
    )


class BaselineCheck(BaseCheck):
    """Whether members can be ranked above non-members without the victim.

    An AUC below chance is not a problem, see blind_baseline.
    """

    name = "blind baseline"
    part = "baseline"
    record_seconds, least_seconds, record_numbers, copies_table = 1.2e-5, 0.06, 20, True
    cell_seconds, stored_seconds = 1.6e-7, 1e-6
    most_read = most_held = MOST_RECORDS
    role = DIFFERENCE
    presence = ALWAYS
    leads = True
    passed = "Members and non-members look alike without the model"
    warned = "Members and non-members differ without the model"
    difference = "they can be distinguished without the model"
    interval = ("baseline", "without the model")

    def ask(self, case, run, findings):
        if not case.records.has_features:
            return self.answer(NOT_RUN, WITHOUT_FEATURES)
        interval, what = _measure_baseline(
            case.records,
            case.membership,
            case.level,
            case.request.n_jobs,
            case.seeds["baseline"],
        )
        if interval is None:
            return self.answer(NOT_RUN, "Too few records for a baseline without the model.")
        text = f"A baseline {what} reaches AUC {format_auc(*interval)}"
        if interval.low <= 0.5:
            text += "; a warning is given if the interval lies above 0.5."
            return self.answer(PASSED, text, interval)
        text += (
            ": it ranks members above non-members, so they come from different populations, and "
            "part of what the attacks find may be that difference."
        )
        return self.answer(WARNING, text, interval)
