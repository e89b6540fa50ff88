"""Records made of tables, of other records, and with further fields."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge

from skmia import Outputs, Records

X = np.arange(12.0).reshape(4, 3)
Y = np.array(["a", "b", "a", "c"])


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [30, 41, 52, 63],
            "race": ["x", "y", "x", "y"],
            "person": [1, 2, 1, 3],
            "income": [0, 1, 1, 0],
        }
    )


def test_from_frame_takes_the_target_out(frame):
    records = Records.from_frame(frame, target="income", group="race")
    assert records.X.columns.tolist() == ["age", "race", "person"]
    assert records.y.tolist() == [0, 1, 1, 0]
    assert records["group"].tolist() == ["x", "y", "x", "y"]


@pytest.mark.parametrize("drop", ["person", ["person"], ("person",), pd.Index(["person"])])
def test_from_frame_drops_what_is_no_feature(frame, drop):
    records = Records.from_frame(frame, target="income", drop=drop, group_by="person")
    assert records.X.columns.tolist() == ["age", "race"]
    assert records["group_by"].tolist() == [1, 2, 1, 3]


def test_from_frame_without_target(frame):
    records = Records.from_frame(frame)
    assert records.y is None
    assert records.X.shape == (4, 4)


def test_from_frame_leaves_the_table_alone(frame):
    before = frame.copy()
    Records.from_frame(frame, target="income", drop="person", group="race")
    pd.testing.assert_frame_equal(frame, before)


def test_from_frame_takes_columns_that_are_numbers():
    frame = pd.DataFrame(X)
    records = Records.from_frame(frame, target=0, weight=2)
    assert records.y.tolist() == [0, 3, 6, 9]
    assert records["weight"].tolist() == [2, 5, 8, 11]


def test_from_frame_forgets_the_index(frame):
    shuffled = frame.set_index(np.array([9, 3, 3, 1]))
    expected = Records.from_frame(frame, target="income", group="race")
    records = Records.from_frame(shuffled, target="income", group="race")
    np.testing.assert_array_equal(records.fingerprint, expected.fingerprint)
    np.testing.assert_array_equal(records["group"], expected["group"])


@pytest.mark.parametrize(
    "columns", [{"target": "wage"}, {"drop": ["wage"]}, {"group": "wage"}, {"drop": "wage"}]
)
def test_from_frame_names_the_missing_column(frame, columns):
    with pytest.raises(ValueError) as caught:
        Records.from_frame(frame, **columns)
    expected = "Unknown column 'wage'; the columns are age, race, person, income."
    assert str(caught.value) == expected


def test_from_frame_needs_a_table():
    with pytest.raises(TypeError, match="from_frame takes a DataFrame .*; got ndarray"):
        Records.from_frame(X)


def make_parts(kind):
    if kind == "tensor":
        whole = pytest.importorskip("torch").tensor(X)
    else:
        whole = {
            "ndarray": lambda: X,
            "image": lambda: X.reshape(4, 1, 3, 1),
            "frame": lambda: pd.DataFrame({"p": [1, 2, 3, 4], "q": ["u", "v", None, "w"]}),
            "csr": lambda: sparse.csr_matrix(X),
            "coo_matrix": lambda: sparse.coo_matrix(X),
            "csr_array": lambda: sparse.csr_array(X),
        }[kind]()
    records = Records(whole, Y, group=np.arange(4))
    return records, [records[:1], records[1:1], records[[1, 2]], records[3]]


@pytest.mark.parametrize(
    "kind", ["ndarray", "image", "frame", "csr", "coo_matrix", "csr_array", "tensor"]
)
def test_concat_undoes_slicing(kind):
    whole, parts = make_parts(kind)
    joined = Records.concat(part for part in parts)
    assert type(joined.X) is type(whole.X)
    assert joined.X.shape == whole.X.shape
    np.testing.assert_array_equal(joined.fingerprint, whole.fingerprint)
    np.testing.assert_array_equal(joined.y, whole.y)
    np.testing.assert_array_equal(joined["group"], whole["group"])


def test_concat_joins_stored_answers():
    victim = LogisticRegression().fit(X, [0, 1, 1, 0])
    records = Records(X, [0, 1, 1, 0]).with_outputs(victim)
    joined = Records.concat([records[2:], records[:2]])
    np.testing.assert_array_equal(joined["outputs"].values, records["outputs"].values[[2, 3, 0, 1]])


def test_concat_without_labels():
    joined = Records.concat([Records(X), Records(X[:1])])
    assert joined.y is None
    assert len(joined) == 5


def with_answers(classes, kind="proba"):
    return Records(X[:1], outputs=Outputs([[0.1, 0.9]], classes=classes, kind=kind))


@pytest.mark.parametrize(
    "first, second, message",
    [
        (Records(X), Records(pd.DataFrame(X)), "different kinds of X.*ndarray and DataFrame"),
        (Records(X, Y), Records(X), "all have labels or none"),
        (Records(X, Y, group=Y), Records(X, Y), "all have the same fields"),
        (Records(X, Y), Records(X, [1, 2, 3, 4]), "Text and numbers.*<U1 and int64"),
        (Records(X), Records(X.astype(str)), "Text and numbers"),
        (Records(X, group=Y), Records(X, group=np.arange(4)), "Text and numbers"),
        (
            Records(pd.DataFrame(X, columns=["p", "q", "r"])),
            Records(pd.DataFrame(X, columns=["p", "r", "q"])),
            "same columns in the same order",
        ),
        (Records(X), Records(X[:, :2]), "one shape"),
        (with_answers(["no", "yes"]), with_answers(["yes", "no"]), "columns are the same classes"),
        (with_answers([0, 1]), with_answers([0, 1], "logits"), "of one kind"),
    ],
)
def test_concat_refuses_what_does_not_fit(first, second, message):
    with pytest.raises(ValueError, match=message):
        Records.concat([first, second])


def test_with_fields_adds_and_replaces():
    records = Records(X, Y, group=np.zeros(4))
    more = records.with_fields(group=np.ones(4), weight=np.arange(4))
    assert more["group"].tolist() == [1, 1, 1, 1]
    assert more["weight"].tolist() == [0, 1, 2, 3]
    assert records["group"].tolist() == [0, 0, 0, 0]
    assert "weight" not in records.fields
    assert more.X is records.X
    np.testing.assert_array_equal(more.fingerprint, records.fingerprint)


def test_with_fields_checks_the_length():
    with pytest.raises(ValueError, match="X has 4 records and field 'group' has 3 values"):
        Records(X).with_fields(group=[1, 2, 3])


def test_with_outputs_stores_the_probabilities():
    features, labels = load_iris(return_X_y=True)
    victim = LogisticRegression(max_iter=500).fit(features[::2], labels[::2])
    records = Records(features, labels)
    asked = records.with_outputs(victim)
    assert asked["outputs"].kind == "proba"
    np.testing.assert_allclose(asked["outputs"].values, victim.predict_proba(features))
    assert "outputs" not in records.fields
    np.testing.assert_allclose(
        asked[::3]["outputs"].values, victim.predict_proba(features[::3]), rtol=1e-12
    )


def test_with_outputs_of_a_regressor():
    victim = Ridge().fit(X, X[:, 0])
    outputs = Records(X, X[:, 0]).with_outputs(victim)["outputs"]
    assert outputs.kind == "value"
    np.testing.assert_allclose(outputs.values, victim.predict(X))
