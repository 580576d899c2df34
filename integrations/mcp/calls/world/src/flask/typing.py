"""Names for types that views use."""

import typing as t

ResponseValue = t.Union[str, bytes, tuple[str, int]]
ErrorHandler = t.Callable[[int], ResponseValue]
