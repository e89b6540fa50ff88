"""Fail if a page of the built site links to a file or a place that does not exist.

    python doc/check_links.py build/doc/html

Also fails if a page loads a script, style, font or picture from another host: the site works
without a network.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

TEMPLATE = "webpack-macros.html"  # the theme puts one into _static
STYLE_URL = re.compile(r"(?:@import\s+|url\()\s*[\"']?(?!data:)([^\"')\s;]+)")


class Page(HTMLParser):
    """Places that a page offers, pages it links to, and files it loads."""

    def __init__(self, text):
        super().__init__()
        self.places, self.links, self.loaded = {"", "top"}, set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.add(given["href"])
        elif tag in ("script", "img", "iframe", "source", "object") and given.get("src"):
            self.loaded.add(given["src"])


def is_elsewhere(url):
    """Whether a URL leads out of the site."""
    parts = urlsplit(url)
    return bool(parts.scheme or parts.netloc)


def problem(root, page, url, pages):
    """What is wrong with a link of a page within the site, None if nothing is."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    target = (page.parent / path).resolve() if path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root) or not target.is_file():
        return f"{page.relative_to(root)}: no file for {url}"
    # Pages of source code name all places by the module under which the first one is documented.
    is_source = page.relative_to(root).parts[0] == "_modules"
    if parts.fragment and target in pages and not is_source:
        if unquote(parts.fragment) not in pages[target].places:
            return f"{page.relative_to(root)}: no place for {url}"
    return None


def loaded_from_elsewhere(root, pages):
    """Resources on other hosts that pages or styles load."""
    loaded = [(path, url) for path, page in pages.items() for url in page.loaded]
    for style in root.rglob("*.css"):
        loaded += [(style, url) for url in STYLE_URL.findall(style.read_text(encoding="utf-8"))]
    return [
        f"{path.relative_to(root)}: loads {url}"
        for path, url in loaded
        if is_elsewhere(url) and not url.startswith("data:")
    ]


def problems(root):
    """Everything that is wrong with the links of a site, one line each."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in root.rglob("*.html")
        if path.name != TEMPLATE
    }
    found = loaded_from_elsewhere(root, pages)
    for path, page in pages.items():
        inside = sorted(url for url in page.links | page.loaded if not is_elsewhere(url))
        found += filter(None, (problem(root, path, url, pages) for url in inside))
    return sorted(found)


def main(folder):
    """Print what is wrong; the exit status is 1 if anything is."""
    root = Path(folder).resolve()
    found = problems(root)
    print(*found, sep="\n", end="\n" if found else "")
    if not (root / "index.html").is_file():
        print(f"{folder} holds no site")
        return 1
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
