package smoke;

import static smoke.Main.expectEqual;
import static smoke.Main.refused;
import static smoke.Tables.TABLE;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromB;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromBool;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromBs;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromL;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromM;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromN;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromNs;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromNul;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromS;
import static software.amazon.awssdk.services.dynamodb.model.AttributeValue.fromSs;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.ReturnConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.ReturnValue;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

final class Items {
    static AttributeValue number(int value) {
        return fromN(Integer.toString(value));
    }

    static Map<String, AttributeValue> key(String pk, int sk) {
        return Map.of("pk", fromS(pk), "sk", number(sk));
    }

    static Map<String, AttributeValue> with(
            Map<String, AttributeValue> item, Map<String, AttributeValue> more) {
        var both = new HashMap<>(item);
        both.putAll(more);
        return both;
    }

    private static SdkBytes bytes(int... values) {
        var bytes = new byte[values.length];
        for (int at = 0; at < values.length; at++) {
            bytes[at] = (byte) values[at];
        }
        return SdkBytes.fromByteArray(bytes);
    }

    static void everyType(DynamoDbClient db) {
        var every = with(key("types", 1), Map.ofEntries(
                Map.entry("empty", fromS("")),
                Map.entry("long", fromN("12345678901234567890123456789012345678")),
                Map.entry("tiny", fromN("-0." + "0".repeat(129) + "1")),
                Map.entry("bytes", fromB(bytes(0, 255))),
                Map.entry("nothing", fromB(bytes())),
                Map.entry("yes", fromBool(true)),
                Map.entry("null", fromNul(true)),
                Map.entry("list", fromL(List.of(fromS("a"), number(1), fromL(List.of())))),
                Map.entry("map", fromM(Map.of("a.b c", fromS("nested")))),
                Map.entry("texts", fromSs(List.of("a", "ü"))),
                Map.entry("numbers", fromNs(List.of("1", "2.5"))),
                Map.entry("blobs", fromBs(List.of(bytes(0), bytes(1, 2))))));
        var put = db.putItem(request -> request
                .tableName(TABLE)
                .item(every)
                .returnConsumedCapacity(ReturnConsumedCapacity.TOTAL));
        expectEqual(put.consumedCapacity().capacityUnits(), 1.0);
        var found = db.getItem(request -> request
                .tableName(TABLE).key(key("types", 1)).consistentRead(true));
        expectEqual(found.item(), every);
        var absent = db.getItem(request -> request.tableName(TABLE).key(key("types", 2)));
        expectEqual(absent.hasItem(), false);
    }

    static void conditions(DynamoDbClient db) {
        var one = with(key("a", 1), Map.of("weight", number(1), "log", log("made")));
        db.putItem(request -> request.tableName(TABLE).item(one));
        var grow = UpdateItemRequest.builder()
                .tableName(TABLE)
                .key(key("a", 1))
                .updateExpression("SET #l = list_append(#l, :grown) ADD weight :two")
                .conditionExpression("weight = :one")
                .expressionAttributeNames(Map.of("#l", "log"))
                .expressionAttributeValues(
                        Map.of(":grown", log("grown"), ":one", number(1), ":two", number(2)))
                .returnValues(ReturnValue.ALL_NEW)
                .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD)
                .build();
        var grown = with(one, Map.of("weight", number(3), "log", log("made", "grown")));
        expectEqual(db.updateItem(grow).attributes(), grown);

        var failed = refused(ConditionalCheckFailedException.class, () -> db.updateItem(grow));
        expectEqual(failed.awsErrorDetails().errorMessage(), "The conditional request failed");
        expectEqual(failed.item(), grown);
        var deleted = db.deleteItem(request -> request
                .tableName(TABLE).key(key("a", 1)).returnValues(ReturnValue.ALL_OLD));
        expectEqual(deleted.attributes(), grown);
    }

    private static AttributeValue log(String... entries) {
        return fromL(List.of(entries).stream().map(AttributeValue::fromS).toList());
    }
}
