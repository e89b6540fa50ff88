"""Walk through the doors of README.md as a newcomer does: commands, statements and seconds.

    python benchmarks/first_minutes.py [--here] [--only WORD] [--save]

Each section "I ..." of README.md is a door. Its first block is run as it stands, in a folder with
what the newcomer has: a model, its tables, a synthetic table, or arrays. The environment is a new
one in a temporary folder, in which the package is installed from a clone of this repository by the
command of README.md; with ``--here`` it is the running interpreter. The terminal is a real one, so
that bars are drawn. ``--save`` writes results/first_minutes.md.
"""

import argparse
import ast
import os
import pty
import re
import selectors
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "first_minutes.md"

# What each newcomer should need at most: commands, or statements of Python other than imports.
TARGETS = {
    "I have a model": 1,
    "I have a file to release": 2,
    "I have a table to publish": 1,
    "I search for a model that leaks less": 3,
    "I do research": 4,
}
FILES = """
import numpy as np
import pandas as pd
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

rng, n = np.random.default_rng(0), 4000
people = pd.DataFrame({
    "age": rng.integers(18, 80, n),
    "hours": rng.normal(40, 10, n).round(1),
    "sector": rng.choice(["health", "trade", "school", "farm"], n),
})
rate = 0.05 * (people.age - 45) + 0.04 * (people.hours - 40) + (people.sector == "health")
people["income"] = np.where(rate + rng.logistic(size=n) > 0.4, "high", "low")
train, held_out = people[: n // 2], people[n // 2 :]
columns = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
model = make_pipeline(columns, HistGradientBoostingClassifier(random_state=0))
skops.io.dump(model.fit(train.drop(columns="income"), train.income), "model.skops")
train.to_csv("train.csv", index=False)
held_out.to_csv("held_out.csv", index=False)
train.sample(n // 2, replace=True, random_state=0).to_csv("synthetic.csv", index=False)
"""
ARRAYS = """
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = MLPClassifier(max_iter=300, random_state=0).fit(X_train, y_train)
"""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Door(NamedTuple):
    """What a section of README.md tells a newcomer to run."""

    name: str
    is_python: bool
    source: str

    def count(self):
        """The commands, or the statements of Python that are no imports, on however many lines."""
        if self.is_python:
            return sum(not is_import(node) for node in ast.parse(self.source).body)
        return len(self.list_commands())

    def list_commands(self):
        """The lines of a shell, each with the lines that it goes on in."""
        lines = self.source.replace("\\\n", " ").splitlines()
        return [line for line in lines if line.strip()]


class Walk(NamedTuple):
    """Seconds from the start to the first output, the first result and the end, and the result."""

    life: float
    result: float
    end: float
    said: str


def is_import(node):
    return isinstance(node, ast.Import | ast.ImportFrom)


def read_doors():
    """The doors of README.md, and its command of installation."""
    sections = re.split(r"^## (.+)$", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    blocks = {name: BLOCK.search(text) for name, text in zip(sections[1::2], sections[2::2])}
    doors = [
        Door(name, found[1] == "python", found[2])
        for name, found in blocks.items()
        if name.startswith("I ")
    ]
    return doors, blocks["Installation"][2].strip()


def make_environment(folder, command):
    """Install the package from a clone into a new environment, and return its interpreter."""
    start, clone = time.perf_counter(), folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    words = [str(python), "-m", *shlex.split(command), "--quiet"]
    subprocess.run(words, cwd=clone, check=True)
    print(f"{command}: {time.perf_counter() - start:.0f} s")
    return str(python)


def follow(words, folder, environment):
    """Run one command and note when it first says something, and when it first has a result."""
    start = time.perf_counter()
    screen, terminal = pty.openpty()
    ran = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    reader, life, result, said, shown = selectors.DefaultSelector(), None, None, b"", b""
    reader.register(screen, selectors.EVENT_READ)
    reader.register(ran.stdout, selectors.EVENT_READ)
    while reader.get_map():
        for key, _ in reader.select():
            try:
                text = os.read(key.fd, 65536)
            except OSError:  # the terminal is closed
                text = b""
            if not text:
                reader.unregister(key.fileobj)
                continue
            now = time.perf_counter() - start
            life = now if life is None else life
            if key.fileobj is ran.stdout:
                result, said = now if result is None else result, said + text
            else:
                shown += text
    if ran.wait() not in (0, 1):  # 1 is an answer: a limit is exceeded, a policy says no
        sys.exit(f"{shlex.join(words)} ended with {ran.returncode}:\n{shown.decode()[-2000:]}")
    os.close(screen)
    end = time.perf_counter() - start
    first = [line.strip() for line in said.decode().splitlines() if line.strip()][:1]
    return Walk(
        end if life is None else life, end if result is None else result, end, *first or [""]
    )


def walk_through(door, python, folder, environment):
    """Run all that a door says; the times of the first command, and the end of the last."""
    if door.is_python:
        (folder / "door.py").write_text(ARRAYS + door.source, encoding="utf-8")
        return follow([python, "door.py"], folder, environment)
    commands = list(map(shlex.split, door.list_commands()))
    assert all(command[0] == "skmia" for command in commands), door.source
    walks = [follow([python, "-m", *command], folder, environment) for command in commands]
    return walks[0]._replace(end=sum(walk.end for walk in walks))


def describe(rows, here):
    place = "the environment of the developers" if here else "a new environment"
    lines = [
        "# The first minutes",
        "",
        f"What the doors of README.md take, by `first_minutes.py`, in {place}",
        "on a shared virtual machine of two cores. Imports do not count. Of two commands,",
        "first sign of life and first result are those of the first, and the end is that of both.",
        "The seconds of Python include a net of the digits that the newcomer has before.",
        "",
        "| door | steps | target | first sign of life | first result | end | says |",
        "|---|---|---|---|---|---|---|",
    ]
    for door, walk in rows:
        kind = ("statement" if door.is_python else "command") + "s" * (door.count() > 1)
        times = " | ".join(f"{seconds:.1f} s" for seconds in walk[:3])
        counts = f"{door.count()} {kind} | {TARGETS[door.name]}"
        lines += [f"| {door.name} | {counts} | {times} | {walk.said} |"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--here", action="store_true", help="use the running interpreter")
    parser.add_argument("--only", default="", help="doors with this word")
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    arguments = parser.parse_args()
    doors, installation = read_doors()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder, environment = Path(place), {**os.environ, "MPLBACKEND": "Agg"}
        if arguments.here:
            python, environment["PYTHONPATH"] = sys.executable, str(ROOT)
        else:
            environment.pop("PYTHONPATH", None)
            python = make_environment(folder, installation)
        subprocess.run([python, "-c", FILES], cwd=folder, env=environment, check=True)
        for door in doors:
            if arguments.only in door.name:
                rows.append((door, walk_through(door, python, folder, environment)))
                print(door.name, *(f"{seconds:.1f}" for seconds in rows[-1][1][:3]), flush=True)
    text = describe(rows, arguments.here)
    print(text)
    if arguments.save:
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
