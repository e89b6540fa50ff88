"""Scores of a model that sees records alone, to tell members from non-members."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

from .containers import in_memory
from .copies import copy_unfitted
from .features import as_feature_matrix, split_columns
from .numbers import as_series
from .records import Records
from .splits import draw_halves, number_units

# With so many records the AUC is known to about .01, enough to show a shift that matters.
MOST_RECORDS = 20_000

# Leaves of several records average out noise, and without a shift the features are only noise. The
# more records, the fewer trees of larger leaves find as much of a shift, in a quarter of the time.
_MODEL = ExtraTreesClassifier()
_SIZES_OF_TREES = {
    5_000: {"n_estimators": 40, "min_samples_leaf": 20},
    400: {"n_estimators": 60, "min_samples_leaf": 10},
    0: {"n_estimators": 100, "min_samples_leaf": 5},
}

# A column whose cells have so many words on average holds texts, and not categories or names.
_FEWEST_WORDS = 3
_MOST_CHARACTERS = 10_000
_N_SPLITS = 5
_WORDS = HashingVectorizer(n_features=1 << 12)


def score_blindly(records, membership, seed, n_jobs=None):
    """Learn membership on a random half of the records and score the other half.

    Return found: the positions of the records that were scored, and their scores; None if one of
    the halves has no members or no non-members.
    """
    sample = _draw_blind_sample(records, membership, np.random.default_rng(seed))
    train = _draw_both_sides(*sample)
    if train is None:
        return None
    rows, records, membership = sample.rows, sample.records, sample.membership
    X = as_feature_matrix(records)
    size = next(size for n, size in _SIZES_OF_TREES.items() if train.sum() > n)
    model = copy_unfitted(_MODEL).set_params(n_jobs=n_jobs, random_state=seed, **size)
    model.fit(X[train], membership[train])
    # Threads would add the trees in any order, and rounding would break ties.
    return rows[~train], model.set_params(n_jobs=1).predict_proba(X[~train])[:, 1]


def score_words(records, membership, seed):
    """Learn membership from the words of texts, on several random halves of the records."""
    rng = np.random.default_rng(seed)
    sample = _draw_blind_sample(records, membership, rng)
    X = in_memory(sample.records.X)
    columns = [] if X.shape[-1] == 0 else split_columns(X) or []
    texts = [texts for texts in map(_read_text_cells, columns) if texts is not None]
    if not texts:
        return []
    words, found = _WORDS.transform([" ".join(parts) for parts in zip(*texts, strict=True)]), []
    for _ in range(_N_SPLITS):
        train = _draw_both_sides(*sample[:-1], rng)
        if train is None:
            return []
        model = LogisticRegression(max_iter=1000).fit(words[train], sample.membership[train])
        found.append((sample.rows[~train], model.decision_function(words[~train])))
    return found


class _BlindSample(NamedTuple):
    """At most 20,000 records, and the generator that has drawn them."""

    rows: np.ndarray
    records: Records
    membership: np.ndarray
    rng: np.random.Generator


def _draw_blind_sample(records, membership, rng):
    if len(records) <= MOST_RECORDS:
        return _BlindSample(np.arange(len(records)), records, membership, rng)
    rows = np.sort(rng.choice(len(records), MOST_RECORDS, replace=False))
    return _BlindSample(rows, records[rows], membership[rows], rng)


def _draw_both_sides(rows, records, membership, rng):
    """Return a random half of the records; None if a half would lack members or non-members."""
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        return None
    train = draw_halves(units, membership.astype(int), len(units), rng)[0]
    if any(len(np.unique(membership[half])) < 2 for half in (train, ~train)):
        return None
    return train


def _read_text_cells(column):
    """Return cells of a column as texts, "" where there is none; None if it does not hold texts."""
    column = as_series(column)
    if pd.api.types.is_numeric_dtype(column.dtype) or column.dtype.kind in "mM":
        return None
    cells = column.astype(object).tolist()
    texts = [cell[:_MOST_CHARACTERS] if isinstance(cell, str) else "" for cell in cells]
    n_words = [len(text.split()) for text in texts if text]
    return texts if n_words and np.mean(n_words) >= _FEWEST_WORDS else None
