"""Tutorials run, print what they show, and have pictures that are not out of date."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def load():
    """The module that renews the tutorials; doc/ is no package."""
    path = ROOT / "doc" / "make_tutorials.py"
    spec = importlib.util.spec_from_file_location("make_tutorials", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tutorials = load()
NAMES = [name for name in tutorials.SCREENS if name != tutorials.FRONT]
NUMBER = re.compile(r"\d*\.?\d+")


def test_every_tutorial_has_a_picture_that_its_page_shows():
    pages = {page.stem for page in tutorials.PAGES.glob("*.md")} - {"index"}
    assert pages == set(NAMES)
    for name in NAMES:
        text = (tutorials.PAGES / f"{name}.md").read_text(encoding="utf-8")
        for screen in tutorials.SCREENS[name]:
            assert f"(../_static/tutorials/{screen.name}.webp)" in text
            assert (tutorials.PICTURES / f"{screen.name}.webp").is_file()


@pytest.mark.parametrize("name", tutorials.SCREENS)
def test_pictures_are_of_the_code_of_today(name):
    known = json.loads(tutorials.SOURCES.read_text(encoding="utf-8"))
    assert known[name] == tutorials.digest(name), f"run python doc/make_tutorials.py {name}"


def test_pictures_are_small():
    sizes = [path.stat().st_size for path in tutorials.PICTURES.glob("*.webp")]
    assert sum(sizes) < 1_000_000


def test_output_is_cut_where_the_page_cuts_it():
    assert tutorials.shown("a \nb\nc\n", "x\n") == "a\nb\nc\n"
    assert tutorials.shown("a\nb\nc\n", "x\ny\n...\n") == "a\nb\n...\n"


def test_blocks_of_a_page_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "```python\nn = 1\nprint(n)\n```\n```text\n0\n```\n```python\nprint(n + 1)\n```\n"
    assert tutorials.run_page(page) == ["1\n", None, "2\n"]
    assert tutorials.rewrite(page) == page.replace("\n0\n", "\n1\n")


def test_commands_of_other_programs_are_refused():
    with pytest.raises(ValueError, match="calls rm"):
        tutorials.run_commands("$ rm -r .\n")


# Together they take minutes.
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", NAMES)
def test_tutorial_prints_what_its_page_shows(name, tmp_path, monkeypatch):
    for package in ("matplotlib", "skops", "jinja2"):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    text = (tutorials.PAGES / f"{name}.md").read_text(encoding="utf-8")
    today = tutorials.rewrite(text)
    assert NUMBER.sub("0", today) == NUMBER.sub("0", text)
    # Another processor may round the last digit of a score in another way.
    assert list(map(float, NUMBER.findall(today))) == pytest.approx(
        list(map(float, NUMBER.findall(text))), rel=0.05, abs=0.02
    )
    for screen in tutorials.SCREENS[name]:
        assert Path(screen.file).is_file()
