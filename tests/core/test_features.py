"""Records of all forms as one matrix."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skmia import Records
from skmia._core.features import FeatureEncoder, as_feature_matrix

X = np.array([[0, 1.5, 0, 2], [3, 0, 0, 0], [0, 0, -1, 4]])
Y = [1, 0, 1]
EXPECTED = np.column_stack([X, Y])


@pytest.mark.parametrize(
    "rows",
    [X, X.reshape(3, 2, 2), pd.DataFrame(X), sparse.csr_array(X)],
    ids=["array", "image", "frame", "sparse"],
)
def test_forms_of_x_give_one_matrix(rows):
    matrix = as_feature_matrix(Records(rows, Y))
    assert matrix.dtype == np.float32
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    np.testing.assert_array_equal(dense, EXPECTED.astype(np.float32))


def test_what_is_no_number_becomes_codes_in_sorted_order():
    matrix = as_feature_matrix(
        Records(np.array([["b", "x"], ["a", "x"], ["b", "y"]]), ["u", "v", "v"])
    )
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 0, 1], [1, 1, 1]])


def test_a_tensor_gives_the_same():
    torch = pytest.importorskip("torch")
    matrix = as_feature_matrix(Records(torch.tensor(X), Y))
    np.testing.assert_array_equal(matrix, EXPECTED.astype(np.float32))


def test_categories_keep_their_codes():
    frame = pd.DataFrame({"city": ["b", "a", None, "c"], "age": [1.0, np.inf, np.nan, 3]})
    encoder = FeatureEncoder(Records(frame, ["x", "y", "x", "x"]))
    new = Records(frame[::-1].replace({"c": "z"}), ["y", "x", "y", "w"])
    nan = np.nan
    np.testing.assert_array_equal(
        encoder.encode(new), [[-1, 3, 1], [-1, nan, 0], [0, nan, 1], [1, 1, -1]]
    )


def test_values_too_large_for_single_precision_are_missing():
    matrix = as_feature_matrix(Records(np.array([[1e300], [-np.inf], [1.0]]), Y))
    np.testing.assert_array_equal(matrix[:, 0], [np.nan, np.nan, 1])
    rows = sparse.csr_array(np.array([[1e300], [np.nan], [1.0]]))
    np.testing.assert_array_equal(as_feature_matrix(Records(rows, Y)).toarray()[:, 0], [0, 0, 1])


def test_times_become_seconds():
    day = pd.Series(pd.to_datetime(["2022-01-02", "2022-01-01", None]))
    zone = day.dt.tz_localize("UTC")
    frame = pd.DataFrame({"day": day, "zone": zone, "gap": day - day[1]})
    matrix = as_feature_matrix(Records(frame, Y))
    np.testing.assert_array_equal(matrix[:, :3], [[86400] * 3, [0] * 3, [np.nan] * 3])


def test_values_of_several_kinds_have_an_order_too():
    frame = pd.DataFrame({"mixed": np.array(["b", 1, None], dtype=object)})
    np.testing.assert_array_equal(as_feature_matrix(Records(frame, Y))[:, 0], [1, 0, -1])
