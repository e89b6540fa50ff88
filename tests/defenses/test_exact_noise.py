"""Samplers of discrete laws, against the laws."""

import ast
import random
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from cells import slow_but
from scipy import stats
from twister import follows_from_a_seed

import skmia
from skmia.defenses import _exact_noise
from skmia.defenses._exact_noise import (
    PrivateRandomness,
    below,
    discrete_laplace,
    discrete_normal,
    exp_coins,
    seeded_words,
    set_twister,
    system_words,
)

N = 40_000


def words(seed=0):
    return seeded_words(np.random.default_rng(seed))


def law(name, scale):
    """Integers that are ever drawn, and their probabilities."""
    y = np.arange(-40 * scale, 40 * scale + 1)
    log_p = -np.abs(y) / scale if name == "laplace" else -((y / scale) ** 2) / 2
    return y, np.exp(log_p) / np.exp(log_p).sum()


def chi_square(draws, y, p):
    """p-value of the counts, rare values put together."""
    common = p * len(draws) >= 10
    counts = np.array([(draws == value).sum() for value in y[common]])
    expected = len(draws) * p[common]
    rest = len(draws) - expected.sum()
    if rest >= 1:
        counts = np.append(counts, len(draws) - counts.sum())
        expected = np.append(expected, rest)
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


@pytest.mark.parametrize("scale", slow_but([1, 2, 3, 4, 10], 1, 10))
@pytest.mark.parametrize("name, draw", [("laplace", discrete_laplace), ("normal", discrete_normal)])
def test_frequencies_are_those_of_the_law(name, draw, scale):
    draws = draw(scale, (N,), words(scale))
    assert chi_square(draws, *law(name, scale)) > 1e-4
    # The test has the power to see another law.
    assert chi_square(draws, *law({"laplace": "normal", "normal": "laplace"}[name], scale)) < 1e-4


@pytest.mark.parametrize("scale", slow_but([2**20 + 1, 2**40 - 12345, 2**52], 2**40 - 12345))
@pytest.mark.parametrize("draw, name", [(discrete_laplace, "laplace"), (discrete_normal, "norm")])
def test_at_a_large_scale_the_law_is_the_continuous_one(draw, name, scale):
    draws = draw(scale, (N,), words(1)) / scale
    assert stats.kstest(draws, name).pvalue > 1e-4


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 2**40 + 1, 2**63])
def test_uniform_integers_stay_below_their_limit(limit):
    numbers = below(words(), np.full(N, limit, dtype=np.uint64))
    assert numbers.max() < limit
    assert stats.kstest((numbers + 0.5) / limit, "uniform").pvalue > 1e-4 or limit < 1000
    if limit < 1000:
        counts = np.bincount(numbers.astype(int), minlength=limit)
        assert limit == 1 or stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("p, q", [(0, 1), (1, 1), (1, 2), (3, 10), (2**39, 2**40)])
def test_coins_show_heads_as_often_as_they_should(p, q):
    ones = np.ones(N, dtype=np.uint64)
    heads = exp_coins(words(2), p * ones, q * ones)
    assert stats.binomtest(int(heads.sum()), N, np.exp(-p / q)).pvalue > 1e-4


def test_each_number_can_have_its_own_scale():
    draws = discrete_normal([1, 1000], (N, 2), words(3))
    assert draws.std(axis=0) == pytest.approx([1, 1000], rel=0.02)
    assert discrete_laplace(5, (0, 3)).shape == (0, 3)


def test_a_seed_repeats_the_noise_and_the_system_does_not():
    assert (discrete_laplace(100, (50,), words(4)) == discrete_laplace(100, (50,), words(4))).all()
    assert (discrete_laplace(100, (50,)) != discrete_laplace(100, (50,))).any()
    assert system_words(3).dtype == np.uint64


@pytest.mark.parametrize("scale", [1.0, 1.7, 30.0])
def test_rounded_normal_numbers_have_the_law_of_rounding(scale):
    draws = _exact_noise.rounded_normal(scale, (N,), words(5))
    edges = np.arange(-np.ceil(2.5 * scale), np.ceil(2.5 * scale)) + 0.5
    wanted = np.diff(stats.norm.cdf(np.r_[-np.inf, edges, np.inf] / scale))
    counts = np.histogram(draws, np.r_[-np.inf, edges, np.inf])[0]
    assert stats.chisquare(counts, wanted * N).pvalue > 1e-4
    assert (draws == np.rint(draws)).all()


def test_rounded_normal_numbers_on_a_fine_grid_are_normal():
    scales = 2.0**30 * np.array([0.5, 0.9])
    draws = _exact_noise.rounded_normal(scales, (N, 2), words(6))
    for column in (draws / scales).T:
        assert stats.kstest(column, "norm").pvalue > 1e-4


def given_words(*first):
    """Words that are given, and then the same one for ever."""
    left = list(first)
    return lambda n: np.array([left.pop(0) if left else 5 for _ in range(n)], dtype=np.uint64)


def test_the_tail_has_no_end():
    # 53 bits ended at 8.57 standard deviations.
    assert _exact_noise.rounded_normal(1000.0, (1,), given_words(0, 0, 1))[0] > 15_000
    assert _exact_noise.rounded_normal(1000.0, (1,), given_words(1, 0, 1))[0] < -15_000


@pytest.mark.parametrize("place", [0.5, 3.5, 2.0**30 + 0.5, 5 * 2.0**30 + 0.5])
def test_doubtful_numbers_are_rounded_by_as_many_bits_as_it_takes(place):
    mpmath = pytest.importorskip("mpmath")
    scale = 2.0**30
    with mpmath.workdps(80):
        tail = mpmath.erfc(mpmath.mpf(place) / scale / mpmath.sqrt(2)) / 2
        whole = int(tail * mpmath.mpf(2) ** 192)
    parts = [(whole >> shift) & (2**64 - 1) for shift in (128, 64, 0)]
    found = []
    # The last of 192 bits decides on which side of the boundary the number lies.
    for last in (parts[2] - 3, parts[2] + 3):
        source = given_words(parts[0] << 1, parts[1], last)
        found.append(_exact_noise.rounded_normal(scale, (1,), source)[0])
    assert found == [np.floor(place) + 1, np.floor(place)]


# States of generators that code of others draws from


def read_states():
    """Words of the generators of Python, numpy and torch."""
    torch = pytest.importorskip("torch")
    return {
        "random": np.array(random.getstate()[1][:624], dtype=np.uint32),
        "numpy": np.random.get_state()[1].copy(),  # noqa: NPY002
        "torch": torch.get_rng_state().numpy()[24:5016].view(np.uint64).astype(np.uint32),
    }


def test_no_state_is_made_of_a_seed():
    torch = pytest.importorskip("torch")
    assert follows_from_a_seed(np.random.RandomState(5).get_state()[1])
    assert follows_from_a_seed(random.Random(5).getstate()[1])
    before, found, seeds = read_states(), [], set()
    for _ in range(3):
        with PrivateRandomness().for_modules():
            found += read_states().values()
            seeds.add(torch.initial_seed())  # from which a module could seed a generator of its own
    for k, words in enumerate(found):
        assert not follows_from_a_seed(words)
        assert all((words != other).all() for other in found[:k])
    assert len(seeds) == 3 and max(seeds) > 2**48
    for name, words in read_states().items():
        np.testing.assert_array_equal(words, before[name])


PRIVATE_CODE = [
    "defenses/_dp_sgd.py",
    "defenses/_exact_noise.py",
    "defenses/_private_training.py",
    "synthetic/_dp_wgan.py",
    "synthetic/_gan_training.py",
]


@pytest.mark.parametrize("file", PRIVATE_CODE)
def test_private_code_seeds_nothing(file):
    tree = ast.parse((Path(skmia.__file__).parent / file).read_text("utf-8"))
    # The trial with synthetic rows sees no other ones.
    seeding = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name != "_try_rows"
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute | ast.Name) and function.name != "gradients"
    }
    assert not seeding & {"manual_seed", "manual_seed_all", "seed_everything", "RandomState"}


def test_torch_draws_from_the_words_that_it_was_given():
    torch = pytest.importorskip("torch")
    words = (system_words(624) >> np.uint64(32)).astype(np.uint32)
    generator, bits = torch.Generator(), np.random.MT19937()
    torch.randn(7, generator=generator)  # leaves a normal number in store
    state = set_twister(generator.get_state().numpy(), system_words(1), words)
    generator.set_state(torch.from_numpy(state))
    bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": 624}}
    drawn = torch.empty(1000, dtype=torch.int32).random_(generator=generator)
    np.testing.assert_array_equal(drawn.numpy(), bits.random_raw(1000) % 2**31)
    with pytest.raises(RuntimeError, match="version of torch"):
        set_twister(state[:-8], system_words(1), words)


def test_a_seed_for_tests_repeats_them():
    first, second = PrivateRandomness(0), PrivateRandomness(0)
    states = []
    for randomness in (first, second):
        with randomness.for_modules():
            states.append(read_states())
    assert all((states[0][name] == states[1][name]).all() for name in states[0])


def test_the_state_for_a_gpu_has_a_key_and_a_counter():
    torch = pytest.importorskip("torch")
    states = [PrivateRandomness()._counter_state(torch) for _ in range(50)]
    keys, counters = np.array([state.numpy().view(np.uint64) for state in states]).T
    assert len(set(keys)) == 50 and max(keys) > 2**56
    assert len(set(counters)) == 50 and 2**55 < max(counters) < 2**63 and not (counters % 4).any()


@contextmanager
def preserved_randomness_of_cpu(torch):
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    yield
    random.setstate(kept[0])
    np.random.set_state(kept[1])  # noqa: NPY002
    torch.set_rng_state(kept[2])


def test_each_gpu_has_a_state_of_its_own(monkeypatch):
    torch, states = pytest.importorskip("torch"), {}
    monkeypatch.setattr(_exact_noise, "preserved_randomness", nullcontext)
    for name, found in (("is_available", True), ("is_initialized", True), ("device_count", 2)):
        monkeypatch.setattr(torch.cuda, name, lambda found=found: found)
    keep = lambda state, device: states.setdefault(device, state.tolist())  # noqa: E731
    monkeypatch.setattr(torch.cuda, "set_rng_state", keep)
    with preserved_randomness_of_cpu(torch), PrivateRandomness(0).for_modules():
        pass
    assert [*states] == [0, 1] and states[0] != states[1]
