"""Check a built site as its readers meet it.

    python doc/check_site.py build/doc/html [--browser]

* Every class of the API reference shows its own parameters.
* With ``--browser``, no block of code is cut at 1280 pixels. This takes minutes, and playwright and
  chromium.
* Tutorials, and guides whose subject is a picture, have one.
* Forty words that people search are answered by a page.
* Every term of the glossary is linked from a page.

Prints what is wrong, one line each, and exits with 1 if anything is.
"""

import html
import json
import re
import shutil
import sys
from pathlib import Path

WIDTH = 1280
# Guides whose subject is a curve, a page, a map or a table of results.
PICTURED = (
    "index",
    "officers",
    "user_guide/which_attack",
    "user_guide/command_line",
    "user_guide/defenses",
    "user_guide/getting_started",
    "user_guide/metrics",
    "user_guide/model_files",
    "user_guide/policies",
    "user_guide/searching",
    "user_guide/synthetic_tables",
)
SEARCHED = (
    "anonymous attribute auc canary ci cite classification cluster compare container copies "
    "dataset defense docker epsilon faq fairness gdpr hipaa edpb gpu imbalanced install "
    "jupyter label lira memory officer onnx pickle policy publish regression report rmia "
    "shadow slow synthetic torch unlearning xgboost"
).split()
CUT = """() => [...document.querySelectorAll(".bd-article div.highlight pre")]
    .filter(block => block.scrollWidth > block.clientWidth + 1).length"""


def read(path):
    return path.read_text(encoding="utf-8")


def check_signatures(site):
    """Classes that show the arguments of another one, or none although they take some."""
    for path in sorted((site / "api").glob("skmia.*.html")):
        for found in re.finditer(
            r'<dt class="sig sig-object py" id="([^"]+)">(.*?)</dt>', read(path), re.S
        ):
            text = html.unescape(re.sub("<[^>]+>", "", found[2])).strip()
            if text.startswith("class ") and re.search(r"\(\*args, \*\*kwargs\)", text):
                yield f"{path.name}: {found[1]} has no signature of its own"


def check_pictures(site):
    """Pages that have no picture although their subject is one."""
    tutorials = [f"tutorials/{path.stem}" for path in sorted((site / "tutorials").glob("*.html"))]
    for page in [*tutorials, *PICTURED]:
        article = read(site / f"{page}.html").partition('<article class="bd-article">')[2]
        if not re.search("<img |<svg ", article.partition("</article>")[0]):
            yield f"{page}: no picture"


def stem(word):
    """A word as the search index holds it."""
    from snowballstemmer import stemmer

    return stemmer("english").stemWord(word)


def check_search(site):
    """Searched words that no page answers."""
    text = read(site / "searchindex.js")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    known = index["terms"].keys() | index["titleterms"].keys()
    for word in SEARCHED:
        if stem(word) not in known:
            yield f"search: no page answers {word!r}"


def check_glossary(site):
    """Terms that no page links to."""
    terms = set(re.findall(r'<section id="([^"]+)">', read(site / "glossary.html"))) - {"glossary"}
    linked = set()
    for path in site.rglob("*.html"):
        linked |= set(
            re.findall(r'glossary-term[^>]*href="[^"#]*glossary\.html#([^"]+)"', read(path))
        )
    for term in sorted(terms - linked):
        yield f"glossary: no page links to {term!r}"


def check_blocks(site):
    """Blocks of code that are cut in a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = shutil.which("chromium")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": WIDTH, "height": 800})
        for path in sorted(site.rglob("*.html")):
            if "_modules" in path.parts or 'class="highlight' not in read(path):
                continue
            opened.goto(path.resolve().as_uri(), wait_until="domcontentloaded")
            if cut := opened.evaluate(CUT):
                yield f"{path.relative_to(site)}: {cut} blocks are cut"
        browser.close()


CHECKS = (check_signatures, check_pictures, check_search, check_glossary)


def main(site, with_browser=False):
    if not (site / "index.html").is_file():
        print(f"{site} holds no site")
        return 1
    checks = (*CHECKS, check_blocks) if with_browser else CHECKS
    found = [line for check in checks for line in check(site)]
    print("\n".join(found) or f"{site}: nothing is wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--browser" in sys.argv))
