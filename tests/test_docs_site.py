"""What doc/check_site.py finds in a built site."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def load():
    """The module; doc/ is no package."""
    spec = importlib.util.spec_from_file_location("check_site", ROOT / "doc" / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = load()
HEAD = '<dt class="sig sig-object py" id="skmia.A"><em>class </em><span>A</span>{}</dt>'


@pytest.mark.parametrize(
    "shown, n_found", [("(<em>*args</em>, <em>**kwargs</em>)", 1), ("(victim=None)", 0)]
)
def test_a_class_without_its_own_signature_is_found(shown, n_found, tmp_path):
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "skmia.A.html").write_text(HEAD.format(shown), encoding="utf-8")
    assert len(list(site.check_signatures(tmp_path))) == n_found


def test_a_tutorial_without_a_picture_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "PICTURED", ())
    (tmp_path / "tutorials").mkdir()
    article = '<img src="logo.svg"><article class="bd-article">{}</article>'
    for name, inside in (("a", "<p>"), ("b", '<img src="b.webp">')):
        page = tmp_path / "tutorials" / f"{name}.html"
        page.write_text(article.format(inside), encoding="utf-8")
    assert list(site.check_pictures(tmp_path)) == ["tutorials/a: no picture"]


def test_a_term_that_no_page_links_to_is_found(tmp_path):
    sections = "".join(f'<section id="{name}">' for name in ("glossary", "auc", "nat"))
    (tmp_path / "glossary.html").write_text(sections, encoding="utf-8")
    link = '<a class="glossary-term reference internal" href="glossary.html#auc">AUC</a>'
    (tmp_path / "faq.html").write_text(link, encoding="utf-8")
    assert list(site.check_glossary(tmp_path)) == ["glossary: no page links to 'nat'"]


def test_forty_words_are_searched():
    assert len(set(site.SEARCHED)) == len(site.SEARCHED) >= 40


def test_a_folder_without_a_site_is_an_error(tmp_path, capsys):
    assert site.main(tmp_path) == 1
    assert "holds no site" in capsys.readouterr().out
