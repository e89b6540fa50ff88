"""Odd values at the doors of the leakage estimators and bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from public import find

from skmia import Outputs, Records, leakage

from .budget import calls
from .oracle import finite, knock, no_nan
from .strategies import odd_settings, parameters, tables, vectors

MEAN = {"n_samples": (None, 24), "noise_scale": (0.0, 0.5), "sampling_ratio": (1.0, 0.5)}
ESTIMATORS = {
    "MahalanobisLeakage": {**MEAN, "covariance": ("auto", "diagonal", "full")},
    "MeanLikelihoodRatioAttack": {**MEAN, "target_fpr": (None, 0.1)},
    "MeanGLiRAttack": {**MEAN, "factor": ("n-1",), "target_fpr": (None, 0.1)},
    "MeanScalarProductAttack": {**MEAN, "reference": ("row",), "random_state": (0,)},
}


def fit_and_score(name, X, other, settings):
    target = {} if name == "MahalanobisLeakage" else {"target": np.zeros(3)}
    estimator = getattr(leakage, name)(**target, **settings).fit(X)
    rows = X if other is None or name != "MahalanobisLeakage" else other
    if name != "MahalanobisLeakage":
        # These score released means.
        rows = np.zeros((2, 3)) if other is None else other
    return estimator.score_samples(rows), estimator.predict(rows)


@pytest.mark.parametrize("name", ESTIMATORS)
@calls(0.03)
@given(st.data())
def test_means(name, data):
    X, other = data.draw(tables()), data.draw(st.one_of(st.none(), st.none(), tables()))
    settings = data.draw(odd_settings(ESTIMATORS[name], most=1))
    # A row that gives itself away has an infinite score.
    check = no_nan if name == "MahalanobisLeakage" else finite
    knock(name, fit_and_score, name, X, other, settings, check=lambda got: check(got[0]))


@calls(0.02)
@given(
    tables(),
    odd_settings({"fpr": (0.1,), "epsilon": (1.0,), "delta": (1e-5,), "k": (2,)}),
    st.sampled_from(
        ("power", "threshold", "privacy_profile", "privacy_budget", "top_k", "misspecified")
    ),
)
def test_questions_to_mahalanobis_leakage(X, settings, method):
    fitted = leakage.MahalanobisLeakage().fit(np.random.default_rng(0).normal(size=(24, 3)))
    second = {"privacy_profile": "epsilon", "privacy_budget": "delta", "top_k": "k"}.get(
        method, "fpr"
    )
    last = np.ones((24, 3)) if method == "misspecified" else settings[second]
    knock(f"MahalanobisLeakage.{method}", getattr(fitted, method), X, last)


WORST = {
    "method": ("auto", "plugin", "kde", "neighbors"),
    "n_neighbors": (None, 3),
    "cv": (2,),
    "group_column": (None, 0),
    "confidence_level": (0.95,),
    "n_permutations": (0, 3),
    "n_jobs": (None,),
    "random_state": (0,),
}


@calls(0.04)
@given(st.one_of(tables(), tables(d=1)), vectors("bits"), odd_settings(WORST, most=1))
def test_worst_case(X, y, settings):
    def fit(X, y, **settings):
        fitted = leakage.WorstCaseVulnerability(**settings).fit(X, y)
        return fitted.vulnerability_, fitted.lower_bound_, fitted.predict_proba(X)

    knock("WorstCaseVulnerability", fit, X, y, **settings, check=finite)


GAP = {
    "assumption": ("bounded", "subgaussian", "subexponential"),
    "value_range": (None, (0.0, 5.0)),
    "proxy_variance": (None, 1.0),
    "baseline": (0.5,),
    "interval": ("welch", "hoeffding"),
    "confidence_level": (0.95,),
}


@calls(0.03)
@given(st.one_of(vectors("floats"), tables(d=1)), vectors("bits"), odd_settings(GAP, most=1))
def test_generalization_gap(X, y, settings):
    def fit(X, y, **settings):
        return leakage.GeneralizationGapBound(**settings).fit(X, y).success_bound_

    knock("GeneralizationGapBound", fit, X, y, **settings, check=finite)


GAUSSIAN = {
    "coef": (np.ones(3), None),
    "noise_std": (1.0,),
    "knows_index": (True, False),
    "proxy": ("valid",),
    "n_simulations": (50,),
    "random_state": (0,),
}


@calls(0.02)
@given(tables(), vectors("floats"), odd_settings(GAUSSIAN, most=1))
def test_gaussian_regression(X, y, settings):
    def fit(X, y, **settings):
        rows = Records(X, y, outputs=Outputs(np.zeros(24), kind="value"))
        attacker = leakage.GaussianRegressionAttacker(**settings)
        return attacker.fit(rows, np.arange(24) % 2).score_samples(rows)

    knock("GaussianRegressionAttacker", fit, X, y, **settings, check=no_nan)


@calls(0.02)
@given(tables(), odd_settings({"noise_scale": (0.5,), "sampling_ratio": (0.5,), "n_samples": (2,)}))
def test_mechanisms(X, given):
    for make in (
        leakage.EmpiricalMean,
        lambda: leakage.NoisyMean(given["noise_scale"]),
        lambda: leakage.SubsampledMean(given["sampling_ratio"]),
    ):

        def draw(X, make=make):
            return make().fit(X).sample(given["n_samples"], random_state=0)

        knock("mean mechanisms", draw, X, check=finite)


@calls(0.02)
@given(tables(d=1), tables(d=1), parameters("random_state", 0))
def test_total_variation(members, others, seed):
    knock("total variation", leakage.total_variation, members, others)
    settings = {"n_draws": 50, "random_state": seed}
    knock("total variation", leakage.total_variation, members, others, method="kde", **settings)


BOUNDS = {
    "bounded_loss_success_bound": {"gap": (0.1,), "max_loss": (1.0,), "baseline": (0.5,)},
    "dp_advantage_bound": {"epsilon": (1.0,), "delta": (0.0,), "form": ("tight",)},
    "generalization_gap_probability_bound": {
        "gap": (0.1,),
        "mutual_information": (1.0,),
        "n_samples": (10,),
        "proxy_variance": (1.0,),
    },
    "mutual_information_success_bound": {"mutual_information": (1.0,), "baseline": (0.5,)},
    "required_mutual_information": {"success": (0.6,), "baseline": (0.5,)},
    "subexponential_loss_success_bound": {"gap": (0.1,), "proxy_variance": (1.0,)},
    "subgaussian_loss_success_bound": {"gap": (0.1,), "cutoff": (None, 1.0)},
}


@pytest.mark.parametrize("name", BOUNDS)
@calls(0.008)
@given(st.data())
def test_bounds(name, data):
    given = data.draw(odd_settings(BOUNDS[name]))
    knock("leakage bounds", find(name), **given, check=finite)
