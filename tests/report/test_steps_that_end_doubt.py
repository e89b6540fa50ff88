"""The first step of an audit without a verdict, tried: the next audit has one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import RMIA
from skmia.cli._gate import INCONCLUSIVE, judge, list_findings
from skmia.report import recommend_release
from skmia.report._screen import show_report

N = 300


def draw(n=N, seed=11):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(6)
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def split(X, y, seed=0):
    rows = np.random.default_rng(seed).permutation(len(X))
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    return (X[first], y[first]), (X[second], y[second])


def run(model, train, held_out, **settings):
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 4, "fprs": (0.1,), "file": False} | settings
    return audit(model, train=train, held_out=held_out, random_state=0, **settings)


def make_tree(**settings):
    return DecisionTreeClassifier(random_state=0, **settings)


def differ_in_a_column():
    train, (X, y) = split(*draw(2 * N))
    shifted = X + [0, 3, 0, 0], y
    model = make_tree(max_depth=4).fit(*train)
    yield run(model, train, shifted)
    # A random part of the data, that of the held-out rows included, is set aside before training.
    train, held_out = split(np.concatenate([train[0], shifted[0]]), np.concatenate([train[1], y]))
    yield run(model.fit(*train), train, held_out)


def write_otherwise():
    train, (X, y) = split(*draw(2 * N))
    model = make_tree(max_depth=4).fit(*train)
    coarse = np.column_stack([X[:, :3], X[:, 3].round(3)])
    yield run(model, train, (coarse, y))
    yield run(
        model, (np.column_stack([train[0][:, :3], train[0][:, 3].round(3)]), train[1]), (coarse, y)
    )


def label_otherwise():
    train, (X, _) = split(*draw(2 * N))
    y = (X[:, 1] + np.random.default_rng(3).normal(size=N) > 0).astype(int)
    model = LogisticRegression().fit(*train)
    yield run(model, train, (X, y))
    train, held_out = split(np.concatenate([train[0], X]), np.concatenate([train[1], y]))
    yield run(model.fit(*train), train, held_out)


def swap():
    train, held_out = split(*draw(2 * N))
    model = make_tree().fit(*train)
    yield run(model, held_out, train)
    yield run(model, train, held_out)


def train_on_both():
    train, held_out = split(*draw(2 * N))
    whole = np.concatenate([train[0], held_out[0]]), np.concatenate([train[1], held_out[1]])
    model = make_tree(max_depth=6).fit(*whole)
    yield run(model, train, held_out, file=True)
    yield run(model, whole, draw(seed=14), file=True)


def turn_columns():
    train, held_out = split(*draw(2 * N))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train[0][:, ::-1], train[1])
    yield run(model, train, held_out)
    yield run(model, *((X[:, ::-1], y) for X, y in (train, held_out)))


def have_copies():
    rng = np.random.default_rng(106)
    X = rng.integers(0, 4, size=(800, 5)).astype(float)
    y = (X[:, 0] + rng.normal(size=800) > np.median(X[:, 0])).astype(int)
    inside = np.arange(800) < 400
    model = LogisticRegression().fit(X[inside], y[inside])

    def run_on(kept):
        train, held_out = ((X[kept & side], y[kept & side]) for side in (inside, ~inside))
        return audit(model, train=train, held_out=held_out, shadows=8, random_state=6)

    yield run_on(np.ones(800, dtype=bool))
    rows = pd.DataFrame(X).assign(y=y)
    numbers = rows.groupby(list(rows)).ngroup().to_numpy()
    yield run_on(~np.isin(numbers, np.intersect1d(numbers[inside], numbers[~inside])))


def name_the_wrong_members():
    (train, held_out), others = split(*draw(2 * N)), draw(N, seed=12)
    model = make_tree().fit(*others)
    yield run(model, train, held_out, shadows=8)
    yield run(model, others, held_out, shadows=8)


def be_few():
    train, held_out = split(*draw(2 * N))
    model = make_tree(max_depth=2).fit(*train)
    yield run(model, *((X[:1], y[:1]) for X, y in (train, held_out)))
    yield run(model, train, held_out)


DOUBTS = {
    "shift": (differ_in_a_column, "Take both sides from one population."),
    "formats": (write_otherwise, "Export both sides in the same way."),
    "drift": (label_otherwise, "Take both sides from one"),
    "swapped": (swap, "Swap the two sides."),
    "in the model": (train_on_both, "Give held-out rows that the model has not seen."),
    "order of columns": (turn_columns, "Give model and table as they were in training."),
    "copies": (have_copies, "Remove copies that are on both sides."),
    "wrong members": (name_the_wrong_members, "Check membership and the recipe."),
    "few": (be_few, "List all training rows as members."),
}


def get_code(report, release="service"):
    return judge(list_findings(report, [], release))[0]


@pytest.mark.parametrize(
    "doubt",
    [pytest.param(one, marks=[pytest.mark.slow] * (one == "copies")) for one in DOUBTS],
)
def test_the_first_step_ends_it(doubt):
    make, imperative = DOUBTS[doubt]
    before, after = make()
    assert get_code(before) == INCONCLUSIVE
    first = show_report(before).steps[0]
    assert first.imperative.startswith(imperative), first
    assert get_code(after) != INCONCLUSIVE, after.verdict


def judge_policy(n):
    """What the policy says of a model that hardly leaks, and the text of the report."""
    records, membership = Records.from_sides(*split(*draw(2 * n)))
    inside = membership == 1
    model = LogisticRegression(C=1e-4).fit(records.X[inside], records.y[inside])
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 8, "fprs": (0.01,), "file": False}
    report = audit(model, records, membership, random_state=0, **settings)
    return recommend_release(report, model, records, policy="cautious")


def test_the_records_that_a_missing_number_of_a_policy_takes_decide():
    before = judge_policy(300)
    assert before.result == "cannot be said" and "tpr_at_fpr_01" in before.reasons[0]
    assert judge_policy(1000).result != "cannot be said"


def test_a_file_that_nobody_can_judge_is_offered_as_a_service():
    train, held_out = split(*draw(N))
    model = MLPClassifier((8,), max_iter=300, tol=1e-2, random_state=0).fit(*train)
    report = run(model, train, held_out, file=True)
    assert get_code(report, "file") == INCONCLUSIVE
    step = next(one for one in show_report(report).steps if "file" in one.imperative)
    assert "--release service" in step.why
    assert get_code(report, "service") != INCONCLUSIVE


def test_a_file_that_was_not_attacked_says_how_to_ask_for_the_service():
    train, held_out = split(*draw(N))
    report = run(make_tree(max_depth=2).fit(*train), train, held_out)
    code, (why,) = judge(list_findings(report, [], "file"))
    assert code == INCONCLUSIVE and "--release service" in why
    assert get_code(report, "service") != INCONCLUSIVE
