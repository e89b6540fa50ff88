"""Odd values at the doors of services, of what is inside of models, and of nets."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from small_net import make_small_net

from skmia import Outputs, Records, ShadowPool, victims
from skmia.attacks import ThresholdAttack

from .budget import calls
from .oracle import knock, no_nan
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
CLASSES = parameters("classes", *[[0, 1]] * 20)


def attack(victim, rows):
    return ThresholdAttack(victim).fit(rows).score_samples(rows)


@calls(0.02)
@given(tables(d=2).map(lambda rows: fractions(rows) if is_floats(rows) else rows), CLASSES)
def test_what_a_service_answers(answers, classes):
    def ask(answers, classes):
        return attack(victims.CallableVictim(lambda rows: answers, classes), KNOWN)

    knock("CallableVictim", ask, answers, classes, check=no_nan)


@calls(0.02)
@given(vectors(), CLASSES)
def test_what_a_service_of_labels_answers(answers, classes):
    def ask(answers, classes):
        service = victims.CallableVictim(lambda rows: answers, classes, kind="label")
        return service.fit().predict(KNOWN.X)

    knock("CallableVictim", ask, answers, classes)


@calls(0.02)
@given(tables(), tables(d=2), parameters("output", 0, 1))
def test_one_of_several_outputs(X, y, output):
    def ask(X, y, output):
        tree = DecisionTreeClassifier(random_state=0)
        return victims.OneOutput(tree, output).fit(X, y).predict(X)

    knock("OneOutput", ask, X, y, output)


MANY = {
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbors": KNeighborsClassifier(3),
    "one for each": MultiOutputClassifier(GaussianNB()),
}


@calls(0.02)
@given(
    tables(),
    st.one_of(tables(d=2), vectors("text"), vectors("classes")),
    st.sampled_from(sorted(MANY)),
    st.one_of(st.none(), tables(n=4, d=2)),
)
def test_several_outputs_at_once(X, y, name, labels):
    def ask(X, y, name, labels):
        joint = victims.JointOutputs(MANY[name], labels).fit(X, y)
        return joint.predict(X), joint.predict_proba(X)

    knock("JointOutputs", ask, X, y, name, labels)


def fractions(rows):
    with np.errstate(all="ignore"):
        return abs(rows) % 1


def is_floats(rows):
    return isinstance(rows, np.ndarray) and rows.dtype.kind == "f"


@calls(0.01)
@given(tables(), CLASSES, parameters("batch_size", 10, 100))
def test_what_a_service_is_asked(X, classes, batch_size):
    def ask(X, classes, batch_size):
        made = victims.CallableVictim(answer, classes, batch_size=batch_size)
        return made.fit().predict(X)

    def answer(rows):
        return np.full((rows.shape[0], 2), 0.5)

    knock("CallableVictim.predict", ask, X, classes, batch_size)


@functools.cache
def white_box():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    opened = victims.open_white_box(model.fit(KNOWN.X, KNOWN.y))
    return opened, opened.encode(KNOWN.X)


def as_singles(rows):
    """Records as nets take them, where they are an array."""
    if isinstance(rows.X, np.ndarray) and rows.X.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return Records(rows.X.astype(np.float32), rows.y, **rows.fields)
    return rows


METHODS = ("loss", "gradient_norms", "gradient_statistics", "input_gradient")
WRT = parameters("wrt", *["inputs", "parameters"] * 10)


@calls(0.02)
@given(tables(), tables(), tables(d=2), vectors("classes"), WRT)
def test_white_boxes(X, inputs, weights, y, wrt):
    opened, known = white_box()
    knock("WhiteBox.encode", opened.encode, X)
    for name in METHODS:
        knock(f"WhiteBox.{name}", getattr(opened, name), inputs, KNOWN.y)
        knock(f"WhiteBox.{name}", getattr(opened, name), known, y)
    knock("WhiteBox.gradient_norms", opened.gradient_norms, known, KNOWN.y, wrt)
    knock("WhiteBox.logit_gradient", opened.logit_gradient, known, weights)


@calls(0.01)
@given(parameters("layers", None, ["output"]), parameters("names", None, ["coef_"]), records())
def test_parts_of_white_boxes(layers, names, rows):
    opened, known = white_box()

    def gradients(names):
        return list(opened.layer_gradients(known, KNOWN.y, names))

    knock("WhiteBox.layer_outputs", opened.layer_outputs, known, layers)
    knock("WhiteBox.layer_gradients", gradients, names)
    knock("open_white_box", victims.open_white_box, rows)


SETTINGS = {"max_epochs": (1,), "batch_size": (8, 100)}


@functools.cache
def net():
    pytest.importorskip("skorch")
    made = make_small_net(3, max_epochs=1, batch_size=8)
    return made.fit(as_singles(KNOWN).X.copy(), KNOWN.y)


@calls(0.02)
@given(records().map(as_singles))
def test_nets_as_victims(rows):
    knock("nets", attack, net(), rows, check=no_nan)
    answered = knock("Records.with_outputs", rows.with_outputs, net())
    if answered is not None:
        assert isinstance(answered["outputs"], Outputs)


@calls(0.02)
@given(mostly(st.just(KNOWN), records()).map(as_singles), odd_settings(SETTINGS, most=1))
def test_pools_of_nets(rows, settings):
    net()

    def fit(rows, **settings):
        pool = ShadowPool(make_small_net(3, **settings), 4, random_state=0)
        return pool.fit(rows).transform(rows)

    # What a shadow model says when it is trained is passed on with its circumstances.
    knock("pools of nets", fit, rows, **settings, check=no_nan, allowed=(RuntimeError,))


@calls(0.005)
@given(parameters("victim", LogisticRegression(), len), tables())
def test_what_is_no_victim(victim, table):
    knock("Records.with_outputs", KNOWN.with_outputs, victim)
    knock("Records.with_outputs", KNOWN.with_outputs, table)
