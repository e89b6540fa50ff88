"""The audit of a training set and held-out data, and what newcomers try before it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import ThresholdAttack

TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
ONE = {"threshold": ThresholdAttack()}


def make_frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 3)), columns=["age", "wage", "height"])
    return X, pd.Series(np.where(X["age"] + rng.normal(size=160) > 0, 1, 0), name="income")


X, Y = make_frame()
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(X, Y, test_size=0.5, random_state=0)
TRAIN, HELD_OUT = (X_TRAIN, Y_TRAIN), (X_TEST, Y_TEST)
MODEL = clone(TREE).fit(*TRAIN)


def run(model=MODEL, *data, **settings):
    settings = {"attacks": ONE, "shadows": 2, "file": False, "random_state": 0} | settings
    return audit(model, *data, **settings)


def test_sides_are_the_records_and_their_membership():
    records, membership = Records.from_sides(TRAIN, HELD_OUT)
    pd.testing.assert_frame_equal(records.X, pd.concat([X_TRAIN, X_TEST], ignore_index=True))
    assert records.y.tolist() == [*Y_TRAIN, *Y_TEST]
    assert membership.tolist() == [1] * 80 + [0] * 80
    reports = run(MODEL, records, membership), run(train=TRAIN, held_out=HELD_OUT)
    pd.testing.assert_frame_equal(*(report.to_frame() for report in reports))
    assert reports[1].membership.sum() == 80


def test_an_unfitted_model_is_trained_on_the_training_set():
    fitted, trained = run(train=TRAIN, held_out=HELD_OUT), run(TREE, train=TRAIN, held_out=HELD_OUT)
    np.testing.assert_array_equal(fitted.scores["threshold"], trained.scores["threshold"])


def as_tensor(X):
    return pytest.importorskip("torch").tensor(X.to_numpy())


def as_lazy(X):
    return pytest.importorskip("dask.array").from_array(X.to_numpy(), chunks=(50, 3))


FORMS = {
    "arrays": pd.DataFrame.to_numpy,
    "lists": lambda X: X.to_numpy().tolist(),
    "sparse": sparse.csr_array,
    "tensors": as_tensor,
    "lazy": as_lazy,
    "images": lambda X: X.to_numpy().reshape(-1, 1, 3),
}


@pytest.mark.parametrize("name", FORMS)
def test_sides_in_each_form(name):
    make = FORMS[name]
    records, membership = Records.from_sides((make(X_TRAIN), Y_TRAIN), (make(X_TEST), Y_TEST))
    known = Records(make(X_TRAIN), Y_TRAIN), Records(make(X_TEST), Y_TEST)
    assert type(records.X) is type(known[0].X)
    both = np.concatenate([side.fingerprint for side in known])
    np.testing.assert_array_equal(records.fingerprint, both)
    assert membership.sum() == len(known[0]) == 80


def test_columns_are_matched_by_name_and_keep_their_types():
    train = X_TRAIN.assign(place=pd.Categorical(["b", "a"] * 40, ["b", "a"]), flag=True)
    other = X_TEST.assign(flag=False, place=pd.Categorical(["c", "a"] * 40))
    records, _ = Records.from_sides((train, Y_TRAIN), (other[other.columns[::-1]], Y_TEST))
    assert list(records.X.columns) == list(train.columns)
    assert records.X["place"].cat.categories.tolist() == ["b", "a", "c"]
    assert records.X["place"].tolist() == ["b", "a"] * 40 + ["c", "a"] * 40
    assert records.X["flag"].dtype == bool


def test_sides_may_be_records_with_fields():
    sides = [Records(*side, group=np.arange(80)) for side in (TRAIN, HELD_OUT)]
    records, membership = Records.from_sides(*sides)
    assert records["group"].tolist() == [*range(80)] * 2
    assert run(train=sides[0], held_out=sides[1]).membership.tolist() == (membership == 1).tolist()
