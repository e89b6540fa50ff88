"""Models whose thresholds do not tell of values."""

from numbers import Integral

from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import BaseDecisionTree, ExtraTreeClassifier, ExtraTreeRegressor

from ..._core.sklearn import read_draws
from ..boosters import OBLIVIOUS, load_catboost, load_lightgbm
from ..node_equations.gradient_boosters import find_numbers, load_booster
from ..node_equations.refusals import UNBALANCED

_DRAWN = "they are drawn at random between the values of a node, and not computed from values"
_UNIFORM = "feature_border_type='Uniform' spaces them evenly, and does not compute them from values"
_CATEGORIES = "it splits on categories alone, which have no thresholds"
_TARGETS = "it splits on categories; encode them as numbers"


def why_not_grown(model):
    """Why the thresholds of a fitted decision tree or forest are not read, or None."""
    kinds = ExtraTreesClassifier, ExtraTreesRegressor, ExtraTreeClassifier, ExtraTreeRegressor
    if isinstance(model, kinds) or getattr(model, "splitter", "best") != "best":
        return _DRAWN
    if hasattr(model, "samplers_"):
        return UNBALANCED
    return _why_not_sampled(model) if getattr(model, "bootstrap", False) else None


def _why_not_sampled(model):
    if isinstance(model.max_samples, Integral) and not read_draws(model)[1]:
        return f"max_samples={model.max_samples} leaves open of how many rows its samples are"
    return None


def why_not_bagged(model):
    """Why the thresholds of fitted bagged trees are not read, or None."""
    return why_not_boosted_in_turn(model) or _why_not_sampled(model)


def why_not_boosted_in_turn(model):
    """Why the thresholds of a fitted AdaBoost are not read, or None."""
    for one in model.estimators_:
        if not isinstance(one, BaseDecisionTree):
            return f"it holds a {type(one).__name__}, and only decision trees are known"
        if why_not_grown(one) is not None:
            return _DRAWN
    return None


def why_not_histogram(model):
    """Why the edges of a fitted histogram gradient boosting are not read, or None."""
    found = model.is_categorical_
    return _CATEGORIES if found is not None and all(found) else None


def why_not_xgboost(model):
    """Why the thresholds of a fitted XGBoost model are not read, or None."""
    learner, _ = load_booster(model)
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        return f"its booster is {kind!r}, and only 'gbtree' is known"
    method = model.get_params().get("tree_method") or "auto"
    if method not in ("auto", "hist"):
        return f"tree_method={method!r} makes thresholds in a way that is not known"
    trees = learner["gradient_booster"]["model"]["trees"]
    of_numbers = any(find_numbers(tree).any() for tree in trees)
    return (
        None if of_numbers or not any(any(t.get("split_type", ())) for t in trees) else _CATEGORIES
    )


def why_not_lightgbm(model):
    """Why the thresholds of a fitted LightGBM model are not read, or None."""
    text = load_lightgbm(model)
    of_numbers = any(tree["num_cat"] < len(tree["threshold"]) for tree in text.trees)
    return None if of_numbers or not any(t["num_cat"] for t in text.trees) else _CATEGORIES


def why_not_catboost(model):
    """Why the thresholds of a fitted CatBoost model are not read, or None."""
    stored = load_catboost(model)
    if OBLIVIOUS not in stored:
        return "its grow_policy is not 'SymmetricTree'"
    trees, options = stored[OBLIVIOUS], stored["model_info"]["params"]["data_processing_options"]
    if any(
        one["split_type"] != "FloatFeature" for tree in trees for one in tree.get("splits") or ()
    ):
        return _TARGETS
    kind = options["float_features_binarization"]["border_type"]
    return _UNIFORM if kind == "Uniform" else None
