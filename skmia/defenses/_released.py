"""What can be taken out of a fitted model before its file is released."""

import copy
import json
import warnings
from numbers import Integral
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.callers import level_of_user
from .._core.query import unwrap
from .._core.randomness import check_random_state
from .._core.sklearn import Interval, load_tree_types, validate_parameter_constraints
from .._core.skorch_nets import is_skorch
from .._core.types import ArrayLike, Seed
from ..victims import BOOSTED, FORESTS, climb_tree, find_model, read_features, read_state
from ._meta import AnswersProba, inner_has
from ._output import OutputDefense

# What a node of histogram boosting holds of its training rows, and of bins, which growing uses.
_OF_HISTOGRAM_NODES = "count", "gain", "depth", "bin_threshold"
_OF_LIGHTGBM_TREES = (
    "internal_count internal_value internal_weight leaf_count leaf_weight split_gain"
).split()
_OF_XGBOOST_TREES = "sum_hessian", "loss_changes"
# Beside their value, the leaves of linear trees of LightGBM hold what they predict with.
_OF_LIGHTGBM_LEAVES = "leaf_value", "leaf_const", "leaf_coeff"


def strip_tree(tree, decimals=None):
    """Set to 0 what a compiled tree of scikit-learn does not predict with, in place.

    With decimals, values of its leaves are rounded.
    """
    for numbers in (tree.impurity, tree.n_node_samples, tree.weighted_n_node_samples):
        numbers[:] = 0
    leaves = tree.children_left < 0
    tree.value[~leaves] = 0
    if decimals is not None:
        is_classifier = np.max(tree.n_classes) > 1
        rounded = _round_shares if is_classifier else np.round
        tree.value[leaves] = rounded(tree.value[leaves], decimals)


def _round_shares(shares, decimals):
    """Return the rounded shares that still add to 1: the largest takes the rest."""
    rounded = np.round(shares, decimals)
    most = rounded.argmax(axis=-1)[..., None]
    rest = 1 - rounded.sum(axis=-1, keepdims=True)
    largest = np.take_along_axis(rounded, most, axis=-1) + rest
    np.put_along_axis(rounded, most, np.round(largest, decimals), axis=-1)
    return rounded


def strip_histogram_nodes(nodes, decimals=None):
    """Set to 0 what nodes of histogram boosting do not predict with, in place."""
    for name in _OF_HISTOGRAM_NODES:
        nodes[name] = 0
    nodes["value"][nodes["is_leaf"] == 0] = 0
    if decimals is not None:
        nodes["value"] = np.round(nodes["value"], decimals)


def strip_bins(mapper):
    """Take out the edges between bins of numbers, in place; edges of categories are used."""
    mapper.random_state = None
    mapper.n_bins_non_missing_[:] = 0
    mapper.bin_thresholds_ = [
        edges if categorical else edges[:0]
        for edges, categorical in zip(mapper.bin_thresholds_, mapper.is_categorical_, strict=True)
    ]


def strip_booster(booster, decimals=None):
    """Set to 0 what trees of XGBoost do not predict with, in place; return their number."""
    booster.set_attr(best_score=None)
    settings = booster.save_config()
    stored = json.loads(bytes(booster.save_raw("json")))
    trees = _list_booster_trees(stored["learner"]["gradient_booster"])
    for tree in trees:
        _strip_booster_tree(tree, decimals)
    booster.load_model(bytearray(json.dumps(stored), "ascii"))
    booster.load_config(settings)
    return len(trees)


def _strip_booster_tree(tree, decimals):
    """Strip one tree, as JSON holds it."""
    is_leaf = np.array(tree["left_children"]) < 0
    for name in set(_OF_XGBOOST_TREES) & tree.keys():
        tree[name] = np.zeros(len(tree[name])).tolist()
    base = np.array(tree["base_weights"], dtype=np.float64).reshape(len(is_leaf), -1)
    is_vector = int(tree["tree_param"].get("size_leaf_vector", 1)) > 1
    if is_vector and "leaf_weights" not in tree:  # of older versions, which predict with these
        base = np.where(is_leaf[:, None], base, 0.0)
        base = base if decimals is None else np.round(base, decimals)
    else:
        base = np.zeros(base.shape)
    tree["base_weights"] = base.ravel().tolist()
    if decimals is None:
        return
    if is_vector and "leaf_weights" in tree:
        tree["leaf_weights"] = np.round(tree["leaf_weights"], decimals).tolist()
    elif not is_vector:
        values = np.array(tree["split_conditions"], dtype=np.float64)
        values[is_leaf] = np.round(values[is_leaf], decimals)
        tree["split_conditions"] = values.tolist()


def strip_lightgbm(booster, decimals=None):
    """Set to 0 what trees of LightGBM do not predict with, and drop the ranges of the columns.

    Return the number of trees.
    """
    booster.best_score = {}
    lines = booster.model_to_string(num_iteration=-1).split("\n")
    booster.model_from_string("\n".join(_strip_line(line, decimals) for line in lines))
    return booster.num_trees()


def _strip_line(line, decimals):
    name, _, numbers = line.partition("=")
    if name in _OF_LIGHTGBM_TREES:
        return f"{name}={' '.join('0' for _ in numbers.split())}"
    if name == "feature_infos":
        return f"{name}={' '.join('none' for _ in numbers.split())}"
    if name in _OF_LIGHTGBM_LEAVES and decimals is not None:
        return f"{name}={' '.join(repr(round(float(one), decimals)) for one in numbers.split())}"
    # Sizes of the trees would be wrong, and LightGBM finds the trees without them.
    return "" if name == "tree_sizes" else line


def _list_booster_trees(stored):
    """Return the trees of a booster, which one with dropout keeps one level deeper."""
    model = stored.get("gbtree", stored).get("model", {})
    return model.get("trees", ())


# In any estimator of scikit-learn: scores, histories and answers of the fit, and its generators.
_ANYWHERE = (
    "_best_coefs _best_intercepts _ewa_cost _ewa_cost_min _ewa_inertia _ewa_inertia_min "
    "_feature_subsample_rng _n_samples _n_samples_bootstrap _optimizer _random_seed _random_state "
    "_rng _sample_weight _seeds best_loss_ best_score_ best_validation_score_ bound_ "
    "coef_path_ coefs_paths_ costs_ criterion_ cv_alphas_ cv_results_ cv_values_ dual_gap_ error_ "
    "estimator_errors_ inertia_ inlier_mask_ kl_divergence_ labeled_iter_ "
    "log_marginal_likelihood_value_ loglike_ loss_ loss_curve_ lower_bound_ lower_bounds_ "
    "mse_path_ negative_outlier_factor_ oob_decision_function_ oob_improvement_ oob_prediction_ "
    "oob_score_ oob_scores_ outliers_ raw_covariance_ raw_location_ raw_support_ "
    "reconstruction_err_ reconstruction_error_ refit_time_ stress_ train_score_ transduction_ "
    "validation_score_ validation_scores_"
).split()

# In estimators of these classes, because others predict with what they call the same.
_IN_CLASSES = {
    "AffinityPropagation": "affinity_matrix_ cluster_centers_indices_ labels_",
    "BaseDiscreteNB": "category_count_ class_count_ feature_all_ feature_count_",
    "BaseSGD": "_expanded_class_weight",
    "BernoulliRBM": "h_samples_",
    "Birch": "dummy_leaf_ labels_ root_",
    "GaussianNB": "class_count_",
    "GaussianProcessRegressor": "y_train_",
    "HDBSCAN": "_raw_data",
    "Isomap": "embedding_",
    "LogisticRegressionCV": "scores_",
    "MeanShift": "labels_",
    "MinCovDet": "dist_ support_",
    "MiniBatchDictionaryLearning": "_A _B",
    "MiniBatchKMeans": "_counts",
    "MiniBatchNMF": "_components_denominator _components_numerator",
    "NeighborhoodComponentsAnalysis": "random_state_",
    "Nystroem": "component_indices_",
    "_BaseKMeans": "labels_",
    "_PLS": "_x_scores _y_scores x_scores_ y_scores_",
}

# Their predictions or samples draw with the seed.
_DRAWING = {"BaseMixture", "BernoulliRBM", "DummyClassifier", "_BaseNMF", "PatchExtractor"}


def _names_of_classes(kind):
    return {base.__name__ for base in kind.__mro__ if base.__module__.startswith("sklearn.")}


def get_unused(estimator):
    """Return the names of attributes that no prediction of a fitted estimator uses."""
    kinds = _names_of_classes(type(estimator))
    own = [name for kind in kinds for name in _IN_CLASSES.get(kind, "").split()]
    return [name for name in {*_ANYWHERE, *own} if name in vars(estimator)]


_CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_KNOWN = {"imblearn", "lightgbm", "sklearn", "skmia", "xgboost"}
# Their transform asks the inner model for its feature importances.
_ASKING_INSIDE = {"SelectFromModel"}
# Kinds of stored arrays that are, or are computed from, single training records.
_TELLING = "rows", "values", "per-record", "leaf values", "covers", "thresholds", "edges"

# Of more decimals than this, double precision keeps none.
DECIMALS = [Interval(Integral, 0, 15, closed="both"), None]


def strip_state(model: BaseEstimator, *, decimals: int | None = None) -> BaseEstimator:
    """Copy a fitted model without the stored state that its predictions do not use.

    The file of a fitted model contains more than predictions need: the numbers of training rows in
    each node of a tree, seeds that repeat bootstrap samples, out-of-bag predictions, labels of
    training records, histories of the loss, and results of a search. The copy does not contain
    them, and its predictions are bitwise equal.

    Strip a model before you release its file, but do not rely on it: stripping is hardly ever
    sufficient, see Notes.

    Parameters
    ----------
    model : estimator
        Fitted estimator of scikit-learn, also one that holds others, such as a Pipeline or a
        search; an XGBoost or LightGBM model; a skorch net. It is not changed.
    decimals : int or None, default=None
        If an int, leaf values of trees are also rounded to this number of decimals, which changes
        predictions. In forests these are class fractions or means, in boosting steps of the raw
        score, and in linear trees of LightGBM also the coefficients. One decimal hides a part of
        the leak, at a cost in accuracy that you have to measure. More decimals, or half precision,
        hide little from an attacker who knows about the rounding.

    Returns
    -------
    stripped : estimator
        Copy of the same class. Without ``decimals``, predictions, probabilities, decision values
        and transformed records are bitwise equal.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If leaf values are to be rounded and the model has none, as linear models and XGBoost with
        ``booster="gblinear"``, or holds a model of CatBoost, whose copies cannot be changed.

    Warns
    -----
    UserWarning
        If predictions use state that depends on single training records, such as stored rows,
        leaf values and thresholds. It stays in the copy, and the warning names it.

    See Also
    --------
    skmia.victims.read_state : Lists what a model stores, before and after.
    ReleasedFileDefense : Classifier that is stripped after each fit.
    skmia.attacks.NodeEquationsAttack : Attacks the file of a tree model, stripped or not.

    Notes
    -----
    Set to 0 in trees are numbers of rows, impurities, sums of hessians, gains, and the values of
    inner nodes. LightGBM also loses the smallest and largest value of each column, and histogram
    boosting the bin edges of its features, which are training values that no split need use.
    Deleted are out-of-bag scores and predictions, scores and histories of training and validation,
    results of searches and paths of regularization, labels and distances of training records,
    counts of naive Bayes, generators and the states of optimizers. Seeds of ensembles and of most
    other estimators become None. Single numbers per column, such as a variance, stay. Attributes of
    estimators of other packages stay; estimators inside of them are stripped. Models of CatBoost
    keep the numbers of rows of their leaves, because editing their file would change the last digit
    of leaf values.

    The copy cannot continue training (``warm_start``, ``partial_fit``), and attributes that
    describe the training are removed or meaningless: feature importances, pruning and plots of
    trees, Shapley values that weight paths by the number of rows.

    For boosting, stripping has almost no effect, because each leaf value is an equation in the
    membership of candidates. Models that predict with training rows, such as nearest neighbors and
    support vector machines, keep the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia.defenses import strip_state
    >>> X, y = load_iris(return_X_y=True)
    >>> net = MLPClassifier((10,), tol=1e-2, max_iter=1000, random_state=0).fit(X, y)
    >>> stripped = strip_state(net)
    >>> hasattr(net, "loss_curve_"), hasattr(stripped, "loss_curve_")
    (True, False)
    >>> bool((net.predict_proba(X) == stripped.predict_proba(X)).all())
    True
    """
    stripped = make_stripped(model, decimals)
    remaining = _list_remaining(stripped)
    if remaining:
        warnings.warn(
            f"Predictions of this {type(unwrap(model)).__name__} use {remaining}, which were "
            "computed from training records and stay in the copy. It still leaks: attack it before "
            "you release its file.",
            UserWarning,
            stacklevel=level_of_user(),
        )
    return stripped


def make_stripped(model, decimals):
    """Copy a fitted model as :func:`strip_state` does, without a word on what remains."""
    check_is_fitted(model)
    validate_parameter_constraints({"decimals": DECIMALS}, {"decimals": decimals}, "strip_state")
    stripped = copy.deepcopy(model)
    n_rounded = _strip_all(stripped, decimals)
    if decimals is not None and not n_rounded:
        raise ValueError(
            f"{type(unwrap(model)).__name__} has no leaf values to round; set decimals=None."
        )
    return stripped


def _strip_all(model, decimals):
    """Strip an object and all that is inside of it, in place; returns its number of trees."""
    tree_type, predictor_type = load_tree_types()
    queue, seen, n_trees = [model], {}, 0
    while queue:
        value = queue.pop()
        if id(value) in seen or isinstance(value, _CODE):
            continue
        seen[id(value)] = value  # held, so that its number is not given to another object
        if decimals is not None and _package_of(value) == "catboost":
            raise ValueError(
                f"Leaf values of {type(value).__name__} cannot be rounded in a copy, as CatBoost "
                "does not change copies; set decimals=None."
            )
        if isinstance(value, tree_type):
            strip_tree(value, decimals)
        elif isinstance(value, predictor_type):
            strip_histogram_nodes(value.nodes, decimals)
        elif isinstance(value, BaseEstimator):
            n_trees += _strip_estimator(value, decimals)
        n_trees += isinstance(value, (tree_type, predictor_type))
        queue.extend(_iter_inside(value))
    return n_trees


def _has_booster(value):
    state = getattr(value, "__dict__", {})
    return _package_of(value) in _STRIPPING and state.get("_Booster") is not None


def _iter_inside(value):
    """Return what an object holds that can hold estimators."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else ()
    if type(value).__name__ in _ASKING_INSIDE or _package_of(value) in ("numpy", "torch"):
        return ()
    return getattr(value, "__dict__", {}).values()


def _package_of(value):
    return type(value).__module__.partition(".")[0]


def _strip_estimator(estimator, decimals):
    """Take out of one estimator what it does not predict with; return the trees of its booster."""
    if is_skorch(estimator):
        estimator.history_ = type(estimator.history_)()
        estimator.optimizer_.state.clear()
    if _package_of(estimator) not in _KNOWN:
        return 0
    for name in get_unused(estimator):
        delattr(estimator, name)
    state = vars(estimator)
    draws = _names_of_classes(type(estimator)) & _DRAWING
    if isinstance(state.get("random_state"), _SEEDS) and not draws:
        estimator.random_state = None
    if state.get("targets_") is not None:
        estimator.targets_ = None  # of defenses that train on soft labels
    if hasattr(estimator, "bin_thresholds_"):
        strip_bins(estimator)
    if not _has_booster(estimator):
        return 0
    state.pop("evals_result_", None)
    for name in {"_evals_result", "_best_score"} & state.keys():
        state[name] = {}
    return _STRIPPING[_package_of(estimator)](state["_Booster"], decimals)


_STRIPPING = {"lightgbm": strip_lightgbm, "xgboost": strip_booster}
_SEEDS = (int, np.integer, np.random.RandomState, np.random.Generator)


def _list_remaining(model):
    """Return the kinds of stored arrays that depend on single records, as text."""
    state = [one for one in read_state(model).arrays if _says_anything(one.array)]
    kinds = {one.kind for one in state}
    if any("split_conditions" in one.path for one in state):
        kinds.add("leaf values")  # of XGBoost, in one array with its thresholds
    found = [kind for kind in _TELLING if kind in kinds]
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _says_anything(array):
    array = array.data if sparse.issparse(array) else array
    return array.dtype != bool and (array.dtype.kind not in "fiu" or array.any())


def move_thresholds(
    model: BaseEstimator, X: ArrayLike, *, random_state: Seed = None
) -> BaseEstimator:
    """Copy a fitted tree model with each threshold moved at random between two training values.

    A tree of scikit-learn splits exactly halfway between two values of its training records, so
    each threshold can be recognized as the midpoint of two candidate values. The copy has a uniform
    draw between the nearest values of training records at the node. Predictions on the training
    records stay bitwise equal; on other records they may change.

    This weakens :class:`~skmia.attacks.SplitThresholdAttack` but does not defeat it, see Notes.
    Numbers of rows and leaf values remain, so also use :func:`strip_state`.

    Parameters
    ----------
    model : estimator
        Fitted decision tree, random forest, extra trees or gradient boosting of scikit-learn, a
        Pipeline that ends in one or a search that has chosen one. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Features of all training records.
    random_state : int, RandomState instance or None, default=None
        Controls the draws. An attacker who can guess the seed can undo the draws, so leave it None
        for a release.

    Returns
    -------
    moved : estimator
        Copy of the same class.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If it is of another kind.
    ValueError
        If the records do not have the features of the model.

    See Also
    --------
    strip_state : Removes the state that predictions do not use.

    Notes
    -----
    No training record at a node has a value in the gap, and small gaps are more probable, so moved
    thresholds still reveal that some candidates are not members. If the attack finds that
    thresholds are not midpoints, it weighs all gaps around each threshold. Rounded thresholds would
    reveal more: the coarsest decimal in the gap shows that the gap contains no coarser one.
    Histogram boosting and XGBoost are not supported, because their leaf values reveal as much after
    the move.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.defenses import move_thresholds
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> moved = move_thresholds(tree, X)
    >>> bool((moved.tree_.threshold != tree.tree_.threshold).any())
    True
    >>> bool((moved.predict_proba(X) == tree.predict_proba(X)).all())
    True
    """
    check_is_fitted(model)
    moved = copy.deepcopy(model)
    move_in_place(moved, X, check_random_state(random_state))
    return moved


def move_in_place(model, X, rng):
    """Move the thresholds of a fitted model of trees that was trained on some records."""
    found, steps = find_model(model)
    if not isinstance(found, (BaseDecisionTree, *FORESTS, *BOOSTED)):
        raise TypeError(
            "Thresholds are moved in decision trees, random forests, extra trees and gradient "
            "boosting of scikit-learn, also at the end of a Pipeline; got "
            f"{type(unwrap(model)).__name__}."
        )
    X = read_features(found, steps, X).astype(np.float32)
    if not len(X):
        raise ValueError("X must hold the rows that the model was trained on; got none.")
    for one in np.ravel(getattr(found, "estimators_", [found])):
        _move_tree_thresholds(one.tree_, X, rng)


def _move_tree_thresholds(tree, X, rng):
    """Move the thresholds of one tree."""
    node, row = climb_tree(tree, tree.apply(X))
    values = X[row, tree.feature[node]].astype(np.float64)
    below = values <= tree.threshold[node]
    low, high = np.full(tree.node_count, -np.inf), np.full(tree.node_count, np.inf)
    np.maximum.at(low, node[below], values[below])
    above = values > tree.threshold[node]  # a missing value is neither
    np.minimum.at(high, node[above], values[above])
    found = np.flatnonzero(np.isfinite(low) & np.isfinite(high) & np.isfinite(tree.threshold))
    drawn = rng.uniform(low[found], high[found])
    fits = (low[found] <= drawn) & (drawn < high[found])
    tree.threshold[found[fits]] = drawn[fits]


class ReleasedFileDefense(AnswersProba, OutputDefense):
    """Classifier whose stored state is stripped after it was fitted.

    The fitted classifier is replaced by a copy without the state that its predictions do not use,
    see :func:`strip_state`. Predictions stay bitwise equal, unless leaf values are rounded or
    thresholds moved; moved thresholds change no prediction for the training rows. The defense works
    against attacks on the file and not against queries, and for boosting models stripping alone has
    almost no effect.

    Parameters
    ----------
    estimator : classifier
        Unfitted classifier, or a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.
    decimals : int or None, default=None
        Number of decimals to which leaf values of trees are rounded. If None, they stay.
    move : bool, default=False
        Whether thresholds of trees are moved between two training values, see
        :func:`move_thresholds`. The classifier has to be one that this function takes.
    random_state : int, RandomState instance or None, default=None
        Controls how thresholds are moved. An attacker who can guess the seed can undo the move, so
        leave it None for a release.

    Attributes
    ----------
    estimator_ : classifier
        Fitted and stripped. This is what to release.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    strip_state : Strips a fitted model, also a regressor or transformer.
    move_thresholds : Moves the thresholds of a fitted model.

    Notes
    -----
    :class:`~skmia.attacks.NodeEquationsAttack` reads stripped and rounded files, and
    :class:`~skmia.attacks.SplitThresholdAttack` those with moved thresholds: these are the adaptive
    attacks on this defense.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.defenses import ReleasedFileDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(min_samples_leaf=5, random_state=0)
    >>> defended = ReleasedFileDefense(forest).fit(X, y)
    >>> int(defended.estimator_.estimators_[0].tree_.n_node_samples.max())
    0
    >>> bool((defended.predict_proba(X) == forest.fit(X, y).predict_proba(X)).all())
    True
    """

    _parameter_constraints = {
        **OutputDefense._parameter_constraints,
        "decimals": DECIMALS,
        "move": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        decimals: int | None = None,
        move: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.decimals = decimals
        self.move = move
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        super().fit(X, y, **fit_params)
        self.estimator_ = make_stripped(self.estimator_, self.decimals)
        if self.move:
            move_in_place(self.estimator_, X, check_random_state(self.random_state))
        return self

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the decision values of the stripped classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        with self._asking(X):
            return self.estimator_.decision_function(X)
