import io
import multiprocessing
import os
import re
import signal
import sys
import threading
import time

import numpy as np
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


def read_percents(stages):
    """The shares that a bar has shown, in percent."""
    return [int(found) for found in re.findall(r" (\d+)%  ", stages._file.getvalue())]


def test_stages_say_what_is_over_and_how_long_the_rest_takes(clock):
    stages = progress.StageTimes(SHARES, Terminal())
    stages.enter("first")
    assert stages.measure() == (0.0, None)  # nothing is known yet
    clock(10.0)
    stages.enter("second")
    # An eighth took ten seconds, so the other stages take thirty and forty.
    assert stages.measure() == (10.0, 70.0)
    clock(15.0)
    stages.move(1, 4)
    # A quarter was expected to take 7.5 seconds and took 15, of which the mean is expected.
    assert stages.measure() == (25.0, 3 * 11.25 + 40.0)
    stages.enter("first")  # which is over
    clock(40.0)
    stages.enter("third")
    passed, left = stages.measure()
    assert passed == 65.0 and left == pytest.approx(65.0)
    stages.close()
    drawn = stages._file.getvalue()
    lines = [line.strip() for line in re.split("[\r\n]", drawn)]
    assert [line.split() for line in lines if line.startswith("done")] == [
        ["done", "first", "0:10"],
        ["done", "second,", "4", "0:55"],
        ["done", "third", "0:00"],
    ]
    # Shares are those of this run.
    assert "1:05 in all: second 85%, first 15%, third 0%" in lines
    assert max(map(len, re.split("[\r\n]", drawn))) < 80
    assert "about 1:10 left" in drawn


def test_times_that_are_expected_replace_shares(clock):
    stages = progress.StageTimes(SHARES | {"last": 2.0}, Terminal())
    stages.enter("first")
    stages.expect({"first": 10.0, "second": {"a": 4.0, "b": 8.0}, "third": 58.0})
    # Seven times as many seconds as shares were named, and the last keeps its share.
    assert stages.measure() == (0.0, 80.0 + 20.0)
    clock(5.0)
    assert stages.measure() == (5.0, 95.0)
    clock(5.0)
    stages.enter("second")
    stages.enter("a")
    clock(3.0)
    assert stages.measure() == (13.0, 1.0 + 8.0 + 78.0)
    clock(1.0)
    stages.enter("b")
    assert stages.measure() == (14.0, 8.0 + 78.0)


def test_a_machine_that_gets_busier_takes_longer_for_the_rest(clock):
    stages = progress.StageTimes(SHARES, Terminal())
    stages.expect({"first": 10.0, "second": 30.0, "third": 40.0})
    stages.enter("first")
    clock(20.0)
    stages.enter("second")
    # What was expected, 80 seconds, has a weight of a half.
    assert stages.measure()[1] == pytest.approx(70.0 * (20 + 40) / (10 + 40))


def test_a_stage_that_overruns_makes_the_whole_longer(clock):
    stages = progress.StageTimes(SHARES, Terminal())
    stages.expect({"first": 10.0, "second": 30.0, "third": 40.0})
    stages.enter("first")
    wholes = []
    for _ in range(60):
        clock(1.0)
        wholes.append(sum(stages.measure()))
    assert wholes[:7] == [80.0] * 7  # as expected
    # The longer it lasts, the nearer to as long again is expected of it.
    assert wholes[-1] == pytest.approx(60.0 + (60.0 - 10.0 * 2 / 3) + 70.0)
    assert wholes == sorted(wholes)


def test_steps_of_a_kind_are_as_much_slower_as_those_that_are_over(clock):
    each = progress.StageStep(10.0, "arithmetic")
    steps = {"a": each, "b": each, "c": progress.StageStep(10.0)}
    stages = progress.StageTimes({"first": steps}, Terminal())
    stages.expect({"first": steps})
    stages.enter("first")
    stages.enter("a")
    clock(40.0)
    stages.enter("c")
    # What was expected of the kind, 20 seconds, has a weight of a tenth.
    assert stages.measure()[1] == pytest.approx(10.0 + 10.0 * (40 + 2) / (10 + 2))


def test_a_step_that_may_be_left_out_counts_once_it_has_begun(clock):
    steps = {"sure": 5.0, "rare": progress.StageStep(30.0, is_certain=False)}
    stages = progress.StageTimes({"first": steps}, Terminal())
    stages.expect({"first": steps})
    stages.enter("first")
    stages.enter("sure")
    assert stages.measure()[1] == 5.0
    clock(5.0)
    stages.enter("rare")
    assert stages.measure()[1] == 30.0


def test_the_most_is_told_beside_the_time_left_while_more_may_follow(clock):
    stages = progress.StageTimes(SHARES, Terminal())
    may_grow = progress.StageStep(30.0, n_parts=2, most_parts=8)  # 15 s for each part
    stages.expect({"first": 10.0, "second": may_grow, "third": 40.0})
    stages.enter("first")
    stages._draw()
    clock(10.0)
    stages.enter("second")
    clock(30.0)
    stages.enter("third")
    told = re.findall(r"about [\d:]+ left(?:, [\d:]+ at most)?", stages._file.getvalue())
    first, second = "about 1:20 left, 2:50 at most", "about 1:10 left, 2:40 at most"
    assert told == [first, first, second, "about 0:40 left"]


def test_parts_that_the_bar_does_not_show_yet_are_counted(clock):
    stages = progress.StageTimes(SHARES, Terminal())
    may_grow = progress.StageStep(20.0, n_parts=2, most_parts=16)
    stages.expect({"first": may_grow, "second": 5.0, "third": 0})
    stages.enter("first")
    stages.move(0, 2)
    for n in (1, 2):
        clock(10.0)
        stages.move(n, 2)
    # Eight parts are foreseen: six of ten seconds are left of this stage.
    stages.expect({"first": progress.StageStep(80.0, n_parts=8, most_parts=8)})
    assert stages.measure()[1] == pytest.approx(65.0)
    stages.move(2, 4)
    for n in (3, 4):
        clock(10.0)
        stages.move(n, 4)
    assert stages.measure()[1] == pytest.approx(45.0)


@pytest.mark.parametrize("seconds", [None, 80.0, 800.0, 8.0])
@pytest.mark.parametrize("times", [(30.0, 5.0, 200.0), (1.0, 300.0, 2.0), (10.0, 30.0, 40.0)])
def test_the_bar_never_stands_never_goes_back_and_ends_at_the_whole(clock, times, seconds):
    stages = progress.StageTimes(SHARES, Terminal())
    shown = [0.0]
    for name, took in zip(SHARES, times, strict=True):
        stages.enter(name)
        if name == "first" and seconds is not None:
            stages.expect({name: seconds * share / 8 for name, share in SHARES.items()})
        for k in range(100):
            if name == "second" and k % 10 == 0:
                stages.move(k // 10, 10)
            clock(took / 100)
            stages._draw()
            shown.append(stages._shown)
    assert np.all(np.diff(shown) > 0) and shown[-1] < 1
    stages.close()
    percents = read_percents(stages)
    assert percents == sorted(percents) and percents[-1] == 100


@pytest.mark.parametrize("times", [(20.0, 60.0, 80.0), (5.0, 60.0, 40.0), (25.0, 70.0, 20.0)])
def test_what_takes_twice_as_long_moves_the_bar_in_each_tenth_of_it(clock, times):
    stages = progress.StageTimes(SHARES, Terminal())
    stages.expect({"first": 10.0, "second": 30.0, "third": 40.0})
    shown = [0.0]
    for name, took in zip(SHARES, times, strict=True):
        stages.enter(name)
        for _ in range(100):
            clock(took / 100)
            stages._draw()
            shown.append(stages._shown)
    moments = np.concatenate([[0.0], np.cumsum(np.repeat(times, 100) / 100)])
    at = np.interp(np.linspace(0, sum(times), 11), moments, shown)
    assert np.diff(at).min() > 0.005


def test_the_bar_is_where_the_clock_is_if_all_is_as_expected(clock):
    stages = progress.StageTimes(SHARES, Terminal())
    stages.expect({"first": 10.0, "second": 30.0, "third": 40.0})
    for name, took in (("first", 10), ("second", 30), ("third", 40)):
        stages.enter(name)
        for k in range(took):
            clock(1.0)
            # What is nearly over is taken to be late.
            assert k > 0.7 * took - 1 or sum(stages.measure()) == pytest.approx(80.0)
            stages._draw()
            assert stages._shown == pytest.approx(stages.measure()[0] / 80, abs=0.08)


def test_models_of_a_second_bar_are_expected_to_take_as_long(clock):
    stages = progress.StageTimes({"first": 1.0, "second": 1.0}, Terminal())
    stages.expect({"first": 80.0, "second": 10.0})
    stages.enter("first")
    for k in range(1, 9):
        clock(10.0)
        stages.move(k, 8)
    stages.move(0, 16)
    assert stages.measure() == (80.0, pytest.approx(8 * 10.0 + 10.0))
    for k in range(8, 13):  # those of the first bar are kept
        stages.move(k, 16)
        clock(10.0)
    stages.move(13, 16)
    assert stages.measure() == (130.0, pytest.approx(3 * 10.0 + 10.0))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_leaves_a_clean_line(monkeypatch, error):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(error), progress.show_stages(SHARES):
        progress.enter_stage("first")
        progress.enter_stage("second")
        raise error
    drawn = sys.stderr.getvalue()
    assert drawn.endswith(f"\r{'':79s}\r")
    assert "done   first" in drawn and "done   second" not in drawn
    assert "100%" not in drawn and "in all" not in drawn
    assert progress._stages is None
    assert not [thread for thread in threading.enumerate() if thread.name == "skmia-stages"]


def test_stages_in_a_log_are_lines_and_a_short_task_has_none(clock):
    short = progress.StageTimes(SHARES, io.StringIO())
    for name in SHARES:
        short.enter(name)
        clock(1.0)
    short.close()
    assert short._file.getvalue() == ""
    long = progress.StageTimes(SHARES, io.StringIO())
    long.expect({"first": 100.0, "second": 300.0, "third": 400.0}, "About 13 minutes.")
    long.enter("first")
    clock(60.0)
    long._draw()
    clock(40.0)
    long.enter("second")
    assert long._file.getvalue().splitlines() == [
        "About 13 minutes.",
        "  now    first: 1:00 passed, about 12:20 left",
        f"  done   {'first':38s}    1:40",
    ]


def test_a_terminal_without_blocks_gets_other_characters(clock):
    class Latin(Terminal):
        encoding = "latin-1"

    file = Latin()
    stages = progress.StageTimes(SHARES, file)
    stages.expect({"first": 80.0, "second": 1.0, "third": 1.0})
    stages.enter("first")
    clock(40.0)
    stages._draw()
    assert "##" in file.getvalue() and "\u2588" not in file.getvalue()


def test_a_bar_inside_stages_moves_them(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.show_stages(SHARES), progress.show_stages({"other": 1.0}):
        progress.enter_stage("second")
        assert list(show_progress(range(3), True, "models")) == [0, 1, 2]
        assert (progress._stages._at_work.n, progress._stages._at_work.total) == (3, 3)
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


def test_a_bar_within_stages_moves_the_stage_by_what_is_done(monkeypatch):
    class Moves(list):
        def move(self, n, total):
            self.append((n, total))

    moves = Moves()
    monkeypatch.setattr(progress, "_stages", moves)
    with make_bar("models", 4) as bar:
        bar.update()
        bar.set_postfix_str("a")
        bar.update(2)
        bar.n = 4  # what is counted since it last moved is told at the end
    assert moves == [(0, 4), (1, 4), (3, 4), (4, 4)]
    with make_bar("models", None) as bar:  # of which nobody knows how many there are
        bar.update()
    assert len(moves) == 4
