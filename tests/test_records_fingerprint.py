"""The content hash: one number for equal records, whatever holds them."""

import pickle
import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy import sparse

from skmia import Records

X = np.array([[1, 0, 2], [0, 0, 0], [5, 1, 0], [1, 0, 2]])


def find(values, y=None):
    return Records(values, y).fingerprint


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "count": [1, 2, 3],
            "amount": [0.5, np.nan, -0.0],
            "colour": pd.Categorical(["red", None, "red"]),
            "name": ["x", "y", ""],
            "flag": [True, False, True],
        }
    )


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: x.astype(float),
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.uint64),
        lambda x: x.astype(object),
        lambda x: np.asfortranarray(x),
        lambda x: x[:, ::-1][:, ::-1],
        lambda x: x.tolist(),
        lambda x: x.reshape(4, 3, 1, 1),
        pd.DataFrame,
        lambda x: pd.DataFrame(x, columns=["u", "v", "w"], index=[5, 5, 5, 5]),
        lambda x: pd.DataFrame(x).astype({0: float, 1: "Int64", 2: "category"}),
        lambda x: pd.DataFrame(x).astype(object),
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.csr_array,
        sparse.lil_matrix,
        lambda x: sparse.csr_matrix(x.astype(np.float32)),
    ],
)
def test_the_container_does_not_matter(hold):
    np.testing.assert_array_equal(find(hold(X)), find(X))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int8"])
def test_tensors_hash_like_arrays(dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X).to(getattr(torch, dtype))
    np.testing.assert_array_equal(find(tensor), find(X))
    with_gradient = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    np.testing.assert_array_equal(find(with_gradient), find(X))


def test_mixed_tables_hash_like_arrays_of_objects(frame):
    expected = find(frame)
    np.testing.assert_array_equal(find(frame.to_numpy(dtype=object)), expected)
    np.testing.assert_array_equal(find(frame.convert_dtypes()), expected)
    np.testing.assert_array_equal(find(frame.astype({"name": "category"})), expected)


def test_one_true_and_one_point_zero_are_equal():
    for one in (1, 1.0, True, np.float32(1), np.int8(1), np.bool_(True)):
        assert find([[one]]) == find(np.array([[one]], dtype=object)) == find([[1.0]])
        assert find(pd.DataFrame({"x": pd.Series([one, "text"], dtype=object)}))[0] == find([[1.0]])


def test_minus_zero_is_zero():
    assert find([[0.0, 1.0]]) == find([[-0.0, 1.0]])
    explicit = sparse.csr_matrix(([-0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert explicit.nnz == 2
    assert find(explicit) == find([[0.0, 1.0]])


def test_all_missing_values_are_equal():
    quiet, other = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(float)
    numbers = [find([[value]])[0] for value in (np.nan, quiet, other)]
    objects = [find(np.array([[value]], dtype=object))[0] for value in (None, np.nan, pd.NA)]
    assert len({*numbers, *objects}) == 1
    assert numbers[0] != find([[0.0]])[0]


def test_unsorted_and_doubled_entries_of_a_sparse_matrix():
    matrix = sparse.coo_matrix(([1.0, 2.0, 4.0], ([0, 0, 0], [2, 0, 2])), shape=(1, 3))
    assert find(matrix) == find([[2.0, 0.0, 5.0]])


def test_hashing_leaves_a_sparse_matrix_as_it_was():
    matrix = sparse.csr_matrix(([1.0, 2.0, 0.0], [2, 0, 1], [0, 3]), shape=(1, 3))
    find(matrix)
    assert matrix.indices.tolist() == [2, 0, 1]
    assert matrix.data.tolist() == [1.0, 2.0, 0.0]


def change_each_cell(frame):
    for j, value in enumerate([9, 9.5, "red", "z", False]):
        changed = frame.astype(object)
        changed.iloc[0 if j != 2 else 1, j] = value
        yield (0 if j != 2 else 1), changed


def test_any_changed_cell_changes_its_record_only(frame):
    before = find(frame)
    for row, changed in change_each_cell(frame):
        np.testing.assert_array_equal(find(changed) != before, np.arange(3) == row)


@pytest.mark.parametrize(
    "first, second",
    [
        ([[1, 2]], [[2, 1]]),
        ([[0, 1]], [[1, 0]]),
        ([[1, 1]], [[2, 2]]),
        ([[0.1]], [[np.nextafter(0.1, 1)]]),
        ([["1"]], [["2"]]),
        ([["a", "b"]], [["b", "a"]]),
        ([["ab", "c"]], [["a", "bc"]]),
        ([["1"]], [[1]]),
        ([[1 + 1j]], [[1 + 2j]]),
        (np.array([["2020-01-01"]], "M8[D]"), np.array([["2020-01-02"]], "M8[D]")),
    ],
)
def test_different_cells_differ(first, second):
    assert find(first)[0] != find(second)[0]


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b"], [0.5, 0.25], [False, True]])
def test_labels_count(labels):
    rows = np.ones((2, 3))
    with_labels = find(rows, labels)
    assert with_labels[0] != with_labels[1]
    assert not np.isin(with_labels, find(rows)).any()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, 0.0, 2.0, 1.0]),
        np.array([1, 0, 2, 1], dtype=np.int8),
        np.array([1, 0, 2, 1], dtype=object),
        pd.Series([1, 0, 2, 1], dtype="Int64"),
        pd.Series([1, 0, 2, 1], dtype="category"),
    ],
)
def test_the_type_of_labels_does_not_matter(labels):
    np.testing.assert_array_equal(find(X, labels), find(X, [1, 0, 2, 1]))


def test_text_labels_of_any_type():
    expected = find(X, ["a", "bb", "c", "a"])
    for dtype in (object, "string", "category"):
        labels = pd.Series(["a", "bb", "c", "a"], dtype=dtype)
        np.testing.assert_array_equal(find(X, labels), expected)


def test_fields_do_not_count():
    np.testing.assert_array_equal(Records(X, group=np.arange(4)).fingerprint, find(X))


def test_duplicates_share_it():
    assert find(X)[0] == find(X)[3]
    assert find(X, [0, 0, 0, 0])[0] == find(X, [0, 0, 0, 0])[3]
    assert find(X, [0, 0, 0, 1])[0] != find(X, [0, 0, 0, 1])[3]


def test_it_goes_with_the_records():
    records = Records(X, list("abca"))
    expected = records.fingerprint
    order = [2, 0, 3]
    for part in (records[order], pickle.loads(pickle.dumps(records))[order]):
        np.testing.assert_array_equal(part.fingerprint, expected[order])
    joined = Records.concat([records[:1], records[1:]])
    np.testing.assert_array_equal(joined.fingerprint, expected)
    np.testing.assert_array_equal(
        Records(X[order], np.array(list("abca"))[order]).fingerprint, expected[order]
    )


def test_it_is_the_same_in_another_process():
    code = (
        "import numpy as np, skmia; "
        "print(skmia.Records([['x', 1.5], ['y', None]], ['a', 'b']).fingerprint.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = find([["x", 1.5], ["y", None]], ["a", "b"])
    assert done.stdout.strip() == str(here.tolist())


@pytest.mark.parametrize("shape", [(0, 3), (0, 2, 4, 4), (0,)])
def test_no_records_have_no_fingerprints(shape):
    assert find(np.empty(shape)).shape == (0,)


def test_blocks_agree_with_single_rows():
    wide = np.random.default_rng(0).normal(size=(50, 5000))
    np.testing.assert_array_equal(find(wide)[[0, 20, 49]], find(wide[[0, 20, 49]]))


@pytest.mark.parametrize("kind", ["normal", "bits", "small integers", "one-hot"])
def test_no_collisions_among_many_rows(kind):
    rng = np.random.default_rng(0)
    rows = {
        "normal": lambda: rng.normal(size=(100_000, 3)),
        "bits": lambda: (np.arange(100_000)[:, None] >> np.arange(17)) & 1,
        "small integers": lambda: np.stack(np.unravel_index(np.arange(100_000), (50, 50, 40)), 1),
        "one-hot": lambda: sparse.identity(100_000, format="csr"),
    }[kind]()
    assert len(np.unique(find(rows))) == 100_000


def test_bits_of_the_fingerprint_are_balanced():
    words = find(np.arange(20_000)[:, None])
    share = ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
    assert np.abs(share - 0.5).max() < 0.02  # 5.7 standard deviations of a fair coin


@given(
    arrays(np.float64, (6, 2), elements=st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan, np.inf])),
    st.permutations(range(6)),
)
def test_equal_rows_and_only_equal_rows_agree(values, order):
    prints = find(values)
    equal = ((values[:, None] == values) | (np.isnan(values[:, None]) & np.isnan(values))).all(2)
    np.testing.assert_array_equal(prints[:, None] == prints, equal)
    np.testing.assert_array_equal(find(values[order]), prints[list(order)])
    np.testing.assert_array_equal(find(pd.DataFrame(values)), prints)
