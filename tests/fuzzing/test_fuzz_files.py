"""Odd values at the doors of attacks on files, inspections and what strips a file."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from public import find
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skmia.inspection import inspect_model

from .budget import calls
from .oracle import knock, no_nan
from .strategies import odd_settings, ordinary_records, records

KNOWN = ordinary_records(np.random.default_rng(0), kind="classes")

VICTIMS = {
    "forest": RandomForestClassifier(3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2, random_state=0),
    "linear": LogisticRegression(),
    "neighbors": KNeighborsClassifier(3),
    "naive": GaussianNB(),
}
SHARES = {"outsiders": (0.5,), "prior": (0.4,)}
SOLVED = {**SHARES, "solver": ("auto", "ridge", "propagation"), "random_state": (0,)}
ATTACKS = {
    "NodeEquationsAttack": ("forest", SOLVED),
    "SplitThresholdAttack": ("boosting", SHARES),
    "QueriedThresholdAttack": (
        "forest",
        {"max_queries": (100,), "prior": (0.4,), "random_state": (0,)},
    ),
    "StationarityAttack": ("linear", SOLVED),
    "MomentsAttack": ("naive", {**SHARES, "random_state": (0,)}),
    "StoredValuesAttack": ("neighbors", {}),
    "ReleasedModelAttack": ("forest", {**SHARES, "random_state": (0,)}),
}


@cache
def train(name):
    return FrozenEstimator(VICTIMS[name].fit(KNOWN.X[::2], KNOWN.y[::2]))


def run_attack(name, victim, candidates, rows, settings):
    attack = find(name)(train(victim), **settings).fit(candidates)
    return attack.score_samples(rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ATTACKS)
@calls(0.018)
@given(st.data())
def test_attacks_on_files(name, data):
    usual, allowed = ATTACKS[name]
    kinds = (
        ("setting", "victim", "candidates", "rows") if allowed else ("victim", "candidates", "rows")
    )
    odd = data.draw(st.sampled_from(kinds))
    victim = data.draw(st.sampled_from(sorted(VICTIMS))) if odd == "victim" else usual
    settings = data.draw(odd_settings(allowed, most=odd == "setting")) if allowed else {}
    candidates = data.draw(records()) if odd == "candidates" else KNOWN
    rows = data.draw(records()) if odd == "rows" else candidates
    knock(name, run_attack, name, victim, candidates, rows, settings, check=no_nan)


@pytest.mark.filterwarnings("ignore")
@calls(0.018)
@given(st.sampled_from(sorted(VICTIMS)), records())
def test_inspections(name, candidates):
    knock("inspect_model", lambda rows: inspect_model(train(name), rows).summary(), candidates)
