"""An audit chooses the number of its shadow models by their own power, or by the time left."""

import json
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import skmia
from skmia._core.provenance import PartClock
from skmia.attacks import RMIA, LiRA, ShadowAttack
from skmia.report import _run
from skmia.report._document import check_document
from skmia.report._pool_size import describe_growth, expect_gain, foresee_size, is_enough
from skmia.report.checks import DriftCheck

pytestmark = pytest.mark.usefixtures("attacks_alone")

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False, fprs=(0.1,), random_state=0)

TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
TIMES = ("seconds_per_model", "time_budget")


class ScriptedAttack(LiRA):
    """LiRA with a power on shadow models that depends on the size of their pool alone."""

    powers = {}
    spread = 0.02

    def score_left_out(self, X, models):
        inside = self.pool_.membership(X)[:, models].T
        rng, scores = np.random.default_rng(0), np.empty(inside.shape)
        for k, side in enumerate(inside):
            power = self.powers[len(self.pool_.membership_)] + self.spread * (-1) ** (k // 2)
            scores[k] = rng.random(len(side))
            members = np.flatnonzero(side)
            n_found = round(power * len(members))
            scores[k, members[:n_found]] += 1
            scores[k, members[n_found:]] -= 1
        yield slice(None), scores, inside, np.ones(inside.shape, dtype=bool)


def script(*powers, spread=0.02):
    name = {"powers": dict(zip((4, 8, 16, 32, 64), powers)), "spread": spread}
    return {"scripted": type("ScriptedAttack", (ScriptedAttack,), name)()}


GROWING = {"RMIA": RMIA(), **script(0.3, 0.5, 0.5)}


@pytest.fixture(scope="module")
def problem(problem):
    """As few records as resolve a rate of 10%."""
    _, records, membership = problem
    records, membership = records[:240], membership[:240]
    members = records[membership == 1]
    return clone(problem[0]).fit(members.X, members.y), records, membership


@pytest.fixture(scope="module")
def grown(problem):
    """An audit with 16 shadow models."""
    return audit(*problem, attacks=GROWING, estimator=TREE)


def without_times(growth):
    return {name: value for name, value in growth.items() if name not in TIMES}


def assert_equal(report, other):
    assert report.results.equals(other.results)
    assert all(np.array_equal(report.scores[name], other.scores[name]) for name in other.scores)
    assert report.verdict == other.verdict


@pytest.mark.parametrize(
    "powers, n_shadows, reason",
    [
        ((0.5, 0.5), 8, "enough"),
        pytest.param((0.5, 0.3), 8, "enough", marks=pytest.mark.slow),
        # As the audit that other tests here share.
        pytest.param((0.3, 0.5, 0.5), 16, "enough", marks=pytest.mark.slow),
        pytest.param((0.1, 0.3, 0.5, 0.5), 32, "enough", marks=pytest.mark.slow),
        ((0.1, 0.3, 0.5, 0.7, 0.9), 64, "most"),
    ],
)
def test_a_pool_grows_as_long_as_more_models_help(problem, powers, n_shadows, reason):
    report = audit(*problem, attacks=script(*powers), estimator=TREE)
    growth = report.growth
    assert report.settings["n_shadows"] == growth["n_shadows"] == n_shadows
    assert (growth["reason"], growth["metric"], growth["max_fpr"]) == (reason, "tpr", 0.1)
    sizes = [step["n_shadows"] for step in growth["steps"]]
    assert sizes == [size for size in (4, 8, 16, 32, 64) if size <= n_shadows]
    gains = [step["gain"] for step in growth["steps"]]
    assert gains[0] is None
    assert gains[1:] == pytest.approx(np.diff(powers[: len(gains)]), abs=0.01)


def test_the_strongest_attack_decides(problem):
    attacks = {"weak": script(0.1, 0.5, 0.5)["scripted"], **script(0.8, 0.8)}
    growth = audit(*problem, attacks=attacks, estimator=TREE).growth
    assert growth["n_shadows"] == 8
    assert {step["attack"] for step in growth["steps"]} == {"scripted"}


def test_a_gain_is_compared_with_the_spread_between_models(problem):
    wide = audit(*problem, attacks=script(0.3, 0.5, spread=0.2), estimator=TREE).growth
    assert wide["n_shadows"] == 8
    assert wide["steps"][-1]["sd"] > 0.15


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_what_is_lacking_is_inversely_proportional_to_the_number_of_models(size):
    # A model in the victim's place is compared with two models fewer than the victim.
    gain = 0.3 / (size / 2 - 2) - 0.3 / (size - 2)
    expected = expect_gain({"n_shadows": size, "gain": gain})
    assert expected == pytest.approx(0.3 / size - 0.3 / (2 * size))
    assert expect_gain({"n_shadows": size, "gain": -gain}) == 0


def test_the_auc_decides_where_no_rate_is_resolved(problem):
    growth = audit(*problem, attacks={"LiRA": LiRA()}, fprs=(0.01,)).growth
    assert (growth["metric"], growth["max_fpr"]) == ("auc", None)
    assert "the AUC of" in describe_growth(growth)


def test_the_lowest_rate_from_1_percent_on_decides(problem):
    growth = audit(*problem, attacks=script(0.5, 0.5), fprs=(0.2, 0.1, 0.001)).growth
    assert growth["max_fpr"] == 0.1


def test_the_numbers_are_those_of_a_fixed_number(problem, grown):
    fixed = audit(*problem, attacks=GROWING, estimator=TREE, shadows=16)
    assert grown.growth["n_shadows"] == 16 and fixed.growth is None
    assert_equal(grown, fixed)


def test_the_number_does_not_depend_on_membership(problem):
    victim, records, membership = problem
    other = np.random.default_rng(1).permutation(membership)
    settings = {"attacks": {"LiRA": LiRA()}, "estimator": TREE}
    one, two = (audit(victim, records, y, **settings).growth for y in (membership, other))
    assert without_times(one) == without_times(two)


@pytest.mark.slow  # the same of a fixed number runs each time in test_audit.py
def test_number_of_jobs_changes_nothing(problem, grown):
    with parallel_config("threading"):
        report = audit(*problem, attacks=GROWING, estimator=TREE, n_jobs=2)
    assert_equal(report, grown)
    assert without_times(report.growth) == without_times(grown.growth)


def test_an_attack_that_cannot_be_repeated_has_16_models(problem):
    attacks = {"ShadowAttack": ShadowAttack(attack_estimator=TREE)}
    growth = audit(*problem, attacks=attacks, estimator=TREE).growth
    assert (growth["n_shadows"], growth["reason"], growth["steps"]) == (16, "unmeasured", [])
    assert "No attack can be repeated" in describe_growth(growth)


def test_models_that_cannot_be_identified_are_trained_again(problem):
    _, records, membership = problem
    model = make_pipeline(FunctionTransformer(np.add(0, 1).__radd__), TREE)
    attacks = script(0.5, 0.5)
    grown = audit(model, records, membership, attacks=attacks)
    assert grown.growth["n_shadows"] == 8
    assert_equal(grown, audit(model, records, membership, attacks=attacks, shadows=8))


# Time


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the training of a tree moves, by one second, and not the check of drift."""
    now, fit = [0.0], DecisionTreeClassifier.fit

    def fit_slowly(self, *arguments, **settings):
        now[0] += 1
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit_slowly)
    monkeypatch.setattr(DriftCheck, "ask", lambda check, case, run, findings: None)
    monkeypatch.setattr(_run, "perf_counter", lambda: now[0])
    monkeypatch.setattr(PartClock, "elapsed", lambda clock: now[0])
    return now


@pytest.mark.parametrize("budget, n_shadows", [(7.9, 4), (8, 8)])
def test_no_doubling_begins_that_would_take_too_long(problem, clock, budget, n_shadows):
    growing = script(0.1, 0.3, 0.5, 0.7, 0.9)
    growth = audit(*problem, attacks=growing, estimator=TREE, time_budget=budget).growth
    assert growth["n_shadows"] == n_shadows == clock[0]
    assert growth["seconds_per_model"] == 1
    assert growth["reason"] == "time"
    assert f"beyond the time budget of {budget:g} seconds." in describe_growth(growth)


def test_models_in_a_checkpoint_take_no_time(problem, clock, tmp_path):
    run = partial(audit, *problem, estimator=TREE, checkpoint=tmp_path)
    first = run(attacks=script(0.5, 0.5))
    assert (first.growth["n_shadows"], clock[0]) == (8, 8)
    # The same again; then further models, for which the time of two is measured.
    again = run(attacks=script(0.5, 0.5), time_budget=8.5)
    assert clock[0] == 8 and again.growth["seconds_per_model"] is None
    assert without_times(again.growth) == without_times(first.growth)
    assert_equal(again, first)
    assert run(attacks=script(0.3, 0.7), time_budget=15).growth["n_shadows"] == 8
    assert clock[0] == 10


@pytest.mark.slow  # budgets that do not suffice, and numbers that stay, are tested above
def test_a_budget_that_suffices_changes_nothing(problem, grown):
    budgeted = audit(*problem, attacks=GROWING, estimator=TREE, time_budget=1e6)
    assert without_times(budgeted.growth) == without_times(grown.growth)
    assert_equal(budgeted, grown)


@pytest.mark.slow  # in each run with a fixed number in test_audit_checkpoint.py
def test_an_interrupted_audit_goes_on(problem, grown, tmp_path, monkeypatch):
    run = partial(audit, *problem, attacks=GROWING, estimator=TREE)
    fit, fitted = DecisionTreeClassifier.fit, []

    def fit_or_stop(self, *arguments, **settings):
        fitted.append(self)
        if len(fitted) == 12:
            raise KeyboardInterrupt
        return fit(self, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(DecisionTreeClassifier, "fit", fit_or_stop)
        with pytest.raises(KeyboardInterrupt) as stop:
            run(checkpoint=tmp_path)
    assert stop.value.__notes__[0].startswith(f"11 of 16 shadow models are kept in {tmp_path}")
    resumed = run(checkpoint=tmp_path)
    assert_equal(resumed, grown)
    assert without_times(resumed.growth) == without_times(grown.growth)


def test_an_interrupted_audit_without_a_checkpoint_claims_to_keep_nothing(problem, monkeypatch):
    def stop(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(DecisionTreeClassifier, "fit", stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        audit(*problem, estimator=TREE)
    assert not getattr(stopped.value, "__notes__", [])


# Wrong input and damaged documents


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"shadows": "many"}, "shadows must be \"auto\", an even number .* got 'many'"),
        ({"shadows": 5}, 'shadows must be "auto", an even number .* got 5'),
        ({"time_budget": 0}, "time_budget must be None or a positive number of seconds; got 0"),
        ({"time_budget": "1h"}, "time_budget must be None or a positive .* got '1h'"),
        ({"time_budget": np.nan}, "time_budget must be None or a positive .* got nan"),
        ({"time_budget": True}, "time_budget must be None or a positive .* got True"),
        ({"time_budget": 60, "shadows": 8}, 'shadows="auto" trains; got shadows=8'),
    ],
)
def test_wrong_settings_are_refused(problem, settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        audit(*problem, **settings)


@pytest.fixture(scope="module")
def document(grown):
    return json.loads(grown.to_json())


DAMAGES = {
    "size": ({"n_shadows": 8}, "growth.n_shadows is not settings.n_shadows"),
    "reason": ({"reason": "time"}, "growth.reason is another"),
    "most": ({"reason": "most"}, "growth.reason is"),
    "rate": ({"metric": "auc"}, "growth.max_fpr must be there"),
    "steps": ({"steps": []}, "growth.reason is another"),
    "cost": ({"seconds_per_model": -1}, "growth.seconds_per_model must be a number"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_growth_that_contradicts_itself_is_refused(document, case):
    change, message = DAMAGES[case]
    with pytest.raises(ValueError, match=message):
        check_document(document | {"growth": document["growth"] | change})


@pytest.mark.parametrize(
    "place, change, message",
    [
        (0, {"gain": 0.1}, "must have a gain except for the first"),
        (1, {"gain": None}, "must have a gain except for the first"),
        (1, {"gain_standard_error": None}, "must have an error for each gain"),
        (1, {"attack": "other"}, "names an attack that settings lacks"),
        (1, {"n_shadows": 4}, "must be in the order of n_shadows"),
        (2, {"n_shadows": 64}, "has a number beyond"),
    ],
)
def test_steps_that_contradict_each_other_are_refused(document, place, change, message):
    steps = [dict(step) for step in document["growth"]["steps"]]
    steps[place] |= change
    with pytest.raises(ValueError, match=message):
        check_document(document | {"growth": document["growth"] | {"steps": steps}})


def test_the_growth_is_in_the_summary_the_document_and_the_page(grown):
    pytest.importorskip("jinja2")
    text = describe_growth(grown.growth)
    assert text.startswith(
        "16 shadow models were trained. The last doubling changed the TPR at 10%"
    )
    assert "percentage points" in text and "16 more models would take" in text
    assert text in grown.summary(verbose=True).replace("\n  ", " ")
    document = json.loads(grown.to_json())
    assert check_document(document)["growth"] == grown.growth
    assert text in grown.to_html()


def test_an_audit_holds_the_signals_once(problem, monkeypatch):
    held, grow_pool = [], _run.grow_pool

    def watch(case, plan, clock):
        pool, growth = grow_pool(case, plan, clock)
        held.append(pool)
        return pool, growth

    monkeypatch.setattr(_run, "grow_pool", watch)
    audit(*problem, attacks=script(0.5, 0.5), estimator=TREE)
    (pool,) = held
    assert len(pool.membership_) == 8
    # Results of single models, from which a larger pool would be made.
    assert pool._memory is None


def test_where_growth_will_probably_end_is_foreseen():
    def after(n, gain, sd):
        return [{"n_shadows": n, "gain": gain, "sd": sd}]

    # From 8 to 16 the gain is expected to be 3/16 of the last one: 0.06 here, then 0.03, 0.015.
    assert expect_gain(after(8, 0.32, 0)[0]) == pytest.approx(0.06)
    for sd, size in ((0.05, 16), (0.02, 32), (0.01, 64), (0.0, 64)):
        assert not is_enough(after(8, 0.32, sd))
        assert foresee_size(after(8, 0.32, sd), 8) == size
    assert foresee_size(after(32, 0.32, 0.0), 32) == 64
    assert foresee_size([], 8) == foresee_size(after(4, None, 0.1), 8) == 16
