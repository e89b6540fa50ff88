"""The content hash: one number for equal records, whatever holds them."""

import pickle

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from forked import FORKS, run_program
from hypothesis import given, settings
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
            "color": pd.Categorical(["red", None, "red"]),
            "name": ["x", "y", ""],
            "flag": [True, False, True],
        }
    )


NULLABLE = {"int64": "Int64", "uint8": "UInt8", "float32": "Float32", "float64": "Float64"}


@pytest.mark.parametrize("dtype", NULLABLE)
@pytest.mark.parametrize(
    "hold",
    [
        lambda x: np.asfortranarray(x),
        lambda x: x[:, ::-1][:, ::-1],
        lambda x: x.astype(x.dtype.newbyteorder(">")),
        lambda x: x.reshape(4, 3, 1, 1),
        pd.DataFrame,
        lambda x: pd.DataFrame(x, columns=["u", "v", "w"], index=[5, 5, 5, 5]),
        lambda x: pd.DataFrame({"u": x[:, 0], "v": x[:, 1], "w": x[:, 2]}),
        lambda x: pd.DataFrame(x).astype({0: NULLABLE[x.dtype.name]}),
        lambda x: pd.DataFrame(x).astype(NULLABLE[x.dtype.name]),
        lambda x: pd.DataFrame(x).astype(pd.SparseDtype(x.dtype, 0)),
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.csr_array,
        sparse.lil_matrix,
    ],
)
def test_the_container_does_not_matter(hold, dtype):
    values = X.astype(dtype)
    np.testing.assert_array_equal(find(hold(values)), find(values))


DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint64",
    "float16",
    "float32",
    "float64",
    "longdouble",
    "complex128",
    "datetime64[s]",
    "datetime64[ns]",
    "timedelta64[s]",
    "object",
    "str",
]


def test_the_type_of_numbers_counts():
    ones = np.array([[1, 0, 1]])
    prints = [find(ones.astype(dtype))[0] for dtype in DTYPES]
    assert len(set(prints)) == len(DTYPES)
    # Labels of objects that are numbers become numbers, as scikit-learn takes no others.
    types = [dtype for dtype in DTYPES if dtype != "object"]
    labels = [find(ones, np.array([1]).astype(dtype))[0] for dtype in types]
    assert len(set(labels)) == len(types)


def test_each_column_counts_with_its_own_type():
    whole = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    mixed = whole.astype({"b": float})
    assert not np.isin(find(mixed), [find(whole), find(whole.astype(float))]).any()
    assert not np.isin(find(mixed[["b", "a"]]), find(mixed)).any()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object])
def test_integers_that_float64_cannot_tell_apart(dtype):
    rows = np.array([[2**53 + k] for k in range(400)], dtype=dtype)
    assert len(np.unique(find(rows))) == 400
    assert len(np.unique(find(np.zeros((400, 1)), rows[:, 0]))) == 400
    frame = pd.DataFrame({"id": rows[:, 0], "x": 0.5})
    assert len(np.unique(find(frame))) == 400


def test_a_number_too_large_for_any_type():
    huge = np.array([[10**400], [10**400 + 1], [1]], dtype=object)
    assert len(np.unique(find(huge))) == 3


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "bool"])
def test_tensors_hash_like_arrays(dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X).to(getattr(torch, dtype))
    np.testing.assert_array_equal(find(tensor), find(X.astype(dtype)))
    if dtype == "float64":
        np.testing.assert_array_equal(find(tensor.requires_grad_()), find(X.astype(dtype)))


def test_numbers_that_numpy_has_no_type_for():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(X).to(torch.bfloat16)
    assert find(tensor)[0] == find(tensor)[3]
    assert len(np.unique(find(tensor))) == 3
    assert not np.isin(find(tensor), find(X.astype(np.float32))).any()


def test_text_is_text_however_it_is_held():
    words = np.array([["a", "bb"], ["c", ""]])
    expected = find(words)
    for dtype in (object, "U7", "string", "str", "category"):
        held = pd.DataFrame(words).astype(dtype) if dtype != "U7" else words.astype(dtype)
        np.testing.assert_array_equal(find(held), expected)
    np.testing.assert_array_equal(find(words.tolist()), expected)


def test_text_that_is_no_unicode_or_holds_zeros():
    odd = np.array([["\ud800"], ["\ud801"], ["a\0b"], ["a\0c"], ["a"]], dtype=object)
    assert len(np.unique(find(odd))) == 5


def test_nullable_columns_equal_ordinary_ones_where_nothing_is_missing(frame):
    np.testing.assert_array_equal(find(frame.convert_dtypes()), find(frame))
    holes = pd.DataFrame(
        {"a": pd.array([1, None, 0], "Int64"), "b": pd.array([1, 0, None], "Int64")}
    )
    filled = holes.fillna(0).astype("int64")
    np.testing.assert_array_equal(find(holes) == find(filled), [True, False, False])
    assert find(holes)[1] != find(holes[["b", "a"]])[1]


@pytest.mark.parametrize("others", [{}, {"text": ["x", "x"]}, {"small": np.int8([3, 3])}])
def test_what_lies_under_a_missing_number_does_not_count(others):
    def make(under, is_missing):
        held = pd.arrays.IntegerArray(np.array([5, under]), np.array([False, is_missing]))
        return find(pd.DataFrame({"a": held, **others}))

    lacking = make(7, True)
    for under in (0, 1, 7):
        np.testing.assert_array_equal(make(under, True), lacking)
        np.testing.assert_array_equal(make(under, False) == lacking, [True, False])


def test_objects_are_compared_as_python_compares_them():
    for one in (1, 1.0, True, np.float32(1), np.int8(1), np.bool_(True)):
        assert find(np.array([[one]], dtype=object)) == find(np.array([[1]], dtype=object))
        assert find(pd.DataFrame({"x": pd.Series([one, "text"], dtype=object)}))[0] == find(
            np.array([[1]], dtype=object)
        )


@pytest.mark.parametrize("make", [lambda k: [k, "x"], lambda k: {"a": k}, lambda k: np.ones(3) * k])
def test_lists_and_arrays_in_cells(make):
    rows = np.empty((3, 1), dtype=object)
    rows[:, 0] = [make(1), make(2), make(1)]
    prints = find(rows)
    assert prints[0] == prints[2] != prints[1]


def test_what_has_no_content_is_refused_by_name():
    with pytest.raises(TypeError, match="A cell holds a generator"):
        find(np.array([[(i for i in range(3))]], dtype=object))
    with pytest.raises(TypeError, match="structured array"):
        find(np.zeros(3, dtype=[("a", int), ("b", float)]))


def test_minus_zero_is_zero():
    assert find([[0.0, 1.0]]) == find([[-0.0, 1.0]])
    explicit = sparse.csr_matrix(([-0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert explicit.nnz == 2
    assert find(explicit) == find([[0.0, 1.0]])


def test_all_missing_values_are_equal():
    quiet, other = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(float)
    numbers = [find([[value]])[0] for value in (np.nan, quiet, other)]
    objects = [np.array([[value]], dtype=object) for value in (None, np.nan, pd.NA, pd.NaT, quiet)]
    assert len(set(numbers)) == 1
    assert len({find(one)[0] for one in objects}) == 1
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
        changed = frame.copy()
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
        ([[1]], [[1, 0]]),
        ([[0]], [[0, 0]]),
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


@pytest.mark.parametrize("dtype", [object, "Int64", "category"])
def test_the_container_of_labels_does_not_matter(dtype):
    labels = pd.Series([1, 0, 2, 1], dtype=dtype)
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


@FORKS
def test_it_is_the_same_in_another_process():
    code = (
        "import numpy as np, skmia; "
        "print(skmia.Records([['x', 1.5], ['y', None]], ['a', 'b']).fingerprint.tolist())"
    )
    here = find([["x", 1.5], ["y", None]], ["a", "b"])
    assert run_program(code) == (0, f"{here.tolist()}\n", "")


@pytest.mark.parametrize("shape", [(0, 3), (0, 2, 4, 4), (0,)])
def test_no_records_have_no_fingerprints(shape):
    assert find(np.empty(shape)).shape == (0,)


def test_records_without_features_are_equal():
    for empty in (np.empty((3, 0)), pd.DataFrame(index=range(3)), sparse.csr_array((3, 0))):
        assert len(np.unique(find(empty))) == 1


def test_blocks_agree_with_single_rows():
    wide = np.random.default_rng(0).normal(size=(50, 5000))
    np.testing.assert_array_equal(find(wide)[[0, 20, 49]], find(wide[[0, 20, 49]]))


@pytest.mark.parametrize(
    "kind", slow_but(["normal", "bits", "small integers", "one-hot"], "bits", "one-hot")
)
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


def test_sums_cannot_be_forged():
    """A sum of words of the columns is equal again when one value is changed to fit another."""
    from skmia._core import hashing as _hashing

    digests = _hashing.digest_records(np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [3.0, 2.0]]))
    for word in digests:
        one, second, first, both = (int(w) for w in word)
        assert (one + both) % 2**64 != (first + second) % 2**64
        assert one ^ both != first ^ second


def test_records_made_to_have_one_fingerprint_are_refused(monkeypatch):
    from skmia._core import records as _records

    def collide(X, y):
        digests = digest_records(X, y)
        digests[0, [1, 2]] = 7
        return digests

    digest_records = _records.digest_records
    monkeypatch.setattr(_records, "digest_records", collide)
    with pytest.raises(ValueError, match="Records 1 and 2 differ, yet have the same"):
        find(X)
    assert len(find(X[[0, 1, 1, 3]])) == 4  # equal records may have it


@given(
    arrays(np.float64, (6, 2), elements=st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan, np.inf])),
    st.permutations(range(6)),
)
@settings(max_examples=40)
def test_equal_rows_and_only_equal_rows_agree(values, order):
    prints = find(values)
    equal = ((values[:, None] == values) | (np.isnan(values[:, None]) & np.isnan(values))).all(2)
    np.testing.assert_array_equal(prints[:, None] == prints, equal)
    np.testing.assert_array_equal(find(values[order]), prints[list(order)])
    np.testing.assert_array_equal(find(pd.DataFrame(values)), prints)
