"""Odd values at the doors of structural checks and of rules."""

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia.disclosure import (
    Measurement,
    count_parameters,
    load_policy,
    load_rules,
    recommend,
    structural_checks,
)

from .budget import calls
from .oracle import knock
from .strategies import mostly, odd_settings, ordinary_records, records, tables, vectors

KNOWN = ordinary_records(np.random.default_rng(0), kind="classes")
SETTINGS = {
    "decimals": (None, 3),
    "thresholds": ({"k": 5}, {}),
    "rules": ("skmia", "sacro_ml"),
    "sample_weight": (None, np.ones(len(KNOWN))),
}


@cache
def train(kind):
    return kind.fit(KNOWN.X, KNOWN.y)


FOREST, LINE = RandomForestClassifier(3, random_state=0), LogisticRegression()


@calls(0.05)
@given(
    st.sampled_from([FOREST, LINE]),
    mostly(st.just(KNOWN), records()),
    st.none() | vectors("bits"),
    odd_settings(SETTINGS, most=1),
)
def test_structural_checks(kind, rows, membership, settings):
    def check(rows, membership, **settings):
        report = structural_checks(train(kind), rows, membership, **settings)
        return str(report), report.to_frame(), report.to_records(), report.to_dict()

    knock("structural_checks", check, rows, membership, allowed=(FileNotFoundError,), **settings)


@calls(0.01)
@given(st.sampled_from([FOREST, len]) | tables())
def test_what_is_no_model(model):
    knock("structural_checks", structural_checks, model, KNOWN)
    knock("count_parameters", count_parameters, model)


@calls(0.02)
@given(st.text() | st.none() | st.integers() | st.binary())
def test_rules(name):
    knock("load_rules", load_rules, name, allowed=(FileNotFoundError,))
    knock("load_policy", load_policy, name, allowed=(FileNotFoundError,))


NUMBERS = st.floats() | st.none() | st.text()


@calls(0.05)
@given(
    st.sampled_from(["file", "service", "table"]) | st.text(),
    st.lists(
        st.builds(
            Measurement,
            st.sampled_from(["auc", "gap"]),
            st.tuples(*[NUMBERS] * 3),
            n_records=st.integers(0),
        )
    ),
)
def test_recommendations(release, measurements):
    def ask(release, measurements):
        found = recommend(load_policy("research"), release, measurements)
        return str(found), found.to_dict()

    knock("recommend", ask, release, measurements)
