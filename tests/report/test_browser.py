"""The page of an audit in a browser: the first screen, a phone, print, the keyboard, both colors.

Pictures of it are left in build/screenshots, to be looked at.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from quick_audits import shrink_models_of_tables
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from skmia import audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.inspection import inspect_model
from skmia.report import render_comparison
from skmia.report._page import render_audit
from skmia.synthetic import audit_table

pytest.importorskip("jinja2")
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
LEVELS = ("severe", "clear", "slight", "none", "unknown")
NAMES = ["\u202egnitic", "\u05d0\u05d1\u05d2", "a\n\x1b[2J<script>window.ran = true</script>"]


@pytest.fixture(autouse=True, scope="module")
def small_models_of_tables():
    with pytest.MonkeyPatch.context() as patch:
        shrink_models_of_tables(patch)
        yield


@pytest.fixture(scope="module")
def result():
    """An audit of groups whose names want to be more than names."""
    records, membership = make_membership_problem(450, random_state=0)
    records = records.with_fields(city=np.tile(NAMES, 150))
    members = records[membership == 1]
    forest = RandomForestClassifier(4, random_state=0).fit(members.X, members.y)
    attacks = {"threshold (loss)": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"attacks": attacks, "group": "city", "shadows": 4, "random_state": 0}
    return audit(forest, records, membership, **settings)


@pytest.fixture(scope="module")
def pages(result):
    """Each page, made when it is first asked for."""

    @cache
    def make(kind):
        if kind in LEVELS:
            return make_level(result, kind)
        return make_table(kind) if kind in TABLES else make_other(result, kind)

    return make


def make_level(result, name):
    """The page at a level, by the words that the document then says."""
    document = json.loads(result.to_json())
    evidence = {"none": "none", "unknown": "shift"}.get(name, "leak")
    for way in (document, document["file"]):
        way["evidence"], way["level"]["name"] = evidence, name
        for group in way["level"]["groups"]:
            group["name"] = name
    return render_audit(document)


def make_table(kind):
    """The page of a table with copies, or of one of new rows, with names that want to be more."""
    rng = np.random.default_rng(0)
    columns = ["age", NAMES[2], "a_column_with_a_name_of_more_than_forty_characters", *"bcdef"]
    real, made, holdout = (
        pd.DataFrame(rng.normal(size=(120, 8)), columns=columns).assign(
            city=rng.choice(["Rome", "Oslo"], 120)
        )
        for _ in range(3)
    )
    if kind == "leaky":
        leaky = pd.concat([real[:80], made[80:]])
        return audit_table(real, leaky, holdout, target="city", random_state=0).to_html()
    held = {"safe": holdout, "blind": None, "shift": holdout.assign(age=9.0)}[kind]
    return audit_table(real, made, held, random_state=0).to_html()


def make_other(result, kind):
    """The page of two audits, of a file that stores rows, or of one that does not."""
    if kind == "two audits":
        document = json.loads(result.to_json())
        return render_comparison(document, document, ("before", "after"))
    records, _ = make_membership_problem(200, random_state=0)
    model = {"rows": KNeighborsClassifier(), "sums": RandomForestClassifier(5, random_state=0)}
    return inspect_model(model[kind].fit(records.X, records.y), records).to_html()


@pytest.fixture(scope="module")
def tabs():
    """Pages that are open, by their settings; to open one costs more than to ask all of it."""
    return {}


@pytest.fixture
def open_page(browser, tabs, tmp_path):
    """Show a page and note what the browser complains of and asks for."""

    def open_page(text, viewport=None, **settings):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        if (page := tabs.get(str(settings))) is None:
            page = tabs[str(settings)] = browser.new_page(**settings)
            page.on("console", lambda message: page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("request", lambda request: page.requests.append(request.url))
        page.complaints, page.requests = [], []
        page.emulate_media(media="null", color_scheme="null")
        page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        page.goto(path.as_uri())
        return page

    return open_page


def size(width, height=844):
    return {"viewport": {"width": width, "height": height}}


def get_end(page, selector):
    box = page.locator(selector).first.bounding_box()
    return box["y"] + box["height"]


# The ratio of contrast of each text to the ground that it stands on, with the text.
CONTRASTS = """() => {
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const known = {}, luminance = color => known[color] ??= measure(color);
    const measure = color => {
        canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => {
            v /= 255;
            return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    document.querySelectorAll("details").forEach(one => one.open = true);
    return [...document.querySelectorAll("body *")].flatMap(one => {
        if (![...one.childNodes].some(n => n.nodeType == 3 && n.data.trim())) return [];
        let ground = one;
        while (ground && getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)")
            ground = ground.parentElement;
        const style = getComputedStyle(one);
        const back = luminance(ground ? getComputedStyle(ground).backgroundColor : "white");
        const fore = luminance(one.closest("svg") ? style.fill : style.color);
        return [[(Math.max(fore, back) + .05) / (Math.min(fore, back) + .05), one.textContent]];
    });
}"""


# Rows that have not a cell for each heading of their table.
UNEVEN = """[...document.querySelectorAll("tbody tr")].filter(row => {
    const width = [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0);
    return width != row.closest("table").tHead.rows[0].cells.length;
}).map(row => row.textContent)"""


FONTS = """[...document.querySelectorAll('body *')].map(
    one => [parseFloat(getComputedStyle(one).fontSize), one.tagName])"""
OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"
TABLES, OTHERS = ("leaky", "safe", "blind", "shift"), ("two audits", "rows", "sums")


# Each run looks at the page of an audit, of a table, and of two audits.
IN_EACH_RUN = ("severe", "leaky", "two audits")
KINDS = [
    pytest.param(kind, marks=[] if kind in IN_EACH_RUN else pytest.mark.slow)
    for kind in (*LEVELS, *TABLES, *OTHERS)
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_answers_first_and_is_read_at_each_width_in_each_color(open_page, pages, kind):
    """The first screen has the answer, nothing sticks out, and each text stands out."""
    page = open_page(pages(kind), **size(1280, 800))
    first = ["h1", ".lead", "#result table" if kind == "two audits" else "#next"]
    first += [] if kind in OTHERS else [".evidence"]
    assert max(get_end(page, selector) for selector in first) <= 800
    if kind not in OTHERS:
        sizes = page.evaluate(FONTS)
        assert {tag for size, tag in sizes if size == max(sizes)[0]} == {"H1"}
    if kind in LEVELS:  # read without colors
        filled = dict(zip(LEVELS, (3, 2, 1, 0, 0), strict=True))[kind]
        label = page.locator(".meter").get_attribute("aria-label")
        assert label == ("no level" if kind == "unknown" else f"level {filled} of 3")
        assert page.locator(".meter use").first.get_attribute("href") == f"#b-{kind}"
        assert page.locator(f"#b-{kind} rect.on").count() == filled
    page.screenshot(path=SCREENSHOTS / f"{kind.replace(' ', '_')}.png")
    for width, height in ((320, 700), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        assert get_end(page, "h1") < get_end(page, ".lead") <= height
        if width == 390 and kind not in OTHERS:
            assert get_end(page, ".lead") <= height / 2 or kind in TABLES
            assert get_end(page, "#next") <= height
    page.evaluate(OPEN)
    for width in (320, 390, 768, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(UNEVEN) == []
    for media, color in (("screen", "light"), ("screen", "dark"), ("print", "light")):
        page.emulate_media(media=media, color_scheme=color)
        found = page.evaluate(CONTRASTS)
        assert len(found) > (100 if kind in LEVELS else 20) and min(found)[0] >= 4.5, min(found)
    assert page.complaints == [] and page.evaluate("window.ran") is None
    assert len(page.requests) == 1 and page.requests[0].startswith("file:")
    if kind not in LEVELS:
        assert "style=" not in pages(kind) and len(pages(kind).encode()) < 60_000
        printed = page.pdf(prefer_css_page_size=True, print_background=True)
        assert 1 <= printed.count(b"/Type /Page\n") <= 6


CHECKED = ("severe", "unknown", "leaky", "blind", *OTHERS)
# A test of its own measures the contrast of each text, in each color.
BUT_CONTRAST = {"rules": {"color-contrast": {"enabled": False}}, "resultTypes": ["violations"]}


@pytest.mark.parametrize("kind", [one for one in KINDS if one.values[0] in CHECKED])
def test_a_checker_of_accessibility_finds_no_fault(open_page, pages, kind):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    # The checker is a script, which the policy of the page would not let in.
    page = open_page(pages(kind), bypass_csp=True, **size(1280))
    page.evaluate(OPEN)
    for width in (1280, 390) if kind == "severe" else (1280,):
        page.set_viewport_size({"width": width, "height": 844})
        found = axe.Axe().run(page, options=BUT_CONTRAST)
        assert found.violations_count == 0, found.generate_report()


def test_the_contents_stay_beside_the_text(open_page, pages):
    page = open_page(pages("severe"), **size(1280, 800))
    page.evaluate("window.scrollTo(0, 1500)")
    box = page.locator("nav").bounding_box()
    assert 0 <= box["y"] < 50 and box["x"] < page.locator("main").bounding_box()["x"]


def test_all_is_reached_by_the_keyboard(open_page, pages):
    page = open_page(pages("severe"), **size(1280, 800))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    summary = page.locator("summary", has_text="All attacks").last
    summary.focus()
    table = page.get_by_role("region", name="All attacks")
    assert not table.is_visible()
    page.keyboard.press("Enter")
    assert table.is_visible()


def test_a_link_opens_what_is_folded(open_page, pages):
    page = open_page(pages("severe"), **size(1280, 800))
    limits = page.locator("#levels")
    assert not limits.is_visible()
    page.get_by_text("How levels are set").click()
    assert limits.is_visible()


@pytest.mark.parametrize("level", ["severe", pytest.param("unknown", marks=pytest.mark.slow)])
def test_it_prints_on_six_sheets_with_all_that_is_folded(open_page, pages, level):
    page = open_page(pages(level))
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    assert 2 <= printed.count(b"/Type /Page\n") <= 6
    page.emulate_media(media="print")
    assert page.get_by_text("random_state 0", exact=False).first.is_visible()


def test_names_of_others_run_nothing_and_turn_nothing(open_page, pages):
    page = open_page(pages("severe"))
    assert page.evaluate("window.ran") is None
    text = page.locator("#groups").inner_text()
    assert "\\u202egnitic" in text and "\u202e" not in text and "a\\n\\x1b[2J<script>" in text
    isolated = page.locator("#groups bdi", has_text="\u05d0\u05d1\u05d2").first
    assert isolated.evaluate("one => getComputedStyle(one).unicodeBidi") == "isolate"


def test_a_script_that_got_onto_the_page_would_not_run(open_page, pages):
    planted = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
    page = open_page(pages("severe").replace("<main>", f"<main>{planted}"))
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in page.complaints)


def test_the_page_works_in_the_sandbox_of_a_notebook(browser, result):
    page = browser.new_page()
    page.set_content(result._repr_html_())
    frame = page.frame_locator("iframe")
    frame.locator("summary", has_text="The whole model").click()
    assert frame.locator("pre", has_text="RandomForestClassifier(").is_visible()
    page.close()


@pytest.mark.parametrize(
    "kind",
    ["one audit", "two audits", pytest.param("a table", marks=pytest.mark.slow), "a file"],
)
def test_long_names_do_not_stick_out_of_a_phone(open_page, result, kind):
    document = json.loads(result.to_json())
    document["victim"] = "RandomForestClassifier(min_samples_leaf=20,max_features='sqrt',n_jobs=2)"
    document["victim_name"] = "A" * 200
    real, made, holdout = np.random.default_rng(0).normal(size=(3, 60, 3))
    made_pages = {
        "one audit": lambda: render_audit(document),
        "two audits": lambda: render_comparison(document, document, ("before", "after")),
        "a table": lambda: audit_table(real, made, holdout, random_state=0).to_html(),
        "a file": lambda: inspect_model(KNeighborsClassifier().fit(real, made[:, 0] > 0)).to_html(),
    }
    page = open_page(made_pages[kind](), **size(375, 700))
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.evaluate(UNEVEN) == [] and page.complaints == []
