"""Reader of the equations of a model."""

from functools import partial

import numpy as np
from sklearn.tree import BaseDecisionTree

from .._boosters import is_catboost, is_lightgbm, is_xgboost
from .._model_features import (
    BAGS,
    BOOSTED,
    FORESTS,
    HISTOGRAMS,
    REWEIGHTED,
    UNLABELED,
    ModelReader,
    check_labels,
    choose_reader,
    find_model,
    open_model,
    read_features,
)
from .boosters import (
    read_catboost,
    read_lightgbm,
    read_xgboost,
    why_no_catboost_equations,
    why_no_lightgbm_equations,
    why_no_xgboost_equations,
)
from .boosting import (
    read_gradient_boosting,
    read_histogram_boosting,
    why_no_histogram_equations,
    why_not_boosted,
)
from .cart import (
    read_bag,
    read_forest,
    read_isolation,
    read_reweighted,
    read_tree,
    why_not_bagged,
    why_not_grown,
    why_not_isolated,
    why_not_reweighted,
)
from .equations import FurtherCollector, NodeCollector

# ``read(model, X, y, collector)`` takes numbers of the classes or targets. It adds all equations to
# a Collector or Further and returns the number of training rows.
_READERS = {
    (BaseDecisionTree,): ModelReader(read_tree, why_not_grown),
    FORESTS: ModelReader(read_forest, why_not_grown),
    BAGS: ModelReader(read_bag, why_not_bagged),
    HISTOGRAMS: ModelReader(read_histogram_boosting, why_no_histogram_equations),
    BOOSTED: ModelReader(read_gradient_boosting, why_not_boosted),
    REWEIGHTED: ModelReader(read_reweighted, why_not_reweighted),
    UNLABELED: ModelReader(read_isolation, why_not_isolated),
    is_xgboost: ModelReader(read_xgboost, why_no_xgboost_equations, absent=np.nan),
    is_lightgbm: ModelReader(read_lightgbm, why_no_lightgbm_equations),
    is_catboost: ModelReader(read_catboost, why_no_catboost_equations),
}
_choose_reader = partial(choose_reader, readers=_READERS)


def has_node_equations(model):
    return _choose_reader(find_model(model)[0]) is not None


def read_node_equations(model, records, assumed=None, most=np.inf):
    """Read the equations that the nodes of a model's trees state about candidates.

    most: how many coefficients may be held; of a model with more, some of the trees are read.
    """
    share = 0.5 if assumed is None else assumed[0] / len(records)
    collector = NodeCollector(len(records), share, most)
    n_rows, is_assumed = _read_equations(model, records, collector, assumed)
    return collector.equations(n_rows)._replace(is_assumed=is_assumed)


def read_further_columns(model, records, equations):
    """Read the coefficients of further records in the equations of the candidates.

    Return columns of shape (n_equations, n).
    """
    further = FurtherCollector(equations, len(records))
    _read_equations(
        model, records, further, (equations.n_rows, 0.0) if equations.is_assumed else None
    )
    return further.columns()


def _read_equations(model, records, collector, assumed):
    found, steps, reader = open_model(
        model,
        _choose_reader,
        "Node equations are read from decision trees, random forests, extra trees, bagged trees, "
        "AdaBoost, isolation forests, gradient boosting, histogram gradient boosting, XGBoost, "
        "LightGBM and CatBoost",
        "The nodes of this {} cannot be read",
    )
    X = read_features(found, steps, records.X, absent=reader.absent)
    y = check_labels(found, records.y)
    n_rows = reader.read(found, X, y, collector)
    if n_rows or assumed is None:
        return n_rows, False
    # Without counts, the right-hand sides are 0 and no members at all would be a solution. A
    # further equation therefore states the assumed number of members.
    n_rows, variance = assumed
    collector.close()
    root = np.zeros(len(X), dtype=np.intp)
    collector.add(root, np.ones(len(X)), np.array([n_rows]), variance)
    return n_rows, True
