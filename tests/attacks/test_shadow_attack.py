from functools import partial

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import ShadowAttack
from skmia.signals import ODIN, LabelRobustness, Loss
from skmia.signals._registry import get_signal

N_MODELS = 4


@pytest.fixture(autouse=True)
def fewer_rounds(monkeypatch):
    """Let the default attack model boost for a few rounds."""
    few = partial(HistGradientBoostingClassifier, max_iter=5)
    monkeypatch.setattr("skmia.attacks._shadow.HistGradientBoostingClassifier", few)


class Audit:
    def __init__(self, model, records, membership, **settings):
        self.records, self.membership = records, membership
        members = records[membership == 1]
        self.model = clone(model).fit(members.X, members.y)
        settings = {"n_estimators": N_MODELS, "store": "outputs", "random_state": 0, **settings}
        self.pool = ShadowPool(model, **settings).fit(records)

    def attack(self, **settings):
        settings = {"random_state": 0, **settings}
        attack = ShadowAttack(FrozenEstimator(self.model), FrozenEstimator(self.pool), **settings)
        return attack.fit(self.records)


def draw_problem(n=240, n_classes=3, names=None, **fields):
    X, y = make_classification(
        n_samples=n,
        n_features=8,
        n_informative=4,
        n_classes=n_classes,
        flip_y=0.3,
        random_state=0,
    )
    y = y if names is None else np.array(names)[y]
    membership = np.random.default_rng(0).permutation(np.arange(n) % 2)
    return Records(X, y, **fields), membership


@pytest.fixture(scope="module")
def audit():
    group = np.random.default_rng(1).choice(["f", "m", "x"], 240)
    records, membership = draw_problem(group=group)
    return Audit(RandomForestClassifier(10, random_state=0), records, membership)


def fit_by_hand(pool, records, features, rows=slice(None)):
    """Attack model on every pair of a shadow model and a record of the rows."""
    X = np.concatenate([features(p)[rows] for p in pool.outputs_])
    inside = pool.membership_[:, rows].ravel()
    return LogisticRegression(tol=1e-8, max_iter=2000).fit(X, inside)


FEATURES = {
    "probabilities": lambda p, records: p,
    "sorted_probabilities": lambda p, records: np.sort(p, axis=1)[:, ::-1],
    "confidence": lambda p, records: p[np.arange(len(p)), records.y][:, None],
    "entropy": lambda p, records: get_signal("entropy")(Outputs(p, [0, 1, 2]), records.y)[:, None],
    "group": lambda p, records: (records["group"][:, None] == np.array(["f", "m", "x"])).astype(
        float
    ),
}


@pytest.mark.parametrize(
    "names", [["probabilities"], ["sorted_probabilities"], ["confidence", "entropy", "group"]]
)
def test_each_class_has_an_attack_model_of_its_own(audit, names):
    records = audit.records

    def features(p):
        return np.column_stack([FEATURES[name](p, records) for name in names])

    estimator = LogisticRegression(tol=1e-8, max_iter=2000)
    attack = audit.attack(features=names, attack_estimator=estimator)
    assert sorted(attack.estimators_) == [0, 1, 2]
    assert attack.pooled_estimator_ is None
    X = features(audit.model.predict_proba(records.X).astype(np.float32))
    scores = attack.score_samples(records)
    for label in (0, 1, 2):
        rows = np.flatnonzero(records.y == label)
        model = fit_by_hand(audit.pool, records, features, rows)
        # Probabilities are read through a logarithm that is cut at 1e-12.
        np.testing.assert_allclose(
            scores[rows], model.predict_proba(X[rows])[:, 1], rtol=1e-3, atol=1e-4
        )


def test_score_is_a_probability(audit):
    attack = audit.attack()
    scores = attack.score_samples(audit.records)
    np.testing.assert_allclose(
        attack.predict_proba(audit.records), np.column_stack([1 - scores, scores])
    )
    assert attack.offset_ == 0.5
    np.testing.assert_array_equal(attack.predict(audit.records), scores >= 0.5)


def test_attack_models_are_boosted_trees_by_default(audit):
    attack = audit.attack()
    assert isinstance(attack.estimators_[0], HistGradientBoostingClassifier)


def test_members_are_found_and_shuffled_ones_are_not(audit):
    scores = audit.attack(features=["loss"]).score_samples(audit.records)
    assert roc_auc_score(audit.membership, scores) > 0.75
    shuffled = np.random.default_rng(3).permutation(audit.membership)
    assert abs(roc_auc_score(shuffled, scores) - 0.5) < 4 * np.sqrt(1 / 12 / 60)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([0, 1, 2], marks=pytest.mark.slow),
        ["b", "c", "a"],
        pytest.param([30.0, -1.0, 7.0], marks=pytest.mark.slow),
    ],
)
def test_names_of_the_classes_do_not_matter(names):
    estimator = DecisionTreeClassifier(max_depth=3)
    records, membership = draw_problem(names=names)
    audit = Audit(RandomForestClassifier(20, random_state=0), records, membership)
    attack = audit.attack(features=["loss"], attack_estimator=estimator)
    assert sorted(attack.estimators_) == sorted(names)
    assert roc_auc_score(membership, attack.score_samples(records)) > 0.75


def test_class_with_a_single_row_falls_back_to_the_pooled_model():
    # With two models a class of one record has one IN and one OUT row.
    records, membership = draw_problem(n=120, n_classes=2)
    rare = Records(
        np.vstack([records.X, [[9.0] * 8]]), np.append(records.y.astype(object), [7]).astype(int)
    )
    audit = Audit(DecisionTreeClassifier(), rare, np.append(membership, 1), n_estimators=2)
    estimator = LogisticRegression(tol=1e-8, max_iter=2000)
    attack = audit.attack(attack_estimator=estimator)
    assert sorted(attack.estimators_) == [0, 1]
    one_hot = (rare.y[:, None] == np.array([0, 1, 7])).astype(float)
    model = fit_by_hand(audit.pool, rare, lambda p: np.column_stack([p, one_hot]))
    answer = np.column_stack([audit.model.predict_proba(rare.X), one_hot])[[-1]]
    np.testing.assert_allclose(
        attack.score_samples(rare[120]), model.predict_proba(answer)[:, 1], rtol=1e-3
    )


def test_group_is_a_feature():
    # The labels of group "a" are noise, which models memorize; those of "b" are plain to see.
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 200)
    X = rng.normal(size=(400, 6))
    y = np.where(group == "a", rng.integers(2, size=400), (X[:, 0] > 0).astype(int))
    X[group == "b", 0] += 5 * np.where(y[group == "b"], 1, -1)
    records, membership = Records(X, y, group=group), rng.permutation(np.arange(400) % 2)
    audit = Audit(RandomForestClassifier(20, random_state=0), records, membership)
    estimator = DecisionTreeClassifier(max_depth=4)
    attack = audit.attack(features=["loss", "group"], attack_estimator=estimator)
    assert attack.estimators_[0].n_features_in_ == 3
    in_a, in_b = (attack.score(records[group == g], membership[group == g]) for g in ("a", "b"))
    assert in_a > max(0.6, in_b + 0.1)
    # A group that no shadow model saw has neither column.
    other = records[:5].with_fields(group=np.array(["c"] * 5))
    assert np.isfinite(attack.score_samples(other)).all()


def test_correctness_alone_gives_the_generalization_gap_of_each_class_or_nothing(audit):
    attack = audit.attack(features=["correctness"])
    guesses = attack.predict(audit.records)
    right = audit.model.predict(audit.records.X) == audit.records.y
    member, gaps = audit.membership == 1, []
    for label in (0, 1, 2):
        of_class = audit.records.y == label
        gap = right[of_class & member].mean() - right[of_class & ~member].mean()
        advantage = guesses[of_class & member].mean() - guesses[of_class & ~member].mean()
        assert min(abs(advantage - gap), abs(advantage + gap), abs(advantage)) < 1e-12
        gaps.append(advantage)
    assert max(gaps) > 0.1  # the forest is right on its members and often wrong on others


def test_one_attack_model_for_all_classes_is_not_told_the_class(audit):
    records = audit.records

    def features(p):
        return FEATURES["confidence"](p, records)

    estimator = LogisticRegression(tol=1e-8, max_iter=2000)
    attack = audit.attack(features=["confidence"], attack_estimator=estimator, per_class=False)
    assert attack.estimators_ == {}
    model = fit_by_hand(audit.pool, records, features)
    X = features(audit.model.predict_proba(records.X).astype(np.float32))
    np.testing.assert_allclose(
        attack.score_samples(records), model.predict_proba(X)[:, 1], rtol=1e-3, atol=1e-4
    )


def test_answers_may_be_stored_or_asked_anew(audit):
    kept = ShadowPool(audit.pool.estimator, N_MODELS, store="models", random_state=0).fit(
        audit.records
    )
    estimator = LogisticRegression(tol=1e-8, max_iter=2000)
    scores = [
        ShadowAttack(
            FrozenEstimator(audit.model),
            FrozenEstimator(pool),
            attack_estimator=estimator,
            random_state=0,
        )
        .fit(audit.records)
        .score_samples(audit.records)
        for pool in (audit.pool, kept)
    ]
    np.testing.assert_allclose(*scores, rtol=1e-4)


def test_new_records_need_no_models(audit):
    new = Records(audit.records.X[:20] + 0.1, audit.records.y[:20], group=["f"] * 20)
    for names in (["probabilities"], ["loss", "group"]):
        scores = audit.attack(features=names).score_samples(new)
        assert ((scores >= 0) & (scores <= 1)).all()


def test_records_of_the_pool_among_others_are_learned_from(audit):
    new = Records(audit.records.X + 100, audit.records.y, group=audit.records["group"])
    mixed = Records.concat([audit.records, new])
    attack = ShadowAttack(FrozenEstimator(audit.model), FrozenEstimator(audit.pool), random_state=0)
    expected = audit.attack().score_samples(audit.records)
    np.testing.assert_array_equal(attack.fit(mixed).score_samples(audit.records), expected)
    with pytest.raises(ValueError, match="None of the records is in the shadow pool"):
        attack.fit(new)


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(5)])
def test_random_state_decides(audit, estimator):
    first, again, other = (
        audit.attack(random_state=seed, max_rows=60, attack_estimator=estimator).score_samples(
            audit.records
        )
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_attack_models_see_as_many_members_as_others_and_no_more_than_asked_for(audit):
    seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y):
            seen.append(np.bincount(y).tolist())
            return super().fit(X, y)

    audit.attack(attack_estimator=Spy(), max_rows=40)
    assert seen == [[20, 20]] * 3
    seen.clear()
    audit.attack(attack_estimator=Spy())
    per_class = np.bincount(audit.records.y) * N_MODELS // 2
    assert seen == [[n, n] for n in per_class]


def test_sorted_probabilities_begin_with_the_largest(audit):
    seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    audit.attack(attack_estimator=Spy(), features=["sorted_probabilities"])
    X = np.vstack(seen)
    assert (np.diff(X, axis=1) <= 0).all()
    np.testing.assert_allclose(X.sum(axis=1), 1, rtol=1e-5)


def test_stored_answers_of_the_victim_give_the_same_scores(audit):
    answered = audit.records.with_outputs(audit.model)
    attack = ShadowAttack(shadows=FrozenEstimator(audit.pool), random_state=0).fit(answered)
    np.testing.assert_array_equal(
        attack.score_samples(answered), audit.attack().score_samples(audit.records)
    )


@pytest.mark.parametrize("estimator", [None, LogisticRegression(max_iter=1000)])
@pytest.mark.parametrize("features", [["probabilities"], ["sorted_probabilities"], ["hinge"]])
def test_decision_values_serve_even_where_a_half_lacks_a_class(estimator, features):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [20, 20, 1])
    records = Records(rng.normal(size=(41, 3)), y)
    audit = Audit(LinearSVC(), records, np.arange(41) % 2 == 0)
    attack = audit.attack(features=features, attack_estimator=estimator)
    assert np.isfinite(attack.score_samples(records[:40])).all()


@parametrize_refusals(
    (
        lambda audit: ShadowAttack(
            FrozenEstimator(audit.model),
            FrozenEstimator(ShadowPool(audit.pool.estimator, 2, random_state=0).fit(audit.records)),
        ).fit(audit.records),
        'need store="outputs" or store="models"',
    ),
    (
        lambda audit: audit.attack().score_samples(Records(audit.records.X[:3], [0, 5, 1])),
        r"position 1: 5 is none of \[0, 1, 2\]",
    ),
    (
        lambda audit: audit.attack(features=["group"]).score_samples(
            Records(audit.records.X, audit.records.y)
        ),
        "lack the field 'group'",
    ),
)
def test_wrong_calls_with_audit_are_refused(call, words, error, audit):
    check_refusal(call, words, error, audit)


def test_given_scores_are_too_little(draw_world):
    world = draw_world()
    with pytest.raises(ValueError, match='need store="outputs" or store="models"'):
        ShadowAttack(shadows=FrozenEstimator(world.pool)).fit(world.records)


def test_regressors_are_refused():
    X, y = make_regression(n_samples=40, n_features=3, random_state=0)
    model, records = LinearRegression(), Records(X, y)
    pool = ShadowPool(model, 2, store="models", random_state=0).fit(records)
    with pytest.raises(ValueError, match="shadow models are regressors"):
        ShadowAttack(FrozenEstimator(model.fit(X, y)), FrozenEstimator(pool)).fit(records)


def test_victim_of_another_kind_is_refused(audit):
    victim = FrozenEstimator(LinearSVC().fit(audit.records.X, audit.records.y))
    attack = ShadowAttack(victim, FrozenEstimator(audit.pool)).fit(audit.records)
    with pytest.raises(ValueError, match="returns 'decision' but the shadow models return 'proba'"):
        attack.score_samples(audit.records)


@pytest.mark.parametrize("label", [-1, 9])
def test_a_class_that_only_the_victim_knows_is_no_feature(audit, label):
    proba = audit.model.predict_proba(audit.records.X)
    at = 0 if label < 0 else 3
    wide = Outputs(np.insert(proba, at, 0, axis=1), np.insert([0, 1, 2], at, label))
    attack = ShadowAttack(None, FrozenEstimator(audit.pool), random_state=0).fit(audit.records)
    scores = attack.score_samples(audit.records.with_fields(outputs=wide))
    np.testing.assert_array_equal(scores, audit.attack().score_samples(audit.records))


def test_signals_are_features_as_their_names_are(audit):
    def score(*features):
        return audit.attack(features=features).score_samples(audit.records)

    np.testing.assert_array_equal(score(Loss(), "group"), score("loss", "group"))
    assert (score(ODIN(temperature=5.0)) != score("odin")).any()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"features": []}, "at least one feature"),
        ({"features": [LabelRobustness()]}, "neither one of .* nor a signal of answers"),
        ({"features": "loss"}, "'features' parameter of ShadowAttack"),
        ({"features": ["color"]}, r"'color' is neither .* nor a field of the records \(group\)"),
        ({"features": [3]}, "Feature 3 is neither"),
        ({"attack_estimator": LinearSVC()}, "'attack_estimator' parameter of ShadowAttack"),
        ({"max_rows": 5}, "'max_rows' parameter of ShadowAttack"),
    ],
)
def test_wrong_parameters_are_named(audit, settings, message):
    with pytest.raises(ValueError, match=message):
        audit.attack(**settings)
