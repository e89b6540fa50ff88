"""What a pool stores beside the signal that suits its models, and what attacks read of it."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from skmia import Outputs, Records, ShadowPool, audit
from skmia.attacks import RMIA, CalibratedAttack, LiRA
from skmia.datasets import make_membership_problem
from skmia.exceptions import CheckpointError
from skmia.signals import (
    ODIN,
    Confidence,
    Entropy,
    GradientNorm,
    Hinge,
    LogResidual,
    Loss,
    ScaledLogit,
    Signals,
)

RECORDS, MEMBERSHIP = make_membership_problem(120, random_state=0)
MEMBERS = RECORDS[MEMBERSHIP == 1]


def fit_pool(model, records=RECORDS, n_estimators=8, **settings):
    return ShadowPool(model, n_estimators, random_state=0, **settings).fit(records)


@pytest.fixture(scope="module")
def victim():
    return FrozenEstimator(LogisticRegression().fit(MEMBERS.X, MEMBERS.y))


@pytest.fixture(scope="module")
def pool():
    signals = ("auto", "entropy", ODIN(5.0), GradientNorm("parameters"))
    return FrozenEstimator(fit_pool(LogisticRegression(), signals=signals, store="models"))


@pytest.mark.parametrize("signal", ["entropy", ODIN(5.0), GradientNorm("parameters"), "loss"])
def test_values_are_those_that_the_models_give(pool, signal):
    values = pool.estimator.values(RECORDS, signal)[0]
    for model, row in zip(pool.estimator.estimators_, values, strict=True):
        expected = Signals(FrozenEstimator(model), [signal]).fit_transform(RECORDS)[:, 0]
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5)


def test_what_suits_the_models_comes_first_and_signals_count_once():
    pool = fit_pool(LinearSVC(), n_estimators=2, signals=("hinge", "auto", Hinge()))
    assert pool.stored_ == [Hinge()]
    pool = fit_pool(LogisticRegression(), n_estimators=2, signals=["hinge", "auto", "entropy"])
    assert pool.stored_ == [ScaledLogit(1.0), ScaledLogit(2.0), Hinge(), Entropy()]
    assert pool.signals_.shape == (4, 1, 2, 120)
    np.testing.assert_array_equal(pool.transform(RECORDS), pool.signals_[0, 0].T)
    assert fit_pool(Ridge(), n_estimators=2).stored_ == [LogResidual()]


def test_log_odds_at_a_further_temperature_are_found_behind_other_signals():
    signals = ("auto", "entropy", ScaledLogit(3.0))
    mixed = fit_pool(LogisticRegression(), n_estimators=4, signals=signals)
    plain = fit_pool(LogisticRegression(), n_estimators=4, temperatures=(1.0, 2.0, 3.0))
    assert mixed.temperatures_ == plain.temperatures_
    for temperature in plain.temperatures_:
        pair = [pool.values(RECORDS, ("auto", temperature)) for pool in (plain, mixed)]
        np.testing.assert_array_equal(*pair)
    assert ("auto", 3.0) in ShadowPool(LogisticRegression(), signals=signals).keeps


def test_ratio_of_a_signal_is_that_of_its_values(pool, victim):
    """The same numbers, given as the log odds of a pool that was computed elsewhere."""
    inner = pool.estimator
    # Shifted, which changes no ratio, so that the log odds are those of right predictions.
    shadows = 3 + inner.values(RECORDS, "entropy")[0]
    own = 3 + Signals(victim, ["entropy"]).fit_transform(RECORDS)[:, 0]
    known = FrozenEstimator(ShadowPool.from_scores(shadows, inner.membership_, RECORDS))
    values = np.column_stack([np.where(RECORDS.y == 1, -own, own) / 2, np.zeros(120)])
    values[:, 1] = -values[:, 0]
    stored = Records(RECORDS.X, RECORDS.y, outputs=Outputs(values, [0, 1], "logits"))
    expected = LiRA(None, known).fit(stored).score_samples(stored)
    got = LiRA(victim, pool, signal="entropy").fit(RECORDS).score_samples(RECORDS)
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


def test_loss_and_confidence_need_not_be_stored(victim):
    pool = FrozenEstimator(fit_pool(LogisticRegression()))
    for signal in ("loss", Confidence()):
        assert LiRA(signal=signal).needs().keeps == {"auto"}
        scores = LiRA(victim, pool, signal=signal).fit(RECORDS).score_samples(RECORDS)
        assert np.isfinite(scores).all()
    same = [
        RMIA(victim, pool, signal=one, temperature=2.0).fit(RECORDS)
        for one in (ScaledLogit(2.0), "auto")
    ]
    np.testing.assert_array_equal(*(one.score_samples(RECORDS) for one in same))
    by_loss, by_odds = (
        RMIA(victim, pool, signal=one).fit(RECORDS).score_samples(RECORDS)
        for one in ("loss", "scaled_logit")
    )
    np.testing.assert_allclose(by_loss, by_odds, atol=1e-4)


def test_new_records_are_scored_by_the_models_that_are_kept(pool, victim):
    new = Records(RECORDS.X[:6] + 0.1, RECORDS.y[:6])
    scores = LiRA(victim, pool, signal="entropy", online=False).fit(RECORDS).score_samples(new)
    assert np.isfinite(scores).all()
    inner = pool.estimator
    np.testing.assert_allclose(
        inner.values(RECORDS[:3], ODIN(5.0)), inner.signals_[3][:, :, :3], rtol=1e-6
    )


def test_certain_models_give_margins_without_extremes():
    pool = fit_pool(RandomForestClassifier(10, random_state=0), signals=("auto", "hinge"))
    margins = pool.values(RECORDS, "hinge")
    assert np.isfinite(margins).all()
    # A tenth of the probability is the finest step: certain is ten times twice as sure as that.
    assert np.abs(margins).max() < np.log(22)


@pytest.mark.parametrize(
    "attack, message",
    [
        (
            LiRA(signal="max_softmax"),
            "'scaled_logit', 'entropy', .*, not 'max_softmax'",
        ),
        (
            LiRA(signal="log_residual"),
            "reads 'value' or 'values'; the models of .* return 'proba'",
        ),
        (LiRA(signal="nothing"), "Unknown signal 'nothing'"),
        (RMIA(signal="entropy"), "'entropy' says nothing of the probability of the label"),
        (RMIA(temperature=7.0), r"stores the temperatures \(1.0, 2.0\), not 7.0"),
        (CalibratedAttack(signal=ScaledLogit(3.0)), r"stores the temperatures \(1.0, 2.0\)"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value),
)
def test_what_cannot_be_read_is_refused_in_one_sentence(pool, victim, attack, message):
    with pytest.raises(ValueError, match=message):
        attack.set_params(victim=victim, shadows=pool).fit(RECORDS)


@pytest.mark.parametrize(
    "signals, message",
    [
        (("entropy",), 'signals must hold "auto"'),
        ((), 'signals must hold "auto"'),
        (("auto", "entropi"), "Unknown signal 'entropi'"),
        (("auto", 3), "Unknown signal 3"),
    ],
)
def test_pool_refuses_what_is_no_signal(signals, message):
    with pytest.raises(ValueError, match=message):
        ShadowPool(LogisticRegression(), 4, signals=signals).fit(RECORDS)


@pytest.mark.usefixtures("quick_audits")
def test_audit_trains_a_pool_that_stores_what_attacks_read():
    attacks = {"entropy": LiRA(signal="entropy"), "margin": RMIA(signal="hinge")}
    model = LogisticRegression().fit(MEMBERS.X, MEMBERS.y)
    settings = {"attacks": attacks, "shadows": 4, "file": False, "random_state": 0}
    report = audit(model, RECORDS, MEMBERSHIP, **settings)
    assert set(report.scores) == set(attacks)
    plain = FrozenEstimator(fit_pool(LogisticRegression()))
    with pytest.raises(ValueError, match=r'needs the signal \'entropy\' .* signals=\("auto", Entr'):
        audit(model, RECORDS, MEMBERSHIP, attacks={"one": LiRA(signal="entropy")}, shadows=plain)


def test_signal_is_a_setting_of_a_search(pool, victim):
    grid = {"signal": ["auto", "loss", "entropy", ODIN(5.0)]}
    search = GridSearchCV(LiRA(victim, pool), grid, scoring="roc_auc", cv=3)
    search.fit(RECORDS, MEMBERSHIP)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_signal_that_takes_the_victim_itself(pool, victim):
    attack = LiRA(victim, pool, signal=GradientNorm("parameters"))
    assert attack.needs().access == {"gradients"} | set(GradientNorm("parameters").access)
    assert attack.fit(RECORDS).score(RECORDS, MEMBERSHIP) >= -0.5
    stored = RECORDS.with_outputs(victim)
    with pytest.raises(ValueError, match="needs the victim itself"):
        LiRA(None, pool, signal=GradientNorm("parameters")).fit(stored).score_samples(stored)


class Halved(Loss):
    """A signal of a user."""

    name = "halved"

    def derive_from(self, stored):
        return None

    def _evaluate(self, outputs, y):
        return super()._evaluate(outputs, y) / 2


def test_signal_of_a_user_is_stored(victim):
    pool = fit_pool(LogisticRegression(), signals=("auto", Halved()))
    np.testing.assert_allclose(
        pool.values(RECORDS, Halved()), pool.values(RECORDS, "loss") / 2, rtol=1e-4, atol=1e-6
    )


def test_checkpoint_knows_which_signals_it_holds(tmp_path):
    def fit(*signals):
        return fit_pool(
            LogisticRegression(), n_estimators=4, signals=("auto", *signals), checkpoint=tmp_path
        )

    first = fit("entropy", Halved())
    np.testing.assert_array_equal(fit("entropy", Halved()).signals_, first.signals_)
    for other in ((), ("entropy",), ("entropy", ODIN(3.0))):
        with pytest.raises(CheckpointError, match="differs in the signals"):
            fit(*other)
