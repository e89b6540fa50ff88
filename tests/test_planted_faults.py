"""The faults that ``benchmarks/planted_faults.py`` plants: other texts, and texts that compile."""

import ast
import builtins
import json
import os
import random
import time
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest
from planted_faults import (
    READS_DEFAULTS,
    Choice,
    Forks,
    PlantedFault,
    draw_faults,
    find_faults,
    plant,
    replace_functions,
)
from reaching import EARLY, NOTE, note_calls, read_map

ROOT = Path(__file__).parents[1]

# A body, what one of its faults is, and the body with it.
BODIES = {
    "return a < b": ("comparison", "return (a <= b)"),
    "return a is b": ("comparison", "return (a is not b)"),
    "return a + b": ("sign", "return (a - b)"),
    "return a and b": ("and, or", "return (a or b)"),
    "return a or b or c": ("term dropped", "return (b or c)"),
    "return not a": ("not or minus dropped", "return (a)"),
    "return a if b else c": ("other branch", "return (c if b else a)"),
    "return f(a, b)": ("arguments swapped", "return (f(b, a))"),
    "return max(a, b)": ("name", "return (min(a, b))"),
    "return a.any()": ("name", "return (a.all())"),
    "return a.get(b, c)": ("default", "return c"),
    "return 2": ("constant", "return 3"),
    "return True": ("constant", "return False"),
    "f(a, side='left')": ("side", "f(a, side='right')"),
    "a = a[b]": ("statement dropped", "pass"),
    "f(a)": ("statement dropped", "pass"),
    "if a: b()": ("never", "if False: b()"),
    "while a: b()": ("other branch", "while (not (a)): b()"),
    "é = 'é', a < b": ("comparison", "é = 'é', (a <= b)"),  # offsets count bytes
}


@pytest.mark.parametrize("body", BODIES)
def test_each_kind_of_fault_by_hand(body):
    what, wanted = BODIES[body]
    raw = f"def g(a, b, c):\n    {body}\n".encode()
    planted = [
        plant(fault, raw).decode() for fault in find_faults("g.py", raw)[1] if fault.what == what
    ]
    assert f"def g(a, b, c):\n    {wanted}\n" in planted


@pytest.mark.parametrize(
    "body",
    ["return min(a, b)", "isinstance(a, b)", "raise ValueError(f'{a + 1}')", "b: 3 = a", "'é'"],
)
def test_nothing_is_planted_that_is_no_mistake_of_a_programmer(body):
    raw = f"def g(a, b):\n    {body}\n".encode()
    faults = [fault for some in find_faults("g.py", raw).values() for fault in some]
    assert {fault.what for fault in faults} <= {"name", "statement dropped"}


def test_a_file_with_a_fault_is_another_one_that_compiles():
    paths = sorted((ROOT / "skmia").rglob("*.py"))
    for path in random.Random(0).sample(paths, 6):
        raw = path.read_bytes()
        whole = ast.dump(ast.parse(raw))
        faults = [fault for some in find_faults(path.name, raw).values() for fault in some]
        for fault in faults[::25]:
            assert ast.dump(ast.parse(plant(fault, raw))) != whole


def test_a_seed_draws_the_same_faults_in_other_functions_each():
    faults = draw_faults("7", 5, "model_selection")
    assert faults == draw_faults("7", 5, "model_selection")
    assert faults != draw_faults("8", 5, "model_selection")
    assert len({(fault.path, fault.function) for fault in faults}) == 5


SOURCE = """
nothing, two = object(), 2

def add(a, b=2, *, c=nothing):
    "A sum."
    def one_more(d):
        return d + 1
    return one_more(a) + b, c is nothing

def make():
    def five():
        return 5
    return five

class Sum:
    def __init__(self):
        super().__init__()
        self.total = 3
"""


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("a) + b", "a) - b", ((0, True), 3)),
        ("d + 1", "d + 2", ((5, True), 3)),
        ("b=2", "b=5", ((7, True), 3)),
        ("b=2", "b=0.5", ((2.5, True), 3)),
        ("super().__init__()", "pass", ((4, True), 3)),
        ("self.total = 3", "self.total = 4", ((4, True), 4)),
        ("c is nothing", "c is not nothing", ((4, False), 3)),
    ],
)
def test_functions_that_were_imported_get_a_fault(old, new, wanted):
    space = {"__name__": "summed"}
    exec(compile(SOURCE, "summed.py", "exec", dont_inherit=True), space)
    functions = [one for one in space.values() if isinstance(one, FunctionType)]
    functions += [space["Sum"].__init__]
    assert (space["add"](1), space["Sum"]().total) == ((4, True), 3)
    others = SOURCE.replace(old, new).encode()
    replace_functions(functions, Path("summed.py"), SOURCE.encode(), others)
    assert (space["add"](1), space["Sum"]().total) == wanted


def test_functions_that_others_have_made_before_get_a_fault():
    space = {"__name__": "summed"}
    exec(compile(SOURCE, "summed.py", "exec", dont_inherit=True), space)
    made = space["make"]()
    others = SOURCE.replace("return 5", "return 6").encode()
    replace_functions([made], Path("summed.py"), SOURCE.encode(), others)
    assert made() == 6


def test_a_fault_that_no_test_meets_is_not_caught():
    assert Forks(Path(), [], 1, None).run_tests([])[:2] == ("", 0)


class Meeting:
    """A test, or what stands for the hook of one: it calls a function."""

    def __init__(self, call):
        self.config = self.hook = self
        self.call, self.nodeid = call, call.__name__

    def pytest_runtest_protocol(self, item, nextitem):
        item.call()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each fault is met by a fork")
def test_a_test_that_hangs_is_named_and_is_none_that_catches(tmp_path):
    path = tmp_path / "summed.py"
    path.write_text("x = 1 + 1")
    fault = PlantedFault(path.name, "add", 1, "sign", 6, 7, "-")
    forks = Forks(tmp_path, [], 0.25, None)

    def passes():
        pass

    def hangs():
        time.sleep(100)

    def notices():
        if "-" in path.read_text():
            forks.pytest_runtest_logreport(SimpleNamespace(nodeid="notices", failed=True))

    def dies():
        os._exit(1)

    items = [Meeting(call) for call in (passes, hangs, dies, passes)]
    assert forks.fork(items, path, b"")[:2] == ("a test did not end", 2)
    assert forks.judge(fault, [*items, Meeting(notices), items[0]])[:2] == ("notices", 3)
    assert forks.judge(fault, items[2:])[:2] == (None, 1)  # without the one that is waited for


@pytest.mark.slow
def test_a_fault_that_was_imported_before_is_met_in_a_new_process(tmp_path):
    path = tmp_path / "summed.py"
    path.write_text("x = 1 + 1")
    tests = "from summed import x\ndef test_near(): pass\ndef test_sum(): assert x == 2\n"
    (tmp_path / "test_summed.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\nmarkers = slow\n")
    forks = Forks(tmp_path, [], 10, None)
    fault = PlantedFault(path.name, "add", 1, "sign", 6, 7, "-")
    near, whole = (SimpleNamespace(nodeid=f"test_summed.py::test_{k}") for k in ("near", "sum"))
    assert forks.meet_anew([near, whole], path, fault) == whole.nodeid
    assert forks.meet_anew([near], path, fault) is None
    assert forks.meet_anew([], path, fault) is None
    broken = fault._replace(text="(")
    assert forks.meet_anew([near], path, broken) == "test_summed.py"
    assert path.read_text() == "x = 1 + 1"


def test_each_function_notes_its_call_behind_its_docstring(monkeypatch):
    space, seen = {}, []
    monkeypatch.setattr(builtins, NOTE, seen.append, raising=False)
    exec(compile(note_calls(ast.parse(SOURCE), "summed.py"), "summed.py", "exec"), space)
    assert space["add"].__doc__ == "A sum."
    assert seen == []
    space["Sum"](), space["add"](1)
    assert seen == ["summed.py __init__", "summed.py add", "summed.py one_more"]


def test_tests_that_reach_a_function_come_by_their_seconds_behind_files_that_are_unknown(tmp_path):
    fault = PlantedFault("skmia/a.py", "add", 3, "sign", 0, 1, "-")
    nearest = ["skmia/a.py", "tests/new.py", "tests/b.py", "tests/test_house.py", "tests/a.py"]

    def choose_files(changed):
        assert changed == ["skmia/a.py"]
        return nearest

    assert Choice(None, choose_files).choose_tests(fault) == [*nearest[:3], "tests/a.py"]
    reached = ["skmia/a.py add", "skmia/b.py add"]
    known = {
        "tests/a.py::slow": [20.0, reached],
        "tests/far.py::quick": [0.05, reached],
        "tests/a.py::quick": [0.01, reached],
        "tests/b.py::quick": [0.09, [*reached, "skmia/a.py make"]],
        "tests/a.py::other": [0.01, ["skmia/b.py add"]],
        "skmia/a.py::example": [0.01, []],
        EARLY: [0.0, ["skmia/a.py make"]],
    }
    (tmp_path / "map.json").write_text(json.dumps(known))
    assert read_map(tmp_path / "map.json") == known
    choice = Choice(tmp_path / "map.json", choose_files)
    found, early = choice.choose_tests(fault), PlantedFault("skmia/a.py", "make", *fault[2:])
    quick = ["tests/b.py::quick", "tests/a.py::quick", "tests/far.py::quick"]
    assert found == ["tests/new.py", *quick, "tests/a.py::slow"]
    # What runs while modules are imported is met by all tests of the nearest files.
    assert [choice.runs_early(one) for one in (fault, early)] == [False, True]
    assert choice.choose_tests(early) == [*nearest[:3], "tests/a.py", "tests/b.py::quick"]
    assert Choice(None, choose_files).runs_early(fault)


def test_a_default_is_met_by_the_test_that_reads_all_defaults(tmp_path):
    of_default, of_body = find_faults("g.py", b"def g(a, b=True):\n    return False\n")[1]
    assert of_default.what == "constant of a default"
    assert of_body.what == "constant"
    path = tmp_path / "map.json"
    seconds = {"tests/a.py::test": [0.1, ["g.py g"]], READS_DEFAULTS: [0.5, []]}
    path.write_text(json.dumps(seconds), "utf-8")
    choice = Choice(path, lambda changed: ["tests/a.py"])
    assert choice.choose_tests(of_default) == ["tests/a.py::test", READS_DEFAULTS]
    assert choice.choose_tests(of_body) == ["tests/a.py::test"]
