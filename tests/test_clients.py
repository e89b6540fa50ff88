"""Libraries of others use the estimators and the tables as they use those of scikit-learn."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.victims import CallableVictim

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries about each other


@pytest.fixture(scope="module")
def problem():
    return make_membership_problem(200, random_state=0)


@pytest.fixture(scope="module")
def victim(problem):
    records, membership = problem
    members = records[membership == 1]
    return FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(members.X, members.y))


def test_optuna_searches_with_a_pool_that_grows(problem, victim):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    records, membership = problem
    pool = ShadowPool(DecisionTreeClassifier(max_depth=3), 4, warm_start=True, random_state=0)
    seen = []

    def objective(trial):
        n_models = 4 * trial.suggest_int("fours", 1, 4)
        if n_models > pool.n_estimators or not seen:
            pool.set_params(n_estimators=max(n_models, pool.n_estimators)).fit(records)
        seen.append(len(pool.membership_))
        variance = trial.suggest_categorical("variance", ["pooled", "shrunk"])
        attack = LiRA(victim, FrozenEstimator(pool), variance=variance).fit(records)
        return roc_auc_score(membership, attack.score_samples(records))

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))
    for fours in (1, 3):
        study.enqueue_trial({"fours": fours, "variance": "shrunk"})
    study.optimize(objective, n_trials=6)
    assert seen == sorted(seen) and seen[0] < seen[-1]
    once = ShadowPool(DecisionTreeClassifier(max_depth=3), seen[-1], random_state=0).fit(records)
    np.testing.assert_array_equal(once.signals_, pool.signals_)
    assert study.best_value > 0.6


def test_mlflow_stores_a_fitted_attack(problem, victim, tmp_path):
    sklearn = pytest.importorskip("mlflow.sklearn")
    records = problem[0]
    attack = ThresholdAttack(victim).fit(records)
    sklearn.save_model(attack, tmp_path / "attack", serialization_format="cloudpickle")
    again = sklearn.load_model(str(tmp_path / "attack"))
    np.testing.assert_array_equal(again.score_samples(records), attack.score_samples(records))


def test_a_classifier_of_sktime_is_asked_through_a_function(problem):
    dummy = pytest.importorskip("sktime.classification.dummy")
    records, membership = problem
    model = dummy.DummyClassifier().fit(records.X[membership == 1][:, None], records.y[:100])
    with pytest.raises(TypeError, match=r"sktime\.DummyClassifier is no estimator of scikit-learn"):
        ThresholdAttack(model).fit(records)
    asked = CallableVictim(lambda X: model.predict_proba(X[:, None]), model.classes_)
    scores = ThresholdAttack(asked).fit(records).score_samples(records)
    proba = model.predict_proba(records.X[:, None])
    own = proba[np.arange(200), np.searchsorted(model.classes_, records.y)]
    np.testing.assert_allclose(scores, np.log(own))


def test_a_booster_of_xgboost_is_asked_through_a_function(problem):
    xgboost = pytest.importorskip("xgboost")
    records, membership = problem
    members = records[membership == 1]
    data = xgboost.DMatrix(members.X, members.y)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 20)

    def ask(X):
        proba = booster.predict(xgboost.DMatrix(X))
        return np.column_stack([1 - proba, proba])

    attack = ThresholdAttack(CallableVictim(ask, [0, 1])).fit(records)
    assert roc_auc_score(membership, attack.score_samples(records)) > 0.6


def test_a_trainer_of_transformers_is_asked_through_a_function(problem, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    torch = pytest.importorskip("torch")
    records, membership = problem
    X = records.X.astype(np.float32)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(X.shape[1], 2)

        def forward(self, x, labels=None):
            logits = self.line(x)
            loss = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
            return {"loss": loss, "logits": logits} if loss is not None else {"logits": logits}

    torch.manual_seed(0)
    rows = [
        {"x": x, "labels": int(y)} for x, y in zip(X[membership == 1], records.y[membership == 1])
    ]
    settings = transformers.TrainingArguments(
        str(tmp_path), num_train_epochs=2, report_to=[], use_cpu=True, disable_tqdm=True, seed=0
    )
    trainer = transformers.Trainer(Net(), settings, train_dataset=rows)
    trainer.train()

    def ask(batch):
        logits = trainer.predict([{"x": x} for x in batch.astype(np.float32)]).predictions
        return torch.softmax(torch.tensor(logits, dtype=torch.float64), dim=1).numpy()

    outputs = Records(X, records.y).with_outputs(CallableVictim(ask, [0, 1]))["outputs"]
    assert outputs.values.shape == (200, 2)


def test_a_module_of_lightning_is_asked_through_a_function(problem, tmp_path):
    lightning = pytest.importorskip("lightning")
    torch = pytest.importorskip("torch")
    records, membership = problem
    X, y = torch.tensor(records.X).float(), torch.tensor(records.y)

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(X.shape[1], 2)

        def training_step(self, batch):
            return torch.nn.functional.cross_entropy(self.line(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    members = torch.utils.data.TensorDataset(X[membership == 1], y[membership == 1])
    net, quiet = Net(), {"enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, default_root_dir=tmp_path, **quiet
    )
    trainer.fit(net, torch.utils.data.DataLoader(members, batch_size=20))

    def ask(batch):
        with torch.no_grad():
            return net.line(torch.tensor(batch).float()).softmax(dim=1).numpy()

    attack = ThresholdAttack(CallableVictim(ask, [0, 1])).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()
