"""The map of attacks is the one that its script draws, and leads to pages that exist."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def load():
    """The script; doc/ is no package."""
    spec = importlib.util.spec_from_file_location("make_map", ROOT / "doc" / "make_map.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


atlas = load()


def test_the_map_is_up_to_date():
    assert atlas.MAP.read_text(encoding="utf-8") == atlas.draw()


def test_every_end_of_the_map_is_a_page_of_the_table_below_it():
    ends = re.findall(r'<a href="(\w+)\.html">', atlas.draw())
    assert len(ends) == sum(len(found) for _, found in atlas.BRANCHES)
    text = (ROOT / "doc" / "user_guide" / "which_attack.md").read_text(encoding="utf-8")
    for page in ends:
        assert (ROOT / "doc" / "user_guide" / f"{page}.md").is_file()
        assert re.search(rf"^\|.*\]\({page}\.md[#)]", text, re.MULTILINE)
