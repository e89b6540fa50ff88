"""Rules about hyper-parameters: as published, as corrected, and as a user writes them."""

import re

import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as Tree

from skmia.disclosure import load_rules
from skmia.disclosure._rules import describe_flags
from skmia.victims import read_booster_file


def name_flags(model, rules="sacro_ml", n_rows=284):
    flags = load_rules(rules).list_flags(model, n_rows)
    return None if flags is None else [rule.name for rule in flags]


PUBLISHED = [
    (Tree(max_depth=8, min_samples_leaf=7, min_samples_split=14, max_features="log2"), ["tree 1"]),
    (Tree(max_depth=1, min_samples_leaf=150), []),
    (Tree(min_samples_split=20), ["tree 2"]),
    (Tree(min_samples_leaf=10), ["tree 3"]),
    (Tree(min_samples_leaf=10, max_features="sqrt"), []),
    (Tree(max_depth=5), ["tree 4"]),
    (Tree(splitter="random"), ["tree 1", "tree 5"]),
    (RandomForestClassifier(min_samples_leaf=120), ["forest 1"]),
    (RandomForestClassifier(max_features=None), ["forest 2"]),
    (RandomForestClassifier(20, bootstrap=False), ["forest 3"]),
    (RandomForestClassifier(10), []),
    (ExtraTreesClassifier(), None),
]


@pytest.mark.parametrize(("model", "names"), PUBLISHED, ids=str)
def test_published_rules(model, names):
    assert name_flags(model) == names
    assert name_flags(make_pipeline(StandardScaler(), model)) == names


def test_rules_of_boosting_read_no_limit_as_no_limit():
    xgboost = pytest.importorskip("xgboost")
    deep = xgboost.XGBClassifier(max_depth=10, n_estimators=10, min_child_weight=1)
    assert name_flags(deep) == name_flags(deep, "skmia") == ["xgboost 1"]
    assert name_flags(xgboost.XGBClassifier(max_depth=3)) == []
    flat = xgboost.XGBClassifier(max_depth=3, n_estimators=100, min_child_weight=0)
    assert name_flags(flat, "skmia") == []
    endless = xgboost.XGBClassifier(max_depth=0, min_child_weight=5)
    assert name_flags(endless, "skmia") == ["xgboost 3"]


def test_settings_that_a_file_does_not_store_are_not_taken_for_defaults(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    settings = {"n_estimators": 3, "max_depth": 1}
    made = xgboost.XGBClassifier(**settings).fit([[0.0], [1.0]] * 4, [0, 1] * 4)
    made.save_model(tmp_path / "model.json")
    assert name_flags(made) == []
    assert name_flags(read_booster_file(tmp_path / "model.json")) is None


def test_fractions_are_counts_where_the_rules_are_corrected():
    tree = Tree(min_samples_leaf=0.1)  # 29 rows of 284
    assert name_flags(tree) == ["tree 1"]
    assert name_flags(tree, "skmia") == []
    assert name_flags(tree, "skmia", n_rows=20) == ["tree 1", "smallest leaf"]


SETTINGS = """
name = "settings"
source = "a test"
fractions = ["min_samples_leaf", "min_samples_split"]
missing.BaseForest = {{max_depth = 9, max_features = 8}}
missing.ExtraTreesClassifier = {{max_depth = 5}}
zero.BaseForest = {{verbose = 3}}

[[rules]]
name = "one"
estimators = ["ExtraTreesClassifier"]
flag_if = {{{name} = "{condition}"}}
"""


@pytest.mark.parametrize(
    ("settings", "condition", "is_flagged"),
    [
        # At least one record of a leaf and two of a split, as many as the fraction rounded up.
        ({"min_samples_leaf": 0.001}, "== 1", True),
        ({"min_samples_leaf": 0.21}, "== 3", True),
        ({"min_samples_leaf": 0.2}, "== 2", True),
        ({"min_samples_leaf": 4}, "== 4", True),
        ({"min_samples_split": 0.001}, "== 2", True),
        ({"min_samples_split": 0.21}, "== 3", True),
        # What is not given has the value of the class, or else of one that it is derived from.
        ({"max_depth": None}, "== 5", True),
        ({"max_features": None}, "== 8", True),
        ({"max_features": 2}, "== 2", True),
        ({"verbose": 0}, "== 3", True),
        ({"verbose": 1}, "== 1", True),
        ({"depth": 1}, "== 1", False),
        ({"depth": 1}, "not == 1", False),
    ],
)
def test_settings_are_read_as_the_rules_say(settings, condition, is_flagged, tmp_path):
    (name,) = settings
    path = tmp_path / "rules.toml"
    path.write_text(SETTINGS.format(name=name, condition=condition))
    model = ExtraTreesClassifier()
    if name in model.get_params():
        model.set_params(**settings)
    assert name_flags(model, path, n_rows=10) == (["one"] if is_flagged else [])


def test_a_forest_of_large_leaves_is_not_flagged_where_the_rules_are_corrected():
    assert name_flags(RandomForestClassifier(min_samples_leaf=120), "skmia") == []
    assert name_flags(RandomForestClassifier(), "skmia") == ["forest 1", "smallest leaf"]
    assert name_flags(ExtraTreesClassifier(), "skmia") == ["smallest leaf"]


def test_rules_of_safe_models():
    assert name_flags(Tree(min_samples_leaf=5), "safemodel") == []
    assert name_flags(Tree(min_samples_leaf=4), "safemodel") == [
        "tree: min_samples_leaf of 5 or more"
    ]
    assert len(name_flags(Tree(min_samples_leaf=0.5), "safemodel")) == 2
    assert name_flags(RandomForestClassifier(min_samples_leaf=5, bootstrap=False), "safemodel") == [
        "forest: bootstrap"
    ]
    assert name_flags(LogisticRegression(), "safemodel") is None


OWN = """
name = "ours"
source = "the house"

[[rules]]
name = "weak penalty"
estimators = ["LogisticRegression"]
flag_if = {C = ["> 1", "<= 100"], fit_intercept = "== true", solver = "not == saga"}
"""


def test_rules_of_a_file(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(OWN)
    assert load_rules(path).rules[0].source == "the house"
    assert name_flags(LogisticRegression(C=10), path) == ["weak penalty"]
    assert name_flags(LogisticRegression(C=1), path) == []
    assert name_flags(LogisticRegression(C=1000), str(path)) == []
    assert name_flags(LogisticRegression(C=10, solver="saga"), path) == []
    assert name_flags(LogisticRegression(C=100), path) == ["weak penalty"]
    assert name_flags(LogisticRegression(C=10, fit_intercept=False), path) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = ", "is not valid TOML"),
        ("name = 'a'", "Rules need source, which must be text"),
        ("name = 'a'\nsource = 'b'\nrules = [1]", "Each of rules must be a table"),
        (OWN.replace('"> 1"', '"1"'), "The condition on C must be a comparison"),
        (OWN.replace('"> 1"', '"> one"'), "The condition on C must be a comparison"),
        (OWN.replace("estimators", "models"), "Rules need estimators, which must be a list"),
        (OWN.split("flag_if")[0] + "flag_if = {}", "needs a condition"),
        (OWN + "\n[missing]\nC = 1", "missing must hold a table for each class"),
    ],
    ids=["toml", "source", "table", "sign", "number", "list", "empty", "missing"],
)
def test_mistakes_in_a_file_are_one_sentence(text, sentence, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        load_rules(path)


def test_rules_that_do_not_exist():
    with pytest.raises(FileNotFoundError, match="rules must be one of 'skmia', 'sacro_ml'"):
        load_rules("strict")
    with pytest.raises(TypeError, match="or a path; got 3"):
        load_rules(3)


@pytest.mark.parametrize("name", ["skmia", "sacro_ml", "safemodel"])
def test_each_setting_of_the_rules_has_words_and_a_reason(name):
    for rule in load_rules(name).rules:
        told = describe_flags([rule])
        assert len(told) == len({condition.parameter for condition in rule.conditions})
        for text in told:
            assert not text.startswith("Setting (")
            assert re.fullmatch(r"[A-Z][A-Za-z ]+ \([A-Za-z_]+\), [a-z0-9. ]+: [a-z, ]+\.", text)


def test_settings_are_told_by_their_limits():
    (rule,) = [rule for rule in load_rules("skmia").rules if rule.name == "tree 3"]
    told = describe_flags([rule])
    assert "Records of a leaf (min_samples_leaf), more than 7 and at most 15: a small" in told[2]
    (rule,) = [r for r in load_rules("safemodel").rules if r.name == "forest: bootstrap"]
    assert describe_flags([rule])[0].startswith("A sample for each tree (bootstrap), not true: ")
