package smoke;

import static smoke.Main.expectEqual;

import java.util.EnumMap;
import java.util.Map;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.OperationType;
import software.amazon.awssdk.services.dynamodb.model.ShardIteratorType;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;

final class Streams {
    static void read(DynamoDbClient db, DynamoDbStreamsClient streams) {
        var table = db.describeTable(request -> request.tableName(Tables.TABLE)).table();
        var arn = table.latestStreamArn();
        var stream = streams.describeStream(request -> request.streamArn(arn)).streamDescription();
        var events = new EnumMap<OperationType, Integer>(OperationType.class);
        for (var shard : stream.shards()) {
            var iterator = streams.getShardIterator(request -> request
                    .streamArn(arn)
                    .shardId(shard.shardId())
                    .shardIteratorType(ShardIteratorType.TRIM_HORIZON)).shardIterator();
            for (var record :
                    streams.getRecords(request -> request.shardIterator(iterator)).records()) {
                var event = record.eventName();
                expectEqual(record.dynamodb().hasOldImage(), event != OperationType.INSERT);
                expectEqual(record.dynamodb().hasNewImage(), event != OperationType.REMOVE);
                events.merge(event, 1, Integer::sum);
            }
        }
        expectEqual(events, Map.of(
                OperationType.INSERT, Many.COUNT + 4, // also: every type, "a", two "together"
                OperationType.MODIFY, 1,
                OperationType.REMOVE, 1));
    }
}
