"""The tables of the documentation leave nothing out that is in the code."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skmia
from skmia.base import BaseAttack
from skmia.signals import AnswerSignal, get_signal, get_signal_names

DOC = Path(__file__).parents[1] / "doc"
GUIDE = DOC / "user_guide"


def find_public():
    """Everything in the ``__all__`` of a public module, by name."""
    modules = [skmia]
    for module in pkgutil.walk_packages(skmia.__path__, "skmia."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            modules.append(importlib.import_module(module.name))
    return {name: getattr(one, name) for one in modules for name in getattr(one, "__all__", ())}


PUBLIC = find_public()
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
    for title in ("Membership", "An attribute")
    for row in TABLES[title]
}
SIGNALS = {row["signal"].strip("`"): row for row in TABLES["Signals"]}


def test_every_public_attack_is_in_the_table():
    assert {"LiRA", "MeanGLiRAttack", "GaussianRegressionAttacker"} <= set(ATTACKS)
    assert set(ROWS) == set(ATTACKS)


@pytest.mark.parametrize("name", sorted(name for name in ATTACKS if name in ROWS))
def test_what_an_attack_needs_besides_the_victim_is_in_the_table(name):
    attack, needs = ATTACKS[name](), ROWS[name]["besides"]
    assert ("pool" in needs) == ("shadows" in attack.get_params())
    if isinstance(attack, BaseAttack):
        required = attack.__sklearn_tags__().target_tags.required
        assert ("known members" in needs) == required


def test_every_signal_is_in_the_table():
    assert sorted(SIGNALS) == get_signal_names()


@pytest.mark.parametrize("name", get_signal_names())
def test_what_a_signal_reads_is_in_the_table(name):
    signal, row = get_signal(name), SIGNALS[name]
    assert row["class"] == f"`{type(signal).__name__}`"
    reads = row["reads"].split(", ")
    if isinstance(signal, AnswerSignal):
        assert tuple(reads) == signal.reads
    else:
        assert reads in (["gradients"], ["victim"])


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


def test_every_chapter_is_linked_from_the_first_page_of_the_guide():
    linked = set(re.findall(r"\]\((\w+)\.md\)", (GUIDE / "index.md").read_text(encoding="utf-8")))
    assert linked >= {page.stem for page in GUIDE.glob("*.md")} - {"index"}


def test_the_glossary_is_in_alphabetical_order():
    terms = re.findall("^## (.+)$", (DOC / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    keys = [re.sub(r"[^a-z0-9 ]", "", term.lower()) for term in terms]
    assert len(keys) >= 40
    assert keys == sorted(set(keys))


LAYERS = {
    name: number
    for number, row in enumerate(
        read_tables(DOC / "contributing.md")["The architecture on one page"], start=1
    )
    for name in re.findall(r"`(\w+)`", row["packages"])
}
PACKAGE = Path(skmia.__file__).parent


def find_imports(path):
    """Parts of skmia that a module imports at its top."""
    home = path.relative_to(PACKAGE.parent).with_suffix("").parts
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            # The parts of __init__ count as those of a module: one level is the package itself.
            base = (*home[: -node.level], *(node.module or "").split("."))[1:]
            found = [base[0]] if base[0] else [alias.name for alias in node.names]
            yield from (name for name in found if not name.startswith("__"))


def test_every_part_of_the_package_has_a_layer():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(LAYERS) == parts - {"__init__", "__pycache__"}


def is_allowed(part, other):
    """Modules of the first layer know each other."""
    return other == part or LAYERS[other] < LAYERS[part] or LAYERS[other] == LAYERS[part] == 1


@pytest.mark.parametrize("part", sorted(LAYERS))
def test_imports_go_to_the_layers_above(part):
    module = PACKAGE / f"{part}.py"
    modules = [module] if module.exists() else (PACKAGE / part).rglob("*.py")
    wrong = {
        (path.name, other)
        for path in modules
        if path.name != "estimator_checks.py"  # makes pools to check attacks on
        for other in find_imports(path)
        if not is_allowed(part, other)
    }
    assert wrong == set()
