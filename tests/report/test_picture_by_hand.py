"""The picture of a report for a notebook: its dots and curves, with numbers by hand."""

from itertools import pairwise
from types import SimpleNamespace as NS

import pytest

from skmia._core.levels import Level
from skmia.report import _report
from skmia.report._captions import MISTAKEN, RECOGNIZED
from skmia.report._screen import MEANS

pytest.importorskip("matplotlib")


def make_axes(n):
    from matplotlib.figure import Figure

    return Figure().subplots(1, n, squeeze=False)[0]


def make_grid(number, filled, base, text="told", level=None):
    return {"number": number, "filled": filled, "base": base, "text": text, "level": level}


def draw_dots(*grids):
    (ax,) = make_axes(1)
    _report._draw_dots(ax, grids, Level("clear"))
    dots = [(one.get_offsets().tolist(), one.get_sizes().tolist()) for one in ax.collections]
    words = [(one.get_text(), tuple(one.xy), tuple(one.get_position())) for one in ax.texts]
    return ax, dots, words


def test_dots_are_filled_from_the_left_in_rows_of_ten():
    ax, dots, words = draw_dots(
        make_grid("12", 12, 100, level=Level("severe")),
        make_grid("3", 0, 1000, "of which each is told in several words"),
        make_grid("1", 1, 100),
    )
    (first, large), (rest, small), (one, _), (others, _) = dots
    assert first == [[column, 0] for column in range(10)] + [[0, -1], [1, -1]]
    assert rest[:2] == [[2, -1], [3, -1]] and rest[-1] == [9, -9] and len(rest) == 88
    assert large == [22] and small == [3]
    # The second count is not of a hundred, so that it has a number alone.
    assert one == [[26, 0]] and others[0] == [27, 0] and len(others) == 99
    assert words == [
        ("told", (-0.4, 0.8), (0, 0)),
        ("12 of 100", (-0.4, 0.8), (0, 33)),
        ("of which each is\ntold in several\nwords", (12.6, 0.8), (0, 0)),
        ("3 of 1,000", (12.6, 0.8), (0, 33)),
        ("told", (25.6, 0.8), (0, 0)),
        ("1 of 100", (25.6, 0.8), (0, 33)),
    ]
    assert ax.get_xlim() == (-1, 36) and ax.get_ylim() == (-10, 8) and ax.get_aspect() == 1
    assert ax.get_title(loc="left") == "Clear leakage" and not ax.axison
    colors = [one.get_color() for one in ax.texts]
    assert colors[1] == "#a3123a" and colors[0] == colors[2] == colors[3] == "#14181f"
    assert ax._left_title.get_color() == "#b04c00"


def test_a_count_of_nothing_is_a_dash_and_one_grid_is_as_wide_as_its_dots():
    ax, dots, words = draw_dots(make_grid("-", 0, None))
    assert dots == [] and [text for text, *_ in words] == ["told", "-"]
    assert ax.get_xlim() == (-1, 10)


def test_a_point_without_anyone_mistaken_is_drawn_at_the_edge(monkeypatch):
    curves = [make_curve("file", (0.0, 0.125), 0.25)]
    monkeypatch.setattr(_report, "list_document_routes", lambda document: document)
    monkeypatch.setattr(_report, "describe_picture", lambda *given: ([], curves, 0.05))
    axes = make_axes(2)
    _report.draw_picture([NS(level=Level("clear"), way="file")], axes)
    point = axes[1].lines[1]
    assert point.get_xydata().tolist() == [[1e-3, 0.125]] and not point.get_clip_on()
    assert axes[1].texts[0].get_text() == "file" and axes[1].texts[0].xy == (1e-3, 0.125)


def make_curve(name, at, start=0.0, dashed=False):
    curve = {"fpr": [0.0, 0.25, 0.5], "tpr": [0.125, 0.5, 0.75], "low": [0, 0.4, 0.7]}
    curve |= {"high": [0.2, 0.6, 0.8], "level": "severe", "from": start, "at": at}
    return curve | {"name": name, "dashed": dashed}


def test_the_words_of_four_counts_do_not_cover_each_other():
    texts = [f"{kind} {way}" for kind in (RECOGNIZED, MISTAKEN) for way in MEANS.values()]
    ax, *_ = draw_dots(*(make_grid("12", 12, 100, text) for text in texts))
    ax.figure.set_size_inches(5, 4)  # a half of the picture
    ax.figure.set_layout_engine("constrained")
    ax.figure.draw_without_rendering()
    boxes = [one.get_window_extent() for one in ax.texts[::2]]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


@pytest.mark.parametrize("rate", [None, 0.02, 0.5])
def test_curves_begin_where_they_are_known_and_are_named_at_what_is_told(monkeypatch, rate):
    curves = [make_curve("service", (0.5, 0.75)), make_curve("file", None, 0.25, dashed=True)]
    monkeypatch.setattr(_report, "list_document_routes", lambda document: document)
    monkeypatch.setattr(_report, "describe_picture", lambda *given: ([], curves, rate))
    monkeypatch.setattr(_report, "get_highest", lambda routes: routes[0])
    axes = make_axes(2)
    _report.draw_picture([NS(level=Level("none"))], axes)
    ax = axes[1]
    lines = [(line.get_xydata().tolist(), line.get_linestyle()) for line in ax.lines]
    assert lines[:4] == [
        ([[0.0, 0.125], [0.25, 0.5], [0.5, 0.75]], "-"),
        ([[0.5, 0.75]], "None"),
        ([[0.25, 0.5], [0.5, 0.75]], "--"),
        ([[1e-3, 1e-3], [1, 1]], ":"),
    ]
    # A line stands only where the curves have their points.
    marked = [[0.5, 0.5]] if rate == 0.5 else []
    assert [line.get_xdata() for line in ax.lines[4:]] == marked
    assert [line.get_label() for line in ax.lines[:3:2]] == ["service", "file"]
    assert [(one.get_text(), tuple(one.xy), one.get_position()) for one in ax.texts] == [
        ("service", (0.5, 0.75), (7, -12)),
        ("file", (0.25, 0.5), (7, -12)),
        ("guessing", (0.12, 0.07), (0.12, 0.07)),
    ]
    band = ax.collections[1].get_paths()[0].vertices.tolist()
    assert {tuple(one) for one in band} == {(0.25, 0.4), (0.25, 0.6), (0.5, 0.7), (0.5, 0.8)}
    assert ax.get_xlim() == ax.get_ylim() == (1e-3, 1)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    for axis in (ax.xaxis, ax.yaxis):
        assert axis.get_ticklocs().tolist() == [1e-3, 1e-2, 0.1, 1]
        labels = [one.get_text() for one in axis.get_ticklabels()]
        assert labels == ["0.1%", "1%", "10%", "100%"]
    assert ax.get_xlabel() == _report.MISTAKEN and ax.get_ylabel() == _report.RECOGNIZED
    assert axes[0].get_title(loc="left") == "No leakage detected"
