"""Text of others, on one line and without orders to a terminal."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skmia._core.escaping import visible, visible_lines

TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a\n\nNo leakage detected.\nexit 0", r"a\n\nNo leakage detected.\nexit 0"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnitic\u2066", r"\u202egnitic\u2066"),
        ("a\u2028b\u2029c\x85d\x0be\rf\tg", r"a\u2028b\u2029c\x85d\x0be\rf\tg"),
        ("half \ud800", r"half \ud800"),
        ("C:\\new", "C:\\new"),
        ("Zoë Ωμέγα نیم‌فاصله 東京 👩‍🔬", "Zoë Ωμέγα نیم‌فاصله 東京 👩‍🔬"),
        (3.5, "3.5"),
    ],
)
def test_what_is_hidden_is_written_out(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


@given(st.text(st.characters(exclude_categories=())))
@settings(max_examples=40)
def test_every_text_is_one_line_that_can_be_written(text):
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()
    kinds = {unicodedata.category(character) for character in shown}
    assert not kinds & {"Cc", "Zl", "Zp", "Cs"}
    assert not {unicodedata.bidirectional(character) for character in shown} & TURNING


def test_line_ends_that_are_meant_stay():
    assert visible_lines("a\nb\x1b") == "a\nb\\x1b"
