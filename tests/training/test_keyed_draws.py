"""Masks that depend on the seed of a net, its step and the place alone, for many nets at once."""

import copy
import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from nets import Images, make_net  # noqa: E402

from skmia._training.backends.torch_nets import step  # noqa: E402
from skmia._training.backends.torch_nets.keyed_draws import KeyedDraws, draw_words, mix_bits  # noqa: E402
from skmia._training.backends.torch_nets.prepare import prepare_net, shared_table  # noqa: E402
from skmia._training.backends.torch_nets.train import NetTraining  # noqa: E402
from skmia._training.job import Job, JobData  # noqa: E402

# As published with the algorithm, for the seed 1234567.
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def mix_by_hand(z):
    """The same in whole numbers of Python."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def as_unsigned(tensor):
    return [int(number) % 2**64 for number in tensor]


def test_words_are_those_of_the_published_generator():
    words = draw_words(torch.tensor([1234567]), 10)
    assert words.shape == (1, 10)
    assert as_unsigned(words.contiguous().view(torch.int64)[0]) == PUBLISHED
    assert torch.equal(draw_words(torch.tensor([1234567]), 9), words[:, :9])


def test_bits_of_negative_numbers_are_mixed_as_those_of_others():
    numbers = [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 0xDEADBEEFDEADBEEF]
    signed = torch.from_numpy(np.array(numbers, np.uint64).view(np.int64).copy())
    assert as_unsigned(mix_bits(signed)) == [mix_by_hand(number) for number in numbers]


def draw(seeds, p, n, n_steps=0, models=None, n_sites=1):
    draws = KeyedDraws(seeds, "cpu")
    models = models or slice(0, len(seeds))
    made = torch.full((len(range(*models.indices(len(seeds)))),), n_steps)
    starts = draws.find_starts(models, made)
    return draws.draw_masks(starts, [(p, (n,))] * n_sites, torch.float32)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.75, 0.999])
def test_as_many_are_dropped_as_by_dropout(p):
    n = 100_001
    masks = draw(range(5), p, n, n_sites=2)
    for mask in itertools.chain.from_iterable(masks):
        kept = mask > 0
        # Five standard deviations: once in 1.7 million masks.
        assert abs(int(kept.sum()) - n * (1 - p)) < 5 * np.sqrt(n * p * (1 - p))
        assert torch.equal(mask[kept].unique(), torch.tensor([1.0]) / (1 - p))


def test_a_rate_below_the_resolution_drops_one_number_of_all():
    (mask,) = draw([0], 2.0**-40, 100)
    assert (mask == 1).all()


def test_masks_of_nets_steps_sites_and_neighbors_are_independent():
    n = 40_000
    seeds = [0, 1, 2, 3, 2**32 - 1, 2**64 - 1]  # those of nets are not alike; these are
    of_steps = [draw(seeds, 0.5, n, n_steps=t, n_sites=2) for t in (0, 1, 2)]
    rows = torch.cat([torch.stack(masks).flatten(0, 1) for masks in of_steps]) - 1
    shifted = torch.cat([rows, rows.roll(1, dims=1), rows.roll(2, dims=1)]).numpy()
    correlations = (np.corrcoef(shifted) - np.eye(len(shifted)))[: len(rows)] * np.sqrt(n)
    assert np.abs(correlations).max() < 5.5  # of 3,900 pairs; by chance once in 7,000 runs
    assert abs(np.mean(correlations**2) - 1) < 0.1


def test_the_masks_of_a_net_do_not_depend_on_the_others():
    seeds = [7, 8, 9]
    together = draw(seeds, 0.3, 101, n_steps=4)[0]
    assert torch.equal(draw([9], 0.3, 101, n_steps=4)[0][0], together[2])
    assert torch.equal(draw(seeds, 0.3, 101, n_steps=4, models=slice(1, 2))[0][0], together[1])


def make_training(net, chosen=range(4)):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(3, size=60)
    subsets = np.array([rng.permutation(60) < 29 + 3 * k for k in range(4)])
    job = Job(net, JobData([X], y), subsets, np.random.SeedSequence(0).spawn(4), None)
    table = shared_table(job)
    return NetTraining([prepare_net(job, k, table) for k in chosen], table)


@pytest.fixture
def as_on_a_device(monkeypatch):
    monkeypatch.setattr(step, "draws_the_same", lambda device: False)


def read_weights(training):
    return [torch.cat([one.flatten() for one in net.module_.parameters()]) for net in training.nets]


@pytest.mark.parametrize("module", [None, Images])
def test_a_net_with_dropout_is_the_same_in_each_group(module, as_on_a_device):
    settings = {"module__drop": 0.4} if module is None else {"module": module}
    together = make_training(make_net(**settings))
    together.run_to_end(None)
    for k, weights in enumerate(read_weights(together)):
        alone = make_training(make_net(**settings), [k])
        alone.run_to_end(None)
        atol = 0 if module is None else 1e-5
        torch.testing.assert_close(read_weights(alone)[0], weights, rtol=0, atol=atol)


def test_training_goes_on_with_the_masks_of_its_step(as_on_a_device):
    net = make_net(module__drop=0.4)
    whole, states = make_training(net), []
    whole.run(4, after_epoch=lambda: states.append(copy.deepcopy(whole.export_state())))
    again = make_training(net)
    again.import_state(states[1])
    again.run(4)
    for one, other in zip(read_weights(whole), read_weights(again), strict=True):
        assert torch.equal(one, other)


def test_a_cpu_draws_from_the_generators_of_the_nets():
    net = make_net(module__drop=0.4)
    ours, theirs = make_training(net), make_training(net)
    ours.run(1)
    for ready in theirs.prepared:
        torch.rand(1, generator=ready.stream.own)
    theirs.run(1)
    assert not torch.equal(read_weights(ours)[0], read_weights(theirs)[0])
