"""Odd values at the doors of signals and models of sequences of tokens."""

import functools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from public import find

from skmia import Outputs, Records, memorization
from skmia.memorization import TokenOutputs

from .budget import calls
from .oracle import knock, no_nan
from .strategies import generators, mostly, odd_settings, parameters, records, tables, vectors


def logs(rng):
    return np.log(rng.random((24, 3)))


LOGS = mostly(generators().map(logs), tables())
SPREAD = mostly(generators().map(lambda rng: rng.random((24, 3))), tables())
SIGNALS = {
    "MinK": {"share": (0.2, 1.0)},
    "MinKPlusPlus": {"share": (0.2, 1.0)},
    "SurprisingTokens": {"share": (0.4,), "entropy": (2.0,)},
}


@calls(0.03)
@given(LOGS, st.one_of(st.none(), LOGS), st.one_of(st.none(), SPREAD), st.sampled_from([*SIGNALS]))
def test_answers_for_tokens(log_proba, mean, std, name):
    def compute(log_proba, mean, std, name):
        outputs = TokenOutputs(log_proba, mean, std)
        return find(name)()(outputs, np.zeros(len(outputs)))

    knock("TokenOutputs", compute, log_proba, mean, std, name, check=no_nan)


@calls(0.02)
@given(st.data())
def test_settings_of_signals(data):
    name = data.draw(st.sampled_from(sorted(SIGNALS)))
    settings = data.draw(odd_settings(SIGNALS[name]))

    def compute(name, settings):
        given = logs(np.random.default_rng(0))
        outputs = TokenOutputs(given, given - 1, np.ones((24, 3)))
        return find(name)(**settings)(outputs, np.zeros(24))

    knock(f"signals.{name}", compute, name, settings, check=no_nan)


@functools.cache
def sequences():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, (24, 6))
    model = memorization.NGramModel(2).fit(rows)
    known = memorization.token_records(rows, text=["a text of this length"] * 24)
    return memorization.SequenceVictim(model), known


READERS = {
    "Neighborhood": {"n_tokens": (5,), "n_neighbors": (2,), "share": (0.2,), "random_state": (0,)},
    "ReCaLL": {"prefix": ((1, 2), [3])},
    "ReferenceRatio": {"reference": ("victim",)},
    "WindowVotes": {"reference": ("victim",), "widths": ((2, 4),)},
    "ZlibRatio": {"field": ("text",)},
}


@calls(0.05)
@given(st.data())
def test_signals_that_ask(data):
    name = data.draw(st.sampled_from(sorted(READERS)))
    settings = data.draw(odd_settings(READERS[name], most=1))
    rows = data.draw(mostly(st.none(), records()))

    def compute(name, settings, rows):
        victim, known = sequences()
        if isinstance(settings.get("reference"), str) and settings["reference"] == "victim":
            settings = {**settings, "reference": victim}
        return find(name)(**settings).of(victim, known if rows is None else rows)

    knock(f"signals.{name}", compute, name, settings, rows, check=no_nan)


@calls(0.02)
@given(
    mostly(st.just(np.arange(48).reshape(8, 6) % 5), tables()),
    parameters("n_given", 1, 2),
    parameters("batch_size", 256, 3),
)
def test_sequences_as_victims(X, n_given, batch_size):
    def ask(X, n_given, batch_size):
        model = sequences()[0].model
        victim = memorization.SequenceVictim(model, n_given=n_given, batch_size=batch_size)
        return victim.fit().predict(X)

    knock("SequenceVictim", ask, X, n_given, batch_size, check=no_nan)


@calls(0.02)
@given(tables(), vectors("classes"), st.sampled_from(("proba", "logits", "decision", "value")))
def test_answers_of_other_kinds(values, y, kind):
    def compute(values, y, kind):
        outputs = Outputs(values, None if kind == "value" else [0, 1, 2], kind)
        return Records(np.zeros((24, 1)), y, outputs=outputs)

    knock("Outputs", compute, values, y, kind)
