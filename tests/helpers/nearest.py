"""Run the tests of what has changed, the nearest first, for so many seconds.

``python tests/helpers/nearest.py 20 -x`` takes the files that differ from where the branch left
``main``, and those that git does not know. A test is as near to a module as the shortest way of
imports that leads from one to the other, as the tests of the house read them.
"""

import re
import subprocess
import sys
import time
from functools import lru_cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from test_house import iter_imports, read_modules  # noqa: E402

IMPORT = re.compile(r"^ *(?:from (skmia[\w.]*) import (\([^)]*\)|.*)|import (skmia[\w.]*))", re.M)
# Files that are collected, which takes as long as to run the nearest.
MOST_FILES = 12
# Tables of calls and answers, milliseconds each, come before other tests that are as near. Those
# of a module itself come before the tests that are named after it, which may take seconds.
QUICKEST = "_by_hand.py"
# What holds for the whole tree, and is quick.
ALWAYS = ("tests/test_house.py",)
PAGE = "tests/test_docs.py::test_examples_of_a_page_run_from_top_to_bottom[{}]"


def run_git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def list_changed():
    """Return the paths of files that differ from where this branch left main, and of new ones."""
    base = run_git("merge-base", "HEAD", "main") or ["HEAD"]
    changed = run_git("diff", "--name-only", *base), run_git("ls-files", "-o", "--exclude-standard")
    return [path for path in dict.fromkeys(chain(*changed)) if (ROOT / path).exists()]


@lru_cache(maxsize=1)
def read_rooms():
    """Return the module that each name on the page of a package comes from."""
    homes = {}
    for module, (tree, path) in read_modules().items():
        if path.name == "__init__.py":
            for target, name in iter_imports(module, tree, path):
                homes[module, name or target.rpartition(".")[2]] = target
    return homes


def find_home(homes, module, name):
    """Return the module that a name which is imported from another one is written in."""
    if f"{module}.{name}" in read_modules():
        return f"{module}.{name}"
    seen = set()
    while (module, name) in homes and module not in seen:
        seen.add(module)
        module = homes[module, name]
    return module


@lru_cache(maxsize=1)
def read_imports_of_tests():
    """Return the modules that each file of tests imports from."""
    homes, found = read_rooms(), {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        modules = set()
        for module, names, whole in IMPORT.findall(path.read_text(encoding="utf-8")):
            names = re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", names))
            modules |= {find_home(homes, module, name) for name in names} or {whole}
        found[str(path.relative_to(ROOT))] = modules
    return found


@lru_cache(maxsize=1)
def read_users():
    """Return the modules that import from each module."""
    users = {}
    for module, (tree, path) in read_modules().items():
        # The page of a room hands names on; that of a folder in it may list what is there.
        if path.name != "__init__.py" or module.count(".") > 1:
            for target, name in iter_imports(module, tree, path):
                users.setdefault(find_home(read_rooms(), target, name), set()).add(module)
    return users


def measure_distances(changed):
    """Return how many imports lead from each module to one that has changed."""
    users = read_users()
    distances = dict.fromkeys(changed, 0)
    front = list(distances)
    for module in front:  # which grows meanwhile
        for user in sorted(users.get(module, set()) - {*distances}):
            distances[user] = distances[module] + 1
            front.append(user)
    return distances


def is_named_after(test, module):
    name = module.rpartition(".")[2].strip("_")
    return re.fullmatch(rf"test_{name}(_\w+)?\.py", Path(test).name) is not None


def choose_files(changed):
    """Return the files of tests that what has changed can reach, the nearest first."""
    modules = {str(path.relative_to(ROOT)): name for name, (_, path) in read_modules().items()}
    own = [modules[path] for path in changed if path in modules]
    distances = measure_distances(own)
    rooms = {module.split(".")[1] for module in own if "." in module}
    order = {path: (0, 0) for path in changed if Path(path).name.startswith("test_")}
    order |= {path: (0, 1) for path in changed if path in modules}  # examples of docstrings
    for test, used in read_imports_of_tests().items():
        reached = [distances[module] for module in used if module in distances]
        is_other, is_quick = Path(test).parts[1].strip("_") not in rooms, test.endswith(QUICKEST)
        if is_quick and not is_other and 0 in reached:
            order.setdefault(test, (0, 2))
        elif any(is_named_after(test, module) for module in own):
            order.setdefault(test, (0, 3))
        elif reached:
            order.setdefault(test, (1 + min(reached), is_other, not is_quick))
    for page in changed:
        if re.fullmatch(r"doc/.*\.md", page) and "```python" in (ROOT / page).read_text("utf-8"):
            order[PAGE.format(page)] = 0, 4
    return [*sorted(order, key=order.get), *(ALWAYS if order else ())]


class Patience:
    """Ends the run after so many seconds, and says what was left."""

    def __init__(self, end, n_files):
        self.end, self.n_files, self.left = end, n_files, 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if time.monotonic() < self.end:
            return None
        self.left += 1
        return True

    def pytest_terminal_summary(self, terminalreporter):
        if self.left or self.n_files:
            terminalreporter.write_line(
                f"not run: {self.left} tests of these files, and {self.n_files} files that are "
                "further away; make test runs all"
            )


def main(seconds, *options):
    end = time.monotonic() + float(seconds)
    files = choose_files(list_changed())
    if not files:
        print("nothing has changed that a test imports: make test runs all")
        return 0
    near, n_left = files[:MOST_FILES], max(0, len(files) - MOST_FILES)
    return pytest.main(["-q", "-m", "not slow", *options, *near], plugins=[Patience(end, n_left)])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
