"""Ways of damaging the files of a folder: any bytes, and what they mean in each format."""

import functools
import gzip
import io
import json
import pickle
import pickletools
import re
import zipfile
import zlib

import numpy as np

from fuzz.columns import COLUMNS
from fuzz.damaged_bytes import BYTES, HUGE, flipped

NUMBERS = (-1, 0, 1, 2, 3, 1000, 65536, *HUGE)
DTYPES = (
    *("<f4", "<f8", ">f8", "<f2", "<f16", "<i8", "<i4", ">i4", "<u8", "|b1", "|u1", "<c16"),
    *("|O", "|V8", "<U3", "<U99999999", "|S0", "<M8[s]", "<i3", "", "x", "O" * 50),
)
LITERALS = (
    *("(" * 5000, "[" * 200, "((),)", "'", '"""', "\\", "{", "}", "None", "(1,2", "1)", "0x", "\0"),
    *("__import__('os')", "-1", "(-1,)", "True", "9" * 5000, "\n\n \t", "# x", "'a': 1", "lambda"),
)
JSON_VALUES = (
    *(None, True, False, -1, 0, 1, 2, 33, 10**6, 1.5, 1e308, float("nan"), float("inf"), "", "x"),
    *("sage", "gat", "fresh", [], {}, [0], [[0]], {"a": 1}, "0", *HUGE, 10**400),
)
BOMB = 2**30


def damaged(files, rng):
    """Return a copy of `files`, a dict from name to bytes, one to three times damaged."""
    files = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(sorted(files))
        if rng.random() < 0.03 and len(files) > 1:
            files[name] = files[rng.choice(sorted(files))]
            continue
        ways = WAYS.get(name.rpartition(".")[2], PICKLE)
        way = rng.choice(ways if rng.random() < 0.8 else BYTES)
        try:
            files[name] = way(files[name], rng)
        except Exception:  # what is damaged already is no longer understood
            files[name] = flipped(files[name], rng)
    return files


# ---- .npy --------------------------------------------------------------------------------------


def npy_parts(data):
    """Return the text of a header and the data behind it."""
    length = int.from_bytes(data[8:10], "little")
    return data[10 : 10 + length].decode("latin1"), data[10 + length :]


def npy(header, content, version=1):
    """Return a .npy file."""
    size = 2 if version == 1 else 4
    length = len(header).to_bytes(size, "little") if len(header) < 2 ** (8 * size) else b"\xff\xff"
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode("latin1") + content


def other_header(data, rng):
    """Change the dtype, the shape, the order or any text of a header."""
    header, content = npy_parts(data)
    way = rng.randrange(6)
    if way == 0:
        header = re.sub(r"'descr': '[^']*'", f"'descr': '{rng.choice(DTYPES)}'", header)
    elif way == 1:
        sizes = [rng.choice(NUMBERS) for _ in range(rng.choice((0, 1, 2, 3, 40)))]
        header = re.sub(r"\([^)]*\)", str(tuple(sizes)), header)
    elif way == 2:
        header = re.sub(r"\d+(?=[,)])", lambda m: str(rng.choice((m[0], *NUMBERS))), header)
    elif way == 3:
        header = header.replace("False", rng.choice(("True", "0", "None", "'x'")))
    elif way == 4:
        at = rng.randrange(len(header))
        header = header[:at] + rng.choice(LITERALS) + header[at + rng.choice((0, 1, 9)) :]
    else:
        header = rng.choice(LITERALS) * rng.choice((1, 2, 2000))
    return npy(header[:70000], content, rng.choice((1, 1, 1, 2, 3, 4)))


def other_values(data, rng):
    """Change some numbers of an array to the largest, the smallest, or none at all."""
    array = np.load(io.BytesIO(data), allow_pickle=False).copy()
    kind = array.dtype.kind
    if not array.size or kind not in "iufb":
        return flipped(data, rng)
    flat = array.reshape(-1)
    if kind in "iu":
        limits = np.iinfo(array.dtype)
        values = [limits.min, limits.max, 0, 1, -1, 33, 34, int(flat.max()) + 1]
        values = [v for v in values if limits.min <= v <= limits.max]
    else:
        values = [0, 1, -1, np.nan, np.inf, 1e30, -1e300] if kind == "f" else [False, True]
    with np.errstate(over="ignore"):
        if rng.random() < 0.2:
            flat[:] = rng.choice(values)
        for _ in range(rng.choice((1, 1, 3))):
            flat[rng.randrange(flat.size)] = rng.choice(values)
    return saved(array)


def other_array(data, rng):
    """Write the array with another dtype, shape or order, whole."""
    array, way = np.load(io.BytesIO(data), allow_pickle=False), rng.randrange(6)
    with np.errstate(all="ignore"):
        if way == 0:
            array = array.astype(rng.choice(DTYPES[:13]))
        elif way == 1:
            array = array[rng.choice((slice(0), slice(1), slice(1, None), None))]
        elif way == 2:
            array = array.reshape(-1)
        elif way == 3:
            array = np.asfortranarray(array)
        elif way == 4:
            array = np.concatenate([array, array])
        else:
            array = array.T
    return saved(array)


def saved(array):
    """Return an array as a .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


NPY = (other_header, other_header, other_values, other_values, other_array)

# ---- .npz --------------------------------------------------------------------------------------


def other_member(data, rng):
    """Damage one member of an archive, whose checksum is then right."""
    return repacked(data, rng, inside)


def other_members(data, rng):
    """Leave members out, rename, swap or repeat them, or compress them in another way."""
    return repacked(data, rng, shuffled)


def repacked(data, rng, change):
    """Write an archive again after changing its list of names and contents."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    members = change(members, rng)
    stored, deflated = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            way = rng.choice((stored, stored, deflated, deflated, zipfile.ZIP_LZMA))
            way = stored if way == zipfile.ZIP_LZMA and rng.random() < 0.9 else way
            archive.writestr(name, content, way)
    return file.getvalue()


def inside(members, rng):
    """Damage one member, or the JSON in ``meta``."""
    at = rng.randrange(len(members))
    name, content = members[at]
    metas = [i for i, (name, _) in enumerate(members) if name == "meta.npy"]
    if metas and rng.random() < 0.4:
        at, name = metas[0], "meta.npy"
        content = other_meta(members[at][1], rng)
    else:
        content = rng.choice((*NPY, *NPY, other_values, *BYTES))(content, rng)
    return [*members[:at], (name, content), *members[at + 1 :]]


def other_meta(data, rng):
    """Change JSON in an array of text."""
    text = np.load(io.BytesIO(data), allow_pickle=False).item()
    return saved(np.array(rng.choice(JSON)(text.encode(), rng).decode("utf-8", "replace")))


def shuffled(members, rng):
    """Leave members out, rename, swap or repeat them."""
    at, other = rng.randrange(len(members)), rng.randrange(len(members))
    (name, content), way = members[at], rng.randrange(5)
    if way == 0:
        return members[:at] + members[at + 1 :]
    if way == 1:
        new = rng.choice(("x.npy", "", "../x.npy", "meta.npy", name[:-1], members[other][0], "é"))
        return [*members[:at], (new, content), *members[at + 1 :]]
    if way == 2:
        return [*members[:at], (name, members[other][1]), *members[at + 1 :]]
    if way == 3:
        return [*members, members[other]]
    zeros = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (200000000,), }\n", b"")
    return [*members, ("zeros.npy", zeros)]


def other_directory(data, rng):
    """Change a number in the archive's directory, or in the head of a member."""
    starts = [m.start() for m in re.finditer(b"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    if not starts:
        return flipped(data, rng)
    at = rng.choice(starts) + rng.randrange(4, 46)
    size = rng.choice((1, 2, 4))
    number = rng.choice((0, 1, 12, 2**31 - 1, 2**32 - 1, rng.getrandbits(32))) % 2 ** (8 * size)
    return data[:at] + number.to_bytes(size, "little") + data[at + size :]


def bomb(data, rng):
    """Put a member that is a thousand times as large as it seems, and says so or not."""
    if rng.random() < 0.9:  # it takes long
        return other_directory(data, rng)
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as archive:
        names = archive.namelist()
        archive.writestr(rng.choice(names) if rng.random() < 0.5 else "z.npy", b"")
    return with_stream(file.getvalue(), *zeros_compressed(), rng.choice((True, False)))


def with_stream(data, stream, size, honest):
    """Give the last, empty member of an archive a deflated stream of `size` bytes."""
    head, end = data.rindex(b"PK\x03\x04"), data.index(b"PK\x01\x02", data.rindex(b"PK\x03\x04"))
    said = size if honest else 1000
    sizes = len(stream).to_bytes(4, "little") + said.to_bytes(4, "little")
    member = bytearray(data[head:end])
    member[8:10], member[18:26] = b"\x08\0", sizes
    directory = bytearray(data[end:])
    last = directory.rindex(b"PK\x01\x02")
    directory[last + 10 : last + 12], directory[last + 20 : last + 28] = b"\x08\0", sizes
    tail = directory.rindex(b"PK\x05\x06")
    begin = end + len(stream)
    directory[tail + 16 : tail + 20] = begin.to_bytes(4, "little")
    return data[:head] + bytes(member) + stream + bytes(directory)


@functools.cache
def zeros_compressed():
    """Return a deflated .npy file of zeros, and its whole size."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({BOMB},), }}"
    head = npy(header, b"")
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [deflate.compress(head)]
    parts += [deflate.compress(bytes(2**24)) for _ in range(BOMB // 2**24)]
    return b"".join([*parts, deflate.flush()]), len(head) + BOMB


NPZ = (*[other_member] * 5, other_members, other_directory, bomb)

# ---- JSON and text -----------------------------------------------------------------------------


def other_json(data, rng):
    """Change a value somewhere inside, leave it out, or give it another name."""
    value, at, key = json.loads(data), None, None
    inner = value
    while isinstance(inner, dict | list) and inner and (at is None or rng.random() < 0.7):
        at, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        inner = at[key]
    if at is None:
        return json.dumps(rng.choice(JSON_VALUES)).encode()
    way = rng.randrange(8)
    if way == 0:
        del at[key]
    elif way == 1 and isinstance(at, dict):
        at[rng.choice(("x", "", str(2**70), key + "0"))] = at.pop(key)
    elif way == 2:
        other = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
        at[key], at[other] = at[other], at[key]
    elif way == 3:
        at[key] = [at[key]] * rng.choice((0, 1, 2, 1000))
    else:
        at[key] = rng.choice(JSON_VALUES)
    return json.dumps(value).encode()


def other_text(data, rng):
    """Put text that a reader of numbers or of JSON may not like somewhere."""
    texts = ("[" * 5000, '{"a":' * 3000, "9" * 5000, "1e999", "-", "0x1", "\ufeff", '"\ud800"')
    text = rng.choice((*texts, "NaN", '"\\ud800"', "\0", "null", "1_0", "٣", ",", "\n"))
    at = rng.randrange(len(data) + 1)
    return data[:at] + text.encode("utf-8", "surrogatepass") + data[at:]


JSON = (other_json, other_json, other_json, other_text)
TEXT = (other_text, *BYTES)


def other_packed(data, rng):
    """Change text that gzip compressed: a number, how often a line is there, or anything."""
    text, way = gzip.decompress(data), rng.randrange(4)
    if way == 0:
        numbers = list(re.finditer(rb"[^,\n]+", text))
        at = rng.choice(numbers)
        text = text[: at.start()] + str(rng.choice(NUMBERS)).encode() + text[at.end() :]
    elif way == 1:
        lines = text.splitlines(keepends=True)
        lines[rng.randrange(len(lines))] *= rng.choice((0, 2, 1000, 10**6))
        text = b"".join(lines)
    else:
        text = rng.choice(TEXT)(text, rng)
    return gzip.compress(text, mtime=0)


GZIP = (other_packed,)

# ---- pickles -----------------------------------------------------------------------------------

PIECES = (
    b"cos\nsystem\n",
    b"cbuiltins\neval\n",
    b"cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
    b"ccollections\ndefaultdict\n",
    b"c__builtin__\nlist\n",
    *(pickle.REDUCE, pickle.BUILD, pickle.NEWOBJ, pickle.APPENDS, pickle.SETITEMS, pickle.MARK),
    *(pickle.POP, pickle.DUP, pickle.TUPLE, pickle.EMPTY_DICT, pickle.NONE, pickle.NEWTRUE),
    *(pickle.STOP, b"r\xff\xff\xff\x7f", b"\x8e" + b"\xff" * 7 + b"\x0f", b"\x8b\xff\xff\xff\x7f"),
    b"B\xff\xff\xff\x7f",
    b"N" + b"q\xf0h\xf0\x86" * 60 + b"N\x86s",
    b")" + b"2\x86" * 60 + b"N\x86s",
    b"(" * 20000,
    b"]" + b"q\xf0h\xf0a" * 40,
    b"\x95" + b"\xff" * 8,
    b"I9" + b"9" * 6000 + b"\n",
    *(b"h\x00", b"h\x01", b"j\xff\xff\xff\xff", b"\x94", b"K\xff", b"J\xff\xff\xff\xff"),
    b"\x8a\x08" + b"\xff" * 7 + b"\x7f",
)


def other_opcodes(data, rng):
    """Leave out, repeat, swap or replace opcodes, or put hostile ones between them."""
    at = [place for _, _, place in pickletools.genops(data)]
    ops = [data[a:b] for a, b in zip(at, [*at[1:], len(data)], strict=True)]
    for _ in range(rng.choice((1, 1, 2, 4))):
        i, j, way = rng.randrange(len(ops)), rng.randrange(len(ops)), rng.randrange(6)
        if way == 0:
            ops[i] = b""
        elif way == 1:
            ops[i] *= rng.choice((2, 3, 1000))
        elif way == 2:
            ops[i], ops[j] = ops[j], ops[i]
        elif way == 3:
            ops[i] = rng.choice(PIECES)
        elif way == 4:
            ops.insert(i, rng.choice(PIECES))
        else:
            number = rng.choice((0, 1, 2, 5, 2**31 - 1, -1, 2**40, 2**62))
            ops[i] = b"\x8a\x08" + number.to_bytes(8, "little", signed=True)
    return b"".join(ops)


PICKLE = (other_opcodes, other_opcodes, *BYTES)
WAYS = {
    "csv": COLUMNS,
    "npy": NPY,
    "npz": NPZ,
    "gz": GZIP,
    "json": JSON,
    "index": TEXT,
    "txt": TEXT,
    "mtx": TEXT,
    "edgelist": TEXT,
    "content": (*TEXT, *COLUMNS),
    "cites": (*TEXT, *COLUMNS),
}
