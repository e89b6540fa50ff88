"""Coefficients that follow from answers, and what they say of the training rows."""

import numpy as np
import pytest
from cells import slow_but
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import (
    BayesianRidge,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records
from skmia.attacks import StationarityAttack
from skmia.attacks.recovered import RecoveredModelAttack
from skmia.victims import recover_model

pytestmark = pytest.mark.contract

KINDS = {
    "logistic": (LogisticRegression(), "classes"),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), "classes"),
    "margins": (LinearSVC(), "classes"),
    "signs": (RidgeClassifier(), "classes"),
    "squares": (LinearRegression(), "values"),
    "ridge": (Ridge(), "values"),
    "lasso": (Lasso(alpha=0.05), "values"),
    "counts": (PoissonRegressor(), "counts"),
}
EDGES = {
    "hinge": (LinearSVC(loss="hinge", max_iter=10**5), "classes"),
    "epsilon": (LinearSVR(epsilon=0.2, max_iter=10**5), "values"),
    "quantile": (QuantileRegressor(alpha=0.001), "values"),
}


def make_problem(kind, d, seed=0, n=400):
    """Records of d features, of whom half are members, and their membership."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d) * 1.5 / np.sqrt(d)
    y = {
        "classes": lambda: (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int),
        "values": lambda: X @ w + rng.normal(size=n),
        "counts": lambda: rng.poisson(np.exp(X @ w / 2)).astype(float),
    }[kind]()
    return Records(X, y), np.isin(np.arange(n), rng.permutation(n)[: n // 2])


def fit(recipe, records, member):
    return clone(recipe).fit(records.X[member], records.y[member])


def answer(victim, records, n_decimals=None):
    """Records with rounded answers of a victim alone."""
    outputs = records.with_outputs(victim)["outputs"]
    values = outputs.values if n_decimals is None else np.round(outputs.values, n_decimals)
    return Records(records.X, records.y, outputs=Outputs(values, outputs.classes, outputs.kind))


def list_coefficients(model):
    last = model[-1] if hasattr(model, "steps") else model
    return np.column_stack([np.atleast_2d(last.coef_), np.ravel(last.intercept_)])


@pytest.mark.parametrize("name", sorted({*KINDS} - {"scaled"}))
def test_answers_hold_the_coefficients(name):
    recipe, kind = KINDS[name]
    records, member = make_problem(kind, 20, n=200)
    victim = fit(recipe, records, member)
    attack = RecoveredModelAttack(None, recipe, random_state=0).fit(answer(victim, records))
    found = list_coefficients(attack.estimator_)
    np.testing.assert_allclose(found, list_coefficients(victim), atol=1e-6)
    assert attack.n_queries_ == 200 and 1 <= attack.condition_ < 100 and attack.error_ < 1


@pytest.mark.parametrize("data", ["two classes", "three classes"])
def test_errors_of_coefficients_are_what_rounding_makes_them(data):
    X, y = load_wine(return_X_y=True)
    X, y = (scale(X)[y < 2], y[y < 2]) if data == "two classes" else (scale(X), y)
    records, away = Records(X, y), []
    for seed in range(8):
        member = np.random.default_rng(seed).random(len(y)) < 0.7
        victim = LogisticRegression().fit(X[member], y[member])
        given = answer(victim, records, 3)
        other = LogisticRegression().fit(X, y)
        found = recover_model(other, records, given["outputs"])
        error = (list_coefficients(found.model) - list_coefficients(victim)).ravel()
        if data == "three classes":
            error[np.arange(len(error)) % (X.shape[1] + 1) == X.shape[1]] = 0  # up to a constant
        away.append(error / np.sqrt((found.root**2).sum(axis=1)))
        assert 0.5 < found.error < 1.5
    assert 0.6 < np.sqrt(np.mean(np.square(away))) < 1.4


# With many coefficients each kind takes as long as all of them with few.
OFTEN = {("squares", 60), *((name, 20) for name in ("logistic", "signs"))}


@pytest.mark.parametrize(
    "name, d",
    [
        pytest.param(name, d, marks=[pytest.mark.slow] * ((name, d) not in OFTEN))
        for d in (20, 60)
        for name in KINDS
    ],
)
def test_a_service_is_as_weak_as_its_file(name, d):
    recipe, kind = KINDS[name]
    of_service, of_file = [], []
    for seed in range(2):
        records, member = make_problem(kind, d, seed, n=240)
        victim = fit(recipe, records, member)
        attack = StationarityAttack(victim, random_state=0).fit(records)
        of_file.append(roc_auc_score(member, attack.score_samples(records)))
        attack = RecoveredModelAttack(None, recipe, random_state=0)
        given = answer(victim, records, 4)
        of_service.append(roc_auc_score(member, attack.fit(given).score_samples(given)))
    assert np.mean(of_service) >= np.mean(of_file) - 0.03
    assert np.mean(of_service) > 0.55


def test_columns_that_depend_on_each_other_have_the_smallest_coefficients():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, size=(200, 5)).astype(str), rng.integers(0, 2, size=200)
    recipe, member = make_pipeline(OneHotEncoder(), LogisticRegression(tol=1e-9)), y * 0 == 0
    member[::2] = False
    records = Records(X, y)
    victim = fit(recipe, records, member)
    attack = RecoveredModelAttack(None, recipe, random_state=0).fit(answer(victim, records))
    found = list_coefficients(attack.estimator_)
    np.testing.assert_allclose(found, list_coefficients(victim), atol=1e-5)


def test_clipped_answers_are_left_out():
    records, member = make_problem("classes", 30)
    victim = fit(LogisticRegression(), records, member)
    values = np.clip(victim.predict_proba(records.X), 0.1, 0.9)
    given = Records(records.X, records.y, outputs=Outputs(values, [0, 1]))
    attack = RecoveredModelAttack(None, LogisticRegression(), random_state=0).fit(given)
    np.testing.assert_allclose(attack.estimator_.coef_, victim.coef_, atol=1e-6)


def test_answers_of_another_form_are_refused():
    records, member = make_problem("classes", 60)
    victim = fit(LogisticRegression(), records, member)
    proba = victim.predict_proba(records.X)[:, 1]
    noisy = np.clip(proba + np.random.default_rng(0).normal(0, 0.01, size=400), 0.01, 0.99)
    tree = fit(DecisionTreeClassifier(min_samples_leaf=9, random_state=0), records, member)
    attack = RecoveredModelAttack(None, LogisticRegression())
    for one in (noisy, np.round(noisy, 3), proba**2):
        outputs = Outputs(np.column_stack([1 - one, one]), [0, 1])
        with pytest.raises(ValueError, match="not those of a LogisticRegression of this recipe"):
            attack.fit(Records(records.X, records.y, outputs=outputs))
    with pytest.raises(ValueError, match="recipe|more records are needed"):
        attack.fit(answer(tree, records))
    labels = Outputs(victim.predict(records.X), [0, 1], "label")
    with pytest.raises(ValueError, match="answers of kind 'label'"):
        attack.fit(Records(records.X, records.y, outputs=labels))
    with pytest.raises(ValueError, match="61 coefficients do not follow from 50 answers"):
        attack.fit(answer(victim, records[:50]))


def test_answers_are_read_by_their_classes():
    records, member = make_problem("classes", 20, n=200)
    given = answer(fit(LogisticRegression(), records, member), records)
    turned = given["outputs"].values[:, ::-1]
    turned = records.with_fields(outputs=Outputs(turned, [1, 0], given["outputs"].kind))
    attack = RecoveredModelAttack(None, LogisticRegression(), random_state=0)
    scores = [attack.fit(some).score_samples(some) for some in (given, turned)]
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-9)
    with pytest.raises(
        ValueError, match=r"classes of the answers, \[0, 1\]; the labels are \[1, 2\]"
    ):
        attack.fit(Records(records.X, 1 + records.y, outputs=given["outputs"]))


@pytest.mark.parametrize("change", ["penalty", "temperature", "none"])
def test_another_penalty_or_temperature_is_said(change):
    records, member = make_problem("classes", 60, n=240)
    victim = fit(LogisticRegression(), records, member)
    odds = victim.decision_function(records.X) / (2 if change == "temperature" else 1)
    p = 1 / (1 + np.exp(-odds))
    given = Records(records.X, records.y, outputs=Outputs(np.column_stack([1 - p, p]), [0, 1]))
    recipe = LogisticRegression(C=10.0 if change == "penalty" else 1.0)
    attack = RecoveredModelAttack(None, recipe, random_state=0)
    if change == "none":
        attack.fit(given)  # warnings are errors
        return
    with pytest.warns(UserWarning, match="times as long as those of models of the recipe"):
        attack.fit(given)


@pytest.mark.parametrize("name", slow_but(["hinge", "epsilon", "quantile"], "quantile"))
def test_a_service_with_an_edge_is_as_weak_as_its_file(name):
    recipe, kind = EDGES[name]
    records, member = make_problem(kind, 40, n=260)
    victim = fit(recipe, records, member)
    given = answer(victim, records, 4)
    of_file = StationarityAttack(victim, random_state=0).fit(records).score_samples(records)
    attack = RecoveredModelAttack(None, recipe, random_state=0).fit(given)
    reached = roc_auc_score(member, attack.score_samples(given))
    assert abs(reached - roc_auc_score(member, of_file)) <= 0.03 and reached > 0.55
    assert abs(attack.expected_auc_ - reached) <= 0.05


@pytest.mark.parametrize(
    "recipe, message",
    [
        (DecisionTreeClassifier(), "do not follow from few coefficients"),
        (BayesianRidge(), "chooses its penalty or scale by the training rows"),
        (RidgeCV(), "chooses its penalty"),
        (HuberRegressor(), "chooses its penalty or scale"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_recipes_of_other_kinds_are_refused(recipe, message):
    records, member = make_problem("values", 20)
    victim = fit(LinearRegression(), records, member)
    with pytest.raises(TypeError, match=f"coefficients are not recovered: .*{message}"):
        RecoveredModelAttack(victim, recipe).fit(records)
    with pytest.raises(ValueError, match="estimator must say how the victim was trained"):
        RecoveredModelAttack().fit(answer(victim, records))


def test_membership_that_is_independent_of_the_model_is_not_found():
    records, member = make_problem("classes", 40, n=240)
    victim = fit(LogisticRegression(), records, member)
    scores = RecoveredModelAttack(victim, random_state=0).fit(records).score_samples(records)
    null = [roc_auc_score(np.random.default_rng(k).permutation(member), scores) for k in range(40)]
    assert abs(np.mean(null) - 0.5) < 4 * np.sqrt(241 / (12 * 120**2)) / np.sqrt(40)
    # Neither is one of a model of other records, of which nobody is a candidate.
    others, half = make_problem("classes", 40, seed=7, n=240)
    service = fit(LogisticRegression(), others, half)
    found = RecoveredModelAttack(service, random_state=0).fit(records).score_samples(records)
    assert abs(roc_auc_score(member, found) - 0.5) < 4 * np.sqrt(241 / (12 * 120**2))


def test_breast_cancer_says_little():
    X, y = load_breast_cancer(return_X_y=True)
    records = Records(scale(X), y)
    member = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
    victim = fit(LogisticRegression(), records, member)
    attack = RecoveredModelAttack(None, LogisticRegression(), random_state=0)
    given = answer(victim, records, 4)
    found = roc_auc_score(member, attack.fit(given).score_samples(given))
    assert abs(found - attack.expected_auc_) < 0.08 and attack.expected_auc_ < 0.7
