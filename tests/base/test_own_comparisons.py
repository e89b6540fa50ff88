"""What attacks on a pool make of a comparison that a user writes, against sums by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import tell_refusal
from numpy import array
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import StackedAttack
from skmia.base import Comparison, Needs, PoolAttack, _pool_attack
from skmia.base._pool_attack import (
    PoolReader,
    TooFewModelsError,
    compare_with,
    get_neutral,
    list_repeatable,
)
from skmia.shadow import PoolAnswers
from skmia.signals import COMPARED, Entropy
from skmia.victims import CallableVictim

# Of 7 records: two that all models were trained on, or none; the others are in 2 to 4 of 6.
INSIDE = array(
    [
        [1, 0, 1, 0, 1, 0, 1],
        [1, 0, 1, 1, 0, 0, 1],
        [1, 0, 0, 1, 1, 0, 0],
        [1, 0, 0, 0, 1, 1, 1],
        [1, 0, 1, 0, 1, 1, 0],
        [1, 0, 0, 0, 0, 1, 1],
    ],
    dtype=bool,
)
VALUES = np.random.default_rng(0).normal(0, 10, size=(6, 7)) + 5.0 * INSIDE
VICTIM = array([5.0, 1, -3, 8, 2, 9, 4])
IDS = np.arange(7)
RECORDS = Records.from_ids(IDS, IDS % 2).with_fields(outputs=Outputs(VICTIM, kind="log_odds"))


class Gap(Comparison):
    """How far a signal is above the mean of the models outside."""

    least = 0, 1

    def score(self, target, shadows, inside, outside):
        return (target - (shadows * outside).sum(axis=1) / outside.sum(axis=0)).mean(axis=0)


class Highest(Comparison):
    def score(self, target, shadows, inside, outside):
        return np.where(inside.any(axis=0), 1.0, -1.0) + target[0]


class Strict(Gap):
    least, neutral, offset = (2, 2), 0.5, 3.0


class GapAttack(PoolAttack):
    def __init__(self, victim=None, shadows=None, *, comparison=None, target_fpr=None):
        self.victim = victim
        self.shadows = shadows
        self.comparison = comparison
        self.target_fpr = target_fpr

    def _compare(self, records):
        return self.comparison


def make_pool(n_models=6):
    return ShadowPool.from_scores(
        VALUES[:n_models], INSIDE[:n_models], Records.from_ids(IDS, IDS % 2)
    )


POOL = make_pool()


def make_attack(comparison, pool=POOL, victim=None, **settings):
    return GapAttack(victim, pool, comparison=comparison, **settings)


def gap_of(value, column, without=None):
    """Return how far a value is above the mean of models outside, of which one may be left out."""
    others = ~INSIDE[:, column]
    if without is not None:
        others[without] = False
    return value - VALUES[others, column].mean() if others.any() else None


def count_sides(self, target, shadows, inside, outside):
    return 10 * inside.sum(axis=0) + outside.sum(axis=0)


GAPS = [gap_of(VICTIM[column], column) for column in IDS]
LEFT_OUT = array(
    [[gap_of(VALUES[k, column], column, k) for column in IDS] for k in range(6)], dtype=float
)


def test_records_are_compared_with_the_models_of_the_sides_that_the_comparison_asks_for():
    attack = make_attack(Gap()).fit(RECORDS)
    assert attack.can_judge(RECORDS).tolist() == [False] + [True] * 6
    scores = attack.score_samples(RECORDS)
    assert scores[0] == np.nextafter(0.0, -1.0)
    np.testing.assert_allclose(scores[1:], GAPS[1:], rtol=1e-6)
    assert tell_refusal(lambda: attack.score_samples(RECORDS[[0]])) == (
        "GapAttack requires at least 1 OUT shadow models per record; none of the 1 records has "
        "them. Fit the pool with more models."
    )
    strict = make_attack(Strict()).fit(RECORDS)
    enough = (INSIDE.sum(axis=0) >= 2) & (INSIDE.sum(axis=0) <= 4)
    assert strict.can_judge(RECORDS).tolist() == enough.tolist()
    scores = strict.score_samples(RECORDS)
    assert scores[~enough].tolist() == [np.nextafter(0.5, 0.0)] * 2
    np.testing.assert_allclose(scores[enough], array(GAPS)[enough].astype(float), rtol=1e-6)
    assert strict.offset_ == 3.0


def test_a_comparison_judges_every_record_unless_it_says_otherwise():
    attack = make_attack(Highest()).fit(RECORDS)
    assert attack.can_judge(RECORDS).all()
    assert attack.score_samples(RECORDS).tolist() == [6, 0, -2, 9, 3, 10, 5]
    assert get_neutral(attack) == 0.0
    wide = NS(signals=np.broadcast_to(0, (1, 2, 4, 9)))
    assert PoolReader(wide, Comparison(), "It").count_rows() == 1 << 17
    assert [*list_repeatable({"stack": StackedAttack(), "gap": attack})] == ["gap"]
    refusal = tell_refusal(lambda: make_attack(Comparison()).fit(RECORDS))
    assert refusal == "Comparison implements no score."


def test_models_are_compared_with_the_others_and_their_scores_set_the_threshold():
    attack = make_attack(Gap()).fit(RECORDS)
    [(rows, scores, inside, judged)] = attack.score_left_out(RECORDS, [4, 1, 2])
    assert rows == slice(0, 7)
    assert inside.tolist() == INSIDE[[4, 1, 2]].tolist()
    some = np.arange(len(INSIDE)) % 2 == 1
    [(_, _, of_mask, _)] = attack.score_left_out(RECORDS, some)
    assert of_mask.tolist() == INSIDE[some].tolist()
    for wrong in ([-1], [len(INSIDE)], [1.5], [], some[1:]):
        with pytest.raises(ValueError, match="models must be numbers from 0 to"):
            next(attack.score_left_out(RECORDS, wrong))
    assert judged.tolist() == [[False] + [True] * 6] * 3
    np.testing.assert_allclose(scores[judged], LEFT_OUT[[4, 1, 2]][judged], rtol=1e-6)
    counting = type("Counting", (Comparison,), {"score": count_sides})()
    [(_, scores, *_)] = make_attack(counting).fit(RECORDS).score_left_out(RECORDS, [4, 1])
    n_in, n_out = INSIDE.sum(axis=0), (~INSIDE).sum(axis=0)
    wanted = [10 * (n_in - INSIDE[k]) + (n_out - ~INSIDE[k]) for k in (4, 1)]
    assert scores.tolist() == array(wanted).tolist()
    known = LEFT_OUT[:, 1:]
    cuts = np.unique(known)
    advantage = [
        (known >= cut)[INSIDE[:, 1:]].mean() - (known >= cut)[~INSIDE[:, 1:]].mean() for cut in cuts
    ]
    best = np.argmax(advantage)
    assert attack.offset_ == pytest.approx((cuts[best] + cuts[best - 1]) / 2, rel=1e-6)
    attack.set_params(target_fpr=0.2).fit(RECORDS)
    outside = np.sort(known[~INSIDE[:, 1:]])
    n_allowed = int(0.2 * len(outside))
    assert attack.offset_ == pytest.approx(outside[-n_allowed - 1 :][:2].mean(), rel=1e-6)


def test_a_threshold_that_no_model_tells_is_the_neutral_score():
    few = make_attack(Gap(), make_pool(3))
    assert few.fit(RECORDS).offset_ == 0
    with pytest.raises(TooFewModelsError, match="at least 4 models; this pool has 3"):
        next(few.score_left_out(RECORDS, [0]))
    four = make_attack(Gap(), make_pool(4)).fit(RECORDS)
    next(four.score_left_out(RECORDS, [0]))
    assert four.offset_ != 0
    for column in (0, 1):  # of members or others alone
        lenient = type("Lenient", (Highest,), {"neutral": 0.25})()
        assert make_attack(lenient).fit(RECORDS[[column]]).offset_ == 0.25
    wanting = type("Wanting", (Gap,), {"least": (3, 3), "neutral": 0.25})()
    attack = make_attack(wanting).fit(RECORDS)
    assert attack.offset_ == 0.25
    with pytest.raises(TooFewModelsError, match="3 OUT shadow models per record when another one"):
        [*attack.score_left_out(RECORDS, [0])]


def test_a_comparison_may_know_the_threshold_of_a_rate_or_aim_at_another_one():
    asked = []

    class Knowing(Gap):
        def _rate_offset(self, reader, records, rate):
            asked.append((type(reader), len(records), rate))
            return 7.0

    assert make_attack(Knowing(), target_fpr=0.3).fit(RECORDS).offset_ == 7
    assert asked == [(PoolReader, 7, 0.3)]
    aiming = type("Aiming", (Gap,), {"_aim_at": lambda self, rate, n: rate * n / 3})()
    double, plain = (make_attack(one, target_fpr=0.2) for one in (aiming, Gap()))
    wanted = plain.set_params(target_fpr=0.4).fit(RECORDS).offset_
    assert double.fit(RECORDS).offset_ == wanted


def test_a_comparison_is_fitted_to_a_pool_without_a_threshold():
    attack, comparison = make_attack(Gap(), None), Gap()
    attack.comparison = comparison
    assert compare_with(attack, POOL, RECORDS) is comparison
    assert attack.pool_ is POOL
    assert not hasattr(attack, "offset_")
    assert get_neutral(ShadowPool()) is None
    assert tell_refusal(lambda: next(make_attack(Gap()).score_left_out(RECORDS, [0]))).startswith(
        "This GapAttack instance is not fitted yet"
    )

    def leave_out(self, reader, models):
        asked.append((type(reader), models.tolist()))
        return self

    asked, leaving = [], type("Leaving", (Strict,), {"_leave_out": leave_out})()
    next(make_attack(leaving).fit(RECORDS).score_left_out(RECORDS, [3, 0]))
    assert asked == [(PoolReader, [3, 0])]


def test_a_rate_is_not_promised_of_a_victim_unlike_all_models():
    far = RECORDS.with_fields(outputs=Outputs(VICTIM - 500, kind="log_odds"))
    attack = make_attack(Gap(), target_fpr=0.2)
    with pytest.warns(UserWarning, match="target_fpr=0.2 may be missed"):
        attack.fit(far)
    attack.fit(far._without("outputs"))  # which tell nothing before they are there


@pytest.mark.parametrize(
    ("parts", "most", "wanted", "in_part"),
    [(True, 6, [6, 1], 7), (True, 6, [3, 3, 1], 2), (True, 7, [], 2), (None, 6, [], 2)],
)
def test_many_records_are_scored_in_parts_of_whole_blocks(
    parts, most, wanted, in_part, monkeypatch
):
    class Threes(PoolReader):
        def count_rows(self):
            return 3

    def score_each(score, light, given):
        for part in given:
            assert light.pool_ is light.shadows is None
            sizes.append(len(part[1]))
            yield score(light, part)

    sizes = []
    monkeypatch.setattr(_pool_attack, "_MOST_AT_ONCE", most)
    monkeypatch.setattr(_pool_attack, "_N_IN_PART", in_part)
    monkeypatch.setattr(_pool_attack, "get_workers", lambda: NS(map=score_each))
    own = {} if parts is None else {"parts": parts}
    comparison = type("InParts", (Highest,), {"reader": Threes} | own)()
    attack = make_attack(comparison).fit(RECORDS)
    assert attack.score_samples(RECORDS).tolist() == [6, 0, -2, 9, 3, 10, 5]
    assert sizes == wanted
    batches = NS(asks_in_batches=True)
    attack.victim = batches
    monkeypatch.setattr(Threes, "of_victim", lambda self, *given: VICTIM[None])
    attack.score_samples(RECORDS)
    assert sizes == wanted


class Asked(RegressorMixin, BaseEstimator):
    """A fitted regressor that notes how many records it was asked for."""

    def __init__(self, n_features_in_=1):
        self.n_features_in_ = n_features_in_

    def fit(self, X, y):
        return self

    def predict(self, X):
        ASKED.append(len(X))
        return np.zeros(len(X))


ASKED = []


def test_a_regressor_is_asked_once_when_an_attack_is_fitted_and_no_other_victim():
    records = Records(IDS[:, None] / 2, IDS / 7)
    pool = ShadowPool.from_outputs(VALUES, INSIDE, records, kind="value")
    make_attack(Strict(), pool, victim=Asked()).fit(records)
    assert ASKED == [1]
    asked = CallableVictim(Asked().predict, None, kind="value")
    make_attack(Strict(), pool, victim=asked).fit(records)
    make_attack(Strict(), pool).fit(records)
    assert ASKED == [1]
    assert "not fitted" in tell_refusal(
        lambda: make_attack(Strict(), victim=LogisticRegression()).fit(RECORDS)
    )
    hotter = type("Hotter", (Strict,), {"reads": ("auto", 3.0)})()
    told = tell_refusal(lambda: make_attack(hotter).fit(RECORDS))
    assert told.startswith("The shadow pool stores the temperatures (1.0), not 3.0")


def test_what_is_needed_follows_from_the_signal_and_from_a_pool_that_augments():
    attack = make_attack(Gap(), None)
    assert attack.needs() == Needs(COMPARED, keeps=frozenset({"auto"}))
    entropy = make_attack(Gap(), None)
    entropy.signal = "entropy"
    assert entropy.needs() == Needs(frozenset({"proba", "logits"}), keeps=frozenset({Entropy()}))
    for pool in (ShadowPool(augment=len), FrozenEstimator(ShadowPool(augment=len))):
        assert make_attack(Gap(), pool).needs().access == {"queries"}
    assert make_attack(Gap(), ShadowPool()).needs().access == frozenset()


@pytest.mark.parametrize("rows", [IDS, [1, 2, 3, 5, 6], [3, 2, 0, 6], [2, 3]])
@pytest.mark.parametrize("change", [None, np.abs])
@pytest.mark.parametrize("stored", [True, False])
def test_moments_are_those_of_both_sides_of_the_records_that_can_be_judged(
    rows, change, stored, monkeypatch
):
    if not stored:
        monkeypatch.setattr(PoolAnswers, "moments", lambda *given: None)
    monkeypatch.setattr(_pool_attack, "_N_RECORDS", 4)  # of stored moments at once
    reader = PoolReader(POOL.to_answers(), Gap(), "It")
    values, seen = VALUES if change is None else np.abs(VALUES), []
    for places, sides in reader.sides(RECORDS[rows], change):
        columns = array(rows)[places]
        seen += columns.tolist()
        for moments, side in ((sides.into, INSIDE), (sides.out, ~INSIDE)):
            counts = side[:, columns].sum(axis=0)
            assert moments.count.tolist() == counts.tolist()
            sums = np.where(side, values, 0)[:, columns].sum(axis=0)
            np.testing.assert_allclose(moments.mean[0] * counts, sums, atol=1e-5)
    assert sorted(seen) == sorted(row for row in rows if row > 0)
    with pytest.raises(ValueError, match="none of the 1 records has them"):
        [*reader.sides(RECORDS[[0]], change)]


def test_moments_of_records_that_are_not_in_the_pool_are_those_of_the_models_answers():
    answers = NS(
        locate_usable=lambda records: array([2, -1]),
        design=NS(partners=np.full(6, -1)),
        signals=np.empty((1, 1, 6, 7)),
        blocks=lambda *given: [(slice(0, 2), VALUES[None, :, :2], INSIDE[:, 2:4], array([3, 2]))],
    )
    [(rows, sides)] = PoolReader(answers, Gap(), "It").sides([0, 1])
    assert rows == slice(0, 2)
    for moments, side in ((sides.into, INSIDE), (sides.out, ~INSIDE)):
        wanted = [VALUES[side[:, column + 2], column].mean() for column in (0, 1)]
        np.testing.assert_allclose(moments.mean[0], wanted)
