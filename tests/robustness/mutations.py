"""What is done to good files and to JSON before readers get them: one generator for all."""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import random
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Mutation = Callable[[bytes, random.Random], bytes]

NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "1.5",
    "1e999",
    "-1e39",
    "nan",
    "inf",
    "1_0",
    "0x1",
    "9" * 19,
    "9" * 40,
    "7" * 5000,
    "²",
    "٣",
    "１",
    "",
    " ",
    "1-",
    "-",
    "_",
    "1-2-3",
    str(2**31),
    str(2**63),
    str(2**64),
    "1000000000000",
]
PIECES = [
    *("(", ")", "|", "[", "]", "[1/2]", "[2/2]", "[0/0]", "[1/999999999999]", "-", "=", "#", '"'),
    "\t",
    " ",
    ",",
    ";",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\x00",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\ufeff",
    "\u2028",
    "\u200f",
    "\u200d",
    "é",
    "猫",
    "🙂",
    "<",
    ">",
    "&",
    "'",
    "\\",
    "/",
    *("# newdoc id = x\n", "# global.Entity = a-b-eid\n", "#begin document (x);\n"),
    *("#end document\n", "Entity=(e1", "Entity=e1)", "SpaceAfter=No", "1-3\tabc", "2.1\t_"),
]
RAW = [b"\xe9", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xfe\xff", b"\x80"]
BOMB = (
    b'<!DOCTYPE z [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'.encode()
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + b"]>"
)
OUTSIDE = b'<!DOCTYPE z [<!ENTITY i SYSTEM "file:///etc/hostname">]>'


def _place(data: bytes, draw: random.Random) -> int:
    return draw.randrange(len(data) + 1)


def _lines(data: bytes, draw: random.Random, change: Callable[[list[bytes], int], None]) -> bytes:
    lines = data.split(b"\n")
    change(lines, draw.randrange(len(lines)))
    return b"\n".join(lines)


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: _place(data, draw)]


def _drop_line(data: bytes, draw: random.Random) -> bytes:
    return _lines(data, draw, lambda lines, at: lines.__delitem__(at))


def _double_line(data: bytes, draw: random.Random) -> bytes:
    return _lines(data, draw, lambda lines, at: lines.insert(at, lines[at]))


def _move_line(data: bytes, draw: random.Random) -> bytes:
    to = draw.random()
    return _lines(data, draw, lambda lines, at: lines.insert(int(to * len(lines)), lines.pop(at)))


def _columns(data: bytes, draw: random.Random) -> bytes:
    """A column of a line left out, doubled or swapped with the next."""
    by = draw.choice([sign for sign in (b"\t", b",", b" ") if sign in data] or [b"\t"])
    what = draw.randrange(3)

    def change(lines: list[bytes], at: int) -> None:
        cells = lines[at].split(by)
        i = draw.randrange(len(cells))
        if what == 0:
            del cells[i]
        elif what == 1:
            cells.insert(i, cells[i])
        else:
            cells[i - 1], cells[i] = cells[i], cells[i - 1]
        lines[at] = by.join(cells)

    return _lines(data, draw, change)


def _number(data: bytes, draw: random.Random) -> bytes:
    """A number becomes another: a huge one, none at all, or one of the file, which makes cycles."""
    found = [match.span() for match in re.finditer(rb"-?\d+(?:\.\d+)?", data)]
    if not found:
        return data
    start, end = draw.choice(found)
    a, b = draw.choice(found)
    new = data[a:b] if draw.random() < 0.5 else draw.choice(NUMBERS).encode()
    return data[:start] + new + data[end:]


def _piece(data: bytes, draw: random.Random) -> bytes:
    at = _place(data, draw)
    return data[:at] + draw.choice(PIECES).encode() + data[at:]


def _raw(data: bytes, draw: random.Random) -> bytes:
    """Bytes that are no UTF-8: Latin-1, half a character, an overlong one."""
    at = _place(data, draw)
    return data[:at] + draw.choice(RAW) + data[at:]


def _flip(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _delete(data: bytes, draw: random.Random) -> bytes:
    a, b = sorted((_place(data, draw), _place(data, draw)))
    return data[:a] + data[min(b, a + draw.choice([1, 4, 60])) :]


def _repeat(data: bytes, draw: random.Random) -> bytes:
    a, b = sorted((_place(data, draw), _place(data, draw)))
    return data[:b] + data[a:b] * draw.choice([1, 2, 50]) + data[b:]


def _long(data: bytes, draw: random.Random) -> bytes:
    at = _place(data, draw)
    return data[:at] + draw.choice([b"x", b"9", b"(", b"\t", b"\xc3\xa9"]) * 100_000 + data[at:]


def _elsewhere(data: bytes, draw: random.Random) -> bytes:
    a, b = sorted((_place(data, draw), _place(data, draw)))
    at = _place(data, draw)
    return data[:at] + data[a:b] + data[at:]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _nothing(data: bytes, draw: random.Random) -> bytes:
    return draw.choice([b"", b"\n", b" \t \n\n", b"\xef\xbb\xbf", b"\x00", b"\x1f\x8b"])


def _entities(data: bytes, draw: random.Random) -> bytes:
    start = data.find(b"?>") + 2
    bomb = draw.choice([BOMB, OUTSIDE])
    at = data.find(b">", draw.randrange(max(1, len(data)))) + 1
    return data[:start] + bomb + data[start:at] + b"&i;" + data[at:]


#: Of files of text, and of XML. What a file is called by its encoding is in `encoded`.
OF_TEXT: dict[str, Mutation] = {
    "cut short": _cut,
    "a line gone": _drop_line,
    "a line twice": _double_line,
    "a line elsewhere": _move_line,
    "columns": _columns,
    "numbers": _number,
    "signs": _piece,
    "no UTF-8": _raw,
    "bits": _flip,
    "a part gone": _delete,
    "a part repeated": _repeat,
    "a part elsewhere": _elsewhere,
    "100,000 signs": _long,
    "nothing": _nothing,
    "byte order mark": lambda data, draw: b"\xef\xbb\xbf" * draw.randint(1, 2) + data,
    "CRLF": lambda data, draw: data.replace(b"\n", draw.choice([b"\r\n", b"\r", b"\n\r"])),
    "UTF-16": lambda data, draw: _text(data).encode(draw.choice(["utf-16", "utf-16-be"])),
    "Latin-1": lambda data, draw: (_text(data) + "é").encode("latin-1", "replace"),
}
OF_XML = {**OF_TEXT, "entities": _entities}


def mutated(data: bytes, draw: random.Random, kinds: dict[str, Mutation]) -> tuple[str, bytes]:
    """One to three mutations, and the name of the first."""
    first = draw.choice(list(kinds))
    found = kinds[first](data, draw)
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        found = kinds[draw.choice(list(kinds))](found, draw)
    return first, found


def packed(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """The file as .gz: whole, cut, with flipped bits, twice, with something after it; or a bomb."""
    whole = gzip.compress(data, 1)
    kind = draw.randrange(6)
    made = [whole, _cut(whole, draw), _flip(whole, draw), whole * 2, whole + b"more", data][kind]
    return ("gz", "gz cut", "gz bits", "gz twice", "gz and more", "no gz")[kind], made


# JSON


JSON_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    1.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    2**31,
    10**30,
    "",
    "0",
    "self",
    "query",
    "\ud800",
    "\x00",
    "a" * 1000,
    "<script>",
    "../../x",
    "nan",
    [],
    {},
    [[]],
    [None],
    [0, 0],
    [[0, 0]],
    [[0, 0, "self"]],
    [[-1, 0]],
    [[10**9, 0]],
    [0] * 999,
    [["query", 1]],
    [["query", -1]],
    [["query", 10**12]],
    [["", 1]],
    [float("nan")] * 4,
    {"a": 1},
    {"shape": [1], "dtype": "<f4", "view": None},
    [{}],
    {"": []},
    [["key", 1.5]],
    [0, 10**9, 0, 10**9],
    [0, 2, 0, 2],
    [2, 0, 2, 0],
    ["cls"],
    ["cls", 7],
    [{"x": [1]}],
]


def any_json(draw: random.Random, depth: int = 0) -> Any:
    """Any value that JSON, as Python and browsers write it, can hold."""
    if depth < 3 and draw.random() < 0.3:
        inner = [any_json(draw, depth + 1) for _ in range(draw.randrange(4))]
        if draw.random() < 0.5:
            return inner
        return {draw.choice(["layer", "head", "text", "0", "", "a"]): one for one in inner}
    return copy.deepcopy(draw.choice(JSON_VALUES))


def mutated_json(value: Any, draw: random.Random) -> tuple[str, Any]:
    """JSON of which one part has another value, is gone, or is in another's place."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places or draw.random() < 0.02:
        return "another value", any_json(draw)
    holder, key = draw.choice(places)
    kind = draw.choice(["another value", "a part gone", "a part elsewhere", "100,000 entries"])
    if kind == "another value":
        holder[key] = any_json(draw)
    elif kind == "a part gone":
        del holder[key]
    elif kind == "a part elsewhere":
        other, name = draw.choice(places)
        holder[key] = copy.deepcopy(other[name])
    else:
        holder[key] = [copy.deepcopy(holder[key])] * 100_000
    return kind, value


def _places(value: Any) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(inner):
        yield value, key
        if isinstance(one, (dict, list)):
            yield from _places(one)


# Arrays


class Alive:
    """Says that it was unpickled."""

    woken = 0

    def __reduce__(self) -> Any:
        return _wake, ()


def _wake() -> str:
    Alive.woken += 1
    return "alive"


def mutated_arrays(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """An .npz file of which an array is changed, or the file around them."""
    kind = draw.choice(
        [
            "bits",
            "bits",
            "cut short",
            "a part gone",
            "a part repeated",
            "nothing",
            "array",
            "array",
            "array",
            "array",
            "JSON",
            "JSON",
            "JSON",
            "JSON",
            "pickled",
            "forged header",
            "other file",
            "zip",
        ]
    )
    if kind in OF_TEXT:
        return kind, OF_TEXT[kind](data, draw)
    with np.load(io.BytesIO(data)) as stored:
        arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
    name = draw.choice(list(arrays))
    if kind == "other file":
        return kind, draw.choice([npy(arrays[name]), pickle.dumps(Alive()), b"PK\x03\x04" * 40])
    if kind == "forged header":
        return kind, forged(arrays, name, draw.choice(SHAPES), draw.choice([None, *TYPES]))
    if kind == "zip":
        return kind, _odd_zip(data, draw)
    if kind == "pickled":
        arrays[name] = np.array([Alive(), 1], dtype=object)
    elif kind == "JSON":
        _change_json(arrays, draw)
    else:
        _change_array(arrays, name, draw)
    return kind, npz(arrays, packed=draw.random() < 0.2)


def _change_array(arrays: dict[str, Any], name: str, draw: random.Random) -> None:
    old = arrays[name]
    what = draw.randrange(9)
    if what == 0:
        del arrays[name]
    elif what == 1:
        arrays[f"{name}/x"] = old
    elif what == 2:
        arrays[name] = arrays[draw.choice(list(arrays))]
    elif what == 3:
        arrays[name] = old[None]
    elif what == 4:
        arrays[name] = old.reshape(-1)[:-1]
    elif what == 5:
        arrays[name] = old.astype("U8") if old.dtype.kind != "U" else np.arange(3)
    elif what == 6:
        arrays[name] = np.full_like(old, np.nan if old.dtype.kind == "f" else 0)
    elif what == 7:
        kind = draw.choice(["c8", "f2", "i1", "S4", "M8[s]"])
        numbers = old.dtype.kind in "fiub"
        with np.errstate(invalid="ignore"):
            arrays[name] = old.astype(kind, casting="unsafe") if numbers else np.array(["x"])
    else:
        arrays[name] = np.array(draw.choice([10**18, -1, 0, np.inf, "x"]))


def _change_json(arrays: dict[str, Any], draw: random.Random) -> None:
    texts = [name for name in arrays if arrays[name].dtype.kind == "U" and not arrays[name].ndim]
    held = [name for name in texts if str(arrays[name]).startswith("{")]
    if not held:
        return
    name = draw.choice(held)
    text = str(arrays[name])
    if draw.random() < 0.7:
        changed = json.dumps(mutated_json(json.loads(text), draw)[1])
    else:
        changed = draw.choice(["[" * 50_000, "", "null", "[]", "1e999", text[: len(text) // 2]])
    arrays[name] = np.array(changed)


def npy(values: Any) -> bytes:
    made = io.BytesIO()
    np.lib.format.write_array(made, np.asanyarray(values))
    return made.getvalue()


def npz(arrays: dict[str, Any], *, packed: bool = False) -> bytes:
    made = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(made, **arrays)
    return made.getvalue()


SHAPES = [
    "(10**12,)",
    "(1000000000000,)",
    "(1000000, 1000000)",
    "(-1,)",
    "(7,)",
    "('a',)",
    "None",
    "(2.5,)",
    "(1,)" * 99,
    "(" * 200,
]
TYPES = ["'<f8'", "'|O'", "'<U99999999'", "'<U1'", "'nonsense'", "[('a','<f4')]"]


def forged(arrays: dict[str, Any], name: str, shape: str, dtype: str | None = None) -> bytes:
    """An .npz file in which an array's header says another shape or type than its bytes have."""
    raw = npy(arrays[name])
    size = struct.unpack("<H", raw[8:10])[0]
    header = raw[10 : 10 + size].decode("latin-1")
    header = re.sub(r"'shape': \([^)]*\)", f"'shape': {shape}", header)
    if dtype is not None:
        header = re.sub(r"'descr': '[^']*'", f"'descr': {dtype}", header)
    said = header.encode("latin-1")
    raw = raw[:8] + struct.pack("<H", len(said)) + said + raw[10 + size :]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for one, values in arrays.items():
            file.writestr(f"{one}.npy", raw if one == name else npy(values))
    return made.getvalue()


def _odd_zip(data: bytes, draw: random.Random) -> bytes:
    """Encrypted by its own word, packed in a way that nobody knows, entries that are no arrays."""
    changed = bytearray(data)
    central = [match.start() for match in re.finditer(b"PK\x01\x02", data)]
    at = draw.choice(central)
    what = draw.randrange(4)
    if what == 0:
        changed[at + 8] |= 1
    elif what == 1:
        changed[at + 10] = draw.choice([1, 8, 9, 12, 14, 95, 99])
    elif what == 2:
        changed[at + 24 : at + 28] = struct.pack("<I", draw.choice([0, 2**31, 2**32 - 2]))
    else:
        made = io.BytesIO(data)
        with zipfile.ZipFile(made, "a") as file:
            file.writestr(draw.choice(["notes.txt", "../x.npy", "about", ".npy"]), b"hello")
        return made.getvalue()
    return bytes(changed)
