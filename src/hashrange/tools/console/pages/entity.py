"""A page for a new item of a model's entity. Its keys are computed from its fields."""

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hashrange.design.errors import DesignError
from hashrange.design.execute.connection import connect
from hashrange.design.execute.store import OpenStore
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.tools.items_of_texts import FieldFaults, item_of_texts
from hashrange.tools.console.outline import difference
from hashrange.tools.console.pages.model import declared, models_shown
from hashrange.tools.console.shapes import Item
from hashrange.tools.console.values import cursor, dumps, item_of, plain, typed
from hashrange.tools.console.visits import (
    Mistake,
    Page,
    Route,
    Visit,
    address,
    table_path,
    writes,
)

if TYPE_CHECKING:
    from hashrange.design.declare.entity import Entity

NEITHER = ("entity", "csrf")
"""The names of the form's fields that are not fields of the entity."""


def new(visit: Visit) -> Response:
    """Show the form, filled with the field values in the URL."""
    return _form(visit, {})


def _form(visit: Visit, faults: dict[str, str], mistake: str | None = None) -> Response:
    entity = _entity(visit)
    return visit.page(
        "new_entity.html",
        400 if faults or mistake else 200,
        shape=visit.console.table(visit.path["model"]),
        entity=entity,
        fields=[_field(name, field) for name, field in entity.model.model_fields.items()],
        faults=faults,
        mistake=mistake,
        **_keys(visit, entity),
    )


def _field(name: str, field: Any) -> tuple[str, str, bool]:
    """A field's name, its type, and whether it may be left out."""
    text = getattr(field.annotation, "__name__", "") or str(field.annotation)
    plain = text if type(field.annotation) is type else str(field.annotation)
    return name, plain.replace("typing.", "").replace("datetime.", ""), not field.is_required()


def keys(visit: Visit) -> Response:
    """The keys of the item, shown while the user fills in the form."""
    return visit.page("entity_keys.html", **_keys(visit, _entity(visit)))


def _keys(visit: Visit, entity: "Entity") -> dict[str, Any]:
    """The key attributes of the table, and of each index in which the entity has entries."""
    image: Item = {}
    reason = ""
    try:
        image = _image(visit, entity)
    except FieldFaults:
        reason = "The keys are computed when all required fields have values."
    except DesignError as error:
        reason = str(error)
    keys = [
        (key.source, [(column.attribute, image.get(column.attribute)) for column in key.columns])
        for key in (entity.key, *entity.indexes)
    ]
    return {"keys": keys, "computed": bool(image), "reason": reason}


def _image(visit: Visit, entity: "Entity") -> Item:
    """The item as it would be stored, in boto3's form. Raises FieldFaults for texts that do not fit
    their fields, and DesignError for values that the entity refuses."""
    stored = entity.dump(item_of_texts(entity, _texts(visit)))
    return {name: typed(value, name) for name, value in stored.items()}


def _texts(visit: Visit) -> dict[str, str]:
    return {name: text for name, text in visit.parameters.items() if name not in NEITHER}


def _entity(visit: Visit) -> "Entity":
    name = visit.parameters.get("entity", "")
    for entity in declared(visit).model.entities:
        if entity.name == name:
            return entity
    raise Mistake(f"The model declares no entity {name}.", 404)


def review(visit: Visit) -> Response:
    """Show the item that would be written."""
    entity = _entity(visit)
    try:
        item = _image(visit, entity)
    except FieldFaults as mistake:
        return _form(visit, mistake.faults)
    except DesignError as error:
        return _form(visit, {}, str(error))
    shape = visit.console.table(visit.path["model"])
    return visit.page(
        "review_entity.html",
        shape=shape,
        entity=entity,
        changes=difference({}, item, shape.leading),
        item=dumps(item),
        again=address(_path(visit), entity=entity.name, **_texts(visit)),
    )


def create(visit: Visit) -> Response:
    """Write the reviewed item with its markers and copies, like a program that uses the model."""
    table = declared(visit)
    stored = item_of(visit.parameters.get("item", ""))
    try:
        item = table.load(plain(stored))
        if item is None:
            raise Mistake("The item belongs to no entity of the model.")
        connection = connect(visit.console.writer)
        OpenStore(StoreSteps(table.model, (), None, None), connection).create(item)
    except DesignError as error:
        raise Mistake(str(error), 409) from None
    shape = visit.console.table(table.name)
    return visit.go(table_path(table.name, "item"), key=cursor(shape.key_of(stored)), saved="1")


def _path(visit: Visit) -> str:
    return f"/model/{visit.path['model']}/new"


PATH = "/model/{model}/new"
PAGE = Page(
    "",
    PATH,
    (
        Route(PATH, new),
        Route(PATH + "/keys", keys),
        writes(PATH, review),
        writes("/model/{model}/create", create),
    ),
    models_shown,
)
