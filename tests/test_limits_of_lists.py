"""Lists that are shown to a user end at their limit, and what is left is counted or hinted at."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from skmia import Records, ShadowPool
from skmia._core.error_hints import _advise_on_text
from skmia._core.guesses import check_keywords
from skmia._core.records import _list_some, check_column_name
from skmia.cli._columns import _show_value_counts
from skmia.cli._features_and_target import _propose_member_value, infer_task
from skmia.inspection._inspect import _write_stored
from skmia.report._permutations import HIGHEST_LEVEL, count_permutations
from skmia.report._words import join_names
from skmia.report.agreement._assignment import describe_assignment
from skmia.shadow import RecordSignalsDisplay


def say(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    return str(caught.value)


def name(n):
    return [f"n{k}" for k in range(n)]


def show_assignment(n):
    labels = np.repeat(np.arange(n), 2)
    moved = dict.fromkeys(range(n), n)
    return describe_assignment(moved, labels, np.full(2 * n, n), [*name(n), "other"])


def show_stored(n):
    row = {"kind": "rows", "shape": (2, 3), "n_arrays": 2, "bytes": 48}
    return "\n".join(_write_stored(pd.DataFrame([row | {"path": path} for path in name(n)])))


# A text for n names, how many of them are named, and what is said of one and of two more.
LISTS = {
    "columns of texts": (
        lambda n: _advise_on_text("'a'", pd.DataFrame({k: ["a", "b"] for k in name(n)})),
        *(3, " and 1 others", " and 2 others"),
    ),
    "keywords": (
        lambda n: say(lambda: check_keywords("f", {"wrong": 1}, name(n))),
        *(12, ", ...", ", ..."),
    ),
    "columns": (
        lambda n: say(lambda: check_column_name(pd.DataFrame(columns=name(n)), "wrong")),
        *(30, ", ...", ", ..."),
    ),
    "labels": (lambda n: _list_some(name(n)), 12, ", ...", ", ..."),
    "values of a column": (
        lambda n: _show_value_counts(Counter(name(n))),
        *(5, " and 1 others", " and 2 others"),
    ),
    "moved labels": (show_assignment, 3, " 1 more label.", " 2 more labels"),
    "stored arrays": (show_stored, 12, "48  1 place", "96  2 places"),
    "names": (lambda n: join_names(name(n), 4), 4, " and 1 more", " and 2 more"),
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_ends_at_its_limit_and_counts_the_others(kind):
    show, most, one_more, two_more = LISTS[kind]
    for n, more in ((1, None), (most, None), (most + 1, one_more), (most + 2, two_more)):
        text = show(n)
        assert {*re.findall(r"\bn\d+\b", text)} >= {*name(min(n, most))}
        assert f"n{most}" not in text
        for words in {one_more, two_more, "..."}:
            assert (words in text) == (more is not None and words in more)


def test_integers_are_classes_up_to_twenty_of_them():
    for n_values, task in ((20, "classification"), (21, "regression")):
        assert infer_task(pd.Series(np.arange(60) % n_values)) == task


def test_a_level_is_as_high_as_so_many_permutations_can_show():
    # With one permutation fewer than the p-value is a share of.
    levels = (0.5, 0.95, 0.999, HIGHEST_LEVEL)
    assert [*map(count_permutations, levels)] == [999, 999, 9_999, 99_999]
    with pytest.raises(ValueError, match=r"confidence_level must be at most 0\.9999 in an audit"):
        count_permutations(1 - 9.9e-5)


def test_signals_of_at_most_24_records_are_drawn():
    records = Records(np.arange(25.0)[:, None], np.arange(25) % 2)
    inside = np.random.default_rng(0).random((4, 25)) < 0.5
    pool = ShadowPool.from_scores(np.zeros((4, 25)), inside, records)
    with pytest.raises(ValueError, match=r"shows 1 to 24 records; got 25\."):
        RecordSignalsDisplay.from_pool(pool, records)


def test_the_value_of_the_members_is_proposed_if_there_are_two():
    for values, said in (
        (["in", "out ", None], "; name the value of the members: --member-value in or --member-v"),
        (
            ["in", "in"],
            "; other values are allowed if there are two, of which --member-value names",
        ),
        (["in", "out", "?"], "; other values are allowed if there are two"),
    ):
        assert _propose_member_value(pd.Series(values)).startswith(said)
