"""Guessing an attribute: by hand, in every form of X, and beside a guess without the victim."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skmia import Records
from skmia.attacks import AttributeInferenceAttack

# Most tests are of other things than the baseline, which they fit on the records they compare.
pytestmark = pytest.mark.filterwarnings("ignore:The baseline was fitted on:UserWarning")

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(300, 3)), RNG.integers(3, size=300)])
Y = RNG.integers(2, size=300)
RECORDS = Records(X, Y)
VICTIM = FrozenEstimator(LogisticRegression().fit(X, Y))
CRITERIA = ("loss", "softmax", "accuracy", "gradient")


@pytest.fixture(autouse=True)
def fewer_trees(monkeypatch):
    """Let the baseline, which no victim changes, boost a tenth of the trees."""
    boosting = "skmia.attacks._attribute.HistGradientBoostingClassifier"
    monkeypatch.setattr(boosting, lambda max_iter: HistGradientBoostingClassifier(max_iter=5))


def complete(row, value):
    return np.r_[row[:3], value][None]


def score_by_hand(victim, row, label, criterion):
    answers = np.array([victim.predict_proba(complete(row, value))[0] for value in range(3)])
    if criterion == "softmax":
        return answers.max(axis=1)
    if criterion == "loss":
        return np.log(answers[:, label])
    if criterion == "accuracy":
        right = answers.argmax(axis=1) == label
        return np.where(right, answers.max(axis=1), 0) if right.any() else answers[:, label]
    residual = answers[:, 1] - label
    inputs = np.array([np.r_[row[:3], value, 1] for value in range(3)])
    return -np.sum((residual[:, None] * inputs) ** 2, axis=1)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_scores_are_those_of_the_hand(criterion):
    attack = AttributeInferenceAttack(VICTIM, 3, criterion=criterion, random_state=0).fit(RECORDS)
    expected = [
        score_by_hand(VICTIM, *pair, criterion) for pair in zip(X[:20], Y[:20], strict=True)
    ]
    np.testing.assert_allclose(attack.score_samples(RECORDS[:20]), expected, rtol=1e-9)
    guesses = attack.classes_[np.argmax(expected, axis=1)]
    np.testing.assert_array_equal(attack.predict(RECORDS[:20]), guesses)
    proba = attack.predict_proba(RECORDS[:20])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(attack.classes_[proba.argmax(axis=1)], guesses)
    assert attack.score(RECORDS[:20]) == np.mean(guesses == X[:20, 3])


@pytest.mark.parametrize("criterion", slow_but(CRITERIA, CRITERIA[0]))
def test_what_the_records_hold_is_not_read(criterion):
    attack = AttributeInferenceAttack(VICTIM, 3, criterion=criterion, random_state=0).fit(RECORDS)
    hidden = Records(np.column_stack([X[:, :3], np.zeros(300)]), Y)
    np.testing.assert_array_equal(attack.predict(hidden), attack.predict(RECORDS))


def test_a_column_of_a_table_is_completed_in_its_own_type():
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    table["race"] = pd.Categorical(np.array(["x", "y", "z"])[X[:, 3].astype(int)])
    before = table.copy()
    model = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0)
    ).fit(table, Y)
    attack = AttributeInferenceAttack(FrozenEstimator(model), "race", random_state=0)
    attack.fit(Records(table, Y))
    assert attack.classes_.tolist() == ["x", "y", "z"]
    assert attack._attribute.complete(table, "y")["race"].dtype == table["race"].dtype
    assert (attack._attribute.complete(table, "y")["race"] == "y").all()
    assert attack.score(Records(table, Y)) > 0.45  # the tree has split records by their race
    pd.testing.assert_frame_equal(table, before)


def test_values_between_whole_numbers_are_guessed_as_well():
    halves = np.column_stack([X[:, :3], X[:, 3] / 2])
    attack = AttributeInferenceAttack(VICTIM, 3, random_state=0).fit(Records(halves, Y))
    assert attack.classes_.tolist() == attack.baseline_values_.tolist() == [0.0, 0.5, 1.0]
    whole = AttributeInferenceAttack(VICTIM, 3, random_state=0).fit(RECORDS)
    expected = whole.compare(RECORDS).loc["baseline"]
    pd.testing.assert_series_equal(attack.compare(Records(halves, Y)).loc["baseline"], expected)


def test_numbers_are_equal_in_the_precision_of_the_less_precise_table():
    tenths = Records(np.column_stack([X[:, :3].round(1), X[:, 3] / 10]), Y)
    single = Records(tenths.X.astype(np.float32), Y)
    expected = AttributeInferenceAttack(VICTIM, 3, random_state=0).fit(tenths).compare(tenths)
    assert expected.loc["attack", "accuracy"] > 0.2
    for fitted, values in ((single, [0.0, 0.1, 0.2]), (single, None), (tenths, None)):
        attack = AttributeInferenceAttack(VICTIM, 3, values=values, random_state=0).fit(fitted)
        pd.testing.assert_frame_equal(attack.compare(single), expected)
        assert attack.score(single) == attack.score(single, tenths.X[:, 3]) > 0.2
        assert attack.score(tenths) == expected.loc["attack", "accuracy"]


@pytest.mark.parametrize(
    "known, narrow",
    [
        ([0, 0.5, 2], np.int64),
        ([1, 2, 300], np.int8),
        (["low", "medium", "no"], "U3"),
        ([False, 2, True], bool),
    ],
)
def test_a_candidate_is_not_cut_off_by_a_narrower_table(known, narrow):
    attack = AttributeInferenceAttack(VICTIM, 1).fit(
        Records(np.column_stack([Y[:3], known]), Y[:3])
    )
    kept = attack.classes_[attack.classes_.astype(narrow) == attack.classes_][:1]
    table = np.column_stack([kept, kept]).astype(narrow)
    for value in attack.classes_:
        assert attack._attribute.complete(table, value)[0, 1] == value


def test_a_candidate_that_is_not_a_category_of_another_table_is_added():
    kinds = pd.Categorical(np.array(["x", "y", "z"])[X[:, 3].astype(int)])
    table = pd.DataFrame({"a": X[:, 0], "kind": kinds})
    attack = AttributeInferenceAttack(VICTIM, "kind").fit(Records(table, Y))
    some = table[kinds != "y"]
    some = some.assign(kind=some["kind"].cat.remove_unused_categories())
    completed = attack._attribute.complete(some, "y")["kind"]
    assert (completed == "y").all() and list(completed.cat.categories) == ["x", "z", "y"]


def test_the_baseline_reads_a_label_by_its_class_also_in_a_table_that_lacks_a_class():
    names = np.array(["a", "b", "c"])
    sorts = names[np.random.default_rng(0).integers(3, size=300)]
    table = np.column_stack([X[:, :3], np.searchsorted(names, sorts)])
    victim = FrozenEstimator(LogisticRegression().fit(table, sorts))
    attack = AttributeInferenceAttack(victim, 3, random_state=0).fit(Records(table, sorts))
    some = sorts != "a"
    assert attack.compare(Records(table[some], sorts[some])).loc["baseline", "accuracy"] == 1.0


def test_an_attribute_that_is_missing_is_refused():
    lacks = np.where(np.arange(300) == 7, np.nan, X[:, 3])
    records = Records(np.column_stack([X[:, :3], lacks]), Y)
    with pytest.raises(ValueError, match="lacks 1 of 300 values, first at position 7. Leave out"):
        AttributeInferenceAttack(VICTIM, 3).fit(records)


def test_a_block_is_completed_as_a_whole():
    one_hot = np.column_stack([X[:, :3], np.eye(3)[X[:, 3].astype(int)]])
    victim = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(one_hot, Y))
    attack = AttributeInferenceAttack(victim, slice(3, 6), random_state=0).fit(Records(one_hot, Y))
    assert attack.classes_.tolist() == [3, 4, 5]
    for value in (3, 4, 5):
        completed = attack._attribute.complete(one_hot, value)
        np.testing.assert_array_equal(completed[:, 3:], np.eye(6)[[value] * 300][:, 3:])
    np.testing.assert_array_equal(attack._attribute.read(one_hot), X[:, 3] + 3)
    table = pd.DataFrame(one_hot, columns=[*"abc", "r0", "r1", "r2"])
    named = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(table, Y))
    by_name = AttributeInferenceAttack(named, ["r0", "r1", "r2"], random_state=0)
    by_name.fit(Records(table, Y))
    positions = [["r0", "r1", "r2"].index(name) + 3 for name in by_name.predict(Records(table, Y))]
    np.testing.assert_array_equal(positions, attack.predict(Records(one_hot, Y)))


def test_a_victim_that_knows_nothing_leaks_nothing_beyond_the_baseline():
    # The attribute follows from the first column: the baseline guesses it, the victim need not.
    X = RNG.normal(size=(600, 3))
    X = np.column_stack([X, X[:, 0] > 0])
    y = (X[:, 0] + 0.1 * RNG.normal(size=600) > 0).astype(int)
    victim = FrozenEstimator(LogisticRegression().fit(X[:300], y[:300]))
    attack = AttributeInferenceAttack(victim, 3, random_state=0).fit(Records(X[300:], y[300:]))
    table = attack.compare(Records(X[:300], y[:300]))
    assert table.loc["baseline", "accuracy"] > 0.95
    assert table.loc["difference", "high"] < 0.02


def test_a_baseline_that_knows_the_records_is_warned_of():
    attack = AttributeInferenceAttack(VICTIM, 3, random_state=0).fit(RECORDS[:200])
    with pytest.warns(UserWarning, match="was fitted on 50 of the 150 records, so it knows their"):
        attack.compare(RECORDS[150:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attack.compare(RECORDS[200:])


def test_equal_records_of_different_people_are_not_what_the_baseline_knows():
    rng = np.random.default_rng(0)
    few = Records(rng.integers(4, size=(300, 4)).astype(float), rng.integers(2, size=300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AttributeInferenceAttack(VICTIM, 3).fit(few[:150]).compare(few[150:])


def test_a_victim_that_knows_its_records_by_heart_leaks_beyond_the_baseline():
    half = np.arange(300) < 150
    # Completed with its own value a record is its own neighbor, otherwise another one is.
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(X[half], Y[half])
    attack = AttributeInferenceAttack(FrozenEstimator(model), 3, random_state=0)
    attack.fit(RECORDS[~half])
    table = attack.compare(RECORDS[half])
    assert table.loc["difference", "low"] > 0
    assert table.loc["attack", "accuracy"] == attack.score(RECORDS[half])


def test_a_comparison_of_one_record_says_nothing():
    attack = AttributeInferenceAttack(VICTIM, 3, random_state=0).fit(RECORDS)
    for record in (RECORDS[[0]], RECORDS[[1]]):
        low, high = attack.compare(record).loc["difference", ["low", "high"]]
        assert -1 <= low < 0 < high <= 1


def test_a_regressor_has_losses_and_gradients():
    y = X @ [1.0, 2, 3, 4] + 0.01 * RNG.normal(size=300)
    victim = FrozenEstimator(LinearRegression().fit(X, y))
    for criterion in ("loss", "gradient"):
        attack = AttributeInferenceAttack(victim, 3, criterion=criterion, random_state=0)
        assert attack.fit(Records(X, y)).score(Records(X, y)) == 1.0
    with pytest.raises(ValueError, match="criterion='softmax' needs class probabilities"):
        attack.set_params(criterion="softmax").fit(Records(X, y)).predict(Records(X, y))


def test_torch_tensors_are_completed():
    torch = pytest.importorskip("torch")
    attack = AttributeInferenceAttack(VICTIM, 3, random_state=0)
    tensors = Records(torch.as_tensor(X), Y)
    expected = attack.fit(RECORDS).predict(RECORDS)
    np.testing.assert_array_equal(attack.fit(tensors).predict(tensors), expected)
    halves = Records(torch.tensor([[0, 0.5], [1, 1.0]]), [0, 1])
    attack = AttributeInferenceAttack(VICTIM, 1, random_state=0).fit(halves)
    completed = attack._attribute.complete(torch.tensor([[0, 1]]), 0.5)
    assert completed.tolist() == [[0, 0.5]]


def test_it_is_an_ordinary_estimator():
    attack = AttributeInferenceAttack(VICTIM, 3, random_state=0)
    with pytest.raises(NotFittedError):
        attack.predict(RECORDS)
    tags = get_tags(attack)
    assert not tags.input_tags.two_d_array and not tags.target_tags.required
    fitted = clone(attack).fit(RECORDS)
    again = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(again.compare(RECORDS), fitted.compare(RECORDS))
    pd.testing.assert_frame_equal(
        clone(fitted).fit(RECORDS).compare(RECORDS), fitted.compare(RECORDS)
    )


@pytest.mark.parametrize(
    "records, settings, message",
    [
        (RECORDS, {"sensitive": None}, "sensitive must name the column"),
        (RECORDS, {"sensitive": 9}, "sensitive=9 is not a column of X"),
        (RECORDS, {"sensitive": slice("a", "b")}, "Give the names of the columns as a list"),
        (RECORDS, {"sensitive": []}, "some but not all of the 4 columns; got 0"),
        (RECORDS, {"sensitive": 0}, "column 0 has 300 values; pass candidates as values="),
        (RECORDS, {"values": [1]}, "Column 3 needs at least two candidates; got 1"),
        (RECORDS, {"values": []}, "Column 3 needs at least two candidates; got 0"),
        (Records(X.astype(str), Y), {"values": [0, 1]}, "must hold values of one type, such as"),
        (RECORDS, {"sensitive": [2, 3]}, "must be one-hot; record 0 is not"),
        (
            RECORDS,
            {"sensitive": [2, 3], "values": [0, 1]},
            "values must be None for a one-hot block",
        ),
        (Records(sparse.csr_matrix(X), Y), {}, "needs X with rows and columns"),
        (Records(X[:, :, None], Y), {}, "needs X with rows and columns"),
    ],
)
def test_bad_input_is_refused(records, settings, message):
    attack = AttributeInferenceAttack(VICTIM, 3).set_params(**settings)
    with pytest.raises(ValueError, match=message):
        attack.fit(records)


def test_rows_of_one_person_are_not_independent():
    attack = AttributeInferenceAttack(VICTIM, sensitive=3, random_state=0).fit(RECORDS)
    alone = attack.compare(RECORDS)
    twice = Records.concat([RECORDS.with_fields(group_by=np.arange(len(RECORDS)))] * 2)
    doubled = attack.compare(twice)
    np.testing.assert_allclose(doubled["accuracy"], alone["accuracy"])
    wide, narrow = (table["high"] - table["low"] for table in (doubled, alone))
    assert (wide > 0.95 * narrow).all()  # as with single rows, while free rows have 0.71 of it
