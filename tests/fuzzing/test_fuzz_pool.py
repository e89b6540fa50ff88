"""Odd values at the doors of ShadowPool."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA

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
    "output_kind": ("auto", "label"),
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


ELSEWHERE = {
    "kind": ("logits", "proba", "log_odds", "value", "label"),
    "classes": (None, [0, 1]),
    "temperatures": (None, (1.0,)),
    "store": ("signals", "outputs"),
    "resolution": ("auto", 0.1),
}


@st.composite
def outputs(draw):
    rng = draw(generators())
    shape = draw(st.sampled_from([(4, 24), (4, 24, 2), (4, 3, 24, 2), (4, 1, 24)]))
    given = {"outputs": rng.random(shape), "membership": np.tile([[1, 0], [0, 1]], (2, 12))}
    if draw(st.booleans()):
        given[draw(st.sampled_from(("outputs", "membership")))] = draw(tables(n=4, d=24))
    return given


@calls(0.04)
@given(outputs(), odd_settings(ELSEWHERE, most=1), records())
def test_outputs_from_elsewhere(given, settings, rows):
    def load(outputs, membership, rows, **settings):
        return ShadowPool.from_outputs(outputs, membership, rows, **settings).transform(rows)

    knock("ShadowPool.from_outputs", load, *given.values(), rows, **settings, check=no_nan)


@calls(0.04)
@given(st.one_of(vectors("bits"), tables(), st.lists(st.text(max_size=3), min_size=24)))
def test_identifiers(ids):
    knock("Records.from_ids", lambda ids: Records.from_ids(ids).fingerprint, ids)


@calls(0.02)
@given(st.sampled_from(("outputs", "outputs_1")), vectors("bits"))
def test_log_odds_of_a_victim(name, values):
    def ask(values):
        answers = Outputs(values, kind="log_odds")
        rows = Records.from_ids(np.arange(24), **{"outputs": answers, name: answers})
        pool = ShadowPool.from_scores(np.zeros((4, 24)), np.tile([[1, 0], [0, 1]], (2, 12)), rows)
        return RMIA(None, pool, temperature=1.0).fit(rows).score_samples(rows)

    knock("Outputs of log odds", ask, values, check=no_nan)
