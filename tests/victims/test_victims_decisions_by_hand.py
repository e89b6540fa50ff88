"""Readers of models, of their answers and of their bytes, each decision with an answer by hand."""

import struct
import warnings
from collections import UserList
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, QuantileRegressor, RidgeCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

from skmia.victims import (
    _boosters,
    _column_numbers,
    _inner_models,
    _known_values,
    _model_features,
    _multioutput,
    _onnx,
    _onnx_labels,
    _optima,
    _queried_thresholds,
    _recovered,
    _resampling,
    _service,
    _split_thresholds,
    _state,
    _stationarity,
    _sufficient_statistics,
)
from skmia.victims._node_equations import boosting, cart, equations
from skmia.victims._white_box import _base

LOG = np.log


def compare_column(values, known):
    said = NS(
        known=_known_values.KnownColumn(values=array(known, dtype=object), part="P"),
        vectorizer=None,
        is_told=False,
    )
    said._replace = lambda known: NS(known=known, vectorizer=None, is_told=False)
    found = _known_values._compare_column("c", pd.Series(values, dtype=object), said)
    if found is None:
        return None
    counts = found.n_unknown, found.n_missing, found.n_distinct
    return found.share, *counts, found.unknown, found.known[:1]


def assign_lists(sizes, ranges, n_categories=None):
    n_categories = [0] * len(ranges) if n_categories is None else n_categories
    text = NS(ranges=np.reshape(ranges, (-1, 2)), n_categories=array(n_categories))
    return _known_values._assign_lists(sizes, text)


def cut(text, n_characters):
    return _model_features.CutText(text, n_characters, False)


TABLE = array([[1.0, 10.0], [3.0, 20.0], [8.0, 60.0]])


def find_scale(scaler, n=40):
    rows = np.tile(TABLE, (n // 3 + 1, 1))[:n]
    return _column_numbers._find_scale(scaler.fit(rows))


def go(value, near=1, far=2, column=(1.0, 2.0, 4.0, 8.0, 16.0)):
    """Return the intervals beside the value of one row, in a column of some values."""
    columns = {0: NS(values=array(column))}
    search = _queried_thresholds.SearchStarts._go(
        None, array([[value]]), columns, array([0]), array([0]), near, far
    )
    return [one.tolist() for one in search[2:]]


def has_steps(*continuous):
    search = NS(continuous=array(continuous, dtype=bool))
    return _queried_thresholds._ThresholdSearch.has_steps.fget(search)


def fit_weighted(rows, values, scale):
    """Compare weighted least squares with those of numpy."""
    rows, values, scale = array(rows), array(values), array(scale)
    coef, root, condition, error = _recovered._fit_weighted(
        rows, values, scale, np.ones(rows.shape[1])
    )
    wanted, _, rank, sizes = np.linalg.lstsq(rows * scale[:, None], values * scale, rcond=None)
    rest = (values - rows @ wanted) * scale
    size = np.sqrt(rest @ rest / (len(rows) - rank))
    covariance = np.linalg.pinv((rows * scale[:, None]).T @ (rows * scale[:, None]))
    return [
        np.allclose(coef, wanted),
        np.allclose(root @ root.T, covariance * max(size, 1) ** 2),
        np.isclose(condition, sizes[0] / sizes[rank - 1]),
        np.isclose(error, size),
    ]


def make_smallest(cost):
    """Move coefficients along (1, 1), to the least of the sum of squares."""
    null = array([[1.0], [1.0]]) / 2**0.5
    return _recovered._make_smallest(null, array(cost))(array([3.0, 5.0]))


def find_share(model, n_rows=10):
    """Return the share of a sample of ten rows."""
    if isinstance(model, RandomForestClassifier | BaggingClassifier):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of so few rows
            model = model.fit(np.arange(n_rows)[:, None], np.arange(n_rows) % 2)
    return _split_thresholds._find_share(model)


def trim():
    """Trim two thresholds of four and three values, explained by the middle ones."""
    events = _split_thresholds.SplitEvents(**(
        dict.fromkeys(_split_thresholds.SplitEvents._fields)
        | {
            "kept": 1.0, "candidates": array([5, 6, 7, 8]), "slots": array([0, 1, 3, 5]),
            "of_slot": array([0, 0, 0, 0, 1, 1, 1]), "others": np.arange(7.0),
            "lower": array([1, 2, 5]), "upper": array([2, 2, 6]), "of_pair": array([0, 0, 1]),
            "n_thresholds": 2,
        }
    ))  # fmt: skip
    found = _split_thresholds._trim(events)
    return found.candidates, found.slots, found.of_slot, found.others, found.lower, found.upper


def join_events():
    fields = dict.fromkeys(_split_thresholds.SplitEvents._fields)
    one = _split_thresholds.SplitEvents(**(
        fields | {
            "candidates": array([5]), "slots": array([1]), "of_slot": array([0, 0]),
            "others": array([1.0, 2.0]), "lower": array([0]), "upper": array([1]),
            "of_pair": array([0]), "n_thresholds": 1, "n_explained": 3,
        }
    ))  # fmt: skip
    found = _split_thresholds.join_events([one, one._replace(n_thresholds=2, n_explained=5), one])
    return (
        found.candidates, found.slots, found.of_slot, found.lower, found.upper, found.of_pair,
        found.n_thresholds, found.n_explained,
    )  # fmt: skip


def varint(number):
    found = b""
    while True:
        number, byte = number >> 7, number & 127
        found += bytes([byte | (128 if number else 0)])
        if not number:
            return found


def field(number, wire, payload):
    return varint(number << 3 | wire) + payload


def piece(number, data):
    return field(number, 2, varint(len(data)) + data)


def read_tensor(kind, **data):
    tensor = {_onnx_labels._DATA_TYPE: [kind]}
    tensor |= {getattr(_onnx_labels, name): value for name, value in data.items()}
    return _onnx_labels._read_tensor(tensor)


def read_attributes(*attributes):
    return _onnx_labels._read_attributes({_onnx_labels._ATTRIBUTE: attributes})


def smallest_margin(model, X, y):
    X, y = array(X), array(y)
    return _stationarity._smallest_margin(model.fit(X, y), X, np.searchsorted(model.classes_, y))


CLASSES = array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [5.0, 0.0], [0.0, 6.0], [0.0, 7.0]])


def margins_of_pairs():
    """Compare the margins of three classes with those of each pair."""
    y = array([0, 0, 1, 1, 2, 2])
    model = SVC(kernel="linear").fit(CLASSES, y)
    found = _stationarity._smallest_margin(model, CLASSES, y)
    wanted = []
    for row, label in zip(CLASSES, y, strict=True):
        margins = []
        for other in {0, 1, 2} - {int(label)}:
            some = np.isin(y, [label, other])
            pair = SVC(kernel="linear").fit(CLASSES[some], y[some] == label)
            margins.append(pair.decision_function(row[None])[0])
        wanted.append(min(margins))
    return np.allclose(found, wanted, atol=1e-2)


def find_distances(model, y):
    model.coef_, model.intercept_, model.classes_ = array([2.0]), array([1.0]), array([0, 1])
    return _stationarity._find_distances(model, array([[0.0], [1.0], [-1.0]]), array(y))


def count_documents(shares, expected, rounded=1e-12):
    return _sufficient_statistics._count_documents(array(shares), expected, rounded)


def factor(matrix):
    root = _stationarity._factor_raised(array(matrix))
    return np.abs(root @ root.T - array(matrix)).max() < 1e-6


def weigh_classes(weights, y=(0, 0, 0, 1), share=0.5):
    model = NS(class_weight=weights, classes_=array(["a", "b"]))
    candidates = NS(y=array(y), share=share)
    candidates.add_up = lambda slopes, power=1: (slopes**power).sum(axis=0)
    slopes = array([[1.0], [2.0], [4.0], [8.0]])
    found, variance = _optima._weigh_classes(model, candidates, slopes)
    return found, variance


def error_of(function, **given):
    model = NS(coef_=array([1.0, 0.0, 2.0]), **given)
    candidates = NS(n_rows=10, sum_squares=lambda: array([3.0, 5.0]))
    return function(model, candidates, None)


def penalize(name, **model):
    return tuple(getattr(_optima, name)(NS(**model), NS(n_rows=10)))


def penalize_logistic(penalty, solver="saga", C=4.0, **more):
    given = {"penalty": penalty, "solver": solver, "C": C, "intercept_scaling": 3.0}
    return penalize("_of_logistic", **given, **more)


def pull(coef, intercept=1.0, **penalty):
    model = NS(fit_intercept=intercept is not None, intercept_=array([intercept or 0.0]))
    return _optima._pull(model, array(coef), _optima.Penalty(**penalty))


def as_stored(value):
    found = _state.as_stored_array(value)
    return None if found is None else (found.dtype.kind, found.tolist())


def snap(values, stored):
    return _inner_models._snap(array(values), array(stored))


FRAME = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})


def take(chosen, X=FRAME):
    found = _inner_models.take_chosen_columns(X, chosen)
    return None if found is None else np.asarray(found).tolist()


def with_threshold(**given):
    inner = NS(child=lambda name, model: NS(_replace=lambda **changed: changed))
    found = [*_inner_models._list_with_threshold(inner, NS(estimator_=1, **given))]
    return [one if isinstance(one, dict) else "whole" for one in found]


def goes_below(kind, *values, goes_left=True):
    tree = NS(_missing=array([kind]), _threshold=array([1.0]), _goes_left=array([goes_left]))
    node = np.zeros(len(values), dtype=int)
    return _boosters.LightGBMTree._goes_below(tree, node, array(values))


def is_listed(*values):
    """Look up codes in two words, of which the first belongs to another split."""
    tree = NS(_words=(array([0, 1, 3]), array([7, 0b101, 1 << 31], dtype=np.uint32)))
    tree._threshold = array([1.0])
    return _boosters.LightGBMTree._is_listed(tree, np.zeros(len(values), dtype=int), array(values))


def steps_of(values, dtype=np.float64, some=(0.5, 3.0)):
    return equations.estimate_steps([array(values, dtype=dtype)])(array(some))


MANY = np.arange(60.0)


def list_entries(place, nodes, coefficients):
    found = equations._list_entries(array(place), array(nodes), array(coefficients))
    return [part.tolist() for part in found]


def add_balance(left_out=False, unlike=0.0):
    added = []
    collector = NS(add=lambda *given, rounded: added.append((*given, rounded.step, rounded.terms)))
    cart._add_balance(
        collector, array([0, 1, 1]), array([3.0, 1.0, 2.0]), NS(spread=0.5), array([0.1, 0.2]),
        left_out, unlike,
    )  # fmt: skip
    return added[0][2:4]


def add_targets(draws, unlike=0.0):
    added = []
    collector = NS(
        add=lambda *given, **more: added.append([np.asarray(one).tolist() for one in given[1:]])
    )
    tree = NS(
        value=array([[[2.0]], [[5.0]]]), n_node_samples=array([4, 6]), impurity=array([0.5, 0.25]),
        node_count=2,
    )  # fmt: skip
    sample = NS(kept=0.5, rarity=0.1, spread=0.2, draws=draws)
    cart._add_targets(
        collector,
        tree,
        array([0, 1]),
        array([3.0, 7.0]),
        sample,
        array([10.0, 20.0]),
        np.abs,
        unlike,
    )
    return added[0], added[1][0], added[2:]


def judge_shares(shares, steps=None):
    """Judge the size of a node of about 10 rows, of whose classes so many shares are."""
    shares = array([shares])
    steps = np.zeros_like(shares) if steps is None else array([steps])
    prior = cart._NodeSizePrior(array([20]), 0.5, None)
    return cart._judge_shares(shares, steps, prior)


def choose_weights(weights, counts, steps, seconds=None, slack=False):
    weights = array(weights)
    start = np.full((len(weights), 1), 0.5)
    penalties = np.zeros(len(counts))
    seconds = None if seconds is None else array(seconds)
    return boosting.choose_weights(
        weights, seconds, array(counts), array(steps), start, penalties, slack=slack
    )


def derive(n_classes, y, margins):
    return boosting.LossGradients._derive(NS(n_classes=n_classes, y=array(y)), array(margins))


def summarize(matrix, scale, *cuts):
    """Summarize rows whose columns come in parts."""
    parts = np.split(array(matrix, dtype=float), cuts, axis=1)
    return _base.summarize_rows(parts, array(scale))


def summarize_by_hand(matrix, scale):
    found = []
    for row, by in zip(array(matrix, dtype=float), scale, strict=True):
        d = row - row.mean()
        spread = (d**2).mean()
        shapes = (
            [(d**3).mean() / spread**1.5, (d**4).mean() / spread**2 - 3] if spread else [0.0, 0.0]
        )
        sizes = [np.abs(row).sum(), np.sqrt((row**2).sum()), np.abs(row).max(), row.mean()]
        found.append([*(by * one for one in sizes), *shapes, by * np.abs(row).min()])
    return found


def average(answers, kind="proba", n_repeats=3, kept=None):
    """Ask so often, and return the answer and how often it was asked."""
    asked, answers = [], iter(answers)
    service = NS(
        _asked=NS(kept={} if kept is None else kept), classes_=array(["a", "b"]), kind=kind,
        n_repeats=n_repeats,
    )  # fmt: skip
    service._call = lambda batch: asked.append(1) or next(answers)
    found = _service.CallableVictim._average(
        service, np.zeros((2, 1)), "name", "hold answers", lambda answer, n, classes: answer
    )
    return found, len(asked), service._asked.kept["name"][0]


def list_regressor(y, transform=lambda y: y * 2, trail="raw"):
    """List the regressor inside of one whose targets are transformed."""
    inner = NS(y=y, trail=trail, changed={})
    inner._replace = lambda **changed: inner.changed.update(changed) or inner
    inner.child = lambda name, model, y: NS(_replace=lambda view: (name, y, view))
    model = NS(transformer_=NS(transform=transform), regressor_=None)
    ((name, y, view),) = _inner_models._list_regressor(inner, model)
    return name, None if y is None else y.tolist(), view, sorted(inner.changed)


def list_bagged(max_samples=1.0, bootstrap=False, chosen=((0, 1), (1,))):
    inner = NS(kept=0.5, X=array([[1.0, 2.0]]), reads="all", why=None)
    inner._replace = lambda **changed: NS(**vars(inner) | changed)
    children = []

    def child(self, name, estimator):
        part = NS(
            name=name, trail=name, kept=self.kept, why=self.why, X=None, view=None, n_source=None
        )
        part._replace = lambda **changed: vars(part).update(changed) or part
        part.transformed = lambda X, name: vars(part).update(X=X.tolist()) or part
        children.append(part)
        return part

    def replace(**changed):
        made = NS(**vars(inner) | changed)
        made.child = lambda name, estimator: child(made, name, estimator)
        return made

    inner._replace, inner.child = replace, lambda name, estimator: child(inner, name, estimator)
    model = NS(
        estimators_=[1, 2], max_samples=max_samples, bootstrap=bootstrap, n_features_in_=2,
        estimators_features_=[array(one) for one in chosen],
    )  # fmt: skip
    found = [*_inner_models._list_bagged(inner, model)]
    return found[0].kept, found[0].why, [(one.X, one.n_source) for one in found]


def compute_scores(decision=None, proba=None):
    model = NS()
    if decision is not None:
        model.decision_function = lambda X: array(decision)
    model.predict_proba = lambda X: array(proba)
    return _inner_models._compute_scores(model, None)


def column(values=None, kind=None, dtype=None, part="", has_none=False):
    values = None if values is None else array(values, dtype=object)
    return _known_values.KnownColumn(kind, values, dtype, part, has_none)


def join_columns(first, second):
    found = _known_values._join_known_columns(first, second)
    return (
        found.kind, None if found.values is None else sorted(found.values.tolist()), found.dtype,
        found.part, found.has_none,
    )  # fmt: skip


def linearize(link, values, unit=0.01):
    before = _recovered.find_link_of
    _recovered.find_link_of = lambda model: link
    try:
        found = _recovered._linearize_predictions(None, array(values), unit)
    finally:
        _recovered.find_link_of = before
    return found.values.tolist(), (found.precision > 0).tolist()


def bound_errors(has_intercept):
    """Bound the errors of two outputs of two columns."""
    root = array([[0.5, 0.0], [0.0, 0.25], [1.0, 0.0], [0.0, 2.0]])
    root = np.vstack([root, [[0.0, 0.0], [3.0, 4.0]]]) if has_intercept else root
    before = _recovered.find_model, _recovered.read_features
    _recovered.find_model = lambda model: (NS(fit_intercept=has_intercept), None)
    _recovered.read_features = lambda *given, role: array([[2.0, 4.0], [1.0, 0.0]])
    try:
        return float(_recovered.bound_errors(NS(model=None, root=root), NS(X=None)))
    finally:
        _recovered.find_model, _recovered.read_features = before


def take_input(X, n_inputs, name="b", i=1):
    try:
        return np.asarray(_onnx._take_input(X, i, NS(name=name), n_inputs)).tolist()
    except ValueError as error:
        return str(error)


def fit_order(labels, numbers, given):
    return _onnx.OnnxClassifier._fit_order(None, array(labels), array(numbers), array(given))


def why_not_resampled(*kinds, repeats=False, folds=()):
    """Return why rows of a pipeline of steps of some kinds are not records."""
    steps = [(str(k), type(f"S{k}", (), {"kind": kind})()) for k, kind in enumerate(kinds)]
    names = "encodes_by_folds", "is_sampler", "judge_sampler"
    before = {name: getattr(_resampling, name) for name in names}
    _resampling.encodes_by_folds = lambda step: step.kind == "folds"
    _resampling.is_sampler = lambda step: step.kind in (_resampling.MAKES, _resampling.REPEATS)
    _resampling.judge_sampler = lambda step: step.kind
    try:
        return _resampling.why_not_resampled(NS(best_estimator_=NS(steps=steps)), repeats=repeats)
    finally:
        for name, function in before.items():
            setattr(_resampling, name, function)


def call_service(errors, retries=2, retry_on=None, per_second=None):
    """Call a function that fails so often, and return how long it was waited for."""
    waited, errors = [], [*errors]
    service = NS(
        retry_on=retry_on, retries=retries, max_calls_per_second=per_second,
        _asked=NS(last=100.0, n_calls=0, n_queries=0),
    )  # fmt: skip

    def function(X):
        if errors:
            raise errors.pop(0)
        return len(X)

    service.function = function
    before = _service.time
    _service.time = NS(sleep=waited.append, monotonic=lambda: 100.25)
    try:
        found = _service.CallableVictim._call(service, np.zeros((3, 1)))
    except Exception as error:
        found = type(error).__name__
    finally:
        _service.time = before
    return found, waited, service._asked.n_calls, service._asked.n_queries


def choose_labels(y, labels=None):
    joint = NS(labels=labels, _look_up=lambda y: "looked up")
    found = _multioutput.JointOutputs._choose_labels(joint, array(y), None)
    return (found if isinstance(found, str) else found.tolist()), bool(joint._is_alone)


def check_labels(labels):
    try:
        return _multioutput.JointOutputs._check_labels(NS(labels=labels)).tolist()
    except ValueError as error:
        return str(error)[-24:]


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _known_values: [
        (
            lambda: compare_column(["a", "b", None, "x", "x"], ["a", "b"]),
            (0.5, 2, 1, 3, ("x",), ("a",)),
        ),
        (lambda: compare_column(["A", "b"], ["b", "a"]), (0.5, 1, 0, 2, ("A",), ("a",))),
        (lambda: compare_column(["a", None], ["a", "b"]), None),
        (lambda: len(compare_column([*"uvwxyz"], ["a"])[4]), 5),
        (lambda: assign_lists([3], [[0, 2], [0.5, 2], [0, 3]]), [0]),
        (lambda: assign_lists([3], [[0, 2], [1, 1]]), None),
        (lambda: assign_lists([2, 3], [[0, 1], [0, 2]]), [0, 1]),
        (lambda: assign_lists([3, 2], [[0, 1], [0, 2]]), None),
        (lambda: assign_lists([3], [[-1, 2], [0, 2.5], [1, 2]]), [2]),
        (lambda: assign_lists([3], [[nan, nan], [nan, nan]], [4, 5]), [0]),
        (lambda: assign_lists([2, 3], [[nan, nan], [0, 1], [nan, nan]], [2, 0, 3]), [0, 2]),
        (lambda: assign_lists([2, 4, 6], [[0, 1]] * 3 + [[0, 5]], [0, 3, 5, 0]), [1, 2, 3]),
        (lambda: assign_lists([], []), []),
        (lambda: _known_values._are_cut(["a", cut("b", 2)]), True),
        (lambda: _known_values._are_cut(["a", "b"]), False),
    ],
    _column_numbers: [
        (lambda: find_scale(StandardScaler(), 30), (TABLE.mean(axis=0), TABLE.std(axis=0))),
        (lambda: find_scale(StandardScaler(with_std=False)), None),
        (lambda: find_scale(StandardScaler(), _column_numbers._FEWEST_SEEN - 1), None),
        (lambda: find_scale(MinMaxScaler()), ([4.5, 35.0], [3.5, 25.0])),
        (lambda: find_scale(MaxAbsScaler()), ([0.0, 0.0], [8.0, 60.0])),
        (lambda: find_scale(RobustScaler(), 30), ([3.0, 20.0], [7.0, 50.0])),
        (lambda: find_scale(RobustScaler(with_centering=False)), None),
        (lambda: find_scale(RobustScaler(with_scaling=False)), None),
    ],
    _model_features: [
        # Edges between 0, 2, 3 and 7, of which half are found; and values that do not fit.
        (lambda: _model_features.are_midpoints(array([1.0, 2.5, 5.0]), array([0.0, 2.0])), True),
        (lambda: _model_features.are_midpoints(array([1.0, 2.5, 5.0]), array([0.0, 2.4])), False),
        (lambda: _model_features.are_midpoints(array([1.0, 2.5, 5.0]), array([9.0])), False),
        (
            lambda: _model_features.are_midpoints(array([1.0, 2.5, 5.0, 8.0]), array([0.0, 2.0])),
            True,
        ),
    ],
    _queried_thresholds: [
        (lambda: go(4.0), [[1.0, 8.0], [2.0, 16.0]]),
        (lambda: go(4.0, 0, 1), [[2.0, 4.0], [4.0, 8.0]]),
        (lambda: go(1.0), [[2.0], [4.0]]),
        (lambda: go(16.0), [[4.0], [8.0]]),
        (lambda: go(nan), [[], []]),
        (lambda: has_steps(), True),
        (lambda: has_steps(True, False), True),
        (lambda: has_steps(True, False, True), False),
        (
            lambda: (
                _queried_thresholds._join_intervals(
                    [_queried_thresholds._AnswerIntervals(*[array([k])] * 6) for k in (3, 5)]
                ).upper
            ),
            [3, 5],
        ),
    ],
    _recovered: [
        (
            lambda: fit_weighted([[1, 0], [0, 1], [1, 1]], [1.0, 2.0, 9.0], [1.0, 2.0, 3.0]),
            [True] * 4,
        ),
        (
            lambda: fit_weighted([[1, 0], [0, 1], [1, 1]], [1.0, 2.0, 3.1], [1.0, 1.0, 1.0]),
            [True] * 4,
        ),
        (
            lambda: fit_weighted([[1, 1], [2, 2], [3, 3]], [1.0, 2.0, 4.0], [1.0, 1.0, 2.0]),
            [True] * 4,
        ),
        (lambda: make_smallest([1.0, 1.0]), [-1.0, 1.0]),
        (lambda: make_smallest([0.0, 1.0]), [-2.0, 0.0]),
        (lambda: _recovered._make_smallest(np.zeros((2, 0)), None)(array([3.0])), [3.0]),
        (lambda: _recovered.measure_rounding(array([1, 2])), 1.0),
        (lambda: _recovered.measure_rounding(array([1.0, 2.0])), 1.0),
        (lambda: _recovered.measure_rounding(array([1.25, 2.0])), 0.01),
        (lambda: _recovered.measure_rounding(array([1 / 3, -2.0])), 8 * np.finfo(float).eps),
        (lambda: _recovered.measure_rounding(array([1 / 3], dtype=np.float32)), 1e-7),
        (
            lambda: _recovered._are_at_bounds(
                array([[1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0]]).T
            ).ravel(),
            [True] * 4 + [False] * 3,
        ),
        (
            lambda: _recovered._are_at_bounds(array([[1.0, 1.0, 1.0, 2.0, 3.0]]).T).any(),
            False,
        ),
        (
            lambda: _recovered._are_at_bounds(array([[1.0, 2.0, 9.0, 9.0, 9.0, 9.0]]).T).ravel(),
            [False, False, True, True, True, True],
        ),
        (lambda: _recovered._are_at_bounds(array([[1.0, 9.0, 9.0, 9.0, 9.0]]).T).any(), False),
        (
            lambda: _recovered.find_known_probabilities(array([[0.03], [0.02], [0.5]]), 0.01),
            [[True], [False], [True]],
        ),
        (lambda: _recovered.check_answers(5, 4), None),
        (
            lambda: tell_refusal(lambda: _recovered.check_answers(4, 4)),
            "4 coefficients do not follow from 4 answers; more records are needed.",
        ),
        (lambda: _recovered.why_not_recovered(LinearRegression()), None),
        (
            lambda: (_recovered.why_not_recovered(RidgeCV()) or "")[:33],
            "a RidgeCV chooses its penalty or ",
        ),
        (
            lambda: _recovered.why_not_recovered(KNeighborsClassifier())[:37],
            "the answers of a KNeighborsClassifier",
        ),
    ],
    _split_thresholds: [
        (lambda: find_share(GradientBoostingClassifier(subsample=0.25)), 0.25),
        (lambda: find_share(AdaBoostRegressor()), 1 - np.exp(-1)),
        (lambda: find_share(DecisionTreeClassifier()), 1.0),
        (lambda: find_share(RandomForestClassifier(2)), 1 - np.exp(-1)),
        (lambda: find_share(RandomForestClassifier(2, max_samples=0.6)), 1 - np.exp(-0.6)),
        (lambda: find_share(RandomForestClassifier(2, max_samples=3)), 1 - np.exp(-0.3)),
        (lambda: find_share(RandomForestClassifier(2, bootstrap=False)), 1.0),
        (
            lambda: find_share(BaggingClassifier(n_estimators=2, max_samples=0.6, bootstrap=False)),
            0.6,
        ),
        (trim, ([6, 8], [0, 2], [0, 0, 1, 1], [1.0, 2.0, 5.0, 6.0], [0, 1, 2], [1, 1, 3])),
        (
            join_events,
            (
                [5, 5, 5],
                [1, 3, 5],
                [0, 0, 1, 1, 3, 3],
                [0, 2, 4],
                [1, 3, 5],
                [0, 1, 3],
                4,
                11,
            ),
        ),
    ],
    _onnx_labels: [
        (
            lambda: _onnx_labels._read_message_fields(
                field(1, 0, varint(300))
                + piece(2, b"ab")
                + field(1, 0, varint(5))
                + field(3, 5, b"wxyz")
                + field(20, 1, b"12345678")
            ),
            {1: [300, 5], 2: [b"ab"], 3: [b"wxyz"], 20: [b"12345678"]},
        ),
        (lambda: _onnx_labels._read_message_fields(b""), {}),
        (
            lambda: _onnx_labels._read_integers([3, varint(300) + varint(2**64 - 1), 2**63]),
            [3, 300, -1, -(2**63)],
        ),
        (lambda: read_tensor(8, _STRING_DATA=[b"a", b"b"]), ["a", "b"]),
        (lambda: read_tensor(_onnx_labels._INT64, _RAW_DATA=[struct.pack("<2q", 5, -7)]), [5, -7]),
        (lambda: read_tensor(_onnx_labels._INT32, _RAW_DATA=[struct.pack("<2i", 5, -7)]), [5, -7]),
        (lambda: read_tensor(_onnx_labels._INT64, _INT64_DATA=[5]), [5]),
        (lambda: read_tensor(_onnx_labels._INT32, _INT32_DATA=[6]), [6]),
        (lambda: read_tensor(_onnx_labels._INT32, _INT64_DATA=[6]), []),
        (lambda: read_tensor(1, _INT64_DATA=[5]), None),
        (
            lambda: read_attributes(
                piece(1, b"classlabels_ints") + field(8, 0, varint(4)),
                piece(1, b"keys_strings") + piece(9, b"a") + piece(9, b"b"),
                piece(1, b"other") + field(8, 0, varint(4)),
                piece(1, b"classes_x"),
            ),
            {"classlabels_ints": [4], "keys_strings": ["a", "b"]},
        ),
    ],
    _stationarity: [
        # Outputs 1, 3 and -1, of labels and targets at, beyond and within their edges.
        (lambda: find_distances(LinearSVC(tol=0.2), [1, 1, 0]), ([0.0, 2.0, 0.0], 0.2)),
        (
            lambda: find_distances(LinearSVR(epsilon=0.5, tol=0.1), [1.0, 4.0, -3.0]),
            ([0.5, 0.5, 1.5], 3 * 0.1 * 8 / 3),
        ),
        (lambda: find_distances(QuantileRegressor(), [1.0, 4.0, -3.0]), ([0.0, 1.0, 2.0], 4e-7)),
        (lambda: _stationarity.has_edge(LinearSVR(loss="squared_epsilon_insensitive")), False),
        (
            lambda: smallest_margin(
                SVC(kernel="linear", C=1e6), [[0.0], [2.0], [3.0]], ["a", "b", "b"]
            ),
            [1.0, 1.0, 2.0],
        ),
        (margins_of_pairs, True),
        (lambda: factor([[4.0, 2.0], [2.0, 5.0]]), True),
        (lambda: factor([[1.0, 1.0], [1.0, 1.0]]), True),
        (
            lambda: tell_refusal(lambda: factor([[-1.0, 0.0], [0.0, -1.0]])),
            "the second derivatives of its loss are not positive",
        ),
        (lambda: _stationarity._add_ones(sparse.csr_array(array([[2.0, 3.0]]))), [[2.0, 3.0, 1.0]]),
        (
            lambda: _stationarity._add_logs(
                array([[2.0, 1.0], [9.0, 9.0]]), array([[3.0, 0.0], [9.0, 9.0]])
            ),
            [LOG(7.0), 2 * LOG(20.0)],
        ),
    ],
    _optima: [
        (lambda: weigh_classes(None), (1.0, 0.0)),
        (lambda: weigh_classes({"a": 3.0}), ([[3.0]] * 3 + [[1.0]], 0.0)),
        (lambda: weigh_classes({"b": 2.0})[0], [[1.0]] * 3 + [[2.0]]),
        # 4 / (2 * 3) of three of the first class, and 4 / 2 of one of the second.
        (
            lambda: weigh_classes("balanced"),
            (
                [[2 / 3]] * 3 + [[2.0]],
                [
                    ((0.5 * 14 / 3) ** 2 + 0.25 * 84 / 9) * 0.5 / 1.5
                    + ((0.5 * 16) ** 2 + 0.25 * 256) * 0.5 / 0.5
                ],
            ),
        ),
        (
            lambda: error_of(_optima._by_gap, dual_gap_=0.25),
            [[(2 * 2.5 * 3 / 2) ** 0.5, (2 * 2.5 * 5 / 2) ** 0.5]],
        ),
        (lambda: error_of(_optima._by_gap, dual_gap_=-1.0), [[0.0, 0.0]]),
        (lambda: error_of(_optima._by_gap), [[0.0, 0.0]]),
        (
            lambda: _optima._by_gap(
                NS(dual_gap_=[0.1, 0.4], coef_=array([0.0])),
                NS(n_rows=10, sum_squares=lambda: array([2.0])),
                None,
            ),
            [[4.0]],
        ),
        (
            lambda: error_of(_optima._by_flatness, scale_=2.0, tol=0.5),
            [[(2 * 2.2e-9 * 20 * one / 4) ** 0.5 + 0.5 for one in (3.0, 5.0)]],
        ),
        # Penalties: l1, l2, the scaling of the intercept, and whether zeros are no optimum.
        (lambda: penalize("_ridge", alpha=0.3), (0.0, 0.3, None, False)),
        (lambda: penalize("_ridge", alpha=0.3, alpha_=0.5), (0.0, 0.5, None, False)),
        (lambda: penalize("_ridge"), (0.0, 0.0, None, False)),
        (lambda: penalize("_ridge_of_means", alpha=0.1), (0.0, 1.0, None, False)),
        (lambda: penalize("_twice_ridge", alpha=0.1), (0.0, 0.2, None, False)),
        (lambda: penalize("_net_of_means", alpha=0.1), (1.0, 0.0, None, False)),
        (
            lambda: penalize("_net_of_means", alpha=0.1, l1_ratio=0.25),
            (0.25, 0.75, None, False),
        ),
        (
            lambda: penalize("_net_of_means", alpha=9, alpha_=0.1, l1_ratio=9, l1_ratio_=0.25),
            (0.25, 0.75, None, False),
        ),
        (lambda: penalize("_bayes", lambda_=4.0, alpha_=2.0), (0.0, 2.0, None, False)),
        (
            lambda: penalize("_bayes", lambda_=array([4.0, 8.0]), alpha_=2.0),
            (0.0, [2.0, 4.0], None, True),
        ),
        (lambda: penalize("_selected"), (0.0, 0.0, None, True)),
        (
            lambda: penalize(
                "_of_margins", penalty="l1", fit_intercept=True, intercept_scaling=3.0
            ),
            (1.0, 0.0, 3.0, False),
        ),
        (
            lambda: penalize("_of_margins", penalty="l2", fit_intercept=False, intercept_scaling=3),
            (0.0, 1.0, None, False),
        ),
        (lambda: penalize("_of_margins", fit_intercept=False), (0.0, 1.0, None, False)),
        (lambda: penalize_logistic("l2"), (0.0, 0.25, None, False)),
        (lambda: penalize_logistic("l2", C=9.0, C_=array([4.0])), (0.0, 0.25, None, False)),
        (lambda: penalize_logistic("l1", "liblinear"), (0.25, 0.0, 3.0, False)),
        (lambda: penalize_logistic(None), (0.0, 0.0, None, False)),
        (lambda: penalize_logistic("elasticnet", l1_ratio=0.25), (1 / 16, 3 / 16, None, False)),
        (
            lambda: penalize_logistic("elasticnet", l1_ratio=9, l1_ratio_=array([0.25])),
            (1 / 16, 3 / 16, None, False),
        ),
        (lambda: penalize_logistic("deprecated", l1_ratio=None), (0.0, 0.25, None, False)),
        # Pulls, what is at an optimum, and second derivatives; of the intercept last.
        (
            lambda: pull([[1.0, -3.0]], l2=2.0),
            ([[2.0, -6.0, 0.0]], [[True, True, True]], [[2.0, 2.0, 0.0]]),
        ),
        (
            lambda: pull([[1.0, 0.0]], l1=0.5, l2=2.0),
            ([[2.5, 0.0, 0.0]], [[True, False, True]], [[2.0, 2.0, 0.0]]),
        ),
        (lambda: pull([[1.0, 0.0]], l2=2.0)[1], [[True, True, True]]),
        (lambda: pull([[1.0, 0.0]], selects=True)[1], [[True, False, True]]),
        (lambda: pull([[1.0, 0.0]], None)[1], [[True, True, False]]),
        (
            lambda: pull([[1.0]], 4.0, l1=0.5, l2=2.0, intercept_scaling=2.0),
            ([[2.5, (2 * 2 + 0.5) / 2]], [[True, True]], [[2.0, 2 / 4]]),
        ),
        (lambda: pull([[1.0]], 0.0, l1=0.5, intercept_scaling=2.0)[1], [[True, False]]),
        (lambda: pull([[1.0]], 0.0, l2=0.5, intercept_scaling=2.0)[1], [[True, True]]),
        # Errors of solvers.
        (lambda: _optima._by_mean_gradient(NS(tol=0.1), NS(n_rows=10), None), 1.0),
        (
            lambda: _optima._by_solver_of_logistic(
                NS(solver="saga", tol=0.1, coef_=array([[1.0, -3.0]])),
                NS(sum_squares=lambda: array([3.0, 5.0])),
                array([[0.5], [-0.25]]),
            ),
            [[_optima._N_STEPS_TO_GO * 0.3 * 0.21875 * one for one in (3.0, 5.0)]],
        ),
        (lambda: _optima._why_several(NS(coef_=np.zeros((2, 2)))), "it has several outputs"),
        (lambda: _optima._why_several(NS(coef_=np.zeros((2, 2)), classes_=1)), None),
        (lambda: _optima._why_several(NS(coef_=np.zeros(2))), None),
    ],
    _state: [
        (lambda: as_stored([1, 2.5]), ("f", [1.0, 2.5])),
        (lambda: as_stored(["a", "b"]), ("U", ["a", "b"])),
        (lambda: as_stored([1, "a"]), ("O", [1, "a"])),
        (lambda: as_stored([]), None),
        (lambda: as_stored([NS()]), None),
        (lambda: as_stored(pd.Series([1, 2])), ("i", [1, 2])),
        (lambda: as_stored(memoryview(b"ab")), ("u", [97, 98])),
        (lambda: as_stored(array([1, NS()], dtype=object)), None),
        (lambda: as_stored(array([1, "a"], dtype=object)), ("O", [1, "a"])),
        (lambda: as_stored(np.zeros(1, dtype=[("a", int)])), None),
        (lambda: as_stored("ab"), None),
        (
            lambda: _state.as_stored_array(sparse.csc_array(array([[0, 2]]))).format,
            "csr",
        ),
    ],
    _inner_models: [
        (lambda: snap([1.0 + 1e-11, 2.0, 4.9], [5.0, 1.0]), [1.0, 2.0, 4.9]),
        (lambda: snap([5.0 - 1e-10, 9.0, 0.5], [5.0, 1.0]), [5.0, 9.0, 0.5]),
        (lambda: snap([3.0], [3.0 + 2e-10, 3.0 - 1e-10]), [3.0 - 1e-10]),
        (lambda: take("b"), [[3], [4]]),
        (lambda: take(["c", "a"]), [[5, 1], [6, 2]]),
        (lambda: take(1), [[3], [4]]),
        (lambda: take([True, False, True]), [[1, 5], [2, 6]]),
        (lambda: take(slice(1, None)), [[3, 5], [4, 6]]),
        (lambda: take(slice("a", "b")), [[1, 3], [2, 4]]),
        (lambda: take([]), [[], []]),
        (lambda: take(UserList(["b"])), [[3], [4]]),
        (lambda: take(1, FRAME.to_numpy()), [[3], [4]]),
        (lambda: take(1, [[1, 2]]), None),
        (lambda: with_threshold(cv=5), ["whole"]),
        (lambda: with_threshold(cv="prefit", refit=False), ["whole"]),
        (lambda: with_threshold(cv=0.5, refit=True), ["whole"]),
        (
            lambda: with_threshold(cv=0.5, refit=False),
            [{"reads": _inner_models.THRESHOLDS, "why": _inner_models._SIZED.format(0.5)}],
        ),
    ],
    _boosters: [
        (lambda: goes_below(_boosters._NAN, 0.5, 1.0, 1.5, nan), [True, True, False, True]),
        (lambda: goes_below(_boosters._NAN, nan, goes_left=False), [False]),
        (lambda: goes_below(_boosters._ZERO, 0.0, nan, 0.5, goes_left=False), [False, False, True]),
        (lambda: goes_below(0, 0.0, nan, 1.5, goes_left=False), [True, True, False]),
        (
            lambda: is_listed(0.0, 1.0, 2.0, 32.0, 63.0, 64.0, -1.0, nan),
            [True, False, True, False, True, False, False, False],
        ),
    ],
    equations: [
        (lambda: steps_of(MANY), [1.0, 1.0]),
        (lambda: steps_of(MANY / 100), [0.01, 0.01]),
        (lambda: steps_of(MANY / 3), [0.0, 0.0]),
        (lambda: steps_of(np.zeros(60)), [0.0, 0.0]),
        (lambda: steps_of(MANY[: equations._LEAST_VALUES - 1]), [0.0, 0.0]),
        (lambda: steps_of(MANY[: equations._LEAST_VALUES]), [1.0, 1.0]),
        (
            lambda: steps_of((MANY / 3).astype(np.float16), np.float32),
            [2.0**-11, 2.0**-9],
        ),
        (
            lambda: list_entries([2, -1, 3], [0, 1, 2, 0, 2], [5.0, 7.0, 0.0, 9.0, 4.0]),
            [[5.0, 9.0, 4.0], [0, 3, 4], [2, 1]],
        ),
        (lambda: list_entries([-1, -1], [0, 1], [5.0, 7.0]), [[], [], []]),
    ],
    cart: [
        (lambda: add_balance(), ([0.0, 0.0], [9 * 0.25, 5 * 0.25])),
        (lambda: add_balance(True), ([nan, nan], [9 * 0.25, 5 * 0.25])),
        (lambda: add_balance(unlike=1.0), ([0.0, 0.0], [9.0, 5.0])),
        (
            lambda: add_targets(False),
            (
                [[1.0, 1.0], [8.0, 12.0], [1.0, 2.0]],
                [1.0, 2.0],
                [[[1.0, 4.0], [2.0, 1.5]]],
            ),
        ),
        (lambda: add_targets(True)[2], []),
        (lambda: add_targets(False, 0.5)[2], []),
    ],
    boosting: [
        (lambda: derive(0, [1.0, 5.0], [[3.0], [4.0]]), ([[2.0], [-1.0]], [[1.0], [1.0]])),
        (lambda: derive(2, [1, 0], [[0.0], [LOG(3)]]), ([[-0.5], [0.75]], [[0.25], [0.1875]])),
        (
            lambda: derive(3, [1], [LOG(array([1.0, 2.0, 1.0]))]),
            ([[0.25, -0.5, 0.25]], [[0.1875, 0.25, 0.1875]]),
        ),
        # Leaves of 4 rows, of which 1 and 3 are of the second class: -g / h of weights 1 and 1.
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 1.0]), 0),
        (lambda: choose_weights([[1.0, 3.0], [1.0, 1.0]], [4, 4], [-1.0, 1.0]), 1),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 1.0], [4.0]), 0),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 1.0], [5.0]), None),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 1.0], [5.0], True), 0),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 1.0], [5.5], True), None),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 0.9]), None),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-1.0, 4.0]), None),
        (lambda: choose_weights([[1.0, 1.0]], [4, 4], [-4.0, 1.0]), None),
    ],
    _sufficient_statistics: [
        # The least number of which all shares are parts, or its multiple next to the expected one.
        (lambda: count_documents([3 / 7, 4 / 7], 20), 21.0),
        (lambda: count_documents([3 / 7, 4 / 7], 3), 7.0),
        (lambda: count_documents([0.5, 0.0, 1 / 3], 100), 102.0),
        (lambda: count_documents(np.arange(1, 8) / 7, 20), 21.0),
        (lambda: count_documents(np.arange(1, 9) / 11, 20), 11.0),
        (lambda: count_documents([2**-0.5], 20), None),
        (lambda: count_documents([1 / 9973], 20), 9973.0),
        (lambda: count_documents([1 / 10007], 20), None),
        (lambda: count_documents([1 / 10007], 1001), 10007.0),
        (lambda: count_documents([0.3333], 9, 1e-3), 9.0),
        (lambda: _sufficient_statistics._count_by_shares([3 / 7, 4 / 7], 20), 21.0),
        (lambda: _sufficient_statistics._count_by_shares([3 / 7, 4 / 7], 3), 7.0),
        (lambda: _sufficient_statistics._count_by_shares([0.5, 1 / 3], 100), 102.0),
        (lambda: _sufficient_statistics._count_by_shares([2**-0.5], 20), None),
        (lambda: _sufficient_statistics._count_by_shares([1 / 9973], 20), 9973.0),
        (lambda: _sufficient_statistics._count_by_shares([1 / 10007], 20), None),
        (lambda: _sufficient_statistics._count_by_shares([1 / 10007], 1001), 10007.0),
    ],
    _service: [
        (
            lambda: average(
                [[[0.5, 0.5], [1.0, 0.0]], [[0.2, 0.8], [1.0, 0.0]], [[0.2, 0.8], [0.4, 0.6]]]
            ),
            ([[0.3, 0.7], [0.8, 0.2]], 3, 3),
        ),
        (
            lambda: average([["a", "b"], ["b", "b"], ["b", "a"]], "label"),
            (["b", "b"], 3, 3),
        ),
        (lambda: average([["a", "b"]], "label", 1), (["a", "b"], 1, 1)),
        (
            lambda: average(
                [[[0.5], [1.0]]], n_repeats=2, kept={"name": (1, array([[0.1], [0.2]]))}
            ),
            ([[0.3], [0.6]], 1, 2),
        ),
        (
            lambda: average([], n_repeats=2, kept={"name": (2, array([[0.2]]))}),
            ([[0.1]], 0, 2),
        ),
        (
            lambda: _service._check_answered_labels(array(["a", "b"]), 2, array(["a", "b"])),
            ["a", "b"],
        ),
        (
            lambda: tell_refusal(
                lambda: _service._check_answered_labels(array(["a", "x", "y"]), 3, array(["a"]))
            )[-8:],
            "got 'x'.",
        ),
        (
            lambda: tell_refusal(
                lambda: _service._check_answered_labels(array(["a"]), 2, array(["a"]))
            )[-10:],
            " got (1,).",
        ),
    ],
    _multioutput: [
        (lambda: _multioutput.OneOutput._take(NS(_place=1, output="b"), ["x", "y"]), "y"),
        (
            lambda: tell_refusal(
                lambda: _multioutput.OneOutput._take(NS(_place=2, output=2), ["x", "y"])
            ),
            "output must be below the number of outputs, 2; got 2.",
        ),
    ],
    _base: [
        (
            lambda: summarize([[1.0, -2.0, 4.0, 7.0], [3.0, 3.0, 3.0, 3.0]], [2.0, 1.0]),
            summarize_by_hand([[1, -2, 4, 7], [3, 3, 3, 3]], [2.0, 1.0]),
        ),
        (
            lambda: summarize([[1.0, -2.0, 4.0, 7.0, 5.0]], [0.5], 1, 3),
            summarize_by_hand([[1, -2, 4, 7, 5]], [0.5]),
        ),
    ],
    _inner_models._list_regressor: [
        (
            lambda: list_regressor([1.0, 3.0]),
            ("regressor_", [2.0, 6.0], "raw, transformed target", []),
        ),
        (lambda: list_regressor(None)[1], None),
        (lambda: list_regressor([1.0], lambda y: y[:, 0] + 5)[1], [6.0]),
        (
            lambda: list_regressor([1.0], lambda y: np.hstack([y + 1, y]), "scaled"),
            ("regressor_", [2.0], "after scaled, transformed target", ["reads", "why"]),
        ),
        (lambda: list_bagged(), (0.5, None, [(None, None), ([[2.0]], 1)])),
        (lambda: list_bagged(None)[:2], (0.5, None)),
        (lambda: list_bagged(0.25)[:2], (0.125, None)),
        (lambda: list_bagged(0.25, True)[:2], (0.5 * (1 - np.exp(-0.25)), _inner_models._DRAWN)),
        (lambda: list_bagged(1.0, True)[0], 0.5 * (1 - np.exp(-1.0))),
        (lambda: list_bagged(7)[:2], (0.5, _inner_models._SIZED.format(7))),
        (lambda: list_bagged(chosen=[(1, 0), (0, 1)])[2], [([[2.0, 1.0]], 2), (None, None)]),
        (lambda: compute_scores([1.0, 2.0]), [[1.0], [2.0]]),
        (lambda: compute_scores([[1.0, 2.0, 3.0]]), [[1.0, 2.0, 3.0]]),
        (lambda: compute_scores(proba=[[0.25, 0.75]]), [[0.75]]),
        (lambda: compute_scores(proba=[[0.25, 0.5, 0.25]]), [[0.25, 0.5, 0.25]]),
    ],
    _known_values._join_known_columns: [
        (
            lambda: join_columns(
                column(["a", "b"], part="P"), column(["b", "c"], "text", 5, "Q", True)
            ),
            ("text", ["a", "b", "c"], 5, "P", True),
        ),
        (
            lambda: join_columns(column(part="P"), column(["b"], part="Q")),
            (None, ["b"], None, "Q", False),
        ),
        (lambda: join_columns(column(part="P"), column(part="Q")), (None, None, None, "P", False)),
        (
            lambda: join_columns(
                column(["a"], "number", 3, "P", True), column(None, "text", 5, "Q")
            ),
            ("number", ["a"], 3, "P", True),
        ),
    ],
    _recovered._linearize_predictions: [
        (lambda: linearize("identity", [[1.0], [-2.0]]), ([[1.0], [-2.0]], [[True], [True]])),
        (
            lambda: linearize("log", [[1.0], [0.03], [0.02]]),
            ([[0.0], [LOG(0.03)], [0.0]], [[True], [True], [False]]),
        ),
        (
            lambda: linearize("identity", [[1.0]] * 4 + [[2.0], [3.0]])[1],
            [[False]] * 4 + [[True]] * 2,
        ),
        (lambda: linearize("log", [[1.0]] * 4 + [[2.0], [3.0]])[1], [[False]] * 4 + [[True]] * 2),
        (lambda: bound_errors(False), 4 * 68**0.5),
        (lambda: bound_errors(True), 4 * 73**0.5),
    ],
    _onnx: [
        (lambda: take_input(array([[1, 2]]), 1), [[1, 2]]),
        (lambda: take_input(array([[1, 2]]), 2), [[2]]),
        (lambda: take_input(pd.DataFrame({"a": [1], "b": [2]}), 2, "a"), [[1]]),
        (lambda: take_input(array([[1, 2]]), 3), "The model takes 3 features; got 2."),
        (
            lambda: take_input(pd.DataFrame({"a": [1], "b": [2]}), 2, "c"),
            "The model has a feature 'c', which X lacks.",
        ),
        (lambda: fit_order(["a", "b"], [[0.2, 0.8], [0.9, 0.1]], ["b", "a"]), True),
        (lambda: fit_order(["a", "b"], [[0.8, 0.2], [0.1, 0.9]] * 40, ["b", "a"] * 40), False),
        (lambda: fit_order(["a", "b"], [[0.2, 0.8], [0.9, 0.1]], ["b", "c"]), False),
        (lambda: fit_order(["a", "b"], [[0.2], [0.9]], ["b", "a"]), True),
        (lambda: fit_order([0, 1], [[0.2, 0.8]], ["b"]), False),
    ],
    _resampling: [
        (lambda: why_not_resampled(), None),
        (lambda: why_not_resampled("plain"), None),
        (lambda: why_not_resampled("plain", _resampling.MAKES)[:17], "the step S1 adds "),
        (lambda: why_not_resampled(_resampling.REPEATS), "the step S0 repeats training rows"),
        (lambda: why_not_resampled(_resampling.REPEATS, repeats=True), None),
        (lambda: why_not_resampled("folds", _resampling.MAKES), _resampling.BY_FOLDS),
    ],
    _service.CallableVictim: [
        (lambda: call_service([]), (3, [], 1, 3)),
        (lambda: call_service([OSError()]), (3, [1], 2, 6)),
        (lambda: call_service([OSError(), ConnectionError()]), (3, [1, 2], 3, 9)),
        (lambda: call_service([OSError()] * 3), ("OSError", [1, 2], 3, 9)),
        (lambda: call_service([ValueError()]), ("ValueError", [], 1, 3)),
        (lambda: call_service([ValueError()], retry_on=ValueError), (3, [1], 2, 6)),
        (lambda: call_service([OSError()], retry_on=ValueError)[0], "OSError"),
        (lambda: call_service([], per_second=2), (3, [0.25], 1, 3)),
        (lambda: call_service([], per_second=10), (3, [0.0], 1, 3)),
        (
            lambda: max(call_service([OSError()] * 12, 12)[1]),
            _service._LONGEST_WAIT,
        ),
    ],
    _multioutput.JointOutputs: [
        (lambda: choose_labels([1, 0]), ([1, 0], True)),
        (lambda: choose_labels([[1, 0], [0, 1]]), ([[1, 0], [0, 1]], False)),
        (lambda: choose_labels([1, 0], "given"), ("looked up", False)),
        (lambda: choose_labels([[1], [0]], "given"), ([[1], [0]], False)),
        (lambda: check_labels([[0, 1], [1, 1]]), [[0, 1], [1, 1]]),
        (lambda: check_labels([[0, 1], [0, 1]])[-8:], " (2, 2)."),
        (lambda: check_labels([0, 1])[-6:], " (2,)."),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
