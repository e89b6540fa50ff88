"""Evidence in a file larger than the memory is read block by block."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA

N_MODELS, N_RECORDS = 256, 20_000


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """Records and a pool whose evidence, 20 MB, is in memory and in a memory-mapped file."""
    rng = np.random.default_rng(0)
    inside = rng.random((N_MODELS, N_RECORDS)) < 0.5
    inside[1::2] = ~inside[::2]
    answers = Outputs(rng.normal(size=(N_RECORDS, 2)), [0, 1], "logits")
    records = Records(np.arange(N_RECORDS)[:, None], np.ones(N_RECORDS, int), outputs=answers)
    scores = rng.standard_normal(size=inside.shape, dtype=np.float32) + inside
    in_memory = ShadowPool.from_scores(scores, inside, records)
    path = tmp_path_factory.mktemp("pool") / "signals.npy"
    np.save(path, in_memory.signals_)
    answers = replace(in_memory.to_answers(), signals=np.load(path, mmap_mode="r"))
    return records, in_memory, in_memory.with_answers(answers)


def find_peak(function):
    """Most memory, in bytes, that Python and numpy took at once."""
    tracemalloc.start()
    result = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


@pytest.mark.filterwarnings("ignore:target_fpr=0.1 may be missed")  # answers are noise here
@pytest.mark.parametrize(
    "attack, order",
    [
        pytest.param(attack, order, marks=[] if order in orders else [pytest.mark.slow])
        for attack, orders in [
            (LiRA(), ["in part"]),
            (LiRA(variance="example", online=False), ["of the pool"]),
            (LiRA(target_fpr=0.1), ["any"]),
            (RMIA(temperature=1.0), ["any"]),
            (CalibratedAttack(), []),
        ]
        for order in ("of the pool", "any", "in part")
    ],
    ids=str,
)
def test_a_file_is_not_taken_into_memory(mapped, monkeypatch, attack, order):
    # What is read at once and what a threshold rests on are bounded; here relative to the file.
    monkeypatch.setattr("skmia.base._pool_attack._BLOCK", 1 << 17)
    monkeypatch.setattr("skmia.attacks._lira._N_SAMPLE_VALUES", 1 << 17)
    monkeypatch.setattr("skmia.shadow._answers._BLOCK", 1 << 17)
    monkeypatch.setattr("skmia.shadow._answers._FEWEST_RECORDS", 1)
    monkeypatch.setattr("skmia.base._pool_attack.count_pseudo_victims", lambda *sizes: 1)
    records, in_memory, on_disk = mapped
    if order != "of the pool":
        permutation = np.random.default_rng(1).permutation(N_RECORDS)
        records = records[permutation[: N_RECORDS // 2 if order == "in part" else None]]
    expected = attack.set_params(shadows=FrozenEstimator(in_memory)).fit(records)
    expected = expected.score_samples(records)
    attack.set_params(shadows=FrozenEstimator(on_disk))
    scores, peak = find_peak(lambda: attack.fit(records).score_samples(records))
    np.testing.assert_array_equal(scores, expected)
    # A block and some numbers for each record, of which the file holds 256.
    assert peak < 0.2 * on_disk.signals_.nbytes


def test_memory_does_not_grow_with_the_number_of_models(mapped, monkeypatch):
    monkeypatch.setattr("skmia.base._pool_attack._BLOCK", 1 << 16)
    monkeypatch.setattr("skmia.attacks._lira._N_SAMPLE_VALUES", 1 << 16)
    monkeypatch.setattr("skmia.shadow._answers._BLOCK", 1 << 16)
    monkeypatch.setattr("skmia.shadow._answers._FEWEST_RECORDS", 1)
    records, _, on_disk = mapped
    peaks = []
    for n_models in (N_MODELS // 4, N_MODELS):
        attack = LiRA(shadows=FrozenEstimator(on_disk.first(n_models)))
        peaks.append(find_peak(lambda a=attack: a.fit(records).score_samples(records))[1])
    assert peaks[1] < 1.2 * peaks[0]
