"""When, with what and how fast something was computed."""

import platform
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version

from . import __version__
from .progress import enter_stage

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "joblib")


class PartClock:
    """Seconds spent on each part, ``with clock("part"): ...``; None counts in the total only."""

    def __init__(self):
        self._start = time.perf_counter()
        self._parts = {}

    @contextmanager
    def __call__(self, part):
        start = time.perf_counter()
        enter_stage(part)
        yield
        seconds = time.perf_counter() - start
        if part is not None:
            self._parts[part] = round(self._parts.get(part, 0.0) + seconds, 3)

    def elapsed(self):
        return time.perf_counter() - self._start

    def read(self):
        return {**self._parts, "total": round(self.elapsed(), 3)}


# A process that waits, as for a model in another one, works little; that is not a load.
_MOST_LOAD = 8.0


class LapWatch:
    """Seconds of each lap, and how busy the machine was with other work."""

    def __init__(self):
        self._begun = self._last = time.perf_counter()
        self._worked = time.process_time()

    def lap(self):
        """Return seconds since the last call."""
        before, self._last = self._last, time.perf_counter()
        return self._last - before

    @property
    def load(self):
        worked = time.process_time() - self._worked
        passed = self._last - self._begun
        return min(max(passed / worked, 1.0), _MOST_LOAD) if worked > 0 else 1.0


def tell_time():
    """Return the time, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def list_versions():
    """Return the versions of Python, of skmia and of the packages that it is built on."""
    packages = {package: get_version(package) for package in _PACKAGES}
    return {"skmia": __version__, "python": platform.python_version(), **packages}


@cache  # it reads a file
def get_version(package):
    """Return the version of an installed package."""
    return version(package)
