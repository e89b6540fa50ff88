"""Whether the two sides are what they are called: swapped, or the held-out rows in the model."""

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from cells import slow_but
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report import _validation_rows, recommend_release
from skmia.report._document import as_audit_document, check_document
from skmia.report._sides import BOTH as BOTH_SIDES
from skmia.report._sides import HELD_OUT as OTHERS
from skmia.report._sides import MEMBERS, SidesReader, TrainedAnswers
from skmia.report._validation_rows import stops_on_held_out
from skmia.victims import CallableVictim

# No check of the table decides what is asked here.
pytestmark = pytest.mark.usefixtures("attacks_alone")

X, Y = make_classification(800, 10, n_informative=5, flip_y=0.2, random_state=0)
TRAIN, HELD_OUT = (X[:400], Y[:400]), (X[400:], Y[400:])
ATTACKS = {"loss": ThresholdAttack(), "LiRA": LiRA()}
SETTINGS = {"attacks": ATTACKS, "shadows": 4, "fprs": [0.05], "random_state": 0}
# Where a model that is trained again gives the same answers, no shadow models are read.
REPEATED = {"attacks": {"loss": ThresholdAttack()}}
SWAPPED, IN_MODEL, IN_PART = (
    "swapped",
    "held-out rows in the model",
    "held-out rows in a part",
)


def run(model, train=TRAIN, held_out=HELD_OUT, **settings):
    return audit(model, train=train, held_out=held_out, **SETTINGS | {"file": False} | settings)


def show(report):
    """The summary as one line, and the document as it is read again."""
    check_document(json.loads(json.dumps(as_audit_document(report))))
    return " ".join(report.summary().split())


SOUND = {
    "logistic": LogisticRegression(),
    "naive Bayes": GaussianNB(),
    "forest": RandomForestClassifier(8),
    "boosting": HistGradientBoostingClassifier(max_iter=5),
    "neighbors": KNeighborsClassifier(30),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=3),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=3),
}


def repeat(name):
    return {} if name == "forest" else REPEATED


# In each run a model that is repeated, and one that is not; one with a model inside is below.
IN_EACH_RUN = ("logistic", "forest")


@pytest.mark.parametrize("name", slow_but(SOUND, *IN_EACH_RUN))
def test_sides_of_sound_audits_pass(name):
    report = run(clone(SOUND[name]).fit(*TRAIN), **repeat(name))
    assert report.checks["sides"].status == "passed"
    assert report.evidence in ("leak", "none")


# With a small gap, none, a large one, and answers that no model trained here repeats.
# A forest that is swapped is that of the service in the next test.
WITH_GAPS = ("logistic", "naive Bayes", "forest", "neighbors")


@pytest.mark.parametrize("name", slow_but(WITH_GAPS, "logistic"))
def test_swapped_sides_are_called_so(name):
    report = run(clone(SOUND[name]).fit(*TRAIN), HELD_OUT, TRAIN, **repeat(name))
    assert report.checks["sides"].finding == SWAPPED
    assert report.evidence == "reversed"
    assert report.verdict.startswith("Inconclusive: training data and held-out data are swapped.")
    told = show(report)
    assert "Were the two sides swapped? The model is right on" in told
    assert "Swap the two sides. audit(model, train=held_out, held_out=train)" in told


def test_the_sentence_on_swapped_sides_has_both_shares():
    forest = RandomForestClassifier(8, random_state=0).fit(*TRAIN)
    share, fit = (round(100 * forest.score(*side)) for side in (HELD_OUT, TRAIN))
    assert share != fit
    text = run(forest, HELD_OUT, TRAIN, **REPEATED).checks["sides"].text
    assert f"right on {share}% of the rows that are called members and on {fit}% of the" in text


def test_swapped_sides_of_a_service_and_of_a_regression():
    forest = RandomForestClassifier(8).fit(*TRAIN)
    service = CallableVictim(forest.predict_proba, classes=forest.classes_)
    report = run(service, HELD_OUT, TRAIN, estimator=RandomForestClassifier(8))
    assert (report.evidence, report.checks["sides"].finding) == ("reversed", SWAPPED)
    A, b = make_regression(400, 8, noise=20, random_state=0)
    sides = (A[:200], b[:200]), (A[200:], b[200:])
    forest = RandomForestRegressor(8, random_state=0).fit(*sides[0])
    report = run(forest, sides[1], sides[0], **REPEATED)
    assert (report.evidence, report.checks["sides"].finding) == ("reversed", SWAPPED)
    assert "squared error" in report.checks["sides"].text


BASES = {"logistic": LogisticRegression().fit(*TRAIN), "naive Bayes": GaussianNB().fit(*TRAIN)}


@pytest.mark.parametrize(
    "base, method",
    [
        ("logistic", "isotonic"),
        pytest.param("naive Bayes", "sigmoid", marks=pytest.mark.slow),
    ],
)
def test_calibration_on_held_out_rows_is_named(base, method):
    calibrated = CalibratedClassifierCV(FrozenEstimator(BASES[base]), method=method)
    report = run(clone(calibrated).fit(*HELD_OUT), **REPEATED)
    assert report.checks["sides"].finding == IN_PART
    assert report.evidence == "unknown"
    told = show(report)
    assert "A part of the model was fitted on the held-out rows." in told
    assert "(CalibratedClassifierCV)" in told and "Fit that part on training rows." in told
    sound = run(clone(calibrated).fit(*TRAIN), **REPEATED)
    assert sound.checks["sides"].status == "passed"


def test_a_stack_of_fitted_models_on_held_out_rows_is_named():
    stack = StackingClassifier([*BASES.items()], cv="prefit").fit(*HELD_OUT)
    assert run(stack, **REPEATED).checks["sides"].finding == IN_PART


@pytest.mark.parametrize(
    ("model", "file", "settings"),
    [
        # Models that cannot be repeated are weighed in the next test.
        pytest.param(RandomForestClassifier(8), False, {}, marks=pytest.mark.slow),
        pytest.param(
            RandomForestClassifier(8, random_state=0), True, REPEATED, marks=pytest.mark.slow
        ),
        (LogisticRegression(), True, REPEATED),
    ],
)
def test_a_model_of_all_rows_has_no_verdict(model, file, settings):
    report = run(clone(model).fit(X, Y), file=file, **settings)
    assert report.checks["sides"].finding == IN_MODEL
    assert report.evidence == "unknown"
    assert not file or report.file.evidence == "unknown"
    told = show(report)
    assert "The held-out rows are in the model." in told
    assert "Give held-out rows that the model has not seen." in told
    records, _ = Records.from_sides(TRAIN, HELD_OUT)
    found = recommend_release(report, clone(model).fit(X, Y), records, policy="research")
    assert found.result == "cannot be said" and found.reasons[0] == report.verdict


# What follows from how well each fits is tested by hand below.
@pytest.mark.parametrize(
    "rows",
    [IN_MODEL, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (SWAPPED, "members"))],
)
def test_models_that_cannot_be_repeated_are_weighed_by_their_fit(rows):
    # Random features with a seed that is lost, and a file that states no number of rows.
    given = {IN_MODEL: (X, Y), SWAPPED: HELD_OUT, "members": TRAIN}[rows]
    features = RBFSampler(gamma=0.3, n_components=600, random_state=0)
    model = make_pipeline(features, LogisticRegression(C=1e3, max_iter=300)).fit(*given)
    features.set_params(random_state=None)
    check = run(model).checks["sides"]
    assert check.finding == (None if rows == "members" else rows)
    assert check.status == ("passed" if rows == "members" else "warning")


@pytest.mark.parametrize(
    ("fits", "rows"),
    [((0, 1), OTHERS), ((1, 1), BOTH_SIDES), ((1, 0), None), ((0, 0), None), ((0.7, 0.7), None)],
)
def test_a_model_that_fits_the_sides_like_one_of_them_was_trained_like_it(fits, rows, monkeypatch):
    # How well a model fits the members and the others: 1 where it was trained, and 0 elsewhere.
    monkeypatch.setattr("skmia.report._sides.measure_gaps", lambda case, pool: {"sd": 0.01})
    membership = np.arange(200) < 100

    def answer(members, others):
        return TrainedAnswers(None, np.where(membership, members, others).astype(float))

    reader = SidesReader(
        SimpleNamespace(membership=membership, request=SimpleNamespace(outputs=None)), "a pool"
    )
    reader._own = answer(*fits)
    trained = {MEMBERS: answer(1, 0), OTHERS: answer(0, 1), BOTH_SIDES: answer(1, 1)}
    assert reader._weigh(trained) == rows


def test_validation_on_held_out_rows_is_named():
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBClassifier(n_estimators=50, early_stopping_rounds=3, random_state=0)
    inside, apart = (X[:300], Y[:300]), (X[300:400], Y[300:400])
    for rows, status in ((HELD_OUT, "warning"), (apart, "passed")):
        model = clone(booster).fit(*inside, eval_set=[rows], verbose=False)
        given = {"eval_set": [rows], "verbose": False}
        report = run(model, inside, HELD_OUT, fit_params=given, **REPEATED)
        assert report.checks["sides"].status == status
    noted = run(
        clone(booster).fit(*inside, eval_set=[HELD_OUT], verbose=False),
        inside,
        HELD_OUT,
        fit_params=lambda *rows: {"eval_set": [apart], "verbose": False},
        **REPEATED,
    )
    assert "the score that the model noted" in noted.checks["sides"].text


# In each run each of either once, and a net that is stopped by rows that are no pairs.
IN_EACH_RUN_OF_NETS = {
    ("stop", "arrays"),
    ("best", "tensors"),
    ("by training rows", "tensors"),
    (None, "arrays"),
    ("stop", "other tensors"),
}
STOPPED = [
    pytest.param(*cell, marks=[] if cell in IN_EACH_RUN_OF_NETS else pytest.mark.slow)
    for cell in product(
        ("stop", "best", "by training rows", None), ("arrays", "tensors", "other tensors")
    )
]


@pytest.mark.parametrize("chooses, kind", STOPPED)
def test_a_net_that_was_stopped_by_held_out_rows_is_named(chooses, kind):
    skorch, torch = pytest.importorskip("skorch"), pytest.importorskip("torch")
    helper = pytest.importorskip("skorch.helper")
    records, members = Records(X[:40].astype(np.float32), Y[:40]), np.arange(40) < 20
    callbacks = {
        "stop": [skorch.callbacks.EarlyStopping()],
        "best": [skorch.callbacks.Checkpoint(load_best=True, fn_prefix="a")],
        "by training rows": [skorch.callbacks.EarlyStopping("train_loss")],
        None: [skorch.callbacks.Checkpoint(load_best=False)],
    }[chooses]
    for side in (~members, members):
        rows = records.X[side].copy(), records.y[side].copy()
        data = skorch.dataset.Dataset(*rows)
        if kind != "arrays":
            rows = (*rows, rows[1]) if kind == "other tensors" else rows  # such as weights
            data = torch.utils.data.TensorDataset(*map(torch.tensor, rows))
        net = skorch.NeuralNetClassifier(
            torch.nn.Linear,
            module__in_features=10,
            module__out_features=2,
            criterion=torch.nn.CrossEntropyLoss,
            train_split=helper.predefined_split(data),
            callbacks=callbacks,
        ).initialize()
        victim = make_pipeline("passthrough", net)
        case = SimpleNamespace(victim=victim, records=records, membership=members)
        case.request = SimpleNamespace(fit_params=None)
        named = chooses in ("stop", "best") and kind != "other tensors" and side is not members
        if named:
            assert "validation rows of the net (train_split)" in stops_on_held_out(case)
        else:
            assert not _validation_rows._are_of_net(case)


# The leaves of the second one fit both sides better the more rows there are.
@pytest.mark.parametrize(
    ("model", "seed"),
    [
        pytest.param(HistGradientBoostingClassifier(max_iter=20), 1, marks=pytest.mark.slow),
        (RandomForestClassifier(8, min_samples_leaf=30, random_state=0), 4),
    ],
)
def test_a_model_of_many_more_rows_is_no_model_of_the_held_out_rows(model, seed):
    A, b = make_classification(4000, 10, n_informative=5, flip_y=0.05, random_state=seed)
    model = clone(model).fit(A[:3600], b[:3600])
    report = run(model, (A[:200], b[:200]), (A[3600:3800], b[3600:3800]))
    assert not report.checks["sides"].is_warning
    assert report.checks["training rows"].is_warning


def test_answers_are_not_made_where_no_models_are_compared(monkeypatch):
    monkeypatch.setattr("skmia.report._sides.describe_answers", None)
    many = SimpleNamespace(
        records=range(200_001),
        membership=np.ones(1, dtype=bool),
        request=SimpleNamespace(outputs=None),
        victim=None,
    )
    assert "at most 200,000 records in all" in SidesReader(many).obstacle
