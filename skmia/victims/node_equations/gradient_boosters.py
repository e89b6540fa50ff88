"""Equations of XGBoost models, which store the sum of hessians and the weight of each node."""

import json

import numpy as np
from scipy.special import logit
from sklearn.base import is_classifier

from .booster_settings import solve_settings
from .boosting import add_sum, make_gradients
from .equations import SINGLE
from .refusals import WEIGHTED
from .rounding import Drift, Rounded, estimate_steps

_OBJECTIVES = {"binary:logistic", "multi:softprob", "multi:softmax", "reg:squarederror"}
_NEUTRAL = {"subsample": 1.0, "alpha": 0.0, "max_delta_step": 0.0}
_SMALLEST = 1e-16  # lower bound of the hessians of a classifier in XGBoost
# Numbers of rows that single precision tells from their neighbors, and their relative error.
_MOST_ROWS = 1e4
_TOLERANCE = 1e-5


class Tree:
    """One tree of a stored booster."""

    def __init__(self, stored):
        self.left, self.right = (np.array(stored[f"{s}_children"]) for s in ("left", "right"))
        self.feature = np.array(stored["split_indices"])
        self.conditions = np.array(stored["split_conditions"], dtype=np.float32)
        self.default_left = np.array(stored["default_left"], dtype=bool)
        self.covers = np.array(stored["sum_hessian"], dtype=np.float64)
        self.weights = np.array(stored["base_weights"], dtype=np.float64)

    def route(self, X):
        """Return the leaf of each row; values below a threshold go left, in single precision."""
        place, rows = np.zeros(len(X), dtype=np.intp), np.arange(len(X))
        while len(rows):
            rows = rows[self.left[place[rows]] >= 0]
            here = place[rows]
            values = X[rows, self.feature[here]]
            with np.errstate(invalid="ignore"):
                below = values < self.conditions[here]
            left = np.where(np.isnan(values), self.default_left[here], below)
            place[rows] = np.where(left, self.left[here], self.right[here])
        return place


def load_booster(model):
    """Return the stored booster and the settings of its trees."""
    booster = model.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    config = json.loads(booster.save_config())["learner"]["gradient_booster"]
    return learner, config.get("tree_train_param", {})


def why_not_xgboost(model):
    """Return the reason why the nodes of a fitted XGBoost model cannot be read, or None."""
    learner, settings = load_booster(model)
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind != "gbtree":
        return f"its booster is {kind!r}, and only 'gbtree' is supported"
    if objective not in _OBJECTIVES:
        return (
            f"its objective is {objective!r}, and only {', '.join(sorted(_OBJECTIVES))} are "
            "supported"
        )
    for name, neutral in _NEUTRAL.items():
        if float(settings.get(name, neutral)) != neutral:
            return (
                f"{name}={float(settings[name]):g} changes its equations in a way that is not known"
            )
    weight = learner["objective"].get("reg_loss_param", {}).get("scale_pos_weight", "1")
    if float(weight) != 1:
        return WEIGHTED
    stored = learner["gradient_booster"]["model"]
    if int(stored["gbtree_model_param"].get("num_parallel_tree", 1)) > 1:
        return "it grows several trees in each round"
    if any(any(tree.get("split_type", ())) for tree in stored["trees"]):
        return "it splits on categories; encode them as numbers"
    if solve_settings([Tree(tree) for tree in stored["trees"]], settings) is None:
        return (
            "no learning rate and penalty explain its weights, as after training with alpha, "
            "max_delta_step or constraints"
        )
    return None


def mark_missing(model, X):
    """Features with NaN for what the model takes for missing."""
    return X if model.missing is None else np.where(X == np.float32(model.missing), np.nan, X)


def read_xgboost(model, X, y, collector):
    """Read the equations of an XGBClassifier or XGBRegressor."""
    X = mark_missing(model, X)
    learner, settings = load_booster(model)
    stored = learner["gradient_booster"]["model"]
    trees, outputs = [Tree(tree) for tree in stored["trees"]], stored["tree_info"]
    eta, penalty = solve_settings(trees, settings)
    gradients, X = make_gradients(model, y), X.astype(np.float32)
    n_outputs = max(outputs) + 1
    margins = np.empty((len(X), n_outputs))
    margins[:] = _read_base(learner)
    find = estimate_steps([tree.conditions[tree.left < 0] for tree in trees])
    drift = Drift(*margins.shape)
    n_rows = None
    for start in range(0, len(trees), n_outputs):
        slope, curvature = gradients.at(margins)
        if is_classifier(model):
            # XGBoost doubles the hessians of the softmax.
            curvature = np.maximum((2 if n_outputs > 1 else 1) * curvature, _SMALLEST)
        for k, tree in enumerate(trees[start : start + n_outputs]):
            leaves, step = tree.route(X), tree.conditions.astype(np.float64) / eta
            if n_rows is None:
                counts = tree.covers / curvature[0, k]  # all records start with the same margin
                n_rows = counts[0] if _are_whole(counts) else _lose_count(collector)
            if tree.covers[0]:  # 0 if the file was stripped
                collector.add(leaves, curvature[:, k], tree.covers, precision=SINGLE)
            newton = slope[:, k], step[leaves] * curvature[:, k]
            rounding, terms = find(tree.conditions), curvature[:, k]
            rounded = Rounded(rounding / eta, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            add_sum(collector, leaves, newton, -penalty * step, SINGLE, rounded)
            margins[:, k] += tree.conditions[leaves]
    return n_rows


def _are_whole(counts):
    counts = counts[counts < _MOST_ROWS]
    return np.allclose(counts, np.rint(counts), rtol=_TOLERANCE, atol=_TOLERANCE)


def _lose_count(collector):
    """Warn that sums of hessians do not count training rows; return 0 as their number."""
    collector.warn(
        "The sums of hessians in the first tree of the model are not those of whole rows: it was "
        "trained with sample weights or base margins, which it does not store. The equations of "
        "its nodes assume equal weights, so scores are weaker than they could be."
    )
    return 0.0


def _read_base(learner):
    """Return the initial margins of all records: one number, or one for each class."""
    stored = json.loads(learner["learner_model_param"]["base_score"])
    base = np.ravel(np.array(stored, dtype=np.float64))
    return logit(base) if learner["objective"]["name"] == "binary:logistic" else base
