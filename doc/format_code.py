"""Format the Python blocks of the markdown pages to the width of their column.

    python doc/format_code.py [--check]

Lines of code on the site are 78 characters wide: at 1280 pixels a longer one is cut, and has to be
scrolled. Ruff formats plain blocks, and sessions with ``>>>`` as the docstrings that it knows.
Examples are scripts, which ``examples/ruff.toml`` formats to the same width. What a session prints
and what a shell is told is broken by hand; ``tests/test_docs.py`` says where.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH = 78
COLUMN = 81  # characters that fit into it, as the output of a terminal
PROMPT = ">>> "
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETTINGS = [
    f"line-length = {WIDTH}",
    "format.docstring-code-format = true",
    f"format.docstring-code-line-length = {WIDTH - len(PROMPT)}",
]


def pages():
    """The markdown pages that are part of the site, README.md among them."""
    doc = ROOT / "doc"
    found = [*doc.glob("*.md"), *doc.glob("user_guide/**/*.md"), *doc.glob("tutorials/*.md")]
    return [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted(found)]


def as_module(block):
    """A module that ruff formats like a block: a session is its docstring."""
    return f"r'''\n{block}'''\n" if PROMPT in block else block


def as_block(module, block):
    """The block of a formatted module, with the empty lines that ended the old one."""
    if PROMPT not in block:
        return module
    end = block[len(block.rstrip("\n")) :]
    lines = module.rstrip("\n").split("\n")  # between quotes of either kind
    return "\n".join(lines[1:-1]).rstrip("\n") + end


def format_blocks(blocks):
    """Formatted blocks, in one call of ruff."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"block_{number}.py") for number in range(len(blocks))]
        for file, block in zip(files, blocks, strict=True):
            file.write_text(as_module(block), encoding="utf-8")
        settings = [part for setting in SETTINGS for part in ("--config", setting)]
        ruff = Path(sys.executable).with_name("ruff")
        subprocess.run(
            [ruff, "format", "--quiet", "--isolated", "--no-cache", *settings, folder], check=True
        )
        modules = [file.read_text(encoding="utf-8") for file in files]
    return list(map(as_block, modules, blocks))


def main(check):
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    blocks = {block for text in texts.values() for block in BLOCK.findall(text)}
    formatted = dict(zip(blocks, format_blocks(list(blocks)), strict=True))
    changed = []
    for page, text in texts.items():
        new = BLOCK.sub(lambda found: f"```python\n{formatted[found[1]]}```", text)
        if new != text:
            changed.append(str(page.relative_to(ROOT)))
            if not check:
                page.write_text(new, encoding="utf-8")
    print("\n".join([f"{'would format' if check else 'formatted'} {name}" for name in changed]))
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--check"]))
