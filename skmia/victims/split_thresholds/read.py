"""Thresholds of a model of trees, by its kind."""

from functools import partial
from numbers import Integral

import numpy as np
from sklearn.tree import BaseDecisionTree

from ..._core.sklearn import read_draws, read_trees_of_boosting
from ..boosters import (
    OBLIVIOUS,
    ZERO,
    CatBoostTree,
    LightGBMTree,
    is_catboost,
    is_lightgbm,
    is_xgboost,
    load_catboost,
    load_lightgbm,
)
from ..inputs import find_model, read_features
from ..node_equations.gradient_boosters import find_numbers, load_booster, mark_missing
from ..readers import Reader, choose_reader, open_model
from ..tree_families import BAGS, BOOSTED, FORESTS, HISTOGRAMS, REDRAWN, REWEIGHTED
from .edges import list_edges
from .events import INNER_EDGE, MIDPOINT, QUANTILE, SINGLE_MIDPOINT, VALUE, explain
from .nodes import Columns, drop_repeated, join, read_edges, read_nodes
from .refusals import (
    why_not_bagged,
    why_not_boosted_in_turn,
    why_not_catboost,
    why_not_grown,
    why_not_histogram,
    why_not_lightgbm,
    why_not_xgboost,
)

# Rows from which histogram boosting and CatBoost take edges; of more, they draw a sample.
_MOST_BINNED = 200_000


def has_split_thresholds(model):
    """Whether a model is of a kind whose thresholds can be read."""
    return _choose_reader(find_model(model)[0]) is not None


def read_split_thresholds(model, X, prior, further=None):
    """Thresholds of a model's trees, and the candidates' values that explain them.

    Parameters
    ----------
    model : estimator
        Fitted model of trees, a Pipeline that ends in one, or a search that has chosen one.
    X : array-like of shape (n, ...)
        Candidates, as the model takes them.
    prior : float
        Share of members among the candidates.
    further : array-like of shape (n_further, ...), default=None
        Other records, numbered from n on. Each counts for itself alone.

    Returns
    -------
    events : list of Events
        One for each sample that trees were grown on, and each kind of thresholds.

    Raises
    ------
    TypeError
        If the model is of another kind.
    ValueError
        If its thresholds were not computed from values.
    """
    found, steps, reader = open_model(
        model,
        _choose_reader,
        "Thresholds are read from decision trees, random forests, bagged trees, AdaBoost, gradient "
        "boosting, histogram gradient boosting, XGBoost, LightGBM and CatBoost",
        "The thresholds of this {} are not read",
        repeats=True,
    )
    tables = [X] if further is None else [X, further]
    tables = [read_features(found, steps, table, absent=reader.absent) for table in tables]
    groups = reader.read(found, np.concatenate(tables), len(tables[0]), prior)
    return [events for events in groups if events.n_thresholds]


def _explain_together(nodes, kept, columns, prior):
    """Events of trees that were grown on the same sample."""
    return explain(drop_repeated(join(nodes), columns), MIDPOINT, kept, columns, prior)


def _read_tree(model, X, n, prior):
    columns = Columns(X.astype(np.float32), n)
    return [_explain_together([read_nodes(model.tree_, columns)], 1.0, columns, prior)]


def _read_forest(model, X, n, prior):
    columns = Columns(X.astype(np.float32), n)
    nodes = [read_nodes(one.tree_, columns) for one in model.estimators_]
    return _explain_samples(model, nodes, columns, prior)


def _read_bag(model, X, n, prior):
    columns = Columns(X.astype(np.float32), n)
    nodes = [
        read_nodes(tree.tree_, columns, chosen)
        for tree, chosen in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    return _explain_samples(model, nodes, columns, prior)


def _explain_samples(model, nodes, columns, prior):
    """Events of trees that each have their own sample, or were all grown on the same rows."""
    share = 1.0 if model.max_samples is None else model.max_samples
    if isinstance(share, Integral):
        share /= read_draws(model)[1]
    kept = -np.expm1(-share) if model.bootstrap else share
    if kept == 1:
        return [_explain_together(nodes, 1.0, columns, prior)]
    return [
        explain(part, MIDPOINT, kept, columns, prior)._replace(sample=tree)
        for tree, part in enumerate(nodes)
    ]


def _read_boosted(model, X, n, prior):
    columns = Columns(X.astype(np.float32), n)
    stages = [[read_nodes(one.tree_, columns) for one in stage] for stage in model.estimators_]
    if model.subsample == 1:
        return [_explain_together([one for stage in stages for one in stage], 1.0, columns, prior)]
    return [_explain_together(stage, model.subsample, columns, prior) for stage in stages]


def _read_reweighted(model, X, n, prior):
    columns = Columns(X.astype(np.float32), n)
    nodes = [read_nodes(one.tree_, columns) for one in model.estimators_]
    return [_explain_together(nodes, 1.0, columns, prior)]


def _read_redrawn(model, X, n, prior):
    columns = Columns(X.astype(np.float32), n)
    nodes = [read_nodes(one.tree_, columns) for one in model.estimators_]
    # As many draws as rows, nearly as likely for one row as for another.
    return [explain(one, MIDPOINT, -np.expm1(-1.0), columns, prior) for one in nodes]


def _read_histogram(model, X, n, prior):
    n_rows = read_trees_of_boosting(model)[0].nodes["count"][0]
    kept = min(1.0, _MOST_BINNED / max(n_rows, 1))
    edges, inner = list_edges(model, X[:n])
    columns, events = Columns(X, n), []
    for rule, chosen in ((INNER_EDGE, inner), (QUANTILE, ~inner)):
        some = [edges[j] for j in np.flatnonzero(chosen)]
        features = np.repeat(np.flatnonzero(chosen), [len(one) for one in some])
        nodes = read_edges(features, np.concatenate([np.empty(0), *some]), columns)
        events.append(explain(nodes, rule, kept, columns, prior))
    return events


def _read_xgboost(model, X, n, prior):
    trees = load_booster(model)[0]["gradient_booster"]["model"]["trees"]
    splits = [find_numbers(tree) for tree in trees]
    features, conditions = (
        np.concatenate([np.array(t[name])[s] for t, s in zip(trees, splits, strict=True)])
        for name in ("split_indices", "split_conditions")
    )
    columns = Columns(mark_missing(model, X.astype(np.float32)), n)
    conditions = conditions.astype(np.float32).astype(np.float64)
    return [_explain_edges(features, conditions, VALUE, 1.0, columns, prior)]


def _explain_edges(features, thresholds, rule, kept, columns, prior):
    """Events of thresholds that were chosen among all training rows, each once."""
    features, thresholds = np.unique(np.stack([features, thresholds]), axis=1)
    return explain(read_edges(features, thresholds, columns), rule, kept, columns, prior)


def _read_lightgbm(model, X, n, prior):
    text = load_lightgbm(model)
    trees, n_binned = text.trees, int(text.settings["bin_construct_sample_cnt"])
    features, thresholds = (
        np.concatenate([tree[name] for tree in trees]) for name in ("split_feature", "threshold")
    )
    used = np.abs(thresholds) > ZERO
    used &= ~np.concatenate([LightGBMTree(tree).of_category for tree in trees])
    kept = min(1.0, n_binned / max(sum(trees[0]["leaf_count"]), 1))
    columns = Columns(X, n)
    return [_explain_edges(features[used], thresholds[used], INNER_EDGE, kept, columns, prior)]


def _read_catboost(model, X, n, prior):
    stored = load_catboost(model)
    numbers = stored["features_info"]["float_features"]
    trees = [CatBoostTree(tree, numbers) for tree in stored[OBLIVIOUS]]
    features = np.concatenate([tree.columns for tree in trees])
    borders = np.concatenate([tree.borders for tree in trees])
    used = np.abs(borders) < np.finfo(np.float32).max  # others split off missing values
    kept = min(1.0, _MOST_BINNED / max(sum(trees[0].counts), 1))
    columns, borders = Columns(X.astype(np.float32), n), borders[used].astype(np.float64)
    return [_explain_edges(features[used], borders, SINGLE_MIDPOINT, kept, columns, prior)]


# ``read(model, X, n, prior)`` takes features of n candidates first. It returns a list of Events,
# one for each sample that trees were grown on.
_READERS = {
    (BaseDecisionTree,): Reader(_read_tree, why_not_grown),
    FORESTS: Reader(_read_forest, why_not_grown),
    BAGS: Reader(_read_bag, why_not_bagged),
    BOOSTED: Reader(_read_boosted, lambda model: None),
    HISTOGRAMS: Reader(_read_histogram, why_not_histogram),
    REWEIGHTED: Reader(_read_reweighted, why_not_boosted_in_turn),
    REDRAWN: Reader(_read_redrawn, why_not_boosted_in_turn),
    is_xgboost: Reader(_read_xgboost, why_not_xgboost, absent=np.nan),
    is_lightgbm: Reader(_read_lightgbm, why_not_lightgbm),
    is_catboost: Reader(_read_catboost, why_not_catboost),
}
_choose_reader = partial(choose_reader, readers=_READERS)
