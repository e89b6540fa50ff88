"""What is expected of a file: harm first, with candidates and from the structure alone."""

import numpy as np
import pytest
from cells import slow_but
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.inspection import inspect_model

N = 120
X, Y = make_classification(2 * N, 8, n_informative=4, flip_y=0.2, random_state=0)
FOREST = RandomForestClassifier(30, random_state=0)


def first_line(model, candidates=False, n=N):
    model.fit(X[:n], Y[:n])
    lines = inspect_model(model, Records(X, Y) if candidates else None).summary().splitlines()
    return lines[0].split("  ")[2], " ".join(lines[1:8])


def test_stored_rows_and_a_forest_with_candidates_are_told_by_their_harm():
    for model, candidates in ((KNeighborsClassifier(), False), (FOREST, True)):
        heading, text = first_line(model, candidates)
        assert heading.startswith("REVEALS ITS TRAINING ROWS, EXPECTED: SEVERE")
        assert "stores no training rows" not in text


def test_a_full_forest_and_six_numbers_differ_without_data():
    heading, text = first_line(FOREST)
    assert heading.startswith("SEVERE LEAKAGE IS LIKELY")
    assert "leaves hold a single one of 120 training rows" in " ".join(text.split())
    rows, labels = make_classification(3000, 5, n_redundant=0, n_informative=5, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, labels)
    told = inspect_model(model).summary()
    assert told.startswith("  ▂··  LITTLE LEAKAGE IS LIKELY")
    assert "numbers of 3,000 training rows" in " ".join(told.split())


def test_numbers_of_a_file_that_does_not_state_its_rows():
    heading, text = first_line(LogisticRegression())
    assert heading == "LITTLE LEAKAGE IS LIKELY WITH MORE THAN 100 ROWS"
    told = "10 numbers, which reveal little about more than 100 rows"
    assert told in " ".join(text.split())
    # Candidates that hold the training rows say how many these are at most.
    rows, labels = np.tile(X[:N, :6], (9, 1)), np.tile(Y[:N], 9)
    model = QuadraticDiscriminantAnalysis().fit(X[:N, :6], Y[:N])
    told = "98 numbers, which reveal little about more than 980 rows"
    for n, heading in ((980, "LEAKAGE UNKNOWN   "), (981, "LITTLE LEAKAGE IS LIKELY WITH MORE")):
        text = inspect_model(model, Records(rows[:n], labels[:n])).summary()
        assert heading in text and told in " ".join(text.split())


def test_a_net_with_more_numbers_than_rows_is_not_judged():
    with pytest.warns(UserWarning):
        heading, text = first_line(MLPClassifier(max_iter=2, random_state=0))
    assert heading == "LEAKAGE UNKNOWN WITHOUT DATA"
    with pytest.warns(UserWarning):
        heading, _ = first_line(MLPClassifier(max_iter=2, random_state=0), candidates=True)
    assert heading == "LEAKAGE UNKNOWN"
    assert "numbers of 120 training rows" in " ".join(text.split())


LIKE = {
    "a tree": DecisionTreeClassifier(random_state=0),
    "a tree of large leaves": DecisionTreeClassifier(min_samples_leaf=30, random_state=0),
    "a forest": FOREST,
    "a small forest": RandomForestClassifier(8, min_samples_leaf=20, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=40, random_state=0),
    "few rounds": GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0),
}


# A forest is of the highest level as well, and few rounds are read as many are.
@pytest.mark.parametrize("name", slow_but(LIKE, *(LIKE.keys() - {"boosting"})))
def test_the_structure_expects_what_candidates_do(name):
    words = ["LITTLE", "CLEAR", "SEVERE"]
    measured, _ = first_line(LIKE[name], candidates=True)
    likely, _ = first_line(LIKE[name])
    level = ["SLIGHT", "CLEAR", "SEVERE"].index(measured.rpartition(": ")[2].split()[0])
    found = words.index(likely.split()[0])
    assert abs(found - level) <= 1
    assert (found == 2) == (level == 2)


def test_the_document_and_the_page_say_the_same():
    inspection = inspect_model(FOREST.fit(X[:N], Y[:N]))
    assert inspection.structure["n_alone"] > 0.2 * N
    assert inspection.to_dict()["structure"] == inspection.structure
    assert "Severe leakage is likely" in inspection.to_html()
    assert "stores no training rows" not in inspection.to_html()


def test_more_rows_make_the_same_numbers_tell_less():
    large = np.random.default_rng(0).normal(size=(4000, 3))
    for n, word in ((60, "CLEAR"), (4000, "LITTLE")):
        told = inspect_model(GaussianNB().fit(large[:n], large[:n, 0] > 0)).summary()
        assert f"{word} LEAKAGE IS LIKELY" in told


def test_edges_of_bins_tell_of_rows_as_candidates_do():
    rows = np.random.default_rng(0).normal(size=(400, 4))
    labels = (rows[:, 0] + np.random.default_rng(1).normal(size=400) > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=7).fit(
        rows[:200], labels[:200]
    )
    told = inspect_model(model).summary()
    assert "SEVERE LEAKAGE IS LIKELY" in told
    assert "796 edges at values of 200 training rows" in " ".join(told.split())
    assert "EXPECTED: SEVERE" in inspect_model(model, Records(rows, labels)).summary()
