"""What the optimum of a released model says of its training rows."""

import numpy as np
import pytest
from cells import slow
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC, LinearSVR

from skmia import Records, audit
from skmia.attacks import ReleasedModelAttack, StationarityAttack, _bit_solver
from skmia.attacks._bit_solver import propagate
from skmia.attacks._file_attack import expect_auc

pytestmark = pytest.mark.contract

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
RECORDS = Records(X, Y)
N = len(Y)
# Standard error of the AUC of scores that say nothing, of as many records.
ERROR = np.sqrt((N + 1) / (12 * (N // 2) * (N - N // 2)))


def draw_half(seed, n=N):
    """A random half of the records as members."""
    member = np.zeros(n, dtype=bool)
    member[np.random.default_rng(seed).permutation(n)[: n // 2]] = True
    return member


def fit(model, member):
    return FrozenEstimator(model.fit(X[member], Y[member]))


@pytest.mark.parametrize(
    "model", [LogisticRegression(), RidgeClassifier(), SVC()], ids=lambda one: type(one).__name__
)
def test_strength_is_what_is_expected(model):
    found, expected, null = [], [], []
    for seed in range(4):
        member = draw_half(seed)
        attack = StationarityAttack(fit(model, member), random_state=0).fit(RECORDS)
        scores = attack.score_samples(RECORDS)
        found.append(roc_auc_score(member, scores))
        expected.append(attack.expected_auc_)
        null += [roc_auc_score(draw_half(100 + k), scores) for k in range(10)]
    assert abs(np.mean(found) - np.mean(expected)) < 4 * ERROR / np.sqrt(4)
    assert np.mean(found) > 0.5 + 4 * ERROR / np.sqrt(4)
    # A membership that was drawn independently of the model is not found.
    assert abs(np.mean(null) - 0.5) < 4 * ERROR / np.sqrt(40)


def test_share_that_is_known_is_that_of_the_coefficients():
    X, y = load_diabetes(return_X_y=True)
    member, records = draw_half(0, len(y)), Records(X, y)
    victim = FrozenEstimator(Ridge(alpha=0.1).fit(X[member], y[member]))
    attack = StationarityAttack(victim).fit(records)
    # That of the number of members tells one more number.
    assert attack.n_equations_ == 12
    # Up to the variance of the number of members, which a fifth of its information is lost to.
    np.testing.assert_allclose(attack.known_, 11.8 / len(y), rtol=0.01)
    assert attack.misfit_ < 3


@pytest.mark.parametrize("solver", ["propagation", "ridge"])
def test_records_that_come_later_are_judged_one_by_one(solver):
    rest, found = np.arange(N) % 4 == 0, []
    for seed in range(4):
        member = draw_half(seed)
        attack = StationarityAttack(
            fit(RidgeClassifier(), member), outsiders=0.25, solver=solver, random_state=0
        ).fit(RECORDS[~rest])
        scores = attack.score_samples(RECORDS[rest])
        found.append(roc_auc_score(member[rest], scores))
        one = [attack.score_samples(RECORDS[[i]])[0] for i in np.flatnonzero(rest)[:5]]
        np.testing.assert_allclose(one, scores[:5], rtol=1e-6, atol=1e-6)
    assert np.mean(found) > 0.5 + 2 * (2 * ERROR) / np.sqrt(4)  # a quarter of the records


def test_margins_judge_any_record():
    member = draw_half(1)
    victim, rest = fit(SVC(), member), np.arange(N) % 2 == 0
    attack = StationarityAttack(victim).fit(RECORDS[~rest])
    later = attack.score_samples(RECORDS[rest])
    assert member[rest][later > 0].all() and not member[rest][later < 0].any()
    assert attack.n_equations_ == round(attack.known_ * (~rest).sum()) > 50
    assert set(np.abs(later)) == {0, np.log((~rest).sum() + 1)}


def test_few_equations_are_solved_as_many_are(monkeypatch):
    monkeypatch.setattr(_bit_solver, "_MOST_ROUNDING", 0)  # few are solved in double precision
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 100))
    bits = draw_half(0, 100)
    few = propagate(sparse.csr_array(rows), rows @ bits, 0.5)
    # The same equations, and more that say nothing, so that the larger system is solved.
    more = np.concatenate([rows, np.zeros((20, 100))])
    many = propagate(sparse.csr_array(more), more @ bits, 0.5)
    np.testing.assert_allclose(few.ratios, many.ratios, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(few.known, many.known)
    columns = rng.normal(size=(40, 3))
    padded = np.concatenate([columns, np.zeros((20, 3))])
    np.testing.assert_allclose(
        few.judge(sparse.csr_array(rows), sparse.csr_array(columns)),
        many.judge(sparse.csr_array(more), sparse.csr_array(padded)),
        rtol=1e-6,
    )


def test_expected_auc_is_that_of_right_probabilities():
    rng = np.random.default_rng(0)
    p = expit(rng.normal(0, 2, size=400).round(1))
    aucs = [roc_auc_score(rng.random(400) < p, p) for _ in range(60)]
    assert abs(np.mean(aucs) - expect_auc(p)) < 4 * np.std(aucs) / np.sqrt(60)


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_probabilities_that_are_all_0_or_all_1_tell_nobody_apart(sure):
    assert expect_auc(np.full(3, sure)) == 0.5


@pytest.mark.usefixtures("quick_audits")
def test_an_audit_runs_it_and_says_of_which_models_it_does_not():
    member = draw_half(5)
    attacks, settings = {"file": StationarityAttack()}, {"shadows": 4, "file": False}
    report = audit(fit(SVC(), member), RECORDS, member, attacks=attacks, **settings, random_state=0)
    assert report.evidence == "leak"
    assert report.settings["n_shadows"] == 0
    forest = RandomForestClassifier(5).fit(X[member], Y[member])
    with pytest.raises(ValueError, match="optimum of a linear model or support vector machine of"):
        audit(forest, RECORDS, member, attacks=attacks)
    with pytest.raises(ValueError, match="StationarityAttack needs the fitted model itself"):
        StationarityAttack().fit(RECORDS)


def draw_values(d, seed, n=400):
    """Records of d features with targets, of whom half are members."""
    rng = np.random.default_rng(seed)
    features, w = rng.normal(size=(n, d)), rng.normal(size=d) * 1.5 / np.sqrt(d)
    y = features @ w + rng.normal(size=n)
    return Records(features, y), np.isin(np.arange(n), rng.permutation(n)[: n // 2])


def draw_classes(d, seed, n=400):
    records, member = draw_values(d, seed, n)
    rng = np.random.default_rng(1000 + seed)
    return Records(records.X, (rng.random(n) < expit(2 * records.y)).astype(int)), member


L1 = {"penalty": "l1", "solver": "liblinear"}


def test_a_solution_that_contradicts_its_own_certainty_is_not_taken():
    found = []
    for seed in range(1):
        records, member = draw_values(100, seed)
        victim = LinearRegression().fit(records.X[member], records.y[member])
        attack = StationarityAttack(victim, random_state=0).fit(records)
        bounded = StationarityAttack(victim, solver="bounded", random_state=0).fit(records)
        scores = [one.score_samples(records) for one in (attack, bounded)]
        found.append([*(roc_auc_score(member, one) for one in scores), attack.expected_auc_])
    reached, by_bounds, _ = np.array(found, dtype=float).T
    assert reached.mean() >= by_bounds.mean() - 0.005
    away = [expected - auc for auc, _, expected in found if expected is not None]
    assert len(away) >= 1 and abs(np.mean(away)) <= 0.05


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model, least",
    [(LogisticRegression(), 0.985), slow(LogisticRegression(C=1.0, **L1), 0.95)],
    ids=["l2", "l1"],
)
def test_the_density_of_the_coefficients_tells_who_is_a_member(model, least):
    found, expected = [], []
    for seed in range(2):
        records, member = draw_classes(100, seed)
        victim = FrozenEstimator(model.fit(records.X[member], records.y[member]))
        attack = StationarityAttack(victim, random_state=0).fit(records)
        found.append(roc_auc_score(member, attack.score_samples(records)))
        expected.append(attack.expected_auc_)
    assert np.mean(found) > least  # 0.980 and 0.899 on average without it
    assert np.abs(np.subtract(found, expected)).max() <= 0.05


def test_bits_add_up_to_the_number_of_members():
    found = []
    for seed in range(4):
        records, member = draw_values(60, seed)
        victim = FrozenEstimator(LinearRegression().fit(records.X[member], records.y[member]))
        found.append(expit(StationarityAttack(victim).fit(records).score_samples(records)).sum())
    assert abs(np.mean(found) - 200) < 3  # 193 if all sets of members are taken to be alike


def test_unlike_solutions_are_not_expected_to_be_right(monkeypatch):
    records, member = draw_values(100, 1)
    victim = FrozenEstimator(LinearRegression().fit(records.X[member], records.y[member]))
    assert StationarityAttack(victim).fit(records).expected_auc_ > 0.7
    monkeypatch.setattr(_bit_solver, "_APART", 0.0)
    assert StationarityAttack(victim).fit(records).expected_auc_ is None
    attack = ReleasedModelAttack(victim).fit(records)
    assert attack.expected_auc_ is None


@pytest.mark.parametrize(
    "alpha, seed", [(1.0, 20022), slow(1.0, 20026), (100.0, 20024), slow(100.0, 20055)]
)
def test_noise_that_is_not_there_does_not_lower_what_is_expected(alpha, seed):
    records, member = draw_values(100, seed)
    victim = FrozenEstimator(Ridge(alpha).fit(records.X[member], records.y[member]))
    attack = StationarityAttack(victim, random_state=0).fit(records)
    reached = roc_auc_score(member, attack.score_samples(records))
    assert abs(attack.expected_auc_ - reached) <= 0.05


@pytest.mark.parametrize("d", [slow(30), 60, slow(100)])
@pytest.mark.parametrize(
    "model", [Ridge(), Lasso(0.05), LogisticRegression(), HuberRegressor(max_iter=1000)], ids=str
)
def test_nothing_is_expected_of_candidates_that_a_model_does_not_know(model, d):
    make = draw_classes if isinstance(model, LogisticRegression) else draw_values
    records, _ = make(d, 3, n=600)
    victim = FrozenEstimator(model.fit(records.X[400:], records.y[400:]))
    assert StationarityAttack(victim).fit(records[:400]).expected_auc_ is None
    victim = FrozenEstimator(model.fit(records.X[200:400], records.y[200:400]))
    assert StationarityAttack(victim).fit(records[:400]).expected_auc_ > 0.6


@pytest.mark.parametrize(
    "target, noise, left",
    [(1.0, 1.0, 0.5), (1.0, 0.5, 1 - 0.81 / 4), (4.0, 1.0, 1.0)],
    ids=["at most twice", "a quarter of the noise", "it is there"],
)
def test_assumed_noise_is_taken_out_of_ratios(target, noise, left):
    # One equation about one bit, with unit noise, of which some was assumed.
    rows, attack = sparse.csr_array([[1.0]]), StationarityAttack()
    solution = propagate(rows, np.array([target]), 0.5)
    attack._rows, attack._noise = rows, noise
    found = attack._sharpen(solution)
    np.testing.assert_allclose(solution.ratios / found, left, atol=5e-3)


@pytest.mark.parametrize(
    "model, is_classifier",
    [
        (LinearSVC(loss="hinge", max_iter=10**5), True),
        (LinearSVR(epsilon=0.2, max_iter=10**5), False),
        (QuantileRegressor(alpha=0.001), False),
    ],
    ids=["hinge", "epsilon-insensitive", "quantile"],
)
def test_training_rows_lie_on_the_edge_of_a_loss(model, is_classifier):
    records, member = draw_values(40, 0, n=200)
    if is_classifier:
        records = Records(records.X, (records.y > 0).astype(int))
    victim = FrozenEstimator(model.fit(records.X[member], records.y[member]))
    attack = StationarityAttack(victim).fit(records)
    scores = attack.score_samples(records)
    on_edge = scores > 0
    assert 20 < on_edge.sum() == attack.n_equations_ <= 41
    assert member[on_edge].all()
    assert len(np.unique(scores[~on_edge])) == 1
    # Those on the edge come first, and the others are in any order.
    reached = roc_auc_score(member, scores)
    np.testing.assert_allclose(reached, 0.5 + on_edge.sum() / 200, atol=1e-9)
    np.testing.assert_allclose(attack.expected_auc_, reached, atol=0.01)
    null = attack.score_samples(draw_values(40, 1, n=200)[0]) if not is_classifier else scores * 0
    assert np.count_nonzero(null > 0) <= 1


def test_expected_misfit_is_that_of_gaussians():
    # One equation about one bit of variance 1/4, with unit noise: tr((1 + r P r')^-1) = 4 / 5.
    solution = propagate(sparse.csr_array([[1.0]]), np.array([0.5]), 0.5)
    np.testing.assert_allclose(solution.ratios, 0, atol=1e-12)
    np.testing.assert_allclose(_bit_solver.expect_misfit(solution, 0.5), np.sqrt(0.8), rtol=1e-6)
