"""Odd values at the doors of the attacks."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from public import find
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skmia.attacks
import skmia.signals
from skmia import ShadowPool
from skmia.signals import Merlin, Signals

from .budget import calls
from .oracle import knock, no_nan
from .strategies import mostly, odd_settings, ordinary_records, records, vectors


@functools.cache
def case(kind):
    """A victim, its pool and its records."""
    rows = ordinary_records(np.random.default_rng(0), kind=kind)
    if kind == "floats":
        model = DecisionTreeRegressor(max_depth=2, random_state=0)
    else:
        model = LogisticRegression()
    victim = model.fit(rows.X[::2], rows.y[::2])
    pool = ShadowPool(model, 4, store="models", random_state=0).fit(rows)
    return FrozenEstimator(victim), FrozenEstimator(pool), rows


KINDS = ("classes", "classes", "floats")
LEARNED = {"cross_fit": (True, False), "cv": (3, 5), "random_state": (0,)}
ATTACKS = {
    "ThresholdAttack": {
        "signal": ("loss", "entropy", "scaled_logit", "squared_error"),
        "mean_train_loss": (None, 0.3),
    },
    "LiRA": {
        "online": (True, False),
        "variance": ("shrunk", "trend", "conjugate", "example", "pooled", "joint"),
        "likelihood": ("auto", "normal"),
        "prior": (0.5,),
        "target_fpr": (None, 0.1),
    },
    "RMIA": {
        "online": (True, False),
        "temperature": (2.0, 1.0),
        "a": (0.3,),
        "gamma": (1.0,),
        "population": (None,),
        "target_fpr": (None, 0.1),
    },
    "CalibratedAttack": {
        "reference": ("out", "midpoint", "rank"),
        "signal": ("auto", "loss"),
        "population": (None,),
        "target_fpr": (None, 0.1),
    },
    "StackedAttack": {
        "boosted": (False,),
        "prior": (0.5,),
        "target_fpr": (None,),
        "random_state": (0,),
    },
    "OneQueryAttack": {
        "penalty": ("auto", 1.0, 0.0),
        "n_steps": (2,),
        "step_size": (0.1,),
        "scale": (1.0,),
        "bounds": (None, (-1, 1)),
    },
    "TransferredQueryAttack": {
        "search": ("auto", "gradient", "swap"),
        "confidence": ("auto", 0.5),
        "target_fpr": (None, 0.1),
        "n_steps": (2,),
        "n_partners": (1, 2),
        "step_size": (0.1,),
        "scale": (1.0,),
        "bounds": (None, (-1, 1)),
        "random_state": (0,),
    },
    "RangeAttack": {
        "attack": (None,),
        "sampler": (None,),
        "n_samples": (2,),
        "trim": ((0.4, 1.0), (0, 1)),
        "random_state": (0,),
    },
    "ShadowAttack": {
        "features": (("probabilities",), ["loss", "group"]),
        "per_class": (True, False),
        "max_rows": (100,),
        "random_state": (0,),
    },
    "VulnerableRecordsAttack": {
        "radius": ("auto", 0.5),
        "share": (0.1,),
        "max_neighbors": (0, 2),
        "n_references": (50,),
        "level": (0.05,),
        "target_fpr": (None, 0.1),
        "random_state": (0,),
    },
    "QuantileAttack": {
        "signal": ("auto", "loss"),
        "features": ("records",),
        "target_fpr": (0.2,),
        "cv": (3,),
        "random_state": (0,),
        "estimator": (DecisionTreeRegressor(max_depth=2),),
    },
    "MorganAttack": {"n_changes": (3,), "scale": (0.01,), "target_fpr": (None, 0.1), **LEARNED},
    "RenyiAttack": {"alpha": (5e-4,), **LEARNED},
    "GradientAttack": {"wrt": ("parameters", "inputs"), **LEARNED},
    "MahalanobisAttack": {"layers": (None,), **LEARNED},
    "FisherRaoAttack": {"layers": (None,), "temperature": (1.0,), "max_iter": (20,), **LEARNED},
    "DiversityAttack": {"method": ("closed_form",), **LEARNED},
    "EnsembleAttack": {"signals": (("loss", "max_softmax"),), "max_iter": (9,), **LEARNED},
    "LayerOutputsAttack": {
        "layers": ((-1,), ("output",)),
        "attack_estimator": (DecisionTreeClassifier(max_depth=2),),
        **LEARNED,
    },
    "AnalyticLiRA": {"prior": (0.5, 0.1)},
}
POOLED = {
    "LiRA",
    "RMIA",
    "CalibratedAttack",
    "OneQueryAttack",
    "RangeAttack",
    "ShadowAttack",
    "StackedAttack",
    "TransferredQueryAttack",
    "VulnerableRecordsAttack",
}


def run_attack(name, kind, rows, membership, settings):
    victim, pool, known = case(kind)
    shadows = {"shadows": pool} if name in POOLED else {}
    attack = find(name)(victim, **shadows, **settings)
    if name == "QuantileAttack":
        attack.set_params(population=known[1::2])
    rows = known if rows is None else rows
    attack.fit(known, membership)
    return attack.score_samples(rows), attack.predict(rows)


def scores_rank(answer):
    scores, guesses = answer
    no_nan(scores)
    assert np.isin(guesses, (0, 1)).all()


# One thing of each call is odd.
@pytest.mark.parametrize("name", ATTACKS)
@calls(0.018)
@given(st.data())
def test_attacks(name, data):
    kind = data.draw(st.sampled_from(KINDS))
    odd = data.draw(st.sampled_from(("setting", "setting", "rows", "membership")))
    settings = data.draw(odd_settings(ATTACKS[name], most=odd == "setting"))
    rows = data.draw(records()) if odd == "rows" else None
    membership = np.arange(24) % 2 == 0
    if odd == "membership":
        membership = data.draw(st.one_of(st.none(), vectors("bits")))
    knock(name, run_attack, name, kind, rows, membership, settings, check=scores_rank)


SIGNALS = {"signals": (("loss",), ("entropy", "correctness"), [Merlin(n_changes=2)])}
MADE = {
    "AdversarialDistance": {
        "norm": ("linf", "l1"),
        "mode": ("min",),
        "eps": (None, 1.0),
        "bounds": (None, (-9.0, 9.0)),
        "n_steps": (2,),
        "n_rounds": (1,),
    },
    "Doctor": {"temperature": (1.0,)},
    "GradientNorm": {"wrt": ("inputs", "parameters")},
    "LabelRobustness": {
        "change": ("noise",),
        "magnitudes": (None, (0.1,)),
        "n_changes": (2,),
        "scale": (1.0, (1.0, 2.0, 3.0)),
        "population": (None,),
        "random_state": (0,),
    },
    "Merlin": {"n_changes": (2,), "scale": (0.1,), "random_state": (0,)},
    "ODIN": {"temperature": (1.0,)},
}


@calls(0.02)
@given(records(), odd_settings(SIGNALS), st.sampled_from(KINDS))
def test_signals(rows, settings, kind):
    def measure(rows, **settings):
        return Signals(case(kind)[0], **settings).fit(rows).transform(rows)

    knock("Signals", measure, rows, **settings, check=no_nan)


@pytest.mark.parametrize("name", MADE)
@calls(0.008)
@given(st.data())
def test_made_signals(name, data):
    victim, _, known = case("classes")

    def measure(rows, **settings):
        return find(name)(**settings).of(victim, rows)

    settings = data.draw(odd_settings(MADE[name], most=1))
    rows = data.draw(mostly(st.just(known), records()))
    knock(f"signals.{name}", measure, rows, **settings, check=no_nan)


ATTRIBUTE = {
    "sensitive": (0, 2),
    "values": ((-1.0, 1.0),),
    "criterion": ("loss", "probability"),
    "random_state": (0,),
}


@calls(0.02)
@given(odd_settings(ATTRIBUTE, most=1), st.one_of(st.none(), records()))
def test_attribute_inference(settings, rows):
    def guess(rows, **settings):
        victim, _, known = case("classes")
        attack = skmia.attacks.AttributeInferenceAttack(victim, **settings).fit(known)
        return attack.predict(known if rows is None else rows)

    knock("AttributeInferenceAttack", guess, rows, **settings)


@calls(0.02)
@given(st.one_of(st.none(), records()), st.booleans())
def test_label_inference(rows, has_pool):
    def guess(rows):
        victim, pool, known = case("classes")
        attack = skmia.attacks.LabelInferenceAttack(victim, pool if has_pool else None).fit(known)
        return attack.predict(known if rows is None else rows)

    knock("LabelInferenceAttack", guess, rows)


PEOPLE = {"combine": ("sum", "standardized", "likelihood", "max")}


def people_rank(found):
    no_nan(found.scores)
    assert ((0 < found.pvalues) & (found.pvalues <= 1)).all()


@calls(0.02)
@given(
    st.one_of(st.none(), records()),
    st.one_of(st.just(np.arange(24)), vectors("classes"), vectors("floats")),
    odd_settings(PEOPLE, most=1),
    st.sampled_from(KINDS),
)
def test_attack_people(rows, groups, settings, kind):
    def attack_people(rows, groups, **settings):
        victim, pool, known = case(kind)
        attack = skmia.attacks.LiRA(victim, pool).fit(known)
        rows = known if rows is None else rows
        return skmia.attacks.attack_people(attack, rows, groups=groups, **settings)

    knock("attack_people", attack_people, rows, groups, **settings, check=people_rank)
