"""Odd values at the doors of synthesizers, of further games and of curves over settings."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from skmia import (
    ShadowPool,
    defenses,
    games,
    leakage,
    memorization,
    model_selection,
    shadow,
    synthetic,
)
from skmia.attacks import LiRA, ThresholdAttack

from .budget import calls
from .oracle import finite, knock, no_nan
from .strategies import (
    mostly,
    odd_settings,
    ordinary_records,
    parameters,
    records,
    tables,
    vectors,
)

KNOWN = ordinary_records(np.random.default_rng(0))
SYNTHESIZERS = {
    "MarginalSynthesizer": {"random_state": (0,)},
    "ModelBasedSynthesizer": {
        "min_confidence": (0.2,),
        "max_changes": (None, 2),
        "min_changes": (1,),
        "max_rejections": (2,),
        "max_iter": (5,),
        "max_failures": (2,),
        "class_prior": (None, [0.5, 0.5]),
        "batch_size": (10,),
        "random_state": (0,),
    },
    "NoisyRecords": {"noise": (0.1,), "random_state": (0,)},
}


@functools.cache
def victim():
    return FrozenEstimator(LogisticRegression().fit(KNOWN.X, KNOWN.y))


@pytest.mark.parametrize("name", SYNTHESIZERS)
@calls(0.01)
@given(st.data())
def test_synthesizers(name, data):
    def make(rows, **settings):
        made = getattr(shadow, name)(**settings)
        if name == "NoisyRecords":
            return made.fit(rows).sample(n_samples)
        return made.set_params(victim=victim()).fit(rows).sample(n_samples)

    n_samples = data.draw(parameters("n_samples", 4))
    rows = data.draw(mostly(st.just(KNOWN), records()))
    settings = data.draw(odd_settings(SYNTHESIZERS[name], most=1))
    knock(name, make, rows, **settings)


@calls(0.01)
@given(
    mostly(st.just(KNOWN), records()),
    mostly(st.just(np.arange(24) % 2), vectors("bits")),
    odd_settings({"n_rounds": (2, None), "refit": (False, True), "random_state": (0,)}, most=1),
)
def test_leaving_two_unlabeled(rows, membership, settings):
    play = games.leave_two_unlabeled
    knock("leave_two_unlabeled", play, ThresholdAttack(victim()), rows, membership, **settings)


GAME = {
    "n_samples": (8,),
    "reference_size": (10,),
    "refit": (False,),
    "n_rounds": (3,),
    "confidence_level": (0.95,),
    "random_state": (0,),
}


@calls(0.01)
@given(parameters("target", 0), mostly(st.just(KNOWN.X), tables()), odd_settings(GAME, most=1))
def test_games_of_a_datum(target, X, settings):
    attack = leakage.MeanLikelihoodRatioAttack(noise_scale=0.5)
    mechanism = leakage.NoisyMean(0.5)
    knock("per_datum_game", games.per_datum_game, mechanism, attack, target, X, **settings)


@functools.cache
def lira():
    pool = ShadowPool(LogisticRegression(), 8, random_state=0).fit(KNOWN)
    return LiRA(shadows=FrozenEstimator(pool))


@calls(0.01)
@given(
    mostly(st.just(KNOWN), records()),
    odd_settings({"n_estimators": (None, [4, 6]), "n_targets": (2,), "max_fprs": ((0.5,),)}),
)
def test_curves_of_power(rows, settings):
    knock("power_curve", model_selection.power_curve, lira(), rows, **settings)


@calls(0.005)
@given(parameters("max_leakage", 0.1, 1.0), parameters("utility", "accuracy"))
def test_the_best_below_a_leakage(largest, utility):
    results = {"mean_test_accuracy": np.array([0.9, 0.8]), "mean_test_leakage": np.zeros(2)}

    def choose(largest, utility):
        return model_selection.best_below_leakage(largest, utility=utility)(results)

    knock("best_below_leakage", choose, largest, utility)


@calls(0.005)
@given(
    mostly(st.just(KNOWN), records()),
    odd_settings(
        {
            "candidates": ({"plain": LogisticRegression()},),
            "attack": (None,),
            "n_estimators": (4,),
            "n_targets": (2,),
            "max_fpr": (0.5,),
            "canaries": (None,),
            "n_jobs": (None,),
            "random_state": (0,),
        },
        most=1,
    ),
)
def test_evaluating_defenses(rows, settings):
    def evaluate(rows, candidates, **settings):
        return defenses.evaluate_defense(candidates, rows, **settings).to_frame()

    knock("evaluate_defense", evaluate, rows, **settings, allowed=(RuntimeError,))


@calls(0.01)
@given(
    odd_settings({"n_sequences": (1, 2), "max_nodes": (100,), "batch_size": (2,)}, most=1),
    parameters("secrets", *[memorization.CanaryFormat("##", "01", alphabet="01")] * 20),
)
def test_extraction(settings, secrets):
    model = memorization.NGramModel(2).fit([[0, 1, 0, 1], [1, 1, 0, 0]])
    extract = memorization.shortest_path_extraction
    knock("shortest_path_extraction", extract, model, secrets, **settings)


@calls(0.01)
@given(
    mostly(st.just(KNOWN.X), tables()),
    odd_settings({"n_samples": (None, 9), "metric": ("euclidean",), "random_state": (0,)}, most=1),
)
def test_distances_to_synthetic_rows(X, settings):
    def measure(X, **settings):
        generator = GaussianMixture(1, random_state=0)
        return synthetic.SyntheticDistance(generator, **settings).fit(KNOWN.X).predict(X)

    knock("SyntheticDistance", measure, X, **settings, check=no_nan)


@calls(0.01)
@given(mostly(st.just(KNOWN), records()), vectors("bits"), vectors("floats"))
def test_scores_of_attacks(rows, membership, weights):
    attack = ThresholdAttack(victim()).fit(KNOWN)
    knock("score", attack.score, rows, membership, check=finite)
    knock("score", attack.score, KNOWN, np.arange(24) % 2, sample_weight=weights, check=finite)
