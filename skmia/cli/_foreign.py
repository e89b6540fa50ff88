"""Checks of a loaded model before it answers its first record.

The types in a .skops file are checked when it is read, its numbers are not: scikit-learn walks
trees and support vectors in compiled code that takes every index for a valid one, and some
parameters name files.
"""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neighbors import BallTree, KDTree
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from .._core.sklearn import load_tree_types, read_support_vectors, read_trees_of_boosting

# Estimators of an ensemble that a file may ask for beyond those that are fitted.
_MOST_UNFITTED = 10_000


class DamagedModelError(ValueError):
    """The scores of a model cannot come from a fit."""


def check_foreign(model):
    """Check the parameters and the numbers of a loaded model, and take its caches away.

    Parameters
    ----------
    model : estimator
        Changed: every ``memory`` of its parts becomes None, because a cache in a folder that the
        file names would be read, and its pickles run, when models like it are trained.

    Raises
    ------
    DamagedModelError
        If a parameter names a file, a size contradicts what is fitted, or an index points outside.
    """
    for part in _walk(model):
        if isinstance(part, BaseEstimator):
            _check_parameters(part)
            _check_sizes(part)
        for kind, check in _CHECKS.items():
            if isinstance(part, kind):
                check(part)


def _walk(root):
    """Every object that is reachable through attributes and containers, each once."""
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
    n_estimators = estimator.get_params(deep=False).get("n_estimators")
    if fitted is None or n_estimators is None or isinstance(n_estimators, str):
        return
    # Boosting stops early, on request or at a perfect fit.
    if n_estimators > max(_MOST_UNFITTED, len(fitted)):
        raise DamagedModelError(
            f"{type(estimator).__name__} has n_estimators={n_estimators}, and {len(fitted)} fitted "
            "ones"
        )
    _check_widths(estimator, np.ravel(np.asarray(fitted, dtype=object)).tolist())


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
        raise DamagedModelError(
            f"numbers of a {type(part).__name__} in it contradict each other; it is damaged or "
            "forged"
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
    n_features = 2**31 if len(nodes) == 1 else int(nodes["feature_idx"].max()) + 1
    is_leaf = nodes["is_leaf"].astype(bool)
    children = nodes["left"], nodes["right"]
    _check_nodes(*children, is_leaf, nodes["feature_idx"], n_features, predictor)
    categorical = nodes[nodes["is_categorical"].astype(bool) & ~is_leaf]
    for bits in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        _require(bits.ndim == 2 and bits.shape[1] == 8, predictor)
        _require((categorical["bitset_idx"] < len(bits)).all(), predictor)
    _require(np.isfinite(nodes["value"]).all(), predictor)


def _check_boosting(model):
    """Features of the trees are columns of the records."""
    for predictor in read_trees_of_boosting(model):
        _require((predictor.nodes["feature_idx"] < model.n_features_in_).all(), model)


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
    (HistGradientBoostingClassifier, HistGradientBoostingRegressor): _check_boosting,
    (KDTree, BallTree): _check_binary_tree,
    (SVC, NuSVC, SVR, NuSVR, OneClassSVM): _check_svm,
    (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array): _check_sparse,
}
