"""The faults that ``benchmarks/planted_faults.py`` plants: other texts, and texts that compile."""

import ast
import random
from pathlib import Path

import pytest
from planted_faults import draw_faults, find_faults, plant

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
    for path in random.Random(0).sample(paths, 12):
        raw = path.read_bytes()
        whole = ast.dump(ast.parse(raw))
        faults = [fault for some in find_faults(path.name, raw).values() for fault in some]
        for fault in faults[::10]:
            assert ast.dump(ast.parse(plant(fault, raw))) != whole


def test_a_seed_draws_the_same_faults_in_other_functions_each():
    faults = draw_faults("7", 5, "metrics")
    assert faults == draw_faults("7", 5, "metrics")
    assert faults != draw_faults("8", 5, "metrics")
    assert len({(fault.path, fault.function) for fault in faults}) == 5
