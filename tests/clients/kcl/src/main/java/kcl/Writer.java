package kcl;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Random;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;

/** Increments a counter in each of a few items. A reader must see every count. */
final class Writer {
    private static final String TABLE = "counts";
    private static final int ITEMS = 40;
    private static final Duration LONG = Duration.ofSeconds(40);

    private final DynamoDbClient db;

    Writer(DynamoDbClient db) {
        this.db = db;
    }

    /** The ARN of the table's stream. */
    String makeTable() {
        db.createTable(request -> request
                .tableName(TABLE)
                .attributeDefinitions(attribute -> attribute
                        .attributeName("pk").attributeType(ScalarAttributeType.S))
                .keySchema(key -> key.attributeName("pk").keyType(KeyType.HASH))
                .billingMode(BillingMode.PAY_PER_REQUEST)
                .streamSpecification(stream -> stream
                        .streamEnabled(true).streamViewType(StreamViewType.NEW_IMAGE)));
        return db.waiter().waitUntilTableExists(request -> request.tableName(TABLE))
                .matched().response().orElseThrow().table().latestStreamArn();
    }

    /** The number of changes made so far. */
    int write() throws InterruptedException {
        var random = new Random(1);
        var end = Instant.now().plus(LONG);
        int written = 0;
        while (Instant.now().isBefore(end)) {
            var pk = AttributeValue.fromS("item " + random.nextInt(ITEMS));
            db.updateItem(request -> request
                    .tableName(TABLE)
                    .key(Map.of("pk", pk))
                    .updateExpression("ADD changes :one")
                    .expressionAttributeValues(Map.of(":one", AttributeValue.fromN("1"))));
            written++;
            Thread.sleep(20);
        }
        return written;
    }
}
