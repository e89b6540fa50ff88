"""Small nets of six features and three classes, for tests of nets that are trained together."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

from skorch import NeuralNetClassifier  # noqa: E402
from torch import nn  # noqa: E402


class Perceptron(nn.Sequential):
    def __init__(self, drop=0.0):
        super().__init__(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(drop), nn.Linear(5, 3))


class Images(nn.Module):
    """Convolution and normalization by running means, on rows as images of 2 x 3 pixels."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4)
        self.drop, self.last = nn.Dropout(0.3), nn.Linear(8, 3)

    def forward(self, X):
        h = torch.relu(self.norm(self.first(X.reshape(-1, 1, 2, 3))))
        return self.last(self.drop(h.flatten(1)))


def make_net(module=Perceptron, **settings):
    defaults = {
        "criterion": nn.CrossEntropyLoss,
        "max_epochs": 4,
        "batch_size": 8,
        "lr": 0.1,
        "train_split": None,
        "iterator_train__shuffle": True,
        "verbose": 0,
    }
    return NeuralNetClassifier(module, **{**defaults, **settings})
