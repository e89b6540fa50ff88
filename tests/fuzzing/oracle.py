"""What a call at a public door may end in: an answer, or one sentence of skmia or scikit-learn."""

import dis
import os
import random
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from scipy import sparse

import skmia
from skmia import Records

_HOMES = {
    "skmia": str(Path(skmia.__file__).parent) + os.sep,
    "scikit-learn": str(Path(sklearn.__file__).parent) + os.sep,
}
_SENTENCES = (ValueError, TypeError, ImportError)  # NotFittedError is a ValueError
_LONGEST = 700
# Doors, and how many calls ended in an answer or a sentence.
COUNTS = Counter()
FOUND = []
COLLECT = "FUZZ" in os.environ


class ForeignOutcomeError(AssertionError):
    """A call that ended in something else."""


def _innermost(error):
    """Frame and instruction where the error was raised."""
    where = error.__traceback__
    while where.tb_next is not None:
        where = where.tb_next
    return where


def _is_raised(where):
    """Whether the code says ``raise`` there; what numpy raises in C has no frame of its own."""
    instructions = dis.get_instructions(where.tb_frame.f_code)
    found = {one.offset: one.opname for one in instructions}
    return found.get(where.tb_lasti) == "RAISE_VARARGS"


def find_fault(error, allowed=()):
    """Say why an exception is foreign; None where it is a sentence."""
    where = _innermost(error)
    path = where.tb_frame.f_code.co_filename
    home = next((name for name, folder in _HOMES.items() if path.startswith(folder)), None)
    place = f"{path}:{where.tb_lineno}"
    if not isinstance(error, (*_SENTENCES, *allowed)):
        return f"{type(error).__name__} at {place}"
    if home is None or not _is_raised(where):
        return f"not raised by skmia or scikit-learn, but at {place}"
    text = str(error)
    quoted = error.__cause__ is not None  # words of the user's model
    is_long = "\n" in text or (len(text) > _LONGEST and not quoted)
    if not text.strip() or (home == "skmia" and is_long):
        return f"no sentence of one line, at {place}"
    return None


def _mark(value):
    """What shows that a value was changed: its type and content."""
    if isinstance(value, Records):
        value = {"X": value.X, "y": value.y, **value.fields}
    if hasattr(value, "detach"):
        value = value.detach().double().numpy()
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, j].to_numpy() for j in range(value.shape[1])]
        return "frame", repr(list(value.columns)), _mark(columns)
    if sparse.issparse(value):
        return "sparse", value.shape, str(value.dtype), _mark(value.data.copy())
    if isinstance(value, np.ma.MaskedArray):
        return "masked", _mark(value.data), _mark(np.ma.getmaskarray(value))
    if isinstance(value, pd.Series):
        value = value.to_numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return "objects", value.shape, [_mark(one) for one in value.reshape(-1).tolist()]
    if isinstance(value, dict):
        return {name: _mark(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [_mark(one) for one in value]
    return type(value), repr(value)[:10_000]


def _global_state():
    numpy_state = _mark(np.random.get_state())  # noqa: NPY002
    torch = sys.modules.get("torch")
    torch_state = torch and torch.random.get_rng_state().numpy().tobytes()
    return random.getstate(), numpy_state, torch_state


def knock(door, call, *args, check=None, allowed=(), **kwargs):
    """Call a door and judge what comes out of it.

    Parameters
    ----------
    door : str
        Its name, under which the call is counted.
    call : callable
    *args, **kwargs
        What it is called with, none of which it may change.
    check : callable, default=None
        Looks at the answer; raises AssertionError.
    allowed : tuple of exceptions, default=()
        What this door may raise as well.

    Returns
    -------
    answer : object
        None after an exception.
    """
    before, state = _mark([args, kwargs]), _global_state()
    fault = answer = error = None
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("ignore")
        try:
            answer = call(*args, **kwargs)
        except Exception as raised:
            error = raised
            fault = find_fault(raised, allowed)
        if error is None and check is not None:
            try:
                check(answer)
            except AssertionError as raised:
                error, fault = raised, f"wrong answer: {raised}"
    if fault is None and _mark([args, kwargs]) != before:
        fault = "an argument was changed"
    if fault is None and _global_state() != state:
        fault = "a global generator of random numbers was used"
    COUNTS[door, "foreign" if fault else "answer" if error is None else "sentence"] += 1
    if fault:
        _report(door, call, args, kwargs, error, fault)
    return answer


def _report(door, call, args, kwargs, error, fault):
    given = ", ".join([*map(repr, args), *(f"{name}={one!r}" for name, one in kwargs.items())])
    text = f"{door}: {fault}\n  {type(error).__name__}: {error}\n  {call}({given})"
    if not COLLECT:
        raise ForeignOutcomeError(text) from error
    FOUND.append((door, fault, text))


def no_nan(scores):
    """A check: an array of numbers without NaN."""
    scores = np.asarray(scores)
    assert scores.dtype.kind in "biuf", f"scores of {scores.dtype}"
    assert not np.isnan(scores).any(), "NaN in scores"


def finite(value):
    """A check: finite numbers only, at any depth of tuples."""
    parts = value if isinstance(value, tuple) else (value,)
    for part in parts:
        part = np.asarray(part)
        if part.dtype.kind in "fc":
            assert np.isfinite(part).all(), f"not finite: {part}"
