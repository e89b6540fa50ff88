"""Odd values at the doors of measures of synthetic tables."""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from skmia import synthetic

from .budget import calls
from .oracle import finite, knock, no_nan
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

METRIC = {
    "version": ("tie_corrected",),
    "metric": ("euclidean", "manhattan"),
    "random_state": (0,),
    "n_jobs": (None,),
}


@calls(0.04)
@given(tables(), tables(), odd_settings({**METRIC, "n_draws": (2,)}, most=1))
def test_adversarial_accuracy(real, fake, settings):
    def measure(real, fake, **settings):
        return synthetic.NearestNeighborAdversarialAccuracy(**settings).fit(real).score(fake)

    knock("NearestNeighborAdversarialAccuracy", measure, real, fake, **settings, check=finite)


@calls(0.04)
@given(tables(), tables(), tables(), odd_settings({**METRIC, "n_permutations": (9,)}, most=1))
def test_privacy_loss(train, test, fake, settings):
    def measure(train, test, fake, **settings):
        return synthetic.PrivacyLoss(**settings).fit(train, test, fake).pvalue_

    knock("PrivacyLoss", measure, train, test, fake, **settings)


RISK = {
    "n_attacks": (20,),
    "n_permutations": (9,),
    "confidence_level": (0.9,),
    "random_state": (0,),
}
RISKS = {
    "SinglingOutRisk": {**RISK, "mode": ("univariate", "multivariate"), "n_columns": (2,)},
    "LinkabilityRisk": {**RISK, "columns": (None,), "n_neighbors": (1, 2)},
    "InferenceRisk": {**RISK, "secrets": (None, 0), "known": (None,), "tolerance": (0.1,)},
}


@calls(0.03)
@given(
    tables(),
    tables(),
    tables(),
    st.sampled_from(sorted(RISKS)).flatmap(
        lambda name: st.tuples(st.just(name), odd_settings(RISKS[name], most=1))
    ),
)
def test_risks(train, test, fake, drawn):
    name, settings = drawn

    def measure(train, test, fake, **settings):
        with warnings.catch_warnings():
            # Small tables often have columns that determine others.
            warnings.filterwarnings("ignore", "In the synthetic table")
            return getattr(synthetic, name)(**settings).fit(train, test, fake).result_["attack"]

    knock(name, measure, train, test, fake, **settings)


@calls(0.02)
@given(tables(), tables(), tables(), odd_settings({"confidence_level": (0.9,)}, most=1))
def test_copies(train, test, fake, settings):
    def measure(train, test, fake, **settings):
        return synthetic.CopyTest(random_state=0, **settings).fit(train, test, fake).pvalue_

    knock("CopyTest", measure, train, test, fake, **settings)


@calls(0.01)
@given(tables(), tables(), tables(), parameters("confidence_level", 0.9))
def test_audit_table(real, fake, holdout, level):
    settings = {"confidence_level": level, "random_state": 0}
    knock("audit_table", synthetic.audit_table, real, fake, holdout, **settings)


@calls(0.02)
@given(
    parameters("successes", 3, 2.5),
    parameters("n_attacks", 9),
    parameters("control_successes", 1),
    parameters("n_controls", 9),
    parameters("confidence_level", 0.9),
)
def test_excess_risk(s, n, c, m, level):
    knock("excess_risk", synthetic.excess_risk, s, n, c, m, confidence_level=level)


@calls(0.03)
@given(tables(), tables(), odd_settings({"categorical_features": ("from_dtype", [0])}))
def test_gower_encoder(X, other, settings):
    def encode(X, other, **settings):
        return synthetic.GowerEncoder(**settings).fit(X).transform(other)

    knock("GowerEncoder", encode, X, X, **settings)
    knock("GowerEncoder", encode, X, other)


REFERENCE = ordinary_records(np.random.default_rng(1))
GENERATED = {
    "statistic": ("density_ratio", "distance", "domias", "gen_lra", "copula", "rare_copies"),
    "reference": (REFERENCE,),
    "bandwidth": (None, 0.5),
    "n_samples": (None, 20),
    "n_neighbors": (1, 3),
    "metric": ("euclidean",),
    "random_state": (0,),
}


@calls(0.03)
@given(
    mostly(generators().map(ordinary_records), st.one_of(tables(), records())),
    vectors("bits"),
    odd_settings(GENERATED, most=1),
)
def test_generator_attack(rows, membership, settings):
    def attack(rows, membership, **settings):
        known = ordinary_records(np.random.default_rng(0)).X
        victim = GaussianMixture(1, random_state=0).fit(known)
        return (
            synthetic.GeneratorAttack(victim, **settings).fit(rows, membership).score_samples(rows)
        )

    knock("GeneratorAttack", attack, rows, membership, **settings, check=no_nan)


LABELS = vectors("text")


@calls(0.02)
@given(LABELS, LABELS, parameters("label", None, "a"), parameters("confidence_level", 0.95))
def test_rare_class_rate(y, fake, label, level):
    settings = {"label": label, "confidence_level": level}
    knock("rare_class_rate", synthetic.rare_class_rate, y, fake, **settings)
