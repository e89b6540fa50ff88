"""Equations of XGBoost, LightGBM and CatBoost models, and the trees of XGBoost's files."""

import json

import numpy as np
from scipy.special import expit, logit, softmax

from ..._core.kinds import is_classifier
from .._boosters import OBLIVIOUS, CatBoostTree, LightGBMTree, load_catboost, load_lightgbm
from .boosting import add_sum, balance, choose_weights, make_gradients
from .equations import (
    DOUBLE,
    MONOTONIC,
    SINGLE,
    WEIGHTED,
    MarginDrift,
    RoundedValues,
    estimate_steps,
)

# Largest relative error of equations of weights in single precision.
_TOLERANCE = 1e-5


def solve_settings(trees, settings):
    """Return the learning rate and penalty of a booster.

    None if its weights do not follow from any.

    Files of XGBoost do not store them, and a loaded model has the defaults. Each inner node of a
    tree stores the weight that it would have as a leaf, w = -G / (H + penalty), and the sums of
    gradients G of two children add to their parent's. Weights of leaves are multiplied by the
    learning rate. Each inner node therefore gives one equation, which is linear in the penalty, in
    one over the learning rate and in the product of both.
    """
    stated = float(settings["eta"]), float(settings["lambda"])
    parts = [_sum_leaf_gradients(tree) for tree in trees if tree.weights.any()]
    if not parts:
        return stated  # the file was stripped
    rows, targets, sizes = (np.concatenate(part) for part in zip(*parts, strict=True))
    if _fits_gradients(rows, targets, sizes, stated):
        return stated
    penalty, inverse, _ = np.linalg.lstsq(rows, targets, rcond=None)[0]
    if not (np.isfinite(inverse) and inverse > 0 and penalty > -_TOLERANCE):
        return None
    found = 1 / inverse, max(penalty, 0.0)
    return found if _fits_gradients(rows, targets, sizes, found) else None


def _fits_gradients(rows, targets, sizes, settings):
    eta, penalty = settings
    error = rows @ [penalty, 1 / eta, penalty / eta] - targets
    return np.linalg.norm(error) <= _TOLERANCE * np.linalg.norm(sizes @ [1, 1 / eta])


def _sum_leaf_gradients(tree):
    """Return the equations of the inner nodes of a tree, and the sizes of their terms.

    Of nodes and leaves.
    """
    inner = np.flatnonzero(tree.left >= 0)
    rows, targets = np.zeros((len(inner), 3)), -tree.weights[inner] * tree.covers[inner]
    sizes = np.column_stack([np.abs(targets), np.zeros(len(inner))])
    rows[:, 0] = tree.weights[inner]
    for child in (tree.left[inner], tree.right[inner]):
        is_leaf = tree.left[child] < 0
        weight, value, cover = tree.weights[child], tree.conditions[child], tree.covers[child]
        rows[:, 0] -= np.where(is_leaf, 0, weight)
        rows[:, 1] -= np.where(is_leaf, value * cover, 0)
        rows[:, 2] -= np.where(is_leaf, value, 0)
        targets += np.where(is_leaf, 0, weight * cover)
        sizes[:, 0] += np.where(is_leaf, 0, np.abs(weight * cover))
        sizes[:, 1] += np.where(is_leaf, np.abs(value * cover), 0)
    return rows, targets, sizes


_OBJECTIVES = {"binary:logistic", "multi:softprob", "multi:softmax", "reg:squarederror"}
_NEUTRAL = {"alpha": 0.0, "max_delta_step": 0.0}
_SMALLEST = 1e-16  # lower bound of the hessians of a classifier in XGBoost
# Numbers of rows that single precision tells from their neighbors, and their relative error.
_MOST_ROWS = 1e4


class BoosterTree:
    """One tree of a stored booster."""

    def __init__(self, stored):
        self.left, self.right = (np.array(stored[f"{s}_children"]) for s in ("left", "right"))
        self.feature = np.array(stored["split_indices"])
        self.conditions = np.array(stored["split_conditions"], dtype=np.float32)
        self.default_left = np.array(stored["default_left"], dtype=bool)
        self.covers = np.array(stored["sum_hessian"], dtype=np.float64)
        self.weights = np.array(stored["base_weights"], dtype=np.float64)
        # Categories that go right, in pairs with the number of their node.
        nodes, sizes = (stored.get(f"categories_{s}", []) for s in ("nodes", "sizes"))
        self._goes_right = np.repeat(nodes, sizes), np.array(stored.get("categories", []))
        self._of_category = np.array(stored.get("split_type", np.zeros(len(self.left)))) > 0

    def route(self, X):
        """Return the leaf of each row; values below a threshold go left, in single precision."""
        place, rows = np.zeros(len(X), dtype=np.intp), np.arange(len(X))
        while len(rows):
            rows = rows[self.left[place[rows]] >= 0]
            here = place[rows]
            values = X[rows, self.feature[here]]
            with np.errstate(invalid="ignore"):
                below = values < self.conditions[here]
            chosen = self._of_category[here] & ~np.isnan(values)
            if chosen.any():
                below[chosen] = ~self._are_listed(here[chosen], values[chosen])
            left = np.where(np.isnan(values), self.default_left[here], below)
            place[rows] = np.where(left, self.left[here], self.right[here])
        return place

    def _are_listed(self, nodes, values):
        """Return whether categories go right at their nodes."""
        listed_at, listed = self._goes_right
        width = 1 + max(listed.max(initial=0), values.max())
        return np.isin(nodes * width + values, listed_at * width + listed)


def find_numbers(stored):
    """Return the nodes of a stored tree that split on numbers, and not on categories."""
    inner = np.array(stored["left_children"]) >= 0
    return inner & ~np.array(stored.get("split_type", np.zeros(len(inner))), dtype=bool)


def load_booster(model):
    """Return the stored booster and the settings of its trees."""
    booster = model.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    config = json.loads(booster.save_config())["learner"]["gradient_booster"]
    return learner, config.get("tree_train_param", {})


def why_no_xgboost_equations(model):
    """Return the reason why the equations of a booster are not known, or None."""
    learner, settings = load_booster(model)
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind != "gbtree":
        return f"its booster is {kind!r}, and only 'gbtree' is supported"
    if objective not in _OBJECTIVES:
        return (
            f"its objective is {objective!r}, and only {', '.join(sorted(_OBJECTIVES))} are "
            "supported"
        )
    for name, neutral in _NEUTRAL.items():
        if float(settings.get(name, neutral)) != neutral:
            return (
                f"{name}={float(settings[name]):g} changes its equations in a way that is not known"
            )
    if (
        float(settings.get("subsample", 1)) < 1
        and model.get_params().get("sampling_method") == "gradient_based"
    ):
        return "it draws rows by their gradients, and does not store with what chances"
    stored = learner["gradient_booster"]["model"]
    # From XGBoost 3.4 on, a booster of this name has these weights in place of the name "dart".
    if any(weight != 1 for weight in stored.get("weight_drop", ())):
        return "rate_drop or one_drop changes its equations in a way that is not known"
    if int(stored["gbtree_model_param"].get("num_parallel_tree", 1)) > 1:
        return "it grows several trees in each round"
    if solve_settings([BoosterTree(tree) for tree in stored["trees"]], settings) is None:
        return (
            "no learning rate and penalty explain its weights, as after training with alpha, "
            "max_delta_step or constraints"
        )
    return None


def mark_missing(model, X):
    """Return features with NaN for what the model takes for missing."""
    return X if model.missing is None else np.where(X == np.float32(model.missing), np.nan, X)


def read_xgboost(model, X, y, collector):
    """Read the equations of the leaves, round by round, and return the number of training rows."""
    X = mark_missing(model, X)
    learner, settings = load_booster(model)
    stored = learner["gradient_booster"]["model"]
    trees, outputs = [BoosterTree(tree) for tree in stored["trees"]], stored["tree_info"]
    eta, penalty = solve_settings(trees, settings)
    # The weight of the second of two classes multiplies its gradients and hessians.
    given = learner["objective"].get("reg_loss_param", {})
    weights = np.array([1.0, float(given.get("scale_pos_weight", 1))])
    is_weighted = weights[1] != 1
    gradients = make_gradients(model, y, weights if is_weighted else None)
    kept, X = float(settings.get("subsample", 1)), X.astype(np.float32)
    collector.draw(kept)
    n_outputs = max(outputs) + 1
    margins = np.empty((len(X), n_outputs))
    margins[:] = _read_base(learner)
    find = estimate_steps([tree.conditions[tree.left < 0] for tree in trees])
    drift = MarginDrift(*margins.shape)
    n_rows = None
    for start in range(0, len(trees), n_outputs):
        slope, curvature = gradients.at(margins)
        if is_classifier(model):
            # XGBoost doubles the hessians of the softmax.
            curvature = np.maximum((2 if n_outputs > 1 else 1) * curvature, _SMALLEST)
        for k, tree in enumerate(trees[start : start + n_outputs]):
            collector.open(start + k, len(trees))
            leaves, step = tree.route(X), tree.conditions.astype(np.float64) / eta
            if n_rows is None:
                # All records start with the same margin.
                counts = tree.covers / (curvature[0, k] / np.ravel(gradients.weights)[0])
                if is_weighted:
                    n_rows = _count_weighted(tree, eta, penalty, expit(margins[0, 0]), weights)
                else:
                    n_rows = counts[0] if _are_whole(counts) else _lose_count(collector)
            if tree.covers[0]:  # 0 if the file was stripped
                collector.add(leaves, curvature[:, k], tree.covers, precision=SINGLE)
            newton = slope[:, k], step[leaves] * curvature[:, k]
            rounding, terms = find(tree.conditions), curvature[:, k]
            rounded = RoundedValues(rounding / eta, terms, penalty, drift.of(k, terms))
            drift.add(k, rounding[leaves])
            add_sum(collector, leaves, newton, -penalty * step, SINGLE, rounded)
            margins[:, k] += tree.conditions[leaves]
    return n_rows / kept


def _count_weighted(tree, eta, penalty, start, weights):
    """Return the number of training rows of two classes, from the sums of the first root."""
    if not tree.covers[0]:
        return 0.0
    total = tree.covers[0] / (start * (1 - start))
    step = tree.weights[0] if len(tree.left) > 1 else tree.conditions[0] / eta
    # The sum of gradients is start * total minus the weight of the second class.
    second = start * total + step * (tree.covers[0] + penalty)
    return total - second + second / weights[1]


def _are_whole(counts):
    counts = counts[counts < _MOST_ROWS]
    return np.allclose(counts, np.rint(counts), rtol=_TOLERANCE, atol=_TOLERANCE)


def _lose_count(collector):
    """Warn that sums of hessians do not count training rows; return 0 as their number."""
    collector.warn(
        "The sums of hessians in the first tree of the model are not those of whole rows: it was "
        "trained with sample weights or base margins, which it does not store. The equations of "
        "its nodes assume equal weights, so scores are weaker than they could be."
    )
    return 0.0


def _read_base(learner):
    """Return the initial margins of all records: one number, or one for each class."""
    stored = json.loads(learner["learner_model_param"]["base_score"])
    base = np.ravel(np.array(stored, dtype=np.float64))
    return logit(base) if learner["objective"]["name"] == "binary:logistic" else base


_LOSSES = {"Logloss", "MultiClass", "RMSE"}


def why_no_catboost_equations(model):
    """Return the reason why the equations of a booster are not known, or None."""
    stored = load_catboost(model)
    if OBLIVIOUS not in stored:
        return "its grow_policy is not 'SymmetricTree'"
    trees = stored[OBLIVIOUS]
    kinds = {split["split_type"] for tree in trees for split in tree.get("splits") or ()}
    if kinds - {"FloatFeature"}:
        return "it splits on categories or text; encode them as numbers"
    data = stored["model_info"]["params"]["data_processing_options"]
    if data["auto_class_weights"] != "None":
        return WEIGHTED
    weights = np.concatenate([tree["leaf_weights"] for tree in trees])
    is_whole = bool(data["class_weights"]) or np.array_equal(weights, np.rint(weights))
    return None if is_whole else WEIGHTED


def read_catboost(model, X, y, collector):
    stored, X = load_catboost(model), X.astype(np.float32)
    features = stored["features_info"]["float_features"]
    trees = [CatBoostTree(tree, features) for tree in stored[OBLIVIOUS]]
    values = _LeafEquations(model, stored, y) if _are_newton_steps(model, stored) else None
    given = stored["model_info"]["params"]["data_processing_options"]["class_weights"]
    weights = np.array(given)[y] if given else np.ones(len(X))
    for k, tree in enumerate(trees):
        collector.open(k, len(trees))
        leaves = tree.route(X)
        if tree.counts.any():
            collector.add(leaves, weights, tree.counts)
        if values is not None:
            values.add(collector, tree, leaves)
    return 0 if given else trees[0].counts.sum()


def _are_newton_steps(model, stored):
    """Return whether each leaf value is one Newton step of the loss.

    The loss of two classes takes ten steps by default, whose sum is not linear in the members.
    """
    parameters = stored["model_info"]["params"]
    options, boosting = parameters["tree_learner_options"], parameters["boosting_options"]
    loss = parameters["loss_function"]
    return (
        loss["type"] in _LOSSES
        and not parameters["data_processing_options"]["class_weights"]
        and not loss.get("params")
        and is_classifier(model) == (loss["type"] != "RMSE")
        and options["leaf_estimation_method"] == "Newton"
        and options["leaf_estimation_iterations"] == 1
        and not any(options["monotone_constraints"].values())
        and not boosting["model_shrink_rate"]
        and stored["scale_and_bias"][0] == 1
    )


class _LeafEquations:
    """Equations of the leaf values, which follow from the margins before each tree."""

    def __init__(self, model, stored, y):
        parameters = stored["model_info"]["params"]
        self._rate = float(np.float32(parameters["boosting_options"]["learning_rate"]))
        self._penalty = float(np.float32(parameters["tree_learner_options"]["l2_leaf_reg"]))
        self._gradients = make_gradients(model, y.astype(np.float32) if y.dtype.kind == "f" else y)
        self._margins = np.tile(np.array(stored["scale_and_bias"][1], dtype=float), (len(y), 1))

    def add(self, collector, tree, leaves):
        """Add the equations of the values of a tree."""
        slope, curvature = self._gradients.at(self._margins)
        step = tree.values / self._rate
        bent = curvature * step[leaves]
        if slope.shape[1] > 1:
            # The hessian of several classes is a matrix, diag(p) - p p'.
            p = softmax(self._margins, axis=1)
            bent = p * (step[leaves] - (p * step[leaves]).sum(axis=1, keepdims=True))
        for k in range(slope.shape[1]):
            newton = slope[:, k], bent[:, k]
            add_sum(collector, leaves, newton, -self._penalty * step[:, k], DOUBLE, None)
        self._margins += tree.values[leaves]


_OBJECTIVES_LIGHTGBM = {"binary sigmoid:1": 2, "multiclass": 3, "regression": 0}
# Settings whose other values change the equations in a way that is not known.
_NEUTRAL_LIGHTGBM = dict.fromkeys(
    ("lambda_l1", "max_delta_step", "path_smooth", "linear_tree", "use_quantized_grad"), 0.0
)
_WEIGHTS = {"is_unbalance": 0.0, "scale_pos_weight": 1.0}
_BAGS_OF_CLASSES = "pos_bagging_fraction", "neg_bagging_fraction"
# Variance of hessians that are equal, relative to their squared mean, up to rounding.
_ALIKE = 1e-8


def why_no_lightgbm_equations(model):
    """Return the reason why the equations of a booster are not known, or None."""
    text = load_lightgbm(model)
    settings, objective = text.settings, text.header.get("objective", "custom")
    if objective.split(" num_class")[0] not in _OBJECTIVES_LIGHTGBM:
        return f"its objective is {objective!r}, and its gradients are not supported"
    if settings["boosting"] not in ("gbdt", "gbrt") or settings["data_sample_strategy"] == "goss":
        kind = settings["boosting"] if settings["boosting"] != "gbdt" else "goss"
        return f"its boosting is {kind!r}, and only 'gbdt' on all rows is supported"
    for name, neutral in _NEUTRAL_LIGHTGBM.items():
        if float(settings.get(name, neutral)) != neutral:
            return f"{name}={settings[name]} changes its equations in a way that is not known"
    shares = [name for name in _BAGS_OF_CLASSES if float(settings.get(name, 1)) < 1]
    if shares and int(settings.get("bagging_freq", 0)) > 0:
        return f"{shares[0]}={settings[shares[0]]} leaves out other shares of each class"
    if settings.get("monotone_constraints"):
        return MONOTONIC
    return WEIGHTED if _is_weighted_inside(text) and _find_inside(text) is None else None


def _is_weighted_inside(text):
    """Whether labels have weights in the loss, without which the first margin is computed."""
    return any(float(text.settings.get(name, one)) != one for name, one in _WEIGHTS.items())


def _count_root_rows(text):
    """Return the number of rows of the first tree; 0 if the file was stripped."""
    return int(sum(text.trees[0]["leaf_count"]))


def read_lightgbm(model, X, y, collector):
    """Read the equations of the leaves, round by round, and return the number of training rows."""
    text = load_lightgbm(model)
    trees = [LightGBMTree(tree) for tree in text.trees]
    n_outputs = int(text.header.get("num_tree_per_iteration", 1))
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
    drift = MarginDrift(*margins.shape)
    for start in range(0, len(trees), n_outputs):
        slope, curvature = (part.astype(np.float32) for part in gradients.at(margins))
        for k, tree in enumerate(trees[start : start + n_outputs]):
            collector.open(start + k, len(trees))
            leaves, terms = tree.route(X), factor * curvature[:, k].astype(float)
            penalty = penalties[start + k]
            # The first tree of each output holds the initial margin, without a learning rate.
            eta, base = (tree.shrinkage, 0.0) if start else (rate, bases[k])
            margins[:, k] += tree.values[leaves] - base
            rounding = find(tree.values)
            rounded = RoundedValues(rounding / eta, terms, penalty, drift.of(k, terms))
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
    """Return the share of the training rows in the sample of each round."""
    draws = int(settings.get("bagging_freq", 0)) > 0
    return float(settings.get("bagging_fraction", 1)) if draws else 1.0


def _add_counts(collector, tree, leaves, terms, mean, unlike):
    if tree.counts.any():
        collector.add(leaves, np.ones(len(leaves)), tree.counts)
    if tree.weights.any():
        collector.add(leaves, terms, tree.weights / mean, precision=SINGLE, unlike=unlike)


def _find_weights(model, text, first, penalties):
    """Read the weights of rows, and the initial margins, from the first tree of each output.

    All records start with the same margin, and therefore with the same hessian.

    Return weights of shape (n_classes,): weights of the classes; None if rows have none, or weights
    that are not known.
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
    unlike = np.sum(counts * (sums / counts - 1) ** 2) / (len(counts) - len(grown))
    if unlike < _ALIKE:
        return None, bases, 0.0, 1.0
    given = getattr(model, "class_weight", None)
    if isinstance(given, dict):
        return np.array([given.get(c, 1.0) for c in model.classes_.tolist()]), bases, 0.0, 1.0
    if given == "balanced" and len(bases) == 1:
        (weights, shares), tree = balance(_count_root_rows(text)), first[0]
        steps = (tree.values - bases[0]) / float(text.settings["learning_rate"])
        found = choose_weights(
            weights,
            shares * _count_root_rows(text),
            tree.counts,
            steps,
            expit(bases[0]),
            penalties[0],
        )
        if found is not None:
            return weights[found], bases, 0.0, 1.0
    if len(bases) > 1:
        p = softmax(bases)[0]
        bend = len(bases) / (len(bases) - 1) * p * (1 - p)
    else:
        bend = expit(bases[0]) * (1 - expit(bases[0])) if is_classifier(model) else 1.0
    return None, bases, unlike, first[0].weights.sum() / first[0].counts.sum() / bend


def _find_inside(text):
    """Return weights of two classes in the loss, and the margin of their shares without weights.

    They follow from the number of rows of the second class, with which all leaves of the first tree
    have whole numbers of them.

    Return bases of shape (1,): both None if no number fits, or rows were drawn.
    """
    tree, total = LightGBMTree(text.trees[0]), _count_root_rows(text)
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
    """Return the initial margin of all rows, of which the first tree saw a sample alone.

    The hessian that all records start with gives the share of the two classes.
    """
    if not text.header.get("objective", "").startswith("binary"):
        return bases
    bend = min(first[0].weights.sum() / first[0].counts.sum(), 0.25)
    away = np.arccosh(0.5 / np.sqrt(bend)) * 2  # p (1 - p) is 1 / (4 cosh(margin / 2)^2)
    return np.copysign(away, bases)


def _list_penalties(text, trees):
    """Return penalty of each leaf of each tree: some splits on categories have one of their own.

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
