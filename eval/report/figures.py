"""Figures as files: SVG that stands alone, and PNG with a font of its own, alike on any machine."""

from __future__ import annotations

import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from bothends.eval.report.accuracy import accuracy_charts
from bothends.eval.report.chart import scatter
from bothends.eval.report.points import points
from bothends.eval.report.scales import scale_figures
from bothends.eval.report.source import ReportInput
from bothends.infra.errors import RecordError

__all__ = ["alone", "figures", "write_figures"]

_FAMILY: Final = "Roboto"
_VARIABLE: Final = re.compile(r"var\(--([\w-]+)(?:, *var\(--([\w-]+)\))?\)")
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")


def figures(source: ReportInput) -> dict[str, str]:
    """Return the report's charts as inline SVG, by their files' names."""
    placed = points(source)
    first = {"cost_and_time": scatter(placed, 720, 460)} if placed else {}
    accuracy = accuracy_charts(source)
    if accuracy:
        first["accuracy_by_question"] = accuracy[0]
    return first | {each.name: each.wide for each in scale_figures(source)}


def write_figures(source: ReportInput, directory: Path) -> tuple[Path, ...]:
    """Write each chart as `<name>.svg` and `<name>.png`, on white.

    Args:
        source: The report's content.
        directory: Where to write; made if it is missing.

    Returns:
        The files.

    Raises:
        RecordError: If a file cannot be written.
    """
    written: list[Path] = []
    try:
        for name, chart in figures(source).items():
            directory.mkdir(parents=True, exist_ok=True)
            svg = alone(chart)
            written += [directory / f"{name}.svg", directory / f"{name}.png"]
            written[-2].write_bytes(svg.encode("utf-8", "replace"))
            written[-1].write_bytes(_png(svg))
    except OSError as error:
        raise RecordError(f"{directory} cannot be written: {error.strerror}") from None
    return tuple(written)


def alone(chart: str) -> str:
    """Return a chart of the page as SVG that needs no page: its styles and its size are in it.

    The page's variables are replaced by their light values, since few readers of SVG know them.
    """
    width, height = re.findall(r'viewBox="0 0 (\d+) (\d+)"', chart)[0]
    style = f"text{{font-family:{_FAMILY},system-ui,sans-serif}}{_styles()}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"'
    )
    body = re.sub(r'^<svg viewBox="[^"]*"', head, chart)
    ground = f'<style>{style}</style><rect width="{width}" height="{height}" fill="#ffffff"/>'
    return re.sub(r"^(<svg[^>]*>)", lambda found: found[1] + ground, body) + "\n"


def _styles() -> str:
    """Return the chart's rules, each colour spelled out; a rule for each model's colour."""
    page = resources.files("bothends.eval.report").joinpath("page")
    light = dict(re.findall(r"--([\w-]+): ([^;]+);", _first_block(page.joinpath("base.css"))))
    rules = []
    for selector, body in _RULE.findall(re.sub(r"@media[^{]*\{.*?\}\s*\}", "", _text(page))):
        if "--of:" in body:
            continue
        selectors = [each.strip() for each in selector.split(",")]
        if "--of" not in body:
            rules.append(f"{','.join(selectors)}{{{_resolved(body, light)}}}")
            continue
        for number in range(1, 9):
            of = light | {"of": light[f"c{number}"]}
            last = [each.split()[-1] for each in selectors]
            # The colour stands on a group around the element, or on the element itself.
            mine = [f".c{number} {each}" for each in last]
            mine += [f".c{number}{each}" for each in last if each.startswith(".")]
            rules.append(f"{','.join(mine)}{{{_resolved(body, of)}}}")
    return "".join(rules)


def _text(page: Traversable) -> str:
    return page.joinpath("chart.css").read_text(encoding="utf-8")


def _first_block(file: Traversable) -> str:
    return file.read_text(encoding="utf-8").partition("}")[0]


def _resolved(body: str, values: dict[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        return values.get(found[1]) or values[found[2]]

    return _VARIABLE.sub(value, " ".join(body.split()))


def _png(svg: str) -> bytes:
    import resvg_py

    files = resources.files("font_roboto").joinpath("files")
    fonts = [str(files.joinpath(f"{_FAMILY}-{weight}.ttf")) for weight in ("Regular", "Bold")]
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=2,
            skip_system_fonts=True,
            font_files=fonts,
            font_family=_FAMILY,
            sans_serif_family=_FAMILY,
        )
    )
