"""Attacks on regressors of several targets."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import RegressorChain

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import (
    RMIA,
    AnalyticLiRA,
    CalibratedAttack,
    LiRA,
    QuantileAttack,
    ReleasedModelAttack,
    ShadowAttack,
    StackedAttack,
    ThresholdAttack,
)
from skmia.base import needs_of
from skmia.games import membership_game
from skmia.model_selection import leave_one_model_out

N, RNG = 240, np.random.default_rng(0)
X = RNG.normal(size=(N, 40))
Y = X @ RNG.normal(size=(40, 3)) / 6 + RNG.normal(size=(N, 1)) + RNG.normal(size=(N, 3))
Y *= [1.0, 10.0, 0.1]
RECORDS, MEMBERS = Records(X, Y), np.arange(N) < N // 2
MODELS = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(8, random_state=0),
    "chain": RegressorChain(Ridge()),
}
FITTED = {name: model.fit(X[MEMBERS], Y[MEMBERS]) for name, model in MODELS.items()}
JOINT = [LiRA, RMIA, CalibratedAttack, StackedAttack]


# A forest takes longer than the others together.
@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=[pytest.mark.slow] * (one == "forest")) for one in MODELS],
)
def case(request):
    """A model, its pool, and the answers of the pool's models."""
    model = FITTED[request.param]
    pool, recipe = ShadowPool(model, 16, random_state=0).fit(RECORDS), clone(model)
    answers = [recipe.fit(X[rows], Y[rows]).predict(X) for rows in pool.membership_]
    return model, pool, np.array(answers)


def score_by_hand(attack, model, pool, answers):
    """Scores that read each target alone."""
    sets, parts = pool.membership_, []
    for k in range(Y.shape[1]):
        own = Records(X, Y[:, k], outputs=Outputs(model.predict(X)[:, k], kind="value"))
        alone = ShadowPool.from_outputs(answers[..., k], sets, own, kind="value")
        parts.append(attack(None, alone).fit(own).score_samples(own))
    return parts


@pytest.mark.parametrize("attack", [LiRA, RMIA])
def test_all_targets_tell_more_than_the_best_of_them_and_than_the_sum(case, attack):
    model, pool, answers = case
    joint = attack(model, pool).fit(RECORDS).score_samples(RECORDS)
    parts = score_by_hand(attack, model, pool, answers)
    found = roc_auc_score(MEMBERS, joint)
    assert found > max(roc_auc_score(MEMBERS, part) for part in parts)
    assert found > roc_auc_score(MEMBERS, np.sum(parts, axis=0)) - 0.01


@pytest.mark.parametrize("attack", JOINT)
def test_attacks_by_their_natural_call(attack):
    assert "values" in needs_of(attack()).reads
    found = attack(FITTED["linear"], shadows=8).fit(RECORDS)
    assert roc_auc_score(MEMBERS, found.score_samples(RECORDS)) > 0.75
    assert found.score(RECORDS, MEMBERS) > 0.3


def test_the_threshold_attack_reads_the_mean_squared_error():
    model = FITTED["linear"]
    attack = ThresholdAttack(model).fit(RECORDS)
    errors = np.square(Y - model.predict(X)).mean(axis=1)
    np.testing.assert_allclose(attack.score_samples(RECORDS), -errors)
    assert attack.score(RECORDS, MEMBERS) > 0.1


@pytest.mark.parametrize(
    "attack",
    [
        AnalyticLiRA(FITTED["linear"]),
        QuantileAttack(FITTED["linear"], population=RECORDS),
        ReleasedModelAttack(FITTED["linear"]),
        ShadowAttack(FITTED["linear"], shadows=2),
    ],
    ids=lambda attack: type(attack).__name__,
)
def test_other_attacks_name_those_that_read_several_targets(attack):
    name = type(attack).__name__
    with pytest.raises(ValueError, match=f"{name} takes .* y has 3 columns. LiRA, RMIA, .* read"):
        attack.fit(RECORDS)


def test_the_score_of_a_record_does_not_depend_on_the_others(case):
    model, pool, _ = case
    attack = LiRA(model, pool).fit(RECORDS)
    scores, rows = attack.score_samples(RECORDS), RNG.permutation(N)[:7]
    np.testing.assert_allclose(attack.score_samples(RECORDS[rows]), scores[rows], rtol=1e-6)


def test_searches_games_and_models_in_the_place_of_the_victim():
    model = FITTED["linear"]
    pool = ShadowPool(model, 8, random_state=0).fit(RECORDS)
    attack = LiRA(FrozenEstimator(model), FrozenEstimator(pool))
    search = GridSearchCV(attack, {"variance": ["shrunk", "pooled"]}, scoring="roc_auc", cv=2)
    assert search.fit(RECORDS, MEMBERS).best_score_ > 0.75
    game = membership_game(LinearRegression(), ThresholdAttack(), X, Y, n_rounds=2, random_state=0)
    assert np.isfinite(game["vulnerability"]).all()
    assert leave_one_model_out(LiRA(None, FrozenEstimator(pool)), RECORDS)["auc"].mean() > 0.75
