"""Plain data to pictures: SVG and HTML text, and matplotlib figures where asked for."""

from workbench.draw.figure import figure
from workbench.draw.memory import memory_picture
from workbench.draw.picture import Picture, picture_html, plain, standalone_svg, table_html
from workbench.draw.tiles import tiles_picture
from workbench.draw.who import who_picture

__all__ = [
    "Picture",
    "figure",
    "memory_picture",
    "picture_html",
    "plain",
    "standalone_svg",
    "table_html",
    "tiles_picture",
    "who_picture",
]
