"""The page on training data in fitted attributes says what estimators store today."""

import importlib.util
import re
from pathlib import Path

import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

DOC = Path(__file__).parents[1] / "doc"


def load_tables():
    """The module of doc/, which is no package, that writes the tables."""
    spec = importlib.util.spec_from_file_location("state_tables", DOC / "make_state_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load_tables()
TEXT = tables.PAGE.read_text(encoding="utf-8")


def find_line(kind, name, attribute):
    """The line of the page on an attribute of an estimator."""
    title = next(title for title, kinds in tables.KINDS.items() if kind in kinds)
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    names = f"`{name}`", f"`{name.replace('Classifier', '*')}`"
    lines = [line for line in section.splitlines() if any(one in line for one in names)]
    return next(line for line in lines if f"`{attribute}`" in line.split("|")[1])


@pytest.mark.parametrize(
    "kind",
    [
        HistGradientBoostingClassifier,
        KNeighborsClassifier,
        MinMaxScaler,
        RandomForestClassifier,
    ],
)
def test_the_page_has_what_an_estimator_stores(kind):
    found = tables.describe(kind.__name__, kind)
    told = found[found["kind"].isin([kind for kinds in tables.KINDS.values() for kind in kinds])]
    assert len(told)
    for one in told.itertuples():
        line = find_line(one.kind, kind.__name__, one.attribute)
        assert line.endswith(f"| {tables._WORDS[one.use]} |")


@pytest.mark.slow
def test_the_page_is_what_its_script_writes():
    """``make tables`` writes it."""
    version = re.search(r"scikit-learn (\d+\.\d+\.\d+)", TEXT)[1]
    if version != sklearn.__version__:
        pytest.skip(f"the page is about scikit-learn {version}")
    pytest.importorskip("xgboost")
    assert tables.rewrite(TEXT, tables.collect(tables.list_kinds())) == TEXT
