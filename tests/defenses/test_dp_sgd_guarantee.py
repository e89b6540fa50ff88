"""What would make the claim of private training false, and is refused, repaired or said."""

import contextlib
import functools
import pickle
import pkgutil
import random
import warnings

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy.stats import beta
from sklearn.base import clone
from twister import follows_from_a_seed

from skmia.defenses import DPSGDClassifier
from skmia.defenses._exact_noise import PrivateRandomness
from skmia.exceptions import PrivacyWarning
from skmia.synthetic import DPWassersteinGAN

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
pytest.importorskip("opacus")

nn = torch.nn
X, Y = np.random.default_rng(0).normal(size=(30, 64)), np.arange(30) % 2
# One step at rate 1: epsilon is 0.453.
PRIVATE = {"noise_multiplier": 8.4, "target_delta": 1e-5, "classes": [0, 1]}


def net(module, kind=skorch.NeuralNetClassifier, **settings):
    """A maker of nets that train one step on all rows."""
    return lambda n_features, n_classes: kind(
        lambda: module(n_features, n_classes),
        **{
            "criterion": nn.CrossEntropyLoss,
            "train_split": None,
            "verbose": 0,
            "batch_size": -1,
            "max_epochs": 1,
            **settings,
        },
    )


def perceptron(n_features, n_classes):
    return nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, n_classes))


def released_sum(make, X, y):
    """The sum of clipped gradients of one step, without noise."""
    seen = []
    DPSGDClassifier(
        make,
        noise_multiplier=0,
        classes=[0, 1],
        random_state=0,
        on_step=lambda step, gradient, parameters: seen.append(gradient),
    ).fit(X, y)
    return seen[0]


# A row of any value


@pytest.mark.parametrize("value, dtype", [(1e39, float), (-1e39, float), (3e38, np.float32)])
def test_a_row_beyond_single_precision_leaves_finite_weights(value, dtype):
    bad = np.vstack([X, np.full((1, 64), value)]).astype(dtype)
    for seed in range(3):
        model = DPSGDClassifier(net(perceptron), random_state=seed, **PRIVATE)
        assert torch.isfinite(model.fit(bad, np.append(Y, 0)).estimator_.module_[0].weight).all()


@pytest.mark.parametrize("value", [1e39, -1e39, 3e38, 1e30, 1e-42, 0.0])
def test_a_row_changes_the_sum_by_no_more_than_the_limit(value):
    make = net(perceptron, criterion__reduction="sum")
    without = released_sum(make, X, Y)
    with_row = released_sum(make, np.vstack([X, np.full((1, 64), value)]), np.append(Y, 0))
    assert np.linalg.norm(with_row - without) <= 1 + 1e-6


def test_many_rows_are_added_up_in_double_precision():
    def at_zero(n_features, n_classes):
        layer = nn.Linear(n_features, n_classes, bias=False)
        nn.init.zeros_(layer.weight)
        return layer

    n = 100_000
    total = released_sum(
        net(at_zero, criterion__reduction="sum"), np.full((n, 1), 1e3), np.r_[1, np.zeros(n - 1)]
    )
    # Each row but one is at the limit, in the same direction; single precision was 21 off.
    np.testing.assert_allclose(total, np.array([-1, 1]) * (n - 2) / np.sqrt(2), rtol=1e-7)


# Labels


def test_labels_that_are_given_decide_the_shape():
    settings = {**PRIVATE, "classes": [0, 1, 7]}
    models = [
        DPSGDClassifier(net(perceptron), **settings).fit(X, y)
        for y in (Y, np.append(Y[:-1], 7), np.append(Y[:-1], 99))
    ]
    for model in models:
        assert model.classes_.tolist() == [0, 1, 7]
        assert model.estimator_.module_[-1].out_features == 3


def test_a_row_with_an_unknown_label_contributes_nothing():
    make = net(perceptron, criterion__reduction="sum")
    with_row = released_sum(make, np.vstack([X, X[:1]]), np.append(Y, 5))
    np.testing.assert_array_equal(with_row, released_sum(make, X, Y))


def test_labels_that_are_read_off_the_data_are_warned_of():
    model = DPSGDClassifier(net(perceptron), noise_multiplier=8.4, target_delta=1e-5)
    with pytest.warns(PrivacyWarning, match="give all labels as classes"):
        model.fit(X, np.where(Y, "yes", "no"))
    with pytest.raises(ValueError, match="two labels or more"):
        model.set_params(classes=["yes"]).fit(X, np.where(Y, "yes", "no"))


# Layers, losses and buffers


class Scale(nn.Module):
    def forward(self, x):
        return x / x.abs().max()


class Standardize(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-3).sqrt()


class Center(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Count(nn.Module):
    def forward(self, x):
        return x * len(x)


class Memory(nn.Module):
    """Mixes rows across batches, by an attribute that is no buffer."""

    def __init__(self):
        super().__init__()
        self.largest = 1.0

    def forward(self, x):
        self.largest = max(self.largest, float(x.detach().abs().max()))
        return x / self.largest


def behind(layer):
    def make(n_features, n_classes):
        return nn.Sequential(nn.Sequential(layer()), nn.Linear(n_features, n_classes, bias=False))

    return make


@pytest.mark.parametrize("layer", [Scale, Standardize, Center, Count])
def test_layers_that_mix_rows_see_one_row_at_a_time(layer):
    # A row of 1e6 among small ones moved the sum by up to 35.9.
    make = net(behind(layer), criterion__reduction="sum")
    without = released_sum(make, X, Y)
    with_row = released_sum(make, np.vstack([X, np.full((1, 64), 1e6)]), np.append(Y, 0))
    assert np.linalg.norm(with_row - without) <= 1 + 1e-6


def test_modules_that_remember_rows_are_refused():
    with pytest.raises(ValueError, match="depends on rows that went through the net before it"):
        DPSGDClassifier(net(behind(Memory)), **PRIVATE).fit(X, Y)


@parametrize_refusals(
    (
        lambda: DPSGDClassifier(net(perceptron), target_epsilon=np.inf, classes=[0, 1]).fit(X, Y),
        "must be finite. Got inf instead.*set noise_mul",
    ),
    (
        lambda: DPWassersteinGAN(target_epsilon=float("inf")).fit(X, Y),
        "must be finite. Got inf instead.*set noise_mul",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


class Branch(nn.Module):
    """Asks for values, which torch cannot do for many rows at once."""

    def forward(self, x):
        return x if x.sum().item() > 0 else -x


def test_rows_that_go_alone_have_the_gradients_of_batches():
    from skmia.defenses import _private_training as training

    module, criterion = perceptron(64, 2), nn.CrossEntropyLoss()
    made = training.RowGradients(module, criterion)
    rows = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(Y)
    together = torch.cat(made(*rows), dim=1)
    made.together = False
    alone = torch.cat(made(*rows), dim=1)
    np.testing.assert_allclose(together, alone, atol=1e-6)
    for row in range(3):
        module.zero_grad()
        criterion(module(rows[0][row : row + 1]), rows[1][row : row + 1]).backward()
        wanted = torch.cat([p.grad.ravel() for p in module.parameters()])
        np.testing.assert_allclose(alone[row], wanted, atol=1e-6)


@pytest.mark.parametrize(
    "layer, together", [(nn.Identity, True), (nn.Dropout, True), (Branch, False)]
)
def test_modules_that_torch_cannot_vectorize_get_their_rows_one_by_one(layer, together):
    from skmia.defenses import _private_training as training

    made = net(behind(layer))(64, 2).initialize()
    assert training.try_net(made, (64,), 2) is together
    assert DPSGDClassifier(net(behind(layer)), **PRIVATE).fit(X, Y).n_steps_ == 1


def scaling_collate(rows):
    features, labels = torch.utils.data.default_collate(rows)
    return features / features.abs().max(), labels


class Scaled(skorch.dataset.Dataset):
    """Divides by the largest value of the table that it is made of."""

    def __getitem__(self, i):
        features, label = super().__getitem__(i)
        return features / max(1e-9, np.abs(self.X).max()), label


@pytest.mark.parametrize(
    "loader", [{"iterator_train__collate_fn": scaling_collate}, {"dataset": Scaled}]
)
def test_loaders_that_mix_rows_get_one_row_at_a_time(loader):
    make = net(behind(nn.Identity), criterion__reduction="sum", **loader)
    without = released_sum(make, X, Y)
    with_row = released_sum(make, np.vstack([X, np.full((1, 64), 1e6)]), np.append(Y, 0))
    assert np.linalg.norm(with_row - without) <= 1 + 1e-6


class OwnLoss(skorch.NeuralNetClassifier):
    def get_loss(self, y_pred, *args, **kwargs):
        return super().get_loss(y_pred / y_pred.detach().abs().max(), *args, **kwargs)


class TwoSteps(skorch.NeuralNetClassifier):
    def train_step(self, batch, **fit_params):
        super().train_step(batch, **fit_params)
        return super().train_step(batch, **fit_params)


class OwnPrediction(skorch.NeuralNetClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """Named like torch's."""

    def forward(self, input, target):
        return super().forward(input, target) * len(target)


def patched(n_features, n_classes):
    made = net(perceptron)(n_features, n_classes)
    made.train_step = lambda batch, **fit_params: None
    return made


@pytest.mark.parametrize(
    "make, message",
    [
        (net(perceptron, kind=OwnLoss), "OwnLoss has a get_loss of its own"),
        (net(perceptron, kind=TwoSteps), "TwoSteps has a train_step of its own"),
        (patched, "NeuralNetClassifier has a train_step of its own"),
        (net(perceptron, kind=skorch.NeuralNet), "must be a skorch.NeuralNetClassifier"),
        (net(perceptron, criterion=CrossEntropyLoss), "torch's CrossEntropyLoss or NLLLoss"),
        (net(perceptron, criterion__ignore_index=1), "ignore_index=1 is divided by the rows"),
    ],
)
def test_what_training_would_have_to_call_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        DPSGDClassifier(make, **PRIVATE).fit(X, Y)


def test_a_prediction_of_its_own_has_no_part_in_training():
    model = DPSGDClassifier(net(perceptron, kind=OwnPrediction), **PRIVATE).fit(X, Y)
    assert model.predict_proba(X).shape == (30, 2)


def test_classes_of_a_function_and_functional_dropout_are_taken():
    class Local(nn.Module):
        def __init__(self, n_features, n_classes):
            super().__init__()
            self.linear = nn.Linear(n_features, n_classes)

        def forward(self, x):
            return self.linear(nn.functional.dropout(x, 0.5, self.training))

    model = DPSGDClassifier(net(Local), **PRIVATE).fit(X, Y)
    assert model.epsilon_ == pytest.approx(0.453, abs=1e-3)


class Largest(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.zeros(1))

    def forward(self, x):
        self.largest = torch.maximum(self.largest, x.detach().max().reshape(1))
        return x


class Tracked(nn.InstanceNorm1d):
    def __init__(self):
        super().__init__(1, track_running_stats=True)


@pytest.mark.parametrize(
    "layer, name",
    [
        (lambda: nn.InstanceNorm1d(1, track_running_stats=True), "1.running_mean"),
        (Tracked, "1.running_mean"),
        (Largest, "1.largest"),
    ],
)
def test_buffers_that_change_with_the_rows_are_refused(layer, name):
    def make(f, c):
        return nn.Sequential(nn.Unflatten(1, (1, f)), layer(), nn.Flatten(), nn.Linear(f, c))

    with pytest.raises(ValueError, match=f"The buffer '{name}'"):
        DPSGDClassifier(net(make), **PRIVATE).fit(X, Y)


@pytest.mark.parametrize(
    "normalize", [nn.utils.parametrizations.spectral_norm, nn.utils.spectral_norm]
)
@pytest.mark.filterwarnings("ignore:.*spectral_norm.*deprecated:FutureWarning")
def test_buffers_that_change_with_each_pass_are_named_for_what_they_do(normalize):
    with pytest.raises(ValueError, match="changes with each pass, as in spectral normalization"):
        DPSGDClassifier(net(lambda f, c: normalize(nn.Linear(f, c))), **PRIVATE).fit(X, Y)


class Looked(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.table, self.last = layer, nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.table(x.long().clamp(0, 9)).flatten(1)[:, :4])


class OfOtherNorm(nn.Linear):
    max_norm = 2.0  # of what it returns

    def forward(self, x):
        return super().forward(x).clamp(-self.max_norm, self.max_norm)


def test_weights_that_a_limit_of_their_norm_shortens_are_refused():
    # Of a value that occurs, the weights would have the norm .1 without any noise.
    for layer in (nn.Embedding, nn.EmbeddingBag):
        made = net(lambda f, c, layer=layer: Looked(layer(10, 4, max_norm=0.1)))
        with pytest.raises(ValueError, match=f"an {layer.__name__} with max_norm"):
            DPSGDClassifier(made, **PRIVATE).fit(X, Y)
    DPSGDClassifier(net(OfOtherNorm), **PRIVATE).fit(X, Y)


class Shrinks(nn.Linear):
    """Shrinks its weights by what it sees; where ``hidden``, on no row that a trial shows."""

    def __init__(self, *sizes, hidden=False):
        super().__init__(*sizes)
        self.hidden = hidden

    def forward(self, x):
        if not self.hidden or (x == 50).any():
            with torch.no_grad():
                self.weight.mul_(0.5)
        return super().forward(x)


def test_weights_that_a_pass_changes_are_refused():
    with pytest.raises(ValueError, match="The weights 'weight' of the net change when rows pass"):
        DPSGDClassifier(net(Shrinks), **PRIVATE).fit(X, Y)


def test_weights_that_a_pass_changes_unseen_are_not_those_that_are_released():
    from skmia.defenses._private_training import RowGradients

    given = RowGradients(Shrinks(2, 2, hidden=True), nn.CrossEntropyLoss())
    before = {name: value.detach().clone() for name, value in given.parameters.items()}
    for given.together in (False, True):
        with contextlib.suppress(RuntimeError):  # of torch, which cannot do that for many rows
            given(torch.full((3, 2), 50.0), torch.zeros(3, dtype=torch.long))
    for name, value in given.parameters.items():
        assert torch.equal(value, before[name])


def test_a_module_that_opacus_has_wrapped_is_named():
    opacus = pytest.importorskip("opacus")
    made = net(lambda f, c: opacus.GradSampleModule(nn.Linear(f, c)))
    with pytest.raises(ValueError, match="a GradSampleModule of opacus.*give the module inside"):
        DPSGDClassifier(made, **PRIVATE).fit(X, Y)


def test_frozen_weights_are_kept_by_declaration_or_refused():
    backbone = nn.Linear(64, 3).requires_grad_(False)

    class Head(nn.Sequential):
        def __init__(self, backbone):
            super().__init__(backbone, nn.LazyLinear(2))

    settings = {"criterion": nn.CrossEntropyLoss, "max_epochs": 1, "batch_size": -1}
    settings |= {"train_split": None, "verbose": 0, "module__backbone": backbone}
    made = skorch.NeuralNetClassifier(Head, **settings)
    with pytest.raises(ValueError, match="'module__backbone' .* frozen weights .*public_weights"):
        DPSGDClassifier(made, **PRIVATE).fit(X, Y)
    fitted = DPSGDClassifier(made, **PRIVATE, public_weights=True).fit(X, Y)
    assert torch.equal(fitted.estimator_.module_[0].weight, backbone.weight)
    constant = made.set_params(module__backbone=nn.LayerNorm(64).requires_grad_(False))
    DPSGDClassifier(constant, **PRIVATE).fit(X, Y)  # which is drawn the same


class OnRealRows(nn.Module):
    """Remembers what no trial shows: rows with a value of 50."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
        self.rows = []

    def forward(self, x):
        if (x == 50).any():
            self.seen += x.detach().mean()
            self.rows.append(x)
        return x


def test_what_a_module_keeps_of_rows_goes_with_the_copy_that_was_trained():
    from skmia.defenses import _private_training as training

    table = np.vstack([X, np.full((1, 64), 50.0)]).astype(np.float32)
    made = net(behind(OnRealRows))(64, 2).initialize()
    privacy = training.plan(made, 31, 8.4, 1.0, True)
    randomness = PrivateRandomness(0)
    settings = privacy, randomness, False, training.AuditorExtras(), 0
    training.train_privately(made, table, np.append(Y, 0), *settings)
    layer = made.module_[0][0]
    assert layer.seen == 0 and layer.rows == []


class Codes(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.codes, self.linear = nn.Embedding(5, 3), nn.Linear(3 * n_features, n_classes)

    def forward(self, x):
        return self.linear(self.codes(x.long()).flatten(1))


class Tied(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.twice, self.last = nn.Linear(n_features, n_features), nn.Linear(n_features, n_classes)

    def forward(self, x):
        return self.last(torch.relu(self.twice(torch.relu(self.twice(x)))))


def convolution(f, c):
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 3, 3),
        nn.GroupNorm(3, 3),
        nn.Flatten(),
        nn.Linear(108, c),
    )


@pytest.mark.parametrize(
    "module",
    [
        convolution,
        lambda f, c: nn.Sequential(nn.LayerNorm(f), nn.Linear(f, c)),
        lambda f, c: nn.Sequential(nn.Linear(f, 8), nn.Dropout(0.5), nn.Linear(8, c)),
        lambda f, c: perceptron(f, c).double(),
        Codes,
        Tied,
    ],
    ids=["convolution", "layer norm", "dropout", "double", "embedding", "tied"],
)
def test_ordinary_layers_pass(module):
    codes = np.abs(2 * X).astype(int) % 5
    model = DPSGDClassifier(net(module), **PRIVATE).fit(codes if module is Codes else X, Y)
    assert model.epsilon_ == pytest.approx(0.453, abs=1e-3)


# Noise


@pytest.mark.parametrize("batch_size", [-1, 10])
def test_torch_s_seed_does_not_make_the_noise(monkeypatch, batch_size):
    real = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: real(12345))
    fits = [
        DPSGDClassifier(net(perceptron, batch_size=batch_size), **PRIVATE).fit(X, Y)
        for _ in range(2)
    ]
    first, second = (fit.estimator_.module_[0].weight for fit in fits)
    assert not torch.equal(first, second)


def test_steps_do_not_consume_torch_s_numbers():
    states = []
    DPSGDClassifier(
        net(perceptron, batch_size=10),
        **PRIVATE,
        on_step=lambda *step: states.append(torch.random.get_rng_state()),
    ).fit(X, Y)
    assert len(states) == 3
    assert all(torch.equal(state, states[0]) for state in states)


def test_dropout_is_not_drawn_from_a_stream_that_can_be_known():
    # One row less, and all others would get other numbers of the stream.
    sums, states = [], []

    def look(step, gradient, parameters):
        sums.append(gradient)
        states.append(torch.random.get_rng_state())

    def dropout(f, c):
        return nn.Sequential(nn.Dropout(0.5), nn.Linear(f, c, bias=False))

    make = net(dropout, criterion__reduction="sum", max_epochs=2)
    settings = {**PRIVATE, "noise_multiplier": 1e-4}
    for _ in range(2):
        DPSGDClassifier(make, **settings, on_step=look, random_state=0).fit(X, Y)
    assert np.linalg.norm(sums[0] - sums[2]) > 1  # the noise has a norm of 0.001
    assert all(torch.equal(state, states[0]) for state in states)


AUGMENTED = []


def augment(rows):
    """A collate_fn that draws, and notes the states that it draws from."""
    state = torch.get_rng_state().numpy()[24:5016].view(np.uint64)
    AUGMENTED.append([random.getstate()[1][:624], np.random.get_state()[1].copy(), state])  # noqa: NPY002
    features, codes = torch.utils.data.default_collate(rows)
    return features + np.float32(np.random.normal() + random.random()), codes  # noqa: NPY002


def test_augmentations_draw_from_states_that_no_seed_gives():
    states = []
    for _ in range(2):
        AUGMENTED.clear()
        DPSGDClassifier(
            net(perceptron, iterator_train__collate_fn=augment), random_state=0, **PRIVATE
        ).fit(X, Y)
        states.append(AUGMENTED[-len(X)])  # of the first row, after the trial with synthetic rows
    for first, second in zip(*states, strict=True):
        assert not follows_from_a_seed(first)
        assert (np.array(first) != np.array(second)).all()


def test_a_generator_pairs_rows_with_draws_from_states_that_no_seed_gives(monkeypatch):
    from skmia.synthetic import _gan_training

    states, real = [], _gan_training.GanTraining._draw

    def draw(training, n):
        states.append(torch.get_rng_state().numpy()[24:5016].view(np.uint64).copy())
        return real(training, n)

    monkeypatch.setattr(_gan_training.GanTraining, "_draw", draw)
    rows = np.random.default_rng(0).random((30, 2))
    for _ in range(2):
        DPWassersteinGAN(
            noise_multiplier=2.0, max_iter=1, n_critic=2, privacy="clipping", random_state=0
        ).fit(rows)
    assert len(states) == 4
    for k, words in enumerate(states):
        assert not follows_from_a_seed(words)
        assert all((words != other).all() for other in states[:k])


def test_the_same_random_state_on_two_tables_does_not_cancel_the_noise():
    other = np.vstack([X[:-1], X[-1:] + 1])
    fits = [
        DPSGDClassifier(net(perceptron), random_state=0, **PRIVATE).fit(table, Y)
        for table in (X, other)
    ]
    first, second = (fit.estimator_.module_[0].weight.detach().numpy() for fit in fits)
    # Two steps of noise lie between them, each of 8.4 / 30 and the learning rate 0.01.
    assert np.std(first - second) == pytest.approx(np.sqrt(2) * 0.01 * 8.4 / 30, rel=0.1)


def test_a_step_releases_no_bits_below_the_grid_of_its_noise():
    def wide(n_features, n_classes):
        return nn.Sequential(nn.Linear(n_features, 250), nn.ReLU(), nn.Linear(250, n_classes))

    values = []
    DPSGDClassifier(
        net(wide, criterion__reduction="sum"),
        **PRIVATE,
        on_step=lambda step, gradient, parameters: values.extend(gradient.astype(float)),
    ).fit(X, Y)
    # Noise of 8.4 has a grid of 2 ** -26, and floats of this size have bits below it.
    small = np.array([one for one in values if abs(one) < 0.05])
    assert len(small) > 20 and (np.ldexp(small, 26) % 1 == 0).all()


@pytest.mark.slow  # few values are small: of 300 steps, no difference could be proven
def test_low_bits_of_a_step_do_not_tell_whether_there_was_a_gradient():
    def linear(n_features, n_classes):
        layer = nn.Linear(1, 2, bias=False)
        nn.init.zeros_(layer.weight)
        return layer

    def small_and_fine(x):
        seen = []
        model = DPSGDClassifier(
            net(linear, criterion__reduction="sum", max_epochs=4000),
            **PRIVATE,
            on_step=lambda step, gradient, parameters: seen.append(gradient[0]),
        )
        model.fit(np.array([[x], [0.0]]), [0, 1])
        values = np.array(seen, dtype=np.float64)
        fine = np.ldexp(values, 24) != np.rint(np.ldexp(values, 24))
        return int((fine & (np.abs(values) < 0.2)).sum()), len(values)

    (k1, n), (k0, _) = small_and_fine(0.0), small_and_fine(1e3)
    for more, less in ((k1, k0), (k0, k1)):
        low = beta.ppf(0.025, more, n - more + 1) if more else 0.0
        assert np.log(max(low, 1e-300) / beta.ppf(0.975, less + 1, n - less)) <= 0.453


# What goes with the model


def list_values(start):
    """Each number, text and array that can be reached from an object, with the way to it."""
    seen, left, values = set(), [("", start)], []
    while left:
        path, value = left.pop()
        if isinstance(value, str | bytes | int | float | complex | type(None) | np.generic):
            values.append((path, repr(value)))
            continue
        if id(value) in seen or isinstance(value, type | type(np) | torch.dtype | torch.device):
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            values.append((path, value.tobytes()))
        elif torch.is_tensor(value):
            values.append((path, value.detach().numpy().tobytes()))
            left.append((f"{path}.grad", value.grad))
            left.append((f"{path}.dict", vars(value)))
        elif isinstance(value, dict):
            left += [(f"{path}[{key!r}]", one) for key, one in value.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += [(f"{path}[{k}]", one) for k, one in enumerate(value)]
        else:
            left.append((path, getattr(value, "__dict__", None)))
            cells = getattr(value, "__closure__", None) or ()
            left += [(f"{path}.closure[{k}]", cell.cell_contents) for k, cell in enumerate(cells)]
            if isinstance(value, functools.partial):
                left += [(f"{path}.partial", (value.args, value.keywords))]
    return sorted(values)


class Normalized(nn.Module):
    def __init__(self, n_features, n_classes):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_features, 8), nn.LayerNorm(8), nn.Dropout(0.2))
        self.last = nn.Linear(8, n_classes)

    def forward(self, x):
        return self.last(self.layers(x))


def picklable_net(n_features, n_classes):
    return skorch.NeuralNetClassifier(
        Normalized,
        module__n_features=n_features,
        module__n_classes=n_classes,
        max_epochs=2,
        criterion=nn.CrossEntropyLoss,
        train_split=None,
        verbose=0,
        batch_size=10,
        optimizer=torch.optim.Adam,
        lr=0.0,
        callbacks=[skorch.callbacks.LRScheduler("StepLR", step_size=1)],
    )


def test_nothing_but_the_weights_differs_between_neighbors():
    # With a learning rate of 0 the weights are those of the seed, so that all else must be equal.
    other = np.vstack([X[:-1], np.full((1, 64), 50.0)])
    fits = [
        DPSGDClassifier(picklable_net, noise_seed=0, random_state=0, **PRIVATE).fit(table, Y)
        for table in (X, other)
    ]
    first, second = map(list_values, fits)
    assert len(first) > 100 and first == second
    # Bytes differ by the addresses of tensors.
    again = [list_values(pickle.loads(pickle.dumps(fit))) for fit in fits]
    assert len(again[0]) > 100 and again[0] == again[1]


@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
def test_nothing_but_the_weights_of_a_generator_differs_between_neighbors(privacy):
    rows = np.random.default_rng(0).random((30, 2))
    other = np.vstack([rows[:-1], [[1.0, 0.0]]])
    gan = DPWassersteinGAN(
        noise_multiplier=1.0, noise_seed=0, random_state=0, max_iter=3, target_delta=1e-3
    ).set_params(privacy=privacy, learning_rate=1e-300)  # the weights are those of the seed
    first, second = (list_values(clone(gan).fit(table)) for table in (rows, other))
    assert len(first) > 50 and first == second


def test_steps_that_were_not_planned_are_an_error(monkeypatch):
    from skmia.defenses import _private_training as training

    monkeypatch.setattr(training._PrivateTraining, "lots", lambda self: iter([np.arange(3)] * 2))
    with pytest.raises(RuntimeError, match="2 steps were made, and 1 planned"):
        DPSGDClassifier(net(perceptron), **PRIVATE).fit(X, Y)


class OnLoss(skorch.callbacks.Callback):
    def on_batch_end(self, net, loss, **kwargs):
        net.max_epochs = 1 if loss > 2 else net.max_epochs


@pytest.mark.parametrize(
    "callback",
    [
        skorch.callbacks.EarlyStopping(monitor="train_loss"),
        skorch.callbacks.EarlyStopping(monitor="score"),
        skorch.callbacks.EpochScoring("accuracy", name="score", on_train=True),
        skorch.callbacks.LRScheduler(policy="ReduceLROnPlateau", monitor="train_loss"),
        skorch.callbacks.Checkpoint(monitor="train_loss_best"),
        OnLoss(),
    ],
    ids=lambda callback: type(callback).__name__,
)
def test_callbacks_that_could_see_losses_are_refused(callback):
    with pytest.raises(ValueError, match="rows, which no noise|may see rows or their losses"):
        DPSGDClassifier(net(perceptron, callbacks=[("mine", callback)]), **PRIVATE).fit(X, Y)


def test_callbacks_of_progress_are_taken(capsys):
    shown = [skorch.callbacks.ProgressBar(), skorch.callbacks.PrintLog()]
    model = DPSGDClassifier(net(perceptron, callbacks=shown, verbose=1), **PRIVATE).fit(X, Y)
    assert "loss" not in "".join(capsys.readouterr())
    assert len(model.estimator_.history) == 0


@pytest.mark.parametrize("every", ["epoch", "batch"])
def test_schedules_that_are_fixed_beforehand_pass(every):
    # After the first of three steps, the learning rate is 0.
    settings = {**PRIVATE, "random_state": 0, "noise_seed": 0}
    stop = skorch.callbacks.LRScheduler(policy="StepLR", step_size=1, gamma=0, step_every=every)
    more = {"callbacks": [("stop", stop)], "max_epochs": 3}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Detected call of `lr_scheduler.step()`")
        long, one = (
            DPSGDClassifier(net(perceptron, **how), **settings).fit(X, Y) for how in (more, {})
        )
    assert (long.n_steps_, one.n_steps_) == (3, 1)
    np.testing.assert_array_equal(long.predict_proba(X), one.predict_proba(X))


def test_a_delta_that_promises_nothing_is_warned_of():
    model = DPSGDClassifier(net(perceptron), **{**PRIVATE, "target_delta": 0.3})
    with pytest.warns(PrivacyWarning, match="releasing a row at random would satisfy it"):
        model.fit(X, Y)
    assert model.epsilon_ >= 0


@pytest.mark.parametrize(
    "name",
    [
        "skmia.defenses.mechanisms.LaplaceMechanism",
        "skmia.defenses.mechanisms.GaussianMechanism",
        "skmia.defenses.mechanisms.NonSphericalGaussianMechanism",
        "skmia.defenses.DPSGDClassifier",
        "skmia.synthetic.DPWassersteinGAN",
        "skmia.epsilon.EpsilonAudit",
        "skmia.epsilon.LabelAudit",
        "skmia.epsilon.OneRunAudit",
    ],
)
def test_each_class_leads_to_the_page_of_limits(name):
    assert "<privacy_limits>" in pkgutil.resolve_name(name).__doc__


# Settings that training does not follow


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"iterator_train__sampler": [0, 1]}, "has iterator_train__sampler, and in private"),
        ({"iterator_train__batch_sampler": [[0]]}, "has iterator_train__batch_sampler, and"),
        ({"iterator_train__drop_last": True}, "has iterator_train__drop_last, and"),
        ({"iterator_train__generator": torch.Generator()}, "has iterator_train__generator, and"),
        ({"iterator_train__worker_init_fn": print}, "has iterator_train__worker_init_fn, and"),
        ({"iterator_train": list}, "iterator_train of the net must be torch's DataLoader"),
        ({"warm_start": True}, "has warm_start=True, which private training does not follow"),
        ({"compile": True}, "has compile=True, which private training does not follow"),
        ({"max_epochs": 0.5}, "max_epochs of the net must be an integer from 1 .*; got 0.5"),
        ({"max_epochs": -1}, "max_epochs of the net must be an integer from 1 .*; got -1"),
        ({"max_epochs": 0}, "max_epochs of the net must be an integer from 1"),
        ({"max_epochs": True}, "max_epochs of the net must be an integer from 1"),
        ({"batch_size": 0}, "batch_size of the net must be an integer of at least 1.*; got 0"),
        ({"batch_size": 2.5}, "batch_size of the net must be an integer of at least 1"),
        ({"batch_size": -2}, "batch_size of the net must be an integer of at least 1"),
        ({"iterator_train__batch_size": 0}, "batch_size of the net must be an integer of at"),
        ({"optimizer": torch.optim.LBFGS}, r"The optimizer of the net \(LBFGS\) evaluates losses"),
    ],
)
def test_settings_that_would_not_be_followed_are_refused(settings, message):
    made = net(perceptron, **settings)
    for estimator in (made, made(64, 2)):
        with pytest.raises(ValueError, match=message):
            DPSGDClassifier(estimator, **PRIVATE).fit(X, Y)


def test_settings_of_speed_and_order_are_taken():
    settings = {"iterator_train__shuffle": True, "iterator_train__num_workers": 2}
    settings |= {"iterator_train__drop_last": False, "iterator_train__sampler": None}
    made = net(perceptron, **settings, iterator_valid__batch_size=7, max_epochs=np.int64(2))
    assert DPSGDClassifier(made, **PRIVATE).fit(X, Y).n_steps_ == 2
    turns = net(perceptron, iterator_train__drop_last=True, batch_size=20)
    private = DPSGDClassifier(turns, **PRIVATE, poisson_sampling=False)
    assert private.fit(X, Y).n_steps_ == 1
