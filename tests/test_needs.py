"""What attacks declare is what they need: declared and real outcomes agree."""

import importlib.util
import inspect
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from public import PUBLIC
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, ShadowPool
from skmia.attacks import (
    RMIA,
    AttributeInferenceAttack,
    CalibratedAttack,
    LiRA,
    MorganAttack,
    QuantileAttack,
    RenyiAttack,
    ShadowAttack,
    ThresholdAttack,
)
from skmia.attacks.white_box import EnsembleAttack
from skmia.base import Needs, Offer, connect, needs_of
from skmia.games import DensityAttack
from skmia.leakage import GaussianRegressionAttacker
from skmia.signals import (
    GradientStatistics,
    Signals,
    get_signal_names,
)
from skmia.signals._registry import get_signal
from skmia.synthetic import GeneratorAttack
from skmia.victims import CallableVictim
from skmia.victims._capabilities import get_access, get_kind

pytestmark = pytest.mark.contract

BOTH = "members and non-members"


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """A tree that gives its labels and nothing else."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def make_net():
    pytest.importorskip("skorch")
    from small_net import make_small_net

    return make_small_net(4, 2, max_epochs=3)


MODELS = {
    "forest": lambda: RandomForestClassifier(2, random_state=0),
    "margins": lambda: LinearSVC(random_state=0),
    "logistic": LogisticRegression,
    "forest of values": lambda: RandomForestRegressor(2, random_state=0),
    "perceptron": lambda: MLPClassifier((4,), solver="lbfgs", max_iter=50, random_state=0),
    "net": make_net,
    "labels": LabelsOnly,
    "service": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
}


@cache
def make_case(name):
    """A fitted victim, a pool that keeps all there is, records and membership."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(np.int64)
    model = MODELS[name]()
    records = Records(X, X[:, 0] if name == "forest of values" else y)
    membership = rng.permutation(60) % 2
    members = records[membership == 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, of read-only arrays
        victim = clone(model).fit(members.X.copy(), members.y)
        if name == "service":  # which says the label and no more
            victim = CallableVictim(lambda rows, tree=victim: np.eye(2)[tree.predict(rows)], [0, 1])
        shadow = DecisionTreeClassifier(max_depth=3) if name == "labels" else model
        pool = ShadowPool(shadow, 8, store="models", random_state=0).fit(records)
    return FrozenEstimator(victim), FrozenEstimator(pool), records, membership


QUICK = {
    "AdversarialDistance": {"n_rounds": 2, "n_steps": 2},
    "BoundaryDistance": {"max_queries": 150},
    "LabelRobustness": {"n_changes": 2},
    "Merlin": {"n_changes": 3},
}


def make_attacks(records, membership):
    """Every attack on membership, quick ones, by a name."""
    settings = {
        "EnsembleAttack": {"cv": 2, "max_iter": 5},
        "FisherRaoAttack": {"cv": 2, "max_iter": 5},
        "GradientAttack": {"cv": 2},
        "LayerOutputsAttack": {"cv": 2, "attack_estimator": DecisionTreeClassifier(max_depth=2)},
        "MahalanobisAttack": {"cv": 2},
        "MorganAttack": {"cv": 2, "n_changes": 3},
        "OneQueryAttack": {"n_steps": 2},
        "WhiteBoxAttack": {"cv": 2, "max_iter": 1},
        "QueriedThresholdAttack": {"max_queries": 200, "random_state": 0},
        "QuantileAttack": {"target_fpr": 0.2, "cv": 3, "estimator": DecisionTreeRegressor()},
        "RangeAttack": {"n_samples": 2},
        "ShadowAttack": {"attack_estimator": DecisionTreeClassifier(max_depth=2)},
        "TransferredQueryAttack": {"n_steps": 1, "n_partners": 1},
    }
    attacks = {one.__name__: one(**settings.get(one.__name__, {})) for one in find_attacks()}
    others = records[membership == 0]
    attacks |= {
        "QuantileAttack": attacks["QuantileAttack"].set_params(population=others),
        "population": CalibratedAttack(reference="population", population=others),
        "calibrated loss": CalibratedAttack(signal="loss"),
        "calibrated margins": CalibratedAttack(signal="hinge"),
        "midpoint": CalibratedAttack(reference="midpoint"),
        "offline": LiRA(online=False),
        "cold": RMIA(temperature=1.0),
        "density of logits": DensityAttack(statistic="auto"),
        "shadow of losses": ShadowAttack(features=["loss"], attack_estimator=TREE),
        "shadow of hits": ShadowAttack(features=["correctness"], attack_estimator=TREE),
        "ensemble of answers": EnsembleAttack(signals=["hinge"], attack_estimator=TREE, cv=2),
        "pipeline": make_pipeline(Signals(signals=["loss", "entropy"]), LogisticRegression()),
        "gradients": make_pipeline(GradientStatistics(), StandardScaler(), LogisticRegression()),
    }
    for name in get_signal_names():
        quick = QUICK.get(type(get_signal(name)).__name__)
        signal = replace(get_signal(name), **quick) if quick else name
        attacks[f"threshold {name}"] = ThresholdAttack(signal=signal)
    return attacks


TREE = DecisionTreeClassifier(max_depth=2)


def find_attacks():
    """Classes of the attacks on membership that take records."""
    public = [one for name, one in PUBLIC.items() if name.startswith("skmia.attacks.")]
    public.append(DensityAttack)
    return [one for one in public if not inspect.isabstract(one) and hasattr(one, "needs")]


def run(attack, victim, pool, records, membership):
    """Whether an attack runs on a victim."""
    attack = connect(clone(attack), victim, pool)
    bits = membership if needs_of(attack).known == BOTH else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence in a few steps, of few shadow models
        try:
            scores = attack.fit(records, bits).predict(records)
        except (TypeError, ValueError):
            return False
    return scores.shape == (len(records),)


@pytest.mark.usefixtures("quick_audits")
@pytest.mark.parametrize(
    "name",
    [
        # Nets of torch offer what perceptrons do, and a service what labels do.
        pytest.param(one, marks=[pytest.mark.slow] * (one in {"net", "logistic", "service"}))
        for one in MODELS
    ],
)
def test_declared_outcomes_are_the_real_ones(name):
    victim, pool, records, membership = make_case(name)
    access, _ = get_access(victim)
    offer = Offer(get_kind(victim), access, keeps=pool.estimator.keeps, known=BOTH)
    attacks = make_attacks(records, membership)
    if importlib.util.find_spec("torch") is None:
        del attacks["WhiteBoxAttack"]
    declared = {key: needs_of(one).why_not(offer) is None for key, one in attacks.items()}
    real = {key: run(one, victim, pool, records, membership) for key, one in attacks.items()}
    assert real == declared


def test_needs_follow_the_parameters():
    assert ThresholdAttack(signal="correctness").needs().reads >= {"label", "decision"}
    assert ThresholdAttack(signal="merlin").needs().access == {"queries"}
    assert RMIA(temperature=3.0).needs().keeps == {("auto", 3.0)}
    assert RMIA().needs().keeps == {"auto"}
    assert RMIA().needs().uses == {("auto", 2.0)}
    assert LiRA().needs().keeps == {"auto"}
    assert not LiRA().needs().uses
    assert DensityAttack(statistic="auto").needs().reads > DensityAttack().needs().reads
    assert QuantileAttack().needs().lacks == ("population",)
    assert QuantileAttack(population=Records(np.eye(2), [0, 1])).needs().known == "nobody"
    assert GaussianRegressionAttacker().needs().lacks == ("coef",)
    assert GaussianRegressionAttacker(coef=[1.0]).needs().lacks == ()
    assert GeneratorAttack().needs().access == {"samples"}


def test_pool_with_augmentations_takes_further_queries():
    pool = ShadowPool(TREE, augment=lambda records: [records])
    assert LiRA(shadows=pool).needs().access == {"queries"}


def test_parts_run_together():
    pipeline = make_pipeline(Signals(signals=["loss", "hinge"]), LogisticRegression())
    assert needs_of(pipeline) == Needs(frozenset({"proba", "logits"}), known=BOTH)
    union = make_union(Signals(signals=["loss"]), GradientStatistics())
    needs = needs_of(make_pipeline(union, LogisticRegression()))
    assert (needs.reads, needs.access) == ({"proba", "logits", "value"}, {"gradients"})
    stack = StackingClassifier([("lira", LiRA()), ("rmia", RMIA()), ("shokri", ShadowAttack())])
    needs = needs_of(stack)
    assert needs.keeps == {"auto", "outputs"}
    assert needs.uses == {("auto", 2.0)}
    assert (needs.known, "value" in needs.reads) == (BOTH, False)
    impossible = needs_of(make_pipeline(Signals(signals=["squared_error", "hinge"]), TREE))
    assert "no single kind of model" in impossible.why_not(Offer("proba", known=BOTH))


def test_who_learns_from_membership():
    alone = make_pipeline("passthrough", StandardScaler(), LiRA())
    assert needs_of(alone).known == "nobody"
    assert needs_of(make_pipeline(Signals(), IsolationForest())).known == "nobody"
    assert needs_of(make_pipeline(Signals(), RFE(TREE), IsolationForest())).known == BOTH
    assert needs_of(GridSearchCV(LiRA(), {"prior": [0.5]})).known == BOTH
    assert needs_of(FrozenEstimator(RenyiAttack())).known == "nobody"
    assert needs_of(StackingClassifier([("a", QuantileAttack())])).lacks == ("population",)


def test_what_holds_no_attack_has_no_needs():
    for other in (TREE, make_pipeline(StandardScaler(), TREE), AttributeInferenceAttack()):
        assert needs_of(other) is None


@pytest.mark.parametrize(
    "attack, offer, reason",
    [
        (RMIA(), Offer("label"), "and the victim returns predicted labels"),
        (MorganAttack(), Offer("proba"), "further queries of the victim"),
        (LiRA(), Offer("proba", trainable=False), "needs shadow models"),
        (RMIA(temperature=3.0), Offer("proba", keeps={"auto"}), "temperatures=(3,)"),
        (ShadowAttack(), Offer("decision", keeps={"auto"}), 'store="outputs"'),
        (RenyiAttack(), Offer("proba"), "known members and non-members"),
        (QuantileAttack(), Offer("value"), "known non-members"),
        (GaussianRegressionAttacker(), Offer("value"), "parameter coef must be given"),
    ],
)
def test_what_is_missing_is_named(attack, offer, reason):
    assert reason in needs_of(attack).why_not(offer)


def test_access_by_a_word_that_is_not_known_is_missing():
    needs = Needs(frozenset({"proba"}), access=frozenset({"gradient"}))
    reason = "it needs 'gradient' of the victim, which it does not give"
    assert needs.why_not(Offer("proba", access=frozenset({"gradients"}))) == reason


def test_what_is_enough():
    assert RMIA(temperature=3.0).needs().why_not(Offer("decision", keeps={("auto", 2.0)})) is None
    assert RMIA().needs().why_not(Offer("proba", keeps={"auto"})) is None
    both = RMIA().needs() & LiRA().needs()
    assert both.why_not(Offer("proba", keeps={"auto"})) is None
    assert both.uses == {("auto", 2.0)}
    assert QuantileAttack().needs().why_not(Offer("proba", known="non-members")) is None
    assert LiRA().needs().why_not(Offer("value")) is None


def test_connect_reaches_every_depth():
    victim, pool, _, _ = make_case("forest")
    signals = make_union(Signals(signals=["loss"]), Signals(signals=["merlin"]))
    stack = StackingClassifier(
        [("search", GridSearchCV(LiRA(), {})), ("pipe", make_pipeline(signals, TREE))]
    )
    connected = connect(clone(stack), victim, pool)
    lira = connected.estimators[0][1].estimator
    assert lira.victim is victim and lira.shadows is pool
    parts = connected.estimators[1][1][0].transformer_list
    assert all(part.victim is victim for _, part in parts)
    assert stack.estimators[0][1].estimator.victim is None
    # Stored answers suffice for the one, and not for the other.
    parts = connect(clone(stack), victim, pool, stored=True).estimators[1][1][0].transformer_list
    assert [part.victim for _, part in parts] == [None, victim]


def test_connect_keeps_what_is_given():
    victim, pool, _, _ = make_case("forest")
    other, _, _, _ = make_case("logistic")
    assert connect(ThresholdAttack(other), victim, pool).victim is other
