"""A progress bar for those who ask for one; lines in a log."""

import io
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import NamedTuple

from tqdm import tqdm

# Seconds between two lines in a log, or between two moves of a bar.
BETWEEN_LINES, _BETWEEN_MOVES = 10.0, 0.1
# Seconds after which the clock of a bar moves, however long a single result takes.
BETWEEN_TICKS = 1.0

# A log has no use for the bar itself.
_LINE = "{desc}: {n:.0f} of {total_fmt} ({elapsed} passed, {remaining} left{postfix})"


def show_progress(results, verbose, desc, total=None):
    """Return the results with a progress bar around them, or as they are if it is not wanted.

    Without a bar tqdm is not called: even a bar that is disabled takes a lock that forked processes
    share, and if one of them is killed in that moment, the others wait for it forever.
    """
    return _iter_with_bar(results, desc, total) if verbose else results


class _NullStream(io.TextIOBase):
    """A stream that keeps nothing."""

    encoding = "utf-8"

    def write(self, text):
        return len(text)


class _ErrorStream:
    """The standard error; a terminal that is closed or gone costs no result.

    In a notebook, which shows an error in red, it is the standard output.
    """

    def __init__(self):
        file = sys.stderr  # None of a program without a terminal, as of a service
        file = sys.stdout if _is_of_notebook(file) else file
        self._file = _NullStream() if file is None or getattr(file, "closed", False) else file

    def write(self, text):
        with suppress(OSError, ValueError):
            self._file.write(text)

    def flush(self):
        with suppress(OSError, ValueError):
            self._file.flush()

    def __getattr__(self, name):
        return getattr(self._file, name)

    @property
    def is_notebook(self):
        return _is_of_notebook(self._file)


def _is_of_notebook(file):
    return type(file).__module__.startswith("ipykernel")


def say_on_stderr(text):
    """Write to the standard error, if there is one."""
    stream = _ErrorStream()
    stream.write(text)
    stream.flush()


def _iter_with_bar(results, desc, total):
    total = len(results) if total is None and hasattr(results, "__len__") else total
    with make_bar(desc, total) as bar:
        for result in results:
            yield result
            bar.update()


@contextmanager
def make_bar(desc, total, bar_format=None):
    """Open a bar in a terminal or a notebook, and one that writes a line at times elsewhere.

    Its clock moves while the next result takes long. Within stages, it is a part of one of them.
    """
    if _stages is not None:
        bar = _InnerBar(_stages, total)
        yield bar
        bar.refresh()  # of what was counted since it last moved
        return
    stream = _ErrorStream()
    kind = _find_widget_bar(stream) or _LockedBar
    if draws_bars(stream):
        settings = {"file": stream, "mininterval": _BETWEEN_MOVES, "bar_format": bar_format}
    else:
        settings = {"file": _LineStream(stream), "mininterval": BETWEEN_LINES, "bar_format": _LINE}
        settings["delay"] = BETWEEN_LINES  # what takes less needs no line
    with kind(desc=desc, total=total, maxinterval=10, **settings) as bar:
        is_over = threading.Event()
        clock = threading.Thread(target=_tick, args=(bar, is_over), name="skmia-bar", daemon=True)
        clock.start()
        try:
            yield bar
        finally:
            is_over.set()
            clock.join()


def _tick(bar, is_over):
    while not is_over.wait(max(BETWEEN_TICKS, bar.mininterval)):
        bar.refresh()


class _LockedBar(tqdm):
    """A bar with a lock of its own: a process may fork while the clock holds it."""

    _lock = threading.RLock()


def _find_widget_bar(stream):
    """Return the class of bars that a notebook draws itself, if it is one with ipywidgets."""
    return _load_widget_bar() if getattr(stream, "is_notebook", False) else None


@lru_cache
def _load_widget_bar():
    from tqdm import notebook

    if notebook.IProgress is None:  # ipywidgets is not installed
        return None

    class _LockedWidget(notebook.tqdm_notebook):
        """A bar of a notebook with a lock of its own."""

        _lock = threading.RLock()

    return _LockedWidget


def draws_bars(file=None):
    """Whether a carriage return begins a line of the standard error again, or of another file."""
    file = _ErrorStream() if file is None else file
    return file.isatty() or getattr(file, "is_notebook", False)


class _LineStream:
    """A file to which each state of a bar is written as a line."""

    def __init__(self, file):
        self._file, self._last = file, None

    def write(self, text):
        line = text.strip("\r\n ")
        if line and line != self._last:
            self._last = line
            self._file.write(f"{line}\n")

    def flush(self):
        self._file.flush()


_stages = None  # those that are shown in this process
# Seconds between two lines in a log about a stage at work; what takes less needs no line.
BETWEEN_STATES = 30.0
_WIDTH, _BAR = 79, 20
# What stands at the left and at the right of the bar in a notebook.
_STAGES_IN_NOTEBOOK = "{percentage:3.0f}%|{bar}|{desc}"
# A share of the whole from which on the time that it took says how long the rest takes.
_TELLING = 0.05
# What is not over when it was expected to be takes this share of its time again.
_OVERRUN = 1 / 3
# While nothing is known, the rest is taken to be so many times as long as what has passed.
_UNKNOWN = 19.0
# Of a stage whose parts are over, the share of their time that what follows them takes.
_TAIL = 0.1
# Weight of what was expected of all steps of a kind beside what those that are over took, and of
# those that were measured: they are slower only where the machine has got busier.
_WEIGHT, _WEIGHT_OF_MEASURED = 0.1, 0.5


class StageStep(NamedTuple):
    """What a step of a stage is expected to take."""

    seconds: float
    # Steps of one kind take as much longer, or shorter, than expected as those that are over; None
    # is the kind of those that follow from a measurement.
    kind: str | None = None
    is_certain: bool = True  # else it counts once it has begun
    # Parts that those seconds are for, where the bar of the step may show fewer at first, and how
    # many there may be at most; 0 if the bar says it.
    n_parts: int = 0
    most_parts: int = 0

    @property
    def is_open(self):
        """Whether more may follow than is expected."""
        return self.most_parts > self.n_parts

    def widen(self):
        """Return the same with all parts that there may be."""
        if not self.is_open:
            return self
        seconds = self.seconds * self.most_parts / self.n_parts
        return self._replace(seconds=seconds, n_parts=self.most_parts)


@contextmanager
def show_stages(expected, verbose=True):
    """Show one bar over stages, each with its share of the time; inside others, nothing."""
    global _stages
    if not verbose or _stages is not None:
        yield
        return
    _stages = StageTimes(expected, _ErrorStream())
    clock = threading.Thread(target=_stages.tick, name="skmia-stages", daemon=True)
    clock.start()
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        stages, _stages = _stages, None
        stages.close(is_whole)
        clock.join()


def enter_stage(name):
    """Begin a stage or a step of the stage at work, if there is one of this name.

    A stage that is over is not begun again.
    """
    if _stages is not None:
        _stages.enter(name)


def are_stages_shown():
    """Return whether somebody is told how long stages take."""
    return _stages is not None


def expect_stages(seconds, line=""):
    """Say how long stages take, as a number or by their steps, and show a line that says so."""
    if _stages is not None:
        _stages.expect(seconds, line)


class _StageAtWork:
    """A stage at work or over: its steps, and the parts of the step at work."""

    def __init__(self, name, now):
        self.name, self.begun, self.took = name, now, None
        self.steps = {}  # seconds of each step that is over
        self.step, self.step_begun = None, now
        self.n_parts = 0  # of the last bar, for the line that says that the stage is over
        self.forget_parts(now)

    def forget_parts(self, now):
        self.n, self.total, self.last, self.parts_begun = 0, 0, now, now
        self.n_before, self.each_before = 0, None

    def begin_step(self, name, now):
        self.end_step(now)
        self.step, self.step_begun = name, now
        self.forget_parts(now)

    def end_step(self, now):
        if self.step is not None:
            before = self.steps.get(self.step, 0.0)
            self.steps[self.step] = before + now - self.step_begun

    def move(self, n, total, now):
        if total != self.total or n < self.n:  # the first parts, or those of another bar
            # A bar that goes on with a larger total begins with the parts that are over.
            goes_on = 0 < self.total < total and self.n >= self.total
            before = (self.total if goes_on else 0), self._measure_each()
            self.forget_parts(self.last if n else now)
            self.n_before, self.each_before = before
        if n > self.n:
            self.last = now
        self.n, self.total, self.n_parts = n, total, total

    def measure_parts(self, expected, now, n_parts=0):
        """Return seconds that the step at work takes still, as expected and by its parts."""
        here, total = now - self.step_begun, max(self.total, n_parts)
        if not self.total:
            return _outlast(expected, here)
        lasted = now - self.last
        if self.n >= total:
            return _outlast(_TAIL * (self.last - self.parts_begun), lasted)
        n_left = total - max(self.n, self.n_before)
        expected = max(expected - (self.parts_begun - self.step_begun), 0.0)
        each = self.each_before
        if each is None and expected:
            each = expected / (total - self.n_before)
        each = self._measure_each(each)
        if each is None:
            return here  # as long again
        return _outlast(each, lasted) + each * (n_left - 1)

    def _measure_each(self, expected=None):
        """Return the seconds of one part; what was expected counts as much as one that is over."""
        n_done = max(self.n - self.n_before, 0)
        if expected is None:
            return (self.last - self.parts_begun) / n_done if n_done else None
        return (expected + self.last - self.parts_begun) / (1 + n_done)


def _outlast(expected, lasted):
    """Return seconds that are left of what has lasted so long; some are as long as it is not over.

    The more it overruns, the less is known of it: in the end it is as long again as it lasted.
    """
    if lasted > expected:
        return lasted - (1 - _OVERRUN) * expected
    return max(expected - lasted, _OVERRUN * lasted)


class StageTimes:
    """What was done of some stages, how long it took, and how long the rest is expected to take.

    At first the numbers that are expected are shares of an unknown whole; they are seconds once
    `expect` has said so.
    """

    def __init__(self, expected, file):
        self._expected = {name: _as_stage_steps(steps) for name, steps in expected.items()}
        self._in_seconds = False
        self._file, self._draws = file, draws_bars(file)
        widget = _find_widget_bar(file)
        self._widget = widget and widget(total=100, bar_format=_STAGES_IN_NOTEBOOK)
        self._lock, self._is_over = threading.RLock(), threading.Event()
        self._start = self._said = self._moved = time.monotonic()
        self._at_work, self._done = None, []
        self._shown = 0.0  # share of the bar, which never falls
        self._waiting = []  # lines of a log that may be over before one is needed

    def enter(self, name):
        with self._lock:
            now, work = time.monotonic(), self._at_work
            if work is not None and name in self._expected[work.name]:
                work.begin_step(name, now)
                return
            names = list(self._expected)
            if name not in names or (
                work is not None and names.index(name) <= names.index(work.name)
            ):
                return
            self._leave()
            self._at_work = _StageAtWork(name, now)
            self._draw()

    def expect(self, seconds, line=""):
        with self._lock:
            known = [name for name in seconds if name in self._expected]
            named = {name: _as_stage_steps(seconds[name]) for name in known}
            if not self._in_seconds:
                # Of what is not named the shares are kept.
                before = sum(_sum_seconds(self._expected[name]) for name in named)
                unit = sum(map(_sum_seconds, named.values())) / before if before else 0.0
                for name, steps in self._expected.items():
                    scaled = {
                        key: one._replace(seconds=unit * one.seconds) for key, one in steps.items()
                    }
                    self._expected[name] = scaled
            self._expected |= named
            self._in_seconds = True
            if line:
                self._say(line)

    def move(self, n, total):
        """Say how many parts of the step at work are done."""
        with self._lock:
            if self._at_work is not None:
                self._at_work.move(n, total, time.monotonic())

    def tick(self):
        while not self._is_over.wait(BETWEEN_TICKS if self._draws else BETWEEN_LINES):
            with self._lock:
                self._draw()

    def close(self, is_whole=True):
        """Say how long each stage took; after an error, leave a clean line."""
        self._is_over.set()
        with self._lock:
            if is_whole:
                self._leave()
                if self._draws:
                    self._shown = 1.0
                    self._draw_bar(f"{format_seconds(time.monotonic() - self._start)} passed")
                if len(self._done) > 1:
                    self._say(self._sum_up())
            self._clear()
            if self._widget is not None:
                self._widget.close()  # red if the work was not finished
            self._flush()

    def _leave(self):
        work, self._at_work = self._at_work, None
        if work is None:
            return
        now = time.monotonic()
        work.end_step(now)
        work.took = now - work.begun
        if None in self._expected[work.name]:
            work.steps[None] = work.took
        self._done.append(work)
        self._say(f"  done   {_describe_work(work):38s}{format_seconds(work.took):>8}")

    def _sum_up(self):
        """Return the shares of the stages in this run, the largest first."""
        whole = time.monotonic() - self._start
        line = f"  {format_seconds(whole)} in all:"
        for work in sorted(self._done, key=lambda work: -work.took):
            more = f" {work.name} {100 * work.took / whole if whole else 0:.0f}%,"
            if len(line) + len(more) > _WIDTH:
                break
            line += more
        return line.rstrip(",:")

    def measure(self, at_most=False):
        """Return seconds since the beginning, and seconds that are left.

        None if nothing is known.
        """
        now = time.monotonic()
        unit, work = self._find_unit(now), self._at_work
        if unit is None:
            return now - self._start, None
        speeds = self._find_speeds(unit)
        left = 0.0 if work is None else self._measure_work(work, unit, speeds, now, at_most)
        for name in self._list_later():
            for step in self._list_steps(name, at_most).values():
                left += _count_certain_seconds(step) * unit * speeds.get(step.kind, 1.0)
        return now - self._start, left

    def _list_later(self):
        """Return the stages that have not begun."""
        names, works = list(self._expected), [*self._done, self._at_work]
        begun = [names.index(work.name) for work in works if work is not None]
        return names[max(begun, default=-1) + 1 :]

    def _find_unit(self, now):
        """Return the seconds of one unit of what is expected; None if nothing is known."""
        if self._in_seconds:
            return 1.0
        whole = sum(map(_sum_seconds, self._expected.values()))
        done = sum(_sum_seconds(self._expected[work.name]) for work in self._done)
        if done >= _TELLING * whole:
            return sum(work.took for work in self._done) / done
        work = self._at_work
        share = 0.0 if work is None else _sum_seconds(self._expected[work.name])
        if share and 0 < work.n <= work.total:
            return (work.last - work.begun) * work.total / work.n / share
        return None

    def _find_speeds(self, unit):
        """Return how many times as long as expected the steps of each kind take."""
        if not self._in_seconds:
            return {}  # the unit says it
        took, expected, every = {}, {}, {}
        for steps in self._expected.values():
            for step in steps.values():
                every[step.kind] = every.get(step.kind, 0.0) + unit * step.seconds
        for work in [*self._done, *([self._at_work] if self._at_work else [])]:
            for name, seconds in work.steps.items():
                step = self._expected[work.name].get(name)
                if step is not None and not step.is_open:
                    took[step.kind] = took.get(step.kind, 0.0) + seconds
                    expected[step.kind] = expected.get(step.kind, 0.0) + unit * step.seconds
        weights = {
            kind: (_WEIGHT_OF_MEASURED if kind is None else _WEIGHT) * every[kind] for kind in took
        }
        return {
            kind: (took[kind] + weights[kind]) / (expected[kind] + weights[kind])
            for kind in took
            if expected[kind] + weights[kind]
        }

    def _list_steps(self, name, at_most):
        """Return steps of a stage, with all parts that there may be if it is asked for the most."""
        steps = self._expected[name]
        return {key: step.widen() for key, step in steps.items()} if at_most else steps

    def _measure_work(self, work, unit, speeds, now, at_most):
        """Return seconds that the stage at work takes still."""
        steps = self._list_steps(work.name, at_most)

        def expect(step):
            return unit * step.seconds * speeds.get(step.kind, 1.0)

        if None in steps:  # it has no steps of its own
            return work.measure_parts(expect(steps[None]), now, steps[None].n_parts)
        step = steps.get(work.step, StageStep(0.0))
        left = work.measure_parts(expect(step), now, step.n_parts)
        begun = {*work.steps, work.step}
        return left + sum(
            expect(step) for name, step in steps.items() if name not in begun and step.is_certain
        )

    def _draw(self):
        passed, left = self.measure()
        now = time.monotonic()
        self._move_bar(now, passed, _UNKNOWN * (passed + 1.0) if left is None else left)
        told = f"{format_seconds(passed)} passed"
        if left is not None:
            told = f"{told}, {self._tell_left(left)}"
        if self._draws:
            self._draw_bar(told)
        elif now - self._said >= BETWEEN_STATES and self._at_work is not None:
            self._say(f"  now    {_describe_work(self._at_work)}: {told}")

    def _tell_left(self, left):
        """Return the time that is expected to be left, and the most while more may follow."""
        likely, most = (format_seconds(one + 0.5) for one in (left, self.measure(at_most=True)[1]))
        told = f"about {likely} left"
        return told if likely == most else f"{told}, {most} at most"

    def _move_bar(self, now, passed, left):
        """Move the bar as fast as it has to in order to end when the rest is over.

        So it never stands and never goes back, whatever is found out about the rest. A bar that is
        ahead of the clock slows down until the clock has come to where it is.
        """
        moved, self._moved = now - self._moved, now
        if not moved:
            return
        empty, expected = 1 - self._shown, left / (passed + left) if left else 0.0
        slow = min(1.0, empty / expected) ** 0.5 if expected else 1.0
        self._shown += empty * slow * moved / (moved + left)

    def _draw_bar(self, told):
        work = self._at_work
        what = "" if work is None else f"  {work.name}"
        if work is not None and work.total:
            what = f"  {work.name} {int(work.n)} of {work.total}"
        if self._widget is not None:
            self._widget.n, self._widget.desc = int(100 * self._shown), f"{what}  {told}"
            self._widget.refresh()
            return
        full, empty = ("\u2588", "\u2591") if can_write(self._file, "\u2588\u2591") else ("#", ".")
        tail = f" {int(100 * self._shown):3d}%{what}  {told}"
        n = min(_BAR, max(_WIDTH - 2 - len(tail), 0))  # what is said goes before a long bar
        n_full = round(n * self._shown)
        line = f"  {full * n_full}{empty * (n - n_full)}{tail}"
        self._write(f"\r{line[:_WIDTH]:{_WIDTH}s}")

    def _say(self, line):
        """Write a line of its own; in a log only if the work takes so long that one is needed."""
        self._clear()
        self._waiting.append(line)
        if self._draws or time.monotonic() - self._start >= BETWEEN_STATES:
            self._write("".join(f"{line}\n" for line in self._waiting))
            self._waiting, self._said = [], time.monotonic()

    def _clear(self):
        if self._draws and self._widget is None:
            self._write(f"\r{'':{_WIDTH}s}\r")

    def _write(self, text):
        try:
            self._file.write(text)
            self._file.flush()
        except (OSError, ValueError):  # a terminal that is gone costs no result
            self._is_over.set()

    def _flush(self):
        with suppress(OSError, ValueError):
            self._file.flush()


def _describe_work(work):
    return f"{work.name}, {work.n_parts}" if work.n_parts else work.name


def _as_stage_steps(expected):
    """Return the steps of a stage; None stands for a stage without them."""
    steps = expected if isinstance(expected, dict) else {None: expected}
    return {
        name: one if isinstance(one, StageStep) else StageStep(one) for name, one in steps.items()
    }


def _count_certain_seconds(step):
    return step.seconds if step.is_certain else 0.0


def _sum_seconds(steps):
    return sum(map(_count_certain_seconds, steps.values()))


def add_steps(expected):
    """Return what is expected of a stage with all of its steps that are certain."""
    return _sum_seconds(_as_stage_steps(expected))


class _InnerBar:
    """A bar inside a stage, which moves that of the stages."""

    mininterval = _BETWEEN_MOVES

    def __init__(self, stages, total):
        self._stages, self.total, self.n = stages, total, 0
        self.refresh()

    def update(self, n=1):
        self.n += n
        self.refresh()

    def set_postfix_str(self, text, refresh=True):
        """Leave out what a single bar shows beside its numbers."""

    def refresh(self):
        if self.total:
            self._stages.move(self.n, self.total)


def format_seconds(seconds):
    """Return a time as ``2:05``, or ``1:02:05``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def can_write(file, text):
    """Return whether a file takes some characters."""
    try:
        text.encode(getattr(file, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
