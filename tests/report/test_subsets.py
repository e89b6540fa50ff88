"""Parts of the records by fields and classes, in their order, up to their number."""

from types import SimpleNamespace

import numpy as np
import pytest

from skmia import Records
from skmia.report import _examine
from skmia.report._measure import list_subsets


def list_named(records, group=None, **settings):
    return [
        (scope, name, int(mask.sum()))
        for scope, name, mask in list_subsets(records, group, **settings)
    ]


def make_records(n, y, **fields):
    return Records(np.arange(float(n))[:, None], y, **fields)


def test_parts_are_all_records_then_fields_as_they_are_asked_for_then_classes():
    records = make_records(6, [0, 0, 0, 1, 1, 2], b=[*"yxxxyy"], a=[1, None, 2, 2, 2, 1])
    found = list_named(records, ["b", "a", "b"], classes=True)
    (overall, *_), *parts = found
    assert found[0][2] == len(records) and overall not in {scope for scope, _, _ in parts}
    assert [part for part in parts if part[0] == "b"] == [("b", "x", 3), ("b", "y", 3)]
    named = {name: n for scope, name, n in parts if scope == "a"}
    assert len(named) == 3 and sorted(named.values()) == [1, 2, 3]
    assert [n for scope, _, n in parts if scope not in "ab"] == [3, 2, 1]
    assert [scope for scope, *_ in parts][:5] == ["b", "b", "a", "a", "a"]
    assert len(list_subsets(records, "b")) == 3
    assert list_named(records) == found[:1]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.array([1, 1.0, 2.0, np.float32(2)], dtype=object), [("1", 2), ("2", 2)]),
        ([1.0, 0.0, np.nan, 1.0], [("(missing)", 1), ("0", 1), ("1", 2)]),
        ([0.5, 1.0, 1.0, np.inf], [("0.5", 1), ("1", 2), ("inf", 1)]),
        (np.array([1, "1", "1.0", 2], dtype=object), [("1", 2), ("1.0", 1), ("2", 1)]),
    ],
)
def test_equal_numbers_are_one_group_named_as_whole_ones(values, names):
    records = make_records(4, [0, 1, 0, 1], a=values)
    assert [(name, n) for scope, name, n in list_named(records, "a") if scope == "a"] == names


@pytest.mark.parametrize(("n_classes", "n_listed"), [(1, 0), (2, 2), (20, 20), (21, 0)])
def test_classes_are_listed_if_there_are_two_to_twenty(n_classes, n_listed):
    records = make_records(42, np.arange(42) % n_classes)
    assert len(list_named(records, classes=True)) == 1 + n_listed


def test_a_field_of_more_than_a_hundred_values_is_refused():
    records = make_records(101, np.zeros(101, int), few=np.arange(101) % 100, many=np.arange(101))
    assert len(list_named(records, "few")) == 101
    with pytest.raises(ValueError, match="The field 'many' has 101 values; at most 100 groups"):
        list_subsets(records, ["few", "many"])


@pytest.mark.parametrize(
    ("group", "error", "said"),
    [
        (3, TypeError, "group must name a field of the records, or several; got 3"),
        (["a", 3], TypeError, "group must name a field"),
        ("empty", ValueError, "The field 'empty' has no value for any record"),
        ("overall", ValueError, "group must not name a field 'overall'"),
        (["a", "overall"], ValueError, "group must not name a field 'overall'"),
    ],
)
def test_what_is_no_field_is_refused(group, error, said):
    records = make_records(4, [0, 1, 0, 1], a=[1, 2, 1, 2], empty=[None] * 4)
    with pytest.raises(error, match=said):
        list_subsets(records, group)


@pytest.mark.parametrize("n_groups", [1, 2, 20, 21])
def test_from_2_to_20_groups_are_compared(n_groups, monkeypatch):
    parts = {"_is_large_group": True, "_test": None, "_describe_disparity": {}}
    for name, answer in parts.items():
        monkeypatch.setattr(_examine, name, lambda *given, answer=answer: answer)
    subsets = [("site", str(k), None) for k in range(n_groups)]
    rounds = SimpleNamespace(guesses=np.zeros((2, 1)))
    found = _examine.compare_groups(rounds, None, subsets, 0.95, 0)
    assert found == ([{"scope": "site", "left_out": []}] if 2 <= n_groups <= 20 else [])
