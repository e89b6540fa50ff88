"""Inference of training labels, and the interval of its advantage."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy.stats import binom
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skmia import Records, ShadowPool
from skmia.attacks import LabelInferenceAttack
from skmia.attacks._label_inference import _fit_choice
from skmia.defenses import LabelOnlyDefense

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 5))
# A quarter of the labels does not follow the features.
Y = np.where(RNG.random(N) < 0.25, RNG.integers(3, size=N), (X[:, 0] > 0) + 2 * (X[:, 1] > 1) % 3)
Y = np.minimum(Y, 2)
RECORDS, INSIDE = Records(X, Y), np.arange(N) % 2 == 0
MEMBERS, OUTSIDE = RECORDS[INSIDE], RECORDS[~INSIDE]
TREE = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
VICTIM = FrozenEstimator(TREE.fit(X[INSIDE], Y[INSIDE]))
POOL = FrozenEstimator(ShadowPool(TREE, 8, store="models", random_state=0).fit(RECORDS))


def test_without_shadow_models_the_prediction_of_the_victim_is_the_guess():
    attack = LabelInferenceAttack(VICTIM).fit(OUTSIDE)
    np.testing.assert_array_equal(attack.predict(RECORDS), VICTIM.predict(X))
    np.testing.assert_allclose(attack.predict_proba(RECORDS), VICTIM.predict_proba(X), atol=1e-12)
    assert attack.weights_.tolist() == [1, 0]


def test_the_guess_follows_the_threshold_of_the_victim():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 2
    victim = FixedThresholdClassifier(LogisticRegression(), threshold=0.55).fit(X, y)
    guesses = LabelInferenceAttack(victim).fit(Records(X, y)).predict(Records(X))
    np.testing.assert_array_equal(guesses, victim.predict(X))
    assert (guesses != victim.predict_proba(X).argmax(axis=1)).any()


def test_shadow_models_raise_the_advantage_and_the_likelihood_of_the_labels():
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    pool = FrozenEstimator(ShadowPool(forest, 8, store="outputs", random_state=0).fit(RECORDS))
    victim = FrozenEstimator(clone(forest).fit(X[INSIDE], Y[INSIDE]))
    alone, helped = (LabelInferenceAttack(victim, pool).fit(RECORDS) for pool in (None, pool))
    gains = [one.compare(MEMBERS, OUTSIDE).loc["advantage", "estimate"] for one in (alone, helped)]
    assert gains[1] > gains[0]
    taken = np.arange(len(MEMBERS)), Y[INSIDE]
    first, other = (np.log(one.predict_proba(MEMBERS)[taken]) for one in (alone, helped))
    assert other.mean() > first.mean()
    assert helped.weights_[0] > 1 > 0 > helped.weights_[1]


def test_weights_maximize_the_posterior_density():
    features, chosen = RNG.normal(size=(50, 3, 2)), RNG.integers(3, size=50)

    def density(weights):
        scores = features @ weights
        own = scores[np.arange(50), chosen]
        apart = np.asarray(weights) - [1, 0]
        return (own - np.log(np.exp(scores).sum(axis=1))).sum() - apart @ apart / 2

    best = _fit_choice(features, chosen)
    for step in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01]):
        assert density(best) > density(best + step)
        assert abs(density(best + step) - density(best - step)) < 1e-5  # a slope of 0.0005


def test_labels_serve_only_to_find_the_shadow_models_without_the_record():
    attack = LabelInferenceAttack(VICTIM, POOL).fit(RECORDS)
    np.testing.assert_array_equal(
        attack.score_samples(Records(X)), attack.score_samples(Records(X, np.roll(Y, 1) + 5))
    )
    assert (attack.score_samples(Records(X)) != attack.score_samples(RECORDS)).any()


@pytest.mark.parametrize("label", [-1, 3])
def test_a_class_that_only_the_victim_knows_does_not_change_the_weights(label):
    more = np.full((5, 5), 20.0)
    victim = clone(TREE).fit(np.vstack([X[INSIDE], more]), np.r_[Y[INSIDE], [label] * 5])
    attack = LabelInferenceAttack(victim, POOL).fit(RECORDS)
    np.testing.assert_array_equal(attack.classes_, np.union1d([label], [0, 1, 2]))
    expected = LabelInferenceAttack(VICTIM, POOL).fit(RECORDS)
    # The probabilities of 0 are smoothed together with those of one more class.
    np.testing.assert_allclose(attack.weights_, expected.weights_, rtol=0.1)
    np.testing.assert_array_equal(attack.predict(RECORDS), expected.predict(RECORDS))


def test_the_reference_is_the_mean_of_models_without_the_record():
    attack = LabelInferenceAttack(VICTIM, POOL).fit(RECORDS)
    attack.weights_ = np.array([0.0, 1.0])
    pool, record = POOL.estimator, RECORDS[7:8]
    step = 1 + attack._resolution * 3 / 2
    proba = [
        (model.predict_proba(record.X)[0] + attack._resolution / 2) / step
        for model, inside in zip(pool.estimators_, pool.membership_[:, 7], strict=True)
        if not inside
    ]
    found = attack.score_samples(record)[0]
    np.testing.assert_allclose(np.exp(found), np.mean(proba, axis=0))


def test_a_record_that_every_model_has_is_as_likely_of_each_label():
    proba = np.array([[[0.2, 0.8], [0.5, 0.5]], [[0.4, 0.6], [0.9, 0.1]]])
    inside = np.array([[False, True], [False, True]])
    found = LabelInferenceAttack._average_outside(SimpleNamespace(classes_=[0, 1]), proba, inside)
    np.testing.assert_allclose(np.exp(found[0]), [[0.3, 0.7], [0.5, 0.5]])
    assert found[1].tolist() == [True, False]


def test_a_victim_of_labels_and_one_of_decision_values():
    hard = FrozenEstimator(LabelOnlyDefense(VICTIM).fit(X, Y))
    attack = LabelInferenceAttack(hard, POOL).fit(RECORDS)
    assert attack.score(MEMBERS) > attack.score(OUTSIDE)
    assert LabelInferenceAttack(hard).fit(OUTSIDE[:1]).classes_.tolist() in (
        [0],
        [1],
        [2],
        [0, 1, 2],
    )
    machine = LinearSVC()
    pool = FrozenEstimator(ShadowPool(machine, 4, store="outputs", random_state=0).fit(RECORDS))
    attack = LabelInferenceAttack(FrozenEstimator(machine.fit(X[INSIDE], Y[INSIDE])), pool)
    assert attack.fit(RECORDS).predict_proba(RECORDS).shape == (N, 3)
    with pytest.raises(ValueError, match="'decision' and the shadow models of kind 'proba'"):
        attack.set_params(shadows=POOL).fit(RECORDS)


def test_names_of_labels_are_kept():
    names = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    victim = FrozenEstimator(LogisticRegression().fit(X[INSIDE], names[INSIDE]))
    attack = LabelInferenceAttack(victim, ShadowPool(LogisticRegression(), 4, store="models"))
    records = Records(X, names)
    assert set(attack.fit(records).predict(Records(X))) == {"no", "yes"}
    assert attack.score(records, names) == attack.score(records)


def test_the_order_of_records_does_not_matter():
    attack = LabelInferenceAttack(VICTIM, POOL).fit(RECORDS)
    scores, order = attack.score_samples(RECORDS), RNG.permutation(N)
    np.testing.assert_allclose(clone(attack).fit(RECORDS[order]).score_samples(RECORDS), scores)
    np.testing.assert_allclose(attack.score_samples(RECORDS[order]), scores[order])
    np.testing.assert_allclose(attack.score_samples(RECORDS[:1]), scores[:1])


def test_the_advantage_of_records_outside_is_rarely_above_zero():
    # Neither half is in the training set of the victim, whose labels are noise to it.
    n_trials, found, rng = 40, 0, np.random.default_rng(1)
    for _ in range(n_trials):
        Z, labels = rng.normal(size=(150, 2)), rng.integers(2, size=150)
        victim = LogisticRegression().fit(Z[:50], labels[:50])
        attack = LabelInferenceAttack(FrozenEstimator(victim)).fit(Records(Z[:50], labels[:50]))
        compared = attack.compare(
            Records(Z[50:100], labels[50:100]), Records(Z[100:], labels[100:])
        )
        found += compared.loc["advantage", "low"] > 0
    assert binom.sf(found - 1, n_trials, 0.025) > 1e-3


def test_it_is_an_ordinary_estimator():
    attack = LabelInferenceAttack(VICTIM, POOL)
    tags = get_tags(attack)
    assert not tags.input_tags.two_d_array and not tags.target_tags.required
    with pytest.raises(NotFittedError):
        attack.predict(RECORDS)
    fitted = clone(attack).fit(RECORDS)
    again = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(again.compare(MEMBERS, OUTSIDE), fitted.compare(MEMBERS, OUTSIDE))


@parametrize_refusals(
    (
        lambda: LabelInferenceAttack(FrozenEstimator(LinearRegression().fit(X, Y))).fit(RECORDS),
        "'value'",
    ),
    (
        lambda: LabelInferenceAttack(VICTIM, VICTIM).fit(RECORDS),
        "shadows must be a ShadowPool",
        TypeError,
    ),
    (
        lambda: LabelInferenceAttack(
            VICTIM, FrozenEstimator(ShadowPool(TREE, 4, random_state=0).fit(RECORDS))
        ).fit(RECORDS),
        'store="outputs" or store="models"',
    ),
    (
        lambda: LabelInferenceAttack(
            VICTIM,
            FrozenEstimator(
                ShadowPool.from_scores(RNG.normal(size=(4, N)), RNG.random((4, N)) < 0.5, RECORDS)
            ),
        ).fit(RECORDS),
        "only outputs of kind 'log_odds'",
    ),
    (lambda: LabelInferenceAttack(VICTIM, POOL).fit(Records(X + 1, Y)), "at least 1 IN and 1 OUT"),
)
def test_bad_input_is_refused(call, words, error):
    check_refusal(call, words, error)


def test_stored_outputs_are_read_like_the_models():
    kept = FrozenEstimator(ShadowPool(TREE, 8, store="outputs", random_state=0).fit(RECORDS))
    scores = [LabelInferenceAttack(VICTIM, pool).fit(RECORDS) for pool in (POOL, kept)]
    first, other = (attack.score_samples(RECORDS) for attack in scores)
    np.testing.assert_allclose(first, other, rtol=1e-4)


def test_rows_of_one_person_are_not_independent():
    fitted = LabelInferenceAttack(VICTIM).fit(RECORDS)
    alone = fitted.compare(MEMBERS, OUTSIDE)
    twice = [
        Records.concat([some.with_fields(group_by=np.arange(len(some)) + 1000 * place)] * 2)
        for place, some in enumerate((MEMBERS, OUTSIDE))
    ]
    doubled = fitted.compare(*twice)
    np.testing.assert_allclose(doubled["estimate"], alone["estimate"])
    wide, narrow = (table["high"] - table["low"] for table in (doubled, alone))
    assert (wide > 0.95 * narrow).all()  # as with single rows, while free rows have 0.71 of it
