"""Odd values at the doors of audits, their checks and pages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import audit, report
from skmia.report.agreement import check_agreement

from .budget import calls
from .oracle import knock
from .strategies import (
    generators,
    mostly,
    odd_settings,
    ordinary_records,
    parameters,
    records,
    tables,
    vectors,
)

ORDINARY = {
    "attacks": ("default",),
    "shadows": (4, 8),
    "group": (None, "group"),
    "fprs": ((0.1,), (0.5, 0.1)),
    "confidence_level": (0.95, 0.5),
    "controls": (False,),
    "batched": ("auto", False),
    "n_jobs": (None,),
    "random_state": (0,),
    "verbose": (0,),
}
MODELS = (
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    DecisionTreeRegressor(max_depth=2, random_state=0),
)


def run_audit(model, rows, membership, settings, fitted):
    model = type(model)(**model.get_params())
    if fitted:
        ordinary = ordinary_records(np.random.default_rng(0))
        model.fit(ordinary.X[::2], ordinary.y[::2])
    done = audit(model, rows, membership, **settings)
    return done.summary(), done.to_html(), done.to_json()


def page_is_whole(answer):
    summary, page, document = answer
    assert page.rstrip().endswith("</html>")
    for text in (summary, page, document):
        text.encode()
    odd = [one for one in summary if ord(one) < 32 and one != "\n"]
    assert not odd, f"control characters in the summary: {odd}"


# In quick runs a classification and a regression.
@pytest.mark.parametrize(
    "model",
    [MODELS[0], pytest.param(MODELS[1], marks=pytest.mark.slow), MODELS[2]],
    ids=lambda model: type(model).__name__,
)
@calls(0.03)
@given(
    mostly(generators().map(lambda rng: ordinary_records(rng, 48)), records(48)),
    mostly(st.just(np.arange(48) % 2), vectors("bits", 48)),
    odd_settings(ORDINARY, most=1),
    st.booleans(),
)
def test_audit_and_its_page(model, rows, membership, settings, fitted):
    given = (model, rows, membership, settings, fitted)
    knock("audit", run_audit, *given, check=page_is_whole, allowed=(RuntimeError,))


LEVEL = parameters("confidence_level", 0.95)
SEED = parameters("random_state", 0)
BITS = mostly(st.just(np.arange(24) % 2), vectors("bits"))


@calls(0.02)
@given(records(), BITS, LEVEL, SEED)
def test_blind_baseline(rows, membership, level, seed):
    settings = {"confidence_level": level, "random_state": seed}
    knock("blind_baseline", report.blind_baseline, rows, membership, **settings)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@calls(0.01)
@given(
    mostly(generators().map(lambda rng: ordinary_records(rng, 100)), records(100)),
    mostly(st.just(np.arange(100) % 2), vectors("bits", 100)),
    odd_settings({"n_splits": ("auto", 1), "n_jobs": (None,), "random_state": (0,)}, most=1),
)
def test_drift_test(model, rows, membership, settings):
    knock("drift_test", report.drift_test, model, rows, membership, **settings)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@calls(0.01)
@given(
    mostly(generators().map(lambda rng: ordinary_records(rng, 48)), records(48)),
    mostly(st.just(np.arange(48) % 2), vectors("bits", 48)),
    odd_settings({"estimator": (None,), "fit_params": (None,), "random_state": (0,)}, most=1),
)
def test_check_agreement(model, rows, membership, settings):
    knock("check_agreement", check_agreement, model, rows, membership, **settings)


@calls(0.02)
@given(
    records(),
    BITS,
    odd_settings({"tolerance": (0.1,), "max_queries": (20,), "random_state": (0,)}),
)
def test_find_duplicates(rows, membership, settings):
    knock("find_duplicates", report.find_duplicates, rows, membership, **settings)


PERMUTED = {
    "max_fprs": ((), (0.1,)),
    "subsets": ((),),
    "judged": (None,),
    "n_permutations": (9,),
    "group_by": (None, np.arange(24) // 2),
    "random_state": (0,),
}


@calls(0.03)
@given(
    BITS,
    st.one_of(vectors("floats").map(lambda scores: {"attack": scores}), parameters("scores", {})),
    odd_settings(PERMUTED, most=1),
)
def test_permutation_test(membership, scores, settings):
    knock("permutation_test", report.permutation_test, membership, scores, **settings)


@calls(0.005)
@given(records(), BITS, st.sampled_from(MODELS), tables())
def test_controls(rows, membership, model, other):
    settings = {"shadows": 4, "random_state": 0}
    settings["allowed"] = (RuntimeError,)
    knock("positive_control", report.positive_control, rows, membership, **settings)
    knock("negative_control", report.negative_control, model, rows, membership, **settings)
    knock("positive_control", report.positive_control, other, membership, **settings)
