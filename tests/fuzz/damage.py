"""Damage to the files of a folder: what a file holds is taken apart, changed, put together again.

`changed` knows lists, dicts, text, bytes and arrays. Each format says how a file becomes such a
value and back, and what may stand instead of a part of it.
"""

import ast
import functools
import gzip
import io
import itertools
import json
import pickle
import pickletools
import random
import zipfile

import numpy as np

HUGE = (2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**19, 10**30)
NUMBERS = (-1, 0, 1, 2, 3, 33, 34, 1000, 65536, *HUGE)
DTYPES = (
    *("<f4", "<f8", ">f8", "<f2", "<i8", "<i4", ">i4", "<u8", "|b1", "|u1", "<c16", "|O", "<f16"),
    *("|V8", "<U3", "<U99999999", "|S0", "<M8[s]", "<i3", "", "x", "O" * 50),
)
LITERALS = (
    *("(" * 5000, "[" * 200, "((),)", "'", '"""', "\\", "{", "}", "None", "(1,2", "1)", "0x", "\0"),
    *("__import__('os')", "-1", "(-1,)", "True", "9" * 5000, "\n\n \t", "# x", "'a': 1", "lambda"),
)
JSON_VALUES = (
    *(None, True, False, 1.5, 1e308, float("nan"), float("inf"), "", "x", "0", 10**6, 10**400),
    *("sage", "gat", "fresh", [], {}, [0], [[0]], {"a": 1}, *NUMBERS),
)
CELLS = (
    *("id", "node", "name", "label", "y", "class", "split", "train_mask", "val_mask", "test_mask"),
    *("source", "target", "src", "dst", "u", "v", "weight", "w", "x", "Unnamed: 0", "", " ID "),
    *("a1", "a9", "zz", "-1", "0", "1", "2", "nan", "NA", "None", "inf", "1e400", "True", "A"),
    *("train", "Valid", "dev", "tset", " test ", "0.5", '"', '"a', "1;2", "1,2", "\t", "9" * 40),
)
TEXTS = (
    *("[" * 5000, '{"a":' * 3000, "9" * 5000, "1e999", "-", "0x1", "\ufeff", '"\ud800"', "NaN"),
    *('"\\ud800"', "\0", "null", "1_0", "\u0663", ",", "\n", "-1", "0", "1", "2", *map(str, HUGE)),
)
MEMBERS = ("x.npy", "", "../x.npy", "meta.npy", "\u00e9", "zeros.npy", b"")
BYTES = (
    *(b"", b"\0", b"\xff", b"A", b"9", b"\0" * 64, b"\xff" * 64),
    *((number % 2**64).to_bytes(8, "little") for number in HUGE),
)
OPCODES = (
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
    *(b"\x8a\x08" + n.to_bytes(8, "little", signed=True) for n in (0, 1, 5, -1, 2**31 - 1, 2**62)),
    b"\x8a\x08" + b"\xff" * 7 + b"\x7f",
)


def damaged(files, draws):
    """Return a copy of `files`, a dict from name to bytes, damaged once for each of the draws."""
    files = dict(files)
    for draw in draws:
        rng = random.Random(draw)
        name = rng.choice(sorted(files))
        if rng.random() < 0.03 and len(files) > 1:
            files[name] = files[rng.choice(sorted(files))]
        else:
            files[name] = other(name, files[name], rng)
    return files


def other(name, data, rng):
    """Return the bytes of a file with one change, in what they mean or in any of them."""
    ways = WAYS.get(name) or WAYS.get(name.rpartition(".")[2], PICKLE)
    if rng.random() < 0.8:
        try:
            return rng.choice(ways)(data, rng)
        except Exception:  # what is damaged already, or cannot be written, is not understood
            pass
    return other_bytes(data, rng)


def changed(value, rng, instead):
    """Return a value with one change somewhere inside; `instead` may stand for any part."""
    way = rng.random()
    if isinstance(value, dict) and value:
        key, another = rng.choice(list(value)), rng.choice(list(value))
        rest = {name: part for name, part in value.items() if name != key}
        if way < 0.1:
            return rest
        if way < 0.2:
            return {**rest, rng.choice(("x", "", f"{key}0", str(2**70))): value[key]}
        new = value[another] if way < 0.3 else changed(value[key], rng, instead)
        return {name: new if name == key else part for name, part in value.items()}
    if isinstance(value, list) and value:
        i, j = sorted(rng.choices(range(len(value)), k=2))
        times = rng.choice((0, 0, 2, 2, 1000)) if way < 0.2 else 1
        if way < 0.2:
            return [*value[:i], *value[i : i + 1] * times, *value[i + 1 :]]
        if way < 0.3:
            return [*value[:i], value[j], *value[i + 1 : j], value[i], *value[j + 1 :]]
        new = [rng.choice(instead), value[i]] if way < 0.4 else [changed(value[i], rng, instead)]
        return [*value[:i], *new, *value[i + 1 :]]
    if isinstance(value, np.ndarray):
        return other_array(value, rng)
    if isinstance(value, str) and value and way < 0.5:
        at = rng.randrange(len(value) + 1)
        return value[:at] + str(rng.choice(instead)) + value[at + rng.choice((0, 1, 9)) :]
    return rng.choice(instead)


def whole(decode, encode, instead):
    """Return a way of changing what a file means as a whole."""
    return lambda data, rng: encode(changed(decode(data), rng, instead))


# ---- bytes and text ----------------------------------------------------------------------------


def other_bytes(data, rng):
    """Flip bits; or leave a part out, write it twice or elsewhere, or overwrite it."""
    begin = rng.randrange(len(data) + 1)
    size = rng.choice((1, 2, 4, 8, 64, 1000, len(data)))
    parts = [data[:begin], data[begin : begin + size], data[begin + size :]]
    if rng.random() < 0.6:
        return b"".join(changed(parts, rng, BYTES))
    if rng.random() < 0.3:
        return data[: rng.choice((0, 1, 7, 12, begin, len(data) - 1))]
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def lines_of(data):
    """Return the lines of a text."""
    return data.decode().splitlines(keepends=True)


def text_of(lines):
    """Return the bytes of lines."""
    return "".join(lines).encode("utf-8", "surrogatepass")


def other_table(data, rng):
    """Change what separates the cells of a table, or its columns."""
    text = data.decode()
    separator = max(",;\t", key=text.count)
    if rng.random() < 0.1:
        return text.replace(separator, rng.choice((",", ";", "\t", " ", "|", ", "))).encode()
    rows = [line.split(separator) for line in text.splitlines()]
    columns = [list(column) for column in zip(*rows, strict=True)]
    if rng.random() < 0.3:
        rng.choice(columns)[0] = rng.choice(CELLS)  # a title
    else:
        columns = changed(columns, rng, CELLS)
    rows = itertools.zip_longest(*columns, fillvalue="")
    return "".join(separator.join(row) + "\n" for row in rows).encode()


# ---- arrays and archives -----------------------------------------------------------------------


def header_of(data):
    """Return the header of a .npy file, and what stands behind it."""
    end = 10 + int.from_bytes(data[8:10], "little")
    return {"header": data[10:end].decode("latin1"), "data": data[end:], "version": 1}


def npy_of(parts):
    """Return a .npy file."""
    size = 2 if parts["version"] == 1 else 4
    header = parts["header"][:70000].encode("latin1")
    length = len(header).to_bytes(size, "little") if len(header) < 2 ** (8 * size) else b"\xff\xff"
    return b"\x93NUMPY" + bytes([parts["version"], 0]) + length + header + parts["data"]


def other_header(data, rng):
    """Change the dtype, the shape or the order of a header, or any text of it."""
    parts = header_of(data)
    parts["version"] = rng.choice((1, 1, 1, 2, 3, 4))
    if rng.random() < 0.3:
        parts["header"] = changed(parts["header"], rng, LITERALS)
    else:
        said = ast.literal_eval(parts["header"])
        said["shape"] = list(said["shape"])
        said = changed(said, rng, (*DTYPES, *NUMBERS, True, None, tuple(NUMBERS[:2])))
        if isinstance(said.get("shape"), list):
            said["shape"] = tuple(said["shape"])
        parts["header"] = f"{said}\n"
    return npy_of(parts)


def array_of(data):
    """Return the array in a .npy file."""
    return np.load(io.BytesIO(data), allow_pickle=False)


def saved(array):
    """Return an array as a .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def other_array(array, rng):
    """Change some numbers, the dtype, the shape or the order of an array."""
    way, kind = rng.random(), array.dtype.kind
    with np.errstate(all="ignore"):
        if way < 0.7 and array.size and kind in "iufb":
            made, values = array.copy(), [0, 1, -1, np.nan, np.inf, 1e30, -1e300]
            if kind in "iu":
                limits = np.iinfo(array.dtype)
                values = [limits.min, limits.max, 0, 1, -1, 33, 34, int(array.max()) + 1]
                values = [v for v in values if limits.min <= v <= limits.max]
            if rng.random() < 0.2:
                made[...] = rng.choice(values)
            for _ in range(rng.choice((1, 1, 3))):
                made.reshape(-1)[rng.randrange(made.size)] = rng.choice(values)
            return made
        if way < 0.8:
            return array.astype(rng.choice(DTYPES[:11]))
        ways = (array[:0], array[:1], array[1:], array[None], array.reshape(-1), array.T)
        return rng.choice((*ways, np.asfortranarray(array), np.concatenate([array, array])))


def other_archive(data, rng):
    """Damage one member of an archive, whose checksum is then right; or the list of members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [[name, archive.read(name)] for name in archive.namelist()]
    if rng.random() < 0.8:
        metas = [member for member in members if member[0] == "meta.npy"]
        member = rng.choice(metas if metas and rng.random() < 0.4 else members)
        member[1] = other(member[0], member[1], rng)
    else:
        members = changed(members, rng, MEMBERS)
    file = io.BytesIO(bomb() if rng.random() < 0.01 else b"")
    with zipfile.ZipFile(file, "a") as archive:
        for name, content in members:
            how = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            how = zipfile.ZIP_LZMA if rng.random() < 0.01 else how
            archive.writestr(zipfile.ZipInfo(name), content, how)  # of no time
    return file.getvalue()


@functools.cache
def bomb():
    """Return an archive with a member that is a thousand times as large as it seems."""
    file, said = io.BytesIO(), {"descr": "|u1", "fortran_order": False, "shape": (2**30,)}
    zeros = zipfile.ZipInfo("zeros.npy")
    zeros.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(file, "w") as archive, archive.open(zeros, "w") as member:
        member.write(npy_of({"header": f"{said}\n", "data": b"", "version": 1}))
        for _ in range(2**6):
            member.write(bytes(2**24))
    return file.getvalue()


# ---- by the ends of names ----------------------------------------------------------------------


def opcodes_of(data):
    """Return the opcodes of a pickle."""
    at = [place for _, _, place in pickletools.genops(data)]
    return [data[a:b] for a, b in zip(at, [*at[1:], len(data)], strict=True)]


TEXT = (whole(lines_of, text_of, TEXTS), other_bytes)
PICKLE = (whole(opcodes_of, b"".join, OPCODES), other_bytes)
NPY = (other_header, whole(array_of, saved, ()))
META = whole(
    lambda data: json.loads(array_of(data).item()),
    lambda meta: saved(np.array(json.dumps(meta))),
    JSON_VALUES,
)
WAYS = {
    "csv": (other_table, other_table, other_table, *TEXT),
    "npy": NPY,
    "meta.npy": (META, META, META, *NPY),
    "npz": (other_archive,),
    "gz": (lambda data, rng: gzip.compress(rng.choice(TEXT)(gzip.decompress(data), rng)),),
    "json": (whole(json.loads, lambda value: json.dumps(value).encode(), JSON_VALUES), *TEXT),
    **dict.fromkeys(("index", "txt", "mtx", "edgelist"), TEXT),
    **dict.fromkeys(("content", "cites"), (*TEXT, other_table)),
}
