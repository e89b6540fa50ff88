"""Levels in terminals: two marks and colors for any two levels, readable on white and on black."""

import itertools

import pytest

from skmia._core.levels import BARS
from skmia._core.text import ASCII
from skmia.cli._colors import COLORS, color_levels

CUBE = (0, 95, 135, 175, 215, 255)
# What xterm makes of the sixteen colors.
XTERM = [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205)]
XTERM += [(0, 205, 205), (229, 229, 229), (127, 127, 127), (255, 0, 0), (0, 255, 0)]
XTERM += [(255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255)]
WHITE, BLACK = (255, 255, 255), (0, 0, 0)


def luminance(color):
    """Relative luminance of WCAG 2."""
    parts = [part / 255 for part in color]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(color, other):
    low, high = sorted(map(luminance, (color, other)))
    return (high + 0.05) / (low + 0.05)


def read_code(code):
    """The color of a code, or None where letters have none."""
    numbers = list(map(int, code.split(";")))
    if numbers[-2:-1] == [5]:
        index = numbers[-1] - 16
        return CUBE[index // 36], CUBE[index // 6 % 6], CUBE[index % 6]
    color = numbers[-1]
    return None if color < 30 else XTERM[color - 30 if color < 90 else color - 82]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_each_of_256_colors_is_readable_on_both(level):
    color = read_code(COLORS[256][level])
    assert min(contrast(color, WHITE), contrast(color, BLACK)) >= 4.5


def test_of_16_colors_the_most_readable_are_taken():
    best = sorted(XTERM, key=lambda one: -min(contrast(one, WHITE), contrast(one, BLACK)))
    taken = {read_code(code) for code in COLORS[16].values()} - {None}
    assert taken <= {*best[:4]}
    assert all(min(contrast(one, WHITE), contrast(one, BLACK)) >= 3.9 for one in taken)


def test_any_two_levels_have_two_marks_and_two_colors():
    for first, other in itertools.combinations(range(4), 2):
        assert BARS[first] != BARS[other]
        assert BARS[first].translate(ASCII) != BARS[other].translate(ASCII)
        assert all(codes[first] != codes[other] for codes in COLORS.values())


@pytest.mark.parametrize(("term", "n_colors"), [("xterm-256color", 256), ("linux", 16)])
def test_clear_and_slight_differ_in_the_terminal(term, n_colors):
    text = "  ▂▅·  CLEAR LEAKAGE   as a file\n  ▂··  at least slight leakage   as a service"
    text += "\n\nWords"
    clear, slight, *rest = color_levels(text, {"TERM": term}).split("\n")
    assert clear == f"\x1b[{COLORS[n_colors][2]}m  ▂▅·  CLEAR LEAKAGE\x1b[0m   as a file"
    assert slight.startswith(f"\x1b[{COLORS[n_colors][1]}m  ▂··  at least")
    assert rest == ["", "Words"]


def test_a_terminal_without_bars_has_the_same_colors():
    text = "  ▂▅█  SEVERE LEAKAGE   as a file".translate(ASCII)
    assert color_levels(text, {"COLORTERM": "truecolor"}).startswith(f"\x1b[{COLORS[256][3]}m  ###")


def test_a_comparison_has_the_color_of_the_second_audit():
    text = "  ▂▅█ -> ▂··  LESS LEAKAGE   as a service: severe -> slight"
    line = color_levels(text, {"TERM": "xterm-256color"})
    assert line.startswith(f"\x1b[{COLORS[256][1]}m  ▂▅█ -> ▂··  LESS LEAKAGE\x1b[0m   as")
