package smoke;

import static smoke.Main.expectEqual;
import static smoke.Main.refused;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedClient;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbTable;
import software.amazon.awssdk.enhanced.dynamodb.Expression;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.enhanced.dynamodb.model.EnhancedGlobalSecondaryIndex;
import software.amazon.awssdk.enhanced.dynamodb.model.Page;
import software.amazon.awssdk.enhanced.dynamodb.model.QueryConditional;
import software.amazon.awssdk.enhanced.dynamodb.model.TransactPutItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.TransactWriteItemsEnhancedRequest;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;

/** Tests the enhanced client, which maps items to beans. */
final class Enhanced {
    static void session(DynamoDbClient db) {
        var enhanced = DynamoDbEnhancedClient.builder().dynamoDbClient(db).build();
        var readings = enhanced.table("readings", TableSchema.fromBean(Reading.class));
        readings.createTable(request -> request.globalSecondaryIndices(
                EnhancedGlobalSecondaryIndex.builder()
                        .indexName("by_room")
                        .projection(projection -> projection.projectionType(ProjectionType.ALL))
                        .build()));
        db.waiter().waitUntilTableExists(request -> request.tableName("readings"));
        versions(readings);
        many(readings);
        together(enhanced, readings);
        readings.deleteTable();
        db.waiter().waitUntilTableNotExists(request -> request.tableName("readings"));
    }

    private static void versions(DynamoDbTable<Reading> readings) {
        var first = Reading.of("v", 1, "hall", 20.5);
        readings.putItem(first);
        var key = Key.builder().partitionValue("v").sortValue(first.getTime().toString()).build();
        var found = readings.getItem(key);
        expectEqual(found, first);
        expectEqual(readings.updateItem(found).getVersion(), found.getVersion() + 1);
        refused(ConditionalCheckFailedException.class, () -> readings.updateItem(found));
        expectEqual(readings.deleteItem(key), first);
    }

    private static void many(DynamoDbTable<Reading> readings) {
        IntStream.range(0, 20).forEach( // no batch: the version makes each put conditional
                second -> readings.putItem(Reading.of("many", second, "hall", second / 2.0)));

        var warm = Expression.builder()
                .expression("#v >= :v")
                .expressionNames(Map.of("#v", "value"))
                .expressionValues(Map.of(":v", AttributeValue.fromN("8")))
                .build();
        var all = QueryConditional.keyEqualTo(key -> key.partitionValue("many"));
        var found = readings.query(
                request -> request.queryConditional(all).filterExpression(warm).limit(3));
        expectEqual(found.items().stream().map(Reading::getValue).toList(),
                List.of(8.0, 8.5, 9.0, 9.5));
        var inHall = QueryConditional.keyEqualTo(key -> key.partitionValue("hall"));
        expectEqual(readings.index("by_room").query(inHall).stream()
                .map(Page::items).mapToInt(List::size).sum(), 20);
    }

    private static void together(DynamoDbEnhancedClient client, DynamoDbTable<Reading> readings) {
        var absent = Expression.builder().expression("attribute_not_exists(sensor)").build();
        var write = TransactWriteItemsEnhancedRequest.builder();
        for (int second : new int[] {100, 0}) {
            write.addPutItem(readings, TransactPutItemEnhancedRequest.builder(Reading.class)
                    .item(Reading.of("many", second, "attic", 0))
                    .conditionExpression(absent)
                    .build());
        }
        var reasons = refused(TransactionCanceledException.class,
                () -> client.transactWriteItems(write.build())).cancellationReasons();
        expectEqual(reasons.stream().map(reason -> reason.code()).toList(),
                List.of("None", "ConditionalCheckFailed"));
    }
}
