"""Audits attack a service by its coefficients where its answers give them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.naive_bayes import GaussianNB

from skmia import Outputs, Records, audit
from skmia.victims import CallableVictim

pytestmark = [pytest.mark.contract, pytest.mark.usefixtures("attacks_alone")]

NAME = "RecoveredModelAttack"
SETTINGS = {"shadows": 4, "controls": False, "random_state": 0}


def make_problem(d, seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return Records(X, y), (rng.permutation(n) < n // 2).astype(int)


def fit(model, records, membership):
    return model.fit(records.X[membership == 1], records.y[membership == 1])


@pytest.fixture(scope="module")
def problem():
    records, membership = make_problem(60)
    return records, membership, fit(LogisticRegression(), records, membership)


def read_auc(report, name):
    frame = report.to_frame().query("scope == 'overall' and metric == 'auc'")
    return frame.set_index("attack")["estimate"][name]


def test_it_runs_where_there_are_enough_coefficients(problem):
    records, membership, victim = problem
    report = audit(victim, records, membership, **SETTINGS)
    assert read_auc(report, NAME) > read_auc(report, "AnalyticLiRA") + 0.02
    service = "Behind a service, 61 exact answers give the coefficients of the model"
    assert any(one.startswith(service) for one in report.file.facts["changes"])


def test_a_recipe_of_a_function_suffices(problem):
    records, membership, victim = problem
    service = CallableVictim(lambda X: victim.predict_proba(X).round(4), [0, 1])
    report = audit(service, records, membership, estimator=LogisticRegression(), **SETTINGS)
    assert read_auc(report, NAME) > 0.7
    # Without the recipe, and of labels, there is nothing to solve.
    outputs = Outputs(victim.predict(records.X), [0, 1], "label")
    stored = Records(records.X, records.y, outputs=outputs)
    report = audit(LogisticRegression(), stored, membership, **SETTINGS)
    assert NAME not in report.scores


def test_answers_with_noise_add_nothing(problem):
    records, membership, victim = problem
    proba = victim.predict_proba(records.X)[:, 1]
    noisy = np.clip(proba + np.random.default_rng(0).normal(0, 0.01, len(proba)), 0.01, 0.99)
    stored = Records(
        records.X, records.y, outputs=Outputs(np.column_stack([1 - noisy, noisy]), [0, 1])
    )
    report = audit(LogisticRegression(), stored, membership, **SETTINGS)
    assert NAME not in report.scores
    assert any("not those of a LogisticRegression of this recipe" in one for one in report.notes)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), pytest.param(RidgeCV(), marks=pytest.mark.slow)],
    ids=["few", "chosen"],
)
def test_it_does_not_run_where_it_says_little(model):
    records, membership = make_problem(10 if isinstance(model, LogisticRegression) else 60)
    victim = fit(model, records, membership)
    report = audit(victim, records, membership, file=False, **SETTINGS)
    assert NAME not in report.scores
    assert not any(NAME in one for one in report.notes)


@pytest.mark.slow
def test_no_leak_is_found_where_there_is_none():
    found = []
    for seed in range(12):
        records, membership = make_problem(60, seed)
        others, half = make_problem(60, 100 + seed)
        model = [LogisticRegression(), Ridge()][seed % 2]
        victim = fit(model, others, half)
        report = audit(victim, records, membership, **SETTINGS)
        assert NAME in report.scores
        found.append(report.evidence == "leak")
    assert sum(found) <= 2


def test_all_answers_of_naive_bayes_are_solved_together():
    records, membership = make_problem(60)
    victim = fit(GaussianNB(), records, membership)
    report = audit(victim, records, membership, **SETTINGS)
    assert read_auc(report, "JointAnswersAttack") > read_auc(report, "RMIA") + 0.02
    assert any(
        one.startswith("Behind a service, all answers together")
        for one in report.file.facts["changes"]
    )


@pytest.mark.slow  # few answers of a linear model are as few
def test_few_answers_of_naive_bayes_are_not_solved():
    records, membership = make_problem(10)
    victim = fit(GaussianNB(), records, membership)
    report = audit(victim, records, membership, file=False, **SETTINGS)
    assert "JointAnswersAttack" not in report.scores


def test_the_attack_that_states_the_largest_auc_is_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    inside = np.arange(400) < 200
    model = LogisticRegression().fit(X[inside], y[inside])
    report = audit(model, Records(X, y), inside.astype(int), file=False, **SETTINGS)
    rows = report.results[report.results["metric"] == "auc"]
    whole = rows[rows["scope"] == rows["scope"].iloc[0]].set_index("attack")
    assert len(whole) == 6 and whole["estimate"].idxmax() == "RecoveredModelAttack"
    assert whole.index[whole["told"]].tolist() == ["RecoveredModelAttack"]
