"""Run the code of README.md and write what it prints, and its picture, into the README.

    make readme
    python doc/make_readme.py --for-index

The first Python block and the search for a model that leaks less are executed as they stand. What
they print becomes the text block below each of them, of the first one the table alone. The numbers
of the sentences after that table are read off the report, and the top of the HTML page becomes
doc/_static/report.png (where playwright and chromium are installed).

The second command makes the links and pictures of README.md absolute, because a package index shows
it without the other files. They lead to the tag of the version at the address that pyproject.toml
names as Repository.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import textwrap
import tomllib
from pathlib import Path

import skmia

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "doc" / "_static" / "report.png"

CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"^The forest classifies .*?\.(?=\n\n)", re.MULTILINE | re.DOTALL)
# A picture or a link to a file; those within the page and to other sites stay.
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!#|[a-z]+://)([^)]+)\)")
FILE = re.compile(r"^The file of a model reveals .*?\.(?=\n\n)", re.MULTILINE | re.DOTALL)
SEARCH = re.compile(
    r"^```python\n([^`]*best_below_leakage[^`]*)```\n\n```text\n([^`]*)```", re.MULTILINE
)


def run_code(source):
    """What the code prints, and the names that it leaves behind."""
    printed, names = io.StringIO(), {"__name__": "__main__"}
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(README), "exec"), names)
    return printed.getvalue(), names


def find_table(printed):
    """The levels, the sentence and the table in what the code prints, to the note on brackets."""
    lines = printed.splitlines()
    last = next(k for k, line in enumerate(lines) if "brackets: " in line.lower())
    return "".join(f"{line.rstrip()}\n" for line in lines[: last + 1])


def describe(report):
    """The sentence below the table."""
    frame = report.to_frame().query("scope == 'overall' and metric == 'tpr'")
    lowest = frame[frame["max_fpr"] == frame["max_fpr"].min()]
    best = lowest.loc[lowest["estimate"].idxmax()]
    unseen = report.performance["nonmembers"]
    return textwrap.fill(
        f"The forest classifies {unseen:.0%} of unseen digits correctly, and yet {best['attack']} "
        f"identifies {best['estimate']:.0%} of its training records at a false positive rate of "
        f"{best['max_fpr']:.0%}.",
        width=124,
    )


def describe_file(report):
    """The paragraph on the same model as a file."""
    frame = report.file.results.query("scope == 'overall' and metric == 'tpr'")
    lowest = frame.loc[frame["max_fpr"].idxmin()]
    return textwrap.fill(
        "The file of a model reveals more than its predictions, so the report has a verdict for "
        "each. With the file of the forest above, an attacker identifies "
        f"{lowest['estimate']:.0%} of its training records at a false positive rate of "
        f"{lowest['max_fpr']:.0%}, without a query or a shadow model.",
        width=124,
    )


def rewrite(text):
    """The README with the numbers that its code gives today, and the report that it made."""
    printed, names = run_code(CODE.search(text)[1])
    text = TABLE.sub(lambda _: f"```text\n{find_table(printed)}```", text, count=1)
    report = names["report"]
    for sentence, make in ((SENTENCE, describe), (FILE, describe_file)):
        text = sentence.sub(lambda _, make=make: make(report), text, count=1)
    return SEARCH.sub(rewrite_search, text, count=1), report


def rewrite_search(found):
    """The block of the search with what it prints today."""
    printed, _ = run_code(found[1])
    return f"```python\n{found[1]}```\n\n```text\n{printed}```"


def take_picture(page, picture):
    """The first screen of a page."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium: the picture is left as it is")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.goto(page.as_uri())
        opened.screenshot(path=picture)
        browser.close()


def make_absolute(text, address, version):
    """README with links and pictures that work where its other files are not."""

    def lead(found):
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}[{found[2]}]({address}/{kind}/v{version}/{found[3]})"

    return LINK.sub(lead, text)


def rewrite_for_index():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository")
    if address is None:
        sys.exit("pyproject.toml names no Repository in [project.urls], so no link can be absolute")
    text = README.read_text(encoding="utf-8")
    README.write_text(make_absolute(text, address, skmia.__version__), encoding="utf-8")


def main():
    if sys.argv[1:] == ["--for-index"]:
        rewrite_for_index()
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text, _ = rewrite(README.read_text(encoding="utf-8"))
        take_picture(Path(os.getcwd(), "report.html"), PICTURE)
    README.write_text(text, encoding="utf-8")
    print(f"{README} and {PICTURE} are up to date")


if __name__ == "__main__":
    main()
