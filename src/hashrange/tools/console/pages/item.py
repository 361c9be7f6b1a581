"""One item: a page with all of it, and an editor that shows the changes before it writes them."""

from typing import Any

from botocore.exceptions import ClientError
from starlette.responses import Response

from hashrange.tools.console import writing
from hashrange.tools.console.checking import faults_of
from hashrange.tools.console.entities import entity_of
from hashrange.tools.console.fields import (
    KINDS,
    Field,
    FieldMistakes,
    fields_of,
    item_of_fields,
)
from hashrange.tools.console.outline import difference, outline
from hashrange.tools.console.shapes import Item, TableShape
from hashrange.tools.console.values import (
    ValueMistake,
    cursor,
    dumps,
    entered_item,
    item_bytes,
    item_of,
    key_at,
    pretty,
)
from hashrange.tools.console.visits import (
    Mistake,
    Page,
    Route,
    Visit,
    address,
    table_path,
    writes,
)


def show(visit: Visit) -> Response:
    shape, item = found_item(visit)
    lines, cut = outline(_keys_first(shape, item))
    entity = entity_of(item, shape.table)
    return visit.page(
        "item.html",
        shape=shape,
        item=item,
        key=cursor(shape.key_of(item)),
        lines=lines,
        cut=cut,
        bytes=item_bytes(item),
        entity=entity,
        colour=visit.console.colours(shape.name).of(entity),
        saved=visit.parameters.get("saved"),
    )


def as_json(visit: Visit) -> Response:
    """The whole item in DynamoDB JSON, as a file."""
    _, item = found_item(visit)
    name = "attachment; filename=item.json"
    return Response(
        pretty(item),
        media_type="application/json",
        headers={"Content-Disposition": name},
    )


def found_item(visit: Visit) -> tuple[TableShape, Item]:
    """The item whose key is in the URL. Raises `Mistake`."""
    shape = visit.console.table(visit.path["table"])
    item = _get(visit, shape, key_at(visit.parameters.get("key", "")))
    if item is None:
        raise Mistake("There is no such item, or it has just been deleted.", 404)
    return shape, item


def _get(visit: Visit, shape: TableShape, key: Item) -> Item | None:
    answer = visit.console.call("get_item", TableName=shape.name, Key=key, ConsistentRead=True)
    item: Item | None = answer.get("Item")
    return item


def _keys_first(shape: TableShape, item: Item) -> Item:
    names = dict.fromkeys((*shape.leading, *sorted(item)))
    return {name: item[name] for name in names if name in item}


# ---- the editor ----


def edit(visit: Visit) -> Response:
    """The form for an existing item, filled with its present values."""
    shape, item = found_item(visit)
    return _form(visit, shape, item, item)


def new(visit: Visit) -> Response:
    """The form for a new item. It is filled with a copy of the item `key` or, without `key`, has
    only the names of the key attributes."""
    shape = visit.console.table(visit.path["table"])
    key_text = visit.parameters.get("key")
    item = _get(visit, shape, key_at(key_text)) if key_text else None
    return _form(visit, shape, None, item or _empty(shape))


def _empty(shape: TableShape) -> Item:
    """The key attributes of a new item, without values."""
    kinds = {name: shape.types[name] for name in shape.table.keys}
    return {name: {kind: b"" if kind == "B" else ""} for name, kind in kinds.items()}


def again(visit: Visit) -> Response:
    """Show the form again with the same values, because the user wants to change more. The user
    comes from the page that reviews the changes, or from the page of a lost write."""
    shape = visit.console.table(visit.path["table"])
    if "cell" in visit.parameters and (read := _read(visit)):
        item = item_of(visit.parameters.get("item", ""))
        name = visit.parameters["cell"]
        [field] = [one for one in fields_of(item, shape, True) or () if one.name == name]
        return _cell(visit, shape, read, field, visit.parameters.get("back", ""))
    return _form(visit, shape, _read(visit), item_of(visit.parameters.get("item", "")))


def cell(visit: Visit) -> Response:
    """The form for the value of one attribute."""
    shape, item = found_item(visit)
    name = visit.parameters.get("name", "")
    field = next((one for one in fields_of(item, shape, True) or () if one.name == name), None)
    if field is None or field.locked:
        return visit.go(table_path(shape.name, "item/edit"), key=cursor(shape.key_of(item)))
    return _cell(visit, shape, item, field, visit.shown_path)


def _cell(visit: Visit, shape: TableShape, read: Item, field: Field, back: str) -> Response:
    return visit.page(
        "cell.html",
        400 if field.fault else 200,
        shape=shape,
        read=dumps(read),
        key=cursor(shape.key_of(read)),
        keys=[read[name] for name in shape.table.keys],
        field=field,
        kinds=KINDS,
        back=back,
    )


def attribute(visit: Visit) -> Response:
    """An empty row of the form, for one more attribute."""
    return visit.page("attribute.html", field=Field("", "S", ""), kinds=KINDS)


def _form(
    visit: Visit, shape: TableShape, read: Item | None, item: Item, mistake: str | None = None
) -> Response:
    rows = (
        None if visit.parameters.get("as") == "json" else fields_of(item, shape, read is not None)
    )
    return _form_of(visit, shape, read, rows, pretty(item), mistake)


def _form_of(
    visit: Visit,
    shape: TableShape,
    read: Item | None,
    rows: list[Field] | None,
    text: str,
    mistake: str | None,
) -> Response:
    return visit.page(
        "edit.html",
        400 if mistake else 200,
        shape=shape,
        read=dumps(read) if read else "",
        key=cursor(shape.key_of(read)) if read else visit.parameters.get("key", ""),
        fields=rows,
        kinds=KINDS,
        json=text,
        mistake=mistake,
    )


def _read(visit: Visit) -> Item | None:
    """The item as it was when the form was shown; None for a new item."""
    text = visit.parameters.get("read", "")
    return item_of(text) if text else None


def review(visit: Visit) -> Response:
    """Show the changes that the form would make. Nothing is written yet."""
    shape = visit.console.table(visit.path["table"])
    read = _read(visit)
    try:
        item = _entered(visit)
        _check(visit, shape, item)
        _check_keys(shape, read, item)
    except ValueMistake as mistake:
        return _mistaken(visit, shape, read, mistake)
    return visit.page("review.html", **_review(shape, read, item))


def _review(shape: TableShape, read: Item | None, item: Item) -> dict[str, Any]:
    changes = difference(read or {}, item, shape.leading)
    return {
        "shape": shape,
        "read": dumps(read) if read else "",
        "item": dumps(item),
        "key": cursor(shape.key_of(item)),
        "changes": changes,
        "same": len(item) - sum(change.sign != "-" for change in changes),
        "watched": read is not None and len(read) <= writing.WATCHED_MAX,
    }


def _entered(visit: Visit) -> Item:
    form = visit.parameters
    if "json" in form:
        return entered_item(form["json"])
    if "cell" in form:
        return item_of(form.get("read", "")) | _of_fields(visit)
    return _of_fields(visit)


def _of_fields(visit: Visit) -> Item:
    form = visit.parameters
    return item_of_fields(form.getlist("name"), form.getlist("kind"), form.getlist("text"))


def _check_keys(shape: TableShape, read: Item | None, item: Item) -> None:
    for name in shape.table.keys:
        if read is not None and item.get(name) != read[name]:
            raise ValueMistake(f"{name}: a key cannot change; save the item as a new one instead")


def _check(visit: Visit, shape: TableShape, item: Item) -> None:
    """Check an item. Raises `FieldMistakes` if the service would refuse it."""
    names = visit.parameters.getlist("name")
    rows = {
        names.index(name) if name in names else -number: fault
        for number, (name, fault) in enumerate(faults_of(shape, item).items(), 1)
    }
    if rows:
        raise FieldMistakes(rows)


def _mistaken(
    visit: Visit, shape: TableShape, read: Item | None, mistake: ValueMistake
) -> Response:
    """The form with the values that the user has sent, and their faults."""
    form = visit.parameters
    if "cell" in form and read is not None:
        field = Field(form["name"], form["kind"], form["text"], fault=str(mistake))
        return _cell(visit, shape, read, field, form.get("back", ""))
    rows = None
    if "json" not in form:
        columns = form.getlist("name"), form.getlist("kind"), form.getlist("text")
        locked = shape.table.keys if read else ()
        faults = mistake.faults if isinstance(mistake, FieldMistakes) else {}
        rows = [
            Field(name, kind, text, name in locked, faults.get(row, ""))
            for row, (name, kind, text) in enumerate(zip(*columns, strict=False))
        ]
    return _form_of(visit, shape, read, rows, form.get("json", ""), str(mistake))


def save(visit: Visit) -> Response:
    """Write the reviewed change. If the item has changed in the meantime, show both changes."""
    shape = visit.console.table(visit.path["table"])
    read, item = _read(visit), item_of(visit.parameters.get("item", ""))
    _check_keys(shape, read, item)
    try:
        writing.write(visit.console, shape, read, item)
    except writing.LostRace as lost:
        return _lost(visit, shape, read, item, lost.current)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            raise
        return _form(visit, shape, read, item, error.response["Error"].get("Message", str(error)))
    shown = address(table_path(shape.name, "item"), key=cursor(shape.key_of(item)), saved="1")
    return visit.go_back(shown)


def _lost(
    visit: Visit, shape: TableShape, read: Item | None, item: Item, current: Item | None
) -> Response:
    return visit.page(
        "lost.html",
        409,
        **_review(shape, read, item),
        current=dumps(current) if current else "",
        theirs=difference(read or {}, current, shape.leading) if current else [],
        yours=difference(current or {}, item, shape.leading),
    )


def delete(visit: Visit) -> Response:
    """Ask whether to delete the item."""
    shape, item = found_item(visit)
    return visit.page(
        "delete.html",
        shape=shape,
        key=cursor(shape.key_of(item)),
        read=dumps(item),
        changes=difference(item, {}, shape.leading),
    )


def delete_it(visit: Visit) -> Response:
    shape = visit.console.table(visit.path["table"])
    read = item_of(visit.parameters.get("read", ""))
    try:
        writing.delete(visit.console, shape, read)
    except writing.LostRace as lost:
        return visit.page(
            "lost.html",
            409,
            **_review(shape, read, read),
            current=dumps(lost.current) if lost.current else "",
            theirs=difference(read, lost.current, shape.leading) if lost.current else [],
            yours=[],
        )
    return visit.go(table_path(shape.name), deleted="1")


PATH = "/table/{table}/item"
PAGE = Page(
    "",
    PATH,
    (
        Route(PATH, show),
        Route(PATH + "/json", as_json),
        Route(PATH + "/edit", edit),
        Route(PATH + "/new", new),
        Route(PATH + "/attribute", attribute),
        Route(PATH + "/cell", cell),
        Route(PATH + "/delete", delete),
        writes(PATH + "/again", again),
        writes(PATH + "/review", review),
        writes(PATH + "/save", save),
        writes(PATH + "/delete", delete_it),
    ),
)
