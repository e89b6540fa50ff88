"""Where bars are drawn in a notebook."""

import io
import sys
from types import SimpleNamespace

import pytest
from tqdm import notebook

from skmia._core import progress
from skmia._core.progress import draws_bars, enter_stage, say_on_stderr, show_progress, show_stages


class NotebookStream(io.StringIO):
    """A stream as a notebook has it."""

    __module__ = "ipykernel.iostream"


def test_a_bar_in_a_notebook_is_not_an_error(monkeypatch):
    out, error = NotebookStream(), NotebookStream()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    say_on_stderr("half of it")
    assert (out.getvalue(), error.getvalue()) == ("half of it", "")
    assert draws_bars()


def test_a_bar_elsewhere_is_drawn_on_the_standard_error(monkeypatch):
    out, error = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    say_on_stderr("half of it")
    assert (out.getvalue(), error.getvalue()) == ("", "half of it")
    assert not draws_bars()


class Widget:
    """A widget that holds what it is given, as those of ipywidgets do."""

    def __init__(self, **settings):
        self.value, self.bar_style = 0, ""
        self.style, self.layout = SimpleNamespace(bar_color=None), SimpleNamespace(width=None)
        self.__dict__.update(settings)


@pytest.fixture
def open_notebook(monkeypatch):
    """A function that makes a notebook of the test; what it shows and prints is returned.

    It is called in the test, because pytest sets the streams again after its fixtures.
    """

    def open_notebook(progress_widget=Widget):
        found = SimpleNamespace(widgets=[], out=NotebookStream(), error=NotebookStream())
        monkeypatch.setattr(sys, "stdout", found.out)
        monkeypatch.setattr(sys, "stderr", found.error)
        kinds = {"IProgress": progress_widget, "HTML": Widget, "TqdmHBox": Widget}
        for name, kind in (kinds | {"display": found.widgets.append}).items():
            monkeypatch.setattr(notebook, name, kind, raising=False)
        progress._load_widget_bar.cache_clear()
        return found

    yield open_notebook
    progress._load_widget_bar.cache_clear()


def read_bar(widget):
    left, bar, right = widget.children
    return bar.value, bar.bar_style, f"{left.value}|{right.value}".replace("\u2007", " ")


def test_a_notebook_with_widgets_draws_the_bar_itself(open_notebook):
    shown = open_notebook()
    assert list(show_progress([1, 2, 3], True, "models")) == [1, 2, 3]
    (widget,) = shown.widgets
    value, style, text = read_bar(widget)
    assert (value, style) == (3, "success")
    assert text.startswith("models: 100%|") and "3/3" in text
    assert shown.out.getvalue() == shown.error.getvalue() == ""


def test_stages_move_one_widget_above_their_lines(open_notebook):
    shown = open_notebook()
    with show_stages({"first": 1.0, "second": 3.0}):
        enter_stage("first")
        enter_stage("second")
        assert list(show_progress([1, 2], True, "models")) == [1, 2]
        assert "second" in read_bar(shown.widgets[0])[2]
    (widget,) = shown.widgets
    assert read_bar(widget)[:2] == (100, "success")
    lines = [line.split() for line in shown.out.getvalue().splitlines()]
    assert [line[:2] for line in lines[:2]] == [["done", "first"], ["done", "second,"]]
    assert "\r" not in shown.out.getvalue() and shown.error.getvalue() == ""


def test_the_bar_of_stages_that_failed_is_red(open_notebook):
    shown = open_notebook()
    with pytest.raises(ZeroDivisionError), show_stages({"first": 1.0, "second": 3.0}):
        enter_stage("first")
        1 / 0  # noqa: B018
    assert read_bar(shown.widgets[0])[1] == "danger"


def test_a_notebook_without_widgets_gets_a_bar_of_characters(open_notebook):
    shown = open_notebook(progress_widget=None)
    assert list(show_progress([1, 2], True, "models")) == [1, 2]
    assert shown.widgets == [] and "models: 100%" in shown.out.getvalue()
