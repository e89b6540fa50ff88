import multiprocessing
import os
import signal

import pytest

from skmia._core.progress import show_progress


def test_a_bar_is_shown_when_it_is_asked_for(capsys):
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
