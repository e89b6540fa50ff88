"""What holds an array in an odd way is read, or refused in one sentence, at every public door."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_net import make_small_net

import skmia
from skmia import (
    Outputs,
    Records,
    ShadowPool,
    defenses,
    disparity,
    epsilon,
    games,
    leakage,
    memorization,
    metrics,
    model_selection,
    report,
    synthetic,
    victims,
)
from skmia import signals as made
from skmia._core.features import FeatureEncoder
from skmia.attacks import AttributeInferenceAttack, LiRA, ThresholdAttack

X = np.random.default_rng(0).normal(size=(24, 3))
BITS = np.arange(24) % 2
RECORDS = Records(X, BITS)
HALVES = np.full((24, 2), 0.5)
OUTPUTS = Outputs(HALVES, [0, 1])
SCORES = np.tile(X[:, 0], (4, 1))
MEMBERS = np.tile([[1, 0], [0, 1]], (2, 12))
MODEL = LogisticRegression().fit(X, BITS)
SIGNS = Records(np.column_stack([np.sign(X[:, 0]), X[:, 1:]]), BITS)
ATTRIBUTE = AttributeInferenceAttack(MODEL, sensitive=0, values=(-1.0, 1.0))
BOX = victims.open_white_box(MODEL)
SCALED = victims.open_white_box(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, BITS))


def ask_service(answers, classes=(0, 1)):
    victim = victims.CallableVictim(lambda rows: answers, list(classes))
    return ThresholdAttack(victim).fit(RECORDS).score_samples(RECORDS)


def lira():
    return LiRA(shadows=FrozenEstimator(ShadowPool(MODEL, 4, random_state=0).fit(RECORDS)))


SECRETS = memorization.CanaryFormat("a#", "12", alphabet="a12")


def tensor_with_gradient():
    return pytest.importorskip("torch").ones((2, 2), requires_grad=True)


def audit_canaries(made):
    audit = epsilon.EpsilonAudit(MODEL, canary=lambda *args, **kwargs: made, random_state=0)
    return audit.fit(X, BITS)


# Doors that take one array of a shape.
DOORS = {
    "Records": (Records, X),
    "labels": (lambda y: Records(X, y), BITS),
    "a field": (lambda values: Records(X, group=values), BITS),
    "Outputs": (lambda values: Outputs(values, [0, 1]), HALVES),
    "classes": (lambda classes: Outputs(HALVES, classes), np.arange(2)),
    "labels of answers": (OUTPUTS.scaled_logit, BITS),
    "scores of models": (lambda s: ShadowPool.from_scores(s, MEMBERS, RECORDS), SCORES),
    "members of models": (lambda m: ShadowPool.from_scores(SCORES, m, RECORDS), MEMBERS),
    "y_true": (lambda y: metrics.auc_interval(y, X[:, 0]), BITS),
    "y_score": (lambda scores: metrics.auc_interval(BITS, scores), X[:, 0]),
    "groups": (lambda groups: metrics.auc_interval(BITS, X[:, 0], groups=groups), np.arange(24)),
    "membership": (lambda bits: report.blind_baseline(RECORDS, bits, random_state=0), BITS),
    "rates": (lambda rate: metrics.precision_at_prior(rate, 0.1, 0.1), np.full(3, 0.5)),
    "an answer of a service": (ask_service, HALVES),
    "rows to encode": (SCALED.encode, X),
    "inputs of a white box": (BOX.logits, X),
    "weights of logits": (lambda weights: BOX.logit_gradient(X, weights), HALVES),
    "targets of a white box": (lambda y: BOX.loss(X, y), BITS),
    "a matrix": (lambda rows: leakage.MahalanobisLeakage().fit(rows), X),
    "rows of a mechanism": (lambda rows: defenses.mechanisms.LaplaceMechanism().fit(rows), X),
    "classes of rows": (lambda y: synthetic.rare_class_rate(y, BITS), BITS),
}


@pytest.mark.parametrize("door, plain", DOORS.values(), ids=DOORS)
def test_lists_of_two_lengths_are_refused(door, plain):
    rows = plain.tolist()
    with pytest.raises((ValueError, TypeError), match=r"must|needs|cell|one-dimensional") as caught:
        door([*rows[:-1], [*np.ravel(rows[-1]), 1]])
    assert "inhomogeneous" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("door, plain", DOORS.values(), ids=DOORS)
def test_hidden_values_are_refused(door, plain):
    with pytest.raises(ValueError, match="is a masked array that hides 1 of"):
        door(np.ma.masked_array(plain, mask=np.arange(plain.size).reshape(plain.shape) == 1))


@pytest.mark.parametrize("door, plain", DOORS.values(), ids=DOORS)
def test_tensors_of_which_gradients_are_taken_are_read(door, plain):
    torch = pytest.importorskip("torch")
    door(torch.tensor(plain, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("name", ("group", "group_by", "record_id"))
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("quick_audits")
def test_fields_that_are_tensors_of_a_graph_are_read(name):
    torch = pytest.importorskip("torch")
    values = torch.arange(24).to(torch.bfloat16).requires_grad_()
    rows = Records(X, BITS, **{"group": BITS, name: values // 4 if name == "group" else values})
    model_selection.leave_one_model_out(lira(), rows, group="group")
    audit = {"attacks": {"loss": ThresholdAttack()}, "shadows": None, "random_state": 0}
    skmia.audit(MODEL, rows, BITS, group="group", **audit)


CALLS = {
    "guesses of a game": (
        lambda: disparity.DisparityTest().fit(
            disparity.GroupGuesses([["\ud800", b"\xff"]], BITS[:2], BITS[:2])
        ),
        "guesses must be an array of shape",
    ),
    "classes with None": (lambda: Outputs(HALVES, [None, 1]), "classes must be one or more"),
    "classes that are a matrix": (lambda: Outputs(HALVES, HALVES), r"classes must be .*\.\.\.\.$"),
    "values that are text": (
        lambda: Outputs(["a"] * 24, kind="value"),
        "Answers of kind 'value' must hold numbers; got",
    ),
    "temperature": (lambda: OUTPUTS.log_proba(0), "temperature must be above 0; got 0"),
    "temperature of log odds": (lambda: OUTPUTS.scaled_logit(BITS, 0), "temperature must be above"),
    "resolution": (
        lambda: OUTPUTS.scaled_logit(BITS, resolution=-1),
        r"resolution must be a fraction in \[0, 1\]",
    ),
    "answers that are joined": (lambda: Outputs.concat([]), "takes a sequence of one or more"),
    "answers as scores": (lambda: metrics.auc_interval(BITS, OUTPUTS), "use outputs.values"),
    "rows of a service": (
        lambda: victims.CallableVictim(len, [0, 1]).predict(None),
        "X must be an array",
    ),
    "classes of a service": (lambda: ask_service(HALVES, [[0], [1, 2]]), "classes must be one or"),
    "wrt": (lambda: BOX.gradient_norms(X, BITS, X), "wrt must be one of 'parameters', 'inputs'"),
    "layers": (lambda: BOX.layer_outputs(X, 3.5), "layers must be a sequence of names"),
    "parameters": (
        lambda: list(BOX.layer_gradients(X, BITS, [[1]])),
        r"Unknown parameter \[1\]",
    ),
    "n_samples": (
        lambda: leakage.SubsampledMean().fit(X).sample(True),
        "n_samples must be an integer from 1",
    ),
    "norm of a signal": (lambda: made.AdversarialDistance(norm=X), "norm must be one of"),
    "bounds of a signal": (lambda: made.AdversarialDistance(bounds="a"), "bounds must be two"),
    "seed of a signal": (lambda: made.Merlin(random_state=1.5), "random_state must be an integer"),
    "scale of a signal": (lambda: made.Merlin(scale="a"), "scale must be above 0; got 'a'"),
}


CALLS |= {
    "members of a variation": (
        lambda: leakage.total_variation([[0.0], [1.0, 2.0]], X[:, :1]),
        "members must hold rows of one length",
    ),
    "rows with a group": (
        lambda: leakage.WorstCaseVulnerability(group_column=0).fit([[0.0], [1.0, 2.0]], [0, 1]),
        "X must be a table, or a dense matrix",
    ),
    "order of a model of sequences": (
        lambda: memorization.NGramModel(order=2**31 - 1).fit([[0, 1]]),
        "choose a smaller order",
    ),
    "records in another container": (
        lambda: FeatureEncoder(RECORDS).encode(Records(pd.DataFrame(X), BITS)),
        r"The records hold DataFrame\(24, 3\), which has not the columns",
    ),
    "records in a plain container": (
        lambda: FeatureEncoder(Records(pd.DataFrame(X), BITS)).encode(RECORDS),
        r"The records hold ndarray\(24, 3\), float64, which has not the columns",
    ),
    "attributes that are not as many": (
        lambda: ATTRIBUTE.fit(SIGNS).score(SIGNS, [0, 1]),
        "y must hold one value for each of 24 records",
    ),
    "weights of attributes": (
        lambda: ATTRIBUTE.fit(SIGNS).score(SIGNS, sample_weight=np.zeros(24)),
        "sample_weight must hold one number of 0 or more",
    ),
    "sizes of a curve": (
        lambda: model_selection.power_curve(lira(), RECORDS, n_estimators=["a"]),
        "n_estimators must be even numbers from 4 to 4; got 'a'",
    ),
    "targets of a curve": (
        lambda: model_selection.power_curve(lira(), RECORDS, n_targets=[]),
        "n_targets must be an integer from 1",
    ),
    "models left out": (
        lambda: model_selection.leave_one_model_out(lira(), RECORDS, models=[[0], [1, 2]]),
        "models must be numbers of models, or a mask",
    ),
    "targets of an evaluation": (
        lambda: defenses.evaluate_defense({"plain": MODEL}, RECORDS, n_targets=1.0),
        "n_targets must be from 1 to n_estimators; got 1.0",
    ),
    "candidates of an evaluation": (
        lambda: defenses.evaluate_defense({"a": 1}, RECORDS),
        "Candidate 'a' must be a classifier; got 1",
    ),
    "the largest leakage": (
        lambda: model_selection.best_below_leakage("auto"),
        "max_leakage must be a finite number; got 'auto'",
    ),
    "rows of two shapes": (
        lambda: Records.concat([RECORDS, Records(X[..., None], BITS)]),
        r"one shape; got rows of \(3,\), \(3, 1\)",
    ),
    "categorical columns": (
        lambda: synthetic.GowerEncoder(categorical_features=np.array(1.0)).fit(X),
        "categorical_features must be 'from_dtype' or a sequence",
    ),
    "distances beyond a float": (
        lambda: synthetic.PrivacyLoss(n_permutations=9).fit(X * 1e300, X, X),
        "have no Euclidean distance as a float",
    ),
    "membership of two lengths": (
        lambda: leakage.WorstCaseVulnerability().fit(X, [*BITS[:-1], [1, 1]]),
        "y must hold one class for each row",
    ),
    "missing roles of a game": (
        lambda: disparity.DisparityTest().fit(
            disparity.GroupGuesses([[0, 1]], pd.DataFrame([[1, None]], dtype="Int64"), BITS[:2])
        ),
        "membership must be 1, 0, or -1",
    ),
    "complex guesses of a game": (
        lambda: disparity.DisparityTest().fit(
            disparity.GroupGuesses([[0, 1j]], [[0, 1]], BITS[:2])
        ),
        "guesses must be 1 or 0",
    ),
    "a game without rounds": (
        lambda: disparity.DisparityTest().fit(
            disparity.GroupGuesses(np.empty((0, 24)), np.empty((0, 24)), BITS)
        ),
        r"with a round or more; got \(0, 24\)",
    ),
    "canaries that are a number": (
        lambda: audit_canaries(3),
        "Canaries must be a tuple of X, y and rows; got 3",
    ),
    "features of canaries": (
        lambda: audit_canaries((np.full((1, 3), "a"), [0], [0])),
        "X of canaries",
    ),
    "labels of canaries": (
        lambda: audit_canaries((X[:1], [pd.NA], [0])),
        "Labels of canaries must occur in",
    ),
    "rows of canaries": (
        lambda: audit_canaries((X[:1], [0], [24])),
        "rows of canaries must be numbers of rows of X",
    ),
    "a metric that compares nothing": (
        lambda: synthetic.PrivacyLoss(metric=int, n_permutations=9).fit(X, X, X),
        "metric cannot compare two rows: TypeError",
    ),
    "a metric that is no distance": (
        lambda: synthetic.PrivacyLoss(metric=lambda one, other: "a", n_permutations=9).fit(X, X, X),
        "A distance of metric must be a finite number; got 'a'",
    ),
    "fractions as tokens": (
        lambda: memorization.NGramModel().fit([[0, 1]]).next_log_proba([[0.5]]),
        "Sequences must be an array of whole numbers",
    ),
    "texts of two lengths": (
        lambda: SECRETS.encode(["a1", "a12"]),
        "Sequences must be one or more of one length",
    ),
    "tokens beyond the alphabet": (
        lambda: SECRETS.decode([[0, 3]]),
        "The alphabet has tokens from 0 to 2; got 3",
    ),
    "what a function of perplexity returns": (
        lambda: memorization.Exposure(lambda rows: ["a"], SECRETS).fit(),
        "What log_perplexity returns must be an array of numbers",
    ),
    "tokens with a gradient": (
        lambda: memorization.NGramModel().fit(tensor_with_gradient()),
        "X must be a sequence of sequences of whole numbers",
    ),
    "groups of an audit": (
        lambda: skmia.audit(MODEL, Records(X, BITS, group=HALVES), BITS, group="group"),
        "field 'group' must hold one name for each record",
    ),
    "a game of no records": (
        lambda: disparity.DisparityTest(MODEL, ThresholdAttack(), group="group").fit(
            Records(X[:0], BITS[:0], group=BITS[:0])
        ),
        "Expected at least 1 record; got 0",
    ),
    "groups of a game": (
        lambda: games.membership_game(MODEL, ThresholdAttack(), RECORDS, groups="a"),
        "groups='a' is not a field of the records, nor a column of X: the fields are none",
    ),
    "vulnerabilities beyond a float": (
        lambda: disparity.DisparityTest.from_table(pd.DataFrame([[10**400, 1], [1, 1]])),
        "The table must hold numbers",
    ),
    "a sparse table of Gower": (
        lambda: synthetic.PrivacyLoss(metric="gower", n_permutations=9).fit(
            sparse.csr_array(X), X, X
        ),
        "must be a DataFrame or a dense matrix",
    ),
    "candidates of an attribute": (
        lambda: AttributeInferenceAttack(MODEL, sensitive=0, values=(10**400, 1)).fit(SIGNS),
        "must hold values of one type",
    ),
    "a label that is a list": (
        lambda: synthetic.rare_class_rate(BITS, BITS, label=[[0], [1, 2]]),
        "label must be a class of y",
    ),
}


@pytest.mark.parametrize("call, message", CALLS.values(), ids=CALLS)
def test_it_is_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "key", (99, [99], None, {}, 1.5, [[1, 2], [3]], slice("a"), slice(0, 9, 0))
)
def test_keys_that_select_nothing(key):
    for given in (RECORDS, OUTPUTS):
        with pytest.raises(IndexError, match=r"was requested|are selected by"):
            given[key]


def test_one_answer_is_selected_by_its_number():
    assert len(OUTPUTS[3]) == 1


NETS = {
    "a net that cannot be made": (
        lambda: defenses.DPSGDClassifier(int, noise_multiplier=1.0, classes=[0, 1]).fit(X, BITS),
        "estimator makes no net of two numbers: TypeError",
    ),
    "rows that a net cannot take": (
        lambda: private_net().fit(X[..., None], BITS),
        "cannot take these records: RuntimeError: mat1 and mat2",
    ),
    "settings of a net": (
        lambda: private_net(lr=-1).fit(X, BITS),
        "estimator cannot be initialized: ValueError: Invalid learning rate",
    ),
    "widths of a generator": (
        lambda: synthetic.DPWassersteinGAN(critic_layers=(True,), noise_multiplier=1.0).fit(X),
        "A width of critic_layers must be an integer from 1",
    ),
}


def private_net(**settings):
    net = partial(make_small_net, **{"batch_size": 8, "max_epochs": 1, **settings})
    return defenses.DPSGDClassifier(net, noise_multiplier=1.0, classes=[0, 1], random_state=0)


@pytest.mark.parametrize("call, message", NETS.values(), ids=NETS)
def test_nets_are_refused_in_one_sentence(call, message):
    pytest.importorskip("opacus")
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_asking_a_private_net_leaves_the_global_generator():
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    fitted = private_net().fit(X, BITS)
    before = torch.random.get_rng_state()
    fitted.predict(X)
    assert torch.equal(torch.random.get_rng_state(), before)
