"""Whatever an audit writes can be read again, at the extremes of what it can find."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.disparity._test import describe_means
from skmia.report import AuditReport, check_document
from skmia.report._document import check_table_document
from skmia.report._json_schema import number
from skmia.synthetic import TableReport, audit_table

ATTACKS = {"threshold (loss)": ThresholdAttack(), "LiRA": LiRA()}
CLASSES = {
    "without regularization": LogisticRegression(C=1e6),
    "a tree": DecisionTreeClassifier(),
    "one neighbor": KNeighborsClassifier(1),
    "one answer": DummyClassifier(),
    "sure of itself": GaussianNB(),
}
NUMBERS = {"a line": LinearRegression(), "a tree of numbers": DecisionTreeRegressor()}


def make_table(seed, n):
    """Features and labels of one of several kinds."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, 3)), rng.integers(0, 2, 2 * n)
    kind = ("normal", "flags", "huge", "many classes", "rare")[seed % 5]
    X = {"flags": (X > 0).astype(float), "huge": 1e9 * X}.get(kind, X)
    y = {
        "many classes": rng.integers(0, 7, 2 * n),
        "rare": (np.arange(2 * n) % (n // 3) == 0).astype(int),
    }.get(kind, y)
    return X, y, rng


# Most models and each table once in each run, a third of all pairs in slow tests.
MODELS = (*CLASSES, *NUMBERS)
PAIRS = [(m, t % 6) for t, m in enumerate(MODELS)]
# Trees, one neighbor, and a line without regularization tell what the others tell.
for t in (0, 1, 2, 6):
    PAIRS[t] = pytest.param(*PAIRS[t], marks=pytest.mark.slow)
PAIRS += [
    pytest.param(m, t, marks=pytest.mark.slow)
    for m in MODELS
    for t in range(6)
    if (t + len(m)) % 3 == 0 and (m, t) not in PAIRS
]


@pytest.mark.parametrize(("name", "seed"), PAIRS)
def test_documents_of_audits(name, seed):
    _check_audit(name, seed)


def test_a_group_of_which_nothing_is_known_does_not_end_an_audit():
    # Of the rare class no record was a member in one round and a non-member in another.
    _check_audit("a tree", 9, {"group_by": np.arange(300) // 2}, n=150)


def test_a_mean_that_is_rounded_above_one_is_written_as_one():
    table = pd.DataFrame({"a": [1.0, 1.0], "b": [0.5, 0.4]})
    mean = 1.0000000000000002
    found = SimpleNamespace(means=np.array([mean, 0.45]), errors=np.array([0.1, 0.1]), df=5.0)
    assert describe_means(table, found, confidence_level=0.95)["mean"].max() == 1.0
    number(-1, 1)(mean, "a mean of an older document")
    with pytest.raises(ValueError, match="from -1 to 1"):
        number(-1, 1)(1.0001, "a mean")


def _check_audit(name, seed, fields=None, n=30):
    X, y, rng = make_table(seed, n)
    if name in NUMBERS:
        y = y * (1e-6, 1.0, 1e12)[seed % 3] + rng.normal()
    if fields is None:
        fields = (
            {"group_by": np.arange(2 * n) // 2},
            {"sample_weight": rng.random(2 * n)},
            {"people": rng.choice(["a", "b"], 2 * n)},
        )[seed % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (CLASSES | NUMBERS)[name].fit(X[:n], y[:n])
        report = audit(
            model,
            Records(X, y, **fields),
            np.arange(2 * n) < n,
            attacks="default" if name == "one neighbor" else ATTACKS,
            shadows=4,
            group="people" if "people" in fields else None,
            random_state=0,
        )
        document = json.loads(report.to_json())
    assert isinstance(report, AuditReport)
    assert check_document(document) == document


@pytest.mark.usefixtures("quick_tables")
@pytest.mark.parametrize(
    "kind",
    [
        "copies",
        "tiny",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("nothing alike", "one value")),
    ],
)
def test_documents_of_tables(kind):
    rng = np.random.default_rng(0)
    n = 12 if kind == "tiny" else 60
    frame = pd.DataFrame({"a": rng.normal(size=3 * n), "b": rng.integers(0, 3, 3 * n)})
    real, held_out, made = frame[:n], frame[n : 2 * n], frame[2 * n :]
    if kind == "copies":
        made = real.copy()
    elif kind == "nothing alike":
        made = made + 1e6
    elif kind == "one value":
        made = made * 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = audit_table(real, made, held_out, random_state=0)
        document = json.loads(report.to_json())
    assert isinstance(report, TableReport)
    check_table_document(document)
