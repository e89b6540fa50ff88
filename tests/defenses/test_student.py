"""Students know the training rows only through the labels of their teachers, which still leak."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import CalibratedAttack, StoredValuesAttack
from skmia.defenses import StudentDefense
from skmia.metrics import auc_interval

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + RNG.normal(size=200) > 0).astype(int)
PUBLIC = RNG.normal(size=(300, 4))
TREE = DecisionTreeClassifier(random_state=0)


def test_a_student_learns_the_labels_of_its_teacher_and_keeps_no_training_row():
    neighbors = KNeighborsClassifier(1)
    defended = StudentDefense(neighbors, PUBLIC).fit(X, Y)
    teacher = neighbors.fit(X, Y)
    np.testing.assert_array_equal(defended.predict(PUBLIC), teacher.predict(PUBLIC))
    candidates = Records(np.concatenate([X, PUBLIC]), np.append(Y, teacher.predict(PUBLIC)))
    for victim, rows in ((teacher, slice(0, 200)), (defended.estimator_, slice(200, None))):
        attack = StoredValuesAttack(FrozenEstimator(victim)).fit(candidates)
        found = np.zeros(500, dtype=bool)
        found[attack.found_.index] = True
        expected = np.zeros(500, dtype=bool)
        expected[rows] = True
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("student", [None, GaussianNB()])
def test_soft_labels_are_the_probabilities_of_the_teacher(student):
    teacher = LogisticRegression()
    defended = StudentDefense(teacher, PUBLIC, student=student, labels="soft").fit(X, Y)
    proba = teacher.fit(X, Y).predict_proba(PUBLIC)
    rows, columns = np.nonzero(proba)
    expected = (LogisticRegression() if student is None else student).fit(
        PUBLIC[rows], columns, sample_weight=proba[rows, columns]
    )
    np.testing.assert_allclose(
        defended.predict_proba(X), expected.predict_proba(X), rtol=1e-5, atol=1e-8
    )


def test_a_generator_is_fitted_on_the_training_rows_in_each_fit():
    frame = pd.DataFrame(X, columns=list("abcd"))
    defended = StudentDefense(
        KNeighborsClassifier(1), KernelDensity(bandwidth=0.01), n_samples=50, random_state=0
    )
    rows = defended.fit(frame, Y).estimator_._fit_X
    assert rows.shape == (50, 4)
    assert list(defended.feature_names_in_) == list("abcd")
    nearest = np.linalg.norm(rows[:, None] - X, axis=2).min(axis=1)
    assert nearest.max() < 0.1
    again = defended.fit(frame, Y).estimator_._fit_X
    np.testing.assert_array_equal(again, rows)
    assert (defended.set_params(random_state=1).fit(frame, Y).estimator_._fit_X != rows).any()


def test_a_class_that_no_row_of_the_student_has_is_never_predicted():
    labels = np.where(X[:, 0] > 1.5, 2, Y)  # of training rows that are unlike all public rows
    defended = StudentDefense(TREE, PUBLIC[PUBLIC[:, 0] < 0]).fit(X, labels)
    np.testing.assert_array_equal(defended.classes_, [0, 1, 2])
    proba = defended.predict_proba(X)
    assert proba.shape == (200, 3)
    assert (proba[:, 2] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    margins = StudentDefense(TREE, PUBLIC[PUBLIC[:, 0] < 0], student=LinearSVC()).fit(X, labels)
    with pytest.raises(ValueError, match=r"no row of the student as \[2\]"):
        margins.decision_function(X)


@parametrize_refusals(
    (
        lambda: StudentDefense(TREE, np.full((9, 4), -9.0), student=LogisticRegression()).fit(X, Y),
        "predicts 0 for all rows of the student",
    ),
    (
        lambda: StudentDefense(KNeighborsClassifier(), PUBLIC, labels="soft").fit(X, Y),
        "does not take; use a classifier whose fit takes sample",
    ),
    (
        lambda: StudentDefense(LinearSVC(), PUBLIC, student=TREE, labels="soft").fit(X, Y),
        "predict_proba of the teacher, which LinearSVC does not",
    ),
    (lambda: StudentDefense(TREE, PUBLIC[:, :2]).fit(X, Y), "expecting 4 features"),
    (lambda: StudentDefense(TREE, None).fit(X, Y), "'public' parameter of StudentDefense"),
    *(
        (lambda student=student: student.fit(X, Y), "student of StudentDefense is trained from the")
        for student in (
            StudentDefense(TREE, PUBLIC, student=FrozenEstimator(TREE)),
            StudentDefense(make_pipeline(StandardScaler(), FrozenEstimator(TREE)), PUBLIC),
        )
    ),
)
def test_what_cannot_be_taught_is_said(call, words, error):
    check_refusal(call, words, error)


def test_a_fitted_teacher_stays_and_a_search_tunes_students():
    teacher = FrozenEstimator(TREE.fit(X, Y))
    defense = StudentDefense(teacher, PUBLIC, student=DecisionTreeClassifier(random_state=0))
    defense.fit(PUBLIC, 1 - TREE.predict(PUBLIC))
    np.testing.assert_array_equal(defense.predict(PUBLIC), TREE.predict(PUBLIC))
    # Without another student it is a tree like the teacher, and not the teacher, who is private.
    defense.set_params(student=None).fit(X, Y)
    assert isinstance(defense.estimator_, DecisionTreeClassifier)
    assert defense.estimator_.tree_.n_node_samples[0] == len(PUBLIC)
    defense.set_params(student=DecisionTreeClassifier(random_state=0))
    search = GridSearchCV(defense, {"student__max_depth": [1, 3]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.5
    margins = StudentDefense(TREE, PUBLIC, student=LinearSVC())
    with pytest.raises(NotFittedError):
        margins.decision_function(X)
    margins.fit(X, Y)
    assert margins.decision_function(X).shape == (200,)
    assert not hasattr(margins, "predict_proba")


def test_shadow_models_with_students_still_find_members():
    noisy = Records(RNG.normal(size=(200, 6)), RNG.integers(2, size=200))
    member = np.arange(200) < 100
    trees = ExtraTreesClassifier(10, max_features=None, random_state=0)
    defense = StudentDefense(trees, RNG.normal(size=(1000, 6)))
    pool = FrozenEstimator(ShadowPool(defense, 8, random_state=0).fit(noisy))
    members = noisy[member]
    victim = FrozenEstimator(defense.fit(members.X, members.y))
    attack = CalibratedAttack(victim, pool, signal="confidence").fit(noisy)
    assert auc_interval(member, attack.score_samples(noisy))[1] > 0.5
