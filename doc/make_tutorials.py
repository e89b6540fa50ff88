"""Run the tutorials, and renew what they show: the output of their code, and the pictures.

    make tutorials
    python doc/make_tutorials.py [NAME ...]

The blocks of a page run from top to bottom in a folder of its own. A ``text`` block holds what the
block above it printed; one that ends with ``...`` holds the first lines. The pictures are screens
of the pages, and the figures, that the tutorial itself wrote. They need playwright and chromium;
each screen has a copy for dark mode. ``sources.json`` keeps a digest of the code of each tutorial,
by which ``tests/test_docs_tutorials.py`` says which pictures are out of date.
"""

import contextlib
import hashlib
import io
import json
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGES = HERE / "tutorials"
PICTURES = HERE / "_static" / "tutorials"
SOURCES = PICTURES / "sources.json"

BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SCALE, N_COLORS = 1.5, 96  # enough for text, lines and shades
MORE = "...\n"


class Screen(NamedTuple):
    """A picture of the top of a page, or a figure as it was written."""

    name: str
    file: str
    width: int = 0
    height: int = 0
    # What the picture begins with, as a selector of CSS.
    start: str = ""


# Of the front page alone: the example report, and what it is made by.
FRONT = "front_page"
SCREENS = {
    FRONT: [Screen("hero", "_static/report_leaky.html", 640, 600, ".hero")],
    "service": [Screen("service", "before/report.html", 760, 540, ".hero")],
    "file": [Screen("file", "decision/decision.html", 860, 760, "body")],
    "table": [Screen("table", "copies/report.html", 760, 620, ".hero")],
    "search": [Screen("search", "search.png")],
    "research": [Screen("research", "roc.png")],
}


def read_blocks(text):
    """Kind and content of each block of a page."""
    return [(found[1], found[2]) for found in BLOCK.finditer(text)]


def digest(name):
    """A short hash of what a picture is made by: the code of a page, or a script."""
    if name == FRONT:
        source = (HERE / "make_reports.py").read_text(encoding="utf-8")
    else:
        blocks = read_blocks((PAGES / f"{name}.md").read_text(encoding="utf-8"))
        source = "".join(body for kind, body in blocks if kind != "text")
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def run_commands(source):
    """Run each command of the shell that begins with a dollar sign."""
    from skmia.cli import main

    for command in re.findall(r"^\$ (.*)$", source.replace("\\\n", " "), re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program != "skmia":
            raise ValueError(f"a tutorial calls {program}, which is not run here")
        with contextlib.redirect_stderr(io.StringIO()):
            main(arguments)


def run_page(text):
    """Run the blocks of a page in the current folder; what each printed, None for a text block."""
    names = {"__name__": "__main__"}
    printed = []
    for kind, body in read_blocks(text):
        if kind == "text":
            printed.append(None)
            continue
        # With an encoding: the levels are drawn in characters that not every terminal has.
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(stream):
            if kind == "console":
                run_commands(body)
            else:
                exec(compile(body, "tutorial", "exec"), names)
        stream.seek(0)
        printed.append(stream.read())
    return printed


def shown(printed, block):
    """As much of an output as a text block shows."""
    lines = [f"{line.rstrip()}\n" for line in printed.splitlines()]
    if not block.endswith(MORE):
        return "".join(lines)
    return "".join(lines[: block.count("\n") - 1]) + MORE


def rewrite(text):
    """The page with the outputs of today."""
    printed = iter(run_page(text))
    last = ""

    def renew(found):
        nonlocal last
        output = next(printed)
        if output is not None:
            last = output
            return found[0]
        return f"```text\n{shown(last, found[2])}```"

    return BLOCK.sub(renew, text)


def store(image, name):
    """Write a picture with few colors, which is a tenth of its size."""
    from PIL import Image

    few = image.convert("RGB").quantize(N_COLORS, Image.Quantize.MEDIANCUT, dither=0)
    few.convert("RGB").save(PICTURES / f"{name}.webp", lossless=True, quality=100, method=6)


def take_screen(browser, screen, folder, scheme):
    """The first lines of a page, from its heading on."""
    from PIL import Image

    size = {"width": screen.width, "height": screen.height + 400}
    page = browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=SCALE)
    page.goto(Path(folder, screen.file).resolve().as_uri())
    top = page.locator(screen.start).first.bounding_box()["y"]
    clip = {"x": 0, "y": max(top - 12, 0), "width": screen.width, "height": screen.height}
    taken = page.screenshot(clip=clip)
    page.close()
    return Image.open(io.BytesIO(taken))


def take_pictures(name, folder):
    """All pictures of a tutorial whose files are in a folder."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = shutil.which("chromium")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for screen in SCREENS[name]:
            if not screen.width:
                store(Image.open(Path(folder, screen.file)), screen.name)
                continue
            for scheme, ending in (("light", ""), ("dark", "_dark")):
                image = take_screen(browser, screen, folder, scheme)
                store(image, screen.name + ending)
        browser.close()


def renew(name):
    """Renew the outputs and the pictures of a tutorial."""
    if name == FRONT:
        take_pictures(name, HERE)
    else:
        page = PAGES / f"{name}.md"
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = rewrite(page.read_text(encoding="utf-8"))
            take_pictures(name, folder)
        page.write_text(text, encoding="utf-8")
    known = json.loads(SOURCES.read_text(encoding="utf-8")) if SOURCES.exists() else {}
    known[name] = digest(name)
    SOURCES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main(names):
    import matplotlib as mpl

    mpl.use("Agg")
    for name in names or SCREENS:
        renew(name)
        print(f"{name} is up to date", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
