"""A small skorch net, for tests that need one of any kind; joblib's processes can import it."""


def make_module(n_features, n_classes, n_hidden=8):
    from torch import nn

    return nn.Sequential(nn.Linear(n_features, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_classes))


def make_small_net(n_features, n_classes=2, **settings):
    """A net with a hidden layer of 8 units, whose settings can be changed."""
    import skorch
    from torch.nn import CrossEntropyLoss

    defaults = {
        "module": make_module,
        "module__n_features": n_features,
        "module__n_classes": n_classes,
        "criterion": CrossEntropyLoss,
        "max_epochs": 20,
        "iterator_train__shuffle": True,
        "train_split": None,
        "verbose": 0,
    }
    return skorch.NeuralNetClassifier(**{**defaults, **settings})
