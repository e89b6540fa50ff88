"""What the thresholds of a released model say of its training rows."""

import numpy as np
import pytest
from cells import slow
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import SplitThresholdAttack

pytestmark = pytest.mark.contract

X, Y = load_breast_cancer(return_X_y=True)
RECORDS = Records(X, Y)
N = len(Y)
# Standard error of the AUC of scores that say nothing, of as many records.
ERROR = np.sqrt((N + 1) / (12 * (N // 2) * (N - N // 2)))


def draw_half(seed):
    """A random half of the records as members."""
    member = np.zeros(N, dtype=bool)
    member[np.random.default_rng(seed).permutation(N)[: N // 2]] = True
    return member


def fit(model, member):
    return FrozenEstimator(model.fit(X[member], Y[member]))


@pytest.mark.parametrize(
    "model, least",
    [
        slow(RandomForestClassifier(min_samples_leaf=5, random_state=0), 0.9),
        (make_pipeline(StandardScaler(), RandomForestClassifier(60, random_state=0)), 0.9),
        slow(HistGradientBoostingClassifier(max_iter=50, random_state=0), 0.9),
        slow(GradientBoostingClassifier(random_state=0), 0.5 + 4 * ERROR),
        (DecisionTreeClassifier(random_state=0), 0.5 + 2 * ERROR),
    ],
    ids=["forest", "pipeline", "histogram boosting", "gradient boosting", "tree"],
)
def test_members_are_found_without_counts(model, least):
    member = draw_half(0)
    attack = SplitThresholdAttack(fit(model, member)).fit(RECORDS)
    scores = attack.score_samples(RECORDS)
    auc = roc_auc_score(member, scores)
    assert auc > least
    assert abs(auc - attack.expected_auc_) < 4 * ERROR
    assert attack.explained_ == 1 and attack.n_thresholds_ > 5
    # A membership that was drawn independently of the model is not found.
    others = [roc_auc_score(draw_half(seed), scores) for seed in range(1, 41)]
    assert abs(np.mean(others) - 0.5) < 4 * ERROR / np.sqrt(40)


def test_thresholds_of_xgboost_name_members():
    xgboost = pytest.importorskip("xgboost")
    member = draw_half(1)
    attack = SplitThresholdAttack(fit(xgboost.XGBClassifier(n_jobs=1), member)).fit(RECORDS)
    scores = attack.score_samples(RECORDS)
    assert roc_auc_score(member, scores) > 0.5 + 4 * ERROR
    # A value that one candidate alone has can come from nobody else.
    assert member[scores > 7].all() and (scores > 7).sum() > 50


def test_scores_are_log_likelihood_ratios():
    sums, hits, counts = np.zeros((3, 4))
    for seed in range(5):
        member = draw_half(seed)
        victim = fit(RandomForestClassifier(20, min_samples_leaf=10, random_state=seed), member)
        scores = SplitThresholdAttack(victim).fit(RECORDS).score_samples(RECORDS)
        place = np.digitize(scores, [-1, 0, 1])
        sums += np.bincount(place, 1 / (1 + np.exp(-scores)), minlength=4)
        hits += np.bincount(place, member, minlength=4)
        counts += np.bincount(place, minlength=4)
    claimed, found = sums / counts, hits / counts
    assert (counts > 100).all()
    # Passed messages are an approximation, which is meant to be good to a few hundredths.
    assert np.abs(claimed - found).max() < 0.05 + 4 * np.sqrt(0.25 / counts.min())
    assert (np.diff(found) > 0).all()


def test_strangers_are_noticed_and_allowed_for():
    member = draw_half(2)
    victim = fit(RandomForestClassifier(random_state=0), member)
    known = np.ones(N, dtype=bool)
    known[np.flatnonzero(member)[::5]] = False  # a fifth of the members is not among the candidates
    candidates = RECORDS[known]
    attack = SplitThresholdAttack(victim)
    with pytest.warns(UserWarning, match="of the RandomForestClassifier: it was .* set outsiders"):
        attack.fit(candidates)
    assert attack.explained_ < 0.9
    attack = SplitThresholdAttack(victim, outsiders=0.2).fit(candidates)
    assert roc_auc_score(member[known], attack.score_samples(candidates)) > 0.9


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(20, random_state=0),
        slow(HistGradientBoostingClassifier(max_iter=30, random_state=0)),
    ],
    ids=["forest", "histogram boosting"],
)
def test_records_that_come_later_are_judged_one_by_one(model):
    member, rest = draw_half(3), np.arange(N) % 4 == 0
    attack = SplitThresholdAttack(fit(model, member), outsiders=0.25).fit(RECORDS[~rest])
    scores = attack.score_samples(RECORDS[rest])
    assert roc_auc_score(member[rest], scores) > 0.5 + 4 * ERROR * 2  # a quarter of the records
    one = [attack.score_samples(RECORDS[[i]])[0] for i in np.flatnonzero(rest)[:3]]
    np.testing.assert_allclose(one, scores[:3], atol=1e-6)


def test_labels_and_order_do_not_matter():
    member = draw_half(4)
    victim = fit(RandomForestClassifier(20, random_state=0), member)
    scores = SplitThresholdAttack(victim).fit(RECORDS).score_samples(RECORDS)
    turned = Records(X[::-1], 1 - Y[::-1])
    again = SplitThresholdAttack(victim).fit(turned).score_samples(turned)
    np.testing.assert_allclose(again[::-1], scores, atol=1e-6)


@pytest.mark.usefixtures("quick_audits")
def test_an_audit_runs_it_and_says_of_which_models_it_does_not():
    member = draw_half(5)
    victim = fit(RandomForestClassifier(20, random_state=0), member)
    attacks = {"file": SplitThresholdAttack()}
    report = audit(victim, RECORDS, member, attacks=attacks, shadows=4, file=False, random_state=0)
    assert report.evidence == "leak"
    assert report.settings["n_shadows"] == 0
    model = LogisticRegression(max_iter=5000).fit(X[member] / X.max(axis=0), Y[member])
    with pytest.raises(ValueError, match="thresholds of trees of the victim, which skmia cannot"):
        audit(model, Records(X / X.max(axis=0), Y), member, attacks=attacks)
    with pytest.raises(ValueError, match="needs the fitted model itself"):
        SplitThresholdAttack().fit(RECORDS)
    with pytest.raises(ValueError, match="drawn at random"):
        SplitThresholdAttack(fit(ExtraTreesClassifier(2), member)).fit(RECORDS)


def test_thresholds_that_no_candidate_explains_say_nothing():
    X = np.random.default_rng(0).normal(size=(24, 3))
    y = (X[:, 0] > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(X, y)
    strangers = Records(X + 100, y)
    attack = SplitThresholdAttack(FrozenEstimator(model), outsiders=0.5).fit(strangers)
    assert np.ptp(attack.score_samples(strangers)) == 0


def test_a_record_without_evidence_is_not_called_a_member():
    member = draw_half(4)
    attack = SplitThresholdAttack(fit(DecisionTreeClassifier(max_depth=1), member)).fit(RECORDS)
    scores = attack.score_samples(RECORDS)
    silent = scores == 0
    assert silent.any() and not attack.predict(RECORDS)[silent].any()
