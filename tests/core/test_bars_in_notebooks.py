"""Where bars are drawn in a notebook."""

import io
import sys

from skmia._core.progress import draws_bars, say_on_stderr


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
