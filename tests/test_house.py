"""The wall: packages import from rows above them, and keep out of each other's private rooms.

Exceptions of today are in ``house_exceptions.txt``, one a line. The list may only shrink: an entry
that no import needs any more fails the test as well. ``python tests/test_house.py`` writes it.
"""

import ast
import gc
import importlib
import json
import re
import subprocess
import sys
from functools import cache, lru_cache
from pathlib import Path

import pytest

import skmia

ROOT = Path(skmia.__file__).parent
EXCEPTIONS = Path(__file__).with_name("house_exceptions.txt")

# From the ground up: a package may import from those before it.
ROWS = (
    "exceptions",
    "_core",
    "_training",
    "metrics",
    "victims",
    "datasets",
    "signals",
    "memorization",
    "shadow",
    "base",
    "attacks",
    "inspection",
    "leakage",
    "games",
    "model_selection",
    "disparity",
    "epsilon",
    "defenses",
    "disclosure",
    "synthetic",
    "testing",
    "report",
    "cli",
    "__main__",
)
# The two whose modules every other package may use.
GROUND = {"_core", "_training"}
# What may only fall: a commit that lowers one of them writes the new number here.
LIMITS = {
    "inner modules without a mark that cross a wall": 0,
    "names on front pages": 200,
    "arrows up": 0,
    "calls of block functions outside their module": 40,
    "modules that call block functions": 6,
    # A traceback and a search find what is meant by its name.
    "percent of classes that share their name": 3,
    "percent of definitions that share their name": 8,
    "percent of classes named by one word": 25,
    "percent of the code that refuses": 9,
}
# Where the arithmetic of tables that are larger than the memory stands.
OUT_OF_CORE = "skmia._core.out_of_core"
# The two modules that may use private parts of other libraries; each use has a test.
FENCES = {"skmia._core.sdv_parts", "skmia._core.sklearn", "skmia._core.torch_parts"}


@lru_cache(maxsize=1)
def read_modules():
    """The syntax tree of each module of the package, by its name."""
    modules, searches = {}, gc.isenabled()
    gc.disable()  # to search the growing trees for garbage takes four times as long as to read them
    try:
        for path in sorted(ROOT.rglob("*.py")):
            name = ".".join(["skmia", *path.relative_to(ROOT).with_suffix("").parts])
            modules[name.removesuffix(".__init__")] = ast.parse(path.read_text()), path
        gc.freeze()  # they stay
    finally:
        if searches:
            gc.enable()
    return modules


# What holds no other node: places, names, and whether a name is read or set.
LEAVES = {int, str, type(None), ast.Load, ast.Store, ast.Del}


@cache
def walk(tree):
    """Return all nodes of the tree of a module but such leaves; it is walked once, and quickly."""
    nodes = [tree]
    for node in nodes:
        for value in vars(node).values():
            kind = type(value)
            if kind is list:
                nodes += [one for one in value if isinstance(one, ast.AST)]
            elif kind not in LEAVES and isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def find_package(module):
    """The room of a module: ``shadow`` of ``skmia.shadow._pool``."""
    return (module.split(".") + [""])[1]


@cache
def list_imports(name, tree, path):
    """Modules that a module imports from skmia, in functions too, and the names taken of each."""
    return list(iter_imports(name, tree, path))


def iter_imports(name, tree, path):
    inside = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names if target.split(".")[0] == "skmia" else ():
                whole = f"{target}.{alias.name}"
                yield (whole, None) if whole in read_modules() else (target, alias.name)
        elif isinstance(node, ast.Import):
            yield from ((one.name, None) for one in node.names if one.name.startswith("skmia"))


def find_arrows_up():
    """Imports of a package by one below it; the front page of skmia stands above the audit."""
    rows = list(ROWS)
    rows.insert(rows.index("report") + 1, "")
    for name, (tree, path) in read_modules().items():
        for target, _ in list_imports(name, tree, path):
            if rows.index(find_package(target)) > rows.index(find_package(name)):
                yield name, target


def find_faults_of_imports():
    """Imports that run up, or into a private module or name of another package."""
    for name, (tree, path) in read_modules().items():
        own = find_package(name)
        for target, taken in list_imports(name, tree, path):
            other = find_package(target)
            if other == own or not own or not other:
                continue
            if ROWS.index(other) > ROWS.index(own):
                yield f"up: {name} -> {target}"
            within = target.split(".")[2:]
            private = [part for part in (*within, taken or "") if part.startswith("_")]
            if private and other not in GROUND:
                yield f"private module: {name} -> {target}"


def iter_foreign_imports(tree):
    """Modules of other libraries that a module imports, and the names taken of each."""
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def find_faults_of_foreign_imports():
    """Imports of private modules or names of other libraries, outside the fences."""
    for name, (tree, _) in read_modules().items():
        for target in iter_foreign_imports(tree) if name not in FENCES else ():
            if any(is_private(part) for part in target.split(".")) and target[:5] != "skmia":
                yield f"private import: {name} -> {target}"


def find_defined(tree):
    """Names with an underscore that a module defines: functions, classes, attributes, fields."""
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            # A private attribute that is set on another object is not the package's own.
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


# What a NamedTuple documents, and names with an underscore so that no field is in the way.
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def is_private(name):
    special = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and not special and name not in OF_TUPLES


def find_faults_of_members():
    """Private members, of objects other than self, that no module of the package defines."""
    defined = {}
    for name, (tree, _) in read_modules().items():
        defined.setdefault(find_package(name), set()).update(find_defined(tree))
    known = set().union(*(defined[one] for one in GROUND if one in defined))
    for name, (tree, _) in read_modules().items():
        own = defined[find_package(name)] | known
        for node in walk(tree) if name not in FENCES else ():
            if not isinstance(node, ast.Attribute) or node.attr in own or not is_private(node.attr):
                continue
            its_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            by_super = isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"
            if not (its_own or by_super):
                yield f"private member: {name} .{node.attr}"


def find_faults():
    return sorted(
        {
            *find_faults_of_imports(),
            *find_faults_of_foreign_imports(),
            *find_faults_of_members(),
        }
    )


def test_every_package_has_its_row():
    packages = {find_package(name) for name in read_modules()} - {""}
    assert packages == set(ROWS)


def test_the_guide_for_contributors_names_them_in_their_order():
    page = (Path(__file__).parents[1] / "doc" / "contributing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.+?) \|", page, flags=re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", " ".join(rows))) == ROWS


def test_the_guide_for_contributors_names_what_is_there():
    page = (Path(__file__).parents[1] / "doc" / "contributing.md").read_text(encoding="utf-8")
    places = page.partition("| question | place |")[2].partition("\n\n")[0]
    trees = {str(path.relative_to(ROOT)): tree for tree, path in read_modules().values()}
    assert {*re.findall(r"`([\w/]+\.py)`", places)} <= {*trees}
    named = re.findall(r"((?:`\w+`(?:, | and )?)+) in `([\w/]+\.py)`", places)
    assert len(named) > 15
    for names, path in named:
        assert {*re.findall(r"`(\w+)`", names)} <= {*find_defined(trees[path])}, path
    pipe = page.partition("**A record in an audit.**")[2].partition("\n\n")[0]
    for path in re.findall(r"`(_\w+\.py)`", pipe):
        assert f"report/{path}" in trees


def find_named_modules(text):
    """The files of Python that docstrings and comments name."""
    return re.findall(r"``([\w/]+\.py)``|`([\w/]+\.py)`", text)


def find_missing_modules(path, text):
    """Those that are neither beside a file, nor in the package, nor in the project."""
    places = path.parent, ROOT, ROOT.parent
    named = {one or other for one, other in find_named_modules(text)}
    return sorted(name for name in named if not any((place / name).exists() for place in places))


def test_modules_that_docstrings_name_exist():
    paths = [path for _, path in read_modules().values()]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    assert sum(map(len, map(find_named_modules, texts.values()))) >= 4
    missing = {path: find_missing_modules(path, text) for path, text in texts.items()}
    assert not {path: names for path, names in missing.items() if names}


def test_a_module_that_is_gone_is_found():
    text = "The steps are in ``house.py`` and `_core/gone.py`; ``_core/outputs.py`` is there."
    assert find_missing_modules(ROOT / "base" / "_needs.py", text) == ["_core/gone.py", "house.py"]


def test_the_wall_holds_but_for_exceptions_that_are_listed():
    found, listed = find_faults(), EXCEPTIONS.read_text().splitlines()
    assert not sorted(set(found) - set(listed)), "an import or a member that the house forbids"
    assert not sorted(set(listed) - set(found)), "take these out of the list of exceptions"


def find_public_names():
    """Each name in the ``__all__`` of a public module, with the modules that name it."""
    places = {}
    for name, (tree, _) in read_modules().items():
        if any(part.startswith("_") for part in name.split(".")):
            continue
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                for public in ast.literal_eval(node.value):
                    places.setdefault(public, []).append(name)
    return places


def count_front_names():
    """Names on the pages of skmia and of its rooms, without their public submodules."""
    fronts = {name for name, (_, path) in read_modules().items() if path.name == "__init__.py"}
    places = find_public_names().values()
    return sum(where[0] in fronts and where[0].count(".") < 2 for where in places)


def test_no_public_name_stands_in_two_places():
    places = find_public_names()
    assert len(places) > 150
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
    assert places["audit"] == ["skmia"]


def find_importers():
    """The modules that import each module."""
    importers = {name: set() for name in read_modules()}
    for name, (tree, path) in read_modules().items():
        for target, _ in list_imports(name, tree, path):
            if target in importers and target != name:
                importers[target].add(name)
    return importers


def find_inner_modules():
    """Modules without an underscore, below a room, that other rooms import and no page shows."""
    shown = {where[0] for where in find_public_names().values()}
    for name, importers in find_importers().items():
        inner = name.split(".")[2:]
        if find_package(name) in GROUND or not inner or any(part[0] == "_" for part in inner):
            continue
        if name not in shown and any(find_package(one) != find_package(name) for one in importers):
            yield name


def find_block_calls():
    """The calls of functions of the module of large tables, by the module that calls them."""
    tree, _ = read_modules()[OUT_OF_CORE]
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = {}
    for name, (tree, path) in read_modules().items():
        taken = {one for target, one in list_imports(name, tree, path) if target == OUT_OF_CORE}
        for node in walk(tree) if taken & functions and name != OUT_OF_CORE else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in taken & functions:
                calls.setdefault(name, []).append(ast.unparse(node.func))
    return calls


def find_definitions(kinds, everywhere):
    """The modules that define each class or function, at their top or at any depth."""
    places = {}
    for name, (tree, _) in read_modules().items():
        for node in walk(tree) if everywhere else tree.body:
            if isinstance(node, kinds):
                places.setdefault(node.name, []).append(name)
    return places


def count_homonyms(places):
    """Percent of the definitions whose name another one has as well."""
    sizes = [len(where) for where in places.values()]
    return 100 * sum(size for size in sizes if size > 1) / sum(sizes)


def count_one_word_classes():
    """Percent of the classes named by a single word, such as ``Part``, which says no subject."""
    places = find_definitions(ast.ClassDef, everywhere=True)
    words = {name: re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name) for name in places}
    alone = sum(len(where) for name, where in places.items() if len(words[name]) == 1)
    return 100 * alone / sum(map(len, places.values()))


def list_lines(node):
    return range(node.lineno, node.end_lineno + 1)


def list_code(tree, path):
    """The numbers of the lines that are no docstring, no comment and not empty."""
    text = [""] + [line.strip() for line in path.read_text().splitlines()]
    lines = {number for number, line in enumerate(text) if line and not line.startswith("#")}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            lines -= set(list_lines(node.body[0]))
    return lines


def list_refusals(tree):
    """The numbers of the lines that raise, from their condition on, and of functions that check."""
    lines = set()
    for node in walk(tree):
        if isinstance(node, ast.Raise):
            lines |= set(list_lines(node))
        elif isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
            lines |= set(range(node.lineno, node.body[-1].end_lineno + 1))
        elif isinstance(node, ast.FunctionDef):
            if node.name.lstrip("_").startswith(("check_", "validate", "why_not")):
                lines |= set(list_lines(node))
    return lines


def measure_refusals():
    """Percent of the code that refuses; to check attacks is what ``skmia.testing`` is for."""
    code, refused = 0, 0
    for name, (tree, path) in read_modules().items():
        if not name.startswith("skmia.testing"):
            lines = list_code(tree, path)
            code, refused = code + len(lines), refused + len(lines & list_refusals(tree))
    return 100 * refused / code


@lru_cache(maxsize=1)
def measure_house():
    return {
        "inner modules without a mark that cross a wall": len(list(find_inner_modules())),
        "names on front pages": count_front_names(),
        "arrows up": len(list(find_arrows_up())),
        "calls of block functions outside their module": sum(map(len, find_block_calls().values())),
        "modules that call block functions": len(find_block_calls()),
        "percent of classes that share their name": count_homonyms(
            find_definitions(ast.ClassDef, everywhere=True)
        ),
        "percent of definitions that share their name": count_homonyms(
            find_definitions((ast.ClassDef, ast.FunctionDef), everywhere=False)
        ),
        "percent of classes named by one word": count_one_word_classes(),
        "percent of the code that refuses": measure_refusals(),
    }


@pytest.mark.parametrize("name", LIMITS)
def test_the_house_does_not_grow(name):
    assert measure_house()[name] <= LIMITS[name], f"{name}: write less, or put it where it is read"


# Modules in place of the report, which takes longer to import than all else.
LOOK = """
import json, sys, types
import skmia
before = sorted(sys.modules)
listed = dir(skmia)
for name in ("skmia.report", "skmia.report._audit"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["skmia.report._audit"].audit = "that of the report"
print(json.dumps([before, listed, skmia.audit]))
"""


EXAMPLE = '''"""Two lines
of a docstring."""

# A comment.
def check_it(x):  # refuses
    """Check."""
    return x  # refuses

def read_it(x):  # code
    if x is None:  # refuses
        words = "no x"  # refuses
        raise ValueError(words)  # refuses
    if x:  # code
        return x  # code
    raise TypeError(  # refuses
        x  # refuses
    )  # refuses
'''


def test_lines_that_refuse_are_counted(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(EXAMPLE)
    tree = ast.parse(EXAMPLE)
    told = [line for line in EXAMPLE.splitlines() if line.endswith(("# code", "# refuses"))]
    assert len(list_code(tree, path)) == len(told)
    refused = list_code(tree, path) & list_refusals(tree)
    lines = EXAMPLE.splitlines()
    assert [lines[number - 1] for number in sorted(refused)] == [
        line for line in told if line.endswith("# refuses")
    ]


# Files of the report in which the name of a check stands: its own, and one field of the document.
MOST_FILES_OF_A_CHECK = 2


def find_files_of_checks():
    """The modules in which the name of each check, and of each question of one, is a string."""
    from skmia.report.agreement._ask import QUESTIONS
    from skmia.report.checks import CHECKS

    for room, named in {"skmia.report": CHECKS, "skmia.report.agreement": QUESTIONS}.items():
        found = {one.name: set() for one in named}
        for module, (tree, _) in read_modules().items():
            for node in walk(tree) if module.startswith(room) else ():
                if isinstance(node, ast.Constant) and str(node.value) in found:
                    found[node.value].add(module)
        yield from found.items()


def test_what_a_check_means_stands_with_it():
    files = dict(find_files_of_checks())
    assert all(files.values())
    spread = {name: some for name, some in files.items() if len(some) > MOST_FILES_OF_A_CHECK}
    assert not spread


def test_every_warning_names_the_line_of_the_user():
    found = [
        (f"{module}, line {node.lineno}", "stacklevel=level_of_user()" in ast.unparse(node))
        for module, (tree, _) in read_modules().items()
        for node in walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
    ]
    assert len(found) > 30 and not [place for place, is_named in found if not is_named]


def test_pages_hold_what_all_pages_share_and_choose_no_word():
    folder = Path(skmia.__file__).parent / "_core" / "pages"
    n_lines = sum(len(one.read_text().splitlines()) for one in folder.glob("*.py"))
    assert n_lines <= 200


def test_the_audit_is_loaded_when_it_is_asked_for():
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    before, listed, audit = json.loads(done.stdout)
    late = {"skmia.report", "torch", "matplotlib", "jinja2", "statsmodels", "opacus"}
    assert not late & set(before)
    assert {"Records", "ShadowPool", "audit"} <= set(listed)
    assert audit == "that of the report"
    assert skmia.audit is importlib.import_module("skmia.report._audit").audit
    with pytest.raises(AttributeError, match="module 'skmia' has no attribute 'audits'"):
        _ = skmia.audits


if __name__ == "__main__":
    EXCEPTIONS.write_text("".join(f"{one}\n" for one in find_faults()))
    print(*(f"{name}: {number}" for name, number in measure_house().items()), sep="\n")
