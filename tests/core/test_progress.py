import io
import multiprocessing
import os
import re
import signal
import sys
import threading
import time

import pytest

from skmia._core import progress
from skmia._core.progress import make_bar, show_progress


def test_a_log_gets_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "BETWEEN_LINES", 0.0)
    with make_bar("models", 3, "{bar}") as bar:
        for name in ("a", "a", "b"):
            bar.set_postfix_str(name, refresh=False)
            bar.update()
    *lines, end = capsys.readouterr().err.split("\n")
    assert end == "" and len(lines) >= 3
    assert all(line.startswith("models: ") and line.endswith(")") for line in lines)
    assert lines[-1].startswith("models: 3 of 3 (") and lines[-1].endswith(", b)")
    assert "\r" not in "".join(lines)


def test_the_clock_moves_while_a_result_takes_long(capsys, monkeypatch):
    for name in ("BETWEEN_TICKS", "_BETWEEN_MOVES"):
        monkeypatch.setattr(progress, name, 0.01)
    monkeypatch.setattr(progress, "draws_bars", lambda file=None: True)
    drawn = []

    def work():
        for _ in range(200):
            time.sleep(0.02)
            drawn.append(capsys.readouterr().err)
            if sum("models:   0%" in text for text in drawn) > 3:
                break
        yield 0

    assert list(show_progress(work(), True, "models", 2)) == [0]
    assert sum("models:   0%" in text for text in drawn) > 3
    assert not [thread for thread in threading.enumerate() if thread.name == "skmia-bar"]


def test_what_takes_seconds_gets_no_line(capsys):
    assert list(show_progress(range(3), True, "models")) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_a_bar_is_shown_when_it_is_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(progress, "draws_bars", lambda file=None: True)
    assert list(show_progress(iter(range(3)), True, "models", 3)) == [0, 1, 2]
    assert "models: 100%" in capsys.readouterr().err
    assert list(show_progress(iter(range(3)), 0, "models", 3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def hold_the_lock_of_tqdm(is_held):
    from tqdm import tqdm

    tqdm.get_lock().acquire()
    is_held.set()
    signal.pause()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test kills a forked process")
def test_a_process_that_is_killed_while_it_draws_a_bar_stops_no_other():
    from tqdm import tqdm

    lock = tqdm.get_lock()
    context = multiprocessing.get_context("fork")
    try:
        tqdm.set_lock(context.RLock())  # shared with the fork, and of this test alone
        is_held = context.Event()
        process = context.Process(target=hold_the_lock_of_tqdm, args=(is_held,))
        process.start()
        assert is_held.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert list(show_progress([1, 2], False, "models")) == [1, 2]
    finally:
        tqdm.set_lock(lock)


class Terminal(io.StringIO):
    def isatty(self):
        return True


SHARES = {"first": 1.0, "second": 3.0, "third": 4.0}


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when they are told to."""
    passed = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: passed[0])
    return lambda seconds: passed.append(passed.pop() + seconds)


def test_stages_say_what_is_over_and_how_long_the_rest_takes(clock):
    stages = progress.Stages(SHARES, Terminal())
    stages.enter("first")
    assert stages.measure() == (0.0, None)  # nothing is known yet
    clock(10.0)
    stages.enter("second")
    # An eighth took ten seconds, so the other parts take thirty and forty.
    assert stages.measure() == (10.0, 70.0)
    clock(15.0)
    stages.move(1, 4)
    assert stages.measure() == (25.0, 45.0 + 40.0)
    stages.enter("first")  # which is over
    clock(40.0)
    stages.enter("third")
    passed, left = stages.measure()
    assert passed == 65.0 and left == pytest.approx(65.0)
    stages.close()
    drawn = stages._file.getvalue()
    lines = [line for line in re.split("[\r\n]", drawn) if line.strip().startswith("done")]
    assert [line.split() for line in lines] == [
        ["done", "first", "0:10", "usually", "12%"],
        ["done", "second,", "4", "0:55", "usually", "38%"],
        ["done", "third", "0:00", "usually", "50%"],
    ]
    assert max(map(len, re.split("[\r\n]", drawn))) < 80
    assert "about 1:10 left" in drawn


def test_the_share_that_is_done_never_falls(clock):
    stages = progress.Stages(SHARES, Terminal())
    stages.plan(SHARES, 80.0, "")
    shown = []
    for name, seconds in (("first", 30.0), ("second", 5.0), ("third", 200.0)):
        stages.enter(name)
        for _ in range(5):
            clock(seconds / 5)
            stages._draw()
            shown.append(stages._most)
    assert shown == sorted(shown) and shown[0] > 0 and shown[-1] < 100


def test_stages_in_a_log_are_lines_and_a_short_task_has_none(clock):
    short = progress.Stages(SHARES, io.StringIO())
    for name in SHARES:
        short.enter(name)
        clock(1.0)
    short.close()
    assert short._file.getvalue() == ""
    long = progress.Stages(SHARES, io.StringIO())
    long.plan(SHARES, 800.0, "About 13 minutes.")
    long.enter("first")
    clock(100.0)
    long._draw()
    long.enter("second")
    assert long._file.getvalue().splitlines() == [
        "About 13 minutes.",
        "  now    first: 1:40 passed, about 11:50 left",
        f"  done   {'first':32s}    1:40   usually 12%",
    ]


def test_a_terminal_without_blocks_gets_other_characters(clock):
    class Latin(Terminal):
        encoding = "latin-1"

    file = Latin()
    stages = progress.Stages(SHARES, file)
    stages.plan(SHARES, 80.0, "")
    stages.enter("first")
    clock(40.0)
    stages._draw()
    assert "##" in file.getvalue() and "\u2588" not in file.getvalue()


def test_a_bar_inside_stages_moves_them(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.show_stages(SHARES), progress.show_stages({"other": 1.0}):
        progress.enter_stage("second")
        assert list(show_progress(range(3), True, "models")) == [0, 1, 2]
        assert progress._stages._part == (3, 3)
    assert progress._stages is None
    assert "models" not in sys.stderr.getvalue() and "second, 3" in sys.stderr.getvalue()
    assert not [thread for thread in threading.enumerate() if thread.name == "skmia-stages"]


def test_times_are_written_as_people_do():
    assert [progress.format_seconds(s) for s in (0.4, 65, 3723)] == ["0:00", "1:05", "1:02:03"]


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text):
        raise OSError(5, "Input/output error")

    flush = close = lambda self: None


def make_closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("draws", [True, False])
@pytest.mark.parametrize("make", [lambda: None, make_closed, Gone], ids=["none", "closed", "gone"])
def test_a_standard_error_that_is_missing_costs_no_result(make, draws, monkeypatch):
    monkeypatch.setattr(progress.sys, "stderr", make())
    monkeypatch.setattr(progress, "draws_bars", lambda file=None: draws)
    monkeypatch.setattr(progress, "BETWEEN_LINES", 0.0)
    assert list(progress.show_progress([1, 2, 3], 1, "models")) == [1, 2, 3]
    with progress.show_stages({"first": 1, "second": 2}):
        progress.enter_stage("first")
        assert list(progress.show_progress([1, 2], 1, "models")) == [1, 2]
    progress.say_on_stderr("nobody reads it")
