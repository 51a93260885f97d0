"""Writes docs/missing.md, the names of TensorFlow 1.x that TensorFleet lacks, by namespace.

python docs/generate_missing.py            writes the page
python docs/generate_missing.py --check    exits with 1 if the page is not what this would write
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from tensorfleet.core.public import missing_names

PAGE = Path(__file__).parent / "missing.md"

HEAD = """# Names that TensorFleet lacks

The {count} names of TensorFlow 1.x's API (`tensorflow.compat.v1` of TensorFlow 2.21) that are not part of
TensorFleet. A program that uses one gets an AttributeError that says so. A namespace that is missing as a
whole has one entry, among the names of the namespace that it is in.

Made by `python docs/generate_missing.py` from
[missing_names.txt](../client/tensorfleet/core/missing_names.txt), which tests/compat
compares with TensorFlow.
"""


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/missing.md is not current: run python docs/generate_missing.py")
        return 1
    PAGE.write_text(text)
    return 0


def page() -> str:
    namespaces = defaultdict(list)
    for name in sorted(missing_names()):
        namespace, _, last = name.rpartition(".")
        namespaces[namespace].append(last)
    parts = [HEAD.format(count=len(missing_names()))]
    for namespace, names in sorted(namespaces.items()):
        title = f"tf.{namespace}" if namespace else "tf"
        parts.append(f"## {title}\n\n{', '.join(f'`{name}`' for name in names)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
