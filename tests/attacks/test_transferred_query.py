"""One label per record, for a query at which models without the record lose their confidence."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skmia import Records, ShadowPool
from skmia.attacks import ThresholdAttack, TransferredQueryAttack, _transferred_query
from skmia.attacks._transferred_query import (
    ConfidencePath,
    GradientSearch,
    SwapSearch,
    end,
    measure_confidence,
)
from skmia.base import Offer
from skmia.datasets import make_membership_problem
from skmia.defenses import LabelOnlyDefense

FOREST = RandomForestClassifier(10, random_state=0)


@pytest.fixture(scope="module")
def problem():
    records, membership = make_membership_problem(200, random_state=0)
    pool = ShadowPool(FOREST, 8, store="models", random_state=0).fit(records)
    members = records[membership == 1]
    victim = FrozenEstimator(RandomForestClassifier(10, random_state=1).fit(members.X, members.y))
    return victim, FrozenEstimator(pool), records, membership


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


def test_the_query_is_where_models_without_the_record_lose_their_confidence():
    records = Records(np.array([[2.0], [-3.0]]), [1, 0])
    models = [make_step(at) for at in (-1.0, 0.0, 0.0, -1.0)]
    inside = np.array([[1, 0], [0, 0], [0, 0], [1, 1]], dtype=bool)
    pool = FrozenEstimator(ShadowPool.from_models(models, inside, records, store="models"))
    settings = {"confidence": 0.5, "n_steps": 20, "step_size": 0.2}
    for victim, expected in ((models[0], 1.0), (make_step(0.5), 0.0)):
        attack = TransferredQueryAttack(FrozenEstimator(victim), pool, **settings).fit(records)
        # The models without the first record have their boundary at 0; a step has a length of 0.2.
        assert -0.2 - 1e-9 <= attack.make_queries(records)[0, 0] < 0
        assert attack.score_samples(records)[0] == expected


def test_one_label_is_asked_for_each_record(problem):
    victim, pool, records, _ = problem
    hidden = Counted(victim).fit(records.X, records.y)
    settings = {"confidence": 0.4, "n_steps": 2, "random_state": 0}
    attack = TransferredQueryAttack(FrozenEstimator(hidden), pool, **settings).fit(records)
    before = hidden.n_rows if hasattr(hidden, "n_rows") else 0
    scores = attack.score_samples(records)
    assert 0 < hidden.n_rows - before <= len(records)
    assert set(scores) <= {0.0, 1.0}
    open_one = TransferredQueryAttack(victim, pool, **settings).fit(records)
    np.testing.assert_array_equal(open_one.score_samples(records), scores)


def test_members_are_found_at_fewer_false_positives_than_by_correctness(problem, monkeypatch):
    monkeypatch.setattr(_transferred_query, "_CONFIDENCES", np.array([0.3, 0.6]))
    monkeypatch.setattr(_transferred_query, "_N_VICTIMS", 2)
    victim, pool, records, membership = problem
    attack = TransferredQueryAttack(victim, pool, target_fpr=0.45, random_state=0).fit(records)
    found = attack.predict(records)
    members, others = found[membership == 1], found[membership == 0]
    right = ThresholdAttack(victim, signal="correctness").fit(records).score_samples(records)
    assert others.mean() < right[membership == 0].mean()
    assert members.mean() > others.mean() + 0.1
    low, high = attack.rates_[attack.confidence_]
    assert low <= 0.45 and high == max(b for a, b in attack.rates_.values() if a <= 0.45)


def test_a_shadow_model_is_asked_as_the_victim_of_all_but_its_pair(monkeypatch):
    inside, walked = np.eye(6, dtype=bool), []

    class HalfSure:
        def walk(self, records, models, outside, classes, until):
            walked.append((models, outside.tolist()))
            return ConfidencePath(np.full((1, len(records)), 0.5), lambda steps: steps)

    monkeypatch.setattr(_transferred_query, "_CONFIDENCES", np.array([0.3, 0.6]))
    monkeypatch.setattr(_transferred_query, "_N_VICTIMS", 6)
    monkeypatch.setattr(_transferred_query, "is_right", lambda model, X, y, name: y == y)
    attack = TransferredQueryAttack()
    attack._search, attack._fewest = HalfSure(), 1
    attack.pool_ = SimpleNamespace(
        estimators_=[*"abcdef"], membership=lambda records: inside.T, classes_=[0, 1]
    )
    attack._choose_confidence(Records(np.arange(6.0)[:, None], np.zeros(6, int)))
    assert [models for models, _ in walked] == [[*"cdef"]] * 2 + [[*"abef"]] * 2 + [[*"abcd"]] * 2
    for models, outside in walked:
        assert outside == (~inside[["abcdef".index(name) for name in models]]).tolist()
    # No path comes below a confidence of 0.3, and a record without an end is no member.
    assert attack.rates_ == {0.3: (0.0, 0.0), 0.6: (1.0, 1.0)}


@pytest.mark.parametrize(("target_fpr", "confidence"), [(None, 0.3), (0.5, 0.6), (0.2, 0.3)])
def test_the_confidence_has_the_best_rates(target_fpr, confidence, monkeypatch):
    monkeypatch.setattr(_transferred_query, "_CONFIDENCES", np.array([0.3, 0.6]))
    attack = TransferredQueryAttack(target_fpr=target_fpr)
    attack._settle(np.array([[0.1, 0.3], [0.5, 0.6]]))
    assert attack.confidence_ == confidence


def test_a_record_whose_path_does_not_end_is_not_asked_about(problem):
    victim, pool, records, _ = problem
    hidden = Counted(victim).fit(records.X, records.y)
    settings = {"confidence": 0.05, "n_steps": 1, "random_state": 0}
    attack = TransferredQueryAttack(FrozenEstimator(hidden), pool, **settings).fit(records)
    has_ended = attack._make_queries(records)[1]
    scores = attack.score_samples(records)
    assert hidden.n_rows == has_ended.sum() < len(records)
    assert not scores[~has_ended].any()


def test_records_outside_of_the_pool_are_attacked(problem):
    victim, pool, records, _ = problem
    attack = TransferredQueryAttack(victim, pool, confidence=0.4, random_state=0).fit(records)
    foreign, _ = make_membership_problem(30, random_state=5)
    assert attack.can_judge(foreign).all()
    assert attack.score_samples(foreign).shape == (30,)


def test_swaps_keep_the_container_and_take_values_of_other_records():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=60),
            "kind": pd.Categorical(rng.choice(["a", "b"], size=60)),
            "count": rng.integers(5, size=60),
        }
    )
    y = (table["number"] > 0).astype(int).to_numpy()
    donors = Records(table, y)
    search = SwapSearch(donors, y, 3, 4, np.random.RandomState(0))
    queries = search._mix(table, np.arange(60)[::-1], np.zeros(60, int), np.full(60, 4))
    pd.testing.assert_frame_equal(queries, table[::-1].reset_index(drop=True))
    same = search._mix(table, np.arange(60)[::-1], np.zeros(60, int), np.zeros(60, int))
    pd.testing.assert_frame_equal(same, table)
    partners = search._choose_partners(donors)
    assert (y[partners] != y[:, None]).all()


def test_confidence_is_the_mean_over_the_models_without_the_record(problem):
    _, pool, records, _ = problem
    models, some = pool.estimator.estimators_, records[:20]
    outside = ~pool.estimator.membership(some).T
    found = measure_confidence(models, outside, some.X, some.y, pool.estimator.classes_)
    own = np.array([model.predict_proba(some.X)[np.arange(20), some.y] for model in models])
    np.testing.assert_allclose(found, (own * outside).sum(axis=0) / outside.sum(axis=0))


def test_a_walk_that_stops_ends_where_a_whole_one_does(problem):
    _, pool, records, _ = problem
    pool, some = pool.estimator, records[:50]
    outside, models = ~pool.membership(some).T, pool.estimators_
    swap = SwapSearch(records, records.y, 3, 5, np.random.RandomState(0))
    for until in (0.3, 0.6):
        whole = swap.walk(some, models, outside, pool.classes_)
        short = swap.walk(some, models, outside, pool.classes_, until)
        steps, has_ended = end(whole, until)
        np.testing.assert_array_equal(end(short, until), (steps, has_ended))
        np.testing.assert_array_equal(short.take(steps), whole.take(steps))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gradients_are_used_where_they_are(problem):
    _, pool, records, _ = problem
    net = MLPClassifier((8,), max_iter=20, random_state=0)
    nets = FrozenEstimator(ShadowPool(net, 4, store="models", random_state=0).fit(records))
    victim = FrozenEstimator(net.fit(records.X, records.y))
    kinds = {}
    for shadows in (nets, pool):
        attack = TransferredQueryAttack(victim, shadows, n_steps=2, confidence=0.5, random_state=0)
        attack.fit(records)
        kinds[shadows] = type(attack._search)
    assert list(kinds.values()) == [GradientSearch, SwapSearch]
    bounded = TransferredQueryAttack(
        victim, nets, confidence=0.01, n_steps=3, step_size=10.0, bounds=(-1.0, 1.0)
    )
    queries = bounded.fit(records).make_queries(records)
    moved = (queries != records.X).any(axis=1)
    assert moved.any() and np.abs(queries[moved]).max() <= 1
    with pytest.raises(TypeError, match="gradient"):
        TransferredQueryAttack(victim, pool, search="gradient").fit(records)


def test_needs_are_declared():
    needs = TransferredQueryAttack().needs()
    assert needs.keeps == {"models"} and needs.access == {"queries"}
    assert TransferredQueryAttack(search="gradient").needs().keeps == {"models", "gradients"}
    offer = Offer("label", access=frozenset({"queries"}), keeps=frozenset({"models"}))
    assert needs.why_not(offer) is None


def test_bad_input_is_refused(problem):
    victim, pool, records, _ = problem
    slim = FrozenEstimator(ShadowPool(FOREST, 4, random_state=0).fit(records))
    with pytest.raises(ValueError, match='store="models"'):
        TransferredQueryAttack(victim, slim).fit(records)
    with pytest.raises(ValueError, match="bounds must be two numbers"):
        TransferredQueryAttack(victim, pool, bounds=(1, 0)).fit(records)
    with pytest.raises(ValueError, match="task label that no shadow model knows"):
        attack = TransferredQueryAttack(victim, pool, confidence=0.5).fit(records)
        attack.score_samples(Records(records.X, records.y + 7))
    values = Records(records.X, records.X[:, 0])
    regressors = ShadowPool(LinearRegression(), 4, store="models", random_state=0).fit(values)
    with pytest.raises(ValueError, match="needs classifiers; got a pool of regressors"):
        TransferredQueryAttack(victim, FrozenEstimator(regressors)).fit(records)
    everywhere = ShadowPool.from_models(
        pool.estimator.estimators_[:2], np.ones((2, len(records)), bool), records, store="models"
    )
    with pytest.raises(ValueError, match="at least 1 OUT shadow models"):
        TransferredQueryAttack(victim, FrozenEstimator(everywhere)).fit(records)
    rows = Records(sparse.csr_array(records.X), records.y)
    machines = ShadowPool(LinearSVC(), 4, store="models", random_state=0).fit(rows)
    with pytest.raises(ValueError, match="takes features from an array or a table"):
        TransferredQueryAttack(victim, FrozenEstimator(machines)).fit(rows)


def test_missing_values_do_not_hide_the_neighbors(problem):
    _, _, records, _ = problem
    X = records.X.copy()
    X[::7, 0] = np.nan
    search = SwapSearch(Records(X, records.y), records.y, 2, 2, np.random.RandomState(0))
    scaled = StandardScaler().fit(X)
    expected = np.nan_to_num(scaled.transform(X), nan=0.0)
    placed = search._place(Records(X, records.y))
    assert np.isfinite(placed).all()
    np.testing.assert_allclose(placed[:, 1:], expected[:, 1:], rtol=1e-4, atol=1e-4)


def test_a_rate_that_is_not_reached_is_warned_of(problem):
    victim, pool, _, _ = problem
    attack = TransferredQueryAttack(victim, pool, target_fpr=0.1)
    low, high = np.array([[0.3, 0.6], [0.2, 0.4]]), np.array([[0.1, 0.2], [0.05, 0.4]])
    rates = np.concatenate([low] * 20)[:39]
    with pytest.warns(UserWarning, match="target_fpr=0.1 is not reached .* is 0.2, and"):
        attack._settle(rates)
    assert attack.rates_[attack.confidence_] == (0.2, 0.4)
    attack._settle(np.concatenate([high] * 20)[:39])
    assert attack.rates_[attack.confidence_] == (0.05, 0.4)
    attack.set_params(target_fpr=1 - 0.9)._settle(
        np.array([[0.05, 0.4], [0.1, 0.6], [0.3, 0.9]] * 13)
    )
    assert attack.rates_[attack.confidence_] == (0.1, 0.6)
