"""Settings that the pool chooses: by its own models, never by the victim."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, StackedAttack, ThresholdAttack
from skmia.model_selection import choose_by_power, leave_one_model_out


class Silent(ClassifierMixin, BaseEstimator):
    """A victim that refuses every question."""

    def __init__(self):
        self.classes_ = np.arange(10)

    def fit(self, X, y):
        return self

    def predict(self, X):
        raise AssertionError("the victim was asked")

    predict_proba = predict


SILENT = FrozenEstimator(Silent())


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return Records(X[:400], y[:400])


@pytest.fixture(scope="module")
def forests(digits):
    pool = ShadowPool(RandomForestClassifier(15), 16, random_state=0).fit(digits)
    return FrozenEstimator(pool)


def draw_pool(n_records, n_models=16, shift=0.0, seed=0):
    """A pool of scores, and records with the answers of a victim of the same kind."""
    rng = np.random.default_rng(seed)
    inside = np.repeat(rng.random((n_models // 2, n_records)) < 0.5, 2, axis=0)
    inside[1::2] = ~inside[1::2]
    membership = rng.random(n_records) < 0.5
    center = rng.normal(0, 2, n_records)
    target, *scores = (
        center + shift * one + rng.normal(size=n_records) for one in (membership, *inside)
    )
    answers = Outputs(np.column_stack([np.zeros(n_records), target]), [0, 1], "logits")
    records = Records(np.arange(n_records)[:, None], np.ones(n_records, int), outputs=answers)
    pool = ShadowPool.from_scores(np.array(scores), inside, records)
    return records, membership, FrozenEstimator(pool)


def test_forests_are_attacked_at_temperature_one(digits, forests):
    """Probabilities of forests are frequencies; a temperature only blurs them."""
    for online in (True, False):
        attack = RMIA(SILENT, forests, temperature="auto", online=online).fit(digits)
        assert attack.temperature_ == 1.0
        assert attack.power_["temperature"].tolist() == [1.0, 2.0]
        one, two = attack.power_.itertuples(index=False)
        assert one.auc > two.auc + 2 * one.auc_standard_error


def test_choice_reads_neither_the_victim_nor_its_answers(digits, forests):
    population = digits[:50]
    attack = RMIA(SILENT, forests, population=population, target_fpr=0.1)
    grid = {"temperature": [1.0, 2.0], "online": [True, False]}
    silent = choose_by_power(attack, grid, digits)
    members = digits[::2]
    victim = RandomForestClassifier(30, random_state=0).fit(members.X, members.y)
    asked = digits.with_outputs(victim)
    attack.set_params(victim=FrozenEstimator(victim))
    answered = choose_by_power(attack, grid, asked)
    assert silent.params == answered.params
    assert silent.power.equals(answered.power)


def test_power_is_that_of_models_treated_as_the_victim(digits, forests):
    power = choose_by_power(
        LiRA(shadows=forests), {"variance": ["shrunk", "pooled"]}, digits, criterion=0.05
    ).power
    for row in power.itertuples(index=False):
        attack = LiRA(shadows=forests, variance=row.variance)
        by_model = leave_one_model_out(attack, digits, max_fprs=[0.05])
        assert row.auc == pytest.approx(by_model["auc"].mean())
        assert row[3] == pytest.approx(by_model["tpr_at_fpr_0.05"].mean())
        in_pairs = by_model["auc"].to_numpy().reshape(8, 2).mean(axis=1)
        assert row.auc_standard_error == pytest.approx(in_pairs.std(ddof=1) / np.sqrt(8))


def test_criterion_decides(digits, forests):
    grid = {"reference": ["out", "midpoint", "rank"]}
    for criterion, column in (("roc_auc", "auc"), (0.1, "tpr_at_fpr_0.1")):
        attack = CalibratedAttack(shadows=forests)
        choice = choose_by_power(attack, grid, digits, criterion=criterion)
        assert choice.params["reference"] == grid["reference"][choice.power[column].argmax()]


def test_order_of_the_records_changes_nothing(digits, forests):
    order = np.random.default_rng(0).permutation(len(digits))
    settings = {"temperature": "auto", "a": "auto", "online": False}
    one, other = (RMIA(SILENT, forests, **settings).fit(some) for some in (digits, digits[order]))
    assert (one.temperature_, one.a_) == (other.temperature_, other.a_)
    np.testing.assert_allclose(one.power_, other.power_, atol=1e-9)


def test_pool_that_tells_nothing_has_power_one_half():
    records, membership, pool = draw_pool(2000)
    attack = RMIA(shadows=pool, online=False, temperature="auto", a="auto").fit(records)
    assert attack.temperature_ == 1.0
    # One model: the AUC of a thousand records a side without a leak.
    sd = np.sqrt(2001 / 12 / 1000**2)
    assert (abs(attack.power_["auc"] - 0.5) < 4 * sd / np.sqrt(8)).all()
    assert abs(roc_auc_score(membership, attack.score_samples(records)) - 0.5) < 4 * sd


def test_rate_decides_where_one_is_asked_for():
    records, _, pool = draw_pool(400, shift=1.5)
    settings = {"shadows": pool, "online": False, "temperature": 1.0, "a": "auto"}
    for more, column in [
        ({}, "tpr_at_fpr_0.01"),
        ({"criterion": 0.1}, "tpr_at_fpr_0.1"),
        ({"target_fpr": 0.05}, "tpr_at_fpr_0.05"),
        ({"target_fpr": 0.001}, "tpr_at_fpr_0.01"),
    ]:
        attack = RMIA(**settings, **more).fit(records)
        decisive = column if more else "auc"
        assert attack.a_ == attack.power_["a"][attack.power_[decisive].argmax()]


@pytest.mark.parametrize(
    "n_records, decisive", [(799, "auc"), (1000, "tpr_at_fpr_0.016"), (2000, "tpr_at_fpr_0.008")]
)
def test_lowest_rate_that_records_resolve_decides(n_records, decisive):
    records, _, pool = draw_pool(n_records, shift=1.5)
    settings = {"shadows": pool, "online": False, "temperature": 1.0, "a": "auto"}
    attack = RMIA(**settings).fit(records)
    assert attack.a_ == attack.power_["a"][attack.power_[decisive].argmax()]


def test_temperature_of_low_rates_is_one(digits, forests):
    for target_fpr, chooses in ((0.001, False), (0.02, True)):
        attack = RMIA(SILENT, forests, target_fpr=target_fpr)
        attack._fit_shadows(digits)
        assert chooses == (attack.power_ is not None)
        assert chooses or attack.temperature_ == 1.0


def test_attacks_of_any_class_are_compared(digits, forests):
    attacks = {
        "pooled": LiRA(shadows=forests, variance="pooled"),
        "midpoint": CalibratedAttack(shadows=forests, reference="midpoint"),
        "RMIA": RMIA(shadows=forests),
        "stack": StackedAttack(shadows=forests, boosted=False, random_state=0),
    }
    choice = choose_by_power(attacks, {}, digits, criterion=0.05)
    assert choice.power["attack"].tolist() == list(attacks)
    assert choice.params == {
        "attack": choice.power["attack"][choice.power["tpr_at_fpr_0.05"].argmax()]
    }
    alone = choose_by_power(attacks["midpoint"], {}, digits, criterion=0.05)
    np.testing.assert_array_equal(
        choice.power.iloc[1, 1:].astype(float), alone.power.iloc[0].astype(float)
    )


@pytest.mark.parametrize(
    "attack, grid",
    [
        (LiRA(), {"variance": ["shrunk", "pooled"], "likelihood": ["auto", "normal"]}),
        (LiRA(), [{"variance": ["trend", "conjugate"]}, {"online": [False]}]),
        (CalibratedAttack(), {"reference": ["out", "midpoint", "rank"]}),
        (RMIA(), {"online": [True, False], "temperature": [1.0, 2.0]}),
        ({"LiRA": LiRA(), "RMIA": RMIA()}, {"online": [True, False]}),
    ],
    ids=["likelihoods", "variances", "references", "means", "attacks"],
)
def test_settings_of_each_kind_are_compared(digits, forests, attack, grid):
    attacks = attack.values() if isinstance(attack, dict) else [attack]
    for one in attacks:
        one.set_params(shadows=forests)
    choice = choose_by_power(attack, grid, digits)
    best = choice.power.loc[choice.power["auc"].argmax(), list(choice.params)]
    assert best.to_dict() == choice.params


def test_augmentation_is_chosen_between_pools_of_the_same_training_sets():
    def flipped(records):
        return [Records(records.X[:, ::-1], records.y)]

    X, y = make_classification(n_samples=200, n_features=20, flip_y=0.2, random_state=0)
    records, model = Records(X, y), LogisticRegression(C=100)
    plain, other = (
        FrozenEstimator(ShadowPool(model, 8, augment=augment, random_state=0).fit(records))
        for augment in (None, flipped)
    )
    attacks = {"plain": LiRA(shadows=plain), "flipped": LiRA(shadows=other)}
    choice = choose_by_power(attacks, {}, records)
    # The answer to a flipped record says little about the record.
    assert choice.params == {"attack": "plain"}
    again = FrozenEstimator(ShadowPool(model, 8, random_state=1).fit(records))
    attacks["again"] = LiRA(shadows=again)
    with pytest.raises(ValueError, match="'plain' and 'again' have different training sets"):
        choose_by_power(attacks, {}, records)
    with pytest.raises(ValueError, match="at least one"):
        choose_by_power({}, {}, records)


def test_few_models_do_not_choose(digits, forests):
    few = FrozenEstimator(forests.estimator.first(6))
    attack = RMIA(SILENT, few, temperature="auto", a="auto", online=False).fit(digits)
    assert (attack.temperature_, attack.a_, attack.power_) == (1.0, 0.3, None)


def test_records_that_no_model_was_trained_on_do_not_choose():
    X, y = make_classification(n_samples=200, random_state=0)
    known, new = Records(X[:150], y[:150]), Records(X[150:], y[150:])
    model = LogisticRegression()
    pool = FrozenEstimator(ShadowPool(model, 8, store="models", random_state=0).fit(known))
    attack = RMIA(None, pool, online=False, temperature="auto").fit(new)
    assert (attack.temperature_, attack.power_) == (1.0, None)
    mixed = RMIA(None, pool, online=False, temperature="auto").fit(Records.concat([known, new]))
    alone = RMIA(None, pool, online=False, temperature="auto").fit(known)
    assert mixed.power_.equals(alone.power_)
    with pytest.raises(ValueError, match="none of the shadow models that can be treated"):
        choose_by_power(RMIA(None, pool, online=False), {"a": [0.3]}, new)


def test_what_a_pool_does_not_store_is_refused(digits, forests):
    attack = RMIA(shadows=forests)
    with pytest.raises(ValueError, match=r"stores the temperatures \(1.0, 2.0\), not 5.0; fit it"):
        choose_by_power(attack, {"temperature": [1.0, 5.0]}, digits)
    warm = FrozenEstimator(
        ShadowPool(LogisticRegression(), 4, temperatures=(2.0,)).fit(
            Records(digits.X / 16, digits.y)
        )
    )
    with pytest.raises(ValueError, match=r"stores the temperatures \(2.0\), not 1.0"):
        RMIA(shadows=warm, temperature="auto").fit(Records(digits.X / 16, digits.y))


def test_wrong_arguments_are_named(digits, forests):
    with pytest.raises(TypeError, match="got ThresholdAttack"):
        choose_by_power(ThresholdAttack(), {}, digits)
    with pytest.raises(ValueError, match="'roc_auc' or a false .*'accuracy'"):
        choose_by_power(RMIA(shadows=forests), {}, digits, criterion="accuracy")
    with pytest.raises(ValueError, match="'a' parameter of RMIA"):
        choose_by_power(RMIA(shadows=forests), {"a": [2.0]}, digits)
    with pytest.raises(TypeError, match=r"grid must be a dict, or a sequence of dicts; got array"):
        choose_by_power(RMIA(shadows=forests), np.array(1.0), digits)
    for grid in ([], ""):
        with pytest.raises(ValueError, match="grid must hold at least one setting, or be an empty"):
            choose_by_power(RMIA(shadows=forests), grid, digits)
    for name in ("shadows", "victim"):
        with pytest.raises(ValueError, match="grid must leave shadows and victim out, .* compare"):
            choose_by_power(RMIA(shadows=forests), {name: [forests]}, digits)
    for name in ("temperature", "a", "criterion"):
        with pytest.raises(ValueError, match=f"'{name}' parameter of RMIA"):
            RMIA(shadows=forests, **{name: "best"}).fit(digits)
