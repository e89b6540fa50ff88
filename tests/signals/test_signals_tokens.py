"""Signals of the single tokens of a text, with answers by hand."""

import zlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import check_refusal, parametrize_refusals
from sklearn.base import BaseEstimator

from skmia import Outputs, Records
from skmia.memorization import NGramModel, SequenceVictim, TokenOutputs, token_records
from skmia.signals import Signals
from skmia.signals.sequences import (
    MinK,
    MinKPlusPlus,
    Neighborhood,
    ReCaLL,
    ReferenceRatio,
    SurprisingTokens,
    WindowVotes,
    ZlibRatio,
)

NAN = np.nan
RAGGED = np.array([[-1.0, -4.0, -2.0, -3.0, -5.0], [-2.0, -1.0, NAN, NAN, NAN]])
LABELS = [0, 0]


class Told(BaseEstimator):
    """A sequence victim whose log-probabilities are those of a table, by the token and its place.

    The log-probability of token t is -t at even places and -2 t at odd ones, times the factor.
    """

    answers_queries = gives_tokens = True
    kind = "log_odds"

    def __init__(self, factor=1.0):
        self.factor = factor

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X=None, y=None):
        return self

    def predict(self, X):
        return self.query(X).values

    def query(self, X):
        places = np.where(np.arange(np.shape(X)[1]) % 2, 2.0, 1.0)
        return TokenOutputs(np.where(np.asarray(X) >= 0, -self.factor * places * X, NAN))


def test_min_k_averages_the_lowest_share_rounded_down():
    outputs = TokenOutputs(RAGGED)
    assert_allclose(MinK(0.4)(outputs, LABELS), [-4.5, -2.0])  # 2 of 5 tokens, 1 of 2
    assert_allclose(MinK(0.2)(outputs, LABELS), [-5.0, -2.0])  # one token at least
    assert_allclose(MinK(1.0)(outputs, LABELS), [-3.0, -1.5])
    assert_allclose(MinK(1.0).raw(outputs, LABELS, 0.1), [-3.0, -1.5])  # as a pool asks for it


def test_min_k_plus_plus_standardizes_each_position():
    mean, std = np.where(np.isnan(RAGGED), NAN, -2.0), np.where(np.isnan(RAGGED), NAN, 0.5)
    std[0, 1], std[0, 4] = 2.0, 0.0  # the last prediction is uniform, which says nothing
    outputs = TokenOutputs(RAGGED, mean, std)
    # (log p + 2) / std is 2, -1, 0, -2, 0 and 0, 2.
    assert_allclose(MinKPlusPlus(0.4)(outputs, LABELS), [-1.5, 0.0])
    assert_allclose(MinKPlusPlus(1.0)(outputs, LABELS), [-0.2, 1.0])
    # A fifth by default, as in the paper: two of ten tokens.
    mixed = -np.array([[3.0, 1.0, 10.0, 4.0, 2.0, 9.0, 5.0, 7.0, 6.0, 8.0]])
    many = TokenOutputs(mixed, np.zeros((1, 10)), np.ones((1, 10)))
    assert_allclose(MinKPlusPlus()(many, LABELS[:1]), [-9.5])


def test_surprising_tokens_are_improbable_where_the_model_is_certain():
    mean = np.array([[-1.0, -3.0, -1.0, -1.0, -1.0], [-9.0, -9.0, NAN, NAN, NAN]])
    outputs = TokenOutputs(RAGGED, mean, np.where(np.isnan(mean), NAN, 1.0))
    # The three lowest are -5, -4 and -3, and the model is uncertain at -4. It is uncertain about
    # the whole second text, so the lowest token counts.
    assert_allclose(SurprisingTokens(0.6, entropy=2.0)(outputs, LABELS), [-4.0, -2.0])
    # An entropy of 3 is not below 3, and one of 1 is not below 1.
    assert_allclose(SurprisingTokens(0.6, entropy=3.0)(outputs, LABELS), [-4.0, -2.0])
    assert_allclose(SurprisingTokens(0.6, entropy=3.5)(outputs, LABELS), [-4.0, -2.0])
    assert_allclose(SurprisingTokens(1.0, entropy=1.0)(outputs, LABELS), [-3.0, -1.5])
    assert_allclose(SurprisingTokens(1.0, entropy=9.5)(outputs, LABELS), [-3.0, -1.5])


def test_zlib_ratio_divides_by_compressed_bytes():
    texts = ["the cat sat", "aaaaaaaaaaaaaaaaaaaaaa"]
    records = token_records([[1, 2], [1]], text=texts, outputs=TokenOutputs(RAGGED))
    sizes = [len(zlib.compress(text.encode())) for text in texts]
    assert_allclose(ZlibRatio().of(None, records), [-3.0 / sizes[0], -1.5 / sizes[1]])
    for field in ("words", {}, ("text",), 10**400):
        with pytest.raises(
            ValueError, match="reads texts in the field .* under this name"
        ) as found:
            ZlibRatio(field).of(None, records)
        assert repr(field)[:70] in str(found.value) and len(str(found.value)) < 300


def test_reference_ratio_is_the_mean_gain():
    records = token_records([[1, 1, 1], [2]])
    # Log-probabilities -1, -2, -1 and -2; the reference has three times these.
    assert_allclose(ReferenceRatio(Told(3.0)).of(Told(), records), [8 / 3, 4.0])


def test_window_votes_average_the_shares_of_each_width():
    # Gains of the victim over the reference: 1, 2, -4, 2 and 1.
    records = token_records([[0, 1, 2, 3], [0]])

    class Other(Told):
        def query(self, X):
            gains = np.where(np.asarray(X) >= 0, np.array([1.0, 2.0, -4.0, 2.0]), NAN)
            return TokenOutputs(np.full(np.shape(X), -9.0) - gains)

    class Flat(Told):
        def query(self, X):
            return TokenOutputs(np.where(np.asarray(X) >= 0, -9.0, NAN))

    # Pairs gain 3, -2, -2 and single tokens 1, 2, -4, 2; the short text has single tokens alone.
    votes = WindowVotes(Other(), widths=(1, 2)).of(Flat(), records)
    assert_allclose(votes, [(3 / 4 + 1 / 3) / 2, 1.0])
    # No width fits the short text, which is one window.
    assert_allclose(WindowVotes(Other(), widths=(2,)).of(Flat(), records), [1 / 3, 1.0])


def vote(gains, widths):
    """Vote by gains of single tokens over a reference."""
    own = np.where(np.isnan(gains), NAN, -9.0)
    records = token_records([range(len(row)) for row in own], outputs=TokenOutputs(own))
    return WindowVotes(Stored(own - gains), widths=widths).of(None, records)


def test_windows_are_of_the_tokens_that_count_and_a_tie_is_not_a_vote():
    gains = np.array([[NAN, 2.0, NAN, -2.0, 1.0], [3.0, -1.0, 2.0, -4.0, 1.0]])
    # Pairs gain 0 and -1, and 2, 1, -2 and -3; all three tokens 1, and three of five 4, -3 and -1.
    assert_allclose(vote(gains, (2,)), [0.0, 2 / 4])
    assert_allclose(vote(gains, (3,)), [1.0, 1 / 3])
    # No window of four fits the first text, and none of six fits any: the whole decides.
    assert_allclose(vote(gains, (2, 4)), [0.0, (2 / 4 + 0 / 2) / 2])
    assert_allclose(vote(gains, (6,)), [1.0, 1.0])
    assert_allclose(vote(np.array([[1.0, -1.0], [-2.0, 2.0]]), (6,)), [0.0, 0.0])


def test_recall_is_the_conditional_by_the_unconditional():
    records = token_records([[1, 3, 1], [2]])
    # Alone: -(1 + 6 + 1) / 3 and -2. Behind one token the places are moved by one: -(2 + 3 + 2) / 3
    # and -4.
    assert_allclose(ReCaLL((5,)).of(Told(), records), [7 / 8, 2.0])


def test_recall_compares_the_same_tokens():
    model = NGramModel(2).fit([[0, 1, 2, 0, 2, 1]])
    X = token_records([[0, 1, 2], [2, 1]])
    skipping = SequenceVictim(model, n_given=1)
    # A model of pairs sees no further than the token before, and the first token does not count.
    assert_allclose(ReCaLL((2, 2)).of(skipping, X), 1.0)


def recall(alone, behind):
    """Compare tokens alone with those behind a prefix of two tokens."""
    victim = Stored({3: alone, 5: np.column_stack([np.full((2, 2), -9.0), behind])})
    return ReCaLL((5, 0)).of(victim, token_records([[1, 2, 3], [1, 2]]))


def test_recall_leaves_out_what_one_of_both_does_not_know():
    alone = [[-1.0, -2.0, -3.0], [-2.0, -4.0, NAN]]
    found = recall(alone, [[-2.0, -6.0, NAN], [NAN, -1.0, NAN]])
    assert_allclose(found, [(-8 / 2) / (-3 / 2), -1 / -4])
    with pytest.raises(
        ValueError,
        match=r"No token of record 1 fits the model behind the prefix of 2 tokens; choose a sho",
    ):
        recall(alone, [[-2.0, -6.0, NAN], [NAN, NAN, NAN]])
    with pytest.raises(ValueError, match=r"the outputs have 3 columns without and 2 behind it\."):
        recall(alone, [[-2.0, -6.0], [NAN, -1.0]])


def test_recall_of_certain_texts_is_a_number():
    zeros = [[0.0, 0.0, 0.0], [-2.0, -4.0, NAN]]
    assert_allclose(recall(zeros, zeros), [0.0, 1.0])


def test_neighbors_change_a_share_of_the_tokens():
    signal = Neighborhood(n_tokens=5, n_neighbors=50, share=0.5)
    row = np.array([3, 1, 4, 1, 2, -1])
    near = signal._draw(row)
    assert ((near != row).sum(axis=1) == 2).all()
    assert (near[:, 0] == 3).all() and (near[:, 5] == -1).all()
    assert near[:, :5].min() >= 0 and near.max() <= 4
    assert_array_equal(near[:, :5], signal._draw(row[:5]))  # whatever the padding
    changed = near != row
    assert changed[:, 1:5].any(axis=0).all()
    given = np.array([-1_000_000_003, 1, 4, 1, 2])  # a token of a prompt stays, and the next one
    assert ((signal._draw(given) != given).sum(axis=0) > 0).tolist() == [
        False,
        True,
        True,
        True,
        True,
    ]
    # The only token changes, to any of the others.
    assert {*signal._draw(np.array([2, -1])).T[0].tolist()} == {0, 1, 3, 4}
    third = Neighborhood(n_tokens=5, n_neighbors=2, share=0.3)
    assert ((third._draw(np.arange(11)) != np.arange(11)).sum(axis=1) == 3).all()
    other = Neighborhood(n_tokens=5, n_neighbors=50, share=0.5, random_state=1)
    assert (other._draw(row) != near).any()


@pytest.mark.parametrize("narrow", [np.int8, np.uint8, np.int16])
def test_new_tokens_do_not_wrap_around_in_a_narrow_table(narrow):
    signal, row = Neighborhood(n_tokens=40_000, n_neighbors=50), np.array([1, 2, 3, 4])
    near = signal._draw(row)
    assert near.max() > np.iinfo(np.int16).max
    assert_array_equal(signal._draw(row.astype(narrow)), near)
    last = np.iinfo(narrow).max + 1  # the last token is the first that a narrow table cannot hold
    signal = Neighborhood(n_tokens=last + 1, n_neighbors=50)
    assert_array_equal(signal._draw(row.astype(narrow)), signal._draw(row))


def test_neighborhood_is_the_gain_over_neighbors():
    # With two tokens, the neighbor of a text of two tokens has the other second token.
    records = token_records([[0, 1], [0, 0]])
    assert_allclose(Neighborhood(2, n_neighbors=3).of(Told(), records), [-1.0, 1.0])


@pytest.mark.parametrize(
    "signal",
    [
        MinK(),
        MinKPlusPlus(),
        SurprisingTokens(),
        ZlibRatio(),
        ReferenceRatio(SequenceVictim(NGramModel(1, n_tokens=4).fit([[0, 1, 2, 3]]))),
        WindowVotes(SequenceVictim(NGramModel(1, n_tokens=4).fit([[0, 1, 2, 3]]))),
        ReCaLL((0, 1)),
        Neighborhood(4),
    ],
    ids=lambda signal: signal.name,
)
def test_signals_of_ragged_texts_are_those_of_each_text(signal):
    rng = np.random.default_rng(0)
    texts = [rng.integers(4, size=size) for size in (2, 9, 5, 7)]
    records = token_records(texts, text=[str(text) for text in texts])
    victim = SequenceVictim(NGramModel(3, n_tokens=4).fit(texts[:2]), batch_size=3)
    values = signal.of(victim, records)
    assert np.isfinite(values).all()
    alone = [signal.of(victim, token_records([text], text=[str(text)])).item() for text in texts]
    assert_allclose(values, alone)
    assert_allclose(signal.of(victim, records[[3, 1]]), values[[3, 1]])
    if "queries" in signal.access:
        with pytest.raises(ValueError, match="needs the victim itself"):
            signal.of(None, records.with_outputs(victim))
    else:
        assert_allclose(signal.of(None, records.with_outputs(victim)), values)
    assert_allclose(Signals(victim, [signal]).fit(records).transform(records)[:, 0], values)


def test_signals_refuse_what_says_nothing_of_tokens():
    records = Records(np.eye(2), LABELS, outputs=Outputs([1.0, 2.0], kind="log_odds"))
    with pytest.raises(ValueError, match="log-probabilities of single tokens"):
        MinK().of(None, records)
    with pytest.raises(ValueError, match="over the vocabulary"):
        MinKPlusPlus()(TokenOutputs(RAGGED), LABELS)
    records = token_records([[1, 2, 3]])
    skipping = SequenceVictim(NGramModel(1, n_tokens=4).fit([[0, 1]]), n_given=2)
    with pytest.raises(ValueError, match="must count the same tokens"):
        ReferenceRatio(skipping).of(Told(), records)


@parametrize_refusals(
    (lambda: MinK(0), "share must be a fraction"),
    (lambda: MinKPlusPlus(1.5), "share must be a fraction"),
    (lambda: SurprisingTokens(entropy=-1), "entropy must be"),
    (lambda: WindowVotes(None, widths=()), "widths must be a tuple"),
    (
        lambda: WindowVotes(None, widths=[2]),
        r"widths must be a tuple of one or more int; got \[2\]",
    ),
    (lambda: ReCaLL([1, 2]), "prefix must be a tuple"),
    (lambda: ReCaLL((1, -1)), "prefix must be a tuple"),
    (lambda: Neighborhood(4).of(Told(), np.ones((1, 2), int)), "Expected skmia.Recor", TypeError),
    (lambda: ReCaLL(()), "prefix must be a tuple"),
    (lambda: ReCaLL((1.0,)), "prefix must be a tuple"),
    (
        lambda: ReCaLL((7,)).of(
            SequenceVictim(NGramModel(2).fit([[0, 1]]), n_given=0), token_records([[0, 1]])
        ),
        "The model knows tokens from 0 to 1; got 7",
    ),
    (lambda: WindowVotes(None, widths=(2, 0)), "widths must be"),
    (lambda: Neighborhood(1), "n_tokens must be"),
    (lambda: Neighborhood(2, n_neighbors=0), "n_neighbors must be"),
    (lambda: Neighborhood(2, n_neighbors=10_001), "n_neighbors must be"),
    (lambda: Neighborhood(2, share=0), "share must be a fraction"),
    (lambda: Neighborhood(2, random_state=-1), "random_state must be"),
    (lambda: SurprisingTokens(0), "share must be a fraction"),
)
def test_bad_settings_are_refused(call, words, error):
    check_refusal(call, words, error)


SAME_TOKENS = "must count the same tokens"
MOMENTS = "needs the mean and the standard deviation of log p over the vocabulary"


class Stored(Told):
    """A sequence victim that has answered before."""

    def query(self, X):
        by_width = isinstance(self.factor, dict)
        return TokenOutputs(self.factor[X.shape[1]] if by_width else self.factor)


@parametrize_refusals(
    (lambda: MinKPlusPlus()(TokenOutputs(RAGGED, mean=RAGGED), LABELS), MOMENTS),
    (lambda: MinKPlusPlus()(TokenOutputs(RAGGED, std=-RAGGED), LABELS), MOMENTS),
    (lambda: compare([[-1, -2, -3, NAN], [-1, -2, NAN, NAN]]), SAME_TOKENS),
    (lambda: compare([[-1, -2, -3], [-1, NAN, NAN]]), SAME_TOKENS),
)
def test_wrong_answers_are_refused(call, words, error):
    check_refusal(call, words, error)


def compare(log_proba):
    records = token_records([[1, 2, 3], [1, 2]])
    victim = Stored([[-1.0, -2.0, -3.0], [-1.0, -2.0, NAN]])
    return ReferenceRatio(Stored(log_proba)).of(victim, records)


def test_other_answers_for_the_same_tokens_are_compared():
    assert_allclose(compare([[-1, -1, -1], [-2, -2, NAN]]), [-2 + 1, -1.5 + 2])


def test_tokens_that_one_of_both_lacks_are_not_compared():
    own, other = [[-1.0, NAN, -3.0], [-1.0, -2.0, NAN]], [[-4.0, -5.0, -1.0], [NAN, -8.0, NAN]]
    records = token_records([[1, 2, 3], [1, 2]])
    assert_allclose(ReferenceRatio(Stored(other)).of(Stored(own), records), [0.5, 6.0])


@pytest.mark.parametrize(
    "signal",
    [
        lambda: MinK(1),
        lambda: SurprisingTokens(1, entropy=0),
        lambda: WindowVotes(None, widths=(1,)),
        lambda: ReCaLL((0,)),
        lambda: Neighborhood(2, n_neighbors=1, share=1, random_state=0),
        lambda: Neighborhood(2, n_neighbors=10_000),
    ],
)
def test_settings_at_the_ends_of_their_ranges_are_taken(signal):
    assert signal() == signal()
