"""What a private row can be, and errors that do not quote it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from small_net import make_small_net

from skmia.defenses import DPSGDClassifier
from skmia.defenses.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
)
from skmia.synthetic import DPWassersteinGAN

pytest.importorskip("torch")
pytest.importorskip("skorch")
pytest.importorskip("opacus")

PRIVATE = DPSGDClassifier(make_small_net, noise_multiplier=1.0, classes=[0, 1])
ESTIMATORS = [
    LaplaceMechanism(),
    GaussianMechanism(),
    NonSphericalGaussianMechanism(lower=0, upper=1),
    DPWassersteinGAN(noise_multiplier=1.0, max_iter=1),
    PRIVATE,
]
X, Y = np.full((6, 2), 0.5), np.arange(6) % 2
SECRET = "hiv"


def with_string(kind):
    rows = X.astype(object)
    rows[4, 1] = SECRET
    return {
        "objects": rows,
        "list": rows.tolist(),
        "strings": rows.astype(str),
        "bytes": rows.astype(bytes),
        "table": pd.DataFrame(rows),
        "categories": pd.DataFrame(rows).astype({1: "category"}),
        "column of strings": pd.DataFrame({"a": pd.array([SECRET, *"12345"], dtype="string")}),
    }[kind]


def fit(estimator, X, y=Y):
    return estimator.fit(X, y) if estimator is PRIVATE else estimator.fit(X)


KINDS = ["objects", "list", "strings", "bytes", "table", "categories", "column of strings"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_strings_are_refused_and_not_quoted(estimator, kind):
    with pytest.raises(ValueError, match="^X must hold numbers; it has strings") as caught:
        fit(estimator, with_string(kind))
    # Nor in an error that this one came from, which a traceback would print.
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda one: type(one).__name__)
def test_released_strings_are_refused_and_not_quoted(estimator):
    with pytest.raises(ValueError, match="^X must hold numbers; it has strings"):
        estimator.fit(X).transform(with_string("objects"))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.123456])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_errors_about_a_row_have_neither_its_value_nor_its_number(estimator, value):
    rows = X.copy()
    rows[4] = value if not np.isfinite(value) else 1e3 + value
    if np.isfinite(value) and not isinstance(estimator, DPWassersteinGAN):
        fit(estimator, rows)
        return
    with pytest.raises(ValueError) as caught:
        fit(estimator, rows)
    assert "1000.12" not in str(caught.value) and "row" not in str(caught.value)


@pytest.mark.parametrize("label", [0.5, np.nan, None, "secret", 1e39, 10**30])
def test_errors_about_a_label_do_not_quote_it(label):
    with pytest.raises(ValueError) as caught:
        PRIVATE.fit(X, np.array([*Y[:-1], label], dtype=object))
    assert "secret" not in str(caught.value) and "1000000" not in str(caught.value)


def test_one_string_among_numbers_does_not_take_all_labels_away():
    # As a list the labels become strings, of which none would be among the classes.
    with pytest.raises(ValueError, match="Labels and classes must both be numbers or both"):
        PRIVATE.fit(X, [*Y[:-1].tolist(), "secret"])
    with pytest.raises(ValueError, match="Labels and classes must both be numbers or both"):
        PRIVATE.fit(X, np.where(Y, "yes", "no"))


def test_a_number_among_strings_is_an_unknown_label():
    private = DPSGDClassifier(make_small_net, noise_multiplier=1.0, classes=["no", "yes"])
    for labels in (["no", "yes", "no", "yes", "no", 7], np.array(["no", "yes"] * 3, dtype=object)):
        assert private.fit(X, labels).classes_.tolist() == ["no", "yes"]


def test_a_row_beyond_single_precision_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        PRIVATE.fit(np.vstack([X, [[1e39, -1e39]]]), [*Y, 0])
