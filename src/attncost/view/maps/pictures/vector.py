"""A picture of weights as SVG: letters and lines as vectors, cells as an image within."""

import base64
from collections.abc import Iterator

from attncost.draw.lettering import SIZE
from attncost.draw.markup import element, escaped
from attncost.view.maps.pictures.colours import CHOSEN, INK, PAPER
from attncost.view.maps.pictures.drawing import Drawing
from attncost.view.maps.pictures.parts import Image, Text
from attncost.view.maps.pictures.png import png


def svg(drawing: Drawing) -> str:
    """Return a self-contained picture on white; it has no ids, so that a page may hold many."""
    return element(
        "svg",
        element("title", escaped(drawing.title)),
        element("desc", escaped(drawing.description)),
        element("rect", width="100%", height="100%", fill=PAPER),
        *map(_image, drawing.images),
        *_marked(drawing),
        element("g", *map(_text, drawing.texts), fill=INK),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {drawing.width} {drawing.height}",
        width=drawing.width,
        height=drawing.height,
        role="img",
        aria_label=drawing.title,
        font_family="system-ui,sans-serif",
        font_size=SIZE,
    )


def _image(image: Image) -> str:
    wide, tall = image.size
    data = base64.b64encode(png(image.pixels)).decode("ascii")
    return element(
        "image",
        href=f"data:image/png;base64,{data}",
        x=image.x,
        y=image.y,
        width=wide,
        height=tall,
        style="image-rendering:pixelated",
    )


def _marked(drawing: Drawing) -> Iterator[str]:
    if drawing.marked is not None:
        x, y, wide, tall = drawing.marked
        # Both lie outside the row, which may be thin.
        for away, thick, colour in ((2.5, 1, PAPER), (1, 2, CHOSEN)):
            place = {"x": x - away, "y": y - away}
            size = {"width": wide + 2 * away, "height": tall + 2 * away}
            yield element("rect", **place, **size, fill="none", stroke=colour, stroke_width=thick)


def _text(text: Text) -> str:
    how = {
        "text_anchor": "" if text.anchor == "start" else text.anchor,
        "font_weight": "bold" if text.bold else "",
    }
    if not text.upright:
        return element("text", escaped(text.text), x=text.x, y=text.y, **how)
    turn = f"translate({text.x} {text.y}) rotate(-90)"
    return element("text", escaped(text.text), transform=turn, **how)
