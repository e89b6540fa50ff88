"""Nets of linear layers, and one of convolutions.

Functions make the modules, so that each clone of a net draws its own initial weights.
"""

from itertools import pairwise
from math import prod

import torch
from skorch import NeuralNetClassifier
from torch import nn

_ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


def make_net(module, parameters, **settings):
    """A skorch classifier of a module that ends in logits, which ``module(**parameters)`` makes."""
    defaults = {
        "criterion": nn.CrossEntropyLoss,
        "optimizer": torch.optim.Adam,
        "lr": 1e-3,
        "batch_size": 128,
        "max_epochs": 30,
        "iterator_train__shuffle": True,
        "train_split": None,  # otherwise a fifth of the members would not be trained on
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "verbose": 0,
    }
    module_parameters = {f"module__{name}": value for name, value in parameters.items()}
    return NeuralNetClassifier(module, **{**defaults, **module_parameters, **settings})


def dense_net(widths, activation="relu", batch_norm=False, weight_bound=None):
    """Linear layers of these widths, from the features to the logits.

    Parameters
    ----------
    widths : sequence of int
        Number of features, of units in each hidden layer, and of classes.
    activation : {"relu", "tanh"}, default="relu"
        Activation of the hidden layers.
    batch_norm : bool, default=False
        Whether there is batch normalization before each activation.
    weight_bound : float, default=None
        Weights and intercepts are drawn uniformly from minus to plus this number. If None, torch
        draws them.
    """
    layers = []
    for n_in, n_out in pairwise(widths):
        layers.append(nn.Linear(n_in, n_out))
        if weight_bound is not None:
            nn.init.uniform_(layers[-1].weight, -weight_bound, weight_bound)
            nn.init.uniform_(layers[-1].bias, -weight_bound, weight_bound)
        if batch_norm:
            layers.append(nn.BatchNorm1d(n_out))
        layers.append(_ACTIVATIONS[activation]())
    n_tail = 2 if batch_norm else 1  # the last layer gives logits
    return nn.Sequential(*layers[:-n_tail])


def conv_net(input_shape=(3, 32, 32), n_classes=10):
    """Four convolutions and three linear layers; see :func:`make_conv_net`."""
    n_in, *sizes = input_shape
    layers = []
    for n_out, kernel, stride in [(16, 7, 1), (32, 6, 2), (64, 5, 1), (64, 5, 2)]:
        layers.append(nn.Conv2d(n_in, n_out, kernel, stride=stride, padding=2))
        layers += [nn.BatchNorm2d(n_out), nn.ReLU()]
        n_in, sizes = n_out, [(size + 4 - kernel) // stride + 1 for size in sizes]
    head = dense_net((n_in * prod(sizes), 64, 32, n_classes), batch_norm=True)
    return nn.Sequential(*layers, nn.Flatten(), *head)


def make_conv_net(input_shape=(3, 32, 32), n_classes=10, **settings):
    """Make the convolutional net for images of del Grosso (2023).

    Four convolutions with padding 2 (16 filters of 7 x 7; 32 of 6 x 6, stride 2; 64 of 5 x 5; 64
    of 5 x 5, stride 2), then linear layers of 64, 32 and n_classes units; batch normalization and
    ReLU after each but the last. It has 439,722 parameters for images of 3 x 32 x 32 and 376,714
    for 1 x 28 x 28, as published. The default is 30 epochs of Adam with a learning rate of 0.001,
    in batches of 128, on a GPU if there is one.

    References
    ----------
    G. del Grosso Guzman, "Leakage of Sensitive Data from Deep Neural Networks", PhD thesis,
    Institut Polytechnique de Paris, 2023.
    """
    parameters = {"input_shape": tuple(input_shape), "n_classes": n_classes}
    return make_net(conv_net, parameters, **settings)


def make_pendigits_net(n_features=110, n_classes=10, **settings):
    """Make the net for handwritten digits on a tablet of del Grosso (2023).

    Hidden layers of 32, 16 and 16 units with batch normalization and ReLU: 4,650 parameters, as
    published. It is trained as :func:`make_conv_net`.

    References
    ----------
    G. del Grosso Guzman, "Leakage of Sensitive Data from Deep Neural Networks", PhD thesis,
    Institut Polytechnique de Paris, 2023.
    """
    parameters = {"widths": (n_features, 32, 16, 16, n_classes), "batch_norm": True}
    return make_net(dense_net, parameters, **settings)


def make_purchase_net(hidden_layer_sizes=(1024, 512), n_features=600, n_classes=100, **settings):
    """Make the nets with tanh that the literature trains on Purchase-100.

    Hidden layers of 1,024 and 512 units (Zarifzadeh et al., 2024; 1,191,524 parameters), or with
    ``hidden_layer_sizes=(128,)`` one of 128 (Shokri et al., 2017; 89,828 parameters). It is
    trained as :func:`make_conv_net`.

    References
    ----------
    R. Shokri, M. Stronati, C. Song, V. Shmatikov, "Membership Inference Attacks Against Machine
    Learning Models", IEEE S&P 2017.

    S. Zarifzadeh, P. Liu, R. Shokri, "Low-Cost High-Power Membership Inference Attacks", ICML
    2024.
    """
    widths = (n_features, *hidden_layer_sizes, n_classes)
    return make_net(dense_net, {"widths": widths, "activation": "tanh"}, **settings)


def make_small_net(n_features, n_classes=2, **settings):
    """Make the net for tables of O'Dell (2023): one hidden layer of 8 units.

    Weights start uniform between -1 / sqrt(10) and 1 / sqrt(10), and are trained by plain gradient
    descent for 200 epochs with a learning rate of 0.01 and no regularization. The thesis leaves
    open the size of the batches (here 128), the activation (here ReLU) and where the intercepts
    start (here as the weights do).

    References
    ----------
    R. O'Dell, "Estimating Privacy Leakage of Machine Learning Models", MSc thesis, UCLA, 2023.
    """
    parameters = {"widths": (n_features, 8, n_classes), "weight_bound": 10**-0.5}
    defaults = {"optimizer": torch.optim.SGD, "lr": 0.01, "max_epochs": 200}
    return make_net(dense_net, parameters, **{**defaults, **settings})
