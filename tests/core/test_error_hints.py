import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skmia import Records, ShadowPool, audit
from skmia._core.error_hints import get_advice
from skmia._core.query import query_victim

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
TABLE = pd.DataFrame({"age": RNG.normal(size=40), "city": ["Rome", "Oslo"] * 20, "y": Y})
MIXED = TABLE[["age", "city"]].to_numpy(dtype=object)
ONE_HOT = make_column_transformer(
    (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["age"]), remainder="passthrough"
)


@pytest.mark.parametrize(
    "X, name",
    [(TABLE, "'city'"), (MIXED, "1"), (np.array([["1", "Rome"]] * 40), "1")],
    ids=["table", "objects", "texts"],
)
def test_a_column_of_text_is_named(X, name):
    message = f"The model takes numbers, but column {name} of X holds text such as '(Rome|Oslo)'"
    records = Records(X, Y)
    with pytest.raises(RuntimeError, match=message):
        ShadowPool(LogisticRegression(), 4, random_state=0).fit(records)
    with pytest.raises(ValueError, match=message):
        audit(RandomForestClassifier(2), records, shadows=4)


def test_a_column_that_a_pipeline_leaves_out_is_named():
    model = make_pipeline(ONE_HOT, LogisticRegression())
    with pytest.raises(RuntimeError, match="column 'city' of X holds text"):
        ShadowPool(model, 4, random_state=0).fit(Records(TABLE, Y))


def test_a_victim_that_takes_no_text_names_the_column_when_it_is_asked():
    victim = LogisticRegression().fit(TABLE[["age"]].to_numpy(), Y)
    with pytest.raises(ValueError, match="column 0 of X holds text such as '(Rome|Oslo)'"):
        query_victim(victim, MIXED[:, 1:])


def test_a_search_without_its_groups_is_told_where_they_come_from():
    X, people = RNG.normal(size=(40, 2)), np.arange(40) // 4
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=GroupKFold(2))
    records = Records(np.column_stack([X, people]), Y)
    with pytest.raises(RuntimeError, match=r"divides its rows by groups.* f\(X, y\) .*'groups'"):
        ShadowPool(search, 2).fit(records)
    ShadowPool(search, 2, fit_params=lambda X, y: {"groups": X[:, 2]}).fit(records)


def test_a_last_batch_of_one_row_is_named_with_its_cure():
    skorch, torch = pytest.importorskip("skorch"), pytest.importorskip("torch")
    X = RNG.normal(size=(42, 2)).astype(np.float32)
    settings = {"criterion": torch.nn.CrossEntropyLoss, "max_epochs": 1, "train_split": None}
    settings |= {"batch_size": 10, "verbose": 0, "module__num_features": 2}
    net = skorch.NeuralNetClassifier(torch.nn.BatchNorm1d, **settings)
    records = Records(X, np.arange(42) % 2)
    with pytest.raises(RuntimeError, match="last batch of an epoch has one row.*drop_last=True"):
        ShadowPool(net, 2, batched=False).fit(records)
    ShadowPool(net.set_params(iterator_train__drop_last=True), 2, batched=False).fit(records)


def test_a_schedule_for_the_batches_of_another_training_set_is_named_with_its_cure():
    skorch, torch = pytest.importorskip("skorch"), pytest.importorskip("torch")
    records = Records(RNG.normal(size=(40, 2)).astype(np.float32), Y)

    def fit(**settings):
        policy = torch.optim.lr_scheduler.OneCycleLR
        schedule = skorch.callbacks.LRScheduler(policy, max_lr=0.5, **settings)
        net = skorch.NeuralNetClassifier(
            torch.nn.Linear,
            module__in_features=2,
            module__out_features=2,
            criterion=torch.nn.CrossEntropyLoss,
            train_split=None,
            callbacks=[schedule],
            batch_size=5,
            max_epochs=3,
        )
        return ShadowPool(net, 2, batched=False).fit(records)

    with pytest.raises(RuntimeError, match="ends after 6 steps.*max_epochs>, step_every='epoch'"):
        fit(epochs=3, steps_per_epoch=2, step_every="batch")  # of a victim of 10 records
    fit(total_steps=3, step_every="epoch")


def test_other_errors_are_left_as_they_are():
    assert get_advice(ValueError("another one"), LogisticRegression(), TABLE) is None
    gone = ValueError("could not convert string to float: 'Paris'")  # of another table
    assert get_advice(gone, LogisticRegression(), TABLE) is None
    with pytest.raises(ValueError, match="features, but LogisticRegression is expecting"):
        query_victim(
            LogisticRegression().fit(TABLE[["age"]].to_numpy(), Y), MIXED[:, [0, 0]].astype(float)
        )


@pytest.fixture
def net():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    from skorch.toy import MLPModule

    return skorch.NeuralNetClassifier(
        MLPModule, criterion=torch.nn.CrossEntropyLoss, max_epochs=1, verbose=0, train_split=None
    )


WIDE = RNG.normal(size=(40, 20))


@pytest.mark.parametrize("batched", ["auto", False])
def test_records_in_double_precision_are_named_before_nets_are_trained(net, batched):
    net.set_params(max_epochs=10**9)  # which nobody would wait for
    message = r"weights of the net are float32 and the records float64.*astype\('float32'\)"
    pool = ShadowPool(net, 4, batched=batched, random_state=0)
    with pytest.raises(ValueError, match=message):
        pool.fit(Records(WIDE, Y))


def test_records_in_double_precision_are_named_by_audits(net):
    import torch

    fitted = clone(net).fit(WIDE.astype(np.float32), Y)
    for victim, membership in ((net, None), (fitted, Y)):
        with pytest.raises(ValueError, match=r"the records float64.*X.astype\('float32'\)"):
            audit(victim, Records(WIDE, Y), membership, shadows=4)
    tensors = Records(torch.as_tensor(WIDE), Y)
    with pytest.raises(ValueError, match=r"the records float64.*X.to\(torch.float32\)"):
        audit(fitted, tensors, Y, shadows=4)


def test_a_step_that_returns_double_precision_is_named(net):
    class Doubling(StandardScaler):
        def transform(self, X, copy=None):
            return super().transform(X, copy).astype(float)

    model = make_pipeline(Doubling(), net)
    records = Records(WIDE.astype(np.float32), Y)
    with pytest.raises(ValueError, match=r"steps before it.*FunctionTransformer\(np.float32\)"):
        ShadowPool(model, 4, random_state=0).fit(records)


def get_months(X):
    return X[["age"]].assign(month=X["day"].dt.month)


def test_steps_that_take_another_kind_of_table_are_not_damaged():
    days = TABLE[["age"]].assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(range(40), "D"))
    model = make_pipeline(FunctionTransformer(get_months), LogisticRegression()).fit(days, Y)
    cure = "Give the rows and columns in the types that they had in training"
    with pytest.raises(ValueError, match=rf"Can only use \.dt accessor .*\. {cure}\."):
        query_victim(model, days.astype({"day": str}))
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"age": days["age"].to_numpy(), "day": days["day"].to_numpy()})
    with pytest.raises(ValueError, match=rf"'assign'\. {cure}, such as X\.to_pandas\(\)\."):
        query_victim(model, table)


def test_a_column_transformer_takes_no_table_of_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    model = make_pipeline(ONE_HOT, LogisticRegression()).fit(TABLE[["age", "y"]], Y)
    table = pyarrow.table({"age": TABLE["age"].to_numpy(), "y": Y})
    with pytest.raises(ValueError, match=r"takes tables of pandas or polars.* X\.to_pandas\(\)"):
        query_victim(model, table)
