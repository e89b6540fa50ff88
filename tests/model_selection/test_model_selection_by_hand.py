"""Small functions of scorers and of the power of attacks, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, nan
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records
from skmia.model_selection import (
    RememberTraining,
    _find_training,
    _leakage_scorer,
    _power_curve,
    _remember_training,
    best_below_leakage,
)

X = array([[1.0], [2.0], [2.0], [5.0], [7.0]])
y = array([0, 1, 1, 0, 1])
table = Records(X, y)
# Of five records: those of the test fold and those of the training, of which one is in both.
tested = array([True, True, False, True, False])
trained = array([False, True, True, False, False])
people = table.with_fields(group_by=array(["a", "b", "b", "c", "c"], dtype=object))
people_apart = table.with_fields(group_by=array(["a", "b", "b", "b", "c"], dtype=object))


def choose_nonmembers(records, tested, trained):
    return _leakage_scorer._choose_nonmembers(records, array(tested), array(trained))


def choose_candidate(accuracy, leakage, most=0.25):
    results = {"mean_test_accuracy": array(accuracy), "mean_test_leakage": -array(leakage)}
    return best_below_leakage(most)(results)


def list_subsets(values):
    records = table.with_fields(site=array(values, dtype=object))
    subsets = _power_curve._list_subsets(records, "site")
    return {name: np.flatnonzero(mask) for name, mask in subsets.items()}


def measure(scores, members, judged, rates):
    given = array(scores), array(members, dtype=bool), array(judged, dtype=bool)
    return _power_curve._measure_pseudo_victims(*given, 2.0, rates)


def outputs_of(values, kind="value"):
    classes = None if kind == "value" else [0, 1]
    return Outputs(array(values), classes, kind)


def are_same(*pairs):
    return _find_training._are_same(*(outputs_of(*pair) for pair in pairs))


def divide(scored):
    sides = _find_training._divide_records(table, Records(X[scored], y[scored]))
    return [(one.rows, one.is_larger) for one in sides]


def describe_difference(model, *counts):
    return _find_training._describe_difference(model, 7, *counts)


def compare_leaves(*trees, kind=DecisionTreeClassifier):
    """Compare trees, each with the leaves of five records and the rows that its leaves state."""
    leaves = [NS(places=array(places), counts=counts and array(counts)) for places, counts in trees]
    before = _find_training.iter_leaves
    _find_training.iter_leaves = lambda model, X: (leaves[k] for k in range(len(leaves)))
    try:
        side = _find_training._FoldSide(array([0, 1, 2, 4]), True)
        return _find_training._compare_leaves(kind(), table, side)
    finally:
        _find_training.iter_leaves = before


HALVES = [0, 1, 1, 1, 0]  # of the records 0, 1, 2 and 4 two are in each leaf


def list_rows(labels, fit_params, order=slice(None)):
    return _remember_training._list_trained_rows(GaussianNB(), "fit", X[order], labels, fit_params)


def count_remembered(weights):
    rows = list_rows(y, {"sample_weight": weights})
    return [*np.isin(table.fingerprint, rows)]


def fit_partly(*parts):
    model = RememberTraining(GaussianNB())
    for part in parts:
        model.partial_fit(X[part], y[part], classes=[0, 1])
    return [*np.isin(table.fingerprint, model.training_rows_)]


remembering = RememberTraining(LogisticRegression()).fit(X, y)
scaled = make_pipeline(StandardScaler(), RememberTraining(LogisticRegression())).fit(X, y)
other_by_seed = "a clone that is trained on the 7 records outside of the scored fold, in their "
other_by_seed += "order, without further parameters of fit{}, predicts otherwise"

ANSWERS = {
    _leakage_scorer: [
        # Of a test fold, those that were not trained on; of a training fold, all others.
        (lambda: choose_nonmembers(table, tested, trained), [True, False, False, True, False]),
        (lambda: choose_nonmembers(table, trained, trained), [True, False, False, True, True]),
        # Persons who have a record among the members are left out, without a word of a training
        # score and with one of a test score, which names the first of them.
        (lambda: choose_nonmembers(people, tested, trained), [True, False, False, True, False]),
        (lambda: choose_nonmembers(people_apart, trained, trained), [True, *[False] * 3, True]),
        (
            lambda: tell_refusal(lambda: choose_nonmembers(people_apart, tested, trained)),
            "The folds divide the records of 1 values of group_by, first of 'b'; use folds that "
            "keep them together, such as GroupKFold.",
        ),
        (
            lambda: tell_refusal(lambda: choose_nonmembers(table, [False] * 5, [True] * 5)),
            "The model was trained on all records that could be non-members; non-members are "
            "missing.",
        ),
        # The limit itself is allowed, the first of equals is chosen, and a loss of accuracy is
        # paid where the best candidate leaks.
        (lambda: choose_candidate([0.5, 0.75, 0.875], [0.0, 0.25, 0.375]), 1),
        (lambda: choose_candidate([0.5, 0.75, 0.75], [0.0, 0.125, 0.0]), 1),
        (lambda: choose_candidate([-4.0, -2.0, -3.0], [0.0, 0.5, 0.125]), 2),
        (lambda: choose_candidate([0.5, 0.75], [-0.5, 0.375]), 0),
        (
            lambda: tell_refusal(lambda: choose_candidate([0.5, 0.75], [0.5, 0.375])),
            "No candidate leaks at most 0.25; the smallest leakage is 0.375.",
        ),
        (
            lambda: repr(best_below_leakage(1)),
            "best_below_leakage(1, utility='accuracy', leakage='leakage')",
        ),
        (lambda: _leakage_scorer.LeakageScorer(None, None, "auc")._name_metric(), "auc"),
        (lambda: _leakage_scorer.LeakageScorer(None, None, max)._name_metric(), "max"),
    ],
    _power_curve: [
        (lambda: _power_curve._read_models(None, 3), [0, 1, 2]),
        (lambda: _power_curve._read_models([2, 0], 3), [2, 0]),
        (lambda: _power_curve._read_models([False, True, True], 3), [1, 2]),
        *(
            (
                lambda models=models: tell_refusal(lambda: _power_curve._read_models(models, 3)),
                "models must be numbers from 0 to 2, or a mask of 3 models with one at least; got "
                f"{models}.",
            )
            for models in ([-1], [3], [0.5], [], [[1]], [False] * 3, [True] * 2)
        ),
        (lambda: _power_curve._check_fprs((0.5, 0.25)), [0.5, 0.25]),
        (
            lambda: tell_refusal(lambda: _power_curve._check_fprs(0.5)),
            "max_fprs must be a sequence of rates; got 0.5.",
        ),
        (lambda: _power_curve._list_subsets(table, None), {None: slice(None)}),
        (lambda: list_subsets(["n", "s", "n", "n", "s"]), {"n": [0, 2, 3], "s": [1, 4]}),
        (
            lambda: list_subsets(["s", None, "n", "s", None]),
            {"s": [0, 3], "n": [2], "(missing)": [1, 4]},
        ),
        # A value that is the word for no value joins the records that have none.
        (
            lambda: list_subsets(["(missing)", None, "n", "n", "n"]),
            {"(missing)": [0, 1], "n": [2, 3, 4]},
        ),
        # Members 3 and 1, others 2, 0 and 0, and one that is not judged: 5 of 6 pairs are in order,
        # and at the threshold 2 there are 1 of 2 members and 1 of 3 others.
        (
            lambda: measure([3, 1, 2, 0, 0, 9], [1, 1, 0, 0, 0, 1], [1, 1, 1, 1, 1, 0], []),
            {
                "n_members": 2,
                "n_nonmembers": 3,
                "n_unjudged": 1,
                "auc": 5 / 6,
                "advantage": 1 / 6,
            },
        ),
        # Of 40 others, 0 to 39, a rate of .25 allows ten, so that the cut is 29, which equals one
        # of the members; one of .125 allows five, which are too few to resolve.
        (
            lambda: measure([29, 29.5, 5, *range(40)], [1] * 3 + [0] * 40, [1] * 43, [0.25, 0.125]),
            {
                "n_members": 3,
                "n_nonmembers": 40,
                "n_unjudged": 0,
                "auc": (29.5 + 30 + 5.5) / 120,
                "advantage": 1 - 38 / 40,
                "tpr_at_fpr_0.25": 1 / 3,
                "tpr_at_fpr_0.125": nan,
            },
        ),
        (
            lambda: measure([1.0, 2.0], [0, 0], [1, 1], [0.5]),
            {
                "n_members": 0,
                "n_nonmembers": 2,
                "n_unjudged": 0,
                "auc": nan,
                "advantage": nan,
                "tpr_at_fpr_0.5": nan,
            },
        ),
    ],
    _remember_training: [
        # The second and the third record are equal, so that one of them with a weight counts both.
        (lambda: count_remembered([1, 0, 0, 2, 0]), [True, False, False, True, False]),
        (lambda: count_remembered([0, 0, 1, 0, 0]), [False, True, True, False, False]),
        (lambda: count_remembered(None), [True] * 5),
        (lambda: fit_partly([3, 4]), [False] * 3 + [True] * 2),
        (lambda: fit_partly([3, 4], [0, 1]), [True] * 5),
        (lambda: hasattr(RememberTraining(SGDClassifier()), "partial_fit"), True),
        (lambda: hasattr(RememberTraining(LogisticRegression()), "partial_fit"), False),
        (lambda: hasattr(remembering, "fit_predict"), False),
        (lambda: hasattr(remembering, "_private"), False),
        (lambda: remembering.n_features_in_, 1),
        (lambda: RememberTraining(LogisticRegression(C=3)).C, 3),
    ],
    _find_training: [
        # More in a leaf than there are rows cannot be; fewer may have been trained on.
        (lambda: compare_leaves((HALVES, [2, 2])), "equal"),
        (lambda: compare_leaves((HALVES, [2, 1])), "fewer"),
        (lambda: compare_leaves((HALVES, [1, 2])), "fewer"),
        (lambda: compare_leaves((HALVES, [3, 1])), "contradicts"),
        (lambda: compare_leaves((HALVES, [2, 3])), "contradicts"),
        (lambda: compare_leaves((HALVES, [2, 2]), (HALVES, [1, 2])), "fewer"),
        (lambda: compare_leaves((HALVES, [1, 2]), (HALVES, [2, 2])), "fewer"),
        (lambda: compare_leaves((HALVES, [1, 2]), (HALVES, [2, 3])), "contradicts"),
        # A tree without counts, or without a split, says nothing.
        (lambda: compare_leaves((HALVES, None)), None),
        (lambda: compare_leaves((HALVES, None), (HALVES, [2, 2])), "equal"),
        (lambda: compare_leaves(([0, 0, 0, 1, 0], [9, 9])), None),
        (lambda: compare_leaves(([9, 1, 1, 1, 0], [2, 2])), None),  # there is no such leaf
        (lambda: compare_leaves((HALVES, [2, 2]), kind=LogisticRegression), None),
        (lambda: compare_leaves((HALVES, [2, 2]), kind=BaggingClassifier), None),
        # Of two equal records, one is scored: the first, and the other side is the larger one.
        (lambda: divide([1, 4]), [(array([0, 2, 3]), True), (array([1, 4]), False)]),
        (lambda: divide([0, 1, 2]), [(array([3, 4]), False), (array([0, 1, 2]), True)]),
        (lambda: divide([0, 1, 2, 3, 4]), [(array([0, 1, 2, 3, 4]), True)]),
        (lambda: are_same(([1.0, 2.0],), ([1.0, 2.0000001],)), True),
        (lambda: are_same(([1e-9, 2.0],), ([2e-9, 2.0],)), True),
        (lambda: are_same(([1.0, 2.0],), ([1.0, 2.0001],)), False),
        (lambda: are_same(([1.0, 2.0],), ([1.0],)), False),
        (lambda: are_same(([0, 1], "label"), ([0, 1], "label")), True),
        (lambda: are_same(([0, 1], "label"), ([1, 1], "label")), False),
        (lambda: are_same(([0.0, 1.0],), ([0, 1], "label")), False),
        (
            lambda: describe_difference(SGDClassifier(), None, None),
            other_by_seed.format(" and with random_state=None"),
        ),
        (
            lambda: describe_difference(SGDClassifier(random_state=0), 5, 5),
            other_by_seed.format(""),
        ),
        (lambda: describe_difference(GaussianNB(), 5, None), other_by_seed.format("")),
        (
            lambda: describe_difference(GaussianNB(), 5, 6),
            "it states 5 training rows, and a clone states 6 that is trained on the 7 records "
            "outside of the scored fold",
        ),
        (lambda: _find_training._is_frozen_model(FrozenEstimator(GaussianNB())), True),
        (lambda: _find_training._is_frozen_model(FrozenEstimator(StandardScaler())), False),
        (lambda: _find_training._is_frozen_model(GaussianNB()), False),
        # The records as the estimator that remembers has seen them, around it or behind a step.
        (
            lambda: _find_training._find_memory(remembering, table)[0] is remembering.estimator_,
            True,
        ),
        (
            lambda: _find_training.find_training(FrozenEstimator(remembering), table, table)[1],
            [True] * 5,
        ),
        (
            lambda: _find_training.find_training(NS(best_estimator_=scaled), table, table)[1],
            [True] * 5,
        ),
        (
            lambda: _find_training.find_training(
                RememberTraining(LogisticRegression()).fit(X[1:4], y[1:4]), table, table
            )[1],
            [False, True, True, True, False],
        ),
        (
            lambda: tell_refusal(
                lambda: _find_training.find_training(scaled, Records(X[1:], y[1:]), table)
            ),
            "1 of the 4 different rows that the model was trained on are not among the records of "
            "make_leakage_scorer; pass it the X and y of the search, and wrap the whole Pipeline "
            "in RememberTraining.",
        ),
        (
            lambda: tell_refusal(
                lambda: _find_training.find_training(remembering, Records(X[1:], y[1:]), table)
            ),
            "1 of the 4 different rows that the model was trained on are not among the records of "
            "make_leakage_scorer; pass it the X and y of the search.",
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_rows_without_labels_are_compared_by_their_features():
    rows = list_rows(None, {})
    assert len(rows) == 4  # two are equal
    assert rows.tolist() == list_rows(None, {}, np.s_[::-1]).tolist()
    assert not set(rows) & set(list_rows(y, {}))


def test_defaults_are_those_of_the_docstrings():
    from skmia import model_selection

    found, n_compared = compare_defaults_of(model_selection)
    assert not found
    assert n_compared >= 13
