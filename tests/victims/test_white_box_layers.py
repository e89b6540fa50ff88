"""What the layers of torch modules give."""

import numpy as np
import pytest

from skmia.victims import open_white_box

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from torch import nn  # noqa: E402

N, C = 7, 3
IMAGES = np.random.default_rng(0).normal(size=(N, 2, 8, 8)).astype(np.float32)


def make_box(module, **settings):
    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(module, criterion=nn.CrossEntropyLoss, classes=range(C))
    return open_white_box(net.initialize(), **settings)


class Net(nn.Module):
    """Registered in another order than passed; one activation for all, which works in place."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4 * 4, C)
        self.unused = nn.Linear(2, 2)
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.tail = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Dropout(0.5), nn.Flatten())

    def forward(self, x):
        x = self.relu(self.norm(self.conv(x)))
        return self.head(self.relu(self.tail(x)))


@pytest.mark.parametrize("chunk_size", [2, None])
def test_layers_come_in_the_order_of_the_forward_pass(chunk_size):
    box = make_box(Net, chunk_size=chunk_size)
    names = ["conv", "norm", "relu", "tail.0", "relu#2", "head"]
    assert box.layer_names(IMAGES) == names
    outputs = box.layer_outputs(IMAGES)
    assert [values.shape for values in outputs] == [(N, 4)] * 4 + [(N, 16), (N, C)]
    module = box.model.module_.eval()
    with torch.no_grad():
        conv = module.conv(torch.from_numpy(IMAGES))
        norm = module.norm(conv)
        expected = [conv, norm, norm.relu()]
        expected = [one.mean((2, 3)).numpy() for one in expected]
    for found, one in zip(outputs, expected):
        np.testing.assert_allclose(found, one, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs[-1], box.logits(IMAGES), rtol=1e-5)


def test_layers_are_chosen_by_name_and_by_position():
    box = make_box(Net)
    outputs = box.layer_outputs(IMAGES)
    head, relu, again = box.layer_outputs(IMAGES, [-1, "relu#2", np.int64(4)])
    np.testing.assert_array_equal(head, outputs[5])
    np.testing.assert_array_equal(relu, outputs[4])
    np.testing.assert_array_equal(again, outputs[4])


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm, self.tanh = nn.Embedding(9, 4), nn.LayerNorm(4), nn.Tanh()
        self.conv, self.act = nn.Conv1d(4, 6, 2), nn.ReLU()
        self.gru, self.head = nn.GRU(6, 5, batch_first=True), nn.Linear(5, C)

    def forward(self, x):
        x = self.tanh(self.norm(self.words(x)))
        x = self.act(self.conv(x.mT))
        return self.head(self.gru(x.mT)[0][:, -1])


def test_channels_are_found_where_the_layer_keeps_them():
    box = make_box(Sequence)
    words = np.random.default_rng(0).integers(9, size=(N, 8))
    names = ["words", "norm", "tanh", "conv", "act", "gru", "head"]
    assert box.layer_names(words) == names
    outputs = box.layer_outputs(words)
    assert [values.shape[1] for values in outputs] == [4, 4, 4, 6, 6, 5, C]
    table = box.model.module_.words.weight.detach().numpy()
    np.testing.assert_allclose(outputs[0], table[words].mean(1), rtol=1e-5, atol=1e-6)


def test_layers_of_a_transformer_are_seen():
    box = make_box(
        lambda: nn.Sequential(
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(20, C)
        )
    )
    rows = np.random.default_rng(0).normal(size=(N, 5, 4)).astype(np.float32)
    names = ["0.self_attn", "0.norm1", "0.linear1", "0.linear2", "0.norm2", "2"]
    assert box.layer_names(rows) == names


def test_module_that_is_one_layer():
    box = make_box(lambda: nn.Linear(2, C))
    rows = np.eye(2, dtype=np.float32)
    assert box.layer_names(rows) == ["module"]
    np.testing.assert_allclose(box.layer_outputs(rows)[0], box.logits(rows), rtol=1e-6)


class Folding(nn.Module):
    """Sends its two halves through one layer as records of their own."""

    def __init__(self):
        super().__init__()
        self.each, self.head = nn.Linear(3, 4), nn.Linear(8, C)

    def forward(self, x):
        return self.head(self.each(x.reshape(-1, 3)).reshape(len(x), 8))


def test_layer_without_a_row_for_each_record_is_left_out_but_has_its_gradient():
    box = make_box(Folding)
    rows = np.random.default_rng(0).normal(size=(N, 6)).astype(np.float32)
    assert box.layer_names(rows) == ["head"]
    y = np.arange(N) % C
    module, weight = box.model.module_, box.model.module_.each.weight
    expected = []
    for x, label in zip(torch.from_numpy(rows), torch.from_numpy(y)):
        loss = nn.functional.cross_entropy(module(x[None]), label[None])
        expected.append(torch.autograd.grad(loss, weight)[0].numpy())
    ((_, found),) = box.layer_gradients(rows, y, ["each.weight"])
    np.testing.assert_allclose(found["each.weight"], expected, rtol=1e-4, atol=1e-7)
