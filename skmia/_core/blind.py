"""Scores of a model that sees records alone, to tell members from non-members."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from .features import as_matrix
from .splits import draw_halves, number_units

# With so many records the AUC is known to about .01, enough to show a shift that matters.
MOST_RECORDS = 20_000

# Leaves of several records average out noise, and without a shift the features are only noise.
_MODEL = ExtraTreesClassifier(100, min_samples_leaf=5)


def score_blindly(records, membership, seed, n_jobs=None):
    """Learn membership on a random half of the records and score the other half.

    Parameters
    ----------
    records : Records of n records
        Equal records, and records with one value of ``group_by``, are in the same half.
    membership : ndarray of shape (n,), dtype bool
    seed : int
    n_jobs : int, default=None

    Returns
    -------
    found : tuple or None
        The positions of the records that were scored, and their scores; None if one of the halves
        has no members or no non-members.
    """
    rng, rows = np.random.default_rng(seed), np.arange(len(records))
    if len(records) > MOST_RECORDS:
        rows = np.sort(rng.choice(len(records), MOST_RECORDS, replace=False))
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
    return rows[~train], model.predict_proba(X[~train])[:, 1]
