"""The circumstances of an audit: data, fit of the victim, versions, time spent."""

import platform
import time
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
from sklearn.metrics import r2_score

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "joblib")


class Clock:
    """Seconds spent on each part, ``with clock("part"): ...``."""

    def __init__(self):
        self._start = time.perf_counter()
        self._parts = {}

    @contextmanager
    def __call__(self, part):
        start = time.perf_counter()
        yield
        self._parts[part] = round(time.perf_counter() - start, 3)

    def read(self):
        return {**self._parts, "total": round(time.perf_counter() - self._start, 3)}


def describe_data(membership):
    n_members = int(membership.sum())
    return {
        "n_records": len(membership),
        "n_members": n_members,
        "n_nonmembers": len(membership) - n_members,
    }


def measure_performance(outputs, y, membership):
    """Fit of the victim on members and on others, from the answers that were asked already.

    A classifier is taken to predict the class of its largest probability or decision value. R2
    takes two records and is NaN for fewer.
    """
    sides = {"members": membership, "nonmembers": ~membership}
    if outputs.kind == "value":
        fit = {
            side: float(r2_score(y[rows], outputs.values[rows])) if rows.sum() > 1 else np.nan
            for side, rows in sides.items()
        }
    else:
        correct = outputs.is_correct(y)
        fit = {side: float(correct[rows].mean()) for side, rows in sides.items()}
    metric = "r2" if outputs.kind == "value" else "accuracy"
    return {"metric": metric, **fit, "gap": fit["members"] - fit["nonmembers"]}


def find_versions():
    from .. import __version__  # the package is not yet whole while this module is imported

    packages = {package: version(package) for package in _PACKAGES}
    return {"skmia": __version__, "python": platform.python_version(), **packages}
