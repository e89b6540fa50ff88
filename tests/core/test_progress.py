import multiprocessing
import os
import signal
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
    monkeypatch.setattr(progress, "draws_bars", lambda file: True)
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
    monkeypatch.setattr(progress, "draws_bars", lambda file: True)
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
