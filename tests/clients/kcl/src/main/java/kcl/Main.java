package kcl;

import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.metrics.NullMetricsFactory;

/**
 * Reads the changes of a table while they are made, with the Kinesis Client Library and the adapter
 * for DynamoDB Streams. Its leases and checkpoints are tables of the same server.
 */
public final class Main {
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    public static void main(String[] arguments) throws Exception {
        var seen = new Seen();
        try (var db = DynamoDbClient.create()) {
            var writer = new Writer(db);
            var scheduler = scheduler(writer.makeTable(), seen);
            var reader = new Thread(scheduler);
            reader.start();
            int written = writer.write();
            awaitAll(seen, written);
            // Wait a little longer: a change that is delivered twice would arrive now.
            TimeUnit.SECONDS.sleep(3);
            scheduler.startGracefulShutdown().get(1, TimeUnit.MINUTES);
            reader.join();
            System.out.println(seen.report(written));
        }
        System.exit(0); // the library leaves threads behind
    }

    private static void awaitAll(Seen seen, int written) throws InterruptedException {
        var end = Instant.now().plus(PATIENCE);
        while (seen.count() < written) {
            if (Instant.now().isAfter(end)) {
                throw new AssertionError(seen.report(written));
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }

    private static Scheduler scheduler(String streamArn, Seen seen) {
        var streams = new AmazonDynamoDBStreamsAdapterClient(
                DynamoDbStreamsClient.create(), Region.US_EAST_1);
        var oldest = InitialPositionInStreamExtended.newInitialPosition(
                InitialPositionInStream.TRIM_HORIZON);
        var configs = new ConfigsBuilder(
                StreamsSchedulerFactory.createSingleStreamTracker(streamArn, oldest),
                "reader",
                streams,
                DynamoDbAsyncClient.create(),
                CloudWatchAsyncClient.create(),
                "worker",
                () -> new Processor(seen));
        var polling = new DynamoDBStreamsPollingConfig(streamArn, streams)
                .idleTimeBetweenReadsInMillis(250);
        return StreamsSchedulerFactory.createScheduler(
                configs.checkpointConfig(),
                configs.coordinatorConfig().parentShardPollIntervalMillis(500),
                configs.leaseManagementConfig()
                        .shardSyncIntervalMillis(1000)
                        .leaseAssignmentIntervalMillis(500L)
                        .failoverTimeMillis(2000),
                configs.lifecycleConfig(),
                configs.metricsConfig().metricsFactory(new NullMetricsFactory()),
                configs.processorConfig(),
                configs.retrievalConfig().retrievalSpecificConfig(polling),
                streams);
    }
}
