"""Store a picture of each example that is not run where the site is built, for lack of its data.

    SKMIA_EXAMPLE_DATA=FOLDER OMP_NUM_THREADS=1 python doc/make_pictures.py [NAME ...]

It is a figure of the fast mode; ``doc/_ext/example_pages.py`` shows it on the page, and a comment
in the script names it as the thumbnail.
"""

import io
import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]

import example_pages  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402

WIDTH, N_COLORS = 720, 64  # pixels; enough for text and lines, and less than 30 kB
# Of scripts whose second figure says more at a small size.
SECOND = ("plot_adult_pipeline", "plot_pedersen_dp_wgan")


def draw(path):
    """A figure of a script, as an image."""
    plt.show = lambda: None
    runpy.run_path(str(path), run_name="__main__")
    file = io.BytesIO()
    figure = plt.figure(plt.get_fignums()[path.stem in SECOND])
    figure.savefig(file, dpi=WIDTH / figure.get_figwidth())
    plt.close("all")
    some = Image.open(file).convert("RGB").quantize(N_COLORS, Image.Quantize.FASTOCTREE)
    return some.convert("RGB")  # a palette would be scaled without smoothing


def main(names):
    os.environ["SKMIA_EXAMPLE_FAST"] = "1"
    plt.switch_backend("Agg")
    for path in sorted((HERE.parent / "examples").rglob("plot_*.py")):
        if example_pages.needs_data(path) and (not names or path.stem in names):
            draw(path).save(HERE / example_pages.picture_of(path), optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
