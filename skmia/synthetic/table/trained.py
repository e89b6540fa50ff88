"""Models of a synthetic table on real rows, beside models of real rows."""

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OrdinalEncoder

from ._measure import thin
from .utility import MOST_ROWS

_N_DRAWS = 100
_FOREST = {"n_estimators": 100, "min_samples_leaf": 5}
# A target of more different numbers than this is a number to predict, not a class.
_MOST_CLASSES = 20


def train_on_each(synthetic, real, holdout, target, confidence_level, rng):
    """How much of what a model of real rows gains a model of synthetic rows gains as well.

    Both are random forests with one seed, measured on the holdout: AUC for two classes,
    accuracy for more, R2 for numbers.

    Parameters
    ----------
    synthetic, real, holdout : DataFrame
    target : str
        Column to predict.
    confidence_level : float
    rng : RandomState

    Returns
    -------
    found : dict
        ``metric``, its ``chance``, its value ``synthetic`` and ``real``, and the ratio of what
        both gain over chance, ``estimate``, with its limits ``low`` and ``high`` over draws of the
        holdout; NaN if the model of real rows gains nothing.
    """
    known = [table[table[target].notna()] for table in (synthetic, real, holdout)]
    tables = [thin(table, rng, MOST_ROWS) for table in known]
    y = [table[target].to_numpy() for table in tables]
    seed, held = rng.randint(np.iinfo(np.int32).max), y[2]
    metric, score = _choose_metric(real[target], held)
    if metric != "R2":
        y, held = [part.astype(str) for part in y], held.astype(str)
    answers = [_fit(tables[k], y[k], tables[2], held, target, metric, seed) for k in (0, 1)]
    draws = np.array(
        [
            [score(held[rows], answer[rows]) for answer in answers]
            for rows in (rng.randint(len(held), size=len(held)) for _ in range(_N_DRAWS))
        ]
    )
    chance = {"AUC": 0.5, "R2": 0.0}.get(metric)
    if chance is None:
        chance = float(np.unique(held, return_counts=True)[1].max() / len(held))
    made, own = (score(held, answer) for answer in answers)
    found = {"metric": metric, "chance": chance, "synthetic": made, "real": own}
    return found | _divide(made - chance, own - chance, draws - chance, confidence_level)


def _divide(gained, possible, draws, confidence_level):
    if not possible > 0:
        return dict.fromkeys(("estimate", "low", "high"), np.nan)
    ratio = gained / possible
    # The delta method on the draws, in which a small denominator does no harm.
    error = np.nanstd(draws[:, 0] - ratio * draws[:, 1], ddof=1) / possible
    reach = norm.ppf((1 + confidence_level) / 2) * error
    return {"estimate": ratio, "low": ratio - reach, "high": ratio + reach}


def _choose_metric(column, held):
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numbers and column.nunique() > _MOST_CLASSES:
        return "R2", lambda y, guess: 1 - np.mean((y - guess) ** 2) / max(np.var(y), 1e-300)
    classes = np.unique(held.astype(str))
    if len(classes) == 2:

        def auc(y, scores):
            is_last = y == classes[1]
            return roc_auc_score(is_last, scores) if 0 < is_last.sum() < len(y) else np.nan

        return "AUC", auc
    return "accuracy", lambda y, guess: float(np.mean(y == guess))


def _fit(table, y, held, y_held, target, metric, seed):
    """Answers for the held-out rows of a model of a table."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = [
        name
        for name in table.columns.drop(target)
        if pd.api.types.is_numeric_dtype(table[name]) and pd.api.types.is_numeric_dtype(held[name])
    ]
    words = list(table.columns.drop([target, *numbers]))
    parts = [[part[numbers].to_numpy(dtype=float, na_value=np.nan) for part in (table, held)]]
    if words:
        encoder.fit(table[words].astype(str))
        parts.append([encoder.transform(part[words].astype(str)) for part in (table, held)])
    X, held = (np.column_stack(part) for part in zip(*parts))
    if metric == "R2":
        return RandomForestRegressor(**_FOREST, random_state=seed).fit(X, y).predict(held)
    classes = np.unique(y)
    last = np.unique(y_held)[-1]
    if len(classes) == 1 or (metric == "AUC" and last not in classes):
        return np.zeros(len(held)) if metric == "AUC" else np.full(len(held), classes[0])
    model = RandomForestClassifier(**_FOREST, random_state=seed).fit(X, y)
    if metric == "AUC":
        return model.predict_proba(held)[:, list(classes).index(last)]
    return model.predict(held)
