"""Every example runs from a fresh interpreter, in its fast mode."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
OPTIONAL = ("matplotlib", "skorch", "torch", "xgboost")


def imported_packages(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_a_warning(path, request, tmp_path):
    source = path.read_text(encoding="utf-8")
    for package in sorted(set(OPTIONAL) & set(imported_packages(source))):
        pytest.importorskip(package)
    environment = {**os.environ, "MPLBACKEND": "Agg", "SKMIA_EXAMPLE_FAST": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    if "fetch_" in source:  # data from the network, or from a folder that not every machine has
        environment["SKMIA_EXAMPLE_DATA"] = str(request.getfixturevalue("shared_data"))
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", path],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_a_page_of_a_gallery(path):
    source = path.read_text(encoding="utf-8")
    title, underline = ast.get_docstring(ast.parse(source)).splitlines()[:2]
    assert set(underline) == {"="} and len(underline) == len(title)
    assert len(re.findall(r"^# %%$", source, re.MULTILINE)) >= 3
    assert (path.parent / "GALLERY_HEADER.txt").is_file()  # without it the folder is left out
    assert f"({path.parent.name}/{path.name})" in (ROOT / "examples" / "README.md").read_text()
