"""Interruptions of a call at a line of the package, and what an estimator is after them."""

import copy
import linecache
import pickle
import random
import sys
from functools import partial
from pathlib import Path

import numpy as np

import skmia
from skmia._core.transactions import _take_over

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
    counted = copy.deepcopy(fitted)
    learn(copy.deepcopy(fitted))  # fills what records and parameters store on first use
    n_lines = run_to_line(lambda: learn(counted))
    _assert_interruption_leaves(
        fitted, lambda trial: interrupt(lambda: learn(trial), random.randint(1, n_lines)), X
    )
    assert_last_interruption_leaves(fitted, learn, X)


def assert_last_interruption_leaves(fitted, learn, X):
    """Interrupt a copy of a fitted estimator as soon as it has all that it has learned."""
    interrupted = partial(_interrupt_at_the_end, learn)
    assert _assert_interruption_leaves(fitted, interrupted, X)


def _assert_interruption_leaves(fitted, interrupted, X):
    """Whether it was interrupted: what draws without a seed can take fewer lines another time."""
    expected, trial = answer(fitted, X), copy.deepcopy(fitted)
    state = freeze(vars(trial))
    if not interrupted(trial):
        return False
    assert freeze(vars(trial)) == state
    assert_same_answers(answer(trial, X), expected)
    return True


def _interrupt_at_the_end(learn, estimator):
    def trace(frame, event, argument):
        if frame.f_code is _take_over.__code__ and frame.f_locals["estimator"] is estimator:
            return stop

    def stop(frame, event, argument):
        if event == "line" and vars(estimator) is vars(frame.f_locals["copied"]):
            raise KeyboardInterrupt
        return stop

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        learn(estimator)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
