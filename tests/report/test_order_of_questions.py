"""Which questions about a model and a table are asked, of whom, and how often."""

from types import SimpleNamespace

import pytest

from skmia.report.agreement import _ask

# Whether each needs clones, is early whatever it needs, and is about the file.
KINDS = {
    "file": (False, None, True),
    "rows": (False, None, False),
    "late": (False, False, False),
    "clones": (True, None, False),
    "early": (True, True, False),
    "fails": (False, None, False),
    "silent": (False, None, False),
}


def test_questions_are_asked_in_the_order_of_causes_and_say_what_they_need():
    def name(what):
        return [one.name for one in _ask.QUESTIONS if getattr(one, what)]

    of_clones = ["repairs", "constant answers", "rows", "units", "skill", "recipe"]
    of_file = ["known values", "own numbers"]
    assert [one.name for one in _ask.QUESTIONS] == [
        *of_file,
        *("repairs", "labels", "constant answers", "rows", "units", "skill", "recipe", "repeats"),
    ]
    assert name("needs_clones") == of_clones and name("is_of_file") == of_file
    assert name("is_early") == ["repairs"] and name("is_of_noise") == ["rows", "skill"]


@pytest.fixture
def asked_of(monkeypatch):
    """What each question was asked of, in the order in which they were asked."""
    calls = []

    def make(name, needs_clones, is_early, is_of_file):
        def ask(met, references):
            calls.append((name, len(references)))
            if name == "fails":
                raise ZeroDivisionError("by zero")
            return None if name == "silent" else f"reply of {name}"

        return SimpleNamespace(
            name=name, needs_clones=needs_clones, is_early=is_early, is_of_file=is_of_file, ask=ask
        )

    questions = tuple(make(name, *kind) for name, kind in KINDS.items())
    monkeypatch.setattr(_ask, "QUESTIONS", questions)
    return calls


def ask(is_told=True, references=(), replies=None, asked=None, **settings):
    replies, asked, notes = {} if replies is None else replies, asked or [], []
    met = SimpleNamespace(is_told=is_told)
    _ask._ask_all(met, list(references), replies, asked, notes, **settings)
    return replies, asked, notes


def test_early_questions_are_asked_once_and_the_others_when_there_are_clones(asked_of):
    replies, asked, notes = ask(first=True)
    assert [name for name, _ in asked_of] == ["file", "rows", "early", "fails", "silent"]
    assert asked == ["file", "rows", "early", "silent"]
    assert list(replies) == ["file", "rows", "early"]
    assert len(notes) == 1 and "fails" in notes[0] and "by zero" in notes[0]
    asked_of.clear()
    replies, asked, _ = ask(references=["a clone"], replies=replies, asked=asked)
    # The one that failed is asked again, the silent one is not.
    assert asked_of == [("late", 1), ("clones", 1), ("fails", 1)]
    assert set(replies) == {"file", "rows", "early", "late", "clones"}


def test_without_clones_those_that_need_none_are_asked(asked_of):
    ask()
    assert [name for name, _ in asked_of] == ["file", "rows", "late", "fails", "silent"]


def test_of_a_model_that_nobody_tells_of_only_the_file_is_asked(asked_of):
    for settings in ({}, {"first": True}, {"references": ["a clone"]}):
        asked_of.clear()
        replies, asked, _ = ask(is_told=False, **settings)
        assert (list(replies), asked) == (["file"], ["file"])
        assert [name for name, _ in asked_of] == ["file"]
