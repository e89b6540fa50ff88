"""Nets of the literature, which benchmarks train, have the published numbers of parameters."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skmia import Records, ShadowPool
from skmia.victims import open_white_box

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from literature_nets import (  # noqa: E402
    make_alexnet,
    make_conv_net,
    make_densenet,
    make_pendigits_net,
    make_purchase_net,
    make_resnet,
    make_resnext,
    make_small_net,
)
from refusals import check_refusal, parametrize_refusals  # noqa: E402
from torch import nn  # noqa: E402


def count(net):
    """Number of parameters, without making them."""
    with torch.device("meta"):
        module = net.module(**net.get_params_for("module"))
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    "net, n_parameters",
    [
        # The thesis prints the first three.
        (make_conv_net(), 439_722),
        (make_conv_net((1, 28, 28)), 376_714),
        (make_pendigits_net(), 4_650),
        (make_small_net(100), 101 * 8 + 9 * 2),
        (make_purchase_net(), 601 * 1024 + 1025 * 512 + 513 * 100),
        (make_purchase_net((128,)), 601 * 128 + 129 * 100),
    ],
)
def test_number_of_parameters(net, n_parameters):
    assert count(net) == n_parameters


@pytest.mark.parametrize(
    "net, n_parameters, published",
    [
        # The published number, in millions, is known to its last digit only.
        (make_alexnet(), 2_472_266, 2.47),
        (make_resnet(), 269_722, 0.27),
        (make_resnet(32), 464_154, 0.46),
        (make_resnet(56), 853_018, 0.85),
        (make_resnet(110), 1_727_962, 1.7),
        (make_densenet(), 769_162, 0.8),
        (make_densenet(250, 24), 15_324_406, 15.3),
        (make_densenet(190, 40), 25_624_430, 25.6),
        (make_resnext(), 34_426_698, 34.4),
        (make_resnext(cardinality=16), 68_155_210, None),  # printed as 68.1
        (make_resnet(18), 11_173_962, None),
    ],
)
def test_number_of_parameters_of_nets_for_images(net, n_parameters, published):
    assert count(net) == n_parameters
    if published is not None:
        digits = len(str(published).partition(".")[2])
        assert round(n_parameters / 1e6, digits) == published


@pytest.mark.parametrize("depth", [8, 20, 18])
def test_residual_net_has_the_layers_of_its_depth(depth):
    net = make_resnet(depth)
    with torch.device("meta"):
        module = net.module(**net.get_params_for("module"))
        assert module(torch.empty(2, 3, 32, 32)).shape == (2, 10)
    layers = [part for part in module.modules() if isinstance(part, nn.Conv2d | nn.Linear)]
    around = [part for part in layers if getattr(part, "kernel_size", None) == (1, 1)]
    assert len(layers) - len(around) == depth


IMAGES = {
    "conv": lambda **s: make_conv_net((3, 32, 32), 4, **s),
    "alexnet": lambda **s: make_alexnet(4, **s),
    "resnet": lambda **s: make_resnet(8, 4, **s),
    "densenet": lambda **s: make_densenet(10, 4, 4, **s),
    "resnext": lambda **s: make_resnext(11, 2, 4, 4, **s),
}


@pytest.mark.parametrize(
    "name",
    [
        "conv",
        "resnet",
        "densenet",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("alexnet", "resnext")),
    ],
)
def test_nets_for_images_are_trained_and_opened(name):
    rng = np.random.default_rng(0)
    X = rng.random((8, 3, 32, 32), dtype=np.float32)
    y = np.arange(8) % 4
    torch.manual_seed(0)
    net = IMAGES[name](max_epochs=1, batch_size=4, device="cpu").fit(X, y)
    assert net.predict_proba(X).shape == (8, 4)
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again.predict_proba(X), net.predict_proba(X))
    box = open_white_box(net)
    norms = box.gradient_norms(X[:3], y[:3])
    whole = np.concatenate([values for _, values in box.loss_gradients(X[:3], y[:3])])
    np.testing.assert_allclose(norms, np.linalg.norm(whole, axis=1), rtol=1e-3)
    assert type(box._way[1]).__name__ == "RulePlan"


def test_tables_are_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).astype(np.float32)
    y = (X[:, 0] > X[:, 1]).astype(np.int64)
    torch.manual_seed(0)
    for net in (
        make_small_net(5, lr=0.5, max_epochs=20, device="cpu"),
        make_purchase_net((16,), 5, 2, lr=0.01, device="cpu"),
        make_pendigits_net(5, 2, lr=0.01, device="cpu"),
    ):
        assert net.fit(X, y).score(X, y) > 0.9


def test_clone_starts_from_weights_of_its_own():
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    torch.manual_seed(0)
    net = make_small_net(5, max_epochs=1, device="cpu").fit(X, y)
    other = clone(net).initialize()
    assert not torch.equal(net.module_[0].weight, other.module_[0].weight)
    pool = ShadowPool(FrozenEstimator(net).estimator, n_estimators=2, random_state=0)
    evidence = pool.fit(Records(X, y)).transform(Records(X, y))
    assert not np.array_equal(evidence[:, 0], evidence[:, 1])


def test_settings_of_the_net_are_taken():
    net = make_small_net(5, max_epochs=7, optimizer=torch.optim.Adam, module__activation="tanh")
    assert (net.max_epochs, net.optimizer, net.lr) == (7, torch.optim.Adam, 0.01)
    assert isinstance(net.initialize().module_[1], nn.Tanh)
    assert net.device == ("cuda" if torch.cuda.is_available() else "cpu")


def test_small_net_starts_within_its_bounds():
    module = make_small_net(1000).initialize().module_.cpu()
    for layer in (module[0], module[2]):
        for parameter in (layer.weight, layer.bias):
            assert parameter.detach().abs().max() <= 10**-0.5
    weights = module[0].weight.detach().numpy()
    assert abs(weights).max() > 0.31
    assert weights.var() == pytest.approx(0.1 / 3, rel=0.05)  # of a uniform distribution


@parametrize_refusals(
    (lambda: make_resnet(19).initialize(), "depth must be 18 or one of 8, 14, .*; got 19"),
    (lambda: make_densenet(11).initialize(), "depth must be one of 10, 16, .*; got 11"),
    (lambda: make_resnext(10).initialize(), "depth must be one of 11, 20, .*; got 10"),
)
def test_depths_that_do_not_exist_are_refused(call, words, error):
    check_refusal(call, words, error)
