"""What a piece of work may hold and take, known before it begins."""

from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

# What is held beside a table: so many bytes, or so many times the table if that is more.
LEAST_BYTES, MOST_TABLES = 500_000_000, 10

# Units of the sizes that numpy names when it cannot have an array.
_UNITS = "bytes", "KiB", "MiB", "GiB", "TiB"


# What the units of sizes and times are in bytes and seconds.
_SCALES = {"MB": 1e6, "GB": 1e9, "s": 1, "min": 60, "h": 3600}


class Cost(NamedTuple):
    """What a piece of work will hold and take, at most or about.

    Attributes
    ----------
    n_bytes : float
        Largest memory that is held at once.
    seconds : float
        Time on one core.
    what : str
        What is held, for a sentence: "a matrix of 2,570 x 2,570 coefficients".
    n_fits : int
        Fits of the victim's recipe on all records, which are not among the seconds.
    """

    n_bytes: float = 0.0
    seconds: float = 0.0
    what: str = ""
    n_fits: int = 0


class OverBudgetError(ValueError):
    """A piece of work would hold more than it may, and was not begun."""


def count_table_bytes(X: Any) -> int:
    """Return the memory of a table, of what it holds itself; 0 if it does not say."""
    if sparse.issparse(X):
        parts = (getattr(X, name, None) for name in ("data", "indices", "indptr", "row", "col"))
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
    if isinstance(X, pd.DataFrame):
        return int(X.memory_usage(index=False).sum())
    return int(getattr(X, "nbytes", 0))


def allow_bytes(X: Any) -> float:
    """Return the memory that work on a table may hold beside it."""
    return max(LEAST_BYTES, MOST_TABLES * count_table_bytes(X))


def why_over(cost: Cost, n_bytes: float) -> str | None:
    """Return why a piece of work is not begun, as a part of a sentence; None if memory suffices."""
    if cost.n_bytes <= n_bytes:
        return None
    held, allowed = format_apart(format_bytes, cost.n_bytes, n_bytes)
    what = f" for {cost.what}" if cost.what else ""
    return f"it would hold {held}{what}, and {allowed} are allowed"


def format_bytes(n_bytes: float) -> str:
    """Return a size as ``74.4 GB`` or ``360 MB``."""
    if n_bytes < 999.5e6:
        return f"{max(1, round(n_bytes / 1e6))} MB"
    return f"{n_bytes / 1e9:,.1f} GB"


def format_duration(seconds: float) -> str:
    """Return a time as ``0.4 s``, ``59 s``, ``20 min`` or ``2.0 h``; "unknown" if it is NaN."""
    if np.isnan(seconds):
        return "unknown"
    if seconds < 600:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def format_apart(write, number: float, limit: float) -> tuple[str, str]:
    """Return a size or time and the limit that it exceeds, with the digits that tell them apart."""
    texts, n_digits = (write(number), write(limit)), 2
    _, unit = texts[1].split(" ")
    while texts[0] == texts[1] and n_digits < 10:
        scaled = [one / _SCALES[unit] for one in (number, limit)]
        texts = tuple(f"{one:,.{n_digits}f} {unit}" for one in scaled)
        n_digits += 1
    return texts


def is_of_memory(error: BaseException) -> bool:
    """Return whether work ended for lack of memory: it was refused, or its process was killed.

    TerminatedWorkerError of joblib is a BrokenProcessPool of its own copy of the module.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, MemoryError | BrokenProcessPool):
        return True
    if names & {"TerminatedWorkerError", "BrokenProcessPool", "OutOfMemoryError", "KilledWorker"}:
        return True
    # Torch and LightGBM raise errors of their own; a wrapped error keeps its cause.
    said = str(error).lower()
    if isinstance(error, RuntimeError | OSError) and (
        "can't allocate memory" in said or "out of memory" in said or "bad_alloc" in said
    ):
        return True
    return error.__cause__ is not None and is_of_memory(error.__cause__)


def describe_lack(error: BaseException) -> str:
    """Say that memory did not suffice, with the size where the error has one."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"BrokenProcessPool", "TerminatedWorkerError", "KilledWorker"}:
        return "a process that it had started was ended by the system, mostly for lack of memory"
    # numpy: "Unable to allocate 74.4 GiB for an array with shape (...) and data type float64"
    number, unit, *_ = [*str(error).partition("Unable to allocate ")[2].split(), "", ""]
    factor = 1024.0 ** _UNITS.index(unit) if unit in _UNITS else None
    if factor is None:
        return "memory did not suffice"
    size = format_bytes(float(number.replace(",", "")) * factor)
    return f"memory did not suffice: {size} could not be had at once"
