"""Audits: the numbers are those of the attacks, and nothing is dropped."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skmia
from skmia import Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, ShadowAttack, ThresholdAttack
from skmia.metrics import (
    MembershipRocDisplay,
    advantage_interval,
    auc_interval,
    operating_point,
)
from skmia.report import _case, as_audit_document, blind_baseline, check_document
from skmia.report._measure import compute_thin_curves
from skmia.signals import Merlin
from skmia.victims import CallableVictim

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)

TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


def make_records(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return Records(X, y, group=rng.choice(["a", "b"], n)), rng.permutation(n) % 2


def fit_victim(records, membership, model=TREE):
    members = records[membership == 1]
    return clone(model).fit(members.X, members.y)


def overall_estimates(result):
    frame = result.to_frame().query("scope == 'overall'")
    return frame.set_index(["attack", "metric", "max_fpr"])["estimate"].sort_index()


# The numbers


def test_records_that_an_attack_cannot_judge_are_left_out_of_its_numbers_and_counted():
    records, membership = make_records()
    pool = ShadowPool(TREE, 5, design="independent", random_state=0).fit(records)
    n_in = pool.membership(records).sum(axis=1)
    judged = (n_in > 0) & (n_in < 5)
    attacks = {"LiRA": LiRA(), "threshold": ThresholdAttack()}
    victim = fit_victim(records, membership)
    report = audit(victim, records, membership, attacks=attacks, shadows=pool, random_state=0)
    n = (~judged).sum()
    assert [
        note for note in report.notes if note.startswith(f"{n} records cannot be judged by LiRA")
    ]
    counts = report.to_frame().query("scope == 'overall' and metric == 'auc'").set_index("attack")
    assert counts.loc["LiRA", "n_members"] == (judged & (membership == 1)).sum()
    assert counts.loc["threshold", "n_members"] == membership.sum()


def test_default_attacks_run_on_all_records_each_group_and_each_class(result):
    frame = result.to_frame()
    names = ["threshold (loss)", "LiRA", "RMIA", "StackedAttack"]
    assert list(result.scores) == names
    assert len(frame) == len(names) * 5 * 4
    assert set(zip(frame["scope"], frame["group"])) == {
        ("overall", "all"),
        ("group", "a"),
        ("group", "b"),
        ("class", "0"),
        ("class", "1"),
    }


def test_numbers_of_a_group_are_those_of_the_scores_of_its_records(problem, result):
    _, records, membership = problem
    inside = records["group"] == "b"
    truth, scores = membership[inside], result.scores["LiRA"][inside]
    frame = result.to_frame().query("attack == 'LiRA' and group == 'b'").set_index("metric")
    assert (frame["n_members"] == truth.sum()).all()
    assert (frame["n_nonmembers"] == (1 - truth).sum()).all()
    interval = ["estimate", "low", "high"]
    auc, advantage = (frame.loc[metric, interval] for metric in ("auc", "advantage"))
    assert tuple(auc) == auc_interval(truth, scores)
    # LiRA guesses "member" where the log ratio of the likelihoods is at least 0.
    assert tuple(advantage) == advantage_interval(truth, scores >= 0)
    point = operating_point(truth, scores, 0.2, on_unresolvable="ignore")
    row = frame.loc["tpr"].query("max_fpr == 0.2").iloc[0]
    assert (row["estimate"], row["fpr"]) == (point.tpr, point.fpr)
    assert (row["low"], row["high"]) == (point.tpr_low, point.tpr_high)


def test_records_of_people_have_intervals_by_people():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), 5)
    X = rng.normal(size=(60, 4))[people] + 0.1 * rng.normal(size=(300, 4))
    records = Records(X, rng.integers(2, size=60)[people], group_by=people)
    membership = people % 2
    victim = fit_victim(records, membership)
    result = audit(
        victim,
        records,
        membership,
        attacks={"loss": ThresholdAttack()},
        fprs=[0.4, 0.1],
        shadows=2,
        random_state=0,
    )
    (scores,) = result.scores.values()
    rows = result.to_frame().query("scope == 'overall'").set_index("metric")
    auc = auc_interval(membership, scores, groups=people)
    assert tuple(rows.loc["auc", ["estimate", "low", "high"]]) == auc
    assert auc.low < auc_interval(membership, scores).low
    # Of 150 non-members, 15 are mistaken at 10%, but they are worth fewer than 100.
    points = [
        operating_point(membership, scores, rate, groups=people, on_unresolvable="ignore")
        for rate in (0.4, 0.1)
    ]
    assert [point.resolvable for point in points] == [True, False]
    assert rows.loc["tpr", "status"].tolist() == ["ok", "not resolvable"]
    (curve,) = json.loads(result.to_json())["curves"]
    by_rows = compute_thin_curves(result.scores, membership == 1, 0.95)[0]
    widths = [np.subtract(one["high"], one["low"]).sum() for one in (curve, by_rows)]
    assert widths[0] > widths[1]
    pytest.importorskip("matplotlib").use("Agg")
    drawn = MembershipRocDisplay.from_predictions(membership, scores, groups=people).frame()
    np.testing.assert_allclose(drawn["tpr_high"][1:-1], curve["high"][: len(drawn) - 2], atol=1e-6)


def test_scores_are_those_of_the_attack_fitted_by_hand_on_the_same_pool(problem):
    victim, records, membership = problem
    pool = FrozenEstimator(ShadowPool(TREE, n_estimators=4, random_state=1).fit(records))
    result = audit(
        victim, records, membership, attacks={"mine": LiRA()}, shadows=pool, random_state=0
    )
    attack = LiRA(FrozenEstimator(victim), shadows=pool).fit(records)
    assert np.array_equal(result.scores["mine"], attack.score_samples(records))
    expected = attack.score(records, membership)
    assert overall_estimates(result)["mine", "advantage"].item() == pytest.approx(expected)


def test_thresholds_do_not_depend_on_who_is_a_member(problem, result):
    victim, records, membership = problem
    attacks = {"threshold (loss)": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"shadows": 8, "fprs": (0.2, 0.01), "random_state": 0}
    turned = audit(victim, records, 1 - membership, attacks=attacks, **settings)
    for name, scores in turned.scores.items():
        assert np.array_equal(scores, result.scores[name])
    frame = result.to_frame().query("scope == 'overall' and metric == 'advantage'")
    frame = frame[frame["attack"].isin(attacks)]
    other = turned.to_frame().query("scope == 'overall' and metric == 'advantage'")
    assert np.allclose(frame["estimate"], -other["estimate"].to_numpy())


def test_rate_that_few_nonmembers_cannot_resolve_is_flagged_and_has_no_number(result):
    frame = result.to_frame().query("metric == 'tpr' and max_fpr == 0.01")
    assert (frame["status"] == "not resolvable").all()
    assert frame[["estimate", "low", "high", "fpr"]].isna().all(axis=None)
    assert "not resolvable" in result.summary(verbose=True)


def test_rate_is_resolvable_from_ten_false_positives_on():
    records, membership = make_records(200)
    victim = fit_victim(records, membership)
    result = audit(
        victim,
        records,
        membership,
        attacks={"t": ThresholdAttack()},
        fprs=(0.1, 0.09),
        random_state=0,
    )
    tpr = result.to_frame().query("metric == 'tpr' and scope == 'overall'")
    assert tpr["status"].tolist() == ["ok", "not resolvable"]


def test_small_group_and_records_without_a_group_get_a_row(problem):
    victim, records, membership = problem
    group = np.array(["big"] * 398 + ["one", None], dtype=object)
    result = audit(
        victim,
        records.with_fields(who=group),
        membership,
        attacks={"t": ThresholdAttack()},
        group="who",
        random_state=0,
    )
    frame = result.to_frame().query("scope == 'who'")
    assert frame["group"].unique().tolist() == ["(missing)", "big", "one"]
    small = frame[frame["group"] != "big"]
    assert (small["status"] == "too few records").all()
    assert small["estimate"].isna().all()
    counts = frame.drop_duplicates("group")[["n_members", "n_nonmembers"]].to_numpy()
    assert counts.sum() == 400
    assert "who = one (" in result.summary(verbose=True)
    assert "too few records: at least 2 members" in result.summary(verbose=True)


# Reproducibility


@pytest.mark.usefixtures("copied_workers")
def test_seed_and_jobs(problem, result):
    settings = {"shadows": 8, "group": "group", "fprs": (0.2, 0.01)}
    attacks = {"LiRA": LiRA(), "RMIA": RMIA()}
    again = audit(*problem, **settings, attacks=attacks, random_state=0, n_jobs=2)
    expected = result.to_frame().query("attack in ('LiRA', 'RMIA')").reset_index(drop=True)
    expected = expected.drop(columns="told")
    # Which attack is told depends on the others.
    pd.testing.assert_frame_equal(again.to_frame().drop(columns="told"), expected)
    assert again.baseline == result.baseline
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4}
    other = audit(*problem, **settings, random_state=1)
    assert not np.array_equal(other.scores["LiRA"], result.scores["LiRA"])


def test_audit_changes_neither_the_victim_nor_the_attacks(problem):
    victim, records, membership = problem
    before = victim.predict_proba(records.X)
    attacks = {"l": LiRA()}
    audit(victim, records, membership, attacks=attacks, shadows=4, random_state=0)
    assert np.array_equal(victim.predict_proba(records.X), before)
    assert attacks["l"].shadows is None
    assert not hasattr(attacks["l"], "offset_")


def test_frozen_victim_is_the_victim(problem, result):
    victim, records, membership = problem
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 8, "fprs": (0.1,), "random_state": 0}
    frozen = audit(FrozenEstimator(victim), records, membership, **settings)
    assert np.array_equal(frozen.scores["LiRA"], result.scores["LiRA"])
    assert frozen.victim == result.victim


def test_default_attacks_depend_on_the_number_of_shadow_models(problem, result):
    singles = ["ThresholdAttack(signal='loss')", "LiRA()", "RMIA()"]
    settings = {"file": False, "random_state": 0}
    few = audit(*problem, shadows=ShadowPool(TREE, 2, random_state=0), **settings)
    assert list(few.settings["attacks"].values()) == singles
    assert list(result.settings["attacks"].values()) == [*singles, "StackedAttack()"]


@pytest.mark.slow  # test_budget.py and test_recovered.py find this attack among those that run
def test_linear_models_are_also_attacked_in_closed_form(problem):
    _, records, membership = problem
    victim = fit_victim(records, membership, LogisticRegression())
    report = audit(victim, records, membership, shadows=4, random_state=0)
    names = ["threshold (loss)", "AnalyticLiRA", "LiRA", "RMIA", "StackedAttack"]
    assert list(report.scores) == names
    assert report.notes == []


def test_victim_is_asked_once(problem):
    victim, records, membership = problem
    calls = []

    def answer(X):
        calls.append(len(X))
        return victim.predict_proba(X)

    asked = CallableVictim(answer, classes=[0, 1])
    settings = {"attacks": {"loss": ThresholdAttack(), "LiRA": LiRA()}, "random_state": 0}
    result = audit(asked, records, membership, estimator=TREE, shadows=4, **settings)
    assert calls == [400, 50]  # some are asked again, for noise
    assert list(result.scores) == ["loss", "LiRA"]
    assert as_audit_document(result)["data"]["n_queries"] == 450
    more = {"Merlin": ThresholdAttack(signal=Merlin(n_changes=3))}
    again = audit(asked, records, membership, attacks=more, random_state=0)
    assert again.data["n_queries"] == sum(calls) - 450 > 400
    assert f"{sum(calls) - 450:,} queries." in again.summary()
    assert f"queries the model {sum(calls) - 450:,} times" in again.to_html()
    forged = as_audit_document(again)
    forged["data"]["n_queries"] = "<b>"
    with pytest.raises(ValueError, match="n_queries must be a whole number"):
        check_document(forged)
    unasked = audit(victim, records, membership, attacks={"t": ThresholdAttack()}, file=False)
    assert "n_queries" not in unasked.data


# What cannot run is left out and named


def test_regressor():
    records, membership = make_records()
    records = Records(records.X, records.X[:, 0] + np.random.default_rng(1).normal(size=400))
    victim = fit_victim(records, membership, DecisionTreeRegressor(random_state=0))
    attacks = {"threshold": ThresholdAttack(), "LiRA": LiRA(), "ShadowAttack": ShadowAttack()}
    result = audit(victim, records, membership, attacks=attacks, shadows=4, random_state=0)
    assert list(result.scores) == ["threshold", "LiRA"]
    assert any("ShadowAttack was left out" in note for note in result.notes)
    assert result.task == "regression"
    assert result.performance["metric"] == "r2"
    assert result.performance["members"] == pytest.approx(1)
    assert result.performance["gap"] == pytest.approx(1 - result.performance["nonmembers"])


@pytest.mark.slow  # a linear machine is audited in test_conditions.py each time
def test_classifier_with_decision_values_only(problem):
    _, records, membership = problem
    victim = fit_victim(records, membership, LinearSVC())
    result = audit(victim, records, membership, shadows=4, random_state=0)
    assert list(result.scores) == ["threshold (hinge)", "LiRA", "RMIA", "StackedAttack"]


def test_classifier_that_only_predicts(problem):
    _, records, membership = problem

    class Labels(DecisionTreeClassifier):
        predict_proba = property()  # hasattr is False

    labels = fit_victim(records, membership, Labels(random_state=0))
    result = audit(labels, records, membership, shadows=4, random_state=0)
    assert list(result.scores) == ["threshold (correctness)", "LiRA"]
    assert result.settings["n_shadows"] == 4


def test_service_of_labels_is_compared_with_labels_of_an_estimator(problem):
    victim, records, membership = problem
    service = CallableVictim(victim.predict, classes=victim.classes_, kind="label")
    result = audit(service, records, membership, estimator=TREE, shadows=4, random_state=0)
    assert list(result.scores) == ["threshold (correctness)", "LiRA"]
    assert result.scores["LiRA"].std() > 0


def test_function_without_an_estimator_has_a_stand_in(problem):
    victim, records, membership = problem
    asked = CallableVictim(victim.predict_proba, classes=[0, 1])
    records, membership = records[:120], membership[:120]
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "fprs": (0.2,), "random_state": 0}
    result = audit(asked, records, membership, **settings)
    assert list(result.scores) == ["LiRA"]
    assert "cannot be trained" in result.notes[0] and "stand-in" in result.notes[0]
    alone = audit(asked, records, membership, attacks={"loss": ThresholdAttack()}, random_state=0)
    assert alone.settings["n_shadows"] == 0 and alone.reference["distances"] == []


def test_wide_answers_are_not_kept(problem, monkeypatch):
    monkeypatch.setattr(_case, "LARGEST_OUTPUTS", 4 * 400 * 2 * 4 - 1)
    attacks = {"LiRA": LiRA(), "ShadowAttack": ShadowAttack()}
    result = audit(*problem, attacks=attacks, shadows=4, random_state=0)
    assert list(result.scores) == ["LiRA"]
    reason = "it needs the outputs of the shadow models, which would take 0.0 GB for 4 models"
    assert result.notes == [f"ShadowAttack was left out: {reason}."]


def test_pool_without_answers(problem):
    victim, records, membership = problem
    pool = ShadowPool(TREE, n_estimators=4, random_state=0).fit(records)
    attacks = {"LiRA": LiRA(), "ShadowAttack": ShadowAttack()}
    result = audit(victim, records, membership, attacks=attacks, shadows=pool, random_state=0)
    assert list(result.scores) == ["LiRA"]
    assert 'store="outputs"' in result.notes[0]


def test_pool_that_stores_one_temperature(problem):
    victim, records, membership = problem
    pool = ShadowPool(TREE, n_estimators=4, temperatures=(1.0,), random_state=0).fit(records)
    result = audit(victim, records, membership, shadows=pool, random_state=0)
    assert result.settings["attacks"]["RMIA"] == "RMIA()"


def test_pool_with_augmentations(problem):
    victim, records, membership = problem

    def shift(records):
        return [Records(records.X + 0.1, records.y)]

    pool = ShadowPool(TREE, n_estimators=4, augment=shift, random_state=0).fit(records)
    result = audit(victim, records, membership, attacks={"l": LiRA()}, shadows=pool, random_state=0)
    expected = LiRA(FrozenEstimator(victim), FrozenEstimator(pool)).fit(records)
    assert np.array_equal(result.scores["l"], expected.score_samples(records))


def test_a_pool_that_holds_the_victim_is_refused(problem):
    _, records, _ = problem
    pool = ShadowPool(TREE, n_estimators=4, store="models", random_state=0).fit(records)
    with pytest.raises(ValueError, match="shadow model 2 of the pool is the model to audit"):
        audit(pool.estimators_[2], records, pool.membership_[2], shadows=pool)


def test_unfitted_pool_is_fitted_once_for_all_attacks(problem):
    victim, records, membership = problem
    pool = ShadowPool(TREE, n_estimators=4, store="outputs", random_state=0)
    result = audit(victim, records, membership, shadows=pool, random_state=0)
    assert result.settings["n_shadows"] == 4
    assert list(result.scores) == ["threshold (loss)", "LiRA", "RMIA", "StackedAttack"]
    assert not hasattr(pool, "membership_")


def test_attacks_of_ones_own_get_what_they_need(problem):
    attacks = {
        "rmia": RMIA(temperature=3.0),
        "shokri": ShadowAttack(features=["loss"], random_state=0),
        "watson": CalibratedAttack(),
    }
    result = audit(*problem, attacks=attacks, shadows=4, random_state=0)
    assert list(result.scores) == list(attacks)
    assert result.settings["attacks"]["rmia"] == "RMIA(temperature=3.0)"


def test_no_shadow_models_are_trained_for_attacks_that_need_none(problem, monkeypatch):
    monkeypatch.setattr(ShadowPool, "fit", None)
    result = audit(*problem, attacks={"t": ThresholdAttack()}, random_state=0)
    assert result.settings["n_shadows"] == 0
    assert "no shadow models" in result.summary(verbose=True)


# What is refused


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"group": "race"}, ValueError, "got 'race', they have group"),
        ({"group": "overall"}, ValueError, "must not name a field 'overall'"),
        ({"attacks": {}}, ValueError, "at least one attack"),
        ({"attacks": LiRA()}, TypeError, "map names to unfitted attacks; got LiRA"),
        ({"attacks": "all"}, TypeError, "\"default\" or map names to unfitted attacks; got 'all'"),
        ({"attacks": None}, TypeError, "got NoneType"),
        ({"attacks": {"x": TREE}}, TypeError, "DecisionTreeClassifier under the name 'x'"),
        ({"fprs": (1.5,)}, ValueError, "fprs must be a fraction"),
        ({"fprs": (0.1, 0)}, ValueError, "fprs must be above 0"),
        ({"fprs": ()}, ValueError, "fprs must hold at least one rate"),
        ({"confidence_level": 95}, ValueError, "confidence_level"),
        ({"shadows": 3}, ValueError, "even"),
        ({"shadows": "many"}, TypeError, "ShadowPool"),
    ],
)
def test_bad_settings(problem, settings, error, message):
    with pytest.raises(error, match=message):
        audit(*problem, **settings)


def test_field_of_many_values_is_no_group(problem):
    victim, records, membership = problem
    with pytest.raises(ValueError, match="400 values; at most 100"):
        audit(
            victim, records.with_fields(id=np.arange(400)), membership, group="id", random_state=0
        )


def test_nothing_to_run_is_an_error(problem):
    victim, records, membership = problem
    pool = ShadowPool(TREE, n_estimators=4, random_state=0).fit(records)
    with pytest.raises(ValueError, match="No attack can run on this victim. s was left out"):
        audit(
            victim, records, membership, attacks={"s": ShadowAttack()}, shadows=pool, random_state=0
        )


# What there is to find


def test_model_that_leaks_nothing_has_no_finding():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    records = Records(X, (X[:, 0] > 0).astype(int))
    membership = rng.permutation(400) % 2
    victim = fit_victim(records, membership, LogisticRegression(C=1e-3))
    attacks = {"loss": ThresholdAttack(), "lira": LiRA(), "rmia": RMIA()}
    result = audit(victim, records, membership, attacks=attacks, shadows=8, random_state=0)
    assert "No leakage detected" in result.verdict


# The baseline without the victim


def test_baseline_finds_members_that_differ_by_themselves(problem, monkeypatch):
    sizes = {0: {"n_estimators": 20, "min_samples_leaf": 5}}
    monkeypatch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)
    _, records, membership = problem
    level = {"confidence_level": 0.95, "n_jobs": None, "random_state": 0}
    assert blind_baseline(records, membership == 1, **level).low < 0.5
    shifted = Records(records.X + 2 * membership[:, None], records.y)
    assert blind_baseline(shifted, membership == 1, **level).low > 0.9
    victim = fit_victim(shifted, membership)
    attacks = {"t": ThresholdAttack()}
    result = audit(victim, shifted, membership, attacks=attacks, random_state=0)
    assert "come from different populations" in result.summary(verbose=True).replace("\n  ", " ")


@pytest.mark.parametrize("kind", ["frame", "sparse", "image", "text"])
def test_baseline_reads_every_kind_of_features(problem, kind):
    from scipy import sparse

    _, records, membership = problem
    X = records.X
    kinds = {
        "frame": pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(X[:, 1] > 0), "c": "x"}),
        "sparse": sparse.csr_array(X * (X > 0)),
        "image": np.stack([X, X], axis=2),
        "text": np.where(X > 0, "up", "down"),
    }
    shifted = Records(kinds[kind], np.where(membership, "yes", "no"))
    level = {"confidence_level": 0.95, "n_jobs": None, "random_state": 0}
    # Of few different texts, records with one of them count as one.
    assert blind_baseline(shifted, membership == 1, **level).low > 0.7


def test_copies_with_another_membership_are_noted(problem):
    victim, records, membership = problem
    doubled = Records.concat([records, records[:1]])
    result = audit(
        victim,
        doubled,
        np.append(membership, 1 - membership[0]),
        attacks={"t": ThresholdAttack()},
        random_state=0,
    )
    assert "2 of 401 records have an exact copy on the other" in result.checks["duplicates"].text
    twice = Records.concat([records, records])
    with pytest.raises(ValueError, match="hold the same 400 rows"):
        audit(victim, twice, np.repeat([1, 0], 400), random_state=0, shadows=4)


@pytest.mark.contract
def test_audit_of_a_frame_with_text(problem):
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    _, records, membership = problem
    X = pd.DataFrame(records.X, columns=list("abcde")).assign(city=records["group"])
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]), remainder="passthrough"
    )
    records = Records(X, np.where(records.y, "yes", "no"), city=X["city"])
    victim = fit_victim(records, membership, make_pipeline(encode, clone(TREE)))
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "random_state": 0}
    result = audit(victim, records, membership, group="city", **settings)
    assert result.to_frame()["estimate"].notna().any()


def test_attack_on_another_model_is_noted(problem):
    victim, records, membership = problem
    other = fit_victim(records, membership, DecisionTreeClassifier(max_depth=2, random_state=0))
    attacks = {
        "held": ThresholdAttack(FrozenEstimator(victim)),
        "other": ThresholdAttack(FrozenEstimator(other)),
        "asked": ThresholdAttack(CallableVictim(victim.predict_proba, [0, 1])),
    }
    notes = audit(victim, records, membership, attacks=attacks, random_state=0).notes
    assert [note.split(" attacks")[0] for note in notes] == ["other", "asked"]
    assert f"{other}, and not the audited one" in notes[0]
    service = CallableVictim(lambda X: victim.predict_proba(X), [0, 1])
    attacks = {"same": ThresholdAttack(service)}
    assert audit(service, records, membership, attacks=attacks, random_state=0).notes == []


def test_level_that_no_permutation_reaches_is_refused_first(problem, monkeypatch):
    monkeypatch.setattr(ShadowPool, "fit", None)
    with pytest.raises(ValueError, match="confidence_level must be at most 0.9999 in an audit"):
        audit(*problem, confidence_level=0.99999, random_state=0)


def test_a_high_level_gets_as_many_permutations_as_it_needs(problem):
    victim, records, membership = problem
    settings = {"attacks": {"t": ThresholdAttack()}, "confidence_level": 0.999, "random_state": 0}
    report = audit(victim, records[:200], membership[:200], **settings)
    assert report.evidence == "leak"
    assert "p ≤ 0.0002" in report.verdict


def test_rows_of_people_count_as_people(problem):
    """One record of one person on the wrong side is named, and people stay the units."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 3))[people]
    membership = (rng.permutation(40) % 2)[people]
    membership[7] ^= 1
    records = Records(X + 0.01 * rng.normal(size=X.shape), X[:, 0] > 0, group_by=people)
    settings = {"attacks": {"t": ThresholdAttack()}, "random_state": 0}
    report = audit(TREE, records, membership, **settings)
    assert report.checks["people"].is_warning
    assert "1 of 40 values of group_by has records on both sides: 1." in (
        report.checks["people"].text
    )
    assert (report.permutation.n_units, report.permutation.n_mixed) == (39 + 5, 1)
    whole = audit(TREE, records, **settings)
    assert whole.checks["people"].status == "passed"
