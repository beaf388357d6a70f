"""Ways of damaging any bytes, whatever they mean."""

HUGE = (2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**19, 10**30)


def flipped(data, rng):
    """Flip some bits."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut(data, rng):
    """Keep the beginning."""
    return data[: rng.choice((0, 1, 7, 12, rng.randrange(len(data) + 1), len(data) - 1))]


def part_of(data, rng):
    """Return the two ends of a part."""
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 8, 64, 1000)))


def removed(data, rng):
    """Leave a part out."""
    begin, end = part_of(data, rng)
    return data[:begin] + data[end:]


def repeated(data, rng):
    """Write a part, or all, twice."""
    begin, end = part_of(data, rng) if rng.random() < 0.8 else (0, len(data))
    return data[:end] + data[begin:end] + data[end:]


def moved(data, rng):
    """Write a part elsewhere, over what stands there."""
    begin, end = part_of(data, rng)
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[begin:end] + data[at + end - begin :]


def overwritten(data, rng):
    """Overwrite a part with one byte, or with a number."""
    begin, end = part_of(data, rng)
    if rng.random() < 0.5:
        return data[:begin] + rng.choice((b"\0", b"\xff", b"A", b"9")) * (end - begin) + data[end:]
    number = rng.choice(HUGE) % 2**64
    return data[:begin] + number.to_bytes(8, "little") + data[begin + 8 :]


BYTES = (flipped, cut, removed, repeated, moved, overwritten)
