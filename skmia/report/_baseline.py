"""Whether members and non-members differ by themselves, whatever the victim answers."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from ..metrics import auc_interval
from ..shadow._sampling import draw_halves, find_units
from ..utils._containers import is_frame, is_tensor

# Enough to see a shift that would matter (the AUC is known to about .01), and a matter of seconds.
_MOST_RECORDS = 20_000

# Unlike a leaf of one record, leaves of several average the noise that a null has nothing but.
_MODEL = ExtraTreesClassifier(100, min_samples_leaf=5)


def baseline_interval(records, membership, *, confidence_level, n_jobs, random_state):
    """AUC of a model that is told the records but not the victim's answers.

    It learns membership from (x, y) on a random half of the records and is measured on the other
    half; cross-validation would use all of them, but its scores depend on each other, and the
    interval would be too narrow. An AUC above one half means that the two sides were not drawn
    alike, and that part of what the attacks find may be that difference.

    Parameters
    ----------
    records : Records of n records
        Equal records, and those of one ``group_by``, are in the same half.
    membership : ndarray of shape (n,), dtype bool
        The truth.
    confidence_level : float
        Of the interval.
    n_jobs : int or None
        For the trees of the model.
    random_state : int
        Determines the rows, the halves and the model.

    Returns
    -------
    interval : Interval or None
        None where a half holds one side only.
    """
    rng = np.random.default_rng(random_state)
    if len(records) > _MOST_RECORDS:
        rows = np.sort(rng.choice(len(records), _MOST_RECORDS, replace=False))
        records, membership = records[rows], membership[rows]
    units = find_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        return None
    train = draw_halves(units, membership.astype(int), len(units), rng)[0]
    if any(len(np.unique(membership[half])) < 2 for half in (train, ~train)):
        return None
    X = _as_matrix(records)
    model = clone(_MODEL).set_params(n_jobs=n_jobs, random_state=random_state)
    model.fit(X[train], membership[train])
    scores = model.predict_proba(X[~train])[:, 1]
    return auc_interval(membership[~train], scores, confidence_level=confidence_level)


def _as_column(values):
    """Numbers as they are, anything else as codes."""
    values = pd.Series(values)
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float32, na_value=np.nan)
    return pd.factorize(values.astype(object))[0].astype(np.float32)


def _as_matrix(records):
    X = records.X
    label = _as_column(records.y)[:, None]
    if sparse.issparse(X):
        return sparse.hstack([X.astype(np.float32), sparse.csr_array(label)], format="csr")
    if is_tensor(X):
        X = X.detach().cpu().numpy()
    if is_frame(X):
        columns = [_as_column(X.iloc[:, j]) for j in range(X.shape[1])]
        X = np.column_stack(columns) if columns else np.empty((len(X), 0))
    elif X.dtype.kind not in "biuf":
        X = X.reshape(len(X), -1)
        X = np.column_stack([_as_column(X[:, j]) for j in range(X.shape[1])])
    matrix = np.column_stack([X.reshape(len(X), -1), label]).astype(np.float32)
    matrix[np.isinf(matrix)] = np.nan  # trees take a missing value, and no infinite one
    return matrix
