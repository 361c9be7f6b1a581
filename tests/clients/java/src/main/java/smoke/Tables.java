package smoke;

import static smoke.Main.expectEqual;
import static smoke.Main.refused;

import java.util.List;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.CreateTableRequest;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.awssdk.services.dynamodb.model.TableStatus;
import software.amazon.awssdk.services.dynamodb.model.TimeToLiveStatus;

final class Tables {
    static final String TABLE = "smoke";

    static void create(DynamoDbClient db) {
        var creation = CreateTableRequest.builder()
                .tableName(TABLE)
                .attributeDefinitions(
                        attribute("pk", ScalarAttributeType.S),
                        attribute("sk", ScalarAttributeType.N),
                        attribute("kind", ScalarAttributeType.S))
                .keySchema(key("pk", KeyType.HASH), key("sk", KeyType.RANGE))
                .globalSecondaryIndexes(index -> index
                        .indexName("by_kind")
                        .keySchema(key("kind", KeyType.HASH), key("sk", KeyType.RANGE))
                        .projection(projection -> projection.projectionType(ProjectionType.ALL)))
                .billingMode(BillingMode.PAY_PER_REQUEST)
                .streamSpecification(stream -> stream
                        .streamEnabled(true)
                        .streamViewType(StreamViewType.NEW_AND_OLD_IMAGES))
                .build();
        db.createTable(creation);
        db.waiter().waitUntilTableExists(request -> request.tableName(TABLE));
        var table = db.describeTable(request -> request.tableName(TABLE)).table();
        expectEqual(table.tableStatus(), TableStatus.ACTIVE);
        expectEqual(table.globalSecondaryIndexes().size(), 1);

        refused(ResourceInUseException.class, () -> db.createTable(creation));
        refused(ResourceNotFoundException.class,
                () -> db.describeTable(request -> request.tableName("none")));
        var names = db.listTablesPaginator(request -> request.limit(1)).tableNames();
        expectEqual(names.stream().toList(), List.of(TABLE));
    }

    private static AttributeDefinition attribute(String name, ScalarAttributeType type) {
        return AttributeDefinition.builder().attributeName(name).attributeType(type).build();
    }

    private static KeySchemaElement key(String name, KeyType type) {
        return KeySchemaElement.builder().attributeName(name).keyType(type).build();
    }

    static void expiry(DynamoDbClient db) {
        db.updateTimeToLive(request -> request
                .tableName(TABLE)
                .timeToLiveSpecification(expiry -> expiry.enabled(true).attributeName("ends")));
        var expiry = db.describeTimeToLive(request -> request.tableName(TABLE));
        expectEqual(expiry.timeToLiveDescription().timeToLiveStatus(), TimeToLiveStatus.ENABLED);
    }

    static void end(DynamoDbClient db) {
        db.deleteTable(request -> request.tableName(TABLE));
        db.waiter().waitUntilTableNotExists(request -> request.tableName(TABLE));
    }
}
