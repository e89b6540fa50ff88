"""What the base classes of attacks make of the few methods that a subclass writes, by hand."""

import inspect
import warnings
from contextlib import nullcontext
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import tell_refusal
from numpy import array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from skmia import Records
from skmia.base import BaseAttack, LearnedAttack, Needs, SupervisedAttack, query
from skmia.base._attack import PosteriorMixin

NO_MEMBER = np.nextafter(0.0, -1.0)


class FirstColumn(BaseAttack):
    """Scores are the first column; a record with a negative second one cannot be judged."""

    def __init__(self, victim=None, access=(), reads=("proba",)):
        self.victim = victim
        self.access = access
        self.reads = reads

    def _needs(self):
        return Needs(frozenset(self.reads), access=frozenset(self.access))

    def _fit(self, records, membership):
        self.given_ = records, membership

    def _score_samples(self, records):
        return np.asarray(records.X)[:, 0]

    def _can_judge(self, records):
        return np.asarray(records.X)[:, 1] >= 0

    def _natural_offset(self, records):
        return 2


class Learner(FirstColumn):
    """An attack that learns from known members, and needs what attacks need by default."""

    _needs = BaseAttack._needs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class Ratio(PosteriorMixin, FirstColumn):
    pass


class WithPool(FirstColumn):
    def __init__(self, victim=None, shadows=None, verbose=0):
        super().__init__(victim)
        self.shadows = shadows
        self.verbose = verbose


FIVE = Records(array([[1.0, 0], [2, 0], [2, -1], [3, 5], [3, -1]]), [0, 0, 0, 1, 1])


def test_members_are_the_judged_records_that_are_not_below_the_threshold():
    attack = FirstColumn().fit(FIVE)
    assert type(attack.offset_) is float
    assert attack.offset_ == 2
    assert attack.given_ == (FIVE, None)
    assert attack.n_features_in_ == 2
    assert attack.classes_.tolist() == [0, 1]
    assert attack.score_samples(FIVE).tolist() == [1, 2, 2, 3, 3]
    assert attack.can_judge(FIVE).tolist() == [True, True, False, True, False]
    assert attack.predict(FIVE).tolist() == [0, 1, 0, 1, 0]
    assert attack.decision_function(FIVE).tolist() == [-1, 0, NO_MEMBER, 1, NO_MEMBER]
    # Of the members, of weight 1, 2 and 4, the second is found; of the others, 1 and 3, the first.
    membership, weights = [1, 0, 0, 1, 1], [1, 1, 3, 2, 4]
    assert attack.score(FIVE, membership) == pytest.approx(1 / 3 - 1 / 2)
    assert attack.score(FIVE, membership, weights) == pytest.approx(2 / 7 - 1 / 4)


def test_known_members_set_the_threshold_of_the_judged_records():
    attack = FirstColumn().fit(FIVE, [0, 1, 1, 1, 0])
    assert attack.given_[1].tolist() == [False, True, True, True, False]
    assert attack.offset_ == 1.5
    # All that are judged are members: the threshold is not below them.
    alone = Records(array([[3.0, 0], [5, 0], [4, -1]]), [0, 1, 1])
    assert FirstColumn().fit(alone, [1, 1, 0]).offset_ == 3


@pytest.mark.parametrize(
    ("n", "n_equal", "warned"), [(20, 20, True), (19, 19, False), (20, 19, False)]
)
def test_membership_that_is_the_task_label_of_many_records_is_told(n, n_equal, warned):
    y = np.arange(n) % 2
    membership = np.where(np.arange(n) < n_equal, y, 1 - y)
    records, attack = Records(np.arange(2.0 * n).reshape(n, 2), y), FirstColumn()
    for call in (attack.fit, attack.score):
        with pytest.warns(UserWarning, match="equals their task") if warned else nullcontext():
            call(records, membership)


def test_membership_in_another_order_than_the_rows_is_told():
    records = Records(pd.DataFrame(FIVE.X, index=[5, 6, 7, 8, 9]), FIVE.y)
    with pytest.warns(UserWarning, match="order"):
        FirstColumn().fit(records, pd.Series([0, 1, 0, 1, 1], index=[6, 5, 7, 8, 9]))


def test_an_attack_that_learns_says_that_it_needs_the_membership():
    assert tell_refusal(lambda: Learner().fit(FIVE)) == (
        "Learner learns from known members and non-members. Pass their membership: "
        "fit(records, membership)."
    )
    assert Learner().fit(FIVE, [0, 1, 1, 1, 0]).offset_ == 1.5
    assert Learner().needs().known == "members and non-members"
    assert not FirstColumn().__sklearn_tags__().target_tags.required
    assert not Learner().__sklearn_tags__().input_tags.two_d_array
    assert not Learner().__sklearn_tags__().classifier_tags.multi_class


def test_features_are_those_of_the_last_fit():
    frame = Records(pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]}), [0, 1])
    attack = FirstColumn().fit(frame)
    assert attack.feature_names_in_.tolist() == ["a", "b"]
    attack.fit(FIVE)
    assert not hasattr(attack, "feature_names_in_")
    wide = Records(np.zeros((2, 3)), [0, 1])
    for method in (attack.score_samples, attack.can_judge, attack.predict):
        told = tell_refusal(lambda method=method: method(wide))
        assert told.startswith("X has 3 features, but FirstColumn is expecting 2 features")


def test_columns_are_those_of_a_victim_whose_file_is_read():
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]})
    records = Records(frame[["b", "a"]], [0, 1])
    victim = LinearRegression().fit(frame, [0, 1])
    for access, columns in (("file", ["a", "b"]), ("queries", ["b", "a"])):
        seen, _ = FirstColumn(victim, {access}).fit(records).given_
        assert [*seen.X.columns] == columns
    narrow = LinearRegression().fit([[0.0], [1.0]], [0, 1])
    assert tell_refusal(lambda: FirstColumn(narrow, {"file"}).fit(FIVE)) == (
        "X has 2 features, but LinearRegression was fitted with 1 features."
    )
    FirstColumn(narrow, {"queries"}).fit(FIVE)


def test_several_targets_are_for_attacks_that_read_them():
    several = Records(FIVE.X, np.zeros((5, 3)))
    assert FirstColumn(reads={"values"}).fit(several).predict(several).tolist() == [0, 1, 0, 1, 0]
    refusal = "FirstColumn takes records with one task label, and y has 3 columns"
    attack = FirstColumn().fit(FIVE)
    for method in (attack.fit, attack.score_samples, attack.can_judge):
        assert tell_refusal(lambda method=method: method(several)).startswith(refusal)


def test_scores_are_log_likelihood_ratios_of_members_for_a_prior():
    attack = Ratio().fit(FIVE)
    three = Records(np.log([[1.0, 1], [3, 1], [1 / 4, 1]]), [0, 0, 1])
    wanted = [[0.5, 0.5], [0.25, 0.75], [0.8, 0.2]]
    np.testing.assert_allclose(attack.predict_proba(three), wanted)
    attack.prior = 0.2  # odds of 1 to 4
    wanted = [[0.8, 0.2], [4 / 7, 3 / 7], [16 / 17, 1 / 17]]
    np.testing.assert_allclose(attack.predict_proba(three), wanted)


def test_what_an_attack_lacks_is_told_when_it_is_asked_for():
    assert tell_refusal(lambda: WithPool(n_jobs=2)) == (
        "WithPool has no parameter 'n_jobs', which belongs to the pool: "
        "shadows=ShadowPool(model, n_jobs=2)."
    )
    assert tell_refusal(lambda: FirstColumn(n_jobs=2)).endswith("argument 'n_jobs'")
    assert WithPool(verbose=3).verbose == 3
    bare = type("Bare", (BaseAttack,), {"_fit": len, "_score_samples": len})
    assert tell_refusal(bare).startswith("Bare does not define _natural_offset; the page ")
    assert tell_refusal(lambda: FirstColumn().predict_proba) == (
        "'FirstColumn' object has no attribute 'predict_proba', because its scores are not "
        "probabilities of membership; CalibratedClassifierCV(FirstColumn(...)) turns them into "
        "some."
    )
    assert tell_refusal(lambda: FirstColumn().other) == (
        "'FirstColumn' object has no attribute 'other'."
    )


@pytest.mark.parametrize("change", [lambda x: x[:1], lambda x: x[:, None]])
def test_an_attack_returns_one_score_for_each_record(change):
    class Odd(FirstColumn):
        def _score_samples(self, records):
            return change(super()._score_samples(records))

    records = Records(array([[1.0, 0.0], [2.0, 0.0]]), [0, 1])
    with pytest.raises(ValueError, match="of Odd must return one score for each of 2 records; got"):
        Odd().fit(records).score_samples(records)


def test_only_records_are_queried():
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(TypeError, match=r"Expected skmia\.Records, got ndarray; wrap"):
        query(model, array([[0.0]]))


def test_a_subclass_shows_its_own_parameters_and_what_its_methods_may_be_routed():
    def score(self, X, y, purpose=None):
        return 0

    made = type("Made", (FirstColumn,), {"score": score})
    assert [*inspect.signature(made).parameters] == ["victim", "access", "reads"]
    assert "purpose" in inspect.signature(made.set_score_request).parameters


class ByHeart(SupervisedAttack):
    """The score of a record is its number, 100 for each record learned, and 1000 if it is one."""

    def __init__(self, victim=None, cross_fit=True, cv=3, random_state=0):
        self.victim = victim
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _collect(self, records):
        return [records.X[:, 0]]

    def _learn(self, collected, membership, seed):
        return NS(rows=collected[0], members=collected[0][membership], seed=seed)

    def _judge(self, model, collected):
        return collected[0] + 100 * len(model.rows) + 1000 * np.isin(collected[0], model.rows)


def number(rows, people=None):
    """Return records with numbers, those with one of twelve numbers perhaps of six people."""
    fields = {} if people is None else {"group_by": people}
    return Records(array(rows, dtype=float)[:, None], np.zeros(len(rows), dtype=int), **fields)


TWELVE, LATER = np.arange(12), [0, 5, 6]
PEOPLE = array([*"abcdef"]).repeat(2)


def test_records_of_known_people_are_scored_by_models_that_learned_from_other_folds():
    attack = ByHeart().fit(number(TWELVE, PEOPLE), TWELVE > 5)
    assert attack.score_samples(number(TWELVE)).tolist() == [*(800 + TWELVE)]
    assert attack.offset_ == 805.5
    # A third record of each person, and one of another: the models of four people or of all six.
    more = number(20 + np.arange(7), [*"abcdef", "0"])
    assert attack.score_samples(more).tolist() == [820, 821, 822, 823, 824, 825, 1226]
    assert attack.score_samples(number([20, 3, 21])).tolist() == [1220, 803, 1221]
    assert len({model.seed for model in [attack._model, *attack._fold_models]}) == 4
    for model in attack._fold_models:
        assert len(model.members) == 4
    crowd = ByHeart().fit(number(TWELVE), TWELVE > 5)  # without people, all of whom are new
    assert crowd.score_samples(more).tolist() == [*(1220 + np.arange(7))]
    assert crowd.score_samples(number(LATER)).tolist() == [800, 805, 806]


def test_without_cross_fitting_the_threshold_is_that_of_the_records_learned_from():
    attack = ByHeart(cross_fit=False, cv=99).fit(number(TWELVE), TWELVE > 5)
    assert attack.offset_ == 2205.5
    assert attack.score_samples(number([20])).tolist() == [1220]
    assert tell_refusal(lambda: attack.score_samples(number([20, *LATER]))) == (
        "3 of 4 records are among those that the attack was fitted on. Score other records or set "
        "cross_fit=True."
    )
    assert "not fitted" in tell_refusal(
        lambda: ByHeart(LinearRegression()).fit(number(TWELVE), TWELVE > 5)
    )


class Probe(ClassifierMixin, BaseEstimator):
    """Keeps what it is fitted to, and warns; the probability of a member is its column."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        warnings.warn("more epochs", ConvergenceWarning, stacklevel=2)
        self.given_, self.classes_ = (X, y), array([0, 1])
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


class Learned(LearnedAttack):
    def __init__(self, attack_estimator=None, victim=None, cross_fit=True, cv=3, random_state=0):
        self.attack_estimator = attack_estimator
        self.victim = victim
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def _collect(self, records):
        return [records.X]

    def _make_classifier(self):
        return Probe()


def test_the_published_classifier_learns_from_columns_in_the_unit_interval():
    attack = Learned(cross_fit=False).fit(number(TWELVE), TWELVE > 5)
    *_, classifier = [step for _, step in attack._model.steps]
    X, y = classifier.given_
    assert (X[:, 0].min(), X[:, 0].max(), len(np.unique(X))) == (0, 1, 12)
    assert y.dtype == int
    assert y.sum() == 6
    assert isinstance(classifier.random_state, int)
    assert attack.offset_ == pytest.approx(0.5)
    later = number([5.5, 11.5])
    np.testing.assert_allclose(attack.score_samples(later), [0.5, 11.5 / 11])
    np.testing.assert_allclose(attack.predict_proba(later)[:, 1], [0.5, 11.5 / 11])


def test_another_classifier_learns_from_columns_as_they_are_and_warns_itself():
    own = Probe()
    with pytest.warns(ConvergenceWarning, match="more epochs"):
        attack = Learned(own, cross_fit=False).fit(number(TWELVE / 4), TWELVE > 5)
    X, y = attack._model.given_
    assert sorted(X[:, 0]) == [*(TWELVE / 4)]
    assert (X[y == 1, 0] > 5 / 4).all()
    assert attack._model.random_state is not None
    assert not hasattr(own, "given_")
