"""Pools of models that were trained elsewhere."""

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from skmia import Outputs, Records, ShadowPool, audit
from skmia.attacks import RMIA, LiRA
from skmia.datasets import make_membership_problem
from skmia.metrics import operating_point

N = 160


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(N, n_features=6, random_state=0)[0]


def shift(records):
    return [Records(records.X + 0.1, records.y), Records(records.X - 0.1, records.y)]


def fit_pool(model, records, **settings):
    return ShadowPool(model, n_estimators=8, random_state=0, store="models", **settings).fit(
        records
    )


def ask(model, X):
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(X)


@pytest.mark.filterwarnings("ignore:The victim answers exactly as shadow model 0")
@pytest.mark.parametrize("augment", [None, shift], ids=["one query", "three queries"])
@pytest.mark.parametrize(
    "model, kind",
    [
        (RandomForestClassifier(5), "proba"),
        (LinearSVC(), "decision"),
        (LinearRegression(), "value"),
    ],
)
def test_pools_of_models_and_outputs_equal_the_pool_that_was_fitted(model, kind, augment, records):
    if kind == "value":
        records = Records(records.X, records.X[:, 0] + records.y)
    pool = fit_pool(model, records, augment=augment)
    copies = [records] if augment is None else [records, *augment(records)]
    outputs = [[ask(one, copy.X) for copy in copies] for one in pool.estimators_]
    outputs = np.array([each[0] for each in outputs] if augment is None else outputs)
    if kind == "decision":  # of two classes
        outputs = np.stack([np.zeros_like(outputs), outputs], axis=-1)
    inside, settings = pool.membership_, {"augment": augment, "estimator": model}
    given = ShadowPool.from_outputs(outputs, inside, records, kind=kind, **settings)
    asked = ShadowPool.from_models(iter(pool.estimators_), inside, records, **settings)
    # Linear models are asked all together while they are trained, which rounds otherwise.
    rtol = 1e-4 if kind == "value" else 0
    for other in (given, asked):
        np.testing.assert_allclose(other.signals_, pool.signals_, rtol=rtol)
        np.testing.assert_array_equal(other.membership(records), pool.membership(records))
        assert other.stored_ == pool.stored_ and other.temperatures_ == pool.temperatures_
        np.testing.assert_allclose(other.resolution_, pool.resolution_, rtol=rtol)
    victim = FrozenEstimator(pool.estimators_[0])
    scores = [LiRA(victim, some).fit(records).score_samples(records) for some in (pool, given)]
    np.testing.assert_allclose(*scores, rtol=10 * rtol)


def test_columns_in_another_order_and_stored_outputs(records):
    signals = ("auto", "hinge")
    pool = fit_pool(LogisticRegression(), records, signals=signals, batched=False)
    outputs = np.array([model.predict_proba(records.X)[:, ::-1] for model in pool.estimators_])
    given = ShadowPool.from_outputs(
        outputs,
        pool.membership_,
        records,
        kind="proba",
        classes=[1, 0],
        signals=signals,
        temperatures=(2.0,),
        store="outputs",
    )
    assert given.temperatures_ == (2.0,) and given.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(given.outputs_, outputs[..., ::-1].astype(np.float32))
    np.testing.assert_allclose(given.signals_, pool.signals_[1:], rtol=1e-6)


def test_stored_outputs_of_the_victim_for_further_queries(records):
    model = LogisticRegression()
    pool = fit_pool(model, records, augment=shift)
    victim = FrozenEstimator(model.fit(records.X[:80], records.y[:80]))
    asked = LiRA(victim, FrozenEstimator(pool)).fit(records).score_samples(records)
    copies = [records, *shift(records)]
    names = ["outputs", "outputs_1", "outputs_2"]
    answers = {
        name: Outputs(victim.predict_proba(copy.X), [0, 1])
        for name, copy in zip(names, copies, strict=True)
    }
    stored = records.with_fields(**answers)
    attack = LiRA(None, FrozenEstimator(pool)).fit(stored)
    np.testing.assert_array_equal(attack.score_samples(stored), asked)
    some = np.arange(0, N, 3)
    np.testing.assert_allclose(attack.score_samples(stored[some]), asked[some], rtol=1e-6)
    del answers["outputs_2"]
    with pytest.raises(ValueError, match=r"2 augmentations.*\(outputs_2 missing\)"):
        LiRA(None, FrozenEstimator(pool)).fit(records.with_fields(**answers)).score_samples(
            records.with_fields(**answers)
        )


def test_a_victim_is_not_asked_for_augmentations_that_nobody_knows(records):
    outputs = np.random.default_rng(0).normal(size=(4, 3, N, 2))
    inside = np.random.default_rng(1).random((4, N)) < 0.5
    pool = FrozenEstimator(ShadowPool.from_outputs(outputs, inside, records))
    victim = FrozenEstimator(LogisticRegression().fit(records.X, records.y))
    with pytest.raises(ValueError, match="signals of 3 queries.*can be asked 1; pass augment="):
        LiRA(victim, pool).fit(records).score_samples(records)


@pytest.fixture(scope="module")
def scored():
    """Log odds of eight models and a victim on records without features, three more if inside."""
    rng = np.random.default_rng(0)
    inside = rng.random((9, 400)) < 0.5
    return 3 * inside + rng.normal(size=(9, 400)), inside


@pytest.mark.parametrize("attack", [LiRA, RMIA])
def test_scores_of_a_target_suffice(scored, attack):
    scores, inside = scored
    records = Records.from_ids(
        [f"r{i}" for i in range(400)], outputs=Outputs(scores[8], kind="log_odds")
    )
    pool = FrozenEstimator(ShadowPool.from_scores(scores[:8], inside[:8], records))
    attack = attack(None, pool, temperature=1.0) if attack is RMIA else attack(None, pool)
    found = attack.fit(records).score_samples(records)
    assert operating_point(inside[8], found, 0.1).tpr > 0.7
    # The same scores as probabilities of two classes.
    p = 1 / (1 + np.exp(-scores[8]))
    named = Records.from_ids(np.arange(400), np.zeros(400, int))
    pool = FrozenEstimator(ShadowPool.from_scores(scores[:8], inside[:8], named))
    named = named.with_fields(outputs=Outputs(np.column_stack([p, 1 - p]), [0, 1]))
    again = attack.set_params(shadows=pool).fit(named).score_samples(named)
    np.testing.assert_allclose(again, found, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("quick_audits")
def test_an_audit_of_scores_alone(scored):
    scores, inside = scored
    records = Records.from_ids(
        np.arange(400), np.arange(400) % 2, outputs=Outputs(scores[8], kind="log_odds")
    )
    pool = FrozenEstimator(ShadowPool.from_scores(scores[:8], inside[:8], records))
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": pool, "file": False, "random_state": 0}
    report = audit(LogisticRegression(), records, inside[8], **settings)
    assert report.evidence == "leak"
    assert report.performance["metric"] == "confidence"
    assert "Mean probability of the label" in report.summary(verbose=True)
    checks = dict(report.checks)
    for name in ("blind baseline", "duplicates"):
        assert checks[name].status == "not run" and "identifiers" in checks[name].text


def test_records_of_identifiers():
    records = Records.from_ids(["a", "b", "c"], y=[0, 1, 0], group=["x", "x", "z"])
    assert not records.has_features and not records[[2, 0]].has_features
    assert records[[2]]["group"].tolist() == ["z"]
    assert Records.concat([records[:1], records[2:]]).fingerprint.tolist() == [
        records.fingerprint[0],
        records.fingerprint[2],
    ]
    assert Records(np.arange(3)[:, None], [0, 1, 0]).has_features
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        Records.from_ids(["a", "b", "a"])
    for wrong in ([], [["a"]], [None, "a"]):
        with pytest.raises(ValueError, match="ids must hold one identifier for each record"):
            Records.from_ids(wrong)


LOGITS, INSIDE = np.zeros((4, N, 2)), np.tile([0, 1], (4, N // 2))


@pytest.mark.parametrize(
    "changed, message",
    [
        (
            {"outputs": LOGITS[:, :5]},
            r"need the shape \(n_estimators, 160, n_classes\).*\(4, 5, 2\)",
        ),
        ({"outputs": LOGITS[0]}, r"got \(160, 2\)"),
        ({"outputs": np.full_like(LOGITS, np.nan)}, "NaN for 160 of 160 records"),
        (
            {"outputs": LOGITS[..., :1]},
            "The records have 2 labels, and outputs have 1 columns. .* stack 0 and z as two",
        ),
        (
            {"outputs": LOGITS[..., 0], "kind": "proba"},
            "got .4, 160.. .* stack 1 - p and p as two columns. Log odds of the label are kind=",
        ),
        (
            {"outputs": LOGITS - 1, "kind": "proba"},
            r"lie in \[0, 1\].*softmax of logits or of log-probabilities",
        ),
        ({"outputs": LOGITS.astype(str)}, "must return numbers"),
        (
            {"outputs": [*LOGITS[:3], pd.DataFrame(LOGITS[3], columns=[1, 0])]},
            "columns of the answers are 1, 0, and classes are 0, 1",
        ),
        (
            {"outputs": [[pd.DataFrame(one, columns=[1, 0])] for one in LOGITS]},
            "columns of the answers are 1, 0, and classes are 0, 1",
        ),
        ({"membership": INSIDE[:3]}, r"membership needs the shape \(4, 160\); got \(3, 160\)"),
        ({"membership": INSIDE + 1}, "membership must be 1 where"),
        ({"membership": [[0, 5], [1, 4, 7]] * 2}, r"membership must be .*lists of row numbers, np"),
        ({"membership": [[0, 5], [4, 7]] * 2}, r"got \(4, 2\). Of lists of row numbers, np.array"),
        ({"membership": INSIDE.astype(str)}, "membership must hold 0 and 1; got an array of <U"),
        ({"kind": "labels"}, "kind must be one of logits, proba, decision, log_odds, value, label"),
        ({"classes": [0, 1, 2]}, "classes has 3 labels, and outputs have 2 columns"),
        ({"classes": [0, 0]}, "classes must be one or more different labels"),
        ({"kind": "log_odds"}, "outputs of kind 'log_odds' need the shape"),
        (
            {"kind": "log_odds", "outputs": LOGITS[..., 0], "store": "outputs"},
            "keeps class probabilities, which outputs of kind 'log_odds' lack",
        ),
        (
            {"kind": "log_odds", "outputs": LOGITS[..., 0], "temperatures": (1.0, 2.0)},
            "Log odds cannot be converted to another temperature",
        ),
        (
            {"kind": "label", "outputs": np.full((4, N), 1j).astype(object)},
            "outputs must hold values of one type.*got complex",
        ),
        (
            {"kind": "label", "outputs": np.full((4, N), "a").astype(object)},
            "outputs and labels of the records must hold values of one type.*got int, str",
        ),
        ({"temperatures": ()}, "temperatures must be one or more positive numbers"),
        ({"store": "models"}, "keeps models, which outputs"),
        ({"signals": ("auto", "gradient_norm_x")}, "needs the models themselves"),
        ({"resolution": -1.0}, "The 'resolution' parameter of ShadowPool"),
    ],
)
def test_unusable_outputs_are_refused(records, changed, message):
    given = {"outputs": LOGITS, "membership": INSIDE, "records": records} | changed
    with pytest.raises(ValueError, match=message):
        ShadowPool.from_outputs(**given)


_PASSED = "The models that were trained on a record fit it worse than the others, on average"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"scores": lambda z: np.log1p(np.exp(-z))}, "numbers are losses, whose log odds are"),
        ({"membership": np.logical_not}, "membership is inverted"),
        ({}, None),
    ],
)
def test_pools_in_which_training_lowers_the_fit_are_pointed_out(scored, change, words):
    scores, inside = scored
    records, unchanged = Records.from_ids(np.arange(400), np.zeros(400, int)), np.array
    # Large signals of single models do not decide.
    scores = scores[:8] + 5.0 * (np.arange(8)[:, None] == 7)
    given = [
        change.get(name, unchanged)(values)
        for name, values in (("scores", scores), ("membership", inside[:8]))
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ShadowPool.from_scores(*given, records)
    said = [str(one.message) for one in caught]
    assert [words in one for one in said] == ([True] if words else []), said


@pytest.mark.parametrize(
    "draw",
    [
        # Most models are right, and each record is left out of one of them.
        lambda rng: (np.where(rng.random((10, 400)) < 0.8, 3.0, -3.0), np.arange(400) % 10),
        # All records of a person are alike, and in the same training sets.
        lambda rng: (np.repeat(rng.normal(size=(5, 20)), 20, axis=1), np.arange(400) // 20 % 5),
    ],
)
def test_pools_of_which_training_changes_nothing_are_not_pointed_out(draw):
    records = Records.from_ids(np.arange(400), np.zeros(400, int))
    for seed in range(14):
        scores, left_out = draw(np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ShadowPool.from_scores(scores, left_out != np.arange(len(scores))[:, None], records)


@pytest.mark.parametrize(("lower", "is_told"), [(0.20, False), (0.22, True)])
def test_signals_that_training_lowers_are_pointed_out_from_six_standard_errors_on(lower, is_told):
    # Half of 8 normal signals are lower: 5.8 and 6.3 standard errors of 400 records.
    rng, half = np.random.default_rng(1), np.repeat([[True, False]], 4, axis=1)
    inside = rng.permuted(np.repeat(half, 400, axis=0), axis=1).T
    scores = rng.normal(size=(8, 400)) - lower * inside
    told = pytest.warns(UserWarning, match=_PASSED) if is_told else nullcontext()
    with told:
        ShadowPool.from_scores(scores, inside, Records.from_ids(np.arange(400), [0] * 400))


def test_pools_of_models_and_outputs_point_out_an_inverted_membership(records):
    pool = fit_pool(RandomForestClassifier(5, random_state=0), records)
    with pytest.warns(UserWarning, match=f"{_PASSED}.*trained on the record.[.]$"):
        ShadowPool.from_models(pool.estimators_, ~pool.membership_, records)
    proba = [model.predict_proba(records.X) for model in pool.estimators_]
    with pytest.warns(UserWarning, match=f"{_PASSED}.* or classes is not in the order"):
        ShadowPool.from_outputs(proba, ~pool.membership_, records, kind="proba")


def test_given_log_odds_that_are_probabilities_are_pointed_out(scored):
    scores, inside = scored
    records = Records.from_ids(np.arange(400), np.zeros(400, int))
    p = 1 / (1 + np.exp(-scores))
    with pytest.warns(UserWarning, match=r"All log odds lie between 0 and 1.*special.logit\(p\)"):
        ShadowPool.from_scores(p[:8], inside[:8], records)
    with pytest.warns(UserWarning, match="All log odds lie between 0 and 1"):
        records.with_fields(outputs=Outputs(p[8], kind="log_odds"))


def test_unusable_models_are_refused(records):
    fitted = LogisticRegression().fit(records.X, records.y)
    inside = INSIDE[:2]
    for models, found in (([fitted], "got 1"), ([fitted] * 3, "got more than 2")):
        with pytest.raises(ValueError, match=f"as many as the rows of membership, 2; {found}"):
            ShadowPool.from_models(models, inside, records)
    with pytest.raises(ValueError, match="is not fitted"):
        ShadowPool.from_models([fitted, LogisticRegression()], inside, records)
    with pytest.raises(TypeError, match="fitted classifier or regressor"):
        ShadowPool.from_models([fitted, 3], inside, records)
    with pytest.raises(ValueError, match="carry no task labels"):
        ShadowPool.from_models([fitted] * 2, inside, Records(records.X))


@pytest.mark.filterwarnings("ignore:The victim answers exactly as shadow model 0")
def test_logits_of_nets_on_disk(records, tmp_path):
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")

    class Net(torch.nn.Sequential):
        def __init__(self):
            super().__init__(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    net = skorch.NeuralNetClassifier(
        Net, criterion=torch.nn.CrossEntropyLoss, max_epochs=2, train_split=None, verbose=0
    )
    pool = ShadowPool(net, 16, store="models", batched=False, random_state=0).fit(records)
    logits = [records.with_outputs(model)["outputs"].values for model in pool.estimators_]
    np.save(tmp_path / "logits.npy", logits)
    np.save(tmp_path / "keep.npy", pool.membership_)
    victim = pool.estimators_[0]
    target = Outputs(logits[0], [0, 1], "logits")

    loaded, keep = np.load(tmp_path / "logits.npy", mmap_mode="r"), np.load(tmp_path / "keep.npy")
    given = FrozenEstimator(ShadowPool.from_outputs(loaded, keep, records))
    for attack in (LiRA(), RMIA(temperature=2.0)):
        asked = attack.set_params(victim=FrozenEstimator(victim), shadows=FrozenEstimator(pool))
        expected = asked.fit(records).score_samples(records)
        stored = records.with_fields(outputs=target)
        found = attack.set_params(victim=None, shadows=given).fit(stored).score_samples(stored)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_odds_keep_their_precision(dtype):
    # It tells how near to 1 a probability could be, to which infinite values are smoothed.
    assert Outputs(np.zeros(3, dtype), kind="log_odds").values.dtype == dtype
    assert Outputs([1, 2], kind="log_odds").values.dtype == np.float64
