"""White boxes of torch modules against gradients of one record at a time and finite differences."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from asking import answers_of
from cells import slow_but
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia.signals import Loss, SquaredError
from skmia.victims import WhiteBox, open_white_box

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402

from skmia.victims._white_box._torch_passes import LoopPass, RulePass, VmapPass  # noqa: E402

# torch says so of its own padding.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")

N, C = 7, 3
Y = np.arange(N) % C


class Add(nn.Module):
    """The sum of what two modules give."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x):
        return self.first(x) + self.second(x)


class Last(nn.Module):
    """The last step of a sequence; of what a recurrent module gives, its output."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        output = self.module(x)
        return (output[0] if isinstance(output, tuple) else output)[:, -1]


class Tied(nn.Module):
    """One matrix for words and for logits, the latter as a plain function."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(C, 5)

    def forward(self, x):
        return nn.functional.linear(self.words(x).mean(1), self.words.weight)


class Shared(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, C)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.out(torch.tanh(self.second(torch.tanh(self.first(x)))))


class Branching(nn.Module):
    """A way through the module that depends on the record."""

    def __init__(self):
        super().__init__()
        self.scale, self.out = nn.Parameter(torch.tensor(2.0)), nn.Linear(4, C)

    def forward(self, x):
        return self.out(x * self.scale if float(x.sum()) > 0 else x / self.scale)


class Sequence(nn.Module):
    """Words, layer normalization and a linear layer at each position."""

    def __init__(self, **settings):
        super().__init__()
        self.words = nn.Embedding(6, 4, **settings)
        self.norm, self.inner, self.out = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, C)

    def forward(self, x):
        return self.out(torch.tanh(self.inner(self.norm(self.words(x)))).mean(1))


def image(*layers, n=None):
    """Layers, then the mean of each channel and logits."""
    pool = [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Tanh(), *pool, nn.LazyLinear(C))


def line(*layers):
    return nn.Sequential(
        *layers, nn.Tanh(), nn.AdaptiveAvgPool1d(3), nn.Flatten(), nn.LazyLinear(C)
    )


def volume(*layers):
    return nn.Sequential(
        *layers, nn.Tanh(), nn.AdaptiveAvgPool3d(2), nn.Flatten(), nn.LazyLinear(C)
    )


def relu_in_place(x=None):
    return nn.ReLU(inplace=True)


ROW, PICTURE, WORDS = (5,), (4, 9, 8), "words"
MODULES = {
    # name: module, shape of the inputs, the way that is expected to be taken
    "linear": (lambda: nn.Linear(5, C), ROW, RulePass),
    "mlp": (
        lambda: nn.Sequential(
            nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 4, bias=False), nn.Linear(4, C)
        ),
        ROW,
        RulePass,
    ),
    "in place": (
        lambda: nn.Sequential(nn.Linear(5, 6), nn.ReLU(inplace=True), nn.Linear(6, C)),
        ROW,
        RulePass,
    ),
    "dropout and batch norm": (
        lambda: nn.Sequential(
            nn.Linear(5, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, C)
        ),
        ROW,
        RulePass,
    ),
    "conv": (lambda: image(nn.Conv2d(4, 6, 3)), PICTURE, RulePass),
    "conv with all settings": (
        lambda: image(
            nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(2, 1), dilation=(1, 2), groups=2),
            nn.BatchNorm2d(6),
            nn.ReLU(inplace=True),
            nn.Conv2d(6, 6, 3, padding="same", groups=6),
            nn.Conv2d(6, 8, 3, padding=1, padding_mode="reflect", bias=False),
            nn.GroupNorm(4, 8),
        ),
        PICTURE,
        RulePass,
    ),
    "wide conv on few positions": (
        lambda: image(nn.Conv2d(4, 32, 5, stride=3), nn.Conv2d(32, 32, 2)),
        PICTURE,
        RulePass,
    ),
    "conv with even kernel and same padding": (
        lambda: image(nn.Conv2d(4, 4, (4, 2), padding="same", dilation=(1, 3))),
        PICTURE,
        RulePass,
    ),
    "conv over a line": (
        lambda: line(nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2), nn.BatchNorm1d(6)),
        (4, 11),
        RulePass,
    ),
    "conv over a volume": (
        lambda: volume(nn.Conv3d(2, 4, (2, 3, 3), stride=(1, 2, 1), groups=2), nn.BatchNorm3d(4)),
        (2, 4, 6, 5),
        RulePass,
    ),
    "residual": (
        lambda: image(nn.Conv2d(4, 4, 3, padding=1), Add(nn.Conv2d(4, 4, 1), nn.Identity())),
        PICTURE,
        RulePass,
    ),
    "images of one channel": (
        lambda: image(nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 1, 2)),
        (1, 6, 7),
        RulePass,
    ),
    "sequence": (Sequence, WORDS, RulePass),
    "sequence with sparse gradients": (lambda: Sequence(sparse=True), WORDS, RulePass),
    "sequence with padding": (lambda: Sequence(padding_idx=1), WORDS, RulePass),
    "two rows as a sequence": (
        lambda: nn.Sequential(nn.Linear(9, 20), nn.Tanh(), nn.Flatten(), nn.Linear(40, C)),
        (2, 9),
        RulePass,
    ),
    "prelu": (lambda: nn.Sequential(nn.Linear(5, 6), nn.PReLU(), nn.Linear(6, C)), ROW, VmapPass),
    "transposed conv": (lambda: image(nn.ConvTranspose2d(4, 3, 2)), PICTURE, VmapPass),
    "shared weight": (Shared, (4,), VmapPass),
    "tied weight": (Tied, WORDS, VmapPass),
    "attention": (
        lambda: nn.Sequential(
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(20, C)
        ),
        (5, 4),
        VmapPass,
    ),
    "recurrent": (
        lambda: nn.Sequential(Last(nn.GRU(4, 6, batch_first=True)), nn.Linear(6, C)),
        (5, 4),
        LoopPass,
    ),
}
MODULES["layer passed twice"] = (
    lambda: (lambda layer: nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(5, C)))(
        nn.Linear(5, 5)
    ),
    ROW,
    VmapPass,
)
each_module = pytest.mark.parametrize("name", MODULES)


def make_inputs(shape, dtype=np.float64, n=N):
    rng = np.random.default_rng(0)
    if shape == WORDS:
        return rng.integers(C, size=(n, 5))
    return rng.normal(size=(n, *shape)).astype(dtype)


def make_net(module, net=skorch.NeuralNetClassifier, dtype=torch.float64, **settings):
    """A net that was not trained, but has seen batches, in double precision."""
    torch.manual_seed(0)
    if net is skorch.NeuralNetClassifier:
        settings = {"criterion": nn.CrossEntropyLoss, "classes": np.arange(C), **settings}
    net = net(module, device="cpu", **settings).initialize()
    return net


def make_box(name, dtype=torch.float64, **settings):
    make, shape, _ = MODULES[name]
    net, X = make_net(make), make_inputs(shape)
    with torch.no_grad():  # gives lazy layers their shape and batch norms their statistics
        first = X if X.dtype.kind == "i" else X.astype(np.float32)
        net.module_.train()(torch.as_tensor(first))
        for parameter in net.module_.parameters():
            if parameter.ndim == 1:
                parameter += 0.3 * torch.randn_like(parameter)
    net.module_.to(dtype)
    return open_white_box(net, **settings), X


def one_by_one(module, X, y):
    """Gradient of the loss of each record with respect to all parameters, by autograd."""
    module.eval()
    parameters, rows = list(module.parameters()), []
    for x, label in zip(torch.as_tensor(X), torch.as_tensor(y)):
        loss = nn.functional.cross_entropy(module(x[None]), label[None])
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        found = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found)]
        found = [g.to_dense() for g in found]
        rows.append(torch.cat([g.ravel() for g in found]).numpy())
    return np.stack(rows)


def collect(chunks):
    return np.concatenate([values for _, values in chunks])


@each_module
def test_gradients_are_those_of_one_record_at_a_time(name):
    box, X = make_box(name)
    expected = one_by_one(box.model.module_, X, Y)
    close = {"rtol": 1e-9, "atol": 1e-12 * abs(expected).max()}
    np.testing.assert_allclose(collect(box.loss_gradients(X, Y)), expected, **close)
    np.testing.assert_allclose(
        box.gradient_norms(X, Y), np.linalg.norm(expected, axis=1), rtol=1e-9
    )
    statistics = dict(zip(WhiteBox.statistics, box.gradient_statistics(X, Y).T))
    np.testing.assert_allclose(statistics["l1"], abs(expected).sum(1), rtol=1e-9)
    np.testing.assert_allclose(statistics["linf"], abs(expected).max(1), rtol=1e-9)
    np.testing.assert_allclose(statistics["mean"], expected.mean(1), **close)


@each_module
def test_way_that_is_taken_is_the_fastest_that_is_right(name):
    box, X = make_box(name)
    box.gradient_norms(X, Y)
    assert box._way[0] is MODULES[name][2]


@pytest.mark.parametrize("name", ["mlp", "conv with all settings", "sequence"])
def test_rules_agree_with_vmap(name):
    box, X = make_box(name)
    expected = box.gradient_norms(X, Y)
    assert box._way[0] is RulePass
    box._way = VmapPass, VmapPass.plan(box._module)
    np.testing.assert_allclose(box.gradient_norms(X, Y), expected, rtol=1e-10)


IN_CHUNKS = list(itertools.product(("mlp", "conv", "sequence", "prelu", "recurrent"), (3, 1, 100)))


@pytest.mark.parametrize("name, chunk_size", slow_but(IN_CHUNKS, *IN_CHUNKS[::3], ("mlp", 100)))
def test_size_of_chunks_does_not_matter(name, chunk_size):
    box, X = make_box(name, chunk_size=chunk_size)
    whole, _ = make_box(name)
    chunks = list(box.loss_gradients(X, Y))
    assert [rows.start for rows, _ in chunks] == list(range(0, N, chunk_size))
    np.testing.assert_allclose(collect(chunks), collect(whole.loss_gradients(X, Y)), atol=1e-12)
    for ask in ("gradient_norms", "gradient_statistics", "loss"):
        np.testing.assert_allclose(
            getattr(box, ask)(X, Y), getattr(whole, ask)(X, Y), rtol=1e-8, atol=1e-10
        )
    for one, other in zip(box.layer_outputs(X), whole.layer_outputs(X)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mlp", "conv with all settings", "residual", "attention"])
def test_gradients_of_inputs_are_finite_differences(name):
    box, X = make_box(name, chunk_size=3)
    loss, gradient = box.input_gradient(X, Y)
    np.testing.assert_allclose(loss, box.loss(X, Y))
    assert gradient.shape == X.shape
    step = 1e-6
    for place in list(np.ndindex(X.shape[1:]))[::17]:
        shift = np.zeros_like(X)
        shift[:, *place] = step
        expected = (box.loss(X + shift, Y) - box.loss(X - shift, Y)) / (2 * step)
        np.testing.assert_allclose(gradient[:, *place], expected, atol=1e-8)
    norms = np.linalg.norm(gradient.reshape(N, -1), axis=1)
    np.testing.assert_allclose(box.gradient_norms(X, Y, "inputs"), norms)
    np.testing.assert_allclose(box.gradient_statistics(X, Y, "inputs")[:, 1], norms)
    weights = np.eye(C)[Y]
    shift = np.zeros_like(X)
    shift[:, *place] = step
    difference = (box.logits(X + shift) - box.logits(X - shift))[np.arange(N), Y] / (2 * step)
    np.testing.assert_allclose(box.logit_gradient(X, weights)[:, *place], difference, atol=1e-8)


def test_gradients_of_parameters_are_finite_differences():
    box, X = make_box("conv with all settings")
    found, step = collect(box.loss_gradients(X, Y)), 1e-6
    flat = [p.detach().reshape(-1) for p in box.model.module_.parameters()]
    places = [(p, i) for p in flat for i in range(len(p))]
    for k in range(0, box.n_parameters, 41):
        p, i = places[k]
        losses = []
        for sign in (1, -1):
            p[i] += sign * step
            losses.append(box.loss(X, Y))
            p[i] -= sign * step
        np.testing.assert_allclose(found[:, k], (losses[0] - losses[1]) / (2 * step), atol=1e-8)


def test_net_gives_what_the_perceptron_of_scikit_learn_gives():
    X = make_inputs((5,), n=20)
    y = np.arange(20) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlp = MLPClassifier((6, 4), "tanh", max_iter=5, random_state=0).fit(X, y)
    linear = [nn.Linear(*shape) for shape in [(5, 6), (6, 4), (4, 3)]]
    for layer, W, b in zip(linear, mlp.coefs_, mlp.intercepts_):
        layer.weight.data, layer.bias.data = torch.tensor(W.T.copy()), torch.tensor(b)
    net = make_net(nn.Sequential(linear[0], nn.Tanh(), linear[1], nn.Tanh(), linear[2]))
    ours, theirs = open_white_box(net), open_white_box(mlp)
    for ask in ("loss", "gradient_norms", "gradient_statistics"):
        np.testing.assert_allclose(getattr(ours, ask)(X, y), getattr(theirs, ask)(X, y), rtol=1e-8)
    np.testing.assert_allclose(
        collect(ours.loss_gradients(X, y)), collect(theirs.loss_gradients(X, y)), atol=1e-14
    )


def fit(net, y, X=None, **settings):
    torch.manual_seed(0)
    X = make_inputs((5,), np.float32, 20) if X is None else X
    return net(max_epochs=2, train_split=None, verbose=0, **settings).fit(X, y), X


class Mlp(nn.Sequential):
    def __init__(self, n_out=C, last=None):
        layers = [nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, n_out)]
        super().__init__(*layers, *([] if last is None else [last]))


class Ravelled(Mlp):
    def forward(self, x):
        return super().forward(x)[:, 0]


Y20 = np.arange(20) % C
BITS = (Y20 > 0).astype(np.int64)
SOFTMAX = {"module__last": nn.Softmax(1), "criterion": nn.NLLLoss}
SIGMOID = {"module__last": nn.Sigmoid(), "module__n_out": 1, "criterion": nn.BCELoss}
NETS = {
    "logits": (skorch.NeuralNetClassifier, Mlp, {"criterion": nn.CrossEntropyLoss}, Y20),
    "softmax": (skorch.NeuralNetClassifier, Mlp, SOFTMAX, Y20),
    "one logit": (skorch.NeuralNetBinaryClassifier, Mlp, {"module__n_out": 1}, BITS),
    "flat logit": (skorch.NeuralNetBinaryClassifier, Ravelled, {"module__n_out": 1}, BITS),
    "sigmoid": (skorch.NeuralNetBinaryClassifier, Ravelled, SIGMOID, BITS),
    "regressor": (skorch.NeuralNetRegressor, Mlp, {"module__n_out": 1}, None),
}


@pytest.mark.parametrize("name", NETS)
def test_loss_of_every_kind_of_net_and_its_gradient(name):
    family, module, settings, y = NETS[name]
    if y is None:
        y = np.linspace(-1, 1, 20).astype(np.float32)
        net, X = fit(lambda **s: family(module, **s), y[:, None], **settings)
    else:
        target = y.astype(np.float32) if family is skorch.NeuralNetBinaryClassifier else y
        net, X = fit(lambda **s: family(module, **s), target, **settings)
    net.module_.double()
    box, X = open_white_box(net), X.astype(np.float64)
    outputs = box.outputs(X)
    signal = SquaredError() if outputs.kind == "value" else Loss()
    net.module_.float()
    asked = answers_of(net, X.astype(np.float32))
    np.testing.assert_allclose(box.loss(X, y), -signal(asked, y), rtol=1e-4, atol=1e-6)
    net.module_.double()
    np.testing.assert_allclose(box.loss(X, y), -signal(outputs, y), rtol=1e-6)
    gradient, step = box.input_gradient(X, y)[1], 1e-6
    for j in range(5):
        shift = step * np.eye(5)[j]
        expected = (box.loss(X + shift, y) - box.loss(X - shift, y)) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], expected, rtol=1e-6, atol=1e-8)
    whole = collect(box.loss_gradients(X, y))
    weight, found = net.module_[0].weight.detach(), []
    for sign in (1, -1):
        weight[2, 3] += sign * step
        found.append(box.loss(X, y))
        weight[2, 3] -= sign * step
    np.testing.assert_allclose(whole[:, 13], (found[0] - found[1]) / (2 * step), atol=1e-8)
    if outputs.kind == "logits":
        weights = np.random.default_rng(0).normal(size=outputs.shape)
        shift = step * np.eye(5)[1]
        difference = (box.logits(X + shift) - box.logits(X - shift)) * weights / (2 * step)
        np.testing.assert_allclose(
            box.logit_gradient(X, weights)[:, 1], difference.sum(1), rtol=1e-6, atol=1e-8
        )


def test_confident_nets_keep_their_gradients():
    # In float32 the probability of the label rounds to 1, and its difference from 1 to 0.
    net = make_net(lambda: nn.Linear(1, C, bias=False))
    net.module_.weight.data = torch.tensor([[1.0], [0.0], [0.0]])
    box = open_white_box(net)
    norms = box.gradient_norms(np.array([[40.0], [80.0]], np.float32), [0, 0])
    odds = 2 * np.exp([-40.0, -80.0])
    expected = odds * np.array([40, 80]) * np.sqrt(1 + 2 * 0.25)
    np.testing.assert_allclose(norms, expected, rtol=1e-5)


def test_pipeline_and_precision_of_the_inputs():
    X = make_inputs((5,), np.float64, 20)

    class Scaler(StandardScaler):
        def transform(self, X):
            return super().transform(X).astype(np.float32)

    net = skorch.NeuralNetClassifier(
        Mlp, criterion=nn.CrossEntropyLoss, max_epochs=1, train_split=None, verbose=0
    )
    victim = FrozenEstimator(make_pipeline(Scaler(), net).fit(X, Y20))
    box = open_white_box(victim)
    inputs = box.encode(X)
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(inputs.mean(0), 0, atol=1e-6)
    expected = -Loss()(answers_of(victim, X), Y20)
    np.testing.assert_allclose(box.loss(inputs, Y20), expected, rtol=1e-6)
    # A perturbation that was computed in double precision is taken too.
    np.testing.assert_allclose(box.loss(inputs.astype(np.float64), Y20), expected, rtol=1e-6)
    assert box.input_gradient(inputs, Y20)[1].dtype == np.float32


def test_tensors_are_encoded():
    box, X = make_box("mlp")
    np.testing.assert_array_equal(box.encode(torch.as_tensor(X)), X)


def test_frozen_parameters_are_left_out():
    net = make_net(Mlp)
    net.module_[0].weight.requires_grad_(False)
    X = make_inputs((5,), np.float32)
    box = open_white_box(net)
    assert list(box.parameter_shapes) == ["0.bias", "2.weight", "2.bias"]
    gradients, norms = collect(box.loss_gradients(X, Y)), box.gradient_norms(X, Y)
    assert gradients.shape == (N, 6 + 18 + 3)
    np.testing.assert_allclose(norms, np.linalg.norm(gradients, axis=1), rtol=1e-5)
    net.module_[0].weight.requires_grad_(True)
    whole = collect(open_white_box(net).loss_gradients(X, Y))
    np.testing.assert_allclose(gradients, whole[:, 30:], atol=1e-7)
    for parameter in net.module_.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(ValueError, match="no trained parameters"):
        open_white_box(net).gradient_norms(X, Y)
    assert open_white_box(net).gradient_norms(X, Y, "inputs").shape == (N,)


def test_gradients_of_single_parameters_keep_their_shape():
    box, X = make_box("conv", chunk_size=3)
    whole = collect(box.loss_gradients(X, Y))
    rows, found = next(box.layer_gradients(X, Y))
    assert list(found) == ["4.weight"]
    assert found["4.weight"].shape == (3, C, 24)
    names = ["4.bias", "0.weight"]
    for rows, found in box.layer_gradients(X, Y, names):
        assert list(found) == names
        m = rows.stop - rows.start
        np.testing.assert_allclose(found["4.bias"], whole[rows, -C:])
        np.testing.assert_allclose(found["0.weight"], whole[rows, : 6 * 36].reshape(m, 6, 4, 3, 3))


class Counting(Mlp):
    """Changes a buffer whenever it is called, and draws a random number."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n_calls", torch.zeros(1))
        self.register_buffer("replaced", torch.zeros(1))

    def forward(self, x):
        self.n_calls += 1
        self.replaced = self.replaced + torch.rand(1)
        return super().forward(x)


def test_nothing_of_the_victim_is_changed():
    net = make_net(Counting)
    net.module_.train()
    net.module_[1].eval()  # modes of parts may differ
    before = pickle.dumps(net.module_.state_dict())
    objects = [id(one) for one in net.module_.state_dict(keep_vars=True).values()]
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    X = make_inputs((5,), np.float32)
    X.flags.writeable = False
    box = open_white_box(net, chunk_size=3)
    inputs = box.encode(X)
    chunks = box.loss_gradients(inputs, Y)
    next(chunks)
    assert net.module_.training  # while a chunk is with the caller, too
    list(chunks)
    box.gradient_norms(inputs, Y)
    box.gradient_statistics(inputs, Y, "inputs")
    box.input_gradient(inputs, Y)
    box.layer_outputs(inputs)
    assert pickle.dumps(net.module_.state_dict()) == before
    assert [id(one) for one in net.module_.state_dict(keep_vars=True).values()] == objects
    assert [part.training for part in net.module_.modules()] == [True, True, False, True]
    assert all(p.grad is None and p.requires_grad for p in net.module_.parameters())
    assert not any(part._forward_hooks for part in net.module_.modules())
    assert torch.equal(torch.get_rng_state(), states[0])
    np.testing.assert_array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002


def test_module_is_put_back_after_an_error():
    net = make_net(Mlp)
    net.module_.train()
    box = open_white_box(net)
    with pytest.raises(RuntimeError, match="shape"):
        box.loss(np.ones((2, 4), np.float32), [0, 1])
    assert net.module_.training
    assert not any(part._forward_hooks for part in net.module_.modules())


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_gradients_are_found_where_the_caller_needs_none(context):
    box, X = make_box("mlp")
    expected = box.gradient_norms(X, Y)
    with context():
        np.testing.assert_array_equal(box.gradient_norms(X, Y), expected)


def test_half_precision():
    box, X = make_box("mlp", dtype=torch.bfloat16)
    exact, _ = make_box("mlp")
    np.testing.assert_allclose(box.gradient_norms(X, Y), exact.gradient_norms(X, Y), rtol=0.1)
    assert box.input_gradient(X, Y)[1].shape == X.shape


def test_labels_are_the_numbers_of_the_outputs():
    # A class that is absent from the training rows keeps its column.
    y = np.where(Y20 == 1, 0, Y20)
    net, X = fit(lambda **s: skorch.NeuralNetClassifier(Mlp, **s), y, criterion=nn.CrossEntropyLoss)
    box = open_white_box(net)
    inputs = box.encode(X)
    assert box.classes.tolist() == [0, 1, 2]
    np.testing.assert_allclose(box.loss(inputs, Y20), -Loss()(answers_of(net, X), Y20), rtol=1e-5)


class SquaredNet(skorch.NeuralNetClassifier):
    """Squared error of the softmax, from a loss of its own."""

    def get_loss(self, y_pred, y_true, *args, **kwargs):
        return ((y_pred.softmax(1) - nn.functional.one_hot(y_true, C)) ** 2).sum(1).mean()


class Focal(nn.Module):
    def forward(self, output, y):
        log_p = output.log_softmax(1).gather(1, y[:, None])[:, 0]
        return -((1 - log_p.exp()) ** 2 * log_p).mean()


class OneByOne(nn.Module):
    """A loss that cannot be vectorized."""

    def forward(self, output, y):
        return sum(
            nn.functional.cross_entropy(output[i], y[i]) for i in range(int(y.sum() * 0 + len(y)))
        )


def to_two(proba):
    return torch.stack([1 - proba, proba], dim=1)


SMOOTH = {"criterion": nn.CrossEntropyLoss, "criterion__label_smoothing": 0.2}
WEIGHTED = {"criterion": nn.CrossEntropyLoss, "criterion__weight": torch.tensor([1.0, 2.0, 5.0])}
TO_SOFTMAX = {"predict_nonlinearity": nn.Softmax(dim=-1)}
CRITERIA = {
    "squared error of probabilities": (SquaredNet, TO_SOFTMAX),
    "focal loss": (skorch.NeuralNetClassifier, {"criterion": Focal, **TO_SOFTMAX}),
    "smoothed labels": (skorch.NeuralNetClassifier, SMOOTH),
    "class weights": (skorch.NeuralNetClassifier, WEIGHTED),
    "margin": (skorch.NeuralNetClassifier, {"criterion": nn.MultiMarginLoss}),
    "not vectorized": (skorch.NeuralNetClassifier, {"criterion": OneByOne, **TO_SOFTMAX}),
    "one probability": (
        skorch.NeuralNetBinaryClassifier,
        {
            "criterion": nn.MSELoss,
            "module": Ravelled,
            "module__n_out": 1,
            "module__last": nn.Sigmoid(),
            "predict_nonlinearity": to_two,
        },
    ),
    "absolute error": (skorch.NeuralNetRegressor, {"criterion": nn.L1Loss, "module__n_out": 1}),
}


@pytest.mark.parametrize("name", CRITERIA)
def test_loss_of_any_criterion_and_its_gradient(name):
    family, settings = CRITERIA[name]
    settings = {"module": Mlp, **settings}
    y = Y20
    if family is skorch.NeuralNetBinaryClassifier:
        y = BITS.astype(np.float32)
    elif family is skorch.NeuralNetRegressor:
        y = np.linspace(-1, 1, 20).astype(np.float32)[:, None]
    net, X = fit(lambda **s: family(**s), y, **settings)
    box, flat = open_white_box(net), np.ravel(y) if y.ndim > 1 else Y20 if len(set(y)) > 2 else BITS
    net.module_.eval()
    losses, gradients = [], []
    for i in range(20):
        x = torch.tensor(X[i : i + 1], requires_grad=True)
        loss = net.get_loss(net.module_(x), torch.tensor(y[i : i + 1])).mean()
        loss.backward()
        losses.append(loss.item())
        gradients.append(x.grad[0].numpy())
    np.testing.assert_allclose(box.loss(X, flat), losses, rtol=1e-5, atol=1e-7)
    loss, gradient = box.input_gradient(X, flat)
    np.testing.assert_allclose(gradient, gradients, rtol=1e-4, atol=1e-6)
    assert box.gradient_norms(X, flat).shape == (20,) and len(box.layer_outputs(X)) > 1
    if name == "margin":  # its outputs are no probabilities, which gradients and layers do not need
        with pytest.raises(ValueError, match="are not probabilities"):
            box.logits(X)
    elif family is not skorch.NeuralNetRegressor:
        asked = answers_of(net, X)
        np.testing.assert_allclose(Loss()(box.outputs(X), flat), Loss()(asked, flat), rtol=1e-3)
        weights = np.random.default_rng(0).normal(size=box.logits(X).shape)
        box64 = open_white_box(net)
        net.module_.double()
        X, step, pulled = X.astype(np.float64), 1e-6, box64.logit_gradient(X.astype(float), weights)
        shift = step * np.eye(5)[1]
        found = (box64.logits(X + shift) - box64.logits(X - shift)) * weights / (2 * step)
        np.testing.assert_allclose(pulled[:, 1], found.sum(1), rtol=1e-4, atol=1e-6)


def test_net_without_a_task_is_refused():
    class Net(skorch.NeuralNet):
        def predict(self, X):
            return X

    with pytest.raises(TypeError, match="got Net"):
        open_white_box(make_net(Mlp, Net, criterion=nn.CrossEntropyLoss))


def test_several_targets_are_refused():
    box = open_white_box(make_net(Mlp, skorch.NeuralNetRegressor))
    with pytest.raises(ValueError, match="one target; the module gives 3"):
        box.outputs(make_inputs((5,), np.float32))


def test_module_that_mixes_the_records_of_a_batch_is_read_one_by_one():
    net, X = make_net(Branching), make_inputs((4,), np.float32)
    with pytest.raises(ValueError, match="depends on the other records .* chunk_size=1"):
        open_white_box(net).loss(X, Y)
    box = open_white_box(net, chunk_size=1)
    expected = one_by_one(net.module_, X, Y)
    np.testing.assert_allclose(collect(box.loss_gradients(X, Y)), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        box.gradient_norms(X, Y), np.linalg.norm(expected, axis=1), rtol=1e-5
    )
    assert box._way[0] is LoopPass


def test_module_that_gives_no_row_for_each_record_is_refused():
    box = open_white_box(make_net(lambda: nn.Linear(4, C)))
    with pytest.raises(ValueError, match=r"1 records gave an array of shape \(1, 5, 3\)"):
        box.logits(make_inputs((5, 4), np.float32))


def test_nan_is_refused():
    box = open_white_box(make_net(Mlp), chunk_size=2)
    X = make_inputs((5,), np.float32)
    X[5, 1] = np.nan
    for ask in (box.gradient_norms, box.input_gradient, box.loss):
        with pytest.raises(ValueError, match="returned NaN for the record at position 5"):
            ask(X, Y)
    box.model.module_[2].weight.data[:] = float("nan")
    with pytest.raises(ValueError, match="returned NaN for the record at position 0"):
        open_white_box(box.model).gradient_norms(X, Y)


def test_words_have_no_gradient():
    box, X = make_box("sequence")
    with pytest.raises(ValueError, match=r"integers \(int64\), which have no gradient"):
        box.input_gradient(X, Y)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", ["mlp", "conv with all settings", "sequence", "prelu"])
def test_gpu_gives_what_the_cpu_gives(name):
    box, X = make_box(name)
    there, _ = make_box(name)
    there.model.module_.to("cuda")
    for ask in ("gradient_norms", "gradient_statistics", "loss"):
        np.testing.assert_allclose(getattr(there, ask)(X, Y), getattr(box, ask)(X, Y), rtol=1e-6)
    for one, other in zip(there.layer_outputs(X), box.layer_outputs(X)):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
