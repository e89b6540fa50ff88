"""What is held at once, and from which size on a path is left, changes no result.

Tables of tests are smaller than any block, so a fault in the joining of blocks would not show.
"""

import io
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier

from skmia import Records, ShadowPool
from skmia._core.hashing import digest_records
from skmia._core.moments import count_models
from skmia._training.backends.linear.design import why_not_features
from skmia._training.backends.perceptron.backend import count_together
from skmia._training.digests import digest_table
from skmia.attacks import TransferredQueryAttack
from skmia.datasets._tables import _read_small_integers
from skmia.defenses._exact_noise import discrete_laplace, discrete_normal, seeded_words
from skmia.leakage import GaussianRegressionAttacker
from skmia.leakage.gaps import distributional_gap
from skmia.report import permutation_test
from skmia.shadow import record_separation
from skmia.synthetic import GeneratorAttack, InferenceRisk, PrivacyLoss
from skmia.victims import open_white_box
from skmia.victims._node_equations.cart import TreeSample, estimate_totals

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 4)), np.arange(30) % 3
TEXTS = pd.DataFrame({"a": [*"abcabdefgh"], "b": np.arange(10.0), "c": pd.Categorical([*"uv"] * 5)})
MLP = MLPClassifier((5,), max_iter=5, random_state=0)


def digest_all():
    tables = (X[:10], sparse.csr_array(np.where(X > 1, X, 0))[:10], TEXTS)
    return np.concatenate([digest_records(table, Y[:10]) for table in tables])


def train_pool(estimator, y=Y):
    return ShadowPool(estimator, 8, random_state=0).fit(Records(X, y)).signals_


def measure_gap(distance, **settings):
    settings = {"n_permutations": 5, "n_resamples": 5, "random_state": 0, **settings}
    return distributional_gap(X[:14], X[14:] + 0.5, distance, **settings)[:3]


def compute_gradients():
    found = open_white_box(MLP.fit(X, Y)).loss_gradients(X, Y, "parameters")
    return np.concatenate([values for _, values in found])


def permute_scores():
    found = permutation_test(Y % 2, X[:, 0], n_permutations=50, random_state=0)
    return found.frame.select_dtypes("number").to_numpy()


def judge_responses():
    attack = GaussianRegressionAttacker(
        coef=np.ones(4), knows_index=False, n_simulations=7, random_state=0
    )
    attack.set_params(victim=FrozenEstimator(LinearRegression().fit(X, X.sum(axis=1))))
    attack.fit(Records(X, X[:, 0]))
    return attack.score_samples(Records(X[:5], X[:5, 1]))


def permute_tables():
    loss = PrivacyLoss(n_permutations=8, random_state=0).fit(X[:9], X[9:18], X[18:])
    return [loss.pvalue_, loss.pvalue_below_]


def count_rows_of_nodes():
    shares = np.array([[1 / 3, 2 / 3], [3 / 7, 4 / 7], [0.25, 0.75], [0.5, 0.5], [0.2, 0.8]])
    steps, candidates = np.full_like(shares, 1e-9), np.array([3.0, 7, 4, 8, 20])
    return estimate_totals(shares, steps, candidates, 0.5, TreeSample(0, 100))


def compare_tables(statistic):
    made, known, records = (Records(rows, Y[:10]) for rows in np.split(X, 3))
    attack = GeneratorAttack(made, reference=known, statistic=statistic, metric="euclidean")
    return attack.fit(records).score_samples(records)


def infer_values():
    risk = InferenceRisk("b", n_attacks=10, n_permutations=0, random_state=0)
    return risk.fit(TEXTS, TEXTS.iloc[:6], TEXTS.iloc[6:]).result_.select_dtypes("number")


def separate_records():
    records = Records(X, Y)
    pool = ShadowPool(LogisticRegression(), 8, random_state=0).fit(records)
    return record_separation(pool, records)


def read_integers():
    text = "\n".join(f'{row},"{row % 7}"' for row in range(11))
    return _read_small_integers(io.BytesIO(text.encode()))


def query_others():
    records = Records(X, Y % 2)
    attack = TransferredQueryAttack(
        LogisticRegression().fit(X[::2], Y[::2] % 2),
        ShadowPool(LogisticRegression(), 8, store="models", random_state=0),
        n_steps=2,
        random_state=0,
    )
    return attack.fit(records).score_samples(records)


# Constants with the values that make blocks small, and what is computed.
BLOCKS = {
    "hashes": ({"_core.hashing._BLOCK_BYTES": 1, "_core.hashing._LARGEST_CACHE": 2}, digest_all),
    "digests": (
        {"_training.digests._BLOCK_BYTES": 1},
        lambda: [digest_table(np.asfortranarray(X))],
    ),
    "counts of models": (
        {"_core.moments._MOST_IN_BYTE": 2},
        lambda: count_models(RNG.spawn(1)[0].random((9, 5)) < 2),
    ),
    "linear models together": (
        {"_training.backends.linear.backend._LARGEST_CHUNK": 2},
        lambda: train_pool(LogisticRegression()),
    ),
    "answers of linear models": (
        {"_training.backends.linear.design._BYTES_OF_ANSWERS": 1},
        lambda: train_pool(Ridge(), X[:, 0]),
    ),
    "perceptrons together": (
        {"_training.backends.perceptron.backend._LARGEST_STACK": 2},
        lambda: train_pool(MLP),
    ),
    "gradients": ({"victims._white_box._dense._BYTES": 1}, compute_gradients),
    "distances of a gap": ({"leakage.gaps._CHUNK": 1}, lambda: measure_gap("energy")),
    "kernels of a gap": (
        {"leakage._witness._CHUNK": 1},
        lambda: measure_gap("jensen_shannon", method="kde"),
    ),
    "permutations": ({"report.checks._permutation._MOST_COUNTS": 1}, permute_scores),
    "permutations of tables": (
        {"synthetic._adversarial_accuracy._N_AT_ONCE": 3},
        permute_tables,
    ),
    "rows that are not known": ({"leakage._gaussian._BLOCK": 1}, judge_responses),
    "densities of a copula": (
        {"synthetic._generator_attack._BLOCK": 30},
        lambda: compare_tables("copula"),
    ),
    "distances of kernels": (
        {"synthetic._generator_attack._BLOCK": 30},
        lambda: compare_tables("domias"),
    ),
    "pairs of rows": ({"synthetic._cells._MOST_PAIRS": 20}, infer_values),
    "separations": ({"shadow._plot._BLOCK": 7}, separate_records),
    "rows of bits": ({"datasets._tables._ROWS_AT_ONCE": 4}, read_integers),
    "queries of records": ({"attacks._transferred_query._N_AT_ONCE": 7}, query_others),
    "memory of linear models": (
        {"_training.backends.linear.backend._BYTES_OF_CHUNK": 1},
        lambda: train_pool(LogisticRegression()),
    ),
    "nodes of trees": ({"victims._node_equations.cart._BLOCK": 2}, count_rows_of_nodes),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", BLOCKS)
def test_small_blocks_give_what_large_ones_give(monkeypatch, name):
    constants, compute = BLOCKS[name]
    whole = compute()
    for place, value in constants.items():
        module, _, constant = place.rpartition(".")
        assert getattr(import_module(f"skmia.{module}"), constant) > value
        monkeypatch.setattr(f"skmia.{place}", value)
    parts = compute()
    if name in ("hashes", "digests", "counts of models", "permutations"):
        np.testing.assert_array_equal(parts, whole)
    else:
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_normal])
def test_noise_that_is_drawn_in_parts_has_each_scale_at_its_place(monkeypatch, draw):
    monkeypatch.setattr("skmia.defenses._exact_noise._CHUNK", 2)
    scales = [[1, 2**50, 1], [2**50, 2**50, 1], [1, 1, 2**50]]
    noise = draw(scales, (3, 3), seeded_words(np.random.default_rng(0)))
    np.testing.assert_array_equal(abs(noise) > 2**25, np.array(scales) > 1)


def test_more_models_than_a_byte_counts_are_counted():
    chosen = np.zeros((600, 3), dtype=bool)
    chosen[:, 0], chosen[:256, 1] = True, True
    np.testing.assert_array_equal(count_models(chosen), [600, 256, 0])


def test_entries_of_linear_models_are_limited_at_the_limit(monkeypatch):
    monkeypatch.setattr("skmia._training.backends.linear.design._LARGEST_X", 120)
    assert why_not_features(X) is None  # 30 x 4
    assert "entries, which have to be copied" in why_not_features(np.zeros((31, 4)))


@pytest.mark.parametrize(("limit", "kept"), [(200, 1.0), (60, 1.0), (40, 2 / 3), (15, 0.25)])
def test_edges_of_histogram_boosting_are_of_a_sample_of_many_rows(monkeypatch, limit, kept):
    from skmia.victims import _split_thresholds

    rng, seen = np.random.default_rng(0), []
    rows = rng.normal(size=(60, 2))
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)
    model.fit(rows, rng.integers(0, 2, 60))
    explain = _split_thresholds._explain_columns

    def note(features, thresholds, rule, kept, *rest):
        seen.append(kept)
        return explain(features, thresholds, rule, kept, *rest)

    monkeypatch.setattr(_split_thresholds, "_explain_columns", note)
    monkeypatch.setattr(_split_thresholds, "_MOST_BINNED", limit)
    _split_thresholds.read_split_thresholds(model, rows, 0.5)
    assert seen == [kept] * 2


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "n_jobs", "n_together"),
    [
        (1_000, 200, 1, 35),  # 2 ** 22 bytes over 8 * (2 * 200 * 33 + 5 * 283)
        (1_000, 10, 1, 64),  # the cache would hold 252
        (1_000_000, 10, 1, 3),  # 2 ** 29 bytes over 8 * 1e6 * (10 + 3 * 3)
        (1_000_000, 10, 2, 1),
        (10_000_000, 10, 1, 1),  # of which none fits
    ],
)
def test_as_many_perceptrons_as_fit_are_trained_together(n_rows, batch_size, n_jobs, n_together):
    model = MLPClassifier((20,), batch_size=batch_size)
    rows = np.broadcast_to(0.0, (n_rows, 10))
    network = SimpleNamespace(X=rows, widths=[10, 20, 3], model=model)
    assert count_together(network, n_jobs) == n_together
    assert count_together(None, n_jobs) == 1
