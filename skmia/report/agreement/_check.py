"""The questions without an audit."""

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from ..._core.provenance import PartClock
from ..._core.records import Records
from ..._core.types import ArrayLike, Seed
from .._case import open_case
from ._ask import meet
from ._result import Agreement

_SETTINGS = {
    "attacks": "default",
    "group": None,
    "fprs": (0.01,),
    "confidence_level": 0.95,
    "time_budget": None,
    "controls": False,
    "file": True,
    "shadows": 8,
    "batched": "auto",
    "n_jobs": None,
    "verbose": 0,
    "checkpoint": None,
}


def check_agreement(
    victim: BaseEstimator | None,
    records: Records,
    membership: ArrayLike,
    *,
    estimator: BaseEstimator | None = None,
    fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    random_state: Seed = None,
) -> Agreement:
    """Check whether a model and a table belong together, as an audit does at its beginning.

    A model that gets its columns in another order, unscaled or with other types, or answers that
    are stored in another order than the records, seem not to leak, whatever the model knows. So the
    answers for members are compared with those of two clones of the model, or of one if it leaves
    no doubt that they belong together. Each clone is trained on one half of the members and answers
    for the other half, which it has not seen. What the model remembers of its columns, such as
    scales, categories and thresholds, is compared with the table.

    Parameters
    ----------
    victim : estimator or None
        As in :func:`skmia.audit`: a fitted model; an unfitted estimator, the recipe of the model
        whose predictions are stored with the records; or None for stored predictions alone. Of a
        model whose recipe is not known, a linear model and a forest take the place of the clones,
        and both have to show that something is wrong.
    records : Records of n records
        Labeled records. Those with one value of a field ``group_by`` count as one. Of more than
        20,000 records a random sample is taken.
    membership : array-like of shape (n,)
        1 for the records that the victim was trained on, 0 for others.
    estimator : estimator, default=None
        As in :func:`skmia.audit`.
    fit_params : dict or callable, default=None
        Further parameters of ``fit`` of the clones, as in :func:`skmia.audit`.
    random_state : int, RandomState instance or None, default=None
        Controls which members a clone is trained on. Pass an int for reproducible results.

    Returns
    -------
    agreement : Agreement
        Its ``status`` is "stop" if the model does not know the table; an audit then ends without a
        verdict. At most 1% of sound audits are stopped. "warn" does not end an audit.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        As in :func:`skmia.audit`.

    See Also
    --------
    skmia.audit : Asks the same first.

    Notes
    -----
    An error that leaves more than half of the skill of the model looks like a regularized model,
    and is not found unless the model itself remembers its columns: half of the rows in another
    order, two columns exchanged.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import Records
    >>> from skmia.report.agreement import check_agreement
    >>> X, y = make_classification(600, random_state=0)
    >>> membership = [1] * 300 + [0] * 300
    >>> model = RandomForestClassifier(10, random_state=0).fit(X[:300], y[:300])
    >>> check_agreement(model, Records(X, y), membership, random_state=0).status
    'pass'
    >>> found = check_agreement(model, Records(X[:, ::-1], y), membership, random_state=0)
    >>> found.status, found.cure
    ('stop', 'Give the columns in the order of training.')
    """
    settings = _SETTINGS | {"estimator": estimator, "fit_params": fit_params}
    case = open_case(
        victim, records, membership, PartClock(), random_state=random_state, **settings
    )
    return meet(case)
