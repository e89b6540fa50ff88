"""The games about one and about an average record, against an enumeration of their definitions.

Algorithm 1 of Azize and Basu (2024): n rows are drawn and a fair coin is tossed; on 1 the target
takes a random place. Algorithm 2 plays it with one target against an adversary who sees the
release. In algorithms 3 and 4 each round has a target of its own, fresh on 0 and a random row of
the data set on 1, which the adversary also sees.
"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import BaseEstimator

from skmia.games import _mechanism, average_datum_game, per_datum_game

VALUES, PROBA = np.arange(3), np.array([0.5, 0.3, 0.2])
N_SAMPLES, N_ROUNDS = 2, 200


def draw(n, rng):
    return rng.choice(VALUES, size=(n, 1), p=PROBA).astype(float)


class Rows(BaseEstimator):
    """Releases all rows in their order, and nothing by chance."""

    def fit(self, X, y=None):
        self.rows_ = X
        return self

    def sample(self, n_samples=1, random_state=None):
        return self.rows_.reshape(1, -1)


class Total(Rows):
    """Releases the sum of the rows."""

    def sample(self, n_samples=1, random_state=None):
        return self.rows_.sum(axis=0, keepdims=True)


class Note(BaseEstimator):
    """An adversary whose score says what it saw: 100 times the target plus the release."""

    def __init__(self, target=None):
        self.target = target

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def score_samples(self, X):
        return 100 * np.ravel(self.target)[0] + X[:, 0]

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def data_sets():
    """All data sets of two rows, each with its probability."""
    for rows in product(VALUES, repeat=N_SAMPLES):
        yield rows, PROBA[list(rows)].prod()


def agree(scores, law):
    """Compare the frequencies of what was seen with its exact law."""
    seen, counts = np.unique(scores, return_counts=True)
    assert set(seen) <= set(law)
    observed = [dict(zip(seen, counts, strict=True)).get(value, 0) for value in law]
    return chisquare(observed, len(scores) * np.array(list(law.values()))).pvalue > 1e-3


def collect(pairs):
    law = {}
    for value, probability in pairs:
        law[value] = law.get(value, 0.0) + probability
    assert sum(law.values()) == pytest.approx(1)
    return law


def test_algorithms_1_and_2_release_what_the_enumeration_says():
    target = 2
    game = per_datum_game(
        Total(),
        Note(),
        [float(target)],
        draw,
        n_samples=N_SAMPLES,
        reference_size=1,
        n_rounds=N_ROUNDS,
        random_state=0,
    )
    without = collect((100 * target + sum(rows), p) for rows, p in data_sets())
    places = range(N_SAMPLES)
    replaced = collect(
        (100 * target + sum(rows) - rows[place] + target, p / N_SAMPLES)
        for rows, p in data_sets()
        for place in places
    )
    assert agree(game["scores_out"], without) and agree(game["scores_in"], replaced)
    assert not agree(game["scores_in"], without)


@pytest.fixture(scope="module")
def game():
    """Many rounds of algorithms 3 and 4; nobody changes it."""
    return average_datum_game(
        Total(),
        Note(),
        draw,
        n_samples=N_SAMPLES,
        reference_size=1,
        n_rounds=N_ROUNDS,
        random_state=0,
    )


def test_algorithms_3_and_4_show_a_fresh_target_or_a_random_row_of_the_data_set(game):
    fresh = collect(
        (100 * target + sum(rows), PROBA[target] * p)
        for target in VALUES
        for rows, p in data_sets()
    )
    element = collect(
        (100 * target + sum(rows), p / N_SAMPLES) for rows, p in data_sets() for target in rows
    )
    assert agree(game["scores_out"], fresh) and agree(game["scores_in"], element)


def test_the_coin_is_fair_and_both_sides_are_independent(game):
    # Each round is played with both sides of the coin, so that either comes up equally often.
    targets = [game[side] // 100 for side in ("scores_out", "scores_in")]
    assert len(targets[0]) == len(targets[1]) == N_ROUNDS
    assert abs(np.corrcoef(targets)[0, 1]) < 4 / np.sqrt(N_ROUNDS)


def test_the_target_takes_each_place_equally_often():
    class Place(Note):
        def score_samples(self, X):
            return np.where((X == -1).any(axis=1), (X == -1).argmax(axis=1), -1.0)

    game = per_datum_game(
        Rows(), Place(), [-1.0], draw, n_samples=5, reference_size=1, n_rounds=200, random_state=0
    )
    assert (game["scores_out"] == -1).all()
    assert agree(game["scores_in"], dict.fromkeys(range(5), 0.2))


@pytest.mark.parametrize("game", [per_datum_game, average_datum_game])
def test_reference_rows_are_in_no_data_set_of_the_round(game):
    class Overlap(Note):
        def fit(self, X, y=None):
            self.reference_ = X[:, 0]
            return self

        def score_samples(self, X):
            return np.isin(X, self.reference_).sum(axis=1).astype(float)

    X = np.arange(60.0)[:, None]
    target = {"target": 7} if game is per_datum_game else {}
    played = game(
        Rows(),
        Overlap(),
        X=X,
        n_samples=20,
        reference_size=30,
        refit=True,
        n_rounds=10,
        random_state=0,
        **target,
    )
    assert (played["scores_out"] == 0).all() and (played["scores_in"] == 0).all()


def test_an_interval_holds_where_targets_are_exposed_unequally(monkeypatch):
    # Half of the targets are always found; of the others the adversary tosses a coin. The advantage
    # is 1/2. With one target for both sides of a round the hits and the false alarms of a round go
    # against each other, and the estimate varies more than the interval says.
    def draw_kinds(n, rng):
        return np.column_stack([rng.random(n), rng.random(n) < 0.5])

    class Finds(Note):
        def score_samples(self, X):
            rows = X.reshape(len(X), -1, 2)
            if self.target[1]:
                return (rows == self.target).all(axis=2).any(axis=1).astype(float)
            return (rows[:, :, 0].sum(axis=1) * 1e6 % 1 > 0.5).astype(float)

        def predict(self, X):
            return self.score_samples(X).astype(int)

    monkeypatch.setattr(_mechanism, "_compute_power", lambda *given: None)  # at each threshold
    n_rounds = 2
    estimates = [
        average_datum_game(
            Rows(),
            Finds(),
            draw_kinds,
            n_samples=3,
            reference_size=1,
            n_rounds=n_rounds,
            random_state=seed,
        )["advantage"].estimate
        for seed in range(100)
    ]
    # TPR .75 and FPR .25: the variance of the difference of two independent shares of all rounds.
    independent = np.sqrt(2 * 0.75 * 0.25 / n_rounds)
    assert np.mean(estimates) == pytest.approx(0.5, abs=4 * independent / np.sqrt(100))
    # The standard error of a standard deviation of 100 values is 1/sqrt(200) of it.
    assert np.std(estimates) < independent * (1 + 2 / np.sqrt(200))
