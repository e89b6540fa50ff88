"""The container: what it takes, what it gives back, what it refuses."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from skmia import Outputs, Records
from skmia._core.groups import find_groups
from skmia.attacks import ThresholdAttack
from skmia.games import leave_two_unlabeled
from skmia.victims import CallableVictim

X = np.arange(12.0).reshape(4, 3)
Y = np.array(["a", "b", "a", "c"])
CONTAINERS = (
    "ndarray",
    "image",
    "frame",
    "csr",
    "csc",
    "coo_matrix",
    "csr_array",
    "tensor",
    "list",
)


def make_container(kind, values=X):
    """The same numbers in another container."""
    if kind == "tensor":
        return pytest.importorskip("torch").tensor(values)
    return {
        "ndarray": lambda: values.copy(),
        "image": lambda: values.reshape(len(values), 1, 3, 1).copy(),
        "frame": lambda: pd.DataFrame(values, columns=["p", "q", "r"]),
        "csr": lambda: sparse.csr_matrix(values),
        "csc": lambda: sparse.csc_matrix(values),
        "coo_matrix": lambda: sparse.coo_matrix(values),
        "csr_array": lambda: sparse.csr_array(values),
        "list": lambda: values.tolist(),
    }[kind]()


def to_dense(rows):
    if sparse.issparse(rows):
        rows = rows.toarray()
    return np.asarray(rows).reshape(rows.shape[0], 3)


def make_mixed_frame():
    return pd.DataFrame(
        {
            "count": [1, 2, 3, 4],
            "amount": [0.5, np.nan, 1.5, -0.0],
            "color": pd.Categorical(["red", "blue", "red", None]),
            "name": ["x", "y", "", "x"],
            "flag": [True, False, True, True],
        }
    )


@pytest.fixture
def records():
    return Records(X, Y, group=["f", "m", "f", "m"], record_id=[7, 8, 9, 10])


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_is_one_dimensional(kind):
    records = Records(make_container(kind), Y)
    assert len(records) == 4
    assert records.shape == (4,)
    np.testing.assert_array_equal(to_dense(records.X), X)
    np.testing.assert_array_equal(records.y, Y)


def test_frames_and_tensors_are_kept_as_they_are():
    frame = make_mixed_frame()
    assert Records(frame).X is frame


def test_tensors_are_kept_as_they_are():
    tensor = make_container("tensor")
    assert Records(tensor).X is tensor


def test_arrays_are_not_copied():
    values = X.copy()
    assert np.shares_memory(Records(values).X, values)
    assert np.shares_memory(Records(values)[1:3].X, values)


@pytest.mark.parametrize("kind", ["csc", "coo_matrix"])
def test_sparse_matrices_become_sliceable(kind):
    assert Records(make_container(kind)).X.format == "csr"


def test_labels_may_be_a_column_a_series_or_a_tensor():
    numbers = [3, 1, 2, 3]
    expected = Records(X, numbers)
    forms = [np.array(numbers)[:, None], pd.Series(numbers, index=[9, 8, 7, 6]), tuple(numbers)]
    forms += [pd.Series(numbers, dtype=dtype) for dtype in ("Int64", "category")]
    forms += [np.array(numbers, dtype=object)]
    for y in forms:
        records = Records(X, y)
        assert records.y.shape == (4,)
        assert records.y.dtype.kind in "if"
        np.testing.assert_array_equal(records.fingerprint, expected.fingerprint)


def test_labels_may_be_a_tensor():
    labels = pytest.importorskip("torch").tensor([3, 1, 2, 3])
    np.testing.assert_array_equal(Records(X, labels).y, [3, 1, 2, 3])


KEYS = {
    "int": 1,
    "negative int": -1,
    "numpy int": np.int8(2),
    "slice": slice(1, 3),
    "open slice": slice(None, -1),
    "stepped slice": slice(0, 4, 2),
    "backward slice": slice(None, None, -1),
    "list": [2, 0],
    "range": range(2),
    "array": np.array([3, 1, 1], dtype=np.uint8),
    "negative array": np.array([-1, -4]),
    "mask": np.array([True, False, False, True]),
    "list of bools": [False, True, False, True],
    "Series mask": pd.Series([True, True, False, False], index=[13, 12, 11, 10]),
    "nobody": np.zeros(4, dtype=bool),
    "empty list": [],
    "empty slice": slice(0, 0),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("with_ellipsis", [False, True])
def test_rows_are_selected_as_in_numpy(kind, with_ellipsis):
    records = Records(make_container(kind), Y, group=np.arange(4))
    fingerprint = records.fingerprint
    for name, key in KEYS.items():
        rows = np.atleast_1d(np.arange(4)[np.asarray(key) if isinstance(key, pd.Series) else key])
        if isinstance(key, list | range) and len(key) == 0:
            rows = np.array([], dtype=int)
        chosen = records[(key, ...) if with_ellipsis else key]
        assert isinstance(chosen, Records), name
        np.testing.assert_array_equal(to_dense(chosen.X), X[rows], name)
        np.testing.assert_array_equal(chosen.y, Y[rows], name)
        np.testing.assert_array_equal(chosen["group"], rows, name)
        np.testing.assert_array_equal(chosen.fingerprint, fingerprint[rows], name)
        assert type(chosen.X) is type(records.X), name


def test_slices_of_slices(records):
    assert records[1:][1:][0]["record_id"].tolist() == [9]
    assert len(records[[]][[]]) == 0


def test_a_field_is_read_by_its_name(records):
    assert records["group"].tolist() == ["f", "m", "f", "m"]
    assert records["group"] is records.fields["group"]


def test_outputs_are_sliced_with_the_records():
    outputs = Outputs([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], classes=["no", "yes"])
    part = Records(np.eye(3), ["no", "yes", "no"], outputs=outputs)[[2, 0]]["outputs"]
    np.testing.assert_array_equal(part.values, [[0.5, 0.5], [0.9, 0.1]])
    assert part.classes.tolist() == ["no", "yes"]


def test_nothing_can_be_assigned(records):
    for name in ("X", "y", "fields", "something"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(records, name, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del records.X
    with pytest.raises(TypeError):
        records.fields["group"] = 1
    with pytest.raises(TypeError):
        records[0] = records[1]


@pytest.mark.parametrize(
    "derive",
    [
        lambda records: records,
        lambda records: records[1:],
        lambda records: records[[1, 2]],
        lambda records: records.with_fields(weight=np.ones(4)),
        lambda records: Records.concat([records, records]),
        lambda records: pickle.loads(pickle.dumps(records)),
    ],
    ids=["made", "slice", "rows", "with_fields", "concat", "pickle"],
)
def test_arrays_are_read_only(records, derive):
    derived = derive(records)
    arrays = [derived.X, derived.y, derived.fingerprint, *derived.fields.values()]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def test_the_arrays_of_the_user_stay_writable():
    values, labels, group = X.copy(), Y.copy(), np.arange(4)
    Records(values, labels, group=group)
    for array in (values, labels, group):
        array[0] = array[1]


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: Records(X, Y[:3]), ValueError, "X has 4 records and y has 3 labels."),
        (
            lambda: Records(X, [1, np.nan, 2, np.nan]),
            ValueError,
            "y has no label for 2 of 4 records, first at position 1.",
        ),
        (
            lambda: Records(X, ["a", None, "b", "c"]),
            ValueError,
            "y has no label for 1 of 4 records, first at position 1.",
        ),
        (
            lambda: Records(X, np.ones((4, 2, 1))),
            ValueError,
            "y must hold one task label per record, or one per record and target; got an array of "
            "shape (4, 2, 1).",
        ),
        (
            lambda: Records(X, [[1, 2], [1, np.nan], [1, 2], [1, np.nan]]),
            ValueError,
            "Column 1 of y: y has no label for 2 of 4 records, first at position 1.",
        ),
        (
            lambda: Records(X, group=[1, 2]),
            ValueError,
            "X has 4 records and field 'group' has 2 values.",
        ),
        (
            lambda: Records(X, group="f"),
            ValueError,
            "X has 4 records and field 'group' is a scalar.",
        ),
        (
            lambda: Records(X, group=None),
            ValueError,
            "Field 'group' is None; leave it out instead.",
        ),
        (
            lambda: Records(X, **{"two words": Y}),
            ValueError,
            "A field needs a name that is an identifier other than X and y; got 'two words'.",
        ),
        (
            lambda: Records(X, Y).with_fields(y=Y),
            ValueError,
            "A field needs a name that is an identifier other than X and y; got 'y'.",
        ),
        (
            lambda: Records(X, Y)[4],
            IndexError,
            "Record 4 was requested; there are 4 records.",
        ),
        (
            lambda: Records(X, Y)[[True, False]],
            IndexError,
            "The mask has 2 entries; there are 4 records.",
        ),
        (
            lambda: Records(X, Y)[[0, -5, 7]],
            IndexError,
            "Record -5 was requested; there are 4 records.",
        ),
        (
            lambda: Records(np.empty((0, 2)), [])[[-1, 0]],
            IndexError,
            "Record -1 was requested; there are 0 records.",
        ),
        (
            lambda: Records(X, np.array([1, "a", 1, "a"], dtype=object)),
            ValueError,
            "y must hold labels of one type, such as all text or all numbers; got int, str. "
            "Convert them, for example with astype(str).",
        ),
        (
            lambda: Records(X, np.zeros(4, dtype=[("event", bool), ("time", float)])),
            ValueError,
            "y is a structured array with the fields event, time, as of survival. Give one label "
            "for each record, such as y['time'], and a model whose fit takes it.",
        ),
        (
            lambda: Records(X, ["a", np.nan, "b", "a"]),
            ValueError,
            "y has no label for 1 of 4 records, first at position 1.",
        ),
        (
            lambda: Records.concat([]),
            ValueError,
            "concat needs at least one set of records.",
        ),
        (
            lambda: Records.concat([Records(X), X]),
            TypeError,
            "concat joins skmia.Records; got ndarray.",
        ),
    ],
)
def test_errors_are_one_sentence(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_text_is_the_path_of_a_file():
    with pytest.raises(ValueError, match="some text is none, and no file either"):
        Records("some text")


@pytest.mark.parametrize("scalar", [5, 2.5, b"bytes", None, {"a": [1]}, {1, 2}])
def test_what_is_no_container_of_rows_is_refused(scalar):
    with pytest.raises(TypeError, match=rf"one row per record; got {type(scalar).__name__}\.$"):
        Records(scalar)


def test_an_unknown_field_is_named_with_the_known_ones(records):
    with pytest.raises(KeyError, match="no field 'race'; their fields: group, record_id"):
        records["race"]


@pytest.mark.parametrize("key", [1.5, True, None, [0.5], [[0, 1]], (slice(None), 0), ...])
def test_other_selections_are_refused(records, key):
    with pytest.raises(IndexError, match="Records are selected by an integer, a slice"):
        records[key]


@pytest.mark.parametrize("kind", CONTAINERS)
def test_rows_beyond_the_end_are_refused(kind):
    records = Records(make_container(kind), Y)
    with pytest.raises(IndexError, match="Record 4 was requested; there are 4 records"):
        records[[0, 4]]
    with pytest.raises(IndexError):
        records[-5]


def test_repr_says_what_is_inside(records):
    assert repr(records) == (
        "Records(4 records, X=ndarray(4, 3), float64, y=<U1, fields=group,record_id)"
    )
    assert repr(Records(make_mixed_frame())) == "Records(4 records, X=DataFrame(4, 5))"


def test_deepcopy_is_the_same_object(records):
    assert copy.deepcopy(records) is records
    assert copy.deepcopy({"population": [records]})["population"][0] is records


class HoldsRecords(BaseEstimator):
    def __init__(self, population=None):
        self.population = population


def test_clone_does_not_copy_records(records):
    assert clone(HoldsRecords(records)).population is records


def assert_equal_records(actual, expected):
    assert type(actual.X) is type(expected.X)
    np.testing.assert_array_equal(to_dense(actual.X), to_dense(expected.X))
    np.testing.assert_array_equal(actual.y, expected.y)
    np.testing.assert_array_equal(actual.fingerprint, expected.fingerprint)
    assert actual.fields.keys() == expected.fields.keys()
    for name in expected.fields:
        np.testing.assert_array_equal(actual[name], expected[name])


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("n_records", [0, 4])
def test_pickle_keeps_everything(kind, n_records):
    records = Records(make_container(kind), Y, group=np.arange(4))[:n_records]
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert_equal_records(pickle.loads(pickle.dumps(records, protocol)), records)
    assert_equal_records(copy.copy(records), records)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_pickled_bytes_depend_on_nothing_but_the_content(kind):
    def make():
        return Records(make_container(kind), Y, group=np.arange(4))

    before, after = make(), make()
    _ = after.fingerprint
    assert pickle.dumps(before) == pickle.dumps(after)
    assert joblib.hash(make()) == joblib.hash(pickle.loads(pickle.dumps(make())))
    assert joblib.hash(make()[[1, 2]]) == joblib.hash(make()[[1, 2]])
    assert joblib.hash(make()[[1, 2]]) != joblib.hash(make()[[2, 1]])


def test_the_hash_of_a_mixed_table_survives_pickling():
    records = Records(make_mixed_frame(), [1, 0, 1, 0])
    assert joblib.hash(records) == joblib.hash(pickle.loads(pickle.dumps(records)))


def test_few_rows_of_a_tensor_travel_alone():
    torch = pytest.importorskip("torch")
    many = Records(torch.zeros(10_000, 3))
    assert len(pickle.dumps(many[:2])) < 2_000


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "bool"])
def test_tensors_of_every_type_travel(dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[1, 0], [0, 1]]).to(getattr(torch, dtype))
    back = pickle.loads(pickle.dumps(Records(tensor, [0, 1], extra=tensor)))
    assert back.X.dtype == tensor.dtype
    assert torch.equal(back.X, tensor)
    assert torch.equal(back["extra"], tensor)
    np.testing.assert_array_equal(back.fingerprint, Records(back.X, [0, 1]).fingerprint)


def test_values_in_another_order_of_rows_are_noticed():
    table = pd.DataFrame({"p": range(6), "label": list("aabbab")})
    X = pd.concat([table[["p"]][::2], table[["p"]][1::2]])  # as of two parts of a split
    with pytest.warns(UserWarning, match=r"y has the index of X in another order, .*X.index"):
        Records(X, table["label"])
    with pytest.warns(UserWarning, match="^race has the index of X in another order"):
        Records(X, table["label"].loc[X.index], race=table["label"])
    Records(X, table["label"].loc[X.index], race=table["label"].to_numpy())
    Records(X, pd.Series(list("aabbab"), index=range(10, 16)))  # other labels of rows
    Records(X.reset_index(drop=True), table["label"])
    Records(X.to_numpy(), table["label"])


def test_values_in_another_order_of_rows_are_noticed_after_the_records_are_made():
    table = pd.DataFrame({"p": range(8), "label": list("aabbabab"), "inside": [1, 1, 0, 0] * 2})
    turned = table.iloc[::-1]
    records = Records(turned[["p"]], turned["label"])
    victim = CallableVictim(lambda rows: [[0.3, 0.7]] * len(rows), ["a", "b"])
    attack = ThresholdAttack(victim).fit(records)
    for name, use in {
        "race": lambda values: records.with_fields(race=values["label"]),
        "mask": lambda values: records[values["label"] == "a"],
        "membership": lambda values: attack.fit(records, values["inside"]),
        "group": lambda values: find_groups(records, values["label"]),
    }.items():
        use(turned)
        with pytest.warns(UserWarning, match=f"^{name} has the index of X in another order"):
            use(table)
    part = records[:3]
    attack.score(part, turned["inside"][:3])
    with pytest.warns(UserWarning, match="^membership has the index of X in another order"):
        attack.score(part, turned["inside"][:3].sort_index())
    with pytest.warns(UserWarning, match="^membership has the index of X in another order"):
        leave_two_unlabeled(attack, records, table["inside"])


def test_several_targets_are_labels_of_each_record():
    targets = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 4.0]])
    X = np.array([[0.0], [1.0], [0.0], [0.0]])
    records = Records(X, targets)
    assert records.y.shape == (4, 2)
    np.testing.assert_array_equal(records[[3, 0]].y, targets[[3, 0]])
    prints = records.fingerprint
    assert prints[0] == prints[2]
    assert len(set(prints.tolist())) == 3
    assert repr(records) == "Records(4 records, X=ndarray(4, 1), float64, y=float64 x 2)"
    assert Records.concat([records, records]).y.shape == (8, 2)
    frame = pd.DataFrame({"a": [1, 3, 1, 1], "b": ["2", "4", "2", "4"]})
    assert Records(X, frame[["a"]]).y.shape == (4,)
    assert Records(X, frame.astype(float)).fingerprint.tolist() == prints.tolist()


def test_two_sides_with_several_targets():
    X, Y = np.zeros((6, 3)), np.arange(12.0).reshape(6, 2)
    records, membership = Records.from_sides((X[:2], Y[:2]), (X[2:], Y[2:]))
    np.testing.assert_array_equal(records.y, Y)
    assert membership.tolist() == [1, 1, 0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"Several targets are given as train=Records\(X, Y\)"):
        Records.from_sides((X[:3], X[3:]), (Y[:3], Y[3:]))
