"""The benchmark of devices runs on a CPU, with tiny nets."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")

import bench_gpu  # noqa: E402
from _image_nets import ResidualNet, SmallConvNet  # noqa: E402


@pytest.mark.slow  # a benchmark of all tables, of nothing that the package does
def test_all_tables_of_a_net(capsys):
    bench_gpu.main(["--device", "cpu", "--nets", "dropout twice", "--models", "2"])
    _, speeds, _, equality, convolutions = capsys.readouterr().out.split("\n\n")
    row = dict(zip(bench_gpu.COLUMNS, speeds.splitlines()[-1].strip("| ").split(" | ")))
    assert (row["net"], row["models"]) == ("dropout twice", "2")
    assert row["ratio"].endswith("x")
    assert all(float(row[name]) > 0 for name in bench_gpu.CHANGES)
    rows = [line.strip("| ").split(" | ") for line in equality.splitlines()[2:]]
    assert [row[1] for row in rows] == list(bench_gpu.COMPARED)
    assert rows[0][2] == "0.0e+00" and all(0 < float(row[3]) < 1 for row in rows)
    assert len(convolutions.splitlines()) == 4


def test_convolutions_in_all_layouts_are_equal():
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(4, 3, 2, 5, 5, generator=rng)
    weight = torch.randn(3, 6, 2, 3, 3, generator=rng)
    expected = bench_gpu.convolve_each(x, weight).flatten()
    for function in bench_gpu.LAYOUTS.values():
        torch.testing.assert_close(function(x, weight).flatten(), expected, rtol=0, atol=1e-5)


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
