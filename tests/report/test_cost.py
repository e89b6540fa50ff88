"""What an audit will cost, before it is begun."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia._core.budget import format_duration
from skmia.attacks import AnalyticLiRA, LiRA, StationarityAttack
from skmia.attacks.recovered import RecoveredModelAttack
from skmia.report import _cost
from skmia.report._case import ALONE, AS_FILE, SHADOWS
from skmia.report._pace import ModelPace, expect_audit, size_up
from skmia.report.cost import estimate_cost

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
RECORDS = Records(X, (X[:, 0] + RNG.normal(size=400) > 0).astype(int))
MEMBERS = RNG.permutation(400) % 2


class CountedTree(DecisionTreeClassifier):
    n_fits = 0

    def fit(self, X, y):
        CountedTree.n_fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize("is_fitted", [True, False])
def test_one_clone_is_trained_and_nothing_is_written(is_fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    victim = CountedTree(random_state=0)
    if is_fitted:
        victim.fit(X[MEMBERS == 1], RECORDS.y[MEMBERS == 1])
    CountedTree.n_fits = 0
    found = estimate_cost(victim, RECORDS, MEMBERS if is_fitted else None, random_state=0)
    assert CountedTree.n_fits == 1 and not list(tmp_path.iterdir())
    assert hasattr(victim, "tree_") == is_fitted
    assert found.n_shadows == 8 and found.may_grow
    assert {"LiRA", "file", "drift", SHADOWS} <= set(found.phases.index)
    assert (found.phases["seconds"] >= 0).all() and (found.phases["n_bytes"] > 0).all()
    assert found.seconds == pytest.approx(found.phases["seconds"].sum())


def make(**settings):
    victim = DecisionTreeClassifier().fit(X[MEMBERS == 1], RECORDS.y[MEMBERS == 1])
    return estimate_cost(victim, RECORDS, MEMBERS, random_state=0, **settings)


def test_the_phases_are_those_of_the_audit_that_is_asked_for():
    found = make(shadows=16, file=False, attacks={"my LiRA": LiRA()})
    assert found.n_shadows == 16 and not found.may_grow
    assert "my LiRA" in found.phases.index and "StackedAttack" not in found.phases.index
    assert not any("file" in stage for stage in found.phases["stage"])


def test_shadow_models_take_as_long_as_so_many_clones(monkeypatch):
    pace = ModelPace(2.0, 1.0, 200, 400)  # of half of the records, and of all
    monkeypatch.setattr(_cost, "_time_training", lambda *given: (None, pace))
    assert [make(shadows=n).phases.loc[SHADOWS, "seconds"] for n in (8, 64)] == [24.0, 192.0]
    with_64 = make().seconds + 168.0
    assert f"with 64 it is about {with_64:.0f} s" in make().summary()


def test_the_summary_has_all_phases_the_total_and_what_is_left_out():
    n, n_classes = 1500, 150
    y = np.arange(n) % n_classes
    wide = RNG.normal(size=(n, 40)) + 3 * RNG.normal(size=(n_classes, 40))[y]
    inside = (np.arange(n) // n_classes) % 2
    victim = LogisticRegression(tol=10).fit(wide[inside == 1], y[inside == 1])
    found = estimate_cost(victim, Records(wide, y), inside, random_state=0)
    lines = found.summary().splitlines()
    for name in found.phases.index:
        assert any(name in line for line in lines)
    assert any(line.startswith("In all at least ") for line in lines)
    assert any("with 64 it is about" in line for line in lines)
    analytic, recovered = found.left_out
    assert analytic in lines and recovered in lines
    assert "AnalyticLiRA was left out: it would hold" in analytic
    assert "6,150 x 6,150 coefficients" in analytic
    assert "RecoveredModelAttack was left out: it would hold" in recovered
    assert "6,150 coefficients of 1,500 answers" in recovered
    assert not {"AnalyticLiRA", "RecoveredModelAttack"} & {*found.phases.index}
    assert len(repr(found)) < 80 and repr(found).startswith("AuditCost(at least ")


def test_the_file_of_many_trees_is_read_in_part(monkeypatch):
    forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    forest.fit(X[MEMBERS == 1], RECORDS.y[MEMBERS == 1])
    found = estimate_cost(forest, RECORDS, MEMBERS, shadows=4, random_state=0)
    # 12 bytes of each of 400 records in each of 4 levels of 10 trees, and at least 5 MB.
    assert found.left_out == [] and 5e6 < found.phases.loc["file", "n_bytes"] < 6e6
    monkeypatch.setattr(_cost, "_MOST_OF_FILE", 12 * 400 * 4 * 10 - 1)
    found = estimate_cost(forest, RECORDS, MEMBERS, shadows=4, random_state=0)
    assert "leave out some of the trees" in found.left_out[0]


def test_the_trees_of_gradient_boosting_are_counted():
    boosting = GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0)
    boosting.fit(X[MEMBERS == 1], RECORDS.y[MEMBERS == 1])
    found = estimate_cost(boosting, RECORDS, MEMBERS, shadows=4, random_state=0)
    expected = 5e6 + 3 * X.nbytes + 4 * 8 * 400 * 2 + 12 * 400 * 3 * 20
    assert found.phases.loc["file", "n_bytes"] == pytest.approx(expected)


def test_without_a_model_to_train_the_times_are_unknown():
    stored = RECORDS.with_outputs(make_victim())
    found = estimate_cost(None, stored, MEMBERS, random_state=0)
    assert np.isnan(found.seconds) and "unknown" in found.summary()


def test_attacks_on_stored_answers_are_planned_with_models_of_a_stand_in():
    stored = RECORDS.with_outputs(make_victim())
    found = estimate_cost(None, stored, MEMBERS, random_state=0)
    assert {"LiRA", "RMIA", "StackedAttack", SHADOWS} <= set(found.phases.index)
    assert found.n_shadows == 8 and found.left_out == []
    assert "In all unknown time, " in found.summary() and "about" not in found.summary()
    images = Records(X.reshape(400, 5, 1), RECORDS.y, outputs=stored["outputs"])
    found = estimate_cost(None, images, MEMBERS, random_state=0)
    assert found.n_shadows == 0 and "LiRA was left out" in found.left_out[0]


def make_victim():
    return DecisionTreeClassifier(max_depth=3).fit(X[MEMBERS == 1], RECORDS.y[MEMBERS == 1])


def test_arguments_are_checked_as_those_of_an_audit():
    with pytest.raises(ValueError, match="an even number"):
        make(shadows=5)
    with pytest.raises(TypeError, match="audit needs the data"):
        estimate_cost(make_victim())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59, "59 s"), (1200, "20 min"), (7200, "2.0 h"), (np.nan, "unknown")],
)
def test_times_are_read_easily(seconds, text):
    assert format_duration(seconds) == text


def test_what_attacks_without_shadow_models_say_of_their_cost_is_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    records = Records(X, (X[:, 0] + rng.normal(size=300) > 0).astype(int))
    inside = np.arange(300) % 2
    victim = LogisticRegression().fit(X[inside == 1], records.y[inside == 1])
    known = RecoveredModelAttack(victim).expect_cost(records)
    assert known.n_fits == 5  # of the recipe, and half of 8 times as many records
    costs = {"RecoveredModelAttack": known}
    attacks = {"RecoveredModelAttack": RecoveredModelAttack(), "AnalyticLiRA": AnalyticLiRA()}
    sizes = {"n_classes": 2, "shadows": 8, "n_jobs": None, "file": False, "attacks": attacks}
    pace = ModelPace(2.0, 1.0, 300, 300, load=3.0)
    alone = expect_audit(size_up(victim, records, costs=costs, **sizes), pace)[ALONE]
    assert alone["RecoveredModelAttack"].seconds == pytest.approx(3 * known.seconds + 5 * 2.0)
    assert alone["AnalyticLiRA"].seconds == 2 * pace.loop_on(300)  # as long as two models
    found = estimate_cost(victim, records, inside, file=False, random_state=0).phases
    assert found.loc["RecoveredModelAttack", "n_bytes"] == known.n_bytes


def test_the_file_of_a_linear_model_takes_as_long_as_its_equations_or_as_bounds():
    pace = ModelPace(0.1, 0.0, 200, 400)

    def expect(n_columns, loop=0.1):
        records = Records(np.zeros((6000, n_columns)), np.arange(6000) % 2)
        victim = LogisticRegression().fit(records[:4].X, records[:4].y)
        sizes = {"n_classes": 2, "shadows": 8, "n_jobs": None, "file": True}
        now = pace._replace(fit_seconds=loop)
        return expect_audit(size_up(victim, records, **sizes), now)[AS_FILE]["file"].seconds

    solving = StationarityAttack.expect_seconds(301, 6000)
    assert expect(300) == pytest.approx(solving, abs=0.5)
    assert expect(1900) < 4 < 40 < StationarityAttack.expect_seconds(1901, 6000)
    assert expect(1900, loop=2.0) > 40  # where the shadow models take longer, so may this
