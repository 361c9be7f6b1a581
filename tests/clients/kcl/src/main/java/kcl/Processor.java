package kcl;

import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import software.amazon.kinesis.exceptions.InvalidStateException;
import software.amazon.kinesis.exceptions.ShutdownException;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;

/** Reads one shard. */
final class Processor implements DynamoDBStreamsShardRecordProcessor {
    private final Seen seen;
    private String shard;

    Processor(Seen seen) {
        this.seen = seen;
    }

    @Override
    public void initialize(InitializationInput input) {
        shard = input.shardId();
    }

    @Override
    public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
        for (var record : input.records()) {
            var item = record.getRecord().dynamodb().newImage();
            seen.change(shard, item.get("pk").s(), Integer.parseInt(item.get("changes").n()));
        }
        checkpoint(input.checkpointer());
    }

    @Override
    public void shardEnded(ShardEndedInput input) {
        seen.ended();
        checkpoint(input.checkpointer());
    }

    @Override
    public void shutdownRequested(ShutdownRequestedInput input) {
        checkpoint(input.checkpointer());
    }

    @Override
    public void leaseLost(LeaseLostInput input) {}

    private static void checkpoint(RecordProcessorCheckpointer checkpointer) {
        try {
            checkpointer.checkpoint();
        } catch (InvalidStateException | ShutdownException error) {
            throw new IllegalStateException(error);
        }
    }
}
