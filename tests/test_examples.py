"""Every example runs in its fast mode: here and, if it needs no data, where `make doc` runs it."""

import ast
import re
import runpy
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


def needs_data(path):
    """Whether a script reads data from the network, or from a folder that not every machine has."""
    return "fetch_" in path.read_text(encoding="utf-8")


# Together they take minutes. The site runs those without data too, in the same mode, and is not
# built if one of them fails.
@pytest.mark.slow
@pytest.mark.filterwarnings("default", "error::UserWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_a_warning(path, request, tmp_path, monkeypatch, capsys):
    source = path.read_text(encoding="utf-8")
    for package in sorted(set(OPTIONAL) & set(imported_packages(source))):
        pytest.importorskip(package)
    monkeypatch.setenv("SKMIA_EXAMPLE_FAST", "1")
    if needs_data(path):
        folder = request.getfixturevalue("shared_data")
        monkeypatch.setenv("SKMIA_EXAMPLE_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    # In this process, as the gallery runs them: a new interpreter imports for longer than most run.
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_a_page_of_a_gallery(path):
    source = path.read_text(encoding="utf-8")
    title, underline = ast.get_docstring(ast.parse(source)).splitlines()[:2]
    assert set(underline) == {"="} and len(underline) == len(title)
    assert len(re.findall(r"^# %%$", source, re.MULTILINE)) >= 3
    assert (path.parent / "GALLERY_HEADER.txt").is_file()  # without it the folder is left out
    assert f"({path.parent.name}/{path.name})" in (ROOT / "examples" / "README.md").read_text()


@pytest.mark.parametrize("path", filter(needs_data, EXAMPLES), ids=lambda path: path.stem)
def test_example_that_needs_data_has_a_small_picture(path):
    picture = f"_static/examples/{path.stem}.png"
    assert f'# sphinx_gallery_thumbnail_path = "{picture}"\n' in path.read_text(encoding="utf-8")
    assert (ROOT / "doc" / picture).stat().st_size <= 30_000


def test_pictures_are_of_examples_that_need_data():
    pictures = (ROOT / "doc" / "_static" / "examples").iterdir()
    assert {path.stem for path in pictures} == {path.stem for path in EXAMPLES if needs_data(path)}
