"""Odd values at the doors of the audits of epsilon and of the secret sharer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from public import find
from sklearn.linear_model import LogisticRegression

from skmia import epsilon, memorization

from .budget import calls
from .oracle import knock
from .strategies import is_integer, odd_settings, parameters, tables, vectors

LEVEL = {"confidence_level": (0.95,), "random_state": (0,)}
BOUNDS = {
    "epsilon_lower_bound": {
        "method": ("clopper_pearson", "gaussian"),
        "delta": (None, 1e-5),
        "threshold": ("bonferroni",),
        "n_copies": (1,),
    },
    "bayesian_epsilon_interval": {"delta": (0.0,), "threshold": ("multisplit",)},
    "one_run_epsilon_lower_bound": {
        "bound": ("any", "gdp", "order_statistics"),
        "family": ("gaussian", "laplace", "epsilon_delta"),
        "sample_rate": (1.0,),
        "delta": (None, 1e-5),
        "n_guesses": ("auto", "any", 4),
        "n_in": (None, 1),
    },
}


def bound_is_a_number(bound):
    assert bound.epsilon >= 0, bound


@pytest.mark.parametrize("name", BOUNDS)
@calls(0.02)
@given(st.data())
def test_bounds(name, data):
    level = LEVEL if not name.startswith("one_run") else {"confidence_level": (0.95,)}
    settings = data.draw(odd_settings({**BOUNDS[name], **level}, most=1))
    y_true, y_score = data.draw(vectors("bits")), data.draw(vectors("floats"))
    knock(name, find(name), y_true, y_score, **settings, check=bound_is_a_number)


TOGETHER = {"family": ("gaussian", "laplace"), "delta": (0.0, 1e-5), "n_guesses": ("auto", 4)}


@calls(0.02)
@given(vectors("bits"), vectors("floats"), odd_settings(TOGETHER, most=1))
def test_bounds_together(y_true, y_score, settings):
    knock(
        "one_run_epsilon_bounds",
        epsilon.one_run_epsilon_bounds,
        y_true,
        y_score,
        **settings,
        check=lambda bounds: bounds.summary(),
    )


@calls(0.01)
@given(odd_settings({"mu": (1.0,), "delta": (1e-5,)}))
def test_gaussian_epsilon(settings):
    knock("gaussian_epsilon", epsilon.bounds.gaussian_epsilon, **settings)


AUDITS = {
    "EpsilonAudit": {
        "estimator": (LogisticRegression(),),
        "canary": ("clip_bkd",),
        "n_trials": (4,),
        "n_copies": (1, 2),
        "neighbors": ("add",),
        "method": ("clopper_pearson",),
        "delta": (1e-5,),
        "threshold": ("auto",),
        "sequential": (False, True),
        "confidence_level": (0.95,),
        "claimed_epsilon": (None, 1.0),
        "n_jobs": (None,),
        "random_state": (0,),
    },
    "LabelAudit": {
        "estimator": (LogisticRegression(),),
        "alternatives": ("own",),
        "n_canaries": (0.5, 8),
        "reference": (True, False),
        "bound": ("any", "gdp"),
        "n_guesses": ("auto", "any"),
        "delta": (1e-5,),
        "confidence_level": (0.95,),
        "claimed_epsilon": (None, 1.0),
        "random_state": (0,),
    },
    "OneRunAudit": {
        "estimator": (LogisticRegression(),),
        "canaries": ("random_label",),
        "n_canaries": (0.5, 8),
        "bound": ("any", "gdp"),
        "n_guesses": ("auto", "any"),
        "delta": (1e-5,),
        "confidence_level": (0.95,),
        "claimed_epsilon": (None, 1.0),
        "random_state": (0,),
    },
}


@pytest.mark.parametrize("name", AUDITS)
@calls(0.02)
@given(st.data())
def test_audits(name, data):
    def audit(X, y, **settings):
        return getattr(epsilon, name)(**settings).fit(X, y).epsilon_

    settings = data.draw(odd_settings(AUDITS[name], most=1))
    knock(name, audit, data.draw(tables()), data.draw(vectors("bits")), **settings)


KINDS = ("clip_bkd", "exposed", "natural", "random_label")


@pytest.mark.parametrize("kind", KINDS)
@calls(0.008)
@given(tables(), vectors("bits"), odd_settings({"n_canaries": (1, 2), "random_state": (0,)}))
def test_canaries(kind, X, y, settings):
    knock("canaries", epsilon.canaries.make_canaries, X, y, kind=kind, **settings)


def deepen(rows):
    """The same gradients in two steps, where they are an array."""
    return np.stack([rows, rows]) if isinstance(rows, np.ndarray) and rows.ndim == 2 else rows


GRADIENTS = {
    "n_canaries": (2,),
    "n_parameters": (3,),
    "max_grad_norm": (1.0,),
    "random_state": (0,),
}


@calls(0.01)
@given(
    tables(6, 3).map(deepen),
    odd_settings(GRADIENTS),
    odd_settings({"n_canaries": (2,), "noise_multiplier": (0.0, 1.0), "batch_size": (1,)}, most=1),
)
def test_gradient_canaries(gradients, settings, others):
    make = epsilon.canaries.make_gradient_canaries
    knock("gradients", make, **settings)
    knock("selected gradients", make, kind="selected", gradients=gradients, **others)


@calls(0.01)
@given(tables(4, 3), tables(2, 3), odd_settings({"batch_size": (2,), "noise_multiplier": (1.0,)}))
def test_trace_scores(gradients, canaries, settings):
    knock("trace_scores", epsilon.canaries.trace_scores, gradients, canaries, **settings)


SEQUENCES = tables(8, 4).map(lambda rows: rows % 3 if is_integer(rows) else rows)


@calls(0.02)
@given(
    SEQUENCES,
    odd_settings({"order": (2, 3), "n_tokens": (None, 10), "smoothing": (1.0,)}, most=1),
    parameters("n_given", 0, 1),
)
def test_sequence_models(rows, settings, n_given):
    def measure(rows, n_given, **settings):
        model = memorization.NGramModel(**settings).fit(np.arange(40).reshape(10, 4) % 5)
        return memorization.log_perplexity(model, rows, n_given=n_given)

    knock("log_perplexity", measure, rows, n_given, **settings)
    knock("NGramModel.fit", lambda rows: memorization.NGramModel().fit(rows), rows)


EXPOSURE = {
    "method": ("exact", "sampling", "skew_normal"),
    "ties": ("first",),
    "n_samples": (9,),
    "random_state": (0,),
}


@calls(0.02)
@given(SEQUENCES, odd_settings(EXPOSURE, most=1), parameters("candidates", None))
def test_exposure(rows, settings, candidates):
    space = np.indices((3, 3, 3, 3)).reshape(4, -1).T
    candidates = space if candidates is None else candidates

    def measure(candidates, rows, **settings):
        exposure = memorization.Exposure(
            lambda rows: rows.sum(axis=1) * 1.0, candidates, **settings
        )
        return exposure.fit().score_samples(rows)

    knock("Exposure", measure, candidates, rows, **settings)


@calls(0.01)
@given(
    odd_settings({"template": ("a ##", "##"), "fill": ("01",), "alphabet": (None, "a 01")}),
    SEQUENCES,
    odd_settings({"n_insertions": (1, 2), "random_state": (0,)}),
)
def test_canaries_in_sequences(settings, rows, others):
    knock("CanaryFormat", memorization.CanaryFormat, **settings)
    plain = np.zeros((5, 4), dtype=np.int64)
    knock("insert_canaries", memorization.insert_canaries, plain, rows, **others)
