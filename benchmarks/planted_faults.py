"""Plant faults in functions of skmia, one at a time, and see which of them the tests notice.

``python benchmarks/planted_faults.py --seed 1 --faults 60`` draws functions by the seed and a fault
in each: another comparison, ``max`` for ``min``, another sign, a constant beside its own, arguments
that change places, a ``not`` or a term that is dropped, the other branch, a statement that is left
out. A copy of the repository gets the fault, and its tests run in the order of ``make quick``,
nearest first, until one fails or the processor's seconds are over. Each fault is a line of the
output, and the last line is the share that was caught. Whether a fault that survived changes
anything at all is for a reader to judge.

``--only 3 17`` plants some of the faults of a seed, ``--room metrics`` draws in one room, and
``--list`` shows the faults and runs nothing.
"""

import argparse
import ast
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
# What each run of the tests imports, but for skmia itself, which has another fault each time.
PRELOADED = ["pytest", "pandas", "scipy.stats", "sklearn.ensemble", "sklearn.pipeline", "torch"]
# Files of tests that are collected at once, the nearest first, which takes longer than most tests.
STAGES = slice(0, 4), slice(4, 14)
# Calls in which no one takes an argument for the other, or where it does not matter.
UNMISTAKABLE = {"isinstance", "issubclass", "getattr", "hasattr", "setattr"}
UNMISTAKABLE |= {"min", "max", "zip", "np.minimum", "np.maximum"}

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SIGNS = {ast.Add: ast.Sub, ast.Mult: ast.Div, ast.BitAnd: ast.BitOr}
SIGNS |= {other: one for one, other in SIGNS.items()}
NAMES = {"min": "max", "minimum": "maximum", "nanmin": "nanmax", "argmin": "argmax", "any": "all"}
NAMES |= {"floor": "ceil", "cdf": "sf", "sum": "mean", "append": "extend", "left": "right"}
NAMES |= {other: one for one, other in NAMES.items()}
# Parts of the syntax in which a fault says nothing.
SKIPPED = {"annotation", "returns", "decorator_list"}
LEFT_OUT = ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.ClassDef
# Exit codes of pytest: all passed, nothing collected.
PASSED = 0, 5


class PlantedFault(NamedTuple):
    path: str
    function: str
    line: int
    what: str
    start: int  # offsets in bytes of the text that another one stands for
    end: int
    text: str


def change(node, **fields):
    """Return a copy of a node with other fields, as text."""
    other = deepcopy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return f"({ast.unparse(other)})"


def iter_other_expressions(node):
    """Yield what a fault does to an expression, and the text that stands in its place."""
    match node:
        case ast.Compare(ops=[op]):
            for other in COMPARISONS[type(op)]:
                yield "comparison", change(node, ops=[other()])
        case ast.BinOp(op=op) if type(op) in SIGNS and not has_text(node):
            yield "sign", change(node, op=SIGNS[type(op)]())
        case ast.BoolOp(op=op, values=values):
            other = ast.Or if isinstance(op, ast.And) else ast.And
            yield "and, or", change(node, op=other())
            for k in range(len(values)):
                yield "term dropped", change(node, values=values[:k] + values[k + 1 :])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield "not or minus dropped", f"({ast.unparse(operand)})"
        case ast.IfExp(body=body, orelse=orelse):
            yield "other branch", change(node, body=orelse, orelse=body)
        case ast.Constant(value=bool(value)):
            yield "constant", str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", str(value + 1)
            yield "constant", f"({value - 1})"
        case ast.Constant(value=float(value)):
            yield "constant", str(value * 2 if value else 1.0)
        case ast.Constant(value="left" | "right" as value):
            yield "side", repr(NAMES[value])
        case ast.Call(func=ast.Name(id=name) as func) if name in NAMES:
            yield "name", change(node, func=ast.Name(NAMES[func.id]))
        case ast.Call(func=ast.Attribute(attr=name) as func) if name in NAMES:
            yield "name", change(node, func=ast.Attribute(func.value, NAMES[name]))
    match node:
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            yield "default", ast.unparse(default)
        case ast.Call(args=[first, second, *rest]) if is_mistakable(node):
            yield "arguments swapped", change(node, args=[second, first, *rest])


def iter_other_statements(node):
    """Yield what a fault does to a statement, the node whose text goes, and the text instead."""
    match node:
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield "statement dropped", node, "pass"
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if name in {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}:
                yield "statement dropped", node, "pass"
        case ast.If(test=test) | ast.While(test=test):
            yield "other branch", test, f"(not ({ast.unparse(test)}))"
            yield "never", test, "False"
        case ast.Continue() | ast.Break():
            yield "statement dropped", node, "pass"


def is_mistakable(call):
    first, second = map(ast.unparse, call.args[:2])
    is_one_of_two = first != second and ast.unparse(call.func) not in UNMISTAKABLE
    return is_one_of_two and not has_text(call)


def has_text(node):
    return any(
        isinstance(one, ast.JoinedStr) or isinstance(getattr(one, "value", None), str)
        for one in ast.walk(node)
    )


def iter_inner(node):
    """Yield the nodes in which a fault can be, without messages, annotations and definitions."""
    for name, value in ast.iter_fields(node):
        if name in SKIPPED:
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST) and not isinstance(one, LEFT_OUT):
                yield one
                yield from iter_inner(one)


def find_faults(path, raw):
    """Return the faults of each function of a source, given as bytes, by the function's line."""
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {}
    for function in ast.walk(ast.parse(raw)):
        if not isinstance(function, ast.FunctionDef):
            continue
        faults = []
        for node in iter_inner(function):
            others = [(what, node, text) for what, text in iter_other_expressions(node)]
            for what, old, text in [*others, *iter_other_statements(node)]:
                start = starts[old.lineno - 1] + old.col_offset
                end = starts[old.end_lineno - 1] + old.end_col_offset
                at = path, function.name, old.lineno, what
                faults.append(PlantedFault(*at, start, end, text))
        if faults:
            found[function.lineno] = faults
    return found


def draw_faults(seed, n_faults, room):
    """Return a fault in each of so many functions, drawn by the seed."""
    functions = [
        faults
        for path in sorted((ROOT / "skmia" / room).rglob("*.py"))
        for faults in find_faults(str(path.relative_to(ROOT)), path.read_bytes()).values()
    ]
    rng = random.Random(f"{seed} {room}")
    return [rng.choice(faults) for faults in rng.sample(functions, min(n_faults, len(functions)))]


def plant(fault, raw):
    """Return a source, given as bytes, with the fault."""
    return raw[: fault.start] + fault.text.encode() + raw[fault.end :]


def show(fault):
    old = (ROOT / fault.path).read_bytes()[fault.start : fault.end].decode()
    old, new = (" ".join(text.split())[:70] for text in (old, fault.text))
    return f"{fault.path}:{fault.line} {fault.function} [{fault.what}] {old}  ->  {new}"


def copy_repository(folder):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def choose_tests(fault):
    """Return the files of tests that ``make quick`` runs after a change of the fault's file."""
    sys.path[:0] = [str(ROOT / "tests" / "helpers")]
    from nearest import choose_files

    return [path for path in choose_files([fault.path]) if "test_house" not in path]


class ProcessorTime:
    """Leaves out the tests that are reached when the seconds of the processor are over."""

    def __init__(self, seconds):
        self.seconds, self.n_run, self.failed = seconds, 0, ""

    def pytest_runtest_protocol(self, item, nextitem):
        if measure_processor_time() > self.seconds:
            return True
        self.n_run += 1
        return None

    def pytest_runtest_logreport(self, report):
        self.failed = self.failed or (report.nodeid if report.failed else "")

    def pytest_collectreport(self, report):
        self.failed = self.failed or (report.nodeid if report.failed else "")


def measure_processor_time():
    import resource  # which Windows lacks; the rest of this file is read by tests there

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_tests(folder, tests, seconds, pipe):
    """Run tests in a process of their own, and send the first that failed and how many ran."""
    import pytest

    os.setsid()
    os.chdir(folder)
    sys.path[:0] = [str(folder)]
    os.environ["PYTHONPATH"] = str(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    plugin = ProcessorTime(seconds + measure_processor_time())
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-n", "0"]
    code = pytest.main([*options, *tests], plugins=[plugin])
    pipe.send((int(code), plugin.failed, plugin.n_run, round(measure_processor_time())))


def meet(folder, tests, seconds):
    """Return what became of the tests in the copy: an exit code, what failed, how many ran."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=run_tests, args=(folder, tests, seconds, there))
    process.start()
    there.close()
    try:
        # Twenty times as long as the tests may take: what has not ended by then hangs.
        return here.recv() if here.poll(20 * seconds) else (-1, "nothing ended", 0, seconds)
    except EOFError:
        return -1, "the process died", 0, 0
    finally:
        if process.is_alive() and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, 9)
        process.join()


def judge(fault, folder, seconds):
    """Plant a fault, and return the test that failed or None, how many ran and the seconds used."""
    path = folder / fault.path
    whole = path.read_bytes()
    tests = choose_tests(fault)
    n_run = used = 0
    try:
        path.write_bytes(plant(fault, whole))
        for stage in STAGES:
            left = seconds - used
            if not tests[stage] or left <= 0:
                continue
            code, failed, n_more, spent = meet(folder, tests[stage], left)
            n_run, used = n_run + n_more, used + spent
            if code not in PASSED:
                return failed, n_run, used
        return None, n_run, used
    finally:
        path.write_bytes(whole)


def find_failing_anyhow(caught, folder, seconds):
    """Return the faults whose failing test fails in the copy without a fault as well."""
    tests = [test for test in caught.values() if "::" in test]
    if not tests or meet(folder, tests, seconds * len(tests))[0] in PASSED:
        return []
    return [k for k, test in caught.items() if meet(folder, [test], seconds)[0] not in PASSED]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", default=str(date.today()), help="by default the date")
    parser.add_argument("--faults", type=int, default=60, help="how many (default 60)")
    parser.add_argument(
        "--seconds", type=float, default=60, help="time of the processor for a fault"
    )
    parser.add_argument("--room", default="", help="a package, such as metrics; all by default")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the faults to plant")
    parser.add_argument("--list", action="store_true", help="show the faults and run nothing")
    args = parser.parse_args()
    faults = list(enumerate(draw_faults(args.seed, args.faults, args.room)))
    faults = [(k, fault) for k, fault in faults if args.only is None or k in args.only]
    if args.list:
        print(*(f"{k}: {show(fault)}" for k, fault in faults), sep="\n")
        return
    caught = {}
    with tempfile.TemporaryDirectory() as folder:
        copy_repository(Path(folder))
        for k, fault in faults:
            began = time.monotonic()
            failed, n_run, used = judge(fault, Path(folder), args.seconds)
            if failed is not None:
                caught[k] = failed
            print(f"{k}: {'SURVIVED' if failed is None else 'caught'} {show(fault)}")
            took = f"{used} s of the processor, {time.monotonic() - began:.0f} s"
            print(f"    {n_run} tests, {took}, {failed}", flush=True)
        for k in find_failing_anyhow(caught, Path(folder), args.seconds):
            print(f"{k}: {caught.pop(k)} fails without a fault too: not judged")
            faults = [one for one in faults if one[0] != k]
    print(f"seed {args.seed}: {len(caught)} of {len(faults)} caught")


if __name__ == "__main__":
    main()
