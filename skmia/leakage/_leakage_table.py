"""Leakage of each row in words that the person behind it asks for."""

from typing import Literal

import numpy as np
import pandas as pd

from .._core.checks import check_option
from .._core.numbers import check_number
from .._core.tradeoff import DIRECTIONS

Direction = Literal["both", "in/out", "out/in"]


def check_direction(direction):
    """Return which of the two laws has the larger probabilities."""
    return check_option(direction, "direction", DIRECTIONS)


def make_leakage_table(leakage, X, record_ids, delta):
    """Describe each row by a fitted estimator of the leakage of a mean."""
    delta = float(check_number(delta, "delta", "0 or more and below 1", 0, np.nextafter(1, 0)))
    scores = leakage.score_samples(X)
    names = getattr(X, "index", None) if record_ids is None else np.asarray(record_ids)
    if callable(names):  # a list has a method of this name
        names = None
    if names is not None and (np.ndim(names) != 1 or len(names) != len(scores)):
        raise ValueError(f"record_ids needs one name for each of the {len(scores)} rows of X.")
    n_below = np.searchsorted(np.sort(scores), scores, side="right")
    columns = {
        "score": scores,
        "epsilon in/out": leakage.privacy_budget(X, delta, direction="in/out"),
        "epsilon out/in": leakage.privacy_budget(X, delta, direction="out/in"),
        "delta at epsilon 1": leakage.privacy_profile(X, 1.0),
        "tpr at fpr 0.01": leakage.power(X, 0.01),
        "percentile": 100 * n_below / len(scores),
    }
    return pd.DataFrame(columns, index=None if names is None else pd.Index(names, name="record"))
