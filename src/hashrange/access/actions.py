"""The names that policies may use: DynamoDB's actions, and condition keys.

Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon
DynamoDB"; IAM user guide, "AWS global condition context keys".
"""

SERVICE = "dynamodb"

_OF_ITEMS = """
    BatchGetItem BatchWriteItem ConditionCheckItem DeleteItem GetItem PutItem Query Scan
    SearchVectors UpdateItem PartiQLDelete PartiQLInsert PartiQLSelect PartiQLUpdate
"""
_OF_TABLES = """
    CreateTable DeleteTable DescribeLimits DescribeTable DescribeTimeToLive ListTables
    ListTagsOfResource TagResource UntagResource UpdateTable UpdateTimeToLive
    DescribeContributorInsights ListContributorInsights UpdateContributorInsights
    DescribeTableReplicaAutoScaling UpdateTableReplicaAutoScaling DescribeEndpoints
    DeleteResourcePolicy GetResourcePolicy PutResourcePolicy
    DescribeReservedCapacity DescribeReservedCapacityOfferings PurchaseReservedCapacityOfferings
    GetAbacStatus UpdateAbacStatus InjectError
    DescribeKinesisStreamingDestination DisableKinesisStreamingDestination
    EnableKinesisStreamingDestination UpdateKinesisStreamingDestination
"""
_OF_STREAMS = "DescribeStream GetRecords GetShardIterator ListStreams"
_OF_COPIES = """
    CreateBackup DeleteBackup DescribeBackup ListBackups RestoreTableFromBackup
    RestoreTableFromAwsBackup StartAwsBackupJob DescribeContinuousBackups UpdateContinuousBackups
    RestoreTableToPointInTime ExportTableToPointInTime DescribeExport ListExports ImportTable
    DescribeImport ListImports StartBulkPutItems DescribeBulkOperation ListBulkOperations
    CancelBulkOperation
"""
_OF_REPLICAS = """
    AssociateTableReplica CreateGlobalTable CreateGlobalTableWitness CreateTableReplica
    DeleteGlobalTableWitness DeleteTableReplica DescribeGlobalTable DescribeGlobalTableSettings
    DisassociateTableReplica ListGlobalTables ReadDataForReplication ReplicateSettings
    UpdateGlobalTable UpdateGlobalTableSettings UpdateGlobalTableVersion WriteDataForReplication
"""

ACTIONS = frozenset(
    " ".join((_OF_ITEMS, _OF_TABLES, _OF_STREAMS, _OF_COPIES, _OF_REPLICAS)).split()
)

_OWN = """
    Attributes EnclosingOperation FirstPartitionKeyValues FourthPartitionKeyValues FullTableScan
    ImportS3Bucket LeadingKeys ReturnConsumedCapacity ReturnValues SecondPartitionKeyValues Select
    ThirdPartitionKeyValues
"""
_GLOBAL = """
    AssumedRoot CalledVia CalledViaFirst CalledViaLast CurrentTime EpochTime FederatedProvider
    MultiFactorAuthAge MultiFactorAuthPresent PrincipalAccount PrincipalArn PrincipalIsAWSService
    PrincipalOrgID PrincipalOrgPaths PrincipalServiceName PrincipalServiceNamesList PrincipalType
    Referer RequestedRegion ResourceAccount ResourceOrgID ResourceOrgPaths SecureTransport
    SourceAccount SourceArn SourceIdentity SourceIp SourceOrgID SourceOrgPaths SourceVpc
    SourceVpcArn SourceVpce TagKeys TokenIssueTime UserAgent Userid Username ViaAWSService
    VpcSourceIp VpceAccount VpceOrgID VpceOrgPaths Ec2InstanceSourceVpc
    Ec2InstanceSourcePrivateIPv4
"""

OWN_KEYS = frozenset(f"{SERVICE}:{name}".lower() for name in _OWN.split())
GLOBAL_KEYS = frozenset(f"aws:{name}".lower() for name in _GLOBAL.split())
"""The global condition keys in lower case. Some keys, such as `aws:SourceVpc`, are absent from
every request to this server."""

TAG_KEYS = ("aws:principaltag/", "aws:requesttag/", "aws:resourcetag/")


def check_key(key: str) -> None:
    """Raises ValueError unless the condition key exists. Keys of other services are accepted."""
    lower = key.lower()
    service, colon, name = lower.partition(":")
    if not colon or not name:
        raise ValueError(f"{key!r} is not a condition key such as dynamodb:LeadingKeys")
    known = lower in OWN_KEYS or lower in GLOBAL_KEYS
    tagged = any(lower.startswith(tag) and lower != tag for tag in TAG_KEYS)
    if service in ("aws", SERVICE) and not (known or tagged):
        raise ValueError(f"there is no condition key {key!r}")
