"""The attributes that a migration adds to the items of a live table."""

from hashrange.model.values import Item as WireItem

EPOCH = "~epoch"
"""The attribute that holds the epoch of an item's last write."""
OTHER_OWNER = "~owner"
"""The attribute of a unique marker that holds the new model's key of the marker's owner."""
HIDDEN = (EPOCH, OTHER_OWNER)


def visible(image: WireItem) -> WireItem:
    """A stored item without the attributes that a migration adds."""
    return {name: value for name, value in image.items() if name not in HIDDEN}


def stamp_of(image: WireItem) -> int:
    """The epoch of an item's last write; -1 if the item has none.

    Only programs that follow the phases of a migration write the epoch.
    """
    return int(image[EPOCH]["N"]) if EPOCH in image else -1
