import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from skmia import Records, ShadowPool
from skmia._core.groups import number_groups, place_names, read_names
from skmia.attacks import ThresholdAttack
from skmia.disparity import DisparityTest
from skmia.games import membership_game
from skmia.report import permutation_test

N = 40
ATTACK = ThresholdAttack(signal="correctness")
NAMES = [f"person {i // 2}" for i in range(N)]

MISSING = {
    "float": np.where(np.arange(N) == 3, np.nan, np.arange(N) // 2),
    "None": np.array([None if i == 3 else name for i, name in enumerate(NAMES)], dtype=object),
    "pd.NA": np.array([pd.NA if i == 3 else name for i, name in enumerate(NAMES)], dtype=object),
    "NaT": np.array(["NaT" if i == 3 else "2020-01-01" for i in range(N)], dtype="datetime64[D]"),
    "categories": pd.Categorical([None if i == 3 else name for i, name in enumerate(NAMES)]),
    "nullable integers": pd.array([None if i == 3 else i // 2 for i in range(N)], dtype="Int64"),
    "a list of text": [np.nan if i == 3 else name for i, name in enumerate(NAMES)],
}


def make_records(group_by):
    y = np.arange(N) % 2
    return Records(np.arange(N)[:, None], y, group_by=group_by, group=np.where(y, "a", "b"))


def fit_pool(records):
    return ShadowPool(DummyClassifier(), 4, random_state=0).fit(records)


def play(records):
    return membership_game(DummyClassifier(), ATTACK, records, n_rounds=2, random_state=0)


def compare_groups(records):
    return DisparityTest(DummyClassifier(), ATTACK, n_rounds=3, random_state=0).fit(records)


def permute(records):
    membership = np.arange(N) < N // 2
    scores = {"attack": np.arange(float(N))}
    return permutation_test(membership, scores, group_by=records["group_by"])


DOORS = {"pool": fit_pool, "game": play, "disparity": compare_groups, "permutation": permute}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", MISSING)
def test_records_of_unknown_persons_are_not_taken_for_one_person(kind, door):
    message = f"group_by has no value for 1 of {N} records, first at position 3"
    with pytest.raises(ValueError, match=message):
        DOORS[door](make_records(MISSING[kind]))


@pytest.mark.parametrize("door", DOORS)
def test_names_that_cannot_be_compared_are_refused(door):
    mixed = np.array([1, *NAMES[1:]], dtype=object)
    with pytest.raises(ValueError, match="group_by must hold values of one type.* got int, str"):
        DOORS[door](make_records(mixed))


@pytest.mark.parametrize("door", DOORS)
def test_a_table_of_groups_is_refused(door):
    with pytest.raises(ValueError, match=r"group_by needs one value .* got shape \(40, 2\)"):
        DOORS[door](make_records(np.ones((N, 2))))


@pytest.mark.parametrize(
    "values", [["b", "a", "b"], [2.5, -1.0, 2.5], [True, False, True], np.array([3, 1, 3], object)]
)
def test_groups_are_numbered_in_the_order_of_their_names(values):
    names, numbers = number_groups(values, 3)
    assert names.tolist() == sorted(set(values))
    assert numbers.tolist() == [1, 0, 1]


@pytest.mark.parametrize("kind", MISSING)
def test_names_are_found_among_known_ones_and_a_missing_name_is_none_of_them(kind):
    names = read_names(make_records(MISSING[kind]), "group_by")
    known = np.unique(names[~pd.isna(names)])[::-1]
    found = place_names(np.append(names, known[:1]), known)
    missing = pd.isna(names)
    assert (found[:-1] == -1).tolist() == missing.tolist() and found[-1] == 0
    assert (known[found[:-1][~missing]] == names[~missing]).all()


def test_names_can_be_tuples_or_numbers_of_another_type():
    tuples = np.empty(3, dtype=object)
    tuples[:] = [(1, "a"), (2, "a"), (1, "b")]
    assert place_names(tuples[[2, 0]], tuples).tolist() == [2, 0]
    assert place_names(np.array([2.0, 0.5, 7.0]), np.array([7, 2])).tolist() == [1, -1, 0]
    mixed = np.array(["a", "ab"], dtype=object)
    assert place_names(np.array(["b", "a"]), mixed).tolist() == [-1, 0]
