import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records, ShadowPool, audit
from skmia.attacks import ThresholdAttack
from skmia.games import membership_game

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
from torch import nn  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).astype(np.float32)
Y = RNG.integers(3, size=80)
RECORDS = Records(X, Y)


class Logits(nn.Module):
    def __init__(self, n_outputs=3):
        super().__init__()
        self.layer = nn.Linear(4, n_outputs)

    def forward(self, x):
        return self.layer(x)


class LogProbabilities(Logits):
    def forward(self, x):
        return torch.log_softmax(super().forward(x), dim=-1)


class SharesOfLogits(Logits):
    """Outputs in [0, 1] that are not probabilities."""

    def forward(self, x):
        return torch.sigmoid(super().forward(x))


class FocalLoss(nn.Module):
    def forward(self, logits, y):
        log_p = torch.log_softmax(logits, dim=-1)[torch.arange(len(y)), y]
        return -((1 - log_p.exp()) ** 2 * log_p).mean()


class BinaryFocalLoss(nn.Module):
    def forward(self, logits, y):
        return nn.functional.binary_cross_entropy_with_logits(logits, y)


def make_net(module=Logits, criterion=FocalLoss, kind="NeuralNetClassifier", **settings):
    # So many epochs that nobody would wait for the error after a training.
    settings = {"max_epochs": 10**9, "verbose": 0, "train_split": None, **settings}
    return getattr(skorch, kind)(module, criterion=criterion, **settings)


UNKNOWN = r"predict_nonlinearity to that function, such as torch.nn.Softmax\(dim=-1\)"
NETS = {
    "logits": (make_net(), Y, f"lie between .* but not for FocalLoss.*{UNKNOWN}"),
    "in [0, 1]": (make_net(SharesOfLogits), Y, f"sum to between .*{UNKNOWN}"),
    "in a Pipeline": (make_pipeline(StandardScaler(), make_net()), Y, UNKNOWN),
    "log probabilities": (
        make_net(LogProbabilities, nn.NLLLoss),
        Y,
        "skorch takes the logarithm itself",
    ),
    "one column": (
        make_net(Logits, BinaryFocalLoss, "NeuralNetBinaryClassifier", module__n_outputs=1),
        (Y > 0).astype(np.float32),
        r"shape \(2,\), not one column per class.* but not for BinaryFocalLoss",
    ),
}


@pytest.mark.parametrize("batched", ["auto", False])
@pytest.mark.parametrize("case", NETS)
def test_answers_that_are_not_probabilities_are_refused_before_any_training(case, batched):
    net, y, message = NETS[case]
    with pytest.raises(ValueError, match=message):
        ShadowPool(net, 4, batched=batched, random_state=0).fit(Records(X, y))


def test_a_trained_victim_is_told_the_same():
    victim = make_net(max_epochs=1).fit(X[:40], Y[:40])
    with pytest.raises(ValueError, match=UNKNOWN):
        audit(victim, RECORDS, np.arange(80) < 40, shadows=4)


def test_games_refuse_before_any_training():
    attack = ThresholdAttack(signal="loss")
    with pytest.raises(ValueError, match=UNKNOWN):
        membership_game(make_net(), attack, RECORDS, n_rounds=4, random_state=0)


@pytest.mark.parametrize(
    "module, nonlinearity", [(Logits, nn.Softmax(dim=-1)), (SharesOfLogits, None)]
)
def test_a_nonlinearity_that_the_user_gives_is_believed(module, nonlinearity):
    net = make_net(module, predict_nonlinearity=nonlinearity, max_epochs=1)
    pool = ShadowPool(net, 4, random_state=0).fit(RECORDS)
    assert pool.signal_ == "scaled_logit"


def test_answers_that_need_training_are_not_asked_for_before_it():
    class Tempered(skorch.NeuralNetClassifier):
        def on_train_end(self, *args, **kwargs):
            super().on_train_end(*args, **kwargs)
            self.temperature_ = 2.0

        def predict_proba(self, X):
            logits = self.forward(X) / self.temperature_
            return torch.softmax(logits, dim=-1).numpy()

    settings = {"criterion": FocalLoss, "max_epochs": 1, "verbose": 0, "train_split": None}
    net = Tempered(Logits, **settings)
    pool = ShadowPool(net, 4, batched=False, random_state=0).fit(RECORDS)
    assert pool.signal_ == "scaled_logit"


def test_asking_first_changes_no_number():
    net = make_net(criterion=nn.CrossEntropyLoss, max_epochs=2)
    state = torch.get_rng_state()
    pools = [ShadowPool(net, 4, random_state=0).fit(RECORDS) for _ in range(2)]
    np.testing.assert_array_equal(pools[0].signals_, pools[1].signals_)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
@pytest.mark.filterwarnings("ignore:Models are trained one by one")
def test_nets_with_lazy_layers_are_trained_one_by_one():
    net = skorch.NeuralNetClassifier(
        nn.LazyLinear,
        module__out_features=3,
        criterion=nn.CrossEntropyLoss,
        train_split=None,
        max_epochs=1,
        verbose=0,
    )
    pool = ShadowPool(net, 2, random_state=0).fit(RECORDS)
    assert "lazy layer ('weight')" in pool.backend_reason_
