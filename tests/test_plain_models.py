"""The documentation passes fitted models and pools to attacks as they are."""

from pathlib import Path

ROOT = Path(__file__).parents[1]

# The places that explain what FrozenEstimator does, with the number of times that they name it.
EXPLAINED = {
    "doc/coming_from.md": 1,  # it is welcome and not needed
    "doc/glossary.md": 1,  # the same
    "doc/user_guide/defenses.md": 1,  # a defense around one does not train it
    "doc/user_guide/models.md": 1,  # parts of a model that are fitted before
    "doc/user_guide/searching.md": 1,  # victims as values of a grid, which a search clones
}


def test_frozen_estimators_are_named_only_where_they_are_explained():
    pages = [ROOT / "README.md", *(ROOT / "doc").glob("*.md")]
    pages += [*(ROOT / "doc" / "user_guide").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    assert len(pages) > 50
    counts = {
        page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8").count("FrozenEstimator")
        for page in pages
    }
    assert {page: count for page, count in counts.items() if count} == EXPLAINED
