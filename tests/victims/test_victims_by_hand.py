"""Small functions of victims at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf, nan
from scipy import sparse
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LassoLars,
    LogisticRegression,
    OrthogonalMatchingPursuit,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.victims import (
    OneOutput,
    OnnxClassifier,
    _boosters,
    _column_numbers,
    _inner_models,
    _known_values,
    _linear_model,
    _multioutput,
    _onnx,
    _onnx_labels,
    _optima,
    _queried_thresholds,
    _recovered,
    _resampling,
    _split_thresholds,
    _state,
    _stationarity,
    _sufficient_statistics,
    _tree_leaves,
)
from skmia.victims._node_equations import boosters, boosting, cart, equations
from skmia.victims._white_box import _base

C = NS(outputs=array([[2.0], [-1.0]]), y=array([1, 0]), n_rows=10)


places = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0]
near = np.mean([0.25**k * (1 - 0.5**k) ** 0 for k in range(1, 8)])
far = np.mean([0.25**k * (1 - 0.5**k) for k in range(1, 8)])
# Those of values are as likely together as those of the midpoints of neighbors and of others.
own = (2 * near + far) / 3
weights_of_places = [own, near, own, far, near, own]


def find_places(values):
    column = _queried_thresholds.SearchedColumn(array(values)).find_places()
    scale = column.scale
    return column.values, scale, column.places, column.below


def replace_values(rows):
    """Return rows 0, 0 and 1 with other values in a column of the first and of the last."""
    table = _queried_thresholds.SearchedTable(rows)
    return table.replace(array([0, 0, 1]), array([0, -1, 1]), array([0.5, 9.0, 7.25]))


def read_table(X):
    table = _queried_thresholds.SearchedTable(X)
    return table.names, table.values


mixed = pd.DataFrame({"a": [1, 2], "b": ["c", "d"], "e": [0.1, inf], "f": [True, False]})


def split_places(start, stop):
    """Return the places that halve weights of 1, 2, 3 and 4 between others."""
    column = NS(below=array([0.0, 1.0, 3.0, 6.0, 10.0]), places=range(4))
    return _queried_thresholds.SearchedColumn._split(column, array(start), array(stop))


# Columns of nine, two, three and no numbers.
searched = np.column_stack([range(9), [5.0] * 8 + [7.0], [0, 1, 2] * 3, [nan] * 9])
no_list = "columns must be a list of columns of X; got"


def locate(columns, chosen=slice(None)):
    table = NS(values=searched[:, chosen], names=["a", "b", "c", "d"])
    return _queried_thresholds.locate_searched_columns(table, columns)


def know_imputer(rows, columns=(4, 7), **settings):
    """Return the columns that an imputer hands on, and what it says of their kinds."""
    imputer = SimpleImputer(**settings).fit(array(rows, dtype=object if settings else float))
    said = NS(statements=[])
    handed_on = _known_values._know_imputer(imputer, columns and [*columns], said)
    return handed_on, [(one.place, one.known.kind) for one in said.statements]


def know_function(func, columns):
    return _known_values._read_function(NS(func=func), columns, NS(statements=[]))


def list_folds(n_models, cv, fold=None, kept=0.5):
    """Return the fold and the share of each model of a calibration, and its probability."""
    model = NS(
        calibrated_classifiers_=[NS(estimator=GaussianNB(), calibrators=[])] * n_models,
        estimator=GaussianNB(),
        cv=cv,
    )
    inner = _inner_models.InnerModel("a", model, None, None, kept=kept, fold=fold)
    found = _inner_models._list_calibrated(inner, model)
    return [(one.fold and tuple(one.fold), one.kept, one.share) for one in found]


def list_class_codes(*labels):
    """Return the codes that each model of output codes was fitted on."""
    book = array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    model = NS(classes_=array(["a", "b", "c"]), code_book_=book, estimators_=[GaussianNB()] * 2)
    inner = _inner_models.InnerModel("", model, None, array(labels))
    return [one.y for one in _inner_models._list_class_models(inner, model)]


def draws_unevenly(n_distinct, max_samples, n_drawn=50.0, last=None):
    """Ask 20 trees of 50 draws, of a file that does not say from how many rows."""
    sizes = [n_drawn] * 19 + [n_drawn if last is None else last]
    roots = [NS(weighted_n_node_samples=[size], n_node_samples=[n_distinct]) for size in sizes]
    model = NS(estimators_=[NS(tree_=root) for root in roots], max_samples=max_samples)
    return bool(cart._draws_unevenly(model))


def list_union(*transformers):
    inner = NS(child=lambda place, part: (place, type(part).__name__))
    model = NS(transformer_list=[("a", one) for one in transformers])
    return [*_inner_models._list_union(inner, model)]


class BarePart:
    """Stands for a part of the package that holds no estimator."""

    __module__ = "skmia.victims.more"


class AnsweringOnnx(OnnxClassifier):
    """Answers with given numbers, as if the model in a file had."""

    def _ask(self, X):
        return None, self.answer

    def _split(self, outputs, values):
        return values, None

    _stated = None


def ask_onnx(answer, kind="proba", n_classes=2, n_rows=None):
    model = AnsweringOnnx("a.onnx", classes=range(n_classes), kind=kind)
    model.answer = answer if isinstance(answer, list) else array(answer)
    return model.predict_proba(np.zeros((len(answer) if n_rows is None else n_rows, 1)))


def read_onnx_labels(answer):
    model = AnsweringOnnx("a.onnx")
    model.answer = answer
    return model.predict_proba(np.zeros((2, 1))), model.classes_


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _boosters: [
        (lambda: _boosters._read_pairs(["a=1=2", "b", "c="]), {"a": "1=2", "c": ""}),
        (lambda: _boosters._read_settings(["[a: 1: 2]", "[b]", "c: 3"]), {"a": "1: 2", "b": ""}),
        (lambda: _boosters._share(10, 4), [3, 5, 8, 10]),
        (lambda: _boosters._share(3, 4), [1, 2, 3, 3]),
    ],
    _column_numbers: [
        (lambda: _column_numbers._join_thresholds([]), ([], [])),
        (
            lambda: _column_numbers._join_thresholds(
                [(array([0, 1]), array([0.5, 1.5])), (array([2]), array([3]))]
            ),
            ([0, 1, 2], [0.5, 1.5, 3.0]),
        ),
    ],
    _inner_models: [
        (
            lambda: list_union("drop", StandardScaler(), "passthrough", SVC()),
            [("transformer_list[1]", "StandardScaler"), ("transformer_list[3]", "SVC")],
        ),
        (
            lambda: list_folds(3, KFold(3)),
            [(("a", k, 3), 0.5, 1 / 3) for k in range(3)],
        ),
        # Overlapping folds, and folds within a fold, only say how many rows each model has.
        (lambda: list_folds(2, ShuffleSplit(2)), [(None, 0.25, 0.25)] * 2),
        (
            lambda: list_folds(2, 2, fold=_inner_models.FoldModels("b", 1, 4)),
            [(("b", 1, 4), 0.25, 0.1875)] * 2,
        ),
        (lambda: list_folds(1, None), [(None, 0.5, 0.5)]),
        (lambda: list_class_codes("c", "a", "a", "b"), [[1, 1, 1, -1], [1, -1, -1, 1]]),
        (
            lambda: tell_refusal(lambda: list_class_codes("d")),
            "A candidate has a label that the model does not know.",
        ),
        (lambda: _inner_models._is_partition(None), True),
        (lambda: _inner_models._is_partition(5), True),
        (lambda: _inner_models._is_partition(KFold(3)), True),
        (lambda: _inner_models._is_partition(RepeatedKFold()), False),
        (lambda: _inner_models._is_partition(ShuffleSplit()), False),
        (lambda: _inner_models._is_partition(StratifiedKFold(3)), True),
        (lambda: _inner_models._is_partition(LeaveOneOut()), True),
        (lambda: _inner_models._is_partition(TimeSeriesSplit(3)), False),
        (lambda: _inner_models._is_partition(LeavePOut(2)), False),
        (lambda: _inner_models._is_partition(LeavePGroupsOut(2)), False),
        (lambda: _inner_models._is_partition(PredefinedSplit([0, 1, -1])), False),
        (lambda: _inner_models._is_partition([(1, 2)]), False),
        (lambda: _inner_models._encode_labels(None, 3), None),
        (lambda: _inner_models._encode_labels(array([1]), None), [1]),
    ],
    _known_values: [
        (lambda: know_imputer([[1.0, 2.0], [3.0, nan]]), ([4, 7], [(4, "number"), (7, "number")])),
        (
            lambda: know_imputer([["a", 2], ["a", 2]], strategy="most_frequent"),
            ([4, 7], [(4, "text"), (7, "number")]),
        ),
        (lambda: know_imputer([[1.0, 2.0], [3.0, nan]], add_indicator=True)[0], None),
        (lambda: know_imputer([[1.0, nan], [3.0, nan]])[0], None),
        (lambda: know_imputer([[1.0, 2.0]], columns=None), (None, [])),
        (lambda: know_function(None, [4, 7]), [4, 7]),
        (lambda: know_function(np.log, None), None),
        (lambda: know_function(np.log, [4, 7]), None),
        (lambda: know_function(list, [4, 7]), None),
        (lambda: know_function(list, [None]), None),
        (lambda: know_function(list, [4]), [4]),
        (lambda: type(know_function(list, [4])[0]).__name__, "_ChangedPlace"),
        (lambda: _known_values._strip_name("A_b 1"), "ab1"),
        (lambda: _known_values._is_of_one_output(OneOutput(LogisticRegression())), True),
        (lambda: _known_values._is_of_one_output(LogisticRegression()), False),
        (lambda: _known_values._is_of_one_output(BaggingClassifier()), False),
        (lambda: _known_values._is_of_one_output(BarePart()), False),
        (
            lambda: _known_values._find_column_places(
                NS(feature_names_in_=array(["b", "z", "a"], dtype=object)), ["a", "b"], 3
            ),
            {0: 1, 2: 0},
        ),
        (lambda: _known_values._find_column_places(NS(), ["a", "b"], 2), {0: 0, 1: 1}),
        (lambda: _known_values.count_features(NS(n_features_in_=3)), 3),
        (lambda: _known_values.count_features(NS(feature_names_=["a", "b"])), 2),
        (lambda: _known_values.count_features(NS()), None),
        (lambda: _known_values._drop_missing_values([1.0, nan, 2.0]), [1.0, 2.0]),
        (lambda: _known_values._name_kind_of_values(array([1, 2])), "number"),
        (lambda: _known_values._name_kind_of_values(array([1, 2.5], dtype=object)), "number"),
        (lambda: _known_values._name_kind_of_values(array(["a"])), "text"),
        (lambda: _known_values._name_kind_of_values(array(["a", 1], dtype=object)), None),
        (lambda: _known_values._name_kind_of_values(array([], dtype=object)), None),
    ],
    _multioutput: [
        (
            lambda: _multioutput._list_combinations(array([[1, 0], [0, 1], [1, 0]])),
            [[0, 1], [1, 0]],
        ),
        (
            lambda: _multioutput._list_combinations(
                array([["b", 1], ["a", 2], ["b", 1]], dtype=object)
            ),
            [["a", 2], ["b", 1]],
        ),
        (
            lambda: _multioutput._take_label_proba(
                array([[0.25, 0.75], [0.5, 0.5]]), array([3, 1]), array([1, 2])
            ),
            [[0.75, 0.0], [0.5, 0.0]],
        ),
    ],
    boosters: [
        (
            lambda: boosters.find_numbers(
                {"left_children": [1, -1, -1, 4, -1], "split_type": [0, 0, 0, 1, 0]}
            ),
            [True, False, False, False, False],
        ),
        (
            lambda: boosters.find_numbers({"left_children": [1, -1, -1, 4, -1]}),
            [True, False, False, True, False],
        ),
        (lambda: boosters.mark_missing(NS(missing=None), array([0.0, 1.0])), [0.0, 1.0]),
        (lambda: boosters.mark_missing(NS(missing=0.0), array([0.0, 1.0])), [nan, 1.0]),
        (lambda: boosters._are_whole(array([1.0, 2.0])), True),
        (lambda: boosters._are_whole(array([1.0, 2.1])), False),
        (lambda: boosters._are_whole(array([1e12 + 0.5])), True),
        (lambda: boosters._is_weighted_inside(NS(settings={})), False),
        (lambda: boosters._is_weighted_inside(NS(settings={"scale_pos_weight": "2"})), True),
        (lambda: boosters._is_weighted_inside(NS(settings={"scale_pos_weight": "1"})), False),
        (lambda: boosters._read_share({"bagging_freq": "1", "bagging_fraction": "0.5"}), 0.5),
        (lambda: boosters._read_share({"bagging_fraction": "0.5"}), 1.0),
        (lambda: boosters._read_share({"bagging_freq": "1"}), 1.0),
        (
            lambda: boosters._read_base(
                {
                    "learner_model_param": {"base_score": "[0.75]"},
                    "objective": {"name": "binary:logistic"},
                }
            ),
            [1.09861229],
        ),
        (
            lambda: boosters._read_base(
                {
                    "learner_model_param": {"base_score": "[0.75]"},
                    "objective": {"name": "reg:squarederror"},
                }
            ),
            [0.75],
        ),
    ],
    boosting: [
        (lambda: boosting.why_not_boosted(NS(loss="log_loss")), None),
        (lambda: boosting.why_not_boosted(NS(loss="squared_error")), None),
        (
            lambda: boosting.why_not_boosted(NS(loss="huber")),
            "loss='huber' has gradients that are not supported",
        ),
        (lambda: boosting._list_totals(10, 2), [12]),
        (lambda: boosting._list_totals(9, 0.1), [10, 11]),
        (
            lambda: boosting.balance(4),
            ([[0.666666667, 2.0], [1.0, 1.0], [2.0, 0.666666667]], [0.25, 0.5, 0.75]),
        ),
    ],
    cart: [
        # Of 50 draws from 50 rows about 32 are distinct, and from 100 rows 39.5.
        (lambda: [draws_unevenly(32, size) for size in (None, 0.5)], [False, True]),
        (lambda: draws_unevenly(28, None), True),
        (lambda: draws_unevenly(32, None, n_drawn=0.0), False),  # of a file that was stripped
        (lambda: draws_unevenly(32, None, last=51.0), True),
        (lambda: [draws_unevenly(size, 0.5) for size in (35, 37, 39)], [True, False, False]),
        # Nodes whose candidates are all members, up to a thousandth of them.
        (lambda: cart._NodeSizePrior(array([10.0]), 1.0, cart.TreeSample(0, 9)).variance, [0.01]),
        (lambda: cart._NodeSizePrior(array([10.0]), 0.3, cart.TreeSample(0, 9)).variance, [2.1]),
        (
            lambda: cart._read_fractions(NS(value=array([[[1.0, 3.0]], [[0.5, 0.5]]]))),
            [[0.25, 0.75], [0.5, 0.5]],
        ),
        (
            lambda: cart.why_not_reweighted(
                NS(estimators_=[DecisionTreeClassifier(), LogisticRegression()])
            ),
            "it holds a LogisticRegression, and only decision trees are known",
        ),
        (
            lambda: cart.may_hold_rests(
                array([[0.7, 0.3], [0.5, 0.5]]), array([[0.0, 0.0], [0.1, 0.1]])
            ),
            [[False, False], [True, True]],
        ),
        (
            lambda: cart.may_hold_rests(
                array([[0.7, 0.3], [0.5, 0.5]]), array([[0.3, 0.3], [0.0, 0.1]])
            ),
            [[True, True], [False, True]],
        ),
    ],
    equations: [
        (lambda: equations._find_unit(array([2.0, 4.0, 6.0])), 2.0),
        (lambda: equations._find_unit(array([2.0, 3.0])), 1.0),
        (lambda: equations._find_unit(array([0.0, 0.0])), 1.0),
        (
            lambda: equations.estimate_unlikeness(
                NS(
                    children_left=array([1, -1, -1]),
                    n_node_samples=array([6, 4, 2]),
                    weighted_n_node_samples=array([6.0, 4.0, 2.0]),
                )
            ),
            0.0,
        ),
        (
            lambda: equations.estimate_unlikeness(
                NS(
                    children_left=array([1, -1, -1]),
                    n_node_samples=array([6, 4, 2]),
                    weighted_n_node_samples=array([6.0, 2.0, 4.0]),
                )
            ),
            3.0,
        ),
        (
            lambda: equations.estimate_unlikeness(
                NS(
                    children_left=array([1, -1, -1]),
                    n_node_samples=array([6, 0, 0]),
                    weighted_n_node_samples=array([6.0, 2.0, 4.0]),
                )
            ),
            0.0,
        ),
        (
            lambda: equations._are_plain(
                NS(
                    weighted_n_node_samples=array([3.0, 2.0]),
                    n_node_samples=array([3, 2]),
                    n_outputs=1,
                    max_n_classes=1,
                ),
                False,
            ),
            True,
        ),
        (
            lambda: equations._are_plain(
                NS(
                    weighted_n_node_samples=array([3.0, 1.0]),
                    n_node_samples=array([3, 2]),
                    n_outputs=1,
                    max_n_classes=1,
                ),
                False,
            ),
            False,
        ),
        (
            lambda: equations._are_plain(
                NS(
                    weighted_n_node_samples=array([3.0, 1.0]),
                    n_node_samples=array([3, 2]),
                    n_outputs=1,
                    max_n_classes=1,
                ),
                True,
            ),
            True,
        ),
        (
            lambda: equations._are_plain(
                NS(
                    weighted_n_node_samples=array([3.0, 1.5]),
                    n_node_samples=array([3, 2]),
                    n_outputs=1,
                    max_n_classes=1,
                ),
                True,
            ),
            False,
        ),
        (
            lambda: equations._are_plain(
                NS(
                    weighted_n_node_samples=array([4.0, 2.0]),
                    value=array([[[0.25, 0.75]], [[0.5, 0.5]]]),
                    n_outputs=1,
                    max_n_classes=2,
                ),
                True,
            ),
            True,
        ),
        (
            lambda: equations._are_plain(
                NS(
                    weighted_n_node_samples=array([4.0, 2.0]),
                    value=array([[[0.3, 0.7]], [[0.5, 0.5]]]),
                    n_outputs=1,
                    max_n_classes=2,
                ),
                True,
            ),
            False,
        ),
        (lambda: equations._check_total(None, None), None),
        (lambda: equations._check_total(None, 2.0), 2.0),
        (
            lambda: equations._check_total(
                NS(value=array([[[0.25, 0.75]]]), weighted_n_node_samples=array([4.0])),
                array([1.0, 1.0]),
            ),
            [1.0, 1.0],
        ),
        (
            lambda: equations._check_total(
                NS(value=array([[[0.25, 0.75]]]), weighted_n_node_samples=array([4.0])),
                array([2.0, 1.0]),
            ),
            None,
        ),
    ],
    _queried_thresholds: [
        # The largest number of a row says what rounding is.
        (
            lambda: _queried_thresholds.differ(
                array([[1.0, 1e-9], [1.0, 0.5], [0.0, 2.0]]),
                array([[1.0, 0.0], [1.0, 0.75], [0.0, 2.0]]),
            ),
            [False, True, False],
        ),
        (lambda: _queried_thresholds.get_slack(array([-3.0, 1.0]), 2.0) * 2**23, [5.0, 3.0]),
        (lambda: find_places([0.0, 6.0, nan, 2.0, 6.0])[:3], ([0.0, 2.0, 6.0], 3.5, places)),
        (lambda: find_places([0.0, 6.0, nan, 2.0, 6.0])[3], [0.0, *np.cumsum(weights_of_places)]),
        (lambda: find_places([])[:3], ([], 0.0, [])),
        (lambda: find_places([3.0])[2:], ([3.0], [0.0, 0.0])),
        (lambda: replace_values(array([[1, 2], [3, 4]])), [[0.5, 2.0], [1.0, 2.0], [3.0, 7.25]]),
        (
            lambda: replace_values(pd.DataFrame([[1, 2], [3, 4]])),
            {0: [0.5, 1.0, 3.0], 1: [2.0, 2.0, 7.25]},
        ),
        (
            lambda: read_table(mixed),
            (["a", "b", "e", "f"], [[1.0, nan, float(np.float32(0.1)), nan], [2.0, nan, nan, nan]]),
        ),
        (lambda: read_table(array([[1, 2]])), ([0, 1], [[1.0, 2.0]])),
        (lambda: read_table(array([["1", "2"]])), ([0, 1], [[nan, nan]])),
        (lambda: read_table(array([[1e300, 2.0]])), ([0, 1], [[nan, 2.0]])),
        (
            lambda: tell_refusal(lambda: read_table(np.zeros((2, 3, 4)))),
            "X must be a table in which single numbers can be replaced; got an array of shape "
            "(2, 3, 4).",
        ),
        (
            lambda: tell_refusal(lambda: read_table(sparse.eye_array(2)))[-16:],
            "a sparse matrix.",
        ),
        (lambda: split_places([0, 1, 1, 3], [4, 3, 2, 4]), [3, 2, 2, 4]),
        (lambda: locate(None), [0, 2]),
        (lambda: locate(["c", "a", "c"]), [0, 2]),
        (lambda: locate(["b"]), [1]),
        (
            lambda: tell_refusal(lambda: locate("a")),
            f"{no_list} 'a'.",
        ),
        (lambda: tell_refusal(lambda: locate(3)), f"{no_list} 3."),
        (
            lambda: tell_refusal(lambda: locate([])),
            "columns must name at least one column; got none.",
        ),
        (
            lambda: tell_refusal(lambda: locate(["a", "d"])),
            "columns must hold numbers, and different ones; 'd' does not.",
        ),
        (
            lambda: tell_refusal(lambda: locate(None, [1, 3]))[-20:],
            "from; the most is 2.",
        ),
    ],
    _onnx: [
        (lambda: ask_onnx(array([[0.25], [1.0]])), [[0.75, 0.25], [0.0, 1.0]]),
        # A logit z of the second class is as good as -z / 2 and z / 2.
        (
            lambda: ask_onnx(array([[np.log(3.0)], [0.0]]), "logits"),
            [[0.25, 0.75], [0.5, 0.5]],
        ),
        (lambda: ask_onnx(array([[0.25, 0.75]])), [[0.25, 0.75]]),
        (lambda: ask_onnx(np.log(array([[1.0, 2.0, 5.0]])), "logits", 3), [[0.125, 0.25, 0.625]]),
        (lambda: ask_onnx([{"a": 0.25, "b": 0.75}]), [[0.25, 0.75]]),
        (lambda: ask_onnx(array([[0.5, 0.5]]), n_rows=0).shape, (0, 2)),
        (
            lambda: tell_refusal(lambda: ask_onnx(array([[0.5, 0.5]]), n_classes=3)),
            "The model answers with 2 classes; classes has 3.",
        ),
        (
            lambda: tell_refusal(lambda: ask_onnx(array([[0.5, 0.5], [0.5, 0.25]]))),
            "The numbers of the classes do not add to 1, as probabilities do; for a net that "
            'answers with logits give kind="logits".',
        ),
        (
            lambda: tell_refusal(lambda: ask_onnx(array([[0.5, 0.5], [0.5, 0.75]]))) is None,
            False,
        ),
        (
            lambda: read_onnx_labels([{"b": 0.25, "a": 0.75}, {"b": 0.5, "a": 0.5}]),
            ([[0.25, 0.75], [0.5, 0.5]], ["b", "a"]),
        ),
        (
            lambda: read_onnx_labels(array([[0.25], [0.5]])),
            ([[0.75, 0.25], [0.5, 0.5]], [0, 1]),
        ),
    ],
    _onnx_labels: [
        (lambda: _onnx_labels._encode_answers(array([1, 2]), [{"a": 0}, {1: "a", 2: "a"}]), [0, 0]),
        (lambda: _onnx_labels._encode_answers(None, []), None),
        (lambda: _onnx_labels._encode_answers(array([1]), [None]), None),
        (
            lambda: _onnx_labels._read_encoder(
                {"keys_int64s": array([1, 2]), "values_strings": array(["a", "b"])}
            ),
            {1: "a", 2: "b"},
        ),
        (
            lambda: _onnx_labels._read_encoder(
                {"keys_int64s": None, "values_strings": array(["a"])}
            ),
            None,
        ),
        (
            lambda: _onnx_labels._read_encoder({"keys_int64s": array([1]), "values_strings": None}),
            None,
        ),
        (
            lambda: _onnx_labels._read_encoder(
                {
                    "keys_int64s": array([1]),
                    "keys_strings": array([1]),
                    "values_strings": array(["a"]),
                }
            ),
            None,
        ),
        (lambda: _onnx_labels._read_varint(bytes([0x96, 0x01, 7]), 0), (150, 2)),
        (lambda: _onnx_labels._read_varint(bytes([0x96, 0x01, 7]), 2), (7, 3)),
    ],
    _optima: [
        (lambda: _optima.as_signs(NS(classes_=[0, 1]), array([0, 1])), [[-1.0], [1.0]]),
        (
            lambda: _optima.as_signs(NS(classes_=[0, 1, 2]), array([0, 2])),
            [[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]],
        ),
        (lambda: _optima._of_squares(None, C)[0], [[1.0], [-1.0]]),
        (lambda: _optima._of_squares_of_classes(NS(classes_=[0, 1]), C)[0], [[1.0], [0.0]]),
        (
            lambda: _optima._of_log_loss(
                NS(classes_=[0, 1], solver="lbfgs"),
                NS(outputs=array([[0.0], [0.0]]), y=array([1, 0])),
            )[0],
            [[-0.5], [0.5]],
        ),
        (
            lambda: _optima._of_log_loss(
                NS(classes_=[0, 1, 2], solver="lbfgs"),
                NS(outputs=np.log([[1.0, 2.0, 1.0]]), y=array([1])),
            )[0],
            [[0.25, -0.5, 0.25]],
        ),
        (
            lambda: _optima._of_squared_hinge(
                NS(classes_=[0, 1], C=2.0),
                NS(outputs=array([[0.5], [-2.0], [0.5]]), y=array([1, 0, 0])),
            )[0],
            [[-2.0], [0.0], [6.0]],
        ),
        (
            lambda: _optima._of_squares_beyond(
                NS(C=2.0, epsilon=0.5),
                NS(outputs=array([[1.0], [-2.0], [0.25]]), y=array([0, 0, 0])),
            )[0],
            [[2.0], [-6.0], [0.0]],
        ),
        (
            lambda: _optima._of_deviance(
                PoissonRegressor(), NS(outputs=np.log([[2.0], [3.0]]), y=array([1, 4]))
            )[0],
            [[1.0], [-1.0]],
        ),
        (
            lambda: _optima._of_deviance(
                GammaRegressor(), NS(outputs=np.log([[2.0], [3.0]]), y=array([1, 4]))
            )[0],
            [[0.5], [-0.333333333]],
        ),
        (
            lambda: _optima._of_deviance(
                TweedieRegressor(power=0), NS(outputs=array([[2.0], [3.0]]), y=array([1, 4]))
            )[0],
            [[1.0], [-1.0]],
        ),
        (
            lambda: _optima._of_huber(
                NS(scale_=2.0, epsilon=1.5, tol=1e-5),
                NS(outputs=array([[1.0], [9.0], [-9.0]]), y=array([0.0, 0.0, 0.0]), n_rows=3),
            )[0],
            [[1.0], [3.0], [-3.0]],
        ),
        (lambda: _optima.find_power(PoissonRegressor()), 1.0),
        (lambda: _optima.find_power(TweedieRegressor(power=1.5)), 1.5),
        (lambda: _optima.find_power(Ridge()), 0.0),
        (lambda: _optima.find_link(TweedieRegressor(power=1.5)), "log"),
        (lambda: _optima.find_link(TweedieRegressor(power=0)), "identity"),
        (lambda: _optima.find_link(TweedieRegressor(power=0, link="log")), "log"),
        (lambda: _optima.find_link(PoissonRegressor()), "log"),
        (lambda: tuple(_optima._ridge(Ridge(alpha=2.0), C)), (0.0, 2.0, None, False)),
        (lambda: tuple(_optima._ridge(NS(alpha_=3.0, alpha=2.0), C)), (0.0, 3.0, None, False)),
        (lambda: tuple(_optima._bayes(NS(lambda_=6.0, alpha_=2.0), C)), (0.0, 3.0, None, False)),
        (
            lambda: tuple(_optima._bayes(NS(lambda_=array([6.0]), alpha_=2.0), C)),
            (0.0, [3.0], None, True),
        ),
        (
            lambda: tuple(_optima._net_of_means(ElasticNet(alpha=0.5, l1_ratio=0.25), C)),
            (1.25, 3.75, None, False),
        ),
        (lambda: tuple(_optima._net_of_means(Lasso(alpha=0.5), C)), (5.0, 0.0, None, False)),
        (
            lambda: tuple(
                _optima._net_of_means(NS(alpha_=0.5, alpha=7, l1_ratio_=0.25, l1_ratio=0.9), C)
            ),
            (1.25, 3.75, None, False),
        ),
        (lambda: tuple(_optima._ridge_of_means(Ridge(alpha=0.5), C)), (0.0, 5.0, None, False)),
        (lambda: tuple(_optima._twice_ridge(Ridge(alpha=0.5), C)), (0.0, 1.0, None, False)),
        (
            lambda: tuple(_optima._of_margins(LinearSVC(penalty="l1", intercept_scaling=2.0), C)),
            (1.0, 0.0, 2.0, False),
        ),
        (
            lambda: tuple(_optima._of_margins(LinearSVR(fit_intercept=False), C)),
            (0.0, 1.0, None, False),
        ),
        (
            lambda: tuple(
                _optima._of_logistic(
                    NS(
                        penalty="elasticnet",
                        l1_ratio=0.25,
                        C=0.5,
                        solver="saga",
                        intercept_scaling=3.0,
                    ),
                    C,
                )
            ),
            (0.5, 1.5, None, False),
        ),
        (
            lambda: tuple(
                _optima._of_logistic(
                    NS(penalty="l1", C=0.5, solver="liblinear", intercept_scaling=3.0), C
                )
            ),
            (2.0, 0.0, 3.0, False),
        ),
        (
            lambda: tuple(
                _optima._of_logistic(
                    NS(penalty=None, C=0.5, solver="lbfgs", intercept_scaling=3.0), C
                )
            ),
            (0.0, 0.0, None, False),
        ),
        (lambda: _optima._read_strength(NS(C_=array([3.0, 4.0]), C=1.0)), 3.0),
        (lambda: _optima._read_l1_ratio(NS(penalty="elasticnet", l1_ratio=None)), 0.0),
        (
            lambda: _optima._read_l1_ratio(
                NS(penalty="elasticnet", l1_ratio=0.5, l1_ratio_=array([0.25]))
            ),
            0.25,
        ),
        (lambda: _optima._by_mean_gradient(NS(tol=0.5), C, None), 5.0),
        (lambda: _optima._is_dual(NS(dual="auto"), 3, 4), True),
        (lambda: _optima._is_dual(NS(dual="auto"), 4, 4), False),
        (lambda: _optima._is_dual(NS(dual=True), 4, 4), True),
        (
            lambda: _optima.why_no_least_squares_optimum(
                NS(positive=False, coef_=np.zeros((2, 3)))
            ),
            "it has several outputs",
        ),
        (lambda: _optima.why_no_least_squares_optimum(NS(positive=False, coef_=np.zeros(3))), None),
        (
            lambda: _optima.why_no_least_squares_optimum(
                NS(positive=False, coef_=np.zeros((2, 3)), classes_=1)
            ),
            None,
        ),
        (
            lambda: _optima.why_no_ridge_optimum(
                NS(positive=False, coef_=np.zeros(3), solver_="svd")
            ),
            None,
        ),
        (
            lambda: _optima.why_no_ridge_optimum(
                NS(positive=False, coef_=np.zeros(3), solver_="sag")
            ),
            "solver='sag' stops at another point, and only svd and cholesky are known",
        ),
        (lambda: _optima.why_stopped(NS(n_iter_=array([3, 9]), max_iter=10)), None),
        (
            lambda: _optima.why_stopped(NS(n_iter_=array([3, 10]), max_iter=10)),
            "its solver stopped after max_iter=10 rounds, before the optimum",
        ),
        (lambda: _optima.why_stopped(NS(max_iter=10)), None),
        (lambda: _optima._why_not_chosen_ridge(NS(cv=None, coef_=np.zeros(3))), None),
        (
            lambda: _optima._why_not_chosen_ridge(NS(cv=3, coef_=np.zeros(3))),
            "cv=3 leaves open by which solver it was fitted",
        ),
        (
            lambda: _optima._why_not_logistic(NS(dual=True, max_iter=9)),
            "dual=True stops at another point",
        ),
        (
            lambda: _optima._why_not_logistic(NS(C_=array([1.0, 2.0]))),
            "its classes have several strengths of the penalty",
        ),
        (
            lambda: _optima._why_not_logistic(NS(C_=array([1.0, 1.0]), refit=False)),
            "its classes have several strengths of the penalty",
        ),
        (lambda: _optima._why_not_logistic(NS(C_=array([1.0, 1.0]), n_iter_=9, max_iter=9)), None),
        (
            lambda: _optima._why_not_logistic(NS(n_iter_=9, max_iter=9)),
            "its solver stopped after max_iter=9 rounds, before the optimum",
        ),
        (
            lambda: _optima._why_not_logistic(NS(multi_class="ovr")),
            "multi_class='ovr' has another loss",
        ),
        (
            lambda: _optima._why_not_margins(NS(loss="hinge")),
            "loss='hinge' has no gradient on its edge",
        ),
        (
            lambda: _optima._why_not_margins(NS(loss="squared_epsilon_insensitive", dual=True)),
            "dual=True stops at another point",
        ),
        (
            lambda: _optima._why_not_margins(
                NS(loss="squared_epsilon_insensitive", dual=False, n_iter_=1, max_iter=2)
            ),
            None,
        ),
        (
            lambda: _optima._why_not_margins(
                NS(loss="squared_hinge", dual=True, n_iter_=1, max_iter=2)
            ),
            None,
        ),
        (
            lambda: _optima._why_not_margins(
                NS(loss="squared_hinge", dual=True, multi_class="crammer_singer")
            ),
            "multi_class='crammer_singer' has another loss",
        ),
    ],
    _recovered: [
        (lambda: _recovered._is_sparse(NS(penalty="l1")), True),
        (lambda: _recovered._is_sparse(NS(penalty="l2")), False),
        (lambda: _recovered._is_sparse(LogisticRegression(penalty="l1")), True),
        (lambda: _recovered._is_sparse(LogisticRegression(penalty="elasticnet")), True),
        (lambda: _recovered._is_sparse(LogisticRegression(l1_ratio=0.5)), True),
        (lambda: _recovered._is_sparse(LogisticRegression()), False),
        (lambda: _recovered._is_sparse(Lasso()), True),
        (lambda: _recovered._is_sparse(ElasticNet()), True),
        (lambda: _recovered._is_sparse(Ridge()), False),
        (lambda: _recovered._is_sparse(OrthogonalMatchingPursuit()), True),
        (lambda: _recovered._is_sparse(LassoLars()), True),
        (
            lambda: _recovered._list_coefficients(
                NS(coef_=array([1.0, 2.0]), intercept_=3.0, fit_intercept=True)
            ),
            [[1.0, 2.0, 3.0]],
        ),
        (
            lambda: _recovered._list_coefficients(
                NS(
                    coef_=array([[1.0, 2.0], [4.0, 5.0]]),
                    intercept_=array([3.0, 6.0]),
                    fit_intercept=True,
                )
            ),
            [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        ),
        (
            lambda: _recovered._list_coefficients(
                NS(coef_=array([1.0, 2.0]), intercept_=0.0, fit_intercept=False)
            ),
            [[1.0, 2.0]],
        ),
        (lambda: _recovered.find_link_of(TweedieRegressor(power=0)), "identity"),
        (lambda: _recovered.find_link_of(PoissonRegressor()), "log"),
        (lambda: _recovered.find_link_of(GammaRegressor()), "log"),
        (lambda: _recovered.find_link_of(Ridge()), "identity"),
        (lambda: _recovered.count_coefficients_of_answers(LogisticRegression(), 4, 3), 10),
        (
            lambda: _recovered.count_coefficients_of_answers(
                LogisticRegression(fit_intercept=False), 4, 3
            ),
            8,
        ),
        (lambda: _recovered.count_coefficients_of_answers(Ridge(), 4, 3), 5),
    ],
    _resampling: [
        (lambda: _resampling.judge_sampler(NS()) == _resampling.MAKES, True),
        (
            lambda: (
                _resampling.judge_sampler(NS(sample_indices_=array([1, 2]))) == _resampling.SELECTS
            ),
            True,
        ),
        (
            lambda: (
                _resampling.judge_sampler(NS(sample_indices_=array([1, 1]))) == _resampling.REPEATS
            ),
            True,
        ),
        (
            lambda: _resampling.encodes_by_folds(make_pipeline(StandardScaler(), TargetEncoder())),
            True,
        ),
        (
            lambda: _resampling.encodes_by_folds(make_pipeline(StandardScaler(), OrdinalEncoder())),
            False,
        ),
    ],
    _split_thresholds: [
        (
            lambda: _split_thresholds._expand_ranges(array([5, 9, 2]), array([7, 9, 5])),
            [5, 6, 2, 3, 4],
        ),
        (
            lambda: _split_thresholds._why_not_sampled_replay(Ridge()),
            "only random forests and bagged trees have samples that are known",
        ),
        (lambda: _split_thresholds._why_not_sampled_replay(RandomForestClassifier()), None),
        (
            lambda: _split_thresholds._why_not_sampled_replay(
                RandomForestClassifier(bootstrap=False)
            ),
            "bootstrap=False, so that all of its trees were grown on all rows",
        ),
        (
            lambda: _split_thresholds._why_not_sampled_replay(
                BaggingClassifier(bootstrap=False, max_samples=0.5)
            ),
            None,
        ),
        (
            lambda: _split_thresholds._why_not_sampled_replay(
                BaggingClassifier(bootstrap=False, max_samples=1.0)
            ),
            "bootstrap=False, so that all of its trees were grown on all rows",
        ),
        (lambda: _split_thresholds.why_no_histogram_splits(NS(is_categorical_=None)) is None, True),
        (
            lambda: (
                _split_thresholds.why_no_histogram_splits(NS(is_categorical_=array([True, False])))
                is None
            ),
            True,
        ),
        (
            lambda: (
                _split_thresholds.why_no_histogram_splits(NS(is_categorical_=array([True, True])))
                is None
            ),
            False,
        ),
    ],
    _state: [
        (lambda: _state.are_plain([1, 2.5, "a", None]), True),
        (lambda: _state.are_plain([1, [2]]), False),
        (lambda: _state.count_array_bytes(np.zeros((3, 4))[:, ::2]), 48),
        (lambda: _state.count_array_bytes(sparse.csr_array(np.eye(3))), 24),
    ],
    _linear_model: [
        (
            lambda: _linear_model._others(array([[1.0, 2.0], [3.0, 4.0]]), array([1, 0])),
            [[1.0, -inf], [-inf, 4.0]],
        ),
    ],
    _stationarity: [
        (lambda: _stationarity.has_edge(LinearSVC(loss="hinge")), True),
        (lambda: _stationarity.has_edge(LinearSVC()), False),
        (lambda: _stationarity.has_edge(LinearSVR()), True),
        (lambda: _stationarity.has_edge(QuantileRegressor()), True),
        (lambda: _stationarity.has_edge(Ridge()), False),
        (lambda: _stationarity.is_machine(SVC()), True),
        (lambda: _stationarity.is_machine(LinearSVC()), False),
        (
            lambda: _stationarity._are_stored_rows(
                array([[1.0, -0.0], [3.0, 4.0]]), array([[1.0, 0.0], [5.0, 6.0]])
            ),
            [True, False],
        ),
        (
            lambda: _stationarity._list_support_rows(
                NS(support_vectors_=sparse.csr_array(np.eye(2)))
            ),
            [[1.0, 0.0], [0.0, 1.0]],
        ),
        (
            lambda: _stationarity._find_distances(
                NS(coef_=array([2.0]), intercept_=1.0), array([[1.0], [2.0]]), array([4.0, 3.0])
            )[0],
            [1.0, 2.0],
        ),
    ],
    _sufficient_statistics: [
        (
            lambda: _sufficient_statistics._pairs(array([[2.0, 3.0, 5.0]])),
            [[4.0, 6.0, 10.0, 9.0, 15.0, 25.0]],
        ),
        (
            lambda: _sufficient_statistics._unshrink(array([[2.0, 0.5], [0.5, 4.0]]), 0.5),
            [[1.0, 1.0], [1.0, 5.0]],
        ),
        (
            lambda: _sufficient_statistics.why_not_shrunk(NS(covariance_estimator=3)),
            "its covariance comes from a covariance_estimator",
        ),
        (
            lambda: _sufficient_statistics.why_not_shrunk(NS(shrinkage="auto")),
            "shrinkage='auto' was chosen by the rows",
        ),
        (lambda: _sufficient_statistics.why_not_shrunk(NS(shrinkage="empirical")), None),
        (
            lambda: _sufficient_statistics.why_not_shrunk(NS(shrinkage=1)),
            "shrinkage=1 leaves no covariance",
        ),
        (lambda: _sufficient_statistics.why_not_shrunk(NS(shrinkage=0.99)), None),
        (lambda: _sufficient_statistics.why_not_shrunk(NS()), None),
        (lambda: _sufficient_statistics._get_shrinkage(NS(shrinkage=0.25)), 0.25),
        (lambda: _sufficient_statistics._get_shrinkage(NS(shrinkage="auto")), 0.0),
        (
            lambda: _sufficient_statistics._is_category(1, 3)(array([[9, 2], [9, 0]]), None),
            [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        ),
    ],
    _tree_leaves: [
        (lambda: _tree_leaves._as_columns(array([[1, 2], [3, 4], [5, 6]])), [[1, 3, 5], [2, 4, 6]]),
        (lambda: _tree_leaves._as_columns(array([1, 2, 3])), [[1, 2, 3]]),
        (lambda: _tree_leaves._keep_counts([1, 2]), [1, 2]),
        (lambda: _tree_leaves._keep_counts([0, 0]), None),
        (lambda: _tree_leaves._keep_counts([1, 2.5]), None),
    ],
    _base: [
        (lambda: _base.check_layers(None), None),
        (
            lambda: _base.check_parameters(None, {"a": (2, 3), "b": (3,), "c": (3, 1), "d": (1,)}),
            ["c"],
        ),
        (lambda: _base.check_parameters(None, {"b": (3,)}), []),
        (
            lambda: _base._dot(array([[1.0, 2.0], [3.0, 4.0]]), array([[5.0, 6.0], [7.0, 8.0]])),
            [17.0, 53.0],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


rows = array([[1.0, 5.0], [2.0, 1.0], [4.0, 3.0], [3.0, 8.0], [7.0, 2.0], [6.0, 6.0], [9.0, 4.0]])
classes = array([0, 1, 0, 0, 1, 1, 1])
holed = np.where(rows == 7.0, nan, rows)
linked = rows[:, [0, 0]] + rows * [0.0, 0.1]
# Newer versions of scikit-learn store the spread within classes.
has_spread = hasattr(NearestCentroid().fit(rows, classes), "within_class_std_dev_")
of_centroids = (6, False, "its deviations_ depend on") if has_spread else (4, False, None)
texts = ["a b", "b", "a c", "c b", "a", "d a", "b d"]

# The models that store sums: the number of their equations, whether they tell the number of rows,
# and why not all of their numbers are read.
SUMS = [
    (GaussianNB(), rows, 10, True, None),
    (BernoulliNB(binarize=3.5), rows, 6, True, None),
    (MultinomialNB(alpha=2.0), rows, 6, True, None),
    (ComplementNB(), rows, 6, True, None),
    (CategoricalNB(), rows.astype(int), 2 + 2 * (10 + 9), True, None),
    (LinearDiscriminantAnalysis(), rows, 2 + 4 + 1, True, None),
    (LinearDiscriminantAnalysis(solver="lsqr"), rows, 2 + 4 + 3, True, None),
    (LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.25), rows, 2 + 4 + 3, True, None),
    (LinearDiscriminantAnalysis(priors=[0.5, 0.5]), rows, 4, False, "priors were given"),
    (LinearDiscriminantAnalysis("lsqr", shrinkage="auto"), rows, 6, True, "shrinkage='auto'"),
    (QuadraticDiscriminantAnalysis(), rows, 2 + 4 + 6, True, None),
    (QuadraticDiscriminantAnalysis(reg_param=0.25), rows, 2 + 4 + 6, True, None),
    (QuadraticDiscriminantAnalysis(priors=[0.5, 0.5]), rows, 4 + 6, False, None),
    (QuadraticDiscriminantAnalysis(reg_param=1.0), rows, 2 + 4, True, "reg_param=1 leaves no"),
    (NearestCentroid(), rows, *of_centroids),
    (DummyClassifier(), rows, 2, True, None),
    (StandardScaler(), rows, 1 + 2 + 2, True, None),
    (StandardScaler(), holed, 2 + 2 + 2, False, None),
    (StandardScaler(with_mean=False), rows, 1 + 2 + 2, True, None),
    (StandardScaler(with_std=False), rows, 1 + 2, True, None),
    (StandardScaler(with_mean=False, with_std=False), rows, 1, True, None),
    (SimpleImputer(), holed, 2, False, None),
    (PCA(1), rows, 1 + 2 + 2 + 1, True, None),
    (PCA(2), rows, 1 + 2 + 4 + 1, True, None),
    (PCA(1, svd_solver="randomized", random_state=0), rows, 1 + 2, True, "svd_solver='rand"),
    (TfidfVectorizer(token_pattern=r"\w"), texts, 1 + 4, True, None),
    (TfidfVectorizer(token_pattern=r"\w", smooth_idf=False), texts, 1 + 4, True, None),
    (EmpiricalCovariance(), rows, 2 + 3, False, None),
    (EmpiricalCovariance(assume_centered=True), rows, 3, False, None),
    (ShrunkCovariance(shrinkage=0.25), rows, 2 + 3, False, None),
    (ShrunkCovariance(shrinkage=1.0), rows, 2, False, "shrinkage=1 leaves no covariance"),
    (LedoitWolf(), linked, 2 + 3, False, "shrinkage_ was chosen by fourth moments"),
    (OAS(), linked, 2 + 3, False, None),
]


@pytest.mark.parametrize(("model", "X", "n_equations", "tells_rows", "refused"), SUMS)
def test_sums_over_training_rows_are_those_that_a_model_stores(
    model, X, n_equations, tells_rows, refused
):
    fitted = clone(model).fit(X, classes)
    values = np.asarray(X, dtype=object) if isinstance(X, list) else X
    (source,), _ = _sufficient_statistics.read_stored_sums(fitted, Records(values, classes), 7)
    assert sum(len(block.targets) for block in source.blocks) == n_equations
    assert source.n_rows == (7 if tells_rows else None)
    assert source.refused is refused is None or source.refused.startswith(refused)
    assert source.reads & vars(source.model).keys()
    for block in source.blocks:
        some = np.arange(7) if block.label is None else np.flatnonzero(classes == block.label)
        found = block.features(source.X[some], None if source.y is None else source.y[some])
        found = np.asarray(found.todense() if hasattr(found, "todense") else found)
        np.testing.assert_allclose(found.sum(axis=0), block.targets, rtol=1e-6, atol=1e-6)
        assert np.broadcast_to(block.floors, len(block.targets)).max(initial=0) < 1e-6


def test_defaults_are_those_of_the_docstrings():
    from skmia import victims

    found, n_compared = compare_defaults_of(victims)
    assert not found
    assert n_compared >= 20
