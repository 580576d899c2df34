"""Settings of the development tools."""

FORMATTER = "ruff format"
LINTERS = ["ruff check", "cargo clippy", "golangci-lint run"]


def commands(fix=False):
    extra = " --fix" if fix else ""
    return [FORMATTER, *(linter + extra for linter in LINTERS)]
