"""Training rows that fit left out are counted."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RANSACRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.report._rows_used import (
    describe_dropped_rows,
    describe_weightless_members,
    find_used_rows,
)

RECORDS, MEMBERSHIP = make_membership_problem(200, random_state=0)
X, Y = RECORDS.X[:100], RECORDS.y[:100]


class Undersampler(BaseEstimator):
    """Keeps every k-th row, as a sampler of imbalanced-learn tells it."""

    def __init__(self, k=4):
        self.k = k

    def transform(self, X):
        return X  # nothing is dropped in predict

    def fit_resample(self, X, y):
        self.sample_indices_ = np.arange(0, len(X), self.k)
        return X[self.sample_indices_], y[self.sample_indices_]


class Cleaner(Undersampler):
    """Tells it by a mask."""

    def fit_resample(self, X, y):
        self.kept_mask_ = np.arange(len(X)) % self.k == 0
        return X[self.kept_mask_], y[self.kept_mask_]


class SamplingPipeline(Pipeline):
    """Passes the rows that its samplers keep to the last step."""

    def fit(self, X, y):
        for _, step in self.steps[:-1]:
            X, y = step.fit_resample(X, y)
        self.steps[-1][1].fit(X, y)
        return self

    def predict(self, X):
        return self.steps[-1][1].predict(X)

    def predict_proba(self, X):
        return self.steps[-1][1].predict_proba(X)

    @property
    def classes_(self):
        return self.steps[-1][1].classes_


def make(*samplers, last=None):
    last = DecisionTreeClassifier(random_state=0) if last is None else last
    return SamplingPipeline([*((f"s{k}", one) for k, one in enumerate(samplers)), ("last", last)])


def test_a_sampler_in_a_pipeline():
    model = make(Undersampler()).fit(X, Y)
    (note,) = describe_dropped_rows(model, 100)
    assert note.startswith(
        "25 of 100 training rows reached the DecisionTreeClassifier (Undersampler)"
    )
    np.testing.assert_array_equal(find_used_rows(model, 100).rows, np.arange(0, 100, 4))


def test_two_samplers_one_after_the_other():
    model = make(Undersampler(2), Cleaner(5)).fit(X, Y)
    np.testing.assert_array_equal(find_used_rows(model, 100).rows, np.arange(0, 100, 10))
    assert "10 of 100" in describe_dropped_rows(model, 100)[0]


def test_a_sampler_that_repeats_rows_drops_none():
    model = make(Undersampler()).fit(X, Y)
    model.steps[0][1].sample_indices_ = np.r_[np.arange(100), 3, 3, 5]
    assert describe_dropped_rows(model, 100) == []


def test_outliers_that_a_regressor_leaves_out():
    y = X[:, 0].copy()
    y[:7] += 1000
    model = RANSACRegressor(LinearRegression(), residual_threshold=1.0, random_state=0).fit(X, y)
    assert describe_dropped_rows(model, 100)[0].startswith(
        "93 of 100 training rows reached the Line"
    )


def test_members_of_an_ensemble_that_draw_few_rows():
    model = BaggingClassifier(
        LogisticRegression(), n_estimators=2, max_samples=10, bootstrap=False, random_state=0
    ).fit(X, Y)
    n_used = len(np.union1d(*model.estimators_samples_))
    assert describe_dropped_rows(model, 100)[0].startswith(f"{n_used} of 100 training rows reached")
    forest = RandomForestClassifier(3, max_samples=5, random_state=0).fit(X, Y)
    assert "of RandomForestClassifier" in describe_dropped_rows(forest, 100)[0]


def test_samplers_within_members_and_searches():
    two = VotingClassifier([("a", make(Undersampler(4))), ("b", make(Undersampler(10)))]).fit(X, Y)
    expected = len(np.union1d(np.arange(0, 100, 4), np.arange(0, 100, 10)))
    assert f"{expected} of 100" in describe_dropped_rows(two, 100)[0]
    whole = VotingClassifier([("a", make(Undersampler(4))), ("b", LogisticRegression())])
    assert describe_dropped_rows(whole.fit(X, Y), 100) == []
    search = GridSearchCV(make(Undersampler()), {"s0__k": [4]}, cv=2).fit(X, Y)
    assert "25 of 100" in describe_dropped_rows(search, 100)[0]


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        SVC(),
        KNeighborsClassifier(),
        RandomForestClassifier(20, random_state=0),
        BaggingClassifier(n_estimators=20, random_state=0),
        GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_nothing_is_said_of_models_that_get_all_rows(model):
    assert describe_dropped_rows(model.fit(X, Y), 100) == []
    assert describe_dropped_rows(model, 90) == []


def test_indices_of_other_rows_are_not_taken_for_the_members():
    model = make(Undersampler()).fit(X, Y)
    assert describe_dropped_rows(model, 50) == []


def test_an_audit_says_it():
    rows = MEMBERSHIP == 1
    model = make(Undersampler()).fit(RECORDS.X[rows], RECORDS.y[rows])
    weights = np.where(np.arange(len(RECORDS)) == np.flatnonzero(rows)[7], 0.0, 1.0)
    report = audit(
        model,
        RECORDS.with_fields(sample_weight=weights),
        MEMBERSHIP,
        estimator=DecisionTreeClassifier(),
        attacks={"loss": ThresholdAttack()},
        file=False,
        random_state=0,
    )
    assert "25 of 100 training rows" in " ".join(report.notes)
    assert "1 of 100 members have a sample weight of 0." in " ".join(report.notes)
    assert "25 of 100 training rows" in " ".join(report.summary().split())


@pytest.mark.parametrize(
    ("model", "weights", "told"),
    [
        (LogisticRegression(), [0, 0, 1, 0, 2], "2 of 3 members have a sample weight of 0"),
        (make_pipeline(StandardScaler(), SVC()), [0, 0.5, 1, 0, 2], "1 of 3 members"),
        (LogisticRegression(), [1, 1, 1, 0, 0], None),
        (KNeighborsClassifier(), [0, 0, 1, 0, 2], None),
        (LogisticRegression(), None, None),
    ],
)
def test_members_without_weight_are_told(model, weights, told):
    fields = {} if weights is None else {"sample_weight": weights}
    records = Records(np.zeros((5, 1)), [0, 1, 0, 1, 0], **fields)
    notes = describe_weightless_members(model, records, np.array([1, 1, 1, 0, 0]))
    assert len(notes) == (told is not None)
    assert told is None or notes[0].startswith(told)
