"""The numbers of a page, to download from the page itself: it needs no server and no script.

Each file is a link to data in the page. What would make the page too large to send is left out, and
the page says so.
"""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Final

from attncost.draw.markup import element, escaped
from attncost.report.document import Attachment, Document
from attncost.report.plain import dumped

_NAME: Final = r"[a-z0-9_-]+"
# Smaller files are readable as they are.
_PLAIN: Final = 32_768
_TYPES: Final = {"json": "application/json", "jsonl": "application/jsonl"}


def raw_data(document: Document, *, room: int) -> Iterator[str]:
    """Yield the markup of a section: a heading, and a link for each file.

    Args:
        document: What the page says; its record comes first.
        room: Characters that all files together may take.
    """
    name = document.schema.partition("/")[0].replace(".", "-")
    file = f"{name if re.fullmatch(_NAME, name) else 'record'}.json"
    said = "Every number of this page, unrounded"
    record = Attachment(said, file, dumped(document).encode())
    yield element("h2", "Raw data")
    for one in (record, *document.attachments):
        file, kind, content = _packed(one)
        address = f"data:{kind};base64,{b64encode(content).decode()}"
        if len(address) > room:
            yield element(
                "p", escaped(f"{one.text}: {one.file} would make this page too large to carry it.")
            )
            continue
        room -= len(address)
        link = element("a", escaped(file), href=address, download=file)
        yield element("p", escaped(f"{one.text}: "), link, escaped(f" ({len(content):,} bytes)."))


def _packed(one: Attachment) -> tuple[str, str, bytes]:
    """Return the name, type and content of a file, compressed if that is worth it."""
    if len(one.content) <= _PLAIN:
        kind = _TYPES.get(one.file.rpartition(".")[2], "application/octet-stream")
        return one.file, kind, one.content
    # Without a time in it, equal numbers make equal pages.
    return f"{one.file}.gz", "application/gzip", gzip.compress(one.content, 9, mtime=0)
