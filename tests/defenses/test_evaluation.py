"""Defenses side by side: the same training sets, and attacks that know the defense."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA
from skmia.defenses import (
    LabelOnlyDefense,
    TemperatureDefense,
    TopKDefense,
    evaluate_defense,
)
from skmia.defenses._evaluation import _compute_calibration_error
from skmia.epsilon.canaries import mislabel
from skmia.model_selection import leave_one_model_out

X, Y = load_digits(return_X_y=True)
RECORDS = Records(X[:500, ::2], Y[:500])
TREE = DecisionTreeClassifier(min_samples_leaf=3)
SETTINGS = {"n_estimators": 8, "n_targets": 4, "max_fpr": 0.05, "random_state": 0}
FEW = {**SETTINGS, "n_estimators": 4, "n_targets": 2}


@pytest.fixture(scope="module")
def evaluation():
    candidates = {
        "tree": TREE,
        "small tree": DecisionTreeClassifier(max_leaf_nodes=12),
        "temperature": TemperatureDefense(TREE, temperature=3.0),
        "top 1": TopKDefense(TREE, k=1, renormalize=True),
        "labels only": LabelOnlyDefense(TREE),
    }
    return evaluate_defense(candidates, RECORDS, **SETTINGS)


def test_the_adaptive_attack_is_that_of_the_pool():
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    pool = ShadowPool(TREE, 8, store="models", random_state=seed).fit(RECORDS)
    attack = LiRA(shadows=FrozenEstimator(pool))
    expected = leave_one_model_out(attack, RECORDS, models=range(4), max_fprs=[0.05])
    got = evaluate_defense({"tree": TREE}, RECORDS, **SETTINGS).targets.loc["tree"]
    np.testing.assert_allclose(got["auc"], expected["auc"])
    np.testing.assert_allclose(got["tpr_at_fpr"], expected["tpr_at_fpr_0.05"])
    for k in range(4):
        inside = pool.membership_[k]
        right = pool.estimators_[k].predict(RECORDS.X) == RECORDS.y
        row = got.loc[k]
        assert row["train_accuracy"] == right[inside].mean()
        assert row["test_accuracy"] == right[~inside].mean()
        assert row["label_advantage"] == right[inside].mean() - right[~inside].mean()


def test_copies_and_people_are_on_one_side():
    # A tree that had a copy of each test record would be right about all of them.
    records = RECORDS[np.repeat(np.arange(200), 2)]
    rows = records.X + np.tile([[0.0], [1e-6]], (200, 32))
    people = Records(rows, records.y, group_by=np.repeat(np.arange(200), 2))
    tree = {"tree": DecisionTreeClassifier()}
    for one in (RECORDS[:200], records, people):
        targets = evaluate_defense(tree, one, **FEW).targets
        assert (targets["train_accuracy"] == 1).all()
        assert targets["test_accuracy"].max() < 0.9


@pytest.mark.slow  # the numbers are those of the attack by hand
def test_a_smaller_tree_leaks_less(evaluation):
    frame = evaluation.to_frame()
    assert frame.loc["small tree", "advantage"] < frame.loc["tree", "advantage"]
    assert frame.loc["small tree", "exposure_99"] < frame.loc["tree", "exposure_99"]
    assert frame.loc["small tree", "label_advantage"] < frame.loc["tree", "label_advantage"]


def test_output_filters_do_not_fool_attacks_that_know_them(evaluation):
    # A temperature can be undone; and what labels alone tell no output filter hides.
    frame = evaluation.to_frame()
    assert frame.loc["temperature", "auc"] == pytest.approx(frame.loc["tree", "auc"], abs=0.02)
    for name in ("temperature", "top 1", "labels only"):
        gap = frame.loc[name, "label_advantage"] - frame.loc["tree", "label_advantage"]
        assert abs(gap) < 0.03


def test_labels_alone_have_no_other_figures(evaluation):
    row = evaluation.to_frame().loc["labels only"]
    assert row[["auc", "advantage", "tpr_at_fpr", "calibration_error", "exposure_99"]].isna().all()
    assert 0.5 < row["test_accuracy"] < row["train_accuracy"]


def test_defenses_are_matched_by_accuracy(evaluation):
    matched = evaluation.match(["tree", "small tree"])
    assert matched["match"].to_dict() == dict.fromkeys(
        ["temperature", "top 1", "labels only"], "tree"
    )
    targets = evaluation.targets
    gaps = targets.loc["temperature", "advantage"] - targets.loc["tree", "advantage"]
    assert matched.loc["temperature", "advantage"] == pytest.approx(gaps.mean())
    assert matched.loc["temperature", "advantage_se"] == pytest.approx(gaps.std(ddof=1) / 2)
    with pytest.raises(ValueError, match="undefended must name candidates"):
        evaluation.match(["forest"])
    with pytest.raises(ValueError, match=r"undefended must name candidates .*; got \[\]"):
        evaluation.match([])


def test_canaries_are_measured_alone():
    changed, canaries = mislabel(RECORDS, 100, random_state=0)
    tree = DecisionTreeClassifier()
    evaluation = evaluate_defense({"tree": tree}, changed, canaries=canaries, **SETTINGS)
    assert len(evaluation.exposure) == 100
    # A full tree learns its members by heart, and is wrong about the canaries that it has not seen.
    frame = evaluation.to_frame().loc["tree"]
    assert frame["label_advantage"] > 0.8
    assert frame["train_accuracy"] == 1.0
    everyone = evaluate_defense({"tree": tree}, changed, **SETTINGS).to_frame().loc["tree"]
    assert frame["auc"] > everyone["auc"]


def test_a_frozen_candidate_without_probabilities_is_trained_as_well():
    frozen = FrozenEstimator(clone(TREE).fit(RECORDS.X, RECORDS.y))
    candidates = {"new": LabelOnlyDefense(TREE), "frozen": LabelOnlyDefense(frozen)}
    found = evaluate_defense(candidates, RECORDS[:100], **SETTINGS).targets
    pd.testing.assert_frame_equal(found.loc["new"], found.loc["frozen"])


@pytest.mark.parametrize("candidate", [TREE, LabelOnlyDefense(TREE)], ids=["scores", "labels"])
def test_figures_of_a_target_without_both_sides_of_the_canaries_are_nan(candidate):
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    drawn = ShadowPool(DummyClassifier(), 8, random_state=seed).fit(RECORDS).membership_[:4]
    # Two canaries that are on both sides of two targets of four; targets are pairs of halves.
    second = np.flatnonzero((drawn != drawn[:, :1]).sum(axis=0) == 2)[0]
    is_both, canaries = drawn[:, second] != drawn[:, 0], np.isin(range(500), [0, second])
    found = evaluate_defense({"tree": candidate}, RECORDS, canaries=canaries, **SETTINGS).targets
    assert (found["label_advantage"].notna() == is_both).all()
    if candidate is TREE:
        assert (found[["auc", "advantage"]].notna().to_numpy().T == is_both).all()
    assert found[["train_accuracy", "test_accuracy"]].notna().all(axis=None)


def test_wrong_labels_are_wrong_and_nothing_else_changes():
    changed, canaries = mislabel(RECORDS, 50, random_state=1)
    assert canaries.sum() == 50
    np.testing.assert_array_equal(changed.y != RECORDS.y, canaries)
    np.testing.assert_array_equal(changed.X, RECORDS.X)


def test_the_calibration_error_of_a_hand_example():
    proba = np.array([[0.9, 0.1]] * 10 + [[0.6, 0.4]] * 10)
    right = np.array([True] * 8 + [False] * 2 + [True] * 6 + [False] * 4)
    assert _compute_calibration_error(proba, right) == pytest.approx(0.5 * 0.1 + 0.5 * 0.0)


@pytest.mark.usefixtures("copied_workers")
def test_jobs_change_nothing():
    candidates = {"tree": TREE, "labels": LabelOnlyDefense(TREE)}
    one, two = (
        evaluate_defense(candidates, RECORDS[:100], **FEW, n_jobs=n).targets for n in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    "candidates, settings, message",
    [
        ([TREE], {}, "candidates must be a dict"),
        ({}, {}, "candidates must be a dict"),
        ({"tree": TREE}, {"n_estimators": 5}, "n_estimators must be even"),
        ({"tree": TREE}, {"n_targets": 9, "n_estimators": 8}, "n_targets must be from 1 to"),
        ({"tree": TREE}, {"canaries": np.ones(800, dtype=int)}, "canaries must be a boolean array"),
        ({"tree": TREE}, {"canaries": np.ones(799, dtype=bool)}, "for each of 500 records"),
        ({"tree": TREE}, {"canaries": np.zeros(800, dtype=bool)}, "some of them True"),
    ],
)
def test_bad_input_is_refused(candidates, settings, message):
    with pytest.raises(ValueError, match=message):
        evaluate_defense(candidates, RECORDS, **settings)


def test_too_many_canaries_are_refused():
    with pytest.raises(ValueError, match="n_canaries must be an integer from 1 to 500"):
        mislabel(RECORDS, 501)
