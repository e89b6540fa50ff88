"""Whether members and non-members come from different populations, without the victim."""

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from ..._core.checks import check_confidence_level
from ..._core.features import as_matrix
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.splits import draw_halves, number_units
from ..._core.types import Seed
from ..._core.validation import check_membership, check_records
from ...metrics import Interval, auc_interval
from ..groups import get_people
from ..text import format_auc
from .base import NOT_RUN, PASSED, WARNING, BaseCheck

# Enough to see a shift that would matter (the AUC is known to about .01), and a matter of seconds.
_MOST_RECORDS = 20_000

# Unlike a leaf of one record, leaves of several average the noise that a null has nothing but.
_MODEL = ExtraTreesClassifier(100, min_samples_leaf=5)


def blind_baseline(
    records: Records,
    membership: ArrayLike,
    *,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> Interval | None:
    """AUC of a model that is told the records but not the victim's answers.

    It learns membership from (x, y) on a random half of the records and is measured on the other
    half; cross-validation would use all of them, but its scores depend on each other, and the
    interval would be too narrow. An interval above one half means that the two sides come from
    different populations, and that part of what attacks find may be that difference. An AUC of one
    half does not prove that they do not: the model, extremely randomized trees, may have missed the
    difference. Below one half nothing is wrong: where the two sides were made alike on purpose, as
    by a split within classes, one half of the records has by design what the other lacks, and the
    model ranks them the wrong way round.

    Parameters
    ----------
    records : Records of n records
        Their field ``outputs`` is not read. Equal records, and records of one ``group_by``, are in
        the same half, and the interval is one of people where they were members together. Of more
        than 20,000 records a random sample of that size is taken.
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    confidence_level : float, default=0.95
        Confidence level of the interval, in (0, 1).
    n_jobs : int, default=None
        For the trees of the model. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Determines the sample, the halves and the model.

    Returns
    -------
    interval : Interval or None
        ``(estimate, low, high)``, each in [0, 1]; None where a half holds one side only.

    Raises
    ------
    TypeError, ValueError
        If records or task labels are missing, membership is not 0 or 1 for each record and both, or
        a parameter is out of range.

    See Also
    --------
    find_duplicates : Whether records have copies on the other side.
    skmia.metrics.auc_interval : The interval.

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
    check_records(records)
    membership = check_membership(membership, len(records))
    check_confidence_level(confidence_level)
    seed = _draw_seed(random_state)
    rng = np.random.default_rng(seed)
    if len(records) > _MOST_RECORDS:
        rows = np.sort(rng.choice(len(records), _MOST_RECORDS, replace=False))
        records, membership = records[rows], membership[rows]
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        return None
    train = draw_halves(units, membership.astype(int), len(units), rng)[0]
    if any(len(np.unique(membership[half])) < 2 for half in (train, ~train)):
        return None
    X = as_matrix(records)
    model = clone(_MODEL).set_params(n_jobs=n_jobs, random_state=seed)
    model.fit(X[train], membership[train])
    scores = model.predict_proba(X[~train])[:, 1]
    people = get_people(records, membership)
    people = None if people is None else people[~train]
    return auc_interval(
        membership[~train], scores, groups=people, confidence_level=confidence_level
    )


def _draw_seed(random_state):
    """The integer itself where one is given, so that it can be written down and used again."""
    drawn = check_random_state(random_state).randint(2**31 - 1)
    return int(random_state) if isinstance(random_state, Integral) else int(drawn)


class BaselineCheck(BaseCheck):
    """Whether members can be ranked above non-members without the victim.

    Below chance nothing is wrong: where the two sides were made alike on purpose, as by a
    stratified split, one half has by design what the other lacks, and a baseline that was trained
    on one ranks the other the wrong way round.
    """

    name = "blind baseline"
    part = "baseline"

    def ask(self, case, run, findings):
        interval = blind_baseline(
            case.records,
            case.membership,
            confidence_level=case.level,
            n_jobs=case.request.n_jobs,
            random_state=case.seeds["baseline"],
        )
        if interval is None:
            return self.answer(NOT_RUN, "Too few records for a baseline without the model.")
        text = f"A baseline without the model reaches AUC {format_auc(*interval)}"
        if interval.low <= 0.5:
            text += "; a warning is given if the interval lies above 0.5."
            return self.answer(PASSED, text, interval)
        text += (
            ": it ranks members above non-members, so they come from different populations, and "
            "part of what the attacks find may be that difference."
        )
        return self.answer(WARNING, text, interval)
