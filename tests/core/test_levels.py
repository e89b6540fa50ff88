"""The words of a conclusion: a level is a str that is ordered by harm."""

import copy
import json
import pickle

import pytest

from skmia._core.levels import Level, set_level

WORDS = ["unknown", "none", "slight", "clear", "severe"]


def test_a_level_is_its_word():
    level = Level("severe", numbers={"auc": {"low": 0.9}})
    assert level == "severe" and "severe" == level and level in {"severe"}
    assert f"{level}" == level.name == str(level) == "severe" and type(level.name) is str
    assert json.dumps({"level": level}) == '{"level": "severe"}'


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
@pytest.mark.parametrize("kind", [Level, str])
def test_levels_and_words_are_ordered_by_harm(first, second, kind):
    level, other = Level(WORDS[first]), kind(WORDS[second])
    assert (level > other, level >= other) == (first > second, first >= second)
    assert (level < other, level <= other) == (first < second, first <= second)
    assert (other > level, other <= level) == (second > first, second <= first)


def test_levels_are_sorted_by_harm():
    levels = [Level(word) for word in sorted(WORDS)]
    assert sorted(levels) == WORDS and max(levels) == "severe" and min(levels) == "unknown"


def test_an_unknown_word_is_refused():
    for ask in (lambda: Level("sever"), lambda: Level("severe") > "sever"):
        with pytest.raises(ValueError, match="one of 'unknown', 'none'.*got 'sever'"):
            ask()
    with pytest.raises(TypeError):
        Level("severe") > 2  # noqa: B015


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_keep_what_the_level_rests_on(again):
    level = set_level("leak", {"auc": {"low": 0.61, "estimate": 0.85, "attack": "a"}})
    level = level.change(groups=({"scope": "sex", "group": "f", "name": "severe"},))
    found = again(level)
    assert type(found) is Level and found.as_dict() == level.as_dict() and found.at_least


def test_one_row_that_is_stored_whole_is_severe():
    assert set_level("leak", {"rows": {"low": 1, "estimate": 1}}) == "severe"
