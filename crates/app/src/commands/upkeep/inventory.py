"""A small inventory, kept in memory and saved as JSON."""

import json
from dataclasses import dataclass, field
from pathlib import Path

LOW_STOCK = 5


@dataclass
class Item:
    """One kind of thing on the shelf."""

    name: str
    count: int = 0
    tags: list[str] = field(default_factory=list)

    def take(self, amount: int) -> None:
        if amount < 0:
            raise ValueError(f"cannot take {amount}")
        if amount > self.count:
            raise ValueError(f"only {self.count} of {self.name} left")
        self.count -= amount

    def put(self, amount: int) -> None:
        if amount < 0:
            raise ValueError(f"cannot put {amount}")
        self.count += amount


class Inventory:
    """Items by name."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}

    def item(self, name: str) -> Item:
        if name not in self.items:
            self.items[name] = Item(name)
        return self.items[name]

    def tagged(self, tag: str) -> list[Item]:
        return [item for item in self.items.values() if tag in item.tags]

    def total(self) -> int:
        return sum(item.count for item in self.items.values())


def low_stock(inventory: Inventory) -> list[str]:
    """Names of items that should be ordered, in order."""
    low = [item.name for item in inventory.items.values() if item.count < LOW_STOCK]
    return sorted(low)


def load(path: Path) -> Inventory:
    inventory = Inventory()
    for row in json.loads(path.read_text()):
        item = inventory.item(row["name"])
        item.count = row["count"]
        item.tags = row.get("tags", [])
    return inventory


def save(inventory: Inventory, path: Path) -> None:
    rows = [vars(item) for item in inventory.items.values()]
    path.write_text(json.dumps(rows, indent=2))
