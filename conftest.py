"""Examples in docstrings are run where they are written, whatever room a class is named by.

Signatures are read once: scikit-learn reads one for each copy of an estimator and for each call of
a function, which takes a tenth of the time of an audit of few records. No array is asked whether it
is a table of one of ten libraries, which takes another twentieth. Nor are filters of warnings set
anew, and labels checked, for each tree of a forest.

A test that hangs shows where, and ends its process. pytest can do so itself, by a thread that it
starts and ends with each test, which takes a third of the time of a test of nothing.

Threads of OpenMP sleep while they wait. LightGBM starts one for each processor whatever
OMP_NUM_THREADS says, and where other work has the processors, those that spin take thirty times as
long as the model.
"""

import doctest
import faulthandler
import functools
import inspect
import math
import os
import re
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest
from _pytest.runner import runtestprotocol
from numpy.random.bit_generator import ISeedSequence

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

_find, _is_of_module = doctest.DocTestFinder.find, doctest.DocTestFinder._from_module


def _find_examples(self, module, *arguments, **settings):
    """Search no module whose text has no example, as those of tests."""
    try:
        has_examples = ">>>" in inspect.getsource(module)
    except OSError:  # an empty file
        return []
    return _find(self, module, *arguments, **settings) if has_examples else []


def _is_written_in(self, module, thing):
    if inspect.isclass(thing) and thing.__module__.startswith("skmia"):
        return re.search(rf"^class {thing.__name__}\b", inspect.getsource(module), re.MULTILINE)
    if inspect.isfunction(thing):
        # What wraps a method of a built-in type has no module of its own to be written in.
        return vars(module) is getattr(inspect.unwrap(thing), "__globals__", None)
    return _is_of_module(self, module, thing)


doctest.DocTestFinder.find = _find_examples
doctest.DocTestFinder._from_module = _is_written_in


@ISeedSequence.register
class _FirstSeed:
    """What a generator is made with, before it gets its seed."""

    def generate_state(self, n_words, dtype=np.uint32):
        return np.zeros(n_words, dtype)


def make_generator(check, seed):
    """Return a generator with a seed, as ``check`` does."""
    if type(seed) is not int:
        return check(seed)
    generator = np.random.RandomState(np.random.MT19937(_FirstSeed()))
    generator.seed(seed)
    return generator


class _CheckOnce:
    """A check of an array, which is not checked twice in a row."""

    def __init__(self, check):
        self._check, self._last = check, lambda: None

    def __call__(self, y):
        if type(y) is not np.ndarray or self._last() is not y:
            self._check(y)
        if type(y) is np.ndarray:
            self._last = weakref.ref(y)


@functools.cache
def answer_what_scikit_learn_asks_often():
    """Keep the answers to questions about classes, functions and arrays that do not change."""
    import sklearn.ensemble
    import sklearn.tree
    from sklearn.base import BaseEstimator
    from sklearn.utils import _param_validation, parallel, validation

    read_parameters, known = BaseEstimator._get_param_names.__func__, {}

    @classmethod
    def get_known_parameters(cls):
        if cls.__init__ not in known:
            known[cls.__init__] = read_parameters(cls)
        return list(known[cls.__init__])

    BaseEstimator._get_param_names = get_known_parameters
    _param_validation.signature = functools.cache(inspect.signature)

    # A task of the thread that started it has the settings and the filters of warnings of this one.
    take_settings, call = (
        getattr(parallel._FuncWrapper, name, None)
        for name in ("with_config_and_warning_filters", "__call__")
    )

    def note_thread(self, *settings):
        self.thread = os.getpid(), threading.get_ident()
        return take_settings(self, *settings)

    def call_at_once(self, *arguments, **settings):
        is_here = getattr(self, "thread", None) == (os.getpid(), threading.get_ident())
        called = self.function if is_here else partial(call, self)
        return called(*arguments, **settings)

    if take_settings is not None:
        parallel._FuncWrapper.with_config_and_warning_filters = note_thread
        parallel._FuncWrapper.__call__ = call_at_once
    # Trees of a forest get the same labels.
    trees = sklearn.tree._classes
    trees.check_classification_targets = _CheckOnce(trees.check_classification_targets)
    # A generator is seeded twice, the first time from what the system gives it, which takes longer.
    for module in (sklearn.tree._classes, sklearn.ensemble._forest):
        module.check_random_state = partial(make_generator, module.check_random_state)
    # What older versions do not have, they do not ask either.
    if aliases := sys.modules.get("sklearn.externals.array_api_compat.common._aliases"):
        aliases._unique_kwargs = functools.cache(aliases._unique_kwargs)
    if is_table := getattr(validation, "_nw_into_df_or_series", None):
        validation._nw_into_df_or_series = lambda x: type(x) is not np.ndarray and is_table(x)
    name_columns = validation._get_feature_names
    validation._get_feature_names = lambda x: None if type(x) is np.ndarray else name_columns(x)


# Seconds between two starts of the thread that ends what hangs: a test has as much less.
_BETWEEN_STARTS = 30
_errors, _started = pytest.StashKey[int](), pytest.StashKey[float]()


def pytest_addoption(parser):
    """Take the time after which a test hangs from setup.cfg."""
    told = "seconds after which a test that hangs shows where, and ends its process"
    parser.addini("hang_timeout", told, default="0")


def pytest_configure(config):
    """Keep the stream of errors, in whose place tests have another one."""
    config.stash[_errors] = os.dup(sys.__stderr__.fileno())


def pytest_unconfigure(config):
    """End the thread, and let go of the stream."""
    faulthandler.cancel_dump_traceback_later()
    os.close(config.stash[_errors])


def pytest_enter_pdb():
    """Let whoever looks for an error take any time."""
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Let what hangs end after the time from now on, unless that was said a moment ago."""
    stash, seconds = item.config.stash, float(item.config.getini("hang_timeout"))
    if seconds and time.monotonic() > stash.get(_started, -math.inf) + _BETWEEN_STARTS:
        stash[_started] = time.monotonic()
        faulthandler.dump_traceback_later(seconds, exit=True, file=stash[_errors])


def pytest_collectstart():
    """Before anything is imported that is tested, and not where processes only get tests."""
    answer_what_scikit_learn_asks_often()


def pytest_runtest_protocol(item, nextitem):
    """Tell the process that hands out tests how a test ends, and not that it is about to begin.

    Nor that its fixtures were made, unless somebody asked how long that took.
    """
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.durations or options.xmlpath:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or report.outcome != "passed":
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_report_to_serializable(report):
    """Send no keywords of tests that pass, which nobody reads, from one process to another."""
    if report.outcome == "passed":
        report.keywords = {}
