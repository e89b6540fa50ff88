"""The game about one record, where the answer is known in closed form."""

from functools import cache

import numpy as np
import pytest
from cells import slow_but
from joblib import parallel_config
from scipy.stats import beta, norm
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from skmia.games import per_datum_game
from skmia.leakage import EmpiricalMean, MeanLikelihoodRatioAttack, NoisyMean, SubsampledMean
from skmia.metrics import auc_interval

N_FEATURES, N_SAMPLES, N_ROUNDS = 40, 20, 200
VARIANCES = np.geomspace(0.5, 2, N_FEATURES)
TARGET = np.sqrt(VARIANCES) * np.where(np.arange(N_FEATURES) % 2, 1.5, -1.5)
LEAKAGE = 1.5**2 * N_FEATURES / N_SAMPLES


def draw(n, rng):
    return rng.normal(size=(n, N_FEATURES)) * np.sqrt(VARIANCES)


def optimal_attack(**settings):
    zero = np.zeros(N_FEATURES)
    return MeanLikelihoodRatioAttack.from_moments(
        TARGET, zero, VARIANCES, n_samples=N_SAMPLES, **settings
    )


class FirstColumn(BaseEstimator):
    """Releases the sum of the first column, and nothing by chance."""

    def fit(self, X, y=None):
        self.n_rows_, self.total_ = X.shape[0], X[:, 0].sum()
        return self

    def sample(self, n_samples=1, random_state=None):
        return np.full((n_samples, 1), self.total_)


class Identity(BaseEstimator):
    """Scores a release by its value and notes the reference rows."""

    def __init__(self, target=None, n_samples=None):
        self.target = target
        self.n_samples = n_samples

    def fit(self, X):
        self.reference_ = X
        return self

    def score_samples(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] >= 1).astype(int)


def test_a_certain_mechanism_is_told_apart_always():
    def zeros(n, rng):
        return np.zeros((n, 3))

    game = per_datum_game(FirstColumn(), Identity(), [2.0, 0, 0], zeros, n_rounds=50)
    assert (game["scores_in"] == 2).all() and (game["scores_out"] == 0).all()
    assert game["advantage"].estimate == 1 and game["auc"].estimate == 1
    # Of 50 rounds all: the lower limit of the exact interval is 0.025^(1/50).
    curve = game["power"]
    row = curve[(curve["fpr"] == 0) & (curve["tpr"] == 1)].iloc[0]
    assert row["tpr_low"] == pytest.approx(0.025 ** (1 / 50))
    assert row["fpr_high"] == pytest.approx(1 - 0.025 ** (1 / 50))


def test_a_target_that_is_nobody_is_not_told_apart():
    def ones(n, rng):
        return np.ones((n, 2))

    game = per_datum_game(FirstColumn(), Identity(), [1.0, 5.0], ones, n_rounds=20)
    np.testing.assert_array_equal(game["scores_in"], game["scores_out"])
    assert game["advantage"].estimate == 0 and game["auc"].estimate == 0.5


def test_one_row_is_replaced_and_the_number_of_rows_stays():
    class Counted(FirstColumn):
        def sample(self, n_samples=1, random_state=None):
            return np.full((n_samples, 1), float(self.n_rows_))

    game = per_datum_game(Counted(), Identity(), TARGET, draw, n_samples=7, n_rounds=3)
    assert (game["scores_in"] == 7).all() and (game["scores_out"] == 7).all()


@pytest.mark.parametrize("is_table", [True, False])
def test_a_target_with_fractions_is_not_cut_off_among_whole_numbers(is_table):
    def zeros(n, rng):
        return np.zeros((n, 2), dtype=np.int64)

    X = zeros(20, None) if is_table else zeros
    game = per_datum_game(
        FirstColumn(), Identity(), [0.75, 0], X, n_samples=5, reference_size=5, n_rounds=2
    )
    assert (game["scores_in"] == 0.75).all() and (game["scores_out"] == 0).all()


def test_the_type_of_the_rows_does_not_tell_whether_the_target_is_among_them():
    class Type(FirstColumn):
        def fit(self, X, y=None):
            self.total_ = X.dtype.kind == "f"
            return self

    X = np.zeros((20, 2), dtype=np.int64)
    for target, is_float in ([0.75, 0], True), ([3.0, 0.0], False):
        game = per_datum_game(
            Type(), Identity(), target, X, n_samples=5, reference_size=5, n_rounds=2
        )
        assert (game["scores_in"] == is_float).all() and (game["scores_out"] == is_float).all()


PLAYED = {
    "plain": (EmpiricalMean(), {}),
    "noisy": (NoisyMean(1.0), {"noise_scale": 1.0}),
    "subsampled": (SubsampledMean(0.5), {"sampling_ratio": 0.5}),
}


@cache
def play(name):
    """The attack that knows the moments, and its game against a mechanism; nobody changes them."""
    mechanism, settings = PLAYED[name]
    attack, given = optimal_attack(**settings), {"n_samples": N_SAMPLES, "random_state": 0}
    frozen = FrozenEstimator(attack)
    return attack, per_datum_game(mechanism, frozen, TARGET, draw, n_rounds=N_ROUNDS, **given)


@pytest.mark.parametrize("name", slow_but(["plain", "noisy", "subsampled"], "subsampled"))
def test_the_power_is_that_of_theory(name):
    attack, game = play(name)
    thresholds = np.quantile(game["scores_out"], [0.5, 0.8, 0.9])
    for threshold, fpr in zip(thresholds, (0.5, 0.2, 0.1), strict=True):
        tpr, expected = (game["scores_in"] >= threshold).mean(), attack.power(fpr)
        # Both the threshold and the rate rest on 200 rounds; theory is that of the limit, while
        # a mean of 20 rows with the target has the variance 19/20.
        slope = abs(attack.power(fpr + 0.01) - attack.power(fpr - 0.01)) / 0.02
        error = np.sqrt(expected * (1 - expected) + slope**2 * fpr * (1 - fpr)) / np.sqrt(N_ROUNDS)
        assert tpr == pytest.approx(expected, abs=4 * error + 0.01)


def test_the_scores_have_the_moments_of_the_limit():
    _, game = play("plain")
    error = np.sqrt(LEAKAGE / N_ROUNDS)
    # Exact for normal rows: n - 1 random rows leave the mean and (n - 1) / n of the variance.
    assert game["scores_out"].mean() == pytest.approx(-LEAKAGE / 2, abs=4 * error)
    assert game["scores_in"].mean() == pytest.approx(LEAKAGE / 2, abs=4 * error)
    spread = np.sqrt(2 / N_ROUNDS)
    assert game["scores_out"].var() == pytest.approx(LEAKAGE, rel=4 * spread)
    assert game["scores_in"].var() == pytest.approx(LEAKAGE * 19 / 20, rel=4 * spread)
    auc, low, high = game["auc"]
    expected = norm.cdf(LEAKAGE / np.sqrt(LEAKAGE * (1 + 19 / 20)))
    assert auc == pytest.approx(expected, abs=high - low)  # four standard errors


def test_limits_are_exact_binomial_ones():
    game = per_datum_game(
        EmpiricalMean(),
        FrozenEstimator(optimal_attack()),
        TARGET,
        draw,
        n_samples=N_SAMPLES,
        n_rounds=30,
        confidence_level=0.9,
        random_state=0,
    )
    curve = game["power"]
    assert curve["threshold"].is_monotonic_decreasing
    for rate, scores in (("tpr", game["scores_in"]), ("fpr", game["scores_out"])):
        for threshold, value, low in curve[["threshold", rate, f"{rate}_low"]].to_numpy():
            hits = (scores >= threshold).sum()
            assert value == hits / 30
            assert low == pytest.approx(beta.ppf(0.05, hits, 31 - hits) if hits else 0.0)
    expected = auc_interval(
        np.repeat([0, 1], 30),
        np.concatenate([game["scores_out"], game["scores_in"]]),
        confidence_level=0.9,
    )
    assert game["auc"] == expected


def test_the_attack_learns_the_target_and_the_size_and_the_advantage_is_of_its_guesses():
    attack = MeanLikelihoodRatioAttack()
    game = per_datum_game(
        EmpiricalMean(),
        attack,
        TARGET,
        draw,
        n_samples=N_SAMPLES,
        n_rounds=N_ROUNDS,
        random_state=0,
    )
    assert attack.target is None and attack.n_samples is None and not hasattr(attack, "target_")
    expected = 2 * norm.cdf(np.sqrt(LEAKAGE) / 2) - 1
    assert game["advantage"].low < expected < game["advantage"].high


def test_rows_of_a_table_are_reference_or_data_and_never_the_target():
    X = np.arange(60.0)[:, None]
    seen = []

    class Watched(FirstColumn):
        def fit(self, X, y=None):
            seen.append(X[:, 0])
            return super().fit(X)

    class Watching(Identity):
        def fit(self, X):
            seen.append(X[:, 0])
            return super().fit(X)

    mechanism, settings = Watched(), {"n_samples": 20, "reference_size": 30, "random_state": 0}
    per_datum_game(mechanism, Watching(), 17, X, n_rounds=10, **settings)
    assert not hasattr(mechanism, "total_")  # what is given stays as it is
    reference, *sets = seen
    assert len(reference) == 30 and len(sets) == 20
    for k, rows in enumerate(sets):
        assert len(np.unique(rows)) == 20
        assert not set(rows) & set(reference)
        assert (17 in rows) == (k % 2 == 1)


def test_refit_draws_reference_rows_for_each_release():
    seen = []

    class Watching(Identity):
        def fit(self, X):
            seen.append(tuple(X[:, 0]))
            return super().fit(X)

    X = np.arange(60.0)[:, None]
    settings = {"n_samples": 20, "reference_size": 5, "n_rounds": 4, "random_state": 0}
    per_datum_game(FirstColumn(), Watching(), 17, X, refit=True, **settings)
    assert len(set(seen)) == 8


def test_each_release_and_each_attack_has_randomness_of_its_own():
    released, learned = [], []

    class Dice(FirstColumn):
        def fit(self, X, y=None):
            released.append(np.random.random())  # noqa: NPY002
            return super().fit(X)

    class Tossing(Identity):
        def fit(self, X):
            learned.append(np.random.random())  # noqa: NPY002
            return super().fit(X)

    X = np.arange(60.0)[:, None]
    settings = {"n_samples": 20, "reference_size": 5, "n_rounds": 4, "random_state": 0}
    per_datum_game(Dice(), Tossing(), 17, X, refit=True, **settings)
    assert len(set(released)) == len(set(learned)) == 8


def test_the_numbers_are_the_same_for_every_n_jobs(monkeypatch):
    monkeypatch.setattr("skmia.games._mechanism._ROUNDS", 3)  # two parts, one for each job
    settings = {"n_samples": N_SAMPLES, "reference_size": 50, "n_rounds": 6, "random_state": 0}
    played = NoisyMean(), MeanLikelihoodRatioAttack(), TARGET, draw
    for refit in (False, True):
        with parallel_config("threading"):
            one, two = (
                per_datum_game(*played, refit=refit, n_jobs=n_jobs, **settings)
                for n_jobs in (None, 2)
            )
        np.testing.assert_array_equal(one["scores_in"], two["scores_in"])
        np.testing.assert_array_equal(one["scores_out"], two["scores_out"])
        assert one["advantage"] == two["advantage"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.ones((30, 2))}, "ask for 1000 [+] 10 rows; 30 can be drawn"),
        ({"X": np.zeros((2000, 3))}, "target must be a row of 3 features, as X has; got 2"),
        ({"X": np.zeros((2000, 2)), "target": 2000}, "number of one of 2000 rows of X; got 2000"),
        ({"target": 3}, "target is the number of a row, but X is a function"),
        ({"target": np.zeros((1, 2))}, r"target must be one row; got an array of shape \(1, 2\)"),
        ({"X": lambda n, rng: np.zeros((3, 2))}, r"must return an array of shape \(1000, "),
        ({"X": lambda n, rng: np.zeros(n)}, r"\(1000, n_features\); got shape \(1000,\)"),
        (
            {"X": np.zeros((2000, 2)), "target": True},
            r"target must be .* got scalar `array\(True\)`",
        ),
        ({"n_rounds": 0}, "'n_rounds' parameter of per_datum_game"),
        ({"confidence_level": 95}, "confidence_level must be a fraction"),
        ({"mechanism": Identity()}, "'mechanism' parameter of per_datum_game"),
        ({"attack": FirstColumn()}, "'attack' parameter of per_datum_game"),
    ],
)
def test_what_cannot_be_played_is_refused(changes, message):
    arguments = {
        "mechanism": FirstColumn(),
        "attack": Identity(),
        "target": [0.0, 0.0],
        "X": lambda n, rng: np.zeros((n, 2)),
        "n_samples": 10,
        **changes,
    }
    with pytest.raises(ValueError, match=message):
        per_datum_game(**arguments)


@pytest.mark.parametrize("as_row", [True, False])
def test_copies_of_the_target_are_in_no_data_set(as_row):
    # Half of the rows equal the target; a data set of 5 others never holds it by chance.
    X = np.zeros((40, 2))
    X[::2] = 1.0
    target = 0 if as_row else [1.0, 1.0]
    game = per_datum_game(
        FirstColumn(), Identity(), target, X, n_samples=5, reference_size=5, n_rounds=20
    )
    assert (game["scores_in"] == 1).all() and (game["scores_out"] == 0).all()
    with pytest.raises(ValueError, match="16 \\+ 5 rows; 20 can be drawn"):
        per_datum_game(FirstColumn(), Identity(), target, X, n_samples=5, reference_size=16)
