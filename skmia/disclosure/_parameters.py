"""Number of parameters of a fitted model, by its kind."""

import json
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import NotFittedError
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from .._core.kinds import is_classifier
from .._core.optional import is_of_package
from .._core.sklearn import read_baseline, read_trees_of_boosting
from .._core.skorch_nets import is_skorch
from ..victims import (
    BOOSTED,
    FORESTS,
    HISTOGRAMS,
    OBLIVIOUS,
    LinearModel,
    find_model,
    is_catboost,
    is_lightgbm,
    is_linear_model,
    is_xgboost,
    load_catboost,
    load_lightgbm,
    read_state,
)

_FORMULA = "2 per inner node, 1 per leaf"


def count_tree_parameters(model):
    """Return the number of parameters, formula, and parameters of the largest tree.

    None for other models.
    """
    if isinstance(model, BaseDecisionTree):
        free = _count_free(model)
        return _count_tree(model), f"2 per inner node, {free} per leaf"
    if isinstance(model, FORESTS):
        return _sum_ensemble(
            [_count_tree(tree) for tree in model.estimators_], 0, "sum over all trees"
        )
    if isinstance(model, BOOSTED):
        sizes = [_count_of_trees(tree.tree_.n_leaves) for tree in model.estimators_.ravel()]
        return _sum_ensemble(sizes, model.estimators_.shape[1])
    if isinstance(model, HISTOGRAMS):
        trees = read_trees_of_boosting(model)
        sizes = [_count_of_trees(int(tree.nodes["is_leaf"].sum())) for tree in trees]
        return _sum_ensemble(sizes, read_baseline(model).size)
    if is_xgboost(model):
        return _count_xgboost(model)
    if is_lightgbm(model):
        return _count_lightgbm(model)
    return _count_catboost(model) if is_catboost(model) else None


def _count_free(model):
    """Return the free numbers in a leaf of a single tree, over all of its outputs."""
    if is_classifier(model):
        return int((model.tree_.n_classes - 1).sum())
    return int(model.tree_.n_outputs)


def _count_tree(model):
    n_leaves = int(model.tree_.n_leaves)
    return 2 * (n_leaves - 1) + n_leaves * _count_free(model)


def _count_of_trees(n_leaves, n_numbers=None):
    """Return the parameters of a tree by its numbers of leaves and of numbers in all leaves.

    It has one leaf more than inner nodes, and by default one number in each leaf.
    """
    return int(2 * (n_leaves - 1) + (n_leaves if n_numbers is None else n_numbers))


def _sum_ensemble(sizes, n_starts, formula=f"{_FORMULA}, and start values"):
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
    n_parallel = int(stored["model"]["gbtree_model_param"]["num_parallel_tree"])
    per_round = (max(groups) + 1) * n_parallel
    best = learner["attributes"].get("best_iteration")
    used = trees if best is None else trees[: (int(best) + 1) * per_round]
    # One start value, or one of each output.
    n_starts = str(learner["learner_model_param"]["base_score"]).count(",") + 1
    sizes = [int(tree["tree_param"]["size_leaf_vector"]) for tree in used]
    per_leaf = max([1, *sizes])
    leaves = [int((np.array(tree["left_children"]) < 0).sum()) for tree in used]
    formula = f"2 per inner node, {per_leaf} per leaf, and start values"
    return _sum_ensemble([_count_of_trees(n, n * per_leaf) for n in leaves], n_starts, formula)


def _count_lightgbm(model):
    # Trees after the best round are not kept.
    trees = load_lightgbm(model).trees
    leaves = [(len(tree["leaf_value"]), len(tree["leaf_coeff"])) for tree in trees]
    is_linear = any(n_weights for _, n_weights in leaves)
    formula = f"{_FORMULA} and 1 per coefficient of leaves" if is_linear else _FORMULA
    return _sum_ensemble([_count_of_trees(n, n + n_weights) for n, n_weights in leaves], 0, formula)


def _count_catboost(model):
    stored = load_catboost(model)
    if OBLIVIOUS not in stored:
        return None, "its grow_policy is not 'SymmetricTree'"
    sizes = [
        2 * len(tree.get("splits") or ()) + len(tree["leaf_values"]) for tree in stored[OBLIVIOUS]
    ]
    formula = "2 per level, 1 per leaf and output, and start values"
    return _sum_ensemble(sizes, int(np.size(stored["scale_and_bias"][1])), formula)


# Columns up to which the matrix of second derivatives is decomposed, which takes seconds.
_MOST_COLUMNS = 2_000


def measure_effective_dof(model, X):
    """Return the effective degrees of freedom of a fitted model, or None if they are not known.

    A leaf predicts the mean of its rows, so a tree has as many as leaves and a forest their mean
    over its trees. Penalized linear models have the trace of X'WX (X'WX + penalty)^-1, with an
    intercept that is not penalized.
    """
    found, steps = find_model(model)
    if isinstance(found, BaseDecisionTree):
        return float(found.tree_.n_leaves)
    if isinstance(found, FORESTS):
        return float(np.mean([tree.tree_.n_leaves for tree in found.estimators_]))
    linear = _find_linear(found)
    if linear is None:
        return None
    X = X if steps is None else steps.transform(X)
    if np.shape(X)[1] > _MOST_COLUMNS:
        return None
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    return _trace(linear, X)


def _find_linear(model):
    """Return a linear model of one output whose optimum is known, or None for another kind."""
    if not is_linear_model(model) or np.atleast_2d(model.coef_).shape[0] > 1:
        return None
    linear = LinearModel(model)
    return linear if linear.why_not() is None else None


def _trace(linear, X):
    X = linear.add_ones(X)
    # The second derivative of the loss of a record does not depend on its label.
    curve = linear.loss.curve(linear.outputs(X), np.zeros(len(X)))
    curvature = (X * curve.diagonal).T @ X
    whole = curvature + np.diag(linear.penalty)
    return float(np.trace(linalg.pinvh(whole) @ curvature))


@dataclass(frozen=True)
class ParameterCount:
    """Number of parameters of a model.

    Attributes
    ----------
    n_parameters : int or None
        Free parameters of the model behind searches and steps; None if its kind is not known.
    formula : str
        How they were counted, or why they could not be.
    largest_tree : int or None
        Parameters of the largest single tree of an ensemble.
    buffers : int
        Further numbers that a net stores and does not train, such as means of batches.
    preprocessing : int
        Numbers that the steps before the model have learned.
    """

    n_parameters: int | None
    formula: str
    largest_tree: int | None = None
    buffers: int = 0
    preprocessing: int = 0


def refuse_unfitted(model):
    """Refuse a model that was not fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"model must be fitted; this {type(model).__name__} is not.") from None


def count_parameters(model: object) -> ParameterCount:
    """Count the parameters of a fitted model.

    Trees, forests, boosting (scikit-learn, XGBoost, LightGBM, CatBoost), bagging, votes, linear
    models, perceptrons, torch nets through skorch, support vector machines, nearest neighbors and
    Gaussian processes are known, also at the end of a Pipeline or a search. For other kinds the
    number is None: an unknown number is not 0.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    count : ParameterCount
        ``count.n_parameters`` with ``count.formula``.

    Raises
    ------
    TypeError
        If the model is not an estimator.
    NotFittedError
        If it is not fitted.

    See Also
    --------
    structural_checks : Compares the number with the number of training records.

    Notes
    -----
    Each inner node of a tree counts twice (column and threshold), and each leaf once for each free
    number, which is one for regression and boosting and the number of classes minus one for
    classification; leaves of XGBoost that hold a vector count each output, and those of linear
    trees of LightGBM an intercept and each coefficient. Multinomial logistic regression with K
    classes has K - 1 free vectors of weights. Models that store rows count each stored number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.disclosure import count_parameters
    >>> model = DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True))
    >>> count_parameters(model)
    ParameterCount(n_parameters=6, formula='2 per inner node, 2 per leaf', ...)
    """
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator; got {type(model).__name__}.")
    found, steps = find_model(model)
    if found is None:
        return ParameterCount(None, "Pipelines inside of Pipelines are not counted")
    refuse_unfitted(found)
    n_parameters, formula, *largest = _count_parameters(found)
    buffers = found.module_.buffers() if is_skorch(found) else ()
    n_buffers = int(sum(tensor.numel() for tensor in buffers))
    n_learned = 0 if steps is None else _count_learned(steps)
    return ParameterCount(n_parameters, formula, *(largest or [None]), n_buffers, n_learned)


def _count_parameters(model):
    """Return the number, formula, and for ensembles the number of the largest tree."""
    for count in (count_tree_parameters, _count_linear, _count_net, _count_stored, _count_parts):
        found = count(model)
        if found is not None:
            return found
    return None, f"the number of parameters of {type(model).__name__} is not known"


def _count_linear(model):
    own = {kind.__name__ for kind in type(model).__mro__}
    is_linear = is_of_package(model, "sklearn.linear_model") or own & {"LinearSVC", "LinearSVR"}
    # Discriminant analysis also stores means and covariances of the classes.
    if not is_linear or not hasattr(model, "coef_") or hasattr(model, "priors_"):
        return None
    n_rows, n_columns = np.atleast_2d(np.empty(model.coef_.shape, dtype=bool)).shape
    has_intercept = int(bool(getattr(model, "fit_intercept", True)))
    if own & {"LinearRegression"} and hasattr(model, "rank_"):
        return n_rows * (int(model.rank_) + has_intercept), "rank, and intercept"
    if _is_softmax(model, own, n_rows):
        return (n_rows - 1) * (n_columns + has_intercept), "(classes - 1) x (columns + intercept)"
    return n_rows * (n_columns + has_intercept), "columns, and intercept"


def _is_softmax(model, own, n_rows):
    """Return whether the weights of all classes are determined up to a common vector."""
    is_logistic = own & {"LogisticRegression", "LogisticRegressionCV"}
    one_by_one = model.solver == "liblinear" if is_logistic else True
    return n_rows > 1 and not one_by_one and getattr(model, "multi_class", None) != "ovr"


def _count_net(model):
    if hasattr(model, "coefs_") and hasattr(model, "intercepts_"):
        n_numbers = sum(weights.size for weights in (*model.coefs_, *model.intercepts_))
        return int(n_numbers), "weights and biases"
    if not is_skorch(model):
        return None
    trained = [tensor.numel() for tensor in model.module_.parameters() if tensor.requires_grad]
    return int(sum(trained)), "numbers in trained tensors"


_STORED = ("support_vectors_", "dual_coef_"), ("X_fit_", "dual_coef_"), ("X_train_", "alpha_")


def _count_stored(model):
    """Return models that store rows: the rows and their coefficients."""
    formula = "stored rows x columns, and coefficients"
    for names in _STORED:
        if all(hasattr(model, name) for name in names):
            return int(sum(np.prod(np.shape(getattr(model, name))) for name in names)), formula
    if hasattr(model, "n_samples_fit_") and hasattr(model, "n_features_in_"):
        return int(model.n_samples_fit_ * model.n_features_in_), formula
    if is_of_package(model, "sklearn.gaussian_process") and hasattr(model, "base_estimator_"):
        parts = getattr(model.base_estimator_, "estimators_", [model.base_estimator_])
        return int(sum(np.size(part.X_train_) + len(part.X_train_) for part in parts)), formula
    return None


def _count_parts(model):
    """Return the sum over the models inside of bagging, AdaBoost, votes and stacks."""
    parts = getattr(model, "estimators_", None)
    if not isinstance(parts, list | tuple) or not is_of_package(model, "sklearn"):
        return None
    parts = [*parts, *([model.final_estimator_] if hasattr(model, "final_estimator_") else [])]
    models = [find_model(part)[0] for part in parts if hasattr(part, "fit")]
    counts = [_count_parameters(one) for one in models]
    missing = next((count[1] for count in counts if count[0] is None), None)
    if missing is not None or not counts:
        return None, missing or "it holds no models"
    formula, total = "sum over its models", sum(count[0] for count in counts)
    if hasattr(model, "estimator_weights_"):
        total, formula = total + len(counts), "sum over its models, and their weights"
    # A tree is its own largest one; of a part without trees there is none.
    largest = [
        count[2] if len(count) > 2 else count[0] if isinstance(one, BaseDecisionTree) else None
        for one, count in zip(models, counts, strict=True)
    ]
    return total, formula, None if None in largest else max(largest)


def _count_learned(steps):
    """Numbers that the steps before a model store, but for names, settings and repetitions."""
    kinds = {"names", "seeds", "structure", "labels"}
    arrays = {one.path: one.array for one in read_state(steps).arrays if one.kind not in kinds}
    repeated = {path.replace(".scale_", ".var_") for path in arrays if path.endswith(".scale_")}
    total = 0
    for path, array in arrays.items():
        if path not in repeated and not path.endswith("n_samples_seen_"):
            total += array.nnz if sparse.issparse(array) else array.size
    return int(total)
