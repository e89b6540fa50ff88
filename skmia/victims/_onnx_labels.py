"""The labels of the classes in an ONNX file, in the order of its columns.

Converters store them beside the node that computes the label: as an attribute of a classifier, or
as the table that is indexed by the number of the largest column. The file is read from its bytes,
by the numbers of the fields in the format (protobuf), as onnxruntime shows no nodes.
"""

import struct

import numpy as np

# Numbers of fields in the messages of the format.
_GRAPH = 7  # of a model
_NODE, _INITIALIZER = 1, 5  # of a graph
_INPUT, _OUTPUT, _OP_TYPE, _ATTRIBUTE = 1, 2, 4, 5  # of a node
_NAME, _TENSOR, _INTS, _STRINGS = 1, 5, 8, 9  # of an attribute
_DATA_TYPE, _INT32_DATA, _STRING_DATA, _INT64_DATA, _TENSOR_NAME, _RAW_DATA = 2, 5, 6, 7, 8, 9
_INT32, _INT64 = 6, 7  # types of a tensor

# Nodes that hand on labels, or the numbers of the classes, in the order that they have.
_SAME_ORDER = {
    *("Cast", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Flatten"),
    *("Normalizer", "Softmax", "ZipMap"),
}
_INDEXED = {"ArrayFeatureExtractor", "Gather"}
_CLASS_LABELS = (
    *("classlabels_int64s", "classlabels_ints", "classlabels_strings"),  # of each converter
    "classes_strings",
)
_MOST_STEPS = 50


def read_stated_labels(data: bytes, outputs: list[str]) -> np.ndarray | None:
    """Return the labels that the file states for the columns, or None if it states no order.

    Return labels of shape (n_classes,), of the first of the outputs that leads to some.
    """
    try:
        graph = _read_message_fields(_read_message_fields(memoryview(data))[_GRAPH][0])
        nodes = {
            _decode_label(name): node
            for node in map(_read_message_fields, graph.get(_NODE, []))
            for name in node.get(_OUTPUT, [])
        }
        tensors = {}
        for tensor in map(_read_message_fields, graph.get(_INITIALIZER, [])):
            tensors[_decode_label(tensor.get(_TENSOR_NAME, [b""])[0])] = tensor
        found = (_trace_labels(name, nodes, tensors) for name in outputs)
        labels = next((labels for labels in found if labels is not None and len(labels)), None)
    except (KeyError, IndexError, TypeError, ValueError, struct.error):
        return None  # onnxruntime reads it: the bytes are of a form that is not known here
    return labels if labels is None or len(set(labels.tolist())) == len(labels) else None


def _trace_labels(name, nodes, tensors):
    """Follow an output back to the node or table that has the labels."""
    encoders = []
    for _ in range(_MOST_STEPS):
        if name in tensors:
            return _encode_answers(_read_tensor(tensors[name]), encoders)
        node = nodes.get(name)
        if node is None:
            return None
        kind = _decode_label(node[_OP_TYPE][0])
        attributes = _read_attributes(node)
        stated = [attributes[key] for key in _CLASS_LABELS if len(attributes.get(key, ()))]
        if stated and kind != "LabelEncoder":
            return _encode_answers(stated[0], encoders)
        if kind == "LabelEncoder":
            encoders.append(_read_encoder(attributes))
        elif kind not in _SAME_ORDER and kind not in _INDEXED:
            return None
        name = _decode_label(node[_INPUT][0])
    return None


def _encode_answers(labels, encoders):
    """Return what the encoders make of the labels; the last one that was met comes first."""
    if labels is None or any(encoder is None for encoder in encoders):
        return None
    for encoder in reversed(encoders):
        labels = np.array([encoder[label] for label in labels.tolist()])
    return labels


def _read_encoder(attributes):
    keys = [values for name, values in attributes.items() if name.startswith("keys_")]
    values = [values for name, values in attributes.items() if name.startswith("values_")]
    if len(keys) != 1 or len(values) != 1 or keys[0] is None or values[0] is None:
        return None
    return dict(zip(keys[0].tolist(), values[0].tolist(), strict=True))


def _read_attributes(node):
    """Return attributes of a node that are lists of whole numbers, texts, or tensors of them."""
    attributes = {}
    for attribute in map(_read_message_fields, node.get(_ATTRIBUTE, [])):
        name = _decode_label(attribute[_NAME][0])
        if not name.startswith(("classlabels", "classes", "keys_", "values_")):
            continue
        if _STRINGS in attribute:
            attributes[name] = np.array([_decode_label(text) for text in attribute[_STRINGS]])
        elif _INTS in attribute:
            attributes[name] = _read_integers(attribute[_INTS])
        elif _TENSOR in attribute:
            attributes[name] = _read_tensor(_read_message_fields(attribute[_TENSOR][0]))
        else:
            attributes[name] = None
    return {name: values for name, values in attributes.items() if values is not None}


def _read_tensor(tensor):
    if _STRING_DATA in tensor:
        return np.array([_decode_label(text) for text in tensor[_STRING_DATA]])
    kind = tensor[_DATA_TYPE][0]
    if kind not in (_INT32, _INT64):
        return None
    if _RAW_DATA in tensor:
        return np.frombuffer(tensor[_RAW_DATA][0], "<i4" if kind == _INT32 else "<i8")
    return _read_integers(tensor.get(_INT64_DATA if kind == _INT64 else _INT32_DATA, []))


def _read_integers(values):
    """Return the whole numbers that stand one by one, or packed in one piece."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        place = 0
        while place < len(value):
            number, place = _read_varint(value, place)
            numbers.append(number)
    return np.array([number - (number >> 63 << 64) for number in numbers], dtype=np.int64)


def _read_message_fields(data):
    """Return values of each field of a message by its number: whole numbers, or pieces of bytes."""
    fields, place, end = {}, 0, len(data)
    while place < end:
        key, place = _read_varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _read_varint(data, place)
        else:
            if wire == 2:
                size, place = _read_varint(data, place)
            else:
                size = {1: 8, 5: 4}[wire]
            value, place = data[place : place + size], place + size
        fields.setdefault(number, []).append(value)
    return fields


def _read_varint(data, place):
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
        if shift > 63:
            raise ValueError("A number has too many bytes.")


def _decode_label(value):
    return bytes(value).decode("utf-8")
