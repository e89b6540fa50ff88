"""Record which tests reach which functions of skmia, and the processor's seconds of each test.

``python tests/helpers/reaching.py FILE -m "not slow" tests/metrics`` runs tests and adds what they
reached to a file that ``benchmarks/planted_faults.py --map FILE`` reads. Each function of skmia
begins with a call that notes its name, which is cheaper than a trace. What other processes reach is
not recorded.
"""

import ast
import builtins
import json
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTE = "_note_function_of_skmia"
EARLY = ""  # stands for a test: what runs while modules are imported


def note_calls(tree, path):
    """Let each function of a module note that it was called."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            name = ast.Constant(f"{path} {function.name}")
            note = ast.Expr(ast.Call(ast.Name(NOTE, ast.Load()), [name], []))
            at = 1 if ast.get_docstring(function, clean=False) is not None else 0
            function.body.insert(at, note)
    # What is sent to another process with its code finds nothing there that takes notes.
    known = f"{NOTE} = getattr(__import__('builtins'), {NOTE!r}, len)"
    at = 1 if ast.get_docstring(tree, clean=False) is not None else 0
    tree.body[at:at] = ast.parse(known).body
    return ast.fix_missing_locations(tree)


class NotingLoader(SourceFileLoader):
    def get_code(self, fullname):
        path = Path(self.get_filename(fullname))
        tree = note_calls(ast.parse(path.read_bytes()), path.relative_to(ROOT).as_posix())
        return compile(tree, str(path), "exec", dont_inherit=True)


class NotingFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] != "skmia":
            return None
        spec = PathFinder.find_spec(name, path)
        if isinstance(getattr(spec, "loader", None), SourceFileLoader):
            spec.loader = NotingLoader(name, spec.origin)
        return spec


def measure_processor_time():
    """Return the seconds of the processor that this process and those that it started have used."""
    import resource  # which Windows lacks; the rest of this file is read by tests there

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Recorder:
    """Collects what each test reaches, itself and by the fixtures that it shares with others."""

    def __init__(self):
        self.seen, self.shared = set(), {}
        self.spent = 0.0  # in the fixtures that tests share, during this test
        self.found = {}

    def pytest_collection_finish(self):
        self.found[EARLY] = 0.0, sorted(self.seen)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        before, spent, began = {*self.seen}, self.spent, measure_processor_time()
        self.seen.clear()
        try:
            return (yield)
        finally:
            took = measure_processor_time() - began
            self.shared[fixturedef] = {*self.seen}, took - (self.spent - spent)
            self.spent = spent + took
            self.seen |= before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.seen.clear()
        self.spent, began = 0.0, measure_processor_time()
        outcome = yield
        seconds = measure_processor_time() - began - self.spent
        reached = {*self.seen}
        known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        for definitions in known.values():
            more, took = self.shared.get(definitions[-1], ((), 0.0))
            reached |= {*more}
            seconds += took
        self.found[item.nodeid] = round(seconds, 3), sorted(reached)
        return outcome


def read_map(path):
    """Return the seconds and the functions of each test of a file that was recorded."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def main(path, *options):
    recorder = Recorder()
    setattr(builtins, NOTE, recorder.seen.add)
    sys.meta_path.insert(0, NotingFinder)
    code = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *options], plugins=[recorder])
    found = read_map(Path(path)) | recorder.found
    Path(path).write_text(json.dumps(found), "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
