package smoke;

import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;

/** Tests the AWS SDK for Java, version 2. Prints the name of each step that succeeds. */
public final class Main {
    /** The endpoint, the region and the credentials come from the environment. */
    public static void main(String[] arguments) {
        try (var db = DynamoDbClient.create(); var streams = DynamoDbStreamsClient.create()) {
            step("tables", () -> Tables.create(db));
            step("items", () -> Items.everyType(db));
            step("conditions", () -> Items.conditions(db));
            step("query", () -> Many.query(db));
            step("batches", () -> Many.batches(db));
            step("transactions", () -> Many.transactions(db));
            step("expiry", () -> Tables.expiry(db));
            step("streams", () -> Streams.read(db, streams));
            step("end", () -> Tables.end(db));
            step("enhanced", () -> Enhanced.session(db));
        }
    }

    static void step(String name, Runnable run) {
        run.run();
        System.out.println(name);
    }

    static void expectEqual(Object found, Object wanted) {
        if (!found.equals(wanted)) {
            throw new AssertionError("found " + found + ", wanted " + wanted);
        }
    }

    /** Returns the exception that the call throws. A call that throws none is an error. */
    static <E extends Exception> E refused(Class<E> wanted, Runnable run) {
        try {
            run.run();
        } catch (RuntimeException error) {
            if (wanted.isInstance(error)) {
                return wanted.cast(error);
            }
            throw error;
        }
        throw new AssertionError("no " + wanted.getSimpleName());
    }
}
