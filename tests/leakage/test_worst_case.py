import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from skmia.leakage import (
    WorstCaseVulnerability,
)

QUICK = {"n_permutations": 0, "random_state": 0}


@pytest.mark.slow
def test_scikit_learn_checks():
    # Others are in tests/test_common.py. Folds of this one warn of few rows in scikit-learn 1.6.
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    attack = WorstCaseVulnerability("classifier", estimator=tree, n_permutations=0)
    check_estimator(attack, on_skip=None)


def normal_distance(shift):
    """Total variation between two normal laws of unit variance."""
    return 2 * stats.norm.cdf(shift / 2) - 1


def make_normal_features(n, shift, n_features=1, seed=0):
    """Members and non-members whose first feature differs by a shift."""
    membership = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    X[:, 0] += shift * membership
    return X, membership


def test_zero_one_loss_gives_the_signed_gap():
    membership = np.repeat([1, 0], [40, 50])
    loss = np.concatenate([np.arange(40) < 4, np.arange(50) < 20]).astype(float)
    worst = WorstCaseVulnerability(**QUICK).fit(loss[:, None], membership)
    assert worst.method_ == "plugin"
    assert worst.vulnerability_ == pytest.approx(0.3)
    assert worst.signed_gap_ == pytest.approx(0.1 - 0.4)
    # Members are right more often: the loss of 0 is the witness.
    assert worst.predict([[0.0], [1.0], [0.5]]).tolist() == [1, 0, 0]
    assert worst.predict_proba([[0.0], [0.5]])[:, 1] == pytest.approx([0.9 / (0.9 + 0.6), 0.5])
    other = WorstCaseVulnerability(**QUICK).fit(1 - loss[:, None], membership)
    assert other.signed_gap_ == pytest.approx(0.3)


def test_constant_features_tell_nothing():
    worst = WorstCaseVulnerability(random_state=0).fit(np.ones((20, 2)), np.arange(20) % 2)
    assert worst.vulnerability_ == worst.lower_bound_ == worst.bias_ == 0
    assert worst.pvalue_ == 1
    assert worst.signed_gap_ is None


@pytest.mark.parametrize("method", ["kde", "neighbors", "classifier"])
@pytest.mark.parametrize("n_features", [1, 2])
@pytest.mark.parametrize("shift", [1.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_distance_of_normal_laws(method, n_features, shift):
    X, membership = make_normal_features(4000, shift, n_features)
    worst = WorstCaseVulnerability(method, estimator=LogisticRegression(), **QUICK)
    worst.fit(X, membership)
    # Three standard errors of a difference of two rates of 2,000 records each.
    assert worst.vulnerability_ == pytest.approx(normal_distance(shift), abs=0.05)
    assert worst.lower_bound_ <= normal_distance(shift)
    # Two limits of 95% and three standard errors, of rates of 1,000 records each.
    assert worst.lower_bound_ >= normal_distance(shift) - 0.13


def test_distance_of_two_scales_needs_no_threshold():
    # One density is the larger one inside an interval, so that no threshold is best.
    rng = np.random.default_rng(0)
    membership = np.arange(20_000) % 2
    X = rng.normal(size=(20_000, 1)) * np.where(membership, 1, 3)[:, None]
    edge = np.sqrt(2 * np.log(3) / (1 - 1 / 9))
    truth = 2 * (stats.norm.cdf(edge) - stats.norm.cdf(edge / 3))
    worst = WorstCaseVulnerability("kde", **QUICK).fit(X, membership)
    assert worst.vulnerability_ == pytest.approx(truth, abs=0.02)
    assert truth - 0.05 < worst.lower_bound_ < truth
    assert worst.threshold_advantage_.high < truth


@pytest.mark.parametrize("method", ["plugin", "kde", "neighbors", "classifier"])
def test_members_among_the_non_members_shrink_the_distance(method):
    # A share rho of non-members drawn like members leaves (1 - rho) of the distance.
    X, membership = make_normal_features(10_000, 1.5, seed=1)
    X = X.round(1)
    turned = (membership == 0) & (np.random.default_rng(2).random(len(X)) < 0.4)
    X[turned] += 1.5
    worst = WorstCaseVulnerability(method, estimator=LogisticRegression(), **QUICK)
    worst.fit(X, membership)
    assert worst.vulnerability_ == pytest.approx(0.6 * normal_distance(1.5), abs=0.03)


def majority_of_neighbors(X, members, n_neighbors):
    """Advantage of the majority among the nearest neighbors, with one loop a row."""
    X = X / X.std(axis=0)
    guesses = np.zeros(len(X), dtype=bool)
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        distance = ((X[others] - X[row]) ** 2).sum(axis=1)
        nearest = members[others][np.argsort(distance)[:n_neighbors]]
        shares = members[others].sum(), (~members[others]).sum()
        guesses[row] = nearest.sum() / shares[0] > (~nearest).sum() / shares[1]
    return guesses[members].mean() - guesses[~members].mean()


@pytest.mark.parametrize("n_features", [2, 8])
def test_neighbors_judge_each_row_without_itself(n_features):
    rng = np.random.default_rng(4)
    members = np.arange(120) % 3 == 0
    X = rng.normal(size=(120, n_features)) * [10.0] + members[:, None] * 8
    worst = WorstCaseVulnerability("neighbors", n_neighbors=7, **QUICK).fit(X, members)
    expected = majority_of_neighbors(X, members, 7)
    assert 0.2 < expected < 1
    assert worst.vulnerability_ == pytest.approx(expected)


def test_neighbors_do_not_see_the_order_of_copies():
    # All members first, and each row with many copies: the place in the table must not tell.
    X = np.repeat([[0.0], [1.0]], 500, axis=0)[np.random.default_rng(5).permutation(1000)]
    membership = np.arange(1000) < 500
    worst = WorstCaseVulnerability("neighbors", random_state=0).fit(X, membership)
    assert worst.pvalue_ > 0.01


def test_classifier_is_measured_on_rows_it_was_not_trained_on():
    class Memory(LogisticRegression):
        """Knows by heart what it has seen."""

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.seen_ = {row.tobytes(): one for row, one in zip(X, y, strict=True)}
            return self

        def predict_proba(self, X):
            known = np.array([self.seen_.get(row.tobytes(), 0) for row in X])
            return np.column_stack([1 - known, known])

    X, membership = make_normal_features(60, 0.0)
    worst = WorstCaseVulnerability("classifier", estimator=Memory(), **QUICK).fit(X, membership)
    assert worst.vulnerability_ == worst.lower_bound_ == 0
    assert worst.score(X, membership) == 1


def test_classifier_answers_for_equal_priors():
    rng = np.random.default_rng(6)
    membership = np.arange(6000) % 6 == 0
    X = rng.normal(size=(6000, 1)) + membership[:, None]
    worst = WorstCaseVulnerability("classifier", estimator=LogisticRegression(), **QUICK)
    worst.fit(X, membership)
    # Of the log-odds x - 1 / 2 of the truth.
    proba = worst.predict_proba([[0.5], [1.5]])[:, 1]
    np.testing.assert_allclose(proba, [0.5, 1 / (1 + np.exp(-1))], atol=0.03)
    assert worst.vulnerability_ == pytest.approx(normal_distance(1.0), abs=0.04)


def test_any_splitter_will_do_and_boosted_trees_are_the_default():
    X, membership = make_normal_features(400, 2.0)
    cv = ShuffleSplit(2, test_size=0.3, random_state=0)
    worst = WorstCaseVulnerability("classifier", cv=cv, **QUICK).fit(X, membership)
    assert 0.4 < worst.vulnerability_ < 0.9


@pytest.mark.parametrize(
    "X, expected",
    [
        (np.arange(200)[:, None] % 10, "plugin"),
        (np.arange(200)[:, None] * 1.5, "kde"),
        (np.column_stack([np.arange(200), np.arange(200) ** 2]), "neighbors"),
        (np.where(np.arange(200) % 2, np.arange(200), 0)[:, None], "neighbors"),
    ],
    ids=["few values", "one feature", "two features", "no spread among non-members"],
)
def test_automatic_choice(X, expected):
    worst = WorstCaseVulnerability(**QUICK).fit(X, np.arange(200) % 2)
    assert worst.method_ == expected


def test_score_of_new_records_is_the_advantage():
    X, membership = make_normal_features(3000, 1.0)
    worst = WorstCaseVulnerability(**QUICK)
    scores = cross_val_score(worst, X, membership, cv=3)
    assert scores.mean() == pytest.approx(normal_distance(1.0), abs=0.05)
    search = GridSearchCV(worst, {"method": ["kde", "neighbors"]}, cv=2).fit(X, membership)
    assert search.best_estimator_.vulnerability_ > 0.3


@pytest.mark.parametrize("method", ["kde", "neighbors", "classifier"])
def test_random_state_fixes_everything(method):
    X, membership = make_normal_features(60, 0.5, n_features=2)
    model = DecisionTreeClassifier(max_depth=3, max_features=1)
    worst = WorstCaseVulnerability(method, estimator=model, n_permutations=2)
    fits = []
    for n_jobs, seed in ((1, 0), (2, 0), (1, 1)):
        one = clone(worst).set_params(n_jobs=n_jobs, random_state=seed)
        with parallel_config("threading"):
            fits.append(one.fit(X, membership))
    assert fits[0].vulnerability_ == fits[1].vulnerability_
    assert fits[0].lower_bound_ == fits[1].lower_bound_
    np.testing.assert_array_equal(fits[0].null_, fits[1].null_)
    assert (fits[0].null_ != fits[2].null_).any()


def test_single_members_are_enough_for_an_estimate():
    worst = WorstCaseVulnerability("neighbors", **QUICK).fit([[0.0], [1.0]], [0, 1])
    assert worst.lower_bound_ == 0
    assert WorstCaseVulnerability(**QUICK).fit([[0.0], [1.0]], [0, 1]).vulnerability_ == 1


X, MEMBERSHIP = make_normal_features(20, 1.0)
CONSTANT = np.where(MEMBERSHIP == 1, 0.0, np.arange(20))[:, None]


@pytest.mark.parametrize(
    "parameters, X, y, message",
    [
        ({}, X, np.ones(20), "Membership holds one class only"),
        ({}, X, np.arange(20) % 3, "Only binary classification is supported"),
        ({"method": "histogram"}, X, MEMBERSHIP, "The 'method' parameter"),
        ({"confidence_level": 95}, X, MEMBERSHIP, "The 'confidence_level' parameter"),
        ({"cv": 1}, X, MEMBERSHIP, "The 'cv' parameter"),
        ({"method": "kde"}, CONSTANT, MEMBERSHIP, "one value for all 10 members"),
        ({"group_column": "race"}, X, MEMBERSHIP, "group_column='race' is not a column of X"),
        ({"group_column": 1}, X, MEMBERSHIP, "group_column=1 is not a column of X"),
        ({"group_column": 0}, X, MEMBERSHIP, "no feature other than the column group_column=0"),
    ],
)
def test_bad_input_is_named(parameters, X, y, message):
    with pytest.raises(ValueError, match=message):
        WorstCaseVulnerability(**parameters).fit(X, y)


def test_a_summary_of_two_features_names_no_threshold():
    both = np.column_stack([X[:, 0], X[:, 0] % 3])
    one, two = (WorstCaseVulnerability("plugin").fit(part, MEMBERSHIP) for part in (X, both))
    assert "best threshold" in one.summary() and "best threshold" not in two.summary()
    assert two.threshold_advantage_ is None and "vulnerability" in two.summary()


def test_a_fold_without_a_side_is_named():
    class OneSided:
        def split(self, X, y):
            yield np.flatnonzero(y), np.flatnonzero(~y)

    worst = WorstCaseVulnerability("classifier", estimator=LogisticRegression(), cv=OneSided())
    with pytest.raises(ValueError, match="use a stratified cv"):
        worst.fit(X, MEMBERSHIP)
