"""Equations of LightGBM models, which store counts, sums of hessians and values of leaves."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import is_classifier

from ..boosters import LightGBMTree, load_lightgbm
from .boosting import add_sum, balance, choose_weights, make_gradients
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
_BAGS_OF_CLASSES = "pos_bagging_fraction", "neg_bagging_fraction"
# Variance of hessians that are equal, relative to their squared mean, up to rounding.
_ALIKE = 1e-8


def why_not_lightgbm(model):
    """Return the reason why the nodes of a fitted LightGBM model cannot be read, or None."""
    text = load_lightgbm(model)
    return _why_not_set(text) or _why_not_grown(text)


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
    shares = [name for name in _BAGS_OF_CLASSES if float(settings.get(name, 1)) < 1]
    if shares and int(settings.get("bagging_freq", 0)) > 0:
        return f"{shares[0]}={settings[shares[0]]} leaves out other shares of each class"
    return None


def _why_not_grown(text):
    if text.settings.get("monotone_constraints"):
        return "monotonic constraints move the values of its leaves"
    return WEIGHTED if _is_weighted_inside(text) and _find_inside(text) is None else None


def _is_weighted_inside(text):
    """Whether labels have weights in the loss, without which the first margin is computed."""
    return any(float(text.settings.get(name, one)) != one for name, one in _WEIGHTS.items())


def _count_rows(text):
    """Number of rows of the first tree; 0 if the file was stripped."""
    return int(sum(text.trees[0]["leaf_count"]))


def _count_outputs(text):
    return int(text.header.get("num_tree_per_iteration", 1))


def read_lightgbm(model, X, y, collector):
    """Read the equations of an LGBMClassifier or LGBMRegressor."""
    text = load_lightgbm(model)
    trees, n_outputs = [LightGBMTree(tree) for tree in text.trees], _count_outputs(text)
    rate, penalties = float(text.settings["learning_rate"]), _list_penalties(text, trees)
    weights, bases, unlike, mean = _find_weights(model, text, trees[:n_outputs], penalties)
    targets = y.astype(np.float32) if y.dtype.kind == "f" else y
    gradients = make_gradients(model, targets, weights)
    kept = _read_share(text.settings)
    collector.draw(kept, max(int(text.settings.get("bagging_freq", 1)), 1))
    margins = np.tile(bases, (len(X), 1))
    # LightGBM scales the hessians of the softmax so that two classes have the usual ones.
    factor = n_outputs / (n_outputs - 1) if n_outputs > 1 else 1.0
    find = estimate_steps([tree.values for tree in trees])
    drift = Drift(*margins.shape)
    for start in range(0, len(trees), n_outputs):
        slope, curvature = (part.astype(np.float32) for part in gradients.at(margins))
        for k, tree in enumerate(trees[start : start + n_outputs]):
            leaves, terms = tree.route(X), factor * curvature[:, k].astype(float)
            penalty = penalties[start + k]
            # The first tree of each output holds the initial margin, without a learning rate.
            eta, base = (tree.shrinkage, 0.0) if start else (rate, bases[k])
            margins[:, k] += tree.values[leaves] - base
            rounding = find(tree.values)
            rounded = Rounded(rounding / eta, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            if not start and len(tree.values) > 1 and not tree.weights.any():
                continue  # the file was stripped, and the base is not known
            step = (tree.values - base) / eta
            _add_counts(collector, tree, leaves, terms, mean, unlike)
            newton = slope[:, k].astype(float), step[leaves] * terms
            add_sum(collector, leaves, newton, -penalty * step / mean, SINGLE, rounded, unlike)
    # Each row is drawn or not, so that the samples differ in their sizes.
    return round(np.mean([tree.counts.sum() for tree in trees]) / kept)


def _read_share(settings):
    """Share of the training rows in the sample of each round."""
    draws = int(settings.get("bagging_freq", 0)) > 0
    return float(settings.get("bagging_fraction", 1)) if draws else 1.0


def _add_counts(collector, tree, leaves, terms, mean, unlike):
    if tree.counts.any():
        collector.add(leaves, np.ones(len(leaves)), tree.counts)
    if tree.weights.any():
        collector.add(leaves, terms, tree.weights / mean, precision=SINGLE, unlike=unlike)


def _find_weights(model, text, first, penalties):
    """What the first tree of each output says of the weights of rows, and the initial margins.

    All records start with the same margin, and therefore with the same hessian.

    Returns
    -------
    weights : ndarray of shape (n_classes,) or None
        Weights of the classes; None if rows have none, or weights that are not known.
    bases : ndarray of shape (n_outputs,)
    unlike, mean : float
        Relative variance and mean of weights that are not known.
    """
    bases = _read_bases(text, first, penalties)
    grown = [one for one in first if one.counts.any() and one.weights.any() and len(one.counts) > 1]
    if not grown:
        return None, bases, 0.0, 1.0
    if _is_weighted_inside(text):
        return *_find_inside(text), 0.0, 1.0
    if _read_share(text.settings) < 1:
        bases = _correct_bases(text, first, bases)
    counts = np.concatenate([one.counts for one in grown])
    sums = np.concatenate([one.weights / (one.weights.sum() / one.counts.sum()) for one in grown])
    unlike = np.sum(counts * (sums / counts - 1) ** 2) / max(len(counts) - len(grown), 1)
    if unlike < _ALIKE:
        return None, bases, 0.0, 1.0
    given = getattr(model, "class_weight", None)
    if isinstance(given, dict):
        return np.array([given.get(c, 1.0) for c in model.classes_.tolist()]), bases, 0.0, 1.0
    bend = expit(bases[0]) * (1 - expit(bases[0])) if len(bases) == 1 else 1.0
    if given == "balanced" and len(bases) == 1:
        (weights, shares), tree = balance(_count_rows(text)), first[0]
        steps = (tree.values - bases[0]) / float(text.settings["learning_rate"])
        found = choose_weights(
            weights, shares * _count_rows(text), tree.counts, steps, expit(bases[0]), penalties[0]
        )
        if found is not None:
            return weights[found], bases, 0.0, 1.0
    if len(bases) > 1:
        p = softmax(bases)[0]
        bend = len(bases) / (len(bases) - 1) * p * (1 - p)
    elif not is_classifier(model):
        bend = 1.0
    return None, bases, unlike, first[0].weights.sum() / first[0].counts.sum() / bend


def _find_inside(text):
    """Weights of two classes in the loss, and the margin of their shares without weights.

    They follow from the number of rows of the second class, with which all leaves of the first tree
    have whole numbers of them.

    Returns
    -------
    weights : ndarray of shape (2,)
    bases : ndarray of shape (1,)
        Both None if no number fits, or rows were drawn.
    """
    tree, total = LightGBMTree(text.trees[0]), _count_rows(text)
    penalty = _list_penalties(text, [tree])[0]
    if not total or not tree.weights.any() or _read_share(text.settings) < 1:
        return None
    second = np.arange(1, total)
    ratio = (total - second) / second
    weights = np.ones((len(second), 2))
    if text.settings.get("is_unbalance", "0") == "1":
        weights = np.maximum(np.column_stack([1 / ratio, ratio]), 1)
    weights[:, 1] *= float(text.settings.get("scale_pos_weight", 1))
    base = -np.log(ratio)[:, None]
    steps = (tree.values - base) / float(text.settings["learning_rate"])
    found = choose_weights(weights, second, tree.counts, steps, expit(base), penalty)
    return None if found is None else (weights[found], base[found])


def _correct_bases(text, first, bases):
    """Initial margin of all rows, of which the first tree saw a sample alone.

    The hessian that all records start with gives the share of the two classes.
    """
    if not text.header.get("objective", "").startswith("binary"):
        return bases
    bend = min(first[0].weights.sum() / first[0].counts.sum(), 0.25)
    away = np.arccosh(0.5 / np.sqrt(bend)) * 2  # p (1 - p) is 1 / (4 cosh(margin / 2)^2)
    return np.copysign(away, bases)


def _list_penalties(text, trees):
    """Penalty of each leaf of each tree: some splits on categories have one of their own.

    A column of few categories is split into one of them and all others, without it.
    """
    settings = text.settings
    plain, more = float(settings["lambda_l2"]), float(settings.get("cat_l2", 0))
    many = text.n_categories > int(settings.get("max_cat_to_onehot", 0))
    penalties = []
    for tree in trees:
        parents, features = tree.find_parents()
        penalties.append(np.full(len(parents), plain))
        if tree.of_category.any():
            penalties[-1] += more * (tree.of_category[parents] & many[features])
    return penalties


def _read_bases(text, first, penalties):
    """Return the initial margin of each output, which its first tree adds to its leaf values.

    It is the optimum of a constant, so that the gradients of the training rows sum to 0. The steps
    of the leaves, weighted by their hessians, therefore do as well.
    """
    if not int(text.settings.get("boost_from_average", 1)):
        return np.zeros(len(first))
    weights = [
        tree.weights + penalty if tree.weights.any() else None
        for tree, penalty in zip(first, penalties, strict=False)
    ]
    pairs = zip(first, weights, strict=True)
    return np.array([np.average(tree.values, weights=some) for tree, some in pairs])
