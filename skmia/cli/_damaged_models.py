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
from sklearn.base import BaseEstimator
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
from .._core.escaping import visible
from .._core.kinds import is_classifier
from .._core.sklearn import (
    list_fitted_estimators,
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
    """Check the functions of a loaded model, which a pickle may hold anyway, and all else."""
    for part in _walk_objects(model):
        if isinstance(part, partial) and not all(_expect_function(part)):
            name = getattr(part.func, "__qualname__", type(part.func).__name__)
            raise DamagedModelError(
                f"it holds a call of {visible(name)}, which is not known to be safe. Of a model "
                "that you trust, a pickle with --trust-pickle is opened in any case"
            )
        if is_catboost(part) and not _can_be_read(part):
            raise DamagedModelError(
                "CatBoost lets nobody read the trees of a model with columns of texts or "
                "embeddings, so that they cannot be checked. Of a model that you trust, a pickle "
                "with --trust-pickle is opened in any case"
            )
    check_parts(model)


def check_parts(model):
    """Check the parameters and the numbers of a loaded model, and take its caches away."""
    for part in _walk_objects(model):
        if isinstance(part, BaseEstimator):
            _check_parameters(part)
            _check_sizes(part)
            if hasattr(part, "fit") and not is_fitted(part):
                continue  # a recipe within an ensemble
        for kind, expect in _EXPECTED.items():
            if isinstance(part, kind):
                _refuse_contradiction(expect(part), part)
        for is_booster, expect in _EXPECTED_OF_BOOSTERS.items():
            if is_booster(part):
                _refuse_contradiction(expect(part), part)


def _refuse_contradiction(expected, part):
    """Refuse a part at the first condition that does not hold; the others are not computed."""
    if not all(map(np.all, expected)):
        name = "booster" if isinstance(part, dict) else type(part).__name__
        raise DamagedModelError(
            f"numbers of a {name} in it contradict each other; it is damaged or forged"
        )


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
    parts = list_fitted_estimators(estimator)
    _refuse_contradiction(_expect_widths(estimator, parts), estimator)
    n_estimators = estimator.get_params(deep=False).get("n_estimators")
    if n_estimators is None or isinstance(n_estimators, str):
        return
    # Boosting stops early, on request or at a perfect fit.
    if n_estimators > max(_MOST_UNFITTED, len(fitted)):
        raise DamagedModelError(
            f"{type(estimator).__name__} has n_estimators={n_estimators}, and {len(fitted)} fitted "
            "ones"
        )


def _expect_widths(ensemble, parts):
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
            yield subset.size and 0 <= subset.min() and subset.max() < width
            given = len(subset)
        yield own <= max(given, width if subsets is None else given)
        tree = getattr(part, "tree_", None)
        yield tree is None or tree.n_features == own


def _expect_nodes(left, right, is_leaf, feature, n_features):
    """Children come after their parent, as every builder puts them, so that a walk ends."""
    numbers, inner = np.arange(len(left)), ~is_leaf
    yield len(left) > 0
    for child in (left[inner].astype(np.int64), right[inner].astype(np.int64)):
        yield (child > numbers[inner]) & (child < len(left))
    chosen = feature[inner]
    yield (chosen >= 0) & (chosen < n_features)


def _expect_tree(tree):
    state = tree.__getstate__()
    nodes = state["nodes"]
    left, right = nodes["left_child"], nodes["right_child"]
    yield state["node_count"] == len(nodes) == len(state["values"])
    yield (left == -1) == (right == -1)
    yield from _expect_nodes(left, right, left == -1, nodes["feature"], tree.n_features)
    yield np.isfinite(state["values"])


def _expect_predictor(predictor):
    nodes = predictor.nodes
    n_features = 2**31 if len(nodes) <= 1 else int(nodes["feature_idx"].max()) + 1
    is_leaf = nodes["is_leaf"].astype(bool)
    children = nodes["left"], nodes["right"]
    yield from _expect_nodes(*children, is_leaf, nodes["feature_idx"], n_features)
    categorical = nodes[nodes["is_categorical"].astype(bool) & ~is_leaf]
    for bits in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        yield bits.ndim == 2 and bits.shape[1] == 8
        yield categorical["bitset_idx"] < len(bits)
    yield np.isfinite(nodes["value"])


def _expect_owner(model):
    """A tree reads the columns that its model checks the records for, alone or in another model."""
    if hasattr(model, "tree_"):
        yield model.tree_.n_features == model.n_features_in_


def _expect_boosting(model):
    """Features of the trees are columns of the records, and categories are known."""
    is_categorical, edges = read_categories_of_boosting(model)
    yield len(is_categorical) == len(edges) == model.n_features_in_
    for predictor in read_trees_of_boosting(model):
        nodes = predictor.nodes
        yield nodes["feature_idx"] < model.n_features_in_
        split = nodes["is_categorical"].astype(bool) & ~nodes["is_leaf"].astype(bool)
        yield is_categorical[nodes["feature_idx"][split]].all()


def _expect_stages(model):
    """Each stage adds one number for each output, which compiled code writes unchecked."""
    stages = np.asarray(model.estimators_, dtype=object)
    n_outputs = 1
    if is_classifier(model):
        n_outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
        classes = getattr(model.init_, "classes_", model.classes_)
        yield len(classes) == len(model.classes_)
    yield stages.ndim == 2 and stages.shape[1] == n_outputs
    yield model.n_trees_per_iteration_ == n_outputs
    for tree in stages.ravel():
        yield isinstance(tree, BaseDecisionTree) and tree.tree_.value.shape[1:] == (1, 1)


def _expect_vocabulary(model):
    """The columns of the words are 0, 1, 2, ..."""
    found = getattr(model, "vocabulary_", {})
    numbers = sorted(int(number) for number in found.values())
    yield numbers == list(range(len(found)))


def _expect_categories(model):
    """Rare categories are merged into columns that exist."""
    for mapping, n_columns in read_infrequent_categories(model):
        mapping = np.asarray(mapping)
        yield mapping.dtype.kind in "iu"
        yield not mapping.size or (mapping.min() >= 0 and mapping.max() < n_columns)


def _expect_neighbor_labels(model):
    """Neighbors vote for classes that exist; several targets are counted in Python."""
    labels = np.asarray(model._y)
    yield len(labels) == model.n_samples_fit_
    if labels.ndim == 1 and labels.dtype.kind in "iu":
        yield labels.min() >= 0 and labels.max() < len(model.classes_)


def _expect_spline(spline):
    knots, n_knots = np.asarray(spline.t), len(spline.t)
    yield isinstance(spline.k, int | np.integer) and 0 <= spline.k < n_knots
    yield knots.ndim == 1 and np.isfinite(knots).all() and (np.diff(knots) >= 0).all()
    yield len(spline.c) >= n_knots - spline.k - 1 > spline.k


def _expect_function(call):
    """HistGradientBoosting checks its columns of numbers with this function, and no other."""
    plain = (str, bool, type, type(None), list, np.dtype)
    known = call.func is check_array and not call.args
    yield known and all(isinstance(one, plain) for one in call.keywords.values())


def _expect_walk(left, right, is_leaf):
    """Each node is reached once at most from the first, whatever the order of their numbers."""
    seen, level = np.zeros(len(left), dtype=bool), np.zeros(1, dtype=np.int64)
    yield len(left) > 0 and len(left) == len(right)
    while len(level):
        yield (level >= 0) & (level < len(left))
        yield not seen[level].any() and len(np.unique(level)) == len(level)
        seen[level] = True
        inner = level[~is_leaf[level]]
        level = np.concatenate([left[inner], right[inner]])
    return seen & ~is_leaf


def _expect_xgboost(model):
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    yield int(learner["learner_model_param"]["num_feature"]) == model.n_features_in_
    yield from _expect_xgboost_document(learner)


def _expect_xgboost_document(learner):
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
        yield len(columns) == len(left)
        inner = yield from _expect_walk(left, right, left == -1)
        yield (columns[inner] >= 0) & (columns[inner] < width)
        ends = np.add(tree.get("categories_segments", []), tree.get("categories_sizes", []))
        yield ends <= len(tree.get("categories", ()))
    outputs = np.array(stored.get("tree_info", []), dtype=np.int64)
    n_outputs = max(1, *(int(learner["learner_model_param"][key]) for key in _OUTPUTS))
    yield (outputs >= 0) & (outputs < n_outputs)


_OUTPUTS = ("num_class", "num_target")  # of XGBoost


def _expect_lightgbm(model):
    text = load_lightgbm(model)
    width = int(text.header["max_feature_idx"]) + 1
    yield 1 <= width == model.n_features_in_
    for tree in text.trees:
        left, right, columns = tree["left_child"], tree["right_child"], tree["split_feature"]
        n_leaves = len(tree["leaf_value"])
        yield len(left) == len(right) == len(columns) == n_leaves - 1
        numbers = np.arange(len(left))
        for child in (left, right):
            leaves = ~child[child < 0]
            yield leaves < n_leaves
            # Children come after their parent, so that a walk ends.
            yield (child < 0) | ((child > numbers) & (child < len(left)))
        yield (columns >= 0) & (columns < width)


def _expect_catboost(model):
    return _expect_catboost_document(load_catboost(model)) if _can_be_read(model) else ()


def _can_be_read(model):
    """Return whether CatBoost writes a model as JSON."""
    return not (model.get_text_feature_indices() or model.get_embedding_feature_indices())


def _expect_catboost_document(stored):
    """Split and leaves of the trees that split alike at each level; CatBoost checks neither."""
    features = stored["features_info"]
    columns = features.get("float_features", ())
    n_splits = sum(len(column["borders"] or ()) for column in columns)
    is_known = not features.get("categorical_features") and not features.get("ctrs")
    n_outputs = max(1, len(stored["scale_and_bias"][1]))
    for tree in stored.get(OBLIVIOUS, ()):
        splits = tree.get("splits") or ()
        for split in splits:
            yield 0 <= split.get("float_feature_index", 0) < max(1, len(columns))
            yield 0 <= split["split_index"] < (n_splits if is_known else _MOST_SPLITS)
        n_leaves = 2 ** len(splits)
        yield len(tree["leaf_values"]) == n_outputs * n_leaves
        yield len(tree["leaf_weights"]) in (0, n_leaves)


_MOST_SPLITS = 10**7


def check_booster_file(path):
    """Check the numbers of a booster in JSON before the package reads them."""
    if path.suffix != ".json":
        return
    with open(path, "rb") as file:
        stored = json.load(file)
    if "learner" in stored:
        _refuse_contradiction(_expect_xgboost_document(stored["learner"]), stored)
    elif "features_info" in stored:
        _refuse_contradiction(_expect_catboost_document(stored), stored)


def _expect_binary_tree(tree):
    data, order, nodes, bounds = (np.asarray(part) for part in tree.__getstate__()[:4])
    yield data.ndim == 2 and len(order) == len(data)
    yield np.array_equal(np.sort(order), np.arange(len(data)))
    starts, ends = nodes["idx_start"], nodes["idx_end"]
    yield (starts >= 0) & (starts <= ends) & (ends <= len(data))
    numbers = np.arange(len(nodes))
    yield (nodes["is_leaf"] != 0) | (2 * numbers + 2 < len(nodes))
    yield bounds.shape[1:] == (len(nodes), data.shape[1])


def _expect_svm(model):
    n_vectors, found = model.support_vectors_.shape[0], read_support_vectors(model)
    rows, columns = found.coefficients.shape
    yield found.counts >= 0
    is_kernel = model.kernel == "precomputed"  # whose columns are the training rows themselves
    if is_kernel:
        n_vectors, places = len(model.support_), np.asarray(model.support_)
        yield (places >= 0) & (places < model.shape_fit_[0])
        yield model.shape_fit_[0] == model.shape_fit_[1]
    else:
        yield model.support_vectors_.shape[1] == model.shape_fit_[1]
    yield columns == n_vectors and rows >= 1
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) > 1:
        n_pairs = len(classes) * (len(classes) - 1) // 2
        yield found.counts.sum() == n_vectors and len(found.counts) == len(classes)
        yield rows == len(classes) - 1 and len(found.intercepts) == n_pairs
        for calibration in found.calibrations:
            yield len(calibration) in (0, n_pairs)
    if len(model.support_):
        yield len(model.support_) == n_vectors


def _expect_sparse(matrix):
    try:
        matrix.check_format(full_check=True)
    except (ValueError, AttributeError):
        yield False


_TREE, _PREDICTOR = load_tree_types()
_EXPECTED = {
    _TREE: _expect_tree,
    _PREDICTOR: _expect_predictor,
    BaseDecisionTree: _expect_owner,
    (HistGradientBoostingClassifier, HistGradientBoostingRegressor): _expect_boosting,
    (GradientBoostingClassifier, GradientBoostingRegressor): _expect_stages,
    (CountVectorizer, DictVectorizer): _expect_vocabulary,
    OneHotEncoder: _expect_categories,
    (KNeighborsClassifier, RadiusNeighborsClassifier): _expect_neighbor_labels,
    BSpline: _expect_spline,
    (KDTree, BallTree): _expect_binary_tree,
    (SVC, NuSVC, SVR, NuSVR, OneClassSVM): _expect_svm,
    (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array): _expect_sparse,
}

_EXPECTED_OF_BOOSTERS = {
    is_xgboost: _expect_xgboost,
    is_lightgbm: _expect_lightgbm,
    is_catboost: _expect_catboost,
}
