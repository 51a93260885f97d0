"""Addresses of tasks as programs write them."""


def without_spaces(address: str) -> str:
    """An address without the spaces that lists of them have, as in `"10.0.0.1:2222, 10.0.0.2: 2222"`."""
    return "".join(address.split())
