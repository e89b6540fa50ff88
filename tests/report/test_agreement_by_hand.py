"""Whether a model knows its table: what is asked, excused and told, with answers by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline

from skmia import Outputs, Records
from skmia.report.agreement import (
    _ask,
    _assignment,
    _clones,
    _repairs,
    _repeats_question,
    _result,
    _row_question,
    _skill,
    _skill_questions,
)
from skmia.report.agreement._base import QuestionReply

# -- the questions in their order


def measure(value, error=0.0):
    return _skill.SkillMeasure(value, error)


def skill(rank, decision=None, error=0.0, plain=0.5):
    decision = rank if decision is None else decision
    return _skill.AnswerSkill(measure(rank, error), measure(decision, error), plain)


def meet(outputs="answers", records=None, is_told=True, costly=False, stops=(), models=1):
    """Return what is asked in which order, and what is concluded of it."""
    seen = []
    replies = {one.name: NS(status=status) for one, status in zip(_ask.QUESTIONS, stops)}

    def ask_all(met, references, found, asked, notes, first=False):
        seen.append(("ask", [*references], first))
        found.update(replies)

    def train(met, recipes, n_models, notes):
        seen.append(("train", recipes, n_models))
        return ["clone"] * models, models * n_models

    def conclude(met, references, listed, asked, notes, n_models):
        return [one.status for one in listed], references, n_models

    excuses = {
        f"_excuse_{name}": lambda met, references, listed, name=name: [
            *listed,
            NS(status=(name, len(references))),
        ]
        for name in ("noise", "skilled", "reproduced", "few")
    }
    parts = {
        "hold_tokens": lambda records: records == "tokens",
        "_collect": lambda case: NS(is_told=is_told),
        "list_recipes": lambda case: "recipes",
        "is_costly": lambda recipes: costly and recipes == "recipes",
        "_ask_all": ask_all,
        "_train_recipes": train,
        "conclude_agreement": conclude,
    }
    outputs = Outputs(array([0.5]), None, "value") if outputs == "answers" else outputs
    case = NS(request=NS(outputs=outputs), records=records)
    with mock.patch.multiple(_ask, **parts, **excuses):
        found = _ask.meet(case)
    if isinstance(found, _result.Agreement):
        return found.status, found.text, seen
    return *found, seen


def excused(n_references):
    return [(name, n_references) for name in ("noise", "skilled", "reproduced", "few")]


OF_TEXTS = "Models of texts and tokens are not compared with their table."
MEET = [
    (lambda: meet("of texts"), ("cannot tell", OF_TEXTS, [])),
    (lambda: meet(records="tokens"), ("cannot tell", OF_TEXTS, [])),
    (
        lambda: meet(models=2),
        (excused(2), ["clone"] * 2, 4, [("train", "recipes", 2), ("ask", ["clone"] * 2, False)]),
    ),
    # Of a costly model one clone is trained, if the questions without clones do not stop it.
    (
        lambda: meet(costly=True, stops=["warn"]),
        (
            ["warn", *excused(1)],
            ["clone"],
            1,
            [("ask", [], True), ("train", "recipes", 1), ("ask", ["clone"], False)],
        ),
    ),
    (
        lambda: meet(costly=True, stops=["warn", "stop"]),
        (["warn", "stop", *excused(0)], [], 0, [("ask", [], True), ("ask", [], False)]),
    ),
    # What is predicted is not told: nothing is trained.
    (lambda: meet(is_told=False), (excused(0), [], 0, [("ask", [], False)])),
]


def collect(rows, victim, **fields):
    """Return what is kept of four records, of which some are looked at."""
    fields = fields or {"group_by": list("abab")}
    records = Records(np.arange(4.0).reshape(-1, 1), array([5, 6, 7, 8]), **fields)
    outputs = Outputs(array([1.0, 2.0, 3.0, 4.0]), None, "value")
    case = NS(records=records, subsets="parts", seeds={"agreement": 9})
    case.membership, case.request = array([1, 0, 0, 1]), NS(victim=victim, outputs=outputs)
    with mock.patch.object(_ask, "draw_sample", return_value=rows) as drawn:
        met = _ask._collect(case)
    drawn.assert_called_once_with(4, "parts", _ask._MOST_RECORDS, 9)
    assert met.case is case and met.inside.dtype == bool
    return met.records.y, met.inside, met.units == met.units[0], met.outputs.values, met.model


fitted = Ridge().fit([[0.0], [1.0]], [0, 1])
COLLECT = [
    (lambda: _ask._MOST_RECORDS, 20_000),
    (
        lambda: collect(slice(None), fitted)[:4],
        (
            [5, 6, 7, 8],
            [True, False, False, True],
            [True, False, True, False],
            [1.0, 2.0, 3.0, 4.0],
        ),
    ),
    (
        lambda: collect(array([1, 3]), fitted)[:4],
        ([6, 8], [False, True], [True, True], [2.0, 4.0]),
    ),
    (lambda: collect(slice(None), fitted, sex=list("abab"))[2], [True, False, False, False]),
    (lambda: collect(slice(None), fitted)[4] is fitted, True),
    (lambda: collect(slice(None), Ridge())[4], None),
]


def train(*names, fails=(), n_models=3):
    """Return the models that are trained of recipes, and the notes on those that are not."""

    def train_clones(met, recipe, n_models):
        if recipe.name in fails:
            raise ValueError("Of odd rows.")
        return NS(name=recipe.name, models=[met] * n_models)

    notes = []
    with mock.patch.object(_ask, "train_clones", train_clones):
        found, n = _ask._train_recipes("met", [NS(name=name) for name in names], n_models, notes)
    return [one.name for one in found], n, notes


TRAIN = [
    (lambda: train("clone"), (["clone"], 3, [])),
    (lambda: train("line", "forest", n_models=2), (["line", "forest"], 4, [])),
    (
        lambda: train("line", "forest", fails=["line"]),
        (
            ["forest"],
            3,
            ["No line could be trained on half of the members: Of odd rows."],
        ),
    ),
    (lambda: train(), ([], 0, [])),
]


def is_costly(*models):
    recipes = [_clones.CloneRecipe("a", make_pipeline(one), True) for one in models]
    with mock.patch.object(_clones, "is_skorch", lambda model: isinstance(model, Ridge)):
        return _clones.is_costly(recipes)


def leaves_no_doubt(model, seen, fresh):
    met = met_of(model, measure=lambda scores, mask: {"seen": seen, "new": fresh}[mask])
    return bool(_clones._leaves_no_doubt(met, "scores", "seen", "new"))


def list_recipes(victim, *, estimator=None, kinds=("line", "forest"), refuses=False):
    """Return the name of each recipe, whether it is the model's own, and what is trained."""
    known = {"line": make_pipeline(LogisticRegression()), "forest": RandomForestRegressor()}
    known["boosting"] = GradientBoostingClassifier()

    def refuse(records):
        if refuses:
            raise ValueError("No table.")

    parts = {
        "list_kinds": lambda *given: [known[one] for one in kinds if given == (None, "outputs")],
        "refuse_no_table": refuse,
        "is_trainable": lambda model: not isinstance(model, Stored),
    }
    request = NS(victim=victim, estimator=estimator, model=Ridge(), outputs="outputs")
    with mock.patch.multiple(_clones, **parts, StoredAnswers=Stored):
        found = _clones.list_recipes(NS(request=request, records=None))
    trained = [type(_clones.get_last_step(one.estimator)).__name__ for one in found]
    return [one.name for one in found], {one.is_own for one in found}, trained


class Stored(BaseEstimator):
    """Answers that cannot be trained."""

    def fit(self, X, y):
        raise AssertionError


STAND_INS = ["linear model", "forest"], {False}, ["LogisticRegression", "RandomForestRegressor"]
OWN_RECIPE = ["clone"], {True}, ["Ridge"]


def join_clones(n_models=2, is_own=True):
    """Join clones of four members, of whom each knows two, and of three others."""
    members, others = array([0, 2, 4, 6]), array([1, 3, 5])
    halves = array([[True, True, False, False], [False, False, True, True]])
    found = []
    for k in range(n_models):
        inside = np.zeros(7, dtype=bool)
        inside[members[halves[k]]] = True
        scores = _skill.AnswerScores(np.full((7, 2), k + 1.0), np.full(7, k + 1))
        pace = NS(fit_seconds=3.0 - k, answer_seconds=1.0 + 3 * k)
        fits = np.full(7, k) if k else None
        found.append(_clones._ClonedQuestion(f"model {k}", inside, scores, fits, pace))
    met, recipe = NS(inside=np.isin(np.arange(7), members)), NS(name="clone", is_own=is_own)
    part = array([0, 1, 0]) if n_models > 1 else array([0, 0, 0])
    return _clones._join(met, recipe, found, members, halves, others, part)


def describe_joined(**given):
    found = join_clones(**given)
    assert (found.fresh.values[:, 1] == found.fresh.predicted).all()
    assert (found.seen.values[:, 1] == found.seen.predicted).all()
    answers = found.fresh.predicted.tolist(), found.seen.predicted.tolist()
    masks = np.flatnonzero(found.is_fresh), np.flatnonzero(found.is_seen)
    return found.name, found.models, *answers, *masks


def refuse_clones(n_units, n_ones=3, is_value=False):
    """Return the refusal of ten or more members, so many of whom have the label 1."""
    n = max(n_units, 10)
    y = (np.arange(n + 4) < n_ones).astype(int)
    met = NS(case=NS(seeds={"agreement": 0}), inside=np.arange(n + 4) < n, is_value=is_value)
    met.units, met.records, met.truth = np.arange(n + 4) % n_units, NS(y=y), y
    with mock.patch.object(_clones, "_time_clone", side_effect=ZeroDivisionError("trained")):
        return tell_refusal(lambda: _clones.train_clones(met, NS(is_own=False), 2))


def time_clone(is_own, rows):
    """Return what a clone is trained with, and whether it says how well it fits each record."""
    seen = {}

    def train(estimator, records, inside, seed, given):
        seen.update(args=(estimator, inside.tolist(), seed, given))
        return "model"

    met = NS(case=NS(request=NS(fit_params={"a": 1})), rows=rows)
    met.records, met.read = Records(np.zeros((3, 1)), [0, 1, 0]), lambda answers: [answers]
    parts = {"train_victim": train, "query_victim": lambda model, X: f"answers of {model}"}
    with mock.patch.multiple(_clones, **parts, fit_labels=lambda answers, y: [answers, y.tolist()]):
        found = _clones._time_clone(met, NS(estimator="e", is_own=is_own), array([1, 1, 0]) > 0, 7)
    assert (found.pace.n_fitted, found.pace.n_answered) == (2, 3)
    return seen["args"], found.scores, found.fits


CLONES = [
    (lambda: list_recipes(Ridge()), OWN_RECIPE),
    (lambda: list_recipes(Ridge(), estimator=Ridge()), OWN_RECIPE),
    (lambda: list_recipes(fitted), OWN_RECIPE),
    (lambda: list_recipes(fitted, estimator=Ridge()), STAND_INS),
    (lambda: list_recipes(Stored()), STAND_INS),
    (lambda: list_recipes(fitted, estimator=Ridge(), kinds=["boosting", "forest"])[0], ["forest"]),
    # Where no stand-in can be trained, the estimator that was given is one.
    (
        lambda: list_recipes(fitted, estimator=Ridge(), refuses=True),
        (["Ridge"], {False}, ["Ridge"]),
    ),
    (lambda: list_recipes(Stored(), kinds=["boosting"]), ([], set(), [])),
    # Each half answers for the other one, and each other record is answered for once.
    (
        describe_joined,
        (
            *("two clones", ["model 0", "model 1"]),
            *([2, 1, 2, 2, 1, 1, 1], [1, 0, 1, 0, 2, 0, 2]),
            *([0, 1, 2, 3, 4, 5, 6], [0, 2, 4, 6]),
        ),
    ),
    (
        lambda: describe_joined(n_models=1),
        (
            *("a clone", ["model 0"]),
            *([0, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 0, 0]),
            *([1, 3, 4, 5, 6], [0, 2]),
        ),
    ),
    # The faster of them, 4 and 6 seconds in all; the fits of those that tell them.
    (lambda: join_clones().pace.fit_seconds, 3.0),
    (lambda: [one.fits[0] for one in join_clones().halves], [1]),
    (lambda: [np.flatnonzero(one.inside).tolist() for one in join_clones().halves], [[4, 6]]),
    (lambda: join_clones(is_own=False).halves, []),
    (lambda: refuse_clones(9), "there are too few members"),
    (lambda: refuse_clones(10), "trained"),
    (lambda: refuse_clones(10, n_ones=0), "all members of a half have one label"),
    (lambda: refuse_clones(10, n_ones=0, is_value=True), "trained"),
    (
        lambda: time_clone(True, slice(None)),
        (
            ("e", [True, True, False], 7, {"a": 1}),
            ["answers of model"],
            ["answers of model", [0, 1, 0]],
        ),
    ),
    (lambda: time_clone(False, slice(None))[0][3], None),
    (lambda: time_clone(True, array([0, 1, 2]))[2], None),
    (lambda: is_costly(LogisticRegression(), Ridge()), True),
    (lambda: is_costly(LogisticRegression()), False),
    (lambda: is_costly(), False),
    # The model knows more than a clone of new rows, and as much as the clone of its own.
    (lambda: leaves_no_doubt(skill(0.9), skill(0.8), skill(0.5)), True),
    (lambda: leaves_no_doubt(skill(0.9, 0.5), skill(0.8), skill(0.5)), False),
    (lambda: leaves_no_doubt(skill(0.5, 0.9), skill(0.8), skill(0.5)), False),
    (lambda: leaves_no_doubt(skill(0.9, 0.9, 0.01), skill(0.8), skill(0.88)), False),
    (lambda: leaves_no_doubt(skill(0.9), skill(0.9, 0.45), skill(0.4)), False),
    (lambda: leaves_no_doubt(skill(0.9, 0.45), skill(0.9), skill(0.4)), False),
    (lambda: leaves_no_doubt(skill(0.9), skill(0.9), skill(0.0)), False),
    (lambda: leaves_no_doubt(skill(0.9), skill(0.9), skill(0.02, error=0.01)), False),
]

# -- what is excused


def reply(question, status="stop"):
    return QuestionReply(question, status, f"{question} found.", "A cure.")


def references(*skills, seen=0.0, is_own=True):
    return [NS(fresh=one, seen=seen, is_seen=None, is_own=is_own, recipe="own") for one in skills]


def met_of(own=None, seen=0.0, **more):
    usual = {"fit": lambda: own, "fit_of": lambda one: one.fresh, "is_value": False}
    usual |= {"measure": lambda answers, rows: skill(0.0, answers, 0.01)}
    return NS(**usual | more)


def statuses(replies):
    return {one.question: (one.status, one.cure) for one in replies}


KEPT, WARNED = ("stop", "A cure."), ("warn", "")


def excuse_skilled(own, *fresh, seen=0.0):
    """Return whether findings of columns and of labels still stop, beside one of rows."""
    replies = [reply(name) for name in ("own numbers", "labels", "rows")]
    if seen is not None:
        fresh = references(*fresh, seen=seen)
    found = statuses(_ask._excuse_skilled(met_of(own), list(fresh), replies))
    assert found["rows"] == KEPT
    assert {found["own numbers"], found["labels"]} <= {KEPT, WARNED}
    return found["own numbers"] == KEPT, found["labels"] == KEPT


def excuse_learned(*seen):
    """Return whether a finding of labels stops where clones know so much of their own rows."""
    clones = [*references(skill(0.6), seen=seen[0]), *references(skill(0.6), seen=seen[1])]
    (found,) = _ask._excuse_skilled(met_of(skill(0.5)), clones, [reply("labels")])
    return found.status == "stop"


def excuse_noise(*names, repeats=False, status="stop"):
    """Return whether findings become warnings, beside one that answers do not repeat."""
    met = NS(repeats=repeats, n_repeats=1, repetition=NS(count_missing=lambda n: 7))
    replies = [*(reply(name, status) for name in names), reply("repeats", "warn")]
    found = _ask._excuse_noise(met, [], replies)
    assert [one.question for one in found] == [*names, "repeats"]
    assert (found[-1].cure != "A cure.") == (found[0].cure == "")
    return [(one.status, one.cure) for one in found[:-1]]


def excuse_reproduced(low, *, status="stop", is_own=True):
    """Return replies where a clone on all members fits the answers so well."""
    met = met_of(inside="inside", case=NS(seeds={"agreement": 4}))
    met.fit_answers_of = lambda answers: skill(0.0, answers + 0.0233, 0.01)
    replies = [reply("rows", status), reply("own numbers", status), reply("skill", "warn")]
    with mock.patch.object(_ask, "train_and_ask", return_value=("model", low)) as trained:
        found = _ask._excuse_reproduced(met, references(0.0, is_own=is_own), replies)
    # The clone is trained only where something stops.
    assert trained.called == (is_own and status == "stop")
    assert not trained.called or trained.call_args.args == (met, "own", "inside", 4)
    return [(one.status, one.text.partition("found.")[2], one.cure) for one in found]


def excuse_few(n=49, value=-0.1, is_own=False, is_value=False, given=1):
    met = met_of(skill(0.5, value), is_value=is_value, count=lambda side: n if side else 0)
    replies = [reply(name) for name in ("skill", "labels", "repairs", "own numbers")]
    found = _ask._excuse_few(met, references(*[0.0] * given, is_own=is_own), replies)
    return [one.status for one in found]


SAME = " A clone that is trained on the same rows gives the same answers."
EXCUSES = [
    # The bounds are 2.33 standard errors of .1 away.
    (lambda: excuse_skilled(skill(0.9), seen=None), (True, True)),
    (lambda: excuse_skilled(skill(0.9, error=0.1), skill(0.66), seen=0.1), (False, True)),
    (lambda: excuse_skilled(skill(0.9, error=0.1), skill(0.67), seen=0.1), (True, True)),
    (lambda: excuse_skilled(skill(0.9, 0.8), skill(0.85, 0.8), seen=0.1), (True, True)),
    (lambda: excuse_skilled(skill(0.8, 0.9), skill(0.8, 0.85), seen=0.1), (True, True)),
    (lambda: excuse_skilled(skill(0.9), skill(0.5), skill(0.95), seen=0.1), (True, True)),
    # A clone that is at .0233 of its own rows is as bad as chance.
    (lambda: excuse_skilled(skill(0.5), skill(0.6), seen=0.0234), (True, True)),
    (lambda: excuse_skilled(skill(0.5), skill(0.6), seen=0.0233), (True, False)),
    (lambda: excuse_learned(0.0, 0.0), False),
    (lambda: excuse_learned(0.0, 0.1), True),
    (lambda: excuse_noise("skill", "rows", repeats=True), [KEPT, KEPT]),
    (lambda: excuse_noise("skill", repeats=None), [KEPT]),
    (lambda: excuse_noise("skill", status="warn"), [("warn", "A cure.")]),
    (lambda: excuse_noise("skill", "recipe"), [KEPT, KEPT]),
    (lambda: excuse_noise("skill", "rows"), [WARNED, WARNED]),
    (lambda: excuse_noise("skill"), [WARNED]),
    (
        lambda: excuse_reproduced(0.51),
        [("warn", SAME, ""), (*KEPT[:1], "", "A cure."), ("warn", "", "A cure.")],
    ),
    (lambda: excuse_reproduced(0.5)[0][0], "stop"),
    (lambda: excuse_reproduced(0.9, is_own=False)[0][0], "stop"),
    (lambda: excuse_reproduced(0.9, status="warn")[0], ("warn", "", "A cure.")),
    (lambda: excuse_few(), ["warn", "warn", "warn", "stop"]),
    (lambda: excuse_few(n=50)[0], "stop"),
    (lambda: excuse_few(value=0.0)[0], "stop"),
    (lambda: excuse_few(is_own=True)[0], "stop"),
    (lambda: excuse_few(is_value=True)[0], "stop"),
    (lambda: excuse_few(given=0)[0], "stop"),
]

# -- questions about how well the answers fit


def ask_constant(own=0.0, *fresh, constant=True, victim=None):
    met = met_of(skill(own), scores=NS(are_constant=constant), case=NS(victim=victim or Ridge()))
    found = _skill_questions.ConstantQuestion().ask(met, references(*map(skill, fresh)))
    return found and (found.status, found.cure)


def ask_skill(own, *fresh, seen=0.0, is_own=False, model=None):
    """Ask by ranks and decisions that are equal, whose bounds are .0233 away."""
    met = met_of(skill(own, error=0.01), model=model)
    others = references(*(skill(one, error=0.01) for one in fresh), seen=seen, is_own=is_own)
    met.measure = lambda answers, rows: skill(answers, error=0.01)
    found = _skill_questions.SkillQuestion().ask(met, others)
    return found and (
        found.status,
        found.cure[-20:] if found.status == "stop" else found.text[27:41],
    )


def ask_units(high=-0.6, *low, is_value=True):
    met = met_of(skill(0.9, high), is_value=is_value)
    others = references(*(skill(0.0, one) for one in low))
    found = _skill_questions.UnitsQuestion().ask(met, others)
    return found and found.status


def learn_less(own, clone, is_value=False):
    met = met_of(own, is_value=is_value)
    return _skill_questions.RecipeQuestion()._learn_less(met, clone)


def ask_recipe(lost=("", ""), *, learned=(0.05, 0.05), is_own=True):
    """Ask two clones which columns they lost, and how much is learned of half and of all rows."""
    met = met_of(skill(0.9, 0.8), inside="all", case=NS(victim="v", seeds={"agreement": 6}))
    met.measure = lambda answers, rows: skill(0.1, answers if rows == "half" else learned[1])
    others = references(0.0, seen=learned[0], is_own=is_own)
    others[0].is_seen, others[0].models = "half", [0, 1]
    parts = {
        "list_other_columns": lambda victim, clone: victim == "v" and lost[clone],
        "train_and_ask": mock.Mock(return_value=("model", "answers")),
    }
    with mock.patch.multiple(_skill_questions, **parts):
        found = _skill_questions.RecipeQuestion().ask(met, others)
    asked = parts["train_and_ask"]
    assert not asked.called or asked.call_args.args == (met, "own", "all", 6)
    return found and (found.status, found.text.partition(":")[2]), asked.called


def columns(*chosen, names=("a", "b", "c", "d")):
    """Return a fitted choice of columns, each by a part of its name."""
    part = NS(n_features_in_=len(names), feature_names_in_=array(names))
    found = ColumnTransformer([])
    found.transformers_ = [(name, of, one) for name, of, one in chosen]
    found.n_features_in_, found.feature_names_in_ = part.n_features_in_, part.feature_names_in_
    return found


def other_columns(first, second, wrap=lambda part: part):
    return _skill_questions.list_other_columns(wrap(first), wrap(second))


def test_a_recipe_that_is_not_fitted_selects_no_other_columns():
    """As that of a model of which there are answers alone."""
    recipe, clone = ColumnTransformer([("a", "passthrough", ["a"])]), columns(("a", "b", ["c"]))
    assert _skill_questions.list_other_columns(recipe, clone) == ""
    assert _skill_questions.list_other_columns(clone, recipe) == ""


def list_steps(model):
    return [type(one).__name__ for one in _skill_questions._list_model_steps(model)]


FEW, LITTLE = "less well than", "much less well"
QUESTIONS = [
    (lambda: ask_constant(constant=False), None),
    (lambda: ask_constant(victim=DummyRegressor()), None),
    (lambda: ask_constant(), ("warn", "")),
    (lambda: ask_constant(0.0, 0.1), ("stop", f"{_skill_questions._CURE}.")),
    (lambda: ask_constant(0.0, 0.1, 0.0), ("warn", "")),
    # Both of two stand-ins, or one clone of the model, are twice as good.
    (lambda: ask_skill(0.0, 0.1), ("warn", FEW)),
    (lambda: ask_skill(0.0, 0.2, 0.2), ("stop", "e order of the rows.")),
    (
        lambda: ask_skill(0.0, 0.2, 0.2, model=1),
        ("stop", ", scaling and types."),
    ),
    (lambda: ask_skill(0.0, 0.2, is_own=True)[0], "stop"),
    (lambda: ask_skill(0.0, 0.2)[0], "warn"),
    (lambda: ask_skill(0.0, 0.2, 0.0), ("warn", FEW)),
    (lambda: ask_skill(0.0, 0.0), None),
    (lambda: ask_skill(0.0), None),
    # Of stand-ins half of the skill is enough, .477 / 2 - .0233; of clones eight tenths.
    (lambda: ask_skill(0.215, 0.5), ("warn", FEW)),
    (lambda: ask_skill(0.216, 0.5), None),
    (lambda: ask_skill(0.358, 0.5, is_own=True), ("warn", FEW)),
    (lambda: ask_skill(0.359, 0.5, is_own=True), None),
    # And fifteen hundredths of what clones know of their own rows: .15 * .9767 - .0233.
    (lambda: ask_skill(0.123, 0.0, seen=1.0, is_own=True), ("warn", LITTLE)),
    (lambda: ask_skill(0.124, 0.0, seen=1.0, is_own=True), None),
    (lambda: ask_skill(0.123, 0.0, seen=1.0), None),
    (lambda: _skill_questions._is_little(skill(0.1, 0.1), skill(0.7, 0.7)), True),
    (lambda: _skill_questions._is_little(skill(0.11, 0.1), skill(0.7, 0.7)), False),
    (lambda: _skill_questions._is_little(skill(0.1, 0.11), skill(0.7, 0.7)), False),
    (lambda: ask_units(-0.51, 0.1, 0.1), "stop"),
    (lambda: ask_units(-0.5, 0.1), None),
    (lambda: ask_units(-0.6, 0.1, 0.0), None),
    (lambda: ask_units(-0.6), None),
    (lambda: ask_units(-0.6, 0.1, is_value=False), None),
    # The model is better than chance by .2, and clones are below a quarter of that, or a tenth.
    (lambda: learn_less(skill(0.9, 0.8), skill(0.1, 0.19)), True),
    (lambda: learn_less(skill(0.9, 0.8), skill(0.1, 0.2)), False),
    (lambda: learn_less(skill(0.9, 0.21), skill(0.1, 0.09)), True),
    (lambda: learn_less(skill(0.9, 0.21), skill(0.1, 0.1)), False),
    (lambda: learn_less(skill(0.9, 0.2), skill(0.1, 0.0)), False),
    (lambda: learn_less(skill(0.9, 0.8), skill(0.44, 0.0)), True),
    (lambda: learn_less(skill(0.9, 0.8), skill(0.45, 0.0)), False),
    (lambda: learn_less(skill(0.9, 0.8), skill(0.45, 0.0), is_value=True), True),
    (lambda: ask_recipe(), (("stop", ""), True)),
    (lambda: ask_recipe(is_own=False), (None, False)),
    (lambda: ask_recipe(("", "the second"))[0][1][:12], " the second."),
    (lambda: ask_recipe(learned=(0.3, 0.05)), (None, False)),
    (lambda: ask_recipe(learned=(0.05, 0.3)), (None, True)),
    # Columns that are chosen by name or place; those that are left out do not count.
    (
        lambda: other_columns(columns(("x", "p", ["a", "b"])), columns(("x", "p", ["c", "b"]))),
        "x lacks 'a' and x also takes 'c'",
    ),
    (
        lambda: other_columns(columns(("x", "p", ["a"])), columns(("x", "p", ["a", "c"]))),
        "x also takes 'c'",
    ),
    (
        lambda: other_columns(
            columns(("x", "p", ["a"]), ("y", "p", [1, 2])),
            columns(("x", "p", ["a"]), ("y", "p", [2])),
        ),
        "y lacks 'b'",
    ),
    (
        lambda: other_columns(
            columns(("x", "p", slice("a", "b"))), columns(("x", "p", slice("b", "c")))
        ),
        "x lacks 'a' and x also takes 'c'",
    ),
    (lambda: other_columns(columns(("x", "drop", ["a"])), columns(("x", "drop", ["b"]))), ""),
    (lambda: other_columns(columns(("x", "p", ["a", "b"])), columns(("x", "p", ["b", "a"]))), ""),
    (lambda: other_columns(columns(("x", "p", ["a"])), Ridge()), ""),
    (lambda: other_columns(Ridge(), columns(("x", "p", ["a"]))), ""),
    (
        lambda: other_columns(
            columns(("x", "p", ["a"])),
            columns(("x", "p", ["b"])),
            lambda part: make_pipeline(part, Ridge()),
        ),
        "x lacks 'a' and x also takes 'b'",
    ),
    (
        lambda: list_steps(make_pipeline(FeatureUnion([("r", Ridge())]), LogisticRegression())),
        ["Pipeline", "FeatureUnion", "Ridge", "LogisticRegression"],
    ),
    (
        lambda: list_steps(columns(("x", Ridge(), ["a"]), ("y", "drop", ["b"]))),
        ["ColumnTransformer", "Ridge"],
    ),
    (lambda: list_steps(ColumnTransformer([])), ["ColumnTransformer"]),
    (
        lambda: list_steps(
            NS(best_estimator_=Ridge(), regressor_=LogisticRegression(), estimator_=3)
        ),
        ["SimpleNamespace", "Ridge", "LogisticRegression"],
    ),
]

# -- what comes out of it


def conclude(*replies, own=0.5, is_told=True, is_value=False, clones=(), n_models=3):
    """Conclude of a model at .9 of its training rows and at .8 of others."""
    met = met_of(is_told=is_told, is_value=is_value)
    met.fit = lambda inside=True: skill(own, plain=0.9 if inside else 0.8)
    found = _result.conclude_agreement(met, list(clones), list(replies), ["a"], ["b"], n_models)
    assert (found.asked, found.n_models, found.notes) == (("a",), n_models, ("b",))
    return found


def tell(*replies, **given):
    found = conclude(*replies, **given)
    return found.status, found.cause, found.text, found.cure


def clone(plain, name="a clone", is_own=True):
    return NS(fresh=skill(0.0, plain=plain), name=name, is_own=is_own, pace="fast", halves=["half"])


RIGHT = "The model is right on 90% of the rows it was trained on"
OF_ROWS, OF_NUMBERS = "rows found. A cure.", "own numbers found."
UNKNOWN = " This is not better than chance, so it does not show whether model and table agree."
RESULTS = [
    (lambda: tell(), ("pass", None, f"{RIGHT}.", "")),
    (
        lambda: _result._tell_figures(met_of(is_value=False), [clone(0.003)], {"members": 0.997}),
        "The model is right on more than 99% of the rows it was trained on; a clone that has not "
        "seen these rows on less than 1%.",
    ),
    (lambda: tell(own=0.0), ("cannot tell", None, f"{RIGHT}.{UNKNOWN}", "")),
    (lambda: tell(is_told=False)[0], "cannot tell"),
    (lambda: conclude(is_told=False).figures, {}),
    (
        lambda: tell(is_told=False)[2][:78],
        "The model gives only log odds of the labels, so its predictions are not known.",
    ),
    (
        lambda: tell(reply("skill", "warn"), reply("rows"), reply("labels")),
        ("stop", "rows", f"{RIGHT}. {OF_ROWS}", "A cure."),
    ),
    (
        lambda: tell(reply("own numbers"), reply("skill")),
        ("stop", "own numbers", f"{OF_NUMBERS} {RIGHT}. A cure.", "A cure."),
    ),
    (
        lambda: tell(reply("known values"), reply("repairs"))[2],
        f"known values found. {RIGHT}. A cure.",
    ),
    # What makes the model right is told where numbers are out of range.
    (
        lambda: tell(
            reply("own numbers"), QuestionReply("repairs", "stop", "It is scaled.", "Scale it.")
        ),
        (
            "stop",
            "own numbers",
            f"{OF_NUMBERS} {RIGHT}. It is scaled. Scale it.",
            "Scale it.",
        ),
    ),
    (
        lambda: tell(reply("own numbers"), reply("repairs", "warn"))[2],
        f"{OF_NUMBERS} {RIGHT}. A cure.",
    ),
    (
        lambda: tell(reply("skill", "warn"), reply("rows", "warn"))[2],
        f"{RIGHT}. skill found. A cure.",
    ),
    (
        lambda: tell(
            reply("skill", "warn"), QuestionReply("repeats", "warn", "It varies.", "Average it.")
        ),
        (
            "warn",
            "skill",
            f"{RIGHT}. skill found. It varies. A cure. Average it.",
            "A cure. Average it.",
        ),
    ),
    (
        lambda: tell(reply("repeats", "warn")),
        ("warn", "repeats", f"{RIGHT}. repeats found. A cure.", "A cure."),
    ),
    (
        lambda: conclude(clones=[clone(0.7), clone(0.6)]).figures,
        {"metric": "accuracy", "members": 0.9, "nonmembers": 0.8, "clones": 0.7},
    ),
    (lambda: conclude().figures["clones"], None),
    (lambda: conclude(is_value=True).figures["metric"], "mean absolute error"),
    (
        lambda: tell(clones=[clone(0.7), clone(0.6, "two forests")])[2],
        f"{RIGHT}; a clone that has not seen these rows on 70%; two forests that have not seen "
        "these rows on 60%.",
    ),
    (
        lambda: tell(is_value=True, clones=[clone(0.12345)])[2],
        "The mean absolute error of the model is 0.9 on the rows it was trained on; that of a "
        "clone that has not seen these rows is 0.123.",
    ),
    (
        lambda: [
            (found.pace, found.half_models)
            for found in (
                conclude(clones=[clone(0.7, is_own=False), clone(0.6)]),
                conclude(clones=[clone(0.7, is_own=False)]),
            )
        ],
        [("fast", ("half",)), (None, ())],
    ),
    (lambda: [_result.Agreement(one, "").is_stop for one in ("stop", "warn")], [True, False]),
]


# -- whether answers repeat, and belong to other labels


def ask_repeats(repeats, n_repeats=1):
    count = lambda n: 100 * n  # noqa: E731
    met = NS(repeats=repeats, n_repeats=n_repeats, repetition=NS(count_missing=count))
    found = _repeats_question.RepeatsQuestion().ask(met, ["clone"])
    return found and (found.status, found.text, found.cure.partition("the mean of ")[2][:81])


def find_turned(*counts, turned, drop=0):
    """Find what takes the place of each label, of which each half has twice so many members.

    Two rows are of one person, and people take turns between the halves.
    """
    labels = np.concatenate([np.repeat(k, 4 * n) for k, n in enumerate(counts)])[drop:]
    units = np.arange(len(labels) + drop)[drop:] // 2
    rng = NS(permutation=np.arange)
    answers = array(turned)[labels]
    return _assignment.find_assignment(labels, answers, len(counts), units, rng)


NOISY = "The model gives different answers when it is queried again."
REPEATED = "about 100 answers, as skmia.victims.CallableVictim(..., n_repeats=100) or as a fi"
NOISY_MEANS = "The means of 1,200 answers still differ when the model is queried again."
REPEATS = [
    (lambda: find_turned(10, 10, turned=[1, 0]), {0: 1, 1: 0}),
    (lambda: find_turned(10, 10, turned=[0, 1]), {}),
    (lambda: find_turned(10, 10, 10, turned=[1, 2, 0]), {0: 1, 1: 2, 2: 0}),
    (lambda: find_turned(10, 10, 10, turned=[2, 1, 0]), {0: 2, 2: 0}),
    # One answer to all of two labels is no other assignment.
    (lambda: find_turned(10, 10, 10, turned=[1, 1, 2]), {}),
    # Ten members of each half are judged, and nine are not.
    (lambda: find_turned(5, 5, turned=[1, 0]), {0: 1, 1: 0}),
    (lambda: find_turned(5, 5, turned=[1, 0], drop=1), None),
    (lambda: find_turned(5, 5, 5, turned=[1, 0, 2], drop=1), {}),
    (lambda: find_turned(10, 4, 10, turned=[2, 1, 0]), {0: 2, 2: 0}),
    (lambda: find_turned(10, 4, 4, turned=[1, 0, 2]), None),
    # An answer of a label that is too rare takes no place.
    (lambda: find_turned(10, 4, 10, turned=[1, 0, 2]), {}),
    (lambda: [ask_repeats(one) for one in (True, None)], [None, None]),
    (
        lambda: ask_repeats(False),
        ("warn", NOISY, REPEATED),
    ),
    (lambda: ask_repeats(False, 2)[1], NOISY_MEANS.replace("1,200", "2")),
    (lambda: ask_repeats(False, 1200)[1], NOISY_MEANS),
    (lambda: ask_repeats(False, 1200)[2][:21], "about 120,000 answers"),
]


# -- whether answers follow from the rows


def ask_rows(*, features=1, counts=(50, 50), low=(0.1, 0.0), follow=(False,)):
    """Ask whether answers are those of the rows, which each clone's are or not."""
    met = met_of(features=features, count=lambda side: counts[not side])
    met.fit = lambda side: skill(low[not side])
    given = mock.patch.object(
        _row_question.RowsQuestion, "_do_not_follow", lambda self, met, one: not follow[one]
    )
    with given:
        found = _row_question.RowsQuestion().ask(met, [*range(len(follow))])
    return found and found.status


def do_not_follow(both, members, others, low=(0.0, 0.0), sizes=(50, 60)):
    """Judge by whether answers to all, to members and to others are apart, and their shares."""
    n = sum(sizes)
    fresh = np.append(np.ones(n, dtype=bool), np.zeros(9, dtype=bool))
    inside = np.append(np.arange(n) < sizes[0], np.arange(9) < 5)
    met = NS(inside=inside, case=NS(seeds={"agreement": 3}), fit=lambda side: skill(low[not side]))
    seen = []

    def judge(self, met, clones, rows):
        seen.append((len(rows), sorted(rows.tolist()) == rows.tolist()))
        found = (both, members, others)[len(seen) - 1]
        return _row_question._RowOrder(*found)

    with mock.patch.object(_row_question.RowsQuestion, "_judge", judge):
        found = _row_question.RowsQuestion()._do_not_follow(met, NS(is_fresh=fresh))
    return found, seen


def judge_order(own, other, n_units=100, has_set=True):
    """Judge answers that follow the rows so much, where those of clones do so."""
    scores = [NS(take=lambda rows, k=k: NS(find_spread=lambda: (k, rows))) for k in range(2)]
    parts = {
        "_make_set": lambda met, rows: NS(n_units=n_units) if has_set else None,
        "measure_following": lambda one, asked: (own, other)[asked[0]],
    }
    with mock.patch.multiple(_row_question, **parts):
        asked = NS(scores=scores[0]), NS(fresh=scores[1]), "rows"
        return tuple(_row_question.RowsQuestion()._judge(*asked))


APART, ALONG = (True, 0.0), (False, 0.9)
ROWS = [
    (lambda: ask_rows(), "stop"),
    (lambda: ask_rows(features=None), None),
    (lambda: ask_rows(counts=(49, 60)), None),
    (lambda: ask_rows(counts=(60, 49)), None),
    (lambda: ask_rows(low=(0.1, 0.1)), None),
    (lambda: ask_rows(low=(0.0, 0.1)), "stop"),
    (lambda: ask_rows(follow=()), None),
    (lambda: ask_rows(follow=(False, True)), None),
    (lambda: do_not_follow(APART, ALONG, ALONG), (True, [(110, True)])),
    (
        lambda: do_not_follow(ALONG, APART, ALONG),
        (True, [(110, True), (50, True), (60, True)]),
    ),
    (lambda: do_not_follow(ALONG, ALONG, APART)[0], True),
    (lambda: do_not_follow(ALONG, APART, (False, 0.6))[0], False),
    (lambda: do_not_follow(ALONG, ALONG, ALONG)[0], False),
    (lambda: do_not_follow(APART, ALONG, ALONG, low=(0.1, 0.0))[0], False),
    (lambda: do_not_follow(APART, ALONG, ALONG, low=(0.0, 0.1))[0], False),
    (lambda: do_not_follow(ALONG, APART, ALONG, low=(0.1, 0.0))[0], False),
    (lambda: do_not_follow(ALONG, APART, ALONG, low=(0.0, 0.1))[0], True),
    (lambda: do_not_follow(ALONG, ALONG, APART, low=(0.1, 0.0))[0], True),
    (lambda: do_not_follow(APART, ALONG, ALONG, sizes=(49, 60)), (False, [])),
    (lambda: do_not_follow(APART, ALONG, ALONG, sizes=(60, 49)), (False, [])),
    (lambda: do_not_follow(APART, ALONG, ALONG, sizes=(1000, 1001))[1], [(2000, True)]),
    # The noise of 100 people is .233, and of 40,000 it is .01165.
    (lambda: judge_order(0.05, 0.8, has_set=False), (False, 0.0)),
    (lambda: judge_order(0.05, 0.8), (True, 0.0625)),
    (lambda: judge_order(0.0, 0.3, 40_000), (False, 0.0)),
    (lambda: judge_order(0.0, 0.31, 40_000), (True, 0.0)),
    (lambda: judge_order(0.0116, 0.8, 40_000)[0], True),
    (lambda: judge_order(0.0117, 0.8, 40_000)[0], False),
    (lambda: judge_order(0.12, 0.8)[0], False),
    (lambda: judge_order(0.119, 0.8)[0], True),
    (lambda: judge_order(0.05, 0.566)[0], False),
    (lambda: judge_order(0.05, 0.567)[0], True),
    (lambda: judge_order(0.05, -0.2), (False, 0.0)),
    (lambda: judge_order(0.05, 0.0), (False, 0.0)),
]

# -- whether other answers or columns make the model right


def is_better(new, own=0.0, *fresh, low=0.1, others=(0.0, 0.5), sizes=(1000, 20), **more):
    """Judge a repair that leads from one skill to another, on members and on others."""
    met = met_of(fit=lambda side=True: skill(9.0, own if side else others[0]))
    met.model = more.get("model")
    clones = references(*(skill(9.0, one) for one in fresh), is_own=more.get("is_own", True))
    fits = skill(9.0, new, (new - low) / _skill.Z), skill(9.0, others[1])
    return _repairs.RepairsQuestion()._is_better(met, clones, fits, *sizes)


def ask_repairs(own, *fresh, error=0.0, better=(0.5, 0.9, 0.7), **more):
    """Ask about four ways with skills of .5, .9, .8 and .7, of which some are better."""
    fits = iter([0.5, 0.0, 0.9, 0.0, 0.8, 0.0, 0.7, 0.0])
    ways = [(f"way {k}", (f"text {k}.", f"cure {k}."), [(0, "abc"), (1, "ab")]) for k in range(4)]
    lists = {
        "_list_orders": lambda met: ways[:1],
        "_list_turned": lambda met: ways[1:2],
        "_list_scaled_columns": lambda met: ways[2:],
        "measure_skill": lambda side, labels: skill(9.0, next(fits), plain=0.75),
    }
    met = met_of(skill(9.0, own, error), is_value=more.get("is_value", False))

    def judge(self, met, references, fits, n_members, n_others):
        assert (n_members, n_others) == (3, 2)
        return fits[0].decision.value in better

    with (
        mock.patch.multiple(_repairs, **lists),
        mock.patch.object(_repairs.RepairsQuestion, "_is_better", judge),
    ):
        others = references(*(skill(9.0, one, error) for one in fresh))
        found = _repairs.RepairsQuestion().ask(met, others)
    return found and (found.status, found.text, found.cure)


def name_map(moved, words=None):
    records = NS(fields={} if words is None else {"class_name": array(words)})
    labels, rows = array([0, 1, 1]), array([3, 0, 2])
    return _repairs._name_map(moved, ["x", "y", "z z"], labels, records, rows)


def list_orders(rows):
    """Return the answers to members and others in each of six orders; three of five are members."""
    membership, given = array([1, 0, 1, 1, 0]), array([10, 11, 12, 13, 14])
    case = NS(membership=membership, request=NS(outputs=given))
    met = NS(case=case, rows=rows, read=lambda some: _skill.AnswerScores(some))
    met.inside = membership[rows] == 1
    met.truth, met.units = np.arange(len(met.inside)), np.arange(len(met.inside)) + 5
    found = [*_repairs._list_orders(met)]
    assert all(one[1] is _repairs._ORDER for one in found)
    places = [(side[1].tolist(), side[2].tolist()) for side in found[0][2]]
    return [(one[0][17:], *(side[0].values.tolist() for side in one[2])) for one in found], places


def list_turned(kind="value"):
    met = NS(outputs=NS(kind=kind), inside=array([True, True, False]))
    met.truth, met.units = array([1.0, 5.0, 9.0]), array([0, 1, 2])
    met.scores = NS(values=array([0.0, 2.0, -1.0]))
    found = [*_repairs._list_turned(met)]
    assert all(one[1] is _repairs._UNITS for one in found)
    return [tuple(np.concatenate([side[0].values for side in one[2]])) for one in found]


def list_columns(X, *, inside=(True, True, False), names=None, has_model=True, refuses=()):
    """Return the ways of changing columns, and what the model is asked for then."""
    asked = []

    def ask(changed):
        asked.append(np.asarray(changed).tolist())
        return None if len(asked) in refuses else "answers"

    met = NS(model=NS(feature_names_in_=names) if has_model else None, some=array([0, 1, 2]))
    met.records, met.inside, met.ask = NS(X=X), array(inside), ask
    met.truth, met.units = array([7, 8, 9]), array([0, 1, 2])
    met.read = lambda outputs: _skill.AnswerScores(array([4.0, 5.0, 6.0]))
    found = [*_repairs._list_scaled_columns(met)]
    for one in found:
        assert [side[0].values.tolist() for side in one[2]] == [[4.0, 5.0], [6.0]]
        assert [side[1].tolist() for side in one[2]] == [[7, 8], [9]]
    return [one[0][17:] for one in found], asked


PLAIN = array([[1.0, 0.5], [2.0, -0.5], [3.0, 0.0]])
REPAIRS = [
    # A gain of .3, or of 2.33 standard deviations of 100 members; half of the skill, or three
    # quarters where clones of a model that can be asked are known.
    (lambda: is_better(0.31), True),
    (lambda: is_better(0.3), False),
    (lambda: is_better(0.33, sizes=(100, 20)), True),
    (lambda: is_better(0.329, sizes=(100, 20)), False),
    (lambda: is_better(9.0, sizes=(0, 20)), True),
    (lambda: is_better(0.8, 0.39), True),
    (lambda: is_better(0.8, 0.4), False),
    (lambda: is_better(2.0, 1.499, 0.1, model=1), True),
    (lambda: is_better(2.0, 1.5, 0.1, model=1), False),
    (lambda: is_better(2.0, 1.499, model=1), False),
    (lambda: is_better(2.0, 1.499, 0.1, model=1, is_own=False), False),
    (lambda: is_better(2.0, 1.499, 0.1), False),
    (lambda: is_better(0.8, low=0.0), False),
    # Of 20 others or more, a gain of .15; fewer are not asked.
    (lambda: is_better(0.8, others=(0.0, 0.15)), False),
    (lambda: is_better(0.8, others=(0.0, 0.151)), True),
    (lambda: is_better(0.8, others=(0.0, 0.15), sizes=(1000, 19)), True),
    (lambda: is_better(0.8, 0.0, 1.0, 1.59), True),
    (lambda: is_better(0.8, 0.0, 1.0, 1.6), False),
    # The best way is told; asked is where clones are better, or nobody surely above a tenth.
    (
        lambda: ask_repairs(0.2, 0.3),
        ("stop", "way 1, the model is right on 75%: text 1.", "cure 1."),
    ),
    (
        lambda: ask_repairs(0.2, 0.3, is_value=True, better=[0.7])[1],
        "way 3, the mean absolute error is 0.75: text 3.",
    ),
    (lambda: ask_repairs(0.2, 0.3, better=[]), None),
    (lambda: ask_repairs(0.2, 0.2), None),
    (lambda: ask_repairs(0.2, 0.3, 0.2), None),
    (lambda: ask_repairs(0.09, 0.05)[0], "stop"),
    (lambda: ask_repairs(0.1, 0.05), None),
    (lambda: ask_repairs(0.2, 0.05, error=0.1)[0], "stop"),
    (lambda: ask_repairs(0.2), None),
    (lambda: ask_repairs(0.09)[0], "stop"),
    # Labels of the table, by the words in it where there are any, and the classes of the answers.
    (lambda: name_map({0: 1, 1: 0}), "x=y y=x 'z z=z z'"),
    (lambda: name_map({}, ["b", "no", "c", "a a"]), "'a a=x' b=y 'z z=z z'"),
    (
        lambda: list_orders(slice(None))[0],
        [
            ("in reverse order", [14, 12, 11], [13, 10]),
            ("in reverse order", [13, 12, 10], [14, 11]),
            ("moved down by one row", [14, 11, 12], [10, 13]),
            ("moved down by one row", [13, 10, 12], [14, 11]),
            ("moved up by one row", [11, 13, 14], [12, 10]),
            ("moved up by one row", [12, 13, 10], [14, 11]),
        ],
    ),
    (lambda: list_orders(slice(None))[1], [([0, 2, 3], [5, 7, 8]), ([1, 4], [6, 9])]),
    (lambda: list_orders(array([1, 3]))[0][0], ("in reverse order", [11], [13])),
    # The targets of members are 1 and 5: 3 on average, with a deviation of 2.
    (
        lambda: list_turned(),
        [
            (1.0, np.exp(2.0), np.exp(-1.0)),
            (0.0, np.expm1(2.0), np.expm1(-1.0)),
            (1.0, 100.0, 0.1),
            (3.0, 7.0, 1.0),
            (1.0, 9.0, -3.0),
            (0.0, np.log(2.0), 0.0),
        ],
    ),
    (lambda: list_turned("values"), []),
    # Columns that are as large as those that were scaled are reversed alone.
    (lambda: list_columns(PLAIN), (["in reverse order"], [PLAIN[:, ::-1].tolist()])),
    (lambda: list_columns(PLAIN, has_model=False), ([], [])),
    (lambda: list_columns(PLAIN, names=["a", "b"]), ([], [])),
    (lambda: list_columns(PLAIN[:, :1]), ([], [])),
    (lambda: list_columns(PLAIN, refuses=[1])[0], []),
    (lambda: list_columns(array([["a"], ["b"], ["c"]])), ([], [])),
    # The members' median is above 3, or their deviation is below .2 or above 5.
    (
        lambda: list_columns(array([[1.0, 6.0], [3.0, 6.0], [4.0, 7.0]])),
        (["in reverse order"], [[[6.0, 1.0], [6.0, 3.0], [7.0, 4.0]]]),
    ),
    (
        lambda: list_columns(array([[2.0, 6.0], [5.0, 6.0], [8.0, 7.0]])),
        (
            ["standardized", "scaled to the range from 0 to 1", "in reverse order"],
            [
                [[-1.0, 0.0], [1.0, 0.0], [3.0, 1.0]],
                [[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]],
                [[6.0, 2.0], [6.0, 5.0], [7.0, 8.0]],
            ],
        ),
    ),
    (lambda: len(list_columns(array([[-2.0], [-5.0], [0.0]]))[0]), 2),
    (lambda: len(list_columns(array([[2.0], [4.0], [0.0]]))[0]), 0),
    (lambda: len(list_columns(array([[0.0], [0.39], [0.0]]))[0]), 2),
    (lambda: len(list_columns(array([[0.0], [0.4], [0.0]]))[0]), 0),
    (lambda: len(list_columns(array([[-5.0], [5.0], [0.0]]))[0]), 0),
    (lambda: len(list_columns(array([[-5.1], [5.1], [0.0]]))[0]), 2),
]


def test_questions_in_their_order_by_hand():
    expect_answers([*MEET, *COLLECT, *TRAIN])


def test_excuses_by_hand():
    expect_answers([*CLONES, *EXCUSES])


def test_questions_about_skill_by_hand():
    expect_answers(QUESTIONS)


def test_results_by_hand():
    expect_answers(RESULTS)


def test_repeated_answers_and_turned_labels_by_hand():
    expect_answers(REPEATS)


def test_questions_about_the_order_of_rows_by_hand():
    expect_answers(ROWS)


def test_repairs_by_hand():
    expect_answers(REPAIRS)


@pytest.mark.parametrize("n_models", [1, 2])
@pytest.mark.parametrize("is_own", [False, True])
def test_clones_answer_for_every_row_that_they_were_not_trained_on(n_models, is_own, monkeypatch):
    def answer():
        return NS(values=np.zeros(40), predicted=None, make_empty=answer)

    def train(given, asked, inside, seed):
        assert (given, asked) == (met, recipe) and y[inside].sum() == inside.sum() / 2 == 5
        pace = NS(fit_seconds=1.0, answer_seconds=1.0)
        trained.append((met.case, pace))
        return NS(model="m", inside=inside, scores=answer(), fits=np.ones(40), pace=pace)

    paces, trained, doubts = [], [], []
    monkeypatch.setattr(_clones, "_time_clone", train)
    monkeypatch.setattr(_clones, "tell_pace", lambda *given: paces.append(given))

    # The second one is left out where the first leaves no doubt.
    def leaves_no_doubt(given, scores, inside, is_new):
        assert given is met and (met.inside == (inside | is_new)).all()
        assert inside.sum() == is_new.sum() == 10
        doubts.append(scores)
        return n_models == 1

    monkeypatch.setattr(_clones, "_leaves_no_doubt", leaves_no_doubt)
    y, inside = np.tile([0, 1], 20), np.arange(40) < 20
    met = NS(case=NS(seeds={"agreement": 0}), inside=inside, units=np.arange(40), is_value=False)
    met.records, met.truth = NS(y=array(["a", "b"])[y]), y
    recipe = _clones.CloneRecipe("clone", None, is_own)
    found = _clones.train_clones(met, recipe, 2)
    assert len(found.models) == n_models and found.is_fresh[~inside].all()
    assert found.is_fresh[inside].sum() == found.is_seen[inside].sum() == 10 * n_models
    # Stand-ins tell nothing of the training of the model itself.
    assert len(found.halves) == is_own * n_models
    assert paces == trained[: len(found.halves)] and len(doubts) == 1
    # Nobody asks whether a second one is needed where one is wanted.
    found = _clones.train_clones(met, recipe, 1)
    assert len(found.models) == len(doubts) == 1 and found.is_fresh[~inside].all()
