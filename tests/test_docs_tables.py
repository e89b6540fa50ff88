"""The tables of the documentation leave nothing out that is in the code."""

import importlib.util
import inspect
import re
from pathlib import Path

import public
import pytest

from skmia.base import BaseAttack
from skmia.signals import get_signal_names
from skmia.signals._registry import get_signal

DOC = Path(__file__).parents[1] / "doc"
GUIDE = DOC / "user_guide"


def load_tables():
    """The module of doc/, which is no package, that writes the tables."""
    spec = importlib.util.spec_from_file_location("make_tables", DOC / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load_tables()
PUBLIC = {name.rpartition(".")[2]: thing for name, thing in public.PUBLIC.items()}
# The attacks on a mean have released means as samples and are no BaseAttack.
ATTACKS = {
    name: thing
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing)
    and (issubclass(thing, BaseAttack) or re.search("Attack(er)?$", name))
    and not inspect.isabstract(thing)
}


def read_tables(page):
    """Tables of a page by their heading: lists of rows, each a dict by the head of its column."""
    tables = {}
    for section in re.split(r"^#+ ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("|")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        if cells:
            head, _, *rows = cells
            tables[title] = [dict(zip(head, row, strict=True)) for row in rows]
    return tables


TABLES = read_tables(GUIDE / "table_of_attacks.md")
ROWS = {
    row["attack"].strip("`"): row
    for title in ("Membership", "Means, attributes and labels")
    for row in TABLES[title]
}
SIGNALS = {row["signal"].strip("`"): row for row in TABLES["Signals"]}


def test_every_public_attack_is_in_the_table():
    assert {"LiRA", "MeanGLiRAttack", "GaussianRegressionAttacker"} <= set(ATTACKS)
    assert set(ROWS) == set(ATTACKS)


def test_the_table_says_what_attacks_and_signals_declare():
    """``make tables`` writes it."""
    text = tables.PAGE.read_text(encoding="utf-8")
    assert tables.rewrite(text) == text
    assert ROWS["RMIA"]["shadow models"] == "signal, signal at temperature 2 if kept"
    assert ROWS["QuantileAttack"]["known"] == "non-members, `population`"
    assert ROWS["WhiteBoxAttack"]["access"] == "gradients, layers"


def read_names(text):
    return set(re.findall(r"`(\w+)`", text))


def test_attacks_with_probabilities_are_listed():
    page = (GUIDE / "attacks.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `predict_proba("))
    has = {name for name, one in tables.find_attacks().items() if hasattr(one(), "predict_proba")}
    assert read_names(row) == has | {"DensityAttack"}


def test_attacks_with_a_wanted_rate_are_listed():
    page = (GUIDE / "attacks.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"`target_fpr=0.01` \((.*?)\)", page, re.DOTALL)
    has = {name for name, one in tables.find_attacks().items() if hasattr(one(), "target_fpr")}
    assert read_names(listed) == has | {"DensityAttack"}


def test_attacks_that_need_outputs_of_shadow_models_are_listed():
    page = (GUIDE / "shadow_models.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith('| `"outputs"` |'))
    needs = {name: one().needs() for name, one in tables.find_attacks().items()}
    assert read_names(row) == {name for name, one in needs.items() if "outputs" in one.keeps}


def test_every_signal_is_in_the_table():
    assert sorted(SIGNALS) == get_signal_names()


def test_every_signal_of_texts_is_in_its_table():
    rows = {row["class"].strip("`"): row["access"] for row in TABLES["Signals of texts"]}
    signals = [one for name, one in public.PUBLIC.items() if name.startswith("skmia.signals.")]
    # The access of a signal of another signal depends on its settings, as a property.
    known = [one for one in signals if isinstance(getattr(one, "access", None), tuple)]
    of_texts = [one for one in known if "tokens" in one.access]
    assert rows == {one.__name__: ", ".join(one.access) for one in of_texts}
    assert rows["ReCaLL"] == "tokens, queries"


@pytest.mark.parametrize("name", get_signal_names())
def test_the_class_of_a_signal_is_in_the_table(name):
    assert SIGNALS[name]["class"] == f"`{type(get_signal(name)).__name__}`"


def test_every_name_in_the_tables_exists():
    rows = [row for title in TABLES for row in TABLES[title] if title != "Signals"]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", next(iter(row.values())))}
    assert named - set(PUBLIC) == set()


# What a class or function of skmia is called, and little else.
OURS = (
    r"`(\w+(?:Attack|Defense|Leakage|Mechanism|Display|Audit|Pool|Synthesizer)|fetch_\w+|load_\w+)`"
)


@pytest.mark.parametrize("page", sorted(GUIDE.glob("*.md")), ids=lambda page: page.stem)
def test_names_in_the_guide_exist(page):
    named = set(re.findall(OURS, page.read_text(encoding="utf-8")))
    assert named - set(PUBLIC) == set()


def test_every_chapter_stands_once_in_the_index_of_the_guide():
    text = (GUIDE / "index.md").read_text(encoding="utf-8")
    groups = re.split("^## ", text, flags=re.MULTILINE)[1:]
    readme = (DOC.parent / "README.md").read_text(encoding="utf-8")
    doors = re.findall(r"^\* \[(I .+)\]", readme, re.MULTILINE)
    assert [group.partition("\n")[0] for group in groups][: len(doors)] == doors
    sizes = [len(re.findall(r"\]\(\w+\.md\) \|$", group, re.MULTILINE)) for group in groups]
    assert max(sizes) <= 10
    linked = re.findall(r"\]\((\w+)\.md\)", text)
    assert sorted(linked) == sorted({page.stem for page in GUIDE.glob("*.md")} - {"index"})


def test_the_glossary_is_in_alphabetical_order():
    terms = re.findall("^## (.+)$", (DOC / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    keys = [re.sub(r"[^a-z0-9 ]", "", term.lower()) for term in terms]
    assert len(keys) >= 40
    assert keys == sorted(set(keys))
