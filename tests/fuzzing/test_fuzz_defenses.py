"""Odd values at the doors of defenses and mechanisms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from public import find
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity

from skmia import defenses
from skmia.epsilon import canaries

from .budget import calls
from .oracle import finite, knock
from .strategies import odd_settings, parameters, records, tables, vectors

MECHANISMS = {
    "LaplaceMechanism": {"epsilon": (1.0,), "sensitivity": (1.0,), "random_state": (0,)},
    "GaussianMechanism": {
        "epsilon": (1.0,),
        "delta": (1e-5,),
        "sensitivity": (1.0,),
        "calibration": ("exact", "classic"),
        "random_state": (0,),
    },
    "NonSphericalGaussianMechanism": {
        "epsilon": (1.0,),
        "delta": (1e-5,),
        "lower": (0.0, np.zeros(3)),
        "upper": (1.0, np.ones(3)),
        "allocation": ("proportional",),
        "calibration": ("exact",),
        "random_state": (0,),
    },
}


@pytest.mark.parametrize("name", MECHANISMS)
@calls(0.03)
@given(st.data())
def test_mechanisms(name, data):
    def release(X, **settings):
        return find(name)(**settings).fit(X).transform(X)

    settings = data.draw(odd_settings(MECHANISMS[name], most=1))
    knock(name, release, data.draw(tables()), **settings, check=finite)


@calls(0.02)
@given(odd_settings({"epsilon": (1.0,), "delta": (1e-5,), "sensitivity": (1.0,)}))
def test_gaussian_sigma(settings):
    knock("gaussian_sigma", defenses.mechanisms.gaussian_sigma, **settings, check=finite)


FOLDS = {"n_estimators": (4,), "n_left_out": (2,), "n_jobs": (None,), "random_state": (0,)}
DEFENSES = {
    "TopKDefense": {"k": (1, 2), "renormalize": (True, False)},
    "RoundingDefense": {"decimals": (1, 3), "renormalize": (True, False)},
    "TemperatureDefense": {"temperature": (5.0,)},
    "LabelOnlyDefense": {},
    "LabelSmoothingDefense": {"smoothing": (0.1,)},
    "SoftLabelDefense": {"alpha": (0.0, 0.5), "spread": ("label",), **FOLDS},
    "SELENADefense": {**FOLDS, "store_targets": (False,)},
    "PATEDefense": {
        "public": (KernelDensity(),),
        "n_teachers": (3,),
        "noise_multiplier": (0.0, 0.5),
        "threshold": (None, 0.6),
        "random_state": (0,),
    },
    "StudentDefense": {"public": (KernelDensity(),), "random_state": (0,)},
}


@pytest.mark.parametrize("name", DEFENSES)
@calls(0.02)
@given(st.data())
def test_defenses(name, data):
    def defend(estimator, X, y, **settings):
        fitted = getattr(defenses, name)(estimator, **settings).fit(X, y)
        return fitted.predict(X) if name == "LabelOnlyDefense" else fitted.predict_proba(X)

    estimator = data.draw(parameters("estimator", *[LogisticRegression(), GaussianNB()] * 8))
    settings = data.draw(odd_settings(DEFENSES[name], most=1)) if DEFENSES[name] else {}
    X, y = data.draw(tables()), data.draw(vectors(data.draw(st.sampled_from(("bits", "text")))))
    knock(name, defend, estimator, X, y, **settings, check=finite)


@calls(0.02)
@given(st.data())
def test_soft_regression(data):
    def defend(estimator, X, y, **settings):
        fitted = defenses.SoftRegressionDefense(estimator, **settings).fit(X, y)
        return fitted.predict(X)

    estimator = data.draw(st.sampled_from((LinearRegression(), GaussianNB())))
    settings = {"alpha": (0.0, 0.5), "store_targets": (False,), **FOLDS}
    drawn = data.draw(odd_settings(settings, most=1))
    X, y = data.draw(tables()), data.draw(vectors("floats"))
    knock("SoftRegressionDefense", defend, estimator, X, y, **drawn, check=finite)


@calls(0.01)
@given(records(), odd_settings({"n_canaries": (2,), "random_state": (0,)}))
def test_mislabel(rows, settings):
    knock("mislabel", canaries.mislabel, rows, **settings)
