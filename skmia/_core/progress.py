"""A progress bar for those who ask for one; lines in a log."""

import sys
import threading
from contextlib import contextmanager

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


def _draw(results, desc, total):
    total = len(results) if total is None and hasattr(results, "__len__") else total
    with make_bar(desc, total) as bar:
        for result in results:
            yield result
            bar.update()


@contextmanager
def make_bar(desc, total, bar_format=None):
    """Open a bar in a terminal or a notebook, and one that writes a line at times elsewhere."""
    # Its clock moves while the next result takes long.
    with _open_bar(desc, total, bar_format) as bar:
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


def _open_bar(desc, total, bar_format):
    if draws_bars(sys.stderr):
        settings = {"file": sys.stderr, "mininterval": _BETWEEN_MOVES, "bar_format": bar_format}
    else:
        settings = {"file": _Lines(sys.stderr), "mininterval": BETWEEN_LINES, "bar_format": _LINE}
        settings["delay"] = BETWEEN_LINES  # what takes less needs no line
    return _Bar(desc=desc, total=total, maxinterval=10, **settings)


def draws_bars(file):
    """Whether a carriage return begins a line again, as in terminals and notebooks."""
    return file.isatty() or type(file).__module__.startswith("ipykernel")


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
