"""Examples in docstrings are run where they are written, whatever room a class is named by.

To look for examples takes as long as to import: what has none is not looked through.
"""

import doctest
import inspect
import re

import pytest
from _pytest.doctest import DoctestModule

_is_of_module = doctest.DocTestFinder._from_module


def _is_written_in(self, module, thing):
    if inspect.isclass(thing) and thing.__module__.startswith("skmia"):
        return re.search(rf"^class {thing.__name__}\b", inspect.getsource(module), re.MULTILINE)
    if inspect.isfunction(thing):
        # What wraps a method of a built-in type has no module of its own to be written in.
        return vars(module) is getattr(inspect.unwrap(thing), "__globals__", None)
    return _is_of_module(self, module, thing)


doctest.DocTestFinder._from_module = _is_written_in


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Leave a file without examples to its tests alone, unless it is named in the call."""
    collectors = yield
    if (
        not collectors
        or parent.session.isinitpath(file_path)
        or ">>>" in file_path.read_text("utf-8")
    ):
        return collectors
    return [one for one in collectors if not isinstance(one, DoctestModule)]
