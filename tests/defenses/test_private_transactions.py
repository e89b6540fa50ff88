"""A private fit that fails or is interrupted leaves weights and epsilon of the fit before."""

from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")
pytest.importorskip("opacus")

from interruptions import assert_interruptions_leave  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from skorch import NeuralNetClassifier  # noqa: E402
from skorch.callbacks import LRScheduler  # noqa: E402
from torch import nn  # noqa: E402

from skmia.defenses import DPSGDClassifier, PrivateSearchCV  # noqa: E402
from skmia.model_selection import RememberTraining  # noqa: E402
from skmia.synthetic import DPWassersteinGAN  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 3)).astype(np.float32)
Y = (X[:, 0] > 0.5).astype(np.int64)


def make_net(n_features, n_classes, **settings):
    given = {"batch_size": 20, "max_epochs": 3, "train_split": None, "verbose": 0}
    module = nn.Linear(n_features, n_classes)
    return NeuralNetClassifier(module, criterion=nn.CrossEntropyLoss, **{**given, **settings})


def make_private(**settings):
    given = {"noise_multiplier": 1.0, "classes": [0, 1], "noise_seed": 0, "random_state": 0}
    return DPSGDClassifier(**{"estimator": make_net, **given, **settings})


def read_fit(private):
    fitted = {name: value for name, value in vars(private).items() if name.endswith("_")}
    weights = [part.detach().clone() for part in fitted.pop("estimator_").module_.parameters()]
    return {**fitted, "weights": [part.numpy().tobytes() for part in weights]}


def fail(n_features, n_classes):
    raise RuntimeError("no net")


def stop(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "settings, error",
    [
        ({"estimator": fail, "target_delta": 1e-3}, ValueError),
        ({"target_delta": 1e-3, "on_step": stop}, KeyboardInterrupt),
        ({"extra_gradients": stop}, KeyboardInterrupt),
        ({"classes": [0, 1, 2, 3], "max_grad_norm": np.inf}, ValueError),
    ],
    ids=["no net", "a step", "gradients", "settings"],
)
def test_a_refit_that_fails_leaves_epsilon_and_weights_of_the_fit_before(settings, error):
    private = make_private().fit(X, Y)
    before, answers = read_fit(private), private.predict_proba(X)
    with pytest.raises(error):
        private.set_params(**settings).fit(X[:30], Y[:30])
    after = read_fit(private)
    assert after.keys() == before.keys()
    assert all(np.array_equal(after[name], before[name]) for name in before)
    np.testing.assert_array_equal(private.predict_proba(X), answers)


@pytest.mark.parametrize("steps", [0, 5])
def test_a_first_fit_that_is_interrupted_has_no_weights_that_answer(steps):
    seen = []

    def count(*_, **__):
        seen.append(1)
        if len(seen) > steps:
            raise KeyboardInterrupt

    private = make_private(on_step=count)
    before = vars(private).copy()
    with pytest.raises(KeyboardInterrupt):
        private.fit(X, Y)
    assert vars(private) == before
    with pytest.raises(NotFittedError):
        private.predict(X)


def test_a_step_sees_the_fit_before():
    seen = []
    private = make_private(noise_multiplier=2.0).fit(X, Y)
    epsilon = private.epsilon_
    private.set_params(noise_multiplier=1.0, on_step=lambda *_, **__: seen.append(private.epsilon_))
    assert private.fit(X, Y).epsilon_ > epsilon or epsilon == np.inf
    assert set(seen) == {epsilon}


SHORT = make_private(estimator=partial(make_net, max_epochs=1))


@pytest.mark.parametrize(
    "fitted, data",
    [
        (SHORT, (X, Y)),
        (
            PrivateSearchCV(SHORT, {"max_grad_norm": [0.5, 1.0]}, mean_trials=2, noise_seed=0),
            (X, Y),
        ),
        (DPWassersteinGAN(0, 1, noise_multiplier=1.0, max_iter=1, noise_seed=0), (X,)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_an_interruption_leaves_the_fit_before(fitted, data):
    fitted.fit(*data)
    assert_interruptions_leave(fitted, lambda one: one.fit(*data), X)


def test_objects_of_a_net_are_trained_as_copies():
    schedule, draws = LRScheduler("StepLR", step_size=1), torch.Generator().manual_seed(0)
    net = make_net(3, 2, callbacks=[("schedule", schedule)], iterator_train__shuffle=True)
    net.set_params(module=nn.Linear, module__in_features=3, module__out_features=2)
    net.set_params(iterator_train__generator=draws)
    known, state = vars(schedule).copy(), draws.get_state().clone()
    RememberTraining(net).fit(X, Y).partial_fit(X, Y)
    assert vars(schedule) == known
    assert torch.equal(draws.get_state(), state)
    assert not hasattr(net, "module_")
