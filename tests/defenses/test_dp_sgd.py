"""Training with differential privacy: what is trained, and what it is said to cost."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from small_net import make_small_net

from skmia.defenses import DPSGDClassifier

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
opacus = pytest.importorskip("opacus")

# Most tests are about other things than the labels.
pytestmark = pytest.mark.filterwarnings("ignore:classes were read off y")

N = 96
X, Y = make_classification(N, 6, n_informative=4, random_state=0)
X = X.astype(np.float32)
PLAIN = {"noise_multiplier": 0, "max_grad_norm": np.inf, "poisson_sampling": False}


def make_net(**settings):
    return make_small_net(6, **{"batch_size": 24, "max_epochs": 2, **settings})


def weights(model):
    net = getattr(model, "estimator_", model)
    return torch.cat([p.detach().ravel() for p in net.module_.parameters()]).numpy()


CHECKED = DPSGDClassifier(
    partial(make_small_net, max_epochs=1, lr=4.0, batch_size=40),
    noise_multiplier=0.5,
    noise_seed=0,
    random_state=0,
)


def test_it_is_an_ordinary_classifier():
    check_estimator(CHECKED, on_skip=None)


def test_its_fits_differ_unless_the_noise_is_seeded():
    assert not get_tags(CHECKED).non_deterministic
    assert get_tags(clone(CHECKED).set_params(noise_seed=None)).non_deterministic


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"criterion__reduction": "sum", "lr": 1e-3},
        {"optimizer": torch.optim.Adam, "optimizer__weight_decay": 1e-3},
        {"iterator_train__shuffle": False, "batch_size": -1},
    ],
    ids=["mean", "sum", "Adam", "full batch"],
)
def test_without_noise_and_clipping_it_is_plain_training(settings):
    model = DPSGDClassifier(make_net(**settings), random_state=0, **PLAIN)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    child = np.random.SeedSequence(seed, spawn_key=(0,))
    torch.manual_seed(int(child.generate_state(1)[0]))
    plain = make_net(**settings).fit(X, Y.astype(np.int64))
    np.testing.assert_allclose(weights(model.fit(X, Y)), weights(plain), atol=1e-6)
    assert model.epsilon_ == np.inf


def double_net(n_features, n_classes):
    def make_module():
        return torch.nn.Sequential(
            torch.nn.Linear(n_features, 8), torch.nn.Tanh(), torch.nn.Linear(8, n_classes)
        ).double()

    settings = {"train_split": None, "verbose": 0, "batch_size": 24, "lr": 0.5}
    return skorch.NeuralNetClassifier(
        make_module, criterion=torch.nn.CrossEntropyLoss, iterator_train__shuffle=True, **settings
    )


def test_in_double_precision_plain_training_is_met_to_the_last_digits():
    model = DPSGDClassifier(double_net, random_state=0, **PLAIN).fit(X, Y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    child = np.random.SeedSequence(seed, spawn_key=(0,))
    torch.manual_seed(int(child.generate_state(1)[0]))
    plain = double_net(6, 2).fit(X.astype(np.float64), Y.astype(np.int64))
    assert weights(model).dtype == np.float64
    np.testing.assert_allclose(weights(model), weights(plain), atol=1e-13)


NOTED = []


class Noting(skorch.dataset.Dataset):
    """Notes the rows that it is asked for; each comes alone."""

    def __getitem__(self, i):
        if len(self.X) > 1:
            NOTED.append(np.nan)  # a query, or a row in company
        NOTED.append(self.X[i][0])
        return super().__getitem__(i)


def watch(net, X, y, **settings):
    """A fitted model, and for each step the rows in it, what it released and the weights before."""
    steps = []

    def look(step, gradient, parameters):
        assert step == 0 or not np.isnan(NOTED).any()
        rows = np.flatnonzero(np.isin(X[:, 0], NOTED))  # and not those of a trial before
        steps.append((rows, gradient, parameters))
        NOTED.clear()

    NOTED.clear()
    model = DPSGDClassifier(net, on_step=look, random_state=0, **settings).fit(X, y)
    return model, steps


def clipped_sum(module, batch, norm):
    """Sum of clipped gradients, one row after the other."""
    total = 0
    for row, label in zip(*batch, strict=True):
        module.zero_grad()
        torch.nn.functional.cross_entropy(module(row[None]), label[None]).backward()
        gradient = torch.cat([p.grad.ravel() for p in module.parameters()]).numpy()
        total = total + gradient * min(1, norm / np.linalg.norm(gradient))
    return total


@pytest.mark.parametrize("norm", [0.5, 1e9])
def test_a_step_is_the_clipped_sum_over_the_nominal_size(norm):
    net = make_net(lr=0.3, dataset=Noting)
    model, steps = watch(net, X, Y, noise_multiplier=0, max_grad_norm=norm)
    assert len({len(rows) for rows, _, _ in steps}) > 1  # the sizes that were not nominal
    after = [*(start for _, _, start in steps[1:]), weights(model)]
    module = copy.deepcopy(model.estimator_.module_)
    for (rows, _, start), end in zip(steps, after, strict=True):
        torch.nn.utils.vector_to_parameters(torch.from_numpy(start), module.parameters())
        batch = torch.from_numpy(X[rows]), torch.from_numpy(Y[rows])
        np.testing.assert_allclose(
            end, start - 0.3 * clipped_sum(module, batch, norm) / 24, atol=2e-6
        )


def test_noise_has_the_variance_of_the_definition():
    # One step on all rows, from the same weights: what differs is the noise.
    net = make_net(module__n_hidden=2000, batch_size=-1, max_epochs=1, lr=1.0)
    model = DPSGDClassifier(net, noise_multiplier=0, max_grad_norm=0.3, random_state=0)
    without = weights(model.fit(X, Y))
    noise = weights(model.set_params(noise_multiplier=5.0, noise_seed=0).fit(X, Y)) - without
    wanted = 5.0 * 0.3 / N
    assert abs(noise.std() / wanted - 1) < 4 / np.sqrt(2 * len(noise))
    assert abs(noise.mean()) < 4 * wanted / np.sqrt(len(noise))


@pytest.mark.parametrize("reduction, divisor", [("mean", 8), ("sum", 1)])
def test_each_step_is_shown(reduction, divisor):
    seen = []

    def watch(step, noisy_gradient, parameters):
        seen.append((step, noisy_gradient, parameters))

    net = make_net(lr=0.3, batch_size=8, max_epochs=1, criterion__reduction=reduction)
    model = DPSGDClassifier(net, noise_multiplier=0.7, noise_seed=0, random_state=0)
    unwatched = weights(model.fit(X, Y))
    model = clone(model).set_params(on_step=watch).fit(X, Y)
    np.testing.assert_array_equal(weights(model), unwatched)
    steps, gradients, before = zip(*seen, strict=True)
    assert steps == tuple(range(model.n_steps_))
    after = [*before[1:], unwatched]
    np.testing.assert_allclose(after, before - 0.3 * np.array(gradients), atol=1e-5)
    # The norm of all rows of a step that has twice the nominal size, and that of the noise.
    limit = 16 + 0.7 * 2 * np.sqrt(len(unwatched))
    assert np.linalg.norm(gradients, axis=1).max() < limit / divisor


def test_an_empty_step_is_shown_and_is_noise():
    net = make_net(module__n_hidden=2000, batch_size=1, max_epochs=1, lr=0.0, dataset=Noting)
    model, steps = watch(net, X[:12], Y[:12], noise_multiplier=2.0, noise_seed=1)
    sizes = [len(rows) for rows, _, _ in steps]
    assert min(sizes) == 0 and len(sizes) == model.n_steps_ == 12
    for _, noise, _ in steps:  # gradients of a few rows are nothing beside the noise on 16,002
        assert abs(noise.std() / 2.0 - 1) < 4 / np.sqrt(2 * len(noise))


def test_each_row_is_drawn_by_a_coin_flip_of_its_own():
    numbered = np.repeat(np.arange(40.0, dtype=np.float32)[:, None], 6, axis=1)
    net = make_net(max_epochs=10, batch_size=8, lr=0.0, dataset=Noting)
    model, steps = watch(net, numbered, np.arange(40) % 2, noise_multiplier=1.0)
    inside = np.zeros((model.n_steps_, 40))
    for step, (rows, _, _) in enumerate(steps):
        inside[step, rows] = 1
    n_steps, q = 10 * 5, 8 / 40
    assert (model.n_steps_, model.sample_rate_) == (n_steps, q)
    error = np.sqrt(q * (1 - q) / inside.size)
    assert abs(inside[1:].mean() - q) < 4 * error
    # Batches of a fixed size would have no variance, and rows in turns a negative correlation.
    sizes = inside.sum(axis=1)
    variance = 40 * q * (1 - q)
    assert abs(sizes.var() / variance - 1) < 4 * np.sqrt(2 / n_steps)
    pairs = np.corrcoef(inside.T)[np.triu_indices(40, 1)]
    assert abs(pairs.mean()) < 4 / np.sqrt(n_steps * len(pairs))


def test_epsilon_is_what_opacus_says_when_it_is_asked():
    model = DPSGDClassifier(make_net(), noise_multiplier=1.5, random_state=0).fit(X, Y)
    accountant = opacus.accountants.create_accountant(mechanism="rdp")
    for _ in range(8):
        accountant.step(noise_multiplier=1.5, sample_rate=24 / N)
    assert model.epsilon_ == pytest.approx(accountant.get_epsilon(0.1 / N), rel=1e-12)


@pytest.mark.parametrize("accountant", ["rdp", pytest.param("prv", marks=pytest.mark.slow)])
def test_a_target_is_met_and_not_undercut(accountant, target=1.0):
    model = DPSGDClassifier(
        make_net(), target_epsilon=target, target_delta=1e-4, accountant=accountant, random_state=0
    ).fit(X, Y)
    assert 0.98 * target <= model.epsilon_ <= target
    asked = opacus.accountants.create_accountant(mechanism=accountant)
    for _ in range(8):
        asked.step(noise_multiplier=model.noise_multiplier_, sample_rate=24 / N)
    assert model.epsilon_ == pytest.approx(asked.get_epsilon(1e-4), rel=0.02)
    assert (model.n_steps_, model.delta_) == (8, 1e-4)


def test_nothing_of_the_training_stays_but_the_weights():
    net = make_net(optimizer=torch.optim.Adam)
    model = DPSGDClassifier(net, noise_multiplier=1.0, random_state=0).fit(X, Y)
    fitted = model.estimator_
    assert not hasattr(net, "module_") and fitted.iterator_train is net.iterator_train
    assert len(fitted.history) == 0 and not fitted.optimizer_.state
    assert type(fitted.module_) is torch.nn.Sequential
    for parameter in fitted.module_.parameters():
        assert parameter.grad is None and not vars(parameter)
    for layer, fresh in zip(fitted.module_, torch.nn.Sequential(*plain_layers()), strict=True):
        assert set(vars(layer)) == set(vars(fresh))
    assert model.n_steps_ == 8


def plain_layers():
    return torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)


def test_a_fitted_one_can_be_pickled():
    model = DPSGDClassifier(make_net(), noise_multiplier=1.0, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_settings_of_the_net_are_its_own():
    model = DPSGDClassifier(make_net(), noise_multiplier=1.0, random_state=0)
    again = clone(model).set_params(estimator__max_epochs=1, estimator__batch_size=48)
    assert again.fit(X, Y).n_steps_ == 2
    assert again.get_params()["estimator__max_epochs"] == 1
    assert model.get_params()["estimator__max_epochs"] == 2
    assert not hasattr(again.estimator, "module_")


def test_seeds():
    state = torch.random.get_rng_state()
    model = DPSGDClassifier(make_net(), noise_multiplier=1.0, noise_seed=0, random_state=0)
    first = weights(model.fit(X, Y))
    np.testing.assert_array_equal(weights(copy.deepcopy(model).fit(X, Y)), first)
    assert model.epsilon_ == np.inf  # a seed takes the noise off again
    model.set_params(noise_seed=None)
    assert not np.array_equal(weights(model.fit(X, Y)), weights(copy.deepcopy(model).fit(X, Y)))
    assert torch.equal(torch.random.get_rng_state(), state)


def test_labels_of_any_kind_and_inputs_of_any_shape():
    def flat_net(n_features, n_classes):
        del n_features
        module = partial(torch.nn.Sequential, torch.nn.Flatten(), torch.nn.Linear(6, n_classes))
        return skorch.NeuralNetClassifier(
            module, criterion=torch.nn.CrossEntropyLoss, train_split=None, verbose=0, batch_size=24
        )

    names = np.array(["no", "yes"])[Y]
    model = DPSGDClassifier(flat_net, noise_multiplier=0.5, random_state=0)
    model.fit(X.reshape(N, 2, 3).astype(np.float64), names)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X.reshape(N, 2, 3))) <= {"no", "yes"}


def test_units_without_a_label():
    net = make_net(module__n_classes=5)
    model = DPSGDClassifier(net, noise_multiplier=0.5).fit(X, 3 * Y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.predict_proba(X).shape == (N, 5)
    with pytest.raises(ValueError, match=r"5 output units .* labels 0 to 4; there are 2 classes"):
        model.fit(X, 9 * Y)


def make_normalized(n_features, n_classes):
    return torch.nn.Sequential(
        torch.nn.BatchNorm1d(n_features), torch.nn.Linear(n_features, n_classes)
    )


class Rebuild(skorch.callbacks.Callback):
    def on_train_begin(self, net, **kwargs):
        net.set_params(module__n_hidden=3)


@pytest.mark.parametrize(
    "net, settings, message",
    [
        (
            make_net(module=make_normalized),
            {},
            "BatchNorm1d, which normalizes a row by the others",
        ),
        (make_net(train_split=skorch.dataset.ValidSplit(3)), {}, "set train_split=None"),
        (make_net(criterion=torch.nn.MultiMarginLoss), {}, "NLLLoss; got MultiMarginLoss"),
        (make_net(criterion__weight=torch.ones(2)), {}, "use criterion__reduction='sum'"),
        (make_net(criterion__reduction="none"), {}, "'mean' or 'sum'; got 'none'"),
        (make_net(callbacks=[Rebuild()]), {}, r"\(Rebuild\) may see rows or their losses"),
        (make_net(), {"target_epsilon": 1.0}, "noise_multiplier; got both"),
        (make_net(), {"noise_multiplier": None}, "noise_multiplier; got neither"),
        (make_net(), {"max_grad_norm": np.inf}, "finite max_grad_norm; got inf"),
        (make_net(), {"noise_multiplier": -1.0}, "'noise_multiplier' parameter"),
        (make_net(), {"target_delta": 1.0}, "'target_delta' parameter"),
        (make_net(), {"noise_multiplier": 1e-300}, "deviation of the noise must be .* got 1e-300"),
        (make_net(), {"noise_multiplier": 1e300}, "deviation of the noise must be .* got 1e+"),
        (make_net(), {"max_grad_norm": 5e-324}, "deviation of the noise must be"),
        (make_net(), {"noise_multiplier": 0.1, "max_grad_norm": 5e-324}, "deviation of the noise"),
        (
            make_net(),
            {"noise_multiplier": None, "target_epsilon": 1e-9, "target_delta": 1e-9},
            "Rényi accounting does not show target_epsilon=1e-09 .*accountant=.prv",
        ),
        (
            make_net(),
            {"noise_multiplier": None, "target_epsilon": 1.0, "poisson_sampling": False},
            "needs poisson_sampling=True",
        ),
    ],
)
def test_what_would_not_be_private_is_refused(net, settings, message):
    with pytest.raises(ValueError, match=message):
        DPSGDClassifier(net, **{"noise_multiplier": 1.0, **settings}).fit(X, Y)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_it_trains_on_the_device_of_the_net():
    model = DPSGDClassifier(make_net(device="cuda"), noise_multiplier=1.0, random_state=0).fit(X, Y)
    assert next(model.estimator_.module_.parameters()).is_cuda
    assert model.predict_proba(X).shape == (N, 2)
