"""Models of imbalanced-learn, whose training rows were resampled."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import (
    NodeEquationsAttack,
    ReleasedModelAttack,
    SplitThresholdAttack,
    StationarityAttack,
    StoredValuesAttack,
)
from skmia.inspection import inspect_model
from skmia.victims import read_state

RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, size=(300, 4))
Y = (X[:, 0] + RNG.normal(size=300) > 3.5).astype(int)
MEMBER = RNG.permutation(300) < 150
RECORDS = Records(X, Y)


@pytest.fixture(scope="module")
def imblearn():
    for name in ("ensemble", "over_sampling", "pipeline", "under_sampling"):
        pytest.importorskip(f"imblearn.{name}")
    return pytest.importorskip("imblearn")


def fit(imblearn, *steps):
    return imblearn.pipeline.make_pipeline(*steps).fit(X[MEMBER], Y[MEMBER])


def make_tree():
    return DecisionTreeClassifier(random_state=0)


def test_rows_that_a_sampler_keeps_are_found(imblearn):
    smote = imblearn.over_sampling.SMOTE(random_state=0)
    model = fit(imblearn, StandardScaler(), smote, make_tree())
    (rows,) = (one for one in read_state(model).arrays if one.kind == "rows")
    assert rows.path == "steps[1].nn_k_._fit_X"
    assert len(rows.array) == Y[MEMBER].sum()
    scores = StoredValuesAttack(FrozenEstimator(model)).fit(RECORDS).score_samples(RECORDS)
    assert scores[MEMBER & (Y == 1)].min() > scores[~MEMBER & (Y == 1)].max()


def test_row_numbers_of_a_sampler_are_no_rows(imblearn):
    under = imblearn.under_sampling.RandomUnderSampler(random_state=0)
    state = read_state(fit(imblearn, under, make_tree()))
    (chosen,) = (one for one in state.arrays if "sample_indices_" in one.path)
    assert chosen.kind == "per-record"
    assert "rows" not in {one.kind for one in state.arrays}


@pytest.mark.parametrize("attack", [NodeEquationsAttack, SplitThresholdAttack])
def test_rows_that_were_made_are_refused(imblearn, attack):
    model = fit(imblearn, imblearn.over_sampling.SMOTE(random_state=0), make_tree())
    with pytest.raises(ValueError, match="the step SMOTE adds training rows that are not records"):
        attack(FrozenEstimator(model)).fit(RECORDS)
    everything = ReleasedModelAttack(FrozenEstimator(model)).fit(RECORDS)
    assert list(everything.parts_) == ["stored values"]
    # The tree counts rows that were made.
    assert inspect_model(model).n_rows is None


def test_rows_that_were_repeated_still_have_thresholds(imblearn):
    over = imblearn.over_sampling.RandomOverSampler(random_state=0)
    model = FrozenEstimator(fit(imblearn, StandardScaler(), over, make_tree()))
    with pytest.raises(ValueError, match="the step RandomOverSampler repeats training rows"):
        NodeEquationsAttack(model).fit(RECORDS)
    attack = SplitThresholdAttack(model).fit(RECORDS)
    assert attack.explained_ == 1
    linear = FrozenEstimator(fit(imblearn, over, LogisticRegression()))
    with pytest.raises(ValueError, match="the step RandomOverSampler repeats training rows"):
        StationarityAttack(linear).fit(RECORDS)


def test_rows_that_were_selected_are_counted(imblearn):
    under = imblearn.under_sampling.RandomUnderSampler(random_state=0)
    model = fit(imblearn, StandardScaler(), under, make_tree())
    used = np.zeros(300, dtype=bool)
    used[np.flatnonzero(MEMBER)[model[1].sample_indices_]] = True
    attack = NodeEquationsAttack(FrozenEstimator(model)).fit(RECORDS)
    assert attack.n_rows_ == used.sum() < inspect_model(model).n_rows == MEMBER.sum()
    assert attack.misfit_ < 1
    assert roc_auc_score(used, attack.score_samples(RECORDS)) > 0.6


@pytest.mark.parametrize("attack", [NodeEquationsAttack, SplitThresholdAttack])
def test_forests_of_balanced_draws_are_refused(imblearn, attack):
    forest = imblearn.ensemble.BalancedRandomForestClassifier(5, random_state=0)
    model = FrozenEstimator(forest.fit(X[MEMBER], Y[MEMBER]))
    with pytest.raises(ValueError, match="each of its trees was grown on draws of each class"):
        attack(model).fit(RECORDS)


@pytest.mark.parametrize(
    "name, estimator, inner",
    [
        (
            "EasyEnsemble",
            AdaBoostClassifier(n_estimators=5),
            ["node equations", "split thresholds"],
        ),
        ("BalancedBagging", None, ["split thresholds"]),
        ("RUSBoost", None, []),
    ],
)
def test_other_ensembles_are_refused_in_a_sentence(imblearn, name, estimator, inner):
    make = getattr(imblearn.ensemble, f"{name}Classifier")
    model = make(estimator=estimator, n_estimators=2, random_state=0)
    model = FrozenEstimator(model.fit(X[MEMBER], Y[MEMBER]))
    for attack in (NodeEquationsAttack, SplitThresholdAttack):
        with pytest.raises((TypeError, ValueError), match=name):
            attack(model).fit(RECORDS)
    # The models inside, which a Pipeline of each member trained, are read as if they were given.
    inside = [f"{part} in estimators_[{k}].steps[1]" for k in (0, 1) for part in inner]
    assert list(ReleasedModelAttack(model).fit(RECORDS).parts_) == ["stored values", *inside]
