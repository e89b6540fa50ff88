"""Parts of victims that few other tests reach, with answers by hand or of models trained again."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from scipy.special import expit, logit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia.victims import (
    CallableVictim,
    _boosters,
    _capabilities,
    _class_densities,
    _inner_models,
    _model_features,
    _state,
    _training_function,
)
from skmia.victims._node_equations import boosters

X = array([[0.0, 2.0], [1.0, 1.5], [2.0, 0.0], [3.0, 1.0], [4.0, 5.0], [5.0, 2.5], [6.0, 1.0]])
y = array([0, 1, 0, 1, 1, 0, 1])
numbers = array([0.5, 1.0, -2.0, 3.0, 0.0, 4.0, 1.5])


def is_newton(loss="Logloss", is_classifier=True, **changed):
    """Return whether the leaves of a stored CatBoost model are Newton steps, one term changed."""
    stored = {
        "model_info": {
            "params": {
                "loss_function": {"type": loss, "params": changed.get("params", {})},
                "data_processing_options": {"class_weights": changed.get("weights", [])},
                "tree_learner_options": {
                    "leaf_estimation_method": changed.get("method", "Newton"),
                    "leaf_estimation_iterations": changed.get("iterations", 1),
                    "monotone_constraints": changed.get("monotone", {"0": 0, "1": 0}),
                },
                "boosting_options": {"model_shrink_rate": changed.get("shrink", 0)},
            }
        },
        "scale_and_bias": [changed.get("scale", 1), [0.25]],
    }
    return boosters._are_newton_steps(LogisticRegression() if is_classifier else Ridge(), stored)


def ask(function, rows, **settings):
    return CallableVictim(function, ["b", "a"], **settings).predict(rows)


def give_shares(rows):
    return np.column_stack([rows[:, 0], 1 - rows[:, 0]])


def cut(text, n_characters, other="?"):
    return _model_features.CutText(text, n_characters, other)


def complete(pairs, values):
    given = [cut(text, n, other) for text, n, other in pairs]
    return [str(one) for one in _model_features.complete_categories(given, values)]


def decode(*texts):
    raw = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, raw)]).tolist()
    return _model_features._decode_categories({"values": [*b"".join(raw)], "offsets": offsets})


def expand(kind):
    return kind.expand(array([[2.0, 3.0], [5.0, -1.0]]))


def prior(model):
    found = _class_densities._read_log_priors(model.fit(np.abs(X), y))
    return None if found is None else np.exp(found)


def lose_rows(**solver):
    model = QuadraticDiscriminantAnalysis(reg_param=0.25).fit(X, y)
    vars(model).update(solver)
    law = _class_densities._JointNormal(model, X, y)
    return law._lost == _class_densities.lost_by_quadratic(), law._lost, law._kept


part = _state.ModelPart(3, "model.coef_", "coef_")


def answer_by_function(values, kind="logits", n_classes=2):
    model = NS(
        forward=lambda model, X: values, model_=None, kind=kind, classes_=np.arange(n_classes)
    )
    return _training_function.FunctionClassifier._ask(model, X[:2])


def list_items(value):
    part = _state.ModelPart(value, "model", None, None)
    return [(one.path, one.value) for one in _state._iter_items(part)]


dots = "\N{HORIZONTAL ELLIPSIS}"
tree = DecisionTreeClassifier(random_state=0)
searched = GridSearchCV(make_pipeline(StandardScaler(), tree), {}, cv=2).fit(X, y)
nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), tree)).fit(X, y)
pairs = NS(X=X, y=array([2, 0, 1, 2, 1, 0, 0]), rows=None, child=lambda name, member: Part(name))


class Part:
    """A part of a model, whose fields are replaced."""

    def __init__(self, name, **fields):
        self.name, self.fields = name, fields

    def _replace(self, **fields):
        return Part(self.name, **fields)


def list_pairs(rows=None):
    inner = NS(**vars(pairs) | {"rows": rows})
    model = NS(classes_=array([0, 1, 2]), estimators_=[1, 2, 3])
    parts = _inner_models._list_one_vs_one(inner, model)
    return [(one.name, one.fields["y"], one.fields["rows"]) for one in parts]


def sum_leaves(rows, weights, share, penalty=0.0):
    """Return the step and the sum of hessians of leaves with so many rows of two classes."""
    counts = array(rows) * weights
    slope, bend = counts @ [share, share - 1], counts.sum(axis=1) * share * (1 - share)
    return -slope / (bend + penalty), bend


def lightgbm(values, weights, counts, objective="binary sigmoid:1", features=None, **settings):
    """Return a text with one tree, whose nodes are a chain: each has a leaf to its left."""
    n = len(values)
    tree = {"leaf_value": array(values), "leaf_weight": array(weights), "shrinkage": 0.1}
    tree |= {"leaf_count": array(counts), "threshold": np.zeros(n - 1)}
    tree |= {"cat_boundaries": array([]), "cat_threshold": array([])}
    tree["split_feature"] = array(features or [0] * (n - 1))
    tree["decision_type"] = np.where(tree["split_feature"] > 0, 1, 0)
    tree["left_child"] = ~np.arange(n - 1)
    tree["right_child"] = np.append(np.arange(1, n - 1), ~(n - 1)) if n > 1 else array([], int)
    settings = {"lambda_l2": "0", "learning_rate": "0.1"} | settings
    header, categories = {"objective": objective}, array([0, 3, 4])
    return NS(trees=[tree], settings=settings, header=header, n_categories=categories)


def find_weights(text, model=None, n_outputs=1):
    trees = [_boosters.LightGBMTree(text.trees[0]) for _ in range(n_outputs)]
    for k, one in enumerate(trees):
        one.values = one.values + k
    penalties = boosters._list_penalties(text, trees)
    return boosters._find_weights(model or LogisticRegression(), text, trees, penalties)


def find_given(weights, lambda_l2="0", n_outputs=1, given="balanced"):
    """Find the weights of six rows of one class and four of another, in two leaves."""
    share = 0.5  # of balanced weights
    steps, bends = sum_leaves([(4, 1), (2, 3)], weights, share, float(lambda_l2))
    values = logit(share) + 0.1 * steps
    model = LogisticRegression(class_weight=given)
    text = lightgbm(values, bends, [5, 5], lambda_l2=lambda_l2)
    return find_weights(text, model, n_outputs)


def find_in_loss(second=2.0, share=0.4, rows=((4, 1), (2, 3)), penalty=0.5, **settings):
    """Find weights in the loss, which the initial margin of the shares does not have."""
    steps, bends = sum_leaves(rows, [1.0, second], share, penalty)
    values = logit(share) + 0.1 * steps
    counts = settings.pop("counts", np.sum(rows, axis=1))
    bends = settings.pop("bends", bends)
    text = lightgbm(values, bends, counts, lambda_l2=str(penalty), **settings)
    return boosters._find_inside(text), text


def list_penalties(**settings):
    """List the penalties of four leaves, below splits on a number and on two categories."""
    settings |= {"lambda_l2": "0.5", "cat_l2": "10"}
    text = lightgbm(np.zeros(4), [], [], features=[0, 1, 2], **settings)
    return boosters._list_penalties(text, [_boosters.LightGBMTree(text.trees[0])])


LOG = np.log
FIRST = 1 / (1 + np.exp(1) + np.exp(2))
TWO, OF_NUMBERS = [4.0, 6.0], "regression"
BALANCED = [10 / 12, 10 / 8]


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _capabilities: [
        (lambda: _capabilities.get_kind(Ridge()), "value"),
        (lambda: _capabilities.get_kind(LogisticRegression()), "proba"),
        (lambda: _capabilities.get_kind(LinearSVC()), "decision"),
        (lambda: _capabilities.get_kind(StackingClassifier([("a", LinearSVC())])), "proba"),
        (
            lambda: _capabilities.get_kind(StackingClassifier([("a", tree)], LinearSVC())),
            "decision",
        ),
        (lambda: _capabilities.get_kind(make_pipeline(StandardScaler(), LinearSVC())), "decision"),
        (
            lambda: _capabilities.get_kind(CallableVictim(give_shares, [0, 1], kind="label")),
            "label",
        ),
        (lambda: _capabilities.get_kind(CallableVictim(give_shares, [0, 1])), "proba"),
    ],
    _class_densities: [
        (lambda: lose_rows()[::2], (True, 0.75)),
        (lambda: lose_rows(solver="svd")[::2], (True, 0.75)),
        (lambda: lose_rows(solver="eigen")[1:], (0, 0.75)),
        (
            lambda: expand(_class_densities._ProductNormal),
            [[2.0, 3.0, 4.0, 9.0], [5.0, -1.0, 25.0, 1.0]],
        ),
        (
            lambda: expand(_class_densities._JointNormal),
            [[2.0, 3.0, 4.0, 6.0, 9.0], [5.0, -1.0, 25.0, -5.0, 1.0]],
        ),
        (lambda: expand(_class_densities._PooledNormal), [[2.0, 3.0], [5.0, -1.0]]),
        (lambda: _class_densities._log_root(np.diag([4.0, 9.0])), np.log(6.0)),
        (lambda: prior(GaussianNB()), None),
        (lambda: prior(GaussianNB(priors=[0.25, 0.75])), [0.25, 0.75]),
        (lambda: prior(LinearDiscriminantAnalysis(priors=[0.25, 0.75])), [0.25, 0.75]),
        (lambda: prior(QuadraticDiscriminantAnalysis()), None),
        (lambda: prior(MultinomialNB()), None),
        (lambda: prior(MultinomialNB(fit_prior=False)), [0.5, 0.5]),
        (lambda: prior(BernoulliNB(class_prior=[0.25, 0.75])), [0.25, 0.75]),
        (lambda: _class_densities.count_density_coefficients(GaussianNB(), 3), 7),
        (
            lambda: _class_densities.count_density_coefficients(QuadraticDiscriminantAnalysis(), 3),
            10,
        ),
        (lambda: _class_densities.count_density_coefficients(BernoulliNB(), 3), 4),
        (lambda: _class_densities.why_no_densities(GaussianNB()), None),
        (
            lambda: _class_densities.why_no_densities(tree),
            "the answers of a DecisionTreeClassifier do not follow from sums over its classes",
        ),
        (
            lambda: _class_densities.why_no_densities(
                LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
            ),
            "its covariance was shrunk",
        ),
        (
            lambda: _class_densities.why_no_densities(QuadraticDiscriminantAnalysis(reg_param=1.0)),
            "reg_param=1 leaves no covariance",
        ),
        (
            lambda: _class_densities.why_no_densities(QuadraticDiscriminantAnalysis(reg_param=0.9)),
            None,
        ),
        (
            lambda: _class_densities.why_no_densities(MultinomialNB(alpha=0.0)),
            "its alpha is not one positive number",
        ),
        (
            lambda: _class_densities.why_no_densities(MultinomialNB(alpha=array([1.0, 2.0]))),
            "its alpha is not one positive number",
        ),
        (lambda: _class_densities.why_no_densities(BernoulliNB(alpha=0.5)), None),
    ],
    _inner_models: [
        # Classes 0 and 1, 0 and 2, 1 and 2: the rows of both, and whether a row is of the second.
        (
            list_pairs,
            [
                ("estimators_[0]", [0, 1, 1, 0, 0], [1, 2, 4, 5, 6]),
                ("estimators_[1]", [1, 0, 1, 0, 0], [0, 1, 3, 5, 6]),
                ("estimators_[2]", [1, 0, 1, 0], [0, 2, 3, 4]),
            ],
        ),
        (lambda: list_pairs(np.arange(7) * 10)[2][2], [0, 20, 30, 40]),
    ],
    _model_features: [
        (lambda: cut("ab", 3).can_begin("abc"), True),
        (lambda: cut("ab", 3).can_begin("abcd"), False),
        (lambda: cut("ab", 3).can_begin("xbc"), False),
        (lambda: cut("ab", 3).is_whole, False),
        (lambda: cut("ab", 2).is_whole, True),
        (lambda: decode("a", "bc"), ["a", "bc"]),
        (lambda: _model_features._decode_categories({"values": [3, 1]}), [3, 1]),
        (lambda: [one.by_bytes for one in decode("ä", "b")], ["ä", "b"]),
        (lambda: [one.n_characters for one in decode("ä", "b")], [2, 1]),
        # Cut texts are the values that they can begin, each once; another one has its own name.
        (lambda: complete([("a", 2, "?"), ("a", 2, "?")], ["ac", "ab", 3]), ["ab", "ac"]),
        (
            lambda: complete([("a", 2, "?"), ("b", 2, "?")], ["ab"]),
            ["ab", f"b{dots}1"],
        ),
        # By bytes, if more of them are values than of the completed ones.
        (lambda: complete([("a", 2, "ä"), ("b", 2, "c")], ["ä", "c", "bd"]), ["ä", "c"]),
        (lambda: complete([("a", 2, "c"), ("b", 2, "c")], ["c"])[0], f"a{dots}0"),
        (lambda: _model_features.complete_categories(["b", "a"], ["a"]), ["b", "a"]),
        (lambda: _model_features.find_model(tree)[1], None),
        (
            lambda: [type(one).__name__ for one in _model_features.find_model(searched)],
            ["DecisionTreeClassifier", "FittedSteps"],
        ),
        (lambda: len(_model_features.find_model(searched)[1]), 1),
        (lambda: _model_features.find_model(nested), (None, None)),
        (lambda: _model_features.find_model(make_pipeline(tree))[1], None),
        (
            lambda: tell_refusal(
                lambda: _model_features._check_model_width(
                    NS(n_features_in_=3), np.zeros((2, 2)), "It reads"
                )
            ),
            "It reads 3 features; the records have shape (2, 2).",
        ),
    ],
    _state: [
        (lambda: part.item(0, 5)[:3], (5, "model.coef_[0]", "coef_")),
        (lambda: part.item("zzz", 5)[:3], (5, "model.coef_['zzz']", "coef_")),
        (lambda: part.item("X_train_", 5)[:3], (5, "model.coef_['X_train_']", "X_train_")),
        (lambda: part.attribute("a", 5)[:3], (5, "model.coef_.a", "a")),
        (lambda: _state.ModelPart(3).attribute("a", 5)[:3], (5, "a", "a")),
        # The words of a vocabulary are values of records; numbers by name are none.
        (lambda: list_items({"a": 0, "b": 1}), [("model.keys()", ["a", "b"])]),
        (lambda: len(list_items({"a": True, "b": 1})), 2),
        (lambda: len(list_items({3: 0, "b": 1})), 2),
        (lambda: len(list_items({"a": 0.5, "b": 1})), 2),
    ],
    _training_function: [
        (lambda: answer_by_function([0.5, -1.0]), [[0.0, 0.5], [0.0, -1.0]]),
        (lambda: answer_by_function([[0.5], [-1.0]]), [[0.0, 0.5], [0.0, -1.0]]),
        (lambda: answer_by_function([[0.25, 0.75], [0.5, 0.5]]), [[0.25, 0.75], [0.5, 0.5]]),
        (
            lambda: tell_refusal(lambda: answer_by_function([0.5, 0.25], "proba"))[:83],
            "The model must return 2 rows and 2 classes with an array of shape (2, 2); got (2,).",
        ),
        (
            lambda: tell_refusal(lambda: answer_by_function([0.5, 0.25], n_classes=3))[:83],
            "The model must return 2 rows and 3 classes with an array of shape (2, 3); got (2,).",
        ),
        (
            lambda: tell_refusal(lambda: answer_by_function([0.5]))[:83],
            "The model must return 2 rows and 2 classes with an array of shape (2, 2); got (1,).",
        ),
        (lambda: _training_function.is_module(tree), False),
    ],
    boosters: [
        (lambda: is_newton(), True),
        (lambda: is_newton("MultiClass"), True),
        (lambda: is_newton("RMSE", False), True),
        (lambda: is_newton("CrossEntropy"), False),
        (lambda: is_newton("RMSE", True), False),
        (lambda: is_newton("Logloss", False), False),
        (lambda: is_newton(weights=[1, 2]), False),
        (lambda: is_newton(params={"a": 1}), False),
        (lambda: is_newton(method="Gradient"), False),
        (lambda: is_newton(iterations=10), False),
        (lambda: is_newton(monotone={"0": 0, "1": 1}), False),
        (lambda: is_newton(shrink=0.1), False),
        (lambda: is_newton(scale=2), False),
        # The margin of which the steps of the leaves, weighted by their hessians, sum to 0.
        (lambda: find_weights(lightgbm([1.0, 3.0], TWO, TWO)), (None, [2.2], 0.0, 1.0)),
        (lambda: find_weights(lightgbm([1.0, 3.0], TWO, [0, 0])), (None, [2.2], 0.0, 1.0)),
        (lambda: find_weights(lightgbm([1.0, 3.0], [], TWO)), (None, [2.0], 0.0, 1.0)),
        (lambda: find_weights(lightgbm([3.0], [4.0], [5])), (None, [3.0], 0.0, 1.0)),
        (
            lambda: find_weights(lightgbm([1.0, 3.0], TWO, TWO, boost_from_average="0")),
            (None, [0.0], 0.0, 1.0),
        ),
        (
            lambda: find_weights(lightgbm([1.0, 3.0], TWO, TWO, lambda_l2="2")),
            (None, [(6 + 3 * 8) / 14], 0.0, 1.0),
        ),
        # Of rows with weights, 20 of 10 rows each are .5 and 1.5 of the mean.
        (
            lambda: find_weights(lightgbm([1.0, 3.0], [15.0, 45.0], [10, 10], OF_NUMBERS), Ridge()),
            (None, [2.5], 20 * 0.25, 3.0),
        ),
        (
            lambda: find_weights(lightgbm([1.0, 3.0], [5.0, 15.0], [10, 10]))[2:],
            (20 * 0.25, 1 / (expit(2.5) * (1 - expit(2.5)))),
        ),
        (
            lambda: find_weights(lightgbm([1.0, 3.0], [5.0, 15.0], [10, 10]), n_outputs=3)[1:],
            ([2.5, 3.5, 4.5], 3 * 20 * 0.25 / 3, 1 / (1.5 * FIRST * (1 - FIRST))),
        ),
        # Which rounding does not explain.
        (
            lambda: find_weights(lightgbm([1.0, 3.0], [10, 10.01], [10, 10], OF_NUMBERS))[2] > 0,
            True,
        ),
        (
            lambda: find_weights(lightgbm([1.0, 3.0], [10, 10.0001], [10, 10], OF_NUMBERS))[2],
            0.0,
        ),
        (
            lambda: find_weights(
                lightgbm([1.0, 3.0], [5.0, 15.0], [10, 10]),
                NS(class_weight={"b": 3.0}, classes_=array(["a", "b"])),
            ),
            ([1.0, 3.0], [2.5], 0.0, 1.0),
        ),
        (lambda: find_given(BALANCED), (BALANCED, [0.0], 0.0, 1.0)),
        (lambda: find_given(BALANCED, "0.5")[0], BALANCED),
        (lambda: find_given([0.7, 1.4])[0], None),
        (lambda: find_given(BALANCED, n_outputs=2)[0], None),
        (lambda: find_given(BALANCED, given=None)[0], None),
        (lambda: find_in_loss(1.0)[0], ([1.0, 1.0], [logit(0.4)])),
        (lambda: find_in_loss()[0], None),
        (lambda: find_in_loss(scale_pos_weight="2")[0], ([1.0, 2.0], [logit(0.4)])),
        (lambda: find_in_loss(1.5, is_unbalance="1")[0], ([1.0, 1.5], [logit(0.4)])),
        (lambda: find_in_loss(scale_pos_weight="2.5")[0], None),
        (lambda: find_in_loss(1.0, 0.1, [(4, 1), (5, 0)])[0], ([1.0, 1.0], [logit(0.1)])),
        (lambda: find_in_loss(1.0, 0.9, [(1, 4), (0, 5)])[0], ([1.0, 1.0], [logit(0.9)])),
        (lambda: find_in_loss(1.0, bends=[])[0], None),
        (
            lambda: find_in_loss(scale_pos_weight="2", bagging_freq="1", bagging_fraction="0.5")[0],
            None,
        ),
        (lambda: find_in_loss(scale_pos_weight="2", counts=[0, 0])[0], None),
        (
            lambda: find_weights(find_in_loss(scale_pos_weight="2")[1]),
            ([1.0, 2.0], [logit(0.4)], 0.0, 1.0),
        ),
        # A sample has another mean than all rows, whose share of a class its hessians have.
        (
            lambda: find_weights(
                lightgbm([1.0, 3.0], [0.8, 0.8], [5, 5], bagging_freq="1", bagging_fraction="0.5")
            )[1],
            [LOG(4)],
        ),
        (
            lambda: find_weights(
                lightgbm([-1.0, -3.0], [0.8, 0.8], [5, 5], bagging_freq="1", bagging_fraction=".5")
            )[1],
            [-LOG(4)],
        ),
        (
            lambda: boosters._correct_bases(
                lightgbm([1.0], [], []), [NS(weights=array([2.6]), counts=array([10]))], 1.0
            ),
            0.0,
        ),
        (lambda: boosters._correct_bases(lightgbm([1.0], [], [], OF_NUMBERS), [], 7.0), 7.0),
        # Splits on one of few categories have no penalty of their own: features 1 and 2 have 3, 4.
        (lambda: list_penalties(max_cat_to_onehot="3"), [[0.5, 0.5, 10.5, 10.5]]),
        (lambda: list_penalties(max_cat_to_onehot="4"), [[0.5, 0.5, 0.5, 0.5]]),
        (lambda: list_penalties(), [[0.5, 10.5, 10.5, 10.5]]),
    ],
    _boosters: [
        (lambda: ask(give_shares, X[:2] / 4), ["a", "a"]),
        (lambda: ask(give_shares, X[1:4] / 4, batch_size=2), ["a", "b", "b"]),
        (lambda: ask(give_shares, X[:0]), []),
        (lambda: ask(lambda rows: ["a"] * len(rows), X[:3], kind="label"), ["a"] * 3),
        (lambda: ask(lambda rows: ["a"] * len(rows), X[:0], kind="label"), []),
        (
            lambda: tell_refusal(lambda: ask(lambda rows: np.ones((len(rows), 3)) / 3, X)),
            "The function must return 7 rows and 2 classes with an array of shape (7, 2); got "
            "(7, 3).",
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (GradientBoostingClassifier(n_estimators=7, subsample=0.5, random_state=0), y),
        (GradientBoostingRegressor(n_estimators=7, max_depth=1, random_state=0), numbers),
        (HistGradientBoostingRegressor(max_iter=7, min_samples_leaf=1), numbers),
    ],
    ids=lambda one: type(one).__name__,
)
def test_stages_of_boosting_are_the_models_of_fewer_rounds(model, target):
    """Rounds 3, 5 and 7 of seven, as shares of a third."""
    name = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
    scaled = make_pipeline(StandardScaler(), model).fit(X, target)
    stages = _boosters.query_stages(scaled, X, 3)
    assert len(stages) == 3
    for stage, n_rounds in zip(stages, (3, 5, 7), strict=True):
        fewer = scaled.set_params(**{f"{type(model).__name__.lower()}__{name}": n_rounds})
        fewer = fewer.fit(X, target)
        by_value = stage.kind == "value"
        expected = fewer.predict(X) if by_value else fewer.predict_proba(X)
        np.testing.assert_allclose(np.ravel(stage.values), np.ravel(expected), atol=1e-12)
        assert by_value or stage.classes.tolist() == [0, 1]


def test_a_booster_that_stopped_early_has_the_rounds_up_to_its_best():
    xgboost = pytest.importorskip("xgboost")
    settings = dict(max_depth=2, learning_rate=0.5, random_state=0, n_jobs=1)
    model = xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=3, **settings)
    model.fit(X, y, eval_set=[(X[::-1], y)], verbose=False)
    best = model.best_iteration + 1
    assert 1 <= best < model.get_booster().num_boosted_rounds()
    for stage, share in zip(_boosters.query_stages(model, X, 2), (-(-best // 2), best)):
        fewer = xgboost.XGBClassifier(n_estimators=share, **settings).fit(X, y)
        np.testing.assert_allclose(stage.values, fewer.predict_proba(X), atol=1e-6)
    whole = xgboost.XGBClassifier(n_estimators=4, **settings).fit(X, y)
    for stage, share in zip(_boosters.query_stages(whole, X, 2), (2, 4), strict=True):
        np.testing.assert_allclose(
            stage.values, whole.predict_proba(X, iteration_range=(0, share)), atol=1e-6
        )


@pytest.mark.filterwarnings("ignore:.*eval_set")  # deprecated in lightgbm 4.7
def test_stages_of_lightgbm_are_the_models_of_fewer_rounds_in_memory_and_as_a_file(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    settings = dict(num_leaves=4, min_child_samples=1, n_jobs=1, verbose=-1)
    stop = lightgbm.early_stopping(2, verbose=False)
    model = lightgbm.LGBMClassifier(n_estimators=20, learning_rate=0.5, **settings)
    model.fit(X, y, eval_set=[(X[::-1], y)], callbacks=[stop])
    best = model.best_iteration_
    assert 1 <= best < 20
    last = _boosters.query_stages(model, X, 2)[-1]
    np.testing.assert_array_equal(last.values, model.predict_proba(X))
    regressor = lightgbm.LGBMRegressor(n_estimators=5, **settings).fit(X, numbers)
    regressor.booster_.save_model(tmp_path / "model.txt")
    file = _boosters.read_booster_file(tmp_path / "model.txt")
    fewer = lightgbm.LGBMRegressor(n_estimators=3, **settings).fit(X, numbers)
    for one in (regressor, file):
        stages = _boosters.query_stages(one, X, 2)
        for stage, whole in zip(stages, (fewer, regressor), strict=True):
            np.testing.assert_allclose(stage.values, whole.predict(X), atol=1e-12)


def test_stages_of_catboost_are_the_models_of_fewer_rounds():
    catboost = pytest.importorskip("catboost")
    settings = dict(learning_rate=0.1, depth=2, verbose=0, allow_writing_files=False)
    whole, fewer = (catboost.CatBoostClassifier(n, **settings).fit(X, y) for n in (4, 2))
    for stage, model in zip(_boosters.query_stages(whole, X, 2), (fewer, whole), strict=True):
        np.testing.assert_allclose(stage.values, model.predict_proba(X), atol=1e-12)


def test_models_without_rounds_have_no_stages():
    told = tell_refusal(lambda: _boosters.query_stages(tree.fit(X, y), X, 2))
    assert told.startswith("DecisionTreeClassifier has no rounds to read; ")


@pytest.mark.filterwarnings("ignore:.*booster=gblinear")  # deprecated in xgboost 3.4
def test_linear_boosters_have_no_stages():
    xgboost = pytest.importorskip("xgboost")
    linear = xgboost.XGBClassifier(n_estimators=2, booster="gblinear", n_jobs=1).fit(X, y)
    told = tell_refusal(lambda: _boosters.query_stages(linear, X, 2))
    assert told.startswith('XGBClassifier(booster="gblinear") has no rounds to read; ')


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(var_smoothing=0.125),
        GaussianNB(priors=[0.25, 0.75]),
        QuadraticDiscriminantAnalysis(reg_param=0.25),
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr"),
        BernoulliNB(binarize=1.25, alpha=0.5),
        MultinomialNB(alpha=0.25),
    ],
    ids=str,
)
def test_densities_at_equal_weights_are_those_of_the_model_and_move_as_differences(model):
    rng = np.random.default_rng(0)
    rows, labels = rng.poisson(2.0, size=(30, 3)).astype(float), np.arange(30) % 3 % 2
    found = model.fit(rows, labels)
    densities = _class_densities._DENSITIES[type(found)](found, rows, labels)
    logs = densities.fit(np.ones(30))
    odds = found.predict_log_proba(rows)
    np.testing.assert_allclose(logs[:, 1] - logs[:, 0], odds[:, 1] - odds[:, 0], atol=1e-8)
    some = array([0, 4, 7])
    moved = [densities.move(k, rows[some], labels[some]) for k in range(2)]
    for place, row in enumerate(some):
        more, less = np.ones(30), np.ones(30)
        more[row], less[row] = 1 + 1e-5, 1 - 1e-5
        slope = (densities.fit(more) - densities.fit(less)) / 2e-5
        for k in range(2):
            np.testing.assert_allclose(moved[k][:, place], slope[:, k], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(var_smoothing=0.1),
        GaussianNB(priors=[0.25, 0.75], var_smoothing=0.5),
        QuadraticDiscriminantAnalysis(reg_param=0.25),
        QuadraticDiscriminantAnalysis(priors=[0.25, 0.75], reg_param=0.5),
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr", priors=[0.25, 0.75]),
        BernoulliNB(alpha=0.5, binarize=1.5),
        BernoulliNB(alpha=2.0, class_prior=[0.25, 0.75], binarize=None),
        MultinomialNB(alpha=0.5),
        MultinomialNB(alpha=2.0, fit_prior=False),
    ],
    ids=str,
)
def test_densities_are_those_of_the_model_and_move_as_the_weights_of_rows_do(model):
    rows = (X > 1.5).astype(float) if getattr(model, "binarize", 0) is None else X
    model.fit(rows, y)
    law = _class_densities._DENSITIES[type(model)](model, rows, y)
    logs = law.fit(np.ones(7))
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    proba = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba, model.predict_proba(rows), rtol=1e-6)
    moved = law.move(0, rows, y) - law.move(1, rows, y)
    for row in range(7):
        up, down = np.ones(7), np.ones(7)
        up[row], down[row] = 1 + 1e-5, 1 - 1e-5
        slope = (np.diff(law.fit(down)) - np.diff(law.fit(up)))[:, 0] / 2e-5
        np.testing.assert_allclose(moved[:, row], slope, rtol=1e-5, atol=1e-7)


def test_the_first_of_several_outputs_of_a_module_are_its_answers():
    torch = pytest.importorskip("torch")

    class Pair(torch.nn.Linear):
        def forward(self, rows):
            return super().forward(rows), rows

    module = Pair(2, 1)
    found = _training_function._forward_module(module, X.astype(np.float32))
    assert found.shape == (7, 1)
    wanted = X @ module.weight.detach().numpy().T + module.bias.item()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_singular_covariance_has_no_inverse():
    found = _class_densities._invert_covariance(array([[2.0, 0.0], [0.0, 1e-11]]))
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 1e11]])
    for least in (1e-12, 2e-12, 0.0):
        with pytest.raises(ValueError, match="The covariance of a class is singular"):
            _class_densities._invert_covariance(array([[2.0, 0.0], [0.0, least]]))
