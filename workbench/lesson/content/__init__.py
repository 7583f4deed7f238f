"""What the lessons ask, as data: a file for each lesson, which is edited without Python."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from workbench.diag import Fail

T = TypeVar("T")


class Entry:
    """One table of a lesson's file, read key by key.

    What is missing, of another kind, or read by nobody is refused by its file and key.
    """

    def __init__(self, lesson: str, place: str, data: Mapping[str, Any]) -> None:
        self._lesson, self._place, self._data = lesson, place, data
        self._unread = set(data)

    def refuse(self, found: str, hint: str) -> Fail:
        where = f"{self._lesson}.toml{self._place and f', {self._place}'}"
        return Fail(f"Can't read {where}: {found}", hint=hint)

    def _read(self, key: str, kind: type[T], what: str, default: T | None) -> T:
        self._unread.discard(key)
        value = self._data.get(key, default)
        if value is None:
            raise self.refuse(f"there is no {key}", f"write {key} = …, which is {what}")
        if type(value) is not kind:
            given = repr(value)
            short = given if len(given) < 60 else f"{given[:60]} …"
            raise self.refuse(f"{key} is not {what}", f"it is {short}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return self._read(key, str, "a text", default)

    def number(self, key: str, default: int) -> int:
        return self._read(key, int, "a whole number", default)

    def choice(self, key: str, there: Collection[str], default: str | None = None) -> str:
        """A text that is one of those that are `there`."""
        value = self.text(key, default)
        if value not in there:
            raise self.refuse(f"{key} is {value!r}", f"there are: {', '.join(there)}")
        return value

    def each(self, key: str, kind: type[T], default: list[T] | None = None) -> tuple[T, ...]:
        """A list whose parts are all of one kind."""
        values = self._read(key, list, "a list", default)
        for value in values:
            if type(value) is not kind:
                raise self.refuse(f"a part of {key} is no {KINDS[kind]}", f"it is {value!r}")
        return tuple(values)

    def texts(self, key: str, default: dict[str, str] | None = None) -> dict[str, str]:
        """A table of texts."""
        values: dict[str, str] = self._read(key, dict, "a table", default)
        for name, value in values.items():
            if not isinstance(value, str):
                raise self.refuse(f"{key}.{name} is no text", f"it is {value!r}")
        return values

    def tables(self, key: str) -> dict[str, Entry]:
        """The tables that stand in the table `key`, by their names; {} without one."""
        inside = Entry(self._lesson, key, self._read(key, dict, "a table", {}))
        return {
            name: Entry(self._lesson, f"{key}.{name}", inside._read(name, dict, "a table", None))
            for name in inside._data
        }

    def rows(self, key: str) -> dict[str, list[Entry]]:
        """The lists of tables that stand in the table `key`; {} without one."""
        inside = Entry(self._lesson, key, self._read(key, dict, "a table", {}))
        return {
            name: [
                Entry(self._lesson, f"{key}.{name} {number}", row)
                for number, row in enumerate(inside.each(name, dict), 1)
            ]
            for name in inside._data
        }

    def has(self, key: str) -> bool:
        return key in self._data

    def end(self) -> None:
        """Refuse a key that nobody has asked for: it is misspelt, or of another kind of table."""
        for key in sorted(self._unread):
            raise self.refuse(f"nothing reads {key}", "leave it out, or mend its name")


KINDS: Mapping[type, str] = {str: "text", int: "whole number", dict: "table"}


class Content:
    """What one lesson asks: its predictions by name, and its quizzes, each some questions."""

    def __init__(self, lesson: str, text: str) -> None:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Fail(
                f"Can't read {lesson}.toml: {error}", hint="write it as TOML does: https://toml.io"
            ) from None
        file = Entry(lesson, "", data)
        self.predictions, self.quizzes = file.tables("predictions"), file.rows("quiz")
        file.end()


@cache
def contents() -> Mapping[str, Content]:
    """What each lesson asks, by its name."""
    here = (file for file in files(__name__).iterdir() if file.name.endswith(".toml"))
    texts = {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in here}
    return {lesson: Content(lesson, texts[lesson]) for lesson in sorted(texts)}
