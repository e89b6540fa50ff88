"""The baseline as a function: what it finds, what it refuses, what its seed means."""

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many, most_by_chance
from joblib import parallel_config
from refusals import check_refusal, parametrize_refusals
from scipy import sparse

from skmia import Records
from skmia._core.blind import score_words
from skmia.report import blind_baseline


def make_records(n=400, shift=0.0, seed=0):
    rng = np.random.RandomState(seed)
    membership = rng.permutation(n) % 2
    X = rng.normal(size=(n, 4)) + shift * membership[:, None]
    return Records(X, rng.randint(2, size=n)), membership


@pytest.fixture(autouse=True)
def quick_audits():
    """Leave the baseline, which is tested here, as it is."""


@pytest.fixture
def few_trees(monkeypatch):
    """A baseline whose size does not matter."""
    sizes = {0: {"n_estimators": 10, "min_samples_leaf": 5}}
    monkeypatch.setattr("skmia._core.blind._SIZES_OF_TREES", sizes)


@few_and_many(60)
def test_sides_that_were_drawn_alike_are_not_told_apart(n_draws):
    missed = 0
    for seed in range(n_draws):
        _, low, high = blind_baseline(*make_records(200, seed=seed), random_state=seed)
        missed += not low <= 0.5 <= high
    assert missed <= most_by_chance(n_draws, 0.05)


def test_a_shift_is_found():
    assert blind_baseline(*make_records(shift=1.5), random_state=0).low > 0.9


def test_a_difference_of_the_labels_alone_is_found():
    records, membership = make_records()
    labels = np.where(membership, "yes", "no")
    assert blind_baseline(Records(records.X, labels), membership, random_state=0).low > 0.9


def test_records_need_no_labels_of_numbers_and_may_lack_features():
    records, membership = make_records(shift=2)
    X = records.X.copy()
    X[::7, 0], X[::11, 1] = np.nan, np.inf
    assert blind_baseline(Records(X, records.y), membership, random_state=0).low > 0.8
    nothing = Records(np.empty((400, 0)), records.y)
    assert blind_baseline(nothing, membership, random_state=0).low < 0.5


@pytest.mark.parametrize("kind", ["complex", "sparse", "too large"])
def test_features_that_trees_do_not_take_as_they_are(kind, few_trees):
    records, membership = make_records(shift=2)
    X = np.where(records.X > 0.5, np.nan, records.X)
    kinds = {
        "complex": np.round(records.X) + 1j,
        "sparse": sparse.csr_array(X),
        "too large": X * 1e300,
    }
    blind_baseline(Records(kinds[kind], records.y), membership, random_state=0)


def test_random_state_is_that_of_scikit_learn(few_trees):
    records, membership = make_records(80, shift=0.5)
    of_seed = blind_baseline(records, membership, random_state=3)
    with parallel_config("threading"):
        assert of_seed == blind_baseline(records, membership, random_state=3, n_jobs=2)
    assert of_seed != blind_baseline(records, membership, random_state=4)
    generators = [np.random.RandomState(3) for _ in range(2)]
    first, second = (
        blind_baseline(records, membership, random_state=generator) for generator in generators
    )
    assert first == second


def test_an_integer_is_the_seed_itself(monkeypatch, few_trees):
    # Numbers that were written down with their seed can be had again.
    seeds, default_rng = [], np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: seeds.append(seed) or default_rng(0))
    blind_baseline(*make_records(), random_state=np.int64(5))
    assert set(seeds) == {5}


def test_global_randomness_is_left_alone(few_trees):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    blind_baseline(*make_records(), random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_a_higher_level_gives_a_wider_interval_around_the_same_estimate(few_trees):
    records, membership = make_records()
    narrow, wide = (
        blind_baseline(records, membership, confidence_level=level, random_state=0)
        for level in (0.5, 0.99)
    )
    assert narrow.estimate == wide.estimate
    assert wide.low < narrow.low < narrow.high < wide.high


def test_a_half_of_one_side_gives_no_baseline():
    records, membership = make_records(n=2)
    assert blind_baseline(records, membership, random_state=0) is None
    copies = Records(np.ones((6, 2)), np.zeros(6))
    assert blind_baseline(copies, [0, 1] * 3, random_state=0) is None


@parametrize_refusals(
    (
        lambda records, membership: blind_baseline(records.X, membership, random_state=0),
        "Expected skmia.Records",
        TypeError,
    ),
    (
        lambda records, membership: blind_baseline(Records(records.X), membership, random_state=0),
        "no task labels",
    ),
    (
        lambda records, membership: blind_baseline(records, np.zeros(400), random_state=0),
        "no members",
    ),
    (
        lambda records, membership: blind_baseline(
            records, membership, confidence_level=95, random_state=0
        ),
        "confidence_level",
    ),
    (
        lambda records, membership: blind_baseline(records, membership, random_state="zero"),
        "random_state must be",
    ),
)
def test_bad_input_is_named(call, words, error):
    records, membership = make_records()
    check_refusal(call, words, error, records, membership)


def test_a_table_gives_the_same_as_its_numbers(few_trees):
    records, membership = make_records(shift=0.5)
    table = Records(pd.DataFrame(records.X), records.y)
    assert blind_baseline(table, membership, random_state=0) == blind_baseline(
        records, membership, random_state=0
    )


@few_and_many(20)
def test_texts_in_the_order_of_the_records_tell_nothing(n_draws):
    # Members come first in many a table, and so do their names.
    # If the order of the names were read, every draw would warn.
    warned = 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        names = np.array([f"person {k}" for k in rng.permutation(200)])
        records = Records(pd.DataFrame({"name": names}), rng.integers(0, 2, 200))
        warned += blind_baseline(records, np.repeat([1, 0], 100), random_state=seed).low > 0.5
    assert warned <= most_by_chance(n_draws, 0.025)


@pytest.mark.parametrize("kind", ["text", "time"])
def test_members_of_another_year_are_told_apart_by_their_dates(kind):
    rng = np.random.default_rng(0)
    membership = rng.permutation(600) % 2
    day = pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 365, 600), "D"))
    day += pd.to_timedelta(365 * 3 * membership, "D")
    frame = pd.DataFrame({"day": day if kind == "time" else day.dt.strftime("%Y-%m-%d")})
    baseline = blind_baseline(Records(frame, rng.integers(0, 2, 600)), membership, random_state=0)
    assert baseline.low > 0.95


def test_rows_of_people_count_as_people(few_trees):
    # Ten equal rows of a person say no more than one.
    records, membership = make_records(120)
    rows = np.repeat(np.arange(120), 10)
    people = Records(records.X[rows], records.y[rows], group_by=rows)
    many = blind_baseline(people, membership[rows], random_state=0)
    one = blind_baseline(Records(records.X, records.y), membership, random_state=0)
    assert 0.6 < (many.high - many.low) / (one.high - one.low) < 1.6
    # Equal records that are on one side with all their copies are taken to have come together.
    copies = blind_baseline(
        Records(records.X[rows], records.y[rows]), membership[rows], random_state=0
    )
    assert copies == pytest.approx(many)


def write_texts(rng, n, shift=0.0, n_topics=20):
    """Texts of one topic each; the topics of the members have other frequencies."""
    membership = rng.permutation(n) % 2
    words = np.array([f"word{k}" for k in range(400)])
    weights = np.exp(2 * rng.normal(size=(n_topics, 400)))
    weights /= weights.sum(axis=1, keepdims=True)
    shares = np.exp([np.zeros(n_topics), shift * rng.normal(size=n_topics)])
    shares /= shares.sum(axis=1, keepdims=True)
    topics = [rng.choice(n_topics, p=shares[side]) for side in membership]
    texts = [" ".join(rng.choice(words, 30, p=weights[topic])) for topic in topics]
    return np.array(texts, dtype=object), membership


CONTAINERS_OF_TEXTS = {
    "one text per record": lambda texts: texts,
    "texts of numpy": lambda texts: texts.astype(str),
    "a column": lambda texts: pd.DataFrame({"text": texts}),
    "a column beside others": lambda texts: pd.DataFrame(
        {"a": np.arange(len(texts)) % 7, "text": pd.array(texts, "string"), "b": "x"}
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        "one text per record",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("a column beside others", "texts of numpy", "a column")
        ),
    ],
)
def test_members_with_other_topics_are_told_apart_by_their_words(name):
    texts, membership = write_texts(np.random.default_rng(1), 600, shift=1.0)
    y = np.random.default_rng(2).integers(2, size=600)
    records = Records(CONTAINERS_OF_TEXTS[name](texts), y)
    assert blind_baseline(records, membership, random_state=0).low > 0.55


@few_and_many(20)
def test_words_of_texts_that_were_drawn_alike_tell_nothing(n_draws):
    warned = 0
    for seed in range(n_draws):
        texts, membership = write_texts(np.random.default_rng(seed), 200)
        records = Records(texts, np.random.default_rng(seed).integers(2, size=200))
        warned += blind_baseline(records, membership, random_state=seed).low > 0.5
    # Each interval lies above one half with probability .025.
    assert warned <= most_by_chance(n_draws, 0.025)


def test_names_and_categories_are_not_read_as_texts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": [f"person {k}" for k in range(200)], "city": "New York"})
    records, membership = Records(frame, rng.integers(2, size=200)), rng.permutation(200) % 2
    assert score_words(records, membership == 1, 0) == []
    texts = Records(frame.assign(text="to be or not"), records.y)
    assert len(score_words(texts, membership == 1, 0)) == 5
