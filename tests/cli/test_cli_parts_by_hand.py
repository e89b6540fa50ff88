"""Parts of the command line that few calls reach, with answers by hand; each term decides once."""

import io
import json
import tomllib
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Thread
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.cluster import DBSCAN, KMeans
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import GaussianProcessClassifier as GaussianProcess
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_array

from skmia import Records
from skmia.cli import (
    _damaged_models,
    _features_and_target,
    _inputs,
    _labels,
    _main,
    _model_input,
    _options,
    _other_objects,
    _parser,
    _policy,
    _reading,
    _spelling,
    _stored_documents,
    _table,
    _write_page,
)
from skmia.victims import CallableVictim, KnownColumn

tables = {
    name: pd.DataFrame(
        {
            "id": [f"r{k}" for k in range(start, start + 40)],
            "code": [f"c{k * 7}" for k in range(start, start + 40)],
            "pid": [f"p{k * 3}" for k in range(start, start + 40)],
            "age": [k % 5 for k in range(40)],
        }
    )
    for name, start in (("real", 0), ("synthetic", 100))
}


def can_be_numbered(labels, classes=(0, 1)):
    return _inputs._can_be_numbered(pd.Series(labels), NS(classes_=array(classes)))


def are_classes(labels):
    return _inputs._are_classes(pd.Series(labels), NS(classes_=array([0, 1])))


def read_policy(release):
    house = NS(name="house", limits={"service"})
    with mock.patch.object(_policy, "load_policy", lambda name: house):
        return _policy.read_policy("house", release).limits


LINEAR = {
    "learner_model_param": {"num_feature": "3", "num_class": "0", "num_target": "1"},
    "gradient_booster": {},
}


def check_xgboost(outputs=(0,), is_dart=False, num_class="2", num_target="1", **tree):
    usual = {"left_children": [1, -1, -1], "right_children": [2, -1, -1]}
    trees = [usual | {"split_indices": [0, 0, 0]} | tree]
    model = {"model": {"trees": trees, "tree_info": list(outputs)}}
    parameters = {"num_feature": "3", "num_class": num_class, "num_target": num_target}
    booster = {"gbtree": model} if is_dart else model
    learner = {"learner_model_param": parameters, "gradient_booster": booster}
    return require(_damaged_models._expect_xgboost_document(learner))


def check_catboost(second=None, bias=(0.5, 0.25), ctrs=(), categorical_features=(), **tree):
    splits = [{"split_index": 2, "float_feature_index": 1}, second or {"split_index": 0}]
    usual = {"splits": splits, "leaf_values": [0.0] * 8, "leaf_weights": [1.0] * 4}
    features = {
        "float_features": [
            {"borders": [0.5, 1.5]},
            {"borders": [2.5]},
        ]
    }
    features |= {"ctrs": ctrs, "categorical_features": categorical_features}
    stored = {"features_info": features, "scale_and_bias": [1, list(bias)]}
    stored[_damaged_models.OBLIVIOUS] = [usual | tree]
    return require(_damaged_models._expect_catboost_document(stored))


def check_lightgbm(width=2, **tree):
    usual = {"left_child": [1, -1], "right_child": [-2, -3], "split_feature": [0, 1]}
    usual |= {"leaf_value": [0.5, 0.25, 0.125]}
    given = {name: array(values) for name, values in (usual | tree).items()}
    text = NS(header={"max_feature_idx": "1"}, trees=[given])
    with mock.patch.object(_damaged_models, "load_lightgbm", lambda model: text):
        return require(_damaged_models._expect_lightgbm(NS(n_features_in_=width)))


frame = pd.DataFrame(
    {
        "y": ["a", "b", "a"],
        "age": [3, 4, 5],
        "who": ["p", None, "q"],
        "weight": [1.0, 0.0, 2.5],
        "empty": [None, None, None],
        "bad": [1.0, -1.0, 2.0],
        "2nd%": [7, 8, 9],
        "X": [1, 2, 3],
    }
)


def options(**given):
    usual = dict(target="y", group_by=None, weights=None, drop=[], group=[], members=None)
    return NS(**usual | given)


def refuse_columns(**given):
    return tell_refusal(lambda: _inputs._check_named_columns(options(**given), frame))


def read_fields(**given):
    return _inputs._read_record_fields(frame, options(**given))


def keep_words(y, words):
    records = Records(np.zeros((len(y), 1)), array(y))
    return dict(_inputs._keep_words(records, pd.Series(words)).fields)


def require(expected):
    """Return whether a part is kept of which conditions are expected."""
    refusal = tell_refusal(lambda: _damaged_models._refuse_contradiction(expected, "tree"))
    assert refusal is None or "contradict" in refusal
    return refusal is None


def check_nodes(left, right, feature=(0, 0, 0), n_features=1):
    left, right = array(left), array(right)
    feature = array(feature)[: len(left)]
    nodes = left, right, left == -1, feature, n_features
    return require(_damaged_models._expect_nodes(*nodes))


def check_walk(left, right):
    left, right = array(left, dtype=int), array(right, dtype=int)
    return require(_damaged_models._expect_walk(left, right, left == -1))


def check_spline(t, c, k):
    return require(_damaged_models._expect_spline(NS(t=t, c=c, k=k)))


def check_labels(labels, n=3):
    model = NS(_y=array(labels), n_samples_fit_=n, classes_=["a", "b"])
    return require(_damaged_models._expect_neighbor_labels(model))


def check_widths(width, *owns, subsets=None, trees=None):
    parts = [NS(n_features_in_=own) for own in owns]
    if trees is not None:
        parts = [NS(n_features_in_=own, tree_=NS(n_features=n)) for own, n in zip(owns, trees)]
    ensemble = NS(n_features_in_=width)
    if subsets is not None:
        ensemble.estimators_features_ = subsets
    return require(_damaged_models._expect_widths(ensemble, parts))


class Voters(BaseEstimator):
    def __init__(self, n_estimators=3):
        self.n_estimators = n_estimators


def check_sizes(n_estimators, n_fitted):
    voters = Voters(n_estimators)
    if n_fitted is not None:
        voters.estimators_ = [NS()] * n_fitted
    return tell_refusal(lambda: _damaged_models._check_sizes(voters))


def map_labels(values, pairs):
    return _labels.map_labels(pd.Series(values, name="t"), pairs, ["a", "b", "y"])


class Foreign:
    """What a package of another name has saved."""

    def __init__(self, module, name="Thing", **attributes):
        kind = type(name, (), {"__module__": module, **attributes})
        self.value = kind()


def tell_foreign(module, **attributes):
    told = _other_objects._tell_object(Foreign(module, **attributes).value)
    return told if told is None else told[:20]


def align(values, known, **more):
    column = KnownColumn(values=None if known is None else array(known, dtype=object), **more)
    return _model_input._align_column(pd.Series(values), column).tolist()


def match(names, columns):
    return _model_input.match_features(NS(feature_names_in_=array(names, dtype=object)), columns)


def leave_out(columns, kept=(), **given):
    """Return the columns that are left of a table, and what is said of the others."""
    notes, refusals = [], []
    table = pd.DataFrame(columns)
    file = NS(frame=table, given=given, note=notes.append, refuse=refusals.append)
    _reading._leave_out_index(file, kept)
    return [*file.frame], [one[:33] for one in notes], len(refusals)


def measure_conditions(problem_recipe=None, model=None, measure=True, batching=False):
    arguments = NS(measure_conditions=measure, no_batching=batching, jobs=2)
    problem = NS(recipe=problem_recipe, victim="victim", records=5, fit_params={"a": 1})
    return _policy._measure_conditions("audit", model, problem, arguments, {"release": "service"})


recommended = NS(result="release", release="file", policy=NS(name="house"))
forest, service = DecisionTreeClassifier(), CallableVictim(len, [0, 1])

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _damaged_models: [
        # Trees of a booster: three columns, two outputs, and categories in segments.
        (lambda: check_xgboost(), True),
        (lambda: check_xgboost(split_indices=[2, 9, -9]), True),
        (lambda: check_xgboost(split_indices=[3, 0, 0]), False),
        (lambda: check_xgboost(split_indices=[-1, 0, 0]), False),
        (lambda: check_xgboost(split_indices=[0, 0]), False),
        (lambda: check_xgboost(left_children=[0, -1, -1]), False),
        (lambda: check_xgboost(left_children=[1, 0, -1]), False),
        (lambda: check_xgboost(outputs=[1]), True),
        (lambda: check_xgboost(outputs=[2]), False),
        (lambda: check_xgboost(outputs=[-1]), False),
        (lambda: check_xgboost(outputs=[2], num_target="3"), True),
        (lambda: check_xgboost(outputs=[0], num_class="0"), True),
        (lambda: check_xgboost(outputs=[1], num_class="0"), False),
        (
            lambda: check_xgboost(categories=[4, 5], categories_segments=[0], categories_sizes=[2]),
            True,
        ),
        (
            lambda: check_xgboost(categories=[4], categories_segments=[0], categories_sizes=[2]),
            False,
        ),
        (
            lambda: check_xgboost(categories=[4, 5], categories_segments=[1], categories_sizes=[2]),
            False,
        ),
        (lambda: check_xgboost(is_dart=True), True),
        (lambda: check_xgboost(is_dart=True, split_indices=[3, 0, 0]), False),
        (lambda: require(_damaged_models._expect_xgboost_document(LINEAR)), True),
        # Two levels of splits, by three borders of two columns, and four leaves of two outputs.
        (lambda: check_catboost(), True),
        (lambda: check_catboost(second={"split_index": 3}), False),
        (lambda: check_catboost(second={"split_index": -1}), False),
        (lambda: check_catboost(second={"split_index": 0, "float_feature_index": 2}), False),
        (lambda: check_catboost(second={"split_index": 0, "float_feature_index": -1}), False),
        (lambda: check_catboost(second={"split_index": 3}, ctrs=[1]), True),
        (lambda: check_catboost(second={"split_index": 3}, categorical_features=[1]), True),
        (lambda: check_catboost(second={"split_index": 10**7}, ctrs=[1]), False),
        (lambda: check_catboost(leaf_values=[0.0] * 7), False),
        (lambda: check_catboost(leaf_weights=[]), True),
        (lambda: check_catboost(leaf_weights=[1.0] * 3), False),
        (lambda: check_catboost(bias=[], leaf_values=[0.0] * 4), True),
        (lambda: check_catboost(bias=[0.5], leaf_values=[0.0] * 8), False),
        (
            lambda: require(
                _damaged_models._expect_catboost_document(
                    {
                        "features_info": {"float_features": [{"borders": None}]},
                        "scale_and_bias": [1, [0.0]],
                    }
                )
            ),
            True,
        ),
        # Children are behind their parents, or leaves.
        (lambda: check_lightgbm(), True),
        (lambda: check_lightgbm(width=3), False),
        (lambda: check_lightgbm(left_child=[0, -1]), False),
        (lambda: check_lightgbm(left_child=[2, -1]), False),
        (lambda: check_lightgbm(left_child=[1, -4]), False),
        (lambda: check_lightgbm(right_child=[-1, -3]), True),
        (lambda: check_lightgbm(split_feature=[2, 0]), False),
        (lambda: check_lightgbm(split_feature=[-1, 0]), False),
        (lambda: check_lightgbm(split_feature=[0]), False),
        (lambda: check_lightgbm(leaf_value=[0.5, 0.5]), False),
        (lambda: check_nodes([1, -1, -1], [2, -1, -1]), True),
        (lambda: check_nodes([0, -1, -1], [2, -1, -1]), False),
        (lambda: check_nodes([1, -1, -1], [0, -1, -1]), False),
        (lambda: check_nodes([1, -1, -1], [3, -1, -1]), False),
        (lambda: check_nodes([3, -1, -1], [1, -1, -1]), False),
        (lambda: check_nodes([1, -1, -1], [2, -1, -1], (-1, 0, 0)), False),
        (lambda: check_nodes([1, -1, -1], [2, -1, -1], (1, 0, 0)), False),
        # What a leaf splits is not read.
        (lambda: check_nodes([1, -1, -1], [2, -1, -1], (0, -2, 7)), True),
        (lambda: check_nodes([], []), False),
        (lambda: check_walk([2, -1, -1], [1, -1, -1]), True),
        (lambda: check_walk([1, -1, 0], [2, -1, 1]), False),
        (lambda: check_walk([1, -1, -1], [1, -1, -1]), False),
        (lambda: check_walk([1, -1], [2, -1]), False),
        (lambda: check_walk([1, -1], [-2, -1]), False),
        (lambda: check_walk([], []), False),
        (lambda: check_walk([1, -1, -1], [2, -1]), False),
        (lambda: check_spline([0.0, 1.0, 1.0, 2.0], [1.0, 2.0], 1), True),
        (lambda: check_spline([0.0, 1.0, 1.0, 2.0], [1.0], 1), False),
        (lambda: check_spline([0.0, 2.0, 1.0, 2.0], [1.0, 2.0], 1), False),
        (lambda: check_spline([0.0, 1.0, nan, 2.0], [1.0, 2.0], 1), False),
        (lambda: check_spline([0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0], 1.0), False),
        (lambda: check_spline([0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0], -1), False),
        (lambda: check_spline([0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0], 2), False),
        (lambda: check_labels([0, 1, 1]), True),
        (lambda: check_labels([0, 1, 1], n=2), False),
        (lambda: check_labels([0, 1, 2]), False),
        (lambda: check_labels([-1, 1, 0]), False),
        (lambda: check_labels([0.5, 7.0, 1.0]), True),
        (lambda: check_labels([[0, 7], [1, 1], [1, 0]]), True),
        (lambda: check_widths(3, 3, 2), True),
        (lambda: check_widths(3, 3, 4), False),
        (lambda: check_widths(None, 4), True),
        (lambda: check_widths(3, None, 3), True),
        (lambda: check_widths(3, 2, 1, subsets=[[0, 2], [1]]), True),
        (lambda: check_widths(3, 2, 2, subsets=[[0, 2], [1]]), False),
        (lambda: check_widths(3, 2, subsets=[[0, 3]]), False),
        (lambda: check_widths(3, 2, subsets=[[-1, 2]]), False),
        (lambda: check_widths(3, 0, subsets=[[]]), False),
        (lambda: check_widths(3, 3, 2, trees=[3, 2]), True),
        (lambda: check_widths(3, 3, 2, trees=[3, 3]), False),
        (lambda: check_sizes(5, None), None),
        (lambda: check_sizes(_damaged_models._MOST_UNFITTED, 1), None),
        (
            lambda: check_sizes(_damaged_models._MOST_UNFITTED + 1, 2),
            f"Voters has n_estimators={_damaged_models._MOST_UNFITTED + 1}, and 2 fitted ones",
        ),
        (lambda: check_sizes(None, 2), None),
        (lambda: check_sizes("all", 2), None),
        (lambda: require(_damaged_models._expect_vocabulary(NS())), True),
        (
            lambda: require(_damaged_models._expect_vocabulary(NS(vocabulary_={"a": 1, "b": 0}))),
            True,
        ),
        (
            lambda: require(_damaged_models._expect_vocabulary(NS(vocabulary_={"a": 1, "b": 2}))),
            False,
        ),
        *(
            (
                lambda kind=kind: tell_refusal(
                    lambda: _damaged_models._check_parameters(CountVectorizer(input=kind))
                ),
                wanted,
            )
            for kind, wanted in {
                "content": None,
                "file": "CountVectorizer(input='file') would open files that the records name; "
                'save the model with input="content"',
                "filename": "CountVectorizer(input='filename') would open files that the records "
                'name; save the model with input="content"',
            }.items()
        ),
    ],
    _inputs: [
        # A target of numbers is not numbered classes.
        (lambda: can_be_numbered([0.5, 1.5]), False),
        (lambda: can_be_numbered(["a", "b"]), True),
        (lambda: can_be_numbered(["a", "b", None]), True),
        (lambda: can_be_numbered(["a", "b", "c"]), False),
        (lambda: can_be_numbered(["a", "b"], [1, 2]), False),
        (lambda: are_classes(["0", "1"]), True),
        (lambda: are_classes(["0"]), True),
        # One of ten labels may be unknown, of at least two classes that are not.
        (lambda: are_classes(["0"] * 5 + ["1"] * 4 + ["x"]), True),
        (lambda: are_classes(["0"] * 5 + ["1"] * 3 + ["x"]), False),
        (lambda: are_classes(["0"] * 9 + ["x"]), False),
        (lambda: are_classes(["a", "b"]), False),
        (lambda: refuse_columns(), None),
        (lambda: refuse_columns(group_by="age", weights="weight", drop=["X"], group=["age"]), None),
        (lambda: refuse_columns(target="z")[:30], "--target: column 'z' not found"),
        (lambda: refuse_columns(group_by="z")[:32], "--group-by: column 'z' not found"),
        (lambda: refuse_columns(weights="z")[:31], "--weights: column 'z' not found"),
        (lambda: refuse_columns(drop=["X", "z"])[:28], "--drop: column 'z' not found"),
        (lambda: refuse_columns(group=["age", "z"])[:29], "--group: column 'z' not found"),
        (
            lambda: refuse_columns(drop=["X", "y"]),
            "--drop: column 'y' is the target and never a feature; name another column as "
            "--target, or leave it out of --drop",
        ),
        (
            lambda: read_fields(group_by="age", weights="weight", group=["2nd%", "X", "X"]),
            (
                {
                    "group_by": ["3", "4", "5"],
                    "sample_weight": [1.0, 0.0, 2.5],
                    "_2nd_": [7, 8, 9],
                    "X_": [1, 2, 3],
                },
                {"2nd%": "_2nd_", "X": "X_"},
            ),
        ),
        (
            lambda: tell_refusal(lambda: read_fields(group_by="who")),
            "--group-by: column 'who' has no value in 1 rows",
        ),
        (
            lambda: tell_refusal(lambda: read_fields(weights="bad")),
            "--weights: column 'bad' must hold a finite number of 0 or more in each row",
        ),
        (lambda: tell_refusal(lambda: read_fields(weights="who"))[:13], "--weights: co"),
        (
            lambda: tell_refusal(lambda: read_fields(group=["who", "empty"])),
            "--group: column 'empty' has no value in any row",
        ),
        # The same words as the labels are not kept, nor those of a target of numbers.
        (lambda: keep_words([0, 1], ["0", "1"]), {}),
        (lambda: keep_words([0, 1, 0], ["no", "yes", "no"]), {"class_name": ["no", "yes", "no"]}),
        (lambda: keep_words(np.arange(101.0), np.arange(101).astype(str)), {}),
        (lambda: len(keep_words(np.arange(100.0), np.arange(100).astype(str))), 1),
        (
            lambda: len(keep_words(np.arange(101.0).repeat(2), np.arange(101).repeat(2))),
            1,
        ),
        (
            lambda: _inputs._list_feature_columns(
                options(members="who", group_by="X", weights="weight", drop=["empty"]), frame
            ),
            ["age", "bad", "2nd%"],
        ),
        (
            lambda: tell_refusal(
                lambda: _inputs._check_weights_option(options(weights="w"), DBSCAN())
            ),
            None,
        ),
        (
            lambda: tell_refusal(
                lambda: _inputs._check_weights_option(options(weights="w"), GaussianProcess())
            ),
            "--weights: fit of GaussianProcessClassifier takes no sample weights",
        ),
        (lambda: _inputs._check_weights_option(options(), GaussianProcess()), None),
    ],
    _labels: [
        (
            lambda: _labels.show_labels("abcdefghi"),
            "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 1 more",
        ),
        # A label stands for the class that is named for it, or for the one of its own name.
        (lambda: map_labels(["x", "y", "x"], {"x": "b"}), ["b", "y", "b"]),
        (
            lambda: tell_refusal(lambda: map_labels(["x", None, None, "y"], {"x": "b"})),
            "--target: column 't' has no value in 2 of 4 rows",
        ),
        (
            lambda: tell_refusal(lambda: map_labels(["y", "a"], {"y": "b", "x": "b"})),
            "--label-map: column 't' has no label 'x'; it has 'a' and 'y'",
        ),
        (
            lambda: tell_refusal(lambda: map_labels(["y", "x", "z"], {"x": "c"})),
            "--label-map: 'c' is not a class of the model, which has 'a', 'b' and 'y'",
        ),
        (
            lambda: tell_refusal(lambda: map_labels(["y", "z"], {}))[:40],
            "--label-map: 'z' is not a class of the m",
        ),
        (
            lambda: _labels.propose_classes(array([0, 1]), array(["x", "x"]), ["x", "y"])[:9],
            "--classes",
        ),
        # Words in the order of the labels that the model gives for them, and not in their own.
        (
            lambda: _labels.propose_classes(
                array(["yes", "no"] * 200), array(["0", "1"] * 200), ["0", "1"]
            )[:67],
            "give --classes yes no, with which the model is right on 100% of the",
        ),
    ],
    _other_objects: [
        (
            lambda: _other_objects._tell_module("sklearn.gone"),
            "needs the module 'sklearn.gone', which is not importable here: install the version of "
            "scikit-learn with which the model was saved",
        ),
        (
            lambda: _other_objects._tell_module("imblearn_gone.over"),
            "needs the module 'imblearn_gone.over', which is not importable here: if it is a "
            "package, pip install imblearn_gone; if it is a file of yours, name its folder: "
            "PYTHONPATH=FOLDER skmia ...",
        ),
        (lambda: _other_objects._tell_object(None), "nothing (None)"),
        (
            lambda: _other_objects._tell_object(LogisticRegression),
            "the class LogisticRegression; save a fitted model of it",
        ),
        (lambda: _other_objects._tell_object(frame), "a table, not a model"),
        (lambda: _other_objects._tell_object(array([1.0])), "an array, not a model"),
        (lambda: tell_foreign("statsmodels.a"), "a result of statsmod"),
        (lambda: tell_foreign("xgboost.core"), "a Thing of xgboost w"),
        (lambda: tell_foreign("lightgbm.basic"), "a Thing of lightgbm "),
        (lambda: tell_foreign("catboost"), "a Thing of catboost "),
        (lambda: tell_foreign("torch.nn"), "a torch net (Thing);"),
        (lambda: tell_foreign("keras.models"), "a Keras model (Thing"),
        (lambda: tell_foreign("tensorflow"), "a Keras model (Thing"),
        (lambda: tell_foreign("mine", __call__=len), "a function (Thing); "),
        (lambda: tell_foreign("mine", __call__=len, predict=1), "a Thing of mine, whi"),
        (lambda: tell_foreign("mine"), "a Thing of mine, whi"),
        (lambda: _other_objects._tell_object(LogisticRegression()), None),
        (lambda: _other_objects._name_origin(len), ("builtins", "len")),
        (
            lambda: _other_objects._name_origin(Foreign("a.b", "ResultWrapper").value),
            ("a", "Result"),
        ),
        (lambda: _other_objects._tell_container([]), "a list (nothing); save a model alone"),
        (
            lambda: _other_objects._tell_container({"m": LogisticRegression(), "n": 3}),
            "a dict ('m': LogisticRegression and 'n': int); save its model alone: "
            "joblib.dump(saved['m'], 'model.joblib')",
        ),
        (
            lambda: _other_objects._tell_container((StandardScaler(), LogisticRegression())),
            "a tuple (StandardScaler and LogisticRegression); save its model alone: "
            "joblib.dump(saved[1], 'model.joblib'), or a Pipeline of StandardScaler and the model, "
            "if they belong together",
        ),
        (
            lambda: _other_objects._tell_container([LogisticRegression(), LogisticRegression()])[
                -18:
            ],
            "save a model alone",
        ),
        (
            lambda: _other_objects.describe_kind(make_pipeline(StandardScaler(), KMeans())),
            "a Pipeline that ends in KMeans; save one that ends in the classifier or regressor",
        ),
        (
            lambda: _other_objects.describe_kind(IsolationForest()),
            "an IsolationForest, which detects outliers; membership attacks on it are not "
            "supported",
        ),
        (
            lambda: _other_objects.describe_kind(DBSCAN()),
            "a DBSCAN, which finds clusters; membership attacks on it are not supported",
        ),
        (
            lambda: _other_objects.describe_kind(StandardScaler()),
            "a StandardScaler, which transforms; save the model behind it, in one Pipeline with it",
        ),
        (lambda: _other_objects.describe_kind(Voters()), "a Voters"),
        (
            lambda: _other_objects.describe_kind(
                GridSearchCV(forest, {"max_depth": [1]}, refit=False, cv=2).fit(
                    np.eye(4), [0, 1, 0, 1]
                )
            )[:41],
            "a GridSearchCV without a best model, as w",
        ),
    ],
    _table: [
        (lambda: _table._read_keys(["id"]), "id"),
        (lambda: _table._read_keys(["a=id", "b=person"]), {"a": "id", "b": "person"}),
        (lambda: _table._read_keys(["a=id"]), {"a": "id"}),
        *(
            (
                lambda word=word: tell_refusal(lambda: _table._read_keys(["a=id", word])),
                f"--keys: must be a column or TABLE=COLUMN; got {word!r}",
            )
            for word in ("b", "=id", "b=")
        ),
        (
            lambda: _table._choose_table_identifiers(tables, NS(person="pid", keep=["id"])),
            ["code"],
        ),
        (
            lambda: _table._choose_table_identifiers(tables, NS(person=None, keep=["code"])),
            ["id", "pid"],
        ),
        (lambda: _table._check_inferred_limits([NS(secret=None), NS(secret="a")], ["a"]), None),
        (
            lambda: tell_refusal(
                lambda: _table._check_inferred_limits([NS(secret="a"), NS(secret="b")], ["a"])
            ),
            "--fail-above: 'b' is not inferred; see --secrets",
        ),
    ],
    _model_input: [
        (lambda: match(["a b", "c"], ["C", "A_B"]), ["A_B", "C"]),
        (lambda: match(["a b", "c"], ["c", "C", "A_B"]), ["A_B", "c"]),
        # Two columns may be the feature, so that neither is.
        (lambda: match(["a b"], ["A_B", "ab"]), ["a b"]),
        (lambda: match(["a"], ["b"]), ["a"]),
        (lambda: _model_input.match_features(NS(), ["a"]), None),
        # The form with the fewest unknown values, and of equals the first.
        (lambda: align(["1", "2"], [1, 2]), [1, 2]),
        (lambda: align([1.0, 2.0], ["1", "2"]), ["1", "2"]),
        (lambda: align(["true", "FALSE"], [True, False]), [True, False]),
        (lambda: align(["a", "9"], [1, "a"]), ["a", "9"]),
        (lambda: align(["3", "4"], [1, 2]), ["3", "4"]),
        (lambda: align(["a", None], ["a", None], has_none=True), ["a", None]),
        (lambda: align([1.0, 2.5], None, kind=_model_input.TEXT), ["1", "2.5"]),
        (lambda: align([1.0, 2.5], None, kind=_model_input.NUMBER), [1.0, 2.5]),
        (lambda: _model_input._as_bools(pd.Series(["True", None])).tolist(), [True, nan]),
        (
            lambda: _model_input._as_model_numbers(pd.Series(["1", None, "x"])).tolist(),
            ["1", nan, "x"],
        ),
        (lambda: _model_input._as_model_numbers(pd.Series(["1", None])).tolist(), [1.0, nan]),
        (
            lambda: tell_refusal(
                lambda: _model_input._refuse_text(
                    pd.Series(["1", "x", None, "x"], name="c"), KnownColumn(part="Tree")
                )
            ),
            "column 'c': the model (Tree) takes numbers there, and 2 of 3 values are none, as 'x'; "
            "if it stands for a missing one, give --read na_values.c=x",
        ),
        (
            lambda: tell_refusal(
                lambda: _model_input._refuse_text(
                    pd.Series(["z", "x", "x", "w"], name="c"), KnownColumn(part="Tree")
                )
            )[:95],
            "column 'c': the model (Tree) takes numbers there, and all values are none, as 'x' and "
            "'z'; give",
        ),
        (
            lambda: tell_refusal(
                lambda: _model_input._refuse_text(
                    pd.Series(pd.to_datetime(["2020-01-01"]), name="c"), KnownColumn()
                )
            )[:31],
            "column 'c' holds dates or times",
        ),
    ],
    _parser: [
        (
            lambda: _parser._write_differing_options(
                "table", {"synthetic": "-a.csv", "real": "b.csv", "seed": 0}
            ),
            "skmia table ./-a.csv b.csv",
        ),
        (
            lambda: _parser._write_differing_options("audit", {"seed": 3, "drop": ["a b", "c"]}),
            "skmia audit --seed 3 --drop 'a b' c",
        ),
        (
            lambda: _parser._write_differing_options("audit", {"no_batching": True, "drop": []}),
            "skmia audit --no-batching",
        ),
        (
            lambda: _parser._write_differing_options("audit", {"drop": ["a", "-b"]}),
            "skmia audit --drop=a --drop=-b",
        ),
        (lambda: _parser._as_setting([Path("a/b.csv"), 3]), ["b.csv", 3]),
        (lambda: _parser._as_setting("a/b.csv"), "a/b.csv"),
        (lambda: _parser._as_setting(__file__), "test_cli_parts_by_hand.py"),
        (lambda: "--debug" in _parser.list_options("audit"), True),
        (lambda: [one for one in _parser.list_options("table") if one[0] != "-"], []),
        (lambda: [*_parser.list_places("table")], ["synthetic", "real", "files"]),
    ],
    _reading: [
        # Columns without a name that hold names of rows, or nothing at all.
        (
            lambda: leave_out({"Unnamed: 0": [4, 5, 6], "a": [1, 1, 2]}),
            (["a"], ["the first column has no name and "], 0),
        ),
        (
            lambda: leave_out({"a": [1, 2], "Unnamed: 1": [nan, ""], "Unnamed: 2": [nan, "x"]}),
            (["a", "Unnamed: 2"], ["1 column without name and values "], 0),
        ),
        (
            lambda: leave_out({"a": [1], "Unnamed: 1": [nan], "Unnamed: 2": [""]}),
            (["a"], ["2 columns without name and values"], 0),
        ),
        (
            lambda: leave_out({"a": [1], "Unnamed: 1": [nan]}, ["Unnamed: 1"])[0],
            ["a", "Unnamed: 1"],
        ),
        (lambda: leave_out({"Unnamed: 0": [4, 5], "a": [1, 2]}, ["Unnamed: 0"])[1], []),
        (lambda: leave_out({"Unnamed: 0": [4, 5], "a": [1, 2]}, index_col="false")[1], []),
        (lambda: leave_out({"Unnamed: 0": ["x", "x"], "a": [1, 2]})[2], 1),
        (lambda: leave_out({"Unnamed: 0": ["x", "x"], "a": [1, 2]}, index_col="0")[2], 0),
        (lambda: leave_out({"Unnamed: 0": [4, 5]})[2], 1),
        (lambda: _reading._describe_index(pd.Series([1, 2, 3])), "counts the rows"),
        (lambda: _reading._describe_index(pd.Series([7, 1, 9])), "counts the rows"),
        (lambda: _reading._describe_index(pd.Series([1, 1, 3])), None),
        (lambda: _reading._describe_index(pd.Series([0.5, 1.5])), None),
        (lambda: _reading._describe_index(pd.Series(["a", None])), None),
        (
            lambda: _reading._describe_index(pd.Series(["a", "b"])),
            "holds another value in each row",
        ),
        (lambda: _reading._describe_index(pd.Series(["a", "a"])), None),
        (lambda: _reading._can_be_thousands(["1.234", "56", "NA"]), True),
        (lambda: _reading._can_be_thousands(["1.234", "5.6"]), False),
        (lambda: _reading._can_be_thousands(["1234", "56"]), False),
        (lambda: _reading.suggest_columns("agee", ["age", "sex"]), "did you mean 'age'?"),
        (lambda: _reading.suggest_columns("zzz", ["a", "b"]), "the columns are 'a', 'b'"),
    ],
    _policy: [
        (lambda: _policy.read_policy(None, "service"), None),
        (lambda: read_policy("service"), {"service"}),
        (
            lambda: tell_refusal(lambda: read_policy("file")),
            "--policy: house has no limits for a file (see --release)",
        ),
        (
            lambda: tell_refusal(lambda: _policy.read_policy("no such", "file"))[:10],
            "--policy: ",
        ),
        (lambda: _policy.as_finding(recommended), ("file", "policy house", 0, "", None, True)),
        (
            lambda: _policy.as_finding(NS(**vars(recommended) | {"result": "cannot be said"})),
            ("file", "policy house", 4, "the policy house says: cannot be said", None, True),
        ),
        (
            lambda: _policy.as_finding(NS(**vars(recommended) | {"result": "do not release"})),
            ("file", "policy house", 1, "the policy house says: do not release", None, True),
        ),
    ],
}


# -- numbers of models that their packages do not check


NODE = [("left", int), ("right", int), ("feature_idx", int), ("is_leaf", int)]
NODE += [("is_categorical", int), ("bitset_idx", int), ("value", float)]


def nodes(*rows):
    """Return nodes of a predictor: a split with two leaves, or others."""
    usual = [(1, 2, 1, 0, 1, 0, 0.0), (-1, -1, 9, 1, 1, 9, 1.0), (-1, -1, 9, 1, 1, 9, 2.0)]
    return np.array([*rows] or usual, dtype=NODE)


LEAF = (-1, -1, 9, 1, 0, 0, 1.0)


def check_predictor(*rows, raw=(1, 8), binned=(1, 8)):
    sets = {"raw_left_cat_bitsets": np.zeros(raw), "binned_left_cat_bitsets": np.zeros(binned)}
    return require(_damaged_models._expect_predictor(NS(nodes=nodes(*rows), **sets)))


def check_boosting(*rows, is_categorical=(False, True, False), n_edges=3, n_features=3):
    parts = {
        "read_categories_of_boosting": lambda model: (array(is_categorical), [0] * n_edges),
        "read_trees_of_boosting": lambda model: [NS(nodes=nodes(*rows))],
    }
    with mock.patch.multiple(_damaged_models, **parts):
        return require(_damaged_models._expect_boosting(NS(n_features_in_=n_features)))


REGRESSION = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.5, 1.5])
OF_TWO = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [[0.5, 1.0], [1.5, 2.0]])
CLASSES = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])


def check_stages(stages=((REGRESSION,),), classes=None, n_trees=1, init=None):
    model = NS(estimators_=array(stages, dtype=object), n_trees_per_iteration_=n_trees)
    if classes is not None:
        model.classes_, model.init_ = range(classes), NS() if init is None else NS(classes_=init)
    with mock.patch.object(_damaged_models, "is_classifier", lambda model: classes is not None):
        return require(_damaged_models._expect_stages(model))


class State:
    def __init__(self, *parts):
        self.parts = parts

    def __getstate__(self):
        return self.parts


def check_binary_tree(order=(1, 0, 2), start=0, end=3, is_leaf=(0, 1, 1), bounds=(2, 3, 2)):
    """Check a tree of three rows of two columns, with a root and two leaves."""
    found = np.zeros(len(is_leaf), dtype=[("idx_start", int), ("idx_end", int), ("is_leaf", int)])
    found["idx_start"], found["idx_end"], found["is_leaf"] = start, end, is_leaf
    parts = np.zeros((3, 2)), array(order), found, np.zeros(bounds), "more"
    return require(_damaged_models._expect_binary_tree(State(*parts)))


def check_svm(counts=(1, 2), rows=1, columns=3, n_intercepts=1, calibration=0, **given):
    """Check a machine of two classes with three vectors of two columns."""
    usual = {"support_vectors_": np.zeros((3, 2)), "kernel": "rbf", "support_": [4, 0, 2]}
    usual |= {"shape_fit_": (5, 2), "classes_": ["a", "b"]}
    found = NS(coefficients=np.zeros((rows, columns)), counts=array(counts))
    found.intercepts, found.calibrations = [0.0] * n_intercepts, [[], [0.0] * calibration]
    with mock.patch.object(_damaged_models, "read_support_vectors", lambda model: found):
        return require(_damaged_models._expect_svm(NS(**usual | given)))


def check_tree(**changed):
    """Check the state of a tree of three nodes."""
    state = REGRESSION.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    for name, value in changed.items():
        if name in ("node_count", "values"):
            state[name] = value
        elif name != "n_features":
            state["nodes"][name] = value
    tree = NS(__getstate__=lambda: state, n_features=changed.get("n_features", 1))
    return require(_damaged_models._expect_tree(tree))


def check_categories(mapping, n_columns=3):
    pairs = [([0, 1], 2), (mapping, n_columns)]
    with mock.patch.object(_damaged_models, "read_infrequent_categories", lambda model: pairs):
        return require(_damaged_models._expect_categories(None))


def check_file(name, stored, tmp_path):
    path = tmp_path / name
    path.write_text(json.dumps(stored), "utf-8")
    given = {
        "_expect_xgboost_document": lambda learner: [learner < 2],
        "_expect_catboost_document": lambda stored: [stored["features_info"] < 2],
    }
    with mock.patch.multiple(_damaged_models, **given):
        return tell_refusal(lambda: _damaged_models.check_booster_file(path)) is None


COLUMN = {"kernel": "precomputed", "shape_fit_": (5, 5)}
THREE = {"classes_": list("abc"), "counts": (1, 1, 1), "rows": 2, "n_intercepts": 3}
DAMAGES = [
    (lambda: check_predictor(), True),
    (lambda: check_predictor(LEAF), True),
    (lambda: check_predictor((1, 2, 1, 0, 1, 1, 0.0), LEAF, LEAF), False),
    (lambda: check_predictor((1, 2, 1, 0, 1, 1, 0.0), LEAF, LEAF, raw=(2, 8), binned=(2, 8)), True),
    (lambda: check_predictor((1, 2, 1, 0, 1, 1, 0.0), LEAF, LEAF, raw=(2, 8)), False),
    (lambda: check_predictor((1, 2, 1, 0, 0, 1, 0.0), LEAF, LEAF), True),
    (lambda: check_predictor((1, 1, -1, 0, 0, 0, 0.0), LEAF), False),
    (lambda: check_predictor((0, 1, 1, 0, 0, 0, 0.0), LEAF), False),
    (lambda: check_predictor((1, 2, 1, 0, 0, 0, 0.0), LEAF), False),
    (lambda: check_predictor((-1, -1, 9, 1, 0, 0, nan)), False),
    (lambda: check_predictor((1, 2, 1, 0, 0, 0, 0.0), LEAF, LEAF[:-1] + (nan,)), False),
    (lambda: check_predictor(raw=(1, 7)), False),
    (lambda: check_predictor(binned=(8,)), False),
    (lambda: check_boosting((1, 2, 1, 0, 1, 0, 0.0), (-1, -1, 0, 1, 1, 0, 1.0)), True),
    (lambda: check_boosting((1, 2, 3, 0, 0, 0, 0.0)), False),
    (lambda: check_boosting((1, 2, 2, 0, 0, 0, 0.0)), True),
    (lambda: check_boosting((1, 2, 2, 0, 1, 0, 0.0)), False),
    (lambda: check_boosting((1, 2, 2, 1, 1, 0, 0.0)), True),
    (lambda: check_boosting(LEAF[:2] + (0,) + LEAF[3:], n_edges=2), False),
    (lambda: check_boosting(LEAF[:2] + (0,) + LEAF[3:], n_features=4), False),
    (lambda: check_stages(), True),
    (lambda: check_stages(classes=2), True),
    (lambda: check_stages(classes=2, init=range(3)), False),
    (lambda: check_stages(classes=2, init=range(2)), True),
    (lambda: check_stages([[REGRESSION] * 3], classes=3, n_trees=3), True),
    (lambda: check_stages([[REGRESSION] * 3], classes=3), False),
    (lambda: check_stages([[REGRESSION]], classes=3, n_trees=3), False),
    (lambda: check_stages([[REGRESSION] * 2], classes=2, n_trees=2), False),
    (lambda: check_stages([REGRESSION]), False),
    (lambda: check_stages([[REGRESSION], [CLASSES]]), False),
    (lambda: check_stages([[REGRESSION], [OF_TWO]]), False),
    (lambda: check_stages([[REGRESSION], [Ridge()]]), False),
    (lambda: check_binary_tree(), True),
    (lambda: check_binary_tree(order=(1, 0)), False),
    (lambda: check_binary_tree(order=(1, 0, 1)), False),
    (lambda: check_binary_tree(start=-1), False),
    (lambda: check_binary_tree(start=3), True),
    (lambda: check_binary_tree(start=2, end=1), False),
    (lambda: check_binary_tree(end=4), False),
    (lambda: check_binary_tree(is_leaf=(0, 1, 0)), False),
    (lambda: check_binary_tree(is_leaf=(0, 1), bounds=(2, 2, 2)), False),
    (lambda: check_binary_tree(bounds=(2, 2, 2)), False),
    (lambda: check_binary_tree(bounds=(2, 3, 3)), False),
    (lambda: check_svm(), True),
    (lambda: check_svm(counts=(-1, 4)), False),
    (lambda: check_svm(counts=(0, 3)), True),
    (lambda: check_svm(counts=(1, 1)), False),
    (lambda: check_svm(counts=(1, 1, 1)), False),
    (lambda: check_svm(columns=2), False),
    (lambda: check_svm(rows=2), False),
    (lambda: check_svm(rows=0, classes_=["a"]), False),
    (lambda: check_svm(counts=(9,), n_intercepts=7, classes_=["a"]), True),
    (lambda: check_svm(shape_fit_=(5, 3)), False),
    (lambda: check_svm(n_intercepts=2), False),
    (lambda: check_svm(calibration=1), True),
    (lambda: check_svm(calibration=2), False),
    (lambda: check_svm(**THREE), True),
    (lambda: check_svm(**THREE | {"n_intercepts": 2}), False),
    (lambda: check_svm(**THREE, calibration=3), True),
    (lambda: check_svm(support_=[0, 1]), False),
    (lambda: check_svm(support_=[]), True),
    (lambda: check_svm(**COLUMN), True),
    (lambda: check_svm(**COLUMN | {"support_": [5, 0, 2]}), False),
    (lambda: check_svm(**COLUMN | {"support_": [-1, 0, 2]}), False),
    (lambda: check_svm(**COLUMN | {"shape_fit_": (5, 6)}), False),
    (lambda: check_svm(**COLUMN | {"support_": [0, 2]}), False),
    (lambda: check_tree(), True),
    (lambda: check_tree(node_count=2), False),
    (lambda: check_tree(values=np.zeros((2, 1, 1))), False),
    (lambda: check_tree(values=array([1.0, nan, 2.0])[:, None, None]), False),
    (lambda: check_tree(n_features=0), False),
    (lambda: check_tree(left_child=[1, -1, -1], right_child=[2, -1, 1]), False),
    (lambda: require(_damaged_models._expect_owner(NS())), True),
    (
        lambda: [
            require(_damaged_models._expect_owner(NS(tree_=NS(n_features=n), n_features_in_=3)))
            for n in (2, 3)
        ],
        [False, True],
    ),
    (lambda: check_categories([0, 2]), True),
    (lambda: check_categories([0, 3]), False),
    (lambda: check_categories([-1, 2]), False),
    (lambda: check_categories([0.0, 2.0]), False),
    (lambda: check_categories(np.zeros(0, dtype=int)), True),
    (lambda: require(_damaged_models._expect_function(partial(check_array, dtype=float))), True),
    (lambda: require(_damaged_models._expect_function(partial(check_array, 3))), False),
    (lambda: require(_damaged_models._expect_function(partial(print, sep=""))), False),
    (lambda: require(_damaged_models._expect_function(partial(check_array, a=1, dtype=""))), False),
    (lambda: require(_damaged_models._expect_sparse(csr_array(np.eye(2))) or ()), True),
    (lambda: require(_damaged_models._expect_sparse(NS())), False),
]


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize(
    ("recipe", "model", "batching", "estimator", "batched"),
    [
        ("recipe", None, False, "recipe", "auto"),
        ("recipe", "model", True, "recipe", False),
        (None, "model", False, None, "auto"),
        (None, None, False, "victim", "auto"),
    ],
)
def test_conditions_are_measured_as_the_audit_was_run(
    monkeypatch, recipe, model, batching, estimator, batched
):
    calls = []
    monkeypatch.setattr(_policy, "enter_stage", lambda stage: None)
    monkeypatch.setattr(
        _policy, "measure_conditions", lambda *args, **kwargs: calls.append((args, kwargs)) or [1]
    )
    assert measure_conditions(recipe, model, batching=batching) == ([1], [], [])
    wanted = dict(estimator=estimator, fit_params={"a": 1}, batched=batched, n_jobs=2, verbose=1)
    assert calls == [(("audit", model, 5), wanted | {"release": "service"})]


def test_conditions_that_are_not_measured_are_a_note_or_a_fault(monkeypatch):
    monkeypatch.setattr(_policy, "enter_stage", lambda stage: None)
    told = [_policy._NONE_KNOWN]
    with monkeypatch.context() as context:
        context.setattr(_policy, "_tell_unmeasured", lambda *given: given)
        asked = measure_conditions("recipe", "model", measure=False)
        assert asked == ([], [("audit", "recipe", "service")], [])
        assert measure_conditions(None, "model", measure=False)[1][0][1] == "model"
        assert measure_conditions(None, None, measure=False)[1][0][1] == "victim"
    monkeypatch.setattr(_policy, "measure_conditions", lambda *_, **__: [])
    assert measure_conditions() == ([], told, [])
    monkeypatch.setattr(_policy, "measure_conditions", lambda *_, **__: 1 / 0)
    found, notes, faults = measure_conditions()
    assert (found, notes, len(faults)) == ([], [], 1)
    assert faults[0].startswith("conditions of a release could not be measured: ")


@pytest.mark.parametrize(
    ("task", "n_shadows", "file", "trained", "release", "told"),
    [
        ("classification", 4, "f", forest, "service", "rounded answers and labels alone are"),
        ("classification", 4, "f", service, "service", None),
        ("classification", 0, "f", forest, "service", None),
        ("regression", 4, "f", forest, "service", None),
        ("regression", 4, "f", forest, "file", "a stripped file and a service in its place are"),
        ("classification", 4, None, service, "file", "a service in its place is"),
    ],
)
def test_a_note_names_only_conditions_that_would_be_measured(
    task, n_shadows, file, trained, release, told
):
    result = NS(task=task, settings={"n_shadows": n_shadows}, file=file)
    found = _policy._tell_unmeasured(result, trained, release)
    none = "No condition of a release could be measured on this model."
    some = f"No condition of a release was measured; with --measure-conditions, {told}."
    assert found == (none if told is None else some)


def test_each_file_of_a_command_has_its_hash_without_its_folder(tmp_path):
    (tmp_path / "saved" / "inner").mkdir(parents=True)
    (tmp_path / "saved" / "inner" / "a.bin").write_bytes(b"a")
    (tmp_path / "table.csv").write_bytes(b"b")
    arguments = _parser.make_parser().parse_args(
        ["audit", "--data", str(tmp_path / "table.csv"), "--model", str(tmp_path / "saved")]
    )
    origin = _policy.describe_command_origin(arguments, ("data", "model", "answers"))
    assert origin == {
        "command": "skmia audit --data table.csv --model saved",
        "sha256 of table.csv": sha256(b"b").hexdigest(),
        "sha256 of saved/inner/a.bin": sha256(b"a").hexdigest(),
    }


def test_tables_of_persons_are_files_of_a_folder_by_their_names(tmp_path):
    for name in ("visits.csv", "people.csv.gz", "notes.txt"):
        (tmp_path / name).write_text("a\n")
    found = _table._list_table_files(tmp_path, "REAL")
    assert found == {"people": tmp_path / "people.csv.gz", "visits": tmp_path / "visits.csv"}
    (tmp_path / "empty").mkdir()
    assert "has no " in tell_refusal(lambda: _table._list_table_files(tmp_path / "empty", "REAL"))
    for name in ("visits.csv", "gone"):
        told = tell_refusal(lambda name=name: _table._list_table_files(tmp_path / name, "REAL"))
        assert told.startswith("REAL: with --keys a folder is needed, with one file for each table")


def test_options_that_differ_are_saved_as_lines_of_toml(tmp_path):
    parse = _parser.make_parser().parse_args
    path = tmp_path / "saved.toml"
    given = ["--seed", "3", "--drop", "a b", "c", "--no-batching", "--dry-run"]
    given += ["--save-config", str(path)]
    _options.save_config(parse(["audit", *given]), parse(["audit"]))
    assert tomllib.loads(path.read_text("utf-8")) == {
        "seed": 3,
        "drop": ["a b", "c"],
        "no-batching": True,
    }


def test_every_option_that_takes_several_values_is_read_back_from_what_is_saved(tmp_path):
    given = {
        "--classes": ["x y", "-1"],
        "--drop": ["a", "b=c"],
        "--fail-above": ["auc=0.6", "tpr@0.1=0.5"],
        "--fpr": ["0.1", "0.01"],
        "--group": ["a,b", "c"],
        "--label-map": ["a=b=1", "c=2"],
        "--provenance": ["purpose=a=b", "recipients=c"],
        "--read": ["sep=;,decimal=,", "dtype.zip=str"],
    }
    several = [option for option in _parser.list_options("audit") if option.startswith("--")]
    several = {option for option in several if _parser.takes_several("audit", option)}
    assert several == set(given)
    parse = _parser.make_parser().parse_args
    path = tmp_path / "saved.toml"
    words = [f"{option}={value}" for option, values in given.items() for value in values]
    arguments = parse(["audit", *words, f"--save-config={path}", "--memory-limit=2e16"])
    _options.save_config(arguments, parse(["audit"]))
    again = vars(parse(_options.read_config(["audit", "--config", str(path)])))
    assert again == vars(arguments) | {"save_config": None}
    assert again["fpr"] == [0.1, 0.01] and len(again["read"]) == 2


@pytest.mark.parametrize(
    "saved",
    [
        '[read]\nsep = ";"\ndecimal = ","\nna_values = "?"\n[read.dtype]\nzip = "str"\n',
        'read = ["sep=;,decimal=,", "na_values=?", "dtype.zip=str"]\n',
    ],
    ids=["table", "list"],
)
def test_words_of_reading_replace_those_of_a_file_of_options_one_by_one(saved, tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(f"seed = 2\n{saved}")
    words = ["audit", "--config", str(path), "--seed=3", "--read", "decimal=.", "na_values=-"]
    arguments = _parser.make_parser().parse_args(_options.read_config(words))
    assert arguments.seed == 3
    given, of_columns = _reading.make_reading(arguments).of_file("--data")
    assert given == {"sep": ";", "decimal": "."}
    assert of_columns == {"na_values": {None: ["?", "-"]}, "dtype": {"zip": "str"}}


def test_several_values_of_one_in_a_file_of_options_are_refused(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text("seed = [1, 2]\n")
    told = tell_refusal(lambda: _options.read_config(["audit", f"--config={path}"]))
    assert told == "--config: seed must be one value; got 2"
    path.write_text("seed = [2]\n")
    assert _options.read_config(["audit", f"--config={path}"]) == ["audit", "--seed=2"]


def test_numbers_that_contradict_each_other_are_refused():
    expect_answers(DAMAGES)


def test_files_of_boosters_are_checked_by_what_is_in_them(tmp_path):
    check = partial(check_file, tmp_path=tmp_path)
    assert check("a.json", {"learner": 1}) and not check("a.json", {"learner": 2})
    assert check("a.json", {"features_info": 1}) and not check("a.json", {"features_info": 2})
    assert check("a.json", {"else": 2}) and check("a.ubj", {"learner": 2})


# -- victims that are trained here, words of options, and signals


def train_victim(membership=None, task="classification", numbered=False):
    """Return the notes on a victim, what it was trained on, and how its members were drawn."""
    model, drawn = NS(fitted=None), []
    recipe = NS(estimator=model, task=task, X=np.eye(4), y=array([0, 1, 0, 1]), labels={})

    def draw(records, is_classification, seed):
        drawn.append((is_classification, seed))
        return array([True, False, True, False])

    def fit(model, X, y, weights):
        model.fitted = X.argmax(axis=1).tolist(), y.tolist(), weights
        return model

    ticks = iter([3.0, 7.5])
    parts = {
        "_make_recipe": lambda arguments, frame, features: recipe,
        "_describe_task": lambda recipe, arguments: "task",
        "_draw_members": draw,
        "needs_numbered_labels": lambda name, task: numbered,
        "_train_net": lambda estimator, records, membership, arguments: membership.tolist(),
        "shape_targets": lambda model, X, y, is_column: 10 * y + is_column,
        "fit_weighted": fit,
        "weights_for": lambda model, members: len(members),
        "time": NS(perf_counter=lambda: next(ticks)),
    }
    with mock.patch.multiple(_inputs, **parts):
        arguments = NS(seed=5, estimator="forest")
        found = _inputs._train_victim(arguments, frame, [], {}, membership)
    fitted = found.victim if numbered else found.victim.fitted
    return found.notes, fitted, drawn, found.seconds


def spell_option(word, options=("--fpr", "--seed", "--time-limit")):
    aliases = {"--fpr": "--rates --max-fpr", "--gone": "--lost", "--seed=0": "--no-seed --zero"}
    with mock.patch.object(_spelling, "_ALIASES", aliases):
        return _spelling._spell_option(word, options)


def tell_choice(message):
    with mock.patch.object(_parser, "find_meant", lambda word, names, synonyms: [word, *names]):
        return tell_refusal(lambda: _parser._CommandParser().error(message))


def can_answer(error=None):
    with mock.patch.object(_model_input, "query_victim", side_effect=error) as asked:
        found = _model_input._can_answer("model", "X")
    asked.assert_called_once_with("model", "X")
    return found


def check_command(*words):
    told = tell_refusal(lambda: _spelling._check_command([*words]))
    return told and told.partition("); ")[2]


def take_words(argv=None):
    with (
        mock.patch.object(_main, "_main", lambda words: words),
        mock.patch.object(_main.sys, "argv", ["skmia", "policy", "cautious"]),
    ):
        return _main.main(argv)


VICTIM = [
    (lambda: [take_words(), take_words(("audit",))], [["policy", "cautious"], ["audit"]]),
    (
        lambda: [_write_page.describe_page(one) for one in (None, Path("a.html"))],
        ["A page of this: --out FILE.html", "written: a.html"],
    ),
    (lambda: [check_command("audit"), check_command("--version")], [None, None]),
    (lambda: check_command("adit"), "did you mean 'skmia audit'?"),
    (lambda: check_command("Diff"), "did you mean 'skmia compare'?"),
    (lambda: check_command("zzzz"), "skmia --help lists them"),
    (
        lambda: check_command("a.csv", "b c"),
        "a command comes first, as in 'skmia audit a.csv 'b c''",
    ),
    (lambda: check_command("help"), "did you mean 'skmia --help'?"),
    (lambda: [can_answer(), can_answer(KeyError("a"))], [True, False]),
    (
        lambda: train_victim(),
        (
            ["task", "The members are a random half of the rows (--members names others)."],
            ([0, 2], [0, 0], 2),
            [(True, 5)],
            4.5,
        ),
    ),
    (lambda: train_victim(task="regression")[2], [(False, 5)]),
    (
        lambda: train_victim(array([False, True, True, True])),
        (["task"], ([1, 2, 3], [10, 0, 10], 3), [], 4.5),
    ),
    (lambda: train_victim(numbered=True)[1::2], ([True, False, True, False], None)),
    # Options of other tools, by all of a word or by what stands before its value.
    (lambda: spell_option("--rates=0.1"), "--fpr=0.1"),
    (lambda: spell_option("--max-fpr"), "--fpr"),
    (lambda: spell_option("--lost"), "--lost"),
    (lambda: spell_option("--no-seed"), "--seed=0"),
    (lambda: spell_option("--zero=3"), "--seed=0=3"),
    (lambda: spell_option("rates"), "rates"),
    (lambda: spell_option("--seed"), "--seed"),
    (lambda: spell_option("--timelimit=3"), "--time-limit=3"),
    (lambda: spell_option("--Fpr"), "--fpr"),
    (lambda: spell_option("--se", ["--s-e", "--s_e"]), "--se"),
    (lambda: spell_option("-a", ["--a"]), "-a"),
    (
        lambda: tell_choice("argument A: invalid choice: 'b' (choose from 'x', 'y')"),
        "argument A: invalid choice: 'b' (choose from 'x', 'y'); did you mean 'b' or 'x' or 'y'?",
    ),
    (lambda: tell_choice("another"), "another"),
    (
        lambda: _table._choose_table_identifiers(tables, NS(person=["pid"], keep=["code"])),
        ["id"],
    ),
    (
        lambda: _table._choose_table_identifiers(
            {"real": tables["real"], "synthetic": tables["synthetic"].drop(columns="code")},
            NS(person=None, keep=[]),
        ),
        ["id", "pid"],
    ),
]


def take_signals(monkeypatch, usual, pid=7):
    """Return what is done with signals of which some have their usual effect, in a block."""
    told, pids = [], iter([7, pid])
    signals = {"SIGTERM": 15, "SIGHUP": 1, "SIG_DFL": "default"}
    signals["getsignal"] = lambda number: "default" if number in usual else "ignored"
    signals["signal"] = lambda number, action: told.append((number, action))
    signals["raise_signal"] = lambda number: told.append(("raised", number))
    monkeypatch.setattr(_main, "signal", NS(**signals))
    monkeypatch.setattr(_main, "os", NS(getpid=lambda: next(pids)))
    return told


def test_signals_that_end_the_program_interrupt_it_once(monkeypatch):
    told = take_signals(monkeypatch, [15])
    with _main._signals_interrupt():
        ((number, interrupt),) = told
        assert number == 15
        with pytest.raises(KeyboardInterrupt) as caught:
            interrupt(15, None)
        assert caught.value.number == 15
    assert told[1:] == [(15, "default"), (15, "default")]


def test_a_signal_to_a_forked_process_is_raised_there(monkeypatch):
    told = take_signals(monkeypatch, [15, 1], pid=8)
    with _main._signals_interrupt():
        told[1][1](1, None)
        assert told[2:] == [(1, "default"), ("raised", 1)]
    assert told[4:] == [(15, "default"), (1, "default")]


def test_another_thread_leaves_signals_as_they_are(monkeypatch):
    told = take_signals(monkeypatch, [15])
    thread = Thread(target=lambda: told.extend(run_in_block()))
    thread.start()
    thread.join()
    assert told == ["in the block"]


def run_in_block():
    with _main._signals_interrupt():
        return ["in the block"]


def test_letters_that_a_terminal_cannot_write_are_escaped(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    _main._print("sex=\u0434")
    assert stream.buffer.getvalue() == b"sex=\\u0434\n"


def test_one_folder_inside_of_another_is_asked_for(tmp_path):
    assert _stored_documents._ask_for_inner(tmp_path) == "name the file of the audit"
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "audit.json").write_text("{}")
    told = _stored_documents._ask_for_inner(tmp_path)
    assert str(tmp_path / "a") in told and str(tmp_path / "b") in told
    assert str(tmp_path / "c") not in told
    found = _stored_documents.find_document(tmp_path / "a")
    assert found == tmp_path / "a" / "audit.json"
    (tmp_path / "a" / "table.json").write_text("{}")
    told = tell_refusal(lambda: _stored_documents.find_document(tmp_path / "a"))
    assert "holds both audit.json and table.json; name the file of" in told
    told = tell_refusal(lambda: _stored_documents.find_document(tmp_path))
    assert "holds neither audit.json nor table.json; did you mean" in told


def test_documents_of_a_command_have_to_be_there(tmp_path):
    """Without reading them, which takes packages."""
    (tmp_path / "a.json").write_text("{}")
    there, gone = tmp_path / "a.json", tmp_path / "b.json"

    def require(command, **given):
        usual = {"result": there, "first": there, "second": there, "results": [there]}
        arguments = NS(command=command, **usual | given)
        return tell_refusal(lambda: _stored_documents.require_documents(arguments))

    for command in ("report", "decide", "compare", "evidence", "audit"):
        assert require(command) is None
    told = f"{gone}: No such file or directory"
    for command, name in (("report", "result"), ("decide", "result"), ("compare", "first")):
        assert require(command, **{name: gone}).startswith(told)
    assert require("compare", second=gone).startswith(told)
    assert require("evidence", results=[there, gone]).startswith(told)
    assert require("audit", result=gone, first=gone) is None


@pytest.mark.parametrize("out", [None, "out", "out/page.html"])
def test_an_audit_with_a_decision_is_not_written_over(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()

    def keep(command="audit", dry_run=False):
        arguments = NS(command=command, out=out and Path(out), dry_run=dry_run)
        return tell_refusal(lambda: _stored_documents.keep_decision(arguments))

    assert keep() is None
    for name in ("audit.json", "table.json"):
        path = Path(
            "out/page.json" if out == "out/page.html" and name == "audit.json" else f"out/{name}"
        )
        path.write_text('{"recommendation": {"decision": {"decision": "release"}}}')
        refused = out is not None and not (out == "out/page.html" and name == "table.json")
        assert (keep() is None, keep("table") is None) == (not refused, not refused)
        assert not refused or keep().startswith(
            f"--out: {path} has the decision 'release' recorded; "
        )
        assert keep(dry_run=True) is None and keep("inspect") is None
        path.write_text('{"recommendation": null}')
        assert keep() is None
        path.unlink()


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "a.png", "a.txt"])
def test_a_page_is_refused_beside_its_numbers_alone(name, tmp_path):
    path = tmp_path / name
    assert _stored_documents._check_no_page(path) == path
    (tmp_path / "table.json").write_text("{}")
    told = tell_refusal(lambda: _stored_documents._check_no_page(path))
    assert (told is None) == (name == "a.txt")
    (tmp_path / "a.json").write_text("{}")
    told = tell_refusal(lambda: _stored_documents._check_no_page(path))
    assert told is None or told.endswith(str(tmp_path / "a.json"))


def test_victims_and_words_by_hand():
    expect_answers(VICTIM)


def test_documents_are_read_up_to_a_size_as_json(tmp_path, monkeypatch):
    monkeypatch.setattr(_stored_documents, "_MOST_BYTES", 2_000_000)
    path = tmp_path / "a.json"

    def read(content):
        path.write_bytes(content)
        call = lambda: _stored_documents.read_json_document(path)  # noqa: E731
        told = tell_refusal(call)
        return call() if told is None else told.removeprefix(f"{path} ")

    expect_answers(
        [
            (lambda: read(b'{"a": 1}'), {"a": 1}),
            (lambda: len(read(b'"' + b"x" * 1_999_998 + b'"')), 1_999_998),
            (lambda: read(b'"' + b"x" * 1_999_999 + b'"'), "has more than 2 MB, as no audit has"),
            (lambda: read(b'{"a":\n ]'), "is not valid JSON (line 2, column 2)"),
            (lambda: read(b'{"a": NaN}'), "is not valid JSON"),
            (lambda: read(b"\xff"), "is not valid JSON"),
            (lambda: read(b"[" * 100_000), "is not valid JSON"),
        ]
    )


def test_the_value_of_the_others_is_named():
    table = pd.DataFrame({"m": ["yes", " no ", "yes"]})
    inside = array([True, False, True])
    assert _features_and_target.name_other_value(table, "m", "yes", inside) == "no"
