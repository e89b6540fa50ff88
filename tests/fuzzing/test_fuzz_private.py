"""Odd values at the doors of what is trained with differential privacy."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_net import make_small_net

from skmia.defenses import DPSGDClassifier
from skmia.synthetic import DPWassersteinGAN

from .budget import calls
from .oracle import finite, knock
from .strategies import mostly, odd_settings, parameters, tables, vectors

X = np.random.default_rng(0).normal(size=(24, 3))
Y = np.arange(24) % 2
NET = partial(make_small_net, batch_size=8, max_epochs=1)
# Accountants that search for noise take seconds.
TRAINED = {
    "estimator": (NET,),
    "target_delta": (None, 1e-3),
    "noise_multiplier": (1.0, 0.0),
    "max_grad_norm": (1.0,),
    "poisson_sampling": (True, False),
    "classes": ([0, 1], None),
    "ledger": (None,),
    "noise_seed": (0,),
    "random_state": (0,),
}


@calls(0.02)
@given(
    mostly(st.just(X), tables()), mostly(st.just(Y), vectors("bits")), odd_settings(TRAINED, most=1)
)
def test_private_nets(X, y, settings):
    pytest.importorskip("opacus")

    def train(X, y, **settings):
        return DPSGDClassifier(**settings).fit(X, y).predict_proba(X)

    knock("DPSGDClassifier", train, X, y, **settings, check=finite)


GENERATOR = {
    "lower": (-5.0,),
    "upper": (5.0,),
    "columns": ("auto", "number", {0: "number"}),
    "target_delta": (None, 1e-3),
    "noise_multiplier": (1.0,),
    "privacy": ("bounds", "clipping"),
    "noise": ("minimum_trace", "spherical"),
    "penalty_bound": ("spectral",),
    "max_grad_norm": (1.0,),
    "max_weight": (None, 0.5),
    "max_spectral_norm": (None, 1.0),
    "critic_layers": ((3,),),
    "generator_layers": ((3,),),
    "negative_slope": (0.2,),
    "n_latent": (2,),
    "penalty": (1.0,),
    "n_critic": (1,),
    "max_iter": (1,),
    "batch_size": (8,),
    "learning_rate": (1e-3,),
    "noise_seed": (0,),
    "random_state": (0,),
}


@calls(0.02)
@given(
    mostly(st.just(X), tables()),
    odd_settings(GENERATOR, most=1),
    parameters("n_samples", 2),
    parameters("random_state", 0),
)
def test_private_generators(X, settings, n_samples, seed):
    pytest.importorskip("torch")

    def draw(X, n_samples, seed, **settings):
        made = DPWassersteinGAN(**settings).fit(X)
        return made.sample(n_samples, random_state=seed)

    knock("DPWassersteinGAN", draw, X, n_samples, seed, **settings, check=finite)
