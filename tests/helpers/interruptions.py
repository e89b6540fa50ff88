"""Interruptions of a call at a line of the package, and what an estimator is after them."""

import copy
import linecache
import pickle
import random
import sys
from pathlib import Path

import numpy as np

import skmia

PACKAGE = str(Path(skmia.__file__).parent)
ANSWERS = ("score_samples", "transform", "predict_proba", "predict")


def run_to_line(call, stop=None):
    """Run a call, interrupt it at a line of the package, and count the lines up to there."""
    n_lines = 0

    def trace(frame, event, argument):
        if frame.f_code.co_filename.startswith(PACKAGE):
            return count

    def count(frame, event, argument):
        nonlocal n_lines
        if event == "line":
            n_lines += 1
            if stop is not None and n_lines >= stop and not is_leaving(frame):
                raise KeyboardInterrupt
        return count

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return n_lines


def is_leaving(frame):
    """Whether a frame is at a ``with``, which is met once more before it is left.

    An exception that is raised there, which an interruption is not, would leave it open.
    """
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def interrupt(call, stop):
    """Whether a call was interrupted: it is not if it takes fewer lines than the last time."""
    try:
        run_to_line(call, stop)
    except KeyboardInterrupt:
        return True
    return False


def freeze(value):
    """Return the whole content of a value as bytes."""
    return pickle.dumps(value)


def answer(estimator, X):
    """Return all answers of a copy of a fitted estimator about X."""
    fitted, found = copy.deepcopy(estimator), {}
    for name in ANSWERS:
        if hasattr(fitted, name):
            try:
                found[name] = np.asarray(getattr(fitted, name)(X))
            except (TypeError, ValueError) as error:
                found[name] = np.array(str(error))
    return found


def assert_same_answers(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])


def assert_interruptions_leave(fitted, learn, X):
    """Interrupt copies of a fitted estimator somewhere while they learn, and at the last place."""
    expected, n_stopped = answer(fitted, X), 0
    learn(copy.deepcopy(fitted))  # fills what records and parameters store on first use
    counted = copy.deepcopy(fitted)
    n_lines = run_to_line(lambda: learn(counted))
    for place in (random.randint(1, n_lines), n_lines):
        trial = copy.deepcopy(fitted)
        state = freeze(vars(trial))
        if interrupt(lambda: learn(trial), place):  # noqa: B023 - called at once
            n_stopped += 1
            assert freeze(vars(trial)) == state
            assert_same_answers(answer(trial, X), expected)
    assert n_stopped >= 1  # what draws without a seed can take fewer lines another time
