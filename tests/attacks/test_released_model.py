"""Everything that a file offers at once."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skmia import Records
from skmia.attacks import NodeEquationsAttack, ReleasedModelAttack
from skmia.datasets import make_membership_problem
from skmia.victims import CallableVictim

pytestmark = pytest.mark.contract

X, Y = load_breast_cancer(return_X_y=True)
N = len(Y)
MEMBER = np.random.default_rng(0).permutation(N) < N // 2
# Standard error of the AUC of scores that say nothing, of as many records.
ERROR = np.sqrt((N + 1) / (12 * (N // 2) * (N - N // 2)))
SMALL = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=60, random_state=0)


def fit(model, member=MEMBER):
    return FrozenEstimator(model.fit(X[member], Y[member]))


def attack(victim, records=None, **settings):
    return ReleasedModelAttack(victim, **settings, random_state=0).fit(records or Records(X, Y))


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_together_find_more_than_each(seed):
    member, records = np.random.default_rng(seed).permutation(N) < N // 2, Records(X, Y)
    forest = RandomForestClassifier(10, min_samples_leaf=20, random_state=0)
    victim = fit(make_pipeline(QuantileTransformer(n_quantiles=30), forest), member)
    both = attack(victim)
    assert list(both.parts_) == ["node equations", "split thresholds", "stored values"]
    apart = [roc_auc_score(member, one.score_samples(records)) for one in both.parts_.values()]
    assert roc_auc_score(member, both.score_samples(records)) > max(apart) > min(apart) > 0.55


def test_a_file_of_one_kind_is_attacked_by_one_part():
    found = attack(fit(KNeighborsClassifier()))
    assert list(found.parts_) == ["stored values"]
    assert found.left_out_ == {}
    assert roc_auc_score(MEMBER, found.score_samples(Records(X, Y))) == 1.0


def test_settings_that_no_equation_covers_leave_their_part_out():
    forest = RandomForestClassifier(5, class_weight="balanced", random_state=0)
    found = attack(fit(forest))
    assert "class weights" in found.left_out_["node equations"]
    assert list(found.parts_) == ["split thresholds", "stored values"]


def test_exact_equations_overrule_evidence_that_contradicts_them(monkeypatch):
    records = Records(X, Y)
    equations = NodeEquationsAttack(
        fit(ExtraTreesClassifier(min_samples_leaf=10, random_state=0)), random_state=0
    ).fit(records)
    for evidence in (np.where(MEMBER, -50.0, 50.0), np.where(MEMBER, 1.0, -1.0)):
        assert equations.solve_again(records, evidence)
        assert roc_auc_score(MEMBER, equations.score_samples(records)) == 1.0
    before = equations.score_samples(records)
    worse = equations._solution._replace(residuals=np.full(equations.n_equations_, 2.0))
    monkeypatch.setattr(equations, "_solve_around", lambda *_: worse)
    assert not equations.solve_again(records, np.where(MEMBER, -50.0, 50.0))
    np.testing.assert_array_equal(equations.score_samples(records), before)


def test_what_says_nothing_is_at_chance():
    aucs = []
    for seed in range(4):
        # The model was trained on other labels of the same rows: what matches is not in the file.
        member = np.random.default_rng(seed).permutation(N) < N // 2
        found = attack(fit(SMALL, member))
        other = np.random.default_rng(100 + seed).permutation(member)
        aucs.append(roc_auc_score(other, found.score_samples(Records(X, Y))))
    assert abs(np.mean(aucs) - 0.5) < 4 * ERROR / np.sqrt(len(aucs))


def test_records_that_were_not_candidates_are_judged():
    X, y = load_diabetes(return_X_y=True)
    member = np.random.default_rng(1).permutation(len(y)) < 221
    tree = DecisionTreeRegressor(random_state=0).fit(X[member], y[member])
    some = np.arange(len(y)) % 5 > 0
    found = attack(FrozenEstimator(tree), Records(X[some], y[some]), outsiders=0.2)
    scores = found.score_samples(Records(X[~some], y[~some]))
    assert roc_auc_score(member[~some], scores) > 0.6


def test_what_has_no_file_is_refused():
    with pytest.raises(ValueError, match="needs the fitted model itself"):
        ReleasedModelAttack().fit(Records(X, Y))
    service = CallableVictim(lambda X: np.full((len(X), 2), 0.5), classes=[0, 1]).fit(X, Y)
    with pytest.raises(ValueError, match="No attack can read the file of CallableVictim"):
        attack(FrozenEstimator(service))


def test_a_model_that_stores_nothing_of_its_records_scores_them_alike():
    scores = attack(fit(GaussianNB())).score_samples(Records(X, Y))
    assert np.unique(scores).tolist() == [0.0]


def test_the_optimum_of_a_linear_model_is_read():
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=1000))
    aucs = []
    for seed in range(4):
        member = np.random.default_rng(seed).permutation(N) < N // 2
        found = attack(fit(model, member))
        assert list(found.parts_) == ["conditions at the optimum", "stored values"]
        aucs.append(roc_auc_score(member, found.score_samples(Records(X, Y))))
    assert np.mean(aucs) > 0.5 + 4 * ERROR / np.sqrt(len(aucs))


def test_evidence_of_edges_does_not_mislead_equations_with_missing_rows():
    """Ridge regression would otherwise take evidence that is a little wrong for certain."""
    records, membership = make_membership_problem(700, random_state=0)
    X = np.where(np.arange(records.X.shape[1]) < 2, records.X, np.round(2 * records.X))
    records = Records(X, records.y)
    members = records[membership == 1]
    model = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(members.X, members.y)
    kept = np.random.default_rng(0).random(len(records)) >= 0.1 * membership
    attack = ReleasedModelAttack(FrozenEstimator(model), outsiders=0.1, random_state=0)
    together = roc_auc_score(
        membership[kept], attack.fit(records[kept]).score_samples(records[kept])
    )
    scores = attack.parts_["node equations"].score_samples(records[kept])
    assert attack.is_combined_
    assert together > roc_auc_score(membership[kept], scores)
