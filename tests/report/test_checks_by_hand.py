"""What checks of an audit ask, of whom, and what they say, with answers by hand."""

from collections import namedtuple
from dataclasses import make_dataclass
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline

from skmia import Outputs, Records
from skmia.attacks import ThresholdAttack
from skmia.base import TooFewModelsError
from skmia.metrics import Interval, operating_point
from skmia.report import _beyond_shift, _row_count, positive_control
from skmia.report._beyond_shift import AucExcess, BeyondShift, UnseenMembers
from skmia.report._permutations import HIGHEST_LEVEL, count_permutations
from skmia.report.checks import (
    _baseline,
    _control,
    _drift,
    _permutation,
    _record_rates,
    _results,
    _sides,
    _units,
    get_check,
)
from skmia.report.checks import _beyond_shift as shift_checks
from skmia.report.checks._model_and_table import ModelAndTableCheck
from skmia.victims import CallableVictim

SIDES = np.arange(10) < 6  # members first


def ask(module, check, patched, answer, run=None, findings=None, **changed):
    """Return status and text of a check, and what it handed to the function that is patched."""
    usual = {"controls": True, "level": 0.95, "membership": SIDES, "fprs": [], "subsets": {}}
    usual |= {"records": Records(np.arange(10.0).reshape(-1, 1)), "seeds": {"checks": 5}}
    usual |= {"request": NS(n_jobs=3, victim=Ridge(), estimator=None, fit_params=None)}
    with mock.patch.object(module, patched, return_value=answer) as called:
        found = check.ask(NS(**(usual | changed)), run, findings)
    return found and (found.status, found.text), called


def ask_positive(pvalue, membership=SIDES, controls=False, passed=True):
    frame = pd.DataFrame(
        {"attack": ["a", "b"], "auc": [0.5, 0.75], "low": [0.4, 0.7], "high": [0.6, 0.8]}
    )
    control = NS(frame=frame, pvalue=0.01, n_permutations=99, passed=passed)
    findings = NS(permutation=NS(pvalue=pvalue))
    check, given = _control.PositiveControlCheck(), {"controls": controls, "membership": membership}
    told, called = ask(_control, check, "positive_control", control, findings=findings, **given)
    if called.called:
        assert called.call_args.args[1] is membership
        assert called.call_args.kwargs == {"confidence_level": 0.95, "n_jobs": 3, "random_state": 5}
    return told


def ask_negative(attacks=None, victim=None, estimator=None, pool=None, **changed):
    control = NS(
        frame=pd.DataFrame({"auc": [0.5], "low": [0.4], "high": [0.6]}),
        pvalue=0.5,
        n_permutations=99,
        passed=True,
    )
    run = NS(pool=pool, attacks={"a": ThresholdAttack()} if attacks is None else attacks)
    request = NS(n_jobs=3, victim=victim or Ridge(), estimator=estimator, fit_params={"epochs": 2})
    check = _control.NegativeControlCheck()
    told, called = ask(
        _control, check, "negative_control", control, run, request=request, **changed
    )
    given = called.call_args
    return told, given and (type(given.args[0]).__name__, {**given.kwargs, "attacks": 0})


def ask_permutation(fprs, lowest=0.02):
    frame = pd.DataFrame({"pvalue_adjusted": [0.3, lowest]})
    result, run = NS(frame=frame, n_permutations=999), NS(scores="scores", tested="tested")
    sides = np.arange(150) < 50
    records = Records(np.arange(150.0).reshape(-1, 1), group_by=np.arange(150))
    given = {"fprs": fprs, "membership": sides, "records": records}
    with pytest.MonkeyPatch.context() as patch:  # not the fewer ones of other tests
        patch.setattr(_permutation, "count_permutations", count_permutations)
        told, called = ask(
            _permutation, _permutation.PermutationCheck(), "permutation_test", result, run, **given
        )
    kwargs = called.call_args.kwargs
    assert kwargs["judged"] == "tested" and called.call_args.args[1] == "scores"
    assert kwargs["group_by"].tolist() == [*range(150)] and kwargs["random_state"] == 5
    return told, kwargs["max_fprs"], kwargs["n_permutations"]


def ask_beyond(pvalues, warns, model=None, answer=None, check=None, error=None, **run):
    """Ask what is found beyond a difference that checks found, or did not."""
    check = shift_checks.BeyondShiftCheck() if check is None else check
    checks = {name: NS(is_warning=name in warns) for name in check.differences}
    null = NS(frame=pd.DataFrame({"pvalue_adjusted": pvalues}))
    findings = NS(permutation=null, checks=checks)
    request = NS(model=Ridge() if model is None else model)
    found = BeyondShift("lossy", 0.75, 0.625, AucExcess(0.125, 0.1, 0.15), None)
    case = NS(level=0.95, request=request, seeds={"checks": 5})

    def compare(case, run):
        if error is not None:
            raise error
        return found if answer is None else answer[0]

    with mock.patch.object(type(check), "compare", staticmethod(compare)):
        told = check.ask(case, NS(**run), findings)
    return told and (told.status, told.text[:50])


def describe_beyond(low=0.1, rate=None, fpr=0.001, fpr_unseen=0.001):
    excess = AucExcess(0.125, low, 0.15)
    found = BeyondShift("lossy", 0.75, 0.625, excess, rate, 0.25, 0.0, fpr, fpr_unseen)
    return shift_checks._describe_beyond_shift(found)


# Of a victim whose members 0 to 99 are in five folds of twenty; one of ten others is like each.
N_OWN = 100


def unseen(n_own=N_OWN, n_others=10, people=None, fprs=()):
    rows = np.arange(float(n_own + n_others)).reshape(-1, 1)
    fields = {} if people is None else {"group_by": people}
    records = Records(rows, np.zeros(len(rows)), **fields)
    case = NS(records=records, membership=np.arange(len(rows)) < n_own, fprs=fprs)
    return UnseenMembers(case, 0)


def place_in_pairs(members, others):
    """Return shares of pairs, ties for a half, as means over all others and over all members."""
    above = (members[:, None] > others) + 0.5 * (members[:, None] == others)
    return above.mean(axis=1), above.mean(axis=0)


def summarize_in_pairs(folds, membership, scores, unseen):
    """Compute the result for independent records, with all pairs."""
    above, below = place_in_pairs(scores[membership], scores[~membership])
    seen = np.empty(len(above))
    others = 0.0
    aucs = []
    for k, own in enumerate(unseen):
        inside = folds[membership] == k
        one, other = place_in_pairs(own[membership][inside], own[~membership])
        seen[inside] = one
        others = others + other * inside.mean()
        aucs.append(place_in_pairs(own[membership], own[~membership])[0].mean())
    variance = np.var(above - seen) / len(above) + np.var(below - others) / len(below)
    error = 3 * np.sqrt(variance + 8 * np.var(aucs))
    gap = above.mean() - seen.mean()
    return [above.mean(), seen.mean(), gap, gap - error, gap + error]


def compare_by_hand():
    own = unseen()
    rng = np.random.default_rng(0)
    scores, others = rng.integers(0, 9, 110).astype(float), rng.normal(size=(5, 110)).round(1)
    found = own._summarize("a", scores, [*others])
    wanted = summarize_in_pairs(own._folds, own._case.membership, scores, others)
    assert found.attack == "a" and found[4:] == (None,) * 5
    return np.subtract([found.auc, found.auc_unseen, *found.excess], wanted).round(12).tolist()


def compare_rates(fprs, n_others=120):
    """Compare the rates at 10 of the others, or more, with those of single calls."""
    own = unseen(n_others=n_others, fprs=fprs)
    rng = np.random.default_rng(0)
    n = N_OWN + n_others
    scores, others = rng.normal(size=n), rng.normal(size=(5, n))
    found, sides = own._compare_rates(scores, [*others]), own._case.membership
    if found[0] is None:
        return found
    kept = [(own._folds == k) | ~sides for k in range(5)]
    each = [
        operating_point(sides[rows], one[rows], max_fpr=found[0])
        for rows, one in zip(kept, others, strict=True)
    ]
    seen = operating_point(sides, scores, max_fpr=found[0])
    mean = sum(one.tpr for one in each) / 5, sum(one.fpr for one in each) / 5
    return found[0], found[1::2] == (seen.tpr, seen.fpr), np.abs(found[2::2] - array(mean)) < 1e-12


def deal(people=None, n_own=N_OWN):
    folds = unseen(n_own=n_own, people=people)._folds
    return np.bincount(folds[:n_own]).tolist(), set(folds[n_own:].tolist())


def compare_folds(allowed):
    """Compare folds of which the first takes three seconds of a machine that is half busy."""
    own, seen = unseen(), []
    parts = {
        "make_budget": lambda case: NS(seconds=allowed),
        "LapWatch": lambda: NS(lap=lambda: 3.0 + 90 * (len(seen) > 1), load=2.0),
    }
    own.train = lambda fold: seen.append(fold) or fold
    own._summarize = lambda attack, scores, unseen: (attack, scores.dtype.kind, unseen)
    with mock.patch.multiple(_beyond_shift, **parts):
        return own.compare("a", [1, 2], lambda case: case * 10)


Request = namedtuple("Request", "victim outputs model fit_params")
Case = make_dataclass("Case", ["records", "membership", "queried", "request", "unmatched", "fprs"])


class Queried:
    """Records that say which outputs they have."""

    def __init__(self, outputs=None):
        self.outputs = outputs

    def with_outputs(self, outputs):
        answers = NS(kind="proba", as_labels=lambda: "labels")
        return Queried(answers if outputs == "model" else outputs)

    def __getitem__(self, name):
        return self.outputs


def train_fold(kind):
    own = unseen()
    request = Request("victim", NS(kind=kind), Ridge(), "params")
    own._case = Case(Queried(), own._case.membership, None, request, "pairs", ())
    own._seed = 30
    with mock.patch.object(_beyond_shift, "train_victim", return_value="model") as trained:
        found = own.train(3)
    _, _, mask, seed, params = trained.call_args.args
    assert found.request.outputs is found.queried.outputs and found.request.victim == "model"
    outputs = found.queried.outputs
    is_right = (mask == (own._case.membership & (own._folds != 3))).all()
    return (
        bool(is_right),
        seed,
        params,
        found.unmatched,
        outputs if kind == "label" else outputs.kind,
    )


def choose_answers(fitted, judged, ranked=("a", "b"), own=()):
    """Return the attack that is compared, of those in their order."""
    attacks = {"a": "a", "b": "b"}
    run = NS(scores={"a": [1], "b": [2]}, judged=judged, fitted=fitted, pool=None)
    parts = {
        "rank_attacks": lambda *given: [*ranked],
        "has_own_victim": lambda attack: attack in own,
        "UnseenMembers": lambda case, seed: NS(compare=lambda name, scores, score: (name, scores)),
    }
    with mock.patch.multiple(_beyond_shift, **parts):
        return _beyond_shift.compare_answers(NS(attacks=attacks, membership=None), run, 0)


def compare_file():
    run = NS(file_scores="scores")
    with mock.patch.object(_beyond_shift, "UnseenMembers") as made:
        _beyond_shift.compare_file("case", run, 7)
    made.assert_called_once_with("case", 7)
    return made.return_value.compare.call_args.args[:2]


def score_answers(pool):
    """Return the scores of one of two attacks, with the pool that is there or that was given."""
    case = Scored(request=SharedRequest("given"), attacks={"a": 1, "b": 2}, records="r")

    def run_attacks(case, plan, clock):
        assert plan == (case.attacks, case.request, "r")
        return NS(scores={"b": [case.attacks["b"], case.request.shadows == "pool"]})

    parts = {"make_plan": lambda *given: given, "run_attacks": run_attacks}
    with mock.patch.multiple(_beyond_shift, **parts):
        found = _beyond_shift._score_answers(case, "b", pool)
    return found.tolist(), found.dtype.kind


def control_with(kind, n=7, people=True, **given):
    """Return what a control is attacked with, of records of which some are members."""
    fields = {"group_by": np.arange(n) // 2} if people else {}
    rows = Records(np.arange(3.0 * n).reshape(n, 3), np.arange(n) % 2, **fields)
    seen = {}

    def train(model, records, members, seed, params=None):
        seen.update(model=model, members=members, records=records, seeds=[seed], params=params)
        return "victim"

    def attack(name, victim, records, membership, attacks, level, seed, pooling):
        assert (name, victim, seen["records"] is records) == (kind, "victim", True)
        seen["seeds"].append(seed)
        return membership, attacks, level, pooling

    parts = {"train_victim": train, "attack_control": attack, "_MOST_RECORDS": 20}
    membership = np.arange(n) < 4
    with mock.patch.multiple(_control, **parts):
        if kind == "positive":
            found = positive_control(rows, membership, random_state=0, **given)
        else:
            found = _control.negative_control(Ridge(), rows, membership, random_state=0, **given)
    first, second = seen["seeds"]
    assert first == second == np.random.RandomState(0).randint(2**31 - 1)
    return found, seen


def positive(n=7, **given):
    (membership, attacks, level, pooling), seen = control_with("positive", n, **given)
    model, records = seen["model"], seen["records"]
    assert attacks == "default" and seen["members"] is membership and model.max_features == 1
    sides = [int(records.y[side].sum()) for side in (membership, ~membership)]
    return len(records), [*records.fields], sides, level, pooling, records.X.shape[1]


def negative(**given):
    (membership, attacks, level, pooling), seen = control_with("negative", 8, False, **given)
    half = [int(seen["members"][side].sum()) for side in (membership, ~membership)]
    return half, seen["params"], attacks, level, (type(pooling[0]).__name__, *pooling[1:])


def measure_baseline(found=((0.5, 0.4, 0.6), "rows"), words=(), fields=True):
    """Return the better of two baselines, as intervals at the level that is asked for."""
    seen = []

    def measure(interval, rows, membership, people, level):
        seen.append((rows, membership, people, level))
        return Interval(*interval)

    parts = {
        "get_people": lambda records, membership: "people",
        "score_words": lambda records, membership, seed: [(one, seed) for one in words],
        "score_blindly": lambda records, membership, seed, n_jobs: found,
        "_measure_auc": measure,
    }
    with mock.patch.multiple(_baseline, **parts):
        best = _baseline._measure_baseline("records", "sides", 0.95, 3, 7)
    return best[0] and tuple(best[0]), best[1][17:], [one[3] for one in seen]


SharedRequest = namedtuple("SharedRequest", "shadows")
Scored = make_dataclass("Scored", ["request", "attacks", "records"])


def chance_to_warn(mean, n_made, n):
    """Probability that the mean of all splits leads to a warning, by the law of their sum."""
    needed = n * norm.isf(0.005) * np.sqrt((1 + (n - 1) * 0.5) / n)
    left = n - n_made
    spread = np.sqrt(left + left**2 / n_made)
    return norm.sf((needed - n_made * mean - left * mean) / spread)


def is_hopeless(n_made, n):
    """Judge below and above the mean at which the chance is 5%."""
    edge = brentq(lambda mean: chance_to_warn(mean, n_made, n) - 0.05, -9, 9)
    numbers = [[(edge + step, 9.0, -9.0)] * n_made for step in (-1e-6, 1e-6)]
    return [bool(_drift._is_hopeless(one, n)) for one in numbers]


def count_of_clone(victim, error=None):
    """Return the rows that a clone states, and what it is trained with."""
    seen = []

    def train(model, *given):
        seen.append((type(model).__name__, *given))
        if error is not None:
            raise error
        return "trained"

    case = NS(victim=victim, records="records", membership="members", seeds={"checks": 7})
    case.request = NS(fit_params={"a": 1})
    inspect = lambda model: NS(n_rows=33 if model == "trained" else None)  # noqa: E731
    with mock.patch.multiple(_row_count, train_victim=train, inspect_model=inspect):
        return _row_count._count_of_clone(case, 60), seen


SEARCHED = GridSearchCV(make_pipeline(Ridge()), {"ridge__alpha": [3.0]}, cv=2)
SEARCHED.fit(np.eye(4), np.arange(4.0))


def take_recipe():
    """Return what a search has chosen, unfitted."""
    found = _row_count.take_recipe(GridSearchCV(SEARCHED, {}, cv=2).fit(np.eye(8), np.arange(8.0)))
    return type(found).__name__, found[-1].alpha, hasattr(found[-1], "coef_")


def count_rows(stated, clone=None, victim=None, may_repeat=False, n_listed=100, n_members=60):
    victim = Ridge().fit([[0.0], [1.0]], [0, 1]) if victim is None else victim
    case = NS(victim=victim, request=NS(victim=victim))
    case.inspection = NS(n_rows=stated, n_rows_may_repeat=may_repeat)
    case.membership, case.n_listed = np.arange(90) < n_members, n_listed
    with mock.patch.object(_row_count, "_count_of_clone", return_value=clone) as counted:
        found = _row_count.compare_training_rows(case)
    return found and (*found, counted.called)


def bundle(blocks, is_member, n_mixed):
    """Return the sizes of bundles, how many units are in none, and whether each is a fair pair."""
    blocks, is_member = array(blocks), array(is_member, dtype=bool)
    units = NS(is_member=is_member, blocks=blocks, n_mixed=n_mixed)
    found = np.asarray(_units._bundle_pairs(units, np.random.default_rng(0)))
    pairs = [np.flatnonzero(found == k) for k in range(found[found < _units._N_BUNDLES].max() + 1)]
    is_fair = all(np.ptp(blocks[one]) == 0 and is_member[one].sum() == 1 for one in pairs)
    return [len(one) for one in pairs], int((found == _units._N_BUNDLES).sum()), is_fair


def pack(masks, places, blocks=None, n_mixed=0):
    """Return masks of records packed into numbers, of units that are records or people."""
    n_units = max(places) + 1
    blocks = np.zeros(n_units, dtype=int) if blocks is None else array(blocks)
    units = NS(places=array(places), is_member=np.ones(n_units, dtype=bool), blocks=blocks)
    units.n_mixed = n_mixed
    return [*_units.pack_masks([array(mask, dtype=bool) for mask in masks], units)]


def choose_rate(*rates):
    """Choose among rates, beside others that are not measured, of groups, or of no TPR."""
    rows = [("overall", "tpr", "ok", rate) for rate in rates]
    rows += [("overall", "tpr", "x", 0.015), ("sex", "tpr", "ok", 0.016)]
    rows += [("overall", "auc", "ok", 0.017)]
    names = ["scope", "metric", "status", "max_fpr"]
    return _record_rates._choose_rate(pd.DataFrame(rows, columns=names))


def ask_persons(pvalue, single, auc=0.75):
    found = {"pvalue": pvalue, "n_permutations": 99, "attack": "LiRA", "auc": auc}
    findings = NS(person_level=found | {"low": 0.7, "high": 0.8})
    findings.permutation = NS(frame=pd.DataFrame({"pvalue_adjusted": [0.9, single]}))
    told = _results.PersonLevelCheck().ask(NS(level=0.95), None, findings)
    return told and (told.status, told.text.partition("(p = ")[2][6:])


def ask_signs(*rows):
    """Ask about attacks in places, each with its p-value of the lower tail."""
    frame = pd.DataFrame(rows, columns=["attack", "scope", "group", "pvalue_below"])
    found = NS(permutation=NS(frame=frame))
    told = _results.SignCheck().ask(NS(level=0.95), None, found)
    return told.status, told.text.partition(" members")[0]


def ask_resolution(n_others, people=None, rows=()):
    names = ["scope", "metric", "max_fpr", "status"]
    findings = NS(numbers=pd.DataFrame(rows, columns=names))
    case = NS(membership=np.arange(n_others + 5) < 5, people=people)
    told = _results.ResolutionCheck().ask(case, None, findings)
    return told.text, told.finding


def ask_groups(*leaking, is_failure=False, n_groups=2):
    """Ask about small groups, of which some leak on shadow models by an advantage."""
    groups = [
        NS(scope="sex", group=f"g{k}", n_records=1200 + k, advantage=0.0, leaks=False)
        for k in range(n_groups)
    ]
    for one, advantage in zip(groups, leaking, strict=False):
        one.advantage, one.leaks = advantage, True
    run = NS(repetitions=NS(is_failure=is_failure, obstacle="No memory.", rounds="rounds"))
    findings = NS(permutation=NS(frame="null"), numbers="numbers")
    parts = {"list_small_groups": lambda *given: groups if given[1:] == OF_GROUPS else None}
    with mock.patch.multiple(_results, **parts):
        found = _results.SmallGroupsCheck().ask("case", run, findings)
    return found and (found.status, found.text)


OF_GROUPS = "numbers", "null", "rounds"


def measure_rates(error=None):
    """Return what is counted of records that are mistaken by several models."""

    def score(attack, records, models):
        if error is not None:
            raise error
        return np.zeros((2, 3)), array([[True, False, False]] * 2), array([[True, True, False]] * 2)

    parts = {
        "draw_sample": lambda *given: given[:2],
        "take_sampled_records": lambda records, rows: rows,
        "score_pseudo_victims": score,
        "flag_by_model": lambda scores, is_out, rate: rate,
        "measure_repeated_alarms": lambda flagged, is_out, level, rng: (flagged, is_out, level),
    }
    case = NS(records=range(3), subsets="parts", seeds={"checks": 3}, level=0.9)
    run = NS(pool=NS(membership_=np.zeros((2, 3))))
    with mock.patch.multiple(_record_rates, **parts):
        return _record_rates._measure_rates(case, run, "attack", 0.1)


def ask_table(found):
    case = NS(agreement=found)
    answer = ModelAndTableCheck().ask(case, None, None)
    return answer.status, answer.text, answer.finding


def agree(status, cause=None, notes=(), asked=("rows",)):
    return NS(status=status, cause=cause, text="Told.", notes=notes, asked=asked)


def ask_shadows(estimate=0.75, status="ok", power=0.7, is_failure=True, n_exact=None):
    row = {"attack": "a", "scope": "overall", "metric": "auc", "status": status}
    row |= {"estimate": estimate, "low": estimate - 0.01, "high": estimate + 0.01}
    others = [row | {"scope": "sex"}, row | {"metric": "tpr"}, row | {"attack": "b"}]
    findings = NS(numbers=pd.DataFrame([*others, row]), power=None)
    if power is not None:
        last = {"auc": power, "sd": 0.005, "n_models": 7}
        findings.power = {"attack": "a", "numbers": [{}, last]}
    findings.of = lambda name: n_exact and {"duplicates": NS(n_exact=n_exact)}[name]
    run = NS(repetitions=NS(is_failure=is_failure, obstacle="It failed."))
    told = _results.ShadowModelsCheck().ask(NS(records=range(50)), run, findings)
    return told.status, told.text, told.finding


def ask_difficulty(low, high, interval=True):
    found = NS(estimate=0.5, low=low, high=high) if interval else None
    told, _ = ask(
        _baseline, _baseline.DifficultyCheck(), "measure_difficulty", found, NS(pool=None)
    )
    return told[0], told[1].partition(" on members")[0]


def ask_baseline(low, has_features=True, interval=True):
    found = (NS(low=low) if interval else None), "without the model"
    if interval:
        found = Interval(0.75, low, 0.8), "of trees"
    records = NS(has_features=has_features)
    given = {"records": records, "seeds": {"baseline": 7}}
    told, called = ask(_baseline, _baseline.BaselineCheck(), "_measure_baseline", found, **given)
    assert not called.called or called.call_args.args[1:] == (SIDES, 0.95, 3, 7)
    return told


STOPPED = MLPRegressor(hidden_layer_sizes=(1,), early_stopping=True, n_iter_no_change=1, tol=9.0)
FIXED, WARNED = ["blind baseline"], "Lossy ranks a member above a non-member 75 of 100 "
BEYOND_TEXT = (
    "Lossy ranks a member above a non-member 75 of 100 times. If the model has not seen the "
    "member, it does so 62 of 100 times, which is the difference between the sides alone. "
)
ONE_MEMBER = np.arange(10) < 1
KWARGS = {"attacks": 0, "fit_params": {"epochs": 2}, "n_jobs": 3, "random_state": 5}
FOUND = "On a model that memorized its training records, the attacks reach AUC 0.750 [0.700, 0.800]"

ROWS = [
    # The positive control is asked for, or runs where nothing was found.
    (lambda: ask_positive(0.025), ("not run", "Not requested.")),
    (lambda: ask_positive(0.026), ("passed", f"{FOUND} (p \u2264 0.01).")),
    (lambda: ask_positive(0.025, controls=True)[0], "passed"),
    (
        lambda: ask_positive(0.5, passed=False),
        ("warning", f"{FOUND} (p \u2264 0.01): they could not have found anything here."),
    ),
    (lambda: ask_positive(0.5, ONE_MEMBER), ("not run", "Too few members or non-members.")),
    (lambda: ask_positive(0.5, ~ONE_MEMBER), ("not run", "Too few members or non-members.")),
    (lambda: ask_positive(0.5, np.arange(10) < 2)[0], "passed"),
    # The negative one at a fifth of the level, with the pool that there is.
    (
        lambda: ask_negative(),
        (
            (
                "passed",
                "On a model that was trained without regard to membership, the attacks reach AUC "
                "0.500 [0.400, 0.600] (p = 0.5).",
            ),
            ("Ridge", KWARGS | {"confidence_level": 0.99}),
        ),
    ),
    (
        lambda: ask_negative(level=1 - 1e-9, pool="pool")[1][1],
        KWARGS | {"confidence_level": HIGHEST_LEVEL, "shadows": "pool"},
    ),
    (lambda: ask_negative(estimator=MLPRegressor())[1][0], "MLPRegressor"),
    (lambda: ask_negative(controls=False), (("not run", "Not requested."), None)),
    (
        lambda: ask_negative(membership=ONE_MEMBER),
        (("not run", "Too few members or non-members."), None),
    ),
    (
        lambda: ask_negative(victim=CallableVictim(np.sum, [0, 1])),
        (("not run", "The victim cannot be trained."), None),
    ),
    (lambda: ask_negative({}), (("not run", "Every attack has its own victim."), None)),
    # At rates at which ten others may be mistaken; the p-value is two-sided.
    (
        lambda: ask_permutation([0.2, 0.1, 0.09]),
        (
            (
                "stated",
                "Membership was permuted 999 times. The most significant of 2 results has "
                "p = 0.04, two-sided and corrected for all of them.",
            ),
            [0.2, 0.1],
            999,
        ),
    ),
    (lambda: ask_permutation([], 0.001)[0][1].partition("results has ")[2][:9], "p \u2264 0.002"),
    (lambda: ask_permutation([], 0.0011)[0][1].partition("results has ")[2][:9], "p = 0.002"),
    (lambda: _control._draw_balanced_labels(SIDES, np.random.default_rng(0)).sum(), 5),
    (
        lambda: [
            _control._draw_balanced_labels(SIDES, np.random.default_rng(0))[one].sum()
            for one in (SIDES, ~SIDES)
        ],
        [3, 2],
    ),
    (
        lambda: tell_refusal(
            lambda: _control._draw_balanced_labels(ONE_MEMBER, np.random.default_rng(0))
        ),
        "The control needs 2 members and 2 non-members; got 1 and 9.",
    ),
    # What lies beyond a shift is asked where the sides differ and something was found.
    (lambda: ask_beyond([0.025, 0.9], FIXED), ("stated", WARNED)),
    (lambda: ask_beyond([0.026, 0.9], FIXED), None),
    (lambda: ask_beyond([0.001], []), None),
    (lambda: ask_beyond([0.001], FIXED, answer=[None]), None),
    (
        lambda: ask_beyond([0.001], FIXED, model=CallableVictim(np.sum, [0, 1])),
        ("not run", "The model cannot be trained without some of the me"),
    ),
    (
        lambda: ask_beyond([0.001], FIXED, model=NS(fit=None, predict=None)),
        ("not run", "The model cannot be trained without some of the me"),
    ),
    (
        lambda: ask_beyond([0.001], FIXED, error=ValueError("a b")),
        ("not run", "It could not be measured: a b."),
    ),
    (
        lambda: [
            ask_beyond(
                [0.9], FIXED, check=shift_checks.BeyondShiftOfFileCheck(), file_scores=scores
            )
            for scores in (None, [1.0])
        ],
        [None, ("stated", WARNED)],
    ),
    (
        lambda: describe_beyond(),
        f"{BEYOND_TEXT}So training adds 12.5 of 100 times, and at least 10.0.",
    ),
    (lambda: describe_beyond(low=0.0), f"{BEYOND_TEXT}What training adds is not beyond chance."),
    (
        lambda: describe_beyond(rate=0.001).partition("10.0. ")[2],
        "It recognizes 250 of 1,000 members, and 0 of those that a model has not seen, when 1 of "
        "1,000 others is mistaken for one.",
    ),
    # The rates that were measured, where scores are tied, and not the one that was allowed.
    (
        lambda: describe_beyond(rate=0.05, fpr=0.0, fpr_unseen=0.04).partition("10.0. ")[2],
        "It recognizes 25 of 100 members, when none of 100 others is mistaken for one, and 0 of "
        "those that a model has not seen, when 4 of 100 others are mistaken for one.",
    ),
    # Five folds of at least twenty members, people with all their records in one of them.
    (lambda: deal(), ([20] * 5, {-1})),
    (lambda: deal(n_own=104), ([21, 21, 21, 21, 20], {-1})),
    (lambda: deal(np.append(np.arange(200) // 2, np.arange(200, 210)), 200), ([40] * 5, {-1})),
    (
        lambda: tell_refusal(lambda: deal(n_own=99)),
        "there are fewer than 100 independent members",
    ),
    (
        lambda: tell_refusal(lambda: deal(np.append([0, 0], np.arange(108)))),
        "there are fewer than 100 independent members",
    ),
    (compare_by_hand, [0.0] * 5),
    (lambda: compare_folds(7.5), ("a", "f", [0, 10, 20, 30, 40])),
    (
        lambda: tell_refusal(lambda: compare_folds(7.4)).partition("which ")[2],
        "takes about 7.5 s, and 7.4 s are allowed; audit fewer records.",
    ),
    (lambda: compare_rates([0.2, 0.09, 0.08]), (0.09, True, [True, True])),
    (lambda: compare_rates([0.08]), (None,)),
    (lambda: compare_rates([10 / 154], 154), (10 / 154, True, [True, True])),  # 10 but for rounding
    (
        lambda: _beyond_shift._place(array([2.0, 0.0]), array([1.0, 2.0, 3.0, 0.0])),
        ([0.625, 0.125], [0.5, 0.25, 0.0, 0.75]),
    ),
    (lambda: train_fold("proba"), (True, 33, "params", None, "proba")),
    (lambda: train_fold("label"), (True, 33, "params", None, "labels")),
    # The strongest attack that judges all records and looks at the given model.
    (
        lambda: choose_answers({"a", "b"}, {"a": array([True]), "b": array([True])}),
        ("a", [1]),
    ),
    (lambda: choose_answers({"b"}, {"a": array([True]), "b": array([True])}), ("b", [2])),
    (
        lambda: choose_answers({"a", "b"}, {"a": array([True, False]), "b": array([True])}),
        ("b", [2]),
    ),
    (
        lambda: choose_answers({"a", "b"}, dict.fromkeys("ab", array([True])), own=["a"]),
        ("b", [2]),
    ),
    (lambda: choose_answers({}, {}), None),
    # A tree that reads three columns and the label learns other labels; of many records a sample.
    (lambda: positive(), (7, ["group_by"], [2, 1], 0.95, (None, 16, None, None), 4)),
    (lambda: positive(people=False, shadows=4, n_jobs=2)[4], (None, 4, 2, None)),
    (lambda: positive(people=False, confidence_level=0.9)[1:4:2], ([], 0.9)),
    (lambda: [positive(n)[0] for n in (20, 21)], [20, 20]),
    # A model that is trained on half of each side.
    (lambda: negative(), ([2, 2], None, "default", 0.95, ("Ridge", 16, None, None))),
    (
        lambda: negative(attacks="a", shadows=4, fit_params="p", n_jobs=2, confidence_level=0.9),
        ([2, 2], "p", "a", 0.9, ("Ridge", 4, 2, "p")),
    ),
    # Where words are read as well, each of two baselines may warn; the one with the higher end.
    (lambda: measure_baseline(), ((0.5, 0.4, 0.6), "", [0.95])),
    (lambda: measure_baseline(None), (None, "", [])),
    (
        lambda: measure_baseline(words=[(0.6, 0.5, 0.7)]),
        ((0.6, 0.5, 0.7), ", on the words of the texts,", [0.975, 0.975]),
    ),
    (lambda: measure_baseline(words=[(0.6, 0.3, 0.9)])[:2], ((0.5, 0.4, 0.6), "")),
    (
        lambda: [
            one.tolist() for _, _, one in _permutation._check_subsets([("s", "g", [True])], 1)
        ],
        [[True]],
    ),
    (lambda: compare_file(), ("the file attack", "scores")),
    (lambda: [score_answers(one) for one in ("pool", None)], [([2, 1], "f"), ([2, 0], "f")]),
    (
        lambda: [_drift.DriftResult(2.6, p, 0.6, 0.5, 5, 9).is_warning for p in (0.005, 0.0051)],
        [True, False],
    ),
    # The smallest rate from 1% on, of all records, or else the largest.
    (lambda: choose_rate(0.1, 0.02, 0.001), 0.02),
    (lambda: choose_rate(0.01, 0.02), 0.01),
    (lambda: choose_rate(0.0001, 0.001), 0.001),
    (lambda: choose_rate(), None),
    # Units are paired within their block, a member with another one; some have no partner.
    (lambda: bundle([0, 0, 0, 1, 1], [1, 0, 1, 1, 0], 1), ([2, 2], 1, True)),
    (lambda: bundle([0, 0, 0, 0, 1, 1, 1, 1], [1, 0, 0, 1, 0, 1, 0, 0], 1), ([2, 2, 2], 2, True)),
    (lambda: bundle([0] * 5, [1, 0, 1, 0, 1], 0), ([2, 2], 1, True)),
    # Masks are digits of numbers: in base 2 of single records, of more in that of the largest unit
    # or block and one more, as many as 53 bits hold.
    (
        lambda: pack([[1, 0, 1], [1, 1, 0], [0, 1, 1]], [0, 1, 2]),
        [[1.0 + 2.0, 2.0 + 4.0, 1.0 + 4.0]],
    ),
    (lambda: pack([[0, 1]] * 53, [0, 1]), [[0.0, 2.0**53 - 1]]),
    (lambda: pack([[0, 1]] * 54, [0, 1]), [[0.0, 2.0**53 - 1], [0.0, 1.0]]),
    (lambda: pack([[1, 0, 1, 0], [1, 1, 0, 0]], [0, 0, 0, 1]), [[5.0, 4.0, 1.0, 0.0]]),
    (lambda: len(pack([[1, 0, 1, 0]] * 27, [0, 0, 0, 1])), 2),
    (
        lambda: pack([[1, 0, 1, 0], [1, 1, 0, 0]], [0, 1, 2, 3], [0, 1, 1, 1], 1),
        [[5.0, 4.0, 1.0, 0.0]],
    ),
    (
        lambda: pack([[1, 0, 1, 0], [1, 1, 0, 0]], [0, 1, 2, 3], [0, 1, 1, 1], 0),
        [[3.0, 2.0, 1.0, 0.0]],
    ),
    (
        lambda: pack([[1, 0, 1, 0], [1, 1, 0, 0]], [0, 1, 2, 3], [0, 0, 0, 1], 1),
        [[3.0, 2.0, 1.0, 0.0]],
    ),
    # The check of drift ends early where the splits that are left have a chance below 5%.
    (lambda: is_hopeless(1, 5), [True, False]),
    (lambda: is_hopeless(2, 5), [True, False]),
    (lambda: is_hopeless(3, 4), [True, False]),
    (
        lambda: [
            tell_refusal(lambda n=n: _drift._number_sets(Records(np.eye(n)), np.arange(n) < 40))
            for n in (79, 80)
        ],
        [
            "One side has 39 independent records (different ones, of different people); the check "
            "needs 40 members and as many non-members.",
            None,
        ],
    ),
    # Attacks that rank members below the others, in groups where not over all records.
    (lambda: ask_signs(("a", "overall", "", 0.026)), ("passed", "No attack ranks")),
    (lambda: ask_signs(("a", "overall", "", 0.025)), ("warning", "a ranks")),
    (
        lambda: ask_signs(("a", "overall", "", 0.01), ("b", "overall", "", 0.02)),
        ("warning", "a and b rank"),
    ),
    (
        lambda: ask_signs(("a", "overall", "", 0.01), ("b", "sex", "m", 0.001)),
        ("warning", "a ranks"),
    ),
    (
        lambda: ask_signs(("a", "overall", "", 0.5), ("b", "sex", "m", 0.001)),
        ("warning", "b in sex=m ranks"),
    ),
    # People are found, and single records are not.
    (lambda: ask_persons(None, 0.5), None),
    (lambda: ask_persons(0.026, 0.5), ("stated", ", which is not beyond chance.")),
    (lambda: ask_persons(0.025, 0.025), ("stated", ", and single records are found as well.")),
    (
        lambda: ask_persons(0.025, 0.026),
        ("warning", ", although no number of single records is beyond chance."),
    ),
    (
        lambda: ask_resolution(1000),
        (
            "With 1,000 non-members, rates down to 1% (10 false positives) can be measured.",
            (0.01, 0.01, None),
        ),
    ),
    (
        lambda: ask_resolution(9)[0],
        "With 9 non-members, no rate can be measured: it takes 10.",
    ),
    (lambda: ask_resolution(10)[0][:44], "With 10 non-members, rates down to 100% (10 "),
    # 1,000 rows of 500 people, who are as many as far as they are alike.
    (
        lambda: ask_resolution(1000, np.append([0] * 5, 1 + np.arange(1000) // 2))[0][78:],
        " This holds if records of a person are independent; they belong to 500 people, and if "
        "all records of a person are alike, rates down to 2% can be measured.",
    ),
    (
        lambda: ask_resolution(1000, np.append([0] * 5, 1 + np.arange(1000) // 2))[1],
        (0.01, 0.02, 500),
    ),
    (lambda: len(ask_resolution(1000, np.append([0] * 5, np.arange(1000)))[0]), 78),
    (lambda: ask_resolution(12, [0] * 5 + [1] * 12)[0][-24:], "to 100% can be measured."),
    # Rates at which no attack has a number, of all records.
    (
        lambda: ask_resolution(
            1000,
            None,
            [
                ("overall", "tpr", 0.001, "not resolvable"),
                ("overall", "tpr", 0.01, "ok"),
                ("overall", "tpr", 0.01, "not resolvable"),
                ("sex", "tpr", 0.1, "not resolvable"),
                ("overall", "auc", 0.2, "too few records"),
                ("overall", "tpr", 0.0001, "not resolvable"),
            ],
        )[0][78:],
        " No TPR is given at 0.1%, 0.01%.",
    ),
    # The attack on this model, and on shadow models.
    (lambda: ask_shadows(power=None), ("error", "It failed.", None)),
    (lambda: ask_shadows(power=None, is_failure=False)[0], "not run"),
    (
        lambda: ask_shadows(status="too few records"),
        (
            "not run",
            "a reaches AUC 0.700 (SD 0.005) on 7 shadow models treated as victims. Too few "
            "records to compare this model.",
            None,
        ),
    ),
    (
        lambda: ask_shadows(0.71),
        (
            "passed",
            "a reaches AUC 0.700 (SD 0.005) on 7 shadow models treated as victims, and 0.710 on "
            "this model.",
            None,
        ),
    ),
    (lambda: ask_shadows(0.75)[::2], ("warning", "above")),
    (lambda: ask_shadows(0.65)[::2], ("warning", "below")),
    # Copies on both sides are named as a reason if they are many, and excuse nothing.
    *((lambda n=n: ask_shadows(0.65, n_exact=n)[::2], ("warning", "below")) for n in (None, 5, 6)),
    (lambda: "copy" in ask_shadows(0.65, n_exact=5)[1], False),
    (
        lambda: ask_shadows(0.65, n_exact=6)[1].partition("this model. ")[2],
        "6 of 50 records have an exact copy on the other side of this model, which lowers its "
        "number: shadow models are trained on all copies of a record or on none. Remove the copies "
        "to compare them. Check that membership names the records it was trained on, and that the "
        "shadow models are trained the same way.",
    ),
    (lambda: ask_shadows(0.75, n_exact=6)[::2], ("warning", "above")),
    # One side is harder for models that know neither, or can be told without the model.
    (lambda: ask_difficulty(0.4, 0.6, False), ("not run", "No shadow models.")),
    (lambda: ask_difficulty(0.5, 0.6), ("passed", "Shadow models perform equally well")),
    (lambda: ask_difficulty(0.4, 0.5), ("passed", "Shadow models perform equally well")),
    (lambda: ask_difficulty(0.51, 0.6), ("warning", "Shadow models perform better")),
    (lambda: ask_difficulty(0.4, 0.49), ("warning", "Shadow models perform worse")),
    (
        lambda: ask_baseline(0.5),
        (
            "passed",
            "A baseline of trees reaches AUC 0.750 [0.500, 0.800]; a warning is given if the "
            "interval lies above 0.5.",
        ),
    ),
    (lambda: ask_baseline(0.501)[0], "warning"),
    (lambda: ask_baseline(0.5, has_features=False)[0], "not run"),
    (
        lambda: ask_baseline(0.5, interval=False),
        ("not run", "Too few records for a baseline without the model."),
    ),
    # A number of rows that is the one of the members needs no clone, unless some are held back.
    (
        lambda: count_of_clone(SEARCHED),
        (33, [("Pipeline", "records", "members", 7, {"a": 1})]),
    ),
    (lambda: count_of_clone(SEARCHED, ValueError("odd"))[0], None),
    (lambda: count_of_clone(CallableVictim(len, [0, 1])), (None, [])),
    (take_recipe, ("Pipeline", 3.0, False)),
    (
        lambda: ask_groups(),
        (
            "stated",
            "Too few records to judge sex=g0 and sex=g1: there, not even a perfect attack could be "
            "distinguished from chance.",
        ),
    ),
    (
        lambda: ask_groups(0.25, 0.5),
        (
            "warning",
            "In sex=g1, the advantage of an attack on shadow models treated as victims is 50%, but "
            "its 1,201 records are too few to distinguish any attack on this model from chance. "
            "The same holds for 1 more group.",
        ),
    ),
    (lambda: ask_groups(0.25, n_groups=3)[1][-7:], "chance."),
    (lambda: ask_groups(0.25, is_failure=True), ("error", "No memory.")),
    (lambda: ask_groups(n_groups=0), None),
    (measure_rates, (0.1, [[False, True, False]] * 2, 0.9)),
    (lambda: measure_rates(TooFewModelsError("few")), None),
    (lambda: tell_refusal(lambda: measure_rates(ValueError("odd"))), "odd"),
    (lambda: ask_table(None), ("not run", "Model and table were not compared.", None)),
    (lambda: ask_table(agree("pass", asked=())), ("not run", "Told.", None)),
    (lambda: ask_table(agree("pass", notes=["One."])), ("passed", "Told. One.", "pass")),
    (lambda: ask_table(agree("stop"))[::2], ("warning", "stop")),
    (lambda: ask_table(agree("cannot tell"))[::2], ("stated", "cannot tell")),
    (lambda: ask_table(agree("warn", "rows"))[::2], ("warning", "warn")),
    (lambda: ask_table(agree("warn", "repeats"))[::2], ("warning", "noise")),
    (lambda: ask_table(agree("stop", "repeats"))[::2], ("warning", "stop")),
    (lambda: get_check("of another version").ask(None, None, None), None),
    (lambda: count_rows(None), None),
    (lambda: count_rows(120, victim=Ridge()), None),
    (lambda: count_rows(100), (100, 60, 60, False, 100, False, False)),
    (lambda: count_rows(120), (120, 60, 60, False, 100, False, True)),
    (lambda: count_rows(120, may_repeat=True), (120, 60, 60, False, 100, True, True)),
    (lambda: count_rows(120, clone=50), (120, 60, 50, True, 100, False, True)),
    (lambda: count_rows(120, clone=60), (120, 60, 60, False, 100, False, True)),
    (
        lambda: count_rows(100, clone=50, victim=STOPPED.fit(np.eye(20), np.arange(20.0))),
        (100, 60, 50, True, 100, False, True),
    ),
]


def test_answers_by_hand():
    expect_answers(ROWS)


# -- sides that are not what they are called, and attacks on the model of a control

FIT = ("share", array([1.0, 0.0]), array([1.0, 1.0]))
ERRORS = ("error", array([1.0, 0.0]), array([1.0, 2.0]))


def ask_sides(
    *,
    adjusted=0.5,
    below=0.5,
    by_file=False,
    unlisted=None,
    covers=False,
    obstacle=None,
    step=None,
    stopped=None,
    reads=None,
):
    """Return status, finding and first words of what is said of the sides."""
    frame = pd.DataFrame({"pvalue_adjusted": [0.9, adjusted], "pvalue_below": [nan, below]})
    findings = NS(permutation=NS(frame=frame), of=lambda name: unlisted)
    reader = NS(obstacle=obstacle, read_last_step=lambda: NS(rows=step, step="Ridge"))
    seen = []

    def read(self, reader, fit, turned, has_more):
        seen.append((turned, has_more))
        return self.answer("stated", "read")

    parts = {
        "_finds_by_file": lambda case, run: by_file,
        "measure_fit": lambda case: FIT,
        "_covers_held_out": lambda case, unlisted, finds: covers and seen.append(finds) is None,
        "SidesReader": lambda case, pool: reader,
        "stops_on_held_out": lambda case: stopped,
        "_describe_count": lambda unlisted, fit: "counted",
    }
    with (
        mock.patch.multiple(_sides, **parts),
        mock.patch.object(_sides.SidesCheck, "_read", read),
    ):
        told = _sides.SidesCheck().ask(NS(level=0.95), NS(pool=None), findings)
    return told.status, told.finding, told.text[:24], seen


def read_sides(rows="none", *, obstacle=None, turned=False, fit=FIT, has_more=False):
    """Return what is said of the rows that models tell, or of the fit where none does."""
    reading = NS(rows=None if rows == "none" else rows, is_exact=True)
    reader = NS(obstacle=obstacle, read=lambda given: reading if given is has_more else None)
    told = _sides.SidesCheck()._read(reader, fit, turned, has_more)
    return told.status, told.finding, told.text


def swap(rows=None, is_exact=True, fit=FIT):
    reading = None if rows is None else NS(rows=rows, is_exact=is_exact)
    return _sides._describe_swap(reading, fit)


def find_by_file(low, scores="scores"):
    interval = mock.Mock(return_value=NS(low=low))
    with mock.patch.object(_sides, "auc_interval", interval):
        found = _sides._finds_by_file(NS(membership="m"), NS(file_scores=scores))
    assert scores is None or interval.call_args == mock.call("m", "scores", confidence_level=0.999)
    return found


def attack_control(kind="positive", pvalue=0.05, own=(), fitted=("a", "b")):
    """Return the result of a control, by two attacks of which one may have its own victim."""
    seen = {}

    def test(membership, scores, **given):
        seen.update(given, membership=membership)
        return NS(
            pvalue=pvalue,
            n_permutations=99,
            frame=pd.DataFrame({"pvalue_adjusted": [0.2, 0.1][: len(scores)]}),
        )

    def run(case, plan, clock):
        seen["request"] = case.request
        return NS(
            scores={name: f"scores {name}" for name in case.attacks}, tested="tested", fitted=fitted
        )

    parts = {
        "choose_attacks": lambda attacks, request: {"a": "a", "b": "b"},
        "has_own_victim": lambda attack: attack in own,
        "make_plan": lambda *given: given,
        "run_attacks": run,
        "get_people": lambda records, membership: "people",
        "permutation_test": test,
        "count_permutations": lambda level: int(100 * level),
        "auc_interval": lambda membership, scores, **given: Interval(
            0.5 + 0.25 * ("b" in scores), 0.4, 0.9
        ),
        "widen": lambda row: row | {"low": 0.0, "high": 1.0},
    }
    records = NS(with_outputs=lambda victim: {"outputs": f"of {victim}"})
    with mock.patch.multiple(_control, **parts):
        call = lambda: _control.attack_control(  # noqa: E731
            kind, "victim", records, "m", "default", 0.95, 7, ("e", "s", 2, "f")
        )
        refusal = tell_refusal(call)
        if refusal is not None:
            return refusal
        found = call()
    request = seen["request"]
    told = request.victim, request.outputs, request.estimator, request.shadows, request.n_jobs
    assert told == ("victim", "of victim", "e", "s", 2) and request.fit_params == "f"
    assert (request.shadow_seed, request.attack_seed, request.batched, request.verbose) == (
        7,
        7,
        "auto",
        0,
    )
    assert seen["judged"] == "tested" and seen["n_permutations"] == 95 and seen["random_state"] == 7
    assert seen["group_by"] == "people" and (found.kind, found.pvalue) == (kind, pvalue)
    return found.passed, found.n_permutations, found.frame


def told_fit(fit=FIT):
    return _sides._tell_fit_numbers(fit)


SWAP = ": the two sides are most likely swapped."
SAME_OTHERS = "a model like it that is trained on the others gives the same answers"
STEP = "The last step of the model (Scaler) was fitted on "
AGAIN = ": fitted on them again, it gives the same answers. So the held-out rows are in the model."
MORE_ROWS = [
    (
        lambda: [
            _sides._describe_step(NS(rows=rows, step="Scaler"))
            for rows in (_sides.HELD_OUT, "both")
        ],
        [
            f"{STEP}the held-out rows{AGAIN}",
            f"{STEP}members and held-out rows together{AGAIN}",
        ],
    ),
    (lambda: ask_sides(), ("stated", None, "read", [(False, False)])),
    (lambda: ask_sides(below=0.025)[3], [(True, False)]),
    (lambda: ask_sides(below=0.026)[3], [(False, False)]),
    (lambda: ask_sides(unlisted=1)[3], [(False, True)]),
    (lambda: ask_sides(adjusted=0.025)[::2], ("passed", "Attacks find members amo")),
    (lambda: ask_sides(adjusted=0.026)[0], "stated"),
    (lambda: ask_sides(by_file=True)[0], "passed"),
    (
        lambda: ask_sides(unlisted=1, covers=True, by_file=True),
        ("warning", _sides.IN_MODEL, "counted", [True]),
    ),
    (lambda: ask_sides(covers=True)[0], "stated"),
    (
        lambda: ask_sides(step=_sides.HELD_OUT, adjusted=0.01)[:3],
        ("warning", _sides.IN_PART, "The last step of the mod"),
    ),
    (lambda: ask_sides(step=_sides.BOTH)[1], _sides.IN_PART),
    (lambda: ask_sides(step=_sides.MEMBERS)[0], "stated"),
    (lambda: ask_sides(step=_sides.BOTH, obstacle="odd")[0], "stated"),
    (
        lambda: ask_sides(stopped="by a file", by_file=True)[:3],
        ("warning", _sides.IN_PART, "The training of the mode"),
    ),
    (
        lambda: read_sides(_sides.MEMBERS),
        ("passed", None, "A model that is trained on the members gives the same answers."),
    ),
    (lambda: read_sides(_sides.BOTH, has_more=True)[:2], ("warning", _sides.IN_MODEL)),
    (lambda: read_sides(_sides.HELD_OUT)[:2], ("warning", _sides.SWAPPED)),
    (lambda: read_sides()[2][:17], "Nothing indicates"),
    (lambda: read_sides(turned=True)[0], "passed"),
    (
        lambda: read_sides(turned=True, fit=("share", np.zeros(20), np.ones(20)))[1],
        _sides.SWAPPED,
    ),
    (lambda: read_sides(fit=("share", np.zeros(20), np.ones(20)))[0], "passed"),
    (lambda: read_sides(obstacle="It is odd."), ("not run", None, "It is odd.")),
    (lambda: read_sides(obstacle="It is odd.", turned=True)[0], "passed"),
    (lambda: swap(), f"{told_fit()}{SWAP}"),
    (lambda: swap(_sides.HELD_OUT), f"{told_fit()}, and {SAME_OTHERS}{SWAP}"),
    (lambda: swap(_sides.MEMBERS), f"{told_fit()}{SWAP}"),
    (lambda: swap(_sides.HELD_OUT, fit=None), f"A{SAME_OTHERS[1:]}{SWAP}"),
    (
        lambda: swap(_sides.HELD_OUT, False, None).partition("the others ")[2],
        f"fits both sides as it does{SWAP}",
    ),
    (lambda: told_fit(ERRORS)[:41], "The squared error of the model is 0.5 on "),
    (lambda: told_fit(ERRORS).rpartition(" and ")[2][:3], "1.5"),
    (lambda: told_fit(None), ""),
    (
        lambda: told_fit(("share", array([1.0] * 299 + [0.0]), array([1.0])))[22:64],
        "more than 99% of the rows that are called ",
    ),
    (
        lambda: _sides._describe_both(NS(is_exact=False), None),
        "The held-out rows are most likely among the training rows of the model. A model like it "
        "that is trained on both sides fits both sides as this one does.",
    ),
    (
        lambda: _sides._describe_count(NS(n_rows=1234), FIT),
        "The held-out rows are most likely among the 1,234 training rows that the file states. "
        f"{told_fit()}.",
    ),
    (lambda: [find_by_file(low) for low in (0.5, 0.51)], [False, True]),
    (lambda: find_by_file(0.9, None), False),
    # A positive control passes if its leak is found, a negative one if none is.
    (
        lambda: attack_control(),
        (
            True,
            99,
            {
                "attack": ["a", "b"],
                "auc": [0.5, 0.75],
                "low": [0.4, 0.4],
                "high": [0.9, 0.9],
                "pvalue_adjusted": [0.2, 0.1],
            },
        ),
    ),
    (
        lambda: [
            attack_control(kind, p)[0] for kind in ("positive", "negative") for p in (0.05, 0.051)
        ],
        [True, False, False, True],
    ),
    (lambda: attack_control(fitted=["b"])[2]["low"], [0.0, 0.4]),
    (lambda: attack_control(own=["a"])[2]["attack"], ["b"]),
    (
        lambda: attack_control(own=["a", "b"]),
        "The control needs an attack without its own victim; got none.",
    ),
]


def test_sides_and_controls_by_hand():
    expect_answers(MORE_ROWS)


# -- the check of drift


def rank_left_out(first, second, membership, draws=None):
    draws = np.arange(len(membership)) if draws is None else array(draws)
    scores = array([first, second], dtype=float)
    return _drift._rank_left_out(scores, array(membership, dtype=bool), draws)


def rank_by_hand():
    """Compute the statistic of eight records, which are five draws of 2, 2, 1, 1 and 2 records."""
    difference = array([3.0, 1.0, 2.0, 5.0, 4.0, 8.0, 6.0, 7.0])
    membership = array([1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    draws = array([0, 0, 1, 1, 2, 3, 4, 4])
    sums = pd.Series(difference - 4.5).groupby(draws).sum().to_numpy()
    variance = 2 * 3 / 5 * sums.var(ddof=1)
    z = (sums[:2].sum() - 2 * sums.mean()) / np.sqrt(variance)
    return rank_left_out(difference, np.zeros(8), membership, draws), (z, 1 / 16, 1 / 16)


def draw_split(given=None, is_class=True):
    """Split forty members, who are pairs of equal records, and forty others."""
    membership = np.arange(80) < 40
    units = np.r_[np.arange(40) // 2, 20 + np.arange(40)]
    records = Records(np.zeros((80, 1)), np.arange(80) // 2 % 2)
    model = LogisticRegression() if is_class else Ridge()
    given = None if given is None else NS(inside=given)
    split = _drift._draw_split(model, records, membership, units, 3, 7, given)
    members, others = split.trained
    assert not (members & ~membership).any() and not (others & membership).any()
    assert sorted(split.left_out) == np.flatnonzero(~(members | others)).tolist()
    whole = (members[:40:2] == members[1:40:2]).all()
    by_class = [int(members[records.y == one].sum()) for one in (0, 1)]
    return split, (bool(whole), by_class, int(others.sum()), split.first)


def draw_splits(n, is_apart=True, n_given=1):
    """Return which splits are drawn, and of which given models."""
    membership, made = array([True, True, False, False]), []
    units = array([0, 1, 2, 3]) if is_apart else array([0, 1, 1, 3])

    def draw(model, records, membership, units, seed, number, given):
        made.append((seed, number, given and given.fits))
        return number

    parts = {
        "_draw_split": draw,
        "_exchange_others": lambda split, membership: f"{split} again",
    }
    given, fits = [NS(fits=f"fits {k}") for k in range(n_given)], {}
    with mock.patch.multiple(_drift, **parts):
        splits = _drift._draw_splits(None, None, membership, units, range(n), given, fits)
    return splits, made, fits


def check_classes(*trained, y=(0, 0, 1, 1, 0, 0, 1, 1), model=None):
    """Refuse splits of four members and four others, of which some are trained on, or not."""
    splits = [NS(trained=array(one, dtype=bool)) for one in trained]
    records, membership = NS(y=array(y)), np.arange(8) < 4
    model = LogisticRegression() if model is None else model
    return tell_refusal(lambda: _drift._check_classes(model, records, membership, splits))


def score_labels(outputs, y, fits=False):
    with np.errstate(over="ignore"):
        found = (_drift.fit_labels if fits else _drift._score_labels)(outputs, array(y))
    return found if found is None else found.tolist()


def number_draws(rows, membership, people=None, picked=None):
    fields = {} if people is None else {"group_by": people}
    records = Records(array(rows, dtype=float).reshape(-1, 1), np.zeros(len(rows)), **fields)
    picked = np.arange(len(rows)) if picked is None else array(picked)
    with mock.patch.object(_drift, "pick_draws", lambda *given: picked):
        return _drift._number_draws(records, membership, 10 + np.arange(len(rows)))


def pass_to_drift():
    """Return what a test of drift is passed on with, of targets of any number."""
    seen = []
    parts = {"_test_drift": lambda *given, **settings: seen.append((given, settings)) or "found"}
    records = Records(np.zeros((4, 1)), np.arange(8.0).reshape(4, 2))
    with mock.patch.multiple(_drift, **parts):
        found = _drift.drift_test(MODEL, records, [1, 0, 1, 0], n_splits=3, random_state=5)
    ((model, given, inside), settings) = seen[0]
    return found, model is MODEL, given is records, inside, settings


MODEL = Ridge()


def ask_drift(pvalue=0.5, loss_auc=0.5, model=None, error=None, warns=False):
    """Return what is said of a drift, and what the test was given."""
    found = _drift.DriftResult(2.6 if warns else 0.0, pvalue, 0.625, loss_auc, 5, 1200)

    def test(*given, **settings):
        if error is not None:
            raise error
        return found

    request = NS(model=Ridge() if model is None else model, fit_params="f", n_jobs=3)
    case = NS(request=request, records="r", membership="m", seeds={"checks": 4}, agreement=None)
    tested = mock.Mock(side_effect=test)
    with mock.patch.object(_drift, "_test_drift", tested):
        told = _drift.DriftCheck().ask(case, None, None)
    if tested.called:
        settings = {"n_splits": "auto", "fit_params": "f", "n_jobs": 3, "random_state": 4}
        assert tested.call_args.args[1:] == ("r", "m")
        assert tested.call_args.kwargs == settings | {"half_models": ()}
    return told.status, told.text.rpartition(" halves")[2]


GIVEN = np.arange(80) % 4 < 2
NO_SCORES = Outputs(array([1.0, 2.0]), kind="log_odds")
EVEN = [[1, 0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 1, 0]]
ODD = [[1, 1, 0, 1, 0, 0, 0, 0], EVEN[1]]
OTHERS_ODD = [EVEN[0], [0, 0, 0, 0, 1, 1, 1, 0]]
OF_DRIFT = [
    (lambda: np.subtract(*rank_by_hand()).round(12).tolist(), [0.0, 0.0, 0.0]),
    # Four members of whom one is below an other, by the difference and by the first model.
    (
        lambda: rank_left_out([5, 6, 7, 1], [1, 1, 1, 0], [1, 1, 0, 0])[1:],
        (0.5, 0.5),
    ),
    (lambda: rank_left_out([5, 6, 3, 1], [6, 0, 0, 0], [1, 1, 0, 0])[1:], (0.5, 1.0)),
    # Copies take no part, and equal sums say nothing.
    (lambda: rank_left_out([9, 2, 3, 1], [0, 0, 0, 0], [1, 1, 0, 0], [-1, 0, 1, 2])[1], 0.5),
    (lambda: rank_left_out([1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]), (0.0, 0.5, 0.5)),
    (lambda: draw_split()[1], (True, [10, 10], 20, 7)),
    (lambda: draw_split(is_class=False)[1][::2], (True, 20)),
    (lambda: bool((draw_split(GIVEN)[0].trained[0] == (GIVEN & (np.arange(80) < 40))).all()), True),
    (
        lambda: bool((draw_split(GIVEN)[0].trained[1] == draw_split()[0].trained[1]).all()),
        True,
    ),
    (
        lambda: draw_splits(4),
        (
            [0, "0 again", 2, "2 again"],
            [(0, 0, "fits 0"), (2, 2, None)],
            {0: "fits 0"},
        ),
    ),
    (
        lambda: draw_splits(3, is_apart=False, n_given=2),
        (
            [0, 1, 2],
            [(0, 0, "fits 0"), (1, 1, "fits 1"), (2, 2, None)],
            {0: "fits 0", 1: "fits 1"},
        ),
    ),
    (
        lambda: [
            one.astype(int).tolist()
            for one in _drift._exchange_others(
                _drift.HalvesSplit(array([[1, 0, 0, 0], [0, 0, 1, 0]]) > 0, [1, 3], 5),
                array([1, 1, 0, 0]) > 0,
            ).trained
        ],
        [[1, 0, 0, 0], [0, 0, 0, 1]],
    ),
    (
        lambda: _drift._exchange_others(
            _drift.HalvesSplit(array([[1, 0, 0, 0], [0, 0, 1, 0]]) > 0, [1, 3], 5),
            array([1, 1, 0, 0]) > 0,
        )[1:],
        ([1, 2], 5),
    ),
    # A class in one half of a side alone, in more than half of the splits.
    (lambda: check_classes(EVEN, EVEN), None),
    (lambda: check_classes(EVEN, ODD), None),
    (
        lambda: check_classes(EVEN, ODD, OTHERS_ODD),
        "The class 0 has so few members or non-members that only one half of them has it.",
    ),
    (lambda: check_classes(ODD, model=Ridge()), None),
    (lambda: check_classes(EVEN, y=(0, 0, 1, 1, 0, 0, 1, 2))[:11], "The class 1"),
    # A probability is at least a hundredth, and an error finite.
    (
        lambda: score_labels(Outputs(array([[0.25, 0.75], [0.999, 0.001]]), [0, 1]), [1, 1]),
        [np.log(0.75), np.log(0.01)],
    ),
    (lambda: score_labels(Outputs(array([1.0, 3.0]), None, "value"), [2.0, 5.0]), [-1.0, -4.0]),
    (lambda: score_labels(Outputs(array([1e200]), None, "value"), [0.0]), [-np.finfo(float).max]),
    (lambda: score_labels(Outputs(array([0, 1]), [0, 1], "label"), [0, 0]), [1.0, 0.0]),
    (lambda: score_labels(Outputs(array([0, 1]), [0, 1], "label"), [0, 0], True), [1.0, 0.0]),
    (lambda: score_labels(Outputs(array([0, 1]), [0, 1], "label"), [0, 7], True), None),
    (lambda: score_labels(NO_SCORES, [0, 1], True), None),
    (lambda: score_labels(Outputs(array([1.0]), None, "value"), [2.0], True), [-1.0]),
    (lambda: number_draws([1, 2, 2], [1, 0, 1]), [0, 1, 2]),
    (lambda: number_draws([1, 2, 3], [1, 0, 1], list("aba")), [0, 1, 0]),
    (lambda: number_draws([1, 2, 2], [1, 0, 0], picked=[0, 1]), [10, 11, -1]),
    (
        pass_to_drift,
        (
            *("found", True, True, [True, False, True, False]),
            {"n_splits": 3, "fit_params": None, "n_jobs": None, "random_state": 5},
        ),
    ),
    (
        lambda: ask_drift(),
        (
            "passed",
            f" (AUC 0.625, p = 0.5; a warning is given at {_drift.DRIFT_ERROR:g} or below).",
        ),
    ),
    (
        lambda: ask_drift(0.001, warns=True),
        (
            "warning",
            " (AUC 0.625): the relation of labels to features differs between the two sides.",
        ),
    ),
    (
        lambda: ask_drift(0.001, 0.75, warns=True)[1].partition("sides.")[2],
        " A model that knew none of these members would rank them above the non-members (AUC 0.750 "
        "by the loss, trained on 1,200 records).",
    ),
    (lambda: ask_drift(model=NS(fit=1, predict=1))[0], "not run"),
    (lambda: ask_drift(model=CallableVictim(np.sum, [0, 1]))[0], "not run"),
    (lambda: ask_drift(error=_drift.UnansweredError("Too few.")), ("not run", "Too few.")),
]


def test_drift_by_hand():
    expect_answers(OF_DRIFT)
