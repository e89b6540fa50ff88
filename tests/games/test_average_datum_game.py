"""The game about records on average, where the answer is known in the limit."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from skmia.games import average_datum_game, per_datum_game
from skmia.leakage import EmpiricalMean, MeanLikelihoodRatioAttack, NoisyMean

N_FEATURES, N_SAMPLES = 40, 20


def draw(n, rng):
    return rng.normal(size=(n, N_FEATURES))


# Without noise it is the example of the function.
@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_the_attack_is_as_strong_as_the_share_of_columns_to_rows(noise):
    # Noise of the size of the spread halves what is left of each column.
    leakage, n_rounds = N_FEATURES / N_SAMPLES / (1 + noise**2), 20
    game = average_datum_game(
        NoisyMean(noise) if noise else EmpiricalMean(),
        MeanLikelihoodRatioAttack(noise_scale=noise),
        draw,
        n_samples=N_SAMPLES,
        reference_size=600,
        n_rounds=n_rounds,
        random_state=0,
    )
    assert game["auc"].low - 0.01 < norm.cdf(np.sqrt(leakage / 2)) < game["auc"].high + 0.01
    error = 4 * np.sqrt(leakage / n_rounds)
    assert game["scores_out"].mean() == pytest.approx(-leakage / 2, abs=error)
    assert game["scores_in"].mean() == pytest.approx(leakage / 2, abs=error)


class Holds(BaseEstimator):
    """Releases all rows on one line, and scores a release by whether the target is in it."""

    def __init__(self, target=None):
        self.target = target

    def fit(self, X, y=None):
        self.rows_ = X
        return self

    def sample(self, n_samples=1, random_state=None):
        return self.rows_.reshape(1, -1)

    def score_samples(self, X):
        rows = X.reshape(len(X), -1, len(self.target))
        return (rows == self.target).all(axis=2).sum(axis=1).astype(float)

    def predict(self, X):
        return (self.score_samples(X) > 0).astype(int)


@pytest.mark.parametrize("refit", [False, True])
def test_each_data_set_has_its_own_target_and_no_copies_of_it(refit):
    X = np.repeat(np.arange(40.0), 3)[:, None]  # each row three times
    settings = {"n_samples": 20, "reference_size": 10, "refit": refit, "n_rounds": 60}
    game = average_datum_game(Holds(), Holds(), X, random_state=0, **settings)
    assert (game["scores_in"] == 1).all() and (game["scores_out"] == 0).all()


def test_seeds_and_jobs(monkeypatch):
    monkeypatch.setattr("skmia.games._mechanism._ROUNDS", 4)  # two parts, one for each job
    settings = {"n_samples": 5, "reference_size": 20, "n_rounds": 8}
    X = np.random.default_rng(0).normal(size=(200, 5))
    settings |= {"random_state": 0}
    with parallel_config("threading"):
        plays = [
            average_datum_game(
                EmpiricalMean(), MeanLikelihoodRatioAttack(), X, n_jobs=jobs, **settings
            )
            for jobs in (1, 2)
        ]
    np.testing.assert_array_equal(plays[0]["scores_in"], plays[1]["scores_in"])


@pytest.mark.parametrize(
    ("attack", "settings", "words"),
    [
        (FrozenEstimator(Holds([1.0]).fit(np.zeros((2, 1)))), {}, "parameter target"),
        (Holds(), {"n_samples": 50}, "1000 . 50 rows, and the target for 1 more; 60 can be"),
        (Holds(), {"n_rounds": 0}, "n_rounds"),
        (Holds(), {"confidence_level": 1.0}, "confidence_level"),
    ],
)
def test_wrong_input_gets_a_sentence(attack, settings, words):
    with pytest.raises(ValueError, match=words):
        average_datum_game(Holds(), attack, np.zeros((60, 1)), **settings)


def test_a_population_of_one_row_leaves_nothing_to_draw():
    with pytest.raises(ValueError, match="0 can be drawn from X"):
        average_datum_game(
            Holds(), Holds(), np.zeros((60, 1)), n_samples=5, reference_size=5, n_rounds=1
        )


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("game", [average_datum_game, per_datum_game])
def test_an_attack_without_reference_rows_is_not_taken_for_fitted(game, refit):
    X = np.random.default_rng(0).normal(size=(60, 3))
    target = {} if game is average_datum_game else {"target": 0}
    settings = {"n_samples": 5, "reference_size": 0, "n_rounds": 2, "refit": refit, **target}
    with pytest.raises(ValueError, match="0 sample"):
        game(EmpiricalMean(), MeanLikelihoodRatioAttack(), X=X, **settings)
