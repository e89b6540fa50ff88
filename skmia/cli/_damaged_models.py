"""Checks of a loaded model before it answers its first record.

The types in a .skops file are checked when it is read, its numbers are not: scikit-learn walks
trees and support vectors in compiled code that takes every index for a valid one, and some
parameters name files.
"""

import json
from functools import partial

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_array

from .._core.copies import is_fitted
from .._core.sklearn import (
    load_tree_types,
    read_categories_of_boosting,
    read_infrequent_categories,
    read_support_vectors,
    read_trees_of_boosting,
)
from ..victims import OBLIVIOUS, is_catboost, is_lightgbm, is_xgboost, load_catboost, load_lightgbm

# Estimators of an ensemble that a file may ask for beyond those that are fitted.
_MOST_UNFITTED = 10_000


class DamagedModelError(ValueError):
    """The scores of a model cannot come from a fit."""


def check_foreign(model):
    """Check the parameters and the numbers of a loaded model, and take its caches away."""
    for part in _walk_objects(model):
        if isinstance(part, BaseEstimator):
            _check_parameters(part)
            _check_sizes(part)
            if hasattr(part, "fit") and not is_fitted(part):
                continue  # a recipe within an ensemble
        for kind, check in _CHECKS.items():
            if isinstance(part, kind):
                check(part)
        for is_booster, check in _BOOSTERS.items():
            if is_booster(part):
                check(part)


def _walk_objects(root):
    """Yield every object that is reachable through attributes and containers, each once."""
    seen, waiting = set(), [root]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type(None)):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        else:
            waiting += getattr(part, "__dict__", {}).values()


def _check_parameters(estimator):
    parameters = estimator.get_params(deep=False)
    if parameters.get("memory") is not None:
        estimator.set_params(memory=None)
    # Text vectorizers open the files that the records name.
    if parameters.get("input") in ("filename", "file"):
        raise DamagedModelError(
            f"{type(estimator).__name__}(input={parameters['input']!r}) would open files that the "
            'records name; save the model with input="content"'
        )


def _check_sizes(estimator):
    """The number of fitted parts is the one that training models like it would take."""
    fitted = getattr(estimator, "estimators_", None)
    if fitted is None:
        return
    _check_widths(estimator, np.ravel(np.asarray(fitted, dtype=object)).tolist())
    n_estimators = estimator.get_params(deep=False).get("n_estimators")
    if n_estimators is None or isinstance(n_estimators, str):
        return
    # Boosting stops early, on request or at a perfect fit.
    if n_estimators > max(_MOST_UNFITTED, len(fitted)):
        raise DamagedModelError(
            f"{type(estimator).__name__} has n_estimators={n_estimators}, and {len(fitted)} fitted "
            "ones"
        )


def _check_widths(ensemble, parts):
    """Trees of an ensemble read no more columns than the ensemble hands to them unchecked."""
    width = getattr(ensemble, "n_features_in_", None)
    subsets = getattr(ensemble, "estimators_features_", None)
    for k, part in enumerate(parts):
        own = getattr(part, "n_features_in_", None)
        if own is None or width is None:
            continue
        given = width
        if subsets is not None:
            subset = np.asarray(subsets[k])
            _require(subset.size and 0 <= subset.min() and subset.max() < width, ensemble)
            given = len(subset)
        _require(own <= max(given, width if subsets is None else given), ensemble)
        tree = getattr(part, "tree_", None)
        _require(tree is None or tree.n_features == own, ensemble)


def _require(condition, part):
    if not condition:
        name = "booster" if isinstance(part, dict) else type(part).__name__
        raise DamagedModelError(
            f"numbers of a {name} in it contradict each other; it is damaged or forged"
        )


def _check_nodes(left, right, is_leaf, feature, n_features, part):
    """Children come after their parent, as every builder puts them, so that a walk ends."""
    numbers, inner = np.arange(len(left)), ~is_leaf
    _require(len(left) > 0, part)
    for child in (left[inner].astype(np.int64), right[inner].astype(np.int64)):
        _require(((child > numbers[inner]) & (child < len(left))).all(), part)
    chosen = feature[inner]
    _require(((chosen >= 0) & (chosen < n_features)).all(), part)


def _check_tree(tree):
    state = tree.__getstate__()
    nodes = state["nodes"]
    left, right = nodes["left_child"], nodes["right_child"]
    _require(state["node_count"] == len(nodes) == len(state["values"]), tree)
    _require(((left == -1) == (right == -1)).all(), tree)
    _check_nodes(left, right, left == -1, nodes["feature"], tree.n_features, tree)
    _require(np.isfinite(state["values"]).all(), tree)


def _check_predictor(predictor):
    nodes = predictor.nodes
    n_features = 2**31 if len(nodes) <= 1 else int(nodes["feature_idx"].max()) + 1
    is_leaf = nodes["is_leaf"].astype(bool)
    children = nodes["left"], nodes["right"]
    _check_nodes(*children, is_leaf, nodes["feature_idx"], n_features, predictor)
    categorical = nodes[nodes["is_categorical"].astype(bool) & ~is_leaf]
    for bits in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        _require(bits.ndim == 2 and bits.shape[1] == 8, predictor)
        _require((categorical["bitset_idx"] < len(bits)).all(), predictor)
    _require(np.isfinite(nodes["value"]).all(), predictor)


def _check_owner(model):
    """A tree reads the columns that its model checks the records for, alone or in another model."""
    if hasattr(model, "tree_"):
        _require(model.tree_.n_features == model.n_features_in_, model)


def _check_boosting(model):
    """Features of the trees are columns of the records, and categories are known."""
    is_categorical, edges = read_categories_of_boosting(model)
    _require(len(is_categorical) == len(edges) == model.n_features_in_, model)
    for predictor in read_trees_of_boosting(model):
        nodes = predictor.nodes
        _require((nodes["feature_idx"] < model.n_features_in_).all(), model)
        split = nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)
        _require(is_categorical[nodes["feature_idx"][split]].all(), model)


def _check_stages(model):
    """Each stage adds one number for each output, which compiled code writes unchecked."""
    stages = np.asarray(model.estimators_, dtype=object)
    n_outputs = 1
    if is_classifier(model):
        n_outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
        classes = getattr(model.init_, "classes_", model.classes_)
        _require(len(classes) == len(model.classes_), model)
    _require(stages.ndim == 2 and stages.shape[1] == n_outputs, model)
    _require(model.n_trees_per_iteration_ == n_outputs, model)
    for tree in stages.ravel():
        _require(isinstance(tree, BaseDecisionTree) and tree.tree_.value.shape[1:] == (1, 1), model)


def _check_vocabulary(model):
    """The columns of the words are 0, 1, 2, ..."""
    found = getattr(model, "vocabulary_", {})
    numbers = sorted(int(number) for number in found.values())
    _require(numbers == list(range(len(found))), model)


def _check_categories(model):
    """Rare categories are merged into columns that exist."""
    for mapping, n_columns in read_infrequent_categories(model):
        mapping = np.asarray(mapping)
        _require(mapping.dtype.kind in "iu", model)
        _require(not mapping.size or (mapping.min() >= 0 and mapping.max() < n_columns), model)


def _check_neighbor_labels(model):
    """Neighbors vote for classes that exist; several targets are counted in Python."""
    labels = np.asarray(model._y)
    _require(len(labels) == model.n_samples_fit_, model)
    if labels.ndim == 1 and labels.dtype.kind in "iu":
        _require(labels.min() >= 0 and labels.max() < len(model.classes_), model)


def _check_spline(spline):
    knots, n_knots = np.asarray(spline.t), len(spline.t)
    _require(isinstance(spline.k, int | np.integer) and 0 <= spline.k < n_knots, spline)
    _require(knots.ndim == 1 and np.isfinite(knots).all() and (np.diff(knots) >= 0).all(), spline)
    _require(len(spline.c) >= n_knots - spline.k - 1 > spline.k, spline)


def _check_function(call):
    """HistGradientBoosting checks its columns of numbers with this function, and no other."""
    plain = (str, bool, type, type(None), list, np.dtype)
    known = call.func is check_array and not call.args
    _require(known and all(isinstance(one, plain) for one in call.keywords.values()), call)


def _check_walk(left, right, is_leaf, part):
    """Each node is reached once at most from the first, whatever the order of their numbers."""
    seen, level = np.zeros(len(left), dtype=bool), np.zeros(1, dtype=np.int64)
    _require(len(left) > 0 and len(left) == len(right), part)
    while len(level):
        _require(((level >= 0) & (level < len(left))).all(), part)
        _require(not seen[level].any() and len(np.unique(level)) == len(level), part)
        seen[level] = True
        inner = level[~is_leaf[level]]
        level = np.concatenate([left[inner], right[inner]])
    return seen & ~is_leaf


def _check_xgboost(model):
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    _require(int(learner["learner_model_param"]["num_feature"]) == model.n_features_in_, model)
    _check_xgboost_document(learner, model)


def _check_xgboost_document(learner, model):
    width = int(learner["learner_model_param"]["num_feature"])
    stored = learner["gradient_booster"]
    stored = stored.get("gbtree", stored).get(
        "model", {}
    )  # the trees of dart; linear ones have none
    for tree in stored.get("trees", ()):
        left, right, columns = (
            np.array(tree[name], dtype=np.int64)
            for name in ("left_children", "right_children", "split_indices")
        )
        _require(len(columns) == len(left), model)
        inner = _check_walk(left, right, left == -1, model)
        _require(((columns[inner] >= 0) & (columns[inner] < width)).all(), model)
        ends = np.add(tree.get("categories_segments", []), tree.get("categories_sizes", []))
        _require((ends <= len(tree.get("categories", ()))).all(), model)
    outputs = np.array(stored.get("tree_info", []), dtype=np.int64)
    n_outputs = max(1, *(int(learner["learner_model_param"][key]) for key in _OUTPUTS))
    _require(((outputs >= 0) & (outputs < n_outputs)).all(), model)


_OUTPUTS = ("num_class", "num_target")  # of XGBoost


def _check_lightgbm(model):
    text = load_lightgbm(model)
    width = int(text.header["max_feature_idx"]) + 1
    _require(1 <= width == model.n_features_in_, model)
    for tree in text.trees:
        left, right, columns = tree["left_child"], tree["right_child"], tree["split_feature"]
        n_leaves = len(tree["leaf_value"])
        _require(len(left) == len(right) == len(columns) == n_leaves - 1, model)
        numbers = np.arange(len(left))
        for child in (left, right):
            leaves = ~child[child < 0]
            _require((leaves < n_leaves).all(), model)
            # Children come after their parent, so that a walk ends.
            _require(((child < 0) | ((child > numbers) & (child < len(left)))).all(), model)
        _require(((columns >= 0) & (columns < width)).all(), model)


def _check_catboost(model):
    _check_catboost_document(load_catboost(model), model)


def _check_catboost_document(stored, model):
    """Split and leaves of the trees that split alike at each level; CatBoost checks neither."""
    features = stored["features_info"]
    columns = features.get("float_features", ())
    n_splits = sum(len(column["borders"] or ()) for column in columns)
    is_known = not features.get("categorical_features") and not features.get("ctrs")
    n_outputs = max(1, len(stored["scale_and_bias"][1]))
    for tree in stored.get(OBLIVIOUS, ()):
        splits = tree.get("splits") or ()
        for split in splits:
            _require(0 <= split.get("float_feature_index", 0) < max(1, len(columns)), model)
            _require(0 <= split["split_index"] < (n_splits if is_known else _MOST_SPLITS), model)
        n_leaves = 2 ** len(splits)
        _require(len(tree["leaf_values"]) == n_outputs * n_leaves, model)
        _require(len(tree["leaf_weights"]) in (0, n_leaves), model)


_MOST_SPLITS = 10**7


def check_booster_file(path):
    """Check the numbers of a booster in JSON before the package reads them."""
    if path.suffix != ".json":
        return
    with open(path, "rb") as file:
        stored = json.load(file)
    if "learner" in stored:
        _check_xgboost_document(stored["learner"], stored)
    elif "features_info" in stored:
        _check_catboost_document(stored, stored)


def _check_binary_tree(tree):
    data, order, nodes, bounds = (np.asarray(part) for part in tree.__getstate__()[:4])
    _require(data.ndim == 2 and len(order) == len(data), tree)
    _require(np.array_equal(np.sort(order), np.arange(len(data))), tree)
    starts, ends = nodes["idx_start"], nodes["idx_end"]
    _require(((starts >= 0) & (starts <= ends) & (ends <= len(data))).all(), tree)
    numbers = np.arange(len(nodes))
    _require(((nodes["is_leaf"] != 0) | (2 * numbers + 2 < len(nodes))).all(), tree)
    _require(bounds.shape[1:] == (len(nodes), data.shape[1]), tree)


def _check_svm(model):
    n_vectors, found = model.support_vectors_.shape[0], read_support_vectors(model)
    rows, columns = found.coefficients.shape
    _require((found.counts >= 0).all(), model)
    is_kernel = model.kernel == "precomputed"  # whose columns are the training rows themselves
    if is_kernel:
        n_vectors, places = len(model.support_), np.asarray(model.support_)
        _require(((places >= 0) & (places < model.shape_fit_[0])).all(), model)
        _require(model.shape_fit_[0] == model.shape_fit_[1], model)
    else:
        _require(model.support_vectors_.shape[1] == model.shape_fit_[1], model)
    _require(columns == n_vectors and rows >= 1, model)
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) > 1:
        n_pairs = len(classes) * (len(classes) - 1) // 2
        _require(found.counts.sum() == n_vectors and len(found.counts) == len(classes), model)
        _require(rows == len(classes) - 1 and len(found.intercepts) == n_pairs, model)
        for calibration in found.calibrations:
            _require(len(calibration) in (0, n_pairs), model)
    if len(model.support_):
        _require(len(model.support_) == n_vectors, model)


def _check_sparse(matrix):
    try:
        matrix.check_format(full_check=True)
    except (ValueError, AttributeError):
        _require(False, matrix)


_TREE, _PREDICTOR = load_tree_types()
_CHECKS = {
    _TREE: _check_tree,
    _PREDICTOR: _check_predictor,
    BaseDecisionTree: _check_owner,
    (HistGradientBoostingClassifier, HistGradientBoostingRegressor): _check_boosting,
    (GradientBoostingClassifier, GradientBoostingRegressor): _check_stages,
    (CountVectorizer, DictVectorizer): _check_vocabulary,
    OneHotEncoder: _check_categories,
    (KNeighborsClassifier, RadiusNeighborsClassifier): _check_neighbor_labels,
    BSpline: _check_spline,
    partial: _check_function,
    (KDTree, BallTree): _check_binary_tree,
    (SVC, NuSVC, SVR, NuSVR, OneClassSVM): _check_svm,
    (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array): _check_sparse,
}

_BOOSTERS = {
    is_xgboost: _check_xgboost,
    is_lightgbm: _check_lightgbm,
    is_catboost: _check_catboost,
}
