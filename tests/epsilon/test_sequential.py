"""Audits that may stop at any time: their errors, and how early they stop."""

import multiprocessing
import os
import signal
import time
import warnings

import numpy as np
import pytest
from draws import few_and_many
from joblib import parallel_config
from scipy import stats
from scipy.special import expit
from scipy.stats import binom, norm
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skmia.attacks import ThresholdAttack
from skmia.epsilon import EpsilonAudit
from skmia.epsilon._epsilon_audit import (
    bound_path,
    follow_rates,
    group_privacy,
    log_wealth_of_trainings,
    predict_coins,
)
from skmia.exceptions import CheckpointError
from skmia.metrics import rate_sequence

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier()


def respond(rng, n, epsilon):
    coins = rng.random(n) < 0.5
    return coins, (coins == (rng.random(n) < expit(epsilon))).astype(float)


@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_a_true_claim_is_rarely_refuted_at_the_worst_time(epsilon):
    rng, n_audits, refuted = np.random.default_rng(0), 300, 0
    for _ in range(n_audits):
        coins, scores = respond(rng, 500, epsilon)
        wealth = log_wealth_of_trainings(epsilon, 1e-5, coins, predict_coins(coins, scores))
        refuted += wealth.max() >= np.log(20)
    assert refuted <= binom.ppf(0.999, n_audits, 0.05)


@few_and_many(200)
def test_a_bound_at_any_time_is_rarely_too_high(n_draws):
    rng, too_high = np.random.default_rng(0), 0
    for _ in range(n_draws):
        coins, scores = respond(rng, 200, 1.0)
        path = bound_path(coins, predict_coins(coins, scores), 0.0, 0.05)
        assert (np.diff(path) >= 0).all()
        too_high += path[-1] > 1.0
    assert too_high <= binom.ppf(0.999, n_draws, 0.05)


# Claim, distance of the scores (infinite without noise), and the trainings of the best fixed
# design that succeeds half of the time.
@pytest.mark.parametrize(
    "claim, mu, fixed",
    [
        (1, np.inf, 24),
        (2, np.inf, 60),
        (4, np.inf, 426),
        (1, 1, 618),
        (1, 2, 76),
        (1, 4, 24),
        (2, 2, 312),
        (2, 4, 64),
        (4, 4, 528),
    ],
)
def test_a_false_claim_is_refuted_early(claim, mu, fixed):
    rng, needed = np.random.default_rng(0), []
    for _ in range(40):
        coins = rng.random(2 * fixed) < 0.5
        scores = coins.astype(float) if mu == np.inf else rng.normal(size=2 * fixed) + mu * coins
        wealth = log_wealth_of_trainings(claim, 1e-5, coins, predict_coins(coins, scores))
        refuted = wealth >= np.log(20)
        needed.append(refuted.argmax() + 1 if refuted.any() else np.inf)
    assert np.median(needed) <= 0.75 * fixed


def test_missing_noise_is_found_in_a_twentieth_of_an_audit_planned_for_a_milder_flaw():
    # 1286 trainings succeed in 9 of 10 audits if scores are one standard deviation apart.
    coins = np.random.default_rng(0).random((40, 1286 // 20)) < 0.5
    found = [
        log_wealth_of_trainings(1.0, 1e-5, row, predict_coins(row, row.astype(float)))
        for row in coins
    ]
    assert np.mean([(wealth >= np.log(20)).any() for wealth in found]) == 1.0


def test_the_wealth_by_hand():
    # Without noise, bets start with two trainings of either kind and then are nearly all right.
    coins = np.array([1, 0, 1, 0, 1, 0, 0], dtype=bool)
    log_odds = predict_coins(coins, coins.astype(float))
    assert (log_odds[:4] == 0).all() and ((log_odds[4:] > 0) == coins[4:]).all()
    wealth = np.exp(log_wealth_of_trainings(1.0, 0.0, coins, log_odds))
    assert wealth[:4].tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(wealth[4:], (1 + np.exp(-1)) ** np.arange(1, 4), rtol=2e-3)


def test_the_odds_are_those_of_the_law_of_the_next_score():
    # Under a flat prior of the means and the logarithm of the common variance, the next score of
    # a kind follows Student's law around the mean of n earlier ones, with n + 1 over n as variance.
    coins = np.array([1, 0, 1, 0, 1, 1, 0], dtype=bool)
    scores = np.array([0.3, -1.0, 1.1, 0.4, 0.8, 2.0, 0.1])
    early = {side: scores[:-1][coins[:-1] == side] for side in (False, True)}
    pooled = sum(((part - part.mean()) ** 2).sum() for part in early.values()) / 4
    logs = [
        stats.t(4, part.mean(), np.sqrt(pooled * (len(part) + 1) / len(part))).logpdf(scores[-1])
        for part in early.values()
    ]
    assert predict_coins(coins, scores)[-1] == pytest.approx(logs[1] - logs[0])


@pytest.mark.parametrize(
    "epsilon, delta, n_copies, expected",
    [
        (1.0, 0.1, 1, (1.0, 0.1)),
        (1.0, 0.1, 2, (2.0, 0.1 * (1 + np.e))),
        (1.0, 0.1, 9, (9.0, 1.0)),
        (0.0, 0.1, 3, (0.0, 0.3)),
        (20.0, 0.0, 50, (1000.0, 0.0)),
        (20.0, 1e-5, 50, (1000.0, 1.0)),
    ],
)
def test_the_privacy_of_a_group_by_hand(epsilon, delta, n_copies, expected):
    assert group_privacy(epsilon, delta, n_copies) == pytest.approx(expected)


def test_predictions_use_earlier_trainings_alone():
    rng = np.random.default_rng(0)
    coins = rng.random(50) < 0.5
    scores = rng.normal(size=50) + coins
    log_odds = predict_coins(coins, scores)
    changed = coins.copy()
    changed[30:] ^= True
    again = predict_coins(changed, scores)
    assert (log_odds[:31] == again[:31]).all()
    later = np.append(scores[:30], 1e6 * rng.normal(size=20))
    assert (log_odds[:30] == predict_coins(changed, later)[:30]).all()
    assert (log_odds != again).any()


def test_rates_by_hand():
    # Two of either kind choose the threshold, 0.5; the fifth training is the first that counts.
    coins = np.array([1, 0, 1, 0, 1, 1, 0, 1], dtype=bool)
    scores = np.array([1.0, 0.0, 1.0, 0.0, 2.0, 0.2, 0.7, 0.6])
    rates = follow_rates(coins, scores, 0.95)
    assert rates[["tpr", "fpr"]].iloc[:4].isna().all(axis=None)
    assert (rates[["tpr_low", "fpr_low"]].iloc[:4] == 0).all(axis=None)
    assert (rates[["tpr_high", "fpr_high"]].iloc[:4] == 1).all(axis=None)
    assert rates["tpr"].iloc[4:].tolist() == [1, 1 / 2, 1 / 2, 2 / 3]
    assert rates["fpr"].iloc[6:].tolist() == [1, 1]
    last = rates.iloc[-1]
    assert (last["tpr"], last["tpr_low"], last["tpr_high"]) == rate_sequence(
        2, 3, confidence_level=0.975
    )
    without = follow_rates(np.ones(3, dtype=bool), scores[:3], 0.95)
    assert without["tpr"].isna().all() and (without["tpr_high"] == 1).all()


@few_and_many(300)
def test_rates_hold_at_all_times_at_once(n_draws):
    rng = np.random.default_rng(0)
    n_wrong = 0
    for _ in range(n_draws):
        coins = rng.random(300) < 0.5
        scores = rng.normal(size=300) + coins
        rates = follow_rates(coins, scores, 0.9)
        first = int((np.minimum(np.cumsum(coins), np.cumsum(~coins)) >= 2).argmax()) + 1
        past, kinds = scores[:first], coins[:first]
        threshold = (past[kinds].mean() + past[~kinds].mean()) / 2
        truth = {"tpr": norm.sf(threshold - 1), "fpr": norm.sf(threshold)}
        n_wrong += any(
            ((rates[f"{name}_low"] > rate) | (rates[f"{name}_high"] < rate)).any()
            for name, rate in truth.items()
        )
    # Promised is at most 10%: 99.9% quantile of that binomial law.
    assert n_wrong <= binom.isf(0.001, n_draws, 0.1)
    assert (rates["tpr_high"] - rates["tpr_low"]).iloc[-1] < 0.35


def test_an_audit_stops_when_the_claim_is_refuted():
    settings = {"canary": "random_label", "sequential": True, "random_state": 0}
    audit = EpsilonAudit(TREE, claimed_epsilon=1.0, **settings).fit(X, y)
    assert audit.stopped_ == "refuted" and len(audit.scores_) < 40
    assert audit.wealth_[-1] >= 20 > audit.wealth_[:-1].max()
    counts = {"n_trainings": len(audit.scores_), "n_members": audit.membership_.sum()}
    assert audit.result_.counts == counts and len(audit.epsilons_) == len(audit.membership_)
    assert len(audit.rates_) == len(audit.scores_)
    assert audit.rates_["tpr_low"].iloc[-1] > 0.2 and audit.rates_["fpr_high"].iloc[-1] < 0.8
    assert audit.epsilon_ == audit.result_.epsilon >= 0.98  # the grid value below the claim
    assert "fair coin" in audit.result_.summary()
    with parallel_config("threading"):
        parallel = EpsilonAudit(TREE, claimed_epsilon=1.0, n_jobs=2, **settings).fit(X, y)
    assert (parallel.scores_ == audit.scores_).all() and parallel.epsilon_ == audit.epsilon_
    budget = EpsilonAudit(TREE, claimed_epsilon=5.0, n_trials=8, **settings).fit(X, y)
    assert budget.stopped_ == "budget" and len(budget.scores_) == 16
    # Fair coins, which are not one of each kind in turn, decide who has the canary.
    assert (np.diff(budget.membership_) == 0).any() and 0 < budget.membership_.sum() < 16
    silent = EpsilonAudit(TREE, n_trials=8, **settings).fit(X, y)
    assert silent.stopped_ == "budget" and not len(silent.wealth_)


def test_the_claim_of_no_leakage_is_refuted_with_several_copies_too():
    settings = {"claimed_epsilon": 0.0, "n_copies": 5, "n_trials": 30}
    assert make_audit(**settings).fit(X, y).stopped_ == "refuted"


class Claiming(DecisionTreeClassifier):
    """A tree that claims an epsilon without keeping it."""

    def fit(self, X, y):
        super().fit(X, y)
        self.epsilon_, self.delta_ = 2.0, 1e-5
        return self


def test_without_a_claim_that_of_the_models_is_bet_against(tmp_path):
    given = make_audit(claimed_epsilon=2.0).fit(X, y)
    assert given.stopped_ == "refuted"
    for folder in (tmp_path / "audit", tmp_path / "audit"):
        assert_same(make_audit(folder, Claiming(), claimed_epsilon=None).fit(X, y), given)


class ClaimingByNumber(DecisionTreeClassifier):
    """A tree that claims more with an even number of records."""

    def fit(self, X, y):
        super().fit(X, y)
        self.epsilon_, self.delta_ = (9.0 if len(X) % 2 == 0 else 0.1), 1e-5
        return self


@pytest.mark.parametrize("n_rows", [len(X) - 1, len(X)], ids=["odd", "even"])
def test_the_largest_claim_of_the_models_is_bet_against_whatever_the_first_coin(n_rows):
    data, settings = (X[:n_rows], y[:n_rows]), {"claimed_epsilon": None, "n_trials": 8}
    audit = make_audit(estimator=ClaimingByNumber(), **settings).fit(*data)
    assert (audit.claimed_epsilon_, audit.stopped_) == (9.0, "budget")
    assert len(audit.wealth_) == len(audit.scores_) == 16
    with parallel_config("threading"):
        parallel = make_audit(estimator=ClaimingByNumber(), n_jobs=3, **settings).fit(*data)
    assert_same(parallel, audit)


def test_settings_of_fixed_audits_are_refused():
    with pytest.raises(ValueError, match="sequential=True needs method='clopper_pearson'"):
        EpsilonAudit(TREE, sequential=True, method="gaussian").fit(X, y)
    with pytest.raises(ValueError, match="threshold='auto'; got"):
        EpsilonAudit(TREE, sequential=True, threshold=0.5).fit(X, y)


class SlowTree(DecisionTreeClassifier):
    """A tree that takes long enough to be killed while it is trained."""

    def fit(self, X, y):
        time.sleep(0.01)
        return super().fit(X, y)


def make_audit(folder=None, estimator=None, **settings):
    settings = {"sequential": True, "claimed_epsilon": 2.0, "random_state": 0, **settings}
    estimator = TREE if estimator is None else estimator
    return EpsilonAudit(estimator, "random_label", checkpoint=folder, **settings)


def assert_same(audit, other):
    for name in ("scores_", "membership_", "epsilons_", "wealth_"):
        np.testing.assert_array_equal(getattr(audit, name), getattr(other, name))
    assert (audit.epsilon_, audit.stopped_) == (other.epsilon_, other.stopped_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test kills a forked process")
def test_an_audit_that_is_killed_goes_on_to_the_same_numbers(tmp_path):
    undisturbed = make_audit().fit(X, y)  # of trees that differ in nothing but their haste
    folder, n_kept, context = tmp_path / "audit", [], multiprocessing.get_context("fork")
    for _ in range(2):
        process = context.Process(target=make_audit(folder, SlowTree()).fit, args=(X, y))
        process.start()
        stop, before = time.monotonic() + 60, len(list(folder.glob("shadow-*.npz")))
        while len(list(folder.glob("shadow-*.npz"))) < before + 4 and time.monotonic() < stop:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        n_kept.append(len(list(folder.glob("shadow-*.npz"))))
    assert 0 < n_kept[0] < n_kept[1] < len(undisturbed.scores_)
    assert_same(make_audit(folder, SlowTree()).fit(X, y), undisturbed)


class InterruptedTree(DecisionTreeClassifier):
    """A tree whose user loses patience."""

    n_left = 5

    def fit(self, X, y):
        if not InterruptedTree.n_left:
            raise KeyboardInterrupt
        InterruptedTree.n_left -= 1
        return super().fit(X, y)


def test_an_audit_that_is_interrupted_says_what_is_kept(tmp_path):
    settings = {"claimed_epsilon": 5.0, "n_trials": 4}
    with pytest.raises(KeyboardInterrupt) as stop:
        make_audit(tmp_path, InterruptedTree(), **settings).fit(X, y)
    n_kept = len(list(tmp_path.glob("shadow-*.npz")))
    assert 0 < n_kept <= 5
    told = f"{n_kept} of 8 trainings are kept in {tmp_path}; running it again continues from there."
    assert stop.value.__notes__ == [told]


def count_fits(monkeypatch):
    fits, original = [], DecisionTreeClassifier.fit

    def fit(self, X, y):
        fits.append(1)
        return original(self, X, y)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit)
    return fits


def test_a_finished_audit_is_read_back_and_may_go_on(tmp_path, monkeypatch):
    settings = {"claimed_epsilon": 5.0, "n_trials": 8}
    first = make_audit(tmp_path / "audit", **settings).fit(X, y)
    fits = count_fits(monkeypatch)
    assert_same(make_audit(tmp_path / "audit", **settings).fit(X, y), first)
    settings["n_trials"] = 12
    longer = make_audit(tmp_path / "audit", **settings).fit(X, y)
    assert len(fits) <= 8 + 2 and len(longer.scores_) == 24  # choosing the way may train two
    assert_same(longer, make_audit(**settings).fit(X, y))
    half = tmp_path / "audit" / "shadow-00099.npz.elsewhere-17-abc.tmp"  # of another machine
    half.write_bytes(b"")
    (tmp_path / "audit" / "shadow-00003.npz").write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="damaged"):
        assert_same(make_audit(tmp_path / "audit", **settings).fit(X, y), longer)
    assert not half.exists()


def test_a_folder_keeps_the_seed_of_an_audit_without_one(tmp_path):
    settings = {"n_trials": 4, "random_state": None, "estimator": DecisionTreeClassifier()}
    settings |= {"sequential": False, "claimed_epsilon": None}
    first = make_audit(tmp_path / "audit", **settings).fit(X, y)
    again = make_audit(tmp_path / "audit", **settings).fit(X, y)
    assert (first.scores_ == again.scores_).all() and (first.canary_.X == again.canary_.X).all()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"estimator": DecisionTreeClassifier(max_depth=2)}, "max_depth"),
        ({"random_state": 1}, "random_state|features"),
        ({"n_copies": 2}, "records|n_copies|sampling"),
        ({"attack": ThresholdAttack(signal="confidence")}, "attack"),
        ({"sequential": False}, "sequential: True there, False here"),
        (
            {"random_state": 1},
            "belongs to another audit, which differs in .* Give another folder, or what that audit",
        ),
    ],
)
def test_the_folder_of_another_audit_is_refused(tmp_path, change, message):
    settings = {"n_trials": 4, "claimed_epsilon": None}
    make_audit(tmp_path / "audit", **settings).fit(X, y)
    with pytest.raises(CheckpointError, match=message):
        make_audit(tmp_path / "audit", **settings | change).fit(X, y)


STREAM = (0 for _ in range(1000))


class Streamed(DecisionTreeClassifier):
    """A tree that reads what cannot be recognized later."""

    def fit(self, X, y):
        next(STREAM)
        return super().fit(X, y)


def test_refusals_of_a_folder_speak_of_the_audit(tmp_path):
    with pytest.raises(CheckpointError, match="^Trainings of .* Fit without checkpoint, or"):
        make_audit(tmp_path / "unknown", Streamed(), n_trials=4).fit(X, y)
    folder = tmp_path / "audit"
    make_audit(folder, n_trials=4).fit(X, y)
    (folder / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="trainings but no .* so their audit is unknown"):
        make_audit(folder, n_trials=4).fit(X, y)


class RainyTree(DecisionTreeClassifier):
    """A tree that warns in each training."""

    def fit(self, X, y):
        warnings.warn("it may rain", stacklevel=2)
        return super().fit(X, y)


def test_a_warning_of_all_trainings_is_repeated_once():
    with pytest.warns(UserWarning, match="it may rain") as caught:
        audit = make_audit(estimator=RainyTree(), n_trials=6, claimed_epsilon=5.0).fit(X, y)
    said = [str(warning.message) for warning in caught if "rain" in str(warning.message)]
    assert said == [f"{len(audit.scores_)} of {len(audit.scores_)} trainings: it may rain"]
    assert caught[0].filename == __file__
