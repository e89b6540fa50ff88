"""The search for the least perplexing candidate finds what asking for all finds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator

from skmia.memorization import (
    CanaryFormat,
    Exposure,
    NGramModel,
    TorchSequenceModel,
    insert_canaries,
    log_perplexity,
    shortest_path_extraction,
)


class HashedModel:
    """Probabilities drawn for each prefix, some of them 0; counts how many it was asked for."""

    def __init__(self, seed, n_tokens=4, concentration=1.0, impossible=0.0):
        self.seed, self.n_tokens = seed, n_tokens
        self.concentration, self.impossible, self.n_asked = concentration, impossible, 0

    def next_log_proba(self, prefixes):
        self.n_asked += len(prefixes)
        return np.array([self._draw(prefix) for prefix in np.asarray(prefixes).tolist()])

    def _draw(self, prefix):
        rng = np.random.default_rng([self.seed, len(prefix), *prefix])
        proba = rng.dirichlet(np.full(self.n_tokens, self.concentration))
        proba[rng.random(self.n_tokens) < self.impossible] = 0
        with np.errstate(divide="ignore"):
            return np.log(proba)


@given(
    seed=st.integers(0, 10_000),
    template=st.lists(st.sampled_from([None, 0, 1]), min_size=1, max_size=5).filter(
        lambda some: None in some
    ),
    impossible=st.sampled_from([0.0, 0.3]),
    batch_size=st.sampled_from([1, 7]),
    n_sequences=st.integers(1, 5),
)
@settings(max_examples=30)
def test_the_search_agrees_with_brute_force(seed, template, impossible, batch_size, n_sequences):
    secrets = CanaryFormat(template, range(4))
    model = HashedModel(seed, impossible=impossible)
    bits = np.sort(log_perplexity(model, secrets.candidates()))
    bits = bits[np.isfinite(bits)]
    result = shortest_path_extraction(
        model, secrets, n_sequences=n_sequences, batch_size=batch_size
    )
    assert result.complete
    assert_allclose(result.log_perplexity, bits[:n_sequences], rtol=1e-12)
    assert_allclose(log_perplexity(model, result.sequences), result.log_perplexity) if len(
        result.sequences
    ) else None
    following = bits[n_sequences] if len(bits) > n_sequences else np.inf
    assert result.lower_bound <= following + 1e-9


def test_an_inserted_canary_is_extracted_and_has_rank_1():
    secrets = CanaryFormat("pin #####", "0123456789", alphabet="0123456789 pin")
    canary = secrets.sample(random_state=7)
    others = secrets.sample(300, random_state=0)
    model = NGramModel(5).fit(insert_canaries(others, canary, 30, random_state=0))
    result = shortest_path_extraction(model, secrets)
    assert_array_equal(result.sequences, canary)
    assert Exposure(FrozenEstimator(model), secrets).fit().rank(canary) == [1]
    assert result.n_expanded < 11_111 / 100


def test_the_kth_sequence_has_rank_k():
    secrets = CanaryFormat([None] * 4, range(4))
    model = HashedModel(1)
    result = shortest_path_extraction(model, secrets, n_sequences=12)
    exposure = Exposure(model, secrets).fit()
    assert_array_equal(exposure.rank(result.sequences), np.arange(1, 13))


def test_what_is_counted_is_what_the_model_was_asked():
    model = HashedModel(3)
    result = shortest_path_extraction(model, CanaryFormat([None] * 5, range(4)), batch_size=1)
    assert result.n_expanded == model.n_asked


def test_one_at_a_time_asks_only_for_beginnings_below_the_optimum():
    secrets = CanaryFormat([None] * 5, range(4))
    model = HashedModel(5, concentration=0.3)
    result = shortest_path_extraction(model, secrets, batch_size=1)
    best = result.log_perplexity[0]
    needed = 1 + sum(
        (log_perplexity(model, CanaryFormat([None] * n, range(4)).candidates()) < best).sum()
        for n in range(1, 5)
    )
    assert result.n_expanded == needed
    more = shortest_path_extraction(model, secrets, batch_size=16)
    assert more.n_expanded >= needed
    assert_array_equal(more.sequences, result.sequences)


def test_an_exhausted_budget_is_said_and_bounds_what_is_left():
    secrets = CanaryFormat([None] * 6, range(4))
    model = HashedModel(2)
    whole = shortest_path_extraction(model, secrets, batch_size=1)
    cut = shortest_path_extraction(model, secrets, batch_size=8, max_nodes=whole.n_expanded - 5)
    assert not cut.complete
    assert cut.sequences.shape == (0, 6) and cut.log_perplexity.shape == (0,)
    assert cut.n_expanded == whole.n_expanded - 5
    assert 0 < cut.lower_bound <= whole.log_perplexity[0]
    assert whole.complete and whole.lower_bound >= whole.log_perplexity[0]


def test_nothing_is_found_where_nothing_is_possible():
    model = HashedModel(0, impossible=1.0)
    result = shortest_path_extraction(model, CanaryFormat([None, None], range(4)))
    assert result.complete and len(result.sequences) == 0 and result.lower_bound == math.inf


def test_a_net_that_learned_a_number_gives_it_away():
    torch = pytest.importorskip("torch")

    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(11, 8)
            self.recurrent = torch.nn.GRU(8, 24, batch_first=True)
            self.output = torch.nn.Linear(24, 11)

        def forward(self, tokens):
            return self.output(self.recurrent(self.embedding(tokens))[0])

    secrets = CanaryFormat([None] * 5, range(10))
    canary, others = secrets.sample(random_state=1), secrets.sample(60, random_state=2)
    training = insert_canaries(others, canary, 40, random_state=0)
    torch.manual_seed(0)
    net = Reader()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    tokens = torch.as_tensor(np.column_stack([np.full(len(training), 10), training]))
    for _ in range(80):
        loss = torch.nn.functional.cross_entropy(
            net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model = TorchSequenceModel(net, start_token=10)
    assert_array_equal(shortest_path_extraction(model, secrets).sequences, canary)
    exposure = Exposure(model, secrets).fit()
    assert exposure.exposure(canary[0]) == exposure.max_exposure_


@pytest.mark.parametrize(
    "parameters, error, message",
    [
        ({"max_nodes": 0}, ValueError, "'max_nodes' parameter of shortest_path_extraction"),
        ({"n_sequences": 0}, ValueError, "'n_sequences' parameter"),
        ({"batch_size": 0}, ValueError, "'batch_size' parameter"),
        ({"secrets": [[0, 1]]}, ValueError, "'secrets' parameter"),
        ({"model": 3}, TypeError, "needs a method next_log_proba"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    arguments = {"model": HashedModel(0), "secrets": CanaryFormat([None], range(4))}
    with pytest.raises(error, match=message):
        shortest_path_extraction(**(arguments | parameters))
