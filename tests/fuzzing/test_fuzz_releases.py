"""Odd values at the doors of what follows an audit, and of generators, files and people."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import audit, leakage, report, synthetic, victims
from skmia.attacks import LiRA

from .budget import calls
from .oracle import finite, knock, no_nan
from .strategies import odd_settings, ordinary_records, parameters, records, tables, vectors

KNOWN = ordinary_records(np.random.default_rng(0), 48)
MEMBERS = np.arange(48) % 2 == 0


@functools.cache
def audited():
    model = DecisionTreeClassifier(random_state=0).fit(KNOWN.X[MEMBERS], KNOWN.y[MEMBERS])
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": (0.5,), "random_state": 0}
    return audit(model, KNOWN, MEMBERS, **settings), model


ASKED = {
    "policy": ("cautious", "research", "anonymity"),
    "release": ("service", "file"),
    "decimals": (None, 2),
}
CONDITIONS = {
    **ASKED,
    "estimator": (None,),
    "batched": ("auto", False),
    "n_jobs": (None,),
    "verbose": (0,),
}
PLACES = st.sampled_from((None, None, None, "report", "model", "records"))
ODD = parameters("odd", *[None] * 3)


def ask(door, place, odd, settings):
    found, model = audited()
    given = {"report": found, "model": model, "records": KNOWN, **settings}
    if place is not None:
        given[place] = odd
    return getattr(report, door)(**given)


@calls(0.02)
@given(PLACES, st.one_of(ODD, records(48)), odd_settings({**ASKED, "conditions": ((),)}, most=1))
def test_recommendations(place, odd, settings):
    allowed = (FileNotFoundError,)
    knock("recommend_release", ask, "recommend_release", place, odd, settings, allowed=allowed)


@calls(0.01)
@given(PLACES, st.one_of(ODD, records(48)), odd_settings(CONDITIONS, most=1))
def test_conditions(place, odd, settings):
    allowed = (FileNotFoundError, RuntimeError)  # of labels that the model cannot be trained on
    knock("measure_conditions", ask, "measure_conditions", place, odd, settings, allowed=allowed)


@calls(0.005)
@given(parameters("report", None), parameters("release", "service", "file"))
def test_numbers_of_an_audit(given, release):
    found = audited()[0] if given is None else given
    knock("list_measurements", report.list_measurements, found, release)


GENERATORS = {
    "SmoteGenerator": {"n_neighbors": (2, 5)},
    "BootstrapGenerator": {},
}


@calls(0.02)
@given(tables(), st.sampled_from(sorted(GENERATORS)), st.data(), parameters("n_samples", 1, 5))
def test_generators(X, name, data, n_samples):
    pytest.importorskip("imblearn")
    own = GENERATORS[name]
    settings = data.draw(odd_settings(own, most=1)) if own else {}

    def generate(X, n_samples, settings):
        made = getattr(synthetic, name)(**settings).fit(X)
        return made.sample(n_samples, random_state=0)

    knock(name, generate, X, n_samples, settings)


@functools.cache
def fitted(name):
    kinds = {
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "line": LogisticRegression(),
    }
    return kinds[name].fit(KNOWN.X, KNOWN.y)


BISECTION = {"max_queries": (500,), "columns": (None, [0, 1]), "random_state": (0,)}


@calls(0.02)
@given(st.sampled_from(("forest", "tree", "line")), tables(), odd_settings(BISECTION, most=1))
def test_queried_thresholds(name, X, settings):
    def bisect(name, X, settings):
        return victims.bisect_thresholds(fitted(name), X, **settings)

    knock("bisect_thresholds", bisect, name, X, settings)


@calls(0.005)
@given(st.one_of(parameters("model", None), tables()))
def test_state_of_models(model):
    knock("read_state", victims.read_state, fitted("forest") if model is None else model)


@calls(0.02)
@given(tables(), st.one_of(vectors("classes"), vectors("floats")), parameters("scale", "phi", "p"))
def test_records_that_are_left_out(X, y, scale):
    def measure(X, y, scale):
        return leakage.LeaveOneOutLeakage(LogisticRegression(), scale=scale).fit(X, y).leakage_

    knock("LeaveOneOutLeakage", measure, X, y, scale, check=no_nan)


@calls(0.01)
@given(
    st.one_of(vectors("classes"), vectors("text"), tables(d=2)),
    st.one_of(vectors("classes"), vectors("text")),
    parameters("label", None, 1, "a"),
)
def test_rare_classes(y, y_synthetic, label):
    def measure(y, y_synthetic, label):
        return synthetic.rare_class_rate(y, y_synthetic, label=label)[1:]

    knock("rare_class_rate", measure, y, y_synthetic, label, check=finite)
