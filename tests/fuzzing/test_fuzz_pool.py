"""Odd values at the doors of ShadowPool."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import ShadowPool

from .budget import calls
from .oracle import knock, no_nan
from .strategies import PLAIN, generators, odd_settings, ordinary_records, records, tables, vectors

ESTIMATORS = (
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=2, random_state=0),
    DecisionTreeRegressor(max_depth=2, random_state=0),
    LinearRegression(),
)
ORDINARY = {
    "estimator": ESTIMATORS,
    "n_estimators": (2, 4),
    "max_samples": (0.5, 8),
    "design": ("paired", "independent", "balanced"),
    "temperatures": ((1.0,), (1.0, 2.0)),
    "store": ("signals", "outputs", "models"),
    "resolution": ("auto", 0.0),
    "batched": ("auto", False),
    "n_jobs": (None, 1),
    "random_state": (0,),
    "verbose": (0,),
}


def fit_pool(rows, **settings):
    pool = ShadowPool(**settings).fit(rows)
    return pool, pool.transform(rows), pool.membership(rows)


def signals_have_numbers(answer):
    _, signals, membership = answer
    no_nan(signals)
    assert np.isfinite(signals).all(), "signals that are not finite"
    assert signals.shape == membership.shape


@calls(0.08)
@given(records(), odd_settings(ORDINARY, most=1))
def test_fit(rows, settings):
    # What a shadow model says when it is trained is passed on with its circumstances.
    allowed = (RuntimeError,)
    knock("ShadowPool.fit", fit_pool, rows, **settings, check=signals_have_numbers, allowed=allowed)


@calls(0.02)
@given(st.one_of(tables(), vectors("bits"), st.just(PLAIN), st.none()))
def test_what_is_no_records(rows):
    pool = ShadowPool(ESTIMATORS[0], 2, random_state=0)
    knock("ShadowPool.fit, no records", pool.fit, rows)


POOLS = {}


def fitted_pool():
    if not POOLS:
        rows = ordinary_records(np.random.default_rng(0))
        POOLS["rows"], POOLS["pool"] = rows, ShadowPool(ESTIMATORS[0], 2, random_state=0).fit(rows)
    return POOLS["pool"]


@calls(0.04)
@given(records(), st.sampled_from(("transform", "membership")))
def test_other_records(rows, method):
    knock(f"ShadowPool.{method}", getattr(fitted_pool(), method), rows, check=no_nan)


@st.composite
def scores(draw):
    rng = draw(generators())
    membership = np.tile([[1, 0], [0, 1]], (2, 12))[:, :24]
    given = {"scores": rng.normal(size=(4, 24)), "membership": membership}
    name = draw(st.sampled_from(("scores", "membership", "neither")))
    if name != "neither":
        given[name] = draw(tables(n=4, d=24))
    return given


@calls(0.04)
@given(scores(), odd_settings({"resolution": ("auto", 0.1)}), records())
def test_scores_from_elsewhere(given, settings, rows):
    def load(scores, membership, rows, **settings):
        return ShadowPool.from_scores(scores, membership, rows, **settings).transform(rows)

    knock("ShadowPool.from_scores", load, *given.values(), rows, **settings, check=no_nan)
