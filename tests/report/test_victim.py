"""The victim of an audit: given with its members, or trained here."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skmia
from skmia import Records
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report._case import describe_held_back

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)

# No check of the table decides what is asked here.
pytestmark = pytest.mark.usefixtures("attacks_alone")

ATTACKS = {"attacks": {"t": ThresholdAttack()}, "random_state": 0}


def test_unfitted_estimator_is_trained_on_a_random_half_of_each_class(problem):
    _, records, _ = problem
    tree = DecisionTreeClassifier()
    report = audit(tree, records, **ATTACKS)
    members = report.membership
    for label in (0, 1):
        here = records.y == label
        assert abs(members[here].sum() - here.sum() / 2) <= 1
    assert report.performance["members"] == 1 > report.performance["nonmembers"]
    assert "on a random half" in report.notes[0]
    assert not hasattr(tree, "tree_")
    again = audit(tree, records, **ATTACKS)
    assert np.array_equal(again.membership, members)
    assert np.array_equal(again.scores["t"], report.scores["t"])


def test_a_draw_that_is_not_a_half_says_how_many_members_there_are():
    rng = np.random.default_rng(0)
    person = np.where(np.arange(100) < 80, 0, np.arange(100))  # most rows are of one person
    records = Records(rng.normal(size=(100, 3)), rng.permutation(100) % 2, group_by=person)
    report = audit(DecisionTreeClassifier(), records, **ATTACKS)
    drawn = f"on {report.membership.sum()} of 100 records, drawn at random: equal ones, and those"
    assert drawn in report.notes[0] and "half" not in report.notes[0]


def test_unfitted_estimator_is_trained_on_the_members_that_are_named(problem):
    victim, records, membership = problem
    report = audit(clone(victim), records, membership, **ATTACKS)
    fitted = audit(victim, records, membership, **ATTACKS)
    assert np.array_equal(report.scores["t"], fitted.scores["t"])
    assert "on the members" in report.notes[0]


def test_regression_is_split_along_its_target():
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(200, 3)), rng.normal(size=200))
    report = audit(DecisionTreeRegressor(), records, **ATTACKS)
    lower = records.y < np.quantile(records.y, 0.1)
    assert report.membership[lower].sum() == 10
    assert report.task == "regression"


def test_training_draws_nothing_from_the_global_generator(problem):
    _, records, _ = problem
    before = np.random.get_state()[1:3]  # noqa: NPY002
    audit(DecisionTreeClassifier(max_features=1), records, **ATTACKS)
    after = np.random.get_state()[1:3]  # noqa: NPY002
    np.testing.assert_array_equal(after[0], before[0])
    assert after[1] == before[1]


@parametrize_refusals(
    (
        lambda problem: audit(problem[0], problem[1]),
        "membership is required if the victim is fitted",
    ),
    (
        lambda problem: audit(FrozenEstimator(DecisionTreeClassifier()), problem[1], problem[2]),
        "not fitted",
        NotFittedError,
    ),
    (
        lambda problem: audit(clone(problem[0]), problem[1].with_outputs(problem[0]), shadows=4),
        "stored predictions .* Give the membership",
    ),
    (
        lambda problem: audit(
            clone(problem[0]),
            problem[1].with_fields(outputs=problem[0].predict_proba(problem[1].X)),
            problem[2],
            shadows=4,
        ),
        "'outputs' is a bare array; wrap it as Outputs",
    ),
)
def test_wrong_calls_with_problem_are_refused(call, words, error, problem):
    check_refusal(call, words, error, problem)


def test_stored_predictions_are_those_that_are_attacked(problem):
    victim, records, membership = problem
    attacks = {"LiRA": LiRA(), "loss": ThresholdAttack()}
    settings = {"attacks": attacks, "shadows": 4, "random_state": 0}
    stored = records.with_outputs(victim)
    expected = audit(victim, records, membership, **settings)
    report = audit(clone(victim), stored, membership, controls=True, **settings)
    for name, scores in expected.scores.items():
        np.testing.assert_array_equal(report.scores[name], scores)
    assert report.performance == expected.performance
    assert "stored with the records (field 'outputs') were attacked" in report.notes[0]


def test_attacks_that_need_more_than_stored_predictions_are_left_out(problem):
    victim, records, membership = problem
    attacks = {"threshold": ThresholdAttack(), "merlin": ThresholdAttack(signal="merlin")}
    report = audit(clone(victim), records.with_outputs(victim), membership, attacks=attacks)
    assert list(report.scores) == ["threshold"]
    assert any(
        note.startswith("merlin was left out") and "whose predictions alone are stored" in note
        for note in report.notes
    )


def test_stored_predictions_of_another_model_are_noted(problem):
    victim, records, membership = problem
    other = DecisionTreeClassifier(max_depth=1).fit(records.X, records.y)
    report = audit(victim, records.with_outputs(other), membership, **ATTACKS)
    assert "differ from those stored with the records" in report.notes[0]
    assert audit(victim, records.with_outputs(victim), membership, **ATTACKS).notes == []


def test_records_that_belong_together_cannot_be_split():
    records = Records(np.arange(6.0)[:, None], [0, 1] * 3, group_by=["a"] * 6)
    with pytest.raises(ValueError, match="All records belong together"):
        audit(DecisionTreeClassifier(), records)


def test_tree_that_is_told_what_is_missing():
    # scikit-learn looks for missing numbers in arrays only that it might write to.
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    X[::7, 0] = np.nan
    records = Records(X, (X[:, 1] > 0).astype(int))
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "random_state": 0}
    report = audit(DecisionTreeClassifier(random_state=0), records, **settings)
    assert report.performance["members"] == 1


def test_columns_that_the_model_was_not_trained_on_reach_no_clone():
    rng = np.random.default_rng(0)
    table, y = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")), rng.integers(0, 2, 60)
    membership = np.arange(60) % 2
    victim = make_pipeline(
        make_column_transformer(("passthrough", [0]), remainder="passthrough"),
        DecisionTreeClassifier(random_state=0),
    ).fit(table[membership == 1], y[membership == 1])

    # A clone would learn its labels from the first of these columns.
    further = table.assign(label=y, number=range(60)).loc[:, ["label", "c", "number", *"ba"]]
    pool = skmia.ShadowPool(victim, 2, store="models", random_state=0)
    attack = clone(LiRA(victim, pool)).fit(Records(further, y))  # as searches do
    for fitted in (pool.fit(Records(further, y)), attack.pool_):
        assert [list(one.feature_names_in_) for one in fitted.estimators_] == [list("abc")] * 2
    settings = {"attacks": {"loss": ThresholdAttack()}, "shadows": 2, "file": False}
    report = skmia.audit(victim, Records(further, y), membership, **settings)
    left = "Columns on which the model was not trained are left out: 'label' and 'number'."
    assert left in report.notes and left in pool.notes_


def test_membership_in_another_order_of_rows_is_noticed(problem):
    _, records, membership = problem
    frame = pd.DataFrame(np.asarray(records.X)).iloc[::-1]
    turned = Records(frame, records.y[::-1])
    in_order = pd.Series(membership[::-1], index=frame.index)
    tree = DecisionTreeClassifier()
    audit(tree, turned, in_order, **ATTACKS)
    with pytest.warns(UserWarning, match="membership has the index of X in another order"):
        audit(tree, turned, in_order.sort_index(), **ATTACKS)


FEW = {"max_iter": 3}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (HistGradientBoostingClassifier(early_stopping=True, **FEW), "early_stopping"),
        (HistGradientBoostingClassifier(early_stopping=True, validation_fraction=None), None),
        (HistGradientBoostingClassifier(**FEW), None),  # few rows
        (SGDClassifier(loss="log_loss", early_stopping=True), "early_stopping"),
        pytest.param(SGDClassifier(loss="log_loss"), None, marks=pytest.mark.slow),
        (GradientBoostingClassifier(n_estimators=3, n_iter_no_change=1), "n_iter_no_change"),
        (GradientBoostingClassifier(n_estimators=3), None),
    ],
)
def test_rows_that_are_held_back_are_noted(problem, model, name):
    _, records, membership = problem
    members = records[membership == 1]
    victim = FrozenEstimator(make_pipeline(StandardScaler(), model).fit(members.X, members.y))
    notes = describe_held_back(victim)
    assert ["holds back" in note and f"({name})" in note for note in notes] == [True] * (
        name is not None
    )
    if isinstance(model, SGDClassifier):
        assert audit(victim, records, membership, **ATTACKS).notes == notes


def test_rows_that_a_net_holds_back_are_noted():
    skorch = pytest.importorskip("skorch")
    helper = pytest.importorskip("skorch.helper")
    net = skorch.NeuralNetClassifier("no module is made")
    assert "(train_split)" in describe_held_back(net)[0]
    assert not describe_held_back(net.set_params(train_split=None))
    assert not describe_held_back(net.set_params(train_split=helper.predefined_split([])))
