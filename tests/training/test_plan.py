"""A plan says how models are trained and where; exact are those that the estimator itself makes."""

import warnings

import numpy as np
import pytest
import training
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia._training.backends.perceptron import PerceptronWay
from skmia._training.job import KeptResults, keep_model
from skmia._training.plan import plan_training

pytestmark = pytest.mark.filterwarnings("ignore:.*Stochastic Optimizer")

MLP = MLPClassifier((5,), max_iter=8, batch_size=16)


@pytest.fixture(scope="module")
def table():
    return make_classification(150, n_features=6, n_informative=4, flip_y=0.2, random_state=0)


def make_job(model, table, keep=keep_model, **settings):
    X, y = table
    subsets, rng = np.zeros((3, len(y)), dtype=bool), np.random.default_rng(0)
    for row, size in zip(subsets, (50, 70, 50), strict=True):
        row[rng.permutation(len(y))[:size]] = True
    return training.make_job(model, [X], y, subsets)._replace(keep=keep, **settings)


def run(job, **settings):
    kept = dict(plan_training(job, **settings).run(job))
    return [kept[k] for k in range(job.n_models)]


def test_models_trained_together_are_those_of_the_estimator_itself(table):
    job = make_job(MLP, table)
    together, alone = run(job, exact=True), run(job, batched=False)
    X, y = table
    for one, other, inside in zip(together, alone, job.subsets, strict=True):
        np.testing.assert_array_equal(one.model.coefs_[0], other.model.coefs_[0])
        by_hand = clone(MLP).set_params(random_state=one.model.random_state)
        by_hand.fit(X[inside], y[inside])
        np.testing.assert_array_equal(one.model.predict_proba(X), by_hand.predict_proba(X))
        assert len(one.warnings) == 1


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier()])
def test_models_that_cannot_be_trained_together_exactly_are_trained_alone(table, model):
    # The solvers of linear models take them closer to the optimum than the estimator does.
    assert plan_training(make_job(model, table), exact=True).name == "joblib"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (MLPClassifier(solver="lbfgs"), "Solver='lbfgs' does not train in batches."),
        (LogisticRegression(solver="saga", l1_ratio=0.5), "Solver='saga' is none of"),
        (DecisionTreeClassifier(), "linear: DecisionTreeClassifier is none of"),
    ],
)
def test_the_reason_is_of_the_way_that_is_meant_for_the_model(table, model, reason):
    plan = plan_training(make_job(model, table))
    assert plan.name == "joblib" and plan.reason.startswith(reason)
    assert (";" in plan.reason) == isinstance(model, DecisionTreeClassifier)


def test_without_being_exact_linear_models_are_solved_together(table):
    plan = plan_training(make_job(LogisticRegression(), table))
    assert (plan.name, plan.together, plan.numbers) == ("linear", True, "linear")


@pytest.mark.parametrize(
    ("data", "settings", "is_told"),
    [
        ({}, {}, True),
        ({}, {"batched": False}, False),
        ({}, {"exact": True}, False),
        ({"weights": np.ones(150)}, {}, False),
        ({"fit_params": {"check_input": True}}, {}, False),
    ],
    ids=["nothing", "one by one", "exact", "weights", "parameters"],
)
def test_what_hinders_training_together_is_told_where_nothing_else_does(
    table, monkeypatch, data, settings, is_told
):
    monkeypatch.setattr(PerceptronWay, "nearly", lambda way, job: "It is near.")
    job = make_job(DecisionTreeClassifier(), table)
    with warnings.catch_warnings(record=True, action="always") as caught:
        plan_training(job._replace(data=job.data._replace(**data)), **settings)
    assert ["It is near." in str(one.message) for one in caught] == [True] * is_told


def test_what_cannot_be_trained_together_is_refused_with_the_reason_of_each_way(table):
    with pytest.raises(ValueError) as caught:
        plan_training(make_job(DecisionTreeClassifier(), table), batched=True)
    said = str(caught.value)
    assert said.startswith("batched=True is not possible here; linear: DecisionTreeClassifier is")
    assert all(f"{name}: " in said for name in ("linear", "perceptron", "torch"))
    with pytest.raises(ValueError, match="not possible here; Solver='lbfgs' does not train in b"):
        plan_training(make_job(MLPClassifier(solver="lbfgs"), table), batched=True)


def test_an_own_fit_and_own_seeds_are_left_to_the_models(table):
    X, y = table
    job = make_job(MLP, table, fit=lambda model, rows: model.fit(X[rows][:, ::-1], y[rows]))
    assert not plan_training(job).together
    np.testing.assert_array_equal(
        run(job)[0].model.predict(X),
        clone(MLP)
        .set_params(random_state=run(job)[0].model.random_state)
        .fit(X[job.subsets[0]][:, ::-1], y[job.subsets[0]])
        .predict(X),
    )
    of_its_own = make_job(MLP.set_params(random_state=5), table, seeds=None)
    assert {one.model.random_state for one in run(of_its_own)} == {5}


def look(trained):
    """All that a keeper can see."""
    facts = {
        "number": trained.number,
        "n_inside": int(trained.subset.sum()),
        "n_answers": len(trained.answers[0]),
        "took_time": trained.seconds > 0,
    }
    return KeptResults(facts, {"proba": trained.answers[0].values}, trained.model)


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize(
    "model, n_jobs",
    [
        (LogisticRegression(), 2),
        (MLP, None),
        (DecisionTreeClassifier(), None),
        pytest.param(DecisionTreeClassifier(), 2, marks=pytest.mark.slow),
        pytest.param(MLP, 2, marks=pytest.mark.slow),
    ],
)
def test_a_keeper_sees_each_model_by_its_number(table, model, n_jobs):
    X, _ = table
    job = make_job(model, table, keep=look, n_jobs=n_jobs)
    for k, kept in enumerate(run(job)):
        n_inside = int(job.subsets[k].sum())
        expected = {"number": k, "n_inside": n_inside, "n_answers": 150, "took_time": True}
        assert kept.facts == expected
        np.testing.assert_allclose(kept.arrays["proba"], kept.model.predict_proba(X), atol=1e-12)


def test_a_model_that_nobody_asks_for_is_not_made(table, monkeypatch):
    from skmia._training.backends.linear import design as _models

    def refuse(*arguments):
        raise AssertionError("a model was made")

    monkeypatch.setattr(_models.SolutionKeeper, "_make_model", refuse)
    job = make_job(LogisticRegression(), table, keep=lambda trained: KeptResults({}, {}))
    assert len(run(job)) == 3


def test_groups_of_models_run_where_joblib_is_told_to(table):
    with parallel_config("threading", n_jobs=2):
        some = run(make_job(MLP, table))
    for one, other in zip(some, run(make_job(MLP, table)), strict=True):
        np.testing.assert_array_equal(one.model.coefs_[0], other.model.coefs_[0])
