package smoke;

import static smoke.Items.key;
import static smoke.Items.number;
import static smoke.Items.with;
import static smoke.Main.expectEqual;
import static smoke.Main.refused;
import static smoke.Tables.TABLE;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromS;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.KeysAndAttributes;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.TransactGetItem;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItem;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItemsRequest;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;

final class Many {
    static final int COUNT = 50;

    private static Map<String, AttributeValue> many(int sk) {
        return with(key("many", sk), Map.of("kind", fromS("k" + sk % 2), "weight", number(sk)));
    }

    private static List<Integer> numbers(Collection<Map<String, AttributeValue>> items) {
        return items.stream().map(item -> Integer.valueOf(item.get("sk").n())).toList();
    }

    /** Puts items, and repeats the request until none is unprocessed. */
    private static void write(DynamoDbClient db, int from, int to) {
        var left = Map.of(TABLE, IntStream.range(from, to)
                .mapToObj(sk -> WriteRequest.builder().putRequest(put -> put.item(many(sk))))
                .map(WriteRequest.Builder::build)
                .toList());
        while (!left.isEmpty()) {
            var batch = left;
            left = db.batchWriteItem(request -> request.requestItems(batch)).unprocessedItems();
        }
    }

    static void query(DynamoDbClient db) {
        write(db, 0, 25);
        write(db, 25, COUNT);
        var found = db.queryPaginator(request -> request
                .tableName(TABLE)
                .indexName("by_kind")
                .keyConditionExpression("kind = :k AND sk > :low")
                .filterExpression("weight <> :w")
                .projectionExpression("sk")
                .expressionAttributeValues(
                        Map.of(":k", fromS("k1"), ":low", number(20), ":w", number(25)))
                .scanIndexForward(false)
                .limit(4));
        expectEqual(numbers(found.items().stream().toList()),
                List.of(49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 23, 21));

        int total = 0;
        for (int segment : new int[] {0, 1, 2}) {
            total += db.scanPaginator(request -> request
                            .tableName(TABLE).segment(segment).totalSegments(3))
                    .items().stream().count();
        }
        expectEqual(total, COUNT + 1); // and the item of every type
    }

    static void batches(DynamoDbClient db) {
        var keys = IntStream.range(COUNT - 10, COUNT + 20).mapToObj(sk -> key("many", sk)).toList();
        var left = Map.of(TABLE, KeysAndAttributes.builder().keys(keys).build());
        var found = new ArrayList<Map<String, AttributeValue>>();
        while (!left.isEmpty()) {
            var batch = left;
            var answer = db.batchGetItem(request -> request.requestItems(batch));
            found.addAll(answer.responses().get(TABLE));
            left = answer.unprocessedKeys();
        }
        expectEqual(numbers(found).stream().sorted().toList(),
                IntStream.range(COUNT - 10, COUNT).boxed().toList());
    }

    private static TransactWriteItem put(int sk) {
        return TransactWriteItem.builder().put(put -> put
                .tableName(TABLE)
                .item(key("together", sk))
                .conditionExpression("attribute_not_exists(pk)")
                .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD))
                .build();
    }

    private static TransactGetItem get(int sk) {
        return TransactGetItem.builder()
                .get(get -> get.tableName(TABLE).key(key("together", sk))).build();
    }

    static void transactions(DynamoDbClient db) {
        var both = TransactWriteItemsRequest.builder()
                .transactItems(put(1), put(2)).clientRequestToken("token").build();
        db.transactWriteItems(both);
        db.transactWriteItems(both); // it has been done already

        var reasons = refused(TransactionCanceledException.class,
                () -> db.transactWriteItems(request -> request.transactItems(put(3), put(2))))
                .cancellationReasons();
        expectEqual(reasons.get(0).code(), "None");
        expectEqual(reasons.get(1).code(), "ConditionalCheckFailed");
        expectEqual(reasons.get(1).item(), key("together", 2));

        var answers = db.transactGetItems(request -> request.transactItems(get(1), get(3)))
                .responses();
        expectEqual(answers.get(0).item(), key("together", 1));
        expectEqual(answers.get(1).hasItem(), false);
    }
}
