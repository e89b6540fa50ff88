"""Odd values at the doors of formulas, games and choices that are functions."""

import functools
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool, attacks, defenses, games, leakage
from skmia.attacks import LiRA
from skmia.inspection import reconstruct_values
from skmia.model_selection import choose_by_power

from .budget import calls
from .oracle import knock, no_nan
from .strategies import (
    generators,
    mostly,
    odd_settings,
    ordinary_records,
    parameters,
    records,
    tables,
    vectors,
)

FLOATS, BITS = vectors("floats"), vectors("bits")
PROBA = mostly(generators().map(lambda rng: rng.dirichlet(np.ones(3), 24)), tables())
SEVERAL = mostly(generators().map(lambda rng: rng.dirichlet(np.ones(3), (2, 24))), tables())
SQUARE = mostly(generators().map(lambda rng: np.eye(3) + rng.random((3, 3))), tables(3, 3))
ROW = mostly(generators().map(lambda rng: rng.random(3)), vectors("floats", 3))
NUMBER = parameters("number", 0.0, 0.1, 0.5, 2.0)
SEED = parameters("random_state", 0)
LAYERS = mostly(
    generators().map(lambda rng: [rng.normal(size=(4, 3)), rng.normal(size=(1, 4))]),
    st.lists(tables(3, 4), max_size=2),
)
FUNCTIONS = {
    "metrics.conformal_pvalues": {"y_score": FLOATS, "nonmember_score": FLOATS},
    "metrics.distances.fisher_rao_distance": {"p": PROBA, "q": PROBA},
    "metrics.distances.renyi_divergence": {"p": PROBA, "q": PROBA, "alpha": NUMBER},
    "metrics.distances.hockey_stick_divergence": {"p": PROBA, "q": PROBA, "epsilon": NUMBER},
    "metrics.distances.normal_fisher_rao_distance": {
        "mean_1": ROW,
        "std_1": st.one_of(NUMBER, ROW),
        "mean_2": ROW,
        "std_2": st.one_of(NUMBER, ROW),
    },
    "metrics.paired_difference": {
        "y_true": BITS,
        "first_score": FLOATS,
        "second_score": FLOATS,
        "max_fpr": parameters("max_fpr", None, 0.5),
        "confidence_level": parameters("confidence_level", 0.95),
    },
    "attacks.diversity.diversity_coefficient": {"proba": PROBA, "matrix": SQUARE},
    "attacks.diversity.diversity_matrix": {"members": PROBA, "nonmembers": PROBA},
    "leakage.bandwidth_sensitivity": {
        "members": FLOATS,
        "nonmembers": FLOATS,
        "factors": parameters("factors", (0.5, 1.0), [1.0]),
        "n_permutations": parameters("n_permutations", 9),
        "random_state": SEED,
    },
    "leakage.bounds.bayes_success": {"likelihoods": PROBA, "prior": st.one_of(st.none(), FLOATS)},
    "leakage.bounds.cramer_rate": {
        "gap": st.one_of(NUMBER, FLOATS),
        "cumulant": parameters("cumulant", np.square, lambda t: t**2 / 8),
    },
    "leakage.gaps.distributional_gap": {
        "members": FLOATS,
        "nonmembers": FLOATS,
        "distance": parameters(
            "distance", "hellinger", "kullback_leibler", "energy", "wasserstein", np.subtract
        ),
        "method": parameters("method", "plugin", "kde"),
        "n_permutations": parameters("n_permutations", 3),
        "n_resamples": parameters("n_resamples", 0, 3),
        "random_state": SEED,
    },
    "leakage.leverage_total_variation": {"leverage": st.one_of(NUMBER, FLOATS)},
    "leakage.mean_log_likelihood_ratio": {
        "released": st.one_of(ROW, tables()),
        "target": ROW,
        "mean": ROW,
        "covariance": st.one_of(st.none(), SQUARE),
        "n_samples": parameters("n_samples", 24),
        "family": parameters("family", "normal", "bernoulli"),
    },
    "leakage.normal_total_variation": {
        "mean_1": NUMBER,
        "std_1": NUMBER,
        "mean_2": st.one_of(NUMBER, ROW),
        "std_2": st.one_of(NUMBER, ROW),
    },
    "defenses.soft_targets.soften": {
        "proba": SEVERAL,
        "y": vectors("classes"),
        "alpha": st.one_of(NUMBER, FLOATS),
        "spread": parameters("spread", "label", "direction", "coordinate"),
    },
    "memorization.skew_normal_exposure": {"log_perplexity": FLOATS, "sample": FLOATS},
    "memorization.token_records": {
        "sequences": mostly(st.just([[1, 2, 3], [4, 5]]), tables()),
        "length": parameters("length", None, 2),
    },
    "synthetic.critic_bounds.critic_gradient_bounds": {
        "weights": LAYERS,
        "biases": mostly(st.just([np.zeros(4)]), st.lists(ROW, max_size=2)),
        "negative_slope": NUMBER,
        "sizes": parameters("sizes", None, None, [3, 4, 1]),
    },
    "synthetic.critic_bounds.gradient_penalty_bounds": {
        "weights": LAYERS,
        "norm": parameters("norm", "spectral", "frobenius"),
    },
}


@pytest.mark.parametrize("name", FUNCTIONS)
@calls(0.016)
@given(st.data())
def test_functions(name, data):
    given = {key: data.draw(one, label=key) for key, one in FUNCTIONS[name].items()}
    room, _, function = name.rpartition(".")
    knock(name, getattr(import_module(f"skmia.{room}"), function), **given)


@calls(0.016)
@given(tables(), st.sampled_from(("data", "sampler")), NUMBER, SEED)
def test_games_of_means(X, kind, noise, seed):
    def play(X, kind, noise, seed):
        rows = X if kind == "data" else lambda n, rng: X
        return games.average_datum_game(
            leakage.NoisyMean(noise),
            leakage.MeanLikelihoodRatioAttack(noise_scale=noise),
            rows,
            n_samples=4,
            reference_size=8,
            n_rounds=6,
            random_state=seed,
        )

    knock("average_datum_game", play, X, kind, noise, seed)


@functools.cache
def lira():
    known = ordinary_records(np.random.default_rng(0))
    pool = ShadowPool(LogisticRegression(), 4, random_state=0).fit(known)
    return LiRA(None, pool), known


GRID = parameters("grid", {"variance": ["example", "pooled"]}, {"ridge": [0.1]}, [{}])
CRITERION = parameters("criterion", "roc_auc", 0.1)


@calls(0.016)
@given(GRID, mostly(st.none(), records()), CRITERION)
def test_choices_by_power(grid, rows, criterion):
    attack, known = lira()

    def choose(grid, rows, criterion):
        return choose_by_power(attack, grid, known if rows is None else rows, criterion=criterion)

    knock("choose_by_power", choose, grid, rows, criterion)


UNLEARNING = {
    "unlearn": ("retrain", "noop"),
    "forget": (0.2,),
    "n_estimators": (4,),
    "n_targets": (2,),
    "attacks": (("population",),),
    "both": (False,),
    "max_fpr": (0.1,),
    "random_state": (0,),
}


@calls(0.016)
@given(mostly(st.none(), records()), odd_settings(UNLEARNING, most=1))
def test_unlearning(rows, settings):
    def play(rows, unlearn, **settings):
        rows = ordinary_records(np.random.default_rng(0)) if rows is None else rows
        return games.unlearning_game(LogisticRegression(), unlearn, rows, **settings)

    knock("unlearning_game", play, rows, **settings, allowed=(RuntimeError,))


@calls(0.016)
@given(tables(), SEED, parameters("decimals", None, 2))
def test_files_that_are_changed(X, seed, decimals):
    def change(X, seed, decimals):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(KNOWN.X, KNOWN.y)
        defenses.move_thresholds(tree, X, random_state=seed).predict(KNOWN.X)
        return defenses.strip_state(tree, decimals=decimals).predict(KNOWN.X)

    knock("move_thresholds", change, X, seed, decimals)


KNOWN = ordinary_records(np.random.default_rng(0))


@calls(0.005)
@given(parameters("model", DecisionTreeClassifier(random_state=0).fit(KNOWN.X, KNOWN.y)))
def test_values_of_models(model):
    knock("reconstruct_values", reconstruct_values, model)


@calls(0.016)
@given(parameters("scale", 0.1, (0.1, 0.2, 0.3)), records(), SEED)
def test_ranges_of_records(scale, rows, seed):
    def draw(scale, rows, seed):
        return attacks.ranges.GaussianRange(scale)(rows, np.random.RandomState(0)).X

    knock("GaussianRange", draw, scale, rows, seed)


@calls(0.016)
@given(mostly(st.just(lira), st.just(lira)), mostly(st.none(), records()))
def test_scores_of_nonmembers(make, rows):
    attack, known = make()

    def score(rows):
        fitted = attack.fit(known)
        return attacks.shadow_nonmember_scores(fitted, known if rows is None else rows)

    knock("shadow_nonmember_scores", score, rows, check=no_nan)
