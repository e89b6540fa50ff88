"""Examples in docstrings are run where they are written, whatever room a class is named by."""

import doctest
import inspect
import re

_is_of_module = doctest.DocTestFinder._from_module


def _is_written_in(self, module, thing):
    if inspect.isclass(thing) and thing.__module__.startswith("skmia"):
        return re.search(rf"^class {thing.__name__}\b", inspect.getsource(module), re.MULTILINE)
    if inspect.isfunction(thing):
        # What wraps a method of a built-in type has no module of its own to be written in.
        return vars(module) is getattr(inspect.unwrap(thing), "__globals__", None)
    return _is_of_module(self, module, thing)


doctest.DocTestFinder._from_module = _is_written_in
