"""The unlearning game on models whose memory is known, and what a user relies on besides."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool
from skmia._training.job import KeptResults
from skmia.attacks import LiRA
from skmia.games import (
    UnlearningResult,
    unlearning_game,
)
from skmia.games._unlearning_game import draw_sides, join_states
from skmia.games._unlearning_result import (
    FORGOTTEN,
    NEVER,
    RETAINED,
    AttackSeparation,
    _leave_targets_out,
    check_controls,
    estimate_mean,
    estimate_tpr,
    score_ulira,
    tabulate_separations,
)
from skmia.metrics import tpr_at_fpr_score

SMALL = {"forget": 0.3, "n_estimators": 16, "n_targets": 8, "random_state": 0}
TINY = {**SMALL, "n_estimators": 4, "n_targets": 3}


class Memory(ClassifierMixin, BaseEstimator):
    """Answers with known log odds of the label, and higher ones for hard records it remembers.

    X holds the number of each record, its log odds, and by how much they are higher in memory.
    """

    def __init__(self, noise=0.5, random_state=None):
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.remembered_ = X[:, 0].astype(int)
        self.seed_ = np.random.default_rng(self.random_state).integers(2**31)
        return self

    def predict_proba(self, X):
        noise = np.random.default_rng(self.seed_).normal(scale=self.noise, size=1000)
        place = X[:, 0].astype(int)
        odds = X[:, 1] + noise[place] + X[:, 2] * np.isin(place, self.remembered_)
        return np.column_stack([expit(-odds), expit(odds)])

    def predict_log_proba(self, X):
        return np.log(self.predict_proba(X))

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def forget_well(model, records, keep, forget, rng):
    return Memory(model.noise, int(rng.integers(2**31))).fit(records.X[keep], None)


def forget_badly(model, records, keep, forget, rng):
    half = rng.permutation(forget)[: len(forget) // 2]
    return Memory(model.noise, model.random_state).fit(records.X[np.append(keep, half)], None)


def make_memory_records(n=400, **fields):
    """Easy records, which are the same in memory, and hard ones, which are not."""
    rng = np.random.default_rng(0)
    hard = rng.random(n) < 0.5
    odds = np.where(hard, rng.normal(-2, 2, n), rng.normal(6, 1, n))
    return Records(np.column_stack([np.arange(n), odds, 3 * hard]), np.ones(n, int), **fields)


@pytest.fixture(scope="module")
def nothing_forgotten():
    """The game of a model that forgets nothing; nobody changes it."""
    return unlearning_game(Memory(), "noop", make_memory_records(), **SMALL)


@pytest.fixture(scope="module")
def digits():
    """Two classes of digits as Fourier features, with some wrong labels, and a model for them."""
    from sklearn.kernel_approximation import RBFSampler

    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(y))[:300]
    features = RBFSampler(gamma="scale", n_components=150, random_state=0)
    wrong = rng.random(300) < 0.2
    records = Records(features.fit_transform(X[rows] / 16), ((y[rows] > 4) ^ wrong).astype(int))
    return SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=20, tol=None), records


# What is found


def test_ulira_finds_what_the_population_attack_misses(nothing_forgotten):
    game = nothing_forgotten
    assert game.evidence == "leak"
    # Half of the records are hard, and nearly all of those that are in memory can be told.
    assert game.attacks.loc["ulira", "tpr"] > 0.3
    assert game.attacks.loc["population", "tpr"] < 0.02
    assert game.attacks.loc["ulira", "tpr_low"] > game.attacks.loc["population", "tpr_high"]


@pytest.mark.parametrize("way", ["retrain", forget_well])
def test_exact_forgetting_is_not_found(way):
    game = unlearning_game(Memory(), way, make_memory_records(), **SMALL)
    assert game.evidence == "none"
    assert (game.attacks["auc"] - 0.5).abs().max() < 0.05
    assert game.controls.loc["no-op", "found"].any()


def test_half_of_the_forgetting_is_found_by_half(nothing_forgotten):
    whole = nothing_forgotten
    half = unlearning_game(Memory(), forget_badly, make_memory_records(), **SMALL)
    gains = [game.attacks.loc["population", "auc"] - 0.5 for game in (whole, half)]
    errors = [game.aucs["after", "population"].std() / 8**0.5 for game in (whole, half)]
    assert gains[1] == pytest.approx(gains[0] / 2, abs=4 * np.hypot(*errors))
    assert half.evidence == "leak"


@pytest.mark.parametrize(
    "way",
    [
        pytest.param("finetune", marks=pytest.mark.slow),
        pytest.param("negative", marks=pytest.mark.slow),
        pytest.param("relabel", marks=pytest.mark.slow),
        "noise",
    ],
)
def test_ready_ways_that_are_not_exact_are_found(way, digits):
    game = unlearning_game(digits[0], way, digits[1], **SMALL)
    assert game.evidence == "leak"
    assert game.attacks.loc["ulira", "evidence"] == "leak"


@pytest.mark.slow
def test_sisa_is_not_found(digits):
    game = unlearning_game(digits[0], "sisa", digits[1], **SMALL)
    errors = game.aucs.std() / 8**0.5
    after = game.aucs.mean()["after"][["population", "ulira"]]
    assert (abs(after - 0.5) < 4 * errors["after"][["population", "ulira"]]).all()
    assert game.controls.loc[("no-op", "population"), "found"]


def test_what_answers_forgotten_records_worse_is_reversed():
    def punish(model, records, keep, forget, rng):
        model = forget_well(model, records, keep, forget, rng)
        return Punishing(model, forget)

    class Punishing(Memory):
        def __init__(self, model, forgotten):
            vars(self).update(vars(model))
            self.forgotten = forgotten

        def predict_proba(self, X):
            odds = np.log(super().predict_proba(X))
            odds = odds[:, 1] - odds[:, 0] - 4 * np.isin(X[:, 0], self.forgotten)
            return np.column_stack([expit(-odds), expit(odds)])

    settings = {**SMALL, "attacks": "population"}
    game = unlearning_game(Memory(), punish, make_memory_records(), **settings)
    assert game.evidence == "reversed"
    assert "worse" in str(game)
    settings["attacks"] = ("population", "ulira")
    assert unlearning_game(Memory(), punish, make_memory_records(), **settings).evidence == "leak"


def test_nothing_can_be_said_where_nothing_is_remembered():
    rng = np.random.default_rng(0)
    records = Records(
        np.column_stack([np.arange(300), rng.normal(size=300), np.zeros(300)]), [1] * 300
    )
    game = unlearning_game(Memory(), "noop", records, **SMALL)
    assert game.evidence == "unknown"
    assert "do not even find" in str(game)


def test_retained_records_that_are_exposed_more_are_seen(nothing_forgotten):
    def insist(model, records, keep, forget, rng):
        model = forget_well(model, records, keep, forget, rng)
        model.noise = 0.1
        return model

    same = nothing_forgotten
    assert same.retained.loc["change", ["auc", "low", "high"]].tolist() == [0, 0, 0]
    more = unlearning_game(Memory(2.0), insist, make_memory_records(), **SMALL)
    assert more.retained.loc["change", "low"] > 0


def test_the_model_before_is_of_use_to_an_attacker():
    game = unlearning_game(Memory(0.1), forget_well, make_memory_records(), both=True, **SMALL)
    # The hard half of the forgotten records falls by 3, all others by noise.
    assert game.attacks.loc["both", "auc"] == pytest.approx(0.75, abs=0.03)
    assert game.attacks.loc["both", "evidence"] == "leak"
    # Who has both models sees exact unlearning as well, which is no fault of it.
    assert game.controls.loc[("retraining", "both"), "found"]
    assert game.evidence == "none"


class Hoarding(Memory):
    """Trained on a part of earlier records, it remembers all of them: retraining hides nothing."""

    seen = ()

    def fit(self, X, y):
        super().fit(X, y)
        rows = set(self.remembered_)
        before = [known for known in Hoarding.seen if known > rows]
        Hoarding.seen += (rows,)
        if before:
            self.remembered_ = np.array(sorted(min(before, key=len)))
        return self


def test_nothing_can_be_said_if_even_retraining_is_found(monkeypatch):
    monkeypatch.setattr(Hoarding, "seen", ())
    game = unlearning_game(Hoarding(), "noop", make_memory_records(), **SMALL)
    assert game.controls.loc["retraining", "found"].any()
    assert game.attacks.loc["ulira", "evidence"] == "leak"
    assert game.evidence == "unknown"


@pytest.mark.parametrize(
    "pvalue, level, is_found",
    [
        (0.02, 0.95, False),
        (0.008, 0.95, False),  # one of two attacks
        (0.004, 0.95, True),
        (0.004, 0.999, False),
        (0.0004, 0.999, True),
    ],
)
def test_controls_are_checked_at_99_percent_or_the_level_of_the_intervals(pvalue, level, is_found):
    names = pd.Index(["population", "ulira"], name="attack")
    table = pd.DataFrame({"auc": 0.6, "pvalue": [pvalue, 0.5]}, index=names)
    table = table.assign(pvalue_adjusted=np.nan, evidence="none")
    controls = check_controls(table, table, level)
    assert controls["found"].tolist() == [is_found, False] * 2
    # What answers records worse that it should still know gives the game no power.
    controls = check_controls(table.assign(auc=0.4), table.assign(auc=0.4), level)
    assert controls["found"].tolist() == [False, False, is_found, False]


def test_attacks_are_tested_together_by_holms_correction():
    rng = np.random.default_rng(0)
    sides = np.where(rng.random((20, 60)) < 0.5, FORGOTTEN, NEVER).astype(np.int8)
    # Alone, both would be found, as with a share of false findings; Bonferroni's second is 0.08.
    wanted, separations = {"population": 0.03, "ulira": 0.04, "both": 0.04}, {}
    for name, pvalue in wanted.items():
        found = AttackSeparation(rng.normal(size=(20, 60)), sides, FORGOTTEN, np.ones(60, bool))
        spread = rng.normal(scale=0.01, size=20)
        error = spread.std(ddof=1) / 20**0.5
        found.aucs = 0.5 + spread - spread.mean() + error * stats.t(19).isf(pvalue / 2)
        separations[name] = found
    table = tabulate_separations(separations, 0.95, 0.1)
    np.testing.assert_allclose(table["pvalue"], list(wanted.values()))
    np.testing.assert_allclose(table["pvalue_adjusted"], [0.06, 0.06, 0.04])
    assert table["evidence"].tolist() == ["none", "none", "leak"]
    assert table.columns.tolist() == [
        *("auc", "auc_low", "auc_high", "pvalue", "pvalue_adjusted"),
        *("tpr", "tpr_low", "tpr_high", "evidence"),
    ]


# How it is measured


def join_votes(n_votes, of_target):
    """Join the log odds of four shadow models of a forest of so many trees and of a target."""
    shares = np.random.default_rng(0).integers(n_votes + 1, size=(4, 50)) / n_votes
    shares = np.vstack([shares, of_target])
    with np.errstate(divide="ignore"):
        odds = np.log(shares) - np.log1p(-shares)
    facts = {"kind": "proba", "dtype": "<f8"}
    played = [KeptResults(facts, {"before": row, "before_score": np.array(1.0)}) for row in odds]
    return join_states(played, 4)["before"].values


def test_infinite_values_are_made_finite_by_the_shadow_models_alone():
    whole = np.repeat([0.0, 1.0], 25)
    fine = np.where(np.arange(50) % 7, whole, 1e-9)  # a target that is surer than all shadows
    coarse, other = (join_votes(10, target) for target in (whole, fine))
    assert np.isfinite(coarse).all()
    np.testing.assert_array_equal(coarse[:4], other[:4])
    same = whole == fine
    np.testing.assert_array_equal(coarse[4, same], other[4, same])
    # The step of the shadow models counts: outputs near 1 are farther away if they are finer.
    assert join_votes(100, whole)[4].max() > coarse[4].max() + 1


def test_ulira_is_lira_between_the_models_that_forgot_and_those_without():
    rng = np.random.default_rng(0)
    sides = np.where(rng.random((22, 200)) < 0.3, FORGOTTEN, NEVER).astype(np.int8)
    values = rng.normal(size=(22, 200)) + 2 * rng.normal(size=200) + 1.5 * (sides == FORGOTTEN)
    scores, judged = score_ulira(values, sides, 21, FORGOTTEN)
    records = Records(rng.normal(size=(200, 2)), np.ones(200, int))
    records = records.with_fields(outputs=Outputs(values[21], kind="log_odds"))
    inside = sides[:21] == FORGOTTEN
    pool = ShadowPool.from_outputs(values[:21], inside, records, kind="log_odds")
    lira = LiRA(None, FrozenEstimator(pool)).fit(records)
    assert judged.tolist() == lira.can_judge(records).tolist()
    expected = lira.score_samples(records)[judged]  # of values in single precision
    np.testing.assert_allclose(scores[0, judged], expected, rtol=1e-4, atol=1e-4)


def test_ulira_leaves_out_records_without_models_on_either_side():
    sides = np.zeros((9, 4), dtype=np.int8)
    sides[:4, 1:] = FORGOTTEN
    sides[4:8, 3] = RETAINED
    sides[8, :2] = FORGOTTEN
    values = np.random.default_rng(0).normal(size=(9, 4))
    scores, judged = score_ulira(values, sides, 8, FORGOTTEN)
    assert judged.tolist() == [False, True, True, False]
    assert scores[0, [0, 3]].tolist() == [0, 0]
    assert AttackSeparation(scores, sides[8:], FORGOTTEN, judged).inside.tolist() == [True, False]


def test_sides_are_halves_with_parts_that_are_forgotten():
    sides = draw_sides(np.arange(101), 0.2, 7, 3, np.random.SeedSequence(0))
    assert sides.shape == (10, 101)
    assert ((sides == FORGOTTEN).sum(axis=1) == 10).all()
    assert ((sides == RETAINED).sum(axis=1) == 40).all()
    for first in (0, 2, 4):  # complementary halves, up to the record that is left over
        assert ((sides[first] == NEVER) | (sides[first + 1] == NEVER)).all()
    units = np.arange(60) // 3
    sides = draw_sides(units, 0.3, 4, 4, np.random.SeedSequence(0)).reshape(8, 20, 3)
    assert (sides == sides[:, :, :1]).all()


def test_any_record_that_was_not_kept_is_forgotten_with_one_probability():
    sides = draw_sides(np.arange(8), 0.5, 0, 20_000, np.random.SeedSequence(0))
    kept = (sides[:, :2] == RETAINED).all(axis=1)
    rest = sides[kept, 2:]
    # Two of the other six are forgotten, each with probability 1/3.
    error = (1 / 3 * 2 / 3 / len(rest)) ** 0.5
    assert abs((rest == FORGOTTEN).mean(axis=0) - 1 / 3).max() < 4.5 * error


def test_people_with_many_records_do_not_make_exact_forgetting_look_found():
    sizes = np.append(np.full(4, 30), np.ones(36, int))
    units = np.repeat(np.arange(40), sizes)
    sides = draw_sides(units, 0.3, 0, 100, np.random.SeedSequence(0))
    scores = np.tile(np.repeat(-1.0 * (sizes > 1), sizes), (100, 1))
    everywhere = np.ones(len(units), dtype=bool)
    fair = AttackSeparation(scores, sides, FORGOTTEN, everywhere, units).aucs
    assert abs(fair.mean() - 0.5) < 4 * fair.std() / 100**0.5
    by_record = AttackSeparation(scores, sides, FORGOTTEN, everywhere).aucs
    assert by_record.mean() - 0.5 > 4 * by_record.std() / 100**0.5


def test_auc_and_its_interval_are_over_targets():
    rng = np.random.default_rng(0)
    scores, sides = rng.normal(size=(5, 40)), rng.integers(3, size=(5, 40))
    scores += sides == FORGOTTEN
    found = AttackSeparation(scores, sides, FORGOTTEN, np.ones(40, dtype=bool))
    expected = [
        roc_auc_score(side[side != RETAINED] == FORGOTTEN, score[side != RETAINED])
        for score, side in zip(scores, sides, strict=True)
    ]
    np.testing.assert_allclose(found.aucs, expected)
    interval, pvalue = estimate_mean(found.aucs, 0.95, 0.5)
    test = stats.ttest_1samp(expected, 0.5)
    assert interval[1:] == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert pvalue == pytest.approx(test.pvalue)
    assert estimate_mean(np.ones(5), 0.95, 0.5) == ((1, 1, 1), 2**-4)


def test_interval_of_the_tpr_is_the_jackknife_over_targets_at_least():
    rng = np.random.default_rng(0)
    sides = np.tile(np.repeat([FORGOTTEN, NEVER], 200), (6, 1))
    scores = rng.normal(size=(6, 400)) + np.linspace(0, 3, 6)[:, None] * (sides == FORGOTTEN)
    found = AttackSeparation(scores, sides, FORGOTTEN, np.ones(400, dtype=bool))
    interval = estimate_tpr(found, 0.95, 0.05)
    cut = np.sort(scores[sides == NEVER])[-61]
    assert interval.estimate == (scores[sides == FORGOTTEN] > cut).mean()
    assert interval.high - interval.low > 0.4  # independent records would give 0.06
    tied, rest = found.scores.round(1), found.targets != 0
    first = _leave_targets_out(found.inside, tied, found.targets, 0.05)[0]
    assert first == tpr_at_fpr_score(found.inside[rest], tied[rest], max_fpr=0.05)
    assert (_leave_targets_out(found.inside, -found.scores, found.targets, 1.0) == 1).all()


def test_numbers_are_the_same_again_and_for_every_n_jobs():
    records, settings = make_memory_records(100), TINY
    with joblib.parallel_config(backend="threading"):
        first, again, threads = (
            unlearning_game(Memory(), "noop", records, n_jobs=n_jobs, **settings)
            for n_jobs in (None, None, 2)
        )
    assert str(first) == str(again) == str(threads)
    other = unlearning_game(Memory(), "noop", records, **{**settings, "random_state": 1})
    assert str(other) != str(first)


def test_models_start_no_workers_where_they_are_trained_in_parallel():
    class Jobs(Memory):
        def __init__(self, noise=0.5, random_state=None, n_jobs=None):
            super().__init__(noise, random_state)
            self.n_jobs = n_jobs

    seen = []

    def unlearn(model, records, keep, forget, rng):
        seen.append(model.n_jobs)
        return model

    records = make_memory_records(60)
    for n_jobs, expected in ((None, 3), (2, 1)):
        seen.clear()
        with joblib.parallel_config(backend="threading"):
            unlearning_game(Jobs(n_jobs=3), unlearn, records, n_jobs=n_jobs, **TINY)
        assert seen == [expected] * 7


def test_more_targets_leave_the_first_ones_as_they_are():
    records = make_memory_records(100)
    few, many = (
        unlearning_game(Memory(), forget_badly, records, **{**TINY, "n_targets": n}) for n in (3, 5)
    )
    assert few.aucs.equals(many.aucs[:3])


# What a user passes


def test_records_of_a_person_are_forgotten_together():
    seen, drawn = [], set()

    def note(model, records, keep, forget, rng):
        seen.append((records["group_by"][keep], records["group_by"][forget]))
        drawn.add(rng.random())
        return model

    records = make_memory_records(200, group_by=np.arange(200) // 5)
    game = unlearning_game(Memory(), note, records, **TINY)
    assert len(seen) == len(drawn) == 7
    assert (game.n_members, game.n_forgotten) == (100, 30)
    assert all(not np.isin(forgotten, kept).any() for kept, forgotten in seen)
    assert all(len(forgotten) == 5 * len(np.unique(forgotten)) for _, forgotten in seen)


def test_functions_train_and_forget_what_they_like():
    def train(X, y, seed):
        return Memory(0.5, seed).fit(X, y).predict_log_proba

    got = []

    def unlearn(model, records, keep, forget, rng):
        got.append(model)
        return model

    records = make_memory_records(200)
    records = Records(records.X, np.arange(200) % 2)
    game = unlearning_game(train, unlearn, records, **TINY)
    assert all(callable(model) for model in got) and len(got) == 7
    assert game.way == "unlearn of train"
    assert unlearning_game(train, "retrain", records, **SMALL).evidence in ("none", "unknown")


def test_population_attack_alone_takes_no_shadow_models():
    game = unlearning_game(
        Memory(),
        "noop",
        make_memory_records(),
        attacks="population",
        **{**SMALL, "n_estimators": 64},
    )
    assert game.n_estimators == 0 and game.n_unjudged == 0
    assert game.attacks.index.tolist() == ["population"]
    assert game.evidence == "leak"


def test_regressors_play_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    records = Records(X, X[:, 0] + rng.normal(size=120))
    found = [
        unlearning_game(LinearRegression(), way, records, **SMALL) for way in ("noop", "retrain")
    ]
    assert [game.evidence for game in found] == ["leak", "none"]
    assert found[1].scores["after"] == found[1].scores["retrained"]


def test_result_is_a_value_that_prints_itself():
    game = unlearning_game(Memory(), "noop", make_memory_records(100), **SMALL)
    assert isinstance(game, UnlearningResult)
    text = str(game)
    assert text == game.summary()
    for words in ("NoUnlearning() of Memory", "8 target models", "U-LiRA", "retained records"):
        assert words in text
    assert set(game.seconds.index) == {"train", "retrain"}
    assert game.aucs.shape == (8, 8)


def test_summary_counts_the_records_without_shadow_models_where_there_are_any():
    records, told = make_memory_records(100), "records without shadow models do not count"
    few = unlearning_game(Memory(), "noop", records, **{**SMALL, "n_estimators": 4})
    assert few.n_unjudged > 0 and f"\n{few.n_unjudged:,} {told}" in few.summary()
    all_judged = unlearning_game(Memory(), "noop", records, attacks="population", **SMALL)
    assert all_judged.n_unjudged == 0 and told not in all_judged.summary()


def test_a_warning_of_training_and_unlearning_is_counted_once_for_each_model():
    class Careful(Memory):
        def fit(self, X, y):
            warnings.warn("learn with care", UserWarning, stacklevel=2)
            return super().fit(X, y)

    def unlearn(model, records, keep, forget, rng):
        warnings.warn("forget with care", UserWarning, stacklevel=2)
        return Careful(model.noise, 0).fit(records.X[keep], None)

    with pytest.warns(UserWarning) as caught:
        unlearning_game(Careful(), unlearn, make_memory_records(100), **TINY)
    told = sorted(str(one.message).partition(" (")[0] for one in caught)
    assert told == ["7 of 7 models: forget with care", "7 of 7 models: learn with care"]
    assert {one.filename for one in caught} == {__file__}


SUMMARY = """\
Unlearning game: FineTuning(n_epochs=3) of train
4 target models and 16 shadow models; each forgets 1,200 of 6,000 records
No evidence that forgotten records differ from records that were never seen, where models that \
forgot nothing are found.

                                   AUC          TPR at 0.01 FPR
forgotten records
  population              0.510 [0.480, 0.540] 0.020 [0.001, 0.300]  none
  U-LiRA                  0.520 [0.490, 0.550] 0.030 [0.002, 0.400]  none
control: nothing forgotten
  population              0.610 [0.580, 0.640] 0.040 [0.003, 0.500]  not found
  U-LiRA                  0.710 [0.680, 0.740] 0.050 [0.004, 0.600]  found
control: retrained
  population              0.501 [0.471, 0.531] 0.010 [0.000, 0.100]  not found
  U-LiRA                  0.502 [0.472, 0.532] 0.011 [0.000, 0.200]  not found
retained records
  before                  0.750 [0.700, 0.800]
  after                   0.700 [0.650, 0.750]
  change                  -0.050 [-0.060, +0.070]
score on records never seen: before 0.900, after 0.800, retrained 0.700
intervals at 0.95, over target models
1,300 records without shadow models do not count"""


def make_result(**changes):
    def table(*rows, **columns):
        index = pd.Index(["population", "ulira"], name="attack")
        names = [f"{one}{end}" for one in ("auc", "tpr") for end in ("", "_low", "_high")]
        return pd.DataFrame(rows, index, names).assign(**columns)

    attacks = table(
        [0.51, 0.48, 0.54, 0.02, 0.001, 0.3], [0.52, 0.49, 0.55, 0.03, 0.002, 0.4], evidence="none"
    )
    noop = table(
        [0.61, 0.58, 0.64, 0.04, 0.003, 0.5],
        [0.71, 0.68, 0.74, 0.05, 0.004, 0.6],
        found=[False, True],
    )
    retrained = table(
        [0.501, 0.471, 0.531, 0.01, 0.0, 0.1], [0.502, 0.472, 0.532, 0.011, 0.0, 0.2], found=False
    )
    retained = [[0.75, 0.7, 0.8], [0.7, 0.65, 0.75], [-0.05, -0.06, 0.07]]
    given = {
        "evidence": "none",
        "attacks": attacks,
        "controls": pd.concat({"no-op": noop, "retraining": retrained}, names=["control"]),
        "retained": pd.DataFrame(retained, ["before", "after", "change"], ["auc", "low", "high"]),
        "aucs": pd.DataFrame(),
        "scores": pd.Series({"before": 0.9, "after": 0.8, "retrained": 0.7}),
        "seconds": pd.Series(dtype=float),
        "n_estimators": 16,
        "n_targets": 4,
        "n_forgotten": 1200,
        "n_members": 6000,
        "n_unjudged": 1300,
        "max_fpr": 0.01,
        "confidence_level": 0.95,
        "way": "FineTuning(n_epochs=3) of train",
    }
    return UnlearningResult(**given | changes)


def test_the_summary_has_each_number_in_its_place():
    assert make_result().summary() == SUMMARY


def test_the_summary_says_which_control_leaves_the_game_open():
    result = make_result(evidence="unknown")
    assert "do not even find the records of models that forgot nothing" in result.summary()
    found = result.controls.assign(found=[False, False, False, True])
    told = make_result(evidence="unknown", controls=found).summary()
    assert "the attacks find records that retrained models have not seen" in told
    # Who has both models finds them in any game.
    both = pd.concat([result.controls, result.controls.rename({"ulira": "both"})[1::2]])
    of_both = both.assign(found=both.index.get_level_values("attack") == "both").sort_index()
    told = make_result(evidence="unknown", controls=of_both).summary()
    assert "do not even find the records of models that forgot nothing" in told


def test_models_are_scored_on_records_that_they_never_saw():
    # Labels are a coin, which a tree learns by heart.
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(600, 3)), rng.integers(2, size=600))
    game = unlearning_game(DecisionTreeClassifier(), "noop", records, attacks="population", **SMALL)
    assert game.scores["before"] == game.scores["after"]
    assert abs(game.scores["before"] - 0.5) < 4 * 0.5 / np.sqrt(300)


def test_targets_with_equal_aucs_get_the_sign_test():
    # The mean of three times 0.7 is rounded to another number.
    below = np.nextafter(0.5, 0)
    assert estimate_mean(np.array([0.5, 0.5, below]), 0.95, 0.5) == ((0.5, 0.5, 0.5), 1.0)
    assert estimate_mean(np.array([below, 0.5]), 0.95, 0.5)[1] == 1.0
    assert estimate_mean(np.array([1.0, 1.0, np.nextafter(1, 0)]), 0.95, 0.5)[1] == 2**-2
    interval, pvalue = estimate_mean(np.full(3, 0.7), 0.95, 0.5)
    assert interval == (0.7, 0.7, 0.7) and pvalue == 0.25
