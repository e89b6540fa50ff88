"""Number of parameters of models of trees."""

import json

import numpy as np
from sklearn.base import is_classifier
from sklearn.tree import BaseDecisionTree

from .._core.sklearn import read_baseline, read_trees_of_boosting
from ..victims.boosters import (
    OBLIVIOUS,
    is_catboost,
    is_lightgbm,
    is_xgboost,
    load_catboost,
    load_lightgbm,
)
from ..victims.tree_families import BOOSTED, FORESTS, HISTOGRAMS

_FORMULA = "2 per inner node, 1 per leaf"


def count_tree_parameters(model):
    """Number of parameters, formula, and parameters of the largest tree; None for other models."""
    if isinstance(model, BaseDecisionTree):
        free = _count_free(model)
        return _count_tree(model), f"2 per inner node, {free} per leaf"
    if isinstance(model, FORESTS):
        return _add_up([_count_tree(tree) for tree in model.estimators_], 0, "sum over all trees")
    if isinstance(model, BOOSTED):
        sizes = [_count(tree.tree_.n_leaves) for tree in model.estimators_.ravel()]
        return _add_up(sizes, model.estimators_.shape[1])
    if isinstance(model, HISTOGRAMS):
        trees = read_trees_of_boosting(model)
        sizes = [_count(int(tree.nodes["is_leaf"].sum())) for tree in trees]
        return _add_up(sizes, read_baseline(model).size)
    if is_xgboost(model):
        return _count_xgboost(model)
    if is_lightgbm(model):
        return _count_lightgbm(model)
    return _count_catboost(model) if is_catboost(model) else None


def _count_free(model):
    """Free numbers in a leaf of a single tree, over all of its outputs."""
    if is_classifier(model):
        return int((model.tree_.n_classes - 1).sum())
    return int(model.tree_.n_outputs)


def _count_tree(model):
    n_leaves = int(model.tree_.n_leaves)
    return 2 * (n_leaves - 1) + n_leaves * _count_free(model)


def _count(n_leaves):
    """Parameters of a tree with one number in each leaf; it has one leaf more than inner nodes."""
    return int(2 * (n_leaves - 1) + n_leaves)


def _add_up(sizes, n_starts, formula=f"{_FORMULA}, and start values"):
    return sum(sizes) + n_starts, formula, max(sizes, default=None)


def _count_xgboost(model):
    booster = model.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    stored = learner["gradient_booster"]
    stored = stored.get("gbtree", stored)  # of dart
    if "model" not in stored or "trees" not in stored["model"]:
        return None
    trees, groups = stored["model"]["trees"], stored["model"]["tree_info"]
    # Of trees after the best round, which early stopping has found, none is used.
    per_round = (max(groups) + 1) * int(
        stored["model"]["gbtree_model_param"].get("num_parallel_tree", 1) or 1
    )
    best = learner.get("attributes", {}).get("best_iteration")
    used = trees if best is None else trees[: (int(best) + 1) * per_round]
    leaves = [int((np.array(tree["left_children"]) < 0).sum()) for tree in used]
    return _add_up([_count(n) for n in leaves], 1)


def _count_lightgbm(model):
    text = load_lightgbm(model)
    n_outputs = int(text.header.get("num_tree_per_iteration", 1))
    best = getattr(model, "best_iteration_", None) or getattr(model.booster_, "best_iteration", 0)
    used = text.trees[: best * n_outputs] if best and best > 0 else text.trees
    return _add_up([_count(len(tree["leaf_value"])) for tree in used], 0, _FORMULA)


def _count_catboost(model):
    stored = load_catboost(model)
    if OBLIVIOUS not in stored:
        return None, "its grow_policy is not 'SymmetricTree'"
    sizes = [
        2 * len(tree.get("splits") or ()) + len(tree["leaf_values"]) for tree in stored[OBLIVIOUS]
    ]
    formula = "2 per level, 1 per leaf and output, and start values"
    return _add_up(sizes, int(np.size(stored["scale_and_bias"][1])), formula)
