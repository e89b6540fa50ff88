"""What a solver makes of equations, and what the attack finds in the file of a model."""

from functools import cache

import numpy as np
import pytest
from cells import slow
from scipy import sparse
from scipy.special import expit, logit
from scipy.stats import norm
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
from sklearn.model_selection import GridSearchCV

from skmia import Records, audit
from skmia.attacks import NodeEquationsAttack, _bit_solver
from skmia.attacks._bit_solver import (
    estimate_outsiders,
    propagate,
    solve_bounded_ridge,
    solve_ridge,
)
from skmia.defenses import strip_state
from skmia.victims._node_equations.equations import Equations

pytestmark = pytest.mark.contract

X, Y = load_breast_cancer(return_X_y=True)
RECORDS = Records(X, Y)


N = len(Y)
# Standard error of the AUC of scores that say nothing, of as many records.
ERROR = np.sqrt((N + 1) / (12 * (N // 2) * (N - N // 2)))


@pytest.mark.parametrize("apart, is_trusted", [(0.11, True), (0.13, False)])
def test_solutions_that_differ_by_the_noise_tell_no_auc(apart, is_trusted, monkeypatch):
    solve = _bit_solver.EquationsAttack._solve

    def solve_apart(attack, **settings):
        solution = solve(attack, **settings)
        attack._disagreement = apart
        return solution

    monkeypatch.setattr(_bit_solver.EquationsAttack, "_solve", solve_apart)
    forest = RandomForestClassifier(5, random_state=0).fit(X[::2], Y[::2])
    attack = NodeEquationsAttack(forest, solver="ridge").fit(RECORDS)
    assert (attack.expected_auc_ is not None) == is_trusted


def draw_half(seed, n=N):
    """A random half of the records as members."""
    member = np.zeros(n, dtype=bool)
    member[np.random.default_rng(seed).permutation(n)[: n // 2]] = True
    return member


def fit(model, member):
    return FrozenEstimator(model.fit(X[member], Y[member]))


def draw_system(share, n=400, seed=0):
    """Random equations of a rank that is a share of the bits, with nearly no noise."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(round(share * n), n))
    bits = draw_half(seed, n)
    rows /= 0.01 * np.linalg.norm(rows, axis=1, keepdims=True)
    return sparse.csr_array(rows), rows @ bits, bits


@pytest.mark.parametrize("share", [0.1, slow(0.2), 0.3, slow(0.4)])
def test_strength_below_one_half_is_the_formula(share):
    expected = norm.cdf(np.sqrt(2 * share / (1 - share)))
    found = {"propagate": [], "regress": []}
    for seed in range(4):
        rows, targets, bits = draw_system(share, seed=seed)
        solution = propagate(rows, targets, 0.5)
        np.testing.assert_allclose(solution.known, share, atol=0.01)
        found["propagate"].append(roc_auc_score(bits, solution.ratios))
        solution = solve_ridge(rows, targets, 0.5, seed)
        np.testing.assert_allclose(solution.known, share, atol=0.05)
        found["regress"].append(roc_auc_score(bits, solution.ratios))
    # The standard error of an AUC of 200 members and 200 others is at most 0.028.
    for aucs in found.values():
        assert abs(np.mean(aucs) - expected) < 3 * 0.028 / 2


def test_above_one_half_binary_bits_are_found_where_numbers_are_not():
    rows, targets, bits = draw_system(0.65, n=250)
    assert roc_auc_score(bits, propagate(rows, targets, 0.5).ratios) == 1
    assert roc_auc_score(bits, solve_bounded_ridge(rows, targets, 0.5, 0).ratios) == 1
    assert roc_auc_score(bits, solve_ridge(rows, targets, 0.5, 0).ratios) < 1


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_propagation_stops_when_it_has_settled(share, monkeypatch):
    rows, targets, bits = draw_system(share, n=200)
    steps = []
    match = _bit_solver._match_moments
    monkeypatch.setattr(_bit_solver, "_match_moments", lambda *a: steps.append(0) or match(*a))
    early = propagate(rows, targets, 0.5)
    assert len(steps) < _bit_solver._N_STEPS
    settled = _bit_solver._SETTLED
    monkeypatch.setattr(_bit_solver, "_SETTLED", 0)
    late = propagate(rows, targets, 0.5)
    # Steps are halved, so that all that were left out move bits about as much as the last one.
    difference = np.mean(np.abs(expit(early.ratios) - expit(late.ratios)))
    assert difference < 10 * settled
    assert roc_auc_score(bits, early.ratios) == pytest.approx(
        roc_auc_score(bits, late.ratios), abs=1e-3
    )


def test_bits_without_an_active_bound_are_those_of_ridge_regression():
    rows, targets, _ = draw_system(0.1, n=200)
    rows, targets = sparse.csr_array(rows * 0.01), targets * 0.01  # with noise, far from 0 and 1
    plain, bounded = solve_ridge(rows, targets, 0.5, 0), solve_bounded_ridge(rows, targets, 0.5, 0)
    inside = np.abs(plain.ratios * (1 - plain.known)) < 1.9
    assert inside.all()
    np.testing.assert_allclose(bounded.ratios, plain.ratios, atol=1e-2)
    np.testing.assert_allclose(bounded.residuals, plain.residuals, atol=1e-2)


def test_the_solver_follows_from_the_size_and_from_contradictions(monkeypatch):
    n, records = 260, RECORDS[:260]
    member = draw_half(4, n)
    model = GradientBoostingClassifier(n_estimators=15, random_state=0)
    victim = FrozenEstimator(model.fit(X[:n][member], Y[:n][member]))

    def attack(candidates, **options):
        return NodeEquationsAttack(victim, random_state=0, **options).fit(candidates)

    monkeypatch.setattr(_bit_solver, "_MOST_DENSE", 0)
    aucs = {}
    for most, solver in ((n, "bounded"), (n - 1, "ridge")):
        monkeypatch.setattr(_bit_solver, "_MOST_BOUNDED", most)
        chosen, same = attack(records), attack(records, solver=solver)
        np.testing.assert_array_equal(chosen.score_samples(records), same.score_samples(records))
        aucs[solver] = roc_auc_score(member, chosen.score_samples(records))
    assert aucs["bounded"] > aucs["ridge"]
    monkeypatch.setattr(_bit_solver, "_MOST_BOUNDED", n)
    candidates = records[drop_members(member, 0.2)]
    with pytest.warns(UserWarning, match="contradict"):
        found = attack(candidates)
    told = attack(candidates, outsiders=found.outsiders_, solver="ridge")
    np.testing.assert_array_equal(found.score_samples(candidates), told.score_samples(candidates))


@pytest.mark.parametrize("seed", [13, 31, 39])
def test_propagation_does_not_overshoot_a_solution_that_fits(seed):
    rng = np.random.default_rng(seed)
    rows, bits = rng.normal(size=(80, 200)), rng.permutation(200) < 100
    rows /= 0.01 * np.linalg.norm(rows, axis=1, keepdims=True)
    # Evidence that is right with the probability that it states.
    prior = np.where(bits != (rng.random(200) < 0.2), 0.8, 0.2)
    solution = propagate(sparse.csr_array(rows), rows @ bits, prior)
    assert np.mean(solution.residuals**2) <= 1  # it was more than 100 without taking steps back
    evidence = solution.ratios + logit(prior)
    assert roc_auc_score(bits, evidence) > roc_auc_score(bits, prior)


MODELS = {
    "histogram boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "extra trees": ExtraTreesClassifier(60, min_samples_leaf=5, random_state=0),
    "random forest": RandomForestClassifier(60, random_state=0),
}


@cache
def fit_once(name):
    """A model of each kind for all solvers, which do not change it."""
    return fit(MODELS[name], draw_half(0))


# Counts of bootstrap samples are noisy: how much they say is measured in the benchmarks.
LEAST = {"histogram boosting": 0.99, "extra trees": 0.99, "random forest": 0.5 + 4 * ERROR}


@pytest.mark.parametrize(
    "name, solver",
    [
        ("histogram boosting", "propagation"),
        ("extra trees", "bounded"),
        ("extra trees", "ridge"),
        ("random forest", "ridge"),
        slow("extra trees", "propagation"),
        slow("random forest", "propagation"),
        slow("histogram boosting", "bounded"),
        slow("random forest", "bounded"),
        slow("histogram boosting", "ridge"),
    ],
)
def test_members_are_found_without_a_query(name, solver):
    member, least = draw_half(0), LEAST[name]
    attack = NodeEquationsAttack(fit_once(name), solver=solver, random_state=0).fit(RECORDS)
    scores = attack.score_samples(RECORDS)
    auc = roc_auc_score(member, scores)
    assert auc > least - 0.05 * (solver == "ridge")
    assert attack.n_rows_ == member.sum()
    # A membership that was drawn independently of the model is not found.
    others = [roc_auc_score(draw_half(seed), scores) for seed in range(1, 41)]
    assert abs(np.mean(others) - 0.5) < 4 * ERROR / np.sqrt(40)


def test_large_leaves_say_little_and_it_is_known_beforehand():
    member = draw_half(1)
    few = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=80, random_state=0)
    attack = NodeEquationsAttack(fit(few, member)).fit(RECORDS)
    assert attack.known_ < 0.1
    auc = roc_auc_score(member, attack.score_samples(RECORDS))
    assert abs(auc - attack.expected_auc_) < 4 * ERROR


def drop_members(member, share, seed=0):
    """Who is known if a share of the members is not among the candidates."""
    known = np.ones(len(member), dtype=bool)
    some = np.random.default_rng(seed).permutation(np.flatnonzero(member))
    known[some[: round(share * len(some))]] = False
    return known


def test_strangers_among_the_training_rows_cost_power_and_are_allowed_for():
    member = draw_half(2)
    victim = fit(ExtraTreesClassifier(75, min_samples_leaf=10, random_state=0), member)
    known = drop_members(member, 0.2)
    candidates, aucs = RECORDS[known], {}
    settings = {
        "ignored": {"outsiders": 0.0, "solver": "propagation"},
        "ridge": {"outsiders": 0.0},
        "estimated": {},
    }
    for name, options in settings.items():
        attack = NodeEquationsAttack(victim, **options, random_state=0)
        with pytest.warns(UserWarning, match="ExtraTreesClassifier contradict .* set outsiders"):
            attack.fit(candidates)
        assert attack.misfit_ > 3
        aucs[name] = roc_auc_score(member[known], attack.score_samples(candidates))
    assert 0.05 < attack.outsiders_ < 0.4
    attack = NodeEquationsAttack(victim, outsiders=0.2, random_state=0).fit(candidates)
    assert attack.misfit_ < 3
    allowed = roc_auc_score(member[known], attack.score_samples(candidates))
    assert 0.5 + 4 * ERROR < aucs["ignored"] < aucs["ridge"] < aucs["estimated"] < 1
    assert abs(aucs["estimated"] - allowed) < ERROR


@pytest.mark.parametrize("share, many", [slow(0.05, 8000), (0.2, 8000), (0.2, 0)])
def test_the_share_of_strangers_is_estimated_from_the_equations(share, many, monkeypatch):
    monkeypatch.setattr(_bit_solver, "_MANY", many)  # more candidates get a shorter computation
    found, n = [], 300
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cells = rng.integers(20, size=(40, n))
        rows = sparse.csr_array((cells[:, None] == np.arange(20)[:, None]).reshape(-1, n) * 1.0)
        bits, known = draw_half(seed, n), drop_members(draw_half(seed, n), share, seed)
        equations = Equations(rows[:, known], rows @ bits, np.zeros(800), n // 2, [], None)
        found.append(estimate_outsiders(equations, known.sum(), seed))
        complete = equations._replace(rows=rows)
        assert estimate_outsiders(complete, n, seed) == 0.0
    assert 0.7 * share < np.mean(found) < 1.3 * share


@pytest.mark.parametrize("solver", ["propagation", slow("ridge")])
def test_records_that_come_later_are_judged_one_by_one(solver):
    member, rest = draw_half(3), np.arange(len(Y)) % 4 == 0
    victim = fit(HistGradientBoostingClassifier(random_state=0), member)
    attack = NodeEquationsAttack(victim, outsiders=0.25, solver=solver, random_state=0)
    scores = attack.fit(RECORDS[~rest]).score_samples(RECORDS[rest])
    assert roc_auc_score(member[rest], scores) > 0.5 + 4 * ERROR * 2  # a quarter of the records
    # A log likelihood ratio above zero says that a record is more likely a member than not.
    right = np.mean((scores > 0) == member[rest])
    assert right > 0.5 + 4 * 0.5 / np.sqrt(rest.sum())
    one = [attack.score_samples(RECORDS[[i]])[0] for i in np.flatnonzero(rest)[:5]]
    np.testing.assert_allclose(one, scores[:5], rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("quick_audits")
def test_settings_can_be_searched_and_an_audit_runs_it():
    member = draw_half(4)
    victim = fit(HistGradientBoostingClassifier(max_iter=20, random_state=0), member)
    shares, settings = {"outsiders": [0.0, 0.33]}, {"scoring": "roc_auc", "cv": 3, "refit": False}
    search = GridSearchCV(NodeEquationsAttack(victim), shares, **settings)
    with pytest.warns(UserWarning, match="contradict each other"):
        search.fit(RECORDS, member)
    assert search.best_params_ == {"outsiders": 0.33}  # the third that each fit leaves out
    assert search.best_score_ > 0.5 + 4 * ERROR
    some = np.arange(N) < 150
    model = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=10)
    victim = fit(model, member & some)
    settings = {"attacks": {"file": NodeEquationsAttack()}, "shadows": 4, "file": False}
    report = audit(victim, RECORDS[some], member[some], **settings, random_state=0)
    assert report.evidence == "leak"
    assert report.settings["n_shadows"] == 0


def test_an_audit_says_of_which_models_it_does_not_read_the_file():
    member = draw_half(5)
    model = LogisticRegression(max_iter=5000).fit(X[member] / X.max(axis=0), Y[member])
    records = Records(X / X.max(axis=0), Y)
    with pytest.raises(
        ValueError, match="nodes of trees of the victim, which skmia cannot read from Logi"
    ):
        audit(model, records, member, attacks={"file": NodeEquationsAttack()})


def test_stored_outputs_are_not_a_file():
    with pytest.raises(ValueError, match="needs the fitted model itself"):
        NodeEquationsAttack().fit(RECORDS)


def fit_stripped(n_features, seed=0):
    """A stripped booster of normal features, its records and members."""
    member = draw_half(seed)
    data = np.random.default_rng(seed).normal(size=(N, n_features))
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    model.fit(data[member], Y[member])
    with pytest.warns(UserWarning, match="leaf values"):
        return FrozenEstimator(strip_state(model)), Records(data, Y), member


@pytest.mark.parametrize("n_features", [slow(10), 30])
def test_a_stripped_booster_is_attacked_by_its_leaf_values(n_features):
    victim, records, member = fit_stripped(n_features)
    attack = NodeEquationsAttack(victim).fit(records)
    assert attack.n_rows_ is None
    assert attack.score(records, member) > 0.99
    # Equations of the candidates and of further records are as many.
    assert np.isfinite(attack.score_samples(Records(records.X + 1, records.y))).all()


def test_equations_that_hold_for_no_member_are_not_solved_so():
    victim, records, member = fit_stripped(10)
    known = records[: N - 50]
    with pytest.warns(UserWarning, match="contradict"):
        attack = NodeEquationsAttack(victim).fit(known)
    assert roc_auc_score(member[:-50], attack.score_samples(known)) > 0.9
    attack.set_params(outsiders=0.1).fit(known)
    assert roc_auc_score(member[:-50], attack.score_samples(known)) > 0.9


def test_rounding_leaf_values_does_not_hide_members():
    victim, records, member = fit_stripped(10)
    for iteration in victim.estimator._predictors:
        for tree in iteration:
            tree.nodes["value"] = np.round(tree.nodes["value"], 2)
    # Without how the error of an equation grows with its members, no member explains it best.
    attack = NodeEquationsAttack(victim).fit(records)
    assert attack.misfit_ < 1.5
    assert roc_auc_score(member, attack.score_samples(records)) > 0.9
    assert 0.4 * N < attack.predict(records).sum() < 0.6 * N


@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_a_stripped_forest_is_attacked_by_the_shares_of_its_leaves():
    member = draw_half(0)
    model = ExtraTreesClassifier(50, min_samples_leaf=5, random_state=0).fit(X[member], Y[member])
    attack = NodeEquationsAttack(FrozenEstimator(strip_state(model))).fit(RECORDS)
    assert roc_auc_score(member, attack.score_samples(RECORDS)) > 0.95
