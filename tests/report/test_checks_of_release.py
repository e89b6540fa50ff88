"""No check that warns stands beside a release: each check of an audit and each policy."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skmia import Records, audit
from skmia.disclosure import load_policy
from skmia.report import recommend_release
from skmia.report._checks_of_release import REMEDIES, WITHOUT_BEARING
from skmia.report._document import check_document
from skmia.report._row_count import ELSEWHERE
from skmia.report._screen import show_report
from skmia.report.checks import CHECKS
from skmia.report.checks._base import Check
from skmia.victims import CallableVictim

pytestmark = pytest.mark.slow  # a pool is trained for each kind of change

N = 600
BEARING = [check.name for check in CHECKS if check.role in REMEDIES]
POLICIES = ("cautious", "research")


def loosen(name):
    """A shipped policy with limits that a safe model of few records is below, and a usual rate."""
    policy = load_policy(name)
    ways = ("service", "file")
    limits = {way: {"auc": 0.75, "tpr_at_fpr_1": 0.4} for way in ways}
    required = dict.fromkeys(ways, ("auc", "tpr_at_fpr_1"))
    return replace(policy, limits=limits, required=required, structure={})


def draw(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return Records(X, y), rng.permutation(n) < n // 2


@pytest.fixture(scope="module")
def safe():
    records, membership = draw(1)
    model = LogisticRegression(C=0.01).fit(records.X[membership], records.y[membership])
    report = audit(model, records, membership, shadows=8, fprs=[0.1], random_state=0)
    # What chance made a check warn of is not the question here.
    checks = {name: pass_check(check) for name, check in report.checks.items()}
    return model, replace(report, findings=replace(report.findings, checks=checks)), records


def pass_check(check):
    return replace(check, status="passed") if check.is_warning else check


def decide(found, policy, **settings):
    model, report, records = found
    return recommend_release(report, model, records, policy=policy, **settings)


def test_each_check_bears_on_a_release_or_is_said_not_to():
    assert {*REMEDIES, *WITHOUT_BEARING} == {check.role for check in CHECKS}
    assert not {*REMEDIES} & {*WITHOUT_BEARING}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_safe_model_is_released_without_a_warning(safe, policy):
    found = decide(safe, loosen(policy))
    assert found.result == "release", found.reasons


def find_leak(report):
    """The same report with small numbers that are beyond chance, so that blindness is no reason."""
    check = report.checks["permuted membership"]
    frame = check.finding.frame.assign(pvalue_adjusted=0.001)
    check = replace(check, finding=replace(check.finding, frame=frame))
    checks = report.checks | {"permuted membership": check}
    return replace(report, findings=replace(report.findings, checks=checks))


@pytest.mark.parametrize(
    ("status", "evidence"), [("warning", "leak"), ("warning", "none"), ("error", "leak")]
)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", BEARING)
def test_no_release_beside_a_check_that_warns(safe, name, policy, status, evidence):
    model, report, records = safe
    report = find_leak(report) if evidence == "leak" else report
    check = Check(name, status, "It was found.", "above" if name == "shadow models" else None)
    checks = report.checks | {name: check}
    report = replace(report, findings=replace(report.findings, checks=checks))
    found = decide((model, report, records), loosen(policy))
    assert found.result == "cannot be said"
    assert found.reasons and not found.conditions
    # A document that says otherwise is refused.
    document = json.loads(replace(report, recommendation=found).to_json())
    document["recommendation"] |= {"result": "release"}
    with pytest.raises(ValueError, match="recommendation|evidence"):
        check_document(document)


def test_training_rows_that_are_stated_to_be_elsewhere_are_no_warning(safe):
    model, report, records = safe
    checks = report.checks | {"training rows": Check("training rows", "warning", "10 more rows.")}
    found = model, replace(report, findings=replace(report.findings, checks=checks)), records
    policy = loosen("research")
    assert decide(found, policy).result == "cannot be said"
    assert decide(found, policy, provenance={ELSEWHERE: "at the other site"}).result == "release"


def test_a_number_above_its_limit_decides_beside_a_warning(safe):
    model, report, records = safe
    worse = report.results.assign(estimate=0.9, low=0.85, high=0.95)
    checks = report.checks | {"people": Check("people", "warning", "One is on both sides.")}
    findings = replace(report.findings, numbers=worse, checks=checks)
    found = decide((model, replace(report, findings=findings), records), loosen("research"))
    assert found.result == "do not release"


def set_leaves(X, y):
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(X, y)
    return forest.set_params(min_samples_leaf=100)


def augment(X, y):
    """Copies with noise, which a model that does not count its rows was trained on."""
    noise = 0.05 * np.random.default_rng(1).normal(size=(20 * len(X), X.shape[1]))
    tree = KNeighborsClassifier(15, weights="distance")
    return tree.fit(np.repeat(X, 20, axis=0) + noise, np.repeat(y, 20))


def weigh(X, y):
    """Weights that the audit is not told of."""
    weights = np.where(np.random.default_rng(1).random(len(X)) < 0.7, 1e4, 1.0)
    return SVC(C=0.01, gamma=1.0).fit(X, y, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("train", [set_leaves, augment, weigh])
def test_a_model_that_was_trained_otherwise_than_its_recipe_says_is_no_release(train):
    records, membership = draw(n=800)
    model = train(records.X[membership], records.y[membership])
    report = audit(model, records, membership, shadows=8, fprs=[0.1], file=False, random_state=0)
    policy = loosen("research")
    # Limits that the numbers are below: what is asked is whether the shadow models are alike.
    high = {"service": {"auc": 1.0, "tpr_at_fpr_1": 1.0}}
    found = decide((model, report, records), replace(policy, limits=high))
    assert found.result == "cannot be said"
    told = " ".join(found.reasons)
    # A file that counts its rows tells it first.
    assert "Train the shadow models as the model was" in told or "trained on" in told


class NoisyAnswers:
    """A function that adds fresh noise to what a model answers."""

    def __init__(self, model, scale):
        self.model, self.scale = model, scale

    def __call__(self, X):
        p = self.model.predict_proba(X)
        p = np.clip(p + self.scale * np.random.default_rng().normal(size=p.shape), 1e-3, None)
        return p / p.sum(axis=1, keepdims=True)


STATED_RECIPE = {"recipe of the model": "as it was trained"}


def audit_service(victim, records, membership, recipe):
    settings = {"shadows": 8, "fprs": [0.1], "file": False, "random_state": 0}
    return audit(victim, records, membership, estimator=recipe, **settings)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_service_with_fresh_noise_is_no_release(policy):
    records, membership = draw()
    recipe = LogisticRegression(C=0.01)
    model = LogisticRegression(C=0.01).fit(records.X[membership], records.y[membership])
    high = {"service": {"auc": 1.0, "tpr_at_fpr_1": 1.0}}
    policy = replace(loosen(policy), limits=high)
    for scale, n_repeats, result in ((0, 1, "release"), (0.3, 1, "cannot be said")):
        victim = CallableVictim(NoisyAnswers(model, scale), [0, 1], n_repeats=n_repeats)
        report = audit_service(victim, records, membership, recipe)
        checks = {
            name: check if name == "model and table" else pass_check(check)
            for name, check in report.checks.items()
        }
        report = replace(report, findings=replace(report.findings, checks=checks))
        found = decide((victim, report, records), policy, provenance=STATED_RECIPE)
        assert found.result == result, found.reasons
    (reason,) = found.reasons
    assert "n_repeats=" in reason and "as they were in training" not in reason
    assert any("mean of repeated answers" in step.imperative for step in show_report(report).steps)
    check_document(json.loads(replace(report, recommendation=found).to_json()))


def test_the_mean_of_repeated_answers_shows_what_noise_hides():
    records, membership = draw()
    recipe = RandomForestClassifier(10, random_state=0)
    model = RandomForestClassifier(10, random_state=0)
    model.fit(records.X[membership], records.y[membership])
    found = {}
    for n_repeats in (1, 300):
        victim = CallableVictim(NoisyAnswers(model, 0.5), [0, 1], n_repeats=n_repeats)
        report = audit_service(victim, records, membership, recipe)
        frame = report.results.query("scope == 'overall' and metric == 'auc'")
        found[n_repeats] = frame["estimate"].max()
    assert found[300] > found[1] + 0.1, found
