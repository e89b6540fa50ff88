"""The page of an audit in a browser: sorting and tabs, no complaint, both colors, a phone.

Pictures of it are left in build/screenshots, to be looked at.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from skmia import audit
from skmia.datasets import make_membership_problem
from skmia.report._comparison import render_comparison
from skmia.report._page import render
from skmia.synthetic import audit_table

pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def result():
    records, _ = make_membership_problem(600, random_state=0)
    records = records.with_fields(city=np.tile(["Oslo", "Rome", "Bern"], 200))
    tree = DecisionTreeClassifier(random_state=0)
    return audit(tree, records, group="city", shadows=4, controls=True, random_state=0)


@pytest.fixture
def open_page(browser, result, tmp_path):
    """Open the page and note what the browser complains of and asks for."""
    path = tmp_path / "report.html"
    result.to_html(path)
    opened = []

    def open_page(**settings):
        page = browser.new_page(**settings)
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(path.as_uri())
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.close()


def read_panels(page):
    return [panel.is_visible() for panel in page.get_by_role("tabpanel", include_hidden=True).all()]


def test_tabs_show_one_panel_at_a_time(open_page):
    page = open_page()
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["city", "class"]
    assert read_panels(page) == [True, False]
    tabs.nth(1).click()
    assert read_panels(page) == [False, True]
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowRight")  # round to the first one
    assert read_panels(page) == [True, False]
    assert tabs.nth(0).evaluate("tab => tab === document.activeElement")
    page.keyboard.press("End")
    assert read_panels(page) == [False, True]
    assert page.complaints == []


def test_paper_and_a_browser_without_scripts_show_all_panels(open_page):
    page = open_page()
    page.emulate_media(media="print")
    assert read_panels(page) == [True, True]
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.get_by_text("seed: shadows").is_visible()
    assert read_panels(open_page(java_script_enabled=False)) == [True, True]


@pytest.mark.parametrize(
    "name, settings",
    [
        ("light", {"color_scheme": "light"}),
        ("dark", {"color_scheme": "dark"}),
        ("phone", {"viewport": {"width": 375, "height": 800}}),
    ],
)
def test_pictures(open_page, name, settings):
    path = Path(__file__).parents[2] / "build" / "screenshots" / f"report_{name}.png"
    page = open_page(**settings)
    page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000
    assert page.complaints == []


def read_column(page, place):
    cells = page.locator("table").first.locator(f"tbody tr > :nth-child({place})")
    return cells.evaluate_all("cells => cells.map(cell => cell.dataset.key)")


def test_columns_are_sorted_by_click_and_by_key(open_page):
    page = open_page()
    button = page.locator("thead button").nth(1)
    before = read_column(page, 2)
    button.click()
    down = np.array(read_column(page, 2), dtype=float)
    assert sorted(before) == sorted(read_column(page, 2))
    assert (np.diff(down) <= 0).all()
    assert page.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    button.focus()
    page.keyboard.press("Enter")
    assert (np.diff(np.array(read_column(page, 2), dtype=float)) >= 0).all()
    names = page.locator("thead button").first
    names.click()
    assert read_column(page, 1) == sorted(read_column(page, 1), key=str.lower, reverse=True)
    assert page.complaints == []


def test_it_asks_for_nothing(open_page):
    page = open_page()
    assert len(page.requests) == 1 and page.requests[0].startswith("file:")
    assert page.complaints == []


def test_details_open(open_page):
    page = open_page()
    hidden = page.get_by_text("seed: shadows")
    assert not hidden.is_visible()
    page.get_by_text("Settings, seeds, versions and run times").click()
    assert hidden.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_page, scheme):
    page = open_page(color_scheme=scheme)
    selectors = ("body", ".verdict", ".verdict strong", ".quiet", "td", "dt", ".passed")
    for selector in (*selectors, "[role=tab] >> nth=1"):
        ratio = page.locator(selector).first.evaluate(
            """element => {
                const luminance = text => {
                    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(v => {
                        v /= 255;
                        return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
                    });
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                };
                let ground = element;
                while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)")
                    ground = ground.parentElement;
                const one = luminance(getComputedStyle(element).color);
                const two = luminance(getComputedStyle(ground).backgroundColor);
                return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
            }"""
        )
        assert ratio >= 4.5, selector


def test_nothing_sticks_out_of_a_phone(open_page):
    page = open_page(viewport={"width": 375, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("kind", ["one audit", "two audits"])
def test_a_long_name_of_a_model_does_not_stick_out_of_a_phone(watched, result, tmp_path, kind):
    document = json.loads(result.to_json())
    document["victim"] = "RandomForestClassifier(min_samples_leaf=20,max_features='sqrt',n_jobs=2)"
    pages = {
        "one audit": lambda: render(document),
        "two audits": lambda: render_comparison(document, document, ("before", "after")),
    }
    path = tmp_path / "page.html"
    path.write_text(pages[kind](), encoding="utf-8")
    watched.set_viewport_size({"width": 375, "height": 700})
    watched.goto(path.as_uri())
    assert watched.evaluate("document.documentElement.scrollWidth") <= 375


# For each table that is wider than its place: its name, its width and that of its place.
WIDER = """() => {
    document.querySelectorAll("details").forEach(one => one.open = true);
    const panels = document.querySelectorAll("[role=tabpanel]");
    panels.forEach(panel => panel.hidden = false);
    return [...document.querySelectorAll(".scroll")]
        .map(one => [one.getAttribute("aria-label"), one.scrollWidth, one.clientWidth])
        .filter(([name, width, place]) => width > place);
}"""


@pytest.mark.parametrize("width", [900, 1200])
def test_tables_are_whole_beside_a_scroll_bar(open_page, width):
    page = open_page(viewport={"width": width - 15, "height": 700})
    assert page.evaluate(WIDER) == []


def test_the_page_says_what_the_document_says(open_page, result):
    text = " ".join(open_page().locator("body").inner_text().split())
    document = json.loads(result.to_json())
    assert " ".join(document["verdict"].split(". ", 1)) in text
    assert all(row["attack"] in text for row in document["results"])


NAMES = ["\u202egnitic", "\u05d0\u05d1\u05d2", "a\n\x1b[2J<script>window.ran = true</script>"]


@pytest.fixture(scope="module")
def foreign():
    """An audit of groups whose names want to be more than names."""
    records, _ = make_membership_problem(600, random_state=0)
    records = records.with_fields(city=np.tile(NAMES, 200))
    return audit(
        DecisionTreeClassifier(random_state=0), records, group="city", shadows=4, random_state=0
    )


@pytest.fixture
def watched(browser):
    """A page that notes what the browser complains of."""
    page = browser.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    page.close()


def test_names_of_others_run_nothing_and_turn_nothing(watched, foreign, tmp_path):
    path = tmp_path / "report.html"
    foreign.to_html(path)
    watched.goto(path.as_uri())
    assert watched.evaluate("window.ran") is None
    assert watched.evaluate("document.documentElement.className") == "js"  # our script ran
    assert watched.complaints == []
    panel = watched.get_by_role("tabpanel").first
    text = panel.inner_text()
    assert "\\u202egnitic" in text and "\u202e" not in text and "a\\n\\x1b[2J<script>" in text
    isolated = panel.locator("bdi", has_text="\u05d0\u05d1\u05d2").first
    assert isolated.evaluate("one => getComputedStyle(one).unicodeBidi") == "isolate"
    folder = Path(__file__).parents[2] / "build" / "screenshots"
    watched.screenshot(path=folder / "report_foreign.png", full_page=True)


def test_a_script_that_got_onto_the_page_would_not_run(watched, foreign, tmp_path):
    path = tmp_path / "report.html"
    planted = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
    path.write_text(foreign.to_html().replace("<main>", f"<main>{planted}"), encoding="utf-8")
    watched.goto(path.as_uri())
    assert watched.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in watched.complaints)
    assert watched.evaluate("document.documentElement.className") == "js"


def test_the_page_works_in_the_sandbox_of_a_notebook(watched, foreign):
    watched.set_content(foreign._repr_html_())
    frame = watched.frame_locator("iframe")
    tabs = frame.get_by_role("tab")
    tabs.nth(1).click()
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    assert watched.complaints == []
    inner = watched.frames[1]
    assert inner.evaluate("window.origin") == "null"  # it reads nothing of the notebook


def test_the_page_of_a_table(watched, tmp_path):
    real, made, holdout = np.random.default_rng(0).normal(size=(3, 60, 3))
    path = tmp_path / "table.html"
    audit_table(real, made, holdout, random_state=0).to_html(path)
    watched.set_viewport_size({"width": 375, "height": 700})
    watched.goto(path.as_uri())
    assert watched.evaluate("document.documentElement.scrollWidth") <= 375
    before = read_column(watched, 2)
    watched.locator("thead button").nth(1).click()
    assert sorted(read_column(watched, 2)) == sorted(before)
    assert watched.complaints == []
    watched.set_viewport_size({"width": 885, "height": 700})
    assert watched.evaluate(WIDER) == []
