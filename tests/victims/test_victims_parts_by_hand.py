"""Parts of victims that few other tests reach, with answers by hand or of models trained again."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from scipy.special import expit, logit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from skmia import Outputs, Records
from skmia.victims import (
    CallableVictim,
    _boosters,
    _capabilities,
    _class_densities,
    _inner_models,
    _model_features,
    _onnx,
    _onnx_labels,
    _queried_thresholds,
    _recovered,
    _split_thresholds,
    _state,
    _training_function,
    _tree_leaves,
)
from skmia.victims._node_equations import boosters, cart

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


def list_parts(value):
    part = _state.ModelPart(value, "model", None, None)
    return [(one.path, one.value) for one in _state.iter_parts(part)]


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


class Answering(_onnx.OnnxRegressor):
    """A regressor in a file with given answers."""

    def __init__(self, answer):
        self.answer = answer

    def _ask(self, X):
        return None, [self.answer]


FEW = (0.9**10 + 0.7**10) / 2
CLIPPED = [[0.9, 0.06, 0.04], [0.9, 0.07, 0.03], [0.9, 0.055, 0.045], [0.9, 0.08, 0.02]]
CLIPPED += [[0.5, 0.301, 0.199], [0.4, 0.351, 0.249]]
REPLACED = [[5.0, 9.5], [1.0, 2.0], [8.5, 4.0]]
STEP = -(0.4 * 18 - 3 * 4) / (0.24 * 18 + 0.5)
LOG = np.log
FIRST = 1 / (1 + np.exp(1) + np.exp(2))


def refuse_xgboost(objective="binary:logistic", drops=(1, 1), n_parallel="1", **settings):
    """Say why a booster without trees gives no equations; its kind and method are settings too."""
    kind, method = settings.pop("kind", "gbtree"), settings.pop("method", None)
    stored = {"trees": [], "weight_drop": drops}
    stored["gbtree_model_param"] = {"num_parallel_tree": n_parallel}
    learner = {
        "gradient_booster": {"name": kind, "model": stored},
        "objective": {"name": objective},
    }
    settings = {"eta": "0.3", "lambda": "1"} | settings
    before = boosters.load_booster
    boosters.load_booster = lambda model: (learner, settings)
    try:
        return boosters.why_no_xgboost_equations(NS(get_params=lambda: {"sampling_method": method}))
    finally:
        boosters.load_booster = before


def refuse_lightgbm(objective="binary sigmoid:1", text=None, **settings):
    plain = {"boosting": "gbdt", "data_sample_strategy": "bagging"}
    text = lightgbm([1.0, 3.0], TWO, TWO) if text is None else text
    text.settings.update(plain | settings)
    text.header["objective"] = objective
    before = boosters.load_lightgbm
    boosters.load_lightgbm = lambda model: text
    try:
        return boosters.why_no_lightgbm_equations(None)
    finally:
        boosters.load_lightgbm = before


def refuse_splits(kind, method=None, name="gbtree", trees=(), border="GreedyLogSum", **stored):
    """Say why a booster of another package has no splits on numbers."""
    learner = {"gradient_booster": {"name": name, "model": {"trees": trees}}}
    options = {"float_features_binarization": {"border_type": border}}
    stored["model_info"] = {"params": {"data_processing_options": options}}
    parts = {"load_booster": (learner, {}), "load_lightgbm": NS(trees=trees)}
    parts["load_catboost"] = stored
    before = {part: getattr(_split_thresholds, part) for part in parts}
    for part, value in parts.items():
        setattr(_split_thresholds, part, lambda model, value=value: value)
    try:
        model = NS(get_params=lambda: {"tree_method": method})
        return getattr(_split_thresholds, f"why_no_{kind}_splits")(model)
    finally:
        for part, function in before.items():
            setattr(_split_thresholds, part, function)


def grown(*of_category):
    """Return a tree of XGBoost with a split of each kind, and leaves."""
    n = len(of_category)
    return {"left_children": [1] * n + [-1], "split_type": [*map(int, of_category), 0]}


def isolate(n_rows=20, weights=None, in_root=10):
    tree = NS(tree_=NS(n_node_samples=array([in_root])))
    model = NS(_n_samples=n_rows, _max_samples=10, _sample_weight=weights, estimators_=[tree])
    return cart.why_not_isolated(model)


def refuse_bag(**fields):
    plain = {"estimators_": [GROWN], "bootstrap": True, "max_samples": 1.0}
    return cart.why_not_bagged(NS(**plain | fields))


def hold(*estimators):
    model = BaggingClassifier()
    model.estimators_ = [*estimators]
    return model


def oblivious(*kinds):
    return [{"splits": [{"split_type": kind} for kind in kinds]}, {"splits": None}]


GROWN = DecisionTreeClassifier(random_state=0).fit(X, y)
ABSOLUTE = DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
ONE_SPLIT = array([0.5])
CHANGED = "{} changes its equations in a way that is not known"
TWO, OF_NUMBERS = [4.0, 6.0], "regression"
BALANCED = [10 / 12, 10 / 8]


class Onnx(_onnx.OnnxClassifier):
    """A file of one node with given inputs, outputs and answers."""

    def __init__(self, inputs, outputs=(), answers=()):
        super().__init__("a.onnx")
        inputs = [NS(name=name, type=kind, shape=shape) for name, kind, shape in inputs]
        outputs = [NS(name=name, type=kind) for name, kind in outputs]
        asked = NS(get_inputs=lambda: inputs, get_outputs=lambda: outputs)
        asked.run = lambda names, feeds: answers
        vars(self)["_session"] = asked


def split_outputs(*pairs):
    """Return the number of the answer that has the numbers of the classes, and of the labels."""
    answers = [answer for _, answer in pairs]
    outputs = [NS(type=f"tensor({kind})") for kind, _ in pairs]
    return [
        None if one is None else [answer is one for answer in answers].index(True)
        for one in Onnx([])._split(outputs, answers)
    ]


PROBA, CODES, TEXTS = array([[0.25, 0.75]]), array([1]), array(["a"])
ONE, TWO_INPUTS = ("x", "tensor(float)", ["n", 3]), [("a", "tensor(float)", ["n", 1])] * 2


def number(value):
    """Return a number of seven bits each, as protobuf writes it."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)


def message(**pieces):
    """Write a message: texts, bytes and messages in fields by their names in the module."""
    written = b""
    for name, values in pieces.items():
        for value in values if isinstance(values, list) else [values]:
            value = value.encode() if isinstance(value, str) else value
            key = getattr(_onnx_labels, f"_{name.upper()}") << 3
            if isinstance(value, int):
                written += number(key) + number(value)
            else:
                written += number(key | 2) + number(len(value)) + value
    return written


def node(kind, source, target, *attributes):
    return message(op_type=kind, input=source, output=target, attribute=[*attributes])


def read_labels(*nodes, tensors=(), outputs=("label",)):
    graph = message(node=[*nodes], initializer=[*tensors])
    found = _onnx_labels.read_stated_labels(message(graph=graph), [*outputs])
    return None if found is None else found.tolist()


def classifier(*labels, target="label"):
    return node("Classifier", "x", target, message(name="classlabels_strings", strings=[*labels]))


def encoder(source, target, keys, values):
    kept = [message(name="keys_strings", strings=keys), message(name="values_ints", ints=values)]
    return node("LabelEncoder", source, target, *kept)


TABLE = message(tensor_name="table", data_type=7, int64_data=[7, 5])


def replace_numbers(X):
    """Replace a number in two of the rows 2, 0 and 1, where 2 rows differ in one column each."""
    table = _queried_thresholds.SearchedTable(X)
    return table.replace(array([2, 0, 1]), array([1, -1, 0]), array([9.5, 0.0, 8.5]))


def weigh_log_odds(kind, values):
    found = _class_densities._read_log_odds(NS(kind=kind, values=array(values)), 3)
    return found.logs, found.first, found.precision


def linearize(model, kind, values):
    model.classes_ = array([0, 1, 2][: len(values[0])])
    found = _recovered._linearize(model, NS(kind=kind, values=array(values)), None)
    return found.values, found.precision, found.is_shared


def find_samples(given, chances, y):
    model = NS(class_weight=given, classes_=array(["a", "b"]))
    found = cart._find_samples_of_classes(model, 10, array(chances), array(y))
    return None if found is None else [one.mean / 10 for one in found]


def describe_sample(*given, **options):
    sample = cart.TreeSample(*given, **options)
    return sample.draws, sample.mean, sample.kept, sample.rarity, sample.spread


def count_weighted(covers, weight=0.5, condition=0.05):
    """Count the rows of a root with six rows of the first class, and four of weight 3."""
    tree = NS(covers=array([covers]), left=array([-1]), conditions=array([condition]))
    tree.weights = array([weight])
    return boosters._count_weighted(tree, 0.1, 0.5, 0.4, array([1.0, 3.0]))


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _onnx: [
        (lambda: split_outputs(("int64", CODES), ("float", PROBA)), [1, 0]),
        (lambda: split_outputs(("float", PROBA), ("string", TEXTS), ("int64", CODES)), [0, 1]),
        (lambda: split_outputs(("float", PROBA), ("float", PROBA + 1)), [0, None]),
        (lambda: split_outputs(("float", [{1: 0.5}]), ("float", PROBA)), [0, None]),
        (lambda: split_outputs(("float", PROBA[0]), ("float", PROBA)), [1, None]),
        (lambda: split_outputs(("int64", CODES[:, None]), ("float", PROBA)), [1, 0]),
        (
            lambda: tell_refusal(lambda: split_outputs(("int64", CODES))),
            "a.onnx answers with no numbers for classes.",
        ),
        (lambda: Onnx([ONE]).n_features_in_, 3),
        (lambda: Onnx(TWO_INPUTS).n_features_in_, 2),
        (lambda: hasattr(Onnx([("x", "tensor(float)", ["n", "m"])]), "n_features_in_"), False),
        (lambda: hasattr(Onnx([("x", "tensor(float)", ["n"])]), "n_features_in_"), False),
        (lambda: hasattr(Onnx([ONE]), "feature_names_in_"), False),
        (lambda: Onnx(TWO_INPUTS).feature_names_in_, ["a", "a"]),
        (lambda: Onnx([ONE])._make_row().shape, (1, 3)),
        (lambda: Onnx([("x", "tensor(float)", ["n", 2, 4])])._make_row().shape, (1, 2, 4)),
        (lambda: Onnx(TWO_INPUTS)._make_row().shape, (1, 2)),
        (
            lambda: tell_refusal(Onnx([("x", "tensor(float)", ["n", 2, "m"])])._make_row),
            "It does not state the shape of its input either.",
        ),
        (
            lambda: tell_refusal(lambda: Onnx([("x", "tensor(float)", ["n", "m"])]).classes_),
            "The file does not state its classes: give them. It does not state the shape of its "
            "input either.",
        ),
        (
            lambda: tell_refusal(lambda: Onnx([("x", "tensor(int4)", ["n", 3])]).predict_proba(X)),
            "Inputs of type tensor(int4), such as x, are not supported.",
        ),
        (
            lambda: tell_refusal(lambda: Answering([[1.0, 2.0]] * 7).predict(X)),
            "The model must answer with one number for each row; got shape (7, 2).",
        ),
        (lambda: Answering([[1.0], [2.0]]).predict(X[:2]), [1.0, 2.0]),
        (lambda: Answering([]).predict(X[:0]), []),
    ],
    _onnx_labels: [
        (lambda: read_labels(classifier("b", "a")), ["b", "a"]),
        (lambda: read_labels(classifier("b", "a"), outputs=["other", "label"]), ["b", "a"]),
        (lambda: read_labels(classifier("b", "b")), None),
        (lambda: read_labels(classifier()), None),
        (lambda: read_labels(node("Relu", "c", "label"), classifier("b", target="c")), None),
        (
            lambda: read_labels(node("Cast", "c", "label"), classifier("b", "a", target="c")),
            ["b", "a"],
        ),
        # Through two encoders, of which the one that is met last comes first.
        (
            lambda: read_labels(
                encoder("c", "label", ["b", "a"], [4, 6]), classifier("a", "b", target="c")
            ),
            [6, 4],
        ),
        (lambda: read_labels(node("Gather", "table", "label"), tensors=[TABLE]), [7, 5]),
        (
            lambda: read_labels(
                node("Classifier", "x", "label", message(name="classes_x", tensor=TABLE))
            ),
            None,
        ),
        (
            lambda: read_labels(
                node(
                    "LabelEncoder",
                    "c",
                    "label",
                    message(name="keys_tensor", tensor=TABLE),
                    message(name="values_ints", ints=[1, 2]),
                ),
                node("Classifier", "x", "c", message(name="classlabels_ints", ints=[5, 7])),
            ),
            [2, 1],
        ),
        # A circle ends, and so does a number whose bytes do not.
        (lambda: read_labels(node("Cast", "label", "label")), None),
        (lambda: _onnx_labels.read_stated_labels(b"\xff" * 20, ["label"]), None),
        (lambda: _onnx_labels.read_stated_labels(b"", ["label"]), None),
        (lambda: _onnx_labels._read_varint(b"\xff" * 9 + b"\x01", 0), (2**64 - 1, 10)),
        (
            lambda: tell_refusal(lambda: _onnx_labels._read_varint(b"\xff" * 10 + b"\x01", 0)),
            "A number has too many bytes.",
        ),
    ],
    _queried_thresholds: [
        (lambda: replace_numbers(array([[1, 2], [3, 4], [5, 6]])), REPLACED),
        (lambda: replace_numbers(array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])), REPLACED),
        (
            lambda: replace_numbers(pd.DataFrame([[1, 2], [3, 4], [5, 6]], columns=[*"ab"])),
            {"a": [5.0, 1.0, 8.5], "b": [9.5, 2.0, 4.0]},
        ),
    ],
    _recovered: [
        (
            lambda: linearize(LogisticRegression(), "logits", [[1.0, 3.0], [2.0, 0.5]]),
            ([[2.0], [-1.5]], [[1200.0], [1200.0]], False),
        ),
        (
            lambda: linearize(
                LogisticRegression(solver="liblinear"), "proba", [[0.25, 0.75], [0.5, 0.5]]
            )[0],
            [[LOG(3.0)], [0.0]],
        ),
        (
            lambda: linearize(LogisticRegression(), "decision", [[-1.0, 3.0], [2.0, 0.5]]),
            ([[3.0], [0.5]], [[1200.0], [1200.0]], False),
        ),
        (
            lambda: linearize(LogisticRegression(), "decision", [[1.0, 3.0, 2.0]]),
            ([[1.0, 3.0, 2.0]], [[12.0] * 3], False),
        ),
        (
            lambda: linearize(LogisticRegression(), "logits", [[1.0, 3.0, 2.0]]),
            ([[1.0, 3.0, 2.0]], [[12.0] * 3], True),
        ),
        (
            lambda: linearize(LogisticRegression(), "proba", [[0.25, 0.75], [0.0, 1.0]]),
            ([[LOG(3.0)], [LOG(2.0)]], [[12e4 * (3 / 16) ** 2], [0.0]], False),
        ),
        (
            lambda: linearize(LogisticRegression(), "proba", [[0.25, 0.5, 0.25], [0.0, 0.4, 0.6]]),
            (
                [[LOG(0.25), LOG(0.5), LOG(0.25)], [LOG(0.5), LOG(0.4), LOG(0.6)]],
                [[7500.0, 30000.0, 7500.0], [0.0, 19200.0, 43200.0]],
                True,
            ),
        ),
        (
            lambda: tell_refusal(lambda: linearize(LinearSVC(), "proba", [[0.5, 0.5]])),
            "Answers of kind 'proba' do not give the coefficients of a LinearSVC.",
        ),
        (
            lambda: tell_refusal(lambda: linearize(LogisticRegression(), "label", [[0.5, 0.5]])),
            "Answers of kind 'label' do not give the coefficients of a LogisticRegression.",
        ),
        (
            lambda: tell_refusal(
                lambda: linearize(
                    LogisticRegression(solver="liblinear"), "proba", [[0.2, 0.4, 0.4]]
                )
            ),
            "Probabilities of one class against the rest are not log-linear.",
        ),
        (
            lambda: tell_refusal(lambda: linearize(Ridge(), "proba", [[0.5, 0.5]])),
            "Answers of kind 'proba' do not give coefficients of a regressor.",
        ),
        (
            lambda: tell_refusal(lambda: _recovered._solve_together(None, None, None, True)),
            "With several classes, answers do not reveal which coefficients are 0.",
        ),
        (lambda: _recovered.why_not_recovered(Ridge()), None),
        (lambda: _recovered.why_not_recovered(QuantileRegressor()), None),
        (
            lambda: _recovered.why_not_recovered(tree),
            "the answers of a DecisionTreeClassifier do not follow from few coefficients in a "
            "known way",
        ),
        (
            lambda: _recovered.why_not_recovered(make_pipeline(StandardScaler(), RidgeCV())),
            "a RidgeCV chooses its penalty or scale by the training rows",
        ),
        (lambda: _recovered.count_coefficients_of_answers(LogisticRegression(), 5, 4), 18),
        (lambda: _recovered.count_coefficients_of_answers(LinearRegression(), 5, 4), 6),
        (lambda: _recovered.count_coefficients_of_answers(Ridge(fit_intercept=False), 5, 4), 5),
    ],
    _split_thresholds: [
        (lambda: refuse_splits("xgboost", trees=[grown(False)]), None),
        (lambda: refuse_splits("xgboost", trees=[grown(True), grown(True, False)]), None),
        (lambda: refuse_splits("xgboost", trees=[grown(True)]), _split_thresholds._CATEGORIES),
        (lambda: refuse_splits("xgboost", trees=[grown()]), None),
        (lambda: refuse_splits("xgboost", "hist", trees=[grown(False)]), None),
        (lambda: refuse_splits("xgboost", "auto", trees=[grown(False)]), None),
        (
            lambda: refuse_splits("xgboost", "exact"),
            "tree_method='exact' makes thresholds in a way that is not known",
        ),
        (
            lambda: refuse_splits("xgboost", name="gblinear"),
            "its booster is 'gblinear', and only 'gbtree' is known",
        ),
        (lambda: refuse_splits("lightgbm", trees=[{"num_cat": 0, "threshold": ONE_SPLIT}]), None),
        (
            lambda: refuse_splits("lightgbm", trees=[{"num_cat": 1, "threshold": ONE_SPLIT}]),
            _split_thresholds._CATEGORIES,
        ),
        (lambda: refuse_splits("lightgbm", trees=[{"num_cat": 0, "threshold": []}]), None),
        (
            lambda: refuse_splits(
                "lightgbm",
                trees=[{"num_cat": k, "threshold": ONE_SPLIT} for k in (1, 0)],
            ),
            None,
        ),
        (lambda: refuse_splits("catboost"), "its grow_policy is not 'SymmetricTree'"),
        (lambda: refuse_splits("catboost", oblivious_trees=oblivious("FloatFeature")), None),
        (
            lambda: refuse_splits(
                "catboost", oblivious_trees=oblivious("FloatFeature", "OnlineCtr")
            ),
            _split_thresholds._TARGETS,
        ),
        (
            lambda: refuse_splits(
                "catboost", border="Uniform", oblivious_trees=oblivious("FloatFeature")
            ),
            _split_thresholds._UNIFORM,
        ),
        (lambda: _split_thresholds.why_not_trees(GROWN), None),
        (lambda: _split_thresholds.why_not_trees(ExtraTreesClassifier()), _split_thresholds._DRAWN),
        (
            lambda: _split_thresholds.why_not_trees(DecisionTreeClassifier(splitter="random")),
            _split_thresholds._DRAWN,
        ),
        (lambda: _split_thresholds.why_not_trees(RandomForestClassifier()), None),
        (
            lambda: _split_thresholds.why_not_trees(RandomForestClassifier(max_samples=9)),
            "max_samples=9 leaves open of how many rows its samples are",
        ),
        (lambda: _split_thresholds.why_not_trees(RandomForestClassifier(max_samples=0.9)), None),
        (
            lambda: _split_thresholds.why_not_trees(
                RandomForestClassifier(bootstrap=False, max_samples=9)
            ),
            None,
        ),
        (lambda: _split_thresholds.why_not_trees(hold(GROWN, GROWN)), None),
        (
            lambda: _split_thresholds.why_not_trees(hold(GROWN, Ridge())),
            "it holds a Ridge, and only decision trees are known",
        ),
        (
            lambda: _split_thresholds.why_not_trees(hold(GROWN, ExtraTreeClassifier())),
            _split_thresholds._DRAWN,
        ),
    ],
    cart: [
        (isolate, None),
        (lambda: isolate(weights=array([1.0, 2.0])), cart.WEIGHTED),
        (lambda: isolate(in_root=11), cart.WEIGHTED),
        (
            lambda: [isolate(n_rows=n, in_root=k) for n, k in ((None, 10), (20, 0))],
            ["it does not store the numbers of rows of its nodes, and has no other equations"] * 2,
        ),
        (refuse_bag, None),
        (
            lambda: refuse_bag(estimators_=[GROWN, Ridge()]),
            "it holds a Ridge, and only decision trees are known",
        ),
        (
            lambda: refuse_bag(estimators_=[GROWN, ABSOLUTE]),
            "criterion='absolute_error' does not store means and variances",
        ),
        (lambda: refuse_bag(max_samples=3), cart._SIZED.format(3)),
        (lambda: refuse_bag(max_samples=3, _n_samples=7, _sample_weight=None), None),
        (lambda: refuse_bag(_n_samples=2, _sample_weight=array([1.0, 2.0])), None),
        (
            lambda: refuse_bag(_n_samples=2, _sample_weight=array([1.0, 2.0]), bootstrap=False),
            cart.WEIGHTED,
        ),
        (lambda: describe_sample(0, 9), (False, 1.0, 1.0, 0.0, 0.0)),
        (lambda: describe_sample(20, 10), (True, 2.0, 1 - 0.9**20, 0.9**20 / (1 - 0.9**20), 0.5)),
        (lambda: describe_sample(4, 10, replaces=False), (True, 0.4, 0.4, 1.5, 1.5)),
        # Means of 1 and 3 draws have the variance 1 beside their mean of 2.
        (
            lambda: describe_sample(10, 2, chances=array([0.1, 0.3])),
            (True, 2.0, 1 - FEW, FEW / (1 - FEW), 1 / 2 + 1 / 4),
        ),
        # A dictionary says how much likelier rows of a class are; balanced classes are alike.
        (lambda: find_samples(None, [0.1, 0.2], [0, 1]), None),
        (lambda: find_samples({"b": 2.0}, [0.1, 0.2, 0.1], [0, 1, 0]), [0.1, 0.2]),
        (lambda: find_samples({"b": 2.0}, [0.1, 0.2, 0.15], [0, 1, 0]), None),
        (lambda: find_samples({"a": 4.0, "b": 2.0}, [0.1, 0.2], [0, 1]), [0.2, 0.1]),
        # Three rows of 1/6 and one of 1/2, of which the candidates have more of the second class.
        (lambda: find_samples("balanced", [1 / 6, 0.5, 1 / 6, 1 / 6], [0, 1, 1]), [0.5, 1 / 6]),
        (lambda: find_samples("balanced", [1 / 6, 0.5, 1 / 6, 1 / 6], [0, 0, 1]), [1 / 6, 0.5]),
        (lambda: find_samples("balanced", [1 / 6, 0.5, 1 / 6, 1 / 6, 0.1], [0, 0, 1]), None),
        (lambda: find_samples("balanced", [0.5], [0, 0, 1]), None),
    ],
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
        # Each class against the first of the largest, and the variance of rounding both; what is 0
        # or compared with a clipped one says nothing.
        (
            lambda: weigh_log_odds("proba", [[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]]),
            (
                [[LOG(0.25), LOG(0.5), LOG(0.25)], [0.0, LOG(0.5), LOG(0.5)]],
                [1, 0],
                [[6000.0, 0.0, 6000.0], [0.0] * 3],
            ),
        ),
        (
            lambda: weigh_log_odds("logits", [[0.25, 0.5, -9.0], [3.0, 3.0, 0.0]]),
            (
                [[0.25, 0.5, -9.0], [3.0, 3.0, 0.0]],
                [1, 0],
                [[6e4, 0.0, 6e4], [0.0, 6e4, 6e4]],
            ),
        ),
        (lambda: (weigh_log_odds("proba", CLIPPED)[2] > 0).sum(axis=1), [0, 0, 0, 0, 2, 2]),
        (
            lambda: tell_refusal(lambda: weigh_log_odds("decision", [[1.0, 2.0, 3.0]])),
            "Log odds of 3 classes are needed; got answers of kind 'decision'.",
        ),
        (lambda: tell_refusal(lambda: weigh_log_odds("proba", [[0.5, 0.5]])) is None, False),
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
        # The name of a step is no part of its path, in which what follows keeps its place.
        (lambda: list_parts(("scale", 5, [1])), [("model", 5), ("model[2]", [1])]),
        (lambda: list_parts(("scale", 5)), [("model", 5)]),
        (lambda: list_parts(("scale",)), [("model[0]", "scale")]),
        (lambda: list_parts((4, "scale")), [("model[0]", 4), ("model[1]", "scale")]),
        (lambda: list_parts(["a", 5]), [("model[0]", "a"), ("model[1]", 5)]),
        (lambda: list_parts({3: "a"}), [("model[3]", "a")]),
        (
            lambda: list_parts(array([["a", None], [2, "b"]], dtype=object)),
            [("model[0]", "a"), ("model[1]", None), ("model[2]", 2), ("model[3]", "b")],
        ),
        (
            lambda: list_parts(array([(1, 0.5)], dtype=[("k", int), ("v", float)])),
            [("model['k']", [1]), ("model['v']", [0.5])],
        ),
        (
            lambda: list_parts(pd.DataFrame([[1, 2]], columns=["a", "a"])),
            [("model['a']", [1]), ("model['a']", [2])],
        ),
        # Of a generator, the words by which it can be recognized.
        (
            lambda: list_parts(np.random.RandomState(3)),
            [("model", np.random.RandomState(3).get_state()[1][:4].tolist())],
        ),
        (
            lambda: list_parts(np.random.default_rng(3)),
            [("model", [*np.random.default_rng(3).bit_generator.state["state"].values()][:1])],
        ),
        # Four bins, of which one is for missing values, have two edges.
        (
            lambda: [
                (one.path, one.name)
                for one in _state._iter_edges(
                    _state.ModelPart([[0.5, 1.0], [0.5], [0.5, 1.0, 2.0]], "x", "edges"), 4
                )
            ],
            [("x[0]", "edges"), ("x[1]", "bin_midpoints"), ("x[2]", "edges")],
        ),
        (lambda: len(list_items({"a": 0.5, "b": 1})), 2),
    ],
    _tree_leaves: [
        (lambda: _tree_leaves._keep_counts([3.0, 0.0]), [3.0, 0.0]),
        (lambda: _tree_leaves._keep_counts([0.0, 0.0]), None),
        (lambda: _tree_leaves._keep_counts([3.0, 0.5]), None),
        (lambda: _tree_leaves._keep_counts([]), None),
        (lambda: _tree_leaves._as_columns(array([[[1, 2]], [[3, 4]]])), [[1, 3], [2, 4]]),
        (lambda: _tree_leaves._as_columns(array([5, 6])), [[5, 6]]),
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
        (lambda: refuse_xgboost(), None),
        (lambda: refuse_xgboost("multi:softprob", alpha="0", max_delta_step="0"), None),
        (
            lambda: refuse_xgboost(kind="dart"),
            "its booster is 'dart', and only 'gbtree' is supported",
        ),
        (
            lambda: refuse_xgboost("count:poisson"),
            "its objective is 'count:poisson', and only binary:logistic, multi:softmax, "
            "multi:softprob, reg:squarederror are supported",
        ),
        (lambda: refuse_xgboost(alpha="0.5"), CHANGED.format("alpha=0.5")),
        (lambda: refuse_xgboost(max_delta_step="1"), CHANGED.format("max_delta_step=1")),
        (
            lambda: refuse_xgboost(subsample="0.5", method="gradient_based"),
            "it draws rows by their gradients, and does not store with what chances",
        ),
        (lambda: refuse_xgboost(subsample="0.5", method="uniform"), None),
        (lambda: refuse_xgboost(method="gradient_based"), None),
        (lambda: refuse_xgboost(drops=[1, 0.5]), CHANGED.format("rate_drop or one_drop")),
        (lambda: refuse_xgboost(n_parallel="2"), "it grows several trees in each round"),
        (lambda: refuse_lightgbm(), None),
        (lambda: refuse_lightgbm("multiclass num_class:3"), None),
        (lambda: refuse_lightgbm(OF_NUMBERS, boosting="gbrt"), None),
        (
            lambda: refuse_lightgbm("poisson"),
            "its objective is 'poisson', and its gradients are not supported",
        ),
        (
            lambda: refuse_lightgbm(boosting="dart"),
            "its boosting is 'dart', and only 'gbdt' on all rows is supported",
        ),
        (
            lambda: refuse_lightgbm(data_sample_strategy="goss"),
            "its boosting is 'goss', and only 'gbdt' on all rows is supported",
        ),
        (lambda: refuse_lightgbm(lambda_l1="0.1"), CHANGED.format("lambda_l1=0.1")),
        (lambda: refuse_lightgbm(path_smooth="0"), None),
        (
            lambda: refuse_lightgbm(neg_bagging_fraction="0.5", bagging_freq="1"),
            "neg_bagging_fraction=0.5 leaves out other shares of each class",
        ),
        (lambda: refuse_lightgbm(neg_bagging_fraction="0.5", bagging_freq="0"), None),
        (lambda: refuse_lightgbm(pos_bagging_fraction="1", bagging_freq="1"), None),
        (lambda: refuse_lightgbm(monotone_constraints="1,0"), boosters.MONOTONIC),
        (
            lambda: refuse_lightgbm(text=find_in_loss(scale_pos_weight="2")[1]),
            None,
        ),
        (
            lambda: refuse_lightgbm(text=find_in_loss(scale_pos_weight="2.5")[1]),
            boosters.WEIGHTED,
        ),
        # 10 rows with a sum of weights 6 + 3 * 4: hessians of .24 each, and the Newton step.
        (lambda: count_weighted(0.0), 0.0),
        (lambda: count_weighted(0.24 * 18, condition=0.1 * STEP), 10.0),
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


@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_coefficients_of_all_classes_are_those_with_a_number_of_each_record(noise):
    rng = np.random.default_rng(0)
    n, n_classes, width = 12, 3, 3
    rows = rng.normal(size=(n, width))
    rows[:, 2] = 0  # no answer tells the coefficients of this column
    coef = rng.normal(size=(n_classes, width))
    precision = rng.uniform(1, 4, size=(n, n_classes))
    precision[0, 1] = precision[1, :2] = (
        0  # two answers about a record, and one, which is of no use
    )
    values = rows @ coef.T + rng.normal(size=(n, 1)) + noise * rng.normal(size=(n, n_classes))
    answers = _recovered._Answers(values, precision, True)
    found = _recovered._solve_together(rows, answers, np.ones(width), False)

    # By least squares with one more unknown number for each record.
    design = np.zeros((n, n_classes, n_classes * width + n))
    for c in range(n_classes):
        design[:, c, c * width : (c + 1) * width] = rows
        design[:, c, n_classes * width :] = np.eye(n)
    design = (np.sqrt(precision)[:, :, None] * design).reshape(n * n_classes, -1)
    targets = (np.sqrt(precision) * values).ravel()
    solved, *_ = np.linalg.lstsq(design, targets, rcond=1e-10)
    center = np.kron(np.eye(n_classes) - 1 / n_classes, np.eye(width))
    wanted = center @ solved[: n_classes * width]
    np.testing.assert_allclose(found[0].ravel(), wanted, atol=1e-10)
    # Of 36 answers three are of no use, and 12 numbers of records and 4 coefficients are solved.
    error = np.linalg.norm(targets - design @ solved) / np.sqrt(33 - 12 - 4)
    assert found[3] == pytest.approx(error, abs=1e-6)
    assert error > 1 if noise else error < 1e-6
    covariance = np.linalg.pinv(design.T @ design, rcond=1e-10)[: n_classes * width]
    covariance = center @ covariance[:, : n_classes * width] @ center * max(error, 1) ** 2
    np.testing.assert_allclose(found[1] @ found[1].T, covariance, atol=1e-9)
    spread = np.linalg.eigvalsh(covariance)[-4:]
    assert found[2] == pytest.approx(np.sqrt(spread[-1] / spread[0]))
    few = _recovered._Answers(values[:4], precision[:4], True)
    with pytest.raises(ValueError, match="6 coefficients do not follow from 5 answers"):
        _recovered._solve_together(rows[:4], few, np.ones(width), False)


@pytest.mark.parametrize("noise", [0.0, 0.006, 0.02])
@pytest.mark.parametrize("has_intercept", [True, False])
def test_of_coefficients_with_the_same_answers_the_smallest_are_found(has_intercept, noise):
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    # The second column is twice the first, the third is as good as an intercept, the last is 0.
    rows = np.column_stack([x, 2 * x, np.full(40, 4.0), np.zeros(40)])
    answers = (1.5 * x + 0.7 + noise * rng.normal(size=40)).round(2)
    model = Ridge(fit_intercept=has_intercept).fit(rows, x)
    records = Records(rows, answers)
    outputs = Outputs(answers, kind="value")
    if noise > 0.01:
        with pytest.raises(ValueError, match="A service that adds noise, or has another model, is"):
            _recovered.recover_model(model, records, outputs)
        return
    found = _recovered.recover_model(model, records, outputs)
    assert found.model is not model and model.coef_ is not found.model.coef_
    # A slope and a level follow from the answers, which are rounded to hundredths.
    design = np.column_stack([x, np.ones(40)])
    (slope, level), rest, *_ = np.linalg.lstsq(design, answers, rcond=None)
    error = np.sqrt(12 * rest[0] / 0.01**2 / 38)
    assert found.error == pytest.approx(error) and (error > 1.5) == (noise > 0)
    spread = np.array([[0.2, 0], [0.4, 0], [0, 0], [0, 0], [0, 1]])
    if not has_intercept:
        spread = np.array([[0.2, 0], [0.4, 0], [0, 0.25], [0, 0]])
        assert not found.model.intercept_
    wanted = spread @ [slope, level]
    np.testing.assert_allclose(found.model.coef_, wanted[:4], atol=1e-12)
    np.testing.assert_allclose(found.model.predict(rows), design @ [slope, level])
    covariance = np.linalg.inv(design.T @ design) * 0.01**2 / 12 * max(error, 1) ** 2
    covariance = spread @ covariance @ spread.T
    np.testing.assert_allclose(found.root @ found.root.T, covariance, atol=1e-12)


@pytest.mark.parametrize("has_steps", [False, True])
def test_errors_of_coefficients_spread_the_gradients(has_steps):
    labels, root = array([0, 1, 0, 1, 1, 0, 1]), array([[0.1], [-0.2], [0.3]])
    model = LogisticRegression().fit(X, labels)
    whole = make_pipeline(StandardScaler(with_mean=False).fit(X + 0), model) if has_steps else model
    if has_steps:
        whole[0].scale_ = array([1.0, 1.0])
    records, rng = Records(X, labels), NS(normal=lambda size: np.ones(size))
    recovered = _recovered.Recovered(whole, root, 1.0, 1.0)
    found = _recovered.spread_gradients(recovered, records, 4, 0.0, rng)
    moved = LogisticRegression().fit(X, labels)
    moved.coef_, moved.intercept_ = model.coef_ + [0.1, -0.2], model.intercept_ + 0.3
    # Four of the seven candidates are members: so much of each gradient, against the penalty.
    change = expit(X @ moved.coef_[0] + moved.intercept_) - expit(
        X @ model.coef_[0] + model.intercept_
    )
    inputs = np.column_stack([X, np.ones(7)])
    wanted = 4 / 7 * inputs.T @ change
    wanted[:2] += moved.coef_[0] - model.coef_[0]
    wanted = wanted**2
    if has_steps:
        wanted[:2] += 2 / 4 * model.coef_[0] ** 2
    np.testing.assert_allclose(found[:3], wanted, rtol=1e-6)
    assert found[-1] == 0 and len(found) == 4


def test_answers_become_as_many_numbers_of_unit_noise_as_coefficients():
    rng = np.random.default_rng(0)
    n, n_classes = 12, 3
    rows = np.column_stack([rng.normal(size=(n, 2)) * [1, 50], np.zeros(n)])
    densities = NS(X=rows, expand=lambda X: X, n_classes=n_classes)
    logs, first = rng.normal(size=(n, n_classes)), np.arange(n) % n_classes
    precision = rng.uniform(1, 9, size=(n, n_classes))
    precision[np.arange(n), first] = 0
    precision[0] = 0  # says nothing
    answers = _class_densities._LogOdds(logs, first, precision)
    pushes, condition, error = _class_densities._project(densities, answers)

    # Each answer is the log odds of a class against the first one of the record, over its noise.
    size = np.sqrt(np.mean(rows**2, axis=0))
    features = np.column_stack([rows / np.where(size > 0, size, 1), np.ones(n)])
    design, given, turned = [], [], []
    for row, other in zip(*np.nonzero(precision), strict=True):
        scale = np.sqrt(precision[row, other])
        against = np.zeros((n_classes, 4))
        against[other], against[first[row]] = features[row] * scale, -features[row] * scale
        design.append(against[1:].ravel())
        given.append(scale * (logs[row, other] - logs[row, first[row]]))
        turned.append(pushes[other][row] / scale)
    design, given, turned = np.array(design), np.array(given), np.array(turned)
    assert design.shape == (22, 8) and turned.shape == (22, 6)  # a column is 0 for two classes
    np.testing.assert_allclose(turned.T @ turned, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(turned @ (turned.T @ design), design, atol=1e-12)
    np.testing.assert_allclose(sum(pushes), 0, atol=1e-12)
    told = sum(push.T @ one for push, one in zip(pushes, logs.T, strict=True))
    np.testing.assert_allclose(told, turned.T @ given)
    sizes = np.linalg.svd(design, compute_uv=False)
    assert condition == pytest.approx(sizes[0] / sizes[5])
    assert error == pytest.approx(np.linalg.norm(given - turned @ (turned.T @ given)) / 4)
