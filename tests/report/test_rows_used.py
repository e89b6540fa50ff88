"""Training rows that fit left out are counted."""

import json
import re

import numpy as np
import pandas as pd
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
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import StudentDefense
from skmia.report import recommend_release
from skmia.report._case import StoredAnswers
from skmia.report._document import check_document
from skmia.report._left_out import count_left_out, find_left_out
from skmia.report._rows_used import (
    WeightlessRecords,
    describe_dropped_rows,
    find_used_rows,
    find_weightless,
)
from skmia.victims import CallableVictim

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
    assert "1 of 100 members has a sample weight of 0" in " ".join(report.notes)
    assert "25 of 100 training rows" in " ".join(report.summary().split())


ROWS = Records(np.arange(8.0)[:, None] % 7, [0, 1, 0, 1, 0, 1, 0, 0])  # the last equals the first
MARKS = np.array([1, 1, 1, 0, 0, 0, 0, 1], dtype=bool)
WEIGHTED = [
    (LogisticRegression(), [0, 0, 1, 0, 2, 1, 1, 0], ([2, 4, 5, 6], [0, 1, 7], 1, (4, 4))),
    (make_pipeline(StandardScaler(), SVC()), [1, 0, 1, 2, 1, 1, 1, 0], ([0, 2, *range(3, 8)], [1])),
    (LogisticRegression(), [1, 1, 1, 1, 1, 0, 1, 1], ([*range(5), 6, 7], [], 1)),
    (StoredAnswers(), [1, 0, 1, 1, 1, 1, 1, 1], ([0, *range(2, 8)], [1], 0)),
    (CallableVictim(len, [0, 1]), [1, 0, 1, 1, 1, 1, 1, 1], ([0, *range(2, 8)], [1], 0)),
    (LogisticRegression(), [1, 1, 1, 0.5, 2, 1, 1, 0], None),
    (KNeighborsClassifier(), [0, 0, 1, 0, 2, 1, 1, 1], None),
    (LogisticRegression(), None, None),
]


@pytest.mark.parametrize(("model", "weights", "expected"), WEIGHTED)
def test_records_of_weight_0_are_found_unless_an_equal_one_of_their_side_has_more(
    model, weights, expected
):
    records = ROWS if weights is None else ROWS.with_fields(sample_weight=weights)
    found = find_weightless(model, records, MARKS)
    if expected is None:
        assert found is None
    else:
        told = found.kept.tolist(), found.fitted.tolist(), *found[2:]
        assert told[: len(expected)] == expected


@pytest.mark.parametrize(("side", "name"), [(MARKS, "members"), (~MARKS, "non-members")])
def test_a_side_of_weight_0_is_refused(side, name):
    records = ROWS.with_fields(sample_weight=np.where(side, 0, 1))
    with pytest.raises(ValueError, match=f"^All {name} have a sample weight of 0, and no model"):
        find_weightless(LogisticRegression(), records, MARKS)


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ((1, 0), "1 of 1,000 members has a sample weight of 0 and was left out: .* trained on it."),
        ((0, 1), "1 of 2,000 non-members has a sample weight of 0 and was left out: .* on it."),
        (
            (1000, 1),
            "1,000 of 1,000 members and 1 of 2,000 non-members have a sample weight of 0 and were "
            "left out: no model is trained on them.",
        ),
    ],
)
def test_records_of_weight_0_are_told(counts, note):
    n_members, n_others = counts
    found = WeightlessRecords(None, range(n_members), n_others, (1000, 2000))
    (told,) = found.describe()
    assert re.fullmatch(note, told)
    assert found.count() == {"weightless_members": n_members, "weightless_nonmembers": n_others}


def test_members_of_weight_0_are_no_members_of_an_audit():
    rows = MEMBERSHIP == 1
    weights = np.where(np.arange(len(RECORDS)) % 3 == 0, 0.0, 1.0)
    model = DecisionTreeClassifier(max_depth=6, random_state=0)
    model.fit(RECORDS.X[rows], RECORDS.y[rows], sample_weight=weights[rows])
    records, kept = RECORDS.with_fields(sample_weight=weights), weights > 0
    settings = {"shadows": 4, "random_state": 0}
    settings["attacks"] = {"loss": ThresholdAttack(), "LiRA": LiRA()}
    report = audit(model, records, MEMBERSHIP, **settings)
    same = audit(model, records[kept], MEMBERSHIP[kept], **settings)
    pd.testing.assert_frame_equal(report.results, same.results)
    assert report.performance == same.performance
    assert [report.checks[name] for name in report.checks if name != "training rows"] == [
        same.checks[name] for name in same.checks if name != "training rows"
    ]
    n, m = int((rows & ~kept).sum()), int((~rows & ~kept).sum())
    counts = {"weightless_members": n, "weightless_nonmembers": m}
    assert report.data == same.data | {"weightless": counts} and n and m
    said = (
        f"{n} of {rows.sum()} members and {m} of {(~rows).sum()} non-members have a sample weight"
    )
    assert said in " ".join(report.notes)
    np.testing.assert_array_equal(report.positions, np.flatnonzero(kept))
    # They are looked for in the file, which may count what it was given.
    assert report.file.facts["outsiders"] == 0
    assert report.checks["training rows"].status == "passed"
    assert check_document(json.loads(report.to_json()))["data"] == report.data
    found = recommend_release(report, model, records, policy="research")
    assert found.limits == recommend_release(same, model, records[kept], policy="research").limits


def test_a_class_is_lost_and_records_of_weight_0_are_left_out_at_once():
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1] * 2)
    inside = np.arange(24) < 12
    y[23] = 2
    weights = np.where(np.isin(np.arange(24), [3, 20, 23]), 0, 1)
    records = Records(np.arange(24.0)[:, None], y, sample_weight=weights)
    model = DecisionTreeClassifier().fit(records.X[:12], y[:12], weights[:12])
    found = find_left_out(model, records.with_outputs(model), inside)
    assert found.kept.tolist() == np.setdiff1d(np.arange(24), [3, 20, 23]).tolist()
    assert found.fitted.tolist() == [3] and len(found.notes) == 2
    assert count_left_out(found.counts) == 3  # the last record has both, and counts once
    assert found.counts["weightless"] == {"weightless_members": 1, "weightless_nonmembers": 1}


def test_rows_of_a_student_are_not_those_of_the_training():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 2
    student = StudentDefense(RandomForestClassifier(1), X[:20] + 1).fit(X, y)
    assert describe_dropped_rows(student.estimator_, 20)  # which are others
    for n_rows in (20, 100):
        assert describe_dropped_rows(student, n_rows) == []
        assert describe_dropped_rows(make_pipeline("passthrough", student), n_rows) == []


def test_an_ensemble_of_fewer_rows_than_are_listed_has_not_left_any_out():
    forest = RandomForestClassifier(30, random_state=0).fit(X[:80], Y[:80])
    assert describe_dropped_rows(forest, 80) == describe_dropped_rows(forest, 100) == []
    bags = BaggingClassifier(max_samples=10, n_estimators=2, random_state=0).fit(X[:80], Y[:80])
    assert describe_dropped_rows(bags, 80) and describe_dropped_rows(bags, 100) == []
