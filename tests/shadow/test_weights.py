"""Sample weights of records, in the models that skmia trains."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool, audit
from skmia._core.provenance import PartClock
from skmia.attacks import LiRA, ThresholdAttack
from skmia.defenses import evaluate_defense
from skmia.exceptions import CheckpointError, TrainingError
from skmia.games import membership_game, retraining_oracle, unlearning_game
from skmia.report._case import open_case
from skmia.signals import ScaledLogit

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(2, size=60)
WEIGHTS = RNG.choice([0.1, 1.0, 8.0], 60)
RECORDS = Records(X, Y)
WEIGHTED = RECORDS.with_fields(sample_weight=WEIGHTS)
LINE = LogisticRegression()
SCALED = make_pipeline(StandardScaler(), LogisticRegression())


def train(estimator, rows, weights=WEIGHTS):
    name = "logisticregression__sample_weight" if estimator is SCALED else "sample_weight"
    return clone(estimator).fit(X[rows], Y[rows], **{name: weights[rows]})


def log_odds(model):
    return ScaledLogit().of(FrozenEstimator(model), RECORDS)


@pytest.mark.parametrize(
    ("estimator", "n_jobs"), [(LINE, None), (SCALED, 2)], ids=["model", "pipeline"]
)
def test_shadow_models_are_those_of_a_loop_with_weights(estimator, n_jobs):
    pool = ShadowPool(estimator, 4, n_jobs=n_jobs, random_state=0).fit(WEIGHTED)
    by_hand = [log_odds(train(estimator, rows)) for rows in pool.membership_]
    np.testing.assert_allclose(pool.values(WEIGHTED)[0], by_hand, rtol=1e-5)
    assert pool.notes_ == [
        "The shadow models are trained with the weights of the field 'sample_weight'."
    ]
    assert "sample weights" in pool.backend_reason_
    plain = ShadowPool(estimator, 4, random_state=0).fit(RECORDS)
    assert not np.allclose(plain.signals_, pool.signals_, atol=0.01)


def test_weights_travel_by_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pool = ShadowPool(make_pipeline(scaler, model), 4, random_state=0).fit(WEIGHTED)
        with pytest.warns(UserWarning, match=r"no part of the estimator requests them"):
            ShadowPool(LINE, 2, random_state=0).fit(WEIGHTED)
    by_hand = [log_odds(train(SCALED, rows)) for rows in pool.membership_]
    np.testing.assert_allclose(pool.values(WEIGHTED)[0], by_hand, rtol=1e-5)


@pytest.mark.usefixtures("quick_audits")
def test_audits_train_the_victim_with_weights():
    membership = np.arange(60) % 2
    settings = {"attacks": {"threshold (loss)": ThresholdAttack(), "LiRA": LiRA()}, "file": False}
    report = audit(LINE, WEIGHTED, membership, shadows=4, random_state=0, **settings)
    by_hand = log_odds(train(LINE, membership == 1))
    attack = ThresholdAttack(FrozenEstimator(train(LINE, membership == 1))).fit(RECORDS)
    expected = attack.score_samples(RECORDS)
    np.testing.assert_allclose(report.scores["threshold (loss)"], expected, rtol=1e-5)
    assert not np.allclose(by_hand, log_odds(clone(LINE).fit(X[1::2], Y[1::2])), atol=0.01)
    assert any("trained with the weights" in note for note in report.notes)


def test_games_and_oracles_train_with_weights():
    attack = ThresholdAttack(signal="correctness")
    given = {"n_rounds": 2, "random_state": 0, "return_estimator": True}
    game = membership_game(LINE, attack, WEIGHTED, **given)
    plain = membership_game(LINE, attack, RECORDS, **given)
    assert not np.allclose(game["estimator"][0].coef_, plain["estimator"][0].coef_, atol=1e-3)
    membership = np.arange(60) % 2
    victim = FrozenEstimator(train(LINE, membership == 1))
    found = retraining_oracle(victim, WEIGHTED, membership, n_rounds=4, random_state=0)
    other = retraining_oracle(victim, RECORDS, membership, n_rounds=4, random_state=0)
    assert found != other


def test_defenses_are_evaluated_with_weights():
    settings = {"n_estimators": 4, "n_targets": 2, "random_state": 0}
    rows = [
        evaluate_defense({"line": LINE}, records, attack=LiRA(), **settings).targets
        for records in (WEIGHTED, RECORDS)
    ]
    assert not rows[0].equals(rows[1])


HAS_WEIGHT = np.arange(60) % 3 > 0
ZEROS = RECORDS.with_fields(sample_weight=np.where(HAS_WEIGHT, WEIGHTS, 0))


@pytest.mark.parametrize("design", ["paired", pytest.param("balanced", marks=pytest.mark.slow)])
def test_no_shadow_model_was_trained_on_records_of_weight_0(design, tmp_path):
    given = {"design": design, "random_state": 0}
    pool = ShadowPool(SCALED, 8, **given).fit(ZEROS)
    plain = ShadowPool(SCALED, 8, **given).fit(RECORDS)
    np.testing.assert_array_equal(pool.membership_, plain.membership_ & HAS_WEIGHT)
    # They are given to fit, as to the fit of the victim, whose scaler reads them.
    by_hand = [log_odds(train(SCALED, rows, ZEROS["sample_weight"])) for rows in plain.membership_]
    np.testing.assert_allclose(pool.values(ZEROS)[0], by_hand, rtol=1e-5)
    filed = ShadowPool(SCALED, 8, **given, checkpoint=tmp_path, on_disk=True).fit(ZEROS)
    np.testing.assert_array_equal(np.asarray(filed.membership_[:, :]), pool.membership_)
    np.testing.assert_array_equal(filed.membership_[:, 31:50], pool.membership_[:, 31:50])
    attack = LiRA(FrozenEstimator(train(SCALED, plain.membership_[0])), pool).fit(ZEROS)
    np.testing.assert_array_equal(attack.can_judge(ZEROS), HAS_WEIGHT)


def test_records_of_weight_0_are_trained_on_if_an_equal_one_is_or_if_fit_takes_no_weights():
    twice = Records.concat([ZEROS, WEIGHTED])
    pool = ShadowPool(LINE, 4, random_state=0).fit(twice)
    assert (pool.membership_.sum(axis=0) == 2).all()
    with pytest.warns(UserWarning, match="takes none"):
        pool = ShadowPool(KNeighborsClassifier(), 4, random_state=0).fit(ZEROS)
    assert (pool.membership_.sum(axis=0) == 2).all()


def test_games_and_evaluations_leave_records_of_weight_0_out():
    rest, attack = ZEROS[HAS_WEIGHT], ThresholdAttack(signal="correctness")
    given = {"n_rounds": 2, "random_state": 0, "return_guesses": True}
    found, expected = (membership_game(LINE, attack, some, **given) for some in (ZEROS, rest))
    np.testing.assert_array_equal(found["vulnerability"], expected["vulnerability"])
    for name in ("guesses", "membership"):
        np.testing.assert_array_equal(found[name][:, HAS_WEIGHT], expected[name])
        assert (found[name][:, ~HAS_WEIGHT] == -1).all()
    given = {"n_targets": 3, "attacks": "population", "forget": 0.4, "random_state": 0}
    found, expected = (unlearning_game(LINE, "retrain", some, **given) for some in (ZEROS, rest))
    assert found.scores.equals(expected.scores) and found.n_members == expected.n_members == 20
    given = {"n_estimators": 4, "n_targets": 2, "random_state": 0}
    found, expected = (evaluate_defense({"line": LINE}, some, **given) for some in (ZEROS, rest))
    assert found.targets.equals(expected.targets)
    np.testing.assert_array_equal(found.exposure, expected.exposure)
    assert found.exposure.index.tolist() == np.flatnonzero(HAS_WEIGHT).tolist()


@pytest.mark.usefixtures("quick_audits")
def test_games_say_which_records_they_can_play_with():
    def play(game, weights, *args, **sizes):
        records = RECORDS.with_fields(sample_weight=np.asarray(weights, dtype=float))
        game(LINE, *args, records, **sizes)

    for game, other in ((membership_game, ThresholdAttack()), (unlearning_game, "retrain")):
        with pytest.raises(ValueError, match=f"above 0 for some records, .* all {len(Y)} are 0"):
            play(game, np.zeros(len(Y)), other)
    words = "at most all 20 records with a sample_weight above 0 together; got train_size=20"
    with pytest.raises(ValueError, match=words):
        play(membership_game, np.arange(len(Y)) < 20, ThresholdAttack(), train_size=20)


@pytest.mark.usefixtures("quick_audits")
def test_audits_leave_records_of_weight_0_out():
    membership = np.arange(60) % 2
    victim = train(LINE, membership == 1)
    settings = {"attacks": {"threshold (loss)": ThresholdAttack()}, "shadows": 4, "random_state": 0}
    found, expected = (
        audit(victim, some, side, **settings)
        for some, side in ((ZEROS, membership), (ZEROS[HAS_WEIGHT], membership[HAS_WEIGHT]))
    )
    np.testing.assert_array_equal(*(one.scores["threshold (loss)"] for one in (found, expected)))
    assert found.results.equals(expected.results)
    given = {"group": None, "fprs": [0.1], "confidence_level": 0.95, "time_budget": None}
    given |= {"controls": False, "file": True, "estimator": None, "batched": "auto", "verbose": 0}
    case = open_case(
        victim, ZEROS, membership, PartClock(), **settings, **given, checkpoint=None, n_jobs=1
    )
    assert (len(case.queried), case.n_listed, len(case.candidates)) == (40, 30, 50)
    said = "10 of 30 members and 10 of 30 non-members have a sample weight of 0"
    assert [said in " ".join(report.notes) for report in (found, expected)] == [True, False]


def test_weights_that_fit_does_not_take_are_said():
    message = "'sample_weight' of the records is not used, because fit of KNeighborsClassifier"
    with pytest.warns(UserWarning, match=message) as caught:
        pool = ShadowPool(KNeighborsClassifier(), 4, random_state=0).fit(WEIGHTED)
    assert [str(caught[0].message)] == pool.notes_
    with pytest.warns(UserWarning, match="because fit of Pipeline takes none"):
        ShadowPool(make_pipeline(StandardScaler(), KNeighborsClassifier()), 2).fit(WEIGHTED)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_wrong_weights_are_refused(wrong):
    weights = WEIGHTS.copy()
    weights[7] = wrong
    records = RECORDS.with_fields(sample_weight=weights)
    with pytest.raises(ValueError, match=rf"one finite number of 0 or more .*; got {wrong}"):
        ShadowPool(LINE, 2).fit(records)
    with pytest.raises(ValueError, match="must hold one finite number"):
        ShadowPool(LINE, 2).fit(RECORDS.with_fields(sample_weight=Y.astype(str)))


def test_a_checkpoint_belongs_to_its_weights(tmp_path):
    given = {"checkpoint": tmp_path / "pool", "batched": False, "random_state": 0}
    first = ShadowPool(LINE, 2, **given).fit(WEIGHTED)
    more = ShadowPool(LINE, 4, **given).fit(WEIGHTED)
    np.testing.assert_array_equal(more.membership_[:2], first.membership_)
    for other in (RECORDS, RECORDS.with_fields(sample_weight=WEIGHTS[::-1])):
        with pytest.raises(CheckpointError, match="differs in the field sample_weight"):
            ShadowPool(LINE, 4, **given).fit(other)


def test_models_trained_together_are_for_records_without_weights():
    with pytest.raises(ValueError, match="Models with sample weights are trained one by one"):
        ShadowPool(LINE, 2, batched=True).fit(WEIGHTED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ShadowPool(LINE, 2, random_state=0).fit(WEIGHTED).backend_ == "joblib"


def hold_back(X, y):
    """Every third row, from a random one on, for early stopping."""
    held = np.arange(len(y)) % 3 == np.random.randint(3)  # noqa: NPY002
    return {"X": X[~held], "y": y[~held], "eval_set": [(X[held], y[held])], "verbose": False}


def test_parameters_of_fit_are_made_of_the_rows_of_each_model(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=2, n_jobs=1)
    pool = ShadowPool(model, 4, fit_params=hold_back, random_state=0, store="models")
    pool.set_params(checkpoint=tmp_path / "pool").fit(RECORDS)
    for k, shadow in enumerate(pool.estimators_):
        mine = pool.membership_[k]
        starts = []
        for start in range(3):
            held = np.arange(mine.sum()) % 3 == start
            own = clone(model).set_params(random_state=shadow.random_state)
            sides = [(X[mine][held], Y[mine][held])]
            own.fit(X[mine][~held], Y[mine][~held], eval_set=sides, verbose=False)
            starts.append((own.predict_proba(X) == shadow.predict_proba(X)).all())
        assert any(starts)
    assert "fit_params" in pool.backend_reason_
    again = clone(pool).fit(RECORDS)
    np.testing.assert_array_equal(again.signals_, pool.signals_)
    with pytest.raises(CheckpointError, match="fit_params"):
        clone(pool).set_params(fit_params=lambda X, y: hold_back(X, y)).fit(RECORDS)
    said = r"XGBClassifier stops early and lacks the parameter eval_set of fit, .*fit_params=f"
    with pytest.raises(TrainingError, match=said):
        ShadowPool(model, 2, random_state=0).fit(RECORDS)


def test_constant_parameters_of_fit_and_wrong_ones():
    class Told(LogisticRegression):
        def fit(self, X, y, sample_weight=None, note=None):
            self.note_ = note, sample_weight is not None
            return super().fit(X, y, sample_weight)

    pool = ShadowPool(Told(), 2, fit_params={"note": 5}, store="models", random_state=0)
    assert [model.note_ for model in pool.fit(RECORDS).estimators_] == [(5, False)] * 2
    assert [model.note_ for model in clone(pool).fit(WEIGHTED).estimators_] == [(5, True)] * 2
    with pytest.raises(TrainingError, match="fit_params must give a dict of parameters .* got 3"):
        clone(pool).set_params(fit_params=lambda X, y: 3).fit(RECORDS)
    fewer = clone(pool).set_params(fit_params=lambda X, y: {"X": X[1:], "y": y[1:]})
    with pytest.raises(TrainingError, match="let it give X, y and sample_weight"):
        fewer.fit(WEIGHTED)


@pytest.mark.parametrize("name", ["sample_weight", "step__sample_weight", "base_margin", "groups"])
@pytest.mark.parametrize("kind", [np.asarray, list])
def test_values_for_the_rows_of_one_training_set_are_not_parameters_of_every_fit(name, kind):
    given = {name: kind(WEIGHTS[: len(WEIGHTS) // 2])}  # as many as a shadow model has rows
    with pytest.raises(ValueError, match=f"fit_params has '{name}' with a value for each row"):
        ShadowPool(LINE, 2, fit_params=given).fit(RECORDS)
    with pytest.raises(ValueError, match="each model that is trained here has other rows"):
        audit(LINE, RECORDS, fit_params=given, shadows=4)
