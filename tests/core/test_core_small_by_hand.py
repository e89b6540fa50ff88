"""Small modules of the core, whole: each term of a condition alone, each limit and beside it."""

import json
import os
import threading
import warnings
from numbers import Integral, Real
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
import sklearn
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from skmia import Outputs, Records
from skmia._core import (
    accountant,
    budget,
    copies,
    files,
    gaussians,
    guesses,
    metric_inputs,
    outputs,
    progress,
    provenance,
    query,
    records,
    sample_weights,
    saving,
    tokens,
    tradeoff,
    validation,
    weight_average,
    writers,
)
from skmia._core import sklearn as sklearn_parts
from skmia._core.budget import Cost
from skmia._core.hashing import digest_records
from skmia._core.sklearn import Interval, StrOptions

X = array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
fitted = LogisticRegression().fit(X, [0, 1, 1])
answers = Outputs(array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]), [0, 1])
weighted = Records(X, [0, 1, 1], sample_weight=[1.0, 2.0, 0.0])


def make_error(name, base=Exception, text=""):
    return type(name, (base,), {})(text)


def caused(error, cause):
    error.__cause__ = cause
    return error


def weigh(weights):
    return sample_weights.read_weights(Records(X, [0, 1, 1], sample_weight=weights))


def refuse_weights(weights):
    message = tell_refusal(lambda: weigh(weights))
    return message.removeprefix(
        "The field 'sample_weight' of the records must hold one finite number of 0 or more for "
        "each record; got "
    )


class FitRecorder(ClassifierMixin, BaseEstimator):
    """Keeps what its fit is given, and whether metadata are routed meanwhile."""

    def fit(self, X, y, sample_weight=None, epochs=1):
        routed = sklearn.get_config()["enable_metadata_routing"]
        self.given_ = X, y, sample_weight, epochs, routed
        return self


class PlainRecorder(FitRecorder):
    def fit(self, X, y, epochs=1):
        return super().fit(X, y, None, epochs)


class Holder(BaseEstimator):
    def __init__(self, held):
        self.held = held


def fit(weights=None, fit_params=None, model=None):
    model = FitRecorder() if model is None else model
    return sample_weights.fit_weighted(model, [1], [2], weights, fit_params).given_


def request(value, estimator=None):
    with sklearn.config_context(enable_metadata_routing=True):
        return (FitRecorder() if estimator is None else estimator).set_fit_request(
            sample_weight=value
        )


def name_routed(estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        return sample_weights.name_parameter(estimator)


def search_noise(cost, epsilon, noise):
    """Return the noise that is found, and those that are tried before it."""
    tried = []

    def spend(z):
        tried.append(z)
        return cost(z)

    return accountant._search_noise(spend, epsilon, noise), tried


def spend_in_steps(noise):
    """Return a cost that falls all at once, so that no noise spends nearly all of a budget."""
    return 4.0 if noise < 3 else 1.0


def compute_profile(epsilon, shift, inclusion, direction):
    """Return the hockey-stick divergence of two laws, less what is found by a sum over a grid."""
    x = np.linspace(-12, 16, 280_001)
    out = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    into = (1 - inclusion) * out + inclusion * np.exp(-((x - shift) ** 2) / 2) / np.sqrt(2 * np.pi)
    sums = {
        name: np.maximum(one - np.exp(epsilon) * other, 0).sum() * (x[1] - x[0])
        for name, one, other in [("in/out", into, out), ("out/in", out, into)]
    }
    sums["both"] = max(sums.values())
    found = tradeoff.privacy_profile(epsilon, np.float64(shift), inclusion, direction)
    return abs(float(found) - sums[direction]) < 1e-6


class Settings(BaseEstimator):
    def __init__(self, model=None, others=None, size=1):
        self.model, self.others, self.size = model, others, size


def double_sizes(part, parameters):
    return {name: 2 * value if name == "size" else value for name, value in parameters.items()}


def list_sizes(value):
    """Return the sizes in a copy of nested settings whose sizes are doubled."""
    copied = copies.copy_changed(Settings(Settings(size=3), value), double_sizes)
    sizes = copied.size, copied.model.size
    others = copied.others
    held = others.values() if isinstance(others, dict) else others
    return type(others).__name__, *sizes, *sorted(one.size for one in held)


def check_name(*parameters, **given):
    guesses.check_keywords("f", given, parameters)


@guesses.name_keywords
def add_up(first, second=2):
    return first + second


@guesses.name_keywords
def take_any(first, **others):
    return others


@guesses.name_keywords
def take_place(first, /, second=2):
    return first - second


def read_recursively(n):
    return read_recursively(n - 1) if n else write_down()


def write_down():
    return read_recursively


def features_of(X):
    n_features, names = records.get_features(Records(X))
    return n_features, None if names is None else list(names)


search_path = [1.0, 4 / 1.99, 16 / 1.99**2, 16 / 1.99**3]
search_path += [(search_path[2] + search_path[3]) / 2]
search_path += [(search_path[3] + search_path[4]) / 2]


def ask_twice(error, X):
    """Return how often a model is asked, and what by, if it refuses what cannot be written to."""
    asked = []

    def ask(rows):
        asked.append(rows)
        if len(asked) == 1:
            raise error
        return len(asked)

    found = query._ask_writeable(ask, X)
    return found, asked[1] is not asked[0], asked[1]


def read_laps(times, works=(0.0, 1.0)):
    """Return the laps of a watch that reads given times, and the load."""
    clock = NS(perf_counter=iter(times).__next__, process_time=iter(works).__next__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "time", clock)
        watch = provenance.LapWatch()
        return [watch.lap() for _ in times[1:]], watch.load


def weigh_sides(*weights):
    return metric_inputs.check_weights(weights, array([True, False, True]))


def refuse_call(name, *arguments):
    return tell_refusal(lambda: getattr(metric_inputs, name)(*arguments))


mask, must_weigh = (
    array([True, False]),
    "sample_weight must hold one number of 0 or more for each of",
)

means, diagonal = array([1.0, 0.0, 2.0, -1.0]), array([0.5, 2.0, 1.0, 0.0])
low_rank = array([[1.0, 0.5, -1.0, 0.0], [0.25, 0.0, 2.0, 0.0]])
shrunk = gaussians.ShrunkMoments(means, diagonal, low_rank)
# The last column has no spread, and takes no part.
covariance = np.diag(diagonal) + low_rank.T @ low_rank
inverse = np.zeros((4, 4))
inverse[:3, :3] = np.linalg.inv(covariance[:3, :3])
left = array([[1.0, 2.0, -1.0, 5.0], [0.5, 0.0, 3.0, 1.0]])
right = array([[0.0, 1.0, 1.0, 2.0], [4.0, -1.0, 2.0, 0.0]])
noise = array([0.5, 1.0, 2.0, 3.0])


def frame_of(*columns):
    return pd.DataFrame([[0.25, 0.75]], columns=[*columns])


def are_several(answers, n_dimensions=2, **fields):
    model = NS(predict=lambda X: np.zeros((2,) * n_dimensions), **fields)
    return query._are_several_labels(answers, model, X)


def spoken(n, columns, kind="proba"):
    """Return outputs whose largest number is, of classes in turns, in one of some columns."""
    chosen = np.resize(columns, n)
    n_classes = max(2, len(columns))
    values = np.full((n, n_classes), 0.25 / (n_classes - 1))
    values[np.arange(n), chosen] = 0.75
    return Outputs(values, ["a", "b", "c"][:n_classes], kind)


def choose_order(n, columns, kind="proba"):
    """Return the order that fits classes in turns, and the shares that it and the given one fit."""
    labels = np.resize(["a", "b", "c"][: len(columns)], n)
    return query.choose_order(spoken(n, columns, kind), labels)


hard = Outputs(array(["a", "b"]), ["a", "b"], "label")


def warn_of_given(outputs, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        query.warn_of_given(outputs, np.array(y))
    return [str(one.message) for one in caught]


def move_bar(shown, now, passed, left):
    """Return what a bar shows after it has stood at 1 second."""
    bar = NS(_shown=shown, _moved=1.0)
    progress.StageTimes._move_bar(bar, now, passed, left)
    return bar._shown, bar._moved


def write_to(file):
    bar = NS(_file=file, _is_over=threading.Event())
    progress.StageTimes._write(bar, "a")
    return bar._is_over.is_set()


def fail(*_):
    raise OSError


class LoadInitState:
    """Stands for the callback of skorch that continues a training."""

    def __init__(self, folder):
        self.checkpoint = Checkpoint(folder)


class Checkpoint:
    __module__ = "skorch.callbacks.training"
    fn_prefix, f_params = "", "weights.pt"

    def __init__(self, folder):
        self.dirname = folder


def change_start(folder):
    """Return whether a callback stays that starts at what the victim has saved in folder a."""
    callback, told = LoadInitState(folder), []
    changed = writers._change_start(callback, [("a", "", "weights.pt")], told)
    return changed is callback, [one[:25] for one in told]


def validate(value, *allowed):
    check = sklearn_parts.validate_parameter_constraints
    return tell_refusal(lambda: check({"a": [*allowed]}, {"a": value}, "F"))


no_boolean = "The 'a' parameter of F must not be a boolean. Got True instead."
certain, uncertain = progress.StageStep(4.0), progress.StageStep(8.0, is_certain=False)

ANSWERS = {
    validation: [
        (lambda: validation.refuse_nan(X) is X, True),
        # A model of CatBoost that was read from a file says 0.
        (lambda: validation.check_width(NS(n_features_in_=0), Records(np.eye(3))), None),
        (
            lambda: tell_refusal(
                lambda: validation.check_width(NS(n_features_in_=2), Records(np.eye(3)))
            ),
            "X has 3 features, but SimpleNamespace was fitted with 2 features.",
        ),
        (lambda: validation.refuse_nan(array([inf, -inf])), [inf, -inf]),
        (
            lambda: tell_refusal(lambda: validation.refuse_nan(array([0.5, nan, nan]), "They")),
            "They give no score for 2 of 3 records, first at position 1.",
        ),
        (
            lambda: tell_refusal(lambda: validation.refuse_nan(array([[0.5, 1.0], [nan, 1.0]]))),
            "The victim's answers give no score for 1 of 2 records, first at position 1.",
        ),
        (lambda: validation.call_given(max, "f", "f(a, b)", 2, 3), 3),
        (
            lambda: tell_refusal(lambda: validation.call_given(lambda a: a, "f", "f(a)", 2, 3))[
                :45
            ],
            "f must be a function that is called as f(a); ",
        ),
        (
            lambda: tell_refusal(lambda: validation.call_given(lambda a: a + "b", "f", "f(a)", 2)),
            "unsupported operand type(s) for +: 'int' and 'str'",
        ),
        (lambda: validation.require_victim(3, "LiRA"), None),
        (
            lambda: tell_refusal(lambda: validation.require_victim(None, "LiRA")),
            "LiRA needs the victim itself; stored outputs are not enough.",
        ),
    ],
    progress: [
        (lambda: move_bar(0.25, 3.0, 5.0, 5.0), (0.25 + 0.75 * 2 / 7, 3.0)),
        # A bar that is ahead of the clock is slower by the root of how much it is.
        (lambda: move_bar(0.75, 3.0, 5.0, 5.0), (0.75 + 0.25 * 0.5**0.5 * 2 / 7, 3.0)),
        (lambda: move_bar(0.25, 3.0, 5.0, 0.0), (1.0, 3.0)),
        (lambda: move_bar(0.25, 1.0, 5.0, 5.0), (0.25, 1.0)),
        (lambda: write_to(NS(write=len, flush=list)), False),
        (lambda: write_to(NS(write=fail, flush=list)), True),
        (lambda: write_to(NS(write=len, flush=fail)), True),
        (lambda: progress.format_seconds(59.9), "0:59"),
        (lambda: progress.format_seconds(3599), "59:59"),
        (lambda: progress.format_seconds(3725), "1:02:05"),
        (lambda: progress.add_steps(2.5), 2.5),
        (lambda: progress.add_steps({"a": 1.5, "b": certain, "c": uncertain}), 5.5),
    ],
    sklearn_parts: [
        (lambda: validate(np.zeros((40, 2)), Integral)[-22:], "[0., 0.], ... instead."),
        (
            lambda: validate(np.zeros(3), Records, None),
            "The 'a' parameter of F must be an instance of 'skmia.Records' or None. Got array([0., "
            "0., 0.]) instead. Wrap the features and task labels as Records(X, y).",
        ),
        (lambda: validate(3, Records)[-14:], "Got 3 instead."),
        (lambda: validate(np.zeros(3), Integral)[-13:], "0.]) instead."),
        (lambda: validate(True, Integral), no_boolean),
        (lambda: validate(True, Interval(Real, 0, None, closed="left")), no_boolean),
        (lambda: validate(True, Integral, "boolean"), None),
        (lambda: validate(True, "boolean"), None),
        (lambda: validate(1, Integral), None),
        (lambda: validate("b", StrOptions({"b"}), None), None),
        (
            lambda: validate(10**400, Interval(Real, 0, None, closed="left"))[:41],
            "The 'a' parameter of F must be a float in",
        ),
        (lambda: validate(10**400, Interval(Integral, 0, None, closed="left")), None),
    ],
    gaussians: [
        (lambda: shrunk.constant, [False, False, False, True]),
        (lambda: shrunk.inner(left, right), np.einsum("ij,jk,ik->i", left, inverse, right)),
        (lambda: shrunk.inner(left, left), np.einsum("ij,jk,ik->i", left, inverse, left)),
        (lambda: shrunk.solve(left[0]), inverse @ left[0]),
        (lambda: shrunk.variance_along(left[0]), left[0] @ covariance @ left[0]),
        (lambda: shrunk.trace_of(noise), np.trace(inverse @ np.diag(noise))),
    ],
    metric_inputs: [
        (lambda: metric_inputs.check_judged(None, ["a"], 2), None),
        (lambda: metric_inputs.check_judged({"a": mask, "b": [1]}, ["a"], 2), {"a": [True, False]}),
        *(
            (
                lambda judged=judged: refuse_call("check_judged", judged, ["a", "b"], 2),
                "judged must map each name in scores to a mask of records.",
            )
            for judged in ([mask], {"a": mask}, {"b": mask}, mask)
        ),
        *(
            (
                lambda one=one: refuse_call("check_judged", {"a": mask, "b": one}, ["a", "b"], 2),
                "judged['b'] must be a boolean mask of 2 records.",
            )
            for one in ([1, 0], [True], [[True, False]], [True, False, True])
        ),
        (lambda: metric_inputs.check_record_weights([0, 2], 2), [0.0, 2.0]),
        (
            lambda: refuse_call("check_record_weights", [1, 2], 3),
            f"{must_weigh} 3 records; got shape (2,) and a smallest value of 1.",
        ),
        (
            lambda: refuse_call("check_record_weights", [1, -0.5], 2),
            f"{must_weigh} 2 records; got shape (2,) and a smallest value of -0.5.",
        ),
        (
            lambda: refuse_call("check_record_weights", [], 2),
            f"{must_weigh} 2 records; got shape (0,) and a smallest value of inf.",
        ),
        (lambda: metric_inputs.check_weights(None, mask), [1.0, 1.0]),
        (lambda: weigh_sides(0, 2, 1), [0.0, 2.0, 1.0]),
        (
            lambda: tell_refusal(lambda: weigh_sides(1, -2, 1)),
            "sample_weight must be non-negative; got -2.0.",
        ),
        (
            lambda: tell_refusal(lambda: weigh_sides(1, 0, 1)),
            "sample_weight must be positive for some non-members; got only zeros.",
        ),
        (
            lambda: tell_refusal(lambda: weigh_sides(0, 1, 0)),
            "sample_weight must be positive for some members; got only zeros.",
        ),
        (
            lambda: tell_refusal(lambda: weigh_sides(0, 1)),
            "y_true and sample_weight must have equal lengths; got 3 and 2.",
        ),
        (lambda: metric_inputs.check_fpr_resolution(0.1, "fpr"), [0.1]),
        (lambda: metric_inputs.check_fpr_resolution([0.1, 1, 0.1], "fpr"), [0.1, 1.0]),
        (
            lambda: refuse_call("check_fpr_resolution", [0.1, 0], "fpr")[:20],
            "fpr must be above 0:",
        ),
        (
            lambda: refuse_call("check_fpr_resolution", [], "fpr")[:31],
            "fpr must hold at least one rate",
        ),
        (
            lambda: refuse_call("check_fpr_resolution", [[0.1]], "fpr")[:31],
            "fpr must hold at least one rate",
        ),
        (
            lambda: refuse_call("check_fpr_resolution", 1.5, "fpr")[:32],
            "fpr must be a fraction in [0, 1]",
        ),
        (lambda: metric_inputs.check_pos_label([2, 1, 2], None), [2, 1, 2]),
        (lambda: metric_inputs.check_pos_label([2, 1, 2], 2), [True, False, True]),
        (
            lambda: refuse_call("check_pos_label", range(11, 1, -1), 7.5),
            "pos_label must be a value of y_true, the one of members; y_true has 2, 3, 4, 5, 6, 7, "
            "8, 9, got 7.5.",
        ),
        (lambda: metric_inputs.check_bits([1, 0, 1.0], "y"), [True, False, True]),
        (lambda: metric_inputs.check_bits(mask, "y"), [True, False]),
        (lambda: refuse_call("check_bits", [1, 2, -3], "y")[-20:], "rs; got the value 2."),
        (lambda: refuse_call("check_bits", [1, nan], "y")[-14:], "the value nan."),
        (lambda: refuse_call("check_bits", ["a"], "y")[-14:], "got dtype <U1."),
        (lambda: refuse_call("check_bits", [[1, 0]], "y")[-25:], "an array of shape (1, 2)."),
        (lambda: metric_inputs.check_finite_vector([1, True, 2.5], "s"), [1.0, 1.0, 2.5]),
        (lambda: metric_inputs.check_finite_vector([], "s"), []),
        (
            lambda: refuse_call("check_finite_vector", [1, -inf, nan], "s"),
            "s must be finite; got -inf at position 1.",
        ),
        (
            lambda: refuse_call("check_finite_vector", [1, 2, inf], "s"),
            "s must be finite; got inf at position 2. np.nan_to_num keeps the order of infinite "
            "ones.",
        ),
        (
            lambda: refuse_call("_check_both_classes", array([]))[:65],
            "y_true must hold both members and non-members; got no records (n ",
        ),
        (
            lambda: "got members only (n = 2)" in refuse_call("_check_both_classes", mask | True),
            True,
        ),
        (
            lambda: (
                "got non-members only (n = 2)" in refuse_call("_check_both_classes", mask & False)
            ),
            True,
        ),
        (lambda: metric_inputs._check_both_classes(mask), None),
        (lambda: metric_inputs.check_option("a", "kind", ("a", "b")), "a"),
        (
            lambda: refuse_call("check_option", "c", "kind", ("a", "b")),
            "kind must be one of 'a', 'b'; got 'c'.",
        ),
        (
            lambda: refuse_call("check_option", 3, "kind", (3, "b")),
            "kind must be one of 3, 'b'; got 3.",
        ),
        (
            lambda: metric_inputs.refuse_other_choice(
                "kind", "a", {"p": "a", "q": "b"}, {"p": 1, "q": None}
            ),
            None,
        ),
        (
            lambda: refuse_call(
                "refuse_other_choice", "kind", "a", {"p": "a", "q": "b"}, {"p": 1, "q": 0}
            ),
            "q is only taken with kind='b'; got it with kind='a'.",
        ),
        (lambda: metric_inputs.check_confidence_level(0.5), 0.5),
        (lambda: refuse_call("check_confidence_level", 0)[:16], "confidence_level"),
        (lambda: refuse_call("check_confidence_level", 1)[:16], "confidence_level"),
    ],
    provenance: [
        (lambda: read_laps([5.0, 7.0, 8.5]), ([2.0, 1.5], 3.5)),
        (lambda: read_laps([5.0, 5.25]), ([0.25], 1.0)),
        (lambda: read_laps([5.0, 15.0]), ([10.0], 8.0)),
        (lambda: read_laps([5.0, 15.0], (2.0, 2.0)), ([10.0], 1.0)),
        (lambda: read_laps([5.0, 9.0], (2.0, 4.0)), ([4.0], 2.0)),
    ],
    outputs: [
        (lambda: outputs.check_order_of_columns(frame_of("a", "b"), ["a", "b"]), None),
        (lambda: outputs.check_order_of_columns(frame_of("a", "c"), ["a", "b"]), None),
        (lambda: outputs.check_order_of_columns(frame_of("b", "a"), [["a", "b"]]), None),
        (lambda: outputs.check_order_of_columns(X, ["b", "a"]), None),
        (
            lambda: tell_refusal(
                lambda: outputs.check_order_of_columns(frame_of("b", "a"), ["a", "b"])
            ),
            "The columns of the answers are b, a, and classes are a, b, in another order. Give "
            "answers[list(classes)], or the classes as the columns stand.",
        ),
        (
            lambda: tell_refusal(
                lambda: outputs.check_order_of_columns(frame_of(1, 0), array([0, 1]))
            )[:54],
            "The columns of the answers are 1, 0, and classes are 0",
        ),
    ],
    query: [
        (lambda: query.query(None, Records(X, [0, 1, 1], outputs=answers)).kind, "proba"),
        (
            lambda: tell_refusal(lambda: query.query(None, Records(X, [0, 1, 1]))),
            "victim is None and the records hold no outputs; pass a fitted victim or use "
            "records.with_outputs(victim).",
        ),
        (
            lambda: tell_refusal(lambda: query.query(None, Records(X, [0, 1, 1], outputs=X))),
            "The field 'outputs' is a bare array; wrap it as Outputs(values, classes=...), which "
            "says what its columns are.",
        ),
        (lambda: query.query(fitted, Records(X, [0, 1, 1])).kind, "proba"),
        (lambda: are_several([[0.5, 0.75], [0.25, 0.5]]), True),
        (lambda: are_several([[0.5, 0.75], [0.25, 0.5]], n_dimensions=1), False),
        (lambda: are_several([[0.25, 0.75], [0.5, 0.5]]), False),
        (lambda: are_several([[0.5, 0.75], [0.25, 0.5]], classes_are_given=True), False),
        (lambda: are_several(np.zeros((0, 2))), False),
        (lambda: are_several([0.5, 0.75]), False),
        (lambda: are_several([[1, 2], [3, 4]]), False),
        (lambda: choose_order(60, [1, 2, 0]), (["c", "a", "b"], (1.0, 0.0))),
        (lambda: choose_order(60, [0, 1, 2]), (None, ())),
        # A half of 13 records tells two orders apart at a level of 2 ** -13, above 1 / 10,000.
        (lambda: choose_order(26, [1, 0]), (None, ())),
        (lambda: choose_order(28, [1, 0]), (["b", "a"], (1.0, 0.0))),
        (lambda: choose_order(28, [1, 0], "logits")[0], ["b", "a"]),
        (lambda: choose_order(28, [1, 0], "decision")[0], ["b", "a"]),
        (
            lambda: query.choose_order(Outputs(array(["a", "b"]), ["a", "b"], "label"), ["b", "a"]),
            (None, ()),
        ),
        (lambda: query.choose_order(spoken(28, [1, 0]), ["z"] * 28), (None, ())),
        # Neither ties nor one and the same answer are evidence.
        (lambda: query.choose_order(spoken(28, [0, 0]), ["b", "a"] * 14), (None, ())),
        (
            lambda: query.choose_order(Outputs(np.full((28, 2), 0.5), ["a", "b"]), ["b", "a"] * 14),
            (None, ()),
        ),
        (lambda: warn_of_given(spoken(28, [0, 1]), ["a", "b"] * 14), []),
        (
            lambda: warn_of_given(spoken(28, [1, 0]), ["a", "b"] * 14),
            [
                "100% of the labels are predicted if the columns of the answers stand for the "
                "classes ['b', 'a'], and 0% if they stand for ['a', 'b'] as given. Check the order "
                "of classes."
            ],
        ),
        (
            lambda: [
                one[:56] for one in warn_of_given(spoken(28, [0, 1], "logits"), ["a", "b"] * 14)
            ],
            ["The logits of each record lie between 0 and 1 and add to"],
        ),
        (lambda: ask_twice(ValueError("it is read-only"), X), (2, True, X)),
        (lambda: tell_refusal(lambda: ask_twice(ValueError("it is bad"), X)), "it is bad"),
        (lambda: tell_refusal(lambda: ask_twice(TypeError("read-only"), X)), "read-only"),
        (lambda: tell_refusal(lambda: ask_twice(ValueError("read-only"), [1])), "read-only"),
    ],
    accountant: [
        # Where a cost falls as noise rises, one step of the proportion meets the budget.
        (lambda: search_noise(lambda z: 8 / z, 2.0, 1.0), (8 / 1.99, [1.0, 8 / 1.99])),
        (lambda: search_noise(lambda z: 2.0, 2.0, 5.0), (5.0, [5.0])),
        (lambda: search_noise(lambda z: 1.98, 2.0, 5.0), (5.0, [5.0])),
        (lambda: search_noise(lambda z: inf, 2.0, 1.0), (inf, [1.0, 1e6])),
        (lambda: search_noise(lambda z: 2.5, 2.0, 1.0)[0], inf),
        # Below the step the proportion leads beyond it, above it below; then halves are taken.
        (
            lambda: search_noise(spend_in_steps, 2.0, 1.0)[1][:6],
            search_path,
        ),
        (lambda: search_noise(spend_in_steps, 2.0, 1.0)[0], 3.0),
    ],
    copies: [
        (lambda: list_sizes([Settings(size=5), Settings(size=7)]), ("list", 2, 6, 10, 14)),
        (lambda: list_sizes((Settings(size=5),)), ("tuple", 2, 6, 10)),
        (lambda: list_sizes({Settings(size=5)}), ("set", 2, 6, 10)),
        (lambda: list_sizes(frozenset([Settings(size=5)])), ("frozenset", 2, 6, 10)),
        (lambda: list_sizes({"a": Settings(size=5)}), ("dict", 2, 6, 10)),
        (lambda: copies._copy_subject(fitted, double_sizes, "p") is fitted, True),
        (lambda: copies._copy_subject(print, double_sizes, "p") is print, True),
        (lambda: copies._copy_subject(Settings, double_sizes, "p") is Settings, True),
        (lambda: copies._copy_subject(X, double_sizes, "p") is X, True),
        (lambda: copies._copy_subject(LogisticRegression(C=3), double_sizes, "p").C, 3),
        (lambda: copies._copy_subject([fitted, (fitted,)], double_sizes, "p"), [fitted, (fitted,)]),
        (lambda: copies.copy_changed(Settings(Settings), double_sizes).model is Settings, True),
    ],
    guesses: [
        (lambda: guesses._is_submodule("skmia", "metrics"), True),
        (lambda: guesses._is_submodule("skmia", "exceptions"), True),
        (lambda: guesses._is_submodule("skmia._core", "files"), True),
        (lambda: guesses._is_submodule("skmia._core", "metrics"), False),
        (lambda: guesses._is_submodule("skmia", "files"), False),
        (lambda: add_up(1, second=5), 6),
        (lambda: take_any(1, secnod=5), {"secnod": 5}),
        (lambda: take_place(5, second=1), 4),
        (
            lambda: tell_refusal(lambda: add_up(1, secnod=5)),
            "add_up got an unexpected keyword argument 'secnod'; did you mean 'second'?",
        ),
        (
            lambda: tell_refusal(lambda: check_name("self", "aa", "bb", bb=1, zzzz=2)),
            "f got an unexpected keyword argument 'zzzz'; it has aa, bb",
        ),
        (lambda: check_name("aa", "bb", bb=1), None),
    ],
    records: [
        (lambda: Records(X, [0, 1, 1]).fingerprint, digest_records(X, array([0, 1, 1]))[0]),
        (lambda: features_of(X), (2, None)),
        (lambda: features_of(X[:, :1]), (1, None)),
        (lambda: features_of(np.zeros((3, 2, 2))), (None, None)),
        (lambda: features_of(pd.DataFrame(X, columns=["a", "b"])), (2, ["a", "b"])),
        (lambda: features_of(pd.DataFrame(X, columns=["a", 1])), (2, None)),
        (lambda: features_of(pd.DataFrame(X)), (2, None)),
        (lambda: features_of(sparse.csr_array(X)), (2, None)),
        (lambda: records.get_features(Records.from_ids(["b", "a"])), (None, None)),
    ],
    tokens: [
        (
            lambda parts=parts: tell_refusal(lambda: tokens.TokenOutputs.concat(parts)),
            "TokenOutputs.concat takes a sequence of one or more TokenOutputs.",
        )
        for parts in ([], 3, [tokens.TokenOutputs([[-1.0]]), [[-1.0]]], [None])
    ],
    tradeoff: [
        (lambda at=at: compute_profile(*at), True)
        for at in [
            (0.0, 1.5, 0.25, "in/out"),
            (0.0, 1.5, 0.25, "out/in"),
            (0.125, 1.5, 0.25, "in/out"),
            (0.125, 1.5, 0.25, "out/in"),
            (0.125, 1.5, 0.25, "both"),
            (0.5, 2.0, 0.75, "in/out"),
            (0.5, 2.0, 0.75, "out/in"),
            (0.5, 2.0, 0.75, "both"),
            (0.5, 1.0, 0.25, "out/in"),
            (0.5, 1.0, 1.0, "both"),
        ]
    ],
    writers: [
        (lambda: change_start("a"), (False, ["The callback LoadInitStat"])),
        (lambda: change_start("b"), (True, ["The shadow models start f"])),
        (lambda: "write_down" in writers._UserCode(read_recursively).names, True),
        (lambda: writers._UserCode(read_recursively).writes, False),
        (lambda: writers._is_installed("sklearn.base"), True),
        (lambda: writers._is_installed("mine.sklearn"), False),
        (lambda: writers._is_installed(None), False),
    ],
    budget: [
        (lambda: budget.format_bytes(0), "1 MB"),
        (lambda: budget.format_bytes(2.4e6), "2 MB"),
        (lambda: budget.format_bytes(999.49e6), "999 MB"),
        (lambda: budget.format_bytes(999.5e6), "1.0 GB"),
        (lambda: budget.format_bytes(1234.56e9), "1,234.6 GB"),
        (lambda: budget.format_duration(nan), "unknown"),
        (lambda: budget.format_duration(0.44), "0.4 s"),
        (lambda: budget.format_duration(9.94), "9.9 s"),
        (lambda: budget.format_duration(9.95), "10 s"),
        (lambda: budget.format_duration(599.4), "599 s"),
        (lambda: budget.format_duration(600), "10 min"),
        (lambda: budget.format_duration(7199), "120 min"),
        (lambda: budget.format_duration(7200), "2.0 h"),
        (lambda: budget.format_duration(4_000_000), "1,111.1 h"),
        (lambda: budget.why_over(Cost(1e9, 5.0, "a matrix"), 1e9), None),
        (lambda: budget.why_over(Cost(2e9), 1e9), "it would hold 2.0 GB, and 1.0 GB are allowed"),
        (lambda: budget.allow_bytes(NS(nbytes=50_000_001)), 500_000_010),
        (lambda: budget.allow_bytes(NS(nbytes=49_999_999)), 500_000_000),
        (lambda: budget.count_table_bytes(sparse.coo_array(X)), 4 * 8 + 2 * 4 * 4),
        (lambda: budget.count_table_bytes(sparse.csr_array(X)), 4 * 8 + 4 * 4 + 4 * 4),
        (lambda: budget.count_table_bytes(sparse.lil_array(X)), 3 * 8),
        (lambda: budget.count_table_bytes(pd.DataFrame(X, index=["a", "b", "c"])), 48),
        *(
            (lambda error=error: budget.is_of_memory(error), True)
            for error in (
                MemoryError(),
                make_error("TerminatedWorkerError"),
                make_error("BrokenProcessPool"),
                make_error("OutOfMemoryError"),
                make_error("KilledWorker"),
                RuntimeError("Can't allocate memory"),
                OSError("CUDA: Out of Memory"),
                OSError("std::bad_alloc"),
                caused(ValueError(), caused(KeyError(), MemoryError())),
            )
        ),
        (lambda: budget.is_of_memory(caused(ValueError("out of memory"), KeyError())), False),
        (lambda: budget.is_of_memory(OSError("No space left")), False),
        *(
            (
                lambda name=name: budget.describe_lack(make_error(name)),
                "a process that it had started was ended by the system, mostly for lack of memory",
            )
            for name in ("BrokenProcessPool", "TerminatedWorkerError", "KilledWorker")
        ),
        *(
            (lambda text=text: budget.describe_lack(MemoryError(text)), "memory did not suffice")
            for text in ("", "Unable to allocate ", "Unable to allocate 3. parsecs", "3. GiB")
        ),
        *(
            (
                lambda text=text: budget.describe_lack(MemoryError(f"Unable to allocate {text}")),
                f"memory did not suffice: {size} could not be had at once",
            )
            for text, size in [
                ("600. bytes for an array", "1 MB"),
                ("2,048. KiB for an array", "2 MB"),
                ("20. MiB", "21 MB"),
                ("2.00 GiB for an array", "2.1 GB"),
                ("1.50 TiB for an array", "1,649.3 GB"),
            ]
        ),
    ],
    sample_weights: [
        (lambda: sample_weights.read_weights(Records(X, [0, 1, 1])), None),
        (lambda: weigh([0, 2, 1]), [0.0, 2.0, 1.0]),
        (lambda: weigh([True, False, True]).dtype.name, "float64"),
        (lambda: refuse_weights(array(["a", "b", "c"])), "an array of <U1 of shape (3,)."),
        (lambda: refuse_weights(np.ones((3, 2))), "an array of float64 of shape (3, 2)."),
        (lambda: refuse_weights([1.0, -0.5, nan]), "-0.5."),
        (lambda: refuse_weights([1.0, inf, -1.0]), "inf."),
        (lambda: refuse_weights([1.0, 1.0, nan]), "nan."),
        (lambda: sample_weights.name_parameter(LogisticRegression()), "sample_weight"),
        (lambda: sample_weights.name_parameter(KNeighborsClassifier()), None),
        (
            lambda: sample_weights.name_parameter(
                Pipeline([("a", "passthrough"), ("b", Pipeline([("c", LogisticRegression())]))])
            ),
            "b__c__sample_weight",
        ),
        (lambda: sample_weights.name_parameter(Pipeline([("b", KNeighborsClassifier())])), None),
        (lambda: sample_weights.name_parameter(Pipeline([("b", "passthrough")])), None),
        (lambda: sample_weights.name_parameter(Pipeline([("b", None)])), None),
        (lambda: sample_weights.name_parameter(Pipeline([])), None),
        (lambda: sample_weights.weights_for(LogisticRegression(), Records(X, [0, 1, 1])), None),
        (lambda: sample_weights.weights_for(LogisticRegression(), weighted), [1.0, 2.0, 0.0]),
        (lambda: sample_weights.weights_for(KNeighborsClassifier(), weighted), None),
        (lambda: name_routed(LogisticRegression()), None),
        (lambda: name_routed(request(False, LogisticRegression())), None),
        (lambda: name_routed(request(True, LogisticRegression())), "sample_weight"),
        (
            lambda: name_routed(Pipeline([("b", request("w", LogisticRegression()))])),
            "sample_weight",
        ),
        (lambda: sample_weights.requests_weights(request(True)), True),
        (lambda: sample_weights.requests_weights(request(False)), False),
        (lambda: sample_weights.requests_weights(Holder(LogisticRegression)), False),
        (lambda: sample_weights.requests_weights(Holder(request(True))), True),
        (lambda: fit(), ([1], [2], None, 1, False)),
        (lambda: fit(fit_params={"epochs": 7}), ([1], [2], None, 7, False)),
        (
            lambda: fit(fit_params=lambda X, y: {"epochs": (X, y)}),
            ([1], [2], None, ([1], [2]), False),
        ),
        (lambda: fit([5.0], {"epochs": 7}), ([1], [2], [5.0], 7, False)),
        (
            lambda: fit([5.0], {"y": [4], "X": [3], "sample_weight": [6.0]}),
            ([3], [4], [6.0], 1, False),
        ),
        (lambda: fit([5.0], {"sample_weight": [6.0]}), ([1], [2], [6.0], 1, False)),
        (lambda: fit(None, {"X": [3]}), ([3], [2], None, 1, False)),
        (lambda: fit([5.0], model=PlainRecorder()), ([1], [2], None, 1, False)),
        (lambda: fit([5.0], {"X": [3]}, PlainRecorder()), ([3], [2], None, 1, False)),
        (lambda: fit([5.0], model=request(True)), ([1], [2], [5.0], 1, True)),
        (lambda: fit(None, model=request(True)), ([1], [2], None, 1, False)),
        (
            lambda: tell_refusal(lambda: fit([5.0], {"X": [3], "y": [4]})),
            "fit_params gives other rows of records that have the field 'sample_weight'; let it "
            "give X, y and sample_weight.",
        ),
        (
            lambda: tell_refusal(lambda: fit([5.0], {"y": [4], "sample_weight": [6.0]}))[:33],
            "fit_params gives other rows of re",
        ),
        (
            lambda: tell_refusal(lambda: fit(fit_params=lambda X, y: ["epochs"])),
            "fit_params must give a dict of parameters of fit; got ['epochs'].",
        ),
    ],
    files: [
        (lambda: [*map(str, files.split_place("a/b.HTM"))], ["a", "b.HTM"]),
        (lambda: [*map(str, files.split_place("a/b.html"))], ["a", "b.html"]),
        (lambda: [*map(str, files.split_place("a/b.json"))], ["a/b.json", "report.html"]),
        (lambda: files.name_beside("report.html", "report.json"), "report.json"),
        (lambda: files.name_beside("my.html", "decision.html"), "decision.html"),
        (lambda: files.name_beside("my.html", "report.html"), "my.html"),
        (lambda: files.name_beside("my.html", "report.json"), "my.json"),
        (lambda: files._is_running(os.getpid()), True),
    ],
    weight_average: [
        (
            lambda: tell_refusal(weight_average.WeightAverage(1.5).initialize),
            "decay must be from 0 to 1; got 1.5.",
        ),
        (
            lambda: tell_refusal(weight_average.WeightAverage(-0.5).initialize),
            "decay must be from 0 to 1; got -0.5.",
        ),
        (lambda: weight_average.WeightAverage(0).initialize().averages_, None),
        (lambda: weight_average.WeightAverage(1).initialize().averages_, None),
        (lambda: weight_average.WeightAverage().decay, 0.999),
        (lambda: weight_average.WeightAverage().on_epoch_end(None), None),
        (
            lambda: tell_refusal(lambda: weight_average.WeightAverage().on_nothing),
            "WeightAverage has no attribute 'on_nothing'",
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_weights_are_averaged_after_the_first_step_of_the_training():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(1, 1, bias=False)
    net, callback = NS(module_=module), weight_average.WeightAverage(0.75).initialize()
    for weight, training in [(4.0, True), (100.0, False), (8.0, True), (2.0, True), (64.0, None)]:
        module.weight.data.fill_(weight)
        callback.on_batch_end(net, training=training)
    callback.on_train_end(net)
    assert module.weight.item() == 0.75 * (0.75 * 4 + 0.25 * 8) + 0.25 * 2
    assert callback.averages_ is None
    callback.on_train_end(net)  # a training without a step
    assert module.weight.item() == 4.25


def test_files_of_a_report_are_written_one_by_one(tmp_path):
    def fail(document, path):
        raise ImportError("needs x.")

    def refuse(document, path):
        assert document["notes"][1:] == ["The file my.svg could not be made: needs x."]
        raise ValueError("two\nlines")

    def write(document, path):
        assert json.loads((path.parent / "my.json").read_text())["notes"] == ["one"]
        path.write_text(f"{len(document['notes'])} notes")

    def fill(document, path):
        path.write_text("")

    others = {"report.html": write, "report.svg": fail, "decision.html": refuse, "report.md": write}
    document = {"notes": ["one"]}
    saved = saving.save_documents(document, tmp_path / "a" / "my.html", "report.json", others)
    assert document == {"notes": ["one"]}
    assert [path.name for path in saved.paths] == ["my.json", "my.html", "my.md"]
    assert [*saved.failures] == ["my.svg", "decision.html"]
    notes = [
        "The file my.svg could not be made: needs x.",
        "The file decision.html could not be made: ValueError: two lines.",
    ]
    assert saved.notes == notes
    assert json.loads(saved.paths[0].read_text()) == {"notes": ["one", *notes]}
    assert [path.read_text() for path in saved.paths[1:]] == ["1 notes", "3 notes"]
    with pytest.warns(RuntimeWarning, match="decision.html could not be made") as caught:
        assert saving.warn_of_failures(saved) is saved.paths
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = saving.save_documents(document, tmp_path, "report.json", {"report.html": fill})
        assert saving.warn_of_failures(whole) == [
            tmp_path / "report.json",
            tmp_path / "report.html",
        ]


def test_nothing_of_an_earlier_report_stays_beside_another_one(tmp_path):
    def write(document, path):
        path.write_text('<a href="report.html">full report</a>')

    def fail(document, path):
        raise ImportError("needs x.")

    def save(recommendation=None, page="", **others):
        document = {"notes": [], "recommendation": recommendation}
        others = {f"{name}.html": make for name, make in others.items()}
        return saving.save_documents(document, tmp_path / page, "audit.json", others)

    save(report=write, decision=write)
    save(page="other.html", report=write)  # of which the sheet is not
    assert (tmp_path / "decision.html").exists()
    save(report=fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.json",
        "other.html",
        "other.json",
    ]
    save({"decision": {"decision": ""}}, report=write, decision=write)
    save({"decision": {"decision": "release"}}, report=write, decision=write)
    with pytest.raises(FileExistsError, match="has the decision 'release' recorded; save into"):
        save(report=write)
    assert (tmp_path / "decision.html").exists()
    save(page="other.html", report=write)
