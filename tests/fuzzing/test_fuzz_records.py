"""Odd values at the door of Records and Outputs."""

import pickle

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from skmia import Outputs, Records

from .budget import calls
from .oracle import finite, knock
from .strategies import (
    ODD_PARAMETERS,
    N,
    odd_records,
    odd_settings,
    ordinary_records,
    parameters,
    records,
    tables,
    vectors,
)

KEYS = st.one_of(
    st.sampled_from(ODD_PARAMETERS),
    vectors("bits").map(lambda bits: bits),
    st.lists(st.integers(-N - 1, N), max_size=4).map(np.array),
    st.slices(N),
    st.lists(st.booleans(), min_size=N, max_size=N).map(np.array),
)


def as_hashes(hashes):
    assert hashes.dtype == np.uint64
    assert hashes.ndim == 1


@calls(0.1)
@given(odd_records())
def test_construction_and_fingerprint(parts):
    made = knock("Records", Records, **parts)
    if made is not None:
        knock("Records.fingerprint", lambda: made.fingerprint, check=as_hashes)
        knock("Records, repr", lambda: repr(made))


@calls(0.04)
@given(records(), KEYS)
def test_indexing(made, key):
    # A position that does not exist is an IndexError everywhere in Python, and a field a KeyError.
    allowed = (IndexError, KeyError)
    for one in (key, (key, Ellipsis)):
        knock("Records, indexing", made.__getitem__, one, allowed=allowed)


@calls(0.04)
@given(records(), records())
def test_joining_and_pickling(one, other):
    joined = knock("Records.concat", Records.concat, [one, other])
    if joined is not None:
        assert len(joined) == len(one) + len(other)
        again = knock("Records, pickle", lambda: pickle.loads(pickle.dumps(joined)))
        np.testing.assert_array_equal(again.fingerprint, joined.fingerprint)


@calls(0.04)
@given(tables(), odd_settings({"target": ("a", 0, None), "drop": ((), "a", (0,)), "group": (0,)}))
def test_from_frame(X, names):
    if not isinstance(X, pd.DataFrame) and isinstance(X, np.ndarray) and X.ndim == 2:
        X = pd.DataFrame(X)
    knock("Records.from_frame", Records.from_frame, X, **names)


@calls(0.03)
@given(records(), vectors("floats"))
def test_further_fields(made, values):
    knock("Records.with_fields", made.with_fields, group=values)


@st.composite
def odd_outputs(draw):
    values = draw(tables(d=draw(st.sampled_from((2, 2, 1)))))
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and draw(st.booleans()):
        with np.errstate(all="ignore"):
            values = abs(values) % 1
    kinds = ("proba", "logits", "decision", "label", "value")
    given = {"classes": ((0, 1), ("a", "b"), None), "kind": kinds}
    return {"values": values, **draw(odd_settings(given))}


def outputs_work(outputs):
    finite(np.asarray(outputs.values))


@calls(0.04)
@given(odd_outputs())
def test_stored_answers(parts):
    made = knock("Outputs", Outputs, **parts)
    if made is not None:
        rows = ordinary_records(np.random.default_rng(0))
        knock("Records.with_fields", rows.with_fields, outputs=made)


ANSWERS = Outputs(np.full((N, 2), 0.5), [0, 1])


@calls(0.02)
@given(
    vectors("classes"),
    parameters("temperature", 1.0, 2.0),
    parameters("resolution", 0.0, 0.1),
    KEYS,
)
def test_questions_to_answers(y, temperature, resolution, key):
    knock("Outputs.margin", ANSWERS.margin, y, check=finite)
    knock("Outputs.is_correct", ANSWERS.is_correct, y)
    knock("Outputs.log_proba", ANSWERS.log_proba, temperature, check=finite)
    settings = {"temperature": temperature, "resolution": resolution}
    knock("Outputs.scaled_logit", ANSWERS.scaled_logit, np.arange(N) % 2, **settings, check=finite)
    knock("Outputs, indexing", ANSWERS.__getitem__, key, allowed=(IndexError,))
    knock("Outputs.concat", Outputs.concat, key)
