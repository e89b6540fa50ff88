"""Models that are trained here write nothing of the user's, and learn as with what writes."""

import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from cells import slow_but
from sklearn.neural_network import MLPClassifier

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from skorch.callbacks import (  # noqa: E402
    Callback,
    Checkpoint,
    EarlyStopping,
    LoadInitState,
    ProgressBar,
    TensorBoard,
    TrainEndCheckpoint,
)

from skmia import Records, ShadowPool, audit  # noqa: E402
from skmia._core.caches import clone_to_train  # noqa: E402
from skmia._core.writers import OwnPath, OwnPlace  # noqa: E402
from skmia.attacks import LiRA  # noqa: E402
from skmia.datasets import make_membership_problem  # noqa: E402
from skmia.games import retraining_oracle  # noqa: E402
from skmia.games.unlearning import FineTuning  # noqa: E402
from skmia.report import drift_test  # noqa: E402

RECORDS, MEMBERSHIP = make_membership_problem(160, random_state=0)
RECORDS = Records(RECORDS.X.astype(np.float32), RECORDS.y.astype(np.int64))
MEMBERS = RECORDS[MEMBERSHIP == 1]


class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(
            torch.nn.Linear(RECORDS.X.shape[1], 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )


class Table(Callback):
    """Writes the history into a file of the user."""

    def __init__(self, path):
        self.path = path

    def on_epoch_end(self, net, **kwargs):
        with open(self.path, "a") as file:
            file.write(f"{net.history[-1, 'train_loss']}\n")


class OtherTable(Table):
    def on_epoch_end(self, net, **kwargs):
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("an epoch")


class Average(Callback):
    """Averages the weights, and saves the average on the way."""

    def __init__(self, folder, share=0.5):
        self.folder = folder
        self.share = share

    def on_train_begin(self, net, **kwargs):
        self.average_ = {name: part.clone() for name, part in net.module_.state_dict().items()}

    def on_epoch_end(self, net, **kwargs):
        for name, part in net.module_.state_dict().items():
            self.average_[name] = self.share * self.average_[name] + (1 - self.share) * part
        if self.folder is not None:
            os.makedirs(self.folder, exist_ok=True)
            torch.save(self.average_, os.path.join(self.folder, "average.pt"))

    def on_train_end(self, net, **kwargs):
        net.module_.load_state_dict(self.average_)


class Best(Callback):
    """Loads the best weights from memory, as a checkpoint does from its file."""

    def on_epoch_end(self, net, **kwargs):
        if net.history[-1, "train_loss_best"]:
            self.best_ = {name: part.clone() for name, part in net.module_.state_dict().items()}

    def on_train_end(self, net, **kwargs):
        net.module_.load_state_dict(self.best_)


class Fixed(Callback):
    """Writes at a place that is no parameter."""

    def on_train_end(self, net, **kwargs):
        Path("fixed.txt").write_text("done")


class FixedSchedule(Fixed):
    def on_epoch_end(self, net, **kwargs):
        for group in net.optimizer_.param_groups:
            group["lr"] *= 0.5


class Events:
    """Stands for the writer of TensorBoard, with a lock that cannot be copied."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()

    def add_scalar(self, tag, scalar_value, global_step=None):
        with open(self.path, "a") as file:
            file.write(f"{tag} {scalar_value}\n")

    def close(self):
        pass


pytestmark = pytest.mark.filterwarnings("ignore:.*not writable")


def make_net(*callbacks, lr=1.0, **settings):
    return skorch.NeuralNetClassifier(
        Net,
        criterion=torch.nn.CrossEntropyLoss,
        callbacks=list(callbacks),
        lr=lr,
        max_epochs=4,
        batch_size=16,
        train_split=None,
        verbose=0,
        **settings,
    )


def list_files(folder):
    """Names of all files and folders, with the digests of the files."""
    return {
        str(path.relative_to(folder)): path.is_file()
        and hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
    }


def make_callbacks(name):
    saved = Checkpoint(monitor="train_loss_best", dirname="saved")
    return {
        "checkpoint": lambda: [saved],
        "named": lambda: [("cp", Checkpoint(monitor="train_loss_best", dirname="saved"))],
        "at the end": lambda: [TrainEndCheckpoint(dirname="end")],
        "resumes": lambda: [saved, LoadInitState(saved)],
        "tensorboard": lambda: [TensorBoard(Events("events.txt"))],
        "fixed": lambda: [Fixed()],
        "best": lambda: [Checkpoint(monitor="train_loss_best", dirname="best", load_best=True)],
        "best at a path": lambda: [
            Checkpoint(
                monitor="train_loss_best",
                f_params=os.path.abspath("best.pt"),
                f_optimizer=None,
                f_criterion=None,
                f_history=None,
                load_best=True,
            )
        ],
        "table": lambda: [Table("history.csv")],
        "pathlib": lambda: [OtherTable(Path("tables/history.csv"))],
        "average": lambda: [Average("averages")],
        "sink": lambda: [EarlyStopping("train_loss", sink=Path("sink.txt").write_text)],
    }[name]()


LEFT_OUT = ["checkpoint", "named", "at the end", "resumes", "tensorboard", "fixed"]
MOVED = ["best", "best at a path", "table", "pathlib", "average"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which the user works, and one for temporary files."""
    (tmp_path / "user").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "user")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "user"


@pytest.mark.parametrize(
    "name",
    slow_but(
        [*LEFT_OUT, *MOVED, "sink"],
        *("checkpoint", "resumes", "tensorboard", "fixed", "best", "table", "average", "sink"),
    ),
)
def test_a_pool_changes_no_file(name, folder):
    net = make_net(*make_callbacks(name)).fit(MEMBERS.X, MEMBERS.y)
    before = list_files(folder)
    pool = ShadowPool(net, n_estimators=2, random_state=0).fit(RECORDS)
    assert list_files(folder) == before
    told = " ".join(pool.notes_)
    assert ("left out" in told) == (name in LEFT_OUT)
    assert ("a temporary folder" in told) == (name in MOVED)


@pytest.mark.parametrize("name", ["best", pytest.param("checkpoint", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("quick_audits")
def test_an_audit_and_its_parts_change_no_file(name, folder):
    net = make_net(*make_callbacks(name)).fit(MEMBERS.X, MEMBERS.y)
    before = list_files(folder)
    attacks = {"LiRA": LiRA()}
    report = audit(net, RECORDS, MEMBERSHIP, shadows=4, attacks=attacks, random_state=0)
    assert list_files(folder) == before and "callback" in " ".join(report.notes)
    drift_test(net, RECORDS, MEMBERSHIP, random_state=0)
    retraining_oracle(net, RECORDS, MEMBERSHIP, n_rounds=1, random_state=0)
    ShadowPool(net, n_estimators=2, random_state=0, checkpoint=folder.parent / "kept").fit(RECORDS)
    assert list_files(folder) == before
    assert not list((folder.parent / "temporary").glob("skmia-*"))


def test_a_copy_of_a_fitted_net_that_is_trained_further_changes_no_file(folder):
    saved = Checkpoint(monitor=None, dirname="saved")
    net = make_net(saved, Average("averages")).fit(MEMBERS.X, MEMBERS.y)
    before = list_files(folder)
    forget = np.arange(4)
    keep = np.arange(4, len(MEMBERS))
    FineTuning(n_epochs=1)(net, MEMBERS, keep, forget, np.random.default_rng(0))
    assert list_files(folder) == before
    assert dict(net.callbacks_)["Average"].folder == "averages"


@pytest.mark.parametrize(
    ("writing", "silent"),
    [
        (Checkpoint(monitor="train_loss_best", load_best=True), Best()),
        (Average("averages"), Average(None)),
        (Checkpoint(monitor="train_loss_best"), EarlyStopping("train_loss", patience=100)),
    ],
    ids=["best", "average", "left out"],
)
def test_clones_learn_as_without_files(writing, silent, folder):
    pools = [
        ShadowPool(make_net(callback), n_estimators=2, random_state=0, batched=False).fit(RECORDS)
        for callback in (writing, silent)
    ]
    np.testing.assert_array_equal(pools[0].signals_, pools[1].signals_)


def test_the_effect_of_the_best_weights_is_not_lost(folder):
    pools = [
        ShadowPool(make_net(*callbacks, lr=5.0), n_estimators=2, random_state=0, batched=False)
        for callbacks in ([Best()], [])
    ]
    best, last = (pool.fit(RECORDS).signals_ for pool in pools)
    assert not np.array_equal(best, last)


@pytest.mark.slow
def test_workers_have_folders_of_their_own(folder):
    net = make_net(*make_callbacks("best"))
    pools = [
        ShadowPool(net, n_estimators=4, random_state=0, n_jobs=n_jobs).fit(RECORDS)
        for n_jobs in (1, 2)
    ]
    assert not list_files(folder)
    np.testing.assert_array_equal(pools[0].signals_, pools[1].signals_)


def test_a_callback_that_learns_and_writes_at_a_fixed_place_is_refused(folder):
    with pytest.raises(ValueError, match=r"FixedSchedule writes files.*estimator= without it"):
        ShadowPool(make_net(FixedSchedule()), n_estimators=2).fit(RECORDS)


def test_a_class_with_parameters_that_the_net_sets(folder):
    settings = {"monitor": "train_loss_best", "dirname": "saved", "load_best": True}
    settings = {f"callbacks__Checkpoint__{name}": value for name, value in settings.items()}
    net = make_net(Checkpoint, **settings)
    quiet = clone_to_train(net)
    ((callback),) = quiet.callbacks
    assert callback.load_best and callback.dirname.startswith(str(folder.parent / "temporary"))
    assert not [name for name in vars(quiet) if name.startswith("callbacks__")]


def test_weights_of_another_training_are_read_and_said(folder):
    pretrained = Checkpoint(dirname="pretrained")
    said = []
    quiet = clone_to_train(make_net(LoadInitState(pretrained)), said)
    assert type(quiet.callbacks[0]) is LoadInitState
    assert quiet.callbacks[0].checkpoint.dirname == "pretrained"
    assert "start from the weights" in said[0]


def test_what_prints_is_left_out_without_a_note(folder, capsys):
    said = []
    quiet = clone_to_train(make_net(ProgressBar()).set_params(verbose=1), said)
    assert quiet.callbacks == [] and quiet.verbose == 0 and said == []
    assert clone_to_train(MLPClassifier(verbose=True)).verbose is False


def test_places_differ_and_go_with_their_copies(folder):
    import copy
    import pickle

    for kind in (OwnPlace, OwnPath):
        places = [kind("a.csv")]
        places += [copy.deepcopy(places[0]), pickle.loads(pickle.dumps(places[0]))]
        assert len(set(map(str, places))) == 3
        assert all(os.path.isdir(os.path.dirname(place)) for place in places)
        assert all(os.path.basename(place) == "a.csv" for place in places)
        folders = [os.path.dirname(str(place)) for place in places]
        del places
        assert not any(map(os.path.exists, folders))


def test_boosters_write_nothing(folder):
    xgboost = pytest.importorskip("xgboost")
    (folder / "rounds").mkdir()
    saves = xgboost.callback.TrainingCheckPoint("rounds", interval=1)
    model = xgboost.XGBClassifier(n_estimators=2, callbacks=[saves], n_jobs=1)
    pool = ShadowPool(model, n_estimators=2, random_state=0).fit(RECORDS)
    assert list_files(folder) == {"rounds": False}
    assert "TrainingCheckPoint" in pool.notes_[0]


def test_catboost_writes_nothing_and_does_not_resume(folder):
    catboost = pytest.importorskip("catboost")
    files = {"train_dir": "trained", "save_snapshot": True, "snapshot_file": "snapshot.bin"}
    model = catboost.CatBoostClassifier(iterations=2, verbose=1, thread_count=1, **files)
    pool = ShadowPool(model, n_estimators=2, random_state=0).fit(RECORDS)
    assert not list_files(folder)
    assert "save_snapshot, snapshot_file, train_dir" in pool.notes_[0]
    quiet = catboost.CatBoostClassifier(
        iterations=2, logging_level="Silent", thread_count=1, allow_writing_files=False
    )
    again = ShadowPool(quiet, n_estimators=2, random_state=0).fit(RECORDS)
    np.testing.assert_array_equal(pool.signals_, again.signals_)


def test_callbacks_for_fit_of_lightgbm(folder):
    lightgbm = pytest.importorskip("lightgbm")
    recorded = {}
    given = {"callbacks": [lightgbm.record_evaluation(recorded)]}
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1)
    pool = ShadowPool(model, n_estimators=2, random_state=0, fit_params=given).fit(RECORDS)
    assert not recorded and "RecordEvaluation" in " ".join(pool.notes_)
