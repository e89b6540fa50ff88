"""What was able to find something before a release: reference models, and stand-ins for them."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, audit
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.disclosure import load_policy
from skmia.report import _gaps, _surrogate, list_measurements, measure_conditions, recommend_release
from skmia.report._document import check_document
from skmia.report._page import render_audit
from skmia.report._surrogate import RECIPE, _draw_fits, why_no_reference
from skmia.report.checks._base import Check
from skmia.victims import CallableVictim

pytestmark = pytest.mark.usefixtures("attacks_alone")

STATED = {RECIPE: "as in the training log, J. Doe"}
REFERENCE = "reference models"


CLASSIFIERS = _surrogate._CLASSIFIERS  # of which a fixture makes smaller ones


def make_hard(n, share, seed=0):
    """Records of which a share has random labels in a region of its own, and half are members."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = rng.integers(0, 2, n)
    is_hard = rng.random(n) < share
    X[:, 0] += np.where(is_hard, 0, 6 * y - 3)
    X[is_hard, 1] += 8
    return Records(X, y), rng.permutation(n) < n // 2


def make_safe(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return Records(X, y), rng.permutation(n) < n // 2


def ask(model, kind="proba"):
    return CallableVictim(
        model.predict_proba if kind == "proba" else model.predict, model.classes_, kind=kind
    )


def take_forms(model, records, membership, n_forms=3, **settings):
    """The audit of an estimator, of a function, and of stored answers, and what was audited."""
    model.fit(records.X[membership], records.y[membership])
    attacks = {"LiRA": LiRA()}
    given = {"attacks": attacks, "shadows": 8, "fprs": [0.01], "random_state": 0}
    settings = given | settings
    forms = [(model, records), (ask(model), records), (None, records.with_outputs(model))]
    forms = forms[:n_forms]
    return [
        (audit(victim, given, membership, **settings), victim, given) for victim, given in forms
    ]


def decide(form, policy, **settings):
    report, victim, records = form
    return recommend_release(report, victim, records, policy=policy, **settings)


@pytest.fixture(scope="module")
def neighbors():
    """Without stored answers, which are those of a function in the other model."""
    nearest = KNeighborsClassifier(15, weights="distance")
    attacks = {"RMIA": RMIA()}
    return take_forms(nearest, *make_hard(2400, 0.16), n_forms=2, attacks=attacks)


@pytest.fixture(scope="module")
def logistic():
    return take_forms(LogisticRegression(), *make_safe(2100), n_forms=2)


def test_less_access_is_no_release(neighbors):
    for policy in ("cautious", "research"):
        assert [decide(form, policy).result for form in neighbors] == ["do not release"] * 2
    function = neighbors[1][0]
    assert function.reference["estimator"] == "DecisionTreeClassifier(max_depth=3)"
    assert [row["distance"] for row in function.reference["distances"]] == sorted(
        row["distance"] for row in function.reference["distances"]
    )
    assert function.reference["gap"]["z"] > 2.33
    assert any("A model of another kind may leak more" in note for note in function.notes)


def test_a_safe_model_is_released_in_each_form(logistic):
    assert [decide(form, "research").result for form in logistic] == ["release"] * 2
    results = [decide(form, "cautious").result for form in logistic]
    assert results == ["release", "cannot be said"]
    found = decide(logistic[1], "cautious")
    assert "stand_in = false" in found.reasons[0] and RECIPE in found.reasons[0]
    # A stand-in that was chosen is not what a statement about estimator= can be about.
    assert decide(logistic[1], "cautious", provenance=STATED).result == "cannot be said"


def test_a_file_needs_its_stored_numbers(logistic):
    report, model, records = logistic[0]
    for obstacle, result in ((None, "release"), ("Not read: coef_ (5 numbers).", "cannot be said")):
        facts = report.file.facts | {"obstacle": obstacle}
        examined = replace(report, file=replace(report.file, facts=facts))
        found = decide((examined, model, records), "research", release="file")
        assert found.result == result
        assert (obstacle is None) == (len(found.reasons) == 1 and "within" in found.reasons[0])
    facts = {name: fact for name, fact in report.file.facts.items() if name != "obstacle"}
    earlier = replace(report, file=replace(report.file, facts=facts))
    found = decide((earlier, model, records), "research", release="file")
    assert found.result == "cannot be said" and "were not examined" in found.reasons[0]
    found = decide((replace(report, file=None), model, records), "research", release="file")
    assert [one.is_met for one in found.requirements] == [True, False, True]
    note = "The moments were not read: why."
    noted = replace(report, file=replace(report.file, notes=[note, "Another warning."]))
    for release, not_run in (("file", (note,)), ("service", ())):
        found = decide((noted, model, records), "research", release=release)
        assert found.not_run == not_run


def test_a_recipe_that_is_stated_is_no_stand_in():
    records, membership = make_safe(2100)
    victim = LogisticRegression().fit(records.X[membership], records.y[membership])
    attacks = {"LiRA": LiRA()}
    given = {"attacks": attacks, "shadows": 8, "fprs": [0.01], "random_state": 0}
    service = ask(victim)
    report = audit(service, records, membership, estimator=LogisticRegression(), **given)
    assert report.reference["recipe"] == "given" and report.reference["distances"] == []
    form = report, service, records
    assert decide(form, "cautious").result == "cannot be said"
    assert decide(form, "cautious", provenance={RECIPE: " "}).result == "cannot be said"
    found = decide(form, "cautious", provenance=STATED)
    assert found.result == "release" and "is stated to be the recipe" in found.remarks[0]


def test_a_number_around_its_limit_needs_the_recipe(logistic):
    """Where an attack with the recipe may find more, "release with conditions" is not given."""
    report, service, records = logistic[1]
    (tpr,) = [
        one.at(0.95, 0.95)
        for one in list_measurements(report)
        if (one.name, one.group) == ("tpr_at_fpr_01", "all")
    ]
    limits = {"service": {"tpr_at_fpr_01": (tpr.estimate + tpr.high) / 2}}
    policy = replace(load_policy("research"), limits=limits, required={}, groups=("all",))
    assert decide(logistic[1], policy).result == "cannot be said"
    assert "every number has to be within its limit" in decide(logistic[1], policy).reasons[-1]
    known = replace(report, reference=report.reference | {"recipe": "own"})
    assert decide((known, service, records), policy).result == "release with conditions"


def test_other_parameters_are_no_recipe_of_an_estimator():
    records, membership = make_safe(150)
    members = records[membership]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(members.X, members.y)
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 4, "fprs": [0.1], "file": False}
    for estimator, recipe in (
        (make_pipeline(StandardScaler(), LogisticRegression(random_state=1)), "own"),
        (make_pipeline(StandardScaler(), LogisticRegression(C=2.0)), "given"),
    ):
        report = audit(model, records, membership, estimator=estimator, random_state=0, **settings)
        assert report.reference["recipe"] == recipe
        assert report.reference["gap"]["n_models"] == 4


def test_a_weak_stand_in_of_a_deep_boosting_is_no_release():
    """Its models leak as little as it seems to, and it fits its members more closely."""
    records, membership = make_hard(3000, 0.07)
    members = records[membership]
    deep = GradientBoostingClassifier(n_estimators=30, max_depth=8, random_state=0)
    service = ask(deep.fit(members.X, members.y))
    attacks = {"RMIA": RMIA(), "LiRA": LiRA()}
    settings = {"attacks": attacks, "estimator": GaussianNB(), "shadows": 8, "fprs": [0.01]}
    report = audit(service, records, membership, random_state=0, **settings)
    policy = replace(load_policy("cautious"), stand_in=True)
    found = decide((report, service, records), policy)
    assert report.reference["gap"]["z"] > 2.33
    assert {limit.status for limit in found.limits} <= {"pass", "not judged"}
    assert found.result == "cannot be said" and "GaussianNB()" in found.reasons[0]
    # The condition that each of the two checks puts on its own.
    checks = report.checks | {"shadow models": Check("shadow models", "passed", "")}
    why = why_no_reference(report.reference, checks, True, {})
    assert why.startswith("The model fits its members better than other records by 0.0")
    small = report.reference | {"gap": report.reference["gap"] | {"z": 2.3}}
    assert why_no_reference(small, checks, True, {}) is None
    large = report.reference | {"gap": report.reference["gap"] | {"z": 2.34}}
    assert "(z 2.3), so it is of another kind" in why_no_reference(large, checks, True, {})
    unknown = why_no_reference(report.reference | {"gap": None}, checks, True, {})
    assert "could not be measured" in unknown
    assert "not known whether GaussianNB()" in why_no_reference(small, {}, True, {})
    checks["shadow models"] = Check("shadow models", "warning", "", "above")
    assert "leaks more than models of the stand-in" in why_no_reference(small, checks, True, {})
    assert why_no_reference(small, checks, True, STATED) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "Run the audit again"),
        ({"attacks": []}, "RMIA could not run. RMIA was left out: why. Pass estimator="),
        ({"attacks": [], "obstacle": "No table."}, "RMIA could not run. No table. Pass"),
        ({"attacks": [], "left_out": []}, "None of the attacks of the audit compares"),
        ({"share": 0.94}, "LiRA judged 94% of the records, and 95% are needed"),
        ({"n_models": 6}, "LiRA compared it with 6 models, and 8 are needed"),
        ({"recipe": "chosen", "n_models": None}, "RMIA could not run"),
        ({"recipe": "given"}, "state it in provenance, as 'recipe of the model' (--recipe)"),
    ],
)
def test_why_nothing_could_be_found(change, message):
    rows = [{"attack": "LiRA", "share": 1.0, "n_models": 8}]
    reference = {
        "recipe": "own",
        "estimator": "GaussianNB()",
        "distances": [],
        "obstacle": None,
        "attacks": rows,
        "left_out": ["RMIA was left out: why."],
        "gap": None,
    }
    assert why_no_reference(reference, {}, False, {}) is None
    least = reference | {"attacks": [rows[0] | {"share": 0.95}]}
    assert why_no_reference(least, {}, False, {}) is None
    if change is not None:
        row = {name: change[name] for name in ("share", "n_models") if name in change}
        changed = {name: value for name, value in change.items() if name not in row}
        reference = reference | {"attacks": [rows[0] | row]} | changed
    found = why_no_reference(reference if change is not None else None, {}, False, {})
    assert message in found


def test_too_few_models_and_no_attack_with_models():
    records, membership = make_safe(300)
    tree = DecisionTreeClassifier(max_depth=1).fit(records.X[membership], records.y[membership])
    policy = replace(
        load_policy("research"), structure={}, limits={"service": {"auc": 0.9}}, required={}
    )

    def attack(attacks, **settings):
        given = {"attacks": attacks, "fprs": [0.1], "file": False, "random_state": 0}
        return audit(tree, records, membership, **given, **settings)

    without = attack({"loss": ThresholdAttack()})
    for report, message in (
        (attack({"LiRA": LiRA()}, shadows=4), "8 are needed"),
        (without, "None of the attacks of the audit compares"),
    ):
        found = decide((report, tree, records), policy)
        assert found.result == "cannot be said" and message in found.reasons[0]
    waived = replace(policy, requires_attacks={"service": ()})
    found = decide((without, tree, records), waived)
    assert found.result == "release" and "waives the rule" in found.remarks[0]


def test_a_kind_is_fitted_twice_on_as_many_records_as_there_are_members():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(200), 2)
    membership, y = people < 40, np.arange(400) % 2
    case = SimpleNamespace(
        records=Records(rng.normal(size=(400, 2)), y, group_by=people),
        membership=membership,
        people=people,
        seeds={"victim": 0},
        request=SimpleNamespace(outputs=SimpleNamespace(kind="proba")),
    )
    fits = list(_draw_fits(case))
    assert len(fits) == 2 and fits[0][2] != fits[1][2]
    for train, held, _ in fits:
        assert train.sum() == 80 and train[membership].any() and train[~membership].any()
        assert not np.isin(people[held], people[train | membership]).any()
    both = np.sort(np.concatenate([held for _, held, _ in fits]))
    np.testing.assert_array_equal(both, np.arange(80, 400))


def test_the_gap_is_measured_in_both_errors(monkeypatch):
    own = np.random.default_rng(0).normal(size=300) + 0.3 * (np.arange(300) < 100)
    models, membership = np.array([0.1, 0.2, 0.3, 0.05]), np.arange(300) < 100
    monkeypatch.setattr(_gaps, "_measure_fits", lambda *given: (own, models))
    found = _gaps.measure_gaps(SimpleNamespace(membership=membership), None)
    gap = own[:100].mean() - own[100:].mean()
    variance = own[:100].var() / 100 + own[100:].var() / 200 + models.var(ddof=1)
    assert found["z"] == pytest.approx((gap - models.mean()) / np.sqrt(variance))
    assert (found["victim"], found["mean"]) == (pytest.approx(gap), pytest.approx(models.mean()))


def test_an_attack_has_as_many_models_as_the_smaller_of_its_pools():
    union = FeatureUnion([("first", LiRA(shadows=16)), ("second", RMIA(shadows=4))])
    assert _surrogate._count_models(union, None) == 4
    assert _surrogate._count_models(ThresholdAttack(), None) is None


@pytest.mark.parametrize("kind", ["proba", pytest.param("label", marks=pytest.mark.slow)])
def test_a_table_of_columns_of_all_kinds(kind):
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 80, n)),
            "town": rng.choice(["Ulm", "Bonn", None], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "name": [f"n{k}" for k in range(n)],
            "open": rng.random(n) < 0.5,
        }
    )
    y = np.where(frame["open"] ^ (rng.random(n) < 0.1), "yes", "no")
    membership = rng.permutation(n) < n // 2
    tree = DecisionTreeClassifier(max_depth=2).fit(frame.loc[membership, ["open"]], y[membership])

    def answer(X):
        take = tree.predict_proba if kind == "proba" else tree.predict
        return take(pd.DataFrame(X)[["open"]])

    service = CallableVictim(answer, classes=tree.classes_, kind=kind)
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": [0.1], "random_state": 0}
    report = audit(service, Records(frame, y), membership, **settings)
    assert report.reference["recipe"] == "chosen" and len(report.reference["distances"]) == 7
    assert report.reference["distances"][0]["distance"] < 0.1
    assert "LiRA" in report.scores and report.reference["gap"] is not None


def test_numbers_have_a_stand_in():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X @ np.arange(4.0) + rng.normal(size=400)
    membership = rng.permutation(400) < 200
    model = Ridge().fit(X[membership], y[membership])
    records = Records(X, y).with_outputs(model)
    attacks = {"LiRA": LiRA()}
    report = audit(
        None, records, membership, attacks=attacks, shadows=4, fprs=[0.1], random_state=0
    )
    assert report.task == "regression" and report.victim == "StoredAnswers(kind='value')"
    assert report.reference["estimator"] == "Ridge()"
    assert report.reference["distances"][0]["distance"] < 0.1
    assert abs(report.reference["gap"]["z"]) < 2.33
    errors = (y - model.predict(X)) ** 2
    gap = (errors[~membership].mean() - errors[membership].mean()) / y.var()
    assert report.reference["gap"]["victim"] == pytest.approx(gap)
    assert measure_conditions(report, None, records) == []


def test_sparse_tables_and_many_classes():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 12, 0.3, format="csr", random_state=0)
    y = np.repeat(np.arange(30), 10)
    membership = rng.permutation(300) < 150
    forest = RandomForestClassifier(5, random_state=0).fit(X[membership], y[membership])
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": [0.1], "random_state": 0}
    report = audit(ask(forest), Records(X, y), membership, **settings)
    assert len(report.reference["distances"]) == 6
    assert "LiRA" in report.scores


@pytest.mark.parametrize("rows", ["images", pytest.param("texts", marks=pytest.mark.slow)])
def test_what_no_stand_in_can_take(rows):
    rng = np.random.default_rng(0)
    n = 200
    X = rng.normal(size=(n, 2, 3)) if rows == "images" else np.array([f"{k}" for k in range(n)])
    y, membership = rng.integers(0, 2, n), rng.permutation(n) < n // 2
    records = Records(X, y).with_fields(outputs=Outputs(rng.dirichlet([1, 1], n), classes=[0, 1]))
    report = audit(None, records, membership, fprs=[0.1], random_state=0)
    assert list(report.scores) == ["threshold (loss)"]
    why = "No stand-in could be trained: the records are images, tokens or texts, and no table."
    assert why in report.notes and report.reference["obstacle"] == why
    policy = replace(load_policy("research"), structure={}, limits={"service": {"auc": 1.0}})
    found = recommend_release(report, None, records, policy=replace(policy, required={}))
    assert found.result == "cannot be said"
    assert "LiRA, RMIA and StackedAttack could not run. No stand-in" in found.reasons[0]
    assert [text.split()[0] for text in found.not_run] == ["LiRA", "RMIA", "StackedAttack"]
    for text in (str(found), replace(report, recommendation=found).to_markdown()):
        assert "Not run: LiRA was left out" in text and "could not run" in text
    document = json.loads(replace(report, recommendation=found).to_json())
    page = pytest.importorskip("jinja2") and render_audit(check_document(document))
    assert "Not run: LiRA was left out" in page
    assert "LiRA, RMIA and StackedAttack could not run" in page


def test_a_release_without_reference_models_is_refused_in_a_document(logistic):
    report = logistic[1][0]
    released = replace(report, recommendation=decide(logistic[1], "research"))
    document = json.loads(released.to_json())
    assert check_document(document)["recommendation"]["result"] == "release"
    assert document["reference"]["estimator"] == "LogisticRegression(max_iter=1000)"

    def forge(**changes):
        forged = json.loads(released.to_json())
        forged["recommendation"]["requirements"] = [{"name": REFERENCE, "is_met": True, "text": ""}]
        return forged | changes

    far = document["reference"]["gap"] | {"z": 3.0}
    for changes in ({"reference": document["reference"] | {"gap": far}}, {"reference": None}):
        with pytest.raises(ValueError, match="contradicts reference models"):
            check_document(forge(**changes))
    forged = forge()
    forged["recommendation"]["requirements"][0]["is_met"] = False
    with pytest.raises(ValueError, match="a release needs reference models, which it lacks"):
        check_document(forged)


def test_a_release_needs_the_reference_and_the_requirements(logistic):
    report, model, records = logistic[0]
    unknown = replace(report, reference=None)
    found = decide((unknown, model, records), "research")
    assert found.result == "cannot be said" and "Run the audit again" in found.reasons[0]
    document = json.loads(replace(report, recommendation=decide(logistic[0], "research")).to_json())
    for name in ("requirements", "not_run", "remarks"):
        forged = document | {"recommendation": dict(document["recommendation"])}
        del forged["recommendation"][name]
        with pytest.raises(ValueError, match=f"recommendation lacks {name}"):
            check_document(forged)


@pytest.mark.parametrize("release", [pytest.param("service", marks=pytest.mark.slow), "file"])
def test_a_release_in_spite_of_leakage_says_so(neighbors, release):
    report, model, records = neighbors[0]
    limits = {release: {"auc": 1.0, "tpr_at_fpr_01": 1.0}}
    needed = {release: ("reference models",)}
    policy = replace(load_policy("research"), limits=limits, structure={}, required={})
    policy = replace(policy, requires_attacks=needed)
    found = decide((report, model, records), policy, release=release)
    assert report.evidence == "leak" and found.result == "release"
    where = " and the attack on the file" if release == "file" else ""
    sentence = f"The audit{where} found leakage; it lies within every limit of this policy."
    assert sentence in found.remarks
    decided = replace(report, recommendation=found)
    page = pytest.importorskip("jinja2") and render_audit(json.loads(decided.to_json()))
    texts = (page, " ".join(decided.summary(verbose=True).split()), decided.to_markdown())
    assert all(sentence in text for text in texts)
    assert sentence in json.loads(decided.to_json())["recommendation"]["remarks"]


def test_no_leakage_needs_no_such_sentence(logistic, neighbors):
    for form in logistic:
        told = any("found leakage" in remark for remark in decide(form, "research").remarks)
        assert told == (form[0].evidence == "leak")
    assert decide(neighbors[0], "research").remarks == ()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["logistic", "tree"])
def test_safe_models_of_many_rows(kind, monkeypatch):
    monkeypatch.setattr(_surrogate, "_CLASSIFIERS", CLASSIFIERS)
    records, membership = make_safe(20_000)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = LogisticRegression() if kind == "logistic" else tree
    forms = take_forms(model, records, membership, shadows=8)
    assert forms[1][0].reference == forms[2][0].reference
    assert [decide(form, "research").result for form in forms] == ["release"] * 3
    assert decide(forms[0], "cautious").result == "release"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "share"),
    [("neighbors", 0.16), ("forest", 0.16), ("boosting", 0.16), ("neighbors", 0.07)],
)
def test_hard_records_in_three_forms(kind, share):
    """A refusal may become "cannot be said" with less access, and never a release."""
    model = {
        "neighbors": KNeighborsClassifier(15, weights="distance"),
        "forest": RandomForestClassifier(random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=150, max_depth=8, random_state=0),
    }[kind]
    name = "research" if share > 0.1 else "cautious"
    policy = replace(load_policy(name), stand_in=True)
    forms = take_forms(model, *make_hard(4000, share), file=False)
    known, *others = (decide(form, policy).result for form in forms)
    assert known == "do not release"
    assert set(others) <= {"do not release", "cannot be said"}
