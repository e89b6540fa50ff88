"""Changes of the batches of many nets at once, with numbers that depend on the net and its step."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from torch.func import vmap  # noqa: E402

from skmia._training.backends.torch_nets.changed_batches import (  # noqa: E402
    BatchChanges,
    KeyedFunctions,
)
from skmia.victims import Augmentation, random_crops, random_flips  # noqa: E402

CROPS = Augmentation(partial(random_crops, padding=2), random_flips)
STARTS = torch.tensor([3, -4, 5])


def make_generators():
    return [torch.Generator().manual_seed(k) for k in range(3)]


def make_images():
    return torch.arange(3 * 5 * 2 * 4 * 4.0).reshape(3, 5, 2, 4, 4)


def change(transform, x, models=slice(0, 3), is_keyed=True):
    changes = BatchChanges(Augmentation(transform), make_generators(), is_keyed)
    return changes.change(models, x[models], STARTS[models]), changes


def draw(function, start=0):
    generator = torch.Generator()
    with KeyedFunctions(generator, torch.tensor(start)):
        return function(generator)


def test_many_nets_at_once_are_changed_like_each_of_them():
    x = make_images()
    changes = BatchChanges(CROPS, make_generators(), True)
    together = changes.change(slice(0, 3), x, STARTS)
    assert changes._is_keyed and together.shape == x.shape
    for k in range(3):
        alone = draw(partial(CROPS.transform, x[k]), int(STARTS[k]))
        assert torch.equal(together[k], alone)
        part = changes.change(slice(k, k + 1), x[k : k + 1], STARTS[k : k + 1])
        assert torch.equal(together[k], part[0])
    assert not torch.equal(together[0] - x[0], together[1] - x[1])


def test_inputs_by_name_are_changed():
    def flip_left(X, generator):
        return {**X, "left": random_flips(X["left"], generator)}

    x = {"left": make_images(), "right": torch.ones(3, 5)}
    changed = BatchChanges(Augmentation(flip_left), make_generators(), True)
    changed = changed.change(slice(0, 3), x, STARTS)
    assert torch.equal(changed["right"], x["right"])
    is_flipped = (changed["left"] == x["left"].flip(-1)).flatten(2).all(2)
    is_same = (changed["left"] == x["left"]).flatten(2).all(2)
    assert (is_flipped ^ is_same).all() and is_flipped.any() and is_same.any()


def add_in_place(X, generator):
    return X + torch.empty(X.shape).uniform_(generator=generator)


def read_a_number(X, generator):
    return X * torch.randint(5, (), generator=generator).item()


def choose(X, generator):
    return X[:, torch.multinomial(torch.ones(2), 2, generator=generator)]


@pytest.mark.parametrize("transform", [add_in_place, read_a_number, choose])
def test_functions_that_are_not_vectorized_draw_from_the_generators(transform):
    x = make_images()
    ours, changes = change(transform, x, slice(1, 3))
    assert not changes._is_keyed
    by_hand = [transform(x[k], generator) for k, generator in enumerate(make_generators())]
    assert torch.equal(ours, torch.stack(by_hand[1:]))


def test_an_error_of_a_function_is_raised():
    def fail(X, generator):
        raise ValueError("wrong images")

    with pytest.raises(ValueError, match="wrong images"):
        change(fail, make_images())


def test_generators_of_nets_are_drawn_from_on_a_cpu():
    x = make_images()
    ours, _ = change(random_flips, x, is_keyed=False)
    theirs = [random_flips(x[k], generator) for k, generator in enumerate(make_generators())]
    assert torch.equal(ours, torch.stack(theirs))


N = 20_000


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("function", "law"), [(torch.rand, "uniform"), (torch.randn, "norm")])
def test_real_numbers_have_their_law(function, law, dtype):
    x = draw(lambda generator: function(N // 2, 2, generator=generator, dtype=dtype))
    assert x.dtype == dtype and x.shape == (N // 2, 2)
    assert stats.kstest(x.double().flatten(), law).pvalue > 1e-4
    assert abs(np.corrcoef(x.double().T)[0, 1]) < 5 / np.sqrt(N // 2)


def test_the_largest_number_is_below_one():
    x = draw(lambda generator: torch.rand(N, generator=generator, dtype=torch.float16))
    y = draw(lambda generator: torch.rand(N, generator=generator))
    assert y.max() < 1 and y.min() >= 0 and x.dtype == torch.float16


@pytest.mark.parametrize(
    ("low", "function"),
    [
        (0, lambda generator: torch.randint(7, (2, N), generator=generator)),
        (0, lambda generator: torch.randint(high=7, size=(2, N), generator=generator)),
        (-3, lambda generator: torch.randint(-3, 4, (2, N), generator=generator)),
        (-3, lambda generator: torch.randint(-3, 4, size=(2, N), generator=generator)),
        (-3, lambda generator: torch.randint(low=-3, high=4, size=(2, N), generator=generator)),
    ],
)
def test_whole_numbers_are_equally_frequent(low, function):
    x = draw(function)
    assert x.dtype == torch.int64 and x.shape == (2, N)
    counts = np.bincount(x.flatten() - low, minlength=7)
    assert len(counts) == 7 and stats.chisquare(counts).pvalue > 1e-4


def test_permutations_and_coins():
    orders = torch.stack(
        [draw(lambda generator: torch.randperm(5, generator=generator), k) for k in range(2000)]
    )
    assert (orders.sort(1).values == torch.arange(5)).all()
    for column in orders.T:
        assert stats.chisquare(np.bincount(column, minlength=5)).pvalue > 1e-5
    p = torch.full((N,), 0.3)
    coins = draw(lambda generator: torch.bernoulli(p, generator=generator))
    assert set(coins.tolist()) == {0.0, 1.0}
    assert abs(float(coins.sum()) - 0.3 * N) < 5 * np.sqrt(0.21 * N)


def test_each_call_draws_other_numbers_and_sizes_are_read():
    one, other = draw(
        lambda g: (torch.rand((2, 3), generator=g), torch.rand(size=(2, 3), generator=g))
    )
    assert one.shape == other.shape == (2, 3) and not torch.equal(one, other)
    assert draw(lambda g: torch.rand((), generator=g)).shape == ()


def test_other_draws_are_left_alone():
    generator = torch.Generator().manual_seed(0)
    expected = torch.rand(3, generator=generator)
    generator.manual_seed(0)
    drawn = draw(lambda _: torch.rand(3, generator=generator))
    assert torch.equal(drawn, expected)
    twice = vmap(lambda start: draw_in(start), randomness="error")(STARTS)
    assert len(twice.unique()) == 3


def draw_in(start):
    generator = torch.Generator()
    with KeyedFunctions(generator, start):
        return torch.rand((), generator=generator)
