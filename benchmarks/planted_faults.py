"""Plant faults in functions of skmia, one at a time, and see which of them the tests notice.

``python benchmarks/planted_faults.py --seed 1 --faults 60`` draws functions by the seed and a fault
in each: another comparison, ``max`` for ``min``, another sign, a constant beside its own, arguments
that change places, a ``not`` or a term that is dropped, the other branch, a statement that is left
out. A copy of the repository gets the fault, and its tests run until one fails or the processor's
seconds are over. Each fault is a line of the output, and the last line is the share that was
caught. Whether a fault that survived changes anything at all is for a reader to judge.

The tests are those of the nearest files, in the order of ``make quick``. ``--map FILE`` takes those
that reach the function, in any file and the quickest first: ``tests/helpers/reaching.py`` records
such a file. The tests are collected once, and each fault is met by a fork of that process, in which
the function gets its other code. Where it may have run before, while modules were imported, a fault
that survives meets its tests again in a new process.

``--only 3 17`` plants some of the faults of a seed, ``--room metrics`` draws in one room, and
``--list`` shows the faults and runs nothing.
"""

import argparse
import ast
import gc
import math
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from copy import deepcopy
from datetime import date
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "helpers")]

from reaching import EARLY, measure_processor_time, read_map  # noqa: E402

# Files of tests that meet a fault where no map says which tests reach its function.
MOST_FILES = 14
# Clock seconds of a test that hangs, for each of the processor that all may take.
PATIENCE = 2
COLLECTING = 60  # at most, before the first test of a new process
# Reads the defaults of all that is public, which no call of a function shows.
READS_DEFAULTS = "tests/test_docs.py::test_documented_defaults_are_those_of_the_signatures"
OF_A_DEFAULT = " of a default"
# Calls in which no one takes an argument for the other, or where it does not matter.
UNMISTAKABLE = {"isinstance", "issubclass", "getattr", "hasattr", "setattr"}
UNMISTAKABLE |= {"min", "max", "zip", "suppress", "np.minimum", "np.maximum", "np.clip"}
UNMISTAKABLE |= {"np.add", "np.multiply", "np.logaddexp", "np.hypot", "np.array_equal"}

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
        faults, of_defaults = [], {*ast.walk(function.args)}
        for node in iter_inner(function):
            place = OF_A_DEFAULT if node in of_defaults else ""
            others = [(what, node, text) for what, text in iter_other_expressions(node)]
            for what, old, text in [*others, *iter_other_statements(node)]:
                start = starts[old.lineno - 1] + old.col_offset
                end = starts[old.end_lineno - 1] + old.end_col_offset
                at = path, function.name, old.lineno, what + place
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


class Choice:
    """Chooses the tests that meet a fault, by a map of what they reach or by imports."""

    def __init__(self, path, choose_files):
        self.choose_files = choose_files
        self.seconds, self.reaching, self.early = {}, {}, set() if path else None
        for test, (seconds, functions) in (read_map(path) if path else {}).items():
            if test == EARLY:
                self.early = {*functions}
                continue
            self.seconds[test] = seconds
            for function in functions:
                self.reaching.setdefault(function, []).append(test)

    def choose_tests(self, fault):
        """Return the nearest files of tests, and of those that the map knows, what reaches it."""
        files = [path for path in self.choose_files([fault.path]) if "test_house" not in path]
        known = {test.partition("::")[0] for test in self.seconds}
        found = self.reaching.get(f"{fault.path} {fault.function}", [])
        places = {path: k for k, path in enumerate(files)}
        is_near = not found or self.runs_early(fault)
        files = [path for path in files[:MOST_FILES] if is_near or path not in known]
        readers = {READS_DEFAULTS} & self.seconds.keys() if OF_A_DEFAULT in fault.what else ()
        return [*files, *sorted({*found, *readers}, key=partial(self.rank_test, places))]

    def runs_early(self, fault):
        """Return whether the function runs while modules are imported, as far as the map knows."""
        return self.early is None or f"{fault.path} {fault.function}" in self.early

    def rank_test(self, places, test):
        """Return the order of a test: by powers of ten of its seconds, and then by its file."""
        path = test.partition("::")[0]
        power = math.ceil(math.log10(max(self.seconds[test], 0.1)))
        return power, places.get(path, len(places)), path


def pair_codes(old, new):
    """Yield the code of each function of a module, at any depth, and what it is after a change."""
    # A fault can add a constant, and drop an inner function with the expression that it is in.
    inner, others = ([one for one in c.co_consts if isinstance(one, CodeType)] for c in (old, new))
    for one, other in zip(inner, others, strict=True) if len(inner) == len(others) else ():
        if one.co_flags & 2:  # CO_NEWLOCALS, which the body of a class lacks
            yield one, other
        yield from pair_codes(one, other)


def find_defaults(raw):
    """Yield the name and first line of each function of a source, and it without its body."""
    for node in ast.walk(ast.parse(raw)):
        if isinstance(node, ast.FunctionDef):
            line = min(one.lineno for one in [node, *node.decorator_list])
            bare = {"body": [ast.Pass()], "decorator_list": [], "returns": None}
            for one in ast.walk(node.args):
                if isinstance(one, ast.arg):
                    one.annotation = None
            yield (node.name, line), ast.FunctionDef(node.name, node.args, **bare)


def replace_functions(functions, path, old, new):
    """Give functions that were imported from a path the code and defaults of another source."""
    whole, planted = (compile(raw, path, "exec", dont_inherit=True) for raw in (old, new))
    codes, bare = dict(pair_codes(whole, planted)), dict(find_defaults(new))
    for function in functions:
        code = function.__code__
        if code.co_filename != str(path) or code not in codes:
            continue
        # Without the call of super that is gone, there would be no cell of the class.
        function.__code__ = codes[code].replace(co_freevars=code.co_freevars)
        if (definition := bare.get((code.co_name, code.co_firstlineno))) is not None:
            module = ast.fix_missing_locations(ast.Module([definition], []))
            made = {}
            exec(compile(module, path, "exec"), {**function.__globals__}, made)
            function.__defaults__ = made[definition.name].__defaults__
            function.__kwdefaults__ = made[definition.name].__kwdefaults__


class Forks:
    """Meets each fault in a fork of the process that has collected the tests."""

    def __init__(self, folder, chosen, seconds, pipe):
        self.folder, self.chosen, self.seconds, self.pipe = folder, chosen, seconds, pipe
        self.failed, self.functions = "", []

    def pytest_runtestloop(self, session):
        of_name = {}
        for item in session.items:
            of_name.setdefault(item.nodeid, []).append(item)
            of_name.setdefault(item.nodeid.partition("::")[0], []).append(item)
        self.functions = [one for one in gc.get_objects() if type(one) is FunctionType]
        gc.freeze()
        for fault, names, is_early in self.chosen:
            items = [item for name in names for item in of_name.get(name, [])]
            self.pipe.send(self.judge(fault, items, is_early))
        return True

    def judge(self, fault, items, is_early=False):
        """Return the test that fails by a fault alone, or None, how many ran, and the seconds."""
        path = self.folder / fault.path
        whole = path.read_bytes()
        while True:
            try:
                path.write_bytes(plant(fault, whole))
                failed, n_run, used = self.fork(items, path, whole)
            finally:
                path.write_bytes(whole)
            if not failed:
                anew = self.meet_anew(items[:n_run], path, fault) if is_early else None
                return anew, n_run, used
            if not (items and self.fork(items[n_run - 1 : n_run], path, whole)[0]):
                return failed, n_run, used
            items = items[: n_run - 1] + items[n_run:]  # it fails without a fault too

    def meet_anew(self, items, path, fault):
        """Return the test that fails in a new process, which imports the fault, or None."""
        whole = path.read_bytes()
        try:
            path.write_bytes(plant(fault, whole))
            failed = self.find_failing([item.nodeid for item in items])
        finally:
            path.write_bytes(whole)
        # An error while a file is collected names the file.
        return failed if failed and not self.find_failing([failed]) else None

    def find_failing(self, names):
        """Return the first of some tests that fails in a new process, or None."""
        if not names:
            return None
        listed = self.folder / "build-names.txt"
        listed.write_text("\n".join(names), "utf-8")
        options = ["-q", "-x", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider", "-r", "fE"]
        command = [sys.executable, "-m", "pytest", *options, f"@{listed}"]
        limit = PATIENCE * self.seconds + COLLECTING
        try:
            ended = subprocess.run(
                command, cwd=self.folder, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return None
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
        return found and found[1]

    def fork(self, items, path, whole):
        """Run tests in a fork, until one fails, and return its name, how many ran, and seconds."""
        here, there = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if not child:
            os.setsid()
            try:
                replace_functions(self.functions, path, whole, path.read_bytes())
                there.send(self.run_tests(items, there.send))
            finally:
                os._exit(0)
        there.close()
        told = 1
        try:
            # Tests that start processes may hang in a fork, and do so without a fault as well.
            while here.poll(PATIENCE * self.seconds):
                told = here.recv()
                if not isinstance(told, int):
                    return told
            return "a test did not end", told, self.seconds
        except EOFError:
            return "the process died", told, 0
        finally:
            try:
                os.killpg(child, 9)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)

    def run_tests(self, items, tell=id):
        began = measure_processor_time()
        n_run = 0
        for item, following in zip(items, [*items[1:], None]):  # also of none
            if self.failed or measure_processor_time() - began > self.seconds:
                break
            n_run += 1
            tell(n_run)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self.failed, n_run, round(measure_processor_time() - began, 1)

    def pytest_runtest_logreport(self, report):
        self.failed = self.failed or (report.nodeid if report.failed else "")


def run_session(folder, chosen, seconds, pipe):
    """Collect the tests in the copy, and send what becomes of each fault."""
    import pytest

    os.chdir(folder)
    sys.path[:0] = [str(folder)]
    os.environ["PYTHONPATH"] = str(folder)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    files = dict.fromkeys(name.partition("::")[0] for _, names, _ in chosen for name in names)
    options = ["-q", "-m", "not slow", "-n", "0", "--continue-on-collection-errors"]
    options += ["-p", "no:cacheprovider", f"--basetemp={folder / 'build'}"]
    pytest.main([*options, *files], plugins=[Forks(folder, chosen, seconds, pipe)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    today = [str(date.today())]
    parser.add_argument("--seed", nargs="+", default=today, help="by default the date")
    parser.add_argument("--faults", type=int, default=60, help="how many of a seed (default 60)")
    parser.add_argument(
        "--seconds", type=float, default=60, help="time of the processor for a fault"
    )
    parser.add_argument("--room", default="", help="a package, such as metrics; all by default")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the faults to plant")
    parser.add_argument("--map", type=Path, help="a file of what tests reach")
    parser.add_argument("--list", action="store_true", help="show the faults and run nothing")
    args = parser.parse_args()
    drawn = [
        (seed, k, fault)
        for seed in args.seed
        for k, fault in enumerate(draw_faults(seed, args.faults, args.room))
        if args.only is None or k in args.only
    ]
    if args.list:
        print(*(f"{seed} {k}: {show(fault)}" for seed, k, fault in drawn), sep="\n")
        return
    from nearest import choose_files  # which imports pytest

    choice = Choice(args.map, choose_files)
    chosen = [
        (fault, choice.choose_tests(fault), choice.runs_early(fault)) for _, _, fault in drawn
    ]
    n_caught = dict.fromkeys(args.seed, 0)
    with tempfile.TemporaryDirectory() as folder:
        copy_repository(Path(folder))
        here, there = multiprocessing.Pipe(duplex=False)
        arguments = Path(folder), chosen, args.seconds, there
        process = multiprocessing.get_context("spawn").Process(target=run_session, args=arguments)
        process.start()
        there.close()
        for seed, k, fault in drawn:
            failed, n_run, used = here.recv()
            n_caught[seed] += failed is not None
            print(f"{seed} {k}: {'SURVIVED' if failed is None else 'caught'} {show(fault)}")
            print(f"    {n_run} tests, {used} s of the processor, {failed}", flush=True)
        process.join()
    for seed, n in n_caught.items():
        print(f"seed {seed}: {n} of {sum(one[0] == seed for one in drawn)} caught")


if __name__ == "__main__":
    main()
