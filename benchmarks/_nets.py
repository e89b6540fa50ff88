"""Victims of the benchmarks; a module, so that worker processes can import them."""

import torch
from skorch import NeuralNetClassifier
from torch import nn


class OneHiddenLayer(nn.Module):
    """Logits of a net with one hidden layer."""

    def __init__(self, n_features, n_hidden, n_classes):
        super().__init__()
        self.hidden = nn.Linear(n_features, n_hidden)
        self.output = nn.Linear(n_hidden, n_classes)

    def forward(self, X):
        return self.output(torch.relu(self.hidden(X)))


def make_net(n_features, n_hidden, n_classes, max_epochs=30):
    """A net trained long enough to memorize."""
    return NeuralNetClassifier(
        OneHiddenLayer,
        module__n_features=n_features,
        module__n_hidden=n_hidden,
        module__n_classes=n_classes,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=1e-3,
        batch_size=128,
        max_epochs=max_epochs,
        train_split=None,
        verbose=0,
    )
