"""Attacks with their default parameters on every kind of victim, and what they say of features."""

import inspect

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, LinearSVC

import skmia.attacks
from skmia import Outputs, Records, ShadowPool
from skmia.attacks import AttributeInferenceAttack, LabelInferenceAttack, LiRA, ThresholdAttack
from skmia.attacks.diversity import DiversityAttack
from skmia.attacks.ranges import RangeAttack
from skmia.epsilon import OneRunAudit
from skmia.victims import CallableVictim

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).round(2)
Y = (X[:, 0] + RNG.normal(size=80) > 0).astype(int)
MEMBERSHIP = np.arange(80) % 2
RECORDS = Records(X, Y)
MODELS = {
    name: model.fit(X[MEMBERSHIP == 1], Y[MEMBERSHIP == 1])
    for name, model in {
        "LinearSVC": LinearSVC(random_state=0),
        "SVC": SVC(),
        "Ridge": Ridge(),
        "logistic": LogisticRegression(),
    }.items()
}
VICTIMS = MODELS | {"labels": CallableVictim(MODELS["logistic"].predict, [0, 1], kind="label")}
POOLS = {
    name: ShadowPool(model, 4, store="models", random_state=0).fit(RECORDS)
    for name, model in MODELS.items()
}
POOLS["labels"] = ShadowPool(LogisticRegression(), 4, output_kind="label", random_state=0)
POOLS["labels"].fit(RECORDS)

ALL = set(VICTIMS)
SCORED, ASKED = ALL - {"labels"}, {"logistic"}  # answers that are numbers, and probabilities
# Kinds of victims that an attack judges with its defaults; others it refuses with a cure.
JUDGED = {
    "AnalyticLiRA": {"Ridge", "logistic"},
    "CalibratedAttack": ALL,
    "LiRA": ALL,
    "MorganAttack": {"Ridge", "logistic"},
    "OneQueryAttack": {"logistic"},
    "QueriedThresholdAttack": SCORED,
    "RMIA": SCORED,
    "ReleasedModelAttack": SCORED,
    "RenyiAttack": ASKED,
    "DiversityAttack": ASKED,
    "ShadowAttack": SCORED - {"Ridge"},
    "StackedAttack": SCORED,
    "StationarityAttack": {"LinearSVC", "SVC", "Ridge", "logistic"},
    "StoredValuesAttack": SCORED,
    "ThresholdAttack": ALL,
    "TransferredQueryAttack": SCORED - {"Ridge"},
    "VulnerableRecordsAttack": SCORED - {"Ridge"},
    "RangeAttack": SCORED,
}
# What a reader can do about it: another setting, another attack, or another model.
CURES = (
    "LiRA|CalibratedAttack|ThresholdAttack|suit the signal|choose a signal|population=|store=|"
    "are read (of|from)|is read of|is known for|are found from|needs (a classifier|classifiers)|"
    "work with any victim|must name the column"
)


def find_attacks():
    named = {name: getattr(skmia.attacks, name) for name in skmia.attacks.__all__}
    classes = {n: one for n, one in named.items() if inspect.isclass(one) and hasattr(one, "fit")}
    return classes | {"DiversityAttack": DiversityAttack, "RangeAttack": RangeAttack}


def judge(attack):
    try:
        return attack.fit(RECORDS).score(RECORDS, MEMBERSHIP)
    except ValueError as error:
        if "learns from known members" not in str(error):
            raise
    return attack.fit(RECORDS, MEMBERSHIP).score(RECORDS, MEMBERSHIP)


@pytest.mark.filterwarnings("ignore::skmia.exceptions.ResolutionWarning")  # of a small pool
@pytest.mark.parametrize("victim", slow_but(VICTIMS, *VICTIMS.keys() - {"SVC"}))
@pytest.mark.parametrize("name", sorted(set(find_attacks()) - {"LabelInferenceAttack"}))
def test_defaults_end_in_a_number_or_a_cure(name, victim):
    kind = find_attacks()[name]
    attack = kind(VICTIMS[victim])
    if "shadows" in attack.get_params(deep=False):
        attack.shadows = POOLS[victim]
    if victim in JUDGED.get(name, set()):
        assert -1 <= judge(attack) <= 1
    else:
        with pytest.raises((TypeError, ValueError), match=CURES):
            judge(attack)


# The default signal of a threshold


@pytest.mark.parametrize(
    "victim, signal",
    [("LinearSVC", "hinge"), ("SVC", "hinge"), ("labels", "correctness")]
    + [("Ridge", "loss"), ("logistic", "loss")],
)
def test_the_default_signal_is_the_loss_or_nearest_to_it(victim, signal):
    attack = ThresholdAttack(VICTIMS[victim]).fit(RECORDS)
    named = ThresholdAttack(VICTIMS[victim], signal=signal).fit(RECORDS)
    assert attack.signal_.name == signal
    np.testing.assert_array_equal(attack.score_samples(RECORDS), named.score_samples(RECORDS))
    assert attack.offset_ == named.offset_
    stored = RECORDS.with_outputs(VICTIMS[victim])
    alone = ThresholdAttack().fit(stored)
    assert alone.signal_.name == signal
    np.testing.assert_allclose(alone.score_samples(stored), attack.score_samples(RECORDS))


def test_margins_by_hand():
    model = MODELS["LinearSVC"]
    margins = np.where(Y == 1, 1, -1) * model.decision_function(X)
    attack = ThresholdAttack(model).fit(RECORDS)
    scale = attack.score_samples(RECORDS) / margins
    np.testing.assert_allclose(scale, scale[0])
    assert scale[0] > 0
    assert attack.offset_ == pytest.approx(scale[0] * margins.mean())


@pytest.mark.parametrize("kind", ["log_odds", "logits"])
def test_stored_log_odds_and_logits_have_a_loss(kind):
    odds = RNG.normal(size=80)
    values = odds if kind == "log_odds" else np.column_stack([np.zeros(80), odds])
    classes = {} if kind == "log_odds" else {"classes": [0, 1]}
    records = Records(X, np.ones(80, int), outputs=Outputs(values, kind=kind, **classes))
    attack = ThresholdAttack().fit(records)
    assert attack.signal_.name == "loss"
    np.testing.assert_allclose(attack.score_samples(records), -np.logaddexp(0, -odds))


def test_the_mean_loss_is_no_threshold_of_margins():
    with pytest.raises(ValueError, match="threshold of the signal 'loss'; the signal is 'hinge'"):
        ThresholdAttack(MODELS["SVC"], mean_train_loss=0.1).fit(RECORDS)
    attack = ThresholdAttack(MODELS["logistic"], mean_train_loss=0.1).fit(RECORDS)
    assert attack.offset_ == -0.1


def test_an_audit_of_a_training_scores_canaries_by_margins():
    audit = OneRunAudit(LinearSVC(random_state=0), n_canaries=40, random_state=0).fit(X, Y)
    canaries = audit.canaries_
    margins = np.where(canaries.y == 1, 1, -1) * audit.estimator_.decision_function(canaries.X)
    scale = audit.scores_ / margins
    np.testing.assert_allclose(scale, scale[0])


# Features of records


@pytest.mark.parametrize("make", [ThresholdAttack, lambda model: LiRA(model, POOLS["logistic"])])
def test_features_are_counted_as_in_scikit_learn(make):
    attack = make(MODELS["logistic"])
    assert not hasattr(attack, "n_features_in_")
    attack.fit(RECORDS)
    assert attack.n_features_in_ == 4 and not hasattr(attack, "feature_names_in_")
    message = (
        f"X has 3 features, but {type(attack).__name__} is expecting 4 features as input, those "
        "of the records that fit was given"
    )
    narrow = Records(X[:, :3], Y)
    for ask in (attack.predict, attack.score_samples, attack.decision_function, attack.can_judge):
        with pytest.raises(ValueError, match=message):
            ask(narrow)
    with pytest.raises(ValueError, match=message):
        attack.score(narrow, MEMBERSHIP)
    assert not hasattr(clone(attack), "n_features_in_")


def test_names_of_features_are_those_of_the_table():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LogisticRegression().fit(frame, Y)
    attack = ThresholdAttack(model).fit(Records(frame, Y))
    assert attack.feature_names_in_.tolist() == list("abcd")
    frozen = ThresholdAttack(FrozenEstimator(model))
    search = GridSearchCV(frozen, {"signal": ["loss", "hinge"]}, cv=2)
    search.fit(Records(frame, Y), MEMBERSHIP)
    assert search.n_features_in_ == 4
    assert search.feature_names_in_.tolist() == list("abcd")
    attack.set_params(victim=MODELS["logistic"]).fit(RECORDS)  # as of the first fit
    assert not hasattr(attack, "feature_names_in_")


def test_a_second_fit_may_have_other_features():
    wide = np.column_stack([X, X])
    attack = ThresholdAttack(MODELS["logistic"]).fit(RECORDS, MEMBERSHIP)
    attack.set_params(victim=LogisticRegression().fit(wide, Y)).fit(Records(wide, Y), MEMBERSHIP)
    assert attack.n_features_in_ == 8
    assert len(attack.predict(Records(wide, Y))) == 80


def test_records_without_a_matrix_have_no_number_of_features():
    outputs = Outputs(MODELS["logistic"].predict_proba(X), [0, 1])
    for records in (
        Records(X.reshape(80, 2, 2), Y, outputs=outputs),
        Records.from_ids(np.arange(80), Y, outputs=outputs),
    ):
        attack = ThresholdAttack().fit(records)
        assert not hasattr(attack, "n_features_in_")
        assert len(attack.predict(records)) == 80
    # Slices of records are counted without reading them.
    assert ThresholdAttack(MODELS["logistic"]).fit(RECORDS[::2]).n_features_in_ == 4


def test_attacks_on_attributes_and_labels_count_them_too():
    narrow = Records(X[:, :3], Y)
    codes = np.column_stack([X[:, :3], X[:, 3] > 0])
    model = LogisticRegression().fit(codes, Y)
    for attack in (AttributeInferenceAttack(model, 3), LabelInferenceAttack(model)):
        attack.fit(Records(codes, Y))
        assert attack.n_features_in_ == 4
        with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
            attack.predict(narrow)
