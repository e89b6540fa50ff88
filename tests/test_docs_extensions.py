"""What doc/_ext adds to Sphinx; needs the extra "doc"."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx")

DOC = Path(__file__).parents[1] / "doc"
EXAMPLES = DOC.parent / "examples"


SETTINGS = f"""
import sys
sys.path[:0] = {[str(path) for path in (DOC.parent, DOC, DOC / "_ext")]}
extensions = ["code_links", "mathml"]
html_math_renderer = "mathml"
"""
API = """
LiRA
====

.. py:class:: skmia.attacks.LiRA

   Not ``LiRA`` here.

   .. py:method:: fit
"""
INDEX = r"""
Title
=====

.. toctree::

   api

Use ``LiRA`` here.

Use ``skmia.attacks.LiRA`` here.

Use ``LiRA.fit`` here.

Use ``LiRA.fit()`` here.

Use ``LiRA.none`` here.

Use ``fit`` here.

Use ``LiRA(victim)`` here.

The :math:`\log p` of it, and

.. math:: a^2
"""


def build(folder, **pages):
    """What Sphinx says of pages in restructured text, and their HTML."""
    (folder / "conf.py").write_text(SETTINGS, encoding="utf-8")
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", folder, folder / "out"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr, {
        name: (folder / "out" / f"{name}.html").read_text(encoding="utf-8") for name in pages
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Pages of which one has a formula that cannot be read, and what Sphinx said of them."""
    unread = ":orphan:\n\nTitle\n=====\n\n:math:`\\nosuch{x}`\n"
    said, pages = build(tmp_path_factory.mktemp("site"), index=INDEX, api=API, unread=unread)
    return {**pages, "said": said}


@pytest.mark.parametrize(
    "text, target",
    [
        ("LiRA", "#skmia.attacks.LiRA"),
        ("skmia.attacks.LiRA", "#skmia.attacks.LiRA"),
        ("LiRA.fit", "#skmia.attacks.LiRA.fit"),
        ("LiRA.fit()", "#skmia.attacks.LiRA.fit"),
        ("LiRA.none", None),
        ("fit", None),
        ("LiRA(victim)", None),
    ],
)
def test_name_of_a_page_becomes_a_link(text, target, site):
    code = f'<code class="docutils literal notranslate"><span class="pre">{text}</span></code>'
    line = re.search(f"<p>Use (.*{re.escape(code)}.*) here.</p>", site["index"])[1]
    assert re.findall('href="([^"]*)"', line) == ([f"api.html{target}"] if target else [])


def test_name_has_no_link_to_its_own_page(site):
    assert "<p>Not <code" in site["api"]


def test_formulas_need_no_script(site):
    assert site["index"].count("<math") == 2
    assert "<msup>" in site["index"]
    assert "log</mo>" in site["index"]
    assert "mathjax" not in site["index"].lower()


def test_formula_that_cannot_be_read_is_a_warning_and_the_only_one(site):
    assert "unread.rst:6: WARNING: formula cannot be shown" in site["said"]
    assert site["said"].count("WARNING") == 1
    assert r"\nosuch{x}" in site["unread"]


@pytest.fixture
def extension(monkeypatch):
    """Function that imports a module of doc/_ext."""
    monkeypatch.setattr(sys, "path", [str(DOC), str(DOC / "_ext"), *sys.path])
    return importlib.import_module


@pytest.mark.parametrize(
    "path, page",
    [
        ("README.md", "index"),
        ("CHANGELOG.md", "changelog"),
        ("examples/README.md", "auto_examples/index"),
        ("examples/3_papers/plot_secret_sharer.py", "auto_examples/3_papers/plot_secret_sharer"),
        ("benchmarks/results/odell.md", "benchmarks/results/odell"),
        ("doc/user_guide/attacks.md", "user_guide/attacks"),
        ("benchmarks/results/odell_adult.csv", None),
        ("skmia/exceptions.py", None),
        ("LICENSE", None),
    ],
)
def test_page_that_shows_a_file_of_the_repository(path, page, extension):
    assert (DOC.parent / path).is_file()
    assert extension("repository_links").page_of(path) == page


def test_contents_follow_the_links_of_the_first_page(tmp_path, extension):
    folder = tmp_path / "user_guide"
    folder.mkdir()
    for name in ("index", "a", "b", "c", "d"):
        (folder / f"{name}.md").touch()
    text = "[b](b.md)\n\n## Part\n\n[d](d.md#x), [b](b.md), [gone](e.md), [c](c.md)\n\n## Empty\n"
    content, app = [text], type("App", (), {"srcdir": tmp_path})
    extension("contents").add_contents(app, "user_guide/index", content)
    trees = content[0].removeprefix(text).split("```{toctree}\n:hidden:\n")
    assert [tree.strip().removesuffix("\n```") for tree in trees] == [
        "",
        "b.md",
        ":caption: Part\n\nd.md\nc.md",
        "a.md",
    ]


@pytest.mark.parametrize("data", ["", "/somewhere"])
def test_examples_that_read_data_are_run_where_there_are_data(data, extension, monkeypatch):
    monkeypatch.setenv("SKMIA_EXAMPLE_DATA", data)
    pattern = extension("example_pages").pattern_of_runnable(EXAMPLES)
    assert re.search(pattern, "/any/1_quickstart/plot_digits_forest.py")
    assert bool(re.search(pattern, "/any/1_quickstart/plot_adult_pipeline.py")) == bool(data)


@pytest.mark.parametrize("data", ["", "/somewhere"])
@pytest.mark.parametrize("name", ["digits_forest", "adult_pipeline"])
def test_page_of_an_example_shows_a_stored_picture_if_it_was_not_run(
    data, name, extension, monkeypatch, tmp_path
):
    from docutils import nodes

    monkeypatch.setenv("SKMIA_EXAMPLE_DATA", data)
    docname = f"auto_examples/1_quickstart/plot_{name}"
    script = tmp_path / f"{docname}.py"
    script.parent.mkdir(parents=True)
    source = EXAMPLES / "1_quickstart" / script.name
    script.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    app = SimpleNamespace(
        env=SimpleNamespace(docname=docname),
        config=SimpleNamespace(sphinx_gallery_conf={"gallery_dirs": "auto_examples"}),
        srcdir=str(tmp_path),
    )
    page = nodes.section("", nodes.title("", "Title"), nodes.paragraph("", "Text"))
    extension("example_pages").say_how_it_was_run(app, page)
    images = [image["uri"] for image in page.findall(nodes.image)]
    is_shown = name == "adult_pipeline" and not data
    assert images == ([f"/_static/examples/plot_{name}.png"] if is_shown else [])
    assert page[1].astext().startswith("Shown without" if is_shown else "The output on this page")
    assert all((DOC / image.lstrip("/")).is_file() for image in images)


def test_first_use_of_a_term_is_linked_to_the_glossary(extension, tmp_path):
    from docutils import nodes

    headings = ["Baseline, blind", "IN and OUT", "Member and non-member", "`group_by`", "White box"]
    headings += ["Shadow model"]
    text = "".join(f"## {heading}\n\nWords.\n\n" for heading in headings)
    (tmp_path / "glossary.md").write_text(text, encoding="utf-8")
    builder = SimpleNamespace(get_relative_uri=lambda page, other: f"../{other}.html")
    app = SimpleNamespace(srcdir=str(tmp_path), builder=builder)
    title = nodes.title("", "Members")
    first = nodes.paragraph(
        "",
        "",
        nodes.Text("In a blind baseline, non-members and IN models. "),
        nodes.literal("", "member"),
    )
    second = nodes.paragraph(
        "",
        "",
        # As the parser of the pages makes them: a text for each line and each line break.
        nodes.Text("A shadow"),
        nodes.Text("\n"),
        nodes.Text("model: white-box members out."),
        nodes.literal("", "group_by"),
    )
    page = nodes.section("", title, first, second)
    extension("glossary_links").add_links(app, page, "user_guide/page")
    found = {link.astext(): link["refuri"] for link in page.findall(nodes.reference)}
    assert found == {
        "blind baseline": "../glossary.html#baseline-blind",
        "non-members": "../glossary.html#member-and-non-member",
        "IN": "../glossary.html#in-and-out",
        "shadow\nmodel": "../glossary.html#shadow-model",
        "white-box": "../glossary.html#white-box",
        "group_by": "../glossary.html#group-by",
    }
    assert page.astext().endswith("A shadow\nmodel: white-box members out.group_by")


def test_pictures_show_their_dark_copies(extension, tmp_path):
    from docutils import nodes

    for name in ("a.webp", "a_dark.webp", "b.webp"):
        (tmp_path / name).touch()
    env = SimpleNamespace(docname="page", doc2path=lambda name: str(tmp_path / f"{name}.md"))
    app = SimpleNamespace(env=env, srcdir=str(tmp_path))
    images = [
        nodes.image(uri=uri) for uri in ("a.webp", "/a.webp", "b.webp", "https://e.org/a.webp")
    ]
    page = nodes.paragraph("", "", *images)
    extension("pictures").add_dark_copies(app, page)
    assert [(image["uri"], image["classes"]) for image in page.findall(nodes.image)] == [
        ("a.webp", ["only-light"]),
        ("a_dark.webp", ["only-dark"]),
        ("/a.webp", ["only-light"]),
        ("/a_dark.webp", ["only-dark"]),
        ("b.webp", []),
        ("https://e.org/a.webp", []),
    ]
