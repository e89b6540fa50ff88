"""Kinds of victims of :mod:`bench_strength`: records and a model, by name.

The first five are those that the attacks were developed on, the next nine and the last five were
looked at only after.
"""

from functools import partial

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmia import Records
from skmia.datasets import load_sklearn, make_membership_problem
from skmia.victims import Augmentation, JointOutputs, random_crops

KINDS = {}


def kind(make):
    """Register a function of the folder of the data that returns records and a model."""
    KINDS[make.__name__] = make
    return make


def read_adult(folder, n_records):
    table = pd.read_csv(folder / "adult.csv.gz").drop(columns=["split", "fnlwgt"])
    table = table.drop_duplicates().sample(n_records, random_state=0)
    y = (table.pop("income") == ">50K").to_numpy(int)
    return pd.get_dummies(table, dtype=float), y


def read_images(folder, name, n_records):
    """Images of shape (n, n_pixels) from 0 to 1, and their classes."""
    with np.load(folder / name) as file:
        if "x_train" in file:
            X, y = file["x_train"], file["y_train"]
        else:
            X, y = np.cumsum(file["x_train_delta"], axis=2, dtype=np.uint8), file["y_train"]
    rows = np.random.default_rng(0).permutation(len(y))[:n_records]
    return X[rows].reshape(len(rows), -1).astype(np.float32) / 255, y[rows].astype(int)


def add_noise(y, share):
    """Replace a share of the labels by drawn ones."""
    rng = np.random.default_rng(0)
    return np.where(rng.random(len(y)) < share, rng.integers(0, y.max() + 1, len(y)), y)


def make_codes(table):
    """Numbers of the texts of a table, column by column."""
    is_number = pd.api.types.is_numeric_dtype
    return table.apply(lambda one: one if is_number(one) else pd.factorize(one)[0]).astype(float)


def make_dropout_layers():
    from torch import nn

    layers = [nn.Linear(784, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*layers, nn.Dropout(0.3), nn.Linear(64, 10))


def make_conv_layers():
    from torch import nn

    images = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*images, nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))


def wrap(module, **settings):
    """A net for skorch that is trained by Adam."""
    import torch
    from skorch import NeuralNetClassifier

    given = {"optimizer": torch.optim.Adam, "lr": 1e-3, "batch_size": 64, "train_split": None}
    loss = torch.nn.CrossEntropyLoss
    return NeuralNetClassifier(module, criterion=loss, **(given | settings), verbose=0)


@kind
def digits(folder):
    return load_sklearn("digits"), RandomForestClassifier(100)


@kind
def adult(folder):
    return Records(*read_adult(folder, 4000)), RandomForestClassifier(100)


@kind
def noisy(folder):
    records = load_sklearn("digits")
    return Records(records.X / 16, add_noise(records.y, 0.2)), MLPClassifier((64,), max_iter=500)


@kind
def baskets(folder):
    from _nets import make_net

    records, _ = make_membership_problem(
        4000, n_features=200, n_classes=100, kind="baskets", random_state=0
    )
    return records, make_net(200, 128, len(np.unique(records.y)), max_epochs=60)


@kind
def small_net(folder):
    from literature_nets import make_small_net

    X, y = read_adult(folder, 6000)
    X = np.array((X - X.mean()) / (X.std() + 1e-9), np.float32)
    return Records(X, y), make_small_net(X.shape[1], max_epochs=200)


@kind
def large_leaves(folder):
    table = pd.read_csv(folder / "pendigits.csv.gz").sample(4000, random_state=0)
    X = table.iloc[:, :16].to_numpy(float)
    return Records(X, table["digit"].to_numpy()), RandomForestClassifier(50, min_samples_leaf=3)


@kind
def boosting(folder):
    table = pd.read_csv(folder / "diabetes130.csv.gz", low_memory=False).sample(
        4000, random_state=0
    )
    y = (table["readmitted"] == "<30").to_numpy(int)
    X = make_codes(table.drop(columns=["encounter_id", "patient_nbr", "readmitted"]))
    return Records(X.to_numpy(float), y), HistGradientBoostingClassifier()


@kind
def xgboost(folder):
    from xgboost import XGBClassifier

    table = pd.read_csv(folder / "law_school.csv.gz").sample(4000, random_state=0)
    y = table.pop("bar").to_numpy(int)
    return Records(make_codes(table).to_numpy(float), y), XGBClassifier(max_depth=6, n_jobs=1)


@kind
def dropout(folder):
    X, y = read_images(folder, "fashion_mnist.npz", 4000)
    return Records(X, add_noise(y, 0.15)), wrap(make_dropout_layers, max_epochs=60)


@kind
def pixels(folder):
    X, y = read_images(folder, "fashion_mnist.npz", 2000)
    return Records(X[:, 100:600], y), LogisticRegression(max_iter=300)


@kind
def neighbors(folder):
    X, y = read_adult(folder, 4000)
    X = (X - X.mean()) / (X.std() + 1e-9)
    return Records(X.to_numpy(), y), KNeighborsClassifier(5)


@kind
def svc(folder):
    records = load_sklearn("digits")
    return Records(records.X / 16, add_noise(records.y, 0.2)), SVC(C=10, probability=True)


@kind
def regression(folder):
    table = pd.read_csv(folder / "law_school.csv.gz").sample(3000, random_state=0)
    y = table.pop("ugpa").to_numpy(float)
    return Records(make_codes(table).to_numpy(float), y), RandomForestRegressor(100)


@kind
def weak_boosting(folder):
    X, y = read_adult(folder, 4000)
    return Records(X.to_numpy(), y), HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8)


@kind
def texts(folder):
    """Made documents of 40 words, of ten topics that share half of their words."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 2000)
    topics = rng.dirichlet(np.full(3000, 0.05), 10) / 2 + rng.dirichlet(np.full(3000, 0.05)) / 2
    words = np.array([f"word{k}" for k in range(3000)])
    documents = [" ".join(rng.choice(words, 40, p=topics[label])) for label in y]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    return Records(np.array(documents, dtype=object), y), model


@kind
def many_classes(folder):
    from xgboost import XGBClassifier

    X, y = read_images(folder, "cifar100_10k.npz", 8000)
    rows = y < 50
    X = X[rows] - X[rows].mean(axis=0)
    axes = np.linalg.svd(X.T @ X)[0][:, :32]
    return Records(X @ axes, y[rows]), XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1)


@kind
def augmented(folder):
    records = load_sklearn("digits")
    X = (records.X / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    crops = Augmentation(partial(random_crops, padding=1))
    net = wrap(make_conv_layers, max_epochs=40, iterator_train__collate_fn=crops)
    return Records(X, add_noise(records.y, 0.2)), net


@kind
def two_outputs(folder):
    X, income = read_adult(folder, 4000)
    sex = X.pop("sex_Male").to_numpy(int)
    X = X.drop(columns="sex_Female").to_numpy()
    labels, y = np.unique(np.column_stack([income, sex]), axis=0, return_inverse=True)
    return Records(X, y.ravel()), JointOutputs(RandomForestClassifier(100), labels)


@kind
def people(folder):
    """Stays of people with two and more of them; all stays of a person are on one side."""
    table = pd.read_csv(folder / "diabetes130.csv.gz", low_memory=False)
    person = table["patient_nbr"]
    table = table[person.groupby(person).transform("size") > 1]
    drawn = np.random.default_rng(0).permutation(table["patient_nbr"].unique())[:1200]
    table = table[table["patient_nbr"].isin(drawn)]
    y = (table["readmitted"] == "<30").to_numpy(int)
    X = make_codes(table.drop(columns=["encounter_id", "patient_nbr", "readmitted"]))
    records = Records(X.to_numpy(float), y, group_by=table["patient_nbr"].to_numpy())
    return records, RandomForestClassifier(100)
