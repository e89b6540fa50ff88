"""Files that the command line does not open: what each of them is, and what to do with it.

Nothing here opens a model: a file is told by its name, its first bytes and the names in an archive.
"""

import os
from zipfile import BadZipFile, ZipFile

from ._options import BOOSTERS, ONNX, PICKLES, CommandError

MODELS = (".skops", *PICKLES, *BOOSTERS, ONNX)
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
TABLES = (*TEXTS, ".parquet", ".arrow", ".feather")

_TORCH = "a torch net"
_KERAS = "a Keras model"
_HDF5 = "an HDF5 file, as of a Keras model"
_R = "a file of R"
_ARCHIVE = "an archive"
_MODELS = {
    ".keras": _KERAS,
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".pt2": _TORCH,
    ".ckpt": "a checkpoint of a net",
    ".safetensors": "the weights of a net",
    ".gguf": "a language model",
    ".ggml": "a language model",
    ".pmml": "a PMML file",
    ".pfa": "a PFA file",
    ".rds": _R,
    ".rdata": _R,
    ".rda": _R,
    ".mlmodel": "a Core ML model",
    ".mlpackage": "a Core ML model",
    ".tflite": "a TensorFlow Lite model",
    ".pb": "a TensorFlow model",
    ".dill": "a pickle of another kind",
    ".cloudpickle": "a pickle of another kind",
    ".mojo": "a model of H2O",
    ".pdparams": "the weights of a net",
    ".bin": "a file of weights or of another package",
    ".model": "a file of another package",
    ".npy": "an array",
    ".npz": "arrays",
    ".zip": _ARCHIVE,
    ".tar": _ARCHIVE,
    ".tgz": _ARCHIVE,
    ".tar.gz": _ARCHIVE,
    ".gz": _ARCHIVE,
    ".7z": _ARCHIVE,
}
_TABLES = {
    ".xlsx": "an Excel table",
    ".xls": "an Excel table",
    ".xlsb": "an Excel table",
    ".ods": "a table of LibreOffice",
    ".sav": "an SPSS table",
    ".zsav": "an SPSS table",
    ".por": "an SPSS table",
    ".dta": "a Stata table",
    ".sas7bdat": "a SAS table",
    ".xpt": "a SAS table",
    ".jsonl": "a table in JSON lines",
    ".orc": "an ORC table",
    ".sqlite": "a database",
    ".db": "a database",
}

_PICKLE, _SKOPS = "a pickle", "a skops file"
# First bytes of files, at their places.
_SIGNS = (
    (0, b"\x89HDF\r\n\x1a\n", _HDF5),
    (0, b"GGUF", "a language model"),
    (0, b"\x93NUMPY", "an array"),
    (4, b"TFL3", "a TensorFlow Lite model"),
    (7, b'\0{"', "the weights of a net"),  # behind the length of the header
    (0, b"RDX", _R),
    (0, b"$FL", "an SPSS table"),
    (0, b"\xd0\xcf\x11\xe0", "an Excel table"),
    (0, b"PAR1", "a parquet table"),
    (0, b"ARROW1", "an Arrow table"),
    *((0, bytes([0x80, number]), _PICKLE) for number in range(2, 6)),
)
# Names in an archive, by which it is told.
_MEMBERS = (
    ("schema.json", _SKOPS),
    ("metadata.json", _KERAS),
    ("model.weights.h5", _KERAS),
    ("xl/workbook.xml", "an Excel table"),
    ("xl/workbook.bin", "an Excel table"),
    ("data.pkl", _TORCH),
    ("constants.pkl", _TORCH),
    ("model.ini", "a model of H2O"),
)
# Files in a folder, by which it is told.
_FOLDERS = (
    ("MLmodel", "an MLflow model"),
    ("saved_model.pb", "a TensorFlow model"),
    ("keras_metadata.pb", _KERAS),
    ("config.json", "a model of Hugging Face"),
    ("tokenizer.json", "a model of Hugging Face"),
    ("adapter_config.json", "an adapter of a language model"),
    ("predictor.pkl", "a predictor of AutoGluon"),
    ("metadata", "a model of Spark"),
    ("Manifest.json", "a Core ML model"),
    ("checkpoint", "checkpoints of a net"),
)
_MOST_READ = 16  # bytes


def read_suffix(path):
    """Return the suffix of a file in small letters; of a compressed one with the suffix below."""
    lower = path.name.lower()
    return next((suffix for suffix in (*TABLES, ".tar.gz") if lower.endswith(suffix)), None) or (
        path.suffix.lower()
    )


def names_model(path):
    """Return whether a path is that of a model, of a kind that is opened or of another one."""
    if path.is_dir():
        return _tell_folder(path) is not None
    if path.suffix in MODELS:
        return True
    suffix = read_suffix(path)
    if suffix in _MODELS or suffix in TABLES:
        return suffix in _MODELS
    kind = _tell_content(path)  # many a pickle is named model.sav, or has no suffix
    return kind is not None and not kind.endswith("table")


def is_known_table(path):
    """Return whether a path has the suffix of a table that is read."""
    return read_suffix(path) in TABLES


def refuse_other_model(path, option, *, reads_onnx=True):
    """Refuse what is not a model that is opened, with what it is and what can be done."""
    told = _tell_model(path, reads_onnx)
    if told is not None:
        raise CommandError(f"{option}: {told}")


def refuse_other_table(path, option):
    """Refuse a table in a format that is not read, and a model in the place of a table."""
    kind = _tell_folder(path) if path.is_dir() else _tell_table(path)
    if kind is None:
        return
    if kind in _TABLES.values():
        raise CommandError(f"{option}: {path.name} is {kind}; save it as .csv or .parquet")
    raise CommandError(
        f"{option}: {path.name} is {kind}, and a table is needed: a {', '.join(TABLES)} file or a "
        "folder of parquet"
    )


def _tell_table(path):
    suffix, kind = read_suffix(path), _tell_content(path)
    if suffix in TABLES:  # whatever its first bytes look like, unless they are another file's
        return kind if kind in _TABLES.values() else None
    if kind is not None and not kind.endswith("table"):
        return kind
    if path.suffix in MODELS:
        return None if path.suffix in BOOSTERS else "a model"
    return kind or _TABLES.get(suffix) or _MODELS.get(suffix)


def _tell_model(path, reads_onnx):
    """Return the sentence about a file or folder that is not opened as a model, or None."""
    name = path.name
    if path.is_dir():
        kind = _tell_folder(path) or "a folder and not a file"
        return f"{name} is {kind}. {advise_on_model(path, kind, reads_onnx=reads_onnx)}"
    suffix, kind = path.suffix, _tell_content(path)
    if kind == _SKOPS:
        renamed = f"{name} is {_SKOPS}: rename it to {path.with_suffix('.skops').name}"
        return None if suffix == ".skops" else renamed
    if kind == _PICKLE:
        renamed = path.with_suffix(".pkl").name
        return (
            None
            if suffix in PICKLES
            else f"{name} is {_PICKLE}: rename it to {renamed}, and give --trust-pickle if you "
            "trust where it comes from"
        )
    if suffix == ONNX and not reads_onnx:
        kind = "an ONNX file, which skmia audit opens and skmia inspect does not"
    elif kind is None and suffix not in MODELS:
        suffix = read_suffix(path)
        kind = "a table" if suffix in TABLES else _MODELS.get(suffix) or _TABLES.get(suffix)
        kind = kind or "of a kind that is not known"
    elif kind is None and suffix == ".txt" and _read_file_start(path)[:4] != b"tree":
        kind = "text, and not a model of LightGBM"
    if kind is None:
        return None
    return f"{name} is {kind}. {advise_on_model(path, kind, reads_onnx=reads_onnx)}"


_NETS = (_TORCH, "a checkpoint of a net", "checkpoints of a net", "the weights of a net")
_LANGUAGE = ("a language model", "a model of Hugging Face", "an adapter of a language model")


def advise_on_model(path=None, kind="", *, reads_onnx=True):
    """Return what is opened, and what to do with a model of another kind."""
    formats = (
        f".skops, {_join_file_names(PICKLES)} with --trust-pickle, "
        f"{_join_file_names(BOOSTERS)} of boosters"
    )
    opens = f"skmia opens {formats}" + (f", and {ONNX}" if reads_onnx else "")
    if path is not None and path.is_dir() and (path / "model.pkl").is_file():
        opens += f", such as {path / 'model.pkl'} in this folder"
    answers = "its answers to the records, with skmia audit --answers FILE"
    if kind == _ARCHIVE:
        return f"{opens}. Unpack it; of a model of another kind give {answers}"
    if kind in _TABLES.values():
        return f"{opens}. Save a table as .csv or .parquet; of another model give {answers}"
    if kind in _NETS:
        return (
            f"{opens}. Audit a torch net in Python, through skorch (user guide: Connecting a "
            f"model, Torch nets); of any other net give {answers}"
        )
    if kind in _LANGUAGE:
        return (
            f"{opens}. Audit a language model in Python (user guide: Language models); of a "
            f"classifier give {answers}"
        )
    return f"{opens}. Of any other model give {answers}"


def _join_file_names(names):
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _read_file_start(path):
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_READ)
    except OSError:
        return b""


def _tell_content(path):
    """Return what the first bytes of a file, or the names in an archive, say that it is."""
    start = _read_file_start(path)
    if start[:4] == b"PK\x03\x04":
        # A skops file may come from a stranger, and is opened in a process of its own alone.
        return _SKOPS if path.suffix == ".skops" else _tell_archive(path)
    for place, sign, kind in _SIGNS:
        if start[place : place + len(sign)] == sign:
            return kind
    return None


def _tell_archive(path):
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
    except (BadZipFile, OSError, ValueError):
        return None
    for member, kind in _MEMBERS:
        if any(name == member or name.endswith(f"/{member}") for name in names):
            return kind
    return "arrays" if names and all(name.endswith(".npy") for name in names) else None


def _tell_folder(path):
    """Return what the files in a folder say that it is, or None, as of a folder of parquet."""
    try:
        found = set(os.listdir(path))
    except OSError:
        return None
    for member, kind in _FOLDERS:
        if member in found:
            return kind
    suffixes = {os.path.splitext(name)[1].lower() for name in found}
    for suffix in suffixes & {".safetensors", ".gguf", ".pt", ".pth", ".ckpt", ".keras", ".h5"}:
        return _MODELS[suffix]
    return None
