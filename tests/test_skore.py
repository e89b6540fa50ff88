"""Reports of skore, which call every method by keyword, run on attacks as on any classifier."""

import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem

skore = pytest.importorskip("skore", reason="skore is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def case():
    records, membership = make_membership_problem(200, random_state=0)
    members = records[membership == 1]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(members.X, members.y)
    victim = FrozenEstimator(tree)
    pool = FrozenEstimator(ShadowPool(victim, 8, random_state=0).fit(records))
    return LiRA(victim, shadows=pool), ThresholdAttack(victim), records, membership


def report_on(attack, records, membership):
    return skore.EstimatorReport(
        clone(attack), X_train=records, y_train=membership, X_test=records, y_test=membership
    )


def test_a_report_on_an_attack(case):
    attack, _, records, membership = case
    report = report_on(attack, records, membership)
    scores = clone(attack).fit(records, membership).score_samples(records)
    assert report.metrics.roc_auc() == pytest.approx(roc_auc_score(membership, scores))
    assert report.metrics.summarize().frame() is not None


def test_a_cross_validation_of_an_attack(case):
    attack, _, records, membership = case
    report = skore.CrossValidationReport(attack, records, membership, splitter=3)
    assert report.metrics.roc_auc().shape == (1, 2)


def test_a_comparison_of_attacks(case):
    *attacks, records, membership = case
    reports = {type(one).__name__: report_on(one, records, membership) for one in attacks}
    frame = skore.ComparisonReport(reports).metrics.roc_auc()
    assert list(frame.columns) == ["LiRA", "ThresholdAttack"]
