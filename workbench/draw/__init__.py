"""Plain data to pictures: scenes of shapes, written as SVG and HTML or as matplotlib figures."""

from workbench.draw.ablation import ablation_picture
from workbench.draw.bands import Times
from workbench.draw.banks import BEYOND, banks_scene
from workbench.draw.colours import LONG, ROLES, how_long
from workbench.draw.curves import curves_picture
from workbench.draw.figure import figure
from workbench.draw.fragments import CALL, LANE, first_call, fragments_scene
from workbench.draw.memory import memory_picture
from workbench.draw.orders import orders_picture
from workbench.draw.picture import (
    Picture,
    picture_html,
    plain,
    standalone_svg,
    table_html,
    write_svg,
)
from workbench.draw.pictures import GPU, PICTURES, Source, Steps, covered_of, picture_of
from workbench.draw.pipelines import pipelines_picture
from workbench.draw.requests import SCOPES, access_name
from workbench.draw.scene import Form, Path, Rect, Scene, Stands, Words, placed
from workbench.draw.search import (
    SEARCH_VIEWS,
    Vendor,
    best_table,
    best_text,
    curve_ground,
    point_rows,
    reasons_table,
    search_caption,
    search_ground,
    search_picture,
    time_text,
)
from workbench.draw.svg import drawings, svg, svg_in_text
from workbench.draw.tiles import LEVELS, levels_of, tiles_picture
from workbench.draw.warps import warps_scene
from workbench.draw.who import who_picture

__all__ = [
    "CALL",
    "LANE",
    "LEVELS",
    "LONG",
    "PICTURES",
    "Form",
    "GPU",
    "ROLES",
    "SCOPES",
    "SEARCH_VIEWS",
    "Path",
    "Picture",
    "Rect",
    "Scene",
    "Source",
    "Stands",
    "Steps",
    "Times",
    "Vendor",
    "Words",
    "ablation_picture",
    "access_name",
    "BEYOND",
    "banks_scene",
    "best_table",
    "best_text",
    "covered_of",
    "curve_ground",
    "curves_picture",
    "drawings",
    "figure",
    "first_call",
    "how_long",
    "fragments_scene",
    "levels_of",
    "memory_picture",
    "orders_picture",
    "picture_html",
    "picture_of",
    "pipelines_picture",
    "placed",
    "plain",
    "point_rows",
    "reasons_table",
    "search_caption",
    "search_ground",
    "search_picture",
    "standalone_svg",
    "svg",
    "svg_in_text",
    "table_html",
    "tiles_picture",
    "time_text",
    "warps_scene",
    "who_picture",
    "write_svg",
]
