"""The data sets of scikit-learn as records."""

import inspect

import pandas as pd
import pytest
import sklearn.datasets
from defaults import compare_defaults_of
from numpy.testing import assert_array_equal

from skmia import datasets
from skmia.datasets import load_sklearn

NAMES = ("breast_cancer", "diabetes", "digits", "iris", "wine")


@pytest.mark.contract
@pytest.mark.parametrize("name", NAMES)
def test_the_records_are_those_of_scikit_learn(name):
    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    records = load_sklearn(name)
    assert_array_equal(records.X, X)
    assert_array_equal(records.y, y)
    frame = load_sklearn(name, as_frame=True).X
    assert isinstance(frame, pd.DataFrame)
    assert_array_equal(frame.to_numpy(), X)


def test_digits_may_be_images():
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    records = load_sklearn("digits", images=True)
    assert_array_equal(records.X, X.reshape(-1, 8, 8))
    assert_array_equal(records.y, y)
    with pytest.raises(ValueError, match="not both"):
        load_sklearn("digits", images=True, as_frame=True)
    with pytest.raises(ValueError, match="of the digits only; got name='iris'"):
        load_sklearn("iris", images=True)


def test_a_data_set_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="must be one of 'breast_cancer', .* got 'boston'"):
        load_sklearn("boston")


def test_only_diabetes_is_for_regression():
    kinds = {name: load_sklearn(name).y.dtype.kind for name in NAMES}
    assert [name for name, kind in kinds.items() if kind == "f"] == ["diabetes"]


def test_public_names_are_sorted_and_documented():
    assert datasets.__all__ == sorted(datasets.__all__)
    for name in datasets.__all__:
        doc = inspect.getdoc(getattr(datasets, name))
        assert all(part in doc for part in ("Parameters\n", "Returns\n", "Examples\n")), name


def test_options_are_given_by_name():
    for name in datasets.__all__:
        parameters = inspect.signature(getattr(datasets, name)).parameters.values()
        kinds = [p.kind for p in parameters if p.name not in ("n_samples", "name")]
        assert set(kinds) == {inspect.Parameter.KEYWORD_ONLY}, name


def test_defaults_are_those_of_the_docstrings():
    from skmia import datasets
    from skmia.datasets import literature

    found, n_compared = compare_defaults_of(datasets, literature)
    assert not found
    assert n_compared >= 20
