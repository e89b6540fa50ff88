"""The data sets of scikit-learn as records."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal

from skmia import datasets

LOADERS = [name for name in datasets.__all__ if name.startswith("load_")]


@pytest.mark.contract
@pytest.mark.parametrize("name", LOADERS)
def test_the_records_are_those_of_scikit_learn(name):
    X, y = getattr(sklearn.datasets, name)(return_X_y=True)
    records = getattr(datasets, name)()
    assert_array_equal(records.X, X)
    assert_array_equal(records.y, y)
    frame = getattr(datasets, name)(as_frame=True).X
    assert isinstance(frame, pd.DataFrame)
    assert_array_equal(frame.to_numpy(), X)


def test_digits_may_be_images():
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    records = datasets.load_digits(images=True)
    assert_array_equal(records.X, X.reshape(-1, 8, 8))
    assert_array_equal(records.y, y)
    with pytest.raises(ValueError, match="not both"):
        datasets.load_digits(images=True, as_frame=True)


def test_only_diabetes_is_for_regression():
    kinds = {name: getattr(datasets, name)().y.dtype.kind for name in LOADERS}
    assert [name for name, kind in kinds.items() if kind == "f"] == ["load_diabetes"]


def test_public_names_are_sorted_and_documented():
    assert datasets.__all__ == sorted(datasets.__all__)
    for name in datasets.__all__:
        doc = inspect.getdoc(getattr(datasets, name))
        assert all(part in doc for part in ("Parameters\n", "Returns\n", "Examples\n")), name


def test_options_are_given_by_name():
    for name in datasets.__all__:
        parameters = inspect.signature(getattr(datasets, name)).parameters.values()
        kinds = [p.kind for p in parameters if p.name != "n_samples"]
        assert set(kinds) == {inspect.Parameter.KEYWORD_ONLY}, name
    assert np.ndim(datasets.load_iris().y) == 1
