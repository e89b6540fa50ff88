"""A progress bar for those who ask for one; lines in a log."""

import io
import sys
import threading
import time
from contextlib import contextmanager, suppress

from tqdm import tqdm

# Seconds between two lines in a log, or between two moves of a bar.
BETWEEN_LINES, _BETWEEN_MOVES = 10.0, 0.1
# Seconds after which the clock of a bar moves, however long a single result takes.
BETWEEN_TICKS = 1.0

# A log has no use for the bar itself.
_LINE = "{desc}: {n:.0f} of {total_fmt} ({elapsed} passed, {remaining} left{postfix})"


def show_progress(results, verbose, desc, total=None):
    """Return the results with a progress bar around them, or as they are if it is not wanted."""
    # Without a bar tqdm is not called: even a bar that is disabled takes a lock that forked
    # processes share, and if one of them is killed in that moment, the others wait for it forever.
    return _draw(results, desc, total) if verbose else results


class _Nowhere(io.TextIOBase):
    """A stream that keeps nothing."""

    encoding = "utf-8"

    def write(self, text):
        return len(text)


class _ErrorStream:
    """The standard error; a terminal that is closed or gone costs no result."""

    def __init__(self):
        file = sys.stderr  # None of a program without a terminal, as of a service
        self._file = _Nowhere() if file is None or getattr(file, "closed", False) else file

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
        return type(self._file).__module__.startswith("ipykernel")


def say_on_stderr(text):
    """Write to the standard error, if there is one."""
    stream = _ErrorStream()
    stream.write(text)
    stream.flush()


def _draw(results, desc, total):
    total = len(results) if total is None and hasattr(results, "__len__") else total
    with make_bar(desc, total) as bar:
        for result in results:
            yield result
            bar.update()


@contextmanager
def make_bar(desc, total, bar_format=None):
    """Open a bar in a terminal or a notebook, and one that writes a line at times elsewhere."""
    # Its clock moves while the next result takes long. Within stages, it is a part of one of them.
    if _stages is not None:
        yield _Part(_stages, total)
        return
    stream = _ErrorStream()
    if draws_bars(stream):
        settings = {"file": stream, "mininterval": _BETWEEN_MOVES, "bar_format": bar_format}
    else:
        settings = {"file": _Lines(stream), "mininterval": BETWEEN_LINES, "bar_format": _LINE}
        settings["delay"] = BETWEEN_LINES  # what takes less needs no line
    with _Bar(desc=desc, total=total, maxinterval=10, **settings) as bar:
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


class _Bar(tqdm):
    """A bar with a lock of its own: a process may fork while the clock holds it."""

    _lock = threading.RLock()


def draws_bars(file=None):
    """Whether a carriage return begins a line of the standard error again, or of another file."""
    file = _ErrorStream() if file is None else file
    return file.isatty() or getattr(file, "is_notebook", False)


class _Lines:
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
# A share of the whole from which on the time that it took says how long the rest takes.
_TELLING = 0.05


@contextmanager
def show_stages(shares, verbose=True):
    """Show one bar over stages, each with its usual share of the time; inside others, nothing."""
    global _stages
    if not verbose or _stages is not None:
        yield
        return
    _stages = Stages(shares, _ErrorStream())
    clock = threading.Thread(target=_stages.tick, name="skmia-stages", daemon=True)
    clock.start()
    try:
        yield
    finally:
        stages, _stages = _stages, None
        stages.close()
        clock.join()


def enter_stage(name):
    """Begin a stage, if stages are shown; one that is over, or not among them, is not begun."""
    if _stages is not None:
        _stages.enter(name)


def plan_stages(shares, seconds=None, line=""):
    """Set the shares of stages that are shown, how long all take, and a line that says so."""
    if _stages is not None:
        _stages.plan(shares, seconds, line)


class Stages:
    """What was done of some stages, how long it took, and how long the rest is expected to take."""

    def __init__(self, shares, file):
        self._shares = _scale(shares)
        self._file, self._draws = file, draws_bars(file)
        self._lock, self._is_over = threading.RLock(), threading.Event()
        self._start = self._begun = self._said = time.monotonic()
        self._name, self._took = None, {}
        self._expected, self._part, self._most = None, (0, 0), 0
        self._waiting = []  # lines of a log that may be over before one is needed

    def enter(self, name):
        with self._lock:
            names = list(self._shares)
            if name not in names or (
                self._name is not None and names.index(name) <= names.index(self._name)
            ):
                return
            self._leave()
            self._name, self._begun, self._part = name, time.monotonic(), (0, 0)
            self._draw()

    def plan(self, shares, seconds, line):
        with self._lock:
            self._shares, self._expected = _scale(shares), seconds
            if line:
                self._say(line)

    def move(self, n, total):
        """Say how many parts of the stage at work are done."""
        with self._lock:
            self._part = n, total

    def tick(self):
        while not self._is_over.wait(BETWEEN_TICKS if self._draws else BETWEEN_LINES):
            with self._lock:
                self._draw()

    def close(self):
        self._is_over.set()
        with self._lock:
            self._leave()
            self._clear()
            self._file.flush()

    def _leave(self):
        if self._name is None:
            return
        took = self._took[self._name] = time.monotonic() - self._begun
        usual = f"usually {round(100 * self._shares[self._name])}%"
        self._say(f"  done   {self._describe():32s}{format_seconds(took):>8}   {usual}")

    def _describe(self):
        total = self._part[1]
        return f"{self._name}, {total}" if total else self._name

    def measure(self):
        """Seconds since the beginning, and seconds that are left, None if nothing is known."""
        now = time.monotonic()
        passed, here = now - self._start, now - self._begun
        done = sum(self._shares[name] for name in self._took)
        share = self._shares.get(self._name, 0.0)
        n, total = self._part
        whole = self._expected
        if done >= _TELLING:
            whole = sum(self._took.values()) / done
        elif whole is None and n and share:
            whole = here * total / n / share
        if whole is None:
            return passed, None
        names = list(self._shares)
        later = names[names.index(self._name) + 1 :] if self._name else names
        own = here * (total - n) / n if 0 < n < total else whole * share - here
        # What takes longer than expected is not over before it ends.
        own = max(own, 0.1 * whole * share)
        return passed, own + whole * sum(self._shares[name] for name in later)

    def _draw(self):
        passed, left = self.measure()
        if not self._draws:
            if time.monotonic() - self._said >= BETWEEN_STATES and self._name is not None:
                rest = "" if left is None else f", about {format_seconds(left)} left"
                self._say(f"  now    {self._describe()}: {format_seconds(passed)} passed{rest}")
            return
        n, total = self._part
        what = f"{self._name or 'start'} {n} of {total}" if total else self._name or "start"
        full, empty = ("\u2588", "\u2591") if can_write(self._file, "\u2588\u2591") else ("#", ".")
        told = f"{format_seconds(passed)} passed"
        if left is not None:
            self._most = max(self._most, int(100 * passed / (passed + left)))
            told = f"{told}, about {format_seconds(left)} left"
        n_full = round(_BAR * self._most / 100)
        line = f"  {full * n_full}{empty * (_BAR - n_full)} {self._most:3d}%  {what}  {told}"
        self._write(f"\r{line[:_WIDTH]:{_WIDTH}s}")

    def _say(self, line):
        """Write a line of its own; in a log only if the work takes so long that one is needed."""
        self._clear()
        self._waiting.append(line)
        if self._draws or time.monotonic() - self._start >= BETWEEN_STATES:
            self._write("".join(f"{line}\n" for line in self._waiting))
            self._waiting, self._said = [], time.monotonic()

    def _clear(self):
        if self._draws:
            self._write(f"\r{'':{_WIDTH}s}\r")

    def _write(self, text):
        try:
            self._file.write(text)
            self._file.flush()
        except (OSError, ValueError):  # a terminal that is gone costs no result
            self._is_over.set()


def _scale(shares):
    whole = sum(shares.values())
    return {name: share / whole for name, share in shares.items()}


class _Part:
    """A bar inside a stage, which moves that of the stages."""

    mininterval = _BETWEEN_MOVES

    def __init__(self, stages, total):
        self._stages, self.total, self.n = stages, total, 0

    def update(self, n=1):
        self.n += n
        self.refresh()

    def set_postfix_str(self, text, refresh=True):
        """Leave out what a single bar shows beside its numbers."""

    def refresh(self):
        if self.total:
            self._stages.move(int(self.n), self.total)


def format_seconds(seconds):
    """A time as ``2:05``, or ``1:02:05``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def can_write(file, text):
    """Whether a file takes some characters."""
    try:
        text.encode(getattr(file, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
