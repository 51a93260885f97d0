"""Text from outside as it may be shown: without characters on which a terminal or a reader of lines acts."""

from __future__ import annotations

_UNPRINTABLE = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in (
        # Controls, line ends except LF, direction marks, halves of characters.
        *(code for code in range(0x20) if code not in (0x09, 0x0A)),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    )
}


def printable(text: str) -> str:
    """The text with escapes in place of unprintable characters; its lines stay separate."""
    return text.translate(_UNPRINTABLE)


MAX_TOLD = 1 << 20
"""Limit on the characters of an error's text that travels, as what it quotes may have any length."""


def told(text: str) -> str:
    """The text of an error as another process gets it: printable, and without the middle if that is long."""
    if len(text) > MAX_TOLD:
        text = f"{text[: MAX_TOLD // 2]} … {text[-MAX_TOLD // 2 :]}"
    return printable(text)
