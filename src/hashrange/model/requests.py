"""The requests of the typed operations, as Structs.

Written by scripts/generate_shapes.py, botocore 1.44.5.
Members bear the model's names in snake case. An optional member is None if it is absent.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field

from hashrange.model.values import AttributeValue


class Structure(Struct, rename="pascal", frozen=True, omit_defaults=True, gc=False):
    """A structure of the service model."""

    legacy: ClassVar[bool] = False
    """Whether the service's legacy validation reads the request."""


TableArn = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1024,
        pattern=r"^(?:(?:arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/)?[a-zA-Z0-9_.-]{3,255})\Z",
    ),
]
AttributeName = Annotated[str, Meta(max_length=65535)]
ComparisonOperator = str


class ExpectedAttributeValue(Structure, kw_only=True, frozen=True):
    value: AttributeValue | None = None
    exists: bool | None = None
    comparison_operator: ComparisonOperator | None = None
    attribute_value_list: list[AttributeValue] | None = None


ReturnValue = Literal["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"]
ReturnConsumedCapacity = Literal["INDEXES", "TOTAL", "NONE"]
ReturnItemCollectionMetrics = Literal["SIZE", "NONE"]
ConditionalOperator = str
ReturnValuesOnConditionCheckFailure = Literal["ALL_OLD", "NONE"]


class PutItem(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    item: dict[AttributeName, AttributeValue]
    expected: dict[AttributeName, ExpectedAttributeValue] | None = None
    return_values: ReturnValue | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    conditional_operator: ConditionalOperator | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


AttributeNameList = Annotated[list[AttributeName], Meta(min_length=1)]


class GetItem(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    key: dict[AttributeName, AttributeValue]
    attributes_to_get: AttributeNameList | None = None
    consistent_read: bool | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None


AttributeAction = str


class AttributeValueUpdate(Structure, kw_only=True, frozen=True):
    value: AttributeValue | None = None
    action: AttributeAction | None = None


class UpdateItem(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    key: dict[AttributeName, AttributeValue]
    attribute_updates: dict[AttributeName, AttributeValueUpdate] | None = None
    expected: dict[AttributeName, ExpectedAttributeValue] | None = None
    conditional_operator: ConditionalOperator | None = None
    return_values: ReturnValue | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    update_expression: str | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class DeleteItem(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    key: dict[AttributeName, AttributeValue]
    expected: dict[AttributeName, ExpectedAttributeValue] | None = None
    conditional_operator: ConditionalOperator | None = None
    return_values: ReturnValue | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


IndexName = Annotated[str, Meta(min_length=3, max_length=255, pattern=r"^(?:[a-zA-Z0-9_.-]+)\Z")]
Select = str
PositiveIntegerObject = Annotated[int, Meta(ge=1, le=2147483647)]


class Condition(Structure, kw_only=True, frozen=True):
    attribute_value_list: list[AttributeValue] | None = None
    comparison_operator: ComparisonOperator


class Query(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    index_name: IndexName | None = None
    select: Select | None = None
    attributes_to_get: AttributeNameList | None = None
    limit: PositiveIntegerObject | None = None
    consistent_read: bool | None = None
    key_conditions: dict[AttributeName, Condition] | None = None
    query_filter: dict[AttributeName, Condition] | None = None
    conditional_operator: ConditionalOperator | None = None
    scan_index_forward: bool | None = None
    exclusive_start_key: dict[AttributeName, AttributeValue] | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    projection_expression: str | None = None
    filter_expression: str | None = None
    key_condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None


ScanTotalSegments = Annotated[int, Meta(ge=1, le=1000000)]
ScanSegment = Annotated[int, Meta(ge=0, le=999999)]


class Scan(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    index_name: IndexName | None = None
    attributes_to_get: AttributeNameList | None = None
    limit: PositiveIntegerObject | None = None
    select: Select | None = None
    scan_filter: dict[AttributeName, Condition] | None = None
    conditional_operator: ConditionalOperator | None = None
    exclusive_start_key: dict[AttributeName, AttributeValue] | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    total_segments: ScanTotalSegments | None = None
    segment: ScanSegment | None = None
    projection_expression: str | None = None
    filter_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    consistent_read: bool | None = None


KeyList = Annotated[list[dict[AttributeName, AttributeValue]], Meta(min_length=1, max_length=100)]


class KeysAndAttributes(Structure, kw_only=True, frozen=True):
    keys: KeyList
    attributes_to_get: AttributeNameList | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None


BatchGetRequestMap = Annotated[
    dict[TableArn, KeysAndAttributes], Meta(min_length=1, max_length=100)
]


class BatchGetItem(Structure, kw_only=True, frozen=True):
    request_items: BatchGetRequestMap
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class PutRequest(Structure, kw_only=True, frozen=True):
    item: dict[AttributeName, AttributeValue]


class DeleteRequest(Structure, kw_only=True, frozen=True):
    key: dict[AttributeName, AttributeValue]


class WriteRequest(Structure, kw_only=True, frozen=True):
    put_request: PutRequest | None = None
    delete_request: DeleteRequest | None = None


WriteRequests = Annotated[list[WriteRequest], Meta(min_length=1, max_length=25)]
BatchWriteItemRequestMap = Annotated[
    dict[TableArn, WriteRequests], Meta(min_length=1, max_length=25)
]


class BatchWriteItem(Structure, kw_only=True, frozen=True):
    request_items: BatchWriteItemRequestMap
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None


class Get(Structure, kw_only=True, frozen=True):
    key: dict[AttributeName, AttributeValue]
    table_name: TableArn
    projection_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None


class TransactGetItem(Structure, kw_only=True, frozen=True):
    get: Get


TransactGetItemList = Annotated[list[TransactGetItem], Meta(min_length=1, max_length=100)]


class TransactGetItems(Structure, kw_only=True, frozen=True):
    transact_items: TransactGetItemList
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class ConditionCheck(Structure, kw_only=True, frozen=True):
    key: dict[AttributeName, AttributeValue]
    table_name: TableArn
    condition_expression: str
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class Put(Structure, kw_only=True, frozen=True):
    item: dict[AttributeName, AttributeValue]
    table_name: TableArn
    condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class Delete(Structure, kw_only=True, frozen=True):
    key: dict[AttributeName, AttributeValue]
    table_name: TableArn
    condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class Update(Structure, kw_only=True, frozen=True):
    key: dict[AttributeName, AttributeValue]
    update_expression: str
    table_name: TableArn
    condition_expression: str | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class TransactWriteItem(Structure, kw_only=True, frozen=True):
    condition_check: ConditionCheck | None = None
    put: Put | None = None
    delete: Delete | None = None
    update: Update | None = None


TransactWriteItemList = Annotated[list[TransactWriteItem], Meta(min_length=1, max_length=100)]
ClientRequestToken = Annotated[str, Meta(min_length=1, max_length=36)]


class TransactWriteItems(Structure, kw_only=True, frozen=True):
    transact_items: TransactWriteItemList
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    return_item_collection_metrics: ReturnItemCollectionMetrics | None = None
    client_request_token: ClientRequestToken | None = None


PartiQLStatement = Annotated[str, Meta(min_length=1, max_length=8192)]
PreparedStatementParameters = Annotated[list[AttributeValue], Meta(min_length=1)]
PartiQLNextToken = Annotated[str, Meta(min_length=1, max_length=32768)]


class ExecuteStatement(Structure, kw_only=True, frozen=True):
    statement: PartiQLStatement
    parameters: PreparedStatementParameters | None = None
    consistent_read: bool | None = None
    next_token: PartiQLNextToken | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    limit: PositiveIntegerObject | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


class BatchStatementRequest(Structure, kw_only=True, frozen=True):
    statement: PartiQLStatement
    parameters: PreparedStatementParameters | None = None
    consistent_read: bool | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


PartiQLBatchRequest = Annotated[list[BatchStatementRequest], Meta(min_length=1, max_length=25)]


class BatchExecuteStatement(Structure, kw_only=True, frozen=True):
    statements: PartiQLBatchRequest
    return_consumed_capacity: ReturnConsumedCapacity | None = None


class ParameterizedStatement(Structure, kw_only=True, frozen=True):
    statement: PartiQLStatement
    parameters: PreparedStatementParameters | None = None
    return_values_on_condition_check_failure: ReturnValuesOnConditionCheckFailure | None = None


ParameterizedStatements = Annotated[
    list[ParameterizedStatement], Meta(min_length=1, max_length=100)
]


class ExecuteTransaction(Structure, kw_only=True, frozen=True):
    transact_statements: ParameterizedStatements
    client_request_token: ClientRequestToken | None = None
    return_consumed_capacity: ReturnConsumedCapacity | None = None


KeySchemaAttributeName = Annotated[str, Meta(min_length=1, max_length=255)]
ScalarAttributeType = Literal["S", "N", "B"]


class AttributeDefinition(Structure, kw_only=True, frozen=True):
    attribute_name: KeySchemaAttributeName
    attribute_type: ScalarAttributeType


KeyType = Literal["HASH", "RANGE"]


class KeySchemaElement(Structure, kw_only=True, frozen=True):
    attribute_name: KeySchemaAttributeName
    key_type: KeyType


KeySchema = Annotated[list[KeySchemaElement], Meta(min_length=1)]
ProjectionType = Literal["ALL", "KEYS_ONLY", "INCLUDE"]
NonKeyAttributeName = Annotated[str, Meta(min_length=1, max_length=255)]
NonKeyAttributeNameList = Annotated[list[NonKeyAttributeName], Meta(min_length=1, max_length=20)]


class Projection(Structure, kw_only=True, frozen=True):
    projection_type: ProjectionType | None = None
    non_key_attributes: NonKeyAttributeNameList | None = None


class LocalSecondaryIndex(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    key_schema: KeySchema
    projection: Projection


PositiveLongObject = Annotated[int, Meta(ge=1, le=9223372036854775807)]


class ProvisionedThroughput(Structure, kw_only=True, frozen=True):
    read_capacity_units: PositiveLongObject
    write_capacity_units: PositiveLongObject


LongObject = Annotated[int, Meta(ge=-9223372036854775808, le=9223372036854775807)]


class OnDemandThroughput(Structure, kw_only=True, frozen=True):
    max_read_request_units: LongObject | None = None
    max_write_request_units: LongObject | None = None


class WarmThroughput(Structure, kw_only=True, frozen=True):
    read_units_per_second: LongObject | None = None
    write_units_per_second: LongObject | None = None


class GlobalSecondaryIndex(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    key_schema: KeySchema
    projection: Projection
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


BillingMode = Literal["PROVISIONED", "PAY_PER_REQUEST"]
StreamViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]


class StreamSpecification(Structure, kw_only=True, frozen=True):
    stream_enabled: bool
    stream_view_type: StreamViewType | None = None


SSEType = Literal["AES256", "KMS"]
KMSMasterKeyId = Annotated[str, Meta(min_length=1)]


class SSESpecification(Structure, kw_only=True, frozen=True):
    enabled: bool | None = None
    sse_type: SSEType | None = field(default=None, name="SSEType")
    kms_master_key_id: KMSMasterKeyId | None = field(default=None, name="KMSMasterKeyId")


class Tag(Structure, kw_only=True, frozen=True):
    key: str | None = None
    value: str | None = None


GlobalTableSettingsReplicationMode = Literal["ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"]
VectorAttributeName = Annotated[str, Meta(min_length=1, max_length=255)]


class VectorAttributeDefinition(Structure, kw_only=True, frozen=True):
    attribute_name: VectorAttributeName


SearchSchemaElementType = Literal["HASH", "INLINE_FILTER"]


class SearchSchemaElement(Structure, kw_only=True, frozen=True):
    attribute_name: AttributeName
    search_schema_element_type: SearchSchemaElementType


SearchSchema = Annotated[list[SearchSchemaElement], Meta(min_length=1)]
VectorDistanceFunction = Literal["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]


class VectorIndex(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    vector_attribute: VectorAttributeDefinition
    search_schema: SearchSchema | None = None
    projection: Projection
    dimensions: PositiveLongObject
    distance_function: VectorDistanceFunction


class CreateTable(Structure, kw_only=True, frozen=True):
    attribute_definitions: list[AttributeDefinition]
    table_name: TableArn
    key_schema: KeySchema
    local_secondary_indexes: list[LocalSecondaryIndex] | None = None
    global_secondary_indexes: list[GlobalSecondaryIndex] | None = None
    billing_mode: BillingMode | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    stream_specification: StreamSpecification | None = None
    sse_specification: SSESpecification | None = field(default=None, name="SSESpecification")
    tags: list[Tag] | None = None
    table_class: str | None = None
    deletion_protection_enabled: bool | None = None
    warm_throughput: WarmThroughput | None = None
    resource_policy: str | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    global_table_source_arn: TableArn | None = None
    global_table_settings_replication_mode: GlobalTableSettingsReplicationMode | None = None
    vector_indexes: list[VectorIndex] | None = None
    table_throughput_mode: BillingMode | None = None


class DescribeTable(Structure, kw_only=True, frozen=True):
    table_name: TableArn


TableName = Annotated[str, Meta(min_length=3, max_length=255, pattern=r"^(?:[a-zA-Z0-9_.-]+)\Z")]
ListTablesInputLimit = Annotated[int, Meta(ge=1, le=100)]


class ListTables(Structure, kw_only=True, frozen=True):
    exclusive_start_table_name: TableName | None = None
    limit: ListTablesInputLimit | None = None


class UpdateGlobalSecondaryIndexAction(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class CreateGlobalSecondaryIndexAction(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    key_schema: KeySchema
    projection: Projection
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class DeleteGlobalSecondaryIndexAction(Structure, kw_only=True, frozen=True):
    index_name: IndexName


class GlobalSecondaryIndexUpdate(Structure, kw_only=True, frozen=True):
    update: UpdateGlobalSecondaryIndexAction | None = None
    create: CreateGlobalSecondaryIndexAction | None = None
    delete: DeleteGlobalSecondaryIndexAction | None = None


class ProvisionedThroughputOverride(Structure, kw_only=True, frozen=True):
    read_capacity_units: PositiveLongObject | None = None


class OnDemandThroughputOverride(Structure, kw_only=True, frozen=True):
    max_read_request_units: LongObject | None = None


class ReplicaGlobalSecondaryIndex(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    provisioned_throughput_override: ProvisionedThroughputOverride | None = None
    on_demand_throughput_override: OnDemandThroughputOverride | None = None


ReplicaGlobalSecondaryIndexList = Annotated[list[ReplicaGlobalSecondaryIndex], Meta(min_length=1)]


class CreateReplicationGroupMemberAction(Structure, kw_only=True, frozen=True):
    region_name: str
    kms_master_key_id: KMSMasterKeyId | None = field(default=None, name="KMSMasterKeyId")
    provisioned_throughput_override: ProvisionedThroughputOverride | None = None
    on_demand_throughput_override: OnDemandThroughputOverride | None = None
    global_secondary_indexes: ReplicaGlobalSecondaryIndexList | None = None
    table_class_override: str | None = None


class UpdateReplicationGroupMemberAction(Structure, kw_only=True, frozen=True):
    region_name: str
    kms_master_key_id: KMSMasterKeyId | None = field(default=None, name="KMSMasterKeyId")
    provisioned_throughput_override: ProvisionedThroughputOverride | None = None
    on_demand_throughput_override: OnDemandThroughputOverride | None = None
    global_secondary_indexes: ReplicaGlobalSecondaryIndexList | None = None
    table_class_override: str | None = None


class DeleteReplicationGroupMemberAction(Structure, kw_only=True, frozen=True):
    region_name: str


DisassociationMode = Literal["WAIT_FOR_REPLICATION"]


class DisassociateReplicationGroupMemberAction(Structure, kw_only=True, frozen=True):
    region_name: str
    disassociation_mode: DisassociationMode


class ReplicationGroupUpdate(Structure, kw_only=True, frozen=True):
    create: CreateReplicationGroupMemberAction | None = None
    update: UpdateReplicationGroupMemberAction | None = None
    delete: DeleteReplicationGroupMemberAction | None = None
    disassociate: DisassociateReplicationGroupMemberAction | None = None


ReplicationGroupUpdateList = Annotated[list[ReplicationGroupUpdate], Meta(min_length=1)]
MultiRegionConsistency = Literal["EVENTUAL", "STRONG"]


class CreateGlobalTableWitnessGroupMemberAction(Structure, kw_only=True, frozen=True):
    region_name: str


class DeleteGlobalTableWitnessGroupMemberAction(Structure, kw_only=True, frozen=True):
    region_name: str


class GlobalTableWitnessGroupUpdate(Structure, kw_only=True, frozen=True):
    create: CreateGlobalTableWitnessGroupMemberAction | None = None
    delete: DeleteGlobalTableWitnessGroupMemberAction | None = None


GlobalTableWitnessGroupUpdateList = Annotated[
    list[GlobalTableWitnessGroupUpdate], Meta(min_length=1, max_length=1)
]


class CreateVectorIndexAction(Structure, kw_only=True, frozen=True):
    index_name: IndexName
    vector_attribute: VectorAttributeDefinition
    search_schema: SearchSchema | None = None
    projection: Projection
    dimensions: PositiveLongObject
    distance_function: VectorDistanceFunction


class DeleteVectorIndexAction(Structure, kw_only=True, frozen=True):
    index_name: IndexName


class VectorIndexUpdate(Structure, kw_only=True, frozen=True):
    create: CreateVectorIndexAction | None = None
    delete: DeleteVectorIndexAction | None = None


class UpdateTable(Structure, kw_only=True, frozen=True):
    attribute_definitions: list[AttributeDefinition] | None = None
    table_name: TableArn
    billing_mode: BillingMode | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    global_secondary_index_updates: list[GlobalSecondaryIndexUpdate] | None = None
    stream_specification: StreamSpecification | None = None
    sse_specification: SSESpecification | None = field(default=None, name="SSESpecification")
    replica_updates: ReplicationGroupUpdateList | None = None
    table_class: str | None = None
    deletion_protection_enabled: bool | None = None
    multi_region_consistency: MultiRegionConsistency | None = None
    global_table_witness_updates: GlobalTableWitnessGroupUpdateList | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None
    global_table_settings_replication_mode: GlobalTableSettingsReplicationMode | None = None
    disassociation_protection_enabled: bool | None = None
    vector_index_updates: list[VectorIndexUpdate] | None = None
    table_throughput_mode: BillingMode | None = None


class DeleteTable(Structure, kw_only=True, frozen=True):
    table_name: TableArn


TimeToLiveAttributeName = Annotated[str, Meta(min_length=1, max_length=255)]


class TimeToLiveSpecification(Structure, kw_only=True, frozen=True):
    enabled: bool
    attribute_name: TimeToLiveAttributeName


class UpdateTimeToLive(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    time_to_live_specification: TimeToLiveSpecification


class DescribeTimeToLive(Structure, kw_only=True, frozen=True):
    table_name: TableArn


ContributorInsightsAction = Literal["ENABLE", "DISABLE"]
ContributorInsightsMode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]


class UpdateContributorInsights(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    index_name: IndexName | None = None
    contributor_insights_action: ContributorInsightsAction
    contributor_insights_mode: ContributorInsightsMode | None = None


class DescribeContributorInsights(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    index_name: IndexName | None = None


ListContributorInsightsLimit = Annotated[int, Meta(ge=-2147483648, le=100)]


class ListContributorInsights(Structure, kw_only=True, frozen=True):
    table_name: TableArn | None = None
    next_token: str | None = None
    max_results: ListContributorInsightsLimit | None = None


ResourceArnString = Annotated[str, Meta(min_length=1, max_length=1283)]


class TagResource(Structure, kw_only=True, frozen=True):
    resource_arn: ResourceArnString | None = None
    tags: list[Tag] | None = None


class UntagResource(Structure, kw_only=True, frozen=True):
    resource_arn: ResourceArnString | None = None
    tag_keys: list[str] | None = None


class ListTagsOfResource(Structure, kw_only=True, frozen=True):
    resource_arn: ResourceArnString | None = None
    next_token: str | None = None


class DescribeLimits(Structure, kw_only=True, frozen=True):
    pass


class DescribeEndpoints(Structure, kw_only=True, frozen=True):
    pass


SearchVectorList = Annotated[list[AttributeValue], Meta(min_length=1, max_length=4096)]
TopKInteger = Annotated[int, Meta(ge=1, le=2147483647)]


class SearchVectors(Structure, kw_only=True, frozen=True):
    table_name: TableArn
    index_name: IndexName
    return_consumed_capacity: ReturnConsumedCapacity | None = None
    expression_attribute_names: dict[str, AttributeName] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None
    projection_expression: str | None = None
    search_vector: SearchVectorList
    search_condition_expression: str | None = None
    top_k: TopKInteger


StreamArn = Annotated[str, Meta(min_length=37, max_length=1024)]


class ListStreams(Structure, kw_only=True, frozen=True):
    table_name: TableName | None = None
    limit: PositiveIntegerObject | None = None
    exclusive_start_stream_arn: StreamArn | None = None


ShardId = Annotated[str, Meta(min_length=28, max_length=65)]
ShardFilterType = Literal["CHILD_SHARDS"]


class ShardFilter(Structure, kw_only=True, frozen=True):
    type: ShardFilterType | None = None
    shard_id: ShardId | None = None


class DescribeStream(Structure, kw_only=True, frozen=True):
    stream_arn: StreamArn
    limit: PositiveIntegerObject | None = None
    exclusive_start_shard_id: ShardId | None = None
    shard_filter: ShardFilter | None = None


ShardIteratorType = Literal[
    "TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP"
]
SequenceNumber = Annotated[str, Meta(min_length=21, max_length=40)]


class GetShardIterator(Structure, kw_only=True, frozen=True):
    stream_arn: StreamArn
    shard_id: ShardId
    shard_iterator_type: ShardIteratorType
    sequence_number: SequenceNumber | None = None
    timestamp: float | None = None


ShardIterator = Annotated[str, Meta(min_length=1, max_length=2048)]


class GetRecords(Structure, kw_only=True, frozen=True):
    shard_iterator: ShardIterator
    limit: PositiveIntegerObject | None = None
