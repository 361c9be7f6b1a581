"""Operations on the policies of tables and streams, which are enforced if there is an access file.

The requests are JSON that has been validated against the service model.
"""

from functools import partial

from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Operation
from hashrange.operations.resource_policies.operations import delete, get, put

OPERATIONS = {
    name: Operation(
        name,
        partial(validate, name),
        decide,
        writes=name != "GetResourcePolicy",
        resources=resources.of_members(name, "ResourceArn"),
    )
    for name, decide in (
        ("GetResourcePolicy", get),
        ("PutResourcePolicy", put),
        ("DeleteResourcePolicy", delete),
    )
}
