"""Equations of LightGBM models, which store counts, sums of hessians and values of leaves."""

import numpy as np

from ..boosters import LightGBMTree, load_lightgbm
from .boosting import add_sum, make_gradients
from .equations import SINGLE
from .refusals import WEIGHTED
from .rounding import Drift, Rounded, estimate_steps

_OBJECTIVES = {"binary sigmoid:1": 2, "multiclass": 3, "regression": 0}
# Settings whose other values change the equations in a way that is not known.
_NEUTRAL = {
    "lambda_l1": 0.0,
    "max_delta_step": 0.0,
    "path_smooth": 0.0,
    "linear_tree": 0.0,
    "use_quantized_grad": 0.0,
}
_WEIGHTS = {"is_unbalance": 0.0, "scale_pos_weight": 1.0}
_BAGS = "bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction"
# Relative difference between equal hessians; sums of them are stored in double precision.
_SAME = 1e-4


def why_not_lightgbm(model):
    """Return the reason why the nodes of a fitted LightGBM model cannot be read, or None."""
    text = load_lightgbm(model)
    return _why_not_set(text) or _why_not_grown(model, text)


def _why_not_set(text):
    settings, objective = text.settings, text.header.get("objective", "custom")
    if objective.split(" num_class")[0] not in _OBJECTIVES:
        return f"its objective is {objective!r}, and its gradients are not supported"
    if settings["boosting"] not in ("gbdt", "gbrt") or settings["data_sample_strategy"] == "goss":
        kind = settings["boosting"] if settings["boosting"] != "gbdt" else "goss"
        return f"its boosting is {kind!r}, and only 'gbdt' on all rows is supported"
    for name, neutral in _NEUTRAL.items():
        if float(settings.get(name, neutral)) != neutral:
            return f"{name}={settings[name]} changes its equations in a way that is not known"
    shares = [name for name in _BAGS if float(settings.get(name, 1)) < 1]
    if shares and int(settings.get("bagging_freq", 0)) > 0:
        return (
            f"{shares[0]}={settings[shares[0]]} leaves out rows in some rounds, and the model does "
            "not store which"
        )
    return None


def _why_not_grown(model, text):
    if any(tree["num_cat"] for tree in text.trees):
        return "it splits on categories; encode them as numbers"
    if text.settings.get("monotone_constraints"):
        return "monotonic constraints move the values of its leaves"
    is_weighted = any(float(text.settings.get(n, one)) != one for n, one in _WEIGHTS.items())
    if is_weighted or getattr(model, "class_weight", None) is not None:
        return WEIGHTED
    # All records start with the same margin, and therefore with the same hessian.
    first = text.trees[: _count_outputs(text)]
    grown = [one for one in first if len(one["threshold"]) and one["leaf_count"].any()]
    means = [one["leaf_weight"] / one["leaf_count"] for one in grown]
    alike = all(np.allclose(mean, mean[0], rtol=_SAME) for mean in means)
    return None if alike else f"{WEIGHTED}, or its records started with different margins"


def _count_outputs(text):
    return int(text.header.get("num_tree_per_iteration", 1))


def read_lightgbm(model, X, y, collector):
    """Read the equations of an LGBMClassifier or LGBMRegressor."""
    text = load_lightgbm(model)
    trees, n_outputs = [LightGBMTree(tree) for tree in text.trees], _count_outputs(text)
    rate, penalty = (float(text.settings[name]) for name in ("learning_rate", "lambda_l2"))
    gradients = make_gradients(model, y.astype(np.float32) if y.dtype.kind == "f" else y)
    bases = _read_bases(text, trees[:n_outputs], penalty)
    margins = np.tile(bases, (len(X), 1))
    # LightGBM scales the hessians of the softmax so that two classes have the usual ones.
    factor = n_outputs / (n_outputs - 1) if n_outputs > 1 else 1.0
    find = estimate_steps([tree.values for tree in trees])
    drift = Drift(*margins.shape)
    for start in range(0, len(trees), n_outputs):
        slope, curvature = (part.astype(np.float32) for part in gradients.at(margins))
        for k, tree in enumerate(trees[start : start + n_outputs]):
            leaves, terms = tree.route(X), factor * curvature[:, k].astype(float)
            # The first tree of each output holds the initial margin, without a learning rate.
            eta, base = (tree.shrinkage, 0.0) if start else (rate, bases[k])
            margins[:, k] += tree.values[leaves] - base
            rounding = find(tree.values)
            rounded = Rounded(rounding / eta, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            if not start and len(tree.values) > 1 and not tree.weights.any():
                continue  # the file was stripped, and the base is not known
            step = (tree.values - base) / eta
            _add_counts(collector, tree, leaves, terms)
            newton = slope[:, k].astype(float), step[leaves] * terms
            add_sum(collector, leaves, newton, -penalty * step, SINGLE, rounded)
    return trees[0].counts.sum()


def _add_counts(collector, tree, leaves, terms):
    if tree.counts.any():
        collector.add(leaves, np.ones(len(leaves)), tree.counts)
    if tree.weights.any():
        collector.add(leaves, terms, tree.weights, precision=SINGLE)


def _read_bases(text, first, penalty):
    """Return the initial margin of each output, which its first tree adds to its leaf values.

    It is the optimum of a constant, so that the gradients of the training rows sum to 0. The steps
    of the leaves, weighted by their hessians, therefore do as well.
    """
    if not int(text.settings.get("boost_from_average", 1)):
        return np.zeros(len(first))
    weights = [tree.weights + penalty if tree.weights.any() else None for tree in first]
    pairs = zip(first, weights, strict=True)
    return np.array([np.average(tree.values, weights=some) for tree, some in pairs])
