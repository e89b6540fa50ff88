"""Stand-ins for models that cannot be trained, part by part, with answers by hand."""

from collections import namedtuple
from contextlib import nullcontext
from dataclasses import make_dataclass
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records
from skmia.attacks import AnalyticLiRA, LiRA, ThresholdAttack
from skmia.report import _surrogate
from skmia.report._surrogate import CHOSEN, GIVEN, OWN, RECIPE
from skmia.victims import CallableVictim

PLAIN, HOLES = np.eye(4), array([[1.0, nan], [inf, 2.0]])
TOKENS = array([[7, 8, 9], [7, 8, -1]])
WORDS = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": pd.to_datetime(["2020", "2021"])})


def refuse_table(X, **fields):
    told = tell_refusal(lambda: _surrogate.refuse_no_table(Records(X, **fields)))
    assert told in (None, "the records are images, tokens or texts, and no table")
    return told is not None


def kinds_of(X, kind="proba", y=(0, 1, 0, 1)):
    """Names of the kinds of models, each with the steps before it."""
    outputs = NS(kind=kind)
    found = _surrogate.list_kinds(Records(X, array(y)), outputs)
    named = [[step for _, step in one.steps] if hasattr(one, "steps") else [one] for one in found]
    return ["+".join(type(step).__name__[:8] for step in steps) for steps in named]


def parts_of_encoder(X):
    made = _surrogate._make_encoder(X)
    if isinstance(made, ColumnTransformer):
        return [columns for _, _, columns in made.transformers]
    return None if made is None else len(made)


# Of the training records of a dummy, three have the label 0 and one the label 1.
TRAIN = array([True] * 4 + [False] * 3)
LABELS = array([0, 0, 0, 1, 0, 1, 1])


def distance(values, classes=(0, 1), kind="proba", y=LABELS, model=None):
    """Return the distance of answers for two records, labels 0 and 1, from those of a dummy."""
    outputs = TakenOutputs(Outputs(array(values), classes, kind))
    case = NS(records=Records(np.zeros((7, 1)), y), request=NS(outputs=outputs))
    model = DummyClassifier() if model is None else model
    return _surrogate._measure_distance(model, case, TRAIN, array([4, 5]), 0)


class TakenOutputs:
    def __init__(self, outputs):
        self._outputs = outputs

    def __getitem__(self, rows):
        assert rows.tolist() == [4, 5]
        return self._outputs


def draw_fits(membership, people=None, y=None):
    """Return the training records and left-out records of each fit."""
    n = len(membership)
    records = Records(np.arange(float(n)).reshape(-1, 1), np.zeros(n) if y is None else y)
    request = NS(outputs=NS(kind="proba"))
    membership = array(membership, dtype=bool)
    case = NS(
        membership=membership, seeds={"victim": 0}, records=records, people=people, request=request
    )
    return [
        (np.flatnonzero(train).tolist(), held.tolist())
        for train, held, _ in _surrogate._draw_fits(case)
    ]


def check_fits():
    """Of six members and ten others, six are trained on, and none that is left out."""
    fits = draw_fits([1] * 6 + [0] * 10)
    held = [set(held) for _, held in fits]
    return (
        [len(train) for train, _ in fits],
        [len(one) for one in held],
        held[0] | held[1] == {*range(6, 16)},
        [bool(set(train) & own) for (train, _), own in zip(fits, held, strict=True)],
    )


def count_classes():
    """Of four others in one class and six in another, half of each class are left out."""
    y = array(["red"] * 10 + ["blue"] * 6)
    return [
        [(y[held] == name).sum() for name in "red blue".split()]
        for _, held in draw_fits([1] * 6 + [0] * 10, y=y)
    ]


def check_people():
    """People have two records each, of a member and of another one, or of two others."""
    people = np.append(np.arange(6), np.arange(10) % 8)
    fits = draw_fits([1] * 6 + [0] * 10, people=people)
    return [bool(set(people[train]) & set(people[held])) for train, held in fits]


Request = namedtuple("Request", "estimator model trains_pool fit_params stand_in")
Case = make_dataclass("Case", ["attacks", "request", "notes"])
FOUND = _surrogate.StandIn(Ridge(), [{}, {}, {}])
NONE = _surrogate.StandIn(None, [], "There are too few.")


def stand_in(*attacks, model=None, estimator=None, trains_pool=True, found=FOUND, **settings):
    """Return the estimator of a case and its notes after the first one; None if it is as before."""
    model = CallableVictim(np.sum, [0, 1]) if model is None else model
    request = Request(estimator, model, trains_pool, settings.get("fit_params"), None)
    case = Case(dict(enumerate(attacks)), request, ["first"])
    with mock.patch.object(_surrogate, "choose_stand_in", lambda case: found):
        new = _surrogate.with_stand_in(case, lambda name: nullcontext())
    return None if new is case else (new.request.estimator, new.request.stand_in, new.notes[1:])


def choose(distances, fits=((0,), (1,)), X=PLAIN):
    """Choose among kinds, each with its distance in two fits, or the error in which it ends."""

    def measure(kind, case, fit):
        value = distances[kind.alpha][fit]
        if isinstance(value, Exception):
            raise value
        return value

    case = NS(records=Records(X), request=NS(outputs=Outputs(array([[0.5, 0.5]]), [0, 1])))
    parts = {"_measure_distance": measure, "_draw_fits": lambda case: iter(fits)}
    parts["list_kinds"] = lambda records, outputs: [Ridge(alpha) for alpha in distances]
    with mock.patch.multiple(_surrogate, **parts):
        found = _surrogate.choose_stand_in(case)
    listed = [(one["estimator"], one["distance"]) for one in found.distances]
    return found.estimator and found.estimator.alpha, listed, found.obstacle


def find_recipe(victim, estimator=None, pool=None, trains_pool=True, stand_in=None):
    request = NS(victim=victim, estimator=estimator, trains_pool=trains_pool, stand_in=stand_in)
    return _surrogate._find_recipe(NS(request=request), pool)


def explain(reference, checks=None, stand_in=True, provenance=None):
    usual = {"recipe": CHOSEN, "estimator": "Ridge()", "obstacle": None, "left_out": []}
    usual |= {"attacks": [row()], "gap": {"z": 1.0, "victim": 0.5, "mean": 0.25}}
    given = {} if checks is None else checks
    return _surrogate.why_no_reference(usual | reference, given, stand_in, provenance or {})


def row(attack="LiRA", share=1.0, n_models=8):
    return {"attack": attack, "share": share, "n_models": n_models}


def count_models(attack, pool=None):
    return _surrogate._count_models(attack, pool)


TREE = DecisionTreeClassifier()
FITTED = DecisionTreeClassifier(random_state=3).fit(np.eye(2), [0, 1])
STATED = {RECIPE: "as trained"}
REMEDY = (
    "Pass estimator=, the recipe of the model, and state it in provenance, as "
    "'recipe of the model' (--estimator and --recipe)."
)
GAP = {"z": 2.34, "victim": 0.5, "mean": 0.25}


def describe_reference(*, recipe=GIVEN, stand_in=None, pool=True, estimator="E"):
    """Say what a model was compared with: two attacks with reference models, and one without."""
    lira, analytic, threshold = LiRA(), AnalyticLiRA(), ThresholdAttack()
    run = NS(attacks={"a": lira, "b": analytic, "c": threshold}, left_out=("d was left out: x",))
    run.judged = {name: array([1, 1, 1, 0]) > 0 for name in "abc"}
    run.pool = NS(estimator="P") if pool else None
    case = NS(request=NS(stand_in=stand_in, estimator=estimator))
    parts = {
        "_find_recipe": lambda case, pool: recipe,
        "_count_models": lambda attack, pool: 8 if attack is lira else None,
        "name_model": lambda model: f"model {model}",
        "measure_gaps": lambda case, pool: "gap",
    }
    with mock.patch.multiple(_surrogate, **parts):
        return _surrogate.describe_reference(case, run)


def explain_alike(finding="passed", **reference):
    """Explain why models of a stand-in do not suffice, where the check of them found something."""
    status = finding if finding in ("passed", "stated") else "warning"
    check = None if finding is None else NS(status=status, finding=finding)
    with mock.patch.object(_surrogate, "find_outcome", lambda checks, role: check):
        return explain(reference)


TO_STATE = (
    f"If Ridge() is the recipe of the model, state it in provenance, as {RECIPE!r} (--recipe)."
)
NOT_TREATED = "Models of the stand-in could not be tr"
ROWS = [
    (
        describe_reference,
        {
            **{"recipe": GIVEN, "estimator": "model P", "distances": [], "obstacle": None},
            "attacks": [
                {"attack": "a", "share": 0.75, "n_models": 8},
                {"attack": "b", "share": 0.75, "n_models": None},
            ],
            **{"left_out": ["d was left out: x"], "gap": "gap"},
        },
    ),
    (
        lambda: [describe_reference(pool=False)[name] for name in ("estimator", "gap")],
        ["model E", None],
    ),
    (lambda: describe_reference(pool=False, estimator=None)["estimator"], None),
    (lambda: describe_reference(recipe=OWN)["estimator"], None),
    (
        lambda: [
            describe_reference(stand_in=NS(distances=[3], obstacle="Odd."))[name]
            for name in ("distances", "obstacle")
        ],
        [[3], "Odd."],
    ),
    # A stand-in that leaks as the model does, and whose gap is as large, suffices.
    *(
        (
            lambda finding=finding: explain_alike(finding, recipe=GIVEN),
            f"The model leaks {word} than models of the stand-in Ridge(), so it is of another "
            f"kind. {TO_STATE}",
        )
        for finding, word in (("above", "more"), ("below", "less"))
    ),
    (lambda: [explain_alike(one)[:38] for one in (None, "stated")], [NOT_TREATED] * 2),
    (
        lambda: explain_alike(gap=None),
        f"The gap of the models of the stand-in Ridge() could not be measured. {REMEDY}",
    ),
    (explain_alike, None),
    (
        lambda: explain_alike(gap={"z": 99.0, "victim": 0.4, "mean": 0.1}),
        "The model fits its members better than other records by 0.400, and models of the "
        f"stand-in Ridge() fit theirs by 0.100 (z 99.0), so it is of another kind. {REMEDY}",
    ),
    # The nearest in the mean of both fits, of those that can be fitted.
    (
        lambda: choose({2: (2.0, 4.0), 3: (1.0, 3.5), 4: (ValueError("a"), 0.0), 5: (nan, 0.0)}),
        (3, [("Ridge(alpha=3)", 2.25), ("Ridge(alpha=2)", 3.0)], None),
    ),
    (
        lambda: choose({4: (0.0, ValueError("a")), 5: (0.0, inf)}),
        (
            None,
            [],
            "No stand-in could be trained: no kind of model could be fitted to the records.",
        ),
    ),
    (
        lambda: choose({2: (2.0, 4.0)}, X=np.zeros((4, 2, 2))),
        (
            None,
            [],
            "No stand-in could be trained: the records are images, tokens or texts, and no table.",
        ),
    ),
    # Needed by an attack that has no pool, of a model that cannot be trained.
    (lambda: stand_in(ThresholdAttack()), None),
    (lambda: stand_in(LiRA(shadows=NS())), None),
    (lambda: stand_in(ThresholdAttack(), LiRA(), model=TREE), None),
    (lambda: stand_in(LiRA(), estimator=TREE), None),
    (lambda: stand_in(LiRA(), trains_pool=False), None),
    (lambda: stand_in(LiRA(), found=NONE), (None, NONE, ["There are too few."])),
    (
        lambda: stand_in(ThresholdAttack(), LiRA())[2],
        [
            "The model cannot be trained, so the shadow models are of a stand-in, Ridge(), whose "
            "answers were the nearest of 3 kinds. A model of another kind may leak more."
        ],
    ),
    (lambda: stand_in(LiRA())[1] is FOUND, True),
    (
        lambda: tell_refusal(lambda: stand_in(LiRA(), fit_params={"a": 1})),
        "fit_params needs estimator, the model that is trained with them.",
    ),
    (lambda: refuse_table(PLAIN), False),
    (lambda: refuse_table(sparse.csr_array(PLAIN)), False),
    (lambda: refuse_table(WORDS), False),
    (lambda: refuse_table(np.zeros((4, 2, 2))), True),
    (lambda: refuse_table(["a text", "another"]), True),
    (lambda: refuse_table(TOKENS, n_tokens=[3, 2]), True),
    (lambda: refuse_table(TOKENS, n_tokens=[3, 3]), False),
    (lambda: _surrogate._refuse_margins(Outputs(array([[0.5, 0.5]]), [0, 1])), None),
    (
        lambda: tell_refusal(
            lambda: _surrogate._refuse_margins(Outputs(array([[0.5, -0.5]]), [0, 1], "decision"))
        ),
        "the victim returns neither probabilities nor labels of classes nor numbers",
    ),
    (
        lambda: tell_refusal(lambda: _surrogate._refuse_margins(PLAIN)),
        "the victim returns neither probabilities nor labels of classes nor numbers",
    ),
    # The first two take scaled columns; boosted trees neither many classes nor several targets.
    (
        lambda: kinds_of(PLAIN),
        [
            "Standard+Logistic",
            "Standard+KNeighbo",
            "Gaussian",
            "Decision",
            "RandomFo",
            "RandomFo",
            "HistGrad",
        ],
    ),
    (
        lambda: kinds_of(sparse.csr_array(PLAIN)),
        ["MaxAbsSc+Logistic", "MaxAbsSc+KNeighbo", "Bernoull", "Decision", "RandomFo", "RandomFo"],
    ),
    (lambda: [len(kinds_of(np.eye(k), y=range(k))) for k in (20, 21)], [7, 6]),
    (
        lambda: kinds_of(PLAIN, "value", y=(0.5, 1.5, 2.5, 3.5)),
        [
            "Standard+Ridge",
            "Standard+KNeighbo",
            "Decision",
            "RandomFo",
            "RandomFo",
            "HistGrad",
        ],
    ),
    (lambda: len(kinds_of(np.eye(21), "value", y=range(21))), 6),
    (lambda: len(kinds_of(PLAIN, "values")), 5),
    (lambda: kinds_of(WORDS, y=(0, 1))[2], "ColumnTr+Gaussian"),
    # Columns of numbers and of times, and others.
    (lambda: parts_of_encoder(PLAIN), None),
    (lambda: parts_of_encoder(PLAIN > 0), None),
    (lambda: parts_of_encoder(sparse.csr_array(HOLES)), None),
    (lambda: parts_of_encoder(HOLES), 2),
    (lambda: parts_of_encoder(WORDS), [[0, 2], [1]]),
    (lambda: parts_of_encoder(WORDS.assign(b=pd.to_timedelta([1, 2]))), [[0, 1, 2], []]),
    (lambda: parts_of_encoder(array([["x", 1], ["y", 2]], dtype=object)), [[1], [0]]),
    (lambda: parts_of_encoder(pd.DataFrame({"a": [1j]})), [[], [0]]),
    (
        lambda: _surrogate._make_encoder(HOLES).fit_transform(HOLES),
        [[1.0, 2.0], [1.0, 2.0]],
    ),
    (
        lambda: _surrogate._make_encoder(WORDS).fit_transform(WORDS)[:, [0, 2, 3]],
        [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]],
    ),
    # A dummy says .75 and .25: the total variation, and the parts of it that show.
    (lambda: distance([[0.5, 0.5], [1.0, 0.0]]), 0.25),
    (lambda: distance([[0.5, 0.5], [0.5, 0.5]]), 0.25),
    (lambda: distance([[0.0, 1.0], [0.75, 0.25]]), 0.375),
    (lambda: distance([[0.25, 0.75], [0.25, 0.75]], classes=(1, 0)), 0.0),
    (lambda: distance([[0.5, 0.25, 0.25]] * 2, classes=(0, 1, 2)), 0.25),
    (lambda: distance(np.log([[0.5, 0.5], [1 - 1e-12, 1e-12]]), kind="logits"), 0.25),
    (lambda: distance([0, 1], kind="label"), 0.5),
    (lambda: distance([1, 1], kind="label"), 1.0),
    (lambda: distance([0.0, 0.0], None, "log_odds"), 0.25),
    (lambda: distance([np.log(3.0), -np.log(3.0)], None, "log_odds"), 0.0),
    # The mean of 0, 0, 0 and 4 is 1, and the deviation of all seven numbers 2.
    (
        lambda: distance(
            [2.0, 4.0], None, "value", array([0.0, 0, 0, 4, 0, 4, 4]), DummyRegressor()
        ),
        2.0 / array([0.0, 0, 0, 4, 0, 4, 4]).std(),
    ),
    (
        lambda: distance([1.0, 2.0], None, "value", np.ones(7), DummyRegressor()),
        0.5,
    ),
    # Each of several targets in its own unit: the first is off by a deviation, the other by none.
    (
        lambda: distance(
            [[1.0, 0.0], [1.0, 0.0]],
            None,
            "values",
            array([[1.0, 9.0], [-1, -9], [1, 9], [-1, -9], [0, 0], [0, 0], [0, 0]]),
            DummyRegressor(),
        ),
        0.5 / np.sqrt(4 / 7),
    ),
    (count_classes, [[2, 3], [2, 3]]),
    (check_fits, ([6, 6], [5, 5], True, [False, False])),
    (check_people, [False, False]),
    # As many are trained on as are free, if these are fewer than the members.
    (lambda: [len(train) for train, _ in draw_fits([1] * 2 + [0] * 10)], [2, 2]),
    (
        lambda: tell_refusal(lambda: draw_fits([1, 1, 0, 0, 0], people=[1, 2, 3, 3, 3])),
        "all non-members belong together",
    ),
    (
        lambda: tell_refusal(lambda: draw_fits([1, 1, 0, 0], people=[3, 3, 3, 4])),
        "there are too few records",
    ),
    (lambda: find_recipe(FITTED, stand_in=NS()), CHOSEN),
    (lambda: find_recipe(FITTED), OWN),
    (lambda: find_recipe(FITTED, trains_pool=False), OWN),
    (lambda: find_recipe(TREE), GIVEN),
    (lambda: find_recipe(FITTED, Ridge()), GIVEN),
    # Seeds change nothing about what a model is like.
    (lambda: find_recipe(FITTED, TREE), OWN),
    (lambda: find_recipe(FITTED, DecisionTreeClassifier(max_depth=2)), GIVEN),
    (lambda: find_recipe(FITTED, pool=NS(estimator=TREE), trains_pool=False), OWN),
    (lambda: find_recipe(FITTED, TREE, pool=NS(estimator=Ridge())), GIVEN),
    (lambda: _surrogate._list_settings(3), (int, None)),
    (
        lambda: _surrogate._list_settings(make_pipeline(StandardScaler(), Ridge()))[1]["steps"],
        "list",
    ),
    (
        lambda: _surrogate._list_settings(make_pipeline(Ridge(alpha=2)))[1]["ridge__alpha"],
        "2",
    ),
    (lambda: "ridge__random_state" in _surrogate._list_settings(make_pipeline(Ridge()))[1], False),
    (lambda: count_models(ThresholdAttack()), None),
    (lambda: count_models(LiRA(shadows=7)), 7),
    (lambda: count_models(LiRA(), NS(membership_=[1, 2, 3], n_estimators=9)), 3),
    (lambda: count_models(LiRA(), NS(n_estimators=9)), 9),
    (lambda: count_models(LiRA(), NS()), 0),
    # Why nothing was compared, or too little, in the order in which it is asked.
    (lambda: _surrogate.why_no_reference(None, {}, True, {})[:26], "The report does not say wh"),
    (lambda: explain({"recipe": OWN}), None),
    (lambda: explain({"recipe": GIVEN}, provenance=STATED), None),
    (
        lambda: explain({"attacks": []})[:26],
        "None of the attacks of the",
    ),
    (lambda: explain({"attacks": [row(n_models=None)]})[:26], "None of the attacks of the"),
    (lambda: explain({"recipe": OWN, "attacks": [row(n_models=None)]}), None),
    (lambda: explain({"recipe": OWN, "attacks": [row(share=0.95)]}), None),
    (
        lambda: explain({"recipe": OWN, "attacks": [row("a", 0.94), row("b", 0.5)]}),
        "a judged 94% of the records, and 95% are needed. Train more shadow models.",
    ),
    (
        lambda: explain({"recipe": OWN, "attacks": [row("a", 1.0, 7), row("b", 0.96, 6)]}),
        "a and b compared it with 7 models, and 8 are needed. Run the audit with shadows=8 or "
        "more (--shadows).",
    ),
    (lambda: explain({"recipe": OWN, "attacks": [row("a", 1.0, 7), row("b", 0.96, 8)]}), None),
    (
        lambda: explain(
            {"attacks": [], "left_out": ["a was left out: slow.", "b was left out: x."]}
        ),
        (
            "a and b could not run. a was left out: slow. Pass estimator=, the recipe of the "
            "model or one that behaves like it."
        ),
    ),
    (
        lambda: explain({"attacks": [], "left_out": ["a"], "obstacle": "No table."})[:26],
        "a could not run. No table.",
    ),
    (
        lambda: explain({}, stand_in=False),
        "The reference models are of a stand-in, Ridge(), and this policy takes none "
        f"(stand_in = false). {REMEDY}",
    ),
    (
        lambda: explain({"recipe": GIVEN}, stand_in=False)[-87:],
        "s the recipe of the model, state it in provenance, as 'recipe of the model' (--recipe).",
    ),
    (
        lambda: explain({}),
        "Models of the stand-in could not be treated as the victim, so it is not known whether "
        f"Ridge() behaves like the model. {REMEDY}",
    ),
    (lambda: _surrogate.why_gap_too_large(None), None),
    (lambda: _surrogate.why_gap_too_large({"gap": None}), None),
    (lambda: _surrogate.why_gap_too_large({"gap": GAP | {"z": 2.33}}), None),
    (
        lambda: _surrogate.why_gap_too_large({"gap": GAP, "estimator": None}),
        "The model fits its members better than other records by 0.500, and its shadow models fit "
        "theirs by 0.250 (z 2.3), so it is of another kind.",
    ),
    (
        lambda: _surrogate.why_gap_too_large({"gap": GAP, "estimator": "A"}).partition(
            "0.500, and "
        )[2][:30],
        "models of the stand-in A fit t",
    ),
    (lambda: _surrogate.why_not_undecided(None, {}), None),
    (lambda: _surrogate.why_not_undecided({"recipe": OWN}, {}), None),
    (lambda: _surrogate.why_not_undecided({"recipe": GIVEN}, STATED), None),
    (
        lambda: _surrogate.why_not_undecided({"recipe": CHOSEN, "estimator": "A"}, STATED),
        "The reference models are of a stand-in, A, with which every number has to be within its "
        f"limit. {REMEDY}",
    ),
    (lambda: _surrogate.describe_stand_in(None, {}), []),
    (lambda: _surrogate.describe_stand_in({"recipe": OWN, "estimator": "A"}, {}), []),
    (lambda: _surrogate.describe_stand_in({"recipe": CHOSEN, "estimator": None}, {}), []),
    (
        lambda: _surrogate.describe_stand_in({"recipe": GIVEN, "estimator": "A"}, STATED),
        ["The reference models are of A, which is stated to be the recipe of the model."],
    ),
    (
        lambda: _surrogate.describe_stand_in({"recipe": GIVEN, "estimator": "A"}, {}),
        ["The reference models are of a stand-in, A. A model of another kind may leak more."],
    ),
]


def test_answers_by_hand():
    expect_answers(ROWS)
