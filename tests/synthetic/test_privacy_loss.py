"""The privacy loss: by hand, under the null, for copies, and its intervals."""

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many
from refusals import check_refusal, parametrize_refusals
from scipy.spatial.distance import cdist
from scipy.stats import binom
from sklearn.base import clone

from skmia._core.randomness import derive_random_state
from skmia.synthetic import NearestNeighborAdversarialAccuracy, PrivacyLoss
from skmia.synthetic._adversarial_accuracy import HalfAccuracy, deal_rows


def measure(real, synthetic, **settings):
    return NearestNeighborAdversarialAccuracy(**settings).fit(real).evaluate(synthetic)


def make_tables(n, copied, rng, d=3):
    train, test, synthetic = rng.normal(size=(3, n, d))
    synthetic[: int(copied * n)] = train[: int(copied * n)]
    return train, test, synthetic


@pytest.mark.parametrize("version", ["original", "unbiased", "tie_corrected"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_it_is_the_difference_of_two_accuracies(version, metric):
    tables = np.random.default_rng(0).integers(0, 4, size=(3, 40, 3)).astype(float)
    loss = PrivacyLoss(version=version, metric=metric, n_permutations=0).fit(*tables)
    train, test = (measure(one, tables[2], version=version, metric=metric) for one in tables[:2])
    assert loss.train_accuracy_.mean == pytest.approx(train.mean, abs=1e-12)
    assert loss.test_accuracy_.synthetic == pytest.approx(test.synthetic, abs=1e-12)
    assert loss.statistic_ == pytest.approx(test.mean - train.mean, abs=1e-12)
    assert loss.pvalue_ is None and "No test" in loss.summary()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_columns_of_dataframes_are_compared_by_name(metric):
    rng = np.random.default_rng(2)
    tables = [
        pd.DataFrame(one * [1, 10, 100], columns=[*"abc"]) for one in make_tables(15, 0.6, rng)
    ]
    loss = PrivacyLoss(metric=metric, n_permutations=0, random_state=0)
    expected, rows = loss.fit(*tables).statistic_, loss.predict(tables[0])
    assert expected > 0 and len(set(rows)) == 2
    turned = tables[0], tables[1][[*"cab"]], tables[2][[*"bca"]]
    assert loss.fit(*turned).statistic_ == expected
    assert loss.predict(tables[0][[*"bac"]]).tolist() == rows.tolist()
    # Where a table has no names, by position.
    assert loss.fit(tables[0], turned[1], tables[2].to_numpy()).statistic_ == expected
    with pytest.raises(ValueError, match="synthetic lacks the column 'a' of train"):
        loss.fit(*tables[:2], tables[2].rename(columns={"a": "d"}))


def test_permutations_are_accuracies_of_reshuffled_tables():
    rng = np.random.default_rng(1)
    train, test, synthetic = make_tables(12, 0.1, rng)
    loss = PrivacyLoss(n_permutations=20, random_state=3).fit(train, test, synthetic)
    real, random_state = np.concatenate([train, test]), derive_random_state(3, "PrivacyLoss")
    as_large = 0
    for _ in range(20):
        is_train = random_state.permutation(np.arange(24) < 12)
        near, far = (measure(real[part], synthetic).mean for part in (is_train, ~is_train))
        as_large += far - near >= loss.statistic_ - 1e-12
    assert 0 < as_large < 20 and loss.pvalue_ == pytest.approx((1 + as_large) / 21)


@few_and_many(40)
def test_error_rates(n_draws):
    rng = np.random.default_rng(2)

    def count_rejections(copied, repetitions):
        return sum(
            PrivacyLoss(n_permutations=39, random_state=0)
            .fit(*make_tables(60, copied, rng))
            .pvalue_
            <= 0.05
            for _ in range(repetitions)
        )

    assert count_rejections(0, n_draws) <= binom.ppf(0.999, n_draws, 0.05)
    assert count_rejections(1.0, n_draws) == n_draws


@few_and_many(80)
@pytest.mark.parametrize("copied", [0, 0.3])
def test_intervals_cover(copied, n_draws):
    rng = np.random.default_rng(3)
    results = np.array(
        [
            PrivacyLoss(n_permutations=0).fit(*make_tables(60, copied, rng)).result_.to_numpy()
            for _ in range(n_draws)
        ]
    )
    truth = results[:, :, 0].mean(axis=0)
    inside = (results[:, :, 1] <= truth) & (truth <= results[:, :, 2])
    assert (inside.sum(axis=0) >= binom.ppf(0.001, n_draws, 0.95)).all()


def test_copies_and_draws():
    rng = np.random.default_rng(4)
    train, test, other = rng.normal(size=(3, 300, 4))
    copies = PrivacyLoss(random_state=0).fit(train, test, train)
    assert copies.statistic_ > 0.4 and copies.pvalue_ == 0.001
    told = copies.summary()
    assert "nearer to the training rows" in told and "at 95%" in told
    copies.set_params(confidence_level=0.999, n_permutations=9)
    assert copies.summary() == told
    assert "at 99.9%" in copies.fit(train[:20], test, train).summary()
    draws = PrivacyLoss(random_state=0).fit(train, test, other)
    assert draws.interval_[0] < 0 < draws.interval_[1] and draws.pvalue_ > 0.05
    assert "No sign" in draws.summary()


def test_tables_of_any_size_and_kind():
    rng = np.random.default_rng(5)

    def table(n):
        return pd.DataFrame({"age": rng.integers(18, 90, n), "work": rng.choice(list("abc"), n)})

    tables = table(60), table(30), table(50)
    loss = PrivacyLoss(metric="gower", n_permutations=9, random_state=0)
    first, second = loss.fit(*tables).pvalue_, clone(loss).fit(*tables).pvalue_
    assert loss.n_rows_ == 30 and first == second
    assert list(loss.result_.columns) == ["estimate", "low", "high"]


@parametrize_refusals(
    (lambda X: PrivacyLoss().fit(X, np.ones((4, 3)), X), "test has 3 columns and train has 2"),
    (lambda X: PrivacyLoss().fit(X, X, X[:1]), "synthetic needs at least 2 rows; got 1"),
    (lambda X: PrivacyLoss(n_permutations=-1).fit(X, X, X), "n_permutations"),
)
def test_bad_input(call, words, error):
    X = np.ones((4, 2))
    check_refusal(call, words, error, X)


@pytest.mark.parametrize("version", ["original", "tie_corrected"])
def test_deals_are_compared_at_once(version):
    rows = np.random.default_rng(6).integers(0, 6, size=(39, 3)).astype(float)
    halves = HalfAccuracy(rows[:26], rows[26:], "euclidean", version, None)
    deals = deal_rows(13)
    expected = [halves.compare(~first).mean - halves.compare(first).mean for first in deals]
    np.testing.assert_allclose(halves.compare_deals(deals), expected, atol=1e-12)


def test_rows_are_nearer_to_a_synthetic_row_than_to_another_row_by_hand():
    train, test = np.array([[0.0], [10.0], [20.0]]), np.array([[1.0], [1.2], [12.0]])
    loss = PrivacyLoss(n_permutations=0).fit(train, test, [[0.1], [10.1], [30.0]])
    # 0 is .1 from a synthetic and 1 from a held-out row; 10 is .1 and 2; 20 is 9.9 and 8.
    assert loss.predict(train).tolist() == [1, 1, 0]
    # 1 and 1.2 are .2 from each other; 12 is 1.9 and 10.8.
    assert loss.predict(test).tolist() == [0, 0, 1]
    assert loss.predict([[0.9]]).tolist() == [0]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_a_row_of_the_test_table_is_not_another_row_in_any_metric(metric):
    train, test, synthetic = np.random.default_rng(1).normal(size=(3, 40, 3))
    loss = PrivacyLoss(metric=metric, n_permutations=0, random_state=0).fit(train, test, synthetic)
    own, cross = (cdist(test, others, metric) for others in (test, synthetic))
    np.fill_diagonal(own, np.inf)
    assert loss.predict(test).tolist() == (cross.min(axis=1) < own.min(axis=1)).tolist()


def test_the_score_of_rows_is_their_privacy_loss():
    tables = make_tables(60, 0.4, np.random.default_rng(5))
    loss = PrivacyLoss(n_permutations=0, random_state=0).fit(*tables)
    real, sides = np.concatenate(tables[:2]), np.repeat([1, 0], 60)
    assert loss.score() == loss.score(real, sides) == loss.statistic_
    assert loss.score(real, sides) > 0.1
    assert loss.score(real, 1 - sides) == pytest.approx(-loss.statistic_)
