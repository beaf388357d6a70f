"""Random numbers as functions of a key and a counter."""

from forms import WORD, is_array, is_integer, is_word

GOLD = 0x9E3779B97F4A7C15


def mix(x):
    if is_array(x):
        return each(mix, x)
    x = x ^ (x >> 30)
    x = x * 0xBF58476D1CE4E5B9 % WORD  # arithmetic modulo 2**64, as of an unsigned word
    x = x ^ (x >> 27)
    x = x * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def key(parts):
    a = 0
    for p in parts:
        a = mix((a + GOLD + p) % WORD)
    return a


def uniform(k, c):
    if is_array(c):
        return each(lambda one: uniform(k, one), c)
    word = mix((k + GOLD * (c + 1)) % WORD)
    return (word >> 11) * 2.0**-53  # 53 bits: exact in float64


def below(k, c, n):
    if is_array(c):
        return each(lambda one: below(k, one, n), c)
    return int(uniform(k, c) * n)  # the product in float64, rounded down; it is never n


def each(function, values):
    """The function of each number of an array, in lists of the array's shape."""
    result = []
    for value in values:
        if isinstance(value, list):
            result.append(each(function, value))
        else:
            result.append(function(value))
    return result


def holds(test, value):
    """Whether a number, or each number of an array, passes a test."""
    if not isinstance(value, list):
        return test(value)
    return all(holds(test, part) for part in value)


def is_word_or_array(value):
    return value.dtype == "uint64" if is_array(value) else is_integer(value)


def check_mix(x):
    yield "type", "`x` is neither an integer nor an array of uint64", not is_word_or_array(x)
    yield "value", "`x` is not in [0, 2**64)", not holds(is_word, x)


def check_key(parts):
    yield "type", "a part is no integer", not all(is_integer(p) for p in parts)
    yield "value", "a part is not in [0, 2**64)", not all(is_word(p) for p in parts)


def check_uniform(k, c):
    yield "type", "`k` is no integer", not is_integer(k)
    yield "type", "`c` is neither an integer nor an array of uint64", not is_word_or_array(c)
    yield "value", "`k` is not in [0, 2**64)", not is_word(k)
    yield "value", "`c` is not in [0, 2**64)", not holds(is_word, c)


def check_below(k, c, n):
    yield from check_uniform(k, c)
    yield "type", "`n` is no integer", not is_integer(n)
    yield "value", "`n` is not in [1, 2**53)", not 1 <= n < 2**53
