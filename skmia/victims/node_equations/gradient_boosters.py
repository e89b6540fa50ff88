"""Equations of XGBoost models, which store the sum of hessians and the weight of each node."""

import json

import numpy as np
from scipy.special import expit, logit
from sklearn.base import is_classifier

from .booster_settings import solve_settings
from .boosting import add_sum, make_gradients
from .equations import SINGLE
from .rounding import Drift, Rounded, estimate_steps

_OBJECTIVES = {"binary:logistic", "multi:softprob", "multi:softmax", "reg:squarederror"}
_NEUTRAL = {"alpha": 0.0, "max_delta_step": 0.0}
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
        # Categories that go right, in pairs with the number of their node.
        nodes, sizes = (stored.get(f"categories_{s}", []) for s in ("nodes", "sizes"))
        self._goes_right = np.repeat(nodes, sizes), np.array(stored.get("categories", []))
        self._of_category = np.array(stored.get("split_type", np.zeros(len(self.left)))) > 0

    def route(self, X):
        """Return the leaf of each row; values below a threshold go left, in single precision."""
        place, rows = np.zeros(len(X), dtype=np.intp), np.arange(len(X))
        while len(rows):
            rows = rows[self.left[place[rows]] >= 0]
            here = place[rows]
            values = X[rows, self.feature[here]]
            with np.errstate(invalid="ignore"):
                below = values < self.conditions[here]
            chosen = self._of_category[here] & ~np.isnan(values)
            if chosen.any():
                below[chosen] = ~self._are_listed(here[chosen], values[chosen])
            left = np.where(np.isnan(values), self.default_left[here], below)
            place[rows] = np.where(left, self.left[here], self.right[here])
        return place

    def _are_listed(self, nodes, values):
        """Whether categories go right at their nodes."""
        listed_at, listed = self._goes_right
        width = 1 + max(listed.max(initial=0), values.max())
        return np.isin(nodes * width + values, listed_at * width + listed)


def find_numbers(stored):
    """Nodes of a stored tree that split on numbers, and not on categories."""
    inner = np.array(stored["left_children"]) >= 0
    return inner & ~np.array(stored.get("split_type", np.zeros(len(inner))), dtype=bool)


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
    if float(settings.get("subsample", 1)) < 1 and _draws_by_gradient(model):
        return "it draws rows by their gradients, and does not store with what chances"
    stored = learner["gradient_booster"]["model"]
    if int(stored["gbtree_model_param"].get("num_parallel_tree", 1)) > 1:
        return "it grows several trees in each round"
    if solve_settings([Tree(tree) for tree in stored["trees"]], settings) is None:
        return (
            "no learning rate and penalty explain its weights, as after training with alpha, "
            "max_delta_step or constraints"
        )
    return None


def _draws_by_gradient(model):
    return model.get_params().get("sampling_method") == "gradient_based"


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
    weights = np.array([1.0, _read_positive_weight(learner)])
    is_weighted = weights[1] != 1
    gradients = make_gradients(model, y, weights if is_weighted else None)
    kept, X = float(settings.get("subsample", 1)), X.astype(np.float32)
    collector.draw(kept)
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
                # All records start with the same margin.
                counts = tree.covers / (curvature[0, k] / np.ravel(gradients.weights)[0])
                if is_weighted:
                    n_rows = _count_weighted(tree, eta, penalty, expit(margins[0, 0]), weights)
                else:
                    n_rows = counts[0] if _are_whole(counts) else _lose_count(collector)
            if tree.covers[0]:  # 0 if the file was stripped
                collector.add(leaves, curvature[:, k], tree.covers, precision=SINGLE)
            newton = slope[:, k], step[leaves] * curvature[:, k]
            rounding, terms = find(tree.conditions), curvature[:, k]
            rounded = Rounded(rounding / eta, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            add_sum(collector, leaves, newton, -penalty * step, SINGLE, rounded)
            margins[:, k] += tree.conditions[leaves]
    return n_rows / kept


def _read_positive_weight(learner):
    """Weight of the second of two classes, which multiplies its gradients and hessians."""
    loss = learner["objective"].get("reg_loss_param", {})
    return float(loss.get("scale_pos_weight", 1))


def _count_weighted(tree, eta, penalty, start, weights):
    """Number of training rows of two classes, from the sums of the first root."""
    if not tree.covers[0]:
        return 0.0
    total = tree.covers[0] / (start * (1 - start))
    step = tree.weights[0] if len(tree.left) > 1 else tree.conditions[0] / eta
    # The sum of gradients is start * total minus the weight of the second class.
    second = start * total + step * (tree.covers[0] + penalty)
    return total - second + second / weights[1]


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
