"""Structural checks: known answers, what they count, and what they leave open."""

import json

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Outputs, Records
from skmia.defenses import RoundingDefense
from skmia.disclosure import THRESHOLDS, structural_checks
from skmia.victims import CallableVictim

GROUPS = "k", "class_disclosure", "small_cells"
HALF = np.arange(12) % 2
TWELVE = Records([[0]] * 5 + [[1]] * 4 + [[2]] * 3, [0] * 5 + [0, 0, 0, 1] + [1] * 3)


def fit_tree(records=TWELVE):
    return DecisionTreeClassifier(random_state=0).fit(records.X, records.y)


def test_answers_by_hand():
    report = structural_checks(fit_tree(), TWELVE)
    for release in ("service", "file"):
        assert report.get("k", release).value == 3
        assert report.get("class_disclosure", release).n_records == 8
        assert report.get("small_cells", release).n_records == 12
    assert report.to_records()["k_structure"].tolist() == [5] * 5 + [4] * 4 + [3] * 3
    assert report.to_records()["smallest_cell_answers"].tolist() == [5] * 5 + [1] * 4 + [3] * 3
    for group in ("answers", "structure"):
        assert report.to_records()[f"n_classes_{group}"].tolist() == [1] * 5 + [2] * 4 + [1] * 3
    assert "is_stored" not in report.to_records()
    assert report.get("smallest_leaf", "file").value == 3
    rows = report.get("keeps_rows", "file")
    assert (rows.status, rows.value, rows.n_records) == ("passed", 0, 0)
    assert report.get("residual_dof", "file").value == 12 - 7
    assert report.get("residual_dof", "file").status == "flagged"
    assert report.effective_dof == 3
    assert report.published == {"class_disclosure": 8, "small_cells": 12}
    assert report.n_certain == 8


def split(load):
    X, y = load(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    records = Records(np.concatenate(parts[:2]), np.concatenate(parts[2:]))
    return records, np.arange(len(X)) < len(parts[0])


CANCER, IN_CANCER = split(load_breast_cancer)
SEED = {"random_state": 0}


def check_cancer(model, **settings):
    members = CANCER[IN_CANCER]
    model.fit(members.X, members.y)
    return structural_checks(model, CANCER, IN_CANCER, rules="sacro_ml", **settings)


# Model, AUC, parameters, flagged members by the same answer (k, class, cells) and by the same
# leaves, those by published formulas (class, cells), and whether the published rules hold.
KNOWN = {
    "tree": (DecisionTreeClassifier(**SEED), 0.532, 34, None, (27, 284, 27), (284, 27), "flagged"),
    "leaves of 20": (
        DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, **SEED),
        *(0.543, 16, (0, 201, 60), (0, 201, 60), (201, 60), "passed"),
    ),
    "forest": (
        RandomForestClassifier(**SEED),
        *(0.596, 3322, (74, 284, 74), None, (171, 113), "flagged"),
    ),
    "leaves of 120": (
        RandomForestClassifier(min_samples_leaf=120, **SEED),
        *(0.499, 100, (0, 0, 0), (0, 0, 0), (0, 0), "flagged"),
    ),
    "extra trees": (
        ExtraTreesClassifier(**SEED),
        *(0.812, 10_588, (0, 284, 0), (284, 284, 284), (284, 0), "cannot be said"),
    ),
    "AdaBoost": (
        AdaBoostClassifier(**SEED),
        *(0.493, 250, (284, 284, 284), None, (0, 284), "cannot be said"),
    ),
    "histograms": (
        HistGradientBoostingClassifier(**SEED),
        *(0.528, 3341, (284, 284, 284), None, (0, 284), "cannot be said"),
    ),
    "logistic": (
        LogisticRegression(max_iter=10_000),
        *(0.496, 31, (284, 284, 284), None, (24, 284), "cannot be said"),
    ),
}


def count_flagged(report, release):
    return tuple(report.get(name, release).n_records for name in GROUPS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# Extra trees are read as a forest is.
@pytest.mark.parametrize("name", slow_but(KNOWN, "tree", "leaves of 20", "forest", "logistic"))
def test_known_answers_of_breast_cancer(name):
    model, auc, n_parameters, service, file, published, rules = KNOWN[name]
    report = check_cancer(model)
    assert report.membership.auc.estimate == pytest.approx(auc, abs=0.0015)
    assert report.parameters.n_parameters == n_parameters
    assert service in (None, count_flagged(report, "service"))
    assert file in (None, count_flagged(report, "file"))
    assert tuple(report.published.values()) == published
    assert report.get("rules", "file").status == rules
    assert report.get("residual_dof", "service").value == 284 - n_parameters


def test_rounded_answers_make_larger_groups():
    logistic = LogisticRegression(max_iter=10_000)
    report = check_cancer(logistic, decimals=3)
    # Counted from the answers, whose third decimal differs between processors.
    members = CANCER[IN_CANCER]
    answers = logistic.predict_proba(members.X).round(3)[:, 1]
    cells = pd.crosstab(answers, members.y)
    sizes = cells.sum(axis=1)
    some, least = cells.min(axis=1), cells.where(cells > 0).min(axis=1)
    expected = tuple(int(sizes[flags].sum()) for flags in (sizes < 10, some == 0, least < 10))
    assert count_flagged(report, "service") == expected
    assert 100 < expected[0] < 284
    assert report.published["small_cells"] == 284  # as published, which does not round
    model = HistGradientBoostingClassifier(**SEED)
    assert count_flagged(check_cancer(model, decimals=3), "service") == (45, 284, 45)


def test_a_perceptron_has_its_weights_as_parameters():
    members = CANCER[IN_CANCER]
    model = MLPClassifier((5,), max_iter=1, random_state=0)
    with pytest.warns(Warning, match="Maximum iterations"):
        model.fit(members.X, members.y)
    report = structural_checks(model, CANCER, IN_CANCER)
    assert report.parameters.n_parameters == 161
    assert report.get("smallest_leaf", "file").status == "not applicable"


def test_known_answers_of_iris():
    records, is_member = split(load_iris)
    members = records[is_member]
    tree = DecisionTreeClassifier(**SEED).fit(members.X, members.y)
    report = structural_checks(tree, records, is_member)
    k = report.get("k", "file")
    assert (report.parameters.n_parameters, k.value, k.n_records) == (14, 1, 1)
    tree = DecisionTreeClassifier(min_samples_leaf=12, **SEED).fit(members.X, members.y)
    report = structural_checks(tree, records, is_member)
    assert (report.parameters.n_parameters, report.get("k", "file").value) == (14, 12)
    assert report.get("small_cells", "file").n_records == 12
    assert report.get("smallest_leaf", "file").value == 12


def test_known_answers_of_four_points():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 0], [1, 1], [0, 0]])
    records = Records(X, X[:, 0] ^ X[:, 1])
    report = structural_checks(fit_tree(records), records)
    assert report.to_records()["k_structure"].tolist() == [2, 1, 2, 2, 1, 2]
    risky = *GROUPS, "smallest_leaf", "residual_dof", "rules"
    assert {report.get(name, "file").status for name in risky} == {"flagged"}


def test_what_is_not_known_does_not_pass():
    model = LogisticRegression().fit(TWELVE.X, TWELVE.y)
    report = structural_checks(model, TWELVE)
    unknown = *GROUPS, "rules"
    assert {report.get(name, "file").status for name in unknown} == {"cannot be said"}
    service = structural_checks(CallableVictim(model.predict_proba, [0, 1]), TWELVE)
    assert {check.status for check in service.checks if check.release != "service"} == {
        "cannot be said"
    }
    assert service.parameters.n_parameters is None


class Memory(KNeighborsClassifier):
    """A model of another package, which keeps the rows under a name of its own."""

    def fit(self, X, y):
        self.table = np.array(X)
        return super().fit(X, y)


def test_trees_inside_of_a_model_are_not_taken_for_none():
    parts = [("tree", DecisionTreeClassifier()), ("line", LogisticRegression())]
    model = VotingClassifier(parts).fit(TWELVE.X, TWELVE.y)
    assert structural_checks(model, TWELVE).get("smallest_leaf", "file").status == "cannot be said"


@pytest.mark.parametrize("model", [KNeighborsClassifier(2), SVC(), Memory(2)])
def test_rows_that_are_stored_are_found(model):
    records = Records(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)
    members = np.arange(20) < 12
    model.fit(records.X[members], records.y[members])
    report = structural_checks(model, records, members)
    check = report.get("keeps_rows", "file")
    assert check.status == "flagged"
    assert check.value == check.n_records == report.to_records()["is_stored"].sum()
    assert check.n_records == (12 if not isinstance(model, SVC) else model.n_support_.sum())


def test_rows_that_are_too_wide_to_be_searched_are_noted(monkeypatch):
    monkeypatch.setattr("skmia.attacks._array_search._LARGEST", 10)
    records = Records(sparse.csr_matrix(np.eye(12)), TWELVE.y)
    report = structural_checks(KNeighborsClassifier().fit(records.X, records.y), records)
    assert report.get("keeps_rows", "file").value == 12
    assert report.get("keeps_rows", "file").n_records is None
    assert "Members were not looked for" in report.notes[0]


def test_people_are_counted_where_they_have_several_records():
    person = [0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5]
    records = Records(TWELVE.X, TWELVE.y, group_by=person)
    report = structural_checks(fit_tree(), records)
    assert report.to_records()["k_structure"].tolist() == [1] * 5 + [2] * 4 + [3] * 3
    assert report.n_members == 6
    assert report.get("residual_dof", "file").value == 6 - 7


def test_flagged_people_are_counted_once_however_many_rows_they_have():
    model, columns = fit_tree(), np.repeat(np.arange(12), 3)
    alone = structural_checks(model, TWELVE)
    records = Records(TWELVE.X[columns], TWELVE.y[columns], group_by=columns)
    thrice = structural_checks(model, records)
    assert alone.get("class_disclosure", "service").value == 8
    for one, other in zip(alone.checks, thrice.checks, strict=True):
        assert (one.name, one.value, one.n_records) == (other.name, other.value, other.n_records)
        assert one.text == other.text
    assert thrice.published == alone.published and thrice.n_certain == alone.n_certain > 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rounded_answers_of_low_precision_are_rounded(dtype):
    proba = np.linspace(0.013, 0.987, 12)
    for decimals, status in ((2, "passed"), (1, "flagged")):
        given = np.round(np.column_stack([1 - proba, proba]), 2).astype(dtype)
        answers = Outputs(given, classes=[0, 1], kind="proba")
        records = Records(TWELVE.X, TWELVE.y, outputs=answers)
        report = structural_checks(None, records, decimals=decimals)
        assert report.get("rounded_answers", "service").status == status


def test_a_share_that_makes_as_many_people_as_the_threshold_is_no_small_cell():
    # 10 / 77 * 77 is 9.999999999999998.
    X, y = np.repeat([[0], [1]], [77, 60], axis=0), np.repeat([1, 0, 1], [10, 97, 30])
    report = structural_checks(DecisionTreeClassifier().fit(X, y), Records(X, y))
    assert report.get("small_cells", "service").value == 10
    assert report.published["small_cells"] == 0
    eleven = structural_checks(
        DecisionTreeClassifier().fit(X, y), Records(X, y), thresholds={"small_cells": 11}
    )
    assert eleven.published["small_cells"] == 77


def test_members_without_weight_are_left_out():
    weights = np.array([1, 1, 0, 1, 0] + [2.0] * 7)
    model = DecisionTreeClassifier(random_state=0).fit(TWELVE.X, TWELVE.y, sample_weight=weights)
    report = structural_checks(model, TWELVE, sample_weight=weights)
    assert report.n_members == 10
    assert report.to_records().index.tolist() == [0, 1, 3, *range(5, 12)]
    assert report.get("k", "service").value == 3
    # The field is that of an audit, from which a release is recommended.
    weighted = TWELVE.with_fields(sample_weight=weights)
    assert str(structural_checks(model, weighted)) == str(report)
    answers = weighted.with_outputs(model)
    assert structural_checks(None, answers).n_members == 10
    assert structural_checks(CallableVictim(model.predict_proba, [0, 1]), weighted).n_members == 10
    # A weight that the argument gives wins, and fit of neighbors takes none.
    assert structural_checks(model, weighted, sample_weight=np.ones(12)).n_members == 12
    neighbors = KNeighborsClassifier().fit(TWELVE.X, TWELVE.y)
    assert structural_checks(neighbors, weighted).n_members == 12


def test_the_smallest_leaf_is_that_of_all_trees_also_where_the_first_tell_all_records_apart():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    forest = RandomForestClassifier(4, bootstrap=False, random_state=0).fit(X, X[:, 0])
    # Three trees with leaves of two records, and one with leaves of one.
    told = X[:, 0], X[:, 1], X[:, 0], X[:, 0] ^ X[:, 1]
    forest.estimators_ = [DecisionTreeClassifier(**SEED).fit(X, y) for y in told]
    report = structural_checks(forest, Records(X, X[:, 0]))
    assert report.get("smallest_leaf", "file").value == 1


def test_a_bootstrap_sample_has_fewer_rows_in_a_leaf_than_the_table():
    model = RandomForestClassifier(3, min_samples_leaf=2, random_state=0).fit(TWELVE.X, TWELVE.y)
    smallest = structural_checks(model, TWELVE).get("smallest_leaf", "file").value
    trees = [tree.tree_ for tree in model.estimators_]
    assert smallest == min(tree.n_node_samples[tree.children_left < 0].min() for tree in trees)


def test_a_table_that_misses_members_is_noted():
    report = structural_checks(fit_tree(), TWELVE[:7])
    assert "The file states at least 12 training rows, and 7 members were given: groups" in str(
        report
    )


def test_a_sum_of_weights_does_not_say_that_members_are_missing():
    model = GaussianNB().fit(TWELVE.X, TWELVE.y, sample_weight=np.full(12, 2.0))
    text = " ".join(str(structural_checks(model, TWELVE)).split())
    assert "24 training rows, and 12 members were given: unless rows were weighted or rep" in text
    assert structural_checks(fit_tree(), TWELVE).notes == ()


def test_regressors_have_groups_and_no_classes():
    records = Records(TWELVE.X, np.arange(12.0))
    model = DecisionTreeRegressor(random_state=0).fit(records.X, records.y)
    report = structural_checks(model, records)
    assert report.get("k", "file").value == 3
    assert report.get("small_cells", "file").status == "not applicable"
    assert report.n_certain is None
    assert report.published == {}
    judged = structural_checks(model, records, np.arange(12) % 2)
    assert judged.membership.gap is None and "Generalization gap" not in judged.summary()
    assert "\nMembership by minus the absolute error: AUC" in judged.summary()
    linear = LinearRegression().fit(records.X, records.y)
    report = structural_checks(linear, records)
    assert report.get("residual_dof", "file").value == 10
    assert report.get("k", "file").status == "cannot be said"
    assert report.get("small_cells", "file").status == "not applicable"


def test_labels_alone_make_groups_of_classes():
    answers = Outputs(TWELVE.y, [0, 1], kind="label")
    report = structural_checks(fit_tree(), Records(TWELVE.X, TWELVE.y, outputs=answers))
    assert report.get("k", "service").value == 4
    assert report.n_certain is None
    known = structural_checks(None, Records(TWELVE.X, TWELVE.y, outputs=answers), HALF)
    assert (known.to_records()["confidence"] == 1).all()  # all labels are right
    assert "\nMembership by whether the class is right: AUC" in known.summary()
    wrong = Records(TWELVE.X, 1 - TWELVE.y, outputs=answers)
    assert (structural_checks(None, wrong, HALF).to_records()["confidence"] == 0).all()


def test_log_odds_make_groups_of_numbers():
    answers = Outputs(np.repeat([2.0, 1.0, -1.0], [5, 4, 3]), kind="log_odds")
    report = structural_checks(None, Records(TWELVE.X, TWELVE.y, outputs=answers), 1 - HALF)
    table = report.to_records()
    assert table["k_answers"].tolist() == [3, 3, 3, 2, 2, 1]
    assert table["n_classes_answers"].tolist() == [1, 1, 1, 2, 2, 1]
    assert table["confidence"].tolist() == [2, 2, 2, 1, 1, -1]
    names = Records(TWELVE.X, TWELVE.y.astype(str), outputs=answers)
    pd.testing.assert_frame_equal(structural_checks(None, names, 1 - HALF).to_records(), table)


def test_whether_answers_are_rounded():
    model = LogisticRegression().fit(TWELVE.X, TWELVE.y)
    rounded = RoundingDefense(model, decimals=2).fit(TWELVE.X, TWELVE.y)
    service = CallableVictim(model.predict_proba, [0, 1])
    for victim, decimals, status in (
        (model, None, "not applicable"),
        (model, 2, "cannot be said"),
        (rounded, 2, "passed"),
        (rounded, 1, "cannot be said"),
        (service, 2, "flagged"),
    ):
        report = structural_checks(victim, TWELVE, decimals=decimals)
        assert report.get("rounded_answers", "service").status == status


def test_answers_without_a_model():
    records = TWELVE.with_outputs(fit_tree())
    report = structural_checks(None, records, np.arange(12) % 2)
    assert report.get("k", "service").value == 2
    assert report.membership is not None
    assert {check.status for check in report.checks if check.release != "service"} == {
        "cannot be said"
    }
    with pytest.raises(ValueError, match="the records hold no outputs"):
        structural_checks(None, TWELVE)


def test_membership_stands_beside_each_check():
    membership = np.arange(12) % 2
    tree = fit_tree()
    report = structural_checks(tree, TWELVE, membership)
    assert {check.auc for check in report.checks} == {report.membership.auc}
    assert report.to_frame()["auc"].notna().all()
    assert report.to_records().index.tolist() == [1, 3, 5, 7, 9, 11]
    sure = tree.predict_proba(TWELVE.X)[np.arange(12), TWELVE.y]
    expected = [(1 + (sure[::2] >= one).sum()) / 7 for one in sure[1::2]]
    assert report.to_records()["p_value"].tolist() == expected
    alone = structural_checks(fit_tree(), TWELVE)
    assert alone.membership is None
    assert alone.to_frame()["auc"].isna().all()
    assert "Membership was not measured" in str(alone)


def test_passing_does_not_say_release():
    X = np.arange(400)[:, None] // 200
    records = Records(X, np.arange(400) % 2)
    model = DecisionTreeClassifier(min_samples_leaf=20).fit(X, records.y)
    report = structural_checks(model, records)
    assert report.flagged == ()
    assert {check.status for check in report.checks} == {"passed", "not applicable"}
    assert "do not show that a model can be released" in str(report)


def test_thresholds_can_be_changed_and_say_so():
    strict = structural_checks(fit_tree(), TWELVE, thresholds={"k": 3, "residual_dof": 6})
    assert strict.get("k", "file").status == "passed"
    assert strict.get("k", "file").source == "given by the caller"
    assert strict.get("small_cells", "file").source == THRESHOLDS["small_cells"].source
    assert strict.get("residual_dof", "file").threshold == 6
    least = [structural_checks(fit_tree(), TWELVE, thresholds={"residual_dof": n}) for n in (5, 6)]
    found = [report.get("residual_dof", "file").status for report in least]
    assert found == ["passed", "flagged"]  # 12 members less 7 parameters
    assert all(check.source for check in strict.checks)


@pytest.mark.parametrize(
    ("name", "release", "flagged"),
    [
        # Groups, and leaves, of 5, 4 and 3 members; a class of one member in that of 4.
        ("k", "service", {3: 0, 4: 3, 5: 7, 6: 12}),
        ("k", "file", {3: 0, 4: 3, 5: 7, 6: 12}),
        ("smallest_leaf", "file", {3: 0, 4: 3, 5: 7, 6: 12}),
        ("small_cells", "file", {1: 0, 2: 4, 3: 4, 4: 7, 6: 12}),
    ],
)
def test_as_many_as_the_threshold_are_not_flagged(name, release, flagged):
    for least, n_flagged in flagged.items():
        report = structural_checks(fit_tree(), TWELVE, thresholds={name: least})
        check = report.get(name, release)
        assert (check.n_records, check.threshold) == (n_flagged, least)
        assert check.status == ("flagged" if n_flagged else "passed")
        assert (check.name + f" ({release})" in report.flagged) == bool(n_flagged)


def test_a_label_is_certain_if_its_probability_is_released_as_1():
    sure = np.repeat([0.996, 0.994, 1.0], 4)
    answers = Outputs(np.column_stack([1 - sure, sure]), [0, 1], kind="proba")
    records = Records(TWELVE.X, np.ones(12, int), outputs=answers)
    found = [structural_checks(None, records, decimals=n).n_certain for n in (None, 3, 2, 1)]
    assert found == [4, 4, 8, 12]


def test_a_file_that_stores_more_rows_than_were_given_says_how_many():
    records = Records(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)
    model = KNeighborsClassifier(2).fit(records.X, records.y)
    check = structural_checks(model, records[:12]).get("keeps_rows", "file")
    assert (check.value, check.n_records) == (20, 12)


def test_a_model_without_leaves_is_told_of_equal_rows():
    model = LogisticRegression().fit(TWELVE.X, TWELVE.y)
    check = structural_checks(model, TWELVE).get("k", "file")
    assert (check.value, check.n_records) == (3, None)
    assert "The table has 3 different rows, which says nothing of the model" in check.text


def test_members_without_weight_are_not_among_the_non_members():
    weights, membership = np.repeat([1.0, 0.0, 1.0], [5, 4, 3]), np.repeat([1, 0], [7, 5])
    answers = np.linspace(0.05, 0.6, 12)
    outputs = Outputs(np.column_stack([answers, 1 - answers]), [0, 1], kind="proba")
    records = Records(TWELVE.X, np.zeros(12, int), outputs=outputs, sample_weight=weights)
    found = structural_checks(None, records, membership)
    assert (found.membership.n_members, found.membership.n_nonmembers) == (5, 5)
    assert found.membership.auc.estimate == 0.0
    assert found.to_records()["p_value"].tolist() == [1.0] * 5


def test_a_report_is_written_as_json_and_text():
    report = structural_checks(fit_tree(), TWELVE, np.arange(12) % 2, decimals=2)
    document = json.loads(json.dumps(report.to_dict()))
    assert document["checks"][0]["name"] == "k"
    assert document["membership"]["auc"] == list(report.membership.auc)
    assert str(report) == report.summary()
    assert "rounded to 2 digits after the point" in report.summary()
    assert report.flagged[0] == "k (service)"
    assert set(report.to_frame()["release"]) == {"service", "file", "both"}


def test_equal_rows_of_tables_with_text_and_missing_values():
    X = pd.DataFrame({"a": ["x", "x", None, "y"], "b": [1.0, 1.0, np.nan, 2.0]})
    records = Records(X, [0, 1, 0, 1])
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(X, records.y)
    report = structural_checks(model, records)
    assert report.to_records()["k_structure"].tolist() == [2, 2, 1, 1]
    assert report.model == "LogisticRegression"
    assert report.parameters.preprocessing == 3 + 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": DecisionTreeClassifier()}, "model must be fitted"),
        ({"model": len}, "a method predict; got builtin_function"),
        ({"records": [[1.0]]}, "Expected skmia.Records"),
        ({"records": Records([[1.0]])}, "no task labels"),
        ({"records": Records([[1.0]], [7])}, "a label that the model does not know"),
        ({"decimals": 18}, "decimals must be an integer from 0 to 17"),
        ({"thresholds": {"keeps_rows": 1}}, "thresholds knows the names k, small_cells"),
        ({"thresholds": {"k": None}}, "thresholds.'k'. must be a number"),
        ({"thresholds": 3}, "thresholds must map names of checks"),
        ({"rules": 3}, "rules must be one of 'skmia'"),
        ({"sample_weight": np.zeros(12)}, "sample_weight must be above 0 for some member"),
        ({"sample_weight": -np.ones(12)}, "sample_weight must hold one number of 0 or more"),
        ({"membership": np.ones(12)}, "the records contain no non-members"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_mistakes_are_one_sentence(change, sentence):
    given = {"model": fit_tree(), "records": TWELVE, **change}
    with pytest.raises((TypeError, ValueError, NotFittedError), match=sentence):
        structural_checks(**given)


def test_models_of_several_outputs_are_refused():
    model = DecisionTreeClassifier().fit(TWELVE.X, np.column_stack([TWELVE.y, TWELVE.y]))
    with pytest.raises(ValueError, match="model must have one output; this .* has 2"):
        structural_checks(model, TWELVE)


def test_a_check_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="There is no check 'size'"):
        structural_checks(fit_tree(), TWELVE).get("size", "file")
