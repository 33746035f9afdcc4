"""Bytes to text: the cheap and certain tests first, a statistical guess only for what they leave open.

1. a byte order mark              says UTF-8, UTF-16 or UTF-32
2. zero bytes at regular places   say UTF-16 or UTF-32 without a mark; elsewhere they say this is no text
3. valid UTF-8                    is UTF-8: other encodings hardly ever look like it by chance
4. the encoding a file declares   is believed when the bytes obey it (the head of an XML file)
5. UTF-8 with little damage       is UTF-8 still, each damaged byte becoming �
6. few letters beyond ASCII       say cp1252, of which Latin-1 text is a part: English with its quotes and cafés
7. many                           are left to charset-normalizer; what it cannot tell is read as cp1252 or Latin-1
"""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 14
_CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2", "cp932",
    "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1a\x1b")
_ASCII = bytes(range(128))


class NotTextError(ValueError):
    """The bytes are no text in any encoding; the message says why."""


def decode(raw: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text of `raw`, without its mark, and the encoding it is in."""
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return raw.decode(name, "replace"), name.removesuffix("-sig")
    head = raw[:_SAMPLE]
    if head.count(0) > 0.01 * len(head):
        name = _wide(head)
        return raw.decode(name, "replace"), name
    raw = raw.replace(b"\0", b"")  # a stray one is damage
    if len(head.translate(None, _CONTROLS)) < 0.98 * len(head):
        raise NotTextError("is no text: it holds control characters")
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return _eight_bit(raw, declared)


def _wide(head: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, by where the zeros stand: `h\\0i\\0`, `\\0h\\0i`, `h\\0\\0\\0i\\0\\0\\0`."""
    whole = head[: len(head) // 4 * 4]
    first, second, third, fourth = (whole[place::4].count(0) for place in range(4))
    quarter = len(whole) / 4
    if third >= 0.9 * quarter and fourth >= 0.9 * quarter > first:
        return "utf-32-le"
    if first >= 0.9 * quarter and second >= 0.9 * quarter > fourth:
        return "utf-32-be"
    even, odd = first + third, second + fourth
    if max(even, odd) < 0.05 * len(head) or min(even, odd) > 0.1 * max(even, odd):
        raise NotTextError("is no text: it holds zero bytes")
    return "utf-16-le" if odd > even else "utf-16-be"


def _eight_bit(raw: bytes, declared: str | None) -> tuple[str, str]:
    if declared is not None:
        try:
            return raw.decode(declared), codecs.lookup(declared).name
        except (LookupError, UnicodeError):
            pass  # the declaration is wrong: look at the bytes as if there were none
    mended = raw.decode("utf-8", "replace")
    damaged = mended.count("\ufffd")
    beyond = len(raw.translate(None, _ASCII))
    if beyond > 20 * damaged:  # most bytes beyond ASCII stand in sound sequences of two to four
        return mended, "utf-8"
    few = beyond < 0.01 * len(raw)
    for name in ("cp1252",) if few else (_guess(raw), "cp1252"):
        try:
            if name is not None:
                return raw.decode(name), name
        except UnicodeDecodeError:
            continue  # five bytes have no meaning in cp1252; in Latin-1 every byte has one
    return raw.decode("latin-1"), "latin-1"


def _guess(raw: bytes) -> str | None:
    from charset_normalizer import from_bytes  # slow to import, and rarely needed

    best = from_bytes(raw[: 4 * _SAMPLE], steps=8, chunk_size=1024, cp_isolation=_CANDIDATES).best()
    if best is None:
        return None
    western = any(sign in raw for sign in "ÀÅàå".encode("cp1252"))  # Ŕ Ĺ ŕ ĺ in cp1250: hardly any language has them
    return "cp1252" if best.encoding == "cp1250" and western else best.encoding
