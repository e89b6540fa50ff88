"""How far the models with a record are from the models without it, for each record."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.moments import compute_both_moments
from .._core.records import Records
from .._core.validation import check_records
from ..signals import Signal

_BLOCK = 10_000  # records that are read at once


def record_separation(
    pool: Any, records: Records, signal: str | tuple[str, float] | Signal = "auto"
) -> np.ndarray:
    r"""Distance between the signals of IN and of OUT models, in their standard deviations.

    It says how far a record stands out for a training procedure, without a victim: a threshold
    halfway between two normal distributions errs with the probability that a normal variable
    exceeds it. Its absolute value is the privacy score of Carlini et al. (2022).

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool, possibly frozen.
    records : Records of n records
        Records of the pool.
    signal : "auto", ("auto", temperature), str or Signal, default="auto"
        Signal that the pool stores.

    Returns
    -------
    separation : ndarray of shape (n,)
        :math:`(\mu_{in} - \mu_{out}) / (\sigma_{in} + \sigma_{out})`, the mean over the queries of
        a pool with augmentations; negative where models with the record have the lower signal. NaN
        for records with fewer than two models on a side.

    See Also
    --------
    RecordSeparationDisplay : Histograms of the distances of all records, by groups.
    RecordSignalsDisplay : Shows these signals for a few records.
    skmia.leakage.LeaveOneOutLeakage : Leakage of records from one fit.

    Notes
    -----
    The spread of few models is uncertain: from 8 models, the largest values of many records are too
    large. Compare records by it.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import record_separation
    >>> records, _ = make_membership_problem(200, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=6)
    >>> pool = ShadowPool(tree, n_estimators=16, random_state=0).fit(records)
    >>> away = record_separation(pool, records)
    >>> away.shape, bool(away.mean() > 0)
    ((200,), True)
    """
    pool = unwrap(pool)
    check_is_fitted(pool)
    found = np.empty(len(check_records(records)))
    for rows, values, inside, _ in pool.blocks(records, _BLOCK, signal):
        into, out = compute_both_moments(values, inside, ~inside)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = (into.mean - out.mean) / (np.sqrt(into.variance) + np.sqrt(out.variance))
        away[..., np.minimum(into.count, out.count) < 2] = np.nan
        found[rows] = away.mean(axis=0)
    return found
