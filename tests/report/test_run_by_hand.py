"""How an audit grows its pool, runs and repeats attacks, and measures conditions, by hand."""

from collections import namedtuple
from contextlib import nullcontext
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression, Ridge

from skmia import Outputs
from skmia.attacks import LiRA, ThresholdAttack
from skmia.metrics import Interval
from skmia.report import _checks_of_release, _release, _run
from skmia.report._pool_size import ENOUGH, MEMORY, MOST, TIME, UNMEASURED

# -- growth


class Growing:
    """A pool that grows at two seconds a model, unless memory is short."""

    def __init__(self, pool, records):
        self.pool, self.size, self.grown, self.asked = self, 0, [], []
        self.seconds_per_model = 2.0
        Growing.made = self

    def grow(self, size):
        if size > Growing.most:
            raise Growing.error
        self.grown.append(size)
        self.size = size

    def fits(self, size, seconds):
        self.asked.append((size, seconds))
        return size <= Growing.most_in_time

    def first(self, size):
        return f"first {size}"


class Meter:
    def __init__(self, case, plan):
        self.measured = []
        Meter.made = self

    def measure(self, pool):
        self.measured.append(pool)
        return {"a": pool}

    def choose_figure(self, powers):
        return {"metric": "auc", "max_fpr": len(powers)}


def grow_pool(budget=None, enough=64, most=99, most_in_time=99, error=None):
    """Grow a pool that is enough from some size on, and return what it was asked and its end."""
    Growing.most, Growing.most_in_time, Growing.error = most, most_in_time, error or MemoryError()
    case = NS(request="request", records="records", time_budget=budget)
    told = []
    parts = {
        "GrowingPool": Growing,
        "_PowerMeter": Meter,
        "make_pool": lambda request, keeps: (request, keeps),
        "_list_growth_steps": lambda powers, figure: [[*powers], figure["max_fpr"]],
        "_why_stop": lambda steps, size: "enough" if size >= enough else None,
        "_tell_growth": lambda growing, steps: told.append((growing.size, steps)),
    }
    with mock.patch.multiple(_run, **parts):
        pool, growth = _run.grow_pool(case, NS(keeps="kept"), NS(elapsed=lambda: 3.0))
    assert pool == f"first {growth['n_shadows']}" and growth["time_budget"] == budget
    assert growth["seconds_per_model"] == 2.0 and growth["metric"] == "auc"
    assert growth["steps"] == [[4, 8, 16, 32, 64][: growth["max_fpr"]], growth["max_fpr"]]
    made = Growing.made
    return growth["reason"], made.grown, Meter.made.measured, made.asked, [one[0] for one in told]


def tell_growth(seconds=2.0):
    with (
        mock.patch.object(_run, "foresee_size", lambda steps, size: size * steps),
        mock.patch.object(_run, "expect_stages") as told,
    ):
        _run._tell_growth(NS(seconds_per_model=seconds, size=8), 2)
    if not told.called:
        return None
    (found,) = told.call_args.args[0].items()
    return found[0], tuple(found[1])[:1] + (found[1].n_parts, found[1].most_parts)


def measure_powers(n=30, n_models=9, rate=0.02, failing=(), error=None, wanted=8):
    """Return what is measured of attacks, of which some cannot be repeated."""
    seen = []

    def measure(attack, records, models, rate):
        seen.append((len(models), rate, attack.settings))
        if attack.name in failing:
            raise error
        return array([[0.5, nan if attack.name == "nan" else 0.25]])

    class One:
        def __init__(self, name):
            self.name = name

        def set_params(self, **settings):
            self.settings = settings

    names = ["a", "b", "nan"]
    meter = NS(_records=range(n), _rate=rate, _request="request")
    meter._attacks = {name: One(name) for name in names}
    parts = {
        "count_pseudo_victims": lambda n: wanted,
        "prepare_attack": lambda attack, request: attack if request == "request" else None,
        "measure_models": measure,
    }
    pool = NS(membership_=range(n_models))
    with mock.patch.multiple(_run, **parts):
        call = lambda: _run._PowerMeter.measure(meter, pool)  # noqa: E731
        found = tell_refusal(call)
        found = [*call()] if found is None else found
    assert all(one[2] == {"victim": None, "shadows": pool} for one in seen)
    return found, seen[0][:2]


def make_meter(fprs, n=2000, outputs=True):
    """Return the rate and the attacks of a meter, and the fields of its records."""
    fields = {"outputs": None} if outputs else {}
    records = Sized(n, fields)
    case = NS(request="request", records=records, fprs=fprs)
    attacks = {"open": LiRA(), "own": LiRA(shadows=3), "alone": ThresholdAttack()}
    with mock.patch.object(_run, "list_repeatable", lambda attacks: attacks):
        meter = _run._PowerMeter(case, NS(attacks=attacks))
    return meter._rate, [*meter._attacks], getattr(meter._records, "fields", meter._records)


class Sized:
    def __init__(self, n, fields):
        self.n, self.fields = n, fields

    def __len__(self):
        return self.n

    def _without(self, name):
        return f"without {name}"


def list_steps(*powers, metric="auc"):
    found = {4 * 2**k: {n: array(v) for n, v in one.items()} for k, one in enumerate(powers)}
    steps = _run._list_growth_steps(found, {"metric": metric})
    return [(one["n_shadows"], one["attack"], one["power"], one["gain"]) for one in steps], steps


FOUR = [[0.5, 0.1], [0.7, 0.3], [0.5, 0.1], [0.7, 0.3]]
LESS = [[0.5, 0.3], [0.5, 0.5], [0.5, 0.3], [0.5, 0.5]]
GROWTH = [
    # Eight models at first, or four where time is short; then twice as many.
    (
        lambda: grow_pool(enough=16),
        ("enough", [8, 16], ["first 4", "first 8", "first 16"], [], [8]),
    ),
    (lambda: grow_pool(enough=4, budget=9.0)[1:3], ([4], ["first 4"])),
    (
        lambda: grow_pool(9.0, enough=16)[::3],
        ("enough", [(8, 6.0), (16, 6.0)]),
    ),
    (lambda: grow_pool(9.0, most_in_time=8)[:2], (TIME, [4, 8])),
    (lambda: grow_pool(most=8)[:2], (MEMORY, [8])),
    (lambda: tell_refusal(lambda: grow_pool(most=8, error=ValueError("odd"))), "odd"),
    (lambda: grow_pool()[1], [8, 16, 32, 64]),
    (lambda: tell_growth(), (_run.SHADOWS, (32.0, 16, 64))),
    (lambda: tell_growth(None), None),
    # The models of whole pairs, as many as are wanted or there are.
    (lambda: measure_powers(), (["a", "b"], (8, 0.02))),
    (lambda: measure_powers(wanted=7)[1][0], 6),
    (lambda: measure_powers(n_models=5)[1][0], 5),
    (lambda: measure_powers(rate=None)[1][1], 0.01),
    (lambda: measure_powers(failing=["a"], error=ValueError("few"))[0], ["b"]),
    (lambda: measure_powers(failing=["b"], error=MemoryError())[0], ["a"]),
    (lambda: measure_powers(failing=["a"], error=KeyError("odd"))[0], "'odd'"),
    # The lowest rate from 1% on that half of the records resolve, without other answers.
    (lambda: make_meter([0.1, 0.02, 0.001]), (0.02, ["open"], "without outputs")),
    (lambda: make_meter([0.001], outputs=False), (0.01, ["open"], {})),
    (lambda: make_meter([0.1, 0.01], n=1998)[0], 0.1),
    (lambda: make_meter([0.1, 0.01], n=2000)[0], 0.01),
    (lambda: make_meter([0.01], n=1998)[0], None),
    # By the AUC the first attack is the strongest, by the rate the second one.
    (lambda: list_steps({"a": FOUR, "b": LESS})[0], [(4, "a", 0.6, None)]),
    (lambda: list_steps({"a": FOUR, "b": LESS}, metric="tpr")[0], [(4, "b", 0.4, None)]),
    (
        lambda: list_steps({}, {"b": LESS}, {"a": FOUR})[0],
        [(8, "b", 0.5, None), (16, "a", 0.6, 0.1)],
    ),
    (
        lambda: [list_steps({"a": FOUR})[1][0][name] for name in ("sd", "n_models")],
        [np.std([0.5, 0.7] * 2, ddof=1), 4],
    ),
    (lambda: _run._why_stop([{"n_shadows": 64}], 64), MOST),
    (lambda: [_run._why_stop([], size) for size in (8, 16, 32)], [None, UNMEASURED, UNMEASURED]),
    (lambda: why_stop(8, True), ENOUGH),
    (lambda: why_stop(8, False), None),
    (lambda: why_stop(16, True, n_last=8), UNMEASURED),
    (lambda: why_stop(8, True, n_last=4), None),
]


def why_stop(size, enough, n_last=None):
    with mock.patch.object(_run, "is_enough", lambda steps: enough):
        return _run._why_stop([{"n_shadows": size if n_last is None else n_last}], size)


# -- attacks


def attack_all(names, fails=(), lack=None, keeps=("pooled", "other"), own=()):
    """Return what becomes of attacks, of which some read shadow models and some fail."""
    stages, pools = [], []

    class One:
        def __init__(self, name):
            self.name = name

    attacks = {name: One(name) for name in names}

    def judge(case, attack):
        if attack.name in fails:
            raise ValueError("Odd.")
        return f"judged {attack.name}"

    def connect(attack, victim, pool, stored):
        assert victim == "victim" and stored
        pools.append((attack.name, pool))
        return attack

    parts = {
        "needs_of": lambda attack: NS(keeps=attack.name in keeps),
        "enter_stage": stages.append,
        "_get_pool": lambda plan, case, clock: _run.SharedPool("pool", lack=lack),
        "_is_open": lambda attack: attack.name not in own,
        "prepare_attack": lambda attack, request: attack,
        "connect": connect,
        "_judge_victim": judge,
        "with_memory": lambda attack, case: attack,
        "_say_undeclared": lambda error, victim: "it is undeclared" if "b" in fails else None,
    }
    case = NS(request=NS(victim="victim"))
    with mock.patch.multiple(_run, **parts):
        pooled, found, failures = _run._run_all(
            NS(attacks=attacks), case, lambda name: nullcontext()
        )
    return [*found], failures, pools, stages, pooled.pool


def choose_tested(fitted, judged=(1, 1, 0, 1)):
    case = NS(queried="q", membership="m", request=NS(attack_seed=4))
    folds = lambda *given: array([0, 1, 0, 0]) if given == ("q", "m", 4) else None  # noqa: E731
    with mock.patch.object(_run, "assign_folds", folds):
        return _run._choose_tested(case, fitted, NS(judged=array(judged, dtype=bool)))


def judge_victim(scores, learns=False):
    class One:
        def fit(self, queried):
            return "fitted"

    judged = NS(scores=array(scores))
    parts = {
        "learns": lambda attack: learns,
        "cross_fit": lambda attack, queried, membership, seed: judged if seed == 4 else None,
        "judge_records": lambda fitted, queried: judged if fitted == "fitted" else None,
    }
    case = NS(queried=range(3), membership="m", request=NS(attack_seed=4))
    with mock.patch.multiple(_run, **parts):
        call = lambda: _run._judge_victim(case, One())  # noqa: E731
        return tell_refusal(call) or (call()[0], call()[1] is judged)


# A pool of answers to two queries, to which those of a victim are not stored.
GIVEN = NS(to_answers=lambda: NS(signals=np.zeros((1, 2, 4, 5))))


def get_pool(keeps=True, trains=True, chooses=False, error=None):
    def train(*given):
        if error is not None:
            raise error
        return "grown", "growth"

    parts = {
        "get_pool": lambda request, records: GIVEN,
        "grow_pool": train,
        "make_pool": lambda request, keeps: NS(fit=lambda records: train() and "made"),
        "_train_fewer": lambda case, plan, error: "fewer",
    }
    request = NS(trains_pool=trains, chooses_size=chooses)
    with mock.patch.multiple(_run, **parts):
        call = lambda: _run._get_pool(  # noqa: E731
            NS(keeps=keeps), NS(request=request, records="r"), None
        )
        found = tell_refusal(call) or call()
    return found if isinstance(found, str) else tuple(found)[:2]


def repeat(attacks=("b", "a"), fitted="ab", lack=None, error=None, n=10, rows=(1, 2)):
    """Return which attack is repeated, why not, and the notes on what was drawn."""
    rows = slice(None) if rows is None else array(rows)

    def play(attack, records, most):
        assert (attack, records, most) == (f"fitted {attacks[0]}", "sampled", _run._MOST_ROUNDS)
        if error is not None:
            raise error
        return "guesses", "membership"

    run = NS(scores=1, judged=2, lack=lack, notes=["before"])
    run.fitted = {name: f"fitted {name}" for name in fitted}
    case = NS(records=range(n), subsets="subsets", membership=3, seeds={"checks": 5})
    asked = []
    parts = {
        "draw_sample": lambda *given: asked.append(given) or rows,
        "enter_stage": lambda stage: None,
        "rank_attacks": lambda scores, membership, judged: {name: 0 for name in attacks},
        "list_repeatable": lambda found: found,
        "take_sampled_records": lambda records, rows: "sampled",
        "play_pool": play,
        "measure_power": lambda attack, records: "power",
        "replace": lambda run, repetitions, notes: (repetitions, notes),
    }
    with mock.patch.multiple(_run, **parts):
        found, notes = _run.repeat_attack(case, run, lambda name: nullcontext())
    assert asked == [(n, "subsets", _run.MOST_REPEATED, 5)]
    return found.attack, found.power, found.obstacle, found.is_failure, notes[1:]


DRAWN = ["Shadow models were treated as the victim on 2 of 10 records, drawn at random."]
ATTACKS = [
    # Those without shadow models come first, and the pool is made once.
    (
        lambda: attack_all(["pooled", "alone", "other"]),
        (
            ["alone", "pooled", "other"],
            [],
            [("alone", None), ("pooled", "pool"), ("other", "pool")],
            [_run.ALONE, _run.SHADOWS, _run.ATTACKS],
            "pool",
        ),
    ),
    (lambda: attack_all(["alone"])[3:], ([_run.ALONE], None)),
    (
        lambda: attack_all(["pooled", "alone"], fails=["alone"])[:2],
        (["pooled"], ["alone was left out: Odd."]),
    ),
    (
        lambda: attack_all(["b", "alone"], fails=["b"])[:2],
        (["alone"], ["b was left out: it is undeclared"]),
    ),
    (
        lambda: attack_all(["pooled", "alone", "other"], lack="Too little.", own=["other"])[:2],
        (["alone", "other"], ["pooled was left out: Too little."]),
    ),
    (lambda: choose_tested("fitted"), [True, True, False, True]),
    (lambda: choose_tested(None), [True, False, False, True]),
    (lambda: judge_victim([1.0, 2.0, 3.0]), ("fitted", True)),
    (lambda: judge_victim([1.0, 2.0, 3.0], learns=True), (None, True)),
    (lambda: judge_victim([1.0, nan, np.inf]), "2 of 3 scores are not finite."),
    (lambda: get_pool(keeps=False), (None, None)),
    (lambda: get_pool(trains=False), (GIVEN, None)),
    (lambda: get_pool(chooses=True), ("grown", "growth")),
    (lambda: get_pool(), ("made", None)),
    (lambda: get_pool(error=MemoryError()), "fewer"),
    (lambda: get_pool(error=ValueError("odd")), "odd"),
    (lambda: repeat(), ("b", "power", None, False, DRAWN)),
    (lambda: repeat(rows=None)[4], []),
    (lambda: repeat(n=2)[4], []),
    (lambda: repeat(fitted="a", attacks=("a", "b"))[0], "a"),
    (lambda: repeat(lack="Too little."), (None, None, "Too little.", True, [])),
    (
        lambda: repeat(fitted=""),
        (None, None, "No attack compares the victim with shadow models.", False, []),
    ),
    (
        lambda: repeat(error=ValueError("too few")),
        (None, None, "Shadow models cannot be treated as the victim: too few", False, []),
    ),
    (lambda: repeat(error=MemoryError())[3], True),
    (lambda: tell_refusal(lambda: repeat(error=KeyError("odd"))), "'odd'"),
]

# -- what keeps low numbers from a release


def list_warnings(*checks, gap=None, unlisted=True, noise=False):
    """List the warnings of checks by role and status."""
    found = {
        f"{role}{k}": NS(is_error=status == "error", is_warning=status == "warning", text=f"T{k}.")
        for k, (role, status) in enumerate(checks)
    }
    parts = {
        "get_check": lambda name: NS(role=name[:-1]),
        "why_unlisted": lambda checks, provenance: "why" if unlisted else None,
        "has_noise": lambda checks: noise,
        "why_gap_too_large": lambda reference: gap,
    }
    with mock.patch.multiple(_checks_of_release, **parts):
        return list(_checks_of_release.list_warnings(found, "reference", "origin"))


_ROLES = _checks_of_release
AGAIN = " Then audit again."
WARNINGS = [
    (lambda: list_warnings((_ROLES.SIDES, "passed")), []),
    (
        lambda: list_warnings((_ROLES.SIDES, "warning"), (_ROLES.SMALL, "warning")),
        [
            f"T0. {_ROLES.REMEDIES[_ROLES.SIDES]}{AGAIN}",
            f"T1. {_ROLES.REMEDIES[_ROLES.SMALL]}{AGAIN}",
        ],
    ),
    (
        lambda: list_warnings((_ROLES.CHANCE, "error")),
        [f'The check "{_ROLES.CHANCE}0" failed. T0. Remove its cause.{AGAIN}'],
    ),
    (lambda: list_warnings((_ROLES.CHANCE, "warning")), []),
    (
        lambda: list_warnings((_ROLES.UNLISTED, "warning")),
        [f"T0. {_ROLES.REMEDIES[_ROLES.UNLISTED]}{AGAIN}"],
    ),
    (lambda: list_warnings((_ROLES.UNLISTED, "warning"), unlisted=False), []),
    (lambda: list_warnings((_ROLES.KNOWN, "warning"), noise=True), [f"T0.{AGAIN}"]),
    (
        lambda: list_warnings((_ROLES.KNOWN, "warning")),
        [f"T0. {_ROLES.REMEDIES[_ROLES.KNOWN]}{AGAIN}"],
    ),
    (
        lambda: list_warnings((_ROLES.DIFFERENCE, "warning"), (_ROLES.DIFFERENCE, "warning")),
        [f"{_ROLES._SHIFTED} {_ROLES.REMEDIES[_ROLES.DIFFERENCE]}{AGAIN}"],
    ),
    (
        lambda: list_warnings((_ROLES.SMALL, "warning"), gap="A gap.")[1],
        f"A gap. {_ROLES.REMEDIES[_ROLES.RECIPE]}{AGAIN}",
    ),
    (lambda: len(list_warnings((_ROLES.RECIPE, "warning"), gap="A gap.")), 1),
    (lambda: len(list_warnings((_ROLES.RECIPE, "passed"), gap="A gap.")), 1),
]


def test_growth_by_hand():
    expect_answers(GROWTH)


def test_attacks_by_hand():
    expect_answers(ATTACKS)


def test_warnings_of_checks_by_hand():
    expect_answers(WARNINGS)


# -- conditions of a release


def measure_changes(
    *, n_models=4, kind="proba", trained="proba", limits=("service",), recipe=None, n=6, changes=2
):
    """Return what is measured of changes, and how a pool of shadow models is trained."""
    made = []

    class Pool:
        output_kind_ = trained

        def __init__(self, recipe, **settings):
            made.append((type(recipe).__name__, settings))

        def fit(self, records):
            made.append(records)
            return self

    case = NS(report=NS(settings={"n_shadows": n_models}, seeds={"shadows": 9}), model="m")
    case.records, case.policy, case.decimals = "records", NS(limits=limits), 3
    outputs = NS(kind=kind, values=np.broadcast_to(0.0, (n, 10)))
    parts = {
        "query": lambda model, records: outputs if (model, records) == ("m", "records") else None,
        "_list_changes": lambda *given: [(f"c{k}", "apply", k) for k in range(changes)],
        "copy_unfitted": lambda recipe: recipe,
        "ShadowPool": Pool,
        "_measure_change": lambda case, recipe, *rest: (rest[0], rest[3] is outputs, rest[5]),
    }
    recipe = LogisticRegression() if recipe is None else recipe
    with mock.patch.multiple(_release, **parts):
        given = case, recipe or None, "file", {"n_jobs": 2}
        call = lambda: _release._measure_changes(*given)  # noqa: E731
        found = tell_refusal(call)
        found = call() if found is None else found
    return found, made[-2:]


AUDITED = NS(with_fields=lambda **fields: f"records of {fields['outputs'].values.tolist()}")


def measure_change(
    release="service", evidence="none", kind="proba", attacks="default", holds=False
):
    """Return the condition of a change, how a pool is made for it, and what is audited."""
    made = []

    class Pool:
        @staticmethod
        def from_outputs(values, membership, records, **settings):
            made.append((values.tolist(), membership, records, settings))
            return "theirs"

    class Case(namedtuple("Case", "report records decimals")):
        def describe(self, name, **settings):
            return name, self.report.evidence, self.records, self.decimals, settings

    given = array([[0.25, 0.75]])
    pool = NS(classes_=[0, 1], output_kind_="proba", membership_="inside", outputs_=[given, given])

    def audit(recipe, records, membership, **settings):
        made.append((recipe, records, membership, settings))
        return NS(evidence=evidence)

    parts = {
        "ShadowPool": Pool,
        "_repeat_settings": lambda report: {"n": 1},
        "_choose_attacks_again": lambda report, recipe, records, **settings: (
            attacks if settings == {"n": 1, "shadows": "theirs", "file": False} else None
        ),
        "audit": audit,
        "_measure_cost": lambda outputs, changed: 0.25 if outputs is own else None,
        "_holds_answers": lambda attack: holds,
    }
    own = Outputs(given, [0, 1])
    change = lambda outputs: NS(values=np.round(outputs.values, 1), kind=kind)  # noqa: E731
    case = Case(NS(membership="members"), AUDITED, 3)
    with mock.patch.multiple(_release, **parts):
        found = _release._measure_change(case, "recipe", "name", change, 1, own, pool, release)
    return found, made


def list_changes(kind="proba", classes=(0, 1, 2), decimals=None):
    outputs = NS(kind=kind) if classes is None else NS(kind=kind, classes=classes)
    return [
        (one[0], one[2]) for one in _release._list_changes(outputs, LogisticRegression(), decimals)
    ]


def measure_cost(changed, kind="proba"):
    values = array([[0.25, 0.75], [0.5, 0.5]])
    values = np.log(values) if kind == "logits" else values
    return _release._measure_cost(Outputs(values, [0, 1], kind), changed)


def measure_service(evidence="none", limits=("service",)):
    case = NS(report=NS(evidence=evidence), policy=NS(limits=limits))
    case.describe = lambda name, **settings: (name, settings)
    return _release._measure_service(case)


def list_doubts(release="service", service="none", file="none"):
    report = NS(verdict="Of answers.", evidence=service)
    report.file = None if file is None else NS(verdict="Of the file.", evidence=file)
    return _release._list_release_doubts(report, release)


def list_failed(release="service", service="leak", file="leak"):
    report = NS(results="answers", evidence=service)
    report.file = None if file is None else NS(results="file", evidence=file)
    parts = {
        "_measure_largest": lambda report, frames: frames,
        "judge_limits": lambda policy, release, frames: [policy, release, *frames],
        "list_failures": lambda limits, checks: [*limits, len(checks)],
    }
    with mock.patch.multiple(_release, **parts):
        return _release._list_failed(report, "policy", release)


def measure_table():
    """Measure a table by numbers of two kinds, of which one is not known."""
    first, second = [*_release._NUMBERS.items()][:2]
    names = [f"{first[1]} 1", f"{first[1]} 2", f"{second[1]} 1", "another"]
    results = pd.DataFrame(
        {
            "estimate": [0.25, 0.5, nan, 0.75],
            "n_attacks": [10, 20, 99, 99],
            "n_controls": [30, 15, 99, 99],
        },
        index=names,
    )
    report = NS(settings={"confidence_level": 0.9}, results=results)
    largest = lambda bound, rows, level: (  # noqa: E731
        bound.args,
        [one["estimate"] for one in rows],
        level,
    )
    with mock.patch.object(_release, "_bound_largest", largest):
        (found,) = _release.measure_table(report)
        return found.name == first[0], found.n_records, found.interval(0.95)


def bound_largest(*numbers):
    seen = []

    def bound(number, level):
        seen.append(round(level, 6))
        return Interval(number, 10 * number - level, 10 * number + level)

    return tuple(_release._bound_largest(bound, numbers, 0.9)), seen


def recommend_table(evidence="none"):
    """Return a recommendation for a table, and what it is made of."""
    report = NS(
        evidence=evidence, verdict="It is odd.", seeds={"a": 7}, versions={"b": "1", "c": "2"}
    )
    report.created = "today"
    parts = {
        "load_policy": lambda policy: f"loaded {policy}",
        "measure_table": lambda report: "numbers",
        "recommend": lambda *given, **named: NS(given=given, named=named),
        "replace": lambda found, **changed: NS(**vars(found) | changed),
    }
    with mock.patch.multiple(_release, **parts):
        found = _release.recommend_table(report, "house", "conditions", {"d": "3"})
    told = vars(found)
    return told["given"], told["named"], told.get("result"), told.get("reasons")


NORMAL = norm.isf(0.005) / norm.isf(0.025)
ORIGIN = {"created": "today", "versions": "b 1, c 2", "a": "7", "d": "3"}
POOLED = {"n_jobs": 2, "store": "outputs", "random_state": 9, "n_estimators": 4}
ROUNDED = "records of [[0.2, 0.8]]"
SETTINGS = {"cost": 0.25, "release": "service", "adapted": True}
RELEASES = [
    # Shadow models change their answers as the model does, and are attacked anew.
    (
        measure_change,
        (
            ("name", "none", ROUNDED, 1, SETTINGS),
            [
                (
                    [[[0.2, 0.8]]] * 2,
                    "inside",
                    AUDITED,
                    {
                        **{"classes": [0, 1], "kind": "proba", "estimator": "recipe"},
                        "store": "outputs",
                    },
                ),
                (
                    *("recipe", ROUNDED, "members"),
                    {"n": 1, "shadows": "theirs", "file": False, "attacks": "default"},
                ),
            ],
        ),
    ),
    (lambda: measure_change(evidence="leak")[0][1], "leak"),
    (lambda: measure_change(evidence="unknown")[0], None),
    (lambda: measure_change(kind="label")[1][0][3]["store"], "signals"),
    (
        lambda: [one for one in measure_change("file")[0] if one != ROUNDED],
        [
            f"{_release._AS_A_SERVICE}, name",
            *("none", 1),
            SETTINGS | {"cost": 0.25 + _release._COST_OF_NO_FILE},
        ],
    ),
    # Attacks with answers of their own do not know of the change.
    (lambda: measure_change(attacks={"a": 1}, holds=True)[0][4]["adapted"], False),
    (lambda: measure_change(attacks={"a": 1})[0][4]["adapted"], True),
    (lambda: measure_change(holds=True)[0][4]["adapted"], True),
    (lambda: measure_table(), (True, 40, ((0.9,), [0.25, 0.5], 0.95))),
    (lambda: bound_largest(0.25), ((0.25, 1.6, 3.4), [0.9, 0.9])),
    (lambda: bound_largest(0.25, 0.5), ((0.5, 5 - 0.95, 5.9), [0.9, 0.9, 0.95, 0.95])),
    (
        lambda: recommend_table(),
        (
            ("loaded house", "table", "numbers"),
            {"conditions": "conditions", "provenance": ORIGIN},
            None,
            None,
        ),
    ),
    (lambda: recommend_table("unknown")[2:], ("cannot be said", ("It is odd.",))),
    (lambda: tuple(_release._bound(0.95, (0.5, 0.25, 1.0), 0.95)), (0.5, 0.25, 1.0)),
    (
        lambda: tuple(_release._bound(0.95, (0.5, 0.25, 1.0), 0.99)),
        (0.5, 0.5 - 0.25 * NORMAL, 0.5 + 0.5 * NORMAL),
    ),
    (
        lambda: measure_changes(),
        (
            [("c0", True, "file"), ("c1", True, "file")],
            [("LogisticRegression", POOLED), "records"],
        ),
    ),
    (lambda: measure_changes(n_models=0), ([], [])),
    (lambda: measure_changes(changes=0), ([], [])),
    (lambda: measure_changes(limits=["file"]), ([], [])),
    (lambda: measure_changes(recipe=False), ([], [])),
    (lambda: len(measure_changes(n=6_250_000)[0]), 2),
    (lambda: measure_changes(n=6_250_001), ([], [])),
    (
        lambda: measure_changes(recipe=Ridge())[0],
        "estimator must be a classifier, as the model is; got Ridge.",
    ),
    (lambda: len(measure_changes(trained="logits")[0]), 2),
    (lambda: measure_changes(trained="decision")[0], []),
    (lambda: len(measure_changes(kind="decision", trained="decision")[0]), 2),
    (
        lambda: list_changes(),
        [
            ("answers rounded to 2 decimals", 2),
            ("answers rounded to 1 decimal", 1),
            ("the largest probability alone", None),
            ("labels alone", None),
        ],
    ),
    (lambda: [one[1] for one in list_changes(classes=[0, 1], decimals=2)], [1, None]),
    (lambda: list_changes(decimals=1)[0][0], "the largest probability alone"),
    (lambda: len(list_changes("logits")), 4),
    (lambda: list_changes("decision"), [("labels alone", None)]),
    (lambda: list_changes("label"), []),
    (lambda: list_changes("value", None), []),
    # A quarter and a half of the probability move to the label.
    (lambda: measure_cost(Outputs(array([1, 0]), [0, 1], "label")), 0.375),
    (lambda: measure_cost(Outputs(array([1, 0]), [0, 1], "label"), "logits"), 0.375),
    (lambda: measure_cost(Outputs(array([[0.0, 1.0], [0.5, 0.5]]), [0, 1])), 0.125),
    (lambda: measure_cost(Outputs(array([1, 0]), [0, 1], "label"), "decision"), 1.0),
    (
        lambda: measure_service(),
        ("a service in place of the file", {"cost": 1.0, "release": "service"}),
    ),
    (lambda: measure_service("unknown"), None),
    (lambda: measure_service(limits=["file"]), None),
    (lambda: list_doubts(), ()),
    (lambda: list_doubts(service="unknown"), ("Of answers.",)),
    (lambda: list_doubts(file="unknown"), ()),
    (lambda: list_doubts("file", "unknown", "unknown"), ("Of answers.", "Of the file.")),
    (lambda: list_doubts("file", file=None), (_release._NO_FILE,)),
    (lambda: list_failed(), ("policy", "service", "answers", 0)),
    (lambda: list_failed("file"), ("policy", "file", "answers", "file", 0)),
    (lambda: list_failed("file", "none"), ("policy", "file", "file", 0)),
    (lambda: list_failed("file", file=None), ("policy", "file", "answers", 0)),
]


def test_conditions_of_a_release_by_hand():
    expect_answers(RELEASES)
