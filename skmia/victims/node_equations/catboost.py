"""Equations of CatBoost models, which store the number of training rows of each leaf."""

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier

from ..boosters import OBLIVIOUS, CatBoostTree, load_catboost
from .boosting import add_sum, make_gradients
from .equations import DOUBLE
from .refusals import WEIGHTED

_LOSSES = {"Logloss", "MultiClass", "RMSE"}


def why_not_catboost(model):
    """Return the reason why the nodes of a fitted CatBoost model cannot be read, or None."""
    stored = load_catboost(model)
    if OBLIVIOUS not in stored:
        return "its grow_policy is not 'SymmetricTree'"
    trees = stored[OBLIVIOUS]
    kinds = {split["split_type"] for tree in trees for split in tree.get("splits") or ()}
    if kinds - {"FloatFeature"}:
        return "it splits on categories or text; encode them as numbers"
    data = stored["model_info"]["params"]["data_processing_options"]
    if data["auto_class_weights"] != "None":
        return WEIGHTED
    weights = np.concatenate([tree["leaf_weights"] for tree in trees])
    is_whole = bool(data["class_weights"]) or np.array_equal(weights, np.rint(weights))
    return None if is_whole else WEIGHTED


def read_catboost(model, X, y, collector):
    """Read the equations of a CatBoostClassifier or CatBoostRegressor."""
    stored, X = load_catboost(model), X.astype(np.float32)
    features = stored["features_info"]["float_features"]
    trees = [CatBoostTree(tree, features) for tree in stored[OBLIVIOUS]]
    values = _Values(model, stored, y) if _are_newton_steps(model, stored) else None
    given = stored["model_info"]["params"]["data_processing_options"]["class_weights"]
    weights = np.array(given)[y] if given else np.ones(len(X))
    for tree in trees:
        leaves = tree.route(X)
        if tree.counts.any():
            collector.add(leaves, weights, tree.counts)
        if values is not None:
            values.add(collector, tree, leaves)
    return 0 if given else trees[0].counts.sum()


def _are_newton_steps(model, stored):
    """Whether each leaf value is one Newton step of the loss.

    The loss of two classes takes ten steps by default, whose sum is not linear in the members.
    """
    parameters = stored["model_info"]["params"]
    options, boosting = parameters["tree_learner_options"], parameters["boosting_options"]
    loss = parameters["loss_function"]
    return (
        loss["type"] in _LOSSES
        and not parameters["data_processing_options"]["class_weights"]
        and not loss.get("params")
        and is_classifier(model) == (loss["type"] != "RMSE")
        and options["leaf_estimation_method"] == "Newton"
        and options["leaf_estimation_iterations"] == 1
        and not any(options["monotone_constraints"].values())
        and not boosting["model_shrink_rate"]
        and stored["scale_and_bias"][0] == 1
    )


class _Values:
    """Equations of the leaf values, which follow from the margins before each tree."""

    def __init__(self, model, stored, y):
        parameters = stored["model_info"]["params"]
        self._rate = float(np.float32(parameters["boosting_options"]["learning_rate"]))
        self._penalty = float(np.float32(parameters["tree_learner_options"]["l2_leaf_reg"]))
        self._gradients = make_gradients(model, y.astype(np.float32) if y.dtype.kind == "f" else y)
        self._margins = np.tile(np.array(stored["scale_and_bias"][1], dtype=float), (len(y), 1))

    def add(self, collector, tree, leaves):
        """Add the equations of the values of a tree."""
        slope, curvature = self._gradients.at(self._margins)
        step = tree.values / self._rate
        bent = curvature * step[leaves]
        if slope.shape[1] > 1:
            # The hessian of several classes is a matrix, diag(p) - p p'.
            p = softmax(self._margins, axis=1)
            bent = p * (step[leaves] - (p * step[leaves]).sum(axis=1, keepdims=True))
        for k in range(slope.shape[1]):
            newton = slope[:, k], bent[:, k]
            add_sum(collector, leaves, newton, -self._penalty * step[:, k], DOUBLE, None)
        self._margins += tree.values[leaves]
