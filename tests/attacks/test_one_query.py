"""One label per record, for a query that is made with shadow models."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool
from skmia.attacks import OneQueryAttack, ThresholdAttack
from skmia.base import Offer
from skmia.datasets import make_membership_problem
from skmia.defenses import LabelOnlyDefense

NET = MLPClassifier((32,), max_iter=60, learning_rate_init=0.01, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def problem():
    records, membership = make_membership_problem(240, random_state=0)
    pool = ShadowPool(NET, 8, store="models", random_state=0).fit(records)
    return FrozenEstimator(pool), records, membership


def fit_net(records):
    return MLPClassifier(**NET.get_params()).fit(records.X, records.y)


class Counted(LabelOnlyDefense):
    """Counts the rows that it is asked for."""

    def predict(self, X):
        self.n_rows = getattr(self, "n_rows", 0) + len(X)
        return super().predict(X)


def make_step(threshold):
    """A logistic regression on one feature whose boundary is at a threshold."""
    model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[4.0]]), np.array([-4.0 * threshold])
    return model


def test_the_query_lies_between_the_boundaries_of_both_kinds_of_models():
    records = Records(np.array([[2.0], [-3.0]]), [1, 0])
    # A model with the first record has its boundary at 0, others at 1; nothing else is known.
    models = [make_step(at) for at in (0.0, 0.0, 1.0, 1.0)]
    inside = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], dtype=bool)
    pool = FrozenEstimator(ShadowPool.from_models(models, inside, records, store="models"))
    attack = OneQueryAttack(FrozenEstimator(models[0]), pool, penalty=0.0, n_steps=50).fit(records)
    query = attack.make_queries(records)[0, 0]
    # By symmetry the sum of the two losses is least in the middle, at every unit of the margin.
    assert query == pytest.approx(0.5, abs=0.15)
    for victim, expected in ((models[1], 1.0), (models[2], 0.0)):
        asked = OneQueryAttack(FrozenEstimator(victim), pool, penalty=0.0, n_steps=50)
        assert asked.fit(records).score_samples(records)[0] == expected


def test_one_label_tells_more_than_the_label_of_the_record(problem):
    pool, records, membership = problem
    aucs, settings = [], {"n_steps": 10}
    for seed in range(3):
        drawn = np.random.default_rng(seed).permutation(membership)
        victim = FrozenEstimator(fit_net(records[drawn == 1]))
        attack = OneQueryAttack(victim, pool, **settings).fit(records)
        if "penalty" not in settings:  # chosen by the pool, so the same for each victim
            assert set(attack.advantage_) == {0.3, 1.0, 3.0, np.inf}
            assert attack.penalty_ == max(attack.advantage_, key=attack.advantage_.get)
            settings["penalty"] = attack.penalty_
        gap = ThresholdAttack(victim, signal="correctness").fit(records)
        aucs.append([roc_auc_score(drawn, one.score_samples(records)) for one in (attack, gap)])
    one_query, gap = np.mean(aucs, axis=0)
    assert one_query > 0.62
    assert one_query > gap + 0.01


def test_the_victim_is_asked_for_one_label_per_record(problem):
    pool, records, membership = problem
    members = records[membership == 1]
    inner = fit_net(members)
    victim = Counted(FrozenEstimator(inner)).fit(members.X, members.y)
    attack = OneQueryAttack(FrozenEstimator(victim), pool, penalty=1.0, n_steps=5).fit(records)
    victim.n_rows = 0
    scores = attack.score_samples(records)
    assert victim.n_rows == len(records)
    assert set(scores) == {0.0, 1.0}
    open_one = OneQueryAttack(FrozenEstimator(inner), pool, penalty=1.0, n_steps=5).fit(records)
    np.testing.assert_array_equal(open_one.score_samples(records), scores)


def test_a_model_without_the_records_gives_nothing_away(problem):
    pool, records, membership = problem
    others, _ = make_membership_problem(150, random_state=1)
    victim = FrozenEstimator(fit_net(others))
    attack = OneQueryAttack(victim, pool, penalty=1.0, n_steps=10).fit(records)
    found = attack.predict(records)
    members, rest = found[membership == 1], found[membership == 0]
    error = np.sqrt(0.25 / len(members) + 0.25 / len(rest))
    assert abs(members.mean() - rest.mean()) < 3.3 * error


def test_a_query_keeps_its_bounds_and_infinite_penalty_keeps_the_record(problem):
    pool, records, _ = problem
    victim = pool.estimator.estimators_[0]
    kept = OneQueryAttack(FrozenEstimator(victim), pool, penalty=np.inf).fit(records)
    np.testing.assert_array_equal(kept.make_queries(records), records.X)
    bounded = OneQueryAttack(
        FrozenEstimator(victim), pool, penalty=0.1, n_steps=5, bounds=(-1, 1)
    ).fit(records)
    queries = bounded.make_queries(records)
    assert queries.min() >= -1
    assert queries.max() <= 1


def test_records_outside_the_pool_are_not_judged(problem):
    pool, records, _ = problem
    victim = FrozenEstimator(pool.estimator.estimators_[0])
    attack = OneQueryAttack(victim, pool, penalty=1.0, n_steps=2).fit(records)
    other = Records(records.X[:2] + 1, records.y[:2])
    assert not attack.can_judge(other).any()
    assert (attack.predict(other) == 0).all()


def test_needs_are_queries_of_labels_and_models_of_the_pool():
    needs = OneQueryAttack().needs()
    assert needs.why_not(Offer("label", access=frozenset({"queries"}))) is None
    assert 'store="models"' in needs.why_not(
        Offer("label", access=frozenset({"queries"}), keeps=frozenset({"auto"}))
    )
    forest = {"gradients": "which skmia cannot read from RandomForestClassifier"}
    offer = Offer("label", access=frozenset({"queries"}), withheld=forest)
    assert needs.why_not(offer) == (
        "it needs the gradients of the shadow models, which skmia cannot read from "
        "RandomForestClassifier"
    )
    assert "regressor" in needs.why_not(Offer("value", access=frozenset({"queries"})))


@pytest.mark.parametrize(
    "model, error, message",
    [
        (RandomForestClassifier(2, random_state=0), TypeError, "White-box access"),
        (make_pipeline(StandardScaler(), LogisticRegression()), ValueError, "transform"),
    ],
)
def test_models_that_do_not_suit_are_refused(problem, model, error, message):
    _, records, _ = problem
    pool = ShadowPool(model, 2, store="models", random_state=0).fit(records)
    victim = FrozenEstimator(pool.estimators_[0])
    with pytest.raises(error, match=message):
        OneQueryAttack(victim, FrozenEstimator(pool)).fit(records)


def test_settings_that_do_not_suit_are_refused(problem):
    pool, records, _ = problem
    victim = FrozenEstimator(pool.estimator.estimators_[0])
    small = ShadowPool(LogisticRegression(), 2, random_state=0).fit(records)
    with pytest.raises(ValueError, match='store="models"'):
        OneQueryAttack(victim, FrozenEstimator(small)).fit(records)
    with pytest.raises(ValueError, match="smaller one first"):
        OneQueryAttack(victim, pool, bounds=(1, 0)).fit(records)
    with pytest.raises(ValueError, match="at least 1 IN and 1 OUT"):
        OneQueryAttack(victim, pool).fit(Records(records.X + 1, records.y))


def test_a_label_that_no_shadow_model_knows_is_named():
    records, step = Records(np.array([[2.0], [-3.0]]), [1, 0]), make_step(0.0)
    inside = np.array([[True, False], [False, True]])
    pool = ShadowPool.from_models([step, step], inside, records, store="models")
    attack = OneQueryAttack(FrozenEstimator(step), FrozenEstimator(pool), penalty=0.0).fit(records)
    words = "1 of 2 records have a task label that no shadow model knows, first 7 at position 1"
    with pytest.raises(ValueError, match=words):
        attack.score_samples(Records(records.X, [1, 7]))
