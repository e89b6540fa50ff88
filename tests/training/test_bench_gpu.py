"""The benchmark of devices runs on a CPU, with tiny nets."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

import bench_gpu  # noqa: E402
from _image_nets import ResidualNet, SmallConvNet  # noqa: E402


def test_models_per_second_of_each_way(capsys):
    bench_gpu.main(["--device", "cpu", "--nets", "600-128-100", "--models", "2"])
    row = capsys.readouterr().out.splitlines()[-1].split(" | ")
    assert row[0] == "| 600-128-100" and row[1] == "2" and row[6].endswith("x")
    assert all(float(speed) > 0 for speed in row[2:6])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_said(capsys):
    with pytest.raises(SystemExit):
        bench_gpu.main([])
    assert "torch finds no GPU here" in capsys.readouterr().err


def test_image_nets_answer_for_ten_classes():
    images = torch.zeros(2, 3, 32, 32)
    assert SmallConvNet(2)(images).shape == ResidualNet(1)(images).shape == (2, 10)
    n_weights = sum(p.numel() for p in ResidualNet().parameters())
    assert 11_000_000 < n_weights < 11_500_000  # 11.2 million, as published for 10 classes
